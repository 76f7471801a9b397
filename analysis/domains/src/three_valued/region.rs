//! The states of the analysis: shape regions, which are sets of structures of one shape class.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::Name;
use serde::{Deserialize, Serialize};

use super::{canonical::is_embedded, class::ShapeClass, operation::settled, structure::Structure, update};

/// A state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ShapeRegion {
    /// Any memory, with so many frames below the innermost one.
    Unknown(u32),
    /// One of these structures.
    Known(Known),
}

/// What is known.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Known {
    /// The functions whose calls are open, the innermost one last.
    pub frames: Arc<[Name]>,
    /// Canonical structures, none of which covers another.
    pub structures: BTreeSet<Arc<Structure>>,
}

impl ShapeRegion {
    /// The number of the innermost frame.
    pub fn depth(&self) -> u32 {
        match self {
            ShapeRegion::Unknown(depth) => *depth,
            ShapeRegion::Known(known) => known.frames.len().saturating_sub(1) as u32,
        }
    }
}

impl Known {
    /// Without those that others cover. `None`: there are none.
    pub fn of(
        frames: Arc<[Name]>,
        structures: impl IntoIterator<Item = Arc<Structure>>,
        class: &ShapeClass,
    ) -> Option<Known> {
        let all: BTreeSet<Arc<Structure>> = structures.into_iter().collect();
        let mut kept: Vec<Arc<Structure>> = Vec::new();
        for structure in &all {
            if kept.iter().any(|other| is_embedded(structure, other, class)) {
                continue;
            }
            kept.retain(|other| !is_embedded(other, structure, class));
            kept.push(structure.clone());
        }
        let mut structures: BTreeSet<Arc<Structure>> = kept.into_iter().collect();
        // Embeddings that are found need not compose to one that is.
        for structure in all {
            if !structures.iter().any(|other| is_embedded(&structure, other, class)) {
                structures.insert(structure);
            }
        }
        (!structures.is_empty()).then_some(Known { frames, structures })
    }

    /// Whether each structure is covered by one of the others.
    pub fn is_below(&self, other: &Known, class: &ShapeClass) -> bool {
        let is_below = |structure: &Arc<Structure>| {
            other.structures.contains(structure)
                || other.structures.iter().any(|upper| is_covered(structure, upper, class))
        };
        self.frames == other.frames && self.structures.iter().all(is_below)
    }
}

/// Whether one structure covers another, perhaps when what it does not know of variables is forgotten of the other, too.
fn is_covered(lower: &Structure, upper: &Structure, class: &ShapeClass) -> bool {
    if is_embedded(lower, upper, class) {
        return true;
    }
    let unknown = || lower.contents().keys().filter(|var| upper.content(**var).is_none());
    if unknown().next().is_none() || !upper.contents().keys().all(|var| lower.content(*var).is_some()) {
        return false;
    }
    let mut weaker = lower.clone();
    for var in unknown() {
        update::forget(&mut weaker, *var);
    }
    settled(&weaker, class).is_none_or(|weaker| is_embedded(&weaker, upper, class))
}
