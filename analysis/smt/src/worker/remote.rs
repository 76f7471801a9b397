//! A solver of a session in a worker. It keeps what was asserted, so that another worker can be told.

use std::rc::Rc;

use super::message::{Order, Reply};
use super::session::{Lost, Session};
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Term, Value, Var};
use crate::z3::{is_literal, nth_name};

/// A solver elsewhere.
#[derive(Debug)]
pub(crate) struct RemoteSolver {
    session: Rc<Session>,
    id: u64,
    general: bool,
    limits: Limits,
    scopes: Vec<Scope>,
    /// The worker that knows all this, by the session's count.
    epoch: u64,
    last: Last,
}

#[derive(Clone, Debug, Default)]
struct Scope {
    /// Formulas, and whether they were given names.
    formulas: Vec<(Term, bool)>,
    /// Names given here and below.
    names: u32,
}

/// What the last check left behind.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Last {
    Nothing,
    /// Under these assumptions; whether values of its model were read.
    Sat(Vec<Term>, bool),
    Unsat(Vec<usize>),
}

impl RemoteSolver {
    /// A solver, the general one or the incremental one.
    pub(crate) fn new(session: &Rc<Session>, general: bool) -> RemoteSolver {
        let (id, epoch) = (session.number(), session.epoch());
        session.tell(&Order::Solver { id, general });
        RemoteSolver {
            session: session.clone(),
            id,
            general,
            limits: Limits::NONE,
            scopes: vec![Scope::default()],
            epoch,
            last: Last::Nothing,
        }
    }

    /// Tells the worker, if it knows the rest.
    fn tell(&self, order: &Order<'_>) {
        if self.epoch == self.session.epoch() {
            self.session.tell(order);
        }
    }

    /// Tells a worker that knows nothing of this solver everything.
    fn introduce(&mut self) {
        if self.epoch == self.session.epoch() {
            return;
        }
        self.epoch = self.session.epoch();
        let id = self.id;
        self.session.tell(&Order::Solver { id, general: self.general });
        self.session.tell(&Order::Limits(id, self.limits));
        for (depth, scope) in self.scopes.iter().enumerate() {
            if depth > 0 {
                self.session.tell(&Order::Push(id));
            }
            for (formula, is_named) in &scope.formulas {
                let order = if *is_named { Order::Name(id, *formula) } else { Order::Assert(id, *formula) };
                self.session.tell(&order);
            }
        }
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the outermost scope")
    }

    /// Asks the worker, which is told everything first where it is new.
    fn ask(&mut self, order: &Order<'_>) -> Result<Reply, Lost> {
        self.introduce();
        self.session.ask(order, self.limits)
    }

    fn decide(&mut self, assumptions: &[Term]) -> Result<(Outcome, Vec<usize>), Lost> {
        let order = Order::Check(self.id, assumptions.to_vec());
        let session = self.session.clone();
        session.insist(|| match self.ask(&order)? {
            Reply::Checked(outcome, core) if core.iter().all(|i| *i < assumptions.len()) => {
                Ok((outcome, core))
            }
            _ => Err(self.session.garbage()),
        })
    }

    /// Values in the model of the last check; another worker makes a model of its own, if nothing was read of this one.
    fn read_values(&mut self, terms: &[Term]) -> Result<Vec<Option<Value>>, Lost> {
        let Last::Sat(assumptions, is_read) = self.last.clone() else { return Ok(vec![None; terms.len()]) };
        let order = Order::Values(self.id, terms.to_vec());
        let session = self.session.clone();
        session.insist(|| {
            if self.epoch != self.session.epoch() && (is_read || self.decide(&assumptions)?.0 != Outcome::Sat)
            {
                return Ok(vec![None; terms.len()]);
            }
            match self.ask(&order)? {
                Reply::Values(values) if fit(terms, &values) => Ok(values),
                _ => Err(self.session.garbage()),
            }
        })
    }

    /// See `Z3Solver::project`.
    pub(crate) fn project(&mut self, formula: Term, gone: &[Var]) -> Result<Term, Reason> {
        // What was read of the model belongs to one worker.
        if !matches!(self.last, Last::Sat(..)) || self.epoch != self.session.epoch() {
            return Err(Reason::Stopped);
        }
        match self.ask(&Order::Project(self.id, formula, gone.to_vec())) {
            Ok(Reply::Projected(result)) => result,
            Ok(_) => Err(self.session.garbage().reason()),
            Err(lost) => Err(lost.reason()),
        }
    }
}

fn fit(terms: &[Term], values: &[Option<Value>]) -> bool {
    let fits =
        |(term, value): (&Term, &Option<Value>)| value.as_ref().is_none_or(|v| v.sort() == term.sort());
    terms.len() == values.len() && terms.iter().zip(values).all(fits)
}

impl Drop for RemoteSolver {
    fn drop(&mut self) {
        self.tell(&Order::Drop(self.id));
    }
}

impl Solver for RemoteSolver {
    fn push(&mut self) {
        self.last = Last::Nothing;
        let names = self.scope().names;
        self.scopes.push(Scope { formulas: Vec::new(), names });
        self.tell(&Order::Push(self.id));
    }

    fn pop(&mut self) {
        assert!(self.scopes.len() > 1, "pop without push");
        self.last = Last::Nothing;
        self.scopes.pop();
        self.tell(&Order::Pop(self.id));
    }

    fn assert(&mut self, formula: Term) {
        assert_eq!(formula.sort(), crate::Sort::Bool, "only formulas can be asserted");
        self.last = Last::Nothing;
        self.scope().formulas.push((formula, false));
        self.tell(&Order::Assert(self.id, formula));
    }

    fn name(&mut self, formula: Term) -> Term {
        if is_literal(formula) {
            return formula;
        }
        self.last = Last::Nothing;
        let scope = self.scope();
        scope.names += 1;
        scope.formulas.push((formula, true));
        let literal = nth_name(scope.names);
        self.tell(&Order::Name(self.id, formula));
        literal
    }

    fn check_assuming(&mut self, assumptions: &[Term]) -> Outcome {
        self.last = Last::Nothing;
        let (outcome, last) = match self.decide(assumptions) {
            Ok((Outcome::Sat, _)) => (Outcome::Sat, Last::Sat(assumptions.to_vec(), false)),
            Ok((Outcome::Unsat, core)) => (Outcome::Unsat, Last::Unsat(core)),
            Ok((unknown, _)) => (unknown, Last::Nothing),
            Err(lost) => (Outcome::Unknown(lost.reason()), Last::Nothing),
        };
        self.last = last;
        outcome
    }

    fn values(&mut self, terms: &[Term]) -> Vec<Option<Value>> {
        let values = self.read_values(terms);
        if let Last::Sat(_, is_read) = &mut self.last {
            *is_read = true;
        }
        values.unwrap_or_else(|_| vec![None; terms.len()])
    }

    fn core(&mut self) -> Vec<usize> {
        match &self.last {
            Last::Unsat(core) => core.clone(),
            Last::Nothing | Last::Sat(..) => Vec::new(),
        }
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.tell(&Order::Limits(self.id, limits));
    }
}
