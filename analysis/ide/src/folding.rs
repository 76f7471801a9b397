//! Folding: braces, comments, conditional parts of the preprocessor. From the text alone, so that it works on half-typed code.

/// Lines that can be folded into the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    /// From 0.
    pub start_line: u32,
    /// The last line that is hidden.
    pub end_line: u32,
    /// What is folded.
    pub kind: FoldKind,
}

/// What is folded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldKind {
    /// What stands in braces. The closing brace stays in sight.
    Braces,
    /// A comment of several lines.
    Comment,
    /// Lines between `#if` and `#else` or `#endif`.
    Conditional,
}

/// A part that has begun.
enum Open {
    Brace(u32),
    Conditional(u32),
}

/// The parts of a text that can be folded.
pub fn folds(text: &str) -> Vec<Fold> {
    let mut folder = Folder { out: Vec::new(), open: Vec::new(), comment: None };
    for (number, line) in (0u32..).zip(text.lines()) {
        match line.trim_start().strip_prefix('#').filter(|_| folder.comment.is_none()) {
            Some(directive) => folder.directive(number, directive.trim_start()),
            None => folder.code(number, line),
        }
    }
    folder.out
}

struct Folder {
    out: Vec<Fold>,
    open: Vec<Open>,
    /// Where the comment begins that the last line left open.
    comment: Option<u32>,
}

impl Folder {
    fn fold(&mut self, start_line: u32, end_line: u32, kind: FoldKind) {
        if end_line > start_line {
            self.out.push(Fold { start_line, end_line, kind });
        }
    }

    fn directive(&mut self, number: u32, word: &str) {
        if word.starts_with("if") {
            self.open.push(Open::Conditional(number));
        } else if (word.starts_with("endif") || word.starts_with("el"))
            && let Some(at) = self.open.iter().rposition(|open| matches!(open, Open::Conditional(_)))
        {
            if let Open::Conditional(start) = self.open[at] {
                self.fold(start, number.saturating_sub(1), FoldKind::Conditional);
            }
            self.open.truncate(at);
            if word.starts_with("el") {
                self.open.push(Open::Conditional(number));
            }
        }
    }

    fn code(&mut self, number: u32, line: &str) {
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if let Some(start) = self.comment {
                let Some(end) = line.get(at..).and_then(|rest| rest.find("*/")) else { return };
                self.comment = None;
                self.fold(start, number, FoldKind::Comment);
                at += end + 2;
                continue;
            }
            match (bytes[at], bytes.get(at + 1)) {
                (b'/', Some(b'/')) => return,
                (b'/', Some(b'*')) => {
                    self.comment = Some(number);
                    at += 1;
                }
                (quote @ (b'"' | b'\''), _) => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != quote {
                        at += 1 + usize::from(bytes[at] == b'\\');
                    }
                }
                (b'{', _) => self.open.push(Open::Brace(number)),
                (b'}', _) => {
                    if let Some(&Open::Brace(start)) = self.open.last() {
                        self.open.pop();
                        self.fold(start, number.saturating_sub(1), FoldKind::Braces);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}
