//! Where widening stops: numbers that a function's own text makes likely bounds. Deterministic; only precision depends on them.

use std::collections::BTreeSet;

use proofline_cfa::{BinaryOp, Expr, Float, FloatType, Function, Lvalue, Op, Step, visit};
use proofline_float::Rounding;
use proofline_program_analysis::limits;

/// Constants of one function beyond this number are not used.
const MOST: usize = 48;
/// With at most so many bounds and steps their sums are thresholds, too.
const FEW: usize = 6;
/// Floating constants beyond this number are not used.
const MOST_FLOATS: usize = 64;

/// Where variables of a function may stop growing, ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thresholds {
    /// Of integers.
    pub(super) integers: Vec<i128>,
    /// Of floats, in a format that holds all of them.
    pub(super) floats: Vec<Float>,
}

impl Thresholds {
    /// Of a function, by the numbers in its text, and by those that functions which it calls keep memory below.
    pub(super) fn of(function: &Function, of_callees: &[i128]) -> Thresholds {
        Thresholds { integers: integers(function, of_callees), floats: floats(function) }
    }
}

/// Constants with either sign, and powers of ten.
fn floats(function: &Function) -> Vec<Float> {
    let wide = |value: Float| value.convert(FloatType::F128, Rounding::NearestEven).value;
    let mut all = Vec::new();
    let mut add = |expr: &Expr| {
        if let Expr::Float(value) = expr
            && !value.is_nan()
        {
            all.push(wide(*value));
        }
    };
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut add);
    }
    // Without floats there is nothing to widen.
    if !all.iter().any(|value| !value.is_zero()) {
        return Vec::new();
    }
    all.truncate(MOST_FLOATS);
    all.push(Float::zero(FloatType::F128));
    all.extend(
        (0..=9)
            .map(|power| Float::from_i128(FloatType::F128, 10i128.pow(power), Rounding::NearestEven).value),
    );
    all.extend([FloatType::F32, FloatType::F64].map(|format| wide(greatest(format))));
    all.extend(all.clone().into_iter().map(Float::negated));
    all.sort_by(|a, b| a.compare(*b).unwrap_or(std::cmp::Ordering::Equal));
    all.dedup();
    all
}

/// The greatest number of a format that is no infinity.
fn greatest(format: FloatType) -> Float {
    let bits = Float::infinity(format).to_bits() - 1;
    Float::from_bits(format, bits).unwrap_or(Float::infinity(format))
}

/// Numbers near which a function's integers may stop growing, ascending.
fn integers(function: &Function, of_callees: &[i128]) -> Vec<i128> {
    let (mut conditions, mut steps) = (BTreeSet::new(), BTreeSet::new());
    for edge in &function.edges {
        match &edge.op {
            Op::Assume(condition) => constants(condition, &mut conditions),
            Op::Assign(dst, expr) => {
                lengths(dst, &mut conditions);
                limits(expr, &mut conditions);
                visit::walk(expr, &mut |part| {
                    if let Expr::Binary(BinaryOp::Add | BinaryOp::Sub, _, by, _) = part
                        && let Expr::Int(by, _) = **by
                        && (2..1 << 16).contains(&by.unsigned_abs())
                    {
                        steps.insert(by);
                    }
                });
                // A condition that was put into a temporary.
                if matches!(expr, Expr::Compare(..)) {
                    constants(expr, &mut conditions);
                }
            }
            Op::Skip
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }
    // Small numbers first: they are bounds more often.
    let mut chosen: Vec<i128> = conditions.into_iter().collect();
    chosen.sort_by_key(|value| (value.unsigned_abs(), *value));
    chosen.truncate(MOST);
    let near = |value: &i128| [value - 1, *value, value + 1];
    let mut all: BTreeSet<i128> = chosen.iter().flat_map(near).collect();
    // Where a loop ends that goes in larger steps: up to one step beyond its bound. Only where that stays few.
    if chosen.len() <= FEW && steps.len() <= FEW {
        let bounds: Vec<i128> = all.iter().copied().collect();
        all.extend(steps.iter().flat_map(|step| bounds.iter().flat_map(move |at| [at + step, at - step])));
    }
    all.extend(of_callees.iter().flat_map(near));
    all.extend([-1, 0, 1]);
    for bits in [7u32, 8, 15, 16, 31, 32, 63, 64] {
        all.insert((1i128 << bits) - 1);
        all.insert(-(1i128 << bits));
    }
    all.into_iter().collect()
}

fn constants(expr: &Expr, out: &mut BTreeSet<i128>) {
    visit::walk(expr, &mut |part| match part {
        Expr::Int(value, _) => {
            if value.unsigned_abs() < 1 << 64 {
                out.insert(*value);
            }
        }
        Expr::Load(lvalue) | Expr::Address(lvalue) => lengths(lvalue, out),
        Expr::Float(..)
        | Expr::Null
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => {}
    });
}

fn lengths(lvalue: &Lvalue, out: &mut BTreeSet<i128>) {
    for step in &lvalue.path {
        if let Step::Index { length: Some(length), .. } = step {
            out.insert(i128::from(*length));
        }
    }
}
