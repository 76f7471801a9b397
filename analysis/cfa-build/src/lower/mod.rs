//! Lowering: from typed bodies to automata. Says exactly what C says, in the order left to right; knows no analysis and no
//! library function. The pass over a function: effects of its expressions (`effects`), changes that C lays down no order for (`sequence`), operands whose order may matter (`order`), edges (`stmt`, `switch`, `jump`, `scope`, `init`,
//! `condition`, `expr`, `assign`, `call`, `builtin`, `atomic`, `aggregate`, `lvalue`, `register`), removal of dead locations (`crate::simplify_cfg`),
//! shadows of locals that may be read too early (`shadow`), removal of what only looked for them.

pub(crate) mod absent;
mod aggregate;
mod assign;
mod atomic;
mod build;
mod builtin;
mod call;
mod condition;
mod dialect;
mod early;
mod effects;
mod error_recovery;
mod expr;
mod float;
pub(crate) mod fold;
mod global;
mod init;
mod jump;
mod lvalue;
mod order;
mod register;
mod scope;
mod sequence;
pub(crate) mod shadow;
mod stmt;
mod switch;
pub(crate) mod variable_arguments;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{
    Dialect, FunctionAttributes, Linkage, Module, ModuleMap, Name, Records, StringLiteral, Type,
};
use proofline_syntax::{
    DataModel, Span,
    interrupt::{self, Interrupt},
};
use rustc_hash::FxHashMap;

pub(crate) use builtin::byte_swapped;
pub use sequence::{HAS_ORDER, UNSEQUENCED};
pub use stmt::{HAS_ELEMENTS, INVALID_LENGTH};
pub use variable_arguments::VA_ARG;

use crate::simplify_cfg;
use proofline_cfa::{Base, Function, FunctionMap, Global, LocalId, Op, Types, visit};

/// Recursion follows the nesting of the text, which is bounded (hir: 2000 levels).
const STACK: usize = 512 << 20;

/// A translation unit as automata.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The file, for names that must be told apart. Set it before linking several units.
    pub file: Option<Name>,
    /// Sizes of C's types.
    pub data_model: DataModel,
    /// Layouts by tag.
    pub records: Records,
    /// Objects with static storage and their linkage, string literals included; sorted by name.
    pub globals: Vec<(Linkage, Arc<Global>)>,
    /// Functions with bodies, in the order of the text.
    pub functions: Vec<Arc<Function>>,
    /// Functions that are declared only: type and what the declaration says.
    pub declared: BTreeMap<Name, (Type, FunctionAttributes)>,
    /// What the linker calls functions and objects that have another name here and are not defined here.
    pub linker_names: BTreeMap<Name, Name>,
    /// Assembly stands outside of functions: it may name all that is here.
    pub has_assembly: bool,
    /// Signed arithmetic wraps around.
    pub wraps: bool,
    /// What a flag changes that concerns all of the unit and is not modelled.
    pub unmodelled: Option<Name>,
}

/// Positions of a unit, kept apart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitMap {
    /// By name of the function in the unit.
    pub functions: BTreeMap<Name, Arc<FunctionMap>>,
    /// Declarations of objects.
    pub globals: BTreeMap<Name, Span>,
}

/// What functions need to know of their unit.
pub(crate) struct Context<'h> {
    pub(crate) types: Types<'h>,
    pub(crate) functions: FxHashMap<Name, &'h proofline_hir::Function>,
    pub(crate) strings: FxHashMap<Name, &'h StringLiteral>,
    /// Registers that are used so far.
    registers: RefCell<BTreeMap<Name, Global>>,
    /// What may not be there.
    pub(crate) absent: &'h BTreeSet<Name>,
    dialect: &'h Dialect,
}

impl<'h> Context<'h> {
    fn new(module: &'h Module) -> Context<'h> {
        Context {
            types: Types { records: &module.records, model: module.data_model },
            functions: module.functions.iter().map(|function| (function.name, &**function)).collect(),
            strings: module.strings.iter().map(|literal| (literal.name, literal)).collect(),
            registers: RefCell::default(),
            absent: &module.absent,
            dialect: &module.dialect,
        }
    }
}

/// Lowers a translation unit.
pub fn lower(module: &Module, map: &ModuleMap) -> (Unit, UnitMap) {
    with_stack(|| lower_here(module, map))
}

/// Runs on a stack that is deep enough for any text.
fn with_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let interrupt = Interrupt::current();
    let work = || interrupt::within(interrupt, work);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.expect("the system has no room for one more thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn lower_here(module: &Module, map: &ModuleMap) -> (Unit, UnitMap) {
    let context = Context::new(module);
    let mut unit = Unit {
        file: None,
        data_model: module.data_model,
        records: module.records.clone(),
        globals: Vec::new(),
        functions: Vec::new(),
        declared: BTreeMap::new(),
        linker_names: module.linker_names.clone(),
        has_assembly: module.has_assembly,
        wraps: module.dialect.wraps,
        unmodelled: module.dialect.everything.map(dialect::what),
    };
    let mut positions = UnitMap::default();
    for (at, source) in module.globals.iter().enumerate() {
        unit.globals.push((source.linkage, Arc::new(global::global(&context, source))));
        if let Some(span) = map.globals.get(at) {
            positions.globals.insert(source.name, *span);
        }
    }
    for literal in &module.strings {
        unit.globals.push((Linkage::External, Arc::new(global::string(context.types, literal))));
    }
    unit.globals.sort_by_key(|(_, global)| global.name);
    for (at, source) in module.functions.iter().enumerate() {
        match &source.body {
            None => {
                unit.declared.insert(source.name, (source.ty, source.attributes.clone()));
            }
            Some(body) => {
                let body_map = map.bodies.get(at).and_then(Option::as_deref);
                let (function, mut function_map) = lower_function(&context, source, body, body_map);
                function_map.name = map.functions.get(at).copied();
                function_map.end = body_map.and_then(|map| map.end);
                function_map.enumerations = map.enumerations.clone();
                positions.functions.insert(source.name, Arc::new(function_map));
                unit.functions.push(Arc::new(function));
            }
        }
    }
    unit.globals.extend(absent::addresses(module).map(|global| (Linkage::External, Arc::new(global))));
    let types = context.types;
    let registers = context.registers.into_inner().into_values();
    unit.globals.extend(registers.map(|global| (Linkage::External, Arc::new(global))));
    let hidden = variable_arguments::globals(&unit.functions, types);
    unit.globals.extend(hidden.into_iter().map(|(linkage, global)| (linkage, Arc::new(global))));
    unit.globals.sort_by_key(|(_, global)| global.name);
    (unit, positions)
}

fn lower_function(
    context: &Context<'_>,
    source: &proofline_hir::Function,
    body: &proofline_hir::body::Body,
    map: Option<&proofline_hir::body::BodyMap>,
) -> (Function, FunctionMap) {
    let mut lowering = build::Lowering::new(context, source, body, map);
    match body.root {
        Some(root) => {
            lowering.begin_lists();
            if call::is_not_told_all(source, body) {
                let site = lowering.end_site();
                lowering.unsupported("a function that `assert` calls, which is not told where", site);
            }
            lowering.root(root);
        }
        None => {
            let site = lowering.end_site();
            lowering.unsupported("function without a readable body", site);
        }
    }
    let build::Lowering { mut function, mut positions, approximated, .. } = lowering;
    let places = simplify_cfg::simplify(&mut function);
    let mut alive = approximated.iter().map(|loc| places[loc.index()].is_some());
    function.approximations.retain(|_| alive.next().unwrap_or(true));
    simplify_cfg::mark_taken(&mut function);
    let types = context.types;
    let shadowed = shadow::add(&mut function, &mut positions, &|ty| types.scalar(ty).is_some());
    simplify_cfg::drop_unread(&mut function, &|op| {
        matches!(op, Op::Assign(_, value) if fold::is_partial(value)) || reads_any(op, &shadowed)
    });
    simplify_cfg::drop_unused_temporaries(&mut function, &mut positions);
    simplify_cfg::simplify(&mut function);
    dialect::mark(&mut function, context.dialect);
    if !function.unsupported.is_empty() {
        error_recovery::recover(&mut function, types);
    }
    (function, positions)
}

fn reads_any(op: &Op, locals: &BTreeSet<LocalId>) -> bool {
    let mut found = false;
    visit::reads(op, &mut |lvalue| found |= matches!(lvalue.base, Base::Local(id) if locals.contains(&id)));
    found
}
