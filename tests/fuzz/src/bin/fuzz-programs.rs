//! Random programs by the thousand. Every disagreement is printed and written to a folder, reduced.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::Parser;
use proofline_fuzz::programs::{
    Compiler, Compilers, Engines, Fault, Manner, PORTFOLIO, compare_compiled, compare_skipping, examine,
    examine_text, examine_twins, generate, generate_loops, reduce, twins,
};

/// Compares random programs with what the interpreter and the engines say about them.
#[derive(Parser)]
struct Arguments {
    /// Seeds: `A..B`, or one. Even seeds give programs without undefined behaviour, odd ones may fail.
    #[arg(long, default_value = "0..200")]
    seeds: String,
    /// Engines, separated by commas (default: all); `portfolio` for what is asked when none is named.
    #[arg(long)]
    engines: Option<String>,
    /// Asks each program so many of the engines, in turn, and the portfolio, and of the other compilers one, in turn. So many programs
    /// see every engine, and each program costs little.
    #[arg(long, value_name = "NUMBER")]
    in_turn: Option<usize>,
    /// Programs whose assertions are all true by construction, and twins with one that is not.
    #[arg(long)]
    twins: bool,
    /// Programs that leave something open: variables without a value, volatile objects, a file that is not here, the C library.
    #[arg(long)]
    open: bool,
    /// Programs about objects and their lives. Seeds that 3 divides give right ones, most others have one error that a sanitizer sees.
    #[arg(long)]
    heap: bool,
    /// Programs of loops: whether runs that skip iterations end as runs that take each step.
    #[arg(long)]
    loops: bool,
    /// Every third program has its `main` in a file of its own.
    #[arg(long)]
    split: bool,
    /// Compares gcc and clang, each with and without optimisation, not `gcc -O0` only.
    #[arg(long)]
    all_compilers: bool,
    /// Steps per question.
    #[arg(long, default_value_t = 60_000)]
    steps: u64,
    /// Milliseconds per engine and program.
    #[arg(long, default_value_t = 2_000)]
    limit: u64,
    /// Prints the program instead of examining it.
    #[arg(long)]
    print: bool,
    /// Does not make faulty programs smaller.
    #[arg(long)]
    no_reduce: bool,
    /// Where faulty programs go.
    #[arg(long, default_value = "target/fuzz")]
    folder: PathBuf,
    /// Stops after so many faults.
    #[arg(long, default_value_t = 20)]
    faults: usize,
}

impl Arguments {
    fn manner(&self, seed: u64) -> Manner {
        Manner {
            is_risky: if self.heap { !seed.is_multiple_of(3) } else { seed % 2 == 1 && !self.open },
            is_open: self.open,
            is_split: self.split && seed.is_multiple_of(3) && !self.heap,
            is_heap: self.heap,
        }
    }
}

fn main() -> Result<ExitCode> {
    let work = std::thread::Builder::new().stack_size(1 << 29).spawn(run)?;
    match work.join() {
        Ok(done) => done,
        Err(_) => bail!("a panic ended the run"),
    }
}

fn run() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    // What an engine panics with is in its verdict.
    std::panic::set_hook(Box::new(|_| ()));
    let number = |text: &str| text.parse::<u64>().with_context(|| format!("`{text}` is no seed"));
    let seeds = match arguments.seeds.split_once("..") {
        Some((from, to)) => number(from)?..number(to)?,
        None => number(&arguments.seeds)?..number(&arguments.seeds)? + 1,
    };
    if arguments.loops {
        return loops(seeds, &arguments);
    }
    let mut engines = Engines::all(arguments.steps);
    engines.limit = Some(Duration::from_millis(arguments.limit));
    if let Some(names) = &arguments.engines {
        engines.names = names.split(',').map(str::to_owned).collect();
    }
    let mut compiler = Compiler::new(if arguments.all_compilers { Compilers::All } else { Compilers::Gcc })?;
    let started = Instant::now();
    let (mut programs, mut skipped, mut faults) = (0usize, 0usize, 0usize);
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let all = engines.names.clone();
    for seed in seeds {
        if let Some(number) = arguments.in_turn {
            engines.names = in_turn(&all, seed, number);
            compiler.turn = usize::try_from(seed).ok();
        }
        let (outcome, vectors, manner) = if arguments.twins {
            let twins = twins(seed);
            if arguments.print {
                print!("{}", twins.lying);
                continue;
            }
            (examine_twins(&twins, &compiler, &engines)?, twins.vectors, Manner::default())
        } else {
            let program = generate(seed, arguments.manner(seed));
            if arguments.print {
                print!("{}", program.observing());
                continue;
            }
            let outcome = examine(&program, seed, &compiler, &engines)?;
            (outcome, program.vectors, program.manner)
        };
        programs += 1;
        skipped += usize::from(outcome.is_skipped);
        for (engine, these) in &outcome.counts {
            let sum = counts.entry(engine.clone()).or_default();
            for (sum, this) in sum.iter_mut().zip(these) {
                *sum += this;
            }
        }
        if let Some(fault) = outcome.faults.first() {
            faults += outcome.faults.len();
            for fault in &outcome.faults {
                println!("seed {seed}: {fault}");
            }
            let text = outcome.texts.last().cloned().unwrap_or_default();
            std::fs::create_dir_all(&arguments.folder)?;
            let file = arguments.folder.join(format!("{seed}.c"));
            std::fs::write(&file, &text)?;
            if !arguments.no_reduce && !matches!(fault, Fault::Generator(_)) {
                let small = smaller(&text, fault, &vectors, manner, &compiler, &engines);
                let file = arguments.folder.join(format!("{seed}.small.c"));
                std::fs::write(&file, format!("// {fault}\n{small}"))?;
                println!("{}", file.display());
            }
            if faults >= arguments.faults {
                break;
            }
        }
        if programs % 100 == 0 {
            eprintln!("{programs} programs, {faults} faults, {:.0} s", started.elapsed().as_secs_f64());
        }
    }
    println!(
        "{programs} programs ({skipped} too long), {faults} faults, {:.0} s",
        started.elapsed().as_secs_f64()
    );
    println!("obligations by engine: proved, violated, unknown");
    for (engine, [proved, violated, unknown]) in &counts {
        println!("  {engine:20} {proved:7} {violated:7} {unknown:7}");
    }
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The engines whose turn it is, and the portfolio.
fn in_turn(all: &[String], seed: u64, number: usize) -> Vec<String> {
    let first = usize::try_from(seed).unwrap_or_default().wrapping_mul(number);
    let mut names: Vec<String> =
        all.iter().cycle().skip(first % all.len().max(1)).take(number).cloned().collect();
    names.push(PORTFOLIO.to_owned());
    names
}

/// Smaller text with a fault of the same kind.
fn smaller(
    text: &str,
    fault: &Fault,
    vectors: &[Vec<i64>],
    manner: Manner,
    compiler: &Compiler,
    engines: &Engines,
) -> String {
    let mut engines = engines.clone();
    let mut vectors = vectors.to_vec();
    match fault {
        Fault::Unsound { engine, inputs, .. } => {
            engines.names = vec![engine.clone()];
            vectors = vec![inputs.clone()];
        }
        Fault::FalseAlarm { engine, .. } | Fault::Internal { engine, .. } => {
            engines.names = vec![engine.clone()];
        }
        Fault::Interpreter(_) | Fault::Refused(_) | Fault::Generator(_) => engines.names.clear(),
    }
    let until = Instant::now() + Duration::from_secs(90);
    reduce(text, |text| {
        Instant::now() < until
            && examine_text(text, &vectors, manner, compiler, &engines)
                .is_ok_and(|outcome| outcome.faults.iter().any(|other| other.kind() == fault.kind()))
    })
}

/// Runs that skip iterations, and runs as machine code, against runs that do neither.
fn loops(seeds: std::ops::Range<u64>, arguments: &Arguments) -> Result<ExitCode> {
    let (mut compared, mut with_skips, mut with_code, mut faults) = (0usize, 0usize, 0usize, 0usize);
    for seed in seeds {
        let text = generate_loops(seed);
        if arguments.print {
            print!("{text}");
            continue;
        }
        let found = compare_skipping(&text).and_then(|found| Ok((found, compare_compiled(&text)?)));
        match found {
            Ok((found, compiled)) => {
                compared += usize::from(found.is_compared);
                with_skips += usize::from(found.is_compared && found.skipped > 0);
                with_code += usize::from(compiled > 0);
            }
            Err(difference) => {
                faults += 1;
                println!("seed {seed}: {difference}");
                std::fs::create_dir_all(&arguments.folder)?;
                std::fs::write(arguments.folder.join(format!("{seed}.c")), &text)?;
                if faults >= arguments.faults {
                    break;
                }
            }
        }
    }
    println!(
        "{compared} compared, {with_skips} of them skip iterations; {with_code} have machine code, {faults} faults"
    );
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
