//! Unsequenced side effects. C lays down no order between the operands of most operators, so that an object which one of them changes and another one
//! uses makes the behaviour undefined (C11 6.5p2): `a[i] = i++`. Lowering takes operands from left to right; the changes for which that is an
//! assumption are found here, once per body. Only objects that are named are looked at (variables and their members), only what happens in each
//! evaluation, and what functions do that are called is another matter: their bodies have an order with everything.

use std::collections::BTreeMap;

use proofline_cfa::Expr;
use proofline_hir::{
    Name,
    body::{Body, ExprId, ExprKind, LocalId},
};

use super::build::Lowering;

/// The check that such a change is an obligation of.
pub const UNSEQUENCED: &str = "unsequenced";

/// So many expressions are looked at for each change. Sums of thousands of changes are not written by people.
const MOST: usize = 2_000;

/// What must hold, behind the name of the variable.
pub const HAS_ORDER: &str = " is changed and used in an order that C lays down";

/// Changes that have no order with another access to their object, by the assignment: the smallest expression with both, and the variable.
pub(crate) type Unsequenced = BTreeMap<ExprId, (ExprId, Name)>;

/// A variable, or a member of one.
#[derive(Clone, PartialEq, Eq)]
struct Object {
    variable: Variable,
    members: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variable {
    Local(LocalId),
    Global(Name),
}

impl Object {
    fn of(body: &Body, place: ExprId) -> Option<Object> {
        match &body.expr(place).kind {
            ExprKind::Local(local) => Some(Object { variable: Variable::Local(*local), members: Vec::new() }),
            ExprKind::Global(name) => Some(Object { variable: Variable::Global(*name), members: Vec::new() }),
            ExprKind::Field { base, field, .. } => {
                let mut object = Object::of(body, *base)?;
                object.members.push(*field);
                Some(object)
            }
            _ => None,
        }
    }

    /// The variable's name.
    fn name(&self, body: &Body) -> Name {
        match self.variable {
            Variable::Local(local) => body.local(local).name,
            Variable::Global(name) => name,
        }
    }

    /// Whether one of them is a part of the other one.
    fn overlaps(&self, other: &Object) -> bool {
        let both = self.members.len().min(other.members.len());
        self.variable == other.variable && self.members[..both] == other.members[..both]
    }
}

/// Finds them.
pub(crate) fn unsequenced(body: &Body) -> Unsequenced {
    let mut changes = Vec::new();
    for (at, expr) in body.exprs.iter().enumerate() {
        if let ExprKind::Assign(target, _)
        | ExprKind::CompoundAssign { target, .. }
        | ExprKind::IncDec { target, .. } = expr.kind
            && let Some(object) = Object::of(body, target)
        {
            changes.push((ExprId(at as u32), object));
        }
    }
    if changes.is_empty() {
        return Unsequenced::new();
    }
    let mut parents: Vec<Option<ExprId>> = vec![None; body.exprs.len()];
    for (at, expr) in body.exprs.iter().enumerate() {
        for operand in expr.kind.operands() {
            parents[operand.index()] = Some(ExprId(at as u32));
        }
    }
    let find = |(id, object): (ExprId, Object)| {
        let name = object.name(body);
        let mut change = Change { body, id, object, is_conditional: false, left: MOST };
        Some((id, (change.conflict(&parents)?, name)))
    };
    changes.into_iter().filter_map(find).collect()
}

/// A change of an object, and the way from it to the expression around.
struct Change<'b> {
    body: &'b Body,
    id: ExprId,
    object: Object,
    /// It happens in some evaluations only of what was looked at so far.
    is_conditional: bool,
    left: usize,
}

impl Change<'_> {
    /// The smallest expression with an access to the object that has no order with the change.
    fn conflict(&mut self, parents: &[Option<ExprId>]) -> Option<ExprId> {
        let mut at = self.id;
        // Whether the change may still be to come where the value of the expression is known.
        let mut is_pending = true;
        while let Some(parent) = parents[at.index()] {
            let kind = &self.body.expr(parent).kind;
            match kind {
                ExprKind::Binary(..)
                | ExprKind::Compare(..)
                | ExprKind::PointerAdd { .. }
                | ExprKind::PointerDifference(..)
                | ExprKind::Index { .. } => {
                    if self.is_beside(at, kind) {
                        return Some(parent);
                    }
                }
                // The arguments are complete where the function begins.
                ExprKind::Call { .. } => {
                    if self.is_beside(at, kind) {
                        return Some(parent);
                    }
                    is_pending = false;
                }
                ExprKind::Assign(target, _) => {
                    if self.is_beside(at, kind) || is_pending && self.is_object(*target) {
                        return Some(parent);
                    }
                }
                // It reads its target, too.
                ExprKind::CompoundAssign { target, .. } => {
                    if self.is_beside(at, kind) || self.is_object(*target) {
                        return Some(parent);
                    }
                }
                ExprKind::And(first, _)
                | ExprKind::Or(first, _)
                | ExprKind::Conditional { condition: first, .. } => {
                    if at == *first {
                        is_pending = false;
                    } else {
                        self.is_conditional = true;
                    }
                }
                ExprKind::Comma(first, _) => is_pending &= at != *first,
                // In one order or the other.
                ExprKind::CompoundLiteral(..) | ExprKind::Unmodelled(..) => is_pending = false,
                ExprKind::Int(_)
                | ExprKind::Float(..)
                | ExprKind::StringLiteral(_)
                | ExprKind::Local(_)
                | ExprKind::Global(_)
                | ExprKind::Function(_)
                | ExprKind::AddressOfLabel(_)
                | ExprKind::StatementExpression(_)
                | ExprKind::Deref(_)
                | ExprKind::Field { .. }
                | ExprKind::AddressOf(_)
                | ExprKind::Load(_)
                | ExprKind::Decay(_)
                | ExprKind::Unary(..)
                | ExprKind::IncDec { .. }
                | ExprKind::Cast(_)
                | ExprKind::VaArg(_)
                | ExprKind::SizeOfVariable(_) => {}
            }
            at = parent;
        }
        None
    }

    fn is_object(&self, place: ExprId) -> bool {
        Object::of(self.body, place).is_some_and(|object| object.overlaps(&self.object))
    }

    /// Whether another operand than this one uses or changes the object.
    fn is_beside(&mut self, own: ExprId, kind: &ExprKind) -> bool {
        kind.operands().into_iter().any(|operand| operand != own && self.is_accessed(operand))
    }

    /// Whether each evaluation of the expression uses or changes the object. Of two changes the later one is enough.
    fn is_accessed(&mut self, id: ExprId) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let is_reported = !self.is_conditional && id > self.id;
        let kind = &self.body.expr(id).kind;
        match kind {
            ExprKind::Load(place) if self.is_object(*place) => true,
            ExprKind::Assign(target, _)
            | ExprKind::CompoundAssign { target, .. }
            | ExprKind::IncDec { target, .. }
                if self.is_object(*target) && !is_reported =>
            {
                true
            }
            ExprKind::And(first, _)
            | ExprKind::Or(first, _)
            | ExprKind::Conditional { condition: first, .. } => self.is_accessed(*first),
            _ => kind.operands().into_iter().any(|operand| self.is_accessed(operand)),
        }
    }
}

impl Lowering<'_> {
    /// Goes on only where the change that comes now has an order with other accesses.
    pub(crate) fn demand_order(&mut self, change: ExprId) {
        let Some((around, name)) = self.unsequenced.get(&change).copied() else { return };
        let site = self.site(around);
        self.demand(UNSEQUENCED, Expr::int(0), &format!("{name}{HAS_ORDER}"), site);
    }
}
