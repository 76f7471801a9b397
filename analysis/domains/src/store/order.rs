//! Order and bounds of states. Frames are compared one by one; states of different call stacks are unrelated.

use std::sync::Arc;

use proofline_cfa::{Expr, LocalId, Object, Scalar};

use crate::store::{
    heap::{Count, Heap},
    region::Region,
    state::{Below, Frame, Memory, State},
    value::{Abstract, AbstractValue},
};

impl<V: AbstractValue> State<V> {
    /// `self ⊑ upper`
    pub fn leq(&self, upper: &State<V>) -> bool {
        self.frame.leq(&upper.frame)
            && self.below.leq(&upper.below)
            && self.heap_leq(upper)
            && self.filled_leq(upper)
            && self.guarded_leq(upper)
            && self.memory.leq(&upper.memory, &self.heap)
    }

    /// Whether both have the same open calls, so that a bound of both says something.
    pub fn has_same_stack(&self, other: &State<V>) -> bool {
        let same = |a: &Frame<V>, b: &Frame<V>| a.function == b.function && a.called_at == b.called_at;
        if !same(&self.frame, &other.frame) || self.below.depth() != other.below.depth() {
            return false;
        }
        let (mut a, mut b) = (&self.below, &other.below);
        while !a.is_same(b)
            && let (Some((left, left_below)), Some((right, right_below))) = (a.pop(), b.pop())
        {
            if !same(left, right) {
                return false;
            }
            (a, b) = (left_below, right_below);
        }
        true
    }

    /// An upper bound, values combined by `bound` (an upper bound of values; older first). `None`: the call stacks differ.
    pub fn combine(
        &self,
        newer: &State<V>,
        bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
    ) -> Option<State<V>> {
        if !self.has_same_stack(newer) {
            return None;
        }
        let mut frame = self.frame.combine(&newer.frame, bound);
        let filled = self.filled_join(newer);
        if frame.filled != filled {
            Arc::make_mut(&mut frame).filled = filled;
        }
        let mut joined = State {
            frame,
            below: self.below.combine(&newer.below, bound),
            memory: self.memory.combine(&newer.memory, (&self.heap, &newer.heap), bound),
            heap: self.heap_join(newer),
        };
        let guarded = self.guarded_join(newer, &joined);
        if joined.frame.guarded != guarded {
            Arc::make_mut(&mut joined.frame).guarded = guarded;
        }
        Some(joined)
    }

    /// Why `self ⊑ upper` does not hold.
    pub fn explain_not_leq(&self, upper: &State<V>) -> String {
        if !self.has_same_stack(upper) {
            return "the open calls differ".to_owned();
        }
        if !self.frame.leq(&upper.frame) {
            for (id, region) in &upper.frame.locals {
                if !self.frame.local(*id).is_some_and(|mine| mine.leq(region)) {
                    return format!("{id} is {:?}, not within {:?}", self.frame.local(*id), region);
                }
            }
            return "an equality of locals is missing".to_owned();
        }
        for (object, region) in upper.memory.objects() {
            if !self.memory.get(*object).is_some_and(|mine| mine.leq(region)) {
                return format!("{object:?} is {:?}, not within {:?}", self.memory.get(*object), region);
            }
        }
        "frames of callers or allocation counts differ".to_owned()
    }
}

impl<V: AbstractValue> Frame<V> {
    fn leq(self: &Arc<Self>, upper: &Arc<Self>) -> bool {
        if Arc::ptr_eq(self, upper) {
            return true;
        }
        self.function == upper.function
            && self.called_at == upper.called_at
            && upper.locals.len() <= self.locals.len()
            && upper.definitions.len() <= self.definitions.len()
            && locals_leq(&self.locals, &upper.locals)
            && upper.definitions.iter().all(|(id, theirs)| self.definition(*id) == Some(theirs))
    }

    fn combine(
        self: &Arc<Self>,
        newer: &Arc<Self>,
        bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
    ) -> Arc<Self> {
        if Arc::ptr_eq(self, newer) {
            return self.clone();
        }
        let mut result = Frame::new(self.function, self.called_at);
        result.locals =
            intersect(&self.locals, &newer.locals, |_, mine, theirs| combine_regions(mine, theirs, bound));
        result.definitions =
            intersect(&self.definitions, &newer.definitions, |_: LocalId, mine: &Arc<Expr>, theirs| {
                (mine == theirs).then(|| mine.clone())
            });
        Arc::new(result)
    }
}

impl<V: AbstractValue> Below<V> {
    fn leq(&self, upper: &Below<V>) -> bool {
        let (mut a, mut b) = (self, upper);
        loop {
            if a.is_same(b) {
                return true;
            }
            let (Some((lower, lower_below)), Some((upper, upper_below))) = (a.pop(), b.pop()) else {
                return false;
            };
            if !lower.leq(upper) {
                return false;
            }
            (a, b) = (lower_below, upper_below);
        }
    }

    fn combine(&self, newer: &Below<V>, bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>) -> Below<V> {
        let (mut old, mut new, mut frames) = (self, newer, Vec::new());
        while !old.is_same(new)
            && let (Some((mine, mine_below)), Some((theirs, theirs_below))) = (old.pop(), new.pop())
        {
            frames.push(mine.combine(theirs, bound));
            (old, new) = (mine_below, theirs_below);
        }
        frames.into_iter().rev().fold(old.clone(), |below, frame| below.push(frame))
    }
}

impl<V: AbstractValue> Memory<V> {
    /// Of an object that does not exist in the lower state everything holds.
    fn leq(&self, upper: &Memory<V>, heap: &Heap) -> bool {
        if self.is_same(upper) {
            return true;
        }
        upper.objects().iter().all(|(object, theirs)| {
            self.get(*object).is_some_and(|mine| Arc::ptr_eq(mine, theirs) || mine.leq(theirs))
                || is_absent(*object, heap)
        })
    }

    fn combine(
        &self,
        newer: &Memory<V>,
        heaps: (&Heap, &Heap),
        bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
    ) -> Memory<V> {
        if self.is_same(newer) {
            return self.clone();
        }
        let mut objects = intersect(self.objects(), newer.objects(), |_, mine, theirs| {
            combine_regions(mine, theirs, bound)
        });
        let mut keep = |from: &Memory<V>, other: &Heap| {
            let kept = from.objects().iter().filter(|(object, _)| is_absent(*object, other));
            let missing: Vec<_> =
                kept.filter(|(o, _)| !objects.iter().any(|(known, _)| known == o)).cloned().collect();
            objects.extend(missing);
        };
        keep(self, heaps.1);
        keep(newer, heaps.0);
        Memory::new(objects)
    }
}

/// Whether every local that the upper frame knows is known below. Both are sorted.
fn locals_leq<V: AbstractValue>(
    lower: &[(LocalId, Arc<Region<V>>)],
    upper: &[(LocalId, Arc<Region<V>>)],
) -> bool {
    let mut lower = lower.iter();
    upper.iter().all(|(id, theirs)| {
        let mine = lower.find(|(mine, _)| mine >= id);
        mine.is_some_and(|(found, mine)| found == id && (Arc::ptr_eq(mine, theirs) || mine.leq(theirs)))
    })
}

/// Whether the object is one that has never been allocated.
fn is_absent(object: Object, heap: &Heap) -> bool {
    matches!(object, Object::Heap(..)) && heap.count(object) == Count::Zero
}

fn combine_regions<V: AbstractValue>(
    old: &Arc<Region<V>>,
    new: &Arc<Region<V>>,
    bound: &mut dyn FnMut(Scalar, &V, &V) -> Abstract<V>,
) -> Option<Arc<Region<V>>> {
    if Arc::ptr_eq(old, new) || old == new {
        return Some(old.clone());
    }
    let joined = old.combine(new, bound);
    (!joined.is_unknown()).then(|| if joined == **old { old.clone() } else { Arc::new(joined) })
}

/// The keys of both, in order, with combined values.
fn intersect<K: Copy + Ord, T>(
    a: &[(K, T)],
    b: &[(K, T)],
    mut combine: impl FnMut(K, &T, &T) -> Option<T>,
) -> Vec<(K, T)> {
    let (mut i, mut j, mut result) = (0, 0, Vec::with_capacity(a.len().min(b.len())));
    while let (Some((left, x)), Some((right, y))) = (a.get(i), b.get(j)) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                if let Some(value) = combine(*left, x, y) {
                    result.push((*left, value));
                }
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    result
}

impl<V: AbstractValue> State<V> {
    /// A state with the same open calls about which nothing else is known.
    pub fn forgotten(&self) -> State<V> {
        let (mut frames, mut below) = (Vec::new(), &self.below);
        while let Some((frame, rest)) = below.pop() {
            frames.push(Arc::new(Frame::new(frame.function, frame.called_at)));
            below = rest;
        }
        State {
            frame: Arc::new(Frame::new(self.frame.function, self.frame.called_at)),
            below: frames.into_iter().rev().fold(Below::nothing(), |below, frame| below.push(frame)),
            memory: Memory::new(Vec::new()),
            heap: Heap::all(Count::Many),
        }
    }
}
