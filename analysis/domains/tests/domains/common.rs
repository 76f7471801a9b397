//! C text to programs, and the plainest possible run of an analysis over one: what a domain's tests need without the real drivers.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
};

use proofline_cfa::{
    CheckId, Edge, Entry, Expr, Function, Loc, LocalId, Lvalue, MemoryPredicate, Name, Obligation, Op,
    Program, Site, scalar_of,
};
use proofline_cfa_build::models;
use proofline_cpa::{Adjusted, CallContext, Cpa, EdgeContext, LocationContext, Merge, NoFacts, PathStep};
use proofline_domains::{IntervalAnalysis, IntervalOptions, ValueAnalysis, ValueOptions};
use proofline_program_analysis::Environment;
use proofline_syntax::{Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor};

/// Lowers and links a text and applies the library models.
pub(crate) fn program(code: &str) -> Program {
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("a.c", code.as_bytes().to_vec());
    let flags = Flags::default();
    let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(Path::new("a.c"), &fs, &flags));
    assert!(unit.errors().is_empty(), "{:?}\n{code}", unit.errors());
    let hir = proofline_hir::lower(&unit, &flags);
    assert!(hir.errors.is_empty(), "{:?}\n{code}", hir.errors);
    let (mut unit, map) = proofline_cfa_build::lower(&hir.module, &hir.map);
    unit.file = Some(Name::new("a.c"));
    let (mut program, _) = proofline_cfa_build::link(vec![(unit, map)]);
    models::apply(&mut program, models::standard());
    ask_for_values(&mut program);
    program
}

/// Some condition asks which bytes have a value, so that analyses keep it. No run gets there.
fn ask_for_values(program: &mut Program) {
    let asks = Expr::Memory(MemoryPredicate::Initialised, Arc::new(Expr::Null), Arc::new(Expr::int(1)));
    if let Some(function) = program.functions.values_mut().next() {
        let function = Arc::make_mut(function);
        let (from, to) = (Loc(function.locations), function.exit);
        function.locations += 1;
        function.edges.push(Edge { from, to, op: Op::Assume(asks), site: Site(0) });
    }
}

pub(crate) fn environment(code: &str) -> Arc<Environment> {
    Arc::new(Environment::new(program(code)))
}

/// The label `ERROR` becomes an error location.
pub(crate) fn environment_with_error(code: &str) -> Arc<Environment> {
    let mut program = program(code);
    for function in program.functions.values_mut() {
        let label = function.labels.iter().find(|(name, _)| &**name == "ERROR").map(|(_, loc)| *loc);
        if let Some(error) = label {
            let function = Arc::make_mut(function);
            function.edges.retain(|edge| edge.from != error);
            let site = Site(0);
            let text = Name::new("ERROR");
            function.obligations.push(Obligation { check: CheckId::new("error-label"), error, site, text });
        }
    }
    Arc::new(Environment::new(program))
}

pub(crate) fn values(env: &Arc<Environment>) -> ValueAnalysis {
    let options = ValueOptions { track_everything: true, ..ValueOptions::new(Entry::main()) };
    ValueAnalysis::new(env.clone(), options)
}

pub(crate) fn intervals(env: &Arc<Environment>) -> IntervalAnalysis {
    IntervalAnalysis::new(env.clone(), IntervalOptions::new(Entry::main()))
}

/// The local as an expression.
pub(crate) fn local(function: &Function, name: &str) -> Expr {
    let index = function.locals.iter().position(|local| &*local.name == name);
    let id = LocalId(index.unwrap_or_else(|| panic!("{} has no {name}", function.name)) as u32);
    let declared = function.local(id);
    let scalar = scalar_of(declared.ty, proofline_syntax::DataModel::Lp64).expect("a scalar");
    Expr::Load(Lvalue::local(id, declared.ty, scalar, declared.size))
}

/// A reached state and how it was reached first.
pub(crate) struct Node<S, P> {
    pub(crate) function: Name,
    pub(crate) loc: Loc,
    pub(crate) state: S,
    pub(crate) precision: P,
    pub(crate) parent: Option<usize>,
    pub(crate) step: Option<PathStep>,
    /// The nodes of the open calls' sources.
    pub(crate) calls: Vec<usize>,
}

/// Everything reached; calls are entered one by one, nothing is summarised.
pub(crate) struct Explored<A: Cpa> {
    pub(crate) nodes: Vec<Node<A::State, A::Precision>>,
    /// Nodes that were not replaced by weaker ones.
    pub(crate) current: Vec<bool>,
    pub(crate) steps: usize,
}

/// Runs an analysis from its entry with `precision` to its end, or to a node for which `target` holds. More than `limit` steps
/// are a failure: what was not reached proves nothing.
pub(crate) fn explore<A: Cpa>(
    analysis: &A,
    env: &Environment,
    entry: Name,
    precision: A::Precision,
    limit: usize,
    target: impl Fn(Name, Loc) -> bool,
) -> (Explored<A>, Option<usize>) {
    let (explored, found) = explore_some(analysis, env, entry, precision, limit, target);
    assert!(explored.steps < limit, "more than {limit} steps");
    (explored, found)
}

/// Calls in one another.
const DEEPEST: usize = 100;

/// The first `limit` steps of [`explore`].
pub(crate) fn explore_some<A: Cpa>(
    analysis: &A,
    env: &Environment,
    entry: Name,
    precision: A::Precision,
    limit: usize,
    target: impl Fn(Name, Loc) -> bool,
) -> (Explored<A>, Option<usize>) {
    let (state, _) = analysis.entry();
    let loc = env.function(entry).expect("a body").entry;
    let root = Node { function: entry, loc, state, precision, parent: None, step: None, calls: Vec::new() };
    let mut explored = Explored::<A> { nodes: vec![root], current: vec![true], steps: 0 };
    let mut index: BTreeMap<(Name, Loc, u64), Vec<usize>> = BTreeMap::new();
    let mut queue = VecDeque::from([0]);
    while let Some(from) = queue.pop_back() {
        if !explored.current[from] {
            continue;
        }
        explored.steps += 1;
        // Calls are entered one by one here. Recursion without a bound would not end, and a random program may have some.
        if explored.nodes[from].calls.len() >= DEEPEST {
            explored.steps = limit;
        }
        if explored.steps >= limit {
            break;
        }
        for (function, loc, state, step, calls) in successors(analysis, env, &explored, from) {
            let body = env.function(function).expect("a body");
            let is_loop_head = env.structure(function).is_loop_head(loc);
            let key = (function, loc, analysis.partition(&state));
            let here: Vec<usize> =
                index.get(&key).into_iter().flatten().copied().filter(|n| explored.current[*n]).collect();
            let reached: Vec<&A::State> = here.iter().map(|n| &explored.nodes[*n].state).collect();
            let precision = explored.nodes[from].precision.clone();
            let place = LocationContext { function: body, loc, is_loop_head };
            let Adjusted::Continue(state, precision) = analysis.adjust(state, precision, &reached, place)
            else {
                continue;
            };
            let mut merged = Vec::new();
            for (position, old) in here.iter().zip(&reached) {
                if let Merge::Into(weaker) = analysis.merge(&state, old, &precision)
                    && weaker != **old
                {
                    assert!(analysis.leq(old, &weaker), "merge weakens what is reached");
                    merged.push((*position, weaker));
                }
            }
            let mut add = |explored: &mut Explored<A>, state: A::State, parent: usize, step, calls| {
                let id = explored.nodes.len();
                index.entry((function, loc, analysis.partition(&state))).or_default().push(id);
                let node = Node {
                    function,
                    loc,
                    state,
                    precision: precision.clone(),
                    parent: Some(parent),
                    step,
                    calls,
                };
                explored.nodes.push(node);
                explored.current.push(true);
                queue.push_back(id);
                id
            };
            for (old, weaker) in merged {
                explored.current[old] = false;
                add(&mut explored, weaker, from, Some(step), calls.clone());
            }
            let candidates: Vec<usize> = index
                .get(&(function, loc, analysis.partition(&state)))
                .into_iter()
                .flatten()
                .copied()
                .collect();
            let reached: Vec<&A::State> = candidates
                .iter()
                .filter(|n| explored.current[**n])
                .map(|n| &explored.nodes[*n].state)
                .collect();
            if analysis.stop(&state, &reached, &precision).is_none() {
                let add = |explored: &mut Explored<A>, state: A::State| {
                    let id = explored.nodes.len();
                    index.entry((function, loc, analysis.partition(&state))).or_default().push(id);
                    let node = Node {
                        function,
                        loc,
                        state,
                        precision: precision.clone(),
                        parent: Some(from),
                        step: Some(step),
                        calls,
                    };
                    explored.nodes.push(node);
                    explored.current.push(true);
                    queue.push_back(id);
                    id
                };
                let id = add(&mut explored, state);
                if target(function, loc) {
                    return (explored, Some(id));
                }
            }
        }
    }
    (explored, None)
}

type Successor<S> = (Name, Loc, S, PathStep, Vec<usize>);

fn successors<A: Cpa>(
    analysis: &A,
    env: &Environment,
    explored: &Explored<A>,
    from: usize,
) -> Vec<Successor<A::State>> {
    let node = &explored.nodes[from];
    let function = env.function(node.function).expect("a body");
    let mut result = Vec::new();
    if node.loc == function.exit
        && let Some(call_node) = node.calls.last()
    {
        let caller_node = &explored.nodes[*call_node];
        let caller = env.function(caller_node.function).expect("a body");
        // The edge by which this activation was entered.
        let mut at = from;
        let entered = loop {
            let step = explored.nodes[at].step;
            let parent = explored.nodes[at].parent.expect("entered from somewhere");
            if let Some(PathStep::Enter { edge, callee, .. }) = step
                && callee == function.name
                && explored.nodes[at].calls == node.calls
            {
                break edge;
            }
            at = parent;
        };
        let edge = caller.edge(entered);
        let Op::Call(call) = &edge.op else { panic!("not a call") };
        let context =
            CallContext { at: EdgeContext { function: caller, id: entered, edge }, call, callee: function };
        let step = PathStep::Leave { callee: function.name, caller: caller.name, edge: entered };
        for state in analysis.leave(&caller_node.state, &node.state, &node.precision, context) {
            result.push((caller.name, edge.to, state, step, caller_node.calls.clone()));
        }
    }
    for id in env.structure(function.name).successors(node.loc) {
        let edge = function.edge(*id);
        let at = EdgeContext { function, id: *id, edge };
        let mut external = true;
        if let Op::Call(call) = &edge.op {
            let callees = env.callees(function.name, call);
            external = callees.may_be_external;
            for callee in callees.functions {
                let callee = env.function(callee).expect("a body");
                let mut calls = node.calls.clone();
                calls.push(from);
                let step = PathStep::Enter { caller: function.name, edge: *id, callee: callee.name };
                for state in analysis.enter(&node.state, &node.precision, CallContext { at, call, callee }) {
                    result.push((callee.name, callee.entry, state, step, calls.clone()));
                }
            }
        }
        if external {
            for state in analysis.transfer(&node.state, &node.precision, at, &NoFacts) {
                result.push((
                    function.name,
                    edge.to,
                    state,
                    PathStep::Edge(function.name, *id),
                    node.calls.clone(),
                ));
            }
        }
    }
    result
}

impl<A: Cpa> Explored<A> {
    /// The states at a label.
    pub(crate) fn at_label(&self, env: &Environment, label: &str) -> Vec<(Name, &A::State)> {
        let places: BTreeSet<(Name, Loc)> = env
            .program()
            .functions
            .values()
            .flat_map(|function| function.labels.iter().map(move |(name, loc)| (function.name, *name, *loc)))
            .filter(|(_, name, _)| &**name == label)
            .map(|(function, _, loc)| (function, loc))
            .collect();
        assert!(!places.is_empty(), "no label {label}");
        let nodes =
            self.nodes.iter().zip(&self.current).filter(|(_, current)| **current).map(|(node, _)| node);
        nodes
            .filter(|node| places.contains(&(node.function, node.loc)))
            .map(|node| (node.function, &node.state))
            .collect()
    }
}

/// What explicit values know of a variable of `main` at the label `here`: all values, sorted, or `unreachable`.
pub(crate) fn value_here(code: &str, variable: &str) -> String {
    let env = environment(code);
    let analysis = values(&env);
    let precision = proofline_domains::value::Precision::everything();
    let (explored, _) = explore(&analysis, &env, Name::new("main"), precision, 200_000, |_, _| false);
    let shown = explored.at_label(&env, "here").into_iter().map(|(name, state)| {
        let function = env.function(name).expect("a body");
        analysis.reveal(state, function, &local(function, variable))
    });
    summary(shown)
}

/// What intervals know of a variable at the label `here`.
pub(crate) fn interval_here(code: &str, variable: &str) -> String {
    let env = environment(code);
    let analysis = intervals(&env);
    let (explored, _) = explore(&analysis, &env, Name::new("main"), (), 200_000, |_, _| false);
    let shown = explored.at_label(&env, "here").into_iter().map(|(name, state)| {
        let function = env.function(name).expect("a body");
        analysis.reveal(state, function, &local(function, variable))
    });
    summary(shown)
}

fn summary(shown: impl Iterator<Item = String>) -> String {
    let all: BTreeSet<String> = shown.collect();
    if all.is_empty() { "unreachable".to_owned() } else { all.into_iter().collect::<Vec<_>>().join("; ") }
}
