//! Checks of whole programs, once: what the command line and other batch tools ask. Reports are the verifier's plain data, and
//! [`Sources`] show where in the text they are. Knows no terminal and no format.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_cfa::{Callee, Op};
use proofline_db::{Database, Memory, Stopped, Store, Work};
pub use proofline_db::{Fetched, TeamPlace, Texts};
pub use proofline_syntax::ProgramFiles;
use proofline_syntax::{DATABASES, RealFs, database_programs};
use proofline_verifier::{
    Budget, GraphFormat, Subject,
    entry_points::{Scope, Whole, entry_points},
    inspect,
    portfolio::{self, Programs},
};

pub use proofline_verifier::{
    Cancel, Check, Name, Program, Unknown,
    blame::Blame,
    counterexample::Counterexample,
    engines::{
        MOST_BYTES as MOST_BYTES_OF_ENGINES, NoConfiguration, define as define_engines,
        groups as engine_groups, name as engine_name, names as engine_names,
    },
    finding::{Finding, ObjectChange, StepKind, TraceStep},
    keep_questions,
    load::{Allocation, LoadError, Options, VolatileReads},
    monitors::{Monitors, NoMonitor, SHIPPED},
    portfolio::{AskedListener, Control, FindingListener, Listener, Request, Round},
    property::Property,
    report::{Kept, Overall, Report},
    scene::Scene,
    sources::{Position, Problem, Sources},
    task::Task,
    verdict::Verdict,
};

use crate::{
    host::MOST_BYTES,
    index::Index,
    knowledge::knowledge,
    program::Program as Read,
    scan::{directives, glance},
    settings::Settings,
};
pub use crate::{
    shapes::{Automaton, Shape, Step, shapes},
    suppression::suppressed_because,
};

/// Why there is no report.
#[derive(Debug)]
pub enum CheckError {
    /// The solver's library is another version, whose answers cannot be trusted; says what to do.
    Solver(String),
    /// A file cannot be read.
    Load(LoadError),
    /// Executions are to start in a function that has no body.
    NoSuchEntry(Name),
    /// The caller asked to stop before anything was read.
    Stopped,
    /// The caller's time limit passed before everything was read.
    OutOfTime,
}

impl From<Stopped> for CheckError {
    fn from(why: Stopped) -> CheckError {
        match why {
            Stopped::Load(error) => CheckError::Load(error),
            Stopped::Cancelled | Stopped::Edited => CheckError::Stopped,
            Stopped::OutOfTime => CheckError::OutOfTime,
        }
    }
}

/// A program of one or more files as they are on the disk.
pub struct WholeProgram {
    db: Database,
    files: Vec<PathBuf>,
}

/// What holds whenever the condition of a loop is about to be evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopInvariant {
    /// The function that the loop is in.
    pub function: String,
    /// Where its first word is.
    pub path: PathBuf,
    /// From 0.
    pub line: u32,
    /// In bytes, from 0.
    pub column: u32,
    /// A C expression over variables that can be named there.
    pub formula: String,
}

/// What one pass of intervals, checked again, knows of a program, for all its executions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// What holds of loops of all kinds. Where the formula of a `do` holds is before its body.
    pub loops: Vec<LoopInvariant>,
    /// What the results of functions are known to satisfy, by function: `0 <= result <= 9`.
    pub ensures: BTreeMap<String, String>,
    /// What holds whenever an execution is at a location of an automaton, by function. Nothing is said of locations that none reaches.
    pub values: BTreeMap<Name, BTreeMap<u32, Vec<String>>>,
    /// Whom functions may call through pointers, by function.
    pub through_pointers: BTreeMap<Name, BTreeSet<Name>>,
    /// The graphs of abstract states that one pass of intervals has built, by the function whose executions they are of, for Graphviz.
    pub states: BTreeMap<String, String>,
}

/// What was done so far, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Entries that were verified.
    pub verified: usize,
    /// Entries whose verdicts were known from before.
    pub recalled: usize,
    /// Entries whose verdicts a team's store said, confirmed here.
    pub confirmed: usize,
    /// Entries of which it said what could not be confirmed.
    pub refused: usize,
    /// Functions of which some block was explored.
    pub rechecked: usize,
    /// Functions all of whose blocks were known from before.
    pub reused: usize,
    /// Blocks that were found on the disk.
    pub blocks_from_disk: u64,
}

/// Says which engines this is: their answers are of no use to others.
pub use proofline_db::ENGINES;

/// The programs of a folder, by name, each with its C files and those of its libraries that it calls: as the folder's `compile_commands.json` (or the
/// one in `build` or its like) says, if there is one.
///
/// # Errors
/// What is wrong with the file.
pub fn programs_of(folder: &Path) -> Option<Result<BTreeMap<String, ProgramFiles>, String>> {
    let database = DATABASES.iter().map(|name| folder.join(name)).find(|path| path.is_file())?;
    let programs = database_programs(&database, &RealFs).map(|mut programs| {
        link_plain(&mut programs);
        for program in programs.values_mut() {
            // A library is checked for any caller, and so is what it calls.
            if !program.libraries.is_empty() && !program.files.iter().any(|file| has_main(file)) {
                program.libraries.clear();
            }
            program.libraries = models_for(&program.files, &unambiguous(&program.libraries));
        }
        programs
    });
    Some(programs)
}

/// Where the build does not tell what is linked with what, as with plain make, a file with `main` may be linked with each one that has none.
fn link_plain(programs: &mut BTreeMap<String, ProgramFiles>) {
    let plain =
        programs.values().filter(|program| program.is_of_no_target).flat_map(|program| &program.files);
    let (mains, others): (Vec<PathBuf>, Vec<PathBuf>) = plain.cloned().partition(|file| has_main(file));
    for program in programs.values_mut().filter(|program| program.is_of_no_target) {
        if program.files.iter().any(|file| mains.contains(file)) {
            program.libraries.clone_from(&others);
        }
    }
}

/// Whether the file, with what it includes that lies beside it, defines `main`.
fn has_main(file: &Path) -> bool {
    seen_through(file).defined.contains("main")
}

/// Of the files of libraries, those whose functions no other one of them defines: which of two a linker takes depends on the order in which it looks at them.
fn unambiguous(libraries: &[PathBuf]) -> Vec<PathBuf> {
    let mut counts: BTreeMap<Box<str>, usize> = BTreeMap::new();
    let seen = |path: &PathBuf| (path.clone(), Seen::of(&std::fs::read(path).unwrap_or_default()).defined);
    let all: Vec<(PathBuf, BTreeSet<Box<str>>)> = libraries.iter().map(seen).collect();
    for name in all.iter().flat_map(|(_, defined)| defined) {
        *counts.entry(name.clone()).or_default() += 1;
    }
    let is_alone = |defined: &BTreeSet<Box<str>>| defined.iter().all(|name| counts[name] == 1);
    all.into_iter().filter(|(_, defined)| is_alone(defined)).map(|(path, _)| path).collect()
}

/// Functions that others can name.
#[derive(Default)]
struct Seen {
    defined: BTreeSet<Box<str>>,
    called: BTreeSet<Box<str>>,
}

impl Seen {
    /// Of one text, at a glance.
    fn of(text: &[u8]) -> Seen {
        let all = glance(text);
        Seen {
            defined: all.iter().filter(|f| !f.is_static).map(|f| f.name.clone()).collect(),
            called: all.iter().flat_map(|f| &f.calls).map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// Texts that a file includes are not looked for beyond so many.
const MOST_INCLUDED: usize = 200;

/// Of a file with what it includes that lies beside it: `#include "../cJSON.c"`. Macros that are defined may be used.
fn seen_through(file: &Path) -> Seen {
    let mut out = Seen::default();
    let (mut open, mut known) = (vec![file.to_path_buf()], BTreeSet::new());
    while let Some(path) = open.pop() {
        if known.len() >= MOST_INCLUDED || !known.insert(path.canonicalize().unwrap_or_else(|_| path.clone()))
        {
            continue;
        }
        let Ok(text) = std::fs::read(&path) else { continue };
        let own = Seen::of(&text);
        let (included, called) = directives(&text);
        out.defined.extend(own.defined);
        out.called.extend(own.called.into_iter().chain(called));
        let folder = path.parent().unwrap_or(Path::new(""));
        open.extend(included.into_iter().map(|name| folder.join(name)));
    }
    out
}

/// Of these files, of a library or for functions that are not there, those that a program wants: it calls a function that they define, and defines none of
/// theirs itself. What is called is seen at a glance, so one that is not wanted may be among them.
pub fn models_for(files: &[PathBuf], models: &[PathBuf]) -> Vec<PathBuf> {
    if models.is_empty() {
        return Vec::new();
    }
    let (mut defined, mut called) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        let own = seen_through(file);
        defined.extend(own.defined);
        called.extend(own.called);
    }
    let seen = |path: &PathBuf| {
        let own = Seen::of(&std::fs::read(path).unwrap_or_default());
        (own.defined, own.called)
    };
    let mut open: Vec<(&PathBuf, _)> = models.iter().map(|path| (path, seen(path))).collect();
    let mut out = Vec::new();
    loop {
        let is_wanted = |own: &BTreeSet<Box<str>>| own.is_disjoint(&defined) && !own.is_disjoint(&called);
        let Some(at) = open.iter().position(|(_, (own, _))| is_wanted(own)) else { return out };
        let (path, (own, calls)) = open.remove(at);
        out.push(path.clone());
        defined.extend(own);
        called.extend(calls);
    }
}

impl WholeProgram {
    /// The program of these files. Answers outlive the process in the cache folder, if there is one, and are shared with a team.
    ///
    /// # Errors
    /// If the solver's library cannot be trusted. Files are read later.
    pub fn new(
        files: Vec<PathBuf>,
        options: Options,
        cache: Option<&Path>,
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram, CheckError> {
        let store = cache.map(|folder| Store::new(folder, MOST_BYTES));
        WholeProgram::with_store(files, options, store, team)
    }

    fn with_store(
        files: Vec<PathBuf>,
        options: Options,
        store: Option<Store>,
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram, CheckError> {
        proofline_verifier::check_solver().map_err(|mismatch| CheckError::Solver(mismatch.to_string()))?;
        let memory = Memory::default();
        if let Some(store) = store {
            memory.set_store(store);
        }
        if let Some(place) = team {
            memory.set_team(place);
        }
        let db = Database::with_memory(files.clone(), options, Arc::new(memory));
        Ok(WholeProgram { db, files })
    }

    /// The same where there are no other files than these, and relative paths are meant from a folder that need not exist; what is found out is
    /// left by [`WholeProgram::answers`], without what other processes found out, and shared with a team.
    ///
    /// # Errors
    /// If the solver's library cannot be trusted.
    pub fn closed(
        files: Vec<PathBuf>,
        options: Options,
        texts: Texts,
        folder: PathBuf,
        answers: &[Vec<u8>],
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram, CheckError> {
        let whole = WholeProgram::answered(files, options, answers, team)?;
        whole.db.close(texts, folder);
        Ok(whole)
    }

    /// The program of these files, with what other processes found out of it.
    ///
    /// # Errors
    /// If the solver's library cannot be trusted. Files are read later.
    pub fn answered(
        files: Vec<PathBuf>,
        options: Options,
        answers: &[Vec<u8>],
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram, CheckError> {
        let store = Store::detached();
        for bytes in answers {
            // What is damaged is found out again.
            store.add(bytes);
        }
        WholeProgram::with_store(files, options, Some(store), team)
    }

    /// The texts that were read so far.
    pub fn texts(&self) -> Texts {
        self.db.texts()
    }

    /// What was found out here, for [`WholeProgram::answered`].
    pub fn answers(&self) -> Vec<u8> {
        self.db.answers()
    }

    /// What is wrong with the texts, and where things are in them.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn sources(&self) -> Result<Sources, CheckError> {
        Ok(self.db.sources()?)
    }

    /// The same, ended as `control` says.
    ///
    /// # Errors
    /// If a file cannot be read, or the work was stopped before.
    pub fn sources_within(&self, control: &Control) -> Result<Sources, CheckError> {
        Ok(self.db.within(control).sources()?)
    }

    /// The automata with their obligations, to which verdicts refer by number.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn program(&self) -> Result<Arc<Program>, CheckError> {
        Ok(self.db.program()?)
    }

    /// Verdicts and findings of the executions from these functions; without any: from `main`, or from functions without callers. What is known
    /// when the work is stopped is a report, too.
    ///
    /// # Errors
    /// If a file cannot be read, or an entry has no body.
    pub fn check(
        &self,
        request: &Request,
        entries: &[Name],
        control: &Control,
    ) -> Result<Report, CheckError> {
        let db = self.db.within(control);
        let report = match portfolio::check(&db, request, entries, control) {
            Ok(report) => report,
            Err(Stopped::Cancelled) => Report::nothing(Unknown::Cancelled),
            Err(Stopped::OutOfTime) => return Ok(Report::nothing(Unknown::OutOfTime)),
            Err(why) => return Err(why.into()),
        };
        if report.reason.is_some() {
            for entry in entries {
                if report.reason != Some(Unknown::OutOfTime) && !db.has_body(*entry)? {
                    return Err(CheckError::NoSuchEntry(*entry));
                }
            }
        }
        Ok(report)
    }

    /// The parts of a library, of which [`WholeProgram::check_part`] asks about some: functions that executions start in by default, and those of large
    /// libraries. None of a program that has a beginning.
    ///
    /// # Errors
    /// If a file cannot be read, or the work was stopped.
    pub fn library_parts(&self, control: &Control) -> Result<Vec<Name>, CheckError> {
        Ok(portfolio::library_parts(&self.db.within(control), control)?)
    }

    /// Finds out, for [`WholeProgram::answers`], what [`WholeProgram::check`] would ask about the executions from some entries of a library, as far as
    /// that does not depend on the others.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn check_part(&self, request: &Request, part: &[Name], control: &Control) -> Result<(), CheckError> {
        match portfolio::check_part(&self.db.within(control), request, part, control) {
            Ok(()) | Err(Stopped::Cancelled | Stopped::OutOfTime) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    /// What is known of the loops and functions of the files.
    ///
    /// # Errors
    /// If a file cannot be read, or the work was stopped.
    pub fn facts(&self, control: &Control) -> Result<Facts, CheckError> {
        let db = self.db.within(control);
        let mut out = Facts::default();
        for file in &self.files {
            let read = ((db.prepared()?, db.sources()?), Index::of(&*db.source(file)?), Vec::new());
            let program = Arc::new(Read::new(file, &[], Ok(Ok(read)), &Settings::default()));
            let known = knowledge(&program, &db, &control.cancel).map_err(|_| CheckError::Stopped)?;
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let own =
                known.loops().iter().filter(|found| *found.place.path == *whole && !found.formula.is_empty());
            out.loops.extend(own.map(|found| LoopInvariant {
                function: found.function.clone(),
                path: file.clone(),
                line: found.place.range.start.line,
                column: found.place.range.start.column,
                formula: found.formula.clone(),
            }));
            out.ensures.append(&mut known.all_ensures("result"));
            out.values.append(&mut known.locations(&*db.program()?));
        }
        let subject = db.subject()?;
        out.through_pointers = through_pointers(&subject);
        out.states = state_graphs(&subject, control);
        Ok(out)
    }

    /// What is known of the loops `for` and `while` of the files.
    ///
    /// # Errors
    /// If a file cannot be read, or the work was stopped.
    pub fn loop_invariants(&self, control: &Control) -> Result<Vec<LoopInvariant>, CheckError> {
        let mut loops = self.facts(control)?.loops;
        // Of a `do` this holds before its body, and not where its condition is.
        loops.retain(|found| {
            let text = std::fs::read_to_string(&found.path).unwrap_or_default();
            let line = text.lines().nth(found.line as usize);
            let rest = line.and_then(|line| line.get(found.column as usize..));
            rest.is_some_and(|rest| rest.starts_with("for") || rest.starts_with("while"))
        });
        Ok(loops)
    }

    /// Writes new answers to the cache folder.
    pub fn save(&self) {
        self.db.save();
    }

    /// What was done since the last call.
    pub fn take_statistics(&self) -> Statistics {
        let mut out = Statistics { blocks_from_disk: self.db.blocks_from_disk(), ..Statistics::default() };
        for work in self.db.take_work() {
            match work {
                Work::Verified(_) => out.verified += 1,
                Work::Recalled(_) => out.recalled += 1,
                Work::Confirmed(_) => out.confirmed += 1,
                Work::Refused(_) => out.refused += 1,
                Work::Rechecked(_) => out.rechecked += 1,
                Work::Reused(_) => out.reused += 1,
                Work::Read(_) | Work::Linked | Work::Sliced(_) | Work::Explained(_) => {}
            }
        }
        out
    }
}

/// Steps for the graphs of abstract states from one entry, and bytes of all of them: they are to be looked at.
const STEPS_OF_GRAPHS: u64 = 20_000;
const MOST_OF_GRAPHS: usize = 4 << 20;

/// The graphs of abstract states, by function. What takes too long is left out.
fn state_graphs(subject: &Subject, control: &Control) -> BTreeMap<String, String> {
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    let mut size = 0;
    for point in entry_points(&Whole::new(subject), Scope::Program, &|_| true) {
        let budget = Budget::steps(STEPS_OF_GRAPHS)
            .with_cancel(control.cancel.clone())
            .with_deadline(control.deadline);
        let graphs = inspect::view(
            subject,
            point.entry,
            inspect::Domain::Intervals,
            inspect::View::Graphs(GraphFormat::Dot),
            &budget,
        );
        let Ok(graphs) = graphs else { continue };
        size += graphs.len();
        if size > MOST_OF_GRAPHS {
            break;
        }
        for graph in graphs.split_inclusive("\n}\n") {
            // `digraph "f:l3 7: i in [0, 9]" {`: a block of the function, its number, the state it is entered with.
            let Some(block) = graph.strip_prefix("digraph \"").and_then(|rest| rest.split(' ').next()) else {
                continue;
            };
            let is_loop =
                |(_, head): &(&str, &str)| head.strip_prefix('l').is_some_and(|n| n.parse::<u32>().is_ok());
            let function = block.rsplit_once(':').filter(is_loop).map_or(block, |(function, _)| function);
            out.entry(function.to_owned()).or_default().push_str(graph);
        }
    }
    out
}

fn through_pointers(subject: &Subject) -> BTreeMap<Name, BTreeSet<Name>> {
    let env = subject.env();
    let mut out: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for function in subject.program().functions.values() {
        for (edge, callees) in env.call_graph().calls(function.name) {
            let is_indirect = matches!(&function.edge(edge).op, Op::Call(call) if matches!(call.callee, Callee::Indirect(..)));
            if is_indirect && !callees.functions.is_empty() {
                out.entry(function.name).or_default().extend(&callees.functions);
            }
        }
    }
    out
}
