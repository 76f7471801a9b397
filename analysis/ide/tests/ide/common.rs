//! What the tests share: files that are open, edited and verified as a server does it, in one thread.

use std::{path::PathBuf, sync::Arc};

use proofline_ide::{AnalysisHost, Cancel, Change, Edit, Effort, FileResults, Point};

/// A file that is open, with the host that it is open in.
pub(crate) struct Session {
    host: AnalysisHost,
    /// What is known.
    pub(crate) file: FileResults,
}

/// A path that no file has.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from("/proofline-test").join(name)
}

impl Session {
    /// Opens a text, and verifies nothing.
    pub(crate) fn open(name: &str, text: &str) -> Session {
        let file = FileResults::new(path(name), text.into());
        let mut session = Session { host: AnalysisHost::default(), file };
        session.text_changed();
        session
    }

    /// Opens a text and finds out everything about it.
    pub(crate) fn verified(name: &str, text: &str) -> Session {
        let mut session = Session::open(name, text);
        session.verify(true);
        session
    }

    fn text_changed(&mut self) {
        let texts = vec![(self.file.path().to_path_buf(), Some(self.file.text().clone()))];
        self.host.apply(Change { texts, ..Change::default() });
    }

    /// Replaces the first occurrence of `old`; what the two end with alike is not touched.
    pub(crate) fn replace(&mut self, old: &str, new: &str) {
        let text = self.file.text().clone();
        let at = text.find(old).expect("the text has it");
        let changed = text.replacen(old, new, 1);
        let same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
        let edit = Edit {
            start: point(&text, at),
            old_end: point(&text, at + old.len() - same),
            new_end: point(&changed, at + new.len() - same),
        };
        self.file.edit(&[edit], changed.into());
        self.text_changed();
    }

    /// Reads the text; whether it is to be verified.
    pub(crate) fn load(&mut self) -> bool {
        let analysis = self.host.analysis(self.file.path());
        let program = analysis.program(&Cancel::default()).expect("nobody stops it");
        self.file.loaded(program)
    }

    /// Reads the text and verifies it with little effort, for good or until more effort is spent.
    pub(crate) fn verify(&mut self, is_final: bool) {
        if !self.load() {
            return;
        }
        let analysis = self.host.analysis(self.file.path());
        let cancel = Cancel::default();
        let entries: Vec<String> = self.file.entries().iter().map(|entry| entry.name.clone()).collect();
        for entry in entries {
            let report = analysis.verify(&entry, &Effort::quick(20_000), &cancel, Arc::new(|_| ()));
            self.file.verified(report.expect("nobody stops it"), is_final);
        }
        let knowledge = analysis.knowledge(&cancel).expect("nobody stops it");
        self.file.known(Arc::new(knowledge));
    }

    /// Where the first occurrence of a text is.
    pub(crate) fn at(&self, text: &str) -> Point {
        point(self.file.text(), self.file.text().find(text).expect("the text has it"))
    }
}

/// The point of an offset.
pub(crate) fn point(text: &str, offset: usize) -> Point {
    let before = &text[..offset];
    let line = before.matches('\n').count() as u32;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Point { line, column: (offset - start) as u32 }
}
