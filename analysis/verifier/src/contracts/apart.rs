//! Members of records that cannot be one, as their types say: of a record at other offsets, of records neither of which is a part of the other, a pointer and
//! a number. What is read at one of them stays what it is when another one is written, whatever the pointers are.
//!
//! **Law.** As far as pointers lead to what their types say (`punned`), places that are apart have no byte in common.

use std::{collections::BTreeSet, ops::Range};

use proofline_cfa::{Call, Callee, Expr, Function, Lvalue, Name, Op, Program, Scalar, Step};
use proofline_hir::TypeKind;

use super::{
    origin::{element, types},
    punned::{Shape, through_union},
    writes::Memory,
};

/// What is read or written, as its types say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    /// The record.
    object: Shape,
    /// Which bytes of it, or more of them, if that is known.
    bytes: Option<Range<u64>>,
    kind: Kind,
    /// One of several members that lie at one place.
    is_shared: bool,
}

/// The format of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Pointer,
    Int(u8),
    Float(u64),
}

impl Access {
    /// Of a place in a function, if it holds what its type says.
    pub(super) fn of(memory: &Memory<'_>, body: &Function, place: &Lvalue) -> Option<Access> {
        let kind = match place.scalar? {
            Scalar::Pointer => Kind::Pointer,
            Scalar::Int(ty) => Kind::Int(ty.bits),
            Scalar::Float(_) => Kind::Float(place.size),
        };
        let object = Shape::of_place(place);
        let is_shared = through_union(memory.program(), place);
        // Where a plain number is written, a caller may have anything.
        let is_known = object.is_record() && memory.is_certain(body, place);
        is_known.then(|| Access { object, bytes: bytes(place), kind, is_shared })
    }

    /// Whether the two have no byte in common.
    pub(super) fn is_apart(&self, other: &Access, program: &Program) -> bool {
        if self.object == other.object {
            return match (&self.bytes, &other.bytes) {
                (Some(a), Some(b)) => a.end <= b.start || b.end <= a.start,
                (None, _) | (_, None) => !self.is_shared && !other.is_shared && self.kind != other.kind,
            };
        }
        let holds = |outer: Shape, inner: Shape| contains(program, outer, inner);
        let are_parts = holds(self.object, other.object) || holds(other.object, self.object);
        !are_parts || !self.is_shared && !other.is_shared && self.kind != other.kind
    }
}

/// The bytes of the record that a place may have. That an index is one of an array in it, its obligation asks.
fn bytes(place: &Lvalue) -> Option<Range<u64>> {
    if place.size == 0 {
        return None;
    }
    let (mut start, mut more) = (0, 0);
    for step in place.path.iter().skip_while(|step| matches!(step, Step::Index { .. })) {
        match step {
            Step::Field { offset, .. } => start += offset,
            Step::Index { index, stride, length, .. } => match (&**index, length) {
                (Expr::Int(index, _), _) => start += u64::try_from(*index).ok()? * stride,
                (_, Some(length)) if *length > 0 => more += (*length - 1) * stride,
                _ => return None,
            },
        }
    }
    Some(start..start + more + place.size)
}

/// Whether an object of the first type has one of the second as a part.
fn contains(program: &Program, outer: Shape, inner: Shape) -> bool {
    let TypeKind::Record(tag) = outer.last.kind() else { return false };
    let fields = types(program).record(*tag).into_iter().flat_map(|record| &record.fields);
    fields.map(|field| element(field.ty)).filter(|ty| ty.pointee().is_none()).any(|ty| {
        let part = Shape::of(ty);
        part == inner || contains(program, part, inner)
    })
}

/// What a function, with all that it calls, may write to memory that was there before; `None` if types do not say all of it.
pub(super) fn written(memory: &Memory<'_>, function: Name) -> Option<Vec<Access>> {
    let mut all: Vec<Access> = Vec::new();
    let called: BTreeSet<Name> = memory.env().call_graph().reachable([function]).into_iter().collect();
    for &name in &called {
        let body = memory.env().function(name)?;
        for (id, edge) in body.edge_ids() {
            let is_here = |call: &Call| match call.callee {
                Callee::Direct(name) => memory.env().function(name).is_some(),
                Callee::Indirect(..) => {
                    memory.env().call_graph().call(name, id).is_some_and(|to| !to.may_be_external)
                }
            };
            if !edge.op.call().is_none_or(is_here) {
                return None;
            }
            let Some(place) = place(memory, body, &edge.op)? else { continue };
            if memory.is_of_frames(&called, body, place) {
                continue;
            }
            let access = Access::of(memory, body, place)?;
            if !all.contains(&access) {
                all.push(access);
            }
        }
    }
    Some(all)
}

/// The place in memory that an operation writes, if there is one; `None` if it may write more than one.
#[expect(clippy::option_option, reason = "none is written, or it is not known which")]
fn place<'o>(memory: &Memory<'_>, body: &Function, op: &'o Op) -> Option<Option<&'o Lvalue>> {
    let place = match op {
        Op::Assign(dst, _) | Op::Havoc(dst, _) => Some(dst),
        Op::Allocate(allocation) => Some(&allocation.dst),
        Op::Call(Call { dst, .. }) => dst.as_ref(),
        Op::Copy(dst, _) => return memory.is_new(body, dst).then_some(None),
        Op::CopyBytes(to, ..) | Op::FillBytes(to, ..) | Op::HavocBytes(to, ..) => {
            return memory.leads_to_new(body, to).then_some(None);
        }
        Op::Clobber(..) => return None,
        Op::Skip | Op::Assume(_) | Op::Free(_) | Op::Begin(_) | Op::End(_) => None,
    };
    Some(place.filter(|place| !memory.is_new(body, place)))
}
