//! Results that depend on arguments: how much was read, whether an object was filled.

use std::sync::Arc;

use proofline_hir::{Name, TypeKind};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Bound, Fails, MemberRange},
    format,
};
use crate::lower::fold;
use proofline_cfa::{Argument, Base, Cause, CompareOp, Expr, IntType, Lvalue, Op, Scalar, Step};

impl Pass<'_, '_> {
    /// A value between two bounds.
    pub(super) fn in_range(&mut self, value: &Expr, low: Bound, high: Bound, arguments: &[Argument]) {
        let Some(ty) = value.int_type() else { return };
        let low = self.bound(low).unwrap_or(ty.min());
        let number = match high {
            Bound::Conversions(format) => pointer(arguments, format)
                .and_then(|format| format::assigned(self.program, &format))
                .and_then(|count| i128::try_from(count).ok()),
            high => self.bound(high),
        };
        self.emitter.assume_range(value, low, number.unwrap_or(ty.max()));
        if let Bound::Argument(at, unless) = high
            && unless.is_none_or(|(flags, bits)| lacks(arguments, flags, bits))
        {
            self.at_most(value, arguments, at);
        }
        if let Bound::Below(at) = high {
            let is_positive = fold::compare(CompareOp::Ne, value.clone(), value.zero());
            let end = super::arguments::value(arguments, at)
                .map(|end| fold::cast(Scalar::Int(ty), end, self.emitter.site));
            if let Some(end) = end {
                let less = Op::Assume(fold::compare(CompareOp::Lt, value.clone(), end));
                self.emitter.only_if(is_positive, |emitter| emitter.emit(less));
            }
        }
    }

    /// The value is not larger than an argument that is a size; of a size that its type does not have nothing is known.
    fn at_most(&mut self, number: &Expr, arguments: &[Argument], at: usize) {
        let (Some(most), Some(ty)) = (value(arguments, at), number.int_type()) else { return };
        let Some(given) = most.int_type() else { return };
        if given.bits > ty.bits && !matches!(most, Expr::Int(size, _) if ty.contains(size)) {
            return;
        }
        let most = fold::cast(Scalar::Int(ty), most, self.emitter.site);
        let fits = Op::Assume(fold::compare(CompareOp::Le, number.clone(), most.clone()));
        match most {
            _ if !ty.signed => self.emitter.emit(fits),
            Expr::Int(size, _) if size < 0 => {}
            Expr::Int(..) => self.emitter.emit(fits),
            most => {
                let is_size = fold::compare(CompareOp::Ge, most.clone(), most.zero());
                self.emitter.only_if(is_size, |emitter| emitter.emit(fits));
            }
        }
    }

    /// 0 where the object gets a value, -1 where it does not.
    pub(super) fn filled(
        &mut self,
        at: usize,
        ranges: &[MemberRange],
        fails: Fails,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(to) = pointer(arguments, at) else { return };
        let may_fail = match fails {
            Fails::Sometimes => true,
            Fails::Never => false,
            Fails::NeverFor { argument, low, high } => {
                let number = value(arguments, argument);
                !matches!(number, Some(Expr::Int(number, _)) if (low..=high).contains(&number))
            }
        };
        let give = |pass: &mut Self, number: i128| {
            if let Some(dst) = dst.clone() {
                match dst.scalar {
                    Some(Scalar::Int(ty)) => {
                        pass.emitter.emit(Op::Assign(dst, Expr::Int(ty.wrap(number), ty)));
                    }
                    _ => pass.emitter.havoc(dst, cause),
                }
            }
        };
        let join = self.emitter.location();
        if may_fail {
            let fails = self.emitter.any(Scalar::Int(IntType::INT), cause.within());
            let start = self.emitter.at;
            self.emitter.emit(Op::Assume(fails.clone()));
            give(self, -1);
            self.emitter.connect(Op::Skip, join);
            self.emitter.at = start;
            self.emitter.emit(Op::Assume(fails.negated()));
        }
        self.write_object(&to, cause);
        self.members_in_range(&to, ranges);
        give(self, 0);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
    }

    /// Members of the record behind a pointer are in ranges, if it is not null.
    pub(super) fn members_in_range(&mut self, to: &Expr, ranges: &[MemberRange]) {
        for MemberRange { member, low, high } in ranges {
            let Some(place) = self.member(to, *member) else { continue };
            self.emitter.if_not_null(to, |emitter| emitter.assume_range(&Expr::Load(place), *low, *high));
        }
    }

    /// A member, of integer type, of the record behind a pointer.
    pub(super) fn member(&self, to: &Expr, member: Name) -> Option<Lvalue> {
        let (mut place, record) = match to {
            Expr::Address(place) => (place.clone(), place.ty),
            Expr::Load(pointer) => {
                let ty = pointer.ty.pointee()?;
                let base = Base::Deref(Arc::new(to.clone()), self.emitter.site);
                (Lvalue { base, path: Vec::new(), ty, scalar: None, bits: None, size: 0 }, ty)
            }
            _ => return None,
        };
        let TypeKind::Record(tag) = record.kind() else { return None };
        let field = self.emitter.types.record(*tag)?.fields.iter().find(|field| field.name == member)?;
        let scalar = self.emitter.types.scalar(field.ty);
        if field.bits.is_some() || !matches!(scalar, Some(Scalar::Int(_))) {
            return None;
        }
        place.path.push(Step::Field { record: *tag, name: member, offset: field.offset });
        (place.ty, place.scalar) = (field.ty, scalar);
        place.size = self.emitter.types.size(field.ty)?;
        Some(place)
    }
}

/// Whether an argument is a constant without these bits.
fn lacks(arguments: &[Argument], flags: usize, bits: i128) -> bool {
    matches!(value(arguments, flags), Some(Expr::Int(flags, _)) if flags & bits == 0)
}
