//! What workers found out, and what the client is told of it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use proofline_ide::Effort;
use tower_lsp_server::ls_types::{notification as sent, request as asked, *};

use super::{Actor, News};
use crate::lsp::{
    diagnostics,
    diagnostics::Places,
    event::Outcome,
    features, functions,
    jobs::{Running, Task},
};

/// What is known of functions that were not edited is told together; of files that nobody asked about last, later.
const SOON: Duration = Duration::from_millis(40);
const UNSEEN: Duration = Duration::from_millis(400);

/// Between two times in which a buffer's news are told, telling takes such a part of the time.
const TELLING: u32 = 8;

impl Actor {
    /// When news that nobody waits for are told.
    fn soon(&self, path: &Path) -> Instant {
        let now = Instant::now();
        let Some(document) = self.documents.get(path) else { return now + SOON };
        let is_used_last = self.documents.values().all(|other| other.used.get() <= document.used.get());
        let (at, took) = document.told.get();
        (now + if is_used_last { SOON } else { UNSEEN }).max(at + took * TELLING)
    }

    /// There is something to tell of a buffer.
    fn has_news(&mut self, path: &Path, at: Instant) {
        let news = self.news.entry(path.to_path_buf()).or_insert(News { at });
        news.at = news.at.min(at);
    }

    /// A job ended that was not asked to: stopped by a write on behalf of another buffer, or with work that it waited for.
    pub(super) fn again(&mut self, ended: Running) {
        match ended.task {
            Task::Load { .. } | Task::Plan { .. } | Task::Look { .. } | Task::Test { .. } => {
                self.jobs.again(ended);
            }
            // The program may be another one now.
            Task::Verify { .. } | Task::Know => self.touch(&ended.path),
        }
    }

    /// A job's outcome. If the job `goes_on`, what comes next begins.
    pub(super) fn done(&mut self, outcome: Outcome, goes_on: bool) {
        match outcome {
            Outcome::Looked(outcome) => self.looked(outcome),
            Outcome::Loaded { path, revision, program, linked } => {
                if self.documents.get(&path).is_none_or(|d| d.revision != revision) {
                    return;
                }
                let Ok(program) = program else { return };
                if self.link(&path, linked) {
                    return;
                }
                if !program.undefined().is_empty() {
                    self.look();
                }
                let Some(document) = self.documents.get_mut(&path) else { return };
                if document.results.is_of(&program) {
                    return;
                }
                let is_verified = document.results.loaded(program.clone());
                let at = if is_verified { self.soon(&path) } else { Instant::now() };
                self.has_news(&path, at);
                if !is_verified || !goes_on {
                    return;
                }
                if program.is_planned() {
                    self.verify_all(&path);
                    return;
                }
                // What was edited does not wait for the plan.
                let Some(document) = self.documents.get(&path) else { return };
                let entries = document.results.entries();
                let first = entries.first().filter(|entry| document.results.is_about_edit(&entry.name));
                if let Some(entry) = first.map(|entry| entry.name.clone()) {
                    let effort = Effort::quick(self.settings.budget);
                    self.jobs.push(&path, revision, Task::Verify { entry, effort }, 0);
                }
                self.jobs.push(&path, revision, Task::Plan { program }, 1);
            }
            Outcome::Planned { path, revision, planned } => {
                let document = self.documents.get_mut(&path).filter(|d| d.revision == revision);
                if let (Some(document), Ok(())) = (document, planned) {
                    document.results.planned();
                    if goes_on {
                        self.verify_all(&path);
                    }
                }
            }
            Outcome::Verified { path, revision, entry, report, effort } => {
                let Some(document) = self.documents.get_mut(&path).filter(|d| d.revision == revision) else {
                    return;
                };
                document.results.ended(&entry);
                let Ok(report) = report else { return };
                // Whoever edits waits for this.
                let is_first = document.results.is_about_edit(&entry);
                let next = effort.next().filter(|_| goes_on && !report.is_settled);
                let is_final = next.is_none();
                if let Some(effort) = next {
                    // In the order of the quick answers: what was edited first.
                    let place = document.results.entries().iter().position(|known| known.name == entry);
                    let place = place.unwrap_or(usize::MAX);
                    self.jobs.push(&path, revision, Task::Verify { entry, effort }, place);
                } else {
                    for text in report.internal_errors() {
                        let version = env!("CARGO_PKG_VERSION");
                        let text = format!(
                            "internal error while `{}` of {} was verified: {text}\nPlease report this with the file; it is \
                             proofline {version} with these settings: {:?}",
                            report.entry,
                            proofline_ide::shown(&path),
                            self.settings,
                        );
                        self.outbox.log(MessageType::ERROR, text);
                    }
                }
                document.results.verified(report, is_final);
                let at = if is_first { Instant::now() } else { self.soon(&path) };
                self.has_news(&path, at);
            }
            Outcome::Known { path, revision, knowledge } => {
                let Some(document) = self.documents.get_mut(&path).filter(|d| d.revision == revision) else {
                    return;
                };
                let Ok(knowledge) = knowledge else { return };
                document.results.known(knowledge);
                self.news.insert(path.clone(), News { at: Instant::now() });
                self.hints_changed = true;
            }
            Outcome::Tested { path, revision, finding, result } => {
                self.tested(&path, revision, finding, result)
            }
            Outcome::Panicked { path, revision, text } => {
                let text =
                    format!("internal error in {} (change {revision}): {text}", proofline_ide::shown(&path));
                self.outbox.log(MessageType::ERROR, text);
                if let Some(document) = self.documents.get_mut(&path) {
                    document.results.all_ended();
                    self.news.insert(path, News { at: Instant::now() });
                }
            }
        }
    }

    /// Everything about a buffer is to be found out, with little effort at first.
    fn verify_all(&mut self, path: &Path) {
        let Some(document) = self.documents.get(path) else { return };
        self.jobs.push(path, document.revision, Task::Know, 0);
        let effort = Effort::quick(self.settings.budget);
        for (place, entry) in document.results.entries().into_iter().enumerate() {
            let task = Task::Verify { entry: entry.name.clone(), effort };
            self.jobs.push(path, document.revision, task, place);
        }
    }

    /// Tells the client what is new about a buffer.
    pub(super) fn publish(&mut self, path: &Path) {
        let Some(document) = self.documents.get(path) else { return };
        let places = Places::new(&self.documents, self.client.encoding);
        let mut lists = diagnostics::of(document, &places, &self.client, self.settings.undecided.into());
        let states = self.client.functions.then(|| functions::of(document, &places));
        // Files about which there is nothing to say any more are told so.
        for (_, file) in self.published.keys().filter(|(of, _)| of == path) {
            lists.entry(file.clone()).or_default();
        }
        let mut has_news = false;
        for (file, list) in lists {
            let key = (path.to_path_buf(), file.clone());
            let is_own = file == path;
            let version = (document.version, document.results.is_settled());
            let is_news = self.published.get(&key) != Some(&list);
            let is_first =
                is_own && document.results.is_current() && self.confirmed.get(path) != Some(&version);
            let is_nothing =
                list.is_empty() && !self.published.contains_key(&key) && !document.results.is_settled();
            if is_nothing || !is_news && !is_first {
                continue;
            }
            has_news |= is_news;
            if is_own && document.results.is_current() {
                self.confirmed.insert(path.to_path_buf(), version);
            }
            if list.is_empty() && !is_own {
                self.published.remove(&key);
            } else {
                self.published.insert(key, list);
            }
            self.send(&file);
        }
        self.refresh(path, has_news);
        if let Some(states) = states
            && self.told.get(path) != Some(&states)
        {
            self.told.insert(path.to_path_buf(), states.clone());
            self.outbox.notify::<functions::Functions>(states);
        }
    }

    /// What the client has asked for before is to be asked for again.
    pub(super) fn refresh(&mut self, path: &Path, has_news: bool) {
        self.answer_pulls(path);
        let refreshes = self.client.refreshes;
        if refreshes.diagnostics && self.client.pulls && has_news {
            self.outbox.request::<asked::WorkspaceDiagnosticRefresh>((), |_| None);
        }
        let document = self.documents.get(path).filter(|_| refreshes.lenses && self.settings.lens);
        let titles = document.map(|document| {
            let places = Places::new(&self.documents, self.client.encoding);
            features::lenses(document, &self.client, &places)
        });
        if let Some(titles) = titles.filter(|titles| self.lenses.get(path) != Some(titles)) {
            self.lenses.insert(path.to_path_buf(), titles);
            self.outbox.request::<asked::CodeLensRefresh>((), |_| None);
            self.hints_changed = true;
        }
        if std::mem::take(&mut self.hints_changed) && refreshes.hints && self.settings.inlay_hints {
            self.outbox.request::<asked::InlayHintRefreshRequest>((), |_| None);
        }
    }

    /// Everything that is known about a file.
    pub(in super::super) fn diagnostics(&self, file: &Path) -> Vec<Diagnostic> {
        let mut diagnostics: Vec<Diagnostic> = Vec::new();
        for (_, list) in self.published.iter().filter(|((_, about), _)| about == file) {
            for diagnostic in list {
                if !diagnostics.contains(diagnostic) {
                    diagnostics.push(diagnostic.clone());
                }
            }
        }
        diagnostics
    }

    /// Sends what is known about a file, unless the client asks for it.
    pub(super) fn send(&self, file: &Path) {
        if self.client.pulls && self.documents.contains_key(file) {
            return;
        }
        let places = Places::new(&self.documents, self.client.encoding);
        let Some(uri) = places.uri(file) else { return };
        let diagnostics = self.diagnostics(file);
        let version = self.documents.get(file).map(|document| document.version);
        self.outbox.notify::<sent::PublishDiagnostics>(PublishDiagnosticsParams {
            uri,
            diagnostics,
            version,
        });
    }
}
