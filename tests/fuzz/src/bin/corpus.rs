//! Real programs, down to automata: counts, what is listed and why, time and memory. Fails when more than 0.1 % is listed, or
//! when SQLite in one piece needs more than 10 s or 2 GB.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use proofline_fuzz::corpus::{PACKAGES, Package, defined_for_gcc, read};

/// Makes automata of every function of real programs.
#[derive(Parser)]
struct Arguments {
    /// Where the sources are, or are fetched to.
    #[arg(long, default_value = "target/corpus")]
    folder: PathBuf,
    /// Only this package.
    #[arg(long)]
    only: Option<String>,
    /// Compares the functions with those that gcc finds.
    #[arg(long)]
    gcc: bool,
    /// A line per unit.
    #[arg(long)]
    units: bool,
}

/// Of functions, at most one in so many may be listed.
const FUNCTIONS_PER_LISTED: usize = 1000;
/// For the largest unit.
const MOST_TIME: Duration = Duration::from_secs(10);
/// For the largest unit, in MiB.
const MOST_MEMORY: u64 = 2048;

fn main() -> Result<ExitCode> {
    // The stack of the program itself.
    let work = std::thread::Builder::new().stack_size(1 << 29).spawn(run)?;
    match work.join() {
        Ok(done) => done,
        Err(_) => bail!("a panic ended the run"),
    }
}

fn run() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched = Command::new("sh").arg(root.join("tests/corpus/fetch.sh")).arg(&arguments.folder).status();
    ensure!(fetched.context("cannot run fetch.sh")?.success(), "the sources cannot be fetched");
    println!(
        "package      units  functions  listed  locations      edges  approx.   cpu (s)  slowest (s)  peak (MiB)"
    );
    let (mut functions, mut listed, mut is_within) = (0, Vec::new(), true);
    for package in PACKAGES.iter().filter(|p| arguments.only.as_deref().is_none_or(|only| only == p.name)) {
        let sum = all(package, &arguments, &mut listed)?;
        println!(
            "{:10} {:7} {:10} {:7} {:10} {:10} {:8} {:9.2} {:12.2} {:11}",
            package.name,
            sum.units,
            sum.functions,
            sum.listed,
            sum.locations,
            sum.edges,
            sum.approximations,
            sum.time.as_secs_f64(),
            sum.slowest.as_secs_f64(),
            sum.peak
        );
        functions += sum.functions;
        is_within &= sum.slowest < MOST_TIME && sum.peak < MOST_MEMORY;
    }
    println!("{functions} functions, {} listed", listed.len());
    for (at, why) in &listed {
        println!("  {at}: {why}");
    }
    let is_little = listed.len() * FUNCTIONS_PER_LISTED <= functions;
    Ok(if is_little && is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Figures of a package.
#[derive(Default)]
struct Sum {
    units: usize,
    functions: usize,
    listed: usize,
    locations: usize,
    edges: usize,
    approximations: usize,
    time: Duration,
    slowest: Duration,
    peak: u64,
}

fn all(package: &Package, arguments: &Arguments, listed: &mut Vec<(String, String)>) -> Result<Sum> {
    let mut sum = Sum::default();
    let directory = fs::canonicalize(arguments.folder.join(package.name))?;
    for unit in package.units(&fs::canonicalize(&arguments.folder)?)? {
        forget_peak();
        let reading = read(&unit, package.flags, &directory)?;
        let time: Duration = reading.times.iter().sum();
        let mut these = reading.listed;
        if arguments.gcc {
            let missing = match defined_for_gcc(&unit, package.flags, &directory) {
                Ok(theirs) => theirs.difference(&reading.functions).cloned().collect(),
                Err(error) => {
                    println!("{}: not compared: {error}", unit.display());
                    Vec::new()
                }
            };
            these.extend(missing.into_iter().map(|name| (name, "gcc finds this function, we do not".into())));
        }
        if arguments.units {
            let [read, understood, made, checked] = reading.times.map(|time| time.as_secs_f64());
            println!(
                "  {}: {} functions, {read:.2} s text, {understood:.2} s meaning, {made:.2} s automata, \
                 {checked:.2} s obligations and check",
                unit.display(),
                reading.functions.len()
            );
        }
        sum.units += 1;
        sum.functions += reading.functions.len();
        sum.listed += these.len();
        sum.locations += reading.locations;
        sum.edges += reading.edges;
        sum.approximations += reading.approximations;
        sum.time += time;
        sum.slowest = sum.slowest.max(time);
        sum.peak = sum.peak.max(peak());
        listed.extend(these.into_iter().map(|(at, why)| (format!("{}: {at}", unit.display()), why)));
    }
    Ok(sum)
}

/// Begins to measure memory anew (Linux; elsewhere the peak is that of the process).
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Most memory in use since then, in MiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}
