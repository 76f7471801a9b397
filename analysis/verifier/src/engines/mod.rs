//! The engines that decide obligations, behind one trait. **To add one: a file, a variant of `configuration::Parts`, and lines in
//! `configurations.yml`.**

mod abstraction;
mod bounded;
mod cases;
pub(crate) mod concrete;
mod configuration;
mod cparec;
mod equations;
mod horn;
mod kinduction;
mod predicate;
pub(crate) mod session;
mod start;
mod witness;

use std::collections::BTreeSet;

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::{Budget, Unknown};

use crate::{counterexample::Counterexample, load::Loaded};

pub use abstraction::{Abstraction, Domain};
pub use bounded::Bounded;
pub use cases::Cases;
pub use concrete::Concrete;
pub use configuration::{by_name, groups, library, names, portfolio, side_by_side};
pub use cparec::CpaRec;
pub use equations::Equations;
pub use horn::Horn;
pub use kinduction::KInduction;
pub use predicate::Predicate;

/// The obligations somebody asks about. Others block the executions that would violate them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Targets(BTreeSet<(Name, ObligationId)>);

impl Targets {
    /// These obligations.
    pub fn new(obligations: impl IntoIterator<Item = (Name, ObligationId)>) -> Targets {
        Targets(obligations.into_iter().collect())
    }
    /// Whether it is asked about.
    pub fn contains(&self, function: Name, obligation: ObligationId) -> bool {
        self.0.contains(&(function, obligation))
    }
    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = (Name, ObligationId)> {
        self.0.iter().copied()
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Asks no longer about this one.
    pub fn remove(&mut self, function: Name, obligation: ObligationId) {
        self.0.remove(&(function, obligation));
    }
    /// The set.
    pub fn set(&self) -> &BTreeSet<(Name, ObligationId)> {
        &self.0
    }
}

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
}

impl Decision {
    /// Just an answer.
    pub fn new(answer: Answer) -> Decision {
        Decision { answer, proved: BTreeSet::new() }
    }
}

/// A way to decide obligations.
pub trait Engine: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Decides whether any of the targets can be violated by executions from `entry`.
    fn decide(&self, loaded: &Loaded, entry: Name, targets: &Targets, budget: &Budget) -> Decision;
}
