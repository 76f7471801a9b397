//! Texts of files as inputs: what an editor holds, what was read from the disk. Whoever reads a file through [`Reader`] can say
//! afterwards which ones; that a file does not exist is a text too. Knows bytes, not C.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::{Mutex, RwLock};
use proofline_syntax::{FileSystem, RealFs, fs::lexical};
use rustc_hash::FxHashMap;
use salsa::{Durability, Setter};

use crate::{Database, Db};

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
    known: RwLock<FxHashMap<PathBuf, Known>>,
    inputs: Mutex<FxHashMap<PathBuf, Text>>,
}

#[derive(Clone)]
struct Known {
    content: Content,
    /// Given, not read.
    is_unsaved: bool,
}

impl Files {
    fn look_up(&self, path: &Path) -> Known {
        let known = self.known.read();
        if let Some(known) = known.get(path) {
            return known.clone();
        }
        drop(known);
        let content = RealFs.read(path).map_err(|error| error.kind());
        let mut known = self.known.write();
        known.entry(path.to_owned()).or_insert(Known { content, is_unsaved: false }).clone()
    }

    fn input(&self, db: &dyn Db, path: &Path) -> Text {
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
    pub(crate) fn depend(self, db: &dyn Db) {
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
        if self.is_unsaved(path) { lexical(path) } else { RealFs.identity(path) }
    }

    fn is_unsaved(&self, path: &Path) -> bool {
        let known = self.files.known.read();
        known.get(&lexical(path)).is_some_and(|known| known.is_unsaved)
    }
}

impl Database {
    /// Gives a file a text that counts instead of the one on the disk (an editor's buffer).
    pub fn set_text(&mut self, path: &Path, text: &str) {
        self.set(path, Known { content: Ok(Arc::from(text.as_bytes())), is_unsaved: true });
    }

    /// What is on the disk counts (again). To be called when a file that was read may have changed there.
    pub fn read_again(&mut self, path: &Path) {
        let content = RealFs.read(path).map_err(|error| error.kind());
        self.set(path, Known { content, is_unsaved: false });
    }

    /// Files that were read from the disk may have changed there.
    pub fn read_disk_again(&mut self) {
        let known = self.shared().files.known.read();
        let read: Vec<PathBuf> =
            known.iter().filter(|(_, known)| !known.is_unsaved).map(|(path, _)| path.clone()).collect();
        drop(known);
        for path in read {
            self.read_again(&path);
        }
    }

    fn set(&mut self, path: &Path, new: Known) {
        let path = lexical(path);
        {
            let files = &self.shared().files;
            let mut known = files.known.write();
            if let Entry::Vacant(vacant) = known.entry(path.clone()) {
                // Nobody has read it.
                vacant.insert(new);
                return;
            }
        }
        // Also where nothing depends on it yet: somebody may just be reading it, and must then hear of the change.
        let text = self.shared().files.input(self, &path);
        if text.content(self) != new.content {
            let durability = durability(&path, new.is_unsaved);
            // The write waits until nobody reads; then both change together.
            let content = new.content.clone();
            let _ = text.set_content(self).with_durability(durability).to(content);
        }
        self.shared().files.known.write().insert(path, new);
    }
}
