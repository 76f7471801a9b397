//! Places as numbers: what conditions on memory and comparisons of pointers are, where it is known how far a pointer has moved. Makes no edges.

use super::*;

impl Maker<'_> {
    pub(super) fn ghosts_of(&self, place: &Place) -> Ghosts {
        place.local.and_then(|id| self.ghosts.get(&id).copied()).unwrap_or_default()
    }

    pub(super) fn path(offset: &Offset) -> Expr {
        let start = number(offset.bytes);
        offset.terms.iter().fold(start, |all, (index, stride)| sum(all, times(widened(index), *stride)))
    }

    /// The number with the steps of a place added.
    pub(super) fn stepped(from: Expr, offset: &Offset) -> Expr {
        let indices =
            offset.terms.iter().fold(from, |all, (index, stride)| sum(all, times(widened(index), *stride)));
        plus(indices, offset.bytes)
    }

    /// How far a pointer is from where its origin points.
    pub(super) fn moved(&self, place: &Place) -> Expr {
        let root = self.ghosts_of(place).moved.map_or_else(|| number(0), bytes::load);
        Self::stepped(root, &place.offset)
    }

    /// How many elements a pointer is from the start of the range that it leads into; `None`: they are no whole ones.
    pub(super) fn elements(&self, place: &Place) -> Option<Expr> {
        let (unit, moved) = (i128::from(self.unit(place)?), bytes::load(self.ghosts_of(place).moved?));
        let mut at = moved;
        for (index, stride) in &place.offset.terms {
            let stride = i128::from(*stride);
            let times = u64::try_from(stride / unit).ok().filter(|_| stride % unit == 0)?;
            at = sum(at, bytes::times(widened(index), times));
        }
        (place.offset.bytes % unit == 0).then(|| plus(at, place.offset.bytes / unit))
    }

    /// The size of an element where a place leads.
    pub(super) fn unit(&self, place: &Place) -> Option<u64> {
        types(self.program).size(self.origins.pointee(place.origin)?).filter(|size| *size > 0)
    }

    /// Whether so many bytes from a pointer on are in the range that it leads into.
    fn in_range(&self, place: &Place, size: &Expr) -> Option<Expr> {
        let Origin::Parameter(start) = place.origin else { return None };
        let reach = bytes::load(self.reaches.get(&start)?.1);
        let Expr::Int(size, _) = size else {
            // A size that differs from run to run is one of bytes.
            let is_byte = self.unit(place)? == 1;
            return if is_byte { Some(within(self.elements(place)?, size, &reach)) } else { None };
        };
        let unit = i128::from(self.unit(place)?);
        let inside = place.offset.bytes.rem_euclid(unit);
        let mut first = place.clone();
        first.offset.bytes -= inside;
        let count = (inside + size + unit - 1) / unit;
        Some(within(self.elements(&first)?, &number(count), &reach))
    }

    /// How many bytes of its string are left behind a pointer.
    pub(super) fn left(&self, place: &Place) -> Option<Expr> {
        let left = bytes::load(self.ghosts_of(place).left?);
        let indices = place
            .offset
            .terms
            .iter()
            .fold(left, |all, (index, stride)| difference(all, times(widened(index), *stride)));
        Some(plus(indices, -place.offset.bytes))
    }

    /// Whether a pointer into a string is not before its start.
    pub(super) fn is_behind_start(&self, place: &Place) -> Expr {
        if self.only_forward(place.origin) || self.ghosts_of(place).moved.is_none() {
            let is_forward = place.offset.terms.is_empty() && place.offset.bytes >= 0;
            return if is_forward { truth(true) } else { at_most(Self::path(&place.offset), number(MOST)) };
        }
        at_most(self.moved(place), number(MOST))
    }

    /// Whether so many bytes from a pointer on are in its object, if that is a matter of numbers.
    pub(super) fn inside(&self, place: &Place, size: &Expr) -> Option<Expr> {
        if place.origin == Origin::Room {
            return self.in_room(place, size);
        }
        let size = widened(size);
        if place.origin == Origin::Allocated {
            let left = self.left(place)?;
            let is_there = and(at_most(size, left.clone()), at_most(left, number(MOST)));
            let inside = and(is_there, self.is_behind_start(place));
            return Some(self.unless_null(place, inside));
        }
        let condition = match self.memory(place.origin) {
            Memory::Nothing | Memory::Allocated | Memory::Tree(_) => return None,
            Memory::Bytes(bytes) => within(self.moved(place), &size, &number(i128::from(bytes))),
            Memory::Structure => {
                let ty = self.origins.pointee(place.origin)?;
                let bytes = types(self.program).size(ty)?;
                within(Self::path(&place.offset), &size, &number(i128::from(bytes)))
            }
            Memory::Elements(count, stride) => {
                let count = self.entry_value(&count);
                if let Some(condition) = self.element(place, &size, &count, stride) {
                    return Some(self.unless_null(place, condition));
                }
                let all = times(widened(&count), stride);
                let is_size = at_most(widened(&count), number(MOST / i128::from(stride.max(1))));
                and(is_size, within(self.moved(place), &size, &all))
            }
            Memory::Until(_) => self.in_range(place, &size)?,
            Memory::String => match self.left(place) {
                Some(left) => {
                    let is_there = and(at_most(size, left.clone()), at_most(left, number(MOST)));
                    and(is_there, self.is_behind_start(place))
                }
                // A string that was just read from a structure.
                None => truth(place.offset.is_zero() && size == number(1)),
            },
        };
        Some(self.unless_null(place, condition))
    }

    /// `p[i]` with elements of that size, `p` being what was passed.
    pub(super) fn element(&self, place: &Place, size: &Expr, count: &Expr, stride: u64) -> Option<Expr> {
        let Expr::Int(size, _) = size else { return None };
        let (ty, counted) = (place.offset.terms.first()?.0.int_type()?, count.int_type()?);
        let [(index, step)] = &place.offset.terms[..] else { return None };
        let is_whole = *step == stride && place.offset.bytes == 0 && *size <= i128::from(stride);
        // As numbers they are compared in the type that has both.
        let is_wider = counted.contains(ty.max()) && counted.contains(ty.min());
        if !is_whole || self.ghosts_of(place).moved.is_some() || !is_wider {
            return None;
        }
        let number = match ty == counted {
            true => Expr::clone(index),
            false => Expr::Cast(Scalar::Int(counted), Arc::new(Expr::clone(index)), Site::NOWHERE),
        };
        let is_less = compare(CompareOp::Lt, number, count.clone());
        let is_not_negative = compare(CompareOp::Ge, Expr::clone(index), Expr::Int(0, ty));
        Some(if ty.signed { and(is_not_negative, is_less) } else { is_less })
    }

    /// A null pointer, and what is computed from one, leads nowhere.
    pub(super) fn unless_null(&self, place: &Place, condition: Expr) -> Expr {
        if !self.origins.may_be_null(place) {
            return condition;
        }
        and(is_not_null(&place.root), condition)
    }

    /// Whether a pointer leads to a string, if that is a matter of numbers.
    pub(super) fn ends(&self, place: &Place) -> Option<Expr> {
        if self.memory(place.origin) != Memory::String || !self.strings_stay(self.at, place.origin) {
            return None;
        }
        let Some(left) = self.left(place) else {
            return place.offset.is_zero().then(|| self.unless_null(place, truth(true)));
        };
        let is_there = and(at_most(number(1), left.clone()), at_most(left, number(MOST)));
        Some(self.unless_null(place, and(is_there, self.is_behind_start(place))))
    }

    /// A condition on memory, in numbers where that is possible, and the parameter that it is about.
    pub(super) fn predicate(
        &self,
        predicate: MemoryPredicate,
        pointer: &Expr,
        size: &Expr,
    ) -> Option<(Expr, usize)> {
        let is_life = matches!(
            predicate,
            MemoryPredicate::NotFreed | MemoryPredicate::NotEnded | MemoryPredicate::Callable
        );
        if is_life && self.is_hook(pointer) {
            return Some((truth(true), usize::MAX));
        }
        if self.is_owned(predicate, pointer) {
            return Some((truth(true), usize::MAX));
        }
        let place = match self.origins.place(pointer) {
            Some(place) => place,
            // The address of a variable has no origin.
            None if predicate == MemoryPredicate::SameObject
                && separated::is_own(&self.origins, pointer, size) =>
            {
                return Some((truth(false), usize::MAX));
            }
            None => return None,
        };
        let condition = match predicate {
            MemoryPredicate::InBounds => self.inside(&place, size)?,
            MemoryPredicate::Terminated => self.ends(&place)?,
            MemoryPredicate::SameObject
                if place.origin == Origin::Room && self.origins.rooms().are_apart_from(size) =>
            {
                truth(false)
            }
            MemoryPredicate::SameObject if self.are_separated(&place, pointer, size) => truth(false),
            // What callers lead to has values.
            MemoryPredicate::Initialised if self.has_values(&place) => truth(true),
            MemoryPredicate::NotFreed | MemoryPredicate::NotEnded if self.is_alive(&place) => truth(true),
            // Whether it may be written, callers in sight are asked by themselves.
            MemoryPredicate::Writable if self.is_given(&place) => truth(true),
            MemoryPredicate::Writable
            | MemoryPredicate::Callable
            | MemoryPredicate::Initialised
            | MemoryPredicate::Within
            | MemoryPredicate::SameObject
            | MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::Freeable
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => return None,
        };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) | Origin::Allocated | Origin::Room => usize::MAX,
        };
        Some((condition, at))
    }

    /// Whether two pointers lead into different objects.
    fn are_separated(&self, place: &Place, pointer: &Expr, other: &Expr) -> bool {
        let other = match self.origins.place(other) {
            Some(other) => other.origin,
            None => return separated::is_own(&self.origins, pointer, other),
        };
        match (place.origin, other) {
            (Origin::Parameter(one), Origin::Parameter(other)) => self.own.are_separated(one, other),
            (Origin::Allocated, Origin::Parameter(_)) | (Origin::Parameter(_), Origin::Allocated) => true,
            (Origin::Parameter(_) | Origin::Loaded(_) | Origin::Allocated | Origin::Room, _) => false,
        }
    }

    /// Whether it is said of what the function holds.
    fn is_owned(&self, predicate: MemoryPredicate, pointer: &Expr) -> bool {
        match predicate {
            MemoryPredicate::NotFreed | MemoryPredicate::NotEnded => {
                self.owned.is_alive(self.function, self.at, pointer)
            }
            MemoryPredicate::Freeable => self.owned.can_be_freed(self.function, self.at, pointer),
            MemoryPredicate::InBounds
            | MemoryPredicate::Terminated
            | MemoryPredicate::Initialised
            | MemoryPredicate::Writable
            | MemoryPredicate::Callable
            | MemoryPredicate::Within
            | MemoryPredicate::SameObject
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => false,
        }
    }

    /// Whether the contract says what function it leads to: functions do not end.
    fn is_hook(&self, pointer: &Expr) -> bool {
        // A call speaks of the function that the pointer leads to.
        let pointer = match pointer {
            Expr::Address(Lvalue { base: Base::Deref(inner, _), path, .. }) if path.is_empty() => inner,
            other => other,
        };
        let place = hooks::place_of(&self.named.unnamed(pointer), self.function);
        place.is_some_and(|place| self.own.hooks.contains_key(&place))
    }

    /// Whether a pointer leads to memory that the contract speaks of, and nothing has ended since. (What else comes from a parameter is null.)
    fn is_alive(&self, place: &Place) -> bool {
        self.is_given(place) && (self.stays.lives(self.named.before(self.at)) || self.is_beside_trees(place))
    }

    /// Whether a pointer leads to what another parameter was given than those with trees, which are all that the function ends.
    pub(super) fn is_beside_trees(&self, place: &Place) -> bool {
        let is_beside =
            |at: usize| self.own.pointers.get(&at).is_some_and(|asked| !owned::is_owned(&asked.memory));
        self.owned.sees_all(self.at) && matches!(place.origin, Origin::Parameter(at) if is_beside(at))
    }

    /// Whether a pointer leads to memory that the contract speaks of, and nothing without a value has come there since.
    fn has_values(&self, place: &Place) -> bool {
        self.stays.values(self.named.before(self.at)) && self.is_given(place)
    }

    /// Whether a pointer leads to memory that the contract speaks of.
    fn is_given(&self, place: &Place) -> bool {
        match place.origin {
            Origin::Parameter(_) => self.memory(place.origin) != Memory::Nothing,
            Origin::Loaded(_) => true,
            Origin::Allocated => false,
            // What the function has allocated itself it may have freed itself.
            Origin::Room => !self.has_new_rooms,
        }
    }

    /// The parameter whose memory a condition speaks of that is no matter of numbers under this contract.
    pub(super) fn parameter_of(&self, predicate: MemoryPredicate, pointer: &Expr) -> Option<usize> {
        let is_room = matches!(predicate, MemoryPredicate::InBounds | MemoryPredicate::Terminated);
        match self.origins.place(pointer).filter(|_| is_room)?.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
        }
    }

    /// A condition with what it says of memory in numbers.
    pub(super) fn translated(&self, condition: &Expr, about: &mut Option<usize>) -> Expr {
        let mut again = |expr: &Arc<Expr>| Arc::new(self.translated(expr, about));
        if let Some(condition) = self.leads_into_room(condition) {
            return condition;
        }
        match condition {
            Expr::Memory(predicate, pointer, size) => match self.predicate(*predicate, pointer, size) {
                Some((condition, at)) => {
                    *about = Some(at);
                    condition
                }
                None => {
                    *about = about.or_else(|| self.parameter_of(*predicate, pointer));
                    condition.clone()
                }
            },
            Expr::Compare(op, lhs, rhs) => {
                let (lhs, rhs) = (again(lhs), again(rhs));
                if let (CompareOp::Eq, Expr::Int(a, _), Expr::Int(b, _)) = (op, &*lhs, &*rhs) {
                    return truth(a == b);
                }
                Expr::Compare(*op, lhs, rhs)
            }
            Expr::Binary(op, lhs, rhs, site) => {
                let (lhs, rhs) = (again(lhs), again(rhs));
                Expr::Binary(*op, lhs, rhs, *site)
            }
            Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg), *site),
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Overflows(..)
            | Expr::PointerDifference(..) => condition.clone(),
        }
    }
}

/// Whether `size` bytes from `moved` on are among the first `all` bytes.
pub(super) fn within(moved: Expr, size: &Expr, all: &Expr) -> Expr {
    if let (Expr::Int(size, _), Expr::Int(all, _)) = (size, all) {
        return if size <= all { at_most(moved, number(all - size)) } else { truth(false) };
    }
    let is_start = at_most(moved.clone(), all.clone());
    and(is_start, at_most(size.clone(), difference(all.clone(), moved)))
}
