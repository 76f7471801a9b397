//! Dataflow analyses of one automaton, solved by a worklist, in the manner of `rustc_mir_dataflow`. Must not know any particular
//! analysis beyond those in this folder, nor other functions of the program.

mod bit_set;
mod liveness;

use std::collections::VecDeque;

pub use bit_set::{BitSet, Dual};
pub use liveness::Liveness;

use crate::{Edge, EdgeId, Function, Loc, LocalId};

/// A value of an analysis. Laws: `join` computes least upper bounds of a partial order (it is associative, commutative and
/// idempotent), and chains of the order that rise strictly are finite.
pub trait JoinSemiLattice {
    /// Replaces `self` by the least upper bound of both; whether that changed it.
    fn join(&mut self, other: &Self) -> bool;
}

/// `None` is a new least element, mostly "nothing gets here"; transfer does not apply to it, see [`Analysis::transfer`].
impl<T: JoinSemiLattice + Clone> JoinSemiLattice for Option<T> {
    fn join(&mut self, other: &Self) -> bool {
        match (self, other) {
            (_, None) => false,
            (Some(this), Some(other)) => this.join(other),
            (this, Some(other)) => {
                *this = Some(other.clone());
                true
            }
        }
    }
}

/// Which way values flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the entry along edges; the value at a location holds before its outgoing edges.
    Forward,
    /// From the exit against edges; the value at a location holds before its outgoing edges, too.
    Backward,
}

/// A dataflow analysis.
///
/// Law: [`transfer`](Analysis::transfer) is monotone for every edge. Together with the laws of [`JoinSemiLattice`] the worklist then
/// ends, and [`solve`] gives the least solution of: the value at the start is at least the boundary value, and the value at the end of
/// an edge (backwards: its beginning) is at least the transfer of the value at the other end. It depends on no order of visits
/// (Kildall, "A Unified Approach to Global Program Optimization", POPL 1973; Kam and Ullman, JACM 1976).
pub trait Analysis {
    /// What is known at a location.
    type Domain: JoinSemiLattice + Clone;

    /// Which way values flow.
    const DIRECTION: Direction;

    /// The least element, which every location has at first.
    fn bottom(&self) -> Self::Domain;

    /// What holds at the start: forwards the entry, backwards the exit.
    fn boundary(&self) -> Self::Domain;

    /// What the edge makes of the value at one of its ends for the other.
    fn transfer(&self, id: EdgeId, edge: &Edge, value: &mut Self::Domain);
}

/// What an edge does to a set of locals: it takes some out, then puts some in. Monotone, whatever the sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GenKill {
    /// Put in.
    pub gens: Vec<LocalId>,
    /// Taken out.
    pub kills: Vec<LocalId>,
}

impl GenKill {
    /// Does it: `(set \ kills) ∪ gens`.
    pub fn apply(&self, set: &mut BitSet) {
        self.kills.iter().for_each(|id| set.remove(id.index()));
        self.gens.iter().for_each(|id| set.insert(id.index()));
    }
}

/// The solution: a value per location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solution<D>(Vec<D>);

impl<D> Solution<D> {
    /// The value at a location of the function.
    ///
    /// # Panics
    ///
    /// If the function has no such location.
    pub fn at(&self, loc: Loc) -> &D {
        &self.0[loc.index()]
    }
}

/// Solves an analysis of a function; see [`Analysis`] for what comes out.
pub fn solve<A: Analysis>(function: &Function, analysis: &A) -> Solution<A::Domain> {
    let count = function.locations as usize;
    let mut values = vec![analysis.bottom(); count];
    // The edges over which a location's value flows on.
    let mut outgoing = vec![Vec::new(); count];
    for (id, edge) in function.edge_ids() {
        outgoing[ends(A::DIRECTION, edge).0.index()].push(id);
    }
    let start = match A::DIRECTION {
        Direction::Forward => function.entry,
        Direction::Backward => function.exit,
    };
    values[start.index()].join(&analysis.boundary());
    // Finished automata are numbered in reverse postorder, so that most values flow on in one round.
    let mut queue: VecDeque<usize> = match A::DIRECTION {
        Direction::Forward => (0..count).collect(),
        Direction::Backward => (0..count).rev().collect(),
    };
    let mut is_queued = vec![true; count];
    while let Some(at) = queue.pop_front() {
        is_queued[at] = false;
        for &id in &outgoing[at] {
            let edge = function.edge(id);
            let mut value = values[at].clone();
            analysis.transfer(id, edge, &mut value);
            let to = ends(A::DIRECTION, edge).1.index();
            if values[to].join(&value) && !is_queued[to] {
                is_queued[to] = true;
                queue.push_back(to);
            }
        }
    }
    Solution(values)
}

/// Where a value comes from and where it goes.
fn ends(direction: Direction, edge: &Edge) -> (Loc, Loc) {
    match direction {
        Direction::Forward => (edge.from, edge.to),
        Direction::Backward => (edge.to, edge.from),
    }
}
