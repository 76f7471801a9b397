//! Constructors of terms, by their SMT-LIB names where there is one. Every constructor folds constants and normalises
//! (`crate::simplify`): building is simplifying, and equal meanings often become the same term.
//!
//! # Panics
//! Every function here panics on ill-sorted arguments: that is a mistake in the calling code, not an input.

mod quantifiers;

pub use crate::term::constants::{bool, bv, float, int, named, var};
pub(crate) use quantifiers::with_args;
pub use quantifiers::{exists, forall};

use crate::simplify::{Constructors, arith, array, bit_order, bits, boolean, equality, fold, negate};
use crate::term::bitvec::power_of_two;
use crate::term::{FloatOp, Func, Op, Sort, Term};

/// The constructors of this file, for the rules that need them.
#[derive(Clone, Copy)]
struct Normalising;

impl Constructors for Normalising {
    fn and(self, parts: impl IntoIterator<Item = Term>) -> Term {
        and(parts)
    }
    fn or(self, parts: impl IntoIterator<Item = Term>) -> Term {
        or(parts)
    }
    fn ite(self, c: Term, a: Term, b: Term) -> Term {
        ite(c, a, b)
    }
    fn eq(self, a: Term, b: Term) -> Term {
        eq(a, b)
    }
    fn le(self, a: Term, b: Term) -> Term {
        le(a, b)
    }
}

/// The term for `op` applied to `args`, normalised.
#[must_use]
pub fn apply(op: &Op, args: &[Term]) -> Term {
    let all = || args.iter().copied();
    match op {
        Op::Bool(_) | Op::Int(_) | Op::BitVec(_) | Op::Float(_) | Op::Var(_) | Op::Apply(_) => {
            Term::raw(op.clone(), args.to_vec())
        }
        Op::Not => not(args[0]),
        Op::And => and(all()),
        Op::Or => or(all()),
        Op::Ite => ite(args[0], args[1], args[2]),
        Op::Eq => eq(args[0], args[1]),
        Op::Add => add(all()),
        Op::Mul => mul(all()),
        Op::Div => div(args[0], args[1]),
        Op::Mod => modulo(args[0], args[1]),
        Op::Le => le(args[0], args[1]),
        Op::BvNot
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
        | Op::Concat
        | Op::Extract { .. }
        | Op::ZeroExtend(_)
        | Op::SignExtend(_)
        | Op::BvToInt
        | Op::IntToBv(_) => {
            check(op, args);
            bits::apply(op, args)
        }
        Op::BvUle | Op::BvSle => {
            check(op, args);
            bit_order::at_most(Normalising, op, args[0], args[1])
        }
        Op::Select => select(args[0], args[1]),
        Op::Store => store(args[0], args[1], args[2]),
        Op::ConstArray(sort) => const_array(*sort, args[0]),
        Op::Fp(op) => fp(*op, args),
        Op::Forall(vars) => forall(vars, args[0]),
        Op::Exists(vars) => exists(vars, args[0]),
    }
}

/// Ill-sorted arguments must not slip through a rule that never builds the application.
fn check(op: &Op, args: &[Term]) {
    let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
    if let Err(error) = op.sort(&sorts) {
        panic!("{error}");
    }
}

// ---- functions

/// An uninterpreted function at arguments of its sorts.
#[must_use]
pub fn call(function: Func, args: &[Term]) -> Term {
    Term::raw(Op::Apply(function), args.to_vec())
}

// ---- connectives

/// `¬t`. Law: `not(not(t)) = t`.
#[must_use]
pub fn not(t: Term) -> Term {
    check(&Op::Not, &[t]);
    negate(t)
}

/// Conjunction of any number; of none, `true`.
#[must_use]
pub fn and(parts: impl IntoIterator<Item = Term>) -> Term {
    boolean::conjunction(Normalising, parts)
}

/// Disjunction of any number; of none, `false`.
#[must_use]
pub fn or(parts: impl IntoIterator<Item = Term>) -> Term {
    boolean::disjunction(Normalising, parts)
}

/// `a => b`.
#[must_use]
pub fn implies(a: Term, b: Term) -> Term {
    or([not(a), b])
}

/// `a` iff `b`.
#[must_use]
pub fn iff(a: Term, b: Term) -> Term {
    check(&Op::And, &[a, b]);
    eq(a, b)
}

/// `if c then a else b`, of any sort.
#[must_use]
pub fn ite(c: Term, a: Term, b: Term) -> Term {
    check(&Op::Ite, &[c, a, b]);
    boolean::conditional(Normalising, c, a, b)
}

/// Equality of two terms of one sort.
#[must_use]
pub fn eq(a: Term, b: Term) -> Term {
    check(&Op::Eq, &[a, b]);
    equality::equal(Normalising, a, b)
}

/// `a ≠ b`.
#[must_use]
pub fn ne(a: Term, b: Term) -> Term {
    not(eq(a, b))
}

/// No two of the terms, which have one sort, are equal.
#[must_use]
pub fn distinct(parts: &[Term]) -> Term {
    let pairs = parts.iter().enumerate().flat_map(|(i, a)| parts[..i].iter().map(|b| ne(*a, *b)));
    and(pairs)
}

// ---- integers

/// Sum of any number of integers; of none, 0.
#[must_use]
pub fn add(parts: impl IntoIterator<Item = Term>) -> Term {
    arith::sum(parts.into_iter().inspect(|t| check(&Op::Add, &[*t, *t])), None)
}

/// `a - b`.
#[must_use]
pub fn sub(a: Term, b: Term) -> Term {
    add([a, neg(b)])
}

/// `-a`.
#[must_use]
pub fn neg(a: Term) -> Term {
    mul([int(-1), a])
}

/// Product of any number of integers; of none, 1.
#[must_use]
pub fn mul(parts: impl IntoIterator<Item = Term>) -> Term {
    arith::mul(parts.into_iter().inspect(|t| check(&Op::Mul, &[*t, *t])))
}

/// Euclidean quotient (SMT-LIB `div`); any value if `b` is 0.
#[must_use]
pub fn div(a: Term, b: Term) -> Term {
    check(&Op::Div, &[a, b]);
    arith::div(a, b)
}

/// Euclidean remainder (SMT-LIB `mod`), never negative; any value if `b` is 0.
#[must_use]
pub fn modulo(a: Term, b: Term) -> Term {
    check(&Op::Mod, &[a, b]);
    arith::modulo(a, b)
}

/// C's quotient, truncated toward zero.
#[must_use]
pub fn c_div(a: Term, b: Term) -> Term {
    if let Some(t) = sign_known(a) {
        return if t { div(a, b) } else { neg(div(neg(a), b)) };
    }
    ite(le(int(0), a), div(a, b), neg(div(neg(a), b)))
}

/// C's remainder, with the sign of the dividend.
#[must_use]
pub fn c_rem(a: Term, b: Term) -> Term {
    if let Some(t) = sign_known(a) {
        return if t { modulo(a, b) } else { neg(modulo(neg(a), b)) };
    }
    ite(le(int(0), a), modulo(a, b), neg(modulo(neg(a), b)))
}

fn sign_known(a: Term) -> Option<bool> {
    le(int(0), a).as_bool()
}

/// The value that C's conversion to an unsigned type of `width` bits gives: modulo `2^width`.
#[must_use]
pub fn wrap_unsigned(a: Term, width: u32) -> Term {
    modulo(a, int(power_of_two(width)))
}

/// The value that conversion to a two's complement type of `width` bits gives.
#[must_use]
pub fn wrap_signed(a: Term, width: u32) -> Term {
    let half = int(power_of_two(width - 1));
    sub(wrap_unsigned(add([a, half]), width), half)
}

/// `a <= b` over the integers.
#[must_use]
pub fn le(a: Term, b: Term) -> Term {
    check(&Op::Le, &[a, b]);
    arith::at_most(Normalising, a, b)
}

/// `a < b` over the integers.
#[must_use]
pub fn lt(a: Term, b: Term) -> Term {
    le(add([a, int(1)]), b)
}

/// `a >= b` over the integers.
#[must_use]
pub fn ge(a: Term, b: Term) -> Term {
    le(b, a)
}

/// `a > b` over the integers.
#[must_use]
pub fn gt(a: Term, b: Term) -> Term {
    lt(b, a)
}

// ---- bit vectors

macro_rules! bit_operators {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),+) = $op:expr;)*) => {
        $($(#[$doc])* #[must_use] pub fn $name($($arg: Term),+) -> Term { apply(&$op, &[$($arg),+]) })*
    };
}

bit_operators! {
    /// Bitwise complement.
    bvnot(a) = Op::BvNot;
    /// Bitwise conjunction.
    bvand(a, b) = Op::BvAnd;
    /// Bitwise disjunction.
    bvor(a, b) = Op::BvOr;
    /// Bitwise exclusive disjunction.
    bvxor(a, b) = Op::BvXor;
    /// Sum modulo `2^width`.
    bvadd(a, b) = Op::BvAdd;
    /// Product modulo `2^width`.
    bvmul(a, b) = Op::BvMul;
    /// Unsigned quotient; all ones if `b` is 0.
    bvudiv(a, b) = Op::BvUdiv;
    /// Unsigned remainder; `a` if `b` is 0.
    bvurem(a, b) = Op::BvUrem;
    /// Signed quotient toward zero.
    bvsdiv(a, b) = Op::BvSdiv;
    /// Signed remainder with the sign of `a`.
    bvsrem(a, b) = Op::BvSrem;
    /// Left shift.
    bvshl(a, b) = Op::BvShl;
    /// Logical right shift.
    bvlshr(a, b) = Op::BvLshr;
    /// Arithmetic right shift.
    bvashr(a, b) = Op::BvAshr;
    /// Unsigned `a <= b`.
    bvule(a, b) = Op::BvUle;
    /// Signed `a <= b`.
    bvsle(a, b) = Op::BvSle;
    /// `high` then `low`.
    concat(high, low) = Op::Concat;
    /// The unsigned value as an integer.
    bv_to_int(a) = Op::BvToInt;
}

/// `-a` modulo `2^width`.
#[must_use]
pub fn bvneg(a: Term) -> Term {
    let width = width_of(a);
    bvmul(bv(-1, width), a)
}

/// `a - b` modulo `2^width`.
#[must_use]
pub fn bvsub(a: Term, b: Term) -> Term {
    bvadd(a, bvneg(b))
}

/// Unsigned `a < b`.
#[must_use]
pub fn bvult(a: Term, b: Term) -> Term {
    not(bvule(b, a))
}

/// Signed `a < b`.
#[must_use]
pub fn bvslt(a: Term, b: Term) -> Term {
    not(bvsle(b, a))
}

/// Signed remainder with the sign of `b`.
#[must_use]
pub fn bvsmod(a: Term, b: Term) -> Term {
    let r = bvsrem(a, b);
    let zero = bv(0, width_of(a));
    let agree = iff(bvslt(r, zero), bvslt(b, zero));
    ite(or([eq(r, zero), agree]), r, bvadd(r, b))
}

/// Bits `high` down to `low`, both included.
#[must_use]
pub fn extract(a: Term, high: u32, low: u32) -> Term {
    apply(&Op::Extract { high, low }, &[a])
}

/// `by` zero bits in front.
#[must_use]
pub fn zero_extend(a: Term, by: u32) -> Term {
    apply(&Op::ZeroExtend(by), &[a])
}

/// `by` copies of the sign in front.
#[must_use]
pub fn sign_extend(a: Term, by: u32) -> Term {
    apply(&Op::SignExtend(by), &[a])
}

/// The two's complement value as an integer.
#[must_use]
pub fn bv_to_signed_int(a: Term) -> Term {
    let width = width_of(a);
    let unsigned = bv_to_int(a);
    ite(bvslt(a, bv(0, width)), sub(unsigned, int(power_of_two(width))), unsigned)
}

/// The bits of an integer modulo `2^width`; `width` is at least 1.
#[must_use]
pub fn int_to_bv(a: Term, width: u32) -> Term {
    apply(&Op::IntToBv(width), &[a])
}

fn width_of(t: Term) -> u32 {
    t.sort().width().unwrap_or_else(|| panic!("a bit vector was expected: {t}"))
}

// ---- arrays, floats, quantifiers

/// The element at `index`.
#[must_use]
pub fn select(array: Term, index: Term) -> Term {
    check(&Op::Select, &[array, index]);
    array::select(Normalising, array, index)
}

/// `array` with the element at `index` replaced.
#[must_use]
pub fn store(array: Term, index: Term, element: Term) -> Term {
    check(&Op::Store, &[array, index, element]);
    array::store(array, index, element)
}

/// The array of this (array) sort with one element everywhere.
#[must_use]
pub fn const_array(sort: Sort, element: Term) -> Term {
    Term::raw(Op::ConstArray(sort), vec![element])
}

/// A floating-point operator applied, and folded where `proofline_float` knows the format.
#[must_use]
pub fn fp(op: FloatOp, args: &[Term]) -> Term {
    fold(&Op::Fp(op), args).unwrap_or_else(|| Term::raw(Op::Fp(op), args.to_vec()))
}
