//! Where a run gets the values from that the program does not determine.

use proofline_cfa::{Cause, EdgeId, IntType, Name, Scalar, Site};

/// What a run has to choose: which value does this input have?
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// In which function.
    pub function: Name,
    /// Where.
    pub site: Site,
    /// Why the value is not determined.
    pub cause: Cause,
    /// Its format.
    pub scalar: Scalar,
    /// A pointer of the callers: 0 is null, and anything else a new object.
    pub may_be_made_up: bool,
}

/// Why an allocation may fail.
const ALLOCATION_FAILS: &str = "malloc fails";

impl Choice {
    /// Whether an allocation fails: a cause and a format.
    pub(super) fn of_allocation() -> (Cause, Scalar) {
        (Cause::External(Name::new(ALLOCATION_FAILS)), Scalar::Int(IntType::BOOL))
    }

    /// Whether it is asked if an allocation fails.
    pub fn is_of_allocation(&self) -> bool {
        matches!(self.cause, Cause::External(why) if why.as_str() == ALLOCATION_FAILS)
    }
}

/// How an edge is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passing {
    /// An ordinary edge.
    Edge,
    /// A call edge, into this function.
    Enter(Name),
    /// A call edge, back from its function.
    Leave,
}

/// Chooses values. The same answers give the same run.
pub trait Oracle {
    /// Whether it wants to hear of edges: pure calls are then executed each time.
    fn hears_edges(&self) -> bool {
        false
    }
    /// Hears of every edge before it is executed.
    fn passes(&mut self, _function: Name, _edge: EdgeId, _passing: Passing) {}

    /// Whether it wants to hear of states: see [`Oracle::reaches`].
    fn hears_states(&self) -> bool {
        false
    }
    /// Hears, before an integer is asked for, what the state looks like: states that look alike have one number.
    fn reaches(&mut self, _state: u64) {}

    /// A value in the range of the format: integers as they are, pointers as addresses (only 0 is always right, see also [`Choice::may_be_made_up`]), floats as the bits of an `f64`.
    fn choose(&mut self, choice: &Choice) -> i128;
}

/// Gives recorded answers, then zeros.
#[derive(Clone, Debug, Default)]
pub struct Script {
    answers: Vec<i128>,
    next: usize,
}

impl Script {
    /// These answers in order.
    pub fn new(answers: Vec<i128>) -> Script {
        Script { answers, next: 0 }
    }
}

impl Oracle for Script {
    fn choose(&mut self, choice: &Choice) -> i128 {
        let answer = self.answers.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(answer),
            Scalar::Float(_) | Scalar::Pointer => answer,
        }
    }
}
