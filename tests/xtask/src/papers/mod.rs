//! Tables of the papers, run again: each column's configuration on the tasks that are at hand, with the paper's points beside what was published, and a
//! quantile plot. Which tasks and columns there are stands in `tables.yml`.

mod plot;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{
    bench::{self, Arguments as Bench},
    table::{Row, Table},
};

/// `cargo xtask papers`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which tables (`BAM15`, `BAM20`, `EXP12`, `REC14`, `CPA10`, `interpolation`); none: all.
    tables: Vec<String>,
    /// The folder with the folders of tasks.
    #[arg(long, default_value = "../shared/bench")]
    tasks: PathBuf,
    /// CPU seconds per task.
    #[arg(long, default_value_t = 15)]
    limit: u64,
    /// Tasks at the same time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Where tables and plots go.
    #[arg(long, default_value = "target/papers")]
    folder: PathBuf,
}

/// A paper's table.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Paper {
    title: String,
    folders: Vec<String>,
    /// For a right true, a right false, a wrong true, a wrong false.
    score: [i64; 4],
    columns: Vec<Column>,
    /// What was published of single programs.
    #[serde(default)]
    runs: BTreeMap<String, String>,
}

/// A configuration.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    engine: String,
    /// Its sum in the paper.
    #[serde(default)]
    published: String,
}

/// Runs the tables and prints them.
///
/// # Errors
/// If there is no such table, no tasks, or a verdict is wrong.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let papers: BTreeMap<String, Paper> =
        serde_saphyr::from_str(include_str!("tables.yml")).map_err(|e| anyhow::anyhow!("tables.yml: {e}"))?;
    for name in &arguments.tables {
        let known: Vec<&str> = papers.keys().map(String::as_str).collect();
        ensure!(papers.contains_key(name), "there is no table `{name}`; there are {}", known.join(", "));
    }
    let program = bench::program(root, arguments.program.as_deref())?;
    let folder = root.join(&arguments.folder);
    fs::create_dir_all(&folder)?;
    let mut wrong = 0;
    for (name, paper) in &papers {
        if !arguments.tables.is_empty() && !arguments.tables.contains(name) {
            continue;
        }
        let tables = columns(paper, arguments, &program)?;
        wrong += tables.iter().map(Table::wrong).sum::<usize>();
        let text = text(name, paper, &tables, arguments.limit);
        print!("{text}");
        fs::write(folder.join(format!("{name}.md")), text)?;
        let curves: Vec<(&str, Vec<f64>)> =
            paper.columns.iter().zip(&tables).map(|(column, table)| (&*column.name, times(table))).collect();
        fs::write(folder.join(format!("{name}.svg")), plot::quantiles(&paper.title, &curves))?;
    }
    println!("Tables and plots are in {}.", folder.display());
    ensure!(wrong == 0, "{wrong} wrong verdicts");
    Ok(())
}

/// Each column's results.
fn columns(paper: &Paper, arguments: &Arguments, program: &Path) -> Result<Vec<Table>> {
    let mut tasks = Vec::new();
    for name in &paper.folders {
        let folder = arguments.tasks.join(name);
        bench::collect(&folder, &mut tasks).with_context(|| format!("no tasks in {}", folder.display()))?;
    }
    let one = |column: &Column| {
        eprintln!("{}: {}", paper.title, column.name);
        let asked = Bench::of(column.engine.clone(), arguments.limit, arguments.jobs);
        bench::rows(program, &tasks, &asked)
    };
    paper.columns.iter().map(one).collect()
}

/// CPU seconds of what was solved, ascending.
fn times(table: &Table) -> Vec<f64> {
    let mut times: Vec<f64> = table.rows.iter().filter(|row| row.is_solved()).map(|row| row.cpu).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn points(row: &Row, [right_true, right_false, wrong_true, wrong_false]: [i64; 4]) -> i64 {
    match (row.is_solved(), row.is_wrong(), row.expected) {
        (true, _, true) => right_true,
        (true, _, false) => right_false,
        (_, true, false) => wrong_true,
        (_, true, true) => wrong_false,
        (false, false, _) => 0,
    }
}

/// The table in Markdown.
fn text(name: &str, paper: &Paper, tables: &[Table], limit: u64) -> String {
    let mut out = format!("## {name}\n\n{}\n\n", paper.title);
    let tasks = tables.first().map_or(0, |table| table.rows.len());
    let most: i64 = tables.first().map_or(0, |table| {
        table.rows.iter().map(|row| if row.expected { paper.score[0] } else { paper.score[1] }).sum()
    });
    let _ = writeln!(
        out,
        "{tasks} tasks of {}, {limit} s each; the paper's points, at most {most}.\n\n\
         | configuration | engine | points | right | true | false | wrong | CPU s of right ones | published |\n\
         |---|---|---|---|---|---|---|---|---|",
        paper.folders.join(", ")
    );
    for (column, table) in paper.columns.iter().zip(tables) {
        let solved = table.rows.iter().filter(|row| row.is_solved());
        let of = |verdict| solved.clone().filter(|row| row.expected == verdict).count();
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} | {} | {} | {} | {:.1} | {} |",
            column.name,
            column.engine,
            table.rows.iter().map(|row| points(row, paper.score)).sum::<i64>(),
            solved.clone().count(),
            of(true),
            of(false),
            table.wrong(),
            solved.clone().map(|row| row.cpu).sum::<f64>(),
            column.published
        );
    }
    if !paper.runs.is_empty() {
        let names: Vec<&str> = paper.columns.iter().map(|column| &*column.name).collect();
        let _ = writeln!(
            out,
            "\n| program | {} | published |\n|---|{}---|",
            names.join(" | "),
            "---|".repeat(names.len())
        );
        for row in tables.first().map_or(&[][..], |table| &table.rows) {
            let task = Path::new(&row.task).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let ours = tables.iter().map(|table| {
                let same = table.rows.iter().find(|other| other.task == row.task);
                same.map_or(String::new(), |row| match row.is_solved() {
                    true => match row.unwound {
                        Some(depth) => format!("k = {depth}, {:.2} s", row.cpu),
                        None => format!("{:.2} s", row.cpu),
                    },
                    false => "unknown".to_owned(),
                })
            });
            let ours: Vec<String> = ours.collect();
            let published = paper.runs.get(&task).map_or("not solved, or not in the table", String::as_str);
            let _ = writeln!(out, "| {task} | {} | {published} |", ours.join(" | "));
        }
    }
    out.push('\n');
    out
}
