//! Refinement of explicit values [EXP12 §III], ALGORITHMS.md §8.1: no solver, the path is run with the analysis' own operators.
//!
//! The interpolants of the paper are variable assignments; with scoped precision only their variables matter, and those of one
//! function together. So this looks for a small set of variables with which the path is still contradictory: starting from all
//! that were ever known along it, variables are dropped, the costly ones first, in halves and then one by one, as long as a run
//! that tracks only the rest ends in a contradiction. Running from the start with the final set is at once the proof that
//! the path cannot come back. Among the infeasible prefixes of the path (each found by leaving out the contradictory conditions before) the one
//! whose variables cost least is taken. With located precision these variables are the candidates of the interpolants (`interpolate.rs`), and
//! each is tracked where an interpolant speaks of it.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::Role;
use proofline_cpa::{Budget, Path, Refine, Refinement, Unknown};

use crate::{
    path::{Step, resolve},
    store::state::Frame,
    value::{ExplicitValue, Part, Precision, ValueAnalysis, ValueState, Variable},
};

/// On long paths fewer: about so many steps are spent on all of them.
const STEPS: usize = 400_000;
/// Objects with more known parts than this are tracked as a whole.
const PARTS: usize = 64;

/// What was ever known along a path: runs of bits per variable.
type Seen = BTreeMap<Variable, BTreeSet<(i64, i64)>>;

/// A path that is run, or a prefix of it.
pub(super) struct Run<'r> {
    pub(super) analysis: &'r ValueAnalysis,
    pub(super) steps: &'r [Step<'r>],
    /// Conditions that are left out.
    pub(super) skipped: BTreeSet<usize>,
    pub(super) entry: ValueState,
    pub(super) budget: &'r Budget,
}

/// An infeasible prefix: its length, and conditions in it that are left out.
#[derive(Clone)]
struct Prefix {
    end: usize,
    skipped: BTreeSet<usize>,
    seen: Seen,
}

impl<'r> Run<'r> {
    /// Runs the path; the step at which it is contradictory.
    fn contradiction(
        &self,
        precision: &Precision,
        mut visit: impl FnMut(&[ValueState]),
    ) -> Result<Option<usize>, Unknown> {
        let mut states = vec![self.entry.clone()];
        for (index, step) in self.steps.iter().enumerate() {
            self.budget.spend(states.len() as u64)?;
            if !self.skipped.contains(&index) {
                states = step.run(self.analysis, &states, precision);
                if states.is_empty() {
                    return Ok(Some(index));
                }
            }
            for state in &mut states {
                self.analysis.restrict(state, precision, step.function, step.to);
            }
            visit(&states);
        }
        Ok(None)
    }

    /// The path up to where a prefix of it ends.
    fn up_to(&self, prefix: &Prefix) -> Run<'r> {
        let steps = &self.steps[..=prefix.end];
        Run { steps, skipped: prefix.skipped.clone(), entry: self.entry.clone(), ..*self }
    }

    fn refutes(&self, prefix: &Prefix, precision: &Precision) -> Result<bool, Unknown> {
        Ok(self.up_to(prefix).contradiction(precision, |_| {})?.is_some())
    }

    /// The infeasible prefixes, shortest first.
    fn prefixes(&self, full: &Precision) -> Result<Vec<Prefix>, Unknown> {
        let wanted = self.analysis.options.refinement.prefixes.max(1);
        let most = (STEPS / (self.steps.len() + 1) / 8).clamp(1, wanted);
        let (mut run, mut result) =
            (Run { skipped: BTreeSet::new(), entry: self.entry.clone(), ..*self }, Vec::new());
        while result.len() < most {
            let mut seen = Seen::new();
            let Some(end) = run.contradiction(full, |states| note(states, self.analysis, &mut seen))? else {
                break;
            };
            result.push(Prefix { end, skipped: run.skipped.clone(), seen });
            if !self.steps[end].is_assume() {
                break;
            }
            run.skipped.insert(end);
        }
        Ok(result)
    }

    /// A small set of variables that refutes the prefix beside what is tracked already, and what it costs.
    fn needed(&self, prefix: &Prefix, now: &Precision) -> Result<(Vec<(Variable, Part)>, u64), Unknown> {
        let mut candidates: Vec<Variable> =
            prefix.seen.keys().copied().filter(|variable| !now.is_abandoned(*variable)).collect();
        candidates
            .sort_by_key(|variable| (std::cmp::Reverse(self.analysis.roles.cost(*variable)), *variable));
        let mut kept: BTreeSet<Variable> = candidates.iter().copied().collect();
        self.drop_variables(prefix, now, &candidates, &mut kept)?;
        let cost = kept.iter().map(|variable| u64::from(self.analysis.roles.cost(*variable))).sum();
        let mut parts: BTreeMap<Variable, Part> =
            kept.iter().map(|variable| (*variable, Part::Whole)).collect();
        for variable in kept {
            let runs: Vec<(i64, i64)> = prefix.seen[&variable].iter().copied().collect();
            if runs.len() < 2 || runs.len() > PARTS {
                continue;
            }
            let mut wanted: BTreeSet<(i64, i64)> = runs.iter().copied().collect();
            for run in runs {
                wanted.remove(&run);
                parts.insert(variable, part(&wanted));
                let tried = now.with(parts.iter().map(|(variable, part)| (*variable, part.clone())));
                if wanted.is_empty() || !self.refutes(prefix, &tried)? {
                    wanted.insert(run);
                }
            }
            parts.insert(variable, part(&wanted));
        }
        Ok((parts.into_iter().collect(), cost))
    }

    /// Drops as many of `group` from `kept` as the contradiction allows.
    fn drop_variables(
        &self,
        prefix: &Prefix,
        now: &Precision,
        group: &[Variable],
        kept: &mut BTreeSet<Variable>,
    ) -> Result<(), Unknown> {
        if group.is_empty() {
            return Ok(());
        }
        let without: BTreeSet<Variable> =
            kept.iter().copied().filter(|variable| !group.contains(variable)).collect();
        let tried = now.with(without.iter().map(|variable| (*variable, Part::Whole)));
        if self.refutes(prefix, &tried)? {
            *kept = without;
            return Ok(());
        }
        if group.len() > 1 {
            let (costly, cheap) = group.split_at(group.len() / 2);
            self.drop_variables(prefix, now, costly, kept)?;
            self.drop_variables(prefix, now, cheap, kept)?;
        }
        Ok(())
    }
}

/// The runs, overlapping ones merged.
fn part(runs: &BTreeSet<(i64, i64)>) -> Part {
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (start, len) in runs {
        match merged.last_mut() {
            Some(last) if *start < last.0 + last.1 => last.1 = last.1.max(start + len - last.0),
            _ => merged.push((*start, *len)),
        }
    }
    Part::Runs(merged)
}

fn note(states: &[ValueState], analysis: &ValueAnalysis, seen: &mut Seen) {
    for state in states {
        let frame: &Frame<ExplicitValue> = &state.frame;
        let Some(function) = analysis.model.env.function(frame.function) else { continue };
        for (id, region) in &frame.locals {
            if function.local(*id).role != Role::Temporary {
                let runs = seen.entry(Variable::Local(frame.function, *id)).or_default();
                runs.extend(region.cells().iter().map(|cell| (cell.start, cell.len)));
            }
        }
        for (object, region) in state.memory.objects() {
            let runs = seen.entry(Variable::Object(*object)).or_default();
            if runs.len() <= PARTS {
                runs.extend(region.cells().iter().map(|cell| (cell.start, cell.len)));
            }
        }
    }
}

impl Refine for ValueAnalysis {
    type Witness = Path;

    fn refine(
        &self,
        path: &Path,
        precision: &Precision,
        budget: &Budget,
    ) -> Result<Refinement<Precision>, Unknown> {
        let steps = resolve(&self.model.env, path)?;
        let mut entry = self.model.entry_state();
        if path.entry != self.model.entry_function() {
            entry =
                ValueState { frame: std::sync::Arc::new(Frame::new(path.entry, None)), ..entry.forgotten() };
        }
        let run = Run { analysis: self, steps: &steps, skipped: BTreeSet::new(), entry, budget };
        // What was given up stays given up: then the path is for others to exclude.
        let full = Precision::everything().join_abandoned(precision);
        let prefixes = run.prefixes(&full)?;
        if prefixes.is_empty() {
            return Ok(Refinement::Feasible(path.clone()));
        }
        if run.contradiction(precision, |_| {})?.is_some() {
            // Tracked already and yet found: not for this precision to exclude.
            return Ok(Refinement::Spurious(precision.clone()));
        }
        type Candidate<'p> = (u64, &'p Prefix, Vec<(Variable, Part)>);
        let mut best: Option<Candidate<'_>> = None;
        for prefix in &prefixes {
            let (needed, cost) = run.needed(prefix, precision)?;
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, prefix, needed));
            }
        }
        let Some((_, prefix, mut needed)) = best else {
            return Ok(Refinement::Spurious(precision.clone()));
        };
        let scoped = precision.with(needed.iter().cloned());
        if self.options.refinement.located {
            needed.sort_by_key(|(variable, _)| (std::cmp::Reverse(self.roles.cost(*variable)), *variable));
            let located = precision.with_located(run.up_to(prefix).interpolants(&scoped, &needed)?);
            // Where an operator is not monotonous, this need not be enough.
            if run.refutes(prefix, &located)? {
                return Ok(Refinement::Spurious(located));
            }
        }
        Ok(Refinement::Spurious(scoped))
    }
}
