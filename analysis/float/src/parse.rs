//! Numbers from C's spellings.

use rustc_apfloat::{Float as _, Round, ieee};

use crate::{
    Float, Format, Rounded,
    number::{in_format, rounded},
};

impl Float {
    /// The number that a constant of C without sign and suffix denotes (`1.5e3`, `0x1.8p-4`), rounded to nearest once. `None`: it is
    /// not spelled so.
    pub fn parse(text: &str, format: Format) -> Option<Rounded> {
        in_format!(format, F => {
            let result = F::from_str_r(text, Round::NearestTiesToEven).ok()?;
            Some(rounded(format, result))
        })
    }
}
