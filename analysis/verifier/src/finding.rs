//! What people see of a violation: what fails, where, for which inputs, and the numbered steps that lead there with the values
//! at each. Plain data; rendering is the front ends' matter.

use proofline_cfa::{Check, Expr, Function, LocalId, Name, Obligation, Role};

use crate::{
    blame::{self, Blame},
    counterexample::Counterexample,
    load::{Loaded, Position},
    steps,
};

/// A violation, explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// In which function.
    pub function: Name,
    /// Where.
    pub position: Option<Position>,
    /// One sentence: what fails.
    pub title: String,
    /// Values of the variables that matter, at that moment: `low = 1, high = 2147483647`.
    pub values: Vec<(String, String)>,
    /// What to do about it.
    pub help: &'static str,
    /// The path, in order.
    pub steps: Vec<TraceStep>,
    /// Whose fault it is.
    pub blame: Blame,
    /// How to get there again.
    pub counterexample: Counterexample,
}

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceStep {
    /// Where.
    pub position: Option<Position>,
    /// Function it happens in.
    pub function: Name,
    /// Number of open calls above the entry.
    pub depth: u32,
    /// What kind of step.
    pub kind: StepKind,
    /// What happens: `x = 3`, `call inc(x = 3)`, `n > 0 is true`.
    pub text: String,
    /// The variable and its new value, for a step that changes one.
    pub change: Option<(String, String)>,
    /// That variable is no local of the function.
    pub is_global: bool,
    /// Of a call: the parameters with their values.
    pub arguments: Vec<(String, String)>,
}

/// Kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// A value comes from outside.
    Input,
    /// A variable changes.
    Assign,
    /// A branch is taken.
    Branch,
    /// A function is entered.
    Call,
    /// A function is left.
    Return,
    /// The obligation fails.
    Failure,
}

impl Finding {
    /// Explains a counterexample by running it once more. `None` if it cannot be reproduced, which is a defect.
    pub fn explain(loaded: &Loaded, counterexample: Counterexample) -> Option<Finding> {
        let run = counterexample.replay(loaded)?;
        let function = loaded.program().function(counterexample.function)?.clone();
        let obligation = function.obligations.get(counterexample.obligation.index())?.clone();
        let blame =
            if counterexample.is_library { blame::judge(loaded, &run, &obligation) } else { Blame::Manifest };
        let trace = run.trace.clone().unwrap_or_default();
        let position = loaded.position(function.name, obligation.site);
        let told = steps::tell(loaded, &run, counterexample.entry, &trace, &obligation, &function);
        let snippet = position.as_ref().map(|p| loaded.text_at(p)).unwrap_or_default();
        Some(Finding {
            check: obligation.check,
            function: function.name,
            title: title(&function, &obligation, &snippet),
            position,
            values: told.values,
            help: help(obligation.check),
            steps: steps::shorten(told.steps),
            blame,
            counterexample,
        })
    }
}

/// The whole path of a counterexample, nothing left out.
pub fn path(loaded: &Loaded, counterexample: &Counterexample) -> Option<Vec<TraceStep>> {
    let run = counterexample.replay(loaded)?;
    let function = loaded.program().function(counterexample.function)?;
    let obligation = function.obligations.get(counterexample.obligation.index())?;
    let trace = run.trace.clone().unwrap_or_default();
    Some(steps::tell(loaded, &run, counterexample.entry, &trace, obligation, function).steps)
}

/// What fails, in the program's own words where it is short enough.
fn title(function: &Function, obligation: &Obligation, snippet: &str) -> String {
    let text = obligation.text.as_str();
    let here =
        if snippet.is_empty() || snippet.len() > 60 || snippet.contains('\n') { None } else { Some(snippet) };
    let _ = function;
    match obligation.check {
        Check::Assertion => format!("assertion can fail: `{text}`"),
        Check::ReachError => "an error call is reached".to_owned(),
        Check::ErrorLabel => "the label ERROR is reached".to_owned(),
        Check::DivisionByZero => match here {
            Some(here) => format!("division by zero in `{here}`"),
            None => "division by zero".to_owned(),
        },
        Check::SignedOverflow => match here {
            Some(here) => format!("signed overflow in `{here}`"),
            None => "signed overflow".to_owned(),
        },
        Check::InvalidShift => format!("invalid shift amount: `{text}` does not hold"),
        Check::ArrayBounds => format!("index outside the array: `{text}` does not hold"),
        Check::NullDereference => match here {
            Some(here) => format!("null pointer dereference in `{here}`"),
            None => "null pointer dereference".to_owned(),
        },
        Check::Uninitialised => "use of an uninitialised variable".to_owned(),
        Check::Unreachable => "code marked unreachable is reached".to_owned(),
        Check::InvalidDereference => "access outside an object".to_owned(),
        Check::InvalidFree => "invalid free".to_owned(),
    }
}

/// What usually mends it.
fn help(check: Check) -> &'static str {
    match check {
        Check::Assertion | Check::ReachError | Check::ErrorLabel => {
            "either the code before it is wrong, or the condition asks for too much: follow the steps"
        }
        Check::DivisionByZero => "guard the division, or make sure that the divisor cannot be 0",
        Check::SignedOverflow => "check the operands' ranges before, or compute in a wider or unsigned type",
        Check::InvalidShift => "the amount must be at least 0 and less than the width of the left operand",
        Check::ArrayBounds => "check the index before it is used",
        Check::NullDereference => "check the pointer before it is followed",
        Check::Uninitialised => "give the variable a value on every path",
        Check::Unreachable => "the assumption behind `__builtin_unreachable()` does not hold",
        Check::InvalidDereference => "keep the access inside its object",
        Check::InvalidFree => "free each allocation once, by the pointer the allocation gave",
    }
}

/// The locals and globals a condition reads, in order.
pub(crate) fn mentioned(expr: &Expr, out: &mut Vec<proofline_cfa::Lvalue>) {
    proofline_cfa::visit::walk(expr, &mut |e| {
        if let Expr::Load(lvalue) = e
            && !out.contains(lvalue)
        {
            out.push(lvalue.clone());
        }
    });
}

/// Whether people know this local by name.
pub(crate) fn is_theirs(function: &Function, id: LocalId) -> bool {
    matches!(function.local(id).role, Role::Parameter | Role::Variable)
}
