//! What the parts of an lvalue imply, so that it need not be written. Printer and parser ask the same questions.
//! Must not know tokens.

use std::{collections::BTreeMap, sync::Arc};

use proofline_hir::{
    Name, Records, Type, TypeKind,
    types::{ArrayLength, BitField},
};
use proofline_syntax::DataModel;

use crate::{
    Types,
    expr::{Base, Expr, Step},
    function::Local,
    program::{Global, Program},
    scalar::Scalar,
};

/// What text leaves out because it is known from elsewhere: must be the same for printing and parsing.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'p> {
    /// Sizes of C's types.
    pub data_model: DataModel,
    /// Layouts.
    pub records: &'p Records,
    /// Types of globals.
    pub globals: &'p BTreeMap<Name, Arc<Global>>,
}

static NO_RECORDS: Records = Records::new();
static NO_GLOBALS: BTreeMap<Name, Arc<Global>> = BTreeMap::new();

impl<'p> Surroundings<'p> {
    /// Of a function of the program.
    pub fn of(program: &'p Program) -> Surroundings<'p> {
        Surroundings { data_model: program.data_model, records: &program.records, globals: &program.globals }
    }

    /// No records and no globals.
    pub fn bare(data_model: DataModel) -> Surroundings<'static> {
        Surroundings { data_model, records: &NO_RECORDS, globals: &NO_GLOBALS }
    }

    fn types(self) -> Types<'p> {
        Types { records: self.records, model: self.data_model }
    }

    /// Format of a value of the type, if it is a scalar.
    pub(super) fn scalar(self, ty: Type) -> Option<Scalar> {
        self.types().scalar(ty)
    }

    /// Size in bytes; 0 if unknown.
    pub(super) fn size(self, ty: Type) -> u64 {
        self.types().size(ty).unwrap_or(0)
    }

    /// Type of what a base designates.
    pub(super) fn base_type(self, base: &Base, locals: &[Local]) -> Option<Type> {
        match base {
            Base::Local(id) => locals.get(id.index()).map(|local| local.ty),
            Base::Global(name) => self.globals.get(name).map(|global| global.ty),
            Base::Deref(pointer, _) => match &**pointer {
                Expr::Load(lvalue) => lvalue.ty.pointee(),
                Expr::Address(lvalue) => Some(lvalue.ty),
                Expr::Int(..)
                | Expr::Float(..)
                | Expr::Null
                | Expr::Function(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Compare(..)
                | Expr::Cast(..)
                | Expr::Overflows(..)
                | Expr::Memory(..)
                | Expr::PointerDifference(..) => None,
            },
        }
    }

    /// Record, offset and type of a member.
    pub(super) fn field(self, of: Option<Type>, name: Name) -> Option<(Name, u64, Type)> {
        let TypeKind::Record(tag) = of?.kind() else { return None };
        let field = self.records.get(tag)?.fields.iter().find(|field| field.name == name)?;
        Some((*tag, field.offset, field.ty))
    }

    /// Bits of the member that a path ends with.
    pub(super) fn bits(self, path: &[Step]) -> Option<BitField> {
        let Step::Field { record, name, .. } = path.last()? else { return None };
        self.records.get(record)?.fields.iter().find(|field| field.name == *name)?.bits
    }

    /// Type of a member whose record is said.
    pub(super) fn field_type(self, record: Name, name: Name) -> Option<Type> {
        self.records.get(&record)?.fields.iter().find(|field| field.name == name).map(|field| field.ty)
    }

    /// Type, stride and length behind an index.
    pub(super) fn element(self, of: Option<Type>) -> (Option<Type>, u64, Option<u64>) {
        match of.map(|ty| (ty, ty.kind())) {
            Some((_, TypeKind::Array(inner, length))) => {
                let length = if let ArrayLength::Fixed(n) = length { Some(*n) } else { None };
                (Some(*inner), self.size(*inner), length)
            }
            Some((ty, _)) => (Some(ty), self.size(ty), None),
            None => (None, 0, None),
        }
    }

    /// Size of an lvalue whose type is known.
    pub(super) fn lvalue_size(self, base: &Base, is_whole: bool, ty: Type, locals: &[Local]) -> u64 {
        match base {
            Base::Local(id) if is_whole => locals.get(id.index()).map_or(0, |local| local.size),
            Base::Global(name) if is_whole => {
                self.globals.get(name).map_or_else(|| self.size(ty), |global| global.size)
            }
            Base::Local(_) | Base::Global(_) | Base::Deref(..) => self.size(ty),
        }
    }
}
