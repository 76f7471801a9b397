//! Infeasible traces to interpolate, over integers and bit vectors: the families of `STACK.md` §3 and random ones.

use proofline_smt::interpolate::Step;
use proofline_smt::{Outcome, Solver, Sort, Term, Var, Z3, build as t};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Theory {
    Integers,
    Bits,
}

impl Theory {
    pub(crate) fn sort(self) -> Sort {
        match self {
            Theory::Integers => Sort::Int,
            Theory::Bits => Sort::BitVec(32),
        }
    }

    pub(crate) fn number(self, i: i64) -> Term {
        match self {
            Theory::Integers => t::int(i),
            Theory::Bits => t::bv(i, 32),
        }
    }

    fn add(self, a: Term, b: Term) -> Term {
        match self {
            Theory::Integers => t::add([a, b]),
            Theory::Bits => t::bvadd(a, b),
        }
    }

    fn times(self, k: i64, a: Term) -> Term {
        match self {
            Theory::Integers => t::mul([t::int(k), a]),
            Theory::Bits => t::bvmul(t::bv(k, 32), a),
        }
    }

    fn low3(self, a: Term) -> Term {
        match self {
            Theory::Integers => t::modulo(a, t::int(8)),
            Theory::Bits => t::bvand(a, t::bv(7, 32)),
        }
    }

    pub(crate) fn le(self, a: Term, b: Term) -> Term {
        match self {
            Theory::Integers => t::le(a, b),
            Theory::Bits => t::bvsle(a, b),
        }
    }

    fn lt(self, a: Term, b: Term) -> Term {
        t::not(self.le(b, a))
    }

    fn var(self, i: usize) -> Var {
        Var::new(&format!("x{i}"), self.sort())
    }
}

/// `s == 2 * i` along an unrolled loop.
pub(crate) fn count(th: Theory, rounds: usize) -> Vec<Step> {
    let [i, n, s, u] = [0, 1, 2, 3].map(|k| th.var(k));
    let (iv, nv, sv) = (t::var(i), t::var(n), t::var(s));
    let mut steps = vec![Step::assign(i, th.number(0)), Step::assign(s, th.number(0)), Step::havoc(n)];
    steps.push(Step::assume(th.le(th.number(0), nv)));
    for _ in 0..rounds {
        steps.push(Step::assume(th.lt(iv, nv)));
        steps.push(Step::assign(s, th.add(sv, th.number(2))));
        steps.push(Step::assign(i, th.add(iv, th.number(1))));
        steps.push(Step::assign(u, th.add(sv, th.times(-1, iv))));
    }
    steps.push(Step::assume(th.le(nv, iv)));
    steps.push(Step::assume(t::ne(sv, th.times(2, nv))));
    steps
}

/// A counter that cannot have reached its bound yet.
pub(crate) fn bounds(th: Theory) -> Vec<Step> {
    let [i, n, w, u] = [0, 1, 4, 3].map(|k| th.var(k));
    let mut steps = vec![Step::havoc(w), Step::assign(i, th.number(0)), Step::assign(n, th.number(10))];
    steps.push(Step::assign(u, th.low3(t::var(w))));
    for _ in 0..5 {
        steps.push(Step::assume(th.lt(t::var(i), t::var(n))));
        steps.push(Step::havoc(w));
        steps.push(Step::assign(i, th.add(t::var(i), th.number(1))));
    }
    steps.push(Step::assume(th.le(t::var(n), t::var(i))));
    steps
}

/// A masked value stays small.
pub(crate) fn mask(th: Theory) -> Vec<Step> {
    let [i, n, s, u, w] = [0, 1, 2, 3, 4].map(|k| th.var(k));
    let mut steps = vec![Step::havoc(w), Step::assign(s, th.low3(t::var(w))), Step::assign(u, t::var(s))];
    steps.push(Step::havoc(i));
    for q in 0..7 {
        steps.push(Step::assume(th.le(th.number(q), th.low3(t::var(i)))));
        steps.push(Step::assign(i, th.add(t::var(i), t::var(w))));
    }
    steps.push(Step::assign(n, th.add(t::var(u), th.number(1))));
    steps.push(Step::assume(th.lt(th.number(8), t::var(n))));
    steps
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// `length` random steps whose last one makes them infeasible.
pub(crate) fn random(z3: &Z3, th: Theory, seed: u64, length: usize) -> Vec<Step> {
    for attempt in 0.. {
        let mut r = Random(seed * 1000 + attempt);
        r.below(9);
        let mut steps = Vec::new();
        for _ in 0..length {
            let mut pick = || th.var(r.below(5) as usize);
            let (a, b, c) = (pick(), pick(), pick());
            let k = th.number(r.below(9) as i64 - 4);
            let (av, bv, cv) = (t::var(a), t::var(b), t::var(c));
            steps.push(match r.below(10) {
                0 | 1 => Step::assign(a, th.add(bv, k)),
                2 | 3 => Step::assign(a, th.add(bv, cv)),
                4 => Step::assign(a, k),
                5 => Step::havoc(a),
                6 => Step::assume(th.le(av, bv)),
                7 => Step::assume(th.le(av, k)),
                8 => Step::assume(th.lt(k, av)),
                _ => Step::assume(t::ne(av, bv)),
            });
        }
        let feasible = |steps: &[Step]| {
            let tree = proofline_smt::interpolate::sequence_of(steps);
            let mut solver = z3.solver();
            tree.nodes().for_each(|n| solver.assert(tree.label(n)));
            solver.check()
        };
        if feasible(&steps) == Outcome::Unsat && feasible(&steps[..length - 1]) == Outcome::Sat {
            return steps;
        }
    }
    unreachable!("some trace is infeasible")
}
