//! The settings section `proofline`, from `initializationOptions`, `workspace/configuration` and `didChangeConfiguration`.

use std::{path::Path, time::Duration};

use proofline_ide::{Property, Settings as Analysis, Undecided, check::Monitors};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::choices::{Allocates, Volatile, monitors};

/// What the user chose.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Settings {
    /// `"all"`, a property, or a list of checks.
    checks: Value,
    /// Compiler flags.
    flags: Vec<String>,
    /// Steps per engine and question.
    pub(super) budget: u64,
    /// Engines by name.
    engines: Vec<String>,
    /// Signed overflow wraps around.
    wrapv: bool,
    /// What a read of a volatile object gives.
    volatile: Volatile,
    /// Whether memory can run out.
    allocation: Allocates,
    /// Names of monitors, and files with one.
    monitors: Vec<String>,
    /// Those, read.
    #[serde(skip)]
    watching: Monitors,
    /// Inferred facts in the text.
    pub(super) inlay_hints: bool,
    /// States above functions.
    pub(super) lens: bool,
    /// What is marked of what is not decided.
    pub(super) undecided: Marks,
    /// Whether tests that reproduce a failure may be run.
    pub(super) run_tests: RunTests,
    /// Megabytes the server may use.
    pub(super) memory_limit_mb: u64,
    /// Seconds after which a question ends; 0: never.
    time_limit_seconds: u64,
    /// Every function from all arguments, even if there is a `main`.
    library_mode: bool,
    /// Files that make one program; a `.json` is a compilation database that stands for its files.
    pub(super) program_files: Vec<std::path::PathBuf>,
}

/// Whether tests may be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RunTests {
    Never,
    #[default]
    Ask,
    Always,
}

/// What is marked of what is not decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Marks {
    #[default]
    Places,
    Functions,
    Nothing,
}

impl From<Marks> for Undecided {
    fn from(marks: Marks) -> Undecided {
        match marks {
            Marks::Places => Undecided::Places,
            Marks::Functions => Undecided::Functions,
            Marks::Nothing => Undecided::Nothing,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            checks: Value::String("all".into()),
            flags: Vec::new(),
            budget: 3_000_000,
            engines: Vec::new(),
            wrapv: false,
            volatile: Volatile::Written,
            allocation: Allocates::MayFail,
            monitors: Vec::new(),
            watching: Monitors::default(),
            inlay_hints: false,
            lens: true,
            undecided: Marks::Places,
            run_tests: RunTests::Ask,
            memory_limit_mb: 2048,
            time_limit_seconds: 0,
            library_mode: false,
            program_files: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads the section, or an object that has it as `proofline`. `null` is the default. The error is for people.
    pub(super) fn read(value: &Value) -> Result<Settings, String> {
        let section = value.get("proofline").unwrap_or(value);
        if section.is_null() {
            return Ok(Settings::default());
        }
        let mut settings: Settings =
            serde_json::from_value(section.clone()).map_err(|error| format!("setting proofline: {error}"))?;
        settings.property()?;
        settings.watching =
            monitors(&settings.monitors).map_err(|error| format!("setting proofline.monitors: {error}"))?;
        Ok(settings)
    }

    /// Whether a file is one of the monitors.
    pub(super) fn has_monitor(&self, path: &Path) -> bool {
        self.monitors.iter().any(|monitor| std::path::absolute(monitor).is_ok_and(|monitor| monitor == path))
    }

    fn property(&self) -> Result<Property, String> {
        let text = match &self.checks {
            Value::String(text) => text.clone(),
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            Value::Null => "all".to_owned(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                return Err("setting proofline.checks: \"all\" or a list of checks".to_owned());
            }
        };
        Property::parse(&text).map_err(|error| format!("setting proofline.checks: {error}"))
    }

    /// Those that change answers.
    pub(super) fn analysis(&self) -> Analysis {
        let mut out = Analysis { library: self.library_mode, ..Analysis::default() };
        out.property = self.property().unwrap_or(out.property);
        out.options.pointers = out.property.asks_of_pointers();
        out.options.skips_writes = !out.property.asks_of_writes();
        if out.property.asks_of_monitors() {
            out.options.monitors = self.watching.clone();
        }
        out.options.flags = self.flags.clone();
        out.options.wrapv = self.wrapv;
        out.options.volatile = self.volatile.into();
        out.options.allocation = self.allocation.into();
        out.engines = self.engines.clone();
        out.time_limit = Some(self.time_limit_seconds).filter(|limit| *limit > 0).map(Duration::from_secs);
        out
    }
}

/// The JSON schema of the section, in the form of VS Code's `contributes.configuration.properties`.
pub(super) fn schema() -> Value {
    json!({
        "proofline.checks": {
            "description": "Which checks: \"all\" or a list of their codes.",
            "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            "default": "all"
        },
        "proofline.flags": {
            "description": "Compiler flags after those of compile_commands.json or compile_flags.txt.",
            "type": "array", "items": { "type": "string" }, "default": []
        },
        "proofline.budget": {
            "description": "Steps per engine and question. The same number gives the same verdicts on every machine, unless a time limit ends the work first.",
            "type": "integer", "minimum": 1000, "default": 3_000_000
        },
        "proofline.engines": {
            "description": "Engines in the order in which they are asked; empty: those that come with Proofline, as it thinks best.",
            "type": "array", "items": { "type": "string" }, "default": []
        },
        "proofline.wrapv": {
            "description": "Signed overflow wraps around instead of being undefined.",
            "type": "boolean", "default": false
        },
        "proofline.volatile": {
            "description": "What a read of a volatile object gives: what was written, or any value at each read.",
            "type": "string", "enum": ["written", "any"], "default": "written"
        },
        "proofline.allocation": {
            "description": "Whether memory can run out: malloc and its kin may return null, or never do.",
            "type": "string", "enum": ["may-fail", "never-fails"], "default": "may-fail"
        },
        "proofline.monitors": {
            "description": "Monitors, which watch calls and assignments and say which sequences must not be: names such as \"locks\", \"files\", \"descriptors\" or \"reentrancy(FUNCTION)\", and files with one of your own.",
            "type": "array", "items": { "type": "string" }, "default": []
        },
        "proofline.inlayHints": {
            "description": "Shows inferred facts in the text.", "type": "boolean", "default": false
        },
        "proofline.lens": {
            "description": "Shows the state of each function above it.", "type": "boolean", "default": true
        },
        "proofline.undecided": {
            "description": "What is marked of what is not decided: each place, the names of functions with such places, or nothing.",
            "type": "string", "enum": ["places", "functions", "nothing"], "default": "places"
        },
        "proofline.runTests": {
            "description": "Whether a test that reproduces a failure may be compiled and run.",
            "type": "string", "enum": ["never", "ask", "always"], "default": "ask"
        },
        "proofline.memoryLimitMb": {
            "description": "Megabytes the server may use before it forgets and works with less.",
            "type": "integer", "minimum": 256, "default": 2048
        },
        "proofline.timeLimitSeconds": {
            "description": "Seconds after which each question about a function ends, whatever is left of its steps; 0: never. What is open then is unknown because of the time limit, and may be another thing on another machine.",
            "type": "integer", "minimum": 0, "default": 0
        },
        "proofline.libraryMode": {
            "description": "Checks every function from all arguments, even if there is a main.",
            "type": "boolean", "default": false
        },
        "proofline.programFiles": {
            "description": "C files that make one program, relative to the folders that are open; a compile_commands.json stands for its C files, if all of them are one program. Without it every file is verified alone, for whatever the functions that it only declares may do.",
            "type": "array", "items": { "type": "string" }, "default": []
        }
    })
}
