//! A session in a worker, as its owner sees it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::bytes::{Input, Output};
use super::incident;
use super::message::{Order, Reply};
use super::pool::Pool;
use super::process::Process;
use super::terms::{Known, Sent};
use crate::horn::spacer::{Found, Query};
use crate::solver::{Limits, Reason};
use crate::z3::{Interrupter, Settings, Target};

/// A session. It belongs to one thread.
pub(crate) struct Session {
    interrupter: Interrupter,
    pool: Arc<Pool>,
    wire: RefCell<Wire>,
    solvers: Cell<u64>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}

/// What was told, and to whom.
#[derive(Default)]
struct Wire {
    /// Leased when the first question is asked.
    process: Option<Process>,
    /// Counts the workers that died: what an earlier one was told, this one does not know.
    epoch: u64,
    settings: Option<Settings>,
    /// Told, and not sent yet.
    out: Output,
    sent: Sent,
    known: Known,
}

/// Why a question has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Lost {
    /// Whoever asked does not want to know any more.
    Interrupted,
    /// The worker did not keep to the time that it was given.
    Late,
    /// It reached its limit of memory.
    OutOfMemory,
    /// It crashed, was killed by somebody else, or does not make sense; what it was told is gone.
    Died,
    /// It panicked, with this message.
    Panicked(String),
    /// There is no worker.
    NoWorker(String),
}

impl Lost {
    /// What the question's owner is told.
    ///
    /// # Panics
    /// If the worker did, as if it had been here.
    pub(super) fn reason(self) -> Reason {
        let reason = match self {
            Lost::Interrupted => Reason::Interrupted,
            Lost::Late => Reason::Limit,
            Lost::OutOfMemory => Reason::Memory,
            Lost::Died => Reason::Stopped,
            Lost::Panicked(text) => panic!("{text}"),
            Lost::NoWorker(why) => Reason::Failed(why),
        };
        incident::note(&reason);
        reason
    }
}

impl Session {
    pub(crate) fn new(interrupter: Interrupter, pool: Arc<Pool>) -> Session {
        Session { interrupter, pool, wire: RefCell::default(), solvers: Cell::new(0) }
    }

    pub(crate) fn interrupter(&self) -> &Interrupter {
        &self.interrupter
    }

    /// A number for a solver.
    pub(super) fn number(&self) -> u64 {
        self.solvers.set(self.solvers.get() + 1);
        self.solvers.get()
    }

    pub(super) fn epoch(&self) -> u64 {
        self.wire.borrow().epoch
    }

    /// Tells the worker something that is not answered.
    pub(super) fn tell(&self, order: &Order<'_>) {
        let Wire { out, sent, .. } = &mut *self.wire.borrow_mut();
        order.write(out, sent);
    }

    /// Asks once.
    pub(super) fn ask(&self, order: &Order<'_>, limits: Limits) -> Result<Reply, Lost> {
        self.tell(order);
        let wire = &mut *self.wire.borrow_mut();
        if self.interrupter.is_requested() {
            return Err(wire.lose(Lost::Interrupted));
        }
        let mut process = match wire.process.take() {
            Some(process) => process,
            None => match self.pool.lease(wire.settings.unwrap_or(Settings::Usual)) {
                Ok(process) => process,
                Err(why) => return Err(wire.lose(Lost::NoWorker(why))),
            },
        };
        let payload = std::mem::take(&mut wire.out.0);
        let leash = process.leash().clone();
        let answer = self.interrupter.guard(Target::Worker(leash.clone()), (), || {
            let _watch = self.pool.watch(&leash, limits.patience());
            process.exchange(&payload)
        });
        let Some(answer) = answer else { return Err(wire.lose(Lost::Interrupted)) };
        let reply = answer.ok().and_then(|answer| Reply::read(&mut Input(&answer), &mut wire.known));
        match reply {
            Some(Reply::Panicked(text)) => Err(wire.lose(Lost::Panicked(text))),
            Some(Reply::OutOfMemory) => Err(wire.lose(Lost::OutOfMemory)),
            // It answered while its time ended: it is gone, the answer counts.
            Some(reply) if process.is_late() => {
                drop(wire.lose(Lost::Late));
                Ok(reply)
            }
            Some(reply) => {
                wire.process = Some(process);
                Ok(reply)
            }
            None if process.is_late() => Err(wire.lose(Lost::Late)),
            None => Err(wire.lose(Lost::Died)),
        }
    }

    /// Asks until there is an answer, at most three times. A worker that died may have been killed by somebody else, so the second
    /// question is the first; the third is asked with other settings. A worker that ran out of memory may have had too little from the
    /// beginning, so another one gets its chance.
    pub(super) fn insist<T>(&self, mut ask: impl FnMut() -> Result<T, Lost>) -> Result<T, Lost> {
        let mut is_out_of_memory = false;
        for again in [Settings::Usual, Settings::Other] {
            match ask() {
                Err(Lost::Died | Lost::Panicked(_)) => self.wire.borrow_mut().settings = Some(again),
                Err(Lost::OutOfMemory) if !is_out_of_memory => is_out_of_memory = true,
                result => return result,
            }
        }
        ask()
    }

    /// What Spacer finds.
    pub(crate) fn spacer(&self, query: &Query<'_>) -> Result<Found, Reason> {
        let order = Order::Spacer(query.clone());
        let reply = self.insist(|| match self.ask(&order, query.options.limits)? {
            Reply::Spacer(found) => Ok(found),
            _ => Err(self.garbage()),
        });
        reply.map_err(Lost::reason)?
    }

    /// The worker answered something else.
    pub(super) fn garbage(&self) -> Lost {
        self.wire.borrow_mut().lose(Lost::Died)
    }
}

impl Wire {
    /// The worker is gone, or will be.
    fn lose(&mut self, why: Lost) -> Lost {
        *self = Wire { epoch: self.epoch + 1, settings: self.settings, ..Wire::default() };
        why
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(process) = self.wire.borrow_mut().process.take() {
            self.pool.give_back(process);
        }
    }
}
