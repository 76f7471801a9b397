//! Formulas over integers as conditions of an automaton: comparisons of C's expressions, computed in a type that is wide enough for every value of
//! the variables, so that nothing wraps around. Knows no functions and no summaries.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    BinaryOp, CompareOp, Edge, Expr, Function, IntType, Loc, Lvalue, Op as Does, Scalar, Site,
};
use proofline_smt::{Op, Sort, Term, Var};

/// What a formula says of places in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Claim {
    /// A comparison.
    Atom(Expr),
    /// Everything of this.
    All(Vec<Claim>),
    /// Something of this.
    Any(Vec<Claim>),
}

/// Which integer each variable of a formula is.
pub(super) type Places = BTreeMap<Var, Lvalue>;

/// A number with bounds of its value.
struct Number {
    expr: Expr,
    low: i128,
    high: i128,
}

/// More nested formulas than this are not written.
const DEPTH: u32 = 200;

impl Claim {
    /// The formula (or its negation) about these places. `None` if it says what no expression does.
    pub(super) fn new(formula: Term, is_positive: bool, places: &Places) -> Option<Claim> {
        let written = |bits| Writer { wide: IntType { bits, signed: true }, places };
        written(64)
            .truth(formula, is_positive, DEPTH)
            .or_else(|| written(128).truth(formula, is_positive, DEPTH))
    }

    /// Adds edges from one location to another, for the executions in which it holds.
    pub(super) fn assume(&self, function: &mut Function, from: Loc, to: Loc, site: Site) {
        let edge = |op| Edge { from, to, op, site };
        match self {
            Claim::Atom(condition) => function.edges.push(edge(Does::Assume(condition.clone()))),
            Claim::All(parts) => {
                let mut at = from;
                let Some((last, first)) = parts.split_last() else {
                    function.edges.push(edge(Does::Skip));
                    return;
                };
                for part in first {
                    let next = fresh_location(function);
                    part.assume(function, at, next, site);
                    at = next;
                }
                last.assume(function, at, to, site);
            }
            Claim::Any(parts) if parts.is_empty() => {
                function.edges.push(edge(Does::Assume(Expr::Int(0, IntType::INT))));
            }
            Claim::Any(parts) => parts.iter().for_each(|part| part.assume(function, from, to, site)),
        }
    }
}

/// A location that nothing leads to yet.
pub(super) fn fresh_location(function: &mut Function) -> Loc {
    function.locations += 1;
    Loc(function.locations - 1)
}

struct Writer<'w> {
    /// The type that is computed in.
    wide: IntType,
    places: &'w Places,
}

impl Writer<'_> {
    fn truth(&self, formula: Term, is_positive: bool, depth: u32) -> Option<Claim> {
        let depth = depth.checked_sub(1)?;
        let each = |parts: &[Term], is_positive: bool| -> Option<Vec<Claim>> {
            parts.iter().map(|part| self.truth(*part, is_positive, depth)).collect()
        };
        let arguments = formula.args();
        Some(match (formula.op(), arguments) {
            (Op::Bool(value), []) if *value == is_positive => Claim::All(Vec::new()),
            (Op::Bool(_), []) => Claim::Any(Vec::new()),
            (Op::Not, [inside]) => self.truth(*inside, !is_positive, depth)?,
            (Op::And, parts) if is_positive => Claim::All(each(parts, true)?),
            (Op::And, parts) => Claim::Any(each(parts, false)?),
            (Op::Or, parts) if is_positive => Claim::Any(each(parts, true)?),
            (Op::Or, parts) => Claim::All(each(parts, false)?),
            (Op::Ite, [condition, yes, no]) => Claim::Any(vec![
                Claim::All(vec![self.truth(*condition, true, depth)?, self.truth(*yes, is_positive, depth)?]),
                Claim::All(vec![self.truth(*condition, false, depth)?, self.truth(*no, is_positive, depth)?]),
            ]),
            (Op::Eq, [lhs, rhs]) if lhs.sort() == Sort::Bool => Claim::Any(vec![
                Claim::All(vec![self.truth(*lhs, true, depth)?, self.truth(*rhs, is_positive, depth)?]),
                Claim::All(vec![self.truth(*lhs, false, depth)?, self.truth(*rhs, !is_positive, depth)?]),
            ]),
            (Op::Eq, [lhs, rhs]) => self.comparison(CompareOp::Eq, *lhs, *rhs, is_positive, depth)?,
            (Op::Le, [lhs, rhs]) => self.comparison(CompareOp::Le, *lhs, *rhs, is_positive, depth)?,
            _ => return None,
        })
    }

    fn comparison(
        &self,
        op: CompareOp,
        lhs: Term,
        rhs: Term,
        is_positive: bool,
        depth: u32,
    ) -> Option<Claim> {
        let (lhs, rhs) = (self.number(lhs, depth)?.expr, self.number(rhs, depth)?.expr);
        let compared = Expr::Compare(op, Arc::new(lhs), Arc::new(rhs));
        Some(Claim::Atom(if is_positive { compared } else { compared.negated() }))
    }

    /// A number, if its bounds are within the type.
    fn within(&self, expr: Expr, low: Option<i128>, high: Option<i128>) -> Option<Number> {
        let (low, high) = (low?, high?);
        (self.wide.contains(low) && self.wide.contains(high)).then_some(Number { expr, low, high })
    }

    fn constant(&self, value: i128) -> Option<Number> {
        self.within(Expr::Int(value, self.wide), Some(value), Some(value))
    }

    fn sum(&self, a: Number, b: Number) -> Option<Number> {
        let expr = Expr::Binary(BinaryOp::Add, Arc::new(a.expr), Arc::new(b.expr), Site::NOWHERE);
        self.within(expr, a.low.checked_add(b.low), a.high.checked_add(b.high))
    }

    fn product(&self, a: Number, b: Number) -> Option<Number> {
        let mut corners = Vec::new();
        for x in [a.low, a.high] {
            for y in [b.low, b.high] {
                corners.push(x.checked_mul(y)?);
            }
        }
        let expr = Expr::Binary(BinaryOp::Mul, Arc::new(a.expr), Arc::new(b.expr), Site::NOWHERE);
        self.within(expr, corners.iter().min().copied(), corners.iter().max().copied())
    }

    fn number(&self, term: Term, depth: u32) -> Option<Number> {
        let depth = depth.checked_sub(1)?;
        match (term.op(), term.args()) {
            (Op::Int(value), []) => self.constant(i128::try_from(value.clone()).ok()?),
            (Op::Var(var), []) => {
                let place = self.places.get(var)?;
                let Some(Scalar::Int(ty)) = place.scalar else { return None };
                let read = Expr::Load(place.clone());
                let expr = match ty == self.wide {
                    true => read,
                    false => Expr::Cast(Scalar::Int(self.wide), Arc::new(read), Site::NOWHERE),
                };
                // Values of 128 bits without a sign are kept as others.
                let fits = ty.bits < 128 || ty.signed;
                self.within(expr, fits.then(|| ty.min()), fits.then(|| ty.max()))
            }
            (Op::Add | Op::Mul, [first, rest @ ..]) => {
                let is_sum = matches!(term.op(), Op::Add);
                rest.iter().try_fold(self.number(*first, depth)?, |all, part| {
                    let part = self.number(*part, depth)?;
                    if is_sum { self.sum(all, part) } else { self.product(all, part) }
                })
            }
            _ => None,
        }
    }
}
