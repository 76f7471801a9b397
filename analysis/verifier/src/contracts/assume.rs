//! The automaton of a function that was called as its contract says. Beside each pointer that was made from a parameter stands how far it has
//! moved, and of strings how many bytes are left; conditions on memory become comparisons of these numbers, which every engine understands. Where it calls
//! functions that have contracts, keeping those is an obligation.
//!
//! **Law.** Each run of the function whose caller keeps the contract is a run of the new automaton, as long as nothing fails; and where an obligation of
//! the function fails in it, the obligation of the same number fails there, or one before it that stands for what it says of lives.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Allocation, Base, BinaryOp, Call, Callee, Cause, CompareOp, Edge, EdgeId, Expr, Function, Loc, Local,
    LocalId, Lvalue, MemoryPredicate, Name, Obligation, ObligationId, Op, Program, Quantity, Role, Scalar,
    Site, Step, Type, expr_text, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::{Environment, fresh::Fresh};

use super::{
    Asked, Contract, Contracts, Memory, Tree, at_call,
    bytes::{
        self, MOST, and, at_most, compare, difference, is_not_null, is_null, number, or, plus, sum, times,
        truth, widened,
    },
    guards,
    hooks::{self, HookPlace},
    named::{Named, named},
    obligations,
    origin::{Offset, Origin, Origins, Place, Structures, is_character, types, whole_pointer},
    owned::{self, Owned},
    record_invariants::{self, Fact, Rooms, Told},
    replaced, separated, text,
    whole::Wholes,
    writes::{self, Stays, stays},
};
use crate::checks::{library_call, precondition};

/// Ranges from one parameter to another: each pointer belongs to one of them.
fn ends(own: &Contract, is_known: &dyn Fn(&usize) -> bool) -> Vec<(usize, usize)> {
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for (start, asked) in &own.pointers {
        let Memory::Until(end) = asked.memory else { continue };
        let is_free = !own.pointers.contains_key(&end) && ends.iter().all(|(_, other)| *other != end);
        if !asked.or_null && is_known(start) && is_known(&end) && is_free {
            ends.push((*start, end));
        }
    }
    ends
}

mod body;
mod bytes_read;
mod ends;
mod numbers;
mod rooms;

/// A function that was called as its contract says.
#[derive(Debug)]
pub(crate) struct Assumed {
    /// The program with it.
    pub(crate) program: Program,
    /// Which parameter each obligation that speaks of memory is about, by its number.
    pub(crate) about: BTreeMap<ObligationId, usize>,
    /// Which pointer to a function must not be null, by the number of the obligation.
    pub(crate) through: BTreeMap<ObligationId, HookPlace>,
    /// Obligations that say a part of another one, and which.
    pub(crate) parts: BTreeMap<ObligationId, ObligationId>,
    /// The obligations that functions which are called make.
    pub(crate) calls: BTreeSet<ObligationId>,
    /// If this one holds, no caller can keep the contract.
    pub(crate) callers: Option<ObligationId>,
    /// The obligations that say how the function leaves a record, and of which parameter.
    pub(crate) returns: BTreeMap<ObligationId, (usize, Fact)>,
    /// Behind calls something is assumed that holds if they are what they should be.
    pub(crate) rests_on_calls: bool,
    /// The function frees nothing of callers but what the contract says that it may.
    pub(crate) is_contained: bool,
}

/// The program with the function as it runs where its caller keeps its contract. Its obligations keep their numbers; those at its calls come
/// behind them.
pub(crate) fn under(env: &Environment, name: Name, contracts: &Contracts) -> Option<Assumed> {
    let nothing = Contract::default();
    let own = contracts.get(&name).unwrap_or(&nothing);
    let hooked = (!own.hooks.is_empty()).then(|| hooks::assumed(env, &own.hooks));
    let freed = hooks::freed(env.program(), env.function(name)?, &own.hooks);
    let env = hooked.as_ref().unwrap_or(env);
    let looked = guards::looked_into(env.program(), name).map(|(function, calls)| {
        let mut program = env.program().clone();
        program.functions.insert(name, Arc::new(function));
        (env.again(program), calls)
    });
    let env = looked.as_ref().map_or(env, |(env, _)| env);
    let told = record_invariants::told(env, name, own, contracts).map(|told| {
        let mut program = env.program().clone();
        program.functions.insert(name, Arc::new(told.function));
        let Told { obligations, returns, assumed, rests_on_calls, .. } = told;
        (env.again(program), obligations, returns, assumed, rests_on_calls)
    });
    let env = told.as_ref().map_or(env, |(env, ..)| env);
    let function = env.function(name)?;
    let fresh = Fresh::of(env, [name]);
    let memory = writes::Memory::of(env, &fresh, name);
    let all = contracts.values().flat_map(|contract| contract.records.values());
    let facts = all.flat_map(|of| of.asked.iter().chain(&of.left));
    let spoken_of = facts.flat_map(Fact::members).map(|member| (member.record, member.offset)).collect();
    let rooms = Rooms::of(&memory, function, own, contracts);
    let named = named(env, &memory, function, &spoken_of, &rooms);
    let mut maker = Maker::new(&memory, &named, own, contracts);
    maker.told = told.iter().flat_map(|(_, _, _, assumed, _)| assumed).copied().collect();
    maker.freed = freed;
    maker.calls.extend(looked.iter().flat_map(|(_, calls)| calls));
    maker.calls.extend(told.iter().flat_map(|(_, calls, ..)| calls));
    maker.edges();
    maker.entry();
    maker.bury();
    let Maker { out, about, through, parts, calls, callers, owned, .. } = maker;
    let mut program = env.program().clone();
    program.functions.insert(name, Arc::new(out));
    let is_contained = owned.is_contained;
    let rests_on_calls = told.as_ref().is_some_and(|(.., rests)| *rests);
    let returns = told.map(|(_, _, returns, ..)| returns).unwrap_or_default();
    Some(Assumed { program, about, through, parts, calls, callers, returns, rests_on_calls, is_contained })
}

/// The numbers beside a pointer.
#[derive(Clone, Copy, Debug, Default)]
struct Ghosts {
    /// How far it is from where its origin points.
    moved: Option<LocalId>,
    /// How many bytes are left of its string, the 0 included.
    left: Option<LocalId>,
}

struct Maker<'a> {
    env: &'a Environment,
    program: &'a Program,
    named: &'a Named,
    function: &'a Function,
    own: &'a Contract,
    contracts: &'a Contracts,
    origins: Origins<'a>,
    stays: Stays,
    /// By parameter that is a string, the places that are reached after a write that may be one to the string.
    beside: BTreeMap<usize, BTreeSet<Loc>>,
    /// Edges that assume what is known of records.
    told: BTreeSet<EdgeId>,
    /// Pointers into rooms of which it is not known at this place whether they are null.
    open: BTreeSet<LocalId>,
    /// Some rooms are the function's own.
    has_new_rooms: bool,
    /// What it holds of the trees that it was given.
    owned: Owned,
    ghosts: BTreeMap<LocalId, Ghosts>,
    /// How many elements there are from a parameter up to another: by the first, the second, and the number.
    reaches: BTreeMap<usize, (usize, LocalId)>,
    /// Values of integer parameters at the entry, of those that change.
    at_entry: BTreeMap<LocalId, LocalId>,
    /// Origins with pointers that may move back, or by numbers that the text does not say.
    moved_back: Vec<Origin>,
    /// What was read last of bytes of strings.
    bytes: BTreeMap<bytes_read::Byte, LocalId>,
    /// The place of the function that is looked at.
    at: Loc,
    out: Function,
    about: BTreeMap<ObligationId, usize>,
    through: BTreeMap<ObligationId, HookPlace>,
    parts: BTreeMap<ObligationId, ObligationId>,
    calls: BTreeSet<ObligationId>,
    callers: Option<ObligationId>,
    /// What is given to functions that behave as `free`, in the words of the text.
    freed: BTreeMap<EdgeId, Expr>,
    /// Edges of the function that others took the place of.
    dead: BTreeSet<usize>,
}

impl<'a> Maker<'a> {
    fn new(
        memory: &'a writes::Memory<'a>,
        named: &'a Named,
        own: &'a Contract,
        contracts: &'a Contracts,
    ) -> Maker<'a> {
        let env = memory.env();
        let (program, function) = (env.program(), &named.function);
        let is_known = |at: &usize| {
            function.parameters.get(*at).is_some_and(|id| {
                let local = function.local(*id);
                !local.address_taken && matches!(local.ty.kind(), TypeKind::Pointer(_))
            })
        };
        let asked = own.pointers.iter().filter(|(at, _)| is_known(at));
        let may_be_null: Vec<(usize, bool)> = asked.clone().map(|(at, asked)| (*at, asked.or_null)).collect();
        let structures =
            asked.filter(|(_, asked)| matches!(asked.memory, Memory::Structure | Memory::Tree(_)));
        let parameters: BTreeSet<usize> = structures.map(|(at, _)| *at).collect();
        let has_trees = own.pointers.values().any(|asked| matches!(asked.memory, Memory::Tree(_)));
        let structures = Structures { parameters, owned: has_trees.then(|| owned::members(own)) };
        let ends = ends(own, &is_known);
        let rooms = Rooms::of(memory, function, own, contracts);
        // Stores keep structures whole if what they store leads to whole ones, which hangs on what was stored before. Where all of them that are left
        // are such, each is by induction over the steps of a run.
        let wholes = Wholes::of(env, memory);
        let candidates = function.edge_ids().filter(|(_, edge)| Wholes::is_candidate(&edge.op));
        let mut whole: BTreeSet<EdgeId> = candidates.map(|(id, _)| id).collect();
        let (stays, origins) = loop {
            let stays = stays(memory, function.name, &whole);
            let known = |at: Loc| stays.structures(named.before(at));
            let results = |origins: &Origins<'_>, call: &Call| wholes.results(origins, call);
            let given = (structures.clone(), rooms.clone());
            let origins = Origins::of(program, function, &may_be_null, given, &ends, &known, &results);
            let is_string =
                |at: usize| own.pointers.get(&at).is_some_and(|asked| asked.memory == Memory::String);
            let count = whole.len();
            whole.retain(|id| {
                let edge = function.edge(*id);
                let is_text = |at: usize| is_string(at) && stays.strings(named.before(edge.from));
                known(edge.from) && wholes.keeps(&origins, &edge.op, &is_text)
            });
            if whole.len() == count {
                break (stays, origins);
            }
        };
        let strings: BTreeSet<usize> = own.separated.iter().flat_map(|(one, other)| [*one, *other]).collect();
        let beside = strings.into_iter().map(|string| {
            let is_beside = |id: EdgeId| {
                let other = separated::written_through(&origins, &function.edge(id).op);
                other.is_some_and(|other| own.are_separated(string, other))
            };
            (string, writes::written_beside(memory, function.name, &is_beside))
        });
        let beside = beside.collect();
        let is_new = |edge: &Edge| matches!(&edge.op, Op::Allocate(allocation) if whole_pointer(function, &allocation.dst).is_some_and(|id| rooms.has(id)));
        let has_new_rooms = function.edges.iter().any(is_new);
        let mut maker = Maker {
            env,
            program,
            named,
            function,
            own,
            contracts,
            origins,
            stays,
            beside,
            told: BTreeSet::new(),
            open: BTreeSet::new(),
            has_new_rooms,
            owned: Owned::of(memory, function, own, contracts),
            ghosts: BTreeMap::new(),
            reaches: BTreeMap::new(),
            at_entry: BTreeMap::new(),
            moved_back: Vec::new(),
            bytes: BTreeMap::new(),
            at: function.entry,
            out: function.clone(),
            about: BTreeMap::new(),
            through: BTreeMap::new(),
            parts: BTreeMap::new(),
            calls: BTreeSet::new(),
            callers: None,
            freed: BTreeMap::new(),
            dead: BTreeSet::new(),
        };
        for (start, end) in ends {
            let name = maker.function.local(maker.function.parameters[start]).name;
            let ghost = maker.fresh(&format!("reach_{name}"));
            maker.reaches.insert(start, (end, ghost));
        }
        maker.moved_back = maker.moved_back();
        maker.make_ghosts();
        maker
    }

    /// Whether strings of callers end where they ended, or before, at a location.
    fn strings_stay(&self, at: Loc, origin: Origin) -> bool {
        let before = self.named.before(at);
        let is_beside = |at: usize| self.beside.get(&at).is_some_and(|written| !written.contains(&before));
        self.stays.strings(before) || matches!(origin, Origin::Parameter(at) if is_beside(at))
    }

    /// Whether pointers in structures of callers lead where they led.
    fn structures_stay(&self, at: Loc) -> bool {
        self.stays.structures(self.named.before(at))
    }

    fn moved_back(&self) -> Vec<Origin> {
        const STEP: i128 = 1 << 16;
        let back = self.function.edges.iter().filter_map(|edge| match &edge.op {
            Op::Assign(dst, value) if whole_pointer(self.function, dst).is_some() => {
                let place = self.origins.place(value)?;
                let offset = &place.offset;
                let is_forward = offset.terms.is_empty() && (0..=STEP).contains(&offset.bytes);
                (!is_forward).then_some(place.origin)
            }
            _ => None,
        });
        back.collect()
    }

    fn only_forward(&self, origin: Origin) -> bool {
        !self.moved_back.contains(&origin)
    }

    fn fresh(&mut self, text: &str) -> LocalId {
        let id = LocalId(self.out.locals.len() as u32);
        let name = Name::new(&format!("{text}#contract"));
        let local =
            Local { name, ty: bytes::bytes_type(), role: Role::Variable, address_taken: false, size: 8 };
        self.out.locals.push(local);
        id
    }

    fn memory(&self, origin: Origin) -> Memory {
        match origin {
            Origin::Parameter(at) => match self.own.pointers.get(&at).map(|asked| &asked.memory) {
                Some(Memory::Until(_)) if !self.reaches.contains_key(&at) => Memory::Nothing,
                Some(Memory::Tree(_)) => Memory::Structure,
                Some(Memory::Allocated) => Memory::Nothing,
                Some(memory) => memory.clone(),
                None => Memory::Nothing,
            },
            Origin::Loaded(ty) if is_character(ty) => Memory::String,
            Origin::Loaded(_) => Memory::Structure,
            Origin::Allocated | Origin::Room => Memory::Nothing,
        }
    }

    fn make_ghosts(&mut self) {
        let locals: Vec<(LocalId, Origin)> = self.origins.locals().collect();
        for (id, origin) in locals {
            let is_fixed = !self.origins.is_written(id);
            let name = self.function.local(id).name;
            let mut ghosts = Ghosts::default();
            match self.memory(origin) {
                Memory::Nothing if matches!(origin, Origin::Allocated | Origin::Room) => {
                    let is_needed = !self.only_forward(origin);
                    ghosts.moved = is_needed.then(|| self.fresh(&format!("moved_{name}")));
                    ghosts.left = Some(self.fresh(&format!("left_{name}")));
                }
                Memory::Nothing | Memory::Structure | Memory::Allocated | Memory::Tree(_) => {}
                Memory::Bytes(_) | Memory::Elements(..) => {
                    ghosts.moved = (!is_fixed).then(|| self.fresh(&format!("moved_{name}")));
                }
                // The end is not where the start is.
                Memory::Until(_) => ghosts.moved = Some(self.fresh(&format!("moved_{name}"))),
                Memory::String => {
                    let is_needed = !is_fixed && !self.only_forward(origin);
                    ghosts.moved = is_needed.then(|| self.fresh(&format!("moved_{name}")));
                    ghosts.left = Some(self.fresh(&format!("left_{name}")));
                }
            }
            self.ghosts.insert(id, ghosts);
        }
        let mut read = BTreeSet::new();
        for asked in self.own.pointers.values() {
            if let Memory::Elements(count, _) = &asked.memory {
                proofline_cfa::visit::reads_of_expr(count, &mut |lvalue| {
                    if let proofline_cfa::Base::Local(id) = lvalue.base {
                        read.insert(id);
                    }
                });
            }
        }
        for id in read {
            if self.origins.is_written(id) || self.function.local(id).address_taken {
                let local = self.function.local(id).clone();
                let ghost = LocalId(self.out.locals.len() as u32);
                let name = Name::new(&format!("{}#entry", local.name));
                self.out.locals.push(Local { name, role: Role::Variable, address_taken: false, ..local });
                self.at_entry.insert(id, ghost);
            }
        }
    }

    /// An expression of the contract, as its value was at the entry.
    fn entry_value(&self, expr: &Expr) -> Expr {
        let entry = |load: &Expr| {
            let Expr::Load(lvalue) = load else { return None };
            let proofline_cfa::Base::Local(id) = lvalue.base else { return Some(load.clone()) };
            let Some(ghost) = self.at_entry.get(&id) else { return Some(load.clone()) };
            Some(Expr::Load(Lvalue { base: proofline_cfa::Base::Local(*ghost), ..lvalue.clone() }))
        };
        replaced(expr, &entry).unwrap_or_else(|| expr.clone())
    }
}
