//! Functions of large libraries apart from what they call: programs of one function each, looked at first, so that there is an answer to every function before
//! anybody has looked at what a thousand functions have in common. An edit of one function concerns no other of these programs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Function, Name};
use proofline_cfa_build::models;
use proofline_program_analysis::apart;
use proofline_verifier::{Entry, checks, load, monitors::Monitors, property::Property};

use crate::{
    front::{Project, errors},
    linked::{Symbol, function, functions, global, has_annotations, has_body, mentions, units, unsupported},
    shared::Db,
    slices::{Queried, Ready, monitors, prepared_as, volatile},
    wide::wide,
};

/// Whether a function is first looked at apart from what it calls: one of a large library that calls others.
#[salsa::tracked(returns(copy))]
pub(crate) fn stands_apart<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> bool {
    let name = symbol.name(db);
    let mentioned = &mentions(db, project, symbol).names;
    let calls: Vec<&Name> =
        mentioned.iter().filter(|other| **other != name && has_body(db, project, **other)).collect();
    // Of a function of the program that has the name of one of the library, the library's model says nothing.
    let is_taken_for_another = |callee: &&Name| models::standard().model(callee.as_str()).is_some();
    Entry::new(name).is_library()
        && !wide(db, project).is_empty()
        && !calls.is_empty()
        && *is_possible(db, project)
        && !calls.iter().any(is_taken_for_another)
}

/// Whether the text is understood, and says nothing that one function promises another.
#[salsa::tracked]
fn is_possible(db: &dyn Db, project: Project) -> bool {
    errors(db, project).is_empty()
        && *monitors(db, project) == Monitors::default()
        && !(0..units(db, project).len()).any(|unit| has_annotations(db, project, unit))
}

/// The functions that reach something of which nothing may be proved, such as the start of a thread.
#[salsa::tracked]
fn tangled(db: &dyn Db, project: Project) -> Arc<BTreeSet<Name>> {
    let mut users: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    let (mut open, mut found) = (Vec::new(), BTreeSet::new());
    open.extend(models::standard().interfering().filter(|name| !has_body(db, project, *name)));
    let mut seen = BTreeSet::new();
    let mut names: Vec<Name> = functions(db, project).clone();
    while let Some(name) = names.pop() {
        if !seen.insert(name) {
            continue;
        }
        let symbol = Symbol::new(db, name);
        let is_marked = |body: &Arc<Function>| !body.unsupported.is_empty();
        if function(db, project, symbol).as_ref().is_some_and(is_marked)
            || !unsupported(db, project, symbol).is_empty()
        {
            open.push(name);
        }
        let mentioned = match global(db, project, symbol) {
            Some(global) => proofline_program_analysis::Mentions::of_global(global).names,
            None => mentions(db, project, symbol).names.clone(),
        };
        for other in mentioned {
            users.entry(other).or_default().push(name);
            names.push(other);
        }
    }
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(users.get(&name).into_iter().flatten());
        }
    }
    Arc::new(found)
}

/// The program of a function apart from what it calls, ready for engines. Nobody remembers it: it is asked about once, and there are thousands.
fn ready<'db>(db: &'db dyn Db, project: Project, symbol: Symbol<'db>) -> Ready {
    let name = symbol.name(db);
    let annotations = |_| None;
    let environment = prepared_as(db, project, &annotations, |how| {
        load::of_entry(Entry::new(name), how, volatile(db, project), &|_| {
            let mut program = apart(&Queried { db, project }, name);
            if tangled(db, project).contains(&name) {
                program.unsupported.push((name, Name::new("code beside it")));
            }
            program
        })
    });
    Ready::new(db, environment, name)
}

/// The same for the engines that answer this question.
pub(crate) fn ready_for<'db>(
    db: &'db dyn Db,
    project: Project,
    symbol: Symbol<'db>,
    property: &Property,
) -> Arc<Ready> {
    let ready = ready(db, project, symbol);
    Arc::new(match checks::pass_over(ready.environment.program(), &property.passed_over()) {
        Some(program) => Ready::new(db, ready.environment.again(program), symbol.name(db)),
        None => ready,
    })
}
