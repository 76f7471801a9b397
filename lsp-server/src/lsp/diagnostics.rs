//! Diagnostics and places in the protocol's words.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use proofline_ide::{Diagnostic, Place, Range, Severity, Undecided, diagnostics};
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
    marks: Undecided,
) -> BTreeMap<PathBuf, Vec<lsp::Diagnostic>> {
    let mut out: BTreeMap<PathBuf, Vec<lsp::Diagnostic>> = BTreeMap::new();
    out.entry(document.path.clone()).or_default();
    for diagnostic in diagnostics(&document.results, marks, |path, line| places.line(path, line)) {
        let list = out.entry(diagnostic.place.path.to_path_buf()).or_default();
        list.push(shown(diagnostic, places, client));
    }
    out
}

fn shown(diagnostic: Diagnostic, places: &Places<'_>, client: &Client) -> lsp::Diagnostic {
    let Place { path, range } = &diagnostic.place;
    let step = |(at, message): (Place, String)| {
        let location = places.location(&at.path, at.range)?;
        Some(lsp::DiagnosticRelatedInformation { location, message })
    };
    let steps = diagnostic.steps.into_iter();
    lsp::Diagnostic {
        range: places.range(path, *range),
        severity: Some(match diagnostic.severity {
            Severity::Error => lsp::DiagnosticSeverity::ERROR,
            Severity::Warning => lsp::DiagnosticSeverity::WARNING,
            Severity::Information => lsp::DiagnosticSeverity::INFORMATION,
            Severity::Hint => lsp::DiagnosticSeverity::HINT,
        }),
        code: Some(lsp::NumberOrString::String(diagnostic.code.to_owned())),
        code_description: super::pages::link(diagnostic.code)
            .filter(|_| client.code_description)
            .map(|href| lsp::CodeDescription { href }),
        source: Some("proofline".into()),
        message: diagnostic.message,
        related_information: (client.related_information && diagnostic.finding.is_some())
            .then(|| steps.filter_map(step).collect()),
        tags: diagnostic.is_unreachable.then(|| vec![lsp::DiagnosticTag::UNNECESSARY]),
        data: diagnostic.finding.map(|id| json!({ "finding": id })),
    }
}
