//! The module's objects, functions and strings while they are collected: each name once, declarations merged.
//! Must not know trees.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_syntax::Span;

use super::{
    BodyBuilder, HirError, Lowerer, attributes::merge_function, dependence::FileScope, scope::Entity,
};
use crate::{
    Dialect, Function, FunctionAttributes, Global, Linkage, Module, ModuleMap, Name, StringLiteral,
    body::{Body, ExprId, ExprKind, Initializer},
    layout::Layout,
    types::{ArrayLength, Signature, Type, TypeKind},
};

/// Objects, functions and strings so far.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) globals: Vec<GlobalEntry>,
    global_index: BTreeMap<Name, usize>,
    pub(crate) functions: Vec<FunctionEntry>,
    function_index: BTreeMap<Name, usize>,
    pub(crate) strings: BTreeMap<Name, StringLiteral>,
    /// What the linker calls what is not defined here, where the text says so.
    linker_names: BTreeMap<Name, Name>,
    /// See [`Module::absent`].
    absent: BTreeSet<Name>,
    /// See [`Module::has_assembly`].
    pub(crate) has_assembly: bool,
}

/// A global and its positions.
pub(crate) struct GlobalEntry {
    pub(crate) global: Global,
    span: Span,
    map: Option<Arc<crate::body::BodyMap>>,
}

/// A function and its positions.
pub(crate) struct FunctionEntry {
    pub(crate) function: Function,
    span: Span,
    definition: Option<Span>,
    map: Option<Arc<crate::body::BodyMap>>,
}

impl Objects {
    pub(crate) fn global(&self, name: Name) -> Option<&Global> {
        self.global_index.get(&name).map(|&i| &self.globals[i].global)
    }

    pub(crate) fn function(&self, name: Name) -> Option<&Function> {
        self.function_index.get(&name).map(|&i| &self.functions[i].function)
    }

    /// Declares an object, again perhaps: the types are merged, a definition stays one.
    pub(crate) fn declare_global(&mut self, new: Global, span: Span) {
        match self.global_index.get(&new.name) {
            Some(&index) => {
                let entry = &mut self.globals[index];
                let old = &mut entry.global;
                old.ty = composite(old.ty, new.ty);
                if new.defined && !old.defined {
                    entry.span = span;
                }
                old.defined |= new.defined;
                old.thread_local |= new.thread_local;
            }
            None => {
                self.global_index.insert(new.name, self.globals.len());
                self.globals.push(GlobalEntry { global: new, span, map: None });
            }
        }
    }

    /// Gives an object its initialiser and the type that it completes; `false` if it had one already.
    pub(crate) fn initialize(
        &mut self,
        name: Name,
        ty: Type,
        init: Initializer,
        body: BodyBuilder,
        span: Span,
    ) -> bool {
        let Some(&index) = self.global_index.get(&name) else { return false };
        let entry = &mut self.globals[index];
        let is_first = entry.global.init.is_none();
        entry.global.ty = composite(ty, entry.global.ty);
        entry.global.init = Some(init);
        entry.global.init_body = Some(Arc::new(body.body));
        entry.global.defined = true;
        entry.map = Some(Arc::new(body.map));
        entry.span = span;
        is_first
    }

    /// Gives a function another type than was declared before: the definition's or else the last word counts.
    pub(crate) fn retype_function(&mut self, name: Name, ty: Type) {
        if let Some(&index) = self.function_index.get(&name)
            && self.functions[index].function.body.is_none()
        {
            self.functions[index].function.ty = ty;
        }
    }

    /// Declares a function, again perhaps.
    pub(crate) fn declare_function(
        &mut self,
        name: Name,
        ty: Type,
        linkage: Linkage,
        attributes: FunctionAttributes,
        span: Span,
    ) {
        match self.function_index.get(&name) {
            Some(&index) => {
                let old = &mut self.functions[index].function;
                let both = composite(old.ty, ty);
                // What contradicts a definition above adds nothing to it.
                if old.body.is_none() || fits_definition(both, old.ty, old.parameters.len()) {
                    old.ty = both;
                }
                merge_function(&mut old.attributes, &attributes);
            }
            None => {
                self.function_index.insert(name, self.functions.len());
                let function = Function { name, ty, linkage, attributes, parameters: Vec::new(), body: None };
                self.functions.push(FunctionEntry { function, span, definition: None, map: None });
            }
        }
    }

    /// Gives a declared function its body, whose own type is `ty`; `false` if it had one already.
    pub(crate) fn define(
        &mut self,
        name: Name,
        ty: Type,
        parameters: Vec<crate::body::LocalId>,
        body: BodyBuilder,
        span: Span,
        whole: Span,
    ) -> bool {
        let Some(&index) = self.function_index.get(&name) else { return false };
        let entry = &mut self.functions[index];
        let is_first = entry.function.body.is_none();
        if !fits_definition(entry.function.ty, ty, parameters.len()) {
            // A declaration that contradicts; an error was reported.
            entry.function.ty = ty;
        }
        entry.function.parameters = parameters;
        entry.function.body = Some(Arc::new(body.body));
        entry.map = Some(Arc::new(body.map));
        entry.span = span;
        entry.definition = Some(whole);
        is_first
    }

    /// The body of a function with its positions, and the place of its name.
    pub(crate) fn body_mut(
        &mut self,
        name: Name,
    ) -> Option<(&mut Arc<Body>, &mut Arc<crate::body::BodyMap>, Span)> {
        let entry = &mut self.functions[*self.function_index.get(&name)?];
        Some((entry.function.body.as_mut()?, entry.map.as_mut()?, entry.span))
    }

    /// Makes the body of one function that of another too; `false` if there is none.
    fn copy_body(&mut self, from: Name, to: Name) -> bool {
        let (Some(&from), Some(&to)) = (self.function_index.get(&from), self.function_index.get(&to)) else {
            return false;
        };
        let source = &self.functions[from];
        let (parameters, body) = (source.function.parameters.clone(), source.function.body.clone());
        let (map, definition) = (source.map.clone(), source.definition);
        let ty = source.function.ty;
        let target = &mut self.functions[to];
        if !fits_definition(target.function.ty, ty, parameters.len()) {
            // gcc has a warning for that.
            target.function.ty = ty;
        }
        target.function.parameters = parameters;
        target.function.body = body;
        target.map = map;
        target.definition = definition;
        target.function.body.is_some()
    }

    /// Finds what is weak and not defined here. In constant initialisers its address becomes any value, null included; and so does that of what has
    /// another name for the linker, wherever it is more than called.
    pub(crate) fn forget_addresses(&mut self, weak: &BTreeSet<Name>) {
        let absent: BTreeSet<Name> = weak
            .iter()
            .copied()
            .filter(|&name| {
                let is_defined = self.function(name).is_some_and(|f| f.body.is_some());
                !is_defined && !self.global(name).is_some_and(|g| g.defined)
            })
            .collect();
        if absent.is_empty() {
            return;
        }
        for body in self.globals.iter_mut().filter_map(|g| g.global.init_body.as_mut()) {
            forget_addresses_in(body, &absent);
        }
        let (renamed, absent) = absent.into_iter().partition(|name| self.linker_names.contains_key(name));
        for body in self.functions.iter_mut().filter_map(|f| f.function.body.as_mut()) {
            forget_addresses_in(body, &renamed);
        }
        self.absent = absent;
    }

    /// The finished module.
    pub(crate) fn finish(self, lowerer: Lowerer<'_>) -> (Module, ModuleMap) {
        let mut map = ModuleMap { enumerations: Arc::new(lowerer.enumerations), ..ModuleMap::default() };
        let mut globals = Vec::new();
        for mut entry in self.globals {
            // A tentative definition of an array of unknown length has one element.
            if let (true, TypeKind::Array(element, ArrayLength::Unknown)) =
                (entry.global.defined, entry.global.ty.kind())
            {
                let one = Type::new(TypeKind::Array(*element, ArrayLength::Fixed(1)));
                entry.global.ty = one.qualified(entry.global.ty.qualifiers());
            }
            globals.push(entry.global);
            map.globals.push(entry.span);
            map.global_bodies.push(entry.map);
        }
        let mut functions = Vec::new();
        for entry in self.functions {
            functions.push(Arc::new(entry.function));
            map.functions.push(entry.span);
            map.definitions.push(entry.definition);
            map.bodies.push(entry.map);
        }
        let strings = self.strings.into_values().collect();
        let module = Module {
            data_model: lowerer.model,
            records: lowerer.records,
            globals,
            functions,
            strings,
            linker_names: self.linker_names,
            absent: self.absent,
            has_assembly: self.has_assembly,
            dialect: Dialect::default(),
        };
        (module, map)
    }
}

fn forget_addresses_in(body: &mut Arc<Body>, absent: &BTreeSet<Name>) {
    let is_absent = |id: ExprId| match &body.expr(id).kind {
        ExprKind::Function(name) | ExprKind::Global(name) => absent.contains(name),
        _ => false,
    };
    let callees: BTreeSet<ExprId> = body
        .exprs
        .iter()
        .filter_map(|e| if let ExprKind::Call { callee, .. } = e.kind { Some(callee) } else { None })
        .collect();
    let addresses: Vec<usize> = body
        .exprs
        .iter()
        .enumerate()
        .filter(|(index, e)| match e.kind {
            ExprKind::Decay(inner) | ExprKind::AddressOf(inner) => {
                is_absent(inner) && !callees.contains(&ExprId(*index as u32))
            }
            _ => false,
        })
        .map(|(index, _)| index)
        .collect();
    if addresses.is_empty() {
        return;
    }
    let body = Arc::make_mut(body);
    for index in addresses {
        let reason = Name::new("address of a weak name that may be absent");
        body.exprs[index].kind = ExprKind::Unmodelled(reason, Vec::new());
    }
}

/// The name of an unnamed parameter.
pub(crate) fn parameter_name(index: usize) -> Name {
    Name::new(&format!("#{index}"))
}

/// Whether a declared type says the same as that of the definition with so many parameters.
pub(super) fn fits_definition(declared: Type, defined: Type, parameters: usize) -> bool {
    let same_count = match declared.kind() {
        TypeKind::Function(signature) => signature.unprototyped || signature.parameters.len() == parameters,
        _ => false,
    };
    // Results were converted to what the definition says, even if that is nothing that can be said.
    let is_typed = |ty: Type| match ty.kind() {
        TypeKind::Function(signature) => *signature.result.kind() != TypeKind::Error,
        _ => false,
    };
    same_count
        && is_typed(declared) == is_typed(defined)
        && super::convert::compatible(declared.unqualified(), defined.unqualified())
}

/// The composite of two compatible types: `first` with what `second` adds (array lengths, prototypes).
pub(crate) fn composite(first: Type, second: Type) -> Type {
    if first == second {
        return first;
    }
    let kind = match (first.kind(), second.kind()) {
        (TypeKind::Array(a, la), TypeKind::Array(b, lb)) => {
            let length = if *la == ArrayLength::Unknown { *lb } else { *la };
            TypeKind::Array(composite(*a, *b), length)
        }
        (TypeKind::Pointer(a), TypeKind::Pointer(b)) => TypeKind::Pointer(composite(*a, *b)),
        (TypeKind::Function(a), TypeKind::Function(b)) => {
            TypeKind::Function(Arc::new(composite_signature(a, b)))
        }
        (kind, _) => kind.clone(),
    };
    Type::new(kind).qualified(first.qualifiers())
}

fn composite_signature(a: &Signature, b: &Signature) -> Signature {
    let result = composite(a.result, b.result);
    if a.unprototyped && (!b.unprototyped || a.parameters.is_empty()) {
        return Signature { result, ..b.clone() };
    }
    if b.unprototyped || a.parameters.len() != b.parameters.len() {
        return Signature { result, ..a.clone() };
    }
    let parameters = a.parameters.iter().zip(&b.parameters).map(|(&a, &b)| composite(a, b)).collect();
    Signature { result, parameters, ..a.clone() }
}

impl<'u> Lowerer<'u> {
    /// Gives every alias the body of the function it stands for (that their addresses are equal is not modelled), and
    /// weak names that are not defined here any address.
    pub(crate) fn resolve_aliases(&mut self) {
        for (name, target, span) in std::mem::take(&mut self.aliases) {
            self.dependences.copies(target, name);
            if !self.objects.copy_body(target, name) {
                let message = format!("`{name}` is another name of `{target}`, which is not defined here");
                self.dependences.spoils(name, &message);
                self.errors.push(HirError { message, span, help: None, function: None });
            }
        }
        self.resolve_asm_labels();
        self.objects.forget_addresses(&std::mem::take(&mut self.weak));
    }

    /// A function without a body whose label names a function with one is that function. Where two names of a unit meet in any other
    /// way, or something is defined under a label, linking by names would tell them apart: that is an error. Labels of what is not defined
    /// here are for linking.
    fn resolve_asm_labels(&mut self) {
        for (name, label, span) in std::mem::take(&mut self.asm_labels) {
            let has_body = |name| self.objects.function(name).is_some_and(|function| function.body.is_some());
            let (is_function, is_defined) = match self.objects.global(name) {
                Some(global) => (false, global.defined),
                None => (true, has_body(name)),
            };
            let meets = self.objects.global(label).is_some() || has_body(label);
            if is_function && !is_defined && has_body(label) && self.objects.copy_body(label, name) {
                self.dependences.copies(label, name);
                continue;
            }
            if is_defined || meets {
                let message = format!("`{name}` is `{label}` to the linker, which is not modelled");
                self.dependences.spoils(name, &message);
                self.dependences.spoils(label, &message);
                self.errors.push(HirError { message, span, help: None, function: None });
            } else {
                self.objects.linker_names.insert(name, label);
            }
        }
    }

    /// Sizes and alignments with the records known so far.
    pub(crate) fn layout(&self) -> Layout<'_> {
        Layout::new(self.model, &self.records)
    }

    /// Type of an object with static storage.
    pub(crate) fn global_type(&self, name: Name) -> Option<Type> {
        self.objects.global(name).map(|g| g.ty)
    }

    /// Type of a function.
    pub(crate) fn function_type(&self, name: Name) -> Option<Type> {
        self.objects.function(name).map(|f| f.ty)
    }

    /// Type of what an ordinary name means, `None` for a typedef.
    pub(crate) fn entity_type(&self, entity: Entity) -> Option<Type> {
        match entity {
            Entity::Typedef(_) => None,
            Entity::Local(id) => self.body.body.locals.get(id.index()).map(|l| l.ty),
            Entity::Captured(_, ty) | Entity::EnumConstant(_, ty) => Some(ty),
            Entity::Global(name) => self.global_type(name),
            Entity::Function(name) => self.function_type(name),
        }
    }

    /// Registers a string literal's object.
    pub(crate) fn string_object(&mut self, name: Name, ty: Type, elements: Vec<u32>) {
        self.objects.strings.entry(name).or_insert(StringLiteral { name, ty, elements });
    }

    /// A function that the unit uses without declaring it: `int f()`, or a builtin with its type. Bound at file scope.
    pub(crate) fn declare_implicitly(&mut self, name: Name, ty: Type, span: Span) {
        self.objects.declare_function(name, ty, Linkage::External, FunctionAttributes::default(), span);
        self.dependences.uses(FileScope::Ordinary(name));
        if let Some(scope) = self.scopes.first_mut() {
            scope.names.entry(name).or_insert(Entity::Function(name));
        }
    }
}
