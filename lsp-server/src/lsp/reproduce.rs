//! Compiles and runs a test that reproduces a failure, in a scratch folder, with limits on time and output.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use proofline_ide::{Cancel, Test};

const COMPILE: Duration = Duration::from_secs(20);
const RUN: Duration = Duration::from_secs(5);
/// Bytes of output that are kept.
const OUTPUT: u64 = 16 * 1024;

/// What running a test showed.
pub(super) struct Ran {
    /// The failure happened.
    pub(super) confirmed: bool,
    /// What the compiler or the program said.
    pub(super) output: String,
}

/// A folder that is gone when this is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the test of a file whose text is `text`. The error says what kept it from being run.
pub(super) fn run(
    test: &Test,
    file: &Path,
    text: &str,
    flags: &[String],
    cancel: &Cancel,
) -> Result<Ran, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("proofline-test-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let scratch = Scratch(folder);
    let name = file.file_name().unwrap_or_default();
    let under_test = scratch.0.join(name);
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write(&under_test, text)?;
    let source = scratch.0.join("proofline_test_main.c");
    write(&source, &test.text.replace(Test::INCLUDE, &under_test.to_string_lossy()))?;
    let program = scratch.0.join("program_under_test");
    let mut compile = Command::new("cc");
    compile.args(["-g", "-O0", "-w", "-fsanitize=undefined,address", "-fno-sanitize-recover=undefined"]);
    compile.args(flags);
    if let Some(folder) = file.parent() {
        compile.arg("-iquote").arg(folder);
    }
    compile.arg("-o").arg(&program).arg(&source).arg("-lm").current_dir(&scratch.0);
    let (status, output) = limited(compile, &scratch.0, COMPILE, cancel)?;
    if !status.success() {
        return Err(format!("the test does not compile:\n{output}"));
    }
    let mut execute = Command::new(&program);
    execute
        .current_dir(&scratch.0)
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("UBSAN_OPTIONS", "print_stacktrace=0");
    let (status, output) = limited(execute, &scratch.0, RUN, cancel)?;
    let tells = ["runtime error:", "AddressSanitizer", "Assertion"];
    let confirmed =
        !status.success() && (tells.iter().any(|tell| output.contains(tell)) || is_killed(status));
    Ok(Ran { confirmed, output })
}

/// Ended by a signal: `abort`, a division by zero.
fn is_killed(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status).is_some();
    #[cfg(not(unix))]
    return status.code().is_none_or(|code| code > 1);
}

/// Runs a command with an end, its output in a file, so that no pipe can fill.
fn limited(
    mut command: Command,
    folder: &Path,
    limit: Duration,
    cancel: &Cancel,
) -> Result<(ExitStatus, String), String> {
    let path = folder.join("output");
    let cannot = |error: std::io::Error| format!("cannot run a command: {error}");
    let out = File::create(&path).map_err(cannot)?;
    let err = out.try_clone().map_err(cannot)?;
    let mut child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().map_err(cannot)?;
    let end = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        if Instant::now() > end || cancel.is_cancelled() {
            let _ = child.kill();
            let _ = child.wait();
            return Err("it took too long and was stopped".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut output = Vec::new();
    let file = File::open(&path).map_err(cannot)?;
    file.take(OUTPUT).read_to_end(&mut output).map_err(cannot)?;
    Ok((status, String::from_utf8_lossy(&output).into_owned()))
}
