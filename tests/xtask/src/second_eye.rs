//! A second solver looks at proofs: the questions that they rest on (Horn solutions rule by rule, the abstract states of predicate
//! analyses, base and step of k-induction, a search to its end, what polynomials give on each path) are asked of cvc5. Knows verification tasks and SMT-LIB files. (Debian: `apt-get install cvc5`.)

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use crate::{
    bench::{collect, program, said},
    limited::{self, Output, each},
};

/// `cargo xtask second-eye`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders with task definitions (`*.yml`), task definitions, or lists of them (`*.txt`, one a line).
    #[arg(required = true)]
    tasks: Vec<PathBuf>,
    /// Engines, each asked alone.
    #[arg(
        long,
        default_value = "horn,equations,predicate-bam,k-induction,bounded,polynomials",
        value_delimiter = ','
    )]
    engines: Vec<String>,
    /// CPU seconds per task and engine.
    #[arg(long, default_value_t = 15)]
    limit: u64,
    /// Property: the name of the property file.
    #[arg(long, default_value = "unreach-call")]
    property: String,
    /// CPU seconds for a question to the second solver.
    #[arg(long, default_value_t = 10)]
    question_limit: u64,
    /// The second solver: whatever reads a file of SMT-LIB and says `unsat`.
    #[arg(long, default_value = "cvc5")]
    solver: PathBuf,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// What the second solver said.
#[derive(Clone, Copy, Default)]
struct Counts {
    proofs: usize,
    questions: usize,
    agreed: usize,
    undecided: usize,
    refused: usize,
    contradicted: usize,
}

/// Asks about every task with every engine, and the second solver about every proof.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let verifier = program(root, arguments.program.as_deref())?;
    let mut tasks = Vec::new();
    for path in &arguments.tasks {
        collect(path, &mut tasks)?;
    }
    ensure!(!tasks.is_empty(), "no task definitions (*.yml) in {:?}", arguments.tasks);
    let mut contradicted = 0;
    for engine in &arguments.engines {
        let counts = each(&tasks, arguments.jobs, |task| one(&verifier, task, engine, arguments));
        let counts = counts.into_iter().collect::<Result<Vec<Counts>>>()?;
        let sum = |part: fn(&Counts) -> usize| counts.iter().map(part).sum::<usize>();
        println!(
            "{engine}: tasks {}  proofs {}  questions {}  agreed {}  undecided {}  not read {}  contradicted {}",
            tasks.len(),
            sum(|c| c.proofs),
            sum(|c| c.questions),
            sum(|c| c.agreed),
            sum(|c| c.undecided),
            sum(|c| c.refused),
            sum(|c| c.contradicted),
        );
        contradicted += sum(|c| c.contradicted);
    }
    ensure!(contradicted == 0, "the second solver contradicts {contradicted} questions");
    Ok(())
}

fn one(verifier: &Path, task: &Path, engine: &str, arguments: &Arguments) -> Result<Counts> {
    let stem = task.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder =
        std::env::temp_dir().join(format!("proofline-second-eye-{}-{engine}-{stem}", std::process::id()));
    let (limit, name) = (arguments.limit.to_string(), task.to_string_lossy());
    let kept = folder.to_string_lossy();
    let line = [
        "check",
        "--no-cache",
        "--property",
        &arguments.property,
        "--limit",
        &limit,
        "--engine",
        engine,
        "--keep-questions",
        &kept,
        "--task",
        &name,
    ];
    let run = limited::run(verifier, &line, arguments.limit + 5, Output::Results)?;
    let mut counts = Counts::default();
    if said(&run.output, "RESULT: ") == Some("true") {
        counts.proofs = 1;
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.sort();
        for file in files {
            ask(&file, task, arguments, &mut counts)?;
        }
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(counts)
}

fn ask(file: &Path, task: &Path, arguments: &Arguments, counts: &mut Counts) -> Result<()> {
    counts.questions += 1;
    let name = file.to_string_lossy();
    let run = limited::run(&arguments.solver, &[&name], arguments.question_limit, Output::ResultsAndErrors)?;
    let answer = run.output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match answer {
        "unsat" => counts.agreed += 1,
        "sat" => {
            counts.contradicted += 1;
            let kept = std::env::temp_dir().join(format!("contradicted-{}.smt2", counts.contradicted));
            fs::copy(file, &kept)?;
            eprintln!("{}: a question has a model; it is kept as {}", task.display(), kept.display());
        }
        text if text.contains("error") || text.contains("Error") => {
            counts.refused += 1;
            eprintln!("{}: {text}", task.display());
        }
        _ => counts.undecided += 1,
    }
    Ok(())
}
