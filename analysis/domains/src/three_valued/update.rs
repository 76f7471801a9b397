//! Predicate update: what operations on pointers do to core predicates, and to instrumentation predicates as the difference that they make to
//! them. Where a difference is not known, the definition is looked at again. Law: a concrete heap before is embedded before, so it is after.

use std::collections::BTreeSet;

use super::{
    class::{Field, Links, ShapeClass, Unary, Var},
    coerce::sharing,
    formula::closure,
    logic::Kleene,
    structure::{Content, Structure},
};

/// So many steps back are looked at for a variable that leads to what is asked about.
const STEPS_BACK: u32 = 3;

/// What is reached from an individual, itself included.
pub fn reached_from(structure: &Structure, class: &ShapeClass, links: Links, node: usize) -> Vec<Kleene> {
    let none = BTreeSet::new();
    row(structure, links, class.links.get(links.0).unwrap_or(&none), node, STEPS_BACK)
}

fn row(
    structure: &Structure,
    links: Links,
    fields: &BTreeSet<Field>,
    node: usize,
    steps: u32,
) -> Vec<Kleene> {
    let leads = |var: &Var| {
        structure.pointee(*var) == Some(node) && structure.content(*var) == Some(Content::Pointer)
    };
    if let Some(var) = structure.variables().into_iter().find(leads) {
        return structure.row(Unary::Reach(var, links));
    }
    let walk: Vec<Field> = fields.iter().copied().collect();
    let mut known = closure(structure, &walk, node);
    known[node] = Kleene::True;
    if steps == 0 || structure.is_summary(node) {
        return known;
    }
    let before = walk.iter().flat_map(|field| {
        let from = structure.predecessors(*field, node).into_iter();
        from.filter(|(_, value)| value.is_true()).map(|(from, _)| (*field, from))
    });
    for (by, from) in before {
        if structure.is_summary(from) || from == node {
            continue;
        }
        let other_way = |field: &Field| *field != by && !structure.successors(*field, from).is_empty();
        let is_only_way = !walk.iter().any(other_way);
        let above = row(structure, links, fields, from, steps - 1);
        for to in (0..structure.len()).filter(|to| *to != node) {
            let bound = if to == from { structure.unary(Unary::Cycle(links), from) } else { above[to] };
            let says = if is_only_way || bound.is_false() { bound } else { Kleene::Unknown };
            known[to] = known[to].meet(says).unwrap_or(says);
        }
    }
    known
}

/// The variable may hold anything, or nothing is to be known of it.
pub fn forget(structure: &mut Structure, var: Var) {
    set_content(structure, var, None);
}

/// The variable holds something that is no pointer to an individual, null included.
pub fn set_content(structure: &mut Structure, var: Var, content: Option<Content>) {
    structure.set_content(var, content);
    structure.retain_unary(|predicate| predicate.var() != Some(var));
}

/// `x = y`, where `y` leads to this individual, which must be one.
pub fn point(structure: &mut Structure, class: &ShapeClass, var: Var, node: usize) {
    let rows: Vec<_> =
        class.each_links().map(|(links, _)| (links, reached_from(structure, class, links, node))).collect();
    set_content(structure, var, Some(Content::Pointer));
    structure.set_unary(Unary::Points(var), node, Kleene::True);
    for (links, row) in rows {
        structure.set_row(Unary::Reach(var, links), row);
    }
}

/// Recomputes whether what the field leads to leads back.
fn cancelled(structure: &Structure, there: Field, back: Field, node: usize) -> Kleene {
    let each = (0..structure.len())
        .map(|to| structure.field(there, node, to).negated().or(structure.field(back, to, node)));
    each.min().unwrap_or(Kleene::True)
}

/// `x->f = NULL`, of one individual whose field must be definite.
pub fn unlink(structure: &mut Structure, class: &ShapeClass, node: usize, field: Field) {
    structure.set_unary(Unary::Wild(field), node, Kleene::False);
    let Some((target, _)) = structure.successors(field, node).first().copied() else { return };
    let below: Vec<(Links, Vec<Kleene>, Vec<Kleene>)> = class
        .links_with(field)
        .map(|(links, _)| {
            let [from, to] = [node, target].map(|node| reached_from(structure, class, links, node));
            (links, from, to)
        })
        .collect();
    let before = structure.clone();
    structure.set_field(field, node, target, Kleene::False);
    for (links, from, to) in below {
        let Some(fields) = class.links.get(links.0) else { continue };
        cut_reach(structure, &before, links, fields, node, &to);
        let walk: Vec<Field> = fields.iter().copied().collect();
        let cycle = Unary::Cycle(links);
        for each in 0..structure.len() {
            let (old, through) = (before.unary(cycle, each), before.unary(cycle, node));
            let new = if walk.len() == 1 {
                old.and(through.and(from[each]).negated())
            } else if old.is_false() || through.is_false() || to[each].is_false() {
                old
            } else {
                let again = closure(structure, &walk, each)[each];
                if structure.is_summary(each) { again.join(Kleene::Unknown) } else { again }
            };
            structure.set_unary(cycle, each, new);
        }
        if before.unary(Unary::Shared(links), target).may_hold() {
            let now = sharing(structure, fields, target);
            structure.set_unary(Unary::Shared(links), target, now);
        }
    }
    for (there, back) in &class.cancels {
        if *there == field {
            structure.set_unary(Unary::Cancel(*there, *back), node, Kleene::True);
        }
        if *back == field {
            let now = cancelled(structure, *there, *back, target);
            structure.set_unary(Unary::Cancel(*there, *back), target, now);
        }
    }
}

/// Reachability without the step from `node`, which `structure` no longer has, to what reaches `below`.
fn cut_reach(
    structure: &mut Structure,
    before: &Structure,
    links: Links,
    fields: &BTreeSet<Field>,
    node: usize,
    below: &[Kleene],
) {
    let walk: Vec<Field> = fields.iter().copied().collect();
    let is_acyclic = before.unary(Unary::Cycle(links), node).is_false();
    // Each individual below has one way in, so that the step was the only way to all of them.
    let is_alone = |each: usize| {
        below[each].is_false()
            || [Unary::Shared(links), Unary::Cycle(links)].iter().all(|p| before.unary(*p, each).is_false())
    };
    let is_tree = is_acyclic && (0..before.len()).all(is_alone);
    for var in before.variables() {
        let reach = Unary::Reach(var, links);
        let old = before.row(reach);
        if old[node].is_false() {
            continue;
        }
        let start = before.pointee(var);
        let again = start.map(|start| {
            let mut row = closure(structure, &walk, start);
            row[start] = Kleene::True;
            row
        });
        let starts_below = !start.is_some_and(|start| below[start].is_false());
        let new = (0..before.len()).map(|each| {
            let cut = old[each].and(old[node].and(below[each]).negated());
            if old[each].is_false() || below[each].is_false() {
                old[each]
            } else if is_acyclic && walk.len() == 1 {
                // One way leads on from each, so whoever is behind the step is not before it.
                cut
            } else if is_tree && !starts_below {
                cut
            } else {
                again.as_ref().map_or(Kleene::Unknown, |row| row[each])
            }
        });
        structure.set_row(reach, new.collect());
    }
}

/// `x->f = y`, where `y` leads to `target`: the individuals are one each, and the field is null.
pub fn link(structure: &mut Structure, class: &ShapeClass, node: usize, field: Field, target: usize) {
    let below: Vec<(Links, Vec<Kleene>)> = class
        .links_with(field)
        .map(|(links, _)| (links, reached_from(structure, class, links, target)))
        .collect();
    for (links, to) in below {
        let Some(fields) = class.links.get(links.0) else { continue };
        for var in structure.variables() {
            let reach = Unary::Reach(var, links);
            let old = structure.row(reach);
            let new = old.iter().zip(&to).map(|(old_value, below)| old_value.or(old[node].and(*below)));
            structure.set_row(reach, new.collect());
        }
        let back = to[node];
        for (each, below) in to.iter().enumerate() {
            let cycle = Unary::Cycle(links);
            let is_on_it = fields.len() == 1 || each == node || each == target;
            let closes = back.and(*below).and(if is_on_it { Kleene::True } else { Kleene::Unknown });
            let now = structure.unary(cycle, each).or(closes);
            structure.set_unary(cycle, each, now);
        }
        let into = fields.iter().flat_map(|field| structure.predecessors(*field, target));
        let is_led_to = into.map(|(_, value)| value).max().unwrap_or(Kleene::False);
        let now = structure.unary(Unary::Shared(links), target).or(is_led_to);
        structure.set_unary(Unary::Shared(links), target, now);
    }
    structure.set_unary(Unary::Wild(field), node, Kleene::False);
    structure.set_field(field, node, target, Kleene::True);
    for (there, back) in &class.cancels {
        for (of, changed) in [(*there, node), (*back, target)] {
            if of == field {
                let now = cancelled(structure, *there, *back, changed);
                structure.set_unary(Unary::Cancel(*there, *back), changed, now);
            }
        }
    }
}

/// The field of one individual may hold anything; it must be definite before.
pub fn forget_field(structure: &mut Structure, class: &ShapeClass, node: usize, field: Field) {
    unlink(structure, class, node, field);
    structure.set_unary(Unary::Wild(field), node, Kleene::True);
}

/// An integer field gets a value, or one that is not known.
pub fn set_value(
    structure: &mut Structure,
    class: &ShapeClass,
    node: usize,
    field: Field,
    value: Option<i128>,
) {
    structure.set_unary(Unary::Given(field), node, Kleene::True);
    for constant in class.tracking.assertions.get(&field).into_iter().flatten() {
        let now = value.map_or(Kleene::Unknown, |value| Kleene::from(value == *constant));
        structure.set_unary(Unary::Equals(field, *constant), node, now);
    }
}

/// Nothing is known of an integer field any more, not even whether it has a value.
pub fn forget_value(structure: &mut Structure, class: &ShapeClass, node: usize, field: Field) {
    structure.set_unary(Unary::Given(field), node, Kleene::False);
    for constant in class.tracking.assertions.get(&field).into_iter().flatten() {
        structure.set_unary(Unary::Equals(field, *constant), node, Kleene::Unknown);
    }
}

/// A new individual, which nothing leads to.
pub fn allocate(structure: &mut Structure, class: &ShapeClass, size: u64, is_zeroed: bool) -> usize {
    let node = structure.add(size);
    let is_zero = |field: Field| is_zeroed && field.offset.saturating_add(field.bytes) <= size;
    for field in &class.pointers {
        structure.set_unary(Unary::Wild(*field), node, Kleene::from(!is_zero(*field)));
    }
    for (field, values) in class.integers() {
        if is_zero(field) {
            set_value(structure, class, node, field, Some(0));
            continue;
        }
        for value in values {
            structure.set_unary(Unary::Equals(field, *value), node, Kleene::Unknown);
        }
    }
    for (there, back) in &class.cancels {
        structure.set_unary(Unary::Cancel(*there, *back), node, Kleene::True);
    }
    node
}

/// `free(x)`, of one individual whose fields must be definite.
pub fn free(structure: &mut Structure, class: &ShapeClass, node: usize) {
    for field in &class.pointers {
        forget_field(structure, class, node, *field);
    }
    for (field, values) in class.integers() {
        structure.set_unary(Unary::Given(field), node, Kleene::False);
        for value in values {
            structure.set_unary(Unary::Equals(field, *value), node, Kleene::False);
        }
    }
    structure.set_unary(Unary::Freed, node, Kleene::True);
}

/// Drops individuals that no variable leads to, in any number of steps.
pub fn collect(structure: &mut Structure, class: &ShapeClass) {
    let mut may = vec![false; structure.len()];
    let mut open: Vec<usize> = Vec::new();
    for var in structure.variables() {
        open.extend(structure.pointees(var).iter().map(|(node, _)| *node));
    }
    let fields: Vec<Field> = structure.edge_fields().collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut may[node], true) {
            for field in &fields {
                open.extend(structure.successors(*field, node).iter().map(|(to, _)| *to));
            }
        }
    }
    if may.iter().all(|may| *may) {
        return;
    }
    let is_lost = |node: usize| {
        [Unary::Freed, Unary::Named].iter().all(|predicate| !structure.unary(*predicate, node).is_true())
    };
    let lost = (0..structure.len()).any(|node| !may[node] && is_lost(node));
    structure.lost |= lost;
    structure.retain(|node| may[node]);
    // What only dropped ones share is shared no more.
    for (links, fields) in class.each_links() {
        for node in 0..structure.len() {
            if structure.unary(Unary::Shared(links), node).may_hold() {
                let now = sharing(structure, fields, node);
                structure.set_unary(Unary::Shared(links), node, now);
            }
        }
    }
}
