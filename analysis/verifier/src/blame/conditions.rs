//! Conditions over the arguments of the entry function: what follows from them by looking, and how they are shortened for people.

use std::collections::BTreeMap;

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, Scalar, Type, eval::int::compare, visit};

use super::{readable, symbols::result_name};

/// A conjunction.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    known: Vec<Expr>,
    /// Some that could not be expressed.
    unknown: usize,
}

/// The values that comparisons with constants leave to an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    low: i128,
    high: i128,
}

impl Conditions {
    /// One more. A number says nothing.
    pub(super) fn add(&mut self, condition: Option<Expr>) {
        match condition {
            Some(Expr::Int(..)) => {}
            Some(condition) if !self.known.contains(&condition) => self.known.push(condition),
            Some(_) => {}
            None => self.unknown += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.unknown == 0
    }

    pub(super) fn all_known(&self) -> bool {
        self.unknown == 0
    }

    pub(super) fn joined(&self, other: &Conditions) -> Conditions {
        let mut all = self.clone();
        other.known.iter().for_each(|condition| all.add(Some(condition.clone())));
        all.unknown += other.unknown;
        all
    }

    /// Those that speak of something that `condition` reads.
    pub(super) fn about(&self, condition: &Expr) -> Conditions {
        let mut read = Vec::new();
        loads(condition, &mut read);
        let speaks = |other: &&Expr| {
            let mut theirs = Vec::new();
            loads(other, &mut theirs);
            theirs.iter().any(|load| read.contains(load))
        };
        Conditions { known: self.known.iter().filter(speaks).cloned().collect(), unknown: 0 }
    }

    /// Whether `condition` holds wherever these do, as far as comparisons with constants show.
    pub(super) fn imply(&self, condition: &Expr) -> bool {
        if self.known.contains(condition) {
            return true;
        }
        let ranges = self.ranges();
        if let Some((subject, op, bound)) = atom(condition)
            && let Some(range) = ranges.get(subject)
        {
            return match op {
                CompareOp::Eq => range.low == bound && range.high == bound,
                CompareOp::Ne => bound < range.low || range.high < bound,
                CompareOp::Lt => range.high < bound,
                CompareOp::Le => range.high <= bound,
                CompareOp::Gt => range.low > bound,
                CompareOp::Ge => range.low >= bound,
            };
        }
        // Everything it reads is pinned to one value: then it is what it was in the run.
        let mut read = Vec::new();
        loads(condition, &mut read);
        !read.is_empty()
            && read.iter().all(|load| ranges.get(load).is_some_and(|range| range.low == range.high))
    }

    /// Whether these bound what the condition is about, on the side where it lies, and not tightly enough: `m <= 12` where `m >= 12` fails.
    pub(super) fn let_through(&self, condition: &Expr) -> bool {
        let ranges = self.ranges();
        let Some((subject, op, bound)) = atom(condition) else { return false };
        let Some(range) = ranges.get(subject) else { return false };
        match op {
            CompareOp::Eq => range.low == bound || range.high == bound,
            CompareOp::Ne => false,
            CompareOp::Gt | CompareOp::Ge => range.high < i128::MAX && range.high >= bound,
            CompareOp::Lt | CompareOp::Le => range.low > i128::MIN && range.low <= bound,
        }
    }

    /// Something of an enumeration's type that these leave no constant of it for; they ask about it.
    pub(super) fn no_constant(&self, constants: &dyn Fn(Type) -> Vec<i128>) -> Option<&Expr> {
        let about = |condition| atom(condition).map(|(subject, op, bound)| (plain(subject), op, bound));
        let atoms: Vec<(&Expr, CompareOp, i128)> = self.known.iter().filter_map(about).collect();
        let is_ruled_out = |value: &Expr, constant: i128| {
            atoms.iter().any(|(subject, op, bound)| *subject == value && !compare(*op, constant, *bound))
        };
        let all_are = |value: &Expr| {
            let Expr::Load(place) = value else { return false };
            let constants = constants(place.ty);
            !constants.is_empty() && constants.iter().all(|constant| is_ruled_out(value, *constant))
        };
        atoms.iter().map(|(subject, ..)| *subject).find(|subject| all_are(subject))
    }

    fn ranges(&self) -> BTreeMap<&Expr, Range> {
        let mut ranges: BTreeMap<&Expr, Range> = BTreeMap::new();
        for condition in &self.known {
            let Some((subject, op, bound)) = atom(condition) else { continue };
            let range = ranges.entry(subject).or_insert(Range { low: i128::MIN, high: i128::MAX });
            match op {
                CompareOp::Eq => (range.low, range.high) = (bound, bound),
                CompareOp::Ne => {}
                CompareOp::Lt => range.high = range.high.min(bound - 1),
                CompareOp::Le => range.high = range.high.min(bound),
                CompareOp::Gt => range.low = range.low.max(bound + 1),
                CompareOp::Ge => range.low = range.low.max(bound),
            }
        }
        ranges
    }

    /// As one line: of several bounds of one thing the strongest, of the rest each once. `None` if it is too long to be read.
    pub(super) fn text(&self, entry: &Function) -> Option<String> {
        const MOST: usize = 4;
        let ranges = self.ranges();
        let mut parts: Vec<String> = Vec::new();
        for condition in &self.known {
            let is_weaker = match atom(condition) {
                None => false,
                Some((subject, op, bound)) => {
                    let range = ranges[subject];
                    match op {
                        CompareOp::Eq => false,
                        CompareOp::Ne => bound < range.low || bound > range.high,
                        CompareOp::Lt => bound - 1 > range.high,
                        CompareOp::Le => bound > range.high,
                        CompareOp::Gt => bound + 1 < range.low,
                        CompareOp::Ge => bound < range.low,
                    }
                }
            };
            if !is_weaker {
                let text = readable(entry, &canonical(condition), false);
                if !parts.contains(&text) {
                    parts.push(text);
                }
            }
        }
        if parts.is_empty() || parts.len() > MOST || is_ambiguous(self.known.iter()) {
            return None;
        }
        Some(parts.join(" and ")).filter(|text| text.len() <= LONGEST)
    }
}

/// Longer lines are not shown.
const LONGEST: usize = 160;

/// Whether two results of one function stand for different values in these: then their names say nothing.
pub(super) fn is_ambiguous<'e>(conditions: impl Iterator<Item = &'e Expr>) -> bool {
    let mut read = Vec::new();
    conditions.for_each(|condition| loads(condition, &mut read));
    let results: Vec<&Expr> = read.iter().filter(|load| result_name(load).is_some()).collect();
    results.iter().any(|a| results.iter().any(|b| a != b && result_name(a) == result_name(b)))
}

/// `subject op constant`, from either side.
fn atom(condition: &Expr) -> Option<(&Expr, CompareOp, i128)> {
    let Expr::Compare(op, left, right) = condition else { return None };
    let number = |e: &Expr| match e {
        Expr::Int(value, _) => Some(*value),
        Expr::Null => Some(0),
        _ => None,
    };
    let (subject, op, bound) = match (number(left), number(right)) {
        (None, Some(bound)) => (&**left, *op, bound),
        (Some(bound), None) => (&**right, op.mirrored(), bound),
        _ => return None,
    };
    Some(moved(subject, op, bound))
}

/// Without casts to other types of integers.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Scalar::Int(_), arg, _) => plain(arg),
        other => other,
    }
}

/// `x - 3 > 2` is `x > 5`: signed sums that wrap around are mistakes of their own.
fn moved(subject: &Expr, op: CompareOp, bound: i128) -> (&Expr, CompareOp, i128) {
    let is_signed = matches!(subject.scalar(), Scalar::Int(ty) if ty.signed);
    match subject {
        Expr::Binary(sum, inner, number, _) if is_signed => match (sum, &**number) {
            (BinaryOp::Sub, Expr::Int(number, _)) => moved(inner, op, bound.saturating_add(*number)),
            (BinaryOp::Add, Expr::Int(number, _)) => moved(inner, op, bound.saturating_sub(*number)),
            _ => (subject, op, bound),
        },
        _ => (subject, op, bound),
    }
}

/// The constant on the right.
fn canonical(condition: &Expr) -> Expr {
    match condition {
        Expr::Compare(op, left, right) if matches!(**left, Expr::Int(..) | Expr::Null) => {
            Expr::Compare(op.mirrored(), right.clone(), left.clone())
        }
        _ => condition.clone(),
    }
}

fn loads(expr: &Expr, out: &mut Vec<Expr>) {
    visit::walk(expr, &mut |part| {
        if matches!(part, Expr::Load(_)) && !out.contains(part) {
            out.push(part.clone());
        }
    });
}
