//! `#pragma pack` reaches the layout; other pragmas that change the meaning are refused.

use super::Normaliser;
use crate::flags::changes_floats;

impl Normaliser<'_> {
    /// Acts on one pragma.
    pub(super) fn pragma(&mut self, index: usize) {
        let pragmas = self.pragmas;
        let pragma = &pragmas[index];
        let words: Vec<&str> = pragma.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["pack", "(", arguments @ .., ")"] => {
                let known = self.pack(arguments);
                if !known {
                    self.error("this `#pragma pack` is not understood", pragma.span);
                }
            }
            ["pack", ..] => self.error("this `#pragma pack` is not understood", pragma.span),
            ["scalar_storage_order", ..] => {
                self.error("`#pragma scalar_storage_order` is not supported", pragma.span);
            }
            ["ms_struct", "on" | "1", ..] => {
                self.error("`#pragma ms_struct` is not supported", pragma.span);
            }
            ["GCC", "optimize", options @ ..] if options.iter().any(|text| changes_floats(text)) => {
                self.error(
                    "floating arithmetic as this `#pragma GCC optimize` wants it is not supported",
                    pragma.span,
                );
            }
            // Another name, or another function, than the text says.
            [name @ ("weak" | "redefine_extname"), ..] => {
                self.error(format!("`#pragma {name}` is not supported"), pragma.span);
            }
            _ => {}
        }
    }

    /// `pack()`, `pack(n)`, `pack(push[, name][, n])`, `pack(pop[, name][, n])`.
    fn pack(&mut self, arguments: &[&str]) -> bool {
        let mut current = self.packs.last().and_then(|&(_, pack)| pack);
        let arguments: Vec<&str> = arguments.iter().copied().filter(|word| *word != ",").collect();
        let bytes = |word: &str| word.parse().ok().filter(|n| matches!(n, 0 | 1 | 2 | 4 | 8 | 16));
        let (action, rest) = match arguments.as_slice() {
            [] => {
                current = None;
                ("", [].as_slice())
            }
            ["push", rest @ ..] => ("push", rest),
            ["pop", rest @ ..] => ("pop", rest),
            ["show"] => return true,
            rest => ("", rest),
        };
        let (name, value) = match rest {
            [] => (None, None),
            [word] if let Some(n) = bytes(word) => (None, Some(n)),
            [name] if !action.is_empty() => (Some((*name).to_owned()), None),
            [name, word] if let Some(n) = bytes(word) => (Some((*name).to_owned()), Some(n)),
            _ => return false,
        };
        match action {
            "push" => self.pack_stack.push((name, current)),
            "pop" => {
                let depth = match &name {
                    Some(_) => self.pack_stack.iter().rposition(|(pushed, _)| *pushed == name),
                    None => self.pack_stack.len().checked_sub(1),
                };
                if let Some(depth) = depth {
                    current = self.pack_stack[depth].1;
                    self.pack_stack.truncate(depth);
                }
            }
            _ => {}
        }
        if let Some(n) = value {
            current = (n != 0).then_some(n);
        }
        self.packs.push((self.pieces.len(), current));
        true
    }
}
