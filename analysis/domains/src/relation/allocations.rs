//! Allocations: which object is new, how large it is, and in which units that is counted. Knows no calls.

use proofline_cfa::{Allocation, BinaryOp, Expr, Op, Scalar, Type, Types, scalar_of};

use super::{
    cells::zero_cells,
    form::Form,
    places::Place,
    state::{Null, Pointer, Relations},
    terminator::Written,
    transfer::{Result, Step, Vars, forget, point_all},
    units::Units,
    variable::{Cell, Tag, Var},
};

impl Step<'_> {
    /// A fresh object. If that may fail, the pointer may be null.
    pub(super) fn allocate(&self, state: &mut Relations, allocation: &Allocation) -> Result<Vars> {
        let tag = Tag::Allocated { at: self.at.id, nth: 0, on_heap: allocation.on_heap };
        state.allocates(self.at.id);
        // Size and place are read where what was allocated here before has the name that it has now: its cells are not the new object's.
        let renamed = state.clone();
        Step { from: &renamed, ..*self }.allocate_newest(state, allocation, tag)
    }

    /// The same where no name is the new object's but its own.
    fn allocate_newest(&self, state: &mut Relations, allocation: &Allocation, tag: Tag) -> Result<Vars> {
        let view = self.view();
        let dst = &allocation.dst;
        let vars = if dst.scalar == Some(Scalar::Pointer) { view.variables(dst) } else { Vars::new() };
        let unit = self.unit_of(allocation);
        let in_units = view.in_units(&allocation.size, unit).map(|size| (unit, size));
        let sized = in_units.or_else(|| Some((1, view.form(&allocation.size)?)));
        // (A register of which nothing is known, or memory.)
        if view.whole(dst).is_none() || sized.is_none() {
            forget(state, dst);
            self.changed(state, dst, true)?;
        }
        let mut own = Vars::new();
        if let Some((unit, size)) = sized.filter(|_| !vars.is_empty()) {
            let has_zero = allocation.zeroed && size.low >= 1;
            let null = if allocation.may_fail { Null::Any } else { Null::Never };
            let pointer = Pointer {
                unit,
                tag: Some(tag),
                null,
                has_zero,
                is_filled: true,
                units: if allocation.zeroed { Units::Zero } else { Units::Nothing },
                on_heap: allocation.on_heap,
            };
            let zero = has_zero.then(|| size.plus(&Form::constant(-1)));
            let filled = Some(if allocation.zeroed { size.clone() } else { Form::constant(0) });
            point_all(state, &vars, &Place { pointer, offset: Form::constant(0), size, zero, filled })?;
            own = vars;
        }
        if view.whole(dst).is_none() {
            let cells = own.iter().filter_map(|var| var.cell()).collect();
            self.lose_cells(state, &Written::unknown(dst), &cells);
        }
        if let Some(ty) = self.allocated_type(allocation).filter(|_| allocation.zeroed) {
            zero_cells(self.env.program(), state, Cell { of: tag, at: 0, size: u32::MAX }, ty)?;
        }
        Ok(own)
    }

    /// Bytes of a unit of a new object: of what its pointer leads to, if that is a scalar of which there is a whole number; otherwise a constant factor of
    /// its size.
    fn unit_of(&self, allocation: &Allocation) -> u64 {
        let factors = factors(&allocation.size);
        let is_whole = |unit: u64| match &allocation.size {
            Expr::Int(size, _) => size % i128::from(unit) == 0,
            _ => factors.contains(&unit),
        };
        let elements = self.receivers(allocation).into_iter().filter_map(|ty| self.size_of_scalar(ty));
        let elements: Vec<u64> = elements.collect();
        match elements.iter().copied().find(|unit| is_whole(*unit)) {
            Some(unit) => unit,
            None if elements.contains(&1) => 1,
            None => factors.first().copied().unwrap_or(1),
        }
    }

    fn size_of_scalar(&self, ty: Type) -> Option<u64> {
        let program = self.env.program();
        scalar_of(ty, program.data_model)?;
        Types { records: &program.records, model: program.data_model }.size(ty)
    }

    /// What the pointers lead to that get the address of a new object, or of the one for which it is laid aside.
    fn receivers(&self, allocation: &Allocation) -> Vec<Type> {
        let edges = &self.at.function.edges;
        let made = |op: &Op| if let Op::Allocate(other) = op { Some(other.clone()) } else { None };
        let mut others = edges.iter().filter_map(|edge| made(&edge.op));
        let meant = others.find(|other| other.site == allocation.site.in_map()).map(|other| other.dst);
        let dst = meant.unwrap_or_else(|| allocation.dst.clone());
        let view = self.view();
        let holder = view.whole(&dst).map(|(id, _)| Var::Local(id));
        let copies = edges.iter().filter_map(|edge| match &edge.op {
            Op::Assign(to, value) if holder.is_some() && view.holder(value) == holder => Some(to.ty),
            _ => None,
        });
        let copies: Vec<Type> = copies.collect();
        [dst.ty].into_iter().chain(copies).filter_map(|ty| ty.pointee()).collect()
    }
}

/// The constants larger than 1 that a size is a product of.
fn factors(size: &Expr) -> Vec<u64> {
    match size {
        Expr::Binary(BinaryOp::Mul, lhs, rhs, _) => [lhs, rhs]
            .into_iter()
            .flat_map(|side| match **side {
                Expr::Int(value, _) => {
                    u64::try_from(value).ok().filter(|value| *value > 1).into_iter().collect()
                }
                _ => factors(side),
            })
            .collect(),
        Expr::Cast(Scalar::Int(_), arg, _) => factors(arg),
        Expr::Cast(..)
        | Expr::Binary(..)
        | Expr::Int(..)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Load(_)
        | Expr::Address(_)
        | Expr::Function(_)
        | Expr::Unary(..)
        | Expr::Compare(..)
        | Expr::Overflows(..)
        | Expr::Memory(..)
        | Expr::PointerDifference(..) => Vec::new(),
    }
}
