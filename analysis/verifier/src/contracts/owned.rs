//! Memory that belongs to a pointer that a function was given, and that it may give back: trees of objects that were allocated, each of which one pointer
//! leads to. Where the function is, what it holds of them is known: what it has freed, or given to others that free it, and what is left. The proofs
//! of separation logic with lazily unfolded trees (Distefano, O'Hearn and Yang, "A Local Shape Analysis Based on Separation Logic", TACAS 2006), for
//! trees of any records.
//!
//! **Law.** Where the function is called as its contract says, each run that gets to a location is described by what is held there: distinct objects are
//! distinct in memory, and alive unless they are gone.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Call, Callee, CompareOp, EdgeId, Expr, Function, Loc, LocalId, Lvalue, Name, Op, Program, Scalar,
    Step, Type, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    Contract, Contracts, Member, Memory, Tree, obligations,
    origin::{element, is_character, types, whole_pointer},
    writes,
};

mod held;

use held::{Held, Object, State, Symbol};

/// A location is looked at so often; then nothing is held there.
const ROUNDS: usize = 12;

/// What a function holds at its locations.
pub(super) struct Owned {
    at: Vec<Option<Held>>,
    members: BTreeSet<Member>,
    /// The function frees nothing of callers, and changes no pointers of theirs, but in what it is given to free.
    pub(super) is_contained: bool,
}

/// What is the same for all edges.
struct Look<'l> {
    memory: &'l writes::Memory<'l>,
    function: &'l Function,
    contracts: &'l Contracts,
    /// Members that lead to what belongs to their node.
    members: BTreeSet<Member>,
    /// The function itself, where it is called, touches nothing but what it is given to free.
    is_contained: bool,
    /// Something was done to memory that is not known to belong to the function.
    has_lost: bool,
}

impl Owned {
    /// Of a function that is called as its contract says.
    pub(super) fn of(
        memory: &writes::Memory<'_>,
        function: &Function,
        own: &Contract,
        contracts: &Contracts,
    ) -> Owned {
        // By induction over the depth of its calls of itself.
        let contained = Self::looked_at(memory, function, own, contracts, true);
        if contained.is_contained {
            contained
        } else {
            Self::looked_at(memory, function, own, contracts, false)
        }
    }

    fn looked_at(
        memory: &writes::Memory<'_>,
        function: &Function,
        own: &Contract,
        contracts: &Contracts,
        is_contained: bool,
    ) -> Owned {
        let members = members(own);
        let mut look = Look { memory, function, contracts, members, is_contained, has_lost: false };
        let mut at: Vec<Option<Held>> = vec![None; function.locations as usize];
        if own.pointers.values().all(|asked| !is_owned(&asked.memory)) {
            return Owned { at, members: look.members, is_contained: false };
        }
        let used = used(function);
        let successors = function.successors();
        at[function.entry.index()] = Some(look.given(own).tidied(&used[function.entry.index()]));
        let mut rounds = vec![0; at.len()];
        let mut open = vec![function.entry];
        while let Some(from) = open.pop() {
            for id in &successors[from.index()] {
                let Some(held) = &at[from.index()] else { continue };
                let edge = function.edge(*id);
                let Some(new) = look.behind(held.clone(), *id, &edge.op) else { continue };
                let (to, used) = (edge.to, &used[edge.to.index()]);
                let new = new.tidied(used);
                let joined = match &at[to.index()] {
                    None => new,
                    Some(old) if *old == new => continue,
                    Some(_) if rounds[to.index()] >= ROUNDS => Held::nothing(),
                    Some(old) => old.join(&new).tidied(used),
                };
                if at[to.index()].as_ref() != Some(&joined) {
                    rounds[to.index()] += 1;
                    at[to.index()] = Some(joined);
                    open.push(to);
                }
            }
        }
        Owned { at, is_contained: !look.has_lost, members: look.members }
    }

    fn held(&self, at: Loc) -> Option<&Held> {
        self.at.get(at.index())?.as_ref()
    }

    fn found<'s>(&'s self, function: &Function, at: Loc, pointer: &Expr) -> Option<(&'s Held, Symbol)> {
        let held = self.held(at)?;
        Some((held, variable(function, held, pointer)?))
    }

    /// Whether, until the function gets there, all that it freed of callers, and all pointers of theirs that it changed, belonged to its trees.
    pub(super) fn sees_all(&self, at: Loc) -> bool {
        self.held(at).is_some_and(|held| !held.has_lost())
    }

    /// Whether the object that a pointer leads into is there, if there is one.
    pub(super) fn is_alive(&self, function: &Function, at: Loc, pointer: &Expr) -> bool {
        self.found(function, at, base_of(pointer)).is_some_and(|(held, symbol)| held.is_alive(symbol))
    }

    /// Whether a pointer is null, or can be freed.
    pub(super) fn can_be_freed(&self, function: &Function, at: Loc, pointer: &Expr) -> bool {
        self.found(function, at, pointer).is_some_and(|(held, symbol)| {
            let object = held.object(symbol);
            held.is_alive(symbol) && object.is_some_and(|object| object.is_allocated)
        })
    }

    /// Whether a pointer is null, or leads to such a tree, of which no other argument is a part.
    pub(super) fn is_tree(
        &self,
        function: &Function,
        at: Loc,
        pointer: &Expr,
        ty: Option<Type>,
        tree: &Tree,
        others: &[&Expr],
    ) -> bool {
        let Some((held, symbol)) = self.found(function, at, pointer) else { return false };
        held.object(symbol).map(|object| object.ty) == ty
            && held.is_whole(symbol, Some(&tree.members))
            && tree.members.is_subset(&self.members)
            && (!tree.is_allocated || self.can_be_freed(function, at, pointer))
            && self.is_apart(function, at, pointer, &tree.members, others)
    }

    /// Whether none of these leads into what a pointer and such members lead to.
    pub(super) fn is_apart(
        &self,
        function: &Function,
        at: Loc,
        pointer: &Expr,
        members: &BTreeSet<Member>,
        others: &[&Expr],
    ) -> bool {
        let found = self.found(function, at, pointer);
        others.iter().all(|other| {
            is_nothing(other)
                || found.is_some_and(|(held, symbol)| {
                    let other = variable(function, held, base_of(other));
                    other.is_some_and(|other| !held.tree(symbol, Some(members)).contains(&other))
                })
        })
    }

    /// Whether the function holds what a pointer leads to.
    pub(super) fn holds(&self, function: &Function, at: Loc, pointer: &Expr) -> bool {
        self.found(function, at, pointer).is_some()
    }
}

impl Look<'_> {
    /// What the parameters lead to.
    fn given(&self, own: &Contract) -> Held {
        let mut held = Held::default();
        for (parameter, asked) in &own.pointers {
            let Some(id) = self.function.parameters.get(*parameter) else { continue };
            let local = self.function.local(*id);
            let Some(ty) = local.ty.pointee().map(Type::unqualified).filter(|_| !local.address_taken) else {
                continue;
            };
            let is_allocated = match &asked.memory {
                Memory::Tree(tree) => tree.is_allocated,
                Memory::Allocated => true,
                Memory::Nothing
                | Memory::Bytes(_)
                | Memory::Elements(..)
                | Memory::Until(_)
                | Memory::String
                | Memory::Structure => continue,
            };
            let symbol = held.add(Object { ty, state: State::Whole, is_allocated });
            held.variables.insert(*id, symbol);
        }
        held
    }

    fn lose_all(&mut self, held: &mut Held) {
        self.has_lost = true;
        *held = Held::nothing();
    }

    /// What is held behind an edge; `None`: nothing gets there.
    fn behind(&mut self, mut held: Held, id: EdgeId, op: &Op) -> Option<Held> {
        match op {
            Op::Skip | Op::Begin(_) | Op::End(_) => {}
            Op::Assume(condition) => {
                if self.excludes(&mut held, condition) {
                    return None;
                }
            }
            Op::Assign(dst, value) => self.assigned(&mut held, id, op, (dst, value)),
            Op::Free(pointer) => {
                let symbol = self.symbol(&mut held, pointer);
                match symbol {
                    Some(symbol) => end(&mut held, symbol),
                    None if is_nothing(pointer) || self.memory.leads_to_new(self.function, pointer) => {}
                    None => self.lose_all(&mut held),
                }
            }
            Op::Call(call) => self.called(&mut held, id, op, call),
            Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => {
                let symbol = variable(self.function, &held, base_of(to));
                let is_text = symbol
                    .and_then(|symbol| held.object(symbol))
                    .is_some_and(|object| is_character(object.ty));
                if !is_text && writes::changes_pointers(self.memory, self.function, id, op) {
                    self.lose_all(&mut held);
                }
            }
            Op::Clobber(..) => self.lose_all(&mut held),
            Op::Allocate(allocation) => {
                self.written(&mut held, id, op, &allocation.dst);
                let local = whole_pointer(self.function, &allocation.dst).filter(|_| allocation.on_heap);
                if let (Some(local), Some(ty)) = (local, allocation.dst.ty.pointee()) {
                    let new = self.new_object(ty.unqualified());
                    let symbol = held.add(new);
                    held.variables.insert(local, symbol);
                }
            }
            Op::Havoc(dst, _) | Op::Copy(dst, _) => self.written(&mut held, id, op, dst),
        }
        Some(held)
    }

    /// An object that was just allocated, if there is one: what its members lead to is not known.
    fn new_object(&self, ty: Type) -> Object {
        let mut members = BTreeMap::new();
        if let TypeKind::Record(tag) = ty.kind() {
            members.extend(self.members.iter().filter(|of| of.record == *tag).map(|of| (of.offset, None)));
        }
        let state = if members.is_empty() { State::Whole } else { State::Opened(members) };
        Object { ty, state, is_allocated: true }
    }

    fn written(&mut self, held: &mut Held, id: EdgeId, op: &Op, dst: &Lvalue) {
        match whole_pointer(self.function, dst) {
            Some(id) => {
                held.variables.remove(&id);
            }
            None => {
                if writes::changes_pointers(self.memory, self.function, id, op) {
                    self.lose_all(held);
                }
            }
        }
    }

    /// Behind `p == null` there is nothing. Whether nothing gets there: where there is nothing, `p` is null.
    fn excludes(&self, held: &mut Held, condition: &Expr) -> bool {
        let (pointer, is_null) = match condition {
            Expr::Compare(CompareOp::Eq, pointer, null) if **null == Expr::Null => (&**pointer, true),
            Expr::Compare(CompareOp::Ne, pointer, null) if **null == Expr::Null => (&**pointer, false),
            pointer => (pointer, false),
        };
        let Some(symbol) = variable(self.function, held, pointer) else { return false };
        match held.object(symbol).map(|object| &object.state) {
            Some(State::Null) => !is_null,
            Some(State::Whole) => {
                if is_null {
                    held.set_state(symbol, State::Null);
                }
                false
            }
            Some(State::Opened(_) | State::Gone) | None => false,
        }
    }

    fn assigned(&mut self, held: &mut Held, id: EdgeId, op: &Op, (dst, value): (&Lvalue, &Expr)) {
        if let Some(local) = whole_pointer(self.function, dst) {
            let symbol = self.symbol(held, value).or_else(|| {
                let ty = dst.ty.pointee()?.unqualified();
                is_nothing(value).then(|| held.add(Object { ty, state: State::Null, is_allocated: true }))
            });
            // Memory without a type is what it is first taken for.
            let is_void = |ty: Type| matches!(ty.kind(), TypeKind::Void);
            if let (Some(symbol), Some(ty)) = (symbol, dst.ty.pointee().map(Type::unqualified))
                && let Some(Object { ty: known, state: state @ (State::Whole | State::Null), is_allocated }) =
                    held.object(symbol).cloned()
                && is_void(known)
                && !is_void(ty)
            {
                let new = self.new_object(ty);
                let state = if state == State::Null { state } else { new.state };
                held.set(symbol, Object { ty, state, is_allocated });
            }
            match symbol.filter(|_| !dst.ty.qualifiers().is_volatile) {
                Some(symbol) => held.variables.insert(local, symbol),
                None => held.variables.remove(&local),
            };
            return;
        }
        if !writes::changes_pointers(self.memory, self.function, id, op) {
            return;
        }
        if let Base::Deref(pointer, _) = &dst.base
            && self.memory.leads_to_new(self.function, pointer)
        {
            return;
        }
        if let Some((node, record, offset)) = self.member(held, dst) {
            if !self.is_member(record, offset) {
                // What does not belong to a node leads anywhere.
                return;
            }
            let ty = dst.ty.pointee().map(Type::unqualified);
            let value = self.symbol(held, value).or_else(|| {
                is_nothing(value)
                    .then_some(Object { ty: ty?, state: State::Null, is_allocated: true })
                    .map(|object| held.add(object))
            });
            // What is of another type is not what the member says.
            let value = value.filter(|value| held.object(*value).map(|object| object.ty) == ty);
            if held.put(node, record, offset, value) {
                return;
            }
        }
        self.lose_all(held);
    }

    /// The node, of a member of one that is held.
    fn member(&self, held: &Held, lvalue: &Lvalue) -> Option<(Symbol, Name, u64)> {
        let Base::Deref(pointer, _) = &lvalue.base else { return None };
        let [Step::Field { record, offset, .. }] = &lvalue.path[..] else { return None };
        let is_union = types(self.memory.program()).record(*record).is_none_or(|record| record.is_union);
        let symbol = variable(self.function, held, pointer)?;
        Some((symbol, *record, *offset)).filter(|_| lvalue.bits.is_none() && !is_union)
    }

    fn is_member(&self, record: Name, offset: u64) -> bool {
        self.members.iter().any(|member| (member.record, member.offset) == (record, offset))
    }

    /// What a pointer leads to, if it is held.
    fn symbol(&self, held: &mut Held, pointer: &Expr) -> Option<Symbol> {
        if let Some(symbol) = variable(self.function, held, pointer) {
            return Some(symbol);
        }
        let Expr::Load(lvalue) = plain(pointer) else { return None };
        let (node, record, offset) = self.member(held, lvalue)?;
        let ty = lvalue.ty.pointee()?.unqualified();
        if !self.is_member(record, offset) || lvalue.ty.qualifiers().is_volatile {
            return None;
        }
        held.below(node, record, offset, ty)
    }

    /// What a called function is given ends, as far as the caller knows.
    fn called(&mut self, held: &mut Held, id: EdgeId, op: &Op, call: &Call) {
        let arguments = obligations::values(call);
        let direct = match call.callee {
            Callee::Direct(name) => Some(name),
            Callee::Indirect(..) => None,
        };
        if !direct.is_some_and(|name| self.touches_nothing(name)) {
            let contract = direct.and_then(|name| Some((name, self.contracts.get(&name)?)));
            let is_contained = |(name, contract): &(Name, &Contract)| {
                contract.is_contained || *name == self.function.name && self.is_contained
            };
            if let Some((_, contract)) = contract.filter(is_contained) {
                for (parameter, asked) in &contract.pointers {
                    let value = arguments.get(*parameter).copied().flatten();
                    let symbol = value.and_then(|value| self.symbol(held, value));
                    match (&asked.memory, value, symbol) {
                        (Memory::Tree(tree), _, Some(symbol)) => self.given_to(held, symbol, tree),
                        (Memory::Allocated, _, Some(symbol)) => end(held, symbol),
                        (Memory::Tree(_) | Memory::Allocated, Some(value), None) => {
                            if !is_nothing(value) && !self.memory.leads_to_new(self.function, value) {
                                self.lose_all(held);
                            }
                        }
                        (Memory::Tree(_) | Memory::Allocated, None, None) => self.lose_all(held),
                        (
                            Memory::Nothing
                            | Memory::Bytes(_)
                            | Memory::Elements(..)
                            | Memory::Until(_)
                            | Memory::String
                            | Memory::Structure,
                            ..,
                        ) => {}
                    }
                }
            } else {
                self.lose_all(held);
            }
        }
        if let Some(dst) = &call.dst {
            self.written(held, id, op, dst);
        }
    }

    /// A tree is given to a function that may free it, or parts of it.
    fn given_to(&self, held: &mut Held, symbol: Symbol, tree: &Tree) {
        let parts = held.tree(symbol, Some(&tree.members));
        for part in parts.into_iter().filter(|part| tree.is_allocated || *part != symbol) {
            end(held, part);
        }
        if !tree.is_allocated {
            for member in &self.members {
                held.put(symbol, member.record, member.offset, None);
            }
        }
    }

    fn env(&self) -> &Environment {
        self.memory.env()
    }

    /// Whether a function, with all that it calls, ends nothing and changes no pointer of callers.
    fn touches_nothing(&self, name: Name) -> bool {
        self.env().call_graph().reachable([name]).into_iter().all(|name| {
            let body = self.env().function(name);
            body.is_some_and(|body| {
                body.edge_ids().all(|(id, edge)| writes::keeps_all(self.memory, body, id, &edge.op))
            })
        })
    }
}

/// The object, and what is below it as far as it was seen: gone.
fn end(held: &mut Held, symbol: Symbol) {
    if !matches!(held.object(symbol), Some(Object { state: State::Null, .. })) {
        held.set_state(symbol, State::Gone);
    }
}

pub(super) fn is_owned(memory: &Memory) -> bool {
    match memory {
        Memory::Tree(_) | Memory::Allocated => true,
        Memory::Nothing
        | Memory::Bytes(_)
        | Memory::Elements(..)
        | Memory::Until(_)
        | Memory::String
        | Memory::Structure => false,
    }
}

/// Members that lead to what belongs to their node, as a contract says.
pub(super) fn members(own: &Contract) -> BTreeSet<Member> {
    let trees = own.pointers.values().filter_map(|asked| match &asked.memory {
        Memory::Tree(tree) => Some(tree.members.iter().cloned()),
        Memory::Nothing
        | Memory::Bytes(_)
        | Memory::Elements(..)
        | Memory::Until(_)
        | Memory::String
        | Memory::Allocated
        | Memory::Structure => None,
    });
    trees.flatten().collect()
}

/// Without casts from pointers to pointers.
pub(super) fn plain(pointer: &Expr) -> &Expr {
    match pointer {
        Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => plain(arg),
        other => other,
    }
}

/// The pointer that the steps of another start at.
fn base_of(pointer: &Expr) -> &Expr {
    match plain(pointer) {
        Expr::Address(Lvalue { base: Base::Deref(inner, _), .. }) => base_of(inner),
        other => other,
    }
}

pub(super) fn is_nothing(pointer: &Expr) -> bool {
    match plain(pointer) {
        Expr::Null => true,
        Expr::Cast(Scalar::Pointer, arg, _) => matches!(**arg, Expr::Int(0, _)),
        _ => false,
    }
}

/// What a variable holds.
fn variable(function: &Function, held: &Held, pointer: &Expr) -> Option<Symbol> {
    let Expr::Load(lvalue) = plain(pointer) else { return None };
    held.variables.get(&whole_pointer(function, lvalue)?).copied()
}

/// Variables that are read before they are written, by location.
fn used(function: &Function) -> Vec<BTreeSet<LocalId>> {
    let mut used: Vec<BTreeSet<LocalId>> = vec![BTreeSet::new(); function.locations as usize];
    loop {
        let mut changed = false;
        for edge in function.edges.iter().rev() {
            let mut now = used[edge.to.index()].clone();
            visit::mentions(&edge.op, &mut |mention| {
                if let visit::Mention::Write(lvalue) = mention
                    && let Some(id) = whole_pointer(function, lvalue)
                {
                    now.remove(&id);
                }
            });
            visit::reads(&edge.op, &mut |lvalue| {
                if let Base::Local(id) = lvalue.base {
                    now.insert(id);
                }
            });
            let before = used[edge.from.index()].len();
            used[edge.from.index()].extend(now);
            changed |= used[edge.from.index()].len() > before;
        }
        if !changed {
            return used;
        }
    }
}

/// Pointers of this name in records that a pointer to this type leads to.
pub(super) fn members_named(program: &Program, ty: Type, name: &str) -> BTreeSet<Member> {
    let (mut seen, mut open, mut found) = (BTreeSet::new(), vec![ty], BTreeSet::new());
    while let Some(ty) = open.pop() {
        let ty = element(ty);
        if !seen.insert(ty) {
            continue;
        }
        open.extend(ty.pointee());
        let TypeKind::Record(tag) = ty.kind() else { continue };
        for field in types(program).record(*tag).into_iter().flat_map(|record| &record.fields) {
            open.push(field.ty);
            if field.name.as_str() == name && field.ty.pointee().is_some() {
                found.insert(Member { record: *tag, offset: field.offset, name: field.name });
            }
        }
    }
    found
}
