//! Statements as text, one per line, indented by four.

use super::{MAX_DEPTH, Printer, types::declaration_text};
use crate::body::{ExprId, LabelId, Stmt, StmtId};

impl Printer<'_> {
    /// Appends a statement with its newline; the cursor is at the statement's column.
    pub(super) fn stmt(&mut self, id: StmtId, out: &mut String) {
        if self.depth >= MAX_DEPTH {
            out.push_str("…\n");
            return;
        }
        self.depth += 1;
        self.stmt_inner(id, out);
        self.depth -= 1;
    }

    fn line(&self, out: &mut String) {
        out.extend(std::iter::repeat_n("    ", self.indent));
    }

    /// A statement inside another one: a block on the same line, others indented on their own.
    fn nested(&mut self, id: StmtId, out: &mut String) {
        if matches!(self.body.stmt(id), Stmt::Block(_)) {
            out.push(' ');
            self.stmt(id, out);
        } else {
            out.push('\n');
            self.indent += 1;
            self.line(out);
            self.stmt(id, out);
            self.indent -= 1;
        }
    }

    /// A statement behind a label: on the next line.
    fn labelled(&mut self, id: StmtId, out: &mut String) {
        out.push('\n');
        self.line(out);
        self.stmt(id, out);
    }

    fn label(&self, label: LabelId) -> &str {
        self.body.labels.get(label.index()).map_or("?", |name| name.as_str())
    }

    fn optional(&mut self, id: Option<ExprId>) -> String {
        id.map_or(String::new(), |id| format!(" {}", self.expr(id)))
    }

    fn stmt_inner(&mut self, id: StmtId, out: &mut String) {
        let body = self.body;
        match body.stmt(id) {
            Stmt::Empty => out.push_str(";\n"),
            Stmt::Expr(expr) => {
                out.push_str(&self.expr(*expr));
                out.push_str(";\n");
            }
            Stmt::Declare(local, init) => {
                let data = body.local(*local);
                out.push_str(&declaration_text(data.ty, &self.local_name(*local)));
                if let Some(length) = data.length {
                    out.push_str(&format!(" /* elements: {} */", self.expr(length)));
                }
                if let Some(cleanup) = data.cleanup {
                    out.push_str(&format!(" __attribute__((cleanup({cleanup})))"));
                }
                if let Some(init) = init {
                    out.push_str(&format!(" = {}", self.initializer(init, data.ty)));
                }
                out.push_str(";\n");
            }
            Stmt::Block(stmts) => {
                out.push_str("{\n");
                self.indent += 1;
                for stmt in stmts {
                    self.line(out);
                    self.stmt(*stmt, out);
                }
                self.indent -= 1;
                self.line(out);
                out.push_str("}\n");
            }
            Stmt::If { condition, then, otherwise } => {
                out.push_str(&format!("if ({})", self.expr(*condition)));
                self.nested(*then, out);
                if let Some(otherwise) = otherwise {
                    self.line(out);
                    out.push_str("else");
                    if matches!(body.stmt(*otherwise), Stmt::If { .. }) {
                        out.push(' ');
                        self.stmt(*otherwise, out);
                    } else {
                        self.nested(*otherwise, out);
                    }
                }
            }
            Stmt::While { condition, body } => {
                out.push_str(&format!("while ({})", self.expr(*condition)));
                self.nested(*body, out);
            }
            Stmt::DoWhile { body, condition } => {
                out.push_str("do");
                self.nested(*body, out);
                self.line(out);
                out.push_str(&format!("while ({});\n", self.expr(*condition)));
            }
            Stmt::For { init, condition, step, body } => {
                let mut first = String::new();
                match init {
                    Some(init) => self.stmt(*init, &mut first),
                    None => first.push(';'),
                }
                let (condition, step) = (self.optional(*condition), self.optional(*step));
                out.push_str(&format!("for ({}{condition};{step})", first.trim_end()));
                self.nested(*body, out);
            }
            Stmt::Switch { value, body } => {
                out.push_str(&format!("switch ({})", self.expr(*value)));
                self.nested(*body, out);
            }
            Stmt::Case { first, last, body } => {
                let range = if first == last { format!("{first}") } else { format!("{first} ... {last}") };
                out.push_str(&format!("case {range}:"));
                self.labelled(*body, out);
            }
            Stmt::Default(body) => {
                out.push_str("default:");
                self.labelled(*body, out);
            }
            Stmt::Label(label, body) => {
                out.push_str(&format!("{}:", self.label(*label)));
                self.labelled(*body, out);
            }
            Stmt::Goto(label) => out.push_str(&format!("goto {};\n", self.label(*label))),
            Stmt::GotoComputed(target) => out.push_str(&format!("goto *{};\n", self.expr(*target))),
            Stmt::Break => out.push_str("break;\n"),
            Stmt::Continue => out.push_str("continue;\n"),
            Stmt::Return(value) => out.push_str(&format!("return{};\n", self.optional(*value))),
            Stmt::Asm { outputs, inputs, clobbers_memory, labels } => {
                let list = |s: &mut Self, ids: &[ExprId]| {
                    ids.iter().map(|e| s.expr(*e)).collect::<Vec<_>>().join(", ")
                };
                let (outputs, inputs) = (list(self, outputs), list(self, inputs));
                let memory = if *clobbers_memory { " memory" } else { "" };
                let labels: Vec<&str> = labels.iter().map(|l| self.label(*l)).collect();
                out.push_str(&format!(
                    "asm(out: {outputs}; in: {inputs};{memory} labels: {});\n",
                    labels.join(", ")
                ));
            }
            Stmt::Unsupported(what) => out.push_str(&format!("unsupported(\"{what}\");\n")),
        }
    }
}
