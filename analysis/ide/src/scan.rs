//! A glance at a C file: which functions it defines and whom they call, from the text alone, without preprocessing. Fast and never
//! certain: code that needs certainty parses the file.

use crate::place::Point;

/// A function whose body the text seems to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Glimpse {
    pub(crate) name: Box<str>,
    /// Where its name starts.
    pub(crate) at: Point,
    /// Only its own file can name it.
    pub(crate) is_static: bool,
    /// Whom it seems to call, and where, each name once.
    pub(crate) calls: Vec<(Box<str>, Point)>,
}

const NO_CALLS: &[&str] = &[
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "_Alignof",
    "_Static_assert",
    "defined",
    "__attribute__",
    "__attribute",
    "__declspec",
    "__asm__",
    "asm",
    "typeof",
    "__typeof__",
    "_Generic",
    "do",
    "else",
    "case",
];

/// Words before a declaration that are no type and no macro.
const STORAGE: &[&[u8]] = &[b"static", b"extern", b"inline", b"__inline", b"_Noreturn"];

/// The headers and texts beside a file that it includes by name (`#include "table.c"`), and what macros that it defines seem to call.
pub(crate) fn directives(text: &[u8]) -> (Vec<String>, Vec<Box<str>>) {
    let (mut included, mut called) = (Vec::new(), Vec::new());
    let text = String::from_utf8_lossy(text).replace("\\\r\n", " ").replace("\\\n", " ");
    for line in text.lines() {
        let Some(directive) = line.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        if let Some(rest) = directive.strip_prefix("include") {
            let mut parts = rest.split('"');
            included.extend(parts.nth(1).map(str::to_owned));
        } else if let Some(rest) = directive.strip_prefix("define") {
            // Behind the macro's own name.
            for (at, _) in rest.match_indices('(').skip(1) {
                let before = rest[..at].trim_end();
                let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
                let word = &before[start..];
                if !word.is_empty() && !NO_CALLS.contains(&word) {
                    called.push(word.into());
                }
            }
        }
    }
    (included, called)
}

/// What a text defines.
pub(crate) fn glance(text: &[u8]) -> Vec<Glimpse> {
    let mut scan = Scan { text, at: 0, line: 0, line_start: 0, is_line_start: true };
    let mut out: Vec<Glimpse> = Vec::new();
    let mut depth = 0u32;
    let mut parens = 0u32;
    // Of the declaration that is being read: its function, `static`, an initialiser, how many words stand before the first parenthesis.
    let mut head: Option<(Box<str>, Point)> = None;
    let mut words = 0;
    let mut last: Option<(Box<str>, Point)> = None;
    let mut is_static = false;
    let mut has_value = false;
    // The body that is being read belongs to the last function found.
    let mut is_body = false;
    while let Some(token) = scan.next() {
        match token {
            Token::Word(word, at) => {
                if depth == 0 && parens == 0 {
                    is_static |= word == b"static";
                    words += u32::from(head.is_none() && !STORAGE.contains(&word));
                }
                last = Some((String::from_utf8_lossy(word).into(), at));
                continue;
            }
            Token::Open(b'(') => {
                if let Some((name, at)) = last.take().filter(|(name, _)| !NO_CALLS.contains(&&**name)) {
                    // `PUBLIC(char *) name(`: the first word is a macro.
                    if depth == 0 && parens == 0 && (head.is_none() || words == 1) {
                        words += u32::from(head.is_some());
                        head = Some((name, at));
                    } else if is_body
                        && let Some(function) = out.last_mut()
                        && !function.calls.iter().any(|(known, _)| *known == name)
                    {
                        function.calls.push((name, at));
                    }
                }
                parens += 1;
            }
            Token::Open(_) => {
                if depth == 0 {
                    is_body = false;
                    if parens == 0
                        && !has_value
                        && let Some((name, at)) = head.take()
                    {
                        out.push(Glimpse { name, at, is_static, calls: Vec::new() });
                        is_body = true;
                    }
                }
                parens = 0;
                depth += 1;
            }
            Token::Close(b')') => parens = parens.saturating_sub(1),
            Token::Close(_) => {
                // Conditional parts may leave braces open; what closes in the first column closes everything.
                depth = if scan.at - scan.line_start == 1 { 0 } else { depth.saturating_sub(1) };
                parens = 0;
                if depth == 0 {
                    (head, is_static, has_value, is_body, words) = (None, false, false, false, 0);
                }
            }
            Token::Other(b';') => {
                parens = 0;
                if depth == 0 {
                    // Between `)` and `{` of an old-style definition stand declarations; those are rare.
                    (head, is_static, has_value, words) = (None, false, false, 0);
                }
            }
            Token::Other(b'=') if depth == 0 && parens == 0 => has_value = true,
            Token::Other(_) => {}
        }
        last = None;
    }
    out
}

enum Token<'t> {
    Word(&'t [u8], Point),
    Open(u8),
    Close(u8),
    Other(u8),
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
    line_start: usize,
    is_line_start: bool,
}

impl<'t> Scan<'t> {
    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
        self.is_line_start = true;
    }

    /// Goes behind the end of the line, with the lines that a backslash joins to it.
    fn skip_line(&mut self) {
        while let Some(&byte) = self.text.get(self.at) {
            if byte == b'\n' {
                let before = self.text[..self.at].strip_suffix(b"\r").unwrap_or(&self.text[..self.at]);
                let goes_on = before.ends_with(b"\\");
                self.newline();
                if !goes_on {
                    return;
                }
            } else if self.text[self.at..].starts_with(b"/*") {
                self.skip_comment();
            } else {
                self.at += 1;
            }
        }
    }

    fn skip_comment(&mut self) {
        self.at += 2;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\n' => self.newline(),
                b'*' if self.text.get(self.at + 1) == Some(&b'/') => {
                    self.at += 2;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' if self.text.get(self.at + 1) == Some(&b'\n') => {
                    self.at += 1;
                    self.newline();
                }
                b'\\' => self.at += 2,
                b'\n' => return,
                _ if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            let byte = *self.text.get(self.at)?;
            let next = self.text.get(self.at + 1).copied();
            match byte {
                b'\n' => self.newline(),
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' if self.is_line_start => self.skip_line(),
                b'/' if next == Some(b'/') => self.skip_line(),
                b'/' if next == Some(b'*') => self.skip_comment(),
                b'"' | b'\'' => {
                    self.skip_quoted(byte);
                    self.is_line_start = false;
                    return Some(Token::Other(byte));
                }
                _ if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                    let start = self.at;
                    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
                    while self.text.get(self.at).is_some_and(is_word) {
                        self.at += 1;
                    }
                    self.is_line_start = false;
                    let at = Point { line: self.line, column: (start - self.line_start) as u32 };
                    return Some(Token::Word(&self.text[start..self.at], at));
                }
                _ => {
                    self.at += 1;
                    self.is_line_start = false;
                    return Some(match byte {
                        b'(' | b'{' => Token::Open(byte),
                        b')' | b'}' => Token::Close(byte),
                        _ => Token::Other(byte),
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        glance(text.as_bytes()).into_iter().map(|function| function.name.to_string()).collect()
    }

    #[test]
    fn macros_around_a_type_are_no_functions() {
        let text = "PUBLIC(const char *) version(void) { return name(); }\nMACRO(1)\nint f(int a) { return a; }\n\
                    static PUBLIC(int) g(void) {}\nint h(void) NONNULL(1) {}\nint main() { if (f(1)) g(); }\n";
        assert_eq!(names(text), ["version", "f", "g", "h", "main"]);
    }

    #[test]
    fn directives_tell_what_is_included_and_what_macros_call() {
        let text = "#include <stdio.h>\n # include \"../a.c\"\n#define RUN(f) do { if (x) start(#f); \\\n  f (); } while (0)\n\
                    #define NOTHING\nint g(void) { return 1; }\n";
        let (included, called) = directives(text.as_bytes());
        assert_eq!(included, ["../a.c"]);
        assert_eq!(called.iter().map(|word| &**word).collect::<Vec<_>>(), ["start", "f"]);
    }
}
