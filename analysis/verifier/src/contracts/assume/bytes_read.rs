//! Bytes of strings that were read and not written since: reading them once more gives the same. What may write, and what moves a pointer or
//! changes an index, ends that.

use super::*;

/// A byte of a string, as the text names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Byte {
    /// The variable with the pointer.
    pointer: LocalId,
    offset: i128,
    /// Variables with indices, as what they are read, and the bytes of a step.
    indices: Vec<(LocalId, Vec<Scalar>, u64)>,
    scalar: Scalar,
}

impl Byte {
    fn of(place: &Place, lvalue: &Lvalue) -> Option<Byte> {
        if lvalue.ty.qualifiers().is_volatile {
            return None;
        }
        let indices = place.offset.terms.iter().map(|(index, stride)| {
            let (local, casts) = variable(index)?;
            Some((local, casts, *stride))
        });
        let indices = indices.collect::<Option<Vec<_>>>()?;
        Some(Byte { pointer: place.local?, offset: place.offset.bytes, indices, scalar: lvalue.scalar? })
    }

    fn changes_with(&self, id: LocalId) -> bool {
        self.pointer == id || self.indices.iter().any(|(local, ..)| *local == id)
    }
}

/// A variable and the conversions of its value.
fn variable(expr: &Expr) -> Option<(LocalId, Vec<Scalar>)> {
    match expr {
        Expr::Load(Lvalue {
            base: proofline_cfa::Base::Local(id),
            path,
            bits: None,
            scalar: Some(scalar),
            ..
        }) if path.is_empty() => Some((*id, vec![*scalar])),
        Expr::Cast(to, arg, _) => {
            let (id, mut casts) = variable(arg)?;
            casts.push(*to);
            Some((id, casts))
        }
        _ => None,
    }
}

impl Maker<'_> {
    /// The bytes of strings that operations at a location read, as they are written there.
    pub(super) fn bytes_at(&self, at: Loc, ids: &[EdgeId]) -> Vec<(Lvalue, Place, Option<Byte>)> {
        let mut found: Vec<(Lvalue, Place, Option<Byte>)> = Vec::new();
        for id in ids {
            visit::reads(&self.function.edge(*id).op, &mut |lvalue| {
                let is_byte = matches!(lvalue.scalar, Some(Scalar::Int(ty)) if ty.bits == 8);
                if !is_byte || lvalue.bits.is_some() || found.iter().any(|(known, ..)| known == lvalue) {
                    return;
                }
                let Some(place) = self.origins.place(&Expr::Address(lvalue.clone())) else { return };
                let is_string =
                    self.memory(place.origin) == Memory::String && self.strings_stay(at, place.origin);
                if is_string && self.left(&place).is_some() {
                    let byte = Byte::of(&place, lvalue)
                        .filter(|byte| byte.indices.iter().all(|(id, ..)| self.is_register(*id)));
                    found.push((lvalue.clone(), place, byte));
                }
            });
        }
        found
    }

    fn is_register(&self, id: LocalId) -> bool {
        !self.function.local(id).address_taken
    }

    /// The bytes that were read on every way to a location, and have not been written since.
    pub(super) fn read_before(&self, errors: &BTreeSet<Loc>) -> Vec<BTreeSet<Byte>> {
        let successors = self.function.successors();
        // Obligations read nothing, their conditions are about addresses.
        let is_demand = |ids: &[EdgeId]| ids.iter().any(|id| errors.contains(&self.function.edge(*id).to));
        let read = successors.iter().enumerate().map(|(at, ids)| {
            let bytes = if is_demand(ids) { Vec::new() } else { self.bytes_at(Loc(at as u32), ids) };
            bytes.into_iter().filter_map(|(.., byte)| byte).collect::<BTreeSet<Byte>>()
        });
        let read: Vec<BTreeSet<Byte>> = read.collect();
        let mut known: Vec<Option<BTreeSet<Byte>>> = vec![None; successors.len()];
        let entry = self.function.entry;
        known[entry.index()] = Some(BTreeSet::new());
        let mut open = vec![entry];
        while let Some(at) = open.pop() {
            let Some(before) = &known[at.index()] else { continue };
            let here: BTreeSet<Byte> = before.union(&read[at.index()]).cloned().collect();
            for id in &successors[at.index()] {
                let edge = self.function.edge(*id);
                let after: BTreeSet<Byte> =
                    here.iter().filter(|byte| self.keeps(&edge.op, byte)).cloned().collect();
                let next = &mut known[edge.to.index()];
                let joined = next
                    .as_ref()
                    .map_or(after.clone(), |known| known.intersection(&after).cloned().collect());
                if next.as_ref() != Some(&joined) {
                    *next = Some(joined);
                    open.push(edge.to);
                }
            }
        }
        known.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Whether the byte certainly is behind the operation what it was before.
    fn keeps(&self, op: &Op, byte: &Byte) -> bool {
        match op {
            Op::Skip | Op::Assume(_) => true,
            Op::Assign(dst, _) | Op::Havoc(dst, _) => match dst.base {
                proofline_cfa::Base::Local(id) => self.is_register(id) && !byte.changes_with(id),
                proofline_cfa::Base::Global(_) | proofline_cfa::Base::Deref(..) => false,
            },
            Op::Copy(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Begin(_)
            | Op::End(_)
            | Op::HavocBytes(..)
            | Op::CopyBytes(..)
            | Op::FillBytes(..) => false,
        }
    }
}
