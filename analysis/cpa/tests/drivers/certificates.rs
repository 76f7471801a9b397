//! The certificate checker must refuse what is not a certificate.

use crate::common::{values::Values, *};
use proofline_cpa::{arg::ProgramPoint, bam::Blocks, *};
use proofline_program_analysis::Environment;

/// f(n) = n == 0 ? g0 + 1 : f(n - 1), with a loop on the way; g0 starts as 0.
fn functions(claimed: i128) -> Vec<F> {
    let body = vec![
        when(eq(v("n"), k(0)), vec![S::Return(add(v("g0"), k(1)))]),
        S::While(lt(v("i"), k(2)), vec![set("i", add(v("i"), k(1)))]),
        call("r", "f", vec![sub(v("n"), k(1))]),
        S::Return(v("r")),
    ];
    let main = vec![S::Havoc("x"), call("r", "f", vec![v("x")]), S::Assert(eq(v("r"), k(claimed)))];
    vec![f("main", &[], &["x", "r"], main), f("f", &["n"], &["r", "i"], body)]
}

fn certificate(analysis: &Values, env: &Environment, blocks: Blocks) -> Certificate<Values> {
    let config = Config { certificate: true, blocks, ..Config::default() };
    let result = check(analysis, &question(env, &config), &Budget::unlimited());
    assert_eq!(result.outcome, Outcome::Holds);
    result.certificate.expect("a certificate was asked for")
}

#[test]
fn every_part_of_a_certificate_is_needed() {
    let env = program(TINY, &["g0"], functions(1));
    for blocks in [Blocks::FUNCTIONS, Blocks::ALL, Blocks::LOOPS, Blocks::NONE] {
        let analysis = Values::exact(TINY, &["g0"]);
        let whole = certificate(&analysis, &env, blocks);
        let verify = |c: &Certificate<Values>| c.verify(&analysis, &env, main_name(), &Budget::unlimited());
        let checked = verify(&whole).expect("it is a certificate");
        assert!(checked.states > 0 && checked.successors > 0);
        for (i, abstraction) in whole.abstractions.iter().enumerate() {
            let points: Vec<ProgramPoint> = abstraction.states.keys().copied().collect();
            for point in points {
                let mut damaged = whole.clone();
                damaged.abstractions[i].states.remove(&point);
                assert!(
                    verify(&damaged).is_err(),
                    "{blocks:?}: without {point:?} of {:?}",
                    abstraction.block
                );
            }
            for exit in 0..abstraction.exits.len() {
                let mut damaged = whole.clone();
                damaged.abstractions[i].exits.remove(exit);
                assert!(
                    verify(&damaged).is_err(),
                    "{blocks:?}: without exit {exit} of {:?}",
                    abstraction.block
                );
            }
            if i > 0 {
                // An entry may be there twice: inside a component and for itself.
                let mut damaged = whole.clone();
                damaged
                    .abstractions
                    .retain(|a| (&a.block, &a.entry) != (&abstraction.block, &abstraction.entry));
                assert!(verify(&damaged).is_err(), "{blocks:?}: without {:?}", abstraction.block);
            }
        }
    }
}

#[test]
fn a_certificate_is_about_one_program_and_one_property() {
    let env = program(TINY, &["g0"], functions(1));
    let analysis = Values::exact(TINY, &["g0"]);
    let whole = certificate(&analysis, &env, Blocks::FUNCTIONS);
    let other = program(TINY, &["g0"], functions(2));
    let error = whole.verify(&analysis, &other, main_name(), &Budget::unlimited());
    assert!(error.is_err(), "the other program is not safe");
    let error = whole.verify(&analysis, &env, proofline_cfa::Name::new("f"), &Budget::unlimited());
    assert!(matches!(error, Err(CertificateError::Malformed(_))));
    let error = whole.verify(&analysis, &env, main_name(), &Budget::steps(3));
    assert_eq!(error, Err(CertificateError::Unfinished(Unknown::OutOfBudget)));
    let damaged = {
        let mut damaged = whole.clone();
        let last = damaged.abstractions[0].states.keys().next_back().copied().expect("it has states");
        damaged.abstractions[0].states.remove(&last);
        damaged.verify(&analysis, &env, main_name(), &Budget::unlimited())
    };
    let text = damaged.expect_err("a state is missing").to_string();
    assert!(text.contains("main:"), "it says where: {text}");
}
