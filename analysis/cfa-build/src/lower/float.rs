//! GCC's builtins that look at floating values, as comparisons: exact, NaN and infinities included.

use proofline_hir::body::{BinaryOp, ExprId};

use super::{build::Lowering, fold};
use proofline_cfa::{CompareOp, Expr, Float, FloatType, Scalar, Site};

impl Lowering<'_> {
    /// The value, if it is such a builtin (without `__builtin_`): an `int`, or a constant.
    pub(crate) fn float_builtin(&mut self, name: &str, arguments: &[ExprId], site: Site) -> Option<Expr> {
        let constant = match name {
            "inf" | "inff" | "infl" | "huge_val" | "huge_valf" | "huge_vall" => {
                Some(Float::infinity as fn(FloatType) -> Float)
            }
            "nan" | "nanf" | "nanl" => Some(Float::nan as fn(FloatType) -> Float),
            _ => None,
        };
        if let Some(constant) = constant {
            self.values(arguments);
            let ty = match name.as_bytes().last() {
                Some(b'f') if name != "inf" => FloatType::F32,
                Some(b'l') if name != "huge_val" => FloatType::F80,
                _ => FloatType::F64,
            };
            return Some(Expr::Float(constant(ty)));
        }
        let kind = classification(name)?;
        let operands = self.values(arguments);
        let float = |value: &Expr| if let Scalar::Float(ty) = value.scalar() { Some(ty) } else { None };
        let ty = float(operands.first()?)?;
        // Each operand is named several times.
        let operands: Vec<Expr> = operands
            .into_iter()
            .map(|value| match value {
                Expr::Float(..) => value,
                _ => self.save(value, site),
            })
            .collect();
        let x = operands.first()?.clone();
        let y = operands.get(1).cloned();
        if y.as_ref().is_some_and(|y| float(y) != Some(ty)) {
            return None;
        }
        let is = |op, a: &Expr, b: &Expr| fold::compare(op, a.clone(), b.clone());
        let join = |op, a, b| fold::binary(op, a, b, site);
        let infinity = Float::infinity(ty);
        let (infinite, negative) = (Expr::Float(infinity), Expr::Float(infinity.negated()));
        Some(match kind {
            Classification::NotANumber => is(CompareOp::Ne, &x, &x),
            Classification::Infinite => {
                join(BinaryOp::Sub, is(CompareOp::Eq, &x, &infinite), is(CompareOp::Eq, &x, &negative))
            }
            Classification::Finite => {
                join(BinaryOp::BitAnd, is(CompareOp::Lt, &x, &infinite), is(CompareOp::Gt, &x, &negative))
            }
            Classification::Compare(op) => is(op, &x, &y?),
            Classification::LessOrGreater => {
                let y = y?;
                join(BinaryOp::BitOr, is(CompareOp::Lt, &x, &y), is(CompareOp::Gt, &x, &y))
            }
            Classification::Unordered => {
                let y = y?;
                join(BinaryOp::BitOr, is(CompareOp::Ne, &x, &x), is(CompareOp::Ne, &y, &y))
            }
        })
    }
}

enum Classification {
    NotANumber,
    Infinite,
    Finite,
    Compare(CompareOp),
    LessOrGreater,
    Unordered,
}

fn classification(name: &str) -> Option<Classification> {
    Some(match name {
        "isnan" | "isnanf" | "isnanl" => Classification::NotANumber,
        "isinf" | "isinff" | "isinfl" | "isinf_sign" => Classification::Infinite,
        "finite" | "finitef" | "finitel" | "isfinite" => Classification::Finite,
        "isgreater" => Classification::Compare(CompareOp::Gt),
        "isgreaterequal" => Classification::Compare(CompareOp::Ge),
        "isless" => Classification::Compare(CompareOp::Lt),
        "islessequal" => Classification::Compare(CompareOp::Le),
        "islessgreater" => Classification::LessOrGreater,
        "isunordered" => Classification::Unordered,
        _ => return None,
    })
}
