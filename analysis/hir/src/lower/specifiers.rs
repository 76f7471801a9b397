//! Declaration specifiers: storage, qualifiers, the basic type in all of C11's and GNU C's spellings. Must not know
//! declarators or what is declared.

use proofline_syntax::marks;
use tree_sitter::Node;

use super::{Entity, Lowerer, all_children, attributes::Attributes, error_type, field, scope::Tag};
use crate::{
    Name,
    types::{FloatKind, IntKind, Qualifiers, Type, TypeKind},
};

/// Storage class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Storage {
    #[default]
    None,
    Typedef,
    Extern,
    Static,
    Auto,
    Register,
}

/// What stands before the declarators of a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Specifiers {
    pub(crate) ty: Type,
    pub(crate) storage: Storage,
    pub(crate) thread_local: bool,
    /// `__auto_type`: the initialiser gives the type.
    pub(crate) is_auto_type: bool,
    /// `_Alignas`, the largest.
    pub(crate) align: Option<u64>,
    /// The alignment that a typedef gave its type.
    pub(crate) type_align: Option<u64>,
    pub(crate) attributes: Attributes,
}

impl<'u> Lowerer<'u> {
    /// Reads the specifiers of a declaration, parameter, member, type name or function definition: the children before its
    /// first declarator. `hint` names an untagged record.
    pub(crate) fn specifiers(&mut self, node: Node<'u>, hint: Option<Name>) -> Specifiers {
        let mut result = Specifiers {
            ty: Type::int(),
            storage: Storage::None,
            thread_local: false,
            is_auto_type: false,
            align: None,
            type_align: None,
            attributes: self.attached(node),
        };
        let mut qualifiers = Qualifiers::default();
        let mut type_nodes = Vec::new();
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let child = cursor.node();
            match cursor.field_name() {
                Some("type") => type_nodes.push(child),
                Some("declarator" | "body" | "parameters") => break,
                _ => match child.kind() {
                    "storage_class_specifier" | "typedef" => self.storage_class(child, &mut result),
                    "type_qualifier" => self.qualifier(child, &mut qualifiers, &mut result),
                    "bitfield_clause" | "init_declarator" | "," | ";" => break,
                    "ERROR" => {
                        self.error(child, format!("cannot read `{}` in this declaration", self.text(child)))
                    }
                    _ => {}
                },
            }
            more = cursor.goto_next_sibling();
        }
        if let Some(&first) = type_nodes.first() {
            result.ty = self.type_specifier(first, hint, &mut result);
        }
        result.ty = result.ty.qualified(qualifiers);
        result
    }

    fn storage_class(&mut self, node: Node<'u>, into: &mut Specifiers) {
        match self.text(node) {
            "extern" => into.storage = Storage::Extern,
            "static" => into.storage = Storage::Static,
            "auto" => into.storage = Storage::Auto,
            "register" => into.storage = Storage::Register,
            "typedef" => into.storage = Storage::Typedef,
            "__thread" | "thread_local" | "_Thread_local" => into.thread_local = true,
            _ => into.attributes.function.inline = true,
        }
    }

    fn qualifier(&mut self, node: Node<'u>, qualifiers: &mut Qualifiers, into: &mut Specifiers) {
        match self.text(node) {
            "_Noreturn" | "noreturn" => into.attributes.function.noreturn = true,
            text => match node.named_child(0).filter(|c| c.kind() == "alignas_qualifier") {
                Some(alignas) => {
                    let align = self.alignas(alignas);
                    into.align = into.align.max(align);
                }
                None => add_qualifier(text, qualifiers),
            },
        }
    }

    /// `_Alignas(type)` or `_Alignas(n)`; 0 says nothing.
    fn alignas(&mut self, node: Node<'u>) -> Option<u64> {
        let inner = node.named_child(0)?;
        let value = if self.is_type_expression(inner) {
            let ty = self.type_name(inner);
            self.layout().align_of(ty)
        } else {
            self.const_int(inner).and_then(|v| u64::try_from(v).ok())
        };
        match value {
            Some(0) => None,
            Some(value) if value.is_power_of_two() => Some(value),
            _ => {
                self.error(node, "the alignment is not a power of two");
                None
            }
        }
    }

    /// Qualifiers among the children of a pointer or array declarator.
    pub(crate) fn qualifiers_among(&self, node: Node<'u>) -> Qualifiers {
        let mut qualifiers = Qualifiers::default();
        for child in all_children(node) {
            if matches!(child.kind(), "type_qualifier" | "ms_pointer_modifier") {
                add_qualifier(self.text(child), &mut qualifiers);
            }
        }
        qualifiers
    }

    /// The type of a `type` child.
    fn type_specifier(&mut self, node: Node<'u>, hint: Option<Name>, into: &mut Specifiers) -> Type {
        match node.kind() {
            "struct_specifier" | "union_specifier" => self.record_specifier(node, hint),
            "enum_specifier" => self.enum_specifier(node, hint),
            "macro_type_specifier" => self.macro_type(node),
            "primitive_type" if self.text(node) == "bool" => Type::new(TypeKind::Bool),
            _ => {
                let words: Vec<&str> = self.text(node).split_whitespace().collect();
                if words == ["__auto_type"] {
                    into.is_auto_type = true;
                    return Type::int();
                }
                if let [word] = words[..] {
                    into.type_align = self.typedef_align(word);
                }
                match self.type_of_words(&words) {
                    Some(ty) => ty,
                    None => {
                        self.unknown_type(node);
                        error_type()
                    }
                }
            }
        }
    }

    /// `typeof(…)`: of a type, or of an expression that the normaliser put into the brackets of `void[(e)]`.
    fn macro_type(&mut self, node: Node<'u>) -> Type {
        let Some(inner) = field(node, "type") else { return error_type() };
        let ty = self.typeof_operand_type(inner);
        match field(node, "name").map_or("", |n| self.text(n)) {
            marks::TYPEOF => ty,
            marks::TYPEOF_UNQUAL => ty.unqualified(),
            name => {
                self.error(node, format!("unknown type operator `{name}`"));
                error_type()
            }
        }
    }

    /// The type of what stands in the parentheses of `typeof`, a type name or a parameter declaration.
    pub(crate) fn typeof_operand_type(&mut self, inner: Node<'u>) -> Type {
        match typeof_operand(inner) {
            Some(operand) if self.is_type_expression(operand) => self.type_name(operand),
            Some(operand) => {
                let ty = self.type_of_unevaluated(operand);
                self.refuse_lost_effects(ty, operand);
                ty
            }
            None => self.type_name(inner),
        }
    }

    /// The type that basic type words, one typedef name, or a tag name; `None` if no type does.
    pub(crate) fn type_of_words(&self, words: &[&str]) -> Option<Type> {
        let mut qualifiers = Qualifiers::default();
        let mut counts = Counts::default();
        let mut other: Option<&str> = None;
        let mut tag: Option<&str> = None;
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "long" => counts.long += 1,
                "short" => counts.short += 1,
                "signed" | "__signed__" | "__signed" => counts.signed += 1,
                "unsigned" => counts.unsigned += 1,
                "int" => counts.int += 1,
                "_Complex" | "__complex__" | "__complex" => counts.complex += 1,
                "const" | "volatile" | "restrict" | "_Atomic" | "__const" | "__volatile__"
                | "__extension__" => {
                    add_qualifier(word, &mut qualifiers);
                }
                "struct" | "union" | "enum" => tag = words.next(),
                _ if other.is_none() => other = Some(word),
                _ => return None,
            }
        }
        let ty = match (tag, other) {
            (Some(tag), None) => match self.lookup_tag(Name::new(tag))? {
                Tag::Struct(tag) | Tag::Union(tag) => Type::new(TypeKind::Record(tag)),
                Tag::Enum(tag, kind) => Type::new(TypeKind::Enum(tag, kind)),
            },
            (None, Some(word)) => match self.builtin_type(word, &counts) {
                Some(ty) => ty,
                None if counts == Counts::default() => self.typedef_type(word)?,
                // `unsigned T` with a redefined basic type: the typedef only says `int` again.
                None => counts.int_type()?,
            },
            (None, None) => counts.int_type()?,
            (Some(_), Some(_)) => return None,
        };
        Some(ty.qualified(qualifiers))
    }

    fn typedef_type(&self, word: &str) -> Option<Type> {
        if let Some(entity) = self.lookup(word) {
            return if let Entity::Typedef(ty) = entity { Some(ty) } else { None };
        }
        // Names of <stddef.h> and <stdint.h>, if the headers were not found.
        let lp64 = self.layout().pointer_size() == 8;
        let int = |kind| Some(Type::new(TypeKind::Int(kind)));
        match word {
            "bool" => Some(Type::new(TypeKind::Bool)),
            "size_t" | "uintptr_t" => int(if lp64 { IntKind::ULong } else { IntKind::UInt }),
            "ssize_t" | "ptrdiff_t" | "intptr_t" => int(if lp64 { IntKind::Long } else { IntKind::Int }),
            "int8_t" => int(IntKind::SChar),
            "uint8_t" | "char8_t" => int(IntKind::UChar),
            "int16_t" => int(IntKind::Short),
            "uint16_t" | "char16_t" => int(IntKind::UShort),
            "int32_t" => int(IntKind::Int),
            "uint32_t" | "char32_t" => int(IntKind::UInt),
            "int64_t" => int(if lp64 { IntKind::Long } else { IntKind::LongLong }),
            "uint64_t" => int(if lp64 { IntKind::ULong } else { IntKind::ULongLong }),
            _ => None,
        }
    }

    fn builtin_type(&self, word: &str, counts: &Counts) -> Option<Type> {
        let float = |kind| {
            Some(Type::new(if counts.complex > 0 { TypeKind::Complex(kind) } else { TypeKind::Float(kind) }))
        };
        let int = |signed: IntKind| {
            let kind = if counts.unsigned > 0 { signed.to_unsigned() } else { signed };
            Some(Type::new(TypeKind::Int(kind)))
        };
        if let Some(real) = word.strip_prefix(marks::COMPLEX) {
            let kind = match real {
                "float" => FloatKind::Float,
                "long_double" => FloatKind::LongDouble,
                "double" => FloatKind::Double,
                _ => match self.builtin_type(real, counts)?.kind() {
                    TypeKind::Float(kind) => *kind,
                    _ => return None,
                },
            };
            return Some(Type::new(TypeKind::Complex(kind)));
        }
        match word {
            "void" => Some(Type::void()),
            "_Bool" => Some(Type::new(TypeKind::Bool)),
            "char" if counts.signed == 0 && counts.unsigned == 0 => int(IntKind::Char),
            "char" => int(IntKind::SChar),
            "float" => float(FloatKind::Float),
            "double" if counts.long > 0 => float(FloatKind::LongDouble),
            "double" => float(FloatKind::Double),
            "__int128" | "__int128_t" => int(IntKind::Int128),
            "__uint128_t" => int(IntKind::UInt128),
            "_Float16" => float(FloatKind::Float16),
            "_Float32" => float(FloatKind::Float),
            "_Float64" | "_Float32x" => float(FloatKind::Double),
            "_Float64x" | "__float80" => float(FloatKind::LongDouble),
            "_Float128" | "__float128" => float(FloatKind::Float128),
            "__builtin_va_list" | "__gnuc_va_list" if self.lookup(word).is_none() => {
                Some(Type::new(TypeKind::VaList))
            }
            _ => None,
        }
    }
}

/// How often each word of a basic type occurs.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    long: u8,
    short: u8,
    signed: u8,
    unsigned: u8,
    int: u8,
    complex: u8,
}

impl Counts {
    /// The type without a further word; `_Complex` alone is of `double`.
    fn int_type(self) -> Option<Type> {
        if self.complex > 0 {
            return Some(Type::new(TypeKind::Complex(FloatKind::Double)));
        }
        if self == Counts::default() {
            return None;
        }
        let kind = match (self.long, self.short) {
            (0, 0) => IntKind::Int,
            (0, _) => IntKind::Short,
            (1, _) => IntKind::Long,
            _ => IntKind::LongLong,
        };
        Some(Type::new(TypeKind::Int(if self.unsigned > 0 { kind.to_unsigned() } else { kind })))
    }
}

fn add_qualifier(text: &str, qualifiers: &mut Qualifiers) {
    match text {
        "const" | "__const" | "__const__" => qualifiers.is_const = true,
        "volatile" | "__volatile__" | "__volatile" => qualifiers.is_volatile = true,
        "restrict" | "__restrict" | "__restrict__" => qualifiers.is_restrict = true,
        "_Atomic" => qualifiers.is_atomic = true,
        _ => {}
    }
}

/// The expression `e` of the descriptor `void[(e)]`.
fn typeof_operand(descriptor: Node<'_>) -> Option<Node<'_>> {
    let array = field(descriptor, "declarator").filter(|d| d.kind() == "abstract_array_declarator")?;
    let size = field(array, "size").filter(|s| s.kind() == "parenthesized_expression")?;
    let is_outermost = field(array, "declarator").is_none();
    is_outermost.then(|| size.named_child(0)).flatten()
}
