//! What a modelled call returns.

use std::sync::Arc;

use proofline_hir::{Name, Type};

use super::{
    apply::{Pass, pointer, value},
    ctype,
    effect::{Outcome, Size, Table},
    format,
};
use crate::lower::{byte_swapped, fold};
use proofline_cfa::{
    Allocation, Argument, Base, BinaryOp, Cause, CompareOp, Expr, IntType, Lvalue, Op, Quantity, Scalar,
    Step, UnaryOp,
};

impl Pass<'_, '_> {
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
        // A temporary of its own says what the number really is.
        if self.emitter.exactly.is_some() && is_integer && !matches!(outcome, Some(Outcome::Argument { .. }))
        {
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
            Some(Outcome::Argument { argument, or_null }) if is_pointer || !or_null => {
                match value(arguments, *argument) {
                    Some(value) if Some(value.scalar()) == dst.scalar => {
                        self.put(dst, value, *or_null, cause)
                    }
                    _ => self.emitter.havoc(dst, cause),
                }
            }
            Some(Outcome::Into { argument, or_null }) if is_pointer => match pointer(arguments, *argument) {
                Some(object) => {
                    let inside = self.emitter.inside_of(object, cause);
                    self.put(dst, inside, *or_null, cause);
                }
                None => self.emitter.havoc(dst, cause),
            },
            Some(Outcome::Fresh { size, on_heap, zeroed, may_fail }) if is_pointer => {
                let size = self.size(size, arguments, cause);
                let site = self.emitter.site;
                let (on_heap, zeroed, may_fail) = (*on_heap, *zeroed, *may_fail);
                self.emitter.emit(Op::Allocate(Allocation { dst, size, site, on_heap, zeroed, may_fail }));
            }
            Some(Outcome::Errno) if is_pointer => {
                let errno = Expr::Address(self.errno());
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
                let (name, ty) = (table.pointer(), Type::void().pointer_to());
                let size = u64::from(self.emitter.types.pointer_bits() / 8);
                let scalar = Some(Scalar::Pointer);
                let pointer =
                    Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar, bits: None, size };
                self.emitter.emit(Op::Assign(dst, Expr::Address(pointer)));
            }
            Some(Outcome::Entry(table, at, mask)) => match (value(arguments, *at), dst.scalar) {
                (Some(character), Some(scalar)) if character.int_type().is_some() => {
                    self.tables.insert(*table);
                    let entry = self.entry(*table, character, *mask);
                    let entry = fold::cast(scalar, entry, self.emitter.site);
                    self.emitter.emit(Op::Assign(dst, entry));
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
            Some(Outcome::Line(at)) if is_integer => self.line(*at, arguments, dst, cause),
            None
            | Some(
                Outcome::Any
                | Outcome::Swapped(..)
                | Outcome::Line(_)
                | Outcome::Filled { .. }
                | Outcome::Option(_)
                | Outcome::NotNull
                | Outcome::Table(_)
                | Outcome::Into { .. }
                | Outcome::Fresh { .. }
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

    /// What the table says about a character.
    fn entry(&mut self, table: Table, character: Expr, mask: Option<i128>) -> Expr {
        let site = self.emitter.site;
        let (element, format) = table.entry();
        let wide = self.emitter.types.ptrdiff_t();
        let character = fold::cast(Scalar::Int(wide), character, site);
        let index = fold::binary(BinaryOp::Add, character, Expr::Int(ctype::BEFORE, wide), site);
        let scalar = Some(Scalar::Int(format));
        // Characters out of range are undefined behaviour of another kind than an index.
        let step = Step::Index { index: Arc::new(index), stride: format.bytes(), length: None, site };
        let base = Base::Global(table.object());
        let entry = Expr::Load(Lvalue {
            base,
            path: vec![step],
            ty: element,
            scalar,
            bits: None,
            size: format.bytes(),
        });
        let entry = fold::cast(Scalar::Int(IntType::INT), entry, site);
        match mask {
            Some(mask) => fold::binary(BinaryOp::BitAnd, entry, Expr::int(mask), site),
            None => entry,
        }
    }

    fn put(&mut self, dst: Lvalue, value: Expr, or_null: bool, cause: Cause) {
        let op = Op::Assign(dst.clone(), value);
        if or_null {
            self.emitter.either(cause, |e| e.emit(Op::Assign(dst, Expr::Null)), |e| e.emit(op));
        } else {
            self.emitter.emit(op);
        }
    }

    /// A new object with some of the old one's bytes; on failure the old one stays.
    pub(super) fn reallocate(
        &mut self,
        old: usize,
        size: &Size,
        may_fail: bool,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(old) = pointer(arguments, old) else { return };
        let size = self.size(size, arguments, cause);
        let new = self.emitter.temporary(Type::void().pointer_to());
        let allocation = Allocation {
            dst: new.clone(),
            size: size.clone(),
            site: self.emitter.site,
            on_heap: true,
            zeroed: false,
            may_fail,
        };
        self.emitter.emit(Op::Allocate(allocation));
        let new = Expr::Load(new);
        // How much was there is not known here; whoever executes the program knows.
        let before = self.emitter.exactly.replace((Quantity::KeptBytes, vec![old.clone(), size.clone()]));
        let kept = match cause {
            Cause::External(name) => self.emitter.any_size(Cause::Unmodelled(name)),
            cause => self.emitter.any_size(cause),
        };
        self.emitter.exactly = before;
        let fits = fold::compare(CompareOp::Le, kept.clone(), size);
        self.emitter.emit(Op::Assume(fits));
        self.emitter.if_not_null(&new, |emitter| {
            emitter.if_not_null(&old, |emitter| {
                emitter.emit(Op::CopyBytes(new.clone(), old.clone(), kept));
                emitter.emit(Op::Free(old.clone()));
            });
        });
        if let Some(dst) = dst {
            let value = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), new, self.emitter.site);
            self.emitter.emit(Op::Assign(dst, value));
        }
    }
}
