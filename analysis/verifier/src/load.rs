//! From files to a program that engines can run on: the flat list of passes, and the way back from automata to the text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use proofline_cfa::{Call, Callee, Constant, Expr, LocalId, Name, Op, Program, Site, visit};
use proofline_cfa_build::ProgramMap;
use proofline_cpa::Unknown;
use proofline_program_analysis::Environment;
use proofline_syntax::{
    DataModel, FileSystem, Flags, FoundFlags, OverlayFs, Preprocessor, RealFs, RuccPreprocessor, Severity,
    SourceFiles, Span, Unit,
};

use crate::{checks, summaries::Summaries};

/// How to read files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Compiler flags, as gcc takes them, after those of the file's compilation database.
    pub flags: Vec<String>,
    /// Signed overflow wraps around.
    pub wrapv: bool,
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

/// A place in a file, for people and editors. Lines and columns count from 0, columns in bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Position {
    /// The file.
    pub path: Arc<Path>,
    /// Number of the unit whose text it is in, for [`Loaded`].
    unit: usize,
    /// In that unit.
    span: Span,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// One past the last column.
    pub end_column: u32,
}

/// Something wrong with the text of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Parts of the program may be missing.
    pub is_error: bool,
    /// What.
    pub message: String,
    /// Where.
    pub position: Option<Position>,
    /// What to do.
    pub help: Option<String>,
    /// The function in whose body it stands, when nothing outside of that body depends on it.
    pub function: Option<Name>,
}

/// A program with everything around it.
pub struct Loaded {
    program: Program,
    environment: OnceLock<Arc<Environment>>,
    map: Arc<ProgramMap>,
    units: BTreeMap<usize, Arc<Unit>>,
    problems: Vec<Problem>,
    options: Options,
    summaries: Option<Arc<Summaries>>,
}

/// One file, read: what [`Loaded`] is put together from.
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
    /// As a problem of a program whose unit of this number the file is.
    pub fn problem(&self, number: usize, unit: &Unit) -> Problem {
        Problem {
            is_error: self.is_error,
            message: self.message.clone(),
            position: self.span.and_then(|span| position(number, unit.files(), span)),
            help: self.help.clone(),
            function: self.function,
        }
    }
}

/// Reads one file: the passes from its text to its meaning.
pub fn read(file: &Path, options: &Options, fs: &dyn FileSystem) -> Result<Source, LoadError> {
    read_with(file, proofline_syntax::flags_for(file, fs), options, fs)
}

/// The same, with the file's own flags, that were found before: that can take longer than reading the file.
pub fn read_with(
    file: &Path,
    own: FoundFlags,
    options: &Options,
    fs: &dyn FileSystem,
) -> Result<Source, LoadError> {
    // What cannot be read at all is an error of the command line, not of the program.
    if let Err(error) = fs.read(file) {
        return Err(LoadError::Read(file.to_owned(), error.to_string()));
    }
    let mut faults = Vec::new();
    let mut odd = Vec::new();
    let flags = complete(own, options, &mut odd)?;
    for problem in odd {
        let Problem { is_error, message, position: _, help, function } = problem;
        faults.push(Fault { is_error, message, span: None, help, function });
    }
    let unit = proofline_syntax::parse(RuccPreprocessor.preprocess(file, fs, &flags));
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

/// Makes a linked program ready for engines: library models, obligations. `labels`: the label `ERROR` is an obligation (where
/// the whole program has no call that says the same).
pub fn prepare(program: &mut Program, labels: bool) {
    proofline_cfa_build::models::apply(program, proofline_cfa_build::models::standard());
    checks::insert_with(program, labels);
}

/// Reads the files of one program.
pub fn load(files: &[PathBuf], options: &Options) -> Result<Loaded, LoadError> {
    load_from(files, options, Arc::new(RealFs))
}

/// The same, with the text of some files given (unsaved buffers, tests).
pub fn load_texts(texts: &[(PathBuf, String)], options: &Options) -> Result<Loaded, LoadError> {
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
pub fn link_one(source: &Source, options: &Options) -> Loaded {
    let problems = source.faults.iter().map(|fault| fault.problem(0, &source.unit)).collect();
    let (mut program, map) =
        proofline_cfa_build::link(vec![proofline_cfa_build::lower(&source.module, &source.map)]);
    let labels = checks::ends_at_labels(&program);
    prepare(&mut program, labels);
    Loaded::new(program, Arc::new(map), BTreeMap::from([(0, source.unit.clone())]), problems, options.clone())
}

fn load_from(files: &[PathBuf], options: &Options, fs: Arc<dyn FileSystem>) -> Result<Loaded, LoadError> {
    let mut problems = Vec::new();
    let mut units = BTreeMap::new();
    let mut lowered = Vec::new();
    let mut model = None;
    for file in files {
        let source = read(file, options, &*fs)?;
        if *model.get_or_insert(source.data_model) != source.data_model {
            return Err(other_model(file));
        }
        problems.extend(source.faults.iter().map(|fault| fault.problem(units.len(), &source.unit)));
        lowered.push(proofline_cfa_build::lower(&source.module, &source.map));
        units.insert(units.len(), source.unit);
    }
    let (mut program, map) = proofline_cfa_build::link(lowered);
    let labels = checks::ends_at_labels(&program);
    prepare(&mut program, labels);
    Ok(Loaded::new(program, Arc::new(map), units, problems, options.clone()))
}

/// Files that are no program together.
pub fn other_model(file: &Path) -> LoadError {
    LoadError::Flags(format!("{} has another data model than the files before it", file.display()))
}

/// The file's own flags, then those of the command line.
pub(crate) fn flags(
    file: &Path,
    options: &Options,
    fs: &dyn FileSystem,
    problems: &mut Vec<Problem>,
) -> Result<Flags, LoadError> {
    complete(proofline_syntax::flags_for(file, fs), options, problems)
}

fn complete(found: FoundFlags, options: &Options, problems: &mut Vec<Problem>) -> Result<Flags, LoadError> {
    let mut flags = found.flags;
    let here = std::env::current_dir().unwrap_or_default();
    let (extra, odd) =
        Flags::from_args(&options.flags, &here).map_err(|e| LoadError::Flags(e.to_string()))?;
    let odd = odd.into_iter().map(|warning| format!("{warning:?}"));
    for message in found.warnings.into_iter().chain(odd) {
        problems.push(Problem { is_error: false, message, position: None, help: None, function: None });
    }
    flags.include_dirs.extend(extra.include_dirs);
    flags.quote_dirs.extend(extra.quote_dirs);
    flags.system_dirs.extend(extra.system_dirs);
    flags.defines.extend(extra.defines);
    flags.includes.extend(extra.includes);
    let says = |prefix: &str| options.flags.iter().any(|flag| flag.starts_with(prefix));
    if says("-std") {
        flags.standard = extra.standard;
    }
    if says("-m32") || says("-m64") {
        flags.data_model = extra.data_model;
    }
    Ok(flags)
}

/// The flags of a file as a compiler takes them.
pub fn compiler_flags(file: &Path, options: &Options) -> Vec<String> {
    let flags = proofline_syntax::flags_for(file, &RealFs).flags;
    let mut out = vec![format!("-std={}", flags.standard.name())];
    let folders =
        [("-I", &flags.include_dirs), ("-iquote", &flags.quote_dirs), ("-isystem", &flags.system_dirs)];
    for (flag, list) in folders {
        out.extend(list.iter().flat_map(|folder| [flag.to_owned(), folder.display().to_string()]));
    }
    for (name, body) in &flags.defines {
        out.push(match body {
            Some(body) => format!("-D{name}={body}"),
            None => format!("-U{name}"),
        });
    }
    for file in &flags.includes {
        out.extend(["-include".to_owned(), file.display().to_string()]);
    }
    if flags.data_model == DataModel::Ilp32 {
        out.push("-m32".to_owned());
    }
    out.extend(options.flags.iter().cloned());
    out
}

fn position(unit: usize, files: &SourceFiles, span: Span) -> Option<Position> {
    let (line, column) = files.line_col(span.file, span.start);
    let (end_line, end_column) = files.line_col(span.file, span.end);
    Some(Position { path: files.path(span.file).into(), unit, span, line, column, end_line, end_column })
}

impl Loaded {
    /// From its parts: a program that is ready for engines, positions by function, and by number the units that these name: those that are
    /// not there have no positions.
    pub fn new(
        program: Program,
        map: Arc<ProgramMap>,
        units: BTreeMap<usize, Arc<Unit>>,
        problems: Vec<Problem>,
        options: Options,
    ) -> Loaded {
        Loaded { program, environment: OnceLock::new(), map, units, problems, options, summaries: None }
    }
    /// The same with what was found out about blocks before.
    pub fn with_summaries(self, summaries: Arc<Summaries>) -> Loaded {
        Loaded { summaries: Some(summaries), ..self }
    }
    /// What was found out about blocks before.
    pub fn summaries(&self) -> Option<&Summaries> {
        self.summaries.as_deref()
    }
    /// The same with what was found out about the program before.
    pub fn with_env(self, environment: Arc<Environment>) -> Loaded {
        Loaded { environment: environment.into(), ..self }
    }
    /// The program with its obligations.
    pub fn program(&self) -> &Program {
        &self.program
    }
    /// Call graph, points-to and the rest; computed when it is asked for first.
    pub fn env(&self) -> &Arc<Environment> {
        self.environment.get_or_init(|| Arc::new(Environment::new(self.program.clone())))
    }
    /// How it was read.
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// What is wrong with the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
    /// Whether parts of the program may be missing.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.is_error)
    }
    /// Whether executions from this entry are those of a library: globals hold any value.
    pub fn is_library(&self, entry: Name) -> bool {
        entry.as_str() != "main"
    }

    /// Where a site of a function is.
    pub fn position(&self, function: Name, site: Site) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.span(site)?)
    }
    /// Where a function is defined: its name.
    pub fn definition(&self, function: Name) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.name?)
    }
    /// Where a local of a function is declared.
    pub fn local(&self, function: Name, local: LocalId) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), (*map.locals.get(local.index())?)?)
    }
    /// Where a function's body ends: its closing brace.
    pub fn closing(&self, function: Name) -> Option<Position> {
        let (unit, map) = self.map.function(function)?;
        position(unit, self.units.get(&unit)?.files(), map.end?)
    }
    /// Every file that was read, headers included, in order, each once.
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let units = self.units.values().map(|unit| unit.files());
        units.flat_map(|files| files.ids().map(|id| files.path(id).to_path_buf())).collect()
    }
    /// The text at a position.
    pub fn text_at(&self, position: &Position) -> String {
        self.units
            .get(&position.unit)
            .map(|unit| unit.files().span_text(position.span).to_owned())
            .unwrap_or_default()
    }
    /// The first line of a position.
    pub fn line(&self, position: &Position) -> Option<&str> {
        let files = self.units.get(&position.unit)?.files();
        let start = files.line_start(position.span.file, position.line)?;
        files.text(position.span.file).get(start as usize..)?.lines().next()
    }

    /// Functions that executions from the entry may call, the entry included.
    pub fn reachable_from(&self, entry: Name) -> BTreeSet<Name> {
        let mut seen = BTreeSet::new();
        let mut open = vec![entry];
        while let Some(name) = open.pop() {
            if self.env().function(name).is_some() && seen.insert(name) {
                open.extend(self.env().call_graph().callees(name).iter().copied());
            }
        }
        seen
    }

    /// `main`; or so many functions that every function is called from one of them: first those that nobody mentions. (That a pointer from
    /// outside may lead to a function is no call of it.)
    pub fn default_entries(&self) -> Vec<Name> {
        let main = Name::new("main");
        if self.program().function(main).is_some() {
            return vec![main];
        }
        let mut mentioned = BTreeSet::new();
        for function in self.program().functions.values() {
            for edge in &function.edges {
                let mut see = |name: Name| {
                    if name != function.name {
                        mentioned.insert(name);
                    }
                };
                if let Op::Call(Call { callee: Callee::Direct(name), .. }) = &edge.op {
                    see(*name);
                }
                visit::exprs(&edge.op, &mut |expr| {
                    if let Expr::Function(name) = expr {
                        see(*name);
                    }
                });
            }
        }
        let initial = self.program().globals.values().flat_map(|global| &global.init);
        mentioned.extend(initial.filter_map(|initial| match initial.value {
            Constant::Function(name) => Some(name),
            Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
        }));
        let all = self.program().functions.keys().copied();
        let (others, free): (Vec<Name>, Vec<Name>) = all.partition(|name| mentioned.contains(name));
        let (mut entries, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for name in free.into_iter().chain(others) {
            if !seen.contains(&name) {
                seen.extend(self.reachable_from(name));
                entries.insert(name);
            }
        }
        entries.into_iter().collect()
    }

    /// What proofs about these functions rest on: approximations and functions without bodies, counted.
    pub fn assumptions(&self, functions: &BTreeSet<Name>) -> BTreeSet<String> {
        let mut counts: BTreeMap<Name, usize> = BTreeMap::new();
        for function in functions.iter().filter_map(|name| self.env().function(*name)) {
            for approximation in &function.approximations {
                *counts.entry(approximation.what).or_default() += 1;
            }
        }
        counts
            .into_iter()
            .map(|(what, n)| if n == 1 { what.to_string() } else { format!("{what} ({n} times)") })
            .collect()
    }

    /// What makes every proof about these functions impossible.
    pub fn unsupported(&self, functions: &BTreeSet<Name>) -> Option<Unknown> {
        let program = self.program();
        let whole = program.unsupported.iter().find(|(function, _)| functions.contains(function));
        let whole = whole.map(|(function, what)| Unknown::Unsupported(format!("{what} in `{function}`")));
        whole.or_else(|| self.misunderstood(functions))
    }

    /// What was not understood in the text and may matter to executions of these functions.
    pub fn misunderstood(&self, functions: &BTreeSet<Name>) -> Option<Unknown> {
        // Linking gives functions of one name prefixes (`file.c:name`).
        let is_in = |name: Name| {
            let suffix = format!(":{name}");
            functions.iter().any(|function| *function == name || function.ends_with(&suffix))
        };
        let fatal =
            self.problems.iter().find(|problem| problem.is_error && problem.function.is_none_or(is_in))?;
        Some(Unknown::Unsupported(match fatal.function {
            Some(function) => format!("`{function}` has errors, so parts of it were not understood"),
            None => "the program has errors, so parts of it were not understood".to_owned(),
        }))
    }
}
