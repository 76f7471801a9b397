//! What `sscanf` makes of a text (C11 7.21.6.2): how many conversions get a value, and from which characters. Texts from outside that nobody has looked at are
//! made for the format, because no search finds three numbers and a name byte by byte. Must not know what the automaton assumes of the results.

use proofline_cfa::{Expr, IntType, LocalId, Quantity, Scalar, Site, eval::Value};

use super::{
    code::FunctionCode,
    float_text,
    library_result::number_in,
    machine::{Machine, Step},
    memory::Provenance,
    oracle::Oracle,
    place::refused,
};

/// Longer texts are not made.
const LONGEST_MADE: u64 = 256;

/// Words that are told apart, and no more.
const LETTERS: &[u8] = b"abcdefgh";

/// What became of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scanned {
    /// What `sscanf` returns.
    pub(super) count: i128,
    /// Of the conversions that have an argument, those that got a value, in order.
    pub(super) items: Vec<Item>,
}

/// A conversion that got a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Item {
    /// Characters before it.
    start: usize,
    /// Its characters.
    length: usize,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Integer(i128),
    Float,
    Text,
}

/// A part of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Directive {
    Blank,
    Character(u8),
    Conversion { is_kept: bool, width: Option<usize>, length: Vec<u8>, letter: u8, set: Set },
}

/// Characters between brackets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Set {
    is_others: bool,
    ranges: Vec<(u8, u8)>,
}

impl Set {
    fn has(&self, byte: u8) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&byte)) != self.is_others
    }
}

fn is_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || *byte == 0x0b
}

/// The parts of a format; `None` if libraries may differ in what they make of it.
fn directives(format: &[u8]) -> Option<Vec<Directive>> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = format.get(at) {
        at += 1;
        if is_blank(byte) {
            if out.last() != Some(&Directive::Blank) {
                out.push(Directive::Blank);
            }
            continue;
        }
        if *byte != b'%' {
            out.push(Directive::Character(*byte));
            continue;
        }
        if format.get(at) == Some(&b'%') {
            at += 1;
            out.extend([Directive::Blank, Directive::Character(b'%')]);
            continue;
        }
        let is_kept = format.get(at) != Some(&b'*');
        at += usize::from(!is_kept);
        let digits = format[at..].iter().take_while(|c| c.is_ascii_digit()).count();
        let width = std::str::from_utf8(&format[at..at + digits]).ok()?.parse().ok();
        at += digits;
        let modifiers = format[at..].iter().take_while(|c| b"hljztL".contains(c)).count();
        let length = format[at..at + modifiers].to_vec();
        at += modifiers;
        let letter = *format.get(at)?;
        at += 1;
        let mut set = Set::default();
        if letter == b'[' {
            at = bracketed(format, at, &mut set)?;
        }
        let is_known = match letter {
            b's' | b'c' | b'[' => length.is_empty(),
            b'e' | b'f' | b'g' | b'E' | b'F' | b'G' => width.is_none() && length != b"L",
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'n' => length != b"L",
            _ => false,
        };
        if !is_known || width == Some(0) || letter == b'n' && (width.is_some() || !is_kept) {
            return None;
        }
        out.push(Directive::Conversion { is_kept, width, length, letter, set });
    }
    Some(out)
}

/// Reads what stands between brackets; where it ends.
fn bracketed(format: &[u8], mut at: usize, set: &mut Set) -> Option<usize> {
    if format.get(at) == Some(&b'^') {
        set.is_others = true;
        at += 1;
    }
    let first = at;
    loop {
        let low = *format.get(at)?;
        if low == b']' && at > first {
            return Some(at + 1);
        }
        match (format.get(at + 1), format.get(at + 2)) {
            (Some(b'-'), Some(high)) if *high != b']' => {
                // What a range is that falls, nobody says.
                (low <= *high).then(|| set.ranges.push((low, *high)))?;
                at += 3;
            }
            _ => {
                set.ranges.push((low, low));
                at += 1;
            }
        }
    }
}

/// What `sscanf` makes of a text; `None` if libraries may differ.
pub(super) fn scan(text: &[u8], format: &[u8]) -> Option<Scanned> {
    let mut scanned = Scanned { count: 0, items: Vec::new() };
    let (mut at, mut is_skipped) = (0, false);
    let skip = |at: usize| at + text[at..].iter().take_while(|c| is_blank(c)).count();
    for directive in directives(format)? {
        match directive {
            Directive::Blank => at = skip(at),
            Directive::Character(expected) => match text.get(at) {
                Some(byte) if *byte == expected => at += 1,
                Some(_) => return Some(scanned),
                None => return ended(scanned, is_skipped),
            },
            Directive::Conversion { letter: b'n', .. } => {
                scanned.items.push(Item { start: at, length: 0, what: What::Integer(at as i128) });
            }
            Directive::Conversion { is_kept, width, letter, set, .. } => {
                if !b"c[".contains(&letter) {
                    at = skip(at);
                }
                let most = width.unwrap_or(if letter == b'c' { 1 } else { text.len() });
                let rest = &text[at..(at + most).min(text.len())];
                if rest.is_empty() {
                    return ended(scanned, is_skipped);
                }
                let Some((length, what)) = converted(rest, most, letter, &set)? else { return Some(scanned) };
                if is_kept {
                    scanned.items.push(Item { start: at, length, what });
                    scanned.count += 1;
                }
                is_skipped |= !is_kept;
                at += length;
            }
        }
    }
    Some(scanned)
}

/// The text has come to its end before the next directive.
fn ended(mut scanned: Scanned, is_skipped: bool) -> Option<Scanned> {
    if scanned.count == 0 {
        // Whether what was left out counts as converted, libraries do not agree.
        (!is_skipped).then_some(())?;
        scanned.count = -1;
    }
    Some(scanned)
}

/// How many characters a conversion takes, and what they are; `Some(None)` if it does not fit.
fn converted(rest: &[u8], most: usize, letter: u8, set: &Set) -> Option<Option<(usize, What)>> {
    let taken = |fits: &dyn Fn(&u8) -> bool| rest.iter().take_while(|c| fits(c)).count();
    Some(match letter {
        b's' => Some((taken(&|c| !is_blank(c)), What::Text)),
        b'[' => Some((taken(&|c| set.has(*c)), What::Text)).filter(|(length, _)| *length > 0),
        // What is there of too few characters, libraries write or do not.
        b'c' => Some(((rest.len() == most).then_some(most)?, What::Text)),
        b'e' | b'f' | b'g' | b'E' | b'F' | b'G' => {
            let (_, end) = float_text::read(rest)?;
            let is_odd = rest.get(end).is_some_and(|c| b"eEpPxX".contains(c));
            if is_odd || end == 0 && rest.len() > 1 && b"+-.".contains(&rest[0]) {
                return None;
            }
            (end > 0).then_some((end, What::Float))
        }
        _ => {
            let base = match letter {
                b'd' | b'u' => 10,
                b'x' | b'X' => 16,
                b'o' => 8,
                _ => 0,
            };
            let signed = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
            let is_prefixed = matches!(rest.get(signed..signed + 2), Some([b'0', b'x' | b'X' | b'b' | b'B']));
            let (number, end) = number_in(rest, base)?;
            // A prefix without a digit behind it.
            if is_prefixed && matches!(base, 0 | 16) && end <= signed as i128 + 1 {
                return None;
            }
            (end > 0).then_some((end as usize, What::Integer(number)))
        }
    })
}

impl<'c, O: Oracle> Machine<'c, O> {
    /// What `sscanf` makes of the text at an address, by the format at another; `None` if it is not determined.
    fn scanned(
        &mut self,
        code: &'c FunctionCode,
        (text, format): (u64, u64),
        site: Site,
    ) -> Step<Option<(Vec<u8>, Scanned)>> {
        let (Some(text), Some(format)) = (self.text_at(code, text, site)?, self.text_at(code, format, site)?)
        else {
            return Ok(None);
        };
        let scanned = scan(&text, &format);
        // Each library makes one thing of it, and which one is not known.
        self.is_guess |= scanned.is_none();
        Ok(scanned.map(|scanned| (text, scanned)))
    }

    /// A result of `sscanf`, by its arguments.
    pub(super) fn scanned_result(
        &mut self,
        code: &'c FunctionCode,
        (quantity, arguments): (Quantity, &'c [Expr]),
        scalar: Option<Scalar>,
        site: Site,
    ) -> Step<Option<Value>> {
        let Some((text, format, nth)) = self.scan_arguments(code, arguments)? else { return Ok(None) };
        if quantity == Quantity::ScannedCount {
            self.ask_text_for(code, text, format, site)?;
        }
        let Some((text, scanned)) = self.scanned(code, (text, format), site)? else { return Ok(None) };
        let item = scanned.items.get(nth);
        let result = match (quantity, scalar, item) {
            (Quantity::ScannedCount, Some(Scalar::Int(ty)), _) => Some(Value::Int(ty.wrap(scanned.count))),
            (Quantity::ScannedItems, Some(Scalar::Int(ty)), _) => {
                Some(Value::Int(ty.wrap(scanned.items.len() as i128)))
            }
            (Quantity::ScannedLength, Some(Scalar::Int(ty)), Some(item)) => {
                Some(Value::Int(ty.wrap(item.length as i128)))
            }
            (_, Some(scalar), Some(item)) => match (scalar, item.what) {
                // What a number becomes that does not fit is not defined; of an unsigned one with a sign it is.
                (Scalar::Int(ty), What::Integer(number)) => {
                    let magnitude = number.unsigned_abs() <= ty.max() as u128;
                    let fits = ty.contains(number) || !ty.signed && magnitude;
                    fits.then(|| Value::Int(ty.wrap(number)))
                }
                (Scalar::Int(ty), What::Text) if item.length == 1 => {
                    Some(Value::Int(ty.wrap(i128::from(text[item.start]))))
                }
                (Scalar::Float(format), What::Float) => {
                    let spelled = float_text::read(&text[item.start..item.start + item.length]);
                    spelled.and_then(|(spelling, _)| spelling.number(format)).map(Value::Float)
                }
                _ => None,
            },
            _ => None,
        };
        // What did not fit into its type became something, in each library.
        self.is_guess |= result.is_none() && item.is_some();
        Ok(result)
    }

    /// Writes the characters that `sscanf` has found, where their number is the size; false if they can be any.
    pub(super) fn write_scanned(
        &mut self,
        code: &'c FunctionCode,
        (to, size): (u64, &Expr),
        site: Site,
    ) -> Step<bool> {
        let Some(id) = local_of(size) else { return Ok(false) };
        let Some(&at) = code.library_results.get(&id) else { return Ok(false) };
        let result = &code.function.library_results[at as usize];
        if result.quantity != Quantity::ScannedLength {
            return Ok(false);
        }
        let Some((text, format, nth)) = self.scan_arguments(code, &result.arguments)? else {
            return Ok(false);
        };
        let Some((text, scanned)) = self.scanned(code, (text, format), site)? else { return Ok(false) };
        let Some(item) = scanned.items.get(nth) else { return Ok(false) };
        for (byte, at) in text[item.start..item.start + item.length].iter().zip(to..) {
            self.memory.write(at, 1, u128::from(*byte)).or_else(refused)?;
        }
        Ok(true)
    }

    fn scan_arguments(
        &mut self,
        code: &'c FunctionCode,
        arguments: &'c [Expr],
    ) -> Step<Option<(u64, u64, usize)>> {
        let mut numbers = [0; 3];
        for (number, argument) in numbers.iter_mut().zip(arguments) {
            match self.eval(code, argument)? {
                Value::Int(value) => *number = value,
                Value::Float(_) => return Ok(None),
            }
        }
        let [text, format, nth] = numbers;
        Ok(usize::try_from(nth).ok().map(|nth| (text as u64, format as u64, nth)))
    }

    /// A text from outside that nobody looked at becomes one that fits the format, as far as is asked for.
    fn ask_text_for(&mut self, code: &'c FunctionCode, text: u64, format: u64, site: Site) -> Step<()> {
        let room = self.unseen_room(text)?;
        let Some(format) = self.text_at(code, format, site)?.filter(|_| room > 0) else { return Ok(()) };
        let Some(directives) = directives(&format) else { return Ok(()) };
        let cause = self.why_unknown(text);
        let mut made: Vec<u8> = Vec::new();
        let ask = |machine: &mut Self, ty: IntType| match machine.ask(code, site, cause, Scalar::Int(ty)) {
            Value::Int(number) => number,
            Value::Float(_) => 0,
        };
        let byte = IntType { bits: 8, signed: false };
        let is_counted = |directive: &&Directive| matches!(directive, Directive::Conversion { is_kept: true, letter, .. } if *letter != b'n');
        // As a rule, nothing is missing.
        let missing = ask(self, IntType::INT).unsigned_abs();
        let most = directives.iter().filter(is_counted).count() as u128;
        let mut left = most.saturating_sub(missing);
        for directive in &directives {
            let Directive::Conversion { is_kept, width, length, letter, set } = directive else {
                match directive {
                    // More is missing than there are conversions: text, too.
                    Directive::Character(_) if missing > most => {
                        made.push(b' ');
                        break;
                    }
                    Directive::Character(expected) => made.push(*expected),
                    Directive::Blank | Directive::Conversion { .. } => made.push(b' '),
                }
                continue;
            };
            if *is_kept && *letter != b'n' {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            match letter {
                b'n' => {}
                b'c' => {
                    for _ in 0..width.unwrap_or(1).min(room as usize) {
                        made.push(ask(self, byte) as u8);
                    }
                }
                b's' | b'[' => {
                    let fits = |c: u8| c != 0 && if *letter == b's' { !is_blank(&c) } else { set.has(c) };
                    let most = width.unwrap_or(usize::MAX).min(room as usize);
                    // A word of the program's, a letter, or characters one by one.
                    let words = self.code.words();
                    let kinds = words.len() + LETTERS.len() + 1;
                    let which = ask(self, IntType::INT).rem_euclid(kinds as i128) as usize;
                    if let Some(word) = words.get(which) {
                        made.extend(word.iter().take(most));
                        continue;
                    }
                    if let Some(letter) = LETTERS.get(which - words.len()) {
                        made.push(*letter);
                        continue;
                    }
                    for _ in 0..most {
                        let character = ask(self, byte) as u8;
                        if !fits(character) {
                            break;
                        }
                        made.push(character);
                    }
                }
                _ => {
                    let bits = match &length[..] {
                        b"hh" => 8,
                        b"h" => 16,
                        b"" => 32,
                        _ => 64,
                    };
                    let is_signed = !b"uxXo".contains(letter);
                    let number = ask(self, IntType { bits, signed: is_signed });
                    let digits = match letter {
                        b'x' | b'X' => format!("{number:x}"),
                        b'o' => format!("{number:o}"),
                        _ => number.to_string(),
                    };
                    made.extend(digits.bytes().take(width.unwrap_or(usize::MAX)));
                }
            }
        }
        made.resize(room as usize, b' ');
        for (byte, at) in made.iter().zip(text..) {
            let byte = if *byte == 0 { b' ' } else { *byte };
            self.memory.choose(at, 1, u128::from(byte)).or_else(refused)?;
        }
        Ok(())
    }

    /// How many bytes of a text nobody has looked at, if its end is behind them.
    fn unseen_room(&mut self, text: u64) -> Step<u64> {
        let mut room = 0;
        while room < LONGEST_MADE && self.memory.is_open(text + room) {
            room += 1;
        }
        if room == 0 || !matches!(self.memory.provenance(text + room), Provenance::Live(_)) {
            return Ok(0);
        }
        let end = self.memory.read_bits(text + room, 1, 0xff).or_else(refused)?;
        Ok(if end == Some(0) { room } else { 0 })
    }
}

fn local_of(size: &Expr) -> Option<LocalId> {
    match size {
        Expr::Load(place) if place.path.is_empty() => match place.base {
            proofline_cfa::Base::Local(id) => Some(id),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result, and the characters of each conversion.
    fn made(text: &str, format: &str) -> Option<(i128, Vec<String>)> {
        let scanned = scan(text.as_bytes(), format.as_bytes())?;
        let words = scanned.items.iter().map(|item| text[item.start..item.start + item.length].to_owned());
        Some((scanned.count, words.collect()))
    }

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn texts_are_taken_apart_as_the_standard_says() {
        assert_eq!(made("go  north\n", "%11s %11s"), Some((2, words(&["go", "north"]))));
        assert_eq!(made("  go", "%1s%s"), Some((2, words(&["g", "o"]))));
        assert_eq!(made("", "%d"), Some((-1, vec![])));
        assert_eq!(made("  ", "%s"), Some((-1, vec![])));
        assert_eq!(made("x", "%d"), Some((0, vec![])));
        assert_eq!(made("12,-7;", "%d,%d,%d"), Some((2, words(&["12", "-7"]))));
        assert_eq!(made("2024-11-29", "%4d-%2d-%2d"), Some((3, words(&["2024", "11", "29"]))));
        assert_eq!(made("name = value", "%[^=]= %s"), Some((2, words(&["name ", "value"]))));
        assert_eq!(made("a1b", "%[a-z]%d%c"), Some((3, words(&["a", "1", "b"]))));
        assert_eq!(made("7 ", "%d %d"), Some((1, words(&["7"]))));
        assert_eq!(made("100%x", "%d%%%c"), Some((2, words(&["100", "x"]))));
        assert_eq!(made("ff", "%x"), Some((1, words(&["ff"]))));
        assert_eq!(made("1.5e3z", "%lf%c"), Some((2, words(&["1.5e3", "z"]))));
        assert_eq!(made("9 8", "%*d %d"), Some((1, words(&["8"]))));
        assert_eq!(made("]x", "%[]]"), Some((1, words(&["]"]))));
    }

    #[test]
    fn what_libraries_disagree_about_is_not_computed() {
        assert_eq!(made("0xg", "%x"), None);
        assert_eq!(made("9", "%*d %d"), None);
        assert_eq!(made("1e", "%f"), None);
        assert_eq!(made("a", "%ls"), None);
        assert_eq!(made("ab", "%3c"), None);
    }

    #[test]
    fn how_far_it_came_is_counted() {
        let scanned = scan(b" 12 x", b"%d%n %s").expect("it is a format");
        let numbers: Vec<What> = scanned.items.iter().map(|item| item.what).collect();
        assert_eq!(numbers, [What::Integer(12), What::Integer(3), What::Text]);
        assert_eq!(scanned.count, 2);
    }
}
