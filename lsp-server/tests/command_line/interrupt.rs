//! Ctrl-C, and progress on a terminal.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::common::Scratch;

/// No engine decides this soon: this one only runs it.
const LONG: &str = "extern void reach_error(void);\nextern unsigned __VERIFIER_nondet_uint(void);\nint main(void) {\n    unsigned long \
                    s = __VERIFIER_nondet_uint(), i;\n    for (i = 0; i < 4000000000ul; i++)\n        s = s * 6364136223846793005ul + \
                    i;\n    if (s == 1234567)\n        reach_error();\n    return 0;\n}\n";

#[test]
fn an_interrupt_reports_what_is_known() {
    let scratch = Scratch::new();
    scratch.write("test.c", LONG);
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofline"))
        .args([
            "check",
            "--engine",
            "concrete-long,explicit",
            "--budget",
            "1000000000",
            "--progress",
            "test.c",
        ])
        .current_dir(scratch.path())
        .env("XDG_CACHE_HOME", scratch.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut news = BufReader::new(child.stderr.take().expect("its news")).lines();
    assert!(news.any(|line| line.expect("text").starts_with("main: concrete-long")), "the work never began");
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("RESULT: unknown(cancelled)"), "{said}");
    assert!(said.contains("main "), "the table is missing:\n{said}");
}

#[test]
fn a_terminal_sees_what_is_going_on() {
    if Command::new("script").arg("--version").output().is_err() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("test.c", LONG);
    let line = format!("{} check --engine concrete-long --limit 2 test.c", env!("CARGO_BIN_EXE_proofline"));
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .current_dir(scratch.path())
        .env("XDG_CACHE_HOME", scratch.path())
        .output()
        .expect("script");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("main: 1 place to go"), "{said:?}");
    assert!(said.contains("RESULT: unknown("), "{said:?}");
}
