//! The executions of a program layer by layer, a layer being the large blocks between two cut points: what bounded search [BMC99] and
//! k-induction [SSS00] have in common. Must not know what a caller asks about a layer.

use std::collections::BTreeMap;

use proofline_cfa::EdgeId;
use proofline_cpa::{Budget, Unknown};
use proofline_smt::{Outcome, Solver, Sort, Term, Var, build as t};

use crate::{
    block::{BlockEnd, Cut, LargeBlock},
    large_blocks::LargeBlockEncoding,
    state::{Key, State},
};

/// What a state or a question costs of the budget.
pub const LAYER_STATE_COST: u64 = 1000;

/// Where an input is asked for within a layer: the cut that its block begins at (`None`: the entry), the instance, the edge.
pub type InputPlace = (Option<Cut>, u32, EdgeId);

/// What one layer reaches.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Errors, unsupported locations and summarised functions that blocks of this layer end at, each with the condition for it.
    pub ends: Vec<(BlockEnd, Term)>,
    /// The cut points that blocks of this layer end at, in the order in which they were met; one may come several times.
    pub cuts: Vec<Cut>,
    /// Scalars that got any value in this layer.
    pub inputs: Vec<(InputPlace, Term)>,
}

/// Symbolic execution in layers. Between layers, the states at one cut point are merged, those that the solver refutes are left out, and terms
/// get names, so that a formula is as large as its layer. Law: every execution from the states it began with whose first n cut points are
/// passed lies in the frontier after n layers, as far as `solver` holds the definitions made on the way.
pub struct Unrolling<'x> {
    encoder: LargeBlockEncoding<'x>,
    budget: &'x Budget,
    /// Where the next layer begins (`None`: at the entry).
    frontier: BTreeMap<Option<Cut>, State>,
    /// What the last layer reached.
    reached: BTreeMap<Cut, State>,
    /// Number of the last name.
    last: u32,
}

impl<'x> Unrolling<'x> {
    /// Of a program that `encoder` cuts into blocks. Nothing is unrolled before [`Unrolling::begin`].
    pub fn new(encoder: LargeBlockEncoding<'x>, budget: &'x Budget) -> Unrolling<'x> {
        Unrolling { encoder, budget, frontier: BTreeMap::new(), reached: BTreeMap::new(), last: 0 }
    }

    /// The blocks and instances so far.
    pub fn encoder(&self) -> &LargeBlockEncoding<'x> {
        &self.encoder
    }

    /// What matters at a cut: see [`LargeBlockEncoding::keys`].
    pub fn keys(&mut self, cut: Cut, arrays: bool) -> Vec<Key> {
        self.encoder.keys(cut, arrays)
    }

    /// A variable that occurs nowhere else.
    pub fn fresh(&mut self, sort: Sort) -> Term {
        self.last += 1;
        t::var(Var::new(&format!("$b{}", self.last), sort))
    }

    /// Begins anew with a state at a cut point (`None`: at the entry).
    pub fn begin(&mut self, from: Option<Cut>, state: State) {
        self.frontier = [(from, state)].into();
        self.reached.clear();
    }

    /// Goes through all blocks that begin where the last layer ended.
    ///
    /// # Errors
    /// If the budget is spent, or more is inlined than formulas can hold.
    pub fn layer(&mut self) -> Result<Layer, Unknown> {
        let mut layer = Layer::default();
        for (from, state) in std::mem::take(&mut self.frontier) {
            self.budget.spend(LAYER_STATE_COST)?;
            let blocks = match from {
                None => self.encoder.explore_entry(state)?,
                Some(cut) => self.encoder.explore(cut, state)?,
            };
            let inputs = self.encoder.inputs.iter();
            layer.inputs.extend(inputs.map(|(instance, edge, term)| ((from, *instance, *edge), *term)));
            for LargeBlock { state, end, .. } in blocks {
                match end {
                    BlockEnd::Cut(cut) => {
                        layer.cuts.push(cut);
                        let merged = match self.reached.remove(&cut) {
                            Some(other) => other.either(state, &mut self.encoder.fresh),
                            None => state,
                        };
                        self.reached.insert(cut, merged);
                    }
                    BlockEnd::Exit => {}
                    BlockEnd::Error(..) | BlockEnd::Unsupported(_) | BlockEnd::Enter(_) => {
                        layer.ends.push((end, state.guard));
                    }
                }
            }
        }
        Ok(layer)
    }

    /// Makes what the last layer reached the beginning of the next one; `false`: nothing that the solver does not refute is left.
    ///
    /// # Errors
    /// If the budget is spent.
    pub fn advance(&mut self, solver: &mut dyn Solver) -> Result<bool, Unknown> {
        for (cut, state) in std::mem::take(&mut self.reached) {
            self.budget.spend(LAYER_STATE_COST)?;
            if solver.check_assuming(&[state.guard]) != Outcome::Unsat {
                let live = self.encoder.registers(cut);
                let state = self.name(state, &live, solver);
                self.frontier.insert(Some(cut), state);
            }
        }
        Ok(!self.frontier.is_empty())
    }

    /// Gives the values of a state names, so that formulas of the next layer stay small; registers that are not live are left out.
    fn name(&mut self, state: State, live: &[Key], solver: &mut dyn Solver) -> State {
        let mut define = |term: Term| {
            if term.size() <= 3 {
                return term;
            }
            let variable = self.fresh(term.sort());
            solver.assert(t::eq(variable, term));
            variable
        };
        let guard = define(state.guard);
        let values = state
            .values
            .into_iter()
            .filter(|(key, _)| !matches!(key, Key::Local(..)) || live.contains(key))
            .map(|(key, term)| (key, define(term)))
            .collect();
        State { guard, values }
    }
}
