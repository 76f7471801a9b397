//! Pointers that lead to what the run itself has allocated, as the text says: locals that get nothing but the results of allocations, of functions that
//! return such, and of each other. What is written through them was nobody's memory before. Must not know values.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Base, Callee, Expr, Function, LocalId, Lvalue, Op, Scalar, visit};
use proofline_hir::Name;

use crate::Environment;

/// For each function the locals that are null, or lead to what was allocated since execution began.
#[derive(Debug, Default)]
pub struct Fresh {
    of: BTreeMap<Name, BTreeSet<LocalId>>,
    /// Functions whose result is one.
    results: BTreeSet<Name>,
}

impl Fresh {
    /// Of runs of these functions.
    pub fn of(env: &Environment, functions: impl IntoIterator<Item = Name>) -> Fresh {
        let mut fresh = Fresh::default();
        // Callees first; in a circle nothing is known of a function that is not looked at yet.
        let graph = env.call_graph();
        let reached = graph.reachable(functions);
        for component in graph.components() {
            for name in component.iter().filter(|name| reached.contains(name)) {
                if let Some(body) = env.function(*name) {
                    let locals = locals(body, &|_| false, &|callee| fresh.returns_fresh(callee));
                    if body.result.is_some_and(|result| locals.contains(&result)) {
                        fresh.results.insert(*name);
                    }
                    fresh.of.insert(*name, locals);
                }
            }
        }
        fresh
    }

    /// Whether a pointer leads to what was allocated, or nowhere.
    pub fn is_fresh(&self, function: &Function, pointer: &Expr) -> bool {
        self.of.get(&function.name).is_some_and(|locals| is_one(function, pointer, locals, &|_| false))
    }

    fn returns_fresh(&self, callee: &Callee) -> bool {
        let Callee::Direct(name) = callee else { return false };
        self.results.contains(name)
    }
}

/// The locals that get nothing but what was allocated, what is read at some places (`is_read`), and what some functions give (`is_given`).
pub fn locals(
    function: &Function,
    is_read: &dyn Fn(&Lvalue) -> bool,
    is_given: &dyn Fn(&Callee) -> bool,
) -> BTreeSet<LocalId> {
    let is_parameter = |id: &LocalId| function.parameters.contains(id);
    let mut locals: BTreeSet<LocalId> = (0..function.locals.len() as u32)
        .map(LocalId)
        .filter(|id| !is_parameter(id) && !function.local(*id).address_taken)
        .collect();
    loop {
        let mut others = BTreeSet::new();
        for edge in &function.edges {
            let dst = match &edge.op {
                Op::Assign(dst, value) if is_one(function, value, &locals, is_read) => Some(dst),
                Op::Allocate(allocation) if allocation.on_heap => Some(&allocation.dst),
                Op::Call(call) => call.dst.as_ref().filter(|_| is_given(&call.callee)),
                Op::Assign(..)
                | Op::Allocate(_)
                | Op::Skip
                | Op::Assume(_)
                | Op::Copy(..)
                | Op::Havoc(..)
                | Op::Clobber(..)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..)
                | Op::Begin(_)
                | Op::End(_) => None,
            };
            let is_kept = dst.is_some_and(|dst| whole_pointer(function, dst).is_some());
            visit::mentions(&edge.op, &mut |mention| {
                if let visit::Mention::Write(Lvalue { base: Base::Local(id), .. }) = mention
                    && !is_kept
                {
                    others.insert(*id);
                }
            });
        }
        let before = locals.len();
        locals.retain(|id| !others.contains(id));
        if locals.len() == before {
            return locals;
        }
    }
}

/// Whether the value comes from these locals alone, or is read at such a place.
pub fn is_one(
    function: &Function,
    value: &Expr,
    locals: &BTreeSet<LocalId>,
    is_read: &dyn Fn(&Lvalue) -> bool,
) -> bool {
    match value {
        Expr::Null => true,
        Expr::Load(lvalue) => {
            whole_pointer(function, lvalue).map_or_else(|| is_read(lvalue), |id| locals.contains(&id))
        }
        Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => {
            is_one(function, arg, locals, is_read)
        }
        Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => {
            is_one(function, pointer, locals, is_read)
        }
        _ => false,
    }
}

/// The local whose whole value the lvalue is, if it is a pointer whose address nobody has.
pub fn whole_pointer(function: &Function, lvalue: &Lvalue) -> Option<LocalId> {
    let Base::Local(id) = lvalue.base else { return None };
    let is_whole = lvalue.path.is_empty() && lvalue.scalar == Some(Scalar::Pointer);
    (is_whole && !function.local(id).address_taken).then_some(id)
}
