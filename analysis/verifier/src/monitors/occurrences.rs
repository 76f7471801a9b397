//! What happens at a place of a program, and which transitions of a monitor it takes, as far as the text says: the rest is left as conditions. Must not
//! know states.

use proofline_cfa::{Base, CompareOp, Expr, Scalar, Step};
use std::sync::Arc;

use super::{CallEvent, Condition, Event, Monitor, Operand, Pattern};

/// What happens at a place.
pub(super) enum Happening<'h> {
    /// A function is called (its arguments; `None`: a record), or has returned.
    Call { name: &'h str, arguments: &'h [Option<Expr>], result: Option<&'h Expr>, is_after: bool },
    /// A variable is assigned.
    Set { name: &'h str, value: &'h Expr },
    /// Control comes to a label.
    Label(&'h str),
    /// The program ends.
    End,
}

/// A transition that may be taken.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    /// Its number.
    pub(super) transition: usize,
    /// The key, if the event names it.
    pub(super) key: Option<Expr>,
    /// The result is the key.
    pub(super) gives_key: bool,
    /// What must hold.
    pub(super) conditions: Vec<Demanded>,
}

/// What must hold for a transition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Demanded {
    /// Of the program.
    Program(Expr),
    /// Of the key.
    Key(CompareOp, i128),
    /// Of a variable of the automaton.
    Variable(usize, CompareOp, i128),
}

/// The transitions that may be taken, in order.
pub(super) fn matched(monitor: &Monitor, happening: &Happening<'_>) -> Vec<Matched> {
    let mut out = Vec::new();
    for (number, transition) in monitor.transitions.iter().enumerate() {
        for event in &transition.events {
            let Some((mut found, bound)) = fits(event, happening) else { continue };
            let conditions: Option<Vec<Demanded>> =
                transition.conditions.iter().map(|one| demanded(one, &bound, happening)).collect();
            let Some(conditions) = conditions else { continue };
            found.transition = number;
            found.conditions.extend(conditions);
            out.push(found);
        }
    }
    out
}

/// Which arguments of a call a monitor looks at, and whether it looks at the result.
pub(super) fn looked_at(monitor: &Monitor, name: &str, count: usize) -> Option<(Vec<usize>, bool, bool)> {
    let (mut arguments, mut is_result, mut is_after, mut any) = (Vec::new(), false, false, false);
    for transition in &monitor.transitions {
        for event in &transition.events {
            let Event::Call(call) = event else { continue };
            if !is_of(call, name, count) {
                continue;
            }
            any = true;
            is_after |= call.is_after;
            is_result |= call.gives_key
                || call.result.is_some()
                || transition.conditions.iter().any(|condition| condition.left == Operand::Result);
            let seen = call.arguments.iter().enumerate().filter(|(_, pattern)| **pattern != Pattern::Any);
            arguments.extend(seen.map(|(at, _)| at));
        }
    }
    any.then_some((arguments, is_result, is_after))
}

impl CallEvent {
    /// Whether calls with so many arguments are meant.
    pub(super) fn takes(&self, count: usize) -> bool {
        if self.is_open { count >= self.arguments.len() } else { count == self.arguments.len() }
    }
}

/// Whether the event is about calls of this function with so many arguments.
fn is_of(call: &CallEvent, name: &str, count: usize) -> bool {
    call.takes(count) && call.names.iter().any(|other| other == name)
}

/// The name under which a monitor knows a library function: that of the function which a builtin, a fortified version or a macro of a header stands for.
pub(super) fn plain_name(name: &str) -> &str {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    let name = ["__isoc99_", "__isoc23_", "_IO_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let fortified = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("_chk"));
    let name = fortified.map_or(name, |rest| rest.strip_prefix('_').unwrap_or(rest));
    // The same with offsets of 64 bits.
    const WIDE: &[&str] = &[
        "fopen64",
        "tmpfile64",
        "open64",
        "openat64",
        "creat64",
        "freopen64",
        "fseeko64",
        "ftello64",
        "lseek64",
        "pread64",
        "pwrite64",
    ];
    if WIDE.contains(&name) { name.trim_end_matches("64") } else { name }
}

type Names<'e> = Vec<(&'e str, Expr)>;

fn fits<'e>(event: &'e Event, happening: &Happening<'_>) -> Option<(Matched, Names<'e>)> {
    let mut found = Matched { transition: 0, key: None, gives_key: false, conditions: Vec::new() };
    let mut bound = Vec::new();
    match (event, happening) {
        (Event::Call(event), Happening::Call { name, arguments, result, is_after }) => {
            if event.is_after != *is_after || !is_of(event, name, arguments.len()) {
                return None;
            }
            for (pattern, argument) in event.arguments.iter().zip(*arguments) {
                fit(pattern, argument.as_ref(), &mut found, &mut bound)?;
            }
            if event.gives_key {
                // One key at a time: an argument that is the key, too, must be the same.
                let result = (*result)?.clone();
                match &found.key {
                    Some(argument) => {
                        let same = compare(CompareOp::Eq, argument.clone(), result)?;
                        found.conditions.push(Demanded::Program(same));
                    }
                    None => (found.key, found.gives_key) = (Some(result), true),
                }
            }
            if let Some((op, number)) = event.result {
                found.conditions.push(Demanded::Program(number_is((*result)?, op, number)?));
            }
        }
        (Event::Set(variable, pattern), Happening::Set { name, value }) => {
            if variable != name {
                return None;
            }
            fit(pattern, Some(value), &mut found, &mut bound)?;
        }
        (Event::Label(label), Happening::Label(name)) => {
            if name.split('#').next() != Some(label) {
                return None;
            }
        }
        (Event::End, Happening::End) => {}
        (Event::Call(_) | Event::Set(..) | Event::Label(_) | Event::End, _) => return None,
    }
    Some((found, bound))
}

fn fit<'e>(
    pattern: &'e Pattern,
    value: Option<&Expr>,
    found: &mut Matched,
    bound: &mut Names<'e>,
) -> Option<()> {
    match pattern {
        Pattern::Any => {}
        Pattern::Key => match &found.key {
            Some(key) => {
                let same = compare(CompareOp::Eq, key.clone(), value?.clone())?;
                found.conditions.push(Demanded::Program(same));
            }
            None => found.key = Some(value?.clone()),
        },
        Pattern::Bound(name) => bound.push((name, value?.clone())),
        Pattern::Number(number) => {
            found.conditions.push(Demanded::Program(number_is(value?, CompareOp::Eq, *number)?));
        }
    }
    Some(())
}

fn demanded(condition: &Condition, bound: &Names<'_>, happening: &Happening<'_>) -> Option<Demanded> {
    let &Condition { ref left, op, right } = condition;
    Some(match left {
        Operand::Variable(variable) => Demanded::Variable(*variable, op, right),
        Operand::Key => Demanded::Key(op, right),
        Operand::Bound(name) => {
            let (_, value) = bound.iter().find(|(other, _)| other == name)?;
            Demanded::Program(number_is(value, op, right)?)
        }
        Operand::Result => match happening {
            Happening::Call { result: Some(result), .. } => Demanded::Program(number_is(result, op, right)?),
            Happening::Call { .. } | Happening::Set { .. } | Happening::Label(_) | Happening::End => {
                return None;
            }
        },
    })
}

/// The comparison of a value with a number, as `int`; `None` for what has no such comparison.
pub(super) fn number_is(value: &Expr, op: CompareOp, number: i128) -> Option<Expr> {
    match value.scalar() {
        Scalar::Int(ty) if ty.contains(number) => {
            if let Expr::Int(known, _) = value {
                return Some(Expr::int(i128::from(holds(*known, op, number))));
            }
            Some(Expr::Compare(op, Arc::new(value.clone()), Arc::new(Expr::Int(number, ty))))
        }
        // Every value is on one side of it.
        Scalar::Int(ty) => Some(Expr::int(i128::from(holds(ty.min(), op, number)))),
        Scalar::Pointer if number == 0 => match op {
            CompareOp::Eq | CompareOp::Ne => compare(op, value.clone(), Expr::Null),
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => None,
        },
        Scalar::Pointer | Scalar::Float(_) => None,
    }
}

fn holds(value: i128, op: CompareOp, number: i128) -> bool {
    match op {
        CompareOp::Eq => value == number,
        CompareOp::Ne => value != number,
        CompareOp::Lt => value < number,
        CompareOp::Le => value <= number,
        CompareOp::Gt => value > number,
        CompareOp::Ge => value >= number,
    }
}

/// Whether two values are equal, or not, as `int`: a constant where the text says it. `None`: they are of different kinds.
pub(super) fn compare(op: CompareOp, left: Expr, right: Expr) -> Option<Expr> {
    let truth = |equal: bool| Some(Expr::int(i128::from(equal == (op == CompareOp::Eq))));
    match (left.scalar(), right.scalar()) {
        (Scalar::Int(a), Scalar::Int(b)) if a != b => return None,
        (Scalar::Int(_), Scalar::Int(_)) | (Scalar::Pointer, Scalar::Pointer) => {}
        (Scalar::Int(_) | Scalar::Pointer | Scalar::Float(_), _) => return None,
    }
    if left == right {
        return truth(true);
    }
    match (&left, &right) {
        (Expr::Int(a, _), Expr::Int(b, _)) => truth(a == b),
        (Expr::Address(a), Expr::Address(b)) if fixed(&left) && fixed(&right) && a.base != b.base => {
            truth(false)
        }
        (Expr::Null, other) | (other, Expr::Null) if fixed(other) => truth(false),
        _ => Some(Expr::Compare(op, Arc::new(left), Arc::new(right))),
    }
}

/// Whether it is the address of one part of an object with static storage.
pub(super) fn is_static(expr: &Expr) -> bool {
    fixed(expr) && matches!(expr, Expr::Address(lvalue) if matches!(lvalue.base, Base::Global(_)))
}

/// Whether it is the address of one part of an object that has a name.
pub(super) fn fixed(expr: &Expr) -> bool {
    let Expr::Address(lvalue) = expr else { return false };
    let is_constant = |step: &Step| match step {
        Step::Field { .. } => true,
        Step::Index { index, length, .. } => match (&**index, length) {
            (Expr::Int(at, _), Some(length)) => 0 <= *at && *at < i128::from(*length),
            (Expr::Int(0, _), None) => true,
            _ => false,
        },
    };
    matches!(lvalue.base, Base::Global(_) | Base::Local(_)) && lvalue.path.iter().all(is_constant)
}
