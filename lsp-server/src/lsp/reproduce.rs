//! Compiles and runs a test that reproduces a failure, in a scratch folder and a sandbox, with limits on time and output.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::Arc,
    time::Duration,
};

use proofline_ide::{Cancel, Test};

use crate::{
    platform,
    sandbox::{self, Confinement, Ended, Limits},
};

const COMPILE: Limits = Limits { time: Duration::from_secs(20), memory_mb: 2048 };
const RUN: Limits = Limits { time: Duration::from_secs(5), memory_mb: 1024 };

const SANITIZERS: &str = "detect_leaks=0";

/// What running a test showed.
pub(super) struct Ran {
    /// The failure happened.
    pub(super) confirmed: bool,
    /// What the compiler or the program said.
    pub(super) output: String,
}

/// What a user has allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Permission {
    /// The test is only written.
    Write,
    /// It runs in a sandbox.
    Confined,
    /// It runs with the user's rights: there is no sandbox on this machine, and the user was told so.
    Free,
}

/// Runs the test of a file whose text is `text`, and of those beside it with theirs. The error says what kept it from being run.
pub(super) fn run(
    test: &Test,
    file: &Path,
    text: &str,
    beside: &[(PathBuf, Arc<str>)],
    flags: &[String],
    permission: Permission,
    cancel: &Cancel,
) -> Result<Ran, String> {
    let scratch = tempfile::Builder::new()
        .prefix("proofline-test-")
        .tempdir()
        .map_err(|error| format!("cannot create a scratch folder: {error}"))?;
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    let under_test = scratch.path().join(file.file_name().unwrap_or_default());
    write(&under_test, text)?;
    let source = scratch.path().join("proofline_test_main.c");
    write(&source, &test.text.replace(Test::INCLUDE, &under_test.to_string_lossy()))?;
    let mut sources = vec![source];
    for (at, (_, text)) in beside.iter().enumerate() {
        let copy = scratch.path().join(format!("proofline_test_beside_{at}.c"));
        write(&copy, text)?;
        sources.push(copy);
    }
    let program = scratch.path().join("program_under_test");
    let command = |confinement: Confinement, program: &Path| {
        confinement
            .command(program, permission == Permission::Free)
            .map_err(|error| format!("cannot run a command: {error}"))
    };
    let mut compile = command(Confinement::compiler(scratch.path()), Path::new("cc"))?;
    compile.args(["-g", "-O0", "-w", "-fsanitize=undefined,address", "-fno-sanitize-recover=undefined"]);
    compile.args(flags);
    for folder in [file].into_iter().chain(beside.iter().map(|(file, _)| &**file)).filter_map(Path::parent) {
        compile.arg("-iquote").arg(folder);
    }
    // Should another file have a `main`, that of the test counts, which comes first.
    compile.arg("-Wl,-z,muldefs").args(test.wrapped.iter().map(|name| format!("-Wl,--wrap={name}")));
    compile.arg("-o").arg(&program).args(&sources).arg("-lm");
    let (status, output) = ended(compile, COMPILE, cancel)?;
    if !status.success() {
        return Err(format!("the test does not compile:\n{output}"));
    }
    let mut execute = command(Confinement::program(scratch.path()), &program)?;
    execute.env("ASAN_OPTIONS", SANITIZERS).env("UBSAN_OPTIONS", "print_stacktrace=0");
    let (status, output) = ended(execute, RUN, cancel)?;
    let tells = ["runtime error:", "AddressSanitizer", "Assertion"];
    let confirmed =
        !status.success() && (tells.iter().any(|tell| output.contains(tell)) || platform::is_killed(status));
    Ok(Ran { confirmed, output })
}

fn ended(command: Command, limits: Limits, cancel: &Cancel) -> Result<(ExitStatus, String), String> {
    match sandbox::run(command, limits, cancel) {
        Ok(Ended::Itself(status, output)) => Ok((status, output)),
        Ok(Ended::TooLong) => Err("it took too long and was stopped".to_owned()),
        Ok(Ended::TooLarge) => Err(format!("it needed more than {} MB and was stopped", limits.memory_mb)),
        Err(error) => Err(format!("cannot run a command: {error}")),
    }
}
