//! Explicit-value analysis [EXP12]: a state maps variables to known values; an absent one is unknown. `merge_sep`, `stop_sep`; `adjust`
//! restricts to the precision, drops locals that are dead, and gives up variables that take too many values.

mod arithmetic;
mod interpolate;
mod precision;
mod refine;
mod roles;
mod scalar;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use proofline_cfa::{
    Entry, Expr, Function, Object,
    dataflow::Liveness,
    eval::{Overflow, Semantics},
    register,
};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext, Merge,
    Reduced,
};
use proofline_program_analysis::Environment;

pub(crate) use arithmetic::{are_apart, is_inside};
pub use precision::{Part, Precision, Variable};
pub use scalar::ExplicitValue;
pub(crate) use scalar::{bits_known, known_bits};

use crate::{
    facts::StateFacts,
    store::{Abstract, Arithmetic, Model, State, block, calls, show, transfer},
};
use arithmetic::Explicit;

/// A set of concrete states: those with these values.
pub type ValueState = State<ExplicitValue>;

/// Parameters of a [`ValueAnalysis`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueOptions {
    /// Where the run starts, and what is assumed there.
    pub entry: Entry,
    /// Signed overflow wraps.
    pub wrapv: bool,
    /// Start with everything tracked, instead of nothing (CEGAR then finds what must be).
    pub track_everything: bool,
    /// States of one location are joined where control flow meets: constant propagation ([CPA10] ℂ𝕆) instead of explicit values.
    pub joins: bool,
    /// A variable that took more values than this at one location is given up.
    pub threshold: Option<u32>,
    /// How refinement does it.
    pub refinement: ValueRefinement,
    /// An entry of a recursive block is joined with the open one after so many unrollings; otherwise it is unrolled to the end.
    pub unrollings: Option<u32>,
}

impl ValueOptions {
    /// Nothing tracked until refinement asks for it, no threshold, recursion unrolled to its end.
    pub fn new(entry: Entry) -> ValueOptions {
        ValueOptions {
            entry,
            wrapv: false,
            track_everything: false,
            joins: false,
            threshold: None,
            refinement: ValueRefinement::default(),
            unrollings: None,
        }
    }
}

/// Choices of refinement, which [EXP12 §III-F] calls optimisations. They change what proofs cost, never what is true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueRefinement {
    /// A variable is tracked only at the locations for which an interpolant asks, instead of wherever it is in scope.
    pub located: bool,
    /// So many infeasible prefixes of a path are compared; the cheapest one is refuted.
    pub prefixes: usize,
}

impl Default for ValueRefinement {
    /// Scoped, and the cheapest of six prefixes.
    fn default() -> ValueRefinement {
        ValueRefinement { located: false, prefixes: 6 }
    }
}

/// Explicit-value analysis of one program [EXP12 §II-C]: a state is a partial map from cells to values, and stands for all concrete states that
/// agree with it where it is defined. Law: states are ordered by `⊑` = "knows at least as much"; the join keeps what both know.
pub struct ValueAnalysis {
    model: Model<Explicit>,
    options: ValueOptions,
    roles: roles::Roles,
}

impl ValueAnalysis {
    /// The analysis of `env`'s program; the entry's mode says what is known at the start.
    pub fn new(env: Arc<Environment>, options: ValueOptions) -> ValueAnalysis {
        let overflow = if options.wrapv { Overflow::Wraps } else { Overflow::Undefined };
        let semantics = Semantics { overflow, pointer_bits: env.program().pointer_bits() };
        let roles = roles::Roles::new(env.program());
        let model = Model::new(env, Explicit { semantics }, options.entry);
        ValueAnalysis { model, options, roles }
    }

    /// The value of an expression for people: `5`, or `unknown`.
    pub fn reveal(&self, state: &ValueState, function: &Function, expr: &Expr) -> String {
        match self.value_of(state, function, expr) {
            Abstract::Of(ExplicitValue::Address(object, 0)) => {
                register::address_text(&show::object_text(self.model.env.program(), object))
            }
            Abstract::Of(ExplicitValue::Address(object, offset)) => {
                let text = register::address_text(&show::object_text(self.model.env.program(), object));
                format!("{text} + {offset} bytes")
            }
            Abstract::Of(value) => {
                let text = self.model.arithmetic.show(&value, expr.scalar()).unwrap_or_default();
                text.trim_start_matches("= ").to_owned()
            }
            Abstract::Any => "unknown".to_owned(),
        }
    }

    /// The value of an expression.
    pub fn value_of(&self, state: &ValueState, function: &Function, expr: &Expr) -> Abstract<ExplicitValue> {
        let facts = StateFacts::new(&self.model, state, function);
        facts.value(expr)
    }

    /// What is known, for hovers: `x` and `= 3`, one entry per variable.
    pub fn entries(&self, state: &ValueState) -> Vec<(String, String)> {
        show::entries(&self.model, state)
    }
}

impl Domain for ValueAnalysis {
    type State = ValueState;

    fn leq(&self, lower: &ValueState, upper: &ValueState) -> bool {
        lower.leq(upper)
    }

    /// Keeps what both know. States of different call stacks have no bound: the first one's is then wrong for the second, so
    /// that this must not be asked (no driver merges across stacks); everything is forgotten but the first one's frames' names.
    fn join(&self, a: &ValueState, b: &ValueState) -> ValueState {
        use crate::store::AbstractValue;
        a.combine(b, &mut |scalar, old, new| old.join(new, scalar)).unwrap_or_else(|| a.forgotten())
    }

    fn explain_not_leq(&self, lower: &ValueState, upper: &ValueState) -> String {
        lower.explain_not_leq(upper)
    }

    fn show(&self, state: &ValueState) -> String {
        show::line(&self.model, state)
    }
}

impl Cpa for ValueAnalysis {
    type Precision = Precision;

    fn name(&self) -> &'static str {
        "value"
    }

    fn entry(&self) -> (ValueState, Precision) {
        let precision =
            if self.options.track_everything { Precision::everything() } else { Precision::nothing() };
        (self.model.entry_state(), precision)
    }

    fn transfer(
        &self,
        from: &ValueState,
        _: &Precision,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<ValueState> {
        transfer::transfer(&self.model, from, at, facts)
    }

    fn enter(&self, from: &ValueState, _: &Precision, call: CallContext<'_>) -> Vec<ValueState> {
        calls::enter(&self.model, from, call).into_iter().collect()
    }

    fn leave(
        &self,
        at_call: &ValueState,
        exit: &ValueState,
        _: &Precision,
        call: CallContext<'_>,
    ) -> Vec<ValueState> {
        calls::leave(&self.model, at_call, exit, call).into_iter().collect()
    }

    fn adjust(
        &self,
        mut state: ValueState,
        mut precision: Precision,
        here: &[&ValueState],
        at: LocationContext<'_>,
    ) -> Adjusted<ValueState, Precision> {
        self.restrict(&mut state, &precision, at.function, at.loc);
        if let Some(threshold) = self.options.threshold
            && at.is_loop_head
        {
            let abandoned = self.too_many(&state, here, threshold);
            if !abandoned.is_empty() {
                precision = precision.without(abandoned);
                precision.restrict(at.function, at.loc, &mut state);
            }
        }
        Adjusted::Continue(state, precision)
    }

    fn merge(&self, new: &ValueState, reached: &ValueState, _: &Precision) -> Merge<ValueState> {
        if !self.options.joins || !new.has_same_stack(reached) {
            return Merge::Separate;
        }
        Merge::Into(self.join(reached, new))
    }

    /// Open calls. Values cannot be part of it: a state that does not know a variable covers those that do.
    fn partition(&self, state: &ValueState) -> u64 {
        state.calls()
    }

    fn same_precision_at(&self, a: &Precision, b: &Precision, at: LocationContext<'_>) -> bool {
        a.is_same_at(b, at.function.name, at.loc)
    }

    fn facts<'a>(&'a self, state: &'a ValueState, function: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(StateFacts::new(&self.model, state, function))
    }

    fn join_precision(&self, a: &Precision, b: &Precision) -> Precision {
        a.join(b)
    }
}

impl ValueAnalysis {
    fn restrict(
        &self,
        state: &mut ValueState,
        precision: &Precision,
        function: &Function,
        loc: proofline_cfa::Loc,
    ) {
        if let Some(live) = self.model.liveness(function) {
            state.retain_locals(function, |id| Liveness::is_live(live, loc, id));
            if loc == function.exit {
                calls::close_frame(state);
            }
        }
        precision.restrict(function, loc, state);
    }

    /// Variables that have more than `threshold` values among the newest states at the place.
    fn too_many(&self, state: &ValueState, here: &[&ValueState], threshold: u32) -> Vec<Variable> {
        let window = (threshold as usize).saturating_mul(4).max(16);
        if here.len() < threshold as usize {
            return Vec::new();
        }
        let recent = &here[here.len().saturating_sub(window)..];
        let exceeds = |mut others: Box<dyn Iterator<Item = u64> + '_>, mine: u64| {
            let mut seen = std::collections::BTreeSet::from([mine]);
            others.any(|hash| {
                seen.insert(hash);
                seen.len() > threshold as usize
            })
        };
        let digest = |region: &crate::store::region::Region<ExplicitValue>| {
            let mut hasher = DefaultHasher::new();
            region.hash(&mut hasher);
            hasher.finish()
        };
        let mut result = Vec::new();
        for (id, region) in &state.frame.locals {
            let same = recent.iter().filter(|other| other.frame.function == state.frame.function);
            let others = same.filter_map(|other| other.frame.local(*id).map(|region| digest(region)));
            if exceeds(Box::new(others), digest(region)) {
                result.push(Variable::Local(state.frame.function, *id));
            }
        }
        for (object, region) in state.memory.objects() {
            let others =
                recent.iter().filter_map(|other| other.memory.get(*object).map(|region| digest(region)));
            if exceeds(Box::new(others), digest(region)) {
                result.push(Variable::Object(*object));
            }
        }
        result
    }
}

impl BlockCpa for ValueAnalysis {
    fn reduce(&self, entry: &ValueState, block: BlockContext<'_>) -> Reduced<ValueState> {
        Reduced(block::reduce(&self.model, entry, block))
    }

    fn expand(
        &self,
        before: &ValueState,
        block: BlockContext<'_>,
        exit: &Reduced<ValueState>,
    ) -> Option<ValueState> {
        Some(block::expand(&self.model, before, block, &exit.0))
    }

    fn reduce_precision(&self, precision: &Precision, block: BlockContext<'_>) -> Reduced<Precision> {
        let scope = block::Scope::of(&self.model, block);
        Reduced(precision.restricted(|name| scope.runs(name), |object: Object| scope.contains(object)))
    }

    fn widen_entry(
        &self,
        open: &Reduced<ValueState>,
        new: &Reduced<ValueState>,
        unrollings: u32,
    ) -> Reduced<ValueState> {
        match self.options.unrollings {
            Some(limit) if unrollings > limit => Reduced(self.join(&open.0, &new.0)),
            Some(_) | None => new.clone(),
        }
    }
}
