//! What an analysis knows inside of a program: its graphs and summaries for `proofline dump`, the value of an expression at a point
//! for suites (`__reveal`). Asks one analysis with function blocks and without targets; decides nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proofline_cfa::{Base, Entry, Expr, Function, Lvalue, Name, ObligationId, Op};
use proofline_cpa::{
    BlockCpa, Budget, Checker, Config, GraphFormat, Outcome, Refine, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{
    Folds, IntervalAnalysis, PredicateAnalysis, PredicateOptions, RelationAnalysis, ShapeAnalysis,
    ThreeValuedAnalysis, ValueAnalysis, ValueOptions,
};

pub use crate::engines::Domain;
use crate::{
    checks::Check,
    facts::{self, Variable, structure},
    pass::{reachability, run_to_end},
    sources::{Position, Sources},
    subject::Subject,
};

/// Assignments to locals whose name starts so ask for a value.
pub const REVEAL: &str = "__reveal";

/// What shapes fold (`shapes` in `configurations.yml`).
pub(crate) const FOLDS: Folds = Folds::lists(3);

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
    subject: &Subject,
    entry: Entry,
    domain: Domain,
    view: View,
    budget: &Budget,
) -> Result<String, Unknown> {
    let mut out = String::new();
    match domain {
        Domain::Intervals => {
            show(&finished(&intervals(subject, entry), subject, entry, budget)?, view, &mut out)?;
        }
        Domain::Values | Domain::Constants => {
            let values = values(subject, entry, domain == Domain::Constants);
            show(&finished(&values, subject, entry, budget)?, view, &mut out)?;
        }
        Domain::Relations | Domain::RelationsByValues => {
            show(&finished(&relations(subject, entry), subject, entry, budget)?, view, &mut out)?;
        }
        Domain::Shapes => {
            show(&inlined(&shapes(subject, entry), subject, entry, budget)?, view, &mut out)?;
        }
        Domain::ThreeValued => {
            show(&inlined(&three_valued(subject, entry), subject, entry, budget)?, view, &mut out)?;
        }
    }
    Ok(out)
}

/// The same with predicates: those that refinement finds while it proves what it can. What is violated is left out after it is found.
///
/// # Errors
/// If the analysis does not finish.
pub fn view_predicates(
    subject: &Subject,
    entry: Entry,
    view: View,
    budget: &Budget,
) -> Result<String, Unknown> {
    let mut targets: BTreeSet<(Name, ObligationId)> = BTreeSet::new();
    let mut claims = BTreeSet::new();
    let reachable = subject.reachable_from(entry.name);
    for function in reachable.into_iter().filter_map(|name| subject.env().function(name)) {
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
            targets: Some(targets.clone()),
            cancel: budget.cancel().clone(),
            deadline: budget.deadline(),
            ..subject.predicate_options(entry)
        };
        let analysis = PredicateAnalysis::new(subject.env().clone(), options)
            .map_err(|mismatch| Unknown::InternalError(mismatch.to_string()))?;
        let run = reachability(subject.env(), entry, config, targets.clone());
        let mut checker = Checker::new(&analysis, &run, precision, MemoryStore::default())?;
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
    subject: &Subject,
    sources: &Sources,
    entry: Entry,
    domain: Domain,
    budget: &Budget,
) -> Result<Vec<(Position, String)>, Unknown> {
    match domain {
        Domain::Intervals => {
            let analysis = intervals(subject, entry);
            let checker = finished(&analysis, subject, entry, budget)?;
            let value = |state: &_, f: &_, e: &_| analysis.reveal(state, f, e);
            revealed(&checker, subject, sources, entry, value)
        }
        Domain::Values | Domain::Constants => {
            let analysis = values(subject, entry, domain == Domain::Constants);
            let checker = finished(&analysis, subject, entry, budget)?;
            let value = |state: &_, f: &_, e: &_| analysis.reveal(state, f, e);
            revealed(&checker, subject, sources, entry, value)
        }
        Domain::Relations | Domain::RelationsByValues => {
            let analysis = relations(subject, entry);
            let checker = finished(&analysis, subject, entry, budget)?;
            type State = <(IntervalAnalysis, RelationAnalysis) as proofline_cpa::Domain>::State;
            let value = |state: &State, f: &_, e: &_| analysis.1.reveal(&state.1, f, e);
            revealed(&checker, subject, sources, entry, value)
        }
        Domain::Shapes => {
            let analysis = shapes(subject, entry);
            let checker = inlined(&analysis, subject, entry, budget)?;
            let value = |state: &_, f: &_, e: &_| analysis.reveal(state, f, e);
            revealed(&checker, subject, sources, entry, value)
        }
        Domain::ThreeValued => {
            let analysis = three_valued(subject, entry);
            let checker = inlined(&analysis, subject, entry, budget)?;
            let value = |state: &_, f: &_, e: &_| analysis.reveal(state, f, e);
            revealed(&checker, subject, sources, entry, value)
        }
    }
}

/// What is proved of the pointer that the program assigns to a local named `__reveal…`, by position: the list or tree that it leads to.
///
/// # Errors
/// If the analyses do not finish.
pub fn structures(
    subject: &Subject,
    sources: &Sources,
    entry: Entry,
    budget: &Budget,
) -> Result<Vec<(Position, String)>, Unknown> {
    let facts = facts::facts(subject, entry, budget)?;
    let mut out = BTreeMap::new();
    for (name, known) in &facts.functions {
        let Some(function) = subject.env().function(*name) else { continue };
        for edge in &function.edges {
            let Op::Assign(Lvalue { base: Base::Local(id), .. }, Expr::Load(value)) = &edge.op else {
                continue;
            };
            if !function.local(*id).name.starts_with(REVEAL) {
                continue;
            }
            let (variable, named) = match &value.base {
                Base::Local(local) => (Variable::Local(*local), function.local(*local).name.to_string()),
                Base::Global(global) => (Variable::Global(*global), global.to_string()),
                Base::Deref(..) => continue,
            };
            let Some(position) = sources.position(*name, edge.site) else { continue };
            let form = known.form_at_each(&[edge.from], variable);
            let text = form.and_then(|form| structure(subject.program(), &named, value.ty, &form));
            out.insert(position, text.unwrap_or_else(|| "nothing".to_owned()));
        }
    }
    Ok(out.into_iter().collect())
}

fn intervals(subject: &Subject, entry: Entry) -> IntervalAnalysis {
    IntervalAnalysis::new(subject.env().clone(), subject.interval_options(entry))
}

fn values(subject: &Subject, entry: Entry, joins: bool) -> ValueAnalysis {
    let options = ValueOptions { track_everything: true, joins, ..subject.value_options(entry) };
    ValueAnalysis::new(subject.env().clone(), options)
}

fn relations(subject: &Subject, entry: Entry) -> (IntervalAnalysis, RelationAnalysis) {
    (intervals(subject, entry), RelationAnalysis::new(subject.env().clone(), entry))
}

fn shapes(subject: &Subject, entry: Entry) -> ShapeAnalysis {
    ShapeAnalysis::new(subject.env().clone(), subject.shape_options(entry, Some(FOLDS)))
}

fn three_valued(subject: &Subject, entry: Entry) -> ThreeValuedAnalysis {
    ThreeValuedAnalysis::new(subject.env().clone(), subject.three_valued_options(entry, Vec::new()))
}

fn finished<'a, A: BlockCpa + Refine>(
    analysis: &'a A,
    subject: &'a Subject,
    entry: Entry,
    budget: &Budget,
) -> Result<Checker<'a, A, MemoryStore<A>>, Unknown> {
    seen(analysis, subject, entry, Blocks::FUNCTIONS, budget)
}

/// The same with calls inlined.
fn inlined<'a, A: BlockCpa + Refine>(
    analysis: &'a A,
    subject: &'a Subject,
    entry: Entry,
    budget: &Budget,
) -> Result<Checker<'a, A, MemoryStore<A>>, Unknown> {
    seen(analysis, subject, entry, Blocks::NONE, budget)
}

fn seen<'a, A: BlockCpa + Refine>(
    analysis: &'a A,
    subject: &'a Subject,
    entry: Entry,
    blocks: Blocks,
    budget: &Budget,
) -> Result<Checker<'a, A, MemoryStore<A>>, Unknown> {
    let config = Config { blocks, cegar: false, ..Config::default() };
    // Without targets nothing stops the analysis before it has seen everything.
    let run = reachability(subject.env(), entry, config, BTreeSet::new());
    let mut checker = Checker::new(analysis, &run, None, MemoryStore::default())?;
    run_to_end(&mut checker, budget)?;
    Ok(checker)
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
    checker: &Checker<'_, A, MemoryStore<A>>,
    subject: &Subject,
    sources: &Sources,
    entry: Entry,
    show: impl Fn(&A::State, &Function, &Expr) -> String,
) -> Result<Vec<(Position, String)>, Unknown> {
    let mut out: BTreeMap<Position, String> = BTreeMap::new();
    for name in subject.reachable_from(entry.name) {
        let Some(function) = subject.env().function(name) else { continue };
        let states = checker.states_of(name)?;
        for edge in &function.edges {
            let Op::Assign(dst, value) = &edge.op else { continue };
            let Base::Local(id) = dst.base else { continue };
            if !function.local(id).name.starts_with(REVEAL) {
                continue;
            }
            let Some(position) = sources.position(name, edge.site) else { continue };
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
