//! What a tool says about a program: where it sees which kind of error.

use std::path::PathBuf;

/// Kinds of errors. Tools draw the lines between them differently, so a family of programs takes several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    /// An access outside of an object.
    Bounds,
    /// An access of an object that has ended.
    Lifetime,
    /// A `free` of what is not to be freed, or not any more.
    Free,
    Leak,
    /// A read of what nothing has been written to.
    Uninitialised,
    Null,
    /// A call of the library that it does not allow.
    Library,
    /// A result that its type does not hold.
    Overflow,
    Division,
    Shift,
    Other,
}

/// One error that a tool sees.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Alert {
    pub(super) file: PathBuf,
    pub(super) line: u32,
    pub(super) kind: Kind,
    /// The tool's own name for it.
    pub(super) name: String,
    /// Other places that the tool shows as part of the way there.
    pub(super) way: Vec<(PathBuf, u32)>,
}

/// What a tool says about the whole program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    /// No error can happen.
    Proved,
    /// There is one.
    Violated,
    /// With the reason.
    Unknown(String),
    /// It does not answer.
    Crash(String),
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) verdict: Verdict,
    pub(super) alerts: Vec<Alert>,
    /// What the tool could not decide, by its reasons: the kind, and the words.
    pub(super) undecided: Vec<(Kind, String)>,
    /// Seconds of processor time.
    pub(super) cpu: f64,
    /// Peak, MiB.
    pub(super) memory: u64,
}

impl Kind {
    /// Of one of Proofline's checks.
    pub(super) fn of_check(check: &str) -> Kind {
        match check {
            "out-of-bounds" | "array-bounds" | "pointer-arithmetic" => Kind::Bounds,
            "use-after-free" | "dangling-pointer" => Kind::Lifetime,
            "invalid-free" => Kind::Free,
            "memory-leak" => Kind::Leak,
            "uninitialised" => Kind::Uninitialised,
            "null-dereference" | "invalid-stream" => Kind::Null,
            "library-call" => Kind::Library,
            "signed-overflow" | "float-to-int" => Kind::Overflow,
            "division-by-zero" => Kind::Division,
            "invalid-shift" => Kind::Shift,
            _ => Kind::Other,
        }
    }

    /// Of a warning of gcc.
    pub(super) fn of_gcc(option: &str) -> Kind {
        let says = |words: &[&str]| words.iter().any(|word| option.contains(word));
        if says(&["double-free", "free-of-non-heap", "free-nonheap", "mismatching-deallocation"]) {
            Kind::Free
        } else if says(&["use-after", "dangling", "return-local", "stale-setjmp"]) {
            Kind::Lifetime
        } else if says(&["leak"]) {
            Kind::Leak
        } else if says(&["uninit"]) {
            Kind::Uninitialised
        } else if says(&["null"]) {
            Kind::Null
        } else if says(&[
            "bounds",
            "overflow=",
            "overread",
            "stringop",
            "restrict",
            "format-",
            "allocation-size",
        ]) {
            Kind::Bounds
        } else if says(&["div-by-zero"]) {
            Kind::Division
        } else if says(&["shift"]) {
            Kind::Shift
        } else if says(&["overflow"]) {
            Kind::Overflow
        } else {
            Kind::Other
        }
    }

    /// Of a message of cppcheck.
    pub(super) fn of_cppcheck(id: &str) -> Kind {
        let says = |words: &[&str]| words.iter().any(|word| id.contains(word));
        if says(&["doubleFree", "autovarInvalidDealloc", "mismatchAllocDealloc"]) {
            Kind::Free
        } else if says(&[
            "deallocuse",
            "deallocret",
            "useAfter",
            "Lifetime",
            "returnDangling",
            "danglingT",
            "autoVariables",
        ]) {
            Kind::Lifetime
        } else if says(&["Leak", "leak"]) {
            Kind::Leak
        } else if says(&["uninit", "Uninit"]) {
            Kind::Uninitialised
        } else if says(&["nullPointer", "NullPointer"]) {
            Kind::Null
        } else if says(&[
            "OutOfBounds",
            "bufferAccess",
            "negativeIndex",
            "objectIndex",
            "BufferOverrun",
            "terminateStrncpy",
        ]) {
            Kind::Bounds
        } else if says(&["zerodiv"]) {
            Kind::Division
        } else if says(&["shift"]) {
            Kind::Shift
        } else if says(&["integerOverflow"]) {
            Kind::Overflow
        } else {
            Kind::Other
        }
    }

    /// Of the words of an alarm of Eva.
    pub(super) fn of_eva(text: &str) -> Kind {
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if says(&["dangling", "escaping"]) {
            Kind::Lifetime
        } else if says(&["freeable"]) {
            Kind::Free
        } else if says(&["initialized", "initialised"]) {
            Kind::Uninitialised
        } else if says(&["out of bounds", "valid", "index_bound", "overlap", "precondition"]) {
            // Eva has one alarm for null, for what is outside and for what is no pointer.
            Kind::Bounds
        } else if says(&["division by zero"]) {
            Kind::Division
        } else if says(&["shift"]) {
            Kind::Shift
        } else if says(&["overflow", "NaN", "infinite"]) {
            Kind::Overflow
        } else {
            Kind::Other
        }
    }
}
