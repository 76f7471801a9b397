//! The operators of a product that are more than component-wise.

use std::hash::{BuildHasher, Hash};

use proofline_cfa::Function;
use rustc_hash::FxBuildHasher;

use super::{
    Exchange, MergeRule, ProductWitness, StopRule, Strengthening, Variant,
    facts::{Borrowed, BothFacts, Boxed},
};
use crate::{
    Budget, Path, Refine, Refinement, Unknown,
    cpa::{Adjusted, Cpa, EdgeContext, Facts, LocationContext, Merge},
};

/// Two analyses and how to combine them.
pub(super) struct View<'a, A, B> {
    pub(super) left: &'a A,
    pub(super) right: &'a B,
    pub(super) variant: Variant,
}

/// All pairs; the second list is not computed when the first is empty.
pub(super) fn pairs<S: Clone, T: Clone>(lefts: Vec<S>, rights: impl FnOnce() -> Vec<T>) -> Vec<(S, T)> {
    if lefts.is_empty() {
        return Vec::new();
    }
    let rights = rights();
    lefts.iter().flat_map(|left| rights.iter().map(move |right| (left.clone(), right.clone()))).collect()
}

/// What either knows.
pub(super) fn both_facts<'a>(left: Box<dyn Facts + 'a>, right: Box<dyn Facts + 'a>) -> Box<dyn Facts + 'a> {
    Box::new(BothFacts(Boxed(left), Boxed(right)))
}

/// A component's facts, together with those from outside the product.
fn with<'a>(outer: &'a dyn Facts, own: Box<dyn Facts + 'a>) -> impl Facts + 'a {
    BothFacts(Borrowed(outer), Boxed(own))
}

/// At most so many reached states, the newest ones, are tried to be joined to one that covers.
const JOINED: usize = 32;

type State<A, B> = (<A as crate::Domain>::State, <B as crate::Domain>::State);
type Witness<A, B> = ProductWitness<<A as Refine>::Witness, <B as Refine>::Witness>;
type Refined<A, B> = Refinement<Precision<A, B>, Witness<A, B>>;
type Precision<A, B> = (<A as Cpa>::Precision, <B as Cpa>::Precision);

impl<A: Cpa, B: Cpa> View<'_, A, B> {
    pub(super) fn transfer(
        &self,
        from: &State<A, B>,
        precision: &Precision<A, B>,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<State<A, B>> {
        let function: &Function = at.function;
        let help_left = self.variant.strengthening == Strengthening::Both;
        let help_right = self.variant.strengthening != Strengthening::Off;
        let lefts = if help_left {
            self.left.transfer(&from.0, &precision.0, at, &with(facts, self.right.facts(&from.1, function)))
        } else {
            self.left.transfer(&from.0, &precision.0, at, facts)
        };
        let next = pairs(lefts, || {
            if help_right {
                self.right.transfer(
                    &from.1,
                    &precision.1,
                    at,
                    &with(facts, self.left.facts(&from.0, function)),
                )
            } else {
                self.right.transfer(&from.1, &precision.1, at, facts)
            }
        });
        if !help_right {
            return next;
        }
        next.into_iter().filter_map(|state| self.strengthen(&state, facts, at)).collect()
    }

    /// Each by what the other was before: neither loses a state of the intersection.
    pub(super) fn strengthen(
        &self,
        state: &State<A, B>,
        others: &dyn Facts,
        at: EdgeContext<'_>,
    ) -> Option<State<A, B>> {
        let left = if self.variant.strengthening == Strengthening::Both {
            self.left.strengthen(&state.0, &with(others, self.right.facts(&state.1, at.function)), at)?
        } else {
            state.0.clone()
        };
        let right =
            self.right.strengthen(&state.1, &with(others, self.left.facts(&state.0, at.function)), at)?;
        Some((left, right))
    }

    pub(super) fn merge(
        &self,
        new: &State<A, B>,
        old: &State<A, B>,
        precision: &Precision<A, B>,
    ) -> Merge<State<A, B>> {
        let joined_right = || self.right.join(&new.1, &old.1);
        match self.variant.merge {
            MergeRule::Never => Merge::Separate,
            MergeRule::JoinRightWhereLeftIsEqual if new.0 != old.0 => Merge::Separate,
            MergeRule::JoinRightWhereLeftIsEqual | MergeRule::JoinRight => {
                Merge::Into((old.0.clone(), joined_right()))
            }
            MergeRule::JoinBoth => Merge::Into((self.left.join(&new.0, &old.0), joined_right())),
            MergeRule::Agree => {
                let left = self.left.merge(&new.0, &old.0, &precision.0);
                let right = self.right.merge(&new.1, &old.1, &precision.1);
                if (&left, &right) == (&Merge::Separate, &Merge::Separate) {
                    return Merge::Separate;
                }
                let left = if let Merge::Into(left) = left { left } else { old.0.clone() };
                let right = if let Merge::Into(right) = right { right } else { old.1.clone() };
                if self.left.leq(&new.0, &left) && self.right.leq(&new.1, &right) {
                    Merge::Into((left, right))
                } else {
                    Merge::Separate
                }
            }
        }
    }

    pub(super) fn stop(
        &self,
        new: &State<A, B>,
        reached: &[&State<A, B>],
        precision: &Precision<A, B>,
    ) -> Option<usize> {
        reached.iter().position(|old| {
            self.left.stop(&new.0, &[&old.0], &precision.0).is_some()
                && self.right.stop(&new.1, &[&old.1], &precision.1).is_some()
        })
    }

    pub(super) fn stop_together(
        &self,
        new: &State<A, B>,
        reached: &[&State<A, B>],
        precision: &Precision<A, B>,
    ) -> Vec<usize> {
        if let Some(one) = self.stop(new, reached, precision) {
            return vec![one];
        }
        if self.variant.stop != StopRule::JoinRight {
            return Vec::new();
        }
        // Of each join: which reached states it is made of.
        let mut joins: Vec<(B::State, Vec<usize>)> = Vec::new();
        let covers_left = |&i: &usize| self.left.leq(&new.0, &reached[i].0);
        for i in (0..reached.len()).rev().filter(covers_left).take(JOINED) {
            let (mut join, mut parts) = (reached[i].1.clone(), vec![i]);
            // What it is joined with may make it fit to what it did not fit to before.
            while let Some((at, larger)) = (joins.iter().enumerate())
                .find_map(|(at, (other, _))| Some((at, self.right.exact_join(other, &join)?)))
            {
                parts.extend(joins.swap_remove(at).1);
                join = larger;
            }
            if self.right.leq(&new.1, &join) {
                parts.sort_unstable();
                return parts;
            }
            joins.push((join, parts));
        }
        Vec::new()
    }

    /// Where the variant joins regardless of a component, that component's key must not keep states apart.
    pub(super) fn partition(&self, state: &State<A, B>) -> u64 {
        match self.variant.merge {
            MergeRule::Agree | MergeRule::Never => {
                let key = (self.left.partition(&state.0), self.right.partition(&state.1));
                if key == (0, 0) { 0 } else { hash(&key) }
            }
            MergeRule::JoinRightWhereLeftIsEqual => self.left.partition(&state.0),
            MergeRule::JoinRight | MergeRule::JoinBoth => 0,
        }
    }

    pub(super) fn adjust(
        &self,
        exchange: Option<Exchange<A, B>>,
        (left, right): State<A, B>,
        mut precision: Precision<A, B>,
        here: &[&State<A, B>],
        at: LocationContext<'_>,
    ) -> Adjusted<State<A, B>, Precision<A, B>> {
        if let Some(exchange) = exchange {
            precision = exchange(self.left, self.right, (&left, &right), precision, at);
        }
        let lefts: Vec<&A::State> = here.iter().map(|state| &state.0).collect();
        let Adjusted::Continue(left, p) = self.left.adjust(left, precision.0, &lefts, at) else {
            return Adjusted::Interrupt;
        };
        // States with another key do not tell right how its own values develop.
        let same_key = |state: &&&State<A, B>| self.left.leq(&left, &state.0);
        let rights: Vec<&B::State> = here.iter().filter(same_key).map(|state| &state.1).collect();
        let Adjusted::Continue(right, q) = self.right.adjust(right, precision.1, &rights, at) else {
            return Adjusted::Interrupt;
        };
        Adjusted::Continue((left, right), (p, q))
    }
}

impl<A: Refine, B: Refine> View<'_, A, B> {
    /// Left's refinement if left refutes the path and learns from it, else right's. What neither refutes may be real.
    pub(super) fn refine(
        &self,
        path: &Path,
        precision: &Precision<A, B>,
        budget: &Budget,
    ) -> Result<Refined<A, B>, Unknown> {
        let left = match self.left.refine(path, &precision.0, budget) {
            Ok(Refinement::Spurious(new)) if new != precision.0 => {
                return Ok(Refinement::Spurious((new, precision.1.clone())));
            }
            Err(ended @ (Unknown::Cancelled | Unknown::OutOfBudget)) => return Err(ended),
            other => other,
        };
        let right = self.right.refine(path, &precision.1, budget);
        match (left, right) {
            (_, Err(ended @ (Unknown::Cancelled | Unknown::OutOfBudget))) => Err(ended),
            (_, Ok(Refinement::Spurious(new))) if new != precision.1 => {
                Ok(Refinement::Spurious((precision.0.clone(), new)))
            }
            // A component refuted it and learned nothing: the driver calls that no progress.
            (Ok(Refinement::Spurious(_)), _) | (_, Ok(Refinement::Spurious(_))) => {
                Ok(Refinement::Spurious(precision.clone()))
            }
            (left, Ok(Refinement::Feasible(right))) => {
                let left = if let Ok(Refinement::Feasible(left)) = left { Some(left) } else { None };
                Ok(Refinement::Feasible(ProductWitness { left, right: Some(right) }))
            }
            (Ok(Refinement::Feasible(left)), _) => {
                Ok(Refinement::Feasible(ProductWitness { left: Some(left), right: None }))
            }
            (Err(_), Err(unknown)) => Err(unknown),
        }
    }
}

fn hash(key: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}
