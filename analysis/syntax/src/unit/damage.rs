//! What of the tree may not be trusted: syntax errors, dropped text, nesting too deep to walk.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::Unit;
use crate::ast::{self, Expression, Statement, View};
use crate::error::SyntaxError;
use crate::limits::{MAX_CHAIN, MAX_DEPTH};
use crate::marks;

/// Most syntax errors that are reported one by one.
const MAX_REPORTED: usize = 50;

/// The top-level items whose tree is deeper than [`MAX_DEPTH`].
pub(super) fn too_deep(tree: &Tree) -> Vec<Range<usize>> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut found = Vec::new();
    for item in root.children(&mut cursor) {
        // A tree with few nodes is not deep, and almost all are of that kind.
        if item.descendant_count() > MAX_DEPTH as usize && depth_exceeds(item, MAX_DEPTH) {
            found.push(item.byte_range());
        }
    }
    found
}

fn depth_exceeds(node: Node<'_>, limit: u32) -> bool {
    let mut cursor = node.walk();
    // The cursor knows its depth only by counting. Links of chains are on the way to the root, too, and count elsewhere.
    let (mut depth, mut links) = (0, 0);
    let mut way = Vec::new();
    loop {
        let above = cursor.node().kind();
        // A tree with few nodes adds little depth, and almost all are of that kind.
        let below = u32::try_from(cursor.node().descendant_count()).unwrap_or(u32::MAX);
        let may_exceed = below > (limit - depth).min(MAX_CHAIN - links);
        if may_exceed && cursor.goto_first_child() {
            let is_link = is_link(above, cursor.node().kind());
            way.push((above, is_link));
            *(if is_link { &mut links } else { &mut depth }) += 1;
            if depth > limit || links > MAX_CHAIN {
                return true;
            }
            continue;
        }
        loop {
            let Some((above, is_link_before)) = way.pop() else { return false };
            *(if is_link_before { &mut links } else { &mut depth }) -= 1;
            if cursor.goto_next_sibling() {
                let is_link = is_link(above, cursor.node().kind());
                way.push((above, is_link));
                *(if is_link { &mut links } else { &mut depth }) += 1;
                break;
            }
            if !cursor.goto_parent() {
                return false;
            }
        }
        if depth > limit || links > MAX_CHAIN {
            return true;
        }
    }
}

/// Whether a node in another one makes a chain longer that readers follow in a loop: `a + b + c`, `a, b, c`, `else if`.
fn is_link(above: &str, below: &str) -> bool {
    match below {
        "binary_expression" | "comma_expression" => above == below,
        "else_clause" => above == "if_statement",
        "if_statement" => above == "else_clause",
        _ => false,
    }
}

impl Unit {
    /// Whether this node is deeper than a recursive reader should walk; then it lies in a top-level
    /// item that must be left out as a whole.
    #[must_use]
    pub fn is_too_deep(&self, node: Node<'_>) -> bool {
        let at = node.start_byte();
        self.too_deep.iter().any(|range| range.contains(&at))
    }

    /// Whether something in this node was not understood: a syntax error, text that was dropped, or
    /// nesting that is too deep. Nothing may be proved of what is damaged.
    #[must_use]
    pub fn is_damaged(&self, node: Node<'_>) -> bool {
        let Range { start, end } = node.byte_range();
        let from = self.damaged.partition_point(|&at| (at as usize) < start);
        let dropped = self.damaged.get(from).is_some_and(|&at| (at as usize) <= end);
        node.has_error() || dropped || self.is_too_deep(node)
    }

    /// Reports every `ERROR` and missing node.
    pub(super) fn find_syntax_errors(&mut self) {
        let mut errors: Vec<SyntaxError> = Vec::new();
        let mut more = 0usize;
        for range in &self.too_deep {
            let message = format!("nested more than {MAX_DEPTH} levels deep; this item is left out");
            errors.push(SyntaxError::error(message, Some(self.span_of_range(range.clone()))));
        }
        for item in self.statements_outside() {
            let message = "this is a statement outside of any function";
            let error = SyntaxError::error(message, Some(self.span_of_range(item.clone())));
            errors.push(error.with_help("if it is a macro, the header that defines it is not included"));
            self.damaged.push(u32::try_from(item.start).unwrap_or(u32::MAX));
        }
        let mut pending = vec![self.tree.root_node()];
        while let Some(node) = pending.pop() {
            if !node.has_error() {
                continue;
            }
            if node.is_missing() || node.is_error() {
                if errors.len() < MAX_REPORTED {
                    errors.push(self.syntax_error(node));
                } else {
                    more += 1;
                }
                if node.is_error() {
                    continue;
                }
            }
            let mut cursor = node.walk();
            let from = pending.len();
            pending.extend(node.children(&mut cursor));
            pending[from..].reverse();
        }
        if more > 0 {
            errors.push(SyntaxError::error(format!("{more} more syntax errors"), None));
        }
        self.errors.extend(errors);
    }

    /// The grammar takes statements at file scope. C has none there but `;`, and what the normaliser puts
    /// there: static assertions and assembly.
    fn statements_outside(&self) -> Vec<Range<usize>> {
        let root = self.tree.root_node();
        let mut cursor = root.walk();
        let is_outside = |item: &Node<'_>| {
            let Some(Statement::ExpressionStatement(statement)) = Statement::of(*item) else {
                return Statement::of(*item).is_some();
            };
            let Some(expression) = ast::children(statement.node()).next() else { return false };
            match Expression::of(expression) {
                Some(Expression::AsmExpression(_)) => false,
                Some(Expression::CallExpression(call)) => {
                    call.function().map(|callee| self.node_text(callee)) != Some(marks::STATIC_ASSERT)
                }
                _ => true,
            }
        };
        root.children(&mut cursor).filter(is_outside).map(|item| item.byte_range()).collect()
    }

    fn syntax_error(&self, node: Node<'_>) -> SyntaxError {
        if node.is_missing() {
            let before = node.start_byte().saturating_sub(1);
            let span = self.span_of_range(before..node.start_byte());
            return SyntaxError::error(format!("expected `{}` behind this", node.kind()), Some(span));
        }
        let text = self.node_text(node);
        let shown: String = text.chars().take(40).collect::<String>().replace('\n', " ");
        let dots = if text.chars().nth(40).is_some() { "…" } else { "" };
        let message = format!("this is not understood: `{}{dots}`", shown.trim_end());
        // Of a long stretch only the start says where to look.
        let first_line = node.start_byte() + text.find('\n').unwrap_or(text.len());
        SyntaxError::error(message, Some(self.span_of_range(node.start_byte()..first_line)))
    }
}
