//! Linking: several units become one program. Names with internal linkage and tags are made unique where they clash, definitions
//! win over declarations. Knows names and types, nothing of what automata do.
//!
//! What a name of the program means is found part by part: which file defines it ([`SymbolTable`]), what records are ([`Layouts`]), a unit under the
//! program's names ([`LinkedUnit`]), and then [`function`], [`global`], [`external`] and [`unsupported`] through [`Linking`], which sees
//! what each of them needs. [`link`] is all of them put together.

mod layouts;
mod renames;
mod symbols;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Name, Records, Type};
use proofline_syntax::{DataModel, Span};

use crate::{
    Unit, UnitMap, call_coercion,
    lower::{absent, variable_arguments},
};
use proofline_cfa::{
    Approximation, Callee, Constant, Function, FunctionMap, Global, InitialValue, IntType, Loc, Op, Program,
    Scalar, Site, Types, scalar_of, types::innermost,
};

pub use crate::call_coercion::Interface;
pub use layouts::Layouts;
pub use renames::{LinkedUnit, Renames};
pub use symbols::{Homes, Places, SymbolTable, Symbols};

/// Positions of a program. A span means something only beside the files of its unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProgramMap {
    /// Functions with bodies: number of their unit, positions.
    pub functions: BTreeMap<Name, (usize, Arc<FunctionMap>)>,
    /// Objects: number of the unit that declares (or, if one does, defines) them, their declaration.
    pub globals: BTreeMap<Name, (usize, Span)>,
    /// What did not fit together.
    pub problems: Vec<LinkProblem>,
}

/// A definition or declaration that another one contradicts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkProblem {
    /// What is defined twice, or declared in two ways.
    pub name: Name,
    /// Number of the unit that says something else than the one before it.
    pub unit: usize,
    /// Its place there.
    pub span: Option<Span>,
}

impl ProgramMap {
    /// Number of the unit and positions of a function.
    pub fn function(&self, name: Name) -> Option<(usize, &FunctionMap)> {
        self.functions.get(&name).map(|(unit, map)| (*unit, &**map))
    }
}

/// What linking one name asks of the rest. An implementation sees each question, and so what the name depends on.
pub trait Linking {
    /// Sizes of C's types: those of the first unit.
    fn data_model(&self) -> DataModel;
    /// Where a name of the program stands ([`SymbolTable::places`]).
    fn places(&self, name: Name) -> Option<&Places>;
    /// A unit under the names of the program.
    fn unit(&self, number: usize) -> Option<&LinkedUnit>;
    /// What a function with a body takes and gives ([`interface`]).
    fn interface(&self, name: Name) -> Option<&Interface>;
    /// The program's records ([`Layouts::records`]).
    fn records(&self) -> &Records;
    /// Functions that run before or after `main` ([`SymbolTable::outside_main`]).
    fn outside_main(&self) -> &[Name];
}

/// The first definition of a function, as its unit has it.
fn definition(linking: &dyn Linking, name: Name) -> Option<&Arc<Function>> {
    let first = linking.places(name)?.functions.first()?;
    linking.unit(*first)?.function(name)
}

/// What a function with a body takes and gives.
pub fn interface(linking: &dyn Linking, name: Name) -> Option<Interface> {
    definition(linking, name).map(|function| Interface::of(function))
}

/// A function with a body: its first definition, with calls that fit whom they call.
pub fn function(linking: &dyn Linking, name: Name) -> Option<Arc<Function>> {
    let types = Types { records: linking.records(), model: linking.data_model() };
    let unit_of = |name| linking.places(name).and_then(|places| places.functions.first());
    let interface = |callee| {
        let is_elsewhere = unit_of(callee) != unit_of(name);
        let of_callee = linking.interface(callee)?;
        Some(if is_elsewhere { of_callee.seen_elsewhere() } else { Cow::Borrowed(of_callee) })
    };
    let is_there = |name| linking.places(name).is_some();
    let counted = is_there(variable_arguments::count_variable())
        .then(|| variable_arguments::kinds_of_program(&is_there));
    let mut function =
        call_coercion::coerce_calls(definition(linking, name)?, types, counted.as_ref(), &interface);
    comes_back(&mut function, &interface);
    // Which of them a call reaches, nobody knows: no run goes through it either.
    if !other_definitions(linking, name).is_empty() {
        let function = Arc::make_mut(&mut function);
        function.unsupported.push((function.entry, Name::new(TWO_DEFINITIONS)));
    }
    // Nothing that `main` alone does is known to happen where something runs before it.
    if name.as_str() == "main"
        && let Some(what) = linking.outside_main().first()
    {
        let main = Arc::make_mut(&mut function);
        main.unsupported.push((main.entry, outside(*what)));
    }
    // Whoever links a library may have another one.
    if function.attributes.weak
        && linking.places(Name::new("main")).is_none_or(|main| main.functions.is_empty())
    {
        let what =
            Name::new(&format!("the weak definition of `{}` is the one that is linked", name.written()));
        Arc::make_mut(&mut function).approximations.push(Approximation { what, site: Site::NOWHERE });
    }
    Some(function)
}

/// Nothing goes on behind the call of a function that is declared to be one that does not return. Where its body may return all the same, nothing
/// is known of what comes then.
fn comes_back<'s>(function: &mut Arc<Function>, interface: &dyn Fn(Name) -> Option<Cow<'s, Interface>>) {
    let goes_on: BTreeSet<Loc> = function.edges.iter().map(|edge| edge.from).collect();
    let callee = |op: &Op| match op.call()?.callee {
        Callee::Direct(name) => interface(name),
        Callee::Indirect(..) => None,
    };
    let ends = function.edges.iter().filter(|edge| edge.to != function.exit && !goes_on.contains(&edge.to));
    let marks: Vec<(Loc, Name)> = ends
        .filter(|edge| callee(&edge.op).is_some_and(|callee| callee.may_return))
        .map(|edge| (edge.to, Name::new("return of a function that is declared noreturn")))
        .collect();
    if !marks.is_empty() {
        Arc::make_mut(function).unsupported.extend(marks);
    }
}

fn outside(name: Name) -> Name {
    Name::new(&format!("constructor or destructor `{name}`"))
}

/// Units whose definitions of a function are others than the first.
fn other_definitions(linking: &dyn Linking, name: Name) -> Vec<usize> {
    let of_unit = |unit: usize| linking.unit(unit).and_then(|unit| unit.function(name));
    let Some([first, rest @ ..]) = linking.places(name).map(|places| &places.functions[..]) else {
        return Vec::new();
    };
    rest.iter().copied().filter(|unit| of_unit(*unit) != of_unit(*first)).collect()
}

/// How declarations of an object in several units contradict each other, and the units that say something else than the first.
fn contradiction(linking: &dyn Linking, name: Name) -> Option<(Name, Vec<usize>)> {
    let places = linking.places(name)?;
    let of_unit = |unit: &usize| Some((*unit, linking.unit(*unit)?.global(name)?));
    let all: Vec<(usize, &Arc<Global>)> = places.globals.iter().filter_map(of_unit).collect();
    let [(_, first), rest @ ..] = &all[..] else { return None };
    // Of a declaration that does not say how large the object is another one may.
    let size = |global: &Arc<Global>| Some(global.size).filter(|size| *size > 0);
    let known_size = std::iter::once(*first).chain(rest.iter().map(|(_, global)| *global)).find_map(size);
    let number = |global: &Arc<Global>| kind(scalar_of(innermost(global.ty), linking.data_model()));
    let differs = |what: &str, is_other: &dyn Fn(&Arc<Global>) -> bool| {
        let others: Vec<usize> =
            rest.iter().filter(|(_, global)| is_other(global)).map(|(unit, _)| *unit).collect();
        let what = || Name::new(&format!("declarations in different files with different {what}"));
        (!others.is_empty()).then(|| (what(), others))
    };
    differs("sizes", &|global| size(global).is_some() && size(global) != known_size)
        .or_else(|| differs("types", &|global| number(global) != number(first)))
        .or_else(|| differs("qualifiers (`const`)", &|global| global.constant != first.constant))
}

/// What scalars of one size and kind have in common.
fn kind(scalar: Option<Scalar>) -> Option<Scalar> {
    scalar.map(|scalar| match scalar {
        Scalar::Int(ty) => Scalar::Int(IntType { signed: false, ..ty }),
        Scalar::Float(_) | Scalar::Pointer => scalar,
    })
}

/// What is said of a function that two files define, each in its own way.
const TWO_DEFINITIONS: &str = "two different definitions";

/// What makes every verdict unknown that rests on this function, or on a program with this object; sorted.
pub fn unsupported(linking: &dyn Linking, name: Name) -> Vec<Name> {
    let mut found = Vec::new();
    found.extend(contradiction(linking, name).map(|(what, _)| what));
    if !other_definitions(linking, name).is_empty() {
        found.push(Name::new(TWO_DEFINITIONS));
    }
    let unit = linking.places(name).and_then(|places| linking.unit(*places.functions.first()?));
    found.extend(unit.and_then(LinkedUnit::unmodelled));
    if name.as_str() == "main" && definition(linking, name).is_some() {
        found.extend(linking.outside_main().iter().map(|what| outside(*what)));
    }
    found.sort_unstable();
    found
}

/// An object with static storage.
pub fn global(linking: &dyn Linking, name: Name) -> Option<Arc<Global>> {
    let chosen = chosen(linking, name)?.global;
    match absent::target(name).and_then(|target| address_of(linking, target)) {
        Some(value) => {
            let mut constant = Global::clone(&chosen);
            constant.defined = true;
            constant.init = vec![InitialValue { offset: 0, scalar: Scalar::Pointer, bits: None, value }];
            Some(Arc::new(constant))
        }
        None => Some(chosen),
    }
}

/// The address of what one of the files defines.
fn address_of(linking: &dyn Linking, name: Name) -> Option<Constant> {
    if definition(linking, name).is_some() {
        return Some(Constant::Function(name));
    }
    let object = chosen(linking, name)?.global;
    object.defined.then_some(Constant::Address(name, 0))
}

/// An object, and the units whose declarations of it counted in turn; those of the values that contradict others.
struct Chosen {
    global: Arc<Global>,
    winners: Vec<usize>,
    losers: Vec<usize>,
}

fn chosen(linking: &dyn Linking, name: Name) -> Option<Chosen> {
    let mut chosen: Option<Chosen> = None;
    for &unit in &linking.places(name)?.globals {
        let Some(global) = linking.unit(unit).and_then(|unit| unit.global(name)) else { continue };
        match &mut chosen {
            None => {
                chosen = Some(Chosen { global: global.clone(), winners: vec![unit], losers: Vec::new() });
            }
            Some(known) => known.add(unit, global),
        }
    }
    let mut chosen = chosen?;
    if !chosen.losers.is_empty() {
        // Which of the values counts is not known: any.
        let any = Arc::make_mut(&mut chosen.global);
        any.defined = false;
        any.init.clear();
    }
    Some(chosen)
}

impl Chosen {
    /// Among definitions one with values wins over a tentative one; a literal is the same everywhere.
    fn add(&mut self, unit: usize, global: &Arc<Global>) {
        let known = &*self.global;
        let wins = match (known.defined, global.defined) {
            (false, true) => true,
            (false, false) => known.size == 0 && global.size > 0,
            (true, false) => false,
            (true, true) => known.init.is_empty() && !global.init.is_empty(),
        };
        if wins {
            self.winners.push(unit);
            self.global = global.clone();
        } else if known.defined
            && global.defined
            && !known.init.is_empty()
            && !global.init.is_empty()
            && *known != **global
        {
            self.losers.push(unit);
        }
    }
}

/// The type of a function without a body: as it is declared first.
pub fn external(linking: &dyn Linking, name: Name) -> Option<Type> {
    let places = linking.places(name)?;
    let unit = places.declared.filter(|_| places.functions.is_empty())?;
    linking.unit(unit)?.declared(name)
}

/// The whole program, from its parts.
pub fn program(linking: &dyn Linking, names: impl IntoIterator<Item = Name>) -> Program {
    let mut program = Program::empty(linking.data_model());
    program.records = linking.records().clone();
    for name in names {
        program.functions.extend(function(linking, name).map(|function| (name, function)));
        program.globals.extend(global(linking, name).map(|global| (name, global)));
        program.externals.extend(external(linking, name).map(|ty| (name, ty)));
        program.unsupported.extend(unsupported(linking, name).into_iter().map(|what| (name, what)));
    }
    program.unsupported.sort_unstable();
    program
}

/// Number of the unit that a function is of, and its name there.
pub fn own_name(linking: &dyn Linking, name: Name) -> Option<(usize, Name)> {
    let unit = *linking.places(name)?.functions.first()?;
    Some((unit, linking.unit(unit)?.renames().own_name(name)))
}

/// Links units of one data model (that of the first), in their order.
pub fn link(units: Vec<(Unit, UnitMap)>) -> (Program, ProgramMap) {
    let (units, maps): (Vec<Unit>, Vec<UnitMap>) = units.into_iter().unzip();
    let whole = Whole::new(units);
    let names = whole.table.names();
    let program = program(&whole, names.iter().copied());
    let mut map = ProgramMap::default();
    let (mut of_objects, mut of_functions) = (Vec::new(), Vec::new());
    for name in names {
        let own = |unit: usize| whole.unit(unit).map_or(name, |unit| unit.renames().own_name(name));
        let span = |unit: usize| maps.get(unit)?.globals.get(&own(unit)).copied();
        if let Some(Chosen { winners, losers, .. }) = chosen(&whole, name) {
            let last = winners.iter().rev().find_map(|unit| Some((*unit, span(*unit)?)));
            map.globals.extend(last.map(|place| (name, place)));
            let others = contradiction(&whole, name).map(|(_, units)| units).unwrap_or_default();
            let units: BTreeSet<usize> = losers.into_iter().chain(others).collect();
            of_objects.extend(units.into_iter().map(|unit| LinkProblem { name, unit, span: span(unit) }));
        }
        let positions = |unit: usize| maps.get(unit).and_then(|map| map.functions.get(&own(unit)).cloned());
        if let Some((unit, _)) = own_name(&whole, name) {
            map.functions.insert(name, (unit, positions(unit).unwrap_or_default()));
        }
        of_functions.extend(other_definitions(&whole, name).into_iter().map(|unit| {
            let span = positions(unit).and_then(|map| map.name);
            LinkProblem { name, unit, span }
        }));
    }
    map.problems = of_objects;
    map.problems.extend(of_functions);
    map.problems.sort_by_key(|problem| problem.unit);
    (program, map)
}

/// Every part at hand.
struct Whole {
    data_model: DataModel,
    table: SymbolTable,
    layouts: Layouts,
    units: Vec<LinkedUnit>,
    interfaces: BTreeMap<Name, Interface>,
}

impl Whole {
    fn new(units: Vec<Unit>) -> Whole {
        let symbols: Vec<Symbols> = units.iter().map(Symbols::of).collect();
        let table = SymbolTable::of(&symbols.iter().collect::<Vec<_>>());
        let layouts = Layouts::of(units.iter().map(|unit| &unit.records));
        let data_model = units.first().map_or(DataModel::Lp64, |unit| unit.data_model);
        let linked = units.into_iter().enumerate().map(|(number, unit)| {
            LinkedUnit::new(Arc::new(unit), Arc::new(Renames::of(&table, &layouts, number)))
        });
        let units = linked.collect();
        let mut whole = Whole { data_model, table, layouts, units, interfaces: BTreeMap::new() };
        let names = whole.table.functions().iter();
        whole.interfaces = names.filter_map(|name| Some((*name, interface(&whole, *name)?))).collect();
        whole
    }
}

impl Linking for Whole {
    fn data_model(&self) -> DataModel {
        self.data_model
    }
    fn places(&self, name: Name) -> Option<&Places> {
        self.table.places(name)
    }
    fn unit(&self, number: usize) -> Option<&LinkedUnit> {
        self.units.get(number)
    }
    fn interface(&self, name: Name) -> Option<&Interface> {
        self.interfaces.get(&name)
    }
    fn records(&self) -> &Records {
        self.layouts.records()
    }
    fn outside_main(&self) -> &[Name] {
        self.table.outside_main()
    }
}
