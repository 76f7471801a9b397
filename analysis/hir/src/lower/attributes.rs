//! Attributes: what they say about types, objects and functions. Must not decide what they attach to: their readers
//! (`specifiers`, `declarator`, `record`) do.

use proofline_syntax::changes_floats;
use tree_sitter::Node;

use super::Lowerer;
use crate::{
    Name,
    lower::literal::{self, Number},
    module::FunctionAttributes,
    types::{FloatKind, IntKind, Type, TypeKind},
};

/// The attributes of one declaration, record or enum that change meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) packed: bool,
    /// `aligned(n)`, the largest one.
    pub(crate) aligned: Option<u64>,
    /// `vector_size(bytes)`
    pub(crate) vector_size: Option<u64>,
    /// `mode(m)`, without underscores.
    pub(crate) mode: Option<String>,
    pub(crate) cleanup: Option<Name>,
    /// `alias("f")`: the name is another name of `f`.
    pub(crate) alias: Option<Name>,
    /// `asm("name")` behind a declarator, or `weakref("name")`: what the linker calls it.
    pub(crate) asm_label: Option<Name>,
    /// `weak`, `weakref`
    pub(crate) weak: bool,
    pub(crate) function: FunctionAttributes,
}

impl Attributes {
    /// Adds what `other` says.
    pub(crate) fn merge(&mut self, other: Attributes) {
        self.packed |= other.packed;
        self.aligned = self.aligned.max(other.aligned);
        self.vector_size = other.vector_size.or(self.vector_size);
        self.mode = other.mode.or(self.mode.take());
        self.cleanup = other.cleanup.or(self.cleanup);
        self.alias = other.alias.or(self.alias);
        self.asm_label = other.asm_label.or(self.asm_label);
        self.weak |= other.weak;
        merge_function(&mut self.function, &other.function);
    }
}

/// Adds what another declaration of the same function says.
pub(crate) fn merge_function(into: &mut FunctionAttributes, other: &FunctionAttributes) {
    let FunctionAttributes { noreturn, inline, pure, malloc, runs_outside_main, weak } = other;
    into.noreturn |= noreturn;
    into.inline |= inline;
    into.pure |= pure;
    into.malloc |= malloc;
    into.runs_outside_main |= runs_outside_main;
    into.weak |= weak;
}

/// What string literals in a row say; names of sections have no blanks.
fn text_of(literals: &str) -> String {
    literals.chars().filter(|c| !c.is_whitespace() && *c != '"').collect()
}

/// Whether the start or the end of a program runs what is in a section, or what it points to.
fn runs_its_contents(section: &str) -> bool {
    let of =
        |name: &str| section.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    [".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors", ".init", ".fini"].into_iter().any(of)
}

impl<'u> Lowerer<'u> {
    /// One attribute by its name and the text of its arguments.
    pub(crate) fn attribute(&mut self, at: Node<'u>, name: &str, arguments: &str, into: &mut Attributes) {
        let name = name.trim();
        let name = name.strip_prefix("__").and_then(|n| n.strip_suffix("__")).unwrap_or(name);
        match name {
            "packed" => into.packed = true,
            "aligned" => {
                let value =
                    if arguments.trim().is_empty() { Some(16) } else { self.attribute_int(arguments) };
                match value.filter(|v| v.is_power_of_two()) {
                    Some(value) => into.aligned = into.aligned.max(Some(value)),
                    None => self.error(at, format!("cannot evaluate the alignment `{}`", arguments.trim())),
                }
            }
            "vector_size" => match self.attribute_int(arguments) {
                Some(value) => into.vector_size = Some(value),
                None => self.error(at, format!("cannot evaluate the vector size `{}`", arguments.trim())),
            },
            "mode" => into.mode = Some(arguments.trim().trim_matches('_').to_owned()),
            "cleanup" => into.cleanup = Some(Name::new(arguments.trim())),
            "alias" => into.alias = Some(Name::new(arguments.trim().trim_matches('"'))),
            "weak" => {
                into.weak = true;
                into.function.weak = true;
            }
            // A name of this unit for another: of a function here, or of one that may be somewhere else.
            "weakref" => {
                into.weak = true;
                let target = arguments.trim().trim_matches('"');
                if !target.is_empty() {
                    into.asm_label = Some(Name::new(target));
                }
            }
            "noreturn" => into.function.noreturn = true,
            "pure" | "const" => into.function.pure = true,
            "malloc" => into.function.malloc = true,
            "section" if runs_its_contents(&text_of(arguments)) => {
                let section = text_of(arguments);
                self.error(
                    at,
                    format!(
                        "what is in the section `{section}` runs outside of `main`, which is not modelled"
                    ),
                );
            }
            "scalar_storage_order" if arguments.trim().trim_matches('"') != "little-endian" => {
                self.error(at, "members in another order of bytes are not supported");
            }
            "ms_struct" => self.error(at, "the layout of Microsoft's compilers is not supported"),
            "optimize" if changes_floats(arguments) => {
                self.error(
                    at,
                    "floating arithmetic as the attribute `optimize` wants it here is not supported",
                );
            }
            "constructor" | "destructor" => into.function.runs_outside_main = true,
            _ => {}
        }
    }

    /// Value of an attribute's argument: an integer constant expression, as text because attributes are outside the tree.
    pub(crate) fn attribute_int(&self, text: &str) -> Option<u64> {
        let tokens = tokens(text);
        let mut reader = Reader { lowerer: self, tokens: &tokens, at: 0 };
        let value = reader.binary(0, 0)?;
        (reader.at == tokens.len()).then_some(value).and_then(|v| u64::try_from(v).ok())
    }

    /// The type that `vector_size` and `mode` make of a declaration's basic type.
    pub(crate) fn retyped(&mut self, at: Node<'u>, ty: Type, attributes: &Attributes) -> Type {
        let mut ty = ty;
        if let Some(mode) = &attributes.mode {
            match self.mode_type(ty, mode) {
                Some(other) => ty = other.qualified(ty.qualifiers()),
                None => self.error(at, format!("unknown machine mode `{mode}`")),
            }
        }
        if let Some(bytes) = attributes.vector_size {
            let size = self.layout().size_of(ty).filter(|&size| size > 0 && bytes % size == 0);
            match size.and_then(|size| u32::try_from(bytes / size).ok()).filter(|&n| n > 0) {
                Some(length) => {
                    ty = Type::new(TypeKind::Vector(ty.unqualified(), length)).qualified(ty.qualifiers())
                }
                None => self.error(at, "the vector's size is no multiple of its element's"),
            }
        }
        ty
    }

    fn mode_type(&self, ty: Type, mode: &str) -> Option<Type> {
        let word = if self.layout().pointer_size() == 8 { "DI" } else { "SI" };
        let mode = match mode {
            "word" | "pointer" | "unwind_word" => word,
            "byte" => "QI",
            other => other,
        };
        let unsigned = ty.is_unsigned();
        let int =
            |kind: IntKind| Some(Type::new(TypeKind::Int(if unsigned { kind.to_unsigned() } else { kind })));
        let wide = if word == "DI" { IntKind::Long } else { IntKind::LongLong };
        match mode {
            "QI" => int(IntKind::SChar),
            "HI" => int(IntKind::Short),
            "SI" => int(IntKind::Int),
            "DI" => int(wide),
            "TI" => int(IntKind::Int128),
            "HF" => Some(Type::new(TypeKind::Float(FloatKind::Float16))),
            "SF" => Some(Type::new(TypeKind::Float(FloatKind::Float))),
            "DF" => Some(Type::new(TypeKind::Float(FloatKind::Double))),
            "XF" => Some(Type::new(TypeKind::Float(FloatKind::LongDouble))),
            "TF" => Some(Type::new(TypeKind::Float(FloatKind::Float128))),
            "SC" => Some(Type::new(TypeKind::Complex(FloatKind::Float))),
            "DC" => Some(Type::new(TypeKind::Complex(FloatKind::Double))),
            "XC" => Some(Type::new(TypeKind::Complex(FloatKind::LongDouble))),
            "TC" => Some(Type::new(TypeKind::Complex(FloatKind::Float128))),
            _ => None,
        }
    }
}

/// Words, numbers and operators (longest first) of an argument's text.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else if ["<<", ">>"].iter().any(|op| rest.starts_with(op)) {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// A precedence climber over an argument's tokens.
struct Reader<'t, 'l, 'u> {
    lowerer: &'l Lowerer<'u>,
    tokens: &'t [&'t str],
    at: usize,
}

impl Reader<'_, '_, '_> {
    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.get(self.at) == Some(&token);
        self.at += usize::from(found);
        found
    }

    fn binary(&mut self, least: u8, depth: u32) -> Option<i128> {
        if depth > 50 {
            return None;
        }
        let mut left = self.primary(depth)?;
        while let Some(&operator) = self.tokens.get(self.at) {
            let precedence = match operator {
                "|" => 1,
                "^" => 2,
                "&" => 3,
                "<<" | ">>" => 4,
                "+" | "-" => 5,
                "*" | "/" | "%" => 6,
                _ => break,
            };
            if precedence <= least {
                break;
            }
            self.at += 1;
            let right = self.binary(precedence, depth + 1)?;
            left = match operator {
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn primary(&mut self, depth: u32) -> Option<i128> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        match token {
            "(" => {
                let value = self.binary(0, depth + 1)?;
                self.take(")").then_some(value)
            }
            "sizeof" => self.parenthesized_type(|l, ty| l.layout().size_of(ty)),
            "_Alignof" | "alignof" => self.parenthesized_type(|l, ty| l.layout().align_of(ty)),
            "__alignof__" | "__alignof" => self.parenthesized_type(|l, ty| l.layout().preferred_align_of(ty)),
            "__BIGGEST_ALIGNMENT__" => Some(16),
            _ if token.starts_with(|c: char| c.is_ascii_digit()) => {
                match literal::number(token, self.lowerer.model).ok()? {
                    Number::Int(value, _) => Some(value),
                    Number::Float { .. } | Number::Imaginary(_) => None,
                }
            }
            _ => match self.lowerer.lookup(token)? {
                super::Entity::EnumConstant(value, _) => Some(value),
                _ => None,
            },
        }
    }

    /// `(type)`, where the type is words and stars.
    fn parenthesized_type(&mut self, measure: impl Fn(&Lowerer<'_>, Type) -> Option<u64>) -> Option<i128> {
        if !self.take("(") {
            return None;
        }
        let from = self.at;
        while self.tokens.get(self.at).is_some_and(|t| !matches!(*t, ")" | "*")) {
            self.at += 1;
        }
        let mut ty = self.lowerer.type_of_words(&self.tokens[from..self.at])?;
        while self.take("*") {
            ty = ty.pointer_to();
        }
        self.take(")").then_some(())?;
        measure(self.lowerer, ty).map(i128::from)
    }
}
