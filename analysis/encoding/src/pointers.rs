//! Pointers that are compared. Each object has an address of its own in formulas, far from all others; where objects really lie nobody knows,
//! only that those that are alive have no byte in common: one past the end of an object may be where another one begins (C11 6.5.9p6), and the
//! order of two objects is any.

use proofline_cfa::{CompareOp, Expr, Object};
use proofline_smt::{Sort, Term, build as t};

use crate::{arithmetic::ExprContext, encoding::Encoding, integers, vectors};

/// An object, and where it is in formulas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) object: Object,
    /// Its address, if it has one.
    pub(crate) start: Option<u64>,
    /// Its size, or that of the room that all objects of one site have.
    pub(crate) size: u64,
    /// Whether its life may end while the program runs, other than with its scope.
    pub(crate) ends: bool,
}

impl Extent {
    /// Whether the address is in the object, or one past its end.
    fn holds(self, address: Term, encoding: Encoding) -> Term {
        let Some(start) = self.start else { return t::bool(false) };
        encoding.inside(encoding.minus(address, encoding.address(start)), self.size + 1)
    }

    /// Whether the address is so many bytes behind its beginning.
    fn is_at(self, address: Term, offset: u64, encoding: Encoding) -> Term {
        match self.start {
            Some(start) => t::eq(address, encoding.address(start + offset)),
            None => t::bool(false),
        }
    }

    /// The text of a string literal.
    fn literal(self) -> Option<&'static str> {
        let Object::Global(name) = self.object else { return None };
        name.as_str().split_once('"').map(|(_, text)| text)
    }

    /// Whether both are literals that may have bytes in common: one is the end of the other.
    fn may_share(self, other: Extent) -> bool {
        let texts = (self.literal(), other.literal());
        matches!(texts, (Some(one), Some(other)) if one.ends_with(other) || other.ends_with(one))
    }

    /// Whether one may be where the other one was: what is allocated, where something was freed; a local, where one of another function was.
    fn may_follow(self, other: Extent) -> bool {
        match (self.object, other.object) {
            (Object::Heap(..), Object::Heap(..)) => self.ends || other.ends,
            (Object::Local(one, _), Object::Local(other, _)) => one != other,
            _ => false,
        }
    }
}

/// A pointer and its value.
type Pointer<'e> = (&'e Expr, Term);

/// `lhs op rhs`
pub(crate) fn compare(
    op: CompareOp,
    lhs: Pointer<'_>,
    rhs: Pointer<'_>,
    context: &mut dyn ExprContext,
) -> Term {
    let encoding = context.encoding();
    let numbers = match encoding {
        Encoding::BitVectors => vectors::compare(op, false, lhs.1, rhs.1),
        Encoding::Integers => integers::compare(op, lhs.1, rhs.1),
    };
    match op {
        CompareOp::Eq | CompareOp::Ne => {
            let touching = may_touch(lhs, rhs, context);
            if touching.is_false() {
                return numbers;
            }
            let also = t::and([touching, context.fresh().variable(Sort::Bool)]);
            match op {
                CompareOp::Eq => t::or([numbers, also]),
                _ => t::and([numbers, t::not(also)]),
            }
        }
        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
            let together = in_one_object(lhs, rhs, context);
            if together.is_true() {
                return numbers;
            }
            let any = context.fresh().variable(Sort::Bool);
            t::or([t::and([together, numbers]), t::and([t::not(together), any])])
        }
    }
}

/// More pairs of objects than this are not looked at one by one.
const MOST_PAIRS: usize = 64;

/// Whether addresses that differ here may be equal: one past the end of an object, and the beginning of another one; where an object was whose life has
/// ended, and one that has begun since. Literals may share their bytes.
fn may_touch(lhs: Pointer<'_>, rhs: Pointer<'_>, context: &dyn ExprContext) -> Term {
    if is_null(lhs.0) || is_null(rhs.0) {
        return t::bool(false);
    }
    let encoding = context.encoding();
    let (ones, others) = (context.extents(lhs.0), context.extents(rhs.0));
    let is_named = |extent: &Extent| matches!(extent.object, Object::Global(_) | Object::Local(..));
    let pairs = ones.iter().flat_map(|one| others.iter().map(move |other| (*one, *other)));
    let meet = |(one, other): &(Extent, Extent)| {
        one.object != other.object && (is_named(one) && is_named(other) || one.may_follow(*other))
    };
    let pairs: Vec<(Extent, Extent)> = pairs.filter(meet).collect();
    if pairs.len() > MOST_PAIRS {
        return t::bool(true);
    }
    t::or(pairs.into_iter().flat_map(|(one, other)| {
        let meets = |one: Extent, a: Term, other: Extent, b: Term| {
            t::and([one.is_at(a, one.size, encoding), other.is_at(b, 0, encoding)])
        };
        let is_known = one.start.is_some() && other.start.is_some() && one.size > 0 && other.size > 0;
        let shared = match one.may_share(other) || one.may_follow(other) {
            true if is_known => t::and([one.holds(lhs.1, encoding), other.holds(rhs.1, encoding)]),
            may => t::bool(may),
        };
        [meets(one, lhs.1, other, rhs.1), meets(other, rhs.1, one, lhs.1), shared]
    }))
}

/// Whether two pointers are known to be of one object.
pub(crate) fn in_one_object(lhs: Pointer<'_>, rhs: Pointer<'_>, context: &dyn ExprContext) -> Term {
    let encoding = context.encoding();
    let (ones, others) = (context.extents(lhs.0), context.extents(rhs.0));
    if let ([one], [other]) = (&ones[..], &others[..])
        && one.object == other.object
    {
        return t::bool(true);
    }
    let together = |extent: &Extent| t::and([extent.holds(lhs.1, encoding), extent.holds(rhs.1, encoding)]);
    let shared = ones.iter().filter(|one| others.iter().any(|other| other.object == one.object));
    let mut out: Vec<Term> = shared.clone().map(together).collect();
    // Of memory without a name nobody knows how much of it is one object.
    if shared.clone().any(|extent| extent.start.is_none()) {
        let elsewhere = |address: Term, extents: &[Extent]| {
            t::and(extents.iter().map(|extent| t::not(extent.holds(address, encoding))))
        };
        out.push(t::and([elsewhere(lhs.1, &ones), elsewhere(rhs.1, &others)]));
    }
    t::or(out)
}

fn is_null(pointer: &Expr) -> bool {
    match pointer {
        Expr::Null => true,
        Expr::Cast(_, arg, _) => is_null(arg) || matches!(**arg, Expr::Int(0, _)),
        _ => false,
    }
}
