//! What a cell may hold, and what pointers lead to. Knows no state.

use proofline_cfa::{LocalId, Name};
use serde::{Deserialize, Serialize};

use crate::interval::Ranges;

/// A node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Node {
    /// An object with static storage.
    Global(Name),
    /// A local that lives in memory, of the frame with this depth (0: the entry function's).
    Local(u32, LocalId),
    /// An object that was allocated, or a segment of such objects.
    Heap(u32),
}

/// Which object of a segment a pointer leads to. Of a single object all say the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum End {
    /// The first.
    First,
    /// The last (of doubly linked segments only).
    Last,
    /// Each its own: stands in what is kept of every object of the segment.
    Each,
}

/// A pointer to a node, `low..=high` bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pointer {
    /// The node.
    pub to: Node,
    /// Which object of it.
    pub end: End,
    /// Least offset.
    pub low: i64,
    /// Greatest offset.
    pub high: i64,
}

impl Pointer {
    /// To the start of a node.
    pub fn to(to: Node) -> Pointer {
        Pointer { to, end: End::First, low: 0, high: 0 }
    }

    /// The offset, if there is one only.
    pub fn offset(&self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }
}

/// A set of values. An absent register, and memory that nothing is known of, is `Uninit`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Value {
    /// Any, or none: the bytes may never have been written.
    Uninit,
    /// Any.
    Any,
    /// A number (null is 0); each such cell is one of its own.
    Number(Ranges),
    /// A number that has a name: all cells with this name hold the same.
    Symbol(u32),
    /// A pointer.
    Pointer(Pointer),
    /// A function's address.
    Function(Name),
    /// A pointer to a heap object that was freed.
    Freed,
    /// A pointer to an automatic object whose life has ended.
    Ended,
    /// One of these. Stands only in what is kept of every object of a segment, for each object another one.
    Choice(Vec<Value>),
}

impl Value {
    /// A number.
    pub fn single(value: i128) -> Value {
        Value::Number(Ranges::single(value))
    }

    /// Null.
    pub fn null() -> Value {
        Value::single(0)
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        matches!(self, Value::Number(ranges) if ranges.as_single() == Some(0))
    }

    /// Whether a part of its bytes has the same description.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Value::Uninit | Value::Any) || self.is_zero()
    }

    /// The pointers in it.
    pub(super) fn pointers(&self) -> impl Iterator<Item = Pointer> {
        let (one, many): (Option<Pointer>, &[Value]) = match self {
            Value::Pointer(pointer) => (Some(*pointer), &[]),
            Value::Choice(all) => (None, all),
            Value::Uninit
            | Value::Any
            | Value::Number(_)
            | Value::Symbol(_)
            | Value::Function(_)
            | Value::Freed
            | Value::Ended => (None, &[]),
        };
        // Choices are not nested.
        let inner = many.iter().filter_map(|value| match value {
            Value::Pointer(pointer) => Some(*pointer),
            _ => None,
        });
        one.into_iter().chain(inner)
    }

    /// Replaces pointers for which the function has something else.
    pub(super) fn redirect(&mut self, by: &impl Fn(&Pointer) -> Option<Value>) {
        match self {
            Value::Pointer(pointer) => {
                if let Some(new) = by(pointer) {
                    *self = new;
                }
            }
            Value::Choice(all) => all.iter_mut().for_each(|value| value.redirect(by)),
            Value::Uninit
            | Value::Any
            | Value::Number(_)
            | Value::Symbol(_)
            | Value::Function(_)
            | Value::Freed
            | Value::Ended => {}
        }
    }
}
