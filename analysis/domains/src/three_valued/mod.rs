//! Three-valued shape analysis [SRW02], [CPA10] §2.3: the heap as a logical structure whose individuals are objects, or *summaries* that stand for several,
//! and whose predicates are 0, 1 or 1/2. Knows what pointers lead to, what is reached from where, sharing, cycles, and fields that undo each other; it
//! proves what the predicates of the class decide, of structures of any size. Beside it stand the symbolic memory graphs of `shape`.
//!
//! Operators. A state is a shape region: a set of structures of one shape class. `transfer` is focus, predicate update and coerce; then individuals that
//! nothing leads to are dropped, and those that agree on the abstraction predicates are merged. `merge` joins the sets (merge_join of 𝕊), `stop` asks for each
//! structure whether it is embedded in one. Calls are inlined, so `reduce` and `expand` change nothing.
//!
//! What is not said by predicates is unknown: pointers into the middle of objects in memory, arrays, bit-fields, pointers made of numbers. A write through
//! a pointer that may lead anywhere gives the state `Unknown`, which describes every memory.

mod calls;
pub mod canonical;
pub mod class;
pub mod coerce;
mod entry;
pub mod focus;
pub mod formula;
pub mod generators;
pub mod logic;
mod memory;
pub mod operation;
mod program;
mod region;
mod show;
mod step;
pub mod structure;
mod transfer;
pub mod update;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use proofline_cfa::{Entry, Expr, Function, LocalId, Name, Op, dataflow::Liveness};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, Budget, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
    Merge, Path, Reduced, Refine, Refinement, Unknown,
};
use proofline_program_analysis::Environment;

pub use self::region::{Known, ShapeRegion};
use self::{
    class::{ShapeClass, Var},
    generators::Annotation,
    operation::settled,
    program::Context,
    step::{Step, is_scalar},
    structure::Structure,
    transfer::split,
};

/// More structures than this at one place end the run.
const MOST_STRUCTURES: usize = 400;

/// More open calls than this end the run.
const MOST_CALLS: usize = 60;

/// Parameters of a [`ThreeValuedAnalysis`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreeValuedOptions {
    /// Where the run starts, and what is assumed there.
    pub entry: Entry,
    /// Signed overflow wraps.
    pub wrapv: bool,
    /// Which structures records make; of other records the names of members are a guess.
    pub annotations: Vec<Annotation>,
}

/// Three-valued structures of one program.
pub struct ThreeValuedAnalysis {
    context: Context,
    options: ThreeValuedOptions,
    liveness: BTreeMap<Name, OnceLock<Liveness>>,
}

impl ThreeValuedAnalysis {
    /// The analysis of `env`'s program.
    pub fn new(env: Arc<Environment>, options: ThreeValuedOptions) -> ThreeValuedAnalysis {
        let liveness = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let has_older = options.entry.is_library();
        let context = Context::new(env, options.wrapv, has_older, &options.annotations);
        ThreeValuedAnalysis { context, options, liveness }
    }

    /// The shape class that is made for the program.
    pub fn class(&self) -> &ShapeClass {
        &self.context.class
    }

    /// What an expression is, for people: `null`, `object`, a number; `unknown` where structures differ.
    pub fn reveal(&self, state: &ShapeRegion, function: &Function, expr: &Expr) -> String {
        let ShapeRegion::Known(known) = state else { return "unknown".to_owned() };
        let texts = known.structures.iter().map(|structure| {
            let structure = (**structure).clone();
            let step = Step { context: &self.context, function, frames: &known.frames, structure };
            show::value(&step, expr)
        });
        let texts: std::collections::BTreeSet<String> = texts.collect();
        texts.into_iter().collect::<Vec<String>>().join(" | ")
    }

    fn liveness(&self, function: &Function) -> Option<&Liveness> {
        self.liveness.get(&function.name).map(|cell| cell.get_or_init(|| Liveness::new(function)))
    }

    /// A state of what each structure becomes.
    fn each(
        &self,
        known: &Known,
        frames: &Arc<[Name]>,
        work: &dyn Fn(&Structure) -> Option<Vec<Structure>>,
    ) -> Vec<ShapeRegion> {
        let mut all = Vec::new();
        let mut changed = false;
        for structure in &known.structures {
            match work(structure) {
                Some(structures) => {
                    for new in structures {
                        let is_same = new == **structure;
                        changed |= !is_same;
                        all.push(if is_same { structure.clone() } else { Arc::new(new) });
                    }
                }
                None => return vec![ShapeRegion::Unknown(frames.len().saturating_sub(1) as u32)],
            }
        }
        // Some of those that cover none of the others cover none of the others.
        let state = match changed {
            false => (!all.is_empty())
                .then(|| Known { frames: frames.clone(), structures: all.into_iter().collect() }),
            true => Known::of(frames.clone(), all, &self.context.class),
        };
        state.map(ShapeRegion::Known).into_iter().collect()
    }

    fn without_dead(&self, structure: &Structure, depth: u32, at: LocationContext<'_>) -> Option<Structure> {
        let function = at.function;
        let liveness = self.liveness(function)?;
        let is_dead = |id: LocalId| {
            function.locals.get(id.index()).is_some_and(|local| !local.address_taken)
                && !liveness.is_live(at.loc, id)
        };
        let dead: Vec<Var> = structure
            .contents()
            .keys()
            .copied()
            .filter(|var| matches!(var, Var::Local(of, id) if *of == depth && is_scalar(function, *id) && is_dead(*id)))
            .collect();
        if dead.is_empty() {
            return None;
        }
        let mut structure = structure.clone();
        for var in dead {
            update::forget(&mut structure, var);
        }
        settled(&structure, &self.context.class)
    }
}

impl Domain for ThreeValuedAnalysis {
    type State = ShapeRegion;

    fn leq(&self, lower: &ShapeRegion, upper: &ShapeRegion) -> bool {
        match (lower, upper) {
            (_, ShapeRegion::Unknown(_)) => true,
            (ShapeRegion::Unknown(_), ShapeRegion::Known(_)) => false,
            (ShapeRegion::Known(lower), ShapeRegion::Known(upper)) => {
                lower.is_below(upper, &self.context.class)
            }
        }
    }

    fn join(&self, a: &ShapeRegion, b: &ShapeRegion) -> ShapeRegion {
        match (a, b) {
            (ShapeRegion::Known(a), ShapeRegion::Known(b)) if a.frames == b.frames => {
                let all = a.structures.iter().chain(&b.structures).cloned();
                Known::of(a.frames.clone(), all, &self.context.class)
                    .map_or(ShapeRegion::Unknown(a.frames.len().saturating_sub(1) as u32), ShapeRegion::Known)
            }
            _ => ShapeRegion::Unknown(a.depth()),
        }
    }

    /// A set of structures stands for what one of them stands for.
    fn exact_join(&self, a: &ShapeRegion, b: &ShapeRegion) -> Option<ShapeRegion> {
        match (a, b) {
            (ShapeRegion::Known(x), ShapeRegion::Known(y)) if x.frames == y.frames => Some(self.join(a, b)),
            _ if self.leq(a, b) => Some(b.clone()),
            _ => self.leq(b, a).then(|| a.clone()),
        }
    }

    fn show(&self, state: &ShapeRegion) -> String {
        show::line(state)
    }
}

impl Cpa for ThreeValuedAnalysis {
    type Precision = ();

    fn name(&self) -> &'static str {
        "three-valued"
    }

    fn entry(&self) -> (ShapeRegion, ()) {
        let state = entry::entry(&self.context, self.options.entry)
            .and_then(|(frames, structure)| Known::of(frames, [Arc::new(structure)], &self.context.class));
        (state.map_or(ShapeRegion::Unknown(0), ShapeRegion::Known), ())
    }

    fn transfer(&self, from: &ShapeRegion, (): &(), at: EdgeContext<'_>, _: &dyn Facts) -> Vec<ShapeRegion> {
        match (from, &at.edge.op) {
            (ShapeRegion::Known(known), _) => self.each(known, &known.frames, &|structure| {
                split(&self.context, at.function, &known.frames, structure, &|step| {
                    step.edge(at.edge, at.function.edge(at.id))
                })
            }),
            (ShapeRegion::Unknown(_), Op::Assume(Expr::Int(0, _))) => Vec::new(),
            (ShapeRegion::Unknown(_), _) => vec![from.clone()],
        }
    }

    fn enter(&self, from: &ShapeRegion, (): &(), call: CallContext<'_>) -> Vec<ShapeRegion> {
        match from {
            ShapeRegion::Known(known) => {
                let frames: Arc<[Name]> = known.frames.iter().copied().chain([call.callee.name]).collect();
                self.each(known, &frames, &|structure| {
                    calls::enter(&self.context, &known.frames, structure, call)
                })
            }
            ShapeRegion::Unknown(depth) => vec![ShapeRegion::Unknown(depth + 1)],
        }
    }

    fn leave(&self, _: &ShapeRegion, exit: &ShapeRegion, (): &(), call: CallContext<'_>) -> Vec<ShapeRegion> {
        match exit {
            ShapeRegion::Known(known) => {
                let below = known.frames.len().saturating_sub(1);
                let frames: Arc<[Name]> = known.frames[..below].into();
                self.each(known, &frames, &|structure| {
                    calls::leave(&self.context, &known.frames, structure, call)
                })
            }
            ShapeRegion::Unknown(depth) => vec![ShapeRegion::Unknown(depth.saturating_sub(1))],
        }
    }

    fn merge(&self, new: &ShapeRegion, reached: &ShapeRegion, (): &()) -> Merge<ShapeRegion> {
        match (new, reached) {
            (_, ShapeRegion::Unknown(_)) => Merge::Separate,
            (ShapeRegion::Unknown(depth), ShapeRegion::Known(_)) => Merge::Into(ShapeRegion::Unknown(*depth)),
            (ShapeRegion::Known(a), ShapeRegion::Known(b)) => {
                if a.frames != b.frames || a.is_below(b, &self.context.class) {
                    return Merge::Separate;
                }
                Merge::Into(self.join(new, reached))
            }
        }
    }

    fn adjust(
        &self,
        state: ShapeRegion,
        (): (),
        _: &[&ShapeRegion],
        at: LocationContext<'_>,
    ) -> Adjusted<ShapeRegion, ()> {
        let known = match &state {
            ShapeRegion::Unknown(depth) if *depth as usize > MOST_CALLS => return Adjusted::Interrupt,
            ShapeRegion::Unknown(_) => return Adjusted::Continue(state, ()),
            ShapeRegion::Known(known) => known,
        };
        if known.structures.len() > MOST_STRUCTURES || known.frames.len() > MOST_CALLS {
            return Adjusted::Interrupt;
        }
        let depth = state.depth();
        let without_dead = |structure: &Arc<Structure>| self.without_dead(structure, depth, at).map(Arc::new);
        let without: Vec<Option<Arc<Structure>>> = known.structures.iter().map(without_dead).collect();
        if without.iter().all(Option::is_none) {
            return Adjusted::Continue(state, ());
        }
        let structures = without.into_iter().zip(&known.structures);
        let structures = structures.map(|(new, old)| new.unwrap_or_else(|| old.clone()));
        let adjusted = Known::of(known.frames.clone(), structures, &self.context.class);
        Adjusted::Continue(adjusted.map_or(state, ShapeRegion::Known), ())
    }

    fn join_precision(&self, (): &(), (): &()) {}
}

/// Blocks see all there is.
impl BlockCpa for ThreeValuedAnalysis {
    fn reduce(&self, entry: &ShapeRegion, _: BlockContext<'_>) -> Reduced<ShapeRegion> {
        Reduced(entry.clone())
    }

    fn expand(
        &self,
        _: &ShapeRegion,
        _: BlockContext<'_>,
        exit: &Reduced<ShapeRegion>,
    ) -> Option<ShapeRegion> {
        Some(exit.0.clone())
    }

    fn reduce_precision(&self, (): &(), _: BlockContext<'_>) -> Reduced<()> {
        Reduced(())
    }
}

impl Refine for ThreeValuedAnalysis {
    type Witness = Path;

    /// There is no precision to refine; whether the path is possible others say.
    fn refine(&self, path: &Path, (): &(), _: &Budget) -> Result<Refinement<()>, Unknown> {
        Ok(Refinement::Feasible(path.clone()))
    }
}
