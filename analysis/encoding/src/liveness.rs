//! Which registers of a function may still be read from a location on: what a formula at that location needs to speak of.

use std::collections::BTreeSet;

use proofline_cfa::{Base, Function, LocalId, Op, visit};

use crate::layout::is_register;

/// Live registers per location. The result slot is live at the exit.
pub(crate) fn live_registers(function: &Function) -> Vec<BTreeSet<LocalId>> {
    let mut live = vec![BTreeSet::new(); function.locations as usize];
    live[function.exit.index()].extend(function.result.filter(|id| is_register(function, *id)));
    loop {
        let mut changed = false;
        for edge in function.edges.iter().rev() {
            let mut here = live[edge.to.index()].clone();
            let written = match &edge.op {
                Op::Assign(dst, _) | Op::Havoc(dst, _) => Some(dst),
                Op::Call(call) => call.dst.as_ref(),
                Op::Allocate(allocation) => Some(&allocation.dst),
                _ => None,
            };
            if let Some(dst) = written
                && let (Base::Local(id), []) = (&dst.base, dst.path.as_slice())
            {
                here.remove(id);
            }
            if let Op::Begin(id) | Op::End(id) = edge.op {
                here.remove(&id);
            }
            visit::reads(&edge.op, &mut |lvalue| {
                if let Base::Local(id) = lvalue.base
                    && is_register(function, id)
                {
                    here.insert(id);
                }
            });
            let before = live[edge.from.index()].len();
            live[edge.from.index()].extend(here);
            changed |= live[edge.from.index()].len() != before;
        }
        if !changed {
            return live;
        }
    }
}
