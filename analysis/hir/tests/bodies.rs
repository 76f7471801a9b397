//! Bodies as they are lowered: every file of `bodies/` has its HIR beside it. `UPDATE=1` writes them anew; read the
//! difference before you commit it. Every module also keeps what [`proofline_hir::body`] promises.

use std::{fmt::Write, path::Path};

use proofline_hir::{lower, print, verify};
use proofline_syntax::{Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, parse};

/// The HIR of a text with its errors; `// flags:` on the first line gives flags.
fn hir(text: &str) -> String {
    let arguments: Vec<String> = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// flags:"))
        .map(|flags| flags.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default();
    let (flags, _) = Flags::from_args(&arguments, Path::new("")).expect("usable flags");
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &flags));
    let lowered = lower(&unit, &flags);
    assert_eq!(verify::module(&lowered.module), [], "the module keeps its promises:\n{text}");
    let mut out = print::module(&lowered.module);
    for error in &lowered.errors {
        let (line, column) = unit.files().line_col(error.span.file, error.span.start);
        let _ = writeln!(out, "// {}:{}: {}", line + 1, column + 1, error.message);
    }
    out
}

#[test]
fn every_body_is_lowered_as_its_file_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    let mut sources: Vec<_> = std::fs::read_dir(&directory)
        .expect("the directory of bodies")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 7, "the bodies are there");
    let mut different = Vec::new();
    for source in sources {
        let found = hir(&std::fs::read_to_string(&source).expect("a readable file"));
        let expected_path = source.with_extension("hir");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected_path, &found).expect("a writable file");
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        for (index, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            if found != expected {
                different.push(format!(
                    "{}:{}:\n  is  {found}\n  not {expected}",
                    expected_path.display(),
                    index + 1
                ));
            }
        }
        if found.lines().count() != expected.lines().count() {
            different.push(format!("{}: more or fewer lines", expected_path.display()));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// Words of a text: identifiers and numbers whole, everything else by character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, tail) = rest.split_at(length);
        words.push(word);
        rest = tail;
    }
    words
}

#[test]
fn damaged_text_is_lowered_to_bodies_that_keep_their_promises() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for name in ["conversions", "access", "statements", "gnu", "misread", "errors"] {
        let text =
            std::fs::read_to_string(directory.join(name).with_extension("c")).expect("a readable file");
        for _ in 0..50 {
            let mut words = words(&text);
            for _ in 0..1 + random.below(4) {
                let (at, other) = (random.below(words.len()), random.below(words.len()));
                match random.below(4) {
                    0 => {
                        words.remove(at);
                    }
                    1 => words.insert(at, words[other]),
                    2 => words.swap(at, other),
                    _ => words[at] = words[other],
                }
            }
            hir(&words.concat());
        }
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    for (open, close, count) in
        [("(", ")", 3000), ("-", "", 3000), ("*&", "", 3000), ("!(", ")", 1000), ("a[", "]", 1000)]
    {
        let text =
            format!("int *a; int f(int x) {{ return {}x{}; }}", open.repeat(count), close.repeat(count));
        hir(&text);
    }
    let sum = format!("int f(int x) {{ return x{}; }}", " + x".repeat(20_000));
    hir(&sum);
    let chain = format!("int f(int x) {{ if (x) x = 1; {} return x; }}", "else if (x) x = 2; ".repeat(3000));
    hir(&chain);
    let blocks = format!("int f(int x) {{ {} x++; {} }}", "{".repeat(3000), "}".repeat(3000));
    hir(&blocks);
    let commas = format!("void f(int x) {{ x{}; }}", ", x++".repeat(20_000));
    hir(&commas);
}
