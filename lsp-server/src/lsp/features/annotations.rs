//! Code actions that insert what was proved as ACSL comments.

use proofline_ide::{Point, annotations};
use tower_lsp_server::ls_types::*;

use super::{
    super::{diagnostics::Places, document::Document},
    actions::insertion,
};

/// What can be written down at a point.
pub(super) fn actions(document: &Document, point: Point, places: &Places<'_>) -> Vec<CodeActionOrCommand> {
    let action = |annotation: proofline_ide::Annotation| {
        CodeActionOrCommand::CodeAction(CodeAction {
            kind: Some(CodeActionKind::REFACTOR_REWRITE),
            ..insertion(document, &[annotation.insertion], annotation.kind.title(), places)
        })
    };
    annotations(&document.results, point).into_iter().map(action).collect()
}
