//! From where the program of a file is checked: the functions that executions start in, and what each decides.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use proofline_verifier::{
    EntryKind, Name, Subject,
    entry_points::{self, Scope, Whole, entry_points, judged_alone},
    sources::Sources,
};
use rustc_hash::FxHashMap;

use crate::{place::Place, settings::Settings};

/// A function that executions start in, with those it decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// The function.
    pub name: String,
    /// What a failure from here means: what fails in a program fails; from a function that unknown code may call with any arguments it may
    /// be the caller's fault.
    pub kind: EntryKind,
    /// Functions whose obligations it decides (itself included).
    pub decides: Arc<BTreeSet<Name>>,
    /// It is judged on its own, although others call it: what is known then is known for all callers. The rest is decided where they are.
    pub is_alone: bool,
}

/// From where a program is checked.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Functions on their own, then `main`, then by name.
    pub(crate) entries: Vec<EntryPoint>,
    /// The numbers of the entries that decide a function.
    deciding: FxHashMap<Name, Vec<usize>>,
}

impl Plan {
    /// All functions of the file are to be decided, and none of its companions.
    pub(crate) fn new(
        subject: &Subject,
        sources: &Sources,
        settings: &Settings,
        companions: &[PathBuf],
    ) -> Plan {
        let entries = entries(subject, sources, settings, companions);
        let mut deciding: FxHashMap<Name, Vec<usize>> = FxHashMap::default();
        for (at, entry) in entries.iter().enumerate() {
            for function in &*entry.decides {
                deciding.entry(*function).or_default().push(at);
            }
        }
        Plan { entries, deciding }
    }

    /// The entries that decide a function.
    pub(crate) fn deciding(&self, function: &str) -> impl Iterator<Item = &EntryPoint> {
        let all = self.deciding.get(&Name::new(function));
        all.into_iter().flatten().filter_map(|at| self.entries.get(*at))
    }
}

fn entries(
    subject: &Subject,
    sources: &Sources,
    settings: &Settings,
    companions: &[PathBuf],
) -> Vec<EntryPoint> {
    // Functions of companions are decided where this file's executions reach them, and else where their own file is open.
    let is_own = |name: Name| {
        companions.is_empty()
            || sources
                .definition(name)
                .is_none_or(|at| !companions.contains(&Place::of(&at).path.to_path_buf()))
    };
    let scope = if settings.library { Scope::Library } else { Scope::Everything };
    let mut points = entry_points(&Whole::new(subject), scope, &is_own);
    let mut inner: BTreeSet<Name> = BTreeSet::new();
    // Whoever names engines asks these alone.
    if settings.engines.is_empty() {
        let of_library = || points.iter().filter(|point| point.entry.is_library());
        inner.extend(of_library().flat_map(|point| &point.decides).filter(|name| is_own(**name)));
        let wide = judged_alone(of_library().map(|point| &point.decides));
        if !wide.is_empty() {
            points.retain(|point| !point.entry.is_library() || !wide.contains(&point.entry.name));
            for point in points.iter_mut().filter(|point| point.entry.is_library()) {
                point.decides.retain(|name| !wide.contains(name));
            }
        }
    }
    for point in &points {
        inner.remove(&point.entry.name);
    }
    let alone = inner.into_iter().map(|name| EntryPoint {
        name: name.to_string(),
        kind: EntryKind::Library,
        decides: Arc::new(BTreeSet::from([name])),
        is_alone: true,
    });
    let entry = |point: entry_points::EntryPoint| EntryPoint {
        name: point.entry.name.to_string(),
        kind: point.entry.kind,
        decides: Arc::new(point.decides),
        is_alone: false,
    };
    alone.chain(points.into_iter().map(entry)).collect()
}
