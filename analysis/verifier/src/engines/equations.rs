//! Summaries and invariants as equations: the program as Horn clauses, solved by symbolic abstraction in the domain of polynomial
//! equations and bounds of differences, case by case. Finds `ret = m + n` for recursion without bound; never finds violations.
//!
//! `Holds` rests on a solution that the solver re-checked rule by rule.

use std::collections::BTreeSet;

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::Unknown;
use proofline_encoding::MemoryLayout;
use proofline_smt::{
    Limits, Reason,
    horn::{HornOutcome, Split, SymbolicAbstractionOptions, invariants, solve},
};

use super::{
    Answer, Decision, Engine, Question,
    horn::{Built, Clauses},
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
}

impl Engine for Equations {
    fn name(&self) -> &'static str {
        "equations"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let mut proved = BTreeSet::new();
        let answer = self.prove(question, &mut proved);
        Decision { answer: answer.unwrap_or_else(Answer::Unknown), proved }
    }
}

impl Equations {
    fn prove(
        &self,
        question: &Question<'_>,
        proved: &mut BTreeSet<(Name, ObligationId)>,
    ) -> Result<Answer, Unknown> {
        let Question { subject, targets, budget, .. } = *question;
        let layout = MemoryLayout::new(subject.env());
        let Built { system, goals, .. } = Clauses::build(question, &layout, false)?;
        let limits = Limits { resource: Some(self.resource), millis: Session::millis_left(budget) };
        let mut reason = Unknown::OutOfBudget;
        let mut all = Vec::new();
        for &(degree, split) in &self.attempts {
            budget.spend(1000)?;
            // A session of its own: what is found does not depend on what was asked before.
            let session = Session::new(budget)?;
            let z3 = &session.z3;
            let options = SymbolicAbstractionOptions { degree, split, limits, questions: self.questions };
            let excluded = invariants(z3, &system, options)
                .and_then(|found| Ok((found.excluded(z3, &system, limits)?, found)));
            let (excluded, found) = match excluded {
                Ok(found) => found,
                Err(Reason::Interrupted) => return Err(Session::interrupted(budget)),
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
            let limits = Limits { resource: Some(self.spacer), millis: Session::millis_left(budget) };
            let session = Session::new(budget)?;
            let z3 = &session.z3;
            if let HornOutcome::Solved(solution) = solve(z3, &found.assumed_in(&system), limits)
                && found.with(z3, &system, &solution, limits).is_ok()
            {
                return Ok(Answer::Holds(
                    "invariant equations found, completed by Spacer, and re-checked".into(),
                ));
            }
        }
        Err(reason)
    }
}
