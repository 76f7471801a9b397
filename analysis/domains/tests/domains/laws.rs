//! Laws of the operators on values, against exact evaluation: forwards every concrete result is covered, backwards no operand that gives
//! a wanted result is lost; order, bounds and widening of ranges and regions.

use proofline_cfa::{
    BinaryOp, CompareOp, IntType, Object, Scalar,
    eval::{self, Overflow},
};
use proofline_domains::{
    interval::{Arith, IntervalValue, Ranges},
    store::{
        Abstract, AbstractValue, Offsets,
        region::{Access, Region},
    },
    value::ExplicitValue,
};
use proptest::{collection::vec, prelude::*, sample::select};

const TYPES: [IntType; 8] = [
    IntType { bits: 8, signed: true },
    IntType { bits: 8, signed: false },
    IntType { bits: 16, signed: true },
    IntType { bits: 32, signed: true },
    IntType { bits: 32, signed: false },
    IntType { bits: 64, signed: true },
    IntType { bits: 64, signed: false },
    IntType { bits: 128, signed: true },
];
const OPS: [BinaryOp; 10] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
];
const COMPARES: [CompareOp; 6] =
    [CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge, CompareOp::Eq, CompareOp::Ne];

/// Numbers that make trouble: near zero, near the ends of types, near powers of two.
fn number() -> impl Strategy<Value = i128> {
    let edge = (0u32..127, -3i128..=3, any::<bool>()).prop_map(|(bits, near, negative)| {
        let power = 1i128 << bits;
        if negative { near - power } else { power + near }
    });
    prop_oneof![4 => -20i128..=20, 3 => edge, 1 => any::<i64>().prop_map(i128::from)]
}

fn number_of(ty: IntType) -> impl Strategy<Value = i128> {
    prop_oneof![
        6 => number().prop_map(move |value| ty.wrap(value)),
        1 => Just(ty.min()),
        1 => Just(ty.max())
    ]
}

/// A set of the type and one of its elements.
fn set_of(ty: IntType) -> impl Strategy<Value = (Ranges, i128)> {
    let ranges =
        vec((number_of(ty), prop_oneof![3 => Just(0i128), 3 => 0i128..40, 1 => Just(i128::MAX)]), 1..5);
    (ranges, any::<proptest::sample::Index>(), any::<u64>()).prop_map(move |(ranges, which, at)| {
        let parts = ranges.into_iter().map(|(lo, width)| (lo, lo.saturating_add(width).min(ty.max())));
        let set = Ranges::union_of(parts).expect("not empty");
        let (lo, hi) = set.parts()[which.index(set.parts().len())];
        let element = match hi.checked_sub(lo).and_then(|width| width.checked_add(1)) {
            Some(count) if at & 3 != 0 => lo + i128::from(at >> 2) % count,
            _ if at & 4 == 0 => lo,
            _ => hi,
        };
        (set, element)
    })
}

fn typed() -> impl Strategy<Value = (IntType, (Ranges, i128), (Ranges, i128))> {
    select(TYPES.to_vec()).prop_flat_map(|ty| (Just(ty), set_of(ty), set_of(ty)))
}

fn overflow() -> impl Strategy<Value = Overflow> {
    select(vec![Overflow::Undefined, Overflow::Wraps])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_are_covered((ty, (xs, x), (ys, y)) in typed(), op in select(OPS.to_vec()), overflow in overflow()) {
        let arith = Arith { overflow };
        if let Some(result) = eval::int::binary(op, ty, x, y, overflow) {
            let covered = arith.binary(op, ty, &xs, &ys);
            prop_assert!(covered.as_ref().is_ok_and(|set| set.contains(result)), "{x} {op:?} {y} = {result} not in {covered:?}");
        }
    }

    #[test]
    fn operands_survive_going_backwards(
        (ty, (xs, x), (ys, y)) in typed(),
        op in select(OPS.to_vec()),
        overflow in overflow(),
        wider in 0i128..5,
    ) {
        let arith = Arith { overflow };
        if let Some(result) = eval::int::binary(op, ty, x, y, overflow) {
            let wanted = Ranges::new(result.saturating_sub(wider).max(ty.min()), result.saturating_add(wider / 2).min(ty.max()));
            let found = arith.backward(op, ty, &xs, &ys, &wanted);
            let survives = found.as_ref().is_ok_and(|(left, right)| {
                left.as_ref().known().is_none_or(|set| set.contains(x)) && right.as_ref().known().is_none_or(|set| set.contains(y))
            });
            prop_assert!(survives, "{x} {op:?} {y} = {result}, wanted {wanted}: {found:?}");
        }
    }

    #[test]
    fn operands_survive_conditions((ty, (xs, x), (ys, y)) in typed(), op in select(OPS.to_vec()), overflow in overflow()) {
        let arith = Arith { overflow };
        if let Some(outside) = eval::int::overflows(op, ty, x, y) {
            let found = arith.where_overflows(op, ty, &xs, &ys, outside);
            let survives = found.as_ref().is_ok_and(|(left, right)| {
                left.as_ref().known().is_none_or(|set| set.contains(x)) && right.as_ref().known().is_none_or(|set| set.contains(y))
            });
            prop_assert!(survives, "{x} {op:?} {y} overflows: {outside}; {found:?}");
        }
    }

    #[test]
    fn conversions_wrap((_, (xs, x), _) in typed(), to in select(TYPES.to_vec())) {
        prop_assert!(xs.wrap(to).contains(to.wrap(x)));
    }

    #[test]
    fn order_and_bounds((ty, (xs, x), (ys, y)) in typed(), (zs, _) in set_of(TYPES[3])) {
        let joined = xs.join(&ys);
        prop_assert!(xs.leq(&xs) && xs.leq(&joined) && ys.leq(&joined) && joined.contains(x) && joined.contains(y));
        if xs.leq(&ys) {
            prop_assert!(ys.contains(x));
            prop_assert!(!ys.leq(&zs) || xs.leq(&zs), "transitive");
        }
        if ys.contains(x) {
            prop_assert!(xs.meet(&ys).is_some_and(|both| both.contains(x)));
        }
        if x != y {
            prop_assert!(xs.without(y).is_some_and(|rest| rest.contains(x)));
        }
        prop_assert!(joined.leq(&xs.widen(&joined, &[-10, 0, 10, 100], ty)), "widening is above the join");
    }

    #[test]
    fn comparisons_keep_what_satisfies_them((_, (xs, x), (ys, y)) in typed(), op in select(COMPARES.to_vec())) {
        use proofline_cfa::eval::int::compare;
        let domain = common_domain();
        let (left, right) = (IntervalValue::Int(xs.clone()), IntervalValue::Int(ys.clone()));
        let ty = Scalar::Int(TYPES[7]);
        use proofline_domains::store::Arithmetic;
        let decided = domain.compare(op, ty, Abstract::Of(&left), Abstract::Of(&right), &Nothing);
        prop_assert!(decided.is_none_or(|decided| decided == compare(op, x, y)));
        if compare(op, x, y) {
            let kept = domain.where_compares(op, ty, Abstract::Of(&left), Abstract::Of(&right), &Nothing);
            let contains = |side: &Abstract<IntervalValue>, value| match side {
                Abstract::Of(IntervalValue::Int(set)) => set.contains(value),
                Abstract::Of(_) => false,
                Abstract::Any => true,
            };
            prop_assert!(kept.as_ref().is_ok_and(|(l, r)| contains(l, x) && contains(r, y)), "{x} {op:?} {y}: {kept:?}");
        }
    }

    #[test]
    fn going_back_through_a_conversion_keeps_the_argument(
        ((xs, x), from) in select(TYPES.to_vec()).prop_flat_map(|ty| (set_of(ty), Just(ty))),
        to in select(TYPES.to_vec()),
        wider in 0i128..4,
    ) {
        use proofline_domains::store::Arithmetic;
        let result = to.wrap(x);
        let wanted = IntervalValue::Int(Ranges::new(result, result.saturating_add(wider).min(to.max())));
        let kept = common_domain().cast_backward(Scalar::Int(from), Scalar::Int(to), Abstract::Of(&IntervalValue::Int(xs)), &wanted);
        let contains = match &kept {
            Ok(Abstract::Of(IntervalValue::Int(set))) => set.contains(x),
            Ok(Abstract::Any) => true,
            Ok(Abstract::Of(_)) | Err(_) => false,
        };
        prop_assert!(contains, "({to}){x} = {result}: {kept:?}");
    }

    /// However a sequence grows, widening it comes to an end soon.
    #[test]
    fn widening_ends(start in set_of(TYPES[3]), more in vec(set_of(TYPES[3]), 60)) {
        let (ty, thresholds) = (TYPES[3], [-100, -1, 0, 1, 10, 100, 1000]);
        let (mut now, mut changes) = (start.0, 0);
        for (next, _) in more {
            let joined = now.join(&next);
            let widened = now.widen(&joined, &thresholds, ty);
            prop_assert!(now.leq(&widened) && next.leq(&widened));
            changes += usize::from(widened != now);
            now = widened;
        }
        // Each bound passes each threshold once; each gap closes once.
        prop_assert!(changes <= 2 * (thresholds.len() + 2) + 4, "{changes} changes");
    }

    #[test]
    fn offsets_are_sets(a in offsets(), b in offsets(), lo in -40i64..40, hi in -40i64..40) {
        let elements = |set: Offsets| set.iter().take(200).collect::<Vec<_>>();
        let contains = |set: Offsets, at: i64| Offsets::at(at).leq(set);
        for x in elements(a) {
            prop_assert!(contains(a, x) && contains(a.join(b), x));
            prop_assert!(!a.leq(b) || contains(b, x));
            prop_assert!(elements(b).into_iter().all(|y| contains(a.plus(b), x + y)));
            prop_assert_eq!(lo <= x && x <= hi, a.clip(lo, hi).is_some_and(|clipped| contains(clipped, x)));
            let widened = a.widen(a.join(b));
            prop_assert!(contains(widened, x) && elements(b).into_iter().all(|y| contains(widened, y)));
        }
    }

    /// A region of explicit values against plain bytes: after the same writes every known read is right.
    #[test]
    fn regions_agree_with_bytes(
        writes in vec(write(), 0..12),
        reads in vec((0i64..24, width()), 1..12),
        other in vec(write(), 0..6),
        tracks in any::<bool>(),
    ) {
        let empty = || if tracks { Region::tracking() } else { Region::unknown() };
        let (mut region, mut bytes) = (empty(), [None; 32]);
        writes.iter().for_each(|write| write.apply(&mut region, &mut bytes));
        for (at, bits) in &reads {
            check(&region, &bytes, *at, *bits)?;
        }
        // Another history: the bound covers both.
        let (mut second, mut second_bytes) = (empty(), [None; 32]);
        other.iter().for_each(|write| write.apply(&mut second, &mut second_bytes));
        let joined = region.combine(&second, &mut |scalar, old: &ExplicitValue, new| old.join(new, scalar));
        prop_assert!(region.leq(&joined) && second.leq(&joined) && region.leq(&region));
        // What is said to have a value was written, and what both say their bound says.
        for at in 0..32i64 {
            let says = |region: &Region<ExplicitValue>| region.has_values(at * 8, at * 8 + 8);
            prop_assert!(!tracks || !says(&region) || bytes[at as usize].is_some(), "byte {} of {:?}", at, region);
            prop_assert!(!tracks || says(&joined) == (says(&region) && says(&second)), "byte {} of {:?}", at, joined);
        }
        for (at, bits) in reads {
            check(&joined, &bytes, at, bits)?;
            check(&joined, &second_bytes, at, bits)?;
        }
    }
}

fn common_domain() -> proofline_domains::interval::Intervals {
    proofline_domains::interval::Intervals { semantics: crate::concrete::SEMANTICS }
}

struct Nothing;
impl proofline_domains::store::Objects for Nothing {
    fn is_single(&self, _: Object) -> bool {
        false
    }
    fn size(&self, _: Object) -> Option<u64> {
        None
    }
}

fn offsets() -> impl Strategy<Value = Offsets> {
    prop_oneof![
        (-20i64..20).prop_map(Offsets::at),
        (-20i128..20, 0i128..60, 1u64..9).prop_map(|(lo, width, step)| Offsets::range(lo, lo + width, step))
    ]
}

fn width() -> impl Strategy<Value = i64> {
    select(vec![8i64, 16, 32, 64])
}

/// Something done to a region and to bytes.
#[derive(Clone, Debug)]
enum Write {
    /// Strong, at a byte.
    Scalar(i64, i64, i128),
    /// At one of several places; the choice is the concrete one.
    Somewhere(Offsets, usize, i64, i128),
    Zeros(i64, i64),
    Forget(i64, i64),
    Fill(i64, i64, u8),
    /// Of a value that is not known.
    Unknown(i64, i64, i128),
    /// The same at one of several places.
    UnknownSomewhere(Offsets, usize, i64, i128),
    /// Written or not, where something had been written.
    Scramble(i64, i64, u8),
}

fn write() -> impl Strategy<Value = Write> {
    let value = prop_oneof![Just(0i128), -3i128..4, any::<i32>().prop_map(i128::from)];
    let places = (0i128..8, 0i128..16, select(vec![1u64, 2, 4, 8]))
        .prop_map(|(lo, w, step)| Offsets::range(lo, lo + w, step));
    prop_oneof![
        5 => (0i64..24, width(), value.clone()).prop_map(|(at, bits, value)| Write::Scalar(at, bits, value)),
        2 => (0i64..24, width(), value.clone()).prop_map(|(at, bits, value)| Write::Unknown(at, bits, value)),
        1 => (places.clone(), any::<usize>(), width(), value.clone())
            .prop_map(|(p, which, bits, value)| Write::UnknownSomewhere(p, which, bits, value)),
        1 => (0i64..16, 1i64..16, any::<u8>()).prop_map(|(at, len, byte)| Write::Scramble(at, len, byte)),
        4 => (places, any::<usize>(), width(), value).prop_map(|(p, which, bits, value)| Write::Somewhere(p, which, bits, value)),
        2 => (0i64..16, 1i64..16).prop_map(|(at, len)| Write::Zeros(at, len)),
        1 => (0i64..24, 1i64..8).prop_map(|(at, len)| Write::Forget(at, len)),
        1 => (0i64..16, 1i64..16, any::<u8>()).prop_map(|(at, len, byte)| Write::Fill(at, len, byte)),
    ]
}

fn access(at: i64, bits: i64) -> Access {
    let scalar = Scalar::Int(IntType { bits: bits as u8, signed: true });
    Access { start: at * 8, len: bits, room: bits, scalar }
}

impl Write {
    fn apply(&self, region: &mut Region<ExplicitValue>, bytes: &mut [Option<u8>; 32]) {
        let mut put = |at: i64, bits: i64, value: i128| {
            for i in 0..bits / 8 {
                bytes[(at + i) as usize] = Some((value >> (8 * i)) as u8);
            }
        };
        match *self {
            Write::Scalar(at, bits, value) => {
                let value = IntType { bits: bits as u8, signed: true }.wrap(value);
                region.write(access(at, bits), Abstract::Of(ExplicitValue::Int(value)));
                put(at, bits, value);
            }
            Write::Somewhere(places, which, bits, value) => {
                let value = IntType { bits: bits as u8, signed: true }.wrap(value);
                region.write_somewhere(places, access(0, bits), Abstract::Of(&ExplicitValue::Int(value)));
                let all: Vec<i64> = places.iter().collect();
                put(all[which % all.len()], bits, value);
            }
            Write::Unknown(at, bits, value) => {
                region.write(access(at, bits), Abstract::Any);
                put(at, bits, value);
            }
            Write::UnknownSomewhere(places, which, bits, value) => {
                region.write_somewhere(places, access(0, bits), Abstract::Any);
                let all: Vec<i64> = places.iter().collect();
                put(all[which % all.len()], bits, value);
            }
            Write::Scramble(at, len, byte) => {
                region.scramble(at * 8, (at + len) * 8);
                for i in at..at + len {
                    bytes[i as usize] = bytes[i as usize].map(|_| byte);
                }
            }
            Write::Zeros(at, len) => {
                region.write_zeros(at * 8, (at + len) * 8);
                (at..at + len).for_each(|i| bytes[i as usize] = Some(0));
            }
            Write::Forget(at, len) => {
                region.forget(at * 8, (at + len) * 8);
                (at..at + len).for_each(|i| bytes[i as usize] = None);
            }
            Write::Fill(at, len, byte) => {
                let scalar = Scalar::Int(IntType { bits: 8, signed: false });
                region.write_bytes(at * 8, (at + len) * 8, scalar, ExplicitValue::Int(i128::from(byte)));
                (at..at + len).for_each(|i| bytes[i as usize] = Some(byte));
            }
        }
    }
}

/// What is read as known is what the bytes say. (Bytes that were never written may be anything: then nothing may be known.)
fn check(
    region: &Region<ExplicitValue>,
    bytes: &[Option<u8>; 32],
    at: i64,
    bits: i64,
) -> Result<(), TestCaseError> {
    if let Abstract::Of(ExplicitValue::Int(known)) = region.read(access(at, bits)) {
        let concrete = (0..bits / 8)
            .try_fold(0u128, |all, i| Some(all | u128::from(bytes[(at + i) as usize]?) << (8 * i)));
        let concrete = concrete.map(|value| IntType { bits: bits as u8, signed: true }.wrap(value as i128));
        prop_assert_eq!(concrete, Some(known), "{} bits at {}: {:?}", bits, at, region);
    }
    Ok(())
}
