//! Lowering: a syntax tree becomes a [`Module`]. This file holds what all parts of the pass share: the state, the
//! body under construction, navigation in odd trees. Must not know what any construct means: that is in the files
//! beside it (declarations: `top`, `specifiers`, `declarator`, `record`, `initializer`; bodies: `expr*`, `stmt`).

use std::collections::{BTreeMap, BTreeSet};

use proofline_syntax::{DataModel, Span, Unit};
use tree_sitter::Node;

use crate::{
    Enumerations, Module, ModuleMap, Name,
    body::{Body, BodyMap, Expr, ExprId, ExprKind, LabelId, Local, LocalId, Stmt, StmtId},
    types::{Records, Type, TypeKind},
};

mod attached;
mod attributes;
mod builtin;
mod convert;
mod declaration;
mod declarator;
mod dependence;
mod enumeration;
mod expr;
mod initializer;
mod literal;
mod objects;
mod old_style;
mod overwrite;
mod record;
mod scope;
mod settled;
mod specifiers;
mod stmt;
mod top;
mod wide_bit_field;

pub(crate) use scope::{Entity, Scope};
pub use top::lower;

/// Nesting deeper than this is reported and not lowered (the stack of [`lower`]'s thread suffices for it).
const MAX_DEPTH: u32 = 2000;

/// What [`lower`] returns.
#[derive(Debug)]
pub struct Lowered {
    /// Meaning, position-free.
    pub module: Module,
    /// Positions.
    pub map: ModuleMap,
    /// What could not be understood, in the order of discovery.
    pub errors: Vec<HirError>,
}

/// Something in the text that has no meaning we know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HirError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
    /// The function in whose body it stands: nothing outside of it depends on what was not understood. `None`: anything may.
    pub function: Option<Name>,
}

/// The state of the pass.
pub(crate) struct Lowerer<'u> {
    pub(crate) unit: &'u Unit,
    pub(crate) model: DataModel,
    /// `-fshort-enums`
    short_enums: bool,
    /// `-fpack-struct`
    pack_struct: Option<u64>,
    /// Complete records so far.
    pub(crate) records: Records,
    /// Enumerations so far.
    pub(crate) enumerations: Enumerations,
    pub(crate) errors: Vec<HirError>,
    /// Innermost last; the first is the file's.
    pub(crate) scopes: Vec<Scope>,
    /// The body under construction. There always is one: at file scope a scratch body for constant expressions.
    pub(crate) body: BodyBuilder,
    /// The bodies of the functions around the current (GNU nested) function, outermost first.
    pub(crate) outer_bodies: Vec<BodyBuilder>,
    /// The current function; `None` at file scope.
    pub(crate) function: Option<FunctionContext<'u>>,
    /// Objects, functions and string literals of the module.
    pub(crate) objects: objects::Objects,
    /// The object whose static initialiser is being lowered.
    pub(crate) static_owner: Option<Name>,
    /// Inside a parameter list: sizes of arrays are not evaluated.
    pub(crate) in_parameters: bool,
    /// Functions that are another name of a function of the unit.
    pub(crate) aliases: Vec<(Name, Name, Span)>,
    /// Functions and objects that the linker knows by another name (`asm` labels).
    pub(crate) asm_labels: Vec<(Name, Name, Span)>,
    /// Names that were declared weak.
    pub(crate) weak: BTreeSet<Name>,
    /// Which items of the file depend on which.
    pub(crate) dependences: dependence::Dependences,
    /// Tags given so far.
    pub(crate) used_tags: BTreeSet<Name>,
    /// Records whose members are being read.
    pub(crate) open_records: Vec<Name>,
    /// What was not understood had a part in the statement at hand, whose effect is therefore not known.
    pub(crate) poisoned: bool,
    /// An expression that stands for a node (by its id) while something around it is read.
    pub(crate) substitute: Option<(usize, ExprId)>,
    /// Depth of the recursion over the tree.
    depth: u32,
}

/// What statements need to know of the function around them.
pub(crate) struct FunctionContext<'u> {
    /// The function's name (`outer.inner` for a nested one).
    pub(crate) name: Name,
    /// Its result type.
    pub(crate) result: Type,
    /// Locals that keep the constant they are initialised with.
    pub(crate) settled: BTreeMap<LocalId, i128>,
    /// What the function changes; computed at the first question.
    pub(crate) changes: Option<settled::Changes<'u>>,
    /// Its definition and its body (which an old-style definition does not contain).
    pub(crate) parts: [Node<'u>; 2],
    /// Labels of the function by their C name (declared at first mention).
    pub(crate) labels: BTreeMap<Name, LabelId>,
    /// Labels whose statement was seen.
    pub(crate) defined_labels: Vec<LabelId>,
    /// Names of all labels, by [`LabelId`]; they become the body's labels.
    pub(crate) label_names: Vec<Name>,
    /// Labels of `__label__` declarations.
    pub(crate) local_labels: Vec<LabelId>,
    /// Promoted types of the `switch` statements around, innermost last.
    pub(crate) switches: Vec<Type>,
    /// Number of loops around.
    pub(crate) loops: u32,
    /// How many statics of each name were declared.
    pub(crate) statics: BTreeMap<Name, u32>,
    /// Locals of enclosing functions that this nested function uses.
    pub(crate) captured: Vec<Name>,
}

impl<'u> FunctionContext<'u> {
    pub(crate) fn new(name: Name, result: Type, parts: [Node<'u>; 2]) -> FunctionContext<'u> {
        FunctionContext {
            name,
            result,
            settled: BTreeMap::new(),
            changes: None,
            parts,
            labels: BTreeMap::new(),
            defined_labels: Vec::new(),
            label_names: Vec::new(),
            local_labels: Vec::new(),
            switches: Vec::new(),
            loops: 0,
            statics: BTreeMap::new(),
            captured: Vec::new(),
        }
    }
}

/// A body with its map, while it grows.
#[derive(Default)]
pub(crate) struct BodyBuilder {
    pub(crate) body: Body,
    pub(crate) map: BodyMap,
    /// Values in the width of a bit-field that is wider than `int`, and the width.
    pub(crate) widths: BTreeMap<ExprId, u8>,
}

/// Sizes of a body's arenas, to roll back unevaluated operands.
#[derive(Clone, Copy)]
pub(crate) struct Checkpoint {
    pub(crate) exprs: usize,
    pub(crate) stmts: usize,
    pub(crate) locals: usize,
}

impl BodyBuilder {
    pub(crate) fn expr(&mut self, kind: ExprKind, ty: Type, span: Span) -> ExprId {
        proofline_syntax::interrupt::poll();
        let id = ExprId(self.body.exprs.len() as u32);
        // An expression that was rolled back may have had the number.
        self.widths.remove(&id);
        self.body.exprs.push(Expr { kind, ty });
        self.map.exprs.push(span);
        id
    }

    pub(crate) fn stmt(&mut self, stmt: Stmt, span: Span) -> StmtId {
        let id = StmtId(self.body.stmts.len() as u32);
        self.body.stmts.push(stmt);
        self.map.stmts.push(span);
        id
    }

    pub(crate) fn local(&mut self, local: Local, span: Span) -> LocalId {
        let id = LocalId(self.body.locals.len() as u32);
        self.body.locals.push(local);
        self.map.locals.push(span);
        id
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            exprs: self.body.exprs.len(),
            stmts: self.body.stmts.len(),
            locals: self.body.locals.len(),
        }
    }

    /// Forgets everything built since `to` (of an unevaluated operand or a constant expression).
    pub(crate) fn roll_back(&mut self, to: Checkpoint) {
        self.body.exprs.truncate(to.exprs);
        self.map.exprs.truncate(to.exprs);
        self.body.stmts.truncate(to.stmts);
        self.map.stmts.truncate(to.stmts);
        self.body.locals.truncate(to.locals);
        self.map.locals.truncate(to.locals);
    }
}

impl<'u> Lowerer<'u> {
    /// Reports an error at a node.
    pub(crate) fn error(&mut self, node: Node<'u>, message: impl Into<String>) {
        let span = self.span(node);
        self.errors.push(HirError { message: message.into(), span, help: None, function: None });
    }

    /// Runs `f` one level deeper; too deep is reported and yields `None`.
    pub(crate) fn deeper<R>(&mut self, node: Node<'u>, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= MAX_DEPTH {
            self.error(node, format!("nested deeper than {MAX_DEPTH} levels"));
            return None;
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        Some(result)
    }

    /// New expression in the current body.
    pub(crate) fn new_expr(&mut self, kind: ExprKind, ty: Type, node: Node<'u>) -> ExprId {
        let span = self.span(node);
        self.body.expr(kind, ty, span)
    }

    /// New statement in the current body.
    pub(crate) fn new_stmt(&mut self, stmt: Stmt, node: Node<'u>) -> StmtId {
        let span = self.span(node);
        self.body.stmt(stmt, span)
    }

    /// Type of an expression of the current body.
    pub(crate) fn type_of(&self, id: ExprId) -> Type {
        self.body.body.expr(id).ty
    }

    /// The source text of a node (normalised).
    pub(crate) fn text(&self, node: Node<'u>) -> &'u str {
        self.unit.node_text(node)
    }

    /// Position of a node in the user's files.
    pub(crate) fn span(&self, node: Node<'u>) -> Span {
        self.unit.span(node)
    }
}

/// The child in a field.
pub(crate) fn field<'u>(node: Node<'u>, name: &str) -> Option<Node<'u>> {
    node.child_by_field_name(name)
}

/// Named children without comments.
pub(crate) fn children<'u>(node: Node<'u>) -> Vec<Node<'u>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|n| !n.is_extra() || n.is_error()).collect()
}

/// All children, tokens included, without comments.
pub(crate) fn all_children<'u>(node: Node<'u>) -> Vec<Node<'u>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|n| !n.is_extra() || n.is_error()).collect()
}

/// The type of what could not be typed.
pub(crate) fn error_type() -> Type {
    Type::new(TypeKind::Error)
}
