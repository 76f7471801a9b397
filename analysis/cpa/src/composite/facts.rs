//! Questions to two analyses at once: the answer is what both together know.

use proofline_cfa::{Expr, LocalId, Object};

use crate::cpa::Facts;

/// What either knows.
pub(super) struct BothFacts<L, R>(pub(super) L, pub(super) R);

impl<L: Facts, R: Facts> Facts for BothFacts<L, R> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        match (self.0.int_range(expr), self.1.int_range(expr)) {
            (Some((a, b)), Some((c, d))) => Some((a.max(c), b.min(d))),
            (one, other) => one.or(other),
        }
    }
    fn points_to(&self, pointer: &Expr) -> Option<Vec<(Object, Option<i64>)>> {
        match (self.0.points_to(pointer), self.1.points_to(pointer)) {
            // Each is an upper bound; the shorter list says more.
            (Some(a), Some(b)) => Some(if b.len() < a.len() { b } else { a }),
            (one, other) => one.or(other),
        }
    }
    fn truth(&self, condition: &Expr) -> Option<bool> {
        self.0.truth(condition).or_else(|| self.1.truth(condition))
    }
    fn registers(&self) -> Vec<(LocalId, (i128, i128))> {
        let mut all = self.0.registers();
        all.extend(self.1.registers());
        all
    }
}

/// Borrowed facts are facts.
pub(super) struct Borrowed<'a>(pub(super) &'a dyn Facts);

impl Facts for Borrowed<'_> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        self.0.int_range(expr)
    }
    fn points_to(&self, pointer: &Expr) -> Option<Vec<(Object, Option<i64>)>> {
        self.0.points_to(pointer)
    }
    fn truth(&self, condition: &Expr) -> Option<bool> {
        self.0.truth(condition)
    }
    fn registers(&self) -> Vec<(LocalId, (i128, i128))> {
        self.0.registers()
    }
}

/// Boxed facts are facts.
pub(super) struct Boxed<'a>(pub(super) Box<dyn Facts + 'a>);

impl Facts for Boxed<'_> {
    fn int_range(&self, expr: &Expr) -> Option<(i128, i128)> {
        self.0.int_range(expr)
    }
    fn points_to(&self, pointer: &Expr) -> Option<Vec<(Object, Option<i64>)>> {
        self.0.points_to(pointer)
    }
    fn truth(&self, condition: &Expr) -> Option<bool> {
        self.0.truth(condition)
    }
    fn registers(&self) -> Vec<(LocalId, (i128, i128))> {
        self.0.registers()
    }
}
