//! What a compiler is told that gives functions another meaning than the one that is modelled: marks where that matters, or what proofs rest on.

use std::collections::BTreeSet;

use proofline_cfa::{Approximation, BinaryOp, Edge, Expr, Function, Loc, Scalar, Site, visit};
use proofline_hir::{Dialect, Name};

/// How an operation has to do with floating numbers.
#[derive(Clone, Copy, Default)]
struct Floats {
    touches: bool,
    computes: bool,
    multiplies: bool,
    adds: bool,
}

/// Marks a function.
pub(super) fn mark(function: &mut Function, dialect: &Dialect) {
    if *dialect == Dialect::default() {
        return;
    }
    let edges: Vec<(Loc, Floats)> = function.edges.iter().map(|edge| (edge.from, floats(edge))).collect();
    let any = |what: fn(&Floats) -> bool| edges.iter().any(|(_, floats)| what(floats));
    let is_fused = any(|floats| floats.multiplies) && any(|floats| floats.adds);
    let mut marks: BTreeSet<(Loc, Name)> = BTreeSet::new();
    let mut marked = |flag: Option<Name>, concerns: &dyn Fn(&Floats) -> bool| {
        let Some(flag) = flag else { return };
        let concerned = edges.iter().filter(|(_, floats)| concerns(floats));
        marks.extend(concerned.map(|(from, _)| (*from, what(flag))));
    };
    marked(dialect.floats, &|floats| floats.touches);
    marked(dialect.fused, &|floats| is_fused && floats.computes);
    // What stands in a file that was not read is not known: nothing is proved ([`Unit::unmodelled`](super::Unit::unmodelled)), and runs are told.
    if let Some(flag) = dialect.everything.filter(|flag| !flag.starts_with('@')) {
        marks.insert((function.entry, what(flag)));
    }
    function.unsupported.extend(marks);
    if dialect.is_wider && any(|floats| floats.computes) {
        let what = Name::new("floating arithmetic has the precision of its type (`-mfpmath=sse`)");
        function.approximations.push(Approximation { what, site: Site::NOWHERE });
    }
}

/// In words.
pub(super) fn what(flag: Name) -> Name {
    Name::new(&format!("what the flag `{flag}` changes"))
}

fn floats(edge: &Edge) -> Floats {
    let mut found = Floats::default();
    visit::exprs(&edge.op, &mut |expr| {
        found.touches |= matches!(expr.scalar(), Scalar::Float(_));
        let Expr::Binary(op, left, ..) = expr else { return };
        if matches!(left.scalar(), Scalar::Float(_)) {
            found.computes = true;
            found.multiplies |= *op == BinaryOp::Mul;
            found.adds |= matches!(op, BinaryOp::Add | BinaryOp::Sub);
        }
    });
    found
}
