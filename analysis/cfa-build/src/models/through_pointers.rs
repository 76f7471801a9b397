//! Library functions that are called through pointers: `hooks.allocate = malloc`, `parse(fgets, file)`. Where a pointer is called, the program asks first whether
//! it leads to one of them, and if so, calls that by its name: its model stands there then, with obligations of this call. Of models
//! it asks only whether there is one, and whether it demands something. Must not know what they say.
//!
//! What a library's pointers lead to, its users say, and contracts (`behaves as malloc`): there it asks only of pointers that nobody else gives a value,
//! locals and constants. Where others may lead to a function that demands something, proofs rest on it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Name, Type};

use super::Library;
use proofline_cfa::{
    Approximation, Base, Call, Callee, CompareOp, Constant, Edge, Expr, Function, Global, Loc, LocalId, Op,
    Program, Site, Types, may_be_called, visit,
};

/// Of so many functions a call has obligations, in the order of their names. Where it leads to another one, it is not supported.
const MOST: usize = 8;

/// Functions without bodies whose address a program takes, with their types.
pub type Addressed = BTreeMap<Name, Type>;

/// Puts these questions in front of calls through pointers. `elsewhere`: what the files take the address of, of whose functions the program
/// may be a part.
pub fn name_targets(
    program: &mut Program,
    library: &Library,
    is_library: bool,
    elsewhere: &dyn Fn() -> Addressed,
) {
    if !program.functions.values().any(|function| function.edges.iter().any(is_indirect)) {
        return;
    }
    let library = &*library.for_program(program);
    let mut addressed = addressed(program);
    if is_library {
        // A function that is not part of this program may have given a pointer its value.
        addressed.extend(elsewhere());
    }
    let taken = taken(&addressed, program, library);
    if taken.is_empty() {
        return;
    }
    let mut asked: BTreeSet<Name> = BTreeSet::new();
    let types = Types { records: &program.records, model: program.data_model };
    let globals = &program.globals;
    for function in program.functions.values_mut() {
        let is_parameter = |id: LocalId| function.parameters.contains(&id);
        let mut left_open: BTreeSet<Name> = BTreeSet::new();
        let mut targets = |edge: &Edge| -> Vec<&Taken> {
            let Op::Call(call) = &edge.op else { return Vec::new() };
            let Callee::Indirect(pointer, _) = &call.callee else { return Vec::new() };
            let fitting = taken.iter().filter(|one| fits(call, one.ty, types));
            if !is_library {
                return fitting.collect();
            }
            let demanding = fitting.filter(|one| one.demands);
            if is_own(pointer, globals, &is_parameter) {
                return demanding.collect();
            }
            left_open.extend(demanding.filter(|one| !one.is_of_heap).map(|one| one.name));
            Vec::new()
        };
        let found: Vec<Vec<&Taken>> = function.edges.iter().map(&mut targets).collect();
        if left_open.is_empty() && found.iter().all(Vec::is_empty) {
            continue;
        }
        let function = Arc::make_mut(function);
        for (at, targets) in found.into_iter().enumerate() {
            for (nth, one) in targets.into_iter().enumerate() {
                if nth < MOST || one.demands {
                    ask(function, at, one.name, nth < MOST);
                    asked.insert(one.name);
                }
            }
        }
        for name in left_open {
            let what =
                format!("what `{name}` demands, where `{}` may call it through a pointer", function.name);
            function.approximations.push(Approximation { what: Name::new(&what), site: Site(0) });
        }
    }
    program.externals.extend(addressed.into_iter().filter(|(name, _)| asked.contains(name)));
}

fn is_indirect(edge: &Edge) -> bool {
    matches!(&edge.op, Op::Call(call) if matches!(call.callee, Callee::Indirect(..)))
}

/// Asks at a call through a pointer whether the pointer leads to a function of this name, and calls that, or says that this is not supported.
fn ask(function: &mut Function, at: usize, name: Name, calls: bool) {
    let Op::Call(call) = &function.edges[at].op else { return };
    let Callee::Indirect(pointer, _) = &call.callee else { return };
    let is_it = Expr::Compare(CompareOp::Eq, Arc::new(pointer.clone()), Arc::new(Expr::Function(name)));
    let direct = Op::Call(Call { callee: Callee::Direct(name), ..call.clone() });
    let Edge { from, to, site, .. } = function.edges[at];
    let [named, other] = [0, 1].map(|more| Loc(function.locations + more));
    function.locations += 2;
    function.edges[at].from = other;
    // What people read says nothing of this question.
    let nowhere = Site::NOWHERE;
    function.edges.push(Edge { from, to: named, op: Op::Assume(is_it.clone()), site: nowhere });
    function.edges.push(Edge { from, to: other, op: Op::Assume(is_it.negated()), site: nowhere });
    if calls {
        function.edges.push(Edge { from: named, to, op: direct, site });
    } else {
        function.unsupported.push((named, Name::new("one of many library functions through a pointer")));
    }
}

/// Whether a pointer is a local variable or a constant: nobody else gives it a value.
fn is_own(
    pointer: &Expr,
    globals: &BTreeMap<Name, Arc<Global>>,
    is_parameter: &dyn Fn(LocalId) -> bool,
) -> bool {
    let Expr::Load(place) = pointer else { return false };
    match place.base {
        Base::Local(id) => !is_parameter(id),
        Base::Global(name) => globals.get(&name).is_some_and(|global| global.constant),
        Base::Deref(..) => false,
    }
}

/// Whether a function of this type can be called so. Where it cannot, the check `incompatible-call` says it.
fn fits(call: &Call, ty: Type, types: Types<'_>) -> bool {
    matches!(call.callee, Callee::Indirect(_, pointed) if may_be_called(ty, pointed, call.arguments.len(), types))
}

/// A function with a model and no body whose address the program takes.
struct Taken {
    name: Name,
    ty: Type,
    /// A call of it can be a mistake.
    demands: bool,
    /// It allocates or frees: contracts say which pointers do so.
    is_of_heap: bool,
}

/// Those of them that have a model, those first that demand something.
fn taken(addressed: &Addressed, program: &Program, library: &Library) -> Vec<Taken> {
    let typed = addressed.iter().filter_map(|(name, ty)| {
        let model = library.model(name).filter(|_| !program.functions.contains_key(name))?;
        let is_of_heap = model.allocates() || model.frees();
        Some(Taken { name: *name, ty: *ty, demands: model.demands(), is_of_heap })
    });
    let (mut taken, others): (Vec<Taken>, Vec<Taken>) = typed.partition(|one| one.demands);
    taken.extend(others);
    taken
}

/// The functions without bodies whose address a program takes.
pub fn addressed(program: &Program) -> Addressed {
    let in_functions = program.functions.values().flat_map(|function| addresses(function));
    let names = in_functions.chain(program.globals.values().flat_map(|global| initial_addresses(global)));
    let elsewhere = names.filter(|name| !program.functions.contains_key(name));
    elsewhere.filter_map(|name| Some((name, *program.externals.get(&name)?))).collect()
}

/// The functions whose address a function takes.
pub fn addresses(function: &Function) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Function(name) = part {
                names.insert(*name);
            }
        });
    }
    names
}

/// The functions whose address an object has at first.
fn initial_addresses(global: &Global) -> impl Iterator<Item = Name> {
    global.init.iter().filter_map(|initial| match initial.value {
        Constant::Function(name) => Some(name),
        Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
    })
}
