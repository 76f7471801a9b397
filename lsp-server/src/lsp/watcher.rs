//! Files of the open folders that change on the disk, for clients that do not watch them: the system tells, nobody polls.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use notify::{
    EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{ModifyKind, RemoveKind, RenameMode},
};
use tower_lsp_server::ls_types::{DidChangeWatchedFilesParams, FileChangeType, FileEvent, Uri};

use super::event::Event;
use crate::project_file;

/// What changes together is told together: when nothing has changed for so long, but not later than that.
const QUIET: Duration = Duration::from_millis(50);
const LATEST: Duration = Duration::from_secs(1);

/// What the thread hears.
enum Message {
    /// These folders are open now.
    Folders(Vec<PathBuf>),
    /// The system tells.
    Changed(notify::Result<notify::Event>),
    End,
}

/// A thread that tells the actor. It ends with this.
pub(super) struct Watcher(Sender<Message>);

impl Watcher {
    /// Nothing is watched yet.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(events: Sender<Event>) -> std::io::Result<Watcher> {
        let (sender, inbox) = channel();
        let own = sender.clone();
        thread::Builder::new().name("watcher".into()).spawn(move || watch(own, &inbox, &events))?;
        Ok(Watcher(sender))
    }

    /// Watches these folders, and no others.
    pub(super) fn watch(&self, folders: &[PathBuf]) {
        let _ = self.0.send(Message::Folders(folders.to_vec()));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.send(Message::End);
    }
}

fn watch(own: Sender<Message>, inbox: &Receiver<Message>, events: &Sender<Event>) {
    let log = |what: &dyn std::fmt::Display| {
        let text = format!("changes of files on the disk may go unnoticed until they are opened: {what}");
        let _ = events.send(Event::Warning(text));
    };
    let tell = move |event| drop(own.send(Message::Changed(event)));
    let mut watcher = match notify::recommended_watcher(tell) {
        Ok(watcher) => watcher,
        Err(error) => return log(&error),
    };
    let mut watched: Vec<PathBuf> = Vec::new();
    while let Ok(message) = inbox.recv() {
        let mut told = Vec::new();
        let latest = Instant::now() + LATEST;
        let mut next = Ok(message);
        while let Ok(message) = next {
            match message {
                Message::End => return,
                Message::Folders(folders) => watched = follow(&mut watcher, &watched, folders, &log),
                Message::Changed(Ok(event)) => told.push(event),
                Message::Changed(Err(error)) => log(&error),
            }
            let left = latest.saturating_duration_since(Instant::now());
            next = if left.is_zero() {
                Err(RecvTimeoutError::Timeout)
            } else {
                inbox.recv_timeout(QUIET.min(left))
            };
        }
        // Not before everything is quiet: what came into a folder that is new may not have been watched.
        let mut changes: Vec<FileEvent> = told.iter().flat_map(|event| changes_of(event, &watched)).collect();
        changes.dedup();
        if !changes.is_empty()
            && events.send(Event::FilesChanged(DidChangeWatchedFilesParams { changes })).is_err()
        {
            return;
        }
    }
}

/// Watches other folders than before. Those that are watched now.
fn follow(
    watcher: &mut RecommendedWatcher,
    before: &[PathBuf],
    folders: Vec<PathBuf>,
    log: &dyn Fn(&dyn std::fmt::Display),
) -> Vec<PathBuf> {
    for folder in before.iter().filter(|folder| !folders.contains(folder)) {
        let _ = watcher.unwatch(folder);
    }
    for folder in folders.iter().filter(|folder| !before.contains(folder)) {
        if let Err(error) = watcher.watch(folder, RecursiveMode::Recursive) {
            log(&error);
        }
    }
    folders
}

/// What a client that watches would tell, and whole folders that came or went.
fn changes_of(event: &notify::Event, watched: &[PathBuf]) -> Vec<FileEvent> {
    let change = |path: &PathBuf, typ| Some(FileEvent { uri: Uri::from_file_path(path)?, typ });
    if event.need_rescan() {
        // Something was lost: anything may be another one now.
        return watched.iter().filter_map(|folder| change(folder, FileChangeType::CREATED)).collect();
    }
    let seen = event.paths.iter().filter(|path| !is_hidden(path, watched));
    let told = |path: &PathBuf, typ| change(path, typ).filter(|_| is_read(path));
    match event.kind {
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
            seen.filter_map(|path| told(path, FileChangeType::CREATED).or_else(|| came(path))).collect()
        }
        EventKind::Remove(RemoveKind::File) => {
            seen.filter_map(|path| told(path, FileChangeType::DELETED)).collect()
        }
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            // What is gone and has no ending may have been a folder.
            let is_gone = |path: &&PathBuf| is_read(path) || path.extension().is_none();
            seen.filter(is_gone).filter_map(|path| change(path, FileChangeType::DELETED)).collect()
        }
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Any) => {
            seen.filter_map(|path| told(path, FileChangeType::CHANGED)).collect()
        }
        // Both ends of a move are told apart, too.
        EventKind::Modify(_) | EventKind::Access(_) | EventKind::Any | EventKind::Other => Vec::new(),
    }
}

/// A folder that came, with files of any kind in it.
fn came(path: &Path) -> Option<FileEvent> {
    let has_files = std::fs::read_dir(path).ok()?.next().is_some();
    let uri = Uri::from_file_path(path).filter(|_| has_files)?;
    Some(FileEvent { uri, typ: FileChangeType::CREATED })
}

/// Whether something in a program may depend on a file of this name.
fn is_read(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    matches!(name, "compile_commands.json" | "compile_flags.txt" | project_file::NAME)
        || path.extension().is_some_and(|ending| ending == "c" || ending == "h" || ending == "monitor")
}

/// What version control and tools keep for themselves.
fn is_hidden(path: &Path, watched: &[PathBuf]) -> bool {
    let root = watched.iter().find(|root| path.starts_with(root));
    let inside = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    inside.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
}
