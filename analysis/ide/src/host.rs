//! The mutable host and the immutable snapshot.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use proofline_db::{Database, Stopped, Store};
use proofline_verifier::{Cancel, load::LoadError, portfolio::Listener};

use crate::{
    cancel::{Cancellable, Cancelled},
    index::Index,
    knowledge::{Knowledge, knowledge},
    program::Program,
    settings::Settings,
    verify::{self, Effort, EntryReport},
};

/// Bytes of a buffer that is still read.
const LARGEST: usize = 16 << 20;

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

/// Holds the inputs and what was computed from them.
#[derive(Default)]
pub struct AnalysisHost {
    inputs: Arc<Inputs>,
    shared: Arc<Shared>,
    clock: u64,
}

#[derive(Clone, Default)]
struct Inputs {
    texts: BTreeMap<PathBuf, Text>,
    settings: Arc<Settings>,
    companions: BTreeMap<PathBuf, Arc<[PathBuf]>>,
    /// Grows when anything but the text of a known buffer changes.
    epoch: u64,
    /// Grows with every change.
    clock: u64,
}

#[derive(Clone)]
struct Text {
    text: Arc<str>,
    stamp: u64,
}

/// What snapshots share.
#[derive(Default)]
struct Shared {
    slots: Mutex<BTreeMap<PathBuf, Arc<Mutex<Slot>>>>,
    /// Where answers outlive the process.
    cache: Option<PathBuf>,
}

/// The query graph of one file's program, with the inputs it has seen.
#[derive(Default)]
struct Slot {
    db: Option<Database>,
    clock: u64,
    epoch: u64,
    /// Stamps of the buffers it has.
    applied: BTreeMap<PathBuf, u64>,
    known: Option<Known>,
}

struct Known {
    epoch: u64,
    /// Stamps of the buffers it was made from.
    stamps: BTreeMap<PathBuf, u64>,
    companions: Arc<[PathBuf]>,
    program: Arc<Program>,
}

impl Known {
    fn is_current(&self, file: &Path, inputs: &Inputs) -> bool {
        let is_same =
            |(path, stamp): (&PathBuf, &u64)| inputs.texts.get(path).is_some_and(|text| text.stamp == *stamp);
        self.epoch == inputs.epoch
            && self.companions == inputs.companions_of(file)
            && self.stamps.iter().all(is_same)
    }
}

impl Inputs {
    fn companions_of(&self, file: &Path) -> Arc<[PathBuf]> {
        self.companions.get(file).cloned().unwrap_or_default()
    }
}

/// Bytes of answers that outlive the process.
const MOST_BYTES: u64 = 64 << 20;

impl AnalysisHost {
    /// A host whose answers outlive the process, in this folder.
    pub fn with_cache(folder: PathBuf) -> AnalysisHost {
        let shared = Shared { cache: Some(folder), ..Shared::default() };
        AnalysisHost { shared: Arc::new(shared), ..AnalysisHost::default() }
    }

    /// Changes the inputs. Snapshots that exist keep the old ones.
    pub fn apply(&mut self, change: Change) {
        self.clock += 1;
        let inputs = Arc::make_mut(&mut self.inputs);
        inputs.clock = self.clock;
        for (path, text) in change.texts {
            match text {
                Some(text) => {
                    let known = inputs.texts.insert(path, Text { text, stamp: self.clock });
                    // A buffer that was not there may be a header that somebody misses.
                    inputs.epoch += u64::from(known.is_none());
                }
                None => {
                    inputs.texts.remove(&path);
                    inputs.epoch += 1;
                }
            }
        }
        if let Some(settings) = change.settings
            && settings != *inputs.settings
        {
            inputs.settings = Arc::new(settings);
            inputs.epoch += 1;
        }
        for (file, companions) in change.companions {
            if companions.is_empty() {
                inputs.companions.remove(&file);
            } else {
                inputs.companions.insert(file, companions.into());
            }
        }
        inputs.epoch += u64::from(change.disk);
    }

    /// The other files of a file's program.
    pub fn companions(&self, file: &Path) -> Arc<[PathBuf]> {
        self.inputs.companions_of(file)
    }

    /// Forgets what was computed, to save memory. Answers stay the same; they take longer.
    pub fn forget(&mut self) {
        self.shared.slots.lock().clear();
    }

    /// A snapshot of the inputs.
    pub fn analysis(&self) -> Analysis {
        Analysis { inputs: self.inputs.clone(), shared: self.shared.clone() }
    }
}

/// An immutable snapshot; clones are cheap.
#[derive(Clone)]
pub struct Analysis {
    inputs: Arc<Inputs>,
    shared: Arc<Shared>,
}

impl Analysis {
    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.inputs.settings
    }

    /// The text of a buffer, or of the file on disk.
    pub fn text(&self, path: &Path) -> Option<Arc<str>> {
        match self.inputs.texts.get(path) {
            Some(text) => Some(text.text.clone()),
            None => std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into()),
        }
    }

    /// The program of a file: its functions and what is wrong with the text. Remembered.
    pub fn program(&self, file: &Path, cancel: &Cancel) -> Cancellable<Arc<Program>> {
        self.open(file, cancel).map(|(program, _)| program)
    }

    /// Decides the obligations of the executions that start at one entry of a file, as far as the effort goes.
    pub fn verify(
        &self,
        file: &Path,
        entry: &str,
        effort: &Effort,
        cancel: &Cancel,
        progress: Arc<Listener>,
    ) -> Cancellable<Arc<EntryReport>> {
        let (program, db) = self.open(file, cancel)?;
        verify::verify(&program, &db, entry, self.settings(), effort, cancel, progress)
    }

    /// What is proved about the variables of a file's program, place by place.
    pub fn knowledge(&self, file: &Path, cancel: &Cancel) -> Cancellable<Knowledge> {
        let (program, db) = self.open(file, cancel)?;
        knowledge(&program, &db, cancel)
    }

    /// The program of a file with a handle to its query graph. While the handle lives, nobody can change the graph: who wants to, makes
    /// what is asked of it stop.
    fn open(&self, file: &Path, cancel: &Cancel) -> Cancellable<(Arc<Program>, Database)> {
        let size = self.inputs.texts.get(file).map_or(0, |text| text.text.len());
        if size > LARGEST {
            let why = format!("{} MB are too much to verify while it is edited", size >> 20);
            let declined = Ok(Err(LoadError::Read(file.to_path_buf(), why)));
            let program = Arc::new(Program::new(file, &[], declined, &self.inputs.settings));
            // It has no entries, so nothing is asked of it.
            return Ok((program, Database::new(Vec::new(), self.inputs.settings.options.clone())));
        }
        let slot = {
            let mut slots = self.shared.slots.lock();
            slots.entry(file.to_path_buf()).or_default().clone()
        };
        let mut slot = slot.lock();
        let slot = &mut *slot;
        if let (Some(known), Some(db)) = (&slot.known, &slot.db)
            && known.is_current(file, &self.inputs)
        {
            return Ok((known.program.clone(), db.clone()));
        }
        // What a later snapshot has brought here is not taken back.
        if cancel.is_cancelled() || self.inputs.clock < slot.clock {
            return Err(Cancelled);
        }
        slot.known = None;
        self.bring(file, slot);
        let companions = self.inputs.companions_of(file);
        let Some(db) = &mut slot.db else { return Err(Cancelled) };
        let program = Arc::new(self.load(file, db, &companions)?);
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let stamp = |path: &PathBuf| self.inputs.texts.get(path).map(|text| (path.clone(), text.stamp));
        let mut stamps: BTreeMap<PathBuf, u64> = program.files().iter().filter_map(stamp).collect();
        stamps.extend(stamp(&file.to_path_buf()));
        let db = db.clone();
        slot.known = Some(Known { epoch: self.inputs.epoch, stamps, companions, program: program.clone() });
        Ok((program, db))
    }

    /// Gives the graph this snapshot's inputs.
    fn bring(&self, file: &Path, slot: &mut Slot) {
        let options = &self.inputs.settings.options;
        let db = slot.db.get_or_insert_with(|| {
            let mut db = Database::new(vec![file.to_path_buf()], options.clone());
            if let Some(folder) = &self.shared.cache {
                db.set_store(Store::new(folder, MOST_BYTES));
            }
            db
        });
        if slot.epoch != self.inputs.epoch {
            db.set_options(options.clone());
            let closed = slot.applied.keys().filter(|path| !self.inputs.texts.contains_key(*path));
            closed.for_each(|path| db.read_again(path));
            db.read_disk_again();
        }
        for (path, text) in self.inputs.texts.iter().filter(|(_, text)| text.text.len() <= LARGEST) {
            if slot.applied.get(path) != Some(&text.stamp) {
                db.set_text(path, &text.text);
            }
        }
        slot.applied = self.inputs.texts.iter().map(|(path, text)| (path.clone(), text.stamp)).collect();
        slot.epoch = self.inputs.epoch;
        slot.clock = self.inputs.clock;
    }

    /// Reads the program. What its companions have wrong is not held against the file: then it is read alone.
    fn load(&self, file: &Path, db: &mut Database, companions: &[PathBuf]) -> Cancellable<Program> {
        let files =
            |others: &[PathBuf]| std::iter::once(file.to_path_buf()).chain(others.iter().cloned()).collect();
        db.set_files(files(companions));
        let program = self.read(file, db, companions)?;
        if companions.is_empty() || !program.has_errors() && !program.is_renamed() {
            return Ok(program);
        }
        db.set_files(files(&[]));
        self.read(file, db, &[])
    }

    fn read(&self, file: &Path, db: &Database, companions: &[PathBuf]) -> Cancellable<Program> {
        let loaded = catch_unwind(AssertUnwindSafe(|| -> Result<_, Stopped> {
            let others = companions.iter().map(|path| Ok(Index::outer(&*db.source(path)?)));
            let others = others.collect::<Result<Vec<_>, Stopped>>()?;
            // Positions first: if there is no program, they say why.
            let sources = db.sources()?;
            Ok(((db.subject()?, sources), Index::of(&*db.source(file)?), others))
        }));
        let loaded: Result<Result<_, LoadError>, _> = match loaded {
            Ok(Ok(loaded)) => Ok(Ok(loaded)),
            Ok(Err(Stopped::Load(error))) => Ok(Err(error)),
            Ok(Err(Stopped::Edited | Stopped::Cancelled)) => return Err(Cancelled),
            Err(panic) => Err(panic),
        };
        Ok(Program::new(file, companions, loaded, &self.inputs.settings))
    }
}
