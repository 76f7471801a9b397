//! Expressions and lvalues as text, and back. Must not know operations.

use std::{fmt::Write, sync::Arc};

use proofline_hir::{Name, Type, types::BitField};

use super::{
    Parser, Printer, Surroundings, lex::ParseError, lex::TokenKind, name::escaped_name, types::record_text,
};
use crate::{
    Float, FloatType, Rounding,
    expr::{Base, BinaryOp, CompareOp, Expr, LocalId, Lvalue, Site, Step, UnaryOp},
    function::Local,
    memory::MemoryPredicate,
    scalar::{IntType, Scalar},
};

const BINARY: [(&str, BinaryOp); 10] = [
    ("+", BinaryOp::Add),
    ("-", BinaryOp::Sub),
    ("*", BinaryOp::Mul),
    ("/", BinaryOp::Div),
    ("%", BinaryOp::Rem),
    ("<<", BinaryOp::Shl),
    (">>", BinaryOp::Shr),
    ("&", BinaryOp::BitAnd),
    ("|", BinaryOp::BitOr),
    ("^", BinaryOp::BitXor),
];

const COMPARE: [(&str, CompareOp); 6] = [
    ("<", CompareOp::Lt),
    ("<=", CompareOp::Le),
    (">", CompareOp::Gt),
    (">=", CompareOp::Ge),
    ("==", CompareOp::Eq),
    ("!=", CompareOp::Ne),
];

fn binary_text(op: BinaryOp) -> &'static str {
    BINARY.iter().find(|(_, o)| *o == op).map_or("+", |(text, _)| text)
}

fn compare_text(op: CompareOp) -> &'static str {
    COMPARE.iter().find(|(_, o)| *o == op).map_or("==", |(text, _)| text)
}

/// A format from its word.
pub(super) fn scalar_from(text: &str) -> Option<Scalar> {
    match text {
        "ptr" => return Some(Scalar::Pointer),
        "f16" => return Some(Scalar::Float(FloatType::F16)),
        "f32" => return Some(Scalar::Float(FloatType::F32)),
        "f64" => return Some(Scalar::Float(FloatType::F64)),
        "f80" => return Some(Scalar::Float(FloatType::F80)),
        "f128" => return Some(Scalar::Float(FloatType::F128)),
        _ => {}
    }
    let (signed, bits) = match text.strip_prefix('i') {
        Some(bits) => (true, bits),
        None => (false, text.strip_prefix('u')?),
    };
    Some(Scalar::Int(IntType { bits: bits.parse().ok()?, signed }))
}

/// Bytes that a bit-field touches.
fn bytes_of(bits: BitField) -> u64 {
    (u64::from(bits.first) + u64::from(bits.width)).div_ceil(8)
}

/// Text that reads back as the same bits: digits, the bits of an `f64` that equals it, or its own.
pub(super) fn float_text(value: Float) -> String {
    match value.to_f64() {
        Some(double) if double.is_finite() => format!("{double:?}"),
        _ if value.format() == FloatType::F64 => format!("float(0x{:x})", value.to_bits()),
        Some(double) if value == value.canonical() => format!("float(0x{:x})", double.to_bits()),
        Some(_) | None => format!("float(bits 0x{:x})", value.to_bits()),
    }
}

/// What stands for a floating number before its format is known.
pub(super) enum FloatDigits {
    /// An `f64` that equals it.
    Double(f64),
    /// Its bits.
    Bits(u128),
}

impl FloatDigits {
    /// The number; `None` if the format does not hold it.
    pub(super) fn in_format(self, format: FloatType) -> Option<Float> {
        match self {
            FloatDigits::Bits(bits) => Float::from_bits(format, bits),
            FloatDigits::Double(double) if format == FloatType::F64 => Some(Float::from_f64(double)),
            FloatDigits::Double(double) => {
                let number = Float::from_f64(double).convert(format, Rounding::NearestEven);
                number.exact.then_some(number.value)
            }
        }
    }
}

impl<'p> Printer<'p> {
    pub(super) fn new(surroundings: Surroundings<'p>, locals: &'p [Local]) -> Printer<'p> {
        let mut count = std::collections::BTreeMap::new();
        for local in locals {
            *count.entry(local.name).or_insert(0u32) += 1;
        }
        let name = |(index, local): (usize, &Local)| {
            let text = local.name.as_str();
            let plain = super::name::is_bare(text.strip_suffix('?').unwrap_or(text));
            if plain && count.get(&local.name) == Some(&1) { format!("%{text}") } else { format!("%{index}") }
        };
        let local_names = locals.iter().enumerate().map(name).collect();
        Printer { out: String::new(), surroundings, locals, local_names, site: None }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn ty(&mut self, ty: Type) {
        super::types::print(ty, &mut self.out);
    }

    pub(super) fn name(&mut self, name: Name) {
        self.text(&escaped_name(name));
    }

    pub(super) fn local(&mut self, id: LocalId) {
        match self.local_names.get(id.index()) {
            Some(text) => self.out.push_str(text),
            None => {
                let _ = write!(self.out, "%{}", id.0);
            }
        }
    }

    fn site(&mut self, site: Site) {
        if self.site != Some(site) {
            let _ = write!(self.out, "@{}", site.0);
        }
    }

    /// A site in front of what might begin with a digit.
    fn leading_site(&mut self, site: Site) {
        if self.site != Some(site) {
            let _ = write!(self.out, "@{} ", site.0);
        }
    }

    /// An expression where an operator may follow: in parentheses if it has one itself.
    fn operand(&mut self, expr: &Expr) {
        match expr {
            Expr::Binary(..) | Expr::Compare(..) => self.parenthesised(expr),
            Expr::Int(..)
            | Expr::Float(..)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Cast(..)
            | Expr::Overflows(..)
            | Expr::Memory(..)
            | Expr::PointerDifference(..) => self.expr(expr),
        }
    }

    fn parenthesised(&mut self, expr: &Expr) {
        self.text("(");
        self.expr(expr);
        self.text(")");
    }

    fn infix(&mut self, lhs: &Expr, op: &str, site: Option<Site>, rhs: &Expr) {
        self.operand(lhs);
        self.text(" ");
        self.text(op);
        if let Some(site) = site {
            self.site(site);
        }
        self.text(" ");
        self.operand(rhs);
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Int(value, ty) => {
                let _ = write!(self.out, "{value}");
                if *ty != IntType::INT {
                    let _ = write!(self.out, "{ty}");
                }
            }
            Expr::Float(value) => {
                let _ = write!(self.out, "{}{}", float_text(*value), Scalar::Float(value.format()));
            }
            Expr::Null => self.text("null"),
            Expr::Load(lvalue) => self.lvalue(lvalue),
            Expr::Address(lvalue) => {
                self.text("&");
                self.lvalue(lvalue);
            }
            Expr::Function(name) => {
                self.text("fn ");
                self.name(*name);
            }
            Expr::Unary(op, arg, site) => {
                self.text(match op {
                    UnaryOp::Negate => "-",
                    UnaryOp::BitNot => "~",
                });
                self.leading_site(*site);
                // `-5` is a constant, `-(5)` an operation.
                if matches!(**arg, Expr::Int(..) | Expr::Float(..)) {
                    self.parenthesised(arg)
                } else {
                    self.operand(arg)
                }
            }
            Expr::Binary(op, lhs, rhs, site) => self.infix(lhs, binary_text(*op), Some(*site), rhs),
            Expr::Compare(op, lhs, rhs) => self.infix(lhs, compare_text(*op), None, rhs),
            Expr::Cast(to, arg, site) => {
                let _ = write!(self.out, "{to}");
                self.site(*site);
                self.parenthesised(arg);
            }
            Expr::Overflows(op, lhs, rhs) => {
                self.text("overflows(");
                self.infix(lhs, binary_text(*op), None, rhs);
                self.text(")");
            }
            Expr::Memory(predicate, pointer, size) => {
                let _ = write!(self.out, "memory({predicate}, ");
                self.expr(pointer);
                self.text(", ");
                self.expr(size);
                self.text(")");
            }
            Expr::PointerDifference(lhs, rhs, stride, ty) => {
                self.text("distance(");
                self.expr(lhs);
                self.text(", ");
                self.expr(rhs);
                let _ = write!(self.out, " by {stride} in {ty})");
            }
        }
    }

    pub(super) fn lvalue(&mut self, lvalue: &Lvalue) {
        let mut ty = self.surroundings.base_type(&lvalue.base, self.locals);
        match &lvalue.base {
            Base::Local(id) => self.local(*id),
            Base::Global(name) => self.name(*name),
            Base::Deref(pointer, site) => {
                self.text("(*");
                self.leading_site(*site);
                self.expr(pointer);
                self.text(")");
            }
        }
        for step in &lvalue.path {
            ty = self.step(ty, step);
        }
        let implied = lvalue.ty;
        let mut said = Vec::new();
        if ty != Some(implied) {
            said.push(super::printed_type(implied));
        }
        if lvalue.scalar != self.surroundings.scalar(implied) {
            said.push(lvalue.scalar.map_or("as ?".to_owned(), |scalar| format!("as {scalar}")));
        }
        let size = self.surroundings.lvalue_size(&lvalue.base, lvalue.path.is_empty(), implied, self.locals);
        if lvalue.size != lvalue.bits.map_or(size, bytes_of) {
            said.push(format!("size {}", lvalue.size));
        }
        match lvalue.bits {
            bits if bits == self.surroundings.bits(&lvalue.path) => {}
            Some(bits) => said.push(format!("bits {} {}", bits.first, bits.width)),
            None => said.push("bits ?".to_owned()),
        }
        if !said.is_empty() {
            let _ = write!(self.out, "{{{}}}", said.join(" "));
        }
    }

    fn step(&mut self, ty: Option<Type>, step: &Step) -> Option<Type> {
        match step {
            Step::Field { record, name, offset } => {
                self.text(".");
                self.name(*name);
                let known = self.surroundings.field(ty, *name);
                if known.is_none_or(|(tag, at, _)| (tag, at) != (*record, *offset)) {
                    let _ = write!(self.out, "({} at {offset})", record_text(*record));
                }
                self.surroundings.field_type(*record, *name)
            }
            Step::Index { index, stride, length, site } => {
                let (inner, implied_stride, implied_length) = self.surroundings.element(ty);
                self.text("[");
                self.expr(index);
                if *stride != implied_stride {
                    let _ = write!(self.out, " by {stride}");
                }
                if *length != implied_length {
                    let _ = match length {
                        Some(length) => write!(self.out, " of {length}"),
                        None => write!(self.out, " of ?"),
                    };
                }
                self.text("]");
                self.site(*site);
                inner
            }
        }
    }
}

impl Parser<'_> {
    fn site_or_edge(&mut self) -> Site {
        self.site().or(self.site).unwrap_or_default()
    }

    pub(super) fn peek_scalar(&self) -> Option<Scalar> {
        scalar_from(self.word_at(self.at)?)
    }

    pub(super) fn scalar(&mut self) -> Result<Scalar, ParseError> {
        let Some(scalar) = self.peek_scalar() else { return self.fail("a format (`i32`, `f64`, `ptr`)") };
        self.at += 1;
        Ok(scalar)
    }

    fn int_type(&mut self) -> Result<IntType, ParseError> {
        let Some(Scalar::Int(ty)) = self.peek_scalar() else { return self.fail("an integer format (`i32`)") };
        self.at += 1;
        Ok(ty)
    }

    fn binary_op(&mut self) -> Option<BinaryOp> {
        BINARY.iter().find(|(text, _)| self.punct(text)).map(|(_, op)| *op)
    }

    pub(super) fn expr(&mut self) -> Result<Expr, ParseError> {
        let lhs = self.operand()?;
        if let Some(op) = self.binary_op() {
            let site = self.site_or_edge();
            return Ok(Expr::Binary(op, Arc::new(lhs), Arc::new(self.operand()?), site));
        }
        if let Some((_, op)) = COMPARE.iter().find(|(text, _)| self.punct(text)) {
            return Ok(Expr::Compare(*op, Arc::new(lhs), Arc::new(self.operand()?)));
        }
        Ok(lhs)
    }

    /// A constant's digits, with its sign already read.
    fn constant(&mut self, negative: bool) -> Result<Expr, ParseError> {
        match self.peek().clone() {
            TokenKind::Int(magnitude, format) => {
                let ty = match scalar_from(&format) {
                    None if format.is_empty() => IntType::INT,
                    Some(Scalar::Int(ty)) => ty,
                    _ => return self.fail("an integer constant"),
                };
                self.at += 1;
                let value = magnitude as i128;
                Ok(Expr::Int(if negative { value.wrapping_neg() } else { value }, ty))
            }
            TokenKind::Float(..) => {
                let digits = self.float(negative)?;
                let TokenKind::Float(_, format) = &self.tokens[self.at - 1].kind else {
                    return self.fail("a format");
                };
                match scalar_from(format) {
                    Some(Scalar::Float(ty)) => self.float_in(digits, ty).map(Expr::Float),
                    _ => Err(self.error("a floating constant needs its format (`1.5f64`)".to_owned())),
                }
            }
            _ => self.fail("a constant"),
        }
    }

    /// `1.5`, `float(0x7ff0000000000000)` (bits of an `f64`), `float(bits 0x3fff8000000000000001)` (its own).
    pub(super) fn float(&mut self, negative: bool) -> Result<FloatDigits, ParseError> {
        if self.word("float") {
            self.expect("(")?;
            let digits = if self.word("bits") {
                FloatDigits::Bits(self.number("bits")?)
            } else {
                FloatDigits::Double(f64::from_bits(self.number("bits")?))
            };
            self.expect(")")?;
            return Ok(digits);
        }
        let TokenKind::Float(digits, _) = self.peek() else { return self.fail("a floating constant") };
        let Ok(value) = digits.parse::<f64>() else { return self.fail("a floating constant") };
        self.at += 1;
        Ok(FloatDigits::Double(if negative { -value } else { value }))
    }

    pub(super) fn float_in(&mut self, digits: FloatDigits, format: FloatType) -> Result<Float, ParseError> {
        digits
            .in_format(format)
            .ok_or_else(|| self.error("a constant that its format does not hold".to_owned()))
    }

    fn operand(&mut self) -> Result<Expr, ParseError> {
        if self.punct("-") {
            if matches!(self.peek(), TokenKind::Int(..) | TokenKind::Float(..)) {
                return self.constant(true);
            }
            let site = self.site_or_edge();
            return Ok(Expr::Unary(UnaryOp::Negate, Arc::new(self.operand()?), site));
        }
        if self.punct("~") {
            let site = self.site_or_edge();
            return Ok(Expr::Unary(UnaryOp::BitNot, Arc::new(self.operand()?), site));
        }
        if self.punct("&") {
            return Ok(Expr::Address(self.lvalue()?));
        }
        if self.peek_punct("(")
            && self.tokens.get(self.at + 1).map(|t| &t.kind) != Some(&TokenKind::Punct("*"))
        {
            self.expect("(")?;
            let inner = self.expr()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if matches!(self.peek(), TokenKind::Int(..) | TokenKind::Float(..)) {
            return self.constant(false);
        }
        if self.word("null") {
            return Ok(Expr::Null);
        }
        if self.word("fn") {
            return Ok(Expr::Function(self.name()?));
        }
        if self.word("overflows") {
            self.expect("(")?;
            let lhs = self.operand()?;
            let Some(op) = self.binary_op() else { return self.fail("an operator") };
            let rhs = self.operand()?;
            self.expect(")")?;
            return Ok(Expr::Overflows(op, Arc::new(lhs), Arc::new(rhs)));
        }
        if self.word("memory") {
            self.expect("(")?;
            let predicate =
                MemoryPredicate::ALL.iter().copied().find(|predicate| self.word(predicate.name()));
            let Some(predicate) = predicate else { return self.fail("what is asked of memory") };
            self.expect(",")?;
            let pointer = self.expr()?;
            self.expect(",")?;
            let size = self.expr()?;
            self.expect(")")?;
            return Ok(Expr::Memory(predicate, Arc::new(pointer), Arc::new(size)));
        }
        if self.word("distance") {
            self.expect("(")?;
            let lhs = self.expr()?;
            self.expect(",")?;
            let rhs = self.expr()?;
            self.expect_word("by")?;
            let stride = self.number("bytes")?;
            self.expect_word("in")?;
            let ty = self.int_type()?;
            self.expect(")")?;
            return Ok(Expr::PointerDifference(Arc::new(lhs), Arc::new(rhs), stride, ty));
        }
        if self.peek_word("float") {
            let digits = self.float(false)?;
            let Some(Scalar::Float(ty)) = self.peek_scalar() else { return self.fail("a floating format") };
            self.at += 1;
            return self.float_in(digits, ty).map(Expr::Float);
        }
        if let Some(scalar) = self.peek_scalar() {
            self.at += 1;
            let site = self.site_or_edge();
            self.expect("(")?;
            let arg = self.expr()?;
            self.expect(")")?;
            return Ok(Expr::Cast(scalar, Arc::new(arg), site));
        }
        Ok(Expr::Load(self.lvalue()?))
    }

    /// `%x` by name, or by number where names are not unique.
    pub(super) fn local(&mut self) -> Result<LocalId, ParseError> {
        let TokenKind::Local(text) = self.peek() else { return self.fail("a local (`%x`)") };
        let id = match text.parse::<u32>() {
            Ok(number) => LocalId(number),
            Err(_) => {
                let name = Name::new(text);
                match self.locals.iter().position(|local| local.name == name) {
                    Some(index) => LocalId(index as u32),
                    None => return Err(self.error(format!("no local is called `{name}`"))),
                }
            }
        };
        self.at += 1;
        Ok(id)
    }

    fn base(&mut self) -> Result<Base, ParseError> {
        if matches!(self.peek(), TokenKind::Local(_)) {
            return Ok(Base::Local(self.local()?));
        }
        if self.punct("(") {
            self.expect("*")?;
            let site = self.site_or_edge();
            let pointer = self.expr()?;
            self.expect(")")?;
            return Ok(Base::Deref(Arc::new(pointer), site));
        }
        if matches!(self.peek(), TokenKind::Word(_) | TokenKind::Quoted(_)) {
            return Ok(Base::Global(self.name()?));
        }
        self.fail("an expression")
    }

    pub(super) fn lvalue(&mut self) -> Result<Lvalue, ParseError> {
        let start = self.at;
        let base = self.base()?;
        let mut ty = self.surroundings.base_type(&base, &self.locals);
        let mut path = Vec::new();
        loop {
            if self.punct(".") {
                let name = self.name()?;
                let (record, offset) = if self.punct("(") {
                    let record = self.record_tag()?;
                    self.expect_word("at")?;
                    let offset = self.number("an offset")?;
                    self.expect(")")?;
                    (record, offset)
                } else {
                    match self.surroundings.field(ty, name) {
                        Some((record, offset, _)) => (record, offset),
                        None => {
                            return Err(
                                self.error(format!("the place of `{name}` must be said: `(struct s at 0)`"))
                            );
                        }
                    }
                };
                ty = self.surroundings.field_type(record, name);
                path.push(Step::Field { record, name, offset });
            } else if self.punct("[") {
                let (inner, mut stride, mut length) = self.surroundings.element(ty);
                let index = Arc::new(self.expr()?);
                if self.word("by") {
                    stride = self.number("a stride")?;
                }
                if self.word("of") {
                    length = if self.punct("?") { None } else { Some(self.number("a length")?) };
                }
                self.expect("]")?;
                let site = self.site_or_edge();
                path.push(Step::Index { index, stride, length, site });
                ty = inner;
            } else {
                break;
            }
        }
        let annotated = self.punct("{");
        let says_type = annotated
            && !self.peek_punct("}")
            && !["as", "size", "bits"].iter().any(|word| self.peek_word(word));
        if says_type {
            ty = Some(self.ty()?);
        }
        let Some(ty) = ty else {
            self.at = start;
            return Err(self.error("the type must be said: `{int}`".to_owned()));
        };
        let size = self.surroundings.lvalue_size(&base, path.is_empty(), ty, &self.locals);
        let scalar = self.surroundings.scalar(ty);
        let bits = self.surroundings.bits(&path);
        let mut lvalue = Lvalue { base, path, ty, scalar, bits, size: 0 };
        let mut said_size = None;
        if annotated {
            if self.word("as") {
                lvalue.scalar = if self.punct("?") { None } else { Some(self.scalar()?) };
            }
            if self.word("size") {
                said_size = Some(self.number("bytes")?);
            }
            if self.word("bits") {
                lvalue.bits = if self.punct("?") {
                    None
                } else {
                    Some(BitField { first: self.number("a bit")?, width: self.number("a width")? })
                };
            }
            self.expect("}")?;
        }
        lvalue.size = said_size.unwrap_or(lvalue.bits.map_or(size, bytes_of));
        Ok(lvalue)
    }
}
