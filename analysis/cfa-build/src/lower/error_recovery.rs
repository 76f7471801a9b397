//! Error recovery: after an error in the text, the verifier's rejections of an automaton are repaired. Each rejected edge becomes
//! `Skip` with a mark "not understood", so that every automaton is well formed. Knows nothing of the text.

use proofline_hir::Name;

use proofline_cfa::{
    Function, Op, Types,
    verify::{Defect, Part, verify_function},
};

/// Why a verdict that gets to such a place is unknown.
const REASON: &str = "a part that was not understood";

/// Each round may lay bare what earlier defects hid.
const MAX_ROUNDS: usize = 4;

/// Takes out what is wrong with a function that has parts that were not understood.
pub(super) fn recover(function: &mut Function, types: Types<'_>) {
    for _ in 0..MAX_ROUNDS {
        let defects = verify_function(function, types.model, types.records, None);
        if defects.is_empty() {
            return;
        }
        if !defects.iter().all(|defect| take_out(function, defect)) {
            break;
        }
    }
    // Beyond repair: nothing is left but the mark.
    function.edges.clear();
    function.obligations.clear();
    function.labels.clear();
    function.approximations.clear();
    function.operands.clear();
    function.library_results.clear();
    function.locals.truncate(function.parameters.len() + usize::from(function.result.is_some()));
    function.unsupported = vec![(function.entry, Name::new(REASON))];
}

fn take_out(function: &mut Function, defect: &Defect) -> bool {
    let Part::Edge(id) = defect.part else { return false };
    let edge = &mut function.edges[id.index()];
    edge.op = Op::Skip;
    let mark = (edge.from, Name::new(REASON));
    if !function.unsupported.contains(&mark) {
        function.unsupported.push(mark);
    }
    true
}
