//! Labels, `goto`, `case` and `default`.

use std::collections::BTreeMap;

use proofline_syntax::marks;
use tree_sitter::Node;

use super::super::{Lowerer, all_children, children, field};
use crate::{
    Name,
    body::{LabelId, Stmt, StmtId},
    types::Type,
};

impl<'u> Lowerer<'u> {
    /// The label with this name in the current function, declared at its first mention.
    pub(crate) fn label(&mut self, node: Node<'u>) -> Option<LabelId> {
        let name = Name::new(self.text(node));
        let function = self.function.as_mut()?;
        if let Some(label) = function.labels.get(&name) {
            return Some(*label);
        }
        let label = LabelId(function.label_names.len() as u32);
        function.label_names.push(name);
        function.labels.insert(name, label);
        Some(label)
    }

    pub(super) fn define_label(&mut self, node: Node<'u>) -> Option<LabelId> {
        let label = self.label(node)?;
        let function = self.function.as_mut()?;
        if function.defined_labels.contains(&label) {
            self.error(node, format!("the label `{}` is defined twice", self.text(node)));
            return None;
        }
        function.defined_labels.push(label);
        Some(label)
    }

    /// Gives the body its labels; reports those that are nowhere and gives them a place that is not supported.
    pub(super) fn finish_labels(&mut self, body: Node<'u>) -> Vec<StmtId> {
        let Some(function) = self.function.as_mut() else { return Vec::new() };
        let names = std::mem::take(&mut function.label_names);
        let missing: Vec<LabelId> = (0..names.len() as u32)
            .map(LabelId)
            .filter(|label| !function.defined_labels.contains(label))
            .collect();
        let mut out = Vec::new();
        for label in missing {
            let name = names[label.index()];
            self.error(
                body,
                match self.outer_bodies.is_empty() {
                    true => format!("the label `{name}` is used but not defined"),
                    false => {
                        format!(
                            "`{name}` is no label of this nested function; jumps out of it are not supported"
                        )
                    }
                },
            );
            let reason = self.unsupported(body, "a label that is not defined");
            out.push(self.new_stmt(Stmt::Label(label, reason), body));
        }
        self.body.body.labels = names;
        out
    }

    /// `__label__ a, b;`: labels of the block around. False if the declaration is another one.
    pub(super) fn local_labels(&mut self, node: Node<'u>) -> bool {
        if !self.is_local_label(node) {
            return false;
        }
        let mut cursor = node.walk();
        let names: Vec<Node<'u>> = node.children_by_field_name("declarator", &mut cursor).collect();
        for name in names {
            let text = Name::new(self.text(name));
            if let Some(function) = self.function.as_mut() {
                let label = LabelId(function.label_names.len() as u32);
                function.label_names.push(text);
                function.local_labels.push(label);
                function.labels.insert(text, label);
            }
        }
        true
    }

    fn is_local_label(&self, node: Node<'u>) -> bool {
        node.kind() == "declaration" && field(node, "type").is_some_and(|t| self.text(t) == "__label__")
    }

    pub(super) fn has_local_label(&self, block: Node<'u>) -> bool {
        children(block).into_iter().any(|n| self.is_local_label(n))
    }

    /// At the end of a block with local labels: they are forgotten, labels of the function that were first mentioned
    /// inside stay.
    pub(super) fn leave_local_labels(&mut self, outside: BTreeMap<Name, LabelId>, first_inside: usize) {
        let Some(function) = self.function.as_mut() else { return };
        let inside = std::mem::replace(&mut function.labels, outside);
        for (name, label) in inside {
            let is_new = label.index() >= first_inside;
            if !is_new || !function.local_labels.contains(&label) {
                function.labels.entry(name).or_insert(label);
            }
        }
    }

    pub(super) fn goto_statement(&mut self, node: Node<'u>) -> Vec<StmtId> {
        match field(node, "label").and_then(|l| self.label(l)) {
            Some(label) => vec![self.new_stmt(Stmt::Goto(label), node)],
            None => {
                self.error(node, "this `goto` has no target");
                Vec::new()
            }
        }
    }

    /// `case v:` or `default:` with the statements that the grammar attaches to it.
    pub(super) fn case_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        let value = field(node, "value");
        let parts = all_children(node);
        let colon = parts.iter().position(|n| n.kind() == ":").unwrap_or(0);
        let bodies = parts.iter().skip(colon + 1).filter(|n| n.is_named() && n.kind() != "comment");
        let is_inside = self.function.as_ref().is_some_and(|f| !f.switches.is_empty());
        if value.is_none() && !is_inside {
            self.error(node, "`default` needs a `switch` around it");
            out.push(self.unsupported(node, "a label outside a switch"));
        }
        let bounds = match value {
            Some(value) => match self.case_bounds(value) {
                Some(bounds) => Some(bounds),
                None => {
                    self.error(value, "a `case` needs an integer constant inside a `switch`");
                    out.push(self.unsupported(node, "a case label that is not understood"));
                    None
                }
            },
            None => None,
        };
        let mut stmts: Vec<StmtId> = bodies.flat_map(|body| self.statements(*body)).collect();
        if stmts.is_empty() {
            stmts.push(self.new_stmt(Stmt::Empty, node));
        }
        let label = match (value, bounds) {
            (None, _) => is_inside.then(|| Stmt::Default(stmts[0])),
            (Some(_), Some((first, last))) if first <= last => {
                Some(Stmt::Case { first, last, body: stmts[0] })
            }
            // An empty range, or one that was reported.
            (Some(_), _) => None,
        };
        if let Some(label) = label {
            let at = value.unwrap_or(parts[0]);
            stmts[0] = self.new_stmt(label, at);
        }
        out.append(&mut stmts);
    }

    /// Both ends of a case label, converted to the type of the switch.
    fn case_bounds(&mut self, value: Node<'u>) -> Option<(i128, i128)> {
        let ty: Type = self.function.as_ref().and_then(|f| f.switches.last().copied())?;
        let is_range = value.kind() == "call_expression"
            && field(value, "function").is_some_and(|f| self.text(f) == marks::RANGE);
        let (first, last) = if is_range {
            let ends = children(field(value, "arguments")?);
            let [first, last] = ends[..] else { return None };
            (self.const_int(first)?, self.const_int(last)?)
        } else {
            let value = self.const_int(value)?;
            (value, value)
        };
        let wrap = |value: i128| ty.wrap_int(value, self.model);
        Some((wrap(first)?, wrap(last)?))
    }
}
