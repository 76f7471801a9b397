//! Every violation is compiled and run: the inputs that Proofline reports are what the functions of the environment give, and a program under
//! AddressSanitizer and UndefinedBehaviorSanitizer has to fail at the line that Proofline names. Knows verification tasks and gcc.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{
    bench::{collect, program},
    limited::{self, Output, each},
};

/// `cargo xtask confirm`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders with task definitions (`*.yml`), task definitions, or lists of them (`*.txt`, one a line).
    #[arg(required = true)]
    tasks: Vec<PathBuf>,
    /// CPU seconds per task.
    #[arg(long, default_value_t = 15)]
    limit: u64,
    /// What must not happen: `unreach-call` or `no-overflow`.
    #[arg(long, default_value = "unreach-call")]
    property: String,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// What verification tasks leave to the environment, and where the error call was made. The values of the inputs stand before it.
const RUNTIME: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void __sanitizer_print_stack_trace(void);
static unsigned next_input;
static long long input(void) {
    if (next_input < sizeof inputs / sizeof *inputs - 1) return (long long)inputs[next_input++];
    _exit(43);
}
#define GIVES(type, name) type __VERIFIER_nondet_##name(void) { return (type)input(); }
GIVES(int, int) GIVES(unsigned, uint) GIVES(unsigned, unsigned) GIVES(long, long) GIVES(unsigned long, ulong)
GIVES(short, short) GIVES(unsigned short, ushort) GIVES(char, char) GIVES(unsigned char, uchar) GIVES(_Bool, bool)
GIVES(long long, longlong) GIVES(unsigned long long, ulonglong) GIVES(unsigned long, size_t) GIVES(unsigned char, u8)
GIVES(unsigned short, u16) GIVES(unsigned, u32) GIVES(char *, pchar) GIVES(void *, pointer)
static double number(void) { long long bits = input(); double value; memcpy(&value, &bits, sizeof value); return value; }
float __VERIFIER_nondet_float(void) { return (float)number(); }
double __VERIFIER_nondet_double(void) { return number(); }
void __VERIFIER_assume(int condition) { if (!condition) _exit(44); }
static void reached(void) { __sanitizer_print_stack_trace(); _exit(42); }
__attribute__((weak)) void reach_error(void) { reached(); }
__attribute__((weak)) void __VERIFIER_error(void) { reached(); }
void __wrap___assert_fail(const char *what, const char *file, unsigned line, const char *function) { reached(); }
"#;

/// What became of one task.
enum Outcome {
    /// No violation is claimed.
    NotViolated,
    /// The program fails at the line.
    Confirmed,
    /// It cannot be compiled here.
    NotCompiled(String),
    /// Something else happens.
    Otherwise(String),
}

#[derive(Deserialize)]
struct Said {
    results: Vec<Answer>,
}
#[derive(Deserialize)]
struct Answer {
    findings: Vec<Finding>,
}
#[derive(Deserialize)]
struct Finding {
    kind: String,
    inputs: Vec<String>,
    place: Option<Place>,
}
#[derive(Deserialize)]
struct Place {
    file: String,
    line: u64,
}

/// Asks about every task, and runs what is violated.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let verifier = program(root, arguments.program.as_deref())?;
    let mut tasks = Vec::new();
    for path in &arguments.tasks {
        collect(path, &mut tasks)?;
    }
    ensure!(!tasks.is_empty(), "no task definitions (*.yml) in {:?}", arguments.tasks);
    let folder = std::env::temp_dir().join(format!("proofline-confirm-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcomes = each(&tasks, arguments.jobs, |task| {
        let outcome = one(&verifier, task, arguments, &folder);
        if let Ok(Outcome::NotCompiled(why) | Outcome::Otherwise(why)) = &outcome {
            eprintln!("{}: {why}", task.display());
        }
        outcome
    });
    fs::remove_dir_all(&folder)?;
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_>>()?;
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
    let otherwise = count(|outcome| matches!(outcome, Outcome::Otherwise(_)));
    println!(
        "tasks {}  violations {}  confirmed {}  not compiled here {}  otherwise {otherwise}",
        outcomes.len(),
        count(|outcome| !matches!(outcome, Outcome::NotViolated)),
        count(|outcome| matches!(outcome, Outcome::Confirmed)),
        count(|outcome| matches!(outcome, Outcome::NotCompiled(_))),
    );
    ensure!(otherwise == 0, "{otherwise} violations are not what the compiled program does");
    Ok(())
}

fn one(verifier: &Path, task: &Path, arguments: &Arguments, folder: &Path) -> Result<Outcome> {
    let (limit, name) = (arguments.limit.to_string(), task.to_string_lossy());
    let line = [
        "check",
        "--no-cache",
        "--property",
        &arguments.property,
        "--limit",
        &limit,
        "--format",
        "json",
        "--task",
        &name,
    ];
    let run = limited::run(verifier, &line, arguments.limit + 5, Output::Results)?;
    if run.status.code() != Some(1) {
        return Ok(Outcome::NotViolated);
    }
    // JSON is YAML.
    let said: Said =
        serde_saphyr::from_str(&run.output).with_context(|| format!("the answer about {name}"))?;
    let finding = said.results.into_iter().flat_map(|answer| answer.findings).find(|f| f.kind == "failure");
    let finding = finding.with_context(|| format!("a violation of {name} without a finding"))?;
    let place = finding.place.with_context(|| format!("a violation of {name} without a place"))?;
    let text = fs::read_to_string(task)?;
    let bits = if text.contains("ILP32") { "-m32" } else { "-m64" };
    let stem = task.file_stem().unwrap_or_default().to_string_lossy();
    let (source, compiled) = (folder.join(format!("{stem}.c")), folder.join(format!("{stem}.exe")));
    fs::write(&source, runtime(&finding.inputs))?;
    let is_compiled = |bits: &str| -> Result<bool> {
        let line = [
            "-g",
            "-O0",
            "-w",
            "-fsanitize=address,undefined",
            "-Wl,--wrap=__assert_fail",
            "-fno-pie",
            "-no-pie",
            bits,
            &place.file,
            &source.to_string_lossy(),
            "-o",
            &compiled.to_string_lossy(),
            "-lm",
        ];
        Ok(limited::run(Path::new("gcc"), &line, 60, Output::ResultsAndErrors)?.status.success())
    };
    // Not every machine has libraries for both data models.
    if !is_compiled(bits)? && !is_compiled("-m64")? {
        return Ok(Outcome::NotCompiled(format!("gcc does not compile {}", place.file)));
    }
    let run = limited::run(&compiled, &[], 20, Output::ResultsAndErrors)?;
    let _ = (fs::remove_file(&source), fs::remove_file(&compiled));
    let file = Path::new(&place.file).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let at = format!("{file}:{}", place.line);
    let names = |line: &&str| {
        line.match_indices(&at)
            .any(|(start, _)| !line[start + at.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_told = match arguments.property.as_str() {
        "no-overflow" => {
            run.output.lines().filter(|line| line.contains("runtime error:")).any(|line| names(&line))
        }
        _ => run.status.code() == Some(42) && run.output.lines().any(|line| names(&line)),
    };
    if is_told {
        return Ok(Outcome::Confirmed);
    }
    let said: Vec<&str> = run.output.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
    Ok(Outcome::Otherwise(format!("not at {at}: {}; {}", run.status, said.join(" | "))))
}

/// The environment with these inputs.
fn runtime(inputs: &[String]) -> String {
    let values: Vec<String> = inputs
        .iter()
        .map(|value| match value.strip_prefix('-') {
            Some(value) => format!("-{value}ull"),
            None => format!("{value}ull"),
        })
        .collect();
    format!(
        "static const unsigned long long inputs[] = {{ {} }};\n{RUNTIME}",
        [values, vec!["0".into()]].concat().join(", ")
    )
}
