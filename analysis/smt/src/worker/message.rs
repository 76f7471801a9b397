//! What a session tells its worker, and what the worker answers. A message is nodes of terms, and after them what names them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::bytes::{Input, Output};
use super::operators::{read_sort, write_sort};
use super::terms::{Known, Sent};
use crate::horn::spacer::{Found, Query};
use crate::horn::system::Fact;
use crate::horn::{Atom, HornOptions, HornSystem, PredId, Predicate, Rule};
use crate::solver::{Limits, Outcome, Reason};
use crate::term::{Term, Value, Var, value_of};
use crate::z3::Settings;

/// Counts the changes of what is said here; a worker of another count is not used.
pub(super) const PROTOCOL: u64 = 1;

/// Before a node.
const NODE: u8 = 0;

/// What a worker is told. Only the last ones, from `Open` on, are answered.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Order<'a> {
    /// The session ends.
    Close,
    /// Makes a solver, the general one or the incremental one, under this number.
    Solver {
        id: u64,
        general: bool,
    },
    /// Forgets it.
    Drop(u64),
    Push(u64),
    Pop(u64),
    Assert(u64, Term),
    Name(u64, Term),
    Limits(u64, Limits),
    /// A session begins.
    Open(Settings),
    Check(u64, Vec<Term>),
    Values(u64, Vec<Term>),
    Project(u64, Term, Vec<Var>),
    Spacer(Query<'a>),
}

/// What a worker answers.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Reply {
    Ready(u64),
    /// With the positions of the assumptions that sufficed.
    Checked(Outcome, Vec<usize>),
    Values(Vec<Option<Value>>),
    Projected(Result<Term, Reason>),
    Spacer(Result<Found, Reason>),
    Panicked(String),
    /// The limit of memory is reached; the worker ends.
    OutOfMemory,
}

impl Order<'_> {
    pub(super) fn write(&self, out: &mut Output, sent: &mut Sent) {
        let mut define = |term: Term| sent.define(out, NODE, term);
        match self {
            Order::Assert(_, term) | Order::Name(_, term) | Order::Project(_, term, _) => define(*term),
            Order::Check(_, terms) | Order::Values(_, terms) => terms.iter().for_each(|term| define(*term)),
            Order::Spacer(query) => query.rules.iter().for_each(|i| {
                let rule = &query.system.rules[*i];
                let atoms = rule.body.iter().chain(&rule.head);
                atoms.flat_map(|a| a.args.iter()).chain([&rule.constraint]).for_each(|term| define(*term));
            }),
            Order::Close
            | Order::Solver { .. }
            | Order::Drop(_)
            | Order::Push(_)
            | Order::Pop(_)
            | Order::Limits(..)
            | Order::Open(_) => {}
        }
        match self {
            Order::Close => out.byte(1),
            Order::Solver { id, general } => {
                tagged(out, 2, *id);
                out.flag(*general);
            }
            Order::Drop(id) => tagged(out, 3, *id),
            Order::Push(id) => tagged(out, 4, *id),
            Order::Pop(id) => tagged(out, 5, *id),
            Order::Assert(id, term) => {
                tagged(out, 6, *id);
                sent.term(out, *term);
            }
            Order::Name(id, term) => {
                tagged(out, 7, *id);
                sent.term(out, *term);
            }
            Order::Limits(id, limits) => {
                tagged(out, 8, *id);
                write_limits(out, *limits);
            }
            Order::Open(settings) => {
                out.byte(9);
                out.flag(*settings == Settings::Other);
            }
            Order::Check(id, terms) => {
                tagged(out, 10, *id);
                write_terms(out, sent, terms);
            }
            Order::Values(id, terms) => {
                tagged(out, 11, *id);
                write_terms(out, sent, terms);
            }
            Order::Project(id, term, vars) => {
                tagged(out, 12, *id);
                sent.term(out, *term);
                out.count(vars.len());
                vars.iter().for_each(|var| sent.var(out, *var));
            }
            Order::Spacer(query) => {
                out.byte(13);
                write_query(out, sent, query);
            }
        }
    }

    /// Reads the next order, and the nodes before it.
    pub(super) fn read(from: &mut Input<'_>, known: &mut Known) -> Option<Order<'static>> {
        Some(match tag(from, known)? {
            1 => Order::Close,
            2 => Order::Solver { id: from.number()?, general: from.flag()? },
            3 => Order::Drop(from.number()?),
            4 => Order::Push(from.number()?),
            5 => Order::Pop(from.number()?),
            6 => Order::Assert(from.number()?, known.formula(from)?),
            7 => Order::Name(from.number()?, known.formula(from)?),
            8 => Order::Limits(from.number()?, read_limits(from)?),
            9 => Order::Open(if from.flag()? { Settings::Other } else { Settings::Usual }),
            10 => Order::Check(from.number()?, from.many(|from| known.formula(from))?),
            11 => Order::Values(from.number()?, from.many(|from| known.term(from))?),
            12 => Order::Project(from.number()?, known.formula(from)?, from.many(|from| known.var(from))?),
            13 => Order::Spacer(read_query(from, known)?),
            _ => return None,
        })
    }
}

impl Reply {
    pub(super) fn write(&self, out: &mut Output, sent: &mut Sent) {
        match self {
            Reply::Ready(protocol) => tagged(out, 1, *protocol),
            Reply::Checked(outcome, core) => {
                out.byte(2);
                write_outcome(out, outcome);
                out.count(core.len());
                core.iter().for_each(|i| out.count(*i));
            }
            Reply::Values(values) => {
                let terms: Vec<Option<Term>> =
                    values.iter().map(|value| value.as_ref().map(Value::to_term)).collect();
                terms.iter().flatten().for_each(|term| sent.define(out, NODE, *term));
                out.byte(3);
                out.count(terms.len());
                for term in terms {
                    out.flag(term.is_some());
                    term.into_iter().for_each(|term| sent.term(out, term));
                }
            }
            Reply::Projected(Ok(term)) => {
                sent.define(out, NODE, *term);
                out.byte(4);
                sent.term(out, *term);
            }
            Reply::Spacer(Ok(found)) => write_found(out, sent, found),
            Reply::Projected(Err(reason)) => {
                out.byte(7);
                write_reason(out, reason);
            }
            Reply::Spacer(Err(reason)) => {
                out.byte(8);
                write_reason(out, reason);
            }
            Reply::Panicked(text) => {
                out.byte(9);
                out.text(text);
            }
            Reply::OutOfMemory => out.byte(10),
        }
    }

    /// Reads a reply; nothing may follow it.
    pub(super) fn read(from: &mut Input<'_>, known: &mut Known) -> Option<Reply> {
        let reply =
            match tag(from, known)? {
                1 => Reply::Ready(from.number()?),
                2 => {
                    let outcome = read_outcome(from)?;
                    Reply::Checked(outcome, from.many(|from| usize::try_from(from.number()?).ok())?)
                }
                3 => Reply::Values(from.many(|from| {
                    Some(if from.flag()? { Some(value_of(known.term(from)?)?) } else { None })
                })?),
                4 => Reply::Projected(Ok(known.formula(from)?)),
                5 => Reply::Spacer(Ok(read_cover(from, known)?)),
                6 => Reply::Spacer(Ok(read_facts(from, known)?)),
                7 => Reply::Projected(Err(read_reason(from)?)),
                8 => Reply::Spacer(Err(read_reason(from)?)),
                9 => Reply::Panicked(from.text()?.to_owned()),
                10 => Reply::OutOfMemory,
                _ => return None,
            };
        from.is_empty().then_some(reply)
    }
}

fn tagged(out: &mut Output, tag: u8, number: u64) {
    out.byte(tag);
    out.number(number);
}

/// The next tag that is no node.
fn tag(from: &mut Input<'_>, known: &mut Known) -> Option<u8> {
    loop {
        match from.byte()? {
            NODE => known.define(from)?,
            tag => return Some(tag),
        }
    }
}

fn write_terms(out: &mut Output, sent: &Sent, terms: &[Term]) {
    out.count(terms.len());
    terms.iter().for_each(|term| sent.term(out, *term));
}

fn write_limits(out: &mut Output, limits: Limits) {
    out.optional(limits.resource);
    out.optional(limits.millis);
}

fn read_limits(from: &mut Input<'_>) -> Option<Limits> {
    Some(Limits { resource: from.optional()?, millis: from.optional()? })
}

fn write_outcome(out: &mut Output, outcome: &Outcome) {
    match outcome {
        Outcome::Sat => out.byte(0x5a),
        Outcome::Unsat => out.byte(0xa5),
        Outcome::Unknown(reason) => {
            out.byte(0x33);
            write_reason(out, reason);
        }
    }
}

fn read_outcome(from: &mut Input<'_>) -> Option<Outcome> {
    Some(match from.byte()? {
        0x5a => Outcome::Sat,
        0xa5 => Outcome::Unsat,
        0x33 => Outcome::Unknown(read_reason(from)?),
        _ => return None,
    })
}

fn write_reason(out: &mut Output, reason: &Reason) {
    let (tag, text) = match reason {
        Reason::Limit => (0, ""),
        Reason::Incomplete(text) => (2, text.as_str()),
        Reason::Failed(text) => (3, text.as_str()),
        // A worker is not asked to stop, and does not say so when it dies; of memory `Reply::OutOfMemory` speaks.
        Reason::Interrupted | Reason::Memory | Reason::Stopped => (3, "a worker cannot say this"),
    };
    out.byte(tag);
    out.text(text);
}

fn read_reason(from: &mut Input<'_>) -> Option<Reason> {
    let (tag, text) = (from.byte()?, from.text()?.to_owned());
    Some(match tag {
        0 => Reason::Limit,
        2 => Reason::Incomplete(text),
        3 => Reason::Failed(text),
        _ => return None,
    })
}

fn write_query(out: &mut Output, sent: &Sent, query: &Query<'_>) {
    let options = query.options;
    write_limits(out, options.limits);
    out.flag(options.guided);
    out.flag(options.derivation);
    out.count(query.system.predicates.len());
    for predicate in &query.system.predicates {
        out.count(predicate.sorts.len());
        predicate.sorts.iter().for_each(|sort| write_sort(out, *sort));
    }
    out.count(query.active.len());
    query.active.iter().for_each(|p| out.number(p.0.into()));
    out.count(query.rules.len());
    for i in &query.rules {
        let rule = &query.system.rules[*i];
        out.count(*i);
        out.count(rule.body.len());
        rule.body.iter().for_each(|atom| write_atom(out, sent, atom));
        sent.term(out, rule.constraint);
        out.flag(rule.head.is_some());
        rule.head.iter().for_each(|atom| write_atom(out, sent, atom));
    }
}

fn write_atom(out: &mut Output, sent: &Sent, atom: &Atom) {
    out.number(atom.predicate.0.into());
    write_terms(out, sent, &atom.args);
}

/// The rules that are asked about, at their positions; the others are missing, as rules that say nothing. Names of predicates are for
/// people and are not sent.
fn read_query(from: &mut Input<'_>, known: &mut Known) -> Option<Query<'static>> {
    let options = HornOptions { limits: read_limits(from)?, guided: from.flag()?, derivation: from.flag()? };
    let predicates =
        from.many(|from| Some(Predicate { name: String::new(), sorts: from.many(read_sort)? }))?;
    let predicate =
        |from: &mut Input<'_>| from.small().map(PredId).filter(|p| (p.0 as usize) < predicates.len());
    let active: BTreeSet<PredId> = from.many(|from| predicate(from))?.into_iter().collect();
    let atom = |from: &mut Input<'_>| {
        let atom = Atom { predicate: predicate(from)?, args: from.many(|from| known.term(from))? };
        let sorts = &predicates[atom.predicate.0 as usize].sorts;
        let fits =
            active.contains(&atom.predicate) && atom.args.iter().map(|t| t.sort()).eq(sorts.iter().copied());
        fits.then_some(atom)
    };
    let listed = from.many(|from| {
        let at = usize::try_from(from.number()?).ok().filter(|at| *at < 1 << 24)?;
        let body = from.many(|from| atom(from))?;
        let constraint = known.formula(from)?;
        let head = if from.flag()? { Some(atom(from)?) } else { None };
        Some((at, Rule { body, constraint, head }))
    })?;
    let silent = Rule { body: Vec::new(), constraint: crate::build::bool(false), head: None };
    let length = listed.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
    let mut system = HornSystem { predicates, rules: vec![silent; length] };
    let mut rules = Vec::new();
    for (at, rule) in listed {
        system.rules[at] = rule;
        rules.push(at);
    }
    Some(Query { system: Cow::Owned(system), rules, active, options })
}

fn write_found(out: &mut Output, sent: &mut Sent, found: &Found) {
    match found {
        Found::Cover(cover) => {
            cover.values().for_each(|term| sent.define(out, NODE, *term));
            out.byte(5);
            out.count(cover.len());
            for (predicate, term) in cover {
                out.number(predicate.0.into());
                sent.term(out, *term);
            }
        }
        Found::Facts(facts) => {
            let facts: Option<Vec<(PredId, Vec<Term>)>> = facts.as_ref().map(|facts| {
                facts.iter().map(|(p, values)| (*p, values.iter().map(Value::to_term).collect())).collect()
            });
            for (_, terms) in facts.iter().flatten() {
                terms.iter().for_each(|term| sent.define(out, NODE, *term));
            }
            out.byte(6);
            out.flag(facts.is_some());
            let facts = facts.unwrap_or_default();
            out.count(facts.len());
            for (predicate, terms) in &facts {
                out.number(predicate.0.into());
                write_terms(out, sent, terms);
            }
        }
    }
}

fn read_cover(from: &mut Input<'_>, known: &Known) -> Option<Found> {
    let pairs = from.many(|from| Some((PredId(from.small()?), known.formula(from)?)))?;
    Some(Found::Cover(pairs.into_iter().collect::<BTreeMap<_, _>>()))
}

fn read_facts(from: &mut Input<'_>, known: &Known) -> Option<Found> {
    let are_given = from.flag()?;
    let facts = from.many(|from| -> Option<Fact> {
        Some((PredId(from.small()?), from.many(|from| value_of(known.term(from)?))?))
    })?;
    Some(Found::Facts(are_given.then(|| facts.into_iter().collect())))
}
