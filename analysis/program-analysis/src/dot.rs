//! Call graphs for Graphviz. Must not know how they were found.

use std::fmt::Write;

use proofline_cfa::dot::quoted;

use crate::CallGraph;

/// The call graph; recursive components are boxes.
pub fn call_graph(graph: &CallGraph) -> String {
    let mut out = String::from("digraph calls {\n  node [shape=box, fontname=monospace];\n");
    for (index, members) in graph.components().iter().enumerate() {
        let recursive = members.first().is_some_and(|member| graph.is_recursive(*member));
        if recursive {
            let _ = writeln!(out, "  subgraph cluster_{index} {{ color=gray;");
        }
        for member in members {
            let _ = writeln!(out, "  {};", quoted(member));
        }
        if recursive {
            out.push_str("  }\n");
        }
    }
    for caller in graph.components().iter().flatten() {
        for callee in graph.callees(*caller) {
            let _ = writeln!(out, "  {} -> {};", quoted(caller), quoted(callee));
        }
    }
    out.push_str("}\n");
    out
}
