//! Lvalues of automata: sentence 3.

use proofline_hir::{Type, TypeKind};

use super::{Flaw, Verifier};
use crate::{
    expr::{Base, Lvalue, Step},
    scalar::Scalar,
};

impl Verifier<'_> {
    pub(super) fn lvalue(&mut self, lvalue: &Lvalue) {
        match &lvalue.base {
            Base::Local(id) => {
                let known = id.index() < self.function.locals.len();
                self.expect(known, Flaw::UnknownLocal, || id.to_string());
            }
            Base::Global(_) => {}
            Base::Deref(pointer, site) => {
                self.site(*site);
                self.value(pointer);
                self.expect(pointer.scalar() == Scalar::Pointer, Flaw::NotAPointer, || {
                    format!("a {} is followed", pointer.scalar())
                });
            }
        }
        for step in &lvalue.path {
            self.step(step);
        }
        self.format(lvalue);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Field { record, name, offset } => {
                // A record that is nowhere defined has no members one could compare with.
                let Some(layout) = self.types.record(*record) else { return };
                let place = layout.fields.iter().find(|field| field.name == *name).map(|field| field.offset);
                self.expect(place == Some(*offset), Flaw::Member, || {
                    format!("{record}.{name} at {offset}, not {place:?}")
                });
            }
            Step::Index { index, stride: _, length: _, site } => {
                self.site(*site);
                self.value(index);
                self.expect(index.int_type().is_some(), Flaw::NotAnInteger, || {
                    format!("a {} is an index", index.scalar())
                });
            }
        }
    }

    fn format(&mut self, lvalue: &Lvalue) {
        let expected = self.types.scalar(lvalue.ty);
        self.expect(lvalue.scalar == expected || self.is_unknown(lvalue.ty), Flaw::Format, || {
            format!("{:?} for {expected:?}", lvalue.scalar)
        });
        match (lvalue.bits, lvalue.scalar) {
            (None, _) => {
                let size = self.types.size(lvalue.ty).unwrap_or(0);
                // A global or local of this incomplete type may have been given elements.
                let whole = lvalue.path.is_empty() && !matches!(lvalue.base, Base::Deref(..));
                let fits = lvalue.size == size || size == 0 || (whole && lvalue.size > size);
                self.expect(fits, Flaw::Size, || format!("{} for {size}", lvalue.size));
            }
            (Some(bits), Some(Scalar::Int(ty))) => {
                let fits = bits.first < 8 && (1..=ty.bits).contains(&bits.width);
                self.expect(fits, Flaw::BitField, || format!("{bits:?} of {ty}"));
                let bytes = (u64::from(bits.first) + u64::from(bits.width)).div_ceil(8);
                self.expect(lvalue.size == bytes, Flaw::Size, || format!("{} for {bytes}", lvalue.size));
            }
            (Some(_), Some(Scalar::Float(_) | Scalar::Pointer) | None) => {
                self.report(Flaw::BitField, "of something that is no integer");
            }
        }
    }

    fn is_unknown(&self, ty: Type) -> bool {
        matches!(ty.kind(), TypeKind::Error)
    }
}
