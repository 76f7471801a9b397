//! Operators on values: unary, binary, conditional. Operations on integer constants are done on the spot unless C
//! leaves their result undefined.

use proofline_syntax::Span;
use tree_sitter::Node;

use super::{
    super::{Lowerer, children, convert::float_rank, error_type, field},
    misread::{MisreadCast, Rest},
};
use crate::{
    body::{BinaryOp, CompareOp, ExprId, ExprKind, UnaryOp},
    consteval::{self, ConstValue},
    types::{FloatKind, Type, TypeKind},
};

/// A binary operator of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Or,
    And,
    Compare(CompareOp),
    Arithmetic(BinaryOp),
}

impl Operator {
    pub(crate) fn of(text: &str) -> Option<Operator> {
        Some(match text {
            "||" => Operator::Or,
            "&&" => Operator::And,
            "==" => Operator::Compare(CompareOp::Eq),
            "!=" => Operator::Compare(CompareOp::Ne),
            "<" => Operator::Compare(CompareOp::Lt),
            "<=" => Operator::Compare(CompareOp::Le),
            ">" => Operator::Compare(CompareOp::Gt),
            ">=" => Operator::Compare(CompareOp::Ge),
            "+" => Operator::Arithmetic(BinaryOp::Add),
            "-" => Operator::Arithmetic(BinaryOp::Sub),
            "*" => Operator::Arithmetic(BinaryOp::Mul),
            "/" => Operator::Arithmetic(BinaryOp::Div),
            "%" => Operator::Arithmetic(BinaryOp::Rem),
            "<<" => Operator::Arithmetic(BinaryOp::Shl),
            ">>" => Operator::Arithmetic(BinaryOp::Shr),
            "&" => Operator::Arithmetic(BinaryOp::BitAnd),
            "|" => Operator::Arithmetic(BinaryOp::BitOr),
            "^" => Operator::Arithmetic(BinaryOp::BitXor),
            _ => return None,
        })
    }
}

/// A piece of a flattened tree of binary operators.
enum Piece<'u> {
    /// An operand as the grammar read it.
    Operand(Node<'u>),
    /// Prefix operators on an expression that the grammar took for a type.
    Misread(Vec<Node<'u>>, Node<'u>),
    /// `*(T) -`: prefix operators, a cast and a unary operator; the grammar took them for an operand and a binary one.
    Disguised(Vec<Node<'u>>, Node<'u>, BinaryOp),
    Operator(Operator),
}

/// The type of an operation of which one operand is complex.
fn complex_type(left: Type, right: Type) -> Type {
    let kind = |ty: Type| match ty.kind() {
        TypeKind::Complex(kind) | TypeKind::Float(kind) => Some(*kind),
        _ => None,
    };
    let widest = kind(left).into_iter().chain(kind(right)).max_by_key(|k| float_rank(*k).0);
    Type::new(TypeKind::Complex(widest.unwrap_or(FloatKind::Double)))
}

/// How tightly an operator binds.
fn precedence(operator: Operator) -> u8 {
    match operator {
        Operator::Or => 1,
        Operator::And => 2,
        Operator::Arithmetic(BinaryOp::BitOr) => 3,
        Operator::Arithmetic(BinaryOp::BitXor) => 4,
        Operator::Arithmetic(BinaryOp::BitAnd) => 5,
        Operator::Compare(CompareOp::Eq | CompareOp::Ne) => 6,
        Operator::Compare(CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge) => 7,
        Operator::Arithmetic(BinaryOp::Shl | BinaryOp::Shr) => 8,
        Operator::Arithmetic(BinaryOp::Add | BinaryOp::Sub) => 9,
        Operator::Arithmetic(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem) => 10,
    }
}

impl<'u> Lowerer<'u> {
    /// A tree of binary operators. It is flattened and put together again by precedence: the grammar takes some
    /// operands for types, and then its tree is wrong; and sums of thousands of terms must not recurse.
    pub(super) fn binary_tree(&mut self, root: Node<'u>) -> ExprId {
        let Some(pieces) = self.flattened(root) else { return self.not_understood(root) };
        let mut values: Vec<(ExprId, Span)> = Vec::new();
        let mut operators: Vec<Operator> = Vec::new();
        let mut casts: Vec<(Vec<Node<'u>>, Node<'u>, BinaryOp)> = Vec::new();
        for piece in pieces {
            let (value, text) = match piece {
                Piece::Operator(operator) => {
                    while let Some(&top) = operators.last()
                        && precedence(top) >= precedence(operator)
                    {
                        operators.pop();
                        self.combine(top, &mut values);
                    }
                    operators.push(operator);
                    continue;
                }
                Piece::Disguised(prefixes, ty, op) => {
                    casts.push((prefixes, ty, op));
                    continue;
                }
                // The text of an operand includes its brackets.
                Piece::Operand(node) => (self.expr(node), Some(self.span(node))),
                Piece::Misread(prefixes, left) => (self.misread_operand(&prefixes, left), None),
            };
            let mut value = value;
            let is_cast = !casts.is_empty();
            while let Some((prefixes, ty, op)) = casts.pop() {
                value = self.disguised_cast(ty, op, value);
                value = self.prefixed(&prefixes, value);
            }
            let value = self.rvalue(value);
            let own = self.span_of(value);
            let span = match text {
                Some(text) if is_cast => own.to(text),
                Some(text) => text,
                None => own,
            };
            values.push((value, span));
        }
        while let Some(top) = operators.pop() {
            self.combine(top, &mut values);
        }
        values.pop().map_or_else(|| self.not_understood(root), |(value, _)| value)
    }

    fn combine(&mut self, operator: Operator, values: &mut Vec<(ExprId, Span)>) {
        if let (Some((right, end)), Some((left, start))) = (values.pop(), values.pop()) {
            let span = start.to(end);
            values.push((self.binary(operator, left, right, span), span));
        }
    }

    /// Operands and operators in order; `None` if an operator is missing.
    fn flattened(&self, root: Node<'u>) -> Option<Vec<Piece<'u>>> {
        enum Work<'u> {
            Read(Node<'u>),
            Emit(Operator),
        }
        let mut work = vec![Work::Read(root)];
        let mut pieces: Vec<Piece<'u>> = Vec::new();
        while let Some(next) = work.pop() {
            match next {
                Work::Emit(operator) => {
                    // A type cannot be the left operand: the operator is unary.
                    let disguised = match (pieces.last(), operator) {
                        (Some(Piece::Operand(node)), Operator::Arithmetic(op)) => {
                            self.prefixed_type(*node).map(|(prefixes, ty)| Piece::Disguised(prefixes, ty, op))
                        }
                        _ => None,
                    };
                    match disguised {
                        Some(piece) => {
                            pieces.pop();
                            pieces.push(piece);
                        }
                        None => pieces.push(Piece::Operator(operator)),
                    }
                }
                Work::Read(node) if node.kind() == "binary_expression" => {
                    let operator = Operator::of(self.text(field(node, "operator")?))?;
                    let (left, right) = (field(node, "left")?, field(node, "right")?);
                    work.push(Work::Read(right));
                    work.push(Work::Emit(operator));
                    work.push(Work::Read(left));
                }
                Work::Read(node) => match self.misread_cast(node) {
                    Some(MisreadCast { prefixes, left, rest: Rest::Operator(operator, right) }) => {
                        pieces.push(Piece::Misread(prefixes, left));
                        pieces.push(Piece::Operator(operator));
                        work.push(Work::Read(right));
                    }
                    _ => pieces.push(Piece::Operand(node)),
                },
            }
        }
        Some(pieces)
    }

    /// `(T) - x`: a cast that the grammar takes for a binary operation.
    fn disguised_cast(&mut self, ty: Node<'u>, op: BinaryOp, operand: ExprId) -> ExprId {
        let span = self.span(ty).to(self.span_of(operand));
        let ty_of_cast = self.type_name(ty);
        let value = match op {
            BinaryOp::BitAnd => self.address(operand, span),
            BinaryOp::Sub => {
                let value = self.rvalue(operand);
                self.negated(value)
            }
            BinaryOp::Add => {
                let value = self.rvalue(operand);
                self.plus(value)
            }
            BinaryOp::Mul => {
                let value = self.rvalue(operand);
                let place = self.dereferenced(value, span);
                self.rvalue(place)
            }
            _ => return self.failed(ty, "a type is not an operand"),
        };
        self.cast_value(value, ty_of_cast, span)
    }

    /// Two values under an operator.
    pub(crate) fn binary(&mut self, operator: Operator, left: ExprId, right: ExprId, span: Span) -> ExprId {
        match operator {
            Operator::And | Operator::Or => {
                let (left, right) = (self.scalar(left), self.scalar(right));
                let kind = if operator == Operator::And {
                    ExprKind::And(left, right)
                } else {
                    ExprKind::Or(left, right)
                };
                let id = self.body.expr(kind, Type::int(), span);
                self.folded(id, left, right)
            }
            Operator::Compare(op) => self.compare(op, left, right, span),
            Operator::Arithmetic(op) => self.arithmetic(op, left, right, span),
        }
    }

    fn compare(&mut self, op: CompareOp, left: ExprId, right: ExprId, span: Span) -> ExprId {
        let operands = self.usual(left, right).or_else(|| self.common_pointers(left, right));
        match operands {
            Some((left, right, _)) => {
                let id = self.body.expr(ExprKind::Compare(op, left, right), Type::int(), span);
                self.folded(id, left, right)
            }
            None => self.other_operation(left, right, Some(Type::int()), span),
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, left: ExprId, right: ExprId, span: Span) -> ExprId {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        match (op, left_type.pointee(), right_type.pointee()) {
            (BinaryOp::Add | BinaryOp::Sub, Some(_), None) if right_type.is_integer() => {
                let kind =
                    ExprKind::PointerAdd { pointer: left, index: right, subtract: op == BinaryOp::Sub };
                return self.body.expr(kind, left_type, span);
            }
            (BinaryOp::Add, None, Some(_)) if left_type.is_integer() => {
                let kind = ExprKind::PointerAdd { pointer: right, index: left, subtract: false };
                return self.body.expr(kind, right_type, span);
            }
            (BinaryOp::Sub, Some(_), Some(_)) => {
                let right = self.convert(right, left_type);
                let ty = self.ptrdiff_type();
                return self.body.expr(ExprKind::PointerDifference(left, right), ty, span);
            }
            _ => {}
        }
        let integers = left_type.is_integer() && right_type.is_integer();
        let needs_integers = !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
        if needs_integers && !integers {
            return self.other_operation(left, right, None, span);
        }
        let (left, right, ty, narrow) = if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let (left, right) = (self.promote(left), self.promote(right));
            (left, right, self.type_of(left), self.narrow(left))
        } else {
            let narrow = if integers { self.common_narrow(left, right) } else { None };
            match self.usual(left, right) {
                Some((left, right, ty)) => (left, right, ty, narrow),
                None => return self.other_operation(left, right, None, span),
            }
        };
        let id = self.body.expr(ExprKind::Binary(op, left, right), ty, span);
        match narrow {
            Some(narrow) => self.result_in_width(id, narrow),
            None => self.folded(id, left, right),
        }
    }

    /// An operation on operands that are not both real numbers or pointers: complex and vector ones are not modelled,
    /// others are wrong.
    fn other_operation(&mut self, left: ExprId, right: ExprId, result: Option<Type>, span: Span) -> ExprId {
        let (left_type, right_type) = (self.type_of(left), self.type_of(right));
        let unknown = |ty: Type| matches!(ty.kind(), TypeKind::Error);
        let complex = |ty: Type| matches!(ty.kind(), TypeKind::Complex(_));
        let vector = |ty: Type| matches!(ty.kind(), TypeKind::Vector(..));
        let operands = vec![left, right];
        if unknown(left_type) || unknown(right_type) {
            return self.unmodelled(
                "an operation on unknown types",
                operands,
                result.unwrap_or_else(error_type),
                span,
            );
        }
        // A comparison of vectors is a vector of ints of the same size: its exact type does not matter to anyone.
        if vector(left_type) || vector(right_type) {
            let ty = if vector(left_type) { left_type } else { right_type };
            return self.unmodelled("vector arithmetic", operands, ty, span);
        }
        if complex(left_type) || complex(right_type) {
            let ty = result.unwrap_or_else(|| complex_type(left_type, right_type));
            return self.unmodelled("complex arithmetic", operands, ty, span);
        }
        let (a, b) = (crate::print::type_text(left_type), crate::print::type_text(right_type));
        self.errors.push(super::super::HirError {
            message: format!("the operator does not apply to `{a}` and `{b}`"),
            span,
            help: None,
            function: None,
        });
        self.unmodelled("an impossible operation", operands, result.unwrap_or_else(error_type), span)
    }

    /// Replaces an operation by its value if its operands are integer constants and C defines the result.
    fn folded(&mut self, id: ExprId, first: ExprId, last: ExprId) -> ExprId {
        let is_int = |e: ExprId| matches!(self.kind_of(e), ExprKind::Int(_));
        let adjacent = id.0 == last.0 + 1 && last.0 <= first.0 + 1;
        if !adjacent || !is_int(first) || !is_int(last) || self.is_undefined_shift(id) {
            return id;
        }
        let Some(ConstValue::Int(value)) = consteval::eval(&self.body.body, id, &self.records, self.model)
        else {
            return id;
        };
        let (ty, span) = (self.type_of(id), self.span_of(id));
        self.body.body.exprs.truncate(first.index());
        self.body.map.exprs.truncate(first.index());
        self.body.expr(ExprKind::Int(value), ty, span)
    }

    /// A left shift whose bits C does not define though gcc does: it stays, so that a check can see it.
    fn is_undefined_shift(&self, id: ExprId) -> bool {
        let ExprKind::Binary(BinaryOp::Shl, left, right) = *self.kind_of(id) else { return false };
        let (ExprKind::Int(value), ExprKind::Int(count)) = (self.kind_of(left), self.kind_of(right)) else {
            return false;
        };
        let Some(kind) = self.type_of(id).int_kind() else { return false };
        let exact =
            u32::try_from(*count).ok().and_then(|n| 1i128.checked_shl(n)).and_then(|p| value.checked_mul(p));
        kind.is_signed() && (*value < 0 || !exact.is_some_and(|v| kind.holds(v, self.model)))
    }

    pub(super) fn unary(&mut self, node: Node<'u>) -> ExprId {
        let (Some(operator), Some(argument)) = (field(node, "operator"), field(node, "argument")) else {
            return self.not_understood(node);
        };
        let value = self.value(argument);
        self.unary_of(node, self.text(operator), value)
    }

    /// A unary operator's node on a value.
    pub(super) fn unary_of(&mut self, node: Node<'u>, operator: &str, value: ExprId) -> ExprId {
        let id = match operator {
            "-" => self.negated(value),
            "+" => self.plus(value),
            "~" => self.complement(value),
            "!" => {
                let value = self.scalar(value);
                let id = self.expr_at(ExprKind::Unary(UnaryOp::Not, value), Type::int(), value);
                self.folded(id, value, value)
            }
            _ => return self.not_understood(node),
        };
        self.body.map.exprs[id.index()] = self.span(node);
        id
    }

    /// `-value`
    pub(crate) fn negated(&mut self, value: ExprId) -> ExprId {
        self.arithmetic_unary(UnaryOp::Negate, value)
    }

    fn complement(&mut self, value: ExprId) -> ExprId {
        if matches!(self.type_of(value).kind(), TypeKind::Float(_) | TypeKind::Pointer(_)) {
            self.error_at(value, "`~` needs an integer");
            let span = self.span_of(value);
            return self.unmodelled("an impossible operation", vec![value], error_type(), span);
        }
        self.arithmetic_unary(UnaryOp::BitNot, value)
    }

    /// `+value`
    fn plus(&mut self, value: ExprId) -> ExprId {
        self.promote(value)
    }

    fn arithmetic_unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        let value = self.promote(value);
        let ty = self.type_of(value);
        let span = self.span_of(value);
        if ty.is_arithmetic() {
            let narrow = self.narrow(value);
            let id = self.body.expr(ExprKind::Unary(op, value), ty, span);
            return match narrow {
                Some(narrow) => self.result_in_width(id, narrow),
                None => self.folded(id, value, value),
            };
        }
        match ty.kind() {
            TypeKind::Complex(_) | TypeKind::Vector(..) => {
                self.unmodelled("complex or vector arithmetic", vec![value], ty, span)
            }
            TypeKind::Error => self.unmodelled("an operation on an unknown type", vec![value], ty, span),
            _ => {
                self.error_at(
                    value,
                    format!("the operator does not apply to `{}`", crate::print::type_text(ty)),
                );
                self.unmodelled("an impossible operation", vec![value], error_type(), span)
            }
        }
    }

    pub(super) fn conditional(&mut self, node: Node<'u>) -> ExprId {
        let (Some(condition), Some(alternative)) = (field(node, "condition"), field(node, "alternative"))
        else {
            return self.not_understood(node);
        };
        let consequence = field(node, "consequence");
        let span = self.span(node);
        let condition = self.condition(condition);
        let then = consequence.map(|c| self.value(c));
        let otherwise = self.value(alternative);
        self.conditional_of(condition, then, otherwise, span)
    }

    fn conditional_of(
        &mut self,
        condition: ExprId,
        then: Option<ExprId>,
        otherwise: ExprId,
        span: Span,
    ) -> ExprId {
        // For `c ?: e` the condition stands for the second operand, but stays as it is: its evaluation converts.
        let first = then.unwrap_or(condition);
        let (first_type, other_type) = (self.type_of(first), self.type_of(otherwise));
        let void = |ty: Type| matches!(ty.kind(), TypeKind::Void);
        let build = |l: &mut Self, then: Option<ExprId>, otherwise: ExprId, ty: Type| {
            let id = l.body.expr(ExprKind::Conditional { condition, then, otherwise }, ty, span);
            l.folded_choice(id)
        };
        if first_type == other_type && !first_type.is_arithmetic() {
            return build(self, then, otherwise, first_type);
        }
        if void(first_type) || void(other_type) {
            let then = then.map(|then| self.convert(then, Type::void()));
            let otherwise = self.convert(otherwise, Type::void());
            return build(self, then, otherwise, Type::void());
        }
        let Some(then) = then else {
            let ty = self.elvis_type(condition, otherwise);
            let otherwise = self.convert(otherwise, ty);
            return build(self, None, otherwise, ty);
        };
        let narrow = self.common_narrow(then, otherwise);
        match self.usual(then, otherwise).or_else(|| self.common_pointers(then, otherwise)) {
            Some((then, otherwise, ty)) => {
                let id = build(self, Some(then), otherwise, ty);
                narrow.map_or(id, |narrow| self.in_width(id, narrow))
            }
            None => {
                let known = |ty: Type| !matches!(ty.kind(), TypeKind::Error);
                let numeric = |ty: Type| matches!(ty.kind(), TypeKind::Complex(_) | TypeKind::Vector(..));
                let ty = if !known(first_type) || numeric(other_type) { other_type } else { first_type };
                if known(first_type) && known(other_type) && !numeric(ty) {
                    let (a, b) = (crate::print::type_text(first_type), crate::print::type_text(other_type));
                    self.errors.push(super::super::HirError {
                        message: format!("`{a}` and `{b}` have no common type"),
                        span,
                        help: None,
                        function: None,
                    });
                }
                let (then, otherwise) = (self.convert(then, ty), self.convert(otherwise, ty));
                build(self, Some(then), otherwise, ty)
            }
        }
    }

    /// Result type of `c ?: e`, found on copies that are thrown away.
    fn elvis_type(&mut self, condition: ExprId, otherwise: ExprId) -> Type {
        let (first, other) = (self.type_of(condition), self.type_of(otherwise));
        let checkpoint = self.body.checkpoint();
        let saved: Vec<_> = [condition, otherwise].map(|id| self.body.body.expr(id).clone()).into();
        let found = self.usual(condition, otherwise).or_else(|| self.common_pointers(condition, otherwise));
        self.body.roll_back(checkpoint);
        for (id, expr) in [condition, otherwise].into_iter().zip(saved) {
            self.body.body.exprs[id.index()] = expr;
        }
        found.map_or(if matches!(first.kind(), TypeKind::Error) { other } else { first }, |(_, _, ty)| ty)
    }

    /// `1 ? 2 : 3` is 2: both branches constant.
    fn folded_choice(&mut self, id: ExprId) -> ExprId {
        let ExprKind::Conditional { condition, then: Some(then), otherwise } = *self.kind_of(id) else {
            return id;
        };
        let first = condition.0;
        let adjacent = then.0 == first + 1 && otherwise.0 == first + 2 && id.0 == first + 3;
        let all = [condition, then, otherwise].map(|e| match *self.kind_of(e) {
            ExprKind::Int(value) => Some(value),
            _ => None,
        });
        let [Some(test), Some(yes), Some(no)] = all else { return id };
        if !adjacent {
            return id;
        }
        let (ty, span) = (self.type_of(id), self.span_of(id));
        self.body.body.exprs.truncate(condition.index());
        self.body.map.exprs.truncate(condition.index());
        self.body.expr(ExprKind::Int(if test != 0 { yes } else { no }), ty, span)
    }

    /// The only child of a node, if there is exactly one.
    pub(super) fn only_child(&self, node: Node<'u>) -> Option<Node<'u>> {
        match children(node)[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}
