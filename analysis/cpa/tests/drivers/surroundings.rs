//! What is not in the program: external calls, what is not supported.

use crate::common::{located::Located, values::Values, *};
use proofline_cfa::CheckId;
use proofline_cpa::{bam::Blocks, *};
use proofline_program_analysis::Environment;
use std::collections::BTreeSet;

fn outcome(env: &Environment, globals: &[&str], blocks: Blocks) -> Outcome {
    let config = Config { blocks, ..Config::default() };
    let values = Values::exact(TINY, globals);
    check(&values, &question(env, &config), &Budget::steps(50_000)).outcome
}

const ALL: [Blocks; 4] = [Blocks::FUNCTIONS, Blocks::ALL, Blocks::LOOPS, Blocks::NONE];

#[test]
fn an_external_call_may_change_globals_and_return_anything() {
    for (property, holds) in [(eq(v("g0"), k(0)), false), (ne(v("x"), k(3)), false), (eq(v("y"), k(0)), true)]
    {
        let main = vec![call("x", "mystery", vec![k(1)]), S::Assert(property)];
        let env = program(TINY, &["g0"], vec![f("main", &[], &["x", "y"], main)]);
        for blocks in ALL {
            let outcome = outcome(&env, &["g0"], blocks);
            assert_eq!(outcome == Outcome::Holds, holds, "{blocks:?}: {outcome:?}");
        }
    }
}

#[test]
fn reaching_what_is_not_supported_makes_the_verdict_unknown() {
    let p =
        vec![S::While(lt(v("a"), k(2)), vec![set("a", add(v("a"), k(1)))]), S::Unsupported, S::Return(k(1))];
    let with =
        |main: Vec<S>| program(TINY, &[], vec![f("main", &[], &["x"], main), f("p", &["a"], &[], p.clone())]);
    for blocks in ALL {
        let reached = with(vec![call("x", "p", vec![k(0)])]);
        let unknown = outcome(&reached, &[], blocks);
        assert!(
            matches!(&unknown, Outcome::Unknown(Unknown::Unsupported(what)) if what.contains("setjmp in p")),
            "{blocks:?}: {unknown:?}"
        );
        let not_reached = with(vec![S::Assume(eq(v("x"), k(1))), call("x", "p", vec![k(0)])]);
        assert_eq!(outcome(&not_reached, &[], blocks), Outcome::Holds, "{blocks:?}");
        // A violation is one, whatever else there is.
        let violated = with(vec![
            S::Havoc("x"),
            when(eq(v("x"), k(1)), vec![call("x", "p", vec![k(0)])]),
            S::Assert(eq(v("x"), k(1))),
        ]);
        let reaches = outcome(&violated, &[], blocks);
        assert!(matches!(reaches, Outcome::Reaches(_)), "{blocks:?}: {reaches:?}");
    }
}

#[test]
fn refinement_excludes_what_only_seemed_to_reach_it() {
    let main = vec![set("x", k(1)), when(eq(v("x"), k(2)), vec![call("x", "p", vec![k(0)])])];
    let env =
        program(TINY, &[], vec![f("main", &[], &["x"], main), f("p", &["a"], &[], vec![S::Unsupported])]);
    for blocks in ALL {
        let config = Config { blocks, ..Config::default() };
        let analysis = Located::new(&env, TINY, &[]);
        let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
        assert_eq!(result.outcome, Outcome::Holds, "{blocks:?}");
        assert!(result.statistics.refinements > 0);
    }
}

#[test]
fn an_obligation_that_is_not_selected_ends_the_run_quietly() {
    let main = vec![S::Havoc("x"), S::Assert(eq(v("x"), k(1)))];
    let env = program(TINY, &[], vec![f("main", &[], &["x"], main)]);
    let values = Values::exact(TINY, &[]);
    let others = BTreeSet::from([CheckId::new("division-by-zero")]);
    let result = check(
        &values,
        &Question { checks: others, ..question(&env, &Config::default()) },
        &Budget::unlimited(),
    );
    assert_eq!(result.outcome, Outcome::Holds);
}
