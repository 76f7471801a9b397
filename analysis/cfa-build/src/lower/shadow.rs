//! Locals that may be read before they have a value: a forward analysis finds them, and each gets a shadow (`x?`) that is 0 from its
//! beginning and 1 from its first write. Where every read is definitely initialised there is no shadow.

use std::collections::BTreeSet;

use proofline_hir::{Name, Type, TypeKind};

use proofline_cfa::{
    Base, Edge, Expr, Function, FunctionMap, IntType, Loc, Local, LocalId, Lvalue, Op, Role, Scalar, visit,
};

/// Adds the shadows; the answer is what has one.
pub(crate) fn add(
    function: &mut Function,
    positions: &mut FunctionMap,
    is_scalar: &dyn Fn(Type) -> bool,
) -> BTreeSet<LocalId> {
    let candidates: Vec<LocalId> = (0..function.locals.len() as u32)
        .map(LocalId)
        .filter(|id| {
            let local = function.local(*id);
            local.role == Role::Variable && !local.address_taken && is_scalar(local.ty)
        })
        .collect();
    let doubtful = doubtful(function, &candidates);
    if doubtful.is_empty() {
        return doubtful;
    }
    let mut shadows = vec![None; function.locals.len()];
    for &id in &doubtful {
        let name = Name::new(&format!("{}?", function.local(id).name));
        let shadow = LocalId(function.locals.len() as u32);
        let ty = Type::new(TypeKind::Bool);
        function.locals.push(Local { name, ty, role: Role::Shadow, address_taken: false, size: 1 });
        positions.locals.push(None);
        shadows[id.index()] = Some(Lvalue::local(shadow, ty, Scalar::Int(IntType::BOOL), 1));
    }
    for at in 0..function.edges.len() {
        let (local, value) = match &function.edges[at].op {
            Op::Begin(id) => (*id, 0),
            op => match written(op) {
                Some(id) => (id, 1),
                None => continue,
            },
        };
        let Some(shadow) = shadows.get(local.index()).and_then(Clone::clone) else { continue };
        let between = Loc(function.locations);
        function.locations += 1;
        let edge = &mut function.edges[at];
        let (to, site) = (edge.to, edge.site);
        edge.to = between;
        let op = Op::Assign(shadow, Expr::Int(value, IntType::BOOL));
        function.edges.push(Edge { from: between, to, op, site });
    }
    doubtful
}

/// The local that the operation gives a value as a whole.
fn written(op: &Op) -> Option<LocalId> {
    let lvalue = match op {
        Op::Assign(lvalue, _) | Op::Havoc(lvalue, _) | Op::Copy(lvalue, _) => lvalue,
        Op::Call(call) => call.dst.as_ref()?,
        Op::Allocate(allocation) => &allocation.dst,
        Op::Skip
        | Op::Assume(_)
        | Op::Clobber(..)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..)
        | Op::Begin(_)
        | Op::End(_) => return None,
    };
    match lvalue.base {
        Base::Local(id) if lvalue.path.is_empty() => Some(id),
        _ => None,
    }
}

/// Candidates with a read that some path reaches without a write. Sets of locals as bits, joined by union.
fn doubtful(function: &Function, candidates: &[LocalId]) -> BTreeSet<LocalId> {
    let mut slot = vec![usize::MAX; function.locals.len()];
    for (at, id) in candidates.iter().enumerate() {
        slot[id.index()] = at;
    }
    let words = candidates.len().div_ceil(64);
    let mut state: Vec<Option<Box<[u64]>>> = vec![None; function.locations as usize];
    state[function.entry.index()] = Some(vec![0; words].into_boxed_slice());
    let successors = function.successors();
    let mut work = vec![function.entry];
    let mut queued = vec![false; function.locations as usize];
    while let Some(loc) = work.pop() {
        queued[loc.index()] = false;
        let Some(before) = state[loc.index()].clone() else { continue };
        for &id in &successors[loc.index()] {
            let edge = function.edge(id);
            let mut after = before.clone();
            match &edge.op {
                Op::Begin(local) => set(&mut after, slot[local.index()], true),
                op => {
                    if let Some(local) = written(op) {
                        set(&mut after, slot[local.index()], false);
                    }
                }
            }
            let target = &mut state[edge.to.index()];
            let changed = match target {
                None => {
                    *target = Some(after);
                    true
                }
                Some(known) => known.iter_mut().zip(&after).fold(false, |changed, (known, new)| {
                    let joined = *known | new;
                    let changed = changed || joined != *known;
                    *known = joined;
                    changed
                }),
            };
            if changed && !queued[edge.to.index()] {
                queued[edge.to.index()] = true;
                work.push(edge.to);
            }
        }
    }
    let mut found = BTreeSet::new();
    for edge in &function.edges {
        let Some(before) = &state[edge.from.index()] else { continue };
        visit::reads(&edge.op, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base
                && is_set(before, slot[id.index()])
            {
                found.insert(id);
            }
        });
    }
    found
}

fn set(bits: &mut [u64], at: usize, value: bool) {
    if let Some(word) = bits.get_mut(at / 64) {
        let mask = 1 << (at % 64);
        *word = if value { *word | mask } else { *word & !mask };
    }
}

fn is_set(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}
