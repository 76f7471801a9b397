//! The automaton of a function that was called as its contract says. Beside each pointer that was made from a parameter stands how far it has
//! moved, and of strings how many bytes are left; conditions on memory become comparisons of these numbers, which every engine understands. Where it calls
//! functions that have contracts, keeping those is an obligation.
//!
//! **Law.** Each run of the function whose caller keeps the contract is a run of the new automaton, as long as nothing fails; and where an obligation of
//! the function fails in it, the obligation of the same number fails there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, BinaryOp, Call, Callee, Cause, CompareOp, Edge, EdgeId, Expr, Function, Loc, Local, LocalId,
    Lvalue, MemoryPredicate, Name, Obligation, ObligationId, Op, Program, Quantity, Role, Scalar, Site,
    expr_text, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    Asked, Contract, Contracts, Memory, at_call,
    bytes::{
        self, MOST, and, at_most, compare, difference, is_not_null, is_null, number, or, plus, sum, times,
        truth, widened,
    },
    origin::{Offset, Origin, Origins, Place, is_character, types, whole_pointer},
    replaced, text,
    writes::{Stays, stays},
};
use crate::checks::{library_call, precondition};

/// A function that was called as its contract says.
#[derive(Debug)]
pub(crate) struct Assumed {
    /// The program with it.
    pub(crate) program: Program,
    /// Which parameter each obligation that speaks of memory is about, by its number.
    pub(crate) about: BTreeMap<ObligationId, usize>,
    /// The obligations that functions which are called make.
    pub(crate) calls: BTreeSet<ObligationId>,
    /// If this one holds, no caller can keep the contract.
    pub(crate) callers: Option<ObligationId>,
}

/// The program with the function as it runs where its caller keeps its contract. Its obligations keep their numbers; those at its calls come
/// behind them.
pub(crate) fn under(env: &Environment, name: Name, contracts: &Contracts) -> Option<Assumed> {
    let function = env.function(name)?;
    let nothing = Contract::default();
    let own = contracts.get(&name).unwrap_or(&nothing);
    let mut maker = Maker::new(env, function, own, contracts);
    maker.edges();
    maker.entry();
    maker.bury();
    let (function, about, calls, callers) = (maker.out, maker.about, maker.calls, maker.callers);
    let mut program = env.program().clone();
    program.functions.insert(name, Arc::new(function));
    Some(Assumed { program, about, calls, callers })
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
    function: &'a Function,
    own: &'a Contract,
    contracts: &'a Contracts,
    origins: Origins<'a>,
    stays: Stays,
    ghosts: BTreeMap<LocalId, Ghosts>,
    /// Values of integer parameters at the entry, of those that change.
    at_entry: BTreeMap<LocalId, LocalId>,
    /// Origins all of whose pointers only move forward, by what is written in the text.
    only_forward: bool,
    out: Function,
    about: BTreeMap<ObligationId, usize>,
    calls: BTreeSet<ObligationId>,
    callers: Option<ObligationId>,
    /// Edges of the function that others took the place of.
    dead: BTreeSet<usize>,
}

impl<'a> Maker<'a> {
    fn new(
        env: &'a Environment,
        function: &'a Function,
        own: &'a Contract,
        contracts: &'a Contracts,
    ) -> Maker<'a> {
        let program = env.program();
        let is_known = |at: &usize| {
            function.parameters.get(*at).is_some_and(|id| {
                let local = function.local(*id);
                !local.address_taken && matches!(local.ty.kind(), TypeKind::Pointer(_))
            })
        };
        let asked = own.pointers.iter().filter(|(at, _)| is_known(at));
        let may_be_null: Vec<(usize, bool)> = asked.clone().map(|(at, asked)| (*at, asked.or_null)).collect();
        let stays = stays(env, function.name);
        let structures = asked.filter(|(_, asked)| asked.memory == Memory::Structure && stays.structures);
        let structures = structures.map(|(at, _)| *at).collect();
        let origins = Origins::of(program, function, &may_be_null, structures);
        let mut maker = Maker {
            env,
            program,
            function,
            own,
            contracts,
            origins,
            stays,
            ghosts: BTreeMap::new(),
            at_entry: BTreeMap::new(),
            only_forward: true,
            out: function.clone(),
            about: BTreeMap::new(),
            calls: BTreeSet::new(),
            callers: None,
            dead: BTreeSet::new(),
        };
        maker.only_forward = maker.moves_only_forward();
        maker.make_ghosts();
        maker
    }

    fn moves_only_forward(&self) -> bool {
        const STEP: i128 = 1 << 16;
        self.function.edges.iter().all(|edge| match &edge.op {
            Op::Assign(dst, value) if whole_pointer(self.function, dst).is_some() => {
                let offset = self.origins.place(value).map(|place| place.offset);
                offset.is_none_or(|offset| offset.terms.is_empty() && (0..=STEP).contains(&offset.bytes))
            }
            _ => true,
        })
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
            Origin::Parameter(at) => {
                self.own.pointers.get(&at).map_or(Memory::Nothing, |asked| asked.memory.clone())
            }
            Origin::Loaded(ty) if is_character(ty) => Memory::String,
            Origin::Loaded(_) => Memory::Structure,
        }
    }

    fn make_ghosts(&mut self) {
        let locals: Vec<(LocalId, Origin)> = self.origins.locals().collect();
        for (id, origin) in locals {
            let is_fixed = !self.origins.is_written(id);
            let name = self.function.local(id).name;
            let mut ghosts = Ghosts::default();
            match self.memory(origin) {
                Memory::Nothing | Memory::Structure => {}
                Memory::Bytes(_) | Memory::Elements(..) => {
                    ghosts.moved = (!is_fixed).then(|| self.fresh(&format!("moved_{name}")));
                }
                Memory::String => {
                    let is_needed = !is_fixed && !self.only_forward;
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

    // --- Places as numbers -------------------------------------------------------------------------------------------------

    fn ghosts_of(&self, place: &Place) -> Ghosts {
        place.local.and_then(|id| self.ghosts.get(&id).copied()).unwrap_or_default()
    }

    fn path(offset: &Offset) -> Expr {
        let start = number(offset.bytes);
        offset.terms.iter().fold(start, |all, (index, stride)| sum(all, times(widened(index), *stride)))
    }

    /// The number with the steps of a place added.
    fn stepped(from: Expr, offset: &Offset) -> Expr {
        let indices =
            offset.terms.iter().fold(from, |all, (index, stride)| sum(all, times(widened(index), *stride)));
        plus(indices, offset.bytes)
    }

    /// How far a pointer is from where its origin points.
    fn moved(&self, place: &Place) -> Expr {
        let root = self.ghosts_of(place).moved.map_or_else(|| number(0), bytes::load);
        Self::stepped(root, &place.offset)
    }

    /// How many bytes of its string are left behind a pointer.
    fn left(&self, place: &Place) -> Option<Expr> {
        let left = bytes::load(self.ghosts_of(place).left?);
        let indices = place
            .offset
            .terms
            .iter()
            .fold(left, |all, (index, stride)| difference(all, times(widened(index), *stride)));
        Some(plus(indices, -place.offset.bytes))
    }

    /// Whether a pointer into a string is not before its start.
    fn is_behind_start(&self, place: &Place) -> Expr {
        if self.only_forward || self.ghosts_of(place).moved.is_none() {
            let is_forward = place.offset.terms.is_empty() && place.offset.bytes >= 0;
            return if is_forward { truth(true) } else { at_most(Self::path(&place.offset), number(MOST)) };
        }
        at_most(self.moved(place), number(MOST))
    }

    /// Whether so many bytes from a pointer on are in its object, if that is a matter of numbers.
    fn inside(&self, place: &Place, size: &Expr) -> Option<Expr> {
        let size = widened(size);
        let condition = match self.memory(place.origin) {
            Memory::Nothing => return None,
            Memory::Bytes(bytes) => within(self.moved(place), &size, &number(i128::from(bytes))),
            Memory::Structure => {
                let ty = self.origins.pointee(place.origin)?;
                let bytes = types(self.program).size(ty)?;
                within(Self::path(&place.offset), &size, &number(i128::from(bytes)))
            }
            Memory::Elements(count, stride) => {
                let count = self.entry_value(&count);
                if let Some(condition) = self.element(place, &size, &count, stride) {
                    return Some(self.unless_null(place, condition));
                }
                let all = times(widened(&count), stride);
                let is_size = at_most(widened(&count), number(MOST / i128::from(stride.max(1))));
                and(is_size, within(self.moved(place), &size, &all))
            }
            Memory::String => match self.left(place) {
                Some(left) => {
                    let is_there = and(at_most(size, left.clone()), at_most(left, number(MOST)));
                    and(is_there, self.is_behind_start(place))
                }
                // A string that was just read from a structure.
                None => truth(place.offset.is_zero() && size == number(1)),
            },
        };
        Some(self.unless_null(place, condition))
    }

    /// `p[i]` with elements of that size, `p` being what was passed.
    fn element(&self, place: &Place, size: &Expr, count: &Expr, stride: u64) -> Option<Expr> {
        let Expr::Int(size, _) = size else { return None };
        let (ty, counted) = (place.offset.terms.first()?.0.int_type()?, count.int_type()?);
        let [(index, step)] = &place.offset.terms[..] else { return None };
        let is_whole = *step == stride && place.offset.bytes == 0 && *size <= i128::from(stride);
        if !is_whole || self.ghosts_of(place).moved.is_some() || ty != counted {
            return None;
        }
        let is_less = compare(CompareOp::Lt, Expr::clone(index), count.clone());
        let is_not_negative = compare(CompareOp::Ge, Expr::clone(index), Expr::Int(0, ty));
        Some(if ty.signed { and(is_not_negative, is_less) } else { is_less })
    }

    /// A null pointer, and what is computed from one, leads nowhere.
    fn unless_null(&self, place: &Place, condition: Expr) -> Expr {
        if !self.origins.may_be_null(place) {
            return condition;
        }
        and(is_not_null(&place.root), condition)
    }

    /// Whether a pointer leads to a string, if that is a matter of numbers.
    fn ends(&self, place: &Place) -> Option<Expr> {
        if self.memory(place.origin) != Memory::String || !self.stays.strings {
            return None;
        }
        let Some(left) = self.left(place) else {
            return place.offset.is_zero().then(|| self.unless_null(place, truth(true)));
        };
        let is_there = and(at_most(number(1), left.clone()), at_most(left, number(MOST)));
        Some(self.unless_null(place, and(is_there, self.is_behind_start(place))))
    }

    /// A condition on memory, in numbers where that is possible, and the parameter that it is about.
    fn predicate(&self, predicate: MemoryPredicate, pointer: &Expr, size: &Expr) -> Option<(Expr, usize)> {
        let place = self.origins.place(pointer)?;
        let condition = match predicate {
            MemoryPredicate::InBounds => self.inside(&place, size)?,
            MemoryPredicate::Terminated => self.ends(&place)?,
            MemoryPredicate::NotFreed
            | MemoryPredicate::NotEnded
            | MemoryPredicate::Freeable
            | MemoryPredicate::Initialised
            | MemoryPredicate::WideTerminated
            | MemoryPredicate::NothingLost
            | MemoryPredicate::NothingLeft => return None,
        };
        let at = match place.origin {
            Origin::Parameter(at) => at,
            Origin::Loaded(_) => usize::MAX,
        };
        Some((condition, at))
    }

    /// The parameter whose memory a condition speaks of that is no matter of numbers under this contract.
    fn parameter_of(&self, predicate: MemoryPredicate, pointer: &Expr) -> Option<usize> {
        let is_room = matches!(predicate, MemoryPredicate::InBounds | MemoryPredicate::Terminated);
        match self.origins.place(pointer).filter(|_| is_room)?.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) => None,
        }
    }

    /// A condition with what it says of memory in numbers.
    fn translated(&self, condition: &Expr, about: &mut Option<usize>) -> Expr {
        let mut again = |expr: &Arc<Expr>| Arc::new(self.translated(expr, about));
        match condition {
            Expr::Memory(predicate, pointer, size) => match self.predicate(*predicate, pointer, size) {
                Some((condition, at)) => {
                    *about = Some(at);
                    condition
                }
                None => {
                    *about = about.or_else(|| self.parameter_of(*predicate, pointer));
                    condition.clone()
                }
            },
            Expr::Compare(op, lhs, rhs) => {
                let (lhs, rhs) = (again(lhs), again(rhs));
                Expr::Compare(*op, lhs, rhs)
            }
            Expr::Binary(op, lhs, rhs, site) => {
                let (lhs, rhs) = (again(lhs), again(rhs));
                Expr::Binary(*op, lhs, rhs, *site)
            }
            Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg), *site),
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Overflows(..)
            | Expr::PointerDifference(..) => condition.clone(),
        }
    }

    // --- Edges -------------------------------------------------------------------------------------------------------------

    fn location(&mut self) -> Loc {
        self.out.locations += 1;
        Loc(self.out.locations - 1)
    }

    fn push(&mut self, from: Loc, to: Loc, op: Op) {
        self.out.edges.push(Edge { from, to, op, site: Site::NOWHERE });
    }

    fn then(&mut self, from: Loc, op: Op) -> Loc {
        let to = self.location();
        self.push(from, to, op);
        to
    }

    fn edges(&mut self) {
        let errors: BTreeSet<Loc> =
            self.function.obligations.iter().map(|obligation| obligation.error).collect();
        let successors = self.function.successors();
        for (loc, ids) in successors.iter().enumerate() {
            let is_demand = ids.iter().any(|id| errors.contains(&self.function.edge(*id).to));
            if is_demand {
                self.demand(ids, &errors);
                continue;
            }
            let (mut at, learned) = self.reads(Loc(loc as u32), ids);
            for id in ids {
                at = self.before(at, &self.function.edge(*id).op.clone());
            }
            for id in ids {
                self.out.edges[id.index()].from = at;
                let op = self.out.edges[id.index()].op.clone();
                self.behind(id.index(), &op, &learned);
            }
        }
    }

    /// An obligation: its condition in numbers.
    fn demand(&mut self, ids: &[EdgeId], errors: &BTreeSet<Loc>) {
        let edges: Vec<&Edge> = ids.iter().map(|id| self.function.edge(*id)).collect();
        let [first, second] = edges[..] else { return };
        let (fails, passes) = if errors.contains(&first.to) { (first, second) } else { (second, first) };
        let (Op::Assume(failure), Op::Assume(condition)) = (&fails.op, &passes.op) else { return };
        let mut about = None;
        let mut new = self.translated(condition, &mut about);
        let obligation = self.function.obligation_at(fails.to);
        if new != *condition && obligation.is_some_and(|id| self.is_of_a_call(id)) {
            new = and(new, alive(condition));
        }
        if let Some(obligation) = obligation
            && let Some(at) = about.or_else(|| self.asked_not_null(failure))
        {
            self.about.insert(obligation, at);
        }
        if new != *condition {
            self.dead.extend(ids.iter().map(|id| id.index()));
            self.branch(fails.from, &new, Some(passes.to), Some(fails.to));
        }
    }

    /// Whether a library function makes the obligation. Nothing else asks then whether what it is given is alive.
    fn is_of_a_call(&self, id: ObligationId) -> bool {
        self.function
            .obligations
            .get(id.index())
            .is_some_and(|obligation| obligation.check == library_call::CHECK.id())
    }

    /// Goes to one location where the condition holds, to the other where it does not; what consists of several conditions becomes several branches.
    fn branch(&mut self, from: Loc, condition: &Expr, holds: Option<Loc>, fails: Option<Loc>) {
        match condition {
            Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, Some(middle), fails);
                self.branch(middle, rhs, holds, fails);
            }
            Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, holds, Some(middle));
                self.branch(middle, rhs, holds, fails);
            }
            Expr::Compare(CompareOp::Eq, inner, zero)
                if matches!(**zero, Expr::Int(0, _))
                    && matches!(**inner, Expr::Binary(BinaryOp::BitAnd | BinaryOp::BitOr, ..)) =>
            {
                self.branch(from, inner, fails, holds);
            }
            _ => {
                if let Some(to) = holds {
                    self.push(from, to, Op::Assume(condition.clone()));
                }
                if let Some(to) = fails {
                    self.push(from, to, Op::Assume(condition.negated()));
                }
            }
        }
    }

    /// Goes on only where the condition holds.
    fn assume(&mut self, at: Loc, condition: &Expr) -> Loc {
        let to = self.location();
        self.branch(at, condition, Some(to), None);
        to
    }

    /// The parameter that must not be null, of `p == null`.
    fn asked_not_null(&self, condition: &Expr) -> Option<usize> {
        let Expr::Compare(CompareOp::Eq, pointer, null) = condition else { return None };
        let place = self.origins.place(pointer).filter(|_| **null == Expr::Null)?;
        match place.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) => None,
        }
    }

    /// What happens to the numbers before an operation.
    fn before(&mut self, mut at: Loc, op: &Op) -> Loc {
        match op {
            Op::Assign(dst, value) => {
                if let Some(id) = whole_pointer(self.function, dst)
                    && self.ghosts.contains_key(&id)
                {
                    at = self.moves(at, id, value);
                }
            }
            Op::Call(call) => at = self.called(at, call),
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
        at
    }

    /// The local gets a pointer: its numbers become that pointer's.
    fn moves(&mut self, at: Loc, id: LocalId, value: &Expr) -> Loc {
        let Some(place) = self.origins.place(value) else { return at };
        let ghosts = self.ghosts[&id];
        if ghosts.moved.is_none() && ghosts.left.is_none() {
            return at;
        }
        let (moved, left) = (self.moved(&place), self.left(&place));
        let mut to = at;
        if let Some(ghost) = ghosts.moved {
            to = self.then(to, Op::Assign(bytes::local(ghost), moved));
        }
        if let Some(ghost) = ghosts.left {
            to = match left {
                Some(left) => self.then(to, Op::Assign(bytes::local(ghost), left)),
                // Read from a structure just now.
                None => self.begins_string(to, ghost),
            };
        }
        if !place.offset.is_zero() && self.origins.may_be_null(&place) {
            let (other, end) = (self.then(to, Op::Assume(is_null(&place.root))), self.location());
            self.push(to, end, Op::Assume(is_not_null(&place.root)));
            let mut from = other;
            for ghost in [ghosts.moved, ghosts.left].into_iter().flatten() {
                from = self.then(from, Op::Havoc(bytes::local(ghost), Cause::Indeterminate));
            }
            self.push(from, end, Op::Skip);
            to = end;
        }
        to
    }

    /// A string of any length.
    fn begins_string(&mut self, at: Loc, ghost: LocalId) -> Loc {
        let at = self.then(at, Op::Havoc(bytes::local(ghost), Cause::Indeterminate));
        let at = self.then(at, Op::Assume(at_most(number(1), bytes::load(ghost))));
        self.then(at, Op::Assume(at_most(bytes::load(ghost), number(MOST))))
    }

    /// Bytes of strings that the operations at a location read: the last one is 0. What is known of them then.
    fn reads(&mut self, mut at: Loc, ids: &[EdgeId]) -> (Loc, Vec<Expr>) {
        let mut learned = Vec::new();
        if !self.stays.strings {
            return (at, learned);
        }
        let mut bytes_read: Vec<Lvalue> = Vec::new();
        for id in ids {
            proofline_cfa::visit::reads(&self.function.edge(*id).op, &mut |lvalue| {
                let is_byte = matches!(lvalue.scalar, Some(Scalar::Int(ty)) if ty.bits == 8);
                if is_byte && lvalue.bits.is_none() && !bytes_read.contains(lvalue) {
                    bytes_read.push(lvalue.clone());
                }
            });
        }
        for lvalue in bytes_read {
            let Some(place) = self.origins.place(&Expr::Address(lvalue.clone())) else { continue };
            if self.memory(place.origin) != Memory::String {
                continue;
            }
            let (Some(left), Some(scalar)) = (self.left(&place), lvalue.scalar) else { continue };
            let ghost = LocalId(self.out.locals.len() as u32);
            let name = Name::new(&format!("byte{}#contract", ghost.0));
            let local = Local { name, ty: lvalue.ty, role: Role::Variable, address_taken: false, size: 1 };
            self.out.locals.push(local);
            let byte = Lvalue::local(ghost, lvalue.ty, scalar, 1);
            let value = Expr::Load(byte.clone());
            at = self.then(at, Op::Assign(byte, Expr::Load(lvalue.clone())));
            let is_not_last = compare(CompareOp::Ne, left, number(1));
            let known = or(is_not_last, compare(CompareOp::Eq, value.clone(), value.zero()));
            at = self.assume(at, &known);
            learned.push(known);
            for id in ids {
                let edge = &mut self.out.edges[id.index()];
                edge.op = with_byte(&edge.op, &lvalue, &value);
            }
        }
        (at, learned)
    }

    /// What is known behind an operation.
    fn behind(&mut self, edge: usize, op: &Op, learned: &[Expr]) {
        let mut known: Vec<Expr> = Vec::new();
        if let Op::Assume(condition) = op {
            known.extend(self.compared(condition));
            known.extend(learned.iter().cloned());
        }
        if let Op::Havoc(dst, _) = op {
            known.extend(self.library_result(dst));
        }
        let to = self.out.edges[edge].to;
        let Some((last, first)) = known.split_last() else { return };
        let mut at = self.location();
        self.out.edges[edge].to = at;
        for condition in first {
            at = self.assume(at, condition);
        }
        self.branch(at, last, Some(to), None);
    }

    /// The length of a string is what is left of it.
    fn library_result(&self, dst: &Lvalue) -> Option<Expr> {
        let proofline_cfa::Base::Local(id) = dst.base else { return None };
        let result = self.function.library_results.iter().find(|result| result.dst == id)?;
        let extra = match result.quantity {
            _ if result.is_absence => return None,
            Quantity::StringLength => -1,
            Quantity::StringSize => 0,
            _ => return None,
        };
        let [string] = &result.arguments[..] else { return None };
        let place = self.origins.place(string)?;
        if self.memory(place.origin) != Memory::String || !self.stays.strings {
            return None;
        }
        let left = self.left(&place)?;
        // A byte 0 may have been written before the last one.
        let length = widened(&Expr::Load(dst.clone()));
        Some(at_most(length, plus(left, extra)))
    }

    /// Pointers from one origin compare as how far they have moved, where both are in the object.
    fn compared(&self, condition: &Expr) -> Option<Expr> {
        let Expr::Compare(op, lhs, rhs) = condition else { return None };
        if lhs.scalar() != Scalar::Pointer {
            return None;
        }
        let (left, right) = (self.origins.place(lhs)?, self.origins.place(rhs)?);
        let may_be_null = self.origins.may_be_null(&left) || self.origins.may_be_null(&right);
        if may_be_null || left.origin != right.origin || !matches!(left.origin, Origin::Parameter(_)) {
            return None;
        }
        let is_known = |place: &Place| match self.memory(place.origin) {
            Memory::Bytes(_) | Memory::Elements(..) => true,
            Memory::String => {
                self.ghosts_of(place).moved.is_some()
                    || place.local.is_some_and(|id| !self.origins.is_written(id))
            }
            Memory::Nothing | Memory::Structure => false,
        };
        if !is_known(&left) || !is_known(&right) {
            return None;
        }
        let compared = compare(*op, self.moved(&left), self.moved(&right));
        if matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return Some(compared);
        }
        let one = number(0);
        let are_inside = and(self.inside(&left, &one)?, self.inside(&right, &one)?);
        Some(or(are_inside.negated(), compared))
    }

    // --- Calls and the entry -----------------------------------------------------------------------------------------------

    /// What a called function asks for.
    fn called(&mut self, mut at: Loc, call: &Call) -> Loc {
        let callee = match &call.callee {
            Callee::Direct(name) => *name,
            Callee::Indirect(..) => {
                let callees = self.env.callees(self.function.name, call).functions;
                let asks =
                    |name: &Name| self.contracts.get(name).is_some_and(|contract| !contract.is_empty());
                if let Some(name) = callees.iter().find(|name| asks(name)) {
                    let text = format!("`{name}` is called as it asks for");
                    at = self.obliged(at, truth(false), &text, None);
                }
                return at;
            }
        };
        let (Some(contract), Some(body)) = (self.contracts.get(&callee), self.env.function(callee)) else {
            return at;
        };
        let arguments: Vec<Option<&Expr>> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(value) => Some(value),
                Argument::Aggregate(_) => None,
            })
            .collect();
        for (parameter, asked) in &contract.pointers {
            let what = text::asked(self.program, body, *parameter, asked);
            let what = format!("`{callee}` is called with {what}");
            match arguments
                .get(*parameter)
                .copied()
                .flatten()
                .filter(|value| value.scalar() == Scalar::Pointer)
            {
                Some(value) => at = self.passed(at, body, &arguments, value, asked, (*parameter, &what)),
                None => at = self.obliged(at, truth(false), &what, None),
            }
        }
        for condition in &contract.conditions {
            let what = format!("`{callee}` is called with `{}`", expr_text(body, condition));
            let condition = at_call(body, condition, &arguments).unwrap_or(truth(false));
            at = self.obliged(at, condition, &what, None);
        }
        at
    }

    /// What a called function asks of a pointer that it is given.
    fn passed(
        &mut self,
        mut at: Loc,
        callee: &Function,
        arguments: &[Option<&Expr>],
        value: &Expr,
        asked: &Asked,
        (parameter, what): (usize, &str),
    ) -> Loc {
        let about = self.origins.place(value).and_then(|place| match place.origin {
            Origin::Parameter(at) => Some(at),
            Origin::Loaded(_) => None,
        });
        if !asked.or_null {
            at = self.obliged(at, is_not_null(value), what, about);
        }
        let pointer = Arc::new(value.clone());
        let nothing = Arc::new(Expr::int(0));
        for predicate in [MemoryPredicate::NotFreed, MemoryPredicate::NotEnded] {
            at = self.obliged(at, Expr::Memory(predicate, pointer.clone(), nothing.clone()), what, about);
        }
        let bytes = |size: Expr| {
            let size_t =
                Expr::Cast(Scalar::Int(self.program.size_type()), Arc::new(size.clone()), Site::NOWHERE);
            let known =
                self.predicate(MemoryPredicate::InBounds, value, &size).map(|(condition, _)| condition);
            known
                .unwrap_or_else(|| Expr::Memory(MemoryPredicate::InBounds, pointer.clone(), Arc::new(size_t)))
        };
        let condition = match &asked.memory {
            Memory::Nothing => truth(true),
            Memory::Bytes(size) => bytes(number(i128::from(*size))),
            Memory::Elements(count, stride) => match at_call(callee, count, arguments) {
                Some(count) => {
                    let is_size = at_most(widened(&count), number(MOST / i128::from((*stride).max(1))));
                    let is_there = and(is_size, bytes(times(widened(&count), *stride)));
                    match count.int_type() {
                        Some(ty) => or(compare(CompareOp::Le, count, Expr::Int(0, ty)), is_there),
                        None => truth(false),
                    }
                }
                None => truth(false),
            },
            Memory::String => {
                let known = self.predicate(MemoryPredicate::Terminated, value, &Expr::int(0));
                let unknown = || Expr::Memory(MemoryPredicate::Terminated, pointer.clone(), nothing.clone());
                known.map_or_else(unknown, |(condition, _)| condition)
            }
            Memory::Structure => truth(self.is_structure(value, callee, parameter)),
        };
        if condition == truth(true) {
            return at;
        }
        let is_null = if asked.or_null { is_null(value) } else { truth(false) };
        self.obliged(at, or(is_null, condition), what, about)
    }

    /// Whether an argument leads to a structure, as the parameter's type says.
    fn is_structure(&self, value: &Expr, callee: &Function, parameter: usize) -> bool {
        let Some(place) = self.origins.place(value) else { return *value == Expr::Null };
        let wanted = callee.local(callee.parameters[parameter]).ty.pointee();
        let own = self.origins.pointee(place.origin);
        let is_same = match (wanted, own) {
            (Some(wanted), Some(own)) => wanted.unqualified() == own.unqualified(),
            _ => false,
        };
        is_same
            && place.offset.is_zero()
            && self.stays.structures
            && self.memory(place.origin) == Memory::Structure
    }

    /// What a pointer to so many elements says of their number: no object is larger than memory.
    fn room(&mut self, at: Loc, (parameter, asked): (usize, Asked)) -> Loc {
        let Memory::Elements(count, stride) = &asked.memory else { return at };
        let (Some(id), Some(ty)) = (self.function.parameters.get(parameter), count.int_type()) else {
            return at;
        };
        let local = self.function.local(*id);
        let pointer = Expr::Load(Lvalue::local(*id, local.ty, Scalar::Pointer, local.size));
        let fits = at_most(widened(count), number(MOST / i128::from((*stride).max(1))));
        let fits =
            if ty.signed { or(compare(CompareOp::Le, count.clone(), Expr::Int(0, ty)), fits) } else { fits };
        let condition = if asked.or_null { or(is_null(&pointer), fits) } else { fits };
        self.assume(at, &condition)
    }

    /// Takes the edges away that are not used any more.
    fn bury(&mut self) {
        let mut at = 0;
        let dead = &self.dead;
        self.out.edges.retain(|_| {
            at += 1;
            !dead.contains(&(at - 1))
        });
    }

    /// One more obligation.
    fn obliged(&mut self, at: Loc, condition: Expr, what: &str, about: Option<usize>) -> Loc {
        if condition == truth(true) {
            return at;
        }
        let (error, next) = (self.location(), self.location());
        let id = ObligationId(self.out.obligations.len() as u32);
        self.branch(at, &condition, Some(next), Some(error));
        let (check, site) = (precondition::CHECK.id(), Site::NOWHERE);
        self.out.obligations.push(Obligation { check, error, site, text: Name::new(what) });
        self.calls.insert(id);
        if let Some(at) = about {
            self.about.insert(id, at);
        }
        next
    }

    /// What the contract says, where the function is entered.
    fn entry(&mut self) {
        let start = self.location();
        let mut at = start;
        for (id, ghost) in self.at_entry.clone() {
            let local = self.function.local(id);
            let Some(scalar) = proofline_cfa::scalar_of(local.ty, self.program.data_model) else { continue };
            let (from, to) = (
                Lvalue::local(id, local.ty, scalar, local.size),
                Lvalue::local(ghost, local.ty, scalar, local.size),
            );
            at = self.then(at, Op::Assign(to, Expr::Load(from)));
        }
        // Numbers of pointers that have no value yet: any.
        let all: Vec<(LocalId, Ghosts)> = self.ghosts.iter().map(|(id, ghosts)| (*id, *ghosts)).collect();
        for (id, ghosts) in all {
            let is_parameter = self.function.parameters.contains(&id);
            if let (true, Some(ghost)) = (is_parameter, ghosts.moved) {
                at = self.then(at, Op::Assign(bytes::local(ghost), number(0)));
            }
            if let (true, Some(ghost)) = (is_parameter, ghosts.left) {
                at = self.begins_string(at, ghost);
            }
        }
        for (parameter, asked) in self.own.pointers.clone() {
            let Some(id) = self.function.parameters.get(parameter) else { continue };
            let local = self.function.local(*id);
            if !asked.or_null && local.ty.pointee().is_some() {
                let pointer = Expr::Load(Lvalue::local(*id, local.ty, Scalar::Pointer, local.size));
                at = self.then(at, Op::Assume(is_not_null(&pointer)));
            }
        }
        for asked in self.own.pointers.clone() {
            at = self.room(at, asked);
        }
        for condition in self.own.conditions.clone() {
            at = self.assume(at, &condition);
        }
        if !self.own.conditions.is_empty() {
            // "Nobody gets here": where that holds, the conditions contradict each other.
            let (error, next) = (self.location(), self.location());
            self.callers = Some(ObligationId(self.out.obligations.len() as u32));
            self.push(at, error, Op::Assume(truth(true)));
            self.push(at, next, Op::Assume(truth(true)));
            let (check, site) = (precondition::CHECK.id(), Site::NOWHERE);
            let text = Name::new("no caller can keep the contract");
            self.out.obligations.push(Obligation { check, error, site, text });
            at = next;
        }
        let old = self.out.entry;
        self.push(at, old, Op::Skip);
        self.out.entry = start;
    }
}

/// That what a condition on memory speaks of is alive.
fn alive(condition: &Expr) -> Expr {
    let mut all = truth(true);
    visit::walk(condition, &mut |part| {
        if let Expr::Memory(_, pointer, _) = part {
            for predicate in [MemoryPredicate::NotFreed, MemoryPredicate::NotEnded] {
                let lives = Expr::Memory(predicate, pointer.clone(), Arc::new(Expr::int(0)));
                all = and(all.clone(), lives);
            }
        }
    });
    all
}

/// Whether `size` bytes from `moved` on are among the first `all` bytes.
fn within(moved: Expr, size: &Expr, all: &Expr) -> Expr {
    if let (Expr::Int(size, _), Expr::Int(all, _)) = (size, all) {
        return if size <= all { at_most(moved, number(all - size)) } else { truth(false) };
    }
    let is_start = at_most(moved.clone(), all.clone());
    and(is_start, at_most(size.clone(), difference(all.clone(), moved)))
}

/// The operation with a value in the place of what is read there.
fn with_byte(op: &Op, lvalue: &Lvalue, value: &Expr) -> Op {
    match op {
        Op::Assume(condition) => Op::Assume(exchanged(condition, lvalue, value)),
        Op::Assign(dst, expr) => Op::Assign(dst.clone(), exchanged(expr, lvalue, value)),
        other => other.clone(),
    }
}

fn exchanged(expr: &Expr, lvalue: &Lvalue, value: &Expr) -> Expr {
    let again = |expr: &Arc<Expr>| Arc::new(exchanged(expr, lvalue, value));
    match expr {
        Expr::Load(read) if read == lvalue => value.clone(),
        Expr::Unary(op, arg, site) => Expr::Unary(*op, again(arg), *site),
        Expr::Binary(op, lhs, rhs, site) => Expr::Binary(*op, again(lhs), again(rhs), *site),
        Expr::Compare(op, lhs, rhs) => Expr::Compare(*op, again(lhs), again(rhs)),
        Expr::Cast(to, arg, site) => Expr::Cast(*to, again(arg), *site),
        Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => expr.clone(),
    }
}
