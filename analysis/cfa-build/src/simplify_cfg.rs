//! Simplification of a finished automaton: unreachable locations go, edges that do nothing are contracted, the rest is numbered in
//! reverse postorder. Changes no behaviour. Knows no meaning of operations but `Skip`.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::Name;

use proofline_cfa::{
    Base, DepthFirst, Edge, EdgeId, Expr, Function, FunctionMap, Loc, LocalId, Op, Role, Site,
    visit::{self, Mention, Renaming},
};

/// Simplifies; the answer says where each old location went (`None`: nothing reaches it).
pub(crate) fn simplify(function: &mut Function) -> Vec<Option<Loc>> {
    let mut into = contract(function);
    separate_entry(function);
    let order = reverse_postorder(function);
    let mut number: Vec<Option<Loc>> = vec![None; function.locations as usize];
    for (at, loc) in order.iter().enumerate() {
        number[loc.index()] = Some(Loc(at as u32));
    }
    let mut count = order.len() as u32;
    if number[function.exit.index()].is_none() {
        number[function.exit.index()] = Some(Loc(count));
        count += 1;
    }
    for loc in &mut into {
        *loc = loc.and_then(|loc| number[loc.index()]);
    }
    let place = |loc: Loc| number[loc.index()];
    function.entry = place(function.entry).unwrap_or(Loc(0));
    function.exit = place(function.exit).unwrap_or(Loc(0));
    function.locations = count;
    function.edges.retain_mut(|edge| match (place(edge.from), place(edge.to)) {
        (Some(from), Some(to)) => {
            (edge.from, edge.to) = (from, to);
            true
        }
        _ => false,
    });
    function.edges.sort_by_key(|edge| edge.from);
    drop_repeated(function);
    function.labels.retain_mut(|(_, loc)| place(*loc).map(|new| *loc = new).is_some());
    function.unsupported.retain_mut(|(loc, _)| place(*loc).map(|new| *loc = new).is_some());
    function.operands.retain_mut(|operands| {
        let bounds = operands.bounds.iter().map(|loc| place(*loc)).collect::<Option<Vec<_>>>();
        bounds.map(|bounds| operands.bounds = bounds).is_some()
    });
    function
        .obligations
        .retain_mut(|obligation| place(obligation.error).map(|new| obligation.error = new).is_some());
    into
}

/// Nothing returns to the entry, and it is not the exit.
fn separate_entry(function: &mut Function) {
    let old = function.entry;
    if old != function.exit && !function.edges.iter().any(|edge| edge.to == old) {
        return;
    }
    let site = function.edges.iter().find(|edge| edge.from == old).map_or(Site::default(), |edge| edge.site);
    function.entry = Loc(function.locations);
    function.locations += 1;
    function.edges.push(Edge { from: function.entry, to: old, op: Op::Skip, site });
}

/// Removes edges that do nothing where that joins no places that must stay apart: labels, marks, and two loop heads (so that
/// nested loops stay nested).
fn contract(function: &mut Function) -> Vec<Option<Loc>> {
    let count = function.locations as usize;
    let successors = function.successors();
    let heads = loop_heads(function, &successors);
    let mut kept: Vec<bool> = vec![false; count];
    for loc in
        function.labels.iter().map(|(_, loc)| *loc).chain(function.unsupported.iter().map(|(loc, _)| *loc))
    {
        kept[loc.index()] = true;
    }
    for obligation in &function.obligations {
        kept[obligation.error.index()] = true;
    }
    let mut parent: Vec<u32> = (0..function.locations).collect();
    let mut has_head = heads.clone();
    let mut gone = vec![false; function.edges.len()];
    for (id, edge) in function.edge_ids() {
        let is_only = successors[edge.from.index()].len() == 1;
        if edge.op != Op::Skip || !is_only || kept[edge.from.index()] {
            continue;
        }
        let (from, to) = (root(&mut parent, edge.from.0), root(&mut parent, edge.to.0));
        let is_nesting = has_head[from as usize] && has_head[to as usize];
        if from == to || is_nesting {
            continue;
        }
        parent[from as usize] = to;
        has_head[to as usize] |= has_head[from as usize];
        gone[id.index()] = true;
    }
    let into: Vec<Loc> = (0..function.locations).map(|loc| Loc(root(&mut parent, loc))).collect();
    let mut at = 0;
    function.edges.retain_mut(|edge| {
        (edge.from, edge.to) = (into[edge.from.index()], into[edge.to.index()]);
        at += 1;
        !gone[at - 1]
    });
    function.entry = into[function.entry.index()];
    function.exit = into[function.exit.index()];
    for (_, loc) in &mut function.labels {
        *loc = into[loc.index()];
    }
    for (loc, _) in &mut function.unsupported {
        *loc = into[loc.index()];
    }
    for loc in function.operands.iter_mut().flat_map(|operands| &mut operands.bounds) {
        *loc = into[loc.index()];
    }
    for obligation in &mut function.obligations {
        obligation.error = into[obligation.error.index()];
    }
    into.into_iter().map(Some).collect()
}

fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

/// Targets of edges that go back in a depth-first walk from the entry, the first edge of a location first.
fn loop_heads(function: &Function, successors: &[Vec<EdgeId>]) -> Vec<bool> {
    let mut reversed = successors.to_vec();
    reversed.iter_mut().for_each(|edges| edges.reverse());
    let search = DepthFirst::new(function, &reversed);
    let mut heads = vec![false; function.locations as usize];
    for edge in function.edges.iter().filter(|edge| search.is_retreating(edge)) {
        heads[edge.to.index()] = true;
    }
    heads
}

fn reverse_postorder(function: &Function) -> Vec<Loc> {
    let search = DepthFirst::new(function, &function.successors());
    search.postorder().iter().rev().copied().collect()
}

/// Of several edges that do nothing between the same two places one is enough. Edges are sorted by source.
fn drop_repeated(function: &mut Function) {
    let mut seen: BTreeSet<(Loc, Loc)> = BTreeSet::new();
    function.edges.retain(|edge| edge.op != Op::Skip || seen.insert((edge.from, edge.to)));
}

/// Removes assignments to temporaries that nothing reads, unless the assignment itself is wanted: its value is checked.
pub(crate) fn drop_unread(function: &mut Function, is_wanted: &dyn Fn(&Op) -> bool) {
    let mut read = vec![false; function.locals.len()];
    for edge in &function.edges {
        visit::reads(&edge.op, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base {
                read[id.index()] = true;
            }
        });
    }
    let is_unread = |id: LocalId| {
        let local = &function.locals[id.index()];
        local.role == Role::Temporary && !local.address_taken && !read[id.index()]
    };
    let idle: Vec<bool> = function
        .edges
        .iter()
        .map(|edge| {
            let Op::Assign(dst, _) = &edge.op else { return false };
            matches!(dst.base, Base::Local(id) if is_unread(id)) && !is_wanted(&edge.op)
        })
        .collect();
    for (edge, _) in function.edges.iter_mut().zip(idle).filter(|(_, idle)| *idle) {
        edge.op = Op::Skip;
    }
}

/// Removes temporaries that nothing mentions (they were used in dead code); those left are numbered without gaps.
pub(crate) fn drop_unused_temporaries(function: &mut Function, positions: &mut FunctionMap) {
    let mut used = vec![false; function.locals.len()];
    for edge in &function.edges {
        mark_used(&edge.op, &mut used);
    }
    for (at, local) in function.locals.iter().enumerate() {
        used[at] |= local.role != Role::Temporary;
    }
    if used.iter().all(|used| *used) {
        return;
    }
    let mut renaming = Renumbered(BTreeMap::new());
    for (next, (at, _)) in used.iter().enumerate().filter(|(_, used)| **used).enumerate() {
        renaming.0.insert(LocalId(at as u32), LocalId(next as u32));
    }
    let mut keep = used.iter();
    function.locals.retain(|_| keep.next().copied().unwrap_or(true));
    let mut keep = used.iter();
    positions.locals.retain(|_| keep.next().copied().unwrap_or(true));
    let temporaries = function.locals.iter_mut().filter(|local| local.role == Role::Temporary);
    for (number, local) in temporaries.enumerate() {
        local.name = Name::new(&format!("${number}"));
    }
    visit::rename(function, &renaming);
}

struct Renumbered(BTreeMap<LocalId, LocalId>);

impl Renaming for Renumbered {
    fn local(&self, id: LocalId) -> LocalId {
        self.0.get(&id).copied().unwrap_or(id)
    }
}

fn mark_used(op: &Op, used: &mut [bool]) {
    if let Op::Begin(id) | Op::End(id) = op {
        used[id.index()] = true;
    }
    visit::mentions(op, &mut |mention| {
        if let Mention::Read(lvalue) | Mention::Write(lvalue) = mention
            && let Base::Local(id) = lvalue.base
        {
            used[id.index()] = true;
        }
    });
    visit::exprs(op, &mut |expr| {
        if let Expr::Load(lvalue) | Expr::Address(lvalue) = expr
            && let Base::Local(id) = lvalue.base
        {
            used[id.index()] = true;
        }
    });
}

/// Says of each local whether its address is taken.
pub(crate) fn mark_taken(function: &mut Function) {
    let mut taken = vec![false; function.locals.len()];
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Address(lvalue) = expr
                && let Base::Local(id) = lvalue.base
            {
                taken[id.index()] = true;
            }
        });
    }
    for (local, taken) in function.locals.iter_mut().zip(taken) {
        local.address_taken = taken;
    }
}
