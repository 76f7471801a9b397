//! Every layer as text, for looking inside.

use std::{fmt::Write, path::Path};

use proofline_cfa::Name;
use proofline_syntax::{Preprocessor, RealFs, RuccPreprocessor, Unit};

use crate::{
    load::{LoadError, Options, flags},
    subject::Subject,
};

/// The tokens after preprocessing, with where each is written and where it is expanded.
///
/// # Errors
/// If the file or its flags cannot be read.
pub fn tokens(file: &Path, options: &Options) -> Result<String, LoadError> {
    let flags = flags(file, options, &RealFs, &mut Vec::new())?;
    let pre = RuccPreprocessor.preprocess(file, &RealFs, &flags);
    let mut out = String::new();
    for token in &pre.tokens {
        let place = |span: proofline_syntax::Span| {
            let (line, column) = pre.files.line_col(span.file, span.start);
            format!("{}:{}:{}", pre.files.path(span.file).display(), line + 1, column + 1)
        };
        let (spelled, expanded) = (place(token.spelling), place(token.expansion));
        let _ = write!(out, "{:<24} {:?} {spelled}", pre.text(token), token.kind);
        if spelled != expanded {
            let _ = write!(out, " expanded at {expanded}");
        }
        out.push('\n');
    }
    Ok(out)
}

fn unit(file: &Path, options: &Options) -> Result<Unit, LoadError> {
    let flags = flags(file, options, &RealFs, &mut Vec::new())?;
    Ok(proofline_syntax::parse(RuccPreprocessor.preprocess(file, &RealFs, &flags)))
}

/// The syntax tree, a node a line.
///
/// # Errors
/// If the file or its flags cannot be read.
pub fn tree(file: &Path, options: &Options) -> Result<String, LoadError> {
    let unit = unit(file, options)?;
    let mut out = String::new();
    let mut cursor = unit.root().walk();
    let mut depth = 0usize;
    loop {
        let node = cursor.node();
        if node.is_named() {
            let text =
                if node.child_count() == 0 { format!(" {:?}", unit.node_text(node)) } else { String::new() };
            let field = cursor.field_name().map(|name| format!("{name}: ")).unwrap_or_default();
            let _ = writeln!(out, "{}{field}{}{text}", "  ".repeat(depth), node.kind());
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(out);
            }
            depth -= 1;
        }
    }
}

/// The syntax tree for Graphviz.
///
/// # Errors
/// If the file or its flags cannot be read.
pub fn tree_dot(file: &Path, options: &Options) -> Result<String, LoadError> {
    let unit = unit(file, options)?;
    let mut out = String::from("digraph tree {\n  node [shape=plaintext, fontname=monospace];\n");
    let mut cursor = unit.root().walk();
    let mut above: Vec<usize> = Vec::new();
    let mut number = 0usize;
    loop {
        let node = cursor.node();
        if node.is_named() {
            let text = if node.child_count() == 0 { unit.node_text(node) } else { "" };
            let label = format!("{} {text}", node.kind()).replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(out, "  n{number} [label=\"{}\"];", label.trim_end());
            if let Some(parent) = above.last() {
                let field = cursor.field_name().unwrap_or_default();
                let _ = writeln!(out, "  n{parent} -> n{number} [label=\"{field}\"];");
            }
        }
        let own = number;
        number += 1;
        if cursor.goto_first_child() {
            above.push(own);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                out.push_str("}\n");
                return Ok(out);
            }
            above.pop();
        }
    }
}

/// Typed bodies.
///
/// # Errors
/// If the file or its flags cannot be read.
pub fn hir(file: &Path, options: &Options, function: Option<Name>) -> Result<String, LoadError> {
    let flags = flags(file, options, &RealFs, &mut Vec::new())?;
    let lowered = proofline_hir::lower(&unit(file, options)?, &flags);
    let mut out = String::new();
    for f in lowered.module.functions.iter().filter(|f| f.body.is_some()) {
        if function.is_none_or(|name| name == f.name) {
            out.push_str(&proofline_hir::print::function(&lowered.module, f));
            out.push('\n');
        }
    }
    Ok(out)
}

/// Automata with obligations.
pub fn cfa(subject: &Subject, function: Option<Name>) -> String {
    let program = subject.program();
    let mut out = String::new();
    for f in program.functions.values().filter(|f| function.is_none_or(|name| name == f.name)) {
        out.push_str(&proofline_cfa::text::print_function(f, proofline_cfa::text::Surroundings::of(program)));
        out.push('\n');
    }
    out
}

/// Automata for Graphviz, one graph each.
pub fn cfa_dot(subject: &Subject, function: Option<Name>) -> String {
    let program = subject.program();
    let functions = program.functions.values().filter(|f| function.is_none_or(|name| name == f.name));
    functions
        .map(|f| proofline_cfa::dot::automaton(f, proofline_cfa::text::Surroundings::of(program)))
        .collect()
}

/// The call graph for Graphviz.
pub fn call_graph_dot(subject: &Subject) -> String {
    proofline_program_analysis::dot::call_graph(subject.env().call_graph())
}

/// Blocks inside one another for Graphviz: a function holds its loops.
pub fn blocks_dot(subject: &Subject, function: Option<Name>) -> String {
    let environment = subject.env();
    let mut out = String::from("digraph blocks {\n  node [shape=box, fontname=monospace];\n");
    for name in subject.program().functions.keys().filter(|name| function.is_none_or(|f| f == **name)) {
        let _ = writeln!(out, "  \"{name}\";");
        for l in environment.structure(*name).loops() {
            let inner = format!("{name} {}", l.head);
            let _ =
                writeln!(out, "  \"{inner}\" [label=\"loop at {}\\n{} locations\"];", l.head, l.body.len());
            let _ = writeln!(out, "  \"{name}\" -> \"{inner}\" [arrowhead=diamond];");
        }
        for callee in environment.call_graph().callees(*name) {
            let _ = writeln!(out, "  \"{name}\" -> \"{callee}\";");
        }
    }
    out.push_str("}\n");
    out
}

/// Components of the call graph, callees first.
pub fn call_graph(subject: &Subject) -> String {
    let graph = subject.env().call_graph();
    let mut out = String::new();
    for (number, component) in graph.components().iter().enumerate() {
        for name in component {
            let callees: Vec<&str> = graph.callees(*name).iter().map(|callee| callee.as_str()).collect();
            let recursive = if graph.is_recursive(*name) { " (recursive)" } else { "" };
            let _ = writeln!(out, "{number}: {name}{recursive} -> {}", callees.join(", "));
        }
    }
    out
}

/// Blocks: functions and loops, with what they may read and write.
pub fn blocks(subject: &Subject, function: Option<Name>) -> String {
    let environment = subject.env();
    let mut out = String::new();
    for name in subject.program().functions.keys().filter(|name| function.is_none_or(|f| f == **name)) {
        let show = |set: &std::collections::BTreeSet<proofline_cfa::Object>| {
            set.iter().map(|object| format!("{object:?}")).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            out,
            "function {name}\n  reads {}\n  writes {}",
            show(environment.reads(*name)),
            show(environment.writes(*name))
        );
        for l in environment.structure(*name).loops() {
            let _ = writeln!(out, "  loop at {} of {} locations", l.head, l.body.len());
        }
    }
    out
}
