//! From files to a program that engines can run on: the flat list of passes, and the way back from automata to the text.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_cfa::{Entry, Function, Name, Program};
use proofline_program_analysis::{Environment, written_values};
use proofline_syntax::{
    DataModel, FileSystem, Flags, FoundFlags, OverlayFs, Preprocessor, RealFs, RuccPreprocessor, Severity,
    Span, Unit,
};

use proofline_cfa_build::models;
pub use proofline_cfa_build::models::Surroundings;

use crate::{
    checks::{self, Conventions},
    contracts::obligations,
    monitors::{self, Monitors},
    sources::{Problem, Sources, position},
    subject::Subject,
};

/// How to read files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Compiler flags, as gcc takes them, after those of the file's compilation database.
    pub flags: Vec<String>,
    /// Signed overflow wraps around.
    pub wrapv: bool,
    /// What a read of a volatile object gives.
    pub volatile: VolatileReads,
    /// Whether memory can run out.
    pub allocation: Allocation,
    /// Pointers that are formed or compared are obligations, too: somebody asks about `pointer-arithmetic` or `pointer-comparison`
    /// ([`Property::asks_of_pointers`](crate::property::Property::asks_of_pointers)).
    pub pointers: bool,
    /// Writes are no obligations: nobody asks about `read-only`
    /// ([`Property::asks_of_writes`](crate::property::Property::asks_of_writes)).
    pub skips_writes: bool,
    /// What watches the program.
    pub monitors: Monitors,
}

/// Whether memory can run out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Allocation {
    /// `malloc` and its kin may return null.
    #[default]
    MayFail,
    /// They never do, as the rules of verification competitions say.
    NeverFails,
}

/// What a read of a volatile object gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VolatileReads {
    /// What was written, unless something else than the program may change the object: one that is not defined here, memory that the
    /// program does not name, what code outside may write.
    #[default]
    Written,
    /// Any value at each read.
    Any,
}

/// Why nothing could be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, String),
    /// The flags make no sense.
    #[error("{0}")]
    Flags(String),
}

/// One file, read: what [`Subject`] and [`Sources`] are put together from.
#[derive(Debug)]
pub struct Source {
    /// The text.
    pub unit: Arc<Unit>,
    /// Sizes of C's types.
    pub data_model: DataModel,
    /// What it means.
    pub module: proofline_hir::Module,
    /// Where that stands.
    pub map: proofline_hir::ModuleMap,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// Something wrong with the text of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    is_error: bool,
    message: String,
    span: Option<Span>,
    help: Option<String>,
    function: Option<Name>,
}

impl Fault {
    /// If it is an error: the function in whose body it stands, when nothing outside of that body depends on it.
    pub fn error(&self) -> Option<Option<Name>> {
        self.is_error.then_some(self.function)
    }

    /// As a problem of a program whose unit of this number the file is.
    pub fn problem(&self, number: usize, unit: &Unit) -> Problem {
        let Fault { is_error, function, .. } = *self;
        let position = self.span.and_then(|span| position(number, unit.files(), span));
        let main = unit.files().ids().next().map(|id| unit.files().path(id));
        if let (Some(at), Some(main)) = (&position, main)
            && leads_out(main, &at.path)
        {
            let shown = proofline_syntax::shown(&at.path);
            let message = format!("line {} of `{shown}` was not understood", at.line + 1);
            let help = Some("this is a link out of the folder, so nothing of the file is shown".to_owned());
            return Problem { is_error, message, position: None, help, function };
        }
        let (message, help) = (self.message.clone(), self.help.clone());
        Problem { is_error, message, position, help, function }
    }
}

/// Whether a file in the folder of a program's main file, or below, is a link to something elsewhere: a folder of somebody else may name what its
/// author is not to see in messages.
fn leads_out(main: &Path, file: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (main, file) = (absolute(main), absolute(file));
    let Some(folder) = main.parent() else { return false };
    main != file && file.starts_with(folder) && !RealFs.identity(&file).starts_with(RealFs.identity(folder))
}

/// Reads one file: the passes from its text to its meaning.
///
/// # Errors
/// If the file or its flags cannot be read. (What is wrong with its text is data, not an error.)
pub fn read(file: &Path, options: &Options, fs: &dyn FileSystem) -> Result<Source, LoadError> {
    read_with(file, proofline_syntax::flags_for(file, fs), options, fs, None)
}

/// The same, with the file's own flags, that were found before: that can take longer than reading the file. What an older text of it was
/// parsed to makes it faster, and changes nothing else.
///
/// # Errors
/// If the file cannot be read or the flags of `options` make no sense.
pub fn read_with(
    file: &Path,
    own: FoundFlags,
    options: &Options,
    fs: &dyn FileSystem,
    older: Option<&Unit>,
) -> Result<Source, LoadError> {
    // What cannot be read at all is an error of the command line, not of the program.
    if let Err(error) = fs.read(file) {
        return Err(LoadError::Read(file.to_owned(), error.to_string()));
    }
    let mut faults = Vec::new();
    let mut odd = Vec::new();
    let flags = complete(own, options, fs, &mut odd)?;
    for problem in odd {
        let Problem { is_error, message, position: _, help, function } = problem;
        faults.push(Fault { is_error, message, span: None, help, function });
    }
    let unit = proofline_syntax::parse_after(RuccPreprocessor.preprocess(file, fs, &flags), older);
    for error in unit.errors() {
        faults.push(Fault {
            is_error: error.severity == Severity::Error,
            message: error.message.clone(),
            span: error.span,
            help: error.help.clone(),
            function: None,
        });
    }
    let hir = proofline_hir::lower(&unit, &flags);
    for error in &hir.errors {
        faults.push(Fault {
            is_error: true,
            message: error.message.clone(),
            span: Some(error.span),
            help: error.help.clone(),
            function: error.function,
        });
    }
    Ok(Source {
        unit: Arc::new(unit),
        data_model: flags.data_model,
        module: hir.module,
        map: hir.map,
        faults,
    })
}

/// The annotation in front of a function's definition, without its delimiters.
pub type Annotations<'a> = &'a dyn Fn(Name) -> Option<String>;

/// A function with its obligations; whoever asks often may remember them.
pub type Inserted<'a> = &'a dyn Fn(&Arc<Function>, Conventions) -> Arc<Function>;

/// Nobody remembers them.
pub const INSERTED: Inserted<'static> =
    &|function, conventions| Arc::new(checks::insert_into(function, conventions));

/// What a program is made ready with.
#[derive(Clone, Copy)]
pub struct Preparation<'p> {
    /// Which obligations there are.
    pub conventions: Conventions,
    /// What watches it.
    pub monitors: &'p Monitors,
    /// The text in front of functions.
    pub annotations: Annotations<'p>,
    /// Who remembers functions with their obligations.
    pub inserted: Inserted<'p>,
    /// What the files take the address of, if this is a part of what they define.
    pub addressed: &'p dyn Fn() -> models::Addressed,
}

/// Makes a linked program ready for engines: monitors, library models, obligations, also of contracts in the text, what holds of the
/// arguments of `main`. `is_library`: executions start in the middle of it.
pub fn prepare(program: &mut Program, how: &Preparation<'_>, is_library: bool) -> Surroundings {
    let &Preparation { conventions, monitors, annotations, inserted, addressed } = how;
    let library = match conventions.allocation {
        Allocation::MayFail => models::standard(),
        Allocation::NeverFails => models::infallible(),
    };
    let surroundings = models::surroundings(program, library);
    monitors::weave(program, monitors, is_library);
    models::name_targets(program, library, is_library, addressed);
    let surroundings = models::apply(program, library).with(surroundings);
    checks::insert_with(program, conventions, inserted);
    obligations::insert(program, annotations);
    proofline_program_analysis::command_line::provide(program);
    surroundings
}

/// What is found out about the program of an entry before engines start. `slice` gives it, linked: if unknown code has to do with it, with
/// all that such code can name.
pub fn of_entry(
    entry: Entry,
    how: &Preparation<'_>,
    volatile: VolatileReads,
    slice: &dyn Fn(Surroundings) -> Program,
) -> Environment {
    let mut program = slice(Surroundings::Closed);
    let surroundings = prepare(&mut program, how, entry.is_library());
    let enter = |program, is_open| {
        with_volatile(program, volatile, &|program| Environment::entered(program, entry, is_open))
    };
    if entry.is_library() {
        return enter(program, false);
    }
    if surroundings == Surroundings::Closed {
        let environment = enter(program, false);
        if !environment.calls_outside_pointer() {
            return environment;
        }
    }
    let mut program = slice(Surroundings::Open);
    prepare(&mut program, how, entry.is_library());
    enter(program, true)
}

/// The same of a whole program that is [`prepare`]d.
pub fn of_whole(program: &Program, surroundings: Surroundings, volatile: VolatileReads) -> Environment {
    let closed = || with_volatile(program.clone(), volatile, &Environment::new);
    if !program.functions.contains_key(&Entry::main().name) {
        return closed();
    }
    if surroundings == Surroundings::Closed {
        let environment = closed();
        if !environment.calls_outside_pointer() {
            return environment;
        }
    }
    with_volatile(program.clone(), volatile, &Environment::open)
}

fn with_volatile(
    program: Program,
    volatile: VolatileReads,
    enter: &dyn Fn(Program) -> Environment,
) -> Environment {
    let mut environment = enter(program);
    if volatile == VolatileReads::Written {
        // A pointer that was read is better known in the next round, and so is what is read through it.
        while let Some(program) = written_values(&environment) {
            environment = environment.again(program);
        }
    }
    environment
}

/// Reads the files of one program.
///
/// # Errors
/// If a file or its flags cannot be read, or the files have different data models.
pub fn load(files: &[PathBuf], options: &Options) -> Result<(Subject, Sources), LoadError> {
    load_from(files, options, Arc::new(RealFs))
}

/// The same, with the text of some files given (unsaved buffers, tests).
///
/// # Errors
/// If a file or its flags cannot be read, or the files have different data models.
pub fn load_texts(texts: &[(PathBuf, String)], options: &Options) -> Result<(Subject, Sources), LoadError> {
    let files: Vec<PathBuf> = texts.iter().map(|(path, _)| path.clone()).collect();
    load_from(&files, options, overlay(texts))
}

/// Buffers (the file's own text, headers that are being edited) on top of the disk.
pub fn overlay(buffers: &[(PathBuf, String)]) -> Arc<dyn FileSystem> {
    let mut fs = OverlayFs::new(RealFs);
    for (path, text) in buffers {
        fs.insert(path, text.as_bytes().to_vec());
    }
    Arc::new(fs)
}

/// The program of one file that was read.
pub fn link_one(source: &Source, options: &Options) -> (Subject, Sources) {
    link([source], options)
}

fn load_from(
    files: &[PathBuf],
    options: &Options,
    fs: Arc<dyn FileSystem>,
) -> Result<(Subject, Sources), LoadError> {
    let mut read_files = Vec::new();
    let mut model = None;
    for file in files {
        let source = read(file, options, &*fs)?;
        if *model.get_or_insert(source.data_model) != source.data_model {
            return Err(other_model(file));
        }
        read_files.push(source);
    }
    Ok(link(&read_files, options))
}

/// The program of files that were read.
fn link<'s>(files: impl IntoIterator<Item = &'s Source>, options: &Options) -> (Subject, Sources) {
    let mut problems = Vec::new();
    let mut units = BTreeMap::new();
    let mut lowered = Vec::new();
    for source in files {
        problems.extend(source.faults.iter().map(|fault| fault.problem(units.len(), &source.unit)));
        lowered.push(proofline_cfa_build::lower(&source.module, &source.map));
        units.insert(units.len(), source.unit.clone());
    }
    let wraps = options.wrapv || !lowered.is_empty() && lowered.iter().all(|(unit, _)| unit.wraps);
    let (mut program, map) = proofline_cfa_build::link(lowered);
    let ends_at_labels = checks::ends_at_labels(&program);
    let sources = Sources::new(Arc::new(map), units, problems);
    let conventions = Conventions { wrapv: wraps, ..Conventions::of(options, ends_at_labels) };
    let annotations = |name| sources.annotation(name);
    let how = Preparation {
        conventions,
        monitors: &options.monitors,
        annotations: &annotations,
        inserted: INSERTED,
        addressed: &models::Addressed::new,
    };
    let is_library = !program.functions.contains_key(&Entry::main().name);
    let surroundings = prepare(&mut program, &how, is_library);
    let environment = of_whole(&program, surroundings, options.volatile);
    (Subject::new(Arc::new(environment), wraps), sources)
}

/// Files that are no program together.
pub fn other_model(file: &Path) -> LoadError {
    LoadError::Flags(format!(
        "{} has another data model than the files before it",
        proofline_syntax::shown(file)
    ))
}

/// The file's own flags, then those of the command line.
pub(crate) fn flags(
    file: &Path,
    options: &Options,
    fs: &dyn FileSystem,
    problems: &mut Vec<Problem>,
) -> Result<Flags, LoadError> {
    complete(proofline_syntax::flags_for(file, fs), options, fs, problems)
}

fn complete(
    found: FoundFlags,
    options: &Options,
    fs: &dyn FileSystem,
    problems: &mut Vec<Problem>,
) -> Result<Flags, LoadError> {
    let (flags, odd) =
        found.flags.and_args(&options.flags, &fs.folder()).map_err(|e| LoadError::Flags(e.to_string()))?;
    let odd = odd.into_iter().map(|warning| format!("{warning:?}"));
    for message in found.warnings.into_iter().chain(odd) {
        problems.push(Problem { is_error: false, message, position: None, help: None, function: None });
    }
    Ok(flags)
}

/// The flags of a file as a compiler takes them: those that say what the text means, and no others. A folder that was downloaded can hold a
/// compilation database or settings, and a compiler runs programs that its flags name (`-fplugin=`, `-wrapper`, `-B`, `@file`).
pub fn compiler_flags(file: &Path, options: &Options) -> Vec<String> {
    let found = proofline_syntax::flags_for(file, &RealFs);
    let Ok(flags) = complete(found, options, &RealFs, &mut Vec::new()) else { return Vec::new() };
    let mut out = vec![format!("-std={}", flags.standard.name())];
    let folders =
        [("-I", &flags.include_dirs), ("-iquote", &flags.quote_dirs), ("-isystem", &flags.system_dirs)];
    for (flag, list) in folders {
        out.extend(list.iter().map(|folder| format!("{flag}{}", folder.display())));
    }
    for (name, body) in &flags.defines {
        out.push(match body {
            Some(body) => format!("-D{name}={body}"),
            None => format!("-U{name}"),
        });
    }
    out.extend(flags.includes.iter().map(|file| format!("-include{}", file.display())));
    if flags.data_model == DataModel::Ilp32 {
        out.push("-m32".to_owned());
    }
    out
}
