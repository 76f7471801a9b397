//! Encodes stable block abstractions as bytes for the persistent cache. References to other abstractions are written as positions among
//! what was asked for, and decoded with fresh identifiers; `on_top_of` rebinds them to this run's summaries. Knows no file.

use std::sync::Arc;

use proofline_cfa::EdgeId;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    arg::{NodeId, SummaryRef, WrittenArg},
    bam::{Block, Dependency, Key, Stable, SummaryId},
    cpa::BlockCpa,
    exploration::{Exit, Exploration, Read, UnsupportedAt},
    reached::Reached,
    waitlist::{Order, Waitlist},
};

/// Fresh identifiers for decoded references.
type Names<'n> = dyn FnMut() -> SummaryId + 'n;

/// How abstractions of an analysis become bytes and come back.
pub(super) struct Codec<A: BlockCpa> {
    /// `None` for what cannot be written.
    pub(super) write: fn(&Stable<A>) -> Option<Vec<u8>>,
    /// `None` if the bytes are nothing; names for what was asked for are taken from the second argument.
    pub(super) read: fn(&[u8], &mut Names<'_>) -> Option<Stable<A>>,
}

impl<A: BlockCpa> Codec<A>
where
    A::State: Serialize + DeserializeOwned,
    A::Precision: Serialize + DeserializeOwned,
{
    pub(super) fn new() -> Codec<A> {
        Codec { write: write::<A>, read: read::<A> }
    }
}

#[derive(Serialize, Deserialize)]
struct Written<S, P> {
    members: Vec<(Key<S, P>, WrittenExploration<S, P>)>,
    dependencies: Vec<WrittenDependency<S, P>>,
    cost: u64,
    /// Every block that is mentioned, once.
    blocks: Vec<Block>,
}

#[derive(Serialize, Deserialize)]
struct WrittenDependency<S, P> {
    key: Key<S, P>,
    exits: Vec<Exit<S>>,
    has_unsupported: bool,
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

fn write<A: BlockCpa>(stable: &Stable<A>) -> Option<Vec<u8>>
where
    A::State: Serialize,
    A::Precision: Serialize,
{
    let mut blocks: Vec<Arc<Block>> = Vec::new();
    let mut number = |block: &Arc<Block>| match blocks.iter().position(|known| known == block) {
        Some(at) => at,
        None => {
            blocks.push(block.clone());
            blocks.len() - 1
        }
    };
    let position = |id: SummaryId| {
        let at = stable.dependencies().iter().position(|asked| asked.summary == id)?;
        Some(SummaryId(u32::try_from(at).ok()?))
    };
    let mut members = Vec::new();
    for index in 0..stable.len() {
        let (key, exploration) = stable.member(index);
        let exploration = exploration.renamed(&position, &|_, exit| Some(exit))?;
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
    let dependencies = stable.dependencies().iter().map(|asked| WrittenDependency {
        key: asked.key.clone(),
        exits: asked.exits.clone(),
        has_unsupported: asked.has_unsupported,
    });
    let dependencies = dependencies.collect();
    let blocks = blocks.iter().map(|block| Block::clone(block)).collect();
    postcard::to_stdvec(&Written { members, dependencies, cost: stable.cost(), blocks }).ok()
}

fn read<A: BlockCpa>(bytes: &[u8], name: &mut Names<'_>) -> Option<Stable<A>>
where
    A::State: DeserializeOwned,
    A::Precision: DeserializeOwned,
{
    let written: Written<A::State, A::Precision> = postcard::from_bytes(bytes).ok()?;
    let blocks: Vec<Arc<Block>> = written.blocks.into_iter().map(Arc::new).collect();
    let dependencies: Vec<Dependency<A>> = written
        .dependencies
        .into_iter()
        .map(|asked| {
            let WrittenDependency { key, exits, has_unsupported } = asked;
            Dependency { key, summary: name(), exits, has_unsupported }
        })
        .collect();
    let named = |at: SummaryId| dependencies.get(at.index()).map(|asked| asked.summary);
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
        members.push((key, exploration.renamed(&named, &|_, exit| Some(exit))?));
    }
    (!members.is_empty()).then(|| Stable::new(members, dependencies, written.cost))
}
