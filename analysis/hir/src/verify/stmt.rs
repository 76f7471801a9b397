//! Promises about statements.

use super::{Checker, MAX_DEPTH, same};
use crate::{
    body::{LabelId, Stmt, StmtId},
    types::{Type, TypeKind},
};

impl Checker<'_> {
    pub(super) fn stmt(&mut self, id: StmtId) {
        if id.index() >= self.body.stmts.len() {
            return self.report(format!("no statement {}", id.0));
        }
        if std::mem::replace(&mut self.placed[id.index()], true) {
            return self.report(format!("statement {} has two places", id.0));
        }
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.check_stmt(id);
            self.depth -= 1;
        }
    }

    fn looped(&mut self, body: StmtId) {
        self.loops += 1;
        self.stmt(body);
        self.loops -= 1;
    }

    fn label(&mut self, label: LabelId) {
        if label.index() >= self.body.labels.len() {
            self.report(format!("no label {}", label.0));
        }
    }

    fn check_stmt(&mut self, id: StmtId) {
        let body = self.body;
        match body.stmt(id) {
            Stmt::Empty | Stmt::Unsupported(_) => {}
            Stmt::Expr(expr) => {
                self.discarded(*expr);
            }
            Stmt::Declare(local, init) => {
                let Some(data) = body.locals.get(local.index()) else {
                    return self.report(format!("no local {}", local.0));
                };
                if let Some(length) = data.length {
                    self.scalar(length);
                }
                if let Some(init) = init {
                    self.initializer(init, data.ty);
                }
                let size = self.layout().size_of(data.ty);
                let unknown =
                    size.is_none() && data.length.is_none() && !matches!(data.ty.kind(), TypeKind::Error);
                let has_reason = body.stmts.iter().any(|s| matches!(s, Stmt::Unsupported(_)));
                if unknown && !has_reason {
                    self.report(format!("the local {} has no size", data.name));
                }
            }
            Stmt::Block(stmts) => {
                for stmt in stmts {
                    self.stmt(*stmt);
                }
            }
            Stmt::If { condition, then, otherwise } => {
                self.scalar(*condition);
                self.stmt(*then);
                if let Some(otherwise) = otherwise {
                    self.stmt(*otherwise);
                }
            }
            Stmt::While { condition, body } | Stmt::DoWhile { condition, body } => {
                self.scalar(*condition);
                self.looped(*body);
            }
            Stmt::For { init, condition, step, body } => {
                if let Some(init) = init {
                    self.stmt(*init);
                }
                if let Some(condition) = condition {
                    self.scalar(*condition);
                }
                if let Some(step) = step {
                    self.discarded(*step);
                }
                self.looped(*body);
            }
            Stmt::Switch { value, body } => {
                let ty = self.scalar(*value);
                let is_promoted = matches!(ty.kind(), TypeKind::Int(_) | TypeKind::Error);
                self.require(is_promoted, *value, "a switch on a value that is not promoted");
                self.switches += 1;
                self.stmt(*body);
                self.switches -= 1;
            }
            Stmt::Case { first, last, body } => {
                if self.switches == 0 || first > last {
                    self.report(format!("case {first} ... {last} outside a switch or empty"));
                }
                self.stmt(*body);
            }
            Stmt::Default(body) => {
                if self.switches == 0 {
                    self.report("default outside a switch".to_owned());
                }
                self.stmt(*body);
            }
            Stmt::Label(label, body) => {
                self.label(*label);
                if let Some(defined) = self.defined_labels.get_mut(label.index())
                    && std::mem::replace(defined, true)
                {
                    self.report(format!("label {} is defined twice", label.0));
                }
                self.stmt(*body);
            }
            Stmt::Goto(label) => self.label(*label),
            Stmt::GotoComputed(target) => {
                self.scalar(*target);
            }
            Stmt::Break => {
                if self.loops + self.switches == 0 {
                    self.report("break outside a loop".to_owned());
                }
            }
            Stmt::Continue => {
                if self.loops == 0 {
                    self.report("continue outside a loop".to_owned());
                }
            }
            Stmt::Return(None) => {}
            Stmt::Return(Some(value)) => {
                let ty = self.used_value(*value, false);
                let result = self.result;
                self.require(same(ty, result), *value, "a result that is not converted");
            }
            Stmt::Asm { outputs, inputs, labels, .. } => {
                for place in outputs {
                    self.discarded(*place);
                }
                for value in inputs {
                    self.used_value(*value, false);
                }
                for label in labels {
                    self.label(*label);
                }
            }
        }
    }

    /// The type of a block's last expression statement.
    pub(super) fn value_of_block(&self, block: StmtId) -> Option<Type> {
        let mut at = block;
        loop {
            match self.body.stmts.get(at.index())? {
                Stmt::Block(stmts) => at = *stmts.last()?,
                Stmt::Label(_, body) => at = *body,
                Stmt::Expr(value) => return Some(self.body.expr(*value).ty),
                _ => return None,
            }
        }
    }
}
