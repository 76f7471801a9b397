//! Runs verification tasks, one after the other, each on one core with a limit of CPU time, and writes a table.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::{
    limited::{self, Output, each},
    sheet,
    table::{Row, Table},
};

/// `cargo xtask bench`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders with task definitions (`*.yml`), task definitions, sheets of tasks (`*.md`), or lists of them (`*.txt`, one a line). With `--compare`: two tables.
    #[arg(required = true)]
    tasks: Vec<PathBuf>,
    /// CPU seconds per task.
    #[arg(long, default_value_t = 15)]
    limit: u64,
    /// Property: the name of the property file.
    #[arg(long, default_value = "unreach-call")]
    property: String,
    /// Engine or configuration (default: the portfolio).
    #[arg(long)]
    engine: Option<String>,
    /// Where the table goes.
    #[arg(long, default_value = "target/bench.csv")]
    csv: PathBuf,
    /// Compares two tables instead of running anything.
    #[arg(long)]
    compare: bool,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
}

impl Arguments {
    /// One engine, asked whether error calls are reached.
    pub(crate) fn of(engine: String, limit: u64, jobs: usize) -> Arguments {
        Arguments {
            tasks: Vec::new(),
            limit,
            property: "unreach-call".to_owned(),
            engine: Some(engine),
            csv: PathBuf::new(),
            compare: false,
            jobs,
            program: None,
        }
    }
}

#[derive(Deserialize)]
struct Definition {
    #[serde(default)]
    properties: Vec<Entry>,
}
#[derive(Deserialize)]
struct Entry {
    property_file: String,
    #[serde(default)]
    expected_verdict: Option<bool>,
}

/// Runs or compares.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    if arguments.compare {
        let [old, new] = arguments.tasks.as_slice() else { bail!("--compare needs two tables") };
        print!("{}", Table::read(old)?.compare(&Table::read(new)?));
        return Ok(());
    }
    let program = program(root, arguments.program.as_deref())?;
    let mut tasks = Vec::new();
    for path in &arguments.tasks {
        collect(path, &mut tasks)?;
    }
    ensure!(!tasks.is_empty(), "no task definitions (*.yml) in {:?}", arguments.tasks);
    let table = rows(&program, &tasks, arguments)?;
    table.write(&root.join(&arguments.csv))?;
    print!("{}", table.summary());
    ensure!(table.wrong() == 0, "{} wrong verdicts", table.wrong());
    Ok(())
}

/// The results of tasks, by name.
pub(crate) fn rows(program: &Path, tasks: &[PathBuf], arguments: &Arguments) -> Result<Table> {
    let rows = each(tasks, arguments.jobs, |task| {
        let result = one(program, task, arguments);
        if let Ok(Some(row)) = &result {
            eprintln!("{}", row.line());
        }
        result
    });
    let rows: Vec<Option<Row>> = rows.into_iter().collect::<Result<_>>()?;
    let mut table = Table { rows: rows.into_iter().flatten().collect() };
    table.rows.sort_by(|a, b| a.task.cmp(&b.task));
    Ok(table)
}

/// The task definitions in a folder, a sheet, a list or a file.
pub(crate) fn collect(path: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        let mut inside: Vec<PathBuf> = fs::read_dir(path)?.filter_map(|e| e.ok().map(|e| e.path())).collect();
        inside.sort();
        out.extend(inside.into_iter().filter(|p| p.extension().is_some_and(|e| e == "yml")));
    } else if path.extension().is_some_and(|e| e == "yml") {
        out.push(path.to_path_buf());
    } else if let (true, Some(name)) = (path.extension().is_some_and(|e| e == "md"), path.file_stem()) {
        out.extend(sheet::unfold(path, &std::env::temp_dir().join("proofline-sheets").join(name))?);
    } else {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            collect(&folder.join(line), out)?;
        }
    }
    Ok(())
}

/// Runs one task; `None` when it has no verdict for the property.
fn one(program: &Path, task: &Path, arguments: &Arguments) -> Result<Option<Row>> {
    let text = fs::read_to_string(task)?;
    let definition: Definition =
        serde_saphyr::from_str(&text).map_err(|e| anyhow::anyhow!("{}: {e}", task.display()))?;
    let entry = definition.properties.iter().find(|entry| {
        Path::new(&entry.property_file).file_stem().is_some_and(|stem| stem == arguments.property.as_str())
    });
    let Some(expected) = entry.and_then(|entry| entry.expected_verdict) else { return Ok(None) };
    let limit = arguments.limit.to_string();
    let mut line = vec![
        "check",
        "--no-cache",
        "--statistics",
        "--property",
        &arguments.property,
        "--limit",
        &limit,
        "--color",
        "never",
        "--task",
    ];
    let task_text = task.to_string_lossy().into_owned();
    line.push(&task_text);
    if let Some(engine) = &arguments.engine {
        line.extend(["--engine", engine]);
    }
    // The shell's limit ends a run that does not end itself; its own limit lets it say what it knows.
    let run = limited::run(program, &line, arguments.limit + 5, Output::Results)?;
    let (last, engine) = (said(&run.output, "RESULT: "), said(&run.output, "decided by: "));
    Ok(Some(Row {
        task: Row::name(task),
        expected,
        result: if run.cpu > Duration::from_secs(arguments.limit + 1) {
            "unknown(limit)".into()
        } else {
            last.unwrap_or("unknown(no result)").to_owned()
        },
        cpu: run.cpu.as_secs_f64(),
        memory: run.memory,
        engine: engine.unwrap_or_default().to_owned(),
        unwound: said(&run.output, "recursion unwound: ").and_then(|depth| depth.parse().ok()),
    }))
}

/// The program to run: the one that is named, or the release build of this tree.
pub(crate) fn program(root: &Path, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(program) = named {
        return Ok(program.to_path_buf());
    }
    crate::run(root, "cargo", &["build", "--release", "--quiet", "--package", "proofline"])?;
    Ok(root.join("target/release/proofline"))
}

/// What the last line with this beginning says.
pub(crate) fn said<'a>(output: &'a str, beginning: &str) -> Option<&'a str> {
    output.lines().rev().find_map(|line| line.strip_prefix(beginning))
}
