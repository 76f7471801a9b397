//! Typed function bodies: every implicit conversion is an explicit node, names are resolved, `sizeof`, enums and
//! constant expressions are numbers. Position-free; [`BodyMap`] beside it knows the text.
//!
//! Conventions: an expression is either an *lvalue* (designates an object) or a *value*. Only these are lvalues:
//! `Local`, `Global`, `Deref`, `Field` of an lvalue, `Index` of an array lvalue, `CompoundLiteral`, `StringLiteral`. Reading one
//! is an explicit [`ExprKind::Load`]; arrays decay by [`ExprKind::Decay`]. The type of a node is the C type of the expression.

use proofline_float::Float;
use proofline_syntax::Span;
use serde::{Deserialize, Serialize};

use crate::{
    Name, index,
    types::{BitField, Type},
};

index! {
    /// An expression of a body.
    pub ExprId "x",
    /// A statement of a body.
    pub StmtId "s",
    /// A local object of a body: parameter, variable, compound literal.
    pub LocalId "%",
    /// A label of a body.
    pub LabelId "L",
}

/// A function's body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Body {
    /// Locals; parameters first, in order.
    pub locals: Vec<Local>,
    /// Expressions, operands before their users.
    pub exprs: Vec<Expr>,
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// Labels of `goto`.
    pub labels: Vec<Name>,
    /// The outermost block (absent in the body of a global's initialiser).
    pub root: Option<StmtId>,
}

/// A local object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// Its C name (shadowing names may repeat); compound literals and unnamed parameters have names starting with `#`.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// For a variable length array: the number of elements, innermost dimension's product included, as expression
    /// evaluated at the declaration.
    pub length: Option<ExprId>,
    /// Of an array of rows of variable length, and of a pointer to one: how many elements each dimension of a row has, the innermost first, as
    /// expressions that are constants or read locals which nothing assigns to.
    pub rows: Vec<ExprId>,
    /// Parameter?
    pub is_parameter: bool,
    /// `__attribute__((cleanup(f)))`
    pub cleanup: Option<Name>,
}

/// An expression with its C type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type (of the designated object for an lvalue).
    pub ty: Type,
}

/// The expressions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// Integer constant, inside the range of its type; for `unsigned __int128` modulo 2^128 as `i128`.
    Int(i128),
    /// Floating constant, rounded to its type; and whether every compiler gives it this value (see
    /// [`proofline_float::Rounded::certain`]).
    Float(Float, bool),
    /// The object of a string literal.
    StringLiteral(Name),
    /// Local object.
    Local(LocalId),
    /// Object with static storage.
    Global(Name),
    /// Function designator; decays by [`ExprKind::Decay`].
    Function(Name),
    /// `*p`
    Deref(ExprId),
    /// `base.field` where base is an lvalue (or a record value, e.g. of a call).
    Field {
        /// The record.
        base: ExprId,
        /// Index into the record's fields (one level: anonymous members are explicit levels).
        field: u32,
        /// Its place when it is a bit-field.
        bits: Option<BitField>,
    },
    /// `array[i]` on an array lvalue, `p[i]` on a pointer value; an integer index of any integer type.
    Index {
        /// Array lvalue or pointer value.
        base: ExprId,
        /// Index.
        index: ExprId,
    },
    /// `&lvalue` or `&function`
    AddressOf(ExprId),
    /// `&&label`; in the initialiser of a `static` local, a label of the function around it.
    AddressOfLabel(LabelId),
    /// Lvalue to value.
    Load(ExprId),
    /// Array lvalue to pointer to its first element; function to pointer.
    Decay(ExprId),
    /// `-x`, `~x` (operand already promoted), `!x` (type int, operand any scalar).
    Unary(UnaryOp, ExprId),
    /// Arithmetic, bit operations and shifts; operands have the result's type (shifts: the left one has, the right one is promoted on its own).
    Binary(BinaryOp, ExprId, ExprId),
    /// Comparison; both operands have the same type; result int.
    Compare(CompareOp, ExprId, ExprId),
    /// `p + i` (or `p - i`), i of any integer type, scaled by the pointee's size.
    PointerAdd {
        /// Pointer value.
        pointer: ExprId,
        /// Elements.
        index: ExprId,
        /// `p - i`
        subtract: bool,
    },
    /// `p - q` in elements; type ptrdiff_t.
    PointerDifference(ExprId, ExprId),
    /// `a && b`
    And(ExprId, ExprId),
    /// `a || b`
    Or(ExprId, ExprId),
    /// `c ? t : e`; GNU `c ?: e` has no `then`, and `condition` is then converted to the result type (`then_conversion`) by the
    /// consumer evaluating it once.
    Conditional {
        /// Scalar.
        condition: ExprId,
        /// Value if true.
        then: Option<ExprId>,
        /// Value if false.
        otherwise: ExprId,
    },
    /// `a, b`
    Comma(ExprId, ExprId),
    /// `lvalue = value`, value converted. The result is the value stored.
    Assign(ExprId, ExprId),
    /// `lvalue op= value`: load, convert to `compute`, operate with `value` (converted), convert back, store.
    CompoundAssign {
        /// Operation; for pointers `Add`/`Sub` with an integer value, scaled.
        op: BinaryOp,
        /// Target.
        target: ExprId,
        /// Right operand, converted to `compute` (shifts: promoted on its own; pointers: an integer).
        value: ExprId,
        /// Type of the arithmetic.
        compute: Type,
    },
    /// `++x`, `x--`, …; pointers are scaled.
    IncDec {
        /// Target.
        target: ExprId,
        /// `--`?
        decrement: bool,
        /// Result is the old value?
        postfix: bool,
    },
    /// Conversion between scalar types, implicit or written; to `void` as well; to `_Bool` it is `!= 0`.
    Cast(ExprId),
    /// Call; arguments converted (default promotions for variadic ones). Builtins are calls of functions with their names.
    Call {
        /// Function designator or value of pointer-to-function type.
        callee: ExprId,
        /// Arguments.
        arguments: Vec<ExprId>,
    },
    /// `(T){…}`: the lvalue of an unnamed local, initialised each time it is evaluated.
    CompoundLiteral(LocalId, Initializer),
    /// GNU `({ … })`: value of the block's last expression statement (type void: none).
    StatementExpression(StmtId),
    /// `va_arg(ap, T)`
    VaArg(ExprId),
    /// `sizeof` of a type with a variable length: number of bytes at run time, as an expression.
    SizeOfVariable(ExprId),
    /// A construct that is not modelled: any value of its type, and the operands are evaluated first. The text says what.
    Unmodelled(Name, Vec<ExprId>),
}

impl ExprKind {
    /// The direct operands; what stands in the statements of a statement expression is not included.
    pub fn operands(&self) -> Vec<ExprId> {
        match self {
            ExprKind::Int(_)
            | ExprKind::Float(..)
            | ExprKind::StringLiteral(_)
            | ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Function(_)
            | ExprKind::AddressOfLabel(_)
            | ExprKind::StatementExpression(_) => Vec::new(),
            ExprKind::Deref(a)
            | ExprKind::Field { base: a, .. }
            | ExprKind::AddressOf(a)
            | ExprKind::Load(a)
            | ExprKind::Decay(a)
            | ExprKind::Unary(_, a)
            | ExprKind::IncDec { target: a, .. }
            | ExprKind::Cast(a)
            | ExprKind::VaArg(a)
            | ExprKind::SizeOfVariable(a) => vec![*a],
            ExprKind::Index { base: a, index: b }
            | ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::PointerAdd { pointer: a, index: b, .. }
            | ExprKind::PointerDifference(a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Comma(a, b)
            | ExprKind::Assign(a, b)
            | ExprKind::CompoundAssign { target: a, value: b, .. } => vec![*a, *b],
            ExprKind::Conditional { condition, then, otherwise } => {
                [Some(*condition), *then, Some(*otherwise)].into_iter().flatten().collect()
            }
            ExprKind::Call { callee, arguments } => {
                [*callee].into_iter().chain(arguments.iter().copied()).collect()
            }
            ExprKind::CompoundLiteral(_, init) => init.entries.iter().map(|e| e.value).collect(),
            ExprKind::Unmodelled(_, operands) => operands.clone(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[expect(missing_docs, reason = "C's operators")]
pub enum UnaryOp {
    Negate,
    BitNot,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "C's operators")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
}

impl BinaryOp {
    /// As C writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "C's operators")]
pub enum CompareOp {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl CompareOp {
    /// What holds of two values exactly where this does not. (Of floats: where neither is NaN.)
    #[must_use]
    pub fn negated(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
        }
    }

    /// What holds of `b` and `a` exactly where this holds of `a` and `b`.
    #[must_use]
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            CompareOp::Eq => CompareOp::Eq,
            CompareOp::Ne => CompareOp::Ne,
        }
    }

    /// As C writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
        }
    }
}

/// An initialiser, flattened: later entries win over earlier ones; what no entry names is zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Initializer {
    /// Scalar (or whole record/array by value) entries in order of evaluation.
    pub entries: Vec<InitEntry>,
}

/// One initialised part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitEntry {
    /// From the object to the part.
    pub path: Vec<InitStep>,
    /// Its value: scalar converted, a record value, or a `StringLiteral` lvalue for a character array.
    pub value: ExprId,
}

/// A step into an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitStep {
    /// Field index.
    Field(u32),
    /// Element index.
    Element(u64),
    /// GNU `[first ... last]`, inclusive.
    Range(u64, u64),
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    /// `;`
    Empty,
    /// Evaluated for its effects.
    Expr(ExprId),
    /// A local comes to life here, with its initialiser.
    Declare(LocalId, Option<Initializer>),
    /// `{ … }`: locals declared inside end with it.
    Block(Vec<StmtId>),
    #[expect(missing_docs, reason = "C's own")]
    If { condition: ExprId, then: StmtId, otherwise: Option<StmtId> },
    #[expect(missing_docs, reason = "C's own")]
    While { condition: ExprId, body: StmtId },
    #[expect(missing_docs, reason = "C's own")]
    DoWhile { body: StmtId, condition: ExprId },
    /// The initialising statement is inside the loop's scope.
    #[expect(missing_docs, reason = "C's own")]
    For { init: Option<StmtId>, condition: Option<ExprId>, step: Option<ExprId>, body: StmtId },
    #[expect(missing_docs, reason = "C's own")]
    Switch { value: ExprId, body: StmtId },
    /// `case first ... last:`, inclusive, of the switch's promoted type.
    #[expect(missing_docs, reason = "C's own")]
    Case { first: i128, last: i128, body: StmtId },
    /// `default:`
    Default(StmtId),
    /// `label: stmt`
    Label(LabelId, StmtId),
    /// `goto label`
    Goto(LabelId),
    /// `goto *e`: any label whose address is taken.
    GotoComputed(ExprId),
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return e;` with e converted to the result type (a record value for records).
    Return(Option<ExprId>),
    /// Inline assembly: outputs get any value; with `memory` clobber or pointers among the inputs, memory too.
    #[expect(missing_docs, reason = "named by meaning")]
    Asm { outputs: Vec<ExprId>, inputs: Vec<ExprId>, clobbers_memory: bool, labels: Vec<LabelId> },
    /// Could not be understood; an error was reported. Reaching it makes a verdict unknown.
    Unsupported(Name),
}

/// Where a body's things are in the text; parallel to its arenas.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BodyMap {
    /// Per expression.
    pub exprs: Vec<Span>,
    /// Per statement.
    pub stmts: Vec<Span>,
    /// Per local: its name in the declaration.
    pub locals: Vec<Span>,
    /// The closing brace.
    pub end: Option<Span>,
}

impl Body {
    /// The expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }
    /// The statement.
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.index()]
    }
    /// The local.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }
}
