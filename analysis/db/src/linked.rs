//! Queries of linking: which unit has a name, a unit under the names of the program, then every function, object and record by itself.
//! Names are decided by names alone, so that an edit of a body links one unit again and looks its functions up there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Function, FunctionMap, Global, Name, Program, Type};
use proofline_cfa_build::{
    ProgramMap,
    link::{self, Homes, Interface, Layouts, LinkedUnit, Linking, Places, Renames, SymbolTable, Symbols},
    models,
};
use proofline_hir::{Linkage, Record, Records};
use proofline_program_analysis::Mentions;
use proofline_syntax::{DataModel, Unit};
use proofline_verifier::{
    callers, checks,
    contracts::acsl,
    load::{LoadError, other_model},
};
use rustc_hash::FxHashMap;

use crate::{
    front::{FileName, Project, automata, errors_of, files, source, unit_positions},
    shared::Db,
    work::Work,
};

/// A name of a function, an object or a record.
#[salsa::interned]
pub(crate) struct Symbol<'db> {
    #[returns(copy)]
    pub(crate) name: Name,
}

/// Sizes of C's types in a file, or why it cannot be read.
#[salsa::tracked]
fn model<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Result<DataModel, LoadError> {
    source(db, project, file).as_ref().map(|source| source.data_model).map_err(Clone::clone)
}

/// Why the files are no program.
#[salsa::tracked]
pub(crate) fn trouble(db: &dyn Db, project: Project) -> Option<LoadError> {
    let mut first = None;
    for file in files(db, project) {
        match model(db, project, file) {
            Err(error) => return Some(error.clone()),
            Ok(model) if *first.get_or_insert(*model) != *model => return Some(other_model(file.path(db))),
            Ok(_) => {}
        }
    }
    None
}

/// The files that could be read: their places here are the numbers of the program's units.
#[salsa::tracked]
pub(crate) fn units<'db>(db: &'db dyn Db, project: Project) -> Vec<FileName<'db>> {
    files(db, project).into_iter().filter(|file| model(db, project, *file).is_ok()).collect()
}

/// The names of a file.
#[salsa::tracked]
fn symbols<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Option<Arc<Symbols>> {
    automata(db, project, file).as_ref().map(|unit| Arc::new(Symbols::of(unit)))
}

/// The names of the program.
#[salsa::tracked]
fn table(db: &dyn Db, project: Project) -> Arc<SymbolTable> {
    db.shared().log(Work::Linked);
    let symbols = units(db, project).iter().filter_map(|file| symbols(db, project, *file).as_deref());
    Arc::new(SymbolTable::of(&symbols.collect::<Vec<_>>()))
}

/// The records of a file.
#[salsa::tracked]
fn unit_records<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Option<Arc<Records>> {
    automata(db, project, file).as_ref().map(|unit| Arc::new(unit.records.clone()))
}

/// The records of the program.
#[salsa::tracked]
fn layouts(db: &dyn Db, project: Project) -> Arc<Layouts> {
    let units = units(db, project).iter();
    Arc::new(Layouts::of(units.filter_map(|file| unit_records(db, project, *file).as_deref())))
}

/// New names in a unit.
#[salsa::tracked]
fn renames(db: &dyn Db, project: Project, unit: usize) -> Arc<Renames> {
    Arc::new(Renames::of(table(db, project), layouts(db, project), unit))
}

/// A unit under the names of the program.
#[salsa::tracked]
fn linked_unit(db: &dyn Db, project: Project, unit: usize) -> Option<Arc<LinkedUnit>> {
    let file = *units(db, project).get(unit)?;
    let automata = automata(db, project, file).clone()?;
    Some(Arc::new(LinkedUnit::new(automata, renames(db, project, unit).clone())))
}

/// Where a name of the program stands.
#[salsa::tracked]
fn places<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Places> {
    table(db, project).places(symbol.name(db)).cloned()
}

/// What is first of all in a unit.
#[salsa::tracked]
fn homes(db: &dyn Db, project: Project, unit: usize) -> Homes {
    table(db, project).homes(unit).cloned().unwrap_or_default()
}

/// What a function takes and gives.
#[salsa::tracked]
fn interface<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Interface> {
    link::interface(&Linked { db, project }, symbol.name(db))
}

/// Functions that run before or after `main`.
#[salsa::tracked]
pub(crate) fn outside_main(db: &dyn Db, project: Project) -> Vec<Name> {
    table(db, project).outside_main().to_vec()
}

/// Functions with bodies and objects that have external linkage.
#[salsa::tracked]
pub(crate) fn exported(db: &dyn Db, project: Project) -> Vec<Name> {
    table(db, project).exported().iter().copied().collect()
}

/// Every function with a body.
#[salsa::tracked]
pub(crate) fn functions(db: &dyn Db, project: Project) -> Vec<Name> {
    table(db, project).functions().to_vec()
}

#[salsa::tracked(returns(copy))]
pub(crate) fn data_model(db: &dyn Db, project: Project) -> DataModel {
    let first = units(db, project).first().map(|file| model(db, project, *file));
    first.and_then(|model| model.as_ref().ok().copied()).unwrap_or(DataModel::Lp64)
}

/// What linking asks, by query.
struct Linked<'db> {
    db: &'db dyn Db,
    project: Project,
}

impl Linking for Linked<'_> {
    fn data_model(&self) -> DataModel {
        data_model(self.db, self.project)
    }
    fn places(&self, name: Name) -> Option<&Places> {
        places(self.db, self.project, Symbol::new(self.db, name)).as_ref()
    }
    fn unit(&self, number: usize) -> Option<&LinkedUnit> {
        linked_unit(self.db, self.project, number).as_deref()
    }
    fn interface(&self, name: Name) -> Option<&Interface> {
        interface(self.db, self.project, Symbol::new(self.db, name)).as_ref()
    }
    fn records(&self) -> &Records {
        layouts(self.db, self.project).records()
    }
    fn outside_main(&self) -> &[Name] {
        outside_main(self.db, self.project)
    }
}

#[salsa::tracked]
pub(crate) fn function<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Function>> {
    let function = link::function(&Linked { db, project }, symbol.name(db));
    function.map(|function| db.shared().functions.same(function))
}

#[salsa::tracked]
pub(crate) fn mentions<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Arc<Mentions> {
    let function = function(db, project, symbol).as_ref();
    Arc::new(function.map(|function| Mentions::of_function(function)).unwrap_or_default())
}

#[salsa::tracked]
pub(crate) fn global<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Global>> {
    link::global(&Linked { db, project }, symbol.name(db))
}

#[salsa::tracked(returns(copy))]
pub(crate) fn external<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Type> {
    link::external(&Linked { db, project }, symbol.name(db))
}

#[salsa::tracked]
pub(crate) fn record<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<Arc<Record>> {
    layouts(db, project).records().get(&symbol.name(db)).cloned()
}

#[salsa::tracked]
pub(crate) fn unsupported<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Vec<Name> {
    link::unsupported(&Linked { db, project }, symbol.name(db))
}

/// Whether the label `ERROR` is an obligation.
#[salsa::tracked(returns(copy))]
pub(crate) fn ends_at_labels(db: &dyn Db, project: Project) -> bool {
    !(0..units(db, project).len()).any(|unit| has_error_call(db, project, unit))
}

/// Whether a function whose first definition is in the unit calls what must not be called.
#[salsa::tracked(returns(copy))]
fn has_error_call(db: &dyn Db, project: Project, unit: usize) -> bool {
    let Some(linked) = linked_unit(db, project, unit) else { return false };
    let mut functions = homes(db, project, unit).functions.iter().filter_map(|name| linked.function(*name));
    functions.any(|function| checks::has_error_call(function))
}

/// Objects that are mentioned first in the unit.
pub(crate) fn homed_globals(db: &dyn Db, project: Project, unit: usize) -> Vec<Name> {
    homes(db, project, unit).globals.to_vec()
}

/// Functions of which the unit has the first definition.
pub(crate) fn homed(db: &dyn Db, project: Project, unit: usize) -> Vec<Name> {
    homes(db, project, unit).functions.to_vec()
}

/// Whether annotations stand anywhere in the text of the unit.
#[salsa::tracked(returns(copy))]
pub(crate) fn has_annotations(db: &dyn Db, project: Project, unit: usize) -> bool {
    let Some(Ok(source)) = units(db, project).get(unit).map(|file| source(db, project, *file)) else {
        return false;
    };
    let files = source.unit.files();
    files.ids().any(|id| acsl::is_in(files.text(id)))
}

/// The unit that defines a function.
#[salsa::tracked(returns(copy))]
pub(crate) fn unit_of<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Option<usize> {
    places(db, project, symbol).as_ref()?.functions.first().copied()
}

/// Whether signed arithmetic wraps around in a unit.
#[salsa::tracked(returns(copy))]
pub(crate) fn wraps(db: &dyn Db, project: Project, unit: usize) -> bool {
    let file = units(db, project).get(unit);
    file.is_some_and(|file| automata(db, project, *file).as_ref().is_some_and(|unit| unit.wraps))
}

/// Whether the unit may mention an internal function of it where nobody has seen it.
#[salsa::tracked(returns(copy))]
pub(crate) fn has_gaps(db: &dyn Db, project: Project, unit: usize) -> bool {
    let Some(file) = units(db, project).get(unit) else { return true };
    let Some(automata) = automata(db, project, *file) else { return true };
    let functions = || automata.functions.iter().map(|function| &**function);
    let globals = automata.globals.iter().map(|(_, global)| &**global);
    // Of several definitions of one function the program has the first.
    let is_elsewhere = |function: &Function| {
        function.linkage == Linkage::External
            && unit_of(db, project, Symbol::new(db, function.name)) != Some(unit)
    };
    !errors_of(db, project, *file).is_empty()
        || automata.has_assembly
        || callers::has_gaps(functions(), globals)
        || functions().any(is_elsewhere)
        || functions().any(|function| automata.linker_names.values().any(|name| *name == function.name))
}

/// Functions and objects that mention others, by these.
type Users = BTreeMap<Name, Arc<BTreeSet<Name>>>;

/// Which names each definition mentions, for those that come first in the unit.
#[salsa::tracked]
fn unit_users(db: &dyn Db, project: Project, unit: usize) -> Arc<Users> {
    let homes = homes(db, project, unit);
    let mut users: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for name in &homes.functions {
        for mentioned in &mentions(db, project, Symbol::new(db, *name)).names {
            users.entry(*mentioned).or_default().insert(*name);
        }
    }
    for name in &homes.globals {
        let Some(global) = global(db, project, Symbol::new(db, *name)) else { continue };
        for mentioned in Mentions::of_global(global).names {
            users.entry(mentioned).or_default().insert(*name);
        }
    }
    Arc::new(users.into_iter().map(|(name, users)| (name, Arc::new(users))).collect())
}

/// What is mentioned by what is first of all in the unit.
#[salsa::tracked]
fn mentioned(db: &dyn Db, project: Project, unit: usize) -> Arc<BTreeSet<Name>> {
    Arc::new(unit_users(db, project, unit).keys().copied().collect())
}

/// The units that mention a name, by name.
#[salsa::tracked]
fn mentioning(db: &dyn Db, project: Project) -> Arc<FxHashMap<Name, Vec<usize>>> {
    let mut units_of: FxHashMap<Name, Vec<usize>> = FxHashMap::default();
    for unit in 0..units(db, project).len() {
        for name in &**mentioned(db, project, unit) {
            units_of.entry(*name).or_default().push(unit);
        }
    }
    Arc::new(units_of)
}

#[salsa::tracked]
fn mentioning_units<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Vec<usize> {
    mentioning(db, project).get(&symbol.name(db)).cloned().unwrap_or_default()
}

/// Functions and objects that mention this one.
#[salsa::tracked]
pub(crate) fn users<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Arc<BTreeSet<Name>> {
    let name = symbol.name(db);
    let of_unit = |unit: &usize| unit_users(db, project, *unit).get(&name).cloned();
    let mut found = mentioning_units(db, project, symbol).iter().filter_map(of_unit);
    let Some(mut all) = found.next() else { return Arc::default() };
    for more in found {
        Arc::make_mut(&mut all).extend(&*more);
    }
    all
}

/// Functions whose address a definition that comes first in the unit takes.
#[salsa::tracked]
fn unit_addressed(db: &dyn Db, project: Project, unit: usize) -> BTreeSet<Name> {
    let homes = homes(db, project, unit);
    let mut found = BTreeSet::new();
    for name in &homes.functions {
        let Some(function) = function(db, project, Symbol::new(db, *name)) else { continue };
        found.extend(models::addresses(function));
    }
    for name in &homes.globals {
        let Some(global) = global(db, project, Symbol::new(db, *name)) else { continue };
        found.extend(Mentions::of_global(global).names);
    }
    let has_type = |name: &Name| external(db, project, Symbol::new(db, *name)).is_some();
    found.retain(|name| has_body(db, project, *name) || has_type(name));
    found
}

fn all_addressed(db: &dyn Db, project: Project) -> impl Iterator<Item = Name> {
    (0..units(db, project).len()).flat_map(move |unit| unit_addressed(db, project, unit)).copied()
}

/// Functions with bodies whose address the program takes.
#[salsa::tracked]
pub(crate) fn addressed(db: &dyn Db, project: Project) -> BTreeSet<Name> {
    all_addressed(db, project).filter(|name| has_body(db, project, *name)).collect()
}

/// Functions without bodies whose address the program takes, with their types.
#[salsa::tracked]
pub(crate) fn addressed_elsewhere(db: &dyn Db, project: Project) -> models::Addressed {
    let elsewhere = all_addressed(db, project).filter(|name| !has_body(db, project, *name));
    elsewhere.filter_map(|name| Some((name, external(db, project, Symbol::new(db, name))?))).collect()
}

/// Whether the function has a body.
pub(crate) fn has_body(db: &dyn Db, project: Project, name: Name) -> bool {
    interface(db, project, Symbol::new(db, name)).is_some()
}

/// The whole program.
pub(crate) fn whole(db: &dyn Db, project: Project) -> Program {
    link::program(&Linked { db, project }, table(db, project).names())
}

/// Where a function with a body is in the text, and in which file: one of the program's.
pub(crate) fn position_of(
    db: &dyn Db,
    project: Project,
    function: Name,
) -> Option<(FileName<'_>, Arc<FunctionMap>)> {
    let (unit, own) = link::own_name(&Linked { db, project }, function)?;
    let file = *units(db, project).get(unit)?;
    let positions = unit_positions(db, project, file).as_ref()?;
    Some((file, positions.functions.get(&own).cloned().unwrap_or_default()))
}

/// Where functions with bodies are in the text, with the units that these positions count in, by number. Looks at the files that define
/// them, and at no other.
pub(crate) fn positions_of<'n>(
    db: &dyn Db,
    project: Project,
    names: impl IntoIterator<Item = &'n Name>,
) -> (ProgramMap, BTreeMap<usize, Arc<Unit>>) {
    let mut map = ProgramMap::default();
    let mut texts = BTreeMap::new();
    for name in names {
        let Some((unit, own)) = link::own_name(&Linked { db, project }, *name) else { continue };
        let Some(file) = units(db, project).get(unit) else { continue };
        let Some(positions) = unit_positions(db, project, *file) else { continue };
        map.functions.insert(*name, (unit, positions.functions.get(&own).cloned().unwrap_or_default()));
        if let Ok(source) = source(db, project, *file) {
            texts.entry(unit).or_insert_with(|| source.unit.clone());
        }
    }
    (map, texts)
}
