//! Parameters of function definitions, prototyped and in the style before C89: `int f(a, b) int a; char *b; { … }`.
//! Must not know bodies.

use std::{collections::BTreeMap, sync::Arc};

use tree_sitter::Node;

use super::{
    Lowerer, children,
    declarator::{Declared, Parameter, Parameters, adjusted},
    field,
    scope::Tag,
};
use crate::{
    Name,
    types::{Signature, Type, TypeKind},
};

/// A function definition, put together from where its parts lie in the tree.
pub(super) struct Definition<'u> {
    /// The node with the specifiers.
    pub(super) node: Node<'u>,
    pub(super) declarator: Node<'u>,
    /// Declarations between declarator and body.
    pub(super) old_style: Vec<OldStyle<'u>>,
    pub(super) body: Node<'u>,
}

/// A declaration of old-style parameters.
pub(super) enum OldStyle<'u> {
    /// A declaration.
    Whole(Node<'u>),
    /// One that the grammar has torn: the words of the first parameter's type and its name, further declarators.
    Torn { words: Vec<Node<'u>>, others: Vec<Node<'u>> },
}

impl<'u> OldStyle<'u> {
    pub(super) fn whole(node: Node<'u>) -> OldStyle<'u> {
        OldStyle::Whole(node)
    }
}

impl<'u> Lowerer<'u> {
    /// `char *f(a, b) int a; char *b; { … }`: because of the `*` the grammar sees the declaration `char *f(a, b) int a;`
    /// with stray words, the declaration `char *b;`, and a block. Lowers it if the items start so; how many they are.
    pub(super) fn torn_definition(&mut self, items: &[Node<'u>]) -> Option<usize> {
        let first = *items.first().filter(|n| n.kind() == "declaration")?;
        let declarator = field(first, "declarator")?;
        let mut function = declarator;
        while function.kind() != "function_declarator" {
            function = field(function, "declarator")?;
        }
        let words: Vec<Node<'u>> =
            children(function).into_iter().filter(|c| c.kind() == "identifier").collect();
        // The first identifier is the function's own name.
        let own = field(function, "declarator").filter(|d| d.kind() == "identifier");
        let words: Vec<Node<'u>> = words.into_iter().filter(|&w| Some(w) != own).collect();
        if words.len() < 2 {
            return None;
        }
        let length = items.iter().position(|n| n.kind() != "declaration")?;
        if items[length].kind() != "compound_statement" {
            return None;
        }
        let mut cursor = first.walk();
        let others = first.children_by_field_name("declarator", &mut cursor).skip(1).collect();
        let mut old_style = vec![OldStyle::Torn { words, others }];
        old_style.extend(items[1..length].iter().map(|&n| OldStyle::Whole(n)));
        self.define(Definition { node: first, declarator, old_style, body: items[length] });
        Some(length + 1)
    }

    /// Parameters of a definition, tags declared among them, and the function's type.
    pub(super) fn definition_parameters(
        &mut self,
        node: Node<'u>,
        declared: &Declared<'u>,
        old_style: &[OldStyle<'u>],
        signature: &Signature,
    ) -> (Vec<Parameter<'u>>, BTreeMap<Name, Tag>, Type) {
        let names = match &declared.parameters {
            Some(Parameters::Prototype(parameters, tags)) => {
                return (parameters.clone(), tags.clone(), declared.ty);
            }
            None => {
                // The function type came from a typedef: C does not allow this.
                self.error(node, "a function definition needs a parameter list");
                // So that the body fits the type, they have no names.
                let unnamed = |&ty: &Type| Parameter { name: None, node, ty, rows: Vec::new() };
                let parameters = signature.parameters.iter().map(unnamed).collect();
                return (parameters, BTreeMap::new(), declared.ty);
            }
            Some(Parameters::Names(names)) => names,
        };
        let mut parameters: Vec<Parameter<'u>> = names
            .iter()
            .map(|&(name, node)| Parameter { name: Some(name), node, ty: Type::int(), rows: Vec::new() })
            .collect();
        for declaration in old_style {
            match declaration {
                OldStyle::Whole(node) => {
                    let specifiers = self.specifiers(*node, None);
                    let base = self.retyped(*node, specifiers.ty, &specifiers.attributes);
                    let mut cursor = node.walk();
                    for declarator in node.children_by_field_name("declarator", &mut cursor) {
                        self.old_style_parameter(declarator, base, &mut parameters);
                    }
                }
                OldStyle::Torn { words, others } => {
                    let Some((name, words)) = words.split_last() else { continue };
                    let texts: Vec<&str> = words.iter().map(|&w| self.text(w)).collect();
                    let Some(base) = self.type_of_words(&texts) else {
                        self.error(*name, format!("unknown type name `{}`", texts.join(" ")));
                        continue;
                    };
                    self.old_style_parameter(*name, base, &mut parameters);
                    for &declarator in others {
                        self.old_style_parameter(declarator, base, &mut parameters);
                    }
                }
            }
        }
        let types = parameters.iter().map(|p| p.ty.unqualified()).collect();
        let signature =
            Signature { result: signature.result, parameters: types, variadic: false, unprototyped: true };
        (parameters, BTreeMap::new(), Type::new(TypeKind::Function(Arc::new(signature))))
    }

    fn old_style_parameter(&mut self, declarator: Node<'u>, base: Type, parameters: &mut [Parameter<'u>]) {
        let outside = std::mem::replace(&mut self.in_parameters, true);
        let declared = self.declarator(Some(declarator), base);
        self.in_parameters = outside;
        let Some((name, at)) = declared.name else { return };
        match parameters.iter_mut().find(|p| p.name == Some(name)) {
            Some(parameter) => {
                parameter.ty = adjusted(declared.ty, Default::default());
                parameter.node = at;
            }
            None => self.error(at, format!("`{name}` is not a parameter")),
        }
    }
}
