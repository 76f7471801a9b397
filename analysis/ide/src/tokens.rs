//! Semantic tokens: what the names of a file mean, from the index of names.

use crate::{
    index::Symbol,
    place::{Place, Point, Range},
    results::FileResults,
};

/// What a name means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TokenKind {
    /// A function.
    Function,
    /// A variable.
    Variable,
    /// A macro.
    Macro,
}

/// The names of the file in the order of its current text; none overlaps another, each is within one line.
pub fn tokens(file: &FileResults) -> Option<Vec<(Range, TokenKind)>> {
    let index = file.program()?.index();
    let names = index.all().filter(|o| file.is_own(&o.place)).map(|o| {
        let kind = match o.symbol {
            Symbol::Function(_) => TokenKind::Function,
            Symbol::Global(_) | Symbol::Local(..) => TokenKind::Variable,
        };
        (&o.place, kind)
    });
    let macros = index.expansions().iter().filter(|e| file.is_own(&e.place));
    let macros = macros.map(|e| (&e.place, TokenKind::Macro));
    let now = |(place, kind): (&Place, TokenKind)| (file.now(place.range), kind);
    let mut all: Vec<(Range, TokenKind)> = macros.chain(names).map(now).collect();
    // A macro hides what is in it.
    all.sort_by_key(|(range, kind)| (range.start, std::cmp::Reverse(*kind)));
    let mut end = Point::default();
    all.retain(|(range, _)| {
        let is_shown = range.start >= end && range.start.line == range.end.line && range.start < range.end;
        if is_shown {
            end = range.end;
        }
        is_shown
    });
    Some(all)
}
