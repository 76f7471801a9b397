//! New objects on the heap and in frames. Knows what a request that is larger than any object gives.

use std::sync::Arc;

use proofline_hir::Type;

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Characters, Factor, Size},
    needs::is_variable,
};
use crate::lower::fold;
use proofline_cfa::{
    Allocation, Argument, BinaryOp, Cause, CompareOp, Expr, IntType, Lvalue, MemoryPredicate, Op, Quantity,
    Scalar,
};

/// What a new object is to be.
#[derive(Clone, Copy)]
pub(super) struct Requested<'m> {
    pub(super) size: &'m Size,
    pub(super) on_heap: bool,
    pub(super) zeroed: bool,
    pub(super) may_fail: bool,
}

/// Whether a number of bytes is one of the type `size_t`.
pub(super) enum Fits {
    Always,
    Never,
    Where(Expr),
}

impl Pass<'_, '_> {
    /// A new object; null where its size is no `size_t`.
    pub(super) fn allocate(
        &mut self,
        requested: Requested<'_>,
        dst: Lvalue,
        arguments: &[Argument],
        cause: Cause,
    ) {
        let fits = self.fits_size(requested.size, arguments);
        let size = self.size(requested.size, arguments, cause);
        let Requested { on_heap, zeroed, may_fail, .. } = requested;
        let site = self.emitter.site;
        let null = Op::Assign(dst.clone(), Expr::Null);
        let allocate = Op::Allocate(Allocation { dst, size, site, on_heap, zeroed, may_fail });
        match fits {
            Fits::Always => self.emitter.emit(allocate),
            Fits::Never => self.emitter.emit(null),
            Fits::Where(fits) => self.emitter.if_else(fits, |e| e.emit(allocate), |e| e.emit(null)),
        }
    }

    /// Whether the product does not wrap around.
    pub(super) fn fits_size(&self, size: &Size, arguments: &[Argument]) -> Fits {
        let Size::Product(factors) = size else { return Fits::Always };
        let size_t = self.emitter.types.size_t();
        let factor = |factor: &Factor| match factor {
            Factor::Number(number) => Some(Expr::Int(*number, size_t)),
            Factor::Long => Some(self.emitter.bytes_of_long()),
            Factor::Argument(at) => {
                Some(fold::cast(Scalar::Int(size_t), value(arguments, *at)?, self.emitter.site))
            }
        };
        let [first, second] = &factors[..] else { return Fits::Always };
        match (factor(first), factor(second)) {
            (Some(Expr::Int(a, _)), Some(Expr::Int(b, _))) => match a.checked_mul(b) {
                Some(product) if product <= size_t.max() => Fits::Always,
                _ => Fits::Never,
            },
            (Some(Expr::Int(0 | 1, _)), _) | (_, Some(Expr::Int(0 | 1, _))) => Fits::Always,
            (Some(Expr::Int(known, _)), Some(other)) | (Some(other), Some(Expr::Int(known, _))) => {
                let most = Expr::Int(size_t.max() / known, size_t);
                Fits::Where(fold::compare(CompareOp::Le, other, most))
            }
            (Some(a), Some(b)) => {
                let wraps = Expr::Overflows(BinaryOp::Mul, Arc::new(a), Arc::new(b));
                Fits::Where(wraps.negated())
            }
            _ => Fits::Always,
        }
    }

    /// A new object with a copy of a string.
    pub(super) fn copy_string(
        &mut self,
        string: Expr,
        within: Option<Expr>,
        characters: Characters,
        may_fail: bool,
        dst: Option<Lvalue>,
    ) {
        let length = self.length_of(&string, within.clone(), characters);
        let one = Expr::Int(1, self.emitter.types.size_t());
        let size = fold::binary(BinaryOp::Add, length, one, self.emitter.site);
        let size = self.bytes_of(size, characters);
        let new = self.emitter.temporary(Type::void().pointer_to());
        let (site, zeroed) = (self.emitter.site, false);
        let allocation = Allocation { dst: new.clone(), size, site, on_heap: true, zeroed, may_fail };
        self.emitter.emit(Op::Allocate(allocation));
        let new = Expr::Load(new);
        let (start, join) = (self.emitter.at, self.emitter.location());
        let is_there = fold::compare(CompareOp::Ne, new.clone(), Expr::Null);
        self.emitter.connect(Op::Assume(is_there.negated()), join);
        self.emitter.at = start;
        self.emitter.emit(Op::Assume(is_there));
        self.put_whole(&new, &string, within, characters);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
        if let Some(dst) = dst {
            let value = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), new, site);
            self.emitter.emit(Op::Assign(dst, value));
        }
    }

    /// What `posix_memalign` does: 0, and the address of a new object behind the pointer; or the number of an error, and there is null, or what
    /// was there before.
    pub(super) fn allocate_at(
        &mut self,
        place: usize,
        requested: Requested<'_>,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(place) = pointer(arguments, place) else { return };
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let size = self.size(requested.size, arguments, cause);
        let bytes = i128::from(self.emitter.types.pointer_bits() / 8);
        let size_of_pointer = Expr::Int(bytes, size_t);
        if !is_variable(&place, &size_of_pointer) {
            self.ask(MemoryPredicate::InBounds, place.clone(), size_of_pointer, false);
        }
        let place = self.pointee(&place, Type::void().pointer_to());
        let new = self.emitter.temporary(Type::void().pointer_to());
        let Requested { on_heap, zeroed, may_fail, .. } = requested;
        self.emitter.emit(Op::Allocate(Allocation {
            dst: new.clone(),
            size,
            site,
            on_heap,
            zeroed,
            may_fail,
        }));
        let new = Expr::Load(new);
        let number = |value: Expr| {
            let dst = dst.clone()?;
            let value = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), value, site);
            Some(Op::Assign(dst, value))
        };
        self.emitter.if_else(
            fold::compare(CompareOp::Ne, new.clone(), Expr::Null),
            |emitter| {
                emitter.emit(Op::Assign(place.clone(), new));
                number(Expr::int(0)).into_iter().for_each(|op| emitter.emit(op));
            },
            |emitter| {
                let error = emitter.any(Scalar::Int(IntType::INT), cause);
                emitter.assume_range(&error, 1, IntType::INT.max());
                let null = Op::Assign(place.clone(), Expr::Null);
                emitter.either(cause, |_| {}, |emitter| emitter.emit(null));
                number(error).into_iter().for_each(|op| emitter.emit(op));
            },
        );
    }

    /// What `realloc` does.
    pub(super) fn reallocate(
        &mut self,
        old: usize,
        requested: Requested<'_>,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(old) = pointer(arguments, old) else { return };
        let fits = self.fits_size(requested.size, arguments);
        let size = self.size(requested.size, arguments, cause);
        let may_fail = requested.may_fail;
        match fits {
            Fits::Always => self.move_object(&old, size, may_fail, dst, cause),
            Fits::Never => self.emitter.give_null(dst),
            Fits::Where(fits) => {
                let (start, join) = (self.emitter.at, self.emitter.location());
                self.emitter.emit(Op::Assume(fits.clone()));
                self.move_object(&old, size, may_fail, dst.clone(), cause);
                self.emitter.connect(Op::Skip, join);
                self.emitter.at = start;
                self.emitter.emit(Op::Assume(fits.negated()));
                self.emitter.give_null(dst);
                self.emitter.connect(Op::Skip, join);
                self.emitter.at = join;
            }
        }
    }

    /// No bytes of an object: glibc frees it and gives null, other libraries do what they do for other sizes (C17 7.22.3.5 leaves it to
    /// them, C23 calls it undefined).
    fn move_object(&mut self, old: &Expr, size: Expr, may_fail: bool, dst: Option<Lvalue>, cause: Cause) {
        let is_given = fold::compare(CompareOp::Ne, old.clone(), Expr::Null);
        let is_empty = fold::compare(CompareOp::Eq, size.clone(), size.zero());
        if matches!(is_given, Expr::Int(0, _)) || matches!(is_empty, Expr::Int(0, _)) {
            return self.move_bytes(old, size, may_fail, dst, cause);
        }
        let (otherwise, join) = (self.emitter.location(), self.emitter.location());
        for condition in [is_empty, is_given] {
            if !matches!(condition, Expr::Int(..)) {
                self.emitter.connect(Op::Assume(condition.clone().negated()), otherwise);
                self.emitter.emit(Op::Assume(condition));
            }
        }
        let frees = self.emitter.any(Scalar::Int(IntType::INT), cause.within());
        self.emitter.connect(Op::Assume(frees.clone().negated()), otherwise);
        self.emitter.emit(Op::Assume(frees));
        self.emitter.emit(Op::Free(old.clone()));
        self.emitter.give_null(dst.clone());
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = otherwise;
        self.move_bytes(old, size, may_fail, dst, cause);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
    }

    /// A new object with some of the old one's bytes; on failure the old one stays. The bytes lie aside while neither object is there: so there is
    /// never more than one object of this site because of it, and loops that grow an array have one array.
    fn move_bytes(&mut self, old: &Expr, size: Expr, may_fail: bool, dst: Option<Lvalue>, cause: Cause) {
        let new = self.emitter.temporary(Type::void().pointer_to());
        let site = self.emitter.site;
        let allocation =
            Allocation { dst: new.clone(), size: size.clone(), site, on_heap: true, zeroed: false, may_fail };
        if *old == Expr::Null {
            self.emitter.emit(Op::Allocate(allocation));
        } else {
            let aside = self.emitter.temporary(Type::void().pointer_to());
            let beside = Allocation { dst: aside.clone(), site: site.beside(), ..allocation.clone() };
            self.emitter.emit(Op::Allocate(beside));
            let aside = Expr::Load(aside);
            let null = Op::Assign(new.clone(), Expr::Null);
            let moved = Allocation { may_fail: false, ..allocation };
            self.emitter.if_else(
                fold::compare(CompareOp::Ne, aside.clone(), Expr::Null),
                |emitter| {
                    emitter.if_not_null(old, |emitter| {
                        let kept = emitter.kept_bytes(old, &size, cause);
                        emitter.emit_as_it_is(Op::CopyBytes(aside.clone(), old.clone(), kept));
                        emitter.emit(Op::Free(old.clone()));
                    });
                    emitter.emit(Op::Allocate(moved));
                    let new = Expr::Load(new.clone());
                    emitter.emit_as_it_is(Op::CopyBytes(new, aside.clone(), size.clone()));
                    emitter.emit(Op::Free(aside.clone()));
                },
                |emitter| emitter.emit(null),
            );
        }
        if let Some(dst) = dst {
            let value = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::Load(new), site);
            self.emitter.emit(Op::Assign(dst, value));
        }
    }
}

impl super::emit::Emitter<'_> {
    /// How many bytes of an object `realloc` keeps. How large it was is not known here; whoever executes the program knows.
    fn kept_bytes(&mut self, old: &Expr, size: &Expr, cause: Cause) -> Expr {
        let before = self.exactly.replace((Quantity::KeptBytes, vec![old.clone(), size.clone()]));
        let kept = match cause {
            Cause::External(name) => self.any_size(Cause::Unmodelled(name)),
            cause => self.any_size(cause),
        };
        self.exactly = before;
        self.emit(Op::Assume(fold::compare(CompareOp::Le, kept.clone(), size.clone())));
        kept
    }
}
