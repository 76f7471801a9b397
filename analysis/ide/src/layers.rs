//! The layers between text and verdicts, printed: tokens, trees, typed bodies, automata, call graphs, blocks, abstract states.

pub use proofline_verifier::{
    Budget, Entry, GraphFormat, Name, Subject,
    dump::*,
    engines::Features,
    entry_points::{Scope, Whole, entry_points},
    inspect::{Domain, View, view, view_predicates},
    load::{LoadError, Options, load},
};
