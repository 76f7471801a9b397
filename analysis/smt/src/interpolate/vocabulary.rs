//! Which symbols a formula may speak of: those that occur on both sides of a cut.

use std::collections::{BTreeMap, BTreeSet};

use super::Tree;
use crate::term::{Func, Term, Var, free_functions, free_vars};

/// A free symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Symbol {
    Var(Var),
    Function(Func),
}

/// A set of free symbols.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Vocabulary(BTreeSet<Symbol>);

impl Vocabulary {
    /// The free symbols of a term.
    pub(super) fn of(term: Term) -> Vocabulary {
        let functions = free_functions(term).into_iter().map(Symbol::Function);
        Vocabulary(free_vars(term).into_iter().map(Symbol::Var).chain(functions).collect())
    }

    /// For every node, the symbols that occur both inside and outside of its subtree.
    pub(super) fn of_cuts(tree: &Tree) -> Vec<Vocabulary> {
        let own: Vec<Vocabulary> = tree.nodes().map(|node| Vocabulary::of(tree.label(node))).collect();
        let mut uses: BTreeMap<Symbol, usize> = BTreeMap::new();
        for symbol in own.iter().flat_map(|v| &v.0) {
            *uses.entry(*symbol).or_default() += 1;
        }
        // How many labels of the subtree use each symbol.
        let mut inside: Vec<BTreeMap<Symbol, usize>> = Vec::new();
        let mut out = Vec::new();
        for node in tree.nodes() {
            let mut count: BTreeMap<Symbol, usize> = own[node.index()].0.iter().map(|s| (*s, 1)).collect();
            for child in tree.children(node) {
                for (s, n) in std::mem::take(&mut inside[child.index()]) {
                    *count.entry(s).or_default() += n;
                }
            }
            out.push(Vocabulary(count.iter().filter(|(s, n)| **n < uses[s]).map(|(s, _)| *s).collect()));
            inside.push(count);
        }
        out
    }

    /// The symbols in both.
    pub(super) fn common(&self, other: &Vocabulary) -> Vocabulary {
        Vocabulary(self.0.intersection(&other.0).copied().collect())
    }

    /// Its variables.
    pub(super) fn vars(&self) -> BTreeSet<Var> {
        self.0
            .iter()
            .filter_map(|s| match s {
                Symbol::Var(v) => Some(*v),
                Symbol::Function(_) => None,
            })
            .collect()
    }

    /// A symbol of `term` that is not in here.
    pub(super) fn foreign(&self, term: Term) -> Option<String> {
        Vocabulary::of(term).0.difference(&self.0).next().map(|s| format!("{s:?}"))
    }
}
