//! Operations of automata: sentence 5.

use proofline_hir::TypeKind;

use super::{Flaw, Verifier, same_type};
use crate::{
    expr::{Expr, LocalId, Lvalue},
    function::{Argument, Call, Callee, Op, Role},
    scalar::Scalar,
};

impl Verifier<'_> {
    pub(super) fn op(&mut self, op: &Op) {
        match op {
            Op::Skip => {}
            Op::Assume(condition) => self.value(condition),
            Op::Assign(to, value) => {
                self.lvalue(to);
                self.value(value);
                self.assigned(to, value.scalar());
            }
            Op::Copy(to, from) => {
                self.lvalue(to);
                self.lvalue(from);
                let scalar = to.scalar.or(from.scalar).is_some();
                self.expect(!scalar, Flaw::Aggregate, || "a scalar is copied".to_owned());
                self.expect(same_type(to.ty, from.ty), Flaw::Assigned, || "types differ".to_owned());
            }
            Op::Havoc(to, _) => self.lvalue(to),
            Op::Clobber(values, _) => values.iter().for_each(|value| self.value(value)),
            Op::Call(call) => self.call(call),
            Op::Allocate(allocation) => {
                self.lvalue(&allocation.dst);
                self.assigned(&allocation.dst, Scalar::Pointer);
                self.integer(&allocation.size);
                self.site(allocation.site);
            }
            Op::Free(pointer) => self.pointer(pointer),
            Op::CopyBytes(to, from, size) => {
                self.pointer(to);
                self.pointer(from);
                self.integer(size);
            }
            Op::FillBytes(to, byte, size) => {
                self.pointer(to);
                self.integer(byte);
                self.integer(size);
            }
            Op::HavocBytes(to, size, _) => {
                self.pointer(to);
                self.integer(size);
            }
            Op::Begin(local) | Op::End(local) => self.lifetime(*local),
        }
    }

    fn assigned(&mut self, to: &Lvalue, value: Scalar) {
        match to.scalar {
            Some(format) => {
                self.expect(format == value, Flaw::Assigned, || format!("a {value} to a {format}"))
            }
            None => self.report(Flaw::Aggregate, "a value is assigned to an aggregate"),
        }
    }

    fn pointer(&mut self, value: &Expr) {
        self.value(value);
        let format = value.scalar();
        self.expect(format == Scalar::Pointer, Flaw::NotAPointer, || {
            format!("a {format} is used as a pointer")
        });
    }

    fn integer(&mut self, value: &Expr) {
        self.value(value);
        let format = value.scalar();
        self.expect(value.int_type().is_some(), Flaw::NotAnInteger, || {
            format!("a {format} is used as a number")
        });
    }

    fn lifetime(&mut self, id: LocalId) {
        match self.function.locals.get(id.index()) {
            None => self.report(Flaw::UnknownLocal, id.to_string()),
            Some(local) => {
                let fits = !matches!(local.role, Role::Parameter | Role::Result);
                self.expect(fits, Flaw::Lifetime, || format!("{id} is a {:?}", local.role));
            }
        }
    }

    fn call(&mut self, call: &Call) {
        if let Some(dst) = &call.dst {
            self.lvalue(dst);
        }
        for argument in &call.arguments {
            match argument {
                Argument::Value(value) => self.value(value),
                Argument::Aggregate(from) => {
                    self.lvalue(from);
                    self.expect(from.scalar.is_none(), Flaw::Aggregate, || {
                        "a scalar is passed as an aggregate".to_owned()
                    });
                }
            }
        }
        let Callee::Indirect(pointer, ty) = &call.callee else { return };
        self.pointer(pointer);
        let TypeKind::Function(signature) = ty.kind() else {
            return self.report(Flaw::Call, "a call through something that is no function type");
        };
        let (given, taken) = (call.arguments.len(), signature.parameters.len());
        let fits = given == taken || signature.unprototyped || (signature.variadic && given > taken);
        self.expect(fits, Flaw::Call, || format!("{given} arguments for {taken}"));
        for (argument, ty) in call.arguments.iter().zip(&signature.parameters) {
            let expected = self.types.scalar(*ty);
            if let Argument::Value(value) = argument {
                let given = value.scalar();
                self.expect(Some(given) == expected, Flaw::Call, || format!("a {given} for {expected:?}"));
            }
        }
        if let Some(dst) = &call.dst {
            let expected = self.types.scalar(signature.result);
            self.expect(dst.scalar == expected, Flaw::Call, || format!("{:?} gets {expected:?}", dst.scalar));
        }
    }

    pub(super) fn allocation_sites(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        for (id, edge) in self.function.edge_ids() {
            if let Op::Allocate(allocation) = &edge.op {
                self.part = super::Part::Edge(id);
                self.expect(seen.insert(allocation.site), Flaw::AllocationSite, || {
                    allocation.site.to_string()
                });
            }
        }
    }
}
