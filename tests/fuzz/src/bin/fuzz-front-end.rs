//! Broken text by the thousand. What is being read lies in a file, so that a crash or a hang leaves it behind.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
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

/// Longer than this for a small text is a hang.
const SLOW: Duration = Duration::from_secs(5);

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
    let (mut number, mut faults, mut slowest) = (arguments.from, 0, Duration::ZERO);
    while started.elapsed() < Duration::from_secs(arguments.seconds) {
        let bytes = input(&corpus, number);
        fs::write(&current, &bytes)?;
        let since = Instant::now();
        let outcome = read(&bytes, &flags(number));
        let took = since.elapsed();
        slowest = slowest.max(took);
        let fault = match outcome {
            Err(fault) => Some(fault),
            Ok(()) if took > SLOW => Some(format!("{} bytes took {:.1} s", bytes.len(), took.as_secs_f64())),
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
        "{} inputs from {}, {faults} faults, slowest {:.2} s",
        number - arguments.from,
        arguments.from,
        slowest.as_secs_f64()
    );
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
