//! What rules build with. A rule for one operator yields applications of others, which are to be normalised in turn. The normalising
//! constructors stand above the rules (`crate::build`), so a rule gets them as an argument and no rule knows the others.

use crate::term::Term;

/// The constructors that rules need.
pub(crate) trait Constructors: Copy {
    /// Conjunction of any number.
    fn and(self, parts: impl IntoIterator<Item = Term>) -> Term;
    /// Disjunction of any number.
    fn or(self, parts: impl IntoIterator<Item = Term>) -> Term;
    /// `if c then a else b`.
    fn ite(self, c: Term, a: Term, b: Term) -> Term;
    /// `a = b`, of one sort.
    fn eq(self, a: Term, b: Term) -> Term;
    /// `a <= b` over the integers.
    fn le(self, a: Term, b: Term) -> Term;
}
