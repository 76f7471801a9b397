//! Cases of a predicate: ranges of some of its arguments, between the constants that the rules compare them with.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use serde::Deserialize;

use crate::build as t;
use crate::horn::HornSystem;
use crate::term::{Op, Sort, Term, Var, postorder};

/// Which cases are kept apart. Configurations name them `none`, `constants`, `values`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// One case per predicate.
    None,
    /// Ranges between the constants that arguments are compared with.
    Constants,
    /// Every value between the least and the greatest such constant, where these are few.
    Values,
}

/// More cases than this are not kept apart.
const MOST_CASES: usize = 160;
/// A range of values longer than this is one case.
const LONGEST: u32 = 70;

/// How one predicate's points are split: per split argument the ascending starts of its ranges, after the first one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Cases {
    splits: Vec<(usize, Vec<BigInt>)>,
}

impl Cases {
    /// Cases of every predicate.
    pub(super) fn of(system: &HornSystem, split: Split) -> Vec<Cases> {
        let mut starts: Vec<BTreeMap<usize, BTreeSet<BigInt>>> =
            vec![BTreeMap::new(); system.predicates.len()];
        if split == Split::None {
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
                splits.push((argument, starts.into_iter().collect()));
            }
        }
        Cases { splits }
    }

    /// Whether there is only one case.
    pub(super) fn is_single(&self) -> bool {
        self.splits.is_empty()
    }

    /// The case of a point, given by all arguments' values.
    pub(super) fn case(&self, value: impl Fn(usize) -> BigInt) -> Vec<usize> {
        self.splits.iter().map(|(i, starts)| starts.partition_point(|s| *s <= value(*i))).collect()
    }

    /// That arguments are in a case.
    pub(super) fn condition(&self, case: &[usize], args: &[Term]) -> Term {
        let ranges = self.splits.iter().zip(case).flat_map(|((i, starts), range)| {
            let from = range.checked_sub(1).map(|at| t::le(t::int(starts[at].clone()), args[*i]));
            let to = starts.get(*range).map(|end| t::lt(args[*i], t::int(end.clone())));
            from.into_iter().chain(to)
        });
        t::and(ranges)
    }
}

/// The least or greatest value of a C type: every variable is compared with those.
fn is_limit(constant: &BigInt) -> bool {
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
