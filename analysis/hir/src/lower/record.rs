//! `struct` and `union` specifiers: tags, members, completion. The arithmetic of their layout is in `crate::layout`.

use std::sync::Arc;

use tree_sitter::Node;

use super::{Lowerer, children, dependence::FileScope, error_type, field, scope::Tag};
use crate::{
    Name,
    layout::{Member, RecordSpec, place},
    types::{ArrayLength, Type, TypeKind},
};
use proofline_syntax::{DataModel, marks};

impl<'u> Lowerer<'u> {
    /// A name for a tag that no other tag of the unit has. It depends on the names around it only, so that an edit
    /// elsewhere does not change it: `struct s`, in a function `struct s#f`, without a tag `struct #hint`, then `#1`, ….
    pub(crate) fn unique_tag(&mut self, keyword: &str, name: Option<Name>, hint: Option<Name>) -> Name {
        let mut base = match (name, hint) {
            (Some(name), _) => format!("{keyword} {name}"),
            (None, Some(hint)) => format!("{keyword} #{hint}"),
            (None, None) => format!("{keyword} #"),
        };
        if let Some(function) = &self.function {
            base = format!("{base}#{}", function.name);
        }
        let mut candidate = Name::new(&base);
        let mut count = 0;
        while !self.used_tags.insert(candidate) {
            count += 1;
            candidate = Name::new(&format!("{base}#{count}"));
        }
        candidate
    }

    /// `struct s`, `struct s { … }`, `struct { … }` and the same for unions.
    pub(crate) fn record_specifier(&mut self, node: Node<'u>, hint: Option<Name>) -> Type {
        self.deeper(node, |l| l.record(node, hint)).unwrap_or_else(error_type)
    }

    fn record(&mut self, node: Node<'u>, hint: Option<Name>) -> Type {
        let is_union = node.kind() == "union_specifier";
        let name = field(node, "name").map(|n| Name::new(self.text(n)));
        let body = field(node, "body");
        let unique = match (name, body) {
            (Some(name), None) => match self.tag_reference(node, name, is_union) {
                Some(unique) => return Type::new(TypeKind::Record(unique)),
                None => return error_type(),
            },
            (Some(name), Some(_)) => self.tag_definition(node, name, is_union),
            (None, _) => self.unique_tag(keyword(is_union), None, hint),
        };
        let Some(body) = body else { return error_type() };
        let attributes = self.attached(node);
        self.open_records.push(unique);
        let members = self.members(body, unique, attributes.packed);
        self.open_records.pop();
        let pack = self.pack(node);
        let spec = RecordSpec { is_union, align: attributes.aligned, pack };
        let mut record = place(unique, spec, &members, self.layout());
        if !self.fits_memory(u128::from(record.size)) {
            self.error(node, "the record is larger than memory");
            record = place(unique, spec, &[], self.layout());
        }
        self.records.insert(unique, Arc::new(record));
        Type::new(TypeKind::Record(unique))
    }

    /// Whether an object may have so many bytes: distances in it are of type `ptrdiff_t`, and layouts count in bits.
    pub(crate) fn fits_memory(&self, bytes: u128) -> bool {
        let most = match self.model {
            DataModel::Lp64 => 1 << 60,
            DataModel::Ilp32 => i32::MAX as u128,
        };
        bytes <= most
    }

    /// The record that a tag without a body means; a new, incomplete one if there is none.
    fn tag_reference(&mut self, node: Node<'u>, name: Name, is_union: bool) -> Option<Name> {
        // `struct s;` alone declares a new tag in this scope.
        let is_declaration = node.parent().is_some_and(|p| {
            matches!(p.kind(), "translation_unit" | "compound_statement" | "declaration_list")
        });
        let known = match is_declaration {
            true => self.scopes.last().and_then(|s| s.tags.get(&name).copied()),
            false => self.lookup_tag(name),
        };
        match (known, is_union) {
            (Some(Tag::Struct(unique)), false) | (Some(Tag::Union(unique)), true) => Some(unique),
            (Some(_), _) => {
                self.error(node, format!("`{name}` is the tag of another kind of type"));
                None
            }
            (None, _) => Some(self.new_tag(name, is_union)),
        }
    }

    /// The record that a tag with a body defines.
    fn tag_definition(&mut self, node: Node<'u>, name: Name, is_union: bool) -> Name {
        if self.scopes.len() == 1 {
            self.dependences.declares(FileScope::Tag(name));
        }
        let known = self.scopes.last().and_then(|s| s.tags.get(&name).copied());
        match (known, is_union) {
            (Some(Tag::Struct(unique)), false) | (Some(Tag::Union(unique)), true)
                // A record that defined its own tag inside would hold itself.
                if !self.records.contains_key(&unique) && !self.open_records.contains(&unique) =>
            {
                unique
            }
            (Some(_), _) => {
                self.error(node, format!("the tag `{name}` is defined twice"));
                self.new_tag(name, is_union)
            }
            (None, _) => self.new_tag(name, is_union),
        }
    }

    fn new_tag(&mut self, name: Name, is_union: bool) -> Name {
        let unique = self.unique_tag(keyword(is_union), Some(name), None);
        self.bind_tag(name, if is_union { Tag::Union(unique) } else { Tag::Struct(unique) });
        unique
    }

    fn members(&mut self, body: Node<'u>, record: Name, packed: bool) -> Vec<Member> {
        let mut members = Vec::new();
        for item in children(body) {
            match item.kind() {
                "field_declaration" => self.member_declaration(item, record, packed, &mut members),
                _ => self.error(item, format!("cannot read the member `{}`", self.text(item))),
            }
        }
        members
    }

    fn member_declaration(&mut self, node: Node<'u>, record: Name, packed: bool, members: &mut Vec<Member>) {
        let inner_hint =
            Name::new(record.split_once(' ').map_or(&*record, |(_, rest)| rest).trim_start_matches('#'));
        let specifiers = self.specifiers(node, Some(inner_hint));
        let base = self.retyped(node, specifiers.ty, &specifiers.attributes);
        let declarators = self.member_declarators(node);
        if declarators.is_empty() {
            let is_untagged = field(node, "type").is_some_and(|t| field(t, "name").is_none());
            if is_untagged && matches!(base.kind(), TypeKind::Record(_)) {
                members.push(Member {
                    name: None,
                    ty: base,
                    type_align: None,
                    width: None,
                    packed: packed || specifiers.attributes.packed,
                    align: specifiers.attributes.aligned.max(specifiers.align),
                });
            }
            return;
        }
        for (declarator, width) in declarators {
            let own = self.attached_to_declarator(declarator);
            let ty = self.retyped(declarator, base, &own);
            let mut declared = self.declarator(Some(declarator), ty);
            let is_direct = declared.ty == ty;
            let is_whole = width.is_none();
            let width = width.and_then(|w| self.declared_width(w, declared.ty));
            let mut name = declared.name.map(|(name, _)| name).filter(|n| !n.starts_with(marks::ANON));
            if let Some(again) = name.filter(|_| members.iter().any(|known| known.name == name)) {
                self.error(declarator, format!("there is a member `{again}` already"));
                name = None;
            }
            if is_whole && !self.check_member_type(declarator, declared.ty) || !is_whole && width.is_none() {
                // A record that holds itself would have no end.
                declared.ty = super::error_type();
            }
            let is_array = matches!(declared.ty.kind(), TypeKind::Array(..));
            members.push(Member {
                name,
                ty: declared.ty,
                type_align: specifiers.type_align.filter(|_| is_direct || is_array),
                width,
                packed: packed || specifiers.attributes.packed || own.packed,
                align: specifiers.attributes.aligned.max(specifiers.align).max(own.aligned),
            });
        }
    }

    /// The declarators of a member declaration, each with the width of its bit-field.
    fn member_declarators(&self, node: Node<'u>) -> Vec<(Node<'u>, Option<Node<'u>>)> {
        let mut result: Vec<(Node<'u>, Option<Node<'u>>)> = Vec::new();
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let child = cursor.node();
            if cursor.field_name() == Some("declarator") {
                result.push((child, None));
            } else if child.kind() == "bitfield_clause"
                && let Some(last) = result.last_mut()
            {
                last.1 = child.named_child(0);
            }
            more = cursor.goto_next_sibling();
        }
        result
    }

    /// `None` if the type is none of a bit-field.
    fn declared_width(&mut self, node: Node<'u>, ty: Type) -> Option<u64> {
        let most = match ty.kind() {
            TypeKind::Bool => Some(1),
            _ if ty.is_integer() => self.layout().size_of(ty).map(|s| s * 8),
            _ => None,
        };
        let Some(most) = most else {
            self.error(node, "a bit-field must have an integer type");
            return None;
        };
        Some(match self.const_int(node).and_then(|v| u64::try_from(v).ok()) {
            Some(width) if width <= most => width,
            Some(_) => {
                self.error(node, "the bit-field is wider than its type");
                most
            }
            None => {
                self.error(node, "the width of a bit-field must be a constant that is not negative");
                1
            }
        })
    }

    fn has_variable_length(&self, mut ty: Type) -> bool {
        while let TypeKind::Array(element, length) = ty.kind() {
            if *length == ArrayLength::Variable {
                return true;
            }
            ty = *element;
        }
        false
    }

    fn check_member_type(&mut self, node: Node<'u>, ty: Type) -> bool {
        let mut core = ty;
        if let TypeKind::Array(element, ArrayLength::Unknown) = core.kind() {
            core = *element;
        }
        let is_function = matches!(core.kind(), TypeKind::Function(_));
        if is_function || (self.layout().size_of(core).is_none() && *core.kind() != TypeKind::Error) {
            let is_variable = self.has_variable_length(core);
            self.error(
                node,
                match is_variable {
                    true => "a member whose length is not a constant is not supported",
                    false => "a member must have a complete type",
                },
            );
            return false;
        }
        true
    }
}

fn keyword(is_union: bool) -> &'static str {
    if is_union { "union" } else { "struct" }
}
