//! A program, and the texts that ask about it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::Kind;

/// A program whose run ends well.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Its file's name without `.c`.
    pub(super) name: String,
    pub(super) kind: Kind,
    source: PathBuf,
    text: String,
    /// What the compilers are told.
    pub(super) compiler_flags: Vec<String>,
    /// What the verifier is told.
    pub(super) verifier_flags: Vec<String>,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// Is the error call reached where the program fails? It is not: `false` is wrong.
    Fails,
    /// Is the error call reached where the program ends well? It is: `true` is wrong.
    Ends,
}

impl Question {
    pub(super) fn name(self) -> &'static str {
        match self {
            Question::Fails => "fails",
            Question::Ends => "ends",
        }
    }
    /// Whether the right verdict is `true`.
    pub(super) fn expected(self) -> bool {
        self == Question::Fails
    }
}

/// The error call, and the end of a program that does not return from `main`.
const HEAD: &str = "extern void reach_error(void);\n";

impl Case {
    /// Reads a program.
    ///
    /// # Errors
    /// If there is no such file.
    pub(super) fn read(kind: Kind, source: &Path) -> Result<Case> {
        let source = source.canonicalize()?;
        let bytes = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut case =
            Case { name, kind, source, text, compiler_flags: Vec::new(), verifier_flags: Vec::new() };
        case.flags();
        Ok(case)
    }

    /// Flags that the program's own comments ask for, `{ dg-options "-fwrapv" }`, as far as they change what it means.
    fn flags(&mut self) {
        let folder = "/usr/include/csmith";
        let asked: String = self.text.lines().filter(|line| line.contains("dg-")).collect();
        if self.kind == Kind::Csmith {
            self.compiler_flags.push(format!("-I{folder}"));
            self.verifier_flags.push(format!("-I{folder}"));
        }
        if asked.contains("-fwrapv") {
            self.compiler_flags.push("-fwrapv".into());
            self.verifier_flags.push("--wrapv".into());
        }
        if asked.contains("gnu89") {
            self.compiler_flags.push("-std=gnu89".into());
            self.verifier_flags.extend(["--std".into(), "gnu89".into()]);
        }
    }

    /// The text that asks a question. Of csmith's programs the checksum has to be known.
    pub(super) fn text(&self, question: Question, checksum: &str) -> String {
        match self.kind {
            Kind::Torture => self.torture(question),
            Kind::Testsuite => self.testsuite(question),
            Kind::Csmith => self.csmith(question, checksum),
        }
    }

    /// The program itself.
    pub(super) fn source(&self) -> &Path {
        &self.source
    }

    fn include(&self) -> String {
        format!("#include \"{}\"\n", self.source.display())
    }

    fn torture(&self, question: Question) -> String {
        match question {
            Question::Fails => {
                let aborts = "#define abort reach_error\n#define __builtin_abort reach_error\n";
                format!("{HEAD}{aborts}{}", self.include())
            }
            Question::Ends => self.renamed("status == 0", "", " reach_error();"),
        }
    }

    fn testsuite(&self, question: Question) -> String {
        let condition = if question == Question::Fails { "status != 0" } else { "status == 0" };
        self.renamed(condition, "int status = ", &format!(" if ({condition}) reach_error();"))
    }

    /// With a `main` around its own, and an `exit` that says how it ended.
    fn renamed(&self, exits: &str, before: &str, after: &str) -> String {
        let exit = format!("void attack_exit(int status) {{ if ({exits}) reach_error(); for (;;) ; }}\n");
        let names =
            "#define exit attack_exit\n#define __builtin_exit attack_exit\n#define main attack_main\n";
        let (include, arguments) = (self.include(), self.main_arguments());
        format!(
            "{HEAD}{exit}{names}{include}#undef main\nstatic char *attack_arguments[2] = {{ \"program\", 0 }};\n\
             int main(void) {{ {before}attack_main({arguments});{after} return 0; }}\n"
        )
    }

    /// What its `main` takes, read off the text.
    fn main_arguments(&self) -> &'static str {
        let parameters = self.text.match_indices("main").filter_map(|(at, word)| {
            let (before, after) = (&self.text[..at], &self.text[at + word.len()..]);
            let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let (parameters, _) = after.trim_start().strip_prefix('(')?.split_once(')')?;
            is_word.then(|| parameters.trim())
        });
        match parameters.last() {
            None | Some("" | "void") => "",
            Some(text) if text.matches(',').count() == 2 => "1, attack_arguments, attack_arguments + 1",
            Some(text) if text.contains(',') => "1, attack_arguments",
            Some(_) => "1",
        }
    }

    fn csmith(&self, question: Question, checksum: &str) -> String {
        let operator = if question == Question::Fails { "!=" } else { "==" };
        let end = format!(
            "static void attack_end(uint32_t sum, int flag) {{ if (sum {operator} 0x{checksum}u) reach_error(); }}\n"
        );
        format!("{HEAD}#include \"csmith.h\"\n{end}#define platform_main_end attack_end\n{}", self.include())
    }
}
