//! Evaluation of terms under an interpretation: the meaning of every operator, written independently of the simplifier
//! and held against Z3 by the property tests.

use std::collections::BTreeMap;

use num_bigint::{BigInt, Sign};
use rustc_hash::FxHashMap;

use super::float::{self, FloatResult};
use super::walk::postorder;
use super::{BitVec, FloatConst, FloatOp, Func, Op, Sort, Term, Var, constants};

/// A value of some sort.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(BigInt),
    /// A bit vector.
    BitVec(BitVec),
    /// A floating-point number.
    Float(FloatConst),
    /// A total map.
    Array(ArrayValue),
}

/// A total map that differs from its default at finitely many indices.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ArrayValue {
    sort: Sort,
    default: Box<Value>,
    entries: BTreeMap<Value, Value>,
}

impl ArrayValue {
    /// The map of this (array) sort with one element everywhere.
    #[must_use]
    pub fn new(sort: Sort, default: Value) -> ArrayValue {
        ArrayValue { sort, default: Box::new(default), entries: BTreeMap::new() }
    }

    /// The element at `index`.
    #[must_use]
    pub fn get(&self, index: &Value) -> &Value {
        self.entries.get(index).unwrap_or(&self.default)
    }

    /// Replaces one element. Entries equal to the default are not kept, so equal maps over infinite sorts are equal
    /// values.
    pub fn set(&mut self, index: Value, element: Value) {
        if element == *self.default {
            self.entries.remove(&index);
        } else {
            self.entries.insert(index, element);
        }
    }

    /// The indices whose element is not the default.
    #[must_use]
    pub fn entries(&self) -> &BTreeMap<Value, Value> {
        &self.entries
    }

    /// The element at every index that has no entry.
    #[must_use]
    pub fn default_element(&self) -> &Value {
        &self.default
    }
}

impl Value {
    /// The constant term that denotes it.
    #[must_use]
    pub fn to_term(&self) -> Term {
        match self {
            Value::Bool(b) => constants::bool(*b),
            Value::Int(i) => constants::int(i.clone()),
            Value::BitVec(b) => constants::bits(b.clone()),
            Value::Float(f) => constants::float(f.clone()),
            // Indices differ, and no element is the default: stores of these are normal as they are.
            Value::Array(a) => {
                let base = Term::raw(Op::ConstArray(a.sort), vec![a.default.to_term()]);
                let store = |array, (i, e): (&Value, &Value)| {
                    Term::raw(Op::Store, vec![array, i.to_term(), e.to_term()])
                };
                a.entries.iter().fold(base, store)
            }
        }
    }

    /// Its sort.
    #[must_use]
    pub fn sort(&self) -> Sort {
        match self {
            Value::Bool(_) => Sort::Bool,
            Value::Int(_) => Sort::Int,
            Value::BitVec(b) => Sort::BitVec(b.width()),
            Value::Float(f) => Sort::Float(f.sort()),
            Value::Array(a) => a.sort,
        }
    }

    /// Its truth value, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            Value::Int(_) | Value::BitVec(_) | Value::Float(_) | Value::Array(_) => None,
        }
    }

    /// Its integer, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<&BigInt> {
        match self {
            Value::Int(i) => Some(i),
            Value::Bool(_) | Value::BitVec(_) | Value::Float(_) | Value::Array(_) => None,
        }
    }

    /// Its bits, if it is a bit vector.
    #[must_use]
    pub fn as_bitvec(&self) -> Option<&BitVec> {
        match self {
            Value::BitVec(b) => Some(b),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Array(_) => None,
        }
    }
}

/// The value of a constant term (numbers, truth values, stores into constant arrays).
pub(crate) fn value_of(term: Term) -> Option<Value> {
    eval(term, &Assignment::default())
}

/// What the free symbols mean.
pub trait Interpretation {
    /// The value of a variable, if known.
    fn var(&self, var: Var) -> Option<Value>;

    /// The value of a function at these arguments, if known.
    fn apply(&self, function: Func, args: &[Value]) -> Option<Value>;
}

/// An interpretation of variables, and of functions at finitely many points.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Assignment {
    /// Values of variables. Others have no known value.
    pub vars: BTreeMap<Var, Value>,
    /// Values of functions at arguments. Elsewhere a function has no known value.
    pub functions: BTreeMap<(Func, Vec<Value>), Value>,
}

impl Interpretation for Assignment {
    fn var(&self, var: Var) -> Option<Value> {
        self.vars.get(&var).cloned()
    }

    fn apply(&self, function: Func, args: &[Value]) -> Option<Value> {
        self.functions.get(&(function, args.to_vec())).cloned()
    }
}

/// The value of `term`; `None` if the interpretation does not determine it: an unknown symbol that matters, an integer
/// division by zero, a quantifier, a floating-point operation that is not folded.
#[must_use]
pub fn eval(term: Term, interpretation: &dyn Interpretation) -> Option<Value> {
    let mut memo: FxHashMap<Term, Option<Value>> = FxHashMap::default();
    for t in postorder(&[term]) {
        let value = match t.op() {
            Op::Var(v) => interpretation.var(*v),
            Op::Apply(f) => {
                let args: Option<Vec<Value>> = t.args().iter().map(|a| memo[a].clone()).collect();
                args.and_then(|args| interpretation.apply(*f, &args))
            }
            op => lazy(op, t.args(), &memo).or_else(|| {
                let args: Option<Vec<&Value>> = t.args().iter().map(|a| memo[a].as_ref()).collect();
                eval_op(op, &args?)
            }),
        };
        memo.insert(t, value);
    }
    memo.remove(&term).flatten()
}

/// Operators whose result may be known although an argument is not.
fn lazy(op: &Op, args: &[Term], memo: &FxHashMap<Term, Option<Value>>) -> Option<Value> {
    let value = |t: &Term| memo[t].clone();
    match op {
        Op::And => args.iter().any(|a| value(a) == Some(Value::Bool(false))).then_some(Value::Bool(false)),
        Op::Or => args.iter().any(|a| value(a) == Some(Value::Bool(true))).then_some(Value::Bool(true)),
        Op::Ite => match value(&args[0]) {
            Some(Value::Bool(true)) => value(&args[1]),
            Some(Value::Bool(false)) => value(&args[2]),
            _ => None,
        },
        _ => None,
    }
}

fn euclid(a: &BigInt, b: &BigInt) -> Option<(BigInt, BigInt)> {
    if b.sign() == Sign::NoSign {
        return None;
    }
    let (mut q, mut r) = (a / b, a % b);
    if r.sign() == Sign::Minus {
        let up = if b.sign() == Sign::Minus { 1 } else { -1 };
        q += up;
        r += BigInt::from_biguint(Sign::Plus, b.magnitude().clone());
    }
    Some((q, r))
}

/// The value of `op` at values of its arguments; `None` where it is not determined.
#[must_use]
pub fn eval_op(op: &Op, args: &[&Value]) -> Option<Value> {
    let int = |i: usize| args.get(i).and_then(|v| v.as_int());
    let bits = |i: usize| args.get(i).and_then(|v| v.as_bitvec());
    let fold = |f: fn(&BitVec, &BitVec) -> BitVec| {
        let all: Option<Vec<&BitVec>> = args.iter().map(|v| v.as_bitvec()).collect();
        all?.into_iter().cloned().reduce(|a, b| f(&a, &b)).map(Value::BitVec)
    };
    let truths = || args.iter().map(|v| v.as_bool()).collect::<Option<Vec<bool>>>();
    Some(match op {
        Op::Bool(b) => Value::Bool(*b),
        Op::Int(i) => Value::Int(i.clone()),
        Op::BitVec(b) => Value::BitVec(b.clone()),
        Op::Float(f) => Value::Float(f.clone()),
        Op::Var(_) | Op::Apply(_) | Op::Forall(_) | Op::Exists(_) => return None,
        Op::Not => Value::Bool(!args[0].as_bool()?),
        Op::And => Value::Bool(truths()?.into_iter().all(|b| b)),
        Op::Or => Value::Bool(truths()?.into_iter().any(|b| b)),
        Op::Ite => args[if args[0].as_bool()? { 1 } else { 2 }].clone(),
        Op::Eq => Value::Bool(same(args[0], args[1])?),
        Op::Add => Value::Int((0..args.len()).map(int).sum::<Option<BigInt>>()?),
        Op::Mul => Value::Int((0..args.len()).map(int).product::<Option<BigInt>>()?),
        Op::Div => Value::Int(euclid(int(0)?, int(1)?)?.0),
        Op::Mod => Value::Int(euclid(int(0)?, int(1)?)?.1),
        Op::Le => Value::Bool(int(0)? <= int(1)?),
        Op::BvNot => Value::BitVec(bits(0)?.not()),
        Op::BvAnd => fold(BitVec::and)?,
        Op::BvOr => fold(BitVec::or)?,
        Op::BvXor => fold(BitVec::xor)?,
        Op::BvAdd => fold(BitVec::add)?,
        Op::BvMul => fold(BitVec::mul)?,
        Op::BvUdiv => fold(BitVec::udiv)?,
        Op::BvUrem => fold(BitVec::urem)?,
        Op::BvSdiv => fold(BitVec::sdiv)?,
        Op::BvSrem => fold(BitVec::srem)?,
        Op::BvShl => fold(BitVec::shl)?,
        Op::BvLshr => fold(BitVec::lshr)?,
        Op::BvAshr => fold(BitVec::ashr)?,
        Op::BvUle => Value::Bool(bits(0)?.ule(bits(1)?)),
        Op::BvSle => Value::Bool(bits(0)?.sle(bits(1)?)),
        Op::Concat => fold(BitVec::concat)?,
        Op::Extract { high, low } => Value::BitVec(bits(0)?.extract(*high, *low)),
        Op::ZeroExtend(by) => Value::BitVec(bits(0)?.zero_extend(*by)),
        Op::SignExtend(by) => Value::BitVec(bits(0)?.sign_extend(*by)),
        Op::BvToInt => Value::Int(bits(0)?.unsigned()),
        Op::IntToBv(width) => Value::BitVec(BitVec::new(*width, int(0)?)),
        Op::Select => match args[0] {
            Value::Array(a) => a.get(args[1]).clone(),
            Value::Bool(_) | Value::Int(_) | Value::BitVec(_) | Value::Float(_) => return None,
        },
        Op::Store => match args[0] {
            Value::Array(a) => {
                let mut a = a.clone();
                a.set(args[1].clone(), args[2].clone());
                Value::Array(a)
            }
            Value::Bool(_) | Value::Int(_) | Value::BitVec(_) | Value::Float(_) => return None,
        },
        Op::ConstArray(sort) => Value::Array(ArrayValue::new(*sort, args[0].clone())),
        Op::Fp(op) => return apply_float(*op, args),
    })
}

fn apply_float(op: FloatOp, args: &[&Value]) -> Option<Value> {
    if let Some(Value::BitVec(bits)) = args.first() {
        return float::from_bits(op, bits).map(Value::Float);
    }
    let numbers: Option<Vec<FloatConst>> = args
        .iter()
        .map(|v| match v {
            Value::Float(f) => Some(f.clone()),
            Value::Bool(_) | Value::Int(_) | Value::BitVec(_) | Value::Array(_) => None,
        })
        .collect();
    Some(match float::apply(op, &numbers?)? {
        FloatResult::Float(f) => Value::Float(f),
        FloatResult::Bool(b) => Value::Bool(b),
        FloatResult::Bits(b) => Value::BitVec(b),
    })
}

/// Equality of values. Maps over a finite index sort may agree everywhere although their defaults differ: then the
/// question is left open unless the entries or defaults decide it.
fn same(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) if a != b => {
            let differ =
                x.entries.keys().chain(y.entries.keys()).any(|i| same(x.get(i), y.get(i)) == Some(false));
            let infinite = x.sort.as_array().is_some_and(|s| s.index() == Sort::Int);
            match same(&x.default, &y.default) {
                _ if differ => Some(false),
                Some(false) if infinite => Some(false),
                Some(_) | None => None,
            }
        }
        _ => Some(a == b),
    }
}
