//! Which predicates are tracked where. Predicates speak of a function's variables and ghosts; knows no solver.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Loc, Name};
use proofline_smt::{Term, Var, term::rename};

/// Predicates of the abstractions at locations of functions, in functions, and everywhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PredicatePrecision {
    locations: Arc<BTreeMap<(Name, Loc), BTreeSet<Term>>>,
    functions: Arc<BTreeMap<Name, BTreeSet<Term>>>,
    everywhere: Arc<BTreeSet<Term>>,
}

/// How far a predicate that was found at a location is carried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Reach {
    /// To its location only.
    Location,
    /// To the whole function.
    Function,
    /// To every function, wherever its variables mean something.
    Everywhere,
}

impl PredicatePrecision {
    /// Predicates at a location, in order. Those whose variables mean nothing there are for the reader to leave out.
    pub fn at(&self, function: Name, loc: Loc) -> BTreeSet<Term> {
        let local = self.locations.get(&(function, loc)).into_iter().flatten();
        let wide = self.functions.get(&function).into_iter().flatten();
        local.chain(wide).chain(self.everywhere.iter()).copied().collect()
    }

    /// With more predicates.
    pub fn with(
        &self,
        found: impl IntoIterator<Item = ((Name, Loc), Term)>,
        reach: Reach,
    ) -> PredicatePrecision {
        let mut new = self.clone();
        for ((function, loc), predicate) in found {
            match reach {
                Reach::Location => {
                    Arc::make_mut(&mut new.locations).entry((function, loc)).or_default().insert(predicate);
                }
                Reach::Function => {
                    Arc::make_mut(&mut new.functions).entry(function).or_default().insert(predicate);
                }
                Reach::Everywhere => {
                    Arc::make_mut(&mut new.everywhere).insert(predicate);
                }
            }
        }
        new
    }

    /// What either tracks.
    pub fn join(&self, other: &PredicatePrecision) -> PredicatePrecision {
        let mut new = self.clone();
        for (place, predicates) in &*other.locations {
            Arc::make_mut(&mut new.locations).entry(*place).or_default().extend(predicates);
        }
        for (name, predicates) in &*other.functions {
            Arc::make_mut(&mut new.functions).entry(*name).or_default().extend(predicates);
        }
        Arc::make_mut(&mut new.everywhere).extend(other.everywhere.iter());
        new
    }

    /// What concerns these functions.
    pub fn restricted_to(&self, functions: &BTreeSet<Name>) -> PredicatePrecision {
        let keep = |name: &Name| functions.contains(name);
        let locations = self.locations.iter().filter(|((name, _), _)| keep(name));
        let wide = self.functions.iter().filter(|(name, _)| keep(name));
        PredicatePrecision {
            locations: Arc::new(locations.map(|(k, v)| (*k, v.clone())).collect()),
            functions: Arc::new(wide.map(|(k, v)| (*k, v.clone())).collect()),
            everywhere: self.everywhere.clone(),
        }
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
        let mut new =
            PredicatePrecision { everywhere: self.everywhere.clone(), ..PredicatePrecision::default() };
        for ((from, loc), predicates) in &*self.locations {
            for to in functions(*from) {
                let place = Arc::make_mut(&mut new.locations).entry((to, *loc)).or_default();
                place.extend(predicates.iter().map(|predicate| carry(*from, to, *predicate)));
            }
        }
        for (from, predicates) in &*self.functions {
            for to in functions(*from) {
                let place = Arc::make_mut(&mut new.functions).entry(to).or_default();
                place.extend(predicates.iter().map(|predicate| carry(*from, to, *predicate)));
            }
        }
        new
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        let count = |sets: usize, set: &BTreeSet<Term>| sets + set.len();
        self.locations.values().fold(0, count)
            + self.functions.values().fold(0, count)
            + self.everywhere.len()
    }

    /// Nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every predicate with the place it is for, for people.
    pub fn entries(&self) -> Vec<(String, Term)> {
        let local =
            self.locations.iter().flat_map(|((f, l), set)| set.iter().map(move |p| (format!("{f}:{l}"), *p)));
        let wide = self.functions.iter().flat_map(|(f, set)| set.iter().map(move |p| (f.to_string(), *p)));
        local.chain(wide).chain(self.everywhere.iter().map(|p| ("everywhere".to_owned(), *p))).collect()
    }
}
