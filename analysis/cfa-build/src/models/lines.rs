//! Text of a length that only the call knows: characters that come from outside or are printed by a format that nobody knows, and the end
//! behind them. What lies behind the end stays as it was.

use proofline_cfa::{
    Allocation, Argument, BinaryOp, Cause, CompareOp, Expr, IntType, Lvalue, MemoryPredicate, Op, Scalar,
};
use proofline_hir::Type;

use super::{
    apply::Pass,
    arguments::pointer,
    effect::{Characters, Done, Termination},
    needs::{is_variable, memory},
    strings::behind,
};
use crate::lower::fold;

impl Pass<'_, '_> {
    /// Characters, and one that is 0 behind them, where the call has not failed.
    pub(super) fn terminate(
        &mut self,
        termination: &Termination,
        arguments: &[Argument],
        result: Option<Lvalue>,
        cause: Cause,
    ) {
        let Termination { to, within, characters, is_line, done } = termination;
        let Some(to) = pointer(arguments, *to) else { return };
        let within = self.size(within, arguments, cause);
        let is_room = fold::compare(CompareOp::Ne, within.clone(), within.zero());
        let is_done = result.as_ref().and_then(|result| is_done(*done, Expr::Load(result.clone())));
        if let Some(is_done) = is_done {
            return self.emitter.where_holds(is_room, |emitter| {
                emitter.where_holds(is_done, |emitter| {
                    let end = emitter.characters(&to, &within, *characters, *is_line, cause);
                    emitter.end_text(&to, end, *characters);
                });
            });
        }
        match result {
            // A pointer that is returned says whether the call has failed.
            Some(result) if result.scalar == Some(Scalar::Pointer) => {
                let is_done = fold::compare(CompareOp::Ne, Expr::Load(result), Expr::Null);
                self.emitter.if_not_null(&to.clone(), |emitter| {
                    emitter.where_holds(is_done.clone(), |emitter| {
                        let end = emitter.characters(&to, &within, *characters, *is_line, cause);
                        emitter.end_text(&to, end, *characters);
                    });
                });
                if *is_line {
                    // Where reading fails in the middle of a line, nobody says what is there (C11 7.21.7.2p3).
                    let bytes = self.bytes_of(within, *characters);
                    self.emitter.where_holds(is_done.negated(), |emitter| {
                        emitter.may_write(&to, bytes, cause.within(), cause.guess());
                    });
                }
            }
            // Of wide characters a number does; of others it says only that there was no room.
            result => {
                let is_done = match result {
                    Some(result) if *characters == Characters::Wide => {
                        let number = Expr::Load(result);
                        Some(fold::compare(CompareOp::Ge, number.clone(), number.zero()))
                    }
                    Some(_) | None => None,
                };
                self.emitter.where_holds(is_room, |emitter| {
                    let end = emitter.characters(&to, &within, *characters, *is_line, cause);
                    match is_done {
                        Some(is_done) => {
                            emitter.where_holds(is_done, |emitter| emitter.end_text(&to, end, *characters));
                        }
                        None => emitter.end_text(&to, end, *characters),
                    }
                });
            }
        }
    }

    /// What `getline` does: -1, or the length of a line; `*object` becomes a heap object that is large enough, of `*size` bytes, unless it
    /// is one.
    pub(super) fn line(
        &mut self,
        (object, size): (usize, usize),
        may_fail: bool,
        arguments: &[Argument],
        dst: Option<Lvalue>,
        cause: Cause,
    ) {
        let (Some(object), Some(size)) = (pointer(arguments, object), pointer(arguments, size)) else {
            return;
        };
        let (size_t, site) = (self.emitter.types.size_t(), self.emitter.site);
        let pointer_bytes = i128::from(self.emitter.types.pointer_bits() / 8);
        for place in [&object, &size] {
            let bytes = Expr::Int(pointer_bytes, size_t);
            if !is_variable(place, &bytes) {
                self.ask(MemoryPredicate::InBounds, place.clone(), bytes, false);
            }
        }
        let place = self.pointee(&object, Type::void().pointer_to());
        let room = self.sized(&size);
        let old = self.emitter.save(Expr::Load(place.clone()));
        self.ask(MemoryPredicate::Freeable, old.clone(), Expr::Int(0, size_t), false);
        // What is there must be as large as the number beside it says.
        let all = memory(MemoryPredicate::InBounds, &old, Expr::Load(room.clone()));
        self.emitter.if_not_null(&old, |emitter| emitter.demand(all));
        // The length of the line; 0 where there is none, or no room for it.
        let length = self.emitter.any_size(cause);
        let most = self.emitter.types.ptrdiff_t().max() - 1;
        self.emitter.assume_range(&length, 0, most);
        let one = Expr::Int(1, size_t);
        let needed = fold::binary(BinaryOp::Add, length.clone(), one, site);
        let result =
            self.emitter.temporary(self.emitter.types.of_scalar(Scalar::Int(self.emitter.types.ptrdiff_t())));
        let ptrdiff_t = self.emitter.types.ptrdiff_t();
        let failed = Op::Assign(result.clone(), Expr::Int(-1, ptrdiff_t));
        let (new_object, reads, join) =
            (self.emitter.location(), self.emitter.location(), self.emitter.location());
        // What is there is large enough.
        let is_there = fold::compare(CompareOp::Ne, old.clone(), Expr::Null);
        let fits = fold::compare(CompareOp::Le, needed.clone(), Expr::Load(room.clone()));
        self.emitter.connect(Op::Assume(is_there.clone().negated()), new_object);
        self.emitter.emit(Op::Assume(is_there.clone()));
        self.emitter.connect(Op::Assume(fits.clone().negated()), new_object);
        self.emitter.emit(Op::Assume(fits));
        self.emitter.connect(Op::Skip, reads);
        // Or it moves to a new one.
        self.emitter.at = new_object;
        let extra = self.emitter.any_size(cause);
        self.emitter.assume_range(&extra, 0, most);
        let larger = fold::binary(BinaryOp::Add, needed, extra, site);
        let larger = self.emitter.save(larger);
        let tried = self.emitter.temporary(Type::void().pointer_to());
        let new = self.emitter.temporary(Type::void().pointer_to());
        let allocation = Allocation {
            dst: new.clone(),
            size: larger.clone(),
            site,
            on_heap: true,
            zeroed: false,
            may_fail,
        };
        // Whether there is room for it, before the old one goes: there are never two because of the call.
        let beside = Allocation { dst: tried.clone(), site: site.beside(), ..allocation.clone() };
        self.emitter.emit(Op::Allocate(beside));
        let (new, tried) = (Expr::Load(new), Expr::Load(tried));
        let (with_new, no_new) = (self.emitter.location(), self.emitter.location());
        let got = fold::compare(CompareOp::Ne, tried.clone(), Expr::Null);
        self.emitter.connect(Op::Assume(got.clone().negated()), no_new);
        self.emitter.connect(Op::Assume(got), with_new);
        self.emitter.at = no_new;
        self.emitter.emit(failed.clone());
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = with_new;
        self.emitter.emit(Op::Free(tried));
        self.emitter.only_if(is_there, |emitter| emitter.emit(Op::Free(old)));
        self.emitter.emit(Op::Allocate(Allocation { may_fail: false, ..allocation }));
        self.emitter.emit(Op::Assign(place.clone(), new));
        self.emitter.emit(Op::Assign(room, larger));
        self.emitter.connect(Op::Skip, reads);
        self.emitter.at = reads;
        let line = self.emitter.save(Expr::Load(place));
        let is_line = fold::compare(CompareOp::Ne, length.clone(), length.zero());
        // Reading, or memory, may come to its end in the middle of the line: what was read so far is there then.
        let breaks_off = self.emitter.any(Scalar::Int(IntType::INT), cause.within());
        let number = fold::cast(Scalar::Int(ptrdiff_t), length.clone(), site);
        let fails = failed.clone();
        self.emitter.if_else(
            is_line,
            |emitter| {
                emitter.if_else(
                    breaks_off,
                    |emitter| {
                        emitter.emit(Op::HavocBytes(line.clone(), length.clone(), cause.guess()));
                        emitter.emit(fails);
                    },
                    |emitter| {
                        emitter.emit(Op::HavocBytes(line.clone(), length.clone(), cause));
                        emitter.end_text(&line, length.clone(), Characters::Bytes);
                        emitter.emit(Op::Assign(result.clone(), number));
                    },
                );
            },
            |emitter| emitter.emit(failed),
        );
        self.emitter.connect(Op::Skip, join);
        self.emitter.at = join;
        if let Some(dst) = dst {
            let number = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::Load(result), site);
            self.emitter.emit(Op::Assign(dst, number));
        }
    }

    /// The `size_t` behind a pointer.
    fn sized(&self, pointer: &Expr) -> Lvalue {
        let ty = self.emitter.types.of_scalar(Scalar::Int(self.emitter.types.size_t()));
        match pointer {
            Expr::Address(lvalue) if lvalue.scalar == Some(Scalar::Int(self.emitter.types.size_t())) => {
                lvalue.clone()
            }
            _ => self.pointee(pointer, ty),
        }
    }
}

/// Where the call has done it, if that is not where it has not failed.
fn is_done(done: Done, result: Expr) -> Option<Expr> {
    let is_number = matches!(result.scalar(), Scalar::Int(_));
    match done {
        Done::Positive if is_number => Some(fold::compare(CompareOp::Gt, result.clone(), result.zero())),
        Done::Zero if is_number => Some(fold::compare(CompareOp::Eq, result.clone(), result.zero())),
        Done::NotFailed => None,
        // A result of another kind says nothing.
        Done::Positive | Done::Zero => Some(Expr::int(0)),
    }
}

impl super::emit::Emitter<'_> {
    /// Characters with an end behind them, together at most so many, if there is room.
    pub(super) fn write_text(&mut self, to: &Expr, within: &Expr, cause: Cause) {
        let is_room = fold::compare(CompareOp::Ne, within.clone(), within.zero());
        self.where_holds(is_room, |emitter| {
            let end = emitter.characters(to, within, Characters::Bytes, false, cause);
            emitter.end_text(to, end, Characters::Bytes);
        });
    }

    /// Writes characters, fewer than so many; how many.
    fn characters(
        &mut self,
        to: &Expr,
        within: &Expr,
        characters: Characters,
        is_line: bool,
        cause: Cause,
    ) -> Expr {
        let (site, size_t) = (self.site, self.types.size_t());
        let end = self.any_size(cause);
        self.emit(Op::Assume(fold::compare(CompareOp::Lt, end.clone(), within.clone())));
        if is_line {
            let one = Expr::Int(1, size_t);
            let is_more = fold::compare(CompareOp::Gt, within.clone(), one.clone());
            let is_some = Op::Assume(fold::compare(CompareOp::Ge, end.clone(), one));
            self.where_holds(is_more, |emitter| emitter.emit(is_some));
        }
        let width = Expr::Int(characters.bytes(), size_t);
        let bytes = match characters {
            Characters::Bytes => end,
            Characters::Wide => fold::binary(BinaryOp::Mul, end, width, site),
        };
        self.emit(Op::HavocBytes(to.clone(), bytes.clone(), cause));
        bytes
    }

    /// A character 0 so many bytes behind the pointer.
    fn end_text(&mut self, to: &Expr, bytes: Expr, characters: Characters) {
        let width = Expr::Int(characters.bytes(), self.types.size_t());
        self.emit(Op::FillBytes(behind(to, bytes, self.site), Expr::int(0), width));
    }
}
