//! The functions of a program as graphs that people look at: automata in C's words, and who calls whom. Plain data; knows no picture.

use std::collections::BTreeSet;

use proofline_cfa::{Callee, Function, Name, Op, Structure, op_text};
use proofline_verifier::{
    Program,
    sources::{Position, Sources},
};

/// A function that has a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Its name, unique in the program.
    pub name: Name,
    /// Its name in the text.
    pub position: Option<Position>,
    /// Its closing brace.
    pub closing: Option<Position>,
    /// Whom it calls by name, those without a body included.
    pub calls: BTreeSet<Name>,
    /// It also calls through pointers.
    pub calls_through_pointers: bool,
    /// Its automaton.
    pub automaton: Automaton,
}

/// Locations are numbers below [`Automaton::locations`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Automaton {
    /// How many locations there are.
    pub locations: u32,
    /// Where executions of the function begin.
    pub entry: u32,
    /// Where they return.
    pub exit: u32,
    /// Locations that each round of a loop passes.
    pub loop_heads: Vec<u32>,
    /// The error location of each obligation, in their order.
    pub errors: Vec<u32>,
    /// What happens between locations.
    pub edges: Vec<Step>,
}

/// An edge of an automaton.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// From this location.
    pub from: u32,
    /// To this one.
    pub to: u32,
    /// What happens, as C would say it; nothing where nothing happens that people would name.
    pub text: String,
    /// The text is a condition: only executions for which it holds go this way.
    pub is_condition: bool,
    /// The line that says so, from 1.
    pub line: Option<u32>,
}

/// The functions of a program, in the order of their names.
pub fn shapes(program: &Program, sources: &Sources) -> Vec<Shape> {
    program.functions.values().map(|function| shape(function, sources)).collect()
}

fn shape(function: &Function, sources: &Sources) -> Shape {
    let mut calls = BTreeSet::new();
    let mut calls_through_pointers = false;
    for edge in &function.edges {
        let Op::Call(call) = &edge.op else { continue };
        match call.callee {
            Callee::Direct(name) => drop(calls.insert(name)),
            Callee::Indirect(..) => calls_through_pointers = true,
        }
    }
    Shape {
        name: function.name,
        position: sources.definition(function.name),
        closing: sources.closing(function.name),
        calls,
        calls_through_pointers,
        automaton: automaton(function, sources),
    }
}

fn automaton(function: &Function, sources: &Sources) -> Automaton {
    let structure = Structure::of(function);
    let step = |edge: &proofline_cfa::Edge| Step {
        from: edge.from.0,
        to: edge.to.0,
        text: op_text(function, &edge.op).unwrap_or_default(),
        is_condition: matches!(edge.op, Op::Assume(_)),
        line: sources.position(function.name, edge.site).map(|position| position.line + 1),
    };
    Automaton {
        locations: function.locations,
        entry: function.entry.0,
        exit: function.exit.0,
        loop_heads: structure.loops().iter().map(|found| found.head.0).collect(),
        errors: function.obligations.iter().map(|obligation| obligation.error.0).collect(),
        edges: function.edges.iter().map(step).collect(),
    }
}
