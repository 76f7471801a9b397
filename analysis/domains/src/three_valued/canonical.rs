//! Canonical abstraction: individuals that agree on the abstraction predicates are merged, so that there are finitely many structures; and embedding,
//! which is how one structure covers another. Law: every structure is embedded in its canonical abstraction.

use std::collections::BTreeMap;

use super::{
    class::{ShapeClass, Unary},
    logic::Kleene,
    structure::Structure,
};

/// An individual's name: its size, and the values of the abstraction predicates that are not 0.
type Canonical = (u64, Vec<(Unary, Kleene)>);

fn names(structure: &Structure, class: &ShapeClass, counts: &dyn Fn(Unary) -> bool) -> Vec<Canonical> {
    let mut names: Vec<Canonical> =
        (0..structure.len()).map(|node| (structure.individual(node).size, Vec::new())).collect();
    let is_in_name = |predicate: Unary| class.is_abstraction(predicate) && counts(predicate);
    for (predicate, row) in structure.unary_rows().filter(|(predicate, _)| is_in_name(*predicate)) {
        for (name, value) in names.iter_mut().zip(row) {
            if value.may_hold() {
                name.1.push((predicate, *value));
            }
        }
    }
    names
}

/// The canonical abstraction, with its individuals in the order of their names.
pub fn abstracted(structure: &Structure, class: &ShapeClass) -> Structure {
    let mut groups: BTreeMap<Canonical, Vec<usize>> = BTreeMap::new();
    for (node, name) in names(structure, class, &|_| true).into_iter().enumerate() {
        groups.entry(name).or_default().push(node);
    }
    let groups: Vec<Vec<usize>> = groups.into_values().collect();
    merged(structure, &groups)
}

/// The structure whose individuals are these groups.
pub fn merged(structure: &Structure, groups: &[Vec<usize>]) -> Structure {
    let first: Vec<Option<usize>> = groups.iter().map(|group| group.first().copied()).collect();
    let mut result = structure.clone();
    result.rearrange(&first);
    let joined = |values: &mut dyn Iterator<Item = Kleene>| values.reduce(Kleene::join).unwrap_or_default();
    for (node, group) in groups.iter().enumerate() {
        let is_summary = group.len() > 1 || group.iter().any(|old| structure.is_summary(*old));
        result.set_summary(node, is_summary);
    }
    for (predicate, row) in structure.unary_rows() {
        let values = groups.iter().map(|group| joined(&mut group.iter().map(|old| row[*old])));
        result.set_row(predicate, values.collect());
    }
    let fields: Vec<_> = structure.edge_fields().collect();
    for field in fields {
        for (from, sources) in groups.iter().enumerate() {
            for (to, targets) in groups.iter().enumerate() {
                let mut pairs = sources.iter().flat_map(|from| targets.iter().map(move |to| (*from, *to)));
                let value = joined(&mut pairs.by_ref().map(|(from, to)| structure.field(field, from, to)));
                result.set_field(field, from, to, value);
            }
        }
    }
    result
}

/// Whether the first structure is embedded in the second by this map of individuals, which must meet every individual of the second.
pub fn embeds(lower: &Structure, upper: &Structure, map: &[usize]) -> bool {
    let mut counts = vec![0usize; upper.len()];
    for (node, image) in map.iter().enumerate() {
        let Some(count) = counts.get_mut(*image) else { return false };
        *count += if lower.is_summary(node) { 2 } else { 1 };
        if lower.individual(node).size != upper.individual(*image).size {
            return false;
        }
    }
    let fits = |(node, count): (usize, &usize)| *count == 1 || *count > 1 && upper.is_summary(node);
    if map.len() != lower.len() || lower.lost && !upper.lost || !counts.iter().enumerate().all(fits) {
        return false;
    }
    let knows = upper.contents().iter().all(|(var, content)| lower.content(*var) == Some(*content));
    if !knows {
        return false;
    }
    let predicates: Vec<Unary> =
        lower.unary_rows().chain(upper.unary_rows()).map(|(predicate, _)| predicate).collect();
    let agrees = |predicate: &Unary| {
        let mut each = map.iter().enumerate();
        // What a variable that may hold anything leads to, nobody asks.
        predicate.var().is_some_and(|var| upper.content(var).is_none())
            || each
                .all(|(node, image)| lower.unary(*predicate, node).is_below(upper.unary(*predicate, *image)))
    };
    if !predicates.iter().all(agrees) {
        return false;
    }
    let fields = lower.edge_fields().chain(upper.edge_fields());
    let pairs = |of: &[usize]| -> Vec<(usize, usize)> {
        (0..of.len()).flat_map(|from| (0..of.len()).map(move |to| (from, to))).collect()
    };
    let pairs = pairs(map);
    fields.into_iter().all(|field| {
        pairs.iter().all(|(from, to)| {
            lower.field(field, *from, *to).is_below(upper.field(field, map[*from], map[*to]))
        })
    })
}

/// Whether the first structure is embedded in the second, as far as that is found: each individual is sent to the one of the same name, and to one
/// whose name says less where there is only one.
pub fn is_embedded(lower: &Structure, upper: &Structure, class: &ShapeClass) -> bool {
    if lower == upper {
        return true;
    }
    if lower.len() < upper.len() {
        return false;
    }
    // What the upper one does not know tells nothing apart.
    let counts = |predicate: Unary| predicate.var().is_none_or(|var| upper.content(var).is_some());
    let [below, above] = [lower, upper].map(|structure| names(structure, class, &counts));
    let mut by_name: BTreeMap<&Canonical, Vec<usize>> = BTreeMap::new();
    for (node, name) in above.iter().enumerate() {
        by_name.entry(name).or_default().push(node);
    }
    let says_less =
        |node: usize, image: usize| {
            lower.individual(node).size == upper.individual(image).size
                && below[node].1.iter().chain(&above[image].1).all(|(predicate, _)| {
                    lower.unary(*predicate, node).is_below(upper.unary(*predicate, image))
                })
        };
    let mut map = Vec::new();
    for (node, name) in below.iter().enumerate() {
        let same = by_name.get(name).map_or(&[][..], |nodes| &nodes[..]);
        let image = match same {
            [image] => *image,
            _ => {
                let candidates: Vec<usize> =
                    (0..upper.len()).filter(|image| says_less(node, *image)).collect();
                match candidates[..] {
                    [image] => image,
                    _ => return false,
                }
            }
        };
        map.push(image);
    }
    embeds(lower, upper, &map)
}
