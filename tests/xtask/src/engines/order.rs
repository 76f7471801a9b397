//! `cargo xtask learn-order`: which engines the portfolio should ask first, for which programs, from what each of them did on its own. Prints what it would
//! write into `configurations.yml`, and what that saves on tasks that it has not learnt from; to take it over is a person's decision.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    Configurations, Kind, read,
    tree::{self, Learnt, Sample, cost, learn},
};
use crate::{
    bench,
    limited::{self, Output},
    table::Row,
};

/// So many times longer is a run taken to be that the limit has stopped.
const CUT: f64 = 3.0;

/// `cargo xtask learn-order`
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The tasks that `cargo xtask engines` was given.
    #[arg(required = true)]
    tasks: Vec<PathBuf>,
    /// Where its results are.
    #[arg(long, default_value = "target/engines")]
    folder: PathBuf,
    /// Into so many parts the tasks are divided, each of which is tried with what the others taught.
    #[arg(long, default_value_t = 10)]
    parts: usize,
    /// The program to run instead of the release build of this tree.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Learns, tries and prints.
///
/// # Errors
/// If there are no results, or no features of a task.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let configurations = Configurations::read(root)?;
    let asked = configurations.asked();
    let mut tables = read(&root.join(&arguments.folder))?;
    tables.retain(|name, _| asked.contains(name));
    ensure!(
        !tables.is_empty(),
        "no results in {}; `cargo xtask engines` writes them",
        arguments.folder.display()
    );
    let program = bench::program(root, arguments.program.as_deref())?;
    let mut samples: BTreeMap<String, Sample> = BTreeMap::new();
    for (task, features) in features(&program, &arguments.tasks)? {
        samples.insert(task.clone(), Sample { family: family(&task), features, runs: BTreeMap::new() });
    }
    for (engine, table) in &tables {
        for row in &table.rows {
            if let Some(sample) = samples.get_mut(&row.task) {
                // Who was stopped by the limit would have gone on: nobody knows how long.
                let goes_on = !row.is_solved() && row.result.contains("limit");
                let takes = if goes_on { CUT * row.cpu } else { row.cpu };
                sample.runs.insert(engine.clone(), (row.is_solved(), takes));
            }
        }
    }
    samples.retain(|_, sample| sample.runs.len() == tables.len());
    // To read the program takes the same time whoever is asked, once.
    for sample in samples.values_mut() {
        let reading = sample.runs.values().map(|(_, takes)| *takes).fold(f64::INFINITY, f64::min);
        sample.runs.values_mut().for_each(|(_, takes)| *takes -= reading);
    }
    let all: Vec<&Sample> = samples.values().collect();
    ensure!(all.len() >= arguments.parts, "only {} tasks have results of every engine", all.len());
    let engines: Vec<String> = tables.keys().cloned().collect();

    let fixed = Learnt { kinds: Vec::new(), rest: configurations.portfolio.clone() };
    let written = Learnt { kinds: configurations.kinds.clone(), rest: configurations.portfolio.clone() };
    let best: f64 = all
        .iter()
        .map(|sample| {
            engines.iter().map(|engine| cost([engine.as_str()], sample)).fold(tree::UNSOLVED, f64::min)
        })
        .sum();
    println!(
        "{} tasks, {} engines; seconds until they are solved, {} where nobody does:",
        all.len(),
        engines.len(),
        tree::UNSOLVED
    );
    let say = |what: &str, seconds: f64| println!("  {what:42} {seconds:8.1}");
    say("one order, as written", fixed.cost(&all));
    say("with the kinds as written", written.cost(&all));
    let one_order = |of: &[&Sample]| Learnt { kinds: Vec::new(), rest: tree::order(&engines, of) };
    let behind_kinds = |of: &[&Sample]| Learnt { kinds: configurations.kinds.clone(), ..one_order(of) };
    let with_kinds = |of: &[&Sample]| learn(&engines, of);
    let in_front = |of: &[&Sample]| tree::more(&engines, of, behind_kinds(of));
    let ways: [(&str, Way<'_>); 4] = [
        ("one order, learnt", &one_order),
        ("the kinds as written, the rest learnt", &behind_kinds),
        ("the same, and learnt kinds in front", &in_front),
        ("all learnt", &with_kinds),
    ];
    for (what, way) in ways {
        say(&format!("{what} *"), tried(way, &all, arguments.parts));
    }
    say("the fastest engine at once", best);
    println!("  (* on tasks that it was not learnt from)");
    for (what, way) in &ways[1..] {
        let learnt = way(&all);
        println!("\nFrom all tasks, {what} ({:.1}):\n", learnt.cost(&all));
        print!("{}", as_written(&learnt));
    }
    Ok(())
}

/// A way to learn.
type Way<'w> = &'w dyn Fn(&[&Sample]) -> Learnt;

/// What an order that was learnt from the other parts costs on each.
fn tried(way: Way<'_>, all: &[&Sample], parts: usize) -> f64 {
    let families: BTreeSet<&str> = all.iter().map(|sample| sample.family.as_str()).collect();
    let families: Vec<&str> = families.into_iter().collect();
    let part_of = |sample: &Sample| families.binary_search(&&*sample.family).map_or(0, |at| at % parts);
    let one = |part: usize| {
        let is_here = |sample: &&Sample| part_of(sample) == part;
        let (here, others): (Vec<&Sample>, Vec<&Sample>) = all.iter().copied().partition(is_here);
        way(&others).cost(&here)
    };
    (0..parts).map(one).sum()
}

fn as_written(learnt: &Learnt) -> String {
    let mut out = format!("portfolio: [{}]\n\nkinds:\n", learnt.rest.join(", "));
    for Kind { when, first } in &learnt.kinds {
        let when: Vec<String> = when.iter().map(|(name, least)| format!("{name}: {least}")).collect();
        out += &format!("  - {{ when: {{ {} }}, first: [{}] }}\n", when.join(", "), first.join(", "));
    }
    out
}

/// The program that a task is made of: its name without what tells variants apart.
fn family(task: &str) -> String {
    let name = task.trim_end_matches(".yml").trim_end_matches("-bug");
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_' || c == 'n').to_owned()
}

#[derive(Deserialize)]
struct Definition {
    input_files: String,
}

/// Features of each task.
fn features(program: &Path, paths: &[PathBuf]) -> Result<Vec<(String, BTreeMap<String, u64>)>> {
    let mut tasks = Vec::new();
    for path in paths {
        bench::collect(path, &mut tasks)?;
    }
    let mut found = Vec::new();
    for task in tasks {
        let text = fs::read_to_string(&task)?;
        let Ok(definition) = serde_saphyr::from_str::<Definition>(&text) else { continue };
        let source = task.with_file_name(definition.input_files);
        let shown = source.to_string_lossy().into_owned();
        let run = limited::run(program, &["dump", "features", &shown], 30, Output::Results)?;
        let Some((_, said)) = run.output.lines().next().and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let pairs = said.split_whitespace().filter_map(|pair| pair.split_once('='));
        let features = pairs
            .map(|(name, value)| Ok((name.to_owned(), value.parse()?)))
            .collect::<Result<_>>()
            .with_context(|| format!("features of {shown}: {said}"))?;
        found.push((Row::name(&task), features));
    }
    Ok(found)
}
