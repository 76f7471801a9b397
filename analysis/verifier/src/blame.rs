//! Whose fault a violation in library code is. A function that nobody calls is run with all arguments; a failure that some arguments
//! avoid is the callers' matter (*latent*: an inferred precondition), one that no argument avoids, or that stands in a branch which the
//! function itself chose by testing the very thing, is the function's own (*manifest*).
//!
//! The judgement walks the trace of one violating run and keeps, for every variable, what it is in terms of the entry function's
//! arguments and of the globals at its start. It decides how a confirmed violation is shown, never whether it is one.

mod conditions;
mod symbols;

use proofline_cfa::{Expr, Obligation, Op, expr_text};

use crate::{interpret::Run, load::Loaded};

use conditions::Conditions;
use symbols::Symbols;

/// Whose fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blame {
    /// The program's or function's own.
    Manifest,
    /// The callers', who must not give such arguments.
    Latent(Precondition),
}

/// What callers must see to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Precondition {
    /// A condition over the entry's arguments and globals under which this violation cannot happen, as C text: `b != 0`. `None` if it
    /// cannot be said so.
    pub requires: Option<String>,
    /// When it happens: `n > 10`.
    pub fails_when: Option<String>,
}

/// Judges a violating run that started in a function of a library.
pub(crate) fn judge(loaded: &Loaded, run: &Run, obligation: &Obligation) -> Blame {
    let Some(trace) = run.trace.as_ref().filter(|trace| trace.dropped == 0) else {
        return Blame::Latent(Precondition { requires: None, fails_when: None });
    };
    let Some(first) = trace.events.first() else { return Blame::Manifest };
    let Some(entry) = loaded.program().function(first.function) else { return Blame::Manifest };
    let mut symbols = Symbols::new(loaded.program(), entry, first.depth);
    // What the function asks about its arguments on the way, and what its loops ask.
    let (mut asked, mut loops) = (Conditions::default(), Conditions::default());
    let mut depends_on_loops = false;
    let mut failure = None;
    for event in &trace.events {
        let Some(function) = loaded.program().function(event.function) else { continue };
        let edge = function.edge(event.edge);
        if let Op::Assume(condition) = &edge.op {
            let value = symbols.value(condition, event.depth);
            if edge.to == obligation.error {
                failure = Some(value);
                continue;
            }
            let siblings: Vec<_> = function.edges.iter().filter(|other| other.from == edge.from).collect();
            let is_obligation = siblings.iter().any(|other| function.obligation_at(other.to).is_some());
            if siblings.len() < 2 || is_obligation || !value.depends {
                continue;
            }
            let structure = loaded.env().structure(function.name);
            let leaves = structure.innermost_loop(edge.from).is_some_and(|index| {
                let body = &structure.loops()[index].body;
                siblings.iter().any(|other| !body.contains(&other.to))
            });
            if leaves {
                depends_on_loops = true;
                loops.add(value.expr);
            } else {
                asked.add(value.expr);
            }
        }
        symbols.event(loaded.program(), function, event);
    }
    // An error call is reached without a condition of its own.
    let Some(failure) = failure else {
        return if asked.is_empty() && !depends_on_loops {
            Blame::Manifest
        } else {
            let all = asked.joined(&loops);
            let text = all.all_known().then(|| all.text(entry)).flatten();
            Blame::Latent(Precondition { requires: None, fails_when: text })
        };
    };
    if !failure.depends && !depends_on_loops {
        return Blame::Manifest;
    }
    if failure.depends
        && !depends_on_loops
        && let Some(condition) = &failure.expr
        && asked.imply(condition)
    {
        return Blame::Manifest;
    }
    let Some(condition) = failure.expr.filter(|_| failure.depends) else {
        let text = loops.all_known().then(|| loops.text(entry)).flatten();
        return Blame::Latent(Precondition { requires: None, fails_when: text });
    };
    let related = asked.joined(&loops).about(&condition);
    if related.is_empty() {
        let requires = Some(readable(entry, &condition.negated(), true));
        return Blame::Latent(Precondition {
            requires,
            fails_when: Some(readable(entry, &condition, false)),
        });
    }
    let mut all = related;
    all.add(Some(condition));
    Blame::Latent(Precondition { requires: None, fails_when: all.text(entry) })
}

/// A condition as people write it.
fn readable(entry: &proofline_cfa::Function, condition: &Expr, is_requirement: bool) -> String {
    use proofline_cfa::{CompareOp, Expr as E};
    let zero = |e: &E| matches!(e, E::Int(0, _));
    if let E::Compare(op @ (CompareOp::Eq | CompareOp::Ne), left, right) = condition
        && zero(right)
        && let E::Overflows(operator, a, b) = &**left
    {
        let whole = E::Binary(*operator, a.clone(), b.clone(), proofline_cfa::Site(0));
        let text = expr_text(entry, &whole);
        return if *op == CompareOp::Ne {
            format!("`{text}` overflows")
        } else {
            format!("`{text}` does not overflow")
        };
    }
    if let E::Overflows(operator, a, b) = condition {
        let whole = E::Binary(*operator, a.clone(), b.clone(), proofline_cfa::Site(0));
        let text = expr_text(entry, &whole);
        return if is_requirement {
            format!("`{text}` does not overflow")
        } else {
            format!("`{text}` overflows")
        };
    }
    format!("`{}`", expr_text(entry, condition))
}
