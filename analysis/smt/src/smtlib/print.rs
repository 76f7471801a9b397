//! Terms as SMT-LIB 2 text. Shared subterms are bound by `let`, so the text is as long as the graph, not the tree.
//! The text parses back to the same term (`super::parse`).

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use num_bigint::{BigInt, Sign};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{
    FloatConst, FloatOp, Func, Op, Rounding, Sort, Term, Var, free_functions, free_vars, postorder,
};

/// Subterms at least this large are shared by `let` if used more than once.
const SHARE: u64 = 4;

/// A symbol as SMT-LIB wants it; `%`, `|`, `\`, `@` and controls in names are written as `%` and two hexadecimal digits.
#[must_use]
pub fn smtlib_name(name: &str, index: u32) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if matches!(c, '%' | '|' | '\\' | '@') || c.is_control() {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                let _ = write!(text, "%{byte:02x}");
            }
        } else {
            text.push(c);
        }
    }
    if index > 0 {
        let _ = write!(text, "@{index}");
    }
    let simple = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
    let reserved = RESERVED.contains(&text.as_str());
    let plain = text.chars().all(simple) && !text.starts_with(|c: char| c.is_ascii_digit() || c == '?');
    if plain && !reserved && !text.is_empty() { text } else { format!("|{text}|") }
}

/// Names that mean something to SMT-LIB or to Z3 when they are not quoted.
const RESERVED: [&str; 40] = [
    "true", "false", "not", "and", "or", "xor", "ite", "=", "=>", "distinct", "+", "-", "*", "div", "mod",
    "abs", "<=", "<", ">=", ">", "let", "forall", "exists", "_", "as", "select", "store", "const", "concat",
    "fp", "!", "RNE", "RNA", "RTP", "RTN", "RTZ", "to_fp", "rem", "/", "match",
];

fn variable(v: Var) -> String {
    if v.is_bound() { format!("?{}", v.index) } else { smtlib_name(v.name.as_str(), v.index) }
}

pub(super) fn integer(i: &BigInt) -> String {
    if i.sign() == Sign::Minus { format!("(- {})", -i) } else { i.to_string() }
}

fn float(f: &FloatConst) -> String {
    let (sign, exponent, fraction) = f.parts();
    format!("(fp #b{} #b{} #b{})", sign.binary(), exponent.binary(), fraction.binary())
}

fn float_head(op: FloatOp, args: &[Sort]) -> String {
    let rounded = |name: &str, r: Rounding| format!("{name} {}", r.smtlib());
    match op {
        FloatOp::Add(r) => rounded("fp.add", r),
        FloatOp::Sub(r) => rounded("fp.sub", r),
        FloatOp::Mul(r) => rounded("fp.mul", r),
        FloatOp::Div(r) => rounded("fp.div", r),
        FloatOp::Sqrt(r) => rounded("fp.sqrt", r),
        FloatOp::RoundToIntegral(r) => rounded("fp.roundToIntegral", r),
        FloatOp::Rem => "fp.rem".into(),
        FloatOp::Neg => "fp.neg".into(),
        FloatOp::Abs => "fp.abs".into(),
        FloatOp::Eq => "fp.eq".into(),
        FloatOp::Lt => "fp.lt".into(),
        FloatOp::Le => "fp.leq".into(),
        FloatOp::IsNan => "fp.isNaN".into(),
        FloatOp::IsInfinite => "fp.isInfinite".into(),
        FloatOp::IsZero => "fp.isZero".into(),
        FloatOp::IsNegative => "fp.isNegative".into(),
        FloatOp::FromFloat(r, to) | FloatOp::FromSigned(r, to) => {
            debug_assert!(args.len() == 1);
            rounded(&format!("(_ to_fp {} {})", to.exponent, to.significand), r)
        }
        FloatOp::FromUnsigned(r, to) => {
            rounded(&format!("(_ to_fp_unsigned {} {})", to.exponent, to.significand), r)
        }
        FloatOp::FromBits(to) => format!("(_ to_fp {} {})", to.exponent, to.significand),
        FloatOp::ToSigned(r, width) => rounded(&format!("(_ fp.to_sbv {width})"), r),
        FloatOp::ToUnsigned(r, width) => rounded(&format!("(_ fp.to_ubv {width})"), r),
    }
}

/// What stands before the arguments; whole text for constants.
fn head(term: Term) -> String {
    let sorts = || term.args().iter().map(|t| t.sort()).collect::<Vec<_>>();
    match term.op() {
        Op::Bool(b) => b.to_string(),
        Op::Int(i) => integer(i),
        Op::BitVec(b) if b.width() % 4 == 0 => {
            format!("#x{:0>width$}", b.unsigned().to_str_radix(16), width = (b.width() / 4) as usize)
        }
        Op::BitVec(b) => format!("#b{}", b.binary()),
        Op::Float(f) => float(f),
        Op::Var(v) => variable(*v),
        Op::Not => "not".into(),
        Op::And => "and".into(),
        Op::Or => "or".into(),
        Op::Ite => "ite".into(),
        Op::Eq => "=".into(),
        Op::Add => "+".into(),
        Op::Mul => "*".into(),
        Op::Div => "div".into(),
        Op::Mod => "mod".into(),
        Op::Le => "<=".into(),
        Op::Apply(f) => smtlib_name(f.name().as_str(), 0),
        Op::BvNot => "bvnot".into(),
        Op::BvAnd => "bvand".into(),
        Op::BvOr => "bvor".into(),
        Op::BvXor => "bvxor".into(),
        Op::BvAdd => "bvadd".into(),
        Op::BvMul => "bvmul".into(),
        Op::BvUdiv => "bvudiv".into(),
        Op::BvUrem => "bvurem".into(),
        Op::BvSdiv => "bvsdiv".into(),
        Op::BvSrem => "bvsrem".into(),
        Op::BvShl => "bvshl".into(),
        Op::BvLshr => "bvlshr".into(),
        Op::BvAshr => "bvashr".into(),
        Op::BvUle => "bvule".into(),
        Op::BvSle => "bvsle".into(),
        Op::Concat => "concat".into(),
        Op::Extract { high, low } => format!("(_ extract {high} {low})"),
        Op::ZeroExtend(by) => format!("(_ zero_extend {by})"),
        Op::SignExtend(by) => format!("(_ sign_extend {by})"),
        Op::BvToInt => "bv2nat".into(),
        Op::IntToBv(width) => format!("(_ int2bv {width})"),
        Op::Select => "select".into(),
        Op::Store => "store".into(),
        Op::ConstArray(sort) => format!("(as const {sort})"),
        Op::Fp(op) => float_head(*op, &sorts()),
        Op::Forall(vars) => format!("forall {}", binders(vars)),
        Op::Exists(vars) => format!("exists {}", binders(vars)),
    }
}

fn binders(vars: &[Var]) -> String {
    let list: Vec<String> = vars.iter().map(|v| format!("({} {})", variable(*v), v.sort)).collect();
    format!("({})", list.join(" "))
}

impl fmt::Display for Term {
    /// SMT-LIB 2 with `let` for shared subterms.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut uses: FxHashMap<Term, u32> = FxHashMap::default();
        let order = postorder(&[*self]);
        for t in &order {
            for a in t.args() {
                *uses.entry(*a).or_default() += 1;
            }
        }
        // A subterm that mentions a bound variable cannot be moved out of its binder.
        let mut bound: FxHashSet<Term> = FxHashSet::default();
        if self.binders() > 0 {
            for t in &order {
                if t.as_var().is_some_and(Var::is_bound) || t.args().iter().any(|a| bound.contains(a)) {
                    bound.insert(*t);
                }
            }
        }
        let often = |t: &Term| uses.get(t).is_some_and(|n| *n > 1);
        let share = |t: &Term| t.size() >= SHARE && often(t) && !bound.contains(t);
        let mut names: FxHashMap<Term, String> = FxHashMap::default();
        let mut open = 0;
        for t in order.iter().filter(|t| share(t)) {
            let name = format!("?l{}", names.len());
            write!(f, "(let (({name} ")?;
            write_tree(f, *t, &names)?;
            write!(f, ")) ")?;
            names.insert(*t, name);
            open += 1;
        }
        write_tree(f, *self, &names)?;
        for _ in 0..open {
            write!(f, ")")?;
        }
        Ok(())
    }
}

fn write_tree(f: &mut fmt::Formatter<'_>, term: Term, names: &FxHashMap<Term, String>) -> fmt::Result {
    enum Item {
        Term(Term),
        Close,
    }
    let mut stack = vec![Item::Term(term)];
    let mut first = true;
    while let Some(item) = stack.pop() {
        match item {
            Item::Close => write!(f, ")")?,
            Item::Term(t) => {
                if !first {
                    write!(f, " ")?;
                }
                first = false;
                if let Some(name) = names.get(&t) {
                    write!(f, "{name}")?;
                } else if t.args().is_empty() {
                    write!(f, "{}", head(t))?;
                } else {
                    write!(f, "({}", head(t))?;
                    stack.push(Item::Close);
                    stack.extend(t.args().iter().rev().map(|a| Item::Term(*a)));
                }
            }
        }
    }
    Ok(())
}

/// Declarations and assertions as one SMT-LIB script, for dumps and for the disk cache.
#[derive(Clone, Default, Debug)]
pub struct Script {
    declared: BTreeSet<String>,
    vars: BTreeSet<Var>,
    functions: BTreeSet<Func>,
    text: String,
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Script {
        Script::default()
    }

    /// Declares the free symbols of `term` that are not declared yet.
    pub fn declare(&mut self, term: Term) {
        for v in free_vars(term) {
            if self.vars.insert(v) {
                let name = variable(v);
                if !self.declared.insert(name.clone()) {
                    let _ = writeln!(self.text, "; {name} has several sorts");
                }
                let _ = writeln!(self.text, "(declare-fun {name} () {})", v.sort);
            }
        }
        for f in free_functions(term) {
            if self.functions.insert(f) {
                let params: Vec<String> = f.params().iter().map(ToString::to_string).collect();
                let name = smtlib_name(f.name().as_str(), 0);
                let _ = writeln!(self.text, "(declare-fun {name} ({}) {})", params.join(" "), f.result());
            }
        }
    }

    /// Asserts `term`, declaring what it needs.
    pub fn assert(&mut self, term: Term) {
        self.declare(term);
        let _ = writeln!(self.text, "(assert {term})");
    }

    /// Adds a line as it is.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The script so far, one command a line.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
