//! Which objects a function may read and write, with everything it calls. Knows where pointers point; must not know what
//! values are written. A local whose address is not taken belongs to its frame and is not counted.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::Name;
use rustc_hash::FxHashMap;

use crate::{
    call_graph::{CallGraph, components},
    points_to::{EXTERNAL, ObjectId, PointsTo, Set, Thing, is_inert},
};
use proofline_cfa::{
    Base, Callee, Expr, Function, Lvalue, MemoryPredicate, Object, Op, Program, Scalar,
    visit::{self, Mention},
};

/// What a component of the call graph does.
#[derive(Clone, Default, Debug)]
pub(crate) struct Effects {
    pub(crate) reads: Set,
    pub(crate) writes: Set,
}

/// Effects per function, calls and calls back from outside included.
#[derive(Debug)]
pub(crate) struct ModRef {
    component_of: FxHashMap<Name, usize>,
    components: Vec<Effects>,
    /// Whether the function may be called while it is open, calls back from outside included.
    reentered: BTreeSet<Name>,
    /// What code outside may do, the functions that it calls back included.
    pub(crate) outside: Effects,
}

/// Code outside, as a node of the call graph. No function has this name.
fn outside() -> Name {
    Name::new("")
}

impl ModRef {
    pub(crate) fn new(program: &Program, points_to: &PointsTo, calls: &CallGraph) -> ModRef {
        let mut direct: BTreeMap<Name, Effects> = BTreeMap::new();
        let mut edges: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        for (name, function) in &program.functions {
            let mut found =
                Direct { function, points_to, effects: Effects::default(), known: FxHashMap::default() };
            let calls_outside = found.collect(calls);
            let mut callees = calls.callees(*name).clone();
            if calls_outside {
                callees.insert(outside());
            }
            direct.insert(*name, found.effects);
            edges.insert(*name, callees);
        }
        let mut of_outside = Effects::default();
        for id in points_to.reached_by_outside() {
            of_outside.reads.insert(id);
            if !points_to.is_constant(ObjectId(id)) {
                of_outside.writes.insert(id);
            }
        }
        direct.insert(outside(), of_outside);
        edges.insert(outside(), points_to.escaped_functions.clone());
        let mut mod_ref = ModRef {
            component_of: FxHashMap::default(),
            components: Vec::new(),
            reentered: BTreeSet::new(),
            outside: Effects::default(),
        };
        for members in components(&edges) {
            mod_ref.add(&members, &direct, &edges);
        }
        mod_ref.outside = mod_ref.effects(outside()).cloned().unwrap_or_default();
        mod_ref
    }

    fn add(
        &mut self,
        members: &[Name],
        direct: &BTreeMap<Name, Effects>,
        edges: &BTreeMap<Name, BTreeSet<Name>>,
    ) {
        let mut effects = Effects::default();
        for member in members {
            effects.reads.extend(&direct[member].reads);
            effects.writes.extend(&direct[member].writes);
            for callee in &edges[member] {
                if let Some(of_callee) = self.effects(*callee) {
                    effects.reads.extend(&of_callee.reads);
                    effects.writes.extend(&of_callee.writes);
                }
            }
            if members.len() > 1 || edges[member].contains(member) {
                self.reentered.insert(*member);
            }
        }
        for member in members {
            self.component_of.insert(*member, self.components.len());
        }
        self.components.push(effects);
    }

    /// Of a function with a body.
    pub(crate) fn effects(&self, function: Name) -> Option<&Effects> {
        self.component_of.get(&function).map(|component| &self.components[*component])
    }

    /// The component a function's effects belong to.
    pub(crate) fn component_of(&self, function: Name) -> Option<usize> {
        self.component_of.get(&function).copied()
    }

    /// Number of components.
    pub(crate) fn components(&self) -> usize {
        self.components.len()
    }

    /// Whether two activations of the function may exist at one time.
    pub(crate) fn is_reentered(&self, function: Name) -> bool {
        self.reentered.contains(&function)
    }
}

/// Collects what a function does itself.
struct Direct<'p> {
    function: &'p Function,
    points_to: &'p PointsTo,
    effects: Effects,
    /// Pointers that were looked up.
    known: FxHashMap<&'p Expr, Set>,
}

impl<'p> Direct<'p> {
    /// Whether code outside may be called.
    fn collect(&mut self, calls: &CallGraph) -> bool {
        let mut calls_outside = false;
        for id in &self.function.parameters {
            if let Some(object) = self.local(*id) {
                self.effects.writes.insert(object.0);
            }
        }
        for (id, edge) in self.function.edge_ids() {
            visit::reads(&edge.op, &mut |lvalue| self.add(lvalue, false));
            // Whether a string ends its bytes say.
            visit::exprs(&edge.op, &mut |expr| {
                if let Expr::Memory(
                    MemoryPredicate::Terminated | MemoryPredicate::WideTerminated,
                    string,
                    _,
                ) = expr
                {
                    self.add_targets(string, false);
                }
            });
            visit::mentions(&edge.op, &mut |mention| {
                if let Mention::Write(lvalue) = mention {
                    self.add(lvalue, true);
                }
            });
            match &edge.op {
                Op::Skip | Op::Assume(_) | Op::Assign(..) | Op::Copy(..) | Op::Havoc(..) | Op::End(_) => {}
                Op::Clobber(..) => calls_outside = true,
                Op::Call(call) => {
                    let inert = matches!(call.callee, Callee::Direct(name) if is_inert(name));
                    let external = calls.call(self.function.name, id).is_some_and(|c| c.may_be_external);
                    calls_outside |= external && !inert;
                }
                Op::Allocate(allocation) => {
                    let object = Object::Heap(self.function.name, allocation.site);
                    if let Some(object) = self.points_to.object(object) {
                        self.effects.writes.insert(object.0);
                    }
                }
                Op::Free(pointer) => self.add_targets(pointer, true),
                Op::CopyBytes(to, from, _) => {
                    self.add_targets(from, false);
                    self.add_targets(to, true);
                }
                Op::FillBytes(to, _, _) | Op::HavocBytes(to, _, _) => self.add_targets(to, true),
                // One object stands for all activations.
                Op::Begin(id) => {
                    if let Some(object) = self.local(*id) {
                        self.effects.writes.insert(object.0);
                    }
                }
            }
        }
        for argument in self.function.library_results.iter().flat_map(|result| &result.arguments) {
            if argument.scalar() == Scalar::Pointer {
                self.add_targets(argument, false);
            }
        }
        calls_outside
    }

    fn local(&self, id: proofline_cfa::LocalId) -> Option<ObjectId> {
        if !self.function.local(id).address_taken {
            return None;
        }
        self.points_to.object(Object::Local(self.function.name, id))
    }

    fn add(&mut self, lvalue: &'p Lvalue, write: bool) {
        let object = match &lvalue.base {
            Base::Local(id) => self.local(*id),
            Base::Global(name) => Some(self.points_to.object(Object::Global(*name)).unwrap_or(EXTERNAL)),
            Base::Deref(pointer, _) => return self.add_targets(pointer, write),
        };
        if let Some(object) = object {
            if write { &mut self.effects.writes } else { &mut self.effects.reads }.insert(object.0);
        }
    }

    fn add_targets(&mut self, pointer: &'p Expr, write: bool) {
        let (function, points_to) = (self.function, self.points_to);
        let set = self.known.entry(pointer).or_insert_with(|| {
            let mut found = Set::default();
            let mut all = points_to.objects(function, pointer);
            points_to.expand(&mut all);
            for id in all.iter() {
                if matches!(points_to.thing(ObjectId(id)), Thing::Memory(_)) {
                    found.insert(id);
                }
            }
            found
        });
        if write {
            for id in set.iter().filter(|id| !points_to.is_constant(ObjectId(*id))) {
                self.effects.writes.insert(id);
            }
        } else {
            self.effects.reads.extend(set);
        }
    }
}
