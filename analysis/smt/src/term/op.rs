//! The operators of terms: the smallest set that everything else is written with, and the sort of each.
//! `a < b`, `a - b`, `=>`, `distinct`, unsigned `<` and the like are built from these by `crate::build`.

use num_bigint::BigInt;

use super::float::{FloatConst, FloatOp};
use super::{BitVec, Func, Sort, Term, Var};

/// An operator with its parameters. The derived order is the rank used by the order of terms.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(BigInt),
    /// A bit vector.
    BitVec(BitVec),
    /// A floating-point number.
    Float(FloatConst),
    /// A variable.
    Var(Var),
    /// Negation.
    Not,
    /// Conjunction of at least two.
    And,
    /// Disjunction of at least two.
    Or,
    /// `if a then b else c`, of any sort.
    Ite,
    /// Equality of two terms of one sort (on `Bool`: equivalence).
    Eq,
    /// Integer sum of at least two.
    Add,
    /// Integer product of at least two.
    Mul,
    /// Euclidean quotient: the remainder is not negative. Any value if the divisor is 0.
    Div,
    /// Euclidean remainder, `0 <= r < |divisor|`. Any value if the divisor is 0.
    Mod,
    /// Integer `<=`.
    Le,
    /// Application of an uninterpreted function.
    Apply(Func),
    /// Bitwise complement.
    BvNot,
    /// Bitwise conjunction of at least two.
    BvAnd,
    /// Bitwise disjunction of at least two.
    BvOr,
    /// Bitwise exclusive disjunction of at least two.
    BvXor,
    /// Sum of at least two, modulo `2^width`.
    BvAdd,
    /// Product of at least two, modulo `2^width`.
    BvMul,
    /// Unsigned quotient, all ones for divisor 0.
    BvUdiv,
    /// Unsigned remainder, the dividend for divisor 0.
    BvUrem,
    /// Signed quotient, toward zero.
    BvSdiv,
    /// Signed remainder, sign of the dividend.
    BvSrem,
    /// Left shift.
    BvShl,
    /// Logical right shift.
    BvLshr,
    /// Arithmetic right shift.
    BvAshr,
    /// Unsigned `<=`.
    BvUle,
    /// Signed `<=`.
    BvSle,
    /// High part, low part.
    Concat,
    /// Bits `high` down to `low`, both included.
    Extract {
        /// Highest bit taken.
        high: u32,
        /// Lowest bit taken.
        low: u32,
    },
    /// This many zero bits in front.
    ZeroExtend(u32),
    /// This many copies of the sign in front.
    SignExtend(u32),
    /// The unsigned value as an integer.
    BvToInt,
    /// The integer modulo `2^width`.
    IntToBv(u32),
    /// Element of an array at an index.
    Select,
    /// Array with one element replaced: array, index, element.
    Store,
    /// The array of this sort with one element everywhere.
    ConstArray(Sort),
    /// Floating-point operators.
    Fp(FloatOp),
    /// For all values of the bound variables.
    Forall(Box<[Var]>),
    /// For some values of the bound variables.
    Exists(Box<[Var]>),
}

/// Why an application is not a term.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("ill-sorted application of {op:?} to {args:?}")]
pub struct SortError {
    op: Box<Op>,
    args: Vec<Sort>,
}

impl Op {
    /// The sort of `self` applied to arguments of these sorts.
    ///
    /// # Errors
    /// If there is none.
    pub fn sort(&self, args: &[Sort]) -> Result<Sort, SortError> {
        self.infer(args).ok_or_else(|| SortError { op: Box::new(self.clone()), args: args.to_vec() })
    }

    fn infer(&self, args: &[Sort]) -> Option<Sort> {
        let all = |sort: Sort, least: usize| args.len() >= least && args.iter().all(|s| *s == sort);
        let exactly = |sort: Sort, n: usize| args.len() == n && all(sort, n);
        let vector = || args.first().and_then(|s| s.width());
        match self {
            Op::Bool(_) => args.is_empty().then_some(Sort::Bool),
            Op::Int(_) => args.is_empty().then_some(Sort::Int),
            Op::BitVec(c) => args.is_empty().then(|| Sort::BitVec(c.width())),
            Op::Float(c) => args.is_empty().then(|| Sort::Float(c.sort())),
            Op::Var(v) => args.is_empty().then_some(v.sort),
            Op::Not => exactly(Sort::Bool, 1).then_some(Sort::Bool),
            Op::And | Op::Or => all(Sort::Bool, 2).then_some(Sort::Bool),
            Op::Ite => match args {
                [Sort::Bool, a, b] if a == b => Some(*a),
                _ => None,
            },
            Op::Eq => match args {
                [a, b] if a == b => Some(Sort::Bool),
                _ => None,
            },
            Op::Add | Op::Mul => all(Sort::Int, 2).then_some(Sort::Int),
            Op::Div | Op::Mod => exactly(Sort::Int, 2).then_some(Sort::Int),
            Op::Le => exactly(Sort::Int, 2).then_some(Sort::Bool),
            Op::Apply(f) => (args == f.params()).then(|| f.result()),
            Op::BvNot => vector().filter(|w| exactly(Sort::BitVec(*w), 1)).map(Sort::BitVec),
            Op::BvAnd | Op::BvOr | Op::BvXor | Op::BvAdd | Op::BvMul => {
                vector().filter(|w| all(Sort::BitVec(*w), 2)).map(Sort::BitVec)
            }
            Op::BvUdiv | Op::BvUrem | Op::BvSdiv | Op::BvSrem | Op::BvShl | Op::BvLshr | Op::BvAshr => {
                vector().filter(|w| exactly(Sort::BitVec(*w), 2)).map(Sort::BitVec)
            }
            Op::BvUle | Op::BvSle => vector().filter(|w| exactly(Sort::BitVec(*w), 2)).map(|_| Sort::Bool),
            Op::Concat => match args {
                [Sort::BitVec(a), Sort::BitVec(b)] => Some(Sort::BitVec(a + b)),
                _ => None,
            },
            Op::Extract { high, low } => match args {
                [Sort::BitVec(w)] if low <= high && high < w => Some(Sort::BitVec(high - low + 1)),
                _ => None,
            },
            Op::ZeroExtend(by) | Op::SignExtend(by) => match args {
                [Sort::BitVec(w)] => Some(Sort::BitVec(w + by)),
                _ => None,
            },
            Op::BvToInt => matches!(args, [Sort::BitVec(_)]).then_some(Sort::Int),
            Op::IntToBv(width) => (exactly(Sort::Int, 1) && *width > 0).then_some(Sort::BitVec(*width)),
            Op::Select => match args {
                [Sort::Array(a), i] if a.index() == *i => Some(a.element()),
                _ => None,
            },
            Op::Store => match args {
                [Sort::Array(a), i, e] if a.index() == *i && a.element() == *e => Some(Sort::Array(*a)),
                _ => None,
            },
            Op::ConstArray(sort) => match (sort, args) {
                (Sort::Array(a), [e]) if a.element() == *e => Some(*sort),
                _ => None,
            },
            Op::Fp(op) => op.sort(args),
            Op::Forall(_) | Op::Exists(_) => exactly(Sort::Bool, 1).then_some(Sort::Bool),
        }
    }

    /// Whether it is a constant of its sort (numbers and truth values; arrays have no such form).
    #[must_use]
    pub fn is_value(&self) -> bool {
        matches!(self, Op::Bool(_) | Op::Int(_) | Op::BitVec(_) | Op::Float(_))
    }

    /// Whether it joins truth values: everything else of sort `Bool` is an atom.
    #[must_use]
    pub fn is_connective(&self, args: &[Term]) -> bool {
        match self {
            Op::Bool(_) | Op::Not | Op::And | Op::Or => true,
            Op::Ite => args.get(1).is_some_and(|t| t.sort() == Sort::Bool),
            Op::Eq => args.first().is_some_and(|t| t.sort() == Sort::Bool),
            Op::Int(_)
            | Op::BitVec(_)
            | Op::Float(_)
            | Op::Var(_)
            | Op::Add
            | Op::Mul
            | Op::Div
            | Op::Mod
            | Op::Le
            | Op::Apply(_)
            | Op::BvNot
            | Op::BvAnd
            | Op::BvOr
            | Op::BvXor
            | Op::BvAdd
            | Op::BvMul
            | Op::BvUdiv
            | Op::BvUrem
            | Op::BvSdiv
            | Op::BvSrem
            | Op::BvShl
            | Op::BvLshr
            | Op::BvAshr
            | Op::BvUle
            | Op::BvSle
            | Op::Concat
            | Op::Extract { .. }
            | Op::ZeroExtend(_)
            | Op::SignExtend(_)
            | Op::BvToInt
            | Op::IntToBv(_)
            | Op::Select
            | Op::Store
            | Op::ConstArray(_)
            | Op::Fp(_)
            | Op::Forall(_)
            | Op::Exists(_) => false,
        }
    }
}
