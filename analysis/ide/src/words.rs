//! What people read instead of the names of engines and methods: why a place is not decided and what would help, why one is proved, and what
//! is being done. Everything that editors and the terminal show of these comes from here; JSON has the verifier's own words.

pub use proofline_verifier::engines::method;
use proofline_verifier::{Unknown, engines::Method, portfolio::Doing};

/// Why something is not decided.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Why {
    /// A clause: "it depends on the callers".
    pub reason: String,
    /// What would help.
    pub help: Option<&'static str>,
}

const MORE_EFFORT: &str =
    "verify the function with more effort, or say with `assert` what you know to hold before this place";
const CALLERS: &str =
    "write down what callers pass, as a contract in front of the function: `/*@ requires \\valid(p); */`";

/// Why an obligation is not decided.
pub fn why(unknown: &Unknown) -> Why {
    let (reason, help) = match unknown {
        Unknown::Cancelled => ("the work was stopped before", Some("verify it again")),
        Unknown::OutOfBudget => ("it takes more work than the settings allow", Some(MORE_EFFORT)),
        Unknown::OutOfMemory => (
            "it takes more memory than the settings allow",
            Some(
                "allow more: `memoryLimitMb` in editors, `--memory` or `--engine-memory` on the command line",
            ),
        ),
        Unknown::SolverStopped => (
            "a helper program of Proofline ended in the middle of it, more than once",
            Some("verify it again"),
        ),
        Unknown::OutOfTime => (
            "the time limit was over",
            Some("allow more time: `timeLimitSeconds` in editors, `--limit` on the command line"),
        ),
        Unknown::NotApplicable(_) => ("nothing that was tried fits this place", Some(MORE_EFFORT)),
        Unknown::NoProgress(what) => return no_progress(what),
        Unknown::Unsupported(what) => return unsupported(what),
        Unknown::Unconfirmed(what) => return unconfirmed(what),
        Unknown::IfCallersKeep => ("it holds if callers pass what the function needs", None),
        Unknown::IfEnsured(functions) => {
            return Why {
                reason: format!(
                    "it rests on what the contract of {functions} ensures, and that is not proved"
                ),
                help: Some("prove the `ensures` of that contract, or take it away"),
            };
        }
        Unknown::InternalError(what) => {
            return Why {
                reason: format!("internal error: {what}"),
                help: Some("please report it with the file"),
            };
        }
    };
    Why { reason: reason.to_owned(), help }
}

/// The verifier's texts say what is missing in C's words.
fn unsupported(what: &str) -> Why {
    if what.starts_with("code that is not here may call") {
        let help =
            "make the function `static` and keep its address to this file, if no other code may call it";
        return Why { reason: what.to_owned(), help: Some(help) };
    }
    if what.contains("errors, so parts") {
        return Why {
            reason: what.to_owned(),
            help: Some("see the warnings of this file: mostly a header or a `-D` is missing"),
        };
    }
    let is_ours = ["inlining", "calls to inline", "recursive calls", "unwound", "construct"]
        .iter()
        .any(|word| what.contains(word));
    let reason = if is_ours {
        "nothing that was tried fits this place".to_owned()
    } else {
        format!("Proofline cannot follow this: {what}")
    };
    Why { reason, help: None }
}

/// What engines say that people can use as it is, by how it begins, and what helps then.
const SAID: &[(&str, &str)] = &[
    (
        "the ranges of the values allow the mistake",
        "say with `assert` what keeps the values apart, or test it and return early",
    ),
    (
        "a way to the mistake was found on which bits",
        "say with `assert`, in front of the place, what holds there",
    ),
    ("the mistake seems possible, and no inputs", "look at the place yourself: it may well be wrong"),
    ("what earlier calls allocated here", "keep what was allocated where it can be seen, or free it"),
];

/// Reasons without a mistake in sight. Those about callers and memory are told as they are.
fn unconfirmed(what: &str) -> Why {
    if what.contains("callers") {
        return Why { reason: what.to_owned(), help: Some(CALLERS) };
    }
    match SAID.iter().find(|(start, _)| what.starts_with(start)) {
        Some((_, help)) => Why { reason: what.to_owned(), help: Some(help) },
        None => Why {
            reason: "no run was found that fails here, and no proof that none does".to_owned(),
            help: Some(MORE_EFFORT),
        },
    }
}

/// What was missing to exclude the mistake.
fn no_progress(what: &str) -> Why {
    if what.starts_with("no loop invariant") {
        let help = "say with `assert`, at the head of the loop, what holds in each round";
        return Why {
            reason: "what holds in every round of a loop before this place was not found".to_owned(),
            help: Some(help),
        };
    }
    if let Some(operator) = what.strip_suffix(" of two variables is too hard for the solver") {
        let help = "divide by a constant, or say with `assert` what the result may be";
        let operation = match operator {
            "`*`" => "a product",
            "`mod`" | "`rem`" | "`%`" => "a remainder",
            _ => "a quotient",
        };
        return Why { reason: format!("{operation} of two variables is too hard"), help: Some(help) };
    }
    let help = "say with `assert`, in front of the place, why it cannot happen";
    Why { reason: "what excludes it was not found".to_owned(), help: Some(help) }
}

/// Why something is proved.
pub fn how(method: Option<Method>) -> &'static str {
    match method {
        Some(Method::Runs) => "every run there is was carried out",
        Some(Method::Values) => "no value that is possible here makes it fail",
        Some(Method::Memory) => "the memory that is possible here does not allow it to fail",
        Some(Method::Invariants) => {
            "what holds in every round of the loops, and whenever functions are called, excludes it"
        }
        Some(Method::Induction) => {
            "it holds in the first rounds of each loop, and in every round because it did in those before"
        }
        Some(Method::Paths) => "every path to this place was followed, and none fails",
        Some(Method::Cases) => "each value that an input can have was looked at by itself",
        Some(Method::OlderProof) => "what was proved of the text before the last edit still shows it",
        Some(Method::Contracts) => "it follows from what callers pass, as the contracts say",
        None => "it was proved before",
    }
}

/// A condition of the verifier in C's words, perhaps with more behind it: `(a + b) overflows == 0` is "a + b does not overflow".
pub fn condition(text: &str) -> String {
    let Some((sum, rest)) = text.split_once(" overflows == 0") else { return text.to_owned() };
    let inner = sum.strip_prefix('(').and_then(|sum| sum.strip_suffix(')')).unwrap_or(sum);
    format!("{inner} does not overflow{rest}")
}

/// The opposite of a condition.
pub(crate) fn negation(condition: &str) -> String {
    let pairs = [
        (" != ", " == "),
        (" == ", " != "),
        (" <= ", " > "),
        (" >= ", " < "),
        (" < ", " >= "),
        (" > ", " <= "),
    ];
    let found: Vec<_> = pairs.iter().filter(|(op, _)| condition.contains(op)).collect();
    match found.as_slice() {
        [(op, opposite)] if condition.matches(op).count() == 1 => condition.replacen(op, opposite, 1),
        _ => format!("!({condition})"),
    }
}

/// What is being done, for a status line.
pub fn doing(doing: &Doing) -> String {
    match doing.open {
        1 => format!("{}: 1 place to go", doing.entry.written()),
        open => format!("{}: {open} places to go", doing.entry.written()),
    }
}
