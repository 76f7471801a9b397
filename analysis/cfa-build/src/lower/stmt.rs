//! Statements become locations and edges.

use proofline_hir::{
    Name, TypeKind,
    body::{ExprId, Initializer, LocalId as BodyLocal, Stmt, StmtId},
};

use super::{build::Lowering, early, expr::unmodelled, fold};
use proofline_cfa::{
    Allocation, BinaryOp, Cause, CompareOp, Expr, Loc, Lvalue, Op, Scalar, Site,
    types::{innermost, is_variable},
};

/// The check that an array of variable length has elements.
pub const INVALID_LENGTH: &str = "invalid-length";

/// What must hold of it, behind the array's name.
pub const HAS_ELEMENTS: &str = " has at least one element";

impl Lowering<'_> {
    pub(crate) fn statement(&mut self, id: StmtId) {
        let body = self.body;
        match body.stmt(id) {
            Stmt::Empty => {}
            Stmt::Expr(expr) => {
                self.full_expression(|lowering| lowering.effect(*expr), |lowering| lowering.site(*expr));
            }
            Stmt::Declare(local, init) => {
                let declare = |lowering: &mut Self| lowering.declare(*local, init.as_ref());
                self.full_expression(declare, |lowering| lowering.local_site(*local));
            }
            Stmt::Block(stmts) => {
                self.open_scope();
                self.begin_early(|body| early::of_block(body, stmts));
                for stmt in stmts {
                    self.statement(*stmt);
                }
                self.close_block(id);
            }
            Stmt::If { condition, then, otherwise } => {
                self.open_scope();
                let (yes, no, join) = (self.location(), self.location(), self.location());
                let site = self.site(*condition);
                self.condition(*condition, yes, no);
                self.at = yes;
                self.substatement(*then);
                self.connect(Op::Skip, join, site);
                self.at = no;
                if let Some(otherwise) = otherwise {
                    self.substatement(*otherwise);
                }
                self.enter(join, site);
                self.close_scope(site);
            }
            Stmt::While { condition, body } => {
                let site = self.site(*condition);
                self.open_scope();
                self.begin_early(|body| early::of_loop(body, [*condition].into_iter()));
                let (head, end, inside) = (self.target(), self.target(), self.location());
                self.enter(head.loc, site);
                self.condition(*condition, inside, end.loc);
                self.at = inside;
                self.looped(*body, end, head);
                self.connect(Op::Skip, head.loc, site);
                self.at = end.loc;
                self.close_scope(site);
            }
            Stmt::DoWhile { body, condition } => {
                let site = self.site(*condition);
                self.open_scope();
                self.begin_early(|body| early::of_loop(body, [*condition].into_iter()));
                let (head, test, end) = (self.location(), self.target(), self.target());
                self.enter(head, site);
                self.looped(*body, end, test);
                self.enter(test.loc, site);
                self.condition(*condition, head, end.loc);
                self.at = end.loc;
                self.close_scope(site);
            }
            Stmt::For { init, condition, step, body } => self.for_loop(id, *init, *condition, *step, *body),
            Stmt::Switch { value, body } => self.switch(id, *value, *body),
            Stmt::Case { first, last, body } => {
                self.case(id, *first, *last);
                self.statement(*body);
            }
            Stmt::Default(body) => {
                self.default_case(id);
                self.statement(*body);
            }
            Stmt::Label(label, body) => {
                self.label(*label, id);
                self.statement(*body);
            }
            Stmt::Goto(label) => {
                let site = self.stmt_site(id);
                self.goto(*label, site);
            }
            Stmt::GotoComputed(target) => {
                let site = self.stmt_site(id);
                self.goto_computed(*target, site);
            }
            Stmt::Break => {
                let site = self.stmt_site(id);
                match self.jumps.breaks.last().copied() {
                    Some(target) => self.leave_to(target, site),
                    None => self.unsupported("break outside a loop or switch", site),
                }
            }
            Stmt::Continue => {
                let site = self.stmt_site(id);
                match self.jumps.continues.last().copied() {
                    Some(target) => self.leave_to(target, site),
                    None => self.unsupported("continue outside a loop", site),
                }
            }
            Stmt::Return(value) => self.return_statement(id, *value),
            Stmt::Asm { outputs, inputs, clobbers_memory, labels } => {
                let site = self.stmt_site(id);
                self.inline_assembly(outputs, inputs, *clobbers_memory, site);
                for label in labels {
                    self.perhaps_goto(*label, site);
                }
            }
            Stmt::Unsupported(what) => {
                let site = self.stmt_site(id);
                self.unsupported(what, site);
            }
        }
    }

    /// What functions have returned inside of it ends with it (C11 6.2.4p8), where a pointer leads there.
    pub(crate) fn full_expression<T>(
        &mut self,
        lower: impl FnOnce(&mut Self) -> T,
        site: impl Fn(&mut Self) -> Site,
    ) -> T {
        let outside = std::mem::take(&mut self.returned);
        let result = lower(self);
        for value in std::mem::replace(&mut self.returned, outside) {
            let site = site(self);
            self.end_early(value, site);
        }
        result
    }

    /// The condition of a statement: a full expression that leads to one of two locations.
    fn condition(&mut self, id: ExprId, on_true: Loc, on_false: Loc) {
        let outside = std::mem::take(&mut self.returned);
        let first = self.function.edges.len();
        self.branch(id, on_true, on_false);
        let values = std::mem::replace(&mut self.returned, outside);
        if values.is_empty() {
            return;
        }
        let site = self.site(id);
        let ways = [on_true, on_false].map(|to| (self.location(), to));
        for edge in &mut self.function.edges[first..] {
            if let Some((before, _)) = ways.iter().find(|(_, to)| *to == edge.to) {
                edge.to = *before;
            }
        }
        for (before, to) in ways {
            self.at = before;
            for value in &values {
                self.end_early(*value, site);
            }
            self.connect(Op::Skip, to, site);
        }
    }

    /// The function's outermost block, and what happens at its end.
    pub(crate) fn root(&mut self, root: StmtId) {
        self.statement(root);
        let site = self.end_site();
        if let Some(result) = self.function.result {
            let result = self.whole(result);
            // C11 5.1.2.2.3: reaching the end of main returns 0.
            let op = match result.scalar {
                Some(Scalar::Int(ty)) if self.function.name.as_str() == "main" => {
                    Op::Assign(result, Expr::Int(0, ty))
                }
                _ => Op::Havoc(result, Cause::Indeterminate),
            };
            self.emit(op, site);
        }
        self.connect(Op::Skip, self.function.exit, site);
        self.connect_gotos();
    }

    fn close_block(&mut self, id: StmtId) {
        let site = self.stmt_site(id);
        self.close_scope(site);
    }

    /// A statement that is a part of another one is a block (C11 6.8.4p3, 6.8.5p5), also without braces.
    pub(crate) fn substatement(&mut self, id: StmtId) {
        if matches!(self.body.stmt(id), Stmt::Block(_)) {
            return self.statement(id);
        }
        self.open_scope();
        self.begin_early(|body| early::of_block(body, &[id]));
        self.statement(id);
        self.close_block(id);
    }

    fn looped(&mut self, body: StmtId, on_break: super::jump::Target, on_continue: super::jump::Target) {
        self.jumps.breaks.push(on_break);
        self.jumps.continues.push(on_continue);
        self.substatement(body);
        self.jumps.breaks.pop();
        self.jumps.continues.pop();
    }

    fn for_loop(
        &mut self,
        id: StmtId,
        init: Option<StmtId>,
        condition: Option<ExprId>,
        step: Option<ExprId>,
        body: StmtId,
    ) {
        let site = self.stmt_site(id);
        self.open_scope();
        self.begin_early(|body| early::of_loop(body, condition.into_iter().chain(step)));
        if let Some(init) = init {
            self.statement(init);
        }
        let (head, next, end) = (self.location(), self.target(), self.target());
        self.enter(head, site);
        let inside = self.location();
        match condition {
            Some(condition) => self.condition(condition, inside, end.loc),
            None => self.connect(Op::Skip, inside, site),
        }
        self.at = inside;
        self.looped(body, end, next);
        self.enter(next.loc, site);
        if let Some(step) = step {
            self.full_expression(|lowering| lowering.effect(step), |lowering| lowering.site(step));
        }
        self.connect(Op::Skip, head, site);
        self.at = end.loc;
        self.close_scope(site);
    }

    fn return_statement(&mut self, id: StmtId, value: Option<ExprId>) {
        let site = self.stmt_site(id);
        match (self.function.result, value) {
            (Some(result), Some(value)) => {
                let result = self.whole(result);
                self.put(value, Some(&result));
            }
            (Some(result), None) => {
                let result = self.whole(result);
                self.emit(Op::Havoc(result, Cause::Indeterminate), site);
            }
            (None, Some(value)) => self.effect(value),
            (None, None) => {}
        }
        self.end_all(site);
        self.jump(self.function.exit, site);
    }

    fn declare(&mut self, local: BodyLocal, init: Option<&Initializer>) {
        let site = self.local_site(local);
        let declared = self.body.local(local);
        if is_variable(declared.ty) {
            let length = declared.length.map(|length| self.value(length));
            if let Some(length) = &length {
                self.demand_length(declared.name, length, site);
            }
            self.begin(local, site);
            self.allocate_variable(local, length, site);
        } else {
            self.begin(local, site);
            if self.is_early(local) && init.is_none() {
                self.emit(Op::Havoc(self.whole(self.locals[local.index()]), Cause::Indeterminate), site);
            }
        }
        if let Some(init) = init {
            let object = self.local(local, site);
            self.initialise(object, init, site);
        }
    }

    /// Goes on only where an array of variable length has elements (C11 6.7.6.2p5).
    fn demand_length(&mut self, array: Name, length: &Expr, site: Site) {
        if length.int_type().is_none() {
            return;
        }
        // A negative number has become a huge one of `size_t`.
        let signed = self.types.ptrdiff_t();
        let length = fold::cast(Scalar::Int(signed), length.clone(), site);
        let has_elements = fold::compare(CompareOp::Gt, length, Expr::Int(0, signed));
        if !matches!(has_elements, Expr::Int(1, _)) {
            let text = format!("{array}{HAS_ELEMENTS}");
            self.demand(INVALID_LENGTH, has_elements, &text, site);
        }
    }

    /// Memory for an array of variable length, in the frame.
    fn allocate_variable(&mut self, local: BodyLocal, length: Option<Expr>, site: Site) {
        let size_t = self.types.size_t();
        let element = innermost(self.body.local(local).ty);
        let size = match (length, self.types.size(element)) {
            (Some(length), Some(bytes)) => {
                let length = fold::cast(Scalar::Int(size_t), length, site);
                fold::binary(BinaryOp::Mul, length, Expr::Int(i128::from(bytes), size_t), site)
            }
            _ => {
                let ty = self.types.of_scalar(Scalar::Int(size_t));
                self.any_value(ty, unmodelled("size of an array of variable length"), site)
            }
        };
        let dst = self.whole(self.locals[local.index()]);
        let allocation = Allocation { dst, size, site, on_heap: false, zeroed: false, may_fail: false };
        self.emit(Op::Allocate(allocation), site);
    }

    /// `({ … })`: the last statement, if it is an expression, gives the value.
    pub(crate) fn statement_expression(&mut self, id: StmtId, result: Option<&Lvalue>) {
        let body = self.body;
        match body.stmt(id) {
            Stmt::Block(stmts) => {
                self.open_scope();
                self.begin_early(|body| early::of_block(body, stmts));
                if let Some((last, before)) = stmts.split_last() {
                    for stmt in before {
                        self.statement(*stmt);
                    }
                    self.last_of_expression(*last, result);
                }
                self.close_block(id);
            }
            _ => self.last_of_expression(id, result),
        }
    }

    fn last_of_expression(&mut self, id: StmtId, result: Option<&Lvalue>) {
        match self.body.stmt(id) {
            Stmt::Expr(expr) => self.put(*expr, result),
            Stmt::Label(label, inner) => {
                self.label(*label, id);
                self.last_of_expression(*inner, result);
            }
            _ => self.statement(id),
        }
    }

    fn inline_assembly(&mut self, outputs: &[ExprId], inputs: &[ExprId], clobbers: bool, site: Site) {
        let mut pointers = Vec::new();
        for input in inputs {
            let ty = self.body.expr(*input).ty;
            if self.types.scalar(ty).is_some() {
                let value = self.value(*input);
                let value = if fold::is_partial(&value) { self.save(value, site) } else { value };
                if matches!(value.scalar(), Scalar::Pointer) {
                    pointers.push(value);
                }
            } else if !matches!(ty.kind(), TypeKind::Void | TypeKind::Error) {
                // A memory operand.
                let lvalue = self.aggregate(*input);
                pointers.push(fold::address(lvalue));
            } else {
                self.effect(*input);
            }
        }
        let places: Vec<Lvalue> = outputs
            .iter()
            .map(|output| {
                let lvalue = self.lvalue(*output);
                self.settle_place(lvalue, Some(&super::effects::Effect::write(None)), site)
            })
            .collect();
        self.approximate("inline assembly", site);
        if clobbers || !pointers.is_empty() {
            self.emit(Op::Clobber(pointers, unmodelled("inline assembly")), site);
        }
        for place in places {
            self.emit(Op::Havoc(place, unmodelled("inline assembly")), site);
        }
    }
}
