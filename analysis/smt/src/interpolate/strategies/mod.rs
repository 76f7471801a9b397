//! Strategies: in which order the cuts of a tree are interpolated, and each against what. One file per strategy.

mod cut_by_cut;
mod nested;
mod tree;
mod tree_binary;
mod well_scoped;

use serde::{Deserialize, Serialize};

use super::names::names_as_serialised;
use super::{Failure, Method, Options, Tree};
use crate::term::Term;
use crate::z3::Z3;

/// In which order and against what the cuts are computed. `Display`, `FromStr` and serde use the names of ALGORITHMS §8.2: `tree-binary`.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// One sweep or one query for the whole tree.
    Tree,
    /// Cut by cut in post-order, a callee before the caller it returns to.
    TreeBinary,
    /// Cut by cut along the path: into a call with the caller's formula kept aside, combined at the return.
    Nested,
    /// Every cut from the original formulas, independently. May fail on trees (never on sequences with [`Method::Sp`]).
    WellScoped,
}
names_as_serialised!(Strategy);

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 4] =
        [Strategy::Tree, Strategy::TreeBinary, Strategy::Nested, Strategy::WellScoped];

    /// A formula for every node, not certified yet.
    pub(super) fn formulas(
        self,
        z3: &Z3,
        tree: &Tree,
        method: Method,
        options: Options,
    ) -> Result<Vec<Term>, Failure> {
        match self {
            Strategy::Tree => tree::formulas(z3, tree, method, options),
            Strategy::TreeBinary => tree_binary::formulas(z3, tree, method, options),
            Strategy::Nested => nested::formulas(z3, tree, method, options),
            Strategy::WellScoped => well_scoped::formulas(z3, tree, method, options),
        }
    }
}
