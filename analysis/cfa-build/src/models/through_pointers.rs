//! Library functions that are called through pointers: `hooks.allocate = malloc`, `parse(fgets, file)`. Where a pointer is called, the program asks first whether
//! it leads to one of them, and if so, calls that by its name: its model stands there then, with obligations of this call. Of models
//! it asks only whether there is one, and whether its call ends as other calls do. Must not know what they say.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Name, Type, TypeKind};

use super::{Library, Model};
use proofline_cfa::{
    Argument, Call, Callee, CompareOp, Constant, Edge, Expr, Function, Global, Loc, Op, Program, Site,
    scalar_of, visit,
};

/// More of them are not asked about at one call, in the order of their names: the pointer leads to unknown code then, as without them.
const MOST: usize = 4;

/// Puts these questions in front of calls through pointers. Of a program as a whole: what a library's pointers lead to, its users say, and contracts
/// (`behaves as malloc`).
pub fn name_targets(program: &mut Program, library: &Library) {
    let library = &*library.for_program(program);
    let taken = taken(program, library);
    if taken.is_empty() {
        return;
    }
    let model = program.data_model;
    let fits = |call: &Call, ty: Type| {
        let TypeKind::Function(signature) = ty.kind() else { return false };
        let is_passed = |(argument, ty): (&Argument, &Type)| match argument {
            Argument::Value(value) => scalar_of(*ty, model) == Some(value.scalar()),
            Argument::Aggregate(_) => false,
        };
        let is_result = call.dst.as_ref().is_none_or(|dst| {
            dst.bits.is_none() && dst.scalar.is_some() && dst.scalar == scalar_of(signature.result, model)
        });
        !signature.variadic
            && !signature.unprototyped
            && signature.parameters.len() == call.arguments.len()
            && call.arguments.iter().zip(&signature.parameters).all(is_passed)
            && is_result
    };
    for function in program.functions.values_mut() {
        let targets = |edge: &Edge| -> Vec<Name> {
            let Op::Call(call) = &edge.op else { return Vec::new() };
            if !matches!(call.callee, Callee::Indirect(..)) {
                return Vec::new();
            }
            taken.iter().filter(|(_, ty)| fits(call, **ty)).map(|(name, _)| *name).take(MOST).collect()
        };
        let found: Vec<Vec<Name>> = function.edges.iter().map(targets).collect();
        if found.iter().any(|targets| !targets.is_empty()) {
            let function = Arc::make_mut(function);
            for (at, targets) in found.into_iter().enumerate() {
                targets.into_iter().for_each(|name| ask(function, at, name));
            }
        }
    }
}

/// Asks at a call through a pointer whether the pointer leads to a function of this name.
fn ask(function: &mut Function, at: usize, name: Name) {
    let Op::Call(call) = &function.edges[at].op else { return };
    let Callee::Indirect(pointer, _) = &call.callee else { return };
    let is_it = Expr::Compare(CompareOp::Eq, Arc::new(pointer.clone()), Arc::new(Expr::Function(name)));
    let direct = Op::Call(Call { callee: Callee::Direct(name), ..call.clone() });
    let Edge { from, to, site, .. } = function.edges[at];
    let [named, other] = [0, 1].map(|more| Loc(function.locations + more));
    function.locations += 2;
    function.edges[at].from = other;
    // What people read says nothing of this question.
    let nowhere = Site::NOWHERE;
    function.edges.push(Edge { from, to: named, op: Op::Assume(is_it.clone()), site: nowhere });
    function.edges.push(Edge { from, to: other, op: Op::Assume(is_it.negated()), site: nowhere });
    function.edges.push(Edge { from: named, to, op: direct, site });
}

/// Functions with a model and no body whose addresses the program takes, with their types.
fn taken(program: &Program, library: &Library) -> BTreeMap<Name, Type> {
    let mut names = BTreeSet::new();
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Function(name) = part {
                names.insert(*name);
            }
        });
    }
    let values = |global: &Global| -> Vec<Name> {
        let named = global.init.iter().filter_map(|initial| match initial.value {
            Constant::Function(name) => Some(name),
            Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
        });
        named.collect()
    };
    names.extend(program.globals.values().flat_map(|global| values(global)));
    let is_plain = |model: &Model| !model.keep && !model.noreturn && model.unsupported.is_none();
    let typed = names.into_iter().filter_map(|name| {
        let is_modelled = !program.functions.contains_key(&name)
            && library.model(&name).is_some_and(|model| is_plain(model));
        Some((name, *program.externals.get(&name).filter(|_| is_modelled)?))
    });
    typed.collect()
}
