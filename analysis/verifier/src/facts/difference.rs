//! Bounds of differences between two variables of a function: `i <= n`.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Function, IntType, LocalId, Role};
use proofline_domains::relation::{Dim, Var, Zone};

use super::{Here, Known, Variable};

/// So many bounds are kept of a location at most.
const MOST: usize = 40;

/// Bounds as large as this come from ends of types, and say nothing to people.
const FAR: u128 = 1 << 20;

/// The left one is at most so much larger than the right one, both as whole numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Difference {
    /// A local and its type.
    pub left: (LocalId, IntType),
    /// Another.
    pub right: (LocalId, IntType),
    /// At most this.
    pub most: i128,
}

/// What is said of two variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Between {
    /// `left <= right + most`
    AtMost(Difference),
    /// `left == right + most`
    Equal(Difference),
}

impl Difference {
    /// The two, in order.
    fn key(&self) -> (LocalId, LocalId) {
        (self.left.0, self.right.0)
    }
}

impl Between {
    /// The two variables.
    pub fn variables(&self) -> [Variable; 2] {
        let (Between::AtMost(d) | Between::Equal(d)) = self;
        [d.left.0, d.right.0].map(Variable::Local)
    }

    /// As people and ACSL write it: `i <= n`, `i < n`, `i == n + 3`.
    pub fn text(&self, name: &dyn Fn(Variable) -> String) -> String {
        let [left, right] = self.variables().map(name);
        match *self {
            Between::AtMost(Difference { most: -1, .. }) => format!("{left} < {right}"),
            Between::AtMost(Difference { most, .. }) => format!("{left} <= {}", plus(&right, most)),
            Between::Equal(Difference { most, .. }) => format!("{left} == {}", plus(&right, most)),
        }
    }

    /// As a C expression with the same value, whatever headers are included; `None` where C's integers are too narrow to say it.
    pub fn expression(&self, name: &dyn Fn(Variable) -> String) -> Option<String> {
        let (Between::AtMost(d) | Between::Equal(d)) = *self;
        let [left, right] = self.variables().map(name);
        let (a, b) = (d.left.1, d.right.1);
        let operator = match (self, d.most) {
            (Between::Equal(_), 0) => "==",
            (Between::AtMost(_), 0) => "<=",
            (Between::AtMost(_), -1) => "<",
            (Between::AtMost(_) | Between::Equal(_), most) => {
                // Neither side leaves `long long`.
                let is_narrow = a.bits <= 32 && b.bits <= 32 && most.unsigned_abs() < 1 << 40;
                let operator = if matches!(self, Between::Equal(_)) { "==" } else { "<=" };
                let right = plus(&format!("(long long){right}"), most);
                return is_narrow.then(|| format!("(long long){left} {operator} {right}"));
            }
        };
        // Where the usual conversions keep both values, the comparison means what it says.
        let keeps = |unsigned: IntType, signed: IntType| unsigned.bits < 32 || unsigned.bits < signed.bits;
        if a.signed == b.signed || (if a.signed { keeps(b, a) } else { keeps(a, b) }) {
            return Some(format!("{left} {operator} {right}"));
        }
        let is_narrow = a.bits <= 32 && b.bits <= 32;
        is_narrow.then(|| format!("(long long){left} {operator} (long long){right}"))
    }
}

fn plus(text: &str, more: i128) -> String {
    match more {
        0 => text.to_owned(),
        1.. => format!("{text} + {more}"),
        _ => format!("{text} - {}", more.unsigned_abs()),
    }
}

/// The differences between variables that a programmer has named.
pub(super) fn named(zone: &Zone, function: &Function) -> Zone {
    let mut named = zone.clone();
    named.retain(|dim| match dim {
        Dim::Value(Var::Local(id), _) => match function.local(id).role {
            Role::Parameter | Role::Variable | Role::Result => true,
            Role::VariableArray | Role::Temporary | Role::Shadow => false,
        },
        Dim::Value(Var::Cell(_) | Var::Path(_), _)
        | Dim::Twice(..)
        | Dim::Product(..)
        | Dim::Global(..)
        | Dim::First(..)
        | Dim::Offset(_)
        | Dim::FirstOffset(_)
        | Dim::Size(_)
        | Dim::Zero(_)
        | Dim::Filled(_)
        | Dim::From(_)
        | Dim::Stop(_)
        | Dim::Scratch(_) => false,
    });
    named
}

/// Those bounds of a zone that say more than the values' own ranges, and do not follow from two others.
pub(super) fn listed(zone: &Zone, here: &Here) -> Vec<Difference> {
    let range = |id: LocalId, ty: IntType| match here.get(&Variable::Local(id)) {
        Some(Known::Within(ranges, _)) => (ranges.lo(), ranges.hi()),
        Some(Known::Null | Known::NotNull) | None => (ty.min(), ty.max()),
    };
    let of = |(x, y, most): (Dim, Dim, i128)| {
        let (Dim::Value(Var::Local(x), a), Dim::Value(Var::Local(y), b)) = (x, y) else { return None };
        let follows = range(x, a).1 - range(y, b).0 <= most;
        (!follows && most.unsigned_abs() < FAR).then_some(Difference { left: (x, a), right: (y, b), most })
    };
    let all: Vec<Difference> = zone.differences().filter_map(of).collect();
    let known: BTreeMap<(LocalId, LocalId), i128> = all.iter().map(|d| (d.key(), d.most)).collect();
    let middles: BTreeSet<LocalId> = known.keys().map(|(x, _)| *x).collect();
    let mut kept = all;
    // Of equal variables each bound follows from the others': only what is strictly weaker than a way over a third one goes.
    kept.retain(|d| {
        !middles.iter().any(|via| {
            let (Some(first), Some(second)) = (known.get(&(d.left.0, *via)), known.get(&(*via, d.right.0)))
            else {
                return false;
            };
            let is_equal = |x: LocalId, y: LocalId, most: i128| known.get(&(y, x)) == Some(&-most);
            first + second <= d.most
                && !is_equal(d.left.0, *via, *first)
                && !is_equal(*via, d.right.0, *second)
        })
    });
    kept.truncate(MOST);
    kept
}

/// What holds where either holds.
pub(super) fn join(known: &mut Vec<Difference>, other: &[Difference]) {
    known.retain_mut(|own| match other.iter().find(|other| other.key() == own.key()) {
        Some(other) => {
            own.most = own.most.max(other.most);
            true
        }
        None => false,
    });
}

/// As people say it: two bounds that leave one difference are an equation.
pub fn between(differences: &[Difference]) -> Vec<Between> {
    let mut out = Vec::new();
    for d in differences {
        let back = differences.iter().find(|other| other.key() == (d.right.0, d.left.0));
        match back {
            Some(back) if back.most == -d.most => {
                if d.left < d.right {
                    out.push(Between::Equal(*d));
                }
            }
            Some(_) | None => out.push(Between::AtMost(*d)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: IntType = IntType { bits: 32, signed: true };
    const UNSIGNED: IntType = IntType { bits: 32, signed: false };
    const LONG: IntType = IntType { bits: 64, signed: true };
    const SIZE: IntType = IntType { bits: 64, signed: false };

    fn said(a: IntType, b: IntType, most: i128) -> (String, Option<String>) {
        let d = Difference { left: (LocalId(0), a), right: (LocalId(1), b), most };
        let name = |v: Variable| match v {
            Variable::Local(LocalId(0)) => "i".to_owned(),
            Variable::Local(_) => "n".to_owned(),
            Variable::Global(name) => name.to_string(),
        };
        (Between::AtMost(d).text(&name), Between::AtMost(d).expression(&name))
    }

    #[test]
    fn c_says_it_only_where_its_integers_hold_it() {
        let some = |text: &str, c: &str| (text.to_owned(), Some(c.to_owned()));
        assert_eq!(said(INT, INT, 0), some("i <= n", "i <= n"));
        assert_eq!(said(SIZE, SIZE, -1), some("i < n", "i < n"));
        assert_eq!(said(INT, LONG, -1), some("i < n", "i < n"));
        assert_eq!(said(INT, UNSIGNED, 0), some("i <= n", "(long long)i <= (long long)n"));
        assert_eq!(said(UNSIGNED, LONG, 0), some("i <= n", "i <= n"));
        assert_eq!(said(INT, INT, 3), some("i <= n + 3", "(long long)i <= (long long)n + 3"));
        assert_eq!(said(INT, INT, -2), some("i <= n - 2", "(long long)i <= (long long)n - 2"));
        assert_eq!(said(INT, SIZE, 0), ("i <= n".to_owned(), None));
        assert_eq!(said(LONG, LONG, 1), ("i <= n + 1".to_owned(), None));
    }

    #[test]
    fn two_bounds_are_an_equation() {
        let d = |left: u32, right: u32, most| Difference {
            left: (LocalId(left), INT),
            right: (LocalId(right), INT),
            most,
        };
        assert_eq!(between(&[d(0, 1, 2), d(1, 0, -2)]), [Between::Equal(d(0, 1, 2))]);
        assert_eq!(
            between(&[d(0, 1, 2), d(1, 0, -1)]),
            [Between::AtMost(d(0, 1, 2)), Between::AtMost(d(1, 0, -1))]
        );
    }
}
