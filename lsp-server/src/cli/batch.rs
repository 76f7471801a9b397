//! Batches: a check that other machines do. `plan` writes what is to be done, `solve` does a part of it, anywhere, `merge` reports as if all
//! had been done here. A job is one program: what was asked, and the texts that reading it takes, by content. So a machine needs this binary
//! and the plan, and none of the project's files; and a job that is done twice, or lost, costs time and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    time::Instant,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use proofline_ide::{
    check::{Control, ENGINES, Monitors, Name, Property, Texts, WholeProgram, engine_names},
    shown,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    check::{Arguments, failed},
    formats::Format,
    input::{self, Input},
    session::{Asked, Prepared, interruptible},
    terminal::Color,
};
use crate::{choices::is_shipped, memory::resident_mb};

/// `proofline plan`
#[derive(clap::Args)]
pub(super) struct PlanArguments {
    /// Where the plan goes: a folder that is new, or has an older plan.
    plan: PathBuf,
    /// Writes `build.ninja`, too: `ninja -C PLAN` solves everything.
    #[arg(long)]
    ninja: bool,
    /// What `proofline check` is given.
    #[arg(last = true, value_name = "FILE… OPTIONS OF CHECK", allow_hyphen_values = true)]
    check: Vec<String>,
}

/// `proofline solve`
#[derive(clap::Args)]
pub(super) struct SolveArguments {
    /// The folder of a plan.
    plan: PathBuf,
    /// Jobs by number (default: all).
    #[arg(value_name = "JOB", conflicts_with = "shard")]
    jobs: Vec<String>,
    /// Every N-th job from the K-th on: what machine K of N does.
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Megabytes that each process of the solver may use.
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    memory: u64,
}

/// `proofline merge`
#[derive(clap::Args)]
pub(super) struct MergeArguments {
    /// The folder of a plan whose jobs are solved.
    plan: PathBuf,
    /// How results are written to standard output.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Writes a report to look at in a browser.
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// Says what was verified here after all.
    #[arg(long)]
    statistics: bool,
    /// Colours.
    #[arg(long, value_enum)]
    color: Option<Color>,
}

/// The options of `check`, on their own.
#[derive(Parser)]
#[command(name = "proofline check")]
struct Check {
    #[command(flatten)]
    arguments: Arguments,
}

/// A part of all jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shard {
    /// From 1.
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            Some(_) | None => Err("a part is K/N, with K from 1 to N: `2/8`".to_owned()),
        }
    }
}

/// `plan.json`
#[derive(Serialize, Deserialize)]
struct Plan {
    /// Which engines are to solve it: those of `merge`.
    engines: String,
    /// What `check` was given.
    check: Vec<String>,
    /// In the order of their numbers.
    jobs: Vec<Planned>,
}

/// A job, from outside.
#[derive(Serialize, Deserialize)]
struct Planned {
    number: String,
    /// Of the program in its project; empty if it is the only one.
    name: String,
    /// Hash of the job's file: an answer says which it answers.
    job: String,
    /// Bytes of the program's own files: about how much work it is.
    bytes: u64,
}

/// `jobs/NUMBER.json`
#[derive(Serialize, Deserialize)]
struct Job {
    input: Input,
    /// The folder that relative paths are meant from.
    folder: PathBuf,
    /// Hashes of texts, by path. They are in `texts/HASH`.
    texts: BTreeMap<PathBuf, String>,
    /// Texts of monitors in files, by name.
    monitors: BTreeMap<String, String>,
    properties: Vec<String>,
    engines: Vec<String>,
    entries: Vec<String>,
    wished: Vec<String>,
    steps: u64,
    first: bool,
}

/// The first line of `answers/NUMBER`; the answers' bytes follow.
#[derive(Serialize, Deserialize)]
struct Answered {
    job: String,
    engines: String,
    seconds: f64,
    megabytes: Option<u64>,
}

const PLAN: &str = "plan.json";
const JOBS: &str = "jobs";
const TEXTS: &str = "texts";
const ANSWERS: &str = "answers";

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a file that others may look for: it is there whole, or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("cannot write {}", shown(path));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(what)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(what)?;
    file.write_all(bytes).with_context(what)?;
    file.persist(path).with_context(what)?;
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", shown(path)))
}

/// Writes a plan.
///
/// # Errors
/// If a program cannot be read, or the plan cannot be written.
pub(super) fn plan(given: &PlanArguments) -> Result<ExitCode> {
    let check = checked(&given.check)?;
    ensure!(
        check.witness.is_none() && check.keep_questions.is_none(),
        "--witness is for one program, checked here"
    );
    let prepared = Prepared::new(&check)?;
    let programs = match &prepared.programs {
        None => BTreeMap::from([(String::new(), prepared.input.files.clone())]),
        Some(programs) => programs.clone(),
    };
    let folder = std::env::current_dir()?;
    let (mut jobs, mut texts) = (Vec::new(), BTreeMap::new());
    for (at, (name, files)) in programs.into_iter().enumerate() {
        let input = prepared.input.of(files);
        let program = input.program(None, None)?;
        program.sources_within(&prepared.session.control).map_err(failed)?;
        let read = program.texts();
        let bytes = input.files.iter().filter_map(|file| read.get(file)).map(|text| text.len() as u64).sum();
        let mut job = Job::new(&prepared.session.asked, input, folder.clone())?;
        for (path, text) in read {
            let name = hash(&text);
            job.texts.insert(path, name.clone());
            texts.insert(name, text);
        }
        let (number, content) = (format!("{:05}", at + 1), serde_json::to_vec_pretty(&job)?);
        write(&given.plan.join(JOBS).join(format!("{number}.json")), &content)?;
        jobs.push(Planned { number, name, job: hash(&content), bytes });
    }
    for (name, text) in &texts {
        let path = given.plan.join(TEXTS).join(name);
        if !path.exists() {
            write(&path, text)?;
        }
    }
    let plan = Plan { engines: ENGINES.to_owned(), check: given.check.clone(), jobs };
    if given.ninja {
        write(&given.plan.join("build.ninja"), ninja(&plan)?.as_bytes())?;
    }
    // The last file: a plan that can be read is whole.
    write(&given.plan.join(PLAN), &serde_json::to_vec_pretty(&plan)?)?;
    let bytes: usize = texts.values().map(|text| text.len()).sum();
    println!(
        "{}: jobs: {}, texts: {} ({} KB)",
        shown(&given.plan),
        plan.jobs.len(),
        texts.len(),
        bytes >> 10
    );
    Ok(ExitCode::SUCCESS)
}

/// The options of `check`, as it would take them.
fn checked(given: &[String]) -> Result<Arguments> {
    let words = std::iter::once("check".to_owned()).chain(given.iter().cloned());
    let words = input::gcc_spelling(words.map(Into::into));
    let check = Check::try_parse_from(words).map_err(|error| anyhow!("{}", error.render()))?;
    Ok(check.arguments)
}

/// Solves all jobs, as many at a time as ninja thinks right.
fn ninja(plan: &Plan) -> Result<String> {
    let program = std::env::current_exe()?;
    let program = program.to_string_lossy().replace('$', "$$").replace('\'', "'\\''");
    let mut out = format!(
        "# Made by `proofline plan`.\nrule solve\n  command = '{program}' solve . $job\n  description = job $job of {} $name\n",
        plan.jobs.len()
    );
    for Planned { number, name, .. } in &plan.jobs {
        let name: String = name.chars().filter(|c| !c.is_control() && *c != '$').collect();
        out += &format!(
            "build {ANSWERS}/{number}: solve {JOBS}/{number}.json\n  job = {number}\n  name = {name}\n"
        );
    }
    Ok(out)
}

impl Job {
    fn new(asked: &Asked, input: Input, folder: PathBuf) -> Result<Job> {
        let named = |property: &Property| {
            let name = property.name();
            ensure!(Property::parse(&name).ok().as_ref() == Some(property), "`{name}` cannot be planned");
            Ok(name)
        };
        let own = asked.engines.iter().find(|name| !engine_names().contains(&name.as_str()));
        if let Some(own) = own {
            bail!(
                "the engine `{own}` is one of your own, and who solves a job does not have it\n  help: name engines that come with \
                 Proofline, with --engine"
            );
        }
        let names = |names: &[Name]| names.iter().map(ToString::to_string).collect();
        let mut monitors = BTreeMap::new();
        for name in input.monitor.iter().filter(|name| !is_shipped(name)) {
            let text = fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
            monitors.insert(name.clone(), text);
        }
        Ok(Job {
            input,
            folder,
            texts: BTreeMap::new(),
            monitors,
            properties: asked.properties.iter().map(named).collect::<Result<_>>()?,
            engines: asked.engines.clone(),
            entries: names(&asked.entries),
            wished: names(&asked.wished),
            steps: asked.steps,
            first: asked.first,
        })
    }

    fn asked(&self) -> Result<Asked> {
        let names = |names: &[String]| names.iter().map(|name| Name::new(name)).collect();
        Ok(Asked {
            properties: self
                .properties
                .iter()
                .map(|name| Ok(Property::parse(name)?))
                .collect::<Result<_>>()?,
            engines: self.engines.clone(),
            entries: names(&self.entries),
            wished: names(&self.wished),
            steps: self.steps,
            first: self.first,
        })
    }

    /// Finds out what is asked, from the plan's texts alone. The answers, for `merge`.
    fn solve(&self, plan: &Path, control: &Control) -> Result<Vec<u8>> {
        let mut texts = Texts::new();
        for (path, name) in &self.texts {
            let bytes = read(&plan.join(TEXTS).join(name))?;
            ensure!(hash(&bytes) == *name, "{TEXTS}/{name} is damaged\n  help: copy the plan again");
            texts.insert(path.clone(), bytes.into());
        }
        let asked = self.asked()?;
        let mut input = self.input.clone();
        if asked.properties.iter().any(Property::asks_of_monitors) {
            let text = |name: &str| self.monitors.get(name).cloned().ok_or("not in the plan".to_owned());
            input.monitors = Monitors::named(&input.monitor, &text)?;
        }
        let (files, options) = (input.files.clone(), input.options());
        let program = WholeProgram::closed(files, options, texts, self.folder.clone()).map_err(failed)?;
        for property in &asked.properties {
            asked.report(&program, &asked.request(property), control)?;
        }
        Ok(program.answers())
    }
}

fn plan_of(folder: &Path) -> Result<Plan> {
    let path = folder.join(PLAN);
    let plan: Plan = serde_json::from_slice(&read(&path)?)
        .with_context(|| format!("{} is no plan\n  help: `proofline plan` writes one", shown(&path)))?;
    ensure!(
        plan.engines == ENGINES,
        "{} was made by another version of proofline\n  help: plan, solve and merge with the same one",
        shown(&path)
    );
    // They become names of files.
    let is_number = |job: &Planned| job.number.bytes().all(|byte| byte.is_ascii_digit());
    ensure!(plan.jobs.iter().all(is_number), "{}: jobs have numbers", shown(&path));
    Ok(plan)
}

/// What is there of a job's answer, if it is one.
fn answered(folder: &Path, planned: &Planned) -> Option<(Answered, Vec<u8>)> {
    let bytes = fs::read(folder.join(ANSWERS).join(&planned.number)).ok()?;
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Answered = serde_json::from_slice(&bytes[..at]).ok()?;
    let fits = head.job == planned.job && head.engines == ENGINES;
    fits.then(|| (head, bytes[at + 1..].to_vec()))
}

/// Solves jobs that have no answer yet.
///
/// # Errors
/// If the plan is damaged, or an answer cannot be written.
pub(super) fn solve(given: &SolveArguments) -> Result<ExitCode> {
    let plan = plan_of(&given.plan)?;
    let wanted: BTreeSet<&str> = given.jobs.iter().map(String::as_str).collect();
    if let Some(unknown) = wanted.iter().find(|number| plan.jobs.iter().all(|job| job.number != **number)) {
        bail!("there is no job `{unknown}`\n  help: jobs are 00001 to {:05}", plan.jobs.len());
    }
    let is_mine = |at: usize| given.shard.is_none_or(|shard| at % shard.of == shard.number - 1);
    let mut jobs: Vec<&Planned> =
        plan.jobs.iter().filter(|job| wanted.is_empty() || wanted.contains(job.number.as_str())).collect();
    // The largest first; every machine deals them out in the same way.
    jobs.sort_by_key(|job| (std::cmp::Reverse(job.bytes), &job.number));
    let jobs: Vec<&Planned> =
        jobs.into_iter().enumerate().filter(|(at, _)| is_mine(*at)).map(|(_, job)| job).collect();
    crate::solver_process::employ_workers(given.memory);
    let cancel = interruptible();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let control = Control { cancel: cancel.clone(), threads, ..Control::default() };
    for (at, planned) in jobs.iter().enumerate() {
        if answered(&given.plan, planned).is_some() {
            continue;
        }
        let content = read(&given.plan.join(JOBS).join(format!("{}.json", planned.number)))?;
        ensure!(
            hash(&content) == planned.job,
            "job {} is damaged\n  help: copy the plan again",
            planned.number
        );
        let job: Job = serde_json::from_slice(&content)?;
        let began = Instant::now();
        let answers = job.solve(&given.plan, &control)?;
        if cancel.is_cancelled() {
            eprintln!("interrupted: {} of {} jobs are solved", at, jobs.len());
            return Ok(ExitCode::from(2));
        }
        let seconds = began.elapsed().as_secs_f64();
        let (job, engines) = (planned.job.clone(), ENGINES.to_owned());
        let mut bytes = serde_json::to_vec(&Answered { job, engines, seconds, megabytes: resident_mb() })?;
        bytes.push(b'\n');
        bytes.extend(answers);
        write(&given.plan.join(ANSWERS).join(&planned.number), &bytes)?;
        println!("{} {} ({seconds:.1} s, {} of {})", planned.number, planned.name, at + 1, jobs.len());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports what `check` would, with what the jobs found out. What they did not is found out here.
///
/// # Errors
/// If a job has no answer, or what `check` says.
pub(super) fn merge(given: &MergeArguments) -> Result<ExitCode> {
    let plan = plan_of(&given.plan)?;
    let mut answers = BTreeMap::new();
    let (mut missing, mut seconds) = (Vec::new(), 0.0);
    for planned in &plan.jobs {
        match answered(&given.plan, planned) {
            Some((head, bytes)) => {
                seconds += head.seconds;
                answers.insert(planned.name.clone(), bytes);
            }
            None => missing.push(planned.number.as_str()),
        }
    }
    if !missing.is_empty() {
        let named = missing.iter().take(10).copied().collect::<Vec<_>>().join(" ");
        let more = if missing.len() > 10 { " …" } else { "" };
        bail!(
            "{} of {} jobs have no answer: {named}{more}\n  help: proofline solve {} {named}",
            missing.len(),
            plan.jobs.len(),
            shown(&given.plan)
        );
    }
    let mut check = checked(&plan.check)?;
    check.format = given.format.unwrap_or(check.format);
    check.color = given.color.unwrap_or(check.color);
    check.html = given.html.clone().or(check.html);
    check.statistics |= given.statistics;
    let mut prepared = Prepared::new(&check)?;
    prepared.session.answers = answers;
    let code = prepared.check()?;
    if given.statistics {
        eprintln!("jobs: {}, solved in {seconds:.1} s together", plan.jobs.len());
    }
    Ok(ExitCode::from(code))
}
