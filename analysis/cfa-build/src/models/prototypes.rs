//! What the library's functions take and give: a function of that name that takes or gives something else is one of the project's, which nothing is known of. Kinds of types are
//! compared, not types: declarations that people write themselves, and those of other systems, differ in sizes and qualifiers; but where the library fills a structure, one that is
//! smaller is another one. Names that C reserves (C11 7.1.3) are nobody's else.

use std::{borrow::Cow, sync::LazyLock};

use proofline_cfa::{Program, Types};
use proofline_hir::{Name, Type, TypeKind, types::IntKind};
use rustc_hash::FxHashMap;

use super::{Library, effect::Model, needs::Need};

/// A type, as far as it tells functions apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Any,
    Void,
    Int,
    Float,
    Record,
    /// `void *`
    ToVoid,
    /// A pointer to bytes: `void *`, or to characters.
    ToBytes,
    ToInt,
    ToFloat,
    ToRecord,
    ToPointer,
    ToFunction,
}

#[derive(Debug)]
struct Prototype {
    result: Kind,
    parameters: Vec<Kind>,
    is_variadic: bool,
}

static PROTOTYPES: LazyLock<FxHashMap<Name, Prototype>> =
    LazyLock::new(|| parse(include_str!("../../models/libc.types")));

fn parse(text: &'static str) -> FxHashMap<Name, Prototype> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut found = FxHashMap::default();
    for line in lines {
        let Some((types, names)) = line.split_once("): ") else { continue };
        for name in names.split(", ") {
            if let Some(prototype) = prototype(types) {
                found.insert(Name::new(name), prototype);
            }
        }
    }
    found
}

/// Of `int(char*, int, ...`, without the bracket at its end.
fn prototype(text: &str) -> Option<Prototype> {
    let (result, parameters) = text.split_once('(')?;
    let mut kinds = Vec::new();
    let mut is_variadic = false;
    for word in parameters.split(", ").filter(|word| !word.is_empty()) {
        match word {
            "..." => is_variadic = true,
            word => kinds.push(kind_called(word)?),
        }
    }
    Some(Prototype { result: kind_called(result)?, parameters: kinds, is_variadic })
}

fn kind_called(word: &str) -> Option<Kind> {
    Some(match word {
        "any" => Kind::Any,
        "void" => Kind::Void,
        "int" => Kind::Int,
        "float" => Kind::Float,
        "record" => Kind::Record,
        "void*" | "char*" => Kind::ToBytes,
        "int*" => Kind::ToInt,
        "float*" => Kind::ToFloat,
        "record*" => Kind::ToRecord,
        "pointer*" => Kind::ToPointer,
        "function*" => Kind::ToFunction,
        _ => return None,
    })
}

fn kind(ty: Type) -> Kind {
    match ty.kind() {
        TypeKind::Void => Kind::Void,
        TypeKind::Bool | TypeKind::Int(_) | TypeKind::Enum(..) => Kind::Int,
        TypeKind::Float(_) => Kind::Float,
        TypeKind::Record(_) => Kind::Record,
        TypeKind::Pointer(to) => match to.kind() {
            TypeKind::Void => Kind::ToVoid,
            TypeKind::Int(IntKind::Char | IntKind::SChar | IntKind::UChar) => Kind::ToBytes,
            TypeKind::Bool | TypeKind::Int(_) | TypeKind::Enum(..) => Kind::ToInt,
            TypeKind::Float(_) => Kind::ToFloat,
            TypeKind::Record(_) => Kind::ToRecord,
            TypeKind::Pointer(_) | TypeKind::Array(..) => Kind::ToPointer,
            TypeKind::Function(_) => Kind::ToFunction,
            TypeKind::Complex(_) | TypeKind::Vector(..) | TypeKind::VaList | TypeKind::Error => Kind::Any,
        },
        TypeKind::Array(..)
        | TypeKind::Function(_)
        | TypeKind::Complex(_)
        | TypeKind::Vector(..)
        | TypeKind::VaList
        | TypeKind::Error => Kind::Any,
    }
}

impl Kind {
    fn is_pointer(self) -> bool {
        match self {
            Kind::ToVoid
            | Kind::ToBytes
            | Kind::ToInt
            | Kind::ToFloat
            | Kind::ToRecord
            | Kind::ToPointer
            | Kind::ToFunction => true,
            Kind::Any | Kind::Void | Kind::Int | Kind::Float | Kind::Record => false,
        }
    }

    fn fits(self, declared: Type) -> bool {
        let other = kind(declared);
        // Who does not know a structure writes `void *` for a pointer to it.
        let is_any_pointer = other == Kind::ToVoid && self.is_pointer();
        self == other || self == Kind::Any || other == Kind::Any || is_any_pointer
    }
}

/// Whether a function that is declared so may be the library's function of that name.
fn may_be_of_library(name: Name, ty: Type) -> bool {
    let Some(prototype) = PROTOTYPES.get(&name) else { return true };
    let TypeKind::Function(declared) = ty.kind() else { return false };
    // A declaration without parameters says nothing of them.
    let takes = declared.unprototyped
        || declared.variadic == prototype.is_variadic
            && declared.parameters.len() == prototype.parameters.len()
            && prototype.parameters.iter().zip(&declared.parameters).all(|(kind, ty)| kind.fits(*ty));
    // Nor does one that was never written of what is given: it is an `int` then.
    takes && (prototype.result.fits(declared.result) || declared.unprototyped)
}

/// Whether a structure that is passed has fewer bytes than the library's function needs there: it is the program's own (`struct stat` of a small kernel).
fn has_own_records(model: &Model, ty: Type, program: &Program) -> bool {
    let TypeKind::Function(declared) = ty.kind() else { return false };
    let types = Types { records: &program.records, model: program.data_model };
    let is_too_small = |need: &Need| {
        let Need::Bytes { pointer, size, .. } = need else { return false };
        let record = declared.parameters.get(*pointer).and_then(|pointer| pointer.pointee());
        let record = record.filter(|record| matches!(record.kind(), TypeKind::Record(_)));
        let has = record.and_then(|record| types.size(record));
        has.zip(size.number(program)).is_some_and(|(has, needed)| i128::from(has) < needed)
    };
    model.needs.iter().any(is_too_small)
}

impl Library {
    /// Without the functions that the program declares to be others.
    pub(super) fn for_program(&self, program: &Program) -> Cow<'_, Library> {
        let is_own =
            |name: &Name, ty| self.exact.get(name).is_some_and(|model| has_own_records(model, ty, program));
        let is_other = |(name, ty): (&Name, &Type)| {
            (!may_be_of_library(*name, *ty) || is_own(name, *ty)).then_some(*name)
        };
        let mut others: Vec<Name> = program.externals.iter().filter_map(is_other).collect();
        // What starts a thread is not taken to be harmless because somebody declares it in another way.
        let interferes =
            |name: &Name| self.exact.get(name).is_some_and(|of| of.unsupported_program.is_some());
        others.retain(|name| !interferes(name));
        if !others.iter().any(|name| self.exact.contains_key(name)) {
            return Cow::Borrowed(self);
        }
        let mut own = self.clone();
        own.exact.retain(|name, _| !others.contains(name));
        Cow::Owned(own)
    }
}
