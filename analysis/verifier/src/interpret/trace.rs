//! What a run did, for people: the edges it took and the values it wrote.

use super::memory::Extent;

use proofline_cfa::{EdgeId, Loc, MemoryPredicate, Name, Scalar, eval::Value};

use super::made_up::MadeUp;

/// One taken edge.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Function it belongs to.
    pub function: Name,
    /// The edge.
    pub edge: EdgeId,
    /// Number of open calls.
    pub depth: u32,
    /// The scalar it wrote, with its format; for a branch its condition's value.
    pub value: Option<(Value, Scalar)>,
    /// The values of scalar arguments, at a call that is entered.
    pub arguments: Vec<Option<(Value, Scalar)>>,
    /// An input was chosen here.
    pub is_input: bool,
}

/// The events of a run, the oldest dropped when there are too many.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In order.
    pub events: Vec<Event>,
    /// Objects that came into being, in order.
    pub made_up: Vec<MadeUp>,
    /// How many were dropped at the start of long loops.
    pub dropped: u64,
    /// Stretches that have no events, in order.
    pub skipped: Vec<Skipped>,
    /// Where the objects of the run were, by address.
    pub(crate) objects: Vec<Extent>,
    /// What was asked last of bytes of an object that lived, and was not so.
    pub(crate) touched: Option<Touched>,
    /// Whether what was asked last of memory was asked of a null pointer.
    pub(crate) is_null: bool,
}

/// A stretch of a run without events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The events before, those that were dropped included.
    pub before: u64,
    /// Function where it begins.
    pub function: Name,
    /// Where: of a loop the head.
    pub at: Loc,
    /// Number of open calls.
    pub depth: u32,
    /// What was passed.
    pub passed: Passed,
}

/// What a run does without events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// It goes round in the loop so often, which was computed.
    Iterations(u128),
    /// It takes so many steps, as machine code.
    Steps(u64),
}

/// Bytes of an object of which something was asked that is not so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    /// What was asked.
    pub(crate) predicate: MemoryPredicate,
    /// From where on.
    pub(crate) address: u64,
    /// How many bytes; of a string 0, or the most characters.
    pub(crate) size: i128,
    /// The object that the pointer was made from.
    pub(crate) object: Extent,
    /// Which of its bytes have a value, from where to where; `None` if nobody asks that of such an object.
    pub(crate) written: Option<Vec<(u64, u64)>>,
}

/// More than this is not kept; memory stays bounded.
const LONGEST: usize = 200_000;

impl Trace {
    /// Whether every step of the run is an event.
    pub fn is_whole(&self) -> bool {
        self.dropped == 0 && self.skipped.is_empty()
    }

    /// Notes a stretch. One of machine code goes on behind another if nothing happened between.
    pub(crate) fn skip(&mut self, new: Skipped) {
        if let Some(last) = self.skipped.last_mut()
            && let (Passed::Steps(known), Passed::Steps(more)) = (&mut last.passed, new.passed)
            && last.before == new.before
        {
            *known += more;
            return;
        }
        self.skipped.push(new);
    }

    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() >= LONGEST {
            let half = LONGEST / 2;
            self.events.drain(..half);
            self.dropped += half as u64;
        }
        self.events.push(event);
    }
}
