//! Obligations: what must hold at each edge of an automaton, one file per check, and the pass that inserts them.
//!
//! The pass splits the edges of a location into a chain of demands, each with its own error location, in the order in which C
//! evaluates the operands. It runs after the library models and before any analysis.

mod array_bounds;
mod division_by_zero;
mod error_label;
mod invalid_shift;
mod null_dereference;
mod reach_error;
mod signed_overflow;
mod uninitialised;
mod unreachable;
mod visit;

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{Check, Edge, Expr, Function, Loc, Name, Obligation, Op, Program, Site};

/// A condition that must hold before an edge is taken.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Demand {
    check: Check,
    /// Not zero means that all is well.
    condition: Expr,
    site: Site,
}

/// A part of an operation, as the checks see it; operands come before what uses them.
#[derive(Clone, Copy)]
enum Part<'e> {
    /// An arithmetic or other node of an expression.
    Expr(&'e Expr),
    /// A pointer is followed to read or write.
    Dereference { pointer: &'e Expr, site: Site },
    /// An element of an array is read or written (`past_end`: only its address is formed, one past the end is fine).
    Element { index: &'e Expr, length: u64, past_end: bool },
    /// A local is read.
    Read(proofline_cfa::LocalId),
}

/// Looks at one part and says what must hold. The second table, of whole edges, is in [`call_obligation`].
type Rule = fn(&Function, Part<'_>, Site, &mut Vec<Demand>);

/// Every check of expressions. **To add one: a file, and a line here.**
const RULES: &[Rule] = &[
    uninitialised::demand,
    division_by_zero::demand,
    signed_overflow::demand,
    invalid_shift::demand,
    null_dereference::demand,
    array_bounds::demand,
];

/// Which obligation a call is, if it is one: calls that must not happen.
fn call_obligation(op: &Op) -> Option<Check> {
    reach_error::check(op).or_else(|| unreachable::check(op))
}

/// Inserts the obligations of every function.
pub fn insert(program: &mut Program) {
    let labels = ends_at_labels(program);
    insert_with(program, labels);
}

/// Whether the label `ERROR` is an obligation: where no call says the same.
pub fn ends_at_labels(program: &Program) -> bool {
    !program.functions.values().any(|function| has_error_call(function))
}

/// Whether a function calls what must not be called.
pub fn has_error_call(function: &Function) -> bool {
    function.edges.iter().any(|edge| reach_error::check(&edge.op) == Some(Check::ReachError))
}

/// Inserts the obligations of every function; `labels`: the label `ERROR` is one.
pub fn insert_with(program: &mut Program, labels: bool) {
    for function in program.functions.values_mut() {
        *function = Arc::new(insert_into(function, labels));
    }
}

/// The same automaton with obligations; `ends_at_labels`: the label `ERROR` is one.
pub fn insert_into(function: &Function, ends_at_labels: bool) -> Function {
    let mut out = function.clone();
    let mut fresh = Fresh { next: function.locations };
    let successors = function.successors();
    for (loc, edges) in successors.iter().enumerate() {
        let mut demands: Vec<Demand> = Vec::new();
        let mut seen = BTreeSet::new();
        for &id in edges {
            visit::operation(function, &function.edge(id).op, function.edge(id).site, &mut |part, site| {
                for rule in RULES {
                    let mut found = Vec::new();
                    rule(function, part, site, &mut found);
                    demands.extend(found.into_iter().filter(|demand| seen.insert(demand.clone())));
                }
            });
        }
        // Two branches on one condition share its demands; a lone edge has its own.
        let mut at = Loc(loc as u32);
        for demand in demands {
            let error = fresh.location();
            let next = fresh.location();
            let text = Name::new(&proofline_cfa::expr_text(function, &demand.condition));
            out.edges.push(Edge {
                from: at,
                to: error,
                op: Op::Assume(demand.condition.negated()),
                site: demand.site,
            });
            out.edges.push(Edge { from: at, to: next, op: Op::Assume(demand.condition), site: demand.site });
            out.obligations.push(Obligation { check: demand.check, error, site: demand.site, text });
            at = next;
        }
        for &id in edges {
            out.edges[id.index()].from = at;
            if let Some(check) = call_obligation(&function.edge(id).op) {
                let error = fresh.location();
                let text = reach_error::text(&function.edge(id).op);
                let site = function.edge(id).site;
                out.edges[id.index()] = Edge { from: at, to: error, op: Op::Assume(Expr::int(1)), site };
                out.obligations.push(Obligation { check, error, site, text });
            }
        }
    }
    if ends_at_labels {
        error_label::insert(function, &mut out, &mut fresh);
    }
    out.locations = fresh.next;
    out
}

/// New locations.
struct Fresh {
    next: u32,
}
impl Fresh {
    fn location(&mut self) -> Loc {
        self.next += 1;
        Loc(self.next - 1)
    }
}
