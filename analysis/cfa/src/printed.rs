//! What `printf` makes of an integer, a character or a `double` (C11 7.21.6.1), rounded to the nearest. Knows numbers only, no memory.

/// How a number is printed: flags, width, precision and letter of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conversion {
    /// `d`, `u`, `x`, `X`, `o` or `c`; of a `double` `f`, `F`, `e`, `E`, `g` or `G`.
    pub letter: u8,
    /// `-`
    pub is_left: bool,
    /// `0`
    pub is_zeroed: bool,
    /// `+`
    pub is_signed: bool,
    /// A blank.
    pub is_spaced: bool,
    /// `#`
    pub is_alternative: bool,
    /// At least so many characters.
    pub width: u16,
    /// At least so many digits; of a `double` so many behind the point, with `g` in all.
    pub precision: Option<u16>,
}

impl Conversion {
    /// As one number, so that it may stand beside the values that a quantity is computed of.
    pub fn to_number(self) -> i128 {
        let flags = [self.is_left, self.is_zeroed, self.is_signed, self.is_spaced, self.is_alternative];
        let flags = flags.iter().rev().fold(0, |number, flag| number * 2 + i128::from(*flag));
        let precision = self.precision.map_or(0, |precision| i128::from(precision) + 1);
        i128::from(self.letter) + (flags << 8) + (i128::from(self.width) << 16) + (precision << 32)
    }

    /// The conversion of the number; `None` if there is none.
    pub fn from_number(number: i128) -> Option<Conversion> {
        let flag = |at: u32| number >> (8 + at) & 1 == 1;
        let precision = number >> 32;
        let conversion = Conversion {
            letter: u8::try_from(number & 0xff).ok()?,
            is_left: flag(0),
            is_zeroed: flag(1),
            is_signed: flag(2),
            is_spaced: flag(3),
            is_alternative: flag(4),
            width: u16::try_from(number >> 16 & 0xffff).ok()?,
            precision: if precision == 0 { None } else { Some(u16::try_from(precision - 1).ok()?) },
        };
        (conversion.to_number() == number).then_some(conversion)
    }

    /// The characters.
    pub fn print(self, value: i128) -> Vec<u8> {
        if self.letter == b'c' {
            let mut text = vec![value as u8];
            let at = if self.is_left { text.len() } else { 0 };
            text.splice(at..at, vec![b' '; usize::from(self.width).saturating_sub(1)]);
            return text;
        }
        let magnitude = value.unsigned_abs();
        let mut digits = match (self.letter, self.precision, magnitude) {
            (_, Some(0), 0) => String::new(),
            (b'x', ..) => format!("{magnitude:x}"),
            (b'X', ..) => format!("{magnitude:X}"),
            (b'o', ..) => format!("{magnitude:o}"),
            _ => magnitude.to_string(),
        };
        let least = usize::from(self.precision.unwrap_or(0));
        digits.insert_str(0, &"0".repeat(least.saturating_sub(digits.len())));
        if self.letter == b'o' && self.is_alternative && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        let is_decimal = self.letter == b'd';
        let sign = match self.letter {
            b'd' if value < 0 => "-",
            b'd' if self.is_signed => "+",
            b'd' if self.is_spaced => " ",
            b'x' if self.is_alternative && magnitude != 0 => "0x",
            b'X' if self.is_alternative && magnitude != 0 => "0X",
            _ => "",
        };
        debug_assert!(is_decimal || value >= 0);
        self.in_field(sign, &digits, self.precision.is_none())
    }

    /// The characters of a `double`.
    pub fn print_float(self, value: f64) -> Vec<u8> {
        let sign = match (value.is_sign_negative(), self.is_signed, self.is_spaced) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        };
        let magnitude = value.abs();
        let precision = usize::from(self.precision.unwrap_or(6));
        let digits = match self.letter.to_ascii_lowercase() {
            _ if magnitude.is_nan() => "nan".to_owned(),
            _ if magnitude.is_infinite() => "inf".to_owned(),
            b'f' => self.fixed(magnitude, precision),
            b'e' => self.scientific(magnitude, precision),
            _ => self.shorter(magnitude, precision.max(1)),
        };
        let digits = if self.letter.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        self.in_field(sign, &digits, magnitude.is_finite())
    }

    fn fixed(self, magnitude: f64, precision: usize) -> String {
        let point = if self.is_alternative && precision == 0 { "." } else { "" };
        format!("{magnitude:.precision$}{point}")
    }

    fn scientific(self, magnitude: f64, precision: usize) -> String {
        let (digits, exponent) = scientific(magnitude, precision);
        let point = if self.is_alternative && precision == 0 { "." } else { "" };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}{point}e{sign}{:02}", exponent.abs())
    }

    /// `%g`: so many digits that count, none of them a 0 at the end.
    fn shorter(self, magnitude: f64, precision: usize) -> String {
        let (_, exponent) = scientific(magnitude, precision - 1);
        let text = match usize::try_from(exponent + 4) {
            Ok(shifted) if shifted < precision + 4 => self.fixed(magnitude, precision + 3 - shifted),
            Ok(_) | Err(_) => self.scientific(magnitude, precision - 1),
        };
        let (digits, exponent) = match text.find('e') {
            Some(at) => text.split_at(at),
            None => (&text[..], ""),
        };
        if self.is_alternative || !digits.contains('.') {
            return text;
        }
        format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    }

    fn in_field(self, sign: &str, digits: &str, may_be_zeroed: bool) -> Vec<u8> {
        let missing = usize::from(self.width).saturating_sub(sign.len() + digits.len());
        let text = if self.is_left {
            format!("{sign}{digits}{}", " ".repeat(missing))
        } else if self.is_zeroed && may_be_zeroed {
            format!("{sign}{}{digits}", "0".repeat(missing))
        } else {
            format!("{}{sign}{digits}", " ".repeat(missing))
        };
        text.into_bytes()
    }

    /// Least and most characters for numbers between two bounds.
    pub fn lengths(self, low: i128, high: i128) -> (i128, i128) {
        // On each side of 0 a number further away from it has no fewer digits.
        let mut values = vec![low, high];
        values.extend([-1, 0].iter().filter(|value| (low..=high).contains(*value)));
        let lengths = values.into_iter().map(|value| self.print(value).len() as i128);
        lengths.fold((i128::MAX, 0), |(least, most), length| (least.min(length), most.max(length)))
    }
}

/// Digits, one of them before the point, and the exponent.
fn scientific(magnitude: f64, precision: usize) -> (String, i32) {
    let text = format!("{magnitude:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}
