//! What the client can do, and what we say that we can do.

use serde_json::Value;
use tower_lsp_server::ls_types::*;

use super::{commands, convert::Encoding};

/// What of the client's abilities changes what we send.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) encoding: Encoding,
    /// `proofline/functions` is wanted.
    pub(super) functions: bool,
    /// Commands the client has.
    pub(super) commands: Vec<String>,
    /// `workspace/configuration` is answered.
    pub(super) configuration: bool,
    /// Files can be watched for us.
    pub(super) watches: bool,
    /// `$/progress` that we start is shown.
    pub(super) progress: bool,
    /// Refreshes that are understood.
    pub(super) refreshes: Refreshes,
    /// Names are to be coloured by what they mean.
    pub(super) tokens: bool,
    /// The client asks for diagnostics; nothing is pushed for open files.
    pub(super) pulls: bool,
    /// Links to the checks' pages are shown.
    pub(super) code_description: bool,
    /// The path is shown with the diagnostic.
    pub(super) related_information: bool,
}

/// What the client asks again for when it is told to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refreshes {
    pub(super) lenses: bool,
    pub(super) hints: bool,
    pub(super) diagnostics: bool,
}

impl Client {
    pub(super) fn new(params: &InitializeParams) -> Client {
        let capabilities = &params.capabilities;
        let workspace = capabilities.workspace.as_ref();
        let document = capabilities.text_document.as_ref();
        let diagnostics = document.and_then(|document| document.publish_diagnostics.as_ref());
        let ours = capabilities.experimental.as_ref().and_then(|value| value.get("proofline"));
        let commands = ours.and_then(|ours| ours.get("commands")).and_then(Value::as_array);
        Client {
            encoding: Encoding::negotiate(capabilities),
            functions: ours.and_then(|ours| ours.get("functions")).and_then(Value::as_bool).unwrap_or(false),
            commands: commands
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            configuration: workspace.and_then(|w| w.configuration).unwrap_or(false),
            watches: workspace
                .and_then(|w| w.did_change_watched_files.as_ref())
                .and_then(|files| files.dynamic_registration)
                .unwrap_or(false),
            progress: capabilities.window.as_ref().and_then(|w| w.work_done_progress).unwrap_or(false),
            refreshes: Refreshes {
                lenses: workspace
                    .and_then(|w| w.code_lens.as_ref())
                    .and_then(|c| c.refresh_support)
                    .unwrap_or(false),
                hints: workspace
                    .and_then(|w| w.inlay_hint.as_ref())
                    .and_then(|c| c.refresh_support)
                    .unwrap_or(false),
                diagnostics: workspace
                    .and_then(|w| w.diagnostics.as_ref())
                    .and_then(|c| c.refresh_support)
                    .unwrap_or(false),
            },
            // A client that gets both shows everything twice, so it has to say that it wants this.
            pulls: document.and_then(|document| document.diagnostic.as_ref()).is_some()
                && params
                    .initialization_options
                    .as_ref()
                    .and_then(|o| o.get("diagnostics"))
                    .and_then(Value::as_str)
                    == Some("pull"),
            tokens: document.and_then(|document| document.semantic_tokens.as_ref()).is_some()
                && params
                    .initialization_options
                    .as_ref()
                    .and_then(|options| options.get("semanticTokens"))
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            code_description: diagnostics.and_then(|d| d.code_description_support).unwrap_or(false),
            related_information: diagnostics.and_then(|d| d.related_information).unwrap_or(false),
        }
    }

    /// Whether the client has a command of its own.
    pub(super) fn has(&self, command: &str) -> bool {
        self.commands.iter().any(|name| name == command)
    }
}

/// What we can do.
pub(super) fn server(client: &Client) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(client.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QUICKFIX,
                CodeActionKind::REFACTOR_REWRITE,
                CodeActionKind::new("source.proofline"),
            ]),
            ..CodeActionOptions::default()
        })),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        semantic_tokens_provider: client.tokens.then(|| {
            SemanticTokensServerCapabilities::SemanticTokensOptions(SemanticTokensOptions {
                legend: SemanticTokensLegend {
                    token_types: super::features::LEGEND.to_vec(),
                    token_modifiers: Vec::new(),
                },
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            })
        }),
        diagnostic_provider: client.pulls.then(|| {
            DiagnosticServerCapabilities::Options(DiagnosticOptions {
                identifier: Some("proofline".into()),
                inter_file_dependencies: true,
                workspace_diagnostics: true,
                ..DiagnosticOptions::default()
            })
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.iter().map(|name| (*name).to_owned()).collect(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}
