//! What is wrong with the user's text. Errors are data beside the tree, never a failure.

use crate::source::Span;

/// How much a [`SyntaxError`] costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The text is understood; a reader may want to know.
    Warning,
    /// Something was not understood. Whatever contains the place must not be called proved.
    Error,
}

/// One thing that is wrong with the text, in words for its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// How much it costs.
    pub severity: Severity,
    /// What is wrong, in one sentence without a final stop.
    pub message: String,
    /// Where, if it is anywhere.
    pub span: Option<Span>,
    /// What to do about it.
    pub help: Option<String>,
}

impl SyntaxError {
    /// An error at a place.
    #[must_use]
    pub fn error(message: impl Into<String>, span: Option<Span>) -> Self {
        Self { severity: Severity::Error, message: message.into(), span, help: None }
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(message: impl Into<String>, span: Option<Span>) -> Self {
        Self { severity: Severity::Warning, message: message.into(), span, help: None }
    }

    /// The same with a way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
