//! What a job asks, and the answer.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail, ensure};
use proofline_ide::check::{
    Control, ENGINES, Monitors, Name, Property, TeamPlace, Texts, WholeProgram, engine_names,
};
use serde::{Deserialize, Serialize};

use super::{
    super::{check::failed, input::Input, session::Asked},
    folder::{TEXTS, answered, hash, is_number, is_of_this_version, job_file, number_of, read},
};
use crate::choices::is_shipped;

/// Entries of a library that are worth a part of their own.
const LEAST: usize = 8;

/// What a job does of its program's check.
#[derive(Serialize, Deserialize, Clone, Default, PartialEq, Debug)]
pub(super) enum Share {
    /// All of it.
    #[default]
    Whole,
    /// What is asked about the executions from these functions.
    Part(Vec<String>),
    /// What the jobs with these numbers leave.
    Rest(Vec<String>),
}

/// The parts of a check of a library with these entries: neighbours together, since they call the same functions. At most so many; none if it is
/// not worth while.
pub(super) fn parts(entries: &[Name], most: usize) -> Vec<Share> {
    let count = entries.len().div_ceil(LEAST).min(most);
    if count < 2 {
        return Vec::new();
    }
    let part = |names: &[Name]| Share::Part(names.iter().map(ToString::to_string).collect());
    entries.chunks(entries.len().div_ceil(count)).map(part).collect()
}

/// `jobs/NUMBER.json`
#[derive(Serialize, Deserialize)]
pub(super) struct Job {
    /// Of the engines that are to solve it.
    version: String,
    /// Of the program.
    pub(super) name: String,
    input: Input,
    /// The folder that relative paths are meant from.
    folder: PathBuf,
    /// Hashes of texts, by path. They are in `texts/HASH`.
    pub(super) texts: BTreeMap<PathBuf, String>,
    /// Texts of monitors in files, by name.
    monitors: BTreeMap<String, String>,
    properties: Vec<String>,
    engines: Vec<String>,
    entries: Vec<String>,
    wished: Vec<String>,
    steps: u64,
    first: bool,
    pub(super) share: Share,
}

impl Job {
    pub(super) fn new(asked: &Asked, name: String, input: Input, folder: PathBuf) -> Result<Job> {
        let named = |property: &Property| {
            let name = property.name();
            ensure!(Property::parse(&name).ok().as_ref() == Some(property), "`{name}` cannot be planned");
            Ok(name)
        };
        let own = asked.engines.iter().find(|name| !engine_names().contains(&name.as_str()));
        if let Some(own) = own {
            bail!(
                "the engine `{own}` is one of your own, and who solves a job does not have it\n  help: name engines that come with \
                 Proofline, with --engine"
            );
        }
        let names = |names: &[Name]| names.iter().map(ToString::to_string).collect();
        let mut monitors = BTreeMap::new();
        for name in input.monitor.iter().filter(|name| !is_shipped(name)) {
            let text = fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
            monitors.insert(name.clone(), text);
        }
        Ok(Job {
            version: ENGINES.to_owned(),
            name,
            input,
            folder,
            texts: BTreeMap::new(),
            monitors,
            properties: asked.properties.iter().map(named).collect::<Result<_>>()?,
            engines: asked.engines.clone(),
            entries: names(&asked.entries),
            wished: names(&asked.wished),
            steps: asked.steps,
            first: asked.first,
            share: Share::Whole,
        })
    }

    /// The number, and what stands in its file.
    pub(super) fn content(&self) -> Result<(String, Vec<u8>)> {
        let content = serde_json::to_vec_pretty(self)?;
        Ok((number_of(&content), content))
    }

    /// The job of this number.
    pub(super) fn read(plan: &Path, number: &str) -> Result<Job> {
        let path = job_file(plan, number);
        let content = read(&path).with_context(|| format!("there is no job `{number}`"))?;
        ensure!(number_of(&content) == number, "job {number} is damaged\n  help: copy the plan again");
        let job: Job = serde_json::from_slice(&content)?;
        is_of_this_version(&job.version, &path)?;
        if let Share::Rest(parts) = &job.share {
            ensure!(
                parts.iter().all(|part| is_number(part)),
                "job {number} is damaged\n  help: copy the plan again"
            );
        }
        Ok(job)
    }

    fn asked(&self) -> Result<Asked> {
        let names = |names: &[String]| names.iter().map(|name| Name::new(name)).collect();
        Ok(Asked {
            properties: self
                .properties
                .iter()
                .map(|name| Ok(Property::parse(name)?))
                .collect::<Result<_>>()?,
            engines: self.engines.clone(),
            entries: names(&self.entries),
            wished: names(&self.wished),
            steps: self.steps,
            first: self.first,
        })
    }

    /// Finds out what is asked, from the plan's texts alone and what a team knows. The answers, for `merge`.
    pub(super) fn solve(
        &self,
        plan: &Path,
        team: Option<Arc<dyn TeamPlace>>,
        control: &Control,
    ) -> Result<Vec<u8>> {
        let mut texts = Texts::new();
        for (path, name) in &self.texts {
            let bytes = read(&plan.join(TEXTS).join(name))?;
            ensure!(hash(&bytes) == *name, "{TEXTS}/{name} is damaged\n  help: copy the plan again");
            texts.insert(path.clone(), bytes.into());
        }
        let asked = self.asked()?;
        let mut input = self.input.clone();
        if asked.properties.iter().any(Property::asks_of_monitors) {
            let text = |name: &str| self.monitors.get(name).cloned().ok_or("not in the plan".to_owned());
            input.monitors = Monitors::named(&input.monitor, &text)?;
        }
        let (files, options) = (input.files.clone(), input.options());
        // What its parts have not found out is found out here.
        let known: Vec<Vec<u8>> = match &self.share {
            Share::Rest(parts) => parts.iter().filter_map(|part| Some(answered(plan, part)?.1)).collect(),
            Share::Whole | Share::Part(_) => Vec::new(),
        };
        let program =
            WholeProgram::closed(files, options, texts, self.folder.clone(), &known, team).map_err(failed)?;
        for property in &asked.properties {
            let request = asked.request(property);
            match &self.share {
                Share::Part(entries) => {
                    let entries: Vec<Name> = entries.iter().map(|name| Name::new(name)).collect();
                    program.check_part(&request, &entries, control).map_err(failed)?;
                }
                Share::Whole | Share::Rest(_) => drop(asked.report(&program, &request, control)?),
            }
        }
        program.save();
        Ok(program.answers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_one_part() {
        let entries: Vec<Name> = (0..45).map(|at| Name::new(&format!("f{at}"))).collect();
        for most in 1..10 {
            let parts = parts(&entries, most);
            let named = parts.iter().flat_map(|part| match part {
                Share::Part(names) => names.clone(),
                Share::Whole | Share::Rest(_) => Vec::new(),
            });
            let all: Vec<String> = entries.iter().map(ToString::to_string).collect();
            assert!(parts.is_empty() == (most == 1) && parts.len() <= most);
            assert!(parts.is_empty() || named.eq(all));
        }
        assert!(parts(&entries[..LEAST], 10).is_empty());
    }
}
