//! A plan for Ninja, and for what speaks its language: an edge for each job. An edge names all that its command reads of the plan, so it can be
//! run where nothing else is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::{Path, PathBuf},
};

use super::folder::{ANSWERS, JOBS, Planned, TEXTS};

/// What all edges have in common. An answer that is there already is left alone, and its age says nothing: `restat`.
pub(super) fn head(program: &Path) -> String {
    let word = program.to_string_lossy().replace('\'', "'\\''").replace('$', "$$");
    format!(
        "# Made by `proofline plan`. To solve with another command, write a file of your own beside this one, and give it to `ninja -f`:\n\
         #   include build.ninja\n\
         #   proofline = remote-run proofline\n\
         proofline = '{word}'\n\
         rule solve\n  command = $proofline solve . $job\n  description = solve $title\n  restat = 1\n"
    )
}

/// Of one job, which takes these texts.
pub(super) fn edge(job: &Planned, texts: &BTreeMap<PathBuf, String>) -> String {
    let number = &job.number;
    let mut out = format!("build {ANSWERS}/{number}: solve {JOBS}/{number}.json |");
    // A dollar at the end: the line goes on.
    for text in texts.values().collect::<BTreeSet<_>>() {
        let _ = write!(out, " $\n    {TEXTS}/{text}");
    }
    for part in &job.after {
        let _ = write!(out, " $\n    {ANSWERS}/{part}");
    }
    let title: String = job.title().chars().filter(|c| !c.is_control()).collect();
    let _ = write!(out, "\n  job = {number}\n  title = {}\n", title.replace('$', "$$"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_as_ninja_and_the_shell_read_them() {
        assert!(head(Path::new("/it's $5/proofline")).contains("\nproofline = '/it'\\''s $$5/proofline'\n"));
        let texts = ["b1", "c2", "b1"].map(str::to_owned);
        let texts = texts.into_iter().enumerate().map(|(at, text)| (at.to_string().into(), text)).collect();
        let mut job = Planned { number: "0a".into(), name: "two\n$words".into(), ..Planned::default() };
        let edge_of = |job: &Planned| edge(job, &texts);
        assert_eq!(
            edge_of(&job),
            "build answers/0a: solve jobs/0a.json | $\n    texts/b1 $\n    texts/c2\n  job = 0a\n  title = 0a two$$words\n"
        );
        (job.after, job.part) = (vec!["0b".into()], "2 of 3".into());
        assert!(edge_of(&job).contains("texts/c2 $\n    answers/0b\n"));
        assert!(edge_of(&job).ends_with("title = 0a two$$words (2 of 3)\n"));
    }
}
