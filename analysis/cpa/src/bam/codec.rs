//! Encodes stable block abstractions as bytes for other processes: everything that is in them means the same there, and references to other
//! abstractions are numbers already. Knows no file.

use std::sync::Arc;

use proofline_cfa::{ContentHash, EdgeId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    arg::{NodeId, SummaryRef, WrittenArg},
    bam::{Block, Dependency, Key, KeyOf, Stable},
    cpa::BlockCpa,
    exploration::{Exit, Exploration, Read, UnsupportedAt},
    reached::Reached,
    waitlist::{Order, Waitlist},
};

#[derive(Serialize, Deserialize)]
struct Written<S, P> {
    members: Vec<(Key<S, P>, WrittenExploration<S, P>)>,
    /// What was asked for, with the hashes of the answers.
    dependencies: Vec<(Key<S, P>, [u8; 32])>,
    cost: u64,
    /// Every block that is mentioned, once.
    blocks: Vec<Block>,
}

#[derive(Serialize, Deserialize)]
struct WrittenExploration<S, P> {
    block: usize,
    arg: WrittenArg<S, P>,
    reads: Vec<(NodeId, Vec<WrittenRead<S>>)>,
    exits: Vec<Exit<S>>,
    unsupported: Option<UnsupportedAt>,
}

#[derive(Serialize, Deserialize)]
struct WrittenRead<S> {
    call: Option<EdgeId>,
    block: usize,
    entered: S,
    summary: SummaryRef,
    seen: usize,
}

/// An abstraction as bytes; `None` for what cannot be written, and for what is found again where the rest of its component is.
pub fn bytes<A: BlockCpa>(stable: &Stable<A>) -> Option<Vec<u8>>
where
    A::State: Serialize,
    A::Precision: Serialize,
{
    if stable.is_shared() {
        return None;
    }
    let mut blocks: Vec<Arc<Block>> = Vec::new();
    let mut number = |block: &Arc<Block>| match blocks.iter().position(|known| known == block) {
        Some(at) => at,
        None => {
            blocks.push(block.clone());
            blocks.len() - 1
        }
    };
    let mut members = Vec::new();
    for index in 0..stable.len() {
        let (key, exploration) = stable.member(index);
        let exploration = exploration.copy();
        let block = number(&exploration.block);
        let reads = exploration.reads.into_iter().map(|(node, reads)| {
            let reads = reads.into_iter().map(|read| {
                let Read { call, block, entered, summary, seen } = read;
                WrittenRead { call, block: number(&block), entered, summary, seen }
            });
            (node, reads.collect())
        });
        let reads = reads.collect();
        let (exits, unsupported) = (exploration.exits, exploration.unsupported);
        let arg = exploration.arg.written()?;
        members.push((key.clone(), WrittenExploration { block, arg, reads, exits, unsupported }));
    }
    let dependencies =
        stable.dependencies().iter().map(|asked| (asked.key.clone(), asked.answer.0)).collect();
    let blocks = blocks.iter().map(|block| Block::clone(block)).collect();
    postcard::to_stdvec(&Written { members, dependencies, cost: stable.cost(), blocks }).ok()
}

/// The abstraction; `None` if the bytes are nothing.
pub fn from_bytes<A: BlockCpa>(bytes: &[u8]) -> Option<Stable<A>>
where
    A::State: DeserializeOwned,
    A::Precision: DeserializeOwned,
{
    let written: Written<A::State, A::Precision> = postcard::from_bytes(bytes).ok()?;
    let blocks: Vec<Arc<Block>> = written.blocks.into_iter().map(Arc::new).collect();
    let dependencies: Vec<Dependency<KeyOf<A>>> = written
        .dependencies
        .into_iter()
        .map(|(key, answer)| Dependency { key, answer: ContentHash(answer) })
        .collect();
    let mut members = Vec::new();
    for (key, exploration) in written.members {
        let WrittenExploration { block, arg, reads, exits, unsupported } = exploration;
        let mut all = std::collections::BTreeMap::new();
        for (node, reads) in reads {
            let mut of_node = Vec::new();
            for read in reads {
                let WrittenRead { call, block, entered, summary, seen } = read;
                of_node.push(Read { call, block: blocks.get(block)?.clone(), entered, summary, seen });
            }
            all.insert(node, of_node);
        }
        let exploration: Exploration<A> = Exploration {
            block: blocks.get(block)?.clone(),
            arg: crate::arg::Arg::read(arg),
            reached: Reached::default(),
            waitlist: Waitlist::new(Order::default()),
            reads: all,
            exits,
            unsupported,
        };
        members.push((key, exploration));
    }
    (!members.is_empty()).then(|| Stable::new(members, dependencies).costing(written.cost))
}
