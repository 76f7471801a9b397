//! Temporaries of automata: sentence 6.

use rustc_hash::FxHashMap;

use super::{Flaw, Part, Verifier};
use crate::{
    expr::{Base, LocalId, Lvalue},
    function::{EdgeId, Op, Role},
    structure::Structure,
    visit::{self, Mention},
};

/// The temporaries that are assigned: a bit each.
type Assigned = Vec<u64>;

impl Verifier<'_> {
    /// Forwards, meeting by intersection.
    pub(super) fn temporaries(&mut self) {
        let function = self.function;
        let mut bit_of: FxHashMap<LocalId, usize> = FxHashMap::default();
        for (index, local) in function.locals.iter().enumerate() {
            // Through its address anything may have been assigned.
            if local.role == Role::Temporary && !local.address_taken {
                let bit = bit_of.len();
                bit_of.insert(LocalId(index as u32), bit);
            }
        }
        if bit_of.is_empty() {
            return;
        }
        let structure = Structure::of(function);
        let words = bit_of.len().div_ceil(64);
        let mut at: Vec<Option<Assigned>> = vec![None; function.locations as usize];
        at[function.entry.index()] = Some(vec![0; words]);
        let mut changed = true;
        while changed {
            changed = false;
            for &loc in structure.reverse_postorder() {
                let Some(before) = at[loc.index()].clone() else { continue };
                for &id in structure.successors(loc) {
                    let edge = function.edge(id);
                    let mut after = before.clone();
                    assign(&edge.op, &bit_of, &mut after);
                    changed |= meet(&mut at[edge.to.index()], after);
                }
            }
        }
        for (id, edge) in function.edge_ids() {
            if let Some(before) = &at[edge.from.index()] {
                self.uses(id, &edge.op, &bit_of, before);
            }
        }
    }

    fn uses(&mut self, id: EdgeId, op: &Op, bit_of: &FxHashMap<LocalId, usize>, before: &Assigned) {
        self.part = Part::Edge(id);
        visit::reads(op, &mut |lvalue| {
            let Some(bit) = temporary(lvalue, bit_of) else { return };
            let assigned = before[bit / 64] & (1 << (bit % 64)) != 0;
            self.expect(assigned, Flaw::Unassigned, || format!("{:?}", lvalue.base));
        });
    }
}

fn temporary(lvalue: &Lvalue, bit_of: &FxHashMap<LocalId, usize>) -> Option<usize> {
    if let Base::Local(id) = &lvalue.base { bit_of.get(id).copied() } else { None }
}

/// What is assigned after the operation; a part counts as all.
fn assign(op: &Op, bit_of: &FxHashMap<LocalId, usize>, assigned: &mut Assigned) {
    visit::mentions(op, &mut |mention| {
        if let Mention::Write(lvalue) = mention
            && let Some(bit) = temporary(lvalue, bit_of)
        {
            assigned[bit / 64] |= 1 << (bit % 64);
        }
    });
}

/// Whether the old value changed.
fn meet(old: &mut Option<Assigned>, new: Assigned) -> bool {
    let Some(old) = old else {
        *old = Some(new);
        return true;
    };
    let mut changed = false;
    for (old, new) in old.iter_mut().zip(new) {
        changed |= *old & !new != 0;
        *old &= new;
    }
    changed
}
