//! How much room a member has that an argument names: `strcpy(v.name, s)` must not go on into what comes behind `name` in `v`
//! (C11 6.5.6p8). Asked of functions that write strings and lines; those that copy and fill memory (`memset(v.name, 0, sizeof v)`) are asked
//! about the whole object only. Must not know what functions do.

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, Lvalue, MemoryPredicate, Scalar, Step, Types, expr_text, types::array,
};

use super::apply::Pass;
use crate::lower::fold;

/// Where in an array an address is.
struct Part {
    /// The array.
    array: Lvalue,
    /// Bytes from its start on.
    offset: Option<Expr>,
}

impl Pass<'_, '_> {
    /// There is room for so many bytes behind the pointer, and in the member that the argument names.
    pub(super) fn ask_room(&mut self, to: Expr, size: Expr, or_null: bool) {
        let part = self.named_part(&to);
        self.ask(MemoryPredicate::InBounds, to, size.clone(), or_null);
        let Some(Part { array, offset }) = part else { return };
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let size = fold::cast(Scalar::Int(size_t), size, site);
        let whole = Expr::Int(i128::from(array.size), size_t);
        let room = match offset {
            Some(offset) => fold::binary(BinaryOp::Sub, whole, offset, site),
            None => whole,
        };
        let text = expr_text(self.emitter.function, &Expr::Load(array));
        match fold::compare(CompareOp::Le, size.clone(), room) {
            Expr::Int(fits, _) if fits != 0 => {}
            condition => {
                let bytes = match size {
                    Expr::Int(1, _) => "1 byte".to_owned(),
                    size => format!("{} bytes", expr_text(self.emitter.function, &size)),
                };
                self.emitter.demand_that(condition, &format!("there is room for {bytes} in {text}"));
            }
        }
    }

    /// The member of a record, or the row of an array of arrays, that the address names, unless more may lie behind it.
    fn named_part(&self, pointer: &Expr) -> Option<Part> {
        match pointer {
            Expr::Address(lvalue) => part(lvalue, self.emitter.types),
            Expr::Cast(Scalar::Pointer, inner, _) if inner.scalar() == Scalar::Pointer => {
                self.named_part(inner)
            }
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) if path.is_empty() => {
                let saved = self.saved.iter().find(|(temporary, _)| temporary == id)?;
                self.named_part(&saved.1)
            }
            _ => None,
        }
    }
}

fn part(lvalue: &Lvalue, types: Types<'_>) -> Option<Part> {
    if array(lvalue.ty).is_some() {
        let part = Part { array: lvalue.clone(), offset: None };
        return (lvalue.size > 0 && is_closed(lvalue, types)).then_some(part);
    }
    let (Step::Index { index, stride, length: Some(length), site }, before) = lvalue.path.split_last()?
    else {
        return None;
    };
    let size_t = types.size_t();
    let index = fold::cast(Scalar::Int(size_t), Expr::clone(index), *site);
    let stride_of = Expr::Int(i128::from(*stride), size_t);
    let offset = fold::binary(BinaryOp::Mul, index, stride_of, *site);
    let array = Lvalue {
        path: before.to_vec(),
        scalar: None,
        bits: None,
        size: length.checked_mul(*stride)?,
        ..lvalue.clone()
    };
    is_closed(&array, types).then_some(Part { array, offset: Some(offset) })
}

/// Whether the array ends where its type says, though its object may go on. An array at the end of a record in memory may be longer by old habit,
/// and the members of a union share their room.
fn is_closed(array: &Lvalue, types: Types<'_>) -> bool {
    match array.path.last() {
        None => return false,
        Some(Step::Index { .. }) => return true,
        Some(Step::Field { record, .. }) => {
            if types.record(*record).is_none_or(|record| record.is_union) {
                return false;
            }
        }
    }
    let is_last = |step: &Step| match step {
        Step::Field { record, offset, .. } => types.record(*record).is_none_or(|record| {
            record.is_union || record.fields.iter().all(|other| other.offset <= *offset)
        }),
        Step::Index { length, .. } => length.is_none(),
    };
    !matches!(array.base, Base::Deref(..)) || !array.path.iter().all(is_last)
}
