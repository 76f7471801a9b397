//! Linking: several units become one program. Names with internal linkage and tags are made unique where they clash, definitions
//! win over declarations. Knows names and types, nothing of what automata do.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Linkage, Name, Record, Records, Type, TypeKind, types::Signature, types::TypeData};
use proofline_syntax::{DataModel, Span};
use rustc_hash::FxHashMap;

use crate::{
    Constant, Function, FunctionMap, Global, Program, Unit, UnitMap, fit,
    visit::{self, Renaming},
};

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

/// A definition that another one contradicts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkProblem {
    /// What is defined twice.
    pub name: Name,
    /// Number of the unit whose definition is not used.
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

/// Links units of one data model (that of the first), in their order.
pub fn link(units: Vec<(Unit, UnitMap)>) -> (Program, ProgramMap) {
    let mut linker = Linker::new(&units);
    for (number, (unit, map)) in units.into_iter().enumerate() {
        linker.add(number, unit, map);
    }
    linker.finish()
}

struct Linker {
    program: Program,
    map: ProgramMap,
    /// Per unit: new names of internal functions and objects, where they clash.
    renamed: Vec<BTreeMap<Name, Name>>,
}

impl Linker {
    fn new(units: &[(Unit, UnitMap)]) -> Linker {
        let program = Program {
            data_model: units.first().map_or(DataModel::Lp64, |(unit, _)| unit.data_model),
            records: Records::new(),
            globals: BTreeMap::new(),
            functions: BTreeMap::new(),
            externals: BTreeMap::new(),
            unsupported: Vec::new(),
        };
        Linker { program, map: ProgramMap::default(), renamed: clashes(units) }
    }

    fn add(&mut self, number: usize, unit: Unit, mut map: UnitMap) {
        let tags = new_tags(&self.program.records, &unit.records);
        let names = std::mem::take(&mut self.renamed[number]);
        let renaming = Renames { names, tags, types: RefCell::default() };
        let is_plain = renaming.names.is_empty() && renaming.tags.is_empty();
        for (tag, record) in &unit.records {
            let record =
                if renaming.tags.is_empty() { record.clone() } else { Arc::new(renaming.record(record)) };
            self.program.records.entry(renaming.tag(*tag)).or_insert(record);
        }
        for (_, global) in unit.globals {
            let span = map.globals.get(&global.name).copied();
            let global = if is_plain { global } else { Arc::new(renaming.object(&global)) };
            self.add_global(number, global, span);
        }
        for function in unit.functions {
            let positions = map.functions.remove(&function.name).unwrap_or_default();
            let function = if is_plain { function } else { Arc::new(renaming.function(&function)) };
            self.add_function(number, function, positions);
        }
        for (name, (ty, _)) in unit.declared {
            self.program.externals.entry(renaming.global(name)).or_insert(renaming.ty(ty));
        }
    }

    fn add_global(&mut self, number: usize, global: Arc<Global>, span: Option<Span>) {
        let name = global.name;
        let known = self.program.globals.get(&name);
        let wins = match known {
            None => true,
            // Among definitions one with values wins over a tentative one; a literal is the same everywhere.
            Some(known) => match (known.defined, global.defined) {
                (false, true) => true,
                (false, false) => known.size == 0 && global.size > 0,
                (true, false) => false,
                (true, true) => known.init.is_empty() && !global.init.is_empty(),
            },
        };
        if let Some(known) = known
            && known.defined
            && global.defined
            && !known.init.is_empty()
            && !global.init.is_empty()
            && **known != *global
        {
            self.map.problems.push(LinkProblem { name, unit: number, span });
            // Which of the values counts is not known: any.
            let mut any = Global::clone(known);
            any.defined = false;
            any.init.clear();
            self.program.globals.insert(name, Arc::new(any));
            return;
        }
        if wins {
            if let Some(span) = span {
                self.map.globals.insert(name, (number, span));
            }
            self.program.globals.insert(name, global);
        }
    }

    fn add_function(&mut self, number: usize, function: Arc<Function>, positions: Arc<FunctionMap>) {
        let name = function.name;
        if let Some(known) = self.program.functions.get(&name) {
            if **known != *function {
                self.map.problems.push(LinkProblem { name, unit: number, span: positions.name });
                self.program.unsupported.push((name, Name::new("two different definitions")));
            }
            return;
        }
        self.program.functions.insert(name, function);
        self.map.functions.insert(name, (number, positions));
    }

    fn finish(mut self) -> (Program, ProgramMap) {
        let functions = &self.program.functions;
        self.program.externals.retain(|name, _| !functions.contains_key(name));
        let main = Name::new("main");
        let outside = functions.values().filter(|function| function.attributes.runs_outside_main);
        let outside: Vec<Name> =
            outside.map(|f| Name::new(&format!("constructor or destructor `{}`", f.name))).collect();
        if let Some(main) = self.program.functions.get_mut(&main) {
            self.program.unsupported.extend(outside.iter().map(|what| (main.name, *what)));
            // Nothing that `main` alone does is known to happen, either.
            if let Some(what) = outside.first() {
                let main = Arc::make_mut(main);
                main.unsupported.push((main.entry, *what));
            }
        }
        self.program.unsupported.sort_unstable();
        self.program.unsupported.dedup();
        fit::fit(&mut self.program);
        (self.program, self.map)
    }
}

/// Per unit, internal names that another unit uses too, with a new name each.
fn clashes(units: &[(Unit, UnitMap)]) -> Vec<BTreeMap<Name, Name>> {
    let mut users: BTreeMap<Name, usize> = BTreeMap::new();
    for (unit, _) in units {
        let globals = unit.globals.iter().map(|(_, global)| global.name);
        let functions = unit.functions.iter().map(|function| function.name);
        let names: BTreeSet<Name> = globals.chain(functions).chain(unit.declared.keys().copied()).collect();
        for name in names {
            *users.entry(name).or_insert(0) += 1;
        }
    }
    let is_shared = |name: &Name| users.get(name).is_some_and(|count| *count > 1);
    units
        .iter()
        .enumerate()
        .map(|(number, (unit, _))| {
            let globals = unit.globals.iter().filter(|(linkage, _)| *linkage == Linkage::Internal);
            let globals = globals.map(|(_, global)| global.name);
            let functions = unit.functions.iter().filter(|function| function.linkage == Linkage::Internal);
            let names = globals.chain(functions.map(|function| function.name)).filter(is_shared);
            let prefix = match unit.file {
                Some(file) => file.to_string(),
                None => format!("unit {}", number + 1),
            };
            names.map(|name| (name, Name::new(&format!("{prefix}:{name}")))).collect()
        })
        .collect()
}

/// Tags of the unit that mean something else in the program so far, and those whose records mention one.
fn new_tags(known: &Records, unit: &Records) -> BTreeMap<Name, Name> {
    let mut clashing: BTreeSet<Name> = BTreeSet::new();
    for (tag, record) in unit {
        if known.get(tag).is_some_and(|known| known != record) {
            clashing.insert(*tag);
        }
    }
    loop {
        let before = clashing.len();
        for (tag, record) in unit {
            if !clashing.contains(tag) && record.fields.iter().any(|field| mentions(field.ty, &clashing)) {
                clashing.insert(*tag);
            }
        }
        if clashing.len() == before {
            break;
        }
    }
    let mut tags = BTreeMap::new();
    for tag in clashing {
        let free = (2..)
            .map(|n| Name::new(&format!("{tag}~{n}")))
            .find(|name| !known.contains_key(name) && !unit.contains_key(name));
        tags.extend(free.map(|free| (tag, free)));
    }
    tags
}

fn mentions(ty: Type, tags: &BTreeSet<Name>) -> bool {
    match ty.kind() {
        TypeKind::Record(tag) => tags.contains(tag),
        TypeKind::Pointer(inner) | TypeKind::Array(inner, _) | TypeKind::Vector(inner, _) => {
            mentions(*inner, tags)
        }
        TypeKind::Function(signature) => {
            mentions(signature.result, tags) || signature.parameters.iter().any(|ty| mentions(*ty, tags))
        }
        TypeKind::Void
        | TypeKind::Bool
        | TypeKind::Int(_)
        | TypeKind::Float(_)
        | TypeKind::Complex(_)
        | TypeKind::Enum(..)
        | TypeKind::VaList
        | TypeKind::Error => false,
    }
}

/// New names within one unit.
struct Renames {
    names: BTreeMap<Name, Name>,
    tags: BTreeMap<Name, Name>,
    types: RefCell<FxHashMap<Type, Type>>,
}

impl Renaming for Renames {
    fn global(&self, name: Name) -> Name {
        self.names.get(&name).copied().unwrap_or(name)
    }

    fn tag(&self, name: Name) -> Name {
        self.tags.get(&name).copied().unwrap_or(name)
    }

    fn ty(&self, ty: Type) -> Type {
        if self.tags.is_empty() {
            return ty;
        }
        if let Some(known) = self.types.borrow().get(&ty) {
            return *known;
        }
        let kind = match ty.kind() {
            TypeKind::Record(tag) => TypeKind::Record(self.tag(*tag)),
            TypeKind::Pointer(inner) => TypeKind::Pointer(self.ty(*inner)),
            TypeKind::Array(inner, length) => TypeKind::Array(self.ty(*inner), *length),
            TypeKind::Vector(inner, length) => TypeKind::Vector(self.ty(*inner), *length),
            TypeKind::Function(signature) => TypeKind::Function(Arc::new(Signature {
                result: self.ty(signature.result),
                parameters: signature.parameters.iter().map(|ty| self.ty(*ty)).collect(),
                variadic: signature.variadic,
                unprototyped: signature.unprototyped,
            })),
            other @ (TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int(_)
            | TypeKind::Float(_)
            | TypeKind::Complex(_)
            | TypeKind::Enum(..)
            | TypeKind::VaList
            | TypeKind::Error) => other.clone(),
        };
        let new = Type::intern(TypeData { kind, qualifiers: ty.qualifiers() });
        self.types.borrow_mut().insert(ty, new);
        new
    }
}

impl Renames {
    fn record(&self, record: &Record) -> Record {
        let mut record = record.clone();
        record.tag = self.tag(record.tag);
        for field in &mut record.fields {
            field.ty = self.ty(field.ty);
        }
        record
    }

    fn object(&self, global: &Global) -> Global {
        let mut global = global.clone();
        global.name = self.global(global.name);
        global.ty = self.ty(global.ty);
        for value in &mut global.init {
            match &mut value.value {
                Constant::Address(name, _) | Constant::Function(name) => *name = self.global(*name),
                Constant::Int(_) | Constant::Float(_) | Constant::Unknown => {}
            }
        }
        global
    }

    fn function(&self, function: &Function) -> Function {
        let mut function = function.clone();
        visit::rename(&mut function, self);
        function
    }
}
