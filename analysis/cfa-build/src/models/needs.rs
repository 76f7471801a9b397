//! What library functions ask of the memory that they are given, as obligations before the call. Must not know what they do with it.

use std::sync::Arc;

use proofline_cfa::{
    Argument, Base, BinaryOp, Cause, CheckId, CompareOp, Edge, Expr, IntType, Lvalue, MemoryPredicate, Name,
    Obligation, Op, Quantity, Scalar, expr_text, is_read_only,
};

use proofline_hir::{Type, TypeKind};

use super::{
    LIBRARY_CALL,
    allocation::Fits,
    apply::Pass,
    arguments::{pointer, value},
    effect::{Characters, Size, Use},
    strings::Put,
    time::Members,
};
use crate::lower::fold;

/// One thing that a function asks for; arguments count from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// So many bytes behind the argument lie in one object that is alive. If the argument may be null: or it is.
    Bytes { pointer: usize, size: Size, or_null: bool },
    /// Where the argument is not null: the other one leads to an `unsigned int` that has a value, and so many bytes lie behind the argument.
    BytesAt { pointer: usize, length: usize },
    /// So many bytes behind the argument have values, because the function looks at them. If the argument may be null: or it is.
    Values { pointer: usize, size: Size, or_null: bool },
    /// The argument is a string: a byte 0 comes before its object ends; with a size, it may also have so many bytes.
    String { pointer: usize, within: Option<Size>, characters: Characters, or_null: bool },
    /// There is room behind the argument for these strings one behind the other, with one end; of the last one at most so many characters.
    Room { pointer: usize, strings: Vec<usize>, within: Option<Size>, characters: Characters },
    /// Of so many bytes behind the argument those up to the first that is like another argument lie in one object that is alive. It is
    /// searched for behind `from`.
    Until { pointer: usize, from: usize, byte: usize, within: Size },
    /// There is room behind the argument for a line of any length.
    Line { pointer: usize },
    /// So many bytes behind the one argument and behind the other have none in common.
    Apart { to: usize, from: usize, size: Size },
    /// The string has no byte in common with where it is put.
    PutApart(Put),
    /// The arguments from `first` on are what the format of `printf` asks for.
    Printed { format: usize, first: usize },
    /// The argument is a stream (`FILE *`): not null.
    Stream { pointer: usize },
    /// These members of the record behind the argument have values.
    Members { pointer: usize, members: Members },
    /// The argument is a number other than 0.
    NotZero { number: usize },
    /// The quotient of two arguments is a number.
    Quotient { dividend: usize, divisor: usize },
    /// Where an argument is this constant: so many bytes behind another one lie in one object that is alive.
    BytesWhere { pointer: usize, bytes: i128, argument: usize, constant: i128 },
}

impl Need {
    /// The arguments that it is about.
    pub(super) fn uses(&self, see: &mut dyn FnMut(usize, Use)) {
        match self {
            Need::Bytes { pointer, .. }
            | Need::Values { pointer, .. }
            | Need::String { pointer, .. }
            | Need::Line { pointer }
            | Need::Stream { pointer }
            | Need::Members { pointer, members: Members::Listed(_) } => see(*pointer, Use::Pointer),
            Need::Members { pointer, members: Members::OfTime { format } } => {
                see(*pointer, Use::Pointer);
                see(*format, Use::Pointer);
            }
            Need::BytesAt { pointer, length } => {
                see(*pointer, Use::Pointer);
                see(*length, Use::Pointer);
            }
            Need::Until { pointer, from, byte, .. } => {
                see(*pointer, Use::Pointer);
                see(*from, Use::Pointer);
                see(*byte, Use::Number);
            }
            Need::Printed { format, .. } => see(*format, Use::Pointer),
            Need::NotZero { number } => see(*number, Use::Number),
            Need::Quotient { dividend, divisor } => {
                see(*dividend, Use::Number);
                see(*divisor, Use::Number);
            }
            Need::BytesWhere { pointer, argument, .. } => {
                see(*pointer, Use::Pointer);
                see(*argument, Use::Number);
            }
            Need::Apart { to, from, .. } | Need::PutApart(Put { to, from, .. }) => {
                see(*to, Use::Pointer);
                see(*from, Use::Pointer);
            }
            Need::Room { pointer, strings, .. } => {
                see(*pointer, Use::Pointer);
                strings.iter().for_each(|string| see(*string, Use::Pointer));
            }
        }
    }

    /// The number of bytes that it is about.
    pub(super) fn size(&self) -> Option<&Size> {
        match self {
            Need::Bytes { size, .. }
            | Need::Values { size, .. }
            | Need::Apart { size, .. }
            | Need::Until { within: size, .. } => Some(size),
            Need::String { within, .. } | Need::Room { within, .. } | Need::PutApart(Put { within, .. }) => {
                within.as_ref()
            }
            Need::Printed { .. }
            | Need::BytesAt { .. }
            | Need::Line { .. }
            | Need::Stream { .. }
            | Need::Members { .. }
            | Need::NotZero { .. }
            | Need::Quotient { .. }
            | Need::BytesWhere { .. } => None,
        }
    }
}

impl Pass<'_, '_> {
    /// Writes the obligation down.
    pub(super) fn need(&mut self, need: &Need, arguments: &[Argument], cause: Cause) {
        match need {
            Need::Bytes { pointer: at, size, or_null } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let fits = self.fits_size(size, arguments);
                let size = self.size(size, arguments, cause);
                match fits {
                    _ if self.string == Some(*at) => self.ask_room(to, size, *or_null),
                    Fits::Always => self.ask(MemoryPredicate::InBounds, to, size, *or_null),
                    // No object has so many bytes.
                    Fits::Never => self.ask_fitting(&to, size, Expr::int(0), *or_null),
                    Fits::Where(fits) => self.ask_fitting(&to, size, fits, *or_null),
                }
            }
            Need::BytesAt { pointer: at, length } => {
                let (Some(to), Some(length)) = (pointer(arguments, *at), pointer(arguments, *length)) else {
                    return;
                };
                self.need_bytes_at(&to, &length);
            }
            Need::Values { pointer: at, size, or_null } => {
                let Some(from) = pointer(arguments, *at).filter(|from| !may_have_gaps(from)) else { return };
                let size = self.size(size, arguments, cause);
                let condition = values(&from, size);
                if *or_null {
                    self.emitter.if_not_null(&from, |emitter| emitter.demand_values(condition));
                } else {
                    self.emitter.demand_values(condition);
                }
            }
            Need::String { pointer: at, within, characters, or_null } => {
                let Some(string) = pointer(arguments, *at) else { return };
                if characters.literal(self.program, &string).is_some() {
                    return;
                }
                let size = match within {
                    Some(size) => self.size(size, arguments, cause),
                    None => Expr::Int(0, self.emitter.types.size_t()),
                };
                // At most no character is no string, and nothing is read.
                let predicate = characters.terminated();
                match (within, &size) {
                    (Some(_), Expr::Int(0, _)) => {}
                    (Some(_), size) if !matches!(size, Expr::Int(..)) => {
                        let (start, join) = (self.emitter.at, self.emitter.location());
                        let is_some = fold::compare(CompareOp::Ne, size.clone(), size.zero());
                        self.emitter.connect(Op::Assume(is_some.negated()), join);
                        self.emitter.at = start;
                        self.emitter.emit(Op::Assume(is_some));
                        self.ask(predicate, string, size.clone(), *or_null);
                        self.emitter.connect(Op::Skip, join);
                        self.emitter.at = join;
                    }
                    _ => self.ask(predicate, string, size, *or_null),
                }
            }
            Need::Until { pointer: at, from, byte, within } => {
                let (Some(to), Some(from)) = (pointer(arguments, *at), pointer(arguments, *from)) else {
                    return;
                };
                let Some(byte) = value(arguments, *byte) else { return };
                let most = self.size(within, arguments, cause);
                let looked_at = self.computed_size(Quantity::BytesUntil, vec![from, byte, most.clone()]);
                self.emitter.emit(Op::Assume(fold::compare(CompareOp::Le, looked_at.clone(), most)));
                self.ask(MemoryPredicate::InBounds, to, looked_at, false);
            }
            Need::Line { pointer: at } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let length = self.emitter.any_size(cause);
                let most = self.emitter.types.ptrdiff_t().max();
                self.emitter.assume_range(&length, 1, most);
                self.ask_room(to, length, false);
            }
            Need::Apart { to, from, size } => {
                let (Some(to), Some(from)) = (pointer(arguments, *to), pointer(arguments, *from)) else {
                    return;
                };
                let size = self.size(size, arguments, cause);
                self.demand_apart(to, from, size);
            }
            Need::PutApart(put) => self.demand_put_apart(put, arguments, cause),
            Need::Stream { pointer: at } => {
                let Some(stream) = pointer(arguments, *at) else { return };
                let condition = fold::compare(CompareOp::Ne, stream, Expr::Null);
                self.emitter.demand_stream(condition);
            }
            Need::Members { pointer, members } => self.need_members(*pointer, members, arguments),
            Need::Quotient { dividend, divisor } => {
                let (Some(of), Some(by)) = (value(arguments, *dividend), value(arguments, *divisor)) else {
                    return;
                };
                let is_known = |condition: &Expr| matches!(condition, Expr::Int(known, _) if *known != 0);
                let is_some = fold::compare(CompareOp::Ne, by.clone(), by.zero());
                if !is_known(&is_some) {
                    self.emitter.demand_that(is_some, "the argument is not 0");
                }
                let minus_one = by.int_type().map_or_else(|| Expr::int(-1), |ty| Expr::Int(-1, ty));
                let is_another = fold::compare(CompareOp::Ne, by.clone(), minus_one);
                if !is_known(&is_another) {
                    let overflows = Expr::Overflows(BinaryOp::Div, Arc::new(of), Arc::new(by));
                    self.emitter.demand_that(overflows.negated(), "the quotient is a number of the type");
                }
            }
            Need::BytesWhere { pointer: at, bytes, argument, constant } => {
                let (Some(to), Some(tested)) = (pointer(arguments, *at), value(arguments, *argument)) else {
                    return;
                };
                let Some(ty) = tested.int_type() else { return };
                let is_so = fold::compare(CompareOp::Eq, tested, Expr::Int(*constant, ty));
                let size = Expr::Int(*bytes, self.emitter.types.size_t());
                self.in_case(is_so, |pass| pass.ask(MemoryPredicate::InBounds, to, size, false));
            }
            Need::NotZero { number: at } => {
                let Some(number) = value(arguments, *at) else { return };
                match fold::compare(CompareOp::Ne, number.clone(), number.zero()) {
                    Expr::Int(known, _) if known != 0 => {}
                    condition => self.emitter.demand_that(condition, "the argument is not 0"),
                }
            }
            Need::Printed { format: at, first } => self.need_printed(*at, *first, arguments),
            Need::Room { pointer: at, strings, within, characters } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let size_t = self.emitter.types.size_t();
                let mut room = Expr::Int(1, size_t);
                let strings: Vec<Expr> = strings.iter().filter_map(|at| pointer(arguments, *at)).collect();
                for (at, string) in strings.iter().enumerate() {
                    let within = within.as_ref().filter(|_| at + 1 == strings.len());
                    let within = within.map(|size| self.size(size, arguments, cause));
                    let length = self.length_of(string, within, *characters);
                    room = fold::binary(BinaryOp::Add, room, length, self.emitter.site);
                }
                let room = self.bytes_of(room, *characters);
                self.ask_room(to, room, false);
            }
        }
    }

    /// That so many bytes are there as the `unsigned int` behind `length` says, if the pointer is not null.
    fn need_bytes_at(&mut self, pointer: &Expr, length: &Expr) {
        let (number, size_t) = (IntType { bits: 32, signed: false }, self.emitter.types.size_t());
        let bytes = Expr::Int(i128::from(number.bytes()), size_t);
        let place = self.pointee(length, self.emitter.types.of_scalar(Scalar::Int(number)));
        let size = fold::cast(Scalar::Int(size_t), Expr::Load(place), self.emitter.site);
        self.emitter.if_not_null(pointer, |emitter| {
            if !is_variable(length, &bytes) {
                emitter.demand(memory(MemoryPredicate::InBounds, length, bytes.clone()));
            }
            emitter.demand_values(memory(MemoryPredicate::Initialised, length, bytes));
            emitter.demand(memory(MemoryPredicate::InBounds, pointer, size));
        });
    }

    /// That so many bytes are there, where their number is one: a product that wraps around says too little.
    fn ask_fitting(&mut self, pointer: &Expr, size: Expr, fits: Expr, or_null: bool) {
        let inside = memory(MemoryPredicate::InBounds, pointer, size);
        let demand = |emitter: &mut super::emit::Emitter<'_>| {
            match fits {
                Expr::Int(0, _) => emitter.demand_that(fits, "the product is a number of bytes"),
                Expr::Int(..) => {}
                fits => emitter.demand(fits),
            }
            emitter.demand(inside);
        };
        if or_null {
            self.emitter.if_not_null(pointer, demand);
        } else {
            demand(&mut self.emitter);
        }
    }

    pub(super) fn ask(&mut self, predicate: MemoryPredicate, pointer: Expr, size: Expr, or_null: bool) {
        if predicate == MemoryPredicate::InBounds && matches!(size, Expr::Int(0, _)) {
            return;
        }
        let condition = Expr::Memory(predicate, Arc::new(pointer.clone()), Arc::new(size));
        if or_null {
            self.emitter.if_not_null(&pointer, |emitter| emitter.demand(condition));
        } else {
            self.emitter.demand(condition);
        }
    }
}

/// Whether so many bytes are those of a variable that the pointer is the address of. Nobody needs to ask, so such a variable may be in a register.
pub(super) fn is_variable(pointer: &Expr, size: &Expr) -> bool {
    let (Expr::Address(Lvalue { base: Base::Local(_), path, size: of, .. }), Expr::Int(size, _)) =
        (pointer, size)
    else {
        return false;
    };
    path.is_empty() && *size <= i128::from(*of)
}

fn values(from: &Expr, size: Expr) -> Expr {
    memory(MemoryPredicate::Initialised, from, size)
}

pub(super) fn memory(predicate: MemoryPredicate, pointer: &Expr, size: Expr) -> Expr {
    Expr::Memory(predicate, Arc::new(pointer.clone()), Arc::new(size))
}

/// Whether the pointer leads to a structure: bytes between its members need no value.
fn may_have_gaps(pointer: &Expr) -> bool {
    fn is_record(ty: Type) -> bool {
        match ty.kind() {
            TypeKind::Record(_) | TypeKind::Error => true,
            TypeKind::Array(element, _) => is_record(*element),
            _ => false,
        }
    }
    match pointer {
        Expr::Address(lvalue) => is_record(lvalue.ty),
        Expr::Load(lvalue) => lvalue.ty.pointee().is_none_or(is_record),
        Expr::Cast(_, inner, _) => may_have_gaps(inner),
        _ => false,
    }
}

impl super::emit::Emitter<'_> {
    /// Goes on only where the bytes have values.
    pub(super) fn demand_values(&mut self, condition: Expr) {
        let text = expr_text(self.function, &condition);
        self.demand_of(super::UNINITIALISED, condition, &text);
    }

    /// Goes on only where the bytes may be written. Of a variable of the function its type says so.
    pub(super) fn demand_writable(&mut self, to: Expr, size: Expr) {
        let is_known = match &to {
            Expr::Address(Lvalue { base: Base::Local(id), .. }) => !is_read_only(self.function.local(*id).ty),
            _ => false,
        };
        if is_known || matches!(size, Expr::Int(0, _)) {
            return;
        }
        let condition = Expr::Memory(MemoryPredicate::Writable, Arc::new(to), Arc::new(size));
        let text = expr_text(self.function, &condition);
        self.demand_of(super::READ_ONLY, condition, &text);
    }

    /// Goes on only where the stream is one.
    fn demand_stream(&mut self, condition: Expr) {
        let text = expr_text(self.function, &condition);
        self.demand_of(super::INVALID_STREAM, condition, &text);
    }

    /// Goes on only where the condition holds; where it does not, the call has failed.
    pub(super) fn demand(&mut self, condition: Expr) {
        let text = expr_text(self.function, &condition);
        self.demand_that(condition, &text);
    }

    /// The same with the condition as people say it.
    pub(super) fn demand_that(&mut self, condition: Expr, text: &str) {
        self.demand_of(LIBRARY_CALL, condition, text);
    }

    /// The program ends here: what was allocated is not left, and, if it ends as it does where `main` returns, not lost. Of which programs that is
    /// asked, the pass of the checks knows.
    pub(super) fn demand_at_end(&mut self, as_main_returns: bool) {
        let lost = (super::MEMORY_LEAK, MemoryPredicate::NothingLost);
        let left = (super::MEMORY_CLEANUP, MemoryPredicate::NothingLeft);
        for (check, predicate) in as_main_returns.then_some(lost).into_iter().chain([left]) {
            let condition = Expr::Memory(predicate, Arc::new(Expr::Null), Arc::new(Expr::int(0)));
            let text = expr_text(self.function, &condition);
            self.demand_of(check, condition, &text);
        }
    }

    fn demand_of(&mut self, check: &'static str, condition: Expr, text: &str) {
        let (error, site) = (self.location(), self.site);
        let from = self.at;
        self.function.edges.push(Edge { from, to: error, op: Op::Assume(condition.negated()), site });
        let text = Name::new(text);
        self.function.obligations.push(Obligation { check: CheckId::new(check), error, site, text });
        self.emit_as_it_is(Op::Assume(condition));
    }
}
