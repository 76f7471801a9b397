//! Attacks: programs of others whose behaviour compilers know. Each is asked about in both directions, so that a wrong proof and a
//! wrong alarm are both seen. What a verdict contradicts is every compiler, at every level, with every sanitizer; where one of those
//! contradicts another, the program has undefined behaviour, or C leaves open what it does, and the question is not counted.

mod case;
mod compilers;
mod csmith;
mod tally;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use clap::ValueEnum;

use self::{
    case::{Case, Question},
    compilers::Compilers,
    tally::{Answer, Tally},
};
use crate::{
    bench::{program, said},
    limited::{self, Output, each},
};

/// `cargo xtask attack`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the programs are.
    #[arg(value_enum)]
    kind: Kind,
    /// The folder with the programs: gcc's `c-torture/execute`, c-testsuite's `tests/single-exec`, or one where csmith's go.
    folder: PathBuf,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
    /// CPU seconds per question.
    #[arg(long, default_value_t = 3)]
    limit: u64,
    /// Engines or configurations, each in turn (default: the portfolio).
    #[arg(long, value_delimiter = ',', default_value = PORTFOLIO)]
    engines: Vec<String>,
    /// Only programs with these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Seeds of csmith: `A..B`.
    #[arg(long, default_value = "0..20")]
    seeds: String,
    /// Asks every compiler about every program, not only where a verdict contradicts `gcc -O0`.
    #[arg(long)]
    all_compilers: bool,
    /// Programs at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Where the table of all answers goes; `cargo xtask bench --compare` compares two.
    #[arg(long, default_value = "target/attack.csv")]
    csv: PathBuf,
}

/// Stands for what is asked when no engine is named.
const PORTFOLIO: &str = "portfolio";

/// Whose programs, and how they fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// gcc's tests of execution: they call `abort` where the compiler is wrong.
    Torture,
    /// c-testsuite: `main` gives 0.
    Testsuite,
    /// Random programs of csmith, which compute a checksum of their variables.
    Csmith,
}

/// Asks about all programs, prints the tables, and fails if a verdict is wrong.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let program = program(root, arguments.program.as_deref())?;
    let scratch = std::env::temp_dir().join(format!("proofline-attack-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let compilers = Compilers::new(&scratch)?;
    let cases = cases(arguments)?;
    ensure!(!cases.is_empty(), "no programs in {}", arguments.folder.display());
    let tallies = each(&cases, arguments.jobs, |case| one(&program, case, &compilers, arguments));
    fs::remove_dir_all(&scratch)?;
    let mut sum = Tally::default();
    for tally in tallies {
        sum.add(tally?);
    }
    sum.table().write(&root.join(&arguments.csv))?;
    print!("{}", sum.markdown());
    ensure!(sum.faults() == 0, "{} wrong verdicts or crashes", sum.faults());
    Ok(())
}

fn cases(arguments: &Arguments) -> Result<Vec<Case>> {
    let mut sources = match arguments.kind {
        Kind::Csmith => csmith::generate(&arguments.folder, &arguments.seeds)?,
        Kind::Torture | Kind::Testsuite => {
            fs::read_dir(&arguments.folder)?.filter_map(|entry| entry.ok().map(|e| e.path())).collect()
        }
    };
    sources.retain(|path| path.extension().is_some_and(|e| e == "c"));
    sources.sort();
    let mut cases =
        sources.iter().map(|path| Case::read(arguments.kind, path)).collect::<Result<Vec<_>>>()?;
    cases.retain(|case| arguments.only.is_empty() || arguments.only.contains(&case.name));
    Ok(cases)
}

/// Everything about one program.
fn one(program: &Path, case: &Case, compilers: &Compilers, arguments: &Arguments) -> Result<Tally> {
    let mut tally = Tally::default();
    let Some(judge) = compilers.judge(case)? else {
        tally.unusable.push(case.name.clone());
        return Ok(tally);
    };
    if arguments.all_compilers {
        judge.disagreement()?;
    }
    for engine in &arguments.engines {
        for question in [Question::Fails, Question::Ends] {
            let file = judge.file(question)?;
            let mut answer = ask(program, &file, case, question, engine, arguments.limit)?;
            if answer.is_wrong()
                && let Some(why) = judge.disagreement()?
            {
                answer.row.result = format!("not counted({}, but {why})", answer.row.result);
            }
            eprintln!("{}", answer.row.line());
            tally.answers.push(answer);
        }
    }
    Ok(tally)
}

/// One question to the verifier.
fn ask(
    program: &Path,
    file: &Path,
    case: &Case,
    question: Question,
    engine: &str,
    limit: u64,
) -> Result<Answer> {
    let (seconds, file) = (limit.to_string(), file.to_string_lossy());
    let mut line = vec!["check", "--no-cache", "--property", "unreach-call", "--color", "never"];
    line.extend(["--limit", &seconds, &file]);
    line.extend(case.verifier_flags.iter().map(String::as_str));
    if engine != PORTFOLIO {
        line.extend(["--engine", engine]);
    }
    let run = limited::run(program, &line, limit + 7, Output::Results)?;
    let result = match said(&run.output, "RESULT: ") {
        Some(result) => result.to_owned(),
        None if run.cpu.as_secs() > limit + 5 => format!("crash(no end after {} s)", run.cpu.as_secs()),
        None => format!("crash({})", run.status),
    };
    Ok(Answer::new(case, question, engine, result, &run))
}
