//! Queries for module invariants: between which bounds a file's own variables are whenever code outside calls one of its functions. Bounds grow from
//! the initial values until every function leaves the variables within them. One pass from one function within some bounds is a query, so
//! that an edit makes the passes again that can see it, and what depends on the bounds only if they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::Arc,
    time::Instant,
};

use proofline_cfa::{Entry, IntType, Name};
use proofline_cfa_build::models;
use proofline_syntax::interrupt;
use proofline_verifier::{
    Budget, Subject, checks,
    module_invariants::{self, Begins, Bounds, Left, STEPS},
    property::Property,
    report::Judgement,
};

use crate::{
    front::{Project, errors},
    linked::{
        Symbol, data_model, function, functions, global, has_body, has_gaps, homed_globals, units, users,
    },
    shared::{Db, Interrupted},
    slices::{Within, callers, ready_within, slice, wrapv},
    wide::wide,
};

/// Rounds in which bounds grow; what still grows then has none.
const ROUNDS: usize = 12;

/// In the first rounds bounds grow to what was seen, and then to the next number that the functions compute with.
const EXACT_ROUNDS: usize = 2;

/// More functions that write such variables are too many to be asked in turn.
const MOST_DOORS: usize = 60;

/// A function that more doors than these come to begins anywhere.
const MOST_CALLING: usize = 20;

/// A variable of which an invariant may speak.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Variable {
    ty: IntType,
    initial: i128,
    /// Functions that write it.
    writers: BTreeSet<Name>,
    /// Where its bounds may come to rest.
    thresholds: BTreeSet<i128>,
}

/// The variables of a library of which invariants may speak; none if not all that code outside may do is known.
#[salsa::tracked]
fn variables(db: &dyn Db, project: Project) -> Arc<BTreeMap<Name, Variable>> {
    let count = units(db, project).len();
    let is_closed = !has_body(db, project, Entry::main().name)
        && errors(db, project).is_empty()
        && models::standard().interfering().all(|name| users(db, project, Symbol::new(db, name)).is_empty())
        && !(0..count).any(|unit| has_gaps(db, project, unit));
    if !is_closed {
        return Arc::default();
    }
    let names = (0..count).flat_map(|unit| homed_globals(db, project, unit));
    Arc::new(names.filter_map(|name| Some((name, variable(db, project, name)?))).collect())
}

fn variable(db: &dyn Db, project: Project, name: Name) -> Option<Variable> {
    let symbol = Symbol::new(db, name);
    let global = global(db, project, symbol).as_ref()?;
    let ty = module_invariants::integer(global, data_model(db, project))?;
    let mut found = Variable {
        ty,
        initial: module_invariants::initial(global)?,
        writers: BTreeSet::new(),
        thresholds: BTreeSet::new(),
    };
    for user in users(db, project, symbol).iter() {
        // An object holds its address.
        let body = function(db, project, Symbol::new(db, *user)).as_ref()?;
        let used = module_invariants::use_of(body, name);
        if used.takes_address {
            return None;
        }
        if used.writes {
            found.writers.insert(*user);
        }
        found.thresholds.extend(module_invariants::thresholds(body));
    }
    // What nobody writes is a constant of every slice already.
    (!found.writers.is_empty()).then_some(found)
}

/// The functions that code outside may call, or that run before or after `main`: of a function that is not called by its name alone nobody knows who calls it.
#[salsa::tracked]
fn doors(db: &dyn Db, project: Project) -> Arc<BTreeSet<Name>> {
    let is_door = |name: &&Name| callers(db, project, Symbol::new(db, **name)).is_none();
    Arc::new(functions(db, project).iter().filter(is_door).copied().collect())
}

/// The bounds that hold whenever a door is entered; of variables that may have any value nothing is said.
#[salsa::tracked]
fn invariants(db: &dyn Db, project: Project) -> Arc<Bounds> {
    let variables = variables(db, project);
    let mut bounds: Bounds =
        variables.iter().map(|(name, variable)| (*name, (variable.initial, variable.initial))).collect();
    let written: BTreeSet<Name> =
        variables.values().flat_map(|variable| variable.writers.iter().copied()).collect();
    let mut writing = Vec::new();
    for door in doors(db, project).iter() {
        let reached = slice(db, project, Symbol::new(db, *door), false);
        if reached.functions.keys().any(|name| written.contains(name)) {
            writing.push(*door);
        }
    }
    let is_any =
        |name: &Name, bounds: &(i128, i128)| *bounds == (variables[name].ty.min(), variables[name].ty.max());
    if writing.len() > MOST_DOORS || writing.iter().any(|door| wide(db, project).contains(door)) {
        return Arc::default();
    }
    for round in 0.. {
        let before = bounds.clone();
        for door in &writing {
            let symbol = Symbol::new(db, *door);
            let reached = slice(db, project, symbol, false);
            let known = before
                .iter()
                .filter(|(name, known)| reached.globals.contains_key(*name) && !is_any(name, known));
            let known: Bounds = known.map(|(name, known)| (*name, *known)).collect();
            let left = left(db, project, symbol, Within::new(db, known, Begins::AtDoor)).as_deref();
            for name in reached.globals.keys() {
                let (Some(variable), Some(all)) = (variables.get(name), bounds.get_mut(name)) else {
                    continue;
                };
                match left {
                    Some(left) => {
                        let Some((low, high)) = left.outside.get(name) else { continue };
                        *all = (all.0.min(*low), all.1.max(*high));
                    }
                    // Nobody knows what it leaves in what it writes.
                    None if reached.functions.keys().any(|name| variable.writers.contains(name)) => {
                        *all = (variable.ty.min(), variable.ty.max());
                    }
                    None => {}
                }
            }
        }
        if bounds == before {
            break;
        }
        for (name, grown) in &mut bounds {
            let (variable, old) = (&variables[name], before[name]);
            if *grown == old || round < EXACT_ROUNDS {
                continue;
            }
            let ty = variable.ty;
            let below = variable.thresholds.range(..=grown.0).next_back().copied();
            let above = variable.thresholds.range(grown.1..).next().copied();
            let is_late = round >= ROUNDS;
            if grown.0 < old.0 {
                grown.0 = below.filter(|_| !is_late).map_or(ty.min(), |below| below.max(ty.min()));
            }
            if grown.1 > old.1 {
                grown.1 = above.filter(|_| !is_late).map_or(ty.max(), |above| above.min(ty.max()));
            }
        }
    }
    bounds.retain(|name, known| !is_any(name, known));
    Arc::new(bounds)
}

/// What executions from a door that begin within these bounds leave; `None` if that could not be found out.
#[salsa::tracked]
fn left<'db>(db: &'db dyn Db, project: Project, door: Symbol<'db>, within: Within<'db>) -> Option<Arc<Left>> {
    let ready = ready_within(db, project, door, within);
    // Executions go on behind the failure of checks that do not end them. On the others (overflows, indices) an invariant rests, and says so.
    let passed_over = Property::UnreachCall.passed_over();
    let environment = match checks::pass_over(ready.environment.program(), &passed_over) {
        Some(program) => Arc::new(ready.environment.again(program)),
        None => ready.environment.clone(),
    };
    let subject = Subject::new(environment, wrapv(db, project));
    let types: BTreeMap<Name, IntType> =
        variables(db, project).iter().map(|(name, variable)| (*name, variable.ty)).collect();
    let control = db.control();
    let running = db.shared().register(&control.cancel);
    db.unwind_if_revision_cancelled();
    let budget = Budget::steps(STEPS).with_cancel(control.cancel.clone()).with_deadline(control.deadline);
    let entry = Entry::new(door.name(db));
    let found = interrupt::within(None, || {
        module_invariants::left(&subject, entry, doors(db, project), &types, &budget).ok()
    });
    drop(running);
    db.unwind_if_revision_cancelled();
    let is_late = control.deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if control.cancel.is_cancelled() || found.is_none() && is_late {
        resume_unwind(Box::new(Interrupted { partial: Judgement::default() }));
    }
    found.map(Arc::new)
}

/// The invariants of the variables that executions from a function may mention.
fn invariants_of(db: &dyn Db, project: Project, entry: Symbol) -> Bounds {
    let mentioned = &slice(db, project, entry, false).globals;
    let known = invariants(db, project).iter().filter(|(variable, _)| mentioned.contains_key(*variable));
    known.map(|(name, bounds)| (*name, *bounds)).collect()
}

/// The bounds within which executions from a function begin, as far as its slice mentions the variables.
#[salsa::tracked]
pub(crate) fn bounds_at<'db>(db: &'db dyn Db, project: Project, entry: Symbol<'db>) -> Within<'db> {
    let name = entry.name(db);
    let nothing = || Within::new(db, Bounds::new(), Begins::AtDoor);
    if !Entry::new(name).is_library()
        || variables(db, project).is_empty()
        || wide(db, project).contains(&name)
    {
        return nothing();
    }
    let mentioned = &slice(db, project, entry, false).globals;
    if !variables(db, project).keys().any(|variable| mentioned.contains_key(variable)) {
        return nothing();
    }
    if doors(db, project).contains(&name) {
        return Within::new(db, invariants_of(db, project, entry), Begins::AtDoor);
    }
    Within::new(db, at_calls(db, project, entry).unwrap_or_default(), Begins::Inside)
}

/// The bounds wherever a function is called that is no door; `None` if they could not be found out.
fn at_calls(db: &dyn Db, project: Project, function: Symbol) -> Option<Bounds> {
    let name = function.name(db);
    let calls = |door: &Name| slice(db, project, Symbol::new(db, *door), false).functions.contains_key(&name);
    let calling: Vec<Name> = doors(db, project).iter().copied().filter(calls).collect();
    if calling.len() > MOST_CALLING || calling.iter().any(|door| wide(db, project).contains(door)) {
        return None;
    }
    let mut all = Bounds::new();
    for door in calling {
        let symbol = Symbol::new(db, door);
        let within = Within::new(db, invariants_of(db, project, symbol), Begins::AtDoor);
        let left = left(db, project, symbol, within).as_ref()?;
        for (variable, bounds) in left.calls.get(&name).into_iter().flatten() {
            module_invariants::join(&mut all, *variable, *bounds);
        }
    }
    let is_any = |variable: &Name, bounds: &(i128, i128)| {
        let ty = variables(db, project).get(variable).map(|variable| variable.ty);
        ty.is_none_or(|ty| *bounds == (ty.min(), ty.max()))
    };
    all.retain(|variable, bounds| !is_any(variable, bounds));
    Some(all)
}
