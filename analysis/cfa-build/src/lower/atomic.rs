//! `__sync_*`, `__atomic_*`, `__c11_atomic_*`: without threads (which make a verdict unknown) they are plain operations.

use proofline_hir::{
    Name, Type, TypeKind,
    body::{BinaryOp, ExprId},
    types::IntKind,
};

use super::{build::Lowering, fold};
use proofline_cfa::{Cause, Expr, Loc, Lvalue, Op, Scalar, Site, UnaryOp};

/// What a fetch-and-modify computes.
#[derive(Clone, Copy)]
enum Modify {
    Plain(BinaryOp),
    Nand,
}

impl Lowering<'_> {
    pub(super) fn atomic(&mut self, name: &str, id: ExprId, arguments: &[ExprId]) -> Option<Option<Expr>> {
        let (site, ty) = (self.site(id), self.body.expr(id).ty);
        let base = name.trim_start_matches("__c11").trim_start_matches('_');
        if matches!(base, "sync_synchronize" | "atomic_thread_fence" | "atomic_signal_fence") {
            self.values(arguments);
            return Some(None);
        }
        let &[first, ..] = arguments else { return None };
        let pointee = self.pointee_of(first)?;
        let object_type = pointee.unqualified();
        if let Some((modify, new_value)) = modification(base) {
            self.types.scalar(object_type)?;
            let values = self.values(arguments);
            let object = self.atomic_object(&values, pointee, site)?;
            let operand = values.get(1)?.clone();
            let (old, new) = self.modify(modify, object, operand, object_type, site);
            let value = if new_value { new } else { old };
            return Some(Some(self.converted(value, ty, site)));
        }
        let is_known = matches!(
            base,
            "atomic_load_n"
                | "atomic_load"
                | "atomic_store_n"
                | "atomic_store"
                | "atomic_init"
                | "atomic_exchange_n"
                | "atomic_exchange"
                | "sync_lock_test_and_set"
                | "sync_lock_release"
                | "atomic_test_and_set"
                | "atomic_clear"
                | "atomic_compare_exchange_n"
                | "atomic_compare_exchange"
                | "atomic_compare_exchange_strong"
                | "atomic_compare_exchange_weak"
                | "sync_bool_compare_and_swap"
                | "sync_val_compare_and_swap"
        );
        if !is_known {
            return None;
        }
        let is_c11 = name.starts_with("__c11");
        let values = self.values(arguments);
        let object = self.atomic_object(&values, pointee, site)?;
        let value = |at: usize| values.get(at).cloned();
        match base {
            "atomic_load_n" => Some(Some(self.read(object, site))),
            "atomic_load" if is_c11 => Some(Some(self.read(object, site))),
            "atomic_load" => {
                let to = self.deref(value(1)?, object_type, site);
                self.move_object(to, object, site);
                Some(None)
            }
            "atomic_store_n" | "atomic_init" => {
                self.write(object, value(1)?, site);
                Some(None)
            }
            "atomic_store" if is_c11 => {
                self.write(object, value(1)?, site);
                Some(None)
            }
            "atomic_store" => {
                let from = self.deref(value(1)?, object_type, site);
                self.move_object(object, from, site);
                Some(None)
            }
            "atomic_exchange" if !is_c11 => {
                let (from, to) = (value(1)?, value(2)?);
                let kept = self.temporary(object_type);
                self.move_object(kept.clone(), object.clone(), site);
                let from = self.deref(from, object_type, site);
                self.move_object(object, from, site);
                let to = self.deref(to, object_type, site);
                self.move_object(to, kept, site);
                Some(None)
            }
            "atomic_exchange_n" | "atomic_exchange" | "sync_lock_test_and_set" => {
                let old = self.read(object.clone(), site);
                self.write(object, value(1)?, site);
                Some(Some(self.converted(old, ty, site)))
            }
            "sync_lock_release" => {
                self.write(object, Expr::int(0), site);
                Some(None)
            }
            "atomic_test_and_set" | "atomic_clear" => {
                let byte = Type::new(TypeKind::Int(IntKind::UChar));
                let flag = self.deref(value(0)?, byte, site);
                if base == "atomic_clear" {
                    self.write(flag, Expr::int(0), site);
                    return Some(None);
                }
                let old = self.read(flag.clone(), site);
                self.write(flag, Expr::int(1), site);
                Some(Some(self.converted(fold::truth(old), ty, site)))
            }
            "sync_bool_compare_and_swap" | "sync_val_compare_and_swap" => {
                let old = self.read(object.clone(), site);
                let expected = self.converted(value(1)?, object_type, site);
                let condition = self.equals(old.clone(), expected);
                let condition = self.save(condition, site);
                let new = self.converted(value(2)?, object_type, site);
                let (yes, join) = (self.location(), self.location());
                self.branch_on(condition.clone(), yes, join, site);
                self.at = yes;
                self.write(object, new, site);
                self.enter(join, site);
                let result = if base == "sync_bool_compare_and_swap" { condition } else { old };
                Some(Some(self.converted(result, ty, site)))
            }
            _ => {
                let by_address = base == "atomic_compare_exchange" && !is_c11;
                let weak = match base {
                    "atomic_compare_exchange_weak" => true,
                    "atomic_compare_exchange_strong" => false,
                    _ => !matches!(value(3), Some(Expr::Int(0, _))),
                };
                let expected = self.deref(value(1)?, object_type, site);
                let desired = if by_address {
                    let from = self.deref(value(2)?, object_type, site);
                    self.types.scalar(object_type)?;
                    Expr::Load(from)
                } else {
                    self.converted(value(2)?, object_type, site)
                };
                let done = self.compare_exchange(object, expected, desired, weak, site);
                Some(Some(self.converted(done, ty, site)))
            }
        }
    }

    fn atomic_object(&mut self, values: &[Expr], ty: Type, site: Site) -> Option<Lvalue> {
        let pointer = values.first()?.clone();
        Some(self.deref(pointer, ty, site))
    }

    fn read(&mut self, object: Lvalue, site: Site) -> Expr {
        if object.scalar.is_none() {
            return self.unknown_scalar(Type::int(), site);
        }
        let is_volatile = object.ty.qualifiers().is_volatile;
        let value = self.save(Expr::Load(object), site);
        if is_volatile && let Expr::Load(read) = &value {
            self.may_have_changed(read.clone(), site);
        }
        value
    }

    fn write(&mut self, object: Lvalue, value: Expr, site: Site) {
        let value = self.converted(value, object.ty.unqualified(), site);
        if object.scalar.is_some() {
            self.emit(Op::Assign(object, value), site);
        } else {
            self.havoc_unmodelled(object, "atomic operation on an object", site);
        }
    }

    fn move_object(&mut self, to: Lvalue, from: Lvalue, site: Site) {
        if to.scalar.is_some() {
            self.emit(Op::Assign(to, Expr::Load(from)), site);
        } else {
            self.emit(Op::Copy(to, from), site);
        }
    }

    /// Old and new value. Signed arithmetic wraps here, by gcc's definition.
    fn modify(
        &mut self,
        modify: Modify,
        object: Lvalue,
        operand: Expr,
        ty: Type,
        site: Site,
    ) -> (Expr, Expr) {
        let old = self.read(object.clone(), site);
        let new = match (old.scalar(), modify) {
            (Scalar::Int(int), Modify::Plain(_) | Modify::Nand) => {
                let unsigned = Scalar::Int(proofline_cfa::IntType { bits: int.bits, signed: false });
                let (a, b) = (fold::cast(unsigned, old.clone(), site), fold::cast(unsigned, operand, site));
                let result = match modify {
                    Modify::Plain(op) => fold::binary(op, a, b, site),
                    Modify::Nand => {
                        fold::unary(UnaryOp::BitNot, fold::binary(BinaryOp::BitAnd, a, b, site), site)
                    }
                };
                self.converted(result, ty, site)
            }
            // In bytes, not in elements.
            (Scalar::Pointer, Modify::Plain(BinaryOp::Add | BinaryOp::Sub)) => {
                let index = match modify {
                    Modify::Plain(BinaryOp::Sub) => self.negated_index(operand, site),
                    Modify::Plain(_) | Modify::Nand => operand,
                };
                self.pointer_plus(old.clone(), Type::new(TypeKind::Int(IntKind::Char)), index, site)
            }
            (Scalar::Pointer | Scalar::Float(_), _) => {
                Expr::Load(self.unmodelled(ty, "atomic operation on an address", site))
            }
        };
        let new = self.save(new, site);
        self.emit(Op::Assign(object, new.clone()), site);
        (old, new)
    }

    /// `int` 1 if the exchange was done.
    fn compare_exchange(
        &mut self,
        object: Lvalue,
        expected: Lvalue,
        desired: Expr,
        weak: bool,
        site: Site,
    ) -> Expr {
        if object.scalar.is_none() || expected.scalar.is_none() {
            return self.unknown_scalar(Type::int(), site);
        }
        let old = self.read(object.clone(), site);
        let condition = self.equals(old.clone(), Expr::Load(expected.clone()));
        let done = self.temporary(Type::int());
        let (yes, no, join) = (self.location(), self.location(), self.location());
        self.branch_on(condition, yes, no, site);
        self.at = yes;
        if weak {
            // May fail for no reason.
            self.spurious(no, site);
        }
        self.emit(Op::Assign(object, desired), site);
        self.emit(Op::Assign(done.clone(), Expr::int(1)), site);
        self.connect(Op::Skip, join, site);
        self.at = no;
        self.emit(Op::Assign(expected, old), site);
        self.emit(Op::Assign(done.clone(), Expr::int(0)), site);
        self.enter(join, site);
        Expr::Load(done)
    }

    fn spurious(&mut self, no: Loc, site: Site) {
        let cause = Cause::External(Name::new("atomic_compare_exchange_weak"));
        let fails = self.any_value(Type::int(), cause, site);
        let yes = self.location();
        self.branch_on(fails, no, yes, site);
        self.at = yes;
    }
}

/// `atomic_fetch_add`, `sync_sub_and_fetch`, …: the operation, and whether the result is the new value.
fn modification(base: &str) -> Option<(Modify, bool)> {
    let (operation, new_value) = if let Some(op) = base.strip_prefix("atomic_fetch_") {
        (op, false)
    } else if let Some(op) = base.strip_prefix("sync_fetch_and_") {
        (op, false)
    } else if let Some(op) = base.strip_prefix("atomic_").and_then(|rest| rest.strip_suffix("_fetch")) {
        (op, true)
    } else {
        (base.strip_prefix("sync_")?.strip_suffix("_and_fetch")?, true)
    };
    let op = match operation {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "and" => BinaryOp::BitAnd,
        "or" => BinaryOp::BitOr,
        "xor" => BinaryOp::BitXor,
        "nand" => return Some((Modify::Nand, new_value)),
        _ => return None,
    };
    Some((Modify::Plain(op), new_value))
}
