//! Functions of the program that hand their variable arguments on to `vprintf` and its kin: `static void log_line(const char *format, ...)`. What a format asks for
//! is asked where such a function is called with a literal one. Only of functions that come to the printing in every run: others may print nothing.
//! Knows automata before models are in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_hir::{Name, TypeKind};

use super::{Library, effect::Effect};
use crate::lower::VA_ARG;
use proofline_cfa::{
    Argument, Base, Call, Callee, Edge, Expr, Function, Loc, LocalId, Lvalue,
    visit::{self, Mention},
};

/// Where a function that prints has its format, and its first argument or its list of arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Printer {
    pub(super) format: usize,
    pub(super) first: usize,
}

/// The functions with variable arguments that print all of these by one of their parameters.
pub(super) fn printers(
    functions: &BTreeMap<Name, Arc<Function>>,
    library: &Library,
) -> BTreeMap<Name, Printer> {
    // Those that are given a list come first, and what calls them behind them.
    let mut found: BTreeMap<Name, Printer> = BTreeMap::new();
    loop {
        let known = |name: Name| match functions.contains_key(&name) {
            true => found.get(&name).copied(),
            false => library_printer(library, name),
        };
        let more: Vec<(Name, Printer)> = functions
            .values()
            .filter(|function| !found.contains_key(&function.name))
            .filter_map(|function| {
                let look = Look { function, functions, library, known: &known };
                Some((function.name, look.printer()?))
            })
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.retain(|name, _| functions.get(name).is_some_and(|function| function.variadic));
    found
}

/// What is known of `vprintf` and its kin; of `printf`, too, which is given no list.
fn library_printer(library: &Library, name: Name) -> Option<Printer> {
    library.model(&name)?.effects.iter().find_map(|effect| match effect {
        Effect::Format { format, first } => Some(Printer { format: *format, first: *first }),
        _ => None,
    })
}

/// One function is looked at.
struct Look<'p> {
    function: &'p Function,
    functions: &'p BTreeMap<Name, Arc<Function>>,
    library: &'p Library,
    known: &'p dyn Fn(Name) -> Option<Printer>,
}

impl Look<'_> {
    fn printer(&self) -> Option<Printer> {
        let lists: BTreeSet<LocalId> =
            (0..self.function.locals.len() as u32).map(LocalId).filter(|id| self.is_list(*id)).collect();
        let reads_itself = |text: &Name| text.starts_with(VA_ARG);
        if lists.is_empty() || self.function.obligations.iter().any(|one| reads_itself(&one.text)) {
            return None;
        }
        let mut printing = BTreeSet::new();
        let (mut format, mut used) = (None, BTreeSet::new());
        for (at, edge) in self.function.edges.iter().enumerate() {
            let here = self.lists_in(edge, &lists);
            let Some(list) = here.first() else { continue };
            let (parameter, printed) = self.prints(edge)?;
            let is_same = format.is_none_or(|format| format == parameter);
            // A list that was used once is used up.
            if here.len() > 1 || printed != *list || !is_same || !used.insert(*list) {
                return None;
            }
            format = Some(parameter);
            printing.insert(at);
        }
        let format = self.parameter(format?)?;
        let first = if self.function.variadic {
            self.function.parameters.len()
        } else {
            // One list, which is a parameter.
            let list = used.first().filter(|_| used.len() == 1)?;
            self.function.parameters.iter().position(|parameter| parameter == list)?
        };
        self.always_prints(&printing).then_some(Printer { format, first })
    }

    fn is_list(&self, id: LocalId) -> bool {
        matches!(self.function.local(id).ty.kind(), TypeKind::VaList)
    }

    /// The parameter that nothing changes.
    fn parameter(&self, id: LocalId) -> Option<usize> {
        let writes = |edge: &Edge| {
            let mut found = false;
            visit::mentions(&edge.op, &mut |mention| {
                found |= matches!(mention, Mention::Write(place) if place.base == Base::Local(id));
            });
            found
        };
        if self.function.local(id).address_taken || self.function.edges.iter().any(writes) {
            return None;
        }
        self.function.parameters.iter().position(|parameter| *parameter == id)
    }

    /// The lists that the operation names, each as often as it does.
    fn lists_in(&self, edge: &Edge, lists: &BTreeSet<LocalId>) -> Vec<LocalId> {
        let mut found = Vec::new();
        let mut see = |place: &Lvalue| {
            if let Base::Local(id) = place.base
                && lists.contains(&id)
            {
                found.push(id);
            }
        };
        visit::mentions(&edge.op, &mut |mention| match mention {
            Mention::Read(place) | Mention::Write(place) => see(place),
            Mention::Value(_) => {}
        });
        visit::exprs(&edge.op, &mut |part| match part {
            Expr::Load(place) | Expr::Address(place) => see(place),
            _ => {}
        });
        found
    }

    /// The variables that hold the format and the list, if a list is printed.
    fn prints(&self, edge: &Edge) -> Option<(LocalId, LocalId)> {
        let call = edge.op.call()?;
        let Printer { format, first } = (self.known)(callee(call)?)?;
        match (call.arguments.get(format)?, call.arguments.get(first)?) {
            (
                Argument::Value(Expr::Load(Lvalue { base: Base::Local(format), path, .. })),
                Argument::Aggregate(Lvalue { base: Base::Local(list), path: of_list, .. }),
            ) if path.is_empty() && of_list.is_empty() && self.is_list(*list) => Some((*format, *list)),
            _ => None,
        }
    }

    /// Whether no run of the function ends, or goes where it might, before it prints.
    fn always_prints(&self, printing: &BTreeSet<usize>) -> bool {
        let is_error = |loc: Loc| self.function.obligations.iter().any(|one| one.error == loc);
        let (mut open, mut seen) = (vec![self.function.entry], BTreeSet::new());
        while let Some(loc) = open.pop() {
            if !seen.insert(loc) {
                continue;
            }
            let mut from_here = self.function.edges.iter().enumerate().filter(|(_, edge)| edge.from == loc);
            let mut goes_on = is_error(loc);
            for (at, edge) in &mut from_here {
                goes_on = true;
                if printing.contains(&at) {
                    continue;
                }
                if edge.op.call().is_some_and(|call| !self.comes_back(call)) {
                    return false;
                }
                open.push(edge.to);
            }
            if !goes_on || loc == self.function.exit {
                return false;
            }
        }
        true
    }

    /// Whether the call is one of a library function that returns.
    fn comes_back(&self, call: &Call) -> bool {
        callee(call)
            .filter(|name| !self.functions.contains_key(name))
            .is_some_and(|name| self.library.model(&name).is_some_and(|model| !model.noreturn && !model.keep))
    }
}

fn callee(call: &Call) -> Option<Name> {
    match call.callee {
        Callee::Direct(name) => Some(name),
        Callee::Indirect(..) => None,
    }
}
