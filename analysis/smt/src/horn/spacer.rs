//! One query to Spacer: writes a system, reads back covers or ground facts. Nothing it returns is trusted.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::system::Fact;
use super::{Atom, HornOptions, HornSystem, PredId, argument};
use crate::solver::Reason;
use crate::term::{Sort, Term, free_vars, value_of};
use crate::z3::ffi::{Answer, Ast, Decl, Error, Fixedpoint, Params, Result as Z3Result, Shape, SortRef};
use crate::z3::{Local, Settings};

/// What Spacer is asked: whether falsity can be derived by `rules` (positions in the system) over `active` predicates.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) system: Cow<'a, HornSystem>,
    pub(crate) rules: Vec<usize>,
    pub(crate) active: BTreeSet<PredId>,
    pub(crate) options: HornOptions,
}

/// What Spacer answered.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Found {
    /// An over-approximation per predicate.
    Cover(BTreeMap<PredId, Term>),
    /// The facts of some derivation of falsity, possibly incomplete, if they were asked for.
    Facts(Option<BTreeSet<Fact>>),
}

struct Writer<'a> {
    z3: &'a Local,
    relations: BTreeMap<PredId, Decl>,
}

impl Writer<'_> {
    fn atom(&self, atom: &Atom) -> Z3Result<Ast> {
        self.relations[&atom.predicate].apply(&self.z3.write_all(&atom.args)?)
    }
}

impl Query<'_> {
    /// Asks in this process.
    pub(crate) fn answer(&self, z3: &Local) -> Result<Found, Reason> {
        query(z3, &self.system, &self.rules, &self.active, self.options)
    }
}

fn query(
    z3: &Local,
    system: &HornSystem,
    rules: &[usize],
    active: &BTreeSet<PredId>,
    options: HornOptions,
) -> Result<Found, Reason> {
    let failed = |error: crate::z3::ffi::Error| Reason::of(&error.0);
    let (engine, writer, falsity) = set_up(z3, system, rules, active, options).map_err(failed)?;
    match z3.run(|| engine.query(&falsity, options.limits.resource.unwrap_or(0)))? {
        Answer::Unknown => Err(Reason::of_unknown(&engine.reason_unknown())),
        Answer::No => {
            let mut covers = BTreeMap::new();
            for (predicate, relation) in &writer.relations {
                let cover = z3.run(|| {
                    let sorts = &system.predicates[predicate.index()].sorts;
                    let args: Vec<Term> =
                        sorts.iter().enumerate().map(|(i, s)| crate::build::var(argument(i, *s))).collect();
                    let cover = engine.cover(relation)?;
                    z3.read(&cover.instantiate(&z3.write_all(&args)?)?)
                })?;
                covers.insert(*predicate, cover);
            }
            Ok(Found::Cover(covers))
        }
        Answer::Yes if !options.derivation => Ok(Found::Facts(None)),
        Answer::Yes => {
            let resource = options.limits.resource.unwrap_or(0);
            let answer = z3.run(|| engine.answer(resource));
            let facts = answer.and_then(|a| facts(z3, &writer, &a).map_err(failed));
            Ok(Found::Facts(Some(facts.unwrap_or_default())))
        }
    }
}

/// Without the two parts of Spacer in which Z3 4.15.4 dies on arrays under recursion: interpolation by unsatisfiable cores, and equalities
/// propagated between obligations. Each alone still dies on some programs.
fn other(params: Params) -> Params {
    params.number("spacer.iuc", 0).flag("spacer.eq_prop", false)
}

fn set_up<'a>(
    z3: &'a Local,
    system: &HornSystem,
    rules: &[usize],
    active: &BTreeSet<PredId>,
    options: HornOptions,
) -> Z3Result<(Fixedpoint, Writer<'a>, Ast)> {
    let engine = Fixedpoint::new(z3.ctx())?;
    let params = Params::new(z3.ctx())
        .word("engine", "spacer")
        // Every predicate must survive, or its cover cannot be read back.
        .flag("xform.slice", false)
        .flag("xform.inline_linear", false)
        .flag("xform.inline_eager", false)
        .flag("spacer.global", options.guided)
        .number("spacer.order_children", u32::from(options.guided))
        .number("spacer.random_seed", 0)
        .number("timeout", options.limits.millis.unwrap_or(u32::MAX));
    let params = match z3.settings() {
        Settings::Usual => params,
        Settings::Other => other(params),
    };
    engine.configure(&params)?;
    let session = z3.fresh();
    let bool = z3.sort(Sort::Bool)?;
    let mut relations = BTreeMap::new();
    for p in active {
        let sorts = system.predicates[p.index()]
            .sorts
            .iter()
            .map(|s| z3.sort(*s))
            .collect::<Z3Result<Vec<SortRef>>>()?;
        let relation = Decl::new(z3.ctx(), &format!("?P{}!{session}", p.0), &sorts, &bool)?;
        engine.relation(&relation);
        relations.insert(*p, relation);
    }
    let falsity = Decl::new(z3.ctx(), &format!("?false!{session}"), &[], &bool)?;
    engine.relation(&falsity);
    let writer = Writer { z3, relations };
    for i in rules {
        // Writing a large system takes seconds.
        if z3.interrupter().is_requested() {
            return Err(Error("interrupted".into()));
        }
        let rule = &system.rules[*i];
        let mut vars = free_vars(rule.constraint);
        for atom in rule.body.iter().chain(&rule.head) {
            vars.extend(atom.args.iter().flat_map(|t| free_vars(*t)));
        }
        let mut body = rule.body.iter().map(|a| writer.atom(a)).collect::<Z3Result<Vec<Ast>>>()?;
        body.push(z3.write(rule.constraint)?);
        let head = match &rule.head {
            Some(atom) => writer.atom(atom)?,
            None => falsity.apply(&[])?,
        };
        let implication = Ast::implies(&Ast::and(z3.ctx(), &body)?, &head)?;
        let bound =
            vars.into_iter().map(|v| z3.write(crate::build::var(v))).collect::<Z3Result<Vec<Ast>>>()?;
        let closed = if bound.is_empty() { implication } else { Ast::quantify(true, &bound, &implication)? };
        engine.rule(&closed, &format!("rule{i}"))?;
    }
    let goal = falsity.apply(&[])?;
    Ok((engine, writer, goal))
}

/// The ground facts in an answer: every application of a relation to values, wherever it stands.
fn facts(z3: &Local, writer: &Writer<'_>, answer: &Ast) -> Z3Result<BTreeSet<Fact>> {
    let mut found = BTreeSet::new();
    let mut seen: rustc_hash::FxHashSet<Ast> = rustc_hash::FxHashSet::default();
    let mut stack = vec![answer.clone()];
    while let Some(ast) = stack.pop() {
        if !seen.insert(ast.clone()) {
            continue;
        }
        let Shape::Apply(decl, args) = ast.shape()? else { continue };
        if let Some((predicate, _)) = writer.relations.iter().find(|(_, relation)| **relation == decl) {
            let values: Option<Vec<_>> = args.iter().map(|a| value_of(z3.read(a).ok()?)).collect();
            if let Some(values) = values {
                found.insert((*predicate, values));
            }
        }
        stack.extend(args);
    }
    Ok(found)
}
