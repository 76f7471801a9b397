//! Allocations that each execution makes once at most: in functions that are entered once at most, outside of loops. Of their objects there is one, so that
//! formulas can give it one address.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Function, Loc, Name, Object, Op};

use crate::{call_graph::strong_components, environment::Environment};

/// The objects of such allocations.
pub fn allocated_once(environment: &Environment) -> BTreeSet<Object> {
    let (program, call_graph) = (environment.program(), environment.call_graph());
    let entries: Vec<Name> = environment.entries().iter().copied().collect();
    let [entry] = entries[..] else { return BTreeSet::new() };
    // Code outside may call them as often as it likes.
    let called_back = call_graph.reachable(environment.escaped_functions().iter().copied());
    // How many edges may call a function.
    let mut calls: BTreeMap<Name, usize> = BTreeMap::new();
    for caller in program.functions.keys() {
        for (_, callees) in call_graph.calls(*caller) {
            callees.functions.iter().for_each(|callee| *calls.entry(*callee).or_default() += 1);
        }
    }
    let count = |name: Name| calls.get(&name).copied().unwrap_or(0);
    let mut objects = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![entry];
    while let Some(name) = open.pop() {
        let Some(function) = program.functions.get(&name) else { continue };
        let times = count(name) + usize::from(name == entry);
        if times > 1 || called_back.contains(&name) || !seen.insert(name) {
            continue;
        }
        let component = components(function);
        let mut sites: BTreeMap<Object, usize> = BTreeMap::new();
        for (id, edge) in function.edge_ids() {
            let is_once = component[edge.from.0 as usize] != component[edge.to.0 as usize];
            if let Op::Allocate(allocation) = &edge.op {
                let object = Object::Heap(name, allocation.site);
                *sites.entry(object).or_default() += if is_once { 1 } else { 2 };
            }
            if is_once && matches!(edge.op, Op::Call(_)) {
                open.extend(call_graph.call(name, id).iter().flat_map(|callees| &callees.functions));
            }
        }
        objects.extend(sites.into_iter().filter(|(_, edges)| *edges == 1).map(|(object, _)| object));
    }
    objects
}

/// Per location the strong component it is in: an edge between two of them is taken once at most.
fn components(function: &Function) -> Vec<usize> {
    let mut targets: Vec<Vec<u32>> = vec![Vec::new(); function.locations as usize];
    for edge in &function.edges {
        let (Loc(from), Loc(to)) = (edge.from, edge.to);
        targets[from as usize].push(to);
    }
    let mut component = vec![0; targets.len()];
    for (number, members) in strong_components(&targets).into_iter().enumerate() {
        members.into_iter().for_each(|member| component[member as usize] = number);
    }
    component
}
