//! Everything the actor hears, in one closed table.

use std::{path::PathBuf, sync::Arc};

use proofline_ide::{Cancellable, Effort, EntryReport, Knowledge, Program, Test, Workspace};
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp_server::{jsonrpc, ls_types::*};

use super::{
    jobs::Linked,
    reproduce::{Permission, Ran},
};

/// Where an answer goes. The client may have gone.
pub(super) type Reply<T> = oneshot::Sender<jsonrpc::Result<T>>;

/// What happens to the actor.
pub(super) enum Event {
    Initialize(Box<InitializeParams>, Reply<InitializeResult>),
    Initialized,
    Open(DidOpenTextDocumentParams),
    Change(DidChangeTextDocumentParams),
    Save(DidSaveTextDocumentParams),
    Close(DidCloseTextDocumentParams),
    ConfigurationChanged(Value),
    /// The client's answer to `workspace/configuration`.
    Configuration(Value),
    FilesChanged(DidChangeWatchedFilesParams),
    FoldersChanged(DidChangeWorkspaceFoldersParams),
    /// For the client's log.
    Warning(String),
    ProgressCancelled(ProgressToken),
    Request(Request),
    /// The user has said whether a test may be run.
    TestAllowed {
        path: PathBuf,
        finding: String,
        permission: Permission,
        /// Nor is the user to be asked again for this folder.
        is_for_folder: bool,
        reply: Reply<Option<Value>>,
    },
    /// A worker began with a job.
    Progress {
        job: u64,
        text: String,
    },
    /// A worker is done with a job.
    Done {
        worker: usize,
        job: u64,
        outcome: Outcome,
    },
    /// Stop computing; the answer says that everything is quiet.
    Shutdown(Reply<()>),
    /// The transport has ended.
    Exit,
}

/// Requests, each with where its answer goes.
pub(super) enum Request {
    Hover(HoverParams, Reply<Option<Hover>>),
    DocumentSymbols(DocumentSymbolParams, Reply<Option<DocumentSymbolResponse>>),
    CodeActions(CodeActionParams, Reply<Option<CodeActionResponse>>),
    Command(ExecuteCommandParams, Reply<Option<Value>>),
    Functions(Value, Reply<Value>),
    Definition(GotoDefinitionParams, Reply<Option<GotoDefinitionResponse>>),
    References(ReferenceParams, Reply<Option<Vec<Location>>>),
    Highlights(DocumentHighlightParams, Reply<Option<Vec<DocumentHighlight>>>),
    WorkspaceSymbols(WorkspaceSymbolParams, Reply<Option<WorkspaceSymbolResponse>>),
    PrepareCalls(CallHierarchyPrepareParams, Reply<Option<Vec<CallHierarchyItem>>>),
    IncomingCalls(CallHierarchyIncomingCallsParams, Reply<Option<Vec<CallHierarchyIncomingCall>>>),
    OutgoingCalls(CallHierarchyOutgoingCallsParams, Reply<Option<Vec<CallHierarchyOutgoingCall>>>),
    Lenses(CodeLensParams, Reply<Option<Vec<CodeLens>>>),
    Hints(InlayHintParams, Reply<Option<Vec<InlayHint>>>),
    Tokens(SemanticTokensParams, Reply<Option<SemanticTokensResult>>),
    Folding(FoldingRangeParams, Reply<Option<Vec<FoldingRange>>>),
    Pull(DocumentDiagnosticParams, Reply<DocumentDiagnosticReportResult>),
    PullAll(WorkspaceDiagnosticParams, Reply<WorkspaceDiagnosticReportResult>),
}

/// What a worker found out.
pub(super) enum Outcome {
    Loaded {
        path: PathBuf,
        revision: u64,
        program: Cancellable<Arc<Program>>,
        /// What its program consists of, if that was looked for.
        linked: Linked,
    },
    Verified {
        path: PathBuf,
        revision: u64,
        entry: String,
        report: Cancellable<Arc<EntryReport>>,
        effort: Effort,
    },
    /// It was found out from where a large file is checked.
    Planned {
        path: PathBuf,
        revision: u64,
        planned: Cancellable<()>,
    },
    /// The C files of the roots were looked at.
    Looked(Cancellable<Arc<Workspace>>),
    Known {
        path: PathBuf,
        revision: u64,
        knowledge: Cancellable<Arc<Knowledge>>,
    },
    /// A test was written, and run if it was allowed.
    Tested {
        path: PathBuf,
        revision: u64,
        finding: String,
        result: Result<(Test, Option<Result<Ran, String>>), String>,
    },
    /// The job panicked outside of what guards itself.
    Panicked {
        path: PathBuf,
        revision: u64,
        text: String,
    },
}

impl Outcome {
    /// Whether the job ended without an answer, because it was stopped or what it waited for was.
    pub(super) fn is_cancelled(&self) -> bool {
        match self {
            Outcome::Loaded { program, .. } => program.is_err(),
            Outcome::Verified { report, .. } => report.is_err(),
            Outcome::Planned { planned, .. } => planned.is_err(),
            Outcome::Looked(workspace) => workspace.is_err(),
            Outcome::Known { knowledge, .. } => knowledge.is_err(),
            Outcome::Tested { .. } | Outcome::Panicked { .. } => false,
        }
    }
}
