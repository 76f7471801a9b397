//! `getopt` and `getopt_long`: which option was found, and what the variables of the C library then hold.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::{Linkage, Name, Type, TypeKind};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Inside, Options},
    emit::Emitter,
    format,
    long_options::LongOption,
};
use crate::lower::fold;
use proofline_cfa::{Argument, Base, Cause, CompareOp, Expr, IntType, Lvalue, Op, Scalar, Step};

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
        let letters = pointer(arguments, options.letters);
        let letters = letters.and_then(|letters| format::literal(self.program, &letters));
        let long = match options.long {
            None => Some(Vec::new()),
            Some(at) => pointer(arguments, at).and_then(|table| match table {
                Expr::Null => Some(Vec::new()),
                table => self.descriptions(&table),
            }),
        };
        let results = letters.as_ref().zip(long.as_ref()).and_then(|(letters, long)| results(letters, long));
        match (results, dst.scalar) {
            (Some(results), Some(Scalar::Int(ty))) => self.one_of(&results, ty, &dst, cause),
            _ => {
                // Which results there are is not known here.
                self.emitter.havoc(dst.clone(), cause.guess());
                if options.long.is_none() {
                    // A letter is a `char`, which may be negative.
                    self.emitter.assume_range(&Expr::Load(dst.clone()), -128, 255);
                }
            }
        }
        let found = Expr::Load(dst);
        let Some(ty) = found.int_type() else { return };
        // One of these options may be found by its long name, too.
        let Some(long) = long else { return };
        let Some(letters) = letters else { return };
        let mut with_argument: BTreeSet<i128> = with_argument(&letters).into_iter().map(i128::from).collect();
        with_argument
            .extend(long.iter().map(LongOption::result).filter(|result| is_long_only(*result, &letters)));
        with_argument.retain(|result| long.iter().all(|one| one.result() != *result || one.has_argument));
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
                    let inside = emitter.inside_of(element, cause.guess());
                    if let Some(place) = place {
                        emitter.put_inside(place, inside, Inside::String);
                    }
                });
            });
        });
    }

    /// The result is one of some numbers.
    fn one_of(&mut self, numbers: &BTreeSet<i128>, ty: IntType, dst: &Lvalue, cause: Cause) {
        let choice = self.emitter.any(Scalar::Int(IntType::INT), cause);
        let give = |number: i128| Op::Assign(dst.clone(), Expr::Int(ty.wrap(number), ty));
        let join = self.emitter.location();
        for (at, number) in numbers.iter().enumerate().skip(1) {
            let is_it = fold::compare(CompareOp::Eq, choice.clone(), Expr::int(at as i128));
            let start = self.emitter.at;
            self.emitter.emit(Op::Assume(is_it.clone()));
            self.emitter.emit(give(*number));
            self.emitter.connect(Op::Skip, join);
            self.emitter.at = start;
            self.emitter.emit(Op::Assume(is_it.negated()));
        }
        numbers.iter().take(1).for_each(|number| self.emitter.emit(give(*number)));
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
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

    /// A member of the records that a pointer leads to.
    pub(super) fn member_of_some(&self, to: &Expr, member: Name) -> Option<Member> {
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
    pub(super) fn elements(&self, array: &Expr, member: &Member) -> Option<i128> {
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

/// A member of the elements of an array.
pub(super) struct Member {
    pub(super) stride: u64,
    /// Of the first element.
    pub(super) place: Lvalue,
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

/// Most tables have fewer options.
const MOST_RESULTS: usize = 100;

/// What a call may return: -1 at the end, 1 for an argument that is no option if the letters begin with `-`, `?`, `:` for an option without its argument if
/// the letters begin with it, a letter, and what the descriptions of long options say. `None` if these are many, or no letters.
fn results(letters: &[u8], long: &[LongOption]) -> Option<BTreeSet<i128>> {
    let mut found = BTreeSet::from([-1, i128::from(b'?')]);
    let options = match letters {
        [b'-', options @ ..] => {
            found.insert(1);
            options
        }
        [b'+', options @ ..] => options,
        options => options,
    };
    let is_letter = |letter: &&u8| !b":;".contains(*letter);
    found.extend(options.first().filter(|first| **first == b':').map(|first| i128::from(*first)));
    found.extend(options.iter().filter(is_letter).map(|letter| i128::from(*letter)));
    found.extend(long.iter().map(LongOption::result));
    (options.is_ascii() && found.len() <= MOST_RESULTS).then_some(found)
}

/// Whether such a result tells that an option was found by its long name.
fn is_long_only(result: i128, letters: &[u8]) -> bool {
    let is_other = [-1, 1, i128::from(b'?'), i128::from(b':')].contains(&result);
    !is_other && letters.iter().all(|letter| i128::from(*letter) != result)
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
