//! What large-block encoding [LBE09] makes of a program: cut points, the inlining tree, and blocks, the acyclic regions between cut points.
//! Data only; must not know how a block is computed.

use std::collections::BTreeMap;

use proofline_cfa::{EdgeId, Loc, Name, ObligationId};
use proofline_smt::Term;

use crate::state::{Key, State};

/// A cut point: the head of a loop, or a location before a call of a summarised function, in one inlined instance of its function. Every cycle
/// of the inlined program goes through one, so that what lies between two of them is acyclic and one formula [LBE09].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Cut {
    /// The inlined instance, a number of [`Instances`].
    pub instance: u32,
    /// The location in the instance's function.
    pub loc: Loc,
}

/// The inlining tree. An instance is a function together with the chain of call edges by which the root calls it; instance 0 is the root
/// function itself.
#[derive(Clone, Debug)]
pub struct Instances {
    list: Vec<(Name, Option<(u32, EdgeId)>)>,
    pub(crate) index: BTreeMap<(u32, EdgeId, Name), u32>,
}

impl Instances {
    /// The tree of a root into which nothing is inlined yet.
    pub fn new(root: Name) -> Instances {
        Instances { list: vec![(root, None)], index: BTreeMap::default() }
    }
    /// The function that an instance is of.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn function(&self, instance: u32) -> Name {
        self.list[instance as usize].0
    }
    /// The instance it is inlined into, and the call edge there; `None` for the root.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn parent(&self, instance: u32) -> Option<(u32, EdgeId)> {
        self.list[instance as usize].1
    }
    pub(crate) fn child(&mut self, instance: u32, edge: EdgeId, callee: Name) -> u32 {
        let next = self.list.len() as u32;
        let child = *self.index.entry((instance, edge, callee)).or_insert(next);
        if child == next {
            self.list.push((callee, Some((instance, edge))));
        }
        child
    }
    /// The number of instances, the root among them.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Always false: the root is there.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Where a large block ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// At a cut point.
    Cut(Cut),
    /// At the exit of the root function.
    Exit,
    /// At an error location.
    Error(Name, ObligationId),
    /// At a location whose meaning is not known.
    Unsupported(Name),
    /// Entering a summarised function: its arguments stand in the state as parameters of the function.
    Enter(Name),
}

/// A large block: every path from one cut point to another (or to an exit or error) that meets no cut point in between, as one relation.
#[derive(Clone, Debug)]
pub struct LargeBlock {
    /// State at its end, over the variables of its beginning.
    pub state: State,
    /// Where it ends.
    pub end: BlockEnd,
    /// The summary that was applied at its beginning: the callee with the cells before and after (see [`AppliedSummary`]).
    pub applied: Option<AppliedSummary>,
}

/// A summarised call at the beginning of a block.
#[derive(Clone, Debug)]
pub struct AppliedSummary {
    /// The function that is summarised.
    pub callee: Name,
    /// Arguments and objects before the call, by the keys they have at the callee's entry.
    pub before: BTreeMap<Key, Term>,
    /// Result and objects after the call, by the keys they have at the callee's exit.
    pub after: BTreeMap<Key, Term>,
}
