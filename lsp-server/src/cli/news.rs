//! Which failures are no news: those that an earlier run had, too (`--baseline`), those that no changed line has to do with (`--since`), and
//! those that a comment takes back.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use proofline_ide::{
    check::{Finding, Position, Report, Sources, suppressed_because},
    shown,
};
use serde_json::Value;

/// What a failure is known by when lines have moved: its check, file, function and title.
type Key = (String, PathBuf, String, String);

/// What is no news.
#[derive(Default)]
pub(super) struct Old {
    /// How many failures of each kind an earlier run had.
    earlier: Option<BTreeMap<Key, usize>>,
    /// Lines, from 1, that have changed, by file.
    changed: Option<BTreeMap<PathBuf, Vec<RangeInclusive<u32>>>>,
}

impl Old {
    /// From the results of an earlier run (`--format json`), and from a revision that git knows.
    ///
    /// # Errors
    /// If the file is no such result, or git does not know the revision.
    pub(super) fn read(baseline: Option<&Path>, since: Option<&str>) -> Result<Old> {
        let earlier = baseline.map(earlier).transpose()?;
        let changed = since.map(changed).transpose()?;
        Ok(Old { earlier, changed })
    }

    /// Everything is news.
    pub(super) fn is_nothing(&self) -> bool {
        self.earlier.is_none() && self.changed.is_none()
    }

    /// Whether a failure is news whatever else is found.
    pub(super) fn is_surely_news(&self, finding: &Finding) -> bool {
        let is_new = self.earlier.as_ref().is_none_or(|earlier| !earlier.contains_key(&key(finding)));
        is_new && self.changed.as_ref().is_none_or(|changed| is_touched(finding, changed))
    }

    /// The failures that are no news, by their positions among a report's findings.
    pub(super) fn of(&self, report: &Report) -> BTreeSet<usize> {
        let mut earlier = self.earlier.clone();
        let mut is_old = |finding: &Finding| {
            let was_there = earlier.as_mut().is_some_and(|earlier| {
                let left = earlier.get_mut(&key(finding)).filter(|left| **left > 0);
                left.map(|left| *left -= 1).is_some()
            });
            was_there || self.changed.as_ref().is_some_and(|changed| !is_touched(finding, changed))
        };
        let all = report.findings.iter().enumerate();
        all.filter(|(_, one)| report.is_failure(one) && is_old(one)).map(|(at, _)| at).collect()
    }
}

/// Why a comment takes a finding back.
pub(super) fn reason(finding: &Finding, sources: &Sources) -> Option<String> {
    let position = finding.position.as_ref()?;
    let text = sources.text_of(&position.path)?;
    suppressed_because(finding.check.code(), position.line, |at| text.lines().nth(at))
}

/// Failures that are news, and that comments take back.
pub(super) fn suppressed(
    report: &Report,
    old: &BTreeSet<usize>,
    sources: &Sources,
) -> BTreeMap<usize, String> {
    let all = report.findings.iter().enumerate();
    let news = all.filter(|(at, finding)| report.is_failure(finding) && !old.contains(at));
    news.filter_map(|(at, finding)| Some((at, reason(finding, sources)?))).collect()
}

fn key(finding: &Finding) -> Key {
    let path = finding.position.as_ref().map(|position| position.path.to_path_buf()).unwrap_or_default();
    let function = finding.function.as_str().to_owned();
    (finding.check.code().to_owned(), whole(&path), function, finding.title.clone())
}

/// Results name files as the command line does: from the folder that it is in.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn earlier(file: &Path) -> Result<BTreeMap<Key, usize>> {
    let what = || format!("{} is no result of `proofline check --format json`", shown(file));
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", shown(file)))?;
    let all: Value = serde_json::from_str(&text).with_context(what)?;
    let programs = match all["programs"].as_array() {
        Some(programs) => programs.iter().collect(),
        None => vec![&all],
    };
    let mut out = BTreeMap::new();
    for program in programs {
        // What several programs share is one failure in each.
        let mut own: BTreeMap<Key, usize> = BTreeMap::new();
        for result in program["results"].as_array().with_context(what)? {
            for finding in result["findings"].as_array().with_context(what)? {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let file = PathBuf::from(text(&finding["place"]["file"]));
                let key = (
                    text(&finding["check"]),
                    whole(&file),
                    text(&finding["function"]),
                    text(&finding["title"]),
                );
                *own.entry(key).or_default() += usize::from(finding["kind"] == "failure");
            }
        }
        for (key, count) in own {
            let most = out.entry(key).or_default();
            *most = count.max(*most);
        }
    }
    Ok(out)
}

/// The failure itself, or a step on the way to it, is in a changed line.
fn is_touched(finding: &Finding, changed: &BTreeMap<PathBuf, Vec<RangeInclusive<u32>>>) -> bool {
    let is_changed = |position: &Position| {
        let lines = position.line + 1..=position.end_line + 1;
        changed.get(&whole(&position.path)).is_some_and(|ranges| {
            ranges.iter().any(|range| range.start() <= lines.end() && lines.start() <= range.end())
        })
    };
    let steps = finding.steps.iter().filter_map(|step| step.position.as_ref());
    finding.position.iter().chain(steps).any(is_changed)
}

fn changed(revision: &str) -> Result<BTreeMap<PathBuf, Vec<RangeInclusive<u32>>>> {
    let root = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?.trim_end());
    let difference = git(&[
        "diff",
        "--unified=0",
        "--no-color",
        // No program of the folder's settings is started.
        "--no-ext-diff",
        "--no-textconv",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--end-of-options",
        revision,
        "--",
    ])?;
    let mut out: BTreeMap<PathBuf, Vec<RangeInclusive<u32>>> = BTreeMap::new();
    let mut file = None;
    for line in difference.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(|name| root.join(name.trim_end_matches('\t')));
        } else if let (Some(file), Some(range)) = (&file, line.strip_prefix("@@ ").and_then(hunk)) {
            out.entry(file.clone()).or_default().push(range);
        }
    }
    for name in git(&["ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/"])?.split('\0') {
        out.entry(root.join(name)).or_default().push(0..=u32::MAX);
    }
    Ok(out)
}

/// The new lines of `-1,2 +3,4 @@ …`. Where lines were only taken away: those around the place.
fn hunk(text: &str) -> Option<RangeInclusive<u32>> {
    let new = text.split(' ').find_map(|part| part.strip_prefix('+'))?;
    let (first, count) = new.split_once(',').unwrap_or((new, "1"));
    let (first, count): (u32, u32) = (first.parse().ok()?, count.parse().ok()?);
    Some(if count == 0 { first..=first + 1 } else { first..=first + count - 1 })
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
        .args(arguments)
        .output()
        .context("cannot run git, which --since needs")?;
    ensure!(
        output.status.success(),
        "git says: {}\n  help: --since takes a revision of the repository that the current folder is in",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
