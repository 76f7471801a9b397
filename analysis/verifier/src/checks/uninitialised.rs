//! What is read must have been given a value before. Of a simple variable lowering keeps a shadow (`x?`) where this is not plain from the
//! text; of memory the predicate `initialised` asks. Objects with static storage always have a value.

use std::sync::Arc;

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, LocalId, Lvalue, MemoryPredicate, Role, Scalar, Site, UNNAMED,
};

use super::{Check, Demand, Failure, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::UNINITIALISED,
    cwe: &[457, 908],
    title: |failure| match variable(failure.condition) {
        Some(name) => format!("`{name}` is used before it has a value"),
        None => match place(failure) {
            Some(what) => format!("use of an uninitialised value in `{what}`"),
            None => failure.named("use of an uninitialised value"),
        },
    },
    last_step: Some(|failure| {
        if let Some(name) = variable(failure.condition) {
            return Some(format!("`{name}` was never given a value"));
        }
        Some(format!("`{}` has no value here", place(failure).or(failure.source)?))
    }),
    help: "give the variable, element or member a value on every path before it is read",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/uninitialised.md"),
};

/// How the condition ends in C's words.
const HAS_A_VALUE: &str = " has a value";

/// The condition on a shadow in the same words.
pub(super) fn in_words(condition: &str) -> Option<String> {
    let name = condition.strip_suffix("? != 0")?;
    Some(format!("{name}{HAS_A_VALUE}"))
}

/// The variable that a condition is about, if it is about one as a whole.
fn variable(condition: &str) -> Option<&str> {
    let name = condition.strip_suffix(HAS_A_VALUE)?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

/// What has no value, in C's words. (The place in the text may be that of the pointer which leads there.)
fn place<'f>(failure: &Failure<'f>) -> Option<&'f str> {
    failure.condition.strip_suffix(HAS_A_VALUE).filter(|what| !what.contains(UNNAMED))
}

fn demand(function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    match part {
        Part::Read(id) => out.extend(of_variable(function, id).map(|condition| Demand { condition, site })),
        Part::Load { place, site } => {
            out.extend(of_memory(function, place).map(|condition| Demand { condition, site }));
        }
        Part::Expr(_)
        | Part::Dereference { .. }
        | Part::Access { .. }
        | Part::Formed { .. }
        | Part::Free { .. }
        | Part::Write { .. }
        | Part::Call { .. }
        | Part::Element { .. } => {}
    }
}

/// The shadow of a local is set, if it has one.
fn of_variable(function: &Function, id: LocalId) -> Option<Expr> {
    let local = function.local(id);
    if local.role == Role::Shadow {
        return None;
    }
    let index = function.locals.iter().position(|shadow| {
        shadow.role == Role::Shadow && shadow.name.strip_suffix('?') == Some(local.name.as_str())
    })?;
    let shadow = &function.locals[index];
    let lvalue = Lvalue::local(LocalId(index as u32), shadow.ty, Scalar::Int(IntType::BOOL), shadow.size);
    let zero = Arc::new(Expr::Int(0, IntType::BOOL));
    Some(Expr::Compare(CompareOp::Ne, Arc::new(Expr::Load(lvalue)), zero))
}

/// The bytes of a scalar in memory have values.
fn of_memory(function: &Function, place: &Lvalue) -> Option<Expr> {
    if place.size == 0 || !may_be_indeterminate(function, place) {
        return None;
    }
    let address = match &place.base {
        Base::Deref(pointer, _) if place.path.is_empty() => pointer.clone(),
        Base::Deref(..) | Base::Local(_) | Base::Global(_) => Arc::new(Expr::Address(place.clone())),
    };
    let size = Arc::new(Expr::Int(i128::from(value_size(place)), IntType { bits: 64, signed: false }));
    Some(Expr::Memory(MemoryPredicate::Initialised, address, size))
}

/// Bytes of the value, without the padding of `long double`.
fn value_size(place: &Lvalue) -> u64 {
    match place.scalar {
        Some(Scalar::Float(ty)) => place.size.min(u64::from(ty.width() / 8)),
        Some(Scalar::Int(_) | Scalar::Pointer) | None => place.size,
    }
}

/// Whether the text leaves open that the place is in an object that begins without a value.
fn may_be_indeterminate(function: &Function, place: &Lvalue) -> bool {
    match &place.base {
        Base::Global(_) => false,
        Base::Local(id) => {
            let local = function.local(*id);
            !place.path.is_empty() || local.address_taken && local.role != Role::Shadow
        }
        Base::Deref(pointer, _) => leads_to_memory(function, pointer),
    }
}

/// Whether the pointer is more than the address of an object with static storage, or of a device's register.
fn leads_to_memory(function: &Function, pointer: &Expr) -> bool {
    match pointer {
        Expr::Address(named) => may_be_indeterminate(function, named),
        Expr::Cast(_, arg, _) => leads_to_memory(function, arg),
        Expr::Int(..) | Expr::Null | Expr::Function(_) => false,
        Expr::Float(_)
        | Expr::Load(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => true,
    }
}
