//! Format strings of `printf` and `scanf`, as far as they decide what is written. Knows literals only.

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

/// Which of the variable arguments a literal format of `printf` prints as whole strings of bytes, counted from 0; `None` if it is not a literal,
/// or has widths that are arguments.
pub(super) fn printed(program: &Program, format: &Expr) -> Option<Vec<usize>> {
    let text = literal(program, format)?;
    let (mut out, mut count) = (Vec::new(), 0);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        let mut modifiers = Vec::new();
        while let Some(byte) = bytes.next_if(|b| b"#0-+ '*.0123456789$hlLqjztm".contains(b)) {
            modifiers.push(byte);
        }
        if modifiers.iter().any(|byte| b"*$".contains(byte)) {
            return None;
        }
        match bytes.next() {
            Some(b'%' | b'm') | None => {}
            Some(letter) => {
                if letter == b's' && !modifiers.iter().any(|byte| b".l".contains(byte)) {
                    out.push(count);
                }
                count += 1;
            }
        }
    }
    Some(out)
}

/// A wide literal before its end; characters that no format gives a meaning to are left out.
fn wide_literal(program: &Program, string: &Expr) -> Option<Vec<u8>> {
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
