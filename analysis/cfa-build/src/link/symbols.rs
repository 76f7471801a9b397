//! Names: which unit defines or declares what, and which internal names must be told apart. Decided by names and linkage alone, so that
//! it stays as it is while bodies, values and types change.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::{Linkage, Name};
use rustc_hash::FxHashMap;

use crate::Unit;

/// The names of one unit: what linking asks of it to tell whose is whose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbols {
    file: Option<Name>,
    /// With bodies.
    functions: Vec<FunctionSymbol>,
    globals: Vec<(Name, Linkage)>,
    /// Functions that are declared only.
    declared: Vec<Name>,
    /// Of what is not defined here: what the linker calls it.
    linker_names: BTreeMap<Name, Name>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct FunctionSymbol {
    name: Name,
    linkage: Linkage,
    runs_outside_main: bool,
    is_weak: bool,
}

impl Symbols {
    /// Of a unit.
    pub fn of(unit: &Unit) -> Symbols {
        let functions = unit.functions.iter().map(|function| FunctionSymbol {
            name: function.name,
            linkage: function.linkage,
            runs_outside_main: function.attributes.runs_outside_main,
            is_weak: function.attributes.weak,
        });
        Symbols {
            file: unit.file,
            functions: functions.collect(),
            globals: unit.globals.iter().map(|(linkage, global)| (global.name, *linkage)).collect(),
            declared: unit.declared.keys().copied().collect(),
            linker_names: unit.linker_names.clone(),
        }
    }

    fn all(&self) -> BTreeSet<Name> {
        let functions = self.functions.iter().map(|function| function.name);
        let globals = self.globals.iter().map(|(name, _)| *name);
        let all = functions.chain(globals).chain(self.declared.iter().copied());
        all.chain(self.linker_names.values().copied()).collect()
    }

    /// What other units see: the linker's name beside the unit's own.
    fn visible(&self) -> impl Iterator<Item = (Name, Name)> {
        let functions = self.functions.iter().map(|function| (function.name, function.linkage));
        let all = functions.chain(self.globals.iter().copied());
        let external = all.filter(|(_, linkage)| *linkage == Linkage::External).map(|(name, _)| name);
        let names = external.chain(self.declared.iter().copied());
        names.map(|name| (self.linker_names.get(&name).copied().unwrap_or(name), name))
    }

    fn internal(&self) -> impl Iterator<Item = Name> {
        let functions = self.functions.iter().map(|function| (function.name, function.linkage));
        let all = functions.chain(self.globals.iter().copied());
        all.filter(|(_, linkage)| *linkage == Linkage::Internal).map(|(name, _)| name)
    }
}

/// Numbers of the units where a name of the program stands, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// With a body. A weak definition that another one replaces does not count.
    pub functions: Vec<usize>,
    /// As an object.
    pub globals: Vec<usize>,
    /// The first that declares it as a function without defining it.
    pub declared: Option<usize>,
}

/// The names of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolTable {
    places: FxHashMap<Name, Places>,
    renamed: Vec<BTreeMap<Name, Name>>,
    functions: Vec<Name>,
    homes: Vec<Homes>,
    outside_main: Vec<Name>,
    exported: BTreeSet<Name>,
}

/// Names whose first definition is in one unit, sorted: every name of the program has one such unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Homes {
    /// Functions with bodies.
    pub functions: Vec<Name>,
    /// Objects: where they are mentioned first, defined or not.
    pub globals: Vec<Name>,
}

impl SymbolTable {
    /// Of a program of these units, in their order.
    pub fn of(units: &[&Symbols]) -> SymbolTable {
        let mut table = SymbolTable { renamed: clashes(units), ..SymbolTable::default() };
        for (renamed, under) in table.renamed.iter_mut().zip(linker_names(units)) {
            renamed.extend(under);
        }
        let mut strong: BTreeSet<Name> = BTreeSet::new();
        for (renamed, unit) in table.renamed.iter().zip(units) {
            let all = unit.functions.iter().filter(|function| !function.is_weak);
            strong.extend(all.map(|function| renamed.get(&function.name).copied().unwrap_or(function.name)));
        }
        for (number, unit) in units.iter().enumerate() {
            let renamed = &table.renamed[number];
            let new = |name: Name| renamed.get(&name).copied().unwrap_or(name);
            let mut homes = Homes::default();
            for (name, linkage) in &unit.globals {
                let is_exported = *linkage == Linkage::External && !is_literal(*name);
                table.exported.extend(is_exported.then_some(new(*name)));
                let globals = &mut table.places.entry(new(*name)).or_default().globals;
                if globals.is_empty() {
                    homes.globals.push(new(*name));
                }
                globals.push(number);
            }
            for function in &unit.functions {
                let name = new(function.name);
                if function.is_weak && strong.contains(&name) {
                    continue;
                }
                table.exported.extend((function.linkage == Linkage::External).then_some(name));
                let functions = &mut table.places.entry(name).or_default().functions;
                if functions.is_empty() {
                    homes.functions.push(name);
                    table.outside_main.extend(function.runs_outside_main.then_some(name));
                }
                functions.push(number);
            }
            for name in &unit.declared {
                table.places.entry(new(*name)).or_default().declared.get_or_insert(number);
            }
            homes.functions.sort_unstable();
            homes.globals.sort_unstable();
            table.functions.extend(&homes.functions);
            table.homes.push(homes);
        }
        table.functions.sort_unstable();
        table.outside_main.sort_unstable();
        table
    }

    /// Where a name of the program stands.
    pub fn places(&self, name: Name) -> Option<&Places> {
        self.places.get(&name)
    }

    /// New names of a unit's internal functions and objects, where they clash.
    pub fn renamed(&self, unit: usize) -> Option<&BTreeMap<Name, Name>> {
        self.renamed.get(unit)
    }

    /// What is first of all in a unit.
    pub fn homes(&self, unit: usize) -> Option<&Homes> {
        self.homes.get(unit)
    }

    /// Functions with bodies, sorted.
    pub fn functions(&self) -> &[Name] {
        &self.functions
    }

    /// Functions that run before or after `main`, sorted.
    pub fn outside_main(&self) -> &[Name] {
        &self.outside_main
    }

    /// Functions with bodies and objects that have external linkage, sorted.
    pub fn exported(&self) -> &BTreeSet<Name> {
        &self.exported
    }

    /// Every name, sorted.
    pub fn names(&self) -> BTreeSet<Name> {
        self.places.keys().copied().collect()
    }
}

/// Whether it is the object of a string literal, which is named by its text.
fn is_literal(name: Name) -> bool {
    name.as_str().contains('"')
}

/// Per unit, internal names that another unit uses too, with a new name each.
fn clashes(units: &[&Symbols]) -> Vec<BTreeMap<Name, Name>> {
    let mut users: FxHashMap<Name, usize> = FxHashMap::default();
    for unit in units {
        for name in unit.all() {
            *users.entry(name).or_insert(0) += 1;
        }
    }
    let is_shared = |name: &Name| users.get(name).is_some_and(|count| *count > 1);
    let of_unit = |(number, unit): (usize, &&Symbols)| {
        let prefix = match unit.file {
            Some(file) => file.to_string(),
            None => format!("unit {}", number + 1),
        };
        let names = unit.internal().filter(is_shared);
        names.map(|name| (name, Name::new(&format!("{prefix}:{name}")))).collect()
    };
    units.iter().enumerate().map(of_unit).collect()
}

/// Per unit, names that the linker has another name for, with that name, wherever one of the two means something else to another unit.
/// (Where all units agree, as about functions of C libraries, the name of the text stays: models are found by it.)
fn linker_names(units: &[&Symbols]) -> Vec<BTreeMap<Name, Name>> {
    let mut names_of: FxHashMap<Name, BTreeSet<Name>> = FxHashMap::default();
    let mut meanings_of: FxHashMap<Name, BTreeSet<Name>> = FxHashMap::default();
    for (linker, name) in units.iter().flat_map(|unit| unit.visible()) {
        names_of.entry(linker).or_default().insert(name);
        meanings_of.entry(name).or_default().insert(linker);
    }
    let is_plain = |name: &Name, linker: &Name| names_of[linker].len() < 2 && meanings_of[name].len() < 2;
    let of_unit = |unit: &&Symbols| {
        let renamed = unit.visible().filter(|(linker, name)| linker != name && !is_plain(name, linker));
        renamed.map(|(linker, name)| (name, linker)).collect()
    };
    units.iter().map(of_unit).collect()
}
