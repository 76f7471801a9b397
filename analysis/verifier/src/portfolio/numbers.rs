//! Numbers of obligations. A function has other obligations in a program that begins with `main` than on its own, as one of a library: there leaks are looked
//! for where it returns; monitors that are about several functions are asked about here only. So verdicts about it go from one to the other by what they say.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{CheckId, Function, Name, Obligation, ObligationId, Site};

use crate::verdict::{Verdict, Verdicts};

type Target = (Name, ObligationId);

/// What tells obligations of a function apart wherever it is looked at.
type Said = (CheckId, Site, Name);

fn said(obligation: &Obligation) -> Said {
    (obligation.check, obligation.site, obligation.text)
}

/// Which obligation of a function in the program is which one of the function on its own.
#[derive(Default)]
pub(super) struct Numbers {
    functions: BTreeSet<Name>,
    /// By the number in the program.
    alone: BTreeMap<Target, ObligationId>,
    /// By the number alone.
    there: BTreeMap<Target, ObligationId>,
    /// Those that the program does not have, by the number alone.
    others: BTreeSet<Target>,
}

impl Numbers {
    /// Takes in a function, once.
    pub(super) fn add(&mut self, there: &Function, alone: &Function) {
        let name = alone.name;
        if !self.functions.insert(name) {
            return;
        }
        let ids = |obligations: &[Obligation]| {
            let mut ids: BTreeMap<Said, Vec<ObligationId>> = BTreeMap::new();
            for (at, obligation) in (0..).zip(obligations) {
                ids.entry(said(obligation)).or_default().push(ObligationId(at));
            }
            ids
        };
        let (there, alone) = (ids(&there.obligations), ids(&alone.obligations));
        for (said, own) in alone {
            match there.get(&said).filter(|there| there.len() == own.len()) {
                Some(there) => {
                    for (there, own) in there.iter().zip(own) {
                        self.alone.insert((name, *there), own);
                        self.there.insert((name, own), *there);
                    }
                }
                None => self.others.extend(own.into_iter().map(|id| (name, id))),
            }
        }
    }

    /// The number in the program.
    pub(super) fn number(&self, name: Name, alone: ObligationId) -> Option<ObligationId> {
        self.there.get(&(name, alone)).copied()
    }

    /// Verdicts by the numbers alone, and those that only the program has. What the program does not ask is no question.
    pub(super) fn alone(&self, verdicts: Verdicts) -> (Verdicts, Verdicts) {
        let mut theirs = BTreeMap::new();
        let mut out: Verdicts =
            self.others.iter().map(|target| (*target, Verdict::Proved(NOT_ASKED))).collect();
        for (target, verdict) in verdicts {
            match self.alone.get(&target) {
                Some(id) => out.insert((target.0, *id), verdict),
                None => theirs.insert(target, verdict),
            };
        }
        (theirs, out)
    }

    /// Verdicts by the numbers in the program; what it does not ask is left out. Those about functions that nobody has taken in stay as they are.
    pub(super) fn in_program(&self, verdicts: Verdicts) -> Verdicts {
        let number = |(target, verdict): (Target, Verdict)| {
            if !self.functions.contains(&target.0) {
                return Some((target, verdict));
            }
            self.number(target.0, target.1).map(|id| ((target.0, id), verdict))
        };
        verdicts.into_iter().filter_map(number).collect()
    }
}

/// Stands for an engine where nothing is asked.
const NOT_ASKED: &str = "";
