//! What a check has built, for people: graphs as text and Graphviz (`proofline dump arg`), summaries (`proofline dump
//! summaries`), states by location (hovers). Reads only.

use std::{collections::BTreeMap, fmt};

use proofline_cfa::{Loc, Name, op_text};

use crate::{
    Unknown,
    arg::{ArgEdge, Labels, Node, SummaryRef},
    bam::{SummaryStore, tabulation::AbstractionLocation},
    cegar::driver::Checker,
    cpa::{BlockCpa, BlockId, Cpa, Domain, Reduced},
    exploration::Exploration,
    outcome::Refine,
};

/// A format for graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphFormat {
    /// For reading.
    Text,
    /// For Graphviz.
    Dot,
}

/// What a block does, from one entry state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary<S, P> {
    /// The block.
    pub block: BlockId,
    /// Entered with a state below this one …
    pub entry: Reduced<S>,
    /// (with this precision)
    pub precision: Reduced<P>,
    /// … it is left with one of these. None: it never returns.
    pub exits: Vec<(Loc, Reduced<S>)>,
    /// False while it is being computed: exits may be missing.
    pub is_stable: bool,
}

/// A summary of an analysis.
pub type SummaryOf<A> = Summary<<A as Domain>::State, <A as Cpa>::Precision>;

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockId::Function(function) => write!(f, "{function}"),
            BlockId::Loop(function, head) => write!(f, "{function}:{head}"),
        }
    }
}

impl<A: BlockCpa + Refine, S: SummaryStore<A>> Checker<'_, A, S> {
    /// The summaries that the program's abstraction rests on, the whole program first.
    ///
    /// # Errors
    /// If an abstraction that it rests on is missing (a defect of ours).
    pub fn summaries(&self) -> Result<Vec<SummaryOf<A>>, Unknown> {
        let mut summaries = Vec::new();
        for location in self.tabulation.in_use()? {
            let (key, exploration) =
                (self.tabulation.key_of(&location), self.tabulation.exploration_at(&location)?);
            summaries.push(Summary {
                block: key.block.clone(),
                entry: key.entry.clone(),
                precision: key.precision.clone(),
                exits: exploration.exits().map(|exit| (exit.loc, exit.state.clone())).collect(),
                is_stable: self.tabulation.is_stable(&location),
            });
        }
        Ok(summaries)
    }

    /// Summaries as text.
    ///
    /// # Errors
    /// If an abstraction that it rests on is missing (a defect of ours), or `out` cannot be written.
    pub fn write_summaries(&self, out: &mut dyn fmt::Write) -> Result<(), Unknown> {
        for summary in self.summaries()? {
            let open = if summary.is_stable { "" } else { " (being computed)" };
            let analysis = self.tabulation.analysis;
            write(
                out,
                format_args!("{}{open}\n    enters: {}\n", summary.block, analysis.show(&summary.entry.0)),
            )?;
            for (loc, exit) in &summary.exits {
                write(out, format_args!("    leaves at {loc}: {}\n", analysis.show(&exit.0)))?;
            }
        }
        Ok(())
    }

    /// Everything reached at the locations of a function, over all entries and inlined calls: at each location the states are
    /// alternatives.
    ///
    /// # Errors
    /// If an abstraction that it rests on is missing (a defect of ours).
    pub fn states_of(&self, function: Name) -> Result<BTreeMap<Loc, Vec<A::State>>, Unknown> {
        let mut states: BTreeMap<Loc, Vec<A::State>> = BTreeMap::new();
        for location in self.tabulation.in_use()? {
            let exploration = self.tabulation.exploration_at(&location)?;
            for (id, node) in exploration.arg.nodes() {
                if node.covered_by.is_empty() && exploration.arg.function(id) == function {
                    let here = states.entry(node.point.loc).or_default();
                    if !here.contains(&node.state) {
                        here.push(node.state.clone());
                    }
                }
            }
        }
        Ok(states)
    }

    /// The graphs of the program's abstraction and of all it rests on.
    ///
    /// # Errors
    /// If an abstraction that it rests on is missing (a defect of ours), or `out` cannot be written.
    pub fn write_graphs(&self, out: &mut dyn fmt::Write, format: GraphFormat) -> Result<(), Unknown> {
        for (number, location) in self.tabulation.in_use()?.iter().enumerate() {
            let (key, exploration) =
                (self.tabulation.key_of(location), self.tabulation.exploration_at(location)?);
            let name = format!("{} {number}: {}", key.block, self.tabulation.analysis.show(&key.entry.0));
            let state = |state: &A::State| self.tabulation.analysis.show(state);
            let step = |from: &Node<A::State>, via: ArgEdge| self.step(location, exploration, from, via);
            let is_exit = |node: &Node<A::State>| {
                let function = self.tabulation.task.info(exploration.block.function);
                function.is_ok_and(|info| exploration.block.is_exit(info.function, node.point))
            };
            let labels = Labels { state: &state, step: &step, is_exit: &is_exit };
            let written = match format {
                GraphFormat::Text => {
                    write(out, format_args!("graph {name}\n"))?;
                    exploration.arg.write_text(out, &labels)
                }
                GraphFormat::Dot => exploration.arg.write_dot(out, &name, &labels),
            };
            written.map_err(not_written)?;
        }
        Ok(())
    }

    fn step(
        &self,
        location: &AbstractionLocation<A>,
        exploration: &Exploration<A>,
        from: &Node<A::State>,
        via: ArgEdge,
    ) -> String {
        let function = exploration.arg.context(from.point.context).function;
        match via {
            ArgEdge::Edge(edge) => {
                let info = self.tabulation.task.info(function);
                let text = info.ok().and_then(|s| op_text(s.function, &s.function.edge(edge).op));
                text.unwrap_or_else(|| edge.to_string())
            }
            ArgEdge::Enter(edge) => format!("call {edge}"),
            ArgEdge::Leave(edge) => format!("return from {function} to {edge}"),
            ArgEdge::Block { summary, exit, .. } => {
                let inner = self.tabulation.resolve(location, summary);
                let block = inner
                    .map_or_else(|_| "?".to_owned(), |(h, _)| self.tabulation.key_of(&h).block.to_string());
                let exit = self.tabulation.exit_node(location, summary, exit).unwrap_or(exit);
                let open = if matches!(summary, SummaryRef::Open(_)) { " (open)" } else { "" };
                format!("summary of {block}{open}, exit {exit}")
            }
        }
    }
}

fn write(out: &mut dyn fmt::Write, text: fmt::Arguments<'_>) -> Result<(), Unknown> {
    out.write_fmt(text).map_err(not_written)
}

fn not_written(_: fmt::Error) -> Unknown {
    Unknown::InternalError("the dump could not be written".to_owned())
}
