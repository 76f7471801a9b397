//! Strategy `tree`: one sweep, or one query, over the whole tree.

use super::super::{Failure, Method, Options, Tree};
use super::nested;
use crate::term::Term;
use crate::z3::Z3;

pub(super) fn formulas(z3: &Z3, tree: &Tree, method: Method, options: Options) -> Result<Vec<Term>, Failure> {
    // A method that sees only one cut at a time goes along the path.
    method.whole(z3, tree, options).unwrap_or_else(|| nested::formulas(z3, tree, method, options))
}
