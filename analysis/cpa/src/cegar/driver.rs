//! The CEGAR loop, [CGJ00] with lazy abstraction: explore until a target is reached, refine its path, go on. Resumable: a [`Checker`] that
//! ran out of budget goes on where it stopped. Endless refinement is detected: the same path found again with the same precision, or a
//! refinement that changes nothing on the path, is `NoProgress`.

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::{
    error_path::{Choices, ErrorPath},
    lazy_abstraction::Cut,
};
use crate::{
    Budget, Config, Outcome, Path, Question, Refinement, Unknown,
    analysis_task::AnalysisTask,
    arg::NodeId,
    bam::{Key, MemoryStore, OpenId, SummaryStore, fixpoint::Stopped, tabulation::Tabulation},
    certificate::Certificate,
    cpa::{BlockCpa, BlockId, Reduced},
    outcome::Refine,
    statistics::Statistics,
};

/// What is known when a check ends.
pub struct Verification<A: BlockCpa + Refine> {
    /// The answer.
    pub outcome: Outcome<A::Witness>,
    /// With `Holds`, if asked for: what an independent checker can check again.
    pub certificate: Option<Certificate<A>>,
    /// What it cost.
    pub statistics: Statistics,
    /// The precision it ended with: a good one to start with next time.
    pub precision: A::Precision,
}

/// Checks that no selected error location is reachable.
pub fn check<A: BlockCpa + Refine>(
    analysis: &A,
    question: &Question<'_>,
    budget: &Budget,
) -> Verification<A> {
    check_from(analysis, question, None, budget)
}

/// The same, starting with a precision (from an earlier run, for instance; it is a hint).
pub fn check_from<A: BlockCpa + Refine>(
    analysis: &A,
    question: &Question<'_>,
    precision: Option<A::Precision>,
    budget: &Budget,
) -> Verification<A> {
    let precision = precision.unwrap_or_else(|| analysis.entry().1);
    match Checker::new(analysis, question, Some(precision.clone()), MemoryStore::default()) {
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

/// Paths that were refined, with the precision they were found with: as fingerprints, for paths are long. A collision
/// would make a verdict unknown, never wrong.
#[derive(Default, Debug)]
pub(crate) struct Seen(FxHashSet<(u64, u64)>);

impl Seen {
    /// False: this very path led away from this very precision before; refinement goes in circles.
    fn is_new(&mut self, path: &Path, precision: &impl Hash) -> bool {
        let build = FxBuildHasher;
        self.0.insert((build.hash_one(path), build.hash_one(precision)))
    }
}

/// What became of a target.
pub(crate) enum Handled<W> {
    /// Its path is excluded; the search goes on.
    Refined,
    /// The path may be real, and this is known of it.
    Reaches(W),
}

/// A check that can be interrupted and resumed.
pub struct Checker<'p, A: BlockCpa, S> {
    pub(crate) tabulation: Tabulation<'p, A, S>,
    pub(crate) config: Config,
    pub(crate) precision: A::Precision,
    pub(crate) seen: Seen,
    /// A target that was found and not yet dealt with.
    pending: Option<(OpenId, NodeId)>,
    /// A target was left as it is: a run that goes on after it must not answer `Holds`.
    left_open: Option<Unknown>,
}

impl<'p, A: BlockCpa + Refine, S: SummaryStore<A>> Checker<'p, A, S> {
    /// A check that has not begun.
    ///
    /// # Errors
    /// If the entry has no body.
    pub fn new(
        analysis: &'p A,
        question: &Question<'p>,
        precision: Option<A::Precision>,
        store: S,
    ) -> Result<Checker<'p, A, S>, Unknown> {
        let (state, first) = analysis.entry();
        let precision = precision.unwrap_or(first);
        let key = Key {
            block: BlockId::Function(question.entry),
            entry: Reduced(state),
            precision: Reduced(precision.clone()),
        };
        let config = question.config;
        let tabulation = Tabulation::new(analysis, AnalysisTask::new(question), store, config, key, false)?;
        Ok(Checker { tabulation, config, precision, seen: Seen::default(), pending: None, left_open: None })
    }

    /// Runs until there is an answer or the budget ends. After `Unknown` for want of budget it can be called again and goes on;
    /// after `Reaches`, or where it was stuck, it goes on to look for another target.
    pub fn run(&mut self, budget: &Budget) -> Outcome<A::Witness> {
        match self.run_to_outcome(budget) {
            Ok(outcome) => outcome,
            Err(unknown) => Outcome::Unknown(unknown),
        }
    }

    fn run_to_outcome(&mut self, budget: &Budget) -> Result<Outcome<A::Witness>, Unknown> {
        loop {
            if let Some((open, node)) = self.pending {
                let handled = self.handle_target(open, node, budget);
                if let Err(ended @ (Unknown::Cancelled | Unknown::OutOfBudget)) = handled {
                    return Err(ended);
                }
                self.pending = None;
                match handled {
                    Ok(Handled::Refined) => {}
                    Ok(Handled::Reaches(witness)) => {
                        let why = "a path was handed out, and no other was found";
                        self.left_open.get_or_insert_with(|| Unknown::Unconfirmed(why.to_owned()));
                        return Ok(Outcome::Reaches(witness));
                    }
                    Err(stuck) => {
                        let stuck = self.left_open.get_or_insert(stuck).clone();
                        if !self.config.persistent {
                            return Err(stuck);
                        }
                    }
                }
            }
            match self.tabulation.run(budget)? {
                Stopped::Target(open, node) => self.pending = Some((open, node)),
                // The analysis asked to stop; the caller may go on when it likes.
                Stopped::Interrupted => return Err(Unknown::Cancelled),
                Stopped::Finished => {
                    // No selected target is reachable. What is not supported turns that into "unknown": a location of
                    // `Function::unsupported` if it is reachable itself, `Program::unsupported` always.
                    if let Some((path, what)) = self.tabulation.path_to_unsupported(&mut Choices::default())?
                    {
                        if self.config.cegar && self.exclude(path, budget)? {
                            continue;
                        }
                        return Err(Unknown::Unsupported(what));
                    }
                    if let Some((function, what)) = self.tabulation.task.env.program().unsupported.first() {
                        return Err(Unknown::Unsupported(format!("{what} in {function}")));
                    }
                    return self.left_open.clone().map_or(Ok(Outcome::Holds), Err);
                }
            }
        }
    }

    /// The result with everything that goes with it.
    pub fn into_verification(self, outcome: Outcome<A::Witness>) -> Verification<A> {
        let wanted = self.config.certificate && outcome == Outcome::Holds;
        let (certificate, outcome) = match wanted.then(|| Certificate::extract(&self.tabulation)) {
            None => (None, outcome),
            Some(Ok(certificate)) => (Some(certificate), outcome),
            Some(Err(unknown)) => (None, Outcome::Unknown(unknown)),
        };
        Verification {
            outcome,
            certificate,
            statistics: self.tabulation.progress.statistics(),
            precision: self.precision,
        }
    }

    /// What it cost so far.
    pub fn statistics(&self) -> Statistics {
        self.tabulation.progress.statistics()
    }

    /// The current precision.
    pub fn precision(&self) -> &A::Precision {
        &self.precision
    }
}

impl<A: BlockCpa + Refine, S: SummaryStore<A>> Checker<'_, A, S> {
    /// Decides about a target that was reached. With merged states a target has several paths: any of them may be real,
    /// and any that is excluded with a better precision is progress.
    pub(crate) fn handle_target(
        &mut self,
        open: OpenId,
        node: NodeId,
        budget: &Budget,
    ) -> Result<Handled<A::Witness>, Unknown> {
        let mut choices = Choices::default();
        let mut stuck = None;
        for _ in 0..self.config.paths.max(1) {
            let path = self.tabulation.path_to_target(open, node, &mut choices)?;
            if !self.config.cegar {
                return Ok(Handled::Reaches(path.path.into()));
            }
            match self.tabulation.analysis.refine(&path.path, &self.precision, budget) {
                Ok(Refinement::Feasible(witness)) => return Ok(Handled::Reaches(witness)),
                Ok(Refinement::Spurious(precision)) => {
                    if self.refine_with(&path, precision)? {
                        return Ok(Handled::Refined);
                    }
                    stuck.get_or_insert(Unknown::NoProgress(describe(&path.path)));
                }
                Err(unknown @ (Unknown::Cancelled | Unknown::OutOfBudget)) => return Err(unknown),
                Err(unknown) => {
                    stuck.get_or_insert(unknown);
                }
            }
            if !choices.advance() {
                break;
            }
        }
        Err(stuck.unwrap_or_else(|| Unknown::InternalError("no path was tried".to_owned())))
    }

    /// Tries to exclude a path; false if it may be real or refinement is stuck.
    pub(crate) fn exclude(&mut self, path: ErrorPath<A>, budget: &Budget) -> Result<bool, Unknown> {
        match self.tabulation.analysis.refine(&path.path, &self.precision, budget) {
            Ok(Refinement::Feasible(_)) => Ok(false),
            Ok(Refinement::Spurious(precision)) => self.refine_with(&path, precision),
            Err(unknown @ (Unknown::Cancelled | Unknown::OutOfBudget)) => Err(unknown),
            Err(_) => Ok(false),
        }
    }

    /// Goes on with a better precision; false if that would change nothing on the path.
    fn refine_with(&mut self, path: &ErrorPath<A>, precision: A::Precision) -> Result<bool, Unknown> {
        let Some(pivot) = self.tabulation.pivot(path, &self.precision, &precision)? else { return Ok(false) };
        // With the same precision, finding the path again is progress as long as states of older precisions are removed.
        let must_be_new = precision != self.precision || matches!(pivot, Cut::BlocksAt(_));
        if must_be_new && !self.seen.is_new(&path.path, &self.precision) {
            return Ok(false);
        }
        let cut = if self.config.restart { Cut::Everything } else { pivot };
        let old = std::mem::replace(&mut self.precision, precision);
        self.tabulation.progress.count(|statistics| statistics.refinements += 1);
        self.tabulation.refined(&old, &self.precision, cut)?;
        Ok(true)
    }
}

fn describe(path: &Path) -> String {
    match path.target {
        Some((function, obligation)) => {
            format!("a path of {} steps to {obligation} of {function}", path.steps.len())
        }
        None => format!("a path of {} steps", path.steps.len()),
    }
}
