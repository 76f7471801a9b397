//! The contract that is tried for a function, and what the tries before have shown.

use std::collections::BTreeSet;

use proofline_cfa::{Name, ObligationId};

use crate::contracts::{Contract, assume::Assumed, draft::Draft};

/// What is tried for a function.
pub(super) struct Try {
    pub(super) draft: Draft,
    pub(super) contract: Contract,
    /// Nothing else can be tried.
    pub(super) is_over: bool,
    /// Everything is proved under it.
    pub(super) is_whole: bool,
    /// No caller can keep it.
    pub(super) is_contradictory: bool,
    /// What called functions ask for that was not shown to be kept under it.
    pub(super) not_kept: BTreeSet<Name>,
    /// The weakest contract under which the least stays open, and what.
    pub(super) best: Option<(Contract, BTreeSet<ObligationId>)>,
    /// Everything was proved under this one, and now it is tried how the function leaves records.
    pub(super) enough: Option<Contract>,
    /// That was tried.
    pub(super) has_left: bool,
}

impl Try {
    /// What stays open under the contract.
    ///
    /// What is open of a pointer that it speaks of says that the guess is wrong: where it fails, everything behind would be proved. What a person has
    /// written is no guess.
    pub(super) fn leaves(&mut self, open: &BTreeSet<ObligationId>, assumed: &Assumed) {
        let is_of_guess =
            |id| assumed.about.get(id).is_some_and(|at| self.contract.pointers.contains_key(at));
        if !self.draft.is_written() && open.iter().any(is_of_guess) {
            return;
        }
        // What is assumed behind calls rests on what they are given.
        let is_of_call = |id: &ObligationId| assumed.calls.contains(id) && !assumed.returns.contains_key(id);
        if assumed.rests_on_calls && open.iter().any(is_of_call) {
            return;
        }
        if self.best.as_ref().is_none_or(|(_, least)| open.len() < least.len()) {
            let contract = Contract { is_contained: assumed.is_contained, ..self.contract.clone() };
            self.best = Some((contract, open.clone()));
        }
    }

    /// Where everything is proved, it is tried whether the function leaves records as they should be, whatever it finds; otherwise, whether it leaves them so if it
    /// finds them so. If not, it promises nothing.
    pub(super) fn leaves_records(&mut self) {
        let next = match (&self.enough, self.is_whole) {
            _ if self.has_left => return,
            (Some(_), true) => None,
            (None, _) => self.draft.leaving(&self.contract),
            (Some(enough), false) => {
                let asks = self.contract.records != enough.records
                    && self.contract.records.values().any(|of| !of.asked.is_empty());
                let next = if asks { None } else { self.draft.with_records(enough) };
                if next.is_none() {
                    (self.contract, self.is_whole) = (enough.clone(), true);
                }
                next
            }
        };
        self.is_over = next.is_none();
        if let Some(next) = next {
            let enough = std::mem::replace(&mut self.contract, next);
            self.enough.get_or_insert(enough);
            self.is_whole = false;
        } else {
            (self.enough, self.has_left) = (None, true);
        }
    }

    /// With another contract, if there is one.
    pub(super) fn go_on(&mut self, next: Option<Contract>) {
        self.is_over = next.is_none();
        if let Some(next) = next {
            self.contract = next;
        }
    }
}
