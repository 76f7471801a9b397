//! Answers that others say they found, such as a team's store. **A claim is a hint.** Whatever comes of it was found out here: runs that are
//! said to fail are run, and what is said to be proved is proved again by the engine that is said to have done it. What a claim spares is
//! the time of the engines that did not help. Only what it says is unknown is believed: that may cost an answer, and makes none.

use proofline_cfa::Entry;

use super::{Control, Request, promises, schedule::Schedule};
use crate::{engines, report::Judgement, subject::Subject, verdict::Verdict};

/// The engine that matches formulas with the clauses of a program.
const CHECKS_INVARIANTS: &str = "old-invariants";

/// A run that is said to be longer is not run because of that.
pub(super) const MOST_STEPS: u64 = 2_000_000;

/// A reason in somebody else's words is no longer.
const MOST_WORDS: usize = 400;

/// Nobody tries harder than this because of a claim.
const MOST_CLAIMED_STEPS: u64 = 10_000_000;

/// What somebody says.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What came of it there.
    pub judgement: Judgement,
    /// With so many steps for each engine.
    pub steps: u64,
    /// There are formulas that are said to solve Horn clauses: checking them comes first.
    pub has_invariants: bool,
}

/// [`super::judge`], where somebody says what comes of it. `None` if that is not confirmed: then it is a claim like none at all.
pub fn confirm(
    subject: &Subject,
    request: &Request,
    entry: Entry,
    before: Option<&Judgement>,
    claim: &Claim,
    control: &Control,
) -> Option<Judgement> {
    let Claim { judgement: said, steps, has_invariants } = claim;
    let winners = winners(said);
    let may_be_any = request.may_be_answered_by_others();
    let all: Vec<&str> = match may_be_any {
        true => engines::portfolio_of(&engines::Features::of(subject, entry)),
        false => request.engines.iter().map(String::as_str).collect(),
    };
    let mut order: Vec<&str> = all.into_iter().filter(|name| winners.contains(name)).collect();
    let mut steps = (*steps).min(MOST_CLAIMED_STEPS).max(request.steps);
    if may_be_any {
        let others: Vec<&str> = winners.iter().copied().filter(|name| !order.contains(name)).collect();
        order.extend(others);
        if *has_invariants {
            order.insert(0, CHECKS_INVARIANTS);
        }
    } else {
        steps = request.steps;
    }
    let engines = order.iter().map(|name| (*name).to_owned()).collect();
    let asked = Request { engines, steps, ..request.clone() };
    let found = super::with_assumptions(subject, request, entry, |subject| {
        let schedule = Schedule::new(subject, &asked, entry, before, control);
        let judgement = schedule.run_claimed(&said.counterexamples, &order);
        promises::settle(subject, &asked, entry, before, judgement, control)
    });
    confirmed(said, found)
}

/// The engines that are said to have decided something.
fn winners(claim: &Judgement) -> Vec<&'static str> {
    let proved = claim.verdicts.values().filter_map(|verdict| match verdict {
        Verdict::Proved(engine) => Some(*engine),
        Verdict::Violated(_) | Verdict::Unknown(_) => None,
    });
    let mut all: Vec<&str> = claim.decided_by.keys().copied().chain(proved).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What was found, if it is no less than what is said. Where it is the same, what is said of the rest is taken over.
fn confirmed(claim: &Judgement, mut found: Judgement) -> Option<Judgement> {
    if claim.reason != found.reason || !claim.verdicts.keys().eq(found.verdicts.keys()) {
        return None;
    }
    let mut is_same = true;
    for (said, here) in claim.verdicts.values().zip(found.verdicts.values_mut()) {
        match (said, &*here) {
            (Verdict::Proved(_), Verdict::Proved(_)) | (Verdict::Violated(_), Verdict::Violated(_)) => {}
            (Verdict::Unknown(why), Verdict::Unknown(_)) => {
                let words = why.to_string();
                if words.len() <= MOST_WORDS && !words.chars().any(char::is_control) {
                    *here = Verdict::Unknown(why.clone());
                }
            }
            (Verdict::Unknown(_), Verdict::Proved(_) | Verdict::Violated(_)) => is_same = false,
            (Verdict::Proved(_) | Verdict::Violated(_), _) => return None,
        }
    }
    if is_same {
        found.decided_by.clone_from(&claim.decided_by);
        found.last_engine = claim.last_engine;
        found.finished.clone_from(&claim.finished);
    }
    Some(found)
}
