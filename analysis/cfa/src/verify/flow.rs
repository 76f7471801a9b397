//! Temporaries of automata: sentence 6.

use super::{Flaw, Part, Verifier};
use crate::{
    dataflow::{self, Analysis, BitSet, Direction, Dual},
    expr::{Base, LocalId, Lvalue},
    function::{Edge, EdgeId, Function, Op, Role},
    visit::{self, Mention},
};

impl Verifier<'_> {
    /// Every temporary is assigned before it is used, on every path.
    pub(super) fn temporaries(&mut self) {
        let function = self.function;
        let mut tracked = BitSet::empty(function.locals.len());
        for (index, local) in function.locals.iter().enumerate() {
            // Through its address anything may have been assigned.
            if local.role == Role::Temporary && !local.address_taken {
                tracked.insert(index);
            }
        }
        if tracked.iter().next().is_none() {
            return;
        }
        let problem = DefinitelyAssigned { function, tracked };
        let solution = dataflow::solve(function, &problem);
        for (id, edge) in function.edge_ids() {
            if let Some(Dual(before)) = solution.at(edge.from) {
                self.uses(id, &edge.op, &problem, before);
            }
        }
    }

    fn uses(&mut self, id: EdgeId, op: &Op, problem: &DefinitelyAssigned<'_>, before: &BitSet) {
        self.part = Part::Edge(id);
        visit::reads(op, &mut |lvalue| {
            let Some(local) = problem.temporary(lvalue) else { return };
            let assigned = before.contains(local.index());
            self.expect(assigned, Flaw::Unassigned, || format!("{:?}", lvalue.base));
        });
    }
}

/// The temporaries that every path assigns; `None` where nothing gets.
struct DefinitelyAssigned<'f> {
    function: &'f Function,
    tracked: BitSet,
}

impl DefinitelyAssigned<'_> {
    fn temporary(&self, lvalue: &Lvalue) -> Option<LocalId> {
        match lvalue.base {
            Base::Local(id) if self.tracked.contains(id.index()) => Some(id),
            Base::Local(_) | Base::Global(_) | Base::Deref(..) => None,
        }
    }
}

impl Analysis for DefinitelyAssigned<'_> {
    type Domain = Option<Dual>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Option<Dual> {
        None
    }

    fn boundary(&self) -> Option<Dual> {
        Some(Dual(BitSet::empty(self.function.locals.len())))
    }

    /// A part counts as all.
    fn transfer(&self, _: EdgeId, edge: &Edge, value: &mut Option<Dual>) {
        let Some(Dual(assigned)) = value else { return };
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Write(lvalue) = mention
                && let Some(id) = self.temporary(lvalue)
            {
                assigned.insert(id.index());
            }
        });
    }
}
