//! Folding: braces, comments, conditional parts of the preprocessor. From the text alone, so that it works on half-typed code.

use tower_lsp_server::ls_types::{FoldingRange, FoldingRangeKind};

/// A part that has begun.
enum Open {
    Brace(u32),
    Conditional(u32),
}

/// The ranges of a text.
pub(in super::super) fn ranges(text: &str) -> Vec<FoldingRange> {
    let mut out = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut comment: Option<u32> = None;
    let mut fold = |start: u32, end: u32, kind: Option<FoldingRangeKind>| {
        if end > start {
            out.push(FoldingRange { start_line: start, end_line: end, kind, ..FoldingRange::default() });
        }
    };
    for (number, line) in (0u32..).zip(text.lines()) {
        let trimmed = line.trim_start();
        if comment.is_none()
            && let Some(directive) = trimmed.strip_prefix('#')
        {
            let word = directive.trim_start();
            if word.starts_with("if") {
                open.push(Open::Conditional(number));
            } else if (word.starts_with("endif") || word.starts_with("el"))
                && let Some(at) = open.iter().rposition(|open| matches!(open, Open::Conditional(_)))
            {
                if let Open::Conditional(start) = open[at] {
                    fold(start, number.saturating_sub(1), Some(FoldingRangeKind::Region));
                }
                open.truncate(at);
                if word.starts_with("el") {
                    open.push(Open::Conditional(number));
                }
            }
            continue;
        }
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if comment.is_some() {
                match line.get(at..).and_then(|rest| rest.find("*/")) {
                    Some(end) => {
                        if let Some(start) = comment.take() {
                            fold(start, number, Some(FoldingRangeKind::Comment));
                        }
                        at += end + 2;
                        continue;
                    }
                    None => break,
                }
            }
            match (bytes[at], bytes.get(at + 1)) {
                (b'/', Some(b'/')) => break,
                (b'/', Some(b'*')) => {
                    comment = Some(number);
                    at += 1;
                }
                (quote @ (b'"' | b'\''), _) => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != quote {
                        at += 1 + usize::from(bytes[at] == b'\\');
                    }
                }
                (b'{', _) => open.push(Open::Brace(number)),
                (b'}', _) => {
                    if let Some(Open::Brace(_)) = open.last()
                        && let Some(Open::Brace(start)) = open.pop()
                    {
                        // The closing brace stays in sight.
                        fold(start, number.saturating_sub(1), None);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
    out
}
