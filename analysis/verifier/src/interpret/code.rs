//! A program made ready to run: dense numbers for functions, successors per location, which locals live in registers.

use std::sync::{Arc, OnceLock};

use proofline_cfa::{
    Argument, Base, Callee, EdgeId, Expr, Function, Loc, LocalId, MemoryPredicate, Name, ObligationId, Op,
    Program, dataflow::Liveness, visit,
};
use proofline_program_analysis::Mentions;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    accelerate,
    memory::Memory,
    signs,
    start::{addressed, function_address},
    words::words,
};

/// Number of a function in [`Code`].
pub(crate) type FunctionIndex = u32;

/// A program ready to run.
pub struct Code {
    pub(crate) program: Program,
    pub(crate) functions: Vec<FunctionCode>,
    pub(crate) by_name: FxHashMap<Name, FunctionIndex>,
    /// Addresses of functions, also of those without a body.
    addresses: FxHashMap<Name, i128>,
    /// Some condition asks which bytes have a value.
    pub(crate) asks_for_values: bool,
    /// Memory at the start of a run: of a program, and of a library. Runs may be short, and tables long.
    pub(crate) initial: [OnceLock<Initial>; 2],
    /// By function and location: where loops begin. Short runs do not ask.
    heads: OnceLock<Vec<Vec<bool>>>,
    words: OnceLock<Vec<Vec<u8>>>,
    looked_into: OnceLock<FxHashSet<(Name, LocalId)>>,
}

/// Memory at the start of a run, and where the globals are in it.
#[derive(Clone)]
pub(crate) struct Initial {
    pub(crate) memory: Memory,
    pub(crate) globals: Arc<FxHashMap<Name, u64>>,
}

/// A function ready to run.
pub(crate) struct FunctionCode {
    pub(crate) function: Arc<Function>,
    /// What it names of the program's objects and functions. Steps with a picture of memory ask for it.
    names: OnceLock<Vec<Name>>,
    /// Where which local may still be used. Who compares states asks for it.
    liveness: OnceLock<Liveness>,
    pub(crate) successors: Vec<Vec<EdgeId>>,
    pub(crate) obligation: Vec<Option<ObligationId>>,
    pub(crate) unsupported: Vec<Option<Name>>,
    pub(crate) homes: Vec<Home>,
    /// By temporary: which of the function's computed values it gets.
    pub(crate) library_results: FxHashMap<LocalId, u32>,
    /// Its result depends on nothing but its arguments, and it changes nothing.
    pub(crate) pure: bool,
}

/// Where a local lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// A scalar that only its function names.
    Register,
    /// An object in memory of that many bytes.
    Memory(u64),
}

impl FunctionCode {
    /// The objects and functions of the program that it names, in order.
    pub(crate) fn names(&self) -> &[Name] {
        self.names.get_or_init(|| Mentions::of_function(&self.function).names.into_iter().collect())
    }

    /// Where which local may still be used.
    pub(crate) fn liveness(&self) -> &Liveness {
        self.liveness.get_or_init(|| Liveness::new(&self.function))
    }
}

impl Code {
    /// Makes a program ready.
    pub fn new(program: &Program) -> Code {
        let mut functions = Vec::new();
        let mut by_name = FxHashMap::default();
        for (name, function) in &program.functions {
            by_name.insert(*name, functions.len() as u32);
            let mut obligation = vec![None; function.locations as usize];
            for (i, o) in function.obligations.iter().enumerate() {
                obligation[o.error.index()] = Some(ObligationId(i as u32));
            }
            let mut unsupported = vec![None; function.locations as usize];
            for (loc, what) in &function.unsupported {
                unsupported[loc.index()] = Some(*what);
            }
            functions.push(FunctionCode {
                successors: function.successors(),
                obligation,
                unsupported,
                homes: homes(function),
                library_results: function
                    .library_results
                    .iter()
                    .zip(0..)
                    .map(|(value, at)| (value.dst, at))
                    .collect(),
                pure: false,
                function: function.clone(),
                names: OnceLock::new(),
                liveness: OnceLock::new(),
            });
        }
        let addresses = addressed(program).zip((0..).map(function_address)).collect();
        // Maps of shared parts: a clone is cheap, and the code that runs programs needs no lifetime.
        let mut code = Code {
            program: program.clone(),
            functions,
            by_name,
            addresses,
            asks_for_values: asks_for_values(program),
            initial: Default::default(),
            heads: OnceLock::new(),
            words: OnceLock::new(),
            looked_into: OnceLock::new(),
        };
        code.find_pure();
        code
    }

    /// Words that texts from outside may be made of.
    pub(super) fn words(&self) -> &[Vec<u8>] {
        self.words.get_or_init(|| words(&self.program))
    }

    /// Whether nothing but the sign of the variable matters.
    pub(super) fn is_sign(&self, function: Name, id: LocalId) -> bool {
        !self.looked_into.get_or_init(|| signs::looked_into(&self.program)).contains(&(function, id))
    }

    /// The address of a function, which has a body or not.
    pub(super) fn address_of(&self, name: Name) -> Option<i128> {
        self.addresses.get(&name).copied()
    }

    /// Whether a loop begins there.
    pub(super) fn is_head(&self, function: FunctionIndex, at: Loc) -> bool {
        self.heads.get_or_init(|| accelerate::heads(self))[function as usize][at.index()]
    }

    /// Greatest fixpoint: start from "everything that looks harmless by itself", remove what calls something else.
    fn find_pure(&mut self) {
        for code in &mut self.functions {
            code.pure = code.homes.iter().all(|home| matches!(home, Home::Register))
                && code.unsupported.iter().all(Option::is_none)
                && code.function.edges.iter().all(|edge| is_harmless(&edge.op));
        }
        loop {
            let remove: Vec<usize> = (0..self.functions.len())
                .filter(|&i| {
                    self.functions[i].pure
                        && self.functions[i].function.edges.iter().any(|edge| {
                            matches!(&edge.op, Op::Call(call) if !matches!(call.callee, Callee::Direct(name)
                        if self.by_name.get(&name).is_some_and(|&f| self.functions[f as usize].pure)))
                        })
                })
                .collect();
            if remove.is_empty() {
                return;
            }
            for i in remove {
                self.functions[i].pure = false;
            }
        }
    }
}

fn asks_for_values(program: &Program) -> bool {
    program.functions.values().flat_map(|function| &function.edges).any(|edge| {
        let mut asks = false;
        visit::exprs(&edge.op, &mut |expr| {
            asks |= matches!(expr, Expr::Memory(MemoryPredicate::Initialised, ..));
        });
        asks
    })
}

fn homes(function: &Function) -> Vec<Home> {
    function
        .locals
        .iter()
        .map(|local| {
            let register = local.ty.is_scalar() && !local.address_taken;
            if register { Home::Register } else { Home::Memory(local.size) }
        })
        .collect()
}

/// Touches registers only, and asks for nothing from outside.
fn is_harmless(op: &Op) -> bool {
    let register =
        |lvalue: &proofline_cfa::Lvalue| matches!(lvalue.base, Base::Local(_)) && lvalue.path.is_empty();
    match op {
        Op::Skip | Op::Begin(_) | Op::End(_) => true,
        Op::Assume(value) => is_harmless_expr(value),
        Op::Assign(dst, value) => register(dst) && is_harmless_expr(value),
        Op::Call(call) => {
            call.dst.as_ref().is_none_or(register)
                && call
                    .arguments
                    .iter()
                    .all(|a| matches!(a, Argument::Value(value) if is_harmless_expr(value)))
        }
        Op::Copy(..)
        | Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::HavocBytes(..)
        | Op::FillBytes(..) => false,
    }
}

fn is_harmless_expr(expr: &Expr) -> bool {
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => true,
        Expr::Load(lvalue) => matches!(lvalue.base, Base::Local(_)) && lvalue.path.is_empty(),
        Expr::Address(_) => false,
        Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => is_harmless_expr(arg),
        Expr::Binary(_, lhs, rhs, _)
        | Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, ..) => is_harmless_expr(lhs) && is_harmless_expr(rhs),
    }
}

impl FunctionCode {
    pub(crate) fn home(&self, local: LocalId) -> Home {
        self.homes[local.index()]
    }
}
