//! Live locals: those whose value at a location may still be used. Must not know who wants to forget the others.

use super::{Analysis, BitSet, Direction, GenKill, Solution, solve};
use crate::{
    expr::{Base, LocalId},
    function::{Edge, EdgeId, Function, Loc, Op, Role},
    visit::{self, Mention},
};

/// Live locals of a function, per location: a local is live if some path from there reads it before the path overwrites it. The
/// result slot is live at the exit. Of a local whose address is taken only uses by name count: it is not a local in this sense.
///
/// What kills: an edge that overwrites all of the local (it names the local without a path, as a scalar or with the local's whole
/// size), and [`Op::Begin`] and [`Op::End`], after which its value is indeterminate. The end of an array of variable length reads it: that says which object ends. A write to a part (member, element, bit-field)
/// kills nothing. So a local with one scalar format is killed by every assignment, an aggregate by copies of all of it.
#[derive(Debug)]
pub struct Liveness(Solution<BitSet>);

impl Liveness {
    /// Computes the least solution, backwards.
    pub fn new(function: &Function) -> Liveness {
        let effects = function.edges.iter().map(|edge| effect(function, &edge.op)).collect();
        Liveness(solve(function, &Problem { function, effects }))
    }

    /// Whether the local's value at the location may still be used.
    pub fn is_live(&self, loc: Loc, id: LocalId) -> bool {
        self.0.at(loc).contains(id.index())
    }

    /// The locals that are live at the location, ascending.
    pub fn live(&self, loc: Loc) -> impl Iterator<Item = LocalId> {
        self.0.at(loc).iter().map(|index| LocalId(index as u32))
    }
}

struct Problem<'f> {
    function: &'f Function,
    /// By edge.
    effects: Vec<GenKill>,
}

impl Analysis for Problem<'_> {
    type Domain = BitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> BitSet {
        BitSet::empty(self.function.locals.len())
    }

    fn boundary(&self) -> BitSet {
        let mut live = self.bottom();
        if let Some(id) = self.function.result {
            live.insert(id.index());
        }
        live
    }

    fn transfer(&self, id: EdgeId, _: &Edge, live: &mut BitSet) {
        self.effects[id.index()].apply(live);
    }
}

fn effect(function: &Function, op: &Op) -> GenKill {
    let mut effect = GenKill::default();
    visit::reads(op, &mut |lvalue| {
        if let Base::Local(id) = lvalue.base {
            effect.gens.push(id);
        }
    });
    visit::mentions(op, &mut |mention| {
        if let Mention::Write(lvalue) = mention
            && let Base::Local(id) = lvalue.base
            && lvalue.path.is_empty()
            && lvalue.bits.is_none()
            && (lvalue.size == function.local(id).size || lvalue.scalar.is_some())
        {
            effect.kills.push(id);
        }
    });
    match op {
        // The end of an array of variable length reads where it is.
        Op::End(id) if function.local(*id).role == Role::VariableArray => effect.gens.push(*id),
        Op::Begin(id) | Op::End(id) => effect.kills.push(*id),
        Op::Skip
        | Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Call(_)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => {}
    }
    effect
}
