//! What a modelled call returns.

use std::sync::Arc;

use proofline_hir::{Name, Type, TypeKind, types::IntKind};

use super::{
    allocation::Requested,
    apply::Pass,
    arguments::{pointer, value},
    effect::{Factor, Instead, OrNull, Outcome, Size},
    emit::Emitter,
    errno, format,
};
use crate::lower::{byte_swapped, fold};
use proofline_cfa::{
    Argument, Base, BinaryOp, Cause, CompareOp, Expr, Lvalue, Op, Quantity, Scalar, UnaryOp,
};

impl Pass<'_, '_> {
    /// Gives null where that may be the result, and does the other thing where it is not.
    pub(super) fn unless_null(
        &mut self,
        or_null: OrNull,
        arguments: &[Argument],
        dst: Lvalue,
        cause: Cause,
        otherwise: impl FnOnce(&mut Emitter<'_>),
    ) {
        let allowed = match or_null {
            OrNull::Never => return otherwise(&mut self.emitter),
            OrNull::Perhaps => None,
            OrNull::Unless { argument, low, high } => {
                let long = Type::new(TypeKind::Int(IntKind::Long));
                let place = pointer(arguments, argument).map(|pointer| match pointer {
                    Expr::Address(place) if matches!(place.scalar, Some(Scalar::Int(_))) => place,
                    pointer => self.pointee(&pointer, long),
                });
                place.map(|place| (Expr::Load(place), low, high))
            }
        };
        let null = |emitter: &mut Emitter<'_>| {
            if let Some((value, low, high)) = allowed
                && let Some(ty) = value.int_type()
            {
                let beyond = |op, bound: i128| {
                    let is_beyond = ty.contains(bound).then_some(Expr::Int(bound, ty));
                    let never = || Expr::int(0);
                    Op::Assume(is_beyond.map_or_else(never, |bound| fold::compare(op, value.clone(), bound)))
                };
                let (before, behind) = (beyond(CompareOp::Lt, low), beyond(CompareOp::Gt, high));
                emitter.either(cause, |emitter| emitter.emit(before), |emitter| emitter.emit(behind));
            }
            emitter.give_null(Some(dst));
        };
        self.emitter.either(cause, null, otherwise);
    }

    pub(super) fn result(
        &mut self,
        outcome: Option<&Outcome>,
        dst: Lvalue,
        arguments: &[Argument],
        name: Name,
        cause: Cause,
    ) {
        let is_pointer = dst.scalar == Some(Scalar::Pointer);
        let is_integer = matches!(dst.scalar, Some(Scalar::Int(_)));
        let is_number = match self.emitter.exactly {
            Some((Quantity::FloatIn, _)) => matches!(dst.scalar, Some(Scalar::Float(_))),
            Some(_) => is_integer,
            None => false,
        };
        // A temporary of its own says what the number really is.
        if is_number && !matches!(outcome, Some(Outcome::Argument { .. })) {
            let number = self.emitter.temporary(dst.ty);
            let value = Expr::Load(number.clone());
            self.emitter.note(&value, false);
            let exactly = self.emitter.exactly.take();
            self.result(outcome, number, arguments, name, cause);
            self.emitter.exactly = exactly;
            return self.emitter.emit(Op::Assign(dst, value));
        }
        match outcome {
            Some(Outcome::Input) => self.emitter.havoc(dst, Cause::Input(name)),
            Some(Outcome::Range(low, high)) if is_integer => {
                self.emitter.havoc(dst.clone(), cause);
                self.in_range(&Expr::Load(dst), *low, *high, arguments);
            }
            Some(Outcome::Argument { argument, instead }) if is_pointer || *instead == Instead::Nothing => {
                match value(arguments, *argument) {
                    Some(value) if Some(value.scalar()) == dst.scalar => {
                        self.put(dst, value, *instead, arguments, cause)
                    }
                    _ => self.emitter.havoc(dst, cause),
                }
            }
            Some(Outcome::Into { argument, inside, or_null }) if is_pointer => {
                match pointer(arguments, *argument) {
                    Some(object) => {
                        let place = self.emitter.inside_of(object, cause);
                        let null = Op::Assign(dst.clone(), Expr::Null);
                        let found = |emitter: &mut Emitter<'_>| emitter.put_inside(dst, place, *inside);
                        match or_null {
                            true => self.emitter.either(cause, |e| e.emit(null), found),
                            false => found(&mut self.emitter),
                        }
                    }
                    None => self.emitter.havoc(dst, cause),
                }
            }
            Some(Outcome::Element { element, or_null }) if is_pointer => {
                let null = Op::Assign(dst.clone(), Expr::Null);
                let found = |emitter: &mut Emitter<'_>| match emitter.element_of(*element, arguments, cause) {
                    Some(address) => emitter.emit(Op::Assign(dst, address)),
                    None => emitter.havoc(dst, cause),
                };
                match or_null {
                    true => self.emitter.either(cause, |e| e.emit(null), found),
                    false => found(&mut self.emitter),
                }
            }
            Some(Outcome::Text { or_null }) if is_pointer => {
                let text = Op::Havoc(dst.clone(), Cause::Text(name));
                self.unless_null(*or_null, arguments, dst, cause, |e| e.emit(text));
            }
            Some(Outcome::Fresh { size, on_heap, zeroed, may_fail }) if is_pointer => {
                let size = Requested { size, on_heap: *on_heap, zeroed: *zeroed, may_fail: *may_fail };
                self.allocate(size, dst, arguments, cause);
            }
            Some(Outcome::Errno) if is_pointer => {
                let errno = Expr::Address(errno::lvalue());
                self.emitter.emit(Op::Assign(dst, errno));
            }
            Some(Outcome::NotNull) if is_pointer => {
                self.emitter.havoc(dst.clone(), cause);
                let not_null = fold::compare(CompareOp::Ne, Expr::Load(dst), Expr::Null);
                self.emitter.emit(Op::Assume(not_null));
            }
            Some(Outcome::Absolute(at)) => match value(arguments, *at) {
                Some(value) if Some(value.scalar()) == dst.scalar => self.absolute(dst, value),
                _ => self.emitter.havoc(dst, cause),
            },
            Some(Outcome::Length(at)) if is_integer => {
                let known = value(arguments, *at).and_then(|string| format::literal(self.program, &string));
                match (known, dst.scalar) {
                    (Some(text), Some(Scalar::Int(ty))) => {
                        let length = ty.wrap(text.len() as i128);
                        self.emitter.emit(Op::Assign(dst, Expr::Int(length, ty)));
                    }
                    _ => {
                        let high = self.emitter.types.ptrdiff_t().max();
                        self.emitter.havoc(dst.clone(), cause);
                        self.emitter.assume_range(&Expr::Load(dst), 0, high);
                    }
                }
            }
            Some(Outcome::Table(table)) if is_pointer => {
                self.tables.insert(*table);
                self.forget_locale(*table, cause);
                let (name, ty) = (table.pointer(), Type::void().pointer_to());
                let size = u64::from(self.emitter.types.pointer_bits() / 8);
                let scalar = Some(Scalar::Pointer);
                let pointer =
                    Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar, bits: None, size };
                self.emitter.emit(Op::Assign(dst, Expr::Address(pointer)));
            }
            Some(Outcome::Entry(table, at, mask)) => match (value(arguments, *at), dst.scalar) {
                (Some(character), Some(Scalar::Int(ty))) if character.int_type().is_some() => {
                    self.tables.insert(*table);
                    self.character(*table, character, *mask, dst, ty, cause);
                }
                _ => self.emitter.havoc(dst, cause),
            },
            Some(Outcome::Swapped(at, bits)) if is_integer => match (value(arguments, *at), dst.scalar) {
                (Some(number), Some(scalar)) => {
                    let swapped = byte_swapped(number, *bits, self.emitter.site);
                    let swapped = fold::cast(scalar, swapped, self.emitter.site);
                    self.emitter.emit(Op::Assign(dst, swapped));
                }
                _ => self.emitter.havoc(dst, cause),
            },
            None
            | Some(
                Outcome::Any
                | Outcome::Swapped(..)
                | Outcome::Line { .. }
                | Outcome::Token(_)
                | Outcome::Filled { .. }
                | Outcome::Option(_)
                | Outcome::NotNull
                | Outcome::Text { .. }
                | Outcome::Record { .. }
                | Outcome::Table(_)
                | Outcome::Into { .. }
                | Outcome::Element { .. }
                | Outcome::Fresh { .. }
                | Outcome::FreshAt { .. }
                | Outcome::Copy { .. }
                | Outcome::Errno
                | Outcome::Range(..)
                | Outcome::Argument { .. }
                | Outcome::Length(_)
                | Outcome::Reallocated { .. },
            ) => self.emitter.havoc(dst, cause),
        }
    }

    fn absolute(&mut self, dst: Lvalue, value: Expr) {
        let (yes, no, join) = (self.emitter.location(), self.emitter.location(), self.emitter.location());
        let site = self.emitter.site;
        // Of floats also -0.0 becomes 0.0, and NaN stays.
        let is_float = matches!(value.scalar(), Scalar::Float(_));
        let op = if is_float { CompareOp::Le } else { CompareOp::Lt };
        let negative = fold::compare(op, value.clone(), value.zero());
        self.emitter.connect(Op::Assume(negative.clone()), yes);
        self.emitter.connect(Op::Assume(negative.negated()), no);
        self.emitter.at = yes;
        let opposite = if is_float {
            Expr::Binary(BinaryOp::Sub, Arc::new(value.zero()), Arc::new(value.clone()), site)
        } else {
            Expr::Unary(UnaryOp::Negate, Arc::new(value.clone()), site)
        };
        self.emitter.connect(Op::Assign(dst.clone(), opposite), join);
        self.emitter.at = no;
        self.emitter.connect(Op::Assign(dst, value), join);
        self.emitter.at = join;
    }

    fn put(&mut self, dst: Lvalue, value: Expr, instead: Instead, arguments: &[Argument], cause: Cause) {
        let null = Op::Assign(dst.clone(), Expr::Null);
        let op = Op::Assign(dst.clone(), value.clone());
        match instead {
            Instead::Nothing => self.emitter.emit(op),
            Instead::Null => self.emitter.either(cause, |e| e.emit(null), |e| e.emit(op)),
            Instead::Any => self.emitter.either(cause, |e| e.havoc(dst, cause), |e| e.emit(op)),
            Instead::Text { within } => {
                let text = match cause {
                    Cause::External(name) | Cause::Unmodelled(name) => Cause::Text(name),
                    other => other,
                };
                let within =
                    within.map(|at| self.size(&Size::Product(vec![Factor::Argument(at)]), arguments, cause));
                self.emitter.either(
                    cause,
                    |e| e.emit(Op::Havoc(dst, text)),
                    |e| {
                        e.emit(op);
                        within.iter().for_each(|within| e.write_text(&value, within, cause));
                    },
                );
            }
            Instead::NullOrNew => {
                let is_given = fold::compare(CompareOp::Ne, value, Expr::Null);
                self.emitter.if_else(
                    is_given,
                    |e| e.either(cause, |e| e.emit(null), |e| e.emit(op)),
                    |e| e.havoc(dst, cause),
                );
            }
        }
    }
}
