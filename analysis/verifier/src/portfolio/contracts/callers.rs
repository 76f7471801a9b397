//! Who calls a function whose contract was found: in a library only functions that nobody else can name are known to be called by others of it alone; in a
//! program, that begins with `main`, every function is, unless code that is not in sight may call it.

use std::collections::BTreeSet;

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_program_analysis::Mentions;

use super::{Known, Programs};
use crate::{callers, report::Kept, subject::Subject};

impl<P: Programs> Known<'_, P> {
    /// Whether all executions begin in one place, where nothing is asked of anybody.
    pub(super) fn is_program(&self) -> bool {
        self.beginning().is_some()
    }

    /// Whether executions of the program begin with it.
    pub(super) fn is_beginning(&self, name: Name) -> bool {
        self.beginning().is_some_and(|entry| entry.name == name)
    }

    fn beginning(&self) -> Option<Entry> {
        match &*self.report.entries {
            [entry] if !entry.is_library() => Some(*entry),
            _ => None,
        }
    }

    /// The functions that call it, if nothing else can.
    pub(super) fn callers(&self, name: Name) -> Result<Option<BTreeSet<Name>>, P::Error> {
        let main =
            self.beginning().and_then(|entry| Some((entry, &self.functions.get(&entry.name)?.subject)));
        match main {
            Some((entry, subject)) => Ok(callers_in(subject, entry, name)),
            None => self.programs.callers(name),
        }
    }

    /// Functions that ask nothing of their callers and give what they call what it asks for, whatever else is open of them.
    pub(super) fn keeping_calls(&self) -> BTreeSet<Name> {
        if !self.is_program() {
            return BTreeSet::new();
        }
        let keeps = |(name, kept): &(&Name, &Kept)| {
            let body = self.functions.get(name).and_then(|function| function.subject.env().function(**name));
            let is_own = |id: &ObligationId| body.is_some_and(|body| id.index() < body.obligations.len());
            kept.contract.is_empty() && kept.open.iter().all(is_own)
        };
        self.report.kept.iter().filter(keeps).map(|(name, _)| *name).collect()
    }
}

/// The functions of a program that call one, if nothing else can: of which each use is a call by its name.
fn callers_in(subject: &Subject, entry: Entry, name: Name) -> Option<BTreeSet<Name>> {
    let program = subject.program();
    let functions = || program.functions.values().map(|body| &**body);
    let body = program.function(name)?;
    if body.attributes.runs_outside_main
        || subject.env().called_from_outside(entry).contains(&name)
        || callers::has_gaps(functions(), program.globals.values().map(|global| &**global))
        || program.globals.values().any(|global| Mentions::of_global(global).names.contains(&name))
    {
        return None;
    }
    let users: Vec<_> =
        functions().filter(|body| Mentions::of_function(body).names.contains(&name)).collect();
    let only_called = users.iter().all(|user| callers::calls_only(user, name));
    only_called.then(|| users.into_iter().map(|user| user.name).collect())
}
