//! Operations in the place of a call: a chain of edges from the call's source to its target. Knows nothing of models.

use std::sync::Arc;

use proofline_hir::{Name, Type, TypeKind, types::IntKind};
use proofline_syntax::DataModel;

use crate::lower::fold;
use proofline_cfa::{
    Approximation, Base, Cause, CompareOp, Edge, Expr, Function, IntType, LibraryResult, Loc, Local, LocalId,
    Lvalue, Op, Quantity, Role, Scalar, Site, Step, Types,
};

/// The chain under construction.
pub(super) struct Emitter<'p> {
    pub(super) function: &'p mut Function,
    pub(super) types: Types<'p>,
    pub(super) at: Loc,
    pub(super) site: Site,
    /// What the numbers really are that the model at hand leaves open.
    pub(super) exactly: Option<(Quantity, Vec<Expr>)>,
    temporaries: u32,
}

impl<'p> Emitter<'p> {
    pub(super) fn new(function: &'p mut Function, types: Types<'p>) -> Emitter<'p> {
        let temporaries =
            function.locals.iter().filter_map(|local| local.name.strip_prefix('$')?.parse().ok());
        let temporaries = temporaries.max().map_or(0, |last: u32| last + 1);
        Emitter { function, types, at: Loc(0), site: Site(0), exactly: None, temporaries }
    }

    pub(super) fn edges(&mut self) -> &mut Vec<Edge> {
        &mut self.function.edges
    }

    pub(super) fn location(&mut self) -> Loc {
        let loc = Loc(self.function.locations);
        self.function.locations += 1;
        loc
    }

    /// An edge to a new location, which becomes here. What it writes through a pointer must be there to be written.
    pub(super) fn emit(&mut self, op: Op) {
        match &op {
            Op::CopyBytes(to, _, size) | Op::FillBytes(to, _, size) | Op::HavocBytes(to, size, _) => {
                self.demand_writable(to.clone(), size.clone());
            }
            Op::Skip
            | Op::Assume(_)
            | Op::Assign(..)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::Begin(_)
            | Op::End(_) => {}
        }
        self.emit_as_it_is(op);
    }

    /// The same of what the model itself has made.
    pub(super) fn emit_as_it_is(&mut self, op: Op) {
        let to = self.location();
        self.connect(op, to);
        self.at = to;
    }

    /// An edge to a location; here stays.
    pub(super) fn connect(&mut self, op: Op, to: Loc) {
        self.function.edges.push(Edge { from: self.at, to, op, site: self.site });
    }

    pub(super) fn temporary(&mut self, ty: Type) -> Lvalue {
        let ty = ty.unqualified();
        let id = LocalId(self.function.locals.len() as u32);
        let name = Name::new(&format!("${}", self.temporaries));
        self.temporaries += 1;
        let size = self.types.size(ty).unwrap_or(0);
        self.function.locals.push(Local { name, ty, role: Role::Temporary, address_taken: false, size });
        let scalar = self.types.scalar(ty);
        Lvalue { base: Base::Local(id), path: Vec::new(), ty, scalar, bits: None, size }
    }

    /// The value in a temporary.
    pub(super) fn save(&mut self, value: Expr) -> Expr {
        let temporary = self.temporary(self.types.of_scalar(value.scalar()));
        self.emit(Op::Assign(temporary.clone(), value));
        Expr::Load(temporary)
    }

    /// Any value of the format.
    pub(super) fn any(&mut self, scalar: Scalar, cause: Cause) -> Expr {
        let temporary = self.temporary(self.types.of_scalar(scalar));
        self.emit(Op::Havoc(temporary.clone(), cause));
        Expr::Load(temporary)
    }

    /// Any value of `size_t`.
    pub(super) fn any_size(&mut self, cause: Cause) -> Expr {
        let size = self.any(Scalar::Int(self.types.size_t()), cause);
        self.note(&size, false);
        size
    }

    /// Says what the temporary really is, if the model does.
    pub(super) fn note(&mut self, value: &Expr, is_absence: bool) {
        if let Some((quantity, arguments)) = self.exactly.clone()
            && let Expr::Load(Lvalue { base: Base::Local(dst), .. }) = value
        {
            self.function.library_results.push(LibraryResult { dst: *dst, quantity, arguments, is_absence });
        }
    }

    pub(super) fn assume_range(&mut self, value: &Expr, low: i128, high: i128) {
        let Some(ty) = value.int_type() else { return };
        for (op, bound, needed) in
            [(CompareOp::Ge, low, low > ty.min()), (CompareOp::Le, high, high < ty.max())]
        {
            if needed && ty.contains(bound) {
                self.emit(Op::Assume(fold::compare(op, value.clone(), Expr::Int(bound, ty))));
            }
        }
    }

    /// Any value of the lvalue's type; of `_Bool` that is 0 or 1.
    pub(super) fn havoc(&mut self, lvalue: Lvalue, cause: Cause) {
        self.emit(Op::Havoc(lvalue.clone(), cause));
        if matches!(lvalue.ty.kind(), TypeKind::Bool) && lvalue.bits.is_none() {
            self.assume_range(&Expr::Load(lvalue), 0, 1);
        }
    }

    /// An address of some byte in the object that the pointer points into.
    pub(super) fn inside_of(&mut self, pointer: Expr, cause: Cause) -> Expr {
        let index = self.any(Scalar::Int(self.types.ptrdiff_t()), cause);
        self.note(&index, false);
        let char_type = Type::new(TypeKind::Int(IntKind::Char));
        let scalar = Some(Scalar::Int(IntType { bits: 8, signed: true }));
        let step = Step::Index { index: Arc::new(index), stride: 1, length: None, site: self.site };
        let base = Base::Deref(Arc::new(pointer), self.site);
        Expr::Address(Lvalue { base, path: vec![step], ty: char_type, scalar, bits: None, size: 1 })
    }

    /// Goes on in one of two ways, which both lead here again: the first where something was not found; nothing but the cause decides.
    pub(super) fn either(
        &mut self,
        cause: Cause,
        first: impl FnOnce(&mut Self),
        second: impl FnOnce(&mut Self),
    ) {
        let choice = self.any(Scalar::Int(IntType::INT), cause.within());
        self.note(&choice, true);
        let (start, join) = (self.at, self.location());
        self.emit(Op::Assume(choice.clone()));
        first(self);
        self.connect(Op::Skip, join);
        self.at = start;
        self.emit(Op::Assume(choice.negated()));
        second(self);
        self.connect(Op::Skip, join);
        self.at = join;
    }

    /// Does it where the condition holds.
    pub(super) fn only_if(&mut self, condition: Expr, then: impl FnOnce(&mut Self)) {
        let (start, join) = (self.at, self.location());
        self.emit(Op::Assume(condition.clone()));
        then(self);
        self.connect(Op::Skip, join);
        self.at = start;
        self.connect(Op::Assume(condition.negated()), join);
        self.at = join;
    }

    /// Does it where the condition holds, which may be known.
    pub(super) fn where_holds(&mut self, condition: Expr, then: impl FnOnce(&mut Self)) {
        match condition {
            Expr::Int(0, _) => {}
            Expr::Int(..) => then(self),
            condition => self.only_if(condition, then),
        }
    }

    /// Goes on in one of two ways.
    pub(super) fn if_else(
        &mut self,
        condition: Expr,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let (start, join) = (self.at, self.location());
        self.emit(Op::Assume(condition.clone()));
        then(self);
        self.connect(Op::Skip, join);
        self.at = start;
        self.emit(Op::Assume(condition.negated()));
        otherwise(self);
        self.connect(Op::Skip, join);
        self.at = join;
    }

    /// Does one thing where all conditions hold, and another where one does not.
    pub(super) fn if_all(
        &mut self,
        conditions: Vec<Expr>,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let (other, join) = (self.location(), self.location());
        for condition in conditions {
            match condition {
                Expr::Int(0, _) => {
                    self.connect(Op::Skip, other);
                    self.at = self.location();
                }
                Expr::Int(..) => {}
                condition => {
                    self.connect(Op::Assume(condition.negated()), other);
                    self.emit(Op::Assume(condition));
                }
            }
        }
        then(self);
        self.connect(Op::Skip, join);
        self.at = other;
        otherwise(self);
        self.connect(Op::Skip, join);
        self.at = join;
    }

    /// Null, or zero, as a result.
    pub(super) fn give_null(&mut self, dst: Option<Lvalue>) {
        if let Some(dst) = dst {
            let null = fold::cast(dst.scalar.unwrap_or(Scalar::Pointer), Expr::Null, self.site);
            self.emit(Op::Assign(dst, null));
        }
    }

    /// Does it if the pointer is not null.
    pub(super) fn if_not_null(&mut self, pointer: &Expr, then: impl FnOnce(&mut Self)) {
        match pointer {
            Expr::Null => {}
            Expr::Function(_) => then(self),
            Expr::Address(lvalue) if !matches!(lvalue.base, Base::Deref(..)) => then(self),
            _ => {
                let not_null = fold::compare(CompareOp::Ne, pointer.clone(), Expr::Null);
                self.only_if(not_null, then);
            }
        }
    }

    /// Any number of times; nothing but the cause decides.
    /// These bytes get any value, or stay as they are. Why it is not known whether they do, and what they get.
    pub(super) fn may_write(&mut self, to: &Expr, size: Expr, whether: Cause, what: Cause) {
        let does = self.any(Scalar::Int(IntType::INT), whether);
        self.only_if(does, |emitter| {
            emitter.if_not_null(to, |emitter| emitter.emit(Op::HavocBytes(to.clone(), size, what)));
        });
    }

    pub(super) fn repeatedly(&mut self, cause: Cause, body: impl FnOnce(&mut Self)) {
        let (head, end) = (self.location(), self.location());
        self.connect(Op::Skip, head);
        self.at = head;
        let again = self.any(Scalar::Int(IntType::INT), cause.within());
        let start = self.at;
        self.emit(Op::Assume(again.clone()));
        body(self);
        self.connect(Op::Skip, head);
        self.at = start;
        self.connect(Op::Assume(again.negated()), end);
        self.at = end;
    }

    pub(super) fn approximate(&mut self, what: &str) {
        let approximation = Approximation { what: Name::new(what), site: self.site };
        self.function.approximations.push(approximation);
    }

    /// How many bytes a `long` has.
    pub(super) fn bytes_of_long(&self) -> Expr {
        Expr::Int(i128::from(self.long().bits / 8), self.types.size_t())
    }

    /// `long` of the data model.
    pub(super) fn long(&self) -> IntType {
        let bits = if self.types.model == DataModel::Lp64 { 64 } else { 32 };
        IntType { bits, signed: true }
    }
}
