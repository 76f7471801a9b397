//! What the engines of one question leave for those that are asked after them: what is known of all executions, precisions, and how deep the program was
//! searched without finding anything.
//!
//! Law: nothing of it decides what an engine says but for what it costs. Known facts and searched layers hold of every execution that violates nothing on
//! its way; a precision is a place to begin, and any precision is sound.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use proofline_cfa::Entry;
use proofline_cpa::Unknown;
use proofline_encoding::Encoding;

use super::{Question, Targets, known::Known};
use crate::subject::Subject;

/// For one program and entry.
#[derive(Debug)]
pub struct Shared {
    subject: Subject,
    entry: Entry,
    known: OnceLock<Arc<Known>>,
    /// Those that engines ended with which decided nothing, by their type: each analysis has its own.
    precisions: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    /// Within so many layers of symbolic search, none of these is violated.
    searched: Mutex<Vec<(Encoding, u32, Targets)>>,
}

impl Shared {
    /// Of executions from this entry. Nobody has asked yet.
    pub fn new(subject: &Subject, entry: Entry) -> Shared {
        Shared {
            subject: subject.clone(),
            entry,
            known: OnceLock::new(),
            precisions: Mutex::default(),
            searched: Mutex::default(),
        }
    }
}

impl Question<'_> {
    /// Engines may ask about a program that they have made; nothing of that is shared.
    fn is_of_all(&self) -> bool {
        self.shared.subject.is(self.subject) && self.shared.entry == self.entry
    }

    /// What is known of the executions that are asked about.
    ///
    /// # Errors
    /// If the question is over.
    pub(super) fn known(&self) -> Result<Arc<Known>, Unknown> {
        let is_of_all = self.is_of_all();
        if let Some(known) = self.shared.known.get().filter(|_| is_of_all) {
            return Ok(known.clone());
        }
        let known = match Known::of(self) {
            Ok(known) => Arc::new(known),
            Err(why @ (Unknown::Cancelled | Unknown::OutOfTime)) => return Err(why),
            // What is not known is not assumed.
            Err(_) => Arc::default(),
        };
        Ok(if is_of_all { self.shared.known.get_or_init(|| known).clone() } else { known })
    }

    /// The precision that an engine of the same analysis ended with, to begin with it.
    pub(super) fn handed_on<P: Clone + 'static>(&self) -> Option<P> {
        let precisions = self.shared.precisions.lock();
        let precision = precisions.get(&TypeId::of::<P>()).filter(|_| self.is_of_all())?;
        precision.downcast_ref::<P>().cloned()
    }

    /// Leaves the precision with which an engine ended that has not decided everything.
    pub(super) fn hand_on<P: Clone + Send + Sync + 'static>(&self, precision: &P) {
        if self.is_of_all() {
            self.shared.precisions.lock().insert(TypeId::of::<P>(), Arc::new(precision.clone()));
        }
    }

    /// Within how many layers it is known that nothing that is asked about is violated.
    pub(super) fn searched(&self, encoding: Encoding) -> u32 {
        let searched = self.shared.searched.lock();
        let is_all = |of: &Targets| self.targets.set().is_subset(of.set());
        let fits = searched.iter().filter(|(how, _, of)| *how == encoding && self.is_of_all() && is_all(of));
        fits.map(|(_, layers, _)| *layers).max().unwrap_or(0)
    }

    /// Leaves word that nothing that is asked about is violated within so many layers.
    pub(super) fn has_searched(&self, encoding: Encoding, layers: u32) {
        if self.is_of_all() && layers > self.searched(encoding) {
            self.shared.searched.lock().push((encoding, layers, self.targets.clone()));
        }
    }
}
