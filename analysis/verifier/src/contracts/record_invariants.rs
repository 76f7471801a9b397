//! What holds of a record whenever nobody is at work on it: `s->top <= 16`, `v->len <= v->cap`. A function that is given such a record finds it so, and
//! leaves it so. Facts speak of one record and its own members; here they are data, words, and conditions in the words of automata.
//!
//! **Law.** A fact is a condition on values of members alone: it reads nothing but the record, and changes nothing.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, Lvalue, Name, Program, Scalar, Site, Step, Type, scalar_of,
};
use proofline_hir::TypeKind;

use super::{Member, origin::types};

mod guess;
mod told;

pub(crate) use guess::{guessed, is_written, plain};
pub(super) use told::told;

/// What a function asks of a record that it is given, and how it leaves it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OfRecord {
    /// What holds when it is called.
    pub asked: BTreeSet<Fact>,
    /// What holds when it returns.
    pub left: BTreeSet<Fact>,
}

/// That one number is not larger than another one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fact {
    /// The one that is not larger.
    pub least: Number,
    /// The other one.
    pub most: Number,
}

/// A number that a fact speaks of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Number {
    /// What is in a member, an integer.
    Member(Member),
    /// A number of the text.
    Constant(i128),
}

impl Number {
    fn expr(&self, program: &Program, pointer: &Expr, ty: IntType) -> Option<Expr> {
        match self {
            Number::Member(member) => Some(Expr::Load(place(program, pointer, member)?)),
            Number::Constant(value) => ty.contains(*value).then_some(Expr::Int(*value, ty)),
        }
    }

    fn member(&self) -> Option<&Member> {
        match self {
            Number::Member(member) => Some(member),
            Number::Constant(_) => None,
        }
    }

    fn text(&self, record: &str) -> String {
        match self {
            Number::Member(member) => format!("{record}->{}", member.name),
            Number::Constant(value) => value.to_string(),
        }
    }
}

impl Fact {
    /// The members that it speaks of.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        [&self.least, &self.most].into_iter().filter_map(Number::member)
    }

    /// That it holds of the record that a pointer leads to; `None`: its members are not of one type.
    pub(super) fn condition(&self, program: &Program, pointer: &Expr) -> Option<Expr> {
        let types: BTreeSet<IntType> =
            self.members().map(|member| int_type(program, member)).collect::<Option<_>>()?;
        let ty = types.iter().next().copied().filter(|_| types.len() == 1)?;
        let (least, most) = (self.least.expr(program, pointer, ty)?, self.most.expr(program, pointer, ty)?);
        // Comparisons have their number behind.
        if let Number::Constant(_) = self.least {
            return Some(Expr::Compare(CompareOp::Ge, Arc::new(most), Arc::new(least)));
        }
        Some(Expr::Compare(CompareOp::Le, Arc::new(least), Arc::new(most)))
    }

    /// As C says it, of a record by the name of the pointer to it.
    pub(crate) fn text(&self, record: &str) -> String {
        match (&self.least, &self.most) {
            (least @ Number::Constant(_), most) => format!("{} >= {}", most.text(record), least.text(record)),
            (least, most) => format!("{} <= {}", least.text(record), most.text(record)),
        }
    }
}

/// The type of a member that is a plain integer.
fn int_type(program: &Program, member: &Member) -> Option<IntType> {
    let record = types(program).record(member.record)?;
    let field =
        record.fields.iter().find(|field| (field.offset, field.name) == (member.offset, member.name))?;
    let is_plain = !record.is_union && field.bits.is_none() && !field.ty.qualifiers().is_volatile;
    match scalar_of(field.ty, program.data_model).filter(|_| is_plain)? {
        Scalar::Int(ty) => (ty.bits >= 16).then_some(ty),
        Scalar::Pointer | Scalar::Float(_) => None,
    }
}

/// The member of the record that a pointer leads to.
fn place(program: &Program, pointer: &Expr, member: &Member) -> Option<Lvalue> {
    let record = types(program).record(member.record)?;
    let field =
        record.fields.iter().find(|field| (field.offset, field.name) == (member.offset, member.name))?;
    let (base, mut path) = match pointer {
        Expr::Address(whole) => (whole.base.clone(), whole.path.clone()),
        pointer => (Base::Deref(Arc::new(pointer.clone()), Site::NOWHERE), Vec::new()),
    };
    path.push(Step::Field { record: member.record, name: member.name, offset: member.offset });
    let (scalar, size) = (scalar_of(field.ty, program.data_model), types(program).size(field.ty)?);
    Some(Lvalue { base, path, ty: field.ty, scalar, bits: None, size })
}

/// The record that a parameter leads to, if nobody can change the parameter.
pub(crate) fn record_of(function: &Function, parameter: usize) -> Option<Name> {
    let local = function.local(*function.parameters.get(parameter)?);
    match local.ty.pointee().map(Type::unqualified)?.kind() {
        TypeKind::Record(tag) if !local.address_taken => Some(*tag),
        _ => None,
    }
}
