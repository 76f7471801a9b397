//! What library functions ask of the memory that they are given, as obligations before the call. Must not know what they do with it.

use std::sync::Arc;

use proofline_cfa::{
    Argument, BinaryOp, Cause, CheckId, Edge, Expr, MemoryPredicate, Name, Obligation, Op, Quantity,
    expr_text,
};

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
    /// There is room behind the argument for these strings one behind the other, with one end.
    Room { pointer: usize, strings: Vec<usize> },
}

impl Need {
    /// The arguments that it is about.
    pub(super) fn uses(&self, see: &mut dyn FnMut(usize, Use)) {
        match self {
            Need::Bytes { pointer, .. } | Need::String { pointer, .. } => see(*pointer, Use::Pointer),
            Need::Room { pointer, strings } => {
                see(*pointer, Use::Pointer);
                strings.iter().for_each(|string| see(*string, Use::Pointer));
            }
        }
    }

    /// The number of bytes that it is about.
    pub(super) fn size(&self) -> Option<&Size> {
        match self {
            Need::Bytes { size, .. } => Some(size),
            Need::String { within, .. } => within.as_ref(),
            Need::Room { .. } => None,
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
            Need::Room { pointer: at, strings } => {
                let Some(to) = pointer(arguments, *at) else { return };
                let size_t = self.emitter.types.size_t();
                let mut room = Expr::Int(1, size_t);
                for string in strings.iter().filter_map(|at| pointer(arguments, *at)) {
                    let length = self.length_of(&string, cause);
                    room = fold::binary(BinaryOp::Add, room, length, self.emitter.site);
                }
                self.ask(MemoryPredicate::InBounds, to, room, false);
            }
        }
    }

    /// The length of a string, of `size_t`.
    fn length_of(&mut self, string: &Expr, cause: Cause) -> Expr {
        let size_t = self.emitter.types.size_t();
        if let Some(text) = format::literal(self.program, string) {
            return Expr::Int(text.len() as i128, size_t);
        }
        let before = self.emitter.exactly.replace((Quantity::StringLength, vec![string.clone()]));
        let length = self.emitter.any_size(cause);
        self.emitter.exactly = before;
        let most = self.emitter.types.ptrdiff_t().max();
        self.emitter.assume_range(&length, 0, most);
        length
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
