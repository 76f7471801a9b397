//! Calls that must not happen: `reach_error` and `__VERIFIER_error` (SV-COMP), `__assert_fail` and its kin (what `assert`
//! expands to).

use proofline_cfa::{Argument, Base, Callee, Check, Expr, Name, Op};

/// What the call is, if it must not happen.
pub(super) fn check(op: &Op) -> Option<Check> {
    let Op::Call(call) = op else { return None };
    let Callee::Direct(name) = call.callee else { return None };
    match name.as_str() {
        "reach_error" | "__VERIFIER_error" => Some(Check::ReachError),
        "__assert_fail" | "__assert" | "__assert_rtn" | "__assert_func" | "_assert" => Some(Check::Assertion),
        _ => None,
    }
}

/// What must hold, for people: the text of the failed assertion where the call carries it.
pub(super) fn text(op: &Op) -> Name {
    let Op::Call(call) = op else { return Name::new("not reached") };
    for argument in &call.arguments {
        if let Argument::Value(Expr::Address(lvalue)) = argument
            && let Base::Global(literal) = lvalue.base
            && let Some(text) = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))
            && check(op) == Some(Check::Assertion)
        {
            return Name::new(text);
        }
    }
    match &call.callee {
        Callee::Direct(name) => Name::new(&format!("{name} is not called")),
        Callee::Indirect(..) => Name::new("not reached"),
    }
}
