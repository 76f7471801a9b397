//! Calls of functions about which nothing is known: any result, everything reachable from the arguments and every global may
//! change, and function pointers among the arguments may be called.

use std::collections::BTreeMap;

use proofline_hir::{Name, Type, TypeKind};

use super::emit::Emitter;
use crate::call_coercion::Interface;
use proofline_cfa::{Argument, Call, Callee, Cause, Expr, Lvalue, Op, Scalar};

/// The call of an unknown function, already evaluated arguments; `ty` is its declared type. `interfaces` are those of functions with bodies.
pub(super) fn call(
    emitter: &mut Emitter<'_>,
    interfaces: &BTreeMap<Name, Interface>,
    name: Name,
    arguments: Vec<Argument>,
    dst: Option<Lvalue>,
    ty: Option<Type>,
) {
    let cause = Cause::External(name);
    let reachable = reachable(emitter, &arguments);
    let callbacks = callbacks(&arguments, ty);
    emitter.approximate(&format!("call of {name}"));
    emitter.emit(Op::Clobber(reachable.clone(), cause));
    for (pointer, function) in callbacks {
        emitter.repeatedly(cause, |emitter| {
            // What it does with a null pointer is its own matter.
            let parameters = called_with(&pointer, function, interfaces);
            emitter.if_not_null(&pointer.clone(), |emitter| {
                call_back(emitter, pointer, function, &parameters, cause)
            });
            emitter.emit(Op::Clobber(reachable.clone(), cause));
        });
    }
    if let Some(dst) = dst {
        emitter.havoc(dst, cause);
    }
}

/// Values through which the callee can reach memory.
pub(super) fn reachable(emitter: &mut Emitter<'_>, arguments: &[Argument]) -> Vec<Expr> {
    let mut out = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Value(value) => {
                let wide = |bits| bits >= emitter.types.pointer_bits();
                let may_point = match value.scalar() {
                    Scalar::Pointer => !matches!(value, Expr::Null),
                    Scalar::Int(ty) => wide(ty.bits) && !matches!(value, Expr::Int(..)),
                    Scalar::Float(_) => false,
                };
                if may_point {
                    out.push(value.clone());
                }
            }
            Argument::Aggregate(lvalue) => {
                // The callee has a copy.
                let copy = emitter.temporary(lvalue.ty);
                emitter.emit(Op::Copy(copy.clone(), lvalue.clone()));
                out.push(Expr::Address(copy));
            }
        }
    }
    out
}

/// Arguments that are functions, with the function types.
fn callbacks(arguments: &[Argument], ty: Option<Type>) -> Vec<(Expr, Type)> {
    let parameters = match ty.map(|ty| ty.kind()) {
        Some(TypeKind::Function(signature)) => signature.parameters.as_slice(),
        _ => &[],
    };
    let mut out = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let Argument::Value(value) = argument else { continue };
        let function = parameters.get(at).and_then(|ty| ty.pointee());
        if let Some(function) = function
            && matches!(function.kind(), TypeKind::Function(_))
            && value.scalar() == Scalar::Pointer
            && !matches!(value, Expr::Null)
        {
            out.push((value.clone(), function));
        }
    }
    out
}

/// Types of the arguments that a function pointer of the type is called with: whatever the prototype says, a function gets what it takes.
fn called_with(pointer: &Expr, function: Type, interfaces: &BTreeMap<Name, Interface>) -> Vec<Type> {
    if let Expr::Function(name) = pointer
        && let Some(interface) = interfaces.get(name)
    {
        return interface.parameters.clone();
    }
    match function.kind() {
        TypeKind::Function(signature) => signature.parameters.clone(),
        _ => Vec::new(),
    }
}

/// A call with any arguments of the types.
pub(super) fn call_back(
    emitter: &mut Emitter<'_>,
    pointer: Expr,
    function: Type,
    parameters: &[Type],
    cause: Cause,
) {
    let arguments = parameters.iter().map(|ty| any_argument(emitter, *ty, cause)).collect();
    emit_call(emitter, pointer, function, arguments);
}

pub(super) fn emit_call(emitter: &mut Emitter<'_>, pointer: Expr, function: Type, arguments: Vec<Argument>) {
    let callee = match pointer {
        Expr::Function(name) => Callee::Direct(name),
        pointer => Callee::Indirect(pointer, function),
    };
    emitter.emit(Op::Call(Call { dst: None, callee, arguments }));
}

pub(super) fn any_argument(emitter: &mut Emitter<'_>, ty: Type, cause: Cause) -> Argument {
    let temporary = emitter.temporary(ty);
    emitter.havoc(temporary.clone(), cause.within());
    match temporary.scalar {
        Some(_) => Argument::Value(Expr::Load(temporary)),
        None => Argument::Aggregate(temporary),
    }
}
