//! Entering and leaving functions: parameters, results, frames. Knows the call and the callee, no driver.

use std::sync::Arc;

use proofline_cfa::{Argument, Callee, Function, LocalId, Lvalue, Object, Scalar, scalar_of};
use proofline_cpa::{CallContext, NoFacts};

use crate::store::{
    arithmetic::{Arithmetic, Impossible},
    heap::{Guard, Site},
    mentions,
    model::Model,
    region::{Access, Cell, Region},
    state::{Frame, State},
    transfer::{assign_value, place},
    update::{Update, is_whole},
    value::{Abstract, AbstractValue, value_bits},
    view::{StateView, Target},
};

/// An argument or a result on its way between frames.
enum Passed<V> {
    Scalar(Scalar, Abstract<V>),
    Bytes(u64, Vec<Cell<V>>),
    Unknown,
}

/// From the call's source to the callee's entry.
///
/// # Errors
/// [`Impossible`] if no execution enters the callee.
pub fn enter<A: Arithmetic>(
    model: &Model<A>,
    from: &State<A::Value>,
    call: CallContext<'_>,
) -> Result<State<A::Value>, Impossible> {
    let caller = call.at.function;
    let view = StateView::new(model, caller, from, &NoFacts);
    if let Callee::Indirect(pointer, _) = &call.call.callee
        && let Abstract::Of(value) = view.eval(pointer)?
        && !model.arithmetic.may_call(&value, call.callee.name)
    {
        return Err(Impossible);
    }
    let mut passed = Vec::new();
    for argument in &call.call.arguments {
        passed.push(match argument {
            Argument::Value(value) => Passed::Scalar(value.scalar(), view.eval(value)?),
            Argument::Aggregate(lvalue) => read_bytes(&view, lvalue)?,
        });
    }
    // What the callee does to memory is not seen while its caller's frame is below.
    let mut update = Update::new(model, caller, from);
    update.invalidate_all_memory();
    update.state.conclude(&|fact| matches!(fact.target, Target::Object(_)));
    update.state.conclude_guarded(&|known| matches!(known.target, Target::Object(_)));
    let State { frame, below, memory, mut heap } = update.state;
    // They speak of the caller's locals.
    heap.change_all(|_, site| site.guards.retain(|guard| matches!(guard.of, Target::Object(_))));
    let below = below.push(frame);
    let frame = Arc::new(Frame::new(call.callee.name, Some((caller.name, call.at.id))));
    let mut update = Update { model, function: call.callee, state: State { frame, below, memory, heap } };
    let mut passed = passed.into_iter();
    for parameter in &call.callee.parameters {
        let value = passed.next().unwrap_or(Passed::Unknown);
        receive(&mut update, call.callee, *parameter, value);
    }
    Ok(update.state)
}

fn read_bytes<A: Arithmetic>(
    view: &StateView<'_, A>,
    lvalue: &Lvalue,
) -> Result<Passed<A::Value>, Impossible> {
    let places = view.resolve(lvalue)?;
    let [place] = &places.list[..] else { return Ok(Passed::Unknown) };
    let Some(offset) = place.offsets.single() else { return Ok(Passed::Unknown) };
    if places.elsewhere {
        return Ok(Passed::Unknown);
    }
    let (from, to) = span(offset, lvalue.size);
    Ok(passed(lvalue.size, from, view.cells_in(place.target, from, to)))
}

fn slice<V: AbstractValue>(region: &Region<V>, size: u64) -> Passed<V> {
    let (from, to) = span(0, size);
    passed(size, from, region.slice(from, to))
}

fn span(offset: i64, size: u64) -> (i64, i64) {
    let from = offset * 8;
    (from, from.saturating_add(i64::try_from(size).unwrap_or(0).saturating_mul(8)))
}

fn passed<V>(size: u64, from: i64, cells: Vec<Cell<V>>) -> Passed<V> {
    Passed::Bytes(size, cells.into_iter().map(|cell| Cell { start: cell.start - from, ..cell }).collect())
}

fn receive<A: Arithmetic>(
    update: &mut Update<'_, A>,
    callee: &Function,
    id: LocalId,
    value: Passed<A::Value>,
) {
    let local = callee.local(id);
    let (target, single) = if local.address_taken {
        let object = Object::Local(callee.name, id);
        (Target::Object(object), update.model.env.is_single(object))
    } else {
        (Target::Local(id), true)
    };
    // A new activation's parameter: what was known of older ones need not hold of it.
    update.forget_all(target);
    if !single {
        return;
    }
    match value {
        Passed::Scalar(scalar, value) => {
            // Without a prototype the formats may differ.
            if Some(scalar) == scalar_of(local.ty, update.model.env.program().data_model) {
                let len = value_bits(scalar, update.model.pointer_bits);
                let access = Access { start: 0, len, room: (local.size as i64 * 8).max(len), scalar };
                update.write(&place(target), true, access, value);
            }
        }
        Passed::Bytes(size, cells) if size == local.size => update.paste(&place(target), size, cells),
        Passed::Bytes(..) | Passed::Unknown => {}
    }
}

/// From the callee's exit to the call's target.
///
/// # Errors
/// [`Impossible`] if no execution returns.
pub fn leave<A: Arithmetic>(
    model: &Model<A>,
    at_call: &State<A::Value>,
    exit: &State<A::Value>,
    call: CallContext<'_>,
) -> Result<State<A::Value>, Impossible> {
    let callee = call.callee;
    let mut ended = exit.clone();
    let is_local = |object: Object| match object {
        Object::Local(name, _) => name == callee.name,
        Object::Heap(name, _) => name == callee.name && model.is_on_stack(object),
        Object::Global(_) | Object::External => false,
    };
    if callee.locals.iter().any(|local| local.address_taken) || model.has_on_stack(callee.name) {
        ended.retire_locals(&is_local);
    }
    let exit = &ended;
    let result = call.call.dst.as_ref().map(|dst| read_result(model, exit, callee, dst));
    let (frame, below) = match exit.below.pop() {
        Some((frame, below)) => (frame.clone(), below.clone()),
        None => {
            let mut update = Update::new(model, call.at.function, at_call);
            update.invalidate_all_memory();
            (update.state.frame, update.state.below)
        }
    };
    let mut memory = exit.memory.clone();
    for (index, local) in callee.locals.iter().enumerate() {
        if local.address_taken {
            memory.forget(Object::Local(callee.name, LocalId(index as u32)));
        }
    }
    let mut heap = exit.heap.clone();
    heap.change_all(|object, site| {
        let old = at_call.heap.site(object);
        let is_same =
            !site.freed && (old.count, old.sizes, old.dangles) == (site.count, site.sizes, site.dangles);
        let is_gone = |of: Object| matches!(of, Object::Local(name, _) if name == callee.name);
        site.guards.retain(|guard| matches!(guard.of, Target::Object(of) if !is_gone(of)));
        if is_same {
            site.guards.extend(old.guards.into_iter().filter(|guard| matches!(guard.of, Target::Local(_))));
            site.guards.sort_unstable();
        }
    });
    let state = State { frame, below, memory, heap };
    let (Some(dst), Some(result)) = (&call.call.dst, result) else { return Ok(state) };
    // What the result says of objects that may be there, the variable that gets it says, too.
    let is_said = |site: &Site| callee.result.is_some_and(|id| site.guards.contains(&Guard::local(id)));
    let said: Vec<Object> =
        exit.heap.sites.iter().filter(|(_, site)| is_said(site)).map(|(o, _)| *o).collect();
    let view = StateView::new(model, call.at.function, &state, &NoFacts);
    let places = view.resolve(dst)?;
    let mut update = Update::new(model, call.at.function, &state);
    match result {
        Passed::Scalar(scalar, value) if Some(scalar) == dst.scalar => {
            assign_value(&view, &mut update, dst, &places, value);
            if let (Some(to), Scalar::Pointer) = (view.guard(dst), scalar) {
                said.iter().for_each(|object| update.state.heap.add_guard(*object, to));
            }
        }
        Passed::Bytes(size, cells) if size == dst.size && view.is_strong(&places) => {
            update.paste(&places, size, cells);
        }
        Passed::Bytes(size, cells) if size == dst.size && is_whole(&cells, size) => {
            update.scramble(&places, false, Some(size));
        }
        Passed::Scalar(..) | Passed::Bytes(..) | Passed::Unknown => {
            if dst.scalar.is_some() {
                assign_value(&view, &mut update, dst, &places, Abstract::Any);
            } else {
                update.forget(&places, (dst.size > 0).then_some(dst.size));
            }
        }
    }
    Ok(update.state)
}

/// What callers see of the frame at the function's exit: values. A definition would have to be looked at with what is known of the
/// callee's pointers, and then a caller would depend on more of the callee than its exits.
pub fn close_frame<V: AbstractValue>(state: &mut State<V>) {
    if !state.frame.definitions.is_empty() {
        Arc::make_mut(&mut state.frame).definitions.clear();
    }
}

fn read_result<A: Arithmetic>(
    model: &Model<A>,
    exit: &State<A::Value>,
    callee: &Function,
    dst: &Lvalue,
) -> Passed<A::Value> {
    let Some(id) = callee.result else { return Passed::Unknown };
    let local = callee.local(id);
    match dst.scalar {
        Some(_) => {
            let Some(scalar) = scalar_of(local.ty, model.env.program().data_model) else {
                return Passed::Unknown;
            };
            let lvalue = Lvalue::local(id, local.ty, scalar, local.size);
            if mentions::whole_local(callee, &lvalue).is_none() {
                return Passed::Unknown;
            }
            let view = StateView::new(model, callee, exit, &NoFacts);
            let value = view.eval(&proofline_cfa::Expr::Load(lvalue)).unwrap_or(Abstract::Any);
            Passed::Scalar(scalar, value)
        }
        None if local.address_taken => match exit.memory.get(Object::Local(callee.name, id)) {
            Some(region) => slice(region, local.size),
            None => Passed::Unknown,
        },
        None => match exit.frame.local(id) {
            Some(region) => slice(region, local.size),
            None => Passed::Unknown,
        },
    }
}
