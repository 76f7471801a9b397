//! Which functions may be called through a pointer of a type. C asks for compatible types (C11 6.3.2.3p8); what is asked here is what a machine
//! notices: as many parameters, and values of the same kind and size. Pointers to different types are alike, and so are `int` and `unsigned`.

use proofline_hir::{Type, TypeKind, types::Signature};

use crate::{scalar::Scalar, types::Types};

/// Whether a function with the type of its definition may be called as `called` with so many arguments. Where nobody wants a result, any may come back.
/// What a definition without a prototype takes is not known here.
pub fn may_be_called(definition: Type, called: Type, arguments: usize, types: Types<'_>) -> bool {
    let (Some(definition), Some(called)) = (signature(definition), signature(called)) else { return true };
    let gives_it =
        matches!(called.result.kind(), TypeKind::Void) || is_alike(definition.result, called.result, types);
    let takes_them = if definition.unprototyped {
        true
    } else if called.unprototyped {
        // Its parameters are the arguments, promoted.
        let taken = definition.parameters.len();
        (arguments == taken || definition.variadic && arguments > taken)
            && called.parameters.iter().zip(&definition.parameters).all(|(a, b)| is_alike(*a, *b, types))
    } else {
        definition.variadic == called.variadic
            && definition.parameters.len() == called.parameters.len()
            && definition.parameters.iter().zip(&called.parameters).all(|(a, b)| is_alike(*a, *b, types))
    };
    gives_it && takes_them
}

fn signature(ty: Type) -> Option<&'static Signature> {
    match ty.kind() {
        TypeKind::Function(signature) => Some(signature),
        _ => None,
    }
}

/// Whether values of the one type are passed as those of the other.
fn is_alike(a: Type, b: Type, types: Types<'_>) -> bool {
    let is_unknown = |ty: Type| matches!(ty.kind(), TypeKind::Error | TypeKind::VaList);
    if a.unqualified() == b.unqualified() || is_unknown(a) || is_unknown(b) {
        return true;
    }
    match (types.scalar(a), types.scalar(b)) {
        (Some(Scalar::Int(a)), Some(Scalar::Int(b))) => a.bits == b.bits,
        (Some(a), Some(b)) => a == b,
        // Records of two files, or with other names.
        (None, None) => {
            let is_record = |ty: Type| matches!(ty.kind(), TypeKind::Record(_));
            is_record(a) && is_record(b) && types.size(a) == types.size(b)
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}
