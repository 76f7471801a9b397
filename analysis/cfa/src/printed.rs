//! What `printf` makes of an integer or a character (C11 7.21.6.1). Knows numbers only, no memory.

/// How a number is printed: flags, width, precision and letter of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Conversion {
    /// `d`, `u`, `x`, `X`, `o` or `c`.
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
    /// At least so many digits.
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
        let width = usize::from(self.width);
        if self.letter == b'c' {
            let mut text = vec![value as u8];
            let at = if self.is_left { text.len() } else { 0 };
            text.splice(at..at, vec![b' '; width.saturating_sub(1)]);
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
        let missing = width.saturating_sub(sign.len() + digits.len());
        let text = if self.is_left {
            format!("{sign}{digits}{}", " ".repeat(missing))
        } else if self.is_zeroed && self.precision.is_none() {
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
