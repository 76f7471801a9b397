//! Types that a program does not complete, and what it takes them for: zlib's `strm->state` is a pointer to `struct internal_state`, and `inflate.c` casts
//! it to a pointer to its own `struct inflate_state`. A structure of which a contract speaks holds objects of that type there.

use std::collections::BTreeMap;

use proofline_cfa::{Base, Expr, Lvalue, Op, Program, Scalar, Type};
use proofline_hir::{Name, TypeKind, print::type_text};

use super::origin::types;

/// What each incomplete type is taken for, by its tag: `None` where that is not one type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Opaque(BTreeMap<Name, Option<Type>>);

impl Opaque {
    /// As the program's assignments of pointers say.
    pub(super) fn of(program: &Program) -> Opaque {
        let mut all: BTreeMap<Name, Option<Type>> = BTreeMap::new();
        for edge in program.functions.values().flat_map(|function| &function.edges) {
            let Op::Assign(dst, value) = &edge.op else { continue };
            let (Some(tag), Some(to)) = (source(value).and_then(|ty| tag(program, ty)), target(program, dst))
            else {
                continue;
            };
            all.entry(tag)
                .and_modify(|known| *known = known.filter(|known| *known == to))
                .or_insert(Some(to));
        }
        Opaque(all)
    }

    /// What a pointer to this type leads to.
    pub(super) fn taken(&self, program: &Program, pointee: Type) -> Option<Type> {
        *self.0.get(&tag(program, pointee)?)?
    }

    /// Whether each type is taken for one type only.
    pub(super) fn is_clear(&self) -> bool {
        self.0.values().all(Option::is_some)
    }

    /// Each of them in words.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let record = |tag: Name| type_text(Type::new(TypeKind::Record(tag)));
        self.0
            .iter()
            .filter_map(move |(tag, to)| Some(format!("`{}` being `{}`", record(*tag), type_text((*to)?))))
    }
}

/// The tag of a record that is not complete.
fn tag(program: &Program, ty: Type) -> Option<Name> {
    let TypeKind::Record(tag) = ty.unqualified().kind() else { return None };
    types(program).size(ty).is_none_or(|size| size == 0).then_some(*tag)
}

/// What the pointer that is read leads to, by its type.
fn source(value: &Expr) -> Option<Type> {
    match value {
        Expr::Load(lvalue) => lvalue.ty.pointee(),
        Expr::Cast(Scalar::Pointer, arg, _) => source(arg),
        _ => None,
    }
}

/// What a variable leads to that gets a pointer, if it is a record with members.
fn target(program: &Program, dst: &Lvalue) -> Option<Type> {
    let pointee = dst.ty.pointee().filter(|_| matches!(dst.base, Base::Local(_)) && dst.path.is_empty())?;
    let is_record = matches!(pointee.unqualified().kind(), TypeKind::Record(_));
    let is_sized = types(program).size(pointee).is_some_and(|size| size > 0);
    (is_record && is_sized).then(|| pointee.unqualified())
}
