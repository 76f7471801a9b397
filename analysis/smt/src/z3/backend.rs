//! Z3 as a [`Solver`]: one long-lived incremental solver (a fresh one per question costs twenty to a hundred times as
//! much, measured), with fixed seeds.

use super::ffi::{self, Answer, Ast, Params};
use super::session::Z3;
use crate::build;
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Value, Var, value_of};

/// An incremental solver of a session.
pub struct Z3Solver {
    z3: Z3,
    raw: ffi::Solver,
    depth: u32,
    /// Names given in each open scope, and in total below it.
    names: Vec<u32>,
    last: Last,
    /// Set if an assertion could not be translated: every answer in this scope is then unknown.
    broken: Option<(u32, Reason)>,
}

/// What the last check left behind.
enum Last {
    Nothing,
    /// The model, if it was taken already.
    Sat(Option<ffi::Model>),
    Unsat(Vec<usize>),
}

impl std::fmt::Debug for Z3Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Z3Solver").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Z3 {
    /// A new incremental solver of this session, without limits: for many small questions with `push` and `pop`.
    ///
    /// # Panics
    /// If Z3 cannot allocate.
    #[must_use]
    pub fn solver(&self) -> Z3Solver {
        // Not the general solver: before its first `push` that runs tactics, of which the rewriter of 4.15.4 does not
        // terminate on some equations between arrays (met by the property tests).
        self.wrap(ffi::Solver::simple(self.ctx()).expect("Z3 makes a solver"))
    }

    /// A solver for one large question without `push`: it tries Z3's tactics (bit-blasting to a SAT solver for
    /// bit-vector formulas) before the incremental core. Set limits.
    ///
    /// # Panics
    /// If Z3 cannot allocate.
    #[must_use]
    pub fn one_shot_solver(&self) -> Z3Solver {
        self.wrap(ffi::Solver::new(self.ctx()).expect("Z3 makes a solver"))
    }

    fn wrap(&self, raw: ffi::Solver) -> Z3Solver {
        let solver =
            Z3Solver { z3: self.clone(), raw, depth: 0, names: vec![0], last: Last::Nothing, broken: None };
        solver.configure(Limits::NONE);
        solver
    }
}

fn is_literal(t: Term) -> bool {
    let atom = if matches!(t.op(), Op::Not) { t.args()[0] } else { t };
    matches!(atom.op(), Op::Var(_)) && atom.sort() == Sort::Bool
}

impl Z3Solver {
    fn configure(&self, limits: Limits) {
        let params = Params::new(self.z3.ctx()).number("random_seed", 0);
        let params = params.number("rlimit", limits.resource.unwrap_or(0));
        let params = params.number("timeout", limits.millis.unwrap_or(u32::MAX));
        self.raw.configure(&params).expect("Z3 knows these parameters");
    }

    /// The session it belongs to.
    #[must_use]
    pub fn session(&self) -> &Z3 {
        &self.z3
    }

    /// Forgets everything, also what Z3 learnt.
    pub fn reset(&mut self) {
        self.raw.reset();
        (self.depth, self.names, self.last, self.broken) = (0, vec![0], Last::Nothing, None);
    }

    pub(crate) fn model(&mut self) -> Option<&ffi::Model> {
        match &mut self.last {
            Last::Sat(model) => {
                if model.is_none() {
                    *model = self.raw.model().ok();
                }
                model.as_ref()
            }
            Last::Nothing | Last::Unsat(_) => None,
        }
    }

    fn add(&mut self, formula: Term) {
        match self.z3.write(formula) {
            Ok(ast) => self.raw.assert(&ast),
            Err(error) => {
                self.broken.get_or_insert((self.depth, Reason::Failed(error.to_string())));
            }
        }
    }

    fn decide(&mut self, literals: &[Ast]) -> Result<Answer, Reason> {
        let z3 = self.z3.clone();
        let answer = z3.run(|| self.raw.check(literals))?;
        match answer {
            Answer::Unknown => Err(Reason::of_unknown(&self.raw.reason_unknown())),
            Answer::Yes | Answer::No => Ok(answer),
        }
    }

    /// Positions of the assumptions in Z3's core.
    fn read_core(&self, literals: &[Ast]) -> Vec<usize> {
        match self.raw.core() {
            Ok(core) => (0..literals.len()).filter(|i| core.contains(&literals[*i])).collect(),
            // All of them suffice, certainly.
            Err(_) => (0..literals.len()).collect(),
        }
    }
}

impl Solver for Z3Solver {
    fn push(&mut self) {
        self.raw.push();
        self.depth += 1;
        self.names.push(self.names.last().copied().unwrap_or(0));
        self.last = Last::Nothing;
    }

    fn pop(&mut self) {
        assert!(self.depth > 0, "pop without push");
        self.raw.pop(1);
        self.depth -= 1;
        self.names.pop();
        self.last = Last::Nothing;
        if self.broken.as_ref().is_some_and(|(depth, _)| *depth > self.depth) {
            self.broken = None;
        }
    }

    fn assert(&mut self, formula: Term) {
        assert_eq!(formula.sort(), Sort::Bool, "only formulas can be asserted");
        self.last = Last::Nothing;
        self.add(formula);
    }

    fn name(&mut self, formula: Term) -> Term {
        if is_literal(formula) {
            return formula;
        }
        self.last = Last::Nothing;
        // Names are counted per scope and used again after it: they do not pile up.
        let count = self.names.last_mut().expect("the outermost scope");
        *count += 1;
        let literal = build::var(Var::indexed("%name", *count, Sort::Bool));
        let named = self.z3.write(literal).and_then(|l| Ast::implies(&l, &self.z3.write(formula)?));
        match named {
            Ok(ast) => self.raw.assert(&ast),
            Err(error) => {
                self.broken.get_or_insert((self.depth, Reason::Failed(error.to_string())));
            }
        }
        literal
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome {
        self.last = Last::Nothing;
        // Compound assumptions get a name in a scope of their own, so that names do not pile up in the solver.
        let scoped = !assumptions.iter().all(|a| is_literal(*a));
        if scoped {
            self.push();
        }
        let mut literals = Vec::with_capacity(assumptions.len());
        for a in assumptions {
            let literal = self.name(*a);
            match self.z3.write(literal) {
                Ok(ast) => literals.push(ast),
                Err(error) => self.broken = Some((self.depth, Reason::Failed(error.to_string()))),
            }
        }
        let result = match &self.broken {
            Some((_, reason)) => Err(reason.clone()),
            None => self.decide(&literals),
        };
        let (outcome, last) = match result {
            Ok(Answer::Yes) => (Outcome::Sat, Last::Sat(if scoped { self.raw.model().ok() } else { None })),
            Ok(Answer::No) => (Outcome::Unsat, Last::Unsat(self.read_core(&literals))),
            Ok(Answer::Unknown) => (Outcome::Unknown(Reason::Incomplete(String::new())), Last::Nothing),
            Err(reason) => (Outcome::Unknown(reason), Last::Nothing),
        };
        if scoped {
            self.pop();
        }
        self.last = last;
        outcome
    }

    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>> {
        let z3 = self.z3.clone();
        let Some(model) = self.model() else {
            return vec![None; terms.len()];
        };
        let value = |t: &Term| {
            let ast = model.eval(&z3.write(*t).ok()?, true).ok()?;
            value_of(z3.read(&ast).ok()?)
        };
        terms.iter().map(value).collect()
    }

    fn core(&mut self) -> Vec<usize> {
        match &self.last {
            Last::Unsat(core) => core.clone(),
            Last::Nothing | Last::Sat(_) => Vec::new(),
        }
    }

    fn set_limits(&mut self, limits: Limits) {
        self.configure(limits);
    }
}
