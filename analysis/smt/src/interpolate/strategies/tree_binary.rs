//! Strategy `tree-binary` ("treeCPA"): cut by cut in post-order, so that a call has its formula before the caller that it returns to.

use super::super::{Failure, Method, Options, Tree};
use super::cut_by_cut::in_order;
use crate::term::Term;
use crate::z3::Z3;

pub(super) fn formulas(z3: &Z3, tree: &Tree, method: Method, options: Options) -> Result<Vec<Term>, Failure> {
    in_order(z3, tree, tree.callee_first(), method, options)
}
