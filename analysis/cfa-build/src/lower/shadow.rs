//! Locals that may be read before they have a value: a forward analysis finds them, and each gets a shadow (`x?`) that is 0 from its
//! beginning and 1 from its first write. Where every read is definitely initialised there is no shadow.

use std::collections::BTreeSet;

use proofline_hir::{Name, Type, TypeKind};

use proofline_cfa::{
    Base, Edge, EdgeId, Expr, Function, FunctionMap, IntType, Loc, Local, LocalId, Lvalue, Op, Role, Scalar,
    dataflow::{self, Analysis, BitSet, Direction},
    visit,
};

/// Adds the shadows; the answer is what has one.
pub(crate) fn add(
    function: &mut Function,
    positions: &mut FunctionMap,
    is_scalar: &dyn Fn(Type) -> bool,
) -> BTreeSet<LocalId> {
    let doubtful = doubtful(function, &candidates(function, is_scalar));
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

/// Variables in registers that may be read before they have a value, of those that were in memory before: shadows are added while they still were, so
/// they have none. They stay in memory, where each byte says whether it has a value.
pub(crate) fn stay_in_memory(
    function: &mut Function,
    were_in_memory: &[bool],
    is_scalar: &dyn Fn(Type) -> bool,
) {
    let mut moved = candidates(function, is_scalar);
    moved.retain(|id| were_in_memory.get(id.index()) == Some(&true));
    for id in doubtful(function, &moved) {
        function.locals[id.index()].address_taken = true;
    }
}

/// Variables in registers.
fn candidates(function: &Function, is_scalar: &dyn Fn(Type) -> bool) -> Vec<LocalId> {
    let all = (0..function.locals.len() as u32).map(LocalId);
    all.filter(|id| {
        let local = function.local(*id);
        local.role == Role::Variable && !local.address_taken && is_scalar(local.ty)
    })
    .collect()
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

/// Candidates with a read that some path reaches without a write.
fn doubtful(function: &Function, candidates: &[LocalId]) -> BTreeSet<LocalId> {
    let mut tracked = BitSet::empty(function.locals.len());
    candidates.iter().for_each(|id| tracked.insert(id.index()));
    let solution = dataflow::solve(function, &MaybeUninitialised { function, tracked });
    let mut found = BTreeSet::new();
    for edge in &function.edges {
        let Some(before) = solution.at(edge.from) else { continue };
        visit::reads(&edge.op, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base
                && before.contains(id.index())
            {
                found.insert(id);
            }
        });
    }
    found
}

/// The tracked locals that some path from their beginning leaves without a value; `None` where nothing gets.
struct MaybeUninitialised<'f> {
    function: &'f Function,
    tracked: BitSet,
}

impl Analysis for MaybeUninitialised<'_> {
    type Domain = Option<BitSet>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Option<BitSet> {
        None
    }

    fn boundary(&self) -> Option<BitSet> {
        Some(BitSet::empty(self.function.locals.len()))
    }

    fn transfer(&self, _: EdgeId, edge: &Edge, value: &mut Option<BitSet>) {
        let Some(uninitialised) = value else { return };
        if let Op::Begin(id) = &edge.op {
            if self.tracked.contains(id.index()) {
                uninitialised.insert(id.index());
            }
        } else if let Some(id) = written(&edge.op) {
            uninitialised.remove(id.index());
        }
    }
}
