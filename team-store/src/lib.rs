//! Bytes by name in a place that a team shares: a folder, a Redis server, an S3 bucket. A place is a help and never a need: what does not
//! come in time is not there, what cannot be written is lost, and after some failures in a row the place is left alone for a while. Knows
//! neither what the bytes mean nor whether they can be trusted.

mod breaker;
mod place;

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::TryStreamExt;
use opendal::{ErrorKind, Operator};
use tokio::{
    net::TcpStream,
    runtime::Runtime,
    sync::{OnceCell, Semaphore},
};
use tokio_util::task::TaskTracker;

use breaker::Breaker;
pub use place::PlaceError;

/// One read or write takes no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why something failed.
const LATE: &str = "no answer in time";

/// What is larger is not read, and not written.
pub const MOST_BYTES: u64 = 4 << 20;

/// Reads and writes at one time.
const AT_ONCE: usize = 32;

/// Threads that wait for the network.
const THREADS: usize = 1;

/// Nobody is there if a connection takes longer.
const CONNECTING: Duration = Duration::from_secs(1);

/// A process that ends waits for its last writes while one succeeds every so often,
const QUIET: Duration = Duration::from_millis(500);
/// or, if nothing ever succeeded, until it has tried for so long,
const FIRST_QUIET: Duration = Duration::from_millis(100);
/// and never longer than this.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// A place that others write, too.
pub struct TeamStore {
    runtime: Option<Runtime>,
    inner: Arc<Inner>,
}

struct Inner {
    /// What names the place.
    text: String,
    /// The place, once it is there.
    operator: OnceCell<Operator>,
    /// Objects come in one piece, however long they are.
    is_in_one_piece: bool,
    breaker: Breaker,
    permits: Semaphore,
    /// Reads and writes that are asked for and not yet ended, those that wait for a permit included.
    under_way: TaskTracker,
    /// Reads and writes that succeeded.
    successes: AtomicU64,
    /// Where to knock, for a place of the network.
    endpoint: Option<String>,
    /// Somebody has knocked.
    is_known: OnceCell<()>,
    /// When the first read or write began.
    begun: OnceLock<Instant>,
}

impl TeamStore {
    /// The place that a text names: `redis://host:port/db/prefix`, `rediss://…`, `s3://bucket/prefix`, or a folder. Nothing is read, written
    /// or connected yet: whether the place is there does not matter.
    ///
    /// # Errors
    /// If the text names no place.
    pub fn open(text: &str) -> Result<TeamStore, PlaceError> {
        // Whether a folder is there, whoever needs it first finds out: a share may be mounted later.
        let operator = if place::is_folder(text) { None } else { Some(place::operator(text)?) };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("team-store")
            .enable_all()
            .build()
            .map_err(|error| PlaceError::Threads(error.to_string()))?;
        let (breaker, permits, under_way) = (Breaker::default(), Semaphore::new(AT_ONCE), TaskTracker::new());
        let (endpoint, is_known, begun) = (place::endpoint(text), OnceCell::new(), OnceLock::new());
        let (successes, is_in_one_piece) = (AtomicU64::new(0), place::is_in_one_piece(text));
        let (text, operator) = (text.to_owned(), OnceCell::new_with(operator));
        let inner = Inner {
            text,
            operator,
            is_in_one_piece,
            breaker,
            permits,
            under_way,
            successes,
            endpoint,
            is_known,
            begun,
        };
        Ok(TeamStore { runtime: Some(runtime), inner: Arc::new(inner) })
    }

    /// Reads in the background. `then` hears what is there: `None` if nothing of use is, an error if it did not come.
    pub fn fetch(&self, name: String, then: impl FnOnce(io::Result<Option<Vec<u8>>>) + Send + 'static) {
        let inner = self.inner.clone();
        match &self.runtime {
            Some(runtime) if inner.breaker.is_closed() => {
                let reading = async move { then(inner.read(&name).await) };
                drop(self.inner.under_way.spawn_on(reading, runtime.handle()));
            }
            Some(_) | None => then(Err(inner.away())),
        }
    }

    /// Writes in the background, over what was there.
    pub fn put(&self, name: String, bytes: Vec<u8>) {
        let inner = self.inner.clone();
        let Some(runtime) = &self.runtime else { return };
        if bytes.len() as u64 <= MOST_BYTES && inner.breaker.is_closed() {
            let writing = async move { inner.write(&name, bytes).await };
            drop(self.inner.under_way.spawn_on(writing, runtime.handle()));
        }
    }

    /// Waits until nothing is under way, or the place is of no use.
    pub fn finish(&self) {
        let Some(runtime) = &self.runtime else { return };
        // It is waited for what has begun by now, and it may go on later.
        self.inner.under_way.close();
        // A clock needs a runtime around it.
        let end = async { tokio::time::timeout(LAST_WRITES, self.inner.end()).await };
        let _ = runtime.block_on(end);
        self.inner.under_way.reopen();
    }

    /// What failed last, if nothing has succeeded since.
    pub fn trouble(&self) -> Option<String> {
        self.inner.breaker.trouble()
    }
}

impl Drop for TeamStore {
    fn drop(&mut self) {
        self.finish();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Inner {
    /// Until nothing is under way, or the place is of no use.
    async fn end(&self) {
        let successes = || self.successes.load(Ordering::Relaxed);
        loop {
            let before = successes();
            let tried = self.begun.get().map_or(Duration::ZERO, Instant::elapsed);
            let quiet = if before == 0 { FIRST_QUIET.saturating_sub(tried) } else { QUIET };
            if tokio::time::timeout(quiet, self.under_way.wait()).await.is_ok() || successes() == before {
                return;
            }
        }
    }

    /// The place, if it may be tried. Of a machine that is not there clients are slow to say so, because they try again; so somebody knocks first.
    async fn place(&self) -> Option<&Operator> {
        self.begun.get_or_init(Instant::now);
        let knock = || async {
            let Some(endpoint) = &self.endpoint else { return };
            match tokio::time::timeout(CONNECTING, TcpStream::connect(endpoint)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => self.breaker.is_away(&error.to_string()),
                Err(_) => self.breaker.is_away(LATE),
            }
        };
        self.is_known.get_or_init(knock).await;
        if !self.breaker.is_closed() {
            return None;
        }
        let made = self.operator.get_or_try_init(|| async { place::operator(&self.text) }).await;
        made.inspect_err(|error| self.breaker.is_away(&error.to_string())).ok()
    }

    fn succeeded(&self) {
        self.successes.fetch_add(1, Ordering::Relaxed);
        self.breaker.succeeded();
    }

    /// Why nobody tries.
    fn away(&self) -> io::Error {
        io::Error::other(self.breaker.trouble().unwrap_or_default())
    }

    async fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let _permit = self.permits.acquire().await.map_err(io::Error::other)?;
        let place = self.place().await.ok_or_else(|| self.away())?;
        match tokio::time::timeout(PATIENCE, self.bounded(place, name)).await {
            Ok(Ok(found)) => {
                self.succeeded();
                Ok(found)
            }
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
                self.succeeded();
                Ok(None)
            }
            Ok(Err(error)) => {
                self.breaker.failed(&error.to_string());
                Err(error.into())
            }
            Err(late) => {
                self.breaker.failed(LATE);
                Err(late.into())
            }
        }
    }

    /// An object, `None` if it is too large: nobody reads on then, whatever the place says of its length. A server whose objects come in one piece
    /// is asked for the length first.
    async fn bounded(&self, place: &Operator, name: &str) -> opendal::Result<Option<Vec<u8>>> {
        if self.is_in_one_piece && place.stat(name).await?.content_length() > MOST_BYTES {
            return Ok(None);
        }
        let mut pieces = place.reader(name).await?.into_stream(..).await?;
        let mut all = Vec::new();
        while let Some(piece) = pieces.try_next().await? {
            if (all.len() + piece.len()) as u64 > MOST_BYTES {
                return Ok(None);
            }
            piece.for_each(|part| all.extend_from_slice(&part));
        }
        Ok(Some(all))
    }

    async fn write(&self, name: &str, bytes: Vec<u8>) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let Some(place) = self.place().await else { return };
        match tokio::time::timeout(PATIENCE, whole(place, name, bytes)).await {
            Ok(Ok(())) => self.succeeded(),
            Ok(Err(error)) => self.breaker.failed(&error.to_string()),
            Err(_) => self.breaker.failed(LATE),
        }
    }
}

/// Writes an object. If there is no room for all of it, nothing stays.
async fn whole(place: &Operator, name: &str, bytes: Vec<u8>) -> opendal::Result<()> {
    let mut writer = place.writer(name).await?;
    let written = match writer.write(bytes).await {
        Ok(()) => writer.close().await.map(drop),
        Err(error) => Err(error),
    };
    if written.is_err() {
        // Where nothing was begun nothing can be taken back.
        let _ = writer.abort().await;
    }
    written
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc};

    use super::*;

    /// What is said to be there.
    fn fetched(store: &TeamStore, name: &str) -> io::Result<Option<Vec<u8>>> {
        let (send, receive) = mpsc::channel();
        store.fetch(name.to_owned(), move |found| send.send(found).expect("somebody listens"));
        receive.recv().expect("it is called")
    }

    #[test]
    fn what_is_not_there_and_what_is_too_large_is_nothing_and_what_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TeamStore::open(&folder.path().to_string_lossy()).expect("a place");
        let written = vec![7; MOST_BYTES as usize];
        store.put("whole".to_owned(), written.clone());
        // A machine that is busy writes later than somebody waits who has seen nothing succeed.
        while !store.inner.under_way.is_empty() {
            store.finish();
        }
        fs::write(folder.path().join("large"), vec![7; MOST_BYTES as usize + 1]).expect("a file");
        assert_eq!(fetched(&store, "whole").expect("it comes"), Some(written));
        assert_eq!(fetched(&store, "large").expect("it comes"), None);
        assert_eq!(fetched(&store, "none").expect("it comes"), None);
        assert!(store.trouble().is_none());
        let file = folder.path().join("large");
        for nowhere in ["redis://127.0.0.1:1", &file.to_string_lossy()] {
            let nowhere = TeamStore::open(nowhere).expect("a text that names a place");
            nowhere.put("whole".to_owned(), Vec::new());
            assert!(fetched(&nowhere, "whole").is_err());
            assert!(fetched(&nowhere, "whole").is_err(), "nor is it known later");
            assert!(nowhere.trouble().is_some());
        }
    }
}
