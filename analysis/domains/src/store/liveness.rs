//! Live locals: those whose value at a location may still be used. Values of others need not be kept. Knows automata only.

use std::collections::VecDeque;

use proofline_cfa::{Base, Function, Loc, LocalId, Op, visit};

/// Live locals of a function, per location. Locals whose address is taken are not locals in this sense.
#[derive(Debug)]
pub struct Liveness {
    words: usize,
    bits: Vec<u64>,
}

impl Liveness {
    /// Computes the least fixpoint backwards.
    pub fn new(function: &Function) -> Liveness {
        let words = function.locals.len().div_ceil(64).max(1);
        let mut result = Liveness { words, bits: vec![0; words * function.locations as usize] };
        if let Some(id) = function.result {
            result.set(function.exit, id);
        }
        let mut incoming = vec![Vec::new(); function.locations as usize];
        for (id, edge) in function.edge_ids() {
            incoming[edge.to.index()].push(id);
        }
        let effects: Vec<Effect> = function.edges.iter().map(|edge| Effect::of(function, &edge.op)).collect();
        let mut queue: VecDeque<Loc> = (0..function.locations).rev().map(Loc).collect();
        let mut queued = vec![true; function.locations as usize];
        while let Some(loc) = queue.pop_front() {
            queued[loc.index()] = false;
            for id in &incoming[loc.index()] {
                let (edge, effect) = (function.edge(*id), &effects[id.index()]);
                let mut live = result.row(edge.to).to_vec();
                for id in &effect.kills {
                    live[id.index() / 64] &= !(1 << (id.index() % 64));
                }
                for id in &effect.uses {
                    live[id.index() / 64] |= 1 << (id.index() % 64);
                }
                let mut changed = false;
                for (old, new) in result.row_mut(edge.from).iter_mut().zip(live) {
                    changed |= new & !*old != 0;
                    *old |= new;
                }
                if changed && !queued[edge.from.index()] {
                    queued[edge.from.index()] = true;
                    queue.push_back(edge.from);
                }
            }
        }
        result
    }

    /// Whether the local's value at the location may still be used.
    pub fn is_live(&self, loc: Loc, id: LocalId) -> bool {
        self.row(loc).get(id.index() / 64).is_some_and(|word| word >> (id.index() % 64) & 1 == 1)
    }

    fn row(&self, loc: Loc) -> &[u64] {
        &self.bits[loc.index() * self.words..(loc.index() + 1) * self.words]
    }
    fn row_mut(&mut self, loc: Loc) -> &mut [u64] {
        &mut self.bits[loc.index() * self.words..(loc.index() + 1) * self.words]
    }
    fn set(&mut self, loc: Loc, id: LocalId) {
        self.row_mut(loc)[id.index() / 64] |= 1 << (id.index() % 64);
    }
}

/// Locals an edge uses, and those it overwrites entirely.
struct Effect {
    uses: Vec<LocalId>,
    kills: Vec<LocalId>,
}

impl Effect {
    fn of(function: &Function, op: &Op) -> Effect {
        let mut effect = Effect { uses: Vec::new(), kills: Vec::new() };
        visit::reads(op, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base {
                effect.uses.push(id);
            }
        });
        visit::mentions(op, &mut |mention| {
            if let visit::Mention::Write(lvalue) = mention
                && let Base::Local(id) = lvalue.base
                && lvalue.path.is_empty()
                && lvalue.bits.is_none()
                && (lvalue.size == function.local(id).size || lvalue.scalar.is_some())
            {
                effect.kills.push(id);
            }
        });
        if let Op::Begin(id) | Op::End(id) = op {
            effect.kills.push(*id);
        }
        effect
    }
}
