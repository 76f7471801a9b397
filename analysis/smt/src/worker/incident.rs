//! What happened to the solver besides its answers. Engines go on after a question without an answer and may not say why in the end, so
//! whoever runs an engine looks here.

use std::cell::RefCell;

use crate::solver::Reason;

thread_local! {
    static LAST: RefCell<Option<Reason>> = const { RefCell::new(None) };
}

/// Why the solver ended in the middle of a question of this thread: [`Reason::Memory`] or [`Reason::Stopped`]. The first such reason
/// since the last call.
#[must_use]
pub fn take_incident() -> Option<Reason> {
    LAST.take()
}

/// Remembers the reason, if it is an end of the solver.
pub(crate) fn note(reason: &Reason) {
    if matches!(reason, Reason::Memory | Reason::Stopped) {
        LAST.with_borrow_mut(|last| {
            last.get_or_insert_with(|| reason.clone());
        });
    }
}
