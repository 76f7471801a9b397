//! Our terms as Z3 expressions.

use super::ffi::{Ast, Decl, FloatSource, Result, SortRef};
use super::session::Local;
use crate::term::{FloatOp, Op, Rounding, Sort, Term, Var};

/// The name of a variable inside Z3. Injective: `@` and `%` of the name are escaped.
fn symbol(var: Var) -> String {
    if var.is_bound() {
        return format!("?{}", var.index);
    }
    let name = var.name.as_str().replace('%', "%25").replace('@', "%40").replace('\0', "%00");
    match var.index {
        0 => name,
        index => format!("{name}@{index}"),
    }
}

impl Local {
    pub(crate) fn sort(&self, sort: Sort) -> Result<SortRef> {
        if let Some(known) = self.0.sorts.borrow().get(&sort) {
            return Ok(known.clone());
        }
        let ctx = self.ctx();
        let new = match sort {
            Sort::Bool => SortRef::bool(ctx),
            Sort::Int => SortRef::int(ctx),
            Sort::BitVec(width) => SortRef::bits(ctx, width)?,
            Sort::Float(f) => SortRef::float(ctx, f.exponent, f.significand)?,
            Sort::Array(array) => SortRef::array(&self.sort(array.index())?, &self.sort(array.element())?)?,
        };
        self.0.sorts.borrow_mut().insert(sort, new.clone());
        Ok(new)
    }

    /// The expression for `term`. Each distinct subterm is translated once per session.
    pub(crate) fn write(&self, term: Term) -> Result<Ast> {
        if let Some(known) = self.0.terms.borrow().get(&term) {
            return Ok(known.clone());
        }
        let mut stack = vec![(term, false)];
        while let Some((t, ready)) = stack.pop() {
            if self.0.terms.borrow().contains_key(&t) {
                continue;
            }
            if ready || t.args().is_empty() {
                let new = self.node(t)?;
                self.0.terms.borrow_mut().insert(t, new);
            } else {
                stack.push((t, true));
                let terms = self.0.terms.borrow();
                stack.extend(t.args().iter().filter(|a| !terms.contains_key(a)).map(|a| (*a, false)));
            }
        }
        Ok(self.0.terms.borrow()[&term].clone())
    }

    pub(crate) fn write_all(&self, terms: &[Term]) -> Result<Vec<Ast>> {
        terms.iter().map(|t| self.write(*t)).collect()
    }

    fn constant(&self, var: Var) -> Result<Ast> {
        let decl = Decl::new(self.ctx(), &symbol(var), &[], &self.sort(var.sort)?)?;
        let ast = decl.apply(&[])?;
        self.0.vars.borrow_mut().insert(decl, var);
        Ok(ast)
    }

    /// One node; its arguments are translated already.
    fn node(&self, t: Term) -> Result<Ast> {
        let ctx = self.ctx();
        let args: Vec<Ast> = {
            let terms = self.0.terms.borrow();
            t.args().iter().map(|a| terms[a].clone()).collect()
        };
        let a = |i: usize| &args[i];
        let fold = |f: fn(&Ast, &Ast) -> Result<Ast>| {
            let (first, rest) = args.split_first().expect("an operator with arguments");
            rest.iter().try_fold(first.clone(), |x, y| f(&x, y))
        };
        match t.op() {
            Op::Bool(b) => Ok(Ast::truth(ctx, *b)),
            Op::Int(i) => Ast::number(&i.to_string(), &self.sort(Sort::Int)?),
            Op::BitVec(b) => Ast::number(&b.unsigned().to_string(), &self.sort(t.sort())?),
            Op::Float(f) => {
                let bits = self.sort(Sort::BitVec(f.sort().width()))?;
                let bits = Ast::number(&f.bits().unsigned().to_string(), &bits)?;
                Ast::to_float(FloatSource::Bits, None, &bits, &self.sort(t.sort())?)
            }
            Op::Var(v) => self.constant(*v),
            Op::Apply(f) => {
                let params = f.params().iter().map(|s| self.sort(*s)).collect::<Result<Vec<SortRef>>>()?;
                let name = f.name().as_str().replace('%', "%25").replace('\0', "%00");
                let decl = Decl::new(ctx, &name, &params, &self.sort(f.result())?)?;
                let ast = decl.apply(&args)?;
                self.0.functions.borrow_mut().insert(decl, *f);
                Ok(ast)
            }
            Op::Not => Ast::not(a(0)),
            Op::And => Ast::and(ctx, &args),
            Op::Or => Ast::or(ctx, &args),
            Op::Ite => Ast::ite(a(0), a(1), a(2)),
            Op::Eq => Ast::eq(a(0), a(1)),
            Op::Add => Ast::add(ctx, &args),
            Op::Mul => Ast::mul(ctx, &args),
            Op::Div => Ast::div(a(0), a(1)),
            Op::Mod => Ast::modulo(a(0), a(1)),
            Op::Le => Ast::le(a(0), a(1)),
            Op::BvNot => Ast::bvnot(a(0)),
            Op::BvAnd => fold(Ast::bvand),
            Op::BvOr => fold(Ast::bvor),
            Op::BvXor => fold(Ast::bvxor),
            Op::BvAdd => fold(Ast::bvadd),
            Op::BvMul => fold(Ast::bvmul),
            Op::BvUdiv => Ast::bvudiv(a(0), a(1)),
            Op::BvUrem => Ast::bvurem(a(0), a(1)),
            Op::BvSdiv => Ast::bvsdiv(a(0), a(1)),
            Op::BvSrem => Ast::bvsrem(a(0), a(1)),
            Op::BvShl => Ast::bvshl(a(0), a(1)),
            Op::BvLshr => Ast::bvlshr(a(0), a(1)),
            Op::BvAshr => Ast::bvashr(a(0), a(1)),
            Op::BvUle => Ast::bvule(a(0), a(1)),
            Op::BvSle => Ast::bvsle(a(0), a(1)),
            Op::Concat => Ast::concat(a(0), a(1)),
            Op::Extract { high, low } => Ast::extract(*high, *low, a(0)),
            Op::ZeroExtend(by) => Ast::zero_extend(*by, a(0)),
            Op::SignExtend(by) => Ast::sign_extend(*by, a(0)),
            Op::BvToInt => Ast::bv_to_int(a(0)),
            Op::IntToBv(width) => Ast::int_to_bv(*width, a(0)),
            Op::Select => Ast::select(a(0), a(1)),
            Op::Store => Ast::store(a(0), a(1), a(2)),
            Op::ConstArray(sort) => {
                let index = sort.as_array().map_or(Sort::Int, |s| s.index());
                Ast::const_array(&self.sort(index)?, a(0))
            }
            Op::Fp(op) => self.float(*op, &args),
            Op::Forall(vars) | Op::Exists(vars) => {
                let bound = vars.iter().map(|v| self.constant(*v)).collect::<Result<Vec<Ast>>>()?;
                Ast::quantify(matches!(t.op(), Op::Forall(_)), &bound, a(0))
            }
        }
    }

    fn float(&self, op: FloatOp, args: &[Ast]) -> Result<Ast> {
        let a = |i: usize| &args[i];
        let mode = |r: Rounding| Ast::rounding(self.ctx(), r.smtlib());
        let target = |sort| self.sort(Sort::Float(sort));
        match op {
            FloatOp::Add(r) => Ast::fp_add(&mode(r)?, a(0), a(1)),
            FloatOp::Sub(r) => Ast::fp_sub(&mode(r)?, a(0), a(1)),
            FloatOp::Mul(r) => Ast::fp_mul(&mode(r)?, a(0), a(1)),
            FloatOp::Div(r) => Ast::fp_div(&mode(r)?, a(0), a(1)),
            FloatOp::Sqrt(r) => Ast::fp_sqrt(&mode(r)?, a(0)),
            FloatOp::RoundToIntegral(r) => Ast::fp_round(&mode(r)?, a(0)),
            FloatOp::Rem => Ast::fp_rem(a(0), a(1)),
            FloatOp::Neg => Ast::fp_neg(a(0)),
            FloatOp::Abs => Ast::fp_abs(a(0)),
            FloatOp::Eq => Ast::fp_eq(a(0), a(1)),
            FloatOp::Lt => Ast::fp_lt(a(0), a(1)),
            FloatOp::Le => Ast::fp_le(a(0), a(1)),
            FloatOp::IsNan => Ast::fp_is_nan(a(0)),
            FloatOp::IsInfinite => Ast::fp_is_infinite(a(0)),
            FloatOp::IsZero => Ast::fp_is_zero(a(0)),
            FloatOp::IsNegative => Ast::fp_is_negative(a(0)),
            FloatOp::FromFloat(r, to) => {
                Ast::to_float(FloatSource::Float, Some(&mode(r)?), a(0), &target(to)?)
            }
            FloatOp::FromSigned(r, to) => {
                Ast::to_float(FloatSource::Signed, Some(&mode(r)?), a(0), &target(to)?)
            }
            FloatOp::FromUnsigned(r, to) => {
                Ast::to_float(FloatSource::Unsigned, Some(&mode(r)?), a(0), &target(to)?)
            }
            FloatOp::FromBits(to) => Ast::to_float(FloatSource::Bits, None, a(0), &target(to)?),
            FloatOp::ToSigned(r, width) => Ast::float_to_bits(true, &mode(r)?, a(0), width),
            FloatOp::ToUnsigned(r, width) => Ast::float_to_bits(false, &mode(r)?, a(0), width),
        }
    }
}
