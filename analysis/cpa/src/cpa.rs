//! The operators of a configurable program analysis with precision (CPA+), [CPA10] §3–4, and of block abstraction
//! (BAM), [BAM20] §3. Bottom is not a state: it is the absence of a state. Knows automata, no particular domain.

use std::{fmt::Debug, hash::Hash};

use proofline_cfa::{Call, Edge, EdgeId, Expr, Function, Loc, LocalId, Name, Object};
use serde::{Deserialize, Serialize};

/// An abstract domain `(C, (E, ⊑, ⊔), ⟦·⟧)`. A value, not a namespace: it may own an arena. Laws: `⊑` is a preorder that
/// implies `⟦e⟧ ⊆ ⟦e'⟧`; `⊔` is an upper bound.
pub trait Domain: Send + Sync {
    /// A set of concrete states, never empty-looking.
    type State: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// `lower ⊑ upper`
    fn leq(&self, lower: &Self::State, upper: &Self::State) -> bool;

    /// Whether one of them covers it.
    fn leq_any(&self, lower: &Self::State, uppers: &[&Self::State]) -> bool {
        uppers.iter().any(|upper| self.leq(lower, upper))
    }

    /// `a ⊔ b`
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State;

    /// A state that stands for what either stands for and for nothing else, `⟦a⟧ ∪ ⟦b⟧`, where the domain has one and finds it. Only
    /// of such joins may it be said that several states together cover one (`stop_join`). The default knows the larger of two that are ordered.
    fn exact_join(&self, a: &Self::State, b: &Self::State) -> Option<Self::State> {
        if self.leq(a, b) {
            return Some(b.clone());
        }
        self.leq(b, a).then(|| a.clone())
    }

    /// Why `lower ⊑ upper` does not hold, for people debugging an analysis.
    fn explain_not_leq(&self, lower: &Self::State, upper: &Self::State) -> String {
        format!("{lower:?} is not covered by {upper:?}")
    }

    /// One line for people: `x = 3, y in [0, 9]`.
    fn show(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }
}

/// An edge with its surroundings.
#[derive(Clone, Copy)]
pub struct EdgeContext<'p> {
    /// The function whose automaton the edge belongs to.
    pub function: &'p Function,
    /// Which edge.
    pub id: EdgeId,
    /// The edge.
    pub edge: &'p Edge,
}

/// A call edge together with one resolved callee that has a body.
#[derive(Clone, Copy)]
pub struct CallContext<'p> {
    /// The call edge in the caller.
    pub at: EdgeContext<'p>,
    /// The call on it.
    pub call: &'p Call,
    /// The callee (a call through a pointer has one context per possible target).
    pub callee: &'p Function,
}

/// Typed questions that analyses ask one another. "Don't know" is always a right answer.
pub trait Facts {
    /// Bounds (inclusive) of an integer expression in this state.
    fn int_range(&self, _expr: &Expr) -> Option<(i128, i128)> {
        None
    }
    /// Objects a pointer may point to, with byte offsets where known; null apart.
    fn points_to(&self, _pointer: &Expr) -> Option<Vec<(Object, Option<i64>)>> {
        None
    }
    /// Whether a condition is decided.
    fn truth(&self, _condition: &Expr) -> Option<bool> {
        None
    }
    /// Bounds (inclusive) of locals of the innermost frame whose address is not taken, where they are known without a question for each.
    fn registers(&self) -> Vec<(LocalId, (i128, i128))> {
        Vec::new()
    }
}

/// No facts.
pub struct NoFacts;
impl Facts for NoFacts {}

/// What `merge` decided about the state that was already reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Merge<S> {
    /// Keep both.
    Separate,
    /// Replace the reached one by this weaker one: law `old ⊑ merge(new, old)`.
    Into(S),
}

/// What `adjust` (the papers' `prec`) decided. Law: `⟦state⟧ ⊆ ⟦adjusted⟧`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Adjusted<S, P> {
    /// Go on with these.
    Continue(S, P),
    /// Put the state back and stop here; the run can be resumed.
    Interrupt,
}

/// A configurable program analysis.
///
/// States carry the frames of open calls themselves: `enter` pushes a frame, `leave` pops it, and every other operator
/// works on the innermost one. Objects (globals, address-taken locals, heap) belong to no frame.
pub trait Cpa: Domain {
    /// What the analysis tracks. Ordered by information: law `join_precision` tracks at least both.
    type Precision: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// A name for people and statistics.
    fn name(&self) -> &'static str;

    /// State and precision at the entry of the program's entry function.
    fn entry(&self) -> (Self::State, Self::Precision);

    /// Over-approximates the concrete successors along an edge that is not a call of a function with a body. (Calls
    /// of functions without bodies have been replaced by their models or by `Clobber` and `Havoc` before.)
    fn transfer(
        &self,
        from: &Self::State,
        precision: &Self::Precision,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<Self::State>;

    /// Passes the arguments: from the call's source to the callee's entry, with a new innermost frame. Empty: the call
    /// cannot happen.
    fn enter(
        &self,
        from: &Self::State,
        precision: &Self::Precision,
        call: CallContext<'_>,
    ) -> Vec<Self::State>;

    /// Returns: from a state at the callee's exit (with the caller's frame below) to the call's target. `at_call` is the
    /// state that `enter` was given.
    fn leave(
        &self,
        at_call: &Self::State,
        exit: &Self::State,
        precision: &Self::Precision,
        call: CallContext<'_>,
    ) -> Vec<Self::State>;

    /// Combines a new state with a reached one at the same place. The default never merges (`merge_sep`).
    fn merge(
        &self,
        _new: &Self::State,
        _reached: &Self::State,
        _precision: &Self::Precision,
    ) -> Merge<Self::State> {
        Merge::Separate
    }

    /// Index of a reached state that covers the new one (`stop_sep` by default).
    fn stop(
        &self,
        new: &Self::State,
        reached: &[&Self::State],
        _precision: &Self::Precision,
    ) -> Option<usize> {
        reached.iter().position(|old| self.leq(new, old))
    }

    /// Indices of reached states that cover the new one only together (`stop_join`); empty: it is not covered. The default
    /// asks `stop`.
    fn stop_together(
        &self,
        new: &Self::State,
        reached: &[&Self::State],
        precision: &Self::Precision,
    ) -> Vec<usize> {
        self.stop(new, reached, precision).into_iter().collect()
    }

    /// Index key within a location: states with different keys are never merged and never cover one another. Law: `a ⊑ b`
    /// and `merge(a, b) ≠ Separate` each imply equal keys (of the merged state too).
    fn partition(&self, _state: &Self::State) -> u64 {
        0
    }

    /// Whether two precisions ask for the same abstraction at a location: where they do, a state that was computed with
    /// one need not be computed again with the other. The default compares the precisions as a whole.
    fn same_precision_at(&self, a: &Self::Precision, b: &Self::Precision, _at: LocationContext<'_>) -> bool {
        a == b
    }

    /// Adjusts precision and state before it is added: restricts to the precision, widens against what is reached at
    /// the same location (`here`; `is_loop_head` says whether widening is due).
    fn adjust(
        &self,
        state: Self::State,
        precision: Self::Precision,
        _here: &[&Self::State],
        _at: LocationContext<'_>,
    ) -> Adjusted<Self::State, Self::Precision> {
        Adjusted::Continue(state, precision)
    }

    /// Sharpens a state by what other analyses know at the same point; `None` if they contradict each other. Must keep
    /// `⟦state⟧ ∩ ⟦others⟧`.
    fn strengthen(
        &self,
        state: &Self::State,
        _others: &dyn Facts,
        _at: EdgeContext<'_>,
    ) -> Option<Self::State> {
        Some(state.clone())
    }

    /// What others may ask about a state.
    fn facts<'a>(&'a self, _state: &'a Self::State, _function: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(NoFacts)
    }

    /// A precision that tracks what either tracks.
    fn join_precision(&self, a: &Self::Precision, b: &Self::Precision) -> Self::Precision;
}

/// A location as `adjust` sees it.
#[derive(Clone, Copy)]
pub struct LocationContext<'p> {
    /// Function.
    pub function: &'p Function,
    /// Location.
    pub loc: Loc,
    /// Whether widening is due here: it is the head of a loop, or what a recursive call returns to.
    pub is_loop_head: bool,
}

/// A state, precision or other thing as a block sees it. A different type, so that it cannot be mistaken for a full one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Reduced<T>(pub T);

/// A part of the automata whose effect is summarised: a function body with everything it calls, or a loop.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BlockId {
    /// The whole function.
    Function(Name),
    /// The loop of a function with this head.
    Loop(Name, Loc),
}

impl BlockId {
    /// The function that it lies in.
    pub fn function(&self) -> Name {
        let (BlockId::Function(function) | BlockId::Loop(function, _)) = self;
        *function
    }
}

/// A block with what `reduce` needs to know of it.
#[derive(Clone, Copy)]
pub struct BlockContext<'p> {
    /// Which block.
    pub id: &'p BlockId,
    /// The function it lies in.
    pub function: &'p Function,
    /// Objects the block, with everything it calls, may read or write; `None`: any.
    pub objects: Option<&'p std::collections::BTreeSet<Object>>,
    /// For a loop: locals of the function it mentions. For a function: `None`.
    pub locals: Option<&'p std::collections::BTreeSet<proofline_cfa::LocalId>>,
}

/// An analysis whose blocks can be summarised.
///
/// Law: `{e' | e ⇝ᴮ e'} ⊑ {expand(e, B, o) | reduce(B, e) ⇝ᴮ o}`; in particular `e ⊑ expand(e, B, reduce(B, e))`.
pub trait BlockCpa: Cpa {
    /// Drops what the block cannot see or does not need: lower frames (for function blocks), objects and locals outside its reach. The
    /// result is the cache key. Idempotent.
    fn reduce(&self, entry: &Self::State, block: BlockContext<'_>) -> Reduced<Self::State>;

    /// Puts back onto an exit state what `reduce` dropped from `before`. `None`: they contradict.
    fn expand(
        &self,
        before: &Self::State,
        block: BlockContext<'_>,
        exit: &Reduced<Self::State>,
    ) -> Option<Self::State>;

    /// Restricts a precision to what the block uses.
    fn reduce_precision(
        &self,
        precision: &Self::Precision,
        block: BlockContext<'_>,
    ) -> Reduced<Self::Precision>;

    /// The weakest entry of a function, where the analysis wants no more to be known at calls within a recursive component that is entered so:
    /// then the component has one abstraction per function, whoever calls it. Used where it covers the entry at hand. By default entries are
    /// what they are.
    fn weakest_entry(&self, _block: BlockContext<'_>) -> Option<Reduced<Self::State>> {
        None
    }

    /// Widens a new entry of a recursive block against an open one, so that entries do not grow for ever: an upper bound of
    /// both. `unrollings` counts the open entries of this block. The default keeps the new entry (it is unrolled).
    fn widen_entry(
        &self,
        _open: &Reduced<Self::State>,
        new: &Reduced<Self::State>,
        _unrollings: u32,
    ) -> Reduced<Self::State> {
        new.clone()
    }
}
