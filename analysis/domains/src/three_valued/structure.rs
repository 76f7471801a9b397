//! Three-valued structures: individuals, and what predicates are of them. An individual with `eq = 1/2` is a *summary*: it stands for one concrete
//! individual or more. Knows how individuals are made, split and dropped; what the predicates mean, others know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    class::{Field, Unary, Var},
    logic::Kleene,
};

/// What a variable holds: the nullary part of a structure. A variable without an entry may hold anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Content {
    /// A pointer to the individual that the points-to predicate says, and null if there is none.
    Pointer,
    /// This number.
    Int(i128),
    /// The address of this variable.
    Address(Var),
    /// An address in a variable of which nothing is kept: an array, as a rule.
    Outside,
}

/// What one individual is, or each of those that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Individual {
    /// Bytes of the record.
    pub size: u64,
    /// Whether there may be several.
    pub summary: bool,
}

/// A three-valued structure. Predicates without a row are 0 everywhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Structure {
    contents: BTreeMap<Var, Content>,
    individuals: Vec<Individual>,
    unary: BTreeMap<Unary, Vec<Kleene>>,
    fields: BTreeMap<Field, Vec<Kleene>>,
    /// Whether there may be living objects on the heap that are no individuals.
    pub lost: bool,
}

impl Structure {
    /// Without individuals.
    pub fn new() -> Structure {
        Structure::default()
    }

    /// How many individuals there are.
    pub fn len(&self) -> usize {
        self.individuals.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.individuals.is_empty()
    }

    /// The individual.
    pub fn individual(&self, node: usize) -> Individual {
        self.individuals[node]
    }

    /// Whether it may stand for several.
    pub fn is_summary(&self, node: usize) -> bool {
        self.individuals[node].summary
    }

    /// Whether it may stand for several, from now on.
    pub fn set_summary(&mut self, node: usize, summary: bool) {
        self.individuals[node].summary = summary;
    }

    /// `eq`
    pub fn equal(&self, one: usize, other: usize) -> Kleene {
        match (one == other, self.is_summary(one)) {
            (false, _) => Kleene::False,
            (true, true) => Kleene::Unknown,
            (true, false) => Kleene::True,
        }
    }

    /// What a variable holds; `None`: anything.
    pub fn content(&self, var: Var) -> Option<Content> {
        self.contents.get(&var).copied()
    }

    /// What all variables hold of which that is known.
    pub fn contents(&self) -> &BTreeMap<Var, Content> {
        &self.contents
    }

    /// Changes what a variable holds; its points-to predicate is left as it is.
    pub fn set_content(&mut self, var: Var, content: Option<Content>) {
        match content {
            Some(content) => self.contents.insert(var, content),
            None => self.contents.remove(&var),
        };
    }

    /// The value of a unary predicate.
    pub fn unary(&self, predicate: Unary, node: usize) -> Kleene {
        self.unary.get(&predicate).map_or(Kleene::False, |row| row[node])
    }

    /// Unary predicates that are not 0 everywhere.
    pub fn unary_rows(&self) -> impl Iterator<Item = (Unary, &[Kleene])> {
        self.unary.iter().map(|(predicate, row)| (*predicate, &row[..]))
    }

    /// The values of a unary predicate.
    pub fn row(&self, predicate: Unary) -> Vec<Kleene> {
        self.unary.get(&predicate).cloned().unwrap_or_else(|| vec![Kleene::False; self.len()])
    }

    /// Sets a unary predicate.
    pub fn set_unary(&mut self, predicate: Unary, node: usize, value: Kleene) {
        if self.unary(predicate, node) != value {
            let mut row = self.row(predicate);
            row[node] = value;
            self.set_row(predicate, row);
        }
    }

    /// Sets all values of a unary predicate.
    pub fn set_row(&mut self, predicate: Unary, row: Vec<Kleene>) {
        if row.iter().any(|value| value.may_hold()) {
            self.unary.insert(predicate, row);
        } else {
            self.unary.remove(&predicate);
        }
    }

    /// Drops unary predicates.
    pub fn retain_unary(&mut self, keep: impl Fn(Unary) -> bool) {
        self.unary.retain(|predicate, _| keep(*predicate));
    }

    /// The value of a field predicate.
    pub fn field(&self, field: Field, from: usize, to: usize) -> Kleene {
        self.fields.get(&field).map_or(Kleene::False, |matrix| matrix[from * self.len() + to])
    }

    /// The fields that lead somewhere.
    pub fn edge_fields(&self) -> impl Iterator<Item = Field> {
        self.fields.keys().copied()
    }

    /// Sets a field predicate.
    pub fn set_field(&mut self, field: Field, from: usize, to: usize, value: Kleene) {
        if self.field(field, from, to) == value {
            return;
        }
        let len = self.len();
        let matrix = self.fields.entry(field).or_insert_with(|| vec![Kleene::False; len * len]);
        matrix[from * len + to] = value;
        if matrix.iter().all(|value| value.is_false()) {
            self.fields.remove(&field);
        }
    }

    /// Whom a field may lead to, with how certain that is.
    pub fn successors(&self, field: Field, from: usize) -> Vec<(usize, Kleene)> {
        let each = (0..self.len()).map(|to| (to, self.field(field, from, to)));
        each.filter(|(_, value)| value.may_hold()).collect()
    }

    /// Whose field may lead there.
    pub fn predecessors(&self, field: Field, to: usize) -> Vec<(usize, Kleene)> {
        let each = (0..self.len()).map(|from| (from, self.field(field, from, to)));
        each.filter(|(_, value)| value.may_hold()).collect()
    }

    /// A new individual of which every predicate is 0.
    pub fn add(&mut self, size: u64) -> usize {
        let kept: Vec<Option<usize>> = (0..self.len()).map(Some).chain([None]).collect();
        self.rearrange(&kept);
        let node = self.len() - 1;
        self.individuals[node] = Individual { size, summary: false };
        node
    }

    /// A second individual like this one: what holds of one holds of the other.
    pub fn duplicate(&mut self, node: usize) -> usize {
        let kept: Vec<Option<usize>> = (0..self.len()).chain([node]).map(Some).collect();
        self.rearrange(&kept);
        self.len() - 1
    }

    /// Keeps those individuals.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<Option<usize>> = (0..self.len()).filter(|node| keep(*node)).map(Some).collect();
        if kept.len() < self.len() {
            self.rearrange(&kept);
        }
    }

    /// New individuals, each of them like an old one, or new.
    pub(super) fn rearrange(&mut self, like: &[Option<usize>]) {
        let old = std::mem::take(self);
        let fresh = Individual { size: 0, summary: false };
        self.individuals =
            like.iter().map(|old_node| old_node.map_or(fresh, |node| old.individuals[node])).collect();
        self.lost = old.lost;
        for (predicate, row) in &old.unary {
            let values = like.iter().map(|old_node| old_node.map_or(Kleene::False, |node| row[node]));
            self.set_row(*predicate, values.collect());
        }
        for (field, matrix) in &old.fields {
            let value = |from: &Option<usize>, to: &Option<usize>| match (from, to) {
                (Some(from), Some(to)) => matrix[from * old.individuals.len() + to],
                _ => Kleene::False,
            };
            let new: Vec<Kleene> =
                like.iter().flat_map(|from| like.iter().map(move |to| value(from, to))).collect();
            if new.iter().any(|value| value.may_hold()) {
                self.fields.insert(*field, new);
            }
        }
        self.contents = old.contents;
    }

    /// The individuals that a variable may lead to.
    pub fn pointees(&self, var: Var) -> Vec<(usize, Kleene)> {
        let row = self.unary.get(&Unary::Points(var)).into_iter().flatten().copied().enumerate();
        row.filter(|(_, value)| value.may_hold()).collect()
    }

    /// The individual that a variable leads to, if that is certain.
    pub fn pointee(&self, var: Var) -> Option<usize> {
        match self.pointees(var)[..] {
            [(node, Kleene::True)] => Some(node),
            _ => None,
        }
    }

    /// The variables that may lead to an individual.
    pub fn variables(&self) -> Vec<Var> {
        let variables = self.unary.keys().filter_map(|predicate| match predicate {
            Unary::Points(var) => Some(*var),
            _ => None,
        });
        variables.collect()
    }

    /// Whether each individual is one, and every predicate is 0 or 1.
    pub fn is_two_valued(&self) -> bool {
        self.individuals.iter().all(|individual| !individual.summary)
            && self.unary.values().chain(self.fields.values()).flatten().all(|value| value.is_definite())
    }
}
