//! Interval analysis: a state maps variables to a few ranges, pointers to their targets, floats to a range. Joined where control flow meets, widened at
//! loop heads and at entries of recursive blocks with thresholds from the function's conditions (0, ±1 and the types' ends among
//! them). There is no narrowing pass: a bound that a condition imposes is a threshold, and what comes after the
//! condition is cut by it; the reached set only grows, as the algorithm above expects.

mod arithmetic;
mod floats;
mod operators;
mod outcomes;
mod pointers;
mod ranges;
mod rounds;
mod scalar;
mod thresholds;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use proofline_cfa::{
    CompareOp, Edge, EdgeId, Entry, Expr, Function, LocalId, Lvalue, Name, Op, Role, Scalar,
    dataflow::Liveness,
    eval::{Overflow, Semantics},
    register,
};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, BlockId, Budget, CallContext, Cpa, Domain, EdgeContext, Facts,
    LocationContext, Merge, Path, Reduced, Refine, Refinement, Unknown,
};
use proofline_program_analysis::Environment;

pub use arithmetic::Intervals;
pub use floats::Floats;
pub use operators::Arith;
pub(crate) use operators::{
    compare as compare_ranges, overflows as ranges_overflow, where_compares as where_ranges_compare,
};
pub use ranges::Ranges;
pub use scalar::{IntervalValue, Pointee, Pointer, Targets};

use thresholds::Thresholds;

use crate::{
    facts::StateFacts,
    path::resolve,
    store::{Abstract, AbstractValue, Model, State, block, calls, show, state::Frame, transfer},
};

/// A set of concrete states.
pub type IntervalState = State<IntervalValue>;

/// Parameters of an [`IntervalAnalysis`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntervalOptions {
    /// Where the run starts, and what is assumed there.
    pub entry: Entry,
    /// Signed overflow wraps.
    pub wrapv: bool,
    /// Keep states of different paths apart instead of joining them. Then loops must be bounded by the program.
    pub separate: bool,
    /// Keep states apart while what calls have given differs, and may still be looked at.
    pub outcomes: bool,
    /// Keep states apart while counters of loops differ.
    pub rounds: bool,
    /// Entries of a recursive block that are unrolled before they are widened.
    pub unrollings: u32,
    /// Only executions in which the entry function's inputs (by the edge of their `havoc`) lie in these ranges are covered: smallest and
    /// largest value, both included; of floats their places ([`Floats::place`]). An engine that splits a program's inputs into ranges analyses it once for each.
    pub input_ranges: BTreeMap<EdgeId, (i128, i128)>,
    /// Calls within a recursive component that is entered with nothing known of arguments and of memory are entered so, too.
    pub weakest_recursion: bool,
}

impl IntervalOptions {
    /// States of one location are joined, and recursive entries widened after two unrollings.
    pub fn new(entry: Entry) -> IntervalOptions {
        IntervalOptions {
            entry,
            wrapv: false,
            separate: false,
            outcomes: false,
            rounds: false,
            unrollings: 2,
            input_ranges: BTreeMap::new(),
            weakest_recursion: false,
        }
    }
}

/// Interval analysis of one program [CC77]: a state maps cells to finite unions of ranges, to sets of pointer targets, or to ranges of floats.
/// Law: every concrete value is in its cell's set; widening at loop heads and recursive entries makes every chain finite.
pub struct IntervalAnalysis {
    model: Model<Intervals>,
    options: IntervalOptions,
    thresholds: BTreeMap<Name, OnceLock<Thresholds>>,
    outcomes: BTreeMap<Name, OnceLock<BTreeSet<LocalId>>>,
    counters: BTreeMap<Name, OnceLock<BTreeMap<LocalId, i128>>>,
}

impl IntervalAnalysis {
    /// The analysis of `env`'s program; the entry's mode says what is known at the start.
    pub fn new(env: Arc<Environment>, options: IntervalOptions) -> IntervalAnalysis {
        let overflow = if options.wrapv { Overflow::Wraps } else { Overflow::Undefined };
        let semantics = Semantics { overflow, pointer_bits: env.program().pointer_bits() };
        let thresholds = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let outcomes = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let counters = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let model = Model::new(env, Intervals { semantics }, options.entry);
        IntervalAnalysis { model, options, thresholds, outcomes, counters }
    }

    /// What is told apart in a function.
    fn outcomes(&self, name: Name) -> Option<&BTreeSet<LocalId>> {
        let cell = self.outcomes.get(&name).filter(|_| self.options.outcomes)?;
        let function = self.model.env.function(name)?;
        Some(cell.get_or_init(|| outcomes::outcomes(function)))
    }

    /// The counters of loops of a function that are followed round by round.
    fn counters(&self, name: Name) -> Option<&BTreeMap<LocalId, i128>> {
        let cell = self.counters.get(&name).filter(|_| self.options.rounds)?;
        let function = self.model.env.function(name)?;
        Some(cell.get_or_init(|| rounds::counters(function, self.model.env.structure(name))))
    }

    /// Whether the function has loops that are followed round by round.
    pub fn counts(&self, name: Name) -> bool {
        self.counters(name).is_some_and(|counters| !counters.is_empty())
    }

    fn differ(&self, one: &IntervalState, other: &IntervalState) -> bool {
        let outcomes = self.outcomes(one.frame.function);
        let counters = self.counters(one.frame.function);
        outcomes.is_some_and(|outcomes| outcomes::differ(outcomes, one, other))
            || counters.is_some_and(|counters| rounds::differ(counters, one, other))
    }

    /// The value of an expression for people: `[-2147483648, -1] | [1, 2147483647]`.
    pub fn reveal(&self, state: &IntervalState, function: &Function, expr: &Expr) -> String {
        let value = self.value_of(state, function, expr);
        match (value, expr.scalar()) {
            (Abstract::Of(IntervalValue::Int(ranges)), _) => ranges.to_string(),
            (Abstract::Any, Scalar::Int(ty)) if ty.is_exact() => Ranges::of(ty).to_string(),
            (Abstract::Any, _) => "unknown".to_owned(),
            (Abstract::Of(IntervalValue::Float(value)), _) => value.to_string(),
            (Abstract::Of(IntervalValue::Pointer(pointer)), _) => self.pointer_text(&pointer),
        }
    }

    fn pointer_text(&self, pointer: &Pointer) -> String {
        let mut parts = Vec::new();
        if pointer.null {
            parts.push("NULL".to_owned());
        }
        match &pointer.to {
            Targets::Any if pointer.null => return "unknown".to_owned(),
            Targets::Any => parts.push("not NULL".to_owned()),
            Targets::These(these) => parts.extend(these.iter().map(|(to, offsets)| match to {
                Pointee::Function(name) => name.to_string(),
                Pointee::Older => "older".to_owned(),
                Pointee::Object(object) => {
                    let name = show::object_text(self.model.env.program(), *object);
                    match offsets.single() {
                        Some(0) => register::address_text(&name),
                        Some(offset) => format!("{} + {offset} bytes", register::address_text(&name)),
                        None => format!("in {name}"),
                    }
                }
            })),
        }
        parts.join(" | ")
    }

    /// What is known of an expression's value.
    pub fn value_of(
        &self,
        state: &IntervalState,
        function: &Function,
        expr: &Expr,
    ) -> Abstract<IntervalValue> {
        StateFacts::new(&self.model, state, function).value(expr)
    }

    /// What is known, for hovers: `i` and `in [0, 9]`, one entry per variable.
    pub fn entries(&self, state: &IntervalState) -> Vec<(String, String)> {
        show::entries(&self.model, state)
    }

    fn thresholds(&self, name: Name) -> Option<&Thresholds> {
        let cell = self.thresholds.get(&name)?;
        let of = |function| Thresholds::of(function, self.model.env.bounds(name));
        Some(cell.get_or_init(|| self.model.env.function(name).map(of).unwrap_or_default()))
    }

    /// The state, of which there is one at most, where `input` is between `low` and `high`.
    fn restrict_input(
        &self,
        state: &IntervalState,
        input: &Lvalue,
        (low, high): (i128, i128),
        at: EdgeContext<'_>,
    ) -> Vec<IntervalState> {
        let value = Arc::new(Expr::Load(input.clone()));
        let conditions: Vec<(CompareOp, Expr)> = match value.scalar() {
            Scalar::Int(ty) => {
                vec![(CompareOp::Ge, Expr::Int(low, ty)), (CompareOp::Le, Expr::Int(high, ty))]
            }
            Scalar::Float(format) => match (Floats::at_place(format, low), Floats::at_place(format, high)) {
                (Some(low), Some(high)) if !high.is_nan() => {
                    vec![(CompareOp::Ge, Expr::Float(low)), (CompareOp::Le, Expr::Float(high))]
                }
                (Some(only), Some(_)) if low == high => {
                    let edge = Edge { op: Op::Assign(input.clone(), Expr::Float(only)), ..at.edge.clone() };
                    let at = EdgeContext { edge: &edge, ..at };
                    return transfer::transfer(&self.model, state, at, &proofline_cpa::NoFacts);
                }
                // NaN is no end of a range that a comparison could give.
                _ => Vec::new(),
            },
            Scalar::Pointer => Vec::new(),
        };
        let mut states = vec![state.clone()];
        for (op, bound) in conditions {
            let condition = Expr::Compare(op, value.clone(), Arc::new(bound));
            let edge = Edge { op: Op::Assume(condition), ..at.edge.clone() };
            let at = EdgeContext { edge: &edge, ..at };
            states = states
                .iter()
                .flat_map(|state| transfer::transfer(&self.model, state, at, &proofline_cpa::NoFacts))
                .collect();
        }
        states
    }

    /// The state, cut off by bounds of registers; `None`: no concrete state has them all.
    fn within<'s>(
        &self,
        state: &'s IntervalState,
        bounds: &[(LocalId, (i128, i128))],
        at: EdgeContext<'_>,
    ) -> Option<Cow<'s, IntervalState>> {
        let mut state = Cow::Borrowed(state);
        if state.frame.function != at.function.name {
            return Some(state);
        }
        for (id, range) in bounds {
            let local = at.function.local(*id);
            let Some(scalar) = proofline_cfa::scalar_of(local.ty, self.model.env.program().data_model) else {
                continue;
            };
            let register = Lvalue::local(*id, local.ty, scalar, local.size);
            state = Cow::Owned(self.restrict_input(&state, &register, *range, at).into_iter().next()?);
        }
        Some(state)
    }

    /// An upper bound after which there are only finitely many more.
    fn widen(&self, old: &IntervalState, new: &IntervalState) -> Option<IntervalState> {
        let none = Thresholds::default();
        let thresholds = self.thresholds(new.frame.function).unwrap_or(&none);
        old.combine(new, &mut |scalar, old, new| self.model.arithmetic.widen(scalar, old, new, thresholds))
    }
}

impl Domain for IntervalAnalysis {
    type State = IntervalState;

    fn leq(&self, lower: &IntervalState, upper: &IntervalState) -> bool {
        lower.leq(upper)
    }

    /// As for values: asked only of states with the same open calls.
    fn join(&self, a: &IntervalState, b: &IntervalState) -> IntervalState {
        a.combine(b, &mut |scalar, old, new| old.join(new, scalar)).unwrap_or_else(|| a.forgotten())
    }

    /// Besides states that are ordered: states that differ in one integer.
    fn exact_join(&self, a: &IntervalState, b: &IntervalState) -> Option<IntervalState> {
        if a.leq(b) {
            return Some(b.clone());
        }
        if b.leq(a) {
            return Some(a.clone());
        }
        a.exact_join(b, &|_, mine, theirs| match (mine, theirs) {
            (IntervalValue::Int(mine), IntervalValue::Int(theirs)) => {
                mine.union(theirs).map(IntervalValue::Int)
            }
            (IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_), _) => None,
        })
    }

    fn explain_not_leq(&self, lower: &IntervalState, upper: &IntervalState) -> String {
        lower.explain_not_leq(upper)
    }

    fn show(&self, state: &IntervalState) -> String {
        show::line(&self.model, state)
    }
}

impl Cpa for IntervalAnalysis {
    type Precision = ();

    fn name(&self) -> &'static str {
        "interval"
    }

    fn entry(&self) -> (IntervalState, ()) {
        (self.model.entry_state(), ())
    }

    fn transfer(
        &self,
        from: &IntervalState,
        (): &(),
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<IntervalState> {
        // What others know before the edge is cut off here, for widening keeps what it cuts off behind it.
        let Some(strengthened) = self.within(from, &facts.registers(), at) else { return Vec::new() };
        let after = transfer::transfer(&self.model, &strengthened, at, facts);
        if !self.options.input_ranges.is_empty()
            && at.function.name == self.options.entry.name
            && let Some(range) = self.options.input_ranges.get(&at.id)
            && let Op::Havoc(input, _) = &at.edge.op
        {
            return after
                .into_iter()
                .flat_map(|state| self.restrict_input(&state, input, *range, at))
                .collect();
        }
        after
    }

    fn enter(&self, from: &IntervalState, (): &(), call: CallContext<'_>) -> Vec<IntervalState> {
        calls::enter(&self.model, from, call).into_iter().collect()
    }

    fn leave(
        &self,
        at_call: &IntervalState,
        exit: &IntervalState,
        (): &(),
        call: CallContext<'_>,
    ) -> Vec<IntervalState> {
        calls::leave(&self.model, at_call, exit, call).into_iter().collect()
    }

    fn merge(&self, new: &IntervalState, reached: &IntervalState, (): &()) -> Merge<IntervalState> {
        if self.options.separate || self.differ(new, reached) {
            return Merge::Separate;
        }
        match reached.combine(new, &mut |scalar, old, new| old.join(new, scalar)) {
            Some(joined) => Merge::Into(joined),
            None => Merge::Separate,
        }
    }

    fn partition(&self, state: &IntervalState) -> u64 {
        state.calls()
    }

    fn adjust(
        &self,
        mut state: IntervalState,
        (): (),
        here: &[&IntervalState],
        at: LocationContext<'_>,
    ) -> Adjusted<IntervalState, ()> {
        if let Some(live) = self.model.liveness(at.function) {
            let is_live = |id| Liveness::is_live(live, at.loc, id);
            if at.loc == at.function.exit {
                state.retain_locals(at.function, is_live);
                calls::close_frame(&mut state);
            } else {
                // What the programmer named is kept for people.
                let transient = |id| matches!(at.function.local(id).role, Role::Temporary | Role::Shadow);
                let outcomes = self.outcomes(at.function.name);
                let counters = self.counters(at.function.name);
                let is_told_apart = |id| {
                    outcomes.is_some_and(|outcomes| outcomes.contains(&id))
                        || counters.is_some_and(|counters| counters.contains_key(&id))
                };
                state.retain_locals(at.function, |id| !transient(id) && !is_told_apart(id) || is_live(id));
            }
        }
        if at.is_loop_head
            && !self.options.separate
            && let Some(old) =
                here.iter().rev().find(|old| old.has_same_stack(&state) && !self.differ(old, &state))
            && !state.leq(old)
            && let Some(widened) = self.widen(old, &state)
        {
            state = widened;
        }
        Adjusted::Continue(state, ())
    }

    fn strengthen(
        &self,
        state: &IntervalState,
        others: &dyn Facts,
        at: EdgeContext<'_>,
    ) -> Option<IntervalState> {
        self.within(state, &others.registers(), at).map(Cow::into_owned)
    }

    fn facts<'a>(&'a self, state: &'a IntervalState, function: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(StateFacts::new(&self.model, state, function))
    }

    fn join_precision(&self, (): &(), (): &()) {}
}

impl BlockCpa for IntervalAnalysis {
    fn reduce(&self, entry: &IntervalState, block: BlockContext<'_>) -> Reduced<IntervalState> {
        Reduced(block::reduce(&self.model, entry, block))
    }

    fn expand(
        &self,
        before: &IntervalState,
        block: BlockContext<'_>,
        exit: &Reduced<IntervalState>,
    ) -> Option<IntervalState> {
        Some(block::expand(&self.model, before, block, &exit.0))
    }

    fn reduce_precision(&self, (): &(), _: BlockContext<'_>) -> Reduced<()> {
        Reduced(())
    }

    fn weakest_entry(&self, block: BlockContext<'_>) -> Option<Reduced<IntervalState>> {
        match block.id {
            BlockId::Function(name) if self.options.weakest_recursion => {
                Some(self.reduce(&self.model.weakest_entry(*name), block))
            }
            BlockId::Function(_) | BlockId::Loop(..) => None,
        }
    }

    fn widen_entry(
        &self,
        open: &Reduced<IntervalState>,
        new: &Reduced<IntervalState>,
        unrollings: u32,
    ) -> Reduced<IntervalState> {
        if unrollings <= self.options.unrollings {
            return new.clone();
        }
        self.widen(&open.0, &new.0).map_or_else(|| new.clone(), Reduced)
    }
}

impl Refine for IntervalAnalysis {
    type Witness = Path;

    /// The path alone, without joins, may be contradictory; then joining lost it, and there is no precision that would help.
    fn refine(&self, path: &Path, (): &(), budget: &Budget) -> Result<Refinement<()>, Unknown> {
        let steps = resolve(&self.model.env, path)?;
        let mut entry = self.model.entry_state();
        if path.entry != self.model.entry_function() {
            entry = IntervalState { frame: Arc::new(Frame::new(path.entry, None)), ..entry.forgotten() };
        }
        let mut states = vec![entry];
        for step in &steps {
            budget.spend(states.len() as u64)?;
            states = step.run(self, &states, &());
            if states.is_empty() {
                return Err(Unknown::NoProgress(
                    "intervals exclude this path alone, but not together with others".to_owned(),
                ));
            }
        }
        Ok(Refinement::Feasible(path.clone()))
    }
}
