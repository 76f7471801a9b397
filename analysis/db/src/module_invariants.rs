//! Queries for module invariants: between which bounds a file's own variables, and members of its own structures, are whenever code outside calls one of its functions. Bounds grow from
//! the initial values until every function leaves the variables within them. One pass from one function within some bounds is a query, so
//! that an edit makes the passes again that can see it, and what depends on the bounds only if they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, IntType, Lvalue, Name, Program, Scalar};
use proofline_cfa_build::models;
use proofline_syntax::interrupt;
use proofline_verifier::{
    Budget, Subject, checks,
    module_invariants::{self, Begins, Bounds, Left, Part, Parts, STEPS},
    property::Property,
    report::Judgement,
};

use crate::{
    front::{Project, errors},
    linked::{
        Symbol, data_model, function, functions, global, has_body, has_gaps, homed_globals, record, units,
        users,
    },
    shared::Db,
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

/// A variable, or a member, of which an invariant may speak.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Variable {
    place: Lvalue,
    ty: IntType,
    initial: i128,
    /// Functions that write it.
    writers: BTreeSet<Name>,
    /// Where its bounds may come to rest.
    thresholds: BTreeSet<i128>,
}

impl Variable {
    /// Whether one of the functions of a slice may write it.
    fn is_written_by(&self, slice: &Program) -> bool {
        slice.functions.keys().any(|name| self.writers.contains(name))
    }
}

/// The variables of a library of which invariants may speak; none if not all that code outside may do is known.
#[salsa::tracked]
fn variables(db: &dyn Db, project: Project) -> Arc<BTreeMap<Part, Variable>> {
    let count = units(db, project).len();
    let is_closed = !has_body(db, project, Entry::main().name)
        && errors(db, project).is_empty()
        && models::standard().interfering().all(|name| users(db, project, Symbol::new(db, name)).is_empty())
        && !(0..count).any(|unit| has_gaps(db, project, unit));
    if !is_closed {
        return Arc::default();
    }
    let names = (0..count).flat_map(|unit| homed_globals(db, project, unit));
    Arc::new(names.flat_map(|name| variables_of(db, project, name)).collect())
}

fn variables_of(db: &dyn Db, project: Project, name: Name) -> BTreeMap<Part, Variable> {
    let symbol = Symbol::new(db, name);
    let Some(global) = global(db, project, symbol).as_ref() else { return BTreeMap::new() };
    let record = |tag| record(db, project, Symbol::new(db, tag)).clone();
    let parts = module_invariants::parts(global, data_model(db, project), &record);
    if parts.is_empty() {
        return BTreeMap::new();
    }
    let mut bodies = Vec::new();
    for user in users(db, project, symbol).iter() {
        // An object holds its address.
        let Some(body) = function(db, project, Symbol::new(db, *user)).as_ref() else {
            return BTreeMap::new();
        };
        bodies.push((*user, body));
    }
    let mut all = BTreeMap::new();
    let mut is_written = false;
    for (part, place) in parts {
        let (Some(Scalar::Int(ty)), Some(initial)) =
            (place.scalar, module_invariants::initial(global, part, &place))
        else {
            continue;
        };
        let (mut writers, mut thresholds, mut is_taken) = (BTreeSet::new(), BTreeSet::new(), false);
        for (user, body) in &bodies {
            let used = module_invariants::use_of(body, part, &place);
            is_taken |= used.takes_address;
            if used.writes {
                writers.insert(*user);
            }
            thresholds.extend(module_invariants::thresholds(body));
        }
        is_written |= !writers.is_empty();
        if !is_taken {
            all.insert(part, Variable { place, ty, initial, writers, thresholds });
        }
    }
    // What nobody writes is a constant of every slice already.
    if is_written { all } else { BTreeMap::new() }
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
        variables.iter().map(|(part, variable)| (*part, (variable.initial, variable.initial))).collect();
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
        |part: &Part, bounds: &(i128, i128)| *bounds == (variables[part].ty.min(), variables[part].ty.max());
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
                .filter(|(part, known)| reached.globals.contains_key(&part.variable) && !is_any(part, known));
            let known: Bounds = known.map(|(part, known)| (*part, *known)).collect();
            let left = left(db, project, symbol, Within::new(db, known, Begins::AtDoor)).as_deref();
            let seen = variables.iter().filter(|(part, _)| reached.globals.contains_key(&part.variable));
            for (part, variable) in seen.filter(|(_, variable)| variable.is_written_by(reached)) {
                let Some(all) = bounds.get_mut(part) else { continue };
                match left {
                    Some(left) => {
                        let Some((low, high)) = left.outside.get(part) else { continue };
                        *all = (all.0.min(*low), all.1.max(*high));
                    }
                    // Nobody knows what it leaves.
                    None => *all = (variable.ty.min(), variable.ty.max()),
                }
            }
        }
        if bounds == before {
            break;
        }
        for (part, grown) in &mut bounds {
            let (variable, old) = (&variables[part], before[part]);
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
    bounds.retain(|part, known| !is_any(part, known));
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
    let parts: Parts =
        variables(db, project).iter().map(|(part, variable)| (*part, variable.place.clone())).collect();
    let asking = db.asking();
    let control = &asking.control;
    let budget = Budget::steps(STEPS).with_cancel(control.cancel.clone()).with_deadline(control.deadline);
    let entry = Entry::new(door.name(db));
    let found = interrupt::within(None, || {
        module_invariants::left(&subject, entry, doors(db, project), &parts, &budget).ok()
    });
    asking.ended(db, found.is_none(), Judgement::default);
    found.map(Arc::new)
}

/// The invariants of the variables that executions from a function may mention.
fn invariants_of(db: &dyn Db, project: Project, entry: Symbol) -> Bounds {
    let mentioned = &slice(db, project, entry, false).globals;
    let known = invariants(db, project).iter().filter(|(part, _)| mentioned.contains_key(&part.variable));
    known.map(|(part, bounds)| (*part, *bounds)).collect()
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
    if !variables(db, project).keys().any(|part| mentioned.contains_key(&part.variable)) {
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
        let known = invariants_of(db, project, symbol);
        let left = left(db, project, symbol, Within::new(db, known.clone(), Begins::AtDoor)).as_ref()?;
        let reached = slice(db, project, symbol, false);
        for (part, bounds) in left.calls.get(&name).into_iter().flatten() {
            let is_written = variables(db, project).get(part).is_some_and(|of| of.is_written_by(reached));
            // What nothing writes on the way is as it was when the door was entered.
            let bounds = known.get(part).filter(|_| !is_written).unwrap_or(bounds);
            module_invariants::join(&mut all, *part, *bounds);
        }
    }
    let is_any = |part: &Part, bounds: &(i128, i128)| {
        let ty = variables(db, project).get(part).map(|variable| variable.ty);
        ty.is_none_or(|ty| *bounds == (ty.min(), ty.max()))
    };
    all.retain(|part, bounds| !is_any(part, bounds));
    Some(all)
}
