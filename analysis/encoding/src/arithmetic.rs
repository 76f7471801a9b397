//! Expressions as terms. Which terms an operator becomes, the encoding says; what is unknown in one is a fresh variable.

use proofline_cfa::{CompareOp, Expr, IntType, Lvalue, Name, Scalar};
use proofline_smt::{Sort, Term, build as t};

use crate::{
    encoding::{Encoding, float_sort},
    floats, integers,
    pointers::{self, Extent},
    state::Fresh,
    vectors,
};

/// What expressions are translated in: where they read from, and the fresh variables they may need.
pub(crate) trait ExprContext {
    /// The value of a scalar lvalue.
    fn load(&mut self, lvalue: &Lvalue) -> Term;
    /// Its address.
    fn address(&mut self, lvalue: &Lvalue) -> Term;
    /// The address of a function.
    fn function(&mut self, name: Name) -> Term;
    /// Fresh variables.
    fn fresh(&mut self) -> &mut Fresh;
    /// Where the objects are that a pointer may point into.
    fn extents(&self, pointer: &Expr) -> Vec<Extent>;
    /// Something that must hold because of how a fresh variable was introduced.
    fn assume(&mut self, condition: Term);
    /// How values become terms.
    fn encoding(&self) -> Encoding;
    /// Signed arithmetic wraps.
    fn wrapv(&self) -> bool;
}

/// The value of an expression, of the sort that the encoding gives its format.
pub(crate) fn value(expr: &Expr, context: &mut dyn ExprContext) -> Term {
    let encoding = context.encoding();
    match expr {
        Expr::Int(value, ty) if ty.is_exact() || encoding.is_bits() => encoding.int(*value, *ty),
        Expr::Int(..) => unknown(context, expr.scalar()),
        Expr::Float(value) if encoding.is_bits() => floats::constant(*value),
        Expr::Float(value) => floats::token(*value),
        Expr::Null => encoding.address(0),
        Expr::Load(lvalue) => context.load(lvalue),
        Expr::Address(lvalue) => context.address(lvalue),
        Expr::Function(name) => context.function(*name),
        Expr::Unary(op, arg, _) => {
            let a = value(arg, context);
            let result = match format_encoding(encoding, arg.scalar()) {
                FormatEncoding::Vector(_) => Some(vectors::unary(*op, a)),
                FormatEncoding::Integer(ty) => integers::unary(*op, ty, a, context.wrapv()),
                FormatEncoding::Float => floats::unary(*op, a),
                FormatEncoding::Opaque => None,
            };
            result.unwrap_or_else(|| unknown(context, expr.scalar()))
        }
        Expr::Binary(op, lhs, rhs, _) => {
            let (a, b) = (value(lhs, context), value(rhs, context));
            let result = match format_encoding(encoding, lhs.scalar()) {
                FormatEncoding::Vector(ty) => {
                    rhs.int_type().map(|right| vectors::binary(*op, ty, a, b, right))
                }
                FormatEncoding::Integer(ty) => Some(integers::binary(*op, ty, a, b, context)),
                FormatEncoding::Float => floats::binary(*op, a, b),
                FormatEncoding::Opaque => None,
            };
            result.unwrap_or_else(|| unknown(context, expr.scalar()))
        }
        Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => {
            let (one, zero) = (encoding.int(1, IntType::INT), encoding.int(0, IntType::INT));
            t::ite(condition(expr, context), one, zero)
        }
        Expr::Cast(to, arg, _) => cast(*to, arg, context),
        Expr::PointerDifference(lhs, rhs, stride, ty) => {
            let (a, b) = (value(lhs, context), value(rhs, context));
            let difference = encoding.minus(a, b);
            let stride = (*stride).max(1);
            let number = match encoding {
                Encoding::Integers if stride == 1 => integers::fit(difference, *ty, false),
                Encoding::Integers => integers::fit(t::div(difference, t::int(stride)), *ty, false),
                Encoding::BitVectors => {
                    let elements = if stride.is_power_of_two() {
                        t::bvashr(difference, encoding.address(stride.trailing_zeros()))
                    } else {
                        t::bvsdiv(difference, encoding.address(stride))
                    };
                    let from = IntType { bits: crate::encoding::ADDRESS_BITS, signed: true };
                    vectors::resize(elements, from, *ty)
                }
            };
            // Which other object lies where is not known.
            let together = pointers::in_one_object((&**lhs, a), (&**rhs, b), context);
            match together.is_true() {
                true => number,
                false => t::ite(together, number, unknown(context, expr.scalar())),
            }
        }
    }
}

/// How an encoding represents a format.
enum FormatEncoding {
    Vector(IntType),
    Integer(IntType),
    Float,
    Opaque,
}

fn format_encoding(encoding: Encoding, scalar: Scalar) -> FormatEncoding {
    match (encoding, scalar) {
        (Encoding::BitVectors, Scalar::Int(ty)) => FormatEncoding::Vector(ty),
        (Encoding::BitVectors, Scalar::Float(ty)) if float_sort(ty).is_some() => FormatEncoding::Float,
        (Encoding::Integers, Scalar::Int(ty)) if ty.is_exact() => FormatEncoding::Integer(ty),
        _ => FormatEncoding::Opaque,
    }
}

/// Whether a scalar is not zero.
pub(crate) fn condition(expr: &Expr, context: &mut dyn ExprContext) -> Term {
    let encoding = context.encoding();
    match expr {
        Expr::Compare(op, lhs, rhs) => {
            // `(a < b) != 0` is `a < b`.
            if let (CompareOp::Ne | CompareOp::Eq, Expr::Int(0, _)) = (op, &**rhs)
                && is_truth(lhs)
            {
                let inner = condition(lhs, context);
                return if *op == CompareOp::Ne { inner } else { t::not(inner) };
            }
            let (a, b) = (value(lhs, context), value(rhs, context));
            match (encoding, lhs.scalar()) {
                (Encoding::BitVectors, Scalar::Float(ty)) if float_sort(ty).is_some() => {
                    floats::compare(*op, a, b)
                }
                (_, Scalar::Float(_)) => context.fresh().variable(Sort::Bool),
                (_, Scalar::Pointer) => pointers::compare(*op, (&**lhs, a), (&**rhs, b), context),
                (Encoding::BitVectors, Scalar::Int(ty)) => vectors::compare(*op, ty.signed, a, b),
                (Encoding::Integers, Scalar::Int(_)) => integers::compare(*op, a, b),
            }
        }
        Expr::Overflows(op, lhs, rhs) => {
            let (a, b) = (value(lhs, context), value(rhs, context));
            match (format_encoding(encoding, lhs.scalar()), rhs.int_type()) {
                (FormatEncoding::Vector(ty), Some(right)) => vectors::overflows(*op, ty, a, b, right),
                (FormatEncoding::Integer(ty), Some(_)) => integers::overflows(*op, ty, a, b, context),
                _ => context.fresh().variable(Sort::Bool),
            }
        }
        // Terms say nothing of the lives and sizes of objects.
        Expr::Memory(..) => context.fresh().variable(Sort::Bool),
        Expr::Cast(_, arg, _) if is_truth(arg) => condition(arg, context),
        _ => {
            let a = value(expr, context);
            match (format_encoding(encoding, expr.scalar()), expr.scalar()) {
                (FormatEncoding::Float, _) => floats::truth(a),
                (_, Scalar::Float(_)) => context.fresh().variable(Sort::Bool),
                (_, scalar) => t::not(encoding.is_zero(a, scalar)),
            }
        }
    }
}

/// Only 0 or 1.
fn is_truth(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => true,
        Expr::Cast(Scalar::Int(_), arg, _) => is_truth(arg),
        _ => false,
    }
}

/// Any value of a format.
pub(crate) fn unknown(context: &mut dyn ExprContext, scalar: Scalar) -> Term {
    let encoding = context.encoding();
    let variable = context.fresh().variable(encoding.sort(scalar));
    context.assume(encoding.in_range(variable, scalar));
    variable
}

fn cast(to: Scalar, arg: &Expr, context: &mut dyn ExprContext) -> Term {
    let from = arg.scalar();
    let encoding = context.encoding();
    let term = value(arg, context);
    match (from, to) {
        (Scalar::Pointer, Scalar::Pointer) => term,
        // Addresses are stand-ins: only null keeps its number.
        (Scalar::Pointer, Scalar::Int(_)) | (Scalar::Int(_), Scalar::Pointer) => {
            let other = unknown(context, to);
            context.assume(t::implies(encoding.is_zero(term, from), encoding.is_zero(other, to)));
            other
        }
        (Scalar::Int(small), Scalar::Int(large)) => match encoding {
            Encoding::BitVectors => vectors::resize(term, small, large),
            Encoding::Integers if !small.is_exact() || !large.is_exact() => unknown(context, to),
            // 0 and 1 are in every type.
            Encoding::Integers if is_truth(arg) => term,
            Encoding::Integers => integers::cast(term, small, large),
        },
        _ if from == to => term,
        (Scalar::Float(old), _) if !encoding.is_bits() || float_sort(old).is_none() => unknown(context, to),
        (Scalar::Float(_), Scalar::Float(new)) => {
            floats::convert(new, term).unwrap_or_else(|| unknown(context, to))
        }
        (Scalar::Float(old), Scalar::Int(new)) => {
            let (result, defined) = floats::to_int(new, term, old);
            if defined.is_true() {
                return result;
            }
            // Undefined out of range.
            let any = unknown(context, to);
            t::ite(defined, result, any)
        }
        (Scalar::Int(old), Scalar::Float(new)) if encoding.is_bits() => {
            floats::from_int(new, term, old).unwrap_or_else(|| unknown(context, to))
        }
        (Scalar::Int(_) | Scalar::Pointer, Scalar::Float(_)) | (Scalar::Float(_), Scalar::Pointer) => {
            unknown(context, to)
        }
    }
}
