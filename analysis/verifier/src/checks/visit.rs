//! Walks an operation's parts in the order of evaluation: operands first.

use proofline_cfa::{
    Argument, Base, Callee, Expr, Function, IntType, Lvalue, Op, Scalar, Site, Step, copied_character,
};
use proofline_hir::TypeKind;

use super::Part;

type Visitor<'v> = dyn FnMut(Part<'_>, Site) + 'v;

/// Every part of the operation of an edge at `site`.
pub(super) fn operation(function: &proofline_cfa::Function, op: &Op, site: Site, visit: &mut Visitor<'_>) {
    match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => {}
        Op::Assume(value) => expr(value, site, visit),
        Op::Free(pointer) => {
            expr(pointer, site, visit);
            visit(Part::Free { pointer }, site);
        }
        Op::Assign(dst, value) => {
            match copied(function, dst, value) {
                Some(source) => lvalue(source, Use::Access, site, visit),
                None => expr(value, site, visit),
            }
            written(dst, site, visit);
        }
        Op::Copy(dst, src) => {
            lvalue(src, Use::Access, site, visit);
            written(dst, site, visit);
        }
        Op::Havoc(dst, _) => written(dst, site, visit),
        Op::Clobber(values, _) => values.iter().for_each(|value| expr(value, site, visit)),
        Op::Call(call) => {
            if let Callee::Indirect(pointer, ty) = &call.callee {
                expr(pointer, site, visit);
                visit(Part::Dereference { pointer, site }, site);
                let arguments = call.arguments.len();
                visit(Part::Call { pointer, ty: *ty, arguments, site }, site);
            }
            for argument in &call.arguments {
                match argument {
                    Argument::Value(value) => expr(value, site, visit),
                    Argument::Aggregate(src) => lvalue(src, Use::Access, site, visit),
                }
            }
            if let Some(dst) = &call.dst {
                written(dst, site, visit);
            }
        }
        Op::Allocate(allocation) => {
            expr(&allocation.size, site, visit);
            written(&allocation.dst, site, visit);
        }
        Op::HavocBytes(a, b, _) => {
            for value in [a, b] {
                expr(value, site, visit);
            }
        }
        Op::CopyBytes(a, b, c) | Op::FillBytes(a, b, c) => {
            for value in [a, b, c] {
                expr(value, site, visit);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Read or written.
    Access,
    /// Only its address is taken: nothing is followed.
    Address,
}

fn expr(value: &Expr, site: Site, visit: &mut Visitor<'_>) {
    match value {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => {}
        Expr::Load(source) => {
            lvalue(source, Use::Access, site, visit);
            if let (Base::Local(id), []) = (&source.base, source.path.as_slice()) {
                visit(Part::Read(*id), site);
            }
            let own = own_site(source, site);
            visit(Part::Load { place: source, site: own }, own);
        }
        Expr::Address(target) => lvalue(target, Use::Address, site, visit),
        Expr::Unary(_, arg, own) => {
            expr(arg, site, visit);
            visit(Part::Expr(value), *own);
        }
        Expr::Cast(to, arg, own) => {
            expr(arg, site, visit);
            // Conversions are defined by the implementation, except from floating point out of range.
            if matches!((to, arg.scalar()), (Scalar::Int(_), Scalar::Float(_))) {
                visit(Part::Expr(value), *own);
            }
        }
        Expr::Binary(_, lhs, rhs, own) => {
            expr(lhs, site, visit);
            expr(rhs, site, visit);
            visit(Part::Expr(value), *own);
        }
        Expr::Compare(_, lhs, rhs) | Expr::PointerDifference(lhs, rhs, ..) => {
            expr(lhs, site, visit);
            expr(rhs, site, visit);
            visit(Part::Expr(value), site);
        }
        Expr::Overflows(_, lhs, rhs) | Expr::Memory(_, lhs, rhs) => {
            expr(lhs, site, visit);
            expr(rhs, site, visit);
        }
    }
}

/// The place is accessed, and what a pointer leads to is written there; so is a literal that stands in the expression (`"ab"[0] = 'x'`), whose
/// type says nothing of it.
fn written(target: &Lvalue, site: Site, visit: &mut Visitor<'_>) {
    lvalue(target, Use::Access, site, visit);
    match &target.base {
        Base::Deref(pointer, own) => visit(Part::Write { place: target, pointer, site: *own }, *own),
        Base::Global(name) if name.contains('"') => {
            let pointer = &Expr::Address(target.clone());
            visit(Part::Write { place: target, pointer, site }, site);
        }
        Base::Global(_) | Base::Local(_) => {}
    }
}

fn lvalue(target: &Lvalue, how: Use, site: Site, visit: &mut Visitor<'_>) {
    if let Base::Deref(pointer, own) = &target.base {
        expr(pointer, site, visit);
        if how == Use::Access {
            visit(Part::Dereference { pointer, site: *own }, *own);
        }
    }
    let last = target.path.len().saturating_sub(1);
    for (i, step) in target.path.iter().enumerate() {
        match step {
            Step::Field { .. } => {}
            Step::Index { index, length, site: own, .. } => {
                expr(index, site, visit);
                if let Some(length) = *length {
                    let past_end = how == Use::Address && i == last;
                    visit(Part::Element { index, length, past_end }, *own);
                }
            }
        }
    }
    let own = own_site(target, site);
    visit(
        match how {
            Use::Access => Part::Access { place: target, site: own },
            Use::Address => Part::Formed { place: target, site: own },
        },
        own,
    );
}

/// Where an lvalue is in the text, if it says so.
fn own_site(lvalue: &Lvalue, site: Site) -> Site {
    if let Base::Deref(_, own) = &lvalue.base { *own } else { site }
}

/// What is copied as a character, between places in memory or to an `unsigned char`: whether it has a value is not asked.
fn copied<'e>(function: &Function, dst: &Lvalue, value: &'e Expr) -> Option<&'e Lvalue> {
    let is_byte = |lvalue: &Lvalue| {
        lvalue.scalar == Some(Scalar::Int(IntType { bits: 8, signed: false })) && lvalue.bits.is_none()
    };
    match value {
        Expr::Load(source)
            if is_byte(source) && is_byte(dst) && matches!(source.ty.kind(), TypeKind::Int(_)) =>
        {
            let is_register = matches!(source.base, Base::Local(id) if source.path.is_empty() && !function.local(id).address_taken);
            (!is_register).then_some(source)
        }
        _ => copied_character(function, dst, value),
    }
}
