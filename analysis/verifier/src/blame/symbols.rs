//! What variables are in terms of the arguments, along one trace. Knows the order of a trace's events; an expression that grows too
//! large, or that memory was involved in, is forgotten, but not that it depends on the arguments.

use proofline_cfa::{
    Argument, Base, Callee, Cause, Expr, Function, LocalId, Lvalue, Name, Op, Program, Role, Step, visit,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::interpret::Event;

/// Expressions with more parts are forgotten.
const LARGEST: usize = 24;

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbol {
    /// The value as an expression over the entry's arguments and the first values of globals.
    pub(super) expr: Option<Expr>,
    /// It may depend on them.
    pub(super) depends: bool,
}

/// A variable of an activation (by depth; 0 for globals), and bytes into it.
type Key = (u32, Root, u64);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Root {
    Local(LocalId),
    Global(Name),
}

/// The state of the walk.
pub(super) struct Symbols {
    known: FxHashMap<Key, Symbol>,
    /// Something that depends on the arguments was written through a pointer or to an unknown element.
    memory: bool,
    /// Memory was written through pointers: expressions that read memory no longer speak of its first values.
    is_written: bool,
    /// Depth of the entry's activation.
    base: u32,
    /// Arguments of open calls, until the callee's first event.
    open: Vec<u32>,
}

impl Symbols {
    /// At the start of the entry function.
    pub(super) fn new(program: &Program, entry: &Function, base: u32) -> Symbols {
        let mut symbols =
            Symbols { known: FxHashMap::default(), memory: false, is_written: false, base, open: Vec::new() };
        for id in &entry.parameters {
            let local = entry.local(*id);
            let scalar = proofline_cfa::scalar_of(local.ty, program.data_model);
            let lvalue = Lvalue {
                base: Base::Local(*id),
                path: Vec::new(),
                ty: local.ty,
                scalar,
                bits: None,
                size: local.size,
            };
            let expr = scalar.map(|_| Expr::Load(lvalue));
            symbols.known.insert((base, Root::Local(*id), 0), Symbol { expr, depends: true });
        }
        symbols
    }

    fn key(lvalue: &Lvalue, depth: u32) -> Option<Key> {
        let mut offset = 0u64;
        for step in &lvalue.path {
            match step {
                Step::Field { offset: more, .. } => offset = offset.wrapping_add(*more),
                Step::Index { index, stride, .. } => match &**index {
                    Expr::Int(value, _) => {
                        offset = offset.wrapping_add((*value as u64).wrapping_mul(*stride));
                    }
                    _ => return None,
                },
            }
        }
        match &lvalue.base {
            Base::Local(id) => Some((depth, Root::Local(*id), offset)),
            Base::Global(name) => Some((0, Root::Global(*name), offset)),
            Base::Deref(..) => None,
        }
    }

    /// What an expression is.
    pub(super) fn value(&self, expr: &Expr, depth: u32) -> Symbol {
        let mut size = 0;
        visit::walk(expr, &mut |_| size += 1);
        if size > LARGEST {
            return Symbol { expr: None, depends: self.depends(expr, depth) };
        }
        let result = self.substituted(expr, depth);
        let mut size = 0;
        if let Some(expr) = &result {
            visit::walk(expr, &mut |_| size += 1);
        }
        Symbol { expr: result.filter(|_| size <= LARGEST), depends: self.depends(expr, depth) }
    }

    fn depends(&self, expr: &Expr, depth: u32) -> bool {
        let mut depends = false;
        visit::walk(expr, &mut |part| {
            if let Expr::Load(lvalue) = part {
                depends |= self.loaded(lvalue, depth).depends;
            }
        });
        depends
    }

    fn loaded(&self, lvalue: &Lvalue, depth: u32) -> Symbol {
        if let Some(key) = Symbols::key(lvalue, depth) {
            if let Some(symbol) = self.known.get(&key) {
                return symbol.clone();
            }
            return match key.1 {
                // A global of a library may hold anything when the entry is called.
                Root::Global(_) => {
                    Symbol { expr: (!self.is_written).then(|| Expr::Load(lvalue.clone())), depends: true }
                }
                Root::Local(_) => Symbol { expr: None, depends: self.memory },
            };
        }
        match &lvalue.base {
            Base::Deref(pointer, site) => {
                let pointer = self.value(pointer, depth);
                // Through the address of a global it is that global's part.
                if let Some(Expr::Address(target)) = &pointer.expr
                    && matches!(target.base, Base::Global(_))
                {
                    let Some(inner) = self.path(&lvalue.path, depth) else {
                        return Symbol { expr: None, depends: true };
                    };
                    let path = target.path.iter().cloned().chain(inner).collect();
                    return self.loaded(&Lvalue { base: target.base.clone(), path, ..lvalue.clone() }, depth);
                }
                // What lies behind an argument is the caller's as long as nobody writes.
                let expr = pointer.expr.filter(|_| pointer.depends && !self.is_written).and_then(|pointer| {
                    Some(Expr::Load(Lvalue {
                        base: Base::Deref(Arc::new(pointer), *site),
                        path: self.path(&lvalue.path, depth)?,
                        ..lvalue.clone()
                    }))
                });
                // Other memory may be a global's, which the callers have filled.
                Symbol { expr, depends: true }
            }
            Base::Global(_) => Symbol { expr: None, depends: true },
            Base::Local(_) => Symbol { expr: None, depends: self.memory },
        }
    }

    fn path(&self, path: &[Step], depth: u32) -> Option<Vec<Step>> {
        path.iter()
            .map(|step| match step {
                Step::Field { .. } => Some(step.clone()),
                Step::Index { index, stride, length, site } => Some(Step::Index {
                    index: Arc::new(self.substituted(index, depth)?),
                    stride: *stride,
                    length: *length,
                    site: *site,
                }),
            })
            .collect()
    }

    /// The expression over the arguments, constants folded where they are plain.
    fn substituted(&self, expr: &Expr, depth: u32) -> Option<Expr> {
        let sub = |e: &Arc<Expr>| self.substituted(e, depth).map(Arc::new);
        Some(match expr {
            Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => expr.clone(),
            Expr::Load(lvalue) => self.loaded(lvalue, depth).expr?,
            Expr::Address(lvalue) => match &lvalue.base {
                Base::Global(_) => expr.clone(),
                Base::Deref(pointer, site) => Expr::Address(Lvalue {
                    base: Base::Deref(sub(pointer)?, *site),
                    path: self.path(&lvalue.path, depth)?,
                    ..lvalue.clone()
                }),
                Base::Local(_) => return None,
            },
            Expr::Unary(op, a, site) => Expr::Unary(*op, sub(a)?, *site),
            Expr::Binary(op, a, b, site) => Expr::Binary(*op, sub(a)?, sub(b)?, *site),
            Expr::Compare(op, a, b) => Expr::Compare(*op, sub(a)?, sub(b)?),
            Expr::Cast(scalar, a, site) => {
                let inner = sub(a)?;
                match (&*inner, scalar) {
                    (Expr::Int(value, _), proofline_cfa::Scalar::Int(ty)) if ty.contains(*value) => {
                        Expr::Int(*value, *ty)
                    }
                    _ => Expr::Cast(*scalar, inner, *site),
                }
            }
            Expr::Overflows(op, a, b) => Expr::Overflows(*op, sub(a)?, sub(b)?),
            Expr::PointerDifference(a, b, stride, ty) => {
                Expr::PointerDifference(sub(a)?, sub(b)?, *stride, *ty)
            }
        })
    }

    fn write(&mut self, lvalue: &Lvalue, depth: u32, value: Symbol) {
        match Symbols::key(lvalue, depth) {
            Some(key) => {
                self.known.insert(key, value);
            }
            None => {
                let depends = value.depends
                    || match &lvalue.base {
                        Base::Deref(pointer, _) => self.depends(pointer, depth),
                        Base::Local(_) | Base::Global(_) => true,
                    };
                self.memory |= depends;
                self.is_written = true;
                // It may have been any variable in memory.
                for ((_, root, _), symbol) in &mut self.known {
                    if matches!(root, Root::Global(_)) {
                        symbol.expr = None;
                        symbol.depends |= depends;
                    }
                }
            }
        }
    }

    /// What an event does to variables.
    pub(super) fn event(&mut self, program: &Program, function: &Function, event: &Event) {
        let depth = event.depth;
        let edge = function.edge(event.edge);
        match &edge.op {
            Op::Assign(dst, value) => {
                // Numbers that the arguments do not influence are what they are in this run.
                let mut symbol = self.value(value, depth);
                if !symbol.depends
                    && let (Some((proofline_cfa::eval::Value::Int(n), scalar)), Some(_)) =
                        (event.value, dst.scalar)
                {
                    symbol.expr = match scalar {
                        proofline_cfa::Scalar::Int(ty) => Some(Expr::Int(n, ty)),
                        proofline_cfa::Scalar::Pointer if n == 0 => Some(Expr::Null),
                        proofline_cfa::Scalar::Pointer => {
                            symbol.expr.filter(|expr| matches!(expr, Expr::Address(_)))
                        }
                        proofline_cfa::Scalar::Float(_) => None,
                    };
                }
                self.write(dst, depth, symbol);
            }
            Op::Havoc(dst, cause) => {
                let depends = match cause {
                    // What a function does that nobody here knows is as little this function's fault as its arguments are.
                    Cause::External(_) | Cause::Unmodelled(_) => true,
                    Cause::Input(_) | Cause::Volatile | Cause::Indeterminate => false,
                };
                self.write(dst, depth, Symbol { expr: None, depends });
            }
            Op::Copy(dst, src) => {
                let depends = self.loaded(src, depth).depends;
                self.write(dst, depth, Symbol { expr: None, depends });
            }
            Op::Allocate(allocation) => self.write(&allocation.dst, depth, Symbol::default()),
            Op::Call(call) => {
                if self.open.last() == Some(&depth) {
                    // The callee has returned.
                    self.open.pop();
                    let Callee::Direct(name) = call.callee else {
                        if let Some(dst) = &call.dst {
                            self.write(dst, depth, Symbol { expr: None, depends: true });
                        }
                        return;
                    };
                    let result = program.function(name).and_then(|callee| callee.result);
                    let value = result
                        .and_then(|id| self.known.get(&(depth + 1, Root::Local(id), 0)).cloned())
                        .unwrap_or_default();
                    self.known.retain(|(at, ..), _| *at <= depth);
                    if let Some(dst) = &call.dst {
                        self.write(dst, depth, value);
                    }
                    return;
                }
                self.open.push(depth);
                self.known.retain(|(at, ..), _| *at <= depth);
                let values: Vec<Symbol> = call
                    .arguments
                    .iter()
                    .map(|argument| match argument {
                        Argument::Value(value) => self.value(value, depth),
                        Argument::Aggregate(lvalue) => {
                            Symbol { expr: None, depends: self.loaded(lvalue, depth).depends }
                        }
                    })
                    .collect();
                if let Callee::Direct(name) = call.callee
                    && let Some(callee) = program.function(name)
                {
                    for (id, value) in callee.parameters.iter().zip(values) {
                        self.known.insert((depth + 1, Root::Local(*id), 0), value);
                    }
                }
            }
            Op::Clobber(_, cause) | Op::HavocBytes(_, _, cause) => {
                self.is_written = true;
                // What unknown functions write through pointers is as little this function's fault as their results.
                if matches!(cause, Cause::External(_) | Cause::Unmodelled(_)) {
                    self.memory = true;
                    for ((at, root, _), symbol) in &mut self.known {
                        let may_change = match root {
                            Root::Global(_) => true,
                            Root::Local(id) => *at == depth && function.local(*id).address_taken,
                        };
                        if may_change {
                            *symbol = Symbol { expr: None, depends: true };
                        }
                    }
                }
            }
            Op::CopyBytes(..) | Op::FillBytes(..) | Op::Free(_) => self.is_written = true,
            Op::Skip | Op::Assume(_) | Op::Begin(_) | Op::End(_) => {}
        }
        // The entry's own parameters keep their first values in expressions; a variable that is no parameter has none.
        debug_assert!(depth >= self.base, "events below the entry's activation");
        debug_assert!(
            function.parameters.iter().all(|id| function.local(*id).role == Role::Parameter),
            "parameters are parameters"
        );
    }
}
