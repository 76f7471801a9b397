//! The label `ERROR` must not be reached (the convention of older benchmark programs).

use proofline_cfa::{Check, Edge, Expr, Function, Name, Obligation, Op, Site};

use super::Fresh;

/// Control ends at the label. Only for programs that call no error function: there, `ERROR: reach_error();` is judged by its call.
pub(super) fn insert(function: &Function, out: &mut Function, fresh: &mut Fresh) {
    for &(label, loc) in &function.labels {
        if label.as_str() != "ERROR" && !label.starts_with("ERROR#") {
            continue;
        }
        let site = function.edges.iter().find(|edge| edge.from == loc).map_or(Site(0), |edge| edge.site);
        let error = fresh.location();
        for edge in out.edges.iter_mut().filter(|edge| edge.from == loc) {
            *edge = Edge { from: loc, to: error, op: Op::Assume(Expr::int(1)), site };
        }
        out.obligations.push(Obligation {
            check: Check::ErrorLabel,
            error,
            site,
            text: Name::new("ERROR is not reached"),
        });
    }
}
