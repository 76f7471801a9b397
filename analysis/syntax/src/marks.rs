//! The names by which the normaliser spells what tree-sitter-c has no syntax for.
//!
//! This is the contract with the reader of the tree. Nothing of C is lost: every construct below
//! either becomes ordinary syntax with one of these names in it, or goes to a side table of
//! [`crate::Unit`]. All names start with `__proofline_`, which no program uses.
//!
//! | written | in the tree |
//! |---|---|
//! | `goto *e;` | `__proofline_goto(e);`, a call statement |
//! | `case a ... b:` | `case __proofline_range(a, b):` |
//! | `_Static_assert(e, "m")` at file or block scope | `__proofline_static_assert(e, "m")`, a call |
//! | … in a struct | dropped, see [`crate::Unit::static_asserts_in_structs`] |
//! | `typeof(e)`, `typeof(T)`, `__typeof__`, … | `__proofline_typeof(void[(e)])` or `__proofline_typeof(T)`, a `macro_type_specifier`; a lone identifier always comes as `void[(x)]` and may be a type; `_Nonnull` stands before it |
//! | `typeof_unqual(…)` | the same with `__proofline_typeof_unqual` |
//! | `_Atomic(T)` | `_Atomic __proofline_typeof(T)` |
//! | `_Alignof(e)`, `__alignof__(e)` | `_Alignof(__proofline_typeof(void[(e)]))`, `__alignof__(…)` |
//! | `__builtin_va_arg(ap, T)`, `va_arg` | `__builtin_va_arg(ap, sizeof(T))` |
//! | `__builtin_types_compatible_p(T, U)` | `__builtin_types_compatible_p(sizeof(T), sizeof(U))` |
//! | `__builtin_convertvector(e, T)` | `__builtin_convertvector(e, sizeof(T))` |
//! | `__builtin_offsetof(T, a.b[2])`, `offsetof` | `__builtin_offsetof(sizeof(T), a.b[2])` |
//! | `double _Complex`, in any order | the type name `__proofline_complex_double` (`…_float`, `…_long_double`, …) |
//! | `1.0i`, `2.0fi` | `__proofline_imaginary(1.0)`, `__proofline_imaginary(2.0f)` |
//! | `__real__ z`, `__imag__ z` | `*(struct __proofline_real *)&z`, `*(struct __proofline_imag *)&z` |
//! | `1.0F128`, `1.0q` | `((_Float128)1.0)` and so on |
//! | `int :3;` | `int __proofline_anon_K : 3;` |
//! | `_Bool` | `bool`, which is always the type of the language |
//! | a name that tree-sitter takes for a keyword (`TRUE`, `bool` before C23, …) | `__proofline_id_TRUE`; [`crate::Unit::node_text`] gives `TRUE` |
//! | `__extension__` | nothing |
//! | `__const`, `__volatile__`, `__restrict`, `__inline__`, `__signed__`, … | `const`, `volatile`, … |
//! | `_Thread_local`, `thread_local` | `__thread` |
//! | `__attribute__((…))`, `[[…]]`, `__declspec(…)`, `_Noreturn`, `asm("label")` on a declarator | [`crate::Unit::attributes`] |
//! | `asm (…);` as a statement or at file scope | `asm (…)`, a `gnu_asm_expression`; string operands joined |
//! | `&&label` | `& & label`: a `pointer_expression` in a `pointer_expression` |
//! | a typedef name where only a type makes sense (`(T)(x)`, `sizeof(T)`, `T (x);`, `T *(*f)(void);`, `for (T *(p) = …`) | `_Nonnull T`: the qualifier `_Nonnull` means nothing else than "a type name follows" |
//! | a declaration without a type (`static x;`, `main() {`) | `static int x;`, `int main() {` |
//! | `typedef struct s { … };` | `typedef struct s { … } __proofline_anon_K;` |
//! | `label: }` | `label: ; }` |

/// The callee of a computed goto.
pub const GOTO: &str = "__proofline_goto";
/// The callee of a case range, both ends included.
pub const RANGE: &str = "__proofline_range";
/// The callee of a static assertion.
pub const STATIC_ASSERT: &str = "__proofline_static_assert";
/// The name of the `macro_type_specifier` of `typeof`.
pub const TYPEOF: &str = "__proofline_typeof";
/// The name of the `macro_type_specifier` of `typeof_unqual`.
pub const TYPEOF_UNQUAL: &str = "__proofline_typeof_unqual";
/// The callee of an imaginary constant.
pub const IMAGINARY: &str = "__proofline_imaginary";
/// The struct tag in the pointer cast of `__real__`.
pub const REAL: &str = "__proofline_real";
/// The struct tag in the pointer cast of `__imag__`.
pub const IMAG: &str = "__proofline_imag";
/// What the name of a complex type starts with; the real type follows, its words joined by `_`.
pub const COMPLEX: &str = "__proofline_complex_";
/// What a made-up declarator starts with; nothing in the program can name it.
pub const ANON: &str = "__proofline_anon_";
/// What an identifier is prefixed with if tree-sitter would take it for a keyword.
pub const ID: &str = "__proofline_id_";
/// The qualifier that says that a type name follows.
pub const TYPE_FOLLOWS: &str = "_Nonnull";
