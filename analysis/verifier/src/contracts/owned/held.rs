//! Trees that pointers of a function lead to: which of its variables hold which nodes, as far as these were looked into. Nodes are made up when a member
//! is read that leads to one. Knows no operations of C.
//!
//! **Law.** No two objects of a state overlap, and none that is not [`State::Gone`] has ended: by induction, since a tree is only taken apart into itself
//! and what is below it, and two states are joined by pairing objects, each with one of the other state at most.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{LocalId, Name, Type};
use proofline_hir::TypeKind;

use super::Member;

/// Names an object in a state.
pub(super) type Symbol = u32;

/// What a variable may hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Object {
    /// What the pointer points to, as its type says.
    pub(super) ty: Type,
    pub(super) state: State,
    /// It was allocated: it can be freed.
    pub(super) is_allocated: bool,
}

impl Object {
    /// Whether a member there is one of these.
    fn has(&self, offset: u64, of: Option<&BTreeSet<Member>>) -> bool {
        let TypeKind::Record(tag) = self.ty.kind() else { return false };
        of.is_none_or(|of| of.iter().any(|member| (member.record, member.offset) == (*tag, offset)))
    }
}

/// What is known of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// There is none: the pointer is null.
    Null,
    /// A whole tree, or none.
    Whole,
    /// A node. What its members lead to that were looked at, by their offsets; `None`: anything. The others lead to whole trees.
    Opened(BTreeMap<u64, Option<Symbol>>),
    /// It may have ended.
    Gone,
}

/// Variables with what they hold; what others hold is not known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Held {
    pub(super) variables: BTreeMap<LocalId, Symbol>,
    objects: BTreeMap<Symbol, Object>,
    /// Something else of callers may have been freed, or their pointers changed, than what is or was held.
    has_lost: bool,
}

impl Held {
    pub(super) fn object(&self, symbol: Symbol) -> Option<&Object> {
        self.objects.get(&symbol)
    }

    pub(super) fn add(&mut self, object: Object) -> Symbol {
        let symbol = self.objects.keys().next_back().map_or(0, |last| last + 1);
        self.objects.insert(symbol, object);
        symbol
    }

    /// Of which nothing is known.
    pub(super) fn nothing() -> Held {
        Held { has_lost: true, ..Held::default() }
    }

    pub(super) fn has_lost(&self) -> bool {
        self.has_lost
    }

    pub(super) fn set_state(&mut self, symbol: Symbol, state: State) {
        if let Some(object) = self.objects.get_mut(&symbol) {
            object.state = state;
        }
    }

    /// The object is another one.
    pub(super) fn set(&mut self, symbol: Symbol, object: Object) {
        self.objects.insert(symbol, object);
    }

    /// Whether the object is there, or the pointer null.
    pub(super) fn is_alive(&self, symbol: Symbol) -> bool {
        self.object(symbol).is_some_and(|object| object.state != State::Gone)
    }

    /// Whether a member of this record can be one of the object's, and the object is there: then its members that were looked at.
    fn opened(&mut self, symbol: Symbol, record: Name) -> Option<&mut BTreeMap<u64, Option<Symbol>>> {
        let object = self.objects.get_mut(&symbol)?;
        if !matches!(object.ty.kind(), TypeKind::Record(tag) if *tag == record) {
            return None;
        }
        if object.state == State::Whole {
            object.state = State::Opened(BTreeMap::new());
        }
        match &mut object.state {
            State::Opened(members) => Some(members),
            State::Null | State::Whole | State::Gone => None,
        }
    }

    /// What a member leads to that belongs to its node.
    pub(super) fn below(&mut self, symbol: Symbol, record: Name, offset: u64, ty: Type) -> Option<Symbol> {
        if let Some(known) = self.opened(symbol, record)?.get(&offset) {
            return *known;
        }
        let child = self.add(Object { ty, state: State::Whole, is_allocated: true });
        self.opened(symbol, record)?.insert(offset, Some(child));
        Some(child)
    }

    /// The member gets a pointer. Whether that is known to be one of the object's.
    pub(super) fn put(&mut self, symbol: Symbol, record: Name, offset: u64, value: Option<Symbol>) -> bool {
        let members = self.opened(symbol, record);
        members.is_some_and(|members| {
            members.insert(offset, value);
            true
        })
    }

    /// Whether a whole tree is there, or none: nothing in it ended, and no two pointers in it lead to the same. (Of these members; `None`: of all.)
    pub(super) fn is_whole(&self, symbol: Symbol, of: Option<&BTreeSet<Member>>) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![symbol]);
        while let Some(at) = open.pop() {
            let Some(object) = self.object(at) else { return false };
            if !seen.insert(at) || at != symbol && !object.is_allocated {
                return false;
            }
            match &object.state {
                State::Null | State::Whole => {}
                State::Opened(members) => {
                    for (_, below) in members.iter().filter(|(offset, _)| object.has(**offset, of)) {
                        let Some(below) = below else { return false };
                        open.push(*below);
                    }
                }
                State::Gone => return false,
            }
        }
        true
    }

    fn is_below_whole(&self, symbol: Symbol) -> bool {
        self.object(symbol).is_some_and(|object| object.is_allocated) && self.is_whole(symbol, None)
    }

    /// The object, and all that was seen below it. (Of these members; `None`: of all.)
    pub(super) fn tree(&self, symbol: Symbol, of: Option<&BTreeSet<Member>>) -> BTreeSet<Symbol> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![symbol]);
        while let Some(symbol) = open.pop() {
            if seen.insert(symbol)
                && let Some(object) = self.object(symbol)
                && let State::Opened(members) = &object.state
            {
                let below = members.iter().filter(|(offset, _)| object.has(**offset, of));
                open.extend(below.filter_map(|(_, below)| *below));
            }
        }
        seen
    }

    /// Leaves out what no variable leads to that is still used, puts whole trees together again, and names objects in order.
    pub(super) fn tidied(mut self, used: &BTreeSet<LocalId>) -> Held {
        self.variables.retain(|id, _| used.contains(id));
        let kept: BTreeSet<Symbol> =
            self.variables.values().flat_map(|symbol| self.tree(*symbol, None)).collect();
        self.objects.retain(|symbol, _| kept.contains(symbol));
        while let Some(symbol) = self.foldable() {
            for below in self.tree(symbol, None).into_iter().filter(|below| *below != symbol) {
                self.objects.remove(&below);
            }
            self.set_state(symbol, State::Whole);
        }
        let mut names: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        let mut open: Vec<Symbol> = self.variables.values().rev().copied().collect();
        while let Some(symbol) = open.pop() {
            let next = names.len() as Symbol;
            if names.contains_key(&symbol) {
                continue;
            }
            names.insert(symbol, next);
            if let Some(Object { state: State::Opened(members), .. }) = self.object(symbol) {
                open.extend(members.values().rev().flatten());
            }
        }
        let named = |symbol: Symbol| names.get(&symbol).copied();
        let objects = self.objects.into_iter().filter_map(|(symbol, mut object)| {
            if let State::Opened(members) = &mut object.state {
                members.values_mut().for_each(|below| *below = below.and_then(named));
            }
            Some((named(symbol)?, object))
        });
        let objects = objects.collect();
        let variables =
            self.variables.into_iter().filter_map(|(id, symbol)| Some((id, named(symbol)?))).collect();
        Held { variables, objects, has_lost: self.has_lost }
    }

    /// A node below which everything is whole, and held by nothing else.
    fn foldable(&self) -> Option<Symbol> {
        let mut holders: BTreeMap<Symbol, usize> = BTreeMap::new();
        self.variables.values().for_each(|symbol| *holders.entry(*symbol).or_default() += 1);
        for object in self.objects.values() {
            if let State::Opened(members) = &object.state {
                members.values().flatten().for_each(|symbol| *holders.entry(*symbol).or_default() += 1);
            }
        }
        let is_own = |below: Symbol| {
            let is_one = holders.get(&below) == Some(&1);
            let is_whole =
                |object: &Object| object.is_allocated && matches!(object.state, State::Null | State::Whole);
            is_one && self.object(below).is_some_and(is_whole)
        };
        self.objects.iter().find_map(|(symbol, object)| match &object.state {
            State::Opened(members) if members.values().all(|below| below.is_some_and(is_own)) => {
                Some(*symbol)
            }
            State::Opened(_) | State::Null | State::Whole | State::Gone => None,
        })
    }

    /// What holds in both.
    pub(super) fn join(&self, other: &Held) -> Held {
        let mut pairing = Pairing {
            one: self,
            other,
            pairs: BTreeMap::new(),
            joined: Held::default(),
            ones: BTreeSet::new(),
            others: BTreeSet::new(),
        };
        let is_below = |held: &Held, symbol: Symbol| {
            held.objects.values().any(|object| match &object.state {
                State::Opened(members) => members.values().flatten().any(|below| *below == symbol),
                State::Null | State::Whole | State::Gone => false,
            })
        };
        let mut both: Vec<(bool, LocalId, Symbol, Symbol)> = self
            .variables
            .iter()
            .filter_map(|(id, one)| {
                let other_symbol = *other.variables.get(id)?;
                Some((is_below(self, *one) || is_below(other, other_symbol), *id, *one, other_symbol))
            })
            .collect();
        // Roots first: what is below them belongs to them.
        both.sort_by_key(|(is_below, id, ..)| (*is_below, *id));
        for (_, id, one, other) in both {
            if let Some(symbol) = pairing.pair(one, other) {
                pairing.joined.variables.insert(id, symbol);
            }
        }
        pairing.joined.has_lost = self.has_lost || other.has_lost;
        pairing.joined
    }
}

/// Objects of two states that were found to be the same.
struct Pairing<'h> {
    one: &'h Held,
    other: &'h Held,
    pairs: BTreeMap<(Symbol, Symbol), Symbol>,
    joined: Held,
    /// Objects that have been paired, or have become a part of one that was.
    ones: BTreeSet<Symbol>,
    others: BTreeSet<Symbol>,
}

impl Pairing<'_> {
    fn pair(&mut self, one: Symbol, other: Symbol) -> Option<Symbol> {
        if let Some(known) = self.pairs.get(&(one, other)) {
            return Some(*known);
        }
        let (a, b) = (self.one.object(one)?.clone(), self.other.object(other)?.clone());
        if a.ty != b.ty || self.ones.contains(&one) || self.others.contains(&other) {
            return None;
        }
        self.ones.insert(one);
        self.others.insert(other);
        let is_allocated = a.is_allocated && b.is_allocated;
        let symbol = self.joined.add(Object { ty: a.ty, state: State::Gone, is_allocated });
        self.pairs.insert((one, other), symbol);
        let state = match (a.state, b.state) {
            (State::Gone, _) | (_, State::Gone) => State::Gone,
            (State::Null, State::Null) => State::Null,
            (State::Null | State::Whole, State::Null | State::Whole) => State::Whole,
            (State::Opened(a), State::Opened(b)) => {
                let offsets: BTreeSet<u64> = a.keys().chain(b.keys()).copied().collect();
                let members = offsets.into_iter().filter_map(|offset| {
                    let below = match (a.get(&offset), b.get(&offset)) {
                        (Some(Some(one)), Some(Some(other))) => self.pair(*one, *other),
                        (Some(Some(one)), None) if self.takes(true, *one) => return None,
                        (None, Some(Some(other))) if self.takes(false, *other) => return None,
                        _ => None,
                    };
                    Some((offset, below))
                });
                State::Opened(members.collect())
            }
            (State::Opened(members), State::Null | State::Whole) => self.folded(true, &members),
            (State::Null | State::Whole, State::Opened(members)) => self.folded(false, &members),
        };
        self.joined.set_state(symbol, state);
        Some(symbol)
    }

    /// A node of one state where the other has a whole tree, or none.
    fn folded(&mut self, is_one: bool, members: &BTreeMap<u64, Option<Symbol>>) -> State {
        let mut others = BTreeMap::new();
        for (offset, below) in members {
            if !below.is_some_and(|below| self.takes(is_one, below)) {
                others.insert(*offset, None);
            }
        }
        if others.is_empty() { State::Whole } else { State::Opened(others) }
    }

    /// Whether an object is a whole tree that nothing was paired with: it becomes a part of what it is below.
    fn takes(&mut self, is_one: bool, symbol: Symbol) -> bool {
        let held = if is_one { self.one } else { self.other };
        let parts = held.tree(symbol, None);
        let taken = if is_one { &mut self.ones } else { &mut self.others };
        let is_free = held.is_below_whole(symbol) && parts.is_disjoint(taken);
        if is_free {
            taken.extend(parts);
        }
        is_free
    }
}
