//! Each configuration of an engine on its own, on the same tasks: the table of the manual, and what the order of the portfolio is learnt from.

pub(crate) mod order;
mod page;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    bench::{self, Arguments as Bench},
    table::Table,
};

/// `cargo xtask engines`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folders with task definitions (`*.yml`), or sheets of tasks (`*.md`).
    #[arg(required = true)]
    tasks: Vec<PathBuf>,
    /// Of each folder or sheet, every so many-th task.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// CPU seconds per task.
    #[arg(long, default_value_t = 3)]
    limit: u64,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Only these configurations, with commas between them; `portfolio`: those that are asked where nobody names one.
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Where each configuration's results are. Those that are there already are not measured again.
    #[arg(long, default_value = "target/engines")]
    folder: PathBuf,
    /// Writes the table of all results in the folder into this page of the manual.
    #[arg(long)]
    page: Option<PathBuf>,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The lists of `configurations.yml` that concern the order.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Configurations {
    portfolio: Vec<String>,
    kinds: Vec<Kind>,
    engines: BTreeMap<String, IgnoredAny>,
}

/// Programs of a kind ask these engines first.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
struct Kind {
    when: BTreeMap<String, u64>,
    first: Vec<String>,
}

impl Configurations {
    fn read(root: &Path) -> Result<Configurations> {
        let file = root.join("analysis/verifier/src/engines/configurations.yml");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_saphyr::from_str(&text).map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))
    }

    /// Engines that are asked where nobody names one.
    fn asked(&self) -> BTreeSet<String> {
        let of_kinds = self.kinds.iter().flat_map(|kind| &kind.first);
        self.portfolio.iter().chain(of_kinds).cloned().collect()
    }
}

/// Measures what is not measured yet, and prints the table.
///
/// # Errors
/// If there is no such configuration, no tasks, or a verdict is wrong.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let configurations = Configurations::read(root)?;
    let mut names: BTreeSet<String> = BTreeSet::new();
    for name in &arguments.engines {
        match name.as_str() {
            "portfolio" => names.extend(configurations.asked()),
            name => {
                ensure!(configurations.engines.contains_key(name), "there is no configuration `{name}`");
                names.insert(name.to_owned());
            }
        }
    }
    if names.is_empty() {
        names.extend(configurations.engines.keys().cloned());
    }
    let mut tasks = Vec::new();
    for path in &arguments.tasks {
        let mut of_one = Vec::new();
        bench::collect(path, &mut of_one)?;
        tasks.extend(of_one.into_iter().step_by(arguments.every.max(1)));
    }
    ensure!(!tasks.is_empty(), "no task definitions (*.yml) in {:?}", arguments.tasks);
    let program = bench::program(root, arguments.program.as_deref())?;
    let folder = root.join(&arguments.folder);
    for name in &names {
        let file = folder.join(format!("{name}.csv"));
        if file.exists() {
            continue;
        }
        let asked = Bench::of(name.clone(), arguments.limit, arguments.jobs);
        let table = bench::rows(&program, &tasks, &asked)?;
        println!("{name}: {}", table.summary().trim_end());
        table.write(&file)?;
    }
    let tables = read(&folder)?;
    let text = page::text(&tables, arguments.limit);
    match &arguments.page {
        Some(page) => fs::write(root.join(page), text)?,
        None => print!("{text}"),
    }
    let wrong: usize = tables.values().map(Table::wrong).sum();
    ensure!(wrong == 0, "{wrong} wrong verdicts");
    Ok(())
}

/// Results by configuration.
fn read(folder: &Path) -> Result<BTreeMap<String, Table>> {
    let mut tables = BTreeMap::new();
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = file?.path();
        if let (Some(name), true) = (file.file_stem(), file.extension().is_some_and(|end| end == "csv")) {
            tables.insert(name.to_string_lossy().into_owned(), Table::read(&file)?);
        }
    }
    Ok(tables)
}
