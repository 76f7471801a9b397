//! The engines that decide obligations, behind one trait. **To add one: a file, a variant of `configuration::Parts`, what its numbers may be
//! (`Parts::within_bounds`), and lines in `configurations.yml`.**

mod abstraction;
mod accelerated;
mod assumptions;
mod bounded;
mod call_paths;
mod cases;
pub(crate) mod concrete;
mod configuration;
mod corpus;
mod cparec;
mod equations;
mod features;
mod horn;
mod kinduction;
mod known;
mod method;
pub(crate) mod old_invariants;
mod own;
mod polynomials;
pub(crate) mod pool;
mod predicate;
mod question;
mod sequences;
pub(crate) mod session;
mod shared;
mod start;
mod states;
mod witness;

use std::collections::BTreeSet;

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::Unknown;

use crate::counterexample::Counterexample;

pub use abstraction::{Abstraction, Domain};
pub use accelerated::Accelerated;
pub use assumptions::Assuming;
pub use bounded::Bounded;
pub use call_paths::CallPaths;
pub use cases::Cases;
pub use concrete::Concrete;
pub use configuration::{
    RoundOf, alone_rounds, apart_rounds, before_contracts, by_name, groups, library, library_rounds, name,
    names, portfolio, portfolio_of, program_rounds, side_by_side,
};
pub use cparec::{CpaRec, CpaRecFixpoint};
pub use equations::Equations;
pub use features::Features;
pub use horn::Horn;
pub use kinduction::KInduction;
pub use method::{Method, method};
pub use old_invariants::OldInvariants;
pub use own::{MOST_BYTES, NoConfiguration, define, definition};
pub use polynomials::Polynomials;
pub use predicate::Predicate;
pub use question::{Question, Targets};
pub use sequences::Sequences;
pub use shared::Shared;

/// What an engine found out about all targets together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// No target can be violated; why, in a few words.
    Holds(String),
    /// One is violated.
    Violated(Counterexample),
    /// Not decided.
    Unknown(Unknown),
}

/// An engine's answer with what else it learned.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// Targets that were shown to hold although the answer is not `Holds`.
    pub proved: BTreeSet<(Name, ObligationId)>,
    /// Violations of other targets than the answer's.
    pub violated: Vec<Counterexample>,
    /// How often recursion was unwound for the answer, by engines that do that.
    pub depth: Option<u32>,
}

impl Decision {
    /// Just an answer.
    pub fn new(answer: Answer) -> Decision {
        Decision { answer, proved: BTreeSet::new(), violated: Vec::new(), depth: None }
    }

    /// An answer about a program whose recursion was unwound so often.
    fn at_depth(found: Result<(Answer, u32), Unknown>) -> Decision {
        match found {
            Ok((answer, depth)) => Decision { depth: Some(depth), ..Decision::new(answer) },
            Err(why) => Decision::new(Answer::Unknown(why)),
        }
    }
}

/// Just an answer, or why there is none.
impl From<Result<Answer, Unknown>> for Decision {
    fn from(answer: Result<Answer, Unknown>) -> Decision {
        Decision::new(answer.unwrap_or_else(Answer::Unknown))
    }
}

/// A way to decide obligations.
pub trait Engine: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Whether it knows of the lives and sizes of objects. If not, it is not asked about obligations that speak of them.
    fn knows_memory(&self) -> bool {
        false
    }
    /// Whether it decides each target for itself. If not, one that it cannot decide keeps it from deciding the others.
    fn decides_each(&self) -> bool {
        false
    }
    /// Whether it never finds a violation: then it is not asked where nothing may be proved.
    fn only_proves(&self) -> bool {
        false
    }
    /// Decides whether any of the targets can be violated by executions from the entry.
    fn decide(&self, question: &Question<'_>) -> Decision;
}
