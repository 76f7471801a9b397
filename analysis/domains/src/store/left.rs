//! Which heap objects are alive, and whether something refers to them: where `main` returns, where the program ends, and of what a block does
//! not see.

use proofline_cfa::{Expr, LocalId, Object, Role};

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
        if self.state.heap.older && (is_end || self.model.env.may_lose_older(self.function.name)) {
            return false;
        }
        let (roots, most) = match is_end {
            true => (self.held(), Elsewhere::Kept),
            false => (self.returned(), Elsewhere::Nothing),
        };
        self.is_nothing_new() || self.state.heap.elsewhere <= most && self.is_all_kept(roots)
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
        roots.extend(own.flat_map(|(_, region)| led_to(region)));
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
        said.into_iter().chain(statics.flat_map(|(_, region)| led_to(region))).collect()
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
        kept.extend(self.state.frame.local(id).into_iter().flat_map(|region| led_to(region)));
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
    roots.extend(hidden_locals.flat_map(|(_, region)| led_to(region)));
    // Of the objects of other functions it is not known whether those still run.
    let statics = state.memory.objects().iter().filter(|(object, _)| match object {
        Object::Global(_) => is_hidden(*object),
        Object::Local(..) | Object::Heap(..) | Object::External => false,
    });
    roots.extend(statics.flat_map(|(_, region)| led_to(region)));
    match reach(state, &hidden, roots, &is_hidden) {
        true => heap.elsewhere.max(Elsewhere::Kept),
        false => Elsewhere::Any,
    }
}

/// What variables of the callers refer to.
fn of_callers<A: Arithmetic>(model: &Model<A>, state: &State<A::Value>) -> Vec<Object> {
    let (mut found, mut below) = (Vec::new(), &state.below);
    while let Some((frame, rest)) = below.pop() {
        found.extend(variables(model, frame).flat_map(|(_, region)| led_to(region)));
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
        if !is_single(&object) || !may_pass(object) {
            continue;
        }
        let region = state.memory.get(object).map(|region| &**region);
        let said = state
            .heap
            .sites
            .iter()
            .filter(|(_, site)| site.guards.iter().any(|guard| guard.of == Target::Object(object)));
        let led = region.into_iter().flat_map(led_to).chain(said.map(|(object, _)| *object));
        let new: Vec<Object> = led.filter(|start| !kept.contains(start)).collect();
        kept.extend(new);
    }
    wanted.iter().all(|object| kept.contains(object))
}

/// Objects that a region leads to, by their starts or other addresses.
fn led_to<V: AbstractValue>(region: &Region<V>) -> impl Iterator<Item = Object> {
    region.cells().iter().filter_map(|cell| match &cell.content {
        Content::Each(_, item, value) if *item == cell.len => value.leads_to(),
        Content::Each(..) | Content::Zero | Content::Any => None,
    })
}
