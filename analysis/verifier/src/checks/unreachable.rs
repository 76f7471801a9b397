//! `__builtin_unreachable()` must not be reached.

use proofline_cfa::{Callee, Check, Op};

pub(super) fn check(op: &Op) -> Option<Check> {
    match op {
        Op::Call(call) if matches!(call.callee, Callee::Direct(name) if name.as_str() == "__builtin_unreachable") => {
            Some(Check::Unreachable)
        }
        _ => None,
    }
}
