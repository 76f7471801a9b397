//! Texts of files as inputs: what an editor holds, what was read from the disk. Work that reads a file through [`Reader`] can say
//! afterwards which ones; that a file does not exist is a text too. Knows bytes, not C.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, RwLock};
use proofline_syntax::{FileSystem, RealFs, fs::lexical};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

/// What reading a file gives.
pub(crate) type Content = Result<Arc<[u8]>, io::ErrorKind>;

/// A file's text.
#[salsa::input]
pub(crate) struct Text {
    #[returns(clone)]
    pub(crate) content: Content,
}

/// Every text that was read or given.
#[derive(Default)]
pub(crate) struct Files {
    /// Texts that some query has looked at. Locked before `unread`.
    known: RwLock<FxHashMap<PathBuf, Known>>,
    /// Texts that were given and that no query has looked at: another one changes no answer.
    unread: Mutex<FxHashMap<PathBuf, Content>>,
    inputs: Mutex<FxHashMap<PathBuf, Text>>,
    /// All files there are, if it is not the disk that has them, and the folder that relative paths are meant from.
    closed: OnceLock<(Texts, PathBuf)>,
}

/// Texts by path.
pub type Texts = BTreeMap<PathBuf, Arc<[u8]>>;

/// What is known of a file.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) content: Content,
    /// Given, not read.
    pub(crate) is_unsaved: bool,
}

impl Files {
    fn look_up(&self, path: &Path) -> Known {
        let known = self.known.read();
        if let Some(known) = known.get(path) {
            return known.clone();
        }
        drop(known);
        // Not under the lock. If it is given meanwhile, that counts.
        let disk = match self.closed.get() {
            Some((texts, _)) => texts.get(path).cloned().ok_or(io::ErrorKind::NotFound),
            None => RealFs.read(path).map_err(|error| error.kind()),
        };
        let mut known = self.known.write();
        let new = || match self.unread.lock().remove(path) {
            Some(content) => Known { content, is_unsaved: true },
            None => Known { content: disk, is_unsaved: false },
        };
        known.entry(path.to_owned()).or_insert_with(new).clone()
    }

    /// From now on there are no other files than these. To be called before anything is read; once.
    pub(crate) fn close(&self, texts: Texts, folder: PathBuf) {
        drop(self.closed.set((texts, folder)));
    }

    /// The texts that were read, or given.
    pub(crate) fn texts(&self) -> Texts {
        let known = self.known.read();
        let texts =
            known.iter().filter_map(|(path, known)| Some((path.clone(), known.content.clone().ok()?)));
        texts.collect()
    }

    fn is_unread(&self, path: &Path) -> bool {
        self.unread.lock().contains_key(path)
    }

    /// Files that were read or given, but for these.
    pub(crate) fn besides(&self, buffers: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let known = self.known.read();
        let unread = self.unread.lock();
        known.keys().chain(unread.keys()).filter(|path| !buffers.contains(*path)).cloned().collect()
    }

    /// Gives a file another content. Returns whether an answer may change: whether it was read, with another content.
    pub(crate) fn set<D: salsa::Database>(&self, db: &mut D, path: &Path, new: Known) -> bool {
        let path = lexical(path);
        {
            let known = self.known.write();
            if !known.contains_key(&path) {
                let mut unread = self.unread.lock();
                if new.is_unsaved {
                    unread.insert(path, new.content);
                } else {
                    unread.remove(&path);
                }
                return false;
            }
        }
        // Also where nothing depends on it yet: another thread may just be reading it, and must then hear of the change.
        let text = self.input(db, &path);
        let has_changed = text.content(db) != new.content;
        if has_changed {
            let durability = durability(&path, new.is_unsaved);
            // The write waits until all readers have finished; then both change together.
            let content = new.content.clone();
            let _ = text.set_content(db).with_durability(durability).to(content);
        }
        self.known.write().insert(path, new);
        has_changed
    }

    fn input(&self, db: &dyn salsa::Database, path: &Path) -> Text {
        let mut inputs = self.inputs.lock();
        *inputs.entry(path.to_owned()).or_insert_with(|| {
            let known = self.look_up(path);
            let durability = durability(path, known.is_unsaved);
            Text::builder(known.content).content_durability(durability).new(db)
        })
    }
}

/// Headers of the machine hardly ever change.
fn durability(path: &Path, is_unsaved: bool) -> Durability {
    if !is_unsaved && (path.starts_with("/usr") || path.starts_with("/opt")) {
        Durability::HIGH
    } else {
        Durability::LOW
    }
}

/// Reads files for a query and remembers which. May be used by other threads than the query's.
pub(crate) struct Reader<'d> {
    files: &'d Files,
    seen: Mutex<BTreeSet<PathBuf>>,
}

impl<'d> Reader<'d> {
    pub(crate) fn new(files: &'d Files) -> Reader<'d> {
        Reader { files, seen: Mutex::default() }
    }

    /// Tells salsa what was read. To be called in the query's own thread.
    pub(crate) fn depend(self, db: &dyn salsa::Database) {
        for path in self.seen.into_inner() {
            let _ = self.files.input(db, &path).content(db);
        }
    }
}

impl FileSystem for Reader<'_> {
    fn read(&self, path: &Path) -> io::Result<Arc<[u8]>> {
        let path = lexical(path);
        let known = self.files.look_up(&path);
        self.seen.lock().insert(path);
        known.content.map_err(io::Error::from)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        let is_given = self.is_unsaved(path) || self.files.closed.get().is_some();
        if is_given { lexical(path) } else { RealFs.identity(path) }
    }

    fn folder(&self) -> PathBuf {
        match self.files.closed.get() {
            Some((_, folder)) => folder.clone(),
            None => RealFs.folder(),
        }
    }

    fn is_unsaved(&self, path: &Path) -> bool {
        let path = lexical(path);
        let known = self.files.known.read();
        known.get(&path).map_or_else(|| self.files.is_unread(&path), |known| known.is_unsaved)
    }
}
