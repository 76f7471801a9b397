//! Predicate abstraction of a formula: the strongest Boolean combination of given predicates that it implies
//! (all its satisfiable truth assignments), and the Cartesian variant (the strongest conjunction of literals).

use crate::build::{and, not, or};
use crate::solver::{Outcome, Reason, Solver};
use crate::term::{Term, Value};

/// Truth values of the predicates, by position; `None` means both.
pub type Cube = Vec<Option<bool>>;

/// The Boolean abstraction of a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllSat {
    /// The formula has no model.
    Infeasible,
    /// The disjunction of these cubes. Every model of the formula is in one, and every total assignment that a cube
    /// stands for is taken by some model.
    Cubes(Vec<Cube>),
    /// Not decided; no partial result, since it would not be an over-approximation.
    Unknown(Reason),
}

/// The Cartesian abstraction of a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cartesian {
    /// The formula has no model.
    Infeasible,
    /// For each predicate, whether the formula implies it or its negation.
    Cube(Cube),
    /// The solver stopped before all predicates were decided.
    Unknown(Reason),
}

/// The cube as a formula.
#[must_use]
pub fn cube_formula(cube: &Cube, predicates: &[Term]) -> Term {
    let literal = |(value, p): (&Option<bool>, &Term)| value.map(|v| if v { *p } else { not(*p) });
    and(cube.iter().zip(predicates).filter_map(literal))
}

/// The abstraction as a formula; `None` if unknown.
#[must_use]
pub fn abstraction_formula(all: &AllSat, predicates: &[Term]) -> Option<Term> {
    match all {
        AllSat::Infeasible => Some(crate::build::bool(false)),
        AllSat::Cubes(cubes) => Some(or(cubes.iter().map(|c| cube_formula(c, predicates)))),
        AllSat::Unknown(_) => None,
    }
}

/// What is known of each predicate: which truth values some model takes.
struct Seen {
    takes: Vec<[bool; 2]>,
}

impl Seen {
    fn record(&mut self, values: &[bool]) {
        for (takes, value) in self.takes.iter_mut().zip(values) {
            takes[usize::from(*value)] = true;
        }
    }
}

/// Truth values of the predicates in the current model.
fn model(solver: &mut dyn Solver, literals: &[Term]) -> Result<Vec<bool>, Reason> {
    let value = |v: Option<Value>| v.and_then(|v| v.as_bool());
    let values: Option<Vec<bool>> = solver.values(literals).into_iter().map(value).collect();
    values.ok_or_else(|| Reason::Failed("a model without the value of a predicate".into()))
}

/// Decides each predicate alone: the cube of those with one possible value. `None` if the formula has no model.
fn decide_each(solver: &mut dyn Solver, predicates: &[Term]) -> Result<Option<Cube>, Reason> {
    let mut seen = Seen { takes: vec![[false; 2]; predicates.len()] };
    match solver.check() {
        Outcome::Unsat => return Ok(None),
        Outcome::Unknown(reason) => return Err(reason),
        Outcome::Sat => seen.record(&model(solver, predicates)?),
    }
    let mut cube: Cube = vec![None; predicates.len()];
    for i in 0..predicates.len() {
        let known = seen.takes[i];
        if known == [true, true] {
            continue;
        }
        // One value was seen; is the other possible?
        let other = if known[1] { not(predicates[i]) } else { predicates[i] };
        match solver.check_assuming(&[other]) {
            Outcome::Unsat => cube[i] = Some(known[1]),
            Outcome::Unknown(reason) => return Err(reason),
            Outcome::Sat => seen.record(&model(solver, predicates)?),
        }
    }
    Ok(Some(cube))
}

/// The precise Boolean abstraction of `formula`, together with what is on the solver's stack, by at most `most` cubes.
pub fn all_sat(solver: &mut dyn Solver, formula: Term, predicates: &[Term], most: usize) -> AllSat {
    solver.push();
    let result = enumerate(solver, formula, predicates, most);
    solver.pop();
    match result {
        Ok(None) => AllSat::Infeasible,
        Ok(Some(cubes)) => AllSat::Cubes(cubes),
        Err(reason) => AllSat::Unknown(reason),
    }
}

fn enumerate(
    solver: &mut dyn Solver,
    formula: Term,
    predicates: &[Term],
    most: usize,
) -> Result<Option<Vec<Cube>>, Reason> {
    solver.assert(formula);
    let Some(decided) = decide_each(solver, predicates)? else { return Ok(None) };
    let open: Vec<usize> = (0..predicates.len()).filter(|i| decided[*i].is_none()).collect();
    // One undecided predicate takes both values; that needs no enumeration.
    if open.len() <= 1 {
        return Ok(Some(vec![decided]));
    }
    let open_literals: Vec<Term> = open.iter().map(|i| predicates[*i]).collect();
    let mut cubes = Vec::new();
    loop {
        match solver.check() {
            Outcome::Unsat => break,
            Outcome::Unknown(reason) => return Err(reason),
            Outcome::Sat if cubes.len() == most => return Err(Reason::Limit),
            Outcome::Sat => {}
        }
        let values = model(solver, &open_literals)?;
        let mut cube = decided.clone();
        for (i, value) in open.iter().zip(&values) {
            cube[*i] = Some(*value);
        }
        let taken = open_literals.iter().zip(&values).map(|(p, v)| if *v { not(*p) } else { *p });
        solver.assert(or(taken));
        cubes.push(cube);
    }
    cubes.sort();
    Ok(Some(join(cubes)))
}

/// Joins cubes that differ in one predicate only, until none do.
fn join(mut cubes: Vec<Cube>) -> Vec<Cube> {
    let width = cubes.first().map_or(0, Vec::len);
    for i in 0..width {
        let mut kept: std::collections::BTreeMap<Cube, Option<bool>> = std::collections::BTreeMap::new();
        for mut cube in cubes {
            let value = cube[i].take();
            kept.entry(cube).and_modify(|v| *v = if *v == value { value } else { None }).or_insert(value);
        }
        cubes = kept
            .into_iter()
            .map(|(mut cube, value)| {
                cube[i] = value;
                cube
            })
            .collect();
    }
    cubes.sort();
    cubes
}

/// The Cartesian abstraction of `formula`, together with what is on the solver's stack.
pub fn cartesian(solver: &mut dyn Solver, formula: Term, predicates: &[Term]) -> Cartesian {
    solver.push();
    solver.assert(formula);
    let result = decide_each(solver, predicates);
    solver.pop();
    match result {
        Ok(None) => Cartesian::Infeasible,
        Ok(Some(cube)) => Cartesian::Cube(cube),
        Err(reason) => Cartesian::Unknown(reason),
    }
}
