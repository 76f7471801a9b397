//! Makes a text with a fault smaller: leaves out lines as long as the same fault stays.

use super::program::HEAD;

/// Leaves out ranges of lines, the longest first. `still` says whether a text has the fault.
pub fn reduce(text: &str, mut still: impl FnMut(&str) -> bool) -> String {
    // What every program begins with says what the rest means.
    let (head, rest) = text.split_at(if text.starts_with(HEAD) { HEAD.len() } else { 0 });
    let mut still = |text: &str| still(&format!("{head}{text}"));
    let mut lines: Vec<String> = rest.lines().map(str::to_owned).collect();
    loop {
        let before = lines.len();
        let mut length = (lines.len() / 2).max(1);
        loop {
            let mut at = 0;
            while at < lines.len() {
                let mut shorter = lines.clone();
                shorter.drain(at..(at + length).min(lines.len()));
                // What opens and closes a block goes in pairs.
                if is_balanced(&shorter) && still(&join(&shorter)) {
                    lines = shorter;
                } else if length == 1 {
                    without_block(&mut lines, at, &mut still);
                    at += 1;
                } else {
                    at += length;
                }
            }
            if length == 1 {
                break;
            }
            length /= 2;
        }
        if lines.len() == before {
            return format!("{head}{}", join(&lines));
        }
    }
}

/// Leaves out the lines that open and close a block, or the block with them.
fn without_block(lines: &mut Vec<String>, at: usize, still: &mut impl FnMut(&str) -> bool) {
    let opens = |line: &str| line.matches('{').count() as i64 - line.matches('}').count() as i64;
    let Some(first) = lines.get(at) else { return };
    if opens(first) <= 0 {
        return;
    }
    let mut depth = 0;
    let Some(end) = (at..lines.len()).find(|&i| {
        depth += opens(&lines[i]);
        depth <= 0
    }) else {
        return;
    };
    for keep_inside in [false, true] {
        let mut shorter = lines.clone();
        if keep_inside {
            shorter.remove(end);
            shorter.remove(at);
        } else {
            shorter.drain(at..=end);
        }
        if still(&join(&shorter)) {
            *lines = shorter;
            return;
        }
    }
}

fn is_balanced(lines: &[String]) -> bool {
    let mut depth = 0i64;
    for line in lines {
        depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

fn join(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
