//! Broken text by the thousand. Time and memory belong to the verdict: whoever reads a small text for long, or needs much memory for it,
//! has a defect. What is being read lies in a file, so that a crash leaves it behind; a text that takes far too long or far too much ends
//! the run, and is kept.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use clap::Parser;
use proofline_fuzz::front_end::{corpus, flags, input, read};

/// Feeds broken text to everything before the engines.
#[derive(Parser)]
struct Arguments {
    /// How long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Number of the first input.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Where faulty inputs go.
    #[arg(long, default_value = "target/fuzz")]
    folder: PathBuf,
}

/// More processor time than this for a small text is a fault.
const SLOW: Duration = Duration::from_secs(5);
/// After this nobody waits for the end.
const HANGS: Duration = Duration::from_secs(60);
/// More memory than this, in MiB, beyond what is there before a text is read, is a fault.
const MUCH: u64 = 512;
/// With this much the run ends before the machine does.
const TOO_MUCH: u64 = 4096;

/// Which input is being read, and how much processor time had been used when that began.
type Current = Arc<Mutex<(u64, Duration)>>;

/// Processor time of this process, from `/proc/self/stat`, in hundredths of a second; elsewhere than on Linux, real time.
fn used(started: Instant) -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in brackets; the times are fields 14 and 15.
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().skip(11));
    let ticks: Option<Vec<u64>> = fields.and_then(|fields| fields.take(2).map(|t| t.parse().ok()).collect());
    match ticks {
        Some(ticks) if ticks.len() == 2 => Duration::from_millis(10 * ticks.iter().sum::<u64>()),
        _ => started.elapsed(),
    }
}

/// A line of `/proc/self/status`, in MiB. Elsewhere than on Linux memory is not looked at.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|text| text.strip_prefix(line));
    line.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Ends the process when an input takes far too long or far too much memory.
fn watch(current: &Current, folder: &Path, started: Instant) {
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let (number, since) = current.lock().map_or((0, Duration::ZERO), |current| *current);
        let resident = memory("VmRSS");
        let took = used(started).saturating_sub(since);
        if took > HANGS || resident > TOO_MUCH {
            let file = folder.join(format!("front-end-{number}.c"));
            let _ = fs::copy(folder.join("front-end-current.c"), &file);
            println!("{}: {:.0} s, {resident} MiB, and no end", file.display(), took.as_secs_f64());
            std::process::exit(1);
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let work = std::thread::Builder::new().stack_size(1 << 29).spawn(move || run(&arguments))?;
    match work.join() {
        Ok(done) => done,
        Err(_) => bail!("a panic ended the run"),
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    std::panic::set_hook(Box::new(|_| ()));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = corpus(&root);
    fs::create_dir_all(&arguments.folder)?;
    let current = arguments.folder.join("front-end-current.c");
    let started = Instant::now();
    let (mut number, mut faults, mut slowest, mut largest) = (arguments.from, 0, Duration::ZERO, 0);
    let watched: Current = Arc::new(Mutex::new((number, Duration::ZERO)));
    let (shared, folder) = (watched.clone(), arguments.folder.clone());
    std::thread::spawn(move || watch(&shared, &folder, started));
    while started.elapsed() < Duration::from_secs(arguments.seconds) {
        let bytes = input(&corpus, number);
        fs::write(&current, &bytes)?;
        // Begins the peak anew.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let before = memory("VmHWM");
        let since = used(started);
        if let Ok(mut watched) = watched.lock() {
            *watched = (number, since);
        }
        let outcome = read(&bytes, &flags(number));
        let took = used(started).saturating_sub(since);
        let grown = memory("VmHWM").saturating_sub(before);
        (slowest, largest) = (slowest.max(took), largest.max(grown));
        let fault = match outcome {
            Err(fault) => Some(fault),
            Ok(()) if took > SLOW => Some(format!("{} bytes took {:.1} s", bytes.len(), took.as_secs_f64())),
            Ok(()) if grown > MUCH => Some(format!("{} bytes took {grown} MiB", bytes.len())),
            Ok(()) => None,
        };
        if let Some(fault) = fault {
            faults += 1;
            let file = arguments.folder.join(format!("front-end-{number}.c"));
            fs::write(&file, &bytes)?;
            println!("{}: {fault}", file.display());
        }
        number += 1;
    }
    let _ = fs::remove_file(&current);
    println!(
        "{} inputs from {}, {faults} faults, slowest {:.2} s, most memory {largest} MiB",
        number - arguments.from,
        arguments.from,
        slowest.as_secs_f64()
    );
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
