//! Flags with which a compiler gives the same text another meaning than the one that is modelled here. What they change is not verified: whoever reads the flags
//! is told what they concern, so that nothing is proved of it.

use super::Flags;

/// What a flag concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Concerns {
    /// All of the file.
    Everything,
    /// Arithmetic of floating numbers.
    Floats,
    /// Products of floating numbers that are added to others: both may be rounded at once.
    Fused,
    /// What pragmas of OpenMP stand before: it may run in several threads.
    Parallel,
}

/// A flag that is not modelled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    /// As it was given.
    pub flag: String,
    /// What it concerns.
    pub concerns: Concerns,
}

/// Whole flags, by what they concern. `-fno-…` takes `-f…` back.
const WHOLE: [(&str, Concerns); 29] = [
    ("-mms-bitfields", Concerns::Everything),
    ("-malign-double", Concerns::Everything),
    ("-mlong-double-64", Concerns::Everything),
    ("-mlong-double-128", Concerns::Everything),
    ("-mx32", Concerns::Everything),
    ("-m16", Concerns::Everything),
    ("-fms-extensions", Concerns::Everything),
    ("-fplan9-extensions", Concerns::Everything),
    ("-fshort-wchar", Concerns::Everything),
    ("-funsigned-bitfields", Concerns::Everything),
    ("-fno-signed-bitfields", Concerns::Everything),
    ("-fpreprocessed", Concerns::Everything),
    ("-fgnu-tm", Concerns::Everything),
    ("-trigraphs", Concerns::Everything),
    ("-undef", Concerns::Everything),
    ("-traditional", Concerns::Everything),
    ("-traditional-cpp", Concerns::Everything),
    ("-Ofast", Concerns::Floats),
    ("-ffast-math", Concerns::Floats),
    ("-ffinite-math-only", Concerns::Floats),
    ("-funsafe-math-optimizations", Concerns::Floats),
    ("-fassociative-math", Concerns::Floats),
    ("-freciprocal-math", Concerns::Floats),
    ("-fno-signed-zeros", Concerns::Floats),
    ("-fsingle-precision-constant", Concerns::Floats),
    ("-mfma", Concerns::Fused),
    ("-mfma4", Concerns::Fused),
    ("-fopenmp", Concerns::Parallel),
    ("-fopenacc", Concerns::Parallel),
];

/// Beginnings of flags that have a value.
const VALUED: [&str; 6] =
    ["-fexec-charset=", "-fwide-exec-charset=", "-finput-charset=", "--sysroot", "-isysroot", "-include-pch"];

/// Processors that cannot multiply and add at once.
const UNFUSED: [&str; 28] = [
    "x86-64",
    "x86-64-v2",
    "i386",
    "i486",
    "i586",
    "i686",
    "pentium",
    "pentium4",
    "pentium-m",
    "prescott",
    "nocona",
    "core2",
    "corei7",
    "nehalem",
    "westmere",
    "sandybridge",
    "corei7-avx",
    "ivybridge",
    "core-avx-i",
    "bonnell",
    "atom",
    "silvermont",
    "goldmont",
    "k8",
    "opteron",
    "athlon64",
    "amdfam10",
    "btver2",
];

impl Change {
    /// What a flag changes, if it is one of these.
    fn of(flag: &str) -> Option<Change> {
        let change = |concerns| Some(Change { flag: flag.to_owned(), concerns });
        if let Some((_, concerns)) = WHOLE.iter().find(|(whole, _)| *whole == flag) {
            return change(*concerns);
        }
        // What is read is UTF-8, and so is what it becomes.
        let charset = flag.split_once("charset=").map(|(_, name)| name.to_ascii_lowercase());
        if charset.is_some_and(|name| name == "utf-8" || name == "utf8") && !flag.contains("wide") {
            return None;
        }
        if flag != "--sysroot=/" && VALUED.iter().any(|start| flag.starts_with(start)) {
            return change(Concerns::Everything);
        }
        if let Some(unit) = flag.strip_prefix("-mfpmath=") {
            return if unit == "sse" { None } else { change(Concerns::Floats) };
        }
        if let Some(processor) = flag.strip_prefix("-march=") {
            return if UNFUSED.contains(&processor) { None } else { change(Concerns::Fused) };
        }
        if let Some(target) = flag.strip_prefix("--target=") {
            let is_known =
                (target.starts_with("x86_64") || target.starts_with("i686")) && target.contains("linux");
            return if is_known { None } else { change(Concerns::Everything) };
        }
        // A file with more arguments.
        if flag.starts_with('@') { change(Concerns::Everything) } else { None }
    }
}

/// Whether an attribute or a pragma `optimize` with this text changes what floating arithmetic means: `"Ofast"`, `"O2,fast-math"`, `"-ffast-math"`.
#[must_use]
pub fn changes_floats(optimize: &str) -> bool {
    let words = optimize.split(|c: char| c == ',' || c == '"' || c.is_whitespace());
    let flag = |word: &str| match word.as_bytes() {
        [b'-', ..] => word.to_owned(),
        [b'O', ..] => format!("-{word}"),
        _ => format!("-f{word}"),
    };
    words.filter_map(|word| Change::of(&flag(word))).any(|change| change.concerns == Concerns::Floats)
}

impl Flags {
    /// Notes what a flag changes; what it concerns, if it is one that is known to change something.
    pub(super) fn changed_by(&mut self, flag: &str) -> Option<Concerns> {
        if flag == "-ffp-contract=off" || flag == "-ffp-contract=on" {
            self.contracts = Some(false);
        } else if flag == "-ffp-contract=fast" {
            self.contracts = Some(true);
        } else if flag == "-mfpmath=sse" {
            self.sse = true;
        }
        // The last of two that contradict each other counts.
        let opposite = match flag.strip_prefix("-fno-") {
            Some(rest) => format!("-f{rest}"),
            None => flag.strip_prefix("-f").map(|rest| format!("-fno-{rest}")).unwrap_or_default(),
        };
        self.changes.retain(|change| change.flag != opposite);
        let found = Change::of(flag);
        let concerns = found.as_ref().map(|found| found.concerns);
        self.changes.extend(found);
        concerns
    }

    /// The flag that concerns this, and is not modelled.
    #[must_use]
    pub fn unmodelled(&self, concerns: Concerns) -> Option<&str> {
        // What C says of it is not what GNU's C does, unless it is told.
        if concerns == Concerns::Fused && !self.contracts.unwrap_or(self.standard.gnu) {
            return None;
        }
        self.changes.iter().find(|change| change.concerns == concerns).map(|change| &*change.flag)
    }
}
