//! What the manual shows is what the program says.

use std::{fs, path::Path, process::Command};

use crate::common::Scratch;

/// A fenced block of a page: its language and its lines.
fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut out = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            out.push((language, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    out
}

/// Runs a line in the folder; returns what it prints.
fn run(scratch: &Scratch, line: &str) -> String {
    if let Some(arguments) = line.strip_prefix("proofline ") {
        return scratch.run(&arguments.split(' ').collect::<Vec<_>>()).all();
    }
    let status = Command::new("sh").args(["-c", line]).current_dir(scratch.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "{line}");
    String::new()
}

#[test]
#[cfg(unix)]
fn how_it_works_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Scratch::new();
    for example in ["clamp.c", "add.c"] {
        scratch.write(example, fs::read(root.join("examples").join(example)).expect("an example"));
    }
    let page = fs::read_to_string(root.join("docs/how-it-works.md")).expect("the page");
    let (mut said, mut shown) = (String::new(), 0);
    for (language, lines) in blocks(&page) {
        match language {
            "sh" => said = lines.iter().map(|line| run(&scratch, line)).collect(),
            "text" => {
                let mut rest = said.lines();
                for line in lines.into_iter().filter(|line| *line != "…") {
                    assert!(
                        rest.any(|said| said == line),
                        "`{line}` is not said, or not in this order:\n{said}"
                    );
                    shown += 1;
                }
            }
            _ => {}
        }
    }
    assert!(shown > 30, "the page has examples");
}
