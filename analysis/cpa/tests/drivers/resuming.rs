//! Runs that stop and go on.

use crate::common::{ranges::Ranges, values::Values, *};
use proofline_cpa::{bam::MemoryStore, *};

fn loops() -> Vec<F> {
    let body = vec![S::While(lt(v("i"), v("n")), vec![set("i", add(v("i"), k(1)))]), S::Return(v("i"))];
    let main = vec![
        call("a", "p", vec![k(3)]),
        call("b", "p", vec![k(2)]),
        S::Assert(ne(v("a"), v("b"))),
        S::Assert(ne(v("a"), k(1))),
    ];
    vec![f("main", &[], &["a", "b"], main), f("p", &["n"], &["i"], body)]
}

#[test]
fn stopping_at_every_step_changes_nothing() {
    let env = program(INT, &[], loops());
    let values = Values::forgetful(INT, &[]);
    let config = Config::default();
    let whole = check(&values, &question(&env, &config), &Budget::unlimited());
    assert_eq!(whole.outcome, Outcome::Holds);
    let mut checker = Checker::new(&values, &question(&env, &config), None, MemoryStore::default())
        .expect("main has a body");
    let mut stops = 0;
    let outcome = loop {
        // Two steps are enough for any node of this program.
        match checker.run(&Budget::steps(2)) {
            Outcome::Unknown(Unknown::OutOfBudget) => stops += 1,
            outcome => break outcome,
        }
    };
    assert!(stops > 10);
    assert_eq!(outcome, Outcome::Holds);
    let (stopped, unstopped) = (checker.statistics(), whole.statistics);
    assert_eq!(
        (stopped.nodes, stopped.blocks, stopped.merges),
        (unstopped.nodes, unstopped.blocks, unstopped.merges)
    );
}

#[test]
fn cancelling_stops_at_once_and_can_be_resumed() {
    let env = program(INT, &[], loops());
    let values = Values::forgetful(INT, &[]);
    let mut checker =
        Checker::new(&values, &question(&env, &Config::default()), None, MemoryStore::default())
            .expect("main has a body");
    let cancel = Cancel::default();
    cancel.cancel();
    let outcome = checker.run(&Budget::unlimited().with_cancel(cancel));
    assert_eq!(outcome, Outcome::Unknown(Unknown::Cancelled));
    assert_eq!(checker.run(&Budget::unlimited()), Outcome::Holds);
}

#[test]
fn after_a_path_the_search_goes_on_and_never_says_holds() {
    let main = vec![
        S::Havoc("x"),
        S::If(eq(v("x"), k(1)), vec![S::Assert(ne(v("x"), k(1)))], vec![S::Assert(ne(v("x"), k(2)))]),
    ];
    let env = program(TINY, &[], vec![f("main", &[], &["x"], main)]);
    let values = Values::exact(TINY, &[]);
    let mut checker =
        Checker::new(&values, &question(&env, &Config::default()), None, MemoryStore::default())
            .expect("main has a body");
    let mut targets = Vec::new();
    let last = loop {
        match checker.run(&Budget::unlimited()) {
            Outcome::Reaches(path) => targets.push(path.target),
            last => break last,
        }
    };
    targets.sort();
    assert_eq!(targets.len(), 2);
    assert_ne!(targets[0], targets[1]);
    assert!(matches!(last, Outcome::Unknown(Unknown::Unconfirmed(_))), "{last:?}");
}

#[test]
fn the_precision_a_run_ended_with_saves_the_next_one_its_refinements() {
    let env = program(TINY, &[], loops());
    let blind = Values::blind(&env, TINY, &[]);
    let config = Config::default();
    let first = check(&blind, &question(&env, &config), &Budget::unlimited());
    assert_eq!(first.outcome, Outcome::Holds);
    assert!(first.statistics.refinements > 0);
    let again =
        check_from(&blind, &question(&env, &config), Some(first.precision.clone()), &Budget::unlimited());
    assert_eq!((again.outcome, again.statistics.refinements), (Outcome::Holds, 0));
    assert_eq!(again.precision, first.precision);
}

#[test]
fn graphs_and_summaries_can_be_read() {
    let env = program(INT, &[], loops());
    let counting = Counting::new(Ranges::new(INT, &[]));
    let mut checker =
        Checker::new(&counting, &question(&env, &Config::default()), None, MemoryStore::default())
            .expect("main has a body");
    let _ = checker.run(&Budget::unlimited());
    assert!(counting.count(Operator::Transfer) > 10 && counting.count(Operator::WidenEntry) == 0);
    let (mut text, mut dot, mut summaries) = (String::new(), String::new(), String::new());
    checker.write_graphs(&mut text, GraphFormat::Text).expect("strings can be written to");
    checker.write_graphs(&mut dot, GraphFormat::Dot).expect("strings can be written to");
    checker.write_summaries(&mut summaries).expect("strings can be written to");
    assert!(
        text.contains("merged from") && text.contains("TARGET o0") && text.contains("summary of p"),
        "{text}"
    );
    assert!(dot.starts_with("digraph") && dot.matches("digraph").count() == 3, "main, and p for two entries");
    assert_eq!(summaries.matches("enters:").count(), 3, "{summaries}");
}
