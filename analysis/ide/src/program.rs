//! The program of one file: what people see in it, and from where it is checked.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proofline_verifier::{
    EntryKind, Name, Subject,
    entry_points::{Scope, Whole, entry_points},
    load::LoadError,
    portfolio::panic_text,
    property::Property,
    sources::Sources,
};

use crate::{
    index::Index,
    place::{Place, Range},
    settings::Settings,
};

/// What reading gives: the program, the names of its file, the names of its companions.
pub(crate) type Read = ((Subject, Sources), Index, Vec<Index>);

/// Something wrong with the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Parts of the program may be missing.
    pub is_error: bool,
    /// What, with what to do.
    pub message: String,
    /// Where; `None`: in the file as a whole.
    pub place: Option<Place>,
}

/// A function with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionItem {
    /// Its name, unique in the program.
    pub name: String,
    /// Its name in the definition.
    pub selection: Place,
    /// From the name's line to the closing brace.
    pub range: Range,
}

/// A function that executions start in, with those it decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// The function.
    pub name: String,
    /// What a failure from here means: what fails in a program fails; from a function that unknown code may call with any arguments it may
    /// be the caller's fault.
    pub kind: EntryKind,
    /// Functions whose obligations it decides (itself included).
    pub decides: BTreeSet<String>,
    /// It is judged on its own, although others call it: what is known then is known for all callers. The rest is decided where they are.
    pub is_alone: bool,
}

/// The program of one file.
pub struct Program {
    path: PathBuf,
    code: Option<(Subject, Sources)>,
    /// What is asked of it.
    property: Property,
    index: Index,
    undefined: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
    functions: Vec<FunctionItem>,
    entries: Vec<EntryPoint>,
    /// The numbers of the entries that decide a function.
    deciding: BTreeMap<String, Vec<usize>>,
    problems: Vec<Problem>,
}

impl Program {
    pub(crate) fn new(
        path: &Path,
        companions: &[PathBuf],
        loaded: Result<Result<Read, LoadError>, Box<dyn Any + Send>>,
        settings: &Settings,
    ) -> Program {
        let path = path.to_path_buf();
        let whole = |message| vec![Problem { is_error: true, message, place: None }];
        let nothing = Program {
            path: path.clone(),
            code: None,
            property: settings.property.clone(),
            index: Index::default(),
            undefined: BTreeSet::new(),
            files: BTreeSet::from([path.clone()]),
            functions: Vec::new(),
            entries: Vec::new(),
            deciding: BTreeMap::new(),
            problems: Vec::new(),
        };
        let ((subject, sources), mut index, others) = match loaded {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(error)) => return Program { problems: whole(error.to_string()), ..nothing },
            Err(panic) => {
                let text = panic_text(&*panic);
                let message = format!("internal error while reading this file: {text}");
                return Program { problems: whole(message), ..nothing };
            }
        };
        let undefined = index.undefined();
        for other in others {
            index.add(other);
        }
        let problems = sources
            .problems()
            .iter()
            .map(|problem| Problem {
                is_error: problem.is_error,
                message: match &problem.help {
                    Some(help) => format!("{}\nhelp: {help}", problem.message),
                    None => problem.message.clone(),
                },
                place: problem.position.as_ref().map(Place::of),
            })
            .collect();
        let entries = entries(&subject, &sources, settings, companions);
        Program {
            path,
            files: sources.files(),
            functions: functions(&subject, &sources),
            deciding: deciding(&entries),
            entries,
            problems,
            index,
            undefined,
            code: Some((subject, sources)),
            property: settings.property.clone(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Every file it was made from.
    pub fn files(&self) -> &BTreeSet<PathBuf> {
        &self.files
    }
    /// Functions with bodies, those of headers included, in the order of the text.
    pub fn functions(&self) -> &[FunctionItem] {
        &self.functions
    }
    /// From where it is checked: functions on their own, then `main`, then by name.
    pub fn entries(&self) -> &[EntryPoint] {
        &self.entries
    }
    /// Those of them that decide a function.
    pub fn deciding(&self, function: &str) -> impl Iterator<Item = &EntryPoint> {
        self.deciding.get(function).into_iter().flatten().filter_map(|at| self.entries.get(*at))
    }
    /// What is wrong with the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
    /// Whether parts of it may be missing.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.is_error)
    }
    /// Where names are defined and used.
    pub fn index(&self) -> &Index {
        &self.index
    }
    /// Functions that the file uses and does not define; libraries' are among them.
    pub fn undefined(&self) -> &BTreeSet<String> {
        &self.undefined
    }
    /// Whether linking had to give functions of the file other names.
    pub(crate) fn is_renamed(&self) -> bool {
        let own = |function: &&FunctionItem| *function.selection.path == *self.path;
        self.functions.iter().filter(own).any(|function| function.name.contains(':'))
    }
    /// The program itself.
    pub(crate) fn subject(&self) -> Option<&Subject> {
        self.code.as_ref().map(|(subject, _)| subject)
    }
    /// The program as failures were found in it: what nobody asks about ends no execution.
    pub(crate) fn asked(&self) -> Option<Subject> {
        Some(self.subject()?.for_question(&self.property))
    }
    /// Where its parts are in the text.
    pub(crate) fn sources(&self) -> Option<&Sources> {
        self.code.as_ref().map(|(_, sources)| sources)
    }
    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<&FunctionItem> {
        self.functions.iter().find(|function| function.name == name)
    }
}

fn functions(subject: &Subject, sources: &Sources) -> Vec<FunctionItem> {
    let mut out: Vec<FunctionItem> = subject
        .program()
        .functions
        .keys()
        .filter_map(|&name| {
            let selection = Place::of(&sources.definition(name)?);
            let mut range = selection.range;
            range.start.column = 0;
            if let Some(end) = sources.closing(name).map(|end| Place::of(&end))
                && end.path == selection.path
                && end.range.end > range.end
            {
                range.end = end.range.end;
            }
            Some(FunctionItem { name: name.to_string(), selection, range })
        })
        .collect();
    out.sort_by(|a, b| {
        (&a.selection.path, a.range.start, &a.name).cmp(&(&b.selection.path, b.range.start, &b.name))
    });
    out
}

fn deciding(entries: &[EntryPoint]) -> BTreeMap<String, Vec<usize>> {
    let mut out: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        for function in &entry.decides {
            out.entry(function.clone()).or_default().push(at);
        }
    }
    out
}

/// Where the program of a file is entered: all of its own functions are to be decided.
fn entries(
    subject: &Subject,
    sources: &Sources,
    settings: &Settings,
    companions: &[PathBuf],
) -> Vec<EntryPoint> {
    // Functions of companions are decided where this file's executions reach them, and else where their own file is open.
    let is_own = |name: Name| {
        companions.is_empty()
            || sources
                .definition(name)
                .is_none_or(|at| !companions.contains(&Place::of(&at).path.to_path_buf()))
    };
    let scope = if settings.library { Scope::Library } else { Scope::Everything };
    let points = entry_points(&Whole::new(subject), scope, &is_own);
    let mut inner: BTreeSet<Name> = BTreeSet::new();
    // Whoever names engines asks these alone.
    if settings.engines.is_empty() {
        let of_library = points.iter().filter(|point| point.entry.is_library());
        inner.extend(of_library.flat_map(|point| &point.decides).filter(|name| is_own(**name)));
    }
    for point in &points {
        inner.remove(&point.entry.name);
    }
    let alone = inner.into_iter().map(|name| EntryPoint {
        name: name.to_string(),
        kind: EntryKind::Library,
        decides: BTreeSet::from([name.to_string()]),
        is_alone: true,
    });
    let entry = |point: proofline_verifier::entry_points::EntryPoint| EntryPoint {
        name: point.entry.name.to_string(),
        kind: point.entry.kind,
        decides: point.decides.iter().map(ToString::to_string).collect(),
        is_alone: false,
    };
    alone.chain(points.into_iter().map(entry)).collect()
}
