//! The mutable host and the immutable snapshot of a file's program. Only the host writes: a write makes the snapshots of the programs
//! that it changes stop what they do, and waits until they are dropped. So the thread that owns the host must be free to wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use proofline_db::{Counts, Database, Memory, Stopped, Store, TeamPlace};
use proofline_verifier::{Cancel, load::LoadError, portfolio::Listener};

use crate::{
    cancel::{Cancellable, Cancelled},
    index::Index,
    knowledge::{Knowledge, knowledge},
    program::Program,
    settings::Settings,
    verify::{self, Effort, EntryReport},
};

/// As deep as the text may be nested. Only what is used of it is memory.
const STACK: usize = 1 << 28;

/// Bytes of a buffer that is still read.
const LARGEST: usize = 16 << 20;

/// Bytes of a closed buffer for whose next opening everything is kept: several hundred times as much memory.
const KEPT: usize = 256 << 10;

/// Nodes of the graphs of blocks that all programs keep together: about 100 MB.
const MOST_NODES: usize = 1 << 16;

/// Bytes of answers that outlive the process.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// What happened to the inputs.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// New texts by absolute path; `None`: the file's text is that on disk again.
    pub texts: Vec<(PathBuf, Option<Arc<str>>)>,
    /// New settings.
    pub settings: Option<Settings>,
    /// The other files of the programs of files.
    pub companions: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Files on disk may have changed (headers, compilation databases).
    pub disk: bool,
}

/// Holds the inputs, and a query graph per file whose program was asked for. The graphs of open files follow every change, those in use at once
/// and the others when a snapshot is taken; that of another file is given all inputs then.
#[derive(Default)]
pub struct AnalysisHost {
    texts: BTreeMap<PathBuf, Arc<str>>,
    settings: Arc<Settings>,
    companions: BTreeMap<PathBuf, Arc<[PathBuf]>>,
    graphs: BTreeMap<PathBuf, Graph>,
    /// What all of them remember.
    memory: Option<Arc<Memory>>,
}

/// What all programs of a host remember.
#[derive(Clone)]
pub struct Answers(Arc<Memory>);

impl Answers {
    /// Where verdicts came from so far.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }

    /// Writes what is new to the disk and to the team's place, and waits for that, if it does not take long.
    pub fn save(&self) {
        self.0.save();
        self.0.finish();
    }

    /// The same in the background.
    pub fn save_soon(&self) {
        let memory = self.0.clone();
        // Without a thread it is done at the end.
        let _ = std::thread::Builder::new().name("save".into()).spawn(move || memory.save());
    }
}

/// The query graph of one file's program.
struct Graph {
    db: Database,
    /// The program, once it was read. Another one with every write that may change it.
    program: Arc<Remembered>,
    /// The program that was read last.
    last: Arc<Mutex<Option<Arc<Program>>>>,
    /// What it has not been told yet.
    late: Late,
}

/// Changes that a graph is told when a snapshot of it is taken. To tell it takes a while: what it knew has to be dropped.
#[derive(Default)]
struct Late {
    texts: BTreeMap<PathBuf, Option<Arc<str>>>,
    /// The files of its program.
    has_files: bool,
    /// Anything may have changed.
    is_all: bool,
}

impl Graph {
    /// Whether there are snapshots, which a write must stop.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.program) > 1
    }
}

/// What snapshots of the same inputs share.
type Remembered = Mutex<Option<ReadProgram>>;

/// A program that was read.
#[derive(Clone)]
struct ReadProgram {
    program: Arc<Program>,
    /// It has companions, and is read without them.
    is_alone: bool,
}

/// Where answers outlive processes, unless the user chooses another folder; `None` if the user has no folder for such things.
pub fn default_cache() -> Option<PathBuf> {
    Store::default_folder()
}

impl AnalysisHost {
    /// A host whose answers outlive the process, in this folder.
    pub fn with_cache(folder: PathBuf) -> AnalysisHost {
        let mut host = AnalysisHost::default();
        host.memory().set_store(Store::new(&folder, MOST_BYTES));
        host
    }

    /// Shares answers with a team, too.
    #[must_use]
    pub fn with_team(mut self, place: Arc<dyn TeamPlace>) -> AnalysisHost {
        self.memory().set_team(place);
        self
    }

    fn memory(&mut self) -> &Arc<Memory> {
        self.memory.get_or_insert_with(|| Arc::new(Memory::of_nodes(MOST_NODES)))
    }

    /// What all programs remember, for any thread.
    pub fn answers(&mut self) -> Answers {
        Answers(self.memory().clone())
    }

    /// Changes the inputs. Snapshots of programs that this changes answer `Err(Cancelled)` from now on.
    ///
    /// Waits until they are dropped: never to be called while the same thread holds one.
    pub fn apply(&mut self, change: Change) {
        let has_settings = change.settings.as_ref().is_some_and(|settings| *settings != *self.settings);
        if let Some(settings) = change.settings {
            self.settings = Arc::new(settings);
        }
        for (file, companions) in &change.companions {
            if companions.is_empty() {
                self.companions.remove(file);
            } else {
                self.companions.insert(file.clone(), companions.as_slice().into());
            }
        }
        let mut opened: Vec<PathBuf> = Vec::new();
        for (path, text) in &change.texts {
            match text {
                Some(text) => {
                    if self.texts.insert(path.clone(), text.clone()).is_none() {
                        opened.push(path.clone());
                    }
                }
                None => {
                    let closed = self.texts.remove(path);
                    if closed.is_some_and(|text| text.len() > KEPT) {
                        self.graphs.remove(path);
                    }
                }
            }
        }
        for file in self.graphs.keys().cloned().collect::<Vec<_>>() {
            if !self.texts.contains_key(&file) {
                continue;
            }
            let Some(graph) = self.graphs.get_mut(&file) else { continue };
            graph.late.is_all |= has_settings || change.disk || opened.contains(&file);
            graph.late.has_files |= change.companions.iter().any(|(of, _)| *of == file);
            graph.late.texts.extend(change.texts.iter().cloned());
            if graph.is_in_use() {
                self.catch_up(&file);
            }
        }
    }

    /// Tells the graph of a file what it has not been told.
    fn catch_up(&mut self, file: &Path) {
        let files = self.files_of(file);
        let Some(graph) = self.graphs.get_mut(file) else { return };
        let late = std::mem::take(&mut graph.late);
        if late.is_all {
            self.bring(file);
            return;
        }
        let mut has_changed = late.has_files && graph.db.set_files(files);
        for (path, text) in late.texts {
            has_changed |= match text {
                Some(text) if text.len() > LARGEST => false,
                Some(text) => graph.db.share_text(&path, text),
                None => graph.db.read_again(&path),
            };
        }
        if has_changed {
            graph.program = Arc::default();
        }
    }

    /// Gives the graph of a file, which need not exist, all inputs.
    fn bring(&mut self, file: &Path) {
        let files = self.files_of(file);
        let is_new = !self.graphs.contains_key(file);
        let memory = self.memory().clone();
        if is_new {
            memory.look_again();
        }
        let settings = &self.settings;
        let graph = self.graphs.entry(file.to_path_buf()).or_insert_with(|| {
            let db = Database::with_memory(files.clone(), settings.options.clone(), memory);
            Graph { db, program: Arc::default(), last: Arc::default(), late: Late::default() }
        });
        let small = self.texts.iter().filter(|(_, text)| text.len() <= LARGEST);
        graph.db.set_buffers(small.map(|(path, text)| (path.as_path(), text)));
        if !is_new {
            graph.db.set_options(settings.options.clone());
            graph.db.set_files(files);
            // Its entries depend on the settings, too.
            graph.program = Arc::default();
        }
    }

    /// The files of a file's program, itself first.
    fn files_of(&self, file: &Path) -> Vec<PathBuf> {
        let others = self.companions.get(file).into_iter().flat_map(|others| others.iter());
        std::iter::once(file.to_path_buf()).chain(others.cloned()).collect()
    }

    /// Forgets what was computed, to save memory. Answers stay the same; they take longer.
    pub fn forget(&mut self) {
        self.graphs.clear();
        self.memory().forget();
    }

    /// The same of files other than these. Whether there were some.
    pub fn shed(&mut self, busy: &BTreeSet<PathBuf>) -> bool {
        let before = self.graphs.len();
        self.graphs.retain(|file, _| busy.contains(file));
        self.graphs.len() < before
    }

    /// A snapshot of a file's program. While the file is not open (has no text here), each snapshot looks at the disk again, and
    /// so may wait for the ones before.
    pub fn analysis(&mut self, file: &Path) -> Analysis {
        if !self.graphs.contains_key(file) || !self.texts.contains_key(file) {
            self.bring(file);
        } else {
            self.catch_up(file);
        }
        let graph = &self.graphs[file];
        Analysis {
            file: file.to_path_buf(),
            text: self.texts.get(file).cloned(),
            settings: self.settings.clone(),
            companions: self.companions.get(file).cloned().unwrap_or_default(),
            db: graph.db.snapshot(),
            program: graph.program.clone(),
            last: graph.last.clone(),
        }
    }
}

/// An immutable snapshot of a file's program; clones are cheap. The host's next write to the program waits until all are dropped.
#[derive(Clone)]
pub struct Analysis {
    file: PathBuf,
    text: Option<Arc<str>>,
    settings: Arc<Settings>,
    companions: Arc<[PathBuf]>,
    db: Database,
    program: Arc<Remembered>,
    last: Arc<Mutex<Option<Arc<Program>>>>,
}

impl Analysis {
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The text of the file: of its buffer, or on disk.
    pub fn text(&self) -> Option<Arc<str>> {
        match &self.text {
            Some(text) => Some(text.clone()),
            None => std::fs::read(&self.file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into()),
        }
    }

    /// The texts of these files, as far as they were read.
    pub fn texts_of(&self, files: &[PathBuf]) -> Vec<(PathBuf, Arc<str>)> {
        let texts = self.db.texts();
        let text = |file: &PathBuf| {
            texts.get(file).map(|bytes| (file.clone(), String::from_utf8_lossy(bytes).into()))
        };
        files.iter().filter_map(text).collect()
    }

    /// The program: its functions and what is wrong with the text. Remembered.
    ///
    /// # Errors
    /// If it was cancelled or a write waits.
    pub fn program(&self, cancel: &Cancel) -> Cancellable<Arc<Program>> {
        self.read(cancel).map(|read| read.program)
    }

    /// Decides the obligations of the executions that start at one entry, as far as the effort goes.
    ///
    /// # Errors
    /// If it was cancelled or a write waits.
    pub fn verify(
        &self,
        entry: &str,
        effort: &Effort,
        cancel: &Cancel,
        progress: Arc<Listener>,
    ) -> Cancellable<Arc<EntryReport>> {
        let read = self.read(cancel)?;
        verify::verify(&read.program, &self.graph(&read), entry, &self.settings, effort, cancel, progress)
    }

    /// What is proved about the variables of the program, place by place.
    ///
    /// # Errors
    /// If it was cancelled or a write waits.
    pub fn knowledge(&self, cancel: &Cancel) -> Cancellable<Knowledge> {
        let read = self.read(cancel)?;
        knowledge(&read.program, &self.graph(&read), cancel)
    }

    /// What answers about a program that was read.
    fn graph(&self, read: &ReadProgram) -> Database {
        if read.is_alone { self.db.alone() } else { self.db.clone() }
    }

    /// The program. What its companions have wrong is not held against the file: then it is read alone.
    fn read(&self, cancel: &Cancel) -> Cancellable<ReadProgram> {
        if let Some(text) = self.text.as_ref().filter(|text| text.len() > LARGEST) {
            let why = format!("{} MB are too much to verify while it is edited", text.len() >> 20);
            let declined = Ok(Err(LoadError::Read(self.file.clone(), why)));
            // It has no entries, so nothing is asked of it.
            let program = Arc::new(Program::new(&self.file, &[], declined, &self.settings));
            return Ok(ReadProgram { program, is_alone: false });
        }
        let mut known = self.program.lock();
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let mut program = self.read_from(&self.db, &self.companions)?;
        let is_alone = !self.companions.is_empty() && (program.has_errors() || program.is_renamed());
        if is_alone {
            program = self.read_from(&self.db.alone(), &[])?;
        }
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let mut last = self.last.lock();
        if let Some(last) = &*last {
            program.begin_with(last);
        }
        if program.is_planned() {
            program.find_plan_unless(cancel)?;
        }
        let program = Arc::new(program);
        *last = Some(program.clone());
        Ok(known.insert(ReadProgram { program, is_alone }).clone())
    }

    fn read_from(&self, db: &Database, companions: &[PathBuf]) -> Cancellable<Program> {
        let loaded = catch_unwind(AssertUnwindSafe(|| -> Result<_, Stopped> {
            let others = companions.iter().map(|path| Ok(Index::outer(&*db.source(path)?)));
            let others = others.collect::<Result<Vec<_>, Stopped>>()?;
            // Positions first: if there is no program, they say why.
            let sources = db.sources()?;
            let source = db.source(&self.file)?;
            // Both take a while, and neither needs the other.
            let (prepared, index) = std::thread::scope(|scope| {
                let index =
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || Index::of(&source));
                let prepared = db.prepared();
                let index = match index {
                    Ok(index) => index.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    Err(_) => Index::of(&source),
                };
                (prepared, index)
            });
            Ok(((prepared?, sources), index, others))
        }));
        let loaded: Result<Result<_, LoadError>, _> = match loaded {
            Ok(Ok(loaded)) => Ok(Ok(loaded)),
            Ok(Err(Stopped::Load(error))) => Ok(Err(error)),
            Ok(Err(Stopped::Edited | Stopped::Cancelled | Stopped::OutOfTime)) => return Err(Cancelled),
            Err(panic) => Err(panic),
        };
        Ok(Program::new(&self.file, companions, loaded, &self.settings))
    }
}
