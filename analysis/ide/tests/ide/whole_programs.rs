//! Checks of whole programs as the command line asks for them.

use std::path::{Path, PathBuf};

use proofline_ide::check::{
    CheckError, Control, Name, Options, Overall, Property, Request, Round, WholeProgram,
};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/average.c")
}

fn request() -> Request {
    let engines = ["concrete", "intervals"].map(str::to_owned).to_vec();
    Request {
        property: Property::Everything,
        engines,
        steps: 20_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

fn program(file: PathBuf) -> WholeProgram {
    WholeProgram::new(vec![file], Options::default(), None, None).expect("the solver is there")
}

#[test]
fn findings_have_places_in_the_sources() {
    let program = program(example());
    let report = program.check(&request(), &[], &Control::default()).expect("it can be read");
    assert!(matches!(report.overall(), Overall::False));
    let sources = program.sources().expect("it can be read");
    let finding = report.failures().next().expect("it fails");
    let position = finding.position.as_ref().expect("somewhere");
    assert!(sources.line(position).is_some_and(|line| line.contains('+')));
    assert!(program.take_statistics().verified > 0);
}

#[test]
fn an_entry_without_a_body_and_a_file_that_is_not_there_are_errors() {
    let missing = Name::new("no_such_function");
    let outcome = program(example()).check(&request(), &[missing], &Control::default());
    assert!(matches!(outcome, Err(CheckError::NoSuchEntry(name)) if name == missing));
    let outcome = program("/proofline-test/no-such-file.c".into()).sources();
    assert!(matches!(outcome, Err(CheckError::Load(_))));
}

#[test]
fn work_that_is_stopped_is_a_report_that_says_so() {
    let control = Control::default();
    control.cancel.cancel();
    let report = program(example()).check(&request(), &[], &control).expect("it is no error");
    assert!(matches!(report.overall(), Overall::Unknown(_)));
}
