//! The graph as text and as Graphviz, for `proofline dump arg`.

use std::{
    fmt::{self, Write},
    hash::Hash,
};

use super::{Arg, ArgEdge, ContextId, Node, Open};

/// How the parts of a graph that it does not know itself are written.
pub struct Labels<'a, S> {
    /// A state.
    pub state: &'a dyn Fn(&S) -> String,
    /// A step: usually the edge's operation.
    pub step: &'a dyn Fn(&Node<S>, ArgEdge) -> String,
    /// Reached with an exit of the block.
    pub is_exit: &'a dyn Fn(&Node<S>) -> bool,
}

impl<S: Clone + Eq, P: Clone + Eq + Hash> Arg<S, P> {
    fn point(&self, node: &Node<S>) -> String {
        let context = self.context(node.point.context);
        let mut text = format!("{}:{}", context.function, node.point.loc);
        let mut call = context.call.as_ref();
        while let Some(inlined) = call {
            let caller = self.context(inlined.caller);
            let _ = write!(text, " < {}:{}", caller.function, inlined.edge);
            call = caller.call.as_ref();
        }
        text
    }

    fn marks(node: &Node<S>, labels: &Labels<'_, S>) -> String {
        let mut marks = String::new();
        if let Some(obligation) = node.target {
            let _ = write!(marks, " TARGET {obligation}");
        }
        if (labels.is_exit)(node) {
            marks.push_str(" exit");
        }
        if node.open != Open::Closed {
            marks.push_str(" open");
        }
        if !node.covered_by.is_empty() {
            let _ = write!(marks, " covered by");
            for by in &node.covered_by {
                let _ = write!(marks, " {by}");
            }
        }
        marks
    }

    /// One paragraph per node, in order of creation.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write_text(&self, out: &mut dyn fmt::Write, labels: &Labels<'_, S>) -> fmt::Result {
        for (id, node) in self.nodes() {
            writeln!(out, "{id} {}{}", self.point(node), Self::marks(node, labels))?;
            writeln!(out, "    {}", (labels.state)(&node.state))?;
            for (i, parent) in node.parents.iter().enumerate() {
                let how = if i == 0 { "from" } else { "merged from" };
                let step = (labels.step)(self.node(parent.from), parent.via);
                writeln!(out, "    {how} {} by {step}", parent.from)?;
            }
        }
        Ok(())
    }

    /// A directed graph; covering edges are dashed.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write_dot(&self, out: &mut dyn fmt::Write, name: &str, labels: &Labels<'_, S>) -> fmt::Result {
        writeln!(out, "digraph \"{}\" {{", escape(name))?;
        writeln!(out, "  node [shape=box, fontname=\"monospace\"];")?;
        for (id, node) in self.nodes() {
            let text = format!("{id} {}\n{}", self.point(node), (labels.state)(&node.state));
            let style = match () {
                () if node.target.is_some() => ", color=red, penwidth=2",
                () if !node.covered_by.is_empty() => ", style=dashed",
                () if node.open != Open::Closed => ", style=bold",
                () if node.point.context != ContextId::ROOT => ", color=blue",
                () => "",
            };
            writeln!(out, "  {id} [label=\"{}\"{style}];", escape(&text))?;
        }
        for (id, node) in self.nodes() {
            for parent in &node.parents {
                let step = (labels.step)(self.node(parent.from), parent.via);
                writeln!(out, "  {} -> {id} [label=\"{}\"];", parent.from, escape(&step))?;
            }
            for by in &node.covered_by {
                writeln!(out, "  {id} -> {by} [style=dashed, constraint=false];")?;
            }
        }
        writeln!(out, "}}")
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l")
}
