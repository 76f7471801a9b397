//! Operands whose order matters: C evaluates the operands of most operators, the arguments of a call and the entries of an initialiser in any order, and
//! automata have them from left to right. Another order does something else only where one operand changes an object that another one uses. Over-approximates,
//! apart from what `#` names, but for `errno`: the verifier's own objects. Must not know values.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, Callee, Cause, ERRNO, Edge, EdgeId, Expr, Function, Loc, LocalId, Lvalue, MemoryPredicate, Object,
    Op, Operands, Scalar, Site,
    visit::{self, Mention},
};
use proofline_hir::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Environment, fresh::Fresh, points_to::is_inert};

/// Two operands of one expression that use an object, which at least one of them changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OrderConflict {
    /// The function that the operand on the left calls for that; `None`: it does it itself, or in a call without a name.
    pub left: Option<Name>,
    /// The same of the operand on the right.
    pub right: Option<Name>,
    /// What both use.
    pub object: Object,
    /// Where the first operand begins.
    pub at: Loc,
}

/// What may be used while something runs, apart from objects that it makes itself.
#[derive(Clone, Default, Debug)]
struct Uses {
    reads: BTreeSet<Object>,
    writes: BTreeSet<Object>,
    /// Code outside may run, and use what it knows.
    outside: bool,
}

impl Uses {
    fn add(&mut self, other: &Uses) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
        self.outside |= other.outside;
    }

    /// An object that one of them changes and the other one uses. What code outside does in two calls is anything, in any order.
    fn conflict(&self, other: &Uses, env: &Environment) -> Option<Object> {
        let common = |a: &BTreeSet<Object>, b: &BTreeSet<Object>| a.intersection(b).next().copied();
        // Most functions of the library may change `errno`; that matters where an operand reads it.
        let both = |a: &BTreeSet<Object>, b: &BTreeSet<Object>| {
            a.intersection(b).find(|object| !is_errno(**object)).copied()
        };
        let with_outside =
            |uses: &Uses| both(&uses.writes, env.escaped()).or(both(&uses.reads, env.escaped()));
        both(&self.writes, &other.writes)
            .or_else(|| common(&self.writes, &other.reads))
            .or_else(|| common(&self.reads, &other.writes))
            .or_else(|| self.outside.then(|| with_outside(other)).flatten())
            .or_else(|| other.outside.then(|| with_outside(self)).flatten())
    }
}

/// Of each function with a body what its runs use, with everything that they call.
#[derive(Debug)]
pub(crate) struct FunctionUses {
    of: FxHashMap<Name, Arc<Uses>>,
}

impl FunctionUses {
    pub(crate) fn new(env: &Environment) -> FunctionUses {
        let graph = env.call_graph();
        let fresh = Fresh::of(env, env.program().functions.keys().copied());
        let mut uses = FunctionUses { of: FxHashMap::default() };
        for members in graph.components() {
            let mut all = Uses::default();
            for function in members.iter().filter_map(|name| env.function(*name)) {
                for (id, edge) in function.edge_ids() {
                    let whose = Whose::Callee(&fresh);
                    all.add(&own(env, function, edge, &whose));
                    for (_, of_callee) in uses.called(env, function, id) {
                        all.add(&of_callee);
                    }
                }
            }
            if let [name] = members[..]
                && !graph.is_recursive(name)
            {
                // There is one activation at a time, and its locals are new.
                let is_own = |object: &Object| matches!(object, Object::Local(of, _) if *of == name);
                all.reads.retain(|object| !is_own(object));
                all.writes.retain(|object| !is_own(object));
            }
            let all = Arc::new(all);
            uses.of.extend(members.iter().map(|name| (*name, all.clone())));
        }
        uses
    }

    /// What the functions that an edge calls use. In a circle of functions, what is known so far.
    fn called(&self, env: &Environment, function: &Function, id: EdgeId) -> Vec<(Name, Arc<Uses>)> {
        let Some(callees) = env.call_graph().call(function.name, id) else { return Vec::new() };
        callees.functions.iter().filter_map(|name| Some((*name, self.of.get(name)?.clone()))).collect()
    }
}

/// Whose uses are collected.
enum Whose<'f> {
    /// Of an operand.
    Operand,
    /// Of a function that is called: what it has made itself is nobody else's.
    Callee(&'f Fresh),
}

/// What an edge uses itself, without the functions that it calls.
fn own(env: &Environment, function: &Function, edge: &Edge, whose: &Whose<'_>) -> Uses {
    let mut out = Collector { env, function, whose, uses: Uses::default() };
    // (A model says of `errno` in which range it is.)
    let is_said = |lvalue: &Lvalue| matches!((&edge.op, &lvalue.base), (Op::Assume(_), Base::Global(name)) if is_errno(Object::Global(*name)));
    visit::reads(&edge.op, &mut |lvalue| {
        if !is_said(lvalue) {
            out.place(lvalue, false);
        }
    });
    visit::exprs(&edge.op, &mut |expr| {
        if let Expr::Memory(MemoryPredicate::Terminated | MemoryPredicate::WideTerminated, string, _) = expr {
            out.target(string, false);
        }
    });
    visit::mentions(&edge.op, &mut |mention| {
        if let Mention::Write(lvalue) = mention {
            out.place(lvalue, true);
        }
    });
    match &edge.op {
        Op::Skip
        | Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Allocate(_)
        | Op::Begin(_)
        | Op::End(_) => {}
        Op::Havoc(dst, _) => {
            let results = function.library_results.iter();
            let computed = results.filter(|result| matches!(dst.base, Base::Local(id) if id == result.dst));
            let pointers = computed
                .flat_map(|result| &result.arguments)
                .filter(|value| value.scalar() == Scalar::Pointer);
            pointers.for_each(|pointer| out.target(pointer, false));
        }
        Op::Clobber(..) => out.uses.outside = true,
        Op::Call(call) => {
            let callees = env.callees(function.name, call);
            let inert = matches!(call.callee, Callee::Direct(name) if is_inert(name));
            out.uses.outside |= callees.may_be_external && !inert;
        }
        Op::Free(pointer) => out.target(pointer, true),
        Op::CopyBytes(to, from, _) => {
            out.target(from, false);
            out.target(to, true);
        }
        Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => out.target(to, true),
    }
    out.uses
}

struct Collector<'c> {
    env: &'c Environment,
    function: &'c Function,
    whose: &'c Whose<'c>,
    uses: Uses,
}

impl Collector<'_> {
    fn place(&mut self, lvalue: &Lvalue, write: bool) {
        match &lvalue.base {
            Base::Local(id) => {
                let is_shared =
                    self.function.local(*id).address_taken && matches!(self.whose, Whose::Operand);
                if is_shared {
                    self.object(Object::Local(self.function.name, *id), write);
                }
            }
            Base::Global(name) => self.object(Object::Global(*name), write),
            Base::Deref(pointer, _) => self.target(pointer, write),
        }
    }

    fn target(&mut self, pointer: &Expr, write: bool) {
        if let Whose::Callee(fresh) = self.whose
            && fresh.is_fresh(self.function, pointer)
        {
            return;
        }
        for object in &self.env.targets(self.function.name, pointer).objects {
            self.object(*object, write);
        }
    }

    fn object(&mut self, object: Object, write: bool) {
        if let Object::Global(name) = object {
            let is_constant = self.env.program().globals.get(&name).is_some_and(|global| global.constant);
            if name.starts_with('#') && !is_errno(object) || is_constant {
                return;
            }
        }
        if write { &mut self.uses.writes } else { &mut self.uses.reads }.insert(object);
    }
}

fn is_errno(object: Object) -> bool {
    matches!(object, Object::Global(name) if name.as_str() == ERRNO)
}

/// Of each expression of the function at most one.
pub(crate) fn conflicts(env: &Environment, uses: &FunctionUses, function: &Function) -> Vec<OrderConflict> {
    let successors = function.successors();
    function.operands.iter().filter_map(|of| conflict(env, uses, function, &successors, of)).collect()
}

/// What an operand uses, in one of its calls or by itself.
struct Used {
    /// The function that is called, where it has a name.
    name: Option<Name>,
    /// Whether it happens in a call. Two operands without a call that change an object have no order at all, and C gives that no meaning.
    is_call: bool,
    uses: Arc<Uses>,
}

/// An operand.
#[derive(Default)]
struct Operand {
    used: Vec<Used>,
    /// Locals that it gives a value.
    written: FxHashSet<LocalId>,
}

fn conflict(
    env: &Environment,
    uses: &FunctionUses,
    function: &Function,
    successors: &[Vec<EdgeId>],
    operands: &Operands,
) -> Option<OrderConflict> {
    let (at, behind) = (*operands.bounds.first()?, *operands.bounds.last()?);
    let found = |left: Option<Name>, right, object| OrderConflict { left, right, object, at };
    let mut before: Vec<Operand> = Vec::new();
    for bounds in operands.bounds.windows(2) {
        let operand = between(env, uses, function, successors, bounds[0], bounds[1]);
        for left in before.iter().flat_map(|operand| &operand.used) {
            for right in operand.used.iter().filter(|right| left.is_call || right.is_call) {
                if let Some(object) = left.uses.conflict(&right.uses, env) {
                    return Some(found(left.name, right.name, object));
                }
            }
        }
        before.push(operand);
    }
    // What operands read without edges of their own. An element whose index an operand has computed is read behind it, not beside it.
    before.pop();
    for id in &successors[behind.index()] {
        for operand in &before {
            let mut last = Collector { env, function, whose: &Whose::Operand, uses: Uses::default() };
            visit::reads(&function.edge(*id).op, &mut |lvalue| {
                if !depends(lvalue, &operand.written) {
                    last.place(lvalue, false);
                }
            });
            for left in operand.used.iter().filter(|left| left.is_call) {
                if let Some(object) = left.uses.conflict(&last.uses, env) {
                    return Some(found(left.name, None, object));
                }
            }
        }
    }
    None
}

/// Whether where the place is depends on one of these locals.
fn depends(lvalue: &Lvalue, written: &FxHashSet<LocalId>) -> bool {
    let mut found = false;
    visit::parts_of_place(lvalue, &mut |part| {
        visit::reads_of_expr(part, &mut |read| {
            found |= matches!(read.base, Base::Local(id) if written.contains(&id));
        });
    });
    found
}

/// The operand that begins and ends there.
fn between(
    env: &Environment,
    uses: &FunctionUses,
    function: &Function,
    successors: &[Vec<EdgeId>],
    begin: Loc,
    end: Loc,
) -> Operand {
    let mut operand = Operand::default();
    let mut edges: Vec<EdgeId> = Vec::new();
    let (mut open, mut seen) = (vec![begin], FxHashSet::default());
    while let Some(loc) = open.pop() {
        if loc == end || !seen.insert(loc) {
            continue;
        }
        edges.extend(&successors[loc.index()]);
        open.extend(successors[loc.index()].iter().map(|id| function.edge(*id).to));
    }
    // All that stands where a function was called that has no body here is what its call does.
    let mut elsewhere: FxHashMap<Site, (Option<Name>, Uses)> = FxHashMap::default();
    for id in &edges {
        if let Some(name) = called_elsewhere(function, *id) {
            let known = &mut elsewhere.entry(function.edge(*id).site).or_default().0;
            *known = known.or(name);
        }
    }
    let mut itself = Uses::default();
    for id in edges {
        let edge = function.edge(id);
        let own = own(env, function, edge, &Whose::Operand);
        match elsewhere.get_mut(&edge.site) {
            Some((_, of_call)) => of_call.add(&own),
            None => itself.add(&own),
        }
        let called = uses.called(env, function, id).into_iter();
        operand.used.extend(called.map(|(name, uses)| Used { name: Some(name), is_call: true, uses }));
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Write(Lvalue { base: Base::Local(id), .. }) = mention {
                operand.written.insert(*id);
            }
        });
    }
    let mut calls: Vec<(Site, (Option<Name>, Uses))> = elsewhere.into_iter().collect();
    calls.sort_by_key(|(site, _)| *site);
    let of_call = |(_, (name, uses))| Used { name, is_call: true, uses: Arc::new(uses) };
    operand.used.extend(calls.into_iter().map(of_call));
    operand.used.push(Used { name: None, is_call: false, uses: Arc::new(itself) });
    operand
}

/// Whether the edge does what a function without a body does: the function, if the edge knows its name.
fn called_elsewhere(function: &Function, id: EdgeId) -> Option<Option<Name>> {
    match &function.edge(id).op {
        Op::Clobber(_, cause) | Op::Havoc(_, cause) | Op::HavocBytes(_, _, cause) => match cause {
            Cause::Input(name)
            | Cause::External(name)
            | Cause::Keeping(name)
            | Cause::Within(name)
            | Cause::Text(name) => Some(Some(*name)),
            Cause::Unmodelled(_) => Some(None),
            Cause::Volatile | Cause::Indeterminate => None,
        },
        Op::CopyBytes(..) | Op::FillBytes(..) | Op::Free(_) | Op::Allocate(_) => Some(None),
        // Where no body and no model is known.
        Op::Call(call) => match call.callee {
            Callee::Direct(name) if !is_inert(name) => Some(Some(name)),
            Callee::Direct(_) => None,
            Callee::Indirect(..) => Some(None),
        },
        Op::Skip | Op::Assume(_) | Op::Assign(..) | Op::Copy(..) | Op::Begin(_) | Op::End(_) => None,
    }
}
