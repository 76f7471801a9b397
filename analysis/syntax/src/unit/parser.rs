//! Running tree-sitter with a limit on its work.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tree_sitter::{Language, ParseOptions, ParseState, Parser, Tree};

use crate::error::SyntaxError;
use crate::interrupt::{self, Interrupt};

/// The grammar.
pub(crate) fn language() -> &'static Language {
    static LANGUAGE: OnceLock<Language> = OnceLock::new();
    LANGUAGE.get_or_init(|| tree_sitter_c::LANGUAGE.into())
}

/// Bytes of text for which tree-sitter may report progress once, which it does every hundred steps.
const BYTES_PER_REPORT: usize = 8;
/// How long a parse may take. A guard against waiting for ever and not a budget: a step of error recovery
/// can be arbitrarily slow, so counting steps is not enough. Text that is C does not come near it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reports that are free. C text takes about one in a hundred bytes.
const REPORTS_AT_LEAST: usize = 20_000;

/// The tree of a text, or an error if recovering from its errors took too long.
pub(super) fn tree_of(text: &str) -> Result<Tree, SyntaxError> {
    let left = Cell::new(REPORTS_AT_LEAST + text.len() / BYTES_PER_REPORT);
    let started = Instant::now();
    let interrupt = Interrupt::current();
    let is_over = || interrupt.as_ref().is_some_and(Interrupt::is_over);
    let mut progress = |_: &ParseState| {
        left.set(left.get().saturating_sub(1));
        let gives_up = left.get() == 0 || started.elapsed() > PATIENCE || is_over();
        if gives_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser().parse_with_options(&mut read, None, Some(options)).ok_or_else(|| {
        // Not the text's fault.
        interrupt::poll_now();
        SyntaxError::error("too many syntax errors, nothing of this file was read", None)
            .with_help("is this C source text?")
    })
}

/// The tree of no text.
pub(super) fn empty_tree() -> Tree {
    parser().parse("", None).expect("the empty text parses")
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(language()).expect("parser and grammar have one version");
    parser
}
