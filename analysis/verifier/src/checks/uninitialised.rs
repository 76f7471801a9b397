//! A local must have been given a value before it is read. Lowering keeps a shadow (`x?`) for each local where this is not
//! plain from the text.

use std::sync::Arc;

use proofline_cfa::{Check, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Role, Scalar, Site};

use super::{Demand, Part};

pub(super) fn demand(function: &Function, part: Part<'_>, site: Site, out: &mut Vec<Demand>) {
    let Part::Read(id) = part else { return };
    let local = function.local(id);
    if local.role == Role::Shadow {
        return;
    }
    let Some(index) = function.locals.iter().position(|shadow| {
        shadow.role == Role::Shadow && shadow.name.strip_suffix('?') == Some(local.name.as_str())
    }) else {
        return;
    };
    let shadow = &function.locals[index];
    let lvalue = Lvalue::local(LocalId(index as u32), shadow.ty, Scalar::Int(IntType::BOOL), shadow.size);
    let zero = Arc::new(Expr::Int(0, IntType::BOOL));
    let condition = Expr::Compare(CompareOp::Ne, Arc::new(Expr::Load(lvalue)), zero);
    out.push(Demand { check: Check::Uninitialised, condition, site });
}
