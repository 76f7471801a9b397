//! What engines see of a program: the program with what was found out about it, and how its arithmetic is meant. Must not know
//! positions, text or people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
};

use proofline_cfa::{Entry, Name, Program, register};
use proofline_cpa::Unknown;
use proofline_domains::{
    Folds, IntervalOptions, PredicateOptions, ShapeOptions, ThreeValuedOptions, ValueOptions,
    three_valued::generators::Annotation,
};
use proofline_program_analysis::Environment;

use crate::{
    blocks::BlockQueries,
    checks,
    contracts::{Contracts, assume},
    interpret::Code,
    property::Property,
    summaries::Summaries,
};

/// A program to be judged. Clones are cheap.
#[derive(Clone)]
pub struct Subject {
    env: Arc<Environment>,
    wrapv: bool,
    is_alone: bool,
    summaries: Option<Arc<Summaries>>,
    blocks: Option<Arc<dyn BlockQueries>>,
    code: Arc<OnceLock<Code>>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a program of {} functions", self.program().functions.len())
    }
}

impl Subject {
    /// A program that is ready for engines. `wrapv`: signed overflow wraps around.
    pub fn new(env: Arc<Environment>, wrapv: bool) -> Subject {
        Subject { env, wrapv, is_alone: false, summaries: None, blocks: None, code: Arc::default() }
    }

    /// The same with what earlier runs have left, and with who remembers its blocks.
    pub fn with_summaries(self, summaries: Arc<Summaries>, blocks: Arc<dyn BlockQueries>) -> Subject {
        Subject { summaries: Some(summaries), blocks: Some(blocks), ..self }
    }

    /// For a function on its own: of those that it calls and that call it, no more is asked than what holds whoever calls them.
    #[must_use]
    pub(crate) fn alone(&self) -> Subject {
        Subject { is_alone: true, ..self.clone() }
    }

    /// For this question: behind the failure of checks that it does not ask about, executions may go on.
    #[must_use]
    pub fn for_question(&self, property: &Property) -> Subject {
        match checks::pass_over(self.program(), &property.passed_over()) {
            Some(program) => self.of_program(program),
            None => self.clone(),
        }
    }

    /// Another version of the program.
    #[must_use]
    pub(crate) fn of_program(&self, program: Program) -> Subject {
        let (env, code) = (Arc::new(self.env.again(program)), Arc::default());
        Subject { env, blocks: None, code, ..self.clone() }
    }

    /// For a function whose callers keep its contract; `None` where there are no contracts.
    #[must_use]
    pub(crate) fn under(&self, entry: Entry, contracts: &Contracts) -> Option<Subject> {
        if contracts.is_empty() {
            return None;
        }
        let assumed = assume::under(&self.env, entry.name, contracts)?;
        Some(self.of_program(assumed.program))
    }

    /// Whether they are one program, and asked about in one way.
    pub(crate) fn is(&self, other: &Subject) -> bool {
        Arc::ptr_eq(&self.env, &other.env) && (self.wrapv, self.is_alone) == (other.wrapv, other.is_alone)
    }

    /// The program with its call graph, points-to sets and the rest.
    pub fn env(&self) -> &Arc<Environment> {
        &self.env
    }

    /// The program with its obligations.
    pub fn program(&self) -> &Program {
        self.env.program()
    }

    /// The program, ready to run.
    pub fn code(&self) -> &Code {
        self.code.get_or_init(|| Code::new(self.program()))
    }

    /// Signed overflow wraps around.
    pub fn wrapv(&self) -> bool {
        self.wrapv
    }

    /// Who remembers its blocks. (For another question it is another program, whose blocks nobody remembers.)
    pub(crate) fn blocks(&self) -> Option<&dyn BlockQueries> {
        self.blocks.as_deref()
    }

    /// What earlier runs have left.
    pub fn summaries(&self) -> Option<&Summaries> {
        self.summaries.as_deref()
    }

    /// Functions with bodies that executions from this one may call, itself included.
    pub fn reachable_from(&self, entry: Name) -> BTreeSet<Name> {
        self.env.call_graph().reachable([entry])
    }

    /// What proofs about these functions rest on: approximations and functions without bodies, counted.
    pub fn assumptions(&self, functions: &BTreeSet<Name>) -> BTreeSet<String> {
        let mut counts: BTreeMap<Name, usize> = BTreeMap::new();
        for function in functions.iter().filter_map(|name| self.env.function(*name)) {
            for approximation in &function.approximations {
                *counts.entry(approximation.what).or_default() += 1;
            }
        }
        counts
            .into_iter()
            .map(|(what, n)| if n == 1 { what.to_string() } else { format!("{what} ({n} times)") })
            .collect()
    }

    /// What makes every proof about these functions impossible. (Whether their text was understood, [`Programs`](crate::portfolio::Programs)
    /// knows.)
    pub fn unsupported(&self, functions: &BTreeSet<Name>) -> Option<Unknown> {
        if let Some((one, other)) = register::overlap(self.program()) {
            return Some(Unknown::Unsupported(format!("`{one}` and `{other}` have registers in common")));
        }
        // An object is anybody's.
        let is_object = |name: &Name| self.program().globals.contains_key(name);
        let mut all = self.program().unsupported.iter();
        let (name, what) = all.find(|(name, _)| functions.contains(name) || is_object(name))?;
        let of = if is_object(name) { "of" } else { "in" };
        Some(Unknown::Unsupported(format!("{what} {of} `{name}`")))
    }

    /// Intervals of the executions from an entry.
    pub(crate) fn interval_options(&self, entry: Entry) -> IntervalOptions {
        IntervalOptions { wrapv: self.wrapv, weakest_recursion: self.is_alone, ..IntervalOptions::new(entry) }
    }

    /// Graphs of memory of the executions from an entry.
    pub(crate) fn shape_options(&self, entry: Entry, fold: Option<Folds>) -> ShapeOptions {
        ShapeOptions { entry, wrapv: self.wrapv, fold }
    }

    /// Three-valued structures of the executions from an entry.
    pub(crate) fn three_valued_options(
        &self,
        entry: Entry,
        annotations: Vec<Annotation>,
    ) -> ThreeValuedOptions {
        ThreeValuedOptions { entry, wrapv: self.wrapv, annotations }
    }

    /// Explicit values of the executions from an entry.
    pub(crate) fn value_options(&self, entry: Entry) -> ValueOptions {
        ValueOptions { wrapv: self.wrapv, ..ValueOptions::new(entry) }
    }

    /// Predicates of the executions from an entry.
    pub(crate) fn predicate_options(&self, entry: Entry) -> PredicateOptions {
        PredicateOptions { wrapv: self.wrapv, ..PredicateOptions::new(entry) }
    }
}
