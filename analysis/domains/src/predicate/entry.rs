//! The state in which execution begins: globals have their initial values where the program starts, and any values in a library.

use std::sync::Arc;

use proofline_cfa::{Constant, Name, Object};
use proofline_smt::{Sort, Term, build as t};

use super::{
    PredicateAnalysis,
    state::{Origin, PathFormula, PredicateState},
};
use proofline_encoding::Key;

/// More initial elements than this are left unknown.
const MOST_ELEMENTS: usize = 512;

impl PredicateAnalysis {
    /// At the entry of a function that has not been called.
    pub(super) fn entry_state(&self, entry: Name) -> PredicateState {
        let scope = self.scope(entry);
        let ghosts = scope.identity_at_entry();
        let mut values = ghosts.clone();
        let program = self.env.program();
        // Constructors run before and change what they like.
        let early: Vec<Name> =
            program.functions.values().filter(|f| f.attributes.runs_outside_main).map(|f| f.name).collect();
        for (key, value) in &mut values {
            let object = super::scope::object_of(*key);
            let changed_early = object.is_none_or(|object| {
                early.iter().any(|f| {
                    let writes = self.env.writes(*f);
                    writes.contains(&object) || writes.contains(&Object::External)
                })
            });
            if !changed_early && let Some(initial) = self.initial(*key) {
                *value = initial;
            }
        }
        let path = PathFormula {
            guard: t::bool(true),
            origin: Origin::new(entry, self.env.function(entry).map_or(proofline_cfa::Loc(0), |f| f.entry)),
            is_trivial: false,
            is_rooted: true,
            fresh: 0,
            values: Arc::new(values),
            ghosts: Arc::new(ghosts),
            merged: Vec::new(),
        };
        PredicateState { function: entry, abstraction: t::bool(true), path: Arc::new(path) }
    }

    /// The initial value of a cell, where it is known.
    fn initial(&self, key: Key) -> Option<Term> {
        let (Key::Cell(Object::Global(name), ..) | Key::Elements(Object::Global(name), ..)) = key else {
            return None;
        };
        let program = self.env.program();
        let global = program.globals.get(&name)?;
        if !global.keeps_initial(self.options.entry) {
            return None;
        }
        match key {
            Key::Cell(_, offset, scalar) => {
                let size = program.scalar_bytes(scalar);
                // Initial values that overlap the cell, whatever their format.
                let mut overlapping = global.init.iter().filter(|initial| {
                    initial.offset < offset + size
                        && offset < initial.offset + program.scalar_bytes(initial.scalar)
                });
                match (overlapping.next(), overlapping.next()) {
                    (None, _) => Some(t::int(0)),
                    (Some(one), None)
                        if one.offset == offset && one.scalar == scalar && one.bits.is_none() =>
                    {
                        self.constant(&one.value)
                    }
                    _ => None,
                }
            }
            Key::Elements(_, stride, inside, scalar) => {
                if global.init.len() > MOST_ELEMENTS {
                    return None;
                }
                let mut array = t::const_array(Sort::array(Sort::Int, Sort::Int), t::int(0));
                for initial in &global.init {
                    if initial.scalar != scalar || initial.bits.is_some() {
                        // An element of another format lies elsewhere, or over these.
                        let end = initial.offset + program.scalar_bytes(initial.scalar);
                        let apart = (initial.offset..end).all(|byte| {
                            let at = byte % stride;
                            at < inside || at >= inside + program.scalar_bytes(scalar)
                        });
                        if apart {
                            continue;
                        }
                        return None;
                    }
                    if initial.offset % stride == inside {
                        let value = self.constant(&initial.value)?;
                        array = t::store(array, t::int(initial.offset / stride), value);
                    }
                }
                Some(array)
            }
            Key::Local(..) => None,
        }
    }

    fn constant(&self, value: &Constant) -> Option<Term> {
        match value {
            Constant::Int(value) => Some(t::int(*value)),
            Constant::Address(name, offset) => {
                let base = self.layout.address(Object::Global(*name))?;
                Some(t::int(i128::from(base) + i128::from(*offset)))
            }
            // Floats are opaque; functions and the rest are left open.
            Constant::Float(_) | Constant::Function(_) | Constant::Unknown => None,
        }
    }
}
