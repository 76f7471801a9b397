//! A counterexample as a C test: the file itself, with its inputs fixed. Writes text; its caller decides where it is kept and run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

use proofline_cfa::{Cause, Scalar, register, scalar_of};
use proofline_verifier::{
    Entry, Name,
    command_line::ARGV,
    interpret::{Choice, Code},
    load,
};

use crate::{finding::Finding, index::Symbol, program::Program, settings::Settings};

/// A test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// A file name.
    pub name: String,
    /// C, with one `#include` of the file under test: [`Test::INCLUDE`] stands for its path.
    pub text: String,
    /// Whether sanitizers can see the failure.
    pub is_visible: bool,
    /// Functions that allocate memory and of which the test decides whether they fail, by the linker's `--wrap`.
    pub wrapped: BTreeSet<&'static str>,
}

impl Test {
    /// Where the path of the file under test goes.
    pub const INCLUDE: &'static str = "@FILE@";
}

/// Writes the test of a finding. The error says why there is none.
///
/// # Errors
/// If the counterexample cannot be written as a test: why, for people.
pub fn test(program: &Program, finding: &Finding) -> Result<Test, String> {
    let asked = program.asked().ok_or("the file could not be read")?;
    let code = asked.program();
    if let Some(pointer) = code.globals.keys().find_map(|name| register::pointer(*name)) {
        return Err(format!(
            "the program uses a register, `{pointer}`, which is not there where the test would run"
        ));
    }
    let counterexample = &finding.counterexample;
    let run = counterexample.replay(&Code::new(code)).ok_or("the text has changed")?;
    let entry = counterexample.entry.name;
    let function = code.function(entry).ok_or("the function is gone")?;
    let mut inputs = run.inputs.iter().peekable();
    let mut arguments = Vec::new();
    let has_strings = entry == Entry::main().name && code.globals.contains_key(&Name::new(ARGV));
    for (at, &parameter) in function.parameters.iter().enumerate() {
        let local = function.local(parameter);
        let scalar = scalar_of(local.ty, code.data_model);
        match (scalar, inputs.peek()) {
            (Some(scalar), Some((question, answer)))
                if question.function == entry && question.cause == Cause::Input(local.name) =>
            {
                arguments.push(match (has_strings, at) {
                    (true, 1) => "arguments".to_owned(),
                    (true, 2) => "arguments + sizeof arguments / sizeof *arguments - 1".to_owned(),
                    _ => literal(scalar, *answer)?,
                });
                inputs.next();
            }
            (Some(_), _) => arguments.push("0".to_owned()),
            (None, _) => return Err(format!("the argument `{}` is a record", local.name)),
        }
    }
    let mut given: BTreeMap<Name, Vec<String>> = BTreeMap::new();
    let mut allocations = Allocations::default();
    for (question, answer) in inputs {
        match question.cause {
            _ if question.is_of_allocation() => allocations.add(program, question, *answer != 0)?,
            // A part of the arguments, which are written down whole.
            Cause::Input(name) if name.as_str() == ARGV => {}
            Cause::Input(name) | Cause::External(name) | Cause::Keeping(name) => {
                given.entry(name).or_default().push(literal(question.scalar, *answer)?);
            }
            Cause::Within(name) => {
                return Err(format!("the path depends on what `{name}` does on its way"));
            }
            Cause::Unmodelled(what) => {
                return Err(format!("the path depends on something a test cannot set: {what}"));
            }
            Cause::Text(name) => return Err(format!("the path depends on the text that `{name}` gives")),
            Cause::Volatile => return Err("the path depends on a volatile object".to_owned()),
            Cause::Indeterminate => return Err("the path depends on memory without a value".to_owned()),
        }
    }
    let mut text = String::new();
    let _ = writeln!(text, "/* Reproduces: {}", finding.message().replace("*/", "* /"));
    for step in &finding.steps {
        let _ = writeln!(text, "   {}. {}", step.number, step.text.replace("*/", "* /"));
    }
    let beside = program.companions().iter();
    let names = beside.filter_map(|file| Some(format!("{} ", file.file_name()?.to_string_lossy())));
    let names: String = names.collect();
    let wrapped = if allocations.fail() { allocations.wrapped } else { BTreeSet::new() };
    let wraps: String = wrapped.iter().map(|name| format!(" -Wl,--wrap={name}")).collect();
    let with = if names.is_empty() { String::new() } else { format!(" together with {}", names.trim_end()) };
    let _ = writeln!(text, "   Build{with} with -fsanitize=undefined,address{wraps}. */");
    let _ = writeln!(text, "#include <stdlib.h>");
    let has_main = code.function(Entry::main().name).is_some();
    if has_main {
        text.push_str("#define main program_under_test\n");
    }
    let _ = writeln!(text, "#include \"{}\"", Test::INCLUDE);
    if has_main {
        text.push_str("#undef main\n");
    }
    text.push('\n');
    for (name, values) in &given {
        input(program, *name, values, &mut text)?;
    }
    ends(program, &mut text);
    if !wrapped.is_empty() {
        text.push_str(&wrappers(&wrapped, &allocations.answers));
    }
    let called = if !counterexample.entry.is_library() { "program_under_test" } else { entry.as_str() };
    text.push_str("int main(void) {\n");
    if has_strings {
        text.push_str(&strings(&run.arguments));
    }
    let _ = writeln!(text, "    (void){called}({});\n    return 0;\n}}", arguments.join(", "));
    let function = finding.function.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    Ok(Test {
        name: format!("reproduce_{function}_{}.c", finding.check.replace('-', "_")),
        text,
        is_visible: finding.check != "uninitialised",
        wrapped,
    })
}

/// Functions that allocate memory: what they return, their parameters and how these are passed on.
const ALLOCATING: [(&str, &str, &str, &str); 7] = [
    ("aligned_alloc", "void *", "size_t alignment, size_t size", "alignment, size"),
    ("calloc", "void *", "size_t count, size_t size", "count, size"),
    ("malloc", "void *", "size_t size", "size"),
    ("realloc", "void *", "void *memory, size_t size", "memory, size"),
    ("reallocarray", "void *", "void *memory, size_t count, size_t size", "memory, count, size"),
    ("strdup", "char *", "char const *text", "text"),
    ("strndup", "char *", "char const *text, size_t size", "text, size"),
];

/// Which of the path's allocations fail.
#[derive(Default)]
struct Allocations {
    /// Whether it fails, in the order of the path.
    answers: Vec<bool>,
    /// Those that are called, and all of them where a pointer or a macro hides which.
    wrapped: BTreeSet<&'static str>,
}

impl Allocations {
    /// One more. The error says why a test cannot decide it.
    fn add(&mut self, program: &Program, question: &Choice, fails: bool) -> Result<(), String> {
        let sources = program.sources().ok_or("the file could not be read")?;
        let position = sources.position(question.function, question.site);
        let text = position.map(|place| sources.text_at(&place)).unwrap_or_default();
        let called = text.split('(').next().unwrap_or_default().trim();
        let known = ALLOCATING.iter().find(|(name, ..)| *name == called);
        let is_other = || {
            let symbol = Symbol::Function(called.to_owned());
            program.index().declaration(&symbol).is_some_and(|known| !known.is_defined)
        };
        match known {
            Some((name, ..)) => _ = self.wrapped.insert(name),
            None if is_other() => {
                // It does not call what is wrapped.
                return if fails {
                    Err(format!("the path depends on whether `{called}` fails"))
                } else {
                    Ok(())
                };
            }
            None => self.wrapped.extend(ALLOCATING.iter().map(|(name, ..)| name)),
        }
        self.answers.push(fails);
        Ok(())
    }

    fn fail(&self) -> bool {
        self.answers.contains(&true)
    }
}

/// Definitions of what the linker calls in place of the functions.
fn wrappers(wrapped: &BTreeSet<&'static str>, answers: &[bool]) -> String {
    let list: Vec<&str> = answers.iter().map(|fails| if *fails { "1" } else { "0" }).collect();
    let mut text =
        String::from("/* Whether the next allocation fails. */\nstatic int proofline_fails(void) {\n");
    let _ = writeln!(text, "    static char const fails[] = {{ {} }};", list.join(", "));
    text.push_str("    static unsigned next;\n    return next < sizeof fails && fails[next++];\n}\n\n");
    for (name, result, parameters, arguments) in ALLOCATING.iter().filter(|(name, ..)| wrapped.contains(name))
    {
        let _ = writeln!(text, "{result}__real_{name}({parameters});");
        let _ = writeln!(
            text,
            "{result}__wrap_{name}({parameters}) {{ return proofline_fails() ? NULL : __real_{name}({arguments}); }}\n"
        );
    }
    text
}

/// The array that `argv` is: strings that can be written to, and a null pointer.
fn strings(arguments: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for (at, argument) in arguments.iter().enumerate() {
        // Octal escapes have at most three digits, whatever follows them.
        let bytes: String = argument
            .iter()
            .map(|byte| match byte {
                b' '..=b'~' if !matches!(byte, b'"' | b'\\' | b'?') => char::from(*byte).to_string(),
                byte => format!("\\{byte:03o}"),
            })
            .collect();
        let _ = writeln!(text, "    static char argument{at}[] = \"{bytes}\";");
    }
    let names: Vec<String> = (0..arguments.len()).map(|at| format!("argument{at}, ")).collect();
    let _ = writeln!(text, "    char *arguments[] = {{ {}0 }};", names.concat());
    text
}

/// A function that gives these values one after the other.
fn input(program: &Program, name: Name, values: &[String], text: &mut String) -> Result<(), String> {
    let symbol = Symbol::Function(name.to_string());
    let known = program
        .index()
        .declaration(&symbol)
        .ok_or_else(|| format!("`{name}` is no function a test can replace"))?;
    if known.is_defined {
        return Err(format!("`{name}` has a body"));
    }
    let list = values.join(", ");
    let _ = writeln!(text, "{} {{", known.text);
    let result = known.text.split(name.as_str()).next().unwrap_or("int").trim().to_owned();
    let result = if result.is_empty() { "int".to_owned() } else { result };
    let _ = writeln!(text, "    static {result} const values[] = {{ {list} }};");
    let _ = writeln!(text, "    static unsigned next;");
    let _ = writeln!(text, "    return next < sizeof values / sizeof *values ? values[next++] : 0;\n}}\n");
    Ok(())
}

/// What verification tasks declare and leave undefined.
fn ends(program: &Program, text: &mut String) {
    for (name, body) in [
        ("reach_error", "abort();"),
        ("__VERIFIER_error", "abort();"),
        ("__VERIFIER_assume", "if (!condition) exit(0);"),
    ] {
        let symbol = Symbol::Function(name.to_owned());
        if program.index().declaration(&symbol).is_some_and(|known| !known.is_defined) {
            let parameters = if body.contains("condition") { "int condition" } else { "void" };
            let _ = writeln!(text, "void {name}({parameters}) {{ {body} }}\n");
        }
    }
}

/// A value as C writes it.
fn literal(scalar: Scalar, answer: i128) -> Result<String, String> {
    match scalar {
        Scalar::Pointer if answer == 0 => Ok("0".to_owned()),
        Scalar::Pointer => Err("the path depends on what a pointer from outside points to".to_owned()),
        Scalar::Float(_) => {
            let value = f64::from_bits(answer as u64);
            if value.is_finite() {
                Ok(format!("{value:?}"))
            } else {
                Err("an input is not a number".to_owned())
            }
        }
        Scalar::Int(ty) => {
            let value = ty.wrap(answer);
            Ok(match value {
                v if v > i128::from(u64::MAX) || v < i128::from(i64::MIN) => {
                    return Err("an input has more than 64 bits".to_owned());
                }
                v if v == i128::from(i64::MIN) => "-9223372036854775807LL - 1".to_owned(),
                v if v > i128::from(i64::MAX) => format!("{v}ULL"),
                v if v > i128::from(i32::MAX) || v < i128::from(i32::MIN) => format!("{v}LL"),
                v => v.to_string(),
            })
        }
    }
}

/// The flags that a compiler needs for a file.
pub fn compiler_flags(file: &Path, settings: &Settings) -> Vec<String> {
    load::compiler_flags(file, &settings.options)
}
