//! Strategy `nested` [HHP10]: cut by cut along the path. The caller's formula is kept aside while the path is in a call, and both are
//! combined at the return.

use super::super::{Failure, Method, Options, Tree};
use super::cut_by_cut::in_order;
use crate::term::Term;
use crate::z3::Z3;

pub(super) fn formulas(z3: &Z3, tree: &Tree, method: Method, options: Options) -> Result<Vec<Term>, Failure> {
    in_order(z3, tree, tree.nodes().collect(), method, options)
}
