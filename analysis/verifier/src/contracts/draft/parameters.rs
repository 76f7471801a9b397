//! What a function's text says of its parameters at a glance: which are walked along, counted from, put into structures, and which may say how many elements
//! there are.

use std::collections::BTreeSet;

use proofline_cfa::{
    Base, Expr, Function, LocalId, Lvalue, MemoryPredicate, Obligation, Op, Scalar, Type, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use crate::checks::float_to_int;

use super::super::{
    acsl::is_number,
    origin::{Given, Origin, Origins, types, whole_pointer},
    replaced,
};

/// That parameters are numbers, and not NaN, where they are turned into integers.
pub(super) fn not_nan(env: &Environment, function: &Function) -> Vec<Expr> {
    let mut read: BTreeSet<LocalId> = BTreeSet::new();
    let is_one = |obligation: &&Obligation| float_to_int::CHECK.is(obligation.check);
    for obligation in function.obligations.iter().filter(is_one) {
        for edge in function.edges.iter().filter(|edge| edge.to == obligation.error) {
            visit::reads(&edge.op, &mut |lvalue| {
                if let Base::Local(id) = lvalue.base {
                    read.insert(id);
                }
            });
        }
    }
    let is_written = |id: LocalId| {
        function.edges.iter().any(|edge| {
            let mut found = false;
            visit::mentions(&edge.op, &mut |mention| {
                found |= matches!(mention, visit::Mention::Write(to) if to.base == Base::Local(id));
            });
            found
        })
    };
    let parameters = function.parameters.iter().copied();
    let parameters =
        parameters.filter(|id| read.contains(id) && !function.local(*id).address_taken && !is_written(*id));
    parameters.filter_map(|id| is_number(env.program(), function, id)).collect()
}

/// Parameters whose pointers are put into members of structures, as they are.
pub(super) fn stored(env: &Environment, function: &Function, origins: &Origins<'_>) -> BTreeSet<usize> {
    let all = function.edges.iter().filter_map(|edge| {
        let Op::Assign(dst @ Lvalue { base: Base::Deref(..), .. }, value) = &edge.op else {
            return None;
        };
        let place = origins.place(value).filter(|place| place.offset.is_zero())?;
        let Origin::Parameter(at) = place.origin else { return None };
        let pointee = origins.pointee(place.origin)?.unqualified();
        let is_record = matches!(pointee.kind(), TypeKind::Record(_));
        let is_sized = types(env.program()).size(pointee).is_some_and(|size| size > 0);
        let is_same = dst.ty.pointee().map(Type::unqualified) == Some(pointee);
        (is_record && is_sized && is_same).then_some(at)
    });
    all.collect()
}

/// Parameters that lead to one element of several: pointers to other ones are computed from them.
pub(super) fn walked(
    env: &Environment,
    function: &Function,
    parameters: &[(usize, bool)],
) -> BTreeSet<usize> {
    let origins =
        Origins::of(env.program(), function, parameters, Default::default(), &[], &|_| true, &|_, _| {
            Given::Anything
        });
    let walks = function.edges.iter().filter_map(|edge| {
        let Op::Assign(dst, value) = &edge.op else { return None };
        whole_pointer(function, dst)?;
        let place = origins.place(value)?;
        let size = i128::from(types(env.program()).size(origins.pointee(place.origin)?)?);
        let is_step = !place.offset.terms.is_empty() || place.offset.bytes != 0;
        let is_whole = size > 0
            && place.offset.bytes % size == 0
            && place.offset.terms.iter().all(|(_, stride)| i128::from(*stride) % size == 0);
        match place.origin {
            Origin::Parameter(at) if is_step && is_whole => Some(at),
            Origin::Parameter(_) | Origin::Loaded(_) | Origin::Allocated | Origin::Room => None,
        }
    });
    walks.collect()
}

/// Signed parameters that the indices in the function's places are computed from.
pub(super) fn starts(function: &Function, origins: &Origins<'_>) -> Vec<Expr> {
    let mut read: BTreeSet<LocalId> = BTreeSet::new();
    let see = |expr: &Expr, read: &mut BTreeSet<LocalId>| {
        visit::reads_of_expr(expr, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base {
                read.insert(id);
            }
        });
    };
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Memory(MemoryPredicate::InBounds, pointer, _) = part
                && let Some(place) = origins.place(pointer)
            {
                place.offset.terms.iter().for_each(|(index, _)| see(index, &mut read));
            }
        });
    }
    loop {
        let before = read.len();
        for edge in &function.edges {
            if let Op::Assign(Lvalue { base: Base::Local(id), .. }, value) = &edge.op
                && read.contains(id)
            {
                see(value, &mut read);
            }
        }
        if read.len() == before {
            break;
        }
    }
    let is_start = |count: &Expr| {
        let Expr::Load(Lvalue { base: Base::Local(id), .. }) = count else { return false };
        read.contains(id)
    };
    numbers(function, 0..function.parameters.len()).filter(is_start).collect()
}

pub(super) fn is_moved(function: &Function, origins: &Origins<'_>, id: LocalId) -> bool {
    function.edges.iter().any(|edge| match &edge.op {
        Op::Assign(dst, value) if whole_pointer(function, dst) == Some(id) => {
            origins.place(value).is_some_and(|place| !place.offset.is_zero())
        }
        _ => false,
    })
}

/// Whether an expression reads nothing but parameters, which nobody else can change.
pub(super) fn over_parameters(function: &Function, expr: &Expr) -> bool {
    let mut is_plain = true;
    visit::reads_of_expr(expr, &mut |lvalue| {
        is_plain &= match lvalue.base {
            Base::Local(id) => {
                lvalue.path.is_empty()
                    && function.parameters.contains(&id)
                    && !function.local(id).address_taken
            }
            Base::Global(_) | Base::Deref(..) => false,
        };
    });
    is_plain && replaced(expr, &|load| Some(load.clone())).is_some()
}

/// Integer parameters that may say how many elements there are: those behind the pointer first.
pub(super) fn counts(function: &Function, pointer: usize) -> Vec<Expr> {
    let count = function.parameters.len();
    numbers(function, (pointer + 1..count).chain(0..pointer)).collect()
}

/// Numbers of the text that loops go up to, and one more: what is behind the loop may be at it. Small ones first.
pub(super) fn limits(env: &Environment, function: &Function) -> BTreeSet<u64> {
    const LARGEST: i128 = 1 << 16;
    let exits = env.structure(function.name).loops().iter().flat_map(|found| &found.exits);
    let numbers = exits.filter_map(|exit| {
        let Op::Assume(Expr::Compare(_, lhs, rhs)) = &function.edge(*exit).op else { return None };
        let (Expr::Load(_), Expr::Int(number, _)) = (&**lhs, &**rhs) else { return None };
        Some(*number)
    });
    let sizes =
        numbers.filter(|number| (2..LARGEST).contains(number)).flat_map(|number| [number, number + 1]);
    sizes.filter_map(|size| u64::try_from(size).ok()).collect()
}

/// Integer parameters that nobody else can change.
fn numbers(function: &Function, order: impl Iterator<Item = usize>) -> impl Iterator<Item = Expr> {
    order.filter_map(|at| {
        let id = function.parameters[at];
        let local = function.local(id);
        let scalar = proofline_cfa::scalar_of(local.ty, proofline_syntax::DataModel::Lp64)?;
        let is_number = matches!(scalar, Scalar::Int(ty) if ty.bits >= 16 && ty.bits <= 64);
        (is_number && !local.address_taken)
            .then(|| Expr::Load(Lvalue::local(id, local.ty, scalar, local.size)))
    })
}
