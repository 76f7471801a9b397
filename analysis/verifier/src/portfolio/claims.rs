//! Answers that others say they found, such as a team's store. **A claim is a hint.** Whatever comes of it was found out here: runs that are
//! said to fail are run, and what is said to be proved is proved again by the engine that is said to have done it. What a claim spares is
//! the time of the engines that did not help. Only what it says is unknown is believed: that may cost an answer, and makes none.

use proofline_cfa::Entry;

use super::{Control, Request, promises, schedule::Schedule};
use crate::{engines, report::Judgement, subject::Subject, verdict::Verdict};

/// A run that is said to be longer is not run because of that.
pub(super) const MOST_STEPS: u64 = 2_000_000;

/// A reason in somebody else's words is no longer.
const MOST_WORDS: usize = 400;

/// [`super::judge`], where somebody says what comes of it. `None` if that is not confirmed: then it is a claim like none at all.
pub fn confirm(
    subject: &Subject,
    request: &Request,
    entry: Entry,
    before: Option<&Judgement>,
    claim: &Judgement,
    control: &Control,
) -> Option<Judgement> {
    let winners = winners(claim);
    let all: Vec<&str> = match request.engines.is_empty() {
        true => engines::portfolio_of(&engines::Features::of(subject, entry)),
        false => request.engines.iter().map(String::as_str).collect(),
    };
    let order: Vec<&str> = all.into_iter().filter(|name| winners.contains(name)).collect();
    let asked = Request { engines: order.iter().map(|name| (*name).to_owned()).collect(), ..request.clone() };
    let found = super::with_assumptions(subject, request, entry, |subject| {
        let schedule = Schedule::new(subject, &asked, entry, before, control);
        let judgement = schedule.run_claimed(&claim.counterexamples, &order);
        promises::settle(subject, &asked, entry, before, judgement, control)
    });
    confirmed(claim, found)
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
