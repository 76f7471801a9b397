//! How a zone is kept: each number once, in order, and everywhere else by its place there. Most zones differ from the one before in few bounds, so the
//! list of numbers is shared, and the rest is short enough to be copied. Knows no laws of bounds.

use std::{
    borrow::Cow,
    cell::RefCell,
    cmp::Ordering,
    hash::{Hash, Hasher},
    sync::{Arc, Weak},
};

use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};

use super::zone::Dim;

/// Where a number stands in the list.
pub(super) type At = u32;

/// Of a number of which only differences are known.
const NONE: (i128, i128) = (i128::MAX, i128::MIN);

/// Bounds of numbers and of differences; every number that is listed has one. Equal content is equal form.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Table {
    dims: Arc<Vec<Dim>>,
    /// By number.
    bounds: Vec<(i128, i128)>,
    /// In order; by how much the first is at most larger than the second stands at the same place in `most`.
    pairs: Vec<(At, At)>,
    most: Vec<i128>,
}

impl Table {
    fn at(&self, dim: Dim) -> Option<At> {
        self.dims.binary_search(&dim).ok().map(|at| at as At)
    }

    fn dim(&self, at: At) -> Dim {
        self.dims[at as usize]
    }

    /// Smallest and largest value, if something is said of them.
    pub(super) fn bounds(&self, dim: Dim) -> Option<(i128, i128)> {
        self.at(dim).map(|at| self.bounds[at as usize]).filter(|bounds| *bounds != NONE)
    }

    /// Says it.
    pub(super) fn set_bounds(&mut self, dim: Dim, bounds: (i128, i128)) {
        let at = self.listed(dim);
        self.bounds[at as usize] = bounds;
    }

    /// By how much the first is at most larger, if something is said of it.
    pub(super) fn difference(&self, x: Dim, y: Dim) -> Option<i128> {
        let pair = (self.at(x)?, self.at(y)?);
        self.pairs.binary_search(&pair).ok().map(|at| self.most[at])
    }

    /// Says it.
    pub(super) fn set_difference(&mut self, x: Dim, y: Dim, most: i128) {
        self.listed(x);
        let y = self.listed(y);
        // The second may have moved the first.
        let pair = (self.listed(x), y);
        match self.pairs.binary_search(&pair) {
            Ok(at) => self.most[at] = most,
            Err(at) => {
                self.pairs.insert(at, pair);
                self.most.insert(at, most);
            }
        }
    }

    /// Where the number stands, from now on if it did not.
    fn listed(&mut self, dim: Dim) -> At {
        let at = match self.dims.binary_search(&dim) {
            Ok(at) => return at as At,
            Err(at) => at,
        };
        Arc::make_mut(&mut self.dims).insert(at, dim);
        self.bounds.insert(at, NONE);
        let at = at as At;
        // Those behind it move together, so the order of pairs stays.
        for (x, y) in &mut self.pairs {
            *x += At::from(*x >= at);
            *y += At::from(*y >= at);
        }
        at
    }

    /// The numbers of which something is said.
    pub(super) fn dims(&self) -> impl Iterator<Item = Dim> {
        self.dims.iter().copied()
    }

    /// All that is said of numbers, in order.
    pub(super) fn all_bounds(&self) -> impl Iterator<Item = (Dim, (i128, i128))> {
        let all = self.dims.iter().copied().zip(self.bounds.iter().copied());
        all.filter(|(_, bounds)| *bounds != NONE)
    }

    /// How many differences something is said of.
    pub(super) fn count(&self) -> usize {
        self.pairs.len()
    }

    /// All that is said of differences, in order.
    pub(super) fn differences(&self) -> impl Iterator<Item = (Dim, Dim, i128)> {
        let all = self.pairs.iter().zip(&self.most);
        all.map(|((x, y), most)| (self.dim(*x), self.dim(*y), *most))
    }

    /// Those from other numbers to this one.
    pub(super) fn towards(&self, dim: Dim) -> Vec<(Dim, i128)> {
        let Some(at) = self.at(dim) else { return Vec::new() };
        let all = self.pairs.iter().zip(&self.most).filter(|((_, y), _)| *y == at);
        all.map(|((x, _), most)| (self.dim(*x), *most)).collect()
    }

    /// Those from this number to others.
    pub(super) fn from(&self, dim: Dim) -> Vec<(Dim, i128)> {
        let Some(at) = self.at(dim) else { return Vec::new() };
        let first = self.pairs.partition_point(|(x, _)| *x < at);
        let all = self.pairs[first..].iter().zip(&self.most[first..]).take_while(|((x, _), _)| *x == at);
        all.map(|((_, y), most)| (self.dim(*y), *most)).collect()
    }

    /// Keeps what is said of these numbers, and of the differences that are said to stay where both may.
    pub(super) fn retain(&mut self, keep: impl Fn(Dim) -> bool) {
        let kept: Vec<bool> = self.dims.iter().map(|dim| keep(*dim)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let is_kept = |at: At| kept[at as usize];
        self.only(is_kept, |(x, y)| is_kept(x) && is_kept(y));
    }

    /// What is said of these numbers, and of differences with one of them.
    pub(super) fn about(&self, is_one: impl Fn(Dim) -> bool) -> Table {
        let found: Vec<bool> = self.dims.iter().map(|dim| is_one(*dim)).collect();
        let is_one = |at: At| found[at as usize];
        let mut table = self.clone();
        table.only(is_one, |(x, y)| is_one(x) || is_one(y));
        table
    }

    fn only(&mut self, has_bounds: impl Fn(At) -> bool, is_kept: impl Fn((At, At)) -> bool) {
        for (at, bounds) in (0..).zip(&mut self.bounds) {
            if !has_bounds(at) {
                *bounds = NONE;
            }
        }
        let mut left = self.pairs.iter().map(|pair| is_kept(*pair));
        self.most.retain(|_| left.next() == Some(true));
        drop(left);
        self.pairs.retain(|pair| is_kept(*pair));
        self.drop_unused();
    }

    /// Numbers of which nothing is said are not listed.
    fn drop_unused(&mut self) {
        let mut used: Vec<bool> = self.bounds.iter().map(|bounds| *bounds != NONE).collect();
        for (x, y) in &self.pairs {
            used[*x as usize] = true;
            used[*y as usize] = true;
        }
        if used.iter().all(|used| *used) {
            return;
        }
        let mut next = 0;
        let places: Vec<At> = used
            .iter()
            .map(|used| {
                let at = next;
                next += At::from(*used);
                at
            })
            .collect();
        for (x, y) in &mut self.pairs {
            (*x, *y) = (places[*x as usize], places[*y as usize]);
        }
        let mut of_bounds = used.iter();
        self.bounds.retain(|_| of_bounds.next() == Some(&true));
        let listed = self.dims.iter().zip(&used).filter(|(_, used)| **used);
        self.dims = Arc::new(listed.map(|(dim, _)| *dim).collect());
    }

    /// Says all that the other one says, over what was said of the same.
    pub(super) fn add_all(&mut self, other: &Table) {
        for (dim, bounds) in other.all_bounds() {
            self.set_bounds(dim, bounds);
        }
        for (x, y, most) in other.differences() {
            self.set_difference(x, y, most);
        }
    }

    /// The same of numbers with other names; what is said of one without a name is lost. No two get the same.
    pub(super) fn renamed(&self, name: impl Fn(Dim) -> Option<Dim>) -> Table {
        let names: Vec<Option<Dim>> = self.dims.iter().map(|dim| name(*dim)).collect();
        let mut order: Vec<(Dim, usize)> =
            names.iter().enumerate().filter_map(|(at, name)| Some(((*name)?, at))).collect();
        order.sort_unstable();
        let mut places: Vec<Option<At>> = vec![None; names.len()];
        for (new, (_, old)) in (0..).zip(&order) {
            places[*old] = Some(new);
        }
        let all = self.pairs.iter().zip(&self.most);
        let place = |at: At| places[at as usize];
        let mut pairs: Vec<((At, At), i128)> =
            all.filter_map(|((x, y), most)| Some(((place(*x)?, place(*y)?), *most))).collect();
        pairs.sort_unstable();
        let mut table = Table {
            dims: Arc::new(order.iter().map(|(dim, _)| *dim).collect()),
            bounds: order.iter().map(|(_, old)| self.bounds[*old]).collect(),
            pairs: pairs.iter().map(|(pair, _)| *pair).collect(),
            most: pairs.iter().map(|(_, most)| *most).collect(),
        };
        table.drop_unused();
        table
    }

    /// Makes each bound of a number another one.
    pub(super) fn map_bounds(&mut self, map: impl Fn(Dim, (i128, i128)) -> (i128, i128)) {
        for (dim, bounds) in self.dims.iter().zip(&mut self.bounds) {
            if *bounds != NONE {
                *bounds = map(*dim, *bounds);
            }
        }
    }

    /// Takes no more memory than it has to: shares the list of numbers with another table that has the same.
    pub(super) fn settle(&mut self) {
        self.dims = LISTS.with_borrow_mut(|lists| lists.shared(&self.dims));
        self.bounds.shrink_to_fit();
        self.pairs.shrink_to_fit();
        self.most.shrink_to_fit();
    }

    /// Both with one list of numbers, in which some may have nothing said of them.
    pub(super) fn aligned<'t>(&'t self, other: &'t Table) -> (Aligned<'t>, Aligned<'t>) {
        if Arc::ptr_eq(&self.dims, &other.dims) || self.dims == other.dims {
            return (Aligned(Cow::Borrowed(self)), Aligned(Cow::Borrowed(other)));
        }
        let mut all: Vec<Dim> = Vec::with_capacity(self.dims.len() + other.dims.len());
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let (mut own, mut theirs) = (self.dims.iter().peekable(), other.dims.iter().peekable());
        loop {
            let order = match (own.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(own), Some(theirs)) => own.cmp(theirs),
            };
            let place = all.len() as At;
            let mut dim = None;
            if order != Ordering::Greater {
                dim = own.next();
                one.push(place);
            }
            if order != Ordering::Less {
                dim = theirs.next();
                two.push(place);
            }
            all.extend(dim);
        }
        let all = Arc::new(all);
        (self.listing(&all, &one), other.listing(&all, &two))
    }

    /// With a longer list of numbers, where its own stand at these places.
    fn listing(&self, dims: &Arc<Vec<Dim>>, places: &[At]) -> Aligned<'static> {
        let mut bounds = vec![NONE; dims.len()];
        for (at, own) in places.iter().zip(&self.bounds) {
            bounds[*at as usize] = *own;
        }
        let place = |at: At| places[at as usize];
        let pairs = self.pairs.iter().map(|(x, y)| (place(*x), place(*y))).collect();
        Aligned(Cow::Owned(Table { dims: dims.clone(), bounds, pairs, most: self.most.clone() }))
    }
}

/// Lists that are looked at again.
const MOST_LISTS: usize = 1 << 12;

thread_local! {
    static LISTS: RefCell<Lists> = RefCell::default();
}

/// Lists of numbers that are in use, by hash.
#[derive(Default)]
struct Lists(FxHashMap<u64, Weak<Vec<Dim>>>);

impl Lists {
    /// One with this content.
    fn shared(&mut self, list: &Arc<Vec<Dim>>) -> Arc<Vec<Dim>> {
        let mut hasher = FxHasher::default();
        list.hash(&mut hasher);
        let hash = hasher.finish();
        if let Some(known) = self.0.get(&hash).and_then(Weak::upgrade).filter(|known| known == list) {
            return known;
        }
        if self.0.len() >= MOST_LISTS {
            self.0.retain(|_, list| list.strong_count() > 0);
            if self.0.len() >= MOST_LISTS {
                self.0.clear();
            }
        }
        let list = match list.capacity() == list.len() {
            true => list.clone(),
            false => Arc::new(list.to_vec()),
        };
        self.0.insert(hash, Arc::downgrade(&list));
        list
    }
}

/// A table whose list of numbers is that of another one.
pub(super) struct Aligned<'t>(Cow<'t, Table>);

impl Aligned<'_> {
    /// How many numbers are listed.
    pub(super) fn len(&self) -> At {
        self.0.dims.len() as At
    }

    /// The number at this place.
    pub(super) fn dim(&self, at: At) -> Dim {
        self.0.dim(at)
    }

    /// What is said of the number at this place.
    pub(super) fn bounds(&self, at: At) -> Option<(i128, i128)> {
        Some(self.0.bounds[at as usize]).filter(|bounds| *bounds != NONE)
    }

    /// The pairs of places of which something is said, in order.
    pub(super) fn pairs(&self) -> &[(At, At)] {
        &self.0.pairs
    }

    /// What is said of a pair of places.
    pub(super) fn difference(&self, pair: (At, At)) -> Option<i128> {
        self.0.pairs.binary_search(&pair).ok().map(|at| self.0.most[at])
    }

    /// Says this and nothing else: bounds by place, and differences in order.
    pub(super) fn saying(&self, bounds: Vec<Option<(i128, i128)>>, all: Vec<((At, At), i128)>) -> Table {
        let mut table = Table {
            dims: self.0.dims.clone(),
            bounds: bounds.into_iter().map(|bounds| bounds.unwrap_or(NONE)).collect(),
            pairs: all.iter().map(|(pair, _)| *pair).collect(),
            most: all.iter().map(|(_, most)| *most).collect(),
        };
        table.drop_unused();
        table
    }
}
