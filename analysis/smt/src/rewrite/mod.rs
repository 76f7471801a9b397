//! Terms from terms: walks that rebuild what they change with the normalising constructors.

mod substitution;

use rustc_hash::FxHashMap;

pub use substitution::{Substitution, instantiate, rename, substitute, uninstantiate};

use crate::build::{apply, with_args};
use crate::term::{Term, postorder};

/// Rebuilds `term` bottom-up: `visit(original, arguments already rewritten)` says what stands for each distinct
/// subterm; `None` rebuilds it with [`apply`]. The walk goes below quantifiers, whose bound variables are
/// ordinary variables to it.
pub fn rewrite(term: Term, mut visit: impl FnMut(Term, &[Term]) -> Option<Term>) -> Term {
    let mut memo: FxHashMap<Term, Term> = FxHashMap::default();
    let mut args: Vec<Term> = Vec::new();
    for t in postorder(&[term]) {
        args.clear();
        args.extend(t.args().iter().map(|a| memo[a]));
        let new = visit(t, &args).unwrap_or_else(|| with_args(t, &args));
        memo.insert(t, new);
    }
    memo[&term]
}

/// Rebuilds `term` through the normalising constructors. Terms made by `crate::build` are normal already; this is for
/// terms whose variables were replaced outside of it, and for tests.
#[must_use]
pub fn simplify(term: Term) -> Term {
    rewrite(term, |t, args| Some(apply(t.op(), args)))
}
