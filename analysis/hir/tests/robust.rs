//! Damaged text never makes the lowering panic or run away: a program with many constructs is mutated token by token.

use std::path::Path;

use proofline_hir::lower;
use proofline_syntax::{DataModel, Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, parse};

const PROGRAM: &str = include_str!("bodies/declarations.c");

/// splitmix64
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn lower_text(text: &str, model: DataModel) -> usize {
    let flags = Flags { data_model: model, ..Flags::default() };
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &flags));
    lower(&unit, &flags).errors.len() + unit.errors().len()
}

/// Words, numbers, literals and single punctuators.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |at| at + 2)
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = &rest[length..];
    }
    tokens
}

#[test]
fn the_program_itself_is_understood() {
    assert_eq!(lower_text(PROGRAM, DataModel::Lp64), 0);
    assert_eq!(lower_text(PROGRAM, DataModel::Ilp32), 0);
}

#[test]
fn no_mutation_makes_it_panic() {
    let rounds = std::env::var("ROBUST_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150u64);
    let source = std::env::var("ROBUST_FILE").ok().and_then(|f| std::fs::read_to_string(f).ok());
    let program = source.as_deref().unwrap_or(PROGRAM);
    let original = tokens(program);
    for seed in 0..rounds {
        let mut state = seed;
        let mut mutant = original.clone();
        for _ in 0..1 + next(&mut state) % 6 {
            let at = next(&mut state) as usize % mutant.len();
            let other = next(&mut state) as usize % mutant.len();
            match next(&mut state) % 5 {
                0 => drop(mutant.remove(at)),
                1 => mutant.swap(at, other),
                2 => mutant.insert(at, original[other % original.len()]),
                3 => mutant[at] = mutant[other],
                _ => {
                    let end = (at + 1 + next(&mut state) as usize % 20).min(mutant.len());
                    mutant.drain(at..end);
                }
            }
        }
        let text: String = mutant.concat();
        let outcome = std::panic::catch_unwind(|| lower_text(&text, DataModel::Lp64));
        assert!(outcome.is_ok(), "seed {seed}:\n{text}");
    }
}
