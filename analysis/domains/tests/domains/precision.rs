//! Precision of explicit values, and precision of intervals where temporaries stand between a condition and its variable.

use proofline_cfa::{LocalId, Name};
use proofline_cpa::{Adjusted, Cpa, LocationContext};
use proofline_domains::value::{Part, Precision, Variable};

use crate::common::{environment, interval_here, value_here, values};

const INPUT: &str = "extern int __VERIFIER_nondet_int(void);\n#define input __VERIFIER_nondet_int\n";

fn interval(body: &str, expected: &str) {
    let code = format!(
        "{INPUT}static int g; static int id(int n) {{ return n; }} int main(void) {{ {body}\nhere: ; int unused = x; return unused; }}"
    );
    assert_eq!(interval_here(&code, "x"), expected, "{body}");
}

#[test]
fn conditions_refine_their_variables() {
    interval("int x = input(); if (x == 0) return 0;", "[-2147483648, -1] | [1, 2147483647]");
    interval("int x = input(); if (x < 3 || x > 7) return 0;", "[3, 7]");
    interval("int x = input(); if (!(x >= 3 && x <= 7)) return 0;", "[3, 7]");
    interval("int x = input(); int c = x > 4; if (!c) return 0;", "[5, 2147483647]");
    interval("int x = input(); int y = x; if (y < 1 || y > 2) return 0;", "[1, 2]");
    interval("int x = input(); if ((unsigned)x >= 10u) return 0;", "[0, 9]");
    interval("int x = input(); if (x + 1 < 5 || x - 1 > 10) return 0;", "[4, 11]");
    interval("int x = input(); if ((char)x != x) return 0;", "[-128, 127]");
    interval("int x = input(); if (x / 4 != 2) return 0;", "[8, 11]");
    interval("int x = input(); if (x++ > 3) return 0;", "[-2147483647, 4]");
    interval("g = input(); if (g < 0 || g > 9) return 0; int x = g;", "[0, 9]");
    interval("int t[3]; t[1] = input(); if (t[1] < 0) return 0; int x = t[1];", "[0, 2147483647]");
    interval("int x = input(), y = input(); if (y < 0 || y > 9 || x > y) return 0;", "[-2147483648, 9]");
}

#[test]
fn operators_are_bounded() {
    interval("int x = input() % 7;", "[-6, 6]");
    interval("int x = input() & 12;", "[0, 12]");
    interval("unsigned char c = input(); int x = c >> 2;", "[0, 63]");
    interval("unsigned char c = input(); int x = c * 2 + 1;", "[1, 511]");
    interval("unsigned u = 3; int x = (u - 4u) > 100u;", "[1, 1]");
    interval("short s = input(); int x = s < 0 ? -s : s;", "[0, 32768]");
    interval("int x = id(input() & 3);", "[0, 3]");
}

#[test]
fn loops_are_bounded_by_their_conditions() {
    interval("int x = 0; while (x < 100) x++;", "[100, 100]");
    interval("int x = 0, n = input(); if (n < 0 || n > 50) return 0; while (x < n) x++;", "[0, 50]");
    interval("int x = 0; for (int i = 0; i < 10; i++) x = i;", "[0, 9]");
    interval("int x = 10; while (x > 0) x -= 3;", "[-2, 0]");
    interval("int x = 0; while (input()) if (x < 5) x++;", "[0, 5]");
}

#[test]
fn overflow_does_not_continue() {
    interval("int x = input(); if (x < 0) return 0; x = x + 1;", "[1, 2147483647]");
    interval("unsigned u = input(); u = u + 1; int x = u == 0;", "[0, 1]");
}

#[test]
fn values_are_learnt_from_conditions() {
    let value = |body: &str, expected: &str| {
        let code = format!("{INPUT}int main(void) {{ {body}\nhere: ; int unused = x; return unused; }}");
        assert_eq!(value_here(&code, "x"), expected, "{body}");
    };
    value("int x = input(); if (x != 5) return 0;", "5");
    value("int x = input(); if (x) return 0;", "0");
    value("int x = input(); if (!(x == 5)) return 0;", "5");
    value("int x = input(); if (x + 2 != 5) return 0;", "3");
    value("int x = input(); if ((long)x != 5) return 0;", "5");
    value("int x = input(); if (x != 5 && x != 6) return 0;", "5; 6");
    value("int x = input(); if (x == 5) return 0;", "unknown");
    value("unsigned char x = input(); if (x < 255) return 0;", "255");
    // Equalities of the programmer's variables are not kept: they would hold states apart.
    value("int x = input(); int c = x == 4; if (c == 0) return 0;", "unknown");
}

#[test]
fn what_is_not_tracked_is_forgotten() {
    let code = "static int g; int main(void) { int a = 1, b = 2; g = 3; here: ; return a + b + g; }";
    let env = environment(code);
    let analysis = values(&env);
    let function = env.function(Name::new("main")).expect("a body");
    let id =
        |name: &str| LocalId(function.locals.iter().position(|l| &*l.name == name).expect("declared") as u32);
    let mut state = analysis.entry().0;
    let mut loc = function.entry;
    let label = function.labels[0].1;
    while loc != label {
        let edge_id = env.structure(function.name).successors(loc)[0];
        let edge = function.edge(edge_id);
        let at = proofline_cpa::EdgeContext { function, id: edge_id, edge };
        state = analysis.transfer(&state, &Precision::everything(), at, &proofline_cpa::NoFacts).remove(0);
        loc = edge.to;
    }
    let shown = |precision: &Precision| {
        let place = LocationContext { function, loc, is_loop_head: false };
        let Adjusted::Continue(state, _) = analysis.adjust(state.clone(), precision.clone(), &[], place)
        else {
            panic!("not interrupted")
        };
        proofline_cpa::Domain::show(&analysis, &state)
    };
    assert_eq!(shown(&Precision::everything()), "a = 1, b = 2, g = 3");
    assert_eq!(shown(&Precision::nothing()), "");
    let a = Precision::nothing().with([(Variable::Local(function.name, id("a")), Part::Whole)]);
    let g = Precision::nothing()
        .with([(Variable::Object(proofline_cfa::Object::Global(Name::new("g"))), Part::Runs(vec![(0, 32)]))]);
    assert_eq!(shown(&a), "a = 1");
    assert_eq!(shown(&a.join(&g)), "a = 1, g = 3");
    assert_eq!(
        shown(&Precision::everything().without([Variable::Local(function.name, id("a"))])),
        "b = 2, g = 3"
    );
}
