//! Memory safety, measured: programs of others with one error each and the same programs without it, shown to Proofline and, if asked
//! for, to other tools. Nothing here fetches them; docs/testing.md says where they are from.

mod alert;
mod heap;
mod itc;
mod juliet;
mod peers;
mod program;
mod proofline;
mod tally;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use clap::ValueEnum;

use self::{
    peers::{Headers, Peer},
    program::Program,
    proofline::Proofline,
    tally::{Row, Tally},
};
use crate::{bench, limited::each};

/// `cargo xtask memory`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the programs are.
    #[arg(value_enum)]
    suite: Suite,
    /// The suite's folder.
    folder: PathBuf,
    /// The binary to run instead of the release build of this tree.
    #[arg(long)]
    proofline: Option<PathBuf>,
    /// What is asked of Juliet's and ITC's programs.
    #[arg(long, default_value = "all")]
    property: String,
    /// CPU seconds per program.
    #[arg(long, default_value_t = 15)]
    limit: u64,
    /// On a busy machine: how many seconds may pass for each of processor time.
    #[arg(long, default_value_t = 1)]
    patience: u64,
    /// Programs at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Other tools that are asked, too.
    #[arg(long, value_enum, value_delimiter = ',')]
    peers: Vec<Peer>,
    /// Does not ask Proofline.
    #[arg(long)]
    only_peers: bool,
    /// Cases of each of Juliet's families.
    #[arg(long, default_value_t = 20)]
    cases: usize,
    /// Which of Juliet's cases.
    #[arg(long, default_value_t = 13)]
    seed: u64,
    /// Only programs with these words in their names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Where the table of all answers goes.
    #[arg(long, default_value = "target/memory.csv")]
    csv: PathBuf,
    /// Further arguments for Proofline, after `--`.
    #[arg(last = true)]
    flags: Vec<String>,
}

/// Whose programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Suite {
    /// A sample of the Juliet test suite for C.
    Juliet,
    /// The benchmarks of the Toyota InfoTechnology Center.
    Itc,
    /// Verification tasks about the heap, in folders.
    Heap,
}

/// The column of Proofline.
const PROOFLINE: &str = "Proofline";

/// Asks about all programs, prints the tables, and fails if a proof is wrong.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let proofline = Proofline {
        binary: proofline::absolute(&bench::program(root, arguments.proofline.as_deref())?)?,
        property: arguments.property.clone(),
        limit: arguments.limit,
        patience: arguments.patience,
        flags: arguments.flags.clone(),
    };
    let csv = root.join(&arguments.csv);
    let only = &arguments.only;
    let programs = match arguments.suite {
        Suite::Juliet => juliet::sample(&arguments.folder, arguments.cases, arguments.seed, only)?,
        Suite::Itc => itc::programs(&arguments.folder, only)?,
        Suite::Heap => {
            let wrong = heap::run(&arguments.folder, &proofline, only, arguments.jobs, &csv)?;
            ensure!(wrong == 0, "{wrong} wrong verdicts");
            return Ok(());
        }
    };
    for peer in &arguments.peers {
        peer.look()?;
    }
    let scratch = std::env::temp_dir().join(format!("proofline-memory-{}", std::process::id()));
    let headers = Headers::new(&scratch)?;
    let rows = each(&programs, arguments.jobs, |program| one(program, &proofline, &headers, arguments));
    fs::remove_dir_all(&scratch)?;
    let mut tally = Tally { rows: Vec::new() };
    for rows in rows {
        tally.rows.extend(rows?);
    }
    if let Some(folder) = csv.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&csv, tally.csv())?;
    print!("{}", tally.markdown());
    ensure!(tally.wrong_proofs() == 0, "{} wrong proofs", tally.wrong_proofs());
    Ok(())
}

/// What everybody says about a program.
fn one(
    program: &Program,
    proofline: &Proofline,
    headers: &Headers,
    arguments: &Arguments,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if !arguments.only_peers {
        rows.push(Row::new(PROOFLINE, program, &program.kinds, proofline.ask(program)?));
    }
    for peer in &arguments.peers {
        let answer = peer.ask(program, arguments.limit, headers)?;
        rows.push(Row::new(peer.name(), program, &peer.accepts(&program.kinds), answer));
    }
    for row in &rows {
        eprintln!("{}", row.line());
    }
    Ok(rows)
}
