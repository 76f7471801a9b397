//! Types in C syntax.

use crate::types::{ArrayLength, FloatKind, IntKind, Qualifiers, Signature, Type, TypeKind};

/// A type as C writes it: `int (*)[3]`.
pub fn type_text(ty: Type) -> String {
    declaration_text(ty, "")
}

/// A declaration of `name`: `int (*name)[3]`.
pub fn declaration_text(ty: Type, name: &str) -> String {
    wrap(ty, name.to_owned())
}

/// A function's head with the names of its parameters.
pub(super) fn definition_text(ty: Type, name: &str, parameters: &[String]) -> String {
    let TypeKind::Function(signature) = ty.kind() else { return declaration_text(ty, name) };
    wrap(signature.result, format!("{name}({})", parameters_text(signature, parameters)))
}

fn parameters_text(signature: &Signature, names: &[String]) -> String {
    if signature.unprototyped && names.is_empty() {
        return String::new();
    }
    let name = |index: usize| names.get(index).map_or("", String::as_str);
    let mut parts: Vec<String> =
        signature.parameters.iter().enumerate().map(|(i, ty)| declaration_text(*ty, name(i))).collect();
    if signature.variadic {
        parts.push("...".to_owned());
    }
    if parts.is_empty() { "void".to_owned() } else { parts.join(", ") }
}

/// Puts the declarator built so far into the type, from the inside out.
fn wrap(mut ty: Type, mut inner: String) -> String {
    loop {
        let qualifiers = qualifiers_text(ty.qualifiers());
        let base = match ty.kind() {
            TypeKind::Pointer(target) => {
                let space = if qualifiers.is_empty() || inner.is_empty() { "" } else { " " };
                inner = format!("*{}{space}{inner}", qualifiers.trim_end());
                if matches!(target.kind(), TypeKind::Array(..) | TypeKind::Function(_)) {
                    inner = format!("({inner})");
                }
                ty = *target;
                continue;
            }
            TypeKind::Array(element, length) => {
                inner = match length {
                    ArrayLength::Fixed(length) => format!("{inner}[{length}]"),
                    ArrayLength::Unknown => format!("{inner}[]"),
                    ArrayLength::Variable => format!("{inner}[*]"),
                };
                ty = *element;
                continue;
            }
            TypeKind::Function(signature) => {
                inner = format!("{inner}({})", parameters_text(signature, &[]));
                ty = signature.result;
                continue;
            }
            TypeKind::Void => "void".to_owned(),
            TypeKind::Bool => "_Bool".to_owned(),
            TypeKind::Int(kind) => int_text(*kind).to_owned(),
            TypeKind::Float(kind) => float_text(*kind).to_owned(),
            TypeKind::Complex(kind) => format!("_Complex {}", float_text(*kind)),
            TypeKind::Record(tag) | TypeKind::Enum(tag, _) => tag_text(tag).to_owned(),
            TypeKind::Vector(element, length) => format!("vector({length}) {}", type_text(*element)),
            TypeKind::VaList => "va_list".to_owned(),
            TypeKind::Error => "<unknown type>".to_owned(),
        };
        let space = if inner.is_empty() || inner.starts_with('[') { "" } else { " " };
        return format!("{qualifiers}{base}{space}{inner}");
    }
}

/// A tag; of a type without one the name that a `typedef` has given it.
fn tag_text(tag: &str) -> &str {
    match tag.split_once(" #") {
        Some((_, name)) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => name,
        Some(_) | None => tag,
    }
}

fn qualifiers_text(qualifiers: Qualifiers) -> String {
    let mut out = String::new();
    for (set, word) in [
        (qualifiers.is_const, "const "),
        (qualifiers.is_volatile, "volatile "),
        (qualifiers.is_restrict, "restrict "),
        (qualifiers.is_atomic, "_Atomic "),
    ] {
        if set {
            out.push_str(word);
        }
    }
    out
}

/// C's name of an integer type.
pub(super) fn int_text(kind: IntKind) -> &'static str {
    match kind {
        IntKind::Char => "char",
        IntKind::SChar => "signed char",
        IntKind::UChar => "unsigned char",
        IntKind::Short => "short",
        IntKind::UShort => "unsigned short",
        IntKind::Int => "int",
        IntKind::UInt => "unsigned int",
        IntKind::Long => "long",
        IntKind::ULong => "unsigned long",
        IntKind::LongLong => "long long",
        IntKind::ULongLong => "unsigned long long",
        IntKind::Int128 => "__int128",
        IntKind::UInt128 => "unsigned __int128",
    }
}

fn float_text(kind: FloatKind) -> &'static str {
    match kind {
        FloatKind::Float16 => "_Float16",
        FloatKind::Float => "float",
        FloatKind::Double => "double",
        FloatKind::LongDouble => "long double",
        FloatKind::Float128 => "_Float128",
    }
}
