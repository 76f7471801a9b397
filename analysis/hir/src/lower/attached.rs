//! Which attributes belong to a node, and the packing in force there: both are beside the tree. Must not know what
//! they mean for a type or an object.

use proofline_syntax::AttributeStyle;
use tree_sitter::Node;

use super::{Lowerer, attributes::Attributes};
use crate::Name;

impl<'u> Lowerer<'u> {
    /// The attributes that the side table gives to a node: a declaration (for all it declares), a declarator, a record
    /// or enum specifier.
    pub(crate) fn attached(&mut self, node: Node<'u>) -> Attributes {
        let unit = self.unit;
        let mut result = Attributes::default();
        for attribute in unit.attributes(node) {
            let arguments = attribute.arguments.join(",");
            if attribute.style == AttributeStyle::AsmLabel {
                result.asm_label = Some(Name::new(arguments.trim_matches('"')));
                continue;
            }
            self.attribute(node, &attribute.name, &arguments, &mut result);
        }
        result
    }

    /// The attributes of a declarator of a declaration.
    pub(crate) fn attached_to_declarator(&mut self, declarator: Node<'u>) -> Attributes {
        let inner = match declarator.kind() {
            "init_declarator" => super::field(declarator, "declarator").unwrap_or(declarator),
            _ => declarator,
        };
        self.attached(inner)
    }

    /// `#pragma pack` in force for a record.
    pub(crate) fn pack(&self, specifier: Node<'u>) -> Option<u64> {
        self.unit.pack(specifier).map(u64::from).or(self.pack_struct)
    }
}
