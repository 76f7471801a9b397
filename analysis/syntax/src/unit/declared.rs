//! Declarations as they stand in the text, with the names that people gave to types: `size_t n`, not `unsigned long n`. Knows no types.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::Unit;
use crate::source::FileId;

/// What the normaliser has spelt otherwise than the text begins so.
const MASK: &str = "__proofline_";

/// Longer ones are no help to anybody.
const LONGEST: usize = 400;

impl Unit {
    /// By file and offset of the declared name: its declaration in one line, without its initial value, its body and its attributes.
    #[must_use]
    pub fn declarations(&self) -> BTreeMap<(FileId, u32), String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.root()];
        while let Some(node) = open.pop() {
            if matches!(node.kind(), "declaration" | "function_definition" | "parameter_declaration") {
                declare(self, node, &mut found);
            }
            let mut cursor = node.walk();
            open.extend(node.named_children(&mut cursor).filter(|child| may_declare(*child)));
        }
        found
    }
}

/// Whether there may be declarations inside.
fn may_declare(node: Node<'_>) -> bool {
    !["_expression", "_literal", "identifier"].iter().any(|end| node.kind().ends_with(end))
}

/// Each of the names that a declaration declares.
fn declare(unit: &Unit, node: Node<'_>, found: &mut BTreeMap<(FileId, u32), String>) {
    let mut cursor = node.walk();
    let declarators: Vec<Node<'_>> = node.children_by_field_name("declarator", &mut cursor).collect();
    let Some(first) = declarators.first() else { return };
    let Some(specifiers) = specifiers(unit, node, *first) else { return };
    for declarator in declarators {
        let declarator = match declarator.kind() {
            "init_declarator" => declarator.child_by_field_name("declarator").unwrap_or(declarator),
            _ => declarator,
        };
        let Some(name) = name_of(declarator) else { continue };
        let span = unit.span(name);
        let text = format!("{specifiers} {}", one_line(unit.node_text(declarator)));
        if text.len() <= LONGEST && !text.contains(MASK) {
            found.insert((span.file, span.start), text);
        }
    }
}

/// What stands before the declarators; of a structure its name only.
fn specifiers(unit: &Unit, node: Node<'_>, first: Node<'_>) -> Option<String> {
    let mut cursor = node.walk();
    let mut words = Vec::new();
    for child in node.children(&mut cursor).take_while(|child| child.start_byte() < first.start_byte()) {
        match child.kind() {
            "struct_specifier" | "union_specifier" | "enum_specifier" => {
                let name = child.child_by_field_name("name")?;
                let word = child.kind().split('_').next()?;
                words.push(format!("{word} {}", unit.node_text(name)));
            }
            _ => words.push(one_line(unit.node_text(child))),
        }
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// The name that a declarator declares.
fn name_of(mut declarator: Node<'_>) -> Option<Node<'_>> {
    loop {
        if declarator.kind() == "identifier" {
            return Some(declarator);
        }
        let mut cursor = declarator.walk();
        let inner = declarator
            .child_by_field_name("declarator")
            .or_else(|| declarator.named_children(&mut cursor).find(|child| is_declarator(*child)));
        declarator = inner?;
    }
}

fn is_declarator(node: Node<'_>) -> bool {
    node.kind() == "identifier" || node.kind().ends_with("declarator")
}

/// Tokens of the normalised text as people write them: `int half(int a, char *b)`.
fn one_line(text: &str) -> String {
    let mut out = String::new();
    for token in text.split_whitespace() {
        let is_apart = !out.is_empty()
            && !out.ends_with(['(', '[', '*'])
            && !token.starts_with(['(', ')', '[', ']', ',']);
        if is_apart {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}
