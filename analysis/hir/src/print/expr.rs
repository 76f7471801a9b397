//! Expressions and initialisers as text.

use proofline_float::Float;

use super::{
    MAX_DEPTH, Printer,
    types::{declaration_text, type_text},
};
use crate::{
    body::{ExprId, ExprKind, InitStep, Initializer, UnaryOp},
    types::{ArrayLength, FloatKind, IntKind, Type, TypeKind},
};

/// How tightly a printed expression holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Loose,
    Prefix,
    Postfix,
}

impl Printer<'_> {
    pub(super) fn expr(&mut self, id: ExprId) -> String {
        self.with_strength(id).0
    }

    /// In parentheses unless it is at least as strong.
    fn operand(&mut self, id: ExprId, at_least: Strength) -> String {
        let (text, strength) = self.with_strength(id);
        if strength >= at_least { text } else { format!("({text})") }
    }

    /// Arguments: only a comma needs parentheses.
    fn list(&mut self, ids: &[ExprId]) -> String {
        ids.iter().map(|id| self.argument(*id)).collect::<Vec<_>>().join(", ")
    }

    fn argument(&mut self, id: ExprId) -> String {
        let text = self.expr(id);
        if matches!(self.body.expr(id).kind, ExprKind::Comma(..)) { format!("({text})") } else { text }
    }

    fn with_strength(&mut self, id: ExprId) -> (String, Strength) {
        if self.depth >= MAX_DEPTH {
            return ("…".to_owned(), Strength::Postfix);
        }
        self.depth += 1;
        let result = self.text(id);
        self.depth -= 1;
        result
    }

    fn infix(&mut self, left: ExprId, op: &str, right: ExprId) -> (String, Strength) {
        let left = self.operand(left, Strength::Prefix);
        (format!("{left} {op} {}", self.operand(right, Strength::Prefix)), Strength::Loose)
    }

    fn text(&mut self, id: ExprId) -> (String, Strength) {
        use Strength::{Loose, Postfix, Prefix};
        let body = self.body;
        let expr = body.expr(id);
        let ty = expr.ty;
        match &expr.kind {
            ExprKind::Int(value) => int_literal(*value, ty),
            ExprKind::Float(value, exact) => (float_literal(*value, *exact, ty), Postfix),
            ExprKind::StringLiteral(name) | ExprKind::Global(name) | ExprKind::Function(name) => {
                (name.to_string(), Postfix)
            }
            ExprKind::Local(local) => (self.local_name(*local), Postfix),
            ExprKind::Deref(pointer) => (format!("*{}", self.operand(*pointer, Prefix)), Prefix),
            ExprKind::Field { base, field, .. } => {
                let name = self.field_name(body.expr(*base).ty, *field);
                if let ExprKind::Deref(pointer) = body.expr(*base).kind {
                    (format!("{}->{name}", self.operand(pointer, Postfix)), Postfix)
                } else {
                    (format!("{}.{name}", self.operand(*base, Postfix)), Postfix)
                }
            }
            ExprKind::Index { base, index } => {
                (format!("{}[{}]", self.operand(*base, Postfix), self.expr(*index)), Postfix)
            }
            ExprKind::AddressOf(place) => (format!("&{}", self.operand(*place, Prefix)), Prefix),
            ExprKind::AddressOfLabel(label) => {
                // In a static initialiser the label is one of the function around it.
                let name =
                    body.labels.get(label.index()).map_or_else(|| format!("#{}", label.0), |n| n.to_string());
                (format!("&&{name}"), Prefix)
            }
            ExprKind::Load(place) => match body.expr(*place).kind {
                ExprKind::Local(_) | ExprKind::Global(_) => (format!("${}", self.expr(*place)), Postfix),
                _ => (format!("$({})", self.expr(*place)), Postfix),
            },
            ExprKind::Decay(place) => (format!("decay({})", self.expr(*place)), Postfix),
            ExprKind::Unary(op, operand) => {
                let sign = match op {
                    UnaryOp::Negate => "-",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "!",
                };
                (format!("{sign}{}", self.operand(*operand, Postfix)), Prefix)
            }
            ExprKind::Binary(op, left, right) => self.infix(*left, op.symbol(), *right),
            ExprKind::Compare(op, left, right) => self.infix(*left, op.symbol(), *right),
            ExprKind::PointerAdd { pointer, index, subtract } => {
                self.infix(*pointer, if *subtract { "-" } else { "+" }, *index)
            }
            ExprKind::PointerDifference(left, right) => self.infix(*left, "-", *right),
            ExprKind::And(left, right) => self.infix(*left, "&&", *right),
            ExprKind::Or(left, right) => self.infix(*left, "||", *right),
            ExprKind::Conditional { condition, then, otherwise } => {
                let condition = self.operand(*condition, Prefix);
                let then = then.map_or(String::new(), |then| format!(" {} ", self.operand(then, Prefix)));
                (format!("{condition} ?{then}: {}", self.operand(*otherwise, Prefix)), Loose)
            }
            ExprKind::Comma(left, right) => {
                let left = self.operand(*left, Prefix);
                (format!("{left}, {}", self.operand(*right, Prefix)), Loose)
            }
            ExprKind::Assign(target, value) => {
                let target = self.operand(*target, Prefix);
                (format!("{target} = {}", self.expr(*value)), Loose)
            }
            ExprKind::CompoundAssign { op, target, value, compute } => {
                let target = self.operand(*target, Prefix);
                let (op, compute) = (op.symbol(), type_text(*compute));
                (format!("{target} {op}={{{compute}}} {}", self.expr(*value)), Loose)
            }
            ExprKind::IncDec { target, decrement, postfix } => {
                let sign = if *decrement { "--" } else { "++" };
                let target = self.operand(*target, Postfix);
                if *postfix {
                    (format!("{target}{sign}"), Postfix)
                } else {
                    (format!("{sign}{target}"), Prefix)
                }
            }
            ExprKind::Cast(operand) => {
                (format!("({}){}", type_text(ty), self.operand(*operand, Prefix)), Prefix)
            }
            ExprKind::Call { callee, arguments } => {
                let callee = self.operand(*callee, Postfix);
                (format!("{callee}({})", self.list(arguments)), Postfix)
            }
            ExprKind::CompoundLiteral(local, init) => {
                let variable = matches!(ty.kind(), TypeKind::Array(_, ArrayLength::Variable));
                let ty =
                    if variable { declaration_text(ty, &self.local_name(*local)) } else { type_text(ty) };
                (format!("({ty}){}", self.initializer_entries(init, body.expr(id).ty)), Postfix)
            }
            ExprKind::StatementExpression(block) => {
                let mut out = "(".to_owned();
                self.stmt(*block, &mut out);
                out.truncate(out.trim_end().len());
                out.push(')');
                (out, Postfix)
            }
            ExprKind::VaArg(list) => (format!("va_arg({}, {})", self.expr(*list), type_text(ty)), Postfix),
            ExprKind::SizeOfVariable(bytes) => (format!("sizeof({})", self.expr(*bytes)), Postfix),
            ExprKind::Unmodelled(what, operands) => {
                let operands =
                    if operands.is_empty() { String::new() } else { format!(": {}", self.list(operands)) };
                (format!("unmodelled({}, \"{what}\"{operands})", type_text(ty)), Postfix)
            }
        }
    }

    fn field_name(&self, record: Type, field: u32) -> String {
        let TypeKind::Record(tag) = record.kind() else { return format!("?{field}") };
        let known = self.records.get(tag).and_then(|r| r.fields.get(field as usize));
        known.map_or_else(|| format!("?{field}"), |f| f.name.to_string())
    }

    /// `= …` of a declaration: one value, or entries in braces.
    pub(super) fn initializer(&mut self, init: &Initializer, ty: Type) -> String {
        match &init.entries[..] {
            [only] if only.path.is_empty() => self.argument(only.value),
            _ => self.initializer_entries(init, ty),
        }
    }

    fn initializer_entries(&mut self, init: &Initializer, ty: Type) -> String {
        let mut parts = Vec::new();
        for entry in &init.entries {
            let mut path = String::new();
            let mut at = Some(ty);
            for step in &entry.path {
                match (step, at.map(Type::kind)) {
                    (InitStep::Field(index), Some(TypeKind::Record(tag))) => {
                        let field = self.records.get(tag).and_then(|r| r.fields.get(*index as usize));
                        path.push_str(&format!(".{}", self.field_name(at.unwrap_or(ty), *index)));
                        at = field.map(|f| f.ty);
                    }
                    (InitStep::Field(index), _) => path.push_str(&format!(".?{index}")),
                    (InitStep::Element(index), element) => {
                        path.push_str(&format!("[{index}]"));
                        at = element_of(element);
                    }
                    (InitStep::Range(first, last), element) => {
                        path.push_str(&format!("[{first} ... {last}]"));
                        at = element_of(element);
                    }
                }
            }
            let value = self.argument(entry.value);
            parts.push(if path.is_empty() { value } else { format!("{path} = {value}") });
        }
        format!("{{{}}}", parts.join(", "))
    }
}

fn element_of(kind: Option<&TypeKind>) -> Option<Type> {
    match kind {
        Some(TypeKind::Array(element, _) | TypeKind::Vector(element, _)) => Some(*element),
        _ => None,
    }
}

fn int_literal(value: i128, ty: Type) -> (String, Strength) {
    let strength = if value < 0 { Strength::Prefix } else { Strength::Postfix };
    let suffix = match ty.kind() {
        TypeKind::Int(IntKind::Int) => "",
        TypeKind::Int(IntKind::UInt) => "u",
        TypeKind::Int(IntKind::Long) => "l",
        TypeKind::Int(IntKind::ULong) => "ul",
        TypeKind::Int(IntKind::LongLong) => "ll",
        TypeKind::Int(IntKind::ULongLong) => "ull",
        TypeKind::Int(IntKind::UInt128) => {
            return (format!("(unsigned __int128){}", value as u128), Strength::Prefix);
        }
        _ => return (format!("({}){value}", type_text(ty)), Strength::Prefix),
    };
    (format!("{value}{suffix}"), strength)
}

fn float_literal(value: Float, exact: bool, ty: Type) -> String {
    let suffix = match ty.kind() {
        TypeKind::Float(FloatKind::Float16) => "f16",
        TypeKind::Float(FloatKind::Float) => "f",
        TypeKind::Float(FloatKind::LongDouble) => "l",
        TypeKind::Float(FloatKind::Float128) => "q",
        _ => "",
    };
    format!("{value}{suffix}{}", if exact { "" } else { "~" })
}
