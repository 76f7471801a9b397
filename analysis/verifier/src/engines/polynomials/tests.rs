//! Laws of ideals and of facts, on random ones that are made to hold at a random point: what is derived from them must hold there, too.

use num_bigint::BigInt;

use super::{
    divisibility::Divides,
    exponentials,
    facts::{Division, Facts},
    ideal::{Equation, Ideal, Ring},
    polynomial::{Polynomial, Symbol},
    refutation::is_refuted,
    vanishing::vanishing,
};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn small(&mut self) -> BigInt {
        BigInt::from(self.below(13) as i64 - 6)
    }

    fn polynomial(&mut self, symbols: u32) -> Polynomial {
        let mut sum = Polynomial::constant(self.small());
        for _ in 0..1 + self.below(4) {
            let mut term = Polynomial::constant(self.small());
            for _ in 0..1 + self.below(3) {
                term = term.times(&Polynomial::symbol(Symbol(self.below(u64::from(symbols)) as u32)));
            }
            sum = sum.plus(&term);
        }
        sum
    }
}

fn value(polynomial: &Polynomial, point: &[BigInt]) -> BigInt {
    let at = |symbol: Symbol| Some(Polynomial::constant(point[symbol.0 as usize].clone()));
    polynomial.substituted(&at).as_constant().expect("no symbols are left")
}

fn is_zero(value: &BigInt, ring: Ring) -> bool {
    match ring {
        Ring::Integers | Ring::Quotient => *value == BigInt::ZERO,
        Ring::Modulo(bits) => value % (BigInt::from(1) << bits) == BigInt::ZERO,
    }
}

#[test]
fn what_follows_from_equations_holds_where_they_hold() {
    let (mut random, mut members, mut reduced) = (Random(7), 0, 0);
    for round in 0..300 {
        let ring = [Ring::Integers, Ring::Modulo(4), Ring::Modulo(32)][round % 3];
        let point: Vec<BigInt> = (0..4).map(|_| random.small()).collect();
        let mut generators = Vec::new();
        for _ in 0..1 + random.below(3) {
            let any = random.polynomial(4);
            // Shifted, so that it is zero at the point.
            let polynomial = any.minus(&Polynomial::constant(value(&any, &point)));
            generators.push(Equation { polynomial, ring });
        }
        let ideal = Ideal::new(ring, &generators);
        assert!(!ideal.is_contradictory(), "{generators:?} at {point:?}");
        let any = random.polynomial(4);
        let normal = ideal.normal_form(&any);
        reduced += usize::from(normal != ring.polynomial(&any));
        assert!(
            is_zero(&(value(&any, &point) - value(&normal, &point)), ring),
            "{any:?}: {normal:?} by {generators:?}"
        );
        // Combinations are members; what is a member is zero.
        let combined = generators.iter().fold(Polynomial::default(), |sum, generator| {
            sum.plus(&random.polynomial(4).times(&generator.polynomial))
        });
        for candidate in [any, combined] {
            if ideal.contains(&candidate) {
                members += 1;
                assert!(is_zero(&value(&candidate, &point), ring), "{candidate:?} by {generators:?}");
            }
        }
    }
    assert!(members > 140 && reduced > 60, "{members} {reduced}");
}

#[test]
fn facts_that_hold_somewhere_do_not_contradict_each_other() {
    let (mut random, mut narrowed, mut at_most) = (Random(11), 0, 0);
    for _ in 0..400 {
        let mut point: Vec<BigInt> = (0..3).map(|_| random.small()).collect();
        let mut facts = Facts::default();
        for _ in 0..3 {
            facts.fresh((BigInt::from(-6), BigInt::from(6)));
        }
        for _ in 0..1 + random.below(3) {
            let any = random.polynomial(3);
            let at = value(&any, &point);
            match random.below(4) {
                0 => facts.equations.push(Equation {
                    polynomial: any.minus(&Polynomial::constant(at)),
                    ring: [Ring::Integers, Ring::Modulo(8)][random.below(2) as usize],
                }),
                1 => facts.at_most.push(any.minus(&Polynomial::constant(at + random.below(2)))),
                2 => facts.different.push(Equation {
                    polynomial: any.minus(&Polynomial::constant(at - 1)),
                    ring: Ring::Integers,
                }),
                _ => {
                    let divisor = BigInt::from(2 + random.below(3));
                    point.extend([&at / &divisor, &at % &divisor]);
                    let bounds = || (BigInt::from(-100_000), BigInt::from(100_000));
                    let (quotient, remainder) = (facts.fresh(bounds()), facts.fresh(bounds()));
                    let product = Polynomial::symbol(quotient).scaled(&divisor);
                    let sum = product.plus(&Polynomial::symbol(remainder));
                    facts.equations.push(Equation { polynomial: any.minus(&sum), ring: Ring::Integers });
                    facts.divisions.push(Division { dividend: any, divisor, quotient, remainder });
                }
            }
        }
        let mut closed = facts.clone().closed();
        assert!(!closed.is_refuted(), "{facts:?} hold at {point:?}");
        let any = random.polynomial(3);
        let sum = facts
            .at_most
            .iter()
            .fold(Polynomial::default(), |sum, one| sum.plus(&one.scaled(&BigInt::from(random.below(3)))));
        for candidate in [any.minus(&Polynomial::constant(5)), sum] {
            if closed.is_at_most_zero(&candidate) {
                at_most += 1;
                assert!(value(&candidate, &point) <= BigInt::ZERO, "{candidate:?}: {facts:?} at {point:?}");
            }
        }
        for (symbol, (low, high)) in closed.facts.bounds.iter().enumerate().take(point.len()) {
            assert!(*low <= point[symbol] && point[symbol] <= *high, "{symbol} of {facts:?} at {point:?}");
            narrowed += usize::from(facts.bounds[symbol] != (low.clone(), high.clone()));
        }
    }
    assert!(narrowed > 100 && at_most > 200, "{narrowed} {at_most}");
}

#[test]
fn powers_are_products_of_powers() {
    let mut facts = Facts::default();
    let symbol = facts.fresh((BigInt::from(0), BigInt::from(1 << 20)));
    let one = Polynomial::constant(1);
    facts
        .different
        .push(Equation { polynomial: Polynomial::symbol(symbol).minus(&one), ring: Ring::Integers });
    let two = BigInt::from(2);
    facts.powers.push((symbol, two.clone()));
    let mut closed = facts.closed();
    assert!(!closed.is_impossible());
    assert!(closed.is_power(&Polynomial::symbol(symbol).scaled(&BigInt::from(4)), &two));
    assert!(!closed.is_power(&Polynomial::symbol(symbol).scaled(&BigInt::from(6)), &two));
    assert!(!closed.is_power(&Polynomial::symbol(symbol).plus(&one), &two));
    // It is even.
    assert!(closed.facts.bounds[symbol.0 as usize].0 >= two);
}

#[test]
fn what_holds_somewhere_is_not_refuted() {
    let mut random = Random(13);
    for _ in 0..200 {
        let point: Vec<BigInt> = (0..3).map(|_| random.small()).collect();
        let mut holding = || {
            let any = random.polynomial(3);
            let at = value(&any, &point);
            any.minus(&Polynomial::constant(at + random.below(2)))
        };
        let facts: Vec<Polynomial> = (0..4).map(|_| holding()).collect();
        let goal = holding();
        assert!(!is_refuted(&facts, &goal), "{facts:?} and {goal:?} hold at {point:?}");
    }
}

#[test]
fn sums_and_products_refute() {
    let [x, y, n] = [0, 1, 2].map(|symbol| Polynomial::symbol(Symbol(symbol)));
    let number = |value: i32| Polynomial::constant(value);
    let at_least = |polynomial: &Polynomial, least: i32| number(least).minus(polynomial);
    // x <= y, y <= n and n < x.
    let chain = [x.minus(&y), y.minus(&n)];
    assert!(is_refuted(&chain, &n.minus(&x).plus(&number(1))));
    assert!(!is_refuted(&chain, &n.minus(&x)));
    // x >= 1, y >= 2 and x * y <= 1: the product of (x - 1) and (y - 2) is at least 0.
    let positive = [at_least(&x, 1), at_least(&y, 2)];
    assert!(is_refuted(&positive, &x.times(&y).minus(&number(1))));
    assert!(!is_refuted(&positive, &x.times(&y).minus(&number(2))));
    // 3 <= x <= 5 and x * x >= 26.
    let range = [at_least(&x, 3), x.minus(&number(5))];
    assert!(is_refuted(&range, &at_least(&x.times(&x), 26)));
    assert!(!is_refuted(&range, &at_least(&x.times(&x), 25)));
}

#[test]
fn what_is_found_to_divide_does() {
    let (mut random, mut found) = (Random(17), 0);
    for _ in 0..400 {
        let point: Vec<BigInt> = (0..3).map(|_| random.small()).collect();
        let divisor = Polynomial::symbol(Symbol(0));
        let by = value(&divisor, &point);
        let divides = |polynomial: &Polynomial| match value(polynomial, &point) {
            at if by == BigInt::ZERO => at == BigInt::ZERO,
            at => at % &by == BigInt::ZERO,
        };
        let mut facts = Facts::default();
        for _ in 0..3 {
            facts.fresh((BigInt::from(-9), BigInt::from(9)));
        }
        for _ in 0..4 {
            let dividend = random.polynomial(3);
            if divides(&dividend) {
                facts.divides.push(Divides { divisor: divisor.clone(), dividend });
            }
        }
        let any = random.polynomial(3);
        let equation = any.minus(&Polynomial::constant(value(&any, &point)));
        facts.equations.push(Equation { polynomial: equation, ring: Ring::Integers });
        let known = facts.divides.clone();
        let mut closed = facts.closed();
        assert!(!closed.is_impossible(), "{known:?} at {point:?}");
        let combined = known.iter().fold(divisor.times(&random.polynomial(3)), |sum, one| {
            sum.plus(&random.polynomial(3).times(&one.dividend))
        });
        for dividend in [random.polynomial(3), combined.scaled(&BigInt::from(2)), combined] {
            let half = dividend.map(|coefficient| coefficient / 2);
            for dividend in [dividend, half] {
                if closed.divides(&Divides { divisor: divisor.clone(), dividend: dividend.clone() }) {
                    found += 1;
                    assert!(divides(&dividend), "{dividend:?} by {known:?} at {point:?}");
                }
            }
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
fn powers_with_exponents_are_multiples_of_each_other() {
    let mut random = Random(19);
    for _ in 0..200 {
        let (n, by) = (BigInt::from(random.below(8)), random.below(4) as i32 - 1);
        let mut facts = Facts::default();
        let symbol = facts.fresh((&n - random.below(3), &n + random.below(3)));
        let exponent = Polynomial::symbol(symbol);
        let shifted = exponent.plus(&Polynomial::constant(by));
        let powers = [facts.exponential(3, &exponent), facts.exponential(3, &shifted)];
        let values = [exponentials::value(3, &n), exponentials::value(3, &(&n + by))];
        let closed = facts.closed();
        let mut point = vec![n.clone()];
        point.extend(values.clone());
        for equation in &closed.facts.equations {
            assert_eq!(value(&equation.polynomial, &point), BigInt::ZERO, "{equation:?} at {point:?}");
        }
        for (power, at) in powers.iter().zip(&values) {
            let (low, high) = closed.facts.range(power);
            assert!(low <= *at && *at <= high, "{power:?} at {point:?}");
        }
    }
    assert_eq!(exponentials::value(2, &BigInt::from(-1)), BigInt::ZERO);
}

#[test]
fn polynomials_that_vanish_are_found_and_do() {
    let points: Vec<Vec<BigInt>> =
        (0..40).map(|n: i64| vec![n.into(), (n * (n + 1) / 2).into(), (2 * n + 1).into()]).collect();
    let found = vanishing(&points, 3, 2);
    assert!(found.iter().all(|polynomial| points.iter().all(|at| value(polynomial, at) == BigInt::ZERO)));
    // 2y = n (n + 1), z = 2n + 1.
    assert_eq!(found.len(), 2, "{found:?}");
    let few = vanishing(&points[..3], 3, 2);
    assert!(few.is_empty(), "three points say nothing: {few:?}");
}
