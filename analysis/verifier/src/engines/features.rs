//! What a slice is like, in numbers that are quickly counted: which kind of program it is decides which engines are asked first
//! (`kinds` in `configurations.yml`, which `cargo xtask learn-order` proposes). Verdicts do not depend on it, only what they cost.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proofline_cfa::{
    Base, BinaryOp, Cause, CompareOp, Edge, Entry, Expr, Function, Lvalue, Name, Op, Scalar, Step,
    visit::{self, Mention},
};
use serde::Deserialize;

use super::concrete::has_arguments;
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
    /// Loops.
    pub loops: usize,
    /// Functions that call themselves, over others or at once.
    pub recursive: usize,
    /// Places that read something from outside.
    pub inputs: usize,
    /// Places that read bytes from outside, as lines of a file are, and one for the command line.
    pub texts: usize,
    /// Products, quotients and remainders of two values that are no constants.
    pub products: usize,
    /// Edges that compute with floating numbers.
    pub floats: usize,
    /// Operations on bits, and shifts.
    pub bits: usize,
    /// Places that allocate.
    pub allocations: usize,
    /// Edges of all functions together.
    pub edges: usize,
}

impl fmt::Display for Features {
    /// `name=number`, in the order of the members.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Features { states, processes, elements, pairs, loops, recursive, .. } = self;
        let Features { inputs, texts, products, floats, bits, allocations, edges, .. } = self;
        write!(f, "states={states} processes={processes} elements={elements} pairs={pairs} loops={loops} ")?;
        write!(
            f,
            "recursive={recursive} inputs={inputs} texts={texts} products={products} floats={floats} "
        )?;
        write!(f, "bits={bits} allocations={allocations} edges={edges}")
    }
}

impl Features {
    /// Of what executions from an entry can touch.
    pub fn of(subject: &Subject, entry: Entry) -> Features {
        let env = subject.env();
        let reached = subject.reachable_from(entry.name);
        let (mut found, mut all) = (Features::default(), Variables::default());
        for function in reached.iter().filter_map(|name| env.function(*name)) {
            let structure = env.structure(function.name);
            found.loops += structure.loops().len();
            found.recursive += usize::from(env.call_graph().is_recursive(function.name));
            found.edges += function.edges.len();
            let mut in_loops = Variables::default();
            for edge in &function.edges {
                all.look_at(function, edge);
                found.pairs += usize::from(is_of_pair(&edge.op));
                found.count(&edge.op);
                if structure.innermost_loop(edge.from).is_some() {
                    in_loops.look_at(function, edge);
                    let mut see = |lvalue: &Lvalue| found.elements = found.elements.max(gone_through(lvalue));
                    visit::reads(&edge.op, &mut see);
                    visit::mentions(&edge.op, &mut |mention| {
                        if let Mention::Write(lvalue) = mention {
                            see(lvalue);
                        }
                    });
                }
            }
            let states = in_loops.compared.values().map(BTreeSet::len).max();
            found.states = found.states.max(states.unwrap_or(0));
        }
        let is_process = |(variable, constants): &(&Variable<'_>, &BTreeSet<i128>)| {
            constants.len() > 1 && !all.computed.contains(variable)
        };
        found.texts += usize::from(has_arguments(subject.program(), entry));
        found.processes = all.compared.iter().filter(is_process).count();
        found
    }

    /// What one edge does.
    fn count(&mut self, op: &Op) {
        let is_input = |cause: &Cause| {
            matches!(cause, Cause::Input(_) | Cause::External(_) | Cause::Keeping(_) | Cause::Volatile)
        };
        self.inputs += usize::from(matches!(op, Op::Havoc(_, cause) if is_input(cause)));
        self.texts += usize::from(matches!(op, Op::HavocBytes(.., cause) if is_input(cause)));
        self.allocations += usize::from(matches!(op, Op::Allocate(_)));
        let mut has_floats = false;
        visit::exprs(op, &mut |expr| {
            has_floats |= matches!(expr.scalar(), Scalar::Float(_));
            let Expr::Binary(operator, lhs, rhs, _) = expr else { return };
            let is_constant = |side: &Expr| matches!(side, Expr::Int(..) | Expr::Float(_));
            match operator {
                BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                    self.products += usize::from(!is_constant(lhs) && !is_constant(rhs));
                }
                BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                    self.bits += 1;
                }
                BinaryOp::Add | BinaryOp::Sub => {}
            }
        });
        self.floats += usize::from(has_floats);
    }

    /// Whether it has at least so much of everything.
    pub fn has(&self, least: &Features) -> bool {
        self.states >= least.states
            && self.processes >= least.processes
            && self.elements >= least.elements
            && self.pairs >= least.pairs
            && self.loops >= least.loops
            && self.recursive >= least.recursive
            && self.inputs >= least.inputs
            && self.texts >= least.texts
            && self.products >= least.products
            && self.floats >= least.floats
            && self.bits >= least.bits
            && self.allocations >= least.allocations
            && self.edges >= least.edges
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
