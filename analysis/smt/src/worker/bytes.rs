//! Numbers and texts as bytes. What is read comes from another process: nothing is believed, and `None` is garbage.

use num_bigint::BigInt;

/// Bytes to be sent.
#[derive(Debug, Default)]
pub(super) struct Output(pub(super) Vec<u8>);

impl Output {
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    /// Seven bits a byte, the lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(super) fn integer(&mut self, integer: &BigInt) {
        let bytes = integer.to_signed_bytes_le();
        self.count(bytes.len());
        self.0.extend_from_slice(&bytes);
    }

    /// `None` is 0, any number one more.
    pub(super) fn optional(&mut self, number: Option<u32>) {
        self.number(number.map_or(0, |number| u64::from(number) + 1));
    }
}

/// Bytes that came.
#[derive(Debug)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// How many things follow, each of at least one byte.
    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())
    }

    pub(super) fn many<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.count()?).map(|_| one(self)).collect()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn integer(&mut self) -> Option<BigInt> {
        self.bytes().map(BigInt::from_signed_bytes_le)
    }

    pub(super) fn optional(&mut self) -> Option<Option<u32>> {
        match self.number()? {
            0 => Some(None),
            number => Some(Some(u32::try_from(number - 1).ok()?)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
