//! Slices: the part of a program that executions from one entry can touch, found by what functions mention. A slice is a program of
//! its own, so that whatever is computed from it depends on nothing else. Must not know where pointers point.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::{Linkage, Name, Record, Type, TypeKind};
use proofline_syntax::DataModel;

use crate::{
    constants,
    nonnull::{self, is_understood},
};
use proofline_cfa::{
    Base, Constant, Entry, Expr, Function, Global, Program,
    visit::{self, Symbol},
};
use rustc_hash::FxHashSet;

/// What a part of a program mentions directly.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mentions {
    /// Functions, with or without bodies, and objects with static storage.
    pub names: BTreeSet<Name>,
    /// Records.
    pub tags: BTreeSet<Name>,
}

impl Mentions {
    /// Of an automaton; itself not counted, unless it calls itself.
    pub fn of_function(function: &Function) -> Mentions {
        let mut found = Mentions::default();
        let mut types: FxHashSet<Type> = FxHashSet::default();
        visit::symbols(function, &mut |symbol| match symbol {
            Symbol::Global(name) => {
                found.names.insert(name);
            }
            Symbol::Tag(tag) => {
                found.tags.insert(tag);
            }
            Symbol::Type(ty) => {
                if types.insert(ty) {
                    found.add_type(ty);
                }
            }
        });
        found
    }

    /// Of an object: its type, and the addresses it starts with.
    pub fn of_global(global: &Global) -> Mentions {
        let mut found = Mentions::default();
        found.add_type(global.ty);
        for value in &global.init {
            match &value.value {
                Constant::Address(name, _) | Constant::Function(name) => {
                    found.names.insert(*name);
                }
                Constant::Int(_) | Constant::Float(_) | Constant::Unknown => {}
            }
        }
        found.names.extend(&global.hidden);
        found
    }

    /// Of a record: its members' records.
    pub fn of_record(record: &Record) -> Mentions {
        let mut found = Mentions::default();
        for field in &record.fields {
            found.add_type(field.ty);
        }
        found
    }

    /// Of a type.
    pub fn of_type(ty: Type) -> Mentions {
        let mut found = Mentions::default();
        found.add_type(ty);
        found
    }

    fn add_type(&mut self, ty: Type) {
        match ty.kind() {
            TypeKind::Record(tag) => {
                self.tags.insert(*tag);
            }
            TypeKind::Pointer(inner) | TypeKind::Array(inner, _) | TypeKind::Vector(inner, _) => {
                self.add_type(*inner);
            }
            TypeKind::Function(signature) => {
                self.add_type(signature.result);
                for parameter in &signature.parameters {
                    self.add_type(*parameter);
                }
            }
            TypeKind::Void
            | TypeKind::Bool
            | TypeKind::Int(_)
            | TypeKind::Float(_)
            | TypeKind::Complex(_)
            | TypeKind::Enum(..)
            | TypeKind::VaList
            | TypeKind::Error => {}
        }
    }
}

/// A program, part by part. An implementation sees which parts a slice asks for.
pub trait SliceSource {
    /// Sizes of C's types.
    fn data_model(&self) -> DataModel;
    /// A function with a body, and what it mentions.
    fn function(&self, name: Name) -> Option<(Arc<Function>, Arc<Mentions>)>;
    /// An object with static storage.
    fn global(&self, name: Name) -> Option<Arc<Global>>;
    /// Type of a function without a body.
    fn external(&self, name: Name) -> Option<Type>;
    /// A record's definition.
    fn record(&self, tag: Name) -> Option<Arc<Record>>;
    /// What makes every verdict unknown that rests on this function, or on a program with this object.
    fn unsupported(&self, name: Name) -> Vec<Name>;
    /// Functions that run before or after `main`.
    fn outside_main(&self) -> Vec<Name>;
    /// Functions with bodies and objects that have external linkage.
    fn exported(&self) -> Vec<Name>;
    /// Functions and objects that mention this one.
    fn users(&self, name: Name) -> Arc<BTreeSet<Name>>;
}

/// The slice of a program that executions from `entry` can touch. As a library (anything but `main`) the entry may be called after other
/// functions have run: what these can name, code outside the slice can name. Of a program that starts at `main`, code outside can name what
/// has external linkage: `is_open` says that such code has to do with the program, and then all of that is in the slice.
pub fn slice(source: &dyn SliceSource, entry: Name, is_open: bool) -> Program {
    let is_library = Entry::new(entry).is_library();
    let mut open = vec![entry];
    if !is_library {
        open.extend(source.outside_main());
        if is_open {
            open.extend(source.exported());
        }
    }
    let mut program = gather(source, open, &|_| true);
    if is_library {
        constants::mark(&mut program, source);
        nonnull::assume(&mut program, source);
        expose(&mut program, source);
    } else {
        nonnull::assume_streams(&mut program, source);
    }
    program
}

/// A function of a library apart from what it calls: functions that it mentions are code that is not here, which may do anything with what functions elsewhere
/// can name. What is proved of this program without a word about the lives and sizes of objects is true in every slice: code that is not here is taken to
/// keep the objects that it is given.
pub fn apart(source: &dyn SliceSource, function: Name) -> Program {
    let mut program = gather(source, vec![function], &|name| name == function);
    constants::mark(&mut program, source);
    nonnull::assume(&mut program, source);
    expose(&mut program, source);
    if let Some(function) = program.functions.get_mut(&function) {
        Arc::make_mut(function).linkage = Linkage::External;
    }
    program
}

/// What these mention, and what that mentions. `has_body`: functions whose bodies are looked at.
fn gather(source: &dyn SliceSource, mut open: Vec<Name>, has_body: &dyn Fn(Name) -> bool) -> Program {
    let mut program = Program::empty(source.data_model());
    let mut seen = BTreeSet::new();
    let mut tags = BTreeSet::new();
    while let Some(name) = open.pop() {
        proofline_syntax::interrupt::poll();
        if !seen.insert(name) {
            continue;
        }
        if let Some((function, mentions)) = has_body(name).then(|| source.function(name)).flatten() {
            open.extend(&mentions.names);
            tags.extend(&mentions.tags);
            program.unsupported.extend(source.unsupported(name).into_iter().map(|what| (name, what)));
            program.functions.insert(name, function);
        } else if let Some(global) = source.global(name) {
            let mentions = Mentions::of_global(&global);
            open.extend(&mentions.names);
            tags.extend(&mentions.tags);
            program.unsupported.extend(source.unsupported(name).into_iter().map(|what| (name, what)));
            program.globals.insert(name, global);
        } else if let Some(ty) = source.external(name) {
            tags.extend(&Mentions::of_type(ty).tags);
            program.externals.insert(name, ty);
        }
    }
    let mut open: Vec<Name> = tags.into_iter().collect();
    while let Some(tag) = open.pop() {
        if program.records.contains_key(&tag) {
            continue;
        }
        if let Some(record) = source.record(tag) {
            open.extend(&Mentions::of_record(&record).tags);
            program.records.insert(tag, record);
        }
    }
    program.unsupported.sort_unstable();
    program.unsupported.dedup();
    program
}

/// Internal things that something outside the slice mentions become visible to code outside; constants too, for their addresses. Objects that
/// functions outside only read and write are shared with them, but no pointer from outside leads there.
fn expose(program: &mut Program, source: &dyn SliceSource) {
    let is_inside = |user: &Name| program.functions.contains_key(user) || program.globals.contains_key(user);
    let is_shared = |name: &Name| !source.users(*name).iter().all(is_inside);
    let keeps_its_address = |user: &Name, name: Name| {
        source
            .function(*user)
            .is_some_and(|(function, _)| is_understood(source, &function) && !takes_address(&function, name))
    };
    let globals: Vec<Name> = program
        .globals
        .iter()
        .filter(|(name, global)| global.linkage == Linkage::Internal && is_shared(name))
        .map(|(name, _)| *name)
        .collect();
    let functions: Vec<Name> = program
        .functions
        .iter()
        .filter(|(name, function)| function.linkage == Linkage::Internal && is_shared(name))
        .map(|(name, _)| *name)
        .collect();
    let is_known_by_name = |name: &Name| {
        source.users(*name).iter().all(|user| is_inside(user) || keeps_its_address(user, *name))
    };
    let (shared, globals): (Vec<Name>, Vec<Name>) = globals.into_iter().partition(is_known_by_name);
    program.shared.extend(shared);
    for name in globals {
        if let Some(global) = program.globals.get_mut(&name) {
            Arc::make_mut(global).linkage = Linkage::External;
        }
    }
    for name in functions {
        if let Some(function) = program.functions.get_mut(&name) {
            Arc::make_mut(function).linkage = Linkage::External;
        }
    }
}

/// Whether the function makes a pointer that leads into the object.
fn takes_address(function: &Function, name: Name) -> bool {
    let mut found = false;
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |expr| {
            found |= matches!(expr, Expr::Address(place) if place.base == Base::Global(name));
        });
    }
    found
}
