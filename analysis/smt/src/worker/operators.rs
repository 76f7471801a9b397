//! Sorts and operators as bytes.

use super::bytes::{Input, Output};
use crate::term::{BitVec, FloatConst, FloatOp, FloatSort, Op, Rounding, Sort};

/// Wider than any vector of ours.
const WIDEST: u32 = 1 << 24;
/// Arrays of arrays are nested less deeply.
const DEEPEST: u32 = 32;

fn write_float(out: &mut Output, sort: FloatSort) {
    out.number(sort.exponent.into());
    out.number(sort.significand.into());
}

fn read_float(from: &mut Input<'_>) -> Option<FloatSort> {
    let sort = FloatSort { exponent: from.small()?, significand: from.small()? };
    ((2..=64).contains(&sort.exponent) && (2..=1 << 16).contains(&sort.significand)).then_some(sort)
}

fn read_width(from: &mut Input<'_>) -> Option<u32> {
    from.small().filter(|width| (1..=WIDEST).contains(width))
}

pub(super) fn write_sort(out: &mut Output, sort: Sort) {
    match sort {
        Sort::Bool => out.byte(0),
        Sort::Int => out.byte(1),
        Sort::BitVec(width) => {
            out.byte(2);
            out.number(width.into());
        }
        Sort::Float(float) => {
            out.byte(3);
            write_float(out, float);
        }
        Sort::Array(array) => {
            out.byte(4);
            write_sort(out, array.index());
            write_sort(out, array.element());
        }
    }
}

pub(super) fn read_sort(from: &mut Input<'_>) -> Option<Sort> {
    read_sort_within(from, DEEPEST)
}

fn read_sort_within(from: &mut Input<'_>, depth: u32) -> Option<Sort> {
    Some(match from.byte()? {
        0 => Sort::Bool,
        1 => Sort::Int,
        2 => Sort::BitVec(read_width(from)?),
        3 => Sort::Float(read_float(from)?),
        4 => {
            let depth = depth.checked_sub(1)?;
            Sort::array(read_sort_within(from, depth)?, read_sort_within(from, depth)?)
        }
        _ => return None,
    })
}

const ROUNDINGS: [Rounding; 5] =
    [Rounding::NearestEven, Rounding::NearestAway, Rounding::Up, Rounding::Down, Rounding::Zero];

fn write_rounding(out: &mut Output, rounding: Rounding) {
    out.byte(match rounding {
        Rounding::NearestEven => 0,
        Rounding::NearestAway => 1,
        Rounding::Up => 2,
        Rounding::Down => 3,
        Rounding::Zero => 4,
    });
}

fn read_rounding(from: &mut Input<'_>) -> Option<Rounding> {
    ROUNDINGS.get(usize::from(from.byte()?)).copied()
}

fn write_float_op(out: &mut Output, op: FloatOp) {
    let (tag, rounding, sort, width) = match op {
        FloatOp::Add(r) => (0, Some(r), None, None),
        FloatOp::Sub(r) => (1, Some(r), None, None),
        FloatOp::Mul(r) => (2, Some(r), None, None),
        FloatOp::Div(r) => (3, Some(r), None, None),
        FloatOp::Sqrt(r) => (4, Some(r), None, None),
        FloatOp::RoundToIntegral(r) => (5, Some(r), None, None),
        FloatOp::Rem => (6, None, None, None),
        FloatOp::Neg => (7, None, None, None),
        FloatOp::Abs => (8, None, None, None),
        FloatOp::Eq => (9, None, None, None),
        FloatOp::Lt => (10, None, None, None),
        FloatOp::Le => (11, None, None, None),
        FloatOp::IsNan => (12, None, None, None),
        FloatOp::IsInfinite => (13, None, None, None),
        FloatOp::IsZero => (14, None, None, None),
        FloatOp::IsNegative => (15, None, None, None),
        FloatOp::FromFloat(r, to) => (16, Some(r), Some(to), None),
        FloatOp::FromSigned(r, to) => (17, Some(r), Some(to), None),
        FloatOp::FromUnsigned(r, to) => (18, Some(r), Some(to), None),
        FloatOp::FromBits(to) => (19, None, Some(to), None),
        FloatOp::ToSigned(r, width) => (20, Some(r), None, Some(width)),
        FloatOp::ToUnsigned(r, width) => (21, Some(r), None, Some(width)),
    };
    out.byte(tag);
    rounding.into_iter().for_each(|rounding| write_rounding(out, rounding));
    sort.into_iter().for_each(|sort| write_float(out, sort));
    width.into_iter().for_each(|width| out.number(width.into()));
}

fn read_float_op(from: &mut Input<'_>) -> Option<FloatOp> {
    Some(match from.byte()? {
        0 => FloatOp::Add(read_rounding(from)?),
        1 => FloatOp::Sub(read_rounding(from)?),
        2 => FloatOp::Mul(read_rounding(from)?),
        3 => FloatOp::Div(read_rounding(from)?),
        4 => FloatOp::Sqrt(read_rounding(from)?),
        5 => FloatOp::RoundToIntegral(read_rounding(from)?),
        6 => FloatOp::Rem,
        7 => FloatOp::Neg,
        8 => FloatOp::Abs,
        9 => FloatOp::Eq,
        10 => FloatOp::Lt,
        11 => FloatOp::Le,
        12 => FloatOp::IsNan,
        13 => FloatOp::IsInfinite,
        14 => FloatOp::IsZero,
        15 => FloatOp::IsNegative,
        16 => FloatOp::FromFloat(read_rounding(from)?, read_float(from)?),
        17 => FloatOp::FromSigned(read_rounding(from)?, read_float(from)?),
        18 => FloatOp::FromUnsigned(read_rounding(from)?, read_float(from)?),
        19 => FloatOp::FromBits(read_float(from)?),
        20 => FloatOp::ToSigned(read_rounding(from)?, read_width(from)?),
        21 => FloatOp::ToUnsigned(read_rounding(from)?, read_width(from)?),
        _ => return None,
    })
}

/// The operators without parameters; the position is what is sent.
static PLAIN: [Op; 27] = [
    Op::Not,
    Op::And,
    Op::Or,
    Op::Ite,
    Op::Eq,
    Op::Add,
    Op::Mul,
    Op::Div,
    Op::Mod,
    Op::Le,
    Op::BvNot,
    Op::BvAnd,
    Op::BvOr,
    Op::BvXor,
    Op::BvAdd,
    Op::BvMul,
    Op::BvUdiv,
    Op::BvUrem,
    Op::BvSdiv,
    Op::BvSrem,
    Op::BvShl,
    Op::BvLshr,
    Op::BvAshr,
    Op::BvUle,
    Op::BvSle,
    Op::Concat,
    Op::Select,
];

const STORE: u8 = 27;
const BV_TO_INT: u8 = 28;
const FALSE: u8 = 29;
const TRUE: u8 = 30;
const INT: u8 = 31;
const BIT_VEC: u8 = 32;
const FLOAT: u8 = 33;
const EXTRACT: u8 = 34;
const ZERO_EXTEND: u8 = 35;
const SIGN_EXTEND: u8 = 36;
const INT_TO_BV: u8 = 37;
const CONST_ARRAY: u8 = 38;
const FP: u8 = 39;
/// From here on the tags of operators with symbols, which `terms` writes.
pub(super) const SYMBOLS: u8 = 40;

/// Writes an operator; symbols are the caller's business.
pub(super) fn write_op(out: &mut Output, op: &Op, mut symbol: impl FnMut(&mut Output, &Op)) {
    let plain = match op {
        Op::Not => 0,
        Op::And => 1,
        Op::Or => 2,
        Op::Ite => 3,
        Op::Eq => 4,
        Op::Add => 5,
        Op::Mul => 6,
        Op::Div => 7,
        Op::Mod => 8,
        Op::Le => 9,
        Op::BvNot => 10,
        Op::BvAnd => 11,
        Op::BvOr => 12,
        Op::BvXor => 13,
        Op::BvAdd => 14,
        Op::BvMul => 15,
        Op::BvUdiv => 16,
        Op::BvUrem => 17,
        Op::BvSdiv => 18,
        Op::BvSrem => 19,
        Op::BvShl => 20,
        Op::BvLshr => 21,
        Op::BvAshr => 22,
        Op::BvUle => 23,
        Op::BvSle => 24,
        Op::Concat => 25,
        Op::Select => 26,
        Op::Store => STORE,
        Op::BvToInt => BV_TO_INT,
        Op::Bool(false) => FALSE,
        Op::Bool(true) => TRUE,
        Op::Int(integer) => {
            out.byte(INT);
            return out.integer(integer);
        }
        Op::BitVec(bits) => {
            out.byte(BIT_VEC);
            out.number(bits.width().into());
            return out.integer(&bits.unsigned());
        }
        Op::Float(number) => {
            out.byte(FLOAT);
            write_float(out, number.sort());
            return out.integer(&number.bits().unsigned());
        }
        Op::Extract { high, low } => {
            out.byte(EXTRACT);
            out.number((*high).into());
            return out.number((*low).into());
        }
        Op::ZeroExtend(by) => {
            out.byte(ZERO_EXTEND);
            return out.number((*by).into());
        }
        Op::SignExtend(by) => {
            out.byte(SIGN_EXTEND);
            return out.number((*by).into());
        }
        Op::IntToBv(width) => {
            out.byte(INT_TO_BV);
            return out.number((*width).into());
        }
        Op::ConstArray(sort) => {
            out.byte(CONST_ARRAY);
            return write_sort(out, *sort);
        }
        Op::Fp(op) => {
            out.byte(FP);
            return write_float_op(out, *op);
        }
        Op::Var(_) | Op::Apply(_) | Op::Forall(_) | Op::Exists(_) => return symbol(out, op),
    };
    out.byte(plain);
}

/// Reads the operator with this tag, if it has no symbols.
pub(super) fn read_op(tag: u8, from: &mut Input<'_>) -> Option<Op> {
    if let Some(op) = PLAIN.get(usize::from(tag)) {
        return Some(op.clone());
    }
    Some(match tag {
        STORE => Op::Store,
        BV_TO_INT => Op::BvToInt,
        FALSE => Op::Bool(false),
        TRUE => Op::Bool(true),
        INT => Op::Int(from.integer()?),
        BIT_VEC => Op::BitVec(BitVec::new(read_width(from)?, &from.integer()?)),
        FLOAT => {
            let sort = read_float(from)?;
            Op::Float(FloatConst::new(sort, BitVec::new(sort.width(), &from.integer()?)))
        }
        EXTRACT => Op::Extract { high: from.small()?, low: from.small()? },
        ZERO_EXTEND => Op::ZeroExtend(from.small().filter(|by| *by <= WIDEST)?),
        SIGN_EXTEND => Op::SignExtend(from.small().filter(|by| *by <= WIDEST)?),
        INT_TO_BV => Op::IntToBv(read_width(from)?),
        CONST_ARRAY => Op::ConstArray(read_sort(from)?),
        FP => Op::Fp(read_float_op(from)?),
        _ => return None,
    })
}
