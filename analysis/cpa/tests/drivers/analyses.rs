//! The laws on the toy analyses, the variants of composites, counting.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    ranges::{Box_, Ranges},
    values::{Known, Values, Var},
    *,
};
use proofline_cfa::{BinaryOp, LocalId, Name, Object};
use proofline_cpa::*;

fn edges_program() -> std::sync::Arc<proofline_program_analysis::Environment> {
    let main = vec![
        S::Havoc("x"),
        set("g0", add(v("x"), k(1))),
        S::If(lt(v("x"), v("g0")), vec![set("x", v("g1"))], vec![S::Assume(eq(v("x"), k(2)))]),
    ];
    program(TINY, &["g0", "g1"], vec![f("main", &[], &["x"], main)])
}

/// Every combination of "unknown", 0 and 3 for two globals and a local.
fn known_states() -> Vec<Known> {
    let values = [None, Some(0), Some(3)];
    let mut states = Vec::new();
    for a in values {
        for b in values {
            for x in values {
                let globals = [(Name::new("g0"), a), (Name::new("g1"), b)];
                let globals = globals.into_iter().filter_map(|(g, value)| Some((g, value?))).collect();
                let locals: BTreeMap<LocalId, i128> = x.map(|x| (LocalId(1), x)).into_iter().collect();
                states.push(Known { globals, frames: vec![(main_name(), locals)] });
            }
        }
    }
    states
}

struct Concretely<'a>(&'a Values);
impl Semantics<Values> for Concretely<'_> {
    type Concrete = Known;
    fn members(&self, state: &Known) -> Vec<Known> {
        let mut full = state.clone();
        let (mut members, mut next) = (Vec::new(), 0);
        for fill in [0, 1, 3] {
            for g in ["g0", "g1"] {
                full.globals.entry(Name::new(g)).or_insert((fill + next) % 4);
                next += 1;
            }
            for local in [LocalId(0), LocalId(1)] {
                full.frames[0].1.entry(local).or_insert(fill);
            }
            members.push(std::mem::replace(&mut full, state.clone()));
        }
        members
    }
    fn contains(&self, state: &Known, concrete: &Known) -> bool {
        self.0.leq(concrete, state)
    }
    fn step(&self, concrete: &Known, edge: EdgeContext<'_>) -> Vec<Known> {
        Values::exact(TINY, &["g0", "g1"]).transfer(concrete, &None, edge, &NoFacts)
    }
}

/// Runs `test` with the edges, places and blocks of `main`.
fn with_samples<A: Cpa>(states: &[A::State], precisions: &[A::Precision], test: impl FnOnce(Samples<'_, A>)) {
    let env = edges_program();
    let function = env.function(main_name()).expect("it has a body");
    let edges: Vec<EdgeContext<'_>> =
        function.edge_ids().map(|(id, edge)| EdgeContext { function, id, edge }).collect();
    let places =
        [true, false].map(|is_loop_head| LocationContext { function, loc: function.entry, is_loop_head });
    let id = BlockId::Function(main_name());
    let (all, some, locals) = (
        BTreeSet::from([Object::Global(Name::new("g0")), Object::Global(Name::new("g1"))]),
        BTreeSet::from([Object::Global(Name::new("g0"))]),
        BTreeSet::from([LocalId(1)]),
    );
    let looped = BlockId::Loop(main_name(), function.entry);
    let blocks = [
        BlockContext { id: &id, function, objects: Some(&all), locals: None },
        BlockContext { id: &looped, function, objects: Some(&some), locals: Some(&locals) },
    ];
    test(Samples { states, precisions, edges: &edges, places: &places, blocks: &blocks });
}

#[test]
fn toy_analyses_keep_the_laws() {
    let states = known_states();
    for values in [Values::exact(TINY, &["g0", "g1"]), Values::forgetful(TINY, &["g0", "g1"])] {
        let precisions = [Some(BTreeSet::from([Var::Global(Name::new("g0"))])), Some(BTreeSet::new()), None];
        with_samples(&states, &precisions, |samples| {
            check_laws(&values, &samples).unwrap_or_else(|broken| panic!("{broken}"));
            check_semantics(&values, &Concretely(&values), &samples)
                .unwrap_or_else(|broken| panic!("{broken}"));
        });
    }
    let boxes: Vec<Box_> = known_states()
        .into_iter()
        .map(|known| Box_ {
            globals: known.globals.into_iter().map(|(g, value)| (g, (0, value.min(2)))).collect(),
            frames: known
                .frames
                .into_iter()
                .map(|(f, locals)| (f, locals.into_iter().map(|(l, value)| (l, (value, 3))).collect()))
                .collect(),
        })
        .collect();
    let ranges = Ranges::new(TINY, &["g0", "g1"]);
    with_samples(&boxes, &[], |samples| {
        check_laws(&ranges, &samples).unwrap_or_else(|broken| panic!("{broken}"));
    });
    let pairs: Vec<(Known, Box_)> = states.iter().cloned().zip(boxes.iter().rev().cloned()).collect();
    for (_, variant) in Variant::THESIS {
        let product =
            Product::new(Values::forgetful(TINY, &["g0", "g1"]), Ranges::new(TINY, &["g0", "g1"]), variant);
        with_samples(&pairs, &[], |samples| {
            check_laws(&product, &samples).unwrap_or_else(|broken| panic!("{broken}"));
        });
    }
}

#[test]
fn a_broken_law_is_named() {
    // Forgetting to drop what havoc overwrites.
    let states = known_states();
    let honest = Values::forgetful(TINY, &["g0", "g1"]);
    struct Wrong<'a>(Concretely<'a>);
    impl Semantics<Values> for Wrong<'_> {
        type Concrete = Known;
        fn members(&self, state: &Known) -> Vec<Known> {
            self.0.members(state)
        }
        fn contains(&self, state: &Known, concrete: &Known) -> bool {
            self.0.contains(state, concrete)
        }
        fn step(&self, concrete: &Known, edge: EdgeContext<'_>) -> Vec<Known> {
            let mut next = self.0.step(concrete, edge);
            for state in &mut next {
                state.globals.insert(Name::new("g1"), 1);
            }
            next
        }
    }
    with_samples(&states, &[], |samples| {
        let broken =
            check_semantics(&honest, &Wrong(Concretely(&honest)), &samples).expect_err("it is broken");
        assert_eq!(broken.law, "(d) transfer over-approximates");
    });
}

/// x is a key, y depends on it.
fn keyed() -> Vec<F> {
    let main = vec![
        S::Havoc("c"),
        S::If(eq(v("c"), k(0)), vec![set("x", k(1)), set("y", k(1))], vec![set("x", k(2)), set("y", k(5))]),
        S::If(eq(v("x"), k(1)), vec![S::Assert(eq(v("y"), k(1)))], vec![S::Assert(eq(v("y"), k(5)))]),
    ];
    vec![f("main", &[], &["c", "x", "y"], main)]
}

fn tracking(names: &[u32]) -> Values {
    let tracked = names.iter().map(|&i| Var::Local(main_name(), LocalId(i))).collect();
    Values { tracked: Some(tracked), ..Values::forgetful(INT, &[]) }
}

#[test]
fn the_variants_of_the_thesis_differ_as_it_says() {
    let env = program(INT, &[], keyed());
    for (letter, variant) in Variant::THESIS {
        let product = Product::new(tracking(&[2]), Ranges::new(INT, &[]), variant);
        let outcome = check(&product, &question(&env, &Config::default()), &Budget::unlimited()).outcome;
        let proves = matches!(letter, 'A' | 'B' | 'C' | 'D');
        assert_eq!(outcome == Outcome::Holds, proves, "{letter}: {outcome:?}");
    }
    let tuple = (tracking(&[2]), Ranges::new(INT, &[]));
    let outcome = check(&tuple, &question(&env, &Config::default()), &Budget::unlimited()).outcome;
    assert_eq!(outcome, Outcome::Holds, "merge-agree keeps states with different keys apart");
}

#[test]
fn strengthening_is_what_variant_c_adds() {
    // Ranges know no products; values do not track y.
    let product = E::Bin(BinaryOp::Mul, Box::new(v("x")), Box::new(v("x")));
    let main = vec![set("x", k(3)), set("y", product), S::Assert(eq(v("y"), k(9)))];
    let env = program(INT, &[], vec![f("main", &[], &["x", "y"], main)]);
    for (letter, variant) in Variant::THESIS {
        let analysis = Product::new(tracking(&[1]), Ranges::new(INT, &[]), variant);
        let outcome = check(&analysis, &question(&env, &Config::default()), &Budget::unlimited()).outcome;
        assert_eq!(outcome == Outcome::Holds, letter == 'C', "{letter}: {outcome:?}");
    }
}

#[test]
fn precision_can_move_between_components() {
    // x has many values: left stops tracking it at once, and right's ranges prove the property.
    let main = vec![
        S::While(lt(v("x"), k(1000)), vec![set("x", add(v("x"), k(1)))]),
        S::Assert(le(k(1000), v("x"))),
    ];
    let env = program(INT, &[], vec![f("main", &[], &["x"], main)]);
    let mut product = Product::new(Values::forgetful(INT, &[]), Ranges::new(INT, &[]), Variant::DEFAULT);
    let config = Config::default();
    let slow = check(&product, &question(&env, &config), &Budget::unlimited());
    product.exchange = Some(|_, _, (left, _), (tracked, ()), at| {
        let many = left.frames[0].1.get(&LocalId(1)).is_some_and(|&x| x > 3);
        let without = if many && at.is_loop_head { Some(BTreeSet::new()) } else { tracked };
        (without, ())
    });
    let fast = check(&product, &question(&env, &config), &Budget::unlimited());
    assert_eq!((slow.outcome, fast.outcome), (Outcome::Holds, Outcome::Holds));
    assert!(fast.statistics.successors * 10 < slow.statistics.successors);
}
