//! The truth about small programs: concrete exploration, and replay of paths with all inputs at once.

use std::collections::{BTreeSet, HashSet, VecDeque};

use proofline_cfa::{EdgeId, Expr, IntType, Loc, Name, Op, visit};
use proofline_cpa::*;
use proofline_program_analysis::Environment;

use super::values::{Known, Values, Var};

fn exact(ty: IntType, globals: &[Name]) -> Values {
    Values { globals: globals.to_vec(), enumerate: ty.bits <= 4, ..Values::exact(ty, &[]) }
}

fn edge_states(values: &Values, env: &Environment, f: Name, id: EdgeId, states: Vec<Known>) -> Vec<Known> {
    let function = env.function(f).unwrap();
    let edge = function.edge(id);
    let run = |op: Op, states: Vec<Known>| -> Vec<Known> {
        let edge = proofline_cfa::Edge { op, ..edge.clone() };
        let at = EdgeContext { function, id, edge: &edge };
        let mut next: Vec<Known> =
            states.iter().flat_map(|s| values.transfer(s, &None, at, &NoFacts)).collect();
        let mut known = HashSet::new();
        next.retain(|s| known.insert(s.clone()));
        next
    };
    match &edge.op {
        // An external call may change every global, and returns anything.
        Op::Call(call) => {
            let cause = proofline_cfa::Cause::External(Name::new("?"));
            let states = run(Op::Clobber(vec![], cause), states);
            call.dst.clone().map_or(states.clone(), |dst| run(Op::Havoc(dst, cause), states))
        }
        op => run(op.clone(), states),
    }
}

fn call_context<'p>(env: &'p Environment, caller: Name, edge: EdgeId, callee: Name) -> CallContext<'p> {
    let function = env.function(caller).unwrap();
    let at = EdgeContext { function, id: edge, edge: function.edge(edge) };
    let Op::Call(call) = &at.edge.op else { panic!("{caller}:{edge} is no call") };
    CallContext { at, call, callee: env.function(callee).unwrap() }
}

/// Whether some inputs drive a run along the path; panics if the steps do not fit together. For big integers inputs are
/// unknown values, and the answer an upper bound.
pub fn feasible(env: &Environment, ty: IntType, globals: &[Name], path: &Path) -> bool {
    let values = exact(ty, globals);
    let mut states = vec![values.entry().0];
    let mut stack = vec![(path.entry, env.function(path.entry).unwrap().entry)];
    for &step in &path.steps {
        let (function, loc) = *stack.last().expect("a frame is open");
        match step {
            PathStep::Edge(f, id) => {
                let edge = env.function(f).unwrap().edge(id);
                assert_eq!((f, edge.from), (function, loc), "an edge starts where the last one ended");
                states = edge_states(&values, env, f, id, states);
                stack.last_mut().unwrap().1 = edge.to;
            }
            PathStep::Enter { caller, edge, callee } => {
                let call = call_context(env, caller, edge, callee);
                assert_eq!(
                    (caller, call.at.edge.from),
                    (function, loc),
                    "a call starts where the last edge ended"
                );
                states = states.iter().flat_map(|s| values.enter(s, &None, call)).collect();
                stack.push((callee, call.callee.entry));
            }
            PathStep::Leave { callee, caller, edge } => {
                let call = call_context(env, caller, edge, callee);
                assert_eq!((callee, call.callee.exit), (function, loc), "a function is left at its exit");
                stack.pop();
                assert_eq!(Some(&(caller, call.at.edge.from)), stack.last(), "it returns to its caller");
                states = states.iter().flat_map(|s| values.leave(s, s, &None, call)).collect();
                stack.last_mut().unwrap().1 = call.at.edge.to;
            }
        }
    }
    if let Some((f, obligation)) = path.target {
        let error = env.function(f).unwrap().obligations[obligation.index()].error;
        assert_eq!(Some(&(f, error)), stack.last(), "a path ends at its target");
    }
    !states.is_empty()
}

/// What concrete exploration found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    Safe,
    Violated,
    /// Not everything was explored.
    Open,
}

/// Explores up to a depth of calls and a number of configurations.
pub fn truth(env: &Environment, ty: IntType, globals: &[&str], depth: usize, limit: usize) -> Truth {
    let globals: Vec<Name> = globals.iter().map(|g| Name::new(g)).collect();
    let values = exact(ty, &globals);
    let main = Name::new("main");
    let mut known = HashSet::new();
    type Control = Vec<(Name, Loc, Option<EdgeId>)>;
    let mut work: VecDeque<(Known, Control)> = VecDeque::new();
    work.push_back((values.entry().0, vec![(main, env.function(main).unwrap().entry, None)]));
    let mut complete = true;
    while let Some((state, control)) = work.pop_front() {
        if !known.insert((state.clone(), control.clone())) {
            continue;
        }
        if known.len() > limit {
            return Truth::Open;
        }
        let (name, loc, _) = *control.last().unwrap();
        let function = env.function(name).unwrap();
        if function.obligation_at(loc).is_some() {
            return Truth::Violated;
        }
        if loc == function.exit && control.len() > 1 {
            let mut control = control.clone();
            control.pop();
            let caller = control.last_mut().unwrap();
            let id = caller.2.take().unwrap();
            let call = call_context(env, caller.0, id, name);
            caller.1 = call.at.edge.to;
            for left in values.leave(&state, &state, &None, call) {
                work.push_back((left, control.clone()));
            }
            continue;
        }
        for &id in env.structure(name).successors(loc) {
            let edge = function.edge(id);
            let mut step = |states: Vec<Known>| {
                for next in states {
                    let mut control = control.clone();
                    control.last_mut().unwrap().1 = edge.to;
                    work.push_back((next, control));
                }
            };
            let Op::Call(call) = &edge.op else {
                step(edge_states(&values, env, name, id, vec![state.clone()]));
                continue;
            };
            let callees = env.callees(name, call);
            if callees.may_be_external {
                step(edge_states(&values, env, name, id, vec![state.clone()]));
            }
            for callee in callees.functions {
                if control.len() >= depth {
                    complete = false;
                    continue;
                }
                let context = call_context(env, name, id, callee);
                for entered in values.enter(&state, &None, context) {
                    let mut control = control.clone();
                    control.last_mut().unwrap().2 = Some(id);
                    control.push((callee, context.callee.entry, None));
                    work.push_back((entered, control));
                }
            }
        }
    }
    if complete { Truth::Safe } else { Truth::Open }
}

/// Variables that the path mentions, in order of appearance.
pub fn variables(env: &Environment, path: &Path) -> Vec<Var> {
    let mut found = Vec::new();
    for &step in &path.steps {
        let (f, id) = match step {
            PathStep::Edge(f, id) => (f, id),
            PathStep::Enter { caller, edge, callee } => {
                let parameters = &env.function(callee).unwrap().parameters;
                found.extend(parameters.iter().map(|p| Var::Local(callee, *p)));
                (caller, edge)
            }
            PathStep::Leave { callee, caller, edge } => {
                found.extend(env.function(callee).unwrap().result.map(|r| Var::Local(callee, r)));
                (caller, edge)
            }
        };
        let var = |place: &proofline_cfa::Lvalue| match place.base {
            proofline_cfa::Base::Global(g) => Var::Global(g),
            proofline_cfa::Base::Local(l) => Var::Local(f, l),
            proofline_cfa::Base::Deref(..) => panic!("no pointers"),
        };
        visit::mentions(&env.function(f).unwrap().edge(id).op, &mut |mention| match mention {
            visit::Mention::Value(value) => visit::walk(value, &mut |part| {
                if let Expr::Load(place) = part {
                    found.push(var(place));
                }
            }),
            visit::Mention::Read(place) | visit::Mention::Write(place) => found.push(var(place)),
        });
    }
    found
}

/// A function and all it calls.
pub fn called_from(env: &Environment, function: Name) -> BTreeSet<Name> {
    let mut inside = BTreeSet::new();
    let mut work = vec![function];
    while let Some(f) = work.pop() {
        if !inside.insert(f) {
            continue;
        }
        for edge in &env.function(f).unwrap().edges {
            if let Op::Call(call) = &edge.op {
                work.extend(env.callees(f, call).functions);
            }
        }
    }
    inside
}
