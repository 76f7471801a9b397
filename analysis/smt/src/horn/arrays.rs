//! A system over arrays as one over the cells of arrays, which is easier: `P(x, a)` is looked for as `∀k. Q(x, k, a[k])`. After Monniaux
//! and Gonnord, "Cell morphing: from array programs to array-free Horn clauses" (SAS 2016).
//!
//! A rule's array in the body becomes the cells that the rule reads (each an atom of its own), one in the head a cell at any index. Law:
//! if `Q` solves the result, the `P` above solve the system; the reverse need not be.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{Atom, HornSystem, Rule};
use crate::build as t;
use crate::logic::conjuncts;
use crate::rewrite::{Substitution, rewrite, substitute};
use crate::term::{Op, Sort, Term, Var, dag_size, has_quantifier, postorder};

/// Combinations of indices of several arrays, at most; with more, equal indices are taken together.
const MOST_COMBINATIONS: usize = 9;
/// Reads in a rule, at most.
const MOST_READS: usize = 200;
/// Subterms of a rule, at most.
const LARGEST: usize = 20_000;
/// Cells that are looked at in all rules, at most (one for each read and each write before it), and pairs of reads that may be at one index.
const MOST_WORK: usize = 50_000;
/// Equations of a rule that define arrays, at most.
const MOST_DEFINED: usize = 300;

/// Which cells a predicate speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cells {
    /// One of each array, all at the same index; else each at its own.
    pub shared: bool,
    /// A rule may use what is known of every cell that it reads; else only of those that its head speaks of. (Rules without head use
    /// all.)
    pub all: bool,
}

/// A system about cells, and which of it was about indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellSystem {
    /// The system.
    pub system: HornSystem,
    /// Per predicate the positions of the arguments that are indices.
    pub(super) indices: Vec<Vec<usize>>,
    /// Per predicate the positions of the arguments that are contents.
    pub(super) contents: Vec<Vec<usize>>,
    /// Per rule what it does with arrays.
    pub(super) uses: Vec<Uses>,
}

/// What a rule does with arrays.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Uses {
    /// Arrays and the indices at which they are read or written.
    pub(super) touched: Vec<(Var, Term)>,
    /// Per atom of the body, then of the head: per index of it the arrays that it is an index of.
    pub(super) arrays: Vec<Vec<BTreeSet<Var>>>,
}

impl HornSystem {
    /// The system about cells. `None`: there are no arrays of scalars, too many reads and writes, or quantifiers.
    #[must_use]
    pub fn about(&self, cells: Cells) -> Option<CellSystem> {
        let mut out = HornSystem::default();
        let (mut all_indices, mut all_contents, mut all_uses) = (Vec::new(), Vec::new(), Vec::new());
        for predicate in &self.predicates {
            let mut sorts = Vec::new();
            let (mut indices, mut contents) = (Vec::new(), Vec::new());
            let mut index = None;
            for sort in &predicate.sorts {
                let Sort::Array(array) = sort else {
                    sorts.push(*sort);
                    continue;
                };
                if matches!(array.element(), Sort::Array(_))
                    || index.is_some_and(|known| known != array.index())
                {
                    return None;
                }
                if index.is_none() || !cells.shared {
                    indices.push(sorts.len());
                    sorts.push(array.index());
                }
                index = Some(array.index());
                contents.push(sorts.len());
                sorts.push(array.element());
            }
            out.predicate(&predicate.name, &sorts);
            all_indices.push(indices);
            all_contents.push(contents);
        }
        if all_indices.iter().all(Vec::is_empty) {
            return None;
        }
        let mut left = MOST_WORK;
        for rule in &self.rules {
            let (rule, uses) = Reader::new(cells, &mut left).rule(rule)?;
            out.rule(rule.body, rule.constraint, rule.head);
            all_uses.push(uses);
        }
        Some(CellSystem { system: out, indices: all_indices, contents: all_contents, uses: all_uses })
    }
}

/// Makes the cells of one rule's arrays variables.
struct Reader<'l> {
    cells: Cells,
    /// Of [`MOST_WORK`].
    left: &'l mut usize,
    /// Per array the indices it is read at, each with the value there.
    reads: BTreeMap<Var, Vec<(Term, Term)>>,
    known: BTreeMap<(Term, Term), Term>,
    uses: Uses,
    /// What [`Uses::touched`] has.
    touched: BTreeSet<(Var, Term)>,
    /// The array variables in an array.
    variables: BTreeMap<Term, Rc<BTreeSet<Var>>>,
    count: u32,
}

impl Reader<'_> {
    fn new(cells: Cells, left: &mut usize) -> Reader<'_> {
        Reader {
            cells,
            left,
            reads: BTreeMap::new(),
            known: BTreeMap::new(),
            uses: Uses::default(),
            touched: BTreeSet::new(),
            variables: BTreeMap::new(),
            count: 0,
        }
    }

    fn rule(mut self, rule: &Rule) -> Option<(Rule, Uses)> {
        let roots: Vec<Term> = rule
            .body
            .iter()
            .chain(&rule.head)
            .flat_map(|a| a.args.clone())
            .chain([rule.constraint])
            .collect();
        // A cell at a bound index would be another for each of its values.
        let is_bound = roots.iter().any(|root| has_quantifier(*root));
        if is_bound || roots.iter().map(|root| dag_size(*root)).sum::<usize>() > LARGEST {
            return None;
        }
        let (constraint, arrays) = defined(rule.constraint)?;
        let constraint = self.over_cells(constraint);
        let mut ready = |term: &Term| self.over_cells(substitute(*term, &arrays));
        let body: Vec<Vec<Term>> =
            rule.body.iter().map(|a| a.args.iter().map(&mut ready).collect()).collect();
        let head: Option<Vec<Term>> = rule.head.as_ref().map(|a| a.args.iter().map(&mut ready).collect());
        let mut any = Vec::new();
        let mut of_head = None;
        let head = rule.head.as_ref().zip(head).map(|(atom, args)| {
            of_head = Some(self.arrays(&args));
            for array in args.iter().filter_map(|arg| arg.sort().as_array()) {
                let index = match any.first() {
                    Some(first) if self.cells.shared => *first,
                    Some(_) | None => self.fresh(array.index()),
                };
                any.push(index);
            }
            Atom { predicate: atom.predicate, args: self.at(&args, &any) }
        });
        let mut atoms = Vec::new();
        for (atom, args) in rule.body.iter().zip(body) {
            for indices in self.combinations(&args, &any) {
                let atom = Atom { predicate: atom.predicate, args: self.at(&args, &indices) };
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                    let arrays = self.arrays(&args);
                    self.uses.arrays.push(arrays);
                }
            }
        }
        self.uses.arrays.extend(of_head);
        let pairs = self.reads.values().map(|reads| reads.len() * reads.len() / 2).sum::<usize>();
        *self.left = self.left.saturating_sub(pairs);
        if *self.left == 0 {
            return None;
        }
        let mut same = vec![constraint];
        for reads in self.reads.values() {
            if reads.len() > MOST_READS {
                return None;
            }
            for (i, (index, value)) in reads.iter().enumerate() {
                let others = &reads[i + 1..];
                same.extend(others.iter().map(|(j, w)| t::implies(t::eq(*index, *j), t::eq(*value, *w))));
            }
        }
        self.uses.touched.retain(|(_, index)| !any.contains(index));
        Some((Rule { body: atoms, constraint: t::and(same), head }, self.uses))
    }

    /// Per index of an atom the arrays that it is an index of.
    fn arrays(&self, args: &[Term]) -> Vec<BTreeSet<Var>> {
        let each = args.iter().filter(|arg| matches!(arg.sort(), Sort::Array(_))).map(|arg| arrays_in(*arg));
        if self.cells.shared { vec![each.flatten().collect()] } else { each.collect() }
    }

    /// The arguments with arrays looked at at these indices.
    fn at(&mut self, args: &[Term], indices: &[Term]) -> Vec<Term> {
        let mut out = Vec::new();
        let mut indices = indices.iter().enumerate();
        for arg in args {
            match (arg.sort(), &mut indices) {
                (Sort::Array(_), indices) => {
                    let Some((at, index)) = indices.next() else { continue };
                    if at == 0 || !self.cells.shared {
                        out.push(*index);
                    }
                    out.push(self.select(*arg, *index));
                }
                _ => out.push(*arg),
            }
        }
        out
    }

    fn fresh(&mut self, sort: Sort) -> Term {
        self.count += 1;
        t::var(Var::indexed("%cell", self.count, sort))
    }

    /// A term whose array reads are variables. Comparing arrays may give anything.
    fn over_cells(&mut self, term: Term) -> Term {
        rewrite(term, |term, args| match term.op() {
            Op::Select => Some(self.select(args[0], args[1])),
            Op::Eq if matches!(args[0].sort(), Sort::Array(_)) && args[0] != args[1] => {
                Some(self.fresh(Sort::Bool))
            }
            _ => None,
        })
    }

    /// What an array has at an index, with reads of array variables only.
    fn select(&mut self, array: Term, index: Term) -> Term {
        if let Some(known) = self.known.get(&(array, index)) {
            return *known;
        }
        *self.left = self.left.saturating_sub(1);
        if *self.left == 0
            && let Sort::Array(sort) = array.sort()
        {
            return self.fresh(sort.element());
        }
        let args = array.args();
        let value = match array.op() {
            Op::ConstArray(_) => args[0],
            Op::Store => {
                self.touch(array, args[1]);
                let same = t::eq(args[1], index);
                match same.as_bool() {
                    Some(true) => args[2],
                    Some(false) => self.select(args[0], index),
                    None => {
                        let other = self.select(args[0], index);
                        t::ite(same, args[2], other)
                    }
                }
            }
            Op::Ite => {
                let (yes, no) = (self.select(args[1], index), self.select(args[2], index));
                t::ite(args[0], yes, no)
            }
            _ => {
                let Sort::Array(sort) = array.sort() else { unreachable!("only arrays are read") };
                let value = self.fresh(sort.element());
                if let Some(variable) = array.as_var() {
                    self.touch(array, index);
                    self.reads.entry(variable).or_default().push((index, value));
                }
                value
            }
        };
        self.known.insert((array, index), value);
        value
    }

    fn touch(&mut self, array: Term, index: Term) {
        let variables = self.variables.entry(array).or_insert_with(|| Rc::new(arrays_in(array))).clone();
        for variable in &*variables {
            if self.touched.insert((*variable, index)) {
                self.uses.touched.push((*variable, index));
            }
        }
    }

    /// At which indices the arrays among an atom's arguments are looked at; `any` are those of the head.
    fn combinations(&mut self, args: &[Term], any: &[Term]) -> Vec<Vec<Term>> {
        let mut wanted: Vec<Vec<Term>> = Vec::new();
        for (arg, array) in args.iter().filter_map(|arg| Some((arg, arg.sort().as_array()?))) {
            let variables = postorder(&[*arg]).into_iter().filter_map(Term::as_var);
            let mut indices: Vec<Term> = Vec::new();
            for (index, _) in variables.filter_map(|v| self.reads.get(&v)).flatten() {
                if !indices.contains(index) {
                    indices.push(*index);
                }
            }
            // What the head speaks of comes first.
            indices.sort_by_key(|index| !any.contains(index));
            if !self.cells.all && indices.first().is_some_and(|index| any.contains(index)) {
                indices.truncate(1);
            }
            if indices.is_empty() {
                // The value is not used: any index will do.
                indices.push(self.fresh(array.index()));
            }
            wanted.push(indices);
        }
        let product = wanted.iter().map(Vec::len).product::<usize>();
        if !self.cells.shared && product <= MOST_COMBINATIONS {
            return wanted.iter().fold(vec![Vec::new()], |all, indices| {
                let longer = |start: &Vec<Term>| -> Vec<Vec<Term>> {
                    indices.iter().map(|index| [start.as_slice(), &[*index]].concat()).collect()
                };
                all.iter().flat_map(longer).collect()
            });
        }
        let mut each: Vec<Term> = Vec::new();
        for index in wanted.iter().flatten() {
            if !each.contains(index) {
                each.push(*index);
            }
        }
        let mut out: Vec<Vec<Term>> = Vec::new();
        for index in each {
            let at = |indices: &Vec<Term>| {
                if self.cells.shared || indices.contains(&index) { index } else { indices[0] }
            };
            let combination = wanted.iter().map(at).collect();
            if !out.contains(&combination) {
                out.push(combination);
            }
        }
        if out.is_empty() { vec![Vec::new()] } else { out }
    }
}

/// The array variables in a term of an array.
fn arrays_in(array: Term) -> BTreeSet<Var> {
    let variables = postorder(&[array]).into_iter().filter_map(Term::as_var);
    variables.filter(|variable| matches!(variable.sort, Sort::Array(_))).collect()
}

/// Takes the equations that define array variables out of a constraint. `None`: there are too many.
fn defined(constraint: Term) -> Option<(Term, Substitution)> {
    let mut arrays = Substitution::new();
    let mut rest = Vec::new();
    for part in conjuncts(constraint) {
        let part = substitute(part, &arrays);
        if let (Op::Eq, [a, b]) = (part.op(), part.args())
            && let Some((variable, value)) =
                a.as_var().map(|v| (v, *b)).or_else(|| b.as_var().map(|v| (v, *a)))
            && matches!(variable.sort, Sort::Array(_))
            && !postorder(&[value]).iter().any(|term| term.as_var() == Some(variable))
        {
            let new = Substitution::from([(variable, value)]);
            for known in arrays.values_mut() {
                *known = substitute(*known, &new);
            }
            arrays.insert(variable, value);
            if arrays.len() > MOST_DEFINED {
                return None;
            }
        } else {
            rest.push(part);
        }
    }
    Some((substitute(t::and(rest), &arrays), arrays))
}
