//! Rooms as numbers: beside each pointer into one stands how many whole elements are left behind it; none of a null pointer, unless it is one that an allocation
//! gave, of which it is asked whether it is null. So where an element is left behind another one, it is not null. What such a pointer is assigned to is open
//! until it is known whether that is null.

use super::*;

impl Maker<'_> {
    /// The bytes of an element, as a local counts them.
    fn unit_of(&self, id: LocalId) -> u64 {
        let pointee = self.function.local(id).ty.pointee().map(Type::unqualified);
        let is_open = pointee.is_none_or(|pointee| matches!(pointee.kind(), TypeKind::Void));
        let size = pointee.filter(|_| !is_open).and_then(|pointee| types(self.program).size(pointee));
        size.filter(|size| *size > 0).or(self.origins.rooms().stride()).unwrap_or(1)
    }

    /// Whether a place was reached from what an allocation gave.
    fn is_new(&self, place: &Place) -> bool {
        place.local.is_some_and(|id| self.origins.rooms().is_new(id))
    }

    /// How many elements are left behind a place, and the bytes of one; `None`: not a whole number of them.
    fn elements_left(&self, place: &Place) -> Option<(Expr, u64)> {
        let id = place.local?;
        let (left, unit) = (bytes::load(self.ghosts.get(&id)?.left?), self.unit_of(id));
        let mut left = left;
        for (index, stride) in &place.offset.terms {
            let by = (stride % unit == 0).then_some(stride / unit)?;
            left = difference(left, times(widened(index), by));
        }
        let bytes = place.offset.bytes;
        let step = i128::from(unit);
        (bytes % step == 0).then(|| (plus(left, -(bytes / step)), unit))
    }

    /// Whether so many bytes from a pointer on are in its room.
    pub(super) fn in_room(&self, place: &Place, size: &Expr) -> Option<Expr> {
        if place.local.is_some_and(|id| self.open.contains(&id) && !self.origins.rooms().is_new(id)) {
            return None;
        }
        let unit = i128::from(self.unit_of(place.local?));
        let mut first = place.clone();
        let count = match size {
            Expr::Int(size, _) => {
                let inside = place.offset.bytes.rem_euclid(unit);
                first.offset.bytes -= inside;
                number((inside + size + unit - 1) / unit)
            }
            size => counted(size, unit)?,
        };
        let (left, _) = self.elements_left(&first)?;
        let is_there = and(at_most(count, left.clone()), at_most(left, number(MOST)));
        let is_inside = and(is_there, self.is_behind_start(&first));
        Some(if self.is_new(place) { self.unless_null(place, is_inside) } else { is_inside })
    }

    /// That a pointer into a room is not null, in numbers that say more.
    pub(super) fn leads_into_room(&self, condition: &Expr) -> Option<Expr> {
        let Expr::Compare(CompareOp::Ne, pointer, null) = condition else { return None };
        let place = self.origins.place(pointer).filter(|_| **null == Expr::Null)?;
        (place.origin == Origin::Room && !self.is_new(&place))
            .then(|| self.in_room(&place, &Expr::int(1)))
            .flatten()
    }

    /// A local gets a pointer into a room.
    pub(super) fn moves_in_room(&mut self, at: Loc, id: LocalId, value: &Expr) -> Loc {
        let ghosts = self.ghosts.get(&id).copied().unwrap_or_default();
        let place = self.origins.place(value);
        let mut at = at;
        if let Some(ghost) = ghosts.moved {
            let moved = place.as_ref().map_or(number(0), |place| self.moved(place));
            at = self.then(at, Op::Assign(bytes::local(ghost), moved));
        }
        let Some(ghost) = ghosts.left.map(bytes::local) else { return at };
        let op = match &place {
            // Null. Of what an allocation gives, that is asked, so any number will do: the largest one does not hide what is known of others.
            None if self.origins.rooms().is_new(id) => Op::Assign(ghost.clone(), number(MOST)),
            None => Op::Assign(ghost.clone(), number(0)),
            // Read from a record just now.
            Some(place) if place.local.is_none() => {
                let any = self.then(at, Op::Havoc(ghost.clone(), Cause::Indeterminate));
                let most = number(MOST / i128::from(self.unit_of(id)));
                return self.then(any, Op::Assume(at_most(Expr::Load(ghost), most)));
            }
            Some(place) => match self.elements_left(place) {
                Some((left, unit)) => Op::Assign(ghost.clone(), converted(left, unit, self.unit_of(id))),
                None => Op::Havoc(ghost.clone(), Cause::Indeterminate),
            },
        };
        self.then(at, op)
    }

    /// The locals at each location that are open, or new and perhaps null.
    pub(super) fn open_rooms(&self) -> Vec<BTreeSet<LocalId>> {
        let rooms = self.origins.rooms();
        let mut all: Vec<BTreeSet<LocalId>> = vec![BTreeSet::new(); self.function.locations as usize];
        if rooms.is_empty() {
            return all;
        }
        let locals = (0..self.function.locals.len() as u32).map(LocalId);
        all[self.function.entry.index()] = locals.filter(|id| rooms.is_new(*id)).collect();
        loop {
            let before: usize = all.iter().map(BTreeSet::len).sum();
            for edge in &self.function.edges {
                let mut now = all[edge.from.index()].clone();
                if let Op::Assign(dst, value) = &edge.op
                    && let Some(id) = whole_pointer(self.function, dst).filter(|id| rooms.has(*id))
                {
                    let is_open = match self.origins.place(value).and_then(|place| place.local) {
                        Some(from) => now.contains(&from),
                        None => rooms.is_new(id),
                    };
                    if is_open {
                        now.insert(id);
                    } else {
                        now.remove(&id);
                    }
                }
                if let Op::Allocate(allocation) = &edge.op {
                    let id = whole_pointer(self.function, &allocation.dst);
                    now.extend(id.filter(|id| rooms.is_new(*id)));
                }
                if let Op::Assume(condition) = &edge.op
                    && let Some((id, is_null)) = self.asks_of_null(condition)
                    && !(is_null && rooms.is_new(id))
                {
                    now.remove(&id);
                }
                all[edge.to.index()].extend(now);
            }
            if all.iter().map(BTreeSet::len).sum::<usize>() == before {
                return all;
            }
        }
    }

    /// The local into a room that is null, or not, where a condition holds.
    fn asks_of_null(&self, condition: &Expr) -> Option<(LocalId, bool)> {
        let (pointer, is_null) = match condition {
            Expr::Compare(CompareOp::Eq, pointer, null) if **null == Expr::Null => (&**pointer, true),
            Expr::Compare(CompareOp::Ne, pointer, null) if **null == Expr::Null => (&**pointer, false),
            pointer => (pointer, false),
        };
        let Expr::Load(lvalue) = pointer else { return None };
        let id = whole_pointer(self.function, lvalue)?;
        self.origins.rooms().has(id).then_some((id, is_null))
    }

    /// Nothing is left behind a local where it was found to be null, and where one that may be null was found not to be, no more than memory has.
    pub(super) fn found_null(&mut self, edge: usize, condition: &Expr) {
        let Some((id, is_null)) = self.asks_of_null(condition) else { return };
        if self.origins.rooms().is_new(id) == is_null {
            return;
        }
        let Some(ghost) = self.ghosts.get(&id).and_then(|ghosts| ghosts.left).map(bytes::local) else {
            return;
        };
        let most = number(MOST / i128::from(self.unit_of(id)));
        let op =
            if is_null { Op::Assign(ghost, number(0)) } else { Op::Assume(at_most(Expr::Load(ghost), most)) };
        let from = self.location();
        let to = std::mem::replace(&mut self.out.edges[edge].to, from);
        self.push(from, to, op);
    }

    /// Asks whether locals that are open are null.
    pub(super) fn settled(&mut self, mut at: Loc, exprs: &[Expr]) -> Loc {
        let mut read = BTreeSet::new();
        for expr in exprs {
            visit::reads_of_expr(expr, &mut |lvalue| {
                if let Base::Local(id) = lvalue.base {
                    read.insert(id);
                }
            });
        }
        for id in read.intersection(&self.open.clone()) {
            if self.origins.rooms().is_new(*id) {
                continue;
            }
            self.open.remove(id);
            let Some(ghost) = self.ghosts.get(id).and_then(|ghosts| ghosts.left).map(bytes::local) else {
                continue;
            };
            let local = self.function.local(*id);
            let pointer = Expr::Load(Lvalue::local(*id, local.ty, Scalar::Pointer, local.size));
            let (null, end) = (self.location(), self.location());
            self.push(at, null, Op::Assume(is_null(&pointer)));
            self.push(at, end, Op::Assume(is_not_null(&pointer)));
            self.push(null, end, Op::Assign(ghost, number(0)));
            at = end;
        }
        at
    }

    /// A local gets a pointer to a new object of so many bytes.
    pub(super) fn begins_room(&mut self, mut at: Loc, id: LocalId, size: &Expr) -> Loc {
        let ghosts = self.ghosts.get(&id).copied().unwrap_or_default();
        if let Some(ghost) = ghosts.moved {
            at = self.then(at, Op::Assign(bytes::local(ghost), number(0)));
        }
        let Some(ghost) = ghosts.left.map(bytes::local) else { return at };
        let unit = self.unit_of(id);
        let divided = converted(widened(size), 1, unit);
        let Some(count) = counted(size, i128::from(unit)) else {
            return self.then(at, Op::Assign(ghost, divided));
        };
        // As far as the product does not wrap around. Where no object is so large, it is null, whatever stands beside it.
        let ty = size.int_type().unwrap_or(bytes::BYTES);
        let fits = at_most(count.clone(), number(ty.max() / i128::from(unit)));
        let (plain, wrapped, end) = (self.location(), self.location(), self.location());
        self.branch(at, &fits, Some(plain), Some(wrapped));
        self.push(plain, end, Op::Assign(ghost.clone(), count));
        self.push(wrapped, end, Op::Assign(ghost, divided));
        end
    }

    /// Behind what gives a local a pointer into a room: there is none where it is null, and no object is larger than memory.
    pub(super) fn null_is_no_room(&mut self, edge: usize, dst: &Lvalue) {
        let rooms = self.origins.rooms();
        let Some(id) = whole_pointer(self.function, dst).filter(|id| rooms.has(*id)) else { return };
        let Some(ghost) = self.ghosts.get(&id).and_then(|ghosts| ghosts.left).map(bytes::local) else {
            return;
        };
        let pointer = Expr::Load(dst.clone());
        let most = number(MOST / i128::from(self.unit_of(id)));
        let fits = at_most(Expr::Load(ghost.clone()), most);
        let is_read = |value: &Expr| self.origins.place(value).is_some_and(|place| place.local.is_none());
        let op = &self.out.edges[edge].op;
        let is_allocated = matches!(op, Op::Allocate(_));
        let is_new = is_allocated && rooms.is_new(id);
        let is_read = matches!(op, Op::Assign(_, value) if is_read(value));
        // What was made from another pointer into a room has its numbers.
        if !is_read && !is_allocated {
            return;
        }
        let from = self.location();
        let to = std::mem::replace(&mut self.out.edges[edge].to, from);
        let (null, other) = (self.location(), self.location());
        self.push(from, null, Op::Assume(is_null(&pointer)));
        self.push(from, other, Op::Assume(is_not_null(&pointer)));
        self.push(null, to, if is_new { Op::Skip } else { Op::Assign(ghost, number(0)) });
        self.push(other, to, if is_allocated { Op::Assume(fits) } else { Op::Skip });
    }

    /// What is known of a record, in numbers; what no number says is no matter here.
    pub(super) fn told_of_room(&mut self, at: Loc, id: EdgeId) {
        let Edge { to, op, .. } = self.out.edges[id.index()].clone();
        let Op::Assume(condition) = &op else { return };
        let speaks_of_memory = |expr: &Expr| {
            let mut found = false;
            visit::walk(expr, &mut |part| found |= matches!(part, Expr::Memory(..)));
            found
        };
        if !speaks_of_memory(condition) {
            return;
        }
        let told = self.translated(condition, &mut None);
        if speaks_of_memory(&told) {
            self.out.edges[id.index()].op = Op::Skip;
            return;
        }
        self.dead.insert(id.index());
        self.branch(at, &told, Some(to), None);
    }
}

/// The number of elements in a product with the bytes of one.
fn counted(size: &Expr, unit: i128) -> Option<Expr> {
    match size {
        Expr::Cast(Scalar::Int(ty), arg, _) if ty.bits == 64 && !matches!(**arg, Expr::Int(..)) => {
            let is_plain = arg.int_type().is_some_and(|from| from.bits == 64);
            if is_plain { counted(arg, unit) } else { (unit == 1).then(|| widened(size)) }
        }
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => match (&**lhs, &**rhs) {
            (count, Expr::Int(by, _)) | (Expr::Int(by, _), count) if *by == unit => Some(widened(count)),
            _ => (unit == 1).then(|| widened(size)),
        },
        size => (unit == 1).then(|| widened(size)),
    }
}

/// A number of elements of one size as a number of whole ones of another size.
fn converted(count: Expr, from: u64, to: u64) -> Expr {
    if from == to {
        return count;
    }
    if from.is_multiple_of(to) {
        return times(count, from / to);
    }
    let bytes = times(count, from);
    match bytes {
        Expr::Int(bytes, _) => number(bytes / i128::from(to)),
        bytes => {
            let to = Arc::new(number(i128::from(to)));
            Expr::Binary(BinaryOp::Div, Arc::new(bytes), to, Site::NOWHERE)
        }
    }
}
