//! What is read must have been given a value before. Of a simple variable lowering keeps a shadow (`x?`) where this is not plain from the
//! text; of memory the predicate `initialised` asks. Objects with static storage always have a value.

use std::sync::Arc;

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, LocalId, Lvalue, MemoryPredicate, Role, Scalar, Site,
};

use super::{Check, Demand, Part, Rule};

/// See its page.
pub static CHECK: Check = Check {
    code: proofline_cfa_build::models::UNINITIALISED,
    cwe: &[457, 908],
    title: |failure| match failure.condition.ends_with(IN_MEMORY) {
        true => failure.named("use of an uninitialised value"),
        false => "use of an uninitialised variable".to_owned(),
    },
    last_step: Some(|failure| {
        let what = failure.condition.strip_suffix(IN_MEMORY)?;
        Some(format!("`{}` has no value here", failure.source.unwrap_or(what)))
    }),
    help: "give the variable, element or member a value on every path before it is read",
    is_claim: false,
    is_opt_in: false,
    ends_executions: false,
    rule: Rule::Parts(demand),
    page: include_str!("../../../../tests/suites/checks/uninitialised.md"),
};

/// How the predicate on memory ends in C's words.
const IN_MEMORY: &str = " has a value";

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
