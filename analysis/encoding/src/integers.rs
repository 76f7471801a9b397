//! C's operators over mathematical integers: the result wraps, or is in range because an obligation stands before.

use proofline_cfa::{BinaryOp, CompareOp, IntType, UnaryOp};
use proofline_smt::{Sort, Term, build as t};

use crate::{arithmetic::ExprContext, bits, within};

/// `op a`; `None` if that is not known.
pub(crate) fn unary(op: UnaryOp, ty: IntType, a: Term, wrapv: bool) -> Option<Term> {
    match op {
        UnaryOp::Negate => Some(fit(t::neg(a), ty, wrapv)),
        UnaryOp::BitNot if ty.signed => Some(t::sub(t::int(-1), a)),
        UnaryOp::BitNot if ty.is_exact() => Some(t::sub(t::int(ty.max()), a)),
        UnaryOp::BitNot => None,
    }
}

/// `a op b` in `ty`.
pub(crate) fn binary(op: BinaryOp, ty: IntType, a: Term, b: Term, context: &mut dyn ExprContext) -> Term {
    let modulus = || t::add([t::int(ty.max()), t::int(1)]);
    match op {
        // One wrap at most: cheaper for the solver than a remainder.
        BinaryOp::Add if !ty.signed => {
            let sum = t::add([a, b]);
            t::ite(t::le(sum, t::int(ty.max())), sum, t::sub(sum, modulus()))
        }
        BinaryOp::Sub if !ty.signed => {
            let difference = t::sub(a, b);
            t::ite(t::le(t::int(0), difference), difference, t::add([difference, modulus()]))
        }
        BinaryOp::Add => fit(t::add([a, b]), ty, context.wrapv()),
        BinaryOp::Sub => fit(t::sub(a, b), ty, context.wrapv()),
        BinaryOp::Mul => fit(t::mul([a, b]), ty, context.wrapv()),
        BinaryOp::Div => fit(t::c_div(a, b), ty, context.wrapv()),
        BinaryOp::Rem => t::c_rem(a, b),
        BinaryOp::Shl | BinaryOp::Shr => match b.as_int().and_then(|amount| u32::try_from(amount).ok()) {
            Some(amount) if amount < u32::from(ty.bits) => {
                let power = t::int(num_bigint::BigInt::from(1) << amount);
                if op == BinaryOp::Shl { wrap(t::mul([a, power]), ty) } else { t::div(a, power) }
            }
            _ => bits::shift(op, ty, a, b, context),
        },
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => bits::logical(op, ty, a, b, context),
    }
}

/// `a op b`
pub(crate) fn compare(op: CompareOp, a: Term, b: Term) -> Term {
    match op {
        CompareOp::Lt => t::lt(a, b),
        CompareOp::Le => t::le(a, b),
        CompareOp::Gt => t::lt(b, a),
        CompareOp::Ge => t::le(b, a),
        CompareOp::Eq => t::eq(a, b),
        CompareOp::Ne => t::not(t::eq(a, b)),
    }
}

/// Whether the mathematical result is outside `ty`.
pub(crate) fn overflows(op: BinaryOp, ty: IntType, a: Term, b: Term, context: &mut dyn ExprContext) -> Term {
    let exact = match op {
        BinaryOp::Add => t::add([a, b]),
        BinaryOp::Sub => t::sub(a, b),
        BinaryOp::Mul => t::mul([a, b]),
        BinaryOp::Div | BinaryOp::Rem => {
            let least = t::and([t::eq(a, t::int(ty.min())), t::eq(b, t::int(-1))]);
            return if ty.signed { least } else { t::bool(false) };
        }
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            return context.fresh().variable(Sort::Bool);
        }
    };
    t::not(within(exact, ty))
}

/// The mathematical result brought into the type: unsigned wraps; signed is in range already, or wraps when asked.
pub(crate) fn fit(exact: Term, ty: IntType, wrapv: bool) -> Term {
    if !ty.signed || wrapv { wrap(exact, ty) } else { exact }
}

fn wrap(exact: Term, ty: IntType) -> Term {
    if ty.signed {
        t::wrap_signed(exact, u32::from(ty.bits))
    } else {
        t::wrap_unsigned(exact, u32::from(ty.bits))
    }
}

/// `(to)term`, of a value of `from`; both are exact.
pub(crate) fn cast(term: Term, from: IntType, to: IntType) -> Term {
    if to.min() <= from.min() && from.max() <= to.max() {
        return term;
    }
    // From a signed type of the same width: only negative values change.
    if from.bits == to.bits && from.signed && !to.signed {
        let modulus = t::add([t::int(to.max()), t::int(1)]);
        return t::ite(t::le(t::int(0), term), term, t::add([term, modulus]));
    }
    if from.bits == to.bits && !from.signed && to.signed {
        let modulus = t::add([t::int(from.max()), t::int(1)]);
        return t::ite(t::le(term, t::int(to.max())), term, t::sub(term, modulus));
    }
    wrap(term, to)
}
