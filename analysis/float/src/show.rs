//! Numbers for people.

use std::fmt;

use rustc_apfloat::{Float as _, ieee};

use crate::{Float, Format, number::in_format};

impl fmt::Display for Float {
    /// The shortest decimal that reads back as the same number: what Rust prints of the `f64` that equals it (`0.5`, `1e100`, `inf`,
    /// `NaN`), and of numbers that no `f64` equals as many digits as their format needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_f64() {
            Some(value) => fmt::Debug::fmt(&value, f),
            None => in_format!(self.format(), F => fmt::Display::fmt(&F::from_bits(self.to_bits()), f)),
        }
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{:?}", self.format())
    }
}
