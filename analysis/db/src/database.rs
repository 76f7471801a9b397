//! The database itself: inputs, handles, and asking. Edits are made by one owner; any number of clones ask.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use proofline_cfa::Program;
use proofline_program_analysis::Environment;
use proofline_syntax::{
    FileSystem, RealFs,
    fs::lexical,
    interrupt::{self, Interrupt},
};
use proofline_verifier::{
    Cancel, Entry, Name, Subject, Summaries, Unknown,
    blocks::BlockRun,
    facts::Facts,
    load::{self, LoadError, Options, Source, Surroundings, VolatileReads},
    module_invariants::{Begins, Bounds},
    portfolio::{Control, Programs, Request},
    report::{Judgement, Report},
    sources::Sources,
};
use salsa::{Cancelled, EventKind, Setter};

use crate::{
    apart::stands_apart,
    files::{Known, Texts},
    front::{FileName, Project, files, source},
    linked::{Symbol, has_body, trouble},
    memory::Memory,
    module_invariants::bounds_at,
    program::{covered, default_entries, given, misunderstood, positions, ready},
    shared::{Db, Interrupted, Shared},
    slices::{annotation, callers, prepared, wrapv},
    store::Store,
    verdict::{Asked, explain, findings, judgement, known, placed},
    work::Work,
};

/// Why there is no answer.
#[derive(Debug)]
pub enum Stopped {
    /// The text changed meanwhile: ask again.
    Edited,
    /// The caller asked to stop.
    Cancelled,
    /// The caller's time limit has passed.
    OutOfTime,
    /// Nothing could be read.
    Load(LoadError),
}

/// A whole program with its obligations, of which nothing else was found out yet.
#[derive(Clone)]
pub struct Prepared {
    program: Arc<Program>,
    surroundings: Surroundings,
    volatile: VolatileReads,
    wrapv: bool,
}

impl Prepared {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What is found out about all of it. Takes a while: pointers are followed everywhere.
    pub fn subject(&self) -> Subject {
        let environment = load::of_whole(&self.program, self.surroundings, self.volatile);
        Subject::new(Arc::new(environment), self.wrapv)
    }
}

/// What is known from an entry, with the automata that its locations are of.
pub type KnownFrom = (Arc<Environment>, Arc<Facts>);

/// Between two writes of answers.
const SAVES: Duration = Duration::from_secs(2);

/// The query graph with its inputs. Cloning gives another handle to the same one, for another thread. A write waits until
/// all clones have stopped what they do, and makes them stop.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: salsa::Storage<Self>,
    shared: Arc<Shared>,
    project: Option<Project>,
    /// The program of the first file alone, once it was asked about.
    alone: Arc<OnceLock<Project>>,
    /// Of engines.
    control: Control,
    /// When all other work ends, too.
    deadline: Option<Instant>,
    /// Whose blocks are asked for.
    run: Option<Arc<dyn BlockRun>>,
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
    fn control(&self) -> &Control {
        &self.control
    }
    fn run(&self) -> &dyn BlockRun {
        self.run.as_deref().expect("blocks are asked for by runs only")
    }
    fn handle(&self, run: Option<Arc<dyn BlockRun>>) -> Box<dyn Db + Send> {
        Box::new(Database { run, ..self.clone() })
    }
}

impl Database {
    /// For one program.
    pub fn new(files: Vec<PathBuf>, options: Options) -> Database {
        Database::with_memory(files, options, Arc::default())
    }

    /// For one program, with what other graphs remember, too.
    pub fn with_memory(files: Vec<PathBuf>, options: Options, memory: Arc<Memory>) -> Database {
        let summaries = Arc::new(match memory.team.get() {
            Some(_) => Summaries::with_evidence(),
            None => Summaries::default(),
        });
        let shared = Arc::new(Shared { memory, summaries, ..Shared::default() });
        if let Some(blocks) = shared.memory.blocks.get() {
            shared.summaries.set_persistent_cache(blocks.clone());
        }
        let running = shared.running.clone();
        let storage = salsa::Storage::new(Some(Box::new(move |event: salsa::Event| {
            if matches!(event.kind, EventKind::DidSetCancellationFlag) {
                running.stop();
            }
        })));
        let (alone, control) = (Arc::default(), Control::default());
        let mut db = Database { storage, shared, project: None, alone, control, deadline: None, run: None };
        db.project = Some(Project::new(&db, files, options));
        db
    }

    /// Before anything is read: there are no other files than these, and relative paths are meant from a folder that need not exist.
    pub fn close(&self, texts: Texts, folder: PathBuf) {
        self.shared.files.close(texts, folder);
    }

    /// The texts that were read so far, headers and what says how to read them among them.
    pub fn texts(&self) -> Texts {
        self.shared.files.texts()
    }

    /// The answers that were found out here, as bytes for [`Store::add`].
    pub fn answers(&self) -> Vec<u8> {
        self.shared.memory.store.get().map(Store::added).unwrap_or_default()
    }

    fn project(&self) -> Project {
        self.project.expect("set by `new`")
    }

    /// Keeps answers on the disk, too, from now on; once.
    pub fn set_store(&mut self, store: Store) {
        self.shared.memory.set_store(store);
        if let Some(blocks) = self.shared.memory.blocks.get() {
            self.shared.summaries.set_persistent_cache(blocks.clone());
        }
    }

    /// Writes new answers to the disk, and has them written to the team's place.
    pub fn save(&self) {
        self.shared.memory.save();
    }

    /// The files of the program. Returns whether they were others.
    pub fn set_files(&mut self, files: Vec<PathBuf>) -> bool {
        let is_new = *self.project().files(self) != files;
        if is_new {
            if let Some(alone) = self.alone.get().copied() {
                alone.set_files(self).to(files.first().into_iter().cloned().collect());
            }
            self.project().set_files(self).to(files);
        }
        is_new
    }

    /// How to read them. Returns whether they were read otherwise.
    pub fn set_options(&mut self, options: Options) -> bool {
        let is_new = *self.project().options(self) != options;
        if is_new {
            if let Some(alone) = self.alone.get().copied() {
                alone.set_options(self).to(options.clone());
            }
            self.project().set_options(self).to(options);
        }
        is_new
    }

    /// Another handle to the same graph, which asks about the program of the first file alone.
    pub fn alone(&self) -> Database {
        let alone = *self.alone.get_or_init(|| {
            let first = self.project().files(self).first().into_iter().cloned().collect();
            Project::new(self, first, self.project().options(self).clone())
        });
        Database { project: Some(alone), ..self.clone() }
    }

    /// Gives a file a text that counts instead of the one on the disk (an editor's buffer).
    pub fn set_text(&mut self, path: &Path, text: &str) {
        self.share_text(path, text.into());
    }

    /// [`Database::set_text`] without a copy. Returns whether an answer may change: whether the file was read, with another text.
    pub fn share_text(&mut self, path: &Path, text: Arc<str>) -> bool {
        self.set(path, Known { content: Ok(text.into()), is_unsaved: true })
    }

    /// What is on the disk counts (again). To be called when a file that was read may have changed there. Returns whether an answer
    /// may change.
    pub fn read_again(&mut self, path: &Path) -> bool {
        let content = RealFs.read(path).map_err(|error| error.kind());
        self.set(path, Known { content, is_unsaved: false })
    }

    /// These buffers count and no others; every other file is what it is on the disk now. Returns whether an answer may change.
    pub fn set_buffers<'t>(&mut self, texts: impl Iterator<Item = (&'t Path, &'t Arc<str>)>) -> bool {
        let mut buffers = BTreeSet::new();
        let mut has_changed = false;
        for (path, text) in texts {
            buffers.insert(lexical(path));
            has_changed |= self.share_text(path, text.clone());
        }
        for path in self.shared.files.besides(&buffers) {
            has_changed |= self.read_again(&path);
        }
        has_changed
    }

    fn set(&mut self, path: &Path, new: Known) -> bool {
        let shared = self.shared.clone();
        shared.files.set(self, path, new)
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
        self.shared.memory.shelf.fetched()
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

    /// A handle all of whose work ends as this says: reading, linking and slicing, too.
    #[must_use]
    pub fn within(&self, control: &Control) -> Database {
        Database { deadline: control.deadline, ..self.controlled(control) }
    }

    /// Another handle. A write that stops work on it stops no work on this one, nor on handles that are made later.
    #[must_use]
    pub fn snapshot(&self) -> Database {
        self.controlled(&Control::default())
    }

    /// A handle whose engines end otherwise; so does the rest of its work, except for the deadline, of which engines may have a share.
    fn controlled(&self, control: &Control) -> Database {
        Database { control: control.clone(), ..self.clone() }
    }

    /// What people see: positions, text, and what is wrong with it.
    ///
    /// # Errors
    /// If a file cannot be read, or the text changed meanwhile.
    pub fn sources(&self) -> Result<Sources, Stopped> {
        let db = self.clone();
        db.caught(|db| {
            if let Some(error) = trouble(db, db.project()) {
                return Err(Stopped::Load(error.clone()));
            }
            let mut units = BTreeMap::new();
            let mut problems = Vec::new();
            for (number, file) in files(db, db.project()).into_iter().enumerate() {
                let source = source(db, db.project(), file).clone().map_err(Stopped::Load)?;
                problems.extend(source.faults.iter().map(|fault| fault.problem(number, &source.unit)));
                units.insert(number, source.unit.clone());
            }
            Ok(Sources::new(positions(db, db.project()).clone(), units, problems))
        })?
    }

    /// The whole program with its obligations, which are those of the verdicts, to look at.
    ///
    /// # Errors
    /// If the text changed meanwhile.
    pub fn program(&self) -> Result<Arc<Program>, Stopped> {
        let db = self.clone();
        db.caught(|db| prepared(db, db.project()).0.clone())
    }

    /// The same with what is found out about all of it.
    ///
    /// # Errors
    /// If the text changed meanwhile.
    pub fn subject(&self) -> Result<Subject, Stopped> {
        self.prepared().map(|prepared| prepared.subject())
    }

    /// The whole program with its obligations, of which more can be found out later, without the database.
    ///
    /// # Errors
    /// If the text changed meanwhile.
    pub fn prepared(&self) -> Result<Prepared, Stopped> {
        let db = self.clone();
        let (program, surroundings) = db.caught(|db| prepared(db, db.project()).clone())?;
        let volatile = db.caught(|db| db.project().options(db).volatile)?;
        let wrapv = db.caught(|db| wrapv(db, db.project()))?;
        Ok(Prepared { program, surroundings, volatile, wrapv })
    }

    /// One of the program's files, read.
    ///
    /// # Errors
    /// [`Stopped`] if an edit or the caller stopped the work, or the file cannot be read.
    pub fn source(&self, file: &Path) -> Result<Arc<Source>, Stopped> {
        let db = self.clone();
        db.caught(|db| {
            let file = FileName::new(db, file.to_path_buf());
            source(db, db.project(), file).clone().map_err(Stopped::Load)
        })?
    }

    /// What is known of the variables wherever executions from one entry are, with the automata that its locations are of; `None` if that
    /// could not be found out. And how many steps it took, whenever they were made.
    ///
    /// # Errors
    /// [`Stopped`] if an edit or the caller stopped the work.
    pub fn known(&self, entry: Name, control: &Control) -> Result<(Option<KnownFrom>, u64), Stopped> {
        let db = self.controlled(control);
        db.caught(|db| {
            let (project, symbol) = (db.project(), Symbol::new(db, entry));
            if !has_body(db, project, entry) || misunderstood(db, project, symbol).is_some() {
                return (None, 0);
            }
            let (facts, steps) = known(db, project, symbol).clone();
            let environment = || ready(db, project, symbol).environment.clone();
            (facts.map(|facts| (environment(), facts)), steps)
        })
    }

    /// Between which bounds variables are where executions from an entry begin, as far as the entry's file says it.
    ///
    /// # Errors
    /// [`Stopped`] if an edit or the caller stopped the work.
    pub fn begins_within(&self, entry: Name) -> Result<(Bounds, Begins), Stopped> {
        self.caught(|db| {
            let within = bounds_at(db, db.project(), Symbol::new(db, entry));
            (within.bounds(db).clone(), within.begins(db))
        })
    }

    /// Whether runs from an entry are remembered that failed, in this text or in older ones.
    pub fn has_failures(&self, entry: Name) -> bool {
        !self.shared.summaries.failures(entry).is_empty()
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
}

/// The programs of entries are their slices, and what was judged before is remembered.
impl Programs for Database {
    type Error = Stopped;

    fn begin(&self, control: &Control) -> Result<(), Stopped> {
        // What cannot be read is an error, not a program without it.
        if let Some(error) = self.caught(|db| trouble(db, db.project()).clone())? {
            return Err(Stopped::Load(error));
        }
        if control.cancel.is_cancelled() { Err(Stopped::Cancelled) } else { Ok(()) }
    }

    fn default_entries(&self) -> Result<Vec<Entry>, Stopped> {
        self.caught(|db| default_entries(db, db.project()).clone())
    }

    fn reached(&self, function: Name) -> Result<BTreeSet<Name>, Stopped> {
        self.caught(|db| covered(db, db.project(), Symbol::new(db, function)).clone())
    }

    fn has_body(&self, function: Name) -> Result<bool, Stopped> {
        self.caught(|db| has_body(db, db.project(), function))
    }

    fn misunderstood(&self, entry: Entry) -> Result<Option<Unknown>, Stopped> {
        self.caught(|db| misunderstood(db, db.project(), Symbol::new(db, entry.name)))
    }

    fn callers(&self, function: Name) -> Result<Option<BTreeSet<Name>>, Stopped> {
        self.caught(|db| callers(db, db.project(), Symbol::new(db, function)).clone())
    }

    fn given(&self, function: Name, record: Name) -> Result<BTreeSet<Name>, Stopped> {
        self.caught(|db| given(db, db.project(), Symbol::new(db, function), Symbol::new(db, record)).clone())
    }

    fn annotation(&self, function: Name) -> Result<Option<String>, Stopped> {
        self.caught(|db| annotation(db, db.project(), Symbol::new(db, function)).clone())
    }

    fn subject_of(&self, function: Name) -> Result<Subject, Stopped> {
        let wrapv = self.caught(|db| wrapv(db, db.project()))?;
        self.caught(|db| {
            let ready = ready(db, db.project(), Symbol::new(db, function));
            Subject::new(ready.environment.clone(), wrapv)
        })
    }

    fn stands_apart(&self, function: Name) -> Result<bool, Stopped> {
        self.caught(|db| stands_apart(db, db.project(), Symbol::new(db, function)))
    }

    fn judge(&self, request: &Request, entry: Entry, control: &Control) -> Result<Report, Stopped> {
        one(&self.controlled(control), request, entry)
    }
}

/// The report of one entry.
fn one(db: &Database, request: &Request, entry: Entry) -> Result<Report, Stopped> {
    let project = db.project();
    let result = db.caught_partial(|db| {
        let (symbol, asked) = (Symbol::new(db, entry.name), Asked::new(db, request.clone()));
        let judgement = judgement(db, project, symbol, asked);
        judgement.report(entry, findings(db, project, symbol, asked))
    });
    match result {
        Err((Stopped::Cancelled | Stopped::OutOfTime, Some(partial))) => {
            // What is known is told, though time is over.
            let db = db.within(&Control::default());
            db.caught(|db| {
                let symbol = Symbol::new(db, entry.name);
                let explained = explain(db, project, symbol, request, &partial);
                partial.report(entry, &placed(db, project, &explained))
            })
        }
        Err((Stopped::OutOfTime, None)) => {
            Ok(Report { entries: vec![entry], ..Report::nothing(Unknown::OutOfTime) })
        }
        Err((stopped, _)) => Err(stopped),
        Ok(report) => Ok(report),
    }
}

impl Database {
    /// Runs queries; an edit, a stop or the end of time in the middle is an error.
    fn caught<T>(&self, work: impl FnOnce(&Database) -> T) -> Result<T, Stopped> {
        self.caught_partial(work).map_err(|(stopped, _)| stopped)
    }

    fn caught_partial<T>(
        &self,
        work: impl FnOnce(&Database) -> T,
    ) -> Result<T, (Stopped, Option<Box<Judgement>>)> {
        // An edit that comes from now on stops what polls; for one that waits already, queries look before they begin.
        let edited = Cancel::default();
        let running = self.shared.register(&edited);
        let (stop, cancel, deadline) = (edited.clone(), self.control.cancel.clone(), self.deadline);
        let is_late = move || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let interrupt = Interrupt::new(move || stop.is_cancelled() || cancel.is_cancelled() || is_late());
        let result = catch_unwind(AssertUnwindSafe(|| interrupt::within(Some(interrupt), || work(self))));
        drop(running);
        let payload = match result {
            Ok(done) => return Ok(done),
            Err(payload) => payload,
        };
        let why = || {
            if edited.is_cancelled() {
                Stopped::Edited
            } else if self.control.cancel.is_cancelled() {
                Stopped::Cancelled
            } else {
                Stopped::OutOfTime
            }
        };
        let payload = match payload.downcast::<Cancelled>() {
            // A write, or another handle stopped in the middle of what we wait for.
            Ok(cancelled) => {
                let local = matches!(*cancelled, Cancelled::Local);
                return Err((if local { Stopped::Cancelled } else { Stopped::Edited }, None));
            }
            Err(payload) => payload,
        };
        let payload = match payload.downcast::<interrupt::Interrupted>() {
            Ok(_) => return Err((why(), None)),
            Err(payload) => payload,
        };
        match payload.downcast::<Interrupted>() {
            Ok(interrupted) => Err((Stopped::Cancelled, Some(Box::new(interrupted.partial)))),
            Err(payload) => resume_unwind(payload),
        }
    }
}
