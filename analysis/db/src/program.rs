//! Queries on the linked program: part by part, so that a slice depends on the parts it holds and on nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Environment, Function, Global, Mentions, Name, Parts, Program, ProgramMap, Type};
use proofline_hir::Record;
use proofline_syntax::DataModel;
use proofline_verifier::{checks, load};

use crate::{
    Db,
    fingerprint::{Fingerprint, fingerprint},
    front::{Project, automata, files, unit_positions},
    work::Work,
};

/// A name of a function, an object or a record.
#[salsa::interned]
pub(crate) struct Symbol<'db> {
    #[returns(copy)]
    pub(crate) name: Name,
}

/// The linked program.
#[salsa::tracked]
pub(crate) fn linked(db: &dyn Db, project: Project) -> Arc<Program> {
    db.shared().log(Work::Linked);
    let units = files(db, project)
        .into_iter()
        .filter_map(|file| automata(db, project, file).as_ref())
        .map(|unit| (Arc::unwrap_or_clone(unit.clone()), Default::default()))
        .collect();
    Arc::new(proofline_cfa::link(units).0)
}

/// All of the linked program with library models and obligations, to look at. Verdicts come from slices.
#[salsa::tracked]
pub(crate) fn prepared(db: &dyn Db, project: Project) -> Arc<Program> {
    let mut program = Program::clone(linked(db, project));
    load::prepare(&mut program, ends_at_labels(db, project));
    Arc::new(program)
}

/// Where the linked program is in the text.
#[salsa::tracked(no_eq)]
pub(crate) fn positions(db: &dyn Db, project: Project) -> Arc<ProgramMap> {
    let mut units = Vec::new();
    for file in files(db, project) {
        if let (Some(unit), Some(map)) = (automata(db, project, file), unit_positions(db, project, file)) {
            units.push((Arc::unwrap_or_clone(unit.clone()), Arc::unwrap_or_clone(map.clone())));
        }
    }
    Arc::new(proofline_cfa::link(units).1)
}

/// Whether the label `ERROR` is an obligation.
#[salsa::tracked(returns(copy))]
pub(crate) fn ends_at_labels(db: &dyn Db, project: Project) -> bool {
    checks::ends_at_labels(linked(db, project))
}

#[salsa::tracked]
fn function<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Function>> {
    linked(db, project).functions.get(&symbol.name(db)).cloned()
}

#[salsa::tracked]
fn mentions<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Arc<Mentions> {
    let function = function(db, project, symbol).as_ref();
    Arc::new(function.map(|function| Mentions::of_function(function)).unwrap_or_default())
}

#[salsa::tracked]
fn global<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Global>> {
    linked(db, project).globals.get(&symbol.name(db)).cloned()
}

#[salsa::tracked(returns(copy))]
fn external<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Type> {
    linked(db, project).externals.get(&symbol.name(db)).copied()
}

#[salsa::tracked]
fn record<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Record>> {
    linked(db, project).records.get(&symbol.name(db)).cloned()
}

#[salsa::tracked]
fn unsupported<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Vec<Name> {
    let name = symbol.name(db);
    let all = &linked(db, project).unsupported;
    all.iter().filter(|(function, _)| *function == name).map(|(_, what)| *what).collect()
}

#[salsa::tracked]
fn outside_main(db: &dyn Db, project: Project) -> Vec<Name> {
    let functions = linked(db, project).functions.values();
    functions.filter(|function| function.attributes.runs_outside_main).map(|function| function.name).collect()
}

/// Who mentions whom.
#[salsa::tracked]
fn all_users(db: &dyn Db, project: Project) -> BTreeMap<Name, Arc<BTreeSet<Name>>> {
    let program = linked(db, project);
    let mut users: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for name in program.functions.keys() {
        for mentioned in &mentions(db, project, Symbol::new(db, *name)).names {
            users.entry(*mentioned).or_default().insert(*name);
        }
    }
    for (name, global) in &program.globals {
        for mentioned in Mentions::of_global(global).names {
            users.entry(mentioned).or_default().insert(*name);
        }
    }
    users.into_iter().map(|(name, users)| (name, Arc::new(users))).collect()
}

#[salsa::tracked]
fn users<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Arc<BTreeSet<Name>> {
    all_users(db, project).get(&symbol.name(db)).cloned().unwrap_or_default()
}

#[salsa::tracked(returns(copy))]
fn data_model(db: &dyn Db, project: Project) -> DataModel {
    linked(db, project).data_model
}

/// The program's parts, each a query.
struct Queried<'db> {
    db: &'db dyn Db,
    project: Project,
}

impl<'db> Queried<'db> {
    fn symbol(&self, name: Name) -> Symbol<'db> {
        Symbol::new(self.db, name)
    }
}

impl Parts for Queried<'_> {
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
    fn unsupported(&self, function: Name) -> Vec<Name> {
        unsupported(self.db, self.project, self.symbol(function)).clone()
    }
    fn outside_main(&self) -> Vec<Name> {
        outside_main(self.db, self.project).clone()
    }
    fn users(&self, name: Name) -> Arc<BTreeSet<Name>> {
        users(self.db, self.project, self.symbol(name)).clone()
    }
}

/// What executions from an entry can touch, as it was linked.
#[salsa::tracked]
fn slice<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> Arc<Program> {
    let name = entry.name(db);
    db.shared().log(Work::Sliced(name));
    Arc::new(proofline_cfa::slice(&Queried { db, project }, name))
}

/// A slice, ready for engines.
#[derive(Debug)]
pub(crate) struct Ready {
    /// With library models and obligations.
    pub(crate) environment: Arc<Environment>,
    /// Of the program and the entry.
    pub(crate) fingerprint: Fingerprint,
}

/// Two that are made from the same program are the same.
impl PartialEq for Ready {
    fn eq(&self, other: &Ready) -> bool {
        self.fingerprint == other.fingerprint
    }
}

/// The slice of an entry, ready for engines.
#[salsa::tracked]
pub(crate) fn ready<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> Arc<Ready> {
    let name = entry.name(db);
    let mut program = Program::clone(slice(db, project, entry));
    load::prepare(&mut program, ends_at_labels(db, project));
    let fingerprint = fingerprint(&program, name);
    let environment =
        if name.as_str() == "main" { Environment::new(program) } else { Environment::library(program, name) };
    Arc::new(Ready { environment: Arc::new(environment), fingerprint })
}

/// The functions that executions from an entry may call, itself included.
#[salsa::tracked]
fn covered<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> BTreeSet<Name> {
    ready(db, project, entry).environment.call_graph().reachable([entry.name(db)])
}

/// Whether the function has a body.
pub(crate) fn has_body(db: &dyn Db, project: Project, name: Name) -> bool {
    function(db, project, Symbol::new(db, name)).is_some()
}

/// Every function with a body.
#[salsa::tracked]
fn functions(db: &dyn Db, project: Project) -> Vec<Name> {
    linked(db, project).functions.keys().copied().collect()
}

/// `main`; or so many functions that every function is called from one of them: first those that nobody mentions.
#[salsa::tracked]
pub(crate) fn default_entries(db: &dyn Db, project: Project) -> Vec<Name> {
    let main = Name::new("main");
    if has_body(db, project, main) {
        return vec![main];
    }
    let mut entries = BTreeSet::new();
    let mut seen: BTreeSet<Name> = BTreeSet::new();
    let all = functions(db, project);
    let is_free = |name: &Name| users(db, project, Symbol::new(db, *name)).iter().all(|user| user == name);
    let (free, others): (Vec<Name>, Vec<Name>) = all.iter().copied().partition(is_free);
    for name in free.into_iter().chain(others) {
        if !seen.contains(&name) {
            seen.extend(covered(db, project, Symbol::new(db, name)));
            entries.insert(name);
        }
    }
    entries.into_iter().collect()
}
