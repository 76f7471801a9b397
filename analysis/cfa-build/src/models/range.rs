//! Results that depend on arguments: how much was read, whether an object was filled, which option was found.

use std::sync::Arc;

use proofline_hir::{Name, Type, TypeKind};

use super::{
    apply::{Pass, pointer, value},
    effect::{Bound, Options},
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
        member: Name,
        (low, high): (i128, i128),
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(to) = pointer(arguments, at) else { return };
        let place = self.member(&to, member);
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
        let fails = self.emitter.any(Scalar::Int(IntType::INT), cause.within());
        let (start, join) = (self.emitter.at, self.emitter.location());
        self.emitter.emit(Op::Assume(fails.clone()));
        give(self, -1);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = start;
        self.emitter.emit(Op::Assume(fails.negated()));
        self.write_object(&to, cause);
        if let Some(place) = place {
            self.emitter.if_not_null(&to, |emitter| emitter.assume_range(&Expr::Load(place), low, high));
        }
        give(self, 0);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
    }

    /// A member, of integer type, of the record behind a pointer.
    fn member(&self, to: &Expr, member: Name) -> Option<Lvalue> {
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

    /// -1, or a length; then there is a line behind the pointer.
    pub(super) fn line(&mut self, at: usize, arguments: &[Argument], dst: Lvalue, cause: Cause) {
        self.emitter.havoc(dst.clone(), cause);
        let number = Expr::Load(dst);
        let Some(ty) = number.int_type() else { return };
        self.emitter.assume_range(&number, -1, ty.max());
        let is_line = fold::compare(CompareOp::Ne, number.clone(), Expr::Int(ty.wrap(-1), ty));
        let place = pointer(arguments, at).map(|to| self.pointee(&to, Type::void().pointer_to()));
        self.emitter.only_if(is_line, |emitter| {
            emitter.assume_range(&number, 1, ty.max());
            if let Some(place) = place {
                let is_there = fold::compare(CompareOp::Ne, Expr::Load(place), Expr::Null);
                emitter.emit(Op::Assume(is_there));
            }
        });
    }

    /// `getopt`: the arguments may be reordered, and its variables tell about the option that it found.
    pub(super) fn option(
        &mut self,
        options: Options,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        if let Some(array) = pointer(arguments, options.array) {
            let size = self.emitter.any_size(cause.within());
            self.emitter.emit(Op::HavocBytes(array, size, cause.within()));
        }
        for name in ["optarg", "optopt", "optind"] {
            if let Some(place) = self.variable(name) {
                self.emitter.havoc(place, cause);
            }
        }
        if let (Some(index), Some(count)) = (self.variable("optind"), value(arguments, options.count)) {
            let index = Expr::Load(index);
            let has_any = fold::compare(CompareOp::Ge, count.clone(), Expr::int(1));
            let is_int = count.int_type() == Some(IntType::INT) && index.int_type() == Some(IntType::INT);
            if is_int {
                self.emitter.only_if(has_any, |emitter| {
                    emitter.assume_range(&index, 1, IntType::INT.max());
                    emitter.emit(Op::Assume(fold::compare(CompareOp::Le, index, count)));
                });
            }
        }
        let Some(dst) = dst else { return };
        self.emitter.havoc(dst.clone(), cause);
        let found = Expr::Load(dst);
        let Some(ty) = found.int_type().filter(|_| !options.is_long) else { return };
        // A letter is a `char`, which may be negative.
        self.emitter.assume_range(&found, -128, 255);
        let letters = pointer(arguments, options.letters);
        let letters = letters.and_then(|letters| format::literal(self.program, &letters)).unwrap_or_default();
        let Some(argument) = self.variable("optarg") else { return };
        for letter in with_argument(&letters) {
            let is_it = fold::compare(CompareOp::Eq, found.clone(), Expr::Int(i128::from(letter), ty));
            let is_there = fold::compare(CompareOp::Ne, Expr::Load(argument.clone()), Expr::Null);
            self.emitter.only_if(is_it, |emitter| emitter.emit(Op::Assume(is_there)));
        }
    }

    /// A variable of the C library that the program declares.
    fn variable(&self, name: &str) -> Option<Lvalue> {
        let global = self.program.globals.get(&Name::new(name)).filter(|global| !global.defined)?;
        let scalar = self.emitter.types.scalar(global.ty);
        scalar.map(|_| Lvalue {
            base: Base::Global(global.name),
            path: Vec::new(),
            ty: global.ty,
            scalar,
            bits: None,
            size: global.size,
        })
    }
}

/// Whether an argument is a constant without these bits.
fn lacks(arguments: &[Argument], flags: usize, bits: i128) -> bool {
    matches!(value(arguments, flags), Some(Expr::Int(flags, _)) if flags & bits == 0)
}

/// The letters of options that always have an argument: one colon stands behind them. Of a letter that stands there twice the first counts.
fn with_argument(letters: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        let is_colon = |behind: usize| letters.get(at + behind) == Some(&b':');
        let is_first = !letters[..at].contains(letter);
        if is_first && is_colon(1) && !is_colon(2) && !b":?W".contains(letter) {
            found.push(*letter);
        }
    }
    found
}
