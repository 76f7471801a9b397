//! What a model asks of arguments, and where strings go.

use super::{Parser, tokens::ModelError};
use proofline_hir::Name;

use crate::models::{
    effect::{Factor, Size},
    needs::Need,
    strings::{End, Put},
    time::Members,
};

const EXPECTED: &str =
    "bytes, until, values, members, string, room, apart, printed, stream, over or not-zero";

impl Parser {
    /// `$1 bytes $2 * 4`, `$1 bytes 16 where $2 10`, `$1 bytes *$2`, `$1 values $2 * 4`, `$1 string [wide] [within $2]`, `[or null]` behind these; `$1 room for $2 $3 [within $4] [wide]` or `for input`,
    /// `$1 apart from $2 bytes $3`, `$1 printed from $2`, `$1 stream`, `$1 not-zero`, `$1 over $2`, `$1 members tm_sec tm_min`, `$1 members by $2`, `$1 until $2 [behind $3] within $4`.
    pub(super) fn need(&mut self) -> Result<Need, ModelError> {
        let pointer = self.argument()?;
        let token = self.next(EXPECTED)?;
        Ok(match token.text.as_str() {
            "bytes" if self.peek().is_some_and(|token| token.text.starts_with('*')) => {
                Need::BytesAt { pointer, length: self.deref_argument()?.0 }
            }
            "bytes" => {
                let size = self.factors()?;
                if let ([Factor::Number(bytes)], true) = (&size[..], self.take("where")) {
                    let bytes = *bytes;
                    let argument = self.argument()?;
                    return Ok(Need::BytesWhere { pointer, bytes, argument, constant: self.number()? });
                }
                Need::Bytes { pointer, size: Size::Product(size), or_null: self.or_null()? }
            }
            "until" => {
                let byte = self.argument()?;
                let from = if self.take("behind") { self.argument()? } else { pointer };
                self.word("within")?;
                Need::Until { pointer, from, byte, within: Size::Product(self.factors()?) }
            }
            "values" => {
                Need::Values { pointer, size: Size::Product(self.factors()?), or_null: self.or_null()? }
            }
            "string" => {
                let characters = self.characters();
                let within = if self.take("within") { Some(Size::Product(self.factors()?)) } else { None };
                Need::String { pointer, within, characters, or_null: self.or_null()? }
            }
            "room" => {
                self.word("for")?;
                if self.take("input") {
                    return Ok(Need::Line { pointer });
                }
                let mut strings = Vec::new();
                while self.peek().is_some_and(|token| token.text.starts_with('$')) {
                    strings.push(self.argument()?);
                }
                let within = if self.take("within") { Some(Size::Product(self.factors()?)) } else { None };
                Need::Room { pointer, strings, within, characters: self.characters() }
            }
            "apart" => {
                self.word("from")?;
                let from = self.argument()?;
                self.word("bytes")?;
                Need::Apart { to: pointer, from, size: Size::Product(self.factors()?) }
            }
            "printed" => {
                self.word("from")?;
                Need::Printed { format: pointer, first: self.argument()? }
            }
            "members" if self.take("by") => {
                Need::Members { pointer, members: Members::OfTime { format: self.argument()? } }
            }
            "members" => {
                let mut names = Vec::new();
                while self.peek().is_some_and(|token| !token.starts_entry && token.text != ";") {
                    names.push(Name::new(&self.next("a member")?.text));
                }
                Need::Members { pointer, members: Members::Listed(names) }
            }
            "stream" => Need::Stream { pointer },
            "not-zero" => Need::NotZero { number: pointer },
            "over" => Need::Quotient { dividend: pointer, divisor: self.argument()? },
            other => {
                return Err(token.error(format!("expected {EXPECTED}, found `{other}`")));
            }
        })
    }

    /// `$1 [behind] [within $3 [padded|cut]] [wide]`
    pub(super) fn put(&mut self, from: usize) -> Result<Put, ModelError> {
        let to = self.argument()?;
        let is_behind = self.take("behind");
        let within = if self.take("within") { Some(Size::Product(self.factors()?)) } else { None };
        let end = if self.take("padded") {
            End::Padded
        } else if self.take("cut") {
            End::Cut
        } else {
            End::Zero
        };
        Ok(Put { to, from, is_behind, within, end, characters: self.characters() })
    }
}
