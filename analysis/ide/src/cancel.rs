//! How work ends without an answer: nobody wants it any more, or a defect of ours.

use std::any::Any;

/// The answer is not wanted any more, or an edit made it worthless: ask the next snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

/// An answer, unless it was cancelled.
pub type Cancellable<T> = Result<T, Cancelled>;

/// A panic's message.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a panic without a message".to_owned(),
    }
}
