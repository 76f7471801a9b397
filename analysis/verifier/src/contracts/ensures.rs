//! What a function ensures, as ACSL says it: a formula over the parameters as they were passed, and the result. Reads `==>`, `||`, `&&`, `!`, comparisons
//! (also in a row), `\old`, `\result`, `\null`, `\valid`, `\valid_read` and `valid_read_string`. What cannot be read is said.

use std::sync::Arc;

use proofline_cfa::{CompareOp, Expr, Lvalue, MemoryPredicate, Program, Scalar, Site, visit};

use super::{
    acsl::{Read, Reader, comparison, next_number},
    bytes::{and, at_most, compare, is_not_null, number, or, times, truth, widened},
    origin::types,
};

impl Reader<'_> {
    /// A whole formula. Its value is 0 or 1.
    pub(super) fn formula(&mut self) -> Read<Expr> {
        let lhs = self.disjunction()?;
        if !self.accept("==>") {
            return Ok(lhs);
        }
        let rhs = self.formula()?;
        Ok(or(not(&lhs)?, rhs))
    }

    fn disjunction(&mut self) -> Read<Expr> {
        let mut all = self.conjunction_of_formulas()?;
        while self.accept("||") {
            all = or(all, self.conjunction_of_formulas()?);
        }
        Ok(all)
    }

    fn conjunction_of_formulas(&mut self) -> Read<Expr> {
        let mut all = self.atom()?;
        while self.accept("&&") {
            all = and(all, self.atom()?);
        }
        Ok(all)
    }

    fn atom(&mut self) -> Read<Expr> {
        if self.peek(0) == "!" {
            self.accept("!");
            return not(&self.atom()?);
        }
        if self.peek(0) == "(" {
            let start = self.mark();
            self.accept("(");
            let inner = self.formula();
            if inner.is_ok() && self.accept(")") && !self.is_arithmetic() {
                return inner;
            }
            // Then it is the number in front of a comparison.
            self.reset(start);
            return self.comparisons().map_err(|why| inner.err().unwrap_or(why));
        }
        if let Some(memory) = self.memory_of_result()? {
            return Ok(memory);
        }
        self.comparisons()
    }

    /// `a <= b`, `a <= b < c`.
    fn comparisons(&mut self) -> Read<Expr> {
        let mut lhs = self.operand()?;
        let mut all = None;
        while let Some(op) = self.comparison_operator() {
            let rhs = self.operand()?;
            let one = match (lhs.scalar(), rhs.scalar()) {
                (Scalar::Pointer, Scalar::Pointer) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                    Expr::Compare(op, Arc::new(lhs), Arc::new(rhs.clone()))
                }
                (Scalar::Int(_), Scalar::Int(_)) => comparison(op, lhs, rhs.clone())?,
                _ => return Err("a pointer is compared with a number, or by order".into()),
            };
            all = Some(match all {
                None => one,
                Some(before) => and(before, one),
            });
            lhs = rhs;
        }
        all.ok_or_else(|| format!("a comparison is missing before `{}`", self.peek(0)))
    }

    /// A number or a pointer.
    fn operand(&mut self) -> Read<Expr> {
        let start = self.mark();
        match self.pointer_value() {
            Some(pointer) => Ok(pointer),
            None => {
                self.reset(start);
                self.sum()
            }
        }
    }

    /// `\null`, a pointer parameter as it was passed, or the result if it is a pointer.
    fn pointer_value(&mut self) -> Option<Expr> {
        if self.accept("\\null") || self.accept("NULL") {
            return Some(Expr::Null);
        }
        if self.accept("\\old") {
            let inner = self.accept("(").then(|| self.pointer_value())??;
            return self.accept(")").then_some(inner);
        }
        let name = self.peek(0).to_owned();
        let id = if name == "\\result" { self.function.result } else { self.parameter_local(&name) }?;
        let local = self.function.local(id);
        local.ty.pointee()?;
        self.accept(&name);
        Some(Expr::Load(Lvalue::local(id, local.ty, Scalar::Pointer, local.size)))
    }

    /// `\valid(\result + (0 .. n - 1))` and its kin.
    fn memory_of_result(&mut self) -> Read<Option<Expr>> {
        let is_string = matches!(self.peek(0), "valid_read_string" | "valid_string");
        if !is_string && !matches!(self.peek(0), "\\valid" | "\\valid_read") {
            return Ok(None);
        }
        let word = self.peek(0).to_owned();
        self.accept(&word);
        self.expect("(")?;
        let is_cast = (self.peek(0), self.peek(1), self.peek(2), self.peek(3)) == ("(", "char", "*", ")");
        if is_cast {
            (0..4).for_each(|_| self.skip());
        }
        let pointer = self.pointer_value().filter(|pointer| *pointer != Expr::Null);
        let pointer = pointer.ok_or("what is asked of a pointer here is not read")?;
        let Expr::Load(Lvalue { ty, .. }) = &pointer else { return Err("a pointer is missing".into()) };
        let size =
            ty.pointee().and_then(|pointee| types(self.program).size(pointee)).filter(|size| *size > 0);
        let stride = match (is_cast, size) {
            (true, _) => 1,
            (false, Some(size)) => size,
            (false, None) if is_string => 1,
            (false, None) => return Err("the size of what the pointer points to is not known".into()),
        };
        let mut count = None;
        if self.accept("+") {
            self.expect("(")?;
            self.expect("0")?;
            self.expect("..")?;
            count = Some(next_number(self.sum()?)?);
            self.expect(")")?;
        }
        self.expect(")")?;
        if is_string {
            return match count {
                None => {
                    Ok(Some(alive_and(&pointer, of(&pointer, MemoryPredicate::Terminated, Expr::int(0)))))
                }
                Some(_) => Err("strings have no range".into()),
            };
        }
        Ok(Some(alive_and(&pointer, room(self.program, &pointer, count.as_ref(), stride))))
    }
}

/// Room for so many elements (one, if no number is given) behind a pointer; none, if the number is not positive.
pub(super) fn room(program: &Program, pointer: &Expr, count: Option<&Expr>, stride: u64) -> Expr {
    let bytes = |size: Expr| {
        let size = match size {
            Expr::Int(value, _) => Expr::Int(value, program.size_type()),
            size if size.int_type() == Some(program.size_type()) => size,
            size => Expr::Cast(Scalar::Int(program.size_type()), Arc::new(size), Site::NOWHERE),
        };
        of(pointer, MemoryPredicate::InBounds, size)
    };
    match count {
        None => bytes(number(i128::from(stride))),
        Some(Expr::Int(count, _)) if *count <= 0 => truth(true),
        Some(Expr::Int(count, _)) => bytes(number(count * i128::from(stride))),
        Some(count) => {
            let fits = at_most(widened(count), number(super::bytes::MOST / i128::from(stride.max(1))));
            let is_there = and(fits, bytes(times(widened(count), stride)));
            let zero = count.zero();
            or(compare(CompareOp::Le, count.clone(), zero), is_there)
        }
    }
}

/// A condition on the memory behind a pointer.
pub(super) fn of(pointer: &Expr, predicate: MemoryPredicate, size: Expr) -> Expr {
    Expr::Memory(predicate, Arc::new(pointer.clone()), Arc::new(size))
}

/// What is said of the memory behind a pointer, which is not null and alive.
fn alive_and(pointer: &Expr, what: Expr) -> Expr {
    let lives = |predicate| of(pointer, predicate, Expr::int(0));
    let lives = and(lives(MemoryPredicate::NotFreed), lives(MemoryPredicate::NotEnded));
    and(is_not_null(pointer), and(lives, what))
}

/// The opposite, of formulas that do not speak of memory.
fn not(formula: &Expr) -> Read<Expr> {
    use proofline_cfa::BinaryOp;
    let mut speaks = false;
    visit::walk(formula, &mut |part| speaks |= matches!(part, Expr::Memory(..)));
    if speaks {
        return Err("what holds where memory is not valid is not read".into());
    }
    Ok(match formula {
        Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => or(not(lhs)?, not(rhs)?),
        Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => and(not(lhs)?, not(rhs)?),
        Expr::Int(value, _) => truth(*value == 0),
        _ => formula.negated(),
    })
}
