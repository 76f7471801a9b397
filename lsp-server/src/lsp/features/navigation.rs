//! Definition, references, highlights, symbols of the workspace, call hierarchy: all from the index of names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use proofline_ide::{Index, Occurrence, Place, Symbol, Workspace};
use serde_json::Value;
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, diagnostics::Places, document::Document};

/// The name at a position of a buffer's current text.
pub(in super::super) fn occurrence(
    document: &Document,
    position: Position,
    encoding: Encoding,
) -> Option<&Occurrence> {
    let point = encoding.point(&document.text, position);
    document.board.program()?.index().at(&document.path, document.board.before(point)?)
}

/// A place of a buffer's program in the texts as they are now.
fn location(document: &Document, place: &Place, places: &Places<'_>) -> Option<Location> {
    let range = if *place.path == *document.path { document.board.now(place.range) } else { place.range };
    places.location(&place.path, range)
}

/// Where the name is defined; in another file if only that one defines it.
pub(in super::super) fn definition(
    document: &Document,
    documents: &BTreeMap<PathBuf, Document>,
    workspace: Option<&Workspace>,
    position: Position,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<GotoDefinitionResponse> {
    let symbol = &occurrence(document, position, encoding)?.symbol;
    let known = document.board.program()?.index().declaration(symbol)?;
    if !known.is_defined && !matches!(symbol, Symbol::Local(..)) {
        for other in documents.values().filter(|other| other.path != document.path) {
            let elsewhere = other.board.program().and_then(|program| program.index().declaration(symbol));
            if let Some(elsewhere) = elsewhere.filter(|elsewhere| elsewhere.is_defined) {
                return location(other, &elsewhere.place, places).map(GotoDefinitionResponse::Scalar);
            }
        }
        if let (Symbol::Function(name), Some(workspace)) = (symbol, workspace) {
            let found = workspace.definitions(name);
            let found: Vec<Location> =
                found.iter().filter_map(|f| places.location(&f.place.path, f.place.range)).collect();
            if !found.is_empty() {
                return Some(GotoDefinitionResponse::Array(found));
            }
        }
    }
    location(document, &known.place, places).map(GotoDefinitionResponse::Scalar)
}

/// Every use of the name, in every open file if others can see it.
pub(in super::super) fn references(
    document: &Document,
    documents: &BTreeMap<PathBuf, Document>,
    params: &ReferenceParams,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<Vec<Location>> {
    let position = params.text_document_position.position;
    let symbol = &occurrence(document, position, encoding)?.symbol;
    let is_wanted = |o: &&Occurrence| params.context.include_declaration || !o.is_declaration;
    let mut out = Vec::new();
    let is_local = matches!(symbol, Symbol::Local(..));
    for other in documents.values().filter(|other| !is_local || other.path == document.path) {
        let Some(program) = other.board.program() else { continue };
        for occurrence in program.index().occurrences(symbol).filter(is_wanted) {
            if let Some(location) = location(other, &occurrence.place, places)
                && !out.contains(&location)
            {
                out.push(location);
            }
        }
    }
    Some(out)
}

/// Uses of the name in the buffer.
pub(in super::super) fn highlights(
    document: &Document,
    position: Position,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<Vec<DocumentHighlight>> {
    let symbol = &occurrence(document, position, encoding)?.symbol;
    let index = document.board.program()?.index();
    let here = index.occurrences(symbol).filter(|o| *o.place.path == *document.path);
    Some(
        here.map(|o| DocumentHighlight {
            range: places.range(&document.path, document.board.now(o.place.range)),
            kind: Some(if o.is_declaration {
                DocumentHighlightKind::WRITE
            } else {
                DocumentHighlightKind::TEXT
            }),
        })
        .collect(),
    )
}

/// Functions and globals of the open files, and functions of the others, whose names contain the query's letters in order.
pub(in super::super) fn workspace_symbols(
    documents: &BTreeMap<PathBuf, Document>,
    workspace: Option<&Workspace>,
    query: &str,
    places: &Places<'_>,
) -> WorkspaceSymbolResponse {
    /// More nobody reads.
    const MOST: usize = 500;
    let mut out: Vec<SymbolInformation> = Vec::new();
    #[expect(deprecated, reason = "the field `deprecated` has to be written down")]
    let information = |name: &str, kind, location| SymbolInformation {
        name: name.to_owned(),
        kind,
        tags: None,
        deprecated: None,
        location,
        container_name: None,
    };
    for document in documents.values() {
        let Some(program) = document.board.program() else { continue };
        for (symbol, known) in program.index().symbols().filter(|(_, known)| matches(&known.name, query)) {
            let Some(location) = location(document, &known.place, places) else { continue };
            let kind = match symbol {
                Symbol::Function(_) => SymbolKind::FUNCTION,
                Symbol::Global(_) | Symbol::Local(..) => SymbolKind::VARIABLE,
            };
            let information = information(&known.name, kind, location);
            if out.len() < MOST && !out.contains(&information) {
                out.push(information);
            }
        }
    }
    for found in workspace.into_iter().flat_map(|known| known.matching(MOST, |name| matches(name, query))) {
        if documents.contains_key(&*found.place.path) || out.len() >= MOST {
            continue;
        }
        let Some(location) = places.location(&found.place.path, found.place.range) else { continue };
        let information = information(&found.name, SymbolKind::FUNCTION, location);
        if !out.contains(&information) {
            out.push(information);
        }
    }
    WorkspaceSymbolResponse::Flat(out)
}

/// Whether the letters of the query occur in the name in their order.
fn matches(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}

fn item(document: &Document, name: &str, places: &Places<'_>) -> Option<CallHierarchyItem> {
    let program = document.board.program()?;
    let known = program.index().declaration(&Symbol::Function(name.to_owned()))?;
    let selection = location(document, &known.place, places)?;
    let range = match program.function(name) {
        Some(function) if *function.selection.path == *known.place.path => {
            let now = if *known.place.path == *document.path {
                document.board.now(function.range)
            } else {
                function.range
            };
            places.range(&known.place.path, now)
        }
        Some(_) | None => selection.range,
    };
    Some(CallHierarchyItem {
        name: name.to_owned(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: document.board.function(name).map(|report| report.state.name().to_owned()),
        uri: selection.uri,
        range,
        selection_range: selection.range,
        // Which buffer's program it is of.
        data: Some(Value::String(document.path.to_string_lossy().into_owned())),
    })
}

/// The function at a position.
pub(in super::super) fn prepare_calls(
    document: &Document,
    position: Position,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<Vec<CallHierarchyItem>> {
    let name = match &occurrence(document, position, encoding).map(|o| &o.symbol) {
        Some(Symbol::Function(name)) => name.clone(),
        Some(Symbol::Global(_) | Symbol::Local(..)) | None => return None,
    };
    Some(vec![item(document, &name, places)?])
}

/// Who calls it: in the buffer's program as it was read, elsewhere at a glance.
pub(in super::super) fn incoming(
    document: Option<&Document>,
    documents: &BTreeMap<PathBuf, Document>,
    workspace: Option<&Workspace>,
    name: &str,
    places: &Places<'_>,
) -> Vec<CallHierarchyIncomingCall> {
    let mut out = Vec::new();
    let mut read: BTreeSet<PathBuf> = BTreeSet::new();
    // The buffer's own program first, then the other open ones.
    let others = documents.values().filter(|other| document.is_none_or(|own| own.path != other.path));
    for document in document.into_iter().chain(others) {
        let Some(program) = document.board.program() else { continue };
        let index: &Index = program.index();
        let mut by: BTreeMap<&str, Vec<&Occurrence>> = BTreeMap::new();
        for o in index.occurrences(&Symbol::Function(name.to_owned())).filter(|o| !o.is_declaration) {
            if let Some(inside) = o.inside.as_ref().filter(|_| !read.contains(&*o.place.path)) {
                by.entry(inside).or_default().push(o);
            }
        }
        let call = |(caller, uses): (&str, Vec<&Occurrence>)| {
            let ranges = uses.iter().filter_map(|o| location(document, &o.place, places)).map(|l| l.range);
            Some(CallHierarchyIncomingCall {
                from: item(document, caller, places)?,
                from_ranges: ranges.collect(),
            })
        };
        out.extend(by.into_iter().filter_map(call));
        read.extend(program.files().iter().cloned());
    }
    for caller in workspace.into_iter().flat_map(|known| known.callers(name, &read)) {
        let Some(selection) = places.location(&caller.place.path, caller.place.range) else { continue };
        let call = caller.call.map(|place| places.range(&place.path, place.range));
        out.push(CallHierarchyIncomingCall {
            from: CallHierarchyItem {
                name: caller.name,
                kind: SymbolKind::FUNCTION,
                tags: None,
                detail: None,
                uri: selection.uri,
                range: selection.range,
                selection_range: selection.range,
                data: None,
            },
            from_ranges: call.into_iter().collect(),
        });
    }
    out
}

/// Whom it calls.
pub(in super::super) fn outgoing(
    document: &Document,
    name: &str,
    places: &Places<'_>,
) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let index = document.board.program()?.index();
    let call = |(callee, uses): (String, Vec<Place>)| {
        let ranges = uses.iter().filter_map(|place| location(document, place, places)).map(|l| l.range);
        Some(CallHierarchyOutgoingCall {
            to: item(document, &callee, places)?,
            from_ranges: ranges.collect(),
        })
    };
    Some(index.calls(name).into_iter().filter_map(call).collect())
}
