//! CPArec [REC14], ALGORITHMS.md §10: recursion through an analysis of programs without recursion, whatever it is. Calls within recursive components are
//! unwound `k` times, each depth with functions of its own, and deeper ones do not return: what goes wrong there is real. From what the inner analysis
//! knows where the proved program enters and leaves recursive functions come their summaries; that these are inductive is what the same
//! analysis proves of a program in which they stand for the calls. Otherwise the recursion is unwound once more.

mod claim;
mod fixpoint;
mod inner;
mod replaced;
mod summary;
mod unwound;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, EntryKind, Name};
use proofline_cpa::Unknown;
use proofline_program_analysis::Environment;
use proofline_smt::Term;

use super::{Answer, Decision, Engine, Question, session::Session};
use inner::{Ran, Task};
use replaced::Replaced;
use summary::{Form, Interface, summaries};
use unwound::{Unwound, recursive_functions};

pub use fixpoint::CpaRecFixpoint;
pub(super) use inner::Inner;

/// A configuration.
#[derive(Clone, Debug)]
pub struct CpaRec {
    inner: Inner,
    /// Unwindings at most.
    most: u32,
}

impl CpaRec {
    pub(super) fn new(inner: Inner, most: u32) -> CpaRec {
        CpaRec { inner, most }
    }

    /// The answer, and how deep the recursion was unwound for it.
    fn ask(&self, question: &Question<'_>) -> Result<(Answer, u32), Unknown> {
        let Question { subject, entry, .. } = *question;
        let recursive = recursive_functions(subject, entry.name)?;
        if recursive.contains(&entry.name) {
            return Err(Unknown::Unsupported(format!("no summary of {entry}, in which executions start")));
        }
        let interfaces: BTreeMap<Name, Interface> = recursive
            .iter()
            .map(|name| Ok((*name, Interface::new(subject, *name)?)))
            .collect::<Result<_, Unknown>>()?;
        for depth in 1..=self.most {
            question.budget.step()?;
            let unwound = Unwound::new(question, &recursive, depth);
            let task = Task {
                env: unwound.environment.clone(),
                entry,
                targets: unwound.targets.clone(),
                origins: &unwound.origins,
                interfaces: &interfaces,
                question,
                is_program: true,
            };
            let pairs = match self.inner.run(&task)? {
                Ran::Holds(pairs) => pairs,
                Ran::Reached(Some(found)) => return Ok((Answer::Violated(found), depth)),
                // What seems possible there seems possible in every program that is unwound further.
                Ran::Reached(None) => {
                    let why = "the inputs found for an unwound path do not show it";
                    return Err(Unknown::Unconfirmed(why.into()));
                }
            };
            if recursive.is_empty() {
                return Ok((Answer::Holds("no error location is reachable".into()), 0));
            }
            let mut before = None;
            for form in [Form::Implied, Form::Always] {
                let session = Session::new(question.budget)?;
                let millis = Session::millis_left(question.budget);
                let found = summaries(&session.z3, &interfaces, &pairs, form, millis);
                drop(session);
                if before.as_ref() != Some(&found) && self.are_inductive(&interfaces, &found, question)? {
                    let why = "summaries of the recursive functions are inductive";
                    return Ok((Answer::Holds(why.into()), depth));
                }
                before = Some(found);
            }
        }
        Err(Unknown::OutOfBudget)
    }

    /// Whether every recursive function keeps its summary and violates no target, whatever it is called with, and the program violates none, if the
    /// summaries hold of all recursive calls.
    fn are_inductive(
        &self,
        interfaces: &BTreeMap<Name, Interface>,
        summaries: &BTreeMap<Name, Vec<Term>>,
        question: &Question<'_>,
    ) -> Result<bool, Unknown> {
        let Question { subject, entry, targets, .. } = *question;
        let Replaced { program, obligations } = Replaced::new(subject.program(), interfaces, summaries)?;
        let none = BTreeMap::new();
        let nothing = BTreeMap::new();
        let holds = |env: Environment, entry: Entry, own: Option<(Name, proofline_cfa::ObligationId)>| {
            let task = Task {
                env: Arc::new(env),
                entry,
                targets: targets.iter().chain(own).collect::<BTreeSet<_>>(),
                origins: &none,
                interfaces: &nothing,
                question,
                is_program: false,
            };
            match self.inner.run(&task) {
                Ok(Ran::Holds(_)) => Ok(true),
                Ok(Ran::Reached(_)) => Ok(false),
                Err(stuck @ (Unknown::NoProgress(_) | Unknown::Unconfirmed(_))) => {
                    drop(stuck);
                    Ok(false)
                }
                Err(why) => Err(why),
            }
        };
        for (name, obligation) in obligations {
            let from_anywhere = Entry { name, kind: EntryKind::Library };
            let env = Environment::library(program.clone(), name);
            if !holds(env, from_anywhere, Some((name, obligation)))? {
                return Ok(false);
            }
        }
        holds(Environment::entered(program, entry, subject.env().is_open()), entry, None)
    }
}

impl Engine for CpaRec {
    fn name(&self) -> &'static str {
        "cparec"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        Decision::at_depth(self.ask(question))
    }
}
