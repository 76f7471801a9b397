//! Laws of ranges of floats, against `proofline-float`: every operator covers what C computes of members, every condition keeps the members with which it
//! holds.

use proofline_cfa::{BinaryOp, CompareOp, Float, FloatType, IntType, eval};
use proofline_domains::interval::Floats;
use proptest::{prelude::*, sample::select};

const FORMATS: [FloatType; 4] = [FloatType::F32, FloatType::F64, FloatType::F80, FloatType::F128];
const OPS: [BinaryOp; 4] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div];
const COMPARES: [CompareOp; 6] =
    [CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge, CompareOp::Eq, CompareOp::Ne];

/// Zeros, infinities, NaN, ends of formats, small integers, and anything.
fn number(format: FloatType) -> impl Strategy<Value = Float> {
    let small = prop_oneof![
        Just(0.0f64),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::NAN),
        Just(f64::MAX),
        Just(f64::from(f32::MAX)),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        Just(f64::from(f32::from_bits(1))),
        (-4i32..5).prop_map(f64::from),
        -2.0..2.0f64,
        any::<u32>().prop_map(|bits| f64::from(f32::from_bits(bits))),
        any::<u64>().prop_map(f64::from_bits),
    ];
    let sign = any::<bool>();
    (small, sign).prop_map(move |(value, negated)| {
        let value = eval::float::cast(format, Float::from_f64(value)).expect("no half precision").canonical();
        if negated { value.negated().canonical() } else { value }
    })
}

/// A set, and a member.
fn set(format: FloatType) -> impl Strategy<Value = (Floats, Float)> {
    (prop::collection::vec(number(format), 1..4), any::<prop::sample::Index>()).prop_map(|(members, at)| {
        let all = members.iter().map(|member| Floats::single(*member)).reduce(|a, b| a.join(&b));
        (all.expect("one at least"), members[at.index(members.len())])
    })
}

fn two() -> impl Strategy<Value = ((Floats, Float), (Floats, Float))> {
    select(FORMATS.to_vec()).prop_flat_map(|format| (set(format), set(format)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn results_are_covered(((xs, x), (ys, y)) in two(), op in select(OPS.to_vec())) {
        prop_assert!(xs.contains(x) && ys.contains(y));
        let result = eval::float::binary(op, x, y).expect("no half precision").canonical();
        let covered = xs.binary(op, &ys).is_none_or(|all| all.contains(result));
        prop_assert!(covered, "{x} {op:?} {y} = {result} of {xs}, {ys}: {:?}", xs.binary(op, &ys));
        prop_assert!(xs.negated().contains(x.negated().canonical()));
        prop_assert!(xs.truth().is_none_or(|truth| truth == eval::Value::Float(x).truth()));
    }

    #[test]
    fn one_number_has_one_result(((_, x), (_, y)) in two(), op in select(OPS.to_vec())) {
        let result = eval::float::binary(op, x, y).expect("no half precision").canonical();
        let computed = Floats::single(x).binary(op, &Floats::single(y)).and_then(|all| all.as_single());
        // Of divisions by zero, and of what is NaN, more is allowed.
        prop_assert!(result.is_nan() || y.is_zero() || computed == Some(result), "{x} {op:?} {y}: {computed:?}");
    }

    #[test]
    fn conditions_keep_what_satisfies_them(((xs, x), (ys, y)) in two(), op in select(COMPARES.to_vec())) {
        let holds = eval::float::compare(op, x, y).expect("one format");
        prop_assert!(xs.compare(op, &ys).is_none_or(|known| known == holds), "{x} {op:?} {y} of {xs}, {ys}");
        if holds {
            let (left, right) = xs.where_compares(op, &ys).expect("members with which it holds");
            prop_assert!(left.contains(x) && right.contains(y), "{x} {op:?} {y} of {xs}, {ys}: {left}, {right}");
            prop_assert!(left.leq(&xs) && right.leq(&ys));
        }
        if xs.are_ordered(&ys) {
            prop_assert!(x.compare(y).is_some());
        }
    }

    #[test]
    fn order_and_bounds(((xs, x), (ys, y)) in two()) {
        let joined = xs.join(&ys);
        prop_assert!(xs.leq(&joined) && ys.leq(&joined) && joined.contains(x) && joined.contains(y));
        match xs.meet(&ys) {
            Some(both) => {
                prop_assert!(both.leq(&xs) && both.leq(&ys));
                prop_assert_eq!(both.contains(x), ys.contains(x));
            }
            None => prop_assert!(!ys.contains(x) && !xs.contains(y)),
        }
        let widened = xs.widen(&joined, &[Float::from_f64(-1.0), Float::from_f64(1.0)]);
        prop_assert!(joined.leq(&widened));
        prop_assert_eq!(widened.widen(&widened.join(&xs), &[]), widened);
    }

    #[test]
    fn conversions_are_covered((xs, x) in select(FORMATS.to_vec()).prop_flat_map(set), to in select(FORMATS.to_vec())) {
        let converted = eval::float::cast(to, x).expect("no half precision").canonical();
        prop_assert!(xs.convert(to).is_none_or(|all| all.contains(converted)));
        if to > xs.format() {
            let wanted = Floats::single(converted);
            prop_assert!(wanted.converted_from(xs.format()).is_some_and(|back| back.contains(x)));
        }
        for ty in [IntType::INT, IntType { bits: 64, signed: false }] {
            if let Some((low, high)) = xs.to_integers(ty) {
                let integer = eval::float::to_int(ty, x).expect("every member has one");
                prop_assert!(low <= integer && integer <= high);
            }
        }
    }

    #[test]
    fn places_are_in_order(format in select(vec![FloatType::F32, FloatType::F64]), seed in any::<u64>(), other in any::<u64>()) {
        let of = |bits: u64| Float::from_bits(format, u128::from(bits)).expect("bits of a number").canonical();
        let (x, y) = (of(seed), of(other));
        let (a, b) = (Floats::place(x).expect("a place"), Floats::place(y).expect("a place"));
        prop_assert_eq!(Floats::at_place(format, a).map(Float::canonical), Some(x));
        if let Some(order) = x.compare(y) {
            prop_assert!(order.is_eq() || order == a.cmp(&b));
        }
        prop_assert!(!x.is_nan() || Floats::at_place(format, a + 1).is_none());
    }

    #[test]
    fn integers_are_covered(low in any::<i64>(), width in 0i64..1000, inside in 0i64..1000, to in select(FORMATS.to_vec())) {
        let (low, high) = (i128::from(low), i128::from(low) + i128::from(width));
        let value = (low + i128::from(inside)).min(high);
        let converted = eval::float::from_int(to, value).expect("no half precision");
        prop_assert!(Floats::from_integers(low, high, to).is_some_and(|all| all.contains(converted)));
    }
}
