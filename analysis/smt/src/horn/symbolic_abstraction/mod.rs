//! Invariants by symbolic abstraction: the least solution of a system in the domain of polynomial equations (Karr's, with products as
//! further columns) and bounds of differences, kept apart by cases of the arguments. The solver supplies points that the current
//! candidate does not cover, until there is none. Needs no refutation: finds `ret = m + n` where unrolling never ends.

mod cases;
mod cell;
mod partition;

pub use cases::Split;

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;

use self::{
    cases::{Cases, arguments},
    cell::{Cell, Template},
    partition::Kept,
};
use super::{Atom, CellSystem, HornSystem, PredId, Rule, Solution, argument, certify};
use crate::build as t;
use crate::logic::conjuncts;
use crate::simplify::Linear;
use crate::solver::{Limits, Outcome, Reason, Solver};
use crate::term::{Op, Sort, Term, postorder};
use crate::z3::Z3;

/// How invariants are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolicAbstractionOptions {
    /// 1: linear equations; 2: with products of two arguments.
    pub degree: u8,
    /// Which cases of the arguments have invariants of their own.
    pub split: Split,
    /// Limits of each question to the solver.
    pub limits: Limits,
    /// Questions, at most; one about a large rule counts as many.
    pub questions: u32,
}

/// A formula per predicate, over [`argument`] variables, that every rule with a head preserves. (Rules without head may fail.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invariants(Solution);

impl Invariants {
    /// The formula of a predicate at `args`.
    #[must_use]
    pub fn at(&self, predicate: PredId, args: &[Term]) -> Term {
        self.0.at(predicate, args)
    }

    /// The system with the invariants assumed: what solves it, together with them, solves `system`.
    #[must_use]
    pub fn assumed_in(&self, system: &HornSystem) -> HornSystem {
        let mut out = system.clone();
        for rule in &mut out.rules {
            let known = rule.body.iter().map(|a| self.at(a.predicate, &a.args));
            rule.constraint = t::and(known.chain([rule.constraint]));
        }
        out
    }

    /// The rules without head that the invariants exclude: their bodies cannot be satisfied. Certified: every rule with a head is
    /// checked to be preserved.
    ///
    /// # Errors
    /// If some rule with a head cannot be shown to be preserved.
    pub fn excluded(&self, z3: &Z3, system: &HornSystem, limits: Limits) -> Result<BTreeSet<usize>, Reason> {
        let mut derives = system.clone();
        derives.rules.retain(|rule| rule.head.is_some());
        certify::solution(z3, &derives, &self.0, limits)?;
        let mut excluded = BTreeSet::new();
        for (i, rule) in system.rules.iter().enumerate().filter(|(_, rule)| rule.head.is_none()) {
            let known = rule.body.iter().map(|a| self.at(a.predicate, &a.args));
            let mut solver = z3.solver();
            solver.set_limits(limits);
            solver.assert(t::and(known.chain([rule.constraint])));
            match solver.check() {
                Outcome::Unsat => drop(excluded.insert(i)),
                Outcome::Unknown(Reason::Interrupted) => return Err(Reason::Interrupted),
                Outcome::Sat | Outcome::Unknown(_) => {}
            }
        }
        Ok(excluded)
    }

    /// Together with a solution of the system they were assumed in: certified for `system` itself.
    ///
    /// # Errors
    /// If some rule cannot be shown to hold.
    pub fn with(
        &self,
        z3: &Z3,
        system: &HornSystem,
        solution: &Solution,
        limits: Limits,
    ) -> Result<Solution, Reason> {
        let formulas =
            self.0.formulas.iter().zip(&solution.formulas).map(|(a, b)| t::and([*a, *b])).collect();
        let both = Solution { formulas };
        certify::solution(z3, system, &both, limits)?;
        Ok(both)
    }
}

/// Terms of a rule that one question is worth.
const LARGE: u32 = 400;
/// Writes to arrays of a question of the usual size.
const WRITES: u32 = 32;

type Cells = BTreeMap<Vec<usize>, Cell>;

/// Cells as they were written last, over the arguments of one atom.
type Written = BTreeMap<Vec<usize>, (Cell, Term)>;

struct Search<'s> {
    system: &'s HornSystem,
    /// Positions of the integer arguments.
    columns: Vec<Vec<usize>>,
    templates: Vec<Template>,
    cases: Vec<Cases>,
    cells: Vec<Cells>,
    /// Per rule the cells of its body's atoms when it was looked at last: only what is new since then can give new points.
    seen: Vec<Vec<Cells>>,
    /// What is not covered of one case is looked at before other cases.
    case_by_case: bool,
    /// Predicates about which nothing matters.
    irrelevant: BTreeSet<PredId>,
}

/// Computes invariants of a system.
///
/// # Errors
/// If the solver does not answer, or after too many questions.
pub fn invariants(
    z3: &Z3,
    system: &HornSystem,
    options: SymbolicAbstractionOptions,
) -> Result<Invariants, Reason> {
    search(z3, system, Cases::of(system, options.split), &[], &[], options)
}

/// Computes invariants of a system about cells, those of the cells before, at and behind the program's indices apart. [GRS05]
///
/// # Errors
/// If the solver does not answer, or after too many questions.
pub fn invariants_of_cells(
    z3: &Z3,
    cells: &CellSystem,
    options: SymbolicAbstractionOptions,
) -> Result<Invariants, Reason> {
    let partition = |cells_apart, equalities| {
        partition::cases(cells, Kept { cells: cells_apart, equalities }, z3.interrupter())
    };
    let cases = match options.split {
        Split::None | Split::Constants | Split::Values => Cases::of(&cells.system, options.split),
        Split::Prefixes => partition(false, false)?,
        Split::Indices => partition(true, false)?,
        Split::Equalities => partition(true, true)?,
    };
    let scalars = scalars(z3, cells, options)?;
    let system = scalars.assumed_in(&cells.system);
    // Of pairs there are many cases, in which the rest would be told once more.
    let is_of_pairs = cells.indices.iter().any(|indices| indices.len() > 1);
    let contents = || cells.contents.iter().map(|contents| contents.iter().copied().collect()).collect();
    let told: Vec<BTreeSet<usize>> = if is_of_pairs { contents() } else { cells.computed() };
    let Invariants(found) = search(z3, &system, cases, &cells.indices, &told, options)?;
    let both = scalars.0.formulas.iter().zip(&found.formulas).map(|(a, b)| t::and([*a, *b]));
    Ok(Invariants(Solution { formulas: both.collect() }))
}

/// What holds of the arguments that are not about cells, whatever the cells contain. Nothing, if that cannot be found.
fn scalars(z3: &Z3, cells: &CellSystem, options: SymbolicAbstractionOptions) -> Result<Invariants, Reason> {
    let system = cells.without_cells();
    let options = SymbolicAbstractionOptions { degree: 1, split: Split::None, ..options };
    let found = match invariants(z3, &system, options) {
        Ok(found) => Some(found),
        Err(Reason::Interrupted) => return Err(Reason::Interrupted),
        Err(_) => None,
    };
    let formulas = cells.scalars().into_iter().enumerate().map(|(p, positions)| {
        let sorts = &cells.system.predicates[p].sorts;
        let args: Vec<Term> = positions.into_iter().map(|i| t::var(argument(i, sorts[i]))).collect();
        let id = PredId(u32::try_from(p).unwrap_or(u32::MAX));
        found.as_ref().map_or(t::bool(true), |found| found.at(id, &args))
    });
    Ok(Invariants(Solution { formulas: formulas.collect() }))
}

/// `indices`: per predicate arguments whose differences from others the cases tell; `told`: arguments of which one is in everything that is told.
fn search(
    z3: &Z3,
    system: &HornSystem,
    cases: Vec<Cases>,
    indices: &[Vec<usize>],
    told: &[BTreeSet<usize>],
    options: SymbolicAbstractionOptions,
) -> Result<Invariants, Reason> {
    let are_pairs = indices.iter().any(|indices| indices.len() > 1);
    let thresholds = if are_pairs { [-1, 0, 1].map(BigInt::from).to_vec() } else { thresholds(system) };
    let columns: Vec<Vec<usize>> = system
        .predicates
        .iter()
        .map(|p| (0..p.sorts.len()).filter(|i| p.sorts[*i] == Sort::Int).collect())
        .collect();
    // Among many cases differences are told apart by the cases themselves.
    let differences = options.split != Split::Values;
    let template = |(p, c): (usize, &Vec<usize>)| {
        let is_index = |column: usize| indices.get(p).is_some_and(|indices| indices.contains(&c[column]));
        let most = if indices.is_empty() { 7 } else { 12 };
        // Where an index is, the cases say.
        let related =
            |i: usize, j: usize| !is_index(i) && !is_index(j) && (i == j || differences && c.len() <= most);
        let template = Template::new(c.len(), options.degree, related, thresholds.clone());
        match told.get(p) {
            Some(told) => template.about((0..c.len()).filter(|column| told.contains(&c[*column])).collect()),
            None => template,
        }
    };
    let relevant = system.relevant();
    let mut search = Search {
        system,
        templates: columns.iter().enumerate().map(template).collect(),
        cells: vec![BTreeMap::new(); columns.len()],
        columns,
        seen: system.rules.iter().map(|rule| vec![Cells::new(); rule.body.len()]).collect(),
        cases,
        case_by_case: !indices.is_empty(),
        irrelevant: (0..)
            .map(PredId)
            .take(system.predicates.len())
            .filter(|p| !relevant.contains(p))
            .collect(),
    };
    search.run(z3, options)?;
    let formulas = (0..).map(PredId).take(system.predicates.len()).map(|p| {
        let sorts = &system.predicates[p.index()].sorts;
        let args: Vec<Term> = sorts.iter().enumerate().map(|(i, s)| t::var(argument(i, *s))).collect();
        search.formula(p, &args)
    });
    Ok(Invariants(Solution { formulas: formulas.collect() }))
}

impl Search<'_> {
    fn formula(&self, predicate: PredId, args: &[Term]) -> Term {
        let p = predicate.index();
        if self.irrelevant.contains(&predicate) {
            return t::bool(true);
        }
        let columns: Vec<Term> = self.columns[p].iter().map(|i| args[*i]).collect();
        let formula = |cell: &Cell| cell.formula(&self.templates[p], &columns);
        let known: Vec<(&[usize], Term)> =
            self.cells[p].iter().map(|(case, cell)| (case.as_slice(), formula(cell))).collect();
        self.cases[p].select(&known, args)
    }

    /// What cells say of an atom. What was written of it before is kept, for most cells are as they were.
    fn union(&self, atom: &Atom, cells: &Cells, written: &mut Written) -> Term {
        let p = atom.predicate.index();
        if self.irrelevant.contains(&atom.predicate) {
            return t::bool(true);
        }
        let columns: Vec<Term> = self.columns[p].iter().map(|i| atom.args[*i]).collect();
        for (case, cell) in cells {
            if written.get(case).is_none_or(|(known, _)| known != cell) {
                let formula = cell.formula(&self.templates[p], &columns);
                written.insert(case.clone(), (cell.clone(), formula));
            }
        }
        let known: Vec<(&[usize], Term)> =
            cells.keys().filter_map(|case| Some((case.as_slice(), written.get(case)?.1))).collect();
        self.cases[p].select(&known, &atom.args)
    }

    /// What an atom says in a case without being covered there.
    fn uncovered(&self, atom: &Atom, case: &[usize]) -> Term {
        let p = atom.predicate.index();
        let columns: Vec<Term> = self.columns[p].iter().map(|i| atom.args[*i]).collect();
        let known = self.cells[p].get(case).map(|cell| cell.formula(&self.templates[p], &columns));
        t::and([self.cases[p].condition(case, &atom.args)].into_iter().chain(known.map(t::not)))
    }

    fn atom(&self, atom: &Atom) -> Term {
        self.formula(atom.predicate, &atom.args)
    }

    /// Chaotic iteration, in the order of rules.
    fn run(&mut self, z3: &Z3, options: SymbolicAbstractionOptions) -> Result<(), Reason> {
        let system = self.system;
        let mut left = options.questions;
        let mut open: BTreeSet<usize> = (0..system.rules.len()).collect();
        // Per rule: of each atom of the body, and of the head.
        let mut written: Vec<Vec<Written>> =
            system.rules.iter().map(|rule| vec![Written::new(); rule.body.len() + 1]).collect();
        while let Some(next) = open.pop_first() {
            let rule = &system.rules[next];
            let Some(head) = &rule.head else { continue };
            if self.irrelevant.contains(&head.predicate)
                || rule.body.iter().any(|a| self.cells[a.predicate.index()].is_empty())
            {
                continue;
            }
            let mut grew = false;
            let now: Vec<Cells> = rule.body.iter().map(|a| self.cells[a.predicate.index()].clone()).collect();
            let before = std::mem::replace(&mut self.seen[next], now.clone());
            for fresh in 0..rule.body.len().max(1) {
                // One atom with what is new, those before it with what was there, those after it with everything.
                let mut body = Vec::new();
                for (i, atom) in rule.body.iter().enumerate() {
                    let is_new = |case: &Vec<usize>, cell: &Cell| before[i].get(case) != Some(cell);
                    let cells = match i.cmp(&fresh) {
                        std::cmp::Ordering::Less => before[i].clone(),
                        std::cmp::Ordering::Greater => now[i].clone(),
                        std::cmp::Ordering::Equal => now[i]
                            .iter()
                            .filter(|(k, c)| is_new(k, c))
                            .map(|(k, c)| (k.clone(), c.clone()))
                            .collect(),
                    };
                    body.push(self.union(atom, &cells, &mut written[next][i]));
                }
                let body = t::and(body.into_iter().chain([rule.constraint]));
                grew |= !body.is_false()
                    && self.rule(z3, body, head, &mut written[next][rule.body.len()], options, &mut left)?;
            }
            // A rule that feeds itself is looked at again.
            if grew {
                let fed = |r: &Rule| r.body.iter().any(|a| a.predicate == head.predicate);
                open.extend((0..system.rules.len()).filter(|i| fed(&system.rules[*i])));
            }
        }
        Ok(())
    }

    /// Covers everything that the rule derives from the current candidates. Whether the head grew.
    fn rule(
        &mut self,
        z3: &Z3,
        body: Term,
        head: &Atom,
        written: &mut Written,
        options: SymbolicAbstractionOptions,
        left: &mut u32,
    ) -> Result<bool, Reason> {
        let mut solver = z3.solver();
        solver.set_limits(options.limits);
        solver.assert(body);
        let p = head.predicate.index();
        let cost = cost(body);
        let mut grew = false;
        let mut open: Option<Vec<usize>> = None;
        // Case by case, all cases that have changed since then are covered, and not asked for any more.
        let uncovered_before =
            self.case_by_case.then(|| solver.name(t::not(self.union(head, &self.cells[p], written))));
        loop {
            *left = left.checked_sub(cost).ok_or(Reason::Limit)?;
            let uncovered = match (&open, uncovered_before) {
                (Some(case), _) => self.uncovered(head, case),
                (None, Some(before)) => before,
                (None, None) => t::not(self.atom(head)),
            };
            match solver.check_assuming(&[uncovered]) {
                Outcome::Unsat => match open.take() {
                    Some(case) => solver.assert(t::not(self.cases[p].condition(&case, &head.args))),
                    None => return Ok(grew),
                },
                Outcome::Unknown(Reason::Interrupted) => return Err(Reason::Interrupted),
                Outcome::Unknown(reason) => {
                    // Of a case that is too hard nothing is known.
                    if let Some(case) = open.take() {
                        solver.assert(t::not(self.cases[p].condition(&case, &head.args)));
                        self.cells[p].insert(case, Cell::top(&self.templates[p]));
                        grew = true;
                        continue;
                    }
                    if self.cases[p].is_single()
                        && !self.cells[p].values().any(|c| *c == Cell::top(&self.templates[p]))
                    {
                        self.cells[p].insert(Vec::new(), Cell::top(&self.templates[p]));
                        return Ok(true);
                    }
                    return Err(reason);
                }
                Outcome::Sat => {
                    let values = solver.values(&head.args);
                    let mut numbers = Vec::with_capacity(values.len());
                    for (value, sort) in values.iter().zip(&self.system.predicates[p].sorts) {
                        let number = value.as_ref().and_then(|v| v.as_int());
                        match (number, sort) {
                            (Some(number), _) => numbers.push(number.clone()),
                            (None, Sort::Int) => {
                                return Err(Reason::Incomplete("a model without a value".into()));
                            }
                            (None, _) => numbers.push(BigInt::ZERO),
                        }
                    }
                    let all: Vec<Term> = numbers.iter().map(|number| t::int(number.clone())).collect();
                    let Some(case) = self.cases[p].case(&arguments(&all)) else {
                        return Err(Reason::Incomplete("a point without a case".into()));
                    };
                    let point: Vec<BigInt> = self.columns[p].iter().map(|i| numbers[*i].clone()).collect();
                    let template = &self.templates[p];
                    open = self.case_by_case.then(|| case.clone());
                    match self.cells[p].get_mut(&case) {
                        None if self.cases[p].matters(&case) => {
                            self.cells[p].insert(case, Cell::point(template, &point));
                        }
                        None => drop(self.cells[p].insert(case, Cell::top(template))),
                        Some(cell) => {
                            if !cell.join(template, &point) {
                                return Err(Reason::Incomplete("a point that is covered already".into()));
                            }
                        }
                    }
                    grew = true;
                }
            }
        }
    }
}

/// So many questions of the usual size is this one worth. What the solver does for writes to arrays grows with the third power of how many there are,
/// and none of its units count it.
fn cost(body: Term) -> u32 {
    let terms = postorder(&[body]);
    let writes = terms.iter().filter(|term| matches!(term.op(), Op::Store)).count() as u32;
    1 + terms.len() as u32 / LARGE + (writes.min(1 << 14) / WRITES).pow(3)
}

/// Bounds worth trying: the constants of the rules and their neighbours.
fn thresholds(system: &HornSystem) -> Vec<BigInt> {
    let mut out: BTreeSet<BigInt> = [-1, 0, 1].map(BigInt::from).into();
    for rule in &system.rules {
        let args = rule.body.iter().chain(&rule.head).flat_map(|a| a.args.iter().copied());
        let roots: Vec<Term> = args.chain([rule.constraint]).collect();
        for term in postorder(&roots) {
            if let Op::Int(c) = term.op() {
                out.extend([c - 1, c.clone(), c + 1, -c]);
            }
        }
    }
    // The ones near zero matter most; keep the extremes.
    let mut all: Vec<BigInt> = out.into_iter().collect();
    all.sort_by_key(|c| (c.bits(), c.clone()));
    all.truncate(60);
    all.extend(scaled(system));
    all.sort();
    all.dedup();
    all
}

/// Where a number that is made of one bounded variable ends, such as an address that is a multiple of 4 in a part of memory.
fn scaled(system: &HornSystem) -> BTreeSet<BigInt> {
    let mut out = BTreeSet::new();
    for rule in &system.rules {
        let mut above: BTreeMap<Term, BigInt> = BTreeMap::new();
        for part in conjuncts(rule.constraint) {
            if let (Op::Le, [a, b]) = (part.op(), part.args())
                && let (Some(_), Some(most)) = (a.as_var(), b.as_int())
            {
                above.insert(*a, most.clone());
            }
        }
        let args = rule.head.iter().flat_map(|a| a.args.iter().copied());
        let roots: Vec<Term> = args.collect();
        for term in postorder(&roots).into_iter().filter(|term| *term.op() == Op::Add) {
            let linear = Linear::of(term);
            if let Some((variable, factor)) = linear.terms().first_key_value()
                && linear.terms().len() == 1
                && *factor > BigInt::from(1)
                && let Some(most) = above.get(variable)
            {
                out.insert(factor * most + linear.constant());
            }
        }
    }
    out
}
