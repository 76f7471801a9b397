//! Summaries and invariants as equations: the program as Horn clauses, solved by symbolic abstraction in the domain of polynomial
//! equations and bounds of differences, case by case. Finds `ret = m + n` for recursion without bound; never finds violations. Of cells instead of
//! arrays it finds what holds of the elements before and behind the indices that a program uses: `a[k] <= most` for all `k < i`.
//!
//! `Holds` rests on a solution that the solver re-checked rule by rule, of the clauses as they were viewed.

use std::collections::BTreeSet;

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::Unknown;
use proofline_encoding::MemoryLayout;
use proofline_smt::{
    Reason, Z3,
    horn::{
        CellSystem, HornOutcome, HornSystem, Invariants, Split, SymbolicAbstractionOptions, invariants,
        invariants_of_cells, solve,
    },
};

use super::{
    Answer, Decision, Engine, Question,
    horn::{Built, Clauses, View, no_arrays},
    session::Session,
};

/// The engine.
#[derive(Clone, Debug)]
pub struct Equations {
    /// What is tried, in this order: degree of the equations, and cases.
    pub attempts: Vec<(u8, Split)>,
    /// The solver's units per question.
    pub resource: u32,
    /// Questions per attempt.
    pub questions: u32,
    /// The solver's units for Spacer to complete what an attempt found; 0: it is not asked.
    pub spacer: u32,
    /// Of what: each attempt at one before any at the next.
    pub views: Vec<View>,
}

/// The clauses as they are looked at.
enum Viewed {
    Plain(HornSystem),
    Cells(CellSystem),
}

impl Viewed {
    fn of(view: View, system: &HornSystem) -> Option<Viewed> {
        match view {
            View::Plain => Some(Viewed::Plain(system.clone())),
            View::Cells(cells) => system.about(cells).map(Viewed::Cells),
        }
    }

    fn system(&self) -> &HornSystem {
        match self {
            Viewed::Plain(system) => system,
            Viewed::Cells(cells) => &cells.system,
        }
    }

    fn invariants(&self, z3: &Z3, options: SymbolicAbstractionOptions) -> Result<Invariants, Reason> {
        match self {
            Viewed::Plain(system) => invariants(z3, system, options),
            Viewed::Cells(cells) => invariants_of_cells(z3, cells, options),
        }
    }
}

impl Engine for Equations {
    fn name(&self) -> &'static str {
        "equations"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let mut proved = BTreeSet::new();
        let answer = self.prove(question, &mut proved);
        Decision { proved, ..Decision::new(answer.unwrap_or_else(Answer::Unknown)) }
    }
}

impl Equations {
    fn prove(
        &self,
        question: &Question<'_>,
        proved: &mut BTreeSet<(Name, ObligationId)>,
    ) -> Result<Answer, Unknown> {
        let Question { subject, targets, budget, .. } = *question;
        let layout = MemoryLayout::new(subject.env()).placing_once(subject.env());
        let is_about_arrays = self.views.iter().any(|view| *view != View::Plain);
        let Built { system, goals, .. } = Clauses::build(question, &layout, is_about_arrays, None)?;
        let limits = Session::limits(self.resource, budget);
        let mut reason = Unknown::OutOfBudget;
        // Each view has the same rules.
        let mut excluded = BTreeSet::new();
        let mut before: Vec<Viewed> = Vec::new();
        for view in &self.views {
            let Some(viewed) = Viewed::of(*view, &system) else { return Err(no_arrays()) };
            // Of one array there is one cell either way.
            if before.iter().any(|known| known.system() == viewed.system()) {
                continue;
            }
            let mut all = Vec::new();
            for &(degree, split) in &self.attempts {
                budget.spend(1000)?;
                // A session of its own: what is found does not depend on what was asked before.
                let session = Session::new(budget)?;
                let z3 = &session.z3;
                let options = SymbolicAbstractionOptions { degree, split, limits, questions: self.questions };
                let found = viewed
                    .invariants(z3, options)
                    .and_then(|found| Ok((found.excluded(z3, viewed.system(), limits)?, found)));
                let found = match found {
                    Ok((more, found)) => {
                        excluded.extend(more);
                        found
                    }
                    Err(Reason::Interrupted) => return Err(Session::interrupted(budget)),
                    // The next one has more cases of each cell.
                    Err(Reason::Limit) if *view != View::Plain => break,
                    Err(Reason::Limit) => continue,
                    Err(why) => {
                        reason = Unknown::Unconfirmed(why.to_string());
                        continue;
                    }
                };
                // What cannot be modelled must not be reached at all.
                if goals.iter().any(|(rule, goal)| goal.is_none() && !excluded.contains(rule)) {
                    reason = Unknown::Unsupported("a construct that may be reached".into());
                    continue;
                }
                let open: BTreeSet<(Name, ObligationId)> = goals
                    .iter()
                    .filter(|(rule, _)| !excluded.contains(rule))
                    .filter_map(|(_, goal)| *goal)
                    .collect();
                if open.is_empty() {
                    return Ok(Answer::Holds("invariant equations found and re-checked".into()));
                }
                proved.extend(targets.iter().filter(|target| !open.contains(target)));
                reason = Unknown::Unconfirmed("no equations were found that exclude the error".into());
                all.push(found);
            }
            // What they say is true, and may be what Spacer lacks.
            for found in all.iter().filter(|_| self.spacer > 0) {
                let limits = Session::limits(self.spacer, budget);
                let session = Session::new(budget)?;
                let (z3, system) = (&session.z3, viewed.system());
                if let HornOutcome::Solved(solution) = solve(z3, &found.assumed_in(system), limits)
                    && found.with(z3, system, &solution, limits).is_ok()
                {
                    return Ok(Answer::Holds(
                        "invariant equations found, completed by Spacer, and re-checked".into(),
                    ));
                }
            }
            before.push(viewed);
        }
        Err(reason)
    }
}
