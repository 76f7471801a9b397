//! Inlay hints: what functions ask of their callers and promise them, what holds in loops.

use crate::{place::Range, results::FileResults};

/// Something proved that is shown behind the last character of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// From 0, in the current text.
    pub line: u32,
    /// What is shown.
    pub content: HintContent,
}

/// What a hint says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HintContent {
    /// Of a function, for every call: conditions in C. Not both are empty.
    Contract {
        /// What callers must make true.
        requires: Vec<String>,
        /// What holds at the end.
        ensures: Vec<String>,
    },
    /// Of a loop, each time its condition is evaluated.
    Invariant(Vec<String>),
}

/// The hints of a range of the current text.
pub fn hints(file: &FileResults, range: Range) -> Vec<Hint> {
    let functions = file.functions().filter_map(|function| {
        let at = file.now(function.selection.range);
        let summary = file.summary(&function.name).filter(|_| range.touches(at.start))?;
        let ensures = if summary.is_for_all_callers { summary.ensures } else { Vec::new() };
        let requires = summary.conditions;
        let is_empty = requires.is_empty() && ensures.is_empty();
        let content = HintContent::Contract { requires, ensures };
        (!is_empty).then_some(Hint { line: at.end.line, content })
    });
    let loops = file.knowledge().into_iter().flat_map(|known| known.loops());
    let loops = loops.filter(|l| file.is_own(&l.place) && range.touches(l.place.range.start)).map(|l| Hint {
        line: l.place.range.start.line,
        content: HintContent::Invariant(l.invariants.clone()),
    });
    functions.chain(loops).collect()
}
