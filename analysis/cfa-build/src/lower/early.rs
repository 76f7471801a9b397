//! Objects that begin with their block, not where they are declared: where a jump comes back to a label before the declaration, or a loop
//! evaluates a compound literal of its condition again, the object is still the same one (C11 6.2.4, 6.5.2.5). Looks at the text alone.

use std::collections::BTreeSet;

use proofline_hir::{
    TypeKind,
    body::{Body, ExprId, ExprKind, Initializer, LocalId, Stmt, StmtId},
};

use proofline_cfa::types::is_variable;

/// Whether a function may have any: most have neither labels nor compound literals.
pub(super) fn may_exist(body: &Body) -> bool {
    !body.labels.is_empty()
        || body.exprs.iter().any(|expr| matches!(expr.kind, ExprKind::CompoundLiteral(..)))
}

/// Whether it is no compound literal of the text, but a record that a function returns and that has become an object (`f().a`): it ends with its
/// expression (C11 6.2.4p8).
pub(super) fn is_returned(body: &Body, object: LocalId, init: &Initializer) -> bool {
    let is_record = matches!(body.local(object).ty.kind(), TypeKind::Record(_));
    is_record && matches!(&init.entries[..], [whole] if whole.path.is_empty())
}

/// Of the statements of a block, in their order.
pub(super) fn of_block(body: &Body, stmts: &[StmtId]) -> Vec<LocalId> {
    let mut walk = Walk { body, is_labelled: false, addressed: None, found: Vec::new() };
    stmts.iter().for_each(|stmt| walk.statement(*stmt, true));
    walk.found
}

/// Of what a loop evaluates in each round.
pub(super) fn of_loop(body: &Body, exprs: impl Iterator<Item = ExprId>) -> Vec<LocalId> {
    let mut walk = Walk { body, is_labelled: true, addressed: None, found: Vec::new() };
    exprs.for_each(|expr| walk.literals(expr));
    walk.found
}

struct Walk<'b> {
    body: &'b Body,
    /// A label has been passed: what comes now may come again.
    is_labelled: bool,
    /// Locals whose addresses are taken, once they are asked for.
    addressed: Option<BTreeSet<LocalId>>,
    found: Vec<LocalId>,
}

impl Walk<'_> {
    /// `is_own`: its objects belong to the block that is asked about.
    fn statement(&mut self, id: StmtId, is_own: bool) {
        match self.body.stmt(id) {
            Stmt::Empty | Stmt::Break | Stmt::Continue | Stmt::Goto(_) | Stmt::Unsupported(_) => {}
            Stmt::Expr(expr) | Stmt::GotoComputed(expr) | Stmt::Return(Some(expr)) => {
                self.once(*expr, is_own)
            }
            Stmt::Return(None) => {}
            Stmt::Declare(local, init) => {
                if is_own && self.is_labelled && self.is_one_object(*local) {
                    self.found.push(*local);
                }
                let values = init.iter().flat_map(|init| &init.entries).map(|entry| entry.value);
                values.for_each(|value| self.once(value, is_own));
            }
            Stmt::Block(stmts) => stmts.iter().for_each(|stmt| self.statement(*stmt, false)),
            // Each is a block of its own, and so are its parts.
            Stmt::If { then, otherwise, .. } => {
                self.statement(*then, false);
                otherwise.iter().for_each(|stmt| self.statement(*stmt, false));
            }
            Stmt::While { body, .. }
            | Stmt::DoWhile { body, .. }
            | Stmt::For { body, .. }
            | Stmt::Switch { body, .. } => self.statement(*body, false),
            Stmt::Case { body, .. } | Stmt::Default(body) => self.statement(*body, is_own),
            Stmt::Label(_, body) => {
                self.is_labelled = true;
                self.statement(*body, is_own);
            }
            Stmt::Asm { outputs, inputs, .. } => {
                outputs.iter().chain(inputs).for_each(|expr| self.once(*expr, is_own));
            }
        }
    }

    fn once(&mut self, expr: ExprId, is_own: bool) {
        if is_own && self.is_labelled {
            self.literals(expr);
        }
    }

    fn literals(&mut self, expr: ExprId) {
        let kind = &self.body.expr(expr).kind;
        if let ExprKind::CompoundLiteral(local, init) = kind
            && !is_returned(self.body, *local, init)
        {
            self.found.push(*local);
        }
        kind.operands().into_iter().for_each(|operand| self.literals(operand));
    }

    /// Whether somebody can tell that it is the same one: its address is taken. Arrays of variable length end where control jumps back over
    /// them, and what is to be done at an object's end is to be done only where its declaration was reached.
    fn is_one_object(&mut self, local: LocalId) -> bool {
        let declared = self.body.local(local);
        if is_variable(declared.ty) || declared.cleanup.is_some() {
            return false;
        }
        let body = self.body;
        self.addressed.get_or_insert_with(|| addressed(body)).contains(&local)
    }
}

fn addressed(body: &Body) -> BTreeSet<LocalId> {
    let of = |expr: &proofline_hir::body::Expr| {
        let (ExprKind::AddressOf(mut at) | ExprKind::Decay(mut at)) = expr.kind else { return None };
        loop {
            at = match body.expr(at).kind {
                ExprKind::Local(local) => return Some(local),
                ExprKind::Field { base, .. } | ExprKind::Index { base, .. } => base,
                _ => return None,
            };
        }
    };
    body.exprs.iter().filter_map(of).collect()
}
