//! How a task is analysed: the choices that cost or save work. Knows no algorithm.

use crate::{bam::Blocks, waitlist::Order};

/// How to check. Everything here changes cost and precision, never soundness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Traversal order within a block.
    pub order: Order,
    /// What is summarised.
    pub blocks: Blocks,
    /// Whether error paths are refined. If not, the first one is the answer.
    pub cegar: bool,
    /// Forget the whole graph at a refinement instead of pruning it.
    pub restart: bool,
    /// Number of open entries of a recursive block from which on new ones are widened.
    pub max_unrollings: u32,
    /// Error paths that are tried at one target: with merged states the first need not be the real one.
    pub paths: u32,
    /// Whether to look for other targets when refinement is stuck at one. Then a violation elsewhere is still found; else the
    /// answer comes sooner.
    pub persistent: bool,
    /// Longest error path, in steps.
    pub max_path: usize,
    /// Whether to return a certificate with `Holds`.
    pub certificate: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            order: Order::CallstackFirst,
            blocks: Blocks::FUNCTIONS,
            cegar: true,
            restart: false,
            max_unrollings: 3,
            paths: 4,
            persistent: false,
            max_path: 1_000_000,
            certificate: false,
        }
    }
}
