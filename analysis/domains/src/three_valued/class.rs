//! Shape classes: the predicates of a structure, which of them are defined by others (instrumentation), and which tell individuals apart
//! (abstraction); tracking definitions [CPA10] §2.3. Knows no program.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{LocalId, Name, Scalar};
use serde::{Deserialize, Serialize};

use super::formula::Formula;

/// A variable that may hold a pointer to an individual.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Var {
    /// A variable with static storage; of a record, its address.
    Global(Name),
    /// The same of a local of an open call; the entry function's frame has the number 0.
    Local(u32, LocalId),
}

/// A scalar part of an individual. Parts are told apart by their bytes, not by the record that names them, so that casts between records change nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Field {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How they are read.
    pub scalar: Scalar,
}

impl Field {
    /// Whether it is a field predicate, one that leads to an individual.
    pub fn is_pointer(self) -> bool {
        self.scalar == Scalar::Pointer
    }

    /// Whether a write of these bytes changes it.
    pub fn overlaps(self, offset: u64, bytes: u64) -> bool {
        self.offset < offset.saturating_add(bytes) && offset < self.offset.saturating_add(self.bytes)
    }
}

/// Which fields a reachability predicate walks along: a number of [`ShapeClass::links`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Links(pub usize);

/// A predicate over individuals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Unary {
    /// Core. The variable leads to it.
    Points(Var),
    /// Core. It was freed; then nothing is said about its fields.
    Freed,
    /// Core. It is a variable, not an object on the heap.
    Named,
    /// Core. The pointer field may hold anything; otherwise it is null where it leads to no individual.
    Wild(Field),
    /// Core. The integer field was written.
    Given(Field),
    /// Core, a field assertion. The integer field has this value.
    Equals(Field, i128),
    /// Instrumentation. It can be reached from what the variable leads to.
    Reach(Var, Links),
    /// Instrumentation. Two fields of individuals lead to it.
    Shared(Links),
    /// Instrumentation. It can be reached from itself in one step or more.
    Cycle(Links),
    /// Instrumentation. What the first field leads to leads back to it by the second.
    Cancel(Field, Field),
}

/// Which pointers are followed, which of them tell individuals apart, and what is asserted of integer fields [CPA10] §2.3.2.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tracking {
    /// Pointers that are forgotten: variables that always may hold anything. All others are tracked.
    pub ignored: BTreeSet<Var>,
    /// Tracked pointers that tell no individuals apart; all others are separating.
    pub joined: BTreeSet<Var>,
    /// Field assertions: the values that each integer field is compared with.
    pub assertions: BTreeMap<Field, BTreeSet<i128>>,
}

/// A shape class: what structures say.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ShapeClass {
    /// Pointer fields.
    pub pointers: BTreeSet<Field>,
    /// Sets of fields that reachability, sharing and cycles are looked at along.
    pub links: Vec<BTreeSet<Field>>,
    /// Pairs of fields that may undo each other.
    pub cancels: BTreeSet<(Field, Field)>,
    /// What is tracked.
    pub tracking: Tracking,
}

impl Unary {
    /// The variable that it speaks of.
    pub fn var(self) -> Option<Var> {
        match self {
            Unary::Points(var) | Unary::Reach(var, _) => Some(var),
            Unary::Freed
            | Unary::Named
            | Unary::Wild(_)
            | Unary::Given(_)
            | Unary::Equals(..)
            | Unary::Shared(_)
            | Unary::Cycle(_)
            | Unary::Cancel(..) => None,
        }
    }
}

impl ShapeClass {
    /// Each set of fields with its number.
    pub fn each_links(&self) -> impl Iterator<Item = (Links, &BTreeSet<Field>)> {
        self.links.iter().enumerate().map(|(number, fields)| (Links(number), fields))
    }

    /// Those that the field is in.
    pub fn links_with(&self, field: Field) -> impl Iterator<Item = (Links, &BTreeSet<Field>)> {
        self.each_links().filter(move |(_, fields)| fields.contains(&field))
    }

    /// Integer fields of which something is said.
    pub fn integers(&self) -> impl Iterator<Item = (Field, &BTreeSet<i128>)> {
        self.tracking.assertions.iter().map(|(field, values)| (*field, values))
    }

    /// Whether individuals that differ in it are never merged.
    pub fn is_abstraction(&self, predicate: Unary) -> bool {
        predicate.var().is_none_or(|var| !self.tracking.joined.contains(&var))
    }

    /// `self ⪯ other`: it says all that the other says.
    pub fn refines(&self, other: &ShapeClass) -> bool {
        let tells = |values: &BTreeSet<i128>, field: &Field| {
            self.tracking.assertions.get(field).is_some_and(|mine| mine.is_superset(values))
        };
        self.pointers.is_superset(&other.pointers)
            && other.links.iter().all(|fields| self.links.contains(fields))
            && self.cancels.is_superset(&other.cancels)
            && self.tracking.ignored.is_subset(&other.tracking.ignored)
            && self.tracking.joined.is_subset(&other.tracking.joined)
            && other.tracking.assertions.iter().all(|(field, values)| tells(values, field))
    }

    /// The defining formula of an instrumentation predicate, with the free variable 0. `None`: it is a core predicate.
    pub fn definition(&self, predicate: Unary) -> Option<Formula> {
        let fields = |links: Links| -> Vec<Field> {
            self.links.get(links.0).map_or_else(Vec::new, |fields| fields.iter().copied().collect())
        };
        match predicate {
            Unary::Points(_)
            | Unary::Freed
            | Unary::Named
            | Unary::Wild(_)
            | Unary::Given(_)
            | Unary::Equals(..) => None,
            Unary::Reach(var, links) => {
                let starts = Formula::Unary(Unary::Points(var), 1);
                Some(starts.and(Formula::Closure(fields(links), 1, 0)).exists(1))
            }
            Unary::Shared(links) => {
                let fields = fields(links);
                let mut sharing = Formula::Constant(false);
                for (at, field) in fields.iter().enumerate() {
                    let apart = Formula::Equal(1, 2).negated();
                    let same = Formula::Field(*field, 1, 0).and(Formula::Field(*field, 2, 0)).and(apart);
                    sharing = sharing.or(same.exists(2).exists(1));
                    for other in &fields[at + 1..] {
                        let both = [(field, 1), (other, 2)];
                        let both = both.map(|(field, from)| Formula::Field(*field, from, 0).exists(from));
                        let [first, second] = both;
                        sharing = sharing.or(first.and(second));
                    }
                }
                Some(sharing)
            }
            Unary::Cycle(links) => {
                let fields = fields(links);
                let step = fields.iter().map(|field| Formula::Field(*field, 0, 1));
                let step = step.reduce(Formula::or).unwrap_or(Formula::Constant(false));
                Some(step.and(Formula::Closure(fields, 1, 0)).exists(1))
            }
            Unary::Cancel(there, back) => {
                let failing = Formula::Field(there, 0, 1).and(Formula::Field(back, 1, 0).negated());
                Some(failing.exists(1).negated())
            }
        }
    }
}
