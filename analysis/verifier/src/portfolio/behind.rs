//! Obligations right behind one that fails: of `*p` with a freed `p` it is asked next whether `p` leads into an object. Runs that come there are those in which the
//! first one holds, and whoever mends the failure asks anew; so they are not worth what dear engines take.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Function, Loc, ObligationId, Op};

/// The obligations of a function that control comes to from where this one holds, with nothing done in between.
pub(super) fn right_behind(function: &Function, failed: ObligationId) -> Vec<ObligationId> {
    let errors: BTreeMap<Loc, ObligationId> = (0..)
        .zip(&function.obligations)
        .map(|(id, obligation)| (obligation.error, ObligationId(id)))
        .collect();
    let successors = function.successors();
    // The obligation that is asked at a location, and where control goes on.
    let asked_at = |loc: Loc| {
        let mut asked = None;
        let mut on = Vec::new();
        for id in successors.get(loc.index())? {
            let edge = function.edge(*id);
            match errors.get(&edge.to) {
                Some(obligation) => asked = Some(*obligation),
                None => on.push(edge),
            }
        }
        let [on] = on[..] else { return None };
        (asked.is_some() || matches!(on.op, Op::Skip)).then_some((asked, on.to))
    };
    let error = function.obligations.get(failed.index()).map(|obligation| obligation.error);
    let first = function.edges.iter().find(|edge| Some(edge.to) == error).map(|edge| edge.from);
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut next = first.and_then(asked_at).map(|(_, to)| to);
    while let Some((asked, to)) = next.filter(|at| seen.insert(*at)).and_then(asked_at) {
        found.extend(asked);
        next = Some(to);
    }
    found
}
