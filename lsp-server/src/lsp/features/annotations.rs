//! Code actions that insert what was proved as ACSL comments.

use proofline_ide::{AnnotationKind, Point, annotations};
use tower_lsp_server::ls_types::*;

use super::{
    super::{diagnostics::Places, document::Document},
    actions::insertion,
};

/// What can be written down at a point.
pub(super) fn actions(document: &Document, point: Point, places: &Places<'_>) -> Vec<CodeActionOrCommand> {
    let action = |annotation: proofline_ide::Annotation| {
        let title = match annotation.kind {
            AnnotationKind::LoopInvariant => "Insert the proved loop invariant",
            AnnotationKind::Contract => "Insert the proved contract",
        };
        CodeActionOrCommand::CodeAction(CodeAction {
            kind: Some(CodeActionKind::REFACTOR_REWRITE),
            ..insertion(document, &[(annotation.line, annotation.text)], title, places)
        })
    };
    annotations(&document.results, point).into_iter().map(action).collect()
}
