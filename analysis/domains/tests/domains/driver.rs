//! With the real drivers: their law tests on states of random programs, and verdicts of CEGAR with blocks on recursive programs.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{CheckId, Entry, Name, Object, Obligation, Op, Program};
use proofline_cpa::{
    BlockContext, BlockCpa, BlockId, Budget, Config, EdgeContext, LocationContext, Outcome, Question,
    Samples, Verification, bam::Blocks, check, check_laws,
};
use proofline_domains::{IntervalAnalysis, IntervalOptions, ValueAnalysis, ValueOptions, value::Precision};
use proofline_program_analysis::Environment;
use proptest::{collection::vec, prelude::*};

use crate::{
    common::{Explored, environment, explore_some, intervals, program, values},
    generate,
};

/// Some states of `main`, and everything of it that laws can be tried on.
pub(crate) fn laws<A: BlockCpa>(
    analysis: &A,
    env: &Environment,
    explored: &Explored<A>,
    precisions: &[A::Precision],
    code: &str,
) {
    let main = env.function(Name::new("main")).expect("a body");
    let states: Vec<A::State> = explored
        .nodes
        .iter()
        .filter(|node| node.function == main.name)
        .map(|node| node.state.clone())
        .step_by(7)
        .take(8)
        .collect();
    let edges: Vec<EdgeContext<'_>> = main
        .edge_ids()
        .filter(|(_, edge)| !matches!(edge.op, Op::Call(_)))
        .map(|(id, edge)| EdgeContext { function: main, id, edge })
        .take(25)
        .collect();
    let places: Vec<LocationContext<'_>> = (0..main.locations)
        .step_by(5)
        .map(|loc| LocationContext {
            function: main,
            loc: proofline_cfa::Loc(loc),
            is_loop_head: loc % 2 == 0,
        })
        .collect();
    let objects: BTreeSet<Object> = env.reads(main.name).union(env.writes(main.name)).copied().collect();
    let whole = BlockId::Function(main.name);
    let block = BlockContext { id: &whole, function: main, objects: Some(&objects), locals: None };
    let samples = Samples { states: &states, precisions, edges: &edges, places: &places, blocks: &[block] };
    if let Err(broken) = check_laws(analysis, &samples) {
        panic!("{broken}\n{code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_obey_the_laws(choices in vec(any::<u8>(), 0..80)) {
        let code = generate::program(&choices);
        let env = environment(&code);
        let analysis = values(&env);
        let everything = Precision::everything();
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), everything.clone(), 3_000, |_, _| false);
        laws(&analysis, &env, &explored, &[everything, Precision::nothing()], &code);
    }

    #[test]
    fn intervals_obey_the_laws(choices in vec(any::<u8>(), 0..80)) {
        let code = generate::program(&choices);
        let env = environment(&code);
        let analysis = intervals(&env);
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), (), 100_000, |_, _| false);
        laws(&analysis, &env, &explored, &[], &code);
    }
}

/// The label `ERROR` becomes an error location.
fn with_target(mut program: Program) -> Arc<Environment> {
    for function in program.functions.values_mut() {
        let label = function.labels.iter().find(|(name, _)| &**name == "ERROR").map(|(_, loc)| *loc);
        if let Some(error) = label {
            let function = Arc::make_mut(function);
            function.edges.retain(|edge| edge.from != error);
            let site = proofline_cfa::Site(0);
            function.obligations.push(Obligation {
                check: CheckId::new("error-label"),
                error,
                site,
                text: Name::new("ERROR"),
            });
        }
    }
    Arc::new(Environment::new(program))
}

fn question(env: &Environment, config: Config) -> Question<'_> {
    Question::new(env, Name::new("main"), [CheckId::new("error-label")], config)
}

fn run_values(code: &str, blocks: Blocks, budget: u64) -> Verification<ValueAnalysis> {
    let env = with_target(program(code));
    let analysis = ValueAnalysis::new(env.clone(), ValueOptions::new(Entry::main()));
    let config = Config { blocks, ..Config::default() };
    check(&analysis, &question(&env, config), &Budget::steps(budget))
}

fn run_intervals(code: &str, blocks: Blocks, budget: u64) -> Verification<IntervalAnalysis> {
    let env = with_target(program(code));
    let analysis = IntervalAnalysis::new(env.clone(), IntervalOptions::new(Entry::main()));
    let config = Config { blocks, ..Config::default() };
    check(&analysis, &question(&env, config), &Budget::steps(budget))
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Holds => "holds".to_owned(),
        Outcome::Reaches(_) => "reaches".to_owned(),
        Outcome::Unknown(why) => format!("unknown: {why}"),
    }
}

#[test]
fn recursion_is_followed_to_its_end() {
    let id = |wanted: u32| {
        format!(
            "static int id(int n) {{ if (n == 0) return 0; return id(n - 1) + 1; }}
            int main(void) {{ int r = id(50); if (r != {wanted}) {{ ERROR: return 1; }} return 0; }}"
        )
    };
    assert_eq!(short(&run_values(&id(50), Blocks::FUNCTIONS, 2_000_000).outcome), "holds");
    assert_eq!(short(&run_values(&id(51), Blocks::FUNCTIONS, 2_000_000).outcome), "reaches");
    assert_eq!(short(&run_values(&id(50), Blocks::ALL, 2_000_000).outcome), "holds");
}

#[test]
fn intervals_summarise_recursion() {
    let code = "extern int __VERIFIER_nondet_int(void);
        static int f(int n) { if (n <= 0) return 0; return f(n - 1); }
        int main(void) { int r = f(__VERIFIER_nondet_int()); if (r != 0) { ERROR: return 1; } return 0; }";
    assert_eq!(short(&run_intervals(code, Blocks::FUNCTIONS, 500_000).outcome), "holds");
}

#[test]
fn refinement_and_blocks_agree() {
    let code = "static int g; static void set(int v) { g = v; } static int get(void) { return g; }
        int main(void) { int other = 0; for (int i = 0; i < 1000; i++) other = other + 2; set(3); if (get() != 3) { ERROR: return other; } return 0; }";
    for blocks in [Blocks::NONE, Blocks::FUNCTIONS, Blocks::LOOPS, Blocks::ALL] {
        assert_eq!(short(&run_values(code, blocks, 100_000).outcome), "holds", "{blocks:?}");
    }
}

#[test]
fn a_long_loop_is_run_through() {
    let code = "int main(void) { int i = 0; while (i < 3000) i = i + 1; if (i != 3000) { ERROR: return 1; } return 0; }";
    assert_eq!(short(&run_values(code, Blocks::NONE, 1_000_000).outcome), "holds");
}
