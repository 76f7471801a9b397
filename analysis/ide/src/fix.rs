//! Lines of C that keep a failure from happening: a guard, an assertion, an assumption. Only where the line can stand right before the
//! statement and means the same there: the condition names variables that the statement does not change before it needs them, and
//! evaluates in any case.

use std::collections::BTreeSet;

use crate::{
    finding::Finding,
    index::{Index, Symbol},
    place::Range,
    program::Program,
    verify::{EntryReport, Verdict},
    words::negation,
};

/// A line to insert.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fix {
    /// What it does.
    pub(crate) title: String,
    /// Before which line.
    pub(crate) line: u32,
    /// The line, without indentation.
    pub(crate) text: String,
    /// `<assert.h>` must be included.
    pub(crate) asserts: bool,
}

/// What must hold where the finding fails, in C.
pub(crate) fn condition_of<'r>(report: &'r EntryReport, finding: &Finding) -> Option<&'r str> {
    let obligations = report.functions.get(&finding.function)?;
    let of = |verdict: &Verdict| matches!(verdict, Verdict::Violated(id) if *id == finding.id);
    obligations.iter().find(|o| of(&o.verdict)).map(|o| o.text.as_str())
}

/// The fixes of a finding whose condition is `condition`, in the text that the program was made from.
pub(crate) fn fixes(program: &Program, finding: &Finding, condition: &str, text: &str) -> Vec<Fix> {
    line_of(program, finding, condition, text).unwrap_or_default()
}

fn line_of(program: &Program, finding: &Finding, condition: &str, text: &str) -> Option<Vec<Fix>> {
    let place = finding.place.as_ref()?;
    let index = program.index();
    let statement = index.statement(place)?;
    if !statement.is_plain || index.expansion(&place.path, place.range.start).is_some() {
        return None;
    }
    let whole = text_in(text, statement.place.range)?;
    let start = statement.place.range.start;
    let before = text.lines().nth(start.line as usize)?.get(..start.column as usize)?;
    if !before.trim().is_empty() {
        return None;
    }
    // What is only evaluated sometimes must not be asked for always.
    let head = text_in(text, Range { start, end: place.range.start })?;
    if head.contains("&&") || head.contains("||") || head.contains('?') {
        return None;
    }
    let names = names_in(condition)?;
    let locals = index.locals(&statement.inside);
    let calls = whole.contains('(') && has_call(&whole);
    let is_plain_local = |name: &String| locals.contains(name) && !condition.contains(['*', '-', '.', '[']);
    for name in &names {
        let is_known = locals.contains(name) || is_global(index, name);
        if !is_known || changes(&whole, name) || calls && !is_plain_local(name) {
            return None;
        }
    }
    if names.is_empty() {
        return None;
    }
    let has_null = text.contains("NULL") || text.contains("#include <std");
    let (holds, fails) = match condition.split_once(" != NULL") {
        Some((pointer, "")) if !has_null => (pointer.to_owned(), format!("!{pointer}")),
        Some(_) | None => (condition.to_owned(), negation(condition)),
    };
    let mut out = Vec::new();
    if let Some(value) = result(index, &statement.inside) {
        out.push(Fix {
            title: format!("Return before if `{fails}`"),
            line: start.line,
            text: format!("if ({fails}) return{value};"),
            asserts: false,
        });
    }
    out.push(Fix {
        title: format!("Assert `{holds}` before"),
        line: start.line,
        text: format!("assert({holds});"),
        asserts: true,
    });
    let assume = Symbol::Function("__VERIFIER_assume".to_owned());
    if index.declaration(&assume).is_some() {
        out.push(Fix {
            title: format!("Assume `{holds}` here"),
            line: start.line,
            text: format!("__VERIFIER_assume({holds});"),
            asserts: false,
        });
    }
    Some(out)
}

/// What `return` gives in a function; `None` if a value cannot be made up.
fn result(index: &Index, function: &str) -> Option<String> {
    let known = index.declaration(&Symbol::Function(function.to_owned()))?;
    let ty = known.text.split(function).next()?.trim();
    match ty {
        "void" => Some(String::new()),
        _ if ty.starts_with("struct") || ty.starts_with("union") => {
            ty.ends_with('*').then(|| " 0".to_owned())
        }
        _ if function == "main" => Some(" 1".to_owned()),
        _ => Some(" 0".to_owned()),
    }
}

fn is_global(index: &Index, name: &str) -> bool {
    index.declaration(&Symbol::Global(name.to_owned())).is_some()
}

/// The names of a condition that stand for objects; `None` if it is none that C can say.
fn names_in(condition: &str) -> Option<BTreeSet<String>> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || " _.<>=!-+()[]*&".contains(c);
    if !condition.chars().all(is_allowed) || has_call(condition) {
        return None;
    }
    let mut names = BTreeSet::new();
    for (at, word) in words(condition) {
        if word == "overflows" || word == "value" {
            return None;
        }
        let before = &condition[..at];
        if word != "NULL" && !before.ends_with('.') && !before.ends_with("->") {
            names.insert(word.to_owned());
        }
    }
    Some(names)
}

/// Identifiers with where they start.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (is_word(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let word = &text[from..at];
                if !word.starts_with(|c: char| c.is_ascii_digit()) {
                    out.push((from, word));
                }
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    out
}

/// Whether something looks like a call.
fn has_call(text: &str) -> bool {
    let is_word = |word: &str| !matches!(word, "if" | "switch" | "return" | "sizeof");
    words(text)
        .iter()
        .any(|(at, word)| is_word(word) && text[at + word.len()..].trim_start().starts_with('('))
}

/// Whether the text assigns to the name.
fn changes(text: &str, name: &str) -> bool {
    words(text).iter().any(|(at, word)| {
        if *word != name {
            return false;
        }
        let (before, after) = (text[..*at].trim_end(), text[at + word.len()..].trim_start());
        let is_assigned = after.starts_with('=') && !after.starts_with("==");
        let compound = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"];
        is_assigned
            || compound.iter().any(|op| after.starts_with(op))
            || before.ends_with("++")
            || before.ends_with("--")
            || before.ends_with('&') && !before.ends_with("&&")
    })
}

fn text_in(text: &str, range: Range) -> Option<String> {
    let mut out = String::new();
    for line in range.start.line..=range.end.line {
        let content = text.lines().nth(line as usize)?;
        let from = if line == range.start.line { range.start.column as usize } else { 0 };
        let to = if line == range.end.line { range.end.column as usize } else { content.len() };
        out.push_str(content.get(from.min(to)..to)?);
        out.push('\n');
    }
    Some(out)
}
