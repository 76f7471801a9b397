//! Enumerations: values of the constants, the integer type behind the tag. Must not know what the type is used for.

use tree_sitter::Node;

use super::{
    Lowerer, children, field,
    scope::{Entity, Tag},
};
use crate::{
    Name,
    layout::enum_kind,
    types::{IntKind, Type, TypeKind},
};

impl<'u> Lowerer<'u> {
    /// `enum e`, `enum e { … }`, `enum { … }`
    pub(crate) fn enum_specifier(&mut self, node: Node<'u>, hint: Option<Name>) -> Type {
        let name = field(node, "name").map(|n| Name::new(self.text(n)));
        let Some(body) = field(node, "body") else {
            return self.enum_reference(node, name);
        };
        let packed = self.short_enums || self.attached(node).packed;
        let unique = self.unique_tag("enum", name, hint);
        let mut constants = Vec::new();
        let mut next: (i128, Type) = (0, Type::int());
        let (mut min, mut max) = (0, 0);
        for item in children(body) {
            if item.kind() != "enumerator" {
                self.error(item, format!("cannot read the enumerator `{}`", self.text(item)));
                continue;
            }
            let Some(constant) = field(item, "name") else { continue };
            let constant = Name::new(self.text(constant));
            let (value, ty) = match field(item, "value") {
                Some(value) => self.enumerator_value(value).unwrap_or(next),
                None => next,
            };
            min = min.min(value);
            max = max.max(value);
            self.bind(constant, Entity::EnumConstant(value, ty));
            constants.push((constant, value));
            next = self.after(value, ty);
        }
        let kind = enum_kind(min, max, packed, self.model);
        let ty = Type::new(TypeKind::Enum(unique, kind));
        for &(constant, value) in &constants {
            let own = if IntKind::Int.holds(value, self.model) { Type::int() } else { ty };
            self.bind(constant, Entity::EnumConstant(value, own));
        }
        self.enumerations.insert(unique, constants);
        if let Some(name) = name {
            self.bind_tag(name, Tag::Enum(unique, kind));
        }
        ty
    }

    /// A mention of an enum. GNU C lets it come before the definition: then it is taken for `unsigned int`.
    fn enum_reference(&mut self, node: Node<'u>, name: Option<Name>) -> Type {
        let Some(name) = name else {
            self.error(node, "an enum without tag and enumerators");
            return Type::int();
        };
        match self.lookup_tag(name) {
            Some(Tag::Enum(unique, kind)) => Type::new(TypeKind::Enum(unique, kind)),
            Some(Tag::Struct(_) | Tag::Union(_)) => {
                self.error(node, format!("`{name}` is not the tag of an enum"));
                Type::int()
            }
            None => {
                let unique = self.unique_tag("enum", Some(name), None);
                self.bind_tag(name, Tag::Enum(unique, IntKind::UInt));
                Type::new(TypeKind::Enum(unique, IntKind::UInt))
            }
        }
    }

    fn enumerator_value(&mut self, node: Node<'u>) -> Option<(i128, Type)> {
        match self.const_int_typed(node) {
            // While the enum is incomplete a constant that fits has type int.
            Some((value, _)) if IntKind::Int.holds(value, self.model) => Some((value, Type::int())),
            Some(known) => Some(known),
            None => {
                self.error(node, "the value of an enumerator must be an integer constant");
                None
            }
        }
    }

    /// The value after this one, in the next wider type if need be.
    fn after(&self, value: i128, ty: Type) -> (i128, Type) {
        let next = value.saturating_add(1);
        let kinds = [IntKind::UInt, IntKind::Long, IntKind::ULong, IntKind::LongLong, IntKind::ULongLong];
        let fits = |kind: &IntKind| kind.holds(next, self.model);
        let ty = match ty.int_kind() {
            Some(kind) if fits(&kind) => ty,
            _ => kinds.iter().find(|k| fits(k)).map_or(ty, |&k| Type::new(TypeKind::Int(k))),
        };
        (next, ty)
    }

    /// Value of an integer constant expression, `None` if it is none (not reported here).
    pub(crate) fn const_int(&mut self, node: Node<'u>) -> Option<i128> {
        self.const_int_typed(node).map(|(value, _)| value)
    }

    /// Value and type of an integer constant expression.
    pub(crate) fn const_int_typed(&mut self, node: Node<'u>) -> Option<(i128, Type)> {
        let checkpoint = self.body.checkpoint();
        let id = self.value(node);
        let ty = self.type_of(id);
        let value = crate::consteval::eval(&self.body.body, id, &self.records, self.model);
        self.body.roll_back(checkpoint);
        match value {
            Some(crate::consteval::ConstValue::Int(value)) if ty.is_integer() => Some((value, ty)),
            _ => None,
        }
    }
}
