//! Compiles a program with sanitizers and runs it. What it does is the truth that everyone else is compared with.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::Write as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use proofline_verifier::{
    CheckId,
    checks::{array_bounds, division_by_zero, invalid_shift, null_dereference, signed_overflow},
};

use super::{
    files::files,
    open::OTHER_FILE,
    program::{Manner, Vector},
};

/// What a compiled program needs besides itself: inputs from its standard input, observations and failures to its output.
const RUNTIME: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static long long next(void)
{
    static int ended;
    long long value = 0;
    if (ended || scanf("%lld", &value) != 1) { ended = 1; value = 0; }
    return value;
}
_Bool __VERIFIER_nondet_bool(void) { return next() & 1; }
signed char __VERIFIER_nondet_schar(void) { return next(); }
unsigned char __VERIFIER_nondet_uchar(void) { return next(); }
short __VERIFIER_nondet_short(void) { return next(); }
unsigned short __VERIFIER_nondet_ushort(void) { return next(); }
int __VERIFIER_nondet_int(void) { return next(); }
unsigned __VERIFIER_nondet_uint(void) { return next(); }
long __VERIFIER_nondet_long(void) { return next(); }
unsigned long __VERIFIER_nondet_ulong(void) { return next(); }
static int seen;
void observe(unsigned id, long long value)
{
    if (++seen > 20000) { puts("many"); fflush(stdout); _Exit(0); }
    printf("%u %lld\n", id, value);
    fflush(stdout);
}
void scrub(void) { volatile char stack[65536]; for (unsigned i = 0; i < sizeof stack; i++) stack[i] = 0; }
void failed(int line) { printf("failed %d\n", line); fflush(stdout); _Exit(0); }
"#;

/// Undefined behaviour ends a run and says where. Of the warnings only some are of interest.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-g1",
    "-w",
    "-Werror=implicit-function-declaration",
    "-Werror=return-type",
    "-DCOMPILED",
    "-fno-sanitize-recover=all",
];

/// A compiler and what it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Build {
    pub(super) compiler: &'static str,
    pub(super) flags: &'static [&'static str],
}

const GCC_CHECKS: &str = "-fsanitize=address,signed-integer-overflow,shift-exponent,integer-divide-by-zero,bounds-strict,null,unreachable,alignment,bool";
const CLANG_CHECKS: &str = "-fsanitize=address,signed-integer-overflow,shift-exponent,integer-divide-by-zero,array-bounds,null,unreachable,alignment,bool";
const ZERO: &str = "-ftrivial-auto-var-init=zero";
const PATTERN: &str = "-ftrivial-auto-var-init=pattern";

/// For programs whose runs are determined by their inputs; the first is the one that everyone is compared with.
const DETERMINED: [Build; 4] = [
    Build {
        compiler: "gcc",
        flags: &["-O0", GCC_CHECKS, "-Werror=uninitialized", "-Werror=maybe-uninitialized"],
    },
    Build { compiler: "gcc", flags: &["-O2", GCC_CHECKS] },
    Build { compiler: "clang", flags: &["-O0", CLANG_CHECKS] },
    Build { compiler: "clang", flags: &["-O2", CLANG_CHECKS] },
];

/// For open programs: variables without a value have one or another.
const OPEN: [Build; 5] = [
    Build { compiler: "gcc", flags: &["-O0", ZERO, GCC_CHECKS] },
    Build { compiler: "gcc", flags: &["-O0", PATTERN, GCC_CHECKS] },
    Build { compiler: "gcc", flags: &["-O2", PATTERN] },
    Build { compiler: "clang", flags: &["-O0", PATTERN, CLANG_CHECKS] },
    Build { compiler: "clang", flags: &["-O2", PATTERN] },
];

/// Which compilers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compilers {
    /// gcc without optimisation.
    #[default]
    Gcc,
    /// gcc and clang, each with and without optimisation.
    All,
}

/// How a run of a compiled program ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// `main` returned.
    Finished,
    /// An error call on that line (from 1).
    Failed(u32),
    /// Undefined behaviour on that line; what it is, when it is one of the kinds that are checked; the message.
    Undefined { line: u32, check: Option<CheckId>, message: String },
    /// It took too long or said too much.
    TooLong,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Behaviour {
    pub(crate) ended: Ended,
    pub(crate) observed: Vec<(usize, i64)>,
}

/// The compilers, with a folder to work in.
#[derive(Debug)]
pub struct Compiler {
    folder: tempfile::TempDir,
    runtime: PathBuf,
    other_file: PathBuf,
    compilers: Compilers,
    /// Asks only one of the others, that whose turn it is.
    pub turn: Option<usize>,
}

/// A compiled program.
#[derive(Debug)]
pub(crate) struct Executable {
    path: PathBuf,
    /// Who made it.
    pub(crate) name: String,
    /// What it did: a run depends on its inputs alone, so each is made once.
    runs: RefCell<BTreeMap<Vector, Behaviour>>,
}

impl Compiler {
    /// Finds the compiler and prepares what programs need.
    ///
    /// # Errors
    /// If there is no compiler that knows the sanitizers, or no folder for its output.
    pub fn new(compilers: Compilers) -> Result<Compiler> {
        let folder = tempfile::tempdir()?;
        let object = |name: &str, text: &str| {
            let (source, object) =
                (folder.path().join(format!("{name}.c")), folder.path().join(format!("{name}.o")));
            std::fs::write(&source, text)?;
            let status = Command::new("gcc")
                .args(["-c", "-O1", "-w", "-o"])
                .args([&object, &source])
                .status()
                .context("cannot run gcc")?;
            ensure!(status.success(), "gcc cannot compile the {name}");
            Ok(object)
        };
        let (runtime, other_file) = (object("runtime", RUNTIME)?, object("outside", OTHER_FILE)?);
        Ok(Compiler { folder, runtime, other_file, compilers, turn: None })
    }

    /// Compiles a program with the compiler that everyone is compared with; fails if it is none.
    pub(crate) fn compile(&self, text: &str, name: &str, manner: Manner) -> Result<Executable> {
        let build = if manner.is_open { OPEN[0] } else { DETERMINED[0] };
        self.build(text, name, manner, build)
    }

    /// With all compilers that were asked for, that one first.
    pub(crate) fn compile_with_all(&self, text: &str, name: &str, manner: Manner) -> Result<Vec<Executable>> {
        let first = self.compile(text, name, manner)?;
        let others = self.compile_with_others(text, name, manner)?;
        Ok(std::iter::once(first).chain(others).collect())
    }

    /// With all compilers that were asked for but that one.
    pub(super) fn compile_with_others(
        &self,
        text: &str,
        name: &str,
        manner: Manner,
    ) -> Result<Vec<Executable>> {
        let builds: &[Build] = match (manner.is_open, self.compilers) {
            (true, Compilers::All) => &OPEN,
            (true, Compilers::Gcc) => &OPEN[..2],
            (false, Compilers::All) => &DETERMINED,
            (false, Compilers::Gcc) => &DETERMINED[..1],
        };
        let others = builds.get(1..).unwrap_or_default();
        let others = match self.turn {
            Some(turn) if !others.is_empty() => std::slice::from_ref(&others[turn % others.len()]),
            Some(_) | None => others,
        };
        let build = |(at, build): (usize, &Build)| self.build(text, &format!("{name}{at}"), manner, *build);
        others.iter().enumerate().map(build).collect()
    }

    /// With one build.
    pub(super) fn build(&self, text: &str, name: &str, manner: Manner, build: Build) -> Result<Executable> {
        let path = self.folder.path().join(name);
        let mut command = Command::new(build.compiler);
        command.args(FLAGS).args(build.flags).arg("-o").args([&path, &self.runtime]);
        for (at, text) in files(text, manner.is_split).iter().enumerate() {
            let source = self.folder.path().join(format!("{name}-{at}.c"));
            std::fs::write(&source, text)?;
            command.arg(source);
        }
        if manner.is_open {
            command.arg(&self.other_file);
        }
        let output = command.arg("-lm").output().with_context(|| format!("cannot run {}", build.compiler))?;
        let name = format!("{} {}", build.compiler, build.flags.join(" "));
        if !output.status.success() {
            bail!("{name} refuses it:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Executable { path, name, runs: RefCell::default() })
    }
}

impl Executable {
    /// Runs it on these inputs.
    pub(crate) fn run(&self, vector: &Vector) -> Result<Behaviour> {
        if let Some(behaviour) = self.runs.borrow().get(vector) {
            return Ok(behaviour.clone());
        }
        let output = self.output(vector, "detect_leaks=0:detect_stack_use_after_return=1")?;
        let mut behaviour = behaviour(&output)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            behaviour.ended = undefined(&stderr);
        }
        self.runs.borrow_mut().insert(vector.clone(), behaviour.clone());
        Ok(behaviour)
    }

    /// What it writes, with options for AddressSanitizer.
    pub(super) fn output(&self, vector: &Vector, options: &str) -> Result<Output> {
        let mut child = Command::new(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("ASAN_OPTIONS", options)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            let text: Vec<String> = vector.iter().map(i64::to_string).collect();
            // A program that asks for nothing may be gone already.
            let _ = stdin.write_all(text.join(" ").as_bytes());
        }
        // The output is bounded by the runtime, so full pipes are the only danger: read them beside.
        let started = Instant::now();
        let pid = child.id();
        let watch = std::thread::spawn(move || child.wait_with_output());
        while !watch.is_finished() {
            if started.elapsed() > Duration::from_secs(20) {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let Ok(output) = watch.join() else { bail!("a thread that waits panicked") };
        Ok(output?)
    }
}

/// What a program that ended well has said.
pub(super) fn behaviour(output: &Output) -> Result<Behaviour> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut behaviour = Behaviour { ended: Ended::Finished, observed: Vec::new() };
    for line in stdout.lines() {
        match line.split_once(' ') {
            Some(("failed", at)) => behaviour.ended = Ended::Failed(at.parse()?),
            Some((id, value)) => behaviour.observed.push((id.parse()?, value.parse()?)),
            None => behaviour.ended = Ended::TooLong,
        }
    }
    Ok(behaviour)
}

/// What a sanitizer says: `program.c:12:5: runtime error: division by zero`.
fn undefined(stderr: &str) -> Ended {
    let line_of = |text: &str| {
        let (_, rest) = text.split_once(".c:")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    if let Some(text) = stderr.lines().find(|line| line.contains("runtime error:")) {
        let message = text.split_once("runtime error: ").map_or(text, |(_, rest)| rest).to_owned();
        let has = |word: &str| message.contains(word);
        let check = if has("division by zero") {
            Some(division_by_zero::CHECK.id())
        } else if has("signed integer overflow") || has("cannot be represented") {
            Some(signed_overflow::CHECK.id())
        } else if has("shift exponent") {
            Some(invalid_shift::CHECK.id())
        } else if has("out of bounds") {
            Some(array_bounds::CHECK.id())
        } else if has("null pointer") {
            Some(null_dereference::CHECK.id())
        } else {
            None
        };
        return Ended::Undefined { line: line_of(text).unwrap_or(0), check, message };
    }
    let summary = stderr.lines().find(|line| line.contains("SUMMARY")).unwrap_or("killed");
    if summary == "killed" && stderr.is_empty() {
        return Ended::TooLong;
    }
    // gcc leaves a check of bounds out where it merges accesses.
    let is_bounds = ["global-buffer-overflow", "stack-buffer-overflow", "SEGV"];
    let is_bounds = is_bounds.iter().any(|word| summary.contains(word));
    let check = is_bounds.then(|| array_bounds::CHECK.id());
    Ended::Undefined { line: line_of(summary).unwrap_or(0), check, message: summary.to_owned() }
}
