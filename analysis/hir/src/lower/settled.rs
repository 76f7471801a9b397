//! Locals that keep the constant they are initialised with: `unsigned n = 5; int a[n];` has an array of five elements, whatever C calls
//! it. Decided by looking at the function's text, by name, and only where no jump can pass the initialiser.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Lowerer, children};
use crate::{
    Name,
    body::{Initializer, LocalId},
    consteval::{self, ConstValue},
    types::TypeKind,
};

/// What a function's text may change, apart from its own memory.
pub(crate) enum Changes<'u> {
    /// Nothing is certain.
    Anything,
    /// Variables with these names.
    To(BTreeSet<&'u str>),
}

impl<'u> Lowerer<'u> {
    /// Notes a local with a constant initialiser that nothing changes.
    pub(super) fn note_settled(&mut self, id: LocalId, name: Name, init: &Initializer) {
        let [entry] = init.entries.as_slice() else { return };
        let ty = self.body.body.locals[id.index()].ty;
        if !matches!(ty.kind(), TypeKind::Int(_)) || !entry.path.is_empty() || ty.qualifiers().is_volatile {
            return;
        }
        let value = consteval::eval(&self.body.body, entry.value, &self.records, self.model);
        let Some(ConstValue::Int(value)) = value else { return };
        if self.keeps(name)
            && let Some(function) = &mut self.function
        {
            function.settled.insert(id, value);
        }
    }

    /// Whether nothing in the function may change an initialised local of this name.
    fn keeps(&mut self, name: Name) -> bool {
        let Some(function) = &mut self.function else { return false };
        // The whole text is read once, at the first question.
        let changes = match function.changes.take() {
            Some(changes) => changes,
            None => {
                let parts = function.parts;
                self.changes(parts)
            }
        };
        let kept = matches!(&changes, Changes::To(places) if !places.contains(name.as_str()));
        if let Some(function) = &mut self.function {
            function.changes = Some(changes);
        }
        kept
    }

    /// What a function's text may change.
    fn changes(&self, parts: [Node<'u>; 2]) -> Changes<'u> {
        let mut places = BTreeSet::new();
        let mut work = parts.to_vec();
        while let Some(node) = work.pop() {
            let changed = match node.kind() {
                // Jumps may pass an initialiser; assembly and nested functions may do anything.
                "goto_statement" | "case_statement" | "gnu_asm_expression" | "ERROR" => {
                    return Changes::Anything;
                }
                "function_definition" if node.id() != parts[0].id() => return Changes::Anything,
                "assignment_expression" => node.child_by_field_name("left"),
                "update_expression" => node.child_by_field_name("argument"),
                "pointer_expression" if self.text(node).starts_with('&') => {
                    node.child_by_field_name("argument")
                }
                _ => None,
            };
            if let Some(place) = changed {
                self.add_place(place, &mut places);
            }
            work.extend(children(node));
        }
        Changes::To(places)
    }

    /// The variable that a place is. (An integer has no parts.)
    fn add_place(&self, place: Node<'u>, places: &mut BTreeSet<&'u str>) {
        match place.kind() {
            "parenthesized_expression" => {
                for inner in children(place) {
                    self.add_place(inner, places);
                }
            }
            _ => {
                places.insert(self.text(place));
            }
        }
    }
}
