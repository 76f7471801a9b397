//! The call graph and its strongly connected components. Must not know how calls through pointers were resolved.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::Name;
use rustc_hash::FxHashMap;

use proofline_cfa::{Callee, EdgeId, Program};

/// Whom a call edge may call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Callees {
    /// Functions with bodies, sorted.
    pub functions: Vec<Name>,
    /// Code that the program does not contain may be called, too.
    pub may_be_external: bool,
}

/// Calls between functions with bodies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallGraph {
    calls: BTreeMap<Name, BTreeMap<EdgeId, Callees>>,
    callees: BTreeMap<Name, BTreeSet<Name>>,
    callers: BTreeMap<Name, BTreeSet<Name>>,
    components: Vec<Vec<Name>>,
    component_of: FxHashMap<Name, usize>,
    none: BTreeSet<Name>,
    /// The functions in order, and whom each calls by places there: what is reached is asked for every function of a large program.
    names: Vec<Name>,
    places: FxHashMap<Name, u32>,
    edges: Vec<Vec<u32>>,
}

impl CallGraph {
    /// From the resolved calls of every function with a body (one without calls has an empty entry).
    pub fn new(calls: BTreeMap<Name, BTreeMap<EdgeId, Callees>>) -> CallGraph {
        let mut callees: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let mut callers: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        for (caller, edges) in &calls {
            let of_caller = callees.entry(*caller).or_default();
            for callee in edges.values().flat_map(|found| &found.functions) {
                of_caller.insert(*callee);
                callers.entry(*callee).or_default().insert(*caller);
            }
        }
        let components = components(&callees);
        let mut component_of = FxHashMap::default();
        for (index, members) in components.iter().enumerate() {
            for member in members {
                component_of.insert(*member, index);
            }
        }
        let names: Vec<Name> = callees.keys().copied().collect();
        let places: FxHashMap<Name, u32> = names.iter().zip(0..).map(|(name, at)| (*name, at)).collect();
        let edges = callees
            .values()
            .map(|to| to.iter().filter_map(|name| places.get(name).copied()).collect())
            .collect();
        let none = BTreeSet::new();
        CallGraph { calls, callees, callers, components, component_of, none, names, places, edges }
    }

    /// Strongly connected components, callees before callers, members sorted. The order depends on names only.
    pub fn components(&self) -> &[Vec<Name>] {
        &self.components
    }

    /// Index in [`CallGraph::components`]; `None` if the function has no body.
    pub fn component_of(&self, function: Name) -> Option<usize> {
        self.component_of.get(&function).copied()
    }

    /// Whether the function may be called while it is open: directly, or through others.
    pub fn is_recursive(&self, function: Name) -> bool {
        let Some(component) = self.component_of(function) else { return false };
        self.components[component].len() > 1 || self.callees(function).contains(&function)
    }

    /// Functions with bodies that it may call.
    pub fn callees(&self, function: Name) -> &BTreeSet<Name> {
        self.callees.get(&function).unwrap_or(&self.none)
    }

    /// Functions that may call it.
    pub fn callers(&self, function: Name) -> &BTreeSet<Name> {
        self.callers.get(&function).unwrap_or(&self.none)
    }

    /// The call edges of a function.
    pub fn calls(&self, function: Name) -> impl Iterator<Item = (EdgeId, &Callees)> {
        self.calls.get(&function).into_iter().flatten().map(|(edge, callees)| (*edge, callees))
    }

    /// Whom one call edge may call.
    pub fn call(&self, function: Name, edge: EdgeId) -> Option<&Callees> {
        self.calls.get(&function)?.get(&edge)
    }

    /// The functions that the given ones may call, through any number of others, themselves included.
    pub fn reachable(&self, from: impl IntoIterator<Item = Name>) -> BTreeSet<Name> {
        let mut open: Vec<u32> =
            from.into_iter().filter_map(|name| self.places.get(&name).copied()).collect();
        let mut is_found = vec![false; self.names.len()];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut is_found[at as usize], true) {
                open.extend(&self.edges[at as usize]);
            }
        }
        self.names.iter().zip(is_found).filter(|(_, is_found)| *is_found).map(|(name, _)| *name).collect()
    }
}

/// A function with those that call it and that it calls, through any number of others, all by name.
pub(crate) fn calling_each_other(program: &Program, function: Name) -> BTreeSet<Name> {
    let called = |function: &proofline_cfa::Function| -> BTreeSet<Name> {
        let calls = function.edges.iter().filter_map(|edge| edge.op.call());
        calls
            .filter_map(|call| match &call.callee {
                Callee::Direct(name) => Some(*name),
                Callee::Indirect(..) => None,
            })
            .collect()
    };
    let edges = program.functions.iter().map(|(name, function)| (*name, called(function))).collect();
    let component = components(&edges).into_iter().find(|members| members.contains(&function));
    component.map_or_else(|| BTreeSet::from([function]), |members| members.into_iter().collect())
}

/// Tarjan's algorithm over names in order, without recursion. Callees come before callers.
pub(crate) fn components(edges: &BTreeMap<Name, BTreeSet<Name>>) -> Vec<Vec<Name>> {
    let names: Vec<Name> = edges.keys().copied().collect();
    let index: FxHashMap<Name, u32> = names.iter().enumerate().map(|(i, name)| (*name, i as u32)).collect();
    let targets: Vec<Vec<u32>> =
        edges.values().map(|to| to.iter().filter_map(|name| index.get(name).copied()).collect()).collect();
    strong_components(&targets)
        .into_iter()
        .map(|members| members.into_iter().map(|member| names[member as usize]).collect())
        .collect()
}

/// Strongly connected components of a graph given by adjacency: successors before predecessors, members sorted.
pub fn strong_components(targets: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut low = vec![NEW; targets.len()];
    let mut number = vec![NEW; targets.len()];
    let mut on_stack = vec![false; targets.len()];
    let mut stack = Vec::new();
    let mut found = Vec::new();
    let mut count = 0;
    let mut work: Vec<(u32, usize)> = Vec::new();
    for root in 0..targets.len() as u32 {
        if number[root as usize] != NEW {
            continue;
        }
        work.push((root, 0));
        while let Some((node, next)) = work.last_mut() {
            let (at, edge) = (*node as usize, *next);
            *next += 1;
            if edge == 0 {
                number[at] = count;
                low[at] = count;
                count += 1;
                stack.push(at as u32);
                on_stack[at] = true;
            }
            if let Some(&to) = targets[at].get(edge) {
                let to = to as usize;
                if number[to] == NEW {
                    work.push((to as u32, 0));
                } else if on_stack[to] {
                    low[at] = low[at].min(number[to]);
                }
                continue;
            }
            work.pop();
            if let Some((above, _)) = work.last() {
                let above = *above as usize;
                low[above] = low[above].min(low[at]);
            }
            if low[at] == number[at] {
                let mut members = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    members.push(member);
                    if member as usize == at {
                        break;
                    }
                }
                members.sort_unstable();
                found.push(members);
            }
        }
    }
    found
}
