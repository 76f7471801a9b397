//! A plan for Ninja, and for what speaks its language: an edge for each job. An edge names all that its command reads of the plan, so it can be
//! run where nothing else is.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use super::{ANSWERS, JOBS, TEXTS};

/// What all edges have in common. An answer that is there already is left alone, and its age says nothing: `restat`.
pub(super) fn head(program: &Path) -> String {
    let word = program.to_string_lossy().replace('\'', "'\\''").replace('$', "$$");
    format!(
        "# Made by `proofline plan`. To solve with another command, write a file of your own beside this one, and give it to `ninja -f`:\n\
         #   include build.ninja\n\
         #   proofline = remote-run proofline\n\
         proofline = '{word}'\n\
         rule solve\n  command = $proofline solve . $job\n  description = solve $job $name\n  restat = 1\n"
    )
}

/// Of one job: its number, its program's name, and the texts that it takes.
pub(super) fn edge(number: &str, name: &str, texts: &BTreeSet<&str>) -> String {
    let mut out = format!("build {ANSWERS}/{number}: solve {JOBS}/{number}.json |");
    for text in texts {
        // A dollar at the end: the line goes on.
        let _ = write!(out, " $\n    {TEXTS}/{text}");
    }
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let _ = write!(out, "\n  job = {number}\n  name = {}\n", name.replace('$', "$$"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_as_ninja_and_the_shell_read_them() {
        assert!(head(Path::new("/it's $5/proofline")).contains("\nproofline = '/it'\\''s $$5/proofline'\n"));
        assert_eq!(
            edge("0a", "two\n$words", &BTreeSet::from(["b1", "c2"])),
            "build answers/0a: solve jobs/0a.json | $\n    texts/b1 $\n    texts/c2\n  job = 0a\n  name = two$$words\n"
        );
    }
}
