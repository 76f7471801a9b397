//! The law of systems about cells of arrays: what invariants of them exclude does not happen. Small programs, which are
//! executed here as well.

use std::collections::BTreeMap;

use proofline_smt::{
    Limits, Sort, Term, Z3, build as t,
    horn::{Atom, Cells, HornSystem, PredId, Split, SymbolicAbstractionOptions, invariants_of_cells},
};
use proptest::prelude::*;

/// `for (i = from; i < to; i += step) written[scale * i + offset] = value`
#[derive(Clone, Debug)]
struct Loop {
    from: i64,
    to: i64,
    step: i64,
    scale: i64,
    offset: i64,
    writes_first: bool,
    value: Written,
}

/// What is written in a round.
#[derive(Clone, Debug)]
enum Written {
    /// `factor * i + constant`
    Number { factor: i64, constant: i64 },
    /// What the first array has at `i + offset`, and more.
    First { offset: i64, more: i64 },
    /// The same of the second.
    Second { offset: i64, more: i64 },
    /// The larger one of the first array's elements at `i` and at `i + offset`.
    Larger { offset: i64 },
}

/// How two numbers are to each other.
#[derive(Clone, Copy, Debug)]
enum Relation {
    Less,
    NotAbove,
    Above,
    Next,
    Same,
    Other,
}

/// That there are `k` and `l` between 0 and `most`, related, where `a[k]` and the other element are related so, too.
#[derive(Clone, Debug)]
struct Goal {
    most: i64,
    indices: Relation,
    elements: Relation,
    in_second: bool,
}

impl Relation {
    fn holds(self, a: i64, b: i64) -> bool {
        match self {
            Relation::Less => a < b,
            Relation::NotAbove => a <= b,
            Relation::Above => a > b,
            Relation::Next => a + 1 == b,
            Relation::Same => a == b,
            Relation::Other => a != b,
        }
    }

    fn term(self, a: Term, b: Term) -> Term {
        match self {
            Relation::Less => t::lt(a, b),
            Relation::NotAbove => t::le(a, b),
            Relation::Above => t::lt(b, a),
            Relation::Next => t::eq(t::add([a, t::int(1)]), b),
            Relation::Same => t::eq(a, b),
            Relation::Other => t::ne(a, b),
        }
    }
}

type Array = BTreeMap<i64, i64>;

fn read(array: &Array, index: i64) -> i64 {
    array.get(&index).copied().unwrap_or(0)
}

/// Whether the goal is reached.
fn happens(loops: &[Loop], goal: &Goal) -> bool {
    let (mut first, mut second) = (Array::new(), Array::new());
    for one in loops {
        let mut i = one.from;
        while i < one.to {
            let value = match one.value {
                Written::Number { factor, constant } => factor * i + constant,
                Written::First { offset, more } => read(&first, i + offset) + more,
                Written::Second { offset, more } => read(&second, i + offset) + more,
                Written::Larger { offset } => read(&first, i).max(read(&first, i + offset)),
            };
            let written = if one.writes_first { &mut first } else { &mut second };
            written.insert(one.scale * i + one.offset, value);
            i += one.step;
        }
    }
    let other = if goal.in_second { &second } else { &first };
    let pairs = (0..goal.most).flat_map(|k| (0..goal.most).map(move |l| (k, l)));
    pairs
        .filter(|(k, l)| goal.indices.holds(*k, *l))
        .any(|(k, l)| goal.elements.holds(read(&first, k), read(other, l)))
}

/// The same as clauses, a predicate for each loop.
fn clauses(loops: &[Loop], goal: &Goal) -> HornSystem {
    let array = Sort::array(Sort::Int, Sort::Int);
    let int = |name| t::named(name, Sort::Int);
    let (i, k, l) = (int("i"), int("k"), int("l"));
    let (first, second) = (t::named("first", array), t::named("second", array));
    let at = |predicate: PredId, args: [Term; 3]| Atom { predicate, args: args.to_vec() };
    let mut system = HornSystem::default();
    let heads: Vec<PredId> =
        loops.iter().map(|_| system.predicate("loop", &[Sort::Int, array, array])).collect();
    let zeros = t::const_array(array, t::int(0));
    system.rule(vec![], t::bool(true), Some(at(heads[0], [t::int(loops[0].from), zeros, zeros])));
    for (n, one) in loops.iter().enumerate() {
        let here = || vec![at(heads[n], [i, first, second])];
        let behind = |offset: i64| t::add([i, t::int(offset)]);
        let value = match one.value {
            Written::Number { factor, constant } => t::add([t::mul([t::int(factor), i]), t::int(constant)]),
            Written::First { offset, more } => t::add([t::select(first, behind(offset)), t::int(more)]),
            Written::Second { offset, more } => t::add([t::select(second, behind(offset)), t::int(more)]),
            Written::Larger { offset } => {
                let (a, b) = (t::select(first, i), t::select(first, behind(offset)));
                t::ite(t::lt(a, b), b, a)
            }
        };
        let index = t::add([t::mul([t::int(one.scale), i]), t::int(one.offset)]);
        let after = match one.writes_first {
            true => [behind(one.step), t::store(first, index, value), second],
            false => [behind(one.step), first, t::store(second, index, value)],
        };
        system.rule(here(), t::lt(i, t::int(one.to)), Some(at(heads[n], after)));
        let is_over = t::ge(i, t::int(one.to));
        match loops.get(n + 1) {
            Some(next) => {
                let begun = at(heads[n + 1], [t::int(next.from), first, second]);
                system.rule(here(), is_over, Some(begun));
            }
            None => {
                let other = if goal.in_second { second } else { first };
                let inside = [k, l]
                    .into_iter()
                    .flat_map(|index| [t::ge(index, t::int(0)), t::lt(index, t::int(goal.most))]);
                let related = [
                    is_over,
                    goal.indices.term(k, l),
                    goal.elements.term(t::select(first, k), t::select(other, l)),
                ];
                system.rule(here(), t::and(inside.chain(related)), None);
            }
        }
    }
    system
}

fn a_loop() -> impl Strategy<Value = Loop> {
    let value = prop_oneof![
        (-2..3i64, -2..3i64).prop_map(|(factor, constant)| Written::Number { factor, constant }),
        (-1..2i64, -1..2i64).prop_map(|(offset, more)| Written::First { offset, more }),
        (-1..2i64, -1..2i64).prop_map(|(offset, more)| Written::Second { offset, more }),
        (-1..2i64).prop_map(|offset| Written::Larger { offset }),
    ];
    let scale = prop_oneof![4 => Just(1i64), 1 => Just(-1i64), 1 => Just(2i64)];
    let step = prop_oneof![4 => Just(1i64), 1 => Just(2i64)];
    (-1..2i64, -1..8i64, step, scale, -1..3i64, any::<bool>(), value).prop_map(
        |(from, to, step, scale, offset, writes_first, value)| Loop {
            from,
            to,
            step,
            scale,
            offset,
            writes_first,
            value,
        },
    )
}

fn a_relation() -> impl Strategy<Value = Relation> {
    prop_oneof![
        Just(Relation::Less),
        Just(Relation::NotAbove),
        Just(Relation::Above),
        Just(Relation::Next),
        Just(Relation::Same),
        Just(Relation::Other)
    ]
}

fn a_goal() -> impl Strategy<Value = Goal> {
    (1..8i64, a_relation(), a_relation(), any::<bool>())
        .prop_map(|(most, indices, elements, in_second)| Goal { most, indices, elements, in_second })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn what_is_excluded_does_not_happen(
        loops in prop::collection::vec(a_loop(), 1..4),
        goal in a_goal(),
        (shared, all, pairs) in prop_oneof![
            (any::<bool>(), any::<bool>()).prop_map(|(shared, all)| (shared, all, false)),
            any::<bool>().prop_map(|all| (true, all, true)),
        ],
        split in prop_oneof![Just(Split::None), Just(Split::Prefixes), Just(Split::Indices), Just(Split::Equalities)],
    ) {
        let z3 = Z3::new().expect("the shipped library");
        let cells = clauses(&loops, &goal).about(Cells { shared, all, pairs }).expect("there are arrays");
        let limits = Limits::resource(2_000_000);
        let options = SymbolicAbstractionOptions { degree: 1, split, limits, questions: 600 };
        // Not to find any is no mistake.
        let Ok(found) = invariants_of_cells(&z3, &cells, options) else { return Ok(()) };
        let Ok(excluded) = found.excluded(&z3, &cells.system, limits) else { return Ok(()) };
        prop_assert!(excluded.is_empty() || !happens(&loops, &goal));
    }
}

#[test]
fn the_programs_above_are_executed_as_they_are_written() {
    let count = |to| Loop {
        from: 0,
        to,
        step: 1,
        scale: 1,
        offset: 0,
        writes_first: true,
        value: Written::Number { factor: 1, constant: 0 },
    };
    let falls = |most| Goal { most, indices: Relation::Next, elements: Relation::Other, in_second: false };
    let equal = |most| Goal { elements: Relation::Same, ..falls(most) };
    assert!(happens(&[count(5)], &falls(5)) && !happens(&[count(5)], &equal(5)));
    assert!(happens(&[count(5)], &equal(7)));
    let z3 = Z3::new().expect("the shipped library");
    let limits = Limits::resource(2_000_000);
    let excluded = |goal: &Goal| {
        let cells = clauses(&[count(5)], goal)
            .about(Cells { shared: true, all: false, pairs: false })
            .expect("arrays");
        let split = Split::Indices;
        let options = SymbolicAbstractionOptions { degree: 1, split, limits, questions: 2000 };
        let found = invariants_of_cells(&z3, &cells, options).expect("few questions");
        found.excluded(&z3, &cells.system, limits).expect("certified").len()
    };
    assert_eq!((excluded(&equal(5)), excluded(&equal(7)), excluded(&falls(5))), (1, 0, 0));
}

#[test]
fn that_an_array_is_sorted_is_found_in_pairs_of_cells() {
    let falling = Loop {
        from: 0,
        to: 5,
        step: 1,
        scale: 1,
        offset: 0,
        writes_first: true,
        value: Written::Number { factor: -1, constant: 0 },
    };
    let rising = Loop { from: 1, value: Written::Larger { offset: -1 }, ..falling.clone() };
    let loops = [falling, rising];
    let above = |indices| Goal { most: 5, indices, elements: Relation::Above, in_second: false };
    let equal = Goal { elements: Relation::Same, ..above(Relation::Next) };
    assert!(!happens(&loops, &above(Relation::Less)) && happens(&loops, &equal));
    let z3 = Z3::new().expect("the shipped library");
    let limits = Limits::resource(2_000_000);
    let excluded = |goal: &Goal| {
        let cells = clauses(&loops, goal).about(Cells { shared: true, all: true, pairs: true });
        let cells = cells.expect("arrays");
        let options =
            SymbolicAbstractionOptions { degree: 1, split: Split::Indices, limits, questions: 20_000 };
        let found = invariants_of_cells(&z3, &cells, options).expect("few questions");
        found.excluded(&z3, &cells.system, limits).expect("certified").len()
    };
    assert_eq!(excluded(&above(Relation::Next)), 1);
    assert_eq!(excluded(&above(Relation::Less)), 1);
    assert_eq!(excluded(&equal), 0);
}
