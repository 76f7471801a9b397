//! First-order formulas with transitive closure over the predicates of structures, and their three-valued meaning. The embedding theorem says that what a
//! formula is in a structure is, or is known less well, in every structure that it is embedded in.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    class::{Field, Unary},
    logic::Kleene,
    structure::Structure,
};

/// A formula; its variables are numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Formula {
    /// 0 or 1.
    Constant(bool),
    /// A predicate of one individual.
    Unary(Unary, u32),
    /// The pointer field of the first leads to the second.
    Field(Field, u32, u32),
    /// They are one individual.
    Equal(u32, u32),
    /// The second is reached from the first along the fields in any number of steps, 0 included.
    Closure(Vec<Field>, u32, u32),
    /// Not.
    Not(Arc<Formula>),
    /// Both.
    And(Arc<Formula>, Arc<Formula>),
    /// One of them, or both.
    Or(Arc<Formula>, Arc<Formula>),
    /// There is such an individual.
    Exists(u32, Arc<Formula>),
}

impl Formula {
    /// Not.
    #[must_use]
    pub fn negated(self) -> Formula {
        Formula::Not(Arc::new(self))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Formula) -> Formula {
        Formula::And(Arc::new(self), Arc::new(other))
    }

    /// One of them, or both.
    #[must_use]
    pub fn or(self, other: Formula) -> Formula {
        Formula::Or(Arc::new(self), Arc::new(other))
    }

    /// There is such an individual.
    #[must_use]
    pub fn exists(self, variable: u32) -> Formula {
        Formula::Exists(variable, Arc::new(self))
    }

    /// Its value where the free variables are these individuals. What is free and is none: not known.
    pub fn value(&self, structure: &Structure, free: &BTreeMap<u32, usize>) -> Kleene {
        let at = |variable: &u32| free.get(variable).copied();
        let known = match self {
            Formula::Constant(truth) => Some(Kleene::from(*truth)),
            Formula::Unary(predicate, variable) => at(variable).map(|node| structure.unary(*predicate, node)),
            Formula::Field(field, from, to) => {
                at(from).zip(at(to)).map(|(from, to)| structure.field(*field, from, to))
            }
            Formula::Equal(one, other) => {
                at(one).zip(at(other)).map(|(one, other)| structure.equal(one, other))
            }
            Formula::Closure(fields, from, to) => {
                let ends = at(from).zip(at(to));
                ends.map(|(from, to)| closure(structure, fields, from)[to].or(structure.equal(from, to)))
            }
            Formula::Not(inner) => Some(inner.value(structure, free).negated()),
            Formula::And(a, b) => Some(a.value(structure, free).and(b.value(structure, free))),
            Formula::Or(a, b) => Some(a.value(structure, free).or(b.value(structure, free))),
            Formula::Exists(variable, inner) => {
                let each = (0..structure.len()).map(|node| {
                    let mut free = free.clone();
                    free.insert(*variable, node);
                    inner.value(structure, &free)
                });
                Some(each.max().unwrap_or(Kleene::False))
            }
        };
        known.unwrap_or(Kleene::Unknown)
    }
}

/// What is reached from an individual in one step or more.
pub fn closure(structure: &Structure, fields: &[Field], from: usize) -> Vec<Kleene> {
    let mut reached = vec![Kleene::False; structure.len()];
    let mut open = Vec::new();
    let visit = |from: usize, far: Kleene, reached: &mut Vec<Kleene>, open: &mut Vec<usize>| {
        for field in fields {
            for (to, known) in reached.iter_mut().enumerate() {
                let now = structure.field(*field, from, to).and(far);
                if now > *known {
                    *known = now;
                    open.push(to);
                }
            }
        }
    };
    visit(from, Kleene::True, &mut reached, &mut open);
    while let Some(node) = open.pop() {
        let far = reached[node];
        visit(node, far, &mut reached, &mut open);
    }
    reached
}
