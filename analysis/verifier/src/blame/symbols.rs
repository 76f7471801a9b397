//! What variables are in terms of the arguments, at one moment of a trace. An expression that grows too large, or that unknown memory
//! was involved in, is forgotten, but not what influences it. What events do stands in `events`.

mod events;
mod own;
mod plain;

pub(super) use events::is_input;

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Argument, Base, Expr, Function, LocalId, Lvalue, MemoryPredicate, Name, Program, Scalar, Site, Step,
    visit,
};
use rustc_hash::FxHashMap;

use own::Own;

/// Expressions with more parts are forgotten.
const LARGEST: usize = 24;

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbol {
    /// The value as an expression over the entry's arguments, the first values of globals and the results of unknown functions.
    pub(super) expr: Option<Expr>,
    /// What it may depend on of these.
    pub(super) on: Influence,
}

impl Symbol {
    fn new(expr: Option<Expr>, on: Influence) -> Symbol {
        Symbol { expr, on }
    }
}

/// What, outside of the function, influences a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Influence {
    /// The callers, by arguments and globals.
    pub(super) callers: bool,
    /// A function that nothing is known of, by its result or by what it writes: the first one met.
    pub(super) unknown: Option<Name>,
    /// By how often a loop goes round: the number in this run says nothing about others.
    pub(super) counted: bool,
}

impl Influence {
    const CALLERS: Influence = Influence { callers: true, unknown: None, counted: false };

    fn unknown(name: Name) -> Influence {
        Influence { unknown: Some(name), ..Influence::default() }
    }

    /// Something outside does.
    pub(super) fn is_some(self) -> bool {
        self.callers || self.unknown.is_some()
    }

    /// Both.
    pub(super) fn and(self, other: Influence) -> Influence {
        Influence {
            callers: self.callers || other.callers,
            unknown: self.unknown.or(other.unknown),
            counted: self.counted || other.counted,
        }
    }
}

/// A variable of an activation (by depth; 0 for globals), and bytes into it.
type Key = (u32, Root, u64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Root {
    Local(LocalId),
    Global(Name),
}

/// What is known of the parts of a local that were not written one by one.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    on: Influence,
    /// They are what they were when the entry function began.
    is_first: bool,
}

/// A choice that an unknown function made; what follows at its site is its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Choice {
    by: Name,
    site: Site,
    depth: u32,
}

/// A call that has not come back.
#[derive(Clone, Debug)]
struct Open {
    /// Of the caller.
    depth: u32,
    /// Until the callee is known, by its first event.
    arguments: Vec<Argument>,
    /// What the callee keeps its result in.
    result: Option<LocalId>,
}

/// The state of the walk.
pub(super) struct Symbols<'p> {
    program: &'p Program,
    /// Whose activation is at a depth.
    functions: FxHashMap<u32, &'p Function>,
    known: FxHashMap<Key, Symbol>,
    rest: FxHashMap<(u32, Root), Rest>,
    /// Locals whose addresses are about.
    taken: BTreeSet<(u32, LocalId)>,
    /// What influences the values written through pointers or to unknown elements.
    memory: Influence,
    /// Memory was written through pointers: expressions that read memory no longer speak of its first values.
    is_written: bool,
    /// Depth of the entry's activation.
    base: u32,
    /// Open calls.
    open: Vec<Open>,
    /// Globals that never change.
    constants: BTreeSet<Name>,
    /// There is memory about that callers have filled: arguments, or a global whose first value somebody may look at.
    meets_callers: bool,
    /// Results of unknown functions so far.
    results: u32,
    choice: Option<Choice>,
    /// Pointers to what the run itself has freed.
    freed: Vec<Expr>,
    /// What the run itself has allocated and computed.
    own: Own,
}

impl<'p> Symbols<'p> {
    /// At the start of the entry function.
    pub(super) fn new(program: &'p Program, entry: &'p Function, base: u32) -> Symbols<'p> {
        let constants = program.globals.values().filter(|global| global.constant && global.defined);
        let mut symbols = Symbols {
            program,
            functions: FxHashMap::from_iter([(base, entry)]),
            constants: constants.map(|global| global.name).collect(),
            known: FxHashMap::default(),
            rest: FxHashMap::default(),
            taken: BTreeSet::new(),
            memory: Influence::default(),
            is_written: false,
            base,
            open: Vec::new(),
            results: 0,
            choice: None,
            freed: Vec::new(),
            own: Own::default(),
            meets_callers: !entry.parameters.is_empty(),
        };
        for id in &entry.parameters {
            let local = entry.local(*id);
            let scalar = proofline_cfa::scalar_of(local.ty, program.data_model);
            if scalar.is_none() {
                let rest = Rest { on: Influence::CALLERS, is_first: true };
                symbols.rest.insert((base, Root::Local(*id)), rest);
                continue;
            }
            let lvalue = Lvalue {
                base: Base::Local(*id),
                path: Vec::new(),
                ty: local.ty,
                scalar,
                bits: None,
                size: local.size,
            };
            let symbol = Symbol::new(Some(Expr::Load(lvalue)), Influence::CALLERS);
            symbols.known.insert((base, Root::Local(*id), 0), symbol);
        }
        symbols
    }

    /// The variable that an lvalue is a part of, if it is the same part in every run.
    fn key(&self, lvalue: &Lvalue, depth: u32) -> Option<Key> {
        let offset = |path: &[Step], start: u64| {
            path.iter().try_fold(start, |offset, step| match step {
                Step::Field { offset: more, .. } => Some(offset.wrapping_add(*more)),
                Step::Index { index, stride, .. } => {
                    let index = match &**index {
                        Expr::Int(value, _) => *value,
                        // A variable, too, may be a number that nothing outside influences.
                        other => match self.substituted(other, depth)? {
                            Expr::Int(value, _) => value,
                            _ => return None,
                        },
                    };
                    Some(offset.wrapping_add((index as u64).wrapping_mul(*stride)))
                }
            })
        };
        match &lvalue.base {
            Base::Local(id) => Some((depth, Root::Local(*id), offset(&lvalue.path, 0)?)),
            Base::Global(name) => Some((0, Root::Global(*name), offset(&lvalue.path, 0)?)),
            Base::Deref(pointer, _) => {
                let Expr::Address(target) = self.substituted(pointer, depth)? else { return None };
                let Base::Global(name) = target.base else { return None };
                let start = offset(&target.path, 0)?;
                let offset = offset(&lvalue.path, start)?;
                Some(match frame(name) {
                    Some((depth, id)) => (depth, Root::Local(id), offset),
                    None => (0, Root::Global(name), offset),
                })
            }
        }
    }

    /// What an expression is.
    pub(super) fn value(&self, expr: &Expr, depth: u32) -> Symbol {
        let mut size = 0;
        visit::walk(expr, &mut |_| size += 1);
        if size > LARGEST {
            return Symbol::new(None, self.influence(expr, depth));
        }
        let result = self.substituted(expr, depth);
        let mut size = 0;
        if let Some(expr) = &result {
            visit::walk(expr, &mut |_| size += 1);
        }
        let result = result.filter(|_| size <= LARGEST);
        let mut on = self.influence(expr, depth);
        // `x - x` is zero whatever callers pass.
        if !on.counted && result.as_ref().is_some_and(|expr| matches!(expr, Expr::Int(..))) {
            on = Influence::default();
        }
        Symbol::new(result, on)
    }

    /// Whether a condition (over the arguments) fails because the run itself has freed what the pointer leads to: whichever object callers pass.
    pub(super) fn is_freed_here(&self, condition: &Expr) -> bool {
        let mut found = false;
        visit::walk(condition, &mut |part| {
            if let Expr::Memory(MemoryPredicate::NotFreed | MemoryPredicate::Freeable, pointer, _) = part {
                found |= self.freed.contains(whole(pointer));
            }
        });
        found
    }

    fn influence(&self, expr: &Expr, depth: u32) -> Influence {
        let mut on = Influence::default();
        visit::walk(expr, &mut |part| {
            if let Expr::Load(lvalue) = part {
                on = on.and(self.loaded(lvalue, depth).on);
            }
            if let Expr::Memory(MemoryPredicate::InBounds, pointer, _) = part
                && let Some(pointer) = self.substituted(pointer, depth)
            {
                on = on.and(self.own.influence(&pointer));
            }
            // Where a string ends, its bytes say.
            if let Expr::Memory(MemoryPredicate::Terminated | MemoryPredicate::WideTerminated, text, _) = part
                && let Expr::Address(lvalue) = &**text
                && !matches!(lvalue.base, Base::Deref(..))
            {
                on = on.and(self.loaded(lvalue, depth).on);
            }
        });
        on
    }

    fn loaded(&self, lvalue: &Lvalue, depth: u32) -> Symbol {
        if matches!(lvalue.base, Base::Global(name) if self.constants.contains(&name)) {
            return Symbol::default();
        }
        if let Some(key) = self.key(lvalue, depth) {
            if let Some(symbol) = self.known.get(&key) {
                return symbol.clone();
            }
            return match key.1 {
                // What lies in an object of the run's own that nobody has written since.
                Root::Global(name) if own::is_object(name) => {
                    let rest = self.rest.get(&(key.0, key.1)).copied().unwrap_or_default();
                    Symbol::new(None, rest.on.and(self.memory).and(self.of_callers()))
                }
                // A global of a library may hold anything when the entry is called.
                Root::Global(name) => {
                    let expr = (!self.is_written)
                        .then(|| {
                            let path = self.whole_path(lvalue, depth)?;
                            Some(Expr::Load(Lvalue { base: Base::Global(name), path, ..lvalue.clone() }))
                        })
                        .flatten();
                    Symbol::new(expr, self.memory.and(Influence::CALLERS))
                }
                Root::Local(id) => {
                    let rest = self.rest.get(&(key.0, key.1)).copied().unwrap_or_default();
                    let expr = (rest.is_first && key.0 == self.base)
                        .then(|| {
                            let path = self.whole_path(lvalue, depth)?;
                            Some(Expr::Load(Lvalue { base: Base::Local(id), path, ..lvalue.clone() }))
                        })
                        .flatten();
                    Symbol::new(expr, rest.on.and(self.memory))
                }
            };
        }
        match &lvalue.base {
            Base::Deref(pointer, _) => {
                let pointer = self.value(pointer, depth);
                // What lies behind an argument is the caller's until it is written: the same wherever it is read.
                let expr =
                    pointer.expr.filter(|_| pointer.on.is_some() && !self.is_written).and_then(|pointer| {
                        Some(Expr::Load(Lvalue {
                            base: Base::Deref(Arc::new(pointer), Site::NOWHERE),
                            path: self.path(&lvalue.path, depth)?,
                            ..lvalue.clone()
                        }))
                    });
                Symbol::new(expr, self.memory.and(pointer.on).and(self.of_callers()))
            }
            Base::Global(_) => Symbol::new(None, self.memory.and(Influence::CALLERS)),
            Base::Local(id) => {
                let rest = self.rest.get(&(depth, Root::Local(*id))).copied().unwrap_or_default();
                let parts = self.known.iter().filter(|((at, root, _), _)| {
                    *at == depth && matches!(root, Root::Local(local) if local == id)
                });
                let on = parts.fold(rest.on.and(self.memory), |on, (_, part)| on.and(part.on));
                Symbol::new(None, on)
            }
        }
    }

    /// Who has a say in memory that nobody is known to have written: the callers, where there is any of theirs.
    fn of_callers(&self) -> Influence {
        if self.meets_callers { Influence::CALLERS } else { Influence::default() }
    }

    /// Notes that an expression looks at what the callers may have filled.
    fn meet(&mut self, expr: &Expr, depth: u32) {
        let place = match expr {
            Expr::Load(place) => {
                let is_own = self.key(place, depth).is_some_and(|key| self.known.contains_key(&key));
                (!is_own).then_some(place)
            }
            Expr::Address(place) => Some(place),
            _ => None,
        };
        self.meets_callers |= place.is_some_and(|place| {
            matches!(place.base, Base::Global(name) if frame(name).is_none() && !self.constants.contains(&name))
        });
    }

    /// The steps from a variable's start to the place, through a known pointer.
    fn whole_path(&self, lvalue: &Lvalue, depth: u32) -> Option<Vec<Step>> {
        let inner = self.path(&lvalue.path, depth)?;
        let Base::Deref(pointer, _) = &lvalue.base else { return Some(inner) };
        match self.substituted(pointer, depth)? {
            Expr::Address(target) => Some(target.path.into_iter().chain(inner).collect()),
            _ => None,
        }
    }

    fn path(&self, path: &[Step], depth: u32) -> Option<Vec<Step>> {
        path.iter()
            .map(|step| match step {
                Step::Field { .. } => Some(step.clone()),
                Step::Index { index, stride, length, site: _ } => Some(Step::Index {
                    index: Arc::new(self.substituted(index, depth)?),
                    stride: *stride,
                    length: *length,
                    site: Site::NOWHERE,
                }),
            })
            .collect()
    }

    /// Whether so many bytes from a pointer on lie in the variable that it leads into, as a condition on numbers, if the text says how large that is.
    fn fits(&self, pointer: &Expr, bytes: &Expr) -> Option<Expr> {
        let Expr::Address(Lvalue { base: Base::Global(name), path, .. }) = pointer else { return None };
        let size = match frame(*name) {
            Some((depth, id)) => self.functions.get(&depth)?.local(id).size,
            None => self.program.globals.get(name).filter(|global| global.defined)?.size,
        };
        own::within(path, bytes, size)
    }

    /// The expression over the arguments, constants folded where they are plain.
    fn substituted(&self, expr: &Expr, depth: u32) -> Option<Expr> {
        let sub = |e: &Arc<Expr>| self.substituted(e, depth).map(Arc::new);
        Some(match expr {
            Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => expr.clone(),
            Expr::Load(lvalue) => self.loaded(lvalue, depth).expr?,
            Expr::Address(lvalue) => {
                let path = self.path(&lvalue.path, depth)?;
                let (base, path) = match &lvalue.base {
                    Base::Global(_) => (lvalue.base.clone(), path),
                    Base::Local(id) => (Base::Global(name_of_frame(depth, *id)), path),
                    // `&p->f` of a known `p` is a part of what `p` points to.
                    Base::Deref(pointer, site) => match self.substituted(pointer, depth)? {
                        Expr::Address(target) if matches!(target.base, Base::Global(_)) => {
                            (target.base, target.path.into_iter().chain(path).collect())
                        }
                        pointer => (Base::Deref(Arc::new(pointer), *site), path),
                    },
                };
                Expr::Address(Lvalue { base, path, ..lvalue.clone() })
            }
            Expr::Unary(op, a, site) => Expr::Unary(*op, sub(a)?, *site),
            Expr::Binary(op, a, b, site) => plain::binary(*op, sub(a)?, sub(b)?, *site),
            Expr::Compare(op, a, b) => plain::compare(*op, sub(a)?, sub(b)?),
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
            Expr::Memory(predicate, a, b) => {
                let (a, b) = (sub(a)?, sub(b)?);
                let is_bounds = *predicate == MemoryPredicate::InBounds;
                let of_own = || self.own.holds(&a, &b).or_else(|| self.fits(&a, &b));
                let of_own = is_bounds.then(of_own).flatten();
                of_own.unwrap_or(Expr::Memory(*predicate, a, b))
            }
            Expr::PointerDifference(a, b, stride, ty) => {
                Expr::PointerDifference(sub(a)?, sub(b)?, *stride, *ty)
            }
        })
    }
}

/// Whether an expression reads what a pointer leads to.
pub(super) fn reads_memory(expr: &Expr) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |part| {
        found |= matches!(part, Expr::Load(Lvalue { base: Base::Deref(..), .. }));
    });
    found
}

/// Whether an expression reads a variable with static storage: what it may hold where execution begins, its file decides.
pub(super) fn reads_global(expr: &Expr) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |part| {
        found |= matches!(part, Expr::Load(Lvalue { base: Base::Global(_), .. }));
    });
    found
}

/// The pointer to the object that a pointer leads into.
fn whole(pointer: &Expr) -> &Expr {
    match pointer {
        Expr::Address(Lvalue { base: Base::Deref(pointer, _), .. }) => whole(pointer),
        Expr::Cast(Scalar::Pointer, arg, _) if arg.scalar() == Scalar::Pointer => whole(arg),
        other => other,
    }
}

/// The function whose result an expression is.
pub(super) fn result_name(expr: &Expr) -> Option<Name> {
    let Expr::Load(Lvalue { base: Base::Global(_), path, .. }) = expr else { return None };
    match path.first() {
        Some(Step::Field { record, name, .. }) if name.as_str() == RESULT => Some(*record),
        _ => None,
    }
}

/// The member that tells results apart.
const RESULT: &str = "#result";

/// Whether people can read the expression: it speaks of no local by its address, and of nothing that has no name.
pub(super) fn is_readable(expr: &Expr) -> bool {
    let mut is_readable = true;
    visit::walk(expr, &mut |part| {
        if let Expr::Load(Lvalue { base: Base::Global(name), .. })
        | Expr::Address(Lvalue { base: Base::Global(name), .. }) = part
        {
            is_readable &= !name.starts_with('#');
        }
    });
    is_readable
}

/// The address of a local in expressions is that of a global that no program has, so that it means the same in every activation.
fn name_of_frame(depth: u32, id: LocalId) -> Name {
    Name::new(&format!("#{depth}.{}", id.0))
}

fn frame(name: Name) -> Option<(u32, LocalId)> {
    let (depth, id) = name.as_str().strip_prefix('#')?.split_once('.')?;
    Some((depth.parse().ok()?, LocalId(id.parse().ok()?)))
}

/// The result of an unknown function in conditions: a global that no program has, so that it prints as a call. A nameless member tells
/// the calls apart.
fn result_of(name: Name, number: u32, dst: &Lvalue) -> Option<Expr> {
    dst.scalar?;
    let base = Base::Global(Name::new(&format!("{name}(…)")));
    let which = Step::Field { record: name, name: Name::new(RESULT), offset: u64::from(number) };
    Some(Expr::Load(Lvalue { base, path: vec![which], bits: None, ..dst.clone() }))
}
