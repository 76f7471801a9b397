//! Large-block encoding [LBE09]: cuts a program into acyclic blocks and computes each as a relation. Calls that do not recurse are inlined (each call site
//! an instance of its callee); calls of functions in `summarised` end a block.
//!
//! Cut points are the roots' entries, loop heads, and locations before a call of a summarised function. A path between two cut points
//! is part of exactly one block.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Base, Call, EdgeId, Function, Loc, LocalId, Lvalue, Name, Object, Op};
use proofline_cpa::{Budget, Unknown};
use proofline_program_analysis::Environment;
use proofline_smt::{Sort, Term, build as t};

use crate::{
    block::{AppliedSummary, BlockEnd, Cut, Instances, LargeBlock},
    layout::{self, MemoryLayout},
    memory::{Executor, keys_of},
    state::{Fresh, Key, State},
};

/// The large-block encoding of one root function and everything inlined into it [LBE09]. It is computed on demand, block by block, from
/// the states that the caller brings; the inlining tree grows on the way.
pub struct LargeBlockEncoding<'x> {
    pub(crate) environment: &'x Environment,
    pub(crate) layout: &'x MemoryLayout,
    pub(crate) summarised: &'x BTreeSet<Name>,
    wrapv: bool,
    budget: &'x Budget,
    /// Why exploring stopped before its end.
    over: Option<Unknown>,
    /// The inlining tree, grown as blocks are explored.
    pub instances: Instances,
    live: BTreeMap<Name, Vec<BTreeSet<LocalId>>>,
    /// Fresh variables of the block being explored.
    pub fresh: Fresh,
    /// Calls of the functions in `summarised` become instances of their own, behind a cut at their entry.
    pub(crate) unrolls: bool,
    /// Scalars that got any value in the blocks explored last: by the edge that did it.
    pub inputs: Vec<(u32, EdgeId, Term)>,
    out: Vec<LargeBlock>,
    pub(crate) applied: Option<AppliedSummary>,
}

/// More inlined calls than this, and the formulas are too large to be of use.
pub(crate) const MOST_INSTANCES: usize = 3000;

impl<'x> LargeBlockEncoding<'x> {
    /// Of one root function. Calls of the functions in `summarised` are not inlined; `wrapv`: signed overflow wraps.
    pub fn new(
        environment: &'x Environment,
        layout: &'x MemoryLayout,
        root: Name,
        summarised: &'x BTreeSet<Name>,
        wrapv: bool,
        budget: &'x Budget,
    ) -> LargeBlockEncoding<'x> {
        LargeBlockEncoding {
            environment,
            layout,
            summarised,
            wrapv,
            budget,
            over: None,
            instances: Instances::new(root),
            live: BTreeMap::default(),
            fresh: Fresh::default(),
            unrolls: false,
            inputs: Vec::new(),
            out: Vec::new(),
            applied: None,
        }
    }

    /// Unrolls recursion instead of summarising it: each call is a cut at the callee's entry.
    pub fn unrolling(mut self) -> LargeBlockEncoding<'x> {
        self.unrolls = true;
        self
    }

    /// The instance that a call edge of an instance leads to.
    pub fn child(&self, instance: u32, edge: EdgeId, callee: Name) -> Option<u32> {
        self.instances.index.get(&(instance, edge, callee)).copied()
    }

    /// Whether a location of an instance is a cut.
    pub fn is_cut_at(&self, cut: Cut) -> bool {
        let function = self.function(cut.instance);
        self.is_cut(function, cut.loc)
            || self.unrolls && cut.loc == function.entry && self.summarised.contains(&function.name)
    }

    pub(crate) fn function(&self, instance: u32) -> &'x Function {
        let name = self.instances.function(instance);
        // Instances are made for functions with bodies only.
        self.environment.function(name).unwrap_or_else(|| unreachable!("{name} has a body"))
    }

    /// Registers that matter at a cut: live ones of its instance, and of the callers at the calls they wait for.
    pub fn registers(&mut self, cut: Cut) -> Vec<Key> {
        let mut keys = Vec::new();
        let (mut instance, mut loc, mut dst) = (cut.instance, cut.loc, None::<Lvalue>);
        loop {
            let function = self.function(instance);
            let live = self.live.entry(function.name).or_insert_with(|| layout::live_registers(function));
            let written =
                dst.as_ref().and_then(|lvalue: &Lvalue| match (&lvalue.base, lvalue.path.is_empty()) {
                    (Base::Local(id), true) => Some(*id),
                    _ => None,
                });
            keys.extend(
                live[loc.index()]
                    .iter()
                    .filter(|id| Some(**id) != written)
                    .map(|id| Key::Local(instance, *id)),
            );
            let Some((parent, edge)) = self.instances.parent(instance) else { break };
            let call = self.function(parent).edge(edge);
            loc = call.to;
            dst = call.op.call().and_then(|call| call.dst.clone());
            instance = parent;
        }
        keys.sort();
        keys
    }

    /// What matters at a cut: registers, what the activations there keep in memory for themselves (if wanted, arrays, too), and the
    /// memory that the root and its callees share.
    pub fn keys(&mut self, cut: Cut, arrays: bool) -> Vec<Key> {
        let mut keys = self.memory_keys(self.instances.function(0));
        let mut instance = Some(cut.instance);
        let mut functions = BTreeSet::new();
        while let Some(at) = instance {
            functions.insert(self.instances.function(at));
            instance = self.instances.parent(at).map(|(parent, _)| parent);
        }
        let is_own = |object: &Object| matches!(object, Object::Local(of, _) if functions.contains(of));
        let own = self.layout.objects().filter(|(object, _)| is_own(object));
        let own = own.flat_map(|(object, _)| keys_of(self.layout, object));
        keys.extend(own.filter(|key| arrays || !matches!(key, Key::Elements(..))));
        keys.sort();
        keys.dedup();
        let mut all = self.registers(cut);
        all.extend(keys);
        all
    }

    /// Every block that begins at a cut, entered with `state`.
    ///
    /// # Errors
    /// If the budget is spent, or more is inlined than formulas can hold.
    pub fn explore(&mut self, cut: Cut, state: State) -> Result<Vec<LargeBlock>, Unknown> {
        self.out.clear();
        self.inputs.clear();
        self.applied = None;
        let function = self.function(cut.instance);
        let structure = self.environment.structure(function.name);
        // A call of a summarised function begins a block of its own, with the summary applied.
        for &id in structure.successors(cut.loc) {
            let edge = function.edge(id);
            let call = edge.op.call();
            let calls = call.map_or_else(Vec::new, |call| self.summarised_callees(function, call));
            if calls.is_empty() {
                let at_edge = self.step(cut.instance, id, state.clone());
                self.go_on(cut.instance, at_edge);
                continue;
            }
            let Some(call) = call else { continue };
            for callee in calls {
                self.apply_summary(cut.instance, id, call, callee, state.clone());
            }
            // What else a pointer may call.
            if let Some(state) = self.call(cut.instance, id, call, state.clone()) {
                self.go_on(cut.instance, vec![(edge.to, state)]);
            }
        }
        self.explored()
    }

    /// Every block that begins at the root's entry, entered with `state`.
    ///
    /// # Errors
    /// As for [`LargeBlockEncoding::explore`].
    pub fn explore_entry(&mut self, state: State) -> Result<Vec<LargeBlock>, Unknown> {
        self.out.clear();
        self.inputs.clear();
        self.applied = None;
        let entry = self.function(0).entry;
        self.go_on(0, vec![(entry, state)]);
        self.explored()
    }

    fn explored(&mut self) -> Result<Vec<LargeBlock>, Unknown> {
        let blocks = std::mem::take(&mut self.out);
        self.over.take().map_or(Ok(blocks), Err)
    }

    /// Accounts for one edge's work on a state; `false` when there is nothing left to spend.
    fn goes_on(&mut self, state: &State) -> bool {
        if self.over.is_none() {
            self.over = self.budget.spend(1 + state.values.len() as u64 / 16).err();
        }
        self.over.is_none()
    }

    fn summarised_callees(&self, function: &Function, call: &Call) -> Vec<Name> {
        if self.unrolls {
            return Vec::new();
        }
        let callees = self.environment.callees(function.name, call);
        callees.functions.iter().copied().filter(|name| self.summarised.contains(name)).collect()
    }

    fn is_cut(&self, function: &Function, loc: Loc) -> bool {
        let structure = self.environment.structure(function.name);
        structure.is_loop_head(loc)
            || structure.successors(loc).iter().any(|&id| {
                matches!(&function.edge(id).op, Op::Call(call) if !self.summarised_callees(function, call).is_empty())
            })
    }

    /// States that arrive at locations of one instance, after one edge.
    fn step(&mut self, instance: u32, id: EdgeId, state: State) -> Vec<(Loc, State)> {
        let function = self.function(instance);
        let edge = function.edge(id);
        if let Op::Call(call) = &edge.op {
            return self.call(instance, id, call, state).into_iter().map(|state| (edge.to, state)).collect();
        }
        let mut executor = self.executor(function, instance, state);
        executor.operation(&edge.op);
        let (state, inputs) = (executor.state, executor.inputs);
        self.inputs.extend(inputs.into_iter().map(|term| (instance, id, term)));
        if state.guard.is_false() { Vec::new() } else { vec![(edge.to, state)] }
    }

    pub(crate) fn executor<'a>(
        &'a mut self,
        function: &'a Function,
        instance: u32,
        state: State,
    ) -> Executor<'a> {
        Executor {
            environment: self.environment,
            layout: self.layout,
            fresh: &mut self.fresh,
            function,
            instance,
            state,
            wrapv: self.wrapv,
            inputs: Vec::new(),
        }
    }

    /// Runs on from some locations of an instance to its exit, and then on in its callers.
    pub(crate) fn go_on(&mut self, instance: u32, arrivals: Vec<(Loc, State)>) {
        let Some(exit) = self.region(instance, arrivals) else { return };
        match self.instances.parent(instance) {
            None => self.emit(exit, BlockEnd::Exit),
            Some((parent, edge)) => {
                let target = self.function(parent).edge(edge).to;
                let state = self.leave(parent, edge, instance, exit);
                self.go_on(parent, vec![(target, state)]);
            }
        }
    }

    pub(crate) fn emit(&mut self, state: State, end: BlockEnd) {
        if !state.guard.is_false() {
            self.out.push(LargeBlock { state, end, applied: self.applied.clone() });
        }
    }

    /// Runs through an instance's acyclic region in reverse postorder; returns the state at its exit, if it is reached. What reaches
    /// cut points and errors is emitted.
    pub(crate) fn region(&mut self, instance: u32, arrivals: Vec<(Loc, State)>) -> Option<State> {
        let function = self.function(instance);
        let structure = self.environment.structure(function.name);
        let mut waiting: BTreeMap<(usize, Loc), State> = BTreeMap::new();
        let mut exit: Option<State> = None;
        let mut arrived = arrivals;
        loop {
            for (loc, state) in arrived.drain(..) {
                if let Some(obligation) = structure.obligation_at(loc) {
                    self.emit(state, BlockEnd::Error(function.name, obligation));
                } else if let Some((_, what)) = function.unsupported.iter().find(|(at, _)| *at == loc) {
                    self.emit(state, BlockEnd::Unsupported(*what));
                } else if loc == function.exit {
                    exit = Some(match exit.take() {
                        Some(other) => self.merge(other, state),
                        None => state,
                    });
                } else if self.is_cut(function, loc) {
                    self.emit(state, BlockEnd::Cut(Cut { instance, loc }));
                } else {
                    let place = (structure.position(loc).map_or(usize::MAX, |p| p as usize), loc);
                    let merged = match waiting.remove(&place) {
                        Some(other) => self.merge(other, state),
                        None => state,
                    };
                    waiting.insert(place, merged);
                }
            }
            let Some(((_, loc), state)) = waiting.pop_first() else { return exit };
            if !self.goes_on(&state) {
                return None;
            }
            let edges = structure.successors(loc);
            let exclusive = are_exclusive(function, edges);
            let mut rest = t::bool(true);
            for (i, &id) in edges.iter().enumerate() {
                let mut state = state.clone();
                if !exclusive && edges.len() > 1 {
                    // The choice is free, but it is one choice.
                    let choice =
                        if i + 1 == edges.len() { t::bool(true) } else { self.fresh.variable(Sort::Bool) };
                    state.assume(t::and([rest, choice]));
                    rest = t::and([rest, t::not(choice)]);
                }
                arrived.extend(self.step(instance, id, state));
            }
        }
    }

    pub(crate) fn merge(&mut self, a: State, b: State) -> State {
        a.either(b, &mut self.fresh)
    }
}

/// Whether at most one of the edges can be taken from any state: a condition and its negation, or a single edge. (Where a condition
/// is not encoded exactly, both guards may be satisfiable together; the valuation that says what really happens satisfies one.)
fn are_exclusive(function: &Function, edges: &[EdgeId]) -> bool {
    match edges {
        [_] => true,
        [a, b] => match (&function.edge(*a).op, &function.edge(*b).op) {
            (Op::Assume(p), Op::Assume(q)) => p.negated() == *q || q.negated() == *p,
            _ => false,
        },
        _ => false,
    }
}
