//! What a function does with what its parameters point to: how far it reads and writes, as what it passes it on, what it follows.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Callee, CompareOp, Expr, Function, Lvalue, MemoryPredicate, Obligation, Op, Scalar, visit,
};
use proofline_program_analysis::Environment;

use super::super::{
    Asked, Contracts, Memory, at_call, obligations,
    origin::{Origin, Origins, whole_pointer},
};
use super::parameters::{factors, over_parameters};
use crate::checks::invalid_stream;

/// What a function does with what a parameter points to.
#[derive(Default, Debug)]
pub(super) struct Uses {
    /// Bytes from where it points that are used, as far as they are the same in each run.
    pub(super) bytes: i128,
    /// At places that differ from run to run.
    pub(super) varies: bool,
    /// As a string.
    pub(super) ends: bool,
    /// It is written.
    pub(super) written: bool,
    /// Pointers are read from it, and followed.
    pub(super) follows: bool,
    /// It is followed at all.
    pub(super) is_used: bool,
    /// What functions that get it ask for.
    pub(super) passed: Vec<Memory>,
    /// How many bytes an element has.
    pub(super) stride: Option<u64>,
    /// What numbers of rows are multiplied with in its places: how long a row is.
    pub(super) widths: BTreeSet<Expr>,
    /// Sizes that library functions are given with it.
    pub(super) sizes: Vec<Expr>,
    /// Other parameters that it is compared with.
    pub(super) compared: BTreeSet<usize>,
    /// It moves back: it was behind what it leads to.
    pub(super) moves_back: bool,
    /// Library functions get it as a stream, of which they ask that it is one.
    pub(super) is_stream: bool,
}

/// Looks through a function for it.
pub(super) struct Look<'a> {
    pub(super) env: &'a Environment,
    pub(super) function: &'a Function,
    pub(super) origins: &'a Origins<'a>,
    pub(super) callees: &'a Contracts,
    pub(super) uses: &'a mut BTreeMap<usize, Uses>,
}

impl Look<'_> {
    pub(super) fn operation(&mut self, op: &Op) {
        if let Op::Assume(condition) = op {
            self.demands(condition);
        }
        visit::mentions(op, &mut |mention| {
            if let visit::Mention::Write(Lvalue { base: Base::Deref(pointer, _), .. }) = mention
                && let Some(place) = self.origins.place(pointer)
                && let Origin::Parameter(at) = place.origin
            {
                self.uses.entry(at).or_default().written = true;
            }
        });
        if let Op::Assign(dst, value) = op
            && let Some(id) = whole_pointer(self.function, dst)
            && matches!(self.origins.place(value).map(|place| place.origin), Some(Origin::Loaded(_)))
            && let Some((_, Origin::Parameter(at))) = self.origins.locals().find(|(local, _)| *local == id)
        {
            let uses = self.uses.entry(at).or_default();
            (uses.follows, uses.is_used) = (true, true);
        }
        if let Op::Assign(dst, value) = op
            && whole_pointer(self.function, dst).is_some()
            && let Some(place) = self.origins.place(value)
            && let Origin::Parameter(at) = place.origin
        {
            self.uses.entry(at).or_default().moves_back |= place.offset.bytes < 0;
        }
        if let Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) = op
            && let Some(place) = self.origins.place(to)
            && let Origin::Parameter(at) = place.origin
        {
            self.uses.entry(at).or_default().written = true;
        }
        if let Op::Call(call) = op
            && let Callee::Direct(name) = call.callee
            && let (Some(contract), Some(body)) = (self.callees.get(&name), self.env.function(name))
        {
            let arguments = obligations::values(call);
            for (parameter, asked) in &contract.pointers {
                let Some(value) = arguments.get(*parameter).copied().flatten() else { continue };
                self.passed(body, &arguments, value, asked);
            }
        }
    }

    /// Parameters that must not be null where library functions get them as streams.
    pub(super) fn streams(&mut self) {
        let is_one = |obligation: &&Obligation| invalid_stream::CHECK.is(obligation.check);
        for obligation in self.function.obligations.iter().filter(is_one) {
            for edge in self.function.edges.iter().filter(|edge| edge.to == obligation.error) {
                if let Op::Assume(Expr::Compare(CompareOp::Eq, stream, null)) = &edge.op
                    && **null == Expr::Null
                    && let Some(place) = self.origins.place(stream)
                    && let Origin::Parameter(at) = place.origin
                {
                    let uses = self.uses.entry(at).or_default();
                    (uses.is_stream, uses.is_used) = (true, true);
                }
            }
        }
    }

    fn passed(&mut self, callee: &Function, arguments: &[Option<&Expr>], value: &Expr, asked: &Asked) {
        let Some(place) = self.origins.place(value) else { return };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) => return self.follows(value),
            Origin::Allocated | Origin::Room => return,
        };
        if !place.offset.is_zero() && place.local.is_none() {
            return;
        }
        let uses = self.uses.entry(at).or_default();
        uses.is_used = true;
        let memory = match &asked.memory {
            Memory::Until(end) => {
                let end = arguments.get(*end).copied().flatten().and_then(|end| self.origins.place(end));
                match end.map(|end| (end.origin, end.offset.is_zero())) {
                    Some((Origin::Parameter(end), true)) if end != at => {
                        uses.compared.insert(end);
                    }
                    _ => {}
                }
                None
            }
            Memory::Elements(count, stride) => {
                uses.stride = Some(*stride);
                match at_call(callee, count, arguments) {
                    Some(Expr::Int(count, _)) => {
                        let bytes = u64::try_from(count).ok().and_then(|count| count.checked_mul(*stride));
                        bytes.map(Memory::Bytes)
                    }
                    Some(count) if over_parameters(self.function, &count) => {
                        Some(Memory::Elements(count, *stride))
                    }
                    Some(_) | None => None,
                }
            }
            // What it gives back is tried by itself.
            Memory::Tree(_) => {
                uses.follows = true;
                None
            }
            Memory::Allocated => return,
            Memory::Nothing | Memory::Bytes(_) | Memory::String | Memory::Structure => {
                Some(asked.memory.clone())
            }
        };
        match memory {
            Some(Memory::Bytes(bytes)) if place.offset.is_zero() => {
                uses.bytes = uses.bytes.max(i128::from(bytes))
            }
            Some(memory) if place.offset.is_zero() => uses.passed.push(memory),
            Some(Memory::String) => uses.ends = true,
            Some(_) | None => uses.varies = true,
        }
    }

    /// Conditions on memory, of obligations.
    fn demands(&mut self, condition: &Expr) {
        visit::walk(condition, &mut |part| match part {
            Expr::Memory(predicate, pointer, size) => self.demand(*predicate, pointer, size),
            Expr::Compare(_, lhs, rhs) if lhs.scalar() == Scalar::Pointer && **rhs != Expr::Null => {
                let origin = |pointer: &Expr| match self.origins.place(pointer)?.origin {
                    Origin::Parameter(at) => Some(at),
                    Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
                };
                if let (Some(a), Some(b)) = (origin(lhs), origin(rhs))
                    && a != b
                {
                    self.uses.entry(a).or_default().compared.insert(b);
                    self.uses.entry(b).or_default().compared.insert(a);
                }
            }
            Expr::Compare(_, pointer, null) if **null == Expr::Null => {
                if let Some(place) = self.origins.place(pointer)
                    && let Origin::Parameter(at) = place.origin
                {
                    self.uses.entry(at).or_default();
                }
            }
            _ => {}
        });
    }

    fn demand(&mut self, predicate: MemoryPredicate, pointer: &Expr, size: &Expr) {
        let Some(place) = self.origins.place(pointer) else { return };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) => return self.follows(pointer),
            Origin::Allocated | Origin::Room => return,
        };
        let uses = self.uses.entry(at).or_default();
        match predicate {
            MemoryPredicate::Terminated => (uses.ends, uses.is_used) = (true, true),
            MemoryPredicate::InBounds => {
                uses.is_used = true;
                match (size, &place.offset.terms[..]) {
                    (Expr::Int(size, _), []) => {
                        uses.bytes = uses.bytes.max(place.offset.bytes + size);
                        uses.varies |= place.offset.bytes < 0;
                    }
                    (Expr::Int(..), [(index, stride), ..]) => {
                        uses.varies = true;
                        uses.stride = Some(*stride);
                        uses.widths.extend(factors(index));
                    }
                    (size, _) => uses.sizes.push(size.clone()),
                }
            }
            MemoryPredicate::Within
            | MemoryPredicate::SameObject
            | MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::Freeable
            | MemoryPredicate::Writable
            | MemoryPredicate::Callable
            | MemoryPredicate::Initialised
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => {}
        }
    }

    /// A pointer that was read from a structure is followed: of which parameter's, its text says.
    fn follows(&mut self, pointer: &Expr) {
        let origins = self.origins;
        let function = self.function;
        let mut seen = BTreeSet::new();
        let mut open = vec![pointer.clone()];
        while let Some(pointer) = open.pop() {
            let Some(place) = origins.place(&pointer) else { continue };
            match (place.origin, place.local) {
                (Origin::Parameter(at), _) => {
                    let uses = self.uses.entry(at).or_default();
                    (uses.follows, uses.is_used) = (true, true);
                }
                (Origin::Allocated | Origin::Room, _) => {}
                (Origin::Loaded(_), Some(id)) => {
                    if seen.insert(id) {
                        let is_it = |dst: &Lvalue| whole_pointer(function, dst) == Some(id);
                        for edge in &function.edges {
                            match &edge.op {
                                Op::Assign(dst, value) if is_it(dst) => open.push(value.clone()),
                                Op::Call(call) if call.dst.as_ref().is_some_and(is_it) => {
                                    open.extend(obligations::values(call).into_iter().flatten().cloned());
                                }
                                _ => {}
                            }
                        }
                    }
                }
                (Origin::Loaded(_), None) => {
                    if let Expr::Load(Lvalue { base: Base::Deref(pointer, _), .. }) = &place.root {
                        open.push(Expr::clone(pointer));
                    }
                }
            }
        }
    }
}
