//! Who calls whom among the functions of a large library that are judged on their own: what is proved of one rests on what it calls, and what one asks for need not be
//! kept by those that call it.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::Name;

use super::Programs;
use crate::{entry_points::MOST_DECIDED, report::Report, subject::Subject};

/// The functions that one may call.
pub(super) fn callees(subject: &Subject, function: Name) -> BTreeSet<Name> {
    let calls = subject.env().call_graph().calls(function);
    calls.flat_map(|(_, callees)| callees.functions.clone()).collect()
}

/// Whether a function reaches so few, itself among them, that it is no matter of the whole library.
pub(super) fn reaches_few(function: Name, callees: &dyn Fn(Name) -> BTreeSet<Name>) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([function]), vec![function]);
    while let Some(next) = open.pop() {
        open.extend(callees(next).into_iter().filter(|callee| seen.insert(*callee)));
        if seen.len() > MOST_DECIDED {
            return false;
        }
    }
    true
}

/// The functions that each may call.
pub(super) struct Calls(BTreeMap<Name, BTreeSet<Name>>);

impl Calls {
    /// Of these functions.
    pub(super) fn new<P: Programs>(programs: &P, functions: &BTreeSet<Name>) -> Result<Calls, P::Error> {
        let mut all = BTreeMap::new();
        for name in functions {
            all.insert(*name, callees(&programs.subject_of(*name)?, *name));
        }
        Ok(Calls(all))
    }

    /// Whether a function reaches so few that it is no matter of the whole library.
    pub(super) fn reaches_few(&self, function: Name) -> bool {
        reaches_few(function, &|name| self.0.get(&name).cloned().unwrap_or_default())
    }

    /// Notes of which functions the proofs rest on what they call, because something is open there.
    pub(super) fn rest(&self, report: &mut Report) {
        let mut callers: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for (caller, callees) in &self.0 {
            callees.iter().for_each(|callee| callers.entry(*callee).or_default().push(*caller));
        }
        let is_open = report.verdicts.iter().filter(|(_, verdict)| !verdict.is_proved());
        let mut open: Vec<Name> = is_open.map(|((name, _), _)| *name).collect();
        open.dedup();
        while let Some(name) = open.pop() {
            let resting = callers.get(&name).into_iter().flatten();
            open.extend(resting.filter(|caller| report.resting.insert(**caller)));
        }
    }

    /// Notes what functions are asked for where they call, but those whose calls were looked at. Their proofs rest on it.
    pub(super) fn not_kept(&self, looked_at: &BTreeSet<Name>, report: &mut Report) {
        let without = self.0.iter().filter(|(caller, _)| !looked_at.contains(*caller));
        for (caller, callees) in without {
            let asked = callees.iter().filter_map(|callee| Some((callee, report.kept.get(callee)?)));
            let asked = asked.flat_map(|(callee, kept)| {
                kept.words.iter().map(move |words| format!("in `{callee}`: {words}"))
            });
            let texts: Vec<String> = asked.collect();
            if !texts.is_empty() {
                report.calls_not_kept.entry(*caller).or_default().extend(texts);
                report.resting.insert(*caller);
            }
        }
    }
}
