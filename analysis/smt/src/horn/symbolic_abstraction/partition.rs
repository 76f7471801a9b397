//! Cases of a system about cells: an array is partitioned by the indices that the program uses [GRS05]; limits are expressions [CCL11].
//!
//! Which partition is taken decides what is found, never whether it is true: any cases cover all points. Limits are sums over the
//! arguments of a predicate: the indices at which rules read and write, what these are compared with, and both as they are
//! before a rule is taken or behind it.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use num_bigint::BigInt;

use super::cases::{Cases, argument_of, arguments, is_limit};
use crate::build as t;
use crate::horn::{Atom, CellSystem, Rule, parameters::is_near_limit};
use crate::logic::atoms;
use crate::rewrite::{Substitution, rewrite, substitute};
use crate::simplify::Linear;
use crate::solver::Reason;
use crate::term::{Op, Sort, Term, Var, free_vars, postorder};
use crate::z3::Interrupter;

/// Limits of one predicate, at most.
const MOST_LIMITS: usize = 8;
/// Distances from one sum at which parts begin, as neighbours know them, at most.
const MOST_DISTANCES: usize = 3;
/// Relations between two indices of one predicate, at most.
const MOST_RELATIONS: usize = 3;
/// Constants that arguments of one predicate are compared with, at most.
const MOST_CONSTANTS: usize = 3;
/// How often limits go over to neighbours.
const ROUNDS: usize = 4;
/// Arguments that are looked at, at most: of rules that touch hundreds of cells nothing is found in any time.
const WORK: u64 = 5_000_000;

/// Where parts of an array begin or end: an index times `scale` is `sum` and one of `starts`.
#[derive(Clone, PartialEq, Eq)]
struct Limit {
    scale: BigInt,
    /// Without a constant.
    sum: Term,
    starts: BTreeSet<BigInt>,
}

/// An index of a rule times `scale` (an address is a multiple of it), and the array.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Index {
    array: Var,
    scale: BigInt,
    sum: Term,
}

/// An atom of a rule, and of which arrays its indices are.
type Place<'r> = (&'r Atom, &'r [BTreeSet<Var>]);

impl Index {
    /// Of an index with quotients, such as `i + (p - address) / 4`: without remainders.
    fn of(array: Var, term: Term) -> Index {
        let linear = Linear::of(plainly(term));
        let divided = |term: Term| match (term.op(), term.args()) {
            (Op::Div, [sum, by]) => Some((*sum, by.as_int().filter(|by| **by > BigInt::ZERO)?.clone())),
            _ => None,
        };
        let scale = linear.terms().keys().filter_map(|term| divided(*term)).fold(
            BigInt::from(1),
            |scale, (_, by)| if &scale % &by == BigInt::ZERO { scale } else { scale * by },
        );
        let part = |(term, factor): (&Term, &BigInt)| {
            let (term, by) = divided(*term).unwrap_or((*term, BigInt::from(1)));
            t::mul([t::int(factor * &scale / by), term])
        };
        let constant = t::int(linear.constant() * &scale);
        let sum = t::add(linear.terms().iter().map(part).chain([constant]));
        Index { array, scale, sum }
    }
}

/// What is kept apart beside the cells before each index.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// The cell at each index is a case of its own.
    pub(super) cells: bool,
    /// So are arguments that are what rules compare them with for being equal.
    pub(super) equalities: bool,
}

/// The cases of every predicate.
///
/// # Errors
/// If there is too much to look at, or the caller asks to stop.
pub(super) fn cases(
    system: &CellSystem,
    kept: Kept,
    interrupter: &Interrupter,
) -> Result<Vec<Cases>, Reason> {
    let mut search = Partition {
        system,
        interrupter,
        left: Cell::new(WORK),
        limits: system.indices.iter().map(|indices| vec![Vec::new(); indices.len()]).collect(),
        relations: vec![Vec::new(); system.indices.len()],
        constants: vec![BTreeMap::new(); system.indices.len()],
    };
    let rules: Vec<(&Rule, Vec<Place<'_>>, Vec<Index>)> = system
        .system
        .rules
        .iter()
        .zip(&system.uses)
        .map(|(rule, uses)| {
            let atoms = rule.body.iter().chain(&rule.head);
            let places = atoms.zip(uses.arrays.iter().map(Vec::as_slice)).collect();
            let touched: BTreeSet<Index> =
                uses.touched.iter().map(|(array, index)| Index::of(*array, *index)).collect();
            (rule, places, touched.into_iter().collect())
        })
        .collect();
    let ends = if kept.cells { [0, 1].as_slice() } else { [0].as_slice() };
    for (_, places, touched) in &rules {
        for place in places {
            for index in touched {
                search.limit(*place, index, ends);
                search.go_on()?;
            }
            search.related(*place, touched)?;
        }
    }
    for (rule, places, _) in rules.iter().filter(|_| kept.equalities) {
        search.equal(rule, places);
        search.go_on()?;
    }
    for (rule, places, touched) in &rules {
        search.go_on()?;
        for (limit, end) in compared(rule, touched) {
            for place in places {
                search.limit(*place, &limit, &[end]);
                search.go_on()?;
            }
        }
    }
    for _ in 0..ROUNDS {
        for (rule, places, _) in &rules {
            search.spread(rule, places);
            search.go_on()?;
        }
    }
    Ok(search.cases())
}

struct Partition<'s> {
    system: &'s CellSystem,
    interrupter: &'s Interrupter,
    /// Arguments that may still be looked at.
    left: Cell<u64>,
    /// Per predicate and index of it.
    limits: Vec<Vec<Vec<Limit>>>,
    /// Sums over two indices, without their constants, and the constants at which a part begins.
    relations: Vec<Vec<(Term, BTreeSet<BigInt>)>>,
    /// Constants that arguments are compared with.
    constants: Vec<BTreeMap<usize, BTreeSet<BigInt>>>,
}

impl Partition<'_> {
    fn go_on(&self) -> Result<(), Reason> {
        match self.left.get() {
            _ if self.interrupter.is_requested() => Err(Reason::Interrupted),
            0 => Err(Reason::Limit),
            _ => Ok(()),
        }
    }

    /// Parts of an atom's predicate begin at these distances from an index of the rule.
    fn limit(&mut self, (atom, arrays): Place<'_>, index: &Index, ends: &[i32]) {
        let Some(sum) = self.over_arguments(atom, index.sum) else { return };
        let sum = Linear::of(sum);
        let starts: BTreeSet<BigInt> = ends.iter().map(|end| sum.constant() + &index.scale * *end).collect();
        if sum.as_constant().is_some_and(is_far) {
            return;
        }
        let sum = sum.without_constant().to_term();
        for (at, _) in arrays.iter().enumerate().filter(|(_, arrays)| arrays.contains(&index.array)) {
            let (scale, starts) = (index.scale.clone(), starts.clone());
            self.add(atom, at, Limit { scale, sum, starts });
        }
    }

    fn add(&mut self, atom: &Atom, at: usize, limit: Limit) {
        let limits = &mut self.limits[atom.predicate.index()][at];
        match limits.iter().position(|known| known.scale == limit.scale && known.sum == limit.sum) {
            Some(at) => limits[at].starts.extend(limit.starts),
            None if limits.len() < MOST_LIMITS => limits.push(limit),
            None => {}
        }
    }

    /// Two indices of one rule whose sum or difference does not depend on what both depend on: `a[i]` and `b[n - 1 - i]`.
    fn related(&mut self, place: Place<'_>, touched: &[Index]) -> Result<(), Reason> {
        for (i, first) in touched.iter().enumerate() {
            self.go_on()?;
            self.left.set(self.left.get().saturating_sub((touched.len() - i) as u64));
            for second in touched[i..].iter().filter(|second| second.scale == first.scale) {
                let (a, b) = (first.sum, second.sum);
                for (sign, sum) in [(-1, t::sub(a, b)), (1, t::add([a, b]))] {
                    if free_vars(sum).len() >= free_vars(a).len().max(free_vars(b).len()) {
                        continue;
                    }
                    self.relation(place, first, second, sign, sum);
                    if sign == 1 {
                        self.relation(place, second, first, sign, sum);
                    }
                }
            }
        }
        Ok(())
    }

    /// A case of its own: where an index of the array of `first`, plus `sign` times one of that of `second`, is `sum`.
    fn relation(&mut self, (atom, arrays): Place<'_>, first: &Index, second: &Index, sign: i32, sum: Term) {
        let Some(sum) = self.over_arguments(atom, sum) else { return };
        let p = atom.predicate.index();
        let scaled =
            |i: usize| t::mul([t::int(first.scale.clone()), t::var(argument_of(self.system.indices[p][i]))]);
        let mut forms = Vec::new();
        for (i, of_first) in arrays.iter().enumerate().filter(|(_, of)| of.contains(&first.array)) {
            for (j, of_second) in arrays.iter().enumerate().filter(|(_, of)| of.contains(&second.array)) {
                // Of one array twice: in either order, once.
                if i != j && (i < j || of_first != of_second) {
                    let both = t::add([scaled(i), t::mul([t::int(sign), scaled(j)])]);
                    forms.push(Linear::of(t::sub(both, sum)));
                }
            }
        }
        let relations = &mut self.relations[p];
        for form in forms {
            let start = -form.constant();
            let form = form.without_constant().to_term();
            let mut starts = BTreeSet::from([start.clone(), &start + &first.scale]);
            if first.array == second.array && sign < 0 {
                // In the other order.
                starts.extend([-&start, &first.scale - start]);
            }
            match relations.iter().position(|(known, _)| *known == form) {
                Some(at) => relations[at].1.extend(starts),
                None if relations.len() < MOST_RELATIONS => relations.push((form, starts)),
                None => {}
            }
        }
    }

    /// Arguments are apart where they are constants that the rule compares them with for being equal.
    fn equal(&mut self, rule: &Rule, places: &[Place<'_>]) {
        let roots: Vec<Term> =
            rule.head.iter().flat_map(|head| head.args.clone()).chain([rule.constraint]).collect();
        for term in postorder(&roots).into_iter().filter(|term| *term.op() == Op::Eq) {
            let [a, b] = term.args() else { continue };
            let sides = [(a, b), (b, a)];
            let Some((variable, constant)) = sides
                .into_iter()
                .find_map(|(variable, constant)| Some((variable.as_var()?, constant.as_int()?)))
            else {
                continue;
            };
            for (atom, _) in places {
                let p = atom.predicate.index();
                let is_of_cell =
                    |i| self.system.indices[p].contains(&i) || self.system.contents[p].contains(&i);
                let Some(i) = atom.args.iter().position(|arg| arg.as_var() == Some(variable)) else {
                    continue;
                };
                let count = self.constants[p].values().map(BTreeSet::len).sum::<usize>();
                if !is_of_cell(i) && count < 2 * MOST_CONSTANTS {
                    self.constants[p].entry(i).or_default().extend([constant.clone(), constant + 1]);
                }
            }
        }
    }

    /// What is a limit behind a rule is one before it, and the other way around. (Within a loop not once more at another distance: `i + 1` behind
    /// a rule is `i`, and so on without end.)
    fn spread(&mut self, rule: &Rule, places: &[Place<'_>]) {
        let (Some(_), Some((head, bodies))) = (&rule.head, places.split_last()) else { return };
        for body in bodies {
            let is_loop = head.0.predicate == body.0.predicate;
            let shared = |at: usize, to: usize| !head.1[at].is_disjoint(&body.1[to]);
            let pairs: Vec<(usize, usize)> = (0..head.1.len())
                .flat_map(|at| (0..body.1.len()).map(move |to| (at, to)))
                .filter(|(at, to)| shared(*at, *to))
                .collect();
            for (at, to) in pairs {
                for limit in self.limits[head.0.predicate.index()][at].clone() {
                    let sum = plainly(substitute(limit.sum, &arguments(&head.0.args)));
                    self.neighbour(body.0, to, Limit { sum, ..limit }, is_loop);
                }
                for limit in self.limits[body.0.predicate.index()][to].clone() {
                    let sum = substitute(limit.sum, &arguments(&body.0.args));
                    self.neighbour(head.0, at, Limit { sum, ..limit }, is_loop);
                }
            }
        }
    }

    /// Adds a limit over the rule's variables.
    fn neighbour(&mut self, atom: &Atom, at: usize, limit: Limit, is_loop: bool) {
        let Some(sum) = self.over_arguments(atom, limit.sum) else { return };
        let sum = Linear::of(sum);
        let (constant, sum) = (sum.constant().clone(), sum.without_constant().to_term());
        let starts: BTreeSet<BigInt> = limit.starts.iter().map(|start| start + &constant).collect();
        let mut known = self.limits[atom.predicate.index()][at].iter();
        let known = known.find(|known| known.scale == limit.scale && known.sum == sum);
        let is_one_more = |known: &Limit| !is_loop && known.starts.union(&starts).count() <= MOST_DISTANCES;
        if known.is_none_or(is_one_more) {
            self.add(atom, at, Limit { sum, starts, ..limit });
        }
    }

    /// A term over a rule's variables as one over the arguments of an atom's predicate that are not about cells.
    fn over_arguments(&self, atom: &Atom, term: Term) -> Option<Term> {
        let p = atom.predicate.index();
        self.left.set(self.left.get().saturating_sub(1 + atom.args.len() as u64));
        let mut known: Substitution = BTreeMap::new();
        for (i, arg) in atom.args.iter().enumerate() {
            let is_of_cell = self.system.indices[p].contains(&i) || self.system.contents[p].contains(&i);
            if let Some(variable) = arg.as_var()
                && !is_of_cell
                && variable.sort == Sort::Int
            {
                known.entry(variable).or_insert_with(|| t::var(argument_of(i)));
            }
        }
        let is_known = free_vars(term).iter().all(|variable| known.contains_key(variable));
        (is_known && is_polynomial(term)).then(|| substitute(term, &known))
    }

    fn cases(self) -> Vec<Cases> {
        let mut out = Vec::new();
        let known = self.limits.iter().zip(self.relations).zip(self.constants);
        for (indices, ((limits, relations), constants)) in self.system.indices.iter().zip(known) {
            let mut splits: Vec<(Term, BTreeSet<BigInt>)> = Vec::new();
            let mut begins_empty = Vec::new();
            for (index, limits) in indices.iter().zip(limits) {
                // Of pairs only what is said of cells counts.
                if indices.len() > 1 {
                    begins_empty.push(splits.len());
                }
                let index = t::var(argument_of(*index));
                // No array has elements before its first.
                splits.push((index, BTreeSet::from([BigInt::ZERO])));
                for limit in limits {
                    let form = t::sub(t::mul([t::int(limit.scale.clone()), index]), limit.sum);
                    match splits.iter_mut().find(|(known, _)| *known == form) {
                        Some((_, known)) => known.extend(limit.starts.iter().cloned()),
                        None => splits.push((form, limit.starts.clone())),
                    }
                }
            }
            splits.extend(relations);
            splits.extend(constants.into_iter().map(|(i, starts)| (t::var(argument_of(i)), starts)));
            out.push(Cases::of_forms(splits, begins_empty));
        }
        out
    }
}

/// What indices are compared with in a rule, and how far behind that the part ends that the comparison allows.
fn compared(rule: &Rule, touched: &[Index]) -> Vec<(Index, i32)> {
    let mut out = Vec::new();
    for atom in atoms(rule.constraint) {
        let (Op::Le | Op::Eq, [a, b]) = (atom.op(), atom.args()) else { continue };
        if a.sort() != Sort::Int {
            continue;
        }
        // Not above 0, or 0.
        let difference = plainly(t::sub(*a, *b));
        let of_difference = Linear::of(difference);
        // Every number is compared with the limits of its type, and every address with those of memory.
        if is_far(of_difference.constant()) {
            continue;
        }
        for index in touched {
            for variable in free_vars(index.sum) {
                let (one, term) = (BigInt::from(1), t::var(variable));
                let Some(sign) = of_difference.terms().get(&term).filter(|c| **c == one || **c == -&one)
                else {
                    continue;
                };
                // What the variable is where both sides are equal.
                let bound = t::sub(term, t::mul([t::int(sign.clone()), difference]));
                // An address is compared with null.
                let is_place = |f: &BigInt| f % &index.scale == BigInt::ZERO;
                if bound.as_int().is_some() && !Linear::of(index.sum).terms().get(&term).is_none_or(is_place)
                {
                    continue;
                }
                let sum = substitute(index.sum, &Substitution::from([(variable, bound)]));
                let limit = Index { sum, ..index.clone() };
                let quotient = Linear::of(index.sum).terms().get(&term).map_or(sign.clone(), |f| f * sign);
                if *atom.op() == Op::Eq || quotient > BigInt::ZERO {
                    out.push((limit.clone(), 1));
                }
                if *atom.op() == Op::Eq || quotient < BigInt::ZERO {
                    out.push((limit, 0));
                }
            }
        }
    }
    out
}

/// Whether no array ends there: the limit of a type or of memory.
fn is_far(constant: &BigInt) -> bool {
    constant.bits() > 40 || constant.bits() > 30 && is_near_limit(constant)
}

/// Without what keeps numbers in the range of their types.
fn plainly(term: Term) -> Term {
    rewrite(term, |term, args| {
        let is_width = |c: &BigInt| *c >= BigInt::from(256) && is_limit(c);
        match term.op() {
            Op::Mod if args[1].as_int().is_some_and(is_width) => Some(args[0]),
            // Of another sign: the number, or as many less as its type has.
            Op::Ite if args[1].sort() == Sort::Int => {
                let difference = t::sub(args[1], args[2]);
                let is_sign =
                    difference.as_int().is_some_and(|d| is_width(&BigInt::from(d.magnitude().clone())));
                let constant = |term: Term| BigInt::from(Linear::of(term).constant().magnitude().clone());
                is_sign.then(|| if constant(args[1]) <= constant(args[2]) { args[1] } else { args[2] })
            }
            _ => None,
        }
    })
}

/// Whether a term is made of sums and products.
fn is_polynomial(term: Term) -> bool {
    let is_simple = |term: &Term| matches!(term.op(), Op::Int(_) | Op::Var(_) | Op::Add | Op::Mul);
    postorder(&[term]).iter().all(is_simple)
}
