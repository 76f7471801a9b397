//! Programs from memory: one program for all entries. For tests and for callers without a query graph; remembers nothing.

use std::{collections::BTreeSet, convert::Infallible};

use proofline_cfa::{Entry, Name};
use proofline_cpa::Unknown;
use proofline_program_analysis::Mentions;

use super::{Control, Programs, Request, judge};
use crate::{
    callers,
    contracts::records_given,
    entry_points::{Scope, Whole, entry_points},
    finding::Finding,
    report::{Judgement, Report},
    sources::Sources,
    subject::Subject,
    wording::{Spot, Wordings},
};

/// A program with its text.
#[derive(Clone, Copy)]
pub struct InMemory<'m> {
    /// What engines see.
    pub subject: &'m Subject,
    /// What people see.
    pub sources: &'m Sources,
}

impl Programs for InMemory<'_> {
    type Error = Infallible;

    fn begin(&self, _: &Control) -> Result<(), Infallible> {
        Ok(())
    }

    fn default_entries(&self) -> Result<Vec<Entry>, Infallible> {
        let points = entry_points(&Whole::new(self.subject), Scope::Program, &|_| true);
        Ok(points.into_iter().map(|point| point.entry).collect())
    }

    fn reached(&self, function: Name) -> Result<BTreeSet<Name>, Infallible> {
        Ok(self.subject.reachable_from(function))
    }

    fn has_body(&self, function: Name) -> Result<bool, Infallible> {
        Ok(self.subject.program().function(function).is_some())
    }

    fn misunderstood(&self, entry: Entry) -> Result<Option<Unknown>, Infallible> {
        Ok(self.sources.misunderstood(&self.subject.env().concerned(entry)))
    }

    fn callers(&self, function: Name) -> Result<Option<BTreeSet<Name>>, Infallible> {
        let program = self.subject.program();
        let functions = || program.functions.values().map(|body| &**body);
        let is_hidden = program.function(function).is_some_and(|body| callers::is_hidden(body));
        if !is_hidden
            || self.sources.has_errors()
            || callers::has_gaps(functions(), program.globals.values().map(|global| &**global))
        {
            return Ok(None);
        }
        let is_held =
            program.globals.values().any(|global| Mentions::of_global(global).names.contains(&function));
        let mut users = functions().filter(|body| Mentions::of_function(body).names.contains(&function));
        let only_called = !is_held && users.clone().all(|user| callers::calls_only(user, function));
        Ok(only_called.then(|| users.by_ref().map(|user| user.name).collect()))
    }

    fn given(&self, _: Name, record: Name) -> Result<BTreeSet<Name>, Infallible> {
        let functions = self.subject.program().functions.values();
        Ok(functions.filter(|body| records_given(body).contains(&record)).map(|body| body.name).collect())
    }

    fn annotation(&self, function: Name) -> Result<Option<String>, Infallible> {
        Ok(self.sources.annotation(function))
    }

    fn subject_of(&self, _: Name) -> Result<Subject, Infallible> {
        Ok(self.subject.clone())
    }

    fn stands_apart(&self, _: Name) -> Result<bool, Infallible> {
        Ok(false)
    }

    fn judge(&self, request: &Request, entry: Entry, control: &Control) -> Result<Report, Infallible> {
        let subject = self.subject.for_question(&request.property);
        let judgement = answer(&subject, request, entry, control);
        let wording = |function| self.sources.wording(function);
        let explained = judgement.explained(&subject, &Wordings::new(&wording));
        let placed = |finding: Finding<Spot>| finding.placed(self.sources);
        let findings: Vec<_> = explained.into_iter().map(|finding| finding.map(placed)).collect();
        Ok(judgement.report(entry, &findings))
    }
}

/// With what was asked before.
fn answer(subject: &Subject, request: &Request, entry: Entry, control: &Control) -> Judgement {
    let before = request.round.after.as_ref().map(|before| answer(subject, before, entry, control));
    judge(subject, request, entry, before.as_ref(), control)
}
