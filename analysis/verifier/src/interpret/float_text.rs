//! Floating numbers in texts, as `strtod` reads them (C11 7.22.1.3), in the locale that programs start with. Must not know memory.

use proofline_cfa::{Float, FloatType};

/// A number as it is spelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spelling {
    is_negative: bool,
    /// Without sign, as a constant of C; `None`: there is no number, which gives 0.
    constant: Option<String>,
}

impl Spelling {
    /// Its value, rounded once.
    pub(super) fn number(&self, format: FloatType) -> Option<Float> {
        let Some(constant) = &self.constant else { return Some(Float::zero(format)) };
        let number = Float::parse(constant, format)?.value;
        Some(if self.is_negative { number.negated() } else { number })
    }
}

/// The number that a text begins with, and how many characters belong to it or stand before it. `None`: infinities and what is no number are not
/// read here.
pub(super) fn read(text: &[u8]) -> Option<(Spelling, usize)> {
    let nothing = (Spelling { is_negative: false, constant: None }, 0);
    let is_space = |c: &u8| c.is_ascii_whitespace() || *c == 0x0b;
    let start = text.iter().position(|c| !is_space(c)).unwrap_or(text.len());
    let is_negative = text.get(start) == Some(&b'-');
    let signed = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let rest = &text[signed..];
    if [b"inf", b"nan"].iter().any(|name| rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(*name)))
    {
        return None;
    }
    let hexadecimal = || match rest {
        [b'0', b'x' | b'X', digits @ ..] => mantissa(digits, u8::is_ascii_hexdigit),
        _ => None,
    };
    let (base, exponents, prefix, mantissa) = match hexadecimal() {
        Some(mantissa) => ("0x", b"pP", 2, mantissa),
        None => match mantissa(rest, u8::is_ascii_digit) {
            Some(mantissa) => ("", b"eE", 0, mantissa),
            None => return Some(nothing),
        },
    };
    let mut length = prefix + mantissa.length;
    let exponent = exponent(&rest[length..], exponents);
    length += exponent.map_or(0, <[u8]>::len);
    let exponent = exponent.and_then(|digits| std::str::from_utf8(&digits[1..]).ok()).unwrap_or("0");
    let letter = char::from(exponents[0]);
    let constant = format!("{base}{}.{}{letter}{exponent}", mantissa.whole, mantissa.part);
    Some((Spelling { is_negative, constant: Some(constant) }, signed + length))
}

/// Digits around a point, at least one.
struct Mantissa {
    whole: String,
    part: String,
    /// Characters.
    length: usize,
}

fn mantissa(text: &[u8], is_digit: impl Fn(&u8) -> bool) -> Option<Mantissa> {
    let digits = |from: usize| -> String {
        text.get(from..).into_iter().flatten().take_while(|c| is_digit(c)).map(|c| char::from(*c)).collect()
    };
    let whole = digits(0);
    let has_point = text.get(whole.len()) == Some(&b'.');
    let part = if has_point { digits(whole.len() + 1) } else { String::new() };
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let length = whole.len() + usize::from(has_point) + part.len();
    let or_zero = |digits: String| if digits.is_empty() { "0".to_owned() } else { digits };
    Some(Mantissa { whole: or_zero(whole), part: or_zero(part), length })
}

/// A letter, perhaps a sign, and digits; without digits it is no exponent.
fn exponent<'t>(text: &'t [u8], letters: &[u8]) -> Option<&'t [u8]> {
    text.first().filter(|letter| letters.contains(letter))?;
    let signed = 1 + usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    let digits = text.get(signed..)?.iter().take_while(|c| c.is_ascii_digit()).count();
    (digits > 0).then(|| &text[..signed + digits])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers() {
        // What glibc's strtod gives, and how many characters it reads.
        let known = [
            ("", 0.0, 0),
            ("1", 1.0, 1),
            (" \t-1.5e3x", -1500.0, 8),
            (".5", 0.5, 2),
            ("5.", 5.0, 2),
            (".", 0.0, 0),
            ("-", 0.0, 0),
            ("-.e1", 0.0, 0),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            ("1e+2", 100.0, 4),
            ("1.2.3", 1.2, 3),
            ("0x", 0.0, 1),
            ("0x.p1", 0.0, 1),
            ("0x1.8p-4", 0.09375, 8),
            ("+0x1F", 31.0, 5),
            ("0x1p", 1.0, 3),
            ("e5", 0.0, 0),
            ("-0", -0.0, 2),
            ("0.1", 0.1, 3),
            ("123456789012345678901234567890", 123_456_789_012_345_678_901_234_567_890.0, 30),
            ("1e400", f64::INFINITY, 5),
            ("1e-400", 0.0, 6),
            ("4.9e-324", 5e-324, 8),
        ];
        for (text, value, length) in known {
            let (spelling, read) = read(text.as_bytes()).expect(text);
            assert_eq!(read, length, "{text}");
            let number = spelling.number(FloatType::F64).expect(text);
            assert_eq!(number.to_bits(), u128::from(f64::to_bits(value)), "{text}");
        }
        assert_eq!(read(b"Infinity"), None);
        assert_eq!(read(b"-nan"), None);
    }

    #[test]
    fn a_number_is_rounded_once() {
        // Halfway between two numbers of single precision, but for a last digit that double precision does not keep.
        let text = "1.000000059604644775390625000000000000000000000001";
        let (spelling, _) = read(text.as_bytes()).expect("a number");
        let single = spelling.number(FloatType::F32).expect("a number");
        assert_eq!(single.to_bits(), u128::from(text.parse::<f32>().expect("a number").to_bits()));
    }
}
