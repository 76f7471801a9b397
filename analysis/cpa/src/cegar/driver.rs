//! Checking a program: the CEGAR loop around the block engine, and its outcome. Resumable: a [`Checker`] that ran out of
//! budget goes on where it stopped.

use std::collections::BTreeSet;

use proofline_cfa::{CheckId, Name, ObligationId};
use proofline_program_analysis::Environment;

use super::{
    error_path::Choices,
    refinement::{Handled, Seen},
};
use crate::{
    Budget, Outcome, Unknown,
    arg::NodeId,
    bam::{
        Blocks, Key, MemoryStore, OpenId, SummaryStore,
        block::Scene,
        fixpoint::{Engine, Stopped},
    },
    certificate::Certificate,
    cpa::{BlockCpa, BlockId, Reduced},
    outcome::Refine,
    statistics::Statistics,
    waitlist::Order,
};

/// How to check. Everything here changes cost and precision, never soundness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Traversal order within a block.
    pub order: Order,
    /// What is summarised.
    pub blocks: Blocks,
    /// Whether error paths are refined. If not, the first one is the answer.
    pub cegar: bool,
    /// Forget the whole graph at a refinement instead of pruning it.
    pub restart: bool,
    /// Number of open entries of a recursive block from which on new ones are widened.
    pub max_unrollings: u32,
    /// Error paths that are tried at one target: with merged states the first need not be the real one.
    pub paths: u32,
    /// Whether to look for other targets when refinement is stuck at one. Then a violation elsewhere is still found; else the
    /// answer comes sooner.
    pub persistent: bool,
    /// Longest error path, in steps.
    pub max_path: usize,
    /// Whether to return a certificate with `Holds`.
    pub certificate: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            order: Order::CallstackFirst,
            blocks: Blocks::FUNCTIONS,
            cegar: true,
            restart: false,
            max_unrollings: 3,
            paths: 4,
            persistent: false,
            max_path: 1_000_000,
            certificate: false,
        }
    }
}

/// What is known when a check ends.
pub struct Verification<A: BlockCpa> {
    /// The answer.
    pub outcome: Outcome,
    /// With `Holds`, if asked for: what an independent checker can check again.
    pub certificate: Option<Certificate<A>>,
    /// What it cost.
    pub statistics: Statistics,
    /// The precision it ended with: a good one to start with next time.
    pub precision: A::Precision,
}

/// Checks that no selected error location is reachable from `entry`, which must be among those the environment was made
/// for (`main`, a function nobody calls, or what [`Environment::for_entries`] was given).
pub fn check<A: BlockCpa + Refine>(
    analysis: &A,
    env: &Environment,
    entry: Name,
    selected: &BTreeSet<CheckId>,
    config: &Config,
    budget: &Budget,
) -> Verification<A> {
    check_from(analysis, env, entry, selected, config, None, budget)
}

/// The same, starting with a precision (from an earlier run, for instance; it is a hint).
pub fn check_from<A: BlockCpa + Refine>(
    analysis: &A,
    env: &Environment,
    entry: Name,
    selected: &BTreeSet<CheckId>,
    config: &Config,
    precision: Option<A::Precision>,
    budget: &Budget,
) -> Verification<A> {
    let precision = precision.unwrap_or_else(|| analysis.entry().1);
    let store = MemoryStore::default();
    match Checker::new(analysis, env, entry, selected, config, Some(precision.clone()), store) {
        Ok(mut checker) => {
            let outcome = checker.run(budget);
            checker.into_verification(outcome)
        }
        Err(unknown) => Verification {
            outcome: Outcome::Unknown(unknown),
            certificate: None,
            statistics: Statistics::default(),
            precision,
        },
    }
}

/// A check that can be interrupted and resumed.
pub struct Checker<'p, A: BlockCpa, S> {
    pub(crate) engine: Engine<'p, A, S>,
    pub(crate) config: Config,
    pub(crate) precision: A::Precision,
    pub(crate) seen: Seen,
    /// A target that was found and not yet dealt with.
    pending: Option<(OpenId, NodeId)>,
    /// A target was left as it is: whoever goes on after it must not be told `Holds`.
    left_open: Option<Unknown>,
}

impl<'p, A: BlockCpa + Refine, S: SummaryStore<A>> Checker<'p, A, S> {
    /// A check that has not begun. Fails if `entry` has no body.
    pub fn new(
        analysis: &'p A,
        env: &'p Environment,
        entry: Name,
        selected: &BTreeSet<CheckId>,
        config: &Config,
        precision: Option<A::Precision>,
        store: S,
    ) -> Result<Checker<'p, A, S>, Unknown> {
        Checker::restricted(analysis, env, entry, selected, None, config, precision, store)
    }

    /// The same, asking only about these obligations of the selected checks; the others just end the executions that violate them.
    #[expect(clippy::too_many_arguments, reason = "`new` with one more; a struct would only rename them")]
    pub fn restricted(
        analysis: &'p A,
        env: &'p Environment,
        entry: Name,
        selected: &BTreeSet<CheckId>,
        only: Option<BTreeSet<(Name, ObligationId)>>,
        config: &Config,
        precision: Option<A::Precision>,
        store: S,
    ) -> Result<Checker<'p, A, S>, Unknown> {
        let mut scene = Scene::new(env, config.blocks, selected);
        scene.only = only;
        let (state, first) = analysis.entry();
        let precision = precision.unwrap_or(first);
        let key = Key {
            block: BlockId::Function(entry),
            entry: Reduced(state),
            precision: Reduced(precision.clone()),
        };
        let engine = Engine::new(analysis, scene, store, *config, key)?;
        let (seen, config) = (Seen::default(), *config);
        Ok(Checker { engine, config, precision, seen, pending: None, left_open: None })
    }

    /// Runs until there is an answer or the budget ends. After `Unknown` for want of budget it can be called again and goes on;
    /// after `Reaches`, or where it was stuck, it goes on to look for another target.
    pub fn run(&mut self, budget: &Budget) -> Outcome {
        match self.run_to_outcome(budget) {
            Ok(outcome) => outcome,
            Err(unknown) => Outcome::Unknown(unknown),
        }
    }

    fn run_to_outcome(&mut self, budget: &Budget) -> Result<Outcome, Unknown> {
        loop {
            if let Some((open, node)) = self.pending {
                let handled = self.handle_target(open, node, budget);
                if let Err(ended @ (Unknown::Cancelled | Unknown::OutOfBudget)) = handled {
                    return Err(ended);
                }
                self.pending = None;
                match handled {
                    Ok(Handled::Refined) => {}
                    Ok(Handled::Reaches(path)) => {
                        let why = "a path was handed out, and no other was found";
                        self.left_open.get_or_insert_with(|| Unknown::Unconfirmed(why.to_owned()));
                        return Ok(Outcome::Reaches(path));
                    }
                    Err(stuck) => {
                        let stuck = self.left_open.get_or_insert(stuck).clone();
                        if !self.config.persistent {
                            return Err(stuck);
                        }
                    }
                }
            }
            match self.engine.run(budget)? {
                Stopped::Target(open, node) => self.pending = Some((open, node)),
                // The analysis asked to stop; the caller may go on when it likes.
                Stopped::Interrupted => return Err(Unknown::Cancelled),
                Stopped::Finished => {
                    // No selected target is reachable. What is not supported turns that into "unknown": a location of
                    // `Function::unsupported` if it is reachable itself, `Program::unsupported` always.
                    if let Some((trace, what)) = self.engine.trace_unsupported(&mut Choices::default())? {
                        if self.config.cegar && self.exclude(trace, budget)? {
                            continue;
                        }
                        return Err(Unknown::Unsupported(what));
                    }
                    if let Some((function, what)) = self.engine.scene.env.program().unsupported.first() {
                        return Err(Unknown::Unsupported(format!("{what} in {function}")));
                    }
                    return self.left_open.clone().map_or(Ok(Outcome::Holds), Err);
                }
            }
        }
    }

    /// The result with everything that goes with it.
    pub fn into_verification(self, outcome: Outcome) -> Verification<A> {
        let wanted = self.config.certificate && outcome == Outcome::Holds;
        let (certificate, outcome) = match wanted.then(|| Certificate::extract(&self.engine)) {
            None => (None, outcome),
            Some(Ok(certificate)) => (Some(certificate), outcome),
            Some(Err(unknown)) => (None, Outcome::Unknown(unknown)),
        };
        Verification { outcome, certificate, statistics: self.engine.statistics, precision: self.precision }
    }

    /// What it cost so far.
    pub fn statistics(&self) -> Statistics {
        self.engine.statistics
    }

    /// The current precision.
    pub fn precision(&self) -> &A::Precision {
        &self.precision
    }
}
