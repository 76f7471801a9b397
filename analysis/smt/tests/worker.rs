//! Solver sessions in processes. This file is also the worker: with an argument it serves, without one it tests. (The processes of one
//! test would be employed by the others, so the tests run one after the other.)

#[expect(dead_code, reason = "the laws of terms use all of it")]
mod random;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use proofline_smt::horn::{Atom, HornOptions, HornOutcome, HornSystem, solve_with};
use proofline_smt::worker::{Care, Launch, dismiss, employ, serve, take_incident};
use proofline_smt::{Interrupter, Limits, Outcome, Reason, Solver, Sort, Term, Z3, build as t};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use random::{Source, tree};

fn main() -> ExitCode {
    let all: [(&str, fn()); 8] = [
        ("answers_are_the_same_wherever_they_come_from", answers_are_the_same_wherever_they_come_from),
        ("horn_clauses_are_solved_and_refuted", horn_clauses_are_solved_and_refuted),
        ("a_session_survives_its_workers", a_session_survives_its_workers),
        ("who_dies_at_every_question_stops_it", who_dies_at_every_question_stops_it),
        ("garbage_is_no_answer", garbage_is_no_answer),
        ("a_limit_of_memory_is_told", a_limit_of_memory_is_told),
        ("a_cancelled_question_ends_at_once", a_cancelled_question_ends_at_once),
        ("a_worker_that_hangs_is_ended", a_worker_that_hangs_is_ended),
    ];
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "usual" => {
            return served(Care { is_worn: || false, is_full: || false, end: || std::process::abort() });
        }
        "full" => return served(Care { is_worn: || false, is_full: || true, end: || std::process::abort() }),
        _ => {}
    }
    for (name, test) in all {
        if std::env::args().skip(1).filter(|a| !a.starts_with('-')).all(|wanted| name.contains(&wanted)) {
            eprintln!("{name}");
            test();
            dismiss();
            assert_eq!(workers(), Vec::<String>::new(), "{name} leaves processes behind");
        }
    }
    ExitCode::SUCCESS
}

fn served(care: Care) -> ExitCode {
    ExitCode::from(u8::from(serve(std::io::stdin(), std::io::stdout(), care).is_err()))
}

fn launch(mode: &str) {
    let program = std::env::current_exe().expect("this test has a name");
    employ(Launch { program, arguments: vec![mode.into()] });
}

/// The living children of this process, where the system tells.
fn workers() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        if fields.get(1) == Some(&own.as_str()) && fields.first() != Some(&"Z") {
            found.push(name);
        }
    }
    found
}

fn signal(name: &str) {
    for pid in workers() {
        let _ = Command::new("kill").args([&format!("-{name}"), &pid]).status();
    }
}

fn z3() -> Z3 {
    Z3::new().expect("the shipped library")
}

fn int(name: &str) -> Term {
    t::named(name, Sort::Int)
}

/// Nobody answers this soon: the factors of a product of two primes of 64 bits that are far from each other and from 2^64.
fn hard() -> Term {
    let [x, y] = ["x", "y"].map(|name| t::named(name, Sort::BitVec(128)));
    let number = |value: u64| t::bv(value, 128);
    let product = t::bvmul(number(14_488_038_916_154_245_121), number(12_535_862_302_449_813_517));
    let proper =
        |v: Term| t::and([t::bvult(number(1), v), t::bvult(v, t::bvmul(number(1 << 32), number(1 << 32)))]);
    t::and([t::eq(t::bvmul(x, y), product), proper(x), proper(y), t::bvult(x, y)])
}

/// x counts from 0 to 10 and is not 11; or, with a mistake, is not 10.
fn counter(wrong: i64) -> HornSystem {
    let mut system = HornSystem::default();
    let loop_head = system.predicate("loop", &[Sort::Int]);
    let x = int("x");
    let at = |term: Term| Atom { predicate: loop_head, args: vec![term] };
    system.rule(vec![], t::eq(x, t::int(0)), Some(at(x)));
    system.rule(vec![at(x)], t::lt(x, t::int(10)), Some(at(t::add([x, t::int(1)]))));
    system.rule(vec![at(x)], t::eq(x, t::int(wrong)), None);
    system
}

fn options() -> HornOptions {
    HornOptions { limits: Limits::resource(3_000_000), derivation: true, ..HornOptions::default() }
}

/// Outcome, model and core of random formulas.
fn observe(z3: &Z3, formulas: &[Term], vars: &[Term]) -> String {
    let mut solver = z3.solver();
    solver.set_limits(Limits::resource(200_000));
    let mut seen = String::new();
    for formula in formulas {
        let literal = solver.name(*formula);
        solver.push();
        solver.assert(*formula);
        for assumptions in [vec![], vec![literal, t::not(formulas[0])]] {
            let outcome = solver.check_assuming(&assumptions);
            seen += &format!("{outcome:?} {:?} {:?}\n", solver.values(vars), solver.core());
        }
        solver.pop();
    }
    seen
}

fn answers_are_the_same_wherever_they_come_from() {
    let vars: Vec<Term> = random::variables().into_iter().map(t::var).collect();
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let cases = vec(vec(any::<u8>(), 0..60), 1..4);
    let law = |bytes: Vec<Vec<u8>>| {
        let formulas: Vec<Term> =
            bytes.iter().map(|bytes| tree(&mut Source(bytes), Sort::Bool, 4).build()).collect();
        dismiss();
        let here = observe(&z3(), &formulas, &vars);
        launch("usual");
        assert_eq!(observe(&z3(), &formulas, &vars), here);
        Ok(())
    };
    TestRunner::new(config).run(&cases, law).expect("the same everywhere");
}

fn horn_clauses_are_solved_and_refuted() {
    launch("usual");
    assert!(matches!(solve_with(&z3(), &counter(11), options()), HornOutcome::Solved(_)));
    let HornOutcome::Refuted(Some(derivation)) = solve_with(&z3(), &counter(10), options()) else {
        panic!("10 is reached")
    };
    assert_eq!(derivation.steps.len(), 12);
}

fn a_session_survives_its_workers() {
    launch("usual");
    let z3 = z3();
    let mut solver = z3.solver();
    let x = int("x");
    solver.assert(t::lt(t::int(3), x));
    let small = solver.name(t::lt(x, t::int(5)));
    assert_eq!(solver.check(), Outcome::Sat);
    signal("SEGV");
    assert_eq!(solver.check_assuming(&[small]), Outcome::Sat);
    signal("KILL");
    // Nothing was read of the model that died.
    assert_eq!(solver.values(&[x])[0].as_ref().and_then(|v| v.as_int().cloned()), Some(4.into()));
    signal("KILL");
    // The rest of a model that was read is gone.
    assert_eq!(solver.values(&[x]), [None]);
    solver.push();
    solver.assert(t::lt(t::int(4), x));
    signal("KILL");
    assert_eq!(solver.check_assuming(&[t::lt(x, t::int(100)), small]), Outcome::Unsat);
    assert!(solver.core().contains(&1));
    solver.pop();
    assert_eq!(solver.check_assuming(&[small]), Outcome::Sat);
    assert!(matches!(solve_with(&z3, &counter(11), options()), HornOutcome::Solved(_)));
}

/// Runs `work` while workers die every few milliseconds.
fn dying<T>(work: impl FnOnce() -> T) -> T {
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                signal("KILL");
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let result = work();
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        result
    })
}

fn who_dies_at_every_question_stops_it() {
    launch("usual");
    let _ = take_incident();
    let outcome = dying(|| z3().check(hard(), Limits::resource(2_000_000_000)));
    let Outcome::Unknown(Reason::Stopped | Reason::Failed(_)) = outcome else { panic!("{outcome:?}") };
    if outcome == Outcome::Unknown(Reason::Stopped) {
        assert_eq!(take_incident(), Some(Reason::Stopped));
    }
    // The next question is answered.
    assert_eq!(z3().check(t::lt(int("x"), t::int(0)), Limits::NONE), Outcome::Sat);
}

fn garbage_is_no_answer() {
    for (program, arguments) in [("cat", &[][..]), ("yes", &[][..]), ("true", &[]), ("no such program", &[])]
    {
        employ(Launch { program: PathBuf::from(program), arguments: arguments.to_vec() });
        let outcome = z3().check(t::lt(int("x"), t::int(0)), Limits::NONE);
        let Outcome::Unknown(Reason::Failed(why)) = outcome else { panic!("{outcome:?}") };
        assert!(why.contains(program), "{why}");
    }
}

fn a_limit_of_memory_is_told() {
    launch("full");
    assert_eq!(z3().check(hard(), Limits::resource(2_000_000_000)), Outcome::Unknown(Reason::Memory));
    assert_eq!(take_incident(), Some(Reason::Memory));
}

fn a_cancelled_question_ends_at_once() {
    launch("usual");
    for delay in [0, 5, 200] {
        let interrupter = Interrupter::new();
        let handle = interrupter.clone();
        let asking = std::thread::spawn(move || {
            let z3 = Z3::with_interrupter(handle).expect("the shipped library");
            z3.check(hard(), Limits::resource(2_000_000_000))
        });
        std::thread::sleep(Duration::from_millis(delay));
        let begun = Instant::now();
        interrupter.interrupt();
        assert_eq!(asking.join().expect("no panic"), Outcome::Unknown(Reason::Interrupted));
        let took = begun.elapsed();
        eprintln!("  cancelled after {delay} ms, ended in {took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

fn a_worker_that_hangs_is_ended() {
    launch("usual");
    let z3 = z3();
    let mut solver = z3.solver();
    solver.assert(t::lt(int("x"), t::int(0)));
    assert_eq!(solver.check(), Outcome::Sat);
    signal("STOP");
    solver.set_limits(Limits { resource: None, millis: Some(100) });
    assert_eq!(solver.check(), Outcome::Unknown(Reason::Limit));
    solver.set_limits(Limits::NONE);
    assert_eq!(solver.check(), Outcome::Sat);
}
