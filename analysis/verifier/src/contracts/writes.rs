//! What a function, with everything that it calls, may write into memory of its callers: whether strings that were there still end where they did, and
//! whether pointers that were there still point where they did.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Callee, Cause, EdgeId, Expr, Function, Loc, Lvalue, Name, Object, Op, Scalar, Step,
};
use proofline_program_analysis::Environment;

use super::fresh::Fresh;

/// What stays of callers' memory while a function runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stays {
    /// Places that are reached after a write behind which strings may end later than they did.
    written: BTreeSet<Loc>,
    /// Places that are reached after a write behind which pointers in structures, and strings, may be others than they were.
    changed: BTreeSet<Loc>,
    /// Memory of callers that has values keeps having them: nothing is copied there that may have none.
    pub(super) values: bool,
}

impl Stays {
    /// Whether strings of callers end where they ended when the function was called, or before, when it gets there.
    pub(super) fn strings(&self, at: Loc) -> bool {
        !self.written.contains(&at)
    }

    /// Whether pointers in structures, and strings that these lead to, are what they were when it gets there.
    pub(super) fn structures(&self, at: Loc) -> bool {
        !self.changed.contains(&at)
    }
}

/// Of a run of the function.
pub(super) fn stays(env: &Environment, function: Name) -> Stays {
    let graph = env.call_graph();
    let fresh = Fresh::of(env, function);
    let env = &Memory { env, fresh: &fresh };
    let reached: BTreeMap<Name, Vec<Effect>> = graph
        .reachable([function])
        .into_iter()
        .filter_map(|name| Some((name, env.env.function(name)?)))
        .map(|(name, body)| {
            (name, body.edge_ids().map(|(id, edge)| of_edge(env, body, id, &edge.op)).collect())
        })
        .collect();
    let copies = |name: &Name| {
        let body = env.env.function(*name);
        body.is_some_and(|body| body.edges.iter().any(|edge| is_copy(env, body, &edge.op)))
    };
    let values = !reached.keys().any(copies);
    let behind = |breaks: &dyn Fn(&Effect) -> bool| {
        let may_break: BTreeSet<Name> =
            reached.iter().filter(|(_, all)| all.iter().any(breaks)).map(|(name, _)| *name).collect();
        let mut written = BTreeSet::new();
        let (Some(body), Some(effects)) = (env.env.function(function), reached.get(&function)) else {
            return written;
        };
        let called =
            |id: EdgeId| graph.call(function, id).into_iter().flat_map(|to| to.functions.iter().copied());
        let is_write =
            |id: EdgeId| breaks(&effects[id.index()]) || !graph.reachable(called(id)).is_disjoint(&may_break);
        let mut open: Vec<Loc> =
            body.edge_ids().filter(|(id, _)| is_write(*id)).map(|(_, edge)| edge.to).collect();
        let successors = body.successors();
        while let Some(at) = open.pop() {
            if written.insert(at) {
                open.extend(successors[at.index()].iter().map(|id| body.edge(*id).to));
            }
        }
        written
    };
    let written = behind(&|effect| !matches!(effect, Effect::None | Effect::Zero));
    let changed = behind(&|effect| !matches!(effect, Effect::None | Effect::Member));
    Stays { written, changed, values }
}

/// Whether bits come into memory of callers that need not have a value: nobody asks whether what is only copied has one.
fn is_copy(env: &Memory<'_>, body: &Function, op: &Op) -> bool {
    let to = |place: &Lvalue| of_place(env, body, place, None) != Effect::None;
    match op {
        Op::Copy(dst, _) => to(dst),
        Op::Assign(dst, Expr::Load(_)) => {
            matches!(dst.scalar, Some(Scalar::Int(ty)) if ty.bits == 8) && to(dst)
        }
        Op::CopyBytes(dst, ..) => of_bytes(env, body, dst) != Effect::None,
        Op::Assign(..)
        | Op::Skip
        | Op::Assume(_)
        | Op::Begin(_)
        | Op::End(_)
        | Op::Free(_)
        | Op::Call(_)
        | Op::Havoc(..)
        | Op::Allocate(_)
        | Op::Clobber(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => false,
    }
}

/// Of an edge, without what it calls.
fn of_edge(env: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> Effect {
    let Op::Call(call) = op else { return of_operation(env, body, op) };
    let runs_unknown = env.env.call_graph().call(body.name, id).is_none_or(|to| to.may_be_external);
    // The result is written by the caller.
    let result = call.dst.as_ref().map_or(Effect::None, |dst| of_place(env, body, dst, None));
    let is_here = matches!(call.callee, Callee::Direct(name) if env.env.function(name).is_some());
    if runs_unknown && !is_here { Effect::Anything } else { result }
}

/// The program, and what is the run's own.
struct Memory<'e> {
    env: &'e Environment,
    fresh: &'e Fresh,
}

/// What a write may do to memory of callers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// Nothing.
    None,
    /// One byte becomes 0.
    Zero,
    /// A member of a structure changes that is neither a pointer nor a character.
    Member,
    Anything,
}

fn of_operation(env: &Memory<'_>, body: &Function, op: &Op) -> Effect {
    match op {
        Op::Skip | Op::Assume(_) | Op::Begin(_) | Op::End(_) | Op::Free(_) | Op::Call(_) => Effect::None,
        Op::Assign(dst, value) => of_place(env, body, dst, Some(value)),
        Op::Copy(dst, _) | Op::Havoc(dst, _) => of_place(env, body, dst, None),
        Op::Allocate(allocation) => of_place(env, body, &allocation.dst, None),
        // Structures stay whole, strings may end elsewhere.
        Op::Clobber(_, Cause::Keeping(_)) => Effect::Member,
        Op::Clobber(..) => Effect::Anything,
        Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => of_bytes(env, body, to),
    }
}

fn of_bytes(env: &Memory<'_>, body: &Function, pointer: &Expr) -> Effect {
    if env.fresh.is_fresh(body, pointer) {
        return Effect::None;
    }
    let targets = env.env.targets(body.name, pointer);
    let is_theirs = targets.objects.iter().any(|object| may_be_callers(env, *object));
    if is_theirs { Effect::Anything } else { Effect::None }
}

/// Whether callers' pointers may lead there.
fn may_be_callers(env: &Memory<'_>, object: Object) -> bool {
    object == Object::External || env.env.escaped().contains(&object)
}

fn of_place(env: &Memory<'_>, body: &Function, place: &Lvalue, value: Option<&Expr>) -> Effect {
    let is_theirs = match &place.base {
        Base::Local(id) if !body.local(*id).address_taken => false,
        Base::Local(id) => may_be_callers(env, Object::Local(body.name, *id)),
        Base::Global(name) => may_be_callers(env, Object::Global(*name)),
        Base::Deref(pointer, _) if env.fresh.is_fresh(body, pointer) => false,
        Base::Deref(pointer, _) => {
            env.env.targets(body.name, pointer).objects.iter().any(|object| may_be_callers(env, *object))
        }
    };
    if !is_theirs {
        return Effect::None;
    }
    let is_member = matches!(place.path.last(), Some(Step::Field { .. }));
    match place.scalar {
        Some(Scalar::Int(ty)) if ty.bits == 8 && matches!(value, Some(Expr::Int(0, _))) => Effect::Zero,
        Some(Scalar::Int(ty)) if ty.bits > 8 && is_member => Effect::Member,
        Some(Scalar::Float(_)) if is_member => Effect::Member,
        Some(_) | None => Effect::Anything,
    }
}
