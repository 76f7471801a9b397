//! Finding the flags of a file: `compile_commands.json`, else `compile_flags.txt`, else defaults.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Flags, links::Links};
use crate::fs::{FileSystem, lexical};

/// Where flags came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagsOrigin {
    /// An entry of this `compile_commands.json`.
    Database(PathBuf),
    /// This `compile_flags.txt`.
    FlagsFile(PathBuf),
    /// No file says anything; the defaults.
    Default,
}

/// The flags of a file with their origin and everything odd on the way, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFlags {
    /// The flags.
    pub flags: Flags,
    /// Where they came from.
    pub origin: FlagsOrigin,
    /// What was odd. An unreadable database is a warning and not an error: the defaults are used.
    pub warnings: Vec<String>,
}

/// Names under which a compilation database is looked for in every directory above the file, in this order: where CMake, Meson and people put what they
/// build.
pub const DATABASES: [&str; 5] = [
    "compile_commands.json",
    "build/compile_commands.json",
    "builddir/compile_commands.json",
    "_build/compile_commands.json",
    "out/compile_commands.json",
];

/// The flags of `file`. Always gives an answer: zero configuration works.
pub fn flags_for(file: &Path, fs: &dyn FileSystem) -> FoundFlags {
    let file = absolute(file, fs);
    let mut warnings = Vec::new();
    for dir in file.ancestors().skip(1) {
        for name in DATABASES {
            let path = dir.join(name);
            if let Some(flags) = from_database(&path, &file, fs, &mut warnings) {
                return FoundFlags { flags, origin: FlagsOrigin::Database(path), warnings };
            }
        }
        let path = dir.join("compile_flags.txt");
        if let Some(flags) = from_flags_file(&path, dir, fs, &mut warnings) {
            return FoundFlags { flags, origin: FlagsOrigin::FlagsFile(path), warnings };
        }
    }
    FoundFlags { flags: Flags::default(), origin: FlagsOrigin::Default, warnings }
}

/// The C files that a compilation database lists, in order, each once; none if it cannot be read.
pub fn database_files(database: &Path, fs: &dyn FileSystem) -> Vec<PathBuf> {
    let database = absolute(database, fs);
    let entries: Vec<Entry> =
        fs.read(&database).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let base = database.parent().unwrap_or(Path::new(""));
    let full = |entry: &Entry| lexical(&lexical(&base.join(&entry.directory)).join(&entry.file));
    let mut files: Vec<PathBuf> = entries.iter().map(full).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files.dedup();
    files
}

/// The files of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramFiles {
    /// Its own.
    pub files: Vec<PathBuf>,
    /// Those of the libraries that it is linked with, of the same build. The linker takes those that something is called of.
    pub libraries: Vec<PathBuf>,
    /// The build says nothing of what this one file becomes, and is linked with: plain make.
    pub is_of_no_target: bool,
}

/// The programs that a compilation database describes, by name, each with its C files: files of one target, as far as the path of the output says the
/// target (CMake: `CMakeFiles/server.dir/main.c.o`; Meson: `server.p/main.c.o`), with the libraries that the build links it with; else each file
/// alone, under its own path from the database's folder or the one that this lies in.
///
/// # Errors
/// What is wrong with the database, in words for people.
pub fn database_programs(
    database: &Path,
    fs: &dyn FileSystem,
) -> Result<BTreeMap<String, ProgramFiles>, String> {
    let database = absolute(database, fs);
    let odd = |what: &dyn std::fmt::Display| format!("{}: {what}", crate::fs::shown(&database));
    let bytes = fs.read(&database).map_err(|error| odd(&error))?;
    let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(|error| odd(&error))?;
    let base = database.parent().unwrap_or(Path::new(""));
    let mut programs: BTreeMap<String, ProgramFiles> = BTreeMap::new();
    let mut objects: BTreeMap<PathBuf, Object> = BTreeMap::new();
    for entry in &entries {
        let folder = lexical(&base.join(&entry.directory));
        let file = lexical(&folder.join(&entry.file));
        if file.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let output = output(entry);
        let target = output.as_deref().and_then(target);
        // The folder of what is built may lie in that of the texts.
        let above = base.ancestors().take(2).find_map(|folder| file.strip_prefix(folder).ok());
        let alone = || above.unwrap_or(&file).display().to_string();
        let program = programs.entry(target.clone().unwrap_or_else(alone)).or_default();
        program.is_of_no_target |= target.is_none();
        if !program.files.contains(&file) {
            program.files.push(file.clone());
        }
        if let (Some(output), Some(target)) = (output, target) {
            objects.insert(lexical(&folder.join(output)), Object { file, target, folder });
        }
    }
    let links = Links::of(objects.iter().map(|(path, object)| (&*object.folder, &**path)), fs);
    for (made, inputs) in links.made() {
        let Some(own) = inputs.iter().find_map(|input| objects.get(input)) else { continue };
        let Some(program) = programs.get_mut(&own.target) else { continue };
        for part in links.parts_of(made).into_iter().filter_map(|part| objects.get(part)) {
            if !program.files.contains(&part.file) && !program.libraries.contains(&part.file) {
                program.libraries.push(part.file.clone());
            }
        }
    }
    Ok(programs)
}

/// What a C file becomes.
struct Object {
    file: PathBuf,
    target: String,
    /// Where the compiler runs.
    folder: PathBuf,
}

/// The file that an entry's command makes.
fn output(entry: &Entry) -> Option<PathBuf> {
    entry.output.clone().or_else(|| {
        let arguments = match (&entry.arguments, &entry.command) {
            (Some(arguments), _) => arguments.clone(),
            (None, command) => shlex::split(command.as_deref()?)?,
        };
        let at = arguments.iter().position(|argument| argument == "-o")?;
        arguments.get(at + 1).map(PathBuf::from)
    })
}

/// The target that an output belongs to.
fn target(output: &Path) -> Option<String> {
    output
        .iter()
        .rev()
        .skip(1)
        .find_map(|part| {
            let part = part.to_str()?;
            part.strip_suffix(".dir").or_else(|| part.strip_suffix(".p")).filter(|name| !name.is_empty())
        })
        .map(str::to_owned)
}

fn absolute(file: &Path, fs: &dyn FileSystem) -> PathBuf {
    lexical(&fs.folder().join(file))
}

#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
    output: Option<PathBuf>,
}

fn from_database(path: &Path, file: &Path, fs: &dyn FileSystem, warnings: &mut Vec<String>) -> Option<Flags> {
    let bytes = fs.read(path).ok()?;
    let entries: Vec<Entry> = match serde_json::from_slice(&bytes) {
        Ok(entries) => entries,
        Err(error) => {
            warnings.push(format!("{}: {error}", crate::fs::shown(path)));
            return None;
        }
    };
    let base = path.parent().unwrap_or(Path::new(""));
    let dir_of = |entry: &Entry| lexical(&base.join(&entry.directory));
    let entry = entries
        .iter()
        .find(|entry| lexical(&dir_of(entry).join(&entry.file)) == file)
        .or_else(|| neighbour(&entries, file, &dir_of))?;
    let dir = dir_of(entry);
    let args = match (&entry.arguments, &entry.command) {
        (Some(args), _) => args.clone(),
        (None, Some(command)) => match shlex::split(command) {
            Some(args) => args,
            None => {
                warnings.push(format!("{}: unbalanced quotes in `{command}`", crate::fs::shown(path)));
                return None;
            }
        },
        (None, None) => Vec::new(),
    };
    // The first argument is the compiler.
    read(args.get(1..).unwrap_or(&[]), &dir, path, warnings)
}

/// A header is in no database: it is read with the flags of the first C file beside it.
fn neighbour<'a>(entries: &'a [Entry], file: &Path, dir_of: &dyn Fn(&Entry) -> PathBuf) -> Option<&'a Entry> {
    if file.extension().is_none_or(|extension| extension != "h") {
        return None;
    }
    let is_c = |entry: &&Entry| entry.file.extension().is_some_and(|extension| extension == "c");
    let beside = |entry: &&Entry| lexical(&dir_of(entry).join(&entry.file)).parent() == file.parent();
    entries.iter().filter(is_c).find(beside).or_else(|| entries.iter().find(is_c))
}

fn from_flags_file(
    path: &Path,
    dir: &Path,
    fs: &dyn FileSystem,
    warnings: &mut Vec<String>,
) -> Option<Flags> {
    let bytes = fs.read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let args: Vec<String> =
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    read(&args, dir, path, warnings)
}

fn read(args: &[String], dir: &Path, path: &Path, warnings: &mut Vec<String>) -> Option<Flags> {
    match Flags::from_args(args, dir) {
        Ok((flags, odd)) => {
            let told = odd.iter().map(|w| format!("{}: `{}`: {}", crate::fs::shown(path), w.flag, w.message));
            warnings.extend(told);
            Some(flags)
        }
        Err(error) => {
            warnings.push(format!("{}: {error}", crate::fs::shown(path)));
            None
        }
    }
}
