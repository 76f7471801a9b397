//! Interpolants of traces and trees. `interpolate` certifies what it returns; here the certificate is checked once
//! more by hand, and what must be found is.

mod traces;

use proofline_smt::interpolate::{
    Failure, Interpolants, Method, NodeId, Options, Step, Strategy, Tree, interpolate, interpolate_by,
    sequence_of,
};
use proofline_smt::rewrite::uninstantiate;
use proofline_smt::term::free_vars;
use proofline_smt::{Limits, Outcome, Solver, Sort, Term, Var, Z3, build as t};
use traces::Theory;

fn z3() -> Z3 {
    Z3::new().expect("the shipped library")
}

/// The definition, written again.
fn check(z3: &Z3, tree: &Tree, found: &Interpolants) {
    for node in tree.nodes() {
        let below = tree.children(node).iter().map(|c| found.at(*c));
        let mut solver = z3.solver();
        solver.assert(t::and(below.chain([tree.label(node)])));
        assert_eq!(solver.implies(found.at(node)), Ok(true), "node {node:?}");
    }
    let root = tree.nodes().next_back().expect("a root");
    assert!(found.at(root).is_false());
}

#[test]
fn every_method_and_strategy_interpolates_integer_traces() {
    let z3 = z3();
    let mut all = vec![traces::count(Theory::Integers, 3), traces::bounds(Theory::Integers)];
    all.push(traces::mask(Theory::Integers));
    all.extend((0..3).map(|seed| traces::random(&z3, Theory::Integers, seed, 16)));
    for (i, steps) in all.iter().enumerate() {
        let tree = sequence_of(steps);
        for method in [Method::Wp, Method::Sp, Method::Mbp] {
            for strategy in Strategy::ALL {
                match interpolate(&z3, &tree, strategy, method, Options::default()) {
                    Ok(found) => check(&z3, &tree, &found),
                    // Cuts that do not know of each other need not fit.
                    Err(Failure::NotCertified { .. })
                        if strategy == Strategy::WellScoped && method != Method::Sp => {}
                    Err(failure) => panic!("trace {i}, {method:?}, {strategy:?}: {failure}"),
                }
            }
        }
        let found = interpolate(&z3, &tree, Strategy::Tree, Method::Horn, Options::default());
        check(&z3, &tree, &found.unwrap_or_else(|f| panic!("trace {i}, Horn: {f}")));
    }
}

#[test]
fn bit_vector_traces_are_interpolated_by_preconditions() {
    let z3 = z3();
    let mut all =
        vec![traces::count(Theory::Bits, 3), traces::bounds(Theory::Bits), traces::mask(Theory::Bits)];
    all.extend((0..2).map(|seed| traces::random(&z3, Theory::Bits, seed, 16)));
    for (i, steps) in all.iter().enumerate() {
        let tree = sequence_of(steps);
        let found = interpolate(&z3, &tree, Strategy::Tree, Method::Wp, Options::default());
        check(&z3, &tree, &found.unwrap_or_else(|f| panic!("trace {i}: {f}")));
    }
}

#[test]
fn preconditions_and_horn_clauses_find_the_loop_invariant() {
    let z3 = z3();
    let tree = sequence_of(&traces::count(Theory::Integers, 4));
    let [x0, x2] = ["x0", "x2"].map(|name| t::named(name, Sort::Int));
    let invariant = t::eq(t::mul([t::int(2), x0]), x2);
    for method in [Method::Wp, Method::Horn] {
        let found =
            interpolate(&z3, &tree, Strategy::Tree, method, Options::default()).expect("interpolants");
        // After each round of the loop.
        for k in [7, 11, 15] {
            assert_eq!(uninstantiate(found.formulas()[k]), invariant, "{method:?} at {k}");
        }
    }
}

#[test]
fn a_feasible_trace_has_none() {
    let x = Var::new("x", Sort::Int);
    let steps = [Step::havoc(x), Step::assume(t::lt(t::int(3), t::var(x)))];
    let result = interpolate(&z3(), &sequence_of(&steps), Strategy::Tree, Method::Wp, Options::default());
    assert_eq!(result, Err(Failure::Feasible));
}

/// `r = f(a) ; assert(r == a + 1)`, where the callee computes `ret = p + 1` through a local.
fn call() -> Tree {
    let [a, p, l, ret, r] = ["a", "p", "l", "ret", "r"].map(|name| t::var(Var::indexed(name, 1, Sort::Int)));
    let one = t::int(1);
    Tree::new(vec![
        (t::ge(a, t::int(5)), Some(NodeId(3))),
        (t::eq(l, p), Some(NodeId(2))),
        (t::eq(ret, t::add([l, one])), Some(NodeId(3))),
        (t::and([t::eq(p, a), t::eq(r, ret)]), Some(NodeId(4))),
        (t::ne(r, t::add([a, one])), None),
    ])
}

#[test]
fn the_interpolant_at_a_return_is_a_summary() {
    let z3 = z3();
    let tree = call();
    let [p, ret] = ["p", "ret"].map(|name| Var::indexed(name, 1, Sort::Int));
    for method in Method::ALL {
        for strategy in Strategy::ALL {
            let found = match interpolate(&z3, &tree, strategy, method, Options::default()) {
                Ok(found) => found,
                Err(Failure::NotCertified { .. }) if strategy == Strategy::WellScoped => continue,
                Err(failure) => panic!("{method:?} {strategy:?}: {failure}"),
            };
            check(&z3, &tree, &found);
            let summary = found.at(NodeId(2));
            assert!(free_vars(summary).is_subset(&[p, ret].into()), "{method:?} {strategy:?}: {summary}");
            assert_eq!(
                summary,
                t::eq(t::var(ret), t::add([t::var(p), t::int(1)])),
                "{method:?} {strategy:?}"
            );
        }
    }
}

/// A random tree of up to nine nodes with small formulas over seven variables, unsatisfiable as a whole.
fn random_tree(z3: &Z3, seed: u64) -> Tree {
    for attempt in 0.. {
        let mut state = seed * 7919 + attempt;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let size = 3 + below(7);
        let mut nodes = Vec::new();
        for i in 0..size {
            let mut var = || t::var(Var::indexed(&format!("v{}", below(7)), 1, Sort::Int));
            let (a, b, c) = (var(), var(), var());
            let k = t::int(below(7) as i64 - 3);
            let atom = match below(5) {
                0 => t::eq(a, t::add([b, k])),
                1 => t::le(t::add([a, k]), b),
                2 => t::eq(a, t::add([b, c])),
                3 => t::or([t::lt(a, b), t::le(c, k)]),
                _ => t::and([t::le(a, k), t::le(b, c)]),
            };
            let parent = (i + 1 < size).then(|| NodeId((i + 1 + below(size - i - 1)) as u32));
            nodes.push((atom, parent));
        }
        let tree = Tree::new(nodes);
        if z3.check(t::and(tree.nodes().map(|n| tree.label(n))), Limits::NONE) == Outcome::Unsat {
            return tree;
        }
    }
    unreachable!("some tree is infeasible")
}

#[test]
fn random_trees_are_interpolated() {
    let z3 = z3();
    for seed in 0..10 {
        let tree = random_tree(&z3, seed);
        for method in [Method::Wp, Method::Sp, Method::Mbp, Method::Horn] {
            // Cut by cut, Spacer is slow: once is enough.
            for strategy in if method == Method::Horn { &Strategy::ALL[..1] } else { &Strategy::ALL } {
                match interpolate(&z3, &tree, *strategy, method, Options::default()) {
                    Ok(found) => check(&z3, &tree, &found),
                    Err(Failure::NotCertified { .. }) if *strategy == Strategy::WellScoped => {}
                    Err(failure) => panic!("{seed} {method:?} {strategy:?}: {failure}\n{tree:?}"),
                }
            }
        }
    }
}

/// Blocks with branches, as adjustable-block encoding makes them: `s` grows by one or two, eight times.
#[test]
fn branching_blocks_are_interpolated() {
    for sort in [Sort::Int, Sort::BitVec(32)] {
        let z3 = z3();
        let number = |i: i64| if sort == Sort::Int { t::int(i) } else { t::bv(i, 32) };
        let add = |a, b| if sort == Sort::Int { t::add([a, b]) } else { t::bvadd(a, b) };
        let less = |a, b| if sort == Sort::Int { t::lt(a, b) } else { t::bvslt(a, b) };
        let s = |i: u32| t::var(Var::indexed("s", i, sort));
        let c = |i: u32| t::var(Var::indexed("c", i, sort));
        let branch = |i: u32| {
            let taken = less(c(i), number(0));
            let one = t::and([taken, t::eq(s(i + 1), add(s(i), number(1)))]);
            t::or([one, t::and([t::not(taken), t::eq(s(i + 1), add(s(i), number(2)))])])
        };
        let block = |from: u32| t::and((from..from + 4).map(branch));
        let labels = vec![t::eq(s(1), number(0)), block(1), block(5), less(number(16), s(9))];
        let tree = Tree::sequence(labels);
        for method in [Method::Wp, Method::Sp, Method::Mbp] {
            let found = interpolate(&z3, &tree, Strategy::Tree, method, Options::default());
            let found = found.unwrap_or_else(|f| panic!("{sort:?} {method:?}: {f}"));
            check(&z3, &tree, &found);
        }
    }
}

#[test]
fn arrays_are_interpolated() {
    let (z3, sort) = (z3(), Sort::array(Sort::Int, Sort::Int));
    let (m, i, x) = (Var::new("m", sort), Var::new("i", Sort::Int), Var::new("x", Sort::Int));
    let steps = [
        Step::havoc(i),
        Step::assign(m, t::store(t::var(m), t::var(i), t::int(7))),
        Step::assign(x, t::select(t::var(m), t::var(i))),
        Step::assume(t::lt(t::var(x), t::int(7))),
    ];
    let tree = sequence_of(&steps);
    let found =
        interpolate(&z3, &tree, Strategy::Tree, Method::Wp, Options::default()).expect("interpolants");
    check(&z3, &tree, &found);
    let expected = t::le(t::int(7), t::select(t::var(m), t::var(i)));
    assert_eq!(uninstantiate(found.formulas()[1]), expected);
}

#[test]
fn strategies_and_methods_have_the_names_of_the_literature() {
    assert_eq!(Strategy::ALL.map(|s| s.to_string()), ["tree", "tree-binary", "nested", "well-scoped"]);
    assert_eq!(Method::ALL.map(|m| m.to_string()), ["horn", "wp", "sp", "mbp", "farkas"]);
    assert!(Strategy::ALL.iter().all(|strategy| strategy.to_string().parse() == Ok(*strategy)));
    assert!(Method::ALL.iter().all(|method| method.to_string().parse() == Ok(*method)));
    let unknown = "binary".parse::<Strategy>().expect_err("no such strategy").to_string();
    assert!(unknown.contains("`tree-binary`"), "{unknown}");
}

#[test]
fn attempts_follow_each_other() {
    let z3 = z3();
    let tree = sequence_of(&traces::count(Theory::Integers, 3));
    let hopeless = Options { limits: Limits::resource(100_000), models: 0 };
    let attempts =
        [(Strategy::TreeBinary, Method::Mbp, hopeless), (Strategy::Tree, Method::Wp, Options::default())];
    let (found, strategy, method) = interpolate_by(&z3, &tree, &attempts).expect("interpolants");
    assert_eq!((strategy, method), (Strategy::Tree, Method::Wp));
    check(&z3, &tree, &found);
}

#[test]
fn interpolants_do_not_depend_on_the_session() {
    let tree = sequence_of(&traces::bounds(Theory::Integers));
    let run = |noise: u32| -> Vec<Term> {
        let z3 = z3();
        for i in 0..noise {
            let mut solver = z3.solver();
            solver.assert(t::lt(t::named(&format!("noise{i}"), Sort::Int), t::int(i)));
            assert_eq!(solver.check(), Outcome::Sat);
        }
        let found =
            interpolate(&z3, &tree, Strategy::Tree, Method::Wp, Options::default()).expect("interpolants");
        found.formulas().to_vec()
    };
    assert_eq!(run(0), run(20));
}

#[test]
fn sums_of_inequalities_find_what_a_loop_preserves() {
    let z3 = z3();
    let [m, n] = ["m", "n"].map(|name| Var::new(name, Sort::Int));
    let [m0, n0] = ["m0", "n0"].map(|name| t::named(name, Sort::Int));
    let mut steps = vec![Step::assign(m, m0), Step::assign(n, n0)];
    for _ in 0..3 {
        steps.push(Step::assign(m, t::add([t::var(m), t::int(1)])));
        steps.push(Step::assign(n, t::sub(t::var(n), t::int(1))));
    }
    let differs = t::not(t::eq(t::var(m), t::add([m0, n0])));
    steps.push(Step::assume(t::and([t::eq(t::var(n), t::int(0)), differs])));
    let tree = sequence_of(&steps);
    let found = interpolate(&z3, &tree, Strategy::Tree, Method::Farkas, Options::default()).expect("linear");
    check(&z3, &tree, &found);
    let invariant = t::eq(t::add([t::var(m), t::var(n)]), t::add([m0, n0]));
    for k in [3, 5] {
        assert_eq!(uninstantiate(found.formulas()[k]), invariant);
    }
}
