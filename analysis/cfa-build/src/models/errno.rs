//! `errno`: the object behind it, and whether the program itself may make it negative. Knows calls of the function that gives its address only.

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, ERRNO, Expr, Function, Global, IntType, LocalId, Lvalue, Op, Program, Scalar,
    visit::{self, Mention},
};
use proofline_hir::{Linkage, Name, Type};

use super::{Library, apply::external_name, effect::Outcome};

/// The object, which code that is not here sets, too.
pub(super) fn global() -> Global {
    Global {
        name: Name::new(ERRNO),
        ty: Type::int(),
        linkage: Linkage::External,
        size: 4,
        defined: false,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}

/// What the program reads and writes.
pub(super) fn lvalue() -> Lvalue {
    let scalar = Some(Scalar::Int(IntType::INT));
    Lvalue {
        base: Base::Global(Name::new(ERRNO)),
        path: Vec::new(),
        ty: Type::int(),
        scalar,
        bits: None,
        size: 4,
    }
}

/// Whether the program does more with it than read it and give it constants that are not negative: then no call tells its sign.
pub(super) fn may_be_negative(program: &Program, library: &Library) -> bool {
    let gives = |op: &Op| {
        external_name(program, op)
            .and_then(|name| library.model(&name))
            .is_some_and(|model| model.result == Some(Outcome::Errno))
    };
    program.functions.values().any(|function| {
        let calls = || function.edges.iter().filter_map(|edge| edge.op.call().filter(|_| gives(&edge.op)));
        let mut pointers = BTreeSet::new();
        for call in calls() {
            match call.dst.as_ref().and_then(local) {
                Some(pointer) => _ = pointers.insert(pointer),
                None if call.dst.is_none() => {}
                None => return true,
            }
        }
        !pointers.is_empty() && function.edges.iter().any(|edge| escapes(&edge.op, &pointers, function))
    })
}

/// The local that the whole lvalue is.
fn local(lvalue: &Lvalue) -> Option<LocalId> {
    match lvalue.base {
        Base::Local(local) if lvalue.path.is_empty() => Some(local),
        Base::Local(_) | Base::Global(_) | Base::Deref(..) => None,
    }
}

/// Whether the operation does something else with one of these pointers.
fn escapes(op: &Op, pointers: &BTreeSet<LocalId>, function: &Function) -> bool {
    let is_pointer = |lvalue: &Lvalue| local(lvalue).is_some_and(|local| pointers.contains(&local));
    let is_errno = |lvalue: &Lvalue| {
        matches!(&lvalue.base, Base::Deref(pointer, _) if matches!(&**pointer, Expr::Load(pointer) if is_pointer(pointer)))
            && lvalue.path.is_empty()
    };
    // Each harmless use mentions the pointer once.
    let (mut used, mut harmless) = (0, 0);
    visit::exprs(op, &mut |part| match part {
        Expr::Load(lvalue) if is_errno(lvalue) => harmless += 1,
        Expr::Load(lvalue) if is_pointer(lvalue) => used += 1,
        Expr::Address(lvalue) if is_pointer(lvalue) => used += 1,
        _ => {}
    });
    visit::mentions(op, &mut |mention| match mention {
        Mention::Write(lvalue) if is_errno(lvalue) => {
            harmless += usize::from(matches!(op, Op::Assign(_, Expr::Int(0.., _))));
        }
        Mention::Value(_) | Mention::Read(_) | Mention::Write(_) => {}
    });
    used > harmless || pointers.iter().any(|pointer| function.locals[pointer.index()].address_taken)
}
