//! Z3 expressions as our terms: what models, interpolants, eliminations and invariants come back as. Anything we have
//! no operator for is an error, as is a constant that is not one of ours: nothing is guessed.

use num_bigint::BigInt;
use rustc_hash::FxHashMap;

use super::ffi::{Ast, Decl, DeclKind, Error, Result, Shape, SortRef, SortShape};
use super::session::Local;
use crate::build;
use crate::term::{BitVec, FloatConst, FloatOp, FloatSort, Op, Rounding, Sort, Term, Var};

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error(format!("no term for {what}"))
}

/// An application whose arguments are being read.
type Opened = (Decl, Vec<Ast>);

impl Local {
    pub(crate) fn read_sort(&self, sort: &SortRef) -> Result<Sort> {
        Ok(match sort.shape()? {
            SortShape::Bool => Sort::Bool,
            SortShape::Int => Sort::Int,
            SortShape::Bits(width) => Sort::BitVec(width),
            SortShape::Float(exponent, significand) => Sort::Float(FloatSort { exponent, significand }),
            SortShape::Array(index, element) => {
                Sort::array(self.read_sort(&index)?, self.read_sort(&element)?)
            }
            SortShape::Other => return Err(unsupported("this sort")),
        })
    }

    /// The term for `ast`.
    pub(crate) fn read(&self, ast: &Ast) -> Result<Term> {
        let mut memo: FxHashMap<Ast, Term> = FxHashMap::default();
        let mut stack: Vec<(Ast, Option<Opened>)> = vec![(ast.clone(), None)];
        while let Some((ast, opened)) = stack.pop() {
            if memo.contains_key(&ast) {
                continue;
            }
            match opened {
                Some((decl, children)) => {
                    let args: Vec<Term> = children.iter().map(|c| memo[c]).collect();
                    let term = self.application(&ast, &decl, &args)?;
                    memo.insert(ast, term);
                }
                None => match ast.shape()? {
                    Shape::Number(digits) => {
                        let term = self.number(&ast, &digits)?;
                        memo.insert(ast, term);
                    }
                    Shape::Apply(decl, children) => {
                        if let Some(term) = self.float_literal(&ast, &decl)? {
                            memo.insert(ast, term);
                            continue;
                        }
                        let rounded = decl.is_float() && rounding(&children).is_some();
                        let children: Vec<Ast> = if rounded { children[1..].to_vec() } else { children };
                        let below: Vec<Ast> =
                            children.iter().filter(|c| !memo.contains_key(c)).cloned().collect();
                        stack.push((ast, Some((decl, children))));
                        stack.extend(below.into_iter().map(|c| (c, None)));
                    }
                    Shape::Quantifier(universal, sorts, body) => {
                        let term = self.quantifier(universal, &sorts, &body)?;
                        memo.insert(ast, term);
                    }
                    Shape::Variable => return Err(unsupported("a variable outside of its quantifier")),
                    Shape::Other => return Err(unsupported("a lambda")),
                },
            }
        }
        Ok(memo[ast])
    }

    fn number(&self, ast: &Ast, digits: &str) -> Result<Term> {
        let value: BigInt = digits.parse().map_err(|_| unsupported(digits))?;
        match self.read_sort(&ast.sort()?)? {
            Sort::Int => Ok(build::int(value)),
            Sort::BitVec(width) => Ok(build::bv(value, width)),
            Sort::Bool | Sort::Float(_) | Sort::Array(_) => Err(unsupported(digits)),
        }
    }

    /// Numbers of floating-point sorts, which Z3 writes in several ways.
    fn float_literal(&self, ast: &Ast, decl: &Decl) -> Result<Option<Term>> {
        match decl.kind() {
            DeclKind::FpaNum
            | DeclKind::FpaNan
            | DeclKind::FpaPlusInf
            | DeclKind::FpaMinusInf
            | DeclKind::FpaPlusZero
            | DeclKind::FpaMinusZero => {}
            _ => return Ok(None),
        }
        let sort = self.read_sort(&ast.sort()?)?.float().ok_or_else(|| unsupported("this number"))?;
        if ast.is_nan() {
            return Ok(Some(build::float(FloatConst::nan(sort))));
        }
        match Ast::simplify(&Ast::fp_bits(ast)?)?.shape()? {
            Shape::Number(digits) => {
                let value: BigInt = digits.parse().map_err(|_| unsupported(&digits))?;
                Ok(Some(build::float(FloatConst::new(sort, BitVec::new(sort.width(), &value)))))
            }
            _ => Err(unsupported("this floating-point number")),
        }
    }

    fn quantifier(&self, universal: bool, sorts: &[SortRef], body: &Ast) -> Result<Term> {
        // Fresh constants stand for the bound variables until the quantifier of our own is made.
        let mut vars = Vec::new();
        for sort in sorts {
            vars.push(Var::bound(u32::MAX / 2 + self.fresh(), self.read_sort(sort)?));
        }
        let mut constants: Vec<Ast> = Vec::new();
        for v in vars.iter().rev() {
            constants.push(self.write(build::var(*v))?);
        }
        let body = self.read(&body.instantiate(&constants)?)?;
        Ok(if universal { build::forall(&vars, body) } else { build::exists(&vars, body) })
    }

    fn application(&self, ast: &Ast, decl: &Decl, args: &[Term]) -> Result<Term> {
        let all = || args.iter().copied();
        let left = |f: fn(Term, Term) -> Term| {
            let (first, rest) = args.split_first().ok_or_else(|| unsupported("an empty application"))?;
            Ok(rest.iter().fold(*first, |a, b| f(a, *b)))
        };
        let parameter = |i| decl.parameter(i).ok_or_else(|| unsupported("an operator without parameter"));
        let op = |op: Op| {
            let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
            match op.sort(&sorts) {
                Ok(_) => Ok(build::apply(&op, args)),
                Err(error) => Err(unsupported(error)),
            }
        };
        match decl.kind() {
            DeclKind::Uninterpreted => self.symbol(decl, args),
            DeclKind::True => Ok(build::bool(true)),
            DeclKind::False => Ok(build::bool(false)),
            DeclKind::And => Ok(build::and(all())),
            DeclKind::Or => Ok(build::or(all())),
            DeclKind::Not => op(Op::Not),
            DeclKind::Implies => left(build::implies),
            DeclKind::Eq | DeclKind::Iff => op(Op::Eq),
            DeclKind::Xor => left(|a, b| build::not(build::iff(a, b))),
            DeclKind::Distinct => Ok(build::distinct(args)),
            DeclKind::Ite => op(Op::Ite),
            DeclKind::Le if integers(args) => op(Op::Le),
            DeclKind::Ge if integers(args) => Ok(build::ge(args[0], args[1])),
            DeclKind::Lt if integers(args) => Ok(build::lt(args[0], args[1])),
            DeclKind::Gt if integers(args) => Ok(build::gt(args[0], args[1])),
            DeclKind::Add if integers(args) => Ok(build::add(all())),
            DeclKind::Mul if integers(args) => Ok(build::mul(all())),
            DeclKind::Sub if integers(args) => left(build::sub),
            DeclKind::Uminus if integers(args) => Ok(build::neg(args[0])),
            DeclKind::Idiv => op(Op::Div),
            DeclKind::Mod => op(Op::Mod),
            DeclKind::Abs => Ok(build::ite(build::ge(args[0], build::int(0)), args[0], build::neg(args[0]))),
            DeclKind::Select => op(Op::Select),
            DeclKind::Store => op(Op::Store),
            DeclKind::ConstArray => op(Op::ConstArray(self.read_sort(&ast.sort()?)?)),
            DeclKind::Bneg => Ok(build::bvneg(args[0])),
            DeclKind::Badd => left(build::bvadd),
            DeclKind::Bsub => left(build::bvsub),
            DeclKind::Bmul => left(build::bvmul),
            DeclKind::Bsdiv | DeclKind::BsdivI => op(Op::BvSdiv),
            DeclKind::Budiv | DeclKind::BudivI => op(Op::BvUdiv),
            DeclKind::Bsrem | DeclKind::BsremI => op(Op::BvSrem),
            DeclKind::Burem | DeclKind::BuremI => op(Op::BvUrem),
            DeclKind::Bsmod | DeclKind::BsmodI => left(build::bvsmod),
            DeclKind::Uleq => left(build::bvule),
            DeclKind::Sleq => left(build::bvsle),
            DeclKind::Ugeq => left(|a, b| build::bvule(b, a)),
            DeclKind::Sgeq => left(|a, b| build::bvsle(b, a)),
            DeclKind::Ult => left(build::bvult),
            DeclKind::Slt => left(build::bvslt),
            DeclKind::Ugt => left(|a, b| build::bvult(b, a)),
            DeclKind::Sgt => left(|a, b| build::bvslt(b, a)),
            DeclKind::Band => left(build::bvand),
            DeclKind::Bor => left(build::bvor),
            DeclKind::Bxor => left(build::bvxor),
            DeclKind::Bnot => op(Op::BvNot),
            DeclKind::Bnand => Ok(build::bvnot(left(build::bvand)?)),
            DeclKind::Bnor => Ok(build::bvnot(left(build::bvor)?)),
            DeclKind::Bxnor if args.len() == 2 => Ok(build::bvnot(build::bvxor(args[0], args[1]))),
            DeclKind::Concat => left(build::concat),
            DeclKind::SignExt => op(Op::SignExtend(parameter(0)?)),
            DeclKind::ZeroExt => op(Op::ZeroExtend(parameter(0)?)),
            DeclKind::Extract => op(Op::Extract { high: parameter(0)?, low: parameter(1)? }),
            DeclKind::Repeat => {
                Ok((1..parameter(0)?).fold(args[0], |whole, _| build::concat(whole, args[0])))
            }
            DeclKind::Bcomp => Ok(build::ite(build::eq(args[0], args[1]), build::bv(1, 1), build::bv(0, 1))),
            DeclKind::Bit2bool => {
                let i = parameter(0)?;
                Ok(build::eq(build::extract(args[0], i, i), build::bv(1, 1)))
            }
            DeclKind::Bshl => op(Op::BvShl),
            DeclKind::Blshr => op(Op::BvLshr),
            DeclKind::Bashr => op(Op::BvAshr),
            DeclKind::Int2bv => op(Op::IntToBv(self.read_sort(&ast.sort()?)?.width().unwrap_or(0))),
            DeclKind::Bv2int => op(Op::BvToInt),
            DeclKind::Sbv2int => Ok(build::bv_to_signed_int(args[0])),
            kind => self.float_application(ast, kind, decl, args),
        }
    }

    fn symbol(&self, decl: &Decl, args: &[Term]) -> Result<Term> {
        if let Some(var) = self.0.vars.borrow().get(decl) {
            return Ok(build::var(*var));
        }
        match self.0.functions.borrow().get(decl) {
            Some(function) => Ok(build::call(*function, args)),
            None => Err(unsupported(decl.name()?)),
        }
    }

    fn float_application(&self, ast: &Ast, kind: DeclKind, decl: &Decl, args: &[Term]) -> Result<Term> {
        let children = match ast.shape()? {
            Shape::Apply(_, children) => children,
            _ => Vec::new(),
        };
        let mode = rounding(&children);
        let with =
            |f: fn(Rounding) -> FloatOp| mode.map(f).ok_or_else(|| unsupported("a symbolic rounding mode"));
        let target = || self.read_sort(&ast.sort()?)?.float().ok_or_else(|| unsupported("this conversion"));
        let width = || Ok(self.read_sort(&ast.sort()?)?.width().unwrap_or(0));
        let op = match kind {
            DeclKind::FpaAdd => with(FloatOp::Add)?,
            DeclKind::FpaSub => with(FloatOp::Sub)?,
            DeclKind::FpaMul => with(FloatOp::Mul)?,
            DeclKind::FpaDiv => with(FloatOp::Div)?,
            DeclKind::FpaSqrt => with(FloatOp::Sqrt)?,
            DeclKind::FpaRoundToIntegral => with(FloatOp::RoundToIntegral)?,
            DeclKind::FpaRem => FloatOp::Rem,
            DeclKind::FpaNeg => FloatOp::Neg,
            DeclKind::FpaAbs => FloatOp::Abs,
            DeclKind::FpaEq => FloatOp::Eq,
            DeclKind::FpaLt => FloatOp::Lt,
            DeclKind::FpaLe => FloatOp::Le,
            DeclKind::FpaGt => return Ok(build::fp(FloatOp::Lt, &[args[1], args[0]])),
            DeclKind::FpaGe => return Ok(build::fp(FloatOp::Le, &[args[1], args[0]])),
            DeclKind::FpaIsNan => FloatOp::IsNan,
            DeclKind::FpaIsInf => FloatOp::IsInfinite,
            DeclKind::FpaIsZero => FloatOp::IsZero,
            DeclKind::FpaIsNegative => FloatOp::IsNegative,
            DeclKind::FpaToFp => match (mode, args.first().map(|t| t.sort()), args.len()) {
                (Some(r), Some(Sort::Float(_)), 1) => FloatOp::FromFloat(r, target()?),
                (Some(r), Some(Sort::BitVec(_)), 1) => FloatOp::FromSigned(r, target()?),
                (None, Some(Sort::BitVec(_)), 1) => FloatOp::FromBits(target()?),
                _ => return Err(unsupported("this conversion")),
            },
            DeclKind::FpaToFpUnsigned => {
                FloatOp::FromUnsigned(mode.ok_or_else(|| unsupported("a symbolic rounding mode"))?, target()?)
            }
            DeclKind::FpaToSbv => {
                FloatOp::ToSigned(mode.ok_or_else(|| unsupported("a symbolic rounding mode"))?, width()?)
            }
            DeclKind::FpaToUbv => {
                FloatOp::ToUnsigned(mode.ok_or_else(|| unsupported("a symbolic rounding mode"))?, width()?)
            }
            _ => return Err(unsupported(decl.name()?)),
        };
        let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
        match Op::Fp(op).sort(&sorts) {
            Ok(_) => Ok(build::fp(op, args)),
            Err(error) => Err(unsupported(error)),
        }
    }
}

fn integers(args: &[Term]) -> bool {
    args.iter().all(|t| t.sort() == Sort::Int)
}

/// The rounding mode a floating-point operator has as its first argument.
fn rounding(children: &[Ast]) -> Option<Rounding> {
    match children.first()?.shape().ok()? {
        Shape::Apply(decl, _) => match decl.kind() {
            DeclKind::FpaRmNearestTiesToEven => Some(Rounding::NearestEven),
            DeclKind::FpaRmNearestTiesToAway => Some(Rounding::NearestAway),
            DeclKind::FpaRmTowardPositive => Some(Rounding::Up),
            DeclKind::FpaRmTowardNegative => Some(Rounding::Down),
            DeclKind::FpaRmTowardZero => Some(Rounding::Zero),
            _ => None,
        },
        _ => None,
    }
}
