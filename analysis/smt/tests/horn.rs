//! Horn systems: loops and recursion, safe and unsafe.

use proofline_smt::horn::{
    Atom, Cells, HornOptions, HornOutcome, HornSystem, PredId, Split, SymbolicAbstractionOptions, argument,
    invariants_of_cells, solve, solve_with,
};
use proofline_smt::{Limits, Reason, Sort, Term, Z3, build as t};

fn at(predicate: PredId, args: &[Term]) -> Atom {
    Atom { predicate, args: args.to_vec() }
}

fn int(name: &str) -> Term {
    t::named(name, Sort::Int)
}

fn limits() -> Limits {
    Limits::resource(20_000_000)
}

fn deriving() -> HornOptions {
    HornOptions { limits: limits(), derivation: true, ..HornOptions::default() }
}

/// `s = 0; i = 0; while (i < n) { s += 2; i++ } assert(s == 2n + off)` for `n >= 0`.
fn count_up(off: i64) -> HornSystem {
    let mut system = HornSystem::default();
    let [i, n, s] = ["i", "n", "s"].map(int);
    let head = system.predicate("loop", &[Sort::Int; 3]);
    system.rule(vec![], t::ge(n, t::int(0)), Some(at(head, &[t::int(0), n, t::int(0)])));
    let next = at(head, &[t::add([i, t::int(1)]), n, t::add([s, t::int(2)])]);
    system.rule(vec![at(head, &[i, n, s])], t::lt(i, n), Some(next));
    let bad = t::ne(s, t::add([t::mul([t::int(2), n]), t::int(off)]));
    system.rule(vec![at(head, &[i, n, s])], t::and([t::ge(i, n), bad]), None);
    system
}

/// McCarthy's function, with `f(x) = 91` for `x <= bound` asserted.
fn mc91(bound: i64) -> HornSystem {
    let mut system = HornSystem::default();
    let [x, y, r] = ["x", "y", "r"].map(int);
    let f = system.predicate("mc91", &[Sort::Int; 2]);
    system.rule(vec![], t::gt(x, t::int(100)), Some(at(f, &[x, t::sub(x, t::int(10))])));
    let calls = vec![at(f, &[t::add([x, t::int(11)]), y]), at(f, &[y, r])];
    system.rule(calls, t::le(x, t::int(100)), Some(at(f, &[x, r])));
    let bad = t::and([t::le(x, t::int(bound)), t::ne(r, t::int(91))]);
    system.rule(vec![at(f, &[x, r])], bad, None);
    system
}

#[test]
fn a_loop_gets_its_invariant() {
    let z3 = Z3::new().expect("the shipped library");
    let system = count_up(0);
    let HornOutcome::Solved(solution) = solve(&z3, &system, limits()) else { panic!("safe") };
    let [i, s] = [argument(0, Sort::Int), argument(2, Sort::Int)].map(t::var);
    let invariant = solution.formula(PredId(0));
    // s = 2i is what makes it true; Spacer finds it, in some form.
    let mut solver = z3.solver();
    proofline_smt::Solver::assert(&mut solver, invariant);
    assert_eq!(
        proofline_smt::Solver::implies(&mut solver, t::eq(s, t::mul([t::int(2), i]))),
        Ok(true),
        "{invariant}"
    );
}

#[test]
fn a_recursive_function_gets_its_summary() {
    let z3 = Z3::new().expect("the shipped library");
    assert!(matches!(solve(&z3, &mc91(101), limits()), HornOutcome::Solved(_)));
}

#[test]
fn a_wrong_assertion_is_refuted_by_a_derivation() {
    let z3 = Z3::new().expect("the shipped library");
    let outcome = solve_with(&z3, &count_up(1), deriving());
    let HornOutcome::Refuted(Some(derivation)) = outcome else { panic!("{outcome:?}") };
    let last = derivation.steps.last().expect("a last step");
    assert_eq!((last.rule, last.conclusion.clone()), (2, None));
    assert_eq!(derivation.steps[0].rule, 0);
}

#[test]
fn recursion_is_refuted_by_a_tree() {
    let z3 = Z3::new().expect("the shipped library");
    let outcome = solve_with(&z3, &mc91(102), deriving());
    let HornOutcome::Refuted(Some(derivation)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(derivation.steps.last().map(|s| s.rule), Some(2));
}

#[test]
fn predicates_out_of_reach_do_not_disturb() {
    let z3 = Z3::new().expect("the shipped library");
    let mut system = count_up(0);
    let x = int("x");
    let dead = system.predicate("underivable", &[Sort::Int]);
    let idle = system.predicate("unasked", &[Sort::Int]);
    system.rule(vec![at(dead, &[x])], t::bool(true), None);
    system.rule(vec![at(dead, &[x])], t::bool(true), Some(at(idle, &[x])));
    system.rule(vec![], t::bool(true), Some(at(idle, &[x])));
    let HornOutcome::Solved(solution) = solve(&z3, &system, limits()) else { panic!("safe") };
    assert_eq!(solution.formula(dead), t::bool(false));
    assert_eq!(solution.formula(idle), t::bool(true));
}

#[test]
fn a_limit_is_a_limit() {
    let z3 = Z3::new().expect("the shipped library");
    assert_eq!(solve(&z3, &mc91(101), Limits::resource(500)), HornOutcome::Unknown(Reason::Limit));
}

/// `i = 0; while (i < size) { a[i] = 7; i++ } assert(a[j] == 7)` for `0 <= j < size + off`.
fn fill(size: i64, off: i64) -> HornSystem {
    let mut system = HornSystem::default();
    let array = Sort::array(Sort::Int, Sort::Int);
    let (i, j, a) = (int("i"), int("j"), t::named("a", array));
    let head = system.predicate("loop", &[Sort::Int, array]);
    system.rule(vec![], t::bool(true), Some(at(head, &[t::int(0), a])));
    let next = at(head, &[t::add([i, t::int(1)]), t::store(a, i, t::int(7))]);
    system.rule(vec![at(head, &[i, a])], t::lt(i, t::int(size)), Some(next));
    let within = [t::ge(i, t::int(size)), t::ge(j, t::int(0)), t::lt(j, t::int(size + off))];
    let bad = t::and(within.into_iter().chain([t::ne(t::select(a, j), t::int(7))]));
    system.rule(vec![at(head, &[i, a])], bad, None);
    system
}

#[test]
fn what_holds_of_every_element_is_found_cell_by_cell_and_for_any_size() {
    let z3 = Z3::new().expect("the shipped library");
    let options = HornOptions { limits: limits(), guided: true, ..HornOptions::default() };
    for (shared, all) in [(true, false), (false, false), (false, true)] {
        let about = |off| {
            let cells =
                fill(5000, off).about(Cells { shared, all, pairs: false }).expect("there is an array").system;
            assert!(cells.predicates.iter().all(|p| p.sorts.iter().all(|sort| *sort == Sort::Int)));
            cells.for_any_numbers().expect("5000 is large")
        };
        assert!(matches!(solve_with(&z3, &about(0), options), HornOutcome::Solved(_)));
        assert!(!matches!(solve_with(&z3, &about(1), options), HornOutcome::Solved(_)));
    }
    assert!(count_up(0).about(Cells { shared: true, all: false, pairs: false }).is_none());
    assert!(count_up(0).for_any_numbers().is_none());
}

#[test]
fn what_holds_of_the_cells_before_an_index_is_found_and_no_more() {
    let z3 = Z3::new().expect("the shipped library");
    for shared in [true, false] {
        for split in [Split::Prefixes, Split::Indices, Split::Equalities] {
            let excluded = |off| {
                let cells = fill(5000, off)
                    .about(Cells { shared, all: false, pairs: false })
                    .expect("there is an array");
                let options =
                    SymbolicAbstractionOptions { degree: 1, split, limits: limits(), questions: 2000 };
                let found = invariants_of_cells(&z3, &cells, options).expect("few questions");
                found.excluded(&z3, &cells.system, limits()).expect("certified")
            };
            assert_eq!(excluded(0).len(), 1, "{shared} {split:?}");
            assert_eq!(excluded(1).len(), 0, "{shared} {split:?}");
        }
    }
}
