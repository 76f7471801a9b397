//! Batches: a check that other machines do. `plan` writes what is to be done, `solve` does a part of it, anywhere, `merge` reports as if all
//! had been done here. A job is one program, or of a large library some functions: what was asked, and the texts that reading it takes, by content.
//! So a machine needs this binary and the plan, and none of the project's files; and a job that is done twice, or lost, costs time and nothing else.
//! A job's number is a hash of its content: a plan that is made again has the same numbers for what has not changed, and the old answers.

mod cost;
mod folder;
mod job;
mod ninja;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
    sync::Arc,
};

use anyhow::{Result, anyhow, bail, ensure};
use clap::Parser;
use proofline_ide::{
    check::{Control, ENGINES, TeamPlace, WholeProgram},
    shown,
};

use self::{
    cost::{Cost, measured},
    folder::{Answered, Plan, Planned, answer, answered, job_file, write, write_texts},
    job::{Job, Share, parts},
};
use super::{
    check::{Arguments, failed},
    formats::Format,
    input,
    session::{Prepared, Session, interruptible},
    terminal::Color,
};
use crate::team;

/// `proofline plan`
#[derive(clap::Args)]
pub(super) struct PlanArguments {
    /// Where the plan goes: a folder that is new, or has an older plan.
    plan: PathBuf,
    /// Writes `build.ninja`, too: `ninja -C PLAN` solves everything.
    #[arg(long)]
    ninja: bool,
    /// A large library becomes so many jobs at most, and one for what is left when these are done (1: every program is one job).
    #[arg(long, value_name = "N", default_value_t = 16)]
    parts: usize,
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
    /// Megabytes that each helper process may use.
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
            let name = folder::hash(&text);
            job.texts.insert(path, name.clone());
            texts.insert(name, text);
        }
        let shares = shares(&prepared.session, &program, given.parts)?;
        let mut after = Vec::new();
        for (at, share) in shares.iter().enumerate() {
            let part = format!("{} of {}", at + 1, shares.len());
            job.share = share.clone();
            let planned = Planned { part, bytes, ..planned(&given.plan, &job)? };
            after.push(planned.number.clone());
            edges += &ninja::edge(&planned, &job.texts);
            jobs.push(planned);
        }
        job.share = if after.is_empty() { Share::Whole } else { Share::Rest(after.clone()) };
        let planned = Planned { after, bytes, ..planned(&given.plan, &job)? };
        edges += &ninja::edge(&planned, &job.texts);
        jobs.push(planned);
    }
    write_texts(&given.plan, texts.iter().map(|(name, text)| (name, &**text)))?;
    let plan = Plan { engines: ENGINES.to_owned(), check: given.check.clone(), jobs };
    if given.ninja {
        write(&given.plan.join("build.ninja"), edges.as_bytes())?;
    }
    // The last file: a plan that can be read is whole.
    plan.write(&given.plan)?;
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

/// The parts that a program's check is done in: none, unless it is a large library of which everything is asked.
fn shares(session: &Session<'_>, program: &WholeProgram, most: usize) -> Result<Vec<Share>> {
    let asked = &session.asked;
    let is_everything = asked.entries.is_empty() && asked.wished.is_empty() && asked.engines.is_empty();
    if !is_everything || asked.properties.iter().any(|property| asked.request(property).first_only) {
        return Ok(Vec::new());
    }
    Ok(parts(&program.library_parts(&session.control).map_err(failed)?, most))
}

/// Writes a job's file. What the plan says of it.
fn planned(plan: &Path, job: &Job) -> Result<Planned> {
    let (number, content) = job.content()?;
    write(&job_file(plan, &number), &content)?;
    Ok(Planned { number, name: job.name.clone(), ..Planned::default() })
}

/// The options of `check`, as it would take them.
fn checked(given: &[String]) -> Result<Arguments> {
    let words = std::iter::once("check".to_owned()).chain(given.iter().cloned());
    let words = input::gcc_spelling(words.map(Into::into));
    let check = Check::try_parse_from(words).map_err(|error| anyhow!("{}", error.render()))?;
    Ok(check.arguments)
}

/// The jobs that are to be solved here, in an order in which parts come before what reads their answers. With `--shard` the latter are nobody's:
/// their parts' answers are on several machines, and `merge` has all.
fn wanted(given: &SolveArguments) -> Result<Vec<Planned>> {
    if !given.jobs.is_empty() {
        let job = |number: &String| Planned { number: number.clone(), ..Planned::default() };
        return Ok(given.jobs.iter().map(job).collect());
    }
    let mut jobs = Plan::read(&given.plan)?.jobs;
    // The largest first; every machine deals them out in the same way.
    jobs.sort_by(|a, b| {
        let key = |job: &Planned| (!job.after.is_empty(), Reverse(job.bytes), job.number.clone());
        key(a).cmp(&key(b))
    });
    let Some(Shard { number, of }) = given.shard else { return Ok(jobs) };
    let is_free = |job: &Planned| job.after.is_empty();
    Ok(jobs.into_iter().filter(is_free).skip(number - 1).step_by(of).collect())
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
    for (at, planned) in jobs.iter().enumerate() {
        let number = &planned.number;
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
        answer(&given.plan, &Answered { job: number.clone(), cost }, &answers)?;
        let planned = Planned { name: job.name, ..planned.clone() };
        println!("{} of {}: {} ({cost})", at + 1, jobs.len(), planned.title());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports what `check` would, with what the jobs found out. What they did not is found out here.
///
/// # Errors
/// If a job has no answer, or what `check` says.
pub(super) fn merge(given: &MergeArguments) -> Result<ExitCode> {
    let plan = Plan::read(&given.plan)?;
    let mut answers: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut missing, mut cost) = (Vec::new(), Cost::default());
    for planned in &plan.jobs {
        match answered(&given.plan, &planned.number) {
            Some((head, bytes)) => {
                cost = cost.and(head.cost);
                answers.entry(planned.name.clone()).or_default().push(bytes);
            }
            // What is left of a program that was done in parts is found out here.
            None if planned.after.is_empty() => missing.push(planned.number.as_str()),
            None => {}
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
