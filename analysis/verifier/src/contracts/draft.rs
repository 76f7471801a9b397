//! What a function may ask of its callers: guesses that are made from what it does with its parameters, from what it calls with them, and from
//! their types. Whether they are enough, engines say; here it is only decided what is tried, and what is tried next.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Call, Callee, CompareOp, Expr, Name, Type};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    Asked, Contract, Contracts, Fact, Memory, OfRecord,
    acsl::is_end,
    hooks::{self, HookPlace, Hooks},
    obligations,
    origin::{Given, Origin, Origins, Structures, is_character},
    record_invariants::{Rooms, record_of, written},
    separated,
};

mod given_back;
mod ladder;
mod parameters;
mod uses;

use given_back::given_back;
use ladder::ladder;
use parameters::{factors_of, is_moved, not_nan, starts, stored, tables_fit, walked};
use uses::{Look, Uses};

/// What is tried for a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Draft {
    /// For each pointer parameter of which anything is needed: what to try, one after the other.
    ladders: BTreeMap<usize, Vec<Memory>>,
    /// Signed parameters that places in memory are counted from.
    starts: Vec<Expr>,
    /// That parameters are not NaN.
    numbers: Vec<Expr>,
    /// Products of parameters, and that they are numbers of the type in which places in tables are computed.
    tables: BTreeMap<Expr, Expr>,
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
    /// What may hold of records that parameters lead to.
    records: BTreeMap<usize, BTreeSet<Fact>>,
    /// Parameters through which is written before a string is read that another one leads to.
    separated: BTreeMap<usize, BTreeSet<usize>>,
    /// Their sizes.
    sizes: BTreeMap<usize, u64>,
    /// Those of them that the function may write, or what it calls.
    changed: BTreeSet<usize>,
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

    /// The contract where records are as they should be when the function is called, and when it returns, if it does not say so.
    pub(crate) fn with_records(&self, last: &Contract) -> Option<Contract> {
        let of = |facts: &BTreeSet<Fact>, is_changed: bool| {
            let left = if is_changed { facts.clone() } else { BTreeSet::new() };
            OfRecord { asked: facts.clone(), left }
        };
        self.of_records(last, |at| self.records.get(&at).map(|facts| of(facts, self.changed.contains(&at))))
    }

    /// The contract where records are as they should be when the function returns, if it does not speak of them, and the function writes some.
    pub(crate) fn leaving(&self, last: &Contract) -> Option<Contract> {
        let of = |facts: &BTreeSet<Fact>| OfRecord { asked: BTreeSet::new(), left: facts.clone() };
        self.of_records(last, |at| self.records.get(&at).filter(|_| self.changed.contains(&at)).map(of))
    }

    fn of_records(&self, last: &Contract, of: impl Fn(usize) -> Option<OfRecord>) -> Option<Contract> {
        if self.is_written() || !last.records.is_empty() {
            return None;
        }
        let is_record = |(_, asked): &(&usize, &Asked)| match asked.memory {
            Memory::Bytes(_) | Memory::Structure | Memory::Tree(_) => true,
            Memory::Nothing
            | Memory::Elements(..)
            | Memory::Until(_)
            | Memory::String
            | Memory::Allocated => false,
        };
        let given = last.pointers.iter().filter(is_record);
        let records: BTreeMap<usize, OfRecord> = given.filter_map(|(at, _)| Some((*at, of(*at)?))).collect();
        if records.is_empty() {
            return None;
        }
        let mut next = Contract { records, ..last.clone() };
        for (at, of) in &next.records {
            let asks = !of.asked.is_empty();
            next.pointers.entry(*at).and_modify(|asked| asked.or_null &= !asks);
            // Where it is said what the record leads to, it need not be a whole structure.
            if let Some(asked) = next.pointers.get_mut(at)
                && asked.memory == Memory::Structure
                && of.asked.iter().any(|fact| fact.room().is_some())
                && let Some(size) = self.sizes.get(at)
            {
                asked.memory = Memory::Bytes(*size);
            }
        }
        Some(next)
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
        self.with_separated(Contract { pointers: pointers.collect(), ..Contract::default() })
    }

    /// The contract in which strings are in other objects than what is written before they are read.
    fn with_separated(&self, mut contract: Contract) -> Contract {
        let strings = contract.pointers.iter().filter(|(_, asked)| asked.memory == Memory::String);
        let others = |at: usize| self.separated.get(&at).into_iter().flatten().map(move |other| (at, *other));
        contract.separated = strings.flat_map(|(at, _)| others(*at)).collect();
        contract
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
                // A record of which more is said is no part of the ladder.
                let next = match now {
                    Some(now) => Some(now + 1),
                    None => last.records.contains_key(at).then_some(0),
                };
                if let Some(stronger) = next.and_then(|next| ladder.get(next)) {
                    asked.memory = stronger.clone();
                    asked.or_null &= !matches!(stronger, Memory::Until(_));
                }
            }
        }
        (next.pointers != last.pointers).then(|| self.with_separated(next))
    }

    /// What is tried where no other memory is asked of first: no number of elements is negative; then, there is at least one element; then, no place
    /// is counted from a negative number.
    pub(crate) fn with_numbers(&self, last: &Contract) -> Option<Contract> {
        if self.is_written() {
            return None;
        }
        let counts: BTreeSet<&Expr> =
            last.pointers.values().flat_map(|asked| counted(&asked.memory)).collect();
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
        let tables = last.pointers.values().filter_map(|asked| match &asked.memory {
            Memory::Elements(count, _) => self.tables.get(count).cloned(),
            _ => None,
        });
        let always: BTreeSet<Expr> = tables.chain(self.numbers.iter().cloned()).collect();
        let always: Vec<Expr> = always.into_iter().collect();
        let mut levels: Vec<Vec<Expr>> = [CompareOp::Ge, CompareOp::Gt].map(all).into();
        levels.push(starts);
        levels.iter_mut().for_each(|level| level.extend(always.iter().cloned()));
        levels.insert(0, always);
        let mut seen = BTreeSet::new();
        levels.retain(|level| !level.is_empty() && seen.insert(level.clone()));
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

/// The parameters that say how many elements there are.
fn counted(memory: &Memory) -> Vec<&Expr> {
    match memory {
        Memory::Elements(count, _) => factors_of(count),
        Memory::Nothing
        | Memory::Bytes(_)
        | Memory::Until(_)
        | Memory::String
        | Memory::Allocated
        | Memory::Tree(_)
        | Memory::Structure => Vec::new(),
    }
}

/// What to try for a function whose callees have these contracts, where this may hold of records.
pub(crate) fn draft(
    env: &Environment,
    name: Name,
    callees: &Contracts,
    invariants: &BTreeMap<Name, BTreeSet<Fact>>,
) -> Draft {
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
    let origins =
        Origins::of(env.program(), function, &all, (records, Rooms::default()), &[], &|_| true, &results);
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
            Origin::Parameter(_) | Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
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
    let separated = separated::needed(function, &origins);
    let stored = stored(env, function, &origins);
    let numbers = not_nan(env, function);
    let mut records = BTreeMap::new();
    let (mut sizes, mut changed) = (BTreeMap::new(), BTreeSet::new());
    for at in parameters {
        let Some(record) = record_of(function, at) else { continue };
        let Some(facts) = invariants.get(&record) else { continue };
        records.insert(at, facts.clone());
        sizes.extend(env.program().records.get(&record).map(|record| (at, record.size)));
        let called = env.call_graph().reachable([name]);
        if called
            .iter()
            .filter_map(|name| env.function(*name))
            .any(|body| written(body).iter().any(|member| member.record == record))
        {
            changed.insert(at);
        }
    }
    let counts = ladders.values().flatten().filter_map(|memory| match memory {
        Memory::Elements(count, _) => Some((count.clone(), tables_fit(function, count)?)),
        _ => None,
    });
    let (tables, written) = (counts.collect(), None);
    Draft {
        tables,
        ladders,
        starts,
        numbers,
        hooks,
        is_hooked,
        stored,
        trees,
        keeping,
        records,
        separated,
        sizes,
        changed,
        written,
    }
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
