//! Configurations as data: `configurations.yml` lists every engine by name with its parts; this file says which parts there are and
//! builds engines from them. Knows what can be chosen, not what the choices do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use proofline_cpa::{Order, bam::Blocks};
use proofline_domains::{Folds, ValueRefinement};
use proofline_encoding::Encoding;
use proofline_smt::horn::{Cells, Split};
use serde::Deserialize;

use super::{
    Abstraction, Accelerated, Assuming, Bounded, CallPaths, Cases, Concrete, CpaRec, CpaRecFixpoint,
    Decision, Domain, Engine, Equations, Features, Horn, KInduction, Method, OldInvariants, Polynomials,
    Predicate, Question, Sequences, abstraction::UNCONFIRMED, cparec::Inner, horn::View, own,
};

/// The file.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    portfolio: Vec<String>,
    kinds: Vec<Kind<String>>,
    side_by_side: Vec<Vec<String>>,
    before_contracts: Vec<String>,
    solver_free: Vec<String>,
    library: Vec<RoundOf<String>>,
    alone: Vec<RoundOf<String>>,
    apart: Vec<RoundOf<String>>,
    program: Vec<RoundOf<String>>,
    engines: BTreeMap<String, Parts>,
}

/// A kind of programs.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Kind<E> {
    /// At least so much of each feature.
    when: Features,
    /// What is asked before the rest of the portfolio, in order.
    first: Vec<E>,
}

/// What is asked in one round.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundOf<E> {
    /// Engines, in order.
    pub engines: Vec<E>,
    /// No more steps than this for each.
    #[serde(default)]
    pub steps: Option<u64>,
}

/// How Horn clauses are looked at.
#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ViewName {
    Plain,
    /// A cell of each array, all at one index.
    SharedCells,
    /// The same with all that is known of the cells that are read.
    AllSharedCells,
    /// Two cells of each array, all at two indices, with all that is known of the cells that are read.
    Pairs,
    /// A cell of each array.
    Cells,
    /// The same with all that is known of the cells that are read.
    AllCells,
}

impl ViewName {
    fn view(self) -> View {
        match self {
            ViewName::Plain => View::Plain,
            ViewName::SharedCells => View::Cells(Cells { shared: true, all: false, pairs: false }),
            ViewName::AllSharedCells => View::Cells(Cells { shared: true, all: true, pairs: false }),
            ViewName::Pairs => View::Cells(Cells { shared: true, all: true, pairs: true }),
            ViewName::Cells => View::Cells(Cells { shared: false, all: false, pairs: false }),
            ViewName::AllCells => View::Cells(Cells { shared: false, all: true, pairs: false }),
        }
    }
}

fn plainly() -> Vec<ViewName> {
    vec![ViewName::Plain]
}

/// What an engine is made of.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub(super) enum Parts {
    /// Runs the program.
    Concrete {
        total_steps: u64,
        first_steps: u64,
        run_steps: u64,
        /// Without it, nothing is compiled.
        #[serde(default)]
        compiled_steps: u64,
    },
    /// Runs it with sequences as inputs.
    Sequences {
        run_steps: u64,
        /// Without it, nothing is compiled.
        #[serde(default)]
        compiled_steps: u64,
    },
    /// A configurable program analysis over an abstract domain.
    Abstraction {
        domain: Domain,
        blocks: BlocksName,
        /// Starts with nothing tracked and learns from infeasible paths.
        #[serde(default)]
        refines: bool,
        /// One pass that stops at no target.
        #[serde(default)]
        collects: bool,
        #[serde(default)]
        order: OrderName,
        /// Of shapes: alike objects in a row are folded, and, of more than so many, such that are not.
        #[serde(default)]
        fold: Option<u32>,
        /// Of shapes: whether segments have at least two objects, at least three and so on up to this number, is told apart.
        #[serde(default = "two")]
        least: u8,
        /// Of shapes: objects that may be parts of trees are folded to trees, not to lists.
        #[serde(default)]
        trees: bool,
        /// Of three-valued structures: lines `record: kind(member, member)` that say which structures records make.
        #[serde(default)]
        classes: String,
        /// Of intervals and relations: states are kept apart while what calls have given differs.
        #[serde(default)]
        outcomes: bool,
        /// Of intervals: states are kept apart while counters of loops differ.
        #[serde(default)]
        rounds: bool,
        /// No more steps than these.
        #[serde(default)]
        steps: Option<u64>,
        /// Of values: what refinement asks for is tracked wherever it is in scope, or only where an interpolant speaks of it.
        #[serde(default)]
        precision: PrecisionName,
        /// Of values: so many infeasible prefixes of a path are compared.
        #[serde(default = "six")]
        prefixes: usize,
        /// The graph is forgotten at a refinement, instead of being cut.
        #[serde(default)]
        restart: bool,
        /// After so many paths to a mistake that no run confirms it gives up.
        #[serde(default = "usual_unconfirmed")]
        unconfirmed: u32,
    },
    /// One pass over a domain, with calls that only assume something as conditions.
    Assuming { domain: Domain },
    /// One pass over a domain in which functions that allocate are copied for each of their calls. `steps`: no more than these.
    CallPaths {
        domain: Domain,
        #[serde(default)]
        outcomes: bool,
        steps: u64,
    },
    /// Proof by cases.
    Cases,
    /// Spacer.
    Horn {
        resource: u32,
        #[serde(default)]
        with_arrays: Option<u32>,
        #[serde(default = "plainly")]
        views: Vec<ViewName>,
        /// What a pass of intervals and relations knows is taken for granted.
        #[serde(default)]
        knows: bool,
        /// Of the program in which loops have their closed forms beside them.
        #[serde(default)]
        accelerates: bool,
    },
    /// Invariants of an older text. `resource`: for each question.
    OldInvariants { resource: u32 },
    /// Symbolic abstraction in the domain of equations: degree and cases of each attempt.
    Equations {
        attempts: Vec<(u8, Split)>,
        resource: u32,
        questions: u32,
        spacer: u32,
        #[serde(default = "plainly")]
        views: Vec<ViewName>,
    },
    /// Polynomial equations.
    Polynomials,
    /// Symbolic execution up to a number of layers. `give-ups`: ends when the solver has given up so often.
    Bounded {
        layers: u32,
        resource: u32,
        #[serde(default = "any_number")]
        give_ups: u32,
        #[serde(default)]
        encoding: EncodingName,
        /// Asked only where integers know less than bit vectors.
        #[serde(default)]
        only_beyond_integers: bool,
        /// Of the program in which loops have their closed forms beside them.
        #[serde(default)]
        accelerates: bool,
    },
    /// k-induction, strengthened by intervals.
    KInduction {
        most: u32,
        resource: u32,
        #[serde(default)]
        encoding: EncodingName,
        #[serde(default)]
        only_beyond_integers: bool,
    },
    /// Predicate analysis.
    Predicate(super::predicate::Settings),
    /// Unwinding of recursion around an analysis of programs without recursion.
    Cparec { most: u32, inner: super::cparec::Inner },
    /// The same around a predicate analysis, whose predicates are completed to summaries by a fixpoint over blocks.
    CparecFixpoint { most: u32, inner: super::predicate::Settings },
}

impl Parts {
    /// Whether an engine of a user's own asks for no more than those that come with the program.
    ///
    /// # Errors
    /// Which number is too large, and what it may be.
    pub(super) fn within_bounds(&self) -> Result<(), String> {
        let most = |what: &str, is: u64, most: u64| match is <= most {
            true => Ok(()),
            false => Err(format!("{what}: at most {most}, not {is}")),
        };
        let resource = |is: u32| most("resource", u64::from(is), 4_000_000_000);
        match self {
            Parts::Concrete { total_steps, first_steps, run_steps, compiled_steps } => {
                most("total-steps", *total_steps, 60_000_000)?;
                most("first-steps", *first_steps, 200_000_000)?;
                most("run-steps", *run_steps, 12_000_000)?;
                most("compiled-steps", *compiled_steps, 100_000_000_000)
            }
            Parts::Sequences { run_steps, compiled_steps } => {
                most("run-steps", *run_steps, 12_000_000)?;
                most("compiled-steps", *compiled_steps, 100_000_000_000)
            }
            Parts::Abstraction { fold, prefixes, unconfirmed, .. } => {
                most("fold", u64::from(fold.unwrap_or(0)), 100)?;
                most("prefixes", *prefixes as u64, 100)?;
                most("unconfirmed", u64::from(*unconfirmed), 10_000)
            }
            Parts::Assuming { .. } | Parts::CallPaths { .. } | Parts::Cases | Parts::Polynomials => Ok(()),
            Parts::Horn { resource: units, with_arrays, views, .. } => {
                resource((*units).max(with_arrays.unwrap_or(0)))?;
                most("views", views.len() as u64, 10)
            }
            Parts::OldInvariants { resource: units } => resource(*units),
            Parts::Equations { attempts, resource: units, questions, spacer, views } => {
                resource((*units).max(*spacer))?;
                most("questions", u64::from(*questions), 10_000)?;
                most("attempts", attempts.len() as u64, 10)?;
                let degree = attempts.iter().map(|(degree, _)| *degree).max().unwrap_or(1);
                most("the degree of an attempt", u64::from(degree), 3)?;
                most("views", views.len() as u64, 10)
            }
            Parts::Bounded { layers, resource: units, .. } => {
                resource(*units)?;
                most("layers", u64::from(*layers), 1000)
            }
            Parts::KInduction { most: k, resource: units, .. } => {
                resource(*units)?;
                most("most", u64::from(*k), 50)
            }
            Parts::Predicate(settings) => settings.within_bounds(&most),
            Parts::Cparec { most: k, inner } => {
                most("most", u64::from(*k), 50)?;
                match inner {
                    Inner::Predicate(settings) => settings.within_bounds(&most),
                    Inner::Intervals | Inner::Values => Ok(()),
                }
            }
            Parts::CparecFixpoint { most: k, inner } => {
                most("most", u64::from(*k), 50)?;
                inner.within_bounds(&most)
            }
        }
    }
}

fn any_number() -> u32 {
    u32::MAX
}

fn two() -> u8 {
    Folds::lists(0).least
}

fn six() -> usize {
    ValueRefinement::default().prefixes
}

pub(super) fn usual_unconfirmed() -> u32 {
    UNCONFIRMED
}

/// Where a variable is tracked.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PrecisionName {
    #[default]
    Scoped,
    Located,
}

/// Which states are explored first.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OrderName {
    BreadthFirst,
    DepthFirst,
    ReversePostorder,
    #[default]
    CallstackFirst,
}

impl OrderName {
    fn order(self) -> Order {
        match self {
            OrderName::BreadthFirst => Order::Bfs,
            OrderName::DepthFirst => Order::Dfs,
            OrderName::ReversePostorder => Order::ReversePostorder,
            OrderName::CallstackFirst => Order::CallstackFirst,
        }
    }
}

/// How values become terms.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EncodingName {
    #[default]
    Integers,
    BitVectors,
}

impl EncodingName {
    fn encoding(self) -> Encoding {
        match self {
            EncodingName::Integers => Encoding::Integers,
            EncodingName::BitVectors => Encoding::BitVectors,
        }
    }
}

/// What is summarised.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BlocksName {
    None,
    Loops,
    Functions,
    All,
}

impl BlocksName {
    /// As the drivers take it.
    pub(super) fn blocks(self) -> Blocks {
        match self {
            BlocksName::None => Blocks::NONE,
            BlocksName::Loops => Blocks::LOOPS,
            BlocksName::Functions => Blocks::FUNCTIONS,
            BlocksName::All => Blocks::ALL,
        }
    }
}

/// What the file says, with names that live as long as the program.
struct Table {
    portfolio: Vec<&'static str>,
    kinds: Vec<Kind<&'static str>>,
    side_by_side: Vec<Vec<&'static str>>,
    before_contracts: Vec<&'static str>,
    solver_free: Vec<&'static str>,
    library: Vec<RoundOf<&'static str>>,
    alone: Vec<RoundOf<&'static str>>,
    apart: Vec<RoundOf<&'static str>>,
    program: Vec<RoundOf<&'static str>>,
    all_of_library: Vec<&'static str>,
    names: Vec<&'static str>,
    engines: BTreeMap<&'static str, Parts>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let file: File = match serde_saphyr::from_str(include_str!("configurations.yml")) {
        Ok(file) => file,
        // The text is part of the program, and a test reads it.
        Err(error) => unreachable!("configurations.yml: {error}"),
    };
    let keep = |name: String| -> &'static str { Box::leak(name.into_boxed_str()) };
    let engines: BTreeMap<&'static str, Parts> =
        file.engines.into_iter().map(|(name, parts)| (keep(name), parts)).collect();
    let rounds = |rounds: Vec<RoundOf<String>>| -> Vec<RoundOf<&'static str>> {
        let kept = |engines: Vec<String>| engines.into_iter().map(keep).collect();
        let kept = |round: RoundOf<String>| RoundOf { engines: kept(round.engines), steps: round.steps };
        rounds.into_iter().map(kept).collect()
    };
    let library = rounds(file.library);
    Table {
        portfolio: file.portfolio.into_iter().map(keep).collect(),
        kinds: file
            .kinds
            .into_iter()
            .map(|kind| Kind { when: kind.when, first: kind.first.into_iter().map(keep).collect() })
            .collect(),
        side_by_side: file
            .side_by_side
            .into_iter()
            .map(|lane| lane.into_iter().map(keep).collect())
            .collect(),
        before_contracts: file.before_contracts.into_iter().map(keep).collect(),
        solver_free: file.solver_free.into_iter().map(keep).collect(),
        all_of_library: each_once(library.iter().flat_map(|round| round.engines.iter().copied())),
        program: rounds(file.program),
        alone: rounds(file.alone),
        apart: rounds(file.apart),
        library,
        names: engines.keys().copied().collect(),
        engines,
    }
});

/// Every engine's name.
pub fn names() -> &'static [&'static str] {
    &TABLE.names
}

/// The engines that the portfolio asks, in this order.
pub fn portfolio() -> &'static [&'static str] {
    &TABLE.portfolio
}

/// The same for a program with these features: first what its kind asks first.
pub fn portfolio_of(features: &Features) -> Vec<&'static str> {
    let kind = TABLE.kinds.iter().find(|kind| features.has(&kind.when));
    let first = kind.map_or(&[][..], |kind| &kind.first);
    each_once(first.iter().chain(portfolio()).copied())
}

/// Lanes of the portfolio's last engines: where cores are free, each lane runs on its own.
pub fn side_by_side() -> &'static [Vec<&'static str>] {
    &TABLE.side_by_side
}

/// The engines that are asked of a program with these features before contracts of its functions are looked for: of these, what its kind asks first.
pub fn before_contracts(features: &Features) -> Vec<&'static str> {
    let asked = &TABLE.before_contracts;
    each_once(
        portfolio_of(features).into_iter().filter(|name| asked.contains(name)).chain(asked.iter().copied()),
    )
}

/// The engines without a solver, in the order in which they are asked together.
fn solver_free() -> &'static [&'static str] {
    &TABLE.solver_free
}

/// The engines that are asked of functions without callers, in order: brief ones, for there are many such functions.
pub fn library() -> &'static [&'static str] {
    &TABLE.all_of_library
}

fn each_once(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// The same in rounds: what is open after one of all functions is asked in the next.
pub fn library_rounds() -> &'static [RoundOf<&'static str>] {
    &TABLE.library
}

/// What is asked of each function of a library on its own: in the first of those rounds, and in the last.
pub fn alone_rounds() -> &'static [RoundOf<&'static str>] {
    &TABLE.alone
}

/// What is asked before that of functions of large libraries, apart from what they call.
pub fn apart_rounds() -> &'static [RoundOf<&'static str>] {
    &TABLE.apart
}

/// What an editor asks of a program with a beginning.
pub fn program_rounds() -> &'static [RoundOf<&'static str>] {
    &TABLE.program
}

/// Lists of engines that have a name together, each in the order in which its engines are asked.
pub fn groups() -> [(&'static str, &'static [&'static str]); 3] {
    [("portfolio", portfolio()), ("solver-free", solver_free()), ("library", library())]
}

/// Whether an engine of this name comes with the program.
pub(super) fn is_shipped(name: &str) -> bool {
    TABLE.engines.contains_key(name)
}

/// The name of an engine that there is, one of a user's own or not.
pub fn name(name: &str) -> Option<&'static str> {
    let shipped = TABLE.engines.get_key_value(name).map(|(name, _)| *name);
    shipped.or_else(|| own::parts(name).map(|(name, _)| name))
}

/// The engine with this name.
pub fn by_name(name: &str) -> Option<Box<dyn Engine>> {
    let shipped = TABLE.engines.get_key_value(name).map(|(name, parts)| (*name, parts.clone()));
    let (name, parts) = shipped.or_else(|| own::parts(name))?;
    Some(Box::new(Configured { name, engine: build(name, &parts) }))
}

/// The kind of reason that the engine with this name has for what it proves.
pub(super) fn method_of(name: &str) -> Option<Method> {
    let shipped = TABLE.engines.get(name).map(Parts::method);
    shipped.or_else(|| own::parts(name).map(|(_, parts)| parts.method()))
}

fn build(name: &'static str, parts: &Parts) -> Box<dyn Engine> {
    match parts.clone() {
        Parts::Concrete { total_steps, first_steps, run_steps, compiled_steps } => {
            Box::new(Concrete { total_steps, first_steps, run_steps, compiled_steps })
        }
        Parts::Sequences { run_steps, compiled_steps } => Box::new(Sequences { run_steps, compiled_steps }),
        Parts::Abstraction {
            domain,
            blocks,
            refines,
            collects,
            order,
            fold,
            least,
            trees,
            classes,
            outcomes,
            rounds,
            steps,
            precision,
            prefixes,
            restart,
            unconfirmed,
        } => {
            let refinement = ValueRefinement { located: precision == PrecisionName::Located, prefixes };
            let mut engine = Abstraction::new(name, domain)
                .with_blocks(blocks.blocks())
                .with_order(order.order())
                .folding(fold.map(|most| Folds { most, least, trees }))
                .with_classes(classes)
                .by_outcomes(outcomes)
                .by_rounds(rounds)
                .with_steps(steps)
                .refining(refinement, restart, unconfirmed);
            if refines {
                engine = engine.with_refinement();
            }
            if collects {
                engine = engine.collecting();
            }
            Box::new(engine)
        }
        Parts::Assuming { domain } => {
            let analysis =
                Abstraction::new(name, domain).with_blocks(BlocksName::Functions.blocks()).collecting();
            Box::new(Assuming { analysis })
        }
        Parts::CallPaths { domain, outcomes, steps } => {
            let analysis = Abstraction::new(name, domain)
                .with_blocks(BlocksName::Functions.blocks())
                .by_outcomes(outcomes)
                .with_steps(Some(steps))
                .whatever_is_asked()
                .collecting();
            Box::new(CallPaths { analysis })
        }
        Parts::Cases => Box::new(Cases),
        Parts::Horn { resource, with_arrays, views, knows, accelerates } => {
            let views = views.into_iter().map(ViewName::view).collect();
            let with_arrays = with_arrays.unwrap_or(resource);
            of_loops(Horn { resource, with_arrays, views, knows }, accelerates)
        }
        Parts::OldInvariants { resource } => Box::new(OldInvariants { resource }),
        Parts::Equations { attempts, resource, questions, spacer, views } => {
            let views = views.into_iter().map(ViewName::view).collect();
            Box::new(Equations { attempts, resource, questions, spacer, views })
        }
        Parts::Polynomials => Box::new(Polynomials),
        Parts::Bounded { layers, resource, give_ups, encoding, only_beyond_integers, accelerates } => {
            let encoding = encoding.encoding();
            of_loops(Bounded { layers, resource, give_ups, encoding, only_beyond_integers }, accelerates)
        }
        Parts::KInduction { most, resource, encoding, only_beyond_integers } => {
            Box::new(KInduction { most, resource, encoding: encoding.encoding(), only_beyond_integers })
        }
        Parts::Predicate(settings) => Box::new(Predicate::new(name, settings)),
        Parts::Cparec { most, inner } => Box::new(CpaRec::new(inner, most)),
        Parts::CparecFixpoint { most, inner } => Box::new(CpaRecFixpoint::new(name, inner, most)),
    }
}

/// The engine, asked of loops as they are or of loops with their closed forms.
fn of_loops(engine: impl Engine + 'static, accelerates: bool) -> Box<dyn Engine> {
    if accelerates { Box::new(Accelerated { engine }) } else { Box::new(engine) }
}

/// An engine under the name it was asked for by.
struct Configured {
    name: &'static str,
    engine: Box<dyn Engine>,
}

impl Engine for Configured {
    fn name(&self) -> &'static str {
        self.name
    }
    fn knows_memory(&self) -> bool {
        self.engine.knows_memory()
    }
    fn decides_each(&self) -> bool {
        self.engine.decides_each()
    }
    fn only_proves(&self) -> bool {
        self.engine.only_proves()
    }
    fn decide(&self, question: &Question<'_>) -> Decision {
        self.engine.decide(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_file_is_an_engine_and_every_name_asked_in_order_is_in_the_file() {
        assert!(names().len() > 10);
        let rounds = alone_rounds().iter().chain(apart_rounds()).chain(program_rounds());
        let rounds = rounds.flat_map(|round| &round.engines);
        for name in names()
            .iter()
            .chain(portfolio())
            .chain(&TABLE.before_contracts)
            .chain(solver_free())
            .chain(library())
            .chain(rounds)
        {
            assert_eq!(by_name(name).map(|engine| engine.name()), Some(*name));
        }
        // Lanes hold what the portfolio would ask last, each engine once.
        let mut lanes: Vec<&str> = side_by_side().concat();
        let last = portfolio().len() - lanes.len();
        let mut tail = portfolio()[last..].to_vec();
        lanes.sort_unstable();
        tail.sort_unstable();
        assert_eq!(lanes, tail);
    }
}
