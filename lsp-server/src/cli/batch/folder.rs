//! The files of a plan: who solves it needs nothing else.
//!
//! - `plan.json`: which jobs there are;
//! - `jobs/NUMBER.json`: what one asks;
//! - `texts/HASH`: what is read for that;
//! - `answers/NUMBER`: what came of it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use proofline_ide::{check::ENGINES, shown};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cost::Cost;

const PLAN: &str = "plan.json";
pub(super) const JOBS: &str = "jobs";
pub(super) const TEXTS: &str = "texts";
pub(super) const ANSWERS: &str = "answers";

/// `plan.json`
#[derive(Serialize, Deserialize)]
pub(super) struct Plan {
    /// Which engines are to solve it: those of `merge`.
    pub(super) engines: String,
    /// What `check` was given.
    pub(super) check: Vec<String>,
    /// In the order of their programs' names.
    pub(super) jobs: Vec<Planned>,
}

/// A job, from outside.
#[derive(Serialize, Deserialize, Clone, Default)]
pub(super) struct Planned {
    pub(super) number: String,
    /// Of the program in its project; empty if it is the only one.
    pub(super) name: String,
    /// Which part of the program this is (`2 of 5`); empty if it is all of it, or what is left of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) part: String,
    /// The jobs whose answers this one reads: the program's parts. It can be solved without them, and then takes as long as they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) after: Vec<String>,
    /// Bytes of the program's own files: about how much work it is.
    pub(super) bytes: u64,
}

impl Planned {
    /// For people, in a line.
    pub(super) fn title(&self) -> String {
        let part = if self.part.is_empty() { String::new() } else { format!(" ({})", self.part) };
        format!("{} {}", self.number, self.name).trim_end().to_owned() + &part
    }
}

/// The first line of `answers/NUMBER`; the answers' bytes follow.
#[derive(Serialize, Deserialize)]
pub(super) struct Answered {
    /// The number of the job that it answers.
    pub(super) job: String,
    #[serde(flatten)]
    pub(super) cost: Cost,
}

pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of a job with this content: 64 bits of its hash.
pub(super) fn number_of(content: &[u8]) -> String {
    hash(content)[..16].to_owned()
}

/// Numbers become names of files.
pub(super) fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Writes a file that others may look for: it is there whole, or not at all. One that has this content stays as old as it is.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let what = || format!("cannot write {}", shown(path));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(what)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(what)?;
    file.write_all(bytes).with_context(what)?;
    file.persist(path).with_context(what)?;
    Ok(())
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", shown(path)))
}

impl Plan {
    pub(super) fn read(folder: &Path) -> Result<Plan> {
        let path = folder.join(PLAN);
        let plan: Plan = serde_json::from_slice(&read(&path)?)
            .with_context(|| format!("{} is no plan\n  help: `proofline plan` writes one", shown(&path)))?;
        is_of_this_version(&plan.engines, &path)?;
        let is_job = |job: &Planned| is_number(&job.number) && job.after.iter().all(|part| is_number(part));
        ensure!(plan.jobs.iter().all(is_job), "{}: jobs have numbers", shown(&path));
        Ok(plan)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        write(&folder.join(PLAN), &serde_json::to_vec_pretty(self)?)
    }
}

/// Texts, by their hashes.
pub(super) fn write_texts<'t>(
    folder: &Path,
    texts: impl IntoIterator<Item = (&'t String, &'t [u8])>,
) -> Result<()> {
    texts.into_iter().try_for_each(|(name, text)| write(&folder.join(TEXTS).join(name), text))
}

pub(super) fn job_file(folder: &Path, number: &str) -> PathBuf {
    folder.join(JOBS).join(format!("{number}.json"))
}

/// Whether a file was made for these engines.
pub(super) fn is_of_this_version(engines: &str, file: &Path) -> Result<()> {
    ensure!(
        engines == ENGINES,
        "{} was made by another version of proofline\n  help: plan, solve and merge with the same one",
        shown(file)
    );
    Ok(())
}

/// What is there of a job's answer, if it is one.
pub(super) fn answered(folder: &Path, number: &str) -> Option<(Answered, Vec<u8>)> {
    let bytes = fs::read(folder.join(ANSWERS).join(number)).ok()?;
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Answered = serde_json::from_slice(&bytes[..at]).ok()?;
    (head.job == number).then(|| (head, bytes[at + 1..].to_vec()))
}

/// Leaves a job's answer.
pub(super) fn answer(folder: &Path, head: &Answered, answers: &[u8]) -> Result<()> {
    let mut bytes = serde_json::to_vec(head)?;
    bytes.push(b'\n');
    bytes.extend(answers);
    write(&folder.join(ANSWERS).join(&head.job), &bytes)
}
