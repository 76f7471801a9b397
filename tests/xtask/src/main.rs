//! The chores of the project, as `cargo xtask …`. Depends on no crate of the project, so that it builds before Z3 is there.

mod attack;
mod bench;
mod confirm;
mod demo;
mod dist;
mod engines;
mod exhaustive;
mod fuzz;
mod history;
mod limited;
mod memory;
mod module_cycles;
mod papers;
mod rust_call;
mod scale;
mod second_eye;
mod server;
mod sheet;
mod table;
mod team;
mod tidy;
mod verify;
mod z3;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// The chores of the project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Fetches the pinned, hash-checked prebuilt Z3 into `.z3` (needs Python with pip once).
    Z3,
    /// Fetches Z3, builds Proofline and runs it on the program in `examples/`.
    Demo,
    /// Builds the packages that people install, each with the program and its solver inside; see `--help`.
    Dist(dist::Arguments),
    /// Everything CI checks: Z3, tidiness, formatting, lints, tests.
    Verify,
    /// The architecture's invariants: arrows between crates, cycles of modules, file heads, no `#[allow]`.
    Tidy,
    /// Looks in release builds for calls of closures that rustc gets wrong (its issue 155241).
    RustCall,
    /// Drives the real editors: `tests/editors/run.sh` with its arguments (`neovim helix emacs report vscode`, `--docs`).
    Editors {
        /// Which editors, and options; none means all.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Tests the language server and the debug adapter under foreign clients: `tests/lsp`.
    Server,
    /// How long a solved plan would take on up to 1,000 machines, simulated from its jobs' times and sizes.
    Scale(scale::Arguments),
    /// Tries the project commands on cJSON and zlib with their own build systems: `tests/projects`.
    Projects,
    /// What commits of real projects cost, with what was verified before and without; see `--help`.
    History(history::Arguments),
    /// Prints how long people wait in a workspace of a million lines (release build), and what it costs in memory.
    Million {
        /// Programs that `cargo xtask corpus` has fetched.
        #[arg(default_value = "target/corpus")]
        corpus: String,
        /// Fails when a limit is missed.
        #[arg(long)]
        check: bool,
    },
    /// Tests a team's store on Redis and S3 servers, and batches on a cluster: `tests/team`.
    Team,
    /// Kills the solver's processes at random under a busy server; every verdict must stay what it is (release build).
    Chaos {
        /// How long.
        #[arg(long, default_value_t = 5.0)]
        minutes: f64,
    },
    /// Prints how long people wait for the language server (release build).
    Latency {
        /// Fails when a limit is missed.
        #[arg(long)]
        check: bool,
        /// In real files: those that `cargo xtask corpus` has fetched into this folder.
        #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "target/corpus")]
        real: Option<String>,
    },
    /// Runs verification tasks and writes a table; see `--help`.
    Bench(bench::Arguments),
    /// Runs each configuration of an engine on the same tasks, and writes the table of the manual; see `--help`.
    Engines(engines::Arguments),
    /// Proposes which engines are asked first of which programs, learnt from what `engines` has measured; see `--help`.
    LearnOrder(engines::order::Arguments),
    /// Runs tables of the papers again, each configuration on the tasks that are at hand; see `--help`.
    Papers(papers::Arguments),
    /// Asks about programs whose behaviour compilers know: gcc's torture tests, c-testsuite, csmith; see `--help`.
    Attack(attack::Arguments),
    /// Measures memory safety on the Juliet test suite, the ITC benchmarks and tasks about the heap; see `--help`.
    Memory(memory::Arguments),
    /// Compiles and runs every violation of verification tasks with sanitizers: the line must be the same.
    Confirm(confirm::Arguments),
    /// Has a second solver, cvc5, look at the questions that proofs rest on.
    SecondEye(second_eye::Arguments),
    /// Compares random programs with what is said about them: `--seeds A..B`, `--engines …`, `--limit MS`.
    FuzzPrograms(fuzz::Arguments),
    /// Feeds broken text to everything before the engines: `--seconds N`, `--from NUMBER`.
    FuzzFrontEnd(fuzz::Arguments),
    /// Fetches real programs (Debian's sources of lua, zlib, zstd, cJSON, SQLite) and makes automata of every function of them:
    /// `--folder DIR` (default: `target/corpus`), `--only NAME`, `--gcc`.
    Corpus(fuzz::Arguments),
}

fn main() -> Result<()> {
    let root = root()?;
    match Arguments::parse().chore {
        Chore::Z3 => z3::fetch(&root),
        Chore::Demo => demo::run(&root),
        Chore::Dist(arguments) => dist::run(&root, &arguments),
        Chore::Verify => verify::run(&root),
        Chore::Tidy => tidy::run(&root),
        Chore::RustCall => rust_call::run(&root),
        Chore::Editors { arguments } => {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run(&root, "tests/editors/run.sh", &arguments)
        }
        Chore::Projects => {
            run(&root, "cargo", &["test", "--quiet", "--workspace", "--no-run", "--test", "command_line"])?;
            run(&root, "tests/projects/run.sh", &["target/debug/proofline"])
        }
        Chore::Scale(arguments) => scale::run(&root, &arguments),
        Chore::History(arguments) => history::run(&root, &arguments),
        Chore::Million { corpus, check } => server::million(&root, &corpus, check),
        Chore::Team => team::test(&root),
        Chore::Server => server::test(&root),
        Chore::Chaos { minutes } => server::chaos(&root, minutes),
        Chore::Latency { check, real } => server::latency(&root, check, real.as_deref()),
        Chore::Bench(arguments) => bench::run(&root, &arguments),
        Chore::Engines(arguments) => engines::run(&root, &arguments),
        Chore::LearnOrder(arguments) => engines::order::run(&root, &arguments),
        Chore::Papers(arguments) => papers::run(&root, &arguments),
        Chore::Attack(arguments) => attack::run(&root, &arguments),
        Chore::Memory(arguments) => memory::run(&root, &arguments),
        Chore::Confirm(arguments) => confirm::run(&root, &arguments),
        Chore::SecondEye(arguments) => second_eye::run(&root, &arguments),
        Chore::FuzzPrograms(arguments) => fuzz::run(&root, "fuzz-programs", &arguments),
        Chore::FuzzFrontEnd(arguments) => fuzz::run(&root, "fuzz-front-end", &arguments),
        Chore::Corpus(arguments) => fuzz::run(&root, "corpus", &arguments),
    }
}

/// The repository's root.
fn root() -> Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map(Path::to_path_buf).context("xtask is not where it was built")
}

/// Runs a program and fails if it does.
fn run(root: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    eprintln!("$ {program} {}", arguments.join(" "));
    let status = std::process::Command::new(program)
        .args(arguments)
        .current_dir(root)
        .status()
        .with_context(|| format!("cannot run `{program}`"))?;
    anyhow::ensure!(status.success(), "`{program} {}` failed: {status}", arguments.join(" "));
    Ok(())
}
