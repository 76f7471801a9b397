//! What the macros of the main file become where they are used. Knows tokens, no tree.

use super::Unit;
use crate::source::{FileId, Span};
use crate::token::{TextId, Token};

/// Characters of an expansion that are still worth reading.
const MOST: usize = 600;

impl Unit {
    /// The macros used in the main file, in order: the name where it is used, its spelling, and what it becomes. A macro that becomes
    /// nothing, or nothing but its arguments, is not among them.
    #[must_use]
    pub fn expansions(&self) -> Vec<(Span, String, String)> {
        let mut out = Vec::new();
        let mut run = Run::default();
        for token in &self.tokens {
            if token.macro_name.is_none() || token.macro_name != run.name {
                self.finish(&mut run, &mut out);
                run = Run { name: token.macro_name, ..Run::default() };
            }
            let Some(name) = token.macro_name.filter(|_| token.expansion.file == FileId::MAIN) else {
                continue;
            };
            let is_of_body = self.files.span_text(token.expansion) == self.texts.get(name);
            match run.place {
                Some(place) if is_of_body && place != token.expansion => {
                    // The next use; arguments behind its name are its own.
                    let at = run.tokens.iter().rposition(|t| t.expansion.start <= token.expansion.start);
                    let own = run.tokens.split_off(at.map_or(0, |at| at + 1));
                    self.finish(&mut run, &mut out);
                    run = Run { name: Some(name), place: Some(token.expansion), tokens: own };
                }
                None if is_of_body => run.place = Some(token.expansion),
                Some(_) | None => {}
            }
            run.tokens.push(*token);
        }
        self.finish(&mut run, &mut out);
        out
    }

    fn finish(&self, run: &mut Run, out: &mut Vec<(Span, String, String)>) {
        let tokens = std::mem::take(&mut run.tokens);
        let (Some(name), Some(place)) = (run.name, run.place.take()) else { return };
        let mut text = String::new();
        for token in &tokens {
            let word = self.texts.get(token.text);
            let is_tight = text.is_empty()
                || text.ends_with(['(', '[', '!', '~', '.'])
                || text.ends_with("->")
                || matches!(word, ")" | "]" | "," | ";" | "." | "->")
                || word == "(" && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if !is_tight {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() > MOST {
                text.push_str(" …");
                break;
            }
        }
        out.push((place, self.texts.get(name).to_owned(), text));
    }
}

/// Tokens that came out of one use of a macro.
#[derive(Default)]
struct Run {
    name: Option<TextId>,
    place: Option<Span>,
    tokens: Vec<Token>,
}
