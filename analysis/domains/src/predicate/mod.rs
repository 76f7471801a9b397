//! Predicate analysis with adjustable-block encoding, ALGORITHMS.md §7: between abstractions a state is a formula of every way since the
//! last one; at abstractions it is the strongest Boolean combination of the predicates tracked there. Summaries of functions
//! relate the ghosts `x₀` (values at entry) with the result and the final memory.
//!
//! Everything is over-approximated by `proofline_encoding`; what the solver does not decide counts as possible.

mod abstraction;
mod affine;
mod bdd;
mod bounds;
mod concolic;
mod entry;
mod path_formula;
mod path_tree;
mod precision;
mod refine;
mod scope;
mod sliced_interpolation;
mod solver;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
    time::Instant,
};

use parking_lot::{Mutex, RwLock};
use proofline_cfa::{Entry, Loc, Name, ObligationId, Scalar};
use proofline_cpa::{
    BlockContext, BlockCpa, CallContext, Cancel, Cpa, Domain, EdgeContext, Facts, LocationContext, Merge,
    Reduced,
};
use proofline_program_analysis::Environment;
use proofline_smt::{
    LibraryMismatch, Term, Var, build as t,
    interpolate::{Method, Strategy},
};

pub use concolic::{CandidateInputs, Trial};
pub use precision::PredicatePrecision;
pub use refine::{Model, Witness, WitnessInputs};
pub use solver::AbstractionKind;
pub use state::PredicateState;

use proofline_encoding::{Key, MemoryLayout};

use bdd::Bdds;
use scope::Scope;
use solver::CachedSolver;

/// Where states are abstracted: the operator `blk`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Blk {
    /// After every edge.
    Edges,
    /// At heads of loops.
    Loops,
    /// At heads of loops, and at entries and exits of functions.
    Functions,
}

/// Parameters of a [`PredicateAnalysis`]: what is analysed, where states are abstracted and how, how predicates are found, and limits.
#[derive(Clone, Debug)]
pub struct PredicateOptions {
    /// Where the run starts, and what is assumed there.
    pub entry: Entry,
    /// Signed overflow wraps.
    pub wrapv: bool,
    /// Where states are abstracted. Function blocks need [`Blk::Functions`] to be of use.
    pub blk: Blk,
    /// How abstractions are computed.
    pub abstraction: AbstractionKind,
    /// Predicates at exits that speak of the values at entry only are tracked at the entry, too: callers are told apart by them.
    pub contexts: bool,
    /// `x = 5` is tracked as `x <= 5` and `x <= 4`.
    pub split: bool,
    /// How interpolants are looked for, in this order.
    pub attempts: Vec<(Strategy, Method)>,
    /// The solver's own units per question.
    pub resource: u32,
    /// Target error locations; states at others are not looked at. `None`: all.
    pub targets: Option<BTreeSet<(Name, ObligationId)>>,
    /// Tries out what an abstract path suggests; see [`Trial`].
    pub trial: Option<Trial>,
    /// Cancelling ends every question to the solver; what is undecided then counts as possible.
    pub cancel: Cancel,
    /// As `cancel`, from this moment on.
    pub deadline: Option<Instant>,
}

impl PredicateOptions {
    /// Function blocks, Boolean abstraction, predicates at the locations where they were found, and the interpolation methods in the order
    /// in which they pay; no limit of time.
    pub fn new(entry: Entry) -> PredicateOptions {
        PredicateOptions {
            entry,
            wrapv: false,
            blk: Blk::Functions,
            abstraction: AbstractionKind::Boolean,
            contexts: false,
            split: false,
            attempts: vec![
                (Strategy::Tree, Method::Wp),
                (Strategy::Tree, Method::Farkas),
                (Strategy::Nested, Method::Mbp),
                (Strategy::Tree, Method::Horn),
                (Strategy::Tree, Method::Sp),
            ],
            resource: 2_000_000,
            targets: None,
            trial: None,
            cancel: Cancel::default(),
            deadline: None,
        }
    }
}

/// Predicate abstraction [GS97] of one program with adjustable-block encoding [ABE10] and summaries of functions [BAM20 §3.3]. Law: a state
/// `(ψ, φ)` holds every concrete state of its function that satisfies ψ where φ begins and goes one of φ's ways. Shared between threads;
/// each has a solver session of its own.
pub struct PredicateAnalysis {
    env: Arc<Environment>,
    layout: MemoryLayout,
    options: PredicateOptions,
    scopes: BTreeMap<Name, OnceLock<Scope>>,
    formats: RwLock<BTreeMap<Var, Scalar>>,
    reachable: Mutex<BTreeMap<Name, Arc<BTreeSet<Name>>>>,
    solver: CachedSolver,
    bdds: Bdds,
    tried: Mutex<BTreeSet<CandidateInputs>>,
}

impl PredicateAnalysis {
    /// Chooses the memory layout of a program; asks the solver nothing yet.
    ///
    /// # Errors
    /// If the linked solver library is not the version that this program was built for.
    pub fn new(
        env: Arc<Environment>,
        options: PredicateOptions,
    ) -> Result<PredicateAnalysis, LibraryMismatch> {
        proofline_smt::check_library()?;
        let layout = MemoryLayout::new(&env);
        let scopes = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let solver = CachedSolver::new(options.resource, options.cancel.clone(), options.deadline);
        Ok(PredicateAnalysis {
            env,
            layout,
            options,
            scopes,
            formats: RwLock::default(),
            reachable: Mutex::default(),
            solver,
            bdds: Bdds::default(),
            tried: Mutex::default(),
        })
    }

    fn scope(&self, name: Name) -> &Scope {
        let (Some(cell), Some(function)) = (self.scopes.get(&name), self.env.function(name)) else {
            unreachable!("states are of functions with bodies: {name}")
        };
        cell.get_or_init(|| {
            let scope = Scope::new(&self.env, &self.layout, function);
            let mut formats = self.formats.write();
            formats.extend(scope.formats());
            scope
        })
    }

    fn format(&self, var: Var) -> Option<Scalar> {
        self.formats.read().get(&var).copied()
    }

    /// Whether states are abstracted at a location that was reached along an edge.
    fn is_cut(&self, scope: &Scope, loc: Loc) -> bool {
        match self.options.blk {
            Blk::Edges => true,
            Blk::Loops => scope.is_head(loc),
            Blk::Functions => scope.is_head(loc) || scope.is_exit(loc),
        }
    }

    /// Whether states are abstracted where a call enters.
    fn is_cut_at_entry(&self) -> bool {
        match self.options.blk {
            Blk::Edges | Blk::Functions => true,
            Blk::Loops => false,
        }
    }

    /// Whether states must be possible at a location to be of interest there.
    fn is_watched(&self, function: &proofline_cfa::Function, loc: Loc) -> bool {
        let unsupported = function.unsupported.iter().any(|(at, _)| *at == loc);
        unsupported
            || self.env.structure(function.name).obligation_at(loc).is_some_and(|id| {
                match &self.options.targets {
                    Some(targets) => targets.contains(&(function.name, id)),
                    None => true,
                }
            })
    }

    /// The functions that a call of one may run, itself included.
    fn reachable_from(&self, function: Name) -> Arc<BTreeSet<Name>> {
        let mut cache = self.reachable.lock();
        let known = cache.entry(function);
        known.or_insert_with(|| Arc::new(self.env.call_graph().reachable([function]))).clone()
    }

    /// What has a value where a function is entered, with the variables that stand for it in every formula of the function.
    pub fn inputs(&self, function: Name) -> Vec<(Key, Var)> {
        self.scope(function).ghosts().map(|(key, var)| (*key, *var)).collect()
    }

    /// What has a value where a function is left, its result included, with the variables that stand for it there.
    pub fn results(&self, function: Name) -> Vec<(Key, Var)> {
        let scope = self.scope(function);
        let keys = scope.memory.iter().copied().chain(scope.result);
        keys.filter_map(|key| Some((key, scope.current(key)?))).collect()
    }

    /// A formula of a function for people.
    pub fn readable(&self, function: Name, formula: Term) -> String {
        scope::readable(&self.env, function, formula)
    }
}

impl Domain for PredicateAnalysis {
    type State = PredicateState;

    fn leq(&self, lower: &PredicateState, upper: &PredicateState) -> bool {
        lower.function == upper.function && lower.path.is_within(&upper.path) && self.entails(lower, upper)
    }

    /// Either. States of different functions or calls have no bound: this must not be asked of them (no driver does).
    fn join(&self, a: &PredicateState, b: &PredicateState) -> PredicateState {
        let abstraction = self.bdds.either(a.abstraction, b.abstraction);
        if a.path.is_within(&b.path) {
            return PredicateState { abstraction, ..b.clone() };
        }
        if b.path.is_within(&a.path) {
            return PredicateState { abstraction, ..a.clone() };
        }
        match a.path.either(&b.path, true) {
            Some(path) => PredicateState { function: b.function, abstraction, path: Arc::new(path) },
            None => PredicateState { abstraction: t::bool(true), ..b.clone() },
        }
    }

    fn show(&self, state: &PredicateState) -> String {
        let known = self.readable(state.function, state.abstraction);
        if state.is_abstract() {
            known
        } else {
            format!("{known}, then {}", self.readable(state.function, state.path.guard))
        }
    }
}

impl Cpa for PredicateAnalysis {
    type Precision = PredicatePrecision;

    fn name(&self) -> &'static str {
        "predicate"
    }

    fn entry(&self) -> (PredicateState, PredicatePrecision) {
        (self.entry_state(self.options.entry.name), PredicatePrecision::default())
    }

    fn transfer(
        &self,
        from: &PredicateState,
        precision: &PredicatePrecision,
        at: EdgeContext<'_>,
        _: &dyn Facts,
    ) -> Vec<PredicateState> {
        let Some(path) = self.over(&from.path, at.function, &at.edge.op) else { return Vec::new() };
        let state = PredicateState { path: Arc::new(path), ..from.clone() };
        self.arrive(state, at.function, at.edge.to, precision).into_iter().collect()
    }

    fn enter(
        &self,
        from: &PredicateState,
        precision: &PredicatePrecision,
        call: CallContext<'_>,
    ) -> Vec<PredicateState> {
        let Some(path) = self.entering(&from.path, call) else { return Vec::new() };
        let function = call.callee.name;
        let state = PredicateState { function, abstraction: from.abstraction, path: Arc::new(path) };
        if self.is_cut_at_entry() {
            return self.abstracted(&state, call.callee.entry, true, precision).into_iter().collect();
        }
        self.arrive(state, call.callee, call.callee.entry, precision).into_iter().collect()
    }

    fn leave(
        &self,
        at_call: &PredicateState,
        exit: &PredicateState,
        precision: &PredicatePrecision,
        call: CallContext<'_>,
    ) -> Vec<PredicateState> {
        let Some(state) = self.returning(at_call, exit, call) else { return Vec::new() };
        self.arrive(state, call.at.function, call.at.edge.to, precision).into_iter().collect()
    }

    /// Ways from the same abstraction become one formula; abstractions are kept apart.
    fn merge(
        &self,
        new: &PredicateState,
        reached: &PredicateState,
        _: &PredicatePrecision,
    ) -> Merge<PredicateState> {
        let same = new.function == reached.function && new.abstraction == reached.abstraction;
        if !same || new.path.is_within(&reached.path) {
            return Merge::Separate;
        }
        match new.path.either(&reached.path, false) {
            Some(path) => Merge::Into(PredicateState { path: Arc::new(path), ..reached.clone() }),
            None => Merge::Separate,
        }
    }

    fn same_precision_at(
        &self,
        a: &PredicatePrecision,
        b: &PredicatePrecision,
        at: LocationContext<'_>,
    ) -> bool {
        let scope = self.scope(at.function.name);
        let is_entry = self.is_cut_at_entry() && at.loc == at.function.entry;
        if !is_entry && !self.is_cut(scope, at.loc) {
            return true;
        }
        self.predicates_at(scope, at.loc, a) == self.predicates_at(scope, at.loc, b)
    }

    fn facts<'a>(
        &'a self,
        state: &'a PredicateState,
        function: &'a proofline_cfa::Function,
    ) -> Box<dyn Facts + 'a> {
        if state.function == function.name {
            Box::new(bounds::StateFacts { analysis: self, state })
        } else {
            Box::new(proofline_cpa::NoFacts)
        }
    }

    fn join_precision(&self, a: &PredicatePrecision, b: &PredicatePrecision) -> PredicatePrecision {
        a.join(b)
    }
}

impl BlockCpa for PredicateAnalysis {
    /// A state is of one activation already, and an abstraction speaks of what is tracked at the entry only.
    fn reduce(&self, entry: &PredicateState, _: BlockContext<'_>) -> Reduced<PredicateState> {
        Reduced(entry.clone())
    }

    fn expand(
        &self,
        _: &PredicateState,
        _: BlockContext<'_>,
        exit: &Reduced<PredicateState>,
    ) -> Option<PredicateState> {
        Some(exit.0.clone())
    }

    fn reduce_precision(
        &self,
        precision: &PredicatePrecision,
        block: BlockContext<'_>,
    ) -> Reduced<PredicatePrecision> {
        Reduced(precision.restricted_to(&self.reachable_from(block.function.name)))
    }
}
