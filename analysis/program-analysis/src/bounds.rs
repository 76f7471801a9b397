//! Numbers that functions compare memory with, or keep it below: where what they leave in memory may stop growing, for those who call them. Precision
//! alone depends on them.

use std::collections::BTreeSet;

use proofline_cfa::{Base, BinaryOp, Expr, Function, Lvalue, Op, Step, visit};

use crate::CallGraph;

/// Of a function and all that it calls, so many are kept.
const MOST: usize = 24;

/// By component of the call graph: those of its functions and of all that these call, ascending.
pub(crate) fn bounds<'f>(
    graph: &CallGraph,
    function: &dyn Fn(proofline_cfa::Name) -> Option<&'f Function>,
) -> Vec<Vec<i128>> {
    let mut all: Vec<Vec<i128>> = Vec::new();
    for members in graph.components() {
        let mut found: BTreeSet<i128> = BTreeSet::new();
        for member in members {
            if let Some(function) = function(*member) {
                found.extend(of(function));
            }
            let callees = graph.callees(*member).iter().filter_map(|callee| graph.component_of(*callee));
            found.extend(callees.filter_map(|callee| all.get(callee)).flatten());
        }
        let mut kept: Vec<i128> = found.into_iter().collect();
        kept.sort_by_key(|value| (value.unsigned_abs(), *value));
        kept.truncate(MOST);
        kept.sort_unstable();
        all.push(kept);
    }
    all
}

fn of(function: &Function) -> BTreeSet<i128> {
    let mut found = BTreeSet::new();
    for edge in &function.edges {
        match &edge.op {
            Op::Assume(condition) if reads_memory(condition) => numbers(condition, &mut found),
            Op::Assign(dst, value) if is_memory(dst) => limits(value, &mut found),
            Op::Assign(..)
            | Op::Assume(_)
            | Op::Skip
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }
    found
}

fn is_memory(lvalue: &Lvalue) -> bool {
    !matches!(lvalue.base, Base::Local(_))
}

fn reads_memory(expr: &Expr) -> bool {
    let mut reads = false;
    visit::reads_of_expr(expr, &mut |lvalue| reads |= is_memory(lvalue));
    reads
}

/// Every number from 2 on, and lengths of arrays.
fn numbers(expr: &Expr, out: &mut BTreeSet<i128>) {
    visit::walk(expr, &mut |part| match part {
        Expr::Int(value, _) if (2..1 << 64).contains(&value.unsigned_abs()) => {
            out.insert(*value);
        }
        Expr::Load(lvalue) | Expr::Address(lvalue) => {
            let lengths = lvalue.path.iter().filter_map(|step| match step {
                Step::Index { length, .. } => length.map(i128::from),
                Step::Field { .. } => None,
            });
            out.extend(lengths);
        }
        _ => {}
    });
}

/// What results stay below: `x % 10`, `x & 15`.
pub fn limits(expr: &Expr, out: &mut BTreeSet<i128>) {
    visit::walk(expr, &mut |part| {
        if let Expr::Binary(op @ (BinaryOp::Rem | BinaryOp::BitAnd), _, by, _) = part
            && let Expr::Int(by, _) = **by
            && (1..1 << 62).contains(&by)
        {
            out.insert(by + i128::from(*op == BinaryOp::BitAnd));
        }
    });
}
