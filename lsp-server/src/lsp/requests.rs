//! The routing table: each request to the file that answers it.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

use proofline_ide::Searched;
use serde_json::Value;
use tower_lsp_server::{jsonrpc, ls_types::*};

use super::{
    actor::Actor,
    diagnostics::Places,
    document::Document,
    event::{Reply, Request},
    features,
};

/// A request that waits for diagnostics, with what its client has.
pub(super) struct Pull {
    known: Option<String>,
    reply: Reply<DocumentDiagnosticReportResult>,
}

impl Actor {
    pub(super) fn request(&mut self, request: Request) {
        let encoding = self.client.encoding;
        let places = Places::new(&self.documents, encoding);
        match request {
            Request::Hover(params, reply) => {
                let at = params.text_document_position_params;
                let document = self.document(&at.text_document.uri);
                send(reply, document.and_then(|d| features::hover(d, at.position, encoding)));
            }
            Request::DocumentSymbols(params, reply) => {
                let document = self.document(&params.text_document.uri);
                send(reply, document.map(|document| features::symbols(document, &places)));
            }
            Request::CodeActions(params, reply) => {
                let document = self.document(&params.text_document.uri);
                send(
                    reply,
                    document.map(|document| {
                        features::actions(document, &params, &self.client, &self.settings, encoding, &places)
                    }),
                );
            }
            Request::Definition(params, reply) => {
                let at = params.text_document_position_params;
                let document = self.document(&at.text_document.uri);
                let searched = self.searched();
                send(
                    reply,
                    document.and_then(|d| features::definition(d, &searched, at.position, encoding, &places)),
                );
            }
            Request::References(params, reply) => {
                let document = self.document(&params.text_document_position.text_document.uri);
                let searched = self.searched();
                send(
                    reply,
                    document.and_then(|d| features::references(d, &searched, &params, encoding, &places)),
                );
            }
            Request::Highlights(params, reply) => {
                let at = params.text_document_position_params;
                let document = self.document(&at.text_document.uri);
                send(reply, document.and_then(|d| features::highlights(d, at.position, encoding)));
            }
            Request::WorkspaceSymbols(params, reply) => {
                let found = features::workspace_symbols(&self.searched(), &params.query, &places);
                send(reply, Some(found));
                drop(places);
                self.look();
            }
            Request::PrepareCalls(params, reply) => {
                let at = params.text_document_position_params;
                let document = self.document(&at.text_document.uri);
                send(
                    reply,
                    document.and_then(|d| features::prepare_calls(d, at.position, encoding, &places)),
                );
            }
            Request::IncomingCalls(params, reply) => {
                let document = self.of_item(&params.item);
                let searched = self.searched();
                send(reply, Some(features::incoming(document, &searched, &params.item.name, &places)));
            }
            Request::OutgoingCalls(params, reply) => {
                let document = self.of_item(&params.item);
                send(reply, document.and_then(|d| features::outgoing(d, &params.item.name, &places)));
            }
            Request::Lenses(params, reply) => {
                let document = self.document(&params.text_document.uri).filter(|_| self.settings.lens);
                send(reply, document.map(|document| features::lenses(document, &self.client, &places)));
            }
            Request::Hints(params, reply) => {
                let document = self.document(&params.text_document.uri).filter(|_| self.settings.inlay_hints);
                send(reply, document.map(|d| features::hints(d, params.range, encoding)));
            }
            Request::Folding(params, reply) => {
                let document = self.document(&params.text_document.uri);
                send(reply, document.map(|document| features::folding(document.results.text())));
            }
            Request::Tokens(params, reply) => {
                let document = self.document(&params.text_document.uri);
                let tokens = document.and_then(|document| features::tokens(document, encoding));
                send(reply, tokens.map(SemanticTokensResult::Tokens));
            }
            Request::Functions(params, reply) => {
                let _ = reply.send(self.functions(&params));
            }
            Request::Pull(params, reply) => self.pull(params, reply),
            Request::PullAll(params, reply) => {
                let _ = reply.send(Ok(self.pull_all(&params)));
            }
            Request::Command(params, reply) => {
                let argument = params.arguments.into_iter().next().unwrap_or(Value::Null);
                self.command(&params.command, &argument, reply);
            }
        }
    }

    /// What can be searched for names.
    fn searched(&self) -> Searched<'_> {
        let open = self.documents.values().map(|document| &document.results).collect();
        Searched { open, workspace: self.folders.known() }
    }

    /// The buffer a call hierarchy item is of.
    fn of_item(&self, item: &CallHierarchyItem) -> Option<&Document> {
        let path = item.data.as_ref().and_then(Value::as_str).map(Path::new);
        path.and_then(|path| self.documents.get(path)).or_else(|| self.document(&item.uri))
    }

    /// Diagnostics of a buffer: at once if the current text has been looked at, else when it has.
    fn pull(&mut self, params: DocumentDiagnosticParams, reply: Reply<DocumentDiagnosticReportResult>) {
        let pull = Pull { known: params.previous_result_id, reply };
        match self.document(&params.text_document.uri) {
            Some(document) if !document.results.is_settled() => {
                let path = document.path.clone();
                self.pulls.entry(path).or_default().push(pull);
            }
            Some(document) => self.answer(&document.path, pull),
            None => {
                let _ = pull.reply.send(Ok(full(Vec::new(), None)));
            }
        }
    }

    /// Answers the waiting requests when there is something current to say.
    pub(super) fn answer_pulls(&mut self, path: &Path) {
        if self.documents.get(path).is_some_and(|document| !document.results.is_settled()) {
            // Half-typed code keeps what was known: no request waits for a text that will not be verified.
            if !self.jobs.is_quiet() {
                return;
            }
        }
        for pull in self.pulls.remove(path).unwrap_or_default() {
            self.answer(path, pull);
        }
    }

    fn answer(&self, path: &Path, pull: Pull) {
        let items = self.diagnostics(path);
        let id = result_id(&items);
        let report = if pull.known.as_ref() == Some(&id) {
            DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
            })
            .into()
        } else {
            full(items, Some(id))
        };
        let _ = pull.reply.send(Ok(report));
    }

    fn pull_all(&self, params: &WorkspaceDiagnosticParams) -> WorkspaceDiagnosticReportResult {
        let items = self.documents.values().map(|document| {
            let items = self.diagnostics(&document.path);
            let id = result_id(&items);
            let version = Some(i64::from(document.version));
            let is_known = params.previous_result_ids.iter().any(|p| p.uri == document.uri && p.value == id);
            if is_known {
                WorkspaceDocumentDiagnosticReport::Unchanged(WorkspaceUnchangedDocumentDiagnosticReport {
                    uri: document.uri.clone(),
                    version,
                    unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id: id },
                })
            } else {
                WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
                    uri: document.uri.clone(),
                    version,
                    full_document_diagnostic_report: FullDocumentDiagnosticReport {
                        result_id: Some(id),
                        items,
                    },
                })
            }
        });
        WorkspaceDiagnosticReportResult::Report(WorkspaceDiagnosticReport { items: items.collect() })
    }
}

fn full(items: Vec<Diagnostic>, result_id: Option<String>) -> DocumentDiagnosticReportResult {
    DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id, items },
    })
    .into()
}

/// Names a list by its content.
fn result_id(items: &[Diagnostic]) -> String {
    let mut hash = DefaultHasher::new();
    serde_json::to_string(items).unwrap_or_default().hash(&mut hash);
    format!("{:016x}", hash.finish())
}

fn send<T>(reply: Reply<T>, answer: T) {
    let _: Result<(), jsonrpc::Result<T>> = reply.send(Ok(answer));
}
