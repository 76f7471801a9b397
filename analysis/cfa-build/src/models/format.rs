//! Format strings of `printf` and `scanf`, as far as they decide what is written. Knows literals only.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Constant, Expr, IntType, Program, Scalar};

/// Conversion letters of a literal format, in order; `None` if the format is not a literal.
pub(super) fn conversions(program: &Program, format: &Expr) -> Option<Vec<char>> {
    let text = literal(program, format).or_else(|| wide_literal(program, format))?;
    Some(letters(&text).into_iter().map(|(letter, _)| letter).collect())
}

/// How many objects a literal format of `scanf` gives values to, at most, counted as `scanf` counts.
pub(super) fn assigned(program: &Program, format: &Expr) -> Option<usize> {
    let text = literal(program, format).or_else(|| wide_literal(program, format))?;
    Some(letters(&text).into_iter().filter(|(letter, is_kept)| *is_kept && *letter != 'n').count())
}

/// A directive of a format: what stands between two of them is text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Directive {
    /// So many characters from there on in the format.
    Text { from: usize, length: usize },
    /// What `%` begins.
    Conversion(Specification),
}

/// What stands behind a `%`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Specification {
    /// The number of the argument, from 1 on, where the format numbers them: `%1$s`.
    pub(super) argument: Option<usize>,
    /// Flags of `printf`, and the `*` of `scanf`.
    pub(super) flags: Vec<u8>,
    /// Of the field.
    pub(super) width: Option<u32>,
    /// Behind the point; a point alone is 0.
    pub(super) precision: Option<u32>,
    /// The width is an argument: `*`.
    pub(super) takes_width: bool,
    /// The precision is one: `.*`.
    pub(super) takes_precision: bool,
    /// `hh`, `h`, `l`, `ll`, `j`, `z`, `t`, `L`, `m` or nothing.
    pub(super) length: Vec<u8>,
    /// What is converted.
    pub(super) letter: u8,
}

impl Specification {
    /// Arguments before the one that is converted.
    pub(super) fn taken(&self) -> usize {
        usize::from(self.takes_width) + usize::from(self.takes_precision)
    }

    /// Whether the flag is there.
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags.contains(&flag)
    }
}

/// Whether the format is a literal, of bytes or wide characters.
pub(super) fn is_literal(program: &Program, format: &Expr) -> bool {
    literal(program, format).is_some() || wide_literal(program, format).is_some()
}

/// The directives of a literal format, of bytes or wide characters; `None` if it is not a literal, or is no format. Either none of them or all have
/// numbers, and then no argument is left out.
pub(super) fn directives(program: &Program, format: &Expr, is_scanned: bool) -> Option<Vec<Directive>> {
    let text = literal(program, format).or_else(|| wide_literal(program, format))?;
    let (mut out, mut at, mut start) = (Vec::new(), 0, 0);
    let plain = |out: &mut Vec<Directive>, from: usize, to: usize| {
        if from < to {
            out.push(Directive::Text { from, length: to - from });
        }
    };
    while at < text.len() {
        if text[at] != b'%' {
            at += 1;
            continue;
        }
        plain(&mut out, start, at);
        at += 1;
        if text.get(at) == Some(&b'%') {
            out.push(Directive::Text { from: at, length: 1 });
            at += 1;
        } else {
            let (specification, end) = specification(&text, at, is_scanned)?;
            out.push(Directive::Conversion(specification));
            at = end;
        }
        start = at;
    }
    plain(&mut out, start, at);
    is_numbered_well(&out).then_some(out)
}

fn is_numbered_well(directives: &[Directive]) -> bool {
    let conversions = directives.iter().filter_map(|directive| match directive {
        Directive::Conversion(one) => Some(one),
        Directive::Text { .. } => None,
    });
    let (numbered, others): (Vec<&Specification>, Vec<&Specification>) =
        conversions.partition(|one| one.argument.is_some());
    let numbers: BTreeSet<usize> = numbered.iter().filter_map(|one| one.argument).collect();
    let has_gap = numbers.iter().zip(1..).any(|(number, expected)| *number != expected);
    numbered.is_empty() || others.is_empty() && !has_gap && numbered.iter().all(|one| one.taken() == 0)
}

/// What begins behind a `%`, and where it ends.
fn specification(text: &[u8], mut at: usize, is_scanned: bool) -> Option<(Specification, usize)> {
    let mut out = Specification::default();
    let flags: &[u8] = if is_scanned { b"*'" } else { b"#0-+ '" };
    let number = |at: &mut usize| {
        let digits = text[*at..].iter().take_while(|c| c.is_ascii_digit()).count();
        let number = std::str::from_utf8(&text[*at..*at + digits]).ok().and_then(|text| text.parse().ok());
        *at += digits;
        (digits, number)
    };
    let mut behind = at;
    if let (1.., Some(position)) = number(&mut behind)
        && text.get(behind) == Some(&b'$')
        && !is_scanned
    {
        out.argument = Some(position).filter(|position| *position > 0).map(|position: u32| position as usize);
        out.argument?;
        at = behind + 1;
    }
    while let Some(flag) = text.get(at).filter(|c| flags.contains(c)) {
        out.flags.push(*flag);
        at += 1;
    }
    let is_star = |at: usize| !is_scanned && text.get(at) == Some(&b'*');
    if is_star(at) {
        out.takes_width = true;
        at += 1;
    } else {
        let (digits, width) = number(&mut at);
        if digits > 0 {
            out.width = Some(width?);
        }
    }
    if !is_scanned && text.get(at) == Some(&b'.') {
        at += 1;
        if is_star(at) {
            out.takes_precision = true;
            at += 1;
        } else {
            let (digits, precision) = number(&mut at);
            out.precision = Some(if digits == 0 { 0 } else { precision? });
        }
    }
    while let Some(modifier) = text.get(at).filter(|c| b"hlLqjztm".contains(c)) {
        // `%m` prints what `errno` says.
        if *modifier == b'm' && !is_scanned {
            break;
        }
        out.length.push(*modifier);
        at += 1;
    }
    out.letter = *text.get(at)?;
    at += 1;
    if is_scanned && out.letter == b'[' {
        // A bracket that comes first is one of the characters.
        at += usize::from(text.get(at) == Some(&b'^'));
        at += usize::from(text.get(at) == Some(&b']'));
        at += text.get(at..)?.iter().position(|c| *c == b']')? + 1;
    }
    out.letter.is_ascii_alphabetic().then_some(()).or((out.letter == b'[').then_some(()))?;
    Some((out, at))
}

/// A wide literal before its end; characters that no format gives a meaning to are left out.
pub(super) fn wide_literal(program: &Program, string: &Expr) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for character in characters(program, string, 32)? {
        text.push(u8::try_from(character).unwrap_or(b'?'));
    }
    Some(text)
}

/// The bytes of a literal before its end; `None` if the address is not that of one.
pub(super) fn literal(program: &Program, string: &Expr) -> Option<Vec<u8>> {
    Some(characters(program, string, 8)?.into_iter().map(|byte| byte as u8).collect())
}

/// The characters, of so many bits, of a literal before its end.
fn characters(program: &Program, string: &Expr, bits: u8) -> Option<Vec<i128>> {
    let Expr::Address(lvalue) = string else { return None };
    let Base::Global(name) = lvalue.base else { return None };
    let global = program.globals.get(&name)?;
    if !global.constant || !global.defined || !lvalue.path.is_empty() {
        return None;
    }
    let width = u64::from(bits / 8);
    let mut text = vec![0; usize::try_from(global.size / width).ok()?];
    for value in &global.init {
        let (at, Constant::Int(character)) = (usize::try_from(value.offset / width).ok()?, &value.value)
        else {
            return None;
        };
        if value.scalar != Scalar::Int(IntType { bits, signed: true }) || value.offset % width != 0 {
            return None;
        }
        *text.get_mut(at)? = *character;
    }
    let end = text.iter().position(|character| *character == 0)?;
    text.truncate(end);
    Some(text)
}

/// The letters, and whether their conversions are not suppressed by `*`.
fn letters(text: &[u8]) -> Vec<(char, bool)> {
    let mut out = Vec::new();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        // Flags, width, precision, length.
        let mut is_kept = true;
        while let Some(byte) = bytes.next_if(|b| b"#0-+ '*.0123456789$hlLqjztm".contains(b)) {
            is_kept &= byte != b'*';
        }
        match bytes.next() {
            Some(b'%') | None => {}
            Some(letter) => out.push((char::from(letter), is_kept)),
        }
    }
    out
}
