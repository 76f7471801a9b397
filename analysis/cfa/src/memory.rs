//! What C asks of memory, as predicates over a pointer and a number of bytes. What they mean in an execution stands here; how much of it
//! an analysis knows is its own matter. Objects are told apart by provenance: a pointer belongs to the object that it was made from,
//! whatever lies beside that object.

use std::fmt;

use proofline_hir::{TypeKind, types::IntKind};
use serde::{Deserialize, Serialize};

use crate::{Base, Expr, Function, IntType, Lvalue, Scalar, c_text};

/// What is asked of the bytes behind a pointer. Of a null pointer, and of a pointer that was made from no object, everything is false
/// except where it is said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MemoryPredicate {
    /// The pointer's object is no heap object that was given back (`free`, `realloc`). True of every pointer that is none to such an
    /// object, null and pointers to nothing included: their failure is another check's.
    NotFreed,
    /// The pointer's object is no automatic object whose scope or function has ended. True of all others.
    NotEnded,
    /// All the bytes lie inside the pointer's object; of an object that has ended: inside what it was. True of 0 bytes, whatever the
    /// pointer is.
    InBounds,
    /// The pointer leads into its object or to its end; null and a pointer to an object that has ended do, too. The size is not looked at.
    Within,
    /// Both operands, the second in the place of the size, are pointers into one object, or equal. True where one of the objects has
    /// ended: that is another check's failure.
    SameObject,
    /// The pointer may be given to `free`: it is null, or the start of a heap object that is alive. The size is not looked at.
    Freeable,
    /// Each of the bytes has a value: it was written since its object began to live (a copy of a byte without a value is none), or was
    /// looked at, which gave it any. True of objects with static storage, of memory that callers or unknown code gave a value, and
    /// where the bytes are not inside a living object.
    Initialised,
    /// From the pointer on there is a byte 0 before the object ends; if the size is not 0, among the first so many bytes, or all of
    /// those are inside the object.
    Terminated,
    /// The same of a character 0 of four bytes; the size counts characters.
    WideTerminated,
    /// The pointer's object may be written: it is no string literal, and is not declared `const`. True of 0 bytes, and of every pointer that is
    /// none to such an object, null and pointers to nothing included.
    Writable,
    /// The pointer is `&*p`, whose type is the one that `p` is called with; the size is the number of arguments. If `p` leads to a function, it
    /// may be called so ([`may_be_called`](crate::may_be_called)). False of a pointer into an object, true of null and of pointers to nothing.
    Callable,
    /// Every living heap object that was allocated since the innermost function was entered can be reached from objects with static storage or
    /// from the frames that are open (valid-memtrack). The pointer is not looked at; with size 1, of the innermost frame only the result
    /// counts, because its function returns; with size 0 the program ends, and every living heap object counts.
    NothingLost,
    /// No heap object is alive (valid-memcleanup). Neither pointer nor size is looked at.
    NothingLeft,
}

impl MemoryPredicate {
    /// Every predicate.
    pub const ALL: [MemoryPredicate; 13] = [
        MemoryPredicate::NotFreed,
        MemoryPredicate::NotEnded,
        MemoryPredicate::InBounds,
        MemoryPredicate::Within,
        MemoryPredicate::SameObject,
        MemoryPredicate::Freeable,
        MemoryPredicate::Initialised,
        MemoryPredicate::Terminated,
        MemoryPredicate::WideTerminated,
        MemoryPredicate::Writable,
        MemoryPredicate::Callable,
        MemoryPredicate::NothingLost,
        MemoryPredicate::NothingLeft,
    ];

    /// Its name in the text of automata.
    pub fn name(self) -> &'static str {
        match self {
            MemoryPredicate::NotFreed => "not_freed",
            MemoryPredicate::NotEnded => "not_ended",
            MemoryPredicate::InBounds => "in_bounds",
            MemoryPredicate::Within => "within",
            MemoryPredicate::SameObject => "same_object",
            MemoryPredicate::Freeable => "freeable",
            MemoryPredicate::Initialised => "initialised",
            MemoryPredicate::Terminated => "terminated",
            MemoryPredicate::WideTerminated => "wide_terminated",
            MemoryPredicate::Writable => "writable",
            MemoryPredicate::Callable => "callable",
            MemoryPredicate::NothingLost => "nothing_lost",
            MemoryPredicate::NothingLeft => "nothing_left",
        }
    }
}

/// How the text of [`MemoryPredicate::Callable`] ends.
pub const CALLABLE: &str = "leads to a function of the type that is called";

impl fmt::Display for MemoryPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the assignment copies a character from memory to memory: then a byte without a value stays one (C11 6.2.6.1 allows
/// characters alone to be read so). The answer is where it is copied from.
pub fn copied_character<'e>(function: &Function, dst: &Lvalue, value: &'e Expr) -> Option<&'e Lvalue> {
    let is_character = |lvalue: &Lvalue| {
        matches!(lvalue.scalar, Some(Scalar::Int(IntType { bits: 8, .. })))
            && lvalue.bits.is_none()
            && !matches!(lvalue.ty.kind(), TypeKind::Bool)
    };
    let is_register = |lvalue: &Lvalue| match lvalue.base {
        Base::Local(id) => lvalue.path.is_empty() && !function.local(id).address_taken,
        Base::Global(_) | Base::Deref(..) => false,
    };
    let Expr::Load(from) = value else { return None };
    let is_copy = is_character(dst) && is_character(from) && !is_register(dst) && !is_register(from);
    is_copy.then_some(from)
}

/// Whether so many bytes are what the pointer points to by its type, as far as that says a size in every data model.
fn is_all_of_place(pointer: &Expr, size: i128) -> bool {
    let pointee = match pointer {
        Expr::Address(lvalue) => return i128::from(lvalue.size) == size,
        Expr::Load(lvalue) => lvalue.ty.pointee(),
        _ => None,
    };
    match pointee.map(|ty| ty.kind()) {
        Some(TypeKind::Void) => false,
        Some(TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar)) => size == 1,
        Some(_) | None => true,
    }
}

/// The predicate as people say it.
pub(crate) fn text(function: &Function, predicate: MemoryPredicate, pointer: &Expr, size: &Expr) -> String {
    let pointer_text = c_text::expr_text(function, pointer);
    let place = || match pointer {
        Expr::Address(lvalue) => c_text::lvalue_text(function, lvalue),
        _ => format!("*{pointer_text}"),
    };
    match predicate {
        MemoryPredicate::NotFreed => format!("{pointer_text} is not freed"),
        MemoryPredicate::NotEnded => format!("what {pointer_text} points to still lives"),
        MemoryPredicate::InBounds => match size {
            Expr::Int(size, _) if is_all_of_place(pointer, *size) => {
                format!("{} is inside its object", place())
            }
            _ => format!(
                "{} bytes from {pointer_text} on are inside their object",
                c_text::expr_text(function, size)
            ),
        },
        MemoryPredicate::Within => format!("{pointer_text} is inside its object or at its end"),
        MemoryPredicate::SameObject => {
            format!("{pointer_text} and {} point into one object", c_text::expr_text(function, size))
        }
        MemoryPredicate::Freeable => format!("{pointer_text} is null or the start of a live heap object"),
        MemoryPredicate::Initialised => format!("{} has a value", place()),
        MemoryPredicate::Terminated => format!("{pointer_text} ends with a zero byte inside its object"),
        MemoryPredicate::WideTerminated => {
            format!("{pointer_text} ends with a wide zero character inside its object")
        }
        MemoryPredicate::Writable => format!("{} may be written", place()),
        MemoryPredicate::Callable => {
            let called = match pointer {
                Expr::Address(Lvalue { base: Base::Deref(called, _), .. }) => {
                    c_text::expr_text(function, called)
                }
                _ => pointer_text.clone(),
            };
            format!("{called} {CALLABLE}")
        }
        MemoryPredicate::NothingLost => "all that was allocated is freed or can still be reached".to_owned(),
        MemoryPredicate::NothingLeft => "all that was allocated is freed".to_owned(),
    }
}
