//! Values and types of literals: numbers, characters, strings. Knows nothing of trees: it reads their spellings.

use proofline_float::Float;
use proofline_syntax::DataModel;

use crate::{
    float::{self, FloatText},
    types::{FloatKind, IntKind},
};

/// A numeric literal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    /// Integer; the value fits the kind (`unsigned __int128` modulo 2^128).
    Int(i128, IntKind),
    /// Floating: the number, whether every compiler gives it this value.
    Float { value: Float, exact: bool, kind: FloatKind },
    /// GNU imaginary constant of this kind (an integer's kind is that of `double`).
    Imaginary(FloatKind),
}

/// Value and type of a number's spelling, without sign.
pub(crate) fn number(text: &str, model: DataModel) -> Result<Number, String> {
    let clean: String = text.chars().filter(|c| *c != '\'').collect();
    let lower = clean.to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    let is_float = if hex { lower.contains(['.', 'p']) } else { lower.contains(['.', 'e']) };
    // `0b1e…` cannot be: binary digits only; but `0b` has no exponent either.
    if is_float && !lower.starts_with("0b") { floating(&lower, hex) } else { integer(&lower, text, model) }
}

fn integer(lower: &str, text: &str, model: DataModel) -> Result<Number, String> {
    let (radix, rest) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower),
    };
    let end = rest.find(|c: char| !c.is_digit(if radix == 8 { 10 } else { radix })).unwrap_or(rest.len());
    let (digits, suffix) = rest.split_at(end);
    let bad = || format!("`{text}` is not a number");
    if digits.is_empty() && radix != 8 {
        return Err(bad());
    }
    let mut value: u128 = 0;
    for c in digits.chars() {
        let digit = c.to_digit(radix).ok_or_else(bad)?;
        value = value
            .checked_mul(u128::from(radix))
            .and_then(|v| v.checked_add(u128::from(digit)))
            .ok_or_else(|| format!("`{text}` is too large for any integer type"))?;
    }
    let imaginary = suffix.ends_with(['i', 'j']);
    let suffix = suffix.trim_end_matches(['i', 'j']);
    let (unsigned, rank) = match suffix {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ul" | "lu" => (true, 1),
        "ll" => (false, 2),
        "ull" | "llu" => (true, 2),
        "wb" | "uwb" | "wbu" => return Err(format!("`{text}`: `_BitInt` is not supported")),
        _ => return Err(bad()),
    };
    if imaginary {
        return Ok(Number::Imaginary(FloatKind::Double));
    }
    let ladder = [
        (IntKind::Int, IntKind::UInt),
        (IntKind::Long, IntKind::ULong),
        (IntKind::LongLong, IntKind::ULongLong),
        (IntKind::Int128, IntKind::UInt128),
    ];
    for (signed_kind, unsigned_kind) in &ladder[rank..] {
        let signed_fits = value >> (signed_kind.bits(model) - 1) == 0;
        if !unsigned && signed_fits {
            return Ok(Number::Int(value as i128, *signed_kind));
        }
        let bits = unsigned_kind.bits(model);
        if (unsigned || radix != 10) && (bits == 128 || value >> bits == 0) {
            return Ok(Number::Int(value as i128, *unsigned_kind));
        }
    }
    Ok(Number::Int(value as i128, IntKind::UInt128))
}

fn floating(lower: &str, hex: bool) -> Result<Number, String> {
    let bad = || format!("`{lower}` is not a number");
    let (text, suffix) = FloatText::split(lower, hex).ok_or_else(bad)?;
    let imaginary = suffix.ends_with(['i', 'j']) || suffix.starts_with(['i', 'j']);
    let kind = match suffix.trim_matches(['i', 'j']) {
        "" | "f64" | "f32x" => FloatKind::Double,
        "f" | "f32" => FloatKind::Float,
        "l" | "f64x" | "w" => FloatKind::LongDouble,
        "q" | "f128" => FloatKind::Float128,
        "f16" => FloatKind::Float16,
        "df" | "dd" | "dl" => return Err(format!("`{lower}`: decimal floating point is not supported")),
        _ => return Err(bad()),
    };
    if imaginary {
        return Ok(Number::Imaginary(kind));
    }
    let (value, exact) = float::parse(&text, kind).ok_or_else(bad)?;
    Ok(Number::Float { value, exact, kind })
}

/// The prefix of a character or string literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// None: bytes of UTF-8.
    Plain,
    /// `u8`
    Utf8,
    /// `u`
    Utf16,
    /// `U`
    Utf32,
    /// `L`
    Wide,
}

impl Encoding {
    /// Splits the prefix off.
    pub(crate) fn of(text: &str) -> (Encoding, &str) {
        for (prefix, encoding) in
            [("u8", Encoding::Utf8), ("u", Encoding::Utf16), ("U", Encoding::Utf32), ("L", Encoding::Wide)]
        {
            if let Some(rest) = text.strip_prefix(prefix)
                && rest.starts_with(['"', '\''])
            {
                return (encoding, rest);
            }
        }
        (Encoding::Plain, text)
    }

    /// The element's type.
    pub(crate) fn kind(self, model: DataModel) -> IntKind {
        match self {
            Encoding::Plain | Encoding::Utf8 => IntKind::Char,
            Encoding::Utf16 => IntKind::UShort,
            Encoding::Utf32 => IntKind::UInt,
            Encoding::Wide => match model {
                DataModel::Lp64 => IntKind::Int,
                DataModel::Ilp32 => IntKind::Long,
            },
        }
    }

    /// The prefix as it is written.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Encoding::Plain => "",
            Encoding::Utf8 => "u8",
            Encoding::Utf16 => "u",
            Encoding::Utf32 => "U",
            Encoding::Wide => "L",
        }
    }
}

/// One element between the quotes: a character of the source or an escape's number.
enum Piece {
    Scalar(char),
    Code(u32),
}

/// Reads what is between two quotes; unknown escapes stand for their character, as in gcc.
fn pieces(inner: &str) -> Result<Vec<Piece>, String> {
    let mut out = Vec::new();
    let mut rest = inner.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(Piece::Scalar(c));
            continue;
        }
        let Some(escape) = rest.next() else { return Err("the escape sequence has no end".to_owned()) };
        let mut digits = |radix: u32, at_most: usize, first: u32| {
            let (mut value, mut count) = (first, 0);
            while count < at_most
                && let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix))
            {
                value = value.wrapping_mul(radix).wrapping_add(digit);
                rest.next();
                count += 1;
            }
            (value, count)
        };
        out.push(match escape {
            'n' => Piece::Code(10),
            't' => Piece::Code(9),
            'r' => Piece::Code(13),
            'a' => Piece::Code(7),
            'b' => Piece::Code(8),
            'f' => Piece::Code(12),
            'v' => Piece::Code(11),
            'e' | 'E' => Piece::Code(27),
            '\n' => continue,
            '0'..='7' => Piece::Code(digits(8, 2, escape as u32 - '0' as u32).0),
            'x' => match digits(16, usize::MAX, 0) {
                (_, 0) => return Err("`\\x` needs digits".to_owned()),
                (value, _) => Piece::Code(value),
            },
            'u' | 'U' => {
                let wanted = if escape == 'u' { 4 } else { 8 };
                let (value, count) = digits(16, wanted, 0);
                match char::from_u32(value) {
                    Some(c) if count == wanted => Piece::Scalar(c),
                    _ => return Err(format!("`\\{escape}` does not name a character")),
                }
            }
            other => Piece::Scalar(other),
        });
    }
    Ok(out)
}

/// Elements in the encoding, without terminator.
fn encode(pieces: &[Piece], encoding: Encoding) -> Vec<u32> {
    let mut out = Vec::new();
    for piece in pieces {
        match (piece, encoding) {
            (Piece::Code(code), Encoding::Plain | Encoding::Utf8) => out.push(code & 0xff),
            (Piece::Code(code), Encoding::Utf16) => out.push(code & 0xffff),
            (Piece::Code(code), Encoding::Utf32 | Encoding::Wide) => out.push(*code),
            (Piece::Scalar(c), Encoding::Plain | Encoding::Utf8) => {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(u32::from));
            }
            (Piece::Scalar(c), Encoding::Utf16) => {
                out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|u| u32::from(*u)));
            }
            (Piece::Scalar(c), Encoding::Utf32 | Encoding::Wide) => out.push(*c as u32),
        }
    }
    out
}

fn unquote(text: &str, quote: char) -> Result<&str, String> {
    text.strip_prefix(quote)
        .and_then(|t| t.strip_suffix(quote))
        .ok_or_else(|| "the literal has no closing quote".to_owned())
}

/// Value and type of a character constant. Several characters are packed as gcc does, big end first.
pub(crate) fn character(text: &str, model: DataModel) -> Result<(i128, IntKind), String> {
    let (encoding, rest) = Encoding::of(text);
    let elements = encode(&pieces(unquote(rest, '\'')?)?, encoding);
    let Some(&last) = elements.last() else { return Err("empty character constant".to_owned()) };
    let kind = encoding.kind(model);
    Ok(match encoding {
        Encoding::Plain if elements.len() == 1 => (IntKind::Char.wrap(i128::from(last), model), IntKind::Int),
        Encoding::Plain => {
            let packed = elements.iter().fold(0u32, |sum, e| (sum << 8) | e);
            (IntKind::Int.wrap(i128::from(packed), model), IntKind::Int)
        }
        Encoding::Utf8 => (i128::from(last), IntKind::UChar),
        Encoding::Utf16 | Encoding::Utf32 | Encoding::Wide => (kind.wrap(i128::from(last), model), kind),
    })
}

/// A string literal after concatenation.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct StringValue {
    /// Prefix and quoted content, the same for the same object.
    pub(crate) name: String,
    /// Type of an element.
    pub(crate) kind: IntKind,
    /// Elements with the terminator.
    pub(crate) elements: Vec<u32>,
}

/// Concatenates adjacent literals (spelled with prefix and quotes).
pub(crate) fn string(parts: &[&str], model: DataModel) -> Result<StringValue, String> {
    let mut encoding = Encoding::Plain;
    let mut all = Vec::new();
    for part in parts {
        let (own, rest) = Encoding::of(part);
        if own != Encoding::Plain {
            if encoding != Encoding::Plain && encoding != own {
                return Err("string literals of different kinds cannot be concatenated".to_owned());
            }
            encoding = own;
        }
        all.extend(pieces(unquote(rest, '"')?)?);
    }
    let mut elements = encode(&all, encoding);
    let mut name = format!("{}\"", encoding.prefix());
    for &element in &elements {
        match u8::try_from(element) {
            Ok(byte @ (b'"' | b'\\')) => name.extend(['\\', byte as char]),
            Ok(byte @ 0x20..0x7f) => name.push(byte as char),
            Ok(b'\n') => name.push_str("\\n"),
            Ok(b'\t') => name.push_str("\\t"),
            Ok(byte) => name.push_str(&format!("\\{byte:03o}")),
            Err(_) => name.push_str(&format!("\\U{element:08x}")),
        }
    }
    name.push('"');
    elements.push(0);
    Ok(StringValue { name, kind: encoding.kind(model), elements })
}
