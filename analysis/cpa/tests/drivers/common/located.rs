//! A toy analysis whose precision is a set of locations: only there are values kept. Refinement adds one location of the
//! path at a time, the last first, so that lazy abstraction has little to cut.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{IntType, Loc, Name};
use proofline_cpa::*;
use proofline_program_analysis::Environment;

use super::{
    brute,
    values::{Known, Values},
};

pub struct Located {
    pub values: Values,
    pub env: Arc<Environment>,
}

impl Located {
    pub fn new(env: &Arc<Environment>, ty: IntType, globals: &[&str]) -> Located {
        Located { values: Values::exact(ty, globals), env: env.clone() }
    }
}

type Places = BTreeSet<(Name, Loc)>;

impl Domain for Located {
    type State = Known;
    fn leq(&self, lower: &Known, upper: &Known) -> bool {
        self.values.leq(lower, upper)
    }
    fn join(&self, a: &Known, b: &Known) -> Known {
        self.values.join(a, b)
    }
}

impl Cpa for Located {
    type Precision = Places;
    fn name(&self) -> &'static str {
        "toy values at locations"
    }
    fn entry(&self) -> (Known, Places) {
        (self.values.entry().0, Places::new())
    }
    fn transfer(&self, from: &Known, _: &Places, at: EdgeContext<'_>, facts: &dyn Facts) -> Vec<Known> {
        self.values.transfer(from, &None, at, facts)
    }
    fn enter(&self, from: &Known, _: &Places, call: CallContext<'_>) -> Vec<Known> {
        self.values.enter(from, &None, call)
    }
    fn leave(&self, at_call: &Known, exit: &Known, _: &Places, call: CallContext<'_>) -> Vec<Known> {
        self.values.leave(at_call, exit, &None, call)
    }
    fn adjust(
        &self,
        mut state: Known,
        places: Places,
        _: &[&Known],
        at: LocationContext<'_>,
    ) -> Adjusted<Known, Places> {
        if !places.contains(&(at.function.name, at.loc)) {
            state.globals.clear();
            for frame in &mut state.frames {
                frame.1.clear();
            }
        }
        Adjusted::Continue(state, places)
    }
    fn join_precision(&self, a: &Places, b: &Places) -> Places {
        a | b
    }
    fn same_precision_at(&self, a: &Places, b: &Places, at: LocationContext<'_>) -> bool {
        let here = (at.function.name, at.loc);
        a.contains(&here) == b.contains(&here)
    }
}

impl BlockCpa for Located {
    fn reduce(&self, entry: &Known, block: BlockContext<'_>) -> Reduced<Known> {
        self.values.reduce(entry, block)
    }
    fn expand(&self, before: &Known, block: BlockContext<'_>, exit: &Reduced<Known>) -> Option<Known> {
        self.values.expand(before, block, exit)
    }
    fn reduce_precision(&self, places: &Places, block: BlockContext<'_>) -> Reduced<Places> {
        let inside = brute::called_from(&self.env, block.function.name);
        Reduced(places.iter().filter(|place| inside.contains(&place.0)).copied().collect())
    }
}

impl Refine for Located {
    type Witness = Path;
    fn refine(&self, path: &Path, places: &Places, _: &Budget) -> Result<Refinement<Places>, Unknown> {
        if brute::feasible(&self.env, self.values.ty, &self.values.globals, path) {
            return Ok(Refinement::Feasible(path.clone()));
        }
        let mut places = places.clone();
        let passed = path.steps.iter().rev().map(|step| match *step {
            PathStep::Edge(f, edge) => (f, self.env.function(f).unwrap().edge(edge).to),
            PathStep::Enter { callee, .. } => (callee, self.env.function(callee).unwrap().entry),
            PathStep::Leave { caller, edge, .. } => {
                (caller, self.env.function(caller).unwrap().edge(edge).to)
            }
        });
        let new = passed.skip(1).find(|place| !places.contains(place));
        places.extend(new);
        Ok(Refinement::Spurious(places))
    }
}
