//! Operators on constants agree with Rust's own arithmetic of the same width.

use proofline_cfa::{
    BinaryOp, CompareOp, Float, FloatType, IntType, UnaryOp,
    eval::{Overflow, float, int},
};
use proptest::prelude::*;

const ARITHMETIC: [BinaryOp; 3] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul];

/// Values near the ends and near zero are as likely as any.
fn interesting(bits: u32) -> impl Strategy<Value = i128> {
    let edge = 1i128 << (bits - 1);
    prop_oneof![any::<i128>(), -3i128..=3, (edge - 3)..=(edge + 3), (-edge - 3)..=(-edge + 3)]
}

macro_rules! agrees {
    ($($test:ident $ty:ty, $bits:literal, $signed:literal;)*) => {$(proptest! {
        #[test]
        fn $test(lhs in interesting($bits), rhs in interesting($bits), amount in -2i128..70) {
            let (lhs, rhs) = (lhs as $ty, rhs as $ty);
            let ty = IntType { bits: $bits, signed: $signed };
            let (l, r) = (lhs as i128, rhs as i128);
            for op in ARITHMETIC {
                let checked = match op {
                    BinaryOp::Add => lhs.checked_add(rhs),
                    BinaryOp::Sub => lhs.checked_sub(rhs),
                    _ => lhs.checked_mul(rhs),
                };
                let wrapped = match op {
                    BinaryOp::Add => lhs.wrapping_add(rhs),
                    BinaryOp::Sub => lhs.wrapping_sub(rhs),
                    _ => lhs.wrapping_mul(rhs),
                } as i128;
                let undefined = int::binary(op, ty, l, r, Overflow::Undefined);
                prop_assert_eq!(undefined, if $signed { checked.map(|v| v as i128) } else { Some(wrapped) });
                prop_assert_eq!(int::binary(op, ty, l, r, Overflow::Wraps), Some(wrapped));
                prop_assert_eq!(int::overflows(op, ty, l, r), Some(checked.is_none()));
            }
            for overflow in [Overflow::Undefined, Overflow::Wraps] {
                prop_assert_eq!(int::binary(BinaryOp::Div, ty, l, r, overflow), lhs.checked_div(rhs).map(|v| v as i128));
                prop_assert_eq!(int::binary(BinaryOp::Rem, ty, l, r, overflow), lhs.checked_rem(rhs).map(|v| v as i128));
                prop_assert_eq!(int::binary(BinaryOp::BitAnd, ty, l, r, overflow), Some((lhs & rhs) as i128));
                prop_assert_eq!(int::binary(BinaryOp::BitOr, ty, l, r, overflow), Some((lhs | rhs) as i128));
                prop_assert_eq!(int::binary(BinaryOp::BitXor, ty, l, r, overflow), Some((lhs ^ rhs) as i128));
                prop_assert_eq!(int::unary(UnaryOp::BitNot, ty, l, overflow), Some(!lhs as i128));
                let in_range = u32::try_from(amount).ok().filter(|a| *a < $bits);
                let right = in_range.map(|a| (lhs >> a) as i128);
                prop_assert_eq!(int::binary(BinaryOp::Shr, ty, l, amount, overflow), right);
            }
            let in_range = u32::try_from(amount).ok().filter(|a| *a < $bits);
            let left = in_range.map(|a| (lhs << a) as i128);
            prop_assert_eq!(int::binary(BinaryOp::Shl, ty, l, amount, Overflow::Wraps), left);
            prop_assert_eq!(int::binary(BinaryOp::Shl, ty, l, amount, Overflow::Undefined), left);
            let quotient_overflows = (r != 0).then(|| lhs.checked_div(rhs).is_none());
            prop_assert_eq!(int::overflows(BinaryOp::Div, ty, l, r), quotient_overflows);
            prop_assert_eq!(int::overflows(BinaryOp::Rem, ty, l, r), quotient_overflows);
            prop_assert_eq!(int::unary(UnaryOp::Negate, ty, l, Overflow::Wraps), Some(lhs.wrapping_neg() as i128));
            prop_assert_eq!(int::compare(CompareOp::Lt, l, r), lhs < rhs);
            prop_assert_eq!(int::compare(CompareOp::Ge, l, r), lhs >= rhs);
        }
    })*};
}
agrees! {
    i8_agrees i8, 8, true;
    u8_agrees u8, 8, false;
    i16_agrees i16, 16, true;
    u16_agrees u16, 16, false;
    i32_agrees i32, 32, true;
    u32_agrees u32, 32, false;
    i64_agrees i64, 64, true;
    u64_agrees u64, 64, false;
}

macro_rules! casts {
    ($value:ident: $($ty:ty, $bits:literal, $signed:literal;)*) => {$(
        prop_assert_eq!(int::cast(IntType { bits: $bits, signed: $signed }, $value), Some($value as $ty as i128));
    )*};
}

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        any::<f32>().prop_map(f64::from),
        -10.0..10.0f64,
        (-2i64..3).prop_map(|d| (i64::MAX.wrapping_add(d)) as f64),
        (-2i64..3).prop_map(|d| (i64::from(i32::MAX) + d) as f64 + 0.5),
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NAN),
    ]
}

fn double(value: f64) -> Float {
    Float::from_f64(value).canonical()
}

fn single(value: f32) -> Float {
    Float::from_f32(value).canonical()
}

proptest! {
    #[test]
    fn casts_of_integers_agree(value in any::<i128>()) {
        casts!(value: i8, 8, true; u8, 8, false; i16, 16, true; u16, 16, false; i32, 32, true; u32, 32, false; i64, 64, true; u64, 64, false; i128, 128, true;);
    }

    #[test]
    fn unsigned_int128_says_only_its_lower_half(lhs in any::<i128>(), rhs in any::<i128>(), amount in 0u32..128) {
        let ty = IntType { bits: 128, signed: false };
        let (a, b) = (lhs as u128, rhs as u128);
        let half = |value: u128| i128::try_from(value).ok();
        for (op, exact) in [(BinaryOp::Add, a.wrapping_add(b)), (BinaryOp::Sub, a.wrapping_sub(b)), (BinaryOp::Mul, a.wrapping_mul(b)), (BinaryOp::BitXor, a ^ b)] {
            let value = int::binary(op, ty, lhs, rhs, Overflow::Undefined);
            prop_assert!(value.is_none() || value == half(exact));
        }
        let shifted = int::binary(BinaryOp::Shl, ty, lhs, i128::from(amount), Overflow::Undefined);
        prop_assert!(shifted.is_none() || shifted == half(a << amount));
        let over = int::overflows(BinaryOp::Add, ty, lhs, rhs);
        prop_assert!(over.is_none() || over == Some(a.checked_add(b).is_none()));
        let under = int::overflows(BinaryOp::Sub, ty, lhs, rhs);
        prop_assert!(under.is_none() || under == Some(a < b));
    }

    #[test]
    fn floats_agree(a in any_float(), b in any_float()) {
        let (l, r) = (double(a), double(b));
        let (fa, fb) = (a as f32, b as f32);
        let (fl, fr) = (single(fa), single(fb));
        let wide = |value| float::cast(FloatType::F80, value);
        for (op, exact, short) in [
            (BinaryOp::Add, a + b, fa + fb),
            (BinaryOp::Sub, a - b, fa - fb),
            (BinaryOp::Mul, a * b, fa * fb),
            (BinaryOp::Div, a / b, fa / fb),
        ] {
            prop_assert_eq!(float::binary(op, l, r), Some(double(exact)));
            prop_assert_eq!(float::binary(op, fl, fr), Some(single(short)));
            prop_assert_eq!(float::binary(op, l, fr), None);
            // 64 bits are more than twice 24 plus 2: rounding twice is rounding once, among normal numbers.
            let long = wide(fl).zip(wide(fr)).and_then(|(l, r)| float::binary(op, l, r));
            if short.is_normal() {
                prop_assert_eq!(long.and_then(|long| float::cast(FloatType::F32, long)), Some(single(short)));
            }
        }
        prop_assert_eq!(float::compare(CompareOp::Le, l, r), Some(a <= b));
        prop_assert_eq!(float::compare(CompareOp::Ne, l, r), Some(a != b));
        prop_assert_eq!(float::cast(FloatType::F32, l), Some(fl));
        prop_assert_eq!(float::unary(UnaryOp::Negate, l), Some(double(-a)));
    }

    #[test]
    fn floats_become_integers_by_truncation_or_not_at_all(a in any_float()) {
        let value = double(a);
        // Rust's casts saturate: a saturated value that does not convert back was out of range.
        let exact = |saturated: i128, low: f64, high: f64| (a.trunc() >= low && a.trunc() < high).then_some(saturated);
        prop_assert_eq!(float::to_int(IntType::INT, value), exact(i128::from(a as i32), -2f64.powi(31), 2f64.powi(31)));
        prop_assert_eq!(float::to_int(IntType { bits: 64, signed: true }, value), exact(i128::from(a as i64), -2f64.powi(63), 2f64.powi(63)));
        prop_assert_eq!(float::to_int(IntType { bits: 8, signed: false }, value), exact(i128::from(a as u8), 0.0, 256.0));
        prop_assert_eq!(float::to_int(IntType { bits: 64, signed: false }, value), exact(i128::from(a as u64), 0.0, 2f64.powi(64)));
    }

    #[test]
    fn integers_become_floats_by_rounding(value in any::<i64>()) {
        prop_assert_eq!(float::from_int(FloatType::F64, i128::from(value)), Some(double(value as f64)));
        prop_assert_eq!(float::from_int(FloatType::F32, i128::from(value)), Some(single(value as f32)));
        let long = float::from_int(FloatType::F80, i128::from(value));
        prop_assert_eq!(long.and_then(|long| float::to_int(IntType { bits: 64, signed: true }, long)), Some(i128::from(value)));
        // Of `_Float16`, only what is not rounded is certain.
        let half = float::from_int(FloatType::F16, i128::from(value));
        let whole = half.map(|half| float::to_int(IntType { bits: 64, signed: true }, half));
        prop_assert!(whole.is_none_or(|whole| whole == Some(i128::from(value))));
    }
}

#[test]
fn what_c_leaves_undefined_has_no_value() {
    let int = IntType::INT;
    for (op, lhs, rhs) in [
        (BinaryOp::Add, i128::from(i32::MAX), 1),
        (BinaryOp::Div, 1, 0),
        (BinaryOp::Rem, 1, 0),
        (BinaryOp::Div, i128::from(i32::MIN), -1),
        (BinaryOp::Rem, i128::from(i32::MIN), -1),
        (BinaryOp::Shl, 1, 32),
        (BinaryOp::Shl, 1, -1),
        (BinaryOp::Shr, 1, 32),
    ] {
        assert_eq!(int::binary(op, int, lhs, rhs, Overflow::Undefined), None, "{op:?} {lhs} {rhs}");
    }
    assert_eq!(int::unary(UnaryOp::Negate, int, i128::from(i32::MIN), Overflow::Undefined), None);
    assert_eq!(int::binary(BinaryOp::Shl, int, 1, 31, Overflow::Undefined), Some(i128::from(i32::MIN)));
    assert_eq!(int::binary(BinaryOp::Shl, int, -1, 1, Overflow::Undefined), Some(-2));
    assert_eq!(int::binary(BinaryOp::Div, int, -7, 2, Overflow::Undefined), Some(-3));
    assert_eq!(int::binary(BinaryOp::Rem, int, -7, 2, Overflow::Undefined), Some(-1));
    let wide = IntType { bits: 128, signed: true };
    assert_eq!(int::overflows(BinaryOp::Mul, wide, i128::MAX, 2), Some(true));
}
