//! Runs a compiler and the program it makes with as few rights as they need. A process of this very binary gives its rights up and becomes
//! the other program (`proofline confined`), so nothing of what runs later can take them back: writes end at one folder (Landlock), there
//! are no sockets and nothing else of the machine is touched (seccomp), memory, files and time end somewhere (limits). The environment
//! holds no secrets, and everything dies with the server. Knows nothing of tests and editors.

mod running;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::OnceLock,
};

use crate::platform;

pub(crate) use running::{Ended, Limits, run};

/// The exit code of a process that could not give its rights up.
const NOT_CONFINED: u8 = 125;

/// What a program may do.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Confinement {
    /// The folder it may write to and runs in.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) scratch: PathBuf,
    /// It may read every file of the user, not just those of the system.
    #[arg(long)]
    pub(crate) reads_everything: bool,
    /// It may start other programs.
    #[arg(long)]
    pub(crate) starts_programs: bool,
}

/// Restricts itself and becomes another program; without one only tries whether it can.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    confinement: Confinement,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

impl Confinement {
    /// A compiler reads what the text includes and starts its passes.
    pub(crate) fn compiler(scratch: &Path) -> Confinement {
        Confinement { scratch: scratch.to_owned(), reads_everything: true, starts_programs: true }
    }

    /// A program that was just compiled.
    pub(crate) fn program(scratch: &Path) -> Confinement {
        Confinement { scratch: scratch.to_owned(), reads_everything: false, starts_programs: false }
    }

    /// The command that runs a program so, or freely if that is `allowed` because nothing else is possible.
    ///
    /// # Errors
    /// If this binary cannot be found again.
    pub(crate) fn command(&self, program: &Path, freely: bool) -> std::io::Result<Command> {
        let mut command = if freely {
            Command::new(program)
        } else {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("confined").arg("--scratch").arg(&self.scratch);
            command.args(self.reads_everything.then_some("--reads-everything"));
            command.args(self.starts_programs.then_some("--starts-programs"));
            command.arg("--").arg(program);
            command
        };
        command.current_dir(&self.scratch).env_clear().env("TMPDIR", &self.scratch).env("LC_ALL", "C.UTF-8");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Ok(command)
    }
}

/// Why programs cannot be confined on this machine, if that is so. Tried once.
pub(crate) fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    MISSING.get_or_init(try_it).as_deref()
}

fn try_it() -> Option<String> {
    let try_it = || {
        let scratch = tempfile::tempdir()?;
        let executable = std::env::current_exe()?;
        Command::new(executable).arg("confined").arg("--scratch").arg(scratch.path()).output()
    };
    match try_it() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Gives rights up and becomes the program.
pub(crate) fn become_confined(arguments: &Arguments) -> ExitCode {
    match platform::confine(&arguments.confinement, &arguments.command) {
        None => ExitCode::SUCCESS,
        Some(why) => {
            eprintln!("{why:#}");
            ExitCode::from(NOT_CONFINED)
        }
    }
}
