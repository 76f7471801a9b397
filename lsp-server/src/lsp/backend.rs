//! The transport's side: every handler gives an event to the actor before its first await, so that events arrive in the order
//! of the messages. Nothing is computed here.

use std::{
    pin::Pin,
    sync::{Arc, atomic::AtomicBool, mpsc},
    task::{Context, Poll},
};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::{Notify, oneshot},
};
use tower_lsp_server::{
    LanguageServer,
    jsonrpc::{Error, Result},
    ls_types::*,
};

use super::event::{Event, Reply, Request};
use crate::platform::{is_running, wait_for};

/// Hands messages to the actor.
pub(super) struct Backend {
    events: mpsc::Sender<Event>,
    shut_down: Arc<AtomicBool>,
    /// Tells that the client has gone.
    closed: Arc<Notify>,
}

impl Backend {
    pub(super) fn new(events: mpsc::Sender<Event>, closed: Arc<Notify>) -> Backend {
        Backend { events, shut_down: Arc::default(), closed }
    }

    /// Becomes true with the `shutdown` request: the exit code depends on it.
    pub(super) fn is_shut_down(&self) -> Arc<AtomicBool> {
        self.shut_down.clone()
    }

    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    async fn ask<T>(&self, event: impl FnOnce(Reply<T>) -> Event) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(event(reply));
        // A reply that is dropped is a handler that panicked; the log has the details.
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    /// `proofline/functions` as a request: the list that the notification of the same name carries.
    pub(super) async fn functions(&self, params: Value) -> Result<Value> {
        self.ask(|reply| Event::Request(Request::Functions(params, reply))).await
    }

    /// `window/workDoneProgress/cancel`
    pub(super) async fn progress_cancelled(&self, params: WorkDoneProgressCancelParams) {
        self.tell(Event::ProgressCancelled(params.token));
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        if let Some(client) = params.process_id {
            outlive(client, self.closed.clone());
        }
        self.ask(|reply| Event::Initialize(Box::new(params), reply)).await
    }

    async fn initialized(&self, _: InitializedParams) {
        self.tell(Event::Initialized);
    }

    async fn shutdown(&self) -> Result<()> {
        self.shut_down.store(true, std::sync::atomic::Ordering::Relaxed);
        self.ask(Event::Shutdown).await
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.tell(Event::Open(params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.tell(Event::Change(params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.tell(Event::Save(params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.tell(Event::Close(params));
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.tell(Event::ConfigurationChanged(params.settings));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.tell(Event::FilesChanged(params));
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.ask(|reply| Event::Request(Request::Hover(params, reply))).await
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        self.ask(|reply| Event::Request(Request::DocumentSymbols(params, reply))).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.ask(|reply| Event::Request(Request::CodeActions(params, reply))).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        self.ask(|reply| Event::Request(Request::Command(params, reply))).await
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        self.ask(|reply| Event::Request(Request::Definition(params, reply))).await
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        self.ask(|reply| Event::Request(Request::References(params, reply))).await
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        self.ask(|reply| Event::Request(Request::Highlights(params, reply))).await
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<WorkspaceSymbolResponse>> {
        self.ask(|reply| Event::Request(Request::WorkspaceSymbols(params, reply))).await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        self.ask(|reply| Event::Request(Request::PrepareCalls(params, reply))).await
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        self.ask(|reply| Event::Request(Request::IncomingCalls(params, reply))).await
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        self.ask(|reply| Event::Request(Request::OutgoingCalls(params, reply))).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.ask(|reply| Event::Request(Request::Lenses(params, reply))).await
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        self.ask(|reply| Event::Request(Request::Hints(params, reply))).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        self.ask(|reply| Event::Request(Request::Folding(params, reply))).await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        self.ask(|reply| Event::Request(Request::Tokens(params, reply))).await
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        self.ask(|reply| Event::Request(Request::Pull(params, reply))).await
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        self.ask(|reply| Event::Request(Request::PullAll(params, reply))).await
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.tell(Event::FoldersChanged(params));
    }
}

/// Input that tells when it has ended.
pub(super) struct Watched<R> {
    inner: R,
    closed: Arc<Notify>,
}

/// Watches an input for its end.
pub(super) fn watch<R: AsyncRead + Unpin>(inner: R, closed: Arc<Notify>) -> Watched<R> {
    Watched { inner, closed }
}

/// Tells when a client's process is gone, which may leave the pipe open. Where there is no `/proc`, the end of the input has to do.
fn outlive(client: u32, closed: Arc<Notify>) {
    if is_running(client) != Some(true) {
        return;
    }
    let wait = move || {
        wait_for(client);
        closed.notify_one();
    };
    // Not a thread of the runtime, which would wait for it at the end.
    let _ = std::thread::Builder::new().name("client".into()).spawn(wait);
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        if matches!(&result, Poll::Ready(Ok(())) if buffer.filled().len() == before)
            || matches!(&result, Poll::Ready(Err(_)))
        {
            self.closed.notify_one();
        }
        result
    }
}
