//! The solver behind its trait: scopes, assumptions, cores, models, limits, interruption, dumps, the version check.

use std::time::{Duration, Instant};

use proofline_smt::abstraction::{AllSat, Cartesian, all_sat, cartesian};
use proofline_smt::project::{ProjectOptions, project, project_universally};
use proofline_smt::term::{FloatConst, FloatOp, Rounding, Value, free_vars};
use proofline_smt::{
    Interrupter, Limits, Outcome, Reason, Recorder, SHIPPED, Solver, Sort, Term, Var, Z3, build as t,
    check_library, check_version, without_redundancy,
};

fn z3() -> Z3 {
    Z3::new().expect("the shipped library")
}

fn int(name: &str) -> Term {
    t::named(name, Sort::Int)
}

/// A product of two 60-bit factors that is prime: hopeless within a test.
fn hard() -> Term {
    let [x, y] = ["x", "y"].map(|name| t::named(name, Sort::BitVec(64)));
    let (one, half) = (t::bv(1, 64), t::bv(0xffff_ffffu64, 64));
    let product = t::eq(t::bvmul(x, y), t::bv(9_223_372_036_854_775_783u64, 64));
    t::and([product, t::bvult(one, x), t::bvult(one, y), t::bvule(x, half), t::bvule(y, half)])
}

#[test]
fn scopes_assumptions_and_cores() {
    let z3 = z3();
    let mut solver = z3.solver();
    let x = int("x");
    solver.assert(t::lt(t::int(3), x));
    solver.push();
    solver.assert(t::lt(x, t::int(4)));
    assert_eq!(solver.check(), Outcome::Unsat);
    solver.pop();
    let assumptions = [t::lt(int("y"), t::int(0)), t::lt(x, int("y")), t::lt(x, t::int(100))];
    assert_eq!(solver.check_assuming(&assumptions), Outcome::Unsat);
    assert_eq!(solver.core(), [0, 1]);
    assert_eq!(solver.check_assuming(&assumptions[1..]), Outcome::Sat);
    let values = solver.values(&[x, int("y"), assumptions[2]]);
    let value = |i: usize| values[i].as_ref().and_then(|v| v.as_int().cloned()).expect("a value");
    assert!(value(0) > 3.into() && value(0) < value(1));
    assert_eq!(values[2], Some(Value::Bool(true)));
    assert_eq!(solver.implies(t::le(t::int(4), x)), Ok(true));
}

#[test]
fn many_assumptions_leave_nothing_behind() {
    let z3 = z3();
    let mut solver = z3.solver();
    let x = int("x");
    for i in 0..200 {
        let both = [t::lt(x, t::int(i)), t::lt(t::int(i), x)];
        assert_eq!(solver.check_assuming(&both), Outcome::Unsat);
        assert_eq!(solver.check_assuming(&both[..1]), Outcome::Sat);
    }
}

#[test]
fn a_resource_limit_ends_a_hard_question_the_same_way_every_time() {
    for _ in 0..2 {
        let z3 = z3();
        let mut solver = z3.solver();
        solver.set_limits(Limits::resource(300_000));
        solver.assert(hard());
        assert_eq!(solver.check(), Outcome::Unknown(Reason::Limit));
    }
}

#[test]
fn an_interrupt_reaches_a_solver_whenever_it_comes() {
    for delay in [0u64, 1, 3, 10, 40] {
        let interrupter = Interrupter::new();
        let handle = interrupter.clone();
        let worker = std::thread::spawn(move || {
            let z3 = Z3::with_interrupter(handle).expect("the shipped library");
            let mut solver = z3.solver();
            solver.assert(hard());
            // The limit only keeps a failing test from running for hours.
            solver.set_limits(Limits::resource(2_000_000_000));
            solver.check()
        });
        std::thread::sleep(Duration::from_millis(delay));
        let start = Instant::now();
        interrupter.interrupt();
        assert_eq!(worker.join().expect("no panic"), Outcome::Unknown(Reason::Interrupted));
        // Generous: the machine may be busy. Without the protocol this takes minutes.
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn after_a_request_nothing_is_answered() {
    let interrupter = Interrupter::new();
    let z3 = Z3::with_interrupter(interrupter.clone()).expect("the shipped library");
    let mut solver = z3.solver();
    solver.assert(t::lt(int("x"), t::int(3)));
    interrupter.request();
    assert_eq!(solver.check(), Outcome::Unknown(Reason::Interrupted));
    interrupter.reset();
    assert_eq!(solver.check(), Outcome::Sat);
    let polled = Z3::with_interrupter(Interrupter::with_poll(|| true)).expect("the shipped library");
    assert_eq!(polled.solver().check(), Outcome::Unknown(Reason::Interrupted));
}

#[test]
fn a_recorder_says_what_is_asked() {
    let z3 = z3();
    let mut solver = Recorder::new(z3.solver());
    let a = t::named("a b", Sort::array(Sort::Int, Sort::BitVec(8)));
    solver.assert(t::eq(t::select(a, t::int(-3)), t::bv(200, 8)));
    solver.push();
    solver.assert(t::bvslt(t::bv(0, 8), t::select(a, int("i"))));
    let assumed = [t::lt(t::int(-4), int("i")), t::lt(int("i"), t::int(-2))];
    assert_eq!(solver.check_assuming(&assumed), Outcome::Unsat);
    let again = |question: Term| {
        let mut solver = z3.solver();
        solver.assert(question);
        solver.check()
    };
    assert_eq!(again(solver.question(&assumed)), Outcome::Unsat);
    solver.pop();
    assert_eq!(again(solver.question(&assumed)), Outcome::Sat, "a scope that is closed is forgotten");
}

#[test]
fn only_matching_libraries_are_accepted() {
    assert_eq!(check_library().expect("the shipped library").number, SHIPPED);
    for good in [[4, 14, 1], [4, 15, 4], [4, 16, 0]] {
        assert!(check_version(good, "", "").is_ok());
    }
    for bad in [[4, 8, 12], [4, 14, 0], [4, 16, 1], [5, 3, 0]] {
        let message = check_version(bad, "", "/usr/lib/libz3.so.4").expect_err("mismatch").to_string();
        let found = bad.map(|n| n.to_string()).join(".");
        for part in [found.as_str(), "/usr/lib/libz3.so.4", "4.15.4", "vendored-z3"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
}

#[test]
fn projection_is_exact() {
    let z3 = z3();
    let [x, y, z] = ["x", "y", "z"].map(int);
    let keep = [Var::new("x", Sort::Int), Var::new("z", Sort::Int)].into();
    let options = ProjectOptions::default();
    // By an equation; between two bounds; by divisibility.
    let defined = t::and([t::eq(y, t::add([x, t::int(1)])), t::lt(y, z)]);
    assert_eq!(project(&z3, defined, &keep, options), Ok(t::lt(t::add([x, t::int(1)]), z)));
    for formula in [
        t::and([t::lt(x, y), t::lt(y, z)]),
        t::and([t::le(t::mul([t::int(2), y]), x), t::le(z, t::mul([t::int(3), y]))]),
        t::or([t::and([t::eq(t::mul([t::int(2), y]), x), t::lt(z, y)]), t::eq(y, z)]),
    ] {
        let result = project(&z3, formula, &keep, options).expect("a projection");
        assert!(free_vars(result).is_subset(&keep), "{result}");
        let mut solver = z3.solver();
        solver.set_limits(Limits::resource(5_000_000));
        let meant = t::exists(&[Var::new("y", Sort::Int)], formula);
        solver.assert(t::not(t::iff(meant, result)));
        assert_eq!(solver.check(), Outcome::Unsat, "{formula} became {result}");
    }
    let always = project_universally(&z3, t::or([t::lt(y, x), t::lt(z, y)]), &keep, options);
    assert_eq!(always, Ok(t::lt(z, x)));
}

#[test]
fn projection_knows_what_its_models_leave_open() {
    let z3 = z3();
    let [w, x, y, z] = ["w", "x", "y", "z"].map(int);
    let keep = ["w", "x", "z"].map(|name| Var::new(name, Sort::Int)).into();
    // Where `x < z` holds, the search needs no other number.
    let sum = t::add([z, w]);
    let formula = t::or([t::lt(x, z), t::and([t::lt(y, sum), t::lt(x, y), t::ne(y, z)])]);
    let result = project(&z3, formula, &keep, ProjectOptions::default()).expect("a projection");
    let mut solver = z3.solver();
    solver.assert(t::not(t::iff(t::exists(&[Var::new("y", Sort::Int)], formula), result)));
    assert_eq!(solver.check(), Outcome::Unsat, "{result}");
    // Every model divides by zero.
    let formula = t::and([t::lt(t::add([y, t::div(x, w)]), z), t::lt(x, y), t::eq(w, t::int(0))]);
    let result = project(&z3, formula, &keep, ProjectOptions::default());
    assert!(matches!(result, Err(Reason::Incomplete(_))), "{result:?}");
}

#[test]
fn boolean_abstraction_is_the_strongest() {
    let z3 = z3();
    let mut solver = z3.solver();
    let [x, y] = ["x", "y"].map(int);
    // x = y, x in 1..=3: x > 0 is decided, x = y is decided, x < 2 and y < 2 go together.
    let formula = t::and([t::eq(x, y), t::lt(t::int(0), x), t::le(x, t::int(3))]);
    let predicates = [t::lt(t::int(0), x), t::lt(x, t::int(2)), t::lt(y, t::int(2)), t::eq(x, y)];
    let all = all_sat(&mut solver, formula, &predicates, 100);
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(all, AllSat::Cubes(vec![vec![yes, no, no, yes], vec![yes, yes, yes, yes]]));
    assert_eq!(cartesian(&mut solver, formula, &predicates), Cartesian::Cube(vec![yes, None, None, yes]));
    assert_eq!(all_sat(&mut solver, t::lt(x, x), &predicates, 100), AllSat::Infeasible);
    // Independent predicates join into one cube without them; too few cubes is no answer.
    let free = [t::lt(x, t::int(2)), t::lt(y, t::int(2))];
    assert_eq!(all_sat(&mut solver, t::bool(true), &free, 100), AllSat::Cubes(vec![vec![None, None]]));
    assert_eq!(all_sat(&mut solver, t::bool(true), &free, 3), AllSat::Unknown(Reason::Limit));
    assert_eq!(solver.check(), Outcome::Sat);
}

#[test]
fn projection_undoes_writes() {
    let z3 = z3();
    let memory = Sort::array(Sort::Int, Sort::Int);
    let [before, after] = ["before", "after"].map(|name| t::named(name, memory));
    let [i, j] = ["i", "j"].map(int);
    let keep = free_vars(t::and([t::eq(after, after), t::lt(i, j), t::eq(t::select(after, i), j)]));
    let seven = t::int(7);
    let formula = t::and([
        t::eq(after, t::store(before, i, seven)),
        t::lt(t::int(3), t::select(before, j)),
        t::ne(i, j),
    ]);
    let result = project(&z3, formula, &keep, ProjectOptions::default()).expect("a projection");
    assert!(free_vars(result).is_subset(&keep), "{result}");
    let expected =
        t::and([t::eq(t::select(after, i), seven), t::lt(t::int(3), t::select(after, j)), t::ne(i, j)]);
    let mut solver = z3.solver();
    solver.assert(t::not(t::iff(result, expected)));
    assert_eq!(solver.check(), Outcome::Unsat, "{result}");
}

#[test]
fn redundant_members_are_dropped_and_the_meaning_is_kept() {
    let z3 = z3();
    let [x, y] = ["x", "y"].map(int);
    let loose = t::le(t::add([x, y]), t::int(20));
    let tight = t::and([t::le(x, t::int(3)), t::le(y, t::int(4))]);
    let formula = t::or([t::and([tight, loose]), t::and([tight, t::lt(x, y)])]);
    assert_eq!(without_redundancy(&z3, formula, Limits::NONE), tight);
}

#[test]
fn floating_point_is_exact() {
    let z3 = z3();
    let mut solver = z3.solver();
    let sort = Sort::Float(proofline_smt::term::FloatSort::F64);
    let x = t::named("x", sort);
    let number = |f: f64| t::float(FloatConst::from_f64(f));
    let sum = t::fp(FloatOp::Add(Rounding::NearestEven), &[number(0.1), number(0.2)]);
    assert_eq!(sum, number(0.1 + 0.2));
    // 0.1 + x = 0.1 for every tiny x, by rounding.
    let added = t::fp(FloatOp::Add(Rounding::NearestEven), &[number(0.1), x]);
    solver.assert(t::fp(FloatOp::Eq, &[added, number(0.1)]));
    solver.assert(t::fp(FloatOp::Lt, &[number(0.0), x]));
    assert_eq!(solver.check(), Outcome::Sat);
    let value = solver.values(&[x])[0].clone().expect("a value");
    let Value::Float(f) = value else { panic!("a float") };
    let f = f.to_f64().expect("a double");
    assert!(f > 0.0 && 0.1 + f == 0.1);
    assert_eq!(t::fp(FloatOp::Eq, &[number(f64::NAN), number(f64::NAN)]), t::bool(false));
    assert_eq!(solver.implies(t::fp(FloatOp::IsNan, &[x])), Ok(false));
}
