//! Predicate analysis with the drivers: summaries people can read, certificates checked again, the laws of its operators.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{CheckId, Entry, Loc, Name, Op};
use proofline_cpa::{
    BlockContext, BlockCpa, BlockId, Budget, Checker, Config, EdgeContext, Outcome, Question, Samples,
    bam::{Blocks, MemoryStore},
    check_laws,
};
use proofline_domains::{PredicateAnalysis, PredicateOptions, predicate::PredicatePrecision};
use proofline_program_analysis::Environment;
use proofline_smt::{Sort, build as t};
use proptest::{collection::vec, prelude::*};

use crate::common::environment_with_error as environment;

fn analysis(env: &Arc<Environment>) -> PredicateAnalysis {
    let options = PredicateOptions::new(Entry::main());
    PredicateAnalysis::new(env.clone(), options).expect("the shipped library")
}

const ADD: &str = "
    extern int __VERIFIER_nondet_int(void);
    int add(int m, int n) { if (n == 0) return m; return add(m + 1, n - 1); }
    int main(void) {
        int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
        if (a < 0 || b < 0 || a > 1000 || b > 1000) return 0;
        int r = add(a, b);
        if (r != a + b) { ERROR: return 1; }
        return 0;
    }";

#[test]
fn a_recursive_sum_has_a_readable_summary_and_a_certificate() {
    let env = environment(ADD);
    let analysis = analysis(&env);
    let config = Config { blocks: Blocks::FUNCTIONS, certificate: true, ..Config::default() };
    let (main, checks) = (Name::new("main"), [CheckId::new("error-label")]);
    let store = MemoryStore::default();
    let mut checker = Checker::new(&analysis, &Question::new(&env, main, checks, config), None, store)
        .expect("main has a body");
    let budget = Budget::steps(200_000);
    let outcome = checker.run(&budget);
    assert_eq!(outcome, Outcome::Holds);
    let mut text = String::new();
    checker.write_summaries(&mut text).expect("text");
    assert!(text.contains("ret = m₀ + n₀"), "{text}");
    let verification = checker.into_verification(outcome);
    let certificate = verification.certificate.expect("asked for");
    let checked = certificate.verify(&analysis, &env, main, &budget);
    assert!(checked.is_ok_and(|checked| checked.applications > 0));
    // What is claimed of another program is found out.
    let wrong = environment(&ADD.replace("add(m + 1,", "add(m + 2,"));
    let other = self::analysis(&wrong);
    assert!(certificate.verify(&other, &wrong, main, &budget).is_err());
}

/// A program whose `main` has a loop, a call and statements that are chosen.
fn code_of(choices: &[u8]) -> String {
    const STATEMENTS: [&str; 8] = [
        "x = y + 1;",
        "y = x - g;",
        "g = next(x);",
        "if (x > y) { x--; } else { g = 7; }",
        "if (y == g) { y = 2 * x; }",
        "while (y < 10) { y++; g = y; }",
        "x = __VERIFIER_nondet_int();",
        "if (x < 0 || g > 100) { return 0; }",
    ];
    let body: String =
        choices.iter().map(|choice| STATEMENTS[usize::from(*choice) % STATEMENTS.len()]).collect();
    format!(
        "extern int __VERIFIER_nondet_int(void);
        int g;
        int next(int n) {{ g++; return n < 5 ? n + 1 : next(n - 5); }}
        int main(void) {{
            int x = __VERIFIER_nondet_int(), y = 0;
            if (x < -50 || x > 50) return 0;
            {body}
            if (g == x + 3) {{ ERROR: return 1; }}
            return x;
        }}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_operators_obey_the_laws(choices in vec(any::<u8>(), 1..4)) {
        let code = code_of(&choices);
        let env = environment(&code);
        let analysis = analysis(&env);
        let (main, checks) = (Name::new("main"), [CheckId::new("error-label")]);
        let config = Config::default();
        let mut checker =
            Checker::new(&analysis, &Question::new(&env, main, checks, config), None, MemoryStore::default()).expect("main has a body");
        checker.run(&Budget::steps(8_000));
        let reached = checker.states_of(main).expect("states");
        let states: Vec<_> = reached.into_values().flatten().step_by(3).take(6).collect();
        let function = env.function(main).expect("a body");
        let edges: Vec<EdgeContext<'_>> = function
            .edge_ids()
            .filter(|(_, edge)| !matches!(edge.op, Op::Call(_)))
            .map(|(id, edge)| EdgeContext { function, id, edge })
            .take(10)
            .collect();
        let objects = env.reads(main).union(env.writes(main)).copied().collect();
        let id = BlockId::Function(main);
        let block = BlockContext { id: &id, function, objects: Some(&objects), locals: None };
        let precisions = [checker.precision().clone(), Default::default()];
        let samples =
            Samples { states: &states, precisions: &precisions, edges: &edges, places: &[], blocks: &[block] };
        check_laws(&analysis, &samples).unwrap_or_else(|broken| panic!("{broken}\n{code}"));
        // Nothing of the caller is in a state, so nothing is lost at the border of a block.
        for state in &states {
            let reduced = analysis.reduce(state, block);
            let back = analysis.expand(state, block, &reduced);
            prop_assert_eq!(back.as_ref(), Some(state));
        }
    }

    #[test]
    fn what_holds_has_a_certificate(choices in vec(any::<u8>(), 1..4)) {
        let code = code_of(&choices);
        let env = environment(&code);
        let analysis = analysis(&env);
        let (main, checks) = (Name::new("main"), [CheckId::new("error-label")]);
        let config = Config { certificate: true, ..Config::default() };
        let mut checker =
            Checker::new(&analysis, &Question::new(&env, main, checks, config), None, MemoryStore::default()).expect("main has a body");
        let outcome = checker.run(&Budget::steps(8_000));
        let holds = outcome == Outcome::Holds;
        let certificate = checker.into_verification(outcome).certificate;
        prop_assert_eq!(holds, certificate.is_some());
        if let Some(certificate) = certificate {
            let checked = certificate.verify(&analysis, &env, main, &Budget::unlimited());
            prop_assert!(checked.is_ok(), "{:?}\n{}", checked, code);
        }
    }
}

#[test]
fn predicates_are_carried_to_other_functions_and_back() {
    let (f, g, loc) = (Name::new("f"), Name::new("g"), Loc(3));
    let predicate = t::le(t::named("f::x", Sort::Int), t::named("::global", Sort::Int));
    let here = PredicatePrecision::default().with([((f, loc), predicate)]);
    let there =
        here.carried(&|_| vec![g], &|from, to, name| name.replace(&format!("{from}::"), &format!("{to}::")));
    assert_eq!(there.at(f, loc).len(), 0);
    let expected = t::le(t::named("g::x", Sort::Int), t::named("::global", Sort::Int));
    assert_eq!(there.at(g, loc), BTreeSet::from([expected]));
    let back = there.carried(&|_| vec![f], &|_, _, name| name.replace("g::", "f::"));
    assert_eq!(back, here);
}
