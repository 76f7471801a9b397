//! What is not decided, at its places: what it is that nobody knows, why, and what would help.

use std::collections::BTreeMap;

use proofline_verifier::Unknown;

use crate::{
    place::Place,
    program::FunctionItem,
    results::FileResults,
    state::FunctionReport,
    verify::{Obligation, Verdict},
    words::{Why, condition, why},
};

/// Of what is not decided, what is marked in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Undecided {
    /// Each place.
    #[default]
    Places,
    /// The names of functions with such places.
    Functions,
    /// Nothing.
    Nothing,
}

/// More places of one function are counted, not marked.
pub(crate) const MOST_PLACES: usize = 20;

/// A place with the conditions of which it is not decided whether they hold there, all for the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    /// Where it is now; `None`: the text has no place for it.
    pub(crate) place: Option<Place>,
    /// What must hold, in C where C can say it.
    pub(crate) conditions: Vec<String>,
    /// Why that is not decided.
    pub(crate) why: Why,
}

impl Open {
    /// A sentence, and on a line of its own what would help.
    pub(crate) fn message(&self) -> String {
        let conditions: Vec<String> = self.conditions.iter().map(|text| format!("`{text}`")).collect();
        let help = self.why.help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        format!("not decided whether {}: {}{help}", conditions.join(" and "), self.why.reason)
    }
}

/// Whether an obligation is open, and not just the callers' matter.
fn reason(obligation: &Obligation) -> Option<&Unknown> {
    match &obligation.verdict {
        Verdict::Unknown(Unknown::IfCallersKeep) | Verdict::Proved(_) | Verdict::Violated(_) => None,
        Verdict::Unknown(reason) => Some(reason),
    }
}

/// The open places of a function in the order of the text, those without a place last.
pub(crate) fn open(file: &FileResults, report: &FunctionReport) -> Vec<Open> {
    let mut places: BTreeMap<(bool, Option<Place>, Why), Vec<String>> = BTreeMap::new();
    for obligation in &*report.obligations {
        let Some(reason) = reason(obligation) else { continue };
        let place = obligation.place.as_ref().map(|place| file.place_now(place));
        let conditions = places.entry((place.is_none(), place, why(reason))).or_default();
        let text = condition(&obligation.text);
        if !conditions.contains(&text) {
            conditions.push(text);
        }
    }
    places.into_iter().map(|((_, place, why), conditions)| Open { place, conditions, why }).collect()
}

/// What is said at the name of a function whose places are not all marked. `marked`: how many are.
pub(crate) fn summary(function: &FunctionItem, report: &FunctionReport, marked: usize) -> String {
    let total = report.obligations.len();
    let reason = report.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let all = format!("not decided: {} of {total} checks of `{}`{reason}", report.unknown, function.name);
    if marked == 0 { all } else { format!("{all}; the first {marked} places are marked") }
}
