//! What a commit costs: the commits of a file of a real project, one after the other, each checked with what was verified before and checked
//! afresh. Prints processor time and bytes of both, and fails if what is remembered contradicts what is found out afresh.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::limited::{self, Output};

/// `cargo xtask history`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// `GIT-DIRECTORY:FILE.c`; its headers are those of the same repository.
    #[arg(required = true)]
    histories: Vec<String>,
    /// The program (default: the release build).
    #[arg(long)]
    proofline: Option<PathBuf>,
    /// So many commits of each file, the last ones.
    #[arg(long, default_value_t = usize::MAX)]
    most: usize,
    /// Processor seconds for each check.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// More for `check`: flags, `--budget`.
    #[arg(last = true, allow_hyphen_values = true)]
    check: Vec<String>,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Answered>,
}

#[derive(Deserialize)]
struct Answered {
    obligations: Vec<Obligation>,
}

#[derive(Deserialize)]
struct Obligation {
    function: String,
    number: u64,
    verdict: String,
}

type Verdicts = BTreeMap<(String, u64), String>;

/// How two answers about one text differ.
#[derive(Default, Debug, PartialEq, Eq)]
struct Difference {
    /// Proved in one and violated in the other.
    contradicted: usize,
    /// Decided afresh, and open with what was known before.
    lost: usize,
    /// The other way round, which is allowed.
    gained: usize,
}

fn difference(remembered: &Verdicts, fresh: &Verdicts) -> Difference {
    let mut out = Difference::default();
    let is_decided = |verdict: &str| verdict == "proved" || verdict == "violated";
    for (obligation, verdict) in fresh {
        let Some(known) = remembered.get(obligation) else {
            out.lost += usize::from(is_decided(verdict));
            continue;
        };
        match (is_decided(known), is_decided(verdict)) {
            (true, true) => out.contradicted += usize::from(known != verdict),
            (false, true) => out.lost += 1,
            (true, false) => out.gained += 1,
            (false, false) => {}
        }
    }
    out
}

fn git(directory: &str, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("git").arg("--git-dir").arg(directory).args(arguments).output()?;
    ensure!(output.status.success(), "git {} failed in {directory}", arguments.join(" "));
    Ok(output.stdout)
}

/// The file and every header of a commit; `false` if the file is not there.
fn write_texts(directory: &str, commit: &str, file: &str, to: &Path) -> Result<bool> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let names = String::from_utf8(git(directory, &["ls-tree", "-r", "--name-only", commit])?)?;
    for name in names.lines().filter(|name| *name == file || name.ends_with(".h")) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap_or(to))?;
        fs::write(path, git(directory, &["show", &format!("{commit}:{name}")])?)?;
    }
    Ok(to.join(file).exists())
}

fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.metadata().map_or(0, |about| about.len())).sum()
}

/// Verdicts, and seconds of processor time.
fn check(
    arguments: &Arguments,
    program: &Path,
    file: &Path,
    root: &Path,
    cache: &Path,
) -> Result<(Verdicts, f64)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let include = format!("-I{}", root.display());
    let (file, cache) = (text(file), text(cache));
    let mut words = vec!["check", "--property", "all", "--format", "json", "--cache", &cache, &include];
    words.extend(arguments.check.iter().map(String::as_str));
    words.push(&file);
    let done = limited::run(program, &words, arguments.seconds, Output::Results)?;
    let answer: Option<Answer> = serde_json::from_str(&done.output).ok();
    let results = answer.with_context(|| format!("no answer about {file}"))?.results;
    let all = results.into_iter().flat_map(|one| one.obligations);
    Ok((all.map(|o| ((o.function, o.number), o.verdict)).collect(), done.cpu.as_secs_f64()))
}

/// What one or several histories cost.
#[derive(Default, Clone, Copy)]
struct Cost {
    /// Of the last text.
    lines: usize,
    /// Commits after the first one.
    commits: u32,
    /// Seconds of processor time of the first check, and bytes that it leaves.
    first: (f64, u64),
    /// Seconds of all other checks: with what was known, and afresh.
    remembered: f64,
    fresh: f64,
    /// Bytes that they leave.
    grown: u64,
    lost: usize,
    gained: usize,
}

impl Cost {
    fn and(self, other: Cost) -> Cost {
        Cost {
            lines: self.lines + other.lines,
            commits: self.commits + other.commits,
            first: (self.first.0 + other.first.0, self.first.1 + other.first.1),
            remembered: self.remembered + other.remembered,
            fresh: self.fresh + other.fresh,
            grown: self.grown + other.grown,
            lost: self.lost + other.lost,
            gained: self.gained + other.gained,
        }
    }

    fn row(&self, name: &str) -> String {
        let commits = f64::from(self.commits.max(1));
        format!(
            "| {name} | {} | {} | {:.1} | {} | {:.2} | {:.2} | {:.0} % | {:.1} | {} | {} |",
            self.lines,
            self.commits,
            self.first.0,
            self.first.1 >> 10,
            self.remembered / commits,
            self.fresh / commits,
            100.0 * self.remembered / self.fresh.max(1e-9),
            self.grown as f64 / commits / 1024.0,
            self.lost,
            self.gained
        )
    }

    /// Of as many lines as a million, if they are like these.
    fn of_a_million(&self) -> String {
        let times = 1e6 / self.lines.max(1) as f64;
        format!(
            "a million lines: {:.2} CPU hours and {:.1} MB at first; a commit (to one file): {:.1} CPU s and {:.0} KB",
            self.first.0 * times / 3600.0,
            self.first.1 as f64 * times / 1e6,
            self.remembered / f64::from(self.commits.max(1)),
            self.grown as f64 / f64::from(self.commits.max(1)) / 1024.0
        )
    }
}

/// Prints a line for each commit and a row for each history.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let program = arguments.proofline.clone().unwrap_or_else(|| root.join("target/release/proofline"));
    let mut rows = Vec::new();
    let mut together = Cost::default();
    let mut wrong = 0;
    for history in &arguments.histories {
        let (directory, file) = history.split_once(':').context("a history is GIT-DIRECTORY:FILE.c")?;
        let log = String::from_utf8(git(directory, &["log", "--reverse", "--format=%H", "--", file])?)?;
        let commits: Vec<&str> = log.lines().collect();
        let scratch = tempfile::tempdir()?;
        let (texts, cache) = (scratch.path().join("texts"), scratch.path().join("cache"));
        let (mut cost, mut is_first) = (Cost::default(), true);
        for commit in commits.iter().skip(commits.len().saturating_sub(arguments.most)) {
            if !write_texts(directory, commit, file, &texts)? {
                continue;
            }
            let unit = texts.join(file);
            cost.lines = fs::read_to_string(&unit).unwrap_or_default().lines().count();
            let (known, cpu) = check(arguments, &program, &unit, &texts, &cache)?;
            if is_first {
                // There was nothing before.
                (cost.first, is_first) = ((cpu, bytes(&cache)), false);
                continue;
            }
            let own = tempfile::tempdir()?;
            let (fresh, fresh_cpu) = check(arguments, &program, &unit, &texts, own.path())?;
            let Difference { contradicted, lost, gained } = difference(&known, &fresh);
            cost.commits += 1;
            cost.remembered += cpu;
            cost.fresh += fresh_cpu;
            cost.lost += lost;
            cost.gained += gained;
            wrong += contradicted;
            println!(
                "{} {cpu:7.2} s, fresh {fresh_cpu:7.2} s; {contradicted} contradicted, {lost} lost, {gained} more",
                &commit[..10.min(commit.len())]
            );
        }
        cost.grown = bytes(&cache).saturating_sub(cost.first.1);
        rows.push(cost.row(file));
        together = together.and(cost);
    }
    rows.push(together.row("together"));
    println!(
        "\n| file | lines | commits | first, CPU s | KB | each commit, CPU s | fresh | part | KB more | lost | more |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    println!("\n{}", together.of_a_million());
    ensure!(wrong == 0, "{wrong} verdicts contradict those of a fresh run");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_decided_verdicts_contradict_each_other() {
        let of = |verdicts: [&str; 4]| -> Verdicts {
            (0..)
                .zip(verdicts)
                .map(|(number, verdict)| (("f".to_owned(), number), verdict.to_owned()))
                .collect()
        };
        let remembered = of(["proved", "unknown", "proved", "unknown"]);
        let fresh = of(["violated", "proved", "unknown", "unknown"]);
        assert_eq!(difference(&remembered, &fresh), Difference { contradicted: 1, lost: 1, gained: 1 });
        assert_eq!(difference(&fresh, &fresh), Difference::default());
    }
}
