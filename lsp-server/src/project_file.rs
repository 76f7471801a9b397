//! `proofline.toml`: what the people of a project have decided together, for the command line and for editors. Options of the command line come before
//! it, settings of an editor behind it. It lies in a folder that may be anybody's: it starts nothing, and names files of its folder only.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use proofline_ide::{Property, shown};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::choices::{Allocates, Volatile, is_shipped};

/// The file's name.
pub(crate) const NAME: &str = "proofline.toml";

/// Larger files are not read.
const MOST_BYTES: u64 = 1 << 20;

/// More C files of a folder are not looked for.
const MOST_FILES: usize = 50_000;

/// What the file may say.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ProjectFile {
    /// `"all"`, a property, or a list of checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checks: Option<Checks>,
    /// Functions that execution starts in. The command line only.
    #[serde(skip_serializing)]
    pub(crate) entries: Vec<String>,
    /// Patterns of files that are not checked with a project. The command line only.
    #[serde(skip_serializing)]
    exclude: Vec<String>,
    /// Programs that the build does not tell of: patterns of their files, by name.
    #[serde(skip_serializing)]
    programs: BTreeMap<String, Vec<String>>,
    /// C files with functions that stand for such as are not there.
    #[serde(skip_serializing)]
    models: Vec<String>,
    /// An earlier result whose failures are no news. The command line only.
    #[serde(skip_serializing)]
    baseline: Option<PathBuf>,
    /// Seconds after which everything ends. The command line only.
    #[serde(skip_serializing)]
    pub(crate) limit: Option<u64>,
    /// A file of this folder or below with engines of the project's own. The command line only.
    #[serde(skip_serializing)]
    configuration: Option<PathBuf>,
    /// Compiler flags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) flags: Vec<String>,
    /// Steps per engine and question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) budget: Option<u64>,
    /// Whether memory can run out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allocation: Option<Allocates>,
    /// What a read of a volatile object gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) volatile: Option<Volatile>,
    /// Names of monitors, and files of this folder or below with one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) monitors: Vec<String>,
    /// Signed overflow wraps around.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wrapv: Option<bool>,
}

/// Which checks.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Checks {
    /// `"all"`, or the name of a property.
    Named(String),
    /// Their codes.
    Listed(Vec<String>),
}

impl Checks {
    /// The property that it stands for.
    ///
    /// # Errors
    /// If there is no such check.
    pub(crate) fn property(&self) -> Result<Property> {
        let text = match self {
            Checks::Named(name) => name.clone(),
            Checks::Listed(codes) => codes.join(","),
        };
        Ok(Property::parse(&text)?)
    }
}

/// A file that was found, and where.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The file.
    pub(crate) path: PathBuf,
    /// What it says.
    pub(crate) says: ProjectFile,
    excluded: GlobSet,
    /// The patterns of each program.
    programs: BTreeMap<String, GlobSet>,
}

impl Found {
    /// The file that counts for a folder or a file: the nearest one in the folders around it.
    ///
    /// # Errors
    /// If it cannot be read, or says something that has no meaning.
    pub(crate) fn near(start: &Path) -> Result<Option<Found>> {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        let path = start.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file());
        path.map(Found::read).transpose()
    }

    fn read(path: PathBuf) -> Result<Found> {
        let name = shown(&path);
        let size = std::fs::metadata(&path).with_context(|| format!("cannot read {name}"))?.len();
        ensure!(size <= MOST_BYTES, "{name} is larger than {} MB", MOST_BYTES >> 20);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        // The message has the line and points at the word.
        let mut says: ProjectFile =
            toml::from_str(&text).map_err(|error| anyhow!("{name}: {}", error.to_string().trim_end()))?;
        if let Some(checks) = &says.checks {
            checks.property().with_context(|| format!("{name}: checks"))?;
        }
        // `*` stands for files of one folder where programs are named; what is left out is so wherever it lies.
        let patterns = |key: &str, patterns: &[String], of_one_folder: bool| {
            let mut out = GlobSetBuilder::new();
            for pattern in patterns {
                let glob = GlobBuilder::new(pattern).literal_separator(of_one_folder).build();
                out.add(glob.with_context(|| format!("{name}: {key}"))?);
            }
            out.build().with_context(|| format!("{name}: {key}"))
        };
        let excluded = patterns("exclude", &says.exclude, false)?;
        let programs = says.programs.iter();
        let programs =
            programs.map(|(program, files)| Ok((program.clone(), patterns("programs", files, true)?)));
        let programs = programs.collect::<Result<BTreeMap<_, _>>>()?;
        let is_inside = |file: &Path| {
            file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        for (key, file) in [("baseline", &says.baseline), ("configuration", &says.configuration)] {
            let Some(file) = file else { continue };
            ensure!(is_inside(file), "{name}: {key}: a file of this folder or one below, without `..`");
        }
        let all_are_inside = says.models.iter().all(|file| is_inside(Path::new(file)));
        ensure!(all_are_inside, "{name}: models: files of this folder or below, without `..`");
        let folder = path.parent().unwrap_or(Path::new(""));
        for monitor in &mut says.monitors {
            if is_shipped(monitor) {
                continue;
            }
            ensure!(
                is_inside(Path::new(monitor.as_str())),
                "{name}: monitors: a monitor's name, or a file of this folder or one below, without `..`"
            );
            *monitor = folder.join(&*monitor).display().to_string();
        }
        Ok(Found { path, says, excluded, programs })
    }

    /// The folder it lies in.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Whether a file is left out of checks of the project.
    pub(crate) fn leaves_out(&self, file: &Path) -> bool {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        file.strip_prefix(self.folder()).is_ok_and(|inside| self.excluded.is_match(inside))
    }

    /// The programs that the file names, each with those of these files that are its own; no program without any.
    pub(crate) fn programs(&self, files: &BTreeSet<PathBuf>) -> BTreeMap<String, Vec<PathBuf>> {
        let of = |patterns: &GlobSet| -> Vec<PathBuf> {
            let is_own = |file: &&PathBuf| {
                file.strip_prefix(self.folder()).is_ok_and(|inside| patterns.is_match(inside))
            };
            files.iter().filter(is_own).cloned().collect()
        };
        let all = self.programs.iter().map(|(name, patterns)| (name.clone(), of(patterns)));
        all.filter(|(_, files)| !files.is_empty()).collect()
    }

    /// Whether it names programs.
    pub(crate) fn names_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// The files with functions that stand for others.
    pub(crate) fn models(&self) -> Vec<PathBuf> {
        self.says.models.iter().map(|file| self.folder().join(file)).collect()
    }

    /// The C files of its folder and below, where no build says which there are.
    pub(crate) fn c_files(&self) -> BTreeSet<PathBuf> {
        let mut out = BTreeSet::new();
        let mut open = vec![self.folder().to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                // Links are not followed: they may form circles.
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && !name.to_string_lossy().starts_with('.') {
                    open.push(path);
                } else if kind.is_file()
                    && path.extension().is_some_and(|end| end == "c")
                    && out.len() < MOST_FILES
                {
                    out.insert(path);
                }
            }
        }
        out
    }

    /// The earlier result whose failures are no news.
    pub(crate) fn baseline(&self) -> Option<PathBuf> {
        self.says.baseline.as_ref().map(|file| self.folder().join(file))
    }

    /// The file with engines of the project's own.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        self.says.configuration.as_ref().map(|file| self.folder().join(file))
    }

    /// An editor's settings with what the file says in their place.
    pub(crate) fn over(&self, settings: &Value) -> Value {
        let section = settings.get("proofline").unwrap_or(settings);
        let mut all = if section.is_object() { section.clone() } else { json!({}) };
        let own = serde_json::to_value(&self.says).unwrap_or_default();
        for (name, value) in own.as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Found;

    fn found(text: &str) -> anyhow::Result<Option<Found>> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(super::NAME), text).expect("a file");
        Found::near(&folder.path().join("src/deep/file.c"))
    }

    #[test]
    fn the_file_comes_before_an_editor_s_settings_and_leaves_the_others() {
        let file = found("budget = 5000\nallocation = \"never-fails\"\nexclude = [\"third/**\"]\n");
        let file = file.expect("it is right").expect("it is there");
        let all = file.over(&json!({ "proofline": { "budget": 1000, "lens": false } }));
        assert_eq!(all, json!({ "budget": 5000, "lens": false, "allocation": "never-fails" }));
        assert!(file.leaves_out(&file.folder().join("third/party/a.c")));
        assert!(!file.leaves_out(&file.folder().join("src/a.c")));
    }

    #[test]
    fn the_schema_of_the_manual_knows_the_same_keys() {
        let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/proofline.schema.json");
        let schema = std::fs::read_to_string(schema).expect("the schema");
        let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
        let keys = schema["properties"].as_object().expect("its keys");
        let mut text = String::new();
        for (key, value) in keys {
            let example = value["examples"][0].to_string();
            let example = if example.starts_with('{') { example.replace(':', " = ") } else { example };
            text.push_str(&format!("{key} = {example}\n"));
        }
        let file = found(&text).expect("each example is right").expect("it is there");
        let rebuilt = format!("{:?}", file.says);
        assert!(!rebuilt.contains("None") && !rebuilt.contains("[]"), "the schema lacks a key: {rebuilt}");
        assert!(found("nothing = 1").is_err_and(|e| keys.keys().all(|key| format!("{e}").contains(key))));
    }

    #[test]
    fn what_has_no_meaning_is_said_with_its_line() {
        for (text, word) in [
            ("budgets = 1", "unknown field `budgets`"),
            ("\nbudget = \"many\"", "line 2"),
            ("checks = [\"spelling\"]", "spelling"),
            ("exclude = [\"[\"]", "exclude"),
            ("baseline = \"/etc/passwd\"", "baseline"),
            ("baseline = \"../secret.json\"", "baseline"),
            ("models = [\"../stubs.c\"]", "models"),
            ("[programs]\nserver = [\"[\"]", "programs"),
            ("configuration = \"/etc/passwd\"", "configuration"),
            ("configuration = \"../engines.yml\"", "configuration"),
        ] {
            let error = format!("{:#}", found(text).expect_err(text));
            assert!(error.contains(word) && error.contains("proofline.toml"), "{error}");
        }
    }
}
