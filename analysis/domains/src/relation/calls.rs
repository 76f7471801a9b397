//! Entering and leaving functions, and blocks. A function's exit relates its result to its arguments, whoever calls; relations
//! between arguments go in with them.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{Argument, Base, Expr, Function, LocalId, Name, Object, Scalar, scalar_of};
use proofline_cpa::{BlockContext, BlockId, CallContext, NoFacts};
use proofline_program_analysis::Environment;
use smallvec::SmallVec;

use super::{
    cells::{Aliases, Named},
    filled::is_private,
    form::{Form, View},
    handed::Handed,
    numbers::whole,
    paths::{AccessPath, is_steady, retain_paths_by, retain_unwritten_paths},
    places::Place,
    state::{Null, Pointer, Relations},
    terminator::{has_tag, hold_zero},
    transfer::{Impossible, add, forget, point_all, set},
    units::Units,
    variable::{Cell, Tag, Var},
    zone::{Dim, Zone},
};

/// An argument, as its parameter receives it.
pub(super) enum Passed {
    Number(Dim, Box<Form>),
    /// And what the caller has it from.
    Pointer(LocalId, Box<Place>, Option<Var>),
}

/// What is the same for all that calls one function from another.
pub(super) struct Between<'a> {
    pub(super) env: &'a Environment,
    pub(super) call: CallContext<'a>,
    /// Parameters that the callee changes.
    pub(super) written: &'a BTreeSet<LocalId>,
    pub(super) globals: &'a BTreeSet<Name>,
    /// The pointers in memory that the caller reads.
    pub(super) named: &'a [Named],
    /// The caller's access paths.
    pub(super) paths: &'a [AccessPath],
}

impl Between<'_> {
    fn view<'v>(&'v self, state: &'v Relations, globals: &'v BTreeSet<Name>) -> View<'v> {
        View::new(self.env.program(), self.call.at.function, state, &NoFacts, globals, self.paths)
    }

    /// Forgets the caller's paths which the call may have changed.
    fn retain_paths(&self, state: &mut Relations, exit: &Relations) {
        let (env, caller) = (self.env, self.call.at.function);
        if !state.has_paths() {
            return;
        }
        if exit.frees {
            state.retain_paths(|_| false);
            return;
        }
        retain_unwritten_paths(state, self.paths, env.writes(self.call.callee.name));
        let Some(dst) = &self.call.call.dst else { return };
        match whole(env.program(), caller, dst) {
            Some((id, _)) => retain_paths_by(state, self.paths, &|other| other != id),
            None => {
                let there = env.targets(caller.name, &Expr::Address(dst.clone()));
                retain_unwritten_paths(state, self.paths, &there.objects);
            }
        }
    }
}

pub(super) fn passed(view: &View<'_>, callee: &Function, call: CallContext<'_>) -> Vec<Passed> {
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
                Some(Passed::Number(Dim::Value(Var::Local(*id), ty), Box::new(view.form(value)?)))
            }
            Scalar::Pointer => Some(Passed::Pointer(*id, Box::new(view.place(value)?), view.base(value))),
            Scalar::Int(_) | Scalar::Float(_) => None,
        }
    });
    known.collect()
}

/// From the call's source to the callee's entry.
pub(super) fn enter(between: &Between<'_>, from: &Relations) -> Result<Relations, Impossible> {
    let (caller, callee) = (between.call.at.function, between.call.callee);
    let view = between.view(from, between.globals);
    let at_call = Some((caller.name, between.call.at.id));
    let mut state = Relations::new(callee.name, at_call, Some(Arc::new(from.clone())));
    let passed = passed(&view, callee, between.call);
    let handed = Handed::new(between, &view, &passed);
    let mut numbers: Vec<(Dim, &Form)> = Vec::new();
    for one in &passed {
        match one {
            Passed::Number(dim, form) => numbers.push((*dim, form)),
            Passed::Pointer(id, place, _) => {
                let var = Var::Local(*id);
                numbers.extend([(Dim::Offset(var), &place.offset), (Dim::Size(var), &place.size)]);
                numbers.extend(place.zero.as_ref().map(|zero| (Dim::Zero(var), zero)));
                numbers.extend(place.filled.as_ref().map(|filled| (Dim::Filled(var), filled)));
                let tag = match place.pointer.null {
                    Null::Always => None,
                    Null::Never | Null::Empty | Null::Any => {
                        Some(place.pointer.tag.and_then(|tag| handed.inside(tag)).unwrap_or(Tag::Passed(*id)))
                    }
                };
                let (has_zero, is_filled) = (place.zero.is_some(), place.filled.is_some());
                let units = if is_filled { place.pointer.units } else { Units::Any };
                let pointer = Pointer { tag, has_zero, is_filled, units, ..place.pointer };
                Arc::make_mut(&mut state.pointers).insert(var, pointer);
            }
        }
    }
    handed.pointers_inside(from, &mut state);
    let products = products_passed(&view, &passed);
    numbers.extend(products.iter().map(|(dim, form)| (*dim, form)));
    let zone = Arc::make_mut(&mut state.zone);
    *zone = from.zone.renamed(|dim| match dim {
        Dim::Global(..) => Some(dim),
        other => handed.number_inside(other),
    });
    let of_cells: Vec<(Dim, Form)> = from
        .zone
        .dims()
        .collect::<BTreeSet<Dim>>()
        .into_iter()
        .filter_map(|dim| Some((handed.number_inside(dim)?, view.number(dim))))
        .collect();
    let mut holds = true;
    for (x, left) in &numbers {
        holds &= relate_to_globals(zone, *x, left);
        holds &= zone.bound(*x, left.low, left.high);
        let others = numbers.iter().map(|(y, right)| (*y, *right));
        let cells = of_cells.iter().map(|(y, right)| (*y, right));
        for (y, right) in others.filter(|(y, _)| y != x).chain(cells) {
            let range = |least: &Form, most: &Form| most.high.saturating_sub(least.low);
            let most = view.distance(left, right);
            if most < range(right, left) {
                holds &= zone.constrain(*x, y, most);
            }
            // (Numbers have their turn the other way round as well.)
            let most = view.distance(right, left);
            if y.cell().is_some() && most < range(left, right) {
                holds &= zone.constrain(y, *x, most);
            }
        }
    }
    holds &= first_values(zone, &numbers, between.written);
    state.drop_untracked();
    if holds { Ok(state) } else { Err(Impossible) }
}

/// The products of parameters whose arguments are held where something is known of the product.
fn products_passed(view: &View<'_>, passed: &[Passed]) -> Vec<(Dim, Form)> {
    let known: BTreeSet<Dim> = view.state.zone.dims().filter(|dim| matches!(dim, Dim::Product(..))).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let numbers = passed.iter().filter_map(|one| {
        let Passed::Number(Dim::Value(Var::Local(id), ty), form) = one else { return None };
        let [(Dim::Value(argument, of), 0)] = form.above[..] else { return None };
        (form.above == form.below).then_some(((Var::Local(*id), *ty), (argument, of)))
    });
    let numbers: Vec<_> = numbers.collect();
    let mut products = Vec::new();
    for (nth, (x, a)) in numbers.iter().enumerate() {
        for (y, b) in &numbers[nth..] {
            let outside = Dim::product(*a, *b);
            if known.contains(&outside) {
                products.push((Dim::product(*x, *y), view.number(outside)));
            }
        }
    }
    products
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
        Dim::Value(Var::Local(id), ty) if written.contains(&id) => Some(Dim::First(id, ty)),
        Dim::Offset(Var::Local(id)) if written.contains(&id) => Some(Dim::FirstOffset(id)),
        Dim::Value(..) | Dim::Offset(_) => Some(dim),
        Dim::Twice(..)
        | Dim::Product(..)
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
    between: &Between<'_>,
    at_call: &Relations,
    exit: &Relations,
) -> Result<Relations, Impossible> {
    let Between { env, call, written, globals, .. } = *between;
    let (caller, callee) = (call.at.function, call.callee);
    let aliases = Aliases { env, function: caller, named: between.named, paths: between.paths };
    let mut state = exit.below.as_deref().unwrap_or(at_call).clone();
    // What the caller had from the call when it was here last has another name before anything is said of what the call has allocated now.
    let is_new = |pointer: &Pointer| matches!(pointer.tag, Some(Tag::Allocated { on_heap: true, .. }));
    let allocates = exit.pointers.values().any(is_new);
    if allocates {
        state.allocates(call.at.id);
    }
    let before = state.clone();
    if exit.frees {
        state.frees = true;
        state.retain_pointers(|var, pointer| {
            let is_named = matches!(pointer.tag, Some(Tag::Named(_)));
            is_named || pointer.null == Null::Always || !aliases.may_end(&before, var)
        });
    }
    wrote(&aliases, &mut state, callee, exit.frees);
    let kept = unwritten(env, callee, globals);
    global_values(&mut state, exit, &kept);
    // Of other globals the arguments had the values from before.
    let view = between.view(&before, &kept);
    let mut passed = passed(&view, callee, call);
    let mut handed = Handed::new(between, &view, &passed);
    // By reference: rustc 1.95 lets a closure change an argument that another is given, too (`cargo xtask rust-call`).
    let is_lost = |cell: &Cell| aliases.may_be_written(*cell, env.writes(callee.name));
    state.retain_cells(|cell| !is_lost(&cell));
    between.retain_paths(&mut state, exit);
    let in_memory = call.call.dst.as_ref().filter(|dst| view.whole(dst).is_none());
    let is_hidden = |cell: &Cell| {
        in_memory.is_some_and(|dst| !aliases.written_by_result(&view, [*cell].into(), dst).is_empty())
    };
    if let Some(dst) = in_memory {
        state.retain_units(|var| var.local().is_some_and(|id| caller.local(id).ty.pointee().is_none()));
        state.lose_zeros(|_| true);
        state.lose_values(|_| true);
        let lost = aliases.written_by_result(&view, state.cells(), dst);
        state.retain_cells(|cell| !lost.contains(&cell));
        handed.result(&view, callee, dst);
    }
    handed.ends(exit, is_lost, is_hidden);
    let has_path = |var: Var| matches!(var, Var::Path(_)) && !state.knows(var);
    let is_old = |dim: Dim| {
        dim.cells().any(|cell| is_lost(&cell) || is_hidden(&cell)) || dim.var().is_some_and(has_path)
    };
    passed.iter_mut().for_each(|one| one.forget(is_old));
    if allocates {
        handed.allocates(call.at.id, exit, callee.result);
    }
    left(&view, &mut state, exit, &passed, written)?;
    let received = |dim: &Dim| received(&exit.zone, *dim, &passed, written, &handed);
    handed.cells_outside(exit, &mut state, &received)?;
    let Some(dst) = &call.call.dst else { return Ok(state) };
    let result = callee.result.filter(|id| {
        let local = callee.local(*id);
        !local.address_taken && scalar_of(local.ty, env.program().data_model) == dst.scalar
    });
    let is_named = !matches!(dst.base, Base::Deref(..));
    // (What holds the number of anything else is one of the holders, if it is still there.)
    let is_global = |dim: &Dim| matches!(dim, Dim::Global(..));
    let number = between.view(&before, globals).dim(dst).filter(is_global);
    let there = &env.targets(caller.name, &Expr::Address(dst.clone())).objects;
    let is_there = |var: &Var| match var {
        Var::Local(_) | Var::Cell(_) => is_named,
        Var::Path(_) => {
            let written = env.writes(callee.name);
            is_steady(between.paths, *var, dst, written) && is_steady(between.paths, *var, dst, there)
        }
    };
    let holders: SmallVec<[Var; 2]> = view.variables(dst).into_iter().filter(is_there).collect();
    if let (Some(result), Some(Scalar::Int(ty))) = (result, dst.scalar)
        && ty.bits <= 64
        && (number.is_some() || !holders.is_empty())
    {
        let form = received(&Dim::Value(Var::Local(result), ty));
        let of_holders = holders.iter().map(|var| Dim::Value(*var, ty));
        let numbers: BTreeSet<Dim> = number.into_iter().chain(of_holders).collect();
        set(&mut state, &numbers.into_iter().map(|dim| (dim, &form)).collect::<Vec<_>>())?;
        state.drop_untracked();
        return Ok(state);
    }
    let (Some(result), Some(scalar), false) = (result, dst.scalar, holders.is_empty()) else {
        forget(&mut state, dst);
        return Ok(state);
    };
    match scalar {
        Scalar::Pointer => match place(exit, Var::Local(result), &received, &passed, &handed) {
            Some(place) => {
                point_all(&mut state, &holders, &place)?;
                for to in &holders {
                    related(&mut state, *to, exit, Var::Local(result))?;
                }
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
fn related(state: &mut Relations, to: Var, exit: &Relations, result: Var) -> Result<(), Impossible> {
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
    let nothing = Handed::default();
    for one in passed {
        let Passed::Pointer(id, place, base) = one else { continue };
        let var = Var::Local(*id);
        let Some(known) = exit.pointers.get(&var).filter(|_| !written.contains(id)) else { continue };
        let is_same = matches!(known.tag, Some(Tag::Passed(_))) && known.unit == place.pointer.unit;
        let is_one = |holder: &Var, pointer: &Pointer| {
            pointer.unit == place.pointer.unit && (has_tag(view, *holder, place) || Some(*holder) == *base)
        };
        let holders: Vec<(Var, Pointer)> = state
            .pointers
            .iter()
            .filter(|(holder, pointer)| is_same && is_one(holder, pointer))
            .map(|(holder, pointer)| (*holder, *pointer))
            .collect();
        for (holder, pointer) in holders {
            if known.has_zero && !pointer.has_zero {
                let mut zero = received(&exit.zone, Dim::Zero(var), passed, written, &nothing);
                if matches!(place.pointer.tag, Some(Tag::Named(_))) {
                    zero.high = zero.high.min(place.size.high - 1);
                }
                hold_zero(state, holder, &zero)?;
            }
            if known.is_filled && !pointer.is_filled {
                let filled = received(&exit.zone, Dim::Filled(var), passed, written, &nothing);
                set(state, &[(Dim::Filled(holder), &filled)])?;
                if let Some(pointer) = Arc::make_mut(&mut state.pointers).get_mut(&holder) {
                    (pointer.is_filled, pointer.units) = (true, known.units);
                }
            }
        }
    }
    Ok(())
}

/// Of what the callee may have written neither zeros nor values are known any more.
fn wrote(aliases: &Aliases<'_>, state: &mut Relations, callee: &Function, is_clobbered: bool) {
    let written = aliases.env.writes(callee.name);
    if written.is_empty() && !is_clobbered {
        return;
    }
    state.retain_units(|var| var.local().is_some_and(|id| aliases.function.local(id).ty.pointee().is_none()));
    let is_anything = is_clobbered || written.contains(&Object::External);
    let pointers = state.pointers.keys().copied();
    let lost = pointers.filter(|var| is_anything || aliases.holds_one_of(state, *var, written));
    let lost: Vec<Var> = lost.filter(|var| !is_private(aliases.function, *var)).collect();
    state.lose_zeros(|var| lost.contains(&var));
    state.lose_values(|var| lost.contains(&var));
}

impl Passed {
    /// Arguments had the values from before the call: they are compared with no number of which `is_lost` holds, for that may be another one now.
    fn forget(&mut self, is_lost: impl Fn(Dim) -> bool) {
        match self {
            Passed::Number(_, form) => form.forget(is_lost),
            Passed::Pointer(_, place, _) => place.forget(is_lost),
        }
    }
}

/// A number of the exit, by what was passed, and by what is known of cells behind the call.
fn received(zone: &Zone, dim: Dim, passed: &[Passed], written: &BTreeSet<LocalId>, handed: &Handed) -> Form {
    let (low, high) = zone.bounds(dim);
    let mut form = Form::between(low, high);
    let outside = |other: Dim| match other {
        Dim::Global(..) => Some(other),
        _ => handed.number_outside(other),
    };
    for (x, y, most) in zone.differences() {
        if x == dim
            && let Some(y) = outside(y)
        {
            form.above.push((y, most));
        } else if y == dim
            && let Some(x) = outside(x)
        {
            form.below.push((x, most));
        }
    }
    let arguments = passed.iter().map(|one| match one {
        Passed::Number(dim, form) => (*dim, &**form),
        Passed::Pointer(id, place, _) => (Dim::Offset(Var::Local(*id)), &place.offset),
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
    result: Var,
    received: &dyn Fn(&Dim) -> Form,
    passed: &[Passed],
    handed: &Handed,
) -> Option<Place> {
    let pointer = *exit.pointers.get(&result)?;
    let offset = received(&Dim::Offset(result));
    let zero = pointer.has_zero.then(|| received(&Dim::Zero(result)));
    let filled = pointer.is_filled.then(|| received(&Dim::Filled(result)));
    let own = |pointer: Pointer| Place {
        pointer,
        offset: offset.clone(),
        size: received(&Dim::Size(result)),
        zero: zero.clone(),
        filled: filled.clone(),
    };
    match pointer.tag {
        None => (pointer.null == Null::Always).then(|| own(pointer)),
        Some(Tag::Passed(id)) => {
            let argument = passed.iter().find_map(|one| match one {
                Passed::Pointer(parameter, place, _) if *parameter == id => Some(place),
                Passed::Pointer(..) | Passed::Number(..) => None,
            })?;
            // The size is the argument's, also where the result is null.
            let null = if pointer.null == Null::Never { Null::Never } else { Null::Any };
            let pointer = Pointer { tag: argument.pointer.tag, null, ..pointer };
            let is_same = argument.pointer.unit == pointer.unit;
            is_same.then(|| Place { pointer, offset, size: argument.size.clone(), zero, filled })
        }
        Some(
            tag @ (Tag::Allocated { on_heap: true, .. }
            | Tag::Named(Object::Global(_))
            | Tag::Behind(..)
            | Tag::Left(..)),
        ) => Some(own(Pointer { tag: handed.outside(tag), ..pointer })),
        Some(Tag::Allocated { on_heap: false, .. } | Tag::Named(_) | Tag::Older(..)) => None,
    }
}

/// `reduce`
pub(super) fn reduce(entry: &Relations, block: BlockContext<'_>) -> Relations {
    let mut state = Relations { below: None, called_at: None, frees: false, ..entry.clone() };
    if let (BlockId::Loop(..), Some(locals)) = (block.id, block.locals) {
        let is_inside = |var: Var| var.local().is_some_and(|id| locals.contains(&id));
        let is_outside = |dim: Dim| !dim.var().is_some_and(is_inside);
        if state.zone.mentions(is_outside) {
            Arc::make_mut(&mut state.zone).retain(|dim| !is_outside(dim));
        }
        state.retain_pointers(|var, _| is_inside(var));
        state.retain_units(is_inside);
        state.retain_paths(|_| false);
        state.retain_rests(|var, of| is_inside(var) && is_inside(of));
    }
    state
}

/// `expand`
pub(super) fn expand(before: &Relations, block: BlockContext<'_>, exit: &Relations) -> Relations {
    let frees = before.frees || exit.frees;
    let mut state =
        Relations { below: before.below.clone(), called_at: before.called_at, frees, ..exit.clone() };
    let (BlockId::Loop(..), Some(locals)) = (block.id, block.locals) else { return state };
    let is_outside = |var: Var| var.local().is_some_and(|id| !locals.contains(&id));
    let mut rest = before.clone();
    if exit.frees {
        rest.freed();
    }
    rest.retain_pointers(|var, pointer| {
        let lives = match pointer.tag {
            Some(Tag::Named(Object::Local(_, id))) => !locals.contains(&id),
            Some(Tag::Allocated { on_heap, .. }) => on_heap,
            Some(Tag::Named(_) | Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..)) => true,
            Some(Tag::Older(..)) | None => pointer.null == Null::Always,
        };
        lives && is_outside(var)
    });
    // The loop may have written there.
    rest.lose_zeros(|_| true);
    rest.lose_values(|_| true);
    Arc::make_mut(&mut rest.zone).retain(|dim| dim.var().is_some_and(is_outside));
    Arc::make_mut(&mut state.zone).add_all(&rest.zone);
    for (var, pointer) in rest.pointers.iter() {
        // The loop may have allocated there once more.
        let tag = pointer.tag.filter(|tag| !matches!(tag, Tag::Allocated { .. } | Tag::Older(..)));
        Arc::make_mut(&mut state.pointers).insert(*var, Pointer { tag, ..*pointer });
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
