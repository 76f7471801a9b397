//! The operators of SMT-LIB's theories by name: literals, indexed identifiers, sugar such as `>=` or `bvsub`.

use num_bigint::BigInt;

use super::s_expression::{Node, Result, Tree};
use crate::build;
use crate::term::bitvec::power_of_two;
use crate::term::{BitVec, FloatConst, FloatOp, FloatSort, Op, Rounding, Sort, Term};

/// A literal: truth value, numeral, bits, `(_ bv5 32)`, special floating-point numbers.
pub(super) fn constant(tree: &Tree<'_>, node: Node) -> Option<Term> {
    if let Some(text) = tree.atom(node) {
        return literal(text);
    }
    match tree.list(node)? {
        [underscore, name, width] if tree.atom(*underscore) == Some("_") => {
            let value: BigInt = tree.atom(*name)?.strip_prefix("bv")?.parse().ok()?;
            let width = tree.number(*width).ok().filter(|w| *w > 0)?;
            Some(build::bv(value, width))
        }
        [underscore, name, e, s] if tree.atom(*underscore) == Some("_") => {
            let sort = FloatSort { exponent: tree.number(*e).ok()?, significand: tree.number(*s).ok()? };
            let fraction = sort.significand.checked_sub(1)?;
            let infinity = (power_of_two(sort.exponent) - 1) << fraction;
            let sign = power_of_two(sort.width() - 1);
            let bits = match tree.atom(*name)? {
                "NaN" => return Some(build::float(FloatConst::nan(sort))),
                "+oo" => infinity,
                "-oo" => infinity + sign,
                "+zero" => BigInt::from(0),
                "-zero" => sign,
                _ => return None,
            };
            Some(build::float(FloatConst::new(sort, BitVec::new(sort.width(), &bits))))
        }
        _ => None,
    }
}

fn literal(text: &str) -> Option<Term> {
    let digits = |text: &str, radix: u32, bits: usize| {
        let value = BigInt::parse_bytes(text.as_bytes(), radix)?;
        let width = u32::try_from(text.len() * bits).ok().filter(|w| *w > 0)?;
        Some(build::bv(value, width))
    };
    match text {
        "true" => Some(build::bool(true)),
        "false" => Some(build::bool(false)),
        _ if text.starts_with("#x") => digits(&text[2..], 16, 4),
        _ if text.starts_with("#b") => digits(&text[2..], 2, 1),
        _ if text.starts_with(|c: char| c.is_ascii_digit()) => text.parse::<BigInt>().ok().map(build::int),
        _ => None,
    }
}

/// A rounding mode.
pub(super) fn rounding(tree: &Tree<'_>, node: Node) -> Option<Rounding> {
    let text = tree.atom(node)?;
    let long = match text {
        "roundNearestTiesToEven" => "RNE",
        "roundNearestTiesToAway" => "RNA",
        "roundTowardPositive" => "RTP",
        "roundTowardNegative" => "RTN",
        "roundTowardZero" => "RTZ",
        _ => text,
    };
    Rounding::ALL.into_iter().find(|r| r.smtlib() == long)
}

/// The application written at `node` to arguments already read. Ill-sorted applications are errors, not panics.
pub(super) fn apply(tree: &Tree<'_>, node: Node, args: &[Term]) -> Result<Term> {
    let items = tree.list(node).unwrap_or_default();
    let head = items[0];
    let rounding = items.get(1).and_then(|r| rounding(tree, *r));
    let found = match tree.list(head) {
        None => plain(tree.atom(head).unwrap_or_default(), rounding, args),
        Some([kind, name, params @ ..]) if tree.atom(*kind) == Some("_") => {
            let name = tree.atom(*name).unwrap_or_default();
            let numbers = params.iter().map(|p| tree.number(*p)).collect::<Result<Vec<u32>>>()?;
            indexed(name, &numbers, rounding, args)
        }
        Some([kind, name, sort]) if (tree.atom(*kind), tree.atom(*name)) == (Some("as"), Some("const")) => {
            one(Op::ConstArray(tree.sort(*sort)?), args)
        }
        Some(_) => None,
    };
    found.ok_or_else(|| tree.error(node, "unknown or ill-sorted application"))
}

/// `op` applied, if that is well-sorted.
fn one(op: Op, args: &[Term]) -> Option<Term> {
    let sorts: Vec<Sort> = args.iter().map(|t| t.sort()).collect();
    let sort = op.sort(&sorts);
    // Associative operators are also written with one argument.
    if sort.is_err() && args.len() == 1 && op.sort(&[sorts[0], sorts[0]]).is_ok() && associative(&op) {
        return Some(args[0]);
    }
    sort.ok().map(|_| build::apply(&op, args))
}

fn associative(op: &Op) -> bool {
    let joins = matches!(op, Op::And | Op::Or | Op::Add | Op::Mul);
    joins || matches!(op, Op::BvAdd | Op::BvMul | Op::BvAnd | Op::BvOr | Op::BvXor)
}

/// `f` on neighbours, all of which must hold (`(<= a b c)`).
fn chain(args: &[Term], op: Op, f: impl Fn(Term, Term) -> Term) -> Option<Term> {
    if args.len() < 2 {
        return None;
    }
    let sorted = args.windows(2).all(|w| op.sort(&[w[0].sort(), w[1].sort()]).is_ok());
    sorted.then(|| build::and(args.windows(2).map(|w| f(w[0], w[1]))))
}

/// `f` from the left.
fn left(args: &[Term], op: Op, f: impl Fn(Term, Term) -> Term) -> Option<Term> {
    let (first, rest) = args.split_first()?;
    let sorted = rest.iter().all(|t| op.sort(&[first.sort(), t.sort()]).is_ok());
    sorted.then(|| rest.iter().fold(*first, |a, b| f(a, *b)))
}

fn plain(name: &str, rounding: Option<Rounding>, args: &[Term]) -> Option<Term> {
    let int = |n: usize| args.len() == n && args.iter().all(|t| t.sort() == Sort::Int);
    let fp = |op: FloatOp| one(Op::Fp(op), args);
    match name {
        "not" => one(Op::Not, args),
        "and" => one(Op::And, args),
        "or" => one(Op::Or, args),
        "=>" => {
            let (last, rest) = args.split_last()?;
            let sorted = args.iter().all(|t| t.sort() == Sort::Bool);
            sorted.then(|| rest.iter().rev().fold(*last, |b, a| build::implies(*a, b)))
        }
        "xor" => left(args, Op::And, |a, b| build::not(build::iff(a, b))),
        "ite" => one(Op::Ite, args),
        "=" => chain(args, Op::Eq, build::eq),
        "distinct" => args.windows(2).all(|w| w[0].sort() == w[1].sort()).then(|| build::distinct(args)),
        "+" => one(Op::Add, args),
        "*" => one(Op::Mul, args),
        "-" if int(1) => Some(build::neg(args[0])),
        "-" => left(args, Op::Add, build::sub),
        "div" => left(args, Op::Div, build::div),
        "mod" => one(Op::Mod, args),
        "abs" if int(1) => Some(build::ite(build::le(build::int(0), args[0]), args[0], build::neg(args[0]))),
        "<=" => chain(args, Op::Le, build::le),
        "<" => chain(args, Op::Le, build::lt),
        ">=" => chain(args, Op::Le, build::ge),
        ">" => chain(args, Op::Le, build::gt),
        "select" => one(Op::Select, args),
        "store" => one(Op::Store, args),
        "concat" => match args {
            [first, rest @ ..] if args.iter().all(|t| t.sort().width().is_some()) => {
                Some(rest.iter().fold(*first, |a, b| build::concat(a, *b)))
            }
            _ => None,
        },
        "bv2nat" | "ubv_to_int" => one(Op::BvToInt, args),
        "sbv_to_int" if args.len() == 1 && args[0].sort().width().is_some() => {
            Some(build::bv_to_signed_int(args[0]))
        }
        "fp.add" => fp(FloatOp::Add(rounding?)),
        "fp.sub" => fp(FloatOp::Sub(rounding?)),
        "fp.mul" => fp(FloatOp::Mul(rounding?)),
        "fp.div" => fp(FloatOp::Div(rounding?)),
        "fp.sqrt" => fp(FloatOp::Sqrt(rounding?)),
        "fp.roundToIntegral" => fp(FloatOp::RoundToIntegral(rounding?)),
        "fp.rem" => fp(FloatOp::Rem),
        "fp.neg" => fp(FloatOp::Neg),
        "fp.abs" => fp(FloatOp::Abs),
        "fp.eq" => fp(FloatOp::Eq),
        "fp.lt" => fp(FloatOp::Lt),
        "fp.leq" => fp(FloatOp::Le),
        "fp.gt" if args.len() == 2 => one(Op::Fp(FloatOp::Lt), &[args[1], args[0]]),
        "fp.geq" if args.len() == 2 => one(Op::Fp(FloatOp::Le), &[args[1], args[0]]),
        "fp.isNaN" => fp(FloatOp::IsNan),
        "fp.isInfinite" => fp(FloatOp::IsInfinite),
        "fp.isZero" => fp(FloatOp::IsZero),
        "fp.isNegative" => fp(FloatOp::IsNegative),
        "fp" => {
            let parts: Option<Vec<&BitVec>> = args.iter().map(|t| t.as_bitvec()).collect();
            let [sign, exponent, fraction] = parts?[..] else { return None };
            let sort = FloatSort { exponent: exponent.width(), significand: fraction.width() + 1 };
            let bits = sign.concat(exponent).concat(fraction);
            (sign.width() == 1).then(|| build::float(FloatConst::new(sort, bits)))
        }
        _ => bits(name, args),
    }
}

fn bits(name: &str, args: &[Term]) -> Option<Term> {
    let pair = |f: fn(Term, Term) -> Term| left(args, Op::BvAdd, f);
    let test = |f: fn(Term, Term) -> Term| chain(args, Op::BvUle, f);
    match name {
        "bvnot" => one(Op::BvNot, args),
        "bvneg" if args.len() == 1 && args[0].sort().width().is_some() => Some(build::bvneg(args[0])),
        "bvand" => one(Op::BvAnd, args),
        "bvor" => one(Op::BvOr, args),
        "bvxor" => one(Op::BvXor, args),
        "bvadd" => one(Op::BvAdd, args),
        "bvmul" => one(Op::BvMul, args),
        "bvsub" => pair(build::bvsub),
        "bvudiv" => one(Op::BvUdiv, args),
        "bvurem" => one(Op::BvUrem, args),
        "bvsdiv" => one(Op::BvSdiv, args),
        "bvsrem" => one(Op::BvSrem, args),
        "bvsmod" => pair(build::bvsmod),
        "bvshl" => one(Op::BvShl, args),
        "bvlshr" => one(Op::BvLshr, args),
        "bvashr" => one(Op::BvAshr, args),
        "bvule" => test(build::bvule),
        "bvult" => test(build::bvult),
        "bvuge" => test(|a, b| build::bvule(b, a)),
        "bvugt" => test(|a, b| build::bvult(b, a)),
        "bvsle" => test(build::bvsle),
        "bvslt" => test(build::bvslt),
        "bvsge" => test(|a, b| build::bvsle(b, a)),
        "bvsgt" => test(|a, b| build::bvslt(b, a)),
        _ => None,
    }
}

fn indexed(name: &str, numbers: &[u32], rounding: Option<Rounding>, args: &[Term]) -> Option<Term> {
    let float = |e: u32, s: u32| FloatSort { exponent: e, significand: s };
    match (name, numbers) {
        ("extract", [high, low]) => one(Op::Extract { high: *high, low: *low }, args),
        ("zero_extend", [by]) => one(Op::ZeroExtend(*by), args),
        ("sign_extend", [by]) => one(Op::SignExtend(*by), args),
        ("int2bv" | "int_to_bv", [width]) => one(Op::IntToBv(*width), args),
        ("to_fp", [e, s]) => match (rounding, args.first()?.sort()) {
            (Some(r), Sort::Float(_)) => one(Op::Fp(FloatOp::FromFloat(r, float(*e, *s))), args),
            (Some(r), Sort::BitVec(_)) => one(Op::Fp(FloatOp::FromSigned(r, float(*e, *s))), args),
            (None, Sort::BitVec(_)) => one(Op::Fp(FloatOp::FromBits(float(*e, *s))), args),
            _ => None,
        },
        ("to_fp_unsigned", [e, s]) => one(Op::Fp(FloatOp::FromUnsigned(rounding?, float(*e, *s))), args),
        ("fp.to_sbv", [width]) => one(Op::Fp(FloatOp::ToSigned(rounding?, *width)), args),
        ("fp.to_ubv", [width]) => one(Op::Fp(FloatOp::ToUnsigned(rounding?, *width)), args),
        _ => None,
    }
}
