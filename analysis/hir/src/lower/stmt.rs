//! Statements. One node may become several statements (a declaration of three names; an unsupported part in front of
//! what could be read). Must not know how expressions or declarations are read.
//!
//! Wherever an expression was not understood, a [`Stmt::Unsupported`] stands in front of the statement that needs it.

use proofline_syntax::marks;
use tree_sitter::Node;

use super::{Lowerer, all_children, children, field};
use crate::{
    Name,
    body::{ExprId, LabelId, Stmt, StmtId},
    types::{Type, TypeKind},
};

mod asm;
mod jump;

impl<'u> Lowerer<'u> {
    /// The body of the current function; its labels are complete afterwards.
    pub(crate) fn function_body(&mut self, compound: Node<'u>) -> StmtId {
        let mut stmts = self.block_items(compound, false).0;
        let mut missing = self.finish_labels(compound);
        if !missing.is_empty() {
            stmts.push(self.new_stmt(Stmt::Return(None), compound));
            stmts.append(&mut missing);
        }
        let root = self.new_stmt(Stmt::Block(stmts), compound);
        let end = compound.end_byte().saturating_sub(1);
        let brace = all_children(compound)
            .into_iter()
            .next_back()
            .filter(|n| n.kind() == "}" && n.start_byte() <= end);
        self.body.map.end = brace.map(|n| self.span(n));
        root
    }

    /// A statement as one statement.
    pub(crate) fn statement(&mut self, node: Node<'u>) -> StmtId {
        let mut stmts = self.statements(node);
        match (stmts.len(), stmts.pop()) {
            (1, Some(only)) => only,
            (_, Some(last)) => {
                stmts.push(last);
                self.new_stmt(Stmt::Block(stmts), node)
            }
            (_, None) => self.new_stmt(Stmt::Empty, node),
        }
    }

    /// The statement that a loop or `if` governs.
    fn governed(&mut self, node: Node<'u>) -> StmtId {
        if node.kind() == "case_statement" && children(node).len() > 2 {
            // The grammar gives a `case` everything up to the next one, C only the next statement.
            self.error(
                node,
                "a `case` that is directly under `if` or a loop is not supported; put it into braces",
            );
            let reason = Stmt::Unsupported(Name::new("a case label directly under another statement"));
            return self.new_stmt(reason, node);
        }
        self.statement(node)
    }

    /// The statements of a node; none for a declaration that only has an effect on names.
    pub(crate) fn statements(&mut self, node: Node<'u>) -> Vec<StmtId> {
        match self.deeper(node, |l| l.statements_inner(node)) {
            Some(stmts) => stmts,
            None => vec![self.unsupported(node, "nested too deeply")],
        }
    }

    fn unsupported(&mut self, node: Node<'u>, why: &str) -> StmtId {
        self.new_stmt(Stmt::Unsupported(Name::new(why)), node)
    }

    /// Runs `f`; if not everything in it was understood, an unsupported statement comes first.
    fn watched(&mut self, node: Node<'u>, out: &mut Vec<StmtId>, f: impl FnOnce(&mut Self) -> Vec<StmtId>) {
        let stmts = self.watched_value(node, out, f);
        out.extend(stmts);
    }

    /// Runs `f`; if not everything in it was understood, an unsupported statement goes to `out`.
    fn watched_value<R>(
        &mut self,
        node: Node<'u>,
        out: &mut Vec<StmtId>,
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let before = self.errors.len();
        let outside = std::mem::replace(&mut self.poisoned, false);
        let result = f(self);
        let poisoned = std::mem::replace(&mut self.poisoned, outside);
        let why = match self.errors.get(before) {
            Some(error) => error.message.clone(),
            None if poisoned => "a part that was not understood".to_owned(),
            None => return result,
        };
        out.push(self.unsupported(node, &why));
        result
    }

    fn statements_inner(&mut self, node: Node<'u>) -> Vec<StmtId> {
        let mut out = Vec::new();
        match node.kind() {
            "compound_statement" => {
                let (stmts, _) = self.block_items(node, false);
                out.push(self.new_stmt(Stmt::Block(stmts), node));
            }
            "expression_statement" => self.watched(node, &mut out, |l| l.expression_statement(node)),
            "if_statement" => self.if_statement(node, &mut out),
            "while_statement" => self.while_statement(node, &mut out),
            "do_statement" => self.do_statement(node, &mut out),
            "for_statement" => self.for_statement(node, &mut out),
            "switch_statement" => self.switch_statement(node, &mut out),
            "case_statement" => self.case_statement(node, &mut out),
            "labeled_statement" => self.labeled_statement(node, &mut out),
            "attributed_statement" => {
                for child in children(node) {
                    if child.kind() != "attribute_declaration" {
                        out.extend(self.statements(child));
                    }
                }
            }
            "return_statement" => self.watched(node, &mut out, |l| l.return_statement(node)),
            "break_statement" | "continue_statement" => out.push(self.leave(node)),
            "goto_statement" => self.watched(node, &mut out, |l| l.goto_statement(node)),
            "comment" | "preproc_call" => {}
            "function_definition" => out.extend(self.declaration(node)),
            "declaration"
            | "type_definition"
            | "linkage_specification"
            | "struct_specifier"
            | "union_specifier"
            | "enum_specifier"
            | "type_identifier"
            | "primitive_type"
            | "sized_type_specifier"
            | "macro_type_specifier" => {
                if !self.local_labels(node) {
                    self.watched(node, &mut out, |l| l.declaration(node));
                }
            }
            "ERROR" => {
                self.error(node, "this is not a C statement");
                out.push(self.unsupported(node, "text that is not C"));
            }
            kind => {
                self.error(node, format!("this statement is not supported ({kind})"));
                out.push(self.unsupported(node, "a statement that is not supported"));
            }
        }
        out
    }

    /// The items of a block in a scope of their own. If `wants_value`, the type of the last expression statement, whose
    /// expression is then a value; otherwise `void`.
    fn block_items(&mut self, block: Node<'u>, wants_value: bool) -> (Vec<StmtId>, Type) {
        self.push_scope();
        let labels = self.function.as_ref().map(|f| f.labels.clone());
        let hidden = self.function.as_ref().map_or(0, |f| f.label_names.len());
        let mut stmts = Vec::new();
        let mut ty = Type::void();
        let items = children(block);
        let last = items.iter().rposition(|n| n.kind() != "comment");
        for (index, item) in items.iter().enumerate() {
            if wants_value && Some(index) == last {
                let (more, value_type) = self.value_statements(*item);
                stmts.extend(more);
                ty = value_type;
            } else {
                stmts.extend(self.statements(*item));
            }
        }
        if let (Some(labels), true) = (labels, self.has_local_label(block)) {
            self.leave_local_labels(labels, hidden);
        }
        self.pop_scope();
        (stmts, ty)
    }

    /// The block of a statement expression and the type of its value.
    pub(crate) fn value_block(&mut self, block: Node<'u>) -> (StmtId, Type) {
        let (stmts, ty) = self.block_items(block, true);
        (self.new_stmt(Stmt::Block(stmts), block), ty)
    }

    /// The last statement of a statement expression.
    fn value_statements(&mut self, node: Node<'u>) -> (Vec<StmtId>, Type) {
        let expression = match node.kind() {
            "expression_statement" => self.only_named(node),
            "labeled_statement" => {
                let Some(inner) = children(node).into_iter().next_back() else {
                    return (self.statements(node), Type::void());
                };
                let mut out = Vec::new();
                let mut ty = Type::void();
                let label = field(node, "label").and_then(|l| self.define_label(l));
                let (stmts, found) = self.value_statements(inner);
                ty = if stmts.is_empty() { ty } else { found };
                self.labelled(node, label, stmts, &mut out);
                return (out, ty);
            }
            _ => None,
        };
        match expression {
            Some(expression)
                if expression.kind() != "gnu_asm_expression" && !self.is_mark_call(expression) =>
            {
                let mut out = Vec::new();
                let value = self.watched_value(node, &mut out, |l| l.value(expression));
                out.push(self.new_stmt(Stmt::Expr(value), node));
                (out, self.type_of(value))
            }
            _ => (self.statements(node), Type::void()),
        }
    }

    fn only_named(&self, node: Node<'u>) -> Option<Node<'u>> {
        match children(node)[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    fn is_mark_call(&self, node: Node<'u>) -> bool {
        node.kind() == "call_expression"
            && field(node, "function")
                .is_some_and(|f| matches!(self.text(f), marks::GOTO | marks::STATIC_ASSERT))
    }

    fn expression_statement(&mut self, node: Node<'u>) -> Vec<StmtId> {
        let Some(expression) = self.only_named(node) else {
            return vec![self.new_stmt(Stmt::Empty, node)];
        };
        if expression.kind() == "gnu_asm_expression" {
            return vec![self.asm(expression)];
        }
        if self.is_mark_call(expression) {
            let is_goto = field(expression, "function").is_some_and(|f| self.text(f) == marks::GOTO);
            if !is_goto {
                self.static_assert(expression);
                return Vec::new();
            }
            let target = field(expression, "arguments").and_then(|a| self.only_named(a));
            let Some(target) = target else {
                self.error(node, "this `goto` has no target");
                return Vec::new();
            };
            let value = self.value(target);
            let value = self.convert(value, Type::void().pointer_to());
            return vec![self.new_stmt(Stmt::GotoComputed(value), node)];
        }
        let value = self.discarded(expression);
        vec![self.new_stmt(Stmt::Expr(value), node)]
    }

    /// A condition, with an unsupported statement in `out` if it was not understood.
    fn header(&mut self, node: Node<'u>, name: &str, out: &mut Vec<StmtId>) -> ExprId {
        match field(node, name) {
            Some(condition) => self.watched_value(condition, out, |l| l.condition(condition)),
            None => {
                self.error(node, "a condition is missing");
                out.push(self.unsupported(node, "a condition is missing"));
                let span = self.span(node);
                self.int_expr(0, Type::int(), span)
            }
        }
    }

    /// `break` and `continue`.
    fn leave(&mut self, node: Node<'u>) -> StmtId {
        let (loops, switches) = self.function.as_ref().map_or((0, 0), |f| (f.loops, f.switches.len()));
        let is_break = node.kind() == "break_statement";
        if loops == 0 && (switches == 0 || !is_break) {
            self.error(node, "there is nothing around this statement that it could leave");
            return self.unsupported(node, "a jump out of nothing");
        }
        self.new_stmt(if is_break { Stmt::Break } else { Stmt::Continue }, node)
    }

    fn loop_body(&mut self, node: Node<'u>) -> StmtId {
        if let Some(function) = &mut self.function {
            function.loops += 1;
        }
        let body = self.body_of(node, "body");
        if let Some(function) = &mut self.function {
            function.loops -= 1;
        }
        body
    }

    fn body_of(&mut self, node: Node<'u>, name: &str) -> StmtId {
        match field(node, name) {
            Some(body) => self.governed(body),
            None => {
                self.error(node, "a statement is missing");
                self.unsupported(node, "a statement is missing")
            }
        }
    }

    fn if_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        // A chain of `else if` is read in a loop: generated code has thousands.
        let mut links = Vec::new();
        let mut rest = Some(node);
        let mut otherwise = None;
        while let Some(node) = rest.take() {
            let mut before = Vec::new();
            let condition = self.header(node, "condition", &mut before);
            let then = self.body_of(node, "consequence");
            links.push((node, before, condition, then));
            let Some(clause) = field(node, "alternative") else { break };
            match children(clause).into_iter().next_back() {
                Some(inner) if inner.kind() == "if_statement" => rest = Some(inner),
                Some(inner) => otherwise = Some(self.governed(inner)),
                None => otherwise = Some(self.unsupported(clause, "a statement is missing")),
            }
        }
        while let Some((node, mut before, condition, then)) = links.pop() {
            let stmt = self.new_stmt(Stmt::If { condition, then, otherwise }, node);
            if links.is_empty() {
                out.append(&mut before);
                out.push(stmt);
            } else if before.is_empty() {
                otherwise = Some(stmt);
            } else {
                before.push(stmt);
                otherwise = Some(self.new_stmt(Stmt::Block(before), node));
            }
        }
    }

    fn while_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        let condition = self.header(node, "condition", out);
        let body = self.loop_body(node);
        out.push(self.new_stmt(Stmt::While { condition, body }, node));
    }

    fn do_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        let body = self.loop_body(node);
        let condition = self.header(node, "condition", out);
        out.push(self.new_stmt(Stmt::DoWhile { body, condition }, node));
    }

    fn for_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        self.push_scope();
        let mut before = Vec::new();
        let init = field(node, "initializer").map(|init| match init.kind() {
            "declaration" => self.statements(init),
            _ => {
                let value = self.watched_value(init, &mut before, |l| l.discarded(init));
                vec![self.new_stmt(Stmt::Expr(value), init)]
            }
        });
        let condition =
            field(node, "condition").map(|c| self.watched_value(c, &mut before, |l| l.condition(c)));
        let step = field(node, "update").map(|u| self.watched_value(u, &mut before, |l| l.discarded(u)));
        let body = self.loop_body(node);
        self.pop_scope();
        let mut init = init.unwrap_or_default();
        let single = if init.len() == 1 { init.pop() } else { None };
        let stmt = self.new_stmt(Stmt::For { init: single, condition, step, body }, node);
        if init.is_empty() {
            out.append(&mut before);
            out.push(stmt);
        } else {
            // Several declared names: a block around the loop is their scope.
            before.append(&mut init);
            before.push(stmt);
            out.push(self.new_stmt(Stmt::Block(before), node));
        }
    }

    fn switch_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        let value = match field(node, "condition") {
            Some(condition) => self.watched_value(condition, out, |l| {
                let value = l.value(condition);
                let ty = l.type_of(value);
                if ty.is_integer() {
                    return l.promote(value);
                }
                if !matches!(ty.kind(), TypeKind::Error) {
                    l.error(condition, "`switch` needs an integer");
                }
                let span = l.span(condition);
                l.unmodelled("a switch on what is no integer", vec![value], Type::int(), span)
            }),
            None => self.header(node, "condition", out),
        };
        let ty = self.type_of(value);
        if let Some(function) = &mut self.function {
            function.switches.push(ty);
        }
        let body = self.body_of(node, "body");
        if let Some(function) = &mut self.function {
            function.switches.pop();
        }
        out.push(self.new_stmt(Stmt::Switch { value, body }, node));
    }

    fn return_statement(&mut self, node: Node<'u>) -> Vec<StmtId> {
        let result = self.function.as_ref().map_or(Type::void(), |f| f.result);
        let Some(expression) = self.only_named(node) else {
            return vec![self.new_stmt(Stmt::Return(None), node)];
        };
        if matches!(result.kind(), TypeKind::Void) {
            let value = self.discarded(expression);
            let effect = self.new_stmt(Stmt::Expr(value), node);
            return vec![effect, self.new_stmt(Stmt::Return(None), node)];
        }
        let value = self.value(expression);
        let value = self.convert(value, result);
        vec![self.new_stmt(Stmt::Return(Some(value)), node)]
    }

    fn labeled_statement(&mut self, node: Node<'u>, out: &mut Vec<StmtId>) {
        let label = field(node, "label").and_then(|l| self.define_label(l));
        let inner = children(node).into_iter().rfind(|c| c.kind() != "statement_identifier");
        let stmts = inner.map(|inner| self.statements(inner)).unwrap_or_default();
        self.labelled(node, label, stmts, out);
    }

    /// The first of the statements gets the label, the others follow it.
    fn labelled(
        &mut self,
        node: Node<'u>,
        label: Option<LabelId>,
        mut stmts: Vec<StmtId>,
        out: &mut Vec<StmtId>,
    ) {
        if stmts.is_empty() {
            stmts.push(self.new_stmt(Stmt::Empty, node));
        }
        match label {
            Some(label) => {
                let at = field(node, "label").unwrap_or(node);
                let first = self.new_stmt(Stmt::Label(label, stmts[0]), at);
                out.push(first);
                out.extend_from_slice(&stmts[1..]);
            }
            None => {
                out.push(self.unsupported(node, "a label that is not understood"));
                out.append(&mut stmts);
            }
        }
    }
}
