//! What `sprintf` and `snprintf` write, piece by piece: literal formats are taken apart, so that the length follows from the arguments.

use proofline_cfa::{
    Allocation, Argument, BinaryOp, Cause, CompareOp, Conversion, Expr, FloatType, IntType, Lvalue,
    MemoryPredicate, Name, Op, Quantity, Scalar, Type,
};
use proofline_hir::{
    TypeKind,
    types::{ArrayLength, IntKind},
};

use super::{
    apply::Pass,
    arguments::{pointer, value},
    effect::{Characters, Print, Room},
    format::{self, Directive, Specification},
    strings::behind,
};
use crate::lower::fold;

/// Formats with more pieces are not taken apart.
const MOST_PIECES: usize = 24;

/// Of a piece that may fail (a wide character that is none, a width that is too large), as many as make the call fail.
const FAILED: i128 = 1 << 31;

/// More characters than this are not printed for one number.
const WIDEST: u32 = 1000;

/// A part of what is printed.
struct Piece {
    what: Printed,
    /// How many characters, of `size_t`.
    length: Expr,
}

enum Printed {
    /// Of the format itself, from there on.
    Text(usize),
    /// A number, and how it is printed.
    Number(Expr, Conversion),
    /// A string of this length, in a field.
    String { from: Expr, length: Expr, is_left: bool },
    /// Something else.
    Unknown,
}

impl Pass<'_, '_> {
    /// Each conversion of a literal format has an argument of its kind, and what is printed as a string is one.
    pub(super) fn need_printed(&mut self, format: usize, first: usize, arguments: &[Argument]) {
        let Some(format) = pointer(arguments, format) else { return };
        let known = format::directives(self.program, &format, false);
        if known.is_none() && format::is_literal(self.program, &format) {
            self.emitter.emit(Op::Skip);
            let here = self.emitter.at;
            self.emitter.function.unsupported.push((here, Name::new("a format that is not understood")));
        }
        let mut at = first;
        for directive in known.iter().flatten() {
            let Directive::Conversion(specification) = directive else { continue };
            if specification.letter == b'm' {
                continue;
            }
            let taken: Option<Vec<Expr>> =
                (at..at + specification.taken()).map(|at| value(arguments, at).filter(is_int)).collect();
            at += specification.taken();
            let argument = value(arguments, specification.argument.map_or(at, |number| first + number - 1));
            at += 1;
            let argument = argument.filter(|argument| self.is_of_kind(specification, argument));
            let (Some(taken), Some(argument)) = (&taken, argument) else {
                let what = match taken {
                    Some(_) => format!("%{}", char::from(specification.letter)),
                    None => "*".to_owned(),
                };
                let never = Expr::Int(0, IntType::INT);
                self.emitter.demand_that(never, &format!("`{what}` has an argument of its kind"));
                return;
            };
            let kind = match (&specification.letter, &specification.length[..]) {
                (b's', b"l") | (b'S', _) => Characters::Wide,
                (b's', b"") => Characters::Bytes,
                _ => continue,
            };
            if specification.takes_precision
                && kind == Characters::Bytes
                && let Some(most) = taken.last()
            {
                self.need_printed_within(argument, most.clone());
            } else if !specification.takes_precision
                && kind.literal(self.program, &argument).is_none()
                && specification.precision != Some(0)
            {
                let most = i128::from(specification.precision.unwrap_or(0));
                let size = Expr::Int(most, self.emitter.types.size_t());
                // Of wide characters it is the bytes that they become which are counted.
                if kind == Characters::Bytes || specification.precision.is_none() {
                    self.ask(kind.terminated(), argument, size, false);
                }
            }
        }
    }

    /// A string is printed up to so many characters; a negative number is none, and then the whole string is printed.
    fn need_printed_within(&mut self, string: Expr, most: Expr) {
        let size_t = Scalar::Int(self.emitter.types.size_t());
        let size = fold::cast(size_t, most.clone(), self.emitter.site);
        let whole = size.zero();
        let is_some = fold::compare(CompareOp::Gt, most.clone(), most.zero());
        let is_none = fold::compare(CompareOp::Lt, most.clone(), most.zero());
        let from = string.clone();
        self.in_case(is_some, |pass| pass.ask(MemoryPredicate::Terminated, from, size, false));
        self.in_case(is_none, |pass| pass.ask(MemoryPredicate::Terminated, string, whole, false));
    }

    /// Whether the conversion is for such an argument. Numbers of one size may differ in their sign.
    fn is_of_kind(&self, specification: &Specification, argument: &Expr) -> bool {
        let pointer_bits = self.emitter.types.pointer_bits();
        match (specification.letter, argument.scalar()) {
            (b's' | b'S' | b'p' | b'n', scalar) => scalar == Scalar::Pointer,
            (b'c' | b'C' | b'd' | b'i' | b'u' | b'x' | b'X' | b'o', Scalar::Int(given)) => {
                let bits = match &specification.length[..] {
                    b"" | b"h" | b"hh" => 32,
                    b"l" if specification.letter == b'c' => 32,
                    b"l" => self.emitter.long().bits,
                    b"z" | b"t" => pointer_bits,
                    _ => 64,
                };
                given.bits.max(32) == bits
            }
            (b'c' | b'C' | b'd' | b'i' | b'u' | b'x' | b'X' | b'o', _) => false,
            (b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A', scalar) => {
                let is_long = specification.length.contains(&b'L');
                match scalar {
                    Scalar::Float(given) => is_long == (given != FloatType::F64),
                    Scalar::Int(_) | Scalar::Pointer => false,
                }
            }
            // An extension.
            _ => true,
        }
    }

    /// Writes what is printed, and gives how much that is.
    pub(super) fn print(&mut self, print: &Print, arguments: &[Argument], dst: Option<Lvalue>, cause: Cause) {
        let (Some(to), Some(format)) = (pointer(arguments, print.to), pointer(arguments, print.format))
        else {
            return;
        };
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let pieces = self.pieces(print, &format, arguments);
        let mut total = Expr::Int(0, size_t);
        let mut starts = Vec::new();
        for piece in &pieces {
            starts.push(total.clone());
            total = fold::binary(BinaryOp::Add, total, piece.length.clone(), site);
        }
        let one = Expr::Int(1, size_t);
        let whole = fold::binary(BinaryOp::Add, total.clone(), one.clone(), site);
        match &print.room {
            Room::New { may_fail } => {
                return self.print_new(&to, (&format, &pieces, &starts), total, *may_fail, dst);
            }
            Room::Enough => {
                self.demand_strings_apart(&to, &pieces, &whole);
                self.ask_room(to.clone(), whole, false);
                self.write_pieces(&to, &format, &pieces, &starts, None);
                self.end_at(&to, total.clone());
            }
            Room::Within(size) => {
                let size = self.size(size, arguments, cause);
                let is_room = fold::compare(CompareOp::Ne, size.clone(), size.zero());
                let fits = fold::compare(CompareOp::Lt, total.clone(), size.clone());
                let most = fold::binary(BinaryOp::Sub, size.clone(), one, site);
                self.demand_strings_apart(&to, &pieces, &size);
                self.in_case(is_room, |pass| {
                    pass.in_case(fits.clone(), |pass| {
                        pass.write_pieces(&to, &format, &pieces, &starts, None);
                        pass.end_at(&to, total.clone());
                    });
                    pass.in_case(fits.negated(), |pass| {
                        pass.write_pieces(&to, &format, &pieces, &starts, Some(&most));
                        pass.end_at(&to, most.clone());
                    });
                });
            }
        }
        self.printed(total, dst, cause);
    }

    /// Strings that are printed have no byte among those that are written (C11 7.21.6.6p2).
    fn demand_strings_apart(&mut self, to: &Expr, pieces: &[Piece], room: &Expr) {
        for piece in pieces {
            if let Printed::String { from, length, .. } = &piece.what
                && Characters::Bytes.literal(self.program, from).is_none()
            {
                let written = (to.clone(), room.clone());
                self.demand_none_in_common(written, (from.clone(), length.clone()));
            }
        }
    }

    /// How much was printed is the result, if it is an `int`.
    fn printed(&mut self, total: Expr, dst: Option<Lvalue>, cause: Cause) {
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let Some(dst) = dst else { return };
        let Some(scalar @ Scalar::Int(ty)) = dst.scalar else { return self.emitter.havoc(dst, cause) };
        let int = Scalar::Int(IntType::INT);
        let most = Expr::Int(IntType::INT.max(), size_t);
        let fits = fold::compare(CompareOp::Le, total.clone(), most);
        let number = fold::cast(scalar, fold::cast(int, total, site), site);
        let failed = Op::Assign(dst.clone(), Expr::Int(ty.wrap(-1), ty));
        let done = Op::Assign(dst, number);
        match fits {
            Expr::Int(0, _) => self.emitter.emit(failed),
            Expr::Int(..) => self.emitter.emit(done),
            fits => self.emitter.if_else(fits, |e| e.emit(done), |e| e.emit(failed)),
        }
    }

    /// Writes what is printed into a new object, whose address goes to what the pointer points to; of a call that fails nobody knows what
    /// that is then.
    fn print_new(
        &mut self,
        to: &Expr,
        (format, pieces, starts): (&Expr, &[Piece], &[Expr]),
        total: Expr,
        may_fail: bool,
        dst: Option<Lvalue>,
    ) {
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        let cause = Cause::Unmodelled(Name::new("printf"));
        let bytes = i128::from(self.emitter.types.pointer_bits() / 8);
        self.ask(MemoryPredicate::InBounds, to.clone(), Expr::Int(bytes, size_t), false);
        let place = self.pointee(to, Type::void().pointer_to());
        let size = fold::binary(BinaryOp::Add, total.clone(), Expr::Int(1, size_t), site);
        let new = self.emitter.temporary(Type::void().pointer_to());
        let allocation = Allocation { dst: new.clone(), size, site, on_heap: true, zeroed: false, may_fail };
        self.emitter.emit(Op::Allocate(allocation));
        let new = Expr::Load(new);
        let is_there = fold::compare(CompareOp::Ne, new.clone(), Expr::Null);
        let (start, join) = (self.emitter.at, self.emitter.location());
        self.emitter.emit(Op::Assume(is_there.clone()));
        self.write_pieces(&new, format, pieces, starts, None);
        self.end_at(&new, total.clone());
        self.emitter.emit(Op::Assign(place.clone(), new));
        self.printed(total, dst.clone(), cause);
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = start;
        self.emitter.emit(Op::Assume(is_there.negated()));
        self.emitter.havoc(place, cause);
        if let Some(dst) = dst {
            let failed = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::int(-1), site);
            self.emitter.emit(Op::Assign(dst, failed));
        }
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
    }

    /// Does it where the condition holds, which may be known.
    pub(super) fn in_case(&mut self, condition: Expr, then: impl FnOnce(&mut Self)) {
        match condition {
            Expr::Int(0, _) => {}
            Expr::Int(..) => then(self),
            condition => {
                let (start, join) = (self.emitter.at, self.emitter.location());
                self.emitter.connect(Op::Assume(condition.negated()), join);
                self.emitter.at = start;
                self.emitter.emit(Op::Assume(condition));
                then(self);
                self.emitter.connect(Op::Skip, join);
                self.emitter.at = join;
            }
        }
    }

    fn end_at(&mut self, to: &Expr, length: Expr) {
        let end = behind(to, length, self.emitter.site);
        let one = Expr::Int(1, self.emitter.types.size_t());
        self.emitter.emit(Op::FillBytes(end, Expr::int(0), one));
    }

    /// What is printed. One piece of unknown length, if that is all that is known.
    fn pieces(&mut self, print: &Print, format: &Expr, arguments: &[Argument]) -> Vec<Piece> {
        let known = print.first.and_then(|first| self.known_pieces(first, format, arguments));
        known.unwrap_or_else(|| vec![self.unknown_piece(0, FAILED)])
    }

    fn known_pieces(&mut self, first: usize, format: &Expr, arguments: &[Argument]) -> Option<Vec<Piece>> {
        format::literal(self.program, format)?;
        let directives = format::directives(self.program, format, false)?;
        // How much is printed then hangs on the arguments.
        let takes =
            |directive: &Directive| matches!(directive, Directive::Conversion(one) if one.taken() > 0);
        if directives.iter().any(takes) {
            return None;
        }
        let size_t = self.emitter.types.size_t();
        let (mut out, mut at) = (Vec::new(), first);
        if directives.len() > MOST_PIECES {
            return None;
        }
        for directive in &directives {
            match directive {
                Directive::Text { from, length } => {
                    let length = Expr::Int(*length as i128, size_t);
                    out.push(Piece { what: Printed::Text(*from), length });
                }
                Directive::Conversion(specification) => match specification.letter {
                    b'm' => out.push(self.unknown_piece(0, FAILED)),
                    b'n' => at += 1,
                    _ => {
                        let argument =
                            value(arguments, specification.argument.map_or(at, |number| first + number - 1))?;
                        at += 1;
                        out.push(self.piece(specification, argument));
                    }
                },
            }
        }
        Some(out)
    }

    /// Between so many characters, which are not computed.
    fn unknown_piece(&mut self, least: i128, most: i128) -> Piece {
        let length = self.emitter.any_size(Cause::Unmodelled(Name::new("printf")));
        self.emitter.assume_range(&length, least, most);
        Piece { what: Printed::Unknown, length }
    }

    fn piece(&mut self, specification: &Specification, argument: Expr) -> Piece {
        let (width, size_t) = (specification.width.unwrap_or(0), self.emitter.types.size_t());
        let precision = specification.precision;
        let widest = width.max(precision.unwrap_or(0));
        match (specification.letter, argument.scalar()) {
            (b's', Scalar::Pointer) if specification.length.is_empty() => {
                let most = precision.map(|most| Expr::Int(i128::from(most), size_t));
                let length = self.length_of(&argument, most, Characters::Bytes);
                let field = self.at_least(length.clone(), i128::from(width));
                let is_left = specification.has(b'-');
                Piece { what: Printed::String { from: argument, length, is_left }, length: field }
            }
            (b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c', Scalar::Int(given))
                if widest <= WIDEST
                    && !specification.has(b'\'')
                    && !(specification.letter == b'c' && specification.length.contains(&b'l')) =>
            {
                let bits = match &specification.length[..] {
                    _ if specification.letter == b'c' => 8,
                    b"hh" => 8,
                    b"h" => 16,
                    b"" => 32,
                    b"l" => self.emitter.long().bits,
                    b"z" | b"t" => self.emitter.types.pointer_bits(),
                    _ => 64,
                };
                let is_signed = matches!(specification.letter, b'd' | b'i');
                let ty = IntType { bits: bits.min(given.bits), signed: is_signed };
                let number = fold::cast(Scalar::Int(ty), argument, self.emitter.site);
                let conversion = conversion(specification);
                let (least, most) = conversion.lengths(ty.min(), ty.max());
                let length = match &number {
                    Expr::Int(number, _) => Expr::Int(conversion.print(*number).len() as i128, size_t),
                    _ if least == most => Expr::Int(least, size_t),
                    number => {
                        let kind = Expr::Int(conversion.to_number(), IntType { bits: 64, signed: true });
                        let length = self.computed_size(Quantity::PrintedLength, vec![number.clone(), kind]);
                        self.emitter.assume_range(&length, least, most);
                        length
                    }
                };
                Piece { what: Printed::Number(number, conversion), length }
            }
            (letter @ (b'f' | b'F' | b'e' | b'E' | b'g' | b'G'), Scalar::Float(format))
                if widest <= WIDEST && !specification.has(b'\'') =>
            {
                let most = float_length(letter, precision.unwrap_or(6), format).max(i128::from(width));
                // Of `%#g` glibc drops zeros where rounding carries into a new digit.
                let is_doubtful = specification.has(b'#') && matches!(letter, b'g' | b'G');
                if format != FloatType::F64 || is_doubtful {
                    return self.unknown_piece(i128::from(width.max(1)), most);
                }
                let conversion = conversion(specification);
                let kind = Expr::Int(conversion.to_number(), IntType { bits: 64, signed: true });
                let length = self.computed_size(Quantity::PrintedLength, vec![argument.clone(), kind]);
                self.emitter.assume_range(&length, i128::from(width.max(1)), most);
                Piece { what: Printed::Number(argument, conversion), length }
            }
            (b'p', Scalar::Pointer) => {
                self.unknown_piece(i128::from(width.max(3)), i128::from(width.max(18)))
            }
            _ => self.unknown_piece(0, FAILED),
        }
    }

    /// The number, or the bound if it is smaller.
    fn at_least(&mut self, number: Expr, least: i128) -> Expr {
        let size_t = self.emitter.types.size_t();
        match number {
            Expr::Int(known, ty) => Expr::Int(known.max(least), ty),
            number if least == 0 => number,
            number => {
                let larger = self.emitter.temporary(self.emitter.types.of_scalar(Scalar::Int(size_t)));
                self.emitter.emit(Op::Assign(larger.clone(), number.clone()));
                let bound = Expr::Int(least, size_t);
                let is_small = fold::compare(CompareOp::Lt, number, bound.clone());
                let raise = Op::Assign(larger.clone(), bound);
                self.emitter.only_if(is_small, |emitter| emitter.emit(raise));
                Expr::Load(larger)
            }
        }
    }

    /// Writes pieces; of all of them together at most so many characters.
    fn write_pieces(
        &mut self,
        to: &Expr,
        format: &Expr,
        pieces: &[Piece],
        starts: &[Expr],
        most: Option<&Expr>,
    ) {
        for (piece, start) in pieces.iter().zip(starts) {
            let place = behind(to, start.clone(), self.emitter.site);
            let Some(most) = most else {
                self.write_piece(&place, format, piece, piece.length.clone());
                continue;
            };
            let site = self.emitter.site;
            let end = fold::binary(BinaryOp::Add, start.clone(), piece.length.clone(), site);
            let fits = fold::compare(CompareOp::Le, end, most.clone());
            let is_some = fold::compare(CompareOp::Lt, start.clone(), most.clone());
            let left = fold::binary(BinaryOp::Sub, most.clone(), start.clone(), site);
            self.in_case(is_some, |pass| {
                pass.in_case(fits.clone(), |pass| {
                    pass.write_piece(&place, format, piece, piece.length.clone());
                });
                pass.in_case(fits.negated(), |pass| pass.write_piece(&place, format, piece, left));
            });
        }
    }

    /// Writes the first so many characters of a piece.
    fn write_piece(&mut self, to: &Expr, format: &Expr, piece: &Piece, count: Expr) {
        let (site, size_t) = (self.emitter.site, self.emitter.types.size_t());
        match &piece.what {
            Printed::Text(from) => {
                let from = behind(format, Expr::Int(*from as i128, size_t), site);
                self.copy_bytes(to, &from, count);
            }
            Printed::Number(number, conversion) if conversion.letter == b'c' && conversion.width <= 1 => {
                let byte = fold::cast(Scalar::Int(IntType::INT), number.clone(), site);
                self.emitter.emit(Op::FillBytes(to.clone(), byte, count));
            }
            Printed::Number(number, conversion) => {
                let most = match number.scalar() {
                    Scalar::Int(ty) => conversion.lengths(ty.min(), ty.max()).1,
                    Scalar::Float(format) => {
                        let precision = conversion.precision.map_or(6, u32::from);
                        float_length(conversion.letter, precision, format).max(i128::from(conversion.width))
                    }
                    Scalar::Pointer => return,
                };
                let character = Type::new(TypeKind::Int(IntKind::Char));
                let room = ArrayLength::Fixed(u64::try_from(most).unwrap_or(0));
                let text = self.emitter.temporary(Type::new(TypeKind::Array(character, room)));
                let kind = Expr::Int(conversion.to_number(), IntType { bits: 64, signed: true });
                let arguments = vec![number.clone(), kind];
                let before = self.emitter.exactly.replace((Quantity::PrintedText, arguments));
                self.emitter.emit(Op::Havoc(text.clone(), Cause::Unmodelled(Name::new("printf"))));
                self.emitter.note(&Expr::Load(text.clone()), false);
                self.emitter.exactly = before;
                self.copy_bytes(to, &Expr::Address(text), count);
            }
            Printed::String { from, length, is_left: true } => {
                let is_field = *length != piece.length;
                if !is_field {
                    return self.copy_bytes(to, from, count);
                }
                // The field is blank where the string does not reach.
                self.fill(to, b' ', count.clone());
                let fits = fold::compare(CompareOp::Le, length.clone(), count.clone());
                self.in_case(fits.clone(), |pass| pass.copy_bytes(to, from, length.clone()));
                self.in_case(fits.negated(), |pass| pass.copy_bytes(to, from, count));
            }
            Printed::String { from, length, is_left: false } => {
                if *length == piece.length {
                    return self.copy_bytes(to, from, count);
                }
                let blanks = fold::binary(BinaryOp::Sub, piece.length.clone(), length.clone(), site);
                self.fill(to, b' ', count.clone());
                let is_seen = fold::compare(CompareOp::Lt, blanks.clone(), count.clone());
                let rest = fold::binary(BinaryOp::Sub, count, blanks.clone(), site);
                let place = behind(to, blanks, site);
                self.in_case(is_seen, |pass| pass.copy_bytes(&place, from, rest));
            }
            Printed::Unknown => {
                let cause = Cause::Unmodelled(Name::new("printf"));
                self.emitter.emit(Op::HavocBytes(to.clone(), count, cause));
            }
        }
    }

    fn fill(&mut self, to: &Expr, byte: u8, count: Expr) {
        if !matches!(count, Expr::Int(0, _)) {
            self.emitter.emit(Op::FillBytes(to.clone(), Expr::int(i128::from(byte)), count));
        }
    }
}

/// Whether it is an `int`, as `*` takes it.
fn is_int(value: &Expr) -> bool {
    value.int_type().is_some_and(|ty| ty.bits == IntType::INT.bits)
}

/// The conversion of a number; width and precision are no more than [`WIDEST`].
fn conversion(specification: &Specification) -> Conversion {
    Conversion {
        letter: if specification.letter == b'i' { b'd' } else { specification.letter },
        is_left: specification.has(b'-'),
        is_zeroed: specification.has(b'0'),
        is_signed: specification.has(b'+'),
        is_spaced: specification.has(b' '),
        is_alternative: specification.has(b'#'),
        width: specification.width.unwrap_or(0) as u16,
        precision: specification.precision.map(|digits| digits as u16),
    }
}

/// The most characters of a floating number.
fn float_length(letter: u8, precision: u32, format: FloatType) -> i128 {
    // Digits before the point, and of an exponent with `e` and sign.
    let (digits, exponent) = match format {
        FloatType::F80 | FloatType::F128 => (4933, 6),
        FloatType::F16 | FloatType::F32 | FloatType::F64 => (309, 5),
    };
    let precision = i128::from(precision);
    match letter {
        b'f' | b'F' => 1 + digits + 1 + precision,
        b'e' | b'E' => 1 + 1 + 1 + precision + exponent,
        // `0.000` comes before the digits at most.
        _ => 1 + precision.max(1) + 1 + exponent.max(5),
    }
    .max(4)
}
