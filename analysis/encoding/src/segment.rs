//! What a cut program consists of: places between segments, the inlining tree, segments.

use std::collections::BTreeMap;

use proofline_cfa::{EdgeId, Loc, Name, ObligationId};
use proofline_smt::Term;

use crate::state::{Key, State};

/// A place between segments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Cut {
    /// Instance.
    pub instance: u32,
    /// Location in its function.
    pub loc: Loc,
}

/// The inlining tree: instance 0 is the root function.
#[derive(Clone, Debug)]
pub struct Instances {
    list: Vec<(Name, Option<(u32, EdgeId)>)>,
    pub(crate) index: BTreeMap<(u32, EdgeId, Name), u32>,
}

impl Instances {
    /// Only the root.
    pub fn new(root: Name) -> Instances {
        Instances { list: vec![(root, None)], index: BTreeMap::default() }
    }
    /// Function of an instance.
    pub fn function(&self, instance: u32) -> Name {
        self.list[instance as usize].0
    }
    /// Call edge of its parent that it is inlined at.
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
    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Never: the root is there.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Where a segment ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SegmentEnd {
    /// At a cut point.
    Cut(Cut),
    /// At the root's exit.
    Exit,
    /// At an error location.
    Error(Name, ObligationId),
    /// At a location whose meaning is not known.
    Unsupported(Name),
    /// Entering a summarised function: its arguments stand in the state as parameters of the function.
    Enter(Name),
}

/// One segment.
#[derive(Clone, Debug)]
pub struct Segment {
    /// State at its end, over the variables of its beginning.
    pub state: State,
    /// Where.
    pub end: SegmentEnd,
    /// The summary that was applied at its beginning: the callee with the cells before and after (see [`Applied`]).
    pub applied: Option<Applied>,
}

/// A summarised call at the beginning of a segment.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The callee.
    pub callee: Name,
    /// Arguments and objects before the call, by the keys they have at the callee's entry.
    pub before: BTreeMap<Key, Term>,
    /// Result and objects after the call, by the keys they have at the callee's exit.
    pub after: BTreeMap<Key, Term>,
}

/// Everything explored from one cut.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Its segments.
    pub segments: Vec<Segment>,
}
