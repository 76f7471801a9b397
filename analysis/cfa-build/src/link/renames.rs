//! New names within one unit, and the unit under them. Knows where names and tags stand in automata, objects and types; not why they
//! are new.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use proofline_hir::{Name, Record, Type, TypeKind, types::Signature, types::TypeData};
use rustc_hash::FxHashMap;

use super::{Layouts, SymbolTable};
use crate::Unit;
use proofline_cfa::{
    Constant, Function, Global,
    visit::{self, Renaming},
};

/// New names of one unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Renames {
    names: BTreeMap<Name, Name>,
    tags: BTreeMap<Name, Name>,
}

impl Renames {
    /// Of records only.
    pub(super) fn of_tags(tags: BTreeMap<Name, Name>) -> Renames {
        Renames { names: BTreeMap::new(), tags }
    }

    /// Of the unit of this number.
    pub fn of(table: &SymbolTable, layouts: &Layouts, unit: usize) -> Renames {
        let names = table.renamed(unit).cloned().unwrap_or_default();
        let tags = layouts.renamed(unit).cloned().unwrap_or_default();
        Renames { names, tags }
    }

    pub(super) fn into_tags(self) -> BTreeMap<Name, Name> {
        self.tags
    }

    /// What a function or an object of the program is called in the unit.
    pub fn own_name(&self, name: Name) -> Name {
        self.names.iter().find(|(_, new)| **new == name).map_or(name, |(own, _)| *own)
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.tags.is_empty()
    }
}

/// A unit under the names of its program.
#[derive(Clone, Debug)]
pub struct LinkedUnit {
    unit: Arc<Unit>,
    renames: Arc<Renames>,
    functions: FxHashMap<Name, Arc<Function>>,
    globals: FxHashMap<Name, Arc<Global>>,
}

/// What two are made from says whether they are the same.
impl PartialEq for LinkedUnit {
    fn eq(&self, other: &LinkedUnit) -> bool {
        self.unit == other.unit && self.renames == other.renames
    }
}

impl Eq for LinkedUnit {}

impl LinkedUnit {
    /// A unit with its new names.
    pub fn new(unit: Arc<Unit>, renames: Arc<Renames>) -> LinkedUnit {
        let applied = Applied::new(&renames);
        let functions = unit.functions.iter().map(|function| applied.function(function));
        let functions = functions.map(|function| (function.name, function)).collect();
        let globals = unit.globals.iter().map(|(_, global)| applied.object(global));
        let globals = globals.map(|global| (global.name, global)).collect();
        LinkedUnit { functions, globals, unit, renames }
    }

    /// What a flag changes in all of it that is not modelled.
    pub fn unmodelled(&self) -> Option<Name> {
        self.unit.unmodelled
    }

    /// New names of the unit.
    pub fn renames(&self) -> &Renames {
        &self.renames
    }

    /// A function with a body, as the unit has it.
    pub fn function(&self, name: Name) -> Option<&Arc<Function>> {
        self.functions.get(&name)
    }

    /// An object.
    pub(super) fn global(&self, name: Name) -> Option<&Arc<Global>> {
        self.globals.get(&name)
    }

    /// Type of a function that is declared only.
    pub(super) fn declared(&self, name: Name) -> Option<Type> {
        let (ty, _) = self.unit.declared.get(&self.renames.own_name(name))?;
        Some(Applied::new(&self.renames).ty(*ty))
    }
}

/// New names, at work.
pub(super) struct Applied<'r> {
    renames: &'r Renames,
    types: RefCell<FxHashMap<Type, Type>>,
}

impl Renaming for Applied<'_> {
    fn global(&self, name: Name) -> Name {
        self.renames.names.get(&name).copied().unwrap_or(name)
    }

    fn tag(&self, name: Name) -> Name {
        self.renames.tags.get(&name).copied().unwrap_or(name)
    }

    fn ty(&self, ty: Type) -> Type {
        if self.renames.tags.is_empty() {
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

impl<'r> Applied<'r> {
    pub(super) fn new(renames: &'r Renames) -> Applied<'r> {
        Applied { renames, types: RefCell::default() }
    }

    pub(super) fn record(&self, record: &Arc<Record>) -> Arc<Record> {
        if self.renames.tags.is_empty() {
            return record.clone();
        }
        let mut record = Record::clone(record);
        record.tag = self.tag(record.tag);
        for field in &mut record.fields {
            field.ty = self.ty(field.ty);
        }
        Arc::new(record)
    }

    fn object(&self, global: &Arc<Global>) -> Arc<Global> {
        if self.renames.is_empty() {
            return global.clone();
        }
        let mut global = Global::clone(global);
        global.name = self.global(global.name);
        global.ty = self.ty(global.ty);
        for value in &mut global.init {
            match &mut value.value {
                Constant::Address(name, _) | Constant::Function(name) => *name = self.global(*name),
                Constant::Int(_) | Constant::Float(_) | Constant::Unknown => {}
            }
        }
        global.hidden.iter_mut().for_each(|name| *name = self.global(*name));
        Arc::new(global)
    }

    fn function(&self, function: &Arc<Function>) -> Arc<Function> {
        if self.renames.is_empty() {
            return function.clone();
        }
        let mut function = Function::clone(function);
        visit::rename(&mut function, self);
        Arc::new(function)
    }
}
