//! Shapes: symbolic memory graphs. A state is a graph whose nodes are objects with their bytes, or *segments*, each of which stands for
//! several objects in a row that are described alike: lists of any length, linked in one direction or in both, cyclic ones, and lists whose
//! objects have lists (or anything else) of their own [DPV13]. A graph form was built instead of the three-valued structures of [CPA10] §2.3: what offsets, sizes, lives and bytes
//! without a value ask of an object stands in it as it is, no predicate has to be found for it, and materialising one object of a segment
//! is all the focus that is needed.
//!
//! Operators. `transfer` works on single objects; what needs one of a segment materialises it first (`segment.rs`), case by case. `adjust` drops
//! dead registers and, at the heads of loops, folds pairs of objects into segments (`fold.rs`) and lets numbers grow (`widen.rs`). States are
//! never joined (`merge_sep`), and one covers another if its graph is found in the other's (`order.rs`). With `fold: None` nothing is folded: then
//! these are the explicit heaps of [CPA10] §2.3, equal up to the names of addresses, without garbage.
//!
//! Calls are inlined: a state has the frames of all open calls. So `reduce` and `expand` change nothing yet. A reduced graph would be
//! what parameters and globals reach, with the nodes where the caller's pointers enter that part from outside as cut points, which fold into
//! nothing; `expand` puts the callee's result in the place of that part.
//!
//! What is not known is all or nothing: a write through a pointer that may lead anywhere gives the state `Unknown`, which describes every
//! memory. With `trees` set, objects of records with two or three members that point to such records are folded to trees (`tree.rs`), and to no
//! lists; what else links objects twice (skip lists) has no summary, so that only such structures of bounded size are decided.

mod assume;
mod calls;
mod eval;
mod fold;
mod form;
mod heap;
mod join;
mod number;
mod order;
mod predicates;
mod region;
mod segment;
mod show;
mod transfer;
mod tree;
mod value;
mod widen;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use proofline_cfa::{
    Base, Constant, Entry, Expr, Function, Global, LocalId, Name, Object, Op, Scalar, dataflow::Liveness,
};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, Budget, CallContext, Cpa, Domain, EdgeContext, Facts, LocationContext,
    Path, Reduced, Refine, Refinement, Unknown,
};
use proofline_program_analysis::Environment;

pub use self::{
    form::{Asked, Form, List, Tree},
    heap::{Frame, Heap, Length, Shapes},
    region::{Branches, Cell, Life, Region, Rest, Segment},
    value::{End, Node, Pointer, Value},
};

/// More states than this at the head of a loop end the run: they are compared with each other.
const MOST_STATES: usize = 600;

/// More open calls than this end the run.
const MOST_CALLS: usize = 60;

/// Parameters of a [`ShapeAnalysis`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeOptions {
    /// Where the run starts, and what is assumed there.
    pub entry: Entry,
    /// Signed overflow wraps.
    pub wrapv: bool,
    /// What is folded. `None`: nothing.
    pub fold: Option<Folds>,
}

/// Which objects are folded, and how much is kept of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Folds {
    /// Objects in a row are folded where they are alike and, as soon as there are more allocated nodes than this, where they are not.
    pub most: u32,
    /// A segment has at least one object; it is told apart whether it has at least two, three and so on up to this number.
    pub least: u8,
    /// Objects that may be parts of trees are folded to trees, not to lists.
    pub trees: bool,
}

impl Folds {
    /// Lists, when there are more nodes than this; segments of at least one object and of at least two are told apart.
    pub const fn lists(most: u32) -> Folds {
        Folds { most, least: 2, trees: false }
    }
}

/// What never changes.
pub(crate) struct Program {
    env: Arc<Environment>,
    wrapv: bool,
    /// There may be objects that earlier calls have allocated. No graph has them.
    has_older: bool,
    constants: BTreeMap<Name, Region>,
}

impl Program {
    fn pointer_bytes(&self) -> u64 {
        u64::from(self.env.program().pointer_bits() / 8)
    }

    /// What an object holds that nothing changes.
    fn constant(&self, name: Name) -> Option<&Region> {
        self.constants.get(&name)
    }
}

/// Symbolic memory graphs of one program.
pub struct ShapeAnalysis {
    program: Program,
    options: ShapeOptions,
    liveness: BTreeMap<Name, OnceLock<Liveness>>,
    trees: Vec<tree::Links>,
}

impl ShapeAnalysis {
    /// The analysis of `env`'s program.
    pub fn new(env: Arc<Environment>, options: ShapeOptions) -> ShapeAnalysis {
        let globals = env.program().globals.values();
        let constants = globals.filter(|global| global.constant && global.defined);
        let constants = constants.map(|global| (global.name, initial(&env, global))).collect();
        let liveness = env.program().functions.keys().map(|name| (*name, OnceLock::new())).collect();
        let trees =
            if options.fold.is_some_and(|fold| fold.trees) { tree::Links::of(&env) } else { Vec::new() };
        let has_older = options.entry.is_library();
        let program = Program { constants, wrapv: options.wrapv, has_older, env };
        ShapeAnalysis { program, options, liveness, trees }
    }

    fn folding(&self, Folds { most, least, .. }: Folds, pairs: fold::Pairs) -> fold::Folding<'_> {
        let pointer_bytes = self.program.pointer_bytes();
        fold::Folding { most: most as usize, least, pairs, trees: &self.trees, pointer_bytes }
    }

    fn liveness(&self, function: &Function) -> Option<&Liveness> {
        self.liveness.get(&function.name).map(|cell| cell.get_or_init(|| Liveness::new(function)))
    }

    /// What a pointer leads to, for people: `null`, `list of 2+ {…}`; of other values, the value.
    pub fn reveal(&self, state: &Shapes, function: &Function, expr: &Expr) -> String {
        let Shapes::Known(heap) = state else { return "unknown".to_owned() };
        let mut step = eval::Step { program: &self.program, function, heap: heap.clone() };
        match step.eval(expr) {
            Ok(value) => show::value(&self.program.env, &step.heap, &value, expr.scalar()),
            Err(_) => "unknown".to_owned(),
        }
    }

    fn entry_state(&self) -> Heap {
        let env = &self.program.env;
        let early = env.program().functions.values().filter(|function| function.attributes.runs_outside_main);
        let early: Vec<Name> = early.map(|function| function.name).collect();
        let mut nodes = BTreeMap::new();
        for global in env.program().globals.values() {
            if self.program.constants.contains_key(&global.name) {
                continue;
            }
            let is_changed = early.iter().any(|name| {
                let writes = env.writes(*name);
                writes.contains(&Object::Global(global.name)) || writes.contains(&Object::External)
            });
            let mut region = initial(env, global);
            if is_changed || !global.keeps_initial(self.options.entry) {
                region = Region::new(region.size, Life::Variable, Rest::Any);
            }
            nodes.insert(Node::Global(global.name), Arc::new(region));
        }
        let mut registers = BTreeMap::new();
        if let Some(function) = env.function(self.options.entry.name) {
            for id in &function.parameters {
                if eval::is_register(function, *id) {
                    registers.insert(*id, Value::Any);
                } else {
                    let size = function.local(*id).size;
                    let size = if size == 0 { (0, u64::MAX) } else { (size, size) };
                    let region = Region::new(size, Life::Variable, Rest::Any);
                    nodes.insert(Node::Local(0, *id), Arc::new(region));
                }
            }
        }
        let frame = Frame { function: self.options.entry.name, registers };
        // Constructors may have allocated something.
        let lost = !early.is_empty();
        Heap {
            frames: vec![Arc::new(frame)],
            nodes,
            numbers: BTreeMap::new(),
            lengths: BTreeMap::new(),
            lost,
        }
    }

    /// Whether one of them covers it when its objects in a row are segments, too.
    fn covers_folded(&self, lower: &Heap, uppers: &[&Heap]) -> bool {
        let Some(folds) = self.options.fold else { return false };
        let count = lower.allocated().count();
        let may_cover = |upper: &&&Heap| count > upper.allocated().count() && order::may_cover(lower, upper);
        let uppers: Vec<&Heap> = uppers.iter().filter(may_cover).copied().collect();
        let registers = |heap: &Heap| -> Vec<Vec<LocalId>> {
            heap.frames.iter().map(|frame| frame.registers.keys().copied().collect()).collect()
        };
        // As a rule all of them have the same registers.
        let mut folded: Vec<(Vec<Vec<LocalId>>, [Heap; 2])> = Vec::new();
        uppers.into_iter().any(|upper| {
            let asked = registers(upper);
            let known = match folded.iter().position(|(of, _)| *of == asked) {
                Some(known) => known,
                None => {
                    let mut lower = lower.clone();
                    // What nobody asks about must not stand in the way.
                    for (frame, asked) in lower.frames.iter_mut().zip(&asked) {
                        Arc::make_mut(frame).registers.retain(|id, _| asked.contains(id));
                    }
                    lower.normalise();
                    let forms = [fold::Pairs::InRows, fold::Pairs::All].map(|pairs| {
                        let mut folded = lower.clone();
                        fold::fold(&mut folded, self.folding(folds, pairs));
                        folded
                    });
                    folded.push((asked, forms));
                    folded.len() - 1
                }
            };
            folded[known].1.iter().any(|form| order::covers(form, upper).is_ok())
        })
    }

    fn drop_dead(&self, heap: &mut Heap, function: &Function, at: LocationContext<'_>) {
        let Some(liveness) = self.liveness(function) else { return };
        let is_live = |id: LocalId| liveness.is_live(at.loc, id);
        if heap.frame().is_some_and(|frame| frame.registers.keys().any(|id| !is_live(*id)))
            && let Some(frame) = heap.frame_mut()
        {
            frame.registers.retain(|id, _| is_live(*id));
        }
        let depth = heap.depth();
        heap.nodes.retain(|node, _| match node {
            Node::Local(of, id) if *of == depth => function.local(*id).address_taken || is_live(*id),
            Node::Global(_) | Node::Local(..) | Node::Heap(_) => true,
        });
    }
}

/// The bytes of an object with static storage before anything runs.
fn initial(env: &Environment, global: &Global) -> Region {
    let program = env.program();
    let size = if global.size == 0 { (0, u64::MAX) } else { (global.size, global.size) };
    if !global.defined {
        return Region::new(size, Life::Variable, Rest::Any);
    }
    let mut region = Region::new(size, Life::Variable, Rest::Zero);
    for init in &global.init {
        let value = match &init.value {
            Constant::Int(value) => Value::single(*value),
            Constant::Float(_) | Constant::Unknown => Value::Any,
            Constant::Address(name, offset) => {
                let to = Node::Global(*name);
                Value::Pointer(Pointer { low: *offset, high: *offset, ..Pointer::to(to) })
            }
            Constant::Function(name) => Value::Function(*name),
        };
        match init.bits {
            Some(bits) => {
                let bytes = u64::from(bits.first + bits.width).div_ceil(8);
                region.write(init.offset, bytes, Value::Any);
            }
            None => {
                let bytes = match init.scalar {
                    Scalar::Float(format) => u64::from(format.width() / 8),
                    Scalar::Int(_) | Scalar::Pointer => program.scalar_bytes(init.scalar),
                };
                region.write(init.offset, bytes, value);
            }
        }
    }
    region
}

/// Whether the program has records of which trees can be made.
pub fn has_trees(env: &Environment) -> bool {
    !tree::Links::of(env).is_empty()
}

/// Whether the program makes structures of objects on the heap: it allocates, and stores pointers through pointers.
pub fn has_linked_heap<'f>(functions: impl Iterator<Item = &'f Function>) -> bool {
    let (mut allocates, mut links) = (false, false);
    for edge in functions.flat_map(|function| &function.edges) {
        match &edge.op {
            Op::Allocate(allocation) => allocates |= allocation.on_heap,
            Op::Assign(dst, value) => {
                let is_kept = match &dst.base {
                    Base::Deref(pointer, _) => !matches!(**pointer, Expr::Address(_)),
                    // What a static variable holds outlives the function that has allocated it.
                    Base::Global(_) => dst.path.is_empty() && matches!(value, Expr::Load(_)),
                    Base::Local(_) => false,
                };
                links |= is_kept && dst.scalar == Some(Scalar::Pointer);
            }
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }
    allocates && links
}

impl Domain for ShapeAnalysis {
    type State = Shapes;

    fn leq(&self, lower: &Shapes, upper: &Shapes) -> bool {
        match (lower, upper) {
            (_, Shapes::Unknown(_)) => true,
            (Shapes::Unknown(_), Shapes::Known(_)) => false,
            (Shapes::Known(lower), Shapes::Known(upper)) => {
                lower == upper || order::covers(lower, upper).is_ok() || self.covers_folded(lower, &[upper])
            }
        }
    }

    fn leq_any(&self, lower: &Shapes, uppers: &[&Shapes]) -> bool {
        if uppers.iter().any(|upper| matches!(upper, Shapes::Unknown(_))) {
            return true;
        }
        let Shapes::Known(lower) = lower else { return false };
        let known = uppers.iter().filter_map(|upper| match *upper {
            Shapes::Unknown(_) => None,
            Shapes::Known(heap) => Some(heap),
        });
        let known: Vec<&Heap> = known.collect();
        let single = order::Lower::new(lower);
        known.iter().any(|upper| lower == *upper || single.covered_by(upper).is_ok())
            || self.covers_folded(lower, &known)
    }

    /// No driver asks for it: states are kept apart. The greater one, or everything.
    fn join(&self, a: &Shapes, b: &Shapes) -> Shapes {
        if self.leq(a, b) {
            return b.clone();
        }
        if self.leq(b, a) {
            return a.clone();
        }
        let depth = match a {
            Shapes::Known(heap) => heap.depth(),
            Shapes::Unknown(depth) => *depth,
        };
        Shapes::Unknown(depth)
    }

    fn explain_not_leq(&self, lower: &Shapes, upper: &Shapes) -> String {
        match (lower, upper) {
            (Shapes::Known(lower), Shapes::Known(upper)) => order::covers(lower, upper)
                .err()
                .map_or_else(String::new, |difference| difference.to_string()),
            _ => "nothing is known".to_owned(),
        }
    }

    fn show(&self, state: &Shapes) -> String {
        show::line(&self.program.env, state)
    }
}

impl Cpa for ShapeAnalysis {
    type Precision = ();

    fn name(&self) -> &'static str {
        "shapes"
    }

    fn entry(&self) -> (Shapes, ()) {
        (Shapes::Known(self.entry_state()), ())
    }

    fn transfer(&self, from: &Shapes, (): &(), at: EdgeContext<'_>, _: &dyn Facts) -> Vec<Shapes> {
        match (from, &at.edge.op) {
            (Shapes::Known(heap), _) => transfer::transfer(&self.program, heap, at),
            (Shapes::Unknown(_), Op::Assume(Expr::Int(0, _))) => Vec::new(),
            (Shapes::Unknown(_), _) => vec![from.clone()],
        }
    }

    fn enter(&self, from: &Shapes, (): &(), call: CallContext<'_>) -> Vec<Shapes> {
        match from {
            Shapes::Known(heap) => calls::enter(&self.program, heap, call, self.liveness(call.at.function)),
            Shapes::Unknown(depth) => vec![Shapes::Unknown(depth + 1)],
        }
    }

    fn leave(&self, _: &Shapes, exit: &Shapes, (): &(), call: CallContext<'_>) -> Vec<Shapes> {
        match exit {
            Shapes::Known(heap) => calls::leave(&self.program, heap, call),
            Shapes::Unknown(depth) => vec![Shapes::Unknown(depth.saturating_sub(1))],
        }
    }

    fn stop(&self, new: &Shapes, reached: &[&Shapes], (): &()) -> Option<usize> {
        let new = match new {
            Shapes::Unknown(_) => None,
            Shapes::Known(heap) => Some(order::Lower::new(heap)),
        };
        reached.iter().position(|old| match (&new, *old) {
            (_, Shapes::Unknown(_)) => true,
            (None, Shapes::Known(_)) => false,
            (Some(new), Shapes::Known(old)) => new.covered_by(old).is_ok(),
        })
    }

    fn adjust(
        &self,
        state: Shapes,
        (): (),
        here: &[&Shapes],
        at: LocationContext<'_>,
    ) -> Adjusted<Shapes, ()> {
        let mut heap = match state {
            Shapes::Unknown(depth) if depth as usize > MOST_CALLS => return Adjusted::Interrupt,
            Shapes::Unknown(_) => return Adjusted::Continue(state, ()),
            Shapes::Known(heap) => heap,
        };
        if heap.frames.len() > MOST_CALLS {
            return Adjusted::Interrupt;
        }
        self.drop_dead(&mut heap, at.function, at);
        if at.is_loop_head {
            heap.lengths.clear();
        }
        heap.normalise();
        if at.is_loop_head
            && let Some(folds) = self.options.fold
        {
            if here.len() > MOST_STATES {
                return Adjusted::Interrupt;
            }
            heap.round_numbers();
            fold::fold(&mut heap, self.folding(folds, fold::Pairs::InRows));
            heap.normalise();
            heap = widen::widen(heap, here);
            heap.normalise();
        }
        Adjusted::Continue(Shapes::Known(heap), ())
    }

    fn join_precision(&self, (): &(), (): &()) {}
}

/// Blocks see all there is.
impl BlockCpa for ShapeAnalysis {
    fn reduce(&self, entry: &Shapes, _: BlockContext<'_>) -> Reduced<Shapes> {
        Reduced(entry.clone())
    }

    fn expand(&self, _: &Shapes, _: BlockContext<'_>, exit: &Reduced<Shapes>) -> Option<Shapes> {
        Some(exit.0.clone())
    }

    fn reduce_precision(&self, (): &(), _: BlockContext<'_>) -> Reduced<()> {
        Reduced(())
    }
}

impl Refine for ShapeAnalysis {
    type Witness = Path;

    /// There is no precision to refine; whether the path is possible others say.
    fn refine(&self, path: &Path, (): &(), _: &Budget) -> Result<Refinement<()>, Unknown> {
        Ok(Refinement::Feasible(path.clone()))
    }
}
