//! How a path becomes a tree of formulas: activation by activation, a node per abstraction.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Edge, EdgeId, Function, Loc, Name, Op};
use proofline_cpa::{CallContext, EdgeContext, Path, PathStep, Unknown};
use proofline_smt::{
    Term, Var, build as t,
    rewrite::{Substitution, substitute},
};

use super::{Node, PathTree, Region, TRUNK, Ways};
use crate::{
    path::{Step, StepKind},
    predicate::{
        PredicateAnalysis,
        path_formula::{enter, exit_values, leave},
        scope::Scope,
        state::{Either, Values},
    },
};
use proofline_encoding::{Fresh, State};

/// A chain of nodes, as far as it has come.
struct Chain {
    guard: Term,
    children: Vec<usize>,
}

struct Activation<'p> {
    function: &'p Function,
    number: u32,
    chain: usize,
    /// It began the chain: its call returns.
    owns_chain: bool,
    is_rooted: bool,
    values: Values,
    ghosts: Values,
    /// The inputs as the caller's terms.
    entered: Values,
}

struct Builder<'a, 'p> {
    analysis: &'a PredicateAnalysis,
    ways: Ways,
    fresh: Fresh,
    chains: Vec<Chain>,
    stack: Vec<Activation<'p>>,
    activations: u32,
    nodes: Vec<Node>,
    regions: Vec<Region>,
    tail: Vec<(usize, PathStep)>,
}

impl PathTree {
    /// Follows the path.
    pub(in crate::predicate) fn build(
        analysis: &PredicateAnalysis,
        path: &Path,
        steps: &[Step<'_>],
        ways: Ways,
    ) -> Result<PathTree, Unknown> {
        let entry = analysis
            .env
            .function(path.entry)
            .ok_or_else(|| Unknown::InternalError(format!("{} has no body", path.entry)))?;
        let (returning, cutting) = outline(analysis, steps);
        let mut builder = Builder {
            analysis,
            ways,
            fresh: Fresh::default(),
            chains: vec![Chain { guard: t::bool(true), children: Vec::new() }],
            stack: Vec::new(),
            activations: 0,
            nodes: Vec::new(),
            regions: Vec::new(),
            tail: Vec::new(),
        };
        builder.begin(entry);
        let parameters = builder.stack[0].ghosts.iter().map(|(key, term)| (*key, *term)).collect();
        let mut run: Vec<EdgeContext<'_>> = Vec::new();
        let last = steps.len().saturating_sub(1);
        for (index, step) in steps.iter().enumerate() {
            // Through blocks a path may be millions of steps long.
            if analysis.solver.is_over() {
                return Err(Unknown::OutOfBudget);
            }
            match step.kind {
                StepKind::Edge(at) => {
                    run.push(at);
                    let cut = index != last && analysis.is_cut(analysis.scope(step.function.name), step.to);
                    let ends = index == last || !matches!(steps[index + 1].kind, StepKind::Edge(_));
                    if cut || ends {
                        builder.run(&run, index + 1 - run.len());
                        run.clear();
                    }
                    if cut {
                        builder.cut(step.to, false);
                    }
                }
                StepKind::Enter(call) => {
                    builder.tail.push((index, path.steps[index]));
                    let owns_chain = returning.contains(&index) && cutting.contains(&index);
                    builder.enter(call, owns_chain, index != last);
                }
                StepKind::Leave(call) => {
                    builder.tail.push((index, path.steps[index]));
                    builder.leave(call);
                    if index != last && analysis.is_cut(analysis.scope(step.function.name), step.to) {
                        builder.cut(step.to, false);
                    }
                }
            }
        }
        let Chain { guard, children } =
            std::mem::replace(&mut builder.chains[0], Chain { guard: t::bool(true), children: Vec::new() });
        builder.push(guard, children, (TRUNK, None), BTreeMap::new());
        let Builder { nodes, regions, tail, .. } = builder;
        Ok(PathTree { nodes, regions, parameters, tail })
    }
}

/// Steps that enter calls which return, and those that enter activations with abstractions in them.
fn outline(analysis: &PredicateAnalysis, steps: &[Step<'_>]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut returning, mut cutting) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match step.kind {
            StepKind::Edge(_) => {}
            StepKind::Enter(_) => {
                open.push(index);
                if analysis.is_cut_at_entry() {
                    cutting.insert(index);
                }
            }
            StepKind::Leave(_) => returning.extend(open.pop()),
        }
        let along_edge = !matches!(step.kind, StepKind::Enter(_)) || !analysis.is_cut_at_entry();
        if along_edge
            && let Some(top) = open.last()
            && analysis.is_cut(analysis.scope(step.function.name), step.to)
        {
            cutting.insert(*top);
        }
    }
    (returning, cutting)
}

impl<'p> Builder<'_, 'p> {
    fn begin(&mut self, function: &'p Function) {
        let state = self.analysis.entry_state(function.name);
        let scope = self.analysis.scope(function.name);
        let number = self.number();
        let instance: Substitution =
            scope.inputs.iter().filter_map(|k| scope.ghost(*k)).map(|g| (g, t::var(g.at(number)))).collect();
        let own = |values: &Values| -> Values {
            values.iter().map(|(key, term)| (*key, substitute(*term, &instance))).collect()
        };
        let is_start = function.name == self.analysis.options.entry.name;
        let ghosts = own(&state.path.ghosts);
        let values = if is_start { own(&state.path.values) } else { ghosts.clone() };
        self.chains[0].guard = self.input_ranges(scope, &ghosts);
        self.stack.push(Activation {
            function,
            number,
            chain: 0,
            owns_chain: false,
            is_rooted: true,
            values,
            ghosts,
            entered: Values::new(),
        });
    }

    fn number(&mut self) -> u32 {
        self.activations += 1;
        self.activations
    }

    fn top(&mut self) -> &mut Activation<'p> {
        match self.stack.last_mut() {
            Some(top) => top,
            None => unreachable!("paths do not leave their entry function"),
        }
    }

    fn input_ranges(&self, scope: &Scope, values: &Values) -> Term {
        t::and(values.iter().filter_map(|(key, term)| self.analysis.range_of(scope.ghost(*key)?, *term)))
    }

    fn push(
        &mut self,
        label: Term,
        children: Vec<usize>,
        (chain, place): (usize, Option<(Name, Loc)>),
        names: BTreeMap<Term, Var>,
    ) -> usize {
        let id = self.nodes.len();
        for child in children {
            self.nodes[child].parent = Some(id);
        }
        self.nodes.push(Node { label, parent: None, place, is_trunk: chain == TRUNK, names });
        id
    }

    /// An abstraction: present values and ghosts become variables.
    fn cut(&mut self, loc: Loc, is_entry: bool) {
        let version = self.nodes.len() as u32 + 1;
        let analysis = self.analysis;
        let top = self.top();
        let (name, number, chain) = (top.function.name, top.number, top.chain);
        let scope = analysis.scope(name);
        let mut definitions = Vec::new();
        let mut known = Vec::new();
        if !top.is_rooted {
            top.is_rooted = true;
            for (key, term) in &mut top.ghosts {
                let Some(ghost) = scope.ghost(*key) else { continue };
                let var = t::var(ghost.at(number));
                definitions.push(t::eq(var, *term));
                known.extend(analysis.range_of(ghost, var));
                *term = var;
            }
        }
        let mut values = Values::new();
        let keys = if is_entry { scope.inputs.clone() } else { scope.keys_at(loc) };
        for key in keys {
            let Some(current) = scope.current(key) else { continue };
            let unchanged = is_entry || scope.ghost(key) == Some(current);
            if unchanged && let Some(ghost) = top.ghosts.get(&key) {
                values.insert(key, *ghost);
                continue;
            }
            let value = top.values.get(&key).copied();
            if let Some(value) = value
                && value.as_var().is_some_and(|var: Var| var.name == current.name && var.index != 0)
            {
                values.insert(key, value);
                continue;
            }
            let var = t::var(current.at(version));
            definitions.extend(value.map(|value| t::eq(var, value)));
            known.extend(analysis.range_of(current, var));
            values.insert(key, var);
        }
        let present = values.iter().filter_map(|(key, term)| Some((*term, scope.current(*key)?)));
        let before = top.ghosts.iter().filter_map(|(key, term)| Some((*term, scope.ghost(*key)?)));
        let names = present.chain(before).collect();
        top.values = values;
        let chain_now = &mut self.chains[chain];
        let guard = std::mem::replace(&mut chain_now.guard, t::and(known));
        let children = std::mem::take(&mut chain_now.children);
        let label = t::and([guard].into_iter().chain(definitions));
        let node = self.push(label, children, (chain, Some((name, loc))), names);
        self.chains[chain].children.push(node);
    }

    fn enter(&mut self, call: CallContext<'p>, owns_chain: bool, may_cut: bool) {
        let analysis = self.analysis;
        let chain = self.top().chain;
        let values = self.top().values.clone();
        let mut state = State { guard: self.chains[chain].guard, values };
        let entered = enter(analysis, &mut state, &mut self.fresh, call);
        self.chains[chain].guard = state.guard;
        let number = self.number();
        let scope = analysis.scope(call.callee.name);
        let (chain, values) = if owns_chain {
            let own: Values = scope
                .inputs
                .iter()
                .filter_map(|key| Some((*key, t::var(scope.ghost(*key)?.at(number)))))
                .collect();
            let guard = self.input_ranges(scope, &own);
            self.chains.push(Chain { guard, children: Vec::new() });
            (self.chains.len() - 1, own)
        } else {
            (chain, entered.clone())
        };
        self.stack.push(Activation {
            function: call.callee,
            number,
            chain,
            owns_chain,
            is_rooted: owns_chain,
            ghosts: values.clone(),
            values,
            entered,
        });
        if owns_chain || !may_cut {
            return;
        }
        let loc = call.callee.entry;
        if analysis.is_cut_at_entry() {
            self.cut(loc, true);
        } else if analysis.is_cut(scope, loc) {
            self.cut(loc, false);
        }
    }

    fn leave(&mut self, call: CallContext<'p>) {
        let analysis = self.analysis;
        let Some(callee) = self.stack.pop() else { return };
        let scope = analysis.scope(call.callee.name);
        let chain = self.top().chain;
        let mut values = callee.values;
        if callee.owns_chain {
            let Chain { guard, children } = std::mem::replace(
                &mut self.chains[callee.chain],
                Chain { guard: t::bool(true), children: Vec::new() },
            );
            let links = callee
                .ghosts
                .iter()
                .filter_map(|(key, ghost)| Some(t::eq(*ghost, *callee.entered.get(key)?)));
            let caller = &mut self.chains[chain];
            caller.guard = t::and([caller.guard, guard].into_iter().chain(links));
            caller.children.extend(children);
            values = exit_values(scope, &values);
        }
        let mut state = State { guard: self.chains[chain].guard, values };
        let at_call = self.top().values.clone();
        leave(analysis, &mut state, &mut self.fresh, &at_call, scope, call);
        self.chains[chain].guard = state.guard;
        self.top().values = state.values;
    }

    /// Ordinary edges, up to an abstraction, a call, or the end.
    fn run(&mut self, edges: &[EdgeContext<'p>], first: usize) {
        let (Some(start), Some(end)) = (edges.first(), edges.last()) else { return };
        let (from, to) = (start.edge.from, end.edge.to);
        let function = self.top().function;
        let state = State { guard: t::bool(true), values: self.top().values.clone() };
        let mut region = Region {
            function: function.name,
            from,
            to,
            first,
            is_trunk: self.top().chain == TRUNK,
            arrivals: BTreeMap::new(),
            inputs: BTreeMap::new(),
        };
        let wanted: Vec<(EdgeId, &'p Edge)> = match self.ways {
            Ways::Given => edges.iter().map(|at| (at.id, at.edge)).collect(),
            Ways::All => self.between(function, from, to),
        };
        let structure = self.analysis.env.structure(function.name);
        let position = |loc: Loc| structure.position(loc).map_or(usize::MAX, |p| p as usize);
        let mut waiting: BTreeMap<(usize, Loc), State> = BTreeMap::new();
        let mut arrived: Option<State> = None;
        let (mut at, mut state) = (from, state);
        loop {
            for (id, edge) in wanted.iter().filter(|(_, edge)| edge.from == at) {
                let mut next = state.clone();
                let asked = self.analysis.encoder(function).operation(&mut next, &mut self.fresh, &edge.op);
                // What cannot be must not weaken what it would be joined with.
                if next.guard.is_false() {
                    continue;
                }
                if !asked.is_empty() {
                    region.inputs.insert(*id, asked);
                }
                let slot = if edge.to == to {
                    arrived.take()
                } else {
                    waiting.remove(&(position(edge.to), edge.to))
                };
                let (next, first) = match slot {
                    None => (next, t::bool(true)),
                    Some(other) => {
                        let last = self.fresh.last();
                        let joined =
                            Either::new((next.guard, &next.values), (other.guard, &other.values), last);
                        self.fresh = Fresh::after(joined.fresh);
                        (State { guard: joined.guard, values: joined.values }, joined.first)
                    }
                };
                region.arrivals.entry(edge.to).or_default().push((*id, at, first));
                if edge.to == to {
                    arrived = Some(next);
                } else {
                    waiting.insert((position(edge.to), edge.to), next);
                }
            }
            let Some(((_, loc), next)) = waiting.pop_first() else { break };
            (at, state) = (loc, next);
        }
        let state = arrived.unwrap_or(State { guard: t::bool(false), values: Values::new() });
        let chain = self.top().chain;
        self.chains[chain].guard = t::and([self.chains[chain].guard, state.guard]);
        self.top().values = state.values;
        self.regions.push(region);
    }

    /// Edges on ways from one location to another without calls and abstractions between.
    fn between(&self, function: &'p Function, from: Loc, to: Loc) -> Vec<(EdgeId, &'p Edge)> {
        let structure = self.analysis.env.structure(function.name);
        let scope = self.analysis.scope(function.name);
        let passes = |loc: Loc| loc != to && !self.analysis.is_cut(scope, loc);
        let ordinary = |edge: &Edge| !matches!(edge.op, Op::Call(_));
        let (mut forward, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(loc) = open.pop() {
            if loc != from && !passes(loc) {
                continue;
            }
            for id in structure.successors(loc) {
                let edge = function.edge(*id);
                if ordinary(edge) && forward.insert(edge.to) {
                    open.push(edge.to);
                }
            }
        }
        let (mut backward, mut open) = (BTreeSet::from([to]), vec![to]);
        while let Some(loc) = open.pop() {
            for id in structure.predecessors(loc) {
                let edge = function.edge(*id);
                let inside = edge.from == from || passes(edge.from) && forward.contains(&edge.from);
                if ordinary(edge) && inside && backward.insert(edge.from) && edge.from != from {
                    open.push(edge.from);
                }
            }
        }
        let on_the_way = |edge: &Edge| {
            ordinary(edge)
                && (edge.from == from
                    || backward.contains(&edge.from) && forward.contains(&edge.from) && passes(edge.from))
                && backward.contains(&edge.to)
                && (edge.to == to || passes(edge.to))
        };
        function.edge_ids().filter(|(_, edge)| on_the_way(edge)).collect()
    }
}
