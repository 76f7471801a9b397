//! Answers on the disk, keyed by content: what was verified once is not verified again, by whichever process. A store is a hint that may
//! be missing, old, damaged or in use; then the work is done again. Several processes may share a folder: each write is a transaction, and
//! a process that finds the file open elsewhere waits a moment and then goes without.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    panic::{self, AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, Instant, SystemTime},
};

use parking_lot::Mutex;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};

use proofline_hir::ContentHash;

/// Answers by fingerprint of everything they depend on; the value begins with a hash of the rest of it under its key.
const ANSWERS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("answers");
/// When an answer was last written or used: a counter of the sessions.
const USED: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("used");
/// `session`: number of the last session; `bytes`: bytes of all answers.
const COUNTS: TableDefinition<'_, &str, u64> = TableDefinition::new("counts");

/// Part of the file's name: files of another format are left alone, and go when they are old.
const FORMAT: &str = "answers-1.redb";

/// The same for blocks.
const BLOCKS: &str = "blocks-1.redb";

/// Bytes of blocks: all are read when the first is asked for.
const MOST_BLOCKS: u64 = 1 << 23;

/// How long to wait for another process that has the file open.
const PATIENCE: Duration = Duration::from_millis(300);

/// A folder with answers, or none: then they end with the process.
pub struct Store {
    path: Option<PathBuf>,
    most_bytes: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Found on the disk, by key.
    known: BTreeMap<ContentHash, Vec<u8>>,
    /// To be written.
    new: BTreeMap<ContentHash, Vec<u8>>,
    used: Vec<ContentHash>,
    /// When the file was written last that was read, and how long it was then.
    read: Option<(SystemTime, u64)>,
    is_read: bool,
    is_damaged: bool,
}

impl Store {
    /// In this folder, with at most so many bytes of answers. Nothing is read or made yet.
    pub fn new(folder: &Path, most_bytes: u64) -> Store {
        Store { path: Some(folder.join(FORMAT)), most_bytes, inner: Mutex::default() }
    }

    /// Without a folder. Answers of other processes come by [`Store::add`], and leave by [`Store::added`].
    pub fn detached() -> Store {
        Store { path: None, most_bytes: 0, inner: Mutex::new(Inner { is_read: true, ..Inner::default() }) }
    }

    /// Takes over what another process gave away. Whether it was that.
    pub fn add(&self, bytes: &[u8]) -> bool {
        let answers = unsealed(&[0; 32], bytes).and_then(|bytes| postcard::from_bytes(&bytes).ok());
        let Some(answers): Option<BTreeMap<[u8; 32], Vec<u8>>> = answers else { return false };
        let answers = answers.into_iter().map(|(key, value)| (ContentHash(key), value));
        self.inner.lock().known.extend(answers);
        true
    }

    /// What was put here, for other processes.
    pub fn added(&self) -> Vec<u8> {
        let inner = self.inner.lock();
        let new: BTreeMap<[u8; 32], &[u8]> =
            inner.new.iter().map(|(key, value)| (key.0, value.as_slice())).collect();
        sealed(&[0; 32], &postcard::to_stdvec(&new).unwrap_or_default())
    }

    /// Beside this one, for blocks.
    pub(crate) fn blocks(&self) -> Store {
        let path = self.path.as_ref().map(|path| path.with_file_name(BLOCKS));
        let inner = Inner { is_read: path.is_none(), ..Inner::default() };
        Store { path, inner: Mutex::new(inner), most_bytes: self.most_bytes.min(MOST_BLOCKS) }
    }

    /// Where answers of this user are kept: `$XDG_CACHE_HOME/proofline`, or `~/.cache/proofline`.
    pub fn default_folder() -> Option<PathBuf> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(base.join("proofline"))
    }

    /// The bytes under a key, as they were put there.
    pub(crate) fn find(&self, key: ContentHash) -> Option<Vec<u8>> {
        let mut inner = self.inner.lock();
        if !inner.is_read {
            inner.is_read = true;
            inner.read = self.written();
            (inner.known, inner.is_damaged) = self.read_all();
        }
        let found = inner.known.get(&key).or_else(|| inner.new.get(&key)).cloned()?;
        inner.used.push(key);
        Some(found)
    }

    /// When the file was written, and how long it is.
    fn written(&self) -> Option<(SystemTime, u64)> {
        let file = fs::metadata(self.path.as_ref()?).ok()?;
        Some((file.modified().ok()?, file.len()))
    }

    /// The file is read again when something is looked up, if another process has written it.
    pub(crate) fn look_again(&self) {
        let mut inner = self.inner.lock();
        if inner.is_read && self.path.is_some() && inner.read != self.written() {
            inner.is_read = false;
        }
    }

    /// Keeps bytes under a key, from [`Store::save`] on also on the disk.
    pub(crate) fn put(&self, key: ContentHash, bytes: Vec<u8>) {
        self.inner.lock().new.insert(key, bytes);
    }

    /// Writes what is new. Whatever goes wrong, answers are only missing next time.
    pub fn save(&self) {
        let Some(path) = &self.path else { return };
        let mut inner = self.inner.lock();
        let (mut new, used) = (std::mem::take(&mut inner.new), std::mem::take(&mut inner.used));
        if inner.is_damaged && is_free(path) && fs::remove_file(path).is_ok() {
            // What could be read is whole; the file around it is made anew.
            inner.is_damaged = false;
            new.extend(std::mem::take(&mut inner.known));
        }
        if new.is_empty() {
            return;
        }
        let Some(folder) = path.parent() else { return };
        if fs::create_dir_all(folder).is_err() {
            return;
        }
        let is_known = inner.read == self.written();
        if self.write(path, &new, &used).is_err() {
            // Not ours, or broken: once more with an empty one.
            if is_free(path) && fs::remove_file(path).is_ok() {
                let _ = self.write(path, &new, &used);
            }
        }
        if is_known {
            // What others have written is in the file, too, but nothing that was not read.
            inner.read = self.written();
        }
        let bytes =
            |all: &BTreeMap<ContentHash, Vec<u8>>| all.values().map(|bytes| bytes.len() as u64).sum::<u64>();
        if bytes(&inner.known) + bytes(&new) <= self.most_bytes {
            inner.known.extend(new);
        }
    }

    /// What is there, and whether the file is damaged.
    fn read_all(&self) -> (BTreeMap<ContentHash, Vec<u8>>, bool) {
        let mut found = BTreeMap::new();
        let mut is_whole = true;
        let Some(path) = self.path.as_ref().filter(|path| path.exists()) else { return (found, false) };
        // A damaged file may show itself by an error or by a panic of the reader; both mean that there is nothing.
        let mut read = || -> Result<(), redb::Error> {
            let database = patiently(path)?;
            let transaction = database.begin_read()?;
            for entry in transaction.open_table(ANSWERS)?.iter()? {
                let (key, value) = entry?;
                match unsealed(key.value(), value.value()) {
                    Some(bytes) => {
                        found.insert(ContentHash(*key.value()), bytes);
                    }
                    None => is_whole = false,
                }
            }
            Ok(())
        };
        match guarded(&mut read) {
            Ok(Ok(())) | Ok(Err(redb::Error::DatabaseAlreadyOpen)) => {}
            Ok(Err(_)) | Err(_) => is_whole = false,
        }
        (found, !is_whole)
    }

    fn write(
        &self,
        path: &Path,
        new: &BTreeMap<ContentHash, Vec<u8>>,
        used: &[ContentHash],
    ) -> Result<(), Failed> {
        let write = || -> Result<(), redb::Error> {
            let database = patiently(path)?;
            let transaction = database.begin_write()?;
            {
                let mut answers = transaction.open_table(ANSWERS)?;
                let mut times = transaction.open_table(USED)?;
                let mut counts = transaction.open_table(COUNTS)?;
                let session = counts.get("session")?.map_or(0, |n| n.value()) + 1;
                counts.insert("session", session)?;
                let mut bytes = counts.get("bytes")?.map_or(0, |n| n.value());
                for (key, value) in new {
                    let sealed = sealed(&key.0, value);
                    let before = answers.insert(&key.0, sealed.as_slice())?;
                    bytes = bytes.saturating_sub(before.map_or(0, |old| old.value().len() as u64));
                    bytes += sealed.len() as u64;
                    times.insert(&key.0, session)?;
                }
                for key in used {
                    if answers.get(&key.0)?.is_some() {
                        times.insert(&key.0, session)?;
                    }
                }
                if bytes > self.most_bytes {
                    bytes = shrink(&mut answers, &mut times, self.most_bytes / 2)?;
                }
                counts.insert("bytes", bytes)?;
            }
            transaction.commit()?;
            Ok(())
        };
        match guarded(write) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Failed),
        }
    }

    /// Number of answers on the disk.
    pub fn len(&self) -> u64 {
        let Some(path) = self.path.as_ref().filter(|path| path.exists()) else { return 0 };
        let count =
            || -> Result<u64, redb::Error> { Ok(patiently(path)?.begin_read()?.open_table(ANSWERS)?.len()?) };
        guarded(count).ok().and_then(Result::ok).unwrap_or(0)
    }

    /// Whether there is nothing on the disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

struct Failed;

fn is_free(path: &Path) -> bool {
    // A panic is the reader's way to say that the file is damaged; no other process has it open then.
    let opened = guarded(|| open(path).map(drop));
    !matches!(opened, Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)))
}

thread_local! {
    /// A panic of this thread is caught, and what it says is about a file of ours.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Does what may panic because a file is damaged; then nobody hears of it.
fn guarded<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let otherwise = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_EXPECTED.get() {
                otherwise(info);
            }
        }));
    });
    let before = IS_EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_EXPECTED.set(before);
    result
}

fn open(path: &Path) -> Result<redb::Database, redb::DatabaseError> {
    redb::Database::create(path)
}

/// Opens the file; another process may have it for a moment.
fn patiently(path: &Path) -> Result<redb::Database, redb::Error> {
    let start = Instant::now();
    loop {
        match open(path) {
            Err(redb::DatabaseError::DatabaseAlreadyOpen) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return Ok(result?),
        }
    }
}

/// Removes what was not used for longest until at most so many bytes are left; how many there are then.
fn shrink(
    answers: &mut redb::Table<'_, &[u8; 32], &[u8]>,
    times: &mut redb::Table<'_, &[u8; 32], u64>,
    most: u64,
) -> Result<u64, redb::Error> {
    let mut all: Vec<(u64, [u8; 32], u64)> = Vec::new();
    for entry in answers.iter()? {
        let (key, value) = entry?;
        let time = times.get(key.value())?.map_or(0, |time| time.value());
        all.push((time, *key.value(), value.value().len() as u64));
    }
    all.sort_unstable();
    let mut bytes: u64 = all.iter().map(|(_, _, size)| size).sum();
    for (_, key, size) in all {
        if bytes <= most {
            break;
        }
        answers.remove(&key)?;
        times.remove(&key)?;
        bytes -= size;
    }
    Ok(bytes)
}

/// With a hash of key and bytes before them.
pub(crate) fn sealed(key: &[u8; 32], bytes: &[u8]) -> Vec<u8> {
    let mut out = seal(key, bytes).to_vec();
    out.extend_from_slice(bytes);
    out
}

pub(crate) fn unsealed(key: &[u8; 32], bytes: &[u8]) -> Option<Vec<u8>> {
    let (hash, rest) = bytes.split_at_checked(32)?;
    (seal(key, rest) == hash).then(|| rest.to_vec())
}

fn seal(key: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(bytes);
    *hasher.finalize().as_bytes()
}
