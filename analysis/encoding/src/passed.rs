//! A scalar on its way into a function, or out of it. A function may be called through a pointer of another type: what it gets then is any value, as the
//! bits of one format say nothing of another one.

use proofline_cfa::{Argument, Scalar};
use proofline_smt::Term;

use crate::{arithmetic, memory::Executor};

/// A value and its format.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    pub(crate) value: Term,
    pub(crate) scalar: Scalar,
}

impl Passed {
    /// What an argument is; `None` for a record passed by value.
    pub(crate) fn argument(argument: &Argument, executor: &mut Executor<'_>) -> Option<Passed> {
        match argument {
            Argument::Value(value) => {
                Some(Passed { value: arithmetic::value(value, executor), scalar: value.scalar() })
            }
            Argument::Aggregate(_) => None,
        }
    }

    /// The value for what is of this format, if it is one.
    pub(crate) fn as_one_of(self, scalar: Option<Scalar>) -> Option<Term> {
        (scalar == Some(self.scalar)).then_some(self.value)
    }
}
