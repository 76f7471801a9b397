//! Abstractions as binary decision diagrams over predicates [Bryant86]. Combinations of predicates that mean the same are the same diagram and the
//! same formula: states are found again and merged by their formula, coverage is decided by looking at two diagrams, unions are exact.
//!
//! A diagram knows nothing of theories: `x <= 4` and `x <= 5` are two variables. So "implied" is a fact, "not implied" says nothing. A
//! formula that was not made here has no diagram; comparing such formulas asks the solver.

use std::{collections::HashMap, sync::LazyLock};

use biodivine_lib_bdd::{Bdd, BddPartialValuation, BddVariable, BddVariableSet};
use parking_lot::{Mutex, MutexGuard};
use proofline_smt::{
    Term,
    abstraction::{Cube, cube_formula},
    build as t,
};

/// More predicates than this in one analysis have no diagrams.
const VARIABLES: u16 = 4096;
/// Bdds kept; beyond this all are forgotten.
const REMEMBERED: usize = 50_000;
/// A diagram with more ways to `true` is written node by node, not as a disjunction of cubes.
const CUBES: u32 = 96;

static ALL: LazyLock<BddVariableSet> = LazyLock::new(|| BddVariableSet::new_anonymous(VARIABLES));
static NAMES: LazyLock<Vec<BddVariable>> = LazyLock::new(|| ALL.variables());

/// The diagrams of one analysis.
#[derive(Debug, Default)]
pub(super) struct Bdds(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// By the number of their variable, in the order in which they came up.
    predicates: Vec<Term>,
    numbers: HashMap<Term, usize>,
    diagrams: HashMap<Term, Bdd>,
    formulas: HashMap<Bdd, Term>,
}

impl Bdds {
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.0.lock();
        if table.formulas.len() > REMEMBERED {
            *table = Table::default();
        }
        table
    }

    /// The disjunction of cubes; the same formula for all that mean the same.
    pub(super) fn combination(&self, cubes: &[Cube], predicates: &[Term]) -> Term {
        let mut table = self.table();
        let plain = || combination(cubes, predicates);
        let Some(literals) = table.literals(predicates) else { return plain() };
        let clauses: Vec<BddPartialValuation> = cubes.iter().map(|cube| clause(cube, &literals)).collect();
        let diagram = ALL.mk_dnf(&clauses);
        table.formula(diagram, Some((cubes.len(), &plain)))
    }

    /// Whether one combination of predicates implies the other whatever the predicates mean.
    pub(super) fn implies(&self, lower: Term, upper: Term) -> bool {
        let table = self.table();
        match (table.diagrams.get(&lower), table.diagrams.get(&upper)) {
            (Some(lower), Some(upper)) => lower.and_not(upper).is_false(),
            _ => false,
        }
    }

    /// Either of two formulas.
    pub(super) fn either(&self, a: Term, b: Term) -> Term {
        let mut table = self.table();
        match (table.diagrams.get(&a), table.diagrams.get(&b)) {
            (Some(one), Some(other)) => {
                let either = one.or(other);
                table.formula(either, None)
            }
            _ => t::or([a, b]),
        }
    }
}

impl Table {
    /// The variable of each predicate, and whether it is the predicate's negation; `None`: there are too many.
    fn literals(&mut self, predicates: &[Term]) -> Option<Vec<(BddVariable, bool)>> {
        let mut literal = |predicate: &Term| {
            if let Some(number) = self.numbers.get(predicate) {
                return Some((*NAMES.get(*number)?, false));
            }
            if let Some(number) = self.numbers.get(&t::not(*predicate)) {
                return Some((*NAMES.get(*number)?, true));
            }
            let number = self.predicates.len();
            let name = *NAMES.get(number)?;
            self.predicates.push(*predicate);
            self.numbers.insert(*predicate, number);
            Some((name, false))
        };
        predicates.iter().map(&mut literal).collect()
    }

    /// The one formula of a diagram. `given`: an equal formula that the caller has, as so many cubes.
    fn formula(&mut self, diagram: Bdd, given: Option<(usize, &dyn Fn() -> Term)>) -> Term {
        if let Some(known) = self.formulas.get(&diagram) {
            return *known;
        }
        let formula = if diagram.exact_clause_cardinality() > CUBES.into() {
            self.by_nodes(&diagram)
        } else {
            let clauses = diagram.to_optimized_dnf();
            match given {
                Some((count, plain)) if count <= clauses.len() => plain(),
                _ => self.by_cubes(&clauses),
            }
        };
        self.diagrams.insert(formula, diagram.clone());
        self.formulas.insert(diagram, formula);
        formula
    }

    fn by_cubes(&self, clauses: &[BddPartialValuation]) -> Term {
        let mut used: Vec<usize> =
            clauses.iter().flat_map(|c| c.to_values()).map(|(name, _)| name.to_index()).collect();
        used.sort_unstable();
        used.dedup();
        let predicates: Vec<Term> = used.iter().map(|number| self.predicates[*number]).collect();
        let cube = |clause: &BddPartialValuation| -> Cube {
            used.iter().map(|number| clause.get_value(NAMES[*number])).collect()
        };
        combination(&clauses.iter().map(cube).collect::<Vec<Cube>>(), &predicates)
    }

    /// Shares what the diagram shares.
    fn by_nodes(&self, diagram: &Bdd) -> Term {
        let mut formulas: Vec<Term> = Vec::with_capacity(diagram.size());
        for node in diagram.pointers() {
            // Children come before their parents.
            let formula = match node.as_bool() {
                Some(value) => t::bool(value),
                None => {
                    let predicate = self.predicates[diagram.var_of(node).to_index()];
                    let low = formulas[diagram.low_link_of(node).to_index()];
                    let high = formulas[diagram.high_link_of(node).to_index()];
                    t::or([t::and([predicate, high]), t::and([t::not(predicate), low])])
                }
            };
            formulas.push(formula);
        }
        formulas.last().copied().unwrap_or_else(|| t::bool(true))
    }
}

fn clause(cube: &Cube, literals: &[(BddVariable, bool)]) -> BddPartialValuation {
    let values =
        cube.iter().zip(literals).filter_map(|(value, (name, flipped))| Some((*name, (*value)? != *flipped)));
    BddPartialValuation::from_values_iter(values)
}

/// The disjunction of cubes, with what is common to all in front.
pub(super) fn combination(cubes: &[Cube], predicates: &[Term]) -> Term {
    let Some(first) = cubes.first() else { return t::bool(false) };
    let common: Cube = (0..predicates.len())
        .map(|i| first[i].filter(|_| cubes.iter().all(|cube| cube[i] == first[i])))
        .collect();
    let rest = |cube: &Cube| -> Cube {
        cube.iter().zip(&common).map(|(value, shared)| if shared.is_some() { None } else { *value }).collect()
    };
    let rests = t::or(cubes.iter().map(|cube| cube_formula(&rest(cube), predicates)));
    t::and([cube_formula(&common, predicates), rests])
}

#[cfg(test)]
mod tests {
    use proofline_smt::{
        Sort, Var,
        rewrite::{Substitution, substitute},
    };
    use proptest::prelude::*;

    use super::*;

    const COUNT: usize = 6;

    /// Predicates that mean nothing: every assignment is possible.
    fn variables() -> Vec<Var> {
        (0..COUNT).map(|i| Var::new(&format!("p{i}"), Sort::Bool)).collect()
    }

    fn cubes() -> impl Strategy<Value = Vec<Cube>> {
        prop::collection::vec(prop::collection::vec(any::<Option<bool>>(), COUNT), 1..9)
    }

    fn assignments() -> impl Iterator<Item = Vec<bool>> {
        (0..1_u32 << COUNT).map(|bits| (0..COUNT).map(|i| bits >> i & 1 == 1).collect())
    }

    fn allowed(cubes: &[Cube]) -> Vec<bool> {
        let fits =
            |cube: &Cube, values: &[bool]| cube.iter().zip(values).all(|(c, v)| c.is_none_or(|c| c == *v));
        assignments().map(|values| cubes.iter().any(|cube| fits(cube, &values))).collect()
    }

    fn said(formula: Term) -> Vec<bool> {
        let value = |values: Vec<bool>| {
            let instance: Substitution =
                variables().into_iter().zip(values.into_iter().map(t::bool)).collect();
            substitute(formula, &instance).as_bool().expect("no variable is left")
        };
        assignments().map(value).collect()
    }

    proptest! {
        #[test]
        fn a_combination_means_its_cubes_and_equal_meaning_is_one_formula(a in cubes(), b in cubes()) {
            let diagrams = Bdds::default();
            let predicates: Vec<Term> = variables().into_iter().map(t::var).collect();
            let (one, other) = (diagrams.combination(&a, &predicates), diagrams.combination(&b, &predicates));
            prop_assert_eq!(said(one), allowed(&a));
            prop_assert_eq!(said(other), allowed(&b));
            prop_assert_eq!(one == other, allowed(&a) == allowed(&b));
            let is_within = allowed(&a).iter().zip(allowed(&b)).all(|(a, b)| !a || b);
            prop_assert_eq!(diagrams.implies(one, other), is_within);
            let both = [a.clone(), b].concat();
            prop_assert_eq!(diagrams.either(one, other), diagrams.combination(&both, &predicates));
            // The negation of a predicate is the same variable.
            let negated: Vec<Term> = predicates.iter().map(|predicate| t::not(*predicate)).collect();
            let turned: Vec<Cube> =
                a.iter().map(|cube| cube.iter().map(|value| value.map(|v| !v)).collect()).collect();
            prop_assert_eq!(diagrams.combination(&turned, &negated), one);
        }

        #[test]
        fn node_by_node_is_the_same(a in cubes()) {
            let mut table = Table::default();
            let predicates: Vec<Term> = variables().into_iter().map(t::var).collect();
            let literals = table.literals(&predicates).expect("there are few");
            let clauses: Vec<BddPartialValuation> = a.iter().map(|cube| clause(cube, &literals)).collect();
            prop_assert_eq!(said(table.by_nodes(&ALL.mk_dnf(&clauses))), allowed(&a));
        }
    }
}
