//! Where executions start by default: the one rule. `main`; what it does not reach, and everything where there is no `main`, is
//! reached from functions that no other function mentions, then (cycles, and functions whose address alone is taken) from the first by name.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Call, Callee, Constant, Entry, Expr, Name, Op, Program, visit};

use crate::subject::Subject;

/// What the rule looks at.
pub trait Functions {
    /// Functions with bodies, in order.
    fn with_bodies(&self) -> Vec<Name>;
    /// Whether a function with a body mentions this one, or an object's initial value does; itself does not count.
    fn is_mentioned(&self, function: Name) -> bool;
    /// The functions that executions from this one may call, itself included.
    fn reached_from(&self, function: Name) -> BTreeSet<Name>;
}

/// Which functions are to be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// `main` alone decides where there is one.
    Program,
    /// What `main` does not reach, too.
    Everything,
    /// The program is a library, and `main` is one function of many.
    Library,
}

/// A place where executions start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryPoint {
    /// The function.
    pub entry: Entry,
    /// Functions whose obligations it decides: those that it reaches and `main` does not, or, of `main`, all that it reaches.
    pub decides: BTreeSet<Name>,
}

/// The entry points of a program: `main` first, then by name. Functions that are not `wanted` start no executions.
pub fn entry_points(
    functions: &dyn Functions,
    scope: Scope,
    wanted: &dyn Fn(Name) -> bool,
) -> Vec<EntryPoint> {
    let main = Entry::main();
    let all = functions.with_bodies();
    let mut points = Vec::new();
    let mut by_main = BTreeSet::new();
    if scope != Scope::Library && all.contains(&main.name) {
        by_main = functions.reached_from(main.name);
        points.push(EntryPoint { entry: main, decides: by_main.clone() });
        if scope == Scope::Program {
            return points;
        }
    }
    let rest = all.into_iter().filter(|name| !by_main.contains(name) && wanted(*name));
    let (mentioned, free): (Vec<Name>, Vec<Name>) = rest.partition(|name| functions.is_mentioned(*name));
    let mut found = BTreeMap::new();
    let mut seen = by_main.clone();
    for name in free.into_iter().chain(mentioned) {
        if !seen.contains(&name) {
            let reached = functions.reached_from(name);
            seen.extend(&reached);
            found.insert(name, reached.difference(&by_main).copied().collect());
        }
    }
    let entries = found.into_iter();
    points.extend(entries.map(|(name, decides)| EntryPoint { entry: Entry::new(name), decides }));
    points
}

/// A whole program in memory.
pub struct Whole<'s> {
    subject: &'s Subject,
    mentioned: BTreeSet<Name>,
}

impl<'s> Whole<'s> {
    /// Looks at the program once.
    pub fn new(subject: &'s Subject) -> Whole<'s> {
        Whole { subject, mentioned: mentioned(subject.program()) }
    }
}

impl Functions for Whole<'_> {
    fn with_bodies(&self) -> Vec<Name> {
        self.subject.program().functions.keys().copied().collect()
    }
    fn is_mentioned(&self, function: Name) -> bool {
        self.mentioned.contains(&function)
    }
    fn reached_from(&self, function: Name) -> BTreeSet<Name> {
        self.subject.reachable_from(function)
    }
}

/// Functions that others, or initial values of objects, mention.
fn mentioned(program: &Program) -> BTreeSet<Name> {
    let mut mentioned = BTreeSet::new();
    for function in program.functions.values() {
        let mut see = |name: Name| {
            if name != function.name {
                mentioned.insert(name);
            }
        };
        for edge in &function.edges {
            if let Op::Call(Call { callee: Callee::Direct(name), .. }) = &edge.op {
                see(*name);
            }
            visit::exprs(&edge.op, &mut |expr| {
                if let Expr::Function(name) = expr {
                    see(*name);
                }
            });
        }
    }
    let initial = program.globals.values().flat_map(|global| &global.init);
    mentioned.extend(initial.filter_map(|initial| match initial.value {
        Constant::Function(name) => Some(name),
        Constant::Int(_) | Constant::Float(_) | Constant::Address(..) | Constant::Unknown => None,
    }));
    mentioned
}
