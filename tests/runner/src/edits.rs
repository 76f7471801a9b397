//! Every test of every suite, edited: numbers, linkage, an address taken elsewhere. After every edit what would be recalled of
//! blocks is compared with what computing gives, and the verdicts with those of a fresh process. Knows no expectation.

use std::{collections::BTreeSet, path::Path};

use proofline_db::Database;
use proofline_verifier::{
    portfolio::{self, Control, Request, Round},
    property::Property,
    report::Report,
    verdict::against_the_law_of_hints,
};

use crate::{
    incremental::{FILE, database},
    markdown::Case,
    run::{asked, said},
};

/// Engines whose blocks survive edits.
const ENGINES: [&str; 2] = ["intervals", "value-bam"];

/// Edits `most` times, beginning with edit number `first`. The error says what was wrong.
///
/// # Errors
/// What was wrong, line by line.
pub fn edit(case: &Case, first: usize, most: usize) -> Result<(), String> {
    let mut plain = case.clone();
    plain.options.retain(|word| !word.starts_with("each="));
    let options = asked(&plain)?.options;
    let texts = edited(&case.text, first, most);
    for engine in ENGINES {
        let question = Request {
            property: Property::Everything,
            engines: vec![engine.to_owned()],
            steps: 2_000,
            first_only: false,
            round: Round::default(),
            under: std::sync::Arc::default(),
        };
        let ask = |db: &Database| -> Result<Report, String> {
            portfolio::check(db, &question, &[], &Control::default()).map_err(said)
        };
        let mut audited = database(&case.text, &options);
        audited.audit_blocks();
        let mut recalling = database(&case.text, &options);
        // There and back.
        for text in [&case.text].into_iter().chain(&texts).chain([&case.text]) {
            audited.set_text(Path::new(FILE), text);
            recalling.set_text(Path::new(FILE), text);
            let fresh = ask(&database(text, &options))?.verdicts;
            let mistakes = match against_the_law_of_hints(&ask(&audited)?.verdicts, &fresh) {
                None => audited.take_mistakes(),
                Some(fault) => vec![format!("{fault}, though no block was recalled")],
            };
            if !mistakes.is_empty() {
                return Err(format!("with {engine}: {}\n{text}", mistakes.join("\n")));
            }
            if let Some(fault) = against_the_law_of_hints(&ask(&recalling)?.verdicts, &fresh) {
                return Err(format!("with {engine}: {fault}\n{text}"));
            }
        }
    }
    Ok(())
}

/// The text after each of some edits.
fn edited(text: &str, first: usize, most: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, number) in numbers(text) {
        let new = number.parse::<u64>().unwrap_or(0) + 1;
        all.push(format!("{}{new}{}", &text[..at], &text[at + number.len()..]));
    }
    for (at, _) in text.match_indices("static ") {
        all.push(format!("{}{}", &text[..at], &text[at + "static ".len()..]));
    }
    for name in functions(text) {
        all.push(format!("{text}\nvoid *taken_elsewhere(void) {{ return (void *){name}; }}\n"));
    }
    let count = all.len();
    let chosen: BTreeSet<usize> = (0..most.min(count)).map(|n| (first + n * 7) % count).collect();
    chosen.into_iter().map(|at| all[at].clone()).collect()
}

/// Decimal numbers that stand alone, outside of comments.
fn numbers(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or("");
        let mut at = 0;
        while let Some(offset) = code[at..].find(|c: char| c.is_ascii_digit()) {
            let from = at + offset;
            let rest = &code[from..];
            let len = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let alone = !code[..from].ends_with(part_of_word) && !rest[len..].starts_with(part_of_word);
            if alone && (len == 1 || !rest.starts_with('0')) {
                found.push((start + from, &text[start + from..start + from + len]));
            }
            at = from + len;
        }
        start += line.len();
    }
    found
}

/// Names that stand before a parenthesis in lines that begin at the margin and open a body.
fn functions(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(char::is_alphabetic) && line.contains('{')) {
        let Some(open) = line.find('(') else { continue };
        let before = &line[..open];
        let name =
            &before[before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1)..];
        if !name.is_empty() && name != before {
            found.push(name);
        }
    }
    found
}
