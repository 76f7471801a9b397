//! GCC's builtins whose meaning depends on the types of their operands. All other builtins stay calls, for the models.

use std::sync::Arc;

use proofline_hir::{
    Type,
    body::{BinaryOp, ExprId, ExprKind},
};

use super::{build::Lowering, condition::is_expect, expr::unmodelled, fold};
use proofline_cfa::{CompareOp, Expr, IntType, Op, Scalar, Site};

/// Whether a call of the builtin changes nothing.
pub(crate) fn is_pure(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("__builtin_") else { return false };
    let prefixes = [
        "expect",
        "constant_p",
        "bswap",
        "clz",
        "ctz",
        "clrsb",
        "popcount",
        "ffs",
        "parity",
        "object_size",
        "isnan",
        "isinf",
        "isfinite",
        "isnormal",
        "signbit",
        "fabs",
        "inf",
        "nan",
        "huge_val",
        "copysign",
        "assume_aligned",
        "prefetch",
        "va_start",
        "va_end",
        "va_copy",
        "frame_address",
        "return_address",
        "isgreater",
        "isless",
        "isunordered",
    ];
    prefixes.iter().any(|prefix| rest.starts_with(prefix))
}

impl Lowering<'_> {
    /// Lowers the call if it is such a builtin; the inner value is `None` for one of type void.
    pub(crate) fn builtin(&mut self, name: &str, id: ExprId, arguments: &[ExprId]) -> Option<Option<Expr>> {
        if name.starts_with("__sync_") || name.starts_with("__atomic_") || name.starts_with("__c11_atomic_") {
            return self.atomic(name, id, arguments);
        }
        let site = self.site(id);
        if name == "__VERIFIER_assume"
            && let &[condition] = arguments
            && self
                .context
                .functions
                .get(&proofline_hir::Name::new(name))
                .is_none_or(|function| function.body.is_none())
        {
            // A condition, not a value: keeps `&&` and `||` as control flow.
            let (yes, no) = (self.location(), self.location());
            self.branch(condition, yes, no);
            self.at = yes;
            return Some(None);
        }
        let rest = name.strip_prefix("__builtin_")?;
        let ty = self.body.expr(id).ty;
        if is_expect(Some(name)) {
            let values = self.values(arguments);
            let value = values.into_iter().next()?;
            return Some(Some(self.converted(value, ty, site)));
        }
        if let Some((op, stored)) = overflow_builtin(rest) {
            return self.overflow(op, stored, id, arguments, site).map(Some);
        }
        if let Some(value) = self.float_builtin(rest, arguments, site) {
            return Some(Some(self.converted(value, ty, site)));
        }
        match rest {
            "assume_aligned" => {
                let values = self.values(arguments);
                values.into_iter().next().map(Some)
            }
            // Not evaluated; gcc answers as it likes.
            "constant_p" => {
                let value = self.any_value(ty, unmodelled("__builtin_constant_p"), site);
                self.assume_range(&value, 0, 1, site);
                Some(Some(value))
            }
            "object_size" | "dynamic_object_size" => {
                Some(Some(Expr::Load(self.unmodelled(ty, "__builtin_object_size", site))))
            }
            "prefetch" | "va_start" | "c23_va_start" | "va_end" | "va_copy" => {
                for argument in arguments {
                    self.effect(*argument);
                }
                self.move_list(rest, arguments, site);
                Some(None)
            }
            "unreachable" => {
                self.call_by_name(name, site);
                self.halt();
                Some(None)
            }
            "bswap16" | "bswap32" | "bswap64" => {
                let bits = rest.strip_prefix("bswap")?.parse().ok()?;
                let value = self.values(arguments).into_iter().next()?;
                let value = match value {
                    Expr::Int(..) | Expr::Load(_) if !fold::is_partial(&value) => value,
                    _ => self.save(value, site),
                };
                Some(Some(byte_swapped(value, bits, site)))
            }
            _ => None,
        }
    }

    pub(crate) fn assume_range(&mut self, value: &Expr, low: i128, high: i128, site: Site) {
        let Some(ty) = value.int_type() else { return };
        for (op, bound, needed) in
            [(CompareOp::Ge, low, low > ty.min()), (CompareOp::Le, high, high < ty.max())]
        {
            if needed {
                self.emit(Op::Assume(fold::compare(op, value.clone(), Expr::Int(bound, ty))), site);
            }
        }
    }

    /// `__builtin_add_overflow(a, b, &r)`: computes exactly, stores modulo the type of `r`, says whether that lost anything.
    fn overflow(
        &mut self,
        op: BinaryOp,
        stored: bool,
        id: ExprId,
        arguments: &[ExprId],
        site: Site,
    ) -> Option<Expr> {
        let &[_, _, third] = arguments else { return None };
        let third = self.body.expr(third).ty;
        let target = if stored { third.pointee()? } else { third };
        let Some(Scalar::Int(to)) = self.types.scalar(target) else { return None };
        let result = self.body.expr(id).ty;
        let values = self.values(arguments);
        let [lhs, rhs, place] = <[Expr; 3]>::try_from(values).ok()?;
        let (left, right) = (lhs.int_type()?, rhs.int_type()?);
        let exact = if left == to && right == to {
            let overflows = Expr::Overflows(op, Arc::new(lhs.clone()), Arc::new(rhs.clone()));
            let unsigned = Scalar::Int(IntType { bits: to.bits, signed: false });
            let (a, b) = (fold::cast(unsigned, lhs, site), fold::cast(unsigned, rhs, site));
            Some((overflows, fold::cast(Scalar::Int(to), fold::binary(op, a, b, site), site)))
        } else {
            wide_overflow(op, lhs, rhs, to, site)
        };
        let flag = self.temporary(result);
        let what = "__builtin_mul_overflow of mixed wide types";
        let value = match exact {
            Some((overflows, value)) => {
                let overflows = self.converted(overflows, result, site);
                self.emit(Op::Assign(flag.clone(), overflows), site);
                value
            }
            None => {
                self.havoc_unmodelled(flag.clone(), what, site);
                self.assume_range(&Expr::Load(flag.clone()), 0, 1, site);
                Expr::Load(self.unmodelled(target, what, site))
            }
        };
        if stored {
            let place = self.deref(place, target, site);
            self.emit(Op::Assign(place, value), site);
        }
        Some(Expr::Load(flag))
    }
}

/// In a signed type wide enough for the exact result, if there is one.
fn wide_overflow(op: BinaryOp, lhs: Expr, rhs: Expr, to: IntType, site: Site) -> Option<(Expr, Expr)> {
    let (left, right) = (lhs.int_type()?, rhs.int_type()?);
    let width = |ty: IntType| u16::from(ty.bits) + u16::from(!ty.signed);
    let needed = match op {
        BinaryOp::Mul => width(left) + width(right),
        _ => width(left).max(width(right)) + 1,
    };
    let bits = needed.max(width(to) + 1);
    if bits > 128 {
        return None;
    }
    let wide = IntType { bits: bits as u8, signed: true };
    let cast = |value| fold::cast(Scalar::Int(wide), value, site);
    let exact = fold::binary(op, cast(lhs), cast(rhs), site);
    let below = fold::compare(CompareOp::Lt, exact.clone(), Expr::Int(to.min(), wide));
    let above = fold::compare(CompareOp::Gt, exact.clone(), Expr::Int(to.max(), wide));
    Some((fold::binary(BinaryOp::BitOr, below, above, site), fold::cast(Scalar::Int(to), exact, site)))
}

/// `add_overflow`, `saddl_overflow`, `mul_overflow_p`, …: the operation, and whether the result is stored.
fn overflow_builtin(rest: &str) -> Option<(BinaryOp, bool)> {
    let (operation, stored) = match rest.strip_suffix("_overflow") {
        Some(operation) => (operation, true),
        None => (rest.strip_suffix("_overflow_p")?, false),
    };
    let operation = operation.trim_end_matches('l');
    // `mul` lost its l.
    let operation = operation.strip_prefix(['s', 'u']).filter(|rest| rest.len() >= 2).unwrap_or(operation);
    Some((
        match operation {
            "add" => BinaryOp::Add,
            "sub" | "ub" => BinaryOp::Sub,
            "mul" | "mu" => BinaryOp::Mul,
            _ => return None,
        },
        stored,
    ))
}

/// The bytes of an unsigned value in reverse order.
pub(crate) fn byte_swapped(value: Expr, bits: u8, site: Site) -> Expr {
    let ty = IntType { bits, signed: false };
    // Shifts of 16-bit values would be done as `int`: 32 bits hold them all.
    let work = IntType { bits: bits.max(32), signed: false };
    let value = fold::cast(Scalar::Int(ty), value, site);
    let value = fold::cast(Scalar::Int(work), value, site);
    let bytes = bits / 8;
    let mut sum: Option<Expr> = None;
    for byte in 0..bytes {
        let (from, to) = (8 * i128::from(byte), 8 * i128::from(bytes - 1 - byte));
        let shifted = fold::binary(BinaryOp::Shr, value.clone(), Expr::Int(from, IntType::INT), site);
        let low = fold::binary(BinaryOp::BitAnd, shifted, Expr::Int(0xff, work), site);
        let placed = fold::binary(BinaryOp::Shl, low, Expr::Int(to, IntType::INT), site);
        sum = Some(match sum {
            Some(sum) => fold::binary(BinaryOp::BitOr, sum, placed, site),
            None => placed,
        });
    }
    fold::cast(Scalar::Int(ty), sum.unwrap_or(value), site)
}

impl Lowering<'_> {
    /// What the pointer argument of a generic builtin points to, seen through conversions to `void *`.
    pub(crate) fn pointee_of(&self, argument: ExprId) -> Option<Type> {
        let expr = self.body.expr(argument);
        let pointee = expr.ty.pointee()?;
        if let (proofline_hir::TypeKind::Void, ExprKind::Cast(inner)) = (pointee.kind(), &expr.kind) {
            return self.pointee_of(*inner).or(Some(pointee));
        }
        Some(pointee)
    }
}
