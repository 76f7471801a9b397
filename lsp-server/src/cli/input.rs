//! Input files and flags of every command.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use proofline_ide::{
    Property,
    check::{Monitors, Options, TeamPlace, WholeProgram},
    layers::{Subject, load},
    shown,
};
use serde::{Deserialize, Serialize};

use super::check::failed;
use crate::{
    choices::{Allocates, Volatile, monitors},
    project_file::ProjectFile,
};

/// Files and how to read them.
#[derive(clap::Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    /// C files of one program. Flags come from `compile_commands.json` or `compile_flags.txt` where there is one.
    /// A folder that has a `compile_commands.json` (itself or in `build`) stands for all its programs, and so does no file at all.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Adds a folder to look for headers in.
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,
    /// Defines a macro.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Undefines a macro.
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    /// Includes a file before the first line.
    #[arg(long = "include", value_name = "FILE")]
    force_include: Vec<String>,
    /// Language standard, as gcc names it.
    #[arg(long, value_name = "STD")]
    std: Option<String>,
    /// 32-bit data model (ILP32).
    #[arg(long = "m32")]
    pub(crate) m32: bool,
    /// Signed overflow wraps around instead of being undefined.
    #[arg(long)]
    wrapv: bool,
    /// What a read of a volatile object gives: what was written (the default), or any value at each read.
    #[arg(long, value_name = "WHAT")]
    volatile: Option<Volatile>,
    /// Whether memory can run out: malloc and its kin return null, or never do. Task definitions (--task): never.
    #[arg(long, value_name = "WHAT")]
    pub(crate) allocation: Option<Allocates>,
    /// What watches calls and assignments, and says which sequences must not be: locks, files, files-closed, descriptors, errors, allocation(ALLOCATE, RELEASE),
    /// reentrancy(FUNCTION), or a file with one of your own. May be given more than once.
    #[arg(long = "monitor", value_name = "NAME|FILE")]
    pub(crate) monitor: Vec<String>,
    /// Those, read.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) monitors: Monitors,
    /// Whether nothing is asked of what is written.
    #[arg(skip)]
    pub(crate) skips_writes: bool,
    /// Whether what is asked needs obligations about pointers that are only formed or compared.
    #[arg(skip)]
    pub(crate) pointers: bool,
    /// Flags before those of the command line.
    #[arg(skip)]
    first_flags: Vec<String>,
}

impl Input {
    /// What was not chosen on the command line is as the project's file says.
    pub(crate) fn or(&mut self, says: &ProjectFile) {
        self.first_flags.clone_from(&says.flags);
        self.allocation = self.allocation.or(says.allocation);
        self.volatile = self.volatile.or(says.volatile);
        self.monitor.extend(says.monitors.iter().cloned());
        self.wrapv |= says.wrapv == Some(true);
    }

    /// Reads the monitors, if one of these questions asks about them.
    ///
    /// # Errors
    /// What is wrong with one of them; if a question names one that there is not.
    pub(crate) fn watch(&mut self, properties: &[Property]) -> Result<()> {
        let all = monitors(&self.monitor)?;
        let is_asked = properties.iter().any(Property::asks_of_monitors);
        if let (Some(first), false) = (self.monitor.first(), is_asked) {
            bail!(
                "nobody asks about the monitor `{first}`\n  help: leave --property out, or name the checks with the monitor: \
                 --property monitor:NAME,assertion"
            );
        }
        for named in properties.iter().flat_map(Property::monitors) {
            if all.iter().all(|monitor| monitor.check().id() != named) {
                let name = named.code().trim_start_matches("monitor:");
                bail!(
                    "there is no monitor for `{}`\n  help: add --monitor {name}, or --monitor FILE",
                    named.code()
                );
            }
        }
        if is_asked {
            self.monitors = all;
        }
        Ok(())
    }

    /// The flags as gcc takes them.
    fn flags(&self) -> Vec<String> {
        let mut flags = self.first_flags.clone();
        flags.extend(self.include.iter().map(|dir| format!("-I{dir}")));
        flags.extend(self.define.iter().map(|name| format!("-D{name}")));
        flags.extend(self.undefine.iter().map(|name| format!("-U{name}")));
        for file in &self.force_include {
            flags.extend(["-include".to_owned(), file.clone()]);
        }
        flags.extend(self.std.iter().map(|std| format!("-std={std}")));
        if self.m32 {
            flags.push("-m32".to_owned());
        }
        flags
    }

    /// Reads the program, whatever is wrong with its text; what cannot be read at all is an error.
    pub(crate) fn load(&self) -> Result<Subject> {
        if self.files.is_empty() {
            bail!("no input file\n  help: proofline check FILE…, or --task TASK.yml");
        }
        for file in &self.files {
            usable(file)?;
        }
        Ok(load(&self.files, &self.options())?.0)
    }

    /// The program, to be checked; answers outlive the process in the cache folder.
    pub(crate) fn program(
        &self,
        cache: Option<&Path>,
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram> {
        if self.files.is_empty() {
            bail!("no input file\n  help: proofline check FILE…, or --task TASK.yml");
        }
        for file in &self.files {
            usable(file)?;
        }
        WholeProgram::new(self.files.clone(), self.options(), cache, team).map_err(failed)
    }

    /// The same, where batches found out what they could.
    pub(crate) fn answered(
        &self,
        answers: &[Vec<u8>],
        team: Option<Arc<dyn TeamPlace>>,
    ) -> Result<WholeProgram> {
        self.files.iter().try_for_each(|file| usable(file))?;
        WholeProgram::answered(self.files.clone(), self.options(), answers, team).map_err(failed)
    }

    /// Other files, read in the same way.
    pub(crate) fn of(&self, files: Vec<PathBuf>) -> Input {
        Input { files, ..self.clone() }
    }

    /// ILP32 was asked for.
    pub(crate) fn is_ilp32(&self) -> bool {
        self.m32
    }

    /// How to read the files.
    pub(crate) fn options(&self) -> Options {
        Options {
            flags: self.flags(),
            wrapv: self.wrapv,
            volatile: self.volatile.unwrap_or_default().into(),
            allocation: self.allocation.unwrap_or_default().into(),
            pointers: self.pointers,
            skips_writes: self.skips_writes,
            monitors: self.monitors.clone(),
        }
    }
}

/// Larger files are not read.
const MOST_MEGABYTES: u64 = 64;

/// What is no C text at all is refused before anything is made of it.
fn usable(file: &Path) -> Result<()> {
    let shown = shown(file);
    let found = std::fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
    if found.is_dir() {
        bail!("{shown} is a directory\n  help: name the C files in it, or a task definition with --task");
    }
    let mut start = Vec::new();
    File::open(file)
        .and_then(|file| file.take(8192).read_to_end(&mut start))
        .with_context(|| format!("cannot read {shown}"))?;
    if start.contains(&0) {
        bail!("{shown} is a binary file\n  help: give the C source text, not the compiled program");
    }
    if found.len() > MOST_MEGABYTES << 20 {
        bail!(
            "{shown} has {} MB, more than the {MOST_MEGABYTES} MB that are read\n  help: check its parts one by one",
            found.len() >> 20
        );
    }
    Ok(())
}

/// gcc spells some flags with one dash; people paste them from build logs.
pub(crate) fn gcc_spelling(arguments: impl Iterator<Item = std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    arguments
        .map(|argument| match argument.to_str() {
            Some("-m32") => "--m32".into(),
            Some("-include") => "--include".into(),
            Some(text) if text.starts_with("-std=") => format!("-{text}").into(),
            _ => argument,
        })
        .collect()
}
