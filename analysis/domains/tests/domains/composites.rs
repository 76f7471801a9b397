//! The configurations A to F of [CPA10] §3.3 on programs of the three categories that the thesis tells apart. As there, abstractions are given
//! and nothing is refined; intervals stand where the thesis has shapes.

use std::collections::BTreeMap;

use proofline_cfa::{CheckId, Entry, Loc, Name};
use proofline_cpa::{
    Budget, Checker, Config, Outcome, Product, Question, Variant,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    PredicateAnalysis, PredicateOptions,
    predicate::{Blk, PredicatePrecision},
};
use proofline_smt::{Sort, Term, build as t};

use crate::common::{environment_with_error, intervals};

/// The letters of the configurations that prove the program, and the states that each made.
fn proving(code: &str, predicates: &[Term]) -> (String, BTreeMap<char, u64>) {
    let env = environment_with_error(code);
    let main = Name::new("main");
    let locations = env.function(main).expect("there is one").locations;
    let places = (0..locations).flat_map(|loc| predicates.iter().map(move |p| ((main, Loc(loc)), *p)));
    let precision = PredicatePrecision::default().with(places);
    let (mut letters, mut states) = (String::new(), BTreeMap::new());
    for (letter, variant) in Variant::THESIS {
        let options = PredicateOptions { blk: Blk::Edges, ..PredicateOptions::new(Entry::main()) };
        let left = PredicateAnalysis::new(env.clone(), options).expect("the shipped library");
        let both = Product::new(left, intervals(&env), variant);
        let config = Config { blocks: Blocks::NONE, cegar: false, certificate: true, ..Config::default() };
        let question = Question::new(&env, main, [CheckId::new("error-label")], config);
        let given = Some((precision.clone(), ()));
        let mut checker = Checker::new(&both, &question, given, MemoryStore::default()).expect("a body");
        let budget = Budget::steps(100_000);
        let outcome = checker.run(&budget);
        states.insert(letter, checker.statistics().nodes - checker.statistics().covered);
        if outcome == Outcome::Holds {
            letters.push(letter);
            let certificate = checker.into_verification(outcome).certificate.expect("asked for");
            let checked = certificate.verify(&both, &env, main, &Budget::unlimited());
            assert!(checked.is_ok(), "{letter}: {checked:?}");
        } else {
            assert!(matches!(outcome, Outcome::Reaches(_)), "{letter}: {outcome:?}");
        }
    }
    (letters, states)
}

fn int(name: &str) -> Term {
    t::named(&format!("main::{name}"), Sort::Int)
}

#[test]
fn where_the_joined_domain_suffices_all_six_prove() {
    let code = "extern int in(void); int main(void) { int x = in(), y;
        if (x > 3) y = 1; else y = 5;
        if (y < 1 || y > 5) { ERROR: return 1; } return 0; }";
    assert_eq!(proving(code, &[]).0, "ABCDEF");
}

#[test]
fn where_paths_must_be_told_apart_joining_at_every_location_alarms() {
    let code = "extern int in(void); int main(void) { int f = in(), y;
        if (f == 0) y = 1; else y = 5;
        if (f == 0) { if (y != 1) { ERROR: return 1; } } return 0; }";
    let zero = t::eq(int("f"), t::int(0));
    assert_eq!(proving(code, &[zero]).0, "ABCD");
    // Without the predicate, B, C and D still prove: they never join.
    assert_eq!(proving(code, &[]).0, "BCD");
}

#[test]
fn where_one_needs_what_the_other_knows_only_strengthening_proves() {
    // Intervals lose the bound of `i` at the loop; predicates keep it, and do not know the square.
    let code = "extern int in(void); int main(void) { int n = 100, i = 0, y;
        while (i != n) { i = i + 1; if (in()) break; }
        y = i * i;
        y = y + 1;
        if (y > 10001) { ERROR: return 1; } return 0; }";
    let hundred = t::int(100);
    let known = [t::eq(int("n"), hundred), t::le(int("i"), hundred), t::le(int("i"), t::int(99))];
    assert_eq!(proving(code, &known).0, "C");
}

#[test]
fn states_that_cover_together_are_what_d_adds() {
    // What comes third is covered by the first two, by neither alone.
    let code = "extern int in(void); int main(void) { int c = in(), x = in();
        if (c == 0) { if (x < 0 || x > 5) return 0; }
        else if (c == 1) { if (x < 6 || x > 9) return 0; }
        else { if (x < 3 || x > 7) return 0; }
        c = 0;
        x = x + 1; x = x + 1; x = x + 1;
        if (x > 12) { ERROR: return 1; } return 0; }";
    let (letters, states) = proving(code, &[]);
    assert_eq!(letters, "ABCDEF");
    assert!(states[&'D'] < states[&'B'], "{states:?}");
    assert_eq!(states[&'B'], states[&'C'], "there is nothing to strengthen");
    assert!(states[&'A'] <= states[&'D'], "joined states are fewer: {states:?}");
}
