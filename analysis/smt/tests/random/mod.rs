//! Random terms as trees of operators over random values, read from bytes so that a failing case shrinks.

use proofline_smt::term::{Assignment, BitVec, Value, eval_op};
use proofline_smt::{Op, Sort, Term, Var, build as t};

/// A tree of operators, not normalised.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) op: Op,
    pub(crate) args: Vec<Tree>,
}

impl Tree {
    /// Through the constructors under test.
    pub(crate) fn build(&self) -> Term {
        let args: Vec<Term> = self.args.iter().map(Tree::build).collect();
        t::apply(&self.op, &args)
    }

    /// By the meaning of each operator.
    pub(crate) fn value(&self, assignment: &Assignment) -> Option<Value> {
        if let Op::Var(v) = &self.op {
            return assignment.vars.get(v).cloned();
        }
        let args: Option<Vec<Value>> = self.args.iter().map(|a| a.value(assignment)).collect();
        eval_op(&self.op, &args?.iter().collect::<Vec<_>>())
    }
}

/// Decisions, one byte each; zeros when they run out.
pub(crate) struct Source<'a>(pub(crate) &'a [u8]);

impl Source<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.next()) % n
    }
}

pub(crate) const ARRAY_OF_INT: fn() -> Sort = || Sort::array(Sort::Int, Sort::Int);

/// Variables of every sort in use.
pub(crate) fn variables() -> Vec<Var> {
    let mut all = Vec::new();
    for name in ["x", "y", "z"] {
        all.push(Var::new(name, Sort::Int));
        all.push(Var::new(name, Sort::BitVec(8)));
        all.push(Var::new(name, Sort::BitVec(32)));
    }
    all.extend(["p", "q", "r"].map(|name| Var::new(name, Sort::Bool)));
    all.extend(["a", "b"].map(|name| Var::new(name, ARRAY_OF_INT())));
    all
}

fn number(source: &mut Source<'_>) -> i64 {
    let byte = source.next();
    match byte {
        0..=199 => i64::from(byte % 11) - 5,
        200..=219 => 1 << (byte % 33),
        220..=239 => -(1 << (byte % 33)),
        240..=255 => (1i64 << (byte % 33)) - 1,
    }
}

pub(crate) fn value(source: &mut Source<'_>, sort: Sort) -> Value {
    match sort {
        Sort::Bool => Value::Bool(source.next() % 2 == 1),
        Sort::Int => Value::Int(number(source).into()),
        Sort::BitVec(width) => Value::BitVec(BitVec::new(width, &number(source).into())),
        Sort::Array(_) => {
            let mut array = proofline_smt::term::ArrayValue::new(sort, value(source, Sort::Int));
            for _ in 0..source.below(3) {
                array.set(value(source, Sort::Int), value(source, Sort::Int));
            }
            Value::Array(array)
        }
        Sort::Float(_) => unreachable!("not generated"),
    }
}

pub(crate) fn assignment(source: &mut Source<'_>) -> Assignment {
    let vars = variables().into_iter().map(|v| (v, value(source, v.sort))).collect();
    Assignment { vars, ..Assignment::default() }
}

/// Operators that yield `sort`, with the sorts of their arguments.
pub(crate) fn operators(sort: Sort) -> Vec<(Op, Vec<Sort>)> {
    use Op::*;
    let same = |op: Op, n: usize| (op, vec![sort; n]);
    match sort {
        Sort::Bool => {
            let mut all = vec![
                same(Not, 1),
                same(And, 2),
                same(And, 3),
                same(Or, 2),
                same(Or, 3),
                same(Ite, 3),
                same(Eq, 2),
                (Le, vec![Sort::Int; 2]),
                (Le, vec![Sort::Int; 2]),
                (Eq, vec![Sort::Int; 2]),
                (Eq, vec![ARRAY_OF_INT(); 2]),
            ];
            for width in [8, 32] {
                all.extend([BvUle, BvSle, Eq].map(|op| (op, vec![Sort::BitVec(width); 2])));
            }
            all
        }
        Sort::Int => vec![
            same(Add, 2),
            same(Add, 3),
            same(Mul, 2),
            same(Div, 2),
            same(Mod, 2),
            (Ite, vec![Sort::Bool, sort, sort]),
            (BvToInt, vec![Sort::BitVec(8)]),
            (Select, vec![ARRAY_OF_INT(), Sort::Int]),
        ],
        Sort::BitVec(width) => {
            let binary =
                [BvAnd, BvOr, BvXor, BvAdd, BvMul, BvUdiv, BvUrem, BvSdiv, BvSrem, BvShl, BvLshr, BvAshr];
            let mut all: Vec<(Op, Vec<Sort>)> = binary.into_iter().map(|op| same(op, 2)).collect();
            all.push(same(BvNot, 1));
            all.push((Ite, vec![Sort::Bool, sort, sort]));
            all.push((IntToBv(width), vec![Sort::Int]));
            if width == 32 {
                let eight = Sort::BitVec(8);
                all.push((ZeroExtend(24), vec![eight]));
                all.push((SignExtend(24), vec![eight]));
                all.push((Concat, vec![Sort::BitVec(24), eight]));
            } else if width == 24 {
                all.push((Extract { high: 23, low: 0 }, vec![Sort::BitVec(32)]));
                all.push((Concat, vec![Sort::BitVec(8), Sort::BitVec(16)]));
            } else if width == 16 {
                all.push((Concat, vec![Sort::BitVec(8), Sort::BitVec(8)]));
            } else if width == 8 {
                for low in [0, 3, 8, 24] {
                    all.push((Extract { high: low + 7, low }, vec![Sort::BitVec(32)]));
                }
            }
            all
        }
        Sort::Array(_) => vec![
            (Store, vec![sort, Sort::Int, Sort::Int]),
            (ConstArray(sort), vec![Sort::Int]),
            (Ite, vec![Sort::Bool, sort, sort]),
        ],
        Sort::Float(_) => unreachable!("not generated"),
    }
}

pub(crate) fn tree(source: &mut Source<'_>, sort: Sort, depth: u32) -> Tree {
    let choice = source.next();
    if depth == 0 || choice < 60 {
        let known: Vec<Var> = variables().into_iter().filter(|v| v.sort == sort).collect();
        if choice.is_multiple_of(3) || known.is_empty() {
            return literal(&value(source, sort));
        }
        return Tree { op: Op::Var(known[source.below(known.len())]), args: Vec::new() };
    }
    let operators = operators(sort);
    let (op, sorts) = operators[source.below(operators.len())].clone();
    Tree { op, args: sorts.into_iter().map(|s| tree(source, s, depth - 1)).collect() }
}

/// A constant as a tree.
fn literal(value: &Value) -> Tree {
    fn of(term: Term) -> Tree {
        Tree { op: term.op().clone(), args: term.args().iter().map(|a| of(*a)).collect() }
    }
    of(value.to_term())
}
