//! Which variables explicit values are tracked for [EXP12 §II-D]. Scoped: a variable is tracked wherever it is in scope, a local in
//! all activations of its function. Located, `Π : L → 2^X`: only where a location asks for it. Both may be used at once; what either tracks is
//! tracked. Temporaries are always tracked, they die soon. Knows no domain.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Function, Loc, LocalId, Name, Object, Role};
use serde::{Deserialize, Serialize};

use crate::store::{
    AbstractValue, State,
    region::{Cell, Region},
};

/// A variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Variable {
    /// A local whose address is not taken.
    Local(Name, LocalId),
    /// An object that has an address.
    Object(Object),
}

/// Which bits of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// All of it.
    Whole,
    /// These runs: first bit and number of bits, sorted, disjoint.
    Runs(Vec<(i64, i64)>),
}

/// What is tracked. Ordered by information: more tracked variables, fewer abandoned ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Precision {
    everything: bool,
    locals: Arc<BTreeMap<Name, BTreeMap<LocalId, Part>>>,
    objects: Arc<BTreeMap<Object, Part>>,
    /// Tracked at one location, beside what is tracked everywhere.
    located: Arc<BTreeMap<(Name, Loc), BTreeMap<Variable, Part>>>,
    /// Took too many values; not tracked whatever else is said.
    abandoned: Arc<BTreeSet<Variable>>,
}

impl Part {
    fn join(&mut self, other: &Part) {
        let (Part::Runs(mine), Part::Runs(theirs)) = (&*self, other) else {
            *self = Part::Whole;
            return;
        };
        let mut all: Vec<(i64, i64)> = mine.iter().chain(theirs).copied().collect();
        all.sort_unstable();
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (start, len) in all {
            match runs.last_mut() {
                Some(last) if start <= last.0 + last.1 => last.1 = last.1.max(start + len - last.0),
                _ => runs.push((start, len)),
            }
        }
        *self = Part::Runs(runs);
    }

    /// What may be kept of a region; `None`: all of it.
    fn restrict<V: AbstractValue>(&self, region: &Region<V>) -> Option<Region<V>> {
        let Part::Runs(runs) = self else { return None };
        let inside = |cell: &Cell<V>| {
            runs.iter().any(|(start, len)| *start <= cell.start && cell.end() <= start + len)
        };
        if region.cells().iter().all(inside) {
            return None;
        }
        let mut kept = Region::unknown();
        for (start, len) in runs {
            kept.replace(*start, start + len, region.slice(*start, start + len));
        }
        Some(kept)
    }
}

impl Precision {
    /// Everything is tracked.
    pub fn everything() -> Precision {
        Precision { everything: true, ..Precision::default() }
    }

    /// Nothing is tracked.
    pub fn nothing() -> Precision {
        Precision::default()
    }

    /// Whether everything (that is not abandoned) is tracked.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// The same, and these.
    pub fn with(&self, variables: impl IntoIterator<Item = (Variable, Part)>) -> Precision {
        let mut result = self.clone();
        for (variable, part) in variables {
            let entry = match variable {
                Variable::Local(function, id) => {
                    Arc::make_mut(&mut result.locals).entry(function).or_default().entry(id)
                }
                Variable::Object(object) => {
                    let objects = Arc::make_mut(&mut result.objects);
                    objects.entry(object).and_modify(|old| old.join(&part)).or_insert(part);
                    continue;
                }
            };
            entry.and_modify(|old| old.join(&part)).or_insert(part);
        }
        result
    }

    /// The same, and each of these at its location.
    pub fn with_located(
        &self,
        variables: impl IntoIterator<Item = ((Name, Loc), Variable, Part)>,
    ) -> Precision {
        let mut result = self.clone();
        let located = Arc::make_mut(&mut result.located);
        for (place, variable, part) in variables {
            let here = located.entry(place).or_default();
            here.entry(variable).and_modify(|old| old.join(&part)).or_insert(part);
        }
        result
    }

    /// The same without these, for good.
    pub fn without(&self, variables: impl IntoIterator<Item = Variable>) -> Precision {
        let mut result = self.clone();
        Arc::make_mut(&mut result.abandoned).extend(variables);
        result
    }

    /// The same, without what the other one abandoned.
    pub fn join_abandoned(mut self, other: &Precision) -> Precision {
        self.abandoned = other.abandoned.clone();
        self
    }

    /// Whether the variable was abandoned.
    pub fn is_abandoned(&self, variable: Variable) -> bool {
        self.abandoned.contains(&variable)
    }

    /// Whether both track the same at this location: locals of its function, and objects.
    pub fn is_same_at(&self, other: &Precision, function: Name, loc: Loc) -> bool {
        let here = |variable: &&Variable| match variable {
            Variable::Local(name, _) => *name == function,
            Variable::Object(_) => true,
        };
        self.everything == other.everything
            && self.locals.get(&function) == other.locals.get(&function)
            && self.objects == other.objects
            && self.located.get(&(function, loc)) == other.located.get(&(function, loc))
            && self.abandoned.iter().filter(here).eq(other.abandoned.iter().filter(here))
    }

    /// Tracks what either tracks; abandoned is what both abandoned.
    pub fn join(&self, other: &Precision) -> Precision {
        let locals = other.locals.iter().flat_map(|(function, locals)| {
            locals.iter().map(|(id, part)| (Variable::Local(*function, *id), part.clone()))
        });
        let objects = other.objects.iter().map(|(object, part)| (Variable::Object(*object), part.clone()));
        let located = other
            .located
            .iter()
            .flat_map(|(place, here)| here.iter().map(|(variable, part)| (*place, *variable, part.clone())));
        let mut result = self.with(locals.chain(objects)).with_located(located);
        result.everything |= other.everything;
        if result.abandoned != other.abandoned {
            result.abandoned = Arc::new(self.abandoned.intersection(&other.abandoned).copied().collect());
        }
        result
    }

    /// What is tracked at single locations only, for people and tests.
    pub fn tracked_at(&self, function: Name, loc: Loc) -> Vec<(Variable, Part)> {
        let here = self.located.get(&(function, loc)).into_iter().flatten();
        here.map(|(variable, part)| (*variable, part.clone())).collect()
    }

    /// What is tracked everywhere, for people and tests.
    pub fn tracked(&self) -> Vec<(Variable, Part)> {
        let locals = self.locals.iter().flat_map(|(function, locals)| {
            locals.iter().map(|(id, part)| (Variable::Local(*function, *id), part.clone()))
        });
        locals
            .chain(self.objects.iter().map(|(object, part)| (Variable::Object(*object), part.clone())))
            .collect()
    }

    /// Only what concerns these functions' locals and these objects.
    pub fn restricted(&self, function: impl Fn(Name) -> bool, object: impl Fn(Object) -> bool) -> Precision {
        let in_scope = |variable: &Variable| match variable {
            Variable::Local(name, _) => function(*name),
            Variable::Object(name) => object(*name),
        };
        Precision {
            everything: self.everything,
            locals: Arc::new(
                self.locals
                    .iter()
                    .filter(|(name, _)| function(**name))
                    .map(|(n, l)| (*n, l.clone()))
                    .collect(),
            ),
            objects: Arc::new(
                self.objects
                    .iter()
                    .filter(|(name, _)| object(**name))
                    .map(|(n, p)| (*n, p.clone()))
                    .collect(),
            ),
            located: Arc::new(
                self.located
                    .iter()
                    .filter(|((name, _), _)| function(*name))
                    .map(|(place, here)| (*place, here.iter().filter(|(v, _)| in_scope(v))))
                    .map(|(place, here)| (place, here.map(|(v, part)| (*v, part.clone())).collect()))
                    .filter(|(_, here): &(_, BTreeMap<Variable, Part>)| !here.is_empty())
                    .collect(),
            ),
            abandoned: Arc::new(
                self.abandoned.iter().filter(|variable| in_scope(variable)).copied().collect(),
            ),
        }
    }

    /// Forgets what is not tracked at a location, in the innermost frame and in memory.
    pub fn restrict<V: AbstractValue>(&self, function: &Function, loc: Loc, state: &mut State<V>) {
        if self.everything && self.abandoned.is_empty() {
            return;
        }
        let none = BTreeMap::new();
        let tracked = self.locals.get(&function.name).unwrap_or(&none);
        let nowhere = BTreeMap::new();
        let here = self.located.get(&(function.name, loc)).unwrap_or(&nowhere);
        let part_of = |variable: Variable, scoped: Option<&Part>| {
            if !self.abandoned.is_empty() && self.abandoned.contains(&variable) {
                None
            } else if self.everything {
                Some(Part::Whole)
            } else {
                union(scoped, here.get(&variable))
            }
        };
        let mut locals = Vec::new();
        for (id, region) in &state.frame.locals {
            let part = if function.local(*id).role == Role::Temporary {
                Some(Part::Whole)
            } else {
                part_of(Variable::Local(function.name, *id), tracked.get(id))
            };
            change(*id, region, part.as_ref(), &mut locals);
        }
        for (id, region) in locals {
            Arc::make_mut(&mut state.frame).set_local(id, region);
        }
        let mut objects = Vec::new();
        for (object, region) in state.memory.objects() {
            let part = part_of(Variable::Object(*object), self.objects.get(object));
            change(*object, region, part.as_ref(), &mut objects);
        }
        match objects.len() {
            0 => {}
            1..4 => objects.into_iter().for_each(|(object, region)| state.memory.set(object, region)),
            _ => {
                let changed: BTreeMap<Object, Region<V>> = objects.into_iter().collect();
                let all = state.memory.objects().iter().map(|(object, region)| match changed.get(object) {
                    Some(region) => (*object, Arc::new(region.clone())),
                    None => (*object, region.clone()),
                });
                state.memory = crate::store::state::Memory::new(all.collect());
            }
        }
    }
}

/// What either tracks.
fn union(one: Option<&Part>, other: Option<&Part>) -> Option<Part> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let mut both = one.clone();
            both.join(other);
            Some(both)
        }
        (one, other) => one.or(other).cloned(),
    }
}

/// Notes what becomes of a region, if anything does.
fn change<K: Copy, V: AbstractValue>(
    key: K,
    region: &Region<V>,
    part: Option<&Part>,
    out: &mut Vec<(K, Region<V>)>,
) {
    match part {
        None => out.push((key, Region::unknown())),
        Some(part) => {
            if let Some(restricted) = part.restrict(region) {
                out.push((key, restricted));
            }
        }
    }
}
