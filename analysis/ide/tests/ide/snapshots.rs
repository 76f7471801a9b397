//! The host writes, snapshots only read: an old one stops, a new one sees every change, and what did not change is remembered.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
};

use proofline_ide::{AnalysisHost, Cancel, Cancelled, Change, Effort, Program, Settings};

use crate::common::path;

fn text(name: &str, text: &str) -> Change {
    Change { texts: vec![(path(name), Some(text.into()))], ..Change::default() }
}

fn program(host: &mut AnalysisHost, name: &str) -> Arc<Program> {
    host.analysis(&path(name)).program(&Cancel::default()).expect("nobody stops it")
}

fn names(program: &Program) -> Vec<&str> {
    program.functions().iter().map(|function| function.name.as_str()).collect()
}

#[test]
fn a_program_is_remembered_until_something_it_was_made_from_changes() {
    let mut host = AnalysisHost::default();
    host.apply(text("a.c", "#include \"a.h\"\nint a(void) { return A; }\n"));
    host.apply(text("a.h", "#define A 1\n"));
    host.apply(text("b.c", "int b(void) { return 2; }\n"));
    let first = program(&mut host, "a.c");
    host.apply(text("b.c", "int b(void) { return 3; }\n"));
    host.apply(text("a.h", "#define A 1\n"));
    assert!(Arc::ptr_eq(&first, &program(&mut host, "a.c")), "neither file changed it");
    host.apply(text("a.h", "#define A 2\n"));
    assert!(!Arc::ptr_eq(&first, &program(&mut host, "a.c")), "a header did");
    let second = program(&mut host, "a.c");
    host.apply(Change {
        settings: Some(Settings { library: true, ..Settings::default() }),
        ..Change::default()
    });
    assert!(!Arc::ptr_eq(&second, &program(&mut host, "a.c")), "the settings did");
}

#[test]
fn a_header_that_was_missed_is_found_when_somebody_opens_it() {
    let mut host = AnalysisHost::default();
    host.apply(text("a.c", "#include \"late.h\"\nint a(void) { return LATE; }\n"));
    assert!(program(&mut host, "a.c").has_errors());
    host.apply(text("late.h", "#define LATE 1\n"));
    assert!(!program(&mut host, "a.c").has_errors());
    host.apply(Change { texts: vec![(path("late.h"), None)], ..Change::default() });
    assert!(program(&mut host, "a.c").has_errors(), "closed, it is what is on the disk: nothing");
}

#[test]
fn a_file_that_is_opened_again_has_seen_what_happened_meanwhile() {
    let mut host = AnalysisHost::default();
    host.apply(text("a.h", "#define A one\n"));
    host.apply(text("a.c", "#include \"a.h\"\nint A(void) { return 1; }\n"));
    assert_eq!(names(&program(&mut host, "a.c")), ["one"]);
    host.apply(Change { texts: vec![(path("a.c"), None)], ..Change::default() });
    host.apply(text("a.h", "#define A two\n"));
    host.apply(text("a.c", "#include \"a.h\"\nint A(void) { return 1; }\n"));
    assert_eq!(names(&program(&mut host, "a.c")), ["two"]);
}

#[test]
fn companions_are_linked_unless_they_have_errors() {
    let mut host = AnalysisHost::default();
    let (own, other): (PathBuf, PathBuf) = (path("own.c"), path("other.c"));
    host.apply(text("own.c", "int other(void);\nint main(void) { return other(); }\n"));
    host.apply(text("other.c", "int other(void) { return 1; }\n"));
    host.apply(Change { companions: vec![(own, vec![other])], ..Change::default() });
    assert_eq!(names(&program(&mut host, "own.c")), ["other", "main"]);
    host.apply(text("other.c", "int other(void) { return 1 +; }\n"));
    let alone = program(&mut host, "own.c");
    assert_eq!(names(&alone), ["main"]);
    assert!(!alone.has_errors(), "what its companions have wrong is not held against it");
    let analysis = host.analysis(&path("own.c"));
    let report = analysis.verify("main", &Effort::quick(20_000), &Cancel::default(), Arc::new(|_| ()));
    assert!(report.expect("nobody stops it").functions.contains_key("main"));
    drop(analysis);
    host.apply(text("other.c", "int other(void) { return 2; }\n"));
    assert_eq!(names(&program(&mut host, "own.c")), ["other", "main"]);
}

#[test]
fn a_write_stops_the_snapshots_of_what_it_changes_and_no_others() {
    let mut host = AnalysisHost::default();
    host.apply(text("a.c", "int a(unsigned n) { unsigned s = 0; while (s * s != n) s += 3; return 1; }\n"));
    host.apply(text("b.c", "int b(void) { return 2; }\n"));
    let other = host.analysis(&path("b.c"));
    let analysis = host.analysis(&path("a.c"));
    let (begun, has_begun) = mpsc::channel();
    let worker = std::thread::Builder::new().stack_size(1 << 28).spawn(move || {
        let heard = Arc::new(move |_: &proofline_ide::Doing| {
            let _ = begun.send(());
        });
        let effort = Effort::most(1 << 40);
        analysis.verify("a", &effort, &Cancel::default(), heard)
    });
    let worker = worker.expect("a thread");
    // It may be decided before the write comes; then there was nothing to stop.
    let _ = has_begun.recv();
    host.apply(text("a.c", "int c(void) { return 1; }\n"));
    assert!(matches!(worker.join().expect("no panic"), Err(Cancelled) | Ok(_)));
    assert_eq!(names(&program(&mut host, "a.c")), ["c"]);
    assert_eq!(names(&other.program(&Cancel::default()).expect("nobody stops it")), ["b"]);
}

#[test]
fn a_text_is_shared_and_not_copied() {
    let mut host = AnalysisHost::default();
    let text: Arc<str> = "int a;\n".into();
    host.apply(Change { texts: vec![(path("a.c"), Some(text.clone()))], ..Change::default() });
    let analysis = host.analysis(&path("a.c"));
    assert!(analysis.text().is_some_and(|same| Arc::ptr_eq(&same, &text)));
}
