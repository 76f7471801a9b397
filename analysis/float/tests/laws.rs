//! The formats against the machine's own `f32` and `f64`, and against each other.

use std::cmp::Ordering;

use proofline_float::{Arithmetic, Float, Format, Rounding};
use proptest::prelude::*;

const NEAREST: Rounding = Rounding::NearestEven;

/// Numbers of all sizes, denormal ones, both zeros, infinities, NaN, and ones near the ends of integers.
fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<u64>().prop_map(f64::from_bits),
        any::<f32>().prop_map(f64::from),
        any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits))),
        -10.0..10.0f64,
        any::<i64>().prop_map(|i| i as f64),
        (-2i64..3).prop_map(|d| (i64::MAX.wrapping_add(d)) as f64),
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NAN),
    ]
}

fn same64(ours: Float, machine: f64) -> bool {
    ours.canonical() == Float::from_f64(machine).canonical()
}

fn same32(ours: Float, machine: f32) -> bool {
    ours.canonical() == Float::from_f32(machine).canonical()
}

fn to(value: Float, format: Format) -> Float {
    value.convert(format, NEAREST).value
}

proptest! {
    #[test]
    fn arithmetic_is_the_machines(a in any_double(), b in any_double()) {
        let (x, y) = (Float::from_f64(a), Float::from_f64(b));
        let (c, d) = (a as f32, b as f32);
        let (u, v) = (Float::from_f32(c), Float::from_f32(d));
        prop_assert!(same32(to(x, Format::F32), c));
        for (op, double, single) in [
            (Arithmetic::Add, a + b, c + d),
            (Arithmetic::Subtract, a - b, c - d),
            (Arithmetic::Multiply, a * b, c * d),
            (Arithmetic::Divide, a / b, c / d),
        ] {
            prop_assert!(same64(x.arithmetic(op, y, NEAREST).value, double));
            prop_assert!(same32(u.arithmetic(op, v, NEAREST).value, single));
        }
        prop_assert_eq!(x.compare(y), a.partial_cmp(&b));
        prop_assert_eq!(u.compare(v), c.partial_cmp(&d));
        prop_assert!(same64(x.negated(), -a));
        prop_assert!(same64(x.magnitude(), a.abs()));
        prop_assert_eq!((x.is_nan(), x.is_infinite(), x.is_finite()), (a.is_nan(), a.is_infinite(), a.is_finite()));
        prop_assert_eq!(x.is_zero(), a == 0.0);
        prop_assert_eq!(x.is_negative(), a.is_sign_negative() && !a.is_nan());
    }

    #[test]
    fn rounding_to_integers_is_the_machines(a in any_double()) {
        let x = Float::from_f64(a);
        for (rounding, machine) in [
            (Rounding::NearestEven, a.round_ties_even()),
            (Rounding::NearestAway, a.round()),
            (Rounding::Up, a.ceil()),
            (Rounding::Down, a.floor()),
            (Rounding::Zero, a.trunc()),
        ] {
            prop_assert!(same64(x.round_to_integral(rounding), machine));
            let inside = machine >= -2f64.powi(127) && machine < 2f64.powi(127);
            prop_assert_eq!(x.to_i128(rounding), inside.then_some(machine as i128));
            let inside = machine >= 0.0 && machine < 2f64.powi(128);
            prop_assert_eq!(x.to_u128(rounding), inside.then_some(machine as u128));
        }
    }

    #[test]
    fn integers_round_as_the_machine_rounds(i in prop_oneof![any::<i128>(), any::<i64>().prop_map(i128::from), any::<i32>().prop_map(i128::from)]) {
        prop_assert!(same64(Float::from_i128(Format::F64, i, NEAREST).value, i as f64));
        prop_assert!(same32(Float::from_i128(Format::F32, i, NEAREST).value, i as f32));
        prop_assert!(same64(Float::from_u128(Format::F64, i as u128, NEAREST).value, i as u128 as f64));
        prop_assert!(same32(Float::from_u128(Format::F32, i as u128, NEAREST).value, i as u128 as f32));
        // A `long double` holds every integer of 64 bits.
        let narrow = i128::from(i as i64);
        let wide = Float::from_i128(Format::F80, narrow, NEAREST);
        prop_assert!(wide.exact);
        prop_assert_eq!(wide.value.to_i128(Rounding::Zero), Some(narrow));
    }

    #[test]
    fn wider_formats_hold_what_narrower_ones_hold(a in any_double(), half in any::<u16>()) {
        let x = Float::from_f64(a);
        let half = Float::from_bits(Format::F16, half.into()).expect("every pattern is a number or NaN");
        for (value, formats) in [(x, &Format::ALL[2..]), (half, &Format::ALL[..])] {
            for format in formats {
                let wide = value.convert(*format, NEAREST);
                prop_assert!(wide.exact);
                prop_assert_eq!(to(wide.value, value.format()), value.canonical());
                prop_assert_eq!(wide.value.compare(wide.value), (!value.is_nan()).then_some(Ordering::Equal));
            }
        }
    }

    #[test]
    fn a_sum_of_doubles_in_a_wider_format_rounds_to_the_machines_sum(a in any_double(), b in any_double()) {
        // 113 bits are more than twice 53 plus 2: rounding twice is rounding once.
        let (x, y) = (to(Float::from_f64(a), Format::F128), to(Float::from_f64(b), Format::F128));
        for (op, double) in [
            (Arithmetic::Add, a + b),
            (Arithmetic::Subtract, a - b),
            (Arithmetic::Multiply, a * b),
            (Arithmetic::Divide, a / b),
        ] {
            // Below the normal numbers a second rounding may differ.
            if double == 0.0 || !double.is_normal() {
                continue;
            }
            prop_assert!(same64(to(x.arithmetic(op, y, NEAREST).value, Format::F64), double));
        }
    }

    #[test]
    fn bits_and_text_read_back(high in any::<u64>(), low in any::<u64>()) {
        let bits = u128::from(high) << 64 | u128::from(low);
        for format in Format::ALL {
            // Of x87, the integer bit must fit the exponent.
            let integer = 1u128 << 63;
            let bits = match format {
                Format::F80 if bits >> 64 & 0x7fff == 0 => bits & !integer,
                Format::F80 => bits | integer,
                Format::F16 | Format::F32 | Format::F64 | Format::F128 => bits,
            };
            let value = Float::from_bits(format, bits).expect("a number or NaN");
            prop_assert_eq!(Float::from_bits(format, value.to_bits()), Some(value));
            prop_assert_eq!(value.canonical() == value, !value.is_nan() || value == Float::nan(format));
            if value.is_finite() {
                let read = Float::parse(&value.magnitude().to_string(), format).expect("digits");
                prop_assert_eq!(read.value, value.magnitude());
            } else {
                prop_assert!(!value.to_string().contains(|c: char| c.is_ascii_digit()));
            }
        }
    }

    #[test]
    fn constants_are_read_as_the_machine_reads_them(digits in "[0-9]{1,20}(\\.[0-9]{0,20})?(e-?[0-9]{1,3})?") {
        let machine: f64 = digits.parse().expect("digits");
        prop_assert!(same64(Float::parse(&digits, Format::F64).expect("digits").value, machine));
        let machine: f32 = digits.parse().expect("digits");
        prop_assert!(same32(Float::parse(&digits, Format::F32).expect("digits").value, machine));
    }
}

#[test]
fn the_widest_formats_compute_what_gcc_computes() {
    // `long double`, by `printf("%La")` of gcc on x86-64.
    let wide = |text: &str| Float::parse(text, Format::F80).expect("a number").value;
    let third = wide("1.0").arithmetic(Arithmetic::Divide, wide("3.0"), NEAREST);
    assert!(!third.exact);
    assert_eq!(third.value, wide("0xa.aaaaaaaaaaaaaabp-5"));
    assert_eq!(third.value.to_f64(), None);
    assert_eq!(wide("0.1"), wide("0xc.ccccccccccccccdp-7"));
    assert_eq!(wide("0.5").arithmetic(Arithmetic::Add, wide("0.5"), NEAREST).value.to_string(), "1.0");
    // Of `_Float16`, only exact results are certain.
    let half = |text: &str| Float::parse(text, Format::F16).expect("a number").value;
    let sum = half("2048.0").arithmetic(Arithmetic::Add, half("1.0"), NEAREST);
    assert_eq!((sum.value, sum.certain()), (half("2048.0"), None));
    assert_eq!(
        half("1.5").arithmetic(Arithmetic::Multiply, half("2.0"), NEAREST).certain(),
        Some(half("3.0"))
    );
    assert_eq!(Float::from_bits(Format::F80, 1 << 64), None, "no number of x87");
}
