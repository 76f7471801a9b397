//! What evaluating an expression does beyond giving a value, computed once per body before lowering: it decides which earlier operand
//! has to be evaluated into a temporary before a later one is. Over-approximates.

use std::{collections::BTreeSet, sync::Arc};

use proofline_hir::body::{Body, ExprId, ExprKind, Initializer, LocalId, Stmt, StmtId};

use crate::lower::fold::is_partial;
use proofline_cfa::{Base, Expr, Lvalue, Step, types::is_variable};

/// What may happen.
#[derive(Clone, Default, Debug)]
pub(crate) struct Effect {
    /// Globals, the heap, locals whose address is taken may change.
    pub(crate) memory: bool,
    /// These locals may change.
    pub(crate) locals: BTreeSet<LocalId>,
    /// It takes edges of its own: a check on them may fail, or they do not come back. What stands to its left is checked before.
    pub(crate) edges: bool,
}

impl Effect {
    fn is_none(&self) -> bool {
        !self.memory && !self.edges && self.locals.is_empty()
    }

    fn add(&mut self, other: &Effect) {
        self.memory |= other.memory;
        self.edges |= other.edges;
        self.locals.extend(&other.locals);
    }

    /// A write to this object and nothing else.
    pub(crate) fn write(local: Option<LocalId>) -> Effect {
        match local {
            Some(local) => Effect { locals: BTreeSet::from([local]), ..Effect::default() },
            None => Effect { memory: true, ..Effect::default() },
        }
    }
}

/// Effects of a body's expressions.
pub(crate) struct Effects {
    exprs: Vec<Option<Arc<Effect>>>,
    /// Whether a value may be read that an effect on memory may change.
    reads: Vec<bool>,
    /// Per local: whether its address may be taken.
    pub(crate) taken: Vec<bool>,
}

impl Effects {
    pub(crate) fn new(body: &Body) -> Effects {
        let mut taken: Vec<bool> = body.locals.iter().map(|local| local.cleanup.is_some()).collect();
        for expr in &body.exprs {
            if let ExprKind::AddressOf(place) | ExprKind::Decay(place) = expr.kind
                && let Some(local) = root(body, place)
            {
                taken[local.index()] = true;
            }
        }
        let mut effects = Effects {
            exprs: Vec::with_capacity(body.exprs.len()),
            reads: Vec::with_capacity(body.exprs.len()),
            taken,
        };
        for id in 0..body.exprs.len() {
            let effect = effects.compute(body, ExprId(id as u32));
            effects.exprs.push((!effect.is_none()).then(|| Arc::new(effect)));
            let reads = effects.reads_memory(body, ExprId(id as u32));
            effects.reads.push(reads);
        }
        effects
    }

    /// Of one expression; `None`: it changes nothing.
    pub(crate) fn of(&self, id: ExprId) -> Option<&Arc<Effect>> {
        self.exprs.get(id.index()).and_then(Option::as_ref)
    }

    /// Of several.
    pub(crate) fn of_all(&self, ids: &[ExprId]) -> Option<Effect> {
        let mut all = Effect::default();
        for id in ids {
            if let Some(effect) = self.of(*id) {
                all.add(effect);
            }
        }
        (!all.is_none()).then_some(all)
    }

    /// Whether the order of the operands, which C leaves open, may matter.
    pub(crate) fn is_order_open(&self, operands: &[ExprId]) -> bool {
        let changes = |id: &ExprId| self.of(*id).is_some_and(|effect| effect.memory);
        let changing = operands.iter().filter(|id| changes(id)).count();
        let reads = |id: &ExprId| self.reads.get(id.index()).is_none_or(|reads| *reads);
        changing > 1 || changing == 1 && operands.iter().any(|id| !changes(id) && reads(id))
    }

    /// Whether an effect on memory may change what is there.
    pub(crate) fn is_in_memory(&self, body: &Body, place: ExprId) -> bool {
        root(body, place).is_none_or(|local| self.taken[local.index()])
    }

    fn reads_memory(&self, body: &Body, id: ExprId) -> bool {
        let is_read = match body.expr(id).kind {
            ExprKind::Load(place) => self.is_in_memory(body, place),
            ExprKind::VaArg(_) => true,
            _ => false,
        };
        is_read
            || operands_of(body, id).iter().any(|id| self.reads.get(id.index()).is_none_or(|reads| *reads))
    }

    fn compute(&self, body: &Body, id: ExprId) -> Effect {
        let mut effect = Effect { edges: takes_edges(body, id), ..Effect::default() };
        match &body.expr(id).kind {
            ExprKind::Assign(target, _)
            | ExprKind::CompoundAssign { target, .. }
            | ExprKind::IncDec { target, .. } => effect.add(&self.write(body, *target)),
            ExprKind::Call { callee, .. } if !is_pure_builtin(body, *callee) => {
                effect.memory = true;
            }
            ExprKind::CompoundLiteral(local, _) => {
                effect.locals.insert(*local);
                effect.memory = true;
            }
            _ => {}
        }
        for operand in operands_of(body, id) {
            if operand.index() >= self.exprs.len() {
                // Not in the promised order: assume everything.
                return everything(body);
            }
            if let Some(below) = self.of(operand) {
                effect.add(below);
            }
        }
        if let ExprKind::StatementExpression(stmt) = body.expr(id).kind {
            self.statement(body, stmt, &mut effect);
        }
        effect
    }

    fn write(&self, body: &Body, target: ExprId) -> Effect {
        match root(body, target) {
            Some(local) => Effect {
                memory: self.taken[local.index()] || body.local(local).length.is_some(),
                ..Effect::write(Some(local))
            },
            None => Effect::write(None),
        }
    }

    /// Effects of statements beyond those of their expressions, which are operands.
    fn statement(&self, body: &Body, id: StmtId, effect: &mut Effect) {
        match body.stmt(id) {
            Stmt::Declare(local, _) => {
                effect.locals.insert(*local);
                effect.memory = true;
            }
            Stmt::Asm { .. } | Stmt::Unsupported(_) | Stmt::GotoComputed(_) => effect.memory = true,
            Stmt::Goto(_)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(_)
            | Stmt::While { .. }
            | Stmt::DoWhile { .. }
            | Stmt::For { .. }
            | Stmt::Empty
            | Stmt::Expr(_)
            | Stmt::Block(_)
            | Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::Case { .. }
            | Stmt::Default(_)
            | Stmt::Label(..) => {}
        }
        for child in statements_of(body.stmt(id)) {
            self.statement(body, child, effect);
        }
    }
}

fn everything(body: &Body) -> Effect {
    Effect { memory: true, edges: true, locals: (0..body.locals.len() as u32).map(LocalId).collect() }
}

/// Whether lowering the expression itself, without its operands, makes edges.
fn takes_edges(body: &Body, id: ExprId) -> bool {
    let expr = body.expr(id);
    match &expr.kind {
        ExprKind::Int(_)
        | ExprKind::Float(..)
        | ExprKind::StringLiteral(_)
        | ExprKind::Local(_)
        | ExprKind::Global(_)
        | ExprKind::Function(_)
        | ExprKind::AddressOfLabel(_)
        | ExprKind::Deref(_)
        | ExprKind::Field { .. }
        | ExprKind::AddressOf(_)
        | ExprKind::Decay(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Compare(..)
        | ExprKind::Cast(_)
        | ExprKind::SizeOfVariable(_) => false,
        // Each read of what may change by itself is one.
        ExprKind::Load(place) => body.expr(*place).ty.qualifiers().is_volatile,
        // Rows of variable length are not modelled; what they are indexed with is evaluated by itself.
        ExprKind::Index { .. } => is_variable(expr.ty),
        ExprKind::PointerAdd { .. } => expr.ty.pointee().is_some_and(is_variable),
        ExprKind::PointerDifference(pointer, _) => body.expr(*pointer).ty.pointee().is_some_and(is_variable),
        ExprKind::And(..)
        | ExprKind::Or(..)
        | ExprKind::Conditional { .. }
        | ExprKind::Comma(..)
        | ExprKind::Assign(..)
        | ExprKind::CompoundAssign { .. }
        | ExprKind::IncDec { .. }
        | ExprKind::Call { .. }
        | ExprKind::CompoundLiteral(..)
        | ExprKind::StatementExpression(_)
        | ExprKind::VaArg(_)
        | ExprKind::Unmodelled(..) => true,
    }
}

/// The local whose bytes an lvalue designates, when that is plain.
pub(crate) fn root(body: &Body, place: ExprId) -> Option<LocalId> {
    match &body.expr(place).kind {
        ExprKind::Local(local) | ExprKind::CompoundLiteral(local, _) => Some(*local),
        ExprKind::Field { base, .. } => root(body, *base),
        ExprKind::Index { base, .. } => {
            proofline_cfa::types::array(body.expr(*base).ty).and_then(|_| root(body, *base))
        }
        _ => None,
    }
}

fn is_pure_builtin(body: &Body, callee: ExprId) -> bool {
    super::call::direct_name(body, callee).is_some_and(|name| super::builtin::is_pure(name.as_str()))
}

/// Direct operands; of a statement expression all expressions inside.
fn operands_of(body: &Body, id: ExprId) -> Vec<ExprId> {
    let kind = &body.expr(id).kind;
    let mut out = kind.operands();
    if let ExprKind::StatementExpression(stmt) = kind {
        statement_operands(body, *stmt, &mut out);
    }
    out
}

fn initializer(init: &Initializer, out: &mut Vec<ExprId>) {
    out.extend(init.entries.iter().map(|entry| entry.value));
}

fn statement_operands(body: &Body, id: StmtId, out: &mut Vec<ExprId>) {
    match body.stmt(id) {
        Stmt::Empty
        | Stmt::Block(_)
        | Stmt::Case { .. }
        | Stmt::Default(_)
        | Stmt::Label(..)
        | Stmt::Goto(_)
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Unsupported(_) => {}
        Stmt::Expr(e) | Stmt::GotoComputed(e) => out.push(*e),
        Stmt::Declare(local, init) => {
            out.extend(body.local(*local).length);
            if let Some(init) = init {
                initializer(init, out);
            }
        }
        Stmt::If { condition, .. } | Stmt::While { condition, .. } | Stmt::DoWhile { condition, .. } => {
            out.push(*condition);
        }
        Stmt::For { condition, step, .. } => {
            out.extend(condition);
            out.extend(step);
        }
        Stmt::Switch { value, .. } => out.push(*value),
        Stmt::Return(value) => out.extend(value),
        Stmt::Asm { outputs, inputs, .. } => {
            out.extend(outputs);
            out.extend(inputs);
        }
    }
    for child in statements_of(body.stmt(id)) {
        statement_operands(body, child, out);
    }
}

/// Statements directly inside a statement.
pub(crate) fn statements_of(stmt: &Stmt) -> Vec<StmtId> {
    match stmt {
        Stmt::Empty
        | Stmt::Expr(_)
        | Stmt::Declare(..)
        | Stmt::Goto(_)
        | Stmt::GotoComputed(_)
        | Stmt::Break
        | Stmt::Continue
        | Stmt::Return(_)
        | Stmt::Asm { .. }
        | Stmt::Unsupported(_) => Vec::new(),
        Stmt::Block(stmts) => stmts.clone(),
        Stmt::If { then, otherwise, .. } => [Some(*then), *otherwise].into_iter().flatten().collect(),
        Stmt::While { body, .. }
        | Stmt::DoWhile { body, .. }
        | Stmt::Switch { body, .. }
        | Stmt::Case { body, .. }
        | Stmt::Default(body)
        | Stmt::Label(_, body) => vec![*body],
        Stmt::For { init, body, .. } => [*init, Some(*body)].into_iter().flatten().collect(),
    }
}

/// How a lowered expression relates to the body's locals.
pub(crate) trait Origin {
    /// The body's local; `None` for a temporary.
    fn origin(&self, local: proofline_cfa::LocalId) -> Option<LocalId>;
    /// Whether its address may be taken.
    fn is_taken(&self, local: LocalId) -> bool;
}

/// Whether the expression may have another value, or another fate, after the effect.
pub(crate) fn disturbs(effect: &Effect, expr: &Expr, origin: &dyn Origin) -> bool {
    (effect.edges && is_partial(expr)) || reads_changed(effect, expr, origin)
}

fn reads_changed(effect: &Effect, expr: &Expr, origin: &dyn Origin) -> bool {
    match expr {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => false,
        Expr::Load(lvalue) => object_changed(effect, lvalue, origin) || place_changed(effect, lvalue, origin),
        Expr::Address(lvalue) => place_changed(effect, lvalue, origin),
        Expr::Unary(_, arg, _) | Expr::Cast(_, arg, _) => reads_changed(effect, arg, origin),
        Expr::Binary(_, lhs, rhs, _)
        | Expr::Compare(_, lhs, rhs)
        | Expr::Overflows(_, lhs, rhs)
        | Expr::Memory(_, lhs, rhs)
        | Expr::PointerDifference(lhs, rhs, _, _) => {
            reads_changed(effect, lhs, origin) || reads_changed(effect, rhs, origin)
        }
    }
}

/// Whether what the lvalue designates may have other content.
pub(crate) fn object_changed(effect: &Effect, lvalue: &Lvalue, origin: &dyn Origin) -> bool {
    match &lvalue.base {
        Base::Local(id) => origin
            .origin(*id)
            .is_some_and(|local| effect.locals.contains(&local) || (effect.memory && origin.is_taken(local))),
        Base::Global(_) | Base::Deref(..) => {
            effect.memory || effect.locals.iter().any(|local| origin.is_taken(*local))
        }
    }
}

/// Whether the lvalue may designate another place.
pub(crate) fn place_changed(effect: &Effect, lvalue: &Lvalue, origin: &dyn Origin) -> bool {
    let base = match &lvalue.base {
        Base::Local(_) | Base::Global(_) => false,
        Base::Deref(pointer, _) => disturbs(effect, pointer, origin),
    };
    base || lvalue.path.iter().any(|step| match step {
        Step::Field { .. } => false,
        Step::Index { index, .. } => disturbs(effect, index, origin),
    })
}
