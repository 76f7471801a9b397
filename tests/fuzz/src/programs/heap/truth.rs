//! What really happens: the program compiled with AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer, and again with
//! MemorySanitizer, on the same inputs.

use std::process::Output;

use anyhow::Result;

use crate::programs::{
    compiled::{Build, Compiler, Ended, Executable, behaviour},
    program::{Manner, Vector},
};

/// Sees what is outside, ended or lost.
const ADDRESSES: Build = Build {
    compiler: "gcc",
    flags: &["-O0", "-fsanitize=address,undefined", "-fsanitize-address-use-after-scope"],
};

/// Sees what has no value.
const VALUES: Build =
    Build { compiler: "clang", flags: &["-O0", "-fsanitize=memory", "-fsanitize-memory-param-retval"] };

/// Checks, one of which has to fail where a sanitizer stops a run, by what the sanitizer says.
const KINDS: [(&str, &[&str]); 13] = [
    ("LeakSanitizer", &["memory-leak"]),
    ("use-of-uninitialized", &["uninitialised", "library-call"]),
    ("heap-use-after-free", &["use-after-free", "library-call", "invalid-free"]),
    ("stack-use-after", &["dangling-pointer", "library-call"]),
    ("double-free", &["invalid-free"]),
    ("not malloc()-ed", &["invalid-free"]),
    ("bad-free", &["invalid-free"]),
    // A variable that AddressSanitizer keeps on a stack of its own in the heap was freed.
    ("alloc-dealloc-mismatch", &["invalid-free"]),
    ("-overflow", &["out-of-bounds", "array-bounds", "library-call"]),
    ("-underflow", &["out-of-bounds", "array-bounds", "library-call"]),
    ("out of bounds", &["out-of-bounds", "array-bounds"]),
    ("insufficient space", &["out-of-bounds", "array-bounds"]),
    ("null pointer", &["null-dereference", "library-call"]),
];

/// What a run does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fact {
    /// It ends, and has seen this.
    Right(Vec<(usize, i64)>),
    /// A sanitizer stops it.
    Wrong(Trouble),
    TooLong,
}

/// Why a sanitizer stops a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Trouble {
    /// From 1. A leak has no line of its own.
    pub(super) line: u32,
    /// Checks, one of which is violated; none if it is nothing that these programs are to do.
    pub(super) checks: &'static [&'static str],
    pub(super) message: String,
}

/// A program in both builds.
pub(super) struct Truth {
    addresses: Executable,
    values: Executable,
}

impl Trouble {
    pub(super) fn is_leak(&self) -> bool {
        self.checks == ["memory-leak"]
    }

    /// On a busy machine the sanitizer may be stopped before it has said where.
    fn fact(self) -> Fact {
        if self.line == 0 && !self.is_leak() { Fact::TooLong } else { Fact::Wrong(self) }
    }
}

impl Truth {
    /// # Errors
    /// If a compiler does not take the program.
    pub(super) fn new(compiler: &Compiler, text: &str) -> Result<Truth> {
        let manner = Manner::default();
        Ok(Truth {
            addresses: compiler.build(text, "addresses", manner, ADDRESSES)?,
            values: compiler.build(text, "values", manner, VALUES)?,
        })
    }

    /// What it does with these inputs.
    ///
    /// # Errors
    /// If it cannot be run.
    pub(super) fn of(&self, vector: &Vector) -> Result<Fact> {
        let addresses = self.addresses.output(vector, "detect_leaks=1:detect_stack_use_after_return=1")?;
        // A read of what has no value comes before what is noticed at the end.
        let first = trouble(&addresses);
        if first.as_ref().is_none_or(Trouble::is_leak) {
            let values = self.values.output(vector, "")?;
            if let Some(trouble) = trouble(&values) {
                return Ok(trouble.fact());
            }
        }
        if let Some(trouble) = first {
            return Ok(trouble.fact());
        }
        let behaviour = behaviour(&addresses)?;
        Ok(match behaviour.ended {
            Ended::TooLong => Fact::TooLong,
            _ => Fact::Right(behaviour.observed),
        })
    }
}

/// What a sanitizer says, and the innermost line of the program.
fn trouble(output: &Output) -> Option<Trouble> {
    if output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let is_message = |line: &&str| {
        line.contains("runtime error:") || line.contains("ERROR: ") || line.contains("WARNING: ")
    };
    let message = text.lines().find(is_message).unwrap_or("killed");
    let checks =
        KINDS.iter().find(|(words, _)| message.contains(words)).map_or(&[][..], |(_, checks)| *checks);
    // The text is the first file: `…/addresses-0.c:12:3`.
    let line = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("-0.c:")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    Some(Trouble { line: line.unwrap_or(0), checks, message: message.to_owned() })
}
