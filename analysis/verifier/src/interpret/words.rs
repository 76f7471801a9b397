//! Words that stand in a program's text, of which texts from outside are made.

use std::collections::BTreeSet;

use proofline_cfa::{Constant, Program};

/// More words of a program than these are not tried, and no longer ones.
const MOST: usize = 200;
const LONGEST: usize = 16;

/// The strings of a program that may be words of its input, in alphabetical order: without blanks and formats, and short.
pub(crate) fn words(program: &Program) -> Vec<Vec<u8>> {
    let literals = program.globals.values().filter(|global| global.is_literal());
    let texts = literals.filter_map(|literal| {
        let mut text = vec![0u8; (literal.size as usize).min(LONGEST + 1)];
        for initial in &literal.init {
            let Constant::Int(byte) = initial.value else { return None };
            *text.get_mut(initial.offset as usize)? = byte as u8;
        }
        let end = text.iter().position(|byte| *byte == 0)?;
        text.truncate(end);
        let is_word = text.len() > 1 && text.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'%');
        is_word.then_some(text)
    });
    texts.collect::<BTreeSet<_>>().into_iter().take(MOST).collect()
}
