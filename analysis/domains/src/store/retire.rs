//! Objects that end: every known pointer to one becomes unknown, wherever the state holds it. So a pointer that is known leads to an object that
//! is alive.

use std::sync::Arc;

use proofline_cfa::{LocalId, Object};

use crate::store::{
    region::{Cell, Content, Region},
    state::{Below, Frame, Memory, State},
    value::AbstractValue,
};

impl<V: AbstractValue> State<V> {
    /// Forgets every pointer that may lead to one of these objects. The result covers `self`.
    pub fn retire(&mut self, ended: &dyn Fn(Object) -> bool) {
        self.retire_below(ended);
        self.retire_locals(ended);
    }

    /// The same of objects of the innermost activation: no frame below can hold a pointer to one, because they did not exist when it was left.
    pub fn retire_locals(&mut self, ended: &dyn Fn(Object) -> bool) {
        if let Some(frame) = without(&self.frame, ended) {
            self.frame = Arc::new(frame);
        }
        let objects = self.memory.objects();
        if objects.iter().any(|(_, region)| leads_to(region, ended)) {
            let kept = objects.iter().map(|(object, region)| (*object, forgotten(region, ended)));
            self.memory = Memory::new(kept.collect());
        }
    }

    fn retire_below(&mut self, ended: &dyn Fn(Object) -> bool) {
        let (mut frames, mut rest, mut is_any) = (Vec::new(), &self.below, false);
        while let Some((frame, below)) = rest.pop() {
            let changed = without(frame, ended).map(Arc::new);
            is_any |= changed.is_some();
            frames.push(changed.unwrap_or_else(|| frame.clone()));
            rest = below;
        }
        if is_any {
            self.below = frames.into_iter().rev().fold(Below::nothing(), |below, frame| below.push(frame));
        }
    }
}

fn leads_to<V: AbstractValue>(region: &Region<V>, ended: &dyn Fn(Object) -> bool) -> bool {
    region.cells().iter().any(|cell| is_lost(cell, ended))
}

fn is_lost<V: AbstractValue>(cell: &Cell<V>, ended: &dyn Fn(Object) -> bool) -> bool {
    match &cell.content {
        Content::Zero | Content::Any => false,
        Content::Each(_, _, value) => value.may_lead_to(ended),
    }
}

fn forgotten<V: AbstractValue>(region: &Arc<Region<V>>, ended: &dyn Fn(Object) -> bool) -> Arc<Region<V>> {
    let lost: Vec<(i64, i64)> = region
        .cells()
        .iter()
        .filter(|cell| is_lost(cell, ended))
        .map(|cell| (cell.start, cell.end()))
        .collect();
    if lost.is_empty() {
        return region.clone();
    }
    let mut changed = Region::clone(region);
    lost.into_iter().for_each(|(from, to)| changed.scramble(from, to));
    Arc::new(changed)
}

/// The frame without the pointers; `None` if it has none of them.
fn without<V: AbstractValue>(frame: &Arc<Frame<V>>, ended: &dyn Fn(Object) -> bool) -> Option<Frame<V>> {
    let lost: Vec<(LocalId, Arc<Region<V>>)> =
        frame.locals.iter().filter(|(_, region)| leads_to(region, ended)).cloned().collect();
    if lost.is_empty() {
        return None;
    }
    let mut changed = Frame::clone(frame);
    for (id, region) in lost {
        changed.set_local(id, Region::clone(&forgotten(&region, ended)));
    }
    Some(changed)
}
