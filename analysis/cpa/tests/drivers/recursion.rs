//! Recursion: the fixpoint over summaries gives the right verdict, in every order, with and without blocks where that ends.

use crate::common::{brute, ranges::Ranges, values::Values, *};
use proofline_cfa::Name;
use proofline_cpa::{bam::Blocks, *};
use proofline_program_analysis::Environment;

fn verify<A: BlockCpa + Refine<Witness = Path>>(analysis: &A, env: &Environment, config: Config) -> Outcome {
    let config = Config { certificate: true, ..config };
    let budget = Budget::steps(200_000);
    let result = check(analysis, &question(env, &config), &budget);
    if result.outcome == Outcome::Holds {
        let certificate = result.certificate.expect("a certificate comes with `Holds`");
        certificate
            .verify(analysis, env, main_name(), &Budget::unlimited())
            .unwrap_or_else(|e| panic!("the certificate does not hold: {e}"));
    }
    result.outcome
}

fn everywhere<A: BlockCpa + Refine<Witness = Path>>(
    analysis: &A,
    env: &Environment,
    expected: impl Fn(&Outcome) -> bool,
) {
    for order in Order::ALL {
        for blocks in [Blocks::FUNCTIONS, Blocks::ALL] {
            let outcome = verify(analysis, env, Config { order, blocks, ..Config::default() });
            assert!(expected(&outcome), "{order:?} {blocks:?}: {outcome:?}");
        }
    }
}

/// even(n) = n == 0 ? 1 : odd(n - 1); odd(n) = n == 0 ? 0 : even(n - 1)
fn parity(wrong: bool) -> Vec<F> {
    let body = |base: i128, other: &'static str| {
        vec![
            when(eq(v("n"), k(0)), vec![S::Return(k(base))]),
            call("r", other, vec![sub(v("n"), k(1))]),
            S::Return(v("r")),
        ]
    };
    let main = vec![
        S::Havoc("x"),
        call("a", "even", vec![v("x")]),
        call("b", "odd", vec![v("x")]),
        S::Assert(ne(v("a"), if wrong { k(1) } else { v("b") })),
    ];
    vec![
        f("main", &[], &["x", "a", "b"], main),
        f("even", &["n"], &["r"], body(1, "odd")),
        f("odd", &["n"], &["r"], body(0, "even")),
    ]
}

#[test]
fn mutual_recursion_is_proved_and_refuted() {
    let env = program(TINY, &[], parity(false));
    everywhere(&Values::exact(TINY, &[]), &env, |o| *o == Outcome::Holds);
    let env = program(TINY, &[], parity(true));
    everywhere(&Values::exact(TINY, &[]), &env, |o| match o {
        Outcome::Reaches(path) => brute::feasible(&env, TINY, &[], path),
        _ => false,
    });
}

/// f91(n) = n > 100 ? n - 10 : f91(f91(n + 11))
fn mccarthy(property: E) -> Vec<F> {
    let body = vec![
        when(lt(k(100), v("n")), vec![S::Return(sub(v("n"), k(10)))]),
        call("r", "f91", vec![add(v("n"), k(11))]),
        call("r", "f91", vec![v("r")]),
        S::Return(v("r")),
    ];
    let main = vec![S::Havoc("x"), call("r", "f91", vec![v("x")]), S::Assert(property)];
    vec![f("main", &[], &["x", "r"], main), f("f91", &["n"], &["r"], body)]
}

#[test]
fn a_summary_over_unknown_arguments_is_a_fixpoint() {
    let ranges = Ranges::new(INT, &[]);
    let env = program(INT, &[], mccarthy(le(k(91), v("r"))));
    everywhere(&ranges, &env, |o| *o == Outcome::Holds);
    // Not true, and no path of the first iterations (where the recursive calls have no result yet) may hide it.
    let env = program(INT, &[], mccarthy(le(v("r"), k(91))));
    everywhere(&ranges, &env, |o| matches!(o, Outcome::Reaches(_)));
}

#[test]
fn entries_are_widened_so_that_infinite_recursion_ends() {
    // count(n) = n <= 0 ? 0 : count(n - 1) + 1, called with a known number
    let body = vec![
        when(le(v("n"), k(0)), vec![S::Return(k(0))]),
        call("r", "count", vec![sub(v("n"), k(1))]),
        S::Return(add(v("r"), k(1))),
    ];
    let main = vec![call("r", "count", vec![k(1_000_000)]), S::Assert(le(k(0), v("r")))];
    let env = program(INT, &[], vec![f("main", &[], &["r"], main), f("count", &["n"], &["r"], body)]);
    let ranges = Ranges::new(INT, &[]);
    everywhere(&ranges, &env, |o| *o == Outcome::Holds);
    let config = Config { max_unrollings: u32::MAX, ..Config::default() };
    let outcome = verify(&ranges, &env, config);
    assert_eq!(outcome, Outcome::Unknown(Unknown::OutOfBudget), "widening is what makes it end");
}

#[test]
fn deep_recursion_with_known_arguments_is_unrolled_to_the_end() {
    // id(n) = n == 0 ? 0 : id(n - 1) + 1
    let body = vec![
        when(eq(v("n"), k(0)), vec![S::Return(k(0))]),
        call("r", "id", vec![sub(v("n"), k(1))]),
        S::Return(add(v("r"), k(1))),
    ];
    let id = |argument: i128, claimed: i128| {
        let main = vec![call("r", "id", vec![k(argument)]), S::Assert(eq(v("r"), k(claimed)))];
        program(INT, &[], vec![f("main", &[], &["r"], main), f("id", &["n"], &["r"], body.clone())])
    };
    let values = Values::forgetful(INT, &[]);
    assert_eq!(verify(&values, &id(5000, 5000), Config::default()), Outcome::Holds);
    let env = id(5000, 4999);
    let Outcome::Reaches(path) = verify(&values, &env, Config::default()) else { panic!("it is violated") };
    assert_eq!(path.steps.iter().filter(|s| matches!(s, PathStep::Enter { .. })).count(), 5001);
    let env = id(50, 49);
    let Outcome::Reaches(path) = verify(&values, &env, Config::default()) else { panic!("it is violated") };
    assert!(brute::feasible(&env, INT, &[], &path));
}

#[test]
fn fibonacci_is_computed_once_per_argument() {
    let body = vec![
        when(lt(v("n"), k(2)), vec![S::Return(v("n"))]),
        call("a", "fib", vec![sub(v("n"), k(1))]),
        call("b", "fib", vec![sub(v("n"), k(2))]),
        S::Return(add(v("a"), v("b"))),
    ];
    let main = vec![call("r", "fib", vec![k(60)]), S::Assert(eq(v("r"), k(1_548_008_755_920)))];
    let wide = proofline_cfa::IntType { bits: 64, signed: true };
    let env = program(wide, &[], vec![f("main", &[], &["r"], main), f("fib", &["n"], &["a", "b"], body)]);
    let values = Values::forgetful(wide, &[]);
    let config = Config::default();
    let result = check(&values, &question(&env, &config), &Budget::steps(20_000));
    assert_eq!(result.outcome, Outcome::Holds);
    assert_eq!(result.statistics.blocks, 62, "main and one per argument");
}

#[test]
fn a_call_is_covered_by_any_open_entry_not_only_an_equal_one() {
    // f(n, m): n is unknown from the start; deeper calls know more about m and are covered by the first.
    let body = vec![
        S::Havoc("n"),
        when(eq(v("n"), k(0)), vec![S::Return(k(7))]),
        call("r", "f", vec![v("n"), add(v("m"), k(1))]),
        S::Return(v("r")),
    ];
    let main =
        vec![S::Havoc("x"), S::Havoc("y"), call("r", "f", vec![v("x"), v("y")]), S::Assert(eq(v("r"), k(7)))];
    let env =
        program(INT, &[], vec![f("main", &[], &["x", "y", "r"], main), f("f", &["n", "m"], &["r"], body)]);
    let result =
        check(&Values::forgetful(INT, &[]), &question(&env, &Config::default()), &Budget::steps(10_000));
    assert_eq!(result.outcome, Outcome::Holds);
    assert_eq!(result.statistics.blocks, 2);
    assert!(result.statistics.provisional_reads > 0);
}

#[test]
fn what_a_grown_summary_adds_reaches_callers_that_read_it_before() {
    // The only violating path needs the second iteration: g() returns 0 at first, 1 once h's summary is there.
    let g = vec![
        S::Havoc("c"),
        when(eq(v("c"), k(0)), vec![S::Return(k(0))]),
        call("r", "h", vec![]),
        S::Return(v("r")),
    ];
    let h = vec![call("r", "g", vec![]), S::Return(add(v("r"), k(1)))];
    let main = |limit: i128| vec![call("r", "g", vec![]), S::Assert(ne(v("r"), k(limit)))];
    for limit in 0..4 {
        let functions = vec![
            f("main", &[], &["r"], main(limit)),
            f("g", &[], &["c", "r"], g.clone()),
            f("h", &[], &["r"], h.clone()),
        ];
        let env = program(TINY, &[], functions);
        everywhere(&Values::exact(TINY, &[]), &env, |o| match o {
            Outcome::Reaches(path) => brute::feasible(&env, TINY, &[], path),
            _ => false,
        });
    }
}

#[test]
fn without_blocks_recursion_unrolls_until_the_budget_ends() {
    let env = program(TINY, &[], parity(false));
    let config = Config { blocks: Blocks::NONE, ..Config::default() };
    // Finite: each argument is known, so n reaches 0.
    assert_eq!(verify(&Values::exact(TINY, &[]), &env, config), Outcome::Holds);
    // Infinite: it never returns.
    let forever = vec![S::Havoc("n"), call("n", "f", vec![]), S::Return(v("n"))];
    let main = vec![call("r", "f", vec![]), S::Assert(eq(v("r"), k(9)))];
    let env = program(INT, &[], vec![f("main", &[], &["r"], main), f("f", &[], &["n"], forever)]);
    let values = Values::forgetful(INT, &[]);
    let inlined = check(&values, &question(&env, &config), &Budget::steps(2_000));
    assert_eq!(inlined.outcome, Outcome::Unknown(Unknown::OutOfBudget));
    assert_eq!(verify(&values, &env, Config::default()), Outcome::Holds, "with summaries: nothing returns");
}

#[test]
fn an_entry_without_a_body_is_an_answer_not_a_panic() {
    let env = program(TINY, &[], vec![]);
    let outcome = check(
        &Values::exact(TINY, &[]),
        &Question::new(&env, Name::new("nowhere"), selected(), Config::default()),
        &Budget::unlimited(),
    );
    assert!(matches!(outcome.outcome, Outcome::Unknown(Unknown::Unsupported(_))));
}
