//! A system over arrays as one over the cells of arrays, which is easier: `P(x, a)` is looked for as `∀k. Q(x, k, a[k])`. After Monniaux
//! and Gonnord, "Cell morphing: from array programs to array-free Horn clauses" (SAS 2016).
//!
//! A rule's array in the body becomes the cells that the rule reads (each an atom of its own), one in the head a cell at any index. Law:
//! if `Q` solves the result, the `P` above solve the system; the reverse need not be. Of pairs of cells, `P(x, a)` is looked for as
//! `∀k ≤ l. Q(x, k, a[k], l, a[l])`, which can say that an array is sorted.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{Atom, HornSystem, Rule, system::Predicate};
use crate::build as t;
use crate::logic::conjuncts;
use crate::rewrite::{Substitution, rewrite, substitute};
use crate::term::{Op, Sort, Term, Var, dag_size, free_vars, has_quantifier, postorder};

/// Combinations of indices of several arrays, at most; with more, equal indices are taken together.
const MOST_COMBINATIONS: usize = 9;
/// Pairs of cells that a rule looks at, at most; with more, only those of which one is of its head.
const MOST_PAIRS: usize = 28;
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
    /// Two of each array, the one with the smaller index first; with `shared` only.
    pub pairs: bool,
}

impl Cells {
    /// How many cells of each array.
    fn count(self) -> usize {
        if self.pairs { 2 } else { 1 }
    }
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
    /// The system about cells. `None`: there are no arrays of scalars, too many reads and writes, quantifiers, or pairs that are not shared.
    #[must_use]
    pub fn about(&self, cells: Cells) -> Option<CellSystem> {
        // Which cell of a pair comes first, one index says.
        if cells.pairs && !cells.shared {
            return None;
        }
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
                if cells.pairs && array.index() != Sort::Int {
                    return None;
                }
                for _ in 0..cells.count() {
                    if index.is_none() || !cells.shared {
                        indices.push(sorts.len());
                        sorts.push(array.index());
                    }
                    contents.push(sorts.len());
                    sorts.push(array.element());
                }
                index = Some(array.index());
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

impl CellSystem {
    /// Per predicate the positions of the arguments that are not about cells.
    pub(super) fn scalars(&self) -> Vec<Vec<usize>> {
        let of_predicate = |((predicate, indices), contents): ((&Predicate, &Vec<usize>), &Vec<usize>)| {
            (0..predicate.sorts.len()).filter(|i| !indices.contains(i) && !contents.contains(i)).collect()
        };
        self.system.predicates.iter().zip(&self.indices).zip(&self.contents).map(of_predicate).collect()
    }

    /// Per predicate the positions of contents, and of what is computed from them, such as a sum.
    pub(super) fn computed(&self) -> Vec<BTreeSet<usize>> {
        let mut found: Vec<BTreeSet<usize>> =
            self.contents.iter().map(|contents| contents.iter().copied().collect()).collect();
        let mut grew = true;
        while std::mem::take(&mut grew) {
            for rule in &self.system.rules {
                let Some(head) = &rule.head else { continue };
                let of_atom = |atom: &Atom| -> BTreeSet<Var> {
                    found[atom.predicate.index()].iter().flat_map(|i| free_vars(atom.args[*i])).collect()
                };
                let known: BTreeSet<Var> = rule.body.iter().flat_map(of_atom).collect();
                let p = head.predicate.index();
                let is_one = |i: &usize| !free_vars(head.args[*i]).is_disjoint(&known);
                let more: BTreeSet<usize> = (0..head.args.len())
                    .filter(|i| !self.indices[p].contains(i) && !found[p].contains(i))
                    .filter(is_one)
                    .collect();
                grew |= !more.is_empty();
                found[p].extend(more);
            }
        }
        found
    }

    /// The system without its cells, which may have any contents.
    pub(super) fn without_cells(&self) -> HornSystem {
        let mut out = HornSystem::default();
        let scalars = self.scalars();
        for (predicate, scalars) in self.system.predicates.iter().zip(&scalars) {
            let sorts: Vec<Sort> = scalars.iter().map(|i| predicate.sorts[*i]).collect();
            out.predicate(&predicate.name, &sorts);
        }
        for rule in &self.system.rules {
            let atom = |atom: &Atom| {
                let args = scalars[atom.predicate.index()].iter().map(|i| atom.args[*i]).collect();
                Atom { predicate: atom.predicate, args }
            };
            let mut body: Vec<Atom> = Vec::new();
            for atom in rule.body.iter().map(atom) {
                if !body.contains(&atom) {
                    body.push(atom);
                }
            }
            out.rule(body, rule.constraint, rule.head.as_ref().map(atom));
        }
        out
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
        let mut any = vec![Vec::new(); self.cells.count()];
        let mut of_head = None;
        let head = rule.head.as_ref().zip(head).map(|(atom, args)| {
            of_head = Some(self.arrays(&args));
            for array in args.iter().filter_map(|arg| arg.sort().as_array()) {
                for indices in &mut any {
                    let index = match indices.first() {
                        Some(first) if self.cells.shared => *first,
                        Some(_) | None => self.fresh(array.index()),
                    };
                    indices.push(index);
                }
            }
            Atom { predicate: atom.predicate, args: self.at(&args, &any) }
        });
        let mut atoms = Vec::new();
        for (atom, args) in rule.body.iter().zip(body) {
            for cells in self.combinations(&args, &any) {
                let atom = Atom { predicate: atom.predicate, args: self.in_order(&args, cells, &any) };
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
        if let [first, second] = &any[..] {
            same.extend(first.iter().zip(second).map(|(first, second)| t::le(*first, *second)));
        }
        for reads in self.reads.values() {
            if reads.len() > MOST_READS {
                return None;
            }
            for (i, (index, value)) in reads.iter().enumerate() {
                let others = &reads[i + 1..];
                same.extend(others.iter().map(|(j, w)| t::implies(t::eq(*index, *j), t::eq(*value, *w))));
            }
        }
        self.uses.touched.retain(|(_, index)| !any.iter().any(|indices| indices.contains(index)));
        Some((Rule { body: atoms, constraint: t::and(same), head }, self.uses))
    }

    /// Per index of an atom the arrays that it is an index of.
    fn arrays(&self, args: &[Term]) -> Vec<BTreeSet<Var>> {
        let each = args.iter().filter(|arg| matches!(arg.sort(), Sort::Array(_))).map(|arg| arrays_in(*arg));
        if self.cells.shared { vec![each.flatten().collect(); self.cells.count()] } else { each.collect() }
    }

    /// The arguments with arrays looked at in these cells: of each cell an index for each array.
    fn at(&mut self, args: &[Term], cells: &[Vec<Term>]) -> Vec<Term> {
        let mut out = Vec::new();
        let mut array = 0;
        for arg in args {
            if !matches!(arg.sort(), Sort::Array(_)) {
                out.push(*arg);
                continue;
            }
            for indices in cells {
                let Some(index) = indices.get(array) else { continue };
                if array == 0 || !self.cells.shared {
                    out.push(*index);
                }
                out.push(self.select(*arg, *index));
            }
            array += 1;
        }
        out
    }

    /// The same, of two cells the one with the smaller index first. Those of the head, `any`, are in order.
    fn in_order(&mut self, args: &[Term], mut cells: Vec<Vec<Term>>, any: &[Vec<Term>]) -> Vec<Term> {
        let found = self.at(args, &cells);
        let [first, second] = &cells[..] else { return found };
        let (Some(first), Some(second)) = (first.first(), second.first()) else { return found };
        if cells == any || first == second {
            return found;
        }
        let is_in_order = t::le(*first, *second);
        cells.swap(0, 1);
        let swapped = self.at(args, &cells);
        found.into_iter().zip(swapped).map(|(one, other)| t::ite(is_in_order, one, other)).collect()
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

    /// In which cells the arrays among an atom's arguments are looked at; `any` are those of the head.
    fn combinations(&mut self, args: &[Term], any: &[Vec<Term>]) -> Vec<Vec<Vec<Term>>> {
        let is_of_head = |index: &Term| any.iter().any(|indices| indices.contains(index));
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
            indices.sort_by_key(|index| !is_of_head(index));
            if !self.cells.all && indices.first().is_some_and(is_of_head) {
                indices.truncate(self.cells.count());
            }
            if indices.is_empty() {
                // The value is not used: any index will do.
                indices.push(self.fresh(array.index()));
            }
            wanted.push(indices);
        }
        let product = wanted.iter().map(Vec::len).product::<usize>();
        if !self.cells.shared && product <= MOST_COMBINATIONS {
            let none = vec![vec![Vec::new(); self.cells.count()]];
            return wanted.iter().fold(none, |all, indices| {
                let longer = |start: &Vec<Vec<Term>>| -> Vec<Vec<Vec<Term>>> {
                    let with =
                        |index| start.iter().map(|known| [known.as_slice(), &[index]].concat()).collect();
                    indices.iter().map(|index| with(*index)).collect()
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
        let at = |index: Term| -> Vec<Term> {
            let of_array = |indices: &Vec<Term>| {
                if self.cells.shared || indices.contains(&index) { index } else { indices[0] }
            };
            wanted.iter().map(of_array).collect()
        };
        let mut out: Vec<Vec<Vec<Term>>> = Vec::new();
        let mut add = |cells: Vec<Vec<Term>>| {
            if !out.contains(&cells) {
                out.push(cells);
            }
        };
        if !self.cells.pairs {
            each.iter().for_each(|index| add(vec![at(*index)]));
        } else if let [index] = each[..] {
            add(vec![at(index), at(index)]);
        } else {
            let are_many = each.len() * each.len().saturating_sub(1) / 2 > MOST_PAIRS;
            for (i, first) in each.iter().enumerate() {
                let others =
                    each[i + 1..].iter().filter(|other| !are_many || is_of_head(first) || is_of_head(other));
                others.for_each(|second| add(vec![at(*first), at(*second)]));
            }
            // Of many, none may be of the head; an atom needs some cells all the same.
            if let [first, second, ..] = each[..]
                && are_many
                && !each.iter().any(is_of_head)
            {
                add(vec![at(first), at(second)]);
            }
        }
        if out.is_empty() { vec![vec![Vec::new(); self.cells.count()]] } else { out }
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
