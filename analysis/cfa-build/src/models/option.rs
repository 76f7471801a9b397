//! `getopt` and `getopt_long`: which option was found, and what the variables of the C library then hold.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::{Linkage, Name, Type, TypeKind};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Inside, Options},
    emit::Emitter,
    format,
};
use crate::lower::fold;
use proofline_cfa::{Argument, Base, Cause, CompareOp, Constant, Expr, IntType, Lvalue, Op, Scalar, Step};

impl Pass<'_, '_> {
    /// The arguments may be reordered, and the library's variables tell about the option that it found.
    pub(super) fn option(
        &mut self,
        options: Options,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        if let Some(array) = pointer(arguments, options.array) {
            // First: reordering forgets which strings there are.
            self.option_argument(&array, value(arguments, options.count), cause);
            let size = self.emitter.any_size(cause.within());
            self.emitter.emit(Op::HavocBytes(array, size, cause.within()));
        }
        for name in ["optopt", "optind"] {
            if let Some(place) = self.variable(name) {
                self.emitter.havoc(place, cause);
            }
        }
        if let Some(descriptions) = options.long.and_then(|at| pointer(arguments, at)) {
            self.option_flag(&descriptions, cause);
        }
        if let (Some(index), Some(count)) = (self.variable("optind"), value(arguments, options.count)) {
            let index = Expr::Load(index);
            let has_any = fold::compare(CompareOp::Ge, count.clone(), Expr::int(1));
            let has_none = fold::compare(CompareOp::Lt, count.clone(), Expr::int(1));
            let is_int = count.int_type() == Some(IntType::INT) && index.int_type() == Some(IntType::INT);
            if is_int {
                self.emitter.only_if(has_any, |emitter| {
                    emitter.assume_range(&index, 1, IntType::INT.max());
                    emitter.emit(Op::Assume(fold::compare(CompareOp::Le, index.clone(), count)));
                });
                // Then it stays as it is: the library begins with 1, and programs that want to begin again set it to 0 or 1.
                self.emitter.only_if(has_none, |emitter| emitter.assume_range(&index, 0, IntType::INT.max()));
            }
        }
        let Some(dst) = dst else { return };
        self.emitter.havoc(dst.clone(), cause);
        let found = Expr::Load(dst);
        let Some(ty) = found.int_type() else { return };
        if options.long.is_none() {
            // A letter is a `char`, which may be negative.
            self.emitter.assume_range(&found, -128, 255);
        }
        let letters = pointer(arguments, options.letters);
        let letters = letters.and_then(|letters| format::literal(self.program, &letters)).unwrap_or_default();
        let mut with_argument: BTreeSet<i128> = with_argument(&letters).into_iter().map(i128::from).collect();
        if let Some(long) = options.long {
            // One of these options may be found by its long name, too.
            let Some(long) = pointer(arguments, long).and_then(|long| self.descriptions(&long)) else {
                return;
            };
            with_argument.retain(|letter| long.iter().all(|one| one.value != *letter || one.has_argument));
        }
        let Some(argument) = self.variable("optarg") else { return };
        for letter in with_argument {
            let is_it = fold::compare(CompareOp::Eq, found.clone(), Expr::Int(letter, ty));
            let is_there = fold::compare(CompareOp::Ne, Expr::Load(argument.clone()), Expr::Null);
            self.emitter.only_if(is_it, |emitter| emitter.emit(Op::Assume(is_there)));
        }
    }

    /// `optarg` stays as it is, is null, or points into one of the strings. These are looked at even if the slice at hand does not mention
    /// `optarg`: obligations have the same numbers in every slice.
    fn option_argument(&mut self, array: &Expr, count: Option<Expr>, cause: Cause) {
        let place = self.variable("optarg").filter(|place| place.scalar == Some(Scalar::Pointer));
        let site = self.emitter.site;
        let stride = u64::from(self.emitter.types.pointer_bits() / 8);
        let wide = self.emitter.types.ptrdiff_t();
        let null = place.clone().map(|place| Op::Assign(place, Expr::Null));
        let is_absent = |emitter: &mut Emitter<'_>| {
            emitter.either(cause, |emitter| null.into_iter().for_each(|op| emitter.emit(op)), |_| {});
        };
        self.emitter.either(cause, is_absent, |emitter| {
            emitter.if_not_null(array, |emitter| {
                let index = emitter.any(Scalar::Int(wide), cause);
                emitter.assume_range(&index, 0, wide.max());
                if let Some(count) = count.filter(|count| count.int_type().is_some()) {
                    let count = fold::cast(Scalar::Int(wide), count, site);
                    emitter.emit(Op::Assume(fold::compare(CompareOp::Lt, index.clone(), count)));
                }
                let step = Step::Index { index: Arc::new(index), stride, length: None, site };
                let base = Base::Deref(Arc::new(array.clone()), site);
                let (ty, scalar) = (Type::void().pointer_to(), Some(Scalar::Pointer));
                let element = Lvalue { base, path: vec![step], ty, scalar, bits: None, size: stride };
                let element = emitter.save(Expr::Load(element));
                emitter.if_not_null(&element.clone(), |emitter| {
                    // Where in the string is not known here: what depends on it is a guess.
                    let within = match cause {
                        Cause::External(name) => Cause::Unmodelled(name),
                        cause => cause,
                    };
                    let inside = emitter.inside_of(element, within);
                    if let Some(place) = place {
                        emitter.put_inside(place, inside, Inside::String);
                    }
                });
            });
        });
    }

    /// The option that was found may have a variable, which then gets the option's value.
    fn option_flag(&mut self, descriptions: &Expr, cause: Cause) {
        let (Some(flag), Some(number)) = (
            self.member_of_some(descriptions, Name::new("flag")),
            self.member_of_some(descriptions, Name::new("val")),
        ) else {
            // Not what `getopt.h` declares: whatever can be reached from there may change.
            self.emitter.approximate("option descriptions of another type");
            return self.emitter.emit(Op::Clobber(vec![descriptions.clone()], cause));
        };
        let wide = self.emitter.types.ptrdiff_t();
        let most = self.elements(descriptions, &flag);
        self.emitter.either(
            cause,
            |_| {},
            |emitter| {
                emitter.if_not_null(descriptions, |emitter| {
                    let index = emitter.any(Scalar::Int(wide), cause);
                    emitter.assume_range(&index, 0, most.unwrap_or(wide.max()));
                    let flag = emitter.save(Expr::Load(flag.at(&index)));
                    let number = Expr::Load(number.at(&index));
                    emitter.if_not_null(&flag.clone(), |emitter| {
                        let base = Base::Deref(Arc::new(flag), emitter.site);
                        let (ty, scalar) = (Type::int(), Some(Scalar::Int(IntType::INT)));
                        let place = Lvalue { base, path: Vec::new(), ty, scalar, bits: None, size: 4 };
                        emitter.emit(Op::Assign(place, number));
                    });
                });
            },
        );
    }

    /// The descriptions of long options, if they stand in a constant table.
    fn descriptions(&self, table: &Expr) -> Option<Vec<LongOption>> {
        let (has_argument, value) = (
            self.member_of_some(table, Name::new("has_arg"))?.place.path.last()?.clone(),
            self.member_of_some(table, Name::new("val"))?,
        );
        let last = self.elements(table, &value)?;
        let Expr::Address(Lvalue { base: Base::Global(name), .. }) = table else { return None };
        let global = self.program.globals.get(name).filter(|global| global.constant && global.defined)?;
        let offset = |step: &Step| match step {
            Step::Field { offset, .. } => Some(*offset),
            Step::Index { .. } => None,
        };
        let (has_argument, stride) = (offset(&has_argument)?, value.stride);
        let value = offset(value.place.path.last()?)?;
        let at = |offset: u64| match global.init.iter().find(|one| one.offset == offset) {
            // What is not listed is 0.
            None => Some(0),
            Some(one) => match one.value {
                Constant::Int(number) => Some(number),
                _ => None,
            },
        };
        let rows = 0..=u64::try_from(last).ok()?;
        rows.map(|row| {
            let start = row * stride;
            Some(LongOption { has_argument: at(start + has_argument)? == 1, value: at(start + value)? })
        })
        .collect()
    }

    /// A member of the records that a pointer leads to.
    fn member_of_some(&self, to: &Expr, member: Name) -> Option<Member> {
        let ty = match to {
            Expr::Address(place) => match place.ty.kind() {
                TypeKind::Array(element, _) => *element,
                _ => place.ty,
            },
            Expr::Load(pointer) => pointer.ty.pointee()?,
            _ => return None,
        };
        let TypeKind::Record(tag) = ty.kind() else { return None };
        let field = self.emitter.types.record(*tag)?.fields.iter().find(|field| field.name == member)?;
        let scalar = self.emitter.types.scalar(field.ty);
        let fits = match member.as_str() {
            "val" | "has_arg" => scalar == Some(Scalar::Int(IntType::INT)),
            _ => scalar == Some(Scalar::Pointer),
        };
        if field.bits.is_some() || !fits {
            return None;
        }
        let stride = self.emitter.types.size(ty)?;
        let site = self.emitter.site;
        let base = Base::Deref(Arc::new(to.clone()), site);
        let index = Step::Index { index: Arc::new(Expr::int(0)), stride, length: None, site };
        let path = vec![index, Step::Field { record: *tag, name: member, offset: field.offset }];
        let size = self.emitter.types.size(field.ty)?;
        Some(Member { stride, place: Lvalue { base, path, ty: field.ty, scalar, bits: None, size } })
    }

    /// The greatest index of the array that begins at a pointer, if the pointer is the address of a whole array.
    fn elements(&self, array: &Expr, member: &Member) -> Option<i128> {
        let Expr::Address(place) = array else { return None };
        let is_start = place
            .path
            .iter()
            .all(|step| matches!(step, Step::Index { index, .. } if matches!(**index, Expr::Int(0, _))));
        let bytes = match place.base {
            Base::Global(name) => self.program.globals.get(&name)?.size,
            Base::Local(id) => self.emitter.function.local(id).size,
            Base::Deref(..) => return None,
        };
        let whole = i128::from(bytes.checked_div(member.stride)?);
        (is_start && whole > 0).then_some(whole - 1)
    }

    /// A variable of the C library that the program declares.
    fn variable(&self, name: &str) -> Option<Lvalue> {
        let global = self.program.globals.get(&Name::new(name))?;
        // Where the program defines it, the library uses that one.
        if global.linkage != Linkage::External {
            return None;
        }
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

/// What the description of a long option says.
struct LongOption {
    /// It always has one: `required_argument`.
    has_argument: bool,
    /// What is found then.
    value: i128,
}

/// A member of the elements of an array.
struct Member {
    stride: u64,
    /// Of the first element.
    place: Lvalue,
}

impl Member {
    fn at(&self, index: &Expr) -> Lvalue {
        let mut place = self.place.clone();
        if let Some(Step::Index { index: of_first, .. }) = place.path.first_mut() {
            *of_first = Arc::new(index.clone());
        }
        place
    }
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
