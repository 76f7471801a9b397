//! Broken text for everything before the engines: tokens and bytes of real C are left out, doubled, moved and replaced. Nothing may
//! panic, and what comes out must be well formed, errors or not.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use proofline_syntax::{DataModel, FileSystem, Flags, OverlayFs, Preprocessor, RealFs, RuccPreprocessor};

use crate::Random;

/// Reads bytes as a C file, down to automata.
///
/// # Errors
/// A panic, or what is not well formed.
pub fn read(bytes: &[u8], flags: &Flags) -> Result<(), String> {
    let mut fs = OverlayFs::new(RealFs);
    let file = Path::new("/fuzz/input.c");
    fs.insert(file, bytes.to_vec());
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    let mut stage = "preprocessing";
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let preprocessed = RuccPreprocessor.preprocess(file, &*fs, flags);
        stage = "parsing";
        let unit = proofline_syntax::parse(preprocessed);
        stage = "HIR";
        let hir = proofline_hir::lower(&unit, flags);
        let violations = proofline_hir::verify::module(&hir.module);
        if let Some(violation) = violations.first() {
            return Err(format!("the HIR is not well formed: {violation:?}"));
        }
        stage = "automata";
        let lowered = proofline_cfa_build::lower(&hir.module, &hir.map);
        let (mut program, _) = proofline_cfa_build::link(vec![lowered]);
        let defects = proofline_cfa::verify::verify_program(&program);
        if let Some(defect) = defects.first() {
            return Err(format!("an automaton is not well formed: {defect:?}"));
        }
        stage = "library models";
        proofline_cfa_build::models::apply(&mut program, proofline_cfa_build::models::standard());
        stage = "obligations";
        proofline_verifier::checks::insert(&mut program);
        if let Some(defect) = proofline_cfa::verify::verify_program(&program).first() {
            return Err(format!("an automaton with obligations is not well formed: {defect:?}"));
        }
        stage = "surroundings";
        let _ = proofline_program_analysis::Environment::new(program);
        Ok(())
    }));
    match outcome {
        Ok(outcome) => outcome,
        Err(panic) => {
            let message = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Err(format!("panic in {stage}: {message}"))
        }
    }
}

/// Flags of a default run; every third input has the other data model.
pub fn flags(number: u64) -> Flags {
    let mut flags = Flags::default();
    if number % 3 == 2 {
        flags.data_model = DataModel::Ilp32;
    }
    flags
}

/// Texts to start from: the C files and the suites of the repository, in order.
pub fn corpus(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["analysis", "examples", "tests/suites"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if file.extension().is_some_and(|e| e == "c") {
            out.push(text);
        } else {
            // The C blocks of a suite.
            out.extend(text.split("```c").skip(1).filter_map(|block| {
                let (_, rest) = block.split_once('\n')?;
                Some(rest.split("```").next()?.to_owned())
            }));
        }
    }
    out.retain(|text| text.len() < 20_000);
    out
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|e| e.path())) {
        let is = |extension: &str| path.extension().is_some_and(|e| e == extension);
        if path.is_dir() {
            collect(&path, out);
        } else if is("c") || is("md") {
            out.push(path);
        }
    }
}

/// The input with that number.
pub fn input(corpus: &[String], number: u64) -> Vec<u8> {
    let mut random = Random::new(number.wrapping_mul(0x1234_5678_9abc_def1));
    if random.percent(4) {
        return (0..random.below(400)).map(|_| random.bits() as u8).collect();
    }
    let Some(text) = random.pick(corpus) else { return Vec::new() };
    if random.percent(30) {
        return bytes(text.as_bytes().to_vec(), &mut random);
    }
    let mut tokens: Vec<String> = tokens(text);
    let other: Vec<String> = random.pick(corpus).map(|text| self::tokens(text)).unwrap_or_default();
    for _ in 0..1 + random.below(6) {
        token(&mut tokens, &other, &mut random);
    }
    let text = tokens.concat().into_bytes();
    if random.percent(10) { bytes(text, &mut random) } else { text }
}

/// Words, numbers, spaces and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    for c in text.chars() {
        match out.last_mut() {
            Some(last) if kind(c) != 0 && last.chars().next_back().map(kind) == Some(kind(c)) => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

/// Words that start or end something.
const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "?",
    "=",
    "*",
    "&",
    ".",
    "->",
    "...",
    "#",
    "##",
    "\"",
    "'",
    "\\\n",
    " int ",
    " struct ",
    " union ",
    " enum ",
    " typedef ",
    " static ",
    " extern ",
    " const ",
    " _Bool ",
    " void ",
    " goto ",
    " switch ",
    " case ",
    " default ",
    " return ",
    " sizeof ",
    " _Alignof ",
    " __typeof__ ",
    " __attribute__((",
    " __extension__ ",
    " _Generic(",
    " _Static_assert(",
    " __builtin_",
    " asm ",
    " do ",
    " while ",
    " for ",
    " if ",
    " else ",
    "({",
    "})",
    " 0x",
    "1e999",
    " 18446744073709551616 ",
    " -1 ",
    " [1<<30] ",
    "/*",
    "//",
    "\n#define X X(",
    "\n#if 1/0\n",
    "\n#endif\n",
    "\n#include \"input.c\"\n",
    "\n#include <stdio.h>\n",
    " _Complex ",
    " _Atomic ",
    " long double ",
    " __int128 ",
    " inline ",
    " register ",
    " {0} ",
    " .m = ",
    " [3 ... 1] = ",
];

fn token(tokens: &mut Vec<String>, other: &[String], random: &mut Random) {
    if tokens.is_empty() {
        return;
    }
    let at = random.below(tokens.len());
    match random.below(9) {
        0 => {
            tokens.remove(at);
        }
        1 => tokens.insert(at, tokens[at].clone()),
        2 => {
            let with = random.below(tokens.len());
            tokens.swap(at, with);
        }
        3 | 4 => {
            let word = random.pick(WORDS).copied().unwrap_or(";");
            tokens.insert(at, word.to_owned());
        }
        5 => {
            let word = random.pick(WORDS).copied().unwrap_or(";");
            word.clone_into(&mut tokens[at]);
        }
        6 => {
            let end = (at + random.below(20)).min(tokens.len());
            tokens.drain(at..end);
        }
        7 => {
            let end = (at + random.below(40)).min(tokens.len());
            let piece = tokens[at..end].to_vec();
            let to = random.below(tokens.len());
            tokens.splice(to..to, piece);
        }
        _ => {
            if other.is_empty() {
                return;
            }
            let from = random.below(other.len());
            let end = (from + random.below(40)).min(other.len());
            tokens.splice(at..at, other[from..end].iter().cloned());
        }
    }
}

fn bytes(mut text: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..1 + random.below(8) {
        if text.is_empty() {
            break;
        }
        let at = random.below(text.len());
        match random.below(5) {
            0 => text[at] ^= 1 << random.below(8),
            1 => text[at] = random.bits() as u8,
            2 => text.truncate(at),
            3 => {
                text.remove(at);
            }
            _ => text.insert(at, random.bits() as u8),
        }
    }
    text
}
