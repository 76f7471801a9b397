//! Which programs need bit vectors: what mathematical integers only approximate. Knows expressions and the layout of memory, no engine.

use proofline_cfa::{BinaryOp, Expr, Function, Name, Scalar, UnaryOp, visit};
use proofline_program_analysis::Environment;

use crate::{
    Encoding,
    layout::{MemoryLayout, Representation},
};

/// Whether something in functions that are executed from `entry` is not said exactly over integers: operations on floats, bit operations
/// and shifts of two unknowns, `unsigned __int128`, unsigned products of unknowns, and objects whose bytes are seen in more than one way
/// (unions, bit-fields, casts, raw copies).
pub fn needs_bit_vectors(environment: &Environment, entry: Name, functions: &[&Function]) -> bool {
    let approximates = |function: &&Function| {
        function.edges.iter().any(|edge| {
            let mut found = false;
            visit::exprs(&edge.op, &mut |expr| found |= is_approximate(expr));
            found
        })
    };
    if functions.iter().any(approximates) {
        return true;
    }
    let layout = MemoryLayout::with_encoding(environment, Encoding::BitVectors);
    let mut objects = environment.reads(entry).union(environment.writes(entry));
    objects.any(|object| matches!(layout.representation(*object), Representation::Bytes { .. }))
}

fn is_approximate(expr: &Expr) -> bool {
    let float = |expr: &Expr| matches!(expr.scalar(), Scalar::Float(_));
    let inexact = |expr: &Expr| expr.int_type().is_some_and(|ty| !ty.is_exact());
    let constant = |expr: &Expr| matches!(expr, Expr::Int(..));
    match expr {
        Expr::Unary(UnaryOp::Negate | UnaryOp::BitNot, arg, _) => float(arg) || inexact(arg),
        Expr::Binary(op, lhs, rhs, _) => {
            let unknowns = !constant(lhs) && !constant(rhs);
            float(lhs)
                || inexact(lhs)
                || match op {
                    BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => {
                        unknowns
                    }
                    BinaryOp::Mul => unknowns && lhs.int_type().is_some_and(|ty| !ty.signed),
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Div | BinaryOp::Rem => false,
                }
        }
        Expr::Compare(_, lhs, _) => float(lhs) || inexact(lhs),
        Expr::Cast(_, arg, _) => float(arg) || float(expr) || inexact(arg) || inexact(expr),
        Expr::Overflows(op, lhs, rhs) => {
            matches!(op, BinaryOp::Shl) && !constant(rhs) || float(lhs) || inexact(lhs)
        }
        Expr::Int(..)
        | Expr::Float(..)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => false,
    }
}
