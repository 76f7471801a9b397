//! Running the compiler with limits on its time and on its output.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::flags::{DataModel, Flags};
use crate::limits::MAX_FILE_BYTES;

/// What the compiler wrote.
pub(super) struct Output {
    pub(super) text: String,
    pub(super) messages: String,
}

/// How long a preprocessor may take. This is a guard against waiting for ever, not a budget.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `program -E`; `unsaved` goes in place of the text of `main`.
pub(super) fn run(
    program: &str,
    main: &Path,
    unsaved: Option<&str>,
    flags: &Flags,
) -> Result<Output, String> {
    let mut command = Command::new(program);
    command.args(arguments(flags)).env("LC_ALL", "C").env("SOURCE_DATE_EPOCH", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    match unsaved {
        Some(_) => {
            let dir = main.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            command.arg("-iquote").arg(dir).args(["-x", "c", "-"]);
        }
        None => {
            command.args(["-x", "c"]).arg(main);
        }
    }
    let mut child = command.spawn().map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    let outcome = communicate(&mut child, main, unsaved);
    // Ends it if it is still running; then it only has to be waited for.
    let killed = child.kill();
    let waited = child.wait();
    match (killed, waited) {
        (_, Ok(_)) => outcome,
        (_, Err(error)) => Err(format!("`{program}` was lost: {error}")),
    }
}

fn communicate(child: &mut Child, main: &Path, unsaved: Option<&str>) -> Result<Output, String> {
    let lost = || "the preprocessor has no streams".to_owned();
    let mut stdin = child.stdin.take().ok_or_else(lost)?;
    let stdout = child.stdout.take().ok_or_else(lost)?;
    let stderr = child.stderr.take().ok_or_else(lost)?;
    let input = unsaved.map(|text| {
        // Names the text as the file it will be saved as.
        let name = main.display().to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("# 1 \"{name}\"\n{text}")
    });
    std::thread::spawn(move || {
        // A compiler that stops reading is heard of by what it writes.
        let written = input.map_or(Ok(()), |text| stdin.write_all(text.as_bytes()));
        drop(stdin);
        written
    });
    let (text, messages) = (collect(stdout), collect(stderr));
    let late = |_| "the preprocessor takes too long".to_owned();
    let text = text.recv_timeout(PATIENCE).map_err(late)?;
    let messages = messages.recv_timeout(PATIENCE).map_err(late)?;
    Ok(Output { text, messages })
}

fn collect(stream: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.take(8 * MAX_FILE_BYTES).read_to_end(&mut bytes);
        // Half of an output is as good as none; the reader has given up if it does not listen.
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        sender.send(text)
    });
    receiver
}

fn arguments(flags: &Flags) -> Vec<String> {
    let mut args = vec!["-E".to_owned(), format!("-std={}", flags.standard.name())];
    args.push(match flags.data_model {
        DataModel::Lp64 => "-m64".to_owned(),
        DataModel::Ilp32 => "-m32".to_owned(),
    });
    let told = [
        (flags.no_standard_dirs, "-nostdinc"),
        (flags.optimize, "-O2"),
        (flags.freestanding, "-ffreestanding"),
        (flags.unsigned_char, "-funsigned-char"),
        (flags.pthread, "-pthread"),
    ];
    args.extend(told.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| (*flag).to_owned()));
    args.extend(flags.machine.iter().cloned());
    for (name, body) in &flags.defines {
        args.push(match body {
            Some(body) => format!("-D{name}={body}"),
            None => format!("-U{name}"),
        });
    }
    let paths = [
        ("-iquote", &flags.quote_dirs),
        ("-I", &flags.include_dirs),
        ("-isystem", &flags.system_dirs),
        ("-idirafter", &flags.after_dirs),
        ("-imacros", &flags.macro_files),
        ("-include", &flags.includes),
    ];
    for (flag, list) in paths {
        for path in list {
            args.push(flag.to_owned());
            args.push(path.display().to_string());
        }
    }
    args
}
