//! What a slice is like, in numbers that are quickly counted: which kind of program it is decides which engines are asked first
//! (`kinds` in `configurations.yml`). Verdicts do not depend on it, only what they cost.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, CompareOp, Edge, Entry, Expr, Function, Lvalue, Name, Op, Scalar, Step,
    visit::{self, Mention},
};
use serde::Deserialize;

use crate::subject::Subject;

/// Features of a slice; in a table: the least of each that a kind has.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Features {
    /// Constants that one variable is compared with for equality in loops of one function: the states of a machine.
    pub states: usize,
    /// Variables that get nothing but constants and are compared with several of them: processes that go on where they stopped, events.
    pub processes: usize,
    /// Elements of the largest array of numbers that a loop goes through: more than any number where nobody knows how many.
    pub elements: u64,
    /// Edges on which two elements of one array are compared, or one gets what another has: that it is sorted, or where its least element is.
    pub pairs: usize,
}

impl Features {
    /// Of what executions from an entry can touch.
    pub fn of(subject: &Subject, entry: Entry) -> Features {
        let env = subject.env();
        let reached = subject.reachable_from(entry.name);
        let (mut states, mut elements, mut pairs, mut all) = (0, 0, 0, Variables::default());
        for function in reached.iter().filter_map(|name| env.function(*name)) {
            let structure = env.structure(function.name);
            let mut in_loops = Variables::default();
            for edge in &function.edges {
                all.look_at(function, edge);
                pairs += usize::from(is_of_pair(&edge.op));
                if structure.innermost_loop(edge.from).is_some() {
                    in_loops.look_at(function, edge);
                    let mut see = |lvalue: &Lvalue| elements = elements.max(gone_through(lvalue));
                    visit::reads(&edge.op, &mut see);
                    visit::mentions(&edge.op, &mut |mention| {
                        if let Mention::Write(lvalue) = mention {
                            see(lvalue);
                        }
                    });
                }
            }
            states = states.max(in_loops.compared.values().map(BTreeSet::len).max().unwrap_or(0));
        }
        let is_process = |(variable, constants): &(&Variable<'_>, &BTreeSet<i128>)| {
            constants.len() > 1 && !all.computed.contains(variable)
        };
        Features { states, processes: all.compared.iter().filter(is_process).count(), elements, pairs }
    }

    /// Whether it has at least so much of everything.
    pub fn has(&self, least: &Features) -> bool {
        self.states >= least.states
            && self.processes >= least.processes
            && self.elements >= least.elements
            && self.pairs >= least.pairs
    }
}

/// Elements of an array of numbers that are wider than characters, at a place that varies.
fn gone_through(lvalue: &Lvalue) -> u64 {
    let is_number = matches!(lvalue.scalar, Some(Scalar::Int(_))) && lvalue.size > 1;
    let length = |step: &Step| match step {
        Step::Index { index, length, .. } if !matches!(**index, Expr::Int(..)) => length.unwrap_or(u64::MAX),
        Step::Index { .. } | Step::Field { .. } => 0,
    };
    if is_number { lvalue.path.iter().map(length).max().unwrap_or(0) } else { 0 }
}

/// Whether two elements of one array are compared, or one gets what another has.
fn is_of_pair(op: &Op) -> bool {
    let are_two = |all: &[&Lvalue]| {
        let is_one = |a: &Base, b: &Base| match (a, b) {
            (Base::Deref(a, _), Base::Deref(b, _)) => a == b,
            (a, b) => a == b,
        };
        let differ = |a: &Lvalue, b: &Lvalue| is_one(&a.base, &b.base) && a.path != b.path;
        let elements: Vec<&&Lvalue> = all.iter().filter(|lvalue| gone_through(lvalue) > 0).collect();
        elements.iter().enumerate().any(|(i, a)| elements[i + 1..].iter().any(|b| differ(a, b)))
    };
    let mut is_found = false;
    visit::exprs(op, &mut |expr| {
        if let Expr::Compare(_, lhs, rhs) = expr {
            let both: Vec<&Lvalue> = [lhs, rhs].into_iter().filter_map(|side| variable(side)).collect();
            is_found |= are_two(&both);
        }
    });
    if let Op::Assign(dst, value) = op {
        is_found |= variable(value).is_some_and(|from| are_two(&[dst, from]));
    }
    is_found
}

/// A variable, and the function whose local it is.
type Variable<'f> = (Option<Name>, &'f Lvalue);

/// What edges do with variables.
#[derive(Default)]
struct Variables<'f> {
    /// Constants that they are compared with for equality.
    compared: BTreeMap<Variable<'f>, BTreeSet<i128>>,
    /// Those that get something else than a constant.
    computed: BTreeSet<Variable<'f>>,
}

impl<'f> Variables<'f> {
    fn look_at(&mut self, function: &Function, edge: &'f Edge) {
        let named = |lvalue: &'f Lvalue| match lvalue.base {
            Base::Local(_) => Some((Some(function.name), lvalue)),
            Base::Global(_) => Some((None, lvalue)),
            Base::Deref(..) => None,
        };
        match &edge.op {
            Op::Assume(Expr::Compare(CompareOp::Eq, lhs, rhs)) => {
                if let (Some(variable), Expr::Int(value, _)) = (variable(lhs).and_then(named), &**rhs) {
                    self.compared.entry(variable).or_default().insert(*value);
                }
            }
            Op::Assign(_, Expr::Int(..)) => {}
            Op::Assign(dst, _) | Op::Havoc(dst, _) | Op::Copy(dst, _) => self.computed.extend(named(dst)),
            Op::Call(call) => self.computed.extend(call.dst.as_ref().and_then(named)),
            Op::Assume(_)
            | Op::Skip
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
    }
}

/// The variable that is looked at, whatever it is converted to.
fn variable(expr: &Expr) -> Option<&Lvalue> {
    match expr {
        Expr::Load(lvalue) => Some(lvalue),
        Expr::Cast(_, arg, _) => variable(arg),
        Expr::Int(..)
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
