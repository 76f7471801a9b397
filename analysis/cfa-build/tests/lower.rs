//! Small C programs and the automata they must become: `automata/NAME.c` beside `automata/NAME.cfa`. With `UPDATE=1` in the
//! environment the expectations are written anew, to be read before they are committed.

mod common;

use std::{fs, path::Path};

use common::{automata, program};
use proofline_cfa::text;

#[test]
fn every_program_becomes_the_automaton_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/automata");
    let mut sources: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 12);
    let mut wrong = Vec::new();
    for source in sources {
        let code = fs::read_to_string(&source).expect("readable");
        let actual = automata(&code);
        let expectation = source.with_extension("cfa");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expectation, &actual).expect("writable");
        }
        let expected = fs::read_to_string(&expectation).unwrap_or_default();
        if actual != expected {
            let line = actual.lines().zip(expected.lines()).position(|(a, e)| a != e);
            wrong.push(format!("{}: first difference in line {:?}", source.display(), line.map(|n| n + 1)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn automata_of_real_code_read_back_from_their_text() {
    let code = include_str!("automata/statements.c");
    let program = program(&[code]);
    let printed = text::print_program(&program);
    assert_eq!(text::parse_program(&printed).expect("it parses"), program);
}

#[test]
fn white_space_and_comments_change_no_automaton() {
    let plain = program(&["int f(int a) { return a / 2; }"]);
    let spread = program(&["/* x */ int\nf (int a)\n{\n  // y\n  return a\n / 2;\n}\n"]);
    assert_eq!(plain, spread);
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let code = format!("int f(int a) {{ return {}a{}; }}", "(1 + ".repeat(500), ")".repeat(500));
    assert_eq!(program(&[&code]).functions.len(), 1);
    let code = format!("int f(int a) {{ {} return 0; }}", "if (a) ".repeat(500));
    assert_eq!(program(&[&code]).functions.len(), 1);
}
