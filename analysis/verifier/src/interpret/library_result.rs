//! What library functions make of memory (C11 7.24, 7.22.1), computed as the compiled program would. Where the standard leaves a
//! value open, or memory is not known, it is not computed.

use std::cmp::Ordering;

use proofline_cfa::{
    Base, Conversion, Expr, FloatType, IntType, LOCALE, Lvalue, Name, Quantity, Scalar, Site, Type,
    eval::Value,
};

use super::{
    code::FunctionCode,
    float_text,
    machine::{Machine, Step, stuck},
    oracle::Oracle,
    place::{Place, refused},
};

/// A longer string is not looked at.
const LONGEST: u64 = 1 << 20;

/// What came of it.
enum Found {
    /// The quantity.
    Number(i128),
    /// Only its sign is determined.
    Sign(Ordering),
    /// There is none.
    Nothing,
    /// There is none, and all of so many were looked at.
    All(i128),
    /// It depends on bytes that were never written, or is not defined.
    Unknown,
}

/// Who asks for bytes that are inputs.
#[derive(Clone, Copy)]
struct Asker<'c> {
    code: &'c FunctionCode,
    site: Site,
}

/// Bytes one after the other.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) from: u64,
    /// At most so many.
    pub(super) most: u64,
}

/// What ends a row of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its length, or a 0 before that.
    AtZero,
    /// Its length alone.
    AtLength,
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// The value of a temporary that has one by definition; `None` if it can be any.
    pub(super) fn library_result(
        &mut self,
        code: &'c FunctionCode,
        dst: &Lvalue,
        site: Site,
    ) -> Step<Option<Value>> {
        let Base::Local(id) = dst.base else { return Ok(None) };
        let Some(&at) = code.library_results.get(&id) else { return Ok(None) };
        let result = &code.function.library_results[at as usize];
        if result.quantity == Quantity::PrintedText {
            return Ok(None);
        }
        if let (Quantity::PrintedLength, Some(Scalar::Int(ty))) = (result.quantity, dst.scalar) {
            let text = self.printed(code, &result.arguments)?;
            return Ok(text.map(|text| Value::Int(ty.wrap(text.len() as i128))));
        }
        if let (Quantity::FloatIn, Some(Scalar::Float(format))) = (result.quantity, dst.scalar) {
            return self.float_in(Asker { code, site }, &result.arguments, format);
        }
        if let Quantity::ScannedCount
        | Quantity::ScannedItems
        | Quantity::ScannedLength
        | Quantity::ScannedNumber = result.quantity
        {
            let of = (result.quantity, &result.arguments[..]);
            return self.scanned_result(code, of, dst.scalar, site);
        }
        let mut numbers = [0; 4];
        for (number, argument) in numbers.iter_mut().zip(&result.arguments) {
            match self.eval(code, argument)? {
                Value::Int(value) => *number = value,
                Value::Float(_) => return Ok(None),
            }
        }
        let decides = if result.quantity == Quantity::NumberError { 2 } else { 0 };
        let width = result.arguments.get(decides).and_then(Expr::int_type).or(dst.scalar.and_then(int_type));
        let asker = Asker { code, site };
        let found = self.quantity(asker, result.quantity, numbers, width)?;
        let is_nothing = matches!(found, Found::Nothing | Found::All(_));
        let number = match found {
            Found::Unknown => return Ok(None),
            _ if result.is_absence => i128::from(is_nothing),
            Found::Number(number) | Found::All(number) => number,
            Found::Nothing => 0,
            Found::Sign(sign) => {
                // Other libraries give other numbers of that sign.
                self.is_determined &= sign == Ordering::Equal || self.code.is_sign(code.function.name, id);
                sign as i128
            }
        };
        match dst.scalar {
            Some(Scalar::Int(ty)) => Ok(Some(Value::Int(ty.wrap(number)))),
            _ => Ok(None),
        }
    }

    /// Writes the characters of a number into an array that has them by definition; false if it can have any.
    pub(super) fn library_text(&mut self, code: &'c FunctionCode, dst: &Lvalue) -> Step<bool> {
        let Base::Local(id) = dst.base else { return Ok(false) };
        let Some(&at) = code.library_results.get(&id) else { return Ok(false) };
        let result = &code.function.library_results[at as usize];
        if result.quantity != Quantity::PrintedText {
            return Ok(false);
        }
        let Some(text) = self.printed(code, &result.arguments)? else { return Ok(false) };
        let Place::Memory(address) = self.place(code, dst)? else { return Ok(false) };
        for (at, byte) in (address..address + dst.size).zip(text) {
            self.memory.write(at, 1, u128::from(byte)).or_else(refused)?;
        }
        Ok(true)
    }

    /// A number as `printf` writes it.
    fn printed(&mut self, code: &'c FunctionCode, arguments: &'c [Expr]) -> Step<Option<Vec<u8>>> {
        let [number, kind] = arguments else { return Ok(None) };
        let (number, kind) = (self.eval(code, number)?, self.eval(code, kind)?);
        let Some(conversion) = kind.int().and_then(Conversion::from_number) else { return Ok(None) };
        Ok(match number {
            Value::Int(number) => Some(conversion.print(number)),
            Value::Float(_) if !self.is_locale_of_c(code)? => None,
            Value::Float(number) => {
                // With its sign, `-nan`.
                self.keep_bits(Value::Float(number));
                number.to_f64().map(|number| conversion.print_float(number))
            }
        })
    }

    /// Whether numbers have a point, as in the locale that programs begin with: where another one may be set, a variable of the model says so.
    fn is_locale_of_c(&mut self, code: &'c FunctionCode) -> Step<bool> {
        let name = Name::new(LOCALE);
        if !self.code.program.globals.contains_key(&name) {
            return Ok(true);
        }
        let (base, scalar) = (Base::Global(name), Some(Scalar::Int(IntType::INT)));
        let locale = Lvalue { base, path: Vec::new(), ty: Type::int(), scalar, bits: None, size: 4 };
        Ok(self.load(code, &locale)? == Value::Int(0))
    }

    /// The number that a text begins with, as `strtod` and its kin read it.
    fn float_in(
        &mut self,
        asker: Asker<'c>,
        arguments: &'c [Expr],
        format: FloatType,
    ) -> Step<Option<Value>> {
        let [text] = arguments else { return Ok(None) };
        if !self.is_locale_of_c(asker.code)? {
            return Ok(None);
        }
        let Value::Int(from) = self.eval(asker.code, text)? else { return Ok(None) };
        let text = self.text(asker, from as u64)?;
        let found = text.as_deref().and_then(float_text::read);
        Ok(found.and_then(|(spelling, _)| spelling.number(format)).map(Value::Float))
    }

    /// Whether bytes from one address on and those from another on have one in common.
    fn overlap(&self, (one, size): (u64, i128), (other, other_size): (u64, i128)) -> Step<Found> {
        let base = |address: u64| self.memory.object_at(address).map(|(_, base, _)| base);
        let distance = i128::from(other) - i128::from(one);
        let is_near = size > 0 && other_size > 0 && distance < size && -distance < other_size;
        let overlaps = is_near && base(one).is_some() && base(one) == base(other);
        if overlaps && self.is_made_up(one) {
            return stuck("whether what callers give overlaps, they know");
        }
        Ok(Found::Number(i128::from(overlaps)))
    }

    fn quantity(
        &mut self,
        asker: Asker<'c>,
        quantity: Quantity,
        numbers: [i128; 4],
        width: Option<IntType>,
    ) -> Step<Found> {
        let [first, second, third, fourth] = numbers;
        let (from, to) = (first as u64, second as u64);
        let string = Bytes { from, most: LONGEST };
        let bounded = |most: i128| Bytes { from, most: (most as u64).min(LONGEST) };
        Ok(match quantity {
            Quantity::StringLength => self.length(asker, string, 1)?.map_or(Found::Unknown, Found::Number),
            Quantity::WideLength => self.length(asker, string, 4)?.map_or(Found::Unknown, Found::Number),
            Quantity::WideBounded => {
                self.length(asker, bounded(second), 4)?.map_or(Found::Unknown, Found::Number)
            }
            Quantity::Overlap => self.overlap((from, third), (to, third))?,
            Quantity::Meeting => self.overlap((from, second), (third as u64, fourth))?,
            Quantity::PrintedLength
            | Quantity::PrintedText
            | Quantity::FloatIn
            | Quantity::ScannedCount
            | Quantity::ScannedItems
            | Quantity::ScannedLength
            | Quantity::ScannedNumber => Found::Unknown,
            Quantity::FloatEnd if !self.is_locale_of_c(asker.code)? => Found::Unknown,
            Quantity::FloatEnd => {
                let text = self.text(asker, from)?;
                let found = text.as_deref().and_then(float_text::read);
                found.map_or(Found::Unknown, |(_, end)| Found::Number(end as i128))
            }
            Quantity::InternetAddress => match self.text(asker, from)? {
                Some(text) => internet_address(&text).map_or(Found::Unknown, Found::Number),
                None => Found::Unknown,
            },
            Quantity::BytesUntil => self.looked_at(asker, bounded(third), second)?,
            Quantity::StringSize => {
                self.length(asker, string, 1)?.map_or(Found::Unknown, |n| Found::Number(n + 1))
            }
            Quantity::BoundedLength => {
                self.length(asker, bounded(second), 1)?.map_or(Found::Unknown, Found::Number)
            }
            Quantity::StringOrder => self.order(asker, string, to, End::AtZero)?,
            Quantity::BoundedOrder => self.order(asker, bounded(third), to, End::AtZero)?,
            Quantity::ByteOrder => self.order(asker, bounded(third), to, End::AtLength)?,
            Quantity::FirstCharacter => self.find_first(asker, string, second, End::AtZero)?,
            Quantity::LastCharacter => self.find_last_character(asker, string, second)?,
            Quantity::FirstByte => self.find_first(asker, bounded(third), second, End::AtLength)?,
            Quantity::LastByte => self.find_last_byte(asker, bounded(third), second)?,
            Quantity::FirstOfSet => match (self.text(asker, from)?, self.text(asker, to)?) {
                (Some(text), Some(set)) => {
                    let at = text.iter().position(|c| set.contains(c));
                    at.map_or(Found::Nothing, |at| Found::Number(at as i128))
                }
                _ => Found::Unknown,
            },
            Quantity::KeptBytes => match self.memory.object_at(from) {
                Some((_, base, size)) if base == from => Found::Number(i128::from(size).min(second)),
                None if from == 0 => Found::Number(0),
                Some(_) | None => Found::Unknown,
            },
            Quantity::FirstString => match (self.text(asker, from)?, self.text(asker, to)?) {
                (Some(text), Some(part)) => {
                    let at = (0..=text.len()).find(|at| text[*at..].starts_with(&part));
                    at.map_or(Found::Nothing, |at| Found::Number(at as i128))
                }
                _ => Found::Unknown,
            },
            Quantity::Span | Quantity::ComplementSpan => {
                match (self.text(asker, from)?, self.text(asker, to)?) {
                    (Some(text), Some(set)) => {
                        let wanted = quantity == Quantity::Span;
                        let span = text.iter().take_while(|c| set.contains(c) == wanted).count();
                        Found::Number(span as i128)
                    }
                    _ => Found::Unknown,
                }
            }
            Quantity::NumberIn | Quantity::NumberEnd | Quantity::NumberError => {
                let Some(ty) = width else { return Ok(Found::Unknown) };
                // Where it ends is found out first; what it is follows from the digits that are there then.
                if matches!(second, 0 | 10) {
                    let asked = if quantity == Quantity::NumberEnd { IntType::INT } else { ty };
                    self.ask_number(asker.code, from, asked, asker.site)?;
                }
                let Some(text) = self.text(asker, from)? else { return Ok(Found::Unknown) };
                match (number_in(&text, second), quantity) {
                    (Some((_, end)), Quantity::NumberEnd) => Found::Number(end),
                    // Some libraries say so where there is no number, too.
                    (Some((_, 0)), Quantity::NumberError) => Found::Unknown,
                    (Some((number, _)), Quantity::NumberError) => {
                        Found::Number(if fits(number, ty) { 0 } else { ERANGE })
                    }
                    (Some((number, _)), _) => Found::Number(nearest(number, ty)),
                    (None, _) => Found::Unknown,
                }
            }
            Quantity::Number => match self.ask_number(asker.code, from, IntType::INT, asker.site)? {
                Some(number) => Found::Number(number),
                None => match self.text(asker, from)? {
                    Some(text) => number(&text).map_or(Found::Unknown, Found::Number),
                    None => Found::Unknown,
                },
            },
            Quantity::Ones
            | Quantity::Parity
            | Quantity::LeadingZeros
            | Quantity::TrailingZeros
            | Quantity::FirstOne => match width {
                Some(ty) => bits(quantity, first, ty),
                None => Found::Unknown,
            },
        })
    }

    /// A byte; `None` if it was never written.
    fn byte(&mut self, asker: Asker<'c>, address: u64) -> Step<Option<u8>> {
        self.looks_at(address, 1)?;
        match self.memory.read_bits(address, 1, 0xff).or_else(refused)? {
            Some(byte) => Ok(Some(byte as u8)),
            None => self.ask_byte(asker.code, address),
        }
    }

    /// Characters of so many bytes before the first 0, or all.
    fn length(&mut self, asker: Asker<'c>, bytes: Bytes, width: u64) -> Step<Option<i128>> {
        for at in 0..bytes.most {
            let mut is_zero = true;
            for part in 0..width {
                match self.byte(asker, bytes.from.wrapping_add(at * width + part))? {
                    Some(byte) => is_zero &= byte == 0,
                    None => return Ok(None),
                }
                if !is_zero {
                    break;
                }
            }
            if is_zero {
                return Ok(Some(i128::from(at)));
            }
        }
        if bytes.most == LONGEST {
            stuck("a string that is too long to look at")
        } else {
            Ok(Some(i128::from(bytes.most)))
        }
    }

    /// A string without its end, for a result at a site; `None` if it is not known.
    pub(super) fn text_at(&mut self, code: &'c FunctionCode, from: u64, site: Site) -> Step<Option<Vec<u8>>> {
        self.text(Asker { code, site }, from)
    }

    /// A string without its end.
    fn text(&mut self, asker: Asker<'c>, from: u64) -> Step<Option<Vec<u8>>> {
        let Some(length) = self.length(asker, Bytes { from, most: LONGEST }, 1)? else { return Ok(None) };
        (0..length as u64).map(|at| self.byte(asker, from + at)).collect()
    }

    /// Compares two rows of bytes as `unsigned char`.
    fn order(&mut self, asker: Asker<'c>, left: Bytes, right: u64, end: End) -> Step<Found> {
        self.ask_whether_equal(asker.code, left, right, end, asker.site)?;
        for at in 0..left.most {
            let (a, b) =
                (self.byte(asker, left.from.wrapping_add(at))?, self.byte(asker, right.wrapping_add(at))?);
            let (Some(a), Some(b)) = (a, b) else { return Ok(Found::Unknown) };
            if a != b {
                return Ok(Found::Sign(a.cmp(&b)));
            }
            if end == End::AtZero && a == 0 {
                return Ok(Found::Sign(Ordering::Equal));
            }
        }
        if left.most == LONGEST { Ok(Found::Unknown) } else { Ok(Found::Sign(Ordering::Equal)) }
    }

    /// Where the byte is first.
    fn find_first(&mut self, asker: Asker<'c>, bytes: Bytes, wanted: i128, end: End) -> Step<Found> {
        for at in 0..bytes.most {
            let Some(byte) = self.byte(asker, bytes.from.wrapping_add(at))? else {
                return Ok(Found::Unknown);
            };
            if byte == wanted as u8 {
                return Ok(Found::Number(i128::from(at)));
            }
            if end == End::AtZero && byte == 0 {
                return Ok(Found::Nothing);
            }
        }
        if bytes.most == LONGEST { Ok(Found::Unknown) } else { Ok(Found::Nothing) }
    }

    /// How many bytes a search looks at that ends where it finds the byte. Behind the end of the object nothing is found.
    fn looked_at(&mut self, asker: Asker<'c>, bytes: Bytes, wanted: i128) -> Step<Found> {
        for at in 0..bytes.most {
            let address = bytes.from.wrapping_add(at);
            match self.memory.object_at(address) {
                Some((_, base, size)) if address.wrapping_sub(base) < size => {}
                None if bytes.from != 0 => return Ok(Found::Unknown),
                Some(_) | None => return Ok(Found::All(i128::from(bytes.most))),
            }
            match self.byte(asker, address)? {
                Some(byte) if byte == wanted as u8 => return Ok(Found::Number(i128::from(at) + 1)),
                Some(_) => {}
                None => return Ok(Found::Unknown),
            }
        }
        Ok(Found::All(i128::from(bytes.most)))
    }

    /// Where the character is last; the 0 at the end of the string is one of its characters.
    fn find_last_character(&mut self, asker: Asker<'c>, string: Bytes, wanted: i128) -> Step<Found> {
        let Some(mut text) = self.text(asker, string.from)? else { return Ok(Found::Unknown) };
        text.push(0);
        let at = text.iter().rposition(|byte| *byte == wanted as u8);
        Ok(at.map_or(Found::Nothing, |at| Found::Number(at as i128)))
    }

    /// Where the byte is last. All of them are read, as the real function may.
    fn find_last_byte(&mut self, asker: Asker<'c>, bytes: Bytes, wanted: i128) -> Step<Found> {
        if bytes.most == LONGEST {
            return Ok(Found::Unknown);
        }
        let mut found = Found::Nothing;
        for at in 0..bytes.most {
            match self.byte(asker, bytes.from.wrapping_add(at))? {
                Some(byte) if byte == wanted as u8 => found = Found::Number(i128::from(at)),
                Some(_) => {}
                None => return Ok(Found::Unknown),
            }
        }
        Ok(found)
    }
}

/// `atoi`; what does not fit is undefined.
pub(super) fn number(text: &[u8]) -> Option<i128> {
    let start = text.iter().position(|c| !c.is_ascii_whitespace() && *c != 0x0b).unwrap_or(text.len());
    let (sign, digits) = match &text[start..] {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    let mut value = 0i128;
    for digit in digits.iter().take_while(|c| c.is_ascii_digit()) {
        value = value * 10 + i128::from(digit - b'0');
        if value > i128::from(i32::MAX) + 1 {
            return None;
        }
    }
    Some(sign * value).filter(|value| IntType::INT.contains(*value))
}

/// What `strtol` and its kin make of a text in a base, before it is brought into a type, and how many characters are read for that. `None`: libraries differ, or
/// there is no such base.
pub(super) fn number_in(text: &[u8], base: i128) -> Option<(i128, i128)> {
    let is_space = |c: &u8| c.is_ascii_whitespace() || *c == 0x0b;
    let start = text.iter().position(|c| !is_space(c)).unwrap_or(text.len());
    let signed = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let rest = text.get(signed..)?;
    let has_prefix = |letter: u8| {
        matches!(rest, [b'0', second, third, ..]
            if second.eq_ignore_ascii_case(&letter) && third.is_ascii_hexdigit())
    };
    // Newer ones read `0b1` as a binary number.
    if matches!(base, 0 | 2) && has_prefix(b'b') {
        return None;
    }
    let (base, prefix) = match base {
        0 | 16 if has_prefix(b'x') => (16, 2),
        0 if rest.first() == Some(&b'0') => (8, 0),
        0 => (10, 0),
        2..=36 => (u32::try_from(base).ok()?, 0),
        _ => return None,
    };
    let digits: Vec<u32> = rest[prefix..].iter().map_while(|c| char::from(*c).to_digit(base)).collect();
    if digits.is_empty() {
        return Some((0, 0));
    }
    let number = digits.iter().fold(0i128, |all, digit| {
        all.saturating_mul(i128::from(base)).saturating_add(i128::from(*digit)).min(1 << 70)
    });
    let is_negative = text.get(start) == Some(&b'-');
    Some((if is_negative { -number } else { number }, (signed + prefix + digits.len()) as i128))
}

/// The number as `strtol` gives it: the nearest one of a signed type; of an unsigned one it is negated as such.
fn nearest(number: i128, ty: IntType) -> i128 {
    if ty.signed {
        return number.clamp(ty.min(), ty.max());
    }
    if fits(number, ty) { ty.wrap(number) } else { ty.max() }
}

/// `errno` of numbers that are too large.
const ERANGE: i128 = 34;

/// Whether `strtol` and its kin give the number, or `strtoul` and its own the number that is negated in its type.
fn fits(number: i128, ty: IntType) -> bool {
    if ty.signed { ty.contains(number) } else { number.abs() <= ty.max() }
}

fn int_type(scalar: Scalar) -> Option<IntType> {
    match scalar {
        Scalar::Int(ty) => Some(ty),
        Scalar::Float(_) | Scalar::Pointer => None,
    }
}

/// `inet_addr` of four decimal numbers; the first is the lowest byte on these machines. Other notations are not read.
fn internet_address(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok()?;
    let is_plain = |part: &str| {
        part == "0" || !part.starts_with('0') && part.bytes().all(|c| c.is_ascii_digit()) && !part.is_empty()
    };
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() != 4 || !parts.iter().all(|part| is_plain(part)) {
        return None;
    }
    let bytes: Option<Vec<u8>> = parts.iter().map(|part| part.parse().ok()).collect();
    Some(bytes?.iter().rev().fold(0, |all, byte| all << 8 | i128::from(*byte)))
}

fn bits(quantity: Quantity, value: i128, ty: IntType) -> Found {
    let unsigned = IntType { bits: ty.bits, signed: false }.wrap(value) as u128;
    Found::Number(match quantity {
        Quantity::Parity => i128::from(unsigned.count_ones() % 2),
        // Of 0 these two are undefined.
        Quantity::LeadingZeros | Quantity::TrailingZeros if unsigned == 0 => return Found::Unknown,
        Quantity::LeadingZeros => i128::from(unsigned.leading_zeros()) - (128 - i128::from(ty.bits)),
        Quantity::TrailingZeros => i128::from(unsigned.trailing_zeros()),
        Quantity::FirstOne if unsigned == 0 => 0,
        Quantity::FirstOne => i128::from(unsigned.trailing_zeros()) + 1,
        _ => i128::from(unsigned.count_ones()),
    })
}
