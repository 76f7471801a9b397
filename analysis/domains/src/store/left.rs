//! Which heap objects are alive, and whether something refers to them: where `main` returns, where the program ends, and of what a block does
//! not see.

use proofline_cfa::{Allocation, Base, Expr, Function, LocalId, Lvalue, Object, Op, Role, Scalar};

use crate::store::{
    arithmetic::{Arithmetic, Objects},
    heap::{Count, Elsewhere},
    model::Model,
    region::{Content, Region},
    state::{Frame, State},
    value::AbstractValue,
    view::{StateView, Target},
};

impl<A: Arithmetic> StateView<'_, A> {
    /// Whether no heap object is alive.
    pub(super) fn is_nothing_left(&self) -> bool {
        !self.state.heap.older && self.is_nothing_new()
    }

    /// Whether no heap object is alive that was allocated since the run began.
    fn is_nothing_new(&self) -> bool {
        let heap = &self.state.heap;
        let is_gone = |object: Object, count: Count| count == Count::Zero || self.model.is_on_stack(object);
        heap.elsewhere == Elsewhere::Nothing
            && heap.others == Count::Zero
            && heap.sites.iter().all(|(object, site)| is_gone(*object, site.count))
    }

    /// Whether something certainly refers to each heap object where a function returns, or (no frame ends) where the program does.
    pub(super) fn is_nothing_lost(&self, frames: &Expr) -> bool {
        let is_end = matches!(frames, Expr::Int(0, _));
        if self.state.heap.older && (is_end || self.may_lose_older()) {
            return false;
        }
        let (roots, most) = match is_end {
            true => (self.held(), Elsewhere::Kept),
            false => (self.returned(), Elsewhere::Nothing),
        };
        self.is_nothing_new() || self.state.heap.elsewhere <= most && self.is_all_kept(roots)
    }

    /// Whether the function, or what it calls, writes over a pointer that may be all that refers to an object that was there before: any that is not in
    /// a local of its own. In what it allocates itself there is none, unless it ends the life of what held it.
    fn may_lose_older(&self) -> bool {
        let env = &self.model.env;
        let reached = env.call_graph().reachable([self.function.name]);
        let functions: Vec<_> = reached.iter().filter_map(|name| env.function(*name)).collect();
        let ends_lives = |op: &Op| matches!(op, Op::Free(_) | Op::Clobber(..));
        let keeps_lives = functions.iter().all(|function| {
            !function.edges.iter().any(|edge| ends_lives(&edge.op))
                && !env.call_graph().calls(function.name).any(|(_, callees)| callees.may_be_external)
        });
        let is_new = |object: &Object| match object {
            Object::Heap(by, _) => !env.is_left(*object) && reached.contains(by),
            Object::Local(..) => true,
            Object::Global(_) | Object::External => false,
        };
        let leads_to_new = |function: &Function, pointer: &Expr| {
            let targets = env.targets(function.name, pointer);
            keeps_lives && !targets.objects.is_empty() && targets.objects.iter().all(is_new)
        };
        let holds_pointers = |function: &Function, to: &Lvalue| {
            let is_pointer = matches!(to.scalar, Some(Scalar::Pointer) | None);
            is_pointer
                && match &to.base {
                    Base::Local(_) => false,
                    Base::Global(_) => true,
                    Base::Deref(pointer, _) => !leads_to_new(function, pointer),
                }
        };
        let is_loss = |function: &Function, op: &Op| match op {
            Op::Assign(to, _) | Op::Havoc(to, _) | Op::Copy(to, _) => holds_pointers(function, to),
            Op::Allocate(Allocation { dst, .. }) => holds_pointers(function, dst),
            Op::Call(call) => call.dst.as_ref().is_some_and(|dst| holds_pointers(function, dst)),
            Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => {
                let targets = env.targets(function.name, to);
                let is_new =
                    |object: &Object| matches!(object, Object::Heap(..)) && !matches!(op, Op::FillBytes(..));
                !leads_to_new(function, to)
                    && targets
                        .objects
                        .iter()
                        .any(|object| !matches!(object, Object::Local(..)) && !is_new(object))
            }
            Op::Skip | Op::Assume(_) | Op::Clobber(..) | Op::Free(_) | Op::Begin(_) | Op::End(_) => false,
        };
        functions.into_iter().any(|function| function.edges.iter().any(|edge| is_loss(function, &edge.op)))
    }

    /// What refers to heap objects when the function has returned: its result, and objects with static storage.
    fn returned(&self) -> Vec<Object> {
        let mut roots = self.statics();
        roots.extend(self.function.result.into_iter().flat_map(|result| self.kept_by(result)));
        roots
    }

    /// What refers to heap objects while all frames are open.
    fn held(&self) -> Vec<Object> {
        let mut roots = self.statics();
        let is_variable = |id: &LocalId| self.function.local(*id).role != Role::Temporary;
        let variables = self.state.frame.locals.iter().map(|(id, _)| *id).filter(is_variable);
        roots.extend(variables.flat_map(|id| self.kept_by(id)));
        roots.extend(of_callers(self.model, self.state));
        let own = self.state.memory.objects().iter().filter(|(object, _)| match object {
            Object::Local(function, _) => *function == self.function.name && self.is_single(*object),
            Object::Global(_) | Object::Heap(..) | Object::External => false,
        });
        roots.extend(own.flat_map(|(_, region)| starts(region)));
        roots.extend(self.said_by(|of| match of {
            Target::Object(object @ Object::Local(function, _)) => {
                function == self.function.name && self.is_single(object)
            }
            Target::Object(_) | Target::Local(_) => false,
        }));
        roots
    }

    fn statics(&self) -> Vec<Object> {
        let objects = self.state.memory.objects().iter();
        let statics = objects.filter(|(object, _)| matches!(object, Object::Global(_)));
        let said = self.said_by(|of| matches!(of, Target::Object(Object::Global(_))));
        said.into_iter().chain(statics.flat_map(|(_, region)| starts(region))).collect()
    }

    /// The objects that there are if such a pointer is not null.
    fn said_by(&self, is_one: impl Fn(Target) -> bool) -> Vec<Object> {
        let sites = self.state.heap.sites.iter();
        let guarded = sites.filter(|(_, site)| site.guards.iter().any(|guard| is_one(guard.of)));
        guarded.map(|(object, _)| *object).collect()
    }

    /// The objects that a local of the innermost frame refers to if they are alive.
    fn kept_by(&self, id: LocalId) -> Vec<Object> {
        let mut kept = self.said_by(|of| of == Target::Local(id));
        kept.extend(self.state.frame.local(id).into_iter().flat_map(|region| starts(region)));
        kept
    }

    /// Whether each heap object can be reached from these.
    fn is_all_kept(&self, roots: Vec<Object>) -> bool {
        let heap = &self.state.heap;
        let left = heap
            .sites
            .iter()
            .filter(|(object, site)| site.count != Count::Zero && !self.model.is_on_stack(*object));
        let left: Vec<Object> = left.map(|(object, _)| *object).collect();
        heap.others == Count::Zero && reach(self.state, &left, roots, &|_| true)
    }
}

/// What a state whose block sees only some of its locals and objects says of the heap objects that it does not see.
pub(super) fn elsewhere<A: Arithmetic>(
    model: &Model<A>,
    state: &State<A::Value>,
    is_seen: &dyn Fn(Target) -> bool,
) -> Elsewhere {
    let heap = &state.heap;
    if heap.elsewhere == Elsewhere::Any || heap.others != Count::Zero {
        return Elsewhere::Any;
    }
    let is_hidden = |object: Object| !is_seen(Target::Object(object));
    let hidden = heap.sites.iter().filter(|(object, site)| site.count != Count::Zero && is_hidden(*object));
    let hidden: Vec<Object> = hidden.map(|(object, _)| *object).collect();
    if hidden.is_empty() {
        return heap.elsewhere;
    }
    let mut roots = of_callers(model, state);
    let hidden_locals = variables(model, &state.frame).filter(|(id, _)| !is_seen(Target::Local(**id)));
    roots.extend(hidden_locals.flat_map(|(_, region)| starts(region)));
    // Of the objects of other functions it is not known whether those still run.
    let statics = state.memory.objects().iter().filter(|(object, _)| match object {
        Object::Global(_) => is_hidden(*object),
        Object::Local(..) | Object::Heap(..) | Object::External => false,
    });
    roots.extend(statics.flat_map(|(_, region)| starts(region)));
    match reach(state, &hidden, roots, &is_hidden) {
        true => heap.elsewhere.max(Elsewhere::Kept),
        false => Elsewhere::Any,
    }
}

/// What variables of the callers refer to.
fn of_callers<A: Arithmetic>(model: &Model<A>, state: &State<A::Value>) -> Vec<Object> {
    let (mut found, mut below) = (Vec::new(), &state.below);
    while let Some((frame, rest)) = below.pop() {
        found.extend(variables(model, frame).flat_map(|(_, region)| starts(region)));
        below = rest;
    }
    found
}

/// What is known of a frame's variables. What is only on its way (`f(malloc(4))`) is in no variable.
fn variables<'s, A: Arithmetic>(
    model: &Model<A>,
    frame: &'s Frame<A::Value>,
) -> impl Iterator<Item = (&'s LocalId, &'s Region<A::Value>)> {
    let function = model.env.function(frame.function);
    let is_variable =
        move |id: LocalId| function.as_ref().is_some_and(|f| f.local(id).role != Role::Temporary);
    let locals = frame.locals.iter().filter(move |(id, _)| is_variable(*id));
    locals.map(|(id, region)| (id, &**region)).collect::<Vec<_>>().into_iter()
}

/// Whether each of the objects is one of a kind, and can be reached from the roots through such objects.
fn reach<V: AbstractValue>(
    state: &State<V>,
    wanted: &[Object],
    mut kept: Vec<Object>,
    may_pass: &dyn Fn(Object) -> bool,
) -> bool {
    let is_single = |object: &Object| state.heap.count(*object) == Count::One;
    if !wanted.iter().all(is_single) {
        return false;
    }
    let mut at = 0;
    while let Some(object) = kept.get(at).copied() {
        at += 1;
        if is_single(&object)
            && may_pass(object)
            && let Some(region) = state.memory.get(object)
        {
            let new: Vec<Object> = starts(region).filter(|start| !kept.contains(start)).collect();
            kept.extend(new);
        }
    }
    wanted.iter().all(|object| kept.contains(object))
}

/// Objects whose start is in a region.
fn starts<V: AbstractValue>(region: &Region<V>) -> impl Iterator<Item = Object> {
    region.cells().iter().filter_map(|cell| match &cell.content {
        Content::Each(_, item, value) if *item == cell.len => value.start_of(),
        Content::Each(..) | Content::Zero | Content::Any => None,
    })
}
