//! Which functions read the array of the arguments of `main`, and that nothing else happens to it. Must not know what is said of it.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::Name;

use crate::nonnull;
use proofline_cfa::{
    Argument, Base, Callee, Cause, Constant, Entry, Expr, Function, LocalId, Op, Program, visit,
};

/// Library functions that may change the order of the strings, and nothing else about the array.
const REORDER: [&str; 3] = ["getopt", "getopt_long", "getopt_long_only"];

/// The functions that a program calls by name or takes the address of.
pub(super) fn uses(program: &Program) -> BTreeSet<Name> {
    let mut used = BTreeSet::new();
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        if let Op::Call(call) = &edge.op
            && let Callee::Direct(name) = call.callee
        {
            used.insert(name);
        }
    }
    used.extend(addresses(program));
    used
}

/// The functions whose address a program takes.
fn addresses(program: &Program) -> BTreeSet<Name> {
    let mut taken = BTreeSet::new();
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Function(name) = expr {
                taken.insert(*name);
            }
        });
    }
    let initial = program.globals.values().flat_map(|global| &global.init);
    taken.extend(initial.filter_map(|initial| match initial.value {
        Constant::Function(name) => Some(name),
        Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
    }));
    taken.extend(program.globals.values().flat_map(|global| &global.hidden));
    taken
}

/// Parameters of one function that always hold what `main` was given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) argc: Option<LocalId>,
    pub(super) argv: LocalId,
}

/// The functions that get `argv`, with the parameters that hold it: the greatest set in which each only reads the array and hands it on to
/// functions of the set, and in which all calls of a function agree.
pub(super) struct Readers {
    pub(super) found: BTreeMap<Name, Pair>,
}

impl Readers {
    /// `None` if something else may happen to the array.
    pub(super) fn of(program: &Program, argc: LocalId, argv: LocalId) -> Option<Readers> {
        let main = Entry::main().name;
        let mut readers = Readers { found: BTreeMap::new() };
        let mut open = vec![(main, Some(argc), argv)];
        while let Some((name, argc, argv)) = open.pop() {
            let function = program.functions.get(&name)?;
            let argc = argc.filter(|id| is_fixed(function, *id));
            let before = readers.found.get(&name).copied();
            let pair = match before {
                Some(before) if before.argv != argv => return None,
                Some(before) => Pair { argc: before.argc.filter(|known| Some(*known) == argc), argv },
                None => Pair { argc, argv },
            };
            if before == Some(pair) {
                continue;
            }
            if !is_fixed(function, argv) {
                return None;
            }
            readers.found.insert(name, pair);
            for (callee, argc, argv) in handed_on(function, pair)? {
                let parameters = &program.functions.get(&callee)?.parameters;
                let argc = argc.and_then(|at| parameters.get(at).copied());
                open.push((callee, argc, *parameters.get(argv)?));
            }
        }
        readers.is_closed(program).then_some(readers)
    }

    /// Whether nothing but these functions calls them.
    fn is_closed(&self, program: &Program) -> bool {
        let others = self.found.keys().filter(|name| **name != Entry::main().name);
        let taken = addresses(program);
        others.clone().all(|name| !taken.contains(name))
            && program.functions.values().all(|caller| {
                let pair = self.found.get(&caller.name);
                let mut calls = caller.edges.iter().filter_map(|edge| edge.op.call());
                calls.all(|call| match call.callee {
                    Callee::Direct(callee) if callee != Entry::main().name => {
                        self.found.get(&callee).is_none_or(|of_callee| {
                            let callee = &program.functions[&callee];
                            pair.is_some_and(|pair| agrees(&call.arguments, pair, callee, of_callee))
                        })
                    }
                    Callee::Direct(_) | Callee::Indirect(..) => true,
                })
            })
    }
}

/// Whether a call gives a function's parameters what the caller's hold.
fn agrees(arguments: &[Argument], caller: &Pair, callee: &Function, of_callee: &Pair) -> bool {
    let gives = |parameter: LocalId, local: LocalId| {
        let at = callee.parameters.iter().position(|id| *id == parameter);
        matches!(at.and_then(|at| arguments.get(at)), Some(Argument::Value(value)) if is_load(value, local))
    };
    gives(of_callee.argv, caller.argv)
        && of_callee.argc.is_none_or(|argc| caller.argc.is_some_and(|own| gives(argc, own)))
}

/// Whether a parameter keeps the value that it is given.
fn is_fixed(function: &Function, id: LocalId) -> bool {
    let mut is_written = false;
    for edge in &function.edges {
        visit::mentions(&edge.op, &mut |mention| {
            is_written |= matches!(mention, visit::Mention::Write(place) if place.base == Base::Local(id));
        });
    }
    !is_written && !function.local(id).address_taken
}

fn is_load(value: &Expr, id: LocalId) -> bool {
    matches!(value, Expr::Load(place) if place.base == Base::Local(id) && place.path.is_empty())
}

/// The functions that get the array, and which of their arguments are the count and the array; `None` if it is not only read.
fn handed_on(function: &Function, pair: Pair) -> Option<Vec<(Name, Option<usize>, usize)>> {
    let mut calls = Vec::new();
    for edge in &function.edges {
        let op = match &edge.op {
            Op::Call(call) => {
                let mut call = call.clone();
                let at = |id: LocalId| {
                    let is_it = |argument: &Argument| matches!(argument, Argument::Value(value) if is_load(value, id));
                    call.arguments.iter().position(is_it)
                };
                if let (Some(argv), Callee::Direct(callee)) = (at(pair.argv), &call.callee) {
                    calls.push((*callee, pair.argc.and_then(at), argv));
                    call.arguments[argv] = Argument::Value(Expr::Null);
                }
                Op::Call(call)
            }
            Op::HavocBytes(_, size, Cause::Within(name)) if REORDER.contains(&name.as_str()) => {
                Op::Assume(size.clone())
            }
            op => op.clone(),
        };
        if !nonnull::is_read_through(&op, pair.argv) {
            return None;
        }
    }
    Some(calls)
}
