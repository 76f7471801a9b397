//! How long a solved plan would take on many machines: a simulation from the measured times and sizes of its jobs. Each worker takes the next
//! job from a list (the largest program first, as `solve` and the scheduler do), fetches it, solves it, and leaves its answer. A worker may die
//! in the middle: the job goes back to the end of the list, and another worker is there after a while. What is left of a program that is solved in
//! parts comes into the list when the last of them is done.
//! With `--solve` the jobs are solved first, each in a process of its own, so that their processor time is known.

mod plot;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::limited::{self, Output};

/// `cargo xtask scale`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of a plan whose jobs are solved (one at a time, on a quiet machine).
    plan: PathBuf,
    /// Seconds that `plan` and `merge` took: they are done by one machine.
    #[arg(long, default_value_t = 0.0)]
    alone: f64,
    /// Of a hundred jobs, how many die with their worker.
    #[arg(long, default_value_t = 1.0)]
    deaths: f64,
    /// Solves the jobs first, so many at a time.
    #[arg(long, value_name = "WORKERS")]
    solve: Option<usize>,
    /// The program that does (default: the release build).
    #[arg(long)]
    proofline: Option<PathBuf>,
    /// Lines of the programs: what a million of them cost is printed, too.
    #[arg(long)]
    lines: Option<f64>,
    /// Simulates so many copies of each job: a project as many times as large.
    #[arg(long, default_value_t = 1)]
    copies: usize,
    /// Draws the curve.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Beside the plan: what solving took, by job.
const MEASURED: &str = "measured.json";

#[derive(Serialize, Deserialize, Default)]
struct Measured {
    /// How many jobs were solved at a time.
    workers: usize,
    /// Seconds from the first to the last.
    elapsed: f64,
    /// Processor time of each, in seconds.
    jobs: BTreeMap<String, f64>,
}

const WORKERS: [usize; 8] = [1, 2, 4, 16, 64, 256, 512, 1000];

/// Milliseconds for a request to where jobs and answers are.
const LATENCIES: [f64; 3] = [1.0, 10.0, 50.0];

/// Bytes per second between a worker and that place.
const BANDWIDTH: f64 = 50e6;

/// Seconds until another worker is there.
const REPLACED_AFTER: f64 = 30.0;

#[derive(Deserialize)]
struct Plan {
    jobs: Vec<Planned>,
}

#[derive(Deserialize)]
struct Planned {
    number: String,
    #[serde(default)]
    after: Vec<String>,
    bytes: u64,
}

#[derive(Deserialize)]
struct Answered {
    seconds: f64,
}

/// A job, measured.
#[derive(Clone, Default)]
struct Job {
    seconds: f64,
    /// Fetched and left.
    bytes: f64,
    /// Left.
    answered: f64,
    /// The places of the jobs whose answers it waits for.
    after: Vec<usize>,
}

/// Numbers from 0 to 1, the same in every run (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What came of it, in seconds.
struct Outcome {
    /// Until the last answer is there.
    elapsed: f64,
    /// Of all workers, in vain or not.
    worked: f64,
}

fn simulate(jobs: &[Job], workers: usize, latency: f64, deaths: f64) -> Outcome {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut waits: Vec<usize> = jobs.iter().map(|job| job.after.len()).collect();
    let mut ended = vec![0.0; jobs.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
    for (at, job) in jobs.iter().enumerate() {
        job.after.iter().for_each(|before| followers[*before].push(at));
    }
    // With the time from which on a job is there to be done.
    let mut todo: VecDeque<(usize, f64)> =
        (0..jobs.len()).filter(|at| waits[*at] == 0).map(|at| (at, 0.0)).collect();
    // When workers are free, in microseconds.
    let mut free: BinaryHeap<Reverse<u64>> = (0..workers).map(|_| Reverse(0)).collect();
    let (mut elapsed, mut worked): (f64, f64) = (0.0, 0.0);
    while let (Some((at, ready)), Some(Reverse(micros))) = (todo.pop_front(), free.pop()) {
        let job = &jobs[at];
        let start = (micros as f64 / 1e6).max(ready);
        let whole = 2.0 * latency + job.bytes / BANDWIDTH + job.seconds;
        let end = if random.next() < deaths {
            let part = whole * random.next();
            worked += part;
            todo.push_back((at, start + part));
            start + part + REPLACED_AFTER
        } else {
            worked += whole;
            ended[at] = start + whole;
            elapsed = elapsed.max(ended[at]);
            for follower in &followers[at] {
                waits[*follower] -= 1;
                if waits[*follower] == 0 {
                    let before = jobs[*follower].after.iter().map(|before| ended[*before]);
                    todo.push_back((*follower, before.fold(0.0, f64::max)));
                }
            }
            ended[at]
        };
        free.push(Reverse((end * 1e6) as u64));
    }
    Outcome { elapsed, worked }
}

/// The plan, the largest jobs first.
fn plan(folder: &Path) -> Result<Plan> {
    let text = fs::read(folder.join("plan.json")).context("cannot read plan.json")?;
    let mut plan: Plan = serde_json::from_slice(&text)?;
    plan.jobs.sort_by_key(|job| (Reverse(job.bytes), job.number.clone()));
    Ok(plan)
}

/// Solves all jobs and remembers what each took.
fn solve(folder: &Path, program: &Path, workers: usize) -> Result<()> {
    let plan = plan(folder)?;
    let began = Instant::now();
    let of = folder.to_string_lossy();
    let solve = |job: &Planned| -> Result<(String, f64)> {
        let done = limited::run(program, &["solve", &of, &job.number], 36_000, Output::Results)?;
        ensure!(done.status.success(), "job {} was not solved", job.number);
        Ok((job.number.clone(), done.cpu.as_secs_f64()))
    };
    let (first, last): (Vec<Planned>, Vec<Planned>) =
        plan.jobs.into_iter().partition(|job| job.after.is_empty());
    let mut solved = limited::each(&first, workers, solve);
    solved.extend(limited::each(&last, workers, solve));
    let elapsed = began.elapsed().as_secs_f64();
    let jobs = solved.into_iter().collect::<Result<_>>()?;
    fs::write(folder.join(MEASURED), serde_json::to_vec_pretty(&Measured { workers, elapsed, jobs })?)?;
    Ok(())
}

fn measured(folder: &Path) -> Result<Vec<Job>> {
    let plan = plan(folder)?;
    let places: BTreeMap<&str, usize> =
        plan.jobs.iter().enumerate().map(|(at, job)| (job.number.as_str(), at)).collect();
    let known: Measured = match fs::read(folder.join(MEASURED)) {
        Ok(text) => serde_json::from_slice(&text)?,
        Err(_) => Measured::default(),
    };
    if known.workers > 0 {
        println!("solved with {} at a time: {:.1} s", known.workers, known.elapsed);
    }
    let mut jobs: Vec<Job> = Vec::new();
    for planned in &plan.jobs {
        let answer = fs::read(folder.join("answers").join(&planned.number))
            .with_context(|| format!("job {} has no answer", planned.number))?;
        let head = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let Answered { seconds } = serde_json::from_slice(head)?;
        let seconds = known.jobs.get(&planned.number).copied().unwrap_or(seconds);
        let job = fs::metadata(folder.join("jobs").join(format!("{}.json", planned.number)))?.len();
        // Headers are the same for many jobs, and stay with a worker; its own texts it has to fetch.
        let after = planned.after.iter().filter_map(|part| places.get(part.as_str()).copied()).collect();
        let answered = answer.len() as f64;
        jobs.push(Job { seconds, bytes: (job + planned.bytes) as f64 + answered, answered, after });
    }
    // Answers of parts are fetched, too.
    for at in 0..jobs.len() {
        let parts: f64 = jobs[at].after.iter().map(|part| jobs[*part].answered).sum();
        jobs[at].bytes += parts;
    }
    Ok(jobs)
}

/// So many copies of each job, in the same order.
fn copied(jobs: &[Job], copies: usize) -> Vec<Job> {
    let copy = |job: &Job, number: usize| {
        let after = job.after.iter().map(|before| before * copies + number).collect();
        Job { after, ..job.clone() }
    };
    jobs.iter().flat_map(|job| (0..copies).map(move |number| copy(job, number))).collect()
}

/// Prints the table.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if let Some(workers) = arguments.solve {
        let program = arguments.proofline.clone().unwrap_or_else(|| root.join("target/release/proofline"));
        solve(&arguments.plan, &program, workers)?;
    }
    let jobs = measured(&arguments.plan)?;
    ensure!(!jobs.is_empty(), "the plan has no jobs");
    let sum: f64 = jobs.iter().map(|job| job.seconds).sum();
    // With what it waits for.
    let chain =
        |job: &Job| job.seconds + job.after.iter().map(|part| jobs[*part].seconds).fold(0.0, f64::max);
    let longest = jobs.iter().map(chain).fold(0.0, f64::max);
    let bytes: f64 = jobs.iter().map(|job| job.bytes).sum();
    println!(
        "{} jobs, {sum:.0} s together, the longest {longest:.1} s; {:.1} MB to and from workers; alone {:.1} s",
        jobs.len(),
        bytes / 1e6,
        arguments.alone
    );
    let simulated = copied(&jobs, arguments.copies.max(1));
    println!("simulated: {} jobs; {} % of them die with their worker\n", simulated.len(), arguments.deaths);
    println!("| workers | {} | CPU hours |", LATENCIES.map(|ms| format!("{ms} ms")).join(" | "));
    println!("|---|{}---|", "---|".repeat(LATENCIES.len()));
    let mut curves: Vec<(String, Vec<(usize, f64)>)> =
        LATENCIES.iter().map(|ms| (format!("{ms} ms to the store"), Vec::new())).collect();
    for workers in WORKERS {
        let outcomes =
            LATENCIES.map(|ms| simulate(&simulated, workers, ms / 1000.0, arguments.deaths / 100.0));
        let cells: Vec<String> =
            outcomes.iter().map(|outcome| format!("{:.1} s", outcome.elapsed + arguments.alone)).collect();
        println!("| {workers} | {} | {:.2} |", cells.join(" | "), outcomes[1].worked / 3600.0);
        for ((_, points), outcome) in curves.iter_mut().zip(&outcomes) {
            points.push((workers, outcome.elapsed + arguments.alone));
        }
    }
    if let Some(lines) = arguments.lines {
        let million = 1e6 / lines;
        println!(
            "\na million lines: {:.2} CPU hours, {:.1} MB",
            sum * million / 3600.0,
            bytes * million / 1e6
        );
    }
    if let Some(path) = &arguments.svg {
        fs::write(path, plot::curves("How long a plan takes", &curves))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_long_as_the_work_or_the_longest_job() {
        let jobs = vec![Job { seconds: 2.0, ..Job::default() }; 10];
        let elapsed = |workers| simulate(&jobs, workers, 0.0, 0.0).elapsed;
        assert_eq!([elapsed(1), elapsed(2), elapsed(4), elapsed(100)], [20.0, 10.0, 6.0, 2.0]);
        assert_eq!(simulate(&copied(&jobs, 3), 2, 0.0, 0.0).elapsed, 30.0);
        let with_deaths = simulate(&jobs, 2, 0.0, 0.3);
        assert!(with_deaths.elapsed > 10.0 && with_deaths.worked > 20.0);
        assert!(simulate(&jobs, 2, 0.5, 0.0).elapsed > 14.9);
    }

    #[test]
    fn what_is_left_waits_for_all_parts() {
        let part = Job { seconds: 2.0, ..Job::default() };
        let jobs = [Job { seconds: 1.0, after: vec![1, 2], ..Job::default() }, part.clone(), part];
        let elapsed = |copies, workers| simulate(&copied(&jobs, copies), workers, 0.0, 0.0).elapsed;
        assert_eq!(
            [elapsed(1, 1), elapsed(1, 2), elapsed(1, 9), elapsed(3, 1), elapsed(3, 9)],
            [5.0, 3.0, 3.0, 15.0, 3.0]
        );
    }
}
