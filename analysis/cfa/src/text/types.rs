//! C types as text, read from left to right, and back. Must not know layouts.

use std::{fmt::Write, sync::Arc};

use proofline_hir::{
    Name, Type, TypeKind,
    types::{ArrayLength, FloatKind, IntKind, Qualifiers, Signature, TypeData},
};

use super::{Parser, lex::ParseError, name};

const INTS: [(IntKind, &str); 13] = [
    (IntKind::Char, "char"),
    (IntKind::SChar, "signed char"),
    (IntKind::UChar, "unsigned char"),
    (IntKind::Short, "short"),
    (IntKind::UShort, "unsigned short"),
    (IntKind::Int, "int"),
    (IntKind::UInt, "unsigned int"),
    (IntKind::LongLong, "long long"),
    (IntKind::ULongLong, "unsigned long long"),
    (IntKind::Long, "long"),
    (IntKind::ULong, "unsigned long"),
    (IntKind::Int128, "__int128"),
    (IntKind::UInt128, "unsigned __int128"),
];

const FLOATS: [(FloatKind, &str); 5] = [
    (FloatKind::Float16, "_Float16"),
    (FloatKind::Float, "float"),
    (FloatKind::Double, "double"),
    (FloatKind::LongDouble, "long double"),
    (FloatKind::Float128, "_Float128"),
];

fn int_text(kind: IntKind) -> &'static str {
    INTS.iter().find(|(k, _)| *k == kind).map_or("int", |(_, text)| text)
}

fn float_text(kind: FloatKind) -> &'static str {
    FLOATS.iter().find(|(k, _)| *k == kind).map_or("double", |(_, text)| text)
}

/// `struct s` stays as it is; any other tag is quoted behind its word.
fn tag_text(word: &str, tag: Name) -> String {
    for prefix in ["struct", "union", "enum"] {
        let rest = tag.as_str().strip_prefix(prefix).and_then(|rest| rest.strip_prefix(' '));
        if let Some(rest) = rest.filter(|rest| name::is_bare(rest))
            && (word == "enum") == (prefix == "enum")
        {
            return format!("{prefix} {rest}");
        }
    }
    format!("{word} {}", name::quoted(tag.as_str()))
}

/// The tag of a record.
pub(super) fn record_text(tag: Name) -> String {
    tag_text("struct", tag)
}

pub(super) fn print(ty: Type, out: &mut String) {
    match ty.kind() {
        TypeKind::Void => out.push_str("void"),
        TypeKind::Bool => out.push_str("_Bool"),
        TypeKind::Int(kind) => out.push_str(int_text(*kind)),
        TypeKind::Float(kind) => out.push_str(float_text(*kind)),
        TypeKind::Complex(kind) => {
            let _ = write!(out, "_Complex {}", float_text(*kind));
        }
        TypeKind::Pointer(inner) => {
            print(*inner, out);
            out.push('*');
        }
        TypeKind::Array(inner, length) => {
            print(*inner, out);
            match length {
                ArrayLength::Fixed(n) => {
                    let _ = write!(out, "[{n}]");
                }
                ArrayLength::Unknown => out.push_str("[]"),
                ArrayLength::Variable => out.push_str("[*]"),
            }
        }
        TypeKind::Function(signature) => {
            print(signature.result, out);
            out.push('(');
            let mut separator = "";
            if signature.unprototyped {
                out.push('?');
                separator = ", ";
            }
            for parameter in &signature.parameters {
                out.push_str(separator);
                separator = ", ";
                print(*parameter, out);
            }
            if signature.variadic {
                out.push_str(separator);
                out.push_str("...");
            }
            out.push(')');
        }
        TypeKind::Record(tag) => out.push_str(&record_text(*tag)),
        TypeKind::Enum(tag, kind) => {
            let _ = write!(out, "{}:{}", tag_text("enum", *tag), int_text(*kind));
        }
        TypeKind::Vector(inner, n) => {
            out.push_str("vector(");
            print(*inner, out);
            let _ = write!(out, ", {n})");
        }
        TypeKind::VaList => out.push_str("va_list"),
        TypeKind::Error => out.push_str("type_error"),
    }
    let qualifiers = ty.qualifiers();
    for (set, word) in [
        (qualifiers.is_const, " const"),
        (qualifiers.is_volatile, " volatile"),
        (qualifiers.is_restrict, " restrict"),
        (qualifiers.is_atomic, " _Atomic"),
    ] {
        if set {
            out.push_str(word);
        }
    }
}

impl Parser<'_> {
    /// Tries the words of a table entry, longest entries being listed before their beginnings.
    fn words<T: Copy>(&mut self, table: &[(T, &str)]) -> Option<T> {
        let mut best: Option<(T, usize)> = None;
        for (kind, text) in table {
            let words = text.split(' ').count();
            let matches =
                text.split(' ').enumerate().all(|(i, word)| self.word_at(self.at + i) == Some(word));
            if matches && best.is_none_or(|(_, n)| n < words) {
                best = Some((*kind, words));
            }
        }
        let (kind, words) = best?;
        self.at += words;
        Some(kind)
    }

    /// `struct s`, or `` struct `any tag` ``.
    pub(super) fn record_tag(&mut self) -> Result<Name, ParseError> {
        for word in ["struct", "union"] {
            if self.word(word) {
                return self.tag(word);
            }
        }
        self.fail("a record's tag")
    }

    fn tag(&mut self, word: &str) -> Result<Name, ParseError> {
        if let Some(text) = self.quoted() {
            return Ok(Name::new(&text));
        }
        let text = self.any_word("a tag")?;
        Ok(Name::new(&format!("{word} {text}")))
    }

    fn int_kind(&mut self) -> Result<IntKind, ParseError> {
        if let Some(kind) = self.words(&INTS) { Ok(kind) } else { self.fail("an integer type") }
    }

    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        // `long double` must not be read as `long`.
        let kind = if let Some(kind) = self.words(&FLOATS) {
            TypeKind::Float(kind)
        } else if let Some(kind) = self.words(&INTS) {
            TypeKind::Int(kind)
        } else if self.word("void") {
            TypeKind::Void
        } else if self.word("_Bool") {
            TypeKind::Bool
        } else if self.word("_Complex") {
            match self.words(&FLOATS) {
                Some(kind) => TypeKind::Complex(kind),
                None => return self.fail("a floating type"),
            }
        } else if self.word("enum") {
            let tag = self.tag("enum")?;
            self.expect(":")?;
            TypeKind::Enum(tag, self.int_kind()?)
        } else if self.word("vector") {
            self.expect("(")?;
            let inner = self.ty()?;
            self.expect(",")?;
            let n = self.number("a number of elements")?;
            self.expect(")")?;
            TypeKind::Vector(inner, n)
        } else if self.word("va_list") {
            TypeKind::VaList
        } else if self.word("type_error") {
            TypeKind::Error
        } else {
            TypeKind::Record(self.record_tag()?)
        };
        let mut ty = self.qualified(kind);
        loop {
            let kind = if self.punct("*") {
                TypeKind::Pointer(ty)
            } else if self.punct("[") {
                let length = if self.punct("*") {
                    ArrayLength::Variable
                } else if self.peek_punct("]") {
                    ArrayLength::Unknown
                } else {
                    ArrayLength::Fixed(self.number("a length")?)
                };
                self.expect("]")?;
                TypeKind::Array(ty, length)
            } else if self.punct("(") {
                self.signature(ty)?
            } else {
                return Ok(ty);
            };
            ty = self.qualified(kind);
        }
    }

    fn signature(&mut self, result: Type) -> Result<TypeKind, ParseError> {
        let mut signature =
            Signature { result, parameters: Vec::new(), variadic: false, unprototyped: false };
        if self.punct("?") {
            signature.unprototyped = true;
            if !self.punct(",") {
                self.expect(")")?;
                return Ok(TypeKind::Function(Arc::new(signature)));
            }
        }
        while !self.punct(")") {
            if self.punct("...") {
                signature.variadic = true;
                self.expect(")")?;
                break;
            }
            signature.parameters.push(self.ty()?);
            if !self.punct(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(TypeKind::Function(Arc::new(signature)))
    }

    fn qualified(&mut self, kind: TypeKind) -> Type {
        let mut qualifiers = Qualifiers::default();
        loop {
            if self.word("const") {
                qualifiers.is_const = true;
            } else if self.word("volatile") {
                qualifiers.is_volatile = true;
            } else if self.word("restrict") {
                qualifiers.is_restrict = true;
            } else if self.word("_Atomic") {
                qualifiers.is_atomic = true;
            } else {
                return Type::intern(TypeData { kind, qualifiers });
            }
        }
    }
}
