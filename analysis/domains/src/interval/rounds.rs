//! Loops that are followed round by round: states in which the counter of such a loop has different values are kept apart (trace partitioning [RM07]), so
//! that what one round does is not mixed with what others do. Only values up to a limit are told apart, so loops still end.

use std::collections::BTreeMap;

use proofline_cfa::{BinaryOp, Expr, Function, LocalId, Loop, Op, Scalar, Structure, visit};

use super::{IntervalState, IntervalValue};
use crate::store::{mentions::whole_local, region::Content};

/// Rounds of a loop that are told apart: if the text says how many there are,
const MOST_OF_KNOWN: i128 = 1024;
/// and if a variable does.
const MOST_OF_UNKNOWN: i128 = 64;

/// The counters of a function's loops, with the largest value that is told apart: variables that a loop only adds a constant to, and compares with a constant
/// or with a variable that it leaves alone where it ends.
pub(super) fn counters(function: &Function, structure: &Structure) -> BTreeMap<LocalId, i128> {
    let mut found = BTreeMap::new();
    for one in structure.loops() {
        for exit in &one.exits {
            let Op::Assume(Expr::Compare(_, lhs, rhs)) = &function.edge(*exit).op else { continue };
            for (counter, limit) in [(lhs, rhs), (rhs, lhs)] {
                if let Some(id) = read(function, counter)
                    && steps(function, one, id)
                    && let Some(most) = rounds(function, one, limit)
                {
                    found.entry(id).and_modify(|known: &mut i128| *known = most.max(*known)).or_insert(most);
                }
            }
        }
    }
    found
}

/// How many rounds are told apart where the counter is compared with this.
fn rounds(function: &Function, within: &Loop, limit: &Expr) -> Option<i128> {
    match limit {
        Expr::Int(value, _) => (value.abs() <= MOST_OF_KNOWN).then_some(MOST_OF_KNOWN),
        Expr::Cast(_, inner, _) => rounds(function, within, inner),
        _ => {
            let id = read(function, limit)?;
            let is_left_alone = !edges(function, within).any(|op| is_written(function, op, id));
            is_left_alone.then_some(MOST_OF_UNKNOWN)
        }
    }
}

fn edges<'f>(function: &'f Function, within: &Loop) -> impl Iterator<Item = &'f Op> {
    let inside = function.edges.iter().filter(|edge| within.body.contains(&edge.from));
    inside.map(|edge| &edge.op)
}

/// The integer variable that an expression reads, seen through conversions.
fn read(function: &Function, expr: &Expr) -> Option<LocalId> {
    match expr {
        Expr::Load(place) => {
            whole_local(function, place).filter(|_| matches!(place.scalar, Some(Scalar::Int(_))))
        }
        Expr::Cast(_, inner, _) => read(function, inner),
        _ => None,
    }
}

/// Whether the loop adds a constant to the variable, and writes nothing else to it.
fn steps(function: &Function, within: &Loop, id: LocalId) -> bool {
    let mut is_stepped = false;
    for op in edges(function, within).filter(|op| is_written(function, op, id)) {
        let Op::Assign(_, value) = op else { return false };
        if !is_step(function, value, id) {
            return false;
        }
        is_stepped = true;
    }
    is_stepped
}

fn is_step(function: &Function, value: &Expr, id: LocalId) -> bool {
    match value {
        Expr::Cast(_, inner, _) => is_step(function, inner, id),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, lhs, rhs, _) => {
            read(function, lhs) == Some(id) && matches!(**rhs, Expr::Int(..))
        }
        _ => false,
    }
}

fn is_written(function: &Function, op: &Op, id: LocalId) -> bool {
    let mut is_written = false;
    visit::mentions(op, &mut |mention| {
        if let visit::Mention::Write(place) = mention {
            is_written |= matches!(place.base, proofline_cfa::Base::Local(of) if of == id);
        }
    });
    is_written || function.local(id).address_taken
}

/// Whether a counter of the innermost frame has two different values that are told apart.
pub(super) fn differ(counters: &BTreeMap<LocalId, i128>, one: &IntervalState, other: &IntervalState) -> bool {
    counters.iter().any(|(id, most)| match (value(one, *id), value(other, *id)) {
        (Some(one), Some(other)) => one != other && one.abs() <= *most && other.abs() <= *most,
        _ => false,
    })
}

fn value(state: &IntervalState, id: LocalId) -> Option<i128> {
    let [cell] = state.frame.local(id)?.cells() else { return None };
    match &cell.content {
        _ if cell.start != 0 => None,
        Content::Zero => Some(0),
        Content::Each(_, item, IntervalValue::Int(ranges)) if *item == cell.len => {
            (ranges.lo() == ranges.hi()).then(|| ranges.lo())
        }
        Content::Each(..) | Content::Any => None,
    }
}
