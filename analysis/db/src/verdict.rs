//! Queries from slices to verdicts, and from verdicts to findings.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use proofline_hir::ContentHash;
use proofline_syntax::interrupt;
use proofline_verifier::{
    Budget, Entry, Name, Subject,
    facts::{Facts, passed_over},
    finding::Finding,
    portfolio::{Request, carried, confirm, judge},
    report::Judgement,
    sources::Sources,
    wording::{Spot, Wording, Wordings},
};

use crate::{
    apart,
    blocks::SliceBlocks,
    front::{Project, source},
    linked::{Symbol, position_of, positions_of},
    program::{ready, ready_for, ready_past},
    shared::Db,
    slices::{Ready, wrapv},
    stored,
    team::Answer,
    wide::slice_of,
    work::Work,
};

/// Steps of the exploration behind [`known`].
const KNOWN_STEPS: u64 = 200_000;

/// What is asked of an entry, as a key.
#[salsa::interned]
pub(crate) struct Asked<'db> {
    pub(crate) request: Request,
}

/// The slice of an entry, as engines see it.
fn subject(db: &dyn Db, project: Project, ready: &Ready) -> Subject {
    Subject::new(ready.environment.clone(), wrapv(db, project))
}

/// The program that engines look at for this question.
fn ready_of<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>, request: &Request) -> Arc<Ready> {
    match request.round.is_apart {
        true => apart::ready_for(db, project, entry, &request.property),
        false => ready_for(db, project, entry, &request.property).clone(),
    }
}

/// What is known of an entry's obligations.
#[salsa::tracked]
pub(crate) fn judgement<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    asked: Asked<'db>,
) -> Arc<Judgement> {
    let name = entry.name(db);
    let request: &Request = asked.request(db);
    let ready = ready_of(db, project, entry, request);
    let wrapv_holds = wrapv(db, project);
    let key = stored::key(ready.fingerprint, request, wrapv_holds);
    // An answer in which nothing is open is one to other questions about the same, too.
    let keys: Vec<ContentHash> =
        std::iter::once(key).chain(stored::whole_key(ready.fingerprint, request, wrapv_holds)).collect();
    let store = db.shared().memory.store.get();
    let known = store.and_then(|store| keys.iter().find_map(|key| store.find(*key)));
    if let Some(known) = known.and_then(|bytes| stored::judgement(&bytes)) {
        db.shared().log(Work::Recalled(name));
        remember(db, request, &known);
        return Arc::new(known);
    }
    let before = request
        .round
        .after
        .as_ref()
        .map(|before| judgement(db, project, entry, Asked::new(db, Request::clone(before))).clone());
    let asking = db.asking();
    let control = &asking.control;
    let team = db.shared().memory.team.get();
    let said = team.and_then(|team| team.find(ready.fingerprint, &keys, request.steps, &control.cancel));
    let said = said.and_then(|answer| Some((answer.claim()?, answer)));
    let mut subject = subject(db, project, &ready);
    let before = before.map(|before| match request.round.after.as_deref() {
        Some(after) if after.round.is_apart && !request.round.is_apart => {
            let apart = ready_of(db, project, entry, after);
            Arc::new(carried(&before, &self::subject(db, project, &apart), &subject, name))
        }
        _ => before,
    });
    if !request.round.is_apart {
        let slice = slice_of(db, project, name);
        let blocks = SliceBlocks::new(db, (project, slice, request.property.passed_over()));
        subject = subject.with_summaries(db.shared().summaries.clone(), blocks);
    }
    let started = Instant::now();
    // Engines end by their budgets, with what they know by then.
    let (entry, before) = (Entry::new(name), before.as_deref());
    let (judgement, is_new) = interrupt::within(None, || {
        if let (Some(team), Some((claim, answer))) = (team, &said) {
            db.shared().summaries.offer_evidence(name, answer.evidence.clone());
            if let Some(confirmed) = confirm(&subject, request, entry, before, claim, control) {
                db.shared().log(Work::Confirmed(name));
                team.spared(answer, started.elapsed());
                return (confirmed, false);
            }
            let is_stopped = control.cancel.is_cancelled()
                || control.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !is_stopped {
                team.refuse();
                db.shared().log(Work::Refused(name));
            }
        }
        db.shared().log(Work::Verified(name));
        (judge(&subject, request, entry, before, control), true)
    });
    let took = started.elapsed();
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    db.shared().millis.lock().insert(name, millis);
    remember(db, request, &judgement);
    asking.ended(db, judgement.is_partial(), || judgement.clone());
    if (store.is_some() || team.is_some())
        && let Some(bytes) = stored::bytes(&judgement)
    {
        let kept = || keys.iter().take(if judgement.is_partial() { 1 } else { 2 });
        if let Some(team) = team.filter(|_| is_new) {
            let evidence = db.shared().summaries.evidence(name);
            let answer = Answer { bytes: bytes.clone(), evidence, steps: request.steps, millis };
            kept().for_each(|key| team.put(ready.fingerprint, *key, &answer, took));
        }
        if let Some(store) = store {
            kept().for_each(|key| store.put(*key, bytes.clone()));
        }
    }
    Arc::new(judgement)
}

/// Leaves runs that failed to later texts. (Under contracts it is another program that fails.)
fn remember(db: &dyn Db, request: &Request, judgement: &Judgement) {
    if request.under.is_empty() {
        db.shared().summaries.add_failures(&judgement.counterexamples);
    }
}

/// What is known of the variables wherever executions from an entry are; `None` if that could not be found out. Cheaper than verdicts,
/// and not kept on the disk. And how many steps it took.
#[salsa::tracked]
pub(crate) fn known<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> (Option<Arc<Facts>>, u64) {
    // What verdicts asked of intervals is known already.
    let passed_over = passed_over(ready(db, project, entry).environment.program());
    let slice = slice_of(db, project, entry.name(db));
    let blocks = SliceBlocks::new(db, (project, slice, passed_over.clone()));
    let ready = ready_past(db, project, entry, &passed_over);
    let subject = subject(db, project, ready).with_summaries(db.shared().summaries.clone(), blocks);
    let asking = db.asking();
    let control = &asking.control;
    let budget =
        Budget::steps(KNOWN_STEPS).with_cancel(control.cancel.clone()).with_deadline(control.deadline);
    let facts = interrupt::within(None, || {
        proofline_verifier::facts::facts(&subject, Entry::new(entry.name(db)), &budget).ok()
    });
    asking.ended(db, facts.is_none(), Judgement::default);
    (facts.map(Arc::new), KNOWN_STEPS - budget.left())
}

/// What the text of a function says at its sites, wherever the function stands.
#[salsa::tracked]
fn wording<'db>(db: &'db dyn Db, project: Project, function: Symbol<'db>) -> Option<Arc<Wording>> {
    let (file, map) = position_of(db, project, function.name(db))?;
    let source = source(db, project, file).as_ref().ok()?;
    Some(Arc::new(Wording::new(&map, source.unit.files())))
}

/// The findings of a judgement, wherever its functions stand.
#[salsa::tracked(no_eq)]
fn explained<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    asked: Asked<'db>,
) -> Arc<Vec<Option<Finding<Spot>>>> {
    let request = asked.request(db);
    let judgement = judgement(db, project, entry, asked);
    // What was found by what was asked before is explained already, unless this answer is another's.
    let mut all = match &request.round.after {
        Some(before) => {
            let before = Asked::new(db, Request::clone(before));
            let known = self::judgement(db, project, entry, before);
            match judgement.counterexamples.starts_with(&known.counterexamples) {
                true => Vec::clone(explained(db, project, entry, before)),
                false => Vec::new(),
            }
        }
        None => Vec::new(),
    };
    if judgement.counterexamples.len() > all.len() {
        let mut new = Judgement::clone(judgement);
        new.counterexamples.drain(..all.len());
        all.extend(explain(db, project, entry, request, &new));
    }
    Arc::new(all)
}

/// The findings of a judgement, with positions.
#[salsa::tracked(no_eq)]
pub(crate) fn findings<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    asked: Asked<'db>,
) -> Arc<Vec<Option<Finding>>> {
    Arc::new(placed(db, project, explained(db, project, entry, asked)))
}

/// With positions. Asks for those of the functions only that findings lead through.
pub(crate) fn placed(
    db: &dyn Db,
    project: Project,
    findings: &[Option<Finding<Spot>>],
) -> Vec<Option<Finding>> {
    let functions: BTreeSet<Name> = findings.iter().flatten().flat_map(Finding::functions).collect();
    let (map, units) = positions_of(db, project, &functions);
    let sources = Sources::new(Arc::new(map), units, Vec::new());
    findings.iter().map(|finding| finding.clone().map(|finding| finding.placed(&sources))).collect()
}

/// Explains counterexamples.
pub(crate) fn explain<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    request: &Request,
    judgement: &Judgement,
) -> Vec<Option<Finding<Spot>>> {
    if judgement.counterexamples.is_empty() {
        return Vec::new();
    }
    db.shared().log(Work::Explained(entry.name(db)));
    let subject = subject(db, project, &ready_of(db, project, entry, request));
    let wording = |function| wording(db, project, Symbol::new(db, function)).clone();
    judgement.explained(&subject, &Wordings::new(&wording))
}
