//! Hover: a function's summary; a variable's type, its proved values here and its values in counterexamples; a loop's invariant; what a
//! macro becomes; the page of a check that a comment names.

use std::fmt::Write;

use proofline_ide::{Place, Point, Symbol, Value};
use tower_lsp_server::ls_types::*;

use super::{
    super::{
        convert::{self, Encoding},
        document::Document,
        pages,
    },
    SUPPRESS, function_at, navigation, summary,
};

/// The hover at a position.
pub(in super::super) fn hover(document: &Document, position: Position, encoding: Encoding) -> Option<Hover> {
    let point = encoding.point(&document.text, position);
    if let Some((page, range)) = page(document, point) {
        return Some(hover_of(page.to_owned(), encoding.range(&document.text, range)));
    }
    let (word, range) = convert::word_at(&document.text, point)?;
    let mut out = String::new();
    if !expansion(document, point, &word, &mut out) && !invariants(document, range, &word, &mut out) {
        name(document, position, encoding, &word, range, &mut out)?;
    }
    (!out.is_empty()).then(|| hover_of(out, encoding.range(&document.text, range)))
}

fn hover_of(value: String, range: Range) -> Hover {
    Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(range),
    }
}

/// The page of the check that a comment at this point takes back.
fn page(document: &Document, point: Point) -> Option<(&'static str, proofline_ide::Range)> {
    let line = document.text.get_line(point.line as usize).filter(|line| line.len_bytes() < 10_000)?;
    let line = line.to_string();
    let from = line.find(SUPPRESS)? + SUPPRESS.len();
    let start = from + line[from..].len() - line[from..].trim_start().len();
    let length = line[start..].find(|c: char| c != '-' && !c.is_ascii_alphanumeric()).unwrap_or(0);
    let range = proofline_ide::Range {
        start: Point { line: point.line, column: start as u32 },
        end: Point { line: point.line, column: (start + length) as u32 },
    };
    let page = pages::text(&line[start..start + length])?;
    range.touches(point).then_some((page, range))
}

/// What a macro becomes.
fn expansion(document: &Document, point: Point, word: &str, out: &mut String) -> bool {
    let board = &document.board;
    let found = board.before(point).and_then(|point| {
        let expansion = board.program()?.index().expansion(&document.path, point)?;
        (expansion.name == word).then_some(expansion)
    });
    if let Some(expansion) = found {
        let _ = writeln!(out, "**{}** becomes\n```c\n{}\n```", expansion.name, expansion.text);
    }
    found.is_some()
}

/// What holds in every round of the loop whose first word this is.
fn invariants(document: &Document, range: proofline_ide::Range, word: &str, out: &mut String) -> bool {
    if !matches!(word, "for" | "while" | "do") {
        return false;
    }
    let place = Place { path: document.path.as_path().into(), range };
    if let Some(known) = document.board.knowledge().and_then(|known| known.loop_at(&place)) {
        let when =
            if word == "do" { "Each time its body begins" } else { "Each time its condition is looked at" };
        let _ = writeln!(out, "**loop** — {when}:\n");
        for invariant in &known.invariants {
            let _ = writeln!(out, "- `{invariant}`");
        }
    }
    true
}

/// A function's or a variable's.
fn name(
    document: &Document,
    position: Position,
    encoding: Encoding,
    word: &str,
    range: proofline_ide::Range,
    out: &mut String,
) -> Option<()> {
    let occurrence = navigation::occurrence(document, position, encoding);
    let symbol = occurrence.map(|occurrence| &occurrence.symbol);
    let index = document.board.program().map(|program| program.index());
    let declaration = symbol.and_then(|symbol| index?.declaration(symbol));
    if let Some(known) = declaration {
        let _ = writeln!(out, "```c\n{}\n```\n", known.text);
    }
    match symbol {
        Some(Symbol::Function(name)) => {
            if let Some((summary, _)) = summary(document, name) {
                out.push_str(&summary.markdown());
            }
        }
        Some(Symbol::Local(..) | Symbol::Global(_)) => {
            value_here(document, range, out);
            values(document, word, symbol, out);
        }
        // What the index does not know (a text with errors) may still be a function's name.
        None => out.push_str(&summary(document, word)?.0.markdown()),
    }
    Some(())
}

/// What is proved of the variable named here.
fn value_here(document: &Document, range: proofline_ide::Range, out: &mut String) {
    let place = Place { path: document.path.as_path().into(), range };
    let Some(function) = function_at(document, range.start) else { return };
    let value = document.board.knowledge().and_then(|known| known.value_at(&function, &place));
    let _ = match value {
        Some(Value::Before(text)) => writeln!(out, "- `{text}` here, always"),
        Some(Value::After(text)) => writeln!(out, "- `{text}` from here on, always"),
        Some(Value::NeverReached) => writeln!(out, "- no execution comes here"),
        None => Ok(()),
    };
}

/// The values a variable takes on the paths of the findings.
fn values(document: &Document, name: &str, symbol: Option<&Symbol>, out: &mut String) {
    let inside = match symbol {
        Some(Symbol::Local(function, _)) => Some(function.as_str()),
        Some(Symbol::Function(_) | Symbol::Global(_)) | None => None,
    };
    for shown in document.board.findings() {
        let is_here = |function: &str| inside.is_none_or(|wanted| function == wanted);
        let mut values: Vec<&str> = Vec::new();
        let steps = &shown.finding.steps;
        for (at, step) in steps.iter().enumerate() {
            // Arguments are the callee's, whose first step comes next.
            let callee = steps.get(at + 1).filter(|next| next.depth == step.depth + 1);
            let given = callee.filter(|next| is_here(&next.function)).map(|_| &step.arguments);
            let own = Some(&step.values).filter(|_| is_here(&step.function));
            let pairs = own.into_iter().chain(given).flatten();
            values.extend(pairs.filter(|(n, _)| n == name).map(|(_, v)| v.as_str()));
        }
        values.dedup();
        if !values.is_empty() {
            let more = if values.len() > 6 { ", …" } else { "" };
            let list = values.iter().take(6).copied().collect::<Vec<_>>().join(", ");
            let mark = if shown.is_older { " (older text)" } else { "" };
            let _ = writeln!(out, "- `{name} = {list}{more}` on the path to: {}{mark}", shown.finding.title);
        }
    }
}
