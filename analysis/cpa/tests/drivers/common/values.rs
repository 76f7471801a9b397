//! A toy analysis: known values of variables. Havoc either enumerates (then states are single concrete states and the analysis is
//! exact) or forgets. Precision: which variables are tracked; refinement replays the path and tracks one more.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Name, Op, Scalar,
};
use proofline_cpa::*;
use proofline_program_analysis::Environment;

/// A variable, by function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Var {
    Global(Name),
    Local(Name, LocalId),
}

/// Known values: of globals, and of each open frame's locals, innermost last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Known {
    pub globals: BTreeMap<Name, i128>,
    pub frames: Vec<(Name, BTreeMap<LocalId, i128>)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    Separate,
    Join,
}

/// `None` tracks everything.
pub type Tracked = Option<BTreeSet<Var>>;

pub struct Values {
    pub ty: IntType,
    pub globals: Vec<Name>,
    pub merging: Merging,
    /// Havoc tries every value.
    pub enumerate: bool,
    pub tracked: Tracked,
    /// `reduce` drops what a block cannot see; if not, only lower frames.
    pub drop_unseen: bool,
    /// For refinement.
    pub env: Option<Arc<Environment>>,
}

impl Values {
    pub fn exact(ty: IntType, globals: &[&str]) -> Values {
        let globals = globals.iter().map(|g| Name::new(g)).collect();
        Values {
            ty,
            globals,
            merging: Merging::Separate,
            enumerate: true,
            tracked: None,
            drop_unseen: true,
            env: None,
        }
    }
    pub fn forgetful(ty: IntType, globals: &[&str]) -> Values {
        Values { enumerate: false, ..Values::exact(ty, globals) }
    }
    /// Tracks nothing at first.
    pub fn blind(env: &Arc<Environment>, ty: IntType, globals: &[&str]) -> Values {
        let env = Some(env.clone());
        Values { tracked: Some(BTreeSet::new()), env, ..Values::forgetful(ty, globals) }
    }
}

impl Known {
    fn top(&self) -> &BTreeMap<LocalId, i128> {
        &self.frames.last().expect("a frame is open").1
    }
    fn set(&mut self, place: &Lvalue, value: Option<i128>) {
        let (locals, globals) = (&mut self.frames.last_mut().expect("a frame is open").1, &mut self.globals);
        match (&place.base, value) {
            (Base::Global(g), Some(value)) => globals.insert(*g, value),
            (Base::Global(g), None) => globals.remove(g),
            (Base::Local(l), Some(value)) => locals.insert(*l, value),
            (Base::Local(l), None) => locals.remove(l),
            (Base::Deref(..), _) => unreachable!("toy programs have no pointers"),
        };
    }
    pub fn eval(&self, e: &Expr) -> Option<i128> {
        match e {
            Expr::Int(value, _) => Some(*value),
            Expr::Load(place) => match &place.base {
                Base::Global(g) => self.globals.get(g).copied(),
                Base::Local(l) => self.top().get(l).copied(),
                Base::Deref(..) => None,
            },
            Expr::Binary(op, a, b, _) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                let value = match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    _ => return None,
                };
                let Scalar::Int(ty) = e.scalar() else { return None };
                Some(ty.wrap(value))
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                Some(i128::from(match op {
                    CompareOp::Eq => a == b,
                    CompareOp::Ne => a != b,
                    CompareOp::Lt => a < b,
                    CompareOp::Le => a <= b,
                    CompareOp::Gt => a > b,
                    CompareOp::Ge => a >= b,
                }))
            }
            _ => None,
        }
    }
}

impl Domain for Values {
    type State = Known;
    fn leq(&self, lower: &Known, upper: &Known) -> bool {
        let below = |l: &BTreeMap<LocalId, i128>, u: &BTreeMap<LocalId, i128>| {
            u.iter().all(|(x, value)| l.get(x) == Some(value))
        };
        lower.frames.len() == upper.frames.len()
            && upper.globals.iter().all(|(g, value)| lower.globals.get(g) == Some(value))
            && lower.frames.iter().zip(&upper.frames).all(|(l, u)| l.0 == u.0 && below(&l.1, &u.1))
    }
    fn join(&self, a: &Known, b: &Known) -> Known {
        let mut joined = a.clone();
        joined.globals.retain(|g, value| b.globals.get(g) == Some(value));
        for (frame, other) in joined.frames.iter_mut().zip(&b.frames) {
            frame.1.retain(|l, value| other.1.get(l) == Some(value));
        }
        joined
    }
}

impl Values {
    fn restrict(&self, state: &mut Known, precision: &Tracked) {
        let Some(tracked) = precision else { return };
        state.globals.retain(|g, _| tracked.contains(&Var::Global(*g)));
        if let Some((function, locals)) = state.frames.last_mut() {
            locals.retain(|l, _| tracked.contains(&Var::Local(*function, *l)));
        }
    }
    fn assign(&self, state: &mut Known, place: &Lvalue, value: Option<i128>, precision: &Tracked) {
        state.set(place, value);
        self.restrict(state, precision);
    }
    fn all_values(&self) -> impl Iterator<Item = i128> + use<> {
        self.ty.min()..=self.ty.max()
    }
}

impl Cpa for Values {
    type Precision = Tracked;
    fn name(&self) -> &'static str {
        "toy values"
    }
    fn entry(&self) -> (Known, Tracked) {
        let globals = self.globals.iter().map(|g| (*g, 0)).collect();
        let state = Known { globals, frames: vec![(Name::new("main"), BTreeMap::new())] };
        (state, self.tracked.clone())
    }
    fn transfer(
        &self,
        from: &Known,
        precision: &Tracked,
        at: EdgeContext<'_>,
        facts: &dyn Facts,
    ) -> Vec<Known> {
        let mut next = from.clone();
        match &at.edge.op {
            Op::Assume(c) => match from.eval(c) {
                Some(0) => return vec![],
                Some(_) => {}
                None if facts.truth(c) == Some(false) => return vec![],
                None => {
                    if let Expr::Compare(CompareOp::Eq, place, value) = c
                        && let (Expr::Load(place), Some(value)) = (&**place, from.eval(value))
                    {
                        self.assign(&mut next, place, Some(value), precision);
                    }
                }
            },
            Op::Assign(place, value) => self.assign(&mut next, place, from.eval(value), precision),
            Op::Havoc(place, _) if self.enumerate => {
                return self
                    .all_values()
                    .map(|value| {
                        let mut next = from.clone();
                        self.assign(&mut next, place, Some(value), precision);
                        next
                    })
                    .collect();
            }
            Op::Havoc(place, _) => self.assign(&mut next, place, None, precision),
            Op::Clobber(..) if self.enumerate => {
                let mut states = vec![from.clone()];
                for g in &self.globals {
                    states = states
                        .iter()
                        .flat_map(|s| {
                            self.all_values().map(|value| {
                                let mut s = s.clone();
                                s.globals.insert(*g, value);
                                s
                            })
                        })
                        .collect();
                }
                return states;
            }
            Op::Clobber(..) => next.globals.clear(),
            _ => {}
        }
        vec![next]
    }
    fn enter(&self, from: &Known, precision: &Tracked, call: CallContext<'_>) -> Vec<Known> {
        let values = call.callee.parameters.iter().zip(&call.call.arguments).filter_map(|(p, a)| match a {
            Argument::Value(value) => Some((*p, from.eval(value)?)),
            Argument::Aggregate(_) => None,
        });
        let frame = (call.callee.name, values.collect());
        let mut state = from.clone();
        state.frames.push(frame);
        self.restrict(&mut state, precision);
        vec![state]
    }
    fn leave(&self, _: &Known, exit: &Known, precision: &Tracked, call: CallContext<'_>) -> Vec<Known> {
        let result = call.callee.result.and_then(|r| exit.top().get(&r).copied());
        let mut state = exit.clone();
        state.frames.pop();
        if let Some(dst) = &call.call.dst {
            self.assign(&mut state, dst, result, precision);
        }
        vec![state]
    }
    fn merge(&self, new: &Known, reached: &Known, _: &Tracked) -> Merge<Known> {
        match self.merging {
            Merging::Separate => Merge::Separate,
            Merging::Join if new.frames.len() != reached.frames.len() => Merge::Separate,
            Merging::Join => Merge::Into(self.join(new, reached)),
        }
    }
    fn adjust(
        &self,
        mut state: Known,
        precision: Tracked,
        _: &[&Known],
        _: LocationContext<'_>,
    ) -> Adjusted<Known, Tracked> {
        self.restrict(&mut state, &precision);
        Adjusted::Continue(state, precision)
    }
    fn facts<'a>(&'a self, state: &'a Known, _: &'a Function) -> Box<dyn Facts + 'a> {
        Box::new(KnownFacts(state))
    }
    fn join_precision(&self, a: &Tracked, b: &Tracked) -> Tracked {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.union(b).copied().collect()),
            _ => None,
        }
    }
    fn same_precision_at(&self, a: &Tracked, b: &Tracked, at: LocationContext<'_>) -> bool {
        let here = |p: &Tracked| -> Tracked {
            let seen = |x: &&Var| {
                matches!(x, Var::Global(_)) || matches!(x, Var::Local(f, _) if *f == at.function.name)
            };
            p.as_ref().map(|p| p.iter().filter(seen).copied().collect())
        };
        here(a) == here(b)
    }
}

struct KnownFacts<'a>(&'a Known);
impl Facts for KnownFacts<'_> {
    fn int_range(&self, e: &Expr) -> Option<(i128, i128)> {
        self.0.eval(e).map(|value| (value, value))
    }
    fn truth(&self, e: &Expr) -> Option<bool> {
        self.0.eval(e).map(|value| value != 0)
    }
}

impl BlockCpa for Values {
    fn reduce(&self, entry: &Known, block: BlockContext<'_>) -> Reduced<Known> {
        let mut state = entry.clone();
        if self.drop_unseen
            && let Some(objects) = block.objects
        {
            state.globals.retain(|g, _| objects.contains(&proofline_cfa::Object::Global(*g)));
        }
        if let BlockId::Function(_) = block.id {
            state.frames.drain(..state.frames.len() - 1);
        } else if let Some(locals) = block.locals {
            let kept = state.frames.len() - 1;
            state.frames.drain(..kept);
            state.frames[0].1.retain(|l, _| locals.contains(l));
        }
        Reduced(state)
    }
    fn expand(&self, before: &Known, block: BlockContext<'_>, exit: &Reduced<Known>) -> Option<Known> {
        let mut state = exit.0.clone();
        if self.drop_unseen
            && let Some(objects) = block.objects
        {
            let unseen =
                before.globals.iter().filter(|(g, _)| !objects.contains(&proofline_cfa::Object::Global(**g)));
            state.globals.extend(unseen.map(|(g, value)| (*g, *value)));
        }
        let lower = before.frames[..before.frames.len() - 1].to_vec();
        if let (BlockId::Loop(..), Some(locals)) = (block.id, block.locals) {
            let unseen = before.frames.last()?.1.iter().filter(|(l, _)| !locals.contains(l));
            state.frames.last_mut()?.1.extend(unseen.map(|(l, value)| (*l, *value)));
        }
        state.frames.splice(0..0, lower);
        Some(state)
    }
    fn reduce_precision(&self, precision: &Tracked, block: BlockContext<'_>) -> Reduced<Tracked> {
        let (Some(tracked), Some(env)) = (precision, &self.env) else { return Reduced(precision.clone()) };
        let inside = super::brute::called_from(env, block.function.name);
        let seen =
            |x: &&Var| matches!(x, Var::Global(_)) || matches!(x, Var::Local(f, _) if inside.contains(f));
        Reduced(Some(tracked.iter().filter(seen).copied().collect()))
    }
}

impl Refine for Values {
    type Witness = Path;
    /// Replays the path with everything tracked. A contradiction: tracks the first variable of it that is not tracked yet.
    fn refine(&self, path: &Path, precision: &Tracked, _: &Budget) -> Result<Refinement<Tracked>, Unknown> {
        let Some(env) = &self.env else { return Ok(Refinement::Feasible(path.clone())) };
        if super::brute::feasible(env, self.ty, &self.globals, path) {
            return Ok(Refinement::Feasible(path.clone()));
        }
        let Some(tracked) = precision else { return Ok(Refinement::Spurious(None)) };
        let more = super::brute::variables(env, path).into_iter().find(|x| !tracked.contains(x));
        let mut tracked = tracked.clone();
        tracked.extend(more);
        Ok(Refinement::Spurious(Some(tracked)))
    }
}
