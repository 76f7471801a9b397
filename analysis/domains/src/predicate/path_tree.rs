//! Path trees: paths as trees of formulas [BAM15 §4.5]: a node per abstraction on the way, calls that returned as subtrees. No formula holds the same
//! variable of two activations, so that the interpolant at a function's exit is a summary. Asks no solver.

mod build;

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{EdgeId, Loc, Name};
use proofline_cpa::{Path, PathStep};
use proofline_smt::{
    Term, Var, build as t,
    interpolate::{NodeId, Tree},
};

use super::affine::Equations;
use proofline_encoding::Key;

/// Which ways between two points of a path are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ways {
    /// Those of the path.
    Given,
    /// All without calls: a path through merged states stands for them.
    All,
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) label: Term,
    pub(super) parent: Option<usize>,
    /// Where its predicates belong; `None` at the root.
    pub(super) place: Option<(Name, Loc)>,
    /// It is in no call that returned.
    pub(super) is_trunk: bool,
    /// What predicates there call the variables of this node.
    pub(super) names: BTreeMap<Term, Var>,
}

/// The tree of a path, and what makes inputs and the real path of a model.
#[derive(Debug)]
pub(super) struct PathTree {
    pub(super) nodes: Vec<Node>,
    regions: Vec<Region>,
    /// The entry function's inputs.
    pub(super) parameters: Vec<(Key, Term)>,
    tail: Vec<(usize, PathStep)>,
}

/// Ways from one location to another within a function.
#[derive(Debug)]
struct Region {
    function: Name,
    from: Loc,
    to: Loc,
    /// The number of the path's step it begins with.
    first: usize,
    /// It is in no call that returned.
    is_trunk: bool,
    /// How each location is reached: the edges in order, and the conditions under which the later ones are meant.
    arrivals: BTreeMap<Loc, Vec<(EdgeId, Loc, Term)>>,
    inputs: BTreeMap<EdgeId, Vec<Term>>,
}

/// The chain of what is in no call that returned.
const TRUNK: usize = 0;

impl PathTree {
    /// A tree without a path.
    pub(super) fn of_nodes(nodes: Vec<Node>) -> PathTree {
        PathTree { nodes, regions: Vec::new(), parameters: Vec::new(), tail: Vec::new() }
    }

    /// Equalities that all nodes of one place have in common, where there are several.
    pub(super) fn common_equalities(&self) -> Vec<((Name, Loc), Term)> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut known: Vec<Option<Equations>> = Vec::new();
        let mut by_place: BTreeMap<(Name, Loc), Vec<Equations>> = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent].push(index);
            }
            let mut all = Equations::of(node.label);
            for child in &children[index] {
                if let Some(Some(below)) = known.get(*child) {
                    all = all.and(&below.renamed(&self.nodes[*child].names));
                }
            }
            let projected = all.project(&node.names);
            if let (Some(place), Some(projected)) = (node.place, &projected) {
                by_place.entry(place).or_default().push(projected.clone());
            }
            known.push(projected);
        }
        let mut found = Vec::new();
        for (place, relations) in by_place {
            if relations.len() < 2 {
                continue;
            }
            let mut relations = relations.into_iter();
            let Some(first) = relations.next() else { continue };
            let common = relations.try_fold(first, |common, one| common.join(&one));
            found.extend(common.into_iter().flat_map(|common| common.terms()).map(|term| (place, term)));
        }
        found
    }

    /// For interpolation.
    pub(super) fn tree(&self) -> Tree {
        let parent = |node: &Node| node.parent.map(|p| NodeId(p as u32));
        Tree::new(self.nodes.iter().map(|node| (node.label, parent(node))).collect())
    }

    /// All formulas together: satisfiable iff one of the ways can be gone.
    pub(super) fn formula(&self) -> Term {
        t::and(self.nodes.iter().map(|node| node.label))
    }

    /// The same without the calls that returned: their effects are any.
    pub(super) fn trunk(&self) -> Term {
        t::and(self.nodes.iter().filter(|node| node.is_trunk).map(|node| node.label))
    }

    /// Inputs that a model of the trunk chooses, in order, each with where it is asked for.
    pub(super) fn trunk_inputs(&self, is_true: &dyn Fn(Term) -> bool) -> Vec<((Name, EdgeId), Term)> {
        let mut inputs = Vec::new();
        for region in self.regions.iter().filter(|region| region.is_trunk) {
            for edge in region.edges(is_true) {
                let asked = region.inputs.get(&edge).into_iter().flatten();
                inputs.extend(asked.map(|term| ((region.function, edge), *term)));
            }
        }
        inputs
    }

    /// Every input on the trunk, whichever way is meant.
    pub(super) fn all_inputs(&self) -> BTreeSet<Term> {
        let trunk = self.regions.iter().filter(|region| region.is_trunk);
        trunk.flat_map(|region| region.inputs.values().flatten().copied()).collect()
    }

    /// What a model must say for [`PathTree::path`].
    pub(super) fn choices(&self) -> BTreeSet<Term> {
        let arrivals = self.regions.iter().flat_map(|region| region.arrivals.values().flatten());
        arrivals.map(|(_, _, first)| *first).collect()
    }

    /// The path of a model, with the inputs' terms by the number of the step that asks for them.
    pub(super) fn path(&self, like: &Path, is_true: &dyn Fn(Term) -> bool) -> (Path, Vec<(usize, Term)>) {
        let mut parts: BTreeMap<usize, (Option<&Region>, Vec<PathStep>)> = BTreeMap::new();
        for (index, step) in &self.tail {
            parts.insert(*index, (None, vec![*step]));
        }
        for region in &self.regions {
            let edges = region.edges(is_true);
            let steps = edges.into_iter().map(|edge| PathStep::Edge(region.function, edge)).collect();
            parts.insert(region.first, (Some(region), steps));
        }
        let (mut steps, mut inputs) = (Vec::new(), Vec::new());
        for (region, part) in parts.into_values() {
            for step in part {
                if let (Some(region), PathStep::Edge(_, edge)) = (region, step) {
                    let asked = region.inputs.get(&edge).into_iter().flatten();
                    inputs.extend(asked.map(|term| (steps.len(), *term)));
                }
                steps.push(step);
            }
        }
        (Path { steps, ..like.clone() }, inputs)
    }
}

impl Region {
    fn edges(&self, is_true: &dyn Fn(Term) -> bool) -> Vec<EdgeId> {
        let (mut edges, mut at) = (Vec::new(), self.to);
        while let Some(arrivals) = self.arrivals.get(&at) {
            // The last one whose condition holds; the first has none.
            let Some(&(edge, from, _)) =
                arrivals.iter().skip(1).rev().find(|(_, _, first)| is_true(*first)).or(arrivals.first())
            else {
                break;
            };
            edges.push(edge);
            at = from;
            if at == self.from {
                break;
            }
        }
        edges.reverse();
        edges
    }
}
