//! Measures what STACK.md promises: small incremental queries, and every interpolation method on every family.
//! `cargo run -p proofline-smt --example measure [random traces]`

#[path = "../tests/traces/mod.rs"]
mod traces;

use std::time::Instant;

use proofline_smt::interpolate::{Method, Options, Step, Strategy, interpolate, sequence_of};
use proofline_smt::pretty;
use proofline_smt::rewrite::uninstantiate;
use proofline_smt::term::dag_size;
use proofline_smt::{Limits, Outcome, Solver, Sort, Term, Z3, build as t};
use traces::Theory;

fn latency(th: Theory, rounds: u32) {
    let z3 = Z3::new().expect("library");
    let mut solver = z3.solver();
    let x: Vec<Term> = (0..5).map(|i| t::named(&format!("x{i}"), th.sort())).collect();
    for pair in x.windows(2) {
        solver.assert(th.le(pair[0], pair[1]));
    }
    let mut seed = 7u64;
    let mut below = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    let (start, mut sat) = (Instant::now(), 0);
    for _ in 0..rounds {
        solver.push();
        for _ in 0..3 {
            let (a, b) = (x[below(5) as usize], x[below(5) as usize]);
            let k = th.number(below(19) as i64 - 9);
            let formula = match below(3) {
                0 => th.le(a, k),
                1 => t::not(th.le(a, k)),
                _ => t::ne(a, b),
            };
            solver.assert(formula);
        }
        sat += u32::from(solver.check() == Outcome::Sat);
        solver.pop();
    }
    println!("{th:?}: {rounds} incremental queries, {sat} sat, {:?} each", start.elapsed() / rounds);
}

/// A fresh solver per question, against one with scopes.
fn fresh(th: Theory) {
    let z3 = Z3::new().expect("library");
    let x = t::named("x", th.sort());
    let formula = |i: i64| t::and([th.le(th.number(i), x), th.le(x, th.number(i - 1))]);
    let start = Instant::now();
    for i in 0..200 {
        let mut solver = z3.solver();
        solver.assert(formula(i));
        assert_eq!(solver.check(), Outcome::Unsat);
    }
    println!("{th:?}: a fresh solver per query {:?}", start.elapsed() / 200);
}

/// Building, renaming and translating a long path formula.
fn building() {
    let x = t::named("x", Sort::Int);
    let y = t::named("y", Sort::Int);
    let start = Instant::now();
    let mut formula = t::bool(true);
    for i in 1..5000u32 {
        let at = |v: Term, k: u32| proofline_smt::rewrite::instantiate(v, |_| k);
        let next = t::add([at(x, i), at(y, i), t::int(1)]);
        let wrapped = t::wrap_signed(next, 32);
        let step =
            t::and([t::eq(at(x, i + 1), wrapped), t::eq(at(y, i + 1), at(y, i)), t::lt(at(x, i), t::int(i))]);
        formula = t::and([formula, step]);
    }
    println!("a path formula of 5000 steps: built {:?}, {} nodes", start.elapsed(), dag_size(formula));
    let start = Instant::now();
    let plain = uninstantiate(formula);
    println!("  without indices {:?}, {} nodes", start.elapsed(), dag_size(plain));
    let z3 = Z3::new().expect("library");
    let start = Instant::now();
    let mut solver = z3.solver();
    solver.assert(formula);
    println!("  asserted {:?}", start.elapsed());
    let start = Instant::now();
    let text = formula.to_string();
    println!("  printed {:?}, {} bytes", start.elapsed(), text.len());
}

fn main() {
    building();
    fresh(Theory::Integers);
    fresh(Theory::Bits);
    let random: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    let start = Instant::now();
    for _ in 0..20 {
        let _ = Z3::new().expect("library").solver().check();
    }
    println!("a session: {:?}", start.elapsed() / 20);
    latency(Theory::Integers, 10_000);
    latency(Theory::Bits, 2_000);
    assert_eq!(Sort::Int, Theory::Integers.sort());
    for th in [Theory::Integers, Theory::Bits] {
        let z3 = Z3::new().expect("library");
        let families: Vec<(&str, Vec<Vec<Step>>)> = vec![
            ("count", vec![traces::count(th, 4)]),
            ("bounds", vec![traces::bounds(th)]),
            ("mask", vec![traces::mask(th)]),
            ("random", (0..random).map(|s| traces::random(&z3, th, s, 20)).collect()),
        ];
        for (family, all) in &families {
            for method in [Method::Wp, Method::Sp, Method::Horn, Method::Mbp] {
                for strategy in [Strategy::Tree, Strategy::TreeBinary] {
                    let (mut ok, mut failed, mut nodes, start) = (0, Vec::new(), 0, Instant::now());
                    let mut example = String::new();
                    for steps in all {
                        let z3 = Z3::new().expect("library");
                        let options = Options { limits: Limits::resource(4_000_000), models: 48 };
                        match interpolate(&z3, &sequence_of(steps), strategy, method, options) {
                            Ok(found) => {
                                ok += 1;
                                nodes += found.formulas().iter().map(|f| dag_size(*f)).sum::<usize>()
                                    / steps.len();
                                example = pretty(uninstantiate(found.formulas()[steps.len() / 2]));
                            }
                            Err(failure) => failed.push(failure.to_string()),
                        }
                    }
                    let mean = start.elapsed() / all.len() as u32;
                    println!(
                        "{th:?} {family:7} {method:?} {strategy:?}: {ok}/{} mean {mean:.1?}, {} nodes; {}; {:?}",
                        all.len(),
                        nodes / ok.max(1),
                        example.chars().take(90).collect::<String>(),
                        failed.first()
                    );
                }
            }
        }
    }
}
