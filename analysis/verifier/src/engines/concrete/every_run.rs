//! Programs that read nothing, and whose runs differ by nothing but which allocations fail: few enough to run all of them.

use proofline_cfa::{Base, Cause, Edge, LocalId, Name, ObligationId, Op, Site};
use proofline_cpa::{Budget, Unknown};

use super::{super::Answer, COMPILED, Choice, Concrete, End, Limits, Machine, Run, Search};
use crate::{
    checks::{memory_cleanup, memory_leak},
    interpret::Script,
};

/// An obligation of a function.
type Target = (Name, ObligationId);

/// More runs are not tried.
const MOST_RUNS: usize = 64;

/// Runs that ask for more are not told apart.
const MOST_ANSWERS: usize = 64;

impl Search<'_> {
    /// Runs everything that the first run leaves, if nothing but allocations tells runs apart: what none of them violates holds. `None`: it was not so.
    pub(super) fn every_run(
        &mut self,
        first: &Run,
        limits: &Concrete,
        budget: &Budget,
    ) -> Result<Option<Answer>, Unknown> {
        let mut open: Vec<Vec<i128>> = Vec::new();
        // What earlier calls of a library's functions have left is in no run.
        if self.entry.is_library() || !self.branches(first, 0, &mut open) {
            return Ok(None);
        }
        let mut count = 1;
        while let Some(answers) = open.pop() {
            count += 1;
            if count > MOST_RUNS || self.spent > limits.total_steps + limits.first_steps {
                return Ok(None);
            }
            let from = answers.len();
            let limits = Limits { steps: limits.first_steps, ..Limits::default() };
            let run =
                Machine::new(self.code, Script::new(answers), limits).with_budget(budget).run(self.entry);
            self.spent += run.steps;
            let is_spent = budget.spend(run.steps / 16 + run.compiled / COMPILED + 1);
            self.record(&run)?;
            is_spent?;
            if !self.branches(&run, from, &mut open) {
                return Ok(None);
            }
        }
        let (ends, held): (Vec<Target>, Vec<Target>) =
            self.open.iter().partition(|target| self.is_end(*target));
        if ends.is_empty() {
            let why = match count {
                1 => "no input of the program is looked at: its only execution was run to the end".to_owned(),
                _ => format!(
                    "its {count} executions, which differ by the allocations that fail, were all run to the end"
                ),
            };
            return Ok(Some(Answer::Holds(why)));
        }
        self.proved.extend(held);
        let why = "what is left where a program is ended by a call, no run says for all builds of it";
        Err(Unknown::Unconfirmed(why.into()))
    }

    /// Whether it is asked what is lost where the program is ended by a call. A variable that refers to it may be in use no more, and then compilers say
    /// whether it does.
    fn is_end(&self, (function, id): Target) -> bool {
        let Some(body) = self.code.program.function(function) else { return true };
        let obligation = &body.obligations[id.index()];
        let checks = [&memory_leak::CHECK, &memory_cleanup::CHECK];
        if !checks.iter().any(|check| check.is(obligation.check)) {
            return false;
        }
        // Where `main` returns, nothing is in use.
        let mut at = body.edges.iter().find(|edge| edge.to == obligation.error).map(|edge| edge.from);
        for _ in 0..body.obligations.len() + 2 {
            if at == Some(body.exit) {
                return function != self.entry.name;
            }
            let is_error = |edge: &Edge| body.obligations.iter().any(|of| of.error == edge.to);
            let mut on = body.edges.iter().filter(|edge| Some(edge.from) == at && !is_error(edge));
            let next = on.next().filter(|edge| matches!(edge.op, Op::Skip | Op::Assume(_)));
            at = next.map(|edge| edge.to);
        }
        true
    }

    /// Whether a run shows all of what happens with its answers, and what is asked behind the first `from` of them are allocations alone; where these go the
    /// other way is `open` then.
    fn branches(&self, run: &Run, from: usize, open: &mut Vec<Vec<i128>>) -> bool {
        let is_whole = match run.end {
            End::Finished => !run.is_blocked,
            End::Violates(..) | End::Diverges => true,
            End::Stuck(_) | End::OutOfSteps | End::Deviated(_) => false,
        };
        let is_nothing = |choice: &Choice| choice.is_of_allocation() || self.is_unread(choice);
        if !is_whole
            || !run.is_determined
            || run.is_guess
            || run.inputs.len() > MOST_ANSWERS
            || !run.inputs.iter().all(|(choice, _)| is_nothing(choice))
        {
            return false;
        }
        let answers: Vec<i128> = run.inputs.iter().map(|(_, answer)| *answer).collect();
        for (at, (_, answer)) in
            run.inputs.iter().enumerate().skip(from).filter(|(_, (of, _))| of.is_of_allocation())
        {
            let mut other = answers[..at].to_vec();
            other.push(i128::from(*answer == 0));
            open.push(other);
        }
        true
    }

    /// Whether nothing that a run does depends on an answer: the number of arguments of a `main` that does not look at it, the time that only seeds
    /// a generator.
    fn is_unread(&self, choice: &Choice) -> bool {
        let Some(index) = self.code.by_name.get(&choice.function) else { return false };
        let code = &self.code.functions[*index as usize];
        let body = &code.function;
        let places: Vec<LocalId> = match choice.cause {
            Cause::Input(name) if choice.site == Site(0) && choice.function == self.entry.name => {
                let is_it = |id: &&LocalId| body.local(**id).name == name;
                body.parameters.iter().filter(is_it).copied().collect()
            }
            _ => {
                let mut places = Vec::new();
                let asks = |edge: &&Edge| edge.site == choice.site;
                for edge in body.edges.iter().filter(asks) {
                    match &edge.op {
                        Op::Havoc(dst, cause) if *cause == choice.cause => match dst.base {
                            Base::Local(id) => places.push(id),
                            Base::Global(_) | Base::Deref(..) => return false,
                        },
                        _ => {}
                    }
                }
                places
            }
        };
        !places.is_empty() && places.iter().all(|id| code.is_unread(*id))
    }
}
