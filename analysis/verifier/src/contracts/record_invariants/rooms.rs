//! Pointers that lead into rooms: that are read from a member of which the contract says what it leads to, or allocated, or made from such. What is written
//! through them is no part of a record that the function is passed. Flow-insensitive.
//!
//! **Law.** Each value of a local in [`Rooms`] is null, or leads into an object that the contract says is apart from the records, or that was allocated since the
//! function was called.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Call, Callee, Expr, Function, LocalId, Lvalue, Name, Op, Scalar, Step};
use proofline_program_analysis::fresh;

use super::{
    super::{
        Contract, Contracts, Member,
        apart::{self, Access},
        writes::Memory,
    },
    Fact, place, record_of,
};

/// The rooms of a function.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Rooms {
    /// Members that lead to them when the function is called, and the bytes of an element: of which parameter, and where.
    members: BTreeSet<(LocalId, Member, u64)>,
    /// Parameters that lead to records.
    records: BTreeSet<LocalId>,
    /// Locals with pointers into them.
    locals: BTreeSet<LocalId>,
    /// Those of them that are null, or lead to what the function has allocated itself.
    new: BTreeSet<LocalId>,
}

impl Rooms {
    /// Of a function with this contract. There are none if a member of which a fact speaks may get any other pointer.
    pub(in super::super) fn of(
        memory: &Memory<'_>,
        function: &Function,
        own: &Contract,
        contracts: &Contracts,
    ) -> Rooms {
        let mut rooms = Rooms::default();
        let mut spoken_of: BTreeSet<(LocalId, Member)> = BTreeSet::new();
        let given = |at: usize| {
            let id = *function.parameters.get(at)?;
            record_of(function, at).map(|_| id)
        };
        for (at, of) in &own.records {
            let Some(id) = given(*at) else { continue };
            for fact in &of.asked {
                if let Fact::Room { pointer, stride, .. } = fact {
                    rooms.members.insert((id, pointer.clone(), *stride));
                }
            }
            let all = of.asked.iter().chain(&of.left).filter_map(Fact::room);
            spoken_of.extend(all.map(|member| (id, member.clone())));
        }
        if spoken_of.is_empty() {
            return Rooms::default();
        }
        rooms.records = own.pointers.keys().filter_map(|at| given(*at)).collect();
        rooms.locals = fresh::locals(function, &|lvalue| rooms.member(lvalue).is_some(), &|_| false);
        rooms.new = fresh::locals(function, &|_| false, &|_| false);
        // What is a member itself is no different from what was there when the function was called.
        for edge in &function.edges {
            if let Op::Assign(dst, Expr::Load(Lvalue { base: Base::Local(id), .. })) = &edge.op
                && spoken_of.iter().any(|(_, member)| is_member(dst, member))
            {
                rooms.new.remove(id);
            }
        }
        let is_kept = function.edges.iter().all(|edge| {
            spoken_of
                .iter()
                .all(|(id, member)| rooms.keeps(memory, function, &edge.op, (*id, member), contracts))
        });
        if is_kept { rooms } else { Rooms::default() }
    }

    /// Whether there are none.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The bytes of an element of the room that a pointer leads to which is read there.
    pub(in super::super) fn member(&self, lvalue: &Lvalue) -> Option<u64> {
        let [Step::Field { record, name, offset }] = lvalue.path[..] else { return None };
        let id = base_of(lvalue)?;
        let is_it = |of: &Member| (of.record, of.name, of.offset) == (record, name, offset);
        let found = self.members.iter().find(|(parameter, member, _)| *parameter == id && is_it(member));
        found.map(|(.., stride)| *stride)
    }

    /// Whether a local always has a pointer into one.
    pub(in super::super) fn has(&self, id: LocalId) -> bool {
        self.locals.contains(&id)
    }

    /// Whether it is always null, or what the function has allocated itself.
    pub(in super::super) fn is_new(&self, id: LocalId) -> bool {
        self.new.contains(&id)
    }

    /// The bytes of an element, where all rooms have the same.
    pub(in super::super) fn stride(&self) -> Option<u64> {
        let all: BTreeSet<u64> = self.members.iter().map(|(.., stride)| *stride).collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    /// Whether a pointer leads into one.
    pub(in super::super) fn is_one(&self, function: &Function, pointer: &Expr) -> bool {
        !self.is_empty()
            && fresh::is_one(function, pointer, &self.locals, &|lvalue| self.member(lvalue).is_some())
    }

    /// Whether no room has anything in common with what a pointer leads to: a record that was passed, or a variable of the function's own.
    pub(in super::super) fn are_apart_from(&self, pointer: &Expr) -> bool {
        match pointer {
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) => {
                path.is_empty() && self.records.contains(id)
            }
            Expr::Address(Lvalue { base: Base::Local(_), .. }) => true,
            _ => false,
        }
    }

    /// Whether a place is a part of a record that was passed.
    pub(in super::super) fn is_in_record(&self, place: &Lvalue) -> bool {
        base_of(place).is_some_and(|id| self.records.contains(&id))
    }

    /// Whether an operation leaves a pointer into a room in a member, if it changes it at all.
    fn keeps(
        &self,
        memory: &Memory<'_>,
        function: &Function,
        op: &Op,
        (id, member): (LocalId, &Member),
        contracts: &Contracts,
    ) -> bool {
        let local = function.local(id);
        let pointer = Expr::Load(Lvalue::local(id, local.ty, Scalar::Pointer, local.size));
        let Some(place) = place(memory.program(), &pointer, member) else { return false };
        let Some(access) = Access::of(memory, function, &place) else { return false };
        let is_apart = |dst: &Lvalue| {
            memory.is_new(function, dst)
                || matches!(&dst.base, Base::Deref(pointer, _) if self.is_one(function, pointer))
                || Access::of(memory, function, dst)
                    .is_some_and(|write| write.is_apart(&access, memory.program()))
        };
        let into_room =
            |pointer: &Expr| memory.leads_to_new(function, pointer) || self.is_one(function, pointer);
        match op {
            Op::Skip | Op::Assume(_) | Op::Free(_) | Op::Begin(_) | Op::End(_) => true,
            Op::Assign(dst, value) => is_apart(dst) || is_member(dst, member) && self.is_one(function, value),
            Op::Copy(dst, _) | Op::Havoc(dst, _) => is_apart(dst),
            Op::Allocate(allocation) => {
                is_apart(&allocation.dst) || is_member(&allocation.dst, member) && allocation.on_heap
            }
            Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => into_room(to),
            Op::Clobber(..) => false,
            Op::Call(call) => {
                call.dst.as_ref().is_none_or(is_apart) && is_left(memory, call, member, &access, contracts)
            }
        }
    }
}

/// Whether what is called does not change a member, or says in its contract that it leaves rooms there: what it stores there are pointers into such then.
fn is_left(
    memory: &Memory<'_>,
    call: &Call,
    member: &Member,
    access: &Access,
    contracts: &Contracts,
) -> bool {
    let Callee::Direct(name) = call.callee else { return false };
    let leaves = |name: &Name| {
        let all = contracts.get(name).into_iter().flat_map(|contract| contract.records.values());
        all.flat_map(|of| &of.left).any(|fact| fact.room() == Some(member))
    };
    let is_apart = || {
        let written = apart::written(memory, name);
        written.is_some_and(|all| all.iter().all(|write| write.is_apart(access, memory.program())))
    };
    memory.env().function(name).is_some() && (leaves(&name) || is_apart())
}

fn is_member(dst: &Lvalue, member: &Member) -> bool {
    let last = dst.path.last();
    matches!(last, Some(Step::Field { record, offset, .. }) if (*record, *offset) == (member.record, member.offset))
}

/// The local that is followed.
fn base_of(place: &Lvalue) -> Option<LocalId> {
    let Base::Deref(pointer, _) = &place.base else { return None };
    let Expr::Load(Lvalue { base: Base::Local(id), path, .. }) = &**pointer else { return None };
    path.is_empty().then_some(*id)
}
