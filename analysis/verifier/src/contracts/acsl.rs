//! Contracts in the text: the part of ACSL that Proofline writes itself. `requires` before a function, over its parameters:
//! `\valid(p)`, `\valid(p + (0 .. n - 1))`, `\valid_read`, `valid_read_string(s)`, `valid_structure(p)`, comparisons, `&&`, and
//! `p == \null ||` before what is asked of a pointer. What cannot be read is said, and is not assumed.

use std::sync::Arc;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, IntType, Lvalue, Program, Scalar, Site, scalar_of};

use super::{Asked, Contract, Memory, origin::types};

/// What an annotation says, and what of it was not understood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// What was.
    pub contract: Contract,
    /// What was not, one sentence each.
    pub problems: Vec<String>,
}

/// The annotation in front of a function, as it stands in the text: `before` is the text up to the function's name.
pub fn in_front(before: &str) -> Option<&str> {
    let start = before.rfind("/*@")?;
    let (inside, rest) = before[start + 3..].split_once("*/")?;
    let is_declaration = !rest.contains([';', '{', '}', '#', '"']);
    is_declaration.then_some(inside)
}

/// Reads an annotation of a function, without its delimiters.
pub fn read(program: &Program, function: &Function, text: &str) -> Written {
    let mut written = Written::default();
    for clause in text.replace('@', " ").split(';').map(str::trim).filter(|clause| !clause.is_empty()) {
        let Some(demand) = clause.strip_prefix("requires").filter(|rest| !rest.starts_with(is_word)) else {
            let word = clause.split_whitespace().next().unwrap_or_default();
            if !matches!(word, "assigns") {
                written.problems.push(format!("`{word}` is not read yet, so nothing rests on `{clause}`"));
            }
            continue;
        };
        let mut reader =
            Reader { program, function, tokens: tokens(demand), at: 0, contract: Contract::default() };
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
            let long =
                ["==>", "&&", "||", "==", "!=", "<=", ">=", ".."].iter().find(|op| rest.starts_with(**op));
            long.map_or(first.len_utf8(), |op| op.len())
        };
        let (token, behind) = rest.split_at(length);
        out.push(token.to_owned());
        rest = behind.trim_start();
    }
    out
}

type Read<T> = Result<T, String>;

struct Reader<'r> {
    program: &'r Program,
    function: &'r Function,
    tokens: Vec<String>,
    at: usize,
    contract: Contract,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.tokens.get(self.at - 1).cloned().unwrap_or_default()
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek(0) == token;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Read<()> {
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
        let lhs = self.sum()?;
        let op = match self.next().as_str() {
            "==" => CompareOp::Eq,
            "!=" => CompareOp::Ne,
            "<" => CompareOp::Lt,
            "<=" => CompareOp::Le,
            ">" => CompareOp::Gt,
            ">=" => CompareOp::Ge,
            other => return Err(format!("a comparison is missing before `{other}`")),
        };
        let rhs = self.sum()?;
        let (lhs, rhs) = balanced(lhs, rhs);
        self.contract.conditions.push(Expr::Compare(op, Arc::new(lhs), Arc::new(rhs)));
        if self.is_operator() {
            return Err("comparisons in a row are not read".into());
        }
        Ok(())
    }

    fn is_operator(&self) -> bool {
        matches!(self.peek(0), "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "==>" | "||")
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

    fn sum(&mut self) -> Read<Expr> {
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
                (Expr::Int(a, _), Expr::Int(b, _), BinaryOp::Add) => Expr::Int(a + b, WIDE),
                (Expr::Int(a, _), Expr::Int(b, _), _) => Expr::Int(a - b, WIDE),
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
            (Expr::Int(a, _), Expr::Int(b, _)) => a
                .checked_mul(*b)
                .map(|product| Expr::Int(product, WIDE))
                .ok_or_else(|| "the product is too large".into()),
            _ if is_long(&lhs) || is_long(&rhs) => Err(LONG.into()),
            (Expr::Int(..), _) | (_, Expr::Int(..)) => {
                Ok(Expr::Binary(BinaryOp::Mul, Arc::new(wide(lhs)), Arc::new(wide(rhs)), Site::NOWHERE))
            }
            _ => Err("products of variables are not read".into()),
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
                Expr::Int(value, ty) => Ok(Expr::Int(-value, ty)),
                _ => Err("`-` is read before numbers only".into()),
            };
        }
        if let Ok(number) = token.parse::<i64>() {
            return Ok(Expr::Int(i128::from(number), WIDE));
        }
        let at = self.parameter(&token).ok_or_else(|| {
            if token.is_empty() {
                "something is missing".to_owned()
            } else {
                format!("`{token}` is no parameter")
            }
        })?;
        let id = self.function.parameters[at];
        let local = self.function.local(id);
        match scalar_of(local.ty, self.program.data_model) {
            Some(scalar @ Scalar::Int(ty)) if ty.bits <= 64 => {
                Ok(Expr::Load(Lvalue::local(id, local.ty, scalar, local.size)))
            }
            Some(_) | None => Err(format!("`{token}` is no number")),
        }
    }
}

const WIDE: IntType = IntType { bits: 64, signed: true };

fn wide(expr: Expr) -> Expr {
    match expr {
        Expr::Int(value, _) => Expr::Int(value, WIDE),
        _ if expr.int_type() == Some(WIDE) => expr,
        _ => Expr::Cast(Scalar::Int(WIDE), Arc::new(expr), Site::NOWHERE),
    }
}

/// Both in one type: that of a parameter where the other side fits, otherwise the widest.
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
        _ => (wide(lhs), wide(rhs)),
    }
}

/// ACSL's numbers are whole numbers of any size; here they have 64 bits.
const LONG: &str = "sums and products of numbers of 64 bits are not read";

/// Whether a sum with this value may have more than 64 bits.
fn is_long(expr: &Expr) -> bool {
    matches!(expr, Expr::Load(_)) && expr.int_type().is_none_or(|ty| ty.bits > 32)
}

/// One more than the last number of a range.
fn next_number(last: Expr) -> Read<Expr> {
    Ok(match last {
        Expr::Int(value, ty) => Expr::Int(value + 1, ty),
        Expr::Binary(BinaryOp::Sub, count, one, _) if matches!(*one, Expr::Int(1, _)) => Expr::clone(&count),
        other if is_long(&other) => return Err(LONG.into()),
        other => {
            Expr::Binary(BinaryOp::Add, Arc::new(wide(other)), Arc::new(Expr::Int(1, WIDE)), Site::NOWHERE)
        }
    })
}
