//! What a function, with everything that it calls, may do to memory of its callers: whether strings that were there still end where they did, whether
//! pointers that were there still point where they did, and whether all of it is still alive.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Callee, Cause, Edge, EdgeId, Expr, Function, Loc, Lvalue, Name, Object, Op, Program, Scalar, Step,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::{Environment, fresh::Fresh};

use super::{
    origin::{element, is_character, types},
    punned::Punned,
};

/// What stays of callers' memory while a function runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stays {
    /// Places that are reached after a write behind which strings may end later than they did.
    written: BTreeSet<Loc>,
    /// Places that are reached after a write behind which pointers in structures may be others than they were.
    changed: BTreeSet<Loc>,
    /// Places that are reached after a write behind which what pointers in structures lead to may be no string any more.
    texts: BTreeSet<Loc>,
    /// Places that are reached after something was freed that may be callers'.
    freed: BTreeSet<Loc>,
    /// Places that are reached after something was copied to memory of callers that may have no value.
    copied: BTreeSet<Loc>,
}

impl Stays {
    /// Whether strings of callers end where they ended when the function was called, or before, when it gets there.
    pub(super) fn strings(&self, at: Loc) -> bool {
        !self.written.contains(&at)
    }

    /// Whether pointers in structures are what they were when it gets there, or lead to what is as good.
    pub(super) fn structures(&self, at: Loc) -> bool {
        !self.changed.contains(&at)
    }

    /// Whether strings that pointers in structures lead to are still strings.
    pub(super) fn texts(&self, at: Loc) -> bool {
        !self.texts.contains(&at)
    }

    /// Whether memory of callers still has values where it had them.
    pub(super) fn values(&self, at: Loc) -> bool {
        !self.copied.contains(&at)
    }

    /// Whether everything is alive that was alive when the function was called, when it gets there.
    pub(super) fn lives(&self, at: Loc) -> bool {
        !self.freed.contains(&at)
    }
}

/// Of a run of the function, some edges of which change pointers in structures, with all that is called there, and keep these whole (`whole`).
pub(super) fn stays(env: &Memory<'_>, function: Name, whole: &BTreeSet<EdgeId>) -> Stays {
    let did = Deeds::of(env, function, whole);
    let written = did.behind(&Did::changes_strings, &|_| false, &|_| false);
    let changed = did.behind(&Did::changes_pointers, &|id| whole.contains(&id), &|_| false);
    let texts = did.behind(&Did::changes_texts, &|_| false, &|_| false);
    let freed = did.behind(&|did| did.frees, &|_| false, &|_| false);
    let copied = did.behind(&|did| did.copies, &|_| false, &|_| false);
    Stays { written, changed, texts, freed, copied }
}

/// Places of a run of the function that are reached after a write behind which a string may end later than it did, where some of its edges do not
/// write to the string (`beside`).
pub(super) fn written_beside(
    env: &Memory<'_>,
    function: Name,
    beside: &dyn Fn(EdgeId) -> bool,
) -> BTreeSet<Loc> {
    Deeds::of(env, function, &BTreeSet::new()).behind(&Did::changes_strings, &|_| false, beside)
}

/// What each edge of a function does, and of all functions that it calls.
struct Deeds<'e> {
    env: &'e Environment,
    function: Name,
    all: BTreeMap<Name, Vec<Did>>,
}

impl<'e> Deeds<'e> {
    fn of(env: &Memory<'e>, function: Name, whole: &BTreeSet<EdgeId>) -> Deeds<'e> {
        let reached = env.env.call_graph().reachable([function]);
        let bodies = reached.into_iter().filter_map(|name| Some((name, env.env.function(name)?)));
        let all = bodies.map(|(name, body)| {
            let did = |(id, edge): (EdgeId, &Edge)| {
                let did = of_edge(env, body, id, &edge.op);
                let is_store = matches!(edge.op, Op::Assign(..)) && did.write == Effect::Anything;
                let is_whole = is_store && name == function && whole.contains(&id);
                if is_whole { Did { write: Effect::Number, ..did } } else { did }
            };
            (name, body.edge_ids().map(did).collect())
        });
        Deeds { env: env.env, function, all: all.collect() }
    }

    /// Places of the function that are reached behind an edge that `breaks` something, but for those that are `beside` it, or behind a call that may break
    /// it, but for those that are `passed_over`.
    fn behind(
        &self,
        breaks: &dyn Fn(&Did) -> bool,
        passed_over: &dyn Fn(EdgeId) -> bool,
        beside: &dyn Fn(EdgeId) -> bool,
    ) -> BTreeSet<Loc> {
        let (graph, function) = (self.env.call_graph(), self.function);
        let may_break: BTreeSet<Name> =
            self.all.iter().filter(|(_, all)| all.iter().any(breaks)).map(|(name, _)| *name).collect();
        let mut written = BTreeSet::new();
        let (Some(body), Some(effects)) = (self.env.function(function), self.all.get(&function)) else {
            return written;
        };
        let called =
            |id: EdgeId| graph.call(function, id).into_iter().flat_map(|to| to.functions.iter().copied());
        let is_write = |id: EdgeId| {
            breaks(&effects[id.index()]) && !beside(id)
                || !passed_over(id) && !graph.reachable(called(id)).is_disjoint(&may_break)
        };
        let mut open: Vec<Loc> =
            body.edge_ids().filter(|(id, _)| is_write(*id)).map(|(_, edge)| edge.to).collect();
        let successors = body.successors();
        while let Some(at) = open.pop() {
            if written.insert(at) {
                open.extend(successors[at.index()].iter().map(|id| body.edge(*id).to));
            }
        }
        written
    }
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
fn of_edge(env: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> Did {
    let Op::Call(call) = op else {
        let (write, frees) = (of_operation(env, body, op), frees(env, body, op));
        return Did { write, frees, copies: is_copy(env, body, op) };
    };
    let runs_unknown = env.env.call_graph().call(body.name, id).is_none_or(|to| to.may_be_external);
    // The result is written by the caller.
    let result = call.dst.as_ref().map_or(Effect::None, |dst| of_place(env, body, dst, None));
    let is_here = matches!(call.callee, Callee::Direct(name) if env.env.function(name).is_some());
    if runs_unknown && !is_here {
        Did { write: Effect::Anything, frees: true, copies: false }
    } else {
        Did { write: result, frees: false, copies: false }
    }
}

/// Whether an edge, without what it calls, may change pointers in structures of callers.
pub(super) fn changes_pointers(env: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> bool {
    of_edge(env, body, id, op).changes_pointers()
}

/// Whether an edge, without what it calls, changes no pointer in structures of callers and ends nothing.
pub(super) fn keeps_all(env: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> bool {
    let did = of_edge(env, body, id, op);
    !did.changes_pointers() && !did.frees
}

/// Whether strings of callers may end later behind it than they did.
pub(super) fn changes_strings(env: &Memory<'_>, body: &Function, id: EdgeId, op: &Op) -> bool {
    of_edge(env, body, id, op).changes_strings()
}

/// Whether an operation that is no call may end the life of memory of callers. Their automatic objects live longer than the call.
fn frees(env: &Memory<'_>, body: &Function, op: &Op) -> bool {
    match op {
        Op::Free(pointer) => of_bytes(env, body, pointer) != Effect::None,
        Op::Clobber(_, Cause::Keeping(_)) => false,
        Op::Clobber(..) => true,
        Op::Skip
        | Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Havoc(..)
        | Op::Allocate(_)
        | Op::Call(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..)
        | Op::Begin(_)
        | Op::End(_) => false,
    }
}

/// The program, and what is the run's own.
pub(super) struct Memory<'e> {
    env: &'e Environment,
    fresh: &'e Fresh,
    punned: Punned,
}

impl<'e> Memory<'e> {
    /// Of a run of the function.
    pub(super) fn of(env: &'e Environment, fresh: &'e Fresh, function: Name) -> Memory<'e> {
        let punned = Punned::of(env, fresh, &env.call_graph().reachable([function]));
        Memory { env, fresh, punned }
    }

    pub(super) fn env(&self) -> &'e Environment {
        self.env
    }

    pub(super) fn program(&self) -> &'e Program {
        self.env.program()
    }

    /// Whether a place holds what its type says.
    pub(super) fn is_certain(&self, body: &Function, place: &Lvalue) -> bool {
        // What was left there, functions that are not looked at have left, and may have taken for something else.
        let is_left = |pointer: &Expr| {
            let targets = self.env.targets(body.name, pointer);
            targets.objects.iter().any(|object| self.env.is_left(*object))
        };
        let is_known = match &place.base {
            Base::Local(_) | Base::Global(_) => true,
            Base::Deref(pointer, _) => !is_left(pointer),
        };
        is_known && is_bounded(place) && self.punned.is_typed(self.program(), body, place)
    }

    /// Whether a pointer leads to what the function has allocated since it was called.
    pub(super) fn leads_to_new(&self, body: &Function, pointer: &Expr) -> bool {
        self.fresh.is_fresh(body, pointer)
    }

    /// Whether a place is the function's own since it was called.
    pub(super) fn is_new(&self, body: &Function, place: &Lvalue) -> bool {
        match &place.base {
            Base::Local(id) => !body.local(*id).address_taken,
            Base::Global(_) => false,
            Base::Deref(pointer, _) => self.leads_to_new(body, pointer),
        }
    }
}

impl Memory<'_> {
    /// Whether a place is a part of a variable of the activation, or of those of these functions that it has called: such came into being since.
    pub(super) fn is_of_frames(&self, called: &BTreeSet<Name>, body: &Function, place: &Lvalue) -> bool {
        let is_variable = |object: &Object| {
            matches!(object, Object::Local(function, _) if called.contains(function))
                && !may_be_callers(self.env, *object)
        };
        match &place.base {
            Base::Local(_) => true,
            Base::Global(_) => false,
            Base::Deref(pointer, _) => {
                let objects = &self.env.targets(body.name, pointer).objects;
                !objects.is_empty() && objects.iter().all(is_variable)
            }
        }
    }
}

/// What an edge may do to memory of callers, without what it calls.
#[derive(Clone, Copy, Debug)]
struct Did {
    write: Effect,
    /// Something may not be alive any more.
    frees: bool,
    /// Something is copied that may have no value.
    copies: bool,
}

impl Did {
    fn changes_strings(&self) -> bool {
        match self.write {
            Effect::None | Effect::Zero => false,
            Effect::Number | Effect::Character | Effect::Whole | Effect::Anything => true,
        }
    }

    fn changes_pointers(&self) -> bool {
        match self.write {
            Effect::None | Effect::Number | Effect::Character | Effect::Whole => false,
            Effect::Zero | Effect::Anything => true,
        }
    }

    fn changes_texts(&self) -> bool {
        match self.write {
            Effect::None | Effect::Zero | Effect::Number | Effect::Whole => false,
            Effect::Character | Effect::Anything => true,
        }
    }
}

/// What a write may do to memory of callers. What a structure holds, or leads to, is of the type that it says: no pointer, and no string, is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    /// Nothing.
    None,
    /// One byte becomes 0.
    Zero,
    /// A member changes that is a number, or a pointer becomes one to something as good.
    Number,
    /// A member changes that is a character.
    Character,
    /// Strings may end elsewhere, but those that structures lead to are strings, and structures are whole.
    Whole,
    Anything,
}

fn of_operation(env: &Memory<'_>, body: &Function, op: &Op) -> Effect {
    match op {
        Op::Skip | Op::Assume(_) | Op::Begin(_) | Op::End(_) | Op::Free(_) | Op::Call(_) => Effect::None,
        Op::Assign(dst, value) => of_place(env, body, dst, Some(value)),
        Op::Copy(dst, _) | Op::Havoc(dst, _) => of_place(env, body, dst, None),
        Op::Allocate(allocation) => of_place(env, body, &allocation.dst, None),
        Op::Clobber(_, Cause::Keeping(_)) => Effect::Whole,
        Op::Clobber(..) => Effect::Anything,
        Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => of_bytes(env, body, to),
    }
}

fn of_bytes(env: &Memory<'_>, body: &Function, pointer: &Expr) -> Effect {
    if env.fresh.is_fresh(body, pointer) {
        return Effect::None;
    }
    let targets = env.env.targets(body.name, pointer);
    let is_theirs = targets.objects.iter().any(|object| may_be_callers(env.env, *object));
    if is_theirs { Effect::Anything } else { Effect::None }
}

/// Whether callers' pointers may lead there. So they may to what earlier runs have left in static pointers.
pub(super) fn may_be_callers(env: &Environment, object: Object) -> bool {
    object == Object::External || env.is_left(object) || env.escaped().contains(&object)
}

fn of_place(env: &Memory<'_>, body: &Function, place: &Lvalue, value: Option<&Expr>) -> Effect {
    let is_theirs = match &place.base {
        Base::Local(id) if !body.local(*id).address_taken => false,
        Base::Local(id) => may_be_callers(env.env, Object::Local(body.name, *id)),
        Base::Global(name) => may_be_callers(env.env, Object::Global(*name)),
        Base::Deref(pointer, _) => of_bytes(env, body, pointer) != Effect::None,
    };
    if !is_theirs {
        return Effect::None;
    }
    let is_certain = env.is_certain(body, place) && !shares_pointers(env.program(), &place.path);
    // Where a plain number is written, a caller may have a pointer.
    let is_member = is_certain && place.path.iter().any(|step| matches!(step, Step::Field { .. }));
    let is_character = is_character(place.ty) && !matches!(place.ty.kind(), TypeKind::Bool);
    match place.scalar {
        Some(Scalar::Int(_)) if is_character => match (value, is_member) {
            (Some(Expr::Int(0, _)), true) => Effect::None,
            (Some(Expr::Int(0, _)), false) => Effect::Zero,
            (_, true) => Effect::Character,
            (_, false) => Effect::Anything,
        },
        Some(Scalar::Int(_) | Scalar::Float(_)) if is_member => Effect::Number,
        Some(_) | None => Effect::Anything,
    }
}

/// Whether each step to an element is one of an array, and `array-bounds` asks whether it has that element; how far pointers step, `punned` has looked at.
fn is_bounded(place: &Lvalue) -> bool {
    let is_step = |step: &&Step| matches!(step, Step::Index { .. });
    let along = match place.base {
        Base::Deref(..) => place.path.iter().take_while(is_step).count(),
        Base::Local(_) | Base::Global(_) => 0,
    };
    place.path[along..].iter().all(|step| match step {
        Step::Field { .. } => true,
        Step::Index { length, .. } => length.is_some_and(|length| length > 0),
    })
}

/// Whether a union on the way holds a structure with pointers: these are known for what its type says, though another member may have been written.
fn shares_pointers(program: &Program, path: &[Step]) -> bool {
    let types = types(program);
    path.iter().any(|step| match step {
        Step::Field { record, .. } => types.record(*record).is_none_or(|record| {
            record.is_union
                && record.fields.iter().any(|field| matches!(element(field.ty).kind(), TypeKind::Record(_)))
        }),
        Step::Index { .. } => false,
    })
}
