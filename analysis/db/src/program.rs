//! Queries on what executions from an entry can touch, as engines are given it, and on who calls whom.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{CheckId, Name};
use proofline_cfa_build::ProgramMap;
use proofline_program_analysis::Mentions;
use proofline_verifier::{
    Entry, Unknown, checks,
    contracts::records_given,
    entry_points::{Functions, Scope, entry_points},
    property::Property,
    sources,
};

use crate::{
    front::{Project, errors},
    linked::{Symbol, exported, function, functions, global, homed, positions_of, unit_of, users},
    module_invariants::bounds_at,
    shared::Db,
    slices::{Queried, Ready, given_away, ready_within},
};

/// Where all of the linked program is in the text.
#[salsa::tracked(no_eq)]
pub(crate) fn positions(db: &dyn Db, project: Project) -> Arc<ProgramMap> {
    Arc::new(positions_of(db, project, functions(db, project)).0)
}

/// The slice of an entry, ready for engines.
pub(crate) fn ready<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> &'db Arc<Ready> {
    ready_within(db, project, entry, *bounds_at(db, project, entry))
}

/// The same where executions go on behind the failure of these checks.
#[salsa::tracked]
fn ready_passing<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    passed_over: BTreeSet<CheckId>,
) -> Arc<Ready> {
    let ready = ready(db, project, entry);
    let Some(program) = checks::pass_over(ready.environment.program(), &passed_over) else {
        return ready.clone();
    };
    Arc::new(Ready::new(db, ready.environment.again(program), entry.name(db)))
}

/// The slice of an entry, ready for the engines that answer this question.
pub(crate) fn ready_for<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    property: &Property,
) -> &'db Arc<Ready> {
    ready_past(db, project, entry, &property.passed_over())
}

/// The slice of an entry, ready for engines, where executions go on behind the failure of these checks.
pub(crate) fn ready_past<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    passed_over: &BTreeSet<CheckId>,
) -> &'db Arc<Ready> {
    if passed_over.is_empty() {
        ready(db, project, entry)
    } else {
        ready_passing(db, project, entry, passed_over.clone())
    }
}

/// The functions that executions from an entry may call, itself included.
#[salsa::tracked]
pub(crate) fn covered<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> BTreeSet<Name> {
    ready(db, project, entry).environment.call_graph().reachable([entry.name(db)])
}

/// Those that executions may call, and the functions that unknown code may call meanwhile, with what these may call.
#[salsa::tracked]
fn concerned<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> BTreeSet<Name> {
    ready(db, project, entry).environment.concerned(Entry::new(entry.name(db)))
}

/// What was not understood in the text and may matter to executions from an entry.
pub(crate) fn misunderstood<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> Option<Unknown> {
    let errors = errors(db, project);
    if errors.is_empty() {
        return None;
    }
    sources::misunderstood(errors.iter().copied(), concerned(db, project, entry))
}

impl Functions for Queried<'_> {
    fn with_bodies(&self) -> Vec<Name> {
        functions(self.db, self.project).clone()
    }
    fn is_mentioned(&self, function: Name) -> bool {
        users(self.db, self.project, self.symbol(function)).iter().any(|user| *user != function)
    }
    fn exported(&self) -> BTreeSet<Name> {
        exported(self.db, self.project).iter().copied().collect()
    }
    fn held_by(&self, object: Name) -> BTreeSet<Name> {
        let global = global(self.db, self.project, self.symbol(object)).as_ref();
        global.map(|global| Mentions::of_global(global).names).unwrap_or_default()
    }
    fn given_away(&self) -> BTreeSet<Name> {
        given_away(self.db, self.project).clone()
    }
    fn reached_from(&self, function: Name) -> BTreeSet<Name> {
        covered(self.db, self.project, self.symbol(function)).clone()
    }
}

/// The records that a function is given.
#[salsa::tracked]
fn records_of<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> BTreeSet<Name> {
    function(db, project, symbol).as_ref().map(|body| records_given(body)).unwrap_or_default()
}

/// The functions of a unit that are given records, by the records.
#[salsa::tracked]
fn unit_given(db: &dyn Db, project: Project, unit: usize) -> BTreeMap<Name, BTreeSet<Name>> {
    let mut all: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for name in homed(db, project, unit) {
        for record in records_of(db, project, Symbol::new(db, name)) {
            all.entry(*record).or_default().insert(name);
        }
    }
    all
}

/// The functions that are given a record, in the unit that one stands in.
#[salsa::tracked]
pub(crate) fn given<'db>(
    db: &'db dyn Db,
    project: Project,
    symbol: Symbol<'db>,
    record: Symbol<'db>,
) -> BTreeSet<Name> {
    let unit = unit_of(db, project, symbol);
    unit.and_then(|unit| unit_given(db, project, unit).get(&record.name(db)).cloned()).unwrap_or_default()
}

/// Where executions start by default.
#[salsa::tracked]
pub(crate) fn default_entries(db: &dyn Db, project: Project) -> Vec<Entry> {
    let points = entry_points(&Queried { db, project }, Scope::Program, &|_| true);
    points.into_iter().map(|point| point.entry).collect()
}
