//! What holds of a record whenever nobody is at work on it: `s->top <= 16`, or `v->data` has room for `v->cap` elements. A function that is given such a record
//! finds it so, and leaves it so. Facts speak of one record and its own members; here they are data, words, and conditions in the words of automata.
//!
//! **Law.** A fact reads nothing but the record, and changes nothing.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, Lvalue, MemoryPredicate, Name, Program, Scalar, Site, Step,
    Type, scalar_of,
};
use proofline_hir::TypeKind;

use super::{
    Member,
    bytes::{MOST, and, compare, is_not_null, is_null, or, product, times, widened},
    obligations::is_written,
    origin::types,
};

mod guess;
mod rooms;
mod told;

pub(crate) use guess::{guessed, plain, written};
pub(super) use rooms::Rooms;
pub(super) use told::{Told, told};

/// What a function asks of a record that it is given, and how it leaves it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OfRecord {
    /// What holds when it is called.
    pub asked: BTreeSet<Fact>,
    /// What holds when it returns.
    pub left: BTreeSet<Fact>,
}

/// Something that holds of a record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fact {
    /// One number is not larger than another one, or smaller.
    AtMost {
        /// The one that is not larger.
        least: Number,
        /// The other one.
        most: Number,
        /// They are not equal either.
        is_less: bool,
    },
    /// A pointer leads to so many elements that are alive, in an object that no record that is passed is a part of. Where the number is not positive, to nothing.
    Room {
        /// The member that is the pointer.
        pointer: Member,
        /// How many: a member, or the product of two.
        count: Number,
        /// Bytes per element.
        stride: u64,
    },
}

/// A number that a fact speaks of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Number {
    /// What is in a member, an integer.
    Member(Member),
    /// The product of two members, as a mathematical number: a matrix has so many elements.
    Product(Member, Member),
    /// A number of the text.
    Constant(i128),
}

impl Number {
    fn expr(&self, program: &Program, pointer: &Expr, ty: IntType) -> Option<Expr> {
        let member = |member: &Member| Some(Expr::Load(place(program, pointer, member)?));
        match self {
            Number::Member(one) => member(one),
            Number::Product(one, other) => product(&member(one)?, &member(other)?),
            Number::Constant(value) => ty.contains(*value).then_some(Expr::Int(*value, ty)),
        }
    }

    /// The type of its value; any will do for a number of the text.
    fn int_type(&self, program: &Program) -> Option<IntType> {
        match self {
            Number::Member(member) => int_type(program, member),
            Number::Product(one, other) => {
                let zero = |member| Some(Expr::Int(0, int_type(program, member)?));
                product(&zero(one)?, &zero(other)?)?.int_type()
            }
            Number::Constant(_) => None,
        }
    }

    fn member(&self) -> Option<&Member> {
        match self {
            Number::Member(member) => Some(member),
            Number::Product(..) | Number::Constant(_) => None,
        }
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        let both = match self {
            Number::Member(member) => [Some(member), None],
            Number::Product(one, other) => [Some(one), Some(other)],
            Number::Constant(_) => [None, None],
        };
        both.into_iter().flatten()
    }

    fn text(&self, record: &str) -> String {
        match self {
            Number::Member(member) => format!("{record}->{}", member.name),
            Number::Product(one, other) => format!("{record}->{} * {record}->{}", one.name, other.name),
            Number::Constant(value) => value.to_string(),
        }
    }
}

impl Fact {
    /// That one number is not larger than another one, or smaller; `None`: they are not of one type.
    pub(super) fn at_most(program: &Program, least: Number, most: Number, is_less: bool) -> Option<Fact> {
        let (least, most, is_less) = match (least, most) {
            (Number::Constant(least), most) if is_less => (Number::Constant(least + 1), most, false),
            (least, Number::Constant(most)) if is_less => (least, Number::Constant(most - 1), false),
            (least, most) => (least, most, is_less),
        };
        let fact = Fact::AtMost { least, most, is_less };
        fact.compared_in(program).map(|_| fact)
    }

    /// The type in which its two numbers are compared.
    fn compared_in(&self, program: &Program) -> Option<IntType> {
        let Fact::AtMost { least, most, .. } = self else { return None };
        let numbers = [least, most].into_iter().filter(|number| !matches!(number, Number::Constant(_)));
        let types: BTreeSet<IntType> =
            numbers.map(|number| number.int_type(program)).collect::<Option<_>>()?;
        types.iter().next().copied().filter(|_| types.len() == 1)
    }

    /// That a pointer leads to so many elements; `None`: it is no pointer, or not a number.
    pub(super) fn of_room(program: &Program, pointer: Member, count: Number) -> Option<Fact> {
        let fields = &types(program).record(pointer.record)?.fields;
        let field =
            fields.iter().find(|field| (field.offset, field.name) == (pointer.offset, pointer.name))?;
        let stride = types(program).size(field.ty.pointee()?).filter(|size| *size > 0)?;
        count.int_type(program)?;
        Some(Fact::Room { pointer, count, stride })
    }

    /// The members that it speaks of.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        let (pointer, numbers) = match self {
            Fact::AtMost { least, most, .. } => (None, [Some(least), Some(most)]),
            Fact::Room { pointer, count, .. } => (Some(pointer), [Some(count), None]),
        };
        pointer.into_iter().chain(numbers.into_iter().flatten().flat_map(Number::members))
    }

    /// Whether it says how large a product of members is.
    pub(crate) fn is_of_table(&self) -> bool {
        matches!(self, Fact::AtMost { least: Number::Product(..), .. })
    }

    /// The member of which it says that it is not negative.
    pub(crate) fn not_negative(&self) -> Option<&Member> {
        match self {
            Fact::AtMost { least: Number::Constant(0), most, .. } => most.member(),
            _ => None,
        }
    }

    /// The member that leads to a room.
    pub(crate) fn room(&self) -> Option<&Member> {
        match self {
            Fact::Room { pointer, .. } => Some(pointer),
            Fact::AtMost { .. } => None,
        }
    }

    /// That it holds of the record that a pointer leads to, one condition after the other; `None`: its members are not of the types that it takes them for.
    pub(super) fn conditions(&self, program: &Program, pointer: &Expr) -> Option<Vec<Expr>> {
        match self {
            Fact::AtMost { least, most, is_less } => {
                let ty = self.compared_in(program)?;
                let (lower, upper) = (least.expr(program, pointer, ty)?, most.expr(program, pointer, ty)?);
                // Comparisons have their number behind.
                Some(vec![match least {
                    Number::Constant(_) => compare(CompareOp::Ge, upper, lower),
                    _ if *is_less => compare(CompareOp::Lt, lower, upper),
                    _ => compare(CompareOp::Le, lower, upper),
                }])
            }
            Fact::Room { pointer: member, count: number, stride } => {
                let ty = number.int_type(program)?;
                let count = number.expr(program, pointer, ty)?;
                let start = Expr::Load(place(program, pointer, member)?);
                let most = (MOST / i128::from((*stride).max(1))).min(ty.max());
                let fits = compare(CompareOp::Le, count.clone(), Expr::Int(most, ty));
                let size = times(widened(&count), *stride);
                let room = Expr::Memory(MemoryPredicate::InBounds, Arc::new(start.clone()), Arc::new(size));
                let zero = || Expr::Int(0, ty);
                let is_none = compare(CompareOp::Le, count.clone(), zero());
                // Whichever holds, the pointer was read. Of a product it says more where its sign is known.
                let room = match number {
                    Number::Product(..) => {
                        let is_some = compare(CompareOp::Gt, count, zero());
                        let is_read = or(is_null(&start), is_not_null(&start));
                        or(and(is_some, room), and(is_none, is_read))
                    }
                    Number::Member(_) | Number::Constant(_) => or(room, is_none),
                };
                Some(vec![fits, room])
            }
        }
    }

    /// That what it says there is room in is alive.
    pub(super) fn lives(&self, program: &Program, pointer: &Expr) -> Vec<Expr> {
        let Fact::Room { pointer: member, count, .. } = self else { return Vec::new() };
        let ty = count.int_type(program);
        let number = ty.and_then(|ty| count.expr(program, pointer, ty));
        let (Some(start), Some(number), Some(ty)) = (place(program, pointer, member), number, ty) else {
            return vec![Expr::int(0)];
        };
        let is_none = compare(CompareOp::Le, number, Expr::Int(0, ty));
        let lives = |predicate| {
            let start = Arc::new(Expr::Load(start.clone()));
            or(Expr::Memory(predicate, start, Arc::new(Expr::int(0))), is_none.clone())
        };
        [MemoryPredicate::NotFreed, MemoryPredicate::NotEnded].map(lives).into()
    }

    /// That no record among these is a part of what it says there is room in.
    pub(super) fn apart(&self, program: &Program, pointer: &Expr, records: &[Expr]) -> Vec<Expr> {
        let Some(start) = self.room().and_then(|member| place(program, pointer, member)) else {
            return Vec::new();
        };
        let is_apart = |record: &Expr| {
            let (start, record) = (Arc::new(Expr::Load(start.clone())), Arc::new(record.clone()));
            compare(CompareOp::Eq, Expr::Memory(MemoryPredicate::SameObject, start, record), Expr::int(0))
        };
        records.iter().map(is_apart).collect()
    }

    /// In words, of a record by the name of the pointer to it.
    pub(crate) fn text(&self, record: &str) -> String {
        match self {
            Fact::AtMost { least: least @ Number::Constant(_), most, .. } => {
                format!("`{} >= {}`", most.text(record), least.text(record))
            }
            Fact::AtMost { least, most, is_less } => {
                let op = if *is_less { "<" } else { "<=" };
                format!("`{} {op} {}`", least.text(record), most.text(record))
            }
            Fact::Room { pointer, count, stride } => {
                let what = if *stride == 1 { "bytes" } else { "elements" };
                format!("`{record}->{}` with room for `{}` {what}", pointer.name, count.text(record))
            }
        }
    }

    /// As ACSL says it.
    pub(crate) fn acsl(&self, record: &str) -> String {
        match self {
            Fact::AtMost { .. } => self.text(record).trim_matches('`').to_owned(),
            Fact::Room { pointer, count, .. } => {
                format!("\\valid({record}->{} + (0 .. {} - 1))", pointer.name, count.text(record))
            }
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
    let whole = match pointer {
        Expr::Address(whole) => Some(whole.ty),
        Expr::Load(pointer) => pointer.ty.pointee(),
        _ => None,
    };
    let ty = whole.map_or(field.ty, |whole| field.ty.qualified(whole.qualifiers()));
    let (scalar, size) = (scalar_of(ty, program.data_model), types(program).size(ty)?);
    Some(Lvalue { base, path, ty, scalar, bits: None, size })
}

/// The record that a parameter leads to, if nobody changes the parameter.
pub(crate) fn record_of(function: &Function, parameter: usize) -> Option<Name> {
    let local = function.local(*function.parameters.get(parameter)?);
    match local.ty.pointee().map(Type::unqualified)?.kind() {
        TypeKind::Record(tag) => {
            let is_steady = !local.address_taken && !is_written(function, function.parameters[parameter]);
            is_steady.then_some(*tag)
        }
        _ => None,
    }
}

/// The records that the parameters of a function lead to.
pub fn records_given(function: &Function) -> BTreeSet<Name> {
    (0..function.parameters.len()).filter_map(|at| record_of(function, at)).collect()
}
