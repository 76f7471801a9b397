//! What an analysis knows inside of a program: its graphs and summaries for `proofline dump`, the value of an expression at a point
//! for suites (`__reveal`). Asks one analysis with function blocks and without targets; decides nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proofline_cfa::{Base, Expr, Function, Name, ObligationId, Op};
use proofline_cpa::{
    BlockCpa, Budget, Checker, Config, GraphFormat, Outcome, Question, Refine, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    IntervalAnalysis, IntervalOptions, Mode, PredicateAnalysis, PredicateOptions, ValueAnalysis, ValueOptions,
};

pub use crate::engines::Domain;
use crate::{
    checks::Check,
    load::{Loaded, Position},
};

/// Assignments to locals whose name starts so ask for a value.
pub const REVEAL: &str = "__reveal";

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The graphs of abstract states, as text or for Graphviz.
    Graphs(GraphFormat),
    /// The summaries of blocks.
    Summaries,
}

/// The graphs or summaries of the executions from `entry`.
///
/// # Errors
/// If the analysis does not finish.
pub fn view(
    loaded: &Loaded,
    entry: Name,
    domain: Domain,
    view: View,
    budget: &Budget,
) -> Result<String, Unknown> {
    let mut out = String::new();
    match domain {
        Domain::Intervals => seen(&intervals(loaded, entry), loaded, entry, view, budget, &mut out)?,
        Domain::Values => seen(&values(loaded, entry), loaded, entry, view, budget, &mut out)?,
    }
    Ok(out)
}

/// The same with predicates: those that refinement finds while it proves what it can. What is violated is left out after it is found.
///
/// # Errors
/// If the analysis does not finish.
pub fn view_predicates(loaded: &Loaded, entry: Name, view: View, budget: &Budget) -> Result<String, Unknown> {
    let mut targets: BTreeSet<(Name, ObligationId)> = BTreeSet::new();
    let mut claims = BTreeSet::new();
    for function in loaded.reachable_from(entry).into_iter().filter_map(|name| loaded.env().function(name)) {
        for (number, obligation) in function.obligations.iter().enumerate() {
            let target = (function.name, ObligationId(number as u32));
            targets.insert(target);
            if Check::of(obligation.check).is_some_and(Check::is_claim) {
                claims.insert(target);
            }
        }
    }
    // What the program itself claims, if it does: that says which predicates matter.
    if !claims.is_empty() {
        targets = claims;
    }
    let config = Config { blocks: Blocks::FUNCTIONS, ..Config::default() };
    let mut precision = None;
    loop {
        let options = PredicateOptions {
            wrapv: loaded.options().wrapv,
            targets: Some(targets.clone()),
            cancel: budget.cancel().clone(),
            deadline: budget.deadline(),
            ..PredicateOptions::new(entry, mode(loaded, entry))
        };
        let analysis = PredicateAnalysis::new(loaded.env().clone(), options)
            .map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))?;
        let question = Question::new(loaded.env(), entry, Check::ids(), config).only(targets.clone());
        let mut checker = Checker::new(&analysis, &question, precision, MemoryStore::default())?;
        match checker.run(budget) {
            Outcome::Holds => {
                let mut out = String::new();
                show(&checker, view, &mut out)?;
                return Ok(out);
            }
            Outcome::Unknown(why) => return Err(why),
            Outcome::Reaches(witness) => {
                if !witness.path.target.is_some_and(|target| targets.remove(&target)) {
                    return Err(Unknown::InternalError("a path leads to what nobody asked about".into()));
                }
                precision = Some(checker.precision().clone());
            }
        }
    }
}

/// What the domain knows where the program assigns to a local named `__reveal…`: the value assigned, by position. Alternatives are
/// joined by ` or `.
///
/// # Errors
/// If the analysis does not finish.
pub fn reveal(
    loaded: &Loaded,
    entry: Name,
    domain: Domain,
    budget: &Budget,
) -> Result<Vec<(Position, String)>, Unknown> {
    match domain {
        Domain::Intervals => {
            let analysis = intervals(loaded, entry);
            revealed(&analysis, loaded, entry, budget, |state, f, e| analysis.reveal(state, f, e))
        }
        Domain::Values => {
            let analysis = values(loaded, entry);
            revealed(&analysis, loaded, entry, budget, |state, f, e| analysis.reveal(state, f, e))
        }
    }
}

fn mode(loaded: &Loaded, entry: Name) -> Mode {
    if loaded.is_library(entry) { Mode::Library } else { Mode::Program }
}

fn intervals(loaded: &Loaded, entry: Name) -> IntervalAnalysis {
    let options = IntervalOptions::new(entry, mode(loaded, entry));
    let wrapv = loaded.options().wrapv;
    IntervalAnalysis::new(loaded.env().clone(), IntervalOptions { wrapv, ..options })
}

fn values(loaded: &Loaded, entry: Name) -> ValueAnalysis {
    let options = ValueOptions::new(entry, mode(loaded, entry));
    let wrapv = loaded.options().wrapv;
    ValueAnalysis::new(loaded.env().clone(), ValueOptions { wrapv, track_everything: true, ..options })
}

fn finished<'a, A: BlockCpa + Refine>(
    analysis: &'a A,
    loaded: &'a Loaded,
    entry: Name,
    budget: &Budget,
) -> Result<Checker<'a, A, MemoryStore<A>>, Unknown> {
    let config = Config { blocks: Blocks::FUNCTIONS, cegar: false, ..Config::default() };
    // Without targets nothing stops the analysis before it has seen everything.
    let question = Question::new(loaded.env(), entry, Check::ids(), config).only(BTreeSet::new());
    let mut checker = Checker::new(analysis, &question, None, MemoryStore::default())?;
    match checker.run(budget) {
        Outcome::Holds => Ok(checker),
        Outcome::Unknown(why) => Err(why),
        Outcome::Reaches(_) => Err(Unknown::InternalError("a pass without targets reached one".into())),
    }
}

fn seen<A: BlockCpa + Refine>(
    analysis: &A,
    loaded: &Loaded,
    entry: Name,
    view: View,
    budget: &Budget,
    out: &mut dyn fmt::Write,
) -> Result<(), Unknown> {
    show(&finished(analysis, loaded, entry, budget)?, view, out)
}

fn show<A: BlockCpa + Refine>(
    checker: &Checker<'_, A, MemoryStore<A>>,
    view: View,
    out: &mut dyn fmt::Write,
) -> Result<(), Unknown> {
    match view {
        View::Graphs(format) => checker.write_graphs(out, format),
        View::Summaries => checker.write_summaries(out),
    }
}

fn revealed<A: BlockCpa + Refine>(
    analysis: &A,
    loaded: &Loaded,
    entry: Name,
    budget: &Budget,
    show: impl Fn(&A::State, &Function, &Expr) -> String,
) -> Result<Vec<(Position, String)>, Unknown> {
    let checker = finished(analysis, loaded, entry, budget)?;
    let mut out: BTreeMap<Position, String> = BTreeMap::new();
    for name in loaded.reachable_from(entry) {
        let Some(function) = loaded.env().function(name) else { continue };
        let states = checker.states_of(name)?;
        for edge in &function.edges {
            let Op::Assign(dst, value) = &edge.op else { continue };
            let Base::Local(id) = dst.base else { continue };
            if !function.local(id).name.starts_with(REVEAL) {
                continue;
            }
            let Some(position) = loaded.position(name, edge.site) else { continue };
            let texts: BTreeSet<String> = states
                .get(&edge.from)
                .into_iter()
                .flatten()
                .map(|state| show(state, function, value))
                .collect();
            let text = texts.into_iter().collect::<Vec<_>>().join(" or ");
            out.insert(position, if text.is_empty() { "unreachable".to_owned() } else { text });
        }
    }
    Ok(out.into_iter().collect())
}
