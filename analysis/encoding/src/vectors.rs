//! C's operators over bit vectors: exact for every integer type. What is undefined gives some value.

use proofline_cfa::{BinaryOp, CompareOp, IntType, UnaryOp};
use proofline_smt::{Term, build as t};

/// `op a`
pub(crate) fn unary(op: UnaryOp, a: Term) -> Term {
    match op {
        UnaryOp::Negate => t::bvneg(a),
        UnaryOp::BitNot => t::bvnot(a),
    }
}

/// `a op b` in `ty`; `b` has the type `right`, which only for shifts may be another.
pub(crate) fn binary(op: BinaryOp, ty: IntType, a: Term, b: Term, right: IntType) -> Term {
    // The amounts that a change of width changes are undefined.
    let amount = || resize(b, right, IntType { signed: right.signed, ..ty });
    match op {
        BinaryOp::Add => t::bvadd(a, b),
        BinaryOp::Sub => t::bvsub(a, b),
        BinaryOp::Mul => t::bvmul(a, b),
        BinaryOp::Div if ty.signed => t::bvsdiv(a, b),
        BinaryOp::Div => t::bvudiv(a, b),
        BinaryOp::Rem if ty.signed => t::bvsrem(a, b),
        BinaryOp::Rem => t::bvurem(a, b),
        BinaryOp::Shl => t::bvshl(a, amount()),
        BinaryOp::Shr if ty.signed => t::bvashr(a, amount()),
        BinaryOp::Shr => t::bvlshr(a, amount()),
        BinaryOp::BitAnd => t::bvand(a, b),
        BinaryOp::BitOr => t::bvor(a, b),
        BinaryOp::BitXor => t::bvxor(a, b),
    }
}

/// `a op b` of two values of one type.
pub(crate) fn compare(op: CompareOp, signed: bool, a: Term, b: Term) -> Term {
    let at_most = |a, b| if signed { t::bvsle(a, b) } else { t::bvule(a, b) };
    match op {
        CompareOp::Lt => t::not(at_most(b, a)),
        CompareOp::Le => at_most(a, b),
        CompareOp::Gt => t::not(at_most(a, b)),
        CompareOp::Ge => at_most(b, a),
        CompareOp::Eq => t::eq(a, b),
        CompareOp::Ne => t::ne(a, b),
    }
}

/// Whether the mathematical result is outside `ty`: computed with as many bits as it can need, and looked at.
pub(crate) fn overflows(op: BinaryOp, ty: IntType, a: Term, b: Term, right: IntType) -> Term {
    let bits = u32::from(ty.bits);
    let wide =
        |term: Term, by: u32| if ty.signed { t::sign_extend(term, by) } else { t::zero_extend(term, by) };
    let back = |result: Term, by: u32| t::ne(wide(t::extract(result, bits - 1, 0), by), result);
    match op {
        BinaryOp::Add => back(t::bvadd(wide(a, 1), wide(b, 1)), 1),
        BinaryOp::Sub => back(t::bvsub(wide(a, 1), wide(b, 1)), 1),
        BinaryOp::Mul => back(t::bvmul(wide(a, bits), wide(b, bits)), bits),
        BinaryOp::Div | BinaryOp::Rem if ty.signed => {
            let least = t::bv(ty.min(), bits);
            t::and([t::eq(a, least), t::eq(b, t::bv(-1, bits))])
        }
        BinaryOp::Shl => {
            let amount = resize(b, right, IntType { signed: right.signed, ..ty });
            let shifted = t::bvshl(wide(a, bits), t::zero_extend(amount, bits));
            back(shifted, bits)
        }
        BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Shr
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor => t::bool(false),
    }
}

/// `(to)a`
pub(crate) fn resize(a: Term, from: IntType, to: IntType) -> Term {
    let (old, new) = (u32::from(from.bits), u32::from(to.bits));
    match new.checked_sub(old) {
        Some(by) if from.signed => t::sign_extend(a, by),
        Some(by) => t::zero_extend(a, by),
        None => t::extract(a, new - 1, 0),
    }
}
