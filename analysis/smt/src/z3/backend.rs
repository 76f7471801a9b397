//! Z3 as a [`Solver`]: one long-lived incremental solver (a fresh one per question costs twenty to a hundred times as
//! much, measured), with fixed seeds.

use super::ffi::{self, Answer, Ast, Params};
use super::session::{Local, Settings};
use crate::build;
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, Value, Var, value_of};

/// An incremental solver of a session in this process.
pub(crate) struct LocalSolver {
    z3: Local,
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

impl std::fmt::Debug for LocalSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalSolver").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl Local {
    /// See `Z3::solver`.
    pub(crate) fn solver(&self) -> LocalSolver {
        // Not the general solver: before its first `push` that runs tactics, of which the rewriter of 4.15.4 does not
        // terminate on some equations between arrays (met by the property tests).
        self.wrap(ffi::Solver::simple(self.ctx()).expect("Z3 makes a solver"))
    }

    /// See `Z3::one_shot_solver`.
    pub(crate) fn one_shot_solver(&self) -> LocalSolver {
        self.wrap(ffi::Solver::new(self.ctx()).expect("Z3 makes a solver"))
    }

    fn wrap(&self, raw: ffi::Solver) -> LocalSolver {
        let solver = LocalSolver {
            z3: self.clone(),
            raw,
            depth: 0,
            names: vec![0],
            last: Last::Nothing,
            broken: None,
        };
        solver.configure(Limits::NONE);
        solver
    }
}

pub(crate) fn is_literal(t: Term) -> bool {
    let atom = if matches!(t.op(), Op::Not) { t.args()[0] } else { t };
    matches!(atom.op(), Op::Var(_)) && atom.sort() == Sort::Bool
}

/// The literal that stands for the `n`th formula that got one.
pub(crate) fn nth_name(n: u32) -> Term {
    build::var(Var::indexed("%name", n, Sort::Bool))
}

impl LocalSolver {
    fn configure(&self, limits: Limits) {
        let params = match self.z3.settings() {
            Settings::Usual => Params::new(self.z3.ctx()).number("random_seed", 0),
            Settings::Other => Params::new(self.z3.ctx()).number("random_seed", 17).number("relevancy", 0),
        };
        let params = params.number("rlimit", limits.resource.unwrap_or(0));
        let params = params.number("timeout", limits.millis.unwrap_or(u32::MAX));
        self.raw.configure(&params).expect("Z3 knows these parameters");
    }

    /// See `project::project_model`.
    pub(crate) fn project(&mut self, formula: Term, gone: &[Var]) -> Result<Term, Reason> {
        let failed = |error: ffi::Error| Reason::of(&error.0);
        let z3 = self.z3.clone();
        let constants: Vec<Term> = gone.iter().map(|v| build::var(*v)).collect();
        let bound = z3.write_all(&constants).map_err(failed)?;
        let body = z3.write(formula).map_err(failed)?;
        let model = self.model().ok_or_else(|| Reason::Failed("no model to project".into()))?;
        // Not simplified by Z3: reading normalises, and its rewriter need not terminate (see `Local::solver`).
        z3.run(|| z3.read(&model.project(&bound, &body)?))
    }

    fn model(&mut self) -> Option<&ffi::Model> {
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

impl Solver for LocalSolver {
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
        let literal = nth_name(*count);
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
