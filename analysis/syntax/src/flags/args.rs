//! Reading a compiler's argument list. Knows GCC's and Clang's spellings; reads no files except
//! response files through the file system it is given none of: those are an error to the caller.

use std::path::{Path, PathBuf};

use super::{Concerns, DataModel, Flags, Standard};
use crate::fs::lexical;

/// A flag that was not understood and may matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagWarning {
    /// The flag as given.
    pub flag: String,
    /// Why it was not used.
    pub message: String,
}

/// An argument list that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The last flag needs a value.
    #[error("`{0}` needs a value")]
    MissingValue(String),
    /// `-std=` with a name that no compiler knows.
    #[error("unknown language standard `{0}`")]
    UnknownStandard(String),
    /// `-D` or `-U` without the name of a macro.
    #[error("`{0}` does not name a macro")]
    NotAMacro(String),
    /// `-x` with a language other than C.
    #[error("`-x {0}`: only C is supported")]
    NotC(String),
}

/// Flags that take their value as the next argument and say nothing about meaning.
const IGNORED_WITH_VALUE: [&str; 20] = [
    "-o",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-T",
    "-u",
    "-z",
    "-L",
    "-l",
    "-Xlinker",
    "-Xassembler",
    "-Xclang",
    "-arch",
    "--param",
    "-aux-info",
    "-wrapper",
    "-dumpbase",
    "-B",
    "-framework",
];

impl Flags {
    /// Reads an argument list as a compiler would, relative paths being below `dir`.
    ///
    /// Input files, and flags about warnings, optimisation, code generation and linking are
    /// passed over. The compiler's own name must not be in the list.
    ///
    /// # Errors
    ///
    /// [`FlagError`] when a flag that decides the meaning of the program cannot be read.
    pub fn from_args(args: &[String], dir: &Path) -> Result<(Flags, Vec<FlagWarning>), FlagError> {
        Flags::default().and_args(args, dir)
    }

    /// The same where these flags stand behind others.
    ///
    /// # Errors
    ///
    /// [`FlagError`] when a flag that decides the meaning of the program cannot be read.
    pub fn and_args(self, args: &[String], dir: &Path) -> Result<(Flags, Vec<FlagWarning>), FlagError> {
        let mut reader = Reader { flags: self, warnings: Vec::new(), dir };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            reader.flag(arg, &mut args)?;
        }
        Ok((reader.flags, reader.warnings))
    }

    /// Adds a `-D`: `NAME`, `NAME=body` or `NAME(params)=body`.
    ///
    /// # Errors
    ///
    /// [`FlagError::NotAMacro`] when it does not start with an identifier.
    pub fn define(&mut self, text: &str) -> Result<(), FlagError> {
        let (name, body) = text.split_once('=').unwrap_or((text, "1"));
        check_macro_name(name, text)?;
        self.defines.push((name.to_owned(), Some(body.to_owned())));
        Ok(())
    }

    /// Adds a `-U`.
    ///
    /// # Errors
    ///
    /// [`FlagError::NotAMacro`] when it is not an identifier.
    pub fn undefine(&mut self, name: &str) -> Result<(), FlagError> {
        check_macro_name(name, name)?;
        self.defines.push((name.to_owned(), None));
        Ok(())
    }
}

fn check_macro_name(name: &str, all: &str) -> Result<(), FlagError> {
    let word = name.split('(').next().unwrap_or("");
    let starts = word.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
    let goes_on = word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let one_line = !all.contains(['\n', '\r', '\0']) && !all.ends_with('\\');
    if starts && goes_on && one_line { Ok(()) } else { Err(FlagError::NotAMacro(all.to_owned())) }
}

struct Reader<'a> {
    flags: Flags,
    warnings: Vec<FlagWarning>,
    dir: &'a Path,
}

impl Reader<'_> {
    fn flag(&mut self, arg: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<(), FlagError> {
        let Some(tail) = arg.strip_prefix('-').filter(|tail| !tail.is_empty()) else {
            if arg.starts_with('@') {
                self.flags.changed_by(arg);
                self.warn(arg, "response files are not read, so nothing is proved of this file");
            }
            return Ok(());
        };
        if self.path_flag(arg, rest)? || self.macro_flag(arg, rest)? {
            return Ok(());
        }
        let concerns = self.flags.changed_by(arg);
        if concerns == Some(Concerns::Everything) {
            self.warn(arg, "this flag changes what the program means and is not supported: nothing is proved of the file");
        }
        // Those for the machine and for optimising mean something else, too.
        if concerns.is_some() && !arg.starts_with("-m") && !arg.starts_with("-O") {
            if ["-isysroot", "--sysroot", "-include-pch"].contains(&arg) {
                value("", arg, rest)?;
            }
            return Ok(());
        }
        match arg {
            "-m32" => self.flags.data_model = DataModel::Ilp32,
            "-m64" => self.flags.data_model = DataModel::Lp64,
            "-ansi" => self.flags.standard = parse_standard("c89")?,
            "-nostdinc" => self.flags.no_standard_dirs = true,
            "-pthread" => self.flags.pthread = true,
            "-ffreestanding" | "-fno-hosted" => self.flags.freestanding = true,
            "-fhosted" | "-fno-freestanding" => self.flags.freestanding = false,
            "-funsigned-char" | "-fno-signed-char" => self.flags.unsigned_char = true,
            "-fsigned-char" | "-fno-unsigned-char" => self.flags.unsigned_char = false,
            "-fwrapv" | "-fno-strict-overflow" => self.flags.wrapv = true,
            "-fno-wrapv" | "-fstrict-overflow" | "-ftrapv" => self.flags.wrapv = false,
            "-target" => {
                let target = value("", arg, rest)?;
                self.flags.changed_by(&format!("--target={target}"));
            }
            "-Xpreprocessor" => {
                let told = value("", arg, rest)?;
                self.told_preprocessor(&[told])?;
            }
            _ if let Some(all) = arg.strip_prefix("-Wp,") => {
                let told: Vec<String> = all.split(',').map(str::to_owned).collect();
                self.told_preprocessor(&told)?;
            }
            "-fshort-enums" => self.flags.short_enums = true,
            "-fno-short-enums" => self.flags.short_enums = false,
            "-fpack-struct" => self.flags.pack_struct = Some(1),
            _ if let Some(name) = arg.strip_prefix("-std=").or_else(|| arg.strip_prefix("--std=")) => {
                self.flags.standard = parse_standard(name)?;
            }
            _ if let Some(bytes) = arg.strip_prefix("-fpack-struct=") => match bytes.parse() {
                Ok(bytes) => self.flags.pack_struct = Some(bytes),
                Err(_) => self.warn(arg, "not a number of bytes"),
            },
            _ if let Some(level) = tail.strip_prefix('O') => self.flags.optimize = level != "0",
            _ if let Some(language) = arg.strip_prefix("-x") => {
                let language = value(language, arg, rest)?;
                if !["c", "c-header", "cpp-output", "none"].contains(&language.as_str()) {
                    return Err(FlagError::NotC(language));
                }
            }
            _ if IGNORED_WITH_VALUE.contains(&arg) => {
                value("", arg, rest)?;
            }
            _ if tail.starts_with('m') => self.flags.machine.push(arg.to_owned()),
            _ if is_known_family(tail) => {}
            _ => self.warn(arg, "unknown flag"),
        }
        Ok(())
    }

    /// The flags whose value is a directory or a file to read.
    fn path_flag(&mut self, arg: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<bool, FlagError> {
        type Place = fn(&mut Flags) -> &mut Vec<PathBuf>;
        const PLACES: [(&str, Place); 8] = [
            ("--include-directory=", |f| &mut f.include_dirs),
            ("-iquote", |f| &mut f.quote_dirs),
            ("-isystem", |f| &mut f.system_dirs),
            ("-idirafter", |f| &mut f.after_dirs),
            ("-include", |f| &mut f.includes),
            ("--include", |f| &mut f.includes),
            ("-imacros", |f| &mut f.macro_files),
            ("-I", |f| &mut f.include_dirs),
        ];
        // `-include-pch`, `-isysroot` and `-iwithprefix` only look like these.
        if arg.starts_with("-include-pch") {
            return Ok(false);
        }
        for (name, place) in PLACES {
            if let Some(glued) = arg.strip_prefix(name) {
                let path = value(glued.trim_start_matches('='), arg, rest)?;
                // A forced include is searched for like a quoted one, so it stays as it is
                // unless it is found from the directory of the compilation.
                let path = lexical(&self.dir.join(path));
                place(&mut self.flags).push(path);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn macro_flag(&mut self, arg: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<bool, FlagError> {
        if let Some(glued) = arg.strip_prefix("-D") {
            self.flags.define(&value(glued, arg, rest)?)?;
        } else if let Some(glued) = arg.strip_prefix("-U") {
            self.flags.undefine(&value(glued, arg, rest)?)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// What is for the preprocessor alone: macros, and where files are. Others say nothing about meaning.
    fn told_preprocessor(&mut self, told: &[String]) -> Result<(), FlagError> {
        let mut rest = told.iter();
        while let Some(arg) = rest.next() {
            if !self.path_flag(arg, &mut rest)? && !self.macro_flag(arg, &mut rest)? {
                self.flags.changed_by(arg);
            }
        }
        Ok(())
    }

    fn warn(&mut self, flag: &str, message: &str) {
        self.warnings.push(FlagWarning { flag: flag.to_owned(), message: message.to_owned() });
    }
}

/// The value glued to a flag, or else the next argument.
fn value(glued: &str, flag: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<String, FlagError> {
    if !glued.is_empty() {
        return Ok(glued.to_owned());
    }
    rest.next().cloned().ok_or_else(|| FlagError::MissingValue(flag.to_owned()))
}

fn parse_standard(name: &str) -> Result<Standard, FlagError> {
    Standard::parse(name).ok_or_else(|| FlagError::UnknownStandard(name.to_owned()))
}

/// Warnings, debugging, code generation, linking, dependency files, and what only drives the driver.
fn is_known_family(tail: &str) -> bool {
    const FAMILIES: [&str; 14] =
        ["W", "f", "g", "l", "L", "M", "p", "s", "r", "d", "n", "save-temps", "static", "shared"];
    const WHOLE: [&str; 12] =
        ["c", "S", "E", "v", "w", "C", "P", "H", "Q", "rdynamic", "undef", "traditional"];
    WHOLE.contains(&tail) || FAMILIES.iter().any(|family| tail.starts_with(family)) || tail.starts_with('-')
}
