//! The program of one file: what people see in it, and from where it is checked.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proofline_verifier::{
    Name,
    load::{LoadError, Loaded},
};

use crate::{
    index::Index,
    place::{Place, Range},
    settings::Settings,
};

/// What reading gives: the program, the names of its file, the names of its companions.
pub(crate) type Read = (Loaded, Index, Vec<Index>);

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

/// Where executions start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// `main`: what fails from here fails.
    Main,
    /// A function that anybody may call with any arguments: what fails from here may be the caller's fault.
    Library,
}

/// A function that executions start in, with those it decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The function.
    pub name: String,
    /// What a failure from here means.
    pub role: Role,
    /// Functions whose obligations it decides (itself included).
    pub decides: BTreeSet<String>,
}

/// The program of one file.
pub struct Program {
    path: PathBuf,
    loaded: Option<Loaded>,
    index: Index,
    undefined: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
    functions: Vec<FunctionItem>,
    entries: Vec<Entry>,
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
            loaded: None,
            index: Index::default(),
            undefined: BTreeSet::new(),
            files: BTreeSet::from([path.clone()]),
            functions: Vec::new(),
            entries: Vec::new(),
            problems: Vec::new(),
        };
        let (loaded, mut index, others) = match loaded {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(error)) => return Program { problems: whole(error.to_string()), ..nothing },
            Err(panic) => {
                let text = crate::cancel::panic_text(&*panic);
                let message = format!("internal error while reading this file: {text}");
                return Program { problems: whole(message), ..nothing };
            }
        };
        let undefined = index.undefined();
        for other in others {
            index.add(other);
        }
        let problems = loaded
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
        Program {
            path,
            files: loaded.files(),
            functions: functions(&loaded),
            entries: entries(&loaded, settings.library, companions),
            problems,
            index,
            undefined,
            loaded: Some(loaded),
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
    /// From where it is checked: `main` first, then by name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
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
    /// What the verifier works on.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }
    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<&FunctionItem> {
        self.functions.iter().find(|function| function.name == name)
    }
}

fn functions(loaded: &Loaded) -> Vec<FunctionItem> {
    let mut out: Vec<FunctionItem> = loaded
        .program()
        .functions
        .keys()
        .filter_map(|&name| {
            let selection = Place::of(&loaded.definition(name)?);
            let mut range = selection.range;
            range.start.column = 0;
            if let Some(end) = loaded.closing(name).map(|end| Place::of(&end))
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

/// `main` decides what it reaches. What is left is decided by functions that nobody calls, then (cycles that nobody enters) by the
/// first by name.
fn entries(loaded: &Loaded, library: bool, companions: &[PathBuf]) -> Vec<Entry> {
    let program = loaded.program();
    let graph = loaded.env().call_graph();
    let mut out = Vec::new();
    let mut decided: BTreeSet<Name> = BTreeSet::new();
    let main = Name::new("main");
    if program.function(main).is_some() && !library {
        decided = loaded.reachable_from(main);
        let decides = decided.iter().map(ToString::to_string).collect();
        out.push(Entry { name: main.to_string(), role: Role::Main, decides });
    }
    // Functions of companions are decided where this file's executions reach them, and else where their own file is open.
    let is_own = |name: &Name| {
        companions.is_empty()
            || loaded
                .definition(*name)
                .is_none_or(|at| !companions.contains(&Place::of(&at).path.to_path_buf()))
    };
    let rest: Vec<Name> =
        program.functions.keys().copied().filter(|name| !decided.contains(name) && is_own(name)).collect();
    let is_root = |name: &Name| graph.callers(*name).iter().all(|caller| caller == name);
    let mut reached: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
    let mut covered = decided.clone();
    for roots in [true, false] {
        for name in rest.iter().filter(|name| is_root(name) == roots) {
            if !roots && covered.contains(name) {
                continue;
            }
            let of_name = loaded.reachable_from(*name);
            let decides = of_name.iter().filter(|f| !decided.contains(*f)).map(ToString::to_string).collect();
            covered.extend(of_name);
            reached.insert(*name, decides);
        }
    }
    out.extend(reached.into_iter().map(|(name, decides)| Entry {
        name: name.to_string(),
        role: Role::Library,
        decides,
    }));
    out
}
