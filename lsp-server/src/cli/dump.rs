//! `proofline dump`

use std::{io::Write, process::ExitCode};

use anyhow::{Result, anyhow, bail};
use proofline_ide::layers::{
    self, Budget, Domain, Entry, Features, GraphFormat, Name, Scope, Subject, View, Whole, entry_points,
};

use super::input::Input;

/// What to show.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Layer.
    #[arg(value_enum)]
    what: What,
    #[command(flatten)]
    input: Input,
    /// Only this function; the last word may name it too: `dump cfa FILE FUNCTION`. For `arg`, `summaries` and `features`: where execution
    /// starts.
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// For Graphviz instead of for reading (`| dot -Tsvg`).
    #[arg(long)]
    dot: bool,
    /// Which analysis' states, for `arg` and `summaries`.
    #[arg(long, value_enum, default_value_t = Analysis::Interval)]
    domain: Analysis,
    /// Steps of the analysis, for `arg` and `summaries`.
    #[arg(long, value_name = "STEPS", default_value_t = 100_000)]
    budget: u64,
}

/// The layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum What {
    /// Tokens after preprocessing, with both positions.
    Tokens,
    /// The syntax tree.
    Tree,
    /// Typed bodies.
    Hir,
    /// Automata with their obligations.
    Cfa,
    /// The call graph, in components.
    Callgraph,
    /// Function and loop blocks with what they read and write.
    Blocks,
    /// The graph of abstract states, one per block.
    Arg,
    /// What each block does, from which states.
    Summaries,
    /// What decides which engines are asked first, by where execution starts.
    Features,
}

/// The analyses whose states can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Analysis {
    /// Ranges.
    Interval,
    /// Known values.
    Value,
    /// Ranges, and bounds of differences.
    Relation,
    /// Graphs of memory: lists and other structures on the heap.
    Shape,
    /// Three-valued structures of the heap.
    ThreeValued,
    /// Predicates that refinement finds.
    Predicate,
}

/// Megabytes for each process of the solver.
const DUMP_MB: u64 = 4096;

/// Prints a layer.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    crate::solver_process::employ_workers(DUMP_MB);
    let mut function = arguments.function.as_deref().map(Name::new);
    let mut input = arguments.input.clone();
    let options = input.options();
    // `dump cfa FILE FUNCTION` reads well; a last word that is no file is the function.
    if function.is_none()
        && input.files.len() > 1
        && input.files.last().is_some_and(|last| !last.exists() && last.extension().is_none())
    {
        function = input.files.pop().and_then(|last| last.to_str().map(Name::new));
    }
    let first =
        || input.files.first().ok_or_else(|| anyhow!("no input file\n  help: proofline dump LAYER FILE"));
    let program = || -> Result<Subject> {
        let subject = input.load()?;
        match function {
            Some(name) if subject.program().function(name).is_none() => {
                bail!("there is no function `{name}` with a body{}", known(&subject))
            }
            Some(_) | None => Ok(subject),
        }
    };
    let text = match (arguments.what, arguments.dot) {
        (What::Tokens, false) => layers::tokens(first()?, &options)?,
        (What::Tree, false) => layers::tree(first()?, &options)?,
        (What::Tree, true) => layers::tree_dot(first()?, &options)?,
        (What::Hir, false) => layers::hir(first()?, &options, function)?,
        (What::Cfa, false) => layers::cfa(&program()?, function),
        (What::Cfa, true) => layers::cfa_dot(&program()?, function),
        (What::Callgraph, false) => layers::call_graph(&program()?),
        (What::Callgraph, true) => layers::call_graph_dot(&program()?),
        (What::Blocks, false) => layers::blocks(&program()?, function),
        (What::Blocks, true) => layers::blocks_dot(&program()?, function),
        (What::Arg, dot) => {
            let format = if dot { GraphFormat::Dot } else { GraphFormat::Text };
            states(&program()?, function, arguments, View::Graphs(format))?
        }
        (What::Features, false) => features(&program()?, function),
        (What::Summaries, false) => states(&program()?, function, arguments, View::Summaries)?,
        (What::Tokens | What::Hir | What::Summaries | What::Features, true) => {
            bail!(
                "this layer is no graph\n  help: leave out --dot; graphs are tree, cfa, callgraph, blocks, arg"
            )
        }
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A function, or the default entries.
fn entries(subject: &Subject, function: Option<Name>) -> Vec<Entry> {
    match function {
        Some(name) => vec![Entry::new(name)],
        None => {
            let points = entry_points(&Whole::new(subject), Scope::Program, &|_| true);
            points.into_iter().map(|point| point.entry).collect()
        }
    }
}

/// Features of the executions from a function, or from the default entries.
fn features(subject: &Subject, function: Option<Name>) -> String {
    let line = |entry: Entry| format!("{entry}: {}\n", Features::of(subject, entry));
    entries(subject, function).into_iter().map(line).collect()
}

/// States of the executions from a function, or from the default entries.
fn states(subject: &Subject, function: Option<Name>, arguments: &Arguments, view: View) -> Result<String> {
    let mut out = String::new();
    for entry in entries(subject, function) {
        let budget = Budget::steps(arguments.budget);
        let text = match arguments.domain {
            Analysis::Interval => layers::view(subject, entry, Domain::Intervals, view, &budget),
            Analysis::Value => layers::view(subject, entry, Domain::Values, view, &budget),
            Analysis::Relation => layers::view(subject, entry, Domain::Relations, view, &budget),
            Analysis::Shape => layers::view(subject, entry, Domain::Shapes, view, &budget),
            Analysis::ThreeValued => layers::view(subject, entry, Domain::ThreeValued, view, &budget),
            Analysis::Predicate => layers::view_predicates(subject, entry, view, &budget),
        };
        out.push_str(&text.map_err(|why| {
            anyhow!("the states from `{entry}` are not known: {why}\n  help: a larger --budget may help")
        })?);
    }
    Ok(out)
}

/// The functions there are, when they are few.
fn known(subject: &Subject) -> String {
    let names: Vec<&str> = subject.program().functions.keys().map(|name| name.as_str()).collect();
    if names.is_empty() || names.len() > 20 {
        return String::new();
    }
    format!("\n  help: there are {}", names.join(", "))
}
