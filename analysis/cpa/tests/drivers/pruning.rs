//! Lazy abstraction: what pruning must and must not do.

use crate::common::{brute, located::Located, values::Values, *};
use proofline_cpa::{bam::Blocks, *};

/// Two ways to one place: x is 1 or 2 there, and must not be the forbidden value.
fn two_ways(forbidden: i128) -> Vec<F> {
    let way = |value: i128| vec![S::Assume(eq(v("g0"), k(0))), set("x", k(value))];
    let main =
        vec![S::Havoc("c"), S::If(eq(v("c"), k(0)), way(1), way(2)), S::Assert(ne(v("x"), k(forbidden)))];
    vec![f("main", &[], &["c", "x"], main)]
}

/// The unsoundness of [BAM15]'s refinement: the second way's state is covered by the first's. The refinement of the first
/// path removes the covering state; without covering edges the second way would not be looked at again.
#[test]
fn what_a_removed_state_covered_is_explored_again() {
    for forbidden in [1, 2] {
        let env = program(TINY, &["g0"], two_ways(forbidden));
        let analysis = Located::new(&env, TINY, &["g0"]);
        for order in Order::ALL {
            let config = Config { order, ..Config::default() };
            let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
            let Outcome::Reaches(path) = result.outcome else {
                panic!("{forbidden} {order:?}: x can be {forbidden}: {:?}", result.outcome)
            };
            assert!(brute::feasible(&env, TINY, &[], &path));
        }
    }
    let env = program(TINY, &["g0"], two_ways(3));
    let analysis = Located::new(&env, TINY, &["g0"]);
    let result = check(&analysis, &question(&env, &Config::default()), &Budget::steps(10_000));
    assert_eq!(result.outcome, Outcome::Holds);
}

#[test]
fn pruning_keeps_what_the_refinement_did_not_touch() {
    // A long prefix that the refinement has nothing to do with.
    let mut main: Vec<S> = (0..50).map(|i| set("c", k(i % 4))).collect();
    main.extend([set("x", k(1)), S::Assert(eq(v("x"), k(1)))]);
    let env = program(TINY, &[], vec![f("main", &[], &["c", "x"], main)]);
    let analysis = Located::new(&env, TINY, &[]);
    let steps = |restart| {
        let config = Config { restart, ..Config::default() };
        let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
        assert_eq!(result.outcome, Outcome::Holds);
        (result.statistics.successors, result.statistics.refinements)
    };
    let (lazy, refinements) = steps(false);
    let (restarting, _) = steps(true);
    assert!(refinements >= 1);
    assert!(lazy < restarting && lazy < 70, "lazy: {lazy}, restarting: {restarting}");
}

#[test]
fn summaries_whose_precision_did_not_change_are_used_again() {
    // p is long and has nothing to do with the property; q must be refined.
    let p: Vec<S> = (0..100).map(|i| set("b", k(i % 4))).collect();
    let q = vec![set("b", k(1)), S::Return(v("b"))];
    let main = vec![call("x", "p", vec![k(0)]), call("x", "q", vec![k(0)]), S::Assert(eq(v("x"), k(1)))];
    let functions = vec![f("main", &[], &["x"], main), f("p", &["a"], &["b"], p), f("q", &["a"], &["b"], q)];
    let env = program(TINY, &[], functions);
    let analysis = Located::new(&env, TINY, &[]);
    let config = Config { restart: true, ..Config::default() };
    let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
    assert_eq!(result.outcome, Outcome::Holds);
    assert!(result.statistics.refinements >= 2);
    assert!(result.statistics.successors < 200, "p was explored once: {}", result.statistics);
}

/// `f` is long, and what must be refined is at its end; `main` is refined behind it.
fn refined_inside() -> Vec<F> {
    let mut body: Vec<S> = (0..100).map(|i| set("b", k(i % 4))).collect();
    body.extend([set("b", k(1)), S::Assert(eq(v("b"), k(1))), S::Return(v("b"))]);
    let main = vec![call("x", "f", vec![k(0)]), S::Assert(eq(v("x"), k(1)))];
    vec![f("main", &[], &["x"], main), f("f", &["a"], &["b"], body)]
}

#[test]
fn pruning_goes_into_blocks() {
    let env = program(TINY, &[], refined_inside());
    let analysis = Located::new(&env, TINY, &[]);
    let steps = |restart| {
        let config = Config { restart, certificate: true, ..Config::default() };
        let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
        assert_eq!(result.outcome, Outcome::Holds);
        let certificate = result.certificate.expect("it was asked for");
        let main = proofline_cfa::Name::new("main");
        assert!(certificate.verify(&analysis, &env, main, &Budget::unlimited()).is_ok());
        result.statistics
    };
    let (lazy, restarting) = (steps(false), steps(true));
    assert!(lazy.seeded >= 2, "an interrupted exploration and a finished one: {lazy}");
    assert_eq!(restarting.seeded, 0);
    assert!(lazy.successors < 150 && restarting.successors > 300, "lazy: {lazy}, restarting: {restarting}");
}

/// Two entries into a block, the second of which reaches its target from the state that the first one had before it was refined: what is kept of
/// the block must not hide the target.
#[test]
fn a_target_in_a_block_that_was_kept_is_found_again() {
    for second in [1, 2] {
        let check_it = vec![S::Assert(eq(v("a"), k(1))), S::Return(k(0))];
        let main = vec![
            set("x", k(1)),
            call("y", "g", vec![v("x")]),
            set("x", k(second)),
            call("y", "g", vec![v("x")]),
        ];
        let env = program(TINY, &[], vec![f("main", &[], &["x", "y"], main), f("g", &["a"], &[], check_it)]);
        let analysis = Located::new(&env, TINY, &[]);
        for order in Order::ALL {
            let config = Config { order, ..Config::default() };
            let result = check(&analysis, &question(&env, &config), &Budget::steps(10_000));
            match result.outcome {
                Outcome::Holds => assert_eq!(second, 1),
                Outcome::Reaches(path) => assert!(second == 2 && brute::feasible(&env, TINY, &[], &path)),
                Outcome::Unknown(why) => panic!("{second} {order:?}: {why}"),
            }
        }
    }
}

/// Says of every path that it is spurious, and learns what `learn` says.
struct Stubborn<F>(Values, F);

impl<F: Fn(&Path, &common::values::Tracked) -> common::values::Tracked + Send + Sync> Stubborn<F> {
    fn run(&self, env: &proofline_program_analysis::Environment) -> Outcome {
        check(self, &question(env, &Config::default()), &Budget::steps(100_000)).outcome
    }
}

use crate::common;

impl<F: Send + Sync> Domain for Stubborn<F> {
    type State = common::values::Known;
    fn leq(&self, lower: &Self::State, upper: &Self::State) -> bool {
        self.0.leq(lower, upper)
    }
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State {
        self.0.join(a, b)
    }
}
impl<F: Send + Sync> Cpa for Stubborn<F> {
    type Precision = common::values::Tracked;
    fn name(&self) -> &'static str {
        "stubborn"
    }
    fn entry(&self) -> (Self::State, Self::Precision) {
        self.0.entry()
    }
    fn transfer(
        &self,
        from: &Self::State,
        precision: &Self::Precision,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<Self::State> {
        self.0.transfer(from, precision, at, facts)
    }
    fn enter(
        &self,
        from: &Self::State,
        precision: &Self::Precision,
        call: CallContext<'_>,
    ) -> Vec<Self::State> {
        self.0.enter(from, precision, call)
    }
    fn leave(
        &self,
        at_call: &Self::State,
        exit: &Self::State,
        precision: &Self::Precision,
        call: CallContext<'_>,
    ) -> Vec<Self::State> {
        self.0.leave(at_call, exit, precision, call)
    }
    fn join_precision(&self, a: &Self::Precision, b: &Self::Precision) -> Self::Precision {
        self.0.join_precision(a, b)
    }
}
impl<F: Send + Sync> BlockCpa for Stubborn<F> {
    fn reduce(&self, entry: &Self::State, block: BlockContext<'_>) -> Reduced<Self::State> {
        self.0.reduce(entry, block)
    }
    fn expand(
        &self,
        before: &Self::State,
        block: BlockContext<'_>,
        exit: &Reduced<Self::State>,
    ) -> Option<Self::State> {
        self.0.expand(before, block, exit)
    }
    fn reduce_precision(&self, p: &Self::Precision, _: BlockContext<'_>) -> Reduced<Self::Precision> {
        Reduced(p.clone())
    }
}
impl<F: Fn(&Path, &Self::Precision) -> Self::Precision + Send + Sync> Refine for Stubborn<F> {
    type Witness = Path;
    fn refine(
        &self,
        path: &Path,
        precision: &Self::Precision,
        _: &Budget,
    ) -> Result<Refinement<Self::Precision>, Unknown> {
        Ok(Refinement::Spurious((self.1)(path, precision)))
    }
}

#[test]
fn refinement_without_progress_is_noticed() {
    let main = vec![call("x", "p", vec![k(0)]), S::Assert(eq(v("x"), k(1)))];
    let p = vec![S::Assert(ne(v("a"), k(0))), S::Return(k(1))];
    let env = program(TINY, &[], vec![f("main", &[], &["x"], main), f("p", &["a"], &[], p)]);
    let values = || Values::forgetful(TINY, &[]);
    let same = Stubborn(values(), |_: &Path, p: &common::values::Tracked| p.clone()).run(&env);
    assert!(matches!(same, Outcome::Unknown(Unknown::NoProgress(_))), "{same:?}");
    // Never the same twice in a row, and yet no progress.
    let back_and_forth = Stubborn(values(), |_: &Path, p: &common::values::Tracked| match p {
        None => Some(Default::default()),
        Some(_) => None,
    });
    let back_and_forth = back_and_forth.run(&env);
    assert!(matches!(back_and_forth, Outcome::Unknown(Unknown::NoProgress(_))), "{back_and_forth:?}");
}

#[test]
fn without_refinement_the_first_path_is_the_answer() {
    let env = program(TINY, &["g0"], two_ways(3));
    let analysis = Located::new(&env, TINY, &["g0"]);
    let config = Config { cegar: false, blocks: Blocks::NONE, ..Config::default() };
    let outcome = check(&analysis, &question(&env, &config), &Budget::unlimited()).outcome;
    assert!(matches!(outcome, Outcome::Reaches(_)));
}
