//! The program of one file: what people see in it, and from where it is checked.

use std::{
    any::Any,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use proofline_db::Prepared;
use proofline_syntax::{
    FileSystem, RealFs,
    interrupt::{self, Interrupt, Interrupted},
};
use proofline_verifier::{
    Cancel, CheckId, Function, Program as Code, Subject, engines::Targets, load::LoadError,
    portfolio::panic_text, sources::Sources,
};

pub use crate::plan::EntryPoint;
use crate::{
    cancel::{Cancellable, Cancelled},
    index::Index,
    place::{Place, Range},
    plan::Plan,
    settings::Settings,
};

/// From so many functions on, a program begins with the plan of the text before.
const LARGE: usize = 300;

/// What reading gives: the program, the names of its file, the names of its companions.
pub(crate) type Read = ((Prepared, Sources), Index, Vec<Index>);

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

/// The program of one file.
pub struct Program {
    path: PathBuf,
    code: Option<ReadCode>,
    index: Index,
    undefined: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
    /// The one name of each of them.
    identities: BTreeSet<PathBuf>,
    functions: Vec<FunctionItem>,
    plan: OnceLock<Arc<Plan>>,
    /// Of an older text with the same functions, to begin with.
    older_plan: Option<Arc<Plan>>,
    settings: Settings,
    companions: Vec<PathBuf>,
    problems: Vec<Problem>,
}

/// The program behind the text.
struct ReadCode {
    prepared: Prepared,
    /// What was found out about all of it, once somebody has asked.
    subject: OnceLock<Subject>,
    /// Which checks are asked about.
    checks: OnceLock<BTreeSet<CheckId>>,
    sources: Sources,
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
            index: Index::default(),
            undefined: BTreeSet::new(),
            files: BTreeSet::from([path.clone()]),
            identities: BTreeSet::new(),
            functions: Vec::new(),
            plan: OnceLock::new(),
            older_plan: None,
            settings: settings.clone(),
            companions: companions.to_vec(),
            problems: Vec::new(),
        };
        let ((prepared, sources), mut index, others) = match loaded {
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
        let files = sources.files();
        Program {
            path,
            identities: files.iter().map(|file| RealFs.identity(file)).collect(),
            files,
            functions: functions(&prepared, &sources),
            problems,
            index,
            undefined,
            code: Some(ReadCode { prepared, subject: OnceLock::new(), checks: OnceLock::new(), sources }),
            ..nothing
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// C files that make one program with it.
    pub fn companions(&self) -> &[PathBuf] {
        &self.companions
    }
    /// Every file it was made from.
    pub fn files(&self) -> &BTreeSet<PathBuf> {
        &self.files
    }
    /// Whether it may be another one once this file has another text, by whichever of its names the file is called. What could not be read
    /// may depend on any file.
    pub fn may_depend_on(&self, path: &Path) -> bool {
        self.code.is_none() || self.files.contains(path) || self.identities.contains(&RealFs.identity(path))
    }
    /// Functions with bodies, those of headers included, in the order of the text.
    pub fn functions(&self) -> &[FunctionItem] {
        &self.functions
    }
    /// From where it is checked: functions on their own, then `main`, then by name. As in an older text, until it [is planned](Program::is_planned).
    pub fn entries(&self) -> &[EntryPoint] {
        &self.plan().entries
    }
    /// Those of them that decide a function.
    pub fn deciding(&self, function: &str) -> impl Iterator<Item = &EntryPoint> {
        self.plan().deciding(function)
    }
    fn plan(&self) -> &Plan {
        match (self.plan.get(), &self.older_plan) {
            (Some(plan), _) | (None, Some(plan)) => plan,
            (None, None) => self.find_plan(),
        }
    }
    /// Finds out from where this very text is checked. In a large program that takes a while.
    ///
    /// # Errors
    /// If it was cancelled.
    pub fn find_plan_unless(&self, cancel: &Cancel) -> Cancellable<()> {
        let is_over = cancel.clone();
        let interrupt = Interrupt::new(move || is_over.is_cancelled());
        let find = || interrupt::within(Some(interrupt), || self.find_plan());
        match catch_unwind(AssertUnwindSafe(find)) {
            Ok(_) => Ok(()),
            Err(panic) if panic.is::<Interrupted>() => Err(Cancelled),
            Err(panic) => resume_unwind(panic),
        }
    }
    fn find_plan(&self) -> &Arc<Plan> {
        self.plan.get_or_init(|| {
            let subject = self.subject().zip(self.sources());
            let plan = subject
                .map(|(subject, sources)| Plan::new(subject, sources, &self.settings, &self.companions));
            Arc::new(plan.unwrap_or_default())
        })
    }
    /// Whether that was found out.
    pub fn is_planned(&self) -> bool {
        self.plan.get().is_some() || self.older_plan.is_none()
    }
    /// The plan of an older text does for the beginning, if this one is large and has the same functions.
    pub(crate) fn begin_with(&mut self, older: &Program) {
        let plan = older.plan.get().or(older.older_plan.as_ref());
        let names = |program: &Program| program.functions.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        let is_alike = self.settings == older.settings && self.companions == older.companions;
        if self.functions.len() >= LARGE && is_alike && names(self) == names(older) {
            self.older_plan = plan.cloned();
        }
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
    /// The program itself, without what is found out about all of it.
    pub(crate) fn prepared(&self) -> Option<&Code> {
        self.code.as_ref().map(|code| code.prepared.program())
    }
    /// The obligations of a function that are asked about.
    pub(crate) fn asked_of(&self, function: &Function) -> Targets {
        let Some(code) = &self.code else { return Targets::default() };
        let checks = code.checks.get_or_init(|| self.settings.property.checks(code.prepared.program()));
        Targets::of_checks(checks, [function])
    }
    /// The program itself. The first time, that takes a while where it is large.
    pub(crate) fn subject(&self) -> Option<&Subject> {
        self.code.as_ref().map(|code| code.subject.get_or_init(|| code.prepared.subject()))
    }
    /// The same, if it was asked for before.
    pub(crate) fn known_subject(&self) -> Option<&Subject> {
        self.code.as_ref()?.subject.get()
    }
    /// The program as failures were found in it: what nobody asks about ends no execution.
    pub(crate) fn asked(&self) -> Option<Subject> {
        Some(self.subject()?.for_question(&self.settings.property))
    }
    /// Where its parts are in the text.
    pub(crate) fn sources(&self) -> Option<&Sources> {
        self.code.as_ref().map(|code| &code.sources)
    }
    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<&FunctionItem> {
        self.functions.iter().find(|function| function.name == name)
    }
}

fn functions(prepared: &Prepared, sources: &Sources) -> Vec<FunctionItem> {
    let mut out: Vec<FunctionItem> = prepared
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
