//! Who calls a function whose contract was found: in a library only functions that nobody else can name are known to be called by others of it alone; in a
//! program, that begins with `main`, every function is, unless code that is not in sight may call it.

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Entry, Expr, Function as Body, LibraryResult, Lvalue, MemoryPredicate, Name, Obligation,
    ObligationId, visit,
};
use proofline_program_analysis::{Environment, Mentions};

use super::{Function, Known, Programs};
use crate::{
    callers,
    callers_memory::{is_asked, is_of_monitor},
    checks::{library_call, read_only},
    report::Kept,
    subject::Subject,
};

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

    /// Obligations of functions whose callers are all in sight, and keep their contracts, that no contract asks for: that memory has values, states of
    /// monitors; and where the callers' pointers say that it does not hold: that memory may be written, that two ranges do not overlap.
    pub(super) fn left_to_callers(&self) -> BTreeSet<(Name, ObligationId)> {
        let is_value = |predicate| predicate == MemoryPredicate::Initialised;
        let inner = self.report.kept.iter().filter(|(_, kept)| kept.is_met || !kept.is_shown);
        let all = inner.filter_map(|(name, _)| Some((*name, self.functions.get(name)?)));
        all.flat_map(|(name, function)| {
            let env = function.subject.env();
            let count = env.function(name).map_or(0, |body| body.obligations.len() as u32);
            let ids = (0..count).map(ObligationId);
            let is_left = move |id: &ObligationId| {
                is_asked(env, name, *id, &is_value)
                    || is_of_monitor(env.program(), name, *id)
                    || self.is_passed_otherwise(name, *id)
            };
            ids.filter(is_left).map(move |id| (name, id))
        })
        .collect()
    }

    /// Whether some function that reaches it may pass memory that must not be written, or two pointers into one object.
    fn is_passed_otherwise(&self, name: Name, id: ObligationId) -> bool {
        let own = |function: &Function| function.subject.env().function(name).cloned();
        let Some(asked) = self.functions.get(&name).and_then(own) else { return false };
        let asked = &asked.obligations[id.index()];
        if !read_only::CHECK.is(asked.check) && !library_call::CHECK.is(asked.check) {
            return false;
        }
        self.functions.iter().filter(|(caller, _)| **caller != name).any(|(_, caller)| {
            let env = caller.subject.env();
            let Some(body) = env.function(name) else { return false };
            // Elsewhere it may have other numbers.
            let is_it =
                |of: &&Obligation| (of.check, of.site, of.text) == (asked.check, asked.site, asked.text);
            body.obligations.iter().filter(is_it).any(|obligation| passes_otherwise(env, body, obligation))
        })
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

/// Whether, from what is called here, an obligation that memory may be written, or that two ranges do not overlap, may fail.
fn passes_otherwise(env: &Environment, body: &Body, obligation: &Obligation) -> bool {
    let name = body.name;
    let mut fails = false;
    for id in env.structure(name).failures(obligation) {
        visit::exprs(&body.edge(*id).op, &mut |part| match part {
            Expr::Memory(MemoryPredicate::Writable, pointer, _) => {
                fails |= env.may_be_read_only(name, pointer);
            }
            Expr::Load(Lvalue { base: Base::Local(id), .. }) => {
                let of = body.library_results.iter().filter(|result| result.dst == *id);
                let places = of.filter_map(LibraryResult::two_places);
                for (one, other) in places {
                    fails |= env.may_share_object(name, one, other);
                }
            }
            _ => {}
        });
    }
    fails
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
