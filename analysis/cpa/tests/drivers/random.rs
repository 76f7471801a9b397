//! Random small programs with loops and arbitrary recursion: every driver configuration is sound, agrees with the others, and,
//! for an exact domain, precise. The truth comes from concrete exploration and from replaying the paths.

use std::sync::Arc;

use crate::common::{
    brute::{self, Truth},
    located::Located,
    ranges::Ranges,
    values::{Merging, Values},
    *,
};
use proofline_cfa::CompareOp;
use proofline_cpa::{
    bam::{Blocks, ForgetfulStore},
    *,
};
use proofline_program_analysis::Environment;
use proptest::prelude::*;

const GLOBALS: [&str; 2] = ["g0", "g1"];

fn variable() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "g0", "g1"])
}

fn expression() -> impl Strategy<Value = E> {
    let leaf = prop_oneof![(0..4i128).prop_map(k), variable().prop_map(v)];
    prop_oneof![
        3 => leaf.clone(),
        1 => (leaf.clone(), leaf.clone()).prop_map(|(a, b)| add(a, b)),
        1 => (leaf.clone(), leaf).prop_map(|(a, b)| sub(a, b)),
    ]
}

fn condition() -> impl Strategy<Value = E> {
    let op = prop::sample::select(vec![CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le]);
    (op, variable().prop_map(v), expression()).prop_map(|(op, a, b)| cmp(op, a, b))
}

fn statements(depth: u32) -> BoxedStrategy<Vec<S>> {
    let simple = prop_oneof![
        4 => (variable(), expression()).prop_map(|(x, e)| set(x, e)),
        1 => variable().prop_map(S::Havoc),
        2 => (prop::option::of(variable()), prop::sample::select(vec!["p", "q"]), expression())
            .prop_map(|(dst, f, e)| S::Call(dst, f, vec![e])),
        1 => condition().prop_map(S::Assert),
        1 => condition().prop_map(S::Assume),
        1 => expression().prop_map(S::Return),
    ];
    let one = if depth == 0 {
        simple.boxed()
    } else {
        prop_oneof![
            5 => simple,
            2 => (condition(), statements(depth - 1), statements(depth - 1)).prop_map(|(c, a, b)| S::If(c, a, b)),
            1 => (condition(), statements(depth - 1)).prop_map(|(c, body)| S::While(c, body)),
        ]
        .boxed()
    };
    prop::collection::vec(one, 1..4).boxed()
}

fn functions() -> impl Strategy<Value = Vec<F>> {
    (statements(1), statements(2), statements(2)).prop_map(|(mut main, p, q)| {
        // Without an assertion there is nothing to find.
        main.push(S::Assert(ne(v("g0"), v("g1"))));
        vec![f("main", &[], &["a", "b"], main), f("p", &["a"], &["b"], p), f("q", &["a"], &["b"], q)]
    })
}

const ALL_BLOCKS: [Blocks; 4] = [Blocks::FUNCTIONS, Blocks::ALL, Blocks::LOOPS, Blocks::NONE];

fn sound<A: BlockCpa + Refine>(
    analysis: &A,
    env: &Environment,
    config: Config,
    budget: u64,
    truth: Truth,
) -> Result<Outcome<A::Witness>, TestCaseError> {
    let config = Config { certificate: true, ..config };
    // Inlined recursion has states as deep as its stack.
    let budget = if config.blocks.functions { budget } else { 500 };
    let result = check(analysis, &question(env, &config), &Budget::steps(budget));
    if result.outcome == Outcome::Holds {
        prop_assert_ne!(truth, Truth::Violated, "unsound with {:?}", config);
        let certificate = result.certificate.expect("`Holds` comes with a certificate");
        let checked = certificate.verify(analysis, env, main_name(), &Budget::unlimited());
        prop_assert!(checked.is_ok(), "{:?}: {}", config, checked.unwrap_err());
    }
    Ok(result.outcome)
}

fn is_feasible(env: &Environment, path: &Path) -> bool {
    let globals: Vec<_> = GLOBALS.iter().map(|g| proofline_cfa::Name::new(g)).collect();
    brute::feasible(env, TINY, &globals, path)
}

fn exact_everywhere(env: &Arc<Environment>) -> Result<(), TestCaseError> {
    let truth = brute::truth(env, TINY, &GLOBALS, 5, 20_000);
    let analysis = Values::exact(TINY, &GLOBALS);
    let mut verdicts = Vec::new();
    for blocks in ALL_BLOCKS {
        for order in Order::ALL {
            let config = Config { order, blocks, ..Config::default() };
            match sound(&analysis, env, config, 60_000, truth)? {
                Outcome::Holds => verdicts.push(true),
                Outcome::Reaches(path) => {
                    prop_assert!(is_feasible(env, &path), "{:?}: an exact domain's path is real", config);
                    verdicts.push(false);
                }
                // Inlined recursion may be infinite.
                unknown => prop_assert!(!blocks.functions, "{:?}: {:?}", config, unknown),
            }
        }
    }
    prop_assert!(verdicts.windows(2).all(|w| w[0] == w[1]), "configurations disagree");
    match truth {
        Truth::Safe => prop_assert!(verdicts.iter().all(|&holds| holds)),
        Truth::Violated => prop_assert!(verdicts.iter().all(|&holds| !holds)),
        Truth::Open => {}
    }
    Ok(())
}

fn abstractions_everywhere(env: &Arc<Environment>) -> Result<(), TestCaseError> {
    let truth = brute::truth(env, TINY, &GLOBALS, 5, 20_000);
    let configs = ALL_BLOCKS.into_iter().zip(Order::ALL).flat_map(|(blocks, order)| {
        [false, true].map(|restart| Config { order, blocks, restart, max_unrollings: 1, ..Config::default() })
    });
    for config in configs {
        let forgetful = Values::forgetful(TINY, &GLOBALS);
        sound(&forgetful, env, config, 20_000, truth)?;
        let joining = Values { merging: Merging::Join, ..Values::forgetful(TINY, &GLOBALS) };
        sound(&joining, env, config, 20_000, truth)?;
        sound(&Ranges::new(TINY, &GLOBALS), env, config, 20_000, truth)?;
        for merging in [Merging::Separate, Merging::Join] {
            let blind = Values { merging, ..Values::blind(env, TINY, &GLOBALS) };
            match sound(&blind, env, config, 20_000, truth)? {
                Outcome::Holds => {}
                Outcome::Reaches(path) => prop_assert!(is_feasible(env, &path)),
                Outcome::Unknown(Unknown::NoProgress(_)) => {}
                Outcome::Unknown(Unknown::OutOfBudget) => prop_assert!(!config.blocks.functions),
                Outcome::Unknown(why) => prop_assert!(false, "{:?}: {}", config, why),
            }
        }
        match sound(&Located::new(env, TINY, &GLOBALS), env, config, 20_000, truth)? {
            Outcome::Holds => {}
            Outcome::Reaches(path) => prop_assert!(is_feasible(env, &path)),
            // With every location tracked it is exact.
            Outcome::Unknown(why) => {
                prop_assert!(!config.blocks.functions || why == Unknown::OutOfBudget, "{:?}: {}", config, why)
            }
        }
        for (_, variant) in Variant::THESIS.into_iter().chain([(' ', Variant::DEFAULT)]) {
            let product = Product::new(
                Values { drop_unseen: false, ..Values::blind(env, TINY, &GLOBALS) },
                Ranges::new(TINY, &GLOBALS),
                variant,
            );
            sound(&product, env, config, 20_000, truth)?;
        }
        sound(&(Values::forgetful(TINY, &GLOBALS), Ranges::new(TINY, &GLOBALS)), env, config, 20_000, truth)?;
    }
    Ok(())
}

fn interruptions_do_not_matter(env: &Arc<Environment>) -> Result<(), TestCaseError> {
    let blind = Values::blind(env, TINY, &GLOBALS);
    for blocks in [Blocks::FUNCTIONS, Blocks::ALL] {
        let config = Config { blocks, ..Config::default() };
        let whole = check(&blind, &question(env, &config), &Budget::unlimited());
        let store = ForgetfulStore::default();
        let forgetting = Checker::new(&blind, &question(env, &config), None, store);
        let forgetting = forgetting.map(|mut checker| checker.run(&Budget::steps(100_000)));
        prop_assert!(forgetting.is_ok());
        if let Ok(outcome) = forgetting
            && outcome != Outcome::Unknown(Unknown::OutOfBudget)
        {
            prop_assert_eq!(&outcome, &whole.outcome, "the cache is transparent");
        }
        let store = bam::MemoryStore::default();
        let checker = Checker::new(&blind, &question(env, &config), None, store);
        prop_assert!(checker.is_ok());
        let Ok(mut checker) = checker else { continue };
        let mut steps = 5;
        let outcome = loop {
            match checker.run(&Budget::steps(steps)) {
                Outcome::Unknown(Unknown::OutOfBudget) => steps += 5,
                outcome => break outcome,
            }
        };
        prop_assert_eq!(&outcome, &whole.outcome);
        let again =
            check_from(&blind, &question(env, &config), Some(whole.precision.clone()), &Budget::unlimited());
        // With another precision other paths come first, and the toy may be stuck at one; but nothing is contradicted.
        let contradict = |a: &Outcome, b: &Outcome| *a == Outcome::Holds && matches!(b, Outcome::Reaches(_));
        prop_assert!(
            !contradict(&again.outcome, &whole.outcome) && !contradict(&whole.outcome, &again.outcome)
        );
    }
    Ok(())
}

/// Few by default; `PROPTEST_CASES` for a long run.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

/// A block whose precision was refined goes on from what it has, also from what it had read before it read it anew.
#[test]
fn a_refined_block_rests_on_all_that_is_left_of_what_it_read() {
    let main = vec![
        S::While(lt(v("g0"), k(1)), vec![S::Call(None, "p", vec![k(0)])]),
        S::Call(None, "q", vec![k(0)]),
        S::Assert(ne(v("g0"), v("g1"))),
    ];
    let functions = vec![
        f("main", &[], &["a", "b"], main),
        f("p", &["a"], &["b"], vec![S::Havoc("g0")]),
        f("q", &["a"], &["b"], vec![S::Assume(eq(v("a"), k(0)))]),
    ];
    abstractions_everywhere(&program(TINY, &GLOBALS, functions)).expect("sound");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_exact_domain_is_sound_and_precise_in_every_configuration(functions in functions()) {
        exact_everywhere(&program(TINY, &GLOBALS, functions))?;
    }

    #[test]
    fn abstract_domains_are_sound_in_every_configuration(functions in functions()) {
        abstractions_everywhere(&program(TINY, &GLOBALS, functions))?;
    }

    #[test]
    fn interruptions_and_caches_change_no_verdict(functions in functions()) {
        interruptions_do_not_matter(&program(TINY, &GLOBALS, functions))?;
    }
}
