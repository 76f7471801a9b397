//! The certificate of `Holds`, and its checker. The certificate is plain data: for every block abstraction its entry, its
//! states by place and its exits. The checker takes nothing from the drivers: it computes every successor again and looks
//! whether it is covered, every call's entry whether an abstraction covers it and whether that one's exits, rebuilt, are
//! covered. By Hoare's rule for recursion the states then contain whatever the program reaches, recursive or not.
//!
//! Trusted are the analysis' operators `transfer`, `enter`, `leave`, `reduce`, `expand` and `⊑`, and law (g) of `adjust`, which
//! is needed where a state must be abstracted before it compares (see [`crate::laws`] for tests of all of them).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proofline_cfa::{CheckId, EdgeId, Loc, Name, ObligationId, Op};
use proofline_program_analysis::Environment;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Budget, Config, Question, Unknown,
    analysis_task::{AnalysisTask, FunctionInfo},
    arg::{Context, ContextId, ProgramPoint},
    bam::{Block, Blocks, SummaryStore, tabulation::Tabulation},
    cpa::{Adjusted, BlockCpa, BlockId, Cpa, Domain, EdgeContext, NoFacts, Reduced},
    edge_transfer::{call_context, external_call},
};

/// Why a program is safe.
pub struct Certificate<A: BlockCpa> {
    /// What was summarised.
    pub blocks: Blocks,
    /// The checks whose error locations are claimed to be unreachable.
    pub selected: BTreeSet<CheckId>,
    /// Of those only these obligations, if set.
    pub only: Option<BTreeSet<(Name, ObligationId)>>,
    /// Block abstractions; the first is the whole program from its entry function.
    pub abstractions: Vec<CertifiedBlock<A>>,
}

/// States by place, each with the precision it was explored with.
pub type StatesByPoint<A> = BTreeMap<ProgramPoint, Vec<(<A as Domain>::State, <A as Cpa>::Precision)>>;

/// One block from one entry state.
pub struct CertifiedBlock<A: BlockCpa> {
    /// The block.
    pub block: BlockId,
    /// Whatever enters the block below this state …
    pub entry: Reduced<A::State>,
    /// … stays within these states, with the precision each was explored with …
    pub states: StatesByPoint<A>,
    /// … and leaves it in one of these.
    pub exits: Vec<(Loc, Reduced<A::State>)>,
    /// Stacks of inlined calls.
    pub contexts: Vec<Context<A::State>>,
}

// Deriving would ask for `A: Clone`.
impl<A: BlockCpa> Clone for Certificate<A> {
    fn clone(&self) -> Certificate<A> {
        Certificate {
            blocks: self.blocks,
            selected: self.selected.clone(),
            only: self.only.clone(),
            abstractions: self.abstractions.clone(),
        }
    }
}

impl<A: BlockCpa> Clone for CertifiedBlock<A> {
    fn clone(&self) -> CertifiedBlock<A> {
        CertifiedBlock {
            block: self.block.clone(),
            entry: self.entry.clone(),
            states: self.states.clone(),
            exits: self.exits.clone(),
            contexts: self.contexts.clone(),
        }
    }
}

/// What a checker looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// States whose successors were computed.
    pub states: u64,
    /// Successors that were found covered.
    pub successors: u64,
    /// Block applications that were found covered by an abstraction.
    pub applications: u64,
}

/// Why a certificate is not one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CertificateError {
    /// An error location is among the states.
    #[error("{0}:{1} is a selected error location and is reached by {2}")]
    Target(Name, Loc, String),
    /// A location that is not supported is among the states.
    #[error("{0}:{1} is not supported and is reached")]
    Unsupported(Name, Loc),
    /// A successor that no state covers.
    #[error("at {place}, {step}: not covered: {state}; {why}")]
    NotCovered {
        /// Where it is missing.
        place: String,
        /// How it is reached.
        step: String,
        /// The state.
        state: String,
        /// Why each candidate does not cover it.
        why: String,
    },
    /// A block application without an abstraction.
    #[error("no abstraction covers {block:?} entered at {place} with {state}; {why}")]
    NoSummary {
        /// The block.
        block: BlockId,
        /// Where it is applied.
        place: String,
        /// The reduced entry.
        state: String,
        /// Why each candidate does not.
        why: String,
    },
    /// It does not fit the program.
    #[error("the certificate does not fit the program: {0}")]
    Malformed(String),
    /// The check was not finished.
    #[error("not checked: {0}")]
    Unfinished(Unknown),
}

impl From<Unknown> for CertificateError {
    fn from(unknown: Unknown) -> CertificateError {
        CertificateError::Unfinished(unknown)
    }
}

impl<A: BlockCpa> Certificate<A> {
    /// Collects the abstractions that the whole program's abstraction rests on.
    pub(crate) fn extract<S: SummaryStore<A>>(
        tabulation: &Tabulation<'_, A, S>,
    ) -> Result<Certificate<A>, Unknown> {
        let mut abstractions = Vec::new();
        for location in tabulation.in_use()? {
            let exploration = tabulation.exploration_at(&location)?;
            let mut states: StatesByPoint<A> = BTreeMap::new();
            for (_, node) in exploration.arg.nodes().filter(|(_, node)| node.covered_by.is_empty()) {
                let precision = exploration.arg.precision(node.precision).clone();
                states.entry(node.point).or_default().push((node.state.clone(), precision));
            }
            abstractions.push(CertifiedBlock {
                block: exploration.block.id.clone(),
                entry: tabulation.key_of(&location).entry.clone(),
                states,
                exits: exploration.exits().map(|exit| (exit.loc, exit.state.clone())).collect(),
                contexts: exploration.arg.contexts().map(|(_, context)| context.clone()).collect(),
            });
        }
        let (blocks, selected) = (tabulation.task.blocks, tabulation.task.selected.clone());
        Ok(Certificate { blocks, selected, only: tabulation.task.only.clone(), abstractions })
    }

    /// Checks that the states are inductive and free of selected error locations.
    ///
    /// # Errors
    /// With the first state that is not covered by the certificate, or the first target that is reached.
    pub fn verify(
        &self,
        analysis: &A,
        env: &Environment,
        entry: Name,
        budget: &Budget,
    ) -> Result<Checked, CertificateError> {
        let config = Config { blocks: self.blocks, ..Config::default() };
        let only = self.only.clone();
        let task = AnalysisTask::new(&Question { env, entry, checks: self.selected.clone(), only, config });
        if let Some((function, what)) = env.program().unsupported.first() {
            return Err(CertificateError::Malformed(format!("{what} in {function} is not supported")));
        }
        let first = self.abstractions.first();
        let (start, _) = analysis.entry();
        if !first.is_some_and(|b| b.block == BlockId::Function(entry) && analysis.leq(&start, &b.entry.0)) {
            return Err(CertificateError::Malformed(format!("it is not about {entry}")));
        }
        let mut by_block: FxHashMap<_, Vec<_>> = FxHashMap::default();
        let mut by_entry: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for abstraction in &self.abstractions {
            by_block.entry(&abstraction.block).or_default().push(abstraction);
            by_entry.entry((&abstraction.block, &abstraction.entry)).or_default().push(abstraction);
        }
        let (checked, here) = (Checked::default(), FxHashMap::default());
        let mut verifier = Verifier { analysis, task: &task, by_block, by_entry, here, budget, checked };
        for abstraction in &self.abstractions {
            let states = abstraction.states.iter();
            verifier.here = states
                .map(|(point, states)| (*point, states.iter().map(|(state, _)| state).collect()))
                .collect();
            verifier.block(abstraction)?;
        }
        Ok(verifier.checked)
    }
}

type EntryOf<'a, A> = (&'a BlockId, &'a Reduced<<A as Domain>::State>);

struct Verifier<'a, 'p, A: BlockCpa> {
    analysis: &'a A,
    task: &'a AnalysisTask<'p>,
    by_block: FxHashMap<&'a BlockId, Vec<&'a CertifiedBlock<A>>>,
    by_entry: FxHashMap<EntryOf<'a, A>, Vec<&'a CertifiedBlock<A>>>,
    /// The states of the abstraction that is looked at: most successors are one of them.
    here: FxHashMap<ProgramPoint, FxHashSet<&'a A::State>>,
    budget: &'a Budget,
    checked: Checked,
}

/// A state under examination.
struct At<'a, A: BlockCpa> {
    inside: &'a CertifiedBlock<A>,
    point: ProgramPoint,
    state: &'a A::State,
    precision: &'a A::Precision,
}

impl<'a, A: BlockCpa> Verifier<'a, '_, A> {
    fn block(&mut self, inside: &'a CertifiedBlock<A>) -> Result<(), CertificateError> {
        let block = self.task.block(&inside.block)?;
        let point = ProgramPoint { context: ContextId::ROOT, loc: block.entry };
        let Reduced(entry) = &inside.entry;
        if !inside
            .states
            .get(&point)
            .is_some_and(|states| states.iter().any(|(s, _)| self.analysis.leq(entry, s)))
        {
            return Err(self.missing(inside, point, "the entry", entry));
        }
        for (&point, states) in &inside.states {
            for (state, precision) in states {
                self.checked.states += 1;
                self.state(&block, &At { inside, point, state, precision })?;
            }
        }
        Ok(())
    }

    fn function(&self, inside: &CertifiedBlock<A>, context: ContextId) -> Result<Name, CertificateError> {
        let frame = inside.contexts.get(context.index());
        frame.map(|c| c.function).ok_or_else(|| CertificateError::Malformed(format!("no frame {context}")))
    }

    fn state(&mut self, block: &Block, at: &At<'_, A>) -> Result<(), CertificateError> {
        let At { inside, point, state, precision } = *at;
        let name = self.function(inside, point.context)?;
        let info = self.task.info(name)?;
        let function = info.function;
        if info.targets.contains_key(&point.loc) {
            return Err(CertificateError::Target(name, point.loc, self.analysis.show(state)));
        }
        if info.unsupported.contains_key(&point.loc) {
            return Err(CertificateError::Unsupported(name, point.loc));
        }
        if block.is_exit(function, point) {
            let listed = |(loc, exit): &(Loc, Reduced<A::State>)| {
                *loc == point.loc && self.analysis.leq(state, &exit.0)
            };
            if !inside.exits.iter().any(listed) {
                return Err(self.missing(inside, point, "leaving the block", state));
            }
            return Ok(());
        }
        if let Some(inner) = info.loops.get(&point.loc)
            && !(point.context == ContextId::ROOT && inner.id == inside.block)
        {
            return self.application(at, &info, None, inner, state);
        }
        if let Some(call) = &inside.contexts[point.context.index()].call
            && point.loc == function.exit
        {
            let caller = self.task.info(self.function(inside, call.caller)?)?;
            let context = call_context(&caller, call.edge, function)?;
            for left in self.analysis.leave(&call.at_call, state, precision, context) {
                let target = ProgramPoint { context: call.caller, loc: context.at.edge.to };
                self.covered(inside, target, &left, precision, format_args!("leaving {name}"))?;
            }
            return Ok(());
        }
        for &id in info.successors(point.loc) {
            let edge = function.edge(id);
            let target = ProgramPoint { context: point.context, loc: edge.to };
            let Op::Call(call) = &edge.op else {
                let next =
                    self.analysis.transfer(state, precision, EdgeContext { function, id, edge }, &NoFacts);
                self.budget.spend(next.len().max(1) as u64)?;
                for next in next {
                    self.covered(inside, target, &next, precision, format_args!("edge {id}"))?;
                }
                continue;
            };
            let callees = self.task.callees(name, id);
            for callee in callees.functions {
                self.call(at, &info, id, callee)?;
            }
            if callees.may_be_external {
                for next in external_call(self.analysis, state, precision, function, (id, edge), call) {
                    self.covered(inside, target, &next, precision, format_args!("external call {id}"))?;
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        at: &At<'_, A>,
        caller: &FunctionInfo<'_>,
        edge: EdgeId,
        callee: Name,
    ) -> Result<(), CertificateError> {
        let callee = self.task.info(callee)?;
        let context = call_context(caller, edge, callee.function)?;
        let name = callee.function.name;
        for entered in self.analysis.enter(at.state, at.precision, context) {
            self.budget.step()?;
            if self.task.blocks.functions {
                let place = callee.location(callee.function.entry);
                let adjusted = self.analysis.adjust(entered.clone(), at.precision.clone(), &[], place);
                let entered = if let Adjusted::Continue(adjusted, _) = adjusted { adjusted } else { entered };
                self.application(at, caller, Some(edge), &callee.whole, &entered)?;
                continue;
            }
            let frame = at.inside.contexts.iter().position(|frame| {
                frame.function == name
                    && frame.call.as_ref().is_some_and(|call| {
                        call.caller == at.point.context && call.edge == edge && call.at_call == *at.state
                    })
            });
            let Some(frame) = frame else {
                return Err(self.missing(at.inside, at.point, &format!("entering {name}"), &entered));
            };
            let point = ProgramPoint { context: ContextId(frame as u32), loc: callee.function.entry };
            self.covered(at.inside, point, &entered, at.precision, format_args!("entering {name}"))?;
        }
        Ok(())
    }

    /// Some abstraction must cover the entry, and all its exits, rebuilt, must be covered here.
    fn application(
        &mut self,
        at: &At<'_, A>,
        caller: &FunctionInfo<'_>,
        call: Option<EdgeId>,
        block: &Block,
        entered: &A::State,
    ) -> Result<(), CertificateError> {
        let function = self.task.info(block.function)?.function;
        let context = block.context(function);
        let reduced = self.analysis.reduce(entered, context);
        // The abstraction for exactly this entry is the likely one.
        let exact = self.by_entry.get(&(&block.id, &reduced)).cloned().unwrap_or_default();
        let others = self.by_block.get(&block.id).cloned().unwrap_or_default();
        let mut why = Vec::new();
        'candidates: for candidate in exact.into_iter().chain(others) {
            if !self.analysis.leq(&reduced.0, &candidate.entry.0) {
                if why.len() < 3 {
                    why.push(self.analysis.explain_not_leq(&reduced.0, &candidate.entry.0));
                }
                continue;
            }
            for (loc, exit) in &candidate.exits {
                let Some(back) = self.analysis.expand(entered, context, exit) else { continue };
                let (states, loc) = match call {
                    None => (vec![back], *loc),
                    Some(edge) => {
                        let context = call_context(caller, edge, function)?;
                        (self.analysis.leave(at.state, &back, at.precision, context), context.at.edge.to)
                    }
                };
                self.budget.spend(states.len().max(1) as u64)?;
                let point = ProgramPoint { context: at.point.context, loc };
                for state in states {
                    let step = format_args!("after {:?}", block.id);
                    if let Err(error) = self.covered(at.inside, point, &state, at.precision, step) {
                        why.push(error.to_string());
                        continue 'candidates;
                    }
                }
            }
            self.checked.applications += 1;
            return Ok(());
        }
        Err(CertificateError::NoSummary {
            block: block.id.clone(),
            place: format!("{}:{}", caller.function.name, at.point.loc),
            state: self.analysis.show(&reduced.0),
            why: why.join("; "),
        })
    }

    fn covered(
        &mut self,
        inside: &CertifiedBlock<A>,
        point: ProgramPoint,
        state: &A::State,
        precision: &A::Precision,
        step: fmt::Arguments<'_>,
    ) -> Result<(), CertificateError> {
        self.checked.successors += 1;
        if self.here.get(&point).is_some_and(|states| states.contains(state)) {
            return Ok(());
        }
        let candidates: Vec<&A::State> =
            inside.states.get(&point).into_iter().flatten().map(|(state, _)| state).collect();
        let analysis = self.analysis;
        if analysis.leq_any(state, &candidates) {
            return Ok(());
        }
        let info = self.task.info(self.function(inside, point.context)?)?;
        let adjusted = analysis.adjust(state.clone(), precision.clone(), &[], info.location(point.loc));
        if let Adjusted::Continue(adjusted, precision) = adjusted
            && (analysis.leq_any(&adjusted, &candidates)
                || !analysis.stop_together(&adjusted, &candidates, &precision).is_empty())
        {
            return Ok(());
        }
        Err(self.missing(inside, point, &step.to_string(), state))
    }

    fn missing(
        &self,
        inside: &CertifiedBlock<A>,
        point: ProgramPoint,
        step: &str,
        state: &A::State,
    ) -> CertificateError {
        let function = inside.contexts.get(point.context.index()).map_or("?", |c| c.function.as_str());
        let candidates = inside.states.get(&point).into_iter().flatten();
        let why: Vec<String> =
            candidates.take(3).map(|(old, _)| self.analysis.explain_not_leq(state, old)).collect();
        CertificateError::NotCovered {
            place: format!("{function}:{} in {:?}", point.loc, inside.block),
            step: step.to_owned(),
            state: self.analysis.show(state),
            why: if why.is_empty() { "nothing is reached there".to_owned() } else { why.join("; ") },
        }
    }
}
