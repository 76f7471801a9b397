//! Which predicates are tracked where. Predicates speak of a function's variables and ghosts; knows no solver.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Loc, Name};
use proofline_smt::{Term, Var, rewrite::rename};

/// Predicates by the location whose abstractions they are for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PredicatePrecision {
    locations: Arc<BTreeMap<(Name, Loc), BTreeSet<Term>>>,
}

impl PredicatePrecision {
    /// Predicates at a location, in order. Those whose variables mean nothing there are for the reader to leave out.
    pub fn at(&self, function: Name, loc: Loc) -> BTreeSet<Term> {
        self.locations.get(&(function, loc)).cloned().unwrap_or_default()
    }

    /// With more predicates.
    pub fn with(&self, found: impl IntoIterator<Item = ((Name, Loc), Term)>) -> PredicatePrecision {
        let mut new = self.clone();
        for (place, predicate) in found {
            Arc::make_mut(&mut new.locations).entry(place).or_default().insert(predicate);
        }
        new
    }

    /// What either tracks.
    pub fn join(&self, other: &PredicatePrecision) -> PredicatePrecision {
        let mut new = self.clone();
        for (place, predicates) in &*other.locations {
            Arc::make_mut(&mut new.locations).entry(*place).or_default().extend(predicates);
        }
        new
    }

    /// What concerns these functions.
    pub fn restricted_to(&self, functions: &BTreeSet<Name>) -> PredicatePrecision {
        let keep = |name: &Name| functions.contains(name);
        let locations = self.locations.iter().filter(|((name, _), _)| keep(name));
        PredicatePrecision { locations: Arc::new(locations.map(|(k, v)| (*k, v.clone())).collect()) }
    }

    /// The same for other functions: where a place's predicates go, and what the variables are called there (by the old function's name,
    /// the new one's and the variable's).
    pub fn carried(
        &self,
        functions: &dyn Fn(Name) -> Vec<Name>,
        variable: &dyn Fn(Name, Name, &str) -> String,
    ) -> PredicatePrecision {
        let carry = |from: Name, to: Name, predicate: Term| {
            rename(predicate, |var| Var::indexed(&variable(from, to, var.name.as_str()), var.index, var.sort))
        };
        let mut new = PredicatePrecision::default();
        for ((from, loc), predicates) in &*self.locations {
            for to in functions(*from) {
                let place = Arc::make_mut(&mut new.locations).entry((to, *loc)).or_default();
                place.extend(predicates.iter().map(|predicate| carry(*from, to, *predicate)));
            }
        }
        new
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.locations.values().map(BTreeSet::len).sum()
    }

    /// Nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every predicate with the place it is for, for people.
    pub fn entries(&self) -> Vec<(String, Term)> {
        let places = self.locations.iter();
        places.flat_map(|((f, l), set)| set.iter().map(move |p| (format!("{f}:{l}"), *p))).collect()
    }
}
