//! What compilers make of a program. `gcc -O0` says whether it is of use; all others have to agree before a verdict is called wrong.

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use super::Kind;
use super::case::{Case, Question};
use crate::limited::{self, Output};

/// A compiler and its flags.
struct Build {
    compiler: &'static str,
    flags: &'static [&'static str],
}

const REFERENCE: Build = Build { compiler: "gcc", flags: &["-O0"] };

/// Optimisation shows undefined behaviour, sanitizers name it; the last ones give variables without a value one of two values, or watch
/// for their being read.
const OTHERS: [Build; 9] = [
    Build { compiler: "gcc", flags: &["-O2"] },
    Build { compiler: "clang", flags: &["-O0"] },
    Build { compiler: "clang", flags: &["-O2"] },
    Build {
        compiler: "gcc",
        flags: &["-O0", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"],
    },
    Build { compiler: "clang", flags: &["-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all"] },
    Build { compiler: "clang", flags: &["-O0", "-fsanitize=memory"] },
    Build { compiler: "gcc", flags: &["-O0", "-ftrivial-auto-var-init=zero"] },
    Build { compiler: "gcc", flags: &["-O0", "-ftrivial-auto-var-init=pattern"] },
    // No memory is left.
    Build {
        compiler: "gcc",
        flags: &["-O0", "-fno-builtin", "-Wl,--wrap=malloc", "-Wl,--wrap=calloc", "-Wl,--wrap=realloc"],
    },
];

/// The exit code of a program that made the error call.
const REACHED: i32 = 42;

/// The error call, and a heap without memory.
const RUNTIME: &str = "\
#include <unistd.h>
void reach_error(void) { _exit(42); }
void *__wrap_malloc(unsigned long size) { return 0; }
void *__wrap_calloc(unsigned long count, unsigned long size) { return 0; }
void *__wrap_realloc(void *old, unsigned long size) { return 0; }
";

/// Seconds of processor time for a compiler, and for a compiled program.
const SECONDS: u64 = 20;

/// How a build ended.
enum Ended {
    /// The compiler does not take the program.
    Refused,
    /// With the error call.
    Reached,
    /// Otherwise; what it said.
    Otherwise(String),
}

/// The compilers, and a folder to work in.
pub(super) struct Compilers {
    folder: PathBuf,
    runtime: PathBuf,
}

/// What is known of one program.
pub(super) struct Judge<'a> {
    compilers: &'a Compilers,
    case: &'a Case,
    checksum: String,
    disagreement: OnceCell<Option<String>>,
}

impl Compilers {
    /// Prepares the error call.
    ///
    /// # Errors
    /// If gcc or clang is missing.
    pub(super) fn new(folder: &Path) -> Result<Compilers> {
        let (source, runtime) = (folder.join("runtime.c"), folder.join("runtime.o"));
        fs::write(&source, RUNTIME)?;
        for compiler in ["clang", "gcc"] {
            let status = Command::new(compiler).arg("-c").arg(&source).arg("-o").arg(&runtime).status();
            let status = status.with_context(|| format!("cannot run {compiler}"))?;
            ensure!(status.success(), "{compiler} does not work");
        }
        Ok(Compilers { folder: folder.to_path_buf(), runtime })
    }

    /// A judge of a program; none of one that does not end well with `gcc -O0`.
    ///
    /// # Errors
    /// If a compiler cannot be run.
    pub(super) fn judge<'a>(&'a self, case: &'a Case) -> Result<Option<Judge<'a>>> {
        let checksum = match case.kind {
            Kind::Torture | Kind::Testsuite => String::new(),
            Kind::Csmith => match self.checksum(case)? {
                Some(checksum) => checksum,
                None => return Ok(None),
            },
        };
        let judge = Judge { compilers: self, case, checksum, disagreement: OnceCell::new() };
        let ended = judge.build(&REFERENCE)?;
        Ok(matches!(ended, Ended::Reached).then_some(judge))
    }

    /// What one of csmith's programs prints.
    fn checksum(&self, case: &Case) -> Result<Option<String>> {
        let path = self.folder.join(format!("{}.sum", case.name));
        if !self.compile(&REFERENCE, case.source(), case, &path)? {
            return Ok(None);
        }
        let run = limited::run(&path, &[], SECONDS, Output::Results)?;
        fs::remove_file(&path)?;
        Ok(run.output.lines().find_map(|line| line.strip_prefix("checksum = ")).map(str::to_owned))
    }

    fn compile(&self, build: &Build, source: &Path, case: &Case, to: &Path) -> Result<bool> {
        let paths = [source, self.runtime.as_path(), to].map(|path| path.to_string_lossy().into_owned());
        let mut line = build.flags.to_vec();
        line.extend(case.compiler_flags.iter().map(String::as_str));
        line.extend(["-w", "-g1", &paths[0], &paths[1], "-o", &paths[2], "-lm"]);
        let run = limited::run(Path::new(build.compiler), &line, SECONDS, Output::ResultsAndErrors)?;
        Ok(run.status.success())
    }
}

impl Judge<'_> {
    /// The file that asks a question.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn file(&self, question: Question) -> Result<PathBuf> {
        let file = self.compilers.folder.join(format!("{}.{}.c", self.case.name, question.name()));
        fs::write(&file, self.case.text(question, &self.checksum))?;
        Ok(file)
    }

    /// A compiler that takes the program, and with which it does not end well.
    ///
    /// # Errors
    /// If a compiler cannot be run.
    pub(super) fn disagreement(&self) -> Result<Option<&str>> {
        if self.disagreement.get().is_none() {
            let found = self.look_for_disagreement()?;
            let _ = self.disagreement.set(found);
        }
        Ok(self.disagreement.get().and_then(Option::as_deref))
    }

    fn look_for_disagreement(&self) -> Result<Option<String>> {
        for build in &OTHERS {
            if let Ended::Otherwise(said) = self.build(build)? {
                return Ok(Some(format!("{} {}: {said}", build.compiler, build.flags.join(" "))));
            }
        }
        Ok(None)
    }

    /// Whether the end is reached.
    fn build(&self, build: &Build) -> Result<Ended> {
        let (source, path) =
            (self.file(Question::Ends)?, self.compilers.folder.join(format!("{}.exe", self.case.name)));
        if !self.compilers.compile(build, &source, self.case, &path)? {
            return Ok(Ended::Refused);
        }
        let run = limited::run(&path, &[], SECONDS, Output::ResultsAndErrors)?;
        fs::remove_file(&path)?;
        if run.status.code() == Some(REACHED) {
            return Ok(Ended::Reached);
        }
        let says = |word: &str| run.output.lines().find(|line| line.contains(word)).map(str::to_owned);
        let said = says("runtime error:").or_else(|| says("SUMMARY:"));
        Ok(Ended::Otherwise(said.unwrap_or_else(|| run.status.to_string())))
    }
}
