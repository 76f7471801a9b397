//! From a command line to what is checked and how: what `check` and the commands for batches have in common.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use proofline_ide::{
    check::{
        Cancel, CheckError, Control, Finding, Name, Property, Report, Request, Round, Task, Unknown,
        WholeProgram, engine_groups, engine_name, engine_names, keep_questions, models_for,
    },
    shown,
};

use super::{
    check::{Arguments, failed},
    formats::Format,
    input::Input,
    news::Old,
    project,
    terminal::{Progress, Style},
};
use crate::{
    choices::{self, Allocates},
    memory::{Ceiling, resident_mb},
    project_file::{Checks, Found},
    team,
};

/// Steps per engine and question, where nobody says anything else.
const STEPS: u64 = 3_000_000;

/// What is asked of each program.
pub(super) struct Asked {
    pub(super) properties: Vec<Property>,
    pub(super) engines: Vec<String>,
    /// Where executions start.
    pub(super) entries: Vec<Name>,
    /// Where they start if nobody names entries: in those of these that a program has.
    pub(super) wished: Vec<Name>,
    pub(super) steps: u64,
    /// The first violation is enough.
    pub(super) first: bool,
}

impl Asked {
    pub(super) fn request(&self, property: &Property) -> Request {
        Request {
            property: property.clone(),
            engines: self.engines.clone(),
            steps: self.steps,
            first_only: self.first || property.is_one_question(),
            round: Round::default(),
            under: Arc::default(),
        }
    }

    /// Checks a program.
    pub(super) fn report(
        &self,
        program: &WholeProgram,
        request: &Request,
        control: &Control,
    ) -> Result<Report> {
        if !self.entries.is_empty() {
            return program.check(request, &self.entries, control).map_err(failed);
        }
        let mut entries = self.wished.clone();
        loop {
            match program.check(request, &entries, control) {
                Err(CheckError::NoSuchEntry(missing)) if entries.contains(&missing) => {
                    entries.retain(|entry| *entry != missing);
                }
                done => return done.map_err(failed),
            }
        }
    }
}

/// What is the same for all programs of one run.
pub(super) struct Session<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) asked: Asked,
    /// The project's own settings.
    pub(super) project_file: Option<Found>,
    /// Where answers outlive the process.
    pub(super) cache: Option<PathBuf>,
    /// Where a team shares them.
    pub(super) team: Option<Arc<team::Place>>,
    /// What batches found out, by program.
    pub(super) answers: BTreeMap<String, Vec<Vec<u8>>>,
    pub(super) control: Control,
    pub(super) ceiling: Ceiling,
    pub(super) progress: Progress,
    pub(super) style: Style,
    /// Failures that are no news.
    pub(super) old: Arc<Old>,
    /// What several programs share is told once.
    pub(super) told: Arc<Told>,
}

/// Which failures were told: where they are, and of which check.
#[derive(Default)]
pub(super) struct Told(Mutex<BTreeSet<(PathBuf, u32, u32, &'static str)>>);

impl Told {
    /// Whether nobody has told of a failure yet. Now somebody has. What has no place is told by everyone.
    pub(super) fn is_first(&self, finding: &Finding) -> bool {
        let at = finding.position.as_ref();
        let at = at.map(|at| (at.path.to_path_buf(), at.line, at.column, finding.check.code()));
        at.is_none_or(|at| self.0.lock().insert(at))
    }
}

/// What a command line asks for.
pub(super) struct Prepared<'a> {
    pub(super) session: Session<'a>,
    /// How to read the files; of a folder's programs, all but their files.
    pub(super) input: Input,
    /// A folder's programs, by name.
    pub(super) programs: Option<BTreeMap<String, Vec<PathBuf>>>,
}

impl<'a> Prepared<'a> {
    /// Looks at all that the command line and the project's file say; reads no program.
    ///
    /// # Errors
    /// What is wrong with either.
    pub(super) fn new(arguments: &'a Arguments) -> Result<Prepared<'a>> {
        let started = Instant::now();
        let mut input = arguments.input.clone();
        let mut properties = Vec::new();
        let project_file = match (&arguments.task, &*input.files) {
            (Some(_), _) => None,
            (None, []) => Found::near(Path::new("."))?,
            (None, [first, ..]) => Found::near(first)?,
        };
        let says = project_file.as_ref().map(|found| found.says.clone()).unwrap_or_default();
        input.or(&says);
        if let Some(file) = &arguments.task {
            let task = Task::read(file)?;
            input.files.extend(task.inputs);
            input.m32 |= task.is_ilp32;
            input.allocation = input.allocation.or(Some(Allocates::NeverFails));
            properties.extend(task.properties.into_iter().map(|(property, _)| property));
        }
        if let Some(text) = &arguments.property {
            properties = vec![property(text)?];
        }
        if properties.is_empty() {
            let chosen = says.checks.as_ref().map(Checks::property).transpose()?;
            properties.push(chosen.unwrap_or(Property::Everything));
        }
        input.watch(&properties)?;
        input.pointers = properties.iter().any(Property::asks_of_pointers);
        input.skips_writes = !properties.iter().any(Property::asks_of_writes);
        if let Some(folder) = &arguments.keep_questions {
            keep_questions(folder).with_context(|| format!("cannot write to {}", shown(folder)))?;
        }
        let engines = engines(arguments, project_file.as_ref())?;
        let programs = project::programs(&input, project_file.as_ref())?;
        if programs.is_none() && arguments.task.is_none() {
            let models = project_file.as_ref().map(Found::models).unwrap_or_default();
            input.files.extend(models_for(&input.files, &models));
        }
        let baseline = arguments.baseline.clone().or_else(|| project_file.as_ref().and_then(Found::baseline));
        let old = Old::read(baseline.as_deref(), arguments.since.as_deref())?;
        let cancel = interruptible();
        if !arguments.in_process {
            crate::solver_process::employ_workers(arguments.memory.min(arguments.engine_memory));
        }
        let ceiling = Ceiling::watch(arguments.memory, cancel.clone(), out_of_memory(arguments));
        let progress = Progress::new(arguments.progress);
        let cache = arguments.cache.clone().or_else(proofline_ide::default_cache);
        let listener = progress.clone();
        let control = Control {
            cancel: cancel.clone(),
            deadline: arguments.limit.or(says.limit).map(|seconds| started + Duration::from_secs(seconds)),
            progress: Some(Arc::new(move |doing| listener.hear(doing))),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            ceiling: Some(proofline_ide::Ceiling { used: resident_mb, growth: arguments.engine_memory }),
            found: None,
            asked: None,
        };
        let session = Session {
            arguments,
            asked: Asked {
                properties,
                engines,
                entries: arguments.entry.iter().map(|name| Name::new(name)).collect(),
                wished: says.entries.iter().map(|name| Name::new(name)).collect(),
                steps: arguments.budget.or(says.budget).unwrap_or(STEPS),
                first: arguments.first,
            },
            project_file,
            cache: cache.filter(|_| !arguments.no_cache),
            team: team::named(arguments.store.as_deref())?.filter(|_| !arguments.no_cache),
            answers: BTreeMap::new(),
            control,
            ceiling,
            progress,
            style: Style::new(arguments.color),
            old: Arc::new(old),
            told: Arc::default(),
        };
        Ok(Prepared { session, input, programs })
    }

    /// Checks everything, and prints what is found. The exit code.
    ///
    /// # Errors
    /// If something cannot be read or written.
    pub(super) fn check(self) -> Result<u8> {
        let Prepared { session, input, programs } = self;
        let arguments = session.arguments;
        let code = match programs {
            None => session.one(&input),
            Some(_) if arguments.witness.is_some() => bail!(
                "--witness is about one program, and this folder may have several\n  help: name the C files of the program"
            ),
            Some(programs) => session.project(&input, programs),
        };
        if code.is_err() && session.ceiling.is_reached() {
            // The work was stopped before there was anything to say.
            out_of_memory(arguments)();
        }
        let code = code?;
        if session.ceiling.is_reached() {
            eprintln!(
                "more than {} MB were needed (--memory): this is what is known so far",
                arguments.memory
            );
        } else if session.control.cancel.is_cancelled() {
            eprintln!("interrupted: this is what is known so far");
        }
        Ok(code)
    }
}

/// A property's name, or a property file.
fn property(text: &str) -> Result<Property> {
    if text.ends_with(".prp") {
        let content = std::fs::read_to_string(text).with_context(|| format!("cannot read {text}"))?;
        return Ok(Property::parse(&content)?);
    }
    Ok(Property::parse(text)?)
}

/// Who is asked: the engines that are named, or those of the user's own file.
fn engines(arguments: &Arguments, project_file: Option<&Found>) -> Result<Vec<String>> {
    let file = arguments.configuration.clone().or_else(|| project_file.and_then(Found::configuration));
    let own = file.map(|file| choices::own_engines(&file)).transpose()?.unwrap_or_default();
    let groups = engine_groups();
    let mut engines: Vec<String> = Vec::new();
    for name in arguments.engine.iter().flat_map(|e| e.split(',')) {
        match groups.iter().find(|(group, _)| *group == name) {
            Some((_, members)) => engines.extend(members.iter().map(|member| (*member).to_owned())),
            None => engines.push(name.to_owned()),
        }
    }
    if let Some(unknown) = engines.iter().find(|name| engine_name(name).is_none()) {
        let own: Vec<&str> = own.iter().copied().filter(|name| !engine_names().contains(name)).collect();
        let own = if own.is_empty() { String::new() } else { format!("; your own are {}", own.join(", ")) };
        bail!(
            "unknown engine `{unknown}`\n  help: engines are {}; several together are {}{own}",
            engine_names().join(", "),
            groups.map(|(group, members)| format!("{group} ({})", members.join(", "))).join(", ")
        );
    }
    if engines.is_empty() {
        engines.extend(own.iter().map(|name| (*name).to_owned()));
    }
    Ok(engines)
}

/// Ctrl-C ends the work, and what is known is reported; a second one ends the program at once.
pub(super) fn interruptible() -> Cancel {
    let cancel = Cancel::default();
    let handler = cancel.clone();
    let _ = ctrlc::set_handler(move || {
        if handler.is_cancelled() {
            std::process::exit(130);
        }
        handler.cancel();
    });
    cancel
}

/// Ends the program if work does not stop in the memory that it has.
fn out_of_memory(arguments: &Arguments) -> impl FnOnce() + Send + 'static {
    let (limit_mb, is_text) = (arguments.memory, arguments.format == Format::Text);
    move || {
        eprintln!("error: more than {limit_mb} MB were needed (--memory)");
        if is_text {
            println!("RESULT: unknown({})", Unknown::OutOfMemory);
        }
        std::process::exit(2);
    }
}
