//! Running tree-sitter with a limit on its work.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tree_sitter::{InputEdit, Language, ParseOptions, ParseState, Parser, Point, Tree};

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

/// The tree of a text, or an error if recovering from its errors took too long. Of an older text's tree it takes over what did not change.
pub(super) fn tree_of(text: &str, older: Option<(&Tree, &str)>) -> Result<Tree, SyntaxError> {
    // How errors are recovered from depends on where parsing began: only trees without any are the same, whatever came before.
    let older = older.filter(|(tree, _)| !tree.root_node().has_error());
    if let Some((tree, before)) = older
        && let Some(tree) = tree_from(text, Some(edited(tree, before, text)))
        && !tree.root_node().has_error()
    {
        return Ok(tree);
    }
    tree_from(text, None).ok_or_else(|| {
        // Not the text's fault.
        interrupt::poll_now();
        SyntaxError::error("too many syntax errors, nothing of this file was read", None)
            .with_help("is this C source text?")
    })
}

/// The tree of a text; `None` if that took too long.
fn tree_from(text: &str, older: Option<Tree>) -> Option<Tree> {
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
    parser().parse_with_options(&mut read, older.as_ref(), Some(options))
}

/// A tree that knows which part of its text is another one now: all between what both texts begin and end with.
fn edited(tree: &Tree, before: &str, after: &str) -> Tree {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
    let same = rest.take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - same, new.len() - same);
    let mut tree = tree.clone();
    tree.edit(&InputEdit {
        start_byte: start,
        old_end_byte: old_end,
        new_end_byte: new_end,
        start_position: point(old, start),
        old_end_position: point(old, old_end),
        new_end_position: point(new, new_end),
    });
    tree
}

/// Row and column of an offset.
fn point(text: &[u8], at: usize) -> Point {
    let before = &text[..at];
    let row = before.iter().filter(|byte| **byte == b'\n').count();
    let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    Point { row, column }
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
