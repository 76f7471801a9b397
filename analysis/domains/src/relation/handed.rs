//! Which cells of a caller a function sees, and under which names: those of objects that pointers lead to which it is given, of globals, of structures
//! that are passed by value, and of what pointers in these lead to. At its end its cells become the caller's again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Argument, Base, EdgeId, Function, LocalId, Lvalue, Name, Object};

use super::{
    calls::{Between, Passed},
    form::{Form, View},
    state::{Null, Pointer, Relations},
    transfer::{Impossible, Result, add},
    variable::{Cell, Tag, Var},
    zone::Dim,
};

/// An object that caller and callee know.
#[derive(Clone, Copy, Debug)]
struct Known {
    outside: Tag,
    inside: Tag,
    /// What the callee calls the start is so many bytes behind what the caller calls so.
    shift: u32,
    /// So many bytes are handed over.
    size: u32,
    way: Way,
}

/// Who sees what of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Both see the same object.
    Same,
    /// The callee gets a copy.
    In,
    /// The caller gets a copy.
    Out,
}

/// The objects that caller and callee know.
#[derive(Clone, Default, Debug)]
pub(super) struct Handed {
    known: Vec<Known>,
    /// What the callee allocated, as the caller calls it.
    allocated: BTreeMap<Tag, Tag>,
    /// Objects, as the caller calls them, that are as they were.
    unchanged: BTreeSet<Tag>,
    /// Cells of the caller's where the result has gone.
    hidden: BTreeSet<Cell>,
}

impl Handed {
    /// At a call, as the caller sees it.
    pub(super) fn new(between: &Between<'_>, view: &View<'_>, passed: &[Passed]) -> Handed {
        let mut handed = Handed::default();
        let callee = between.call.callee;
        for one in passed {
            if let Passed::Pointer(id, place, _) = one
                && let Some(tag) = place.pointer.tag
            {
                handed.shares(tag, Tag::Passed(*id));
            }
        }
        let cells = view.state.cells();
        let (reads, writes) = (between.env.reads(callee.name), between.env.writes(callee.name));
        let may_touch = |name: Name| {
            let touches = |objects: &BTreeSet<Object>| {
                objects.contains(&Object::Global(name)) || objects.contains(&Object::External)
            };
            touches(reads) || touches(writes)
        };
        for cell in &cells {
            if let Tag::Named(Object::Global(name)) = cell.of
                && may_touch(name)
            {
                handed.shares(cell.of, cell.of);
            }
        }
        for (id, argument) in callee.parameters.iter().zip(&between.call.call.arguments) {
            if let Argument::Aggregate(lvalue) = argument {
                handed.copies(view, lvalue, Tag::Named(Object::Local(callee.name, *id)), Way::In);
            }
        }
        for cell in &cells {
            let pointer = view.state.pointers.get(&Var::Cell(*cell));
            if let Some(tag) = pointer.and_then(|pointer| pointer.tag)
                && let Some(name) = handed.cell_inside(*cell).and_then(behind)
            {
                handed.shares(tag, name);
            }
        }
        handed
    }

    fn shares(&mut self, outside: Tag, inside: Tag) {
        if self.inside(outside).is_none() {
            self.known.push(Known { outside, inside, shift: 0, size: u32::MAX, way: Way::Same });
        }
    }

    /// A structure of the caller's is copied, if nothing else leads to it.
    fn copies(&mut self, view: &View<'_>, lvalue: &Lvalue, inside: Tag, way: Way) {
        let Some(span) = view.span(lvalue).filter(|span| self.inside(span.of).is_none()) else { return };
        if let (Ok(shift), Ok(size)) = (u32::try_from(span.first), u32::try_from(span.end - span.first))
            && u64::from(size) == lvalue.size
        {
            self.known.push(Known { outside: span.of, inside, shift, size, way });
        }
    }

    /// The callee gives a structure that goes there.
    pub(super) fn result(&mut self, view: &View<'_>, callee: &Function, dst: &Lvalue) {
        let is_direct = !matches!(dst.base, Base::Deref(..)) && dst.scalar.is_none();
        if let Some(id) = callee.result.filter(|_| is_direct) {
            self.copies(view, dst, Tag::Named(Object::Local(callee.name, id)), Way::Out);
        }
    }

    /// The callee has allocated objects, to which its pointers lead: `result` first, if it gives the address of one.
    pub(super) fn allocates(&mut self, at: EdgeId, exit: &Relations, result: Option<LocalId>) {
        let is_new = |tag: &Tag| matches!(tag, Tag::Allocated { on_heap: true, .. });
        let given = result.and_then(|id| exit.pointers.get(&Var::Local(id))?.tag).filter(is_new);
        let all: BTreeSet<Tag> = exit.pointers.values().filter_map(|p| p.tag).filter(is_new).collect();
        let others = all.into_iter().filter(|tag| Some(*tag) != given);
        let numbers = given.into_iter().map(|tag| (tag, 0)).chain(others.zip(1..));
        self.allocated = numbers.map(|(tag, nth)| (tag, Tag::Allocated { at, nth, on_heap: true })).collect();
    }

    /// The callee ends. `is_lost`: it may have written there; `is_hidden`: its result has gone there.
    pub(super) fn ends(
        &mut self,
        exit: &Relations,
        is_lost: impl Fn(&Cell) -> bool,
        is_hidden: impl Fn(&Cell) -> bool,
    ) {
        let shared = self.known.iter().filter(|known| known.way == Way::Same).map(|known| known.outside);
        self.unchanged = shared.filter(|of| !is_lost(&Cell { of: *of, at: 0, size: 1 })).collect();
        let seen = exit.cells().into_iter().filter(|cell| !self.is_result(*cell));
        self.hidden =
            seen.filter_map(|cell| self.cell_outside(cell)).filter(|cell| is_hidden(cell)).collect();
    }

    fn is_result(&self, cell: Cell) -> bool {
        self.known.iter().any(|known| known.way == Way::Out && known.inside == cell.of)
    }

    /// The callee's name for an object.
    pub(super) fn inside(&self, tag: Tag) -> Option<Tag> {
        let known = self.known.iter().find(|known| known.way == Way::Same && known.outside == tag)?;
        Some(known.inside)
    }

    /// The caller's name for an object.
    pub(super) fn outside(&self, tag: Tag) -> Option<Tag> {
        match tag {
            Tag::Allocated { .. } => self.allocated.get(&tag).copied(),
            // A name in every frame.
            Tag::Named(Object::Global(_)) => Some(tag),
            Tag::Named(_) | Tag::Passed(_) | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..) => {
                let known = self.known.iter().find(|known| known.way == Way::Same && known.inside == tag)?;
                Some(known.outside)
            }
        }
    }

    fn cell_inside(&self, cell: Cell) -> Option<Cell> {
        self.known.iter().filter(|known| known.way != Way::Out && known.outside == cell.of).find_map(
            |known| {
                let at = cell.at.checked_sub(known.shift)?;
                (at.checked_add(cell.size)? <= known.size).then_some(Cell {
                    of: known.inside,
                    at,
                    size: cell.size,
                })
            },
        )
    }

    /// What the caller calls a cell of the callee's, if that has the same value now.
    fn seen_outside(&self, cell: Cell) -> Option<Cell> {
        self.cell_outside(cell).filter(|outside| self.is_result(cell) || !self.hidden.contains(outside))
    }

    fn cell_outside(&self, cell: Cell) -> Option<Cell> {
        let mut copied = self.known.iter().filter(|known| known.way == Way::Out && known.inside == cell.of);
        let copied = copied.find_map(|known| {
            let at = cell.at.checked_add(known.shift)?;
            (cell.at.checked_add(cell.size)? <= known.size).then_some(Cell {
                of: known.outside,
                at,
                size: cell.size,
            })
        });
        copied.or_else(|| Some(Cell { of: self.outside(cell.of)?, ..cell }))
    }

    /// A number of the caller's, as the callee calls it.
    pub(super) fn number_inside(&self, dim: Dim) -> Option<Dim> {
        held(dim, |cell| self.cell_inside(cell))
    }

    /// A number of the callee's, as the caller calls it. What is known of where an unchanged pointer leads the caller knows.
    pub(super) fn number_outside(&self, dim: Dim) -> Option<Dim> {
        let is_value = matches!(dim, Dim::Value(..) | Dim::Twice(..) | Dim::Product(..));
        held(dim, |cell| {
            let cell = self.seen_outside(cell)?;
            (is_value || !self.unchanged.contains(&cell.of)).then_some(cell)
        })
    }

    /// The callee's pointers in memory, without their numbers.
    pub(super) fn pointers_inside(&self, from: &Relations, state: &mut Relations) {
        for (var, pointer) in from.pointers.iter() {
            let Some(cell) = var.cell().and_then(|cell| self.cell_inside(cell)) else { continue };
            let known = pointer.tag.and_then(|tag| self.inside(tag));
            let tag = known.or_else(|| behind(cell)).filter(|_| pointer.null != Null::Always);
            Arc::make_mut(&mut state.pointers).insert(Var::Cell(cell), Pointer { tag, ..*pointer });
        }
    }

    /// The caller gets to know what the callee knows at its end of cells that may have changed.
    ///
    /// # Errors
    /// [`Impossible`] if the callee does not end so.
    pub(super) fn cells_outside(
        &self,
        exit: &Relations,
        state: &mut Relations,
        received: &dyn Fn(&Dim) -> Form,
    ) -> Result<()> {
        let new = |cell: Cell| {
            let outside = self.seen_outside(cell)?;
            (self.is_result(cell) || !self.unchanged.contains(&outside.of)).then_some(outside)
        };
        let mut pointers = Vec::new();
        for (var, pointer) in exit.pointers.iter() {
            let Some(cell) = var.cell().and_then(new) else { continue };
            let is_gone = match pointer.tag {
                Some(Tag::Named(Object::Local(..)) | Tag::Allocated { on_heap: false, .. }) => true,
                Some(_) | None => false,
            };
            if !is_gone {
                pointers
                    .push((cell, Pointer { tag: pointer.tag.and_then(|tag| self.outside(tag)), ..*pointer }));
            }
        }
        let known = Arc::make_mut(&mut state.pointers);
        known.extend(pointers.into_iter().map(|(cell, pointer)| (Var::Cell(cell), pointer)));
        // By reference: rustc 1.95 lets a closure change an argument that another is given, too (`cargo xtask rust-call`).
        let number = |dim: &Dim| {
            // Of factors that have not changed it says what the product with them is.
            let factor = |cell: Cell| new(cell).or_else(|| self.seen_outside(cell));
            if dim.factors().all(|factor| factor.cell().is_some_and(|cell| new(cell).is_none())) {
                return held(*dim, new);
            }
            held(*dim, factor)
        };
        let dims: BTreeSet<Dim> = exit.zone.dims().collect();
        let zone = Arc::make_mut(&mut state.zone);
        let mut holds = true;
        for dim in dims {
            if let Some(to) = number(&dim) {
                holds &= add(zone, to, &received(&dim));
            }
        }
        state.drop_untracked();
        if holds { Ok(()) } else { Err(Impossible) }
    }
}

/// The number where the cells that it is about have other names.
fn held(dim: Dim, name: impl Fn(Cell) -> Option<Cell>) -> Option<Dim> {
    let of = |var: Var| name(var.cell()?).map(Var::Cell);
    if !is_handed(dim) {
        return None;
    }
    dim.product_held_by(of).or_else(|| Some(dim.held_by(of(dim.var()?)?)))
}

/// Numbers that are handed over.
fn is_handed(dim: Dim) -> bool {
    match dim {
        Dim::Value(..)
        | Dim::Twice(..)
        | Dim::Product(..)
        | Dim::Offset(_)
        | Dim::Size(_)
        | Dim::Zero(_)
        | Dim::Filled(_) => true,
        Dim::Global(..)
        | Dim::First(..)
        | Dim::FirstOffset(_)
        | Dim::From(_)
        | Dim::Stop(_)
        | Dim::Scratch(_) => false,
    }
}

/// The callee's name for what the pointer in a cell led to when it was called.
fn behind(cell: Cell) -> Option<Tag> {
    match cell.of {
        Tag::Passed(id) | Tag::Named(Object::Local(_, id)) => Some(Tag::Behind(id, cell.at)),
        Tag::Named(Object::Global(name)) => Some(Tag::Left(name, cell.at)),
        Tag::Named(_) | Tag::Allocated { .. } | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..) => None,
    }
}
