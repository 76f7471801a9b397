//! Contracts in the text: the part of ACSL that Proofline writes itself. `requires` before a function, over its parameters:
//! `\valid(p)`, `\valid(p + (0 .. n - 1))`, `\valid_read`, `\freeable(p)`, `valid_read_string(s)`, `valid_structure(p)`, `owned_structure(p, member, …)`,
//! `owned_members(p, member, …)`, comparisons, `&&`, and
//! `p == \null ||` before what is asked of a pointer; what holds of a record (`p->m <= p->n`, `\valid(p->m + (0 .. p->n - 1))`), also behind `ensures`.
//! Otherwise `ensures` is a formula (`ensures.rs`). What cannot be read is said, and is not assumed.

mod records;

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{
    BinaryOp, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Program, Scalar, Site, scalar_of,
};

use super::{Asked, Contract, Memory, Tree, bytes::product, origin::types, owned};

/// What an annotation says, and what of it was not understood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// What was.
    pub contract: Contract,
    /// What holds where the function returns: formulas over the parameters as they were passed and the result, each with its text.
    pub ensures: Vec<(String, Expr)>,
    /// What was not, one sentence each.
    pub problems: Vec<String>,
}

/// The annotation in front of a function, as it stands in the text: `before` is the text up to the function's name.
pub fn in_front(before: &str) -> Option<&str> {
    let end = before.rfind([';', '{', '}', '#', '"', '/']).filter(|at| before[..*at].ends_with('*'))?;
    let comment = &before[..end - 1];
    let inside = comment.get(comment.rfind("/*")? + 2..)?;
    inside.strip_prefix('@')
}

/// Whether annotations stand in a text.
pub fn is_in(text: &str) -> bool {
    text.contains("/*@")
}

/// Reads an annotation of a function, without its delimiters.
pub fn read(program: &Program, function: &Function, text: &str) -> Written {
    let mut written = Written::default();
    for clause in text.replace('@', " ").split(';').map(str::trim).filter(|clause| !clause.is_empty()) {
        let after = |word| clause.strip_prefix(word).filter(|rest: &&str| !rest.starts_with(is_word));
        if let Some(promise) = after("ensures") {
            let mut reader = Reader { is_after: true, ..Reader::new(program, function, promise) };
            let facts = reader.facts();
            if reader.at == reader.tokens.len() {
                for (at, fact) in facts {
                    written.contract.records.entry(at).or_default().left.insert(fact);
                }
                continue;
            }
            reader.at = 0;
            match reader.formula() {
                Ok(formula) if reader.at == reader.tokens.len() => {
                    written.ensures.push((promise.trim().to_owned(), formula));
                }
                Ok(_) => written.problems.push(format!(
                    "`{}` was not expected in `{clause}`, so nobody checks it",
                    reader.peek(0)
                )),
                Err(why) => written.problems.push(format!("{why} in `{clause}`, so nobody checks it")),
            }
            continue;
        }
        let Some(demand) = after("requires") else {
            let word = clause.split_whitespace().next().unwrap_or_default();
            if !matches!(word, "assigns") {
                written.problems.push(format!("`{word}` is not read yet, so nothing rests on `{clause}`"));
            }
            continue;
        };
        let mut reader = Reader::new(program, function, demand);
        match reader.conjunction() {
            Ok(()) if reader.at == reader.tokens.len() => merge(&mut written, reader.contract, clause),
            Ok(()) => {
                let token = reader.tokens[reader.at].clone();
                written
                    .problems
                    .push(format!("`{token}` was not expected in `{clause}`, so nothing rests on it"));
            }
            Err(why) => written.problems.push(format!("{why} in `{clause}`, so nothing rests on it")),
        }
    }
    written.contract.is_written = true;
    written
}

fn merge(written: &mut Written, contract: Contract, clause: &str) {
    for (at, asked) in contract.pointers {
        match written.contract.pointers.get_mut(&at) {
            None => {
                written.contract.pointers.insert(at, asked);
            }
            Some(known) => {
                if !joined(known, asked) {
                    written
                        .problems
                        .push(format!("one demand is read for each pointer, and `{clause}` has another one"));
                }
            }
        }
    }
    written.contract.conditions.extend(contract.conditions);
    written.contract.separated.extend(contract.separated);
    for (at, of) in contract.records {
        written.contract.records.entry(at).or_default().asked.extend(of.asked);
    }
}

/// Adds a demand on the same pointer; whether both can be said at once.
fn joined(known: &mut Asked, new: Asked) -> bool {
    known.or_null &= new.or_null;
    if known.memory == Memory::Nothing {
        known.memory = new.memory;
        return true;
    }
    new.memory == Memory::Nothing || new.memory == known.memory
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\\'
}

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            let long = ["==>", "->", "&&", "||", "==", "!=", "<=", ">=", ".."]
                .iter()
                .find(|op| rest.starts_with(**op));
            long.map_or(first.len_utf8(), |op| op.len())
        };
        let (token, behind) = rest.split_at(length);
        out.push(token.to_owned());
        rest = behind.trim_start();
    }
    out
}

pub(super) type Read<T> = Result<T, String>;

pub(super) struct Reader<'r> {
    pub(super) program: &'r Program,
    pub(super) function: &'r Function,
    tokens: Vec<String>,
    at: usize,
    /// It is about the moment at which the function returns.
    is_after: bool,
    contract: Contract,
}

impl<'r> Reader<'r> {
    fn new(program: &'r Program, function: &'r Function, text: &str) -> Reader<'r> {
        Reader {
            program,
            function,
            tokens: tokens(text),
            at: 0,
            is_after: false,
            contract: Contract::default(),
        }
    }
}

impl Reader<'_> {
    pub(super) fn mark(&self) -> usize {
        self.at
    }

    pub(super) fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    pub(super) fn accept(&mut self, token: &str) -> bool {
        let found = self.peek(0) == token;
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Read<()> {
        if self.accept(token) {
            return Ok(());
        }
        let found = self.peek(0);
        Err(if found.is_empty() {
            format!("`{token}` is missing")
        } else {
            format!("`{token}` is missing before `{found}`")
        })
    }

    fn conjunction(&mut self) -> Read<()> {
        self.demand()?;
        while self.accept("&&") {
            self.demand()?;
        }
        Ok(())
    }

    fn demand(&mut self) -> Read<()> {
        if let Some((at, fact)) = self.fact() {
            self.contract.records.entry(at).or_default().asked.insert(fact);
            return Ok(());
        }
        if self.peek(0) == "(" {
            let is_alternative = (self.peek(2), self.peek(3), self.peek(4)) == ("==", "\\null", "||");
            if is_alternative {
                self.at += 1;
                let pointer = self.pointer()?;
                self.at += 3;
                let (at, memory) = self.memory()?.ok_or("what is asked of the pointer was not understood")?;
                if at != pointer {
                    return Err("both sides of `||` must be about one pointer".into());
                }
                if matches!(memory, Memory::Until(_)) {
                    return Err("a range up to a pointer is not read behind `||`".into());
                }
                self.ask(at, Asked { memory, or_null: true })?;
                return self.expect(")");
            }
            let start = self.at;
            self.at += 1;
            if self.conjunction().is_ok() && self.accept(")") && !self.is_operator() {
                return Ok(());
            }
            self.at = start;
        }
        if let Some((at, memory)) = self.memory()? {
            return self.ask(at, Asked { memory, or_null: false });
        }
        if self.peek(1) == "!=" && self.peek(2) == "\\null" || self.is_null_test() {
            let pointer = self.pointer()?;
            self.at += 2;
            return self.ask(pointer, Asked { memory: Memory::Nothing, or_null: false });
        }
        if self.peek(0) == "!" && self.peek(1) == "\\is_NaN" {
            self.at += 2;
            self.expect("(")?;
            let name = self.next();
            let local = self.parameter_local(&name).ok_or_else(|| format!("`{name}` is no parameter"))?;
            let condition = is_number(self.program, self.function, local);
            self.contract
                .conditions
                .push(condition.ok_or_else(|| format!("`{name}` is no floating number"))?);
            return self.expect(")");
        }
        if self.peek(0) == "\\separated" {
            self.at += 1;
            self.expect("(")?;
            let one = self.pointer()?;
            self.expect(",")?;
            let other = self.pointer()?;
            self.contract.separated.insert((one, other));
            return self.expect(")");
        }
        let lhs = self.sum()?;
        let Some(op) = self.comparison_operator() else {
            return Err(format!("a comparison is missing before `{}`", self.peek(0)));
        };
        let rhs = self.sum()?;
        self.contract.conditions.push(comparison(op, lhs, rhs)?);
        if self.is_operator() {
            return Err("comparisons in a row are not read".into());
        }
        Ok(())
    }

    fn is_operator(&self) -> bool {
        matches!(self.peek(0), "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "==>" | "||")
    }

    /// Whether a sum or a comparison goes on here.
    pub(super) fn is_arithmetic(&self) -> bool {
        matches!(self.peek(0), "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*")
    }

    pub(super) fn comparison_operator(&mut self) -> Option<CompareOp> {
        let op = match self.peek(0) {
            "==" => CompareOp::Eq,
            "!=" => CompareOp::Ne,
            "<" => CompareOp::Lt,
            "<=" => CompareOp::Le,
            ">" => CompareOp::Gt,
            ">=" => CompareOp::Ge,
            _ => return None,
        };
        self.at += 1;
        Some(op)
    }

    pub(super) fn parameter_local(&self, name: &str) -> Option<LocalId> {
        Some(self.function.parameters[self.parameter(name)?])
    }

    /// `p != NULL`, as C says it.
    fn is_null_test(&self) -> bool {
        self.peek(1) == "!="
            && matches!(self.peek(2), "NULL" | "0")
            && self.parameter(self.peek(0)).is_some_and(|at| self.is_pointer(at))
    }

    fn is_pointer(&self, at: usize) -> bool {
        self.function.local(self.function.parameters[at]).ty.pointee().is_some()
    }

    fn ask(&mut self, at: usize, asked: Asked) -> Read<()> {
        match self.contract.pointers.get_mut(&at) {
            None => {
                self.contract.pointers.insert(at, asked);
                Ok(())
            }
            Some(known) => match joined(known, asked) {
                true => Ok(()),
                false => Err("one demand is read for each pointer".into()),
            },
        }
    }

    fn parameter(&self, name: &str) -> Option<usize> {
        self.function.parameters.iter().position(|id| self.function.local(*id).name.as_str() == name)
    }

    fn pointer(&mut self) -> Read<usize> {
        let name = self.next();
        let at = self.parameter(&name).ok_or_else(|| format!("`{name}` is no parameter"))?;
        if self.is_pointer(at) { Ok(at) } else { Err(format!("`{name}` is no pointer")) }
    }

    /// What is asked of a pointer's memory, if that stands here.
    fn memory(&mut self) -> Read<Option<(usize, Memory)>> {
        let memory = match self.peek(0) {
            "valid_read_string" | "valid_string" => Memory::String,
            "valid_structure" => Memory::Structure,
            "\\freeable" => Memory::Allocated,
            "owned_structure" | "owned_members" => return self.tree().map(Some),
            "\\valid" | "\\valid_read" => {
                self.at += 1;
                self.expect("(")?;
                let found = self.bytes()?;
                self.expect(")")?;
                return Ok(Some(found));
            }
            _ => return Ok(None),
        };
        self.at += 1;
        self.expect("(")?;
        let at = self.pointer()?;
        self.expect(")")?;
        Ok(Some((at, memory)))
    }

    /// `owned_structure(p, member, …)`: what the members lead to belongs to `p`.
    fn tree(&mut self) -> Read<(usize, Memory)> {
        let is_allocated = self.next() == "owned_structure";
        self.expect("(")?;
        let at = self.pointer()?;
        let pointee = self.function.local(self.function.parameters[at]).ty.pointee();
        let mut members = BTreeSet::new();
        while self.peek(0) == "," {
            self.at += 1;
            let name = self.next();
            let found = pointee.map(|ty| owned::members_named(self.program, ty, &name)).unwrap_or_default();
            if found.is_empty() {
                return Err(format!("`{name}` is no member that is a pointer"));
            }
            members.extend(found);
        }
        self.expect(")")?;
        Ok((at, Memory::Tree(Tree { members, is_allocated })))
    }

    /// `p`, or `p + (0 .. n - 1)`.
    fn bytes(&mut self) -> Read<(usize, Memory)> {
        let is_cast =
            self.peek(0) == "(" && self.peek(1) == "char" && self.peek(2) == "*" && self.peek(3) == ")";
        self.at += if is_cast { 4 } else { 0 };
        let at = self.pointer()?;
        let pointee = self.function.local(self.function.parameters[at]).ty.pointee();
        let size = pointee.and_then(|pointee| types(self.program).size(pointee)).filter(|size| *size > 0);
        let stride =
            if is_cast { 1 } else { size.ok_or("the size of what the pointer points to is not known")? };
        if !self.accept("+") {
            return Ok((at, Memory::Bytes(stride)));
        }
        self.expect("(")?;
        let from = self.next();
        if from != "0" {
            return Err(format!("ranges begin at 0, not at `{from}`"));
        }
        self.expect("..")?;
        if !is_cast && let Some(end) = self.end_of(at) {
            self.at += 5;
            self.expect(")")?;
            return Ok((at, Memory::Until(end)));
        }
        let is_one_less = (self.peek(1), self.peek(2), self.peek(3)) == ("-", "1", ")")
            && self.parameter(self.peek(0)).is_some();
        let count = if is_one_less {
            let count = self.value()?;
            self.at += 2;
            count
        } else {
            next_number(self.sum()?)?
        };
        self.expect(")")?;
        let memory = match count {
            Expr::Int(count, _) if count > 0 => {
                let count = u64::try_from(count).ok().and_then(|count| count.checked_mul(stride));
                Memory::Bytes(count.ok_or("the range is too large")?)
            }
            Expr::Int(..) => return Err("the range is empty".into()),
            count => Memory::Elements(count, stride),
        };
        Ok((at, memory))
    }

    /// The pointer `end` in `end - p - 1`, if that stands here.
    fn end_of(&self, start: usize) -> Option<usize> {
        let name = self.function.local(self.function.parameters[start]).name;
        let rest = (self.peek(1), self.peek(2), self.peek(3), self.peek(4), self.peek(5));
        let end = self.parameter(self.peek(0)).filter(|_| rest == ("-", name.as_str(), "-", "1", ")"))?;
        is_end(self.function, start, end).then_some(end)
    }

    pub(super) fn sum(&mut self) -> Read<Expr> {
        let mut sum = self.product()?;
        loop {
            let op = match self.peek(0) {
                "+" => BinaryOp::Add,
                "-" => BinaryOp::Sub,
                _ => return Ok(sum),
            };
            self.at += 1;
            let rhs = self.product()?;
            sum = match (&sum, &rhs, op) {
                (Expr::Int(a, _), Expr::Int(b, _), BinaryOp::Add) => literal(a + b)?,
                (Expr::Int(a, _), Expr::Int(b, _), _) => literal(a - b)?,
                _ if is_long(&sum) || is_long(&rhs) => return Err(LONG.into()),
                _ => Expr::Binary(op, Arc::new(wide(sum)), Arc::new(wide(rhs)), Site::NOWHERE),
            };
        }
    }

    fn product(&mut self) -> Read<Expr> {
        let lhs = self.value()?;
        if !self.accept("*") {
            return Ok(lhs);
        }
        let rhs = self.value()?;
        match (&lhs, &rhs) {
            (Expr::Int(a, _), Expr::Int(b, _)) => a.checked_mul(*b).ok_or(LONG.into()).and_then(literal),
            _ if is_long(&lhs) || is_long(&rhs) => Err(LONG.into()),
            (Expr::Int(by, _), Expr::Load(_)) | (Expr::Load(_), Expr::Int(by, _)) if by.abs() < SMALL => {
                Ok(Expr::Binary(BinaryOp::Mul, Arc::new(wide(lhs)), Arc::new(wide(rhs)), Site::NOWHERE))
            }
            (Expr::Load(_), Expr::Load(_)) => product(&lhs, &rhs).ok_or(LONG.into()),
            _ => Err("products are read of two parameters, or of one and a number that is not large".into()),
        }
    }

    fn value(&mut self) -> Read<Expr> {
        let token = self.next();
        if token == "(" {
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if token == "-" {
            return match self.value()? {
                Expr::Int(value, _) => literal(-value),
                value if is_long(&value) => Err(LONG.into()),
                value => {
                    let zero = Arc::new(Expr::Int(0, WIDE));
                    Ok(Expr::Binary(BinaryOp::Sub, zero, Arc::new(wide(value)), Site::NOWHERE))
                }
            };
        }
        if let Ok(number) = token.parse::<i64>() {
            return Ok(Expr::Int(i128::from(number), WIDE));
        }
        if let Ok(number) = token.parse::<u64>() {
            return literal(i128::from(number));
        }
        if self.is_after && token == "\\old" {
            self.expect("(")?;
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let result = self.function.result.filter(|_| self.is_after && token == "\\result");
        let id = result.or_else(|| self.parameter_local(&token)).ok_or_else(|| match token.as_str() {
            "" => "something is missing".to_owned(),
            "\\result" => "there is no `\\result`".to_owned(),
            _ => format!("`{token}` is no parameter"),
        })?;
        let local = self.function.local(id);
        match scalar_of(local.ty, self.program.data_model) {
            Some(scalar @ Scalar::Int(ty)) if ty.bits <= 64 => {
                Ok(Expr::Load(Lvalue::local(id, local.ty, scalar, local.size)))
            }
            Some(_) | None => Err(format!("`{token}` is no number")),
        }
    }
}

/// Whether a range of elements may reach from one parameter to another: both point to elements of one type.
pub(super) fn is_end(function: &Function, start: usize, end: usize) -> bool {
    let pointee = |at: usize| {
        let local = function.local(*function.parameters.get(at)?);
        local.ty.pointee().map(proofline_cfa::Type::unqualified).filter(|_| !local.address_taken)
    };
    start != end && pointee(start).is_some() && pointee(start) == pointee(end)
}

/// A number of the text, in 64 bits.
/// That a floating-point parameter is not NaN: it equals itself.
pub(super) fn is_number(program: &Program, function: &Function, id: LocalId) -> Option<Expr> {
    let local = function.local(id);
    let scalar =
        scalar_of(local.ty, program.data_model).filter(|scalar| matches!(scalar, Scalar::Float(_)))?;
    let value = Arc::new(Expr::Load(Lvalue::local(id, local.ty, scalar, local.size)));
    Some(Expr::Compare(CompareOp::Eq, value.clone(), value))
}

fn literal(value: i128) -> Read<Expr> {
    let unsigned = IntType { bits: 64, signed: false };
    let ty = [WIDE, unsigned].into_iter().find(|ty| ty.contains(value));
    ty.map(|ty| Expr::Int(value, ty)).ok_or_else(|| LONG.into())
}

const WIDE: IntType = IntType { bits: 64, signed: true };

fn wide(expr: Expr) -> Expr {
    match expr {
        Expr::Int(value, _) => Expr::Int(value, WIDE),
        _ if expr.int_type() == Some(WIDE) => expr,
        _ => Expr::Cast(Scalar::Int(WIDE), Arc::new(expr), Site::NOWHERE),
    }
}

/// What ACSL means by a comparison, whose numbers are whole numbers of any size.
pub(super) fn comparison(op: CompareOp, lhs: Expr, rhs: Expr) -> Read<Expr> {
    let (lhs, rhs) = balanced(lhs, rhs);
    match (lhs.int_type(), rhs.int_type()) {
        (Some(left), Some(right)) if left == right => Ok(Expr::Compare(op, Arc::new(lhs), Arc::new(rhs))),
        _ => {
            Err("a comparison of an unsigned number of 64 bits with one that may be negative is not read"
                .into())
        }
    }
}

/// Both in one type that holds both: that of a parameter where the other side fits, otherwise the widest; as they are where there is none.
fn balanced(lhs: Expr, rhs: Expr) -> (Expr, Expr) {
    match (&lhs, &rhs) {
        (_, Expr::Int(value, _)) if lhs.int_type().is_some_and(|ty| ty.contains(*value)) => {
            let ty = lhs.int_type().unwrap_or(WIDE);
            (lhs.clone(), Expr::Int(*value, ty))
        }
        (Expr::Int(value, _), _) if rhs.int_type().is_some_and(|ty| ty.contains(*value)) => {
            let ty = rhs.int_type().unwrap_or(WIDE);
            (Expr::Int(*value, ty), rhs.clone())
        }
        _ if lhs.int_type() == rhs.int_type() => (lhs, rhs),
        _ if [&lhs, &rhs].iter().any(|side| side.int_type().is_none_or(|ty| ty.bits > 63 && !ty.signed)) => {
            (lhs, rhs)
        }
        _ => (wide(lhs), wide(rhs)),
    }
}

/// Sums of products with such numbers have 64 bits.
const SMALL: i128 = 1 << 24;

/// ACSL's numbers are whole numbers of any size; here they have 64 bits.
const LONG: &str = "sums and products of numbers of 64 bits are not read";

/// Whether a sum with this value may have more than 64 bits.
fn is_long(expr: &Expr) -> bool {
    match expr {
        Expr::Load(_) => expr.int_type().is_none_or(|ty| ty.bits > 32),
        Expr::Int(value, _) => *value > WIDE.max(),
        _ => false,
    }
}

/// One more than the last number of a range.
pub(super) fn next_number(last: Expr) -> Read<Expr> {
    Ok(match last {
        Expr::Int(value, _) => literal(value + 1)?,
        Expr::Binary(BinaryOp::Sub, count, one, _) if matches!(*one, Expr::Int(1, _)) => Expr::clone(&count),
        other if is_long(&other) => return Err(LONG.into()),
        other => {
            Expr::Binary(BinaryOp::Add, Arc::new(wide(other)), Arc::new(Expr::Int(1, WIDE)), Site::NOWHERE)
        }
    })
}
