//! Bounds of differences between numbers, kept sparse: a difference is stored where the program relates two numbers, or where it follows from
//! others more sharply than their own bounds say (split normal form: Gange, Navas, Schachte, Søndergaard and Stuckey, "Exploiting Sparsity
//! in Difference-Bound Matrices", SAS 2016). Knows no expressions and no operations.
//!
//! **Law.** A zone stands for the valuations that satisfy all its bounds; no bound is lost by `constrain`, and every bound of a join or of a
//! widened zone holds in both of its parts.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{IntType, LocalId, Name};
use serde::{Deserialize, Serialize};

use super::{
    table::{Aligned, At, Table},
    variable::{Cell, Var},
};

/// So many differences are stored at most; further ones that only follow from others are not.
const MOST: usize = 400;

/// So many numbers that move together are compared with each other where two zones meet.
const MOVED: usize = 8;

/// Bounds of differences that a loop keeps growing towards.
const THRESHOLDS: [i128; 3] = [-1, 0, 1];

/// A number that relations speak of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Dim {
    /// The value of a local or a cell.
    Value(Var, IntType),
    /// Twice its value, as a mathematical number: that is what `2 * n` and `n << 1` are, and what a buffer has that is twice as large.
    Twice(Var, IntType),
    /// The product of two locals or cells, the first one first, as a mathematical number: so many elements a matrix has of `rows * columns`.
    /// Listed only where the bounds of both say that it is no larger than such numbers are.
    Product(Var, IntType, Var, IntType),
    /// The value of an object with static storage that only edges which name it change.
    Global(Name, IntType),
    /// The value of a parameter that the function changes, when it was called.
    First(LocalId, IntType),
    /// How far the pointer there is from the start of its object, in the units of that pointer.
    Offset(Var),
    /// How far the pointer in a parameter that the function changes was, when it was called.
    FirstOffset(LocalId),
    /// So many whole units its object has at least.
    Size(Var),
    /// How far from the start of its object, in the units of that pointer, a unit holds 0.
    Zero(Var),
    /// So many units from the start of its object on have values, at least.
    Filled(Var),
    /// How far from the start of its object the unit was that the number was read from.
    From(Var),
    /// Where that object held 0 then.
    Stop(Var),
    /// A number on its way into another place.
    Scratch(u8),
}

/// No number gets so large: what is said of such ones is nothing.
const FAR: i128 = 1 << 120;

/// Nor so large, plus or minus what programs add.
const LARGE: i128 = 1 << 100;

impl Dim {
    /// Every value that it may have.
    pub fn range(self) -> (i128, i128) {
        match self {
            Dim::Value(_, ty) | Dim::First(_, ty) | Dim::Global(_, ty) => (ty.min(), ty.max()),
            Dim::Twice(_, ty) => (2 * ty.min(), 2 * ty.max()),
            Dim::Product(_, a, _, b) => {
                let (low, high) = products((a.min(), a.max()), (b.min(), b.max()));
                (low.max(-LARGE), high.min(LARGE))
            }
            Dim::Size(_) | Dim::Zero(_) | Dim::Filled(_) | Dim::Stop(_) => (0, 1 << 64),
            Dim::Offset(_) | Dim::FirstOffset(_) | Dim::From(_) | Dim::Scratch(_) => (-FAR, FAR),
        }
    }

    /// What holds it, or the pointer that it is about. Nothing holds a product.
    pub fn var(self) -> Option<Var> {
        match self {
            Dim::Value(var, _)
            | Dim::Twice(var, _)
            | Dim::Offset(var)
            | Dim::Size(var)
            | Dim::Zero(var)
            | Dim::Filled(var)
            | Dim::From(var)
            | Dim::Stop(var) => Some(var),
            Dim::First(id, _) | Dim::FirstOffset(id) => Some(Var::Local(id)),
            Dim::Product(..) | Dim::Global(..) | Dim::Scratch(_) => None,
        }
    }

    /// The product of two numbers, of which the caller knows that it is in its range.
    pub fn product(a: (Var, IntType), b: (Var, IntType)) -> Dim {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        Dim::Product(a.0, a.1, b.0, b.1)
    }

    /// Whether it is a product with what holds a number.
    pub fn is_product_of(self, var: Var) -> bool {
        self.factors().any(|factor| factor == var)
    }

    /// What holds the factors of a product.
    pub fn factors(self) -> impl Iterator<Item = Var> {
        let factors = match self {
            Dim::Product(a, _, b, _) => Some([a, b]),
            _ => None,
        };
        factors.into_iter().flatten()
    }

    /// The cells that hold it, or the pointer that it is about, or its factors.
    pub fn cells(self) -> impl Iterator<Item = Cell> {
        self.cell().into_iter().chain(self.factors().filter_map(Var::cell))
    }

    /// The product where its factors are held elsewhere; `None`: it is no product, or one of them is nowhere.
    pub fn product_held_by(self, name: impl Fn(Var) -> Option<Var>) -> Option<Dim> {
        match self {
            Dim::Product(a, a_ty, b, b_ty) => Some(Dim::product((name(a)?, a_ty), (name(b)?, b_ty))),
            _ => None,
        }
    }

    /// The same of another holder. What parameters were at first stays theirs.
    #[must_use]
    pub fn held_by(self, var: Var) -> Dim {
        match self {
            Dim::Value(_, ty) => Dim::Value(var, ty),
            Dim::Twice(_, ty) => Dim::Twice(var, ty),
            Dim::Offset(_) => Dim::Offset(var),
            Dim::Size(_) => Dim::Size(var),
            Dim::Zero(_) => Dim::Zero(var),
            Dim::Filled(_) => Dim::Filled(var),
            Dim::From(_) => Dim::From(var),
            Dim::Stop(_) => Dim::Stop(var),
            Dim::First(..) | Dim::FirstOffset(_) | Dim::Product(..) | Dim::Global(..) | Dim::Scratch(_) => {
                self
            }
        }
    }

    /// The local that it is about.
    pub fn local(self) -> Option<LocalId> {
        self.var().and_then(Var::local)
    }

    /// The cell that it is about.
    pub fn cell(self) -> Option<Cell> {
        self.var().and_then(Var::cell)
    }
}

/// The smallest and the largest product of a number in one range with one in the other.
pub(super) fn products(a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    let all = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.saturating_mul(y));
    all.iter().fold((i128::MAX, i128::MIN), |(low, high), product| (low.min(*product), high.max(*product)))
}

/// A conjunction of bounds of numbers and of differences.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Zone {
    /// By how much the first number is at most larger than the second; and of single numbers the smallest and the largest value: where nothing is
    /// said, those of the number's type.
    table: Table,
}

impl Zone {
    /// Smallest and largest value.
    pub fn bounds(&self, dim: Dim) -> (i128, i128) {
        self.table.bounds(dim).unwrap_or_else(|| dim.range())
    }

    /// The same with what follows from its distances to others, which widening does not look at.
    pub fn followed(&self, dim: Dim) -> (i128, i128) {
        let (low, high) = self.bounds(dim);
        let from = self.table.from(dim).into_iter();
        let high = from.fold(high, |high, (y, most)| high.min(self.bounds(y).1.saturating_add(most)));
        let towards = self.table.towards(dim).into_iter();
        let low = towards.fold(low, |low, (x, most)| low.max(self.bounds(x).0.saturating_sub(most)));
        (low, high)
    }

    /// The differences that are stored.
    pub fn differences(&self) -> impl Iterator<Item = (Dim, Dim, i128)> {
        self.table.differences()
    }

    /// The bounds that are stored.
    pub fn all_bounds(&self) -> impl Iterator<Item = (Dim, (i128, i128))> {
        self.table.all_bounds()
    }

    /// By how much `x` is at most larger than `y`.
    pub fn distance(&self, x: Dim, y: Dim) -> i128 {
        if x == y {
            return 0;
        }
        let by_bounds = self.bounds(x).1 - self.bounds(y).0;
        let most = self.table.difference(x, y).map_or(by_bounds, |most| most.min(by_bounds));
        if most >= LARGE { FAR } else { most }
    }

    /// Everything that is said about numbers for which `keep` does not hold is forgotten.
    pub fn retain(&mut self, keep: impl Fn(Dim) -> bool) {
        self.table.retain(keep);
    }

    /// What is said about numbers of which one, at least, is such a number.
    #[must_use]
    pub fn about(&self, is_one: impl Fn(Dim) -> bool) -> Zone {
        Zone { table: self.table.about(is_one) }
    }

    /// The numbers of which something is said, in order.
    pub fn dims(&self) -> impl Iterator<Item = Dim> {
        self.table.dims()
    }

    /// The locals whose products objects have so many units, or whose products with what is used something is known of.
    pub fn factors(&self, is_used: impl Fn(Var) -> bool) -> BTreeSet<LocalId> {
        let of_sizes = self.differences().filter_map(|(x, y, _)| match (x, y) {
            (Dim::Product(a, _, b, _), Dim::Size(_)) => Some([a, b]),
            _ => None,
        });
        let of_used = self.dims().filter_map(|dim| match dim {
            Dim::Product(a, _, b, _) if is_used(a) || is_used(b) => Some([a, b]),
            _ => None,
        });
        of_sizes.chain(of_used).flatten().filter_map(Var::local).collect()
    }

    /// Whether something is said about such a number.
    pub fn mentions(&self, about: impl Fn(Dim) -> bool) -> bool {
        self.dims().any(about)
    }

    /// With what another zone says of some numbers, of which nothing is said here: whatever the others are, there are such numbers. `None` if
    /// there need not be.
    ///
    /// **Law.** Every valuation of the other numbers that satisfies this zone is one of the new zone, with some values for the free ones.
    #[must_use]
    pub fn extended(&self, other: &Zone, is_free: impl Fn(Dim) -> bool) -> Option<Zone> {
        // Bounds are distances from zero, which has no name.
        type Node = Option<Dim>;
        let is_inner = |node: Node| node.is_some_and(&is_free);
        let differences = other.differences().map(|(x, y, most)| (Some(x), Some(y), most));
        let bounds = other.all_bounds();
        let bounds = bounds.flat_map(|(x, (low, high))| [(Some(x), None, high), (None, Some(x), -low)]);
        let asked: Vec<(Node, Node, i128)> =
            differences.chain(bounds).filter(|(x, y, _)| is_inner(*x) || is_inner(*y)).collect();
        let mut known: BTreeMap<(Node, Node), i128> = BTreeMap::new();
        for (x, y, most) in &asked {
            let least = known.entry((*x, *y)).or_insert(*most);
            *least = (*least).min(*most);
        }
        let inner: BTreeSet<Node> =
            asked.iter().flat_map(|(x, y, _)| [*x, *y]).filter(|node| is_inner(*node)).collect();
        for via in inner {
            let to: Vec<(Node, i128)> =
                known.iter().filter(|((_, y), _)| *y == via).map(|((x, _), most)| (*x, *most)).collect();
            let from: Vec<(Node, i128)> =
                known.iter().filter(|((x, _), _)| *x == via).map(|((_, y), most)| (*y, *most)).collect();
            for (x, first) in to {
                for (y, last) in from.iter().filter(|(y, _)| *y != x) {
                    let most = first.saturating_add(*last);
                    let least = known.entry((x, *y)).or_insert(most);
                    *least = (*least).min(most);
                }
            }
        }
        let holds = |x: Node, y: Node, most: i128| match (x, y) {
            (Some(x), Some(y)) => self.distance(x, y) <= most,
            (Some(x), None) => self.bounds(x).1 <= most,
            (None, Some(y)) => -self.bounds(y).0 <= most,
            (None, None) => most >= 0,
        };
        let is_possible =
            |((x, y), most): (&(Node, Node), &i128)| is_inner(*x) || is_inner(*y) || holds(*x, *y, *most);
        if !known.iter().all(is_possible) {
            return None;
        }
        let mut zone = self.clone();
        zone.retain(|dim| !is_free(dim));
        let has_room = asked.into_iter().all(|(x, y, most)| match (x, y) {
            (Some(x), Some(y)) => zone.constrain(x, y, most),
            (Some(x), None) => zone.bound(x, i128::MIN, most),
            (None, Some(y)) => zone.bound(y, -most, i128::MAX),
            (None, None) => true,
        });
        has_room.then_some(zone)
    }

    /// Adds what another zone says of other numbers.
    pub fn add_all(&mut self, other: &Zone) {
        self.table.add_all(&other.table);
    }

    /// The numbers under other names; those without one are forgotten. No two get the same name. What becomes a number of units is no larger
    /// than such numbers are.
    pub fn renamed(&self, name: impl Fn(Dim) -> Option<Dim>) -> Zone {
        let within = |dim: Dim, (low, high): (i128, i128)| match dim {
            Dim::Size(_) | Dim::Zero(_) | Dim::Filled(_) | Dim::Stop(_) => {
                let (least, most) = dim.range();
                (low.clamp(least, most), high.clamp(least, most))
            }
            _ => (low, high),
        };
        let mut table = self.table.renamed(name);
        table.map_bounds(within);
        Zone { table }
    }

    /// Adds `x − y ≤ most`. False: no valuation is left.
    #[must_use]
    pub fn constrain(&mut self, x: Dim, y: Dim, most: i128) -> bool {
        if x == y {
            return most >= 0;
        }
        if most >= LARGE {
            return true;
        }
        if self.distance(y, x).saturating_add(most) < 0 {
            return false;
        }
        if self.table.difference(x, y).is_some_and(|known| known <= most) {
            return true;
        }
        let (before, after) = (self.table.towards(x), self.table.from(y));
        let mut holds = true;
        for (a, first) in before.into_iter().chain([(x, 0)]) {
            for (b, last) in after.iter().copied().chain([(y, 0)]) {
                let sum = first + most + last;
                if a == b {
                    holds &= sum >= 0;
                    continue;
                }
                if (a, b) == (x, y) || self.table.count() < MOST && sum < self.distance(a, b) {
                    let known = self.table.difference(a, b).unwrap_or(sum);
                    self.table.set_difference(a, b, sum.min(known));
                }
                holds &= self.tighten(a, i128::MIN, self.bounds(b).1.saturating_add(sum));
                holds &= self.tighten(b, self.bounds(a).0.saturating_sub(sum), i128::MAX);
            }
        }
        holds
    }

    /// Adds `low ≤ dim ≤ high`. False: no valuation is left.
    #[must_use]
    pub fn bound(&mut self, dim: Dim, low: i128, high: i128) -> bool {
        let old = self.bounds(dim);
        if old.0 >= low && old.1 <= high {
            return true;
        }
        let mut holds = self.tighten(dim, low, high);
        let (low, high) = self.bounds(dim);
        for (x, most) in self.table.towards(dim) {
            holds &= self.tighten(x, i128::MIN, high.saturating_add(most));
        }
        for (y, most) in self.table.from(dim) {
            holds &= self.tighten(y, low.saturating_sub(most), i128::MAX);
        }
        holds
    }

    fn tighten(&mut self, dim: Dim, low: i128, high: i128) -> bool {
        let (old_low, old_high) = self.bounds(dim);
        let low = if low <= -LARGE { old_low } else { low };
        let high = if high >= LARGE { old_high } else { high };
        let new = (old_low.max(low), old_high.min(high));
        if new != (old_low, old_high) {
            self.table.set_bounds(dim, new);
        }
        new.0 <= new.1
    }

    /// To be kept for long: takes no more memory than it has to.
    pub fn settle(&mut self) {
        self.table.settle();
    }

    /// Whether every valuation is one of the other's.
    pub fn leq(&self, upper: &Zone) -> bool {
        self.first_not_implied(upper).is_none()
    }

    /// What the other says and this one does not.
    pub fn first_not_implied(&self, upper: &Zone) -> Option<String> {
        let bound = upper.all_bounds().find(|(dim, (low, high))| {
            let own = self.bounds(*dim);
            own.0 < *low || own.1 > *high
        });
        if let Some((dim, bounds)) = bound {
            return Some(format!("{dim:?} in {bounds:?}"));
        }
        let difference = upper.differences().find(|(x, y, most)| self.distance(*x, *y) > *most);
        difference.map(|(x, y, most)| format!("{x:?} - {y:?} <= {most}"))
    }

    /// A zone with all valuations of both.
    pub fn join(&self, other: &Zone) -> Zone {
        let both = Both::new(self, other);
        both.upper(both.pairs(), |old, new| old.max(new), |old, new, _| (old.0.min(new.0), old.1.max(new.1)))
    }

    /// The same, and what grew, grows no further than over a few numbers: chains of such zones end.
    pub fn widen(&self, new: &Zone) -> Zone {
        let difference = |old: i128, new: i128| {
            if new <= old { old } else { THRESHOLDS.into_iter().find(|bound| *bound >= new).unwrap_or(FAR) }
        };
        let bounds = |old: (i128, i128), new: (i128, i128), dim: Dim| {
            let range = dim.range();
            let low = if new.0 >= old.0 {
                old.0
            } else if new.0 >= 0 {
                0
            } else {
                range.0
            };
            let high = if new.1 <= old.1 { old.1 } else { range.1 };
            (low, high)
        };
        let both = Both::new(self, new);
        let mut pairs = both.pairs();
        pairs.extend(both.overtaken());
        both.upper(pairs, difference, bounds)
    }
}

/// Two zones that meet; numbers are named by their places in one list of those of both.
struct Both<'z> {
    old: Aligned<'z>,
    new: Aligned<'z>,
}

impl<'z> Both<'z> {
    fn new(old: &'z Zone, new: &'z Zone) -> Both<'z> {
        let (old, new) = old.table.aligned(&new.table);
        Both { old, new }
    }

    fn bounds(zone: &Aligned<'_>, at: At) -> (i128, i128) {
        zone.bounds(at).unwrap_or_else(|| zone.dim(at).range())
    }

    fn distance(zone: &Aligned<'_>, (x, y): (At, At)) -> i128 {
        let by_bounds = Both::bounds(zone, x).1 - Both::bounds(zone, y).0;
        let most = zone.difference((x, y)).map_or(by_bounds, |most| most.min(by_bounds));
        if most >= LARGE { FAR } else { most }
    }

    /// The pairs whose difference both may say something of: stored in one of them, or between numbers that are both larger in one of them
    /// (what their bounds say in each part, the bounds of the whole do not).
    fn pairs(&self) -> Vec<(At, At)> {
        let mut pairs: Vec<(At, At)> = self.old.pairs().iter().chain(self.new.pairs()).copied().collect();
        let is_bounded = |at: &At| self.old.bounds(*at).is_some() || self.new.bounds(*at).is_some();
        let bounded: Vec<At> = (0..self.old.len()).filter(is_bounded).collect();
        for (large, small) in [(&self.old, &self.new), (&self.new, &self.old)] {
            let (mut higher, mut from_higher) = (Vec::new(), Vec::new());
            for at in &bounded {
                let (a, b) = (Both::bounds(large, *at), Both::bounds(small, *at));
                if a.1 > b.1 && higher.len() < MOVED {
                    higher.push(*at);
                }
                if a.0 > b.0 && from_higher.len() < MOVED {
                    from_higher.push(*at);
                }
            }
            for x in higher {
                pairs.extend(from_higher.iter().filter(|y| **y != x).map(|y| (x, *y)));
            }
        }
        pairs
    }

    /// The pairs of a number that has grown and one that has not, which it is not above yet: the bound that is about to go was one by that number, maybe.
    fn overtaken(&self) -> Vec<(At, At)> {
        let is_bounded = |at: &At| self.old.bounds(*at).is_some() && self.new.bounds(*at).is_some();
        let bounded = || (0..self.old.len()).filter(is_bounded);
        let has_grown = |at: &At| Both::bounds(&self.new, *at).1 > Both::bounds(&self.old, *at).1;
        let stays = |at: &At| {
            let (own, range) = (Both::bounds(&self.old, *at), self.old.dim(*at).range());
            own == Both::bounds(&self.new, *at) && own.0 > range.0 && own.1 < range.1
        };
        let limits: Vec<At> = bounded().filter(stays).take(MOVED).collect();
        let grown = bounded().filter(has_grown).take(MOVED);
        let pairs = grown.flat_map(|x| limits.iter().map(move |y| (x, *y)));
        pairs.filter(|pair| Both::distance(&self.new, *pair) <= 0).collect()
    }

    fn upper(
        &self,
        mut pairs: Vec<(At, At)>,
        difference: impl Fn(i128, i128) -> i128,
        bounds: impl Fn((i128, i128), (i128, i128), Dim) -> (i128, i128),
    ) -> Zone {
        let of_both: Vec<Option<(i128, i128)>> = (0..self.old.len())
            .map(|at| {
                let dim = self.old.dim(at);
                let both = bounds(self.old.bounds(at)?, self.new.bounds(at)?, dim);
                (both != dim.range()).then_some(both)
            })
            .collect();
        let bounds_of = |at: At| of_both[at as usize].unwrap_or_else(|| self.old.dim(at).range());
        pairs.sort_unstable();
        pairs.dedup();
        let mut differences = Vec::with_capacity(pairs.len());
        for (x, y) in pairs {
            let most = difference(Both::distance(&self.old, (x, y)), Both::distance(&self.new, (x, y)));
            let is_stored = self.old.difference((x, y)).is_some() || self.new.difference((x, y)).is_some();
            let by_bounds = bounds_of(x).1 - bounds_of(y).0;
            // What the types say is not worth storing; what the program says is, for the bounds may go.
            let by_types = self.old.dim(x).range().1 - self.old.dim(y).range().0;
            if most < LARGE && (most < by_bounds || is_stored && most < by_types) {
                differences.push(((x, y), most));
            }
        }
        Zone { table: self.old.saying(of_both, differences) }
    }
}
