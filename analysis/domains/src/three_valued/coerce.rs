//! Coerce: constraints that every concrete structure keeps sharpen 1/2, and drop structures that stand for nothing. They come from C (a variable leads
//! to one individual at most, a field to one, a freed individual nowhere) and from the definitions of the instrumentation predicates.
//! Law: no concrete structure is lost.

use std::collections::BTreeSet;

use super::{
    class::{Field, Links, ShapeClass, Unary, Var},
    formula::closure,
    logic::Kleene,
    structure::{Content, Structure},
};

/// No concrete structure is described.
struct Contradiction;

type Result = std::result::Result<(), Contradiction>;

/// The sharpened structure; `None`: it stands for nothing.
pub fn coerce(structure: &Structure, class: &ShapeClass) -> Option<Structure> {
    let mut work = Work { structure: structure.clone(), class, changed: true };
    while std::mem::take(&mut work.changed) {
        work.pass().ok()?;
    }
    Some(work.structure)
}

struct Work<'a> {
    structure: Structure,
    class: &'a ShapeClass,
    changed: bool,
}

impl Work<'_> {
    fn pass(&mut self) -> Result {
        self.variables()?;
        self.fields()?;
        let vars: Vec<Var> = self.structure.contents().keys().copied().collect();
        for (links, fields) in self.class.each_links() {
            for var in &vars {
                if self.structure.content(*var) == Some(Content::Pointer) {
                    self.reach(*var, links, fields)?;
                }
            }
            self.sharing(links, fields)?;
            self.cycles(links, fields, &vars)?;
        }
        for (there, back) in &self.class.cancels {
            self.cancels(*there, *back)?;
        }
        self.values()
    }

    /// The predicate has this value for each individual that the node stands for.
    fn unary(&mut self, predicate: Unary, node: usize, value: Kleene) -> Result {
        let old = self.structure.unary(predicate, node);
        let new = old.meet(value).ok_or(Contradiction)?;
        if new != old {
            self.structure.set_unary(predicate, node, new);
            self.changed = true;
        }
        Ok(())
    }

    fn field(&mut self, field: Field, from: usize, to: usize, value: Kleene) -> Result {
        let old = self.structure.field(field, from, to);
        let new = old.meet(value).ok_or(Contradiction)?;
        if new != old {
            self.structure.set_field(field, from, to, new);
            self.changed = true;
        }
        Ok(())
    }

    fn single(&mut self, node: usize) {
        if self.structure.is_summary(node) {
            self.structure.set_summary(node, false);
            self.changed = true;
        }
    }

    fn nodes(&self) -> std::ops::Range<usize> {
        0..self.structure.len()
    }

    /// A variable leads to one individual at most.
    fn variables(&mut self) -> Result {
        for var in self.structure.variables() {
            let certain = self.structure.pointees(var).into_iter().find(|(_, value)| value.is_true());
            if let Some((to, _)) = certain {
                self.single(to);
                for other in self.nodes().filter(|other| *other != to) {
                    self.unary(Unary::Points(var), other, Kleene::False)?;
                }
            }
        }
        Ok(())
    }

    /// A field leads to one individual at most, that of a freed one to none, and one that may hold anything to none that is known.
    fn fields(&mut self) -> Result {
        for field in self.structure.edge_fields().collect::<Vec<_>>() {
            for from in self.nodes() {
                let nowhere = self.structure.unary(Unary::Wild(field), from).is_true()
                    || self.structure.unary(Unary::Freed, from).is_true();
                let targets = self.structure.successors(field, from);
                let certain = targets.iter().find(|(_, value)| value.is_true());
                for (to, _) in targets.iter().filter(|_| nowhere) {
                    self.field(field, from, *to, Kleene::False)?;
                }
                if let Some((to, _)) = certain {
                    self.single(*to);
                    self.unary(Unary::Wild(field), from, Kleene::False)?;
                    for (other, _) in targets.iter().filter(|(other, _)| other != to) {
                        self.field(field, from, *other, Kleene::False)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What is reached is what the variable leads to, and whatever a reached one leads to.
    fn reach(&mut self, var: Var, links: Links, fields: &BTreeSet<Field>) -> Result {
        let reach = Unary::Reach(var, links);
        let starts = self.structure.pointees(var);
        let mut may = vec![false; self.structure.len()];
        let mut open: Vec<usize> = starts.iter().map(|(node, _)| *node).collect();
        for (start, value) in &starts {
            if value.is_true() {
                self.unary(reach, *start, Kleene::True)?;
            }
        }
        while let Some(node) = open.pop() {
            if may[node] || self.structure.unary(reach, node).is_false() {
                continue;
            }
            may[node] = true;
            for field in fields {
                open.extend(self.structure.successors(*field, node).iter().map(|(to, _)| *to));
            }
        }
        for node in self.nodes().filter(|node| !may[*node]) {
            self.unary(reach, node, Kleene::False)?;
        }
        for from in self.nodes().filter(|from| may[*from]) {
            if !self.structure.unary(reach, from).is_true() {
                continue;
            }
            for field in fields {
                for (to, value) in self.structure.successors(*field, from) {
                    if value.is_true() {
                        self.unary(reach, to, Kleene::True)?;
                    } else if self.structure.unary(reach, to).is_false() {
                        self.field(*field, from, to, Kleene::False)?;
                    }
                }
            }
        }
        for node in self.nodes() {
            let is_start = starts.iter().any(|(start, _)| *start == node);
            if is_start || self.structure.is_summary(node) || !self.structure.unary(reach, node).is_true() {
                continue;
            }
            // The last step there comes from another individual that is reached.
            let into = self.edges_into(fields, node);
            let mut sources = into
                .iter()
                .filter(|(from, ..)| *from != node && self.structure.unary(reach, *from).may_hold());
            if let (Some((from, field, _)), None) = (sources.next(), sources.next())
                && !self.structure.is_summary(*from)
            {
                let (from, field) = (*from, *field);
                self.field(field, from, node, Kleene::True)?;
                self.unary(reach, from, Kleene::True)?;
            }
        }
        Ok(())
    }

    fn edges_into(&self, fields: &BTreeSet<Field>, node: usize) -> Vec<(usize, Field, Kleene)> {
        let each = fields.iter().flat_map(|field| {
            let sources = self.structure.predecessors(*field, node).into_iter();
            sources.map(|(from, value)| (from, *field, value))
        });
        each.collect()
    }

    /// What is not shared has one incoming field at most.
    fn sharing(&mut self, links: Links, fields: &BTreeSet<Field>) -> Result {
        for node in self.nodes() {
            let shared = Unary::Shared(links);
            let into = self.edges_into(fields, node);
            self.unary(shared, node, sharing(&self.structure, fields, node))?;
            if !self.structure.unary(shared, node).is_false() {
                continue;
            }
            if let Some((from, field, _)) = into.iter().find(|(.., value)| value.is_true()) {
                self.single(*from);
                for (other, by, _) in into.iter().filter(|(other, by, _)| (other, by) != (from, field)) {
                    self.field(*by, *other, node, Kleene::False)?;
                }
            }
        }
        Ok(())
    }

    fn cycles(&mut self, links: Links, fields: &BTreeSet<Field>, vars: &[Var]) -> Result {
        let cycle = Unary::Cycle(links);
        let walk: Vec<Field> = fields.iter().copied().collect();
        for node in self.nodes() {
            let again = closure(&self.structure, &walk, node)[node];
            let is_summary = self.structure.is_summary(node);
            if again.is_false() || again.is_true() && !is_summary {
                self.unary(cycle, node, again)?;
            }
            match self.structure.unary(cycle, node) {
                Kleene::False => {
                    if !is_summary {
                        for field in fields {
                            self.field(*field, node, node, Kleene::False)?;
                        }
                    }
                    // Nothing that is reached from it leads back to it.
                    let here = vars.iter().filter(|var| self.structure.pointee(**var) == Some(node));
                    let Some(var) = here.copied().next() else { continue };
                    for from in self.nodes() {
                        if self.structure.unary(Unary::Reach(var, links), from).is_true() {
                            for field in fields {
                                self.field(*field, from, node, Kleene::False)?;
                            }
                        }
                    }
                }
                Kleene::True if walk.len() == 1 => {
                    for (to, value) in self.structure.successors(walk[0], node) {
                        if self.structure.unary(cycle, to).is_false() {
                            self.field(walk[0], node, to, Kleene::False)?;
                        } else if value.is_true() {
                            self.unary(cycle, to, Kleene::True)?;
                        }
                    }
                }
                Kleene::True | Kleene::Unknown => {}
            }
        }
        Ok(())
    }

    /// What leads there is led back to.
    fn cancels(&mut self, there: Field, back: Field) -> Result {
        let cancel = Unary::Cancel(there, back);
        for from in self.nodes() {
            let targets = self.structure.successors(there, from);
            let certain = targets.iter().find(|(_, value)| value.is_true()).map(|(to, _)| *to);
            if targets.is_empty() {
                self.unary(cancel, from, Kleene::True)?;
            }
            match self.structure.unary(cancel, from) {
                Kleene::True => {
                    for (to, _) in &targets {
                        if self.structure.field(back, *to, from).is_false() {
                            self.field(there, from, *to, Kleene::False)?;
                        }
                    }
                    if let Some(to) = certain {
                        self.single(from);
                        self.field(back, to, from, Kleene::True)?;
                    }
                }
                Kleene::False => {
                    if let Some(to) = certain
                        && !self.structure.is_summary(from)
                    {
                        self.field(back, to, from, Kleene::False)?;
                    }
                }
                Kleene::Unknown => {
                    if let Some(to) = certain
                        && !self.structure.is_summary(from)
                    {
                        let value = self.structure.field(back, to, from);
                        self.unary(cancel, from, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// An integer field has one value.
    fn values(&mut self) -> Result {
        for (field, values) in self.class.integers() {
            for node in self.nodes() {
                let is_value =
                    |value: &&i128| self.structure.unary(Unary::Equals(field, **value), node).is_true();
                let Some(certain) = values.iter().find(is_value) else { continue };
                for other in values.iter().filter(|other| *other != certain) {
                    self.unary(Unary::Equals(field, *other), node, Kleene::False)?;
                }
            }
        }
        Ok(())
    }
}

/// What the definition of sharing says, as far as counting the fields that lead there tells.
pub(super) fn sharing(structure: &Structure, fields: &BTreeSet<Field>, node: usize) -> Kleene {
    let (mut certain, mut possible) = (0, 0);
    for field in fields {
        for (from, value) in structure.predecessors(*field, node) {
            certain += u32::from(value.is_true());
            possible += if structure.is_summary(from) { 2 } else { 1 };
        }
    }
    match (certain, possible) {
        (2.., _) if !structure.is_summary(node) => Kleene::True,
        (_, 0 | 1) => Kleene::False,
        _ => Kleene::Unknown,
    }
}
