//! Refinement of explicit values: CEGAR with the plainest driver. A program's label `ERROR` is the target.

use proofline_cfa::{Entry, Name, Object};
use proofline_cpa::{Budget, Cpa, Path, Refine, Refinement, Unknown};
use proofline_domains::{
    ValueAnalysis, ValueOptions, ValueRefinement,
    value::{Precision, Variable},
};

use crate::common::{environment, explore};

/// How it ended.
#[derive(PartialEq, Eq, Debug)]
enum Verdict {
    Holds,
    Feasible,
    NoProgress,
}

struct Run {
    verdict: Verdict,
    /// What is tracked in the end, sorted: `main.x`, `g`.
    tracked: String,
    /// States explored in the last round.
    states: usize,
    /// Refinements before it.
    rounds: usize,
}

fn cegar(code: &str, options: impl FnOnce(&mut ValueOptions)) -> Run {
    let env = environment(code);
    let mut chosen = ValueOptions::new(Entry::main());
    options(&mut chosen);
    let analysis = ValueAnalysis::new(env.clone(), chosen);
    let mut precision = analysis.entry().1;
    let is_target = |name: Name, loc| {
        env.function(name)
            .is_some_and(|f| f.labels.iter().any(|(label, at)| &**label == "ERROR" && *at == loc))
    };
    for rounds in 0..60 {
        let (explored, target) =
            explore(&analysis, &env, Name::new("main"), precision.clone(), 50_000, is_target);
        let done = |verdict| Run {
            verdict,
            tracked: tracked(&env, &precision),
            states: explored.nodes.len(),
            rounds,
        };
        let Some(target) = target else { return done(Verdict::Holds) };
        let mut steps = Vec::new();
        let mut at = Some(target);
        while let Some(node) = at {
            steps.extend(explored.nodes[node].step);
            at = explored.nodes[node].parent;
        }
        steps.reverse();
        let path = Path { entry: Name::new("main"), steps, target: None };
        match analysis.refine(&path, &explored.nodes[target].precision, &Budget::unlimited()) {
            Ok(Refinement::Feasible(_)) => return done(Verdict::Feasible),
            Ok(Refinement::Spurious(better)) if better == precision => return done(Verdict::NoProgress),
            Ok(Refinement::Spurious(better)) => precision = analysis.join_precision(&precision, &better),
            Err(why) => panic!("{why}"),
        }
    }
    panic!("no end: {}", tracked(&env, &precision))
}

fn tracked(env: &proofline_program_analysis::Environment, precision: &Precision) -> String {
    let name = |variable: &Variable| match variable {
        Variable::Local(function, id) | Variable::Object(Object::Local(function, id)) => {
            format!("{function}.{}", env.function(*function).expect("a body").local(*id).name)
        }
        Variable::Object(Object::Global(name)) => name.to_string(),
        Variable::Object(Object::Heap(function, _)) => format!("{function}.heap"),
        Variable::Object(Object::External) => "external".to_owned(),
    };
    let mut all: Vec<String> = precision.tracked().iter().map(|(variable, _)| name(variable)).collect();
    all.sort();
    all.join(" ")
}

fn holds(code: &str, expected: &str) -> usize {
    let run = cegar(code, |_| {});
    assert_eq!((run.verdict, run.tracked.as_str()), (Verdict::Holds, expected), "{code}");
    run.states
}

const INPUT: &str = "extern int __VERIFIER_nondet_int(void);\n#define input __VERIFIER_nondet_int\n";

#[test]
fn only_what_refutes_the_path_is_tracked() {
    let code = "int main(void) { int flag = 0, other = 3; flag = 1; other = other + 1; if (flag != 1) { ERROR: return other; } return 0; }";
    holds(code, "main.flag");
}

#[test]
fn a_loop_that_does_not_matter_is_not_unrolled() {
    let code = "int main(void) { int flag = 1; for (int i = 0; i < 100000; i++) { } if (flag != 1) { ERROR: return 1; } return 0; }";
    assert!(holds(code, "main.flag") < 40);
}

#[test]
fn a_flag_is_preferred_to_a_counter() {
    // Both the counter's bound and the flag exclude the path.
    let code = "int main(void) { int flag = 0, i = 0; while (i < 1000) { i = i + 1; flag = 1; } if (flag == 2 && i == 5) { ERROR: return 1; } return 0; }";
    assert!(holds(code, "main.flag") < 60);
}

#[test]
fn a_counter_is_unrolled_where_nothing_else_helps() {
    let code = "int main(void) { int i = 0; while (i < 100) i = i + 1; if (i != 100) { ERROR: return 1; } return 0; }";
    assert!(holds(code, "main.i") > 100);
}

#[test]
fn values_are_followed_through_calls() {
    let code = "static int less(int n) { return n - 1; } static int twice(int m) { return less(less(m)); }
        int main(void) { int r = twice(6), other = twice(2); if (r != 4) { ERROR: return other; } return 0; }";
    holds(code, "less.n less.return main.r twice.m twice.return");
}

#[test]
fn an_argument_that_is_not_known_is_not_tracked() {
    let code = format!(
        "{INPUT}static int f(int n) {{ return 3; }} int main(void) {{ int r = f(input()); if (r != 3) {{ ERROR: return 1; }} return 0; }}"
    );
    holds(&code, "f.return main.r");
}

#[test]
fn memory_is_tracked_by_parts() {
    let code = "static struct { int a, b, c; } s; static int *p = &s.b;
        int main(void) { s.a = 1; s.c = 2; *p = 5; if (s.b != 5) { ERROR: return 1; } return 0; }";
    let run = cegar(code, |_| {});
    assert_eq!((run.verdict, run.tracked.as_str()), (Verdict::Holds, "p s"));
}

#[test]
fn a_real_path_is_feasible() {
    let code = format!(
        "{INPUT}int main(void) {{ int x = input(), y = 1; if (x == 7 && y == 1) {{ ERROR: return 1; }} return 0; }}"
    );
    assert_eq!(cegar(&code, |_| {}).verdict, Verdict::Feasible);
}

#[test]
fn what_depends_on_unknown_values_is_left_to_others() {
    // Infeasible, but not by explicit values.
    let code = format!(
        "{INPUT}int main(void) {{ int x = input(); if (x > 5 && x < 3) {{ ERROR: return 1; }} return 0; }}"
    );
    assert_eq!(cegar(&code, |_| {}).verdict, Verdict::Feasible);
}

#[test]
fn locks_are_proved() {
    let mut code = format!("{INPUT}int main(void) {{");
    for i in 1..=4 {
        code += &format!("int p{i} = input(), k{i};");
    }
    code += "while (1) { if (input() == 0) goto out;";
    for i in 1..=4 {
        code += &format!("k{i} = 0;");
    }
    for i in 1..=4 {
        code += &format!("if (p{i} != 0) k{i} = 1;");
    }
    for i in 1..=4 {
        code += &format!("if (p{i} != 0) {{ if (k{i} != 1) goto ERROR; k{i} = 0; }}");
    }
    code += "} out: return 0; ERROR: return 1; }";
    holds(&code, "main.k1 main.k2 main.k3 main.k4 main.p1 main.p2 main.p3 main.p4");
}

#[test]
fn a_variable_with_too_many_values_is_given_up() {
    let code = format!(
        "{INPUT}int main(void) {{ int i = 0, flag = 1; while (input()) i = i + 1; if (flag != 1 || i == 100) {{ ERROR: return 1; }} return 0; }}"
    );
    let run = cegar(&code, |options| {
        options.track_everything = true;
        options.threshold = Some(3);
    });
    // Without the threshold this would not end; the path through `i == 100` is for other analyses.
    assert_eq!(run.verdict, Verdict::Feasible);
}

#[test]
fn a_budget_ends_a_refinement() {
    let code =
        "int main(void) { int i = 0; while (i < 10) i = i + 1; if (i != 10) { ERROR: return 1; } return 0; }";
    let env = environment(code);
    let analysis = ValueAnalysis::new(env.clone(), ValueOptions::new(Entry::main()));
    let function = env.function(Name::new("main")).expect("a body");
    let steps = function.edge_ids().map(|(id, _)| proofline_cpa::PathStep::Edge(function.name, id)).collect();
    let path = Path { entry: function.name, steps, target: None };
    let ended = analysis.refine(&path, &Precision::nothing(), &Budget::steps(3));
    assert!(matches!(ended, Err(Unknown::OutOfBudget)));
}

/// [EXP12 §III-E]: precision per location.
fn located(code: &str) -> Run {
    cegar(code, |options| options.refinement = ValueRefinement { located: true, ..options.refinement })
}

#[test]
fn located_precision_tracks_a_variable_where_an_interpolant_speaks_of_it_only() {
    let code = "int main(void) { int x = 1; if (x != 1) { ERROR: return 1; } x = 0; while (x < 2000) x = x + 1; return x; }";
    let (here, everywhere) = (located(code), cegar(code, |_| {}));
    assert_eq!(
        (here.verdict, here.tracked.as_str()),
        (Verdict::Holds, ""),
        "nothing is tracked in all of its scope"
    );
    assert_eq!((everywhere.verdict, everywhere.tracked.as_str()), (Verdict::Holds, "main.x"));
    assert!(here.states < 40 && everywhere.states > 2000, "{} {}", here.states, everywhere.states);
}

#[test]
fn scoped_precision_finds_at_once_what_located_precision_finds_way_by_way() {
    let code = format!(
        "{INPUT}int main(void) {{ int x = 1, y = 0; if (input()) {{ y = 1; y = 2; if (x != 1) goto ERROR; }}
         else {{ y = 3; y = 4; if (x != 1) goto ERROR; }} return 0; ERROR: return y; }}"
    );
    let (way_by_way, at_once) = (located(&code), cegar(&code, |_| {}));
    assert_eq!((way_by_way.verdict, way_by_way.rounds), (Verdict::Holds, 2));
    assert_eq!((at_once.verdict, at_once.rounds), (Verdict::Holds, 1));
}

#[test]
fn interpolants_go_into_calls_and_back() {
    let code = "static int g; static int less(int n) { g = g + 1; return n - 1; }
        int main(void) { g = 3; int r = less(6); r = less(r); if (r + g != 9) { ERROR: return r; } g = r = 0; while (g < 3000) g = g + 1; return g; }";
    let run = located(code);
    assert_eq!(run.verdict, Verdict::Holds);
    assert!(run.states < 100, "{}", run.states);
}

#[test]
fn located_precision_refutes_whatever_scoped_precision_refutes() {
    let loops = "int main(void) { int i = 0; while (i < 100) i = i + 1; if (i != 100) { ERROR: return i; } return 0; }";
    let records = "struct p { int a, b; }; int main(void) { struct p p; p.a = 1; p.b = 2; struct p *q = &p; q->b = 7; if (p.b != 7) { ERROR: return 1; } return 0; }";
    let recursion = "static int down(int n) { if (n > 0) return down(n - 1); return n; } int main(void) { if (down(5) != 0) { ERROR: return 1; } return 0; }";
    for code in [loops, records, recursion] {
        assert_eq!(located(code).verdict, Verdict::Holds, "{code}");
        let wrong = code.replace("!= 100", "== 100").replace("!= 7", "== 7").replace("(5) != 0", "(5) == 0");
        assert_eq!(located(&wrong).verdict, Verdict::Feasible, "{wrong}");
    }
}

#[test]
fn the_first_prefix_may_cost_more_than_another() {
    let code = "int main(void) { int flag = 0, i = 0; while (i < 1000) { i = i + 1; flag = 1; } if (i == 5) { if (flag == 2) { ERROR: return 1; } } return 0; }";
    let first =
        cegar(code, |options| options.refinement = ValueRefinement { prefixes: 1, ..options.refinement });
    assert_eq!((first.verdict, first.tracked.as_str()), (Verdict::Holds, "main.i"));
    assert!(first.states > 1000);
    assert!(holds(code, "main.flag") < 60);
}
