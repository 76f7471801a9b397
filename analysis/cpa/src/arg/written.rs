//! A complete graph in the form in which it can be written down. Knows no analysis.

use std::hash::Hash;

use proofline_cfa::Name;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Arg, Context, Node};

/// The graph of a block without inlined calls.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenArg<S, P> {
    function: Name,
    nodes: Vec<Option<Node<S>>>,
    precisions: Vec<P>,
    origin: S,
    epoch: u32,
}

impl<S: Clone + Eq, P: Clone + Eq + Hash> Arg<S, P> {
    /// `None` if calls are inlined in it.
    pub(crate) fn written(&self) -> Option<WrittenArg<S, P>> {
        let [Context { function, call: None, .. }] = &self.contexts[..] else { return None };
        Some(WrittenArg {
            function: *function,
            nodes: self.nodes.iter().map(|node| node.as_deref().cloned()).collect(),
            precisions: self.precisions.clone(),
            origin: self.origin.clone(),
            epoch: self.epoch,
        })
    }

    pub(crate) fn read(written: WrittenArg<S, P>) -> Arg<S, P> {
        let WrittenArg { function, nodes, precisions, origin, epoch } = written;
        let index = precisions.iter().cloned().zip(0..).map(|(p, id)| (p, super::PrecisionId(id))).collect();
        Arg {
            nodes: nodes.into_iter().map(|node| node.map(Box::new)).collect(),
            contexts: vec![Context { function, call: None, depth: 0 }],
            context_index: FxHashMap::default(),
            precisions,
            precision_index: index,
            origin,
            epoch,
        }
    }
}
