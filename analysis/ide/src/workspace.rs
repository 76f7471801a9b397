//! The C files of the folders that are open, at a glance: which file defines a function that another one only declares. Read from disk, in the
//! background and not before the first question; files that did not change are not read again.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use proofline_syntax::{RealFs, database_files};
use proofline_verifier::Cancel;

use crate::{
    cancel::{Cancellable, Cancelled},
    place::{Place, Point, Range},
    scan::{Glimpse, glance},
};

/// Files that are looked at.
const MOST_FILES: usize = 50_000;
/// Bytes of a file that is looked at.
const LARGEST: u64 = 16 << 20;
/// Files that are linked with one.
const MOST_COMPANIONS: usize = 24;
/// Folders without sources of the project.
const SKIPPED: &[&str] = &["node_modules", "target", "__pycache__"];

/// When a file was changed, and how many bytes it has.
type Stamp = (Option<SystemTime>, u64);

/// A file as it was when it was looked at.
struct Seen {
    stamp: Stamp,
    found: Arc<[Glimpse]>,
}

/// What the files of a workspace define.
#[derive(Default)]
pub struct Workspace {
    files: BTreeMap<PathBuf, Seen>,
    /// Files that define a function that others can name.
    definitions: BTreeMap<Box<str>, Vec<PathBuf>>,
    /// Files that call a function.
    callers: BTreeMap<Box<str>, Vec<PathBuf>>,
    /// Files that make one program, of each program that somebody has named.
    programs: Vec<BTreeSet<PathBuf>>,
    /// Files with functions that stand for such as are not there.
    models: BTreeSet<PathBuf>,
    /// The C files of compilation databases.
    databases: BTreeMap<PathBuf, (Stamp, Arc<[PathBuf]>)>,
}

/// A function that is defined or called somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sighting {
    /// The function that is defined, or that calls.
    pub name: String,
    /// Its name in its definition.
    pub place: Place,
    /// Of a call: the callee's name there.
    pub call: Option<Place>,
}

/// What people have said of the files of a workspace.
pub struct NamedFiles<'n> {
    /// These make one program; a `.json` is a compilation database and stands for its C files.
    pub program: &'n [PathBuf],
    /// Further programs, made of these files.
    pub programs: &'n dyn Fn(&BTreeSet<PathBuf>) -> Vec<BTreeSet<PathBuf>>,
    /// Files with functions that stand for such as are not there.
    pub models: &'n [PathBuf],
}

impl Workspace {
    /// Looks at every C file under the roots. What `before` knows of files that did not change is taken over.
    ///
    /// # Errors
    /// [`Cancelled`] if the work was cancelled.
    pub fn look(
        roots: &[PathBuf],
        named: &NamedFiles<'_>,
        before: Option<&Workspace>,
        cancel: &Cancel,
    ) -> Cancellable<Workspace> {
        let mut out = Workspace::default();
        out.named_program(named.program, before);
        let mut folders: Vec<PathBuf> = roots.to_vec();
        let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if cancel.is_cancelled() {
                    return Err(Cancelled);
                }
                let name = entry.file_name();
                let name = name.to_string_lossy();
                // Links are not followed: they may form circles.
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
                    folders.push(entry.path());
                } else if kind.is_file() && name.ends_with(".c") && out.files.len() < MOST_FILES {
                    out.file(&entry.path(), before);
                }
            }
        }
        for model in named.models {
            out.file(model, before);
            out.models.insert(model.clone());
        }
        out.programs.extend((named.programs)(&out.files.keys().cloned().collect()));
        out.tabulate();
        Ok(out)
    }

    fn file(&mut self, path: &Path, before: Option<&Workspace>) {
        let Ok(about) = std::fs::metadata(path) else { return };
        if !about.is_file() || about.len() > LARGEST {
            return;
        }
        let stamp = (about.modified().ok(), about.len());
        let known = before.and_then(|before| before.files.get(path)).filter(|seen| seen.stamp == stamp);
        let found = match known {
            Some(seen) => seen.found.clone(),
            None => match std::fs::read(path) {
                Ok(text) => glance(&text).into(),
                Err(_) => return,
            },
        };
        self.files.insert(path.to_path_buf(), Seen { stamp, found });
    }

    fn tabulate(&mut self) {
        for (path, seen) in &self.files {
            for function in &*seen.found {
                if !function.is_static {
                    let all = self.definitions.entry(function.name.clone()).or_default();
                    if all.last() != Some(path) {
                        all.push(path.clone());
                    }
                }
                for (callee, _) in &function.calls {
                    let all = self.callers.entry(callee.clone()).or_default();
                    if all.last() != Some(path) {
                        all.push(path.clone());
                    }
                }
            }
        }
        // Names that are called everywhere and defined nowhere here are of no interest.
        let definitions = &self.definitions;
        self.callers.retain(|name, _| definitions.contains_key(name));
    }

    /// How many files were looked at.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Where functions of this name are defined that other files can name.
    pub fn definitions(&self, name: &str) -> Vec<Sighting> {
        let mut out = Vec::new();
        for path in self.definitions.get(name).into_iter().flatten() {
            let found = self.files.get(path).into_iter().flat_map(|seen| &*seen.found);
            let own = found.filter(|function| &*function.name == name && !function.is_static);
            out.extend(own.map(|function| sighting(path, function)));
        }
        out
    }

    /// Functions of files other than these that call a function.
    pub fn callers(&self, name: &str, except: &BTreeSet<PathBuf>) -> Vec<Sighting> {
        let mut out = Vec::new();
        for path in self.callers.get(name).into_iter().flatten().filter(|path| !except.contains(*path)) {
            for function in self.files.get(path).into_iter().flat_map(|seen| &*seen.found) {
                if let Some((callee, at)) = function.calls.iter().find(|(callee, _)| **callee == *name) {
                    let call = Some(named(path, callee, *at));
                    out.push(Sighting { call, ..sighting(path, function) });
                }
            }
        }
        out
    }

    /// Functions whose name the filter accepts, at most so many.
    pub fn matching(&self, most: usize, filter: impl Fn(&str) -> bool) -> Vec<Sighting> {
        let names = self.definitions.keys().filter(|name| filter(name));
        names.flat_map(|name| self.definitions(name)).take(most).collect()
    }

    /// The files of one program, with those of compilation databases. A database is not read again before it changes.
    fn named_program(&mut self, named: &[PathBuf], before: Option<&Workspace>) {
        let mut program = BTreeSet::new();
        for path in named {
            if path.extension().is_none_or(|extension| extension != "json") {
                program.insert(path.clone());
                continue;
            }
            let stamp =
                std::fs::metadata(path).map_or((None, 0), |about| (about.modified().ok(), about.len()));
            let known = before.and_then(|before| before.databases.get(path)).filter(|known| known.0 == stamp);
            let files = known.map_or_else(|| database_files(path, &RealFs).into(), |known| known.1.clone());
            program.extend(files.iter().cloned());
            self.databases.insert(path.clone(), (stamp, files));
        }
        self.programs.push(program);
    }

    /// The files that define what the file leaves undefined, and what they leave undefined: the rest of its program. Only files of the
    /// first program count that somebody has named and that has the file, and then models; and only names that exactly one of them defines.
    pub fn companions(&self, file: &Path, undefined: &BTreeSet<String>) -> Vec<PathBuf> {
        let nothing = BTreeSet::new();
        let program = self.programs.iter().find(|program| program.contains(file)).unwrap_or(&nothing);
        if program.is_empty() && self.models.is_empty() {
            return Vec::new();
        }
        let mut out: Vec<PathBuf> = Vec::new();
        let mut open: Vec<&str> = undefined.iter().map(String::as_str).collect();
        let mut seen: BTreeSet<&str> = open.iter().copied().collect();
        let has_main = |path: &Path| self.defines(path, "main");
        let mut mains = usize::from(has_main(file));
        while let Some(name) = open.pop() {
            let defining: &[PathBuf] = self.definitions.get(name).map_or(&[], Vec::as_slice);
            let of = |files: &BTreeSet<PathBuf>| -> Vec<&PathBuf> {
                defining.iter().filter(|path| files.contains(*path)).collect()
            };
            let found = Some(of(program)).filter(|own| !own.is_empty()).unwrap_or_else(|| of(&self.models));
            let [path] = found[..] else { continue };
            if path == file || out.contains(path) || out.len() >= MOST_COMPANIONS {
                continue;
            }
            // Two programs cannot be one.
            if has_main(path) {
                if mains > 0 {
                    continue;
                }
                mains += 1;
            }
            out.push(path.clone());
            for function in self.files.get(path).into_iter().flat_map(|seen| &*seen.found) {
                for (callee, _) in &function.calls {
                    if seen.insert(callee) {
                        open.push(callee);
                    }
                }
            }
        }
        out.sort();
        out
    }

    fn defines(&self, path: &Path, name: &str) -> bool {
        self.definitions.get(name).is_some_and(|paths| paths.iter().any(|known| known == path))
    }
}

fn sighting(path: &Path, function: &Glimpse) -> Sighting {
    Sighting { name: function.name.to_string(), place: named(path, &function.name, function.at), call: None }
}

fn named(path: &Path, name: &str, start: Point) -> Place {
    let end = Point { column: start.column + name.len() as u32, ..start };
    Place { path: path.into(), range: Range { start, end } }
}
