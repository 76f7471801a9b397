//! Which heap objects something still refers to, in a running program: objects with static storage, open frames, memory of the callers,
//! and code outside of the program, which may keep every address that it was handed.

use std::collections::BTreeSet;

use proofline_cfa::{Expr, Linkage, Name, Role, eval::Value};

use super::{
    code::FunctionCode,
    machine::{Machine, Step, stuck},
    memory::{Area, Extent, Provenance},
    oracle::Oracle,
};

impl<'c, O: Oracle> Machine<'c, O> {
    /// Code outside gets these pointers: what can be reached from them, and from objects that such code knows by name, it may keep or
    /// give back.
    pub(super) fn hand_over(&mut self, code: &'c FunctionCode, pointers: &'c [Expr]) -> Step<()> {
        if self.heap().next().is_none() {
            return Ok(());
        }
        let mut roots = Vec::new();
        for pointer in pointers {
            if let Value::Int(address) = self.eval(code, pointer)? {
                roots.extend(self.living(address as u64));
            }
        }
        let program = &self.code.program;
        let is_named =
            |name: &Name| program.globals.get(name).is_some_and(|of| of.linkage == Linkage::External);
        let is_exported = |name: &Name| is_named(name) || program.shared.contains(name);
        let exported: Vec<u64> =
            self.globals.iter().filter(|(name, _)| is_exported(name)).map(|(_, base)| *base).collect();
        roots.extend(exported.into_iter().filter_map(|base| self.living(base)));
        let reached = self.reachable(roots);
        self.handed_over.extend(reached);
        Ok(())
    }

    /// A live heap object that was allocated since the innermost frame began and cannot be reached any more, counting only the results of so many of
    /// the innermost frames; of none: of all live heap objects of the program.
    pub(super) fn lost(&self, frames: usize) -> Step<Option<Extent>> {
        if self.heap().next().is_none() {
            return Ok(None);
        }
        let since = if frames == 0 { &self.frames[0] } else { self.frame() };
        let (Some(from), true) = (since.heap_from, self.memory.next_on_heap().is_some()) else {
            return stuck("more objects than there are places for");
        };
        let is_root = |extent: &Extent| {
            extent.area == Area::Static
                || self.made_up.contains(&extent.base)
                || self.handed_over.contains(&extent.base)
        };
        let mut roots: Vec<Extent> = self.memory.live().filter(is_root).collect();
        let mut on_the_way = Vec::new();
        for (depth, frame) in self.frames.iter().rev().enumerate() {
            let code = &self.code.functions[frame.function as usize];
            let is_held =
                |at: usize| depth >= frames || code.function.result.is_some_and(|id| id.index() == at);
            let locals = frame.locals.iter().enumerate().filter(|(at, _)| is_held(*at));
            for (at, value) in locals {
                let Some(Value::Int(address)) = value else { continue };
                let is_temporary = code.function.locals[at].role == Role::Temporary;
                let held = if is_temporary { &mut on_the_way } else { &mut roots };
                held.extend(self.living(*address as u64));
            }
            let extra = frame.extra.iter().copied().filter(|_| depth >= frames);
            roots.extend(extra.filter_map(|address| self.living(address)));
        }
        let besides = |reached: &BTreeSet<u64>| {
            self.heap().find(|extent| extent.base >= from && !reached.contains(&extent.base))
        };
        if besides(&self.reachable(roots.clone())).is_none() {
            return Ok(None);
        }
        roots.extend(on_the_way);
        match besides(&self.reachable(roots)) {
            None => stuck("what is not in a variable yet may be on its way to one"),
            lost => Ok(lost),
        }
    }

    /// Whether no heap object is alive. Of one that code outside has got, nobody knows.
    pub(super) fn is_nothing_left(&self) -> Step<bool> {
        let mut left = self.heap().peekable();
        if left.peek().is_some() && left.all(|extent| self.handed_over.contains(&extent.base)) {
            return stuck("code that is not here may have freed what it was given");
        }
        Ok(self.heap().next().is_none())
    }

    /// The live heap objects, without those of the callers.
    fn heap(&self) -> impl Iterator<Item = Extent> {
        let is_own = |extent: &Extent| extent.area == Area::Heap && !self.made_up.contains(&extent.base);
        self.memory.live().filter(is_own)
    }

    fn living(&self, address: u64) -> Option<Extent> {
        match self.memory.provenance(address) {
            Provenance::Live(extent) => Some(extent),
            Provenance::Ended(_) | Provenance::Nothing => None,
        }
    }

    /// The bases of all objects that pointers lead to, from these objects on.
    pub(super) fn reachable(&self, mut open: Vec<Extent>) -> BTreeSet<u64> {
        let mut reached = BTreeSet::new();
        while let Some(extent) = open.pop() {
            if reached.insert(extent.base) {
                let pointers =
                    self.memory.pointers_in(extent.base, u64::from(self.semantics.pointer_bits / 8));
                open.extend(pointers.into_iter().filter_map(|address| self.living(address)));
            }
        }
        reached
    }
}
