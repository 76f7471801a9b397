//! Terms for people: infix, with comparisons turned so that nothing is negative. For hovers, messages and logs; it does
//! not parse back.

use num_bigint::{BigInt, Sign};

use crate::simplify::Linear;
use crate::term::{Op, Sort, Term};

/// The text is cut at this many characters.
const LONG: usize = 2000;

/// `term` as a person would write it: `ret = m + n`, `0 ≤ x`, `a[i] < 5`.
#[must_use]
pub fn pretty(term: Term) -> String {
    let mut out = String::new();
    write(term, 0, &mut out);
    if out.len() > LONG {
        let cut = (0..=LONG).rev().find(|i| out.is_char_boundary(*i)).unwrap_or(0);
        out.truncate(cut);
        out.push('…');
    }
    out
}

/// Binding strength: 1 or, 2 and, 3 comparison, 4 sum, 5 product, 6 application.
fn write(t: Term, outer: u8, out: &mut String) {
    if out.len() > LONG {
        return;
    }
    let args = t.args();
    let mut infix = |strength: u8, symbol: &str, args: &[Term]| {
        let parens = strength < outer || (strength == outer && strength == 3);
        if parens {
            out.push('(');
        }
        for (i, a) in args.iter().enumerate() {
            if i > 0 {
                out.push(' ');
                out.push_str(symbol);
                out.push(' ');
            }
            write(*a, strength + u8::from(i > 0 && strength == 5), out);
        }
        if parens {
            out.push(')');
        }
    };
    match t.op() {
        Op::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Op::Int(i) => out.push_str(&i.to_string()),
        Op::BitVec(b) => out.push_str(&b.signed().to_string()),
        Op::Float(f) => match f.to_f64() {
            Some(value) => out.push_str(&value.to_string()),
            None => out.push_str(&t.to_string()),
        },
        Op::Var(v) => out.push_str(&v.to_string()),
        Op::Not => negated(args[0], outer, out),
        Op::And => infix(2, "∧", args),
        Op::Or => infix(1, "∨", args),
        Op::Le => comparison(args[0], args[1], "≤", outer, out),
        Op::Eq if args[0].sort() == Sort::Int => comparison(args[0], args[1], "=", outer, out),
        Op::Eq if args[0].is_value() => infix(3, "=", &[args[1], args[0]]),
        Op::Eq => infix(3, if args[0].sort() == Sort::Bool { "⇔" } else { "=" }, args),
        Op::Add | Op::BvAdd | Op::Mul if !matches!(t.op(), Op::Mul) || args[0].as_int().is_some() => {
            let parens = outer > 4;
            if parens {
                out.push('(');
            }
            sum(&Linear::of(t).signed_view(), out);
            if parens {
                out.push(')');
            }
        }
        Op::Mul | Op::BvMul => infix(5, "·", args),
        Op::Div => infix(5, "div", args),
        Op::Mod => infix(5, "mod", args),
        Op::BvUdiv => infix(5, "/ᵤ", args),
        Op::BvSdiv => infix(5, "/", args),
        Op::BvUrem => infix(5, "%ᵤ", args),
        Op::BvSrem => infix(5, "%", args),
        Op::BvAnd => infix(4, "&", args),
        Op::BvOr => infix(4, "|", args),
        Op::BvXor => infix(4, "^", args),
        Op::BvShl => infix(4, "<<", args),
        Op::BvLshr => infix(4, ">>ᵤ", args),
        Op::BvAshr => infix(4, ">>", args),
        Op::BvUle => infix(3, "≤ᵤ", args),
        Op::BvSle => infix(3, "≤", args),
        Op::BvNot => call("~", args, out),
        Op::Select => {
            write(args[0], 6, out);
            out.push('[');
            write(args[1], 0, out);
            out.push(']');
        }
        Op::Store => {
            write(args[0], 6, out);
            out.push('[');
            write(args[1], 0, out);
            out.push_str(" := ");
            write(args[2], 0, out);
            out.push(']');
        }
        Op::Ite => call("ite", args, out),
        Op::Apply(f) => call(f.name().as_str(), args, out),
        Op::Concat => call("concat", args, out),
        Op::Extract { high, low } => call(&format!("bits{high}to{low}"), args, out),
        Op::ZeroExtend(_) => call("zext", args, out),
        Op::SignExtend(_) => call("sext", args, out),
        Op::BvToInt => call("int", args, out),
        Op::IntToBv(width) => call(&format!("bv{width}"), args, out),
        Op::ConstArray(_) => call("everywhere", args, out),
        Op::Fp(op) => call(&format!("{op:?}").to_lowercase(), args, out),
        Op::Add | Op::BvAdd => infix(4, "+", args),
        Op::Forall(vars) | Op::Exists(vars) => {
            let names: Vec<String> = vars.iter().map(|v| format!("?{}", v.index)).collect();
            let sign = if matches!(t.op(), Op::Forall(_)) { '∀' } else { '∃' };
            out.push(sign);
            out.push_str(&names.join(", "));
            out.push_str(". ");
            write(args[0], 1, out);
        }
    }
}

fn call(name: &str, args: &[Term], out: &mut String) {
    out.push_str(name);
    out.push('(');
    for (i, a) in args.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(*a, 0, out);
    }
    out.push(')');
}

fn negated(t: Term, outer: u8, out: &mut String) {
    let args = t.args();
    match t.op() {
        Op::Le => comparison(args[0], args[1], ">", outer, out),
        Op::Eq if args[0].sort() == Sort::Int => comparison(args[0], args[1], "≠", outer, out),
        Op::Eq | Op::BvUle | Op::BvSle => {
            let symbol = match t.op() {
                Op::Eq => "≠",
                Op::BvUle => ">ᵤ",
                _ => ">",
            };
            write(args[0], 4, out);
            out.push_str(&format!(" {symbol} "));
            write(args[1], 4, out);
        }
        _ => {
            out.push('¬');
            write(t, 6, out);
        }
    }
}

/// `a ? b` with every negative coefficient moved to the other side.
fn comparison(a: Term, b: Term, symbol: &str, outer: u8, out: &mut String) {
    let mut all = Linear::of(a);
    all.add_all(&Linear::of(b), &BigInt::from(-1));
    let positive = all.filter(|c| c.sign() == Sign::Plus).without_constant();
    let negative = all.filter(|c| c.sign() == Sign::Minus).without_constant();
    let mut right = negative.scale(&BigInt::from(-1));
    let mut left = positive;
    let constant = all.constant().clone();
    if left.terms().is_empty() || (constant.sign() == Sign::Plus && !right.terms().is_empty()) {
        left.add_constant(&constant);
    } else {
        right.add_constant(&-constant);
    }
    if outer > 3 {
        out.push('(');
    }
    // x > k reads better as x ≥ k + 1 only for k = -1.
    let at_least_zero = symbol == ">" && right.as_constant() == Some(&BigInt::from(-1));
    // x + 1 ≤ y reads better as x < y.
    let one = BigInt::from(1);
    let (symbol, left) = if symbol == "≤" && *left.constant() == one && !left.terms().is_empty() {
        ("<", left.without_constant())
    } else {
        (symbol, left)
    };
    // What is defined stands first.
    let is_one = |side: &Linear| {
        side.constant().sign() == Sign::NoSign
            && side.terms().len() == 1
            && side.terms().values().all(|c| *c == one)
    };
    let (left, right) = match symbol {
        "=" | "≠" if is_one(&right) && !is_one(&left) => (right, left),
        _ => (left, right),
    };
    sum(&left, out);
    if at_least_zero {
        out.push_str(" ≥ 0");
    } else {
        out.push_str(&format!(" {symbol} "));
        sum(&right, out);
    }
    if outer > 3 {
        out.push(')');
    }
}

fn sum(linear: &Linear, out: &mut String) {
    let mut first = true;
    for (t, c) in linear.terms() {
        sign(c.sign() == Sign::Minus, &mut first, out);
        let size = c.magnitude();
        if *size != num_bigint::BigUint::from(1u32) {
            out.push_str(&format!("{size}·"));
        }
        write(*t, 5, out);
    }
    let constant = linear.constant();
    if constant.sign() != Sign::NoSign || first {
        sign(constant.sign() == Sign::Minus, &mut first, out);
        out.push_str(&constant.magnitude().to_string());
    }
}

fn sign(negative: bool, first: &mut bool, out: &mut String) {
    match (*first, negative) {
        (true, true) => out.push('-'),
        (true, false) => {}
        (false, true) => out.push_str(" - "),
        (false, false) => out.push_str(" + "),
    }
    *first = false;
}
