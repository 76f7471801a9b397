//! Ending long work on a text from outside: a deadline has passed, the caller asks for it, or an edit makes the work useless. Who starts
//! the work says when it is over; the loops that do it look now and then and unwind. Only the caller knows clocks and flags.

use std::{
    cell::{Cell, RefCell},
    panic::resume_unwind,
    sync::Arc,
};

/// Says whether work is over.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

/// What work unwinds with when it is over.
#[derive(Debug)]
pub struct Interrupted;

/// The question is asked once in so many calls of [`poll`].
const CALLS: u32 = 256;

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
    static CALLS_LEFT: Cell<u32> = const { Cell::new(CALLS) };
}

/// Puts back what was in force before.
struct Before(Option<Interrupt>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Interrupt {
    /// Work is over once `is_over` says so. It is asked often and on several threads.
    pub fn new(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Arc::new(is_over))
    }

    /// What is in force on this thread; for the threads that it starts.
    #[must_use]
    pub fn current() -> Option<Interrupt> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Whether the work is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        (self.0)()
    }
}

/// Does work on this thread with an interrupt in force; `None`: to the end.
pub fn within<R>(interrupt: Option<Interrupt>, work: impl FnOnce() -> R) -> R {
    let _before = Before(CURRENT.replace(interrupt));
    work()
}

/// For loops that can run long: unwinds with [`Interrupted`] if the work on this thread is over.
pub fn poll() {
    let left = CALLS_LEFT.get();
    if left > 0 {
        CALLS_LEFT.set(left - 1);
        return;
    }
    CALLS_LEFT.set(CALLS);
    poll_now();
}

/// The same for steps that take long by themselves: asks at once.
pub fn poll_now() {
    if CURRENT.with_borrow(|current| current.as_ref().is_some_and(Interrupt::is_over)) {
        resume_unwind(Box::new(Interrupted));
    }
}
