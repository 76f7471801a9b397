//! What a function reads through pointers gets a name: a variable that holds it from the first read until something may have written there. So what
//! is known of `p->next` behind `if (p->next)` is known at its next use, to engines that know nothing of memory without a name, and pointers in
//! structures are locals with an origin. Knows no contracts.
//!
//! **Law.** The new function has the executions of the old one, with variables beside them that nobody else sees, as far as memory is of one type (`apart`).

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, Callee, Edge, EdgeId, Expr, Function, Loc, Local, LocalId, Lvalue, Name, Object, Op,
    Role, Scalar, Site, Step, place_without_sites, visit, without_sites,
};
use proofline_program_analysis::Environment;

use super::{
    apart::{self, Access},
    record_invariants::Rooms,
    writes::Memory,
};

/// A function whose reads have names.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) function: Function,
    /// The location of the old function that each of the new one is a part of.
    of: Vec<Loc>,
    /// What stands in a variable, in the old function's words.
    reads: BTreeMap<LocalId, Lvalue>,
}

impl Named {
    /// The location of the old function that one of the new is a part of.
    pub(super) fn before(&self, loc: Loc) -> Loc {
        self.of.get(loc.index()).copied().unwrap_or(loc)
    }

    /// An expression of the new function in the words of the old one.
    pub(super) fn unnamed(&self, expr: &Expr) -> Expr {
        rewritten(expr, &|lvalue| match lvalue.base {
            Base::Local(id) if lvalue.path.is_empty() => Some(Expr::Load(self.reads.get(&id)?.clone())),
            _ => None,
        })
    }
}

/// The function with names for what it reads. (`spoken_of`: members, by record and offset, that are numbers of which something is said; `rooms`: what it leads to that is apart
/// from records that are passed.)
pub(super) fn named(
    env: &Environment,
    memory: &Memory<'_>,
    function: &Function,
    spoken_of: &BTreeSet<(Name, u64)>,
    rooms: &Rooms,
) -> Named {
    let written = RefCell::default();
    let mut reads =
        Reads { env, memory, function, spoken_of, rooms, all: Vec::new(), at: BTreeMap::new(), written };
    let mut at = reads.by_location();
    let known = reads.known(&at);
    reads.forget(&mut at, &known);
    reads.written(&at, &known)
}

/// A read, and what its value depends on.
struct Read {
    /// Without places in the text.
    lvalue: Lvalue,
    /// Variables that only edges which name them change.
    registers: BTreeSet<LocalId>,
    /// Everything else that is read, itself last.
    places: Vec<Place>,
}

/// A place in memory.
struct Place {
    lvalue: Lvalue,
    objects: BTreeSet<Object>,
    access: Option<Access>,
}

impl Place {
    /// Whether types say that a write does not meet it.
    fn is_apart(&self, write: &Access, memory: &Memory<'_>) -> bool {
        self.access.as_ref().is_some_and(|access| access.is_apart(write, memory.program()))
    }
}

struct Reads<'a> {
    env: &'a Environment,
    memory: &'a Memory<'a>,
    function: &'a Function,
    spoken_of: &'a BTreeSet<(Name, u64)>,
    rooms: &'a Rooms,
    all: Vec<Read>,
    at: BTreeMap<Lvalue, usize>,
    /// What functions that are called write.
    written: RefCell<BTreeMap<Name, Rc<Option<Vec<Access>>>>>,
}

impl Reads<'_> {
    /// The reads of what begins at each location, those inside of others before them.
    fn by_location(&mut self) -> Vec<Vec<usize>> {
        let function = self.function;
        let mut found: Vec<Vec<usize>> = vec![Vec::new(); function.locations as usize];
        for edge in &function.edges {
            let mut see = |lvalue: &Lvalue| {
                if let Some(read) = self.read(lvalue) {
                    let here = &mut found[edge.from.index()];
                    if !here.contains(&read) {
                        here.push(read);
                    }
                }
            };
            visit::reads(&edge.op, &mut see);
        }
        found
    }

    fn read(&mut self, lvalue: &Lvalue) -> Option<usize> {
        let is_character = matches!(lvalue.scalar, Some(Scalar::Int(ty)) if ty.bits == 8);
        if !matches!(lvalue.base, Base::Deref(..))
            || lvalue.scalar.is_none()
            || lvalue.bits.is_some()
            || is_character
        {
            return None;
        }
        let lvalue = place_without_sites(lvalue);
        if let Some(known) = self.at.get(&lvalue) {
            return Some(*known);
        }
        let mut read = Read { lvalue: lvalue.clone(), registers: BTreeSet::new(), places: Vec::new() };
        let mut is_stable = true;
        let load = Expr::Load(lvalue.clone());
        visit::walk(&load, &mut |part| match part {
            Expr::Load(inner) => is_stable &= self.depends(inner, &mut read),
            Expr::Float(_) | Expr::Memory(..) | Expr::Overflows(..) => is_stable = false,
            Expr::Address(inner) => is_stable &= inner.path.iter().all(is_one),
            Expr::Int(..)
            | Expr::Null
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Cast(..)
            | Expr::PointerDifference(..) => {}
        });
        if !is_stable {
            return None;
        }
        self.all.push(read);
        self.at.insert(lvalue, self.all.len() - 1);
        Some(self.all.len() - 1)
    }

    /// Whether what is read there changes only by what is seen.
    fn depends(&self, lvalue: &Lvalue, read: &mut Read) -> bool {
        if lvalue.ty.qualifiers().is_volatile || lvalue.bits.is_some() || !lvalue.path.iter().all(is_one) {
            return false;
        }
        match &lvalue.base {
            Base::Local(id) if !self.function.local(*id).address_taken => {
                read.registers.insert(*id);
            }
            _ => {
                // Other numbers have names enough.
                let is_told = matches!(lvalue.path.last(), Some(Step::Field { record, offset, .. }) if self.spoken_of.contains(&(*record, *offset)));
                let is_pointer = lvalue.scalar == Some(Scalar::Pointer);
                let access =
                    (is_pointer || is_told).then(|| Access::of(self.memory, self.function, lvalue)).flatten();
                read.places.push(Place { lvalue: lvalue.clone(), objects: self.objects(lvalue), access });
            }
        }
        true
    }

    /// Where a place in memory may be.
    fn objects(&self, lvalue: &Lvalue) -> BTreeSet<Object> {
        match &lvalue.base {
            Base::Local(id) => BTreeSet::from([Object::Local(self.function.name, *id)]),
            Base::Global(name) => BTreeSet::from([Object::Global(*name)]),
            Base::Deref(pointer, _) => self.env.targets(self.function.name, pointer).objects.clone(),
        }
    }

    /// The reads whose values are known at each location: on all ways there they were read, or written, and nothing has changed since.
    fn known(&self, at: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
        let successors = self.function.successors();
        let ends: Vec<Ends> = self.function.edges.iter().map(|edge| self.ends(&edge.op)).collect();
        let mut known: Vec<Option<BTreeSet<usize>>> = vec![None; at.len()];
        known[self.function.entry.index()] = Some(BTreeSet::new());
        let mut open = vec![self.function.entry];
        while let Some(loc) = open.pop() {
            let Some(before) = &known[loc.index()] else { continue };
            let mut here = before.clone();
            here.extend(&at[loc.index()]);
            for id in &successors[loc.index()] {
                let ends = &ends[id.index()];
                let mut after: BTreeSet<usize> = here.difference(&ends.changed).copied().collect();
                after.extend(ends.given);
                let to = self.function.edge(*id).to;
                let next = &mut known[to.index()];
                let joined = next
                    .as_ref()
                    .map_or(after.clone(), |known| known.intersection(&after).copied().collect());
                if next.as_ref() != Some(&joined) {
                    *next = Some(joined);
                    open.push(to);
                }
            }
        }
        known.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Numbers that are not read twice need no name: engines have enough variables.
    fn forget(&mut self, at: &mut [Vec<usize>], known: &[BTreeSet<usize>]) {
        let twice: BTreeSet<usize> = at
            .iter()
            .zip(known)
            .flat_map(|(here, known)| here.iter().filter(|read| known.contains(read)))
            .copied()
            .collect();
        let is_named =
            |read: usize| twice.contains(&read) || self.all[read].lvalue.scalar == Some(Scalar::Pointer);
        at.iter_mut().for_each(|here| here.retain(|read| is_named(*read)));
        let all: BTreeMap<Lvalue, usize> =
            std::mem::take(&mut self.at).into_iter().filter(|(_, read)| is_named(*read)).collect();
        self.at = all;
    }

    /// What an operation does to reads.
    fn ends(&self, op: &Op) -> Ends {
        let mut ends = Ends::default();
        match op {
            Op::Skip | Op::Assume(_) | Op::Free(_) => {}
            Op::Assign(dst, _) => {
                self.write(dst, &mut ends);
                ends.given = self.at.get(&place_without_sites(dst)).copied().filter(|read| {
                    let inner = self.all[*read].places.split_last().map_or(&[][..], |(_, inner)| inner);
                    let meets = self.meets(dst);
                    !inner.iter().any(meets)
                });
            }
            Op::Copy(dst, _) | Op::Havoc(dst, _) => self.write(dst, &mut ends),
            Op::Allocate(allocation) => self.write(&allocation.dst, &mut ends),
            Op::Clobber(..) => self.everything(&mut ends),
            Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => {
                let objects = &self.env.targets(self.function.name, to).objects;
                let is_room = self.rooms.is_one(self.function, to);
                let is_met = |place: &Place| !is_room || !self.rooms.is_in_record(&place.lvalue);
                self.objects_written(objects, &is_met, &mut ends);
            }
            Op::Begin(id) | Op::End(id) => {
                self.register(*id, &mut ends);
                let local = BTreeSet::from([Object::Local(self.function.name, *id)]);
                self.objects_written(&local, &|_| true, &mut ends);
            }
            Op::Call(call) => {
                let callees = self.env.callees(self.function.name, call);
                let is_here = |name: &Name| self.env.function(*name).is_some();
                let is_seen = match call.callee {
                    Callee::Direct(name) => is_here(&name),
                    Callee::Indirect(..) => !callees.may_be_external,
                };
                if !is_seen || !callees.functions.iter().all(is_here) {
                    self.everything(&mut ends);
                }
                for name in &callees.functions {
                    self.written_by(*name, &mut ends);
                }
                if let Some(dst) = &call.dst {
                    self.write(dst, &mut ends);
                }
            }
        }
        ends
    }

    fn register(&self, id: LocalId, ends: &mut Ends) {
        let changed = self.all.iter().enumerate().filter(|(_, read)| read.registers.contains(&id));
        ends.changed.extend(changed.map(|(at, _)| at));
    }

    fn everything(&self, ends: &mut Ends) {
        ends.changed.extend(0..self.all.len());
    }

    fn objects_written(&self, objects: &BTreeSet<Object>, is_met: &dyn Fn(&Place) -> bool, ends: &mut Ends) {
        let meets = |place: &Place| !place.objects.is_disjoint(objects) && is_met(place);
        let is_changed = |read: &Read| read.places.iter().any(meets);
        let changed = self.all.iter().enumerate().filter(|(_, read)| is_changed(read));
        ends.changed.extend(changed.map(|(at, _)| at));
    }

    fn write(&self, dst: &Lvalue, ends: &mut Ends) {
        if let Base::Local(id) = dst.base
            && !self.function.local(id).address_taken
        {
            return self.register(id, ends);
        }
        let meets = self.meets(dst);
        let changed = self.all.iter().enumerate().filter(|(_, read)| read.places.iter().any(&meets));
        ends.changed.extend(changed.map(|(at, _)| at));
    }

    /// Whether a write may change what is at a place.
    fn meets<'s>(&'s self, dst: &'s Lvalue) -> impl Fn(&Place) -> bool + 's {
        let objects = self.objects(dst);
        let access = Access::of(self.memory, self.function, dst);
        let is_room = matches!(&dst.base, Base::Deref(to, _) if self.rooms.is_one(self.function, to));
        move |place: &Place| {
            let is_apart = || access.as_ref().is_some_and(|write| place.is_apart(write, self.memory));
            let is_beside = || is_room && self.rooms.is_in_record(&place.lvalue);
            overlap(dst, &objects, place) && !is_apart() && !is_beside()
        }
    }

    /// What a function that is called may change.
    fn written_by(&self, name: Name, ends: &mut Ends) {
        let objects = self.env.writes(name);
        let known = self.written.borrow().get(&name).cloned();
        let written = known.unwrap_or_else(|| {
            let written = Rc::new(apart::written(self.memory, name));
            self.written.borrow_mut().insert(name, written.clone());
            written
        });
        let is_met = |place: &Place| match &*written {
            Some(all) => all.iter().any(|write| !place.is_apart(write, self.memory)),
            None => true,
        };
        let meets = |place: &Place| !place.objects.is_disjoint(objects) && is_met(place);
        let changed = self.all.iter().enumerate().filter(|(_, read)| read.places.iter().any(&meets));
        ends.changed.extend(changed.map(|(at, _)| at));
    }

    /// The new function.
    fn written(&self, at: &[Vec<usize>], known: &[BTreeSet<usize>]) -> Named {
        let mut out = self.function.clone();
        let mut of: Vec<Loc> = (0..out.locations).map(Loc).collect();
        let mut names: Vec<LocalId> = Vec::new();
        for (number, read) in self.all.iter().enumerate() {
            names.push(LocalId(out.locals.len() as u32));
            let (name, lvalue) = (Name::new(&format!("read{number}#contract")), &read.lvalue);
            let (ty, size) = (lvalue.ty.unqualified(), lvalue.size);
            out.locals.push(Local { name, ty, role: Role::Variable, address_taken: false, size });
        }
        let variable = |read: usize| {
            let of = &self.all[read].lvalue;
            let mut place = Lvalue { base: Base::Local(names[read]), path: Vec::new(), ..of.clone() };
            place.ty = of.ty.unqualified();
            place
        };
        for (loc, reads) in at.iter().enumerate() {
            let (mut now, loc) = (Loc(loc as u32), Loc(loc as u32));
            let edges: Vec<EdgeId> =
                self.function.edge_ids().filter(|(_, edge)| edge.from == loc).map(|(id, _)| id).collect();
            let mut have: BTreeSet<usize> = known[loc.index()].clone();
            let mut location = |part_of: Loc, out: &mut Function| {
                out.locations += 1;
                of.push(part_of);
                Loc(out.locations - 1)
            };
            for read in reads {
                let named = |lvalue: &Lvalue| {
                    let known = self.at.get(&place_without_sites(lvalue)).filter(|at| have.contains(*at))?;
                    Some(Expr::Load(variable(*known)))
                };
                if have.contains(read) {
                    continue;
                }
                let value = Expr::Load(rewritten_place(&self.all[*read].lvalue, &named));
                let next = location(loc, &mut out);
                let op = Op::Assign(variable(*read), value);
                out.edges.push(Edge { from: now, to: next, op, site: Site::NOWHERE });
                now = next;
                have.insert(*read);
            }
            let named = |lvalue: &Lvalue| {
                let known = self.at.get(&place_without_sites(lvalue)).filter(|at| have.contains(*at))?;
                Some(Expr::Load(variable(*known)))
            };
            for id in edges {
                let edge = self.function.edge(id);
                let op = rewritten_op(&edge.op, &named);
                let given = self.ends(&edge.op).given;
                let mut from = now;
                if let (Some(read), Op::Assign(dst, value)) = (given, &op) {
                    let next = location(loc, &mut out);
                    let op = Op::Assign(variable(read), value.clone());
                    out.edges.push(Edge { from, to: next, op, site: edge.site });
                    from = next;
                    let value = Expr::Load(variable(read));
                    out.edges[id.index()].op = Op::Assign(dst.clone(), value);
                } else {
                    if let Op::Havoc(Lvalue { base: Base::Local(dst), .. }, _) = &edge.op {
                        let mut results = out.library_results.iter_mut().filter(|result| result.dst == *dst);
                        if let (Some(result), None) = (results.next(), results.next()) {
                            result.arguments.iter_mut().for_each(|expr| *expr = rewritten(expr, &named));
                        }
                    }
                    out.edges[id.index()].op = op;
                }
                out.edges[id.index()].from = from;
            }
        }
        let reads = names.into_iter().zip(self.all.iter().map(|read| read.lvalue.clone())).collect();
        Named { function: out, of, reads }
    }
}

/// Elements that are not always the same ones are many.
fn is_one(step: &Step) -> bool {
    match step {
        Step::Field { .. } => true,
        Step::Index { index, .. } => matches!(**index, Expr::Int(..)),
    }
}

/// What is known no longer behind an operation, and what it makes known.
#[derive(Default)]
struct Ends {
    changed: BTreeSet<usize>,
    given: Option<usize>,
}

/// Whether a write may change what is at a place, whatever types say.
fn overlap(dst: &Lvalue, objects: &BTreeSet<Object>, place: &Place) -> bool {
    if let (Base::Deref(a, _), Base::Deref(b, _)) = (&dst.base, &place.lvalue.base)
        && without_sites(a) == **b
        && let (Some(a), Some(b)) = (bytes(dst), bytes(&place.lvalue))
    {
        return a.start < b.end && b.start < a.end;
    }
    !objects.is_disjoint(&place.objects)
}

/// The bytes that a place may have from where its pointer leads. That an index is one of an array in a record, its obligation asks.
fn bytes(lvalue: &Lvalue) -> Option<std::ops::Range<i128>> {
    let (mut start, mut more, mut is_inside) = (0, 0, false);
    for step in &lvalue.path {
        match step {
            Step::Field { offset, .. } => {
                start += i128::from(*offset);
                is_inside = true;
            }
            Step::Index { index, stride, length, .. } => match (&**index, length) {
                (Expr::Int(index, _), _) => start += index * i128::from(*stride),
                (_, Some(length)) if is_inside && *length > 0 => more += i128::from((*length - 1) * stride),
                _ => return None,
            },
        }
    }
    (lvalue.size > 0).then(|| start..start + more + i128::from(lvalue.size))
}

/// An expression with other values in the place of reads.
fn rewritten(expr: &Expr, by: &dyn Fn(&Lvalue) -> Option<Expr>) -> Expr {
    let again = |expr: &Arc<Expr>| Arc::new(rewritten(expr, by));
    match expr {
        Expr::Load(lvalue) => by(lvalue).unwrap_or_else(|| Expr::Load(rewritten_place(lvalue, by))),
        Expr::Address(lvalue) => Expr::Address(rewritten_place(lvalue, by)),
        Expr::Unary(op, arg, site) => Expr::Unary(*op, again(arg), *site),
        Expr::Binary(op, lhs, rhs, site) => Expr::Binary(*op, again(lhs), again(rhs), *site),
        Expr::Compare(op, lhs, rhs) => Expr::Compare(*op, again(lhs), again(rhs)),
        Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg), *site),
        Expr::Overflows(op, lhs, rhs) => Expr::Overflows(*op, again(lhs), again(rhs)),
        Expr::Memory(predicate, lhs, rhs) => Expr::Memory(*predicate, again(lhs), again(rhs)),
        Expr::PointerDifference(lhs, rhs, stride, ty) => {
            Expr::PointerDifference(again(lhs), again(rhs), *stride, *ty)
        }
        Expr::Int(..) | Expr::Float(_) | Expr::Null | Expr::Function(_) => expr.clone(),
    }
}

fn rewritten_place(lvalue: &Lvalue, by: &dyn Fn(&Lvalue) -> Option<Expr>) -> Lvalue {
    let base = match &lvalue.base {
        Base::Deref(pointer, site) => Base::Deref(Arc::new(rewritten(pointer, by)), *site),
        base @ (Base::Local(_) | Base::Global(_)) => base.clone(),
    };
    let path = lvalue.path.iter().map(|step| match step {
        Step::Index { index, stride, length, site } => Step::Index {
            index: Arc::new(rewritten(index, by)),
            stride: *stride,
            length: *length,
            site: *site,
        },
        step @ Step::Field { .. } => step.clone(),
    });
    Lvalue { base, path: path.collect(), ..lvalue.clone() }
}

fn rewritten_op(op: &Op, by: &dyn Fn(&Lvalue) -> Option<Expr>) -> Op {
    let expr = |expr: &Expr| rewritten(expr, by);
    let place = |lvalue: &Lvalue| rewritten_place(lvalue, by);
    match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => op.clone(),
        Op::Assume(value) => Op::Assume(expr(value)),
        Op::Free(value) => Op::Free(expr(value)),
        Op::Assign(dst, value) => Op::Assign(place(dst), expr(value)),
        Op::Copy(dst, src) => Op::Copy(place(dst), place(src)),
        Op::Havoc(dst, cause) => Op::Havoc(place(dst), *cause),
        Op::Clobber(values, cause) => Op::Clobber(values.iter().map(expr).collect(), *cause),
        Op::CopyBytes(a, b, c) => Op::CopyBytes(expr(a), expr(b), expr(c)),
        Op::FillBytes(a, b, c) => Op::FillBytes(expr(a), expr(b), expr(c)),
        Op::HavocBytes(a, b, cause) => Op::HavocBytes(expr(a), expr(b), *cause),
        Op::Allocate(allocation) => {
            let mut allocation = allocation.clone();
            allocation.dst = place(&allocation.dst);
            allocation.size = expr(&allocation.size);
            Op::Allocate(allocation)
        }
        Op::Call(call) => {
            let mut call = call.clone();
            if let Callee::Indirect(pointer, _) = &mut call.callee {
                *pointer = expr(pointer);
            }
            for argument in &mut call.arguments {
                match argument {
                    Argument::Value(value) => *value = expr(value),
                    Argument::Aggregate(lvalue) => *lvalue = place(lvalue),
                }
            }
            call.dst = call.dst.as_ref().map(place);
            Op::Call(call)
        }
    }
}
