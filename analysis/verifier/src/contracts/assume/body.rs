//! The edges of the function itself: its obligations in numbers, how far pointers move, and what is known of the bytes of strings.

use super::{bytes_read::Byte, *};

impl Maker<'_> {
    pub(super) fn location(&mut self) -> Loc {
        self.out.locations += 1;
        Loc(self.out.locations - 1)
    }

    pub(super) fn push(&mut self, from: Loc, to: Loc, op: Op) {
        self.out.edges.push(Edge { from, to, op, site: Site::NOWHERE });
    }

    pub(super) fn then(&mut self, from: Loc, op: Op) -> Loc {
        let to = self.location();
        self.push(from, to, op);
        to
    }

    pub(super) fn edges(&mut self) {
        let errors: BTreeSet<Loc> =
            self.function.obligations.iter().map(|obligation| obligation.error).collect();
        let successors = self.function.successors();
        let read_before = self.read_before(&errors);
        let open_rooms = self.open_rooms();
        for (loc, ids) in successors.iter().enumerate() {
            self.at = Loc(loc as u32);
            self.open.clone_from(&open_rooms[loc]);
            let is_demand = ids.iter().any(|id| errors.contains(&self.function.edge(*id).to));
            if is_demand {
                self.demand(ids, &errors);
                continue;
            }
            let (mut at, learned) = self.reads(Loc(loc as u32), ids, &read_before[loc]);
            for id in ids {
                at = self.gives_back(at, *id);
                at = self.before(at, &self.function.edge(*id).op.clone());
            }
            for id in ids {
                self.out.edges[id.index()].from = at;
                if self.told.contains(id) {
                    self.told_of_room(at, *id);
                }
                let op = self.out.edges[id.index()].op.clone();
                self.behind(id.index(), &op, &learned);
            }
        }
    }

    /// An obligation: its condition in numbers.
    pub(super) fn demand(&mut self, ids: &[EdgeId], errors: &BTreeSet<Loc>) {
        let edges: Vec<&Edge> = ids.iter().map(|id| self.function.edge(*id)).collect();
        let [first, second] = edges[..] else { return };
        let (fails, passes) = if errors.contains(&first.to) { (first, second) } else { (second, first) };
        let (Op::Assume(failure), Op::Assume(condition)) = (&fails.op, &passes.op) else { return };
        let mut about = None;
        let open = std::mem::take(&mut self.open);
        let mut new = self.translated(condition, &mut about);
        let obligation = self.function.obligation_at(fails.to);
        if let (Some(id), Some((place, or_null))) = (obligation, self.calls_through(failure)) {
            if !or_null {
                new = truth(true);
            }
            self.through.insert(id, place);
        }
        if let Some(obligation) = obligation
            && let Some(at) = about.or_else(|| self.asked_not_null(failure))
        {
            self.about.insert(obligation, at);
        }
        if new != *condition {
            // What is said of rooms in numbers asks first whether pointers are null.
            self.open = open;
            let mut at = self.settled(fails.from, std::slice::from_ref(condition));
            if let Some(id) = obligation.filter(|id| self.is_of_a_call(*id)) {
                at = self.lives(at, condition, id);
            }
            self.dead.extend(ids.iter().map(|id| id.index()));
            // What is asked of a pointer that the contract speaks of, nothing is kept without (`leaves` of the portfolio). Of others, the numbers say
            // what is enough, and it need not be needed.
            if about.is_some_and(|at| self.own.pointers.contains_key(&at)) && new != truth(false) {
                self.branch(at, &new, Some(passes.to), Some(fails.to));
            } else {
                self.asked(at, &new, passes.to, fails.to);
            }
        }
    }

    /// What a library function is given is alive: that is no matter of numbers, so it is an obligation of its own.
    fn lives(&mut self, mut at: Loc, condition: &Expr, of: ObligationId) -> Loc {
        let mut pointers = Vec::new();
        visit::walk(condition, &mut |part| {
            if let Expr::Memory(_, pointer, _) = part {
                pointers.push(pointer.clone());
            }
        });
        for pointer in pointers {
            let what = format!("what `{}` leads to is alive", expr_text(self.function, &pointer));
            for predicate in [MemoryPredicate::NotFreed, MemoryPredicate::NotEnded] {
                let known =
                    self.predicate(predicate, &pointer, &Expr::int(0)).map(|(condition, _)| condition);
                let unknown = || Expr::Memory(predicate, pointer.clone(), Arc::new(Expr::int(0)));
                let lives = known.unwrap_or_else(unknown);
                // It is no obligation then, and a part without one would stay open.
                if lives == truth(true) {
                    continue;
                }
                self.parts.insert(ObligationId(self.out.obligations.len() as u32), of);
                at = self.obliged(at, lives, &what, None);
            }
        }
        at
    }

    /// Whether a library function makes the obligation. Nothing else asks then whether what it is given is alive.
    pub(super) fn is_of_a_call(&self, id: ObligationId) -> bool {
        self.function
            .obligations
            .get(id.index())
            .is_some_and(|obligation| obligation.check == library_call::CHECK.id())
    }

    /// Goes to one location where the condition holds, to the other where it does not; what consists of several conditions becomes several branches.
    pub(super) fn branch(&mut self, from: Loc, condition: &Expr, holds: Option<Loc>, fails: Option<Loc>) {
        match condition {
            Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, Some(middle), fails);
                self.branch(middle, rhs, holds, fails);
            }
            Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, holds, Some(middle));
                self.branch(middle, rhs, holds, fails);
            }
            Expr::Compare(CompareOp::Eq, inner, zero)
                if matches!(**zero, Expr::Int(0, _))
                    && matches!(**inner, Expr::Binary(BinaryOp::BitAnd | BinaryOp::BitOr, ..)) =>
            {
                self.branch(from, inner, fails, holds);
            }
            _ => {
                if let Some(to) = holds {
                    self.push(from, to, Op::Assume(condition.clone()));
                }
                if let Some(to) = fails {
                    self.push(from, to, Op::Assume(condition.negated()));
                }
            }
        }
    }

    /// Goes on only where the condition holds.
    pub(super) fn assume(&mut self, at: Loc, condition: &Expr) -> Loc {
        let to = self.location();
        self.branch(at, condition, Some(to), None);
        to
    }

    /// The place of a pointer to a function of which the contract says something, of `p == null`, and whether it may be null.
    fn calls_through(&self, condition: &Expr) -> Option<(HookPlace, bool)> {
        let Expr::Compare(CompareOp::Eq, pointer, null) = condition else { return None };
        let pointer = self.named.unnamed(pointer);
        let place = hooks::place_of(&pointer, self.function).filter(|_| **null == Expr::Null)?;
        Some((place.clone(), self.own.hooks.get(&place)?.or_null))
    }

    /// The parameter that must not be null, of `p == null`.
    pub(super) fn asked_not_null(&self, condition: &Expr) -> Option<usize> {
        let Expr::Compare(CompareOp::Eq, pointer, null) = condition else { return None };
        let place = self.origins.place(pointer).filter(|_| **null == Expr::Null)?;
        match place.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
        }
    }

    /// What is given to a function that behaves as `free` can be freed.
    fn gives_back(&mut self, at: Loc, id: EdgeId) -> Loc {
        let Some(pointer) = self.freed.get(&id).cloned() else { return at };
        let what = format!("what `{}` leads to can be freed", expr_text(self.function, &pointer));
        let nothing = Expr::int(0);
        let given = if let Op::Free(given) = &self.function.edge(id).op { given } else { &pointer };
        let known = self.predicate(MemoryPredicate::Freeable, given, &nothing);
        let unknown =
            || Expr::Memory(MemoryPredicate::Freeable, Arc::new(pointer), Arc::new(nothing.clone()));
        let freeable = known.map_or_else(unknown, |(condition, _)| condition);
        self.obliged(at, freeable, &what, None)
    }

    /// What happens to the numbers before an operation.
    pub(super) fn before(&mut self, mut at: Loc, op: &Op) -> Loc {
        match op {
            Op::Assign(dst, value) => {
                if let Some(id) = whole_pointer(self.function, dst)
                    && self.ghosts.contains_key(&id)
                {
                    at = self.moves(at, id, value);
                }
            }
            Op::Call(call) => {
                let values: Vec<Expr> = obligations::values(call).into_iter().flatten().cloned().collect();
                at = self.settled(at, &values);
                at = self.called(at, call);
                at = self.found(at, call);
            }
            Op::Allocate(allocation) => at = self.allocated(at, allocation),
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
        at
    }

    /// The local gets a pointer to a new object of so many bytes.
    fn allocated(&mut self, mut at: Loc, allocation: &Allocation) -> Loc {
        let Some(id) = whole_pointer(self.function, &allocation.dst) else { return at };
        if self.origins.rooms().has(id) {
            return self.begins_room(at, id, &allocation.size);
        }
        let place = self.origins.place(&Expr::Load(allocation.dst.clone()));
        if place.is_none_or(|place| place.origin != Origin::Allocated) {
            return at;
        }
        let ghosts = self.ghosts.get(&id).copied().unwrap_or_default();
        if let Some(ghost) = ghosts.moved {
            at = self.then(at, Op::Assign(bytes::local(ghost), number(0)));
        }
        match ghosts.left {
            Some(ghost) => self.then(at, Op::Assign(bytes::local(ghost), widened(&allocation.size))),
            None => at,
        }
    }

    /// The local gets a pointer to what a function has found in structures.
    fn found(&mut self, mut at: Loc, call: &Call) -> Loc {
        let id = call.dst.as_ref().and_then(|dst| whole_pointer(self.function, dst));
        let Some(ghosts) = id.and_then(|id| self.ghosts.get(&id)).copied() else { return at };
        if let Some(ghost) = ghosts.moved {
            at = self.then(at, Op::Assign(bytes::local(ghost), number(0)));
        }
        match ghosts.left {
            Some(ghost) => self.begins_string(at, ghost),
            None => at,
        }
    }

    /// The local gets a pointer: its numbers become that pointer's.
    pub(super) fn moves(&mut self, at: Loc, id: LocalId, value: &Expr) -> Loc {
        if self.origins.rooms().has(id) {
            return self.moves_in_room(at, id, value);
        }
        let Some(place) = self.origins.place(value) else { return at };
        let ghosts = self.ghosts[&id];
        if ghosts.moved.is_none() && ghosts.left.is_none() {
            return at;
        }
        let is_range = matches!(self.memory(place.origin), Memory::Until(_));
        let moved = if is_range { self.elements(&place) } else { Some(self.moved(&place)) };
        let left = self.left(&place);
        let mut to = at;
        if let Some(ghost) = ghosts.moved {
            let ghost = bytes::local(ghost);
            let op = match moved {
                Some(moved) => Op::Assign(ghost, moved),
                None => Op::Havoc(ghost, Cause::Indeterminate),
            };
            to = self.then(to, op);
        }
        if let Some(ghost) = ghosts.left {
            to = match left {
                Some(left) => self.then(to, Op::Assign(bytes::local(ghost), left)),
                // Read from a structure just now.
                None => self.begins_string(to, ghost),
            };
        }
        if !place.offset.is_zero() && self.origins.may_be_null(&place) {
            let (other, end) = (self.then(to, Op::Assume(is_null(&place.root))), self.location());
            self.push(to, end, Op::Assume(is_not_null(&place.root)));
            let mut from = other;
            for ghost in [ghosts.moved, ghosts.left].into_iter().flatten() {
                from = self.then(from, Op::Havoc(bytes::local(ghost), Cause::Indeterminate));
            }
            self.push(from, end, Op::Skip);
            to = end;
        }
        to
    }

    /// A string of any length.
    pub(super) fn begins_string(&mut self, at: Loc, ghost: LocalId) -> Loc {
        let at = self.then(at, Op::Havoc(bytes::local(ghost), Cause::Indeterminate));
        let at = self.then(at, Op::Assume(at_most(number(1), bytes::load(ghost))));
        self.then(at, Op::Assume(at_most(bytes::load(ghost), number(MOST))))
    }

    /// Bytes of strings that the operations at a location read: the last one is 0. What is known of them then. Those that were read before
    /// are what they were.
    pub(super) fn reads(&mut self, mut at: Loc, ids: &[EdgeId], before: &BTreeSet<Byte>) -> (Loc, Vec<Expr>) {
        let mut learned = Vec::new();
        for (lvalue, place, byte) in self.bytes_at(self.at, ids) {
            let (Some(left), Some(scalar)) = (self.left(&place), lvalue.scalar) else { continue };
            let ghost = self.ghost_of_byte(&lvalue, byte.as_ref());
            let value = Lvalue::local(ghost, lvalue.ty, scalar, 1);
            let is_known = byte.is_some_and(|byte| before.contains(&byte));
            if !is_known {
                at = self.then(at, Op::Assign(value.clone(), Expr::Load(lvalue.clone())));
            }
            let value = Expr::Load(value);
            let is_not_last = compare(CompareOp::Ne, left, number(1));
            let known = or(is_not_last, compare(CompareOp::Eq, value.clone(), value.zero()));
            if !is_known {
                at = self.assume(at, &known);
            }
            learned.push(known);
            for id in ids {
                let edge = &mut self.out.edges[id.index()];
                edge.op = with_byte(&edge.op, &lvalue, &value);
            }
        }
        (at, learned)
    }

    /// The variable with what was read there last.
    fn ghost_of_byte(&mut self, lvalue: &Lvalue, byte: Option<&Byte>) -> LocalId {
        if let Some(known) = byte.and_then(|byte| self.bytes.get(byte)) {
            return *known;
        }
        let ghost = LocalId(self.out.locals.len() as u32);
        let name = Name::new(&format!("byte{}#contract", ghost.0));
        let local = Local { name, ty: lvalue.ty, role: Role::Variable, address_taken: false, size: 1 };
        self.out.locals.push(local);
        if let Some(byte) = byte {
            self.bytes.insert(byte.clone(), ghost);
        }
        ghost
    }

    /// What is known behind an operation.
    pub(super) fn behind(&mut self, edge: usize, op: &Op, learned: &[Expr]) {
        let mut known: Vec<Expr> = Vec::new();
        if let Op::Assume(condition) = op {
            known.extend(self.compared(condition));
            known.extend(learned.iter().cloned());
        }
        if let Op::Havoc(dst, _) = op {
            known.extend(self.library_result(dst));
        }
        if let Op::Allocate(allocation) = op {
            known.extend(self.fits(&allocation.dst));
        }
        if let Op::Assign(dst, _) | Op::Allocate(Allocation { dst, .. }) = op {
            self.null_is_no_room(edge, dst);
        }
        if let Op::Assume(condition) = op {
            self.found_null(edge, condition);
        }
        let to = self.out.edges[edge].to;
        let Some((last, first)) = known.split_last() else { return };
        let mut at = self.location();
        self.out.edges[edge].to = at;
        for condition in first {
            at = self.assume(at, condition);
        }
        self.branch(at, last, Some(to), None);
    }

    /// No object is larger than memory.
    fn fits(&self, dst: &Lvalue) -> Option<Expr> {
        let pointer = Expr::Load(dst.clone());
        let place = self.origins.place(&pointer).filter(|place| place.origin == Origin::Allocated)?;
        Some(or(is_null(&pointer), at_most(self.left(&place)?, number(MOST))))
    }

    /// The length of a string is what is left of it.
    pub(super) fn library_result(&self, dst: &Lvalue) -> Option<Expr> {
        let proofline_cfa::Base::Local(id) = dst.base else { return None };
        let result = self.function.library_results.iter().find(|result| result.dst == id)?;
        let extra = match result.quantity {
            _ if result.is_absence => return None,
            // What callers pass does not overlap; callers in sight are asked by themselves.
            Quantity::Overlap | Quantity::Meeting => {
                let (one, other) = result.two_places()?;
                let origin = |pointer| self.origins.place(pointer).map(|place| place.origin);
                let (one, other) = (origin(one), origin(other));
                let is_given = |origin| matches!(origin, Some(Origin::Parameter(_)));
                let is_theirs = (is_given(one) || is_given(other)) && one != other;
                let none = compare(CompareOp::Eq, widened(&Expr::Load(dst.clone())), number(0));
                return is_theirs.then_some(none);
            }
            Quantity::StringLength => -1,
            Quantity::StringSize => 0,
            _ => return None,
        };
        let [string] = &result.arguments[..] else { return None };
        let place = self.origins.place(string)?;
        if self.memory(place.origin) != Memory::String || !self.strings_stay(self.at, place.origin) {
            return None;
        }
        let left = self.left(&place)?;
        // A byte 0 may have been written before the last one.
        let length = widened(&Expr::Load(dst.clone()));
        Some(at_most(length, plus(left, extra)))
    }

    /// Pointers from one origin compare as how far they have moved, where both are in the object.
    pub(super) fn compared(&self, condition: &Expr) -> Option<Expr> {
        let Expr::Compare(op, lhs, rhs) = condition else { return None };
        if lhs.scalar() != Scalar::Pointer {
            return None;
        }
        let (left, right) = (self.origins.place(lhs)?, self.origins.place(rhs)?);
        let may_be_null = self.origins.may_be_null(&left) || self.origins.may_be_null(&right);
        if may_be_null || left.origin != right.origin || !matches!(left.origin, Origin::Parameter(_)) {
            return None;
        }
        let is_known = |place: &Place| match self.memory(place.origin) {
            Memory::Bytes(_) | Memory::Elements(..) | Memory::Until(_) => true,
            Memory::String => {
                self.ghosts_of(place).moved.is_some()
                    || place.local.is_some_and(|id| !self.origins.is_written(id))
            }
            Memory::Nothing | Memory::Structure | Memory::Allocated | Memory::Tree(_) => false,
        };
        if !is_known(&left) || !is_known(&right) {
            return None;
        }
        let is_range = matches!(self.memory(left.origin), Memory::Until(_));
        let compared = if is_range {
            compare(*op, self.elements(&left)?, self.elements(&right)?)
        } else {
            compare(*op, self.moved(&left), self.moved(&right))
        };
        // Far away, addresses wrap around where numbers of elements do not.
        if matches!(op, CompareOp::Eq | CompareOp::Ne) && !is_range {
            return Some(compared);
        }
        let one = number(0);
        let are_inside = and(self.inside(&left, &one)?, self.inside(&right, &one)?);
        Some(or(are_inside.negated(), compared))
    }
}

/// The operation with a value in the place of what is read there.
pub(super) fn with_byte(op: &Op, lvalue: &Lvalue, value: &Expr) -> Op {
    match op {
        Op::Assume(condition) => Op::Assume(exchanged(condition, lvalue, value)),
        Op::Assign(dst, expr) => Op::Assign(dst.clone(), exchanged(expr, lvalue, value)),
        other => other.clone(),
    }
}

pub(super) fn exchanged(expr: &Expr, lvalue: &Lvalue, value: &Expr) -> Expr {
    let again = |expr: &Arc<Expr>| Arc::new(exchanged(expr, lvalue, value));
    match expr {
        Expr::Load(read) if read == lvalue => value.clone(),
        Expr::Unary(op, arg, site) => Expr::Unary(*op, again(arg), *site),
        Expr::Binary(op, lhs, rhs, site) => Expr::Binary(*op, again(lhs), again(rhs), *site),
        Expr::Compare(op, lhs, rhs) => Expr::Compare(*op, again(lhs), again(rhs)),
        Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg), *site),
        Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => expr.clone(),
    }
}
