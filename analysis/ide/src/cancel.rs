//! How work ends without an answer: it is no longer wanted, or a defect of ours ended it.

/// The answer is not wanted any more, or an edit made it worthless: ask the next snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

/// An answer, unless it was cancelled.
pub type Cancellable<T> = Result<T, Cancelled>;
