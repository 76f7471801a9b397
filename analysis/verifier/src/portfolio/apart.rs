//! A function apart from the bodies of what it calls: what is known then whatever these do. Code that is not here is taken to keep the objects that it is given, to fill
//! those that it is to fill, and so on. Functions of the program need not, so nothing is kept that speaks of objects.

use std::mem::take;

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;

use super::numbers::Numbers;
use crate::{callers_memory::speaks_of, checks, report::Judgement, subject::Subject, verdict::Verdict};

/// What is kept of an answer about the program that is the function alone: proofs about numbers, and runs that fail before anything is called that is not here.
pub(super) fn kept(subject: &Subject, entry: Entry, mut judgement: Judgement) -> Judgement {
    let found = take(&mut judgement.counterexamples);
    for ((function, id), verdict) in &mut judgement.verdicts {
        let is_kept = match verdict {
            Verdict::Proved(_) => *function == entry.name && is_of_numbers(subject, *function, *id),
            Verdict::Violated(index) => found.get(*index).is_some_and(|counterexample| {
                let run = counterexample.replay(subject.code());
                let is_kept = run.is_some_and(|run| run.is_determined);
                if is_kept {
                    judgement.counterexamples.push(counterexample.clone());
                    *index = judgement.counterexamples.len() - 1;
                }
                is_kept
            }),
            Verdict::Unknown(_) => true,
        };
        if !is_kept {
            *verdict = Verdict::Unknown(Unknown::OutOfBudget);
        }
    }
    if judgement.verdicts.values().any(|verdict| !verdict.is_proved()) {
        judgement.resting.insert(entry.name);
    }
    // What is proved so, is, whatever functions of the program do.
    let program = subject.program();
    judgement.rests_on.retain(|text| {
        text.strip_prefix("call of ").is_none_or(|name| program.externals.contains_key(&Name::new(name)))
    });
    // Nobody has said all that can be known, and what others do is not known.
    judgement.finished.clear();
    judgement.called_from_outside.clear();
    judgement.reason = None;
    judgement
}

/// What is kept, by the numbers that obligations have in another program with the function, from where the work goes on.
pub fn carried(kept: &Judgement, apart: &Subject, to: &Subject, function: Name) -> Judgement {
    let mut numbers = Numbers::default();
    if let (Some(there), Some(alone)) = (to.program().function(function), apart.program().function(function))
    {
        numbers.add(there, alone);
    }
    Judgement { verdicts: numbers.in_program(kept.verdicts.clone()), ..kept.clone() }
}

/// Whether an obligation says nothing of objects, nor of what has a value.
fn is_of_numbers(subject: &Subject, function: Name, id: ObligationId) -> bool {
    let Some(body) = subject.env().function(function) else { return false };
    let is_initialisation =
        body.obligations.get(id.index()).is_none_or(|of| of.check == checks::uninitialised::CHECK.id());
    !is_initialisation && !speaks_of(body, id, &|_| true)
}
