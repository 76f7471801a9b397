//! Checks the promises of [`crate::body`] on a module: run after lowering in tests and debug builds. Must not know
//! trees; says what is wrong, repairs nothing.
//!
//! Invariants: ids are in range; operands come before their users and have one user; lvalues and values stand where
//! they may; operands have the types that their operation asks for, so that every conversion is explicit; labels are
//! defined once; `case`, `break` and `continue` have something around them.

mod expr;
mod stmt;

use crate::{
    Module, Name, Records,
    body::{Body, ExprId, ExprKind, InitStep, Initializer},
    layout::Layout,
    types::{Type, TypeKind},
};

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Function or object.
    pub owner: Name,
    /// What is wrong.
    pub what: String,
}

/// All broken promises of a module.
pub fn module(module: &Module) -> Vec<Violation> {
    let mut violations = Vec::new();
    for function in &module.functions {
        let (Some(body), TypeKind::Function(signature)) = (&function.body, function.ty.kind()) else {
            continue;
        };
        let mut checker = Checker::new(module, body, signature.result.unqualified());
        checker.parameters(&function.parameters);
        checker.whole();
        violations.extend(checker.found.into_iter().map(|what| Violation { owner: function.name, what }));
    }
    for global in &module.globals {
        let (Some(body), Some(init)) = (&global.init_body, &global.init) else { continue };
        let mut checker = Checker::new(module, body, Type::void());
        checker.in_initializer = true;
        checker.initializer(init, global.ty);
        violations.extend(checker.found.into_iter().map(|what| Violation { owner: global.name, what }));
    }
    violations
}

/// Checks one body.
struct Checker<'a> {
    module: &'a Module,
    records: &'a Records,
    body: &'a Body,
    result: Type,
    found: Vec<String>,
    /// Whether an expression has a user.
    used: Vec<bool>,
    /// Whether a statement has a place.
    placed: Vec<bool>,
    defined_labels: Vec<bool>,
    loops: u32,
    switches: u32,
    /// In a static initialiser labels belong to the function around.
    in_initializer: bool,
    depth: u32,
}

/// Deeper parts are not checked: bounds the stack.
const MAX_DEPTH: u32 = 1000;

impl<'a> Checker<'a> {
    fn new(module: &'a Module, body: &'a Body, result: Type) -> Checker<'a> {
        Checker {
            module,
            records: &module.records,
            body,
            result,
            found: Vec::new(),
            used: vec![false; body.exprs.len()],
            placed: vec![false; body.stmts.len()],
            defined_labels: vec![false; body.labels.len()],
            loops: 0,
            switches: 0,
            in_initializer: false,
            depth: 0,
        }
    }

    fn layout(&self) -> Layout<'a> {
        Layout::new(self.module.data_model, self.records)
    }

    fn report(&mut self, what: String) {
        self.found.push(what);
    }

    /// Reports that an expression is not as it should be, with its text.
    fn wrong(&mut self, id: ExprId, what: &str) {
        let text = crate::print::expr(self.body, id, self.records);
        let ty = crate::print::type_text(self.body.expr(id).ty);
        self.report(format!("{what}: {text} of type {ty}"));
    }

    fn require(&mut self, holds: bool, id: ExprId, what: &str) {
        if !holds {
            self.wrong(id, what);
        }
    }

    fn parameters(&mut self, ids: &[crate::body::LocalId]) {
        for (index, id) in ids.iter().enumerate() {
            let is_one = self.body.locals.get(id.index()).is_some_and(|l| l.is_parameter);
            if id.index() != index || !is_one {
                self.report(format!("parameter {index} is not the local of that number"));
            }
        }
    }

    fn whole(&mut self) {
        let Some(root) = self.body.root else {
            self.report("a function's body has no root".to_owned());
            return;
        };
        self.stmt(root);
        let names = &self.body.labels;
        let missing: Vec<Name> = names
            .iter()
            .zip(&self.defined_labels)
            .filter(|(_, defined)| !**defined)
            .map(|(n, _)| *n)
            .collect();
        for name in missing {
            self.report(format!("the label {name} has no place"));
        }
    }

    fn is_lvalue(&self, id: ExprId) -> bool {
        match &self.body.expr(id).kind {
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Index { .. }
            | ExprKind::CompoundLiteral(..)
            | ExprKind::StringLiteral(_) => true,
            ExprKind::Field { base, .. } => self.is_lvalue(*base),
            _ => false,
        }
    }

    /// Every entry's value fits the part that its path leads to.
    fn initializer(&mut self, init: &Initializer, ty: Type) {
        for entry in &init.entries {
            let value_type = self.used_value(entry.value, true);
            let mut part = Some(ty);
            for step in &entry.path {
                part = part.and_then(|ty| match (step, ty.kind()) {
                    (InitStep::Field(index), TypeKind::Record(tag)) => {
                        self.records.get(tag)?.fields.get(*index as usize).map(|f| f.ty)
                    }
                    (
                        InitStep::Element(_) | InitStep::Range(..),
                        TypeKind::Array(element, _) | TypeKind::Vector(element, _),
                    ) => Some(*element),
                    _ => None,
                });
            }
            let Some(part) = part else {
                if !is_unknown(ty) {
                    self.wrong(entry.value, "an initialiser's path leads nowhere");
                }
                continue;
            };
            let is_string = matches!(part.kind(), TypeKind::Array(..)) && self.is_lvalue(entry.value);
            if !is_string && !same(part, value_type) {
                self.wrong(entry.value, &format!("an initialiser of a {}", crate::print::type_text(part)));
            }
        }
    }
}

fn is_unknown(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Error)
}

/// The same type but for qualifiers, or one of them unknown.
fn same(left: Type, right: Type) -> bool {
    left.unqualified() == right.unqualified() || is_unknown(left) || is_unknown(right)
}
