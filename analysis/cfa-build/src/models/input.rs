//! What comes from outside goes to memory only where the call succeeds, and its result says how much. Also by formats of `scanf`.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Allocation, Argument, Base, BinaryOp, Cause, CompareOp, Expr, FloatType, Function, IntType, LocalId,
    Lvalue, MemoryPredicate, Op, Quantity, Scalar, Step,
};
use proofline_hir::{Type, TypeKind};

use super::{
    apply::Pass,
    arguments::{pointer, pointers_from, value},
    effect::{Bound, Characters, Given, Model, Outcome, Scan, Size},
    format::{self, Directive, Specification},
    strings::behind,
};
use crate::lower::fold;

/// Locals that get a value where they begin to live, or before anything branches.
pub(super) fn initialised(function: &Function) -> BTreeSet<LocalId> {
    let successors = function.successors();
    let mut out: BTreeSet<LocalId> = function.parameters.iter().copied().collect();
    for edge in &function.edges {
        let Op::Begin(id) = edge.op else { continue };
        let mut at = edge.to;
        for _ in 0..MOST_STEPS {
            let [next] = successors[at.index()][..] else { break };
            let edge = function.edge(next);
            if let Op::Assign(dst, _) = &edge.op
                && dst.base == Base::Local(id)
                && dst.path.is_empty()
            {
                out.insert(id);
                break;
            }
            if edge.op.call().is_some() {
                break;
            }
            at = edge.to;
        }
    }
    out
}

/// What a conversion gives whose value can be computed.
fn scanned_scalar(letter: u8, bytes: i128) -> Option<Scalar> {
    let bits = u8::try_from(bytes * 8).ok()?;
    match letter {
        b'd' | b'i' | b'n' => Some(Scalar::Int(IntType { bits, signed: true })),
        b'u' | b'x' | b'X' | b'o' => Some(Scalar::Int(IntType { bits, signed: false })),
        b'e' | b'f' | b'g' | b'E' | b'F' | b'G' => match bytes {
            4 => Some(Scalar::Float(FloatType::F32)),
            8 => Some(Scalar::Float(FloatType::F64)),
            _ => None,
        },
        _ => None,
    }
}

/// So many edges behind the start of a local's life are looked at.
const MOST_STEPS: usize = 200;

impl Pass<'_, '_> {
    /// The register for a result that decides what is written, if the model has one; it may be where the program wants the result.
    pub(super) fn deciding(&mut self, model: &Model, dst: Option<&Lvalue>) -> Option<Lvalue> {
        if model.given.is_empty() && model.scans.is_none() && model.terminates.is_none() {
            return None;
        }
        if let Some(dst) = dst
            && let Base::Local(id) = dst.base
            && dst.path.is_empty()
            && dst.scalar.is_some()
            && !self.emitter.function.local(id).address_taken
        {
            return Some(dst.clone());
        }
        let scalar = match (&model.result, dst.and_then(|dst| dst.scalar)) {
            (_, Some(scalar)) => scalar,
            (Some(Outcome::Argument { .. }), None) => Scalar::Pointer,
            (Some(Outcome::Range(_, Bound::Conversions(_))), None) => Scalar::Int(IntType::INT),
            (_, None) => Scalar::Int(self.emitter.types.ptrdiff_t()),
        };
        Some(self.emitter.temporary(self.emitter.types.of_scalar(scalar)))
    }

    /// What is written where the call has not failed.
    pub(super) fn give(
        &mut self,
        given: &Given,
        arguments: &[Argument],
        result: Option<&Lvalue>,
        cause: Cause,
    ) {
        let (Some(to), Some(result)) = (pointer(arguments, given.pointer), result) else { return };
        let site = self.emitter.site;
        let number = Expr::Load(result.clone());
        let is_done = match number.scalar() {
            Scalar::Pointer => fold::compare(CompareOp::Ne, number.clone(), Expr::Null),
            Scalar::Int(_) if given.where_zero => fold::compare(CompareOp::Eq, number.clone(), number.zero()),
            Scalar::Int(_) | Scalar::Float(_) => fold::compare(CompareOp::Gt, number.clone(), number.zero()),
        };
        if given.size == Size::Any {
            return self.in_case(is_done, |pass| {
                pass.write_object(&to, cause);
                pass.members_in_range(&to, &given.ranges);
            });
        }
        let mut size = self.size(&given.size, arguments, cause);
        let mut whole = None;
        if given.is_counted && matches!(number.scalar(), Scalar::Int(_)) {
            let count = fold::cast(Scalar::Int(self.emitter.types.size_t()), number, site);
            if !matches!(size, Expr::Int(1, _)) {
                // Of an element that was not read whole there may be a part.
                whole = Some(size.clone());
            }
            size = match size {
                Expr::Int(1, _) => count,
                unit => fold::binary(BinaryOp::Mul, count, unit, site),
            };
        }
        self.emitter.if_not_null(&to.clone(), |emitter| {
            emitter.where_holds(is_done, |emitter| {
                emitter.emit(Op::HavocBytes(to.clone(), size.clone(), cause));
            });
            if let Some(unit) = whole {
                let rest = behind(&to, size, site);
                emitter.emit(Op::HavocBytes(rest, unit, cause.within()));
            }
        });
    }

    /// What `scanf` converts: the n-th object gets a value where the result says that there were so many.
    pub(super) fn scan(&mut self, scan: Scan, arguments: &[Argument], result: &Lvalue, cause: Cause) {
        let known = pointer(arguments, scan.format)
            .and_then(|format| format::directives(self.program, &format, true));
        let Some(directives) = known else { return self.scan_anything(scan, arguments, cause) };
        let number = Expr::Load(result.clone());
        let Some(ty) = number.int_type() else { return self.scan_anything(scan, arguments, cause) };
        // A word or a character is there, or the input is at its end: it cannot be other than what is asked for.
        let first = directives.iter().find_map(|directive| match directive {
            Directive::Conversion(specification) => Some(specification),
            Directive::Text { .. } => None,
        });
        let is_plain = matches!(directives.first(), Some(Directive::Conversion(_)));
        if is_plain && first.is_some_and(|one| b"sScC".contains(&one.letter) && !one.has(b'*')) {
            let is_some = fold::compare(CompareOp::Ne, number.clone(), Expr::Int(0, ty));
            self.emitter.emit(Op::Assume(is_some));
        }
        let (mut at, mut count, mut is_behind_text) = (scan.first, 0, false);
        let of = scan.string.and_then(|string| value(arguments, string)).zip(pointer(arguments, scan.format));
        let counts = |directive: &Directive| match directive {
            Directive::Text { .. } => false,
            Directive::Conversion(specification) => specification.letter == b'n',
        };
        // No more characters are read than there are.
        let string = scan.string.filter(|_| directives.iter().any(counts));
        let all = string.and_then(|string| value(arguments, string));
        let all = all.map(|string| self.length_of(&string, None, Characters::Bytes));
        for directive in &directives {
            let specification = match directive {
                Directive::Text { .. } => {
                    is_behind_text = true;
                    continue;
                }
                Directive::Conversion(specification) => specification,
            };
            if specification.has(b'*') {
                is_behind_text = true;
                continue;
            }
            let is_count = specification.letter == b'n';
            count += i128::from(!is_count);
            let Some(to) = pointer(arguments, at) else {
                let letter = char::from(specification.letter);
                let never = Expr::Int(0, IntType::INT);
                return self
                    .emitter
                    .demand_that(never, &format!("`%{letter}` has a pointer as its argument"));
            };
            at += 1;
            let of = of.clone().map(|(string, format)| (vec![string, format], at - 1 - scan.first));
            // What `%n` stores needs no conversion before it: it may be stored where the result is -1.
            let reached = match count {
                0 if is_count => Expr::int(1),
                _ => fold::compare(CompareOp::Ge, number.clone(), Expr::Int(count, ty)),
            };
            self.in_case(reached, |pass| {
                let read = (scan.string, of.clone());
                if !is_count {
                    return drop(pass.scan_one(specification, &to, read, arguments, cause));
                }
                let store = |pass: &mut Self| {
                    let stored = pass.scan_one(specification, &to, read, arguments, cause);
                    if let Some(all) = &all {
                        pass.count_at_most(&specification.length, &to, stored, all);
                    }
                };
                // That text in between was as it should be, the result does not say.
                match is_behind_text {
                    true => pass.where_stored(of.clone(), cause, store),
                    false => store(pass),
                }
            });
            is_behind_text = false;
        }
    }

    /// Stores where so many arguments of `sscanf` get a value, which may or may not be.
    fn where_stored(&mut self, of: Option<(Vec<Expr>, usize)>, cause: Cause, store: impl FnOnce(&mut Self)) {
        let int = Scalar::Int(IntType::INT);
        let nth = of.as_ref().map_or(0, |(_, nth)| *nth);
        let exactly = of.map(|(of, _)| (Quantity::ScannedItems, of));
        let before = std::mem::replace(&mut self.emitter.exactly, exactly);
        let items = self.emitter.any(int, cause.within());
        self.emitter.note(&items, false);
        self.emitter.exactly = before;
        let nth = Expr::Int(nth as i128, IntType::INT);
        self.in_case(fold::compare(CompareOp::Gt, items, nth), store);
    }

    /// One conversion that succeeds; the number that it gives, if that is computed. Which argument is the text, and text, format and number of the conversion.
    fn scan_one(
        &mut self,
        specification: &Specification,
        to: &Expr,
        (string, of): (Option<usize>, Option<(Vec<Expr>, usize)>),
        arguments: &[Argument],
        cause: Cause,
    ) -> Option<Expr> {
        let of = of.map(|(mut of, nth)| {
            of.push(Expr::Int(nth as i128, IntType::INT));
            of
        });
        let size_t = self.emitter.types.size_t();
        let is_wide = specification.length.contains(&b'l') || specification.letter.is_ascii_uppercase();
        let kind = if is_wide { Characters::Wide } else { Characters::Bytes };
        if specification.length.contains(&b'm') {
            self.scan_new(specification, kind, to, cause);
            return None;
        }
        match specification.letter {
            b's' | b'S' | b'[' => {
                let most = match (specification.width, string.and_then(|at| value(arguments, at))) {
                    (Some(width), _) => Some(Expr::Int(i128::from(width), size_t)),
                    (None, Some(string)) => Some(self.length_of(&string, None, Characters::Bytes)),
                    (None, None) => None,
                };
                let site = self.emitter.site;
                // A word is of any length, as far as its bytes and its end can be counted.
                let longest = self.emitter.types.ptrdiff_t().max() / kind.bytes() - 1;
                let length = self.scanned_length(longest, kind, of, cause);
                if let Some(most) = most {
                    self.emitter.emit(Op::Assume(fold::compare(CompareOp::Le, length.clone(), most)));
                }
                let one = Expr::Int(1, size_t);
                let room = fold::binary(BinaryOp::Add, length.clone(), one, site);
                let room = self.bytes_of(room, kind);
                self.ask_room(to.clone(), room, false);
                let bytes = self.bytes_of(length, kind);
                self.emitter.emit(Op::HavocBytes(to.clone(), bytes.clone(), cause));
                let width = Expr::Int(kind.bytes(), size_t);
                self.emitter.emit(Op::FillBytes(behind(to, bytes, site), Expr::int(0), width));
                None
            }
            b'c' | b'C' => {
                let count = i128::from(specification.width.unwrap_or(1).max(1));
                let size = Expr::Int(count * kind.bytes(), size_t);
                if count > 1 {
                    // Where the text ends before that, C says that nothing fits, and libraries give what there is.
                    self.ask_room(to.clone(), size, false);
                    let length = self.scanned_length(count, kind, of, cause);
                    let bytes = self.bytes_of(length, kind);
                    self.emitter.emit(Op::HavocBytes(to.clone(), bytes, cause));
                    return None;
                }
                let character = Scalar::Int(IntType { bits: 8, signed: true });
                let of = of.filter(|_| count * kind.bytes() == 1);
                let exactly = of.map(|of| (character, of));
                self.write_scanned(to, size, exactly, cause)
            }
            letter => {
                let bytes = self.scanned_bytes(&specification.length, letter);
                let exactly = scanned_scalar(letter, bytes).zip(of);
                let number = self.write_scanned(to, Expr::Int(bytes, size_t), exactly, cause);
                if let (b'd' | b'i', Some(width @ 1..=18)) = (letter, specification.width) {
                    self.of_so_many_digits(&specification.length, width, (to, number.clone()));
                }
                number
            }
        }
    }

    /// `%ms`: a new object with the characters, whose address goes to what the pointer points to. (Where there is no memory for it, the conversion fails.)
    fn scan_new(&mut self, specification: &Specification, kind: Characters, to: &Expr, cause: Cause) {
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let bytes = i128::from(self.emitter.types.pointer_bits() / 8);
        self.ask(MemoryPredicate::InBounds, to.clone(), Expr::Int(bytes, size_t), false);
        let longest = match specification.width {
            Some(width @ 1..) => i128::from(width),
            _ if specification.letter.eq_ignore_ascii_case(&b'c') => 1,
            _ => self.emitter.types.ptrdiff_t().max() / kind.bytes() - 1,
        };
        let length = self.scanned_length(longest, kind, None, cause);
        let length = self.bytes_of(length, kind);
        let end = match specification.letter {
            b'c' | b'C' => 0,
            _ => kind.bytes(),
        };
        let end = Expr::Int(end, size_t);
        let size = fold::binary(BinaryOp::Add, length.clone(), end.clone(), site);
        let dst = self.emitter.temporary(Type::void().pointer_to());
        let new = Expr::Load(dst.clone());
        let allocation = Allocation { dst, size, site, on_heap: true, zeroed: false, may_fail: false };
        self.emitter.emit(Op::Allocate(allocation));
        self.emitter.emit(Op::HavocBytes(new.clone(), length.clone(), cause));
        self.emitter.emit(Op::FillBytes(behind(&new, length, site), Expr::int(0), end));
        let place = self.pointee(to, Type::void().pointer_to());
        self.emitter.emit(Op::Assign(place, new));
    }

    /// How many characters a conversion gives, which may follow from a text: one at least.
    fn scanned_length(
        &mut self,
        longest: i128,
        kind: Characters,
        of: Option<Vec<Expr>>,
        cause: Cause,
    ) -> Expr {
        let exactly = of.filter(|_| kind == Characters::Bytes).map(|of| (Quantity::ScannedLength, of));
        let before = std::mem::replace(&mut self.emitter.exactly, exactly);
        let length = self.emitter.any_size(cause);
        self.emitter.exactly = before;
        self.emitter.assume_range(&length, 1, longest);
        length
    }

    /// What is read of so many characters at most, one of which may be a sign. (As hexadecimal digits, two more of them tell the base.)
    fn of_so_many_digits(&mut self, length: &[u8], width: u32, (to, number): (&Expr, Option<Expr>)) {
        let (number, ty) = self.stored_number(length, to, number);
        let most = 10i128.pow(width) - 1;
        let least = -(10i128.pow(width - 1) - 1);
        self.emitter.assume_range(&number, least.max(ty.min()), most.min(ty.max()));
    }

    /// The signed number that a conversion has stored, which may be known.
    fn stored_number(&self, length: &[u8], to: &Expr, known: Option<Expr>) -> (Expr, IntType) {
        let bytes = self.scanned_bytes(length, b'n');
        let ty = IntType { bits: (bytes * 8) as u8, signed: true };
        let place = || self.scanned_place(Scalar::Int(ty), bytes, to);
        (known.unwrap_or_else(|| Expr::Load(place())), ty)
    }

    /// Where a conversion to such a value stores it.
    fn scanned_place(&self, scalar: Scalar, bytes: i128, to: &Expr) -> Lvalue {
        match to {
            Expr::Address(lvalue) if lvalue.scalar == Some(scalar) => lvalue.clone(),
            _ => {
                let ty = self.emitter.types.of_scalar(scalar);
                let base = Base::Deref(Arc::new(to.clone()), self.emitter.site);
                Lvalue { base, path: Vec::new(), ty, scalar: Some(scalar), bits: None, size: bytes as u64 }
            }
        }
    }

    /// The same, as what it is declared: an integer of this size, signed or not. A variable of another type is not written as one.
    fn computed_place(&self, scalar: Scalar, bytes: i128, to: &Expr) -> Option<Lvalue> {
        let Expr::Address(lvalue) = to else { return Some(self.scanned_place(scalar, bytes, to)) };
        let Some(own) = lvalue.scalar else {
            // An array, at its beginning; or a record.
            let is_inside = i128::from(lvalue.size) >= bytes && lvalue.bits.is_none();
            return is_inside.then(|| self.scanned_place(scalar, bytes, to));
        };
        let fits = match (own, scalar) {
            (Scalar::Int(own), Scalar::Int(ty)) => own.bits == ty.bits,
            (own, scalar) => own == scalar,
        };
        (fits && lvalue.bits.is_none() && !matches!(lvalue.ty.kind(), TypeKind::Bool)).then(|| lvalue.clone())
    }

    /// What `%n` has stored is no negative number, and not more than there is to read.
    fn count_at_most(&mut self, length: &[u8], to: &Expr, stored: Option<Expr>, all: &Expr) {
        let (number, ty) = self.stored_number(length, to, stored);
        let size_t = Scalar::Int(self.emitter.types.size_t());
        let counted = fold::cast(size_t, number.clone(), self.emitter.site);
        // A larger number does not fit; what is stored then is not known.
        let fits =
            fold::compare(CompareOp::Le, all.clone(), Expr::Int(ty.max(), self.emitter.types.size_t()));
        let is_in_string = Op::Assume(fold::compare(CompareOp::Le, counted, all.clone()));
        self.emitter.where_holds(fits, |emitter| {
            emitter.assume_range(&number, 0, ty.max());
            emitter.emit(is_in_string);
        });
    }

    /// The size of the number that the conversion gives.
    pub(super) fn scanned_bytes(&self, length: &[u8], letter: u8) -> i128 {
        let pointer = i128::from(self.emitter.types.pointer_bits() / 8);
        let long = i128::from(self.emitter.long().bits / 8);
        let is_float = b"aAeEfFgG".contains(&letter);
        match length {
            _ if letter == b'p' => pointer,
            b"l" if is_float => 8,
            b"L" if is_float => self
                .emitter
                .types
                .size(Type::new(TypeKind::Float(proofline_hir::types::FloatKind::LongDouble)))
                .map_or(16, i128::from),
            _ if is_float => 4,
            b"hh" => 1,
            b"h" => 2,
            b"l" => long,
            b"ll" | b"j" | b"q" | b"L" => 8,
            b"z" | b"t" => pointer,
            _ => 4,
        }
    }

    /// Bytes that get a value, which may follow from a text; it is given then. What is a variable of this size is written as one.
    fn write_scanned(
        &mut self,
        to: &Expr,
        size: Expr,
        exactly: Option<(Scalar, Vec<Expr>)>,
        cause: Cause,
    ) -> Option<Expr> {
        let Expr::Int(bytes, _) = size else { return None };
        let computed = exactly.and_then(|(scalar, of)| {
            let place = self.computed_place(scalar, bytes, to)?;
            let before = self.emitter.exactly.replace((Quantity::ScannedNumber, of));
            let number = self.emitter.any(scalar, cause);
            self.emitter.note(&number, false);
            self.emitter.exactly = before;
            Some((place, number))
        });
        match to {
            Expr::Address(lvalue) if i128::from(lvalue.size) == bytes && self.keeps_check(lvalue) => {
                if computed.is_none() {
                    self.emitter.havoc(lvalue.clone(), cause);
                }
            }
            Expr::Address(lvalue)
                if lvalue.path.is_empty()
                    && !matches!(lvalue.base, Base::Deref(..))
                    && i128::from(lvalue.size) >= bytes =>
            {
                self.emitter.emit(Op::HavocBytes(to.clone(), size, cause));
            }
            _ => {
                self.ask(MemoryPredicate::InBounds, to.clone(), size.clone(), false);
                self.emitter.emit(Op::HavocBytes(to.clone(), size, cause));
            }
        }
        let (place, number) = computed?;
        let stored = fold::cast(place.scalar.unwrap_or(number.scalar()), number.clone(), self.emitter.site);
        self.emitter.emit(Op::Assign(place, stored));
        Some(number)
    }

    /// Whether it is still found, after it is written without its address being taken, that it has no value elsewhere.
    fn keeps_check(&self, lvalue: &Lvalue) -> bool {
        match lvalue.base {
            Base::Local(id) => !lvalue.path.is_empty() || self.initialised.contains(&id),
            Base::Global(_) | Base::Deref(..) => true,
        }
    }

    /// The format is not known: numbers go to single objects, strings to arrays of unknown length.
    fn scan_anything(&mut self, scan: Scan, arguments: &[Argument], cause: Cause) {
        for to in pointers_from(arguments, scan.first) {
            let is_variable = match &to {
                Expr::Address(lvalue) => {
                    lvalue.scalar.is_some()
                        && !lvalue.path.iter().any(|step| matches!(step, Step::Index { .. }))
                }
                _ => false,
            };
            if is_variable {
                self.write_object(&to, cause);
            } else {
                let size = self.emitter.any_size(cause);
                self.emitter.emit(Op::HavocBytes(to, size, cause));
            }
        }
    }
}
