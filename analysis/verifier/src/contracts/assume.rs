//! The automaton of a function that was called as its contract says. Beside each pointer that was made from a parameter stands how far it has
//! moved, and of strings how many bytes are left; conditions on memory become comparisons of these numbers, which every engine understands. Where it calls
//! functions that have contracts, keeping those is an obligation.
//!
//! **Law.** Each run of the function whose caller keeps the contract is a run of the new automaton, as long as nothing fails; and where an obligation of
//! the function fails in it, the obligation of the same number fails there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    BinaryOp, Call, Callee, Cause, CompareOp, Edge, EdgeId, Expr, Function, Loc, Local, LocalId, Lvalue,
    MemoryPredicate, Name, Obligation, ObligationId, Op, Program, Quantity, Role, Scalar, Site, expr_text,
    visit,
};
use proofline_hir::TypeKind;
use proofline_program_analysis::Environment;

use super::{
    Asked, Contract, Contracts, Memory, at_call,
    bytes::{
        self, MOST, and, at_most, compare, difference, is_not_null, is_null, number, or, plus, sum, times,
        truth, widened,
    },
    obligations,
    origin::{Offset, Origin, Origins, Place, is_character, types, whole_pointer},
    replaced, text,
    writes::{Stays, stays},
};
use crate::checks::{library_call, precondition};

mod body;
mod ends;
mod numbers;

/// A function that was called as its contract says.
#[derive(Debug)]
pub(crate) struct Assumed {
    /// The program with it.
    pub(crate) program: Program,
    /// Which parameter each obligation that speaks of memory is about, by its number.
    pub(crate) about: BTreeMap<ObligationId, usize>,
    /// The obligations that functions which are called make.
    pub(crate) calls: BTreeSet<ObligationId>,
    /// If this one holds, no caller can keep the contract.
    pub(crate) callers: Option<ObligationId>,
}

/// The program with the function as it runs where its caller keeps its contract. Its obligations keep their numbers; those at its calls come
/// behind them.
pub(crate) fn under(env: &Environment, name: Name, contracts: &Contracts) -> Option<Assumed> {
    let function = env.function(name)?;
    let nothing = Contract::default();
    let own = contracts.get(&name).unwrap_or(&nothing);
    let mut maker = Maker::new(env, function, own, contracts);
    maker.edges();
    maker.entry();
    maker.bury();
    let (function, about, calls, callers) = (maker.out, maker.about, maker.calls, maker.callers);
    let mut program = env.program().clone();
    program.functions.insert(name, Arc::new(function));
    Some(Assumed { program, about, calls, callers })
}

/// The numbers beside a pointer.
#[derive(Clone, Copy, Debug, Default)]
struct Ghosts {
    /// How far it is from where its origin points.
    moved: Option<LocalId>,
    /// How many bytes are left of its string, the 0 included.
    left: Option<LocalId>,
}

struct Maker<'a> {
    env: &'a Environment,
    program: &'a Program,
    function: &'a Function,
    own: &'a Contract,
    contracts: &'a Contracts,
    origins: Origins<'a>,
    stays: Stays,
    ghosts: BTreeMap<LocalId, Ghosts>,
    /// Values of integer parameters at the entry, of those that change.
    at_entry: BTreeMap<LocalId, LocalId>,
    /// Origins all of whose pointers only move forward, by what is written in the text.
    only_forward: bool,
    out: Function,
    about: BTreeMap<ObligationId, usize>,
    calls: BTreeSet<ObligationId>,
    callers: Option<ObligationId>,
    /// Edges of the function that others took the place of.
    dead: BTreeSet<usize>,
}

impl<'a> Maker<'a> {
    fn new(
        env: &'a Environment,
        function: &'a Function,
        own: &'a Contract,
        contracts: &'a Contracts,
    ) -> Maker<'a> {
        let program = env.program();
        let is_known = |at: &usize| {
            function.parameters.get(*at).is_some_and(|id| {
                let local = function.local(*id);
                !local.address_taken && matches!(local.ty.kind(), TypeKind::Pointer(_))
            })
        };
        let asked = own.pointers.iter().filter(|(at, _)| is_known(at));
        let may_be_null: Vec<(usize, bool)> = asked.clone().map(|(at, asked)| (*at, asked.or_null)).collect();
        let stays = stays(env, function.name);
        let structures = asked.filter(|(_, asked)| asked.memory == Memory::Structure && stays.structures);
        let structures = structures.map(|(at, _)| *at).collect();
        let origins = Origins::of(program, function, &may_be_null, structures);
        let mut maker = Maker {
            env,
            program,
            function,
            own,
            contracts,
            origins,
            stays,
            ghosts: BTreeMap::new(),
            at_entry: BTreeMap::new(),
            only_forward: true,
            out: function.clone(),
            about: BTreeMap::new(),
            calls: BTreeSet::new(),
            callers: None,
            dead: BTreeSet::new(),
        };
        maker.only_forward = maker.moves_only_forward();
        maker.make_ghosts();
        maker
    }

    fn moves_only_forward(&self) -> bool {
        const STEP: i128 = 1 << 16;
        self.function.edges.iter().all(|edge| match &edge.op {
            Op::Assign(dst, value) if whole_pointer(self.function, dst).is_some() => {
                let offset = self.origins.place(value).map(|place| place.offset);
                offset.is_none_or(|offset| offset.terms.is_empty() && (0..=STEP).contains(&offset.bytes))
            }
            _ => true,
        })
    }

    fn fresh(&mut self, text: &str) -> LocalId {
        let id = LocalId(self.out.locals.len() as u32);
        let name = Name::new(&format!("{text}#contract"));
        let local =
            Local { name, ty: bytes::bytes_type(), role: Role::Variable, address_taken: false, size: 8 };
        self.out.locals.push(local);
        id
    }

    fn memory(&self, origin: Origin) -> Memory {
        match origin {
            Origin::Parameter(at) => {
                self.own.pointers.get(&at).map_or(Memory::Nothing, |asked| asked.memory.clone())
            }
            Origin::Loaded(ty) if is_character(ty) => Memory::String,
            Origin::Loaded(_) => Memory::Structure,
        }
    }

    fn make_ghosts(&mut self) {
        let locals: Vec<(LocalId, Origin)> = self.origins.locals().collect();
        for (id, origin) in locals {
            let is_fixed = !self.origins.is_written(id);
            let name = self.function.local(id).name;
            let mut ghosts = Ghosts::default();
            match self.memory(origin) {
                Memory::Nothing | Memory::Structure => {}
                Memory::Bytes(_) | Memory::Elements(..) => {
                    ghosts.moved = (!is_fixed).then(|| self.fresh(&format!("moved_{name}")));
                }
                Memory::String => {
                    let is_needed = !is_fixed && !self.only_forward;
                    ghosts.moved = is_needed.then(|| self.fresh(&format!("moved_{name}")));
                    ghosts.left = Some(self.fresh(&format!("left_{name}")));
                }
            }
            self.ghosts.insert(id, ghosts);
        }
        let mut read = BTreeSet::new();
        for asked in self.own.pointers.values() {
            if let Memory::Elements(count, _) = &asked.memory {
                proofline_cfa::visit::reads_of_expr(count, &mut |lvalue| {
                    if let proofline_cfa::Base::Local(id) = lvalue.base {
                        read.insert(id);
                    }
                });
            }
        }
        for id in read {
            if self.origins.is_written(id) || self.function.local(id).address_taken {
                let local = self.function.local(id).clone();
                let ghost = LocalId(self.out.locals.len() as u32);
                let name = Name::new(&format!("{}#entry", local.name));
                self.out.locals.push(Local { name, role: Role::Variable, address_taken: false, ..local });
                self.at_entry.insert(id, ghost);
            }
        }
    }

    /// An expression of the contract, as its value was at the entry.
    fn entry_value(&self, expr: &Expr) -> Expr {
        let entry = |load: &Expr| {
            let Expr::Load(lvalue) = load else { return None };
            let proofline_cfa::Base::Local(id) = lvalue.base else { return Some(load.clone()) };
            let Some(ghost) = self.at_entry.get(&id) else { return Some(load.clone()) };
            Some(Expr::Load(Lvalue { base: proofline_cfa::Base::Local(*ghost), ..lvalue.clone() }))
        };
        replaced(expr, &entry).unwrap_or_else(|| expr.clone())
    }
}
