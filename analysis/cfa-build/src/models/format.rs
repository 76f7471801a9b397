//! Format strings of `printf` and `scanf`, as far as they decide what is written. Knows literals only.

use proofline_cfa::{Base, Constant, Expr, IntType, Program, Scalar};

/// Conversion letters of a literal format, in order; `None` if the format is not a literal.
pub(super) fn conversions(program: &Program, format: &Expr) -> Option<Vec<char>> {
    literal(program, format).map(|text| letters(&text))
}

/// The bytes of a literal before its end; `None` if the address is not that of one.
pub(super) fn literal(program: &Program, string: &Expr) -> Option<Vec<u8>> {
    let Expr::Address(lvalue) = string else { return None };
    let Base::Global(name) = lvalue.base else { return None };
    let global = program.globals.get(&name)?;
    if !global.constant || !global.defined || !lvalue.path.is_empty() {
        return None;
    }
    let mut text = vec![0u8; usize::try_from(global.size).ok()?];
    for value in &global.init {
        let (at, Constant::Int(byte)) = (usize::try_from(value.offset).ok()?, &value.value) else {
            return None;
        };
        if value.scalar != Scalar::Int(IntType { bits: 8, signed: true }) {
            return None;
        }
        *text.get_mut(at)? = *byte as u8;
    }
    let end = text.iter().position(|byte| *byte == 0)?;
    text.truncate(end);
    Some(text)
}

fn letters(text: &[u8]) -> Vec<char> {
    let mut out = Vec::new();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        // Flags, width, precision, length.
        while bytes.next_if(|b| b"#0-+ '*.0123456789$hlLqjztm".contains(b)).is_some() {}
        match bytes.next() {
            Some(b'%') | None => {}
            Some(letter) => out.push(char::from(letter)),
        }
    }
    out
}
