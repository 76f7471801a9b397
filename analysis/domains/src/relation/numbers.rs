//! Which number of a state an lvalue is, and how two values compare. Changes nothing.

use proofline_cfa::{Base, CompareOp, Expr, Function, LocalId, Lvalue, Name, Program, Scalar, scalar_of};

use smallvec::SmallVec;

use super::{form::View, variable::Var, zone::Dim};

impl View<'_> {
    /// The local that an lvalue is, with its format, if nothing else can change it.
    pub(super) fn whole(&self, lvalue: &Lvalue) -> Option<(LocalId, Scalar)> {
        whole(self.program, self.function, lvalue)
    }

    /// What holds the scalar that an lvalue is: a local that nothing else can change; or a cell, what lies where a path leads, or both.
    pub(super) fn variables(&self, lvalue: &Lvalue) -> SmallVec<[Var; 2]> {
        match self.whole(lvalue) {
            Some((id, _)) => [Var::Local(id)].into_iter().collect(),
            None => self.cell(lvalue).map(Var::Cell).into_iter().chain(self.path(lvalue)).collect(),
        }
    }

    /// The one of these of which more is known.
    pub(super) fn variable(&self, lvalue: &Lvalue) -> Option<(Var, Scalar)> {
        let all = self.variables(lvalue);
        let known = all.iter().find(|var| self.state.pointers.contains_key(var));
        Some((*known.or(all.first())?, lvalue.scalar?))
    }

    /// The number that a local, a cell or a global is.
    pub(super) fn dim(&self, lvalue: &Lvalue) -> Option<Dim> {
        if let Base::Global(name) = lvalue.base
            && let Some(dim) = self.global(name, lvalue)
        {
            return Some(dim);
        }
        match self.variable(lvalue)? {
            (var, Scalar::Int(ty)) if ty.bits <= 64 => Some(Dim::Value(var, ty)),
            (_, Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer) => None,
        }
    }

    /// The number that a global is of which the lvalue is all.
    fn global(&self, name: Name, lvalue: &Lvalue) -> Option<Dim> {
        let Some(Scalar::Int(ty)) = lvalue.scalar.filter(|_| self.globals.contains(&name)) else {
            return None;
        };
        let global = self.program.globals.get(&name)?;
        let is_whole = lvalue.path.is_empty() && lvalue.bits.is_none();
        let is_number = scalar_of(global.ty, self.program.data_model) == lvalue.scalar && ty.bits <= 64;
        (is_whole && is_number).then_some(Dim::Global(name, ty))
    }

    /// Whether two integers compare so, where that is known.
    pub(super) fn truth(&self, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Option<bool> {
        let (left, right) = (self.form(lhs)?, self.form(rhs)?);
        let (over, under) = (self.distance(&left, &right), self.distance(&right, &left));
        let (is_less, is_more, is_at_most, is_at_least) = (over < 0, under < 0, over <= 0, under <= 0);
        let (yes, no) = match op {
            CompareOp::Lt => (is_less, is_at_least),
            CompareOp::Le => (is_at_most, is_more),
            CompareOp::Gt => (is_more, is_at_most),
            CompareOp::Ge => (is_at_least, is_less),
            CompareOp::Eq => (is_at_most && is_at_least, is_less || is_more),
            CompareOp::Ne => (is_less || is_more, is_at_most && is_at_least),
        };
        (yes || no).then_some(yes)
    }
}

/// The local that an lvalue is, with its format, if nothing else can change it.
pub(super) fn whole(program: &Program, function: &Function, lvalue: &Lvalue) -> Option<(LocalId, Scalar)> {
    let Base::Local(id) = lvalue.base else { return None };
    let local = function.local(id);
    let scalar = lvalue.scalar?;
    let is_whole = lvalue.path.is_empty() && lvalue.bits.is_none() && !local.address_taken;
    (is_whole && scalar_of(local.ty, program.data_model) == Some(scalar)).then_some((id, scalar))
}
