//! Automata for Graphviz. Must not know analyses.

use std::fmt::Write;

use crate::{
    function::Function,
    structure::Structure,
    text::{self, Surroundings},
};

/// A string in Graphviz's notation.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// An automaton: locations (heads of loops are doubled, error locations red), edges with what they do.
pub fn automaton(function: &Function, surroundings: Surroundings<'_>) -> String {
    let structure = Structure::of(function);
    let mut out =
        format!("digraph {} {{\n  node [shape=circle, fontname=monospace];\n", quoted(&function.name));
    out.push_str("  edge [fontname=monospace];\n");
    for index in 0..function.locations {
        let loc = crate::Loc(index);
        let mut attributes = Vec::new();
        if loc == function.entry {
            attributes.push("style=bold".to_owned());
        }
        if loc == function.exit {
            attributes.push("shape=square".to_owned());
        }
        if let Some(id) = function.obligation_at(loc) {
            let obligation = &function.obligations[id.index()];
            let label = format!("{loc}\n{}\n{}", obligation.check.code(), obligation.text);
            attributes.push(format!("shape=box, color=red, label={}", quoted(&label)));
        }
        if structure.is_loop_head(loc) {
            attributes.push("shape=doublecircle".to_owned());
        }
        if !structure.is_reachable(loc) {
            attributes.push("color=gray".to_owned());
        }
        let _ = writeln!(out, "  {loc} [{}];", attributes.join(", "));
    }
    for edge in &function.edges {
        let label = quoted(&text::print_op(&edge.op, function, surroundings));
        let _ = writeln!(out, "  {} -> {} [label={label}];", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}
