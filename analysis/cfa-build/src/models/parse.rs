//! Reads model files. The grammar stands at the top of `models/libc.model`; every message says what was expected and where.

mod needs;
mod returns;
mod tokens;

use std::sync::Arc;

use proofline_cfa::Quantity;
use proofline_hir::Name;

pub use self::tokens::ModelError;
use self::tokens::{Token, tokens};
use super::{
    Library, Model,
    effect::{
        Characters, Done, Effect, Element, Factor, Given, OrNull, Passed, Print, Room, Scan, Size,
        Termination,
    },
    needs::Need,
};

pub(super) fn library(text: &str) -> Result<Library, ModelError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut library = Library::default();
    while parser.at < parser.tokens.len() {
        let (names, model) = parser.entry()?;
        let model = Arc::new(model);
        for (name, token) in names {
            if model.object {
                library.objects.insert(Name::new(&name));
                continue;
            }
            let (table, key) = match name.strip_suffix('*') {
                Some(prefix) => (&mut library.prefixes, Name::new(prefix)),
                None => (&mut library.exact, Name::new(&name)),
            };
            if table.insert(key, model.clone()).is_some() {
                return Err(token.error(format!("`{name}` has a model already")));
            }
        }
    }
    Ok(library)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn entry(&mut self) -> Result<(Vec<(String, Token)>, Model), ModelError> {
        let mut names = Vec::new();
        loop {
            let token = self.next("the name of a function")?;
            if names.is_empty() && !token.starts_entry {
                return Err(token.error("an entry begins at the start of a line".to_owned()));
            }
            match token.text.as_str() {
                ":" if !names.is_empty() => break,
                "," => continue,
                name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                    names.push((name.to_owned(), token.clone()));
                }
                other => {
                    return Err(
                        token.error(format!("expected the name of a function or `:`, found `{other}`"))
                    );
                }
            }
        }
        let mut model = Model::default();
        loop {
            self.effect(&mut model)?;
            match self.peek() {
                Some(token) if !token.starts_entry => {
                    if token.text != ";" {
                        return Err(
                            token.error(format!("expected `;` between effects, found `{}`", token.text))
                        );
                    }
                    self.at += 1;
                    // A last semicolon is fine.
                    if self.peek().is_none_or(|token| token.starts_entry) {
                        break;
                    }
                }
                _ => break,
            }
        }
        let told = !model.effects.is_empty() || model.result.is_some();
        if model.pure && !model.effects.is_empty() {
            let (_, token) = &names[0];
            return Err(token.error("a pure function has no effects".to_owned()));
        }
        let told = told || !model.needs.is_empty();
        if model.noreturn && model.result.is_some() || model.keep && told {
            let (_, token) = &names[0];
            return Err(token.error("these effects contradict each other".to_owned()));
        }
        Ok((names, model))
    }

    fn effect(&mut self, model: &mut Model) -> Result<(), ModelError> {
        let token = self.next("an effect")?;
        match token.text.as_str() {
            "nothing" => {}
            "pure" => (model.pure, model.quiet) = (true, true),
            "quiet" => model.quiet = true,
            "terminates" | "reads-line" => {
                let to = self.argument()?;
                self.word("within")?;
                let within = Size::Product(self.factors()?);
                let (characters, is_line) = (self.characters(), token.text == "reads-line");
                let done = self.done()?;
                model.terminates = Some(Termination { to, within, characters, is_line, done });
            }
            "needs" => model.needs.push(self.need()?),
            "changes-locale" => model.changes_locale = true,
            "computed" => model.computed = true,
            "noreturn" => model.noreturn = true,
            "ends" => (model.ends, model.noreturn) = (true, true),
            "keep" => model.keep = true,
            "object" => model.object = true,
            "clobbers" => model.effects.push(Effect::Clobbers),
            "unsupported" => {
                model.unsupported = Some((self.quoted()?, self.unless_constant()?));
            }
            "unsupported-program" => {
                model.unsupported_program = Some((self.quoted()?, self.unless_constant()?));
            }
            "assumes" => model.effects.push(Effect::Assumes(self.argument()?)),
            "frees" => model.effects.push(Effect::Frees(self.argument()?)),
            "writes" => {
                let effect = self.writes()?;
                model.effects.push(effect);
            }
            "changes" if self.take("last") => {
                let count = self.number()?;
                self.word("of")?;
                model.effects.push(Effect::ChangesEnd { string: self.argument()?, count });
            }
            "may-write" => {
                let (to, size) = (self.argument()?, self.size_clause()?);
                model.effects.push(Effect::MayWrite(to, size));
            }
            "changes" => {
                let (to, size) = (self.argument()?, self.size_clause()?);
                model.effects.push(Effect::Changes(to, size));
            }
            "gives" if self.peek().is_some_and(|token| token.text.starts_with('*')) => {
                let (pointer, _) = self.deref_argument()?;
                let ranges = self.ranges()?;
                let where_zero = self.done()? == Done::Zero;
                model.given.push(Given { pointer, size: Size::Any, ranges, is_counted: false, where_zero });
            }
            "gives" => {
                let pointer = self.argument()?;
                self.word("size")?;
                let is_counted = self.take("result");
                let size = match is_counted && !self.take("*") {
                    true => Size::Product(vec![Factor::Number(1)]),
                    false => Size::Product(self.factors()?),
                };
                let where_zero = self.done()? == Done::Zero;
                model.given.push(Given { pointer, size, ranges: Vec::new(), is_counted, where_zero });
            }
            "scans" => {
                self.word("to")?;
                let first = self.argument()?;
                self.word("by")?;
                let format = self.argument()?;
                let string = if self.take("from") { Some(self.argument()?) } else { None };
                model.scans = Some(Scan { format, first, string });
            }
            "prints" => {
                self.word("at")?;
                let is_new = self.take("new");
                let to = if is_new { self.deref_argument()?.0 } else { self.argument()? };
                let within = if self.take("within") { Some(Size::Product(self.factors()?)) } else { None };
                self.word("by")?;
                let format = self.argument()?;
                let first = if self.take("from") { Some(self.argument()?) } else { None };
                let room = match within {
                    _ if is_new => Room::New { may_fail: self.or_null()? },
                    Some(size) => Room::Within(size),
                    None => Room::Enough,
                };
                model.prints = Some(Print { to, room, format, first });
            }
            "puts" => {
                let from = self.argument()?;
                self.word("at")?;
                let put = self.put(from)?;
                model.needs.push(Need::PutApart(put.clone()));
                model.effects.push(Effect::Puts(put));
            }
            "format" => {
                let format = self.argument()?;
                self.word("first")?;
                let first = self.argument()?;
                model.effects.push(Effect::Format { format, first });
            }
            "copies" => {
                let to = self.argument()?;
                self.word("from")?;
                let from = self.argument()?;
                let size = self.size_clause()?;
                model.effects.push(Effect::Copies(to, from, size));
            }
            "fills" => {
                let to = self.argument()?;
                let characters = self.characters();
                self.word("with")?;
                let byte = self.factor()?;
                let size = self.size_clause()?;
                model.effects.push(Effect::Fills(to, byte, size, characters));
            }
            "points" => {
                let (place, _) = self.deref_argument()?;
                self.word("into")?;
                let object = self.argument()?;
                model.effects.push(Effect::Points(place, object, self.inside()));
            }
            "calls" => {
                let function = self.argument()?;
                let passed = self.passed()?;
                let changed = match self.take("changing") {
                    true => Some((self.argument()?, self.size_clause()?)),
                    false => None,
                };
                model.effects.push(Effect::Calls(function, passed, changed));
            }
            "exactly" => {
                let token = self.next("a quantity")?;
                let Some((quantity, count)) = Quantity::by_name(&token.text.replace('-', "_")) else {
                    let names: Vec<String> =
                        Quantity::ALL.iter().map(|(name, ..)| name.replace('_', "-")).collect();
                    return Err(token.error(format!(
                        "`{}` is no quantity; these are: {}",
                        token.text,
                        names.join(", ")
                    )));
                };
                let arguments = (0..count).map(|_| self.argument()).collect::<Result<_, _>>()?;
                model.exactly = Some((quantity, arguments));
            }
            "returns" => {
                if model.result.is_some() {
                    return Err(token.error("the result was described already".to_owned()));
                }
                model.result = Some(self.outcome()?);
            }
            other => return Err(token.error(format!("`{other}` is no effect; {EFFECTS}"))),
        }
        Ok(())
    }

    fn characters(&mut self) -> Characters {
        if self.take("wide") { Characters::Wide } else { Characters::Bytes }
    }

    fn writes(&mut self) -> Result<Effect, ModelError> {
        if self.take("variable") {
            self.word("from")?;
            return Ok(Effect::WritesVariable(self.argument()?));
        }
        if self.take("record") {
            self.word("of")?;
            return Ok(Effect::WritesRecord(Name::new(&self.next("a name")?.text)));
        }
        if self.take("object") {
            return Ok(Effect::WritesGlobal(Name::new(&self.next("a name")?.text)));
        }
        if self.peek().is_some_and(|token| token.text.starts_with('*')) {
            return Ok(Effect::WritesObject(self.deref_argument()?.0));
        }
        let to = self.argument()?;
        Ok(Effect::Writes(to, self.size_clause()?))
    }

    /// `where positive`, `where zero`
    fn done(&mut self) -> Result<Done, ModelError> {
        if !self.take("where") {
            return Ok(Done::NotFailed);
        }
        let token = self.next("positive or zero")?;
        match token.text.as_str() {
            "positive" => Ok(Done::Positive),
            "zero" => Ok(Done::Zero),
            other => Err(token.error(format!("expected positive or zero, found `{other}`"))),
        }
    }

    fn number(&mut self) -> Result<i128, ModelError> {
        let token = self.next("a number")?;
        let number = token.text.parse();
        number.map_err(|_| token.error(format!("expected a number, found `{}`", token.text)))
    }

    fn unless_constant(&mut self) -> Result<Option<usize>, ModelError> {
        if !self.take("unless") {
            return Ok(None);
        }
        self.word("constant")?;
        self.argument().map(Some)
    }

    fn or_null(&mut self) -> Result<bool, ModelError> {
        if !self.take("or") {
            return Ok(false);
        }
        self.word("null")?;
        Ok(true)
    }

    /// The same, and `unless *$1 within 0..9`.
    fn or_null_unless(&mut self) -> Result<OrNull, ModelError> {
        if !self.or_null()? {
            return Ok(OrNull::Never);
        }
        if !self.take("unless") {
            return Ok(OrNull::Perhaps);
        }
        let (argument, _) = self.deref_argument()?;
        self.word("within")?;
        let low = self.number()?;
        self.word("..")?;
        Ok(OrNull::Unless { argument, low, high: self.number()? })
    }

    /// `size $1 * $2`, `size ?`; nothing: not known.
    fn size_clause(&mut self) -> Result<Size, ModelError> {
        if !self.take("size") {
            return Ok(Size::Any);
        }
        if self.take("?") {
            return Ok(Size::Any);
        }
        self.factors().map(Size::Product)
    }

    fn factors(&mut self) -> Result<Vec<Factor>, ModelError> {
        let mut factors = Vec::new();
        loop {
            factors.push(self.factor()?);
            if !self.take("*") {
                return Ok(factors);
            }
        }
    }

    fn factor(&mut self) -> Result<Factor, ModelError> {
        let token = self.next("a number or an argument")?;
        Ok(match token.text.parse() {
            Ok(number) => Factor::Number(number),
            Err(_) if token.text == "long" => Factor::Long,
            Err(_) => Factor::Argument(argument_number(&token, &token.text)?),
        })
    }

    fn passed(&mut self) -> Result<Vec<Passed>, ModelError> {
        self.word("(")?;
        let mut passed = Vec::new();
        while !self.take(")") {
            if !passed.is_empty() {
                self.word(",")?;
            }
            passed.push(if self.take("any") {
                Passed::Any
            } else if self.take("into") {
                Passed::Into(self.argument()?)
            } else if self.take("element") {
                Passed::Element(self.element()?)
            } else {
                Passed::Argument(self.argument()?)
            });
        }
        Ok(passed)
    }

    /// `$1 of $2 size $3`
    fn element(&mut self) -> Result<Element, ModelError> {
        let array = self.argument()?;
        self.word("of")?;
        let count = self.argument()?;
        self.word("size")?;
        Ok(Element { array, count, size: self.argument()? })
    }

    fn argument(&mut self) -> Result<usize, ModelError> {
        let token = self.next("an argument such as `$1`")?;
        argument_number(&token, &token.text)
    }

    fn deref_argument(&mut self) -> Result<(usize, Token), ModelError> {
        let token = self.next("what an argument points to, such as `*$1`")?;
        let Some(argument) = token.text.strip_prefix('*') else {
            return Err(token.error(format!("expected `*$` and a number, found `{}`", token.text)));
        };
        Ok((argument_number(&token, argument)?, token))
    }

    fn quoted(&mut self) -> Result<Name, ModelError> {
        let token = self.next("a reason in quotes")?;
        let text = token.text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        text.map(Name::new)
            .ok_or_else(|| token.error(format!("expected a reason in quotes, found `{}`", token.text)))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && !token.starts_entry);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, text: &str) -> Result<(), ModelError> {
        let token = self.next(&format!("`{text}`"))?;
        if token.text != text {
            return Err(token.error(format!("expected `{text}`, found `{}`", token.text)));
        }
        Ok(())
    }

    fn next(&mut self, expected: &str) -> Result<Token, ModelError> {
        let Some(token) = self.tokens.get(self.at) else {
            let (line, column) =
                self.tokens.last().map_or((1, 1), |last| (last.line, last.column + last.text.len()));
            return Err(ModelError {
                line,
                column,
                message: format!("expected {expected}, but the file ends"),
            });
        };
        self.at += 1;
        Ok(token.clone())
    }
}

const EFFECTS: &str = "effects are nothing, needs, terminates, reads-line, pure, quiet, changes-locale, computed, noreturn, ends, keep, exactly, clobbers, unsupported, unsupported-program, assumes, \
                       frees, writes, gives, scans, prints, puts, format, copies, fills, points, calls, returns";

fn argument_number(token: &Token, text: &str) -> Result<usize, ModelError> {
    let number = text.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
    match number {
        Some(number @ 1..=99) => Ok(number - 1),
        _ => Err(token.error(format!("expected an argument such as `$1`, found `{text}`"))),
    }
}
