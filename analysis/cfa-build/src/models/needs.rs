//! What library functions ask of the memory that they are given, as obligations before the call. Must not know what they do with it.

use std::sync::Arc;

use proofline_cfa::{
    Argument, Base, BinaryOp, Cause, CheckId, CompareOp, Edge, Expr, IntType, Lvalue, MemoryPredicate, Name,
    Obligation, Op, Quantity, Scalar, Step, Type, expr_text,
};

use proofline_hir::{TypeKind, types::IntKind};

use super::{
    LIBRARY_CALL,
    apply::{Pass, pointer},
    effect::{Size, Use},
    format,
};
use crate::lower::fold;

/// One thing that a function asks for; arguments count from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// So many bytes behind the argument lie in one object that is alive. If the argument may be null: or it is.
    Bytes { pointer: usize, size: Size, or_null: bool },
    /// The argument is a string: a byte 0 comes before its object ends; with a size, it may also have so many bytes.
    String { pointer: usize, within: Option<Size>, or_null: bool },
    /// There is room behind the argument for these strings one behind the other, with one end; of the last one at most so many bytes.
    Room { pointer: usize, strings: Vec<usize>, within: Option<Size> },
    /// The arguments from `first` on that the format of `printf` prints as strings are strings.
    Printed { format: usize, first: usize },
}

impl Need {
    /// The arguments that it is about.
    pub(super) fn uses(&self, see: &mut dyn FnMut(usize, Use)) {
        match self {
            Need::Bytes { pointer, .. } | Need::String { pointer, .. } => see(*pointer, Use::Pointer),
            Need::Printed { format, .. } => see(*format, Use::Pointer),
            Need::Room { pointer, strings, .. } => {
                see(*pointer, Use::Pointer);
                strings.iter().for_each(|string| see(*string, Use::Pointer));
            }
        }
    }

    /// The number of bytes that it is about.
    pub(super) fn size(&self) -> Option<&Size> {
        match self {
            Need::Bytes { size, .. } => Some(size),
            Need::String { within, .. } | Need::Room { within, .. } => within.as_ref(),
            Need::Printed { .. } => None,
        }
    }
}

impl Pass<'_, '_> {
    /// Writes the obligation down.
    pub(super) fn need(&mut self, need: &Need, arguments: &[Argument], cause: Cause) {
        match need {
            Need::Bytes { pointer: at, size, or_null } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let size = self.size(size, arguments, cause);
                self.ask(MemoryPredicate::InBounds, to, size, *or_null);
            }
            Need::String { pointer: at, within, or_null } => {
                let Some(string) = pointer(arguments, *at) else { return };
                if format::literal(self.program, &string).is_some() {
                    return;
                }
                let size = match within {
                    Some(size) => self.size(size, arguments, cause),
                    None => Expr::Int(0, self.emitter.types.size_t()),
                };
                self.ask(MemoryPredicate::Terminated, string, size, *or_null);
            }
            Need::Printed { format: at, first } => {
                let known = pointer(arguments, *at).and_then(|format| format::printed(self.program, &format));
                for at in known.into_iter().flatten() {
                    let Some(string) = pointer(arguments, first + at) else { continue };
                    if format::literal(self.program, &string).is_none() {
                        let size = Expr::Int(0, self.emitter.types.size_t());
                        self.ask(MemoryPredicate::Terminated, string, size, false);
                    }
                }
            }
            Need::Room { pointer: at, strings, within } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let size_t = self.emitter.types.size_t();
                let mut room = Expr::Int(1, size_t);
                let strings: Vec<Expr> = strings.iter().filter_map(|at| pointer(arguments, *at)).collect();
                for (at, string) in strings.iter().enumerate() {
                    let within = within.as_ref().filter(|_| at + 1 == strings.len());
                    let within = within.map(|size| self.size(size, arguments, cause));
                    let length = self.length_of(string, within, cause);
                    room = fold::binary(BinaryOp::Add, room, length, self.emitter.site);
                }
                self.ask(MemoryPredicate::InBounds, to, room, false);
            }
        }
    }

    /// The length of a string, of `size_t`; at most so much.
    fn length_of(&mut self, string: &Expr, within: Option<Expr>, cause: Cause) -> Expr {
        let size_t = self.emitter.types.size_t();
        match (format::literal(self.program, string), &within) {
            (Some(text), None) => return Expr::Int(text.len() as i128, size_t),
            (Some(text), Some(Expr::Int(most, _))) => {
                return Expr::Int(*most.min(&(text.len() as i128)), size_t);
            }
            _ => {}
        }
        let exactly = match within {
            Some(most) => (Quantity::BoundedLength, vec![string.clone(), most]),
            None => (Quantity::StringLength, vec![string.clone()]),
        };
        let before = self.emitter.exactly.replace(exactly);
        let length = self.emitter.any_size(cause);
        self.emitter.exactly = before;
        let most = self.emitter.types.ptrdiff_t().max();
        self.emitter.assume_range(&length, 0, most);
        length
    }

    /// Where the call has not failed, one of the first so many bytes behind the argument is 0.
    pub(super) fn terminate(
        &mut self,
        to: usize,
        size: &Size,
        arguments: &[Argument],
        result: Option<Lvalue>,
        cause: Cause,
    ) {
        let Some(to) = pointer(arguments, to) else { return };
        let size = self.size(size, arguments, cause);
        // A pointer that is returned says whether the call has failed; without one, only that there was no room.
        let is_done = match result {
            Some(result) if result.scalar == Some(Scalar::Pointer) => {
                fold::compare(CompareOp::Ne, Expr::Load(result), Expr::Null)
            }
            Some(_) => fold::compare(CompareOp::Ne, size.clone(), size.zero()),
            None => return,
        };
        let (site, char_type) = (self.emitter.site, Type::new(TypeKind::Int(IntKind::Char)));
        self.emitter.only_if(is_done, |emitter| {
            let at = emitter.any_size(cause);
            emitter.emit(Op::Assume(fold::compare(CompareOp::Lt, at.clone(), size)));
            let step = Step::Index { index: Arc::new(at), stride: 1, length: None, site };
            let base = Base::Deref(Arc::new(to), site);
            let scalar = Some(Scalar::Int(IntType { bits: 8, signed: true }));
            let end = Lvalue { base, path: vec![step], ty: char_type, scalar, bits: None, size: 1 };
            let one = Expr::Int(1, emitter.types.size_t());
            emitter.emit(Op::FillBytes(Expr::Address(end), Expr::int(0), one));
        });
    }

    fn ask(&mut self, predicate: MemoryPredicate, pointer: Expr, size: Expr, or_null: bool) {
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

impl super::emit::Emitter<'_> {
    /// Goes on only where the condition holds; where it does not, the call has failed.
    fn demand(&mut self, condition: Expr) {
        let (error, site) = (self.location(), self.site);
        let from = self.at;
        self.function.edges.push(Edge { from, to: error, op: Op::Assume(condition.negated()), site });
        let text = Name::new(&expr_text(self.function, &condition));
        self.function.obligations.push(Obligation { check: CheckId::new(LIBRARY_CALL), error, site, text });
        self.emit(Op::Assume(condition));
    }
}
