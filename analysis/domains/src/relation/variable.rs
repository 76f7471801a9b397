//! What holds the numbers and pointers that relations speak of: locals, cells in memory, and what lies where access paths lead. Knows no values.

use proofline_cfa::{EdgeId, LocalId, Name, Object};
use serde::{Deserialize, Serialize};

/// Something that holds a number or a pointer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Var {
    /// A local of the innermost frame that only edges which name it change; or a local array, which is listed like a pointer to its start.
    Local(LocalId),
    /// A member of an object, or an element.
    Cell(Cell),
    /// What lies where the access path leads now which is the innermost function's with this number (`paths.rs`).
    Path(u16),
}

impl Var {
    /// The local.
    pub fn local(self) -> Option<LocalId> {
        match self {
            Var::Local(id) => Some(id),
            Var::Cell(_) | Var::Path(_) => None,
        }
    }

    /// The cell.
    pub fn cell(self) -> Option<Cell> {
        match self {
            Var::Local(_) | Var::Path(_) => None,
            Var::Cell(cell) => Some(cell),
        }
    }
}

/// Some bytes of an object, which are read and written as one scalar [Min06].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The object.
    pub of: Tag,
    /// Bytes from its start.
    pub at: u32,
    /// So many bytes.
    pub size: u32,
}

impl Cell {
    /// Whether one of these bytes of the object is one of its own.
    pub fn overlaps(&self, first: i128, end: i128) -> bool {
        first < i128::from(self.at) + i128::from(self.size) && i128::from(self.at) < end
    }
}

/// Names an object for the time of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Tag {
    /// A global, or a local of the innermost frame.
    Named(Object),
    /// What this edge allocated last in this activation, or what it calls.
    Allocated {
        /// The edge.
        at: EdgeId,
        /// Which one: 0 is what it gives, others are what a call has left in memory.
        nth: u32,
        /// Whether that is on the heap.
        on_heap: bool,
    },
    /// What this parameter pointed to when the function was called.
    Passed(LocalId),
    /// What the pointer that lay there, so many bytes from the start of what this parameter pointed to, or of the structure that it is, led to when the
    /// function was called.
    Behind(LocalId, u32),
    /// What the pointer that lay there in this global led to when the function was called.
    Left(Name, u32),
    /// What this local led to when this edge was taken last, just behind it if the edge gives it a value. If the edge allocates, that is older than what it
    /// has allocated.
    Older(LocalId, EdgeId),
}

impl Tag {
    /// Whether two names certainly name two objects.
    pub fn is_apart(self, other: Tag) -> bool {
        let is_old = |tag: Tag| matches!(tag, Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..));
        match (self, other) {
            (Tag::Named(one), Tag::Named(other)) => one != other,
            (Tag::Allocated { at, nth, .. }, Tag::Allocated { at: edge, nth: other, .. }) => {
                (at, nth) != (edge, other)
            }
            (Tag::Named(_), Tag::Allocated { .. }) | (Tag::Allocated { .. }, Tag::Named(_)) => true,
            (Tag::Older(_, edge), Tag::Allocated { at, .. })
            | (Tag::Allocated { at, .. }, Tag::Older(_, edge)) => edge == at,
            // What was there before the function was called is neither allocated by it nor one of its locals.
            (old, Tag::Allocated { .. } | Tag::Named(Object::Local(..)))
            | (Tag::Allocated { .. } | Tag::Named(Object::Local(..)), old) => is_old(old),
            (
                Tag::Named(_) | Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..),
                Tag::Named(_) | Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..),
            ) => false,
        }
    }
}
