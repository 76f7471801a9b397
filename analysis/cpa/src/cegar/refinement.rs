//! Counterexample-guided refinement with lazy abstraction. Endless refinement is detected: the same path found again with
//! the same precision, or a refinement that changes nothing on the path, is `NoProgress`.

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashSet};

use super::{
    driver::Checker,
    error_path::{Choices, Trace},
    lazy_abstraction::Cut,
};
use crate::{
    Budget, Path, Refinement, Unknown,
    arg::NodeId,
    bam::{OpenId, SummaryStore},
    cpa::BlockCpa,
    outcome::Refine,
};

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
pub(crate) enum Handled {
    /// Its path is excluded; the search goes on.
    Refined,
    /// The path may be real.
    Reaches(Path),
}

impl<A: BlockCpa + Refine, S: SummaryStore<A>> Checker<'_, A, S> {
    /// Decides about a target that was reached. With merged states a target has several paths: any of them may be real,
    /// and any that is excluded with a better precision is progress.
    pub(crate) fn handle_target(
        &mut self,
        open: OpenId,
        node: NodeId,
        budget: &Budget,
    ) -> Result<Handled, Unknown> {
        let mut choices = Choices::default();
        let mut stuck = None;
        for _ in 0..self.config.paths.max(1) {
            let trace = self.engine.trace_target(open, node, &mut choices)?;
            if !self.config.cegar {
                return Ok(Handled::Reaches(trace.path));
            }
            match self.engine.analysis.refine(&trace.path, &self.precision, budget) {
                Ok(Refinement::Feasible(path)) => return Ok(Handled::Reaches(path)),
                Ok(Refinement::Spurious(precision)) => {
                    if self.refine_with(&trace, precision)? {
                        return Ok(Handled::Refined);
                    }
                    stuck.get_or_insert(Unknown::NoProgress(describe(&trace.path)));
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
    pub(crate) fn exclude(&mut self, trace: Trace<A>, budget: &Budget) -> Result<bool, Unknown> {
        match self.engine.analysis.refine(&trace.path, &self.precision, budget) {
            Ok(Refinement::Feasible(_)) => Ok(false),
            Ok(Refinement::Spurious(precision)) => self.refine_with(&trace, precision),
            Err(unknown @ (Unknown::Cancelled | Unknown::OutOfBudget)) => Err(unknown),
            Err(_) => Ok(false),
        }
    }

    /// Goes on with a better precision; false if that would change nothing on the path.
    fn refine_with(&mut self, trace: &Trace<A>, precision: A::Precision) -> Result<bool, Unknown> {
        let Some(pivot) = self.engine.pivot(trace, &self.precision, &precision)? else { return Ok(false) };
        // With the same precision, finding the path again is progress as long as states of older precisions are removed.
        let must_be_new = precision != self.precision || matches!(pivot, Cut::BlocksAt(_));
        if must_be_new && !self.seen.is_new(&trace.path, &self.precision) {
            return Ok(false);
        }
        let cut = if self.config.restart { Cut::Everything } else { pivot };
        let old = std::mem::replace(&mut self.precision, precision);
        self.engine.statistics.refinements += 1;
        self.engine.refined(&old, &self.precision, cut)?;
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
