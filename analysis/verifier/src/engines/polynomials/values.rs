//! C's operators on symbolic integers: a polynomial that equals the value, or does so modulo 2^width of its type. Knows one path's facts, no
//! program.
//!
//! Without `wrapv` signed results are exact: executions in which one leaves its type end before.

use std::sync::Arc;

use num_bigint::BigInt;
use proofline_cfa::{BinaryOp, CompareOp, IntType, UnaryOp};

use super::{
    candidates::equation_at,
    divisibility::{Divides, Remainder},
    facts::{Bounds, Division, Facts},
    ideal::{Equation, Ring},
    polynomial::{Polynomial, Symbol},
};

/// A larger polynomial is given a name.
const MOST_TERMS: usize = 60;
const MOST_DEGREE: u32 = 9;

/// An integer of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Number {
    pub(super) polynomial: Polynomial,
    /// The value is the polynomial's; else it equals it modulo 2^width.
    pub(super) exact: bool,
}

/// A scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(Number),
    /// 1 if the comparison holds, else 0.
    Truth(Arc<Comparison>),
}

/// A comparison of integers of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Comparison {
    pub(super) op: CompareOp,
    pub(super) lhs: Number,
    pub(super) rhs: Number,
    pub(super) ty: IntType,
}

/// The facts of a path, which grow where values need names.
#[derive(Clone, Debug, Default)]
pub(super) struct Algebra {
    pub(super) facts: Facts,
    wrapv: bool,
    names: Vec<Named>,
}

/// The name of the integer of a type that equals a polynomial modulo 2^width.
pub(super) type Named = (Polynomial, IntType, Symbol);

pub(super) fn bounds_of(ty: IntType) -> Bounds {
    (BigInt::from(ty.min()), BigInt::from(ty.max()))
}

impl Number {
    pub(super) fn exact(polynomial: Polynomial) -> Number {
        Number { polynomial, exact: true }
    }
}

impl Algebra {
    /// Nothing known. `wrapv`: signed overflow wraps.
    pub(super) fn new(wrapv: bool) -> Algebra {
        Algebra { wrapv, ..Algebra::default() }
    }

    /// The facts, and the names of values.
    pub(super) fn into_facts(self) -> (Facts, Vec<Named>) {
        (self.facts, self.names)
    }

    /// The integer of a type that a polynomial of cells equals modulo 2^width, where cells have these values; any, where these are not known so far.
    pub(super) fn wrapped(
        &mut self,
        wrapped: &(Polynomial, IntType),
        values: &[(Number, IntType)],
    ) -> Number {
        let (polynomial, ty) = wrapped;
        let equation = Equation { polynomial: polynomial.clone(), ring: Ring::Modulo(ty.bits) };
        match equation_at(&equation, values) {
            Some(after)
                if after.polynomial.len() <= MOST_TERMS && after.polynomial.degree() <= MOST_DEGREE =>
            {
                let number = Number { polynomial: after.polynomial, exact: false };
                Number::exact(self.exactly(&number, *ty))
            }
            Some(_) | None => self.any(*ty),
        }
    }

    /// Any value of a type.
    pub(super) fn any(&mut self, ty: IntType) -> Number {
        let symbol = self.facts.fresh(bounds_of(ty));
        Number::exact(Polynomial::symbol(symbol))
    }

    /// The integer, not only what it is modulo 2^width.
    pub(super) fn exactly(&mut self, number: &Number, ty: IntType) -> Polynomial {
        if number.exact {
            return number.polynomial.clone();
        }
        let polynomial = Ring::Modulo(ty.bits).polynomial(&number.polynomial);
        if let Some((.., name)) = self.names.iter().find(|(p, t, _)| *t == ty && *p == polynomial) {
            return Polynomial::symbol(*name);
        }
        let name = self.facts.fresh(bounds_of(ty));
        let difference = Polynomial::symbol(name).minus(&polynomial);
        self.facts.equations.push(Equation { polynomial: difference, ring: Ring::Modulo(ty.bits) });
        self.names.push((polynomial, ty, name));
        Polynomial::symbol(name)
    }

    /// A result of arithmetic in a type.
    fn result(&mut self, polynomial: Polynomial, exact: bool, ty: IntType) -> Number {
        if polynomial.len() > MOST_TERMS || polynomial.degree() > MOST_DEGREE {
            return self.any(ty);
        }
        if exact && ty.signed && !self.wrapv {
            return Number::exact(polynomial);
        }
        let exact = exact && self.fits(&polynomial, ty);
        Number { exact, polynomial }
    }

    /// Whether it is known to be in a type's range.
    fn fits(&self, polynomial: &Polynomial, ty: IntType) -> bool {
        let (least, greatest) = bounds_of(ty);
        let is_inside = |(low, high): Bounds| least <= low && high <= greatest;
        is_inside(self.facts.range(polynomial)) || is_inside(self.facts.range_of_sum(polynomial))
    }

    /// The value as a number.
    pub(super) fn number(&mut self, value: Value) -> Number {
        match value {
            Value::Number(number) => number,
            Value::Truth(_) => self.number_of_truth(),
        }
    }

    /// 0 or 1.
    pub(super) fn number_of_truth(&mut self) -> Number {
        let symbol = self.facts.fresh((BigInt::ZERO, BigInt::from(1)));
        Number::exact(Polynomial::symbol(symbol))
    }

    pub(super) fn unary(&mut self, op: UnaryOp, ty: IntType, arg: &Number) -> Number {
        let negative = arg.polynomial.scaled(&BigInt::from(-1));
        match op {
            UnaryOp::Negate => self.result(negative, arg.exact, ty),
            // -x - 1; of an unsigned type it wraps.
            UnaryOp::BitNot => {
                let polynomial = negative.minus(&Polynomial::constant(1));
                Number { polynomial, exact: arg.exact && ty.signed }
            }
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, ty: IntType, lhs: &Number, rhs: &Number) -> Number {
        let exact = lhs.exact && rhs.exact;
        let constant = if rhs.exact { rhs.polynomial.as_constant() } else { None };
        match op {
            BinaryOp::Add => self.result(lhs.polynomial.plus(&rhs.polynomial), exact, ty),
            BinaryOp::Sub => self.result(lhs.polynomial.minus(&rhs.polynomial), exact, ty),
            BinaryOp::Mul => self.result(lhs.polynomial.times(&rhs.polynomial), exact, ty),
            BinaryOp::Div | BinaryOp::Rem => self.divide(op, ty, lhs, rhs),
            BinaryOp::Shl => match constant.and_then(|by| u8::try_from(by).ok()) {
                Some(by) if by < ty.bits => {
                    let polynomial = lhs.polynomial.scaled(&(BigInt::from(1) << by));
                    // No obligation keeps it in range.
                    let is_exact = lhs.exact && self.fits(&polynomial, ty);
                    self.result(polynomial, is_exact, ty)
                }
                Some(_) | None => self.any(ty),
            },
            // Rounds down, division toward zero: the same of what is not negative.
            BinaryOp::Shr => match constant.and_then(|by| u8::try_from(by).ok()) {
                Some(by) if by < ty.bits && self.is_natural(lhs, ty) => {
                    let power = Number::exact(Polynomial::constant(BigInt::from(1) << by));
                    self.divide(BinaryOp::Div, ty, lhs, &power)
                }
                Some(_) | None => self.any(ty),
            },
            // A mask of low ones takes a remainder of what is not negative.
            BinaryOp::BitAnd => match constant {
                Some(mask) if self.is_natural(lhs, ty) && is_mask(&mask) => {
                    let power = Number::exact(Polynomial::constant(mask + 1));
                    self.divide(BinaryOp::Rem, ty, lhs, &power)
                }
                Some(_) | None => self.any(ty),
            },
            BinaryOp::BitOr | BinaryOp::BitXor => self.any(ty),
        }
    }

    fn is_natural(&mut self, number: &Number, ty: IntType) -> bool {
        !ty.signed || number.exact && self.facts.range(&number.polynomial).0 >= BigInt::ZERO
    }

    fn divide(&mut self, op: BinaryOp, ty: IntType, lhs: &Number, rhs: &Number) -> Number {
        let (dividend, divisor) = (self.exactly(lhs, ty), self.exactly(rhs, ty));
        let (quotient, remainder) = match divisor.as_constant() {
            Some(by) if by == BigInt::from(1) => {
                return match op {
                    BinaryOp::Rem => Number::exact(Polynomial::default()),
                    _ => Number::exact(dividend),
                };
            }
            Some(by) if by > BigInt::from(1) => self.by_constant(dividend, by, ty),
            // The least value by -1, and anything by 0, are undefined.
            Some(_) | None => {
                let (quotient, remainder) =
                    (self.facts.fresh(bounds_of(ty)), self.facts.fresh(bounds_of(ty)));
                let product = divisor.times(&Polynomial::symbol(quotient));
                let sum = product.plus(&Polynomial::symbol(remainder));
                let polynomial = dividend.minus(&sum);
                self.facts.equations.push(Equation { polynomial, ring: Ring::Integers });
                self.facts.remainders.push(Remainder { of: Divides { divisor, dividend }, remainder });
                (quotient, remainder)
            }
        };
        let result = if op == BinaryOp::Rem { remainder } else { quotient };
        Number::exact(Polynomial::symbol(result))
    }

    fn by_constant(&mut self, dividend: Polynomial, divisor: BigInt, ty: IntType) -> (Symbol, Symbol) {
        let known = self.facts.divisions.iter().find(|d| d.dividend == dividend && d.divisor == divisor);
        if let Some(Division { quotient, remainder, .. }) = known {
            return (*quotient, *remainder);
        }
        let (quotient, remainder) = (self.facts.fresh(bounds_of(ty)), self.facts.fresh(bounds_of(ty)));
        let product = Polynomial::symbol(quotient).scaled(&divisor);
        let polynomial = dividend.minus(&product.plus(&Polynomial::symbol(remainder)));
        self.facts.equations.push(Equation { polynomial, ring: Ring::Integers });
        self.facts.divisions.push(Division { dividend, divisor, quotient, remainder });
        (quotient, remainder)
    }

    /// Conversion of integers.
    pub(super) fn cast(&mut self, from: IntType, to: IntType, number: &Number) -> Number {
        let polynomial = if number.exact || to.bits <= from.bits {
            number.polynomial.clone()
        } else {
            self.exactly(number, from)
        };
        let exact = number.exact || to.bits > from.bits;
        let ((least, greatest), source) = (bounds_of(to), bounds_of(from));
        let of_type = least <= source.0 && source.1 <= greatest;
        let exact = exact && (of_type || self.fits(&polynomial, to));
        Number { exact, polynomial }
    }

    /// Goes on only where the comparison holds (or, not `holds`, fails).
    pub(super) fn assume(&mut self, comparison: &Comparison, holds: bool) {
        let Comparison { op, lhs, rhs, ty } = comparison;
        match (op, holds) {
            (CompareOp::Eq, true) | (CompareOp::Ne, false) => {
                let equation = difference(lhs, rhs, *ty);
                self.facts.equations.push(equation);
            }
            (CompareOp::Eq, false) | (CompareOp::Ne, true) => {
                let equation = difference(lhs, rhs, *ty);
                if equation.ring == Ring::Integers {
                    self.facts.exclude(&equation.polynomial);
                }
                self.facts.different.push(equation);
            }
            (CompareOp::Lt, true) | (CompareOp::Ge, false) => self.less(lhs, rhs, *ty, 1),
            (CompareOp::Le, true) | (CompareOp::Gt, false) => self.less(lhs, rhs, *ty, 0),
            (CompareOp::Gt, true) | (CompareOp::Le, false) => self.less(rhs, lhs, *ty, 1),
            (CompareOp::Ge, true) | (CompareOp::Lt, false) => self.less(rhs, lhs, *ty, 0),
        }
    }

    /// `small + by <= large`
    fn less(&mut self, small: &Number, large: &Number, ty: IntType, by: i32) {
        let (small, large) = (self.exactly(small, ty), self.exactly(large, ty));
        self.facts.at_most.push(small.minus(&large).plus(&Polynomial::constant(by)));
    }
}

/// What is zero where two values of a type are equal: both are in its range.
fn difference(lhs: &Number, rhs: &Number, ty: IntType) -> Equation {
    let ring = if lhs.exact && rhs.exact { Ring::Integers } else { Ring::Modulo(ty.bits) };
    Equation { polynomial: lhs.polynomial.minus(&rhs.polynomial), ring }
}

fn is_mask(mask: &BigInt) -> bool {
    *mask > BigInt::ZERO && (mask & (mask + 1)) == BigInt::ZERO
}
