//! Names and types as text, and back. Must not know functions.

use std::fmt::Write;

use proofline_hir::{Name, Type};

/// Words that mean something to the parser where a name could stand.
const KEYWORDS: &[&str] = &[
    "as",
    "at",
    "allocate",
    "approximation",
    "assume",
    "begin",
    "bits",
    "by",
    "call",
    "clobber",
    "copy",
    "copy_bytes",
    "distance",
    "end",
    "entry",
    "exit",
    "fill_bytes",
    "float",
    "fn",
    "free",
    "havoc",
    "havoc_bytes",
    "in",
    "label",
    "locations",
    "null",
    "obligation",
    "of",
    "overflows",
    "ptr",
    "size",
    "skip",
    "unsupported",
];

pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '#')
}

pub(super) fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit()
}

/// Whether the text is one token of the form of a name.
pub(super) fn is_bare(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_part)
}

/// `i32`, `u8`, `f64`: a word that stands for a format.
pub(super) fn is_format(text: &str) -> bool {
    let digits = text.strip_prefix(['i', 'u', 'f']).unwrap_or("");
    !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The name, quoted if it is not a plain word.
pub fn escaped_name(name: Name) -> String {
    let text = name.as_str();
    if is_bare(text) && !is_format(text) && !KEYWORDS.contains(&text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    for c in text.chars() {
        match c {
            '`' => out.push_str("\\`"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('`');
    out
}

/// The type, in the notation of this module: `unsigned char const*`.
pub fn printed_type(ty: Type) -> String {
    let mut out = String::new();
    super::types::print(ty, &mut out);
    out
}
