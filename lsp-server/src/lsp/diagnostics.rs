//! Findings and problems as diagnostics.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use proofline_ide::{Nature, Place, Range, SUPPRESS, ShownFinding, State};
use ropey::Rope;
use serde_json::json;
use tower_lsp_server::ls_types as lsp;

use super::{capabilities::Client, convert::Encoding, document::Document};

/// Turns places into locations of the protocol, whatever file they are in.
pub(super) struct Places<'d> {
    documents: &'d BTreeMap<PathBuf, Document>,
    /// Files on disk that were needed.
    read: RefCell<BTreeMap<PathBuf, Option<Rope>>>,
    encoding: Encoding,
}

impl<'d> Places<'d> {
    pub(super) fn new(documents: &'d BTreeMap<PathBuf, Document>, encoding: Encoding) -> Places<'d> {
        Places { documents, read: RefCell::default(), encoding }
    }

    /// A range of a file as it is now. Files that cannot be read keep their columns.
    pub(super) fn range(&self, path: &Path, range: Range) -> lsp::Range {
        if let Some(document) = self.documents.get(path) {
            return self.encoding.range(&document.text, range);
        }
        let mut read = self.read.borrow_mut();
        let text = read.entry(path.to_path_buf()).or_insert_with(|| {
            std::fs::read(path).ok().map(|bytes| Rope::from_str(&String::from_utf8_lossy(&bytes)))
        });
        let plain = |point: proofline_ide::Point| lsp::Position { line: point.line, character: point.column };
        match text {
            Some(text) => self.encoding.range(text, range),
            None => lsp::Range { start: plain(range.start), end: plain(range.end) },
        }
    }

    /// A line of a file as it is now, unless it is too long to be shown.
    fn line(&self, path: &Path, line: usize) -> Option<String> {
        let short = |text: &Rope| {
            text.get_line(line).filter(|line| line.len_bytes() < 10_000).map(|line| line.to_string())
        };
        if let Some(document) = self.documents.get(path) {
            return short(&document.text);
        }
        self.range(path, Range::default());
        self.read.borrow().get(path)?.as_ref().and_then(short)
    }

    /// The URI of a file, as the client spells it if it is open.
    pub(super) fn uri(&self, path: &Path) -> Option<lsp::Uri> {
        match self.documents.get(path) {
            Some(document) => Some(document.uri.clone()),
            None => lsp::Uri::from_file_path(path),
        }
    }

    /// A place as a location.
    pub(super) fn location(&self, path: &Path, range: Range) -> Option<lsp::Location> {
        Some(lsp::Location { uri: self.uri(path)?, range: self.range(path, range) })
    }
}

/// What a buffer's results say about each file (headers get theirs, too).
pub(super) fn of(
    document: &Document,
    places: &Places<'_>,
    client: &Client,
) -> BTreeMap<PathBuf, Vec<lsp::Diagnostic>> {
    let mut out: BTreeMap<PathBuf, Vec<lsp::Diagnostic>> = BTreeMap::new();
    out.entry(document.path.clone()).or_default();
    for problem in document.results.problems() {
        let (path, range) = match &problem.place {
            Some(place) => (place.path.to_path_buf(), places.range(&place.path, place.range)),
            None => (document.path.clone(), lsp::Range::default()),
        };
        out.entry(path).or_default().push(lsp::Diagnostic {
            range,
            // A compiler says whether it is an error; we say what we did not understand.
            severity: Some(if problem.is_error {
                lsp::DiagnosticSeverity::WARNING
            } else {
                lsp::DiagnosticSeverity::HINT
            }),
            code: Some(lsp::NumberOrString::String("not-understood".into())),
            source: Some("proofline".into()),
            message: problem.message.clone(),
            ..lsp::Diagnostic::default()
        });
    }
    for shown in document.results.findings() {
        if let Some(place) = shown.finding.place.clone()
            && !is_suppressed(places, &shown, &place)
        {
            let diagnostic = finding(&shown, &place, document, places, client);
            out.entry(place.path.to_path_buf()).or_default().push(diagnostic);
        }
    }
    never_reached(document, places, &mut out);
    undecided(document, places, &mut out);
    for list in out.values_mut() {
        list.sort_by_key(|d| (d.range.start.line, d.range.start.character, d.severity.map(severity_rank)));
    }
    out
}

/// Whether a comment on the line or the one before takes the finding back.
fn is_suppressed(places: &Places<'_>, shown: &ShownFinding<'_>, place: &Place) -> bool {
    let line = shown.now(place).start.line as usize;
    (line.saturating_sub(1)..=line).any(|line| {
        places.line(&place.path, line).is_some_and(|text| {
            text.split_once(SUPPRESS).is_some_and(|(_, rest)| {
                let code = rest.trim_start().split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).next();
                code == Some(shown.finding.check)
            })
        })
    })
}

fn severity_rank(severity: lsp::DiagnosticSeverity) -> u8 {
    match severity {
        lsp::DiagnosticSeverity::ERROR => 1,
        lsp::DiagnosticSeverity::WARNING => 2,
        lsp::DiagnosticSeverity::INFORMATION => 3,
        _ => 4,
    }
}

fn finding(
    shown: &ShownFinding<'_>,
    place: &Place,
    document: &Document,
    places: &Places<'_>,
    client: &Client,
) -> lsp::Diagnostic {
    let finding = shown.finding;
    let related = finding.steps.iter().filter_map(|step| {
        let at = step.place.as_ref()?;
        let location = places.location(&at.path, shown.now(at))?;
        Some(lsp::DiagnosticRelatedInformation {
            location,
            message: format!("{}: {}", step.number, step.text),
        })
    });
    let mark = if shown.is_older { "(older text) " } else { "" };
    let proof = if document.results.is_confirmed(finding) { " (confirmed by running it)" } else { "" };
    let is_unreachable = finding.check == "unreachable";
    lsp::Diagnostic {
        range: places.range(&place.path, shown.now(place)),
        severity: Some(match finding.nature {
            Nature::Manifest => lsp::DiagnosticSeverity::ERROR,
            Nature::Latent => lsp::DiagnosticSeverity::HINT,
        }),
        code: Some(lsp::NumberOrString::String(finding.check.to_owned())),
        code_description: super::pages::link(finding.check)
            .filter(|_| client.code_description)
            .map(|href| lsp::CodeDescription { href }),
        source: Some("proofline".into()),
        message: format!("{mark}{}{proof}", finding.message()),
        related_information: client.related_information.then(|| related.collect()),
        tags: is_unreachable.then(|| vec![lsp::DiagnosticTag::UNNECESSARY]),
        data: Some(json!({ "finding": finding.id })),
    }
}

/// Code that no execution reaches is shown faded. Not where something fails: what comes behind a certain failure is its matter.
fn never_reached(
    document: &Document,
    places: &Places<'_>,
    out: &mut BTreeMap<PathBuf, Vec<lsp::Diagnostic>>,
) {
    let results = &document.results;
    let failing: Vec<Range> = results
        .functions()
        .filter(|function| results.function(&function.name).is_some_and(|report| report.violated > 0))
        .map(|function| results.now(function.range))
        .collect();
    for (dead, is_older) in results.unreachable() {
        if failing.iter().any(|range| range.touches(dead.start)) {
            continue;
        }
        let mark = if is_older { "(older text) " } else { "" };
        out.entry(document.path.clone()).or_default().push(lsp::Diagnostic {
            range: places.range(&document.path, dead),
            severity: Some(lsp::DiagnosticSeverity::HINT),
            code: Some(lsp::NumberOrString::String("never-reached".into())),
            source: Some("proofline".into()),
            message: format!("{mark}no execution comes here"),
            tags: Some(vec![lsp::DiagnosticTag::UNNECESSARY]),
            ..lsp::Diagnostic::default()
        });
    }
}

/// What could not be decided is said once per function, at its name, when nothing more will come.
fn undecided(document: &Document, places: &Places<'_>, out: &mut BTreeMap<PathBuf, Vec<lsp::Diagnostic>>) {
    let results = &document.results;
    if !results.is_settled() {
        return;
    }
    for function in results.functions() {
        let Some(report) = results.function(&function.name) else { continue };
        let (what, severity) = match report.state {
            State::Unknown if report.unknown > 0 => ("not decided", lsp::DiagnosticSeverity::HINT),
            State::InternalError => ("internal error", lsp::DiagnosticSeverity::INFORMATION),
            _ => continue,
        };
        let total = report.obligations.len();
        let reason = report.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        out.entry(document.path.clone()).or_default().push(lsp::Diagnostic {
            range: places.range(&document.path, results.now(function.selection.range)),
            severity: Some(severity),
            code: Some(lsp::NumberOrString::String(what.replace(' ', "-"))),
            source: Some("proofline".into()),
            message: format!(
                "{what}: {} of {total} obligations of `{}`{reason}",
                report.unknown, function.name
            ),
            ..lsp::Diagnostic::default()
        });
    }
}
