//! Bytes by name in a place that a team shares: a folder, a Redis server, an S3 bucket. A place is a help and never a need: what does not
//! come in time is not there, what cannot be written is lost, and after some failures in a row the place is left alone for a while. Knows
//! neither what the bytes mean nor whether they can be trusted.

mod breaker;
mod place;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use opendal::{ErrorKind, Operator};
use tokio::{
    net::TcpStream,
    runtime::Runtime,
    sync::{OnceCell, Semaphore},
};

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
    operator: Operator,
    breaker: Breaker,
    permits: Semaphore,
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
    /// or connected yet.
    ///
    /// # Errors
    /// If the text names no place.
    pub fn open(text: &str) -> Result<TeamStore, PlaceError> {
        let operator = place::operator(text)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("team-store")
            .enable_all()
            .build()
            .map_err(|error| PlaceError::Threads(error.to_string()))?;
        let (breaker, permits) = (Breaker::default(), Semaphore::new(AT_ONCE));
        let (endpoint, is_known, begun) = (place::endpoint(text), OnceCell::new(), OnceLock::new());
        let successes = AtomicU64::new(0);
        let inner = Inner { operator, breaker, permits, successes, endpoint, is_known, begun };
        Ok(TeamStore { runtime: Some(runtime), inner: Arc::new(inner) })
    }

    /// Reads in the background. `then` hears what is there: `None` if there is nothing, or if it did not come.
    pub fn fetch(&self, name: String, then: impl FnOnce(Option<Vec<u8>>) + Send + 'static) {
        let inner = self.inner.clone();
        match &self.runtime {
            Some(runtime) if inner.breaker.is_closed() => {
                drop(runtime.spawn(async move { then(inner.read(&name).await) }));
            }
            Some(_) | None => then(None),
        }
    }

    /// Writes in the background, over what was there.
    pub fn put(&self, name: String, bytes: Vec<u8>) {
        let inner = self.inner.clone();
        let Some(runtime) = &self.runtime else { return };
        if bytes.len() as u64 <= MOST_BYTES && inner.breaker.is_closed() {
            drop(runtime.spawn(async move { inner.write(&name, bytes).await }));
        }
    }

    /// Waits until nothing is under way, or the place is of no use.
    pub fn finish(&self) {
        let Some(runtime) = &self.runtime else { return };
        // A clock needs a runtime around it.
        let end = async { tokio::time::timeout(LAST_WRITES, self.inner.end()).await };
        let _ = runtime.block_on(end);
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
            // All permits are free when nothing is under way. Whoever asks for all waits behind those who asked before.
            let all = self.permits.acquire_many(AT_ONCE as u32);
            if tokio::time::timeout(quiet, all).await.is_ok() || successes() == before {
                return;
            }
        }
    }

    /// Whether it may be tried. Of a machine that is not there clients are slow to say so, because they try again; so somebody knocks first.
    async fn is_there(&self) -> bool {
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
        self.breaker.is_closed()
    }

    fn succeeded(&self) {
        self.successes.fetch_add(1, Ordering::Relaxed);
        self.breaker.succeeded();
    }

    async fn read(&self, name: &str) -> Option<Vec<u8>> {
        let _permit = self.permits.acquire().await.ok()?;
        if !self.is_there().await {
            return None;
        }
        let read = async {
            let size = self.operator.stat(name).await?.content_length();
            match size > MOST_BYTES {
                true => Ok(None),
                false => self.operator.read(name).await.map(|buffer| Some(buffer.to_vec())),
            }
        };
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(found)) => {
                self.succeeded();
                found
            }
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
                self.succeeded();
                None
            }
            Ok(Err(error)) => {
                self.breaker.failed(&error.to_string());
                None
            }
            Err(_) => {
                self.breaker.failed(LATE);
                None
            }
        }
    }

    async fn write(&self, name: &str, bytes: Vec<u8>) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        if !self.is_there().await {
            return;
        }
        match tokio::time::timeout(PATIENCE, self.operator.write(name, bytes)).await {
            Ok(Ok(_)) => self.succeeded(),
            Ok(Err(error)) => self.breaker.failed(&error.to_string()),
            Err(_) => self.breaker.failed(LATE),
        }
    }
}
