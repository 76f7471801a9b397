//! Inference of non-null invariants of globals: pointers in objects of internal linkage that start as the address of something and
//! only ever get such an address, or a pointer just compared with null. Nothing else can name the object, and its address is passed only
//! to functions that read through it. The same of the standard streams, which the library opens before `main` and no other file is taken to
//! set to null. Looks at the functions that mention the object and at nothing else; must not know where pointers point.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Linkage, Name, TypeKind};
use proofline_syntax::DataModel;

use crate::slice::SliceSource;
use proofline_cfa::{
    Argument, Base, Callee, CompareOp, Constant, Edge, Expr, Function, Global, Loc, LocalId, Lvalue, Op,
    Program, Scalar, Step,
    visit::{self, Mention},
};

/// The library's variables that lead to open streams when the program starts.
const STREAMS: [&str; 6] = ["stdin", "stdout", "stderr", "__stdinp", "__stdoutp", "__stderrp"];

/// So far back a comparison with null is looked for.
const BACK: usize = 16;

/// Writes down in the program's functions what always holds of its internal objects: wherever an operation mentions such an object, it is
/// assumed before.
pub(crate) fn assume(program: &mut Program, source: &dyn SliceSource) {
    assume_of(program, source, &|_| true);
}

/// The same of the standard streams alone.
pub(crate) fn assume_streams(program: &mut Program, source: &dyn SliceSource) {
    assume_of(program, source, &is_stream);
}

/// Whether the library has made it the address of a stream.
fn is_stream(global: &Global) -> bool {
    !global.defined && STREAMS.contains(&global.name.as_str())
}

fn assume_of(program: &mut Program, source: &dyn SliceSource, is_asked: &dyn Fn(&Global) -> bool) {
    let mut kept: BTreeMap<Name, Vec<Lvalue>> = BTreeMap::new();
    for global in program.globals.values().filter(|global| is_asked(global)) {
        let places = never_null(source, global);
        if !places.is_empty() {
            kept.insert(global.name, places);
        }
    }
    if kept.is_empty() {
        return;
    }
    for function in program.functions.values_mut() {
        let used = |edge: &Edge| {
            let mut places: Vec<&Lvalue> = Vec::new();
            uses(&edge.op, &mut |name, bytes| {
                let places_of = kept.get(&name).into_iter().flatten();
                places.extend(places_of.filter(|place| match (bytes, range(place)) {
                    (Some((start, end)), Some((from, to))) => start < to && from < end,
                    _ => true,
                }));
            });
            places
        };
        if function.edges.iter().all(|edge| used(edge).is_empty()) {
            continue;
        }
        let mut out = Function::clone(function);
        // Control comes to a location through what is assumed there. What leaves it stays where it is, for the order of locations is that of obligations.
        let mut first: BTreeMap<Loc, Loc> = BTreeMap::new();
        let mut assumed = Vec::new();
        for (loc, edges) in function.successors().iter().enumerate() {
            let loc = Loc(loc as u32);
            let places: BTreeSet<&Lvalue> = edges.iter().flat_map(|id| used(function.edge(*id))).collect();
            let Some(site) = edges.first().map(|id| function.edge(*id).site) else { continue };
            let mut to = loc;
            for place in places.into_iter().rev() {
                let from = Loc(out.locations);
                out.locations += 1;
                assumed.push(Edge { from, to, op: Op::Assume(is_not_null(place)), site });
                to = from;
            }
            if to != loc {
                first.insert(loc, to);
            }
        }
        let entered = |loc: &mut Loc| *loc = first.get(loc).copied().unwrap_or(*loc);
        out.edges.iter_mut().for_each(|edge| entered(&mut edge.to));
        entered(&mut out.entry);
        out.edges.extend(assumed);
        *function = Arc::new(out);
    }
}

fn is_not_null(place: &Lvalue) -> Expr {
    Expr::Compare(CompareOp::Ne, Arc::new(Expr::Load(place.clone())), Arc::new(Expr::Null))
}

/// The objects with static storage whose content an operation may use: which bytes, if that is known.
fn uses(op: &Op, see: &mut dyn FnMut(Name, Option<(u64, u64)>)) {
    visit::reads(op, &mut |place| {
        if let Base::Global(name) = place.base {
            see(name, range(place));
        }
    });
    visit::exprs(op, &mut |expr| {
        if let Expr::Address(Lvalue { base: Base::Global(name), .. }) = expr {
            see(*name, None);
        }
    });
}

/// The pointers of an object that are never null.
fn never_null(source: &dyn SliceSource, global: &Global) -> Vec<Lvalue> {
    let is_own = global.linkage == Linkage::Internal && global.defined && !global.constant;
    if !is_own && !is_stream(global) {
        return Vec::new();
    }
    let mut candidates = candidates(source, global);
    for user in source.users(global.name).iter() {
        if candidates.is_empty() {
            break;
        }
        let Some((function, _)) = source.function(*user) else { return Vec::new() };
        // Text that was not understood may store anything.
        if !is_understood(source, &function) {
            return Vec::new();
        }
        let mut uses = Uses { source, function: &function, name: global.name, candidates: &mut candidates };
        if !uses.look() {
            return Vec::new();
        }
    }
    candidates.into_values().collect()
}

/// Whether a function's automaton is all that the function does.
pub(crate) fn is_understood(source: &dyn SliceSource, function: &Function) -> bool {
    let has_clobber = function.edges.iter().any(|edge| matches!(edge.op, Op::Clobber(..)));
    function.unsupported.is_empty() && source.unsupported(function.name).is_empty() && !has_clobber
}

/// Pointers that start as an address, by offset: the object itself, or members of the record that it is.
fn candidates(source: &dyn SliceSource, global: &Global) -> BTreeMap<u64, Lvalue> {
    if global.ty.qualifiers().is_volatile {
        return BTreeMap::new();
    }
    let initial: BTreeSet<u64> = global
        .init
        .iter()
        .filter(|initial| {
            initial.scalar == Scalar::Pointer
                && initial.bits.is_none()
                && matches!(initial.value, Constant::Address(..) | Constant::Function(_))
        })
        .map(|initial| initial.offset)
        .collect();
    let starts = if is_stream(global) { BTreeSet::from([0]) } else { initial };
    let size = match source.data_model() {
        DataModel::Lp64 => 8,
        DataModel::Ilp32 => 4,
    };
    let place = |ty, path| Lvalue {
        base: Base::Global(global.name),
        path,
        ty,
        scalar: Some(Scalar::Pointer),
        bits: None,
        size,
    };
    match global.ty.kind() {
        TypeKind::Pointer(_) if starts.contains(&0) => BTreeMap::from([(0, place(global.ty, Vec::new()))]),
        TypeKind::Record(tag) if !starts.is_empty() => {
            let Some(record) = source.record(*tag).filter(|record| !record.is_union) else {
                return BTreeMap::new();
            };
            let fields = record.fields.iter().filter(|field| {
                let is_pointer = matches!(field.ty.kind(), TypeKind::Pointer(_));
                is_pointer && !field.ty.qualifiers().is_volatile && starts.contains(&field.offset)
            });
            fields
                .map(|field| {
                    let step = Step::Field { record: *tag, name: field.name, offset: field.offset };
                    (field.offset, place(field.ty, vec![step]))
                })
                .collect()
        }
        _ => BTreeMap::new(),
    }
}

/// What one function does with the object.
struct Uses<'u> {
    source: &'u dyn SliceSource,
    function: &'u Function,
    name: Name,
    candidates: &'u mut BTreeMap<u64, Lvalue>,
}

impl Uses<'_> {
    /// Takes away the candidates that may become null; false if the address may go anywhere.
    fn look(&mut self) -> bool {
        let function = self.function;
        function.edges.iter().all(|edge| {
            if let Op::Call(call) = &edge.op
                && let Callee::Direct(callee) = call.callee
            {
                let mut rest = call.clone();
                let mut only_read = true;
                for (i, argument) in rest.arguments.iter_mut().enumerate() {
                    if let Argument::Value(value) = argument
                        && matches!(&*value, Expr::Address(place) if self.is_here(place) && !has_parts(place))
                    {
                        only_read &= reads_only(self.source, callee, i, &mut BTreeSet::new());
                        *value = Expr::Null;
                    }
                }
                return only_read && self.operation(edge, &Op::Call(rest));
            }
            self.operation(edge, &edge.op)
        })
    }

    fn is_here(&self, place: &Lvalue) -> bool {
        matches!(place.base, Base::Global(name) if name == self.name)
    }

    fn operation(&mut self, edge: &Edge, op: &Op) -> bool {
        let mut escapes = false;
        visit::exprs(op, &mut |expr| {
            escapes |= matches!(expr, Expr::Address(place) if self.is_here(place));
        });
        let mut written = Vec::new();
        visit::mentions(op, &mut |mention| {
            if let Mention::Write(place) = mention
                && self.is_here(place)
            {
                written.push(place);
            }
        });
        for place in written {
            let keeps = matches!(op, Op::Assign(_, value) if self.is_address(edge.from, value));
            let range = range(place);
            self.candidates.retain(|&offset, candidate| match range {
                Some((start, end)) => {
                    let is_apart = end <= offset || offset + candidate.size <= start;
                    let is_all = start == offset && place.scalar == Some(Scalar::Pointer);
                    is_apart || is_all && keeps
                }
                None => false,
            });
        }
        !escapes
    }

    /// Whether a value is not null when control is at `loc`.
    fn is_address(&self, loc: Loc, value: &Expr) -> bool {
        match value {
            Expr::Function(_) => true,
            Expr::Address(place) => matches!(place.base, Base::Global(_) | Base::Local(_)),
            Expr::Cast(Scalar::Pointer, inner, _) => {
                inner.scalar() == Scalar::Pointer && self.is_address(loc, inner)
            }
            Expr::Load(_) => self.was_compared(loc, value),
            Expr::Cast(..)
            | Expr::Int(..)
            | Expr::Float(..)
            | Expr::Null
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..) => false,
        }
    }

    /// Whether every way to `loc` ends with a comparison that says so, and nothing changes after it.
    fn was_compared(&self, mut loc: Loc, value: &Expr) -> bool {
        for _ in 0..BACK {
            let mut before = self.function.edges.iter().filter(|edge| edge.to == loc);
            let (Some(edge), None) = (before.next(), before.next()) else { return false };
            if loc == self.function.entry {
                return false;
            }
            match &edge.op {
                Op::Skip => {}
                Op::Assume(Expr::Compare(CompareOp::Ne, a, b))
                    if is_same(a, value) && **b == Expr::Null || is_same(b, value) && **a == Expr::Null =>
                {
                    return true;
                }
                Op::Assume(condition) if is_same(condition, value) => return true,
                Op::Assume(_) => {}
                Op::Assign(..)
                | Op::Copy(..)
                | Op::Havoc(..)
                | Op::Clobber(..)
                | Op::Call(_)
                | Op::Allocate(_)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..)
                | Op::Begin(_)
                | Op::End(_) => return false,
            }
            loc = edge.from;
        }
        false
    }
}

/// Whether two values are the same where nothing changes between them, wherever they stand in the text.
fn is_same(a: &Expr, b: &Expr) -> bool {
    let (Expr::Load(a), Expr::Load(b)) = (a, b) else { return a == b };
    let is_same_base = match (&a.base, &b.base) {
        (Base::Deref(a, _), Base::Deref(b, _)) => is_same(a, b),
        (a, b) => a == b,
    };
    is_same_base && a.path == b.path && a.scalar == b.scalar && a.bits == b.bits
}

fn has_parts(place: &Lvalue) -> bool {
    !place.path.is_empty()
}

/// Bytes of the object that a place is, if that does not depend on an index.
fn range(place: &Lvalue) -> Option<(u64, u64)> {
    let mut start = 0u64;
    for step in &place.path {
        match step {
            Step::Field { offset, .. } => start = start.checked_add(*offset)?,
            Step::Index { .. } => return None,
        }
    }
    // A size of 0 is not known.
    let end = start.checked_add(place.size)?;
    (place.size > 0).then_some((start, end))
}

/// Whether a function only reads through its parameter, and hands it only to functions that do.
fn reads_only(
    source: &dyn SliceSource,
    name: Name,
    parameter: usize,
    asked: &mut BTreeSet<(Name, usize)>,
) -> bool {
    if !asked.insert((name, parameter)) {
        return true;
    }
    let Some((function, _)) = source.function(name) else { return false };
    let Some(&id) = function.parameters.get(parameter) else { return false };
    if function.local(id).address_taken || function.variadic || !is_understood(source, &function) {
        return false;
    }
    function.edges.iter().all(|edge| {
        let mut op = edge.op.clone();
        if let Op::Call(call) = &mut op
            && let Callee::Direct(callee) = call.callee
        {
            for (i, argument) in call.arguments.iter_mut().enumerate() {
                if let Argument::Value(value) = argument
                    && is_parameter(value, id)
                {
                    if !reads_only(source, callee, i, asked) {
                        return false;
                    }
                    *value = Expr::Null;
                }
            }
        }
        is_read_through(&op, id)
    })
}

fn is_parameter(value: &Expr, id: LocalId) -> bool {
    match value {
        Expr::Load(place) => matches!(place.base, Base::Local(local) if local == id),
        Expr::Cast(_, inner, _) => is_parameter(inner, id),
        Expr::Int(..)
        | Expr::Float(..)
        | Expr::Null
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => false,
    }
}

/// Whether an operation uses the pointer only to read what it points to, or compares it with null.
pub(crate) fn is_read_through(op: &Op, id: LocalId) -> bool {
    let mut is_fine = true;
    if matches!(op, Op::Assume(value) if is_parameter(value, id)) {
        return true;
    }
    visit::mentions(op, &mut |mention| {
        is_fine &= match mention {
            Mention::Value(value) => only_loads(value, id),
            Mention::Read(place) => parts_only_load(place, id, true),
            Mention::Write(place) => parts_only_load(place, id, false),
        };
    });
    is_fine
}

/// Whether the pointer's own value goes nowhere: it stands below loads.
fn only_loads(value: &Expr, id: LocalId) -> bool {
    match value {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => true,
        Expr::Load(place) => {
            !matches!(place.base, Base::Local(local) if local == id) && parts_only_load(place, id, true)
        }
        Expr::Address(place) => parts_only_load(place, id, false),
        Expr::Compare(_, a, b) => [a, b].iter().all(|side| is_parameter(side, id) || only_loads(side, id)),
        Expr::Unary(_, inner, _) | Expr::Cast(_, inner, _) => only_loads(inner, id),
        // What is asked of memory is not the pointer's value, also where a part of what it points to is named.
        Expr::Memory(_, a, b) => [a, b].iter().all(|side| match &***side {
            Expr::Address(place) => parts_only_load(place, id, true),
            _ => is_parameter(side, id) || only_loads(side, id),
        }),
        Expr::Binary(_, a, b, _) | Expr::Overflows(_, a, b) | Expr::PointerDifference(a, b, _, _) => {
            only_loads(a, id) && only_loads(b, id)
        }
    }
}

/// The pointer and the indices of a place; `reads`: the place may be what the parameter points to.
fn parts_only_load(place: &Lvalue, id: LocalId, reads: bool) -> bool {
    let mut is_fine = true;
    visit::parts_of_place(place, &mut |part| {
        let is_pointer = matches!(&place.base, Base::Deref(pointer, _) if std::ptr::eq(&**pointer, part));
        is_fine &= is_pointer && reads && is_parameter(part, id) || only_loads(part, id);
    });
    is_fine
}
