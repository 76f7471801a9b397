//! Where executions start by default: the one rule. `main`; what it does not reach, and everything where there is no `main`, is
//! reached from functions that no other function mentions, then (cycles, and functions whose address alone is taken) from the first by name,
//! and at last each function that code outside can call, by its name, through an object or because an execution gives it away, starts
//! executions of its own: that functions in sight call it says nothing of how others do.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Call, Callee, Entry, Expr, Linkage, Name, Op, Program, visit};
use proofline_program_analysis::{Environment, Mentions};
use rustc_hash::FxHashSet;

use crate::subject::Subject;

/// Of a library, an entry that reaches more functions than this decides none but itself.
pub(crate) const MOST_DECIDED: usize = 200;

/// What the rule looks at.
pub trait Functions {
    /// Functions with bodies, in order.
    fn with_bodies(&self) -> Vec<Name>;
    /// Whether a function with a body mentions this one, or an object's initial value does; itself does not count.
    fn is_mentioned(&self, function: Name) -> bool;
    /// Functions with bodies, and objects, that code outside the program can name.
    fn exported(&self) -> BTreeSet<Name>;
    /// What the initial value of an object mentions; nothing for a function.
    fn held_by(&self, object: Name) -> BTreeSet<Name>;
    /// [`given_away`] by the program, a library.
    fn given_away(&self) -> BTreeSet<Name>;
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

/// The entry points of a program: `main` first, then those that are not reached from others, then the rest, each by name. Functions that
/// are not `wanted` start no executions.
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
    let mut seen: FxHashSet<Name> = by_main.iter().copied().collect();
    for name in free.into_iter().chain(mentioned.iter().copied()) {
        if !seen.contains(&name) {
            let reached = functions.reached_from(name);
            seen.extend(&reached);
            found.insert(name, reached);
        }
    }
    let mut outside = within_reach(functions);
    outside.extend(functions.given_away());
    let of_outside: BTreeMap<Name, BTreeSet<Name>> = mentioned
        .into_iter()
        .filter(|name| outside.contains(name) && !found.contains_key(name))
        .map(|name| (name, functions.reached_from(name)))
        .collect();
    let entries = found.into_iter().chain(of_outside);
    points.extend(entries.map(|(name, reached)| EntryPoint {
        entry: Entry::new(name),
        decides: reached.difference(&by_main).copied().collect(),
    }));
    points
}

/// Of a library, from what its entries reach: the functions that decide none but themselves, because an entry that reaches them reaches too many. What each of a
/// thousand entries says of the thousand functions that they have in common is more than anybody can wait for, and nobody decides a function who does not know
/// all that reach it.
pub fn judged_alone<'r>(reached: impl Iterator<Item = &'r BTreeSet<Name>>) -> BTreeSet<Name> {
    reached.filter(|reached| reached.len() > MOST_DECIDED).flatten().copied().collect()
}

/// What code outside can get hold of before anything runs: what it can name, and what initial values of that hold.
fn within_reach(functions: &dyn Functions) -> BTreeSet<Name> {
    let mut reach = functions.exported();
    let mut open: Vec<Name> = reach.iter().copied().collect();
    while let Some(name) = open.pop() {
        open.extend(functions.held_by(name).into_iter().filter(|held| reach.insert(*held)));
    }
    reach
}

/// Functions with bodies that executions let code outside know, or keep where other executions find them.
pub fn given_away(library: &Environment) -> BTreeSet<Name> {
    let mut known = library.escaped_functions().clone();
    for edge in library.program().functions.values().flat_map(|function| &function.edges) {
        // Calls of a known function keep nothing.
        let callee = edge.op.call().and_then(|call| match &call.callee {
            Callee::Indirect(pointer, _) => Some(pointer),
            Callee::Direct(_) => None,
        });
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Function(name) = expr
                && callee.is_none_or(|callee| !std::ptr::eq(callee, expr))
            {
                known.insert(*name);
            }
        });
    }
    known
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
    fn exported(&self) -> BTreeSet<Name> {
        let Program { functions, globals, .. } = self.subject.program();
        let functions = functions.values().map(|function| (function.name, function.linkage));
        let objects = globals.values().map(|global| (global.name, global.linkage));
        functions
            .chain(objects)
            .filter(|(_, linkage)| *linkage == Linkage::External)
            .map(|(name, _)| name)
            .collect()
    }
    fn held_by(&self, object: Name) -> BTreeSet<Name> {
        self.subject
            .program()
            .globals
            .get(&object)
            .map(|global| Mentions::of_global(global).names)
            .unwrap_or_default()
    }
    fn given_away(&self) -> BTreeSet<Name> {
        given_away(self.subject.env())
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
    mentioned.extend(program.globals.values().flat_map(|global| Mentions::of_global(global).names));
    mentioned
}
