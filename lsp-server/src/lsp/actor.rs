//! The actor: owns the buffers and everything that is known, and hears one event at a time. It never computes and never waits: workers
//! compute, and the host's thread waits.

mod execute;
mod folders;
mod inputs;
mod results;
mod testing;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use proofline_ide::{AnalysisHost, Answers};
use serde_json::Value;
use tower_lsp_server::ls_types::*;

use super::{
    capabilities::{self, Client},
    document::Document,
    event::{Event, Reply},
    functions,
    host::Host,
    jobs::{Jobs, Task},
    memory::{Memory, Pressure},
    outbox::Outbox,
    progress::{Progress, Share},
    reproduce::Ran,
    requests::Pull,
    settings::Settings,
    watcher::Watcher,
    worker,
};
use crate::{project_file::Found, team};

use folders::Folders;

/// Results of an older text are published again, marked, when nothing newer came for so long.
const MARK_AFTER: Duration = Duration::from_millis(250);

/// How long news wait for a client that has not taken those before.
const LATER: Duration = Duration::from_millis(20);

/// Everything the server knows.
pub(super) struct Actor {
    pub(super) outbox: Outbox,
    pub(super) host: Host,
    answers: Answers,
    /// Since answers were written last.
    has_worked: bool,
    pub(super) documents: BTreeMap<PathBuf, Document>,
    pub(super) client: Client,
    pub(super) settings: Settings,
    /// What the client said, before the project's file was looked at.
    client_settings: serde_json::Value,
    /// The project's file of the open folders.
    project_file: Option<Arc<Found>>,
    pub(super) jobs: Jobs,
    /// What the client was told, by the buffer it came from and the file it is about.
    published: BTreeMap<(PathBuf, PathBuf), Vec<Diagnostic>>,
    /// Version, and whether it was final, of the last diagnostics of a buffer that were all of its text.
    confirmed: BTreeMap<PathBuf, (i32, bool)>,
    /// The last lenses per buffer.
    lenses: BTreeMap<PathBuf, Vec<CodeLens>>,
    /// The last list per buffer.
    told: BTreeMap<PathBuf, functions::List>,
    /// Buffers about which there is news.
    news: BTreeMap<PathBuf, News>,
    /// Requests that wait for a test, by buffer and finding.
    tests: BTreeMap<(PathBuf, String), Vec<Reply<Option<Value>>>>,
    /// What the user is asked when a test is written, by buffer and finding.
    to_ask: BTreeMap<(PathBuf, String), testing::Question>,
    /// Folders whose tests may be run without asking again.
    tested_folders: BTreeSet<PathBuf>,
    /// Requests that wait for diagnostics of a buffer.
    pub(super) pulls: BTreeMap<PathBuf, Vec<Pull>>,
    /// The C files of the open folders.
    pub(super) folders: Folders,
    /// Watches them, if the client does not.
    watcher: Option<Watcher>,
    events: mpsc::Sender<Event>,
    /// The inlay hints may be others now.
    hints_changed: bool,
    progress: Progress,
    memory: Memory,
    /// How often the client has asked about a buffer.
    questions: Cell<u64>,
    /// Grows with everything that jobs may see.
    last_revision: u64,
    is_shut_down: bool,
}

/// What is to be told about a buffer.
#[derive(Clone, Copy)]
struct News {
    /// Not before.
    at: Instant,
}

/// A test, with what running it showed if it was run.
type Written = (proofline_ide::Test, Option<Result<Ran, String>>);

/// Starts the actor and its workers.
pub(super) fn start(
    outbox: Outbox,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
) -> std::io::Result<(JoinHandle<()>, Answers)> {
    let count = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let workers = (0..count).map(|n| worker::start(n, events.clone())).collect::<Result<Vec<_>, _>>()?;
    let mut host = analysis_host();
    let answers = host.answers();
    let host = Host::start(host, workers, events.clone())?;
    let mut actor = Actor {
        outbox,
        host: host.clone(),
        answers: answers.clone(),
        has_worked: false,
        documents: BTreeMap::new(),
        client: Client::default(),
        settings: Settings::default(),
        project_file: None,
        client_settings: serde_json::Value::Null,
        jobs: Jobs::new(host, count),
        published: BTreeMap::new(),
        confirmed: BTreeMap::new(),
        lenses: BTreeMap::new(),
        told: BTreeMap::new(),
        news: BTreeMap::new(),
        tests: BTreeMap::new(),
        to_ask: BTreeMap::new(),
        tested_folders: BTreeSet::new(),
        pulls: BTreeMap::new(),
        folders: Folders::default(),
        watcher: None,
        events,
        hints_changed: false,
        progress: Progress::default(),
        memory: Memory::default(),
        questions: Cell::new(0),
        last_revision: 0,
        is_shut_down: false,
    };
    let thread = std::thread::Builder::new().name("actor".into()).spawn(move || actor.run(&inbox))?;
    Ok((thread, answers))
}

impl Actor {
    fn run(&mut self, inbox: &mpsc::Receiver<Event>) {
        loop {
            let now = Instant::now();
            let watch = (!self.jobs.is_quiet()).then(|| self.memory.next());
            let next = self.news.values().map(|news| news.at).chain(self.progress.next()).chain(watch).min();
            let wait = next.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(now));
            let event = match inbox.recv_timeout(wait) {
                Ok(Event::Exit) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                    self.jobs.cancel_all();
                    return;
                }
                Ok(event) => Some(event),
                Err(mpsc::RecvTimeoutError::Timeout) => None,
            };
            // A defect in one answer must not end the server. The reply that was under way is dropped, which is an error to its client.
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if let Some(event) = event {
                    self.hear(event);
                }
                self.proceed();
            }));
            if let Err(panic) = outcome {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                self.outbox.log(MessageType::ERROR, format!("internal error: {text}"));
            }
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Initialize(params, reply) => {
                self.client = Client::new(&params);
                self.folders.open(&params);
                self.configure(params.initialization_options.clone().unwrap_or_default());
                let _ = reply.send(Ok(InitializeResult {
                    capabilities: capabilities::server(&self.client),
                    server_info: Some(ServerInfo {
                        name: "proofline".into(),
                        version: Some(env!("CARGO_PKG_VERSION").into()),
                    }),
                    ..InitializeResult::default()
                }));
            }
            Event::Initialized => self.initialized(),
            Event::Open(params) => self.open(params.text_document),
            Event::Change(params) => self.change(params),
            Event::Save(params) => self.save(&params.text_document.uri),
            Event::Close(params) => self.close(&params.text_document.uri),
            Event::ConfigurationChanged(value) => {
                if self.client.configuration {
                    self.ask_configuration();
                } else {
                    self.configure(value);
                }
            }
            Event::Configuration(value) => self.configure(value),
            Event::FilesChanged(params) => self.files_changed(&params),
            Event::FoldersChanged(params) => self.folders_changed(&params),
            Event::Warning(text) => self.outbox.log(MessageType::WARNING, text),
            Event::ProgressCancelled(token) => {
                if self.progress.is(&token) {
                    self.stop();
                }
            }
            Event::Request(request) => self.request(request),
            Event::TestAllowed { path, finding, permission, is_for_folder, reply } => {
                self.test_allowed(&path, &finding, permission, is_for_folder, reply)
            }
            Event::Progress { job, text } => self.jobs.set_text(job, text),
            Event::Done { worker, job, outcome } => match self.jobs.done(worker, job) {
                Some(ended) if ended.is_wanted && outcome.is_cancelled() => self.again(ended),
                // What ended in the moment in which it was stopped does not begin what would have come next.
                ended => self.done(outcome, ended.is_none_or(|ended| ended.is_wanted)),
            },
            Event::Shutdown(reply) => {
                self.is_shut_down = true;
                self.jobs.cancel_all();
                self.news.clear();
                let _ = reply.send(Ok(()));
            }
            Event::Exit => {}
        }
    }

    /// After every event: work for idle workers, news for the client.
    fn proceed(&mut self) {
        if self.is_shut_down {
            return;
        }
        let documents = &self.documents;
        let used = |path: &Path| documents.get(path).map_or(0, |document| document.used.get());
        for (path, task) in self.jobs.dispatch(used) {
            if let (Task::Verify { entry, .. }, Some(document)) = (task, self.documents.get_mut(&path)) {
                document.results.begun(entry);
                self.news.entry(path).or_insert(News { at: Instant::now() + MARK_AFTER });
            }
        }
        let now = Instant::now();
        let due: Vec<PathBuf> =
            self.news.iter().filter(|(_, news)| news.at <= now).map(|(path, _)| path.clone()).collect();
        for path in due {
            if self.outbox.is_behind() {
                self.news.insert(path, News { at: now + LATER });
                continue;
            }
            self.news.remove(&path);
            let begun = Instant::now();
            self.publish(&path);
            if let Some(document) = self.documents.get(&path) {
                document.told.set((Instant::now(), begun.elapsed()));
            }
        }
        if self.jobs.is_quiet() {
            if std::mem::take(&mut self.has_worked) {
                self.answers.save_soon();
            }
        } else {
            self.has_worked = true;
            match self.memory.look(self.settings.memory_limit_mb) {
                Pressure::Fine => {}
                Pressure::Shed => {
                    let mut busy = self.jobs.files();
                    // What the user looks at is asked about next.
                    let seen = self.documents.iter().max_by_key(|(_, document)| document.used.get());
                    busy.extend(seen.map(|(path, _)| path.clone()));
                    self.host.shed(busy);
                }
                Pressure::Forget => self.host.forget(),
                Pressure::Stop => {
                    let limit = self.settings.memory_limit_mb;
                    let text = format!(
                        "more than {limit} MB were needed (proofline.memoryLimitMb): work was stopped"
                    );
                    self.outbox.log(MessageType::WARNING, text);
                    self.stop();
                }
            }
        }
        let mut progress = std::mem::take(&mut self.progress);
        let share = || self.share();
        progress.look(&self.jobs, &self.outbox, self.client.progress.then_some(share));
        self.progress = progress;
    }

    /// Of all open files.
    fn share(&self) -> Share {
        let mut share = Share::default();
        for document in self.documents.values() {
            let (done, all) = document.results.share();
            share.done += done;
            share.all += all;
        }
        share
    }

    /// Stops all work; an edit or a command starts it again.
    fn stop(&mut self) {
        self.jobs.cancel_all();
        self.folders.forget_look();
        for (path, document) in &mut self.documents {
            document.results.stop();
            self.news.insert(path.clone(), News { at: Instant::now() });
        }
    }

    /// Jobs that begin now see something new.
    fn next_revision(&mut self) -> u64 {
        self.last_revision += 1;
        self.last_revision
    }

    /// Somebody looks at a buffer.
    pub(super) fn uses(&self, document: &Document) {
        self.questions.set(self.questions.get() + 1);
        document.used.set(self.questions.get());
    }

    /// A buffer that the client asks about.
    pub(super) fn document(&self, uri: &Uri) -> Option<&Document> {
        let document = self.documents.get(&path_of(uri)?)?;
        self.uses(document);
        Some(document)
    }
}

/// The path of a URI. What is no file (`untitled:…`) gets a path that no file has.
fn path_of(uri: &Uri) -> Option<PathBuf> {
    if uri.scheme().as_str() == "file" {
        return uri.to_file_path().map(|path| path.into_owned());
    }
    let name: String =
        uri.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(PathBuf::from("/proofline-unsaved").join(name).join("untitled.c"))
}

/// Answers outlive the process in the user's cache folder, unless `PROOFLINE_CACHE` says another one, or nothing. A team shares them where
/// `PROOFLINE_STORE` says.
fn analysis_host() -> AnalysisHost {
    let folder = match std::env::var_os("PROOFLINE_CACHE") {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => proofline_ide::default_cache(),
    };
    let host = folder.map_or_else(AnalysisHost::default, AnalysisHost::with_cache);
    match team::named(None) {
        Ok(Some(place)) => host.with_team(place),
        Ok(None) => host,
        Err(why) => {
            eprintln!("{why:#}");
            host
        }
    }
}
