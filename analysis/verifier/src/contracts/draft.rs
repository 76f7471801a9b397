//! What a function may ask of its callers: guesses that are made from what it does with its parameters, from what it calls with them, and from
//! their types. Whether they are enough, engines say; here it is only decided what is tried, and what is tried next.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Call, Callee, CompareOp, Expr, Function, Lvalue, MemoryPredicate, Name, Obligation, Op, Scalar, Type,
    visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use crate::checks::invalid_stream;

use super::{
    Asked, Contract, Contracts, Memory,
    acsl::is_end,
    at_call,
    hooks::{self, HookPlace, Hooks},
    obligations,
    origin::{Given, Origin, Origins, Structures, is_character, types},
};

mod given_back;
mod parameters;

use given_back::given_back;
use parameters::{counts, is_moved, limits, not_nan, over_parameters, starts, stored, walked};

/// So many numbers of elements are tried for a pointer.
const COUNTS: usize = 3;
/// So many sizes that are numbers in the text are.
const LIMITS: usize = 4;

/// What is tried for a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Draft {
    /// For each pointer parameter of which anything is needed: what to try, one after the other.
    ladders: BTreeMap<usize, Vec<Memory>>,
    /// Signed parameters that places in memory are counted from.
    starts: Vec<Expr>,
    /// That parameters are not NaN.
    numbers: Vec<Expr>,
    /// What functions behave as that are called through pointers.
    hooks: Hooks,
    /// Some of them the function calls itself.
    is_hooked: bool,
    /// Parameters that the function puts into structures: whatever reads them there wants them to lead to whole ones.
    stored: BTreeSet<usize>,
    /// What belongs to parameters that the function gives back, or parts of which it does.
    trees: BTreeMap<usize, Memory>,
    /// Functions that are not in the program, of which nothing else is known than that they free nothing.
    keeping: Hooks,
    /// A person has written it: nothing else is tried.
    written: Option<Contract>,
}

impl Draft {
    /// Whether the function needs nothing of its callers' memory.
    pub(crate) fn is_empty(&self) -> bool {
        self.ladders.is_empty()
            && self.trees.is_empty()
            && self.numbers.is_empty()
            && self.hooks.is_empty()
            && self.written.is_none()
    }

    /// Whether the function itself calls through a pointer that may be a hook.
    pub(crate) fn is_hooked(&self) -> bool {
        self.is_hooked && !self.is_written()
    }

    /// The contract with what functions behave as that are called through pointers, if it does not say so.
    pub(crate) fn with_hooks(&self, last: &Contract) -> Option<Contract> {
        let mut hooks = last.hooks.clone();
        hooks::join(&mut hooks, &self.hooks);
        (hooks != last.hooks).then(|| Contract { hooks, ..last.clone() })
    }

    /// The contract where functions which are not in the program free nothing, if it does not say so, and there are any.
    pub(crate) fn with_keeping(&self, last: &Contract) -> Option<Contract> {
        let mut hooks = last.hooks.clone();
        for (place, hook) in &self.keeping {
            hooks.entry(place.clone()).or_insert(*hook);
        }
        (hooks != last.hooks).then(|| Contract { hooks, ..last.clone() })
    }

    /// The contract where pointers that are put into structures lead to whole ones, if it does not say so, and there are any.
    pub(crate) fn with_stored(&self, last: &Contract) -> Option<Contract> {
        if self.is_written() {
            return None;
        }
        let mut next = last.clone();
        for at in &self.stored {
            let asked = next.pointers.entry(*at);
            asked.or_insert(Asked { memory: Memory::Nothing, or_null: true }).memory = Memory::Structure;
        }
        (next != *last).then_some(next)
    }

    /// The contract where what the function gives back belongs to its parameters, if it does not say so, and it gives something back.
    pub(crate) fn with_trees(&self, last: &Contract) -> Option<Contract> {
        if self.is_written() {
            return None;
        }
        let mut next = last.clone();
        for (at, memory) in &self.trees {
            let asked = next.pointers.entry(*at);
            asked.or_insert(Asked { memory: Memory::Nothing, or_null: true }).memory = memory.clone();
        }
        (next != *last).then_some(next)
    }

    /// Whether code runs which is not in the program, of which a contract can say what it does.
    pub(crate) fn runs_code(&self) -> bool {
        !self.keeping.is_empty() || self.is_hooked
    }

    /// What a person has written.
    pub(crate) fn of_written(contract: Contract, env: &Environment, name: Name) -> Draft {
        let (hooks, keeping) = (hooks::of(env, name), hooks::keeping(env, name));
        Draft { written: Some(contract), hooks, keeping, ..Draft::default() }
    }

    /// Whether a person has written it.
    pub(crate) fn is_written(&self) -> bool {
        self.written.is_some()
    }

    /// What is tried first: the weakest.
    pub(crate) fn first(&self) -> Contract {
        if let Some(written) = &self.written {
            return written.clone();
        }
        let asked = |memory: &Memory| {
            let or_null = !matches!(memory, Memory::Until(_));
            Asked { memory: memory.clone(), or_null }
        };
        let pointers = self.ladders.iter().filter_map(|(at, ladder)| Some((*at, asked(ladder.first()?))));
        Contract { pointers: pointers.collect(), ..Contract::default() }
    }

    /// The contract with these pointers to functions not null.
    pub(crate) fn without_null(last: &Contract, places: &BTreeSet<HookPlace>) -> Option<Contract> {
        let mut next = last.clone();
        for place in places {
            if let Some(hook) = next.hooks.get_mut(place) {
                hook.or_null = false;
            }
        }
        (next != *last).then_some(next)
    }

    /// What is tried after a contract under which something stays open that is about these parameters (by number: whether it is that
    /// the pointer is not null); `None`: there is nothing else.
    pub(crate) fn next(&self, last: &Contract, open: &BTreeSet<(usize, bool)>) -> Option<Contract> {
        if self.is_written() {
            return None;
        }
        let mut next = Contract { conditions: Vec::new(), ..last.clone() };
        for (at, is_null) in open {
            let Some(asked) = next.pointers.get_mut(at) else { continue };
            if *is_null && asked.or_null {
                asked.or_null = false;
            } else if !*is_null && asked.or_null == last.pointers[at].or_null {
                let Some(ladder) = self.ladders.get(at) else { continue };
                let now = ladder.iter().position(|memory| *memory == asked.memory);
                if let Some(stronger) = now.and_then(|now| ladder.get(now + 1)) {
                    asked.memory = stronger.clone();
                    asked.or_null &= !matches!(stronger, Memory::Until(_));
                }
            }
        }
        (next.pointers != last.pointers).then_some(next)
    }

    /// What is tried where no other memory is asked of first: no number of elements is negative; then, there is at least one element; then, no place
    /// is counted from a negative number.
    pub(crate) fn with_numbers(&self, last: &Contract) -> Option<Contract> {
        if self.is_written() {
            return None;
        }
        let counts: BTreeSet<&Expr> =
            last.pointers.values().filter_map(|asked| counted(&asked.memory)).collect();
        let all = |op| -> Vec<Expr> {
            let least = |count: &&Expr| {
                let ty = count.int_type()?;
                let op = if ty.signed { op } else { CompareOp::Gt };
                Some(Expr::Compare(op, Arc::new(Expr::clone(count)), Arc::new(Expr::Int(0, ty))))
            };
            counts.iter().filter_map(least).collect()
        };
        let is_counted = |start: &&Expr| counts.contains(start) || counts.is_empty();
        let starts: Vec<Expr> =
            self.starts.iter().filter(|start| !is_counted(start)).filter_map(not_negative).collect();
        let mut levels: Vec<Vec<Expr>> = [CompareOp::Ge, CompareOp::Gt].map(all).into();
        levels.push(starts);
        levels.iter_mut().for_each(|level| level.extend(self.numbers.iter().cloned()));
        levels.insert(0, self.numbers.clone());
        levels.retain(|level| !level.is_empty());
        levels.dedup();
        let now = &last.conditions;
        let mut levels = levels.into_iter();
        let next =
            if now.is_empty() { levels.next() } else { levels.find(|level| level == now).and(levels.next()) };
        let conditions = next?;
        Some(Contract { conditions, ..last.clone() })
    }
}

/// That a number of a signed type is not negative.
fn not_negative(number: &Expr) -> Option<Expr> {
    let ty = number.int_type().filter(|ty| ty.signed)?;
    Some(Expr::Compare(CompareOp::Ge, Arc::new(number.clone()), Arc::new(Expr::Int(0, ty))))
}

/// The parameter that says how many elements there are.
fn counted(memory: &Memory) -> Option<&Expr> {
    match memory {
        Memory::Elements(count @ Expr::Load(_), _) => Some(count),
        Memory::Elements(..)
        | Memory::Nothing
        | Memory::Bytes(_)
        | Memory::Until(_)
        | Memory::String
        | Memory::Allocated
        | Memory::Tree(_)
        | Memory::Structure => None,
    }
}

/// What a function does with what a parameter points to.
#[derive(Default, Debug)]
struct Uses {
    /// Bytes from where it points that are used, as far as they are the same in each run.
    bytes: i128,
    /// At places that differ from run to run.
    varies: bool,
    /// As a string.
    ends: bool,
    /// It is written.
    written: bool,
    /// Pointers are read from it, and followed.
    follows: bool,
    /// It is followed at all.
    is_used: bool,
    /// What functions that get it ask for.
    passed: Vec<Memory>,
    /// How many bytes an element has.
    stride: Option<u64>,
    /// Sizes that library functions are given with it.
    sizes: Vec<Expr>,
    /// Other parameters that it is compared with.
    compared: BTreeSet<usize>,
    /// It moves back: it was behind what it leads to.
    moves_back: bool,
    /// Library functions get it as a stream, of which they ask that it is one.
    is_stream: bool,
}

/// What to try for a function whose callees have these contracts.
pub(crate) fn draft(env: &Environment, name: Name, callees: &Contracts) -> Draft {
    let Some(function) = env.function(name) else { return Draft::default() };
    let is_pointer = |at: &usize| {
        let local = function.local(function.parameters[*at]);
        !local.address_taken && matches!(local.ty.kind(), TypeKind::Pointer(_))
    };
    let parameters: Vec<usize> = (0..function.parameters.len()).filter(is_pointer).collect();
    let hooks = hooks::of(env, name);
    let is_hooked = hooks::calls(env.program(), function, &hooks);
    let keeping = hooks::keeping(env, name);
    if parameters.is_empty() {
        return Draft { hooks, is_hooked, keeping, numbers: not_nan(env, function), ..Draft::default() };
    }
    let all: Vec<(usize, bool)> = parameters.iter().map(|at| (*at, true)).collect();
    let is_record = |at: &usize| {
        let pointee = function.local(function.parameters[*at]).ty.pointee();
        pointee.is_some_and(|pointee| matches!(pointee.kind(), TypeKind::Record(_)))
    };
    let walked = walked(env, function, &all);
    let records = parameters.iter().copied().filter(|at| is_record(at) && !walked.contains(at)).collect();
    let results = |origins: &Origins<'_>, call: &Call| may_find(env, origins, call);
    let records = Structures { parameters: records, owned: None };
    let origins = Origins::of(env.program(), function, &all, records, &[], &|_| true, &results);
    let mut uses: BTreeMap<usize, Uses> = BTreeMap::new();
    let mut look = Look { env, function, origins: &origins, callees, uses: &mut uses };
    for edge in &function.edges {
        look.operation(&edge.op);
    }
    look.streams();
    let moved: BTreeSet<usize> = origins
        .locals()
        .filter(|(id, _)| origins.is_written(*id))
        .filter_map(|(id, origin)| match origin {
            Origin::Parameter(at) if is_moved(function, &origins, id) => Some(at),
            Origin::Parameter(_) | Origin::Loaded(_) | Origin::Allocated => None,
        })
        .collect();
    let used: BTreeSet<usize> = uses.iter().filter(|(_, uses)| uses.is_used).map(|(at, _)| *at).collect();
    let ladders = uses.into_iter().filter(|(_, uses)| uses.is_used).map(|(at, mut uses)| {
        uses.varies |= moved.contains(&at);
        // What is followed itself is more than the end of another.
        uses.compared.retain(|end| !used.contains(end) && is_end(function, at, *end));
        let start = uses.compared.iter().next().copied().filter(|_| uses.moves_back);
        if let Some(start) = start {
            return (start, vec![Memory::Until(at)]);
        }
        (at, ladder(env, function, at, &uses))
    });
    let ladders: BTreeMap<usize, Vec<Memory>> = ladders.filter(|(_, ladder)| !ladder.is_empty()).collect();
    let mut trees = given_back(env, function, callees, &hooks);
    trees.retain(|at, memory| is_pointer(at) && (*memory != Memory::Allocated || !ladders.contains_key(at)));
    let starts = starts(function, &origins);
    let stored = stored(env, function, &origins);
    let numbers = not_nan(env, function);
    Draft { ladders, starts, numbers, hooks, is_hooked, stored, trees, keeping, written: None }
}

/// A call of a function that is given structures may find what it gives there.
fn may_find(env: &Environment, origins: &Origins<'_>, call: &Call) -> Given {
    let arguments = obligations::values(call);
    if arguments.iter().flatten().any(|value| origins.is_open(value)) {
        return Given::Open;
    }
    let Callee::Direct(name) = call.callee else { return Given::Anything };
    let result = env.function(name).and_then(|body| Some(body.local(body.result?).ty));
    let Some(pointee) = result.and_then(|ty| ty.pointee()).map(Type::unqualified) else {
        return Given::Anything;
    };
    let is_found = is_character(pointee) || matches!(pointee.kind(), TypeKind::Record(_));
    let is_given = arguments.into_iter().flatten().any(|value| origins.is_whole(value));
    if is_found && is_given { Given::Found(pointee) } else { Given::Anything }
}

struct Look<'a> {
    env: &'a Environment,
    function: &'a Function,
    origins: &'a Origins<'a>,
    callees: &'a Contracts,
    uses: &'a mut BTreeMap<usize, Uses>,
}

impl Look<'_> {
    fn operation(&mut self, op: &Op) {
        if let Op::Assume(condition) = op {
            self.demands(condition);
        }
        visit::mentions(op, &mut |mention| {
            if let visit::Mention::Write(Lvalue { base: proofline_cfa::Base::Deref(pointer, _), .. }) =
                mention
                && let Some(place) = self.origins.place(pointer)
                && let Origin::Parameter(at) = place.origin
            {
                self.uses.entry(at).or_default().written = true;
            }
        });
        if let Op::Assign(dst, value) = op
            && let Some(id) = super::origin::whole_pointer(self.function, dst)
            && matches!(self.origins.place(value).map(|place| place.origin), Some(Origin::Loaded(_)))
            && let Some((_, Origin::Parameter(at))) = self.origins.locals().find(|(local, _)| *local == id)
        {
            let uses = self.uses.entry(at).or_default();
            (uses.follows, uses.is_used) = (true, true);
        }
        if let Op::Assign(dst, value) = op
            && super::origin::whole_pointer(self.function, dst).is_some()
            && let Some(place) = self.origins.place(value)
            && let Origin::Parameter(at) = place.origin
        {
            self.uses.entry(at).or_default().moves_back |= place.offset.bytes < 0;
        }
        if let Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) = op
            && let Some(place) = self.origins.place(to)
            && let Origin::Parameter(at) = place.origin
        {
            self.uses.entry(at).or_default().written = true;
        }
        if let Op::Call(call) = op
            && let Callee::Direct(name) = call.callee
            && let (Some(contract), Some(body)) = (self.callees.get(&name), self.env.function(name))
        {
            let arguments = obligations::values(call);
            for (parameter, asked) in &contract.pointers {
                let Some(value) = arguments.get(*parameter).copied().flatten() else { continue };
                self.passed(body, &arguments, value, asked);
            }
        }
    }

    /// Parameters that must not be null where library functions get them as streams.
    fn streams(&mut self) {
        let is_one = |obligation: &&Obligation| invalid_stream::CHECK.is(obligation.check);
        for obligation in self.function.obligations.iter().filter(is_one) {
            for edge in self.function.edges.iter().filter(|edge| edge.to == obligation.error) {
                if let Op::Assume(Expr::Compare(CompareOp::Eq, stream, null)) = &edge.op
                    && **null == Expr::Null
                    && let Some(place) = self.origins.place(stream)
                    && let Origin::Parameter(at) = place.origin
                {
                    let uses = self.uses.entry(at).or_default();
                    (uses.is_stream, uses.is_used) = (true, true);
                }
            }
        }
    }

    fn passed(&mut self, callee: &Function, arguments: &[Option<&Expr>], value: &Expr, asked: &Asked) {
        let Some(place) = self.origins.place(value) else { return };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) => return self.follows(value),
            Origin::Allocated => return,
        };
        if !place.offset.is_zero() && place.local.is_none() {
            return;
        }
        let uses = self.uses.entry(at).or_default();
        uses.is_used = true;
        let memory = match &asked.memory {
            Memory::Until(end) => {
                let end = arguments.get(*end).copied().flatten().and_then(|end| self.origins.place(end));
                match end.map(|end| (end.origin, end.offset.is_zero())) {
                    Some((Origin::Parameter(end), true)) if end != at => {
                        uses.compared.insert(end);
                    }
                    _ => {}
                }
                None
            }
            Memory::Elements(count, stride) => {
                uses.stride = Some(*stride);
                match at_call(callee, count, arguments) {
                    Some(Expr::Int(count, _)) => {
                        let bytes = u64::try_from(count).ok().and_then(|count| count.checked_mul(*stride));
                        bytes.map(Memory::Bytes)
                    }
                    Some(count) if over_parameters(self.function, &count) => {
                        Some(Memory::Elements(count, *stride))
                    }
                    Some(_) | None => None,
                }
            }
            // What it gives back is tried by itself.
            Memory::Tree(_) => {
                uses.follows = true;
                None
            }
            Memory::Allocated => return,
            Memory::Nothing | Memory::Bytes(_) | Memory::String | Memory::Structure => {
                Some(asked.memory.clone())
            }
        };
        match memory {
            Some(Memory::Bytes(bytes)) if place.offset.is_zero() => {
                uses.bytes = uses.bytes.max(i128::from(bytes))
            }
            Some(memory) if place.offset.is_zero() => uses.passed.push(memory),
            Some(Memory::String) => uses.ends = true,
            Some(_) | None => uses.varies = true,
        }
    }

    /// Conditions on memory, of obligations.
    fn demands(&mut self, condition: &Expr) {
        visit::walk(condition, &mut |part| match part {
            Expr::Memory(predicate, pointer, size) => self.demand(*predicate, pointer, size),
            Expr::Compare(_, lhs, rhs) if lhs.scalar() == Scalar::Pointer && **rhs != Expr::Null => {
                let origin = |pointer: &Expr| match self.origins.place(pointer)?.origin {
                    Origin::Parameter(at) => Some(at),
                    Origin::Loaded(_) | Origin::Allocated => None,
                };
                if let (Some(a), Some(b)) = (origin(lhs), origin(rhs))
                    && a != b
                {
                    self.uses.entry(a).or_default().compared.insert(b);
                    self.uses.entry(b).or_default().compared.insert(a);
                }
            }
            Expr::Compare(_, pointer, null) if **null == Expr::Null => {
                if let Some(place) = self.origins.place(pointer)
                    && let Origin::Parameter(at) = place.origin
                {
                    self.uses.entry(at).or_default();
                }
            }
            _ => {}
        });
    }

    fn demand(&mut self, predicate: MemoryPredicate, pointer: &Expr, size: &Expr) {
        let Some(place) = self.origins.place(pointer) else { return };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) => return self.follows(pointer),
            Origin::Allocated => return,
        };
        let uses = self.uses.entry(at).or_default();
        match predicate {
            MemoryPredicate::Terminated => (uses.ends, uses.is_used) = (true, true),
            MemoryPredicate::InBounds => {
                uses.is_used = true;
                match (size, &place.offset.terms[..]) {
                    (Expr::Int(size, _), []) => {
                        uses.bytes = uses.bytes.max(place.offset.bytes + size);
                        uses.varies |= place.offset.bytes < 0;
                    }
                    (Expr::Int(..), [(_, stride), ..]) => {
                        uses.varies = true;
                        uses.stride = Some(*stride);
                    }
                    (size, _) => uses.sizes.push(size.clone()),
                }
            }
            MemoryPredicate::Within
            | MemoryPredicate::SameObject
            | MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::Freeable
            | MemoryPredicate::Writable
            | MemoryPredicate::Callable
            | MemoryPredicate::Initialised
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => {}
        }
    }

    /// A pointer that was read from a structure is followed: of which parameter's, its text says.
    fn follows(&mut self, pointer: &Expr) {
        let origins = self.origins;
        let function = self.function;
        let mut seen = BTreeSet::new();
        let mut open = vec![pointer.clone()];
        while let Some(pointer) = open.pop() {
            let Some(place) = origins.place(&pointer) else { continue };
            match (place.origin, place.local) {
                (Origin::Parameter(at), _) => {
                    let uses = self.uses.entry(at).or_default();
                    (uses.follows, uses.is_used) = (true, true);
                }
                (Origin::Allocated, _) => {}
                (Origin::Loaded(_), Some(id)) => {
                    if seen.insert(id) {
                        let is_it = |dst: &Lvalue| super::origin::whole_pointer(function, dst) == Some(id);
                        for edge in &function.edges {
                            match &edge.op {
                                Op::Assign(dst, value) if is_it(dst) => open.push(value.clone()),
                                Op::Call(call) if call.dst.as_ref().is_some_and(is_it) => {
                                    open.extend(obligations::values(call).into_iter().flatten().cloned());
                                }
                                _ => {}
                            }
                        }
                    }
                }
                (Origin::Loaded(_), None) => {
                    if let Expr::Load(Lvalue { base: proofline_cfa::Base::Deref(pointer, _), .. }) =
                        &place.root
                    {
                        open.push(Expr::clone(pointer));
                    }
                }
            }
        }
    }
}

/// What to try for one pointer, weakest first where there is an order.
fn ladder(env: &Environment, function: &Function, at: usize, uses: &Uses) -> Vec<Memory> {
    let local = function.local(function.parameters[at]);
    let Some(pointee) = local.ty.pointee().map(proofline_cfa::Type::unqualified) else { return Vec::new() };
    let is_looked_into = uses.bytes > 0 || uses.varies || uses.ends || uses.follows || !uses.sizes.is_empty();
    if uses.is_stream && !is_looked_into {
        return vec![Memory::Nothing];
    }
    let size = types(env.program()).size(pointee).filter(|size| *size > 0);
    let mut ladder = Vec::new();
    let mut add = |memory: Memory| {
        if !ladder.contains(&memory) {
            ladder.push(memory);
        }
    };
    let is_record = matches!(pointee.kind(), TypeKind::Record(_));
    let whole = if is_record { size.unwrap_or(0) } else { 0 };
    let bytes = u64::try_from(uses.bytes).unwrap_or(0).max(whole);
    if is_record && (uses.follows || uses.passed.contains(&Memory::Structure)) {
        add(Memory::Structure);
    }
    if !uses.varies
        && uses.sizes.is_empty()
        && !uses.ends
        && uses.passed.is_empty()
        && bytes > 0
        && !uses.follows
    {
        add(Memory::Bytes(bytes));
    }
    // Of an array that is a member its length says where it ends.
    if is_record && uses.varies && uses.sizes.is_empty() && !uses.ends && bytes > 0 && !uses.follows {
        add(Memory::Bytes(bytes));
    }
    uses.passed.iter().for_each(|memory| add(memory.clone()));
    uses.compared.iter().for_each(|end| add(Memory::Until(*end)));
    let is_text = is_character(pointee);
    if uses.ends || is_text && uses.varies && !uses.written {
        add(Memory::String);
    }
    let stride = uses.stride.or(size).unwrap_or(1);
    for size in uses.sizes.iter().filter(|size| over_parameters(function, size)) {
        add(Memory::Elements(size.clone(), 1));
    }
    if uses.varies || !uses.sizes.is_empty() {
        for count in counts(function, at).into_iter().take(COUNTS) {
            add(Memory::Elements(count, if uses.varies { stride } else { 1 }));
        }
    }
    if uses.varies && counts(function, at).is_empty() {
        let sizes = limits(env, function).into_iter().filter_map(|count| count.checked_mul(stride));
        sizes.filter(|size| *size > bytes).take(LIMITS).for_each(|size| add(Memory::Bytes(size)));
    }
    if is_text && uses.varies {
        add(Memory::String);
    }
    if is_text && !uses.written && !ladder.contains(&Memory::String) {
        ladder.push(Memory::String);
    }
    if ladder.is_empty() && bytes > 0 {
        ladder.push(Memory::Bytes(bytes));
    }
    ladder
}
