//! `strtok`, `strtok_r` and `strsep`: they cut a string into pieces, and keep where the rest of it begins.

use proofline_cfa::{
    Argument, Base, CompareOp, Expr, Global, IntType, Lvalue, MemoryPredicate, Op, Program, Quantity, Scalar,
};
use proofline_hir::{Linkage, Name, Type};

use super::{apply::Pass, arguments::pointer, effect::Characters, strings::behind};
use crate::lower::fold;

/// Where the rest is that `strtok` has kept.
const REST: &str = "#strtok";

/// How a string is cut; arguments count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tokens {
    /// The string, or null: then it is the rest. `None`: it always is.
    pub(super) string: Option<usize>,
    /// Where the address of the rest is kept; `None`: in the library.
    pub(super) rest: Option<usize>,
    /// Which characters separate pieces.
    pub(super) set: usize,
}

/// The library's own object.
pub(super) fn rest(program: &Program) -> Global {
    let (name, ty) = (Name::new(REST), Type::void().pointer_to());
    let size = u64::from(program.pointer_bits() / 8);
    // Code that is not here sets it too.
    Global {
        name,
        ty,
        linkage: Linkage::External,
        size,
        defined: true,
        constant: false,
        init: Vec::new(),
        hidden: Vec::new(),
    }
}

impl Pass<'_, '_> {
    /// The next piece, or null.
    pub(super) fn token(&mut self, tokens: Tokens, arguments: &[Argument], dst: Option<Lvalue>) {
        let Some(set) = pointer(arguments, tokens.set) else { return };
        let (size_t, site) = (self.emitter.types.size_t(), self.emitter.site);
        let pointer_type = Type::void().pointer_to();
        let rest = match tokens.rest {
            Some(at) => {
                let Some(place) = pointer(arguments, at) else { return };
                let bytes = i128::from(self.emitter.types.pointer_bits() / 8);
                self.ask(MemoryPredicate::InBounds, place.clone(), Expr::Int(bytes, size_t), false);
                self.pointee(&place, pointer_type)
            }
            None => {
                let (base, scalar) = (Base::Global(Name::new(REST)), Some(Scalar::Pointer));
                let size = u64::from(self.emitter.types.pointer_bits() / 8);
                Lvalue { base, path: Vec::new(), ty: pointer_type, scalar, bits: None, size }
            }
        };
        let string = self.emitter.temporary(pointer_type);
        let kept = Op::Assign(string.clone(), Expr::Load(rest.clone()));
        match tokens.string.and_then(|at| pointer(arguments, at)) {
            Some(Expr::Null) | None => self.emitter.emit(kept),
            Some(given) => {
                let is_given = fold::compare(CompareOp::Ne, given.clone(), Expr::Null);
                let taken = Op::Assign(string.clone(), given);
                self.emitter.if_else(is_given, |e| e.emit(taken), |e| e.emit(kept));
            }
        }
        let string = Expr::Load(string);
        let result = self.emitter.temporary(pointer_type);
        let (null, join) = (self.emitter.location(), self.emitter.location());
        // `strsep` gives null where there is no rest; of the others a piece that is the last one leaves the end of the string behind.
        if tokens.string.is_none() {
            let is_rest = fold::compare(CompareOp::Ne, string.clone(), Expr::Null);
            self.emitter.connect(Op::Assume(is_rest.clone().negated()), null);
            self.emitter.emit(Op::Assume(is_rest));
        }
        self.ask(MemoryPredicate::Terminated, string.clone(), Expr::Int(0, size_t), false);
        let whole = self.length_of(&string, None, Characters::Bytes);
        let piece = match tokens.string {
            None => string.clone(),
            Some(_) => {
                let begin = self.computed_size(Quantity::Span, vec![string.clone(), set.clone()]);
                self.emitter.emit(Op::Assume(fold::compare(CompareOp::Le, begin.clone(), whole.clone())));
                let piece = self.emitter.save(behind(&string, begin.clone(), site));
                // Nothing is left but separators.
                let is_end = fold::compare(CompareOp::Eq, begin.clone(), whole.clone());
                let start = self.emitter.at;
                self.emitter.emit(Op::Assume(is_end.clone()));
                self.emitter.emit(Op::Assign(rest.clone(), piece.clone()));
                self.emitter.connect(Op::Skip, null);
                self.emitter.at = start;
                self.emitter.emit(Op::Assume(is_end.negated()));
                piece
            }
        };
        let length = self.computed_size(Quantity::ComplementSpan, vec![piece.clone(), set]);
        let least = i128::from(tokens.string.is_some());
        self.emitter.assume_range(&length, least, self.emitter.types.ptrdiff_t().max());
        self.emitter.emit(Op::Assume(fold::compare(CompareOp::Le, length.clone(), whole)));
        let end = self.emitter.save(behind(&piece, length, site));
        let character = IntType { bits: 8, signed: true };
        let last = self.pointee(&end, self.emitter.types.of_scalar(Scalar::Int(character)));
        let is_cut = fold::compare(CompareOp::Ne, Expr::Load(last.clone()), Expr::Int(0, character));
        let one = Expr::Int(1, size_t);
        let next = Op::Assign(rest.clone(), behind(&end, one, site));
        let none = match tokens.string {
            Some(_) => Op::Assign(rest, end),
            None => Op::Assign(rest, Expr::Null),
        };
        self.emitter.if_else(
            is_cut,
            |emitter| {
                emitter.emit(Op::Assign(last, Expr::Int(0, character)));
                emitter.emit(next);
            },
            |emitter| emitter.emit(none),
        );
        self.emitter.emit(Op::Assign(result.clone(), piece));
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = null;
        self.emitter.emit(Op::Assign(result.clone(), Expr::Null));
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
        self.lengths.clear();
        if let Some(dst) = dst {
            let value = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::Load(result), site);
            self.emitter.emit(Op::Assign(dst, value));
        }
    }
}
