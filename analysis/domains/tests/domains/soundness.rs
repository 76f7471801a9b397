//! Every state of a concrete run is in an abstract state: along the run's own path, and in what a whole exploration reached.
//! Guards soundness of both domains in everything that random programs do: pointers, aliases, unions, bit-fields, calls, loops.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Base, EdgeId, Function, Loc, LocalId, Lvalue, Name, Object, Op, Scalar, eval, visit};
use proofline_cpa::{
    Adjusted, BlockContext, BlockCpa, BlockId, CallContext, Cpa, EdgeContext, LocationContext, NoFacts,
    Reduced,
};
use proofline_domains::{
    interval::{IntervalValue, Pointee, Targets},
    store::{
        AbstractValue, State,
        guarded::Fact,
        heap::Count,
        region::{Content, Ends, Region},
        state::Frame,
        view::Target,
    },
    value::{ExplicitValue, Precision},
};
use proofline_program_analysis::Environment;
use proptest::{collection::vec, prelude::*};

use crate::{
    common::{self, Explored, environment, explore, intervals, values},
    concrete::{Did, Machine},
    generate,
};

/// A value domain whose values can be compared with concrete ones.
trait Holds: AbstractValue {
    fn holds(&self, scalar: Scalar, value: eval::Value, machine: &Machine<'_>) -> bool;
}

fn is_in(machine: &Machine<'_>, object: Object, address: i128, offset: impl Fn(i128) -> bool) -> bool {
    machine.instances.iter().any(|instance| instance.object == object && offset(address - instance.base))
}

impl Holds for ExplicitValue {
    fn holds(&self, _: Scalar, value: eval::Value, machine: &Machine<'_>) -> bool {
        match (self, value) {
            (ExplicitValue::Int(known), eval::Value::Int(value)) => *known == value,
            (ExplicitValue::Float(known), eval::Value::Float(value)) => *known == value.canonical(),
            (ExplicitValue::Address(object, offset), eval::Value::Int(address)) => {
                is_in(machine, *object, address, |at| at == i128::from(*offset))
            }
            (ExplicitValue::Function(name), eval::Value::Int(address)) => {
                machine.function_address(*name) == address
            }
            (
                ExplicitValue::Int(_)
                | ExplicitValue::Float(_)
                | ExplicitValue::Address(..)
                | ExplicitValue::Function(_),
                _,
            ) => false,
        }
    }
}

impl Holds for IntervalValue {
    fn holds(&self, _: Scalar, value: eval::Value, machine: &Machine<'_>) -> bool {
        match (self, value) {
            (IntervalValue::Int(ranges), eval::Value::Int(value)) => ranges.contains(value),
            (IntervalValue::Float(known), eval::Value::Float(value)) => known.contains(value),
            (IntervalValue::Pointer(pointer), eval::Value::Int(0)) => pointer.null,
            (IntervalValue::Pointer(pointer), eval::Value::Int(address)) => match &pointer.to {
                Targets::Any => true,
                Targets::These(these) => these.iter().any(|(to, offsets)| match to {
                    Pointee::Function(name) => machine.function_address(*name) == address,
                    // No program here is a library.
                    Pointee::Older => false,
                    Pointee::Object(object) => is_in(machine, *object, address, |at| {
                        let inside = i128::from(offsets.lo) <= at && at <= i128::from(offsets.hi);
                        inside
                            && (offsets.step == 0
                                || (at - i128::from(offsets.lo)) % i128::from(offsets.step) == 0)
                    }),
                }),
            },
            (IntervalValue::Int(_) | IntervalValue::Float(_) | IntervalValue::Pointer(_), _) => false,
        }
    }
}

fn region_holds<V: Holds>(region: &Region<V>, instance: usize, machine: &Machine<'_>) -> Result<(), String> {
    if let Some(ends) = region.ends() {
        ends_hold(ends, instance, machine)?;
    }
    for cell in region.cells() {
        if region.tracks() && !machine.has_values(instance, cell.start, cell.end()) {
            return Err(format!("bits {}..{} have no value", cell.start, cell.end()));
        }
        let bit = |at: i64| {
            let byte = Scalar::Int(proofline_cfa::IntType { bits: 8, signed: false });
            machine.peek(instance, at, 1, byte)
        };
        match &cell.content {
            Content::Any => {}
            Content::Zero => {
                let wrong = (cell.start..cell.end()).find(|at| bit(*at).is_some_and(|bit| bit.truth()));
                if let Some(at) = wrong {
                    return Err(format!("bit {at} is not zero"));
                }
            }
            Content::Each(scalar, item, value) => {
                for start in (cell.start..cell.end()).step_by(*item as usize) {
                    if let Some(concrete) = machine.peek(instance, start, *item, *scalar)
                        && !value.holds(*scalar, concrete, machine)
                    {
                        return Err(format!("bits {start}+{item} are {concrete:?}, not in {value:?}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Facts about elements that have values.
fn filled_holds<V: Holds>(frame: &Frame<V>, machine: &Machine<'_>) -> Result<(), String> {
    let top = machine.frames.len() - 1;
    let function = machine.function();
    for fact in &frame.filled {
        let by = machine.eval(top, &common::local(function, &function.local(fact.by).name)).ok();
        let count = by.and_then(eval::Value::int).map_or(0, |by| by + i128::from(fact.ahead));
        let end = i128::from(fact.start) + count * i128::from(fact.stride);
        let instances: Vec<usize> = match fact.target {
            Target::Local(id) => vec![machine.frames[top].locals[id.index()]],
            Target::Object(object) => {
                let all = machine.instances.iter().enumerate();
                all.filter(|(_, i)| i.live && i.object == object).map(|(at, _)| at).collect()
            }
        };
        let end = i64::try_from(end * 8).unwrap_or(i64::MAX);
        let lacks = |at: &usize| count > 0 && !machine.has_values(*at, fact.start * 8, end);
        if instances.iter().any(lacks) {
            return Err(format!("{fact:?} is not true"));
        }
    }
    Ok(())
}

/// Where a string ends.
fn ends_hold(ends: Ends, instance: usize, machine: &Machine<'_>) -> Result<(), String> {
    let byte = Scalar::Int(proofline_cfa::IntType { bits: 8, signed: false });
    let is_zero = |at: i64| {
        let mut bytes = (at..at + ends.item).step_by(8);
        // What is not known may be 0.
        bytes.all(|at| machine.peek(instance, at, 8, byte).is_none_or(|byte| !byte.truth()))
    };
    match (ends.first..=ends.last).step_by(ends.item as usize).any(is_zero) {
        true => Ok(()),
        false => Err(format!("{ends:?} is not true")),
    }
}

/// Facts under a condition.
fn guarded_holds<V: Holds>(frame: &Frame<V>, machine: &Machine<'_>) -> Result<(), String> {
    let top = machine.frames.len() - 1;
    let function = machine.function();
    for known in &frame.guarded {
        let by = machine.eval(top, &common::local(function, &function.local(known.by).name)).ok();
        let Some(by) = by.and_then(eval::Value::int) else { continue };
        let is_pointer = function.local(known.by).ty.pointee().is_some();
        let by = if is_pointer { i128::from(by != 0) } else { by };
        if by < known.low || known.high < by {
            continue;
        }
        let instances: Vec<usize> = match known.target {
            Target::Local(id) => vec![machine.frames[top].locals[id.index()]],
            Target::Object(object) => {
                let all = machine.instances.iter().enumerate();
                all.filter(|(_, i)| i.live && i.object == object).map(|(at, _)| at).collect()
            }
        };
        for at in instances {
            match known.fact {
                Fact::Values(from, to) if !machine.has_values(at, from, to) => {
                    return Err(format!("{known:?} is not true"));
                }
                Fact::Values(..) => {}
                Fact::Ends(ends) => ends_hold(ends, at, machine)?,
            }
        }
    }
    Ok(())
}

fn frame_holds<V: Holds>(frame: &Frame<V>, at: usize, machine: &Machine<'_>) -> Result<(), String> {
    let concrete = &machine.frames[at];
    let function = machine.env.function(concrete.function).expect("a body");
    if frame.function != concrete.function {
        return Err("another function".to_owned());
    }
    for (id, region) in &frame.locals {
        region_holds(region, concrete.locals[id.index()], machine)
            .map_err(|why| format!("{}: {why}", function.local(*id).name))?;
    }
    for (id, expr) in &frame.definitions {
        let local = common::local(function, &function.local(*id).name);
        let (left, right) = (machine.eval(at, &local).ok(), machine.eval(at, expr).ok());
        if left.is_none() || left != right {
            return Err(format!(
                "{} is {left:?}, not {expr:?}, which is {right:?}",
                function.local(*id).name
            ));
        }
    }
    Ok(())
}

/// Whether the machine's state is one of the abstract state's.
fn holds<V: Holds>(state: &State<V>, machine: &Machine<'_>) -> Result<(), String> {
    holds_in(state, machine, &|_| true)
}

/// The same where allocation counts speak only of some sites: those the block can see.
fn holds_in<V: Holds>(
    state: &State<V>,
    machine: &Machine<'_>,
    sees: &dyn Fn(Object) -> bool,
) -> Result<(), String> {
    let mut at = machine.frames.len() - 1;
    frame_holds(&state.frame, at, machine)?;
    let mut below = &state.below;
    while let Some((frame, rest)) = below.pop() {
        at = at.checked_sub(1).ok_or("more frames")?;
        frame_holds(frame, at, machine)?;
        below = rest;
    }
    filled_holds(&state.frame, machine)?;
    guarded_holds(&state.frame, machine)?;
    let mut live: BTreeMap<Object, Vec<usize>> = BTreeMap::new();
    for (index, instance) in machine.instances.iter().enumerate().filter(|(_, instance)| instance.live) {
        live.entry(instance.object).or_default().push(index);
    }
    for (object, region) in state.memory.objects() {
        for instance in live.get(object).into_iter().flatten() {
            region_holds(region, *instance, machine).map_err(|why| format!("{object:?}: {why}"))?;
        }
    }
    for (object, instances) in
        live.iter().filter(|(object, _)| matches!(object, Object::Heap(..)) && sees(**object))
    {
        let count = state.heap.count(*object);
        if count == Count::Zero || count == Count::One && instances.len() > 1 {
            return Err(format!("{object:?} is there {} times", instances.len()));
        }
    }
    Ok(())
}

/// Follows a concrete run with the analysis' operators; at every step some state holds.
fn follow<A, V: Holds>(
    analysis: &A,
    env: &Environment,
    code: &str,
    seed: u64,
    precision: &A::Precision,
) -> usize
where
    A: Cpa<State = State<V>>,
{
    let main = Name::new("main");
    let mut machine = Machine::new(env, main, seed);
    let mut states = vec![analysis.entry().0];
    let mut calls: Vec<State<V>> = Vec::new();
    for steps in 0..600 {
        let function = machine.function();
        let Ok(did) = machine.step() else { return steps };
        let edge = |id| {
            let name = match did {
                Did::Edge(_) | Did::Enter(..) => function.name,
                Did::Leave(..) => machine.function().name,
            };
            let function = env.function(name).expect("a body");
            EdgeContext { function, id, edge: function.edge(id) }
        };
        let call = |id, callee| {
            let at = edge(id);
            let Op::Call(call) = &at.edge.op else { panic!("not a call") };
            CallContext { at, call, callee: env.function(callee).expect("a body") }
        };
        let next: Vec<State<V>> = match did {
            Did::Edge(id) => states
                .iter()
                .flat_map(|state| analysis.transfer(state, precision, edge(id), &NoFacts))
                .collect(),
            Did::Enter(id, callee) => {
                calls.push(states[0].clone());
                states.iter().flat_map(|state| analysis.enter(state, precision, call(id, callee))).collect()
            }
            Did::Leave(id, callee) => {
                let at_call = calls.pop().expect("a call");
                states
                    .iter()
                    .flat_map(|state| analysis.leave(&at_call, state, precision, call(id, callee)))
                    .collect()
            }
        };
        let (function, loc) = (machine.function(), machine.frames.last().expect("a frame").loc);
        let place = LocationContext { function, loc, is_loop_head: false };
        let adjusted = next.into_iter().filter_map(|state| {
            match analysis.adjust(state, precision.clone(), &[], place) {
                Adjusted::Continue(state, _) => Some(state),
                Adjusted::Interrupt => None,
            }
        });
        // States that do not hold are dropped: those of other outcomes of an allocation.
        let mut whys = Vec::new();
        states = adjusted
            .filter(|state| match holds(state, &machine) {
                Ok(()) => true,
                Err(why) => {
                    whys.push(why);
                    false
                }
            })
            .collect();
        states.dedup();
        assert!(
            !states.is_empty(),
            "{} lost the run after {did:?} at step {steps} (seed {seed}): {whys:?}\n{}\n{code}",
            analysis.name(),
            proofline_cfa::text::print_function(
                function,
                proofline_cfa::text::Surroundings::of(env.program())
            )
        );
    }
    600
}

/// A block that a run is in: with what it was entered.
struct Open<V> {
    id: BlockId,
    /// Number of frames.
    depth: usize,
    objects: BTreeSet<Object>,
    locals: Option<BTreeSet<LocalId>>,
    before: State<V>,
}

impl<V> Open<V> {
    fn context<'b>(&'b self, function: &'b Function) -> BlockContext<'b> {
        BlockContext { id: &self.id, function, objects: Some(&self.objects), locals: self.locals.as_ref() }
    }
}

/// Follows a run through blocks: every function and every loop is entered with a reduced state, and left with an expanded one.
fn follow_blocks<A, V: Holds>(
    analysis: &A,
    env: &Environment,
    code: &str,
    seed: u64,
    precision: &A::Precision,
) where
    A: BlockCpa<State = State<V>>,
{
    let mut machine = Machine::new(env, Name::new("main"), seed);
    let mut state = analysis.entry().0;
    let mut open: Vec<Open<V>> = Vec::new();
    for step in 0..600 {
        let (function, depth) = (machine.function(), machine.frames.len());
        let loc = machine.frames.last().expect("a frame").loc;
        let structure = env.structure(function.name);
        // Loops that the run has left.
        while let Some(block) = open.last()
            && let BlockId::Loop(_, head) = &block.id
            && block.depth == depth
            && !structure.loop_at(*head).is_some_and(|inside| inside.body.contains(&loc))
        {
            state = leave_block(analysis, &mut open, &state, function);
        }
        let is_open =
            open.iter().any(|block| block.depth == depth && block.id == BlockId::Loop(function.name, loc));
        if let Some(inside) = structure.loop_at(loc)
            && !is_open
        {
            let mut locals = BTreeSet::new();
            for edge in function.edges.iter().filter(|edge| inside.body.contains(&edge.from)) {
                visit::reads(&edge.op, &mut |lvalue| locals.extend(local_of(lvalue)));
                visit::mentions(&edge.op, &mut |mention| {
                    if let visit::Mention::Write(lvalue) = mention {
                        locals.extend(local_of(lvalue));
                    }
                });
                if let Op::Begin(id) | Op::End(id) = &edge.op {
                    locals.insert(*id);
                }
            }
            let objects = env.reads(function.name).union(env.writes(function.name)).copied().collect();
            let id = BlockId::Loop(function.name, loc);
            open.push(Open { id, depth, objects, locals: Some(locals), before: state.clone() });
            state = enter_block(analysis, &open, &state, function);
        }
        if loc == function.exit && depth > 1 {
            let at_end = open.last().is_some_and(|block| block.id == BlockId::Function(function.name));
            assert!(at_end, "blocks are nested");
            state = leave_block(analysis, &mut open, &state, function);
        }
        if let Err(why) = holds_in(&state, &machine, &sees(env, &open)) {
            panic!("{} lost the run at a block, step {step} (seed {seed}): {why}\n{code}", analysis.name());
        }
        let Ok(did) = machine.step() else { return };
        let next = match did {
            Did::Edge(id) => {
                let at = EdgeContext { function, id, edge: function.edge(id) };
                analysis.transfer(&state, precision, at, &NoFacts)
            }
            Did::Enter(id, callee) => {
                let call = call_at(env, function, id, callee);
                let entered = analysis.enter(&state, precision, call);
                let objects = env.reads(callee).union(env.writes(callee)).copied().collect();
                let entered = entered.into_iter().next().expect("the call happens");
                let id = BlockId::Function(callee);
                open.push(Open { id, depth: depth + 1, objects, locals: None, before: entered.clone() });
                vec![enter_block(analysis, &open, &entered, call.callee)]
            }
            Did::Leave(id, callee) => {
                let call = call_at(env, machine.function(), id, callee);
                analysis.leave(&state, &state, precision, call)
            }
        };
        let (function, loc) = (machine.function(), machine.frames.last().expect("a frame").loc);
        let place = LocationContext { function, loc, is_loop_head: false };
        let mut whys = Vec::new();
        let holding = next.into_iter().filter_map(|state| {
            let Adjusted::Continue(state, _) = analysis.adjust(state, precision.clone(), &[], place) else {
                return None;
            };
            holds_in(&state, &machine, &sees(env, &open)).map_err(|why| whys.push(why)).ok().map(|()| state)
        });
        let found = holding.last();
        state = found.unwrap_or_else(|| {
            panic!("{} lost the run (seed {seed}) at {did:?}: {whys:?}\n{code}", analysis.name())
        });
    }
}

/// The objects that all open blocks can see.
fn sees<'b, V>(env: &'b Environment, open: &'b [Open<V>]) -> impl Fn(Object) -> bool + 'b {
    move |object| {
        open.iter().all(|block| {
            let (BlockId::Function(name) | BlockId::Loop(name, _)) = &block.id;
            let owner = match object {
                Object::Local(function, _) | Object::Heap(function, _) => Some(function),
                Object::Global(_) | Object::External => None,
            };
            block.objects.contains(&object)
                || owner.is_some_and(|owner| env.call_graph().reachable([*name]).contains(&owner))
        })
    }
}

fn local_of(lvalue: &Lvalue) -> Option<LocalId> {
    if let Base::Local(id) = lvalue.base { Some(id) } else { None }
}

fn call_at<'e>(env: &'e Environment, caller: &'e Function, id: EdgeId, callee: Name) -> CallContext<'e> {
    let edge = caller.edge(id);
    let Op::Call(call) = &edge.op else { panic!("not a call") };
    let at = EdgeContext { function: caller, id, edge };
    CallContext { at, call, callee: env.function(callee).expect("a body") }
}

fn enter_block<A, V: Holds>(analysis: &A, open: &[Open<V>], state: &State<V>, function: &Function) -> State<V>
where
    A: BlockCpa<State = State<V>>,
{
    let block = open.last().expect("a block").context(function);
    let reduced = analysis.reduce(state, block);
    assert_eq!(analysis.reduce(&reduced.0, block), reduced, "reduce is idempotent");
    let expanded = analysis.expand(state, block, &reduced).expect("they agree");
    assert!(analysis.leq(state, &expanded), "{}", analysis.explain_not_leq(state, &expanded));
    reduced.0
}

fn leave_block<A, V: Holds>(
    analysis: &A,
    open: &mut Vec<Open<V>>,
    exit: &State<V>,
    function: &Function,
) -> State<V>
where
    A: BlockCpa<State = State<V>>,
{
    let block = open.pop().expect("a block");
    analysis.expand(&block.before, block.context(function), &Reduced(exit.clone())).expect("they agree")
}

/// A run stays within what was reached.
fn stays_within<A, V: Holds>(explored: &Explored<A>, env: &Environment, code: &str, seed: u64)
where
    A: Cpa<State = State<V>>,
{
    let mut reached: BTreeMap<(Name, Loc), Vec<&State<V>>> = BTreeMap::new();
    for (node, _) in explored.nodes.iter().zip(&explored.current).filter(|(_, current)| **current) {
        reached.entry((node.function, node.loc)).or_default().push(&node.state);
    }
    let mut machine = Machine::new(env, Name::new("main"), seed);
    for step in 0..600 {
        if machine.step().is_err() {
            return;
        }
        let frame = machine.frames.last().expect("a frame");
        let here = reached.get(&(frame.function, frame.loc)).map_or(&[][..], |states| states);
        let whys: Vec<String> = here.iter().filter_map(|state| holds(state, &machine).err()).collect();
        assert!(
            whys.len() < here.len(),
            "step {step} (seed {seed}) at {} {} is not in {} states: {whys:?}\n{code}",
            frame.function,
            frame.loc,
            here.len()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transfer_covers_every_concrete_step(choices in vec(any::<u8>(), 0..160), seed in any::<u64>()) {
        let code = generate::program(&choices);
        let env = environment(&code);
        for seed in [seed, seed ^ 0xabcd, seed.rotate_left(17)] {
            follow(&values(&env), &env, &code, seed, &Precision::everything());
            follow(&intervals(&env), &env, &code, seed, &());
        }
    }

    #[test]
    fn reducing_and_expanding_loses_no_run(choices in vec(any::<u8>(), 0..160), seed in any::<u64>()) {
        let code = generate::program(&choices);
        let env = environment(&code);
        for seed in [seed, seed ^ 0xabcd, seed.rotate_left(17)] {
            follow_blocks(&values(&env), &env, &code, seed, &Precision::everything());
            follow_blocks(&intervals(&env), &env, &code, seed, &());
        }
    }

    #[test]
    fn everything_a_run_reaches_was_reached_by_intervals(choices in vec(any::<u8>(), 0..100), seed in any::<u64>()) {
        let code = generate::program(&choices);
        let env: Arc<Environment> = environment(&code);
        let (explored, _) = explore(&intervals(&env), &env, Name::new("main"), (), 100_000, |_, _| false);
        for seed in [seed, seed ^ 0xabcd, seed.rotate_left(17)] {
            stays_within(&explored, &env, &code, seed);
        }
    }
}
