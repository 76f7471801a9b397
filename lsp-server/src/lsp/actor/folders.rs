//! The folders that are open and the C files in them: looked at when a file uses what it does not define, or at a search.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_ide::{Cancellable, Change, Workspace};
use tower_lsp_server::ls_types::*;

use super::{Actor, path_of};
use crate::lsp::jobs::{Linked, Task};

/// Where the C files are, and what is known of them.
#[derive(Default)]
pub(in super::super) struct Folders {
    roots: Vec<PathBuf>,
    known: Option<Arc<Workspace>>,
    /// The look is under way.
    is_looking: bool,
    /// Something changed since they were looked at.
    is_old: bool,
}

impl Folders {
    /// The folders that the client has open.
    pub(super) fn open(&mut self, params: &InitializeParams) {
        let folders = params.workspace_folders.iter().flatten().map(|folder| &folder.uri);
        self.roots = folders.filter_map(path_of).collect();
        #[expect(deprecated, reason = "clients without folders still send it")]
        let root = params.root_uri.as_ref();
        if self.roots.is_empty() {
            self.roots.extend(root.and_then(path_of));
        }
    }

    /// The folders that are open.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The innermost open folder that a file is in.
    pub(super) fn around(&self, path: &Path) -> Option<&Path> {
        let around = self.roots.iter().filter(|root| path.starts_with(root));
        around.max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    /// A look that was to come, or is under way, is none any more.
    pub(super) fn forget_look(&mut self) {
        self.is_old |= self.is_looking;
        self.is_looking = false;
    }

    /// What was seen.
    pub(in super::super) fn known(&self) -> Option<&Workspace> {
        self.known.as_deref()
    }
}

impl Actor {
    /// The job that reads a buffer.
    pub(super) fn reading(&self, linked: &Linked, is_urgent: bool) -> Task {
        Task::Load { workspace: self.folders.known.clone(), linked: linked.clone(), is_urgent }
    }

    /// Looks at the C files, unless that was done or is being done.
    pub(in super::super) fn look(&mut self) {
        let is_needed = self.folders.known.is_none() || self.folders.is_old;
        if self.folders.roots.is_empty() || self.folders.is_looking || !is_needed {
            return;
        }
        (self.folders.is_looking, self.folders.is_old) = (true, false);
        let (roots, before) = (self.folders.roots.clone(), self.folders.known.clone());
        // A name is relative to the first folder that has it.
        let full = |file: &PathBuf| roots.iter().map(|root| root.join(file)).find(|file| file.exists());
        let program = self.settings.program_files.iter().filter_map(full).collect();
        let project = self.project_file.clone();
        self.jobs.push(Path::new(""), 0, Task::Look { roots, program, project, before }, 0);
    }

    /// They were looked at: files that use what others define are read again.
    pub(super) fn looked(&mut self, outcome: Cancellable<Arc<Workspace>>) {
        self.folders.is_looking = false;
        let Ok(known) = outcome else {
            self.folders.is_old = true;
            return;
        };
        self.folders.known = Some(known);
        for document in self.documents.values_mut() {
            document.linked = None;
        }
        let uses = |document: &super::Document| {
            document.results.program().is_some_and(|program| !program.undefined().is_empty())
        };
        let users: Vec<PathBuf> =
            self.documents.values().filter(|document| uses(document)).map(|d| d.path.clone()).collect();
        for path in users {
            // Nothing is forgotten: if its program stays as it is, so do its answers.
            if let Some(document) = self.documents.get(&path) {
                let task = self.reading(&None, false);
                self.jobs.push(&path, document.revision, task, 0);
            }
        }
        if self.folders.is_old {
            self.look();
        }
    }

    /// What a buffer's program consists of. Whether that is news, so that it has to be read again.
    pub(super) fn link(&mut self, path: &Path, linked: Linked) -> bool {
        let Some((undefined, companions)) = linked else { return false };
        let Some(document) = self.documents.get_mut(path) else { return false };
        let is_news = document.companions != companions;
        document.companions.clone_from(&companions);
        document.linked = Some((undefined, companions.clone()));
        if is_news {
            let companions = vec![(path.to_path_buf(), companions)];
            self.host.apply(Change { companions, ..Change::default() });
            self.touch(path);
        }
        is_news
    }

    pub(super) fn folders_changed(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        let removed: Vec<PathBuf> = params.event.removed.iter().filter_map(|f| path_of(&f.uri)).collect();
        self.folders.roots.retain(|root| !removed.contains(root));
        self.folders.roots.extend(params.event.added.iter().filter_map(|f| path_of(&f.uri)));
        self.watch();
        self.sources_changed();
    }

    /// C files came, went or changed.
    pub(super) fn sources_changed(&mut self) {
        if self.folders.known.is_some() || self.folders.is_looking {
            self.folders.is_old = true;
            self.look();
        }
    }
}
