//! What kind of reason an engine has for what it proves: what people are told instead of its name.

use super::{
    abstraction::Domain,
    configuration::{Parts, method_of},
};
use crate::report::BY_CONTRACTS;

/// Kinds of reasons for a proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Method {
    /// Every run was carried out.
    Runs,
    /// The values that variables can have.
    Values,
    /// The objects there can be, and what points where.
    Memory,
    /// Statements that hold in every round of each loop, or whenever a function is called.
    Invariants,
    /// Rounds of loops, one from those before.
    Induction,
    /// All paths, followed to their end.
    Paths,
    /// Each value of an input for itself.
    Cases,
    /// What was proved of an older text still shows it.
    OlderProof,
    /// What callers pass, as contracts say.
    Contracts,
}

impl Parts {
    /// Of what an engine is made of.
    pub(super) fn method(&self) -> Method {
        match self {
            Parts::Concrete { .. } | Parts::Sequences { .. } => Method::Runs,
            Parts::Abstraction { domain, .. }
            | Parts::Assuming { domain }
            | Parts::CallPaths { domain, .. } => of_domain(*domain),
            Parts::Cases => Method::Cases,
            Parts::Horn { .. }
            | Parts::Equations { .. }
            | Parts::Polynomials
            | Parts::Predicate(_)
            | Parts::Cparec { .. }
            | Parts::CparecFixpoint { .. } => Method::Invariants,
            Parts::OldInvariants { .. } => Method::OlderProof,
            Parts::Bounded { .. } => Method::Paths,
            Parts::KInduction { .. } => Method::Induction,
        }
    }
}

fn of_domain(domain: Domain) -> Method {
    match domain {
        Domain::Values
        | Domain::Constants
        | Domain::Intervals
        | Domain::Relations
        | Domain::RelationsByValues => Method::Values,
        Domain::Shapes | Domain::ThreeValued => Method::Memory,
    }
}

/// Of the engine that a verdict names.
pub fn method(engine: &str) -> Option<Method> {
    if engine == BY_CONTRACTS { Some(Method::Contracts) } else { method_of(engine) }
}
