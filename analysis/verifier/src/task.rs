//! SV-COMP task definitions (format 2.0): which file, which property, what is expected.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::property::Property;

/// A task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Program files.
    pub inputs: Vec<PathBuf>,
    /// Properties we know, with the expected verdict where the task tells.
    pub properties: Vec<(Property, Option<bool>)>,
    /// 32-bit data model?
    pub is_ilp32: bool,
}

/// Why a task definition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// It is not a task definition.
    #[error(
        "{0} is not a task definition: {1}\n  help: expected `format_version: '2.0'`, `input_files` and `properties`"
    )]
    Format(PathBuf, String),
}

#[derive(Deserialize)]
struct Definition {
    input_files: OneOrMany,
    #[serde(default)]
    properties: Vec<PropertyEntry>,
    #[serde(default)]
    options: Options,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize)]
struct PropertyEntry {
    property_file: String,
    #[serde(default)]
    expected_verdict: Option<bool>,
}

#[derive(Deserialize, Default)]
struct Options {
    #[serde(default)]
    data_model: Option<String>,
}

impl Task {
    /// Reads a task definition.
    ///
    /// # Errors
    /// If the file cannot be read or is no task definition.
    pub fn read(file: &Path) -> Result<Task, TaskError> {
        let text = std::fs::read_to_string(file).map_err(|e| TaskError::Read(file.into(), e))?;
        let format = |why: String| TaskError::Format(file.into(), why);
        let definition: Definition = serde_saphyr::from_str(&text).map_err(|e| format(e.to_string()))?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let names = match definition.input_files {
            OneOrMany::One(name) => vec![name],
            OneOrMany::Many(names) => names,
        };
        let mut properties = Vec::new();
        for entry in definition.properties {
            // Properties of other kinds (termination, coverage) are not ours.
            let named = Path::new(&entry.property_file).file_stem().and_then(|s| s.to_str()).unwrap_or("");
            let text = std::fs::read_to_string(folder.join(&entry.property_file)).unwrap_or_default();
            if let Ok(property) = Property::parse(if text.is_empty() { named } else { &text }) {
                properties.push((property, entry.expected_verdict));
            }
        }
        Ok(Task {
            inputs: names.iter().map(|name| folder.join(name)).collect(),
            properties,
            is_ilp32: definition.options.data_model.as_deref() == Some("ILP32"),
        })
    }
}
