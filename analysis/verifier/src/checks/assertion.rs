//! `assert`: calls of `__assert_fail` and its kin, which it expands to, must not happen.

use proofline_cfa::{Argument, Base, Call, Callee, Expr, Name, Op, asserted_argument};

use super::{Check, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: "assertion",
    cwe: &[617],
    title: |failure| format!("assertion can fail: `{}`", failure.condition),
    last_step: None,
    help: "either the code before it is wrong, or the condition asks for too much: follow the steps",
    is_claim: true,
    is_opt_in: false,
    ends_executions: true,
    rule: Rule::Operation(forbid),
    page: include_str!("../../../../tests/suites/checks/assertion.md"),
};

fn forbid(op: &Op) -> Option<Name> {
    let Op::Call(call) = op else { return None };
    let Callee::Direct(name) = call.callee else { return None };
    let at = asserted_argument(name.as_str())?;
    Some(asserted(call, at).unwrap_or_else(|| Name::new(&format!("{name} is not called"))))
}

/// The text of the failed assertion, where the call carries it.
fn asserted(call: &Call, at: usize) -> Option<Name> {
    match call.arguments.get(at)? {
        Argument::Value(Expr::Address(lvalue)) => match lvalue.base {
            Base::Global(literal) => {
                let text = literal.strip_prefix('"')?.strip_suffix('"')?;
                Some(Name::new(&text.replace("\\\"", "\"").replace("\\\\", "\\")))
            }
            _ => None,
        },
        _ => None,
    }
}
