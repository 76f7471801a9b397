//! Every construct of C and GNU C in common use comes through without a syntax error, and what the
//! grammar lacks is spelled as `marks` says.

use crate::common::{self, errors, find, hosted, nodes, normalised, unit, unit_with};
use proofline_syntax::{Severity, Unit, ast};

/// C text, and what it is in the normalised text; `=` where that is the same up to blanks.
const SPELLED: &[(&str, &str)] = &[
    // Statements.
    ("void f(void *p) { goto *p; }", "void f ( void * p ) { __proofline_goto ( p ) ; }"),
    (
        "void f(void **t, int i) { goto *t[i]; }",
        "void f ( void * * t , int i ) { __proofline_goto ( t [ i ] ) ; }",
    ),
    ("void f(void) { void *p = &&end; end: ; }", "void f ( void ) { void * p = && end ; end : ; }"),
    (
        "void f(int a) { switch (a) { case 1 ... 5: a++; case 7: break; } }",
        "void f ( int a ) { switch ( a ) { case __proofline_range ( 1 , 5 ) : a ++ ; case 7 : break ; } }",
    ),
    (
        "void f(int a) { switch (a) { case (1 ? 2 : 3) ... 'z': ; default: ; } }",
        "void f ( int a ) { switch ( a ) { case __proofline_range ( ( 1 ? 2 : 3 ) , 'z' ) : ; default : ; } }",
    ),
    ("int f(int a) { switch (a) { case 1 ? 2 : 3: return a ? 1 : 2; } return 0; }", "="),
    (
        "void f(int x) { switch (x) case 1: g(1); switch (x) if (x) default: g(2); else g(3); g(4); }",
        "void f ( int x ) { switch ( x ) { case 1 : g ( 1 ) ; } switch ( x ) { if ( x ) { default : g ( 2 ) ; } else g ( 3 ) ; } g ( 4 ) ; }",
    ),
    (
        "void f(int x) { switch (x) { case 1: if (x) case 2: g(1); g(2); do case x ? x ? 3 : 4 : 5: { g(3); } while (x); g(4); } }",
        "void f ( int x ) { switch ( x ) { case 1 : if ( x ) { case 2 : g ( 1 ) ; } g ( 2 ) ; \
         do { case x ? x ? 3 : 4 : 5 : { g ( 3 ) ; } } while ( x ) ; g ( 4 ) ; } }",
    ),
    (
        "void f(int x) { switch (x) { while (x) l: default: for (;;) if (x) { g(1); } else do g(2); while (x); g(3); } }",
        "void f ( int x ) { switch ( x ) { while ( x ) l : { default : for ( ; ; ) if ( x ) { g ( 1 ) ; } else do g ( 2 ) ; while ( x ) ; } g ( 3 ) ; } }",
    ),
    ("void f(void) { out: }", "void f ( void ) { out : ; }"),
    (
        "void f(int a) { if (a) { out: } else goto out; }",
        "void f ( int a ) { if ( a ) { out : ; } else goto out ; }",
    ),
    ("void f(int n) { switch (n % 4) { case 0: do { n--; case 3: n--; } while (n > 0); } }", "="),
    ("int f(int a) { return ({ int b = a; b + 1; }) ? a ?: 3 : 0; }", "="),
    ("void f(void) { __label__ l; goto l; l: ; for (int i = 0, j = 1; i < j; i++, j--) continue; }", "="),
    ("int f(int a) { int g(int b) { return a + b; } return g(1); }", "="),
    (
        "_Static_assert(sizeof(int) == 4, \"m\"); void f(void) { _Static_assert(1, \"m\"); }",
        "__proofline_static_assert ( sizeof ( int ) == 4 , \"m\" ) ; void f ( void ) { __proofline_static_assert ( 1 , \"m\" ) ; }",
    ),
    ("struct s { int a; _Static_assert(1, \"m\"); ; int b; };", "struct s { int a ; int b ; } ;"),
    // Assembly.
    (
        "void f(int a) { __asm__ __volatile__(\"a\" \"b\" : \"=\" \"r\"(a) : [in] \"r\"(a) : \"memory\"); }",
        "void f ( int a ) { asm volatile ( \"ab\" : \"=r\" ( a ) : [ in ] \"r\" ( a ) : \"memory\" ) ; }",
    ),
    (
        "void f(void) { asm(\"nop\":::\"memory\"); asm goto(\"jmp %l0\" : : : : l); l: ; }",
        "void f ( void ) { asm ( \"nop\" : : : \"memory\" ) ; asm goto ( \"jmp %l0\" : : : : l ) ; l : ; }",
    ),
    (
        "void f(int a) { if (a) asm(\"nop\"); else __asm(\"hlt\"); }",
        "void f ( int a ) { if ( a ) asm ( \"nop\" ) ; else asm ( \"hlt\" ) ; }",
    ),
    (
        "__asm__(\".globl x\"); extern int f(int) __asm__(\"\" \"g\"); register int r asm(\"rax\");",
        "asm ( \".globl x\" ) ; extern int f ( int ) ; register int r ;",
    ),
    // Types.
    (
        "void f(int a) { __typeof__(a + 1) b; typeof(int *) c; typeof(a) d; typeof_unqual(a) e; }",
        "void f ( int a ) { _Nonnull __proofline_typeof ( void [ ( a + 1 ) ] ) b ; _Nonnull __proofline_typeof ( int * ) c ; \
      _Nonnull __proofline_typeof ( void [ ( a ) ] ) d ; _Nonnull __proofline_typeof_unqual ( void [ ( a ) ] ) e ; }",
    ),
    (
        "typedef int T; typeof(T *) p; struct s { typeof(T) x : 3; };",
        "typedef int T ; _Nonnull __proofline_typeof ( T * ) p ; struct s { _Nonnull __proofline_typeof ( T ) x : 3 ; } ;",
    ),
    (
        "int f(int a) { return (__typeof__(a))1 + sizeof(typeof(a)); }",
        "int f ( int a ) { return ( _Nonnull __proofline_typeof ( void [ ( a ) ] ) ) 1 + sizeof ( _Nonnull __proofline_typeof ( void [ ( a ) ] ) ) ; }",
    ),
    (
        "#define max(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })\nint f(int x) { return max(x, 1); }",
        "int f ( int x ) { return ( { _Nonnull __proofline_typeof ( void [ ( x ) ] ) _a = ( x ) ; _Nonnull __proofline_typeof ( void [ ( 1 ) ] ) _b = ( 1 ) ; _a > _b ? _a : _b ; } ) ; }",
    ),
    (
        "_Atomic int a; _Atomic(int) b; _Atomic(int *) *c;",
        "_Atomic int a ; _Atomic __proofline_typeof ( int ) b ; _Atomic __proofline_typeof ( int * ) * c ;",
    ),
    (
        "double _Complex z; _Complex float *w; long double _Complex f(_Complex);",
        "__proofline_complex_double z ; __proofline_complex_float * w ; __proofline_complex_long_double f ( __proofline_complex_double ) ;",
    ),
    (
        "double _Complex z = 1.0i + 2.5fi; double f(void) { __imag__ z = 1; return __real__ z; }",
        "__proofline_complex_double z = __proofline_imaginary ( 1.0 ) + __proofline_imaginary ( 2.5f ) ; \
      double f ( void ) { * ( struct __proofline_imag * ) & z = 1 ; return * ( struct __proofline_real * ) & z ; }",
    ),
    (
        "_Bool b; __signed__ char c; __const char *p; __volatile__ int v; static __thread int t; static _Thread_local int u;",
        "bool b ; signed char c ; const char * p ; volatile int v ; static __thread int t ; static __thread int u ;",
    ),
    (
        "extern __inline int f(int x) { return x; } static __inline__ int g(void) { return 1; }",
        "extern inline int f ( int x ) { return x ; } static inline int g ( void ) { return 1 ; }",
    ),
    (
        "long static unsigned const int x; int long unsigned y; int const volatile unsigned z;",
        "static const long unsigned int x ; int long unsigned y ; const volatile int unsigned z ;",
    ),
    (
        "typedef unsigned __int128 u; __int128 f(u x) { return x + (__int128)1; } _Float128 q = 1.0F128; _Float32x r;",
        "typedef unsigned __int128 u ; __int128 f ( u x ) { return x + ( _Nonnull __int128 ) 1 ; } _Float128 q = ( ( _Float128 ) 1.0 ) ; _Float32x r ;",
    ),
    (
        "char *strcpy(char *__restrict d, const char *restrict s); int f(int a[__restrict static 3], int n, int b[const n], int c[*]);",
        "char * strcpy ( char * restrict d , const char * restrict s ) ; int f ( int a [ restrict static 3 ] , int n , int b [ const n ] , int c [ * ] ) ;",
    ),
    (
        "_Alignas(16) int x; struct s { _Alignas(8) char c; _Alignas(double) int d; }; int y = _Alignof(int) + __alignof__(x) + __alignof__(x + 1);",
        "_Alignas ( 16 ) int x ; struct s { _Alignas ( 8 ) char c ; _Alignas ( double ) int d ; } ; \
      int y = _Alignof ( int ) + __alignof__ ( _Nonnull __proofline_typeof ( void [ ( x ) ] ) ) + __alignof__ ( _Nonnull __proofline_typeof ( void [ ( x + 1 ) ] ) ) ;",
    ),
    (
        "struct s { unsigned a : 3; int : 0; int b : 5, : 2, c : 1; unsigned : 4; };",
        "struct s { unsigned a : 3 ; int __proofline_anon_1 : 0 ; int b : 5 , __proofline_anon_2 : 2 , c : 1 ; unsigned __proofline_anon_3 : 4 ; } ;",
    ),
    (
        "typedef int T; enum e { A }; struct s { T : 3; T x : 3; T T; enum e : 2; struct { int i; } : 1; };",
        "typedef int T ; enum e { A } ; struct s { T __proofline_anon_1 : 3 ; T x : 3 ; T T ; enum e __proofline_anon_2 : 2 ; struct { int i ; } __proofline_anon_3 : 1 ; } ;",
    ),
    (
        "struct s { int n; union { int a; struct { char b; }; }; int (*f)(int), *p; char d[]; }; struct e { }; struct z { char d[0]; };",
        "=",
    ),
    (
        "typedef struct s { int a; }; static enum { A, B = 3, }; const union u { int a; }; struct t { int b; };",
        "typedef struct s { int a ; } __proofline_anon_1 ; static enum { A , B = 3 , } __proofline_anon_2 ; const union u { int a ; } __proofline_anon_3 ; struct t { int b ; } ;",
    ),
    // Declarations.
    ("int f(a, b) int a; char *b; { return a; }", "="),
    (
        "f(x) { return x; } main() { } static g(a) int a; { return a; } static n; register c = 1; extern h();",
        "int f ( x ) { return x ; } int main ( ) { } static int g ( a ) int a ; { return a ; } static int n ; register int c = 1 ; extern int h ( ) ;",
    ),
    (
        "static const char *f(a, b) int a; char *b; { return b; } struct s *const *g(x) int x; { return 0; } char *h(int x) { return 0; }",
        "static _Nonnull __proofline_typeof ( const char * ) f ( a , b ) int a ; char * b ; { return b ; } \
         _Nonnull __proofline_typeof ( struct s * const * ) g ( x ) int x ; { return 0 ; } char * h ( int x ) { return 0 ; }",
    ),
    ("a; b = 1, c[3]; d(); e(long);", "int a ; int b = 1 , c [ 3 ] ; int d ( ) ; int e ( long ) ;"),
    (
        "#ident \"x\"\nstruct s { int a; struct { int b } c };",
        "struct s { int a ; struct { int b ; } c ; } ;",
    ),
    (
        "void (*signal(int sig, void (*func)(int)))(int); int (*fp[3])(int, char *); int g(int (*)(int), int [], char *(*)[3]);",
        "=",
    ),
    ("int x, *y, z[3] = { 1, [2] = 3 }, (*w)(void), v[] = { [0 ... 9] = 3 };", "="),
    (
        "struct s { int x, y[2]; } v = { x: 3, .y[0] = 1 }; struct s *p = &(struct s){ .x = 1 }; int *q = (int[]){ 1, 2, }; struct s e = { };",
        "=",
    ),
    (
        "__extension__ typedef struct { long long q; } lldiv_t; int x = __extension__ 5; struct s { __extension__ union { int a; }; };",
        "typedef struct { long long q ; } lldiv_t ; int x = 5 ; struct s { union { int a ; } ; } ;",
    ),
    ("void f(int a) { __auto_type b = a; }", "="),
    // Names.
    (
        "typedef enum { FALSE, TRUE } bool; bool f(int true) { return true ? TRUE : FALSE; }",
        "typedef enum { __proofline_id_FALSE , __proofline_id_TRUE } __proofline_id_bool ; __proofline_id_bool f ( int __proofline_id_true ) \
      { return __proofline_id_true ? __proofline_id_TRUE : __proofline_id_FALSE ; }",
    ),
    // Built-in functions that take types.
    (
        "void f(__builtin_va_list ap) { char *x = __builtin_va_arg(ap, char *); int y = __builtin_va_arg((ap), struct s { int i; }).i; }",
        "void f ( __builtin_va_list ap ) { char * x = __builtin_va_arg ( ap , sizeof ( char * ) ) ; int y = __builtin_va_arg ( ( ap ) , sizeof ( struct s { int i ; } ) ) . i ; }",
    ),
    (
        "struct s { struct { int b[3]; } a; }; unsigned long x = __builtin_offsetof(struct s, a.b[2]);",
        "struct s { struct { int b [ 3 ] ; } a ; } ; unsigned long x = __builtin_offsetof ( sizeof ( struct s ) , a . b [ 2 ] ) ;",
    ),
    (
        "int x = __builtin_types_compatible_p(int, unsigned long) + __builtin_choose_expr(1, 2, 3);",
        "int x = __builtin_types_compatible_p ( sizeof ( int ) , sizeof ( unsigned long ) ) + __builtin_choose_expr ( 1 , 2 , 3 ) ;",
    ),
    ("int f(int x) { return _Generic(x, int: 1, char *: 2, struct s *: 4, default: 3); }", "="),
    ("void f(int *p) { if (__builtin_expect(!!(p), 0)) __builtin_unreachable(); }", "="),
    // Typedef names, where only a type makes sense.
    (
        "typedef int T; int f(int x) { return (T)(x) + (T)-x + sizeof(T) + (T)x; }",
        "typedef int T ; int f ( int x ) { return ( _Nonnull T ) ( x ) + ( _Nonnull T ) - x + sizeof ( _Nonnull T ) + ( _Nonnull T ) x ; }",
    ),
    (
        "typedef int T; void f(void) { T (q); T (*r)(int); T *s; }",
        "typedef int T ; void f ( void ) { _Nonnull T ( q ) ; _Nonnull T ( * r ) ( int ) ; T * s ; }",
    ),
    ("typedef int T; void f(void) { int T = 3; T * 2; (T) + 1; }", "="),
    (
        "typedef int T; void f(int T) { T (1); } T (*g)(int) = f;",
        "typedef int T ; void f ( int T ) { T ( 1 ) ; } _Nonnull T ( * g ) ( int ) = f ;",
    ),
    // Literals.
    (
        "double d[] = { 0x1.8p3, 1., .5e-3, 1e5f, 1.0L, 0x.8p1 }; unsigned long long u[] = { 1ULL, 0b101, 0777, 0xFFu, 'abcd', L'x' };",
        "double d [ ] = { 0x1.8p3 , 1. , .5e-3 , 1e5f , 1.0l , 0x0.8p1 } ; unsigned long long u [ ] = { 1ull , 0b101 , 0777 , 0xFFu , 'abcd' , L'x' } ;",
    ),
    ("char *s = u8\"abc\" \"def\" \"\\x41\\u00e9\\e\\\"\"; int *w = L\"wide\";", "="),
];

#[test]
fn every_construct_is_spelled_as_documented_and_parses() {
    for (text, expected) in SPELLED {
        let unit = unit(text);
        assert_eq!(errors(&unit), [""; 0], "{text}\n{}", unit.root().to_sexp());
        assert!(!unit.root().has_error(), "{text}\n{}", unit.root().to_sexp());
        only_known_kinds(&unit);
        match *expected {
            "=" => {
                let squeeze = |text: &str| text.split_whitespace().collect::<String>();
                assert_eq!(squeeze(unit.text()), squeeze(text));
            }
            expected => {
                assert_eq!(normalised(&unit), expected.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
}

/// A reader of normalised text meets no kind but those that it is told of.
fn only_known_kinds(unit: &Unit) {
    for node in nodes(unit).iter().filter(|node| node.is_named()) {
        let known = ast::KINDS.iter().any(|kinds| kinds.contains(&node.kind()));
        assert!(known, "{} in {}", node.kind(), unit.node_text(*node));
    }
}

#[test]
fn attributes_leave_no_trace_in_the_text() {
    let unit = unit(
        "static inline __attribute__((always_inline)) int f(int x) { return x; }
         int g(int x __attribute__((unused)), char *y __attribute__((nonnull))) __attribute__((nonnull(2), pure));
         struct __attribute__((packed)) s { int a; char b __attribute__((aligned(4))); } __attribute__((aligned(8)));
         int v __attribute__((unused)) = 3, w __attribute__(());
         void h(int x) { switch (x) { case 1: x++; __attribute__((fallthrough)); default: goto l; } l: __attribute__((unused)) return; }
         typedef int v4 __attribute__((vector_size(16))); typedef __attribute__((aligned(1))) int u;
         int *__attribute__((aligned(8))) p; enum e { A __attribute__((deprecated)), B };
         _Noreturn void n(void); __declspec(dllexport) int d(void); int __stdcall k(void); int (__attribute__((cdecl)) *fp)(void);",
    );
    assert_eq!(errors(&unit), [""; 0]);
    assert_eq!(unit.unplaced_attributes(), []);
    for word in ["attribute", "packed", "aligned", "declspec", "stdcall", "Noreturn"] {
        assert!(!unit.text().contains(word), "{word}: {}", unit.text());
    }
}

#[test]
fn c23_is_read_or_refused_by_name() {
    let good = "[[nodiscard]] int f(void); void g(void) { [[maybe_unused]] int x; auto y = 3; bool b = true; int *p = nullptr; \
        static_assert(1); typeof(y) z = 1'000'000; } constexpr int n = 3; int u(int, ...); void l(void) { end: }";
    let unit = unit_with(good, &["-std=c2x"]);
    assert_eq!(errors(&unit), [""; 0], "{}", unit.root().to_sexp());
    assert!(normalised(&unit).contains("__auto_type y = 3"));
    assert!(normalised(&unit).contains("z = 1000000"));
    assert_eq!(
        errors(&common::unit("int x = 1'000'000;")),
        ["digit separators are of C23, -std=c2x allows them"]
    );
    let old = common::unit("constexpr int n = 3;");
    assert!(old.errors().iter().any(|error| error.message.starts_with("`constexpr` is a keyword of C23")));
    for (text, message) in [
        ("_BitInt(17) x; unsigned _BitInt(5) y;", "unsupported C23 type `_BitInt`"),
        ("enum e : unsigned char { A };", "unsupported C23 enum with a fixed underlying type"),
        ("int x = 3wb;", "unsupported C23 constant of type `_BitInt`"),
    ] {
        let unit = unit_with(text, &["-std=c2x"]);
        assert_eq!(errors(&unit)[0], message);
        assert!(unit.is_damaged(unit.root()));
        assert!(!unit.root().has_error(), "{text}: the rest still parses");
    }
}

#[test]
fn what_the_grammar_would_read_wrongly_is_refused() {
    for (text, message) in [
        ("void f(long x) { p(\"%\" PRId64 \"\\n\", x); }", "`PRId64` beside a string"),
        ("char *s = PREFIX \"x\";", "`PREFIX` beside a string"),
        ("*x;", "this is a statement outside of any function"),
        ("int f(void); { return 1; }", "this is a statement outside of any function"),
        ("#define E\nE # define X 1\n", "`#` is not C"),
    ] {
        let unit = common::unit(text);
        assert_eq!(errors(&unit).first(), Some(&message), "{text}");
        assert!(unit.is_damaged(unit.root()));
    }
    // A declaration without a declarator ends with the function before it.
    let unit = unit("static int f(void) { return 1; } struct s { int a; };");
    assert!(!unit.text().contains("__proofline_anon_"), "{}", unit.text());
}

#[test]
fn the_headers_of_this_machine_parse() {
    let names = "stdio stdlib string pthread math complex immintrin tgmath unistd signal setjmp stdatomic threads \
        sys/socket netinet/in arpa/inet netdb wchar locale time regex fenv inttypes sys/stat";
    let text: String = names.split_whitespace().map(|name| format!("#include <{name}.h>\n")).collect();
    let unit = hosted(&text);
    assert_eq!(errors(&unit), [""; 0]);
    assert!(unit.root().descendant_count() > 100_000);
    let weighty: Vec<_> = unit.unplaced_attributes().iter().map(|attribute| &attribute.name).collect();
    assert_eq!(weighty, [""; 0]);
    only_known_kinds(&unit);
}

#[test]
fn packing_reaches_the_struct_it_is_for() {
    let unit = unit(
        "#pragma pack(push, 1)\nstruct a { char c; };\n#pragma pack(2)\nstruct b { char c; };\n#pragma pack(pop)\nstruct c { char c; };\n\
         _Pragma(\"pack(4)\") struct d { char c; };\n#pragma pack()\nstruct e { char c; };\n\
         #pragma pack(push, name, 8)\n#pragma pack(push, 1)\nstruct f { char c; };\n#pragma pack(pop, name)\nstruct g { char c; };\n",
    );
    let packs: Vec<_> = nodes(&unit)
        .into_iter()
        .filter(|node| node.kind() == "struct_specifier")
        .map(|node| (unit.node_text(node).as_bytes()[7] as char, unit.pack(node)))
        .collect();
    let expected = [
        ('a', Some(1)),
        ('b', Some(2)),
        ('c', None),
        ('d', Some(4)),
        ('e', None),
        ('f', Some(1)),
        ('g', None),
    ];
    assert_eq!(packs, expected);
    assert!(errors(&common::unit("#pragma pack(3)\nint x;\n"))[0].contains("pack"));
}

#[test]
fn masked_names_read_as_they_are_written() {
    let unit = unit("enum { TRUE }; int f(void) { return TRUE; }");
    assert_eq!(unit.node_text(find(&unit, "identifier", "TRUE")), "TRUE");
}

#[test]
fn line_markers_are_read_and_positions_stay_in_the_file() {
    let unit = unit(
        "# 1 \"a.c\"\n# 1 \"/usr/include/x.h\" 1 3 4\nint f(int a,\n# 9 \"y.h\" 3 4\nint b);\n# 3 \"a.c\" 2\nenum e {\n# 9 \"x.h\"\n A,\n# 10 \"x.h\"\n B };\n",
    );
    assert_eq!(errors(&unit), [""; 0]);
    let b = find(&unit, "identifier", "B");
    assert_eq!(unit.files().line_col(unit.span(b).file, unit.span(b).start), (10, 1));
    assert!(unit.errors().iter().all(|error| error.severity == Severity::Warning));
}
