//! What the client changes: settings, buffers, files on disk. Everything that was made from what changed is done again.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use proofline_ide::Change;
use serde_json::{Value, json};
use tower_lsp_server::ls_types::{request as asked, *};

use super::{Actor, MARK_AFTER, News, path_of};
use crate::{
    lsp::{document::Document, event::Event, has_fault, memory, settings::Settings, watcher::Watcher},
    project_file::{Found, NAME},
    solver_process::employ_workers,
};

impl Actor {
    pub(super) fn initialized(&mut self) {
        if self.client.configuration {
            self.ask_configuration();
        }
        if self.client.watches {
            let watcher = |glob: &str| json!({ "globPattern": glob });
            let options = json!({ "watchers": [
                watcher("**/*.{c,h}"), watcher("**/compile_commands.json"), watcher("**/compile_flags.txt"),
                watcher("**/proofline.toml"), watcher("**/*.monitor"),
            ] });
            let registration = Registration {
                id: "watched-files".into(),
                method: "workspace/didChangeWatchedFiles".into(),
                register_options: Some(options),
            };
            let params = RegistrationParams { registrations: vec![registration] };
            self.outbox.request::<asked::RegisterCapability>(params, |_| None);
        } else {
            self.watcher = Watcher::start(self.events.clone()).ok();
            self.watch();
        }
    }

    /// Watches the folders that are open, if that is ours to do.
    pub(super) fn watch(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.watch(self.folders.roots());
        }
    }

    pub(super) fn ask_configuration(&self) {
        let item = ConfigurationItem { scope_uri: None, section: Some("proofline".into()) };
        let params = ConfigurationParams { items: vec![item] };
        self.outbox.request::<asked::WorkspaceConfiguration>(params, |answer| {
            let value = answer.ok()?.into_iter().next()?;
            Some(Event::Configuration(value))
        });
    }

    /// The client's settings are these.
    pub(super) fn configure(&mut self, value: Value) {
        self.client_settings = value;
        self.settle();
    }

    /// The client's settings, and before them what the `proofline.toml` of the first open folder that has one says.
    fn settle(&mut self) {
        let read = self.folders.roots().iter().find_map(|root| Found::near(root).transpose()).transpose();
        let settings = match &read {
            Ok(Some(found)) => Settings::read(&found.over(&self.client_settings)),
            Ok(None) => Settings::read(&self.client_settings),
            Err(error) => Err(format!("{error:#}")),
        };
        let project = read.ok().flatten().map(Arc::new);
        match settings {
            Ok(settings) => {
                // What the file names besides settings: programs, and models.
                let names = |found: &Option<Arc<Found>>| {
                    found.as_ref().map(|found| (found.path.clone(), found.says.clone()))
                };
                let is_same_program = settings.program_files == self.settings.program_files
                    && names(&project) == names(&self.project_file);
                self.project_file = project;
                if is_same_program && settings == self.settings {
                    return;
                }
                let is_same = is_same_program
                    && settings.analysis() == self.settings.analysis()
                    && settings.budget == self.settings.budget;
                let is_shown_alike = settings.undecided == self.settings.undecided
                    && settings.lens == self.settings.lens
                    && settings.inlay_hints == self.settings.inlay_hints;
                self.settings = settings;
                employ_workers(memory::of_one_worker(self.settings.memory_limit_mb));
                if !is_shown_alike {
                    self.show_again();
                }
                if !is_same_program {
                    self.sources_changed();
                }
                if !is_same {
                    for document in self.documents.values_mut() {
                        document.linked = None;
                    }
                    let settings = Some(self.settings.analysis());
                    self.host.apply(Change { settings, ..Change::default() });
                    self.read_all_again();
                }
            }
            Err(text) => self.outbox.show(MessageType::WARNING, text),
        }
    }

    /// Shows what is known in another way.
    fn show_again(&mut self) {
        let now = Instant::now();
        let paths: Vec<PathBuf> = self.documents.keys().cloned().collect();
        self.news.extend(paths.into_iter().map(|path| (path, News { at: now })));
        self.lenses.clear();
        if self.client.refreshes.lenses {
            self.outbox.request::<asked::CodeLensRefresh>((), |_| None);
        }
        if self.client.refreshes.hints {
            self.outbox.request::<asked::InlayHintRefreshRequest>((), |_| None);
        }
    }

    pub(super) fn open(&mut self, item: TextDocumentItem) {
        let Some(path) = path_of(&item.uri) else { return };
        let revision = self.next_revision();
        let document = Document::new(item.uri, path.clone(), item.version, &item.text, revision);
        self.documents.insert(path.clone(), document);
        self.text_changed(&path);
    }

    pub(super) fn change(&mut self, params: DidChangeTextDocumentParams) {
        let Some(path) = path_of(&params.text_document.uri) else { return };
        let (encoding, revision) = (self.client.encoding, self.next_revision());
        let Some(document) = self.documents.get_mut(&path) else { return };
        document.version = params.text_document.version;
        document.revision = revision;
        document.change(&params.content_changes, encoding);
        self.news.insert(path.clone(), News { at: Instant::now() + MARK_AFTER });
        // The seeded fault: every other text is never looked at, so that the answers about the one before count for it.
        if has_fault("stale") && params.text_document.version % 2 == 1 {
            self.read_again(&path, true);
            return;
        }
        self.text_changed(&path);
    }

    /// The buffer has another text: everything that was made from the old one is done again.
    pub(super) fn text_changed(&mut self, path: &Path) {
        let Some(document) = self.documents.get(path) else { return };
        self.uses(document);
        let texts = vec![(path.to_path_buf(), Some(document.results.text().clone()))];
        self.host.apply(Change { texts, ..Change::default() });
        self.touch_users(path);
        // After its users, so that it comes first.
        let revision = self.next_revision();
        if let Some(document) = self.documents.get_mut(path) {
            document.revision = revision;
        }
        self.read_again(path, true);
    }

    /// Programs of other buffers that have the file in them are other programs now. The one that was used last is looked at first.
    fn touch_users(&mut self, path: &Path) {
        let uses = |document: &Document| {
            document.path != path
                && document.results.program().is_some_and(|program| program.files().contains(path))
        };
        let mut users: Vec<(u64, PathBuf)> = self
            .documents
            .values()
            .filter(|document| uses(document))
            .map(|document| (document.used.get(), document.path.clone()))
            .collect();
        users.sort();
        for (_, user) in users {
            self.touch(&user);
        }
    }

    /// Something besides its text changed that a buffer's answers depend on.
    pub(super) fn touch(&mut self, path: &Path) {
        let revision = self.next_revision();
        let Some(document) = self.documents.get_mut(path) else { return };
        document.revision = revision;
        document.results.invalidate();
        self.read_again(path, false);
    }

    /// Reads a buffer, before anything else if somebody waits for it.
    pub(super) fn read_again(&mut self, path: &Path, is_urgent: bool) {
        self.jobs.cancel(path);
        if let Some(document) = self.documents.get(path) {
            self.jobs.push(path, document.revision, self.reading(&document.linked, is_urgent), 0);
        }
    }

    pub(super) fn read_all_again(&mut self) {
        let all = self.documents.values().map(|document| (document.used.get(), document.path.clone()));
        let all: BTreeSet<(u64, PathBuf)> = all.collect();
        for (_, path) in all {
            self.touch(&path);
        }
    }

    pub(super) fn save(&mut self, uri: &Uri) {
        // Files that include this one and are not open as buffers with it are read from disk.
        if path_of(uri).is_some_and(|path| !self.documents.contains_key(&path)) {
            self.host.apply(Change { disk: true, ..Change::default() });
            self.read_all_again();
        }
    }

    pub(super) fn close(&mut self, uri: &Uri) {
        let Some(path) = path_of(uri) else { return };
        self.jobs.cancel(&path);
        self.documents.remove(&path);
        self.news.remove(&path);
        self.told.remove(&path);
        self.confirmed.remove(&path);
        let companions = vec![(path.clone(), Vec::new())];
        self.host.apply(Change { texts: vec![(path.clone(), None)], companions, ..Change::default() });
        self.touch_users(&path);
        let about: Vec<PathBuf> =
            self.published.keys().filter(|(of, _)| *of == path).map(|(_, p)| p.clone()).collect();
        for file in about {
            self.published.remove(&(path.clone(), file.clone()));
            self.send(&file);
        }
    }

    pub(super) fn files_changed(&mut self, params: &DidChangeWatchedFilesParams) {
        let is_about_settings = |change: &FileEvent| {
            path_of(&change.uri).is_some_and(|path| path.ends_with(NAME) || self.settings.has_monitor(&path))
        };
        if params.changes.iter().any(is_about_settings) {
            self.settle();
        }
        // What came or went may be a whole folder.
        let is_source = |change: &FileEvent| {
            let path = change.uri.as_str();
            path.ends_with(".c") || path.ends_with(".json") || change.typ != FileChangeType::CHANGED
        };
        if params.changes.iter().any(is_source) {
            for document in self.documents.values_mut() {
                document.linked = None;
            }
            self.sources_changed();
        }
        if params.changes.iter().any(|change| self.may_change_answers(change)) {
            self.host.apply(Change { disk: true, ..Change::default() });
            self.read_all_again();
        }
    }

    /// Whether a program of a buffer may be another one now.
    fn may_change_answers(&self, change: &FileEvent) -> bool {
        let Some(path) = path_of(&change.uri) else { return true };
        // A buffer hides its file.
        if self.documents.contains_key(&path) {
            return false;
        }
        // A file that is new may be one that was looked for; what one that is gone was called otherwise, nobody can tell; a compilation database
        // says what files mean.
        let is_code = path.extension().is_some_and(|extension| extension == "c" || extension == "h");
        if change.typ != FileChangeType::CHANGED || !is_code {
            return true;
        }
        let may_change = |document: &Document| {
            let program = document.results.program();
            self.jobs.is_reading(&document.path)
                || document.companions.contains(&path)
                || program.is_none_or(|program| program.may_depend_on(&path))
        };
        self.documents.values().any(may_change)
    }
}
