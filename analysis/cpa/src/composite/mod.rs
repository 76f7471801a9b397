//! The product of two analyses, [CPA10] §3.2–3.3: side by side, joined only where the joined state still covers the new one
//! in every component, covered only by what covers both, sharpened by typed questions. A tuple `(A, B)` is the product
//! with [`Variant::DEFAULT`]; [`Product`] takes the variant as a parameter. Products nest: `((A, B), C)`.
//!
//! Locations and inlined call stacks are no component: the reached set is indexed by them, so every variant's "where the
//! location agrees" holds by construction. Frames of open calls are inside the component states; `enter` and `leave` work on
//! both at once. Put the analysis whose states act as keys first (values before intervals): right's widening sees
//! only the reached states whose left part covers the new one.

mod facts;
mod operators;
mod variant;
mod witness;

use proofline_cfa::Function;

use self::operators::View;
pub use self::variant::{MergeRule, StopRule, Strengthening, Variant};
pub use self::witness::ProductWitness;
use crate::{
    Budget, Path, Refine, Refinement, Unknown,
    cpa::{
        Adjusted, BlockContext, BlockCpa, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
        Merge, Reduced,
    },
};

/// Moves precision between the components before they adjust: drop a variable from left's, add predicates about it to right's.
/// It must not depend on anything but its arguments.
pub type Exchange<A, B> = fn(
    &A,
    &B,
    (&<A as Domain>::State, &<B as Domain>::State),
    (<A as Cpa>::Precision, <B as Cpa>::Precision),
    LocationContext<'_>,
) -> (<A as Cpa>::Precision, <B as Cpa>::Precision);

/// Two analyses run as one, in a chosen way.
pub struct Product<A: Cpa, B: Cpa> {
    /// The first component.
    pub left: A,
    /// The second.
    pub right: B,
    /// How they are combined.
    pub variant: Variant,
    /// How precision moves between them, if it does.
    pub exchange: Option<Exchange<A, B>>,
}

impl<A: Cpa, B: Cpa> Product<A, B> {
    /// A product with this variant.
    pub fn new(left: A, right: B, variant: Variant) -> Product<A, B> {
        Product { left, right, variant, exchange: None }
    }
}

/// Both types of product have the operators of `View`.
macro_rules! product {
    ($type:ty, $bound:ident, $this:ident => $variant:expr, $left:expr, $right:expr, $exchange:expr) => {
        impl<A: $bound, B: $bound> Domain for $type {
            type State = (A::State, B::State);
            fn leq(&$this, lower: &Self::State, upper: &Self::State) -> bool {
                $left.leq(&lower.0, &upper.0) && $right.leq(&lower.1, &upper.1)
            }
            fn join(&$this, a: &Self::State, b: &Self::State) -> Self::State {
                ($left.join(&a.0, &b.0), $right.join(&a.1, &b.1))
            }
            fn explain_not_leq(&$this, lower: &Self::State, upper: &Self::State) -> String {
                if $left.leq(&lower.0, &upper.0) {
                    $right.explain_not_leq(&lower.1, &upper.1)
                } else {
                    $left.explain_not_leq(&lower.0, &upper.0)
                }
            }
            fn show(&$this, state: &Self::State) -> String {
                format!("{}; {}", $left.show(&state.0), $right.show(&state.1))
            }
        }

        impl<A: Cpa, B: Cpa> Cpa for $type {
            type Precision = (A::Precision, B::Precision);
            fn name(&self) -> &'static str {
                "product"
            }
            fn entry(&$this) -> (Self::State, Self::Precision) {
                let ((left, p), (right, q)) = ($left.entry(), $right.entry());
                ((left, right), (p, q))
            }
            fn transfer(
                &$this,
                from: &Self::State,
                precision: &Self::Precision,
                at: EdgeContext<'_>,
                facts: &dyn Facts,
            ) -> Vec<Self::State> {
                View { left: $left, right: $right, variant: $variant }.transfer(from, precision, at, facts)
            }
            fn enter(
                &$this,
                from: &Self::State,
                precision: &Self::Precision,
                call: CallContext<'_>,
            ) -> Vec<Self::State> {
                let lefts = $left.enter(&from.0, &precision.0, call);
                operators::pairs(lefts, || $right.enter(&from.1, &precision.1, call))
            }
            fn leave(
                &$this,
                at_call: &Self::State,
                exit: &Self::State,
                precision: &Self::Precision,
                call: CallContext<'_>,
            ) -> Vec<Self::State> {
                let lefts = $left.leave(&at_call.0, &exit.0, &precision.0, call);
                operators::pairs(lefts, || $right.leave(&at_call.1, &exit.1, &precision.1, call))
            }
            fn merge(&$this, new: &Self::State, reached: &Self::State, precision: &Self::Precision) -> Merge<Self::State> {
                View { left: $left, right: $right, variant: $variant }.merge(new, reached, precision)
            }
            fn stop(&$this, new: &Self::State, reached: &[&Self::State], precision: &Self::Precision) -> Option<usize> {
                View { left: $left, right: $right, variant: $variant }.stop(new, reached, precision)
            }
            fn stop_together(
                &$this,
                new: &Self::State,
                reached: &[&Self::State],
                precision: &Self::Precision,
            ) -> Vec<usize> {
                View { left: $left, right: $right, variant: $variant }.stop_together(new, reached, precision)
            }
            fn partition(&$this, state: &Self::State) -> u64 {
                View { left: $left, right: $right, variant: $variant }.partition(state)
            }
            fn same_precision_at(&$this, a: &Self::Precision, b: &Self::Precision, at: LocationContext<'_>) -> bool {
                $left.same_precision_at(&a.0, &b.0, at) && $right.same_precision_at(&a.1, &b.1, at)
            }
            fn adjust(
                &$this,
                state: Self::State,
                precision: Self::Precision,
                here: &[&Self::State],
                at: LocationContext<'_>,
            ) -> Adjusted<Self::State, Self::Precision> {
                View { left: $left, right: $right, variant: $variant }.adjust($exchange, state, precision, here, at)
            }
            fn strengthen(&$this, state: &Self::State, others: &dyn Facts, at: EdgeContext<'_>) -> Option<Self::State> {
                View { left: $left, right: $right, variant: Variant::DEFAULT }.strengthen(state, others, at)
            }
            fn facts<'a>(&'a $this, state: &'a Self::State, function: &'a Function) -> Box<dyn Facts + 'a> {
                operators::both_facts($left.facts(&state.0, function), $right.facts(&state.1, function))
            }
            fn join_precision(&$this, a: &Self::Precision, b: &Self::Precision) -> Self::Precision {
                ($left.join_precision(&a.0, &b.0), $right.join_precision(&a.1, &b.1))
            }
        }

        impl<A: BlockCpa, B: BlockCpa> BlockCpa for $type {
            fn reduce(&$this, entry: &Self::State, block: BlockContext<'_>) -> Reduced<Self::State> {
                Reduced(($left.reduce(&entry.0, block).0, $right.reduce(&entry.1, block).0))
            }
            fn expand(
                &$this,
                before: &Self::State,
                block: BlockContext<'_>,
                exit: &Reduced<Self::State>,
            ) -> Option<Self::State> {
                let left = $left.expand(&before.0, block, &Reduced(exit.0.0.clone()))?;
                let right = $right.expand(&before.1, block, &Reduced(exit.0.1.clone()))?;
                Some((left, right))
            }
            fn reduce_precision(&$this, precision: &Self::Precision, block: BlockContext<'_>) -> Reduced<Self::Precision> {
                let left = $left.reduce_precision(&precision.0, block);
                Reduced((left.0, $right.reduce_precision(&precision.1, block).0))
            }
            fn widen_entry(
                &$this,
                open: &Reduced<Self::State>,
                new: &Reduced<Self::State>,
                unrollings: u32,
            ) -> Reduced<Self::State> {
                let (open_left, open_right) = (Reduced(open.0.0.clone()), Reduced(open.0.1.clone()));
                let (new_left, new_right) = (Reduced(new.0.0.clone()), Reduced(new.0.1.clone()));
                let left = $left.widen_entry(&open_left, &new_left, unrollings);
                Reduced((left.0, $right.widen_entry(&open_right, &new_right, unrollings).0))
            }
        }

        impl<A: Refine, B: Refine> Refine for $type {
            type Witness = ProductWitness<A::Witness, B::Witness>;
            fn refine(
                &$this,
                path: &Path,
                precision: &Self::Precision,
                budget: &Budget,
            ) -> Result<Refinement<Self::Precision, Self::Witness>, Unknown> {
                View { left: $left, right: $right, variant: $variant }.refine(path, precision, budget)
            }
        }
    };
}

product!(Product<A, B>, Cpa, self => self.variant, &self.left, &self.right, self.exchange);
product!((A, B), Domain, self => Variant::DEFAULT, &self.0, &self.1, None);
