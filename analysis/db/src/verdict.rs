//! Queries from slices to verdicts, and from verdicts to findings.

use std::{collections::BTreeMap, panic::resume_unwind, sync::Arc, time::Instant};

use proofline_verifier::{
    Budget,
    facts::Facts,
    finding::Finding,
    judge::{Request, judge_entry},
    load::{Loaded, Options},
};

use crate::{
    Db, Question,
    answer::Answer,
    front::Project,
    linked::{Symbol, positions_of},
    program::ready,
    stored,
    work::Work,
};

/// Steps of the exploration behind [`known`].
const KNOWN_STEPS: u64 = 200_000;

/// A question, as a key.
#[salsa::interned]
pub(crate) struct Asked<'db> {
    pub(crate) question: Question,
}

/// Unwinds through salsa where work was stopped without an edit: nothing is remembered.
pub(crate) struct Interrupted {
    /// What was known by then.
    pub(crate) partial: Answer,
}

#[salsa::tracked(returns(copy))]
fn wrapv(db: &dyn Db, project: Project) -> bool {
    project.options(db).wrapv
}

/// What is known of an entry's obligations.
#[salsa::tracked]
pub(crate) fn answer<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    asked: Asked<'db>,
) -> Arc<Answer> {
    let name = entry.name(db);
    let question: &Question = asked.question(db);
    let ready = ready(db, project, entry);
    let options = Options { flags: Vec::new(), wrapv: wrapv(db, project) };
    let key = stored::key(ready.fingerprint, question, options.wrapv);
    let store = db.shared().store.get();
    if let Some(known) = store.and_then(|store| store.find(key)).and_then(|bytes| stored::answer(&bytes)) {
        db.shared().log(Work::Recalled(name));
        return Arc::new(known);
    }
    // Register first, look then: an edit that came before is seen here, a later one finds us registered.
    let running = db.shared().register(db.cancel());
    db.unwind_if_revision_cancelled();
    db.shared().log(Work::Verified(name));
    let environment = ready.environment.clone();
    let loaded =
        Loaded::new(environment.program().clone(), Arc::default(), BTreeMap::new(), Vec::new(), options)
            .with_env(environment)
            .with_summaries(db.shared().summaries.clone());
    let request = Request {
        property: question.property.clone(),
        entries: vec![name],
        engines: question.engines.clone(),
        steps: question.steps,
        deadline: db.deadline(),
        first_only: question.first_only,
        cancel: db.cancel().clone(),
        threads: db.threads(),
    };
    let started = Instant::now();
    let answer = Answer::of(judge_entry(&loaded, &request, name, &mut |text| db.say(text)));
    drop(running);
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    db.shared().millis.lock().insert(name, millis);
    // What was interrupted is no answer.
    db.unwind_if_revision_cancelled();
    if db.cancel().is_cancelled() {
        resume_unwind(Box::new(Interrupted { partial: answer }));
    }
    if answer.is_partial() && db.deadline().is_some_and(|deadline| Instant::now() >= deadline) {
        resume_unwind(Box::new(Interrupted { partial: answer }));
    }
    if let (Some(store), Some(bytes)) = (store, stored::bytes(&answer)) {
        store.put(key, bytes);
    }
    Arc::new(answer)
}

/// What is known of the variables wherever executions from an entry are; `None` if that could not be found out. Cheaper than verdicts,
/// and not kept on the disk.
#[salsa::tracked]
pub(crate) fn known<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> Option<Arc<Facts>> {
    let ready = ready(db, project, entry);
    let options = Options { flags: Vec::new(), wrapv: wrapv(db, project) };
    let running = db.shared().register(db.cancel());
    db.unwind_if_revision_cancelled();
    let environment = ready.environment.clone();
    let loaded =
        Loaded::new(environment.program().clone(), Arc::default(), BTreeMap::new(), Vec::new(), options)
            .with_env(environment);
    let budget = Budget::steps(KNOWN_STEPS).with_cancel(db.cancel().clone()).with_deadline(db.deadline());
    let facts = proofline_verifier::facts::facts(&loaded, entry.name(db), &budget).ok();
    drop(running);
    db.unwind_if_revision_cancelled();
    let is_late = db.deadline().is_some_and(|deadline| Instant::now() >= deadline);
    if db.cancel().is_cancelled() || facts.is_none() && is_late {
        resume_unwind(Box::new(Interrupted { partial: Answer::default() }));
    }
    facts.map(Arc::new)
}

/// The findings of an answer, with positions.
#[salsa::tracked(no_eq)]
pub(crate) fn findings<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    asked: Asked<'db>,
) -> Arc<Vec<Option<Finding>>> {
    Arc::new(explain(db, project, entry, answer(db, project, entry, asked)))
}

/// Explains an answer's counterexamples. Asks for positions only if there are any.
pub(crate) fn explain<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    answer: &Answer,
) -> Vec<Option<Finding>> {
    if answer.counterexamples.is_empty() {
        return Vec::new();
    }
    db.shared().log(Work::Explained(entry.name(db)));
    let environment = ready(db, project, entry).environment.clone();
    let (map, units) = positions_of(db, project, environment.program().functions.keys());
    let options = Options { flags: Vec::new(), wrapv: wrapv(db, project) };
    let loaded = Loaded::new(environment.program().clone(), Arc::new(map), units, Vec::new(), options)
        .with_env(environment);
    let explained = answer.counterexamples.iter();
    explained.map(|counterexample| Finding::explain(&loaded, counterexample.clone())).collect()
}
