//! Stores of pointers that keep structures of callers whole: what is put into a member leads to what the member's type says, so pointers in structures
//! may be others than they were and still lead to structures. Of functions that are called, as far as what they are given lets them.
//!
//! **Law.** If all structures that a function is given are whole, and every store of a run so far was one of these or changed no pointer of theirs, all are
//! whole: by induction over the steps of the run.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use proofline_cfa::{Base, Call, Callee, EdgeId, Expr, Function, Lvalue, Name, Op, Scalar, Type};
use proofline_program_analysis::Environment;

use super::{
    obligations,
    origin::{Given, Origins, Structures},
    record_invariants::Rooms,
    writes::{Memory, changes_pointers, changes_strings},
};

/// What a function is given as a parameter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Passed {
    /// Null, or a whole structure of the type that the parameter's type says.
    Structure,
    /// Null, or a string.
    Text,
    Anything,
}

/// A function, and what it is given.
type Activation = (Name, Vec<Passed>);

/// Of a function and what it calls.
pub(super) struct Wholes<'e> {
    env: &'e Environment,
    memory: &'e Memory<'e>,
    /// Whether a function that is given this keeps structures whole; `None` while it is looked at.
    known: RefCell<BTreeMap<Activation, Option<bool>>>,
    /// What a function that is given this gives, as far as it is that; `None` also while it is looked at.
    found: RefCell<BTreeMap<Activation, Option<Type>>>,
}

impl<'e> Wholes<'e> {
    pub(super) fn of(env: &'e Environment, memory: &'e Memory<'e>) -> Wholes<'e> {
        Wholes { env, memory, known: RefCell::default(), found: RefCell::default() }
    }

    /// Whether an operation may be one that changes pointers in structures and keeps these whole.
    pub(super) fn is_candidate(op: &Op) -> bool {
        stored(op).is_some() || direct(op).is_some()
    }

    /// Whether it is, in a function with these origins.
    pub(super) fn keeps(&self, origins: &Origins<'_>, op: &Op, is_text: &dyn Fn(usize) -> bool) -> bool {
        if let Some((dst, value)) = stored(op) {
            return origins.keeps_whole(dst, value, is_text);
        }
        direct(op).is_some_and(|(name, call)| self.call_keeps(origins, name, call, is_text))
    }

    /// Whether a function that is called keeps structures whole, with what it is given.
    fn call_keeps(
        &self,
        origins: &Origins<'_>,
        name: Name,
        call: &Call,
        is_text: &dyn Fn(usize) -> bool,
    ) -> bool {
        let Some(body) = self.env.function(name) else { return false };
        self.keeps_with(body, (name, passed(origins, body, call, is_text)))
    }

    fn keeps_with(&self, body: &Function, key: Activation) -> bool {
        // Of functions that call each other nothing is known.
        if let Some(known) = self.known.borrow().get(&key) {
            return known.unwrap_or(false);
        }
        self.known.borrow_mut().insert(key.clone(), None);
        let keeps = self.body_keeps(body, &key.1);
        self.known.borrow_mut().insert(key, Some(keeps));
        keeps
    }

    /// What a call gives, in a function with these origins: a function that is given whole structures, and keeps all whole, finds whole ones.
    pub(super) fn results(&self, origins: &Origins<'_>, call: &Call) -> Given {
        let Callee::Direct(name) = call.callee else { return Given::Anything };
        let Some(body) = self.env.function(name) else { return Given::Anything };
        let is_wanted = body.result.is_some_and(|id| body.local(id).ty.pointee().is_some());
        if !is_wanted {
            return Given::Anything;
        }
        if obligations::values(call).into_iter().flatten().any(|value| origins.is_open(value)) {
            return Given::Open;
        }
        let key = (name, passed(origins, body, call, &|_| false));
        if !key.1.contains(&Passed::Structure) {
            return Given::Anything;
        }
        let known = self.found.borrow().get(&key).copied();
        let found = known.unwrap_or_else(|| {
            self.found.borrow_mut().insert(key.clone(), None);
            let found = if self.keeps_with(body, key.clone()) { self.finds(body, &key.1) } else { None };
            self.found.borrow_mut().insert(key, found);
            found
        });
        found.map_or(Given::Anything, Given::Found)
    }

    fn finds(&self, body: &Function, given: &[Passed]) -> Option<Type> {
        let result = body.result.filter(|id| !body.local(*id).address_taken)?;
        let found = self.origins(body, given).found(result)?;
        (body.local(result).ty.pointee().map(Type::unqualified) == Some(found)).then_some(found)
    }

    /// Of a function that is given this, and keeps structures whole.
    fn origins<'f>(&'f self, body: &'f Function, given: &[Passed]) -> Origins<'f> {
        let is_like =
            |at: &usize, like: Passed| given[*at] == like && !body.local(body.parameters[*at]).address_taken;
        let all = 0..given.len();
        let structures: BTreeSet<usize> = all.clone().filter(|at| is_like(at, Passed::Structure)).collect();
        let looked_at: Vec<(usize, bool)> = all
            .filter(|at| structures.contains(at) || is_like(at, Passed::Text))
            .map(|at| (at, true))
            .collect();
        let results = |origins: &Origins<'_>, call: &Call| self.results(origins, call);
        let structures = Structures { parameters: structures, owned: None };
        Origins::of(
            self.env.program(),
            body,
            &looked_at,
            (structures, Rooms::default()),
            &[],
            &|_| true,
            &results,
        )
    }

    fn body_keeps(&self, body: &Function, given: &[Passed]) -> bool {
        let origins = self.origins(body, given);
        let graph = self.env.call_graph();
        // What it does before may end strings elsewhere.
        let is_calm = given.contains(&Passed::Text) && self.all_reached([body.name], changes_no_string);
        let is_text = |at: usize| is_calm && given.get(at) == Some(&Passed::Text);
        body.edge_ids().all(|(id, edge)| {
            let itself = !changes_pointers(self.memory, body, id, &edge.op);
            let stores = || stored(&edge.op).is_some() && self.keeps(&origins, &edge.op, &is_text);
            let is_kept = itself || stores();
            let callees = graph.call(body.name, id).into_iter().flat_map(|to| to.functions.iter().copied());
            is_kept
                && (edge.op.call().is_none()
                    || self.all_reached(callees, changes_no_pointer)
                    || direct(&edge.op).is_some() && self.keeps(&origins, &edge.op, &is_text))
        })
    }

    /// Whether all edges of these functions, and of what they call, are like this.
    fn all_reached(&self, functions: impl IntoIterator<Item = Name>, is_like: Like) -> bool {
        self.env.call_graph().reachable(functions).into_iter().all(|name| {
            let body = self.env.function(name);
            body.is_some_and(|body| {
                body.edge_ids().all(|(id, edge)| is_like(self.memory, body, id, &edge.op))
            })
        })
    }
}

/// What an edge does not do.
type Like = fn(&Memory<'_>, &Function, EdgeId, &Op) -> bool;

fn changes_no_pointer(memory: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> bool {
    !changes_pointers(memory, body, id, op)
}

fn changes_no_string(memory: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> bool {
    !changes_strings(memory, body, id, op)
}

/// What a function is given where it is called.
fn passed(
    origins: &Origins<'_>,
    callee: &Function,
    call: &Call,
    is_text: &dyn Fn(usize) -> bool,
) -> Vec<Passed> {
    let arguments = obligations::values(call);
    let one = |at: usize| {
        let value = arguments.get(at).copied().flatten()?;
        let pointee = callee.local(callee.parameters[at]).ty.pointee()?;
        if !origins.has_trees() && origins.leads_to_whole(value, pointee.unqualified()) {
            Some(Passed::Structure)
        } else {
            origins.leads_to_text(value, is_text).then_some(Passed::Text)
        }
    };
    (0..callee.parameters.len()).map(|at| one(at).unwrap_or(Passed::Anything)).collect()
}

/// A pointer that is put into memory, and where.
fn stored(op: &Op) -> Option<(&Lvalue, &Expr)> {
    let Op::Assign(dst, value) = op else { return None };
    let is_pointer = dst.scalar == Some(Scalar::Pointer) && matches!(dst.base, Base::Deref(..));
    is_pointer.then_some((dst, value))
}

fn direct(op: &Op) -> Option<(Name, &Call)> {
    let call = op.call()?;
    match call.callee {
        Callee::Direct(name) => Some((name, call)),
        Callee::Indirect(..) => None,
    }
}
