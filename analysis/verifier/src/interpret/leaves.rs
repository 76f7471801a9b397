//! The scalars and strings that a C type consists of, with the names by which people know them.

use proofline_cfa::{BitField, Program, Scalar, Type, Types, scalar_of};
use proofline_hir::{TypeKind, types::ArrayLength};

use super::place::{field, value_bytes};

/// More are not listed.
const MOST: usize = 512;

/// A part of an object.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// `next`, `[3].key`, or nothing.
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) kind: LeafKind,
}

/// What it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeafKind {
    /// A scalar of this type, perhaps a bit-field.
    Scalar(Type, Option<BitField>),
    /// So many characters.
    Characters(u64),
}

impl Leaf {
    /// How many bytes it has.
    pub(super) fn bytes(&self, program: &Program) -> u64 {
        match self.kind {
            LeafKind::Characters(length) => length,
            LeafKind::Scalar(_, Some(bits)) => field(bits).0,
            LeafKind::Scalar(ty, None) => {
                scalar_of(ty, program.data_model).map_or(1, |scalar| value_bytes(program, scalar))
            }
        }
    }
}

/// The parts of a type, and how many were not listed. `room`: bytes that are there, for arrays that say no length.
pub(super) fn leaves(types: Types<'_>, ty: Type, room: u64) -> (Vec<Leaf>, usize) {
    let mut list = List { types, all: Vec::new(), more: 0 };
    list.add(String::new(), 0, ty, room);
    (list.all, list.more)
}

struct List<'t> {
    types: Types<'t>,
    all: Vec<Leaf>,
    more: usize,
}

impl List<'_> {
    fn add(&mut self, name: String, offset: u64, ty: Type, room: u64) {
        if self.all.len() >= MOST {
            self.more += 1;
            return;
        }
        if self.types.scalar(ty).is_some() {
            self.all.push(Leaf { name, offset, kind: LeafKind::Scalar(ty, None) });
            return;
        }
        if let TypeKind::Array(element, length) = ty.kind() {
            // A member without a length has what is left of the object, which its type does not say.
            if let ArrayLength::Fixed(length) = length {
                self.array(&name, offset, *element, *length, room);
            }
            return;
        }
        let TypeKind::Record(tag) = ty.kind() else { return };
        let Some(record) = self.types.record(*tag) else { return };
        for member in &record.fields {
            let inner = match (name.as_str(), member.name.starts_with('#')) {
                (outer, true) => outer.to_owned(),
                ("", false) => member.name.to_string(),
                (outer, false) => format!("{outer}.{}", member.name),
            };
            let at = offset + member.offset;
            match member.bits {
                Some(bits) => {
                    self.all.push(Leaf {
                        name: inner,
                        offset: at,
                        kind: LeafKind::Scalar(member.ty, Some(bits)),
                    });
                }
                None => self.add(inner, at, member.ty, room.saturating_sub(member.offset)),
            }
        }
    }

    fn array(&mut self, name: &str, offset: u64, element: Type, length: u64, room: u64) {
        let Some(size) = self.types.size(element).filter(|size| *size > 0) else { return };
        let length = length.min(room / size);
        let is_character = matches!(self.types.scalar(element), Some(Scalar::Int(ty)) if ty.bits == 8);
        if is_character && length > 0 {
            self.all.push(Leaf { name: name.to_owned(), offset, kind: LeafKind::Characters(length) });
            return;
        }
        for number in 0..length {
            if self.all.len() >= MOST {
                self.more += (length - number) as usize;
                return;
            }
            self.add(format!("{name}[{number}]"), offset + number * size, element, size);
        }
    }
}
