//! What a model says of a call's result.

use proofline_hir::Name;

use super::{
    Parser, argument_number,
    tokens::{ModelError, Token},
};
use crate::models::{
    effect::{Bound, Fails, Inside, Instead, MemberRange, Options, Outcome, Size, Table},
    tokens::Tokens,
};

impl Parser {
    /// What stands behind `returns`.
    pub(super) fn outcome(&mut self) -> Result<Outcome, ModelError> {
        let token = self.next("what is returned")?;
        Ok(match token.text.as_str() {
            "any" => Outcome::Any,
            "input" => Outcome::Input,
            "errno" => Outcome::Errno,
            "not-null" => Outcome::NotNull,
            "absolute" => Outcome::Absolute(self.argument()?),
            "length" => Outcome::Length(self.argument()?),
            "table" => Outcome::Table(self.table()?),
            "entry" => {
                let table = self.table()?;
                let argument = self.argument()?;
                let mask = if self.take("mask") { Some(self.number()?) } else { None };
                Outcome::Entry(table, argument, mask)
            }
            "swapped" => {
                let argument = self.argument()?;
                self.word("bits")?;
                let token = self.next("16, 32 or 64")?;
                match token.text.as_str() {
                    "16" => Outcome::Swapped(argument, 16),
                    "32" => Outcome::Swapped(argument, 32),
                    "64" => Outcome::Swapped(argument, 64),
                    other => return Err(token.error(format!("expected 16, 32 or 64, found `{other}`"))),
                }
            }
            "filled" => {
                let argument = self.argument()?;
                let fails = if self.take("always") {
                    Fails::Never
                } else if self.take("always-for") {
                    let argument = self.argument()?;
                    let low = self.number()?;
                    self.word("..")?;
                    Fails::NeverFor { argument, low, high: self.number()? }
                } else {
                    Fails::Sometimes
                };
                Outcome::Filled { argument, ranges: self.ranges()?, fails }
            }
            "line" => {
                self.word("at")?;
                let (object, _) = self.deref_argument()?;
                self.word("size")?;
                let (size, _) = self.deref_argument()?;
                Outcome::Line { object, size, may_fail: self.or_null()? }
            }
            "token" => {
                self.word("of")?;
                let is_given = self.peek().is_some_and(|token| token.text.starts_with('$'));
                let string = if is_given { Some(self.argument()?) } else { None };
                let rest = match (is_given, self.peek()) {
                    (true, Some(token)) if !token.text.starts_with('*') => None,
                    _ => Some(self.deref_argument()?.0),
                };
                self.word("by")?;
                Outcome::Token(Tokens { string, rest, set: self.argument()? })
            }
            "option" | "long-option" => Outcome::Option(Options {
                count: self.argument()?,
                array: self.argument()?,
                letters: self.argument()?,
                long: if token.text == "long-option" { Some(self.argument()?) } else { None },
            }),
            "into" => {
                let (argument, inside) = (self.argument()?, self.inside());
                Outcome::Into { argument, inside, or_null: self.or_null()? }
            }
            "element" => Outcome::Element { element: self.element()?, or_null: self.or_null()? },
            "text" => Outcome::Text { or_null: self.or_null_unless()? },
            "record" => {
                let has_texts = self.take("with-texts");
                self.word("of")?;
                let of = Name::new(&self.next("a name")?.text);
                let part_of = if self.take("in") { Some(self.argument()?) } else { None };
                let ranges = self.ranges()?;
                Outcome::Record { of, has_texts, ranges, part_of, or_null: self.or_null_unless()? }
            }
            "status" => {
                self.word("of")?;
                self.word("fresh")?;
                self.word("at")?;
                let (place, _) = self.deref_argument()?;
                Outcome::FreshAt { place, size: self.size_clause()?, may_fail: self.or_null()? }
            }
            "fresh" => {
                let size = self.size_clause()?;
                let zeroed = self.take("zeroed");
                Outcome::Fresh { size, on_heap: true, zeroed, may_fail: self.or_null()? }
            }
            "copy" => {
                let string = self.argument()?;
                let within = if self.take("within") { Some(Size::Product(self.factors()?)) } else { None };
                let characters = self.characters();
                Outcome::Copy { string, within, characters, may_fail: self.or_null()? }
            }
            "frame" => {
                Outcome::Fresh { size: self.size_clause()?, on_heap: false, zeroed: false, may_fail: false }
            }
            "reallocated" => {
                let pointer = self.argument()?;
                let size = self.size_clause()?;
                Outcome::Reallocated { pointer, size, may_fail: self.or_null()? }
            }
            text if text.starts_with('$') => {
                let argument = argument_number(&token, text)?;
                Outcome::Argument { argument, instead: self.instead()? }
            }
            _ => {
                let low = bound(&token)?;
                self.word("..")?;
                Outcome::Range(low, self.upper_bound()?)
            }
        })
    }

    /// `$3`, `$3 without 32 in $4`, `below $2`, `conversions $1`, or what a lower bound can be.
    fn upper_bound(&mut self) -> Result<Bound, ModelError> {
        let token = self.next("an upper bound")?;
        if token.text == "conversions" {
            return self.argument().map(Bound::Conversions);
        }
        if token.text == "below" {
            return self.argument().map(Bound::Below);
        }
        if !token.text.starts_with('$') {
            return bound(&token);
        }
        let argument = argument_number(&token, &token.text)?;
        if !self.take("without") {
            return Ok(Bound::Argument(argument, None));
        }
        let bits = self.number()?;
        self.word("in")?;
        Ok(Bound::Argument(argument, Some((self.argument()?, bits))))
    }

    /// `with tm_mon 0..11 tm_hour 0..23`
    pub(super) fn ranges(&mut self) -> Result<Vec<MemberRange>, ModelError> {
        let mut ranges = Vec::new();
        if !self.take("with") {
            return Ok(ranges);
        }
        loop {
            let member = Name::new(&self.next("a member")?.text);
            let low = self.number()?;
            self.word("..")?;
            ranges.push(MemberRange { member, low, high: self.number()? });
            // What comes next is another member, unless it ends here.
            if self.peek().is_none_or(|token| token.starts_entry || matches!(token.text.as_str(), ";" | "or"))
            {
                return Ok(ranges);
            }
        }
    }

    fn table(&mut self) -> Result<Table, ModelError> {
        let token = self.next("a table")?;
        match token.text.as_str() {
            "classes" => Ok(Table::Classes),
            "lower" => Ok(Table::Lower),
            "upper" => Ok(Table::Upper),
            other => Err(token.error(format!("expected a table (classes, lower, upper), found `{other}`"))),
        }
    }

    /// `or null`, `or any`, `or null or new`
    /// Whether an address is in a string, not only in an object.
    pub(super) fn inside(&mut self) -> Inside {
        if self.take("string") { Inside::String } else { Inside::Object }
    }

    fn instead(&mut self) -> Result<Instead, ModelError> {
        if !self.take("or") {
            return Ok(Instead::Nothing);
        }
        if self.take("any") {
            return Ok(Instead::Any);
        }
        if self.take("text") {
            let within = if self.take("within") { Some(self.argument()?) } else { None };
            return Ok(Instead::Text { within });
        }
        self.word("null")?;
        if !self.take("or") {
            return Ok(Instead::Null);
        }
        self.word("new")?;
        Ok(Instead::NullOrNew)
    }
}

fn bound(token: &Token) -> Result<Bound, ModelError> {
    Ok(match token.text.as_str() {
        "INT_MAX" => Bound::Number(i128::from(i32::MAX)),
        "INT_MIN" => Bound::Number(i128::from(i32::MIN)),
        "LONG_MAX" => Bound::LongMax,
        "LONG_MIN" => Bound::LongMin,
        "PTRDIFF_MAX" => Bound::PtrdiffMax,
        "SIZE_MAX" => Bound::SizeMax,
        text => match text.parse() {
            Ok(number) => Bound::Number(number),
            Err(_) => {
                return Err(token.error(format!(
                    "expected a result (any, input, errno, not-null, absolute, length, table, entry, swapped, filled, line, option, into, element, text, record, fresh, status, copy, frame, reallocated, \
                     an argument) or a range such as `0..INT_MAX`, found `{text}`"
                )));
            }
        },
    })
}
