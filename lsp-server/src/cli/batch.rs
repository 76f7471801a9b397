//! Batches: a check that other machines do. `plan` writes what is to be done, `solve` does a part of it, anywhere, `merge` reports as if all
//! had been done here. A job is one program: what was asked, and the texts that reading it takes, by content. So a machine needs this binary
//! and the plan, and none of the project's files; and a job that is done twice, or lost, costs time and nothing else.
//! A job's number is a hash of its content: a plan that is made again has the same numbers for what has not changed, and the old answers.

mod cost;
mod ninja;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use proofline_ide::{
    check::{Control, ENGINES, Monitors, Name, Property, TeamPlace, Texts, WholeProgram, engine_names},
    shown,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::cost::{Cost, measured};
use super::{
    check::{Arguments, failed},
    formats::Format,
    input::{self, Input},
    session::{Asked, Prepared, interruptible},
    terminal::Color,
};
use crate::{choices::is_shipped, team};

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
    /// Jobs by number (default: all). Of the plan, these need nothing but their own file and their texts.
    #[arg(value_name = "JOB", conflicts_with = "shard")]
    jobs: Vec<String>,
    /// Every N-th job from the K-th on: what machine K of N does.
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Megabytes that each process of the solver may use.
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    memory: u64,
    /// Where a team shares what was verified, as for `proofline check` (default: what `PROOFLINE_STORE` says).
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,
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
    /// Says what was verified here after all, and what the jobs cost.
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
    /// In the order of their programs' names.
    jobs: Vec<Planned>,
}

/// A job, from outside.
#[derive(Serialize, Deserialize)]
struct Planned {
    number: String,
    /// Of the program in its project; empty if it is the only one.
    name: String,
    /// Bytes of the program's own files: about how much work it is.
    bytes: u64,
}

/// `jobs/NUMBER.json`
#[derive(Serialize, Deserialize)]
struct Job {
    /// Of the engines that are to solve it.
    version: String,
    /// Of the program.
    name: String,
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
    /// The number of the job that it answers.
    job: String,
    #[serde(flatten)]
    cost: Cost,
}

const PLAN: &str = "plan.json";
const JOBS: &str = "jobs";
const TEXTS: &str = "texts";
const ANSWERS: &str = "answers";

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of a job with this content: 64 bits of its hash.
fn number_of(content: &[u8]) -> String {
    hash(content)[..16].to_owned()
}

/// Writes a file that others may look for: it is there whole, or not at all. One that has this content stays as old as it is.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
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
    let mut edges = ninja::head(&std::env::current_exe()?);
    for (name, files) in programs {
        let input = prepared.input.of(files);
        let program = input.program(None, None)?;
        program.sources_within(&prepared.session.control).map_err(failed)?;
        let read = program.texts();
        let bytes = input.files.iter().filter_map(|file| read.get(file)).map(|text| text.len() as u64).sum();
        let mut job = Job::new(&prepared.session.asked, name, input, folder.clone())?;
        for (path, text) in read {
            let name = hash(&text);
            job.texts.insert(path, name.clone());
            texts.insert(name, text);
        }
        let content = serde_json::to_vec_pretty(&job)?;
        let number = number_of(&content);
        write(&job_file(&given.plan, &number), &content)?;
        edges += &ninja::edge(&number, &job.name, &job.texts.values().map(String::as_str).collect());
        jobs.push(Planned { number, name: job.name, bytes });
    }
    for (name, text) in &texts {
        write(&given.plan.join(TEXTS).join(name), text)?;
    }
    let plan = Plan { engines: ENGINES.to_owned(), check: given.check.clone(), jobs };
    if given.ninja {
        write(&given.plan.join("build.ninja"), edges.as_bytes())?;
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

fn job_file(folder: &Path, number: &str) -> PathBuf {
    folder.join(JOBS).join(format!("{number}.json"))
}

impl Job {
    fn new(asked: &Asked, name: String, input: Input, folder: PathBuf) -> Result<Job> {
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
            version: ENGINES.to_owned(),
            name,
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

    /// The job of this number.
    fn read(plan: &Path, number: &str) -> Result<Job> {
        let path = job_file(plan, number);
        let content = read(&path).with_context(|| format!("there is no job `{number}`"))?;
        ensure!(number_of(&content) == number, "job {number} is damaged\n  help: copy the plan again");
        let job: Job = serde_json::from_slice(&content)?;
        is_of_this_version(&job.version, &path)?;
        Ok(job)
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

    /// Finds out what is asked, from the plan's texts alone and what a team knows. The answers, for `merge`.
    fn solve(&self, plan: &Path, team: Option<Arc<dyn TeamPlace>>, control: &Control) -> Result<Vec<u8>> {
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
        let program =
            WholeProgram::closed(files, options, texts, self.folder.clone(), team).map_err(failed)?;
        for property in &asked.properties {
            asked.report(&program, &asked.request(property), control)?;
        }
        program.save();
        Ok(program.answers())
    }
}

fn plan_of(folder: &Path) -> Result<Plan> {
    let path = folder.join(PLAN);
    let plan: Plan = serde_json::from_slice(&read(&path)?)
        .with_context(|| format!("{} is no plan\n  help: `proofline plan` writes one", shown(&path)))?;
    is_of_this_version(&plan.engines, &path)?;
    // They become names of files.
    let is_number = |job: &Planned| job.number.bytes().all(|byte| byte.is_ascii_hexdigit());
    ensure!(plan.jobs.iter().all(is_number), "{}: jobs have numbers", shown(&path));
    Ok(plan)
}

/// Whether a file was made for these engines.
fn is_of_this_version(engines: &str, file: &Path) -> Result<()> {
    ensure!(
        engines == ENGINES,
        "{} was made by another version of proofline\n  help: plan, solve and merge with the same one",
        shown(file)
    );
    Ok(())
}

/// What is there of a job's answer, if it is one.
fn answered(folder: &Path, number: &str) -> Option<(Answered, Vec<u8>)> {
    let bytes = fs::read(folder.join(ANSWERS).join(number)).ok()?;
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Answered = serde_json::from_slice(&bytes[..at]).ok()?;
    (head.job == number).then(|| (head, bytes[at + 1..].to_vec()))
}

/// The numbers of the jobs that are to be solved here.
fn wanted(given: &SolveArguments) -> Result<Vec<String>> {
    if !given.jobs.is_empty() {
        return Ok(given.jobs.clone());
    }
    let mut jobs = plan_of(&given.plan)?.jobs;
    // The largest first; every machine deals them out in the same way.
    jobs.sort_by(|a, b| (Reverse(a.bytes), &a.number).cmp(&(Reverse(b.bytes), &b.number)));
    let Shard { number, of } = given.shard.unwrap_or(Shard { number: 1, of: 1 });
    Ok(jobs.into_iter().skip(number - 1).step_by(of).map(|job| job.number).collect())
}

/// Solves jobs that have no answer yet.
///
/// # Errors
/// If the plan is damaged, or an answer cannot be written.
pub(super) fn solve(given: &SolveArguments) -> Result<ExitCode> {
    let jobs = wanted(given)?;
    let team = team::named(given.store.as_deref())?;
    crate::solver_process::employ_workers(given.memory);
    let cancel = interruptible();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let control = Control { cancel: cancel.clone(), threads, ..Control::default() };
    for (at, number) in jobs.iter().enumerate() {
        if answered(&given.plan, number).is_some() {
            continue;
        }
        let job = Job::read(&given.plan, number)?;
        let place = team.clone().map(|place| place as Arc<dyn TeamPlace>);
        let (answers, cost) = measured(|| job.solve(&given.plan, place, &control));
        let answers = answers?;
        if cancel.is_cancelled() {
            eprintln!("interrupted: {} of {} jobs are solved", at, jobs.len());
            return Ok(ExitCode::from(2));
        }
        let mut bytes = serde_json::to_vec(&Answered { job: number.clone(), cost })?;
        bytes.push(b'\n');
        bytes.extend(answers);
        write(&given.plan.join(ANSWERS).join(number), &bytes)?;
        // The only program of a plan has no name.
        let job = format!("{number} {}", job.name);
        println!("{} of {}: {} ({cost})", at + 1, jobs.len(), job.trim_end());
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
    let (mut missing, mut cost) = (Vec::new(), Cost::default());
    for planned in &plan.jobs {
        match answered(&given.plan, &planned.number) {
            Some((head, bytes)) => {
                cost = cost.and(head.cost);
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
        eprintln!("jobs: {}, one after the other: {cost}", plan.jobs.len());
    }
    Ok(ExitCode::from(code))
}
