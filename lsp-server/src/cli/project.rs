//! A folder's programs, as its `compile_commands.json` says: checked side by side, each on its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow, bail};
use parking_lot::Mutex;
use proofline_ide::{
    check::{Control, ProgramFiles, models_for, programs_of},
    shown,
};

use super::{
    USAGE,
    check::{Checked, worst},
    formats::{self, Format},
    html,
    input::Input,
    session::Session,
};
use crate::project_file::{Found, NAME};

/// The programs by name, if the command line names a folder, or nothing at all where there is a `compile_commands.json`.
///
/// # Errors
/// If the folder has none, or a damaged one.
pub(super) fn programs(
    input: &Input,
    file: Option<&Found>,
) -> Result<Option<BTreeMap<String, Vec<PathBuf>>>> {
    let folder = match &*input.files {
        [] => Path::new("."),
        [folder] if folder.is_dir() => folder,
        _ => return Ok(None),
    };
    let named = file.filter(|found| found.names_programs());
    let programs = match (programs_of(folder), named) {
        (Some(programs), named) => {
            let programs = programs.map_err(|what| anyhow!(what))?;
            named.map_or(programs.clone(), |found| together(programs, found))
        }
        (None, Some(found)) => named_by(found, &found.c_files()),
        (None, None) if input.files.is_empty() => return Ok(None),
        (None, None) => bail!(
            "{} is a directory without a compile_commands.json\n  help: name the C files in it, or have the build write one (CMake: \
             -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; make: bear -- make; Meson does)",
            shown(folder)
        ),
    };
    // As people name them.
    let here = std::env::current_dir().unwrap_or_default();
    let near = |file: PathBuf| file.strip_prefix(&here).map(Path::to_path_buf).unwrap_or(file);
    let is_left_out = |path: &PathBuf| file.is_some_and(|found| found.leaves_out(path));
    let mut left_out = 0;
    let mut out = BTreeMap::new();
    for (name, ProgramFiles { mut files, libraries, .. }) in programs {
        let all = files.len();
        files.retain(|path| !is_left_out(path));
        left_out += all - files.len();
        if !files.is_empty() {
            files.extend(libraries.into_iter().filter(|path| !is_left_out(path)));
            files.extend(models_for(&files, &file.map(Found::models).unwrap_or_default()));
            out.insert(name, files.into_iter().map(near).collect());
        }
    }
    if left_out > 0 {
        eprintln!("{left_out} files are left out, as {NAME} says");
    }
    Ok(Some(out))
}

/// The programs that the project's file names, made of these files.
fn named_by(file: &Found, all: &BTreeSet<PathBuf>) -> BTreeMap<String, ProgramFiles> {
    let programs = file.programs(all).into_iter();
    programs.map(|(name, files)| (name, ProgramFiles { files, ..ProgramFiles::default() })).collect()
}

/// What the build says, and in its place, for the files that they have, the programs that the project's file names.
fn together(mut programs: BTreeMap<String, ProgramFiles>, file: &Found) -> BTreeMap<String, ProgramFiles> {
    let all: BTreeSet<PathBuf> = programs.values().flat_map(|program| &program.files).cloned().collect();
    let named = named_by(file, &all);
    let taken: BTreeSet<&PathBuf> = named.values().flat_map(|program| &program.files).collect();
    for program in programs.values_mut() {
        program.files.retain(|path| !taken.contains(path));
        program.libraries.retain(|path| !taken.contains(path));
    }
    programs.retain(|_, program| !program.files.is_empty());
    programs.extend(named);
    programs
}

impl Session<'_> {
    /// Checks all programs, as many at a time as there are cores, and prints each when it is done, what fails as soon as it is known. The worst of their exit codes.
    pub(super) fn project(&self, input: &Input, programs: BTreeMap<String, Vec<PathBuf>>) -> Result<u8> {
        let all = programs.len();
        if all == 0 {
            bail!("compile_commands.json names no C file that is to be checked");
        }
        let at_once = self.control.threads.min(all).max(1);
        let control = Control { threads: (self.control.threads / at_once).max(1), ..self.control.clone() };
        let queue = Mutex::new(programs.into_iter());
        let done: Mutex<BTreeMap<String, Result<Checked, u8>>> = Mutex::default();
        let work = || {
            loop {
                let Some((name, files)) = queue.lock().next() else { return };
                let checked = self.one_of_many(&name, &input.of(files), &control);
                let mut done = done.lock();
                self.progress.say(&format!("{} of {all} programs", done.len() + 1));
                done.insert(name, checked);
            }
        };
        std::thread::scope(|scope| -> std::io::Result<()> {
            for _ in 0..at_once {
                // As deep as the main thread's.
                std::thread::Builder::new().stack_size(1 << 29).spawn_scoped(scope, work)?;
            }
            Ok(())
        })?;
        let done = done.into_inner();
        let code_of =
            |checked: &Result<Checked, u8>| checked.as_ref().map_or_else(|code| *code, |c| self.code(c));
        let code = done.values().map(code_of).fold(0, worst);
        let checked: Vec<Checked> = done.values().filter_map(|one| one.as_ref().ok().cloned()).collect();
        let mut out = std::io::stdout();
        match self.arguments.format {
            Format::Text => {
                let count = |wanted: u8| done.values().filter(|one| code_of(one) == wanted).count();
                writeln!(
                    out,
                    "{all} {}: {} proved, {} violated, {} unknown, {} not read",
                    if all == 1 { "program" } else { "programs" },
                    count(0),
                    count(1),
                    count(2),
                    count(USAGE)
                )?;
            }
            Format::Json => writeln!(out, "{:#}", formats::json_of_project(&checked))?,
            Format::Sarif => writeln!(out, "{:#}", formats::sarif(&checked))?,
        }
        if let Some(folder) = &self.arguments.html {
            let not_read = done.iter().filter(|(_, one)| one.is_err()).map(|(name, _)| name.clone());
            html::write(folder, &checked, &not_read.collect::<Vec<_>>())?;
        }
        Ok(code)
    }

    /// One program: its text is printed when it is done. The exit code, if it cannot be read.
    fn one_of_many(&self, name: &str, input: &Input, control: &Control) -> Result<Checked, u8> {
        let mut text = Vec::new();
        let checked = self.check(name, input, control, &mut text).and_then(|(checked, program)| {
            program.save();
            self.results(&checked, &mut text)?;
            Ok(checked)
        });
        let files: Vec<String> = input.files.iter().map(|file| shown(file)).collect();
        let title = if files == [name] { name.to_owned() } else { format!("{name} ({})", files.join(", ")) };
        self.progress.beside(|| match &checked {
            Ok(_) if self.arguments.format == Format::Text => {
                // In one piece, as other programs end at the same time. Whoever does not read any more learns it at the end.
                let title = format!("{}\n", self.style.bold(&format!("== {title}")));
                let _ = std::io::stdout().write_all(&[title.as_bytes(), &text, b"\n"].concat());
            }
            Ok(_) => {}
            Err(error) => eprintln!("error: {title}: {error:#}"),
        });
        checked.map_err(|_| USAGE)
    }
}
