//! Queries per file: from its text to automata without positions, and the positions beside them.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use proofline_cfa_build::{Unit, UnitMap};
use proofline_syntax::{FoundFlags, flags_for};
use proofline_verifier::{
    Name,
    load::{self, Fault, LoadError, Options, Source},
};

use crate::{files::Reader, shared::Db, work::Work};

/// What is verified: the files of one program, and how to read them.
#[salsa::input]
pub(crate) struct Project {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) options: Options,
}

/// A file's name.
#[salsa::interned]
pub(crate) struct FileName<'db> {
    pub(crate) path: PathBuf,
}

/// A file's own flags. A compilation database can be longer than all the files of a program: it is not read again when a file changes.
#[salsa::tracked]
fn own_flags<'db>(db: &'db dyn Db, file: FileName<'db>) -> Arc<FoundFlags> {
    let reader = Reader::new(&db.shared().files);
    let found = flags_for(file.path(db), &reader);
    reader.depend(db);
    Arc::new(found)
}

/// A file, read.
#[salsa::tracked(no_eq)]
pub(crate) fn source<'db>(
    db: &'db dyn Db,
    project: Project,
    file: FileName<'db>,
) -> Result<Arc<Source>, LoadError> {
    let path: &Path = file.path(db);
    db.shared().log(Work::Read(path.to_owned()));
    let reader = Reader::new(&db.shared().files);
    let own = FoundFlags::clone(own_flags(db, file));
    let older = db.shared().parsed.lock().get(path).and_then(Weak::upgrade);
    let source = load::read_with(path, own, project.options(db), &reader, older.as_deref());
    reader.depend(db);
    if let Ok(source) = &source {
        db.shared().parsed.lock().insert(path.to_owned(), Arc::downgrade(&source.unit));
    }
    source.map(Arc::new)
}

/// Where the errors of a file stand: in the body of this function, or (`None`) where everything may depend on it.
#[salsa::tracked]
pub(crate) fn errors_of<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Vec<Option<Name>> {
    let source = source(db, project, file).as_ref();
    source.map(|source| source.faults.iter().filter_map(Fault::error).collect()).unwrap_or_default()
}

/// Where errors stand.
#[salsa::tracked]
pub(crate) fn errors(db: &dyn Db, project: Project) -> Vec<Option<Name>> {
    files(db, project).into_iter().flat_map(|file| errors_of(db, project, file).clone()).collect()
}

/// A file's automata, with positions beside them.
#[salsa::tracked(no_eq)]
fn lowered<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Option<(Arc<Unit>, Arc<UnitMap>)> {
    let source = source(db, project, file).as_ref().ok()?;
    let (unit, map) = proofline_cfa_build::lower(&source.module, &source.map);
    Some((Arc::new(unit), Arc::new(map)))
}

/// A file's automata. Stays as it is when only positions change.
#[salsa::tracked]
pub(crate) fn automata<'db>(db: &'db dyn Db, project: Project, file: FileName<'db>) -> Option<Arc<Unit>> {
    lowered(db, project, file).as_ref().map(|(unit, _)| unit.clone())
}

/// Where a file's automata are in the text.
#[salsa::tracked(no_eq)]
pub(crate) fn unit_positions<'db>(
    db: &'db dyn Db,
    project: Project,
    file: FileName<'db>,
) -> Option<Arc<UnitMap>> {
    lowered(db, project, file).as_ref().map(|(_, map)| map.clone())
}

/// The files of the project, by name.
pub(crate) fn files<'db>(db: &'db dyn Db, project: Project) -> Vec<FileName<'db>> {
    project.files(db).iter().map(|path| FileName::new(db, path.clone())).collect()
}
