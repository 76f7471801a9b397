//! What shells and `man` are given.

use std::process::Command;

use crate::common::Scratch;

#[test]
fn bash_completes_commands_and_options() {
    let scratch = Scratch::new();
    let said = scratch.run(&["completions", "bash"]);
    said.expect(0, &["_proofline"]);
    let file = scratch.write("completions", &said.out);
    let script = r#"source "$0"; complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _proofline proofline "${!#}" proofline; echo "${COMPREPLY[@]}"; }
complete_it proofline che; complete_it proofline check --lim"#;
    let output = Command::new("bash").arg("-c").arg(script).arg(&file).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "check\n--limit\n");
    for shell in ["zsh", "fish"] {
        scratch.run(&["completions", shell]).expect(0, &["check", "limit"]);
    }
    assert_ne!(scratch.run(&["completions", "telephone"]).code, 0);
}

#[test]
fn every_command_has_a_manual_page() {
    let scratch = Scratch::new();
    scratch.run(&["manual-pages", "man"]).expect(0, &[]);
    let page =
        |name: &str| std::fs::read_to_string(scratch.path().join("man").join(name)).unwrap_or_default();
    assert!(page("proofline.1").contains("completions"));
    assert!(page("proofline-check.1").contains("limit"));
    assert_eq!(page("proofline-worker.1"), "", "what is not for people has no page");
}
