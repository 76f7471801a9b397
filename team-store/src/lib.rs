//! Bytes by name in a place that a team shares: a folder, a Redis server, an S3 bucket. A place is a help and never a need: what does not
//! come in time is not there, what cannot be written is lost, and after some failures in a row the place is left alone for a while. Knows
//! neither what the bytes mean nor whether they can be trusted.

mod breaker;
mod place;

use std::{sync::Arc, time::Duration};

use opendal::{ErrorKind, Operator};
use tokio::{runtime::Runtime, sync::Semaphore};

use breaker::Breaker;
pub use place::PlaceError;

/// One read or write takes no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is larger is not read, and not written.
pub const MOST_BYTES: u64 = 4 << 20;

/// Reads and writes at one time.
const AT_ONCE: usize = 32;

/// Threads that wait for the network.
const THREADS: usize = 1;

/// How long a process that ends waits for its last writes.
const LAST_WRITES: Duration = Duration::from_secs(3);

/// A place that others write, too.
pub struct TeamStore {
    runtime: Option<Runtime>,
    inner: Arc<Inner>,
}

struct Inner {
    operator: Operator,
    breaker: Breaker,
    permits: Semaphore,
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
        let inner = Inner { operator, breaker: Breaker::default(), permits: Semaphore::new(AT_ONCE) };
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

    /// What failed last, if nothing has succeeded since.
    pub fn trouble(&self) -> Option<String> {
        self.inner.breaker.trouble()
    }
}

impl Drop for TeamStore {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // All permits are free when nothing is under way.
        let inner = self.inner.clone();
        let all = async move { drop(inner.permits.acquire_many(AT_ONCE as u32).await) };
        let _ = runtime.block_on(async { tokio::time::timeout(LAST_WRITES, all).await });
        runtime.shutdown_background();
    }
}

impl Inner {
    async fn read(&self, name: &str) -> Option<Vec<u8>> {
        let _permit = self.permits.acquire().await.ok()?;
        if !self.breaker.is_closed() {
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
                self.breaker.succeeded();
                found
            }
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
                self.breaker.succeeded();
                None
            }
            Ok(Err(error)) => {
                self.breaker.failed(&error.to_string());
                None
            }
            Err(_) => {
                self.breaker.failed("no answer in time");
                None
            }
        }
    }

    async fn write(&self, name: &str, bytes: Vec<u8>) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        if !self.breaker.is_closed() {
            return;
        }
        match tokio::time::timeout(PATIENCE, self.operator.write(name, bytes)).await {
            Ok(Ok(_)) => self.breaker.succeeded(),
            Ok(Err(error)) => self.breaker.failed(&error.to_string()),
            Err(_) => self.breaker.failed("no answer in time"),
        }
    }
}
