//! Definition, references, highlights, symbols of the workspace, call hierarchy.

use proofline_ide::{Definition, Place, Searched};
use serde_json::Value;
use tower_lsp_server::ls_types::*;

use super::super::{convert::Encoding, diagnostics::Places, document::Document};

fn location(place: &Place, places: &Places<'_>) -> Option<Location> {
    places.location(&place.path, place.range)
}

/// Where the name is defined.
pub(in super::super) fn definition(
    document: &Document,
    searched: &Searched<'_>,
    position: Position,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<GotoDefinitionResponse> {
    let point = encoding.point(&document.text, position);
    Some(match proofline_ide::definition(&document.results, searched, point)? {
        Definition::At(place) => GotoDefinitionResponse::Scalar(location(&place, places)?),
        Definition::Perhaps(found) => {
            GotoDefinitionResponse::Array(found.iter().filter_map(|place| location(place, places)).collect())
        }
    })
}

/// Every use of the name.
pub(in super::super) fn references(
    document: &Document,
    searched: &Searched<'_>,
    params: &ReferenceParams,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<Vec<Location>> {
    let point = encoding.point(&document.text, params.text_document_position.position);
    let with_declarations = params.context.include_declaration;
    let found = proofline_ide::references(&document.results, searched, point, with_declarations)?;
    Some(found.iter().filter_map(|place| location(place, places)).collect())
}

/// Uses of the name in the buffer.
pub(in super::super) fn highlights(
    document: &Document,
    position: Position,
    encoding: Encoding,
) -> Option<Vec<DocumentHighlight>> {
    let found = proofline_ide::highlights(&document.results, encoding.point(&document.text, position))?;
    let highlight = |highlight: proofline_ide::Highlight| DocumentHighlight {
        range: encoding.range(&document.text, highlight.range),
        kind: Some(if highlight.is_declaration {
            DocumentHighlightKind::WRITE
        } else {
            DocumentHighlightKind::TEXT
        }),
    };
    Some(found.into_iter().map(highlight).collect())
}

/// Functions and globals whose names match a query.
pub(in super::super) fn workspace_symbols(
    searched: &Searched<'_>,
    query: &str,
    places: &Places<'_>,
) -> WorkspaceSymbolResponse {
    #[expect(deprecated, reason = "the field `deprecated` has to be written down")]
    let information = |found: proofline_ide::FoundSymbol| {
        Some(SymbolInformation {
            location: location(&found.place, places)?,
            name: found.name,
            kind: if found.is_function { SymbolKind::FUNCTION } else { SymbolKind::VARIABLE },
            tags: None,
            deprecated: None,
            container_name: None,
        })
    };
    let found = proofline_ide::symbols(searched, query);
    WorkspaceSymbolResponse::Flat(found.into_iter().filter_map(information).collect())
}

fn item(item: proofline_ide::CallItem, places: &Places<'_>) -> Option<CallHierarchyItem> {
    let selection = location(&item.selection, places)?;
    Some(CallHierarchyItem {
        name: item.name,
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: item.state.map(|state| state.name().to_owned()),
        uri: selection.uri,
        range: places.range(&item.selection.path, item.range),
        selection_range: selection.range,
        // Which buffer's program it is of.
        data: item.of.map(|path| Value::String(path.to_string_lossy().into_owned())),
    })
}

fn ranges(calls: &[Place], places: &Places<'_>) -> Vec<Range> {
    calls.iter().map(|place| places.range(&place.path, place.range)).collect()
}

/// The function at a position.
pub(in super::super) fn prepare_calls(
    document: &Document,
    position: Position,
    encoding: Encoding,
    places: &Places<'_>,
) -> Option<Vec<CallHierarchyItem>> {
    let found = proofline_ide::call_item(&document.results, encoding.point(&document.text, position))?;
    Some(vec![item(found, places)?])
}

/// Who calls it.
pub(in super::super) fn incoming(
    document: Option<&Document>,
    searched: &Searched<'_>,
    name: &str,
    places: &Places<'_>,
) -> Vec<CallHierarchyIncomingCall> {
    let found = proofline_ide::incoming(document.map(|document| &document.results), searched, name);
    let call = |call: proofline_ide::Call| {
        let from_ranges = ranges(&call.calls, places);
        Some(CallHierarchyIncomingCall { from: item(call.item, places)?, from_ranges })
    };
    found.into_iter().filter_map(call).collect()
}

/// Whom it calls.
pub(in super::super) fn outgoing(
    document: &Document,
    name: &str,
    places: &Places<'_>,
) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let call = |call: proofline_ide::Call| {
        let from_ranges = ranges(&call.calls, places);
        Some(CallHierarchyOutgoingCall { to: item(call.item, places)?, from_ranges })
    };
    Some(proofline_ide::outgoing(&document.results, name)?.into_iter().filter_map(call).collect())
}
