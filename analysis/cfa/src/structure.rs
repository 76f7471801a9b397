//! The shape of one automaton: order, dominators, loops. Must not know what edges do.

use std::collections::BTreeSet;

use crate::function::{Edge, EdgeId, Function, Loc, Obligation, ObligationId};

/// A loop; loops of one automaton are nested or disjoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Every cycle in the loop that is in no inner loop goes through it.
    pub head: Loc,
    /// All locations of the loop, inner loops and `head` included.
    pub body: BTreeSet<Loc>,
    /// Index of the smallest loop around it.
    pub parent: Option<usize>,
    /// Edges that leave the body.
    pub exits: Vec<EdgeId>,
    /// Edges inside the body that go back to the head.
    pub back_edges: Vec<EdgeId>,
    /// It can also be entered elsewhere than at its head (by `goto`).
    pub irreducible: bool,
}

/// What [`Structure::of`] found. Unreachable locations have neighbours, but no order, dominator or loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Structure {
    successors: Vec<Vec<EdgeId>>,
    predecessors: Vec<Vec<EdgeId>>,
    order: Vec<Loc>,
    position: Vec<Option<u32>>,
    dominator: Vec<Option<Loc>>,
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
    is_head: Vec<bool>,
    obligation: Vec<Option<ObligationId>>,
}

impl Structure {
    /// Of the automaton.
    pub fn of(function: &Function) -> Structure {
        let count = function.locations as usize;
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (id, edge) in function.edge_ids() {
            successors[edge.from.index()].push(id);
            predecessors[edge.to.index()].push(id);
        }
        let search = DepthFirst::new(function, &successors);
        let mut structure = Structure {
            successors,
            predecessors,
            position: vec![None; count],
            order: search.postorder.iter().rev().copied().collect(),
            dominator: vec![None; count],
            loops: Vec::new(),
            innermost: vec![None; count],
            is_head: vec![false; count],
            obligation: vec![None; count],
        };
        for (index, obligation) in function.obligations.iter().enumerate() {
            let id = ObligationId(index as u32);
            structure.obligation[obligation.error.index()].get_or_insert(id);
        }
        for (position, loc) in structure.order.iter().enumerate() {
            structure.position[loc.index()] = Some(position as u32);
        }
        structure.find_dominators(function);
        structure.find_loops(function, &search);
        structure
    }

    /// Outgoing edges, in order of creation.
    pub fn successors(&self, loc: Loc) -> &[EdgeId] {
        &self.successors[loc.index()]
    }

    /// Incoming edges, in order of creation.
    pub fn predecessors(&self, loc: Loc) -> &[EdgeId] {
        &self.predecessors[loc.index()]
    }

    /// The obligation whose error location this is.
    pub fn obligation_at(&self, loc: Loc) -> Option<ObligationId> {
        self.obligation[loc.index()]
    }

    /// Edges on which an obligation fails.
    pub fn failures(&self, obligation: &Obligation) -> &[EdgeId] {
        self.predecessors(obligation.error)
    }

    /// The locations reachable from the entry; each comes after its predecessors, except along back edges.
    pub fn reverse_postorder(&self) -> &[Loc] {
        &self.order
    }

    /// Index in [`Structure::reverse_postorder`]; `None` if unreachable.
    pub fn position(&self, loc: Loc) -> Option<u32> {
        self.position[loc.index()]
    }

    /// Whether a path from the entry leads here.
    pub fn is_reachable(&self, loc: Loc) -> bool {
        self.position(loc).is_some()
    }

    /// The closest other location that every path from the entry to this one goes through.
    pub fn immediate_dominator(&self, loc: Loc) -> Option<Loc> {
        self.dominator[loc.index()]
    }

    /// Whether every path from the entry to `loc` goes through `by`. Both reachable.
    pub fn is_dominated(&self, loc: Loc, by: Loc) -> bool {
        let mut at = Some(loc);
        while let Some(here) = at {
            if here == by {
                return true;
            }
            at = self.dominator[here.index()];
        }
        false
    }

    /// All loops, by the position of their heads: an outer loop comes before the loops in it.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Index of the smallest loop that contains the location.
    pub fn innermost_loop(&self, loc: Loc) -> Option<usize> {
        self.innermost[loc.index()]
    }

    /// The loop with this head.
    pub fn loop_at(&self, head: Loc) -> Option<&Loop> {
        self.loops.iter().find(|found| found.head == head)
    }

    /// Whether the location is the head of a loop. Every cycle goes through at least one.
    pub fn is_loop_head(&self, loc: Loc) -> bool {
        self.is_head[loc.index()]
    }

    /// Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm".
    fn find_dominators(&mut self, function: &Function) {
        let mut dominator: Vec<Option<u32>> = vec![None; self.order.len()];
        if dominator.is_empty() {
            return;
        }
        dominator[0] = Some(0);
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..self.order.len() {
                let mut meet: Option<u32> = None;
                for &id in &self.predecessors[self.order[at].index()] {
                    let Some(from) = self.position[function.edge(id).from.index()] else { continue };
                    if dominator[from as usize].is_none() {
                        continue;
                    }
                    meet = Some(meet.map_or(from, |other| intersect(&dominator, from, other)));
                }
                changed |= dominator[at] != meet;
                dominator[at] = meet;
            }
        }
        for (loc, by) in self.order.iter().zip(&dominator).skip(1) {
            self.dominator[loc.index()] = by.map(|by| self.order[by as usize]);
        }
    }

    /// Havlak: "Nesting of Reducible and Irreducible Loops". The loop of a retreating edge's target is what reaches the
    /// target inside the target's part of the search tree.
    fn find_loops(&mut self, function: &Function, search: &DepthFirst) {
        let mut heads: Vec<Loc> = Vec::new();
        for edge in &function.edges {
            if search.is_retreating(edge) && !self.is_head[edge.to.index()] {
                self.is_head[edge.to.index()] = true;
                heads.push(edge.to);
            }
        }
        heads.sort_by_key(|head| self.position[head.index()]);
        for head in heads {
            let mut body = BTreeSet::from([head]);
            let mut back_edges = Vec::new();
            let mut open = Vec::new();
            for &id in &self.predecessors[head.index()] {
                let edge = function.edge(id);
                if search.is_retreating(edge) {
                    back_edges.push(id);
                    open.push(edge.from);
                }
            }
            let mut irreducible = false;
            while let Some(loc) = open.pop() {
                if loc == head || !body.insert(loc) {
                    continue;
                }
                for &id in &self.predecessors[loc.index()] {
                    let from = function.edge(id).from;
                    if !search.is_reachable(from) {
                        continue;
                    }
                    if search.is_ancestor(head, from) {
                        open.push(from);
                    } else {
                        irreducible = true;
                    }
                }
            }
            // Loops come in the order of their heads, and a head comes before its body: the last one seen is the smallest.
            let parent = self.innermost[head.index()];
            let index = self.loops.len();
            let mut exits = Vec::new();
            for &loc in &body {
                self.innermost[loc.index()] = Some(index);
                exits.extend(
                    self.successors[loc.index()].iter().filter(|id| !body.contains(&function.edge(**id).to)),
                );
            }
            exits.sort();
            self.loops.push(Loop { head, body, parent, exits, back_edges, irreducible });
        }
    }
}

fn intersect(dominator: &[Option<u32>], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        if a > b {
            a = dominator[a as usize].unwrap_or(0);
        } else {
            b = dominator[b as usize].unwrap_or(0);
        }
    }
    a
}

/// One depth-first search from the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DepthFirst {
    postorder: Vec<Loc>,
    /// When the location was entered and left, on one clock.
    interval: Vec<Option<(u32, u32)>>,
}

impl DepthFirst {
    /// Walks along the given outgoing edges per location, the last edge of a location first.
    pub fn new(function: &Function, successors: &[Vec<EdgeId>]) -> DepthFirst {
        let mut search = DepthFirst { postorder: Vec::new(), interval: vec![None; successors.len()] };
        if function.entry.index() >= successors.len() {
            return search;
        }
        let mut clock = 0;
        let mut stack = vec![(function.entry, 0)];
        search.interval[function.entry.index()] = Some((0, u32::MAX));
        while let Some((loc, next)) = stack.last_mut() {
            let loc = *loc;
            // The last edge first: so what follows a loop comes after it in reverse postorder when the loop's
            // condition is lowered as (stay, leave).
            let edges = &successors[loc.index()];
            let Some(index) = edges.len().checked_sub(*next + 1) else {
                clock += 1;
                if let Some((_, left)) = &mut search.interval[loc.index()] {
                    *left = clock;
                }
                search.postorder.push(loc);
                stack.pop();
                continue;
            };
            *next += 1;
            let to = function.edge(edges[index]).to;
            if search.interval[to.index()].is_none() {
                clock += 1;
                search.interval[to.index()] = Some((clock, u32::MAX));
                stack.push((to, 0));
            }
        }
        search
    }

    /// The locations reachable from the entry, each after those first found from it.
    pub fn postorder(&self) -> &[Loc] {
        &self.postorder
    }

    fn is_reachable(&self, loc: Loc) -> bool {
        self.interval[loc.index()].is_some()
    }

    /// Whether `above` is `below` or above it in the search tree.
    fn is_ancestor(&self, above: Loc, below: Loc) -> bool {
        match (self.interval[above.index()], self.interval[below.index()]) {
            (Some((a, z)), Some((b, y))) => a <= b && y <= z,
            _ => false,
        }
    }

    /// Whether the edge leads back to a location that the search had entered and not yet left.
    pub fn is_retreating(&self, edge: &Edge) -> bool {
        self.is_ancestor(edge.to, edge.from)
    }
}
