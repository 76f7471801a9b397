//! Four readings of the same random expressions must agree: compiled C (gcc), the interpreter of automata, formulas over integers, and
//! formulas over bit vectors. A formula may know less than gcc does (then nothing is decided), but it must allow gcc's value, and
//! the bit vectors must allow nothing else. Needs gcc.

mod expressions;

use std::{fmt::Write as _, path::PathBuf, process::Command};

use expressions::{Case, PRELUDE, Random};
use proofline_verifier::{
    Name, Subject,
    load::{Options, load_texts},
    portfolio::{Control, InMemory, Request, Round, check},
    property::Property,
    report::Overall,
    sources::Sources,
};

/// Engines that decide by formulas.
const ENGINES: &[&str] = &["bounded", "bounded-bits"];
/// Those that know floats.
const FLOAT_ENGINES: &[&str] = &["bounded-bits"];

/// What gcc computes for each case; nothing where the behaviour is undefined.
fn compiled(cases: &[Case], name: &str) -> Vec<Option<u64>> {
    let mut text = String::from("#include <stdio.h>\n#include <setjmp.h>\n#include <signal.h>\n");
    text.push_str(PRELUDE);
    text.push_str("#define W(...) ({ __auto_type whole_ = (__VA_ARGS__); whole_; })\n");
    text.push_str("static sigjmp_buf back;\nstatic void trapped(int s) { (void)s; siglongjmp(back, 1); }\n");
    for (i, case) in cases.iter().enumerate() {
        text.push_str(&case.definition(i));
    }
    text.push_str(
        "int main(void) {\nsignal(SIGILL, trapped); signal(SIGFPE, trapped); signal(SIGTRAP, trapped);\n",
    );
    for (i, case) in cases.iter().enumerate() {
        let call = format!("f{i}({})", case.arguments());
        let _ = writeln!(
            text,
            "if (sigsetjmp(back, 1)) puts(\"undefined\"); else printf(\"%llu\\n\", (unsigned long long){call});"
        );
    }
    text.push_str("return 0; }\n");
    let folder = std::env::temp_dir().join(format!("proofline-agreement-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the program");
    let (source, program) = (folder.join("all.c"), folder.join("all"));
    std::fs::write(&source, text).expect("the program is written");
    let compiled = Command::new("gcc")
        .args([
            "-std=gnu11",
            "-w",
            "-O0",
            "-fsanitize=undefined,float-cast-overflow",
            "-fsanitize-undefined-trap-on-error",
            "-o",
        ])
        .args([&program, &source])
        .output()
        .expect("gcc runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().expect("the program runs");
    let _ = std::fs::remove_dir_all(&folder);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let values: Vec<Option<u64>> = lines.lines().map(|line| line.parse().ok()).collect();
    assert_eq!(values.len(), cases.len(), "one line per case");
    values
}

/// Per case three entries: `run` (no inputs), `right` (the value is what gcc says: reachable) and `wrong` (it is not: unreachable).
fn program(cases: &[(Case, u64)]) -> (Subject, Sources) {
    let mut text = format!("extern void reach_error(void);\n#define W(...) (__VA_ARGS__)\n{PRELUDE}");
    for (i, (case, value)) in cases.iter().enumerate() {
        text.push_str(&case.definition(i));
        let expected = format!("({}){value}ull", case.result);
        let fixed: Vec<String> = ["a", "b", "c", "d"]
            .iter()
            .zip(&case.values)
            .map(|(name, value)| format!("{name} == {value}"))
            .collect();
        let _ = writeln!(
            text,
            "void run{i}(void) {{ if (f{i}({}) != {expected}) reach_error(); }}\n\
             void right{i}({parameters}) {{ if ({fixed}) if (f{i}(a, b, c, d) == {expected}) reach_error(); }}\n\
             void wrong{i}({parameters}) {{ if ({fixed}) if (f{i}(a, b, c, d) != {expected}) reach_error(); }}",
            case.arguments(),
            parameters = case.parameters(),
            fixed = fixed.join(" && "),
        );
    }
    let (subject, sources) =
        load_texts(&[(PathBuf::from("cases.c"), text)], &Options::default()).expect("the program loads");
    assert!(!sources.has_errors(), "{:?}", sources.problems());
    (subject, sources)
}

fn ask(memory: &InMemory<'_>, entry: &str, engine: &str) -> Overall {
    let request = Request {
        property: Property::parse("unreach-call").expect("a property"),
        engines: vec![engine.to_owned()],
        steps: 10_000_000,
        first_only: true,
        round: Round::default(),
        under: std::sync::Arc::default(),
    };
    let report = check(memory, &request, &[Name::new(entry)], &Control::default());
    report.unwrap_or_else(|never| match never {}).overall()
}

/// How many cases an engine must decide, in percent: that gcc's value is possible, that no other is.
struct Expected {
    found: usize,
    excluded: usize,
}

fn agree(mut cases: Vec<Case>, name: &str, engines: &[&str], expected: &Expected) {
    let count = cases.len();
    let values = compiled(&cases, name);
    let defined: Vec<(Case, u64)> =
        cases.drain(..).zip(values).filter_map(|(case, value)| Some((case, value?))).collect();
    assert!(defined.len() * 2 > count, "most expressions are defined: {} of {count}", defined.len());
    let (subject, sources) = program(&defined);
    let memory = InMemory { subject: &subject, sources: &sources };
    let mut disagreements = String::new();
    let (mut decided, mut exact) = (0, 0);
    for (i, (case, value)) in defined.iter().enumerate() {
        let mut complain = |what: &str, said: &Overall| {
            let definition = case.definition(i);
            let _ = writeln!(
                disagreements,
                "{what}: {said:?}\n  {definition}  inputs {}; gcc: {value}",
                case.arguments()
            );
        };
        let said = ask(&memory, &format!("run{i}"), "concrete");
        if said != Overall::True {
            complain("the interpreter computes another value", &said);
        }
        for &engine in engines {
            let said = ask(&memory, &format!("right{i}"), engine);
            if said == Overall::True {
                complain(&format!("{engine} excludes gcc's value"), &said);
            }
            decided += usize::from(said == Overall::False);
            let said = ask(&memory, &format!("wrong{i}"), engine);
            if said == Overall::False || engine == "bounded-bits" && said != Overall::True {
                complain(&format!("{engine} allows another value"), &said);
            }
            exact += usize::from(said == Overall::True);
        }
    }
    assert!(disagreements.is_empty(), "{disagreements}");
    eprintln!("{} cases, {decided} values found, {exact} excluded others", defined.len());
    assert!(decided * 100 > defined.len() * expected.found, "formulas find gcc's value: {decided}");
    assert!(exact * 100 > defined.len() * expected.excluded, "formulas exclude other values: {exact}");
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn gcc_the_interpreter_and_both_encodings_compute_the_same_integers() {
    let mut random = Random(from_environment("PROOFLINE_SEED", 0x5eed_0001));
    let count = from_environment("PROOFLINE_CASES", 120);
    let cases = (0..count).map(|_| Case::new(&mut random)).collect();
    agree(cases, "integers", ENGINES, &Expected { found: 180, excluded: 150 });
}

/// Over integers floats are opaque: only the bit vectors exclude anything.
#[test]
fn gcc_the_interpreter_and_bit_vectors_compute_the_same_floats() {
    let mut random = Random(from_environment("PROOFLINE_SEED", 0x5eed_0002));
    let count = from_environment("PROOFLINE_CASES", 6);
    let cases = (0..count).map(|_| Case::of_floats(&mut random)).collect();
    agree(cases, "floats", FLOAT_ENGINES, &Expected { found: 90, excluded: 90 });
}
