//! Methods: how formulas are found, for a whole tree or for one cut. One file per method.

mod farkas;
mod horn;
mod mbp;
mod sp;
mod wp;

use serde::{Deserialize, Serialize};

use super::names::names_as_serialised;
use super::{Failure, Options, Tree};
use crate::term::Term;
use crate::z3::Z3;

/// How formulas are found. `Display`, `FromStr` and serde use the names of ALGORITHMS §8.2: `wp`.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Horn clauses through Spacer: slowest, generalises best.
    Horn,
    /// Weakest preconditions over the unsatisfiable core: fast, keeps relations between variables.
    Wp,
    /// Strongest postconditions over the core: fast, but constants stay constants.
    Sp,
    /// Model-based projection, weakened against the rest.
    Mbp,
    /// Sums of the linear inequalities that contradict each other: fast, keeps what loops preserve.
    Farkas,
}
names_as_serialised!(Method);

impl Method {
    /// Every method.
    pub const ALL: [Method; 5] = [Method::Horn, Method::Wp, Method::Sp, Method::Mbp, Method::Farkas];

    /// A formula for every node of a tree at once; `None`: the method sees only one cut at a time.
    pub(super) fn whole(self, z3: &Z3, tree: &Tree, options: Options) -> Option<Result<Vec<Term>, Failure>> {
        match self {
            Method::Horn => Some(horn::whole(z3, tree, options)),
            Method::Wp => Some(wp::whole(z3, tree, options)),
            Method::Sp => Some(sp::whole(z3, tree, options)),
            Method::Mbp => None,
            Method::Farkas => Some(farkas::whole(z3, tree, options)),
        }
    }

    /// A formula implied by `a` and inconsistent with `b`, over the symbols common to both; `a` and `b` contradict each other.
    pub(super) fn between(self, z3: &Z3, a: Term, b: Term, options: Options) -> Result<Term, Failure> {
        // A cut is a sequence of two.
        match self.whole(z3, &Tree::sequence(vec![a, b]), options) {
            Some(formulas) => Ok(formulas?[0]),
            None => mbp::between(z3, a, b, options),
        }
    }
}
