//! `proofline check`

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use parking_lot::Mutex;
use proofline_ide::{
    check::{
        AskedListener, CheckError, Control, Facts, Finding, FindingListener, LoopInvariant, Overall, Program,
        Property, Report, Sources, TeamPlace, Unknown, Verdict, WholeProgram,
    },
    shown,
};

use super::{
    formats::{self, Format},
    html,
    input::Input,
    news::{reason, suppressed},
    render,
    session::{Prepared, Session},
    terminal::Color,
};

/// What to check and how.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) input: Input,
    /// What must hold: `all`, `unreach-call`, `no-overflow`, or a list of checks (`division-by-zero,array-bounds`).
    #[arg(long, value_name = "PROPERTY")]
    pub(super) property: Option<String>,
    /// Function that execution starts in (default: main; without one, every function without callers).
    #[arg(long, value_name = "FUNCTION")]
    pub(super) entry: Vec<String>,
    /// An SV-COMP task definition: names the files, the data model and the properties.
    #[arg(long, value_name = "TASK.yml")]
    pub(super) task: Option<PathBuf>,
    /// Engine, or several separated by commas; `portfolio`, `solver-free` and `library` are several (default: the portfolio).
    #[arg(long, value_name = "ENGINE")]
    pub(super) engine: Option<String>,
    /// A file with engines of your own, which `--engine` may name; without it they are asked in the order of its `portfolio`, or of the file.
    #[arg(long, value_name = "FILE.yml")]
    pub(super) configuration: Option<PathBuf>,
    /// Steps per engine and question (default: 3000000): the same budget gives the same verdict on every machine, unless `--limit` ends the work first.
    #[arg(long, value_name = "STEPS")]
    pub(super) budget: Option<u64>,
    /// Ends everything after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(super) limit: Option<u64>,
    /// Megabytes that this process may use.
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    pub(super) memory: u64,
    /// Megabytes that one engine may use of them, and each helper process: where that is not enough, the next engine is asked.
    #[arg(long, value_name = "MB", default_value_t = 400)]
    pub(super) engine_memory: u64,
    /// Starts no helper processes: if a part of the work crashes, everything does.
    #[arg(long)]
    pub(super) in_process: bool,
    /// Stops at the first violation.
    #[arg(long)]
    pub(super) first: bool,
    /// Verifies everything again, and remembers nothing.
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Failures that this earlier result has (`--format json`) are no news: they are not shown, and the exit code is not 1 because of them.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Failures whose path goes through no line that was changed since this revision of git are no news.
    #[arg(long, value_name = "REVISION")]
    pub(super) since: Option<String>,
    /// Folder for what was verified before (default: `proofline` in the user's cache folder).
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub(super) cache: Option<PathBuf>,
    /// Where a team shares what was verified: a folder, `redis://HOST:PORT`, or `s3://BUCKET/PREFIX` (default: what `PROOFLINE_STORE` says).
    /// What is found there is checked again before it counts.
    #[arg(long, value_name = "PLACE", conflicts_with = "no_cache")]
    pub(super) store: Option<String>,
    /// Says what was verified and what was known from before.
    #[arg(long)]
    pub(super) statistics: bool,
    /// Says on standard error what is being done, line by line (a terminal shows the last line anyway).
    #[arg(long)]
    pub(super) progress: bool,
    /// How results are written to standard output. Exit codes and verdicts are the same in every format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Writes a report to look at in a browser: `DIR/index.html` shows verdicts in the source, failures step by step, and what proofs rest on.
    #[arg(long, value_name = "DIR")]
    pub(super) html: Option<PathBuf>,
    /// Writes a witness of SV-COMP. Of the first violation: GraphML 1.0 if the name ends in `.graphml`, else YAML 2.0. Of a proof: what is known
    /// of loops, in YAML 2.0.
    #[arg(long, value_name = "FILE")]
    pub(super) witness: Option<PathBuf>,
    /// Keeps the questions to the solver that proofs rest on, as SMT-LIB text for another solver: `cargo xtask second-eye`.
    #[arg(long, value_name = "DIR", hide = true)]
    pub(super) keep_questions: Option<PathBuf>,
    /// Colours.
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(super) color: Color,
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
    /// Failures that are no news, by their number among the findings.
    pub(crate) old: BTreeSet<usize>,
    /// Somebody asks what is news.
    pub(crate) is_compared: bool,
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
    /// How often recursion was unwound for an answer, by engines that do that.
    pub(crate) depth: Option<u32>,
}

impl Answer {
    /// How often recursion was unwound by who decided.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.took.get(self.report.last_engine?)?.depth
    }

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
        if code != 1 || self.report.failures().count() > self.old.len() + self.suppressed.len() {
            return code;
        }
        let is_open = self.report.verdicts.values().any(|verdict| matches!(verdict, Verdict::Unknown(_)));
        if is_open { 2 } else { 0 }
    }
}

/// Runs the checks and prints what they found.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let prepared = Prepared::new(arguments)?;
    Ok(ExitCode::from(prepared.check()?))
}

impl Session<'_> {
    /// Checks the only program.
    pub(super) fn one(&self, input: &Input) -> Result<u8> {
        let is_text = self.arguments.format == Format::Text;
        // Not locked: if memory runs out, another thread has the last word.
        let mut out = std::io::stdout();
        let (checked, program) = self.check("", input, &self.control, &mut out)?;
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
            if let Some(team) = &self.team {
                writeln!(
                    out,
                    "entries that the team's store knew: {}, of which it said what does not hold: {}",
                    done.confirmed, done.refused
                )?;
                if let Some(trouble) = team.trouble() {
                    writeln!(out, "the team's store is of no use at the moment: {trouble}")?;
                }
            }
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

    fn place(&self) -> Option<Arc<dyn TeamPlace>> {
        self.team.clone().map(|place| place as Arc<dyn TeamPlace>)
    }

    /// Reads and checks one program, and writes what people read of it, up to the result.
    pub(super) fn check(
        &self,
        name: &str,
        input: &Input,
        control: &Control,
        out: &mut dyn Write,
    ) -> Result<(Checked, WholeProgram)> {
        self.progress.say("reading the program");
        let program = match self.answers.get(name) {
            Some(answers) => input.answered(answers, self.place())?,
            None => input.program(self.cache.as_deref(), self.place())?,
        };
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
        for property in &self.asked.properties {
            let request = self.asked.request(property);
            let shown: Arc<Mutex<BTreeSet<Shown>>> = Arc::default();
            let mut control = control.clone();
            if is_text && !request.first_only {
                control.found = Some(self.teller(name, &sources, &shown));
            }
            let took: Arc<Mutex<BTreeMap<&'static str, Took>>> = Arc::default();
            control.asked = Some(clock(&took));
            let report = match is_read {
                true => self.asked.report(&program, &request, &control)?,
                false => Report::nothing(Unknown::OutOfTime),
            };
            let old = self.old.of(&report);
            let suppressed = suppressed(&report, &old, &sources);
            if is_text {
                let is_news = |(at, finding): &(usize, &Finding)| {
                    report.is_failure(finding)
                        && !old.contains(at)
                        && reason(finding, &sources).is_none()
                        && shown.lock().insert(as_shown(finding))
                        && (name.is_empty() || self.told.is_first(finding))
                };
                for (_, finding) in report.findings.iter().enumerate().filter(is_news) {
                    write!(out, "{}", render::finding(&sources, finding, self.style))?;
                }
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
                old,
                is_compared: !self.old.is_nothing(),
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

    /// Shows failures as soon as they are known, each once. What other findings may make no news is not shown yet.
    fn teller(
        &self,
        name: &str,
        sources: &Arc<Sources>,
        shown: &Arc<Mutex<BTreeSet<Shown>>>,
    ) -> Arc<FindingListener> {
        let (sources, progress, style) = (sources.clone(), self.progress.clone(), self.style);
        let (old, shown) = (self.old.clone(), shown.clone());
        let told = (!name.is_empty()).then(|| self.told.clone());
        Arc::new(move |finding| {
            let is_news = old.is_surely_news(finding) && reason(finding, &sources).is_none();
            if is_news
                && shown.lock().insert(as_shown(finding))
                && told.as_ref().is_none_or(|told| told.is_first(finding))
            {
                let text = render::finding(&sources, finding, style);
                // Whoever does not read any more learns it at the end.
                progress.beside(|| drop(std::io::stdout().write_all(text.as_bytes())));
            }
        })
    }

    /// The last lines about a program.
    pub(super) fn results(&self, checked: &Checked, out: &mut dyn Write) -> Result<()> {
        for answer in &checked.answers {
            // Of interest to authors of engines.
            if let Some(engine) = answer.report.last_engine.filter(|_| self.arguments.statistics) {
                writeln!(out, "decided by: {engine}")?;
            }
            if self.arguments.statistics
                && let Some(depth) = answer.depth()
            {
                writeln!(out, "recursion unwound: {depth}")?;
            }
            writeln!(out, "checks: {}", answer.checks().join(", "))?;
            if let Some(found) = &self.project_file {
                writeln!(out, "settings: {}", shown(&found.path))?;
            }
            if !answer.old.is_empty() {
                writeln!(out, "failures that are no news: {}", answer.old.len())?;
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

/// What people see of a failure before its path: it is shown once, whichever functions come to it.
type Shown = (&'static str, String, Option<(PathBuf, u32, u32)>);

fn as_shown(finding: &Finding) -> Shown {
    let at = finding.position.as_ref().map(|at| (at.path.to_path_buf(), at.line, at.column));
    (finding.check.code(), finding.title.clone(), at)
}

/// Adds up what engines take.
fn clock(took: &Arc<Mutex<BTreeMap<&'static str, Took>>>) -> Arc<AskedListener> {
    let took = took.clone();
    Arc::new(move |engine, time, depth| {
        let mut took = took.lock();
        let all = took.entry(engine).or_default();
        all.questions += 1;
        all.time += time;
        all.depth = all.depth.max(depth);
    })
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
