//! The database itself: inputs, handles, and asking. Edits are made by one owner; any number of clones ask.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicUsize, atomic::Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proofline_cfa::Program;
use proofline_cpa::{Cancel, Unknown};
use proofline_program_analysis::Environment;
use proofline_verifier::{
    Name, Summaries,
    facts::Facts,
    judge::{Report, engines_for, share},
    load::{LoadError, Loaded, Options, Source},
    property::Property,
};
use salsa::{Cancelled, EventKind, Setter};

use crate::{
    Answer, Db, Store,
    files::Files,
    front::{FileName, Project, files, source},
    linked::{Symbol, data_model, has_body, trouble},
    program::{default_entries, positions, prepared, ready},
    stored::Blocks,
    verdict::{Asked, Interrupted, answer, explain, findings, known},
    work::Work,
};

/// What is asked of every entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Question {
    /// Which obligations.
    pub property: Property,
    /// Engines by name; empty: the portfolio.
    pub engines: Vec<String>,
    /// Steps per engine and question.
    pub steps: u64,
    /// A yes/no question: stop at the first violation.
    pub first_only: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Stopped {
    /// The text changed meanwhile: ask again.
    Edited,
    /// Somebody asked to stop.
    Cancelled,
    /// Nothing could be read.
    Load(LoadError),
}

/// What is known from an entry, with the automata that its locations are of.
pub type KnownFrom = (Arc<Environment>, Arc<Facts>);

/// Hears in words what is going on.
pub type Listener = dyn Fn(&str) + Send + Sync;

/// What ends the work on an answer, and who hears of it.
#[derive(Clone, Default)]
pub struct Control {
    /// Ends it from another thread.
    pub cancel: Cancel,
    /// Ends it at a time; what is known by then is the answer, and is not remembered.
    pub deadline: Option<Instant>,
    /// Hears in words what is going on.
    pub progress: Option<Arc<Listener>>,
    /// Cores that may be used, for several entries or for one; 0 is 1.
    pub threads: usize,
}

/// What all handles share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) files: Files,
    pub(crate) store: OnceLock<Store>,
    pub(crate) blocks: OnceLock<Arc<Blocks>>,
    /// Of functions as they are, and as they were.
    pub(crate) summaries: Arc<Summaries>,
    pub(crate) millis: Mutex<BTreeMap<Name, u64>>,
    saved: Mutex<Option<Instant>>,
    running: Arc<Running>,
    work: Mutex<Vec<Work>>,
}

/// Between two writes of answers.
const SAVES: Duration = Duration::from_secs(2);

/// What has to stop before a write goes on.
#[derive(Default)]
struct Running {
    jobs: Mutex<(u64, BTreeMap<u64, Cancel>)>,
}

/// A job in the registry; leaves it when dropped.
pub(crate) struct Registration {
    running: Arc<Running>,
    key: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.running.jobs.lock().1.remove(&self.key);
    }
}

impl Running {
    fn stop(&self) {
        let jobs: Vec<Cancel> = self.jobs.lock().1.values().cloned().collect();
        jobs.iter().for_each(Cancel::cancel);
    }
}

impl Shared {
    pub(crate) fn log(&self, work: Work) {
        self.work.lock().push(work);
    }

    /// Work that an edit stops through `cancel`. Look whether one is waiting after this, not before.
    pub(crate) fn register(&self, cancel: &Cancel) -> Registration {
        let mut jobs = self.running.jobs.lock();
        jobs.0 += 1;
        let key = jobs.0;
        jobs.1.insert(key, cancel.clone());
        Registration { running: self.running.clone(), key }
    }
}

/// The query graph with its inputs. Cloning gives another handle to the same one, for another thread. A write waits until
/// all clones have stopped what they do, and makes them stop.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    shared: Arc<Shared>,
    project: Option<Project>,
    control: Control,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
    fn cancel(&self) -> &Cancel {
        &self.control.cancel
    }
    fn deadline(&self) -> Option<Instant> {
        self.control.deadline
    }
    fn threads(&self) -> usize {
        self.control.threads
    }
    fn say(&self, text: &str) {
        if let Some(progress) = &self.control.progress {
            progress(text);
        }
    }
}

impl Database {
    /// For one program.
    pub fn new(files: Vec<PathBuf>, options: Options) -> Database {
        let shared = Arc::new(Shared::default());
        let running = shared.running.clone();
        let storage = salsa::Storage::new(Some(Box::new(move |event: salsa::Event| {
            if matches!(event.kind, EventKind::DidSetCancellationFlag) {
                running.stop();
            }
        })));
        let mut db = Database { storage, shared, project: None, control: Control::default() };
        db.project = Some(Project::new(&db, files, options));
        db
    }

    fn project(&self) -> Project {
        self.project.expect("set by `new`")
    }

    /// Keeps answers on the disk, too, from now on; once.
    pub fn set_store(&mut self, store: Store) {
        let blocks = Arc::new(Blocks(store.blocks()));
        if self.shared.store.set(store).is_ok() && self.shared.blocks.set(blocks.clone()).is_ok() {
            self.shared.summaries.set_persistent_cache(blocks);
        }
    }

    /// Writes new answers to the disk.
    pub fn save(&self) {
        if let Some(store) = self.shared.store.get() {
            store.save();
        }
        if let Some(blocks) = self.shared.blocks.get() {
            self.shared.summaries.persist();
            blocks.0.save();
        }
    }

    /// The files of the program.
    pub fn set_files(&mut self, files: Vec<PathBuf>) {
        if *self.project().files(self) != files {
            self.project().set_files(self).to(files);
        }
    }

    /// How to read them.
    pub fn set_options(&mut self, options: Options) {
        if *self.project().options(self) != options {
            self.project().set_options(self).to(options);
        }
    }

    /// For tests: from now on no block is recalled; each is computed and compared with what would have been.
    pub fn audit_blocks(&self) {
        self.shared.summaries.audit();
    }

    /// Where recalling a block would have been wrong, since the last call.
    pub fn take_mistakes(&self) -> Vec<String> {
        self.shared.summaries.take_mistakes()
    }

    /// How many blocks were found on the disk so far.
    pub fn blocks_from_disk(&self) -> u64 {
        self.shared.summaries.fetched()
    }

    /// What was done since the last call, in order; blocks last.
    pub fn take_work(&self) -> Vec<Work> {
        let mut work = std::mem::take(&mut *self.shared.work.lock());
        for (function, blocks) in self.shared.summaries.take_work() {
            work.push(match blocks.computed {
                0 => Work::Reused(function),
                _ => Work::Rechecked(function),
            });
        }
        work
    }

    /// A handle that leaves time for the rest of `count` entries.
    fn sharing(&self, count: usize) -> Database {
        let deadline = share(self.control.deadline, count);
        self.controlled(&Control { deadline, ..self.control.clone() })
    }

    /// A handle with other ends of its work.
    fn controlled(&self, control: &Control) -> Database {
        Database { control: control.clone(), ..self.clone() }
    }

    /// The texts with what is wrong with them, and an empty program: enough to show positions.
    pub fn texts(&self) -> Result<Loaded, Stopped> {
        self.load(|db| Program::empty(data_model(db, db.project())))
    }

    /// The whole program, to look at. Its obligations are those of the verdicts.
    pub fn loaded(&self) -> Result<Loaded, Stopped> {
        self.load(|db| Program::clone(prepared(db, db.project())))
    }

    fn load(&self, program: impl FnOnce(&Database) -> Program) -> Result<Loaded, Stopped> {
        let db = self.clone();
        caught(|| {
            if let Some(error) = trouble(&db, db.project()) {
                return Err(Stopped::Load(error.clone()));
            }
            let mut units = BTreeMap::new();
            let mut problems = Vec::new();
            for (number, file) in files(&db, db.project()).into_iter().enumerate() {
                let source = source(&db, db.project(), file).clone().map_err(Stopped::Load)?;
                problems.extend(source.faults.iter().map(|fault| fault.problem(number, &source.unit)));
                units.insert(number, source.unit.clone());
            }
            let map = positions(&db, db.project()).clone();
            let options = db.project().options(&db).clone();
            Ok(Loaded::new(program(&db), map, units, problems, options))
        })?
    }

    /// One of the program's files, read.
    pub fn source(&self, file: &Path) -> Result<Arc<Source>, Stopped> {
        let db = self.clone();
        caught(|| {
            let file = FileName::new(&db, file.to_path_buf());
            source(&db, db.project(), file).clone().map_err(Stopped::Load)
        })?
    }

    /// Verdicts and findings of executions from one entry; it need not be a function with a body.
    pub fn report(&self, question: &Question, entry: Name, control: &Control) -> Result<Report, Stopped> {
        let db = self.controlled(control);
        if !caught(|| has_body(&db, db.project(), entry))? {
            let why = Unknown::Unsupported(format!("there is no function `{entry}` with a body"));
            return Ok(Report { reason: Some(why), ..Report::default() });
        }
        one(&db, question, entry)
    }

    /// What is known of the variables wherever executions from one entry are, with the automata that its locations are of; `None` if that
    /// could not be found out.
    pub fn known(&self, entry: Name, control: &Control) -> Result<Option<KnownFrom>, Stopped> {
        let db = self.controlled(control);
        caught(|| {
            let (project, symbol) = (db.project(), Symbol::new(&db, entry));
            if !has_body(&db, project, entry) {
                return None;
            }
            let facts = known(&db, project, symbol).clone()?;
            Some((ready(&db, project, symbol).environment.clone(), facts))
        })
    }

    /// Milliseconds that verifying an entry took last; 0 if its verdicts were known.
    pub fn millis(&self, entry: Name) -> u64 {
        self.shared.millis.lock().get(&entry).copied().unwrap_or(0)
    }

    /// Writes new answers to the disk, unless that was done a moment ago.
    pub fn save_now_and_then(&self) {
        let mut last = self.shared.saved.lock();
        if last.is_none_or(|last| last.elapsed() > SAVES) {
            *last = Some(Instant::now());
            self.save();
        }
    }

    /// Verdicts and findings. Entries: the given ones; without any `main`, or enough functions to reach all of them.
    pub fn check(&self, question: &Question, entries: &[Name], control: &Control) -> Result<Report, Stopped> {
        let db = self.controlled(control);
        // What cannot be read is an error, not a program without it.
        if let Some(error) = caught(|| trouble(&db, db.project()).clone())? {
            return Err(Stopped::Load(error));
        }
        if control.cancel.is_cancelled() {
            return Err(Stopped::Cancelled);
        }
        let mut report = Report { means_any_arguments: !entries.is_empty(), ..Report::default() };
        let given = entries;
        let entries = match caught(|| entries_of(&db, given))? {
            Ok(entries) => entries,
            Err(why) => {
                report.reason = Some(why);
                return Ok(report);
            }
        };
        let engines = engines_for(&question.engines, given, &entries);
        let question = &Question { engines, ..question.clone() };
        let ones = db.reports(question, &entries, control)?;
        report.entries = entries;
        if !question.first_only {
            report.add_all(ones);
            return Ok(report);
        }
        for one in ones {
            report.add(one);
            if report.failures().next().is_some() {
                break;
            }
        }
        Ok(report)
    }

    /// A report per entry, in their order; those after the first violation may be missing if the question is about one only.
    fn reports(
        &self,
        question: &Question,
        entries: &[Name],
        control: &Control,
    ) -> Result<Vec<Report>, Stopped> {
        let threads = control.threads.clamp(1, entries.len().max(1));
        if threads == 1 || question.first_only {
            let mut reports = Vec::new();
            for (at, entry) in entries.iter().enumerate() {
                let report = one(&self.sharing(entries.len() - at), question, *entry)?;
                let is_last = question.first_only && report.failures().next().is_some();
                reports.push(report);
                if is_last {
                    break;
                }
            }
            return Ok(reports);
        }
        let next = AtomicUsize::new(0);
        let results: Mutex<BTreeMap<usize, Result<Report, Stopped>>> = Mutex::default();
        let work = |db: Database| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = entries.get(at) else { break };
                let rounds = (entries.len() - at).div_ceil(threads);
                let mut own = db.sharing(rounds);
                own.control.threads = 1;
                let result = one(&own, question, *entry);
                let is_end = result.is_err();
                results.lock().insert(at, result);
                if is_end {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                let db = self.clone();
                // Deeply nested programs need a deep stack. Without another thread this one does it all.
                let _ = std::thread::Builder::new().stack_size(1 << 29).spawn_scoped(scope, || {
                    let db = db;
                    work(db);
                });
            }
            work(self.clone());
        });
        let results = results.into_inner();
        results.into_values().collect()
    }
}

/// The report of one entry.
fn one(db: &Database, question: &Question, entry: Name) -> Result<Report, Stopped> {
    let project = db.project();
    let result = caught_partial(|| {
        let (symbol, asked) = (Symbol::new(db, entry), Asked::new(db, question.clone()));
        answer(db, project, symbol, asked).report(entry, findings(db, project, symbol, asked))
    });
    match result {
        Err((Stopped::Cancelled, Some(partial))) => {
            caught(|| partial.report(entry, &explain(db, project, Symbol::new(db, entry), &partial)))
        }
        Err((stopped, _)) => Err(stopped),
        Ok(report) => Ok(report),
    }
}

fn entries_of(db: &Database, given: &[Name]) -> Result<Vec<Name>, Unknown> {
    if given.is_empty() {
        let entries = default_entries(db, db.project()).clone();
        if entries.is_empty() {
            return Err(Unknown::Unsupported("there is no function with a body".into()));
        }
        return Ok(entries);
    }
    match given.iter().find(|entry| !has_body(db, db.project(), **entry)) {
        None => Ok(given.to_vec()),
        Some(entry) => Err(Unknown::Unsupported(format!("there is no function `{entry}` with a body"))),
    }
}

/// Runs queries; an edit or a stop in the middle is an error.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    caught_partial(work).map_err(|(stopped, _)| stopped)
}

fn caught_partial<T>(work: impl FnOnce() -> T) -> Result<T, (Stopped, Option<Box<Answer>>)> {
    let payload = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => return Ok(done),
        Err(payload) => payload,
    };
    let payload = match payload.downcast::<Cancelled>() {
        // A write, or another handle stopped in the middle of what we wait for.
        Ok(cancelled) => {
            let local = matches!(*cancelled, Cancelled::Local);
            return Err((if local { Stopped::Cancelled } else { Stopped::Edited }, None));
        }
        Err(payload) => payload,
    };
    match payload.downcast::<Interrupted>() {
        Ok(interrupted) => Err((Stopped::Cancelled, Some(Box::new(interrupted.partial)))),
        Err(payload) => resume_unwind(payload),
    }
}
