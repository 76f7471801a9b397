//! Sliced (sub-tree) interpolation: the part of a path's tree that is needed to refute it. Below some node the tree is replaced by what the
//! abstraction says there: where that is still a contradiction, the interpolants are found in a small tree, and hold for every way below the cut. Which nodes are
//! needed is found by models: a node whose own formula allows what a model of the tree above says of it needs no look inside.

use std::collections::{BTreeMap, BTreeSet};

use proofline_smt::{
    Outcome, Solver, Sort, Term, Var, Z3, build as t,
    rewrite::{Substitution, substitute},
    term::free_vars,
};

use super::{
    PredicateAnalysis, PredicatePrecision,
    bdd::combination,
    path_tree::{Node, PathTree},
};

/// Nodes looked at in one search.
const LOOKS: usize = 600;
/// Trees tried in one search.
const ROUNDS: usize = 60;
/// Larger trees are decided as one formula.
const NODES: usize = 20_000;

struct Search<'a> {
    analysis: &'a PredicateAnalysis,
    precision: &'a PredicatePrecision,
    nodes: &'a [Node],
    children: Vec<Vec<usize>>,
    /// What the abstraction says at each node, where it was asked.
    abstractions: BTreeMap<usize, Term>,
    looks: usize,
}

impl PredicateAnalysis {
    /// A contradictory tree whose lowest nodes are abstractions; `None`: there is none, or it was not found.
    pub(super) fn sliced(&self, tree: &PathTree, precision: &PredicatePrecision) -> Option<PathTree> {
        let nodes = &tree.nodes;
        if nodes.len() < 3 || nodes.len() > NODES {
            return None;
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent].push(index);
            }
        }
        let mut search =
            Search { analysis: self, precision, nodes, children, abstractions: BTreeMap::new(), looks: 0 };
        let open = self.solver.with(|z3| search.run(z3))??;
        Some(search.tree(&open))
    }
}

impl Search<'_> {
    fn run(&mut self, z3: &Z3) -> Option<BTreeSet<usize>> {
        let mut open = BTreeSet::from([self.nodes.len() - 1]);
        for _ in 0..ROUNDS {
            if self.analysis.solver.is_over() {
                return None;
            }
            let frontier = self.frontier(&open);
            let below: Vec<Term> = frontier.iter().map(|node| self.abstraction(*node)).collect();
            let formula = t::and(open.iter().map(|node| self.nodes[*node].label).chain(below));
            let mut solver = z3.solver();
            solver.set_limits(self.analysis.solver.limits());
            solver.assert(formula);
            match solver.check() {
                Outcome::Unsat => return Some(open),
                Outcome::Unknown(_) => return None,
                Outcome::Sat => {}
            }
            let said = free_vars(formula);
            let models: Vec<Vec<Term>> =
                frontier.iter().map(|node| interface(&self.nodes[*node], &said, &mut solver)).collect();
            let before = open.len();
            for (node, known) in frontier.into_iter().zip(models) {
                if let Some(spot) = self.spot(z3, node, known)? {
                    let mut at = Some(spot);
                    while let Some(node) = at.filter(|node| open.insert(*node)) {
                        at = self.nodes[node].parent;
                    }
                }
            }
            if open.len() == before {
                return None;
            }
        }
        None
    }

    /// The highest node at or below this one that does not allow what is known of it. `None`: too much to look at.
    fn spot(&mut self, z3: &Z3, node: usize, known: Vec<Term>) -> Option<Option<usize>> {
        let mut waiting = vec![(node, known)];
        while let Some((node, known)) = waiting.pop() {
            self.looks += 1;
            if self.looks > LOOKS {
                return None;
            }
            let below: Vec<usize> = self.children[node].clone();
            let abstractions: Vec<Term> = below.iter().map(|child| self.abstraction(*child)).collect();
            let mut solver = z3.solver();
            solver.set_limits(self.analysis.solver.limits());
            let formula = t::and(known.into_iter().chain(abstractions).chain([self.nodes[node].label]));
            solver.assert(formula);
            match solver.check() {
                Outcome::Sat => {}
                Outcome::Unsat | Outcome::Unknown(_) => return Some(Some(node)),
            }
            let said = free_vars(formula);
            for child in below {
                let known = interface(&self.nodes[child], &said, &mut solver);
                waiting.push((child, known));
            }
        }
        Some(None)
    }

    fn frontier(&self, open: &BTreeSet<usize>) -> Vec<usize> {
        open.iter()
            .flat_map(|node| &self.children[*node])
            .copied()
            .filter(|node| !open.contains(node))
            .collect()
    }

    /// What the abstraction of everything below says at a node.
    fn abstraction(&mut self, node: usize) -> Term {
        // Children come before their parents.
        let mut waiting = vec![node];
        while let Some(&next) = waiting.last() {
            if self.abstractions.contains_key(&next) {
                waiting.pop();
                continue;
            }
            let missing: Vec<usize> = self.children[next]
                .iter()
                .copied()
                .filter(|child| !self.abstractions.contains_key(child))
                .collect();
            if missing.is_empty() {
                let below = self.children[next].iter().map(|child| self.abstractions[child]);
                let formula = t::and(below.chain([self.nodes[next].label]));
                let abstraction = self.abstracted(&self.nodes[next], formula);
                self.abstractions.insert(next, abstraction);
                waiting.pop();
            } else {
                waiting.extend(missing);
            }
        }
        self.abstractions[&node]
    }

    fn abstracted(&self, node: &Node, formula: Term) -> Term {
        let Some((function, loc)) = node.place else { return t::bool(true) };
        let mut instances = Substitution::new();
        for (instance, var) in &node.names {
            instances.entry(*var).or_insert(*instance);
        }
        let scope = self.analysis.scope(function);
        let predicates: Vec<Term> = self
            .analysis
            .predicates_at(scope, loc, self.precision)
            .into_iter()
            .filter(|predicate| free_vars(*predicate).iter().all(|var| instances.contains_key(var)))
            .map(|predicate| substitute(predicate, &instances))
            .collect();
        // Equal but for the numbers of their activations: asked once.
        let canonical = numbered([formula].into_iter().chain(predicates.iter().copied()));
        let asked: Vec<Term> =
            predicates.iter().map(|predicate| substitute(*predicate, &canonical)).collect();
        let formula = substitute(formula, &canonical);
        match self.analysis.solver.cubes(formula, &asked, self.analysis.options.abstraction) {
            Some(cubes) => combination(&cubes, &predicates),
            None => t::bool(false),
        }
    }

    fn tree(&mut self, open: &BTreeSet<usize>) -> PathTree {
        let frontier: BTreeSet<usize> = self.frontier(open).into_iter().collect();
        let kept: Vec<usize> = open.union(&frontier).copied().collect();
        let position: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(i, node)| (*node, i)).collect();
        let mut nodes = Vec::new();
        for index in &kept {
            let node = &self.nodes[*index];
            let parent = node.parent.map(|parent| position[&parent]);
            nodes.push(if open.contains(index) {
                Node { parent, ..node.clone() }
            } else {
                Node { parent, place: None, label: self.abstractions[index], ..node.clone() }
            });
        }
        PathTree::of_nodes(nodes)
    }
}

/// What a model says of the variables that a node shares with its surroundings, as far as these speak of them.
fn interface(node: &Node, said: &BTreeSet<Var>, solver: &mut dyn Solver) -> Vec<Term> {
    let is_said =
        |term: &Term| term.sort() == Sort::Int && term.as_var().is_some_and(|var| said.contains(&var));
    let terms: Vec<Term> = node.names.keys().copied().filter(is_said).collect();
    let values = solver.values(&terms);
    let fixed = |(term, value): (&Term, Option<proofline_smt::Value>)| {
        let value = value?.as_int().cloned()?;
        Some(t::eq(*term, t::int(value)))
    };
    terms.iter().zip(values).filter_map(fixed).collect()
}

/// Variables numbered in their order, each name for itself.
fn numbered(formulas: impl Iterator<Item = Term>) -> Substitution {
    let vars: BTreeSet<Var> = formulas.flat_map(free_vars).collect();
    let number = |var: &Var| {
        let text = var.name.as_str();
        let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
        // Variables made on the way have their number in their name.
        if name.starts_with('$') {
            (name.to_owned(), text[name.len()..].parse::<u32>().unwrap_or(0))
        } else {
            (text.to_owned(), var.index)
        }
    };
    let mut ordered: Vec<((String, u32), Var)> = vars.into_iter().map(|var| (number(&var), var)).collect();
    ordered.sort();
    let mut map = Substitution::new();
    let mut last: Option<(String, u32)> = None;
    for ((name, index), var) in ordered {
        let rank = match &last {
            _ if index == 0 && !name.starts_with('$') => 0,
            Some((before, rank)) if *before == name => rank + 1,
            _ => 1,
        };
        map.insert(var, t::var(Var::indexed(&name, rank, var.sort)));
        last = Some((name, rank));
    }
    map
}
