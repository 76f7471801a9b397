//! Outcomes: what calls and allocations give (0 or −1, null or an address), and variables that it is put into. States in which a live one certainly
//! differs in its sign, or in whether it is null, can be kept apart until somebody has looked at it (trace partitioning [RM07]). There are only so many
//! such differences, so loops still end.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Cause, Expr, Function, LocalId, Lvalue, Object, Op, Role, Scalar};

use super::{IntervalState, IntervalValue, Pointee, Targets};
use crate::store::{mentions::whole_local, region::Content, state::Frame};

/// The locals of a function that hold outcomes.
pub(super) fn outcomes(function: &Function) -> BTreeSet<LocalId> {
    let whole = |place: &Lvalue| {
        let is_plain = matches!(place.scalar, Some(Scalar::Int(_) | Scalar::Pointer));
        whole_local(function, place).filter(|_| is_plain)
    };
    let is_decided = |cause: &Cause| match cause {
        Cause::External(_) | Cause::Keeping(_) | Cause::Within(_) | Cause::Unmodelled(_) => true,
        Cause::Input(_) | Cause::Text(_) | Cause::Volatile | Cause::Indeterminate => false,
    };
    // `$0 := null` where a library function fails, `$0 := 1` where the first part of `a || b` holds.
    let is_constant = |value: &Expr| matches!(value, Expr::Null | Expr::Int(..) | Expr::Address(_));
    // A variable that gets null somewhere is told apart, too: `c = strchr(s, ',')`.
    let is_told = |id: &LocalId, value: &Expr| {
        *value == Expr::Null || function.local(*id).role == Role::Temporary && is_constant(value)
    };
    let given = function.edges.iter().filter_map(|edge| match &edge.op {
        Op::Assign(dst, value) => whole(dst).filter(|id| is_told(id, value)),
        Op::Call(call) => call.dst.as_ref().and_then(whole),
        Op::Allocate(allocation) => whole(&allocation.dst),
        Op::Havoc(dst, cause) if is_decided(cause) => whole(dst),
        Op::Skip
        | Op::Assume(_)
        | Op::Copy(..)
        | Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..)
        | Op::Begin(_)
        | Op::End(_) => None,
    });
    let mut found: BTreeSet<LocalId> = given.chain(function.result).collect();
    loop {
        let known = found.len();
        for edge in &function.edges {
            if let Op::Assign(dst, value) = &edge.op
                && let (Some(to), Some(from)) = (whole(dst), source(value))
                && whole(from).is_some_and(|from| found.contains(&from))
            {
                found.insert(to);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

/// What a value is a conversion of.
fn source(value: &Expr) -> Option<&Lvalue> {
    match value {
        Expr::Load(place) if matches!(place.base, Base::Local(_)) => Some(place),
        Expr::Cast(_, arg, _) => source(arg),
        _ => None,
    }
}

/// Whether an outcome of the innermost frame certainly differs.
pub(super) fn differ(outcomes: &BTreeSet<LocalId>, one: &IntervalState, other: &IntervalState) -> bool {
    outcomes.iter().any(|id| {
        signs(&one.frame, *id) & signs(&other.frame, *id) == 0
            || matches!((made(&one.frame, *id), made(&other.frame, *id)), (Some(one), Some(other)) if one != other)
    })
}

/// The allocation site whose object the address is in, if there is only one: what was there first, and what `realloc` has made of it.
fn made(frame: &Frame<IntervalValue>, id: LocalId) -> Option<Object> {
    let [cell] = frame.local(id)?.cells() else { return None };
    match &cell.content {
        Content::Each(_, item, IntervalValue::Pointer(pointer)) if *item == cell.len && cell.start == 0 => {
            let Targets::These(these) = &pointer.to else { return None };
            match these.iter().map(|(to, _)| to).collect::<Vec<_>>()[..] {
                [Pointee::Object(object @ Object::Heap(..))] => Some(*object),
                _ => None,
            }
        }
        Content::Zero | Content::Each(..) | Content::Any => None,
    }
}

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 4;

/// Which signs it may have; an address that is not null counts as positive.
fn signs(frame: &Frame<IntervalValue>, id: LocalId) -> u8 {
    let any = NEGATIVE | ZERO | POSITIVE;
    let Some([cell]) = frame.local(id).map(|region| region.cells()) else { return any };
    match &cell.content {
        _ if cell.start != 0 => any,
        Content::Zero => ZERO,
        Content::Each(_, item, IntervalValue::Int(ranges)) if *item == cell.len => {
            let (low, high) = (ranges.lo(), ranges.hi());
            let sign = |holds: bool, sign: u8| if holds { sign } else { 0 };
            sign(low < 0, NEGATIVE) | sign(low <= 0 && 0 <= high, ZERO) | sign(high > 0, POSITIVE)
        }
        Content::Each(_, item, IntervalValue::Pointer(pointer)) if *item == cell.len => {
            match (pointer.is_null(), pointer.null) {
                (true, _) => ZERO,
                (false, true) => ZERO | POSITIVE,
                (false, false) => POSITIVE,
            }
        }
        Content::Each(..) | Content::Any => any,
    }
}
