//! A program made ready to run: dense numbers for functions, successors per location, which locals live in registers.

use std::{
    collections::BTreeSet,
    ops::Index,
    sync::{Arc, OnceLock},
};

use proofline_cfa::{
    Argument, Base, Callee, EdgeId, Expr, Function, Loc, LocalId, MemoryPredicate, Name, ObligationId, Op,
    Program, dataflow::Liveness, register, visit,
};
use proofline_program_analysis::Mentions;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    accelerate,
    memory::Memory,
    signs,
    start::{addressed, function_address},
    unread,
    words::words,
};

/// Number of a function in [`Code`].
pub(crate) type FunctionIndex = u32;

/// A program ready to run.
pub struct Code {
    pub(crate) program: Program,
    pub(crate) functions: Functions,
    pub(crate) by_name: FxHashMap<Name, FunctionIndex>,
    /// Addresses of functions, also of those without a body.
    addresses: FxHashMap<Name, i128>,
    /// Some condition asks which bytes have a value.
    pub(crate) asks_for_values: bool,
    /// It uses registers, whose addresses only the interpreter takes for the numbers that they are.
    pub(crate) has_registers: bool,
    /// Memory at the start of a run: of a program, and of a library. Runs may be short, and tables long.
    pub(crate) initial: [OnceLock<Initial>; 2],
    words: OnceLock<Vec<Vec<u8>>>,
    looked_into: OnceLock<FxHashSet<(Name, LocalId)>>,
}

/// The functions of a program, by number. Each is made ready when a run comes to it: of the thousands that a function of a large library reaches,
/// a run comes to a few.
pub(crate) struct Functions(Vec<(Arc<Function>, OnceLock<FunctionCode>)>);

impl Functions {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A function as the program has it.
    fn plain(&self, index: FunctionIndex) -> &Arc<Function> {
        &self.0[index as usize].0
    }
}

impl Index<usize> for Functions {
    type Output = FunctionCode;
    fn index(&self, index: usize) -> &FunctionCode {
        let (function, code) = &self.0[index];
        code.get_or_init(|| FunctionCode::new(function))
    }
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
    /// The locals whose values have a say in what it does.
    read: OnceLock<BTreeSet<LocalId>>,
    pub(crate) successors: Vec<Vec<EdgeId>>,
    pub(crate) obligation: Vec<Option<ObligationId>>,
    pub(crate) unsupported: Vec<Option<Name>>,
    pub(crate) homes: Vec<Home>,
    /// By temporary: which of the function's computed values it gets.
    pub(crate) library_results: FxHashMap<LocalId, u32>,
    /// See [`Code::is_pure`].
    pure: OnceLock<bool>,
    /// By location: where loops begin. Short runs do not ask.
    heads: OnceLock<Vec<bool>>,
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
    fn new(function: &Arc<Function>) -> FunctionCode {
        let mut obligation = vec![None; function.locations as usize];
        for (i, o) in function.obligations.iter().enumerate() {
            obligation[o.error.index()] = Some(ObligationId(i as u32));
        }
        let mut unsupported = vec![None; function.locations as usize];
        for (loc, what) in &function.unsupported {
            unsupported[loc.index()] = Some(*what);
        }
        let library_results = function.library_results.iter().zip(0..);
        FunctionCode {
            successors: function.successors(),
            obligation,
            unsupported,
            homes: homes(function),
            library_results: library_results.map(|(value, at)| (value.dst, at)).collect(),
            pure: OnceLock::new(),
            heads: OnceLock::new(),
            function: function.clone(),
            names: OnceLock::new(),
            liveness: OnceLock::new(),
            read: OnceLock::new(),
        }
    }

    /// Whether a local's value has no say in what it does, whatever it is.
    pub(crate) fn is_unread(&self, id: LocalId) -> bool {
        let is_reached = self.function.local(id).address_taken;
        !is_reached && !self.read.get_or_init(|| unread::read(&self.function)).contains(&id)
    }

    /// Whether a loop begins there.
    pub(super) fn is_head(&self, at: Loc) -> bool {
        self.heads.get_or_init(|| accelerate::heads(&self.function))[at.index()]
    }

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
        let functions = program.functions.values().map(|function| (function.clone(), OnceLock::new()));
        // Maps of shared parts: a clone is cheap, and the code that runs programs needs no lifetime.
        Code {
            program: program.clone(),
            functions: Functions(functions.collect()),
            by_name: program.functions.keys().copied().zip(0..).collect(),
            addresses: addressed(program).zip((0..).map(function_address)).collect(),
            asks_for_values: asks_for_values(program),
            has_registers: program.globals.keys().any(|name| register::pointer(*name).is_some()),
            initial: Default::default(),
            words: OnceLock::new(),
            looked_into: OnceLock::new(),
        }
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

    /// The function with a body that is at an address.
    pub(super) fn function_at(&self, address: i128) -> Option<FunctionIndex> {
        let from_first = address - function_address(0);
        let each = function_address(1) - function_address(0);
        let index = FunctionIndex::try_from(from_first / each).ok().filter(|_| from_first % each == 0)?;
        ((index as usize) < self.functions.len()).then_some(index)
    }

    /// Whether its result depends on nothing but its arguments, and it changes nothing: it is harmless by itself, and so is all that it calls.
    pub(super) fn is_pure(&self, index: FunctionIndex) -> bool {
        *self.functions[index as usize].pure.get_or_init(|| {
            let (mut seen, mut open) = (FxHashSet::from_iter([index]), vec![index]);
            while let Some(next) = open.pop() {
                let function = self.functions.plain(next);
                let is_harmless = function.unsupported.is_empty()
                    && homes(function).iter().all(|home| matches!(home, Home::Register))
                    && function.edges.iter().all(|edge| is_harmless(&edge.op));
                if !is_harmless {
                    return false;
                }
                for edge in &function.edges {
                    let Op::Call(call) = &edge.op else { continue };
                    let Callee::Direct(name) = call.callee else { return false };
                    let Some(&callee) = self.by_name.get(&name) else { return false };
                    if seen.insert(callee) {
                        open.push(callee);
                    }
                }
            }
            true
        })
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
