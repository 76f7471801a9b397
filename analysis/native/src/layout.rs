//! What of a function machine code keeps: which locals, where in their frame, and where they have values. Knows no instructions.

use std::collections::BTreeMap;

use proofline_cfa::{
    Base, Edge, Function, IntType, Loc, LocalId, Lvalue, Op, Program, Role, Scalar, Structure, scalar_of,
    visit::{self, Mention},
};

/// Number of a function: its position in the program's order of names.
pub type FunctionIndex = u32;

/// How a local is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Local {
    /// A number of that format.
    Register(Scalar),
    /// The address of its object, of that many bytes.
    Memory(u64),
    /// Not at all: edges that name it are exits.
    Opaque,
}

/// Words before the locals of a frame: function, location, calling edge.
pub(crate) const HEADER: usize = 3;

/// A function as machine code sees it.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) locals: Vec<Local>,
    /// Words of bits that say which locals have a value.
    pub(crate) masks: usize,
    /// Where runs may begin, with the number that is asked for: the entry, heads of loops, and behind calls.
    pub(crate) entries: BTreeMap<Loc, u32>,
    /// By location: the run looks whether it has fuel.
    pub(crate) is_polled: Vec<bool>,
    /// By location, one bit per local: has a value on every path that leads there. Empty where none does.
    must: Vec<Vec<u64>>,
    /// The same on some path.
    may: Vec<Vec<u64>>,
    /// Machine code may call it: nothing is made when it is entered but its parameters.
    pub(crate) is_callable: bool,
}

impl Layout {
    /// Of a function.
    pub(crate) fn of(program: &Program, function: &Function) -> Layout {
        let locals: Vec<Local> = function
            .locals
            .iter()
            .map(|local| {
                let scalar = scalar_of(local.ty, program.data_model);
                match scalar {
                    _ if local.role == Role::VariableArray => Local::Opaque,
                    Some(scalar) if !local.address_taken => match is_word(scalar) {
                        true => Local::Register(scalar),
                        false => Local::Opaque,
                    },
                    None if local.ty.is_scalar() => Local::Opaque,
                    Some(_) | None => Local::Memory(local.size),
                }
            })
            .collect();
        let masks = locals.len().div_ceil(64).max(1);
        let structure = Structure::of(function);
        let mut is_polled = vec![false; function.locations as usize];
        is_polled[function.entry.index()] = true;
        let mut entries = BTreeMap::from([(function.entry, 0)]);
        let calls = function.edges.iter().filter(|edge| matches!(edge.op, Op::Call(_))).map(|edge| edge.to);
        let heads = structure.loops().iter().map(|found| found.head);
        for at in heads.clone().chain(calls) {
            let next = entries.len() as u32;
            entries.entry(at).or_insert(next);
        }
        for head in heads {
            is_polled[head.index()] = true;
        }
        let is_early =
            |id: LocalId| matches!(function.local(id).role, Role::Parameter | Role::Result | Role::Temporary);
        let early = (0..locals.len() as u32).map(LocalId).filter(|id| is_early(*id));
        // A temporary without a value is nothing yet.
        let is_nothing = |id: LocalId| match locals[id.index()] {
            Local::Register(_) => true,
            Local::Opaque => function.local(id).role == Role::Temporary,
            Local::Memory(_) => false,
        };
        let is_callable = early.clone().all(is_nothing);
        let mut layout = Layout {
            masks,
            entries,
            is_polled,
            must: vec![Vec::new(); function.locations as usize],
            may: vec![Vec::new(); function.locations as usize],
            is_callable,
            locals,
        };
        let mut at_entry = vec![0; masks];
        let begun = early.filter(|id| matches!(layout.locals[id.index()], Local::Memory(_)));
        for id in function.parameters.iter().copied().chain(begun) {
            layout.set(&mut at_entry, id, true);
        }
        layout.find_values(function, &at_entry);
        layout
    }

    /// Words of a frame.
    pub(crate) fn words(&self) -> usize {
        HEADER + self.masks + self.locals.len()
    }

    /// Where a local is in a frame, in words.
    pub(crate) fn slot(&self, id: LocalId) -> usize {
        HEADER + self.masks + id.index()
    }

    /// Whether the local has a value on every path to the location.
    pub(crate) fn must(&self, at: Loc, id: LocalId) -> bool {
        is_set(&self.must[at.index()], id)
    }

    /// Whether the local has a value on some path to the location.
    pub(crate) fn may(&self, at: Loc, id: LocalId) -> bool {
        is_set(&self.may[at.index()], id)
    }

    /// The locals that are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = LocalId> {
        let is_kept = |id: &LocalId| self.locals[id.index()] != Local::Opaque;
        (0..self.locals.len() as u32).map(LocalId).filter(is_kept)
    }

    fn set(&self, mask: &mut [u64], id: LocalId, value: bool) {
        if self.locals[id.index()] == Local::Opaque {
            return;
        }
        let (word, bit) = (id.index() / 64, 1 << (id.index() % 64));
        if value { mask[word] |= bit } else { mask[word] &= !bit }
    }

    /// The least and the greatest solution over all paths from the entry.
    fn find_values(&mut self, function: &Function, at_entry: &[u64]) {
        let successors = function.successors();
        self.must[function.entry.index()] = at_entry.to_vec();
        self.may[function.entry.index()] = at_entry.to_vec();
        let mut open = vec![function.entry];
        while let Some(at) = open.pop() {
            for &id in &successors[at.index()] {
                let edge = function.edge(id);
                let (mut must, mut may) = (self.must[at.index()].clone(), self.may[at.index()].clone());
                self.mention(edge, &mut may);
                self.effect(edge, &mut must);
                self.effect(edge, &mut may);
                let to = edge.to.index();
                let changed = if self.must[to].is_empty() {
                    (self.must[to], self.may[to]) = (must, may);
                    true
                } else {
                    let mut changed = false;
                    for (known, new) in self.must[to].iter_mut().zip(must) {
                        changed |= *known & new != *known;
                        *known &= new;
                    }
                    for (known, new) in self.may[to].iter_mut().zip(may) {
                        changed |= *known | new != *known;
                        *known |= new;
                    }
                    changed
                };
                if changed {
                    open.push(edge.to);
                }
            }
        }
    }

    /// What is only looked at may have a value afterwards: it is asked for, and an object comes into being.
    fn mention(&self, edge: &Edge, mask: &mut [u64]) {
        let mut see = |lvalue: &Lvalue| {
            if let Base::Local(id) = lvalue.base {
                self.set(mask, id, true);
            }
        };
        visit::mentions(&edge.op, &mut |mention| match mention {
            Mention::Value(_) => {}
            Mention::Read(lvalue) | Mention::Write(lvalue) => see(lvalue),
        });
        visit::exprs(&edge.op, &mut |expr| {
            if let proofline_cfa::Expr::Load(lvalue) | proofline_cfa::Expr::Address(lvalue) = expr {
                see(lvalue);
            }
        });
    }

    /// What the edge certainly gives a value, and what it takes one from.
    fn effect(&self, edge: &Edge, mask: &mut [u64]) {
        let mut write = |lvalue: &Lvalue| {
            if let (Base::Local(id), Some(_)) = (&lvalue.base, lvalue.scalar) {
                self.set(mask, *id, true);
            }
        };
        match &edge.op {
            Op::Assign(dst, _) | Op::Havoc(dst, _) => write(dst),
            Op::Allocate(allocation) => write(&allocation.dst),
            // A function may return no value, which its caller then has not either.
            Op::Call(call) => call.dst.iter().for_each(write),
            Op::Begin(id) => {
                let is_object = matches!(self.locals[id.index()], Local::Memory(_));
                self.set(mask, *id, is_object);
            }
            Op::End(id) => self.set(mask, *id, false),
            Op::Skip
            | Op::Assume(_)
            | Op::Copy(..)
            | Op::Clobber(..)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..) => {}
        }
    }
}

fn is_set(mask: &[u64], id: LocalId) -> bool {
    mask.get(id.index() / 64).is_some_and(|word| word >> (id.index() % 64) & 1 == 1)
}

/// Whether a value of this format is kept in a word.
pub(crate) fn is_word(scalar: Scalar) -> bool {
    match scalar {
        Scalar::Int(IntType { bits, .. }) => bits <= 64,
        Scalar::Pointer => true,
        Scalar::Float(_) => false,
    }
}
