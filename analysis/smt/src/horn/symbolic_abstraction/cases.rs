//! Cases of a predicate: ranges of forms over its arguments (of arguments themselves, between the constants that the rules compare them
//! with; or of how far the index of a cell is from where the program reads and writes).

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use serde::Deserialize;

use crate::build as t;
use crate::horn::{HornSystem, argument};
use crate::rewrite::{Substitution, substitute};
use crate::term::{Op, Sort, Term, Var, postorder};

/// Which cases are kept apart. Configurations name them `none`, `constants`, `values`, `prefixes`, `indices`,
/// `equalities`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// One case per predicate.
    None,
    /// Ranges between the constants that arguments are compared with.
    Constants,
    /// Every value between the least and the greatest such constant, where these are few.
    Values,
    /// Of a system about cells: the cells before each index that the program uses, and the others.
    Prefixes,
    /// The same with the cell at each index.
    Indices,
    /// The same, and apart where an argument is a constant that the rules compare it with for being equal: `if (i == 0)`.
    Equalities,
}

/// More cases than this are not kept apart.
const MOST_CASES: usize = 160;
/// A range of values longer than this is one case.
const LONGEST: u32 = 70;

/// How one predicate's points are split: per form over its arguments the ascending starts of its ranges, after the first one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Cases {
    splits: Vec<(Term, Vec<BigInt>)>,
    /// Forms whose first range holds nothing that anything depends on, by position.
    begins_empty: Vec<usize>,
}

impl Cases {
    /// Cases of every predicate.
    pub(super) fn of(system: &HornSystem, split: Split) -> Vec<Cases> {
        let mut starts: Vec<BTreeMap<usize, BTreeSet<BigInt>>> =
            vec![BTreeMap::new(); system.predicates.len()];
        // What is said of indices, `Partition` knows.
        if matches!(split, Split::None | Split::Prefixes | Split::Indices | Split::Equalities) {
            return vec![Cases::default(); system.predicates.len()];
        }
        for rule in &system.rules {
            let mut compared: BTreeMap<Var, BTreeSet<BigInt>> = BTreeMap::new();
            for term in postorder(&[rule.constraint]) {
                let [side, constant] = term.args() else { continue };
                let Some((sign, var)) = variable(*side) else { continue };
                let Some(constant) = constant.as_int() else { continue };
                let small = BigInt::from(-100)..=BigInt::from(100);
                if !small.contains(constant) && (split == Split::Values || is_limit(constant)) {
                    continue;
                }
                let of_var = compared.entry(var).or_default();
                match (term.op(), sign) {
                    // v <= c | v > c
                    (Op::Le, true) => drop(of_var.insert(constant + 1)),
                    // -v <= c: v >= -c
                    (Op::Le, false) => drop(of_var.insert(-constant)),
                    (Op::Eq, true) => of_var.extend([constant.clone(), constant + 1]),
                    _ => {}
                }
            }
            for atom in rule.body.iter().chain(&rule.head) {
                for (i, arg) in atom.args.iter().enumerate() {
                    if let Some(found) = arg.as_var().and_then(|var| compared.get(&var)) {
                        starts[atom.predicate.index()].entry(i).or_default().extend(found.iter().cloned());
                    }
                }
            }
        }
        spread(system, &mut starts);
        starts.into_iter().map(|of_predicate| Cases::limited(of_predicate, split)).collect()
    }

    fn limited(starts: BTreeMap<usize, BTreeSet<BigInt>>, split: Split) -> Cases {
        let mut splits = Vec::new();
        let mut count = 1;
        for (argument, mut starts) in starts {
            if let (Split::Values, Some(first), Some(last)) = (split, starts.first(), starts.last())
                && last - first <= BigInt::from(LONGEST)
            {
                let (mut value, last) = (first.clone(), last.clone());
                while value < last {
                    starts.insert(value.clone());
                    value += 1;
                }
            }
            if count * (starts.len() + 1) <= MOST_CASES {
                count *= starts.len() + 1;
                splits.push((t::var(argument_of(argument)), starts.into_iter().collect()));
            }
        }
        Cases { splits, begins_empty: Vec::new() }
    }

    /// Whether there is only one case.
    pub(super) fn is_single(&self) -> bool {
        self.splits.is_empty()
    }

    /// Ranges of forms over integer arguments. The first ranges of those at `begins_empty` hold nothing that anything depends on.
    pub(super) fn of_forms(splits: Vec<(Term, BTreeSet<BigInt>)>, begins_empty: Vec<usize>) -> Cases {
        let splits = splits.into_iter().map(|(form, s)| (form, s.into_iter().collect())).collect();
        Cases { splits, begins_empty }
    }

    /// Whether anything depends on a case.
    pub(super) fn matters(&self, case: &[usize]) -> bool {
        self.begins_empty.iter().all(|at| case.get(*at) != Some(&0))
    }

    /// The case of a point, given by the values of all integer arguments.
    pub(super) fn case(&self, point: &Substitution) -> Option<Vec<usize>> {
        let range = |(form, starts): &(Term, Vec<BigInt>)| {
            let value = substitute(*form, point);
            let value = value.as_int()?;
            Some(starts.partition_point(|start| start <= value))
        };
        self.splits.iter().map(range).collect()
    }

    /// What is known of arguments, where `known` has it for some cases, in ascending order; the others do not occur.
    pub(super) fn select(&self, known: &[(&[usize], Term)], args: &[Term]) -> Term {
        let args = arguments(args);
        let ends = |(form, starts): &(Term, Vec<BigInt>)| -> Vec<Term> {
            let value = substitute(*form, &args);
            starts.iter().map(|start| t::lt(value, t::int(start.clone()))).collect()
        };
        let ends: Vec<Vec<Term>> = self.splits.iter().map(ends).collect();
        below(known, &ends)
    }

    /// That arguments are in a case.
    pub(super) fn condition(&self, case: &[usize], args: &[Term]) -> Term {
        let args = arguments(args);
        let ranges = self.splits.iter().zip(case).flat_map(|((form, starts), range)| {
            let value = substitute(*form, &args);
            let from = range.checked_sub(1).map(|at| t::le(t::int(starts[at].clone()), value));
            let to = starts.get(*range).map(|end| t::lt(value, t::int(end.clone())));
            from.into_iter().chain(to)
        });
        t::and(ranges)
    }
}

/// What is known of cases, as a tree: every node asks in which range one form lies, that is, before which of its ends.
fn below(known: &[(&[usize], Term)], ends: &[Vec<Term>]) -> Term {
    let Some((case, first)) = known.first() else { return t::bool(false) };
    let Some((of_form, ends)) = ends.split_first() else { return *first };
    let depth = case.len() - ends.len() - 1;
    let mut rest = t::bool(false);
    for range in (0..=of_form.len()).rev() {
        let from = known.partition_point(|(case, _)| case[depth] < range);
        let to = known.partition_point(|(case, _)| case[depth] <= range);
        let here = below(&known[from..to], ends);
        rest = match of_form.get(range) {
            Some(end) if here != rest => t::ite(*end, here, rest),
            Some(_) => rest,
            None => here,
        };
    }
    rest
}

/// What stands for the integer arguments.
pub(super) fn arguments(args: &[Term]) -> Substitution {
    let integers = args.iter().enumerate().filter(|(_, arg)| arg.sort() == Sort::Int);
    integers.map(|(i, arg)| (argument_of(i), *arg)).collect()
}

/// The variable of an integer argument.
pub(super) fn argument_of(i: usize) -> Var {
    argument(i, Sort::Int)
}

/// The least or greatest value of a C type: every variable is compared with those.
pub(super) fn is_limit(constant: &BigInt) -> bool {
    let magnitude = BigInt::from(constant.magnitude().clone());
    [7_u32, 8, 15, 16, 31, 32, 63, 64].iter().any(|bits| {
        let power = BigInt::from(1) << *bits;
        magnitude == power || magnitude == power - 1
    })
}

/// What splits an argument splits the arguments it is handed to, and those it comes from.
fn spread(system: &HornSystem, starts: &mut [BTreeMap<usize, BTreeSet<BigInt>>]) {
    loop {
        let mut grew = false;
        for rule in &system.rules {
            let mut of_var: BTreeMap<Var, BTreeSet<BigInt>> = BTreeMap::new();
            let atoms = || rule.body.iter().chain(&rule.head);
            let variables = |args: &[Term]| -> Vec<(usize, Var)> {
                args.iter().enumerate().filter_map(|(i, arg)| Some((i, arg.as_var()?))).collect()
            };
            for atom in atoms() {
                for (i, var) in variables(&atom.args) {
                    if let Some(known) = starts[atom.predicate.index()].get(&i) {
                        of_var.entry(var).or_default().extend(known.iter().cloned());
                    }
                }
            }
            for atom in atoms() {
                for (i, var) in variables(&atom.args) {
                    let Some(found) = of_var.get(&var) else { continue };
                    let known = starts[atom.predicate.index()].entry(i).or_default();
                    let before = known.len();
                    known.extend(found.iter().cloned());
                    grew |= known.len() != before;
                }
            }
        }
        if !grew {
            return;
        }
    }
}

/// A variable, or its negative.
fn variable(term: Term) -> Option<(bool, Var)> {
    match term.op() {
        Op::Var(var) if var.sort == Sort::Int => Some((true, *var)),
        Op::Mul => match term.args() {
            [a, b] => {
                let (constant, other) = if a.as_int().is_some() { (a, b) } else { (b, a) };
                (*constant.as_int()? == BigInt::from(-1)).then_some((false, other.as_var()?))
            }
            _ => None,
        },
        _ => None,
    }
}
