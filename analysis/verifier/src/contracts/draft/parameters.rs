//! What a function's text says of its parameters at a glance: which are walked along, counted from, put into structures, and which may say how many elements
//! there are.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, MemoryPredicate, Obligation, Op,
    Scalar, Site, Type, visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use crate::checks::float_to_int;

use super::super::{
    acsl::is_number,
    bytes::product,
    origin::{Given, Origin, Origins, types, whole_pointer},
    replaced,
};

/// So many products are thought of as the size of a table.
const MOST_TABLES: usize = 3;

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

/// What may say how many elements there are: products of two parameters, where one of them is a factor of something; integer parameters, those
/// behind the pointer first.
pub(super) fn counts(function: &Function, pointer: usize, widths: &BTreeSet<Expr>) -> Vec<Expr> {
    let count = function.parameters.len();
    let all: Vec<Expr> = numbers(function, (pointer + 1..count).chain(0..pointer)).collect();
    let is_known = all.iter().any(|number| widths.contains(number));
    let widths = if is_known { widths.clone() } else { all_factors(function) };
    let is_factor = |expr: &Expr| widths.contains(expr);
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    let tables = pairs.filter(|(one, other)| is_factor(one) || is_factor(other));
    let mut tables: Vec<Expr> =
        tables.filter_map(|(one, other)| product(one, other)).take(MOST_TABLES).collect();
    if let ([only], true) = (&all[..], tables.is_empty()) {
        tables.extend(product(only, only).filter(|_| is_factor(only)));
    }
    tables.into_iter().chain(all).collect()
}

/// What something is multiplied with, anywhere in a function.
fn all_factors(function: &Function) -> BTreeSet<Expr> {
    let mut all = BTreeSet::new();
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| all.extend(factors(part)));
    }
    all
}

/// The factors in an expression that are multiplied with each other, and are no numbers of the text.
pub(super) fn factors(expr: &Expr) -> BTreeSet<Expr> {
    let mut all = BTreeSet::new();
    visit::walk(expr, &mut |part| {
        if let Expr::Binary(BinaryOp::Mul, lhs, rhs, _) = part
            && ![lhs, rhs].iter().any(|side| matches!(***side, Expr::Int(..)))
        {
            all.extend([lhs, rhs].map(|side| unconverted(side).clone()));
        }
    });
    all
}

/// The parameters that a number is computed from.
pub(super) fn factors_of(count: &Expr) -> Vec<&Expr> {
    match count {
        Expr::Load(_) => vec![count],
        Expr::Cast(_, arg, _) => factors_of(arg),
        Expr::Binary(_, lhs, rhs, _) => {
            let mut all = factors_of(lhs);
            all.extend(factors_of(rhs));
            all
        }
        _ => Vec::new(),
    }
}

/// A number of elements as a person means it: the signed one that was converted to a size. (Where it is negative, the size is none that an object has.)
pub(super) fn meant(count: &Expr) -> Expr {
    let signed = |expr: &Expr| match expr {
        Expr::Cast(Scalar::Int(to), arg, _) if !to.signed => {
            arg.int_type().filter(|from| from.signed).map(|from| (Expr::clone(arg), from))
        }
        _ => None,
    };
    match count {
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => match (signed(lhs), &**rhs) {
            (Some((number, ty)), Expr::Int(by, _)) if ty.bits <= 32 && (0..1 << 24).contains(by) => {
                let wide = IntType { bits: 64, signed: true };
                let number = Expr::Cast(Scalar::Int(wide), Arc::new(number), Site::NOWHERE);
                Expr::Binary(BinaryOp::Mul, Arc::new(number), Arc::new(Expr::Int(*by, wide)), Site::NOWHERE)
            }
            _ => count.clone(),
        },
        _ => signed(count).map_or_else(|| count.clone(), |(number, _)| number),
    }
}

fn unconverted(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Scalar::Int(_), arg, _) => unconverted(arg),
        _ => expr,
    }
}

/// That the sizes of tables are numbers of the type in which the function computes places in them.
pub(super) fn tables_fit(function: &Function, count: &Expr) -> Option<Expr> {
    let Expr::Binary(BinaryOp::Mul, ..) = count else { return None };
    let (ty, mut least) = (count.int_type()?, None::<IntType>);
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Binary(BinaryOp::Mul, ..) = part
                && let Some(own) = part.int_type()
            {
                least = least.into_iter().chain([own]).min_by_key(|ty: &IntType| IntType::max(*ty));
            }
        });
    }
    let most = least.map(|ty| ty.max()).filter(|most| *most < ty.max())?;
    Some(Expr::Compare(CompareOp::Le, Arc::new(count.clone()), Arc::new(Expr::Int(most, ty))))
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
