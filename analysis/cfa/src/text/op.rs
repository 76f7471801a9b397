//! Operations of edges as text, and back. Must not know functions.

use std::fmt::Write;

use super::{Parser, Printer, lex::ParseError};
use crate::expr::{Expr, Lvalue};
use crate::function::{Allocation, Argument, Call, Callee, Cause, Op};

impl Printer<'_> {
    pub(super) fn op(&mut self, op: &Op) {
        match op {
            Op::Skip => self.text("skip"),
            Op::Assume(condition) => {
                self.text("assume ");
                self.expr(condition);
            }
            Op::Assign(to, value) => {
                self.lvalue(to);
                self.text(" := ");
                self.expr(value);
            }
            Op::Copy(to, from) => {
                self.text("copy ");
                self.lvalue(to);
                self.text(" := ");
                self.lvalue(from);
            }
            Op::Havoc(to, cause) => {
                self.text("havoc ");
                self.lvalue(to);
                self.cause(cause);
            }
            Op::Clobber(values, cause) => {
                self.text("clobber ");
                self.list(values);
                self.cause(cause);
            }
            Op::Call(call) => self.call(call),
            Op::Allocate(allocation) => {
                self.lvalue(&allocation.dst);
                let place = if allocation.on_heap { "heap" } else { "frame" };
                let _ = write!(self.out, " := allocate {place}");
                if allocation.zeroed {
                    self.text(" zeroed");
                }
                if allocation.may_fail {
                    self.text(" fallible");
                }
                let _ = write!(self.out, " @{} (", allocation.site.0);
                self.expr(&allocation.size);
                self.text(")");
            }
            Op::Free(pointer) => {
                self.text("free ");
                self.expr(pointer);
            }
            Op::CopyBytes(to, from, size) => {
                self.text("copy_bytes");
                self.list([to, from, size]);
            }
            Op::FillBytes(to, byte, size) => {
                self.text("fill_bytes");
                self.list([to, byte, size]);
            }
            Op::HavocBytes(to, size, cause) => {
                self.text("havoc_bytes");
                self.list([to, size]);
                self.cause(cause);
            }
            Op::Begin(local) => {
                self.text("begin ");
                self.local(*local);
            }
            Op::End(local) => {
                self.text("end ");
                self.local(*local);
            }
        }
    }

    fn list<'e>(&mut self, values: impl IntoIterator<Item = &'e Expr>) {
        let mut separator = "(";
        for value in values {
            self.text(separator);
            self.expr(value);
            separator = ", ";
        }
        self.text(if separator == "(" { "()" } else { ")" });
    }

    fn cause(&mut self, cause: &Cause) {
        self.text(" ");
        match cause {
            Cause::Input(name) => self.named_cause("input", *name),
            Cause::External(name) => self.named_cause("external", *name),
            Cause::Keeping(name) => self.named_cause("keeping", *name),
            Cause::Within(name) => self.named_cause("within", *name),
            Cause::Unmodelled(name) => self.named_cause("unmodelled", *name),
            Cause::Text(name) => self.named_cause("text", *name),
            Cause::Volatile => self.text("volatile"),
            Cause::Indeterminate => self.text("indeterminate"),
        }
    }

    fn named_cause(&mut self, word: &str, name: proofline_hir::Name) {
        self.text(word);
        self.text(" ");
        self.name(name);
    }

    fn call(&mut self, call: &Call) {
        if let Some(dst) = &call.dst {
            self.lvalue(dst);
            self.text(" := ");
        }
        self.text("call ");
        match &call.callee {
            Callee::Direct(name) => self.name(*name),
            Callee::Indirect(pointer, ty) => {
                self.text("(*");
                self.expr(pointer);
                self.text(" : ");
                self.ty(*ty);
                self.text(")");
            }
        }
        self.text("(");
        for (index, argument) in call.arguments.iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            match argument {
                Argument::Value(value) => self.expr(value),
                Argument::Aggregate(from) => {
                    self.text("copy ");
                    self.lvalue(from);
                }
            }
        }
        self.text(")");
    }
}

impl Parser<'_> {
    pub(super) fn op(&mut self) -> Result<Op, ParseError> {
        if self.word("skip") {
            Ok(Op::Skip)
        } else if self.word("assume") {
            Ok(Op::Assume(self.expr()?))
        } else if self.word("copy") {
            let to = self.lvalue()?;
            self.expect(":=")?;
            Ok(Op::Copy(to, self.lvalue()?))
        } else if self.word("havoc") {
            let to = self.lvalue()?;
            Ok(Op::Havoc(to, self.cause()?))
        } else if self.word("clobber") {
            let values = self.list()?;
            Ok(Op::Clobber(values, self.cause()?))
        } else if self.peek_word("call") {
            self.call(None)
        } else if self.word("free") {
            Ok(Op::Free(self.expr()?))
        } else if self.word("copy_bytes") {
            let [to, from, size] = self.values()?;
            Ok(Op::CopyBytes(to, from, size))
        } else if self.word("fill_bytes") {
            let [to, byte, size] = self.values()?;
            Ok(Op::FillBytes(to, byte, size))
        } else if self.word("havoc_bytes") {
            let [to, size] = self.values()?;
            Ok(Op::HavocBytes(to, size, self.cause()?))
        } else if self.word("begin") {
            Ok(Op::Begin(self.local()?))
        } else if self.word("end") {
            Ok(Op::End(self.local()?))
        } else {
            let to = self.lvalue()?;
            self.expect(":=")?;
            if self.peek_word("call") {
                self.call(Some(to))
            } else if self.word("allocate") {
                self.allocation(to)
            } else {
                Ok(Op::Assign(to, self.expr()?))
            }
        }
    }

    fn allocation(&mut self, dst: Lvalue) -> Result<Op, ParseError> {
        let on_heap = self.word("heap");
        if !on_heap {
            self.expect_word("frame")?;
        }
        let zeroed = self.word("zeroed");
        let may_fail = self.word("fallible");
        let site = self.expect_site()?;
        self.expect("(")?;
        let size = self.expr()?;
        self.expect(")")?;
        Ok(Op::Allocate(Allocation { dst, size, site, on_heap, zeroed, may_fail }))
    }

    fn list(&mut self) -> Result<Vec<Expr>, ParseError> {
        let mut values = Vec::new();
        self.expect("(")?;
        while !self.punct(")") {
            values.push(self.expr()?);
            if !self.punct(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(values)
    }

    fn values<const N: usize>(&mut self) -> Result<[Expr; N], ParseError> {
        match <[Expr; N]>::try_from(self.list()?) {
            Ok(values) => Ok(values),
            Err(list) => Err(self.error(format!("expected {N} values, found {}", list.len()))),
        }
    }

    fn cause(&mut self) -> Result<Cause, ParseError> {
        if self.word("input") {
            Ok(Cause::Input(self.name()?))
        } else if self.word("external") {
            Ok(Cause::External(self.name()?))
        } else if self.word("keeping") {
            Ok(Cause::Keeping(self.name()?))
        } else if self.word("within") {
            Ok(Cause::Within(self.name()?))
        } else if self.word("unmodelled") {
            Ok(Cause::Unmodelled(self.name()?))
        } else if self.word("text") {
            Ok(Cause::Text(self.name()?))
        } else if self.word("volatile") {
            Ok(Cause::Volatile)
        } else if self.word("indeterminate") {
            Ok(Cause::Indeterminate)
        } else {
            self.fail(
                "a cause (`input f`, `external f`, `keeping f`, `within f`, `unmodelled x`, `text f`, `volatile`, `indeterminate`)",
            )
        }
    }

    fn call(&mut self, dst: Option<Lvalue>) -> Result<Op, ParseError> {
        self.expect_word("call")?;
        let callee = if self.punct("(") {
            self.expect("*")?;
            let pointer = self.expr()?;
            self.expect(":")?;
            let ty = self.ty()?;
            self.expect(")")?;
            Callee::Indirect(pointer, ty)
        } else {
            Callee::Direct(self.name()?)
        };
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.punct(")") {
            arguments.push(if self.word("copy") {
                Argument::Aggregate(self.lvalue()?)
            } else {
                Argument::Value(self.expr()?)
            });
            if !self.punct(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(Op::Call(Call { dst, callee, arguments }))
    }
}
