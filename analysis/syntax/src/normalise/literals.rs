//! Numbers: separators, imaginary parts and suffixes that the grammar does not know.

use super::Normaliser;
use crate::marks;
use crate::token::{Token, TokenKind};

impl Normaliser<'_> {
    /// A number in a form that the grammar reads.
    pub(super) fn number(&mut self, token: Token) {
        let text: String = self.texts.get(token.text).chars().filter(|c| *c != '\'').collect();
        let origin = self.at;
        if self.digit_separators() {
            return;
        }
        let Some(Number { digits, suffix }) = Number::split(&text) else {
            self.error(format!("`{text}` is not a number"), token.expansion);
            self.copy_as("0");
            return;
        };
        let lower = suffix.to_ascii_lowercase();
        let real: String = lower.chars().filter(|c| !matches!(c, 'i' | 'j')).collect();
        let imaginary = real.len() != lower.len();
        let Some(meaning) = Suffix::of(&real) else {
            self.error(format!("invalid suffix `{suffix}` of a number"), token.expansion);
            self.copy_as(digits);
            return;
        };
        let digits = match digits.strip_prefix("0x.").or_else(|| digits.strip_prefix("0X.")) {
            Some(fraction) => format!("0x0.{fraction}"),
            None => digits.to_owned(),
        };
        if imaginary {
            self.insert(origin, &[marks::IMAGINARY, "("]);
        }
        match meaning {
            Suffix::Plain => {
                let number = self.texts.intern(&format!("{digits}{real}"));
                self.push(TokenKind::Number, number, origin);
            }
            Suffix::Type(name) => {
                self.insert(origin, &["(", "(", name, ")"]);
                let number = self.texts.intern(&digits);
                self.push(TokenKind::Number, number, origin);
                self.insert(origin, &[")"]);
            }
            Suffix::BitInt => {
                self.error("unsupported C23 constant of type `_BitInt`", token.expansion);
                self.insert(origin, &[&digits]);
            }
        }
        if imaginary {
            self.insert(origin, &[")"]);
        }
        self.at += 1;
    }
}

impl Normaliser<'_> {
    /// `1'000'000` before C23, where it is a number, a character constant and a number.
    fn digit_separators(&mut self) -> bool {
        let start = self.at;
        let mut end = start + 1;
        let touches = |at: usize| {
            let (Some(one), Some(next)) = (self.tokens.get(at - 1), self.tokens.get(at)) else {
                return false;
            };
            let literal = matches!(next.kind, TokenKind::Char | TokenKind::Number | TokenKind::Other);
            literal && one.spelling.file == next.spelling.file && one.spelling.end == next.spelling.start
        };
        while touches(end) {
            end += 1;
        }
        if end == start + 1 {
            return false;
        }
        let span = self.span_of(start, end);
        self.error("digit separators are of C23, -std=c2x allows them", span);
        self.copy_as("0");
        self.at = end;
        true
    }
}

/// A number taken apart.
struct Number<'a> {
    /// Prefix, digits and exponent.
    digits: &'a str,
    /// The letters behind them.
    suffix: &'a str,
}

impl<'a> Number<'a> {
    /// `None` if this is a preprocessing number but no number.
    fn split(text: &'a str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let (radix, prefix) = match lower.get(..2) {
            Some("0x") => (16, 2),
            Some("0b") => (2, 2),
            _ => (10, 0),
        };
        let bytes = lower.as_bytes();
        let run = |mut at: usize, radix: u32| {
            while bytes.get(at).is_some_and(|byte| (*byte as char).is_digit(radix)) {
                at += 1;
            }
            at
        };
        let whole = run(prefix, radix);
        let mut end = whole;
        let mut any = whole > prefix;
        if bytes.get(end) == Some(&b'.') && radix != 2 {
            end = run(end + 1, radix);
            any |= end > whole + 1;
        }
        if !any {
            return None;
        }
        let marker = if radix == 16 { b'p' } else { b'e' };
        if bytes.get(end) == Some(&marker) && radix != 2 {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = run(end + 1 + sign, 10);
            if exponent == end + 1 + sign {
                return None;
            }
            end = exponent;
        } else if radix == 16 && end > whole {
            // A hexadecimal fraction needs an exponent.
            return None;
        }
        let suffix = &text[end..];
        suffix.chars().all(|c| c.is_ascii_alphanumeric()).then_some(Self { digits: &text[..end], suffix })
    }
}

/// What a suffix without its imaginary unit means.
enum Suffix {
    /// The grammar reads it.
    Plain,
    /// The type it gives.
    Type(&'static str),
    /// An integer of exact width.
    BitInt,
}

impl Suffix {
    fn of(lower: &str) -> Option<Suffix> {
        Some(match lower {
            "" | "u" | "l" | "ul" | "lu" | "ll" | "ull" | "llu" | "f" | "d" => Suffix::Plain,
            "f16" => Suffix::Type("_Float16"),
            "f32" => Suffix::Type("_Float32"),
            "f64" => Suffix::Type("_Float64"),
            "f128" => Suffix::Type("_Float128"),
            "f32x" => Suffix::Type("_Float32x"),
            "f64x" => Suffix::Type("_Float64x"),
            "q" => Suffix::Type("__float128"),
            "w" => Suffix::Type("__float80"),
            "df" => Suffix::Type("_Decimal32"),
            "dd" => Suffix::Type("_Decimal64"),
            "dl" => Suffix::Type("_Decimal128"),
            "bf16" => Suffix::Type("__bf16"),
            "wb" | "uwb" | "wbu" => Suffix::BitInt,
            _ => return None,
        })
    }
}
