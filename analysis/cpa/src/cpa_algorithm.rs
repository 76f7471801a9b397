//! The CPA algorithm, [CPA10] Alg. 2 with the order of ALGORITHMS.md §2: for every successor first `adjust` (the paper's `prec`), then
//! target detection, then `merge` with every candidate, then `stop`. Resumable: the exploration comes in and goes out; a node is put
//! back before the run stops for any reason. Knows states only: successors come from a [`Transfer`] relation. Must not know domains,
//! blocks or how calls are handled.

use crate::{
    Unknown,
    analysis_task::AnalysisTask,
    arg::{ArgEdge, Node, NodeId, Open, Parent, ProgramPoint},
    cpa::{Adjusted, Cpa, Merge},
    exploration::Exploration,
    statistics::Progress,
};

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// Nothing waits.
    Finished,
    /// A selected error location was reached.
    Target(NodeId),
    /// The analysis asked to stop.
    Interrupted,
    /// The transfer relation must find out something else before it can give the other successors of a node.
    Suspended,
}

/// A successor before it is added.
pub(crate) struct Successor<S> {
    /// How it is reached.
    pub(crate) edge: ArgEdge,
    /// Where it is.
    pub(crate) point: ProgramPoint,
    /// The state, not adjusted.
    pub(crate) state: S,
}

/// What a transfer relation gives when it is asked for successors.
pub(crate) enum Successors<S> {
    /// The next ones; there may be more.
    These(Vec<Successor<S>>),
    /// There are no more.
    NoMore,
    /// There may be more, which are not known yet.
    Later,
    /// The analysis asked to stop.
    Interrupted,
}

/// A transfer relation `e ⇝ (e', π)`, asked for the successors of one node at a time. Successors come in portions, because adding some may
/// change what the next ones are.
pub(crate) trait Transfer<A: Cpa> {
    /// How far the successors of a node have been given.
    type Cursor;

    /// Before the first successor of a node; `todo` says whether all are wanted or only those that were not given before.
    fn begin(&mut self, ex: &Exploration<A>, node: NodeId, todo: Open) -> Self::Cursor;

    /// The next successors.
    fn successors(
        &mut self,
        ex: &mut Exploration<A>,
        cursor: &mut Self::Cursor,
    ) -> Result<Successors<A::State>, Unknown>;

    /// After the last successor that was wanted, or after an error.
    fn end(&mut self, ex: &mut Exploration<A>, cursor: Self::Cursor) -> Result<(), Unknown>;
}

/// The algorithm for one analysis and one task.
pub(crate) struct CpaAlgorithm<'r, 'p, A> {
    pub(crate) analysis: &'r A,
    pub(crate) task: &'r AnalysisTask<'p>,
    pub(crate) progress: &'r Progress,
}

impl<A: Cpa> CpaAlgorithm<'_, '_, A> {
    /// Explores until nothing waits or something stops the run.
    pub(crate) fn run(
        &self,
        ex: &mut Exploration<A>,
        transfer: &mut impl Transfer<A>,
    ) -> Result<Halt, Unknown> {
        while let Some(node) = ex.waitlist.pop() {
            let todo = std::mem::replace(&mut ex.arg.node_mut(node).open, Open::Closed);
            let mut cursor = transfer.begin(ex, node, todo);
            let halt = self.explore(ex, node, transfer, &mut cursor);
            match halt {
                Ok(Halt::Finished) => {}
                Ok(Halt::Suspended) => ex.put_back(node, Open::Rest),
                Ok(Halt::Target(_) | Halt::Interrupted) | Err(_) => ex.put_back(node, todo),
            }
            transfer.end(ex, cursor)?;
            match halt? {
                Halt::Finished => {}
                halt @ (Halt::Target(_) | Halt::Interrupted | Halt::Suspended) => return Ok(halt),
            }
        }
        Ok(Halt::Finished)
    }

    /// Adds the successors of one node.
    fn explore<T: Transfer<A>>(
        &self,
        ex: &mut Exploration<A>,
        node: NodeId,
        transfer: &mut T,
        cursor: &mut T::Cursor,
    ) -> Result<Halt, Unknown> {
        loop {
            let successors = match transfer.successors(ex, cursor)? {
                Successors::These(successors) => successors,
                Successors::NoMore => return Ok(Halt::Finished),
                Successors::Later => return Ok(Halt::Suspended),
                Successors::Interrupted => return Ok(Halt::Interrupted),
            };
            for successor in successors {
                if let Some(halt) = self.add(ex, node, successor)? {
                    return Ok(halt);
                }
            }
        }
    }

    /// Adds a successor: adjust, target, merge, stop.
    fn add(
        &self,
        ex: &mut Exploration<A>,
        from: NodeId,
        successor: Successor<A::State>,
    ) -> Result<Option<Halt>, Unknown> {
        let Successor { edge, point, state } = successor;
        let info = self.task.info(ex.arg.context(point.context).function)?;
        let precision = ex.arg.precision(ex.arg.node(from).precision).clone();
        let adjusted = {
            let here: Vec<&A::State> = ex.reached.at(point).map(|n| &ex.arg.node(n).state).collect();
            self.analysis.adjust(state, precision, &here, info.location(point.loc))
        };
        let Adjusted::Continue(state, precision) = adjusted else { return Ok(Some(Halt::Interrupted)) };

        // A parent that is explored again finds the children it kept.
        let known = |&child: &NodeId| {
            let child = ex.arg.node(child);
            child.point == point
                && child.state == state
                && child.parents.iter().any(|p| p.from == from && p.via == edge)
        };
        if ex.arg.node(from).children.iter().any(known) {
            return Ok(None);
        }
        let parent = Parent { from, via: edge, time: self.progress.tick() };
        let partition = self.analysis.partition(&state);
        let target = info.targets.get(&point.loc).copied();
        // A target is reported even if another one covers it: it has a path of its own.
        let mut covering = Vec::new();
        if target.is_none() {
            self.merge(ex, parent, point, partition, (&state, &precision))?;
            covering = self.stop(ex, point, partition, (&state, &precision));
        }
        // What was merged into the state that covers it needs no node of its own.
        if let [only] = covering[..]
            && ex.arg.node(only).parents.contains(&parent)
        {
            return Ok(None);
        }
        let precision = ex.arg.intern_precision(&precision);
        let node = ex.arg.push(Node {
            point,
            state,
            precision,
            made_with: precision,
            epoch: ex.arg.epoch,
            parents: Vec::new(),
            children: Vec::new(),
            covered_by: Vec::new(),
            covers: Vec::new(),
            open: Open::Closed,
            target,
            partition,
        });
        ex.arg.link(parent, node);
        self.progress.count(|statistics| statistics.nodes += 1);
        if !covering.is_empty() {
            self.progress.count(|statistics| statistics.covered += 1);
            ex.arg.cover(node, &covering);
            return Ok(None);
        }
        ex.reached.insert(point, partition, node);
        if target.is_some() {
            return Ok(Some(Halt::Target(node)));
        }
        ex.activate(self.task, node)?;
        Ok(None)
    }

    /// Merges a new state into every reached one that the analysis wants to.
    fn merge(
        &self,
        ex: &mut Exploration<A>,
        parent: Parent,
        point: ProgramPoint,
        partition: u64,
        (state, precision): (&A::State, &A::Precision),
    ) -> Result<(), Unknown> {
        for candidate in ex.reached.candidates(point, partition).to_vec() {
            let old = &ex.arg.node(candidate).state;
            let Merge::Into(merged) = self.analysis.merge(state, old, precision) else { continue };
            if merged == *old {
                continue;
            }
            let key = self.analysis.partition(&merged);
            let precision = ex.arg.intern_precision(precision);
            let node = ex.arg.node_mut(candidate);
            node.state = merged;
            node.precision = precision;
            node.partition = key;
            ex.arg.link(parent, candidate);
            if key != partition {
                ex.reached.remove(point, partition, candidate);
                ex.reached.insert(point, key, candidate);
            }
            self.progress.count(|statistics| statistics.merges += 1);
            ex.activate(self.task, candidate)?;
        }
        Ok(())
    }

    /// The reached states that together cover a new one; none: it is not covered.
    fn stop(
        &self,
        ex: &Exploration<A>,
        point: ProgramPoint,
        partition: u64,
        (state, precision): (&A::State, &A::Precision),
    ) -> Vec<NodeId> {
        let candidates = ex.reached.candidates(point, partition);
        let states: Vec<&A::State> = candidates.iter().map(|&n| &ex.arg.node(n).state).collect();
        let covering = self.analysis.stop_together(state, &states, precision);
        covering.into_iter().map(|i| candidates[i]).collect()
    }
}
