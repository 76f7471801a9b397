//! What a state says of an expression's value: bounds, and bounds of its distance from numbers of the state. Values are mathematical: an operation
//! whose result may wrap around says nothing but its type. Changes nothing.

use std::{cell, collections::BTreeSet};

use proofline_cfa::{BinaryOp, Expr, Function, IntType, LocalId, Name, Program, Scalar, UnaryOp};
use proofline_cpa::Facts;
use smallvec::SmallVec;

use super::{
    paths::AccessPath,
    state::Relations,
    variable::Var,
    zone::{Dim, products},
};

/// So many numbers a form is compared with.
const MOST: usize = 6;

/// Expressions are looked into so many times.
const FUEL: u32 = 200;

/// A number with its distance.
type Near = SmallVec<[(Dim, i128); 2]>;

/// What is known of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Smallest and largest value.
    pub(super) low: i128,
    /// Largest.
    pub(super) high: i128,
    /// It is at most so much larger than these.
    pub(super) above: Near,
    /// These are at most so much larger than it.
    pub(super) below: Near,
}

impl Form {
    pub(super) fn between(low: i128, high: i128) -> Form {
        Form { low, high, above: Near::new(), below: Near::new() }
    }

    pub(super) fn constant(value: i128) -> Form {
        Form::between(value, value)
    }

    /// It is compared with no number of which `is_lost` holds.
    pub(super) fn forget(&mut self, is_lost: impl Fn(Dim) -> bool) {
        self.above.retain(|(dim, _)| !is_lost(*dim));
        self.below.retain(|(dim, _)| !is_lost(*dim));
    }

    fn map(self, low: i128, high: i128, above: impl Fn(i128) -> i128, below: impl Fn(i128) -> i128) -> Form {
        Form {
            low,
            high,
            above: self.above.into_iter().map(|(dim, most)| (dim, above(most))).collect(),
            below: self.below.into_iter().map(|(dim, most)| (dim, below(most))).collect(),
        }
    }

    /// The sum, as a mathematical number.
    pub(super) fn plus(&self, other: &Form) -> Form {
        let mut sum = self.clone().map(
            self.low.saturating_add(other.low),
            self.high.saturating_add(other.high),
            |most| most.saturating_add(other.high),
            |most| most.saturating_sub(other.low),
        );
        let more = other.clone().map(
            0,
            0,
            |most| most.saturating_add(self.high),
            |most| most.saturating_sub(self.low),
        );
        sum.above.extend(more.above);
        sum.below.extend(more.below);
        sum.above.truncate(MOST);
        sum.below.truncate(MOST);
        sum
    }

    /// What is known of a number of which both are known.
    fn and(mut self, other: &Form) -> Form {
        (self.low, self.high) = (self.low.max(other.low), self.high.min(other.high));
        self.above.extend(other.above.iter().copied());
        self.below.extend(other.below.iter().copied());
        self
    }

    /// The smaller of both.
    pub(super) fn least(&self, other: &Form) -> Form {
        let above: Near = self.above.iter().chain(&other.above).copied().take(MOST).collect();
        Form { low: self.low.min(other.low), high: self.high.min(other.high), above, below: Near::new() }
    }

    /// The number times a positive one.
    pub(super) fn times(&self, factor: i128) -> Form {
        if factor == 1 {
            return self.clone();
        }
        Form::between(self.low.saturating_mul(factor), self.high.saturating_mul(factor))
    }

    pub(super) fn is_constant(&self) -> bool {
        self.low == self.high
    }
}

/// A state as its innermost function sees it.
pub(super) struct View<'a> {
    pub(super) program: &'a Program,
    pub(super) function: &'a Function,
    pub(super) state: &'a Relations,
    pub(super) facts: &'a dyn Facts,
    /// Globals that relations speak of.
    pub(super) globals: &'a BTreeSet<Name>,
    /// The function's access paths.
    pub(super) paths: &'a [AccessPath],
    /// So many expressions are still looked into.
    pub(super) fuel: cell::Cell<u32>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        program: &'a Program,
        function: &'a Function,
        state: &'a Relations,
        facts: &'a dyn Facts,
        globals: &'a BTreeSet<Name>,
        paths: &'a [AccessPath],
    ) -> View<'a> {
        View { program, function, state, facts, globals, paths, fuel: cell::Cell::new(FUEL) }
    }

    /// The number itself.
    pub(super) fn number(&self, dim: Dim) -> Form {
        let (low, high) = self.state.zone.followed(dim);
        let near: Near = [(dim, 0)].into_iter().collect();
        Form { low, high, above: near.clone(), below: near }
    }

    /// By how much the first is at most larger than the second.
    pub(super) fn distance(&self, x: &Form, y: &Form) -> i128 {
        let mut most = x.high.saturating_sub(y.low);
        for (a, first) in &x.above {
            for (b, last) in &y.below {
                let between = self.between(*a, *b);
                most = most.min(between.saturating_add(*first).saturating_add(*last));
            }
        }
        most
    }

    /// By how much a number is at most larger than another one. Twice the numbers are twice as far from each other.
    fn between(&self, a: Dim, b: Dim) -> i128 {
        let zone = &self.state.zone;
        match (a, b) {
            (Dim::Twice(x, of_x), Dim::Twice(y, of_y)) => {
                let halves = zone.distance(Dim::Value(x, of_x), Dim::Value(y, of_y));
                zone.distance(a, b).min(halves.saturating_mul(2))
            }
            _ => zone.distance(a, b),
        }
    }

    /// The number that twice an expression is, if that is a local or a cell.
    fn twice(&self, expr: &Expr) -> Option<Dim> {
        match self.number_of(expr)? {
            (id, Scalar::Int(ty)) if ty.bits <= 64 => Some(Dim::Twice(id, ty)),
            _ => None,
        }
    }

    /// The value of an expression of an integer type of at most 64 bits.
    pub(super) fn form(&self, expr: &Expr) -> Option<Form> {
        let Scalar::Int(ty) = expr.scalar() else { return None };
        if ty.bits > 64 || self.fuel.get() == 0 {
            return None;
        }
        self.fuel.set(self.fuel.get() - 1);
        let (mut low, mut high) = (ty.min(), ty.max());
        let exact = self.exact(expr).filter(|form| ty.min() <= form.low && form.high <= ty.max());
        if exact.as_ref().is_none_or(|form| !form.is_constant())
            && let Some((least, most)) = self.facts.int_range(expr)
        {
            (low, high) = (low.max(least), high.min(most));
        }
        let mut form = exact.unwrap_or_else(|| Form::between(low, high));
        (form.low, form.high) = (form.low.max(low), form.high.min(high));
        Some(form)
    }

    /// The mathematical value, which may be outside of the type.
    fn exact(&self, expr: &Expr) -> Option<Form> {
        match expr {
            Expr::Int(value, _) => Some(Form::constant(*value)),
            Expr::Load(lvalue) => {
                let mut number = self.dim(lvalue).map(|dim| self.number(dim));
                if let Some(Dim::Value(Var::Cell(_), ty)) = self.dim(lvalue)
                    && let Some(path) = self.path(lvalue)
                {
                    number = number.map(|number| number.and(&self.number(Dim::Value(path, ty))));
                }
                let Some((low, high)) = self.unit(lvalue) else { return number };
                let mut form = number.unwrap_or_else(|| Form::between(low, high));
                (form.low, form.high) = (form.low.max(low), form.high.min(high));
                Some(form)
            }
            Expr::Binary(op, lhs, rhs, _) => self.operation(*op, lhs, rhs),
            Expr::Cast(_, arg, _) => self.form(arg),
            Expr::Unary(UnaryOp::Negate, arg, _) => {
                let form = self.form(arg)?;
                Some(Form::between(-form.high, -form.low))
            }
            Expr::Compare(op, lhs, rhs) => Some(match self.truth(*op, lhs, rhs) {
                Some(truth) => Form::constant(i128::from(truth)),
                None => Form::between(0, 1),
            }),
            Expr::Overflows(..) | Expr::Memory(..) => Some(Form::between(0, 1)),
            Expr::PointerDifference(lhs, rhs, stride, _) => {
                let (left, right) = (self.place(lhs)?, self.place(rhs)?);
                let is_one = self.is_one_object(&left, &right) && left.pointer.unit == *stride;
                is_one.then(|| self.difference(&left.offset, &right.offset))
            }
            Expr::Unary(UnaryOp::BitNot, ..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Address(_)
            | Expr::Function(_) => None,
        }
    }

    /// The mathematical result; of operations on bits what is simple.
    pub(super) fn operation(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Option<Form> {
        let (left, right) = (self.form(lhs)?, self.form(rhs)?);
        let same = |most: i128| most;
        let loose = Near::new;
        match op {
            BinaryOp::Add => {
                let mut sum = left.plus(&right);
                for (one, other) in [(lhs, rhs), (rhs, lhs)] {
                    // In front, for what comes behind others is lost first.
                    sum.above.insert_many(0, self.halfway(one, other).into_iter().flatten());
                    sum.above.insert_many(0, self.in_row(one, other));
                }
                let most =
                    sum.above.iter().map(|(dim, most)| self.state.zone.bounds(*dim).1.saturating_add(*most));
                sum.high = most.fold(sum.high, i128::min);
                Some(sum)
            }
            BinaryOp::Sub => Some(self.difference(&left, &right)),
            BinaryOp::Mul if right == Form::constant(1) => Some(left),
            BinaryOp::Mul if left == Form::constant(1) => Some(right),
            BinaryOp::Mul => {
                // A product with a positive number is no smaller.
                let more = |factor: &Form, by: &Form| match factor.low >= 0 && by.low >= 1 {
                    true => factor.low.saturating_mul(by.low - 1),
                    false => 0,
                };
                let (of_left, of_right) = (more(&left, &right), more(&right, &left));
                let mut below = Near::new();
                if left.low >= 0 && right.low >= 1 {
                    below.extend(left.below.iter().map(|(dim, most)| (*dim, most.saturating_sub(of_left))));
                }
                if right.low >= 0 && left.low >= 1 {
                    below.extend(right.below.iter().map(|(dim, most)| (*dim, most.saturating_sub(of_right))));
                }
                let (mut low, mut high) = products((left.low, left.high), (right.low, right.high));
                let mut above = Near::new();
                for (number, by) in [(lhs, &right), (rhs, &left)] {
                    if let Some(twice) = (*by == Form::constant(2)).then(|| self.twice(number)).flatten() {
                        above.push((twice, 0));
                        below.insert(0, (twice, 0));
                    }
                }
                if let Some(dim) = self.product(lhs, rhs) {
                    above.push((dim, 0));
                    below.insert(0, (dim, 0));
                    low = low.max(self.state.zone.bounds(dim).0);
                }
                above.insert_many(0, self.rows_before(lhs, rhs));
                for (dim, most) in above.iter().filter(|(dim, _)| matches!(dim, Dim::Product(..))) {
                    high = high.min(self.state.zone.followed(*dim).1.saturating_add(*most));
                }
                below.truncate(MOST);
                Some(Form { above, below, ..Form::between(low, high) })
            }
            BinaryOp::Div if left.low >= 0 && right.low >= 1 => {
                let (low, high) = (left.low / right.high, left.high / right.low);
                Some(Form { below: loose(), ..left.map(low, high, same, same) })
            }
            BinaryOp::Rem if left.low >= 0 && right.low >= 1 => {
                let high = left.high.min(right.high - 1);
                let mut form = Form { below: loose(), ..left.map(0, high, same, same) };
                form.above.extend(right.above.iter().map(|(dim, most)| (*dim, most - 1)));
                form.above.truncate(MOST);
                Some(form)
            }
            BinaryOp::Shr if left.low >= 0 => {
                let high = left.high;
                Some(Form { below: loose(), ..left.map(0, high, same, same) })
            }
            BinaryOp::Shl if left.low >= 0 && right.is_constant() && (0..=64).contains(&right.low) => {
                let by = 1i128 << right.low;
                let more = left.low.saturating_mul(by - 1);
                let (low, high) = (left.low.saturating_mul(by), left.high.saturating_mul(by));
                let below = |most: i128| most.saturating_sub(more);
                let mut form = Form { above: loose(), ..left.map(low, high, same, below) };
                if let Some(twice) = (by == 2).then(|| self.twice(lhs)).flatten() {
                    form.above.push((twice, 0));
                    form.below.insert(0, (twice, 0));
                    form.below.truncate(MOST);
                }
                Some(form)
            }
            BinaryOp::BitAnd if left.low >= 0 || right.low >= 0 => {
                let high = match (left.low >= 0, right.low >= 0) {
                    (true, true) => left.high.min(right.high),
                    (true, false) => left.high,
                    (false, _) => right.high,
                };
                let mut form = Form::between(0, high);
                for side in [&left, &right].into_iter().filter(|side| side.low >= 0) {
                    form.above.extend(side.above.iter().copied());
                }
                form.above.truncate(MOST);
                Some(form)
            }
            BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Shr
            | BinaryOp::Shl
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor => None,
        }
    }

    /// The local or cell that an expression is, whatever it is converted to, if that does not change it.
    fn factor_of(&self, expr: &Expr) -> Option<(Var, IntType)> {
        match self.number_of(expr)? {
            (var @ (Var::Local(_) | Var::Cell(_)), Scalar::Int(ty)) if ty.bits <= 64 => Some((var, ty)),
            _ => None,
        }
    }

    /// The number that a factor is.
    fn factor(&self, (var, ty): (Var, IntType)) -> Form {
        self.number(Dim::Value(var, ty))
    }

    /// The number that a product is, if both factors are locals or cells, and their bounds say that it is not too large.
    pub(super) fn product(&self, lhs: &Expr, rhs: &Expr) -> Option<Dim> {
        let dim = Dim::product(self.factor_of(lhs)?, self.factor_of(rhs)?);
        let (left, right) = (self.form(lhs)?, self.form(rhs)?);
        let (low, high) = products((left.low, left.high), (right.low, right.high));
        let (least, most) = dim.range();
        (least <= low && high <= most).then_some(dim)
    }

    /// The products of which something is known with a number, or with one that is equal, and the other factor.
    fn products_with(&self, of: (Var, IntType)) -> SmallVec<[(Dim, (Var, IntType)); 2]> {
        let zone = &self.state.zone;
        let is_it = |factor: (Var, IntType)| {
            let (factor, of) = (Dim::Value(factor.0, factor.1), Dim::Value(of.0, of.1));
            factor == of || zone.distance(factor, of) <= 0 && zone.distance(of, factor) <= 0
        };
        let mut found = SmallVec::new();
        for dim in zone.dims() {
            let Dim::Product(a, a_ty, b, b_ty) = dim else { continue };
            let (a, b) = ((a, a_ty), (b, b_ty));
            for (this, other) in [(a, b), (b, a)] {
                if is_it(this) && !found.contains(&(dim, other)) && found.len() < MOST {
                    found.push((dim, other));
                }
            }
        }
        found
    }

    /// What the product of two numbers is not above: that of a number that is no smaller.
    fn rows_before(&self, lhs: &Expr, rhs: &Expr) -> Near {
        let mut above = Near::new();
        for (row, width) in [(lhs, rhs), (rhs, lhs)] {
            let Some(of) = self.factor_of(width) else { continue };
            let products = self.products_with(of);
            let (Some(row), Some(width)) = (self.form(row), self.form(width)) else { continue };
            for (dim, rows) in products.into_iter().filter(|_| width.low >= 0) {
                if self.distance(&row, &self.factor(rows)) <= 0 {
                    above.push((dim, 0));
                }
            }
        }
        above
    }

    /// What the element of a matrix in a row and a column is before: `i * m + j` is less than `n * m` where `i < n` and `j < m`.
    fn in_row(&self, start: &Expr, column: &Expr) -> Near {
        let mut above = Near::new();
        let start = self.kept(start);
        let Expr::Binary(BinaryOp::Mul, lhs, rhs, _) = start else { return above };
        for (row, width) in [(lhs, rhs), (rhs, lhs)] {
            let Some(of) = self.factor_of(width) else { continue };
            let products = self.products_with(of);
            if products.is_empty() {
                continue;
            }
            let Some(ty) = start.int_type() else { continue };
            let is_exact = self
                .operation(BinaryOp::Mul, lhs, rhs)
                .is_some_and(|product| ty.min() <= product.low && product.high <= ty.max());
            let (Some(row), Some(width), Some(column)) =
                (self.form(row), self.form(width), self.form(column))
            else {
                continue;
            };
            let most = self.distance(&column, &width);
            for (dim, rows) in products.into_iter().filter(|_| is_exact && width.low >= 0) {
                if self.distance(&row, &self.factor(rows)) <= -1 {
                    above.push((dim, most));
                }
            }
        }
        above
    }

    /// What is converted, as far as that changes nothing.
    fn kept<'e>(&self, expr: &'e Expr) -> &'e Expr {
        match expr {
            Expr::Cast(Scalar::Int(to), arg, _) => {
                let (number, to) = (self.form(arg), *to);
                let is_same = number.is_some_and(|form| to.min() <= form.low && form.high <= to.max());
                if is_same { self.kept(arg) } else { expr }
            }
            _ => expr,
        }
    }

    /// What `low + (high − low) / 2` is not above.
    fn halfway(&self, low: &Expr, part: &Expr) -> Option<Near> {
        let Expr::Binary(BinaryOp::Div | BinaryOp::Shr, whole, by, _) = part else { return None };
        let Expr::Binary(BinaryOp::Sub, high, start, _) = &**whole else { return None };
        // As numbers: what wraps around is on no way.
        let way = self.operation(BinaryOp::Sub, high, start).filter(|way| **start == *low && way.low >= 0)?;
        let is_less = way.low >= 1 && matches!(**by, Expr::Int(by, _) if by >= 2);
        let near = self.form(high)?.above.into_iter();
        Some(near.map(|(dim, most)| (dim, most - i128::from(is_less))).collect())
    }

    /// `a − b`.
    pub(super) fn difference(&self, left: &Form, right: &Form) -> Form {
        let low = left.low.saturating_sub(right.high).max(self.distance(right, left).saturating_neg());
        let high = left.high.saturating_sub(right.low).min(self.distance(left, right));
        left.clone().map(
            low,
            high,
            |most| most.saturating_sub(right.low),
            |most| most.saturating_add(right.high),
        )
    }

    /// The register that the expression reads.
    pub(super) fn whole_of(&self, expr: &Expr) -> Option<(LocalId, Scalar)> {
        match expr {
            Expr::Load(lvalue) => self.whole(lvalue),
            _ => None,
        }
    }

    /// What holds a number, whatever it is converted to, if that does not change it.
    pub(super) fn number_of(&self, expr: &Expr) -> Option<(Var, Scalar)> {
        match expr {
            Expr::Load(lvalue) => {
                self.variable(lvalue).filter(|(_, scalar)| matches!(scalar, Scalar::Int(_)))
            }
            Expr::Cast(Scalar::Int(to), arg, _) => {
                let (form, to) = (self.form(arg)?, *to);
                (to.min() <= form.low && form.high <= to.max()).then(|| self.number_of(arg))?
            }
            _ => None,
        }
    }
}
