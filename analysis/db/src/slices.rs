//! Queries on slices of the linked program: part by part, so that a slice depends on the parts it holds and on nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Function, Global, Name, Program, Type};
use proofline_hir::{ContentHash, Record};
use proofline_program_analysis::{Environment, Mentions, SliceSource};
use proofline_syntax::DataModel;
use proofline_verifier::{
    Entry,
    callers::{calls_only, is_hidden},
    checks::Conventions,
    entry_points,
    load::{self, Preparation, Surroundings, VolatileReads},
    module_invariants::{self, Begins, Bounds},
    monitors::Monitors,
    sources,
};

use crate::{
    fingerprint::fingerprint,
    front::Project,
    linked::{
        Symbol, addressed, addressed_elsewhere, data_model, ends_at_labels, exported, external, function,
        global, has_annotations, has_gaps, homed, mentions, outside_main, positions_of, record, unit_of,
        units, unsupported, users, whole, wraps,
    },
    shared::Db,
    wide::entered,
    work::Work,
};

/// Which obligations the program has.
fn conventions(db: &dyn Db, project: Project) -> Conventions {
    let ends_at_labels = ends_at_labels(db, project);
    Conventions { wrapv: wrapv(db, project), ..Conventions::of(project.options(db), ends_at_labels) }
}

/// Does something with what is to be done to programs before engines see them.
pub(crate) fn prepared_as<T>(
    db: &dyn Db,
    project: Project,
    annotations: &dyn Fn(Name) -> Option<String>,
    work: impl FnOnce(&Preparation<'_>) -> T,
) -> T {
    let inserted =
        |function: &Arc<Function>, conventions| db.shared().functions.inserted(function, conventions);
    work(&Preparation {
        conventions: conventions(db, project),
        monitors: monitors(db, project),
        annotations,
        inserted: &inserted,
        addressed: &|| addressed_elsewhere(db, project).clone(),
    })
}

/// All of the linked program with library models and obligations, to look at, and what is around it. Verdicts come from slices.
#[salsa::tracked]
pub(crate) fn prepared(db: &dyn Db, project: Project) -> (Arc<Program>, Surroundings) {
    let mut program = whole(db, project);
    let annotations = |name| annotation(db, project, Symbol::new(db, name)).clone();
    let is_library = !program.functions.contains_key(&Entry::main().name);
    let surroundings =
        prepared_as(db, project, &annotations, |how| load::prepare(&mut program, how, is_library));
    (Arc::new(program), surroundings)
}

/// The program's parts, each a query.
pub(crate) struct Queried<'db> {
    pub(crate) db: &'db dyn Db,
    pub(crate) project: Project,
}

impl<'db> Queried<'db> {
    pub(crate) fn symbol(&self, name: Name) -> Symbol<'db> {
        Symbol::new(self.db, name)
    }
}

impl SliceSource for Queried<'_> {
    fn data_model(&self) -> DataModel {
        data_model(self.db, self.project)
    }
    fn function(&self, name: Name) -> Option<(Arc<Function>, Arc<Mentions>)> {
        let symbol = self.symbol(name);
        let function = function(self.db, self.project, symbol).clone()?;
        Some((function, mentions(self.db, self.project, symbol).clone()))
    }
    fn global(&self, name: Name) -> Option<Arc<Global>> {
        global(self.db, self.project, self.symbol(name)).clone()
    }
    fn external(&self, name: Name) -> Option<Type> {
        external(self.db, self.project, self.symbol(name))
    }
    fn record(&self, tag: Name) -> Option<Arc<Record>> {
        record(self.db, self.project, self.symbol(tag)).clone()
    }
    fn unsupported(&self, name: Name) -> Vec<Name> {
        unsupported(self.db, self.project, self.symbol(name)).clone()
    }
    fn outside_main(&self) -> Vec<Name> {
        outside_main(self.db, self.project).clone()
    }
    fn exported(&self) -> Vec<Name> {
        exported(self.db, self.project).clone()
    }
    fn users(&self, name: Name) -> Arc<BTreeSet<Name>> {
        users(self.db, self.project, self.symbol(name)).clone()
    }
}

/// What executions from an entry can touch, as it was linked. `is_open`: code outside has to do with the program.
#[salsa::tracked]
pub(crate) fn slice<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    is_open: bool,
) -> Arc<Program> {
    let name = entry.name(db);
    db.shared().log(Work::Sliced(name));
    Arc::new(proofline_program_analysis::slice(&Queried { db, project }, name, is_open))
}

/// A slice, ready for engines.
#[derive(Debug)]
pub(crate) struct Ready {
    /// With library models and obligations.
    pub(crate) environment: Arc<Environment>,
    /// Of the program and the entry.
    pub(crate) fingerprint: ContentHash,
}

impl Ready {
    pub(crate) fn new(db: &dyn Db, environment: Environment, entry: Name) -> Ready {
        let functions = &db.shared().functions;
        let fingerprint = fingerprint(environment.program(), entry, environment.is_open(), functions);
        Ready { environment: Arc::new(environment), fingerprint }
    }
}

/// Two that are made from the same program are the same.
impl PartialEq for Ready {
    fn eq(&self, other: &Ready) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// Bounds of variables where executions begin, as a key.
#[salsa::interned]
pub(crate) struct Within<'db> {
    pub(crate) bounds: Bounds,
    #[returns(copy)]
    pub(crate) begins: Begins,
}

/// The slice of an entry where executions begin within these bounds, ready for engines.
#[salsa::tracked]
pub(crate) fn ready_within<'db>(
    db: &'db dyn Db,
    project: Project,
    entry: Symbol<'db>,
    within: Within<'db>,
) -> Arc<Ready> {
    let name = entry.name(db);
    if let Some(ready) = entered(db, project, name) {
        return Arc::new(ready);
    }
    let sliced = |around| {
        let mut program = Program::clone(slice(db, project, entry, around == Surroundings::Open));
        module_invariants::assume(&mut program, name, within.bounds(db), within.begins(db));
        program
    };
    let annotations = |name| annotation(db, project, Symbol::new(db, name)).clone();
    let entry = Entry::new(name);
    let environment = prepared_as(db, project, &annotations, |how| {
        load::of_entry(entry, how, volatile(db, project), &sliced)
    });
    Arc::new(Ready::new(db, environment, name))
}

/// What a read of a volatile object gives.
#[salsa::tracked(returns(copy))]
pub(crate) fn volatile(db: &dyn Db, project: Project) -> VolatileReads {
    project.options(db).volatile
}

/// What watches the program.
#[salsa::tracked]
pub(crate) fn monitors(db: &dyn Db, project: Project) -> Monitors {
    project.options(db).monitors.clone()
}

/// Whether signed arithmetic wraps around: if somebody says so, or the flags of every file do.
#[salsa::tracked(returns(copy))]
pub(crate) fn wrapv(db: &dyn Db, project: Project) -> bool {
    let count = units(db, project).len();
    project.options(db).wrapv || count > 0 && (0..count).all(|unit| wraps(db, project, unit))
}

/// [`entry_points::given_away`]. All of the program is looked at only if some function that code outside
/// cannot name has its address taken.
#[salsa::tracked]
pub(crate) fn given_away(db: &dyn Db, project: Project) -> BTreeSet<Name> {
    let known: BTreeSet<Name> = exported(db, project).iter().copied().collect();
    if addressed(db, project).is_subset(&known) {
        return BTreeSet::new();
    }
    let (program, surroundings) = prepared(db, project);
    entry_points::given_away(&load::of_whole(program, *surroundings, volatile(db, project)))
}

/// The annotations in front of the functions of a unit, by their names in the program.
#[salsa::tracked]
fn annotations(db: &dyn Db, project: Project, unit: usize) -> BTreeMap<Name, String> {
    if !has_annotations(db, project, unit) {
        return BTreeMap::new();
    }
    let names = homed(db, project, unit);
    let (map, units) = positions_of(db, project, &names);
    let sources = sources::Sources::new(Arc::new(map), units, Vec::new());
    names.into_iter().filter_map(|name| Some((name, sources.annotation(name)?))).collect()
}

/// The annotation in front of a function. Of all the text, an answer hangs on no more than this.
#[salsa::tracked]
pub(crate) fn annotation<'db>(db: &'db dyn Db, project: Project, function: Symbol<'db>) -> Option<String> {
    let unit = unit_of(db, project, function)?;
    annotations(db, project, unit).get(&function.name(db)).cloned()
}

/// The functions that call an internal one, if nothing else can.
#[salsa::tracked]
pub(crate) fn callers<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<BTreeSet<Name>> {
    let body = function(db, project, symbol).as_ref().filter(|body| is_hidden(body))?;
    if unit_of(db, project, symbol).is_none_or(|unit| has_gaps(db, project, unit)) {
        return None;
    }
    let is_caller = |user: &Name| {
        let user = function(db, project, Symbol::new(db, *user)).as_ref();
        user.is_some_and(|user| calls_only(user, body.name))
    };
    let users = users(db, project, symbol);
    users.iter().all(is_caller).then(|| BTreeSet::clone(users))
}
