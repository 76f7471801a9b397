//! Algebra: what a configurable program analysis is, and the drivers that run one: CPA, CEGAR, BAM. Knows automata;
//! must not know any domain, solver or database.

mod analysis_task;
pub mod arg;
pub mod bam;
mod cegar;
mod certificate;
mod composite;
mod config;
mod counting;
mod cpa;
mod cpa_algorithm;
mod edge_transfer;
mod exploration;
mod laws;
mod outcome;
mod path;
mod question;
mod reached;
mod report;
mod statistics;
mod waitlist;

pub use cegar::driver::{Checker, Verification, check, check_from};
pub use certificate::{Certificate, CertificateError, CertifiedBlock, Checked, StatesByPoint};
pub use composite::{Exchange, MergeRule, Product, ProductWitness, StopRule, Strengthening, Variant};
pub use config::Config;
pub use counting::{Counting, Operator};
pub use cpa::{
    Adjusted, BlockContext, BlockCpa, BlockId, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
    Merge, NoFacts, Reduced,
};
pub use exploration::{Exit, Exploration, Read};
pub use laws::{LawBroken, Samples, Semantics, check_laws, check_semantics};
pub use outcome::{Budget, Cancel, OnCancel, Outcome, Refine, Refinement, Unknown};
pub use path::{Path, PathStep};
pub use question::Question;
pub use report::{GraphFormat, Summary, SummaryOf};
pub use statistics::Statistics;
pub use waitlist::Order;
