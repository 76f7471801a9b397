//! Entering and leaving functions, and blocks. A function's exit relates its result to its arguments, whoever calls; relations
//! between arguments go in with them.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{Argument, Base, Expr, Function, LocalId, Lvalue, Name, Object, Scalar, scalar_of};
use proofline_cpa::{BlockContext, BlockId, CallContext, NoFacts};
use proofline_program_analysis::Environment;

use super::{
    filled::is_array,
    form::{Form, View},
    places::Place,
    state::{Pointer, Relations, Tag},
    terminator::{has_tag, hold_zero},
    transfer::{Impossible, add, forget, point, set},
    zone::{Dim, Zone},
};

/// An argument, as its parameter receives it.
enum Passed {
    Number(Dim, Box<Form>),
    /// And the local that the caller has it from.
    Pointer(LocalId, Box<Place>, Option<LocalId>),
}

fn passed(view: &View<'_>, callee: &Function, call: CallContext<'_>) -> Vec<Passed> {
    let arguments = callee.parameters.iter().zip(&call.call.arguments);
    let known = arguments.filter_map(|(id, argument)| {
        let Argument::Value(value) = argument else { return None };
        let local = callee.local(*id);
        let scalar = scalar_of(local.ty, view.program.data_model)?;
        if local.address_taken || scalar != value.scalar() {
            return None;
        }
        match scalar {
            Scalar::Int(ty) if ty.bits <= 64 => {
                Some(Passed::Number(Dim::Value(*id, ty), Box::new(view.form(value)?)))
            }
            Scalar::Pointer => Some(Passed::Pointer(*id, Box::new(view.place(value)?), view.base(value))),
            Scalar::Int(_) | Scalar::Float(_) => None,
        }
    });
    known.collect()
}

/// From the call's source to the callee's entry. `written`: parameters that the callee changes.
pub(super) fn enter(
    env: &Environment,
    from: &Relations,
    call: CallContext<'_>,
    written: &BTreeSet<LocalId>,
    globals: &BTreeSet<Name>,
) -> Result<Relations, Impossible> {
    let (caller, callee) = (call.at.function, call.callee);
    let view = View::new(env.program(), caller, from, &NoFacts, globals);
    let mut state =
        Relations::new(callee.name, Some((caller.name, call.at.id)), Some(Arc::new(from.clone())));
    let passed = passed(&view, callee, call);
    let mut numbers: Vec<(Dim, &Form)> = Vec::new();
    let mut tags: Vec<(Tag, LocalId)> = Vec::new();
    for one in &passed {
        match one {
            Passed::Number(dim, form) => numbers.push((*dim, form)),
            Passed::Pointer(id, place, _) => {
                numbers.extend([(Dim::Offset(*id), &place.offset), (Dim::Size(*id), &place.size)]);
                numbers.extend(place.zero.as_ref().map(|zero| (Dim::Zero(*id), zero)));
                numbers.extend(place.filled.as_ref().map(|filled| (Dim::Filled(*id), filled)));
                let first = place.pointer.tag.map(|tag| match tags.iter().find(|(known, _)| *known == tag) {
                    Some((_, first)) => *first,
                    None => {
                        tags.push((tag, *id));
                        *id
                    }
                });
                let tag = Some(Tag::Passed(first.unwrap_or(*id)));
                let (has_zero, is_filled) = (place.zero.is_some(), place.filled.is_some());
                let pointer = Pointer { tag, has_zero, is_filled, ..place.pointer };
                Arc::make_mut(&mut state.pointers).insert(*id, pointer);
            }
        }
    }
    let zone = Arc::make_mut(&mut state.zone);
    *zone = from.zone.renamed(|dim| matches!(dim, Dim::Global(..)).then_some(dim));
    let mut holds = true;
    for (x, left) in &numbers {
        holds &= relate_to_globals(zone, *x, left);
        holds &= zone.bound(*x, left.low, left.high);
        for (y, right) in numbers.iter().filter(|(y, _)| y != x) {
            let most = view.distance(left, right);
            if most < left.high.saturating_sub(right.low) {
                holds &= zone.constrain(*x, *y, most);
            }
        }
    }
    holds &= first_values(zone, &numbers, written);
    if holds { Ok(state) } else { Err(Impossible) }
}

/// What a number is compared with globals.
fn relate_to_globals(zone: &mut Zone, dim: Dim, form: &Form) -> bool {
    let mut holds = true;
    for (near, most) in form.above.iter().filter(|(near, _)| matches!(near, Dim::Global(..))) {
        holds &= zone.constrain(dim, *near, *most);
    }
    for (near, most) in form.below.iter().filter(|(near, _)| matches!(near, Dim::Global(..))) {
        holds &= zone.constrain(*near, dim, *most);
    }
    holds
}

/// What parameters that change were at first.
fn first_values(zone: &mut Zone, numbers: &[(Dim, &Form)], written: &BTreeSet<LocalId>) -> bool {
    let mut holds = true;
    for (dim, _) in numbers {
        let first = first(*dim, written).filter(|first| first != dim);
        if let Some(first) = first {
            let (low, high) = zone.bounds(*dim);
            let same = Form {
                low,
                high,
                above: [(*dim, 0)].into_iter().collect(),
                below: [(*dim, 0)].into_iter().collect(),
            };
            holds &= add(zone, first, &same);
        }
    }
    holds
}

/// What a number of a parameter was at the function's entry, as its exit knows it.
fn first(dim: Dim, written: &BTreeSet<LocalId>) -> Option<Dim> {
    match dim {
        Dim::Value(id, ty) if written.contains(&id) => Some(Dim::First(id, ty)),
        Dim::Offset(id) if written.contains(&id) => Some(Dim::FirstOffset(id)),
        Dim::Value(..) | Dim::Offset(_) => Some(dim),
        Dim::Twice(..)
        | Dim::Size(_)
        | Dim::Zero(_)
        | Dim::Filled(_)
        | Dim::From(_)
        | Dim::Stop(_)
        | Dim::Global(..)
        | Dim::First(..)
        | Dim::FirstOffset(_)
        | Dim::Scratch(_) => None,
    }
}

/// From the callee's exit to the call's target.
pub(super) fn leave(
    env: &Environment,
    at_call: &Relations,
    exit: &Relations,
    call: CallContext<'_>,
    written: &BTreeSet<LocalId>,
    globals: &BTreeSet<Name>,
) -> Result<Relations, Impossible> {
    let (caller, callee) = (call.at.function, call.callee);
    let mut state = exit.below.as_deref().unwrap_or(at_call).clone();
    let before = state.clone();
    if exit.frees {
        state.freed();
    }
    wrote(env, &mut state, caller, callee, exit.frees);
    let kept = unwritten(env, callee, globals);
    global_values(&mut state, exit, &kept);
    // Of other globals the arguments had the values from before.
    let view = View::new(env.program(), caller, &before, &NoFacts, &kept);
    let passed = passed(&view, callee, call);
    left(&view, &mut state, exit, &passed, written)?;
    let Some(dst) = &call.call.dst else { return Ok(state) };
    if view.whole(dst).is_none() {
        // The result goes into memory.
        state.retain_units(|id| caller.local(id).ty.pointee().is_none());
        state.lose_zeros(|_| true);
        state.lose_values(|_| true);
    }
    let result = callee.result.filter(|id| {
        let local = callee.local(*id);
        !local.address_taken && scalar_of(local.ty, env.program().data_model) == dst.scalar
    });
    let received = |dim: Dim| received(&exit.zone, dim, &passed, written);
    if let (Some(result), Some(Scalar::Int(ty))) = (result, dst.scalar)
        && let Some(to) = View::new(env.program(), caller, &before, &NoFacts, globals).dim(dst)
    {
        set(&mut state, &[(to, &received(Dim::Value(result, ty)))])?;
        state.drop_untracked();
        return Ok(state);
    }
    let (Some(result), Some((to, scalar))) = (result, view.whole(dst)) else {
        forget(&mut state, dst);
        return Ok(state);
    };
    match scalar {
        Scalar::Pointer => match place(exit, result, &received, &passed) {
            Some(mut place) => {
                if matches!(exit.pointers.get(&result).and_then(|known| known.tag), Some(Tag::Allocated(..)))
                {
                    let tag = Tag::Allocated(call.at.id, true);
                    state.allocates(call.at.id);
                    place.pointer.tag = Some(tag);
                }
                point(&mut state, to, &place)?;
                related(&mut state, to, exit, result)?;
            }
            None => forget(&mut state, dst),
        },
        Scalar::Int(_) | Scalar::Float(_) => forget(&mut state, dst),
    }
    state.drop_untracked();
    Ok(state)
}

/// Globals that the callee does not change, with all that it calls.
fn unwritten(env: &Environment, callee: &Function, globals: &BTreeSet<Name>) -> BTreeSet<Name> {
    let written = env.writes(callee.name);
    // Code outside may name any.
    if written.contains(&Object::External) {
        return BTreeSet::new();
    }
    globals.iter().copied().filter(|name| !written.contains(&Object::Global(*name))).collect()
}

/// Globals that the callee changes have the values that they have at its exit.
fn global_values(state: &mut Relations, exit: &Relations, kept: &BTreeSet<Name>) {
    state.retain_globals(|name| kept.contains(&name));
    let is_new = |dim: Dim| matches!(dim, Dim::Global(name, _) if !kept.contains(&name));
    let of_globals = exit.zone.renamed(|dim| matches!(dim, Dim::Global(..)).then_some(dim));
    let new = of_globals.about(is_new);
    if new.mentions(is_new) {
        Arc::make_mut(&mut state.zone).add_all(&new);
    }
}

/// The numbers about a pointer that is returned are as they were to each other.
fn related(state: &mut Relations, to: LocalId, exit: &Relations, result: LocalId) -> Result<(), Impossible> {
    let Some(known) = state.pointers.get(&to).copied() else { return Ok(()) };
    let received = |dim: Dim| match dim {
        Dim::Offset(id) if id == result => Some(Dim::Offset(to)),
        Dim::Size(id) if id == result => Some(Dim::Size(to)),
        Dim::Zero(id) if id == result && known.has_zero => Some(Dim::Zero(to)),
        Dim::Filled(id) if id == result && known.is_filled => Some(Dim::Filled(to)),
        _ => None,
    };
    let zone = Arc::make_mut(&mut state.zone);
    let mut holds = true;
    for (x, y, most) in exit.zone.differences() {
        if let (Some(x), Some(y)) = (received(x), received(y)) {
            holds &= zone.constrain(x, y, most);
        }
    }
    if holds { Ok(()) } else { Err(Impossible) }
}

/// What the callee knows at its end of the units of objects that were passed to it.
fn left(
    view: &View<'_>,
    state: &mut Relations,
    exit: &Relations,
    passed: &[Passed],
    written: &BTreeSet<LocalId>,
) -> Result<(), Impossible> {
    for one in passed {
        let Passed::Pointer(id, place, base) = one else { continue };
        let Some(known) = exit.pointers.get(id).filter(|_| !written.contains(id)) else { continue };
        let is_same = matches!(known.tag, Some(Tag::Passed(_))) && known.unit == place.pointer.unit;
        let is_one = |holder: &LocalId, pointer: &Pointer| {
            pointer.unit == place.pointer.unit && (has_tag(view, *holder, place) || Some(*holder) == *base)
        };
        let holders: Vec<(LocalId, Pointer)> = state
            .pointers
            .iter()
            .filter(|(holder, pointer)| is_same && is_one(holder, pointer))
            .map(|(holder, pointer)| (*holder, *pointer))
            .collect();
        for (holder, pointer) in holders {
            if known.has_zero && !pointer.has_zero {
                let mut zero = received(&exit.zone, Dim::Zero(*id), passed, written);
                if matches!(place.pointer.tag, Some(Tag::Named(_))) {
                    zero.high = zero.high.min(place.size.high - 1);
                }
                hold_zero(state, holder, &zero)?;
            }
            if known.is_filled && !pointer.is_filled {
                let filled = received(&exit.zone, Dim::Filled(*id), passed, written);
                set(state, &[(Dim::Filled(holder), &filled)])?;
                if let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&holder) {
                    pointer.is_filled = true;
                }
            }
        }
    }
    Ok(())
}

/// Of what the callee may have written neither zeros nor values are known any more.
fn wrote(env: &Environment, state: &mut Relations, caller: &Function, callee: &Function, is_clobbered: bool) {
    let written = env.writes(callee.name);
    if written.is_empty() && !is_clobbered {
        return;
    }
    state.retain_units(|id| caller.local(id).ty.pointee().is_none());
    let is_anything = is_clobbered || written.contains(&Object::External);
    let is_lost = |id: LocalId| {
        if is_array(caller, id) {
            return is_anything || written.contains(&Object::Local(caller.name, id));
        }
        let local = caller.local(id);
        let pointer = Expr::Load(Lvalue {
            base: Base::Local(id),
            path: Vec::new(),
            ty: local.ty,
            scalar: Some(Scalar::Pointer),
            bits: None,
            size: local.size,
        });
        is_anything || !env.targets(caller.name, &pointer).objects.is_disjoint(written)
    };
    state.lose_zeros(is_lost);
    state.lose_values(is_lost);
}

/// A number of the exit, by what was passed.
fn received(zone: &Zone, dim: Dim, passed: &[Passed], written: &BTreeSet<LocalId>) -> Form {
    let (low, high) = zone.bounds(dim);
    let mut form = Form::between(low, high);
    for (x, y, most) in zone.differences() {
        match (x, y) {
            (x, Dim::Global(..)) if x == dim => form.above.push((y, most)),
            (Dim::Global(..), y) if y == dim => form.below.push((x, most)),
            _ => {}
        }
    }
    let arguments = passed.iter().map(|one| match one {
        Passed::Number(dim, form) => (*dim, &**form),
        Passed::Pointer(id, place, _) => (Dim::Offset(*id), &place.offset),
    });
    for (parameter, argument) in arguments {
        let Some(first) = first(parameter, written) else { continue };
        for (x, y, most) in zone.differences() {
            if (x, y) == (dim, first) {
                form.high = form.high.min(argument.high.saturating_add(most));
                form.above
                    .extend(argument.above.iter().map(|(near, more)| (*near, more.saturating_add(most))));
            } else if (x, y) == (first, dim) {
                form.low = form.low.max(argument.low.saturating_sub(most));
                form.below
                    .extend(argument.below.iter().map(|(near, more)| (*near, more.saturating_add(most))));
            }
        }
    }
    form
}

/// Where a result leads: into what was passed, or to what the function has allocated.
fn place(
    exit: &Relations,
    result: LocalId,
    received: &dyn Fn(Dim) -> Form,
    passed: &[Passed],
) -> Option<Place> {
    let pointer = *exit.pointers.get(&result)?;
    let offset = received(Dim::Offset(result));
    let zero = pointer.has_zero.then(|| received(Dim::Zero(result)));
    let filled = pointer.is_filled.then(|| received(Dim::Filled(result)));
    match pointer.tag? {
        Tag::Passed(id) => {
            let argument = passed.iter().find_map(|one| match one {
                Passed::Pointer(parameter, place, _) if *parameter == id => Some(place),
                Passed::Pointer(..) | Passed::Number(..) => None,
            })?;
            let pointer = Pointer { tag: argument.pointer.tag, ..pointer };
            let is_same = argument.pointer.unit == pointer.unit;
            is_same.then(|| Place { pointer, offset, size: argument.size.clone(), zero, filled })
        }
        Tag::Allocated(_, true) => {
            let pointer = Pointer { tag: None, ..pointer };
            Some(Place { pointer, offset, size: received(Dim::Size(result)), zero, filled })
        }
        Tag::Named(Object::Global(_)) => {
            let pointer = Pointer { tag: None, ..pointer };
            Some(Place { pointer, offset, size: received(Dim::Size(result)), zero, filled })
        }
        Tag::Allocated(_, false) | Tag::Named(_) | Tag::Older(..) => None,
    }
}

/// `reduce`
pub(super) fn reduce(entry: &Relations, block: BlockContext<'_>) -> Relations {
    let mut state = Relations { below: None, called_at: None, frees: false, ..entry.clone() };
    if let (BlockId::Loop(..), Some(locals)) = (block.id, block.locals) {
        let is_outside = |dim: Dim| dim.local().is_none_or(|id| !locals.contains(&id));
        if state.zone.mentions(is_outside) {
            Arc::make_mut(&mut state.zone).retain(|dim| !is_outside(dim));
        }
        state.retain_pointers(|id, _| locals.contains(&id));
        state.retain_units(|id| locals.contains(&id));
        state.retain_rests(|id, of| locals.contains(&id) && locals.contains(&of));
    }
    state
}

/// `expand`
pub(super) fn expand(before: &Relations, block: BlockContext<'_>, exit: &Relations) -> Relations {
    let frees = before.frees || exit.frees;
    let mut state =
        Relations { below: before.below.clone(), called_at: before.called_at, frees, ..exit.clone() };
    let (BlockId::Loop(..), Some(locals)) = (block.id, block.locals) else { return state };
    let mut rest = before.clone();
    if exit.frees {
        rest.freed();
    }
    rest.retain_pointers(|id, pointer| {
        let lives = match pointer.tag {
            Some(Tag::Named(Object::Local(_, id))) => !locals.contains(&id),
            Some(Tag::Allocated(_, on_heap)) => on_heap,
            Some(Tag::Named(_) | Tag::Passed(_)) => true,
            Some(Tag::Older(..)) | None => false,
        };
        lives && !locals.contains(&id)
    });
    // The loop may have written there.
    rest.lose_zeros(|_| true);
    rest.lose_values(|_| true);
    Arc::make_mut(&mut rest.zone).retain(|dim| dim.local().is_some_and(|id| !locals.contains(&id)));
    Arc::make_mut(&mut state.zone).add_all(&rest.zone);
    for (id, pointer) in rest.pointers.iter() {
        // The loop may have allocated there once more.
        let tag = pointer.tag.filter(|tag| !matches!(tag, Tag::Allocated(..) | Tag::Older(..)));
        Arc::make_mut(&mut state.pointers).insert(*id, Pointer { tag, ..*pointer });
    }
    state
}

/// Parameters that the function changes.
pub(super) fn written(function: &Function) -> BTreeSet<LocalId> {
    let mut written = BTreeSet::new();
    for edge in &function.edges {
        proofline_cfa::visit::mentions(&edge.op, &mut |mention| {
            if let proofline_cfa::visit::Mention::Write(lvalue) = mention
                && let proofline_cfa::Base::Local(id) = lvalue.base
            {
                written.insert(id);
            }
        });
    }
    written.retain(|id| function.parameters.contains(id));
    written
}
