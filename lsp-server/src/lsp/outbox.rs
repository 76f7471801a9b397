//! What goes to the client. Notifications leave in the order they were given; nothing here waits.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use tokio::{runtime::Handle, sync::mpsc::UnboundedSender};
use tower_lsp_server::{
    Client, jsonrpc,
    ls_types::{MessageType, notification::Notification, request::Request},
};

use super::event::Event;

type Sending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The way to the client.
pub(super) struct Outbox {
    client: Client,
    queue: UnboundedSender<Sending>,
    /// How many notifications the client has not taken.
    waiting: Arc<AtomicUsize>,
    runtime: Handle,
    events: mpsc::Sender<Event>,
}

/// A client that leaves more than so many notifications waiting gets no news until it has taken them, and then the newest.
const BEHIND: usize = 4;

impl Outbox {
    pub(super) fn new(client: Client, runtime: &Handle, events: mpsc::Sender<Event>) -> Outbox {
        let (queue, mut inbox) = tokio::sync::mpsc::unbounded_channel::<Sending>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = waiting.clone();
        runtime.spawn(async move {
            while let Some(sending) = inbox.recv().await {
                sending.await;
                left.fetch_sub(1, Ordering::Relaxed);
            }
        });
        Outbox { client, queue, waiting, runtime: runtime.clone(), events }
    }

    /// The client takes more slowly than it is told.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > BEHIND
    }

    fn push(&self, sending: impl Future<Output = ()> + Send + 'static) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.queue.send(Box::pin(sending));
    }

    /// Sends a notification after those before it.
    pub(super) fn notify<N: Notification>(&self, params: N::Params)
    where
        N::Params: Send + 'static,
    {
        let client = self.client.clone();
        self.push(async move { client.send_notification::<N>(params).await });
    }

    /// A line for the log, and for people if it is an error of ours.
    pub(super) fn log(&self, kind: MessageType, text: String) {
        let client = self.client.clone();
        self.push(async move { client.log_message(kind, text).await });
    }

    /// A message for people.
    pub(super) fn show(&self, kind: MessageType, text: String) {
        let client = self.client.clone();
        self.push(async move { client.show_message(kind, text).await });
    }

    /// Asks the client; the answer may become an event.
    pub(super) fn request<R: Request>(
        &self,
        params: R::Params,
        then: impl FnOnce(jsonrpc::Result<R::Result>) -> Option<Event> + Send + 'static,
    ) where
        R::Params: Send + 'static,
        R::Result: Send + 'static,
    {
        let client = self.client.clone();
        let events = self.events.clone();
        self.runtime.spawn(async move {
            if let Some(event) = then(client.send_request::<R>(params).await) {
                let _ = events.send(event);
            }
        });
    }
}
