//! Keeps the questions whose answer "unsatisfiable" a proof rests on, as SMT-LIB text that another solver can be asked. Nothing is kept unless
//! a folder is named. Knows no proofs: who certifies one says which questions these are.

use std::{
    cell::Cell,
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use parking_lot::Mutex;

use crate::{smtlib::Script, term::Term};

struct Kept {
    folder: PathBuf,
    /// Each is written once.
    formulas: Mutex<HashSet<Term>>,
}

static KEPT: OnceLock<Kept> = OnceLock::new();

thread_local! {
    static CERTIFIES: Cell<bool> = const { Cell::new(false) };
}

/// From now on they are kept in this folder, until the process ends.
///
/// # Errors
/// If there is no such folder and none can be made.
pub fn keep_in(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let _ = KEPT.set(Kept { folder: folder.to_path_buf(), formulas: Mutex::default() });
    Ok(())
}

/// Does work on this thread that certifies a proof.
pub fn certifying<R>(work: impl FnOnce() -> R) -> R {
    let before = CERTIFIES.replace(true);
    let result = work();
    CERTIFIES.set(before);
    result
}

/// Whether the work on this thread certifies a proof, and its questions are kept.
#[must_use]
pub fn is_kept() -> bool {
    CERTIFIES.get() && KEPT.get().is_some()
}

/// A proof rests on this formula having no model. What the terms' own rules make `false` is no question. (A file that cannot be written is missing, which whoever reads the folder counts.)
pub fn rests_on(formula: Term) {
    let Some(kept) = KEPT.get().filter(|_| CERTIFIES.get() && !formula.is_false()) else { return };
    let mut formulas = kept.formulas.lock();
    if !formulas.insert(formula) {
        return;
    }
    let mut script = Script::new();
    script.line("(set-logic ALL)");
    script.line("(set-info :status unsat)");
    script.assert(formula);
    script.line("(check-sat)");
    let file = kept.folder.join(format!("{:06}.smt2", formulas.len()));
    let _ = fs::write(file, script.text());
}
