//! What a slice is like, in numbers that are quickly counted: which kind of program it is decides which engines are asked first
//! (`kinds` in `configurations.yml`). Verdicts do not depend on it, only what they cost.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Base, CompareOp, Entry, Expr, Function, Lvalue, Op};
use serde::Deserialize;

use crate::subject::Subject;

/// Features of a slice; in a table: the least of each that a kind has.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Features {
    /// Constants that one variable is compared with for equality in loops of one function: the states of a machine.
    pub states: usize,
}

impl Features {
    /// Of what executions from an entry can touch.
    pub fn of(subject: &Subject, entry: Entry) -> Features {
        let env = subject.env();
        let reached = subject.reachable_from(entry.name);
        let functions = reached.iter().filter_map(|name| env.function(*name));
        let states = functions.map(|function| {
            let structure = env.structure(function.name);
            states(function, |loc| structure.innermost_loop(loc).is_some())
        });
        Features { states: states.max().unwrap_or(0) }
    }

    /// Whether it has at least so much of everything.
    pub fn has(&self, least: &Features) -> bool {
        self.states >= least.states
    }
}

fn states(function: &Function, is_in_loop: impl Fn(proofline_cfa::Loc) -> bool) -> usize {
    let mut constants: BTreeMap<&Lvalue, BTreeSet<i128>> = BTreeMap::new();
    for edge in function.edges.iter().filter(|edge| is_in_loop(edge.from)) {
        if let Op::Assume(Expr::Compare(CompareOp::Eq, lhs, rhs)) = &edge.op
            && let (Some(variable), Expr::Int(value, _)) = (variable(lhs), &**rhs)
        {
            constants.entry(variable).or_default().insert(*value);
        }
    }
    constants.values().map(BTreeSet::len).max().unwrap_or(0)
}

/// The variable that is looked at, whatever it is converted to.
fn variable(expr: &Expr) -> Option<&Lvalue> {
    match expr {
        Expr::Load(lvalue) if !matches!(lvalue.base, Base::Deref(..)) => Some(lvalue),
        Expr::Cast(_, arg, _) => variable(arg),
        Expr::Load(_)
        | Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => None,
    }
}
