//! `proofline check`

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail};
use parking_lot::Mutex;
use proofline_ide::check::{
    AskedListener, Cancel, CheckError, Control, Counterexample, Facts, Finding, FindingListener,
    LoopInvariant, Name, Overall, Program, Property, Report, Request, Round, Sources, Task, Unknown, Verdict,
    WholeProgram, engine_groups, engine_names, keep_questions, suppressed_because,
};
use proofline_ide::shown;

use super::{
    formats::{self, Format},
    html,
    input::Input,
    news::Old,
    project, render,
    terminal::{Color, Progress, Style},
};
use crate::{
    choices::Allocates,
    memory::Ceiling,
    project_file::{Checks, Found},
};

/// Steps per engine and question, where nobody says anything else.
const STEPS: u64 = 3_000_000;

/// What to check and how.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// What must hold: `all`, `unreach-call`, `no-overflow`, or a list of checks (`division-by-zero,array-bounds`).
    #[arg(long, value_name = "PROPERTY")]
    property: Option<String>,
    /// Function that execution starts in (default: main; without one, every function without callers).
    #[arg(long, value_name = "FUNCTION")]
    entry: Vec<String>,
    /// An SV-COMP task definition: names the files, the data model and the properties.
    #[arg(long, value_name = "TASK.yml")]
    task: Option<PathBuf>,
    /// Engine, or several separated by commas; `portfolio`, `solver-free` and `library` are several (default: the portfolio).
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Steps per engine and question (default: 3000000): the same budget gives the same verdict on every machine, unless `--limit` ends the work first.
    #[arg(long, value_name = "STEPS")]
    budget: Option<u64>,
    /// Ends everything after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Megabytes that this process may use, and each process of the solver.
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    memory: u64,
    /// Runs the solver in this process: if it crashes, so does everything.
    #[arg(long)]
    in_process: bool,
    /// Stops at the first violation.
    #[arg(long)]
    first: bool,
    /// Verifies everything again, and remembers nothing.
    #[arg(long)]
    no_cache: bool,
    /// Failures that this earlier result has (`--format json`) are no news: they are not shown, and the exit code is not 1 because of them.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Failures whose path goes through no line that was changed since this revision of git are no news.
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
    /// Folder for what was verified before (default: `proofline` in the user's cache folder).
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache: Option<PathBuf>,
    /// Says what was verified and what was known from before.
    #[arg(long)]
    statistics: bool,
    /// Says on standard error what is being done, line by line (a terminal shows the last line anyway).
    #[arg(long)]
    progress: bool,
    /// How results are written to standard output. Exit codes and verdicts are the same in every format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Writes a report to look at in a browser: `DIR/index.html` shows verdicts in the source, failures step by step, and what proofs rest on.
    #[arg(long, value_name = "DIR")]
    pub(super) html: Option<PathBuf>,
    /// Writes a witness of SV-COMP. Of the first violation: GraphML 1.0 if the name ends in `.graphml`, else YAML 2.0. Of a proof: what is known
    /// of loops, in YAML 2.0.
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// Keeps the questions to the solver that proofs rest on, as SMT-LIB text for another solver: `cargo xtask second-eye`.
    #[arg(long, value_name = "DIR", hide = true)]
    keep_questions: Option<PathBuf>,
    /// Colours.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

/// What kept a program from being checked, for people.
pub(super) fn failed(why: CheckError) -> anyhow::Error {
    match why {
        CheckError::Solver(mismatch) => anyhow!("{mismatch}"),
        CheckError::Load(error) => error.into(),
        CheckError::NoSuchEntry(entry) => anyhow!(
            "there is no function `{entry}` with a body\n  help: --entry names a function of the program"
        ),
        CheckError::Stopped => anyhow!("stopped"),
        CheckError::OutOfTime => anyhow!("time limit: the program was not read in time"),
    }
}

/// What is known about one property.
#[derive(Clone)]
pub(crate) struct Answer {
    /// `all`, `unreach-call` …
    pub(crate) property: String,
    /// The property.
    pub(crate) question: Property,
    /// Everything found out.
    pub(crate) report: Report,
    /// How many failures are no news.
    pub(crate) old: usize,
    /// Failures that a comment takes back, by their number among the findings, and why.
    pub(crate) suppressed: BTreeMap<usize, String>,
    /// The work was stopped because of the memory that it took.
    pub(crate) is_out_of_memory: bool,
    /// What engines took. What was known from before took nothing.
    pub(crate) took: BTreeMap<&'static str, Took>,
}

/// What an engine took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Took {
    /// How often it was asked.
    pub(crate) questions: usize,
    /// All that took, on whatever thread.
    pub(crate) time: Duration,
}

impl Answer {
    /// The checks that were asked about.
    pub(crate) fn checks(&self) -> Vec<&'static str> {
        self.question.asked().map(|check| check.code()).collect()
    }

    /// The property, or the part of it that the first violation is one of.
    fn violated_part(&self) -> String {
        match self.report.failures().next() {
            Some(finding) => self.question.part(finding.check),
            None => self.property.clone(),
        }
    }

    /// `true`, `false(property)`, `unknown(reason)`, and the exit code.
    pub(crate) fn result(&self) -> (String, u8) {
        match self.report.overall() {
            Overall::True => ("true".to_owned(), 0),
            // These are named by what must not happen: where it cannot, they hold.
            Overall::Nothing if self.question.is_one_question() => ("true".to_owned(), 0),
            Overall::Nothing => ("nothing to prove".to_owned(), 0),
            Overall::False => (format!("false({})", self.violated_part()), 1),
            Overall::Unknown(Unknown::Cancelled) if self.is_out_of_memory => {
                (format!("unknown({})", Unknown::OutOfMemory), 2)
            }
            Overall::Unknown(why) => (format!("unknown({why})"), 2),
        }
    }
}

/// What is the same for all programs of one run.
pub(super) struct Session<'a> {
    pub(super) arguments: &'a Arguments,
    properties: Vec<Property>,
    engines: Vec<String>,
    entries: Vec<Name>,
    steps: u64,
    /// The project's own settings.
    pub(super) project_file: Option<Found>,
    /// Where answers outlive the process.
    cache: Option<PathBuf>,
    pub(super) control: Control,
    ceiling: Ceiling,
    pub(super) progress: Progress,
    pub(super) style: Style,
    /// Failures that are no news.
    old: Old,
    /// What several programs share is told once: where, and of which check.
    told: Mutex<BTreeSet<(PathBuf, u32, u32, &'static str)>>,
}

/// A program that was checked.
#[derive(Clone)]
pub(crate) struct Checked {
    /// Its name in the project; empty if there is one program only.
    pub(crate) name: String,
    /// Its texts.
    pub(crate) sources: Arc<Sources>,
    /// What was found out, by property.
    pub(crate) answers: Vec<Answer>,
    /// Its automata, if there are verdicts about them and somebody shows them.
    pub(crate) automata: Option<Arc<Program>>,
    /// What is known of its loops and functions, if somebody shows it.
    pub(crate) facts: Facts,
}

impl Answer {
    /// The exit code: failures that are no news, or that comments take back, do not count.
    pub(crate) fn code(&self) -> u8 {
        let (_, code) = self.result();
        if code != 1 || self.report.failures().count() > self.old + self.suppressed.len() {
            return code;
        }
        let is_open = self.report.verdicts.values().any(|verdict| matches!(verdict, Verdict::Unknown(_)));
        if is_open { 2 } else { 0 }
    }
}

/// Runs the checks and prints what they found.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
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
    if let Some(folder) = &arguments.keep_questions {
        keep_questions(folder).with_context(|| format!("cannot write to {}", shown(folder)))?;
    }
    let engines = engines(arguments)?;
    let programs = project::programs(&input, project_file.as_ref())?;
    let baseline = arguments.baseline.clone().or_else(|| project_file.as_ref().and_then(Found::baseline));
    let old = Old::read(baseline.as_deref(), arguments.since.as_deref())?;
    let cancel = interruptible();
    if !arguments.in_process {
        crate::solver_process::employ_workers(arguments.memory);
    }
    let ceiling = Ceiling::watch(arguments.memory, cancel.clone(), out_of_memory(arguments));
    let progress = Progress::new(arguments.progress);
    let cache = arguments.cache.clone().or_else(proofline_ide::default_cache);
    let listener = progress.clone();
    let control = Control {
        cancel: cancel.clone(),
        deadline: arguments.limit.or(says.limit).map(|seconds| started + Duration::from_secs(seconds)),
        progress: Some(Arc::new(move |text| listener.say(text))),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        found: None,
        asked: None,
    };
    let session = Session {
        arguments,
        properties,
        engines,
        entries: arguments.entry.iter().map(|name| Name::new(name)).collect(),
        steps: arguments.budget.or(says.budget).unwrap_or(STEPS),
        project_file,
        cache: cache.filter(|_| !arguments.no_cache),
        control,
        ceiling,
        progress,
        style: Style::new(arguments.color),
        old,
        told: Mutex::default(),
    };
    let code = match programs {
        None => session.one(&input)?,
        Some(_) if arguments.witness.is_some() => bail!(
            "--witness is about one program, and this folder may have several\n  help: name the C files of the program"
        ),
        Some(programs) => session.project(&input, programs)?,
    };
    if session.ceiling.is_reached() {
        eprintln!("more than {} MB were needed (--memory): this is what is known so far", arguments.memory);
    } else if cancel.is_cancelled() {
        eprintln!("interrupted: this is what is known so far");
    }
    Ok(ExitCode::from(code))
}

impl Session<'_> {
    /// Checks the only program.
    fn one(&self, input: &Input) -> Result<u8> {
        let is_text = self.arguments.format == Format::Text;
        // Not locked: if memory runs out, another thread has the last word.
        let mut out = std::io::stdout();
        let (checked, program) = self.check("", input, &self.control, &mut out, true)?;
        self.progress.done();
        program.save();
        if self.arguments.statistics && is_text {
            let done = program.take_statistics();
            writeln!(out, "entries verified: {}, known from before: {}", done.verified, done.recalled)?;
            writeln!(
                out,
                "functions whose blocks were rechecked: {}, reused: {}",
                done.rechecked, done.reused
            )?;
            writeln!(out, "blocks found on the disk: {}", done.blocks_from_disk)?;
        }
        let code = self.code(&checked);
        match self.arguments.format {
            Format::Text => self.results(&checked, &mut out)?,
            Format::Json => writeln!(out, "{:#}", formats::json(&checked))?,
            Format::Sarif => writeln!(out, "{:#}", formats::sarif(std::slice::from_ref(&checked)))?,
        }
        if let Some(folder) = &self.arguments.html {
            html::write(folder, std::slice::from_ref(&checked), &[])?;
        }
        if let Some(file) = &self.arguments.witness {
            let invariants = || program.loop_invariants(&self.control).map_err(failed);
            write_witness(input, &checked.answers, file, &invariants)?;
        }
        Ok(code)
    }

    /// Reads and checks one program, and writes what people read of it, up to the result.
    pub(super) fn check(
        &self,
        name: &str,
        input: &Input,
        control: &Control,
        out: &mut dyn Write,
        tells_at_once: bool,
    ) -> Result<(Checked, WholeProgram)> {
        self.progress.say("reading the program");
        let program = input.program(self.cache.as_deref())?;
        let (sources, is_read) = match program.sources_within(control) {
            Ok(sources) => (Arc::new(sources), true),
            Err(CheckError::OutOfTime) => (Arc::default(), false),
            Err(why) => return Err(failed(why)),
        };
        let is_text = self.arguments.format == Format::Text;
        if is_text {
            for problem in sources.problems() {
                write!(out, "{}", render::problem(&sources, problem, self.style))?;
            }
        }
        let mut answers = Vec::new();
        for property in &self.properties {
            let request = Request {
                property: property.clone(),
                engines: self.engines.clone(),
                steps: self.steps,
                first_only: self.arguments.first || property.is_one_question(),
                round: Round::default(),
                under: Arc::default(),
            };
            let shown: Arc<Mutex<Vec<Counterexample>>> = Arc::default();
            let mut control = control.clone();
            if tells_at_once
                && is_text
                && !request.first_only
                && self.entries.is_empty()
                && self.old.is_nothing()
            {
                control.found = Some(teller(&sources, &self.progress, self.style, &shown));
            }
            let took: Arc<Mutex<BTreeMap<&'static str, Took>>> = Arc::default();
            if self.arguments.html.is_some() {
                control.asked = Some(clock(&took));
            }
            let report = match is_read {
                true => self.report(&program, &request, &control)?,
                false => Report::nothing(Unknown::OutOfTime),
            };
            let old = self.old.of(&report);
            let suppressed = suppressed(&report, &old, &sources);
            if is_text {
                let shown = shown.lock();
                let is_told = |finding: &Finding| {
                    let at = finding.position.clone().filter(|_| !name.is_empty());
                    let at = at.map(|at| (at.path.to_path_buf(), at.line, at.column, finding.check.code()));
                    at.is_some_and(|at| !self.told.lock().insert(at))
                };
                let is_news = |finding: &&Finding| {
                    !shown.contains(&finding.counterexample)
                        && !old.contains(finding)
                        && reason(finding, &sources).is_none()
                        && !is_told(finding)
                };
                for finding in report.failures().filter(is_news) {
                    write!(out, "{}", render::finding(&sources, finding, self.style))?;
                }
                drop(shown);
                write!(out, "{}", render::latent(&report, self.style))?;
                write!(out, "{}", render::table(&report, self.style))?;
                if matches!(report.overall(), Overall::Unknown(_))
                    && is_read
                    && let Ok(automata) = program.program()
                {
                    write!(out, "{}", render::undecided(&report, &automata, &sources, self.style))?;
                }
            }
            answers.push(Answer {
                property: property.name(),
                question: property.clone(),
                old: old.len(),
                suppressed,
                report,
                is_out_of_memory: self.ceiling.is_reached(),
                took: took.lock().clone(),
            });
        }
        let is_html = self.arguments.html.is_some();
        let is_needed = (is_html || self.arguments.format == Format::Json)
            && answers.iter().any(|answer| !answer.report.verdicts.is_empty());
        let automata = is_needed.then(|| program.program()).transpose().map_err(failed)?;
        // More than verdicts: where time is over, the report does without.
        let facts =
            if is_html && is_needed { program.facts(control).unwrap_or_default() } else { Facts::default() };
        Ok((Checked { name: name.to_owned(), sources, answers, automata, facts }, program))
    }

    /// Checks a program from the entries of the command line, or from those of the project's file that it has.
    fn report(&self, program: &WholeProgram, request: &Request, control: &Control) -> Result<Report> {
        if !self.entries.is_empty() {
            return program.check(request, &self.entries, control).map_err(failed);
        }
        let says = self.project_file.iter().flat_map(|found| &found.says.entries);
        let mut entries: Vec<Name> = says.map(|name| Name::new(name)).collect();
        loop {
            match program.check(request, &entries, control) {
                Err(CheckError::NoSuchEntry(missing)) if entries.contains(&missing) => {
                    entries.retain(|entry| *entry != missing);
                }
                done => return done.map_err(failed),
            }
        }
    }

    /// The last lines about a program.
    pub(super) fn results(&self, checked: &Checked, out: &mut dyn Write) -> Result<()> {
        for answer in &checked.answers {
            if let Some(engine) = answer.report.last_engine {
                writeln!(out, "decided by: {engine}")?;
            }
            writeln!(out, "checks: {}", answer.checks().join(", "))?;
            if let Some(found) = &self.project_file {
                writeln!(out, "settings: {}", shown(&found.path))?;
            }
            if answer.old > 0 {
                writeln!(out, "failures that are no news: {}", answer.old)?;
            }
            if !answer.suppressed.is_empty() {
                writeln!(out, "failures that comments take back: {}", answer.suppressed.len())?;
            }
            writeln!(out, "RESULT: {}", answer.result().0)?;
        }
        Ok(())
    }

    /// The exit code for a program.
    pub(super) fn code(&self, checked: &Checked) -> u8 {
        checked.answers.iter().map(Answer::code).fold(0, worst)
    }
}

/// Violated is worse news than unknown, and unknown than proved.
pub(super) fn worst(code: u8, next: u8) -> u8 {
    if code == 1 || next == 1 { 1 } else { code.max(next) }
}

/// Why a comment takes a finding back.
fn reason(finding: &Finding, sources: &Sources) -> Option<String> {
    let position = finding.position.as_ref()?;
    let text = sources.text_of(&position.path)?;
    suppressed_because(finding.check.code(), position.line, |at| text.lines().nth(at))
}

/// Failures that are news, and that comments take back.
fn suppressed(report: &Report, old: &[&Finding], sources: &Sources) -> BTreeMap<usize, String> {
    let all = report.findings.iter().enumerate();
    let news = all.filter(|(_, finding)| report.is_failure(finding) && !old.contains(finding));
    news.filter_map(|(at, finding)| Some((at, reason(finding, sources)?))).collect()
}

/// Shows failures as soon as they are known, each once.
fn teller(
    sources: &Arc<Sources>,
    progress: &Progress,
    style: Style,
    shown: &Arc<Mutex<Vec<Counterexample>>>,
) -> Arc<FindingListener> {
    let (sources, progress, shown) = (sources.clone(), progress.clone(), shown.clone());
    Arc::new(move |finding| {
        let mut shown = shown.lock();
        if !shown.contains(&finding.counterexample) && reason(finding, &sources).is_none() {
            shown.push(finding.counterexample.clone());
            let text = render::finding(&sources, finding, style);
            // Whoever does not read any more learns it at the end.
            progress.beside(|| drop(std::io::stdout().write_all(text.as_bytes())));
        }
    })
}

/// Adds up what engines take.
fn clock(took: &Arc<Mutex<BTreeMap<&'static str, Took>>>) -> Arc<AskedListener> {
    let took = took.clone();
    Arc::new(move |engine, time| {
        let mut took = took.lock();
        let all = took.entry(engine).or_default();
        all.questions += 1;
        all.time += time;
    })
}

/// A property's name, or a property file.
fn property(text: &str) -> Result<Property> {
    if text.ends_with(".prp") {
        let content = std::fs::read_to_string(text).with_context(|| format!("cannot read {text}"))?;
        return Ok(Property::parse(&content)?);
    }
    Ok(Property::parse(text)?)
}

fn engines(arguments: &Arguments) -> Result<Vec<String>> {
    let groups = engine_groups();
    let mut engines: Vec<String> = Vec::new();
    for name in arguments.engine.iter().flat_map(|e| e.split(',')) {
        match groups.iter().find(|(group, _)| *group == name) {
            Some((_, members)) => engines.extend(members.iter().map(|member| (*member).to_owned())),
            None => engines.push(name.to_owned()),
        }
    }
    if let Some(unknown) = engines.iter().find(|name| !engine_names().contains(&name.as_str())) {
        bail!(
            "unknown engine `{unknown}`\n  help: engines are {}; several together are {}",
            engine_names().join(", "),
            groups.map(|(group, members)| format!("{group} ({})", members.join(", "))).join(", ")
        );
    }
    Ok(engines)
}

/// Ctrl-C ends the work, and what is known is reported; a second one ends the program at once.
fn interruptible() -> Cancel {
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

fn write_witness(
    input: &Input,
    answers: &[Answer],
    file: &Path,
    invariants: &dyn Fn() -> Result<Vec<LoopInvariant>>,
) -> Result<()> {
    let violation = answers.iter().find_map(|answer| Some((answer, answer.report.failures().next()?)));
    let text = match (violation, answers) {
        (Some((answer, finding)), _) => formats::violation_witness(input, &answer.property, finding, file)?,
        (None, [answer]) if matches!(answer.report.overall(), Overall::True) => {
            formats::correctness_witness(input, &answer.property, &invariants()?)?
        }
        (None, _) => {
            eprintln!(
                "note: neither a violation nor a proof of one property, so {} is not written",
                shown(file)
            );
            return Ok(());
        }
    };
    std::fs::write(file, text).with_context(|| format!("cannot write {}", shown(file)))
}
