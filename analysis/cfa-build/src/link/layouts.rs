//! Records: tags that mean different things in different units are told apart. Decided by the units' records alone.

use std::collections::{BTreeMap, BTreeSet};

use proofline_hir::{Name, Records, Type, TypeKind};

use super::renames::{Applied, Renames};

/// The records of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layouts {
    records: Records,
    renamed: Vec<BTreeMap<Name, Name>>,
}

impl Layouts {
    /// Of a program of units with these records, in their order.
    pub fn of<'r>(units: impl IntoIterator<Item = &'r Records>) -> Layouts {
        let mut layouts = Layouts::default();
        for unit in units {
            let renames = Renames::of_tags(new_tags(&layouts.records, unit));
            let applied = Applied::new(&renames);
            for record in unit.values() {
                let record = applied.record(record);
                layouts.records.entry(record.tag).or_insert(record);
            }
            layouts.renamed.push(renames.into_tags());
        }
        layouts
    }

    /// By tag of the program.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// New tags of a unit, where they clash.
    pub fn renamed(&self, unit: usize) -> Option<&BTreeMap<Name, Name>> {
        self.renamed.get(unit)
    }
}

/// Tags of the unit that mean something else in the program so far, and those whose records mention one.
fn new_tags(known: &Records, unit: &Records) -> BTreeMap<Name, Name> {
    let mut clashing: BTreeSet<Name> = BTreeSet::new();
    for (tag, record) in unit {
        if known.get(tag).is_some_and(|known| known != record) {
            clashing.insert(*tag);
        }
    }
    loop {
        let before = clashing.len();
        for (tag, record) in unit {
            if !clashing.contains(tag) && record.fields.iter().any(|field| mentions(field.ty, &clashing)) {
                clashing.insert(*tag);
            }
        }
        if clashing.len() == before {
            break;
        }
    }
    let mut tags = BTreeMap::new();
    for tag in clashing {
        let free = (2..)
            .map(|n| Name::new(&format!("{tag}~{n}")))
            .find(|name| !known.contains_key(name) && !unit.contains_key(name));
        tags.extend(free.map(|free| (tag, free)));
    }
    tags
}

fn mentions(ty: Type, tags: &BTreeSet<Name>) -> bool {
    match ty.kind() {
        TypeKind::Record(tag) => tags.contains(tag),
        TypeKind::Pointer(inner) | TypeKind::Array(inner, _) | TypeKind::Vector(inner, _) => {
            mentions(*inner, tags)
        }
        TypeKind::Function(signature) => {
            mentions(signature.result, tags) || signature.parameters.iter().any(|ty| mentions(*ty, tags))
        }
        TypeKind::Void
        | TypeKind::Bool
        | TypeKind::Int(_)
        | TypeKind::Float(_)
        | TypeKind::Complex(_)
        | TypeKind::Enum(..)
        | TypeKind::VaList
        | TypeKind::Error => false,
    }
}
