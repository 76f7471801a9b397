//! Proofs and promises. Engines look at a program in which what functions ensure is known behind their calls, and in which executions end where a function does not
//! keep it. Real ones go on there. So where a promise is not proved, what lies behind it is asked about once more without it; what is not
//! proved then rests on the promise, and is not called proved. Knows no engine.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;

use super::{Control, Programs, Request, Round, Rounds, Settled, library, schedule::Schedule};
use crate::{
    checks::postcondition,
    contracts::promises::{is_any, is_owed, withdrawn},
    engines::Targets,
    report::{BY_CONTRACTS, Judgement},
    rests_on::{behind, demands},
    subject::Subject,
    verdict::{Verdict, Verdicts},
};

/// What is proved without promises may prove promises on which other proofs rest, so often.
const ROUNDS: usize = 4;

/// Takes back the proofs that rest on what is promised and not proved. What was proved before stays: then, no more was proved of promises.
pub(super) fn settle(
    subject: &Subject,
    request: &Request,
    entry: Entry,
    before: Option<&Judgement>,
    mut judgement: Judgement,
    control: &Control,
) -> Judgement {
    if !request.property.asks(&postcondition::CHECK) || !is_any(subject.program()) {
        return judgement;
    }
    let functions = subject.reachable_from(entry.name);
    let is_safe = |target: &(Name, ObligationId)| {
        let was_proved =
            before.and_then(|before| before.verdicts.get(target)).is_some_and(Verdict::is_proved);
        was_proved || matches!(request.round.settled.get(target), Some(Ok(_)))
    };
    let open = not_proved(subject, &functions, &judgement.verdicts);
    let mut bad = open.clone();
    let mut confirmed: BTreeMap<(Name, ObligationId), Verdict> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let suspects =
            behind_promises(subject, &functions, &bad, &|name| !open.contains(name), &judgement.verdicts);
        let suspects: BTreeSet<_> = suspects.into_iter().filter(|target| !is_safe(target)).collect();
        confirmed.clear();
        if suspects.is_empty() {
            break;
        }
        let without = subject.of_program(withdrawn(subject.program(), &bad));
        let round = Round { after: None, ..request.round.clone() };
        let asked = Request { round, ..request.clone() };
        let schedule = Schedule::new(&without, &asked, entry, None, control);
        let answer = schedule.about(Targets::new(suspects.iter().copied())).run();
        let (mut is_stable, bad_before) = (true, bad.clone());
        for target in suspects {
            // What these functions ensure cannot fail in that program.
            let is_asked = !(is_promise(subject, target) && bad_before.contains(&target.0));
            let verdict = match answer.verdicts.get(&target).filter(|_| is_asked) {
                Some(verdict @ Verdict::Proved(_)) => verdict.clone(),
                Some(Verdict::Violated(_) | Verdict::Unknown(_)) | None => {
                    if is_promise(subject, target) {
                        is_stable &= !bad.insert(target.0);
                    }
                    Verdict::Unknown(Unknown::IfEnsured(names(&bad)))
                }
            };
            confirmed.insert(target, verdict);
        }
        if is_stable {
            break;
        }
        // Proofs of this round rest on promises that are not proved either.
        for verdict in confirmed.values_mut() {
            *verdict = Verdict::Unknown(Unknown::IfEnsured(names(&bad)));
        }
    }
    judgement.verdicts.extend(confirmed);
    judgement
}

fn names(functions: &BTreeSet<Name>) -> String {
    functions.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn is_promise(subject: &Subject, (function, id): (Name, ObligationId)) -> bool {
    let function = subject.env().function(function);
    function.and_then(|function| function.obligations.get(id.index())).is_some_and(is_owed)
}

/// The functions of which not everything that they ensure is proved.
fn not_proved(subject: &Subject, functions: &BTreeSet<Name>, verdicts: &Verdicts) -> BTreeSet<Name> {
    let is_open = |name: &Name| {
        let function = subject.env().function(*name);
        let all = function.into_iter().flat_map(|function| function.obligations.iter().enumerate());
        all.filter(|(_, obligation)| is_owed(obligation))
            .any(|(at, _)| !verdicts.get(&(*name, ObligationId(at as u32))).is_some_and(Verdict::is_proved))
    };
    functions.iter().copied().filter(is_open).collect()
}

/// What is proved and may be reached after one of these functions has returned without what it promises. `is_all`: what is proved of its promises rests on
/// others.
fn behind_promises(
    subject: &Subject,
    functions: &BTreeSet<Name>,
    bad: &BTreeSet<Name>,
    is_all: &dyn Fn(&Name) -> bool,
    verdicts: &Verdicts,
) -> BTreeSet<(Name, ObligationId)> {
    if bad.is_empty() {
        return BTreeSet::new();
    }
    let env = subject.env();
    let bodies =
        |names: &BTreeSet<Name>| names.iter().filter_map(|name| env.function(*name)).collect::<Vec<_>>();
    let mut ends = Vec::new();
    for function in bodies(bad) {
        for (at, obligation) in function.obligations.iter().enumerate() {
            let is_kept =
                verdicts.get(&(function.name, ObligationId(at as u32))).is_some_and(Verdict::is_proved);
            if is_owed(obligation) && (!is_kept || is_all(&function.name)) {
                let own: BTreeSet<_> = demands(env, function, obligation).collect();
                ends.extend(behind(env, function, obligation).filter(|(_, loc)| !own.contains(loc)));
            }
        }
    }
    let after = env.supergraph().after(ends, functions);
    let mut found = BTreeSet::new();
    for function in bodies(functions) {
        for (at, obligation) in function.obligations.iter().enumerate() {
            let target = (function.name, ObligationId(at as u32));
            if verdicts.get(&target).is_some_and(Verdict::is_proved)
                && demands(env, function, obligation).any(|loc| after.contains(&(function.name, loc)))
            {
                found.insert(target);
            }
        }
    }
    found
}

/// What functions that this one calls ensure whatever they are called with, as far as it is found out by that.
pub(super) fn kept_by_callees<P: Programs>(
    programs: &P,
    request: &Request,
    function: Name,
    rounds: Rounds,
    control: &Control,
) -> Result<Arc<Settled>, P::Error> {
    let subject = programs.subject_of(function)?;
    if !is_any(subject.program()) {
        return Ok(Arc::default());
    }
    let mut kept = Settled::new();
    for callee in subject.reachable_from(function).into_iter().filter(|callee| *callee != function) {
        let promises = promises_of(&subject, callee);
        if promises.is_empty() {
            continue;
        }
        let own = library::in_rounds_alone(programs, request, callee, rounds, &Arc::default(), control)?;
        let known =
            promises.into_iter().filter(|target| own.verdicts.get(target).is_some_and(Verdict::is_proved));
        kept.extend(known.map(|target| (target, Ok(BY_CONTRACTS))));
    }
    Ok(Arc::new(kept))
}

/// The obligations that are what a function ensures.
pub(super) fn promises_of(subject: &Subject, function: Name) -> BTreeSet<(Name, ObligationId)> {
    let body = subject.env().function(function);
    let all = body.into_iter().flat_map(|body| body.obligations.iter().enumerate());
    all.filter(|(_, obligation)| is_owed(obligation))
        .map(|(at, _)| (function, ObligationId(at as u32)))
        .collect()
}
