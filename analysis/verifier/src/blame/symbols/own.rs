//! What the run itself has made: objects, with their sizes over the arguments, and results that follow from the program's state. They have names that no
//! program has, so that the same thing is the same in every expression; nobody can read them.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Base, BinaryOp, CompareOp, Expr, IntType, LibraryResult, Lvalue, Name, Quantity, Scalar, Site, Step,
};

use super::{Influence, Symbol, plain};

/// What the run has made so far.
#[derive(Default)]
pub(super) struct Own {
    /// Sizes of the allocated objects, in their order.
    sizes: Vec<Symbol>,
    /// Results, with what they were computed from.
    results: Vec<(Quantity, bool, Vec<Expr>)>,
}

/// Objects' names begin so.
const OBJECT: &str = "#object.";

/// Whether a name stands for an object that the run has allocated.
pub(super) fn is_object(name: Name) -> bool {
    name.starts_with(OBJECT)
}

impl Own {
    /// The address of a new object of a size, as a value of the pointer that gets it.
    pub(super) fn allocated(&mut self, dst: &Lvalue, size: Symbol) -> Expr {
        let name = Name::new(&format!("{OBJECT}{}", self.sizes.len()));
        self.sizes.push(size);
        let ty = dst.ty.pointee().unwrap_or(dst.ty);
        Expr::Address(Lvalue {
            base: Base::Global(name),
            path: Vec::new(),
            ty,
            scalar: None,
            bits: None,
            size: 0,
        })
    }

    /// A result that follows from its arguments and from memory that is as it was at the start: the same wherever it is computed.
    pub(super) fn computed(
        &mut self,
        result: &LibraryResult,
        arguments: Vec<Expr>,
        dst: &Lvalue,
    ) -> Option<Expr> {
        // What the run itself has made may have been written meanwhile.
        if arguments.iter().any(|argument| matches!(argument, Expr::Address(_))) {
            return None;
        }
        let is_size = result.quantity == Quantity::StringSize;
        let quantity = if is_size { Quantity::StringLength } else { result.quantity };
        let key = (quantity, result.is_absence, arguments);
        let at = self.results.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.results.push(key);
            self.results.len() - 1
        });
        let base = Base::Global(Name::new(&format!("#result.{at}")));
        let computed = Expr::Load(Lvalue { base, path: Vec::new(), bits: None, ..dst.clone() });
        let Some(Scalar::Int(ty)) = dst.scalar.filter(|_| is_size) else { return Some(computed) };
        let one = Arc::new(Expr::Int(1, ty));
        Some(Expr::Binary(BinaryOp::Add, Arc::new(computed), one, Site::NOWHERE))
    }

    /// The size of the object that a pointer leads into, if that is the run's own, and the steps from its beginning.
    fn object<'p>(&self, pointer: &'p Expr) -> Option<(&Symbol, &'p [Step])> {
        let Expr::Address(Lvalue { base: Base::Global(name), path, .. }) = pointer else { return None };
        let number = name.strip_prefix(OBJECT).and_then(|number| number.parse::<usize>().ok());
        Some((self.sizes.get(number?)?, path))
    }

    /// Who has a say in the size of the object that a pointer leads into.
    pub(super) fn influence(&self, pointer: &Expr) -> Influence {
        self.object(pointer).map_or(Influence::default(), |(size, _)| size.on)
    }

    /// Whether so many bytes from a pointer on lie in the object that it leads into, if that is the run's own and its size can be said: a number if that is always
    /// so or never, otherwise a condition on the size.
    pub(super) fn holds(&self, pointer: &Expr, bytes: &Expr) -> Option<Expr> {
        let (size, path) = self.object(pointer)?;
        let size = size.expr.as_ref()?;
        let mut end = Sum::default();
        end.add(bytes, 1);
        for step in path {
            end.step(step);
        }
        let is_number = end.is_number();
        let last = end.constant;
        end.add(size, -1);
        if end.is_number() && end.constant > 0 {
            return Some(Expr::int(0));
        }
        let ty = size.int_type().filter(|ty| is_number && ty.contains(last))?;
        Some(plain::compare(CompareOp::Ge, Arc::new(size.clone()), Arc::new(Expr::Int(last, ty))))
    }
}

/// Whether so many bytes lie in an object of a size, from the end of a path on: a number where that is always so or never, otherwise a condition on what the bytes or
/// an index are, if that is one value.
pub(super) fn within(path: &[Step], bytes: &Expr, size: u64) -> Option<Expr> {
    let mut start = Sum { keeps_signs: true, ..Sum::default() };
    for step in path {
        start.step(step);
    }
    let begins_at = start.constant;
    let mut end = start;
    end.add(bytes, 1);
    let mut terms = end.terms.iter().filter(|(_, factor)| **factor != 0);
    let (term, factor) = terms.next().filter(|(_, factor)| **factor > 0)?;
    if terms.next().is_some() || begins_at < 0 {
        return None;
    }
    let most = (i128::from(size) - end.constant).div_euclid(*factor);
    let mut term = Expr::clone(term);
    let mut ty = term.int_type()?;
    // A negative number is a very large one, or leads in front of the object.
    if ty.signed {
        if begins_at != 0 {
            return None;
        }
        ty = IntType { signed: false, ..ty };
        term = Expr::Cast(Scalar::Int(ty), Arc::new(term), Site::NOWHERE);
    }
    let most = ty.contains(most).then_some(most)?;
    Some(plain::compare(CompareOp::Le, Arc::new(term), Arc::new(Expr::Int(most, ty))))
}

/// A sum of multiples. Sizes of objects and places in them are far from where numbers wrap around, so casts that lose nothing there are looked through.
#[derive(Default)]
struct Sum<'e> {
    terms: BTreeMap<&'e Expr, i128>,
    constant: i128,
    /// Casts that make a large number of a negative one are not looked through.
    keeps_signs: bool,
}

impl<'e> Sum<'e> {
    fn is_number(&self) -> bool {
        self.terms.values().all(|factor| *factor == 0)
    }

    fn step(&mut self, step: &'e Step) {
        match step {
            Step::Field { offset, .. } => self.constant = self.constant.saturating_add(i128::from(*offset)),
            Step::Index { index, stride, .. } => self.add(index, i128::from(*stride)),
        }
    }

    fn add(&mut self, expr: &'e Expr, factor: i128) {
        let number = |expr: &Expr| match expr {
            Expr::Int(value, _) => Some(*value),
            _ => None,
        };
        match expr {
            Expr::Int(value, _) => {
                self.constant = self.constant.saturating_add(value.saturating_mul(factor));
            }
            Expr::Cast(Scalar::Int(to), inner, _) if matches!(inner.scalar(), Scalar::Int(from) if from.bits <= to.bits && (to.signed || !from.signed || !self.keeps_signs)) =>
            {
                self.add(inner, factor);
            }
            Expr::Binary(BinaryOp::Add, a, b, _) => {
                self.add(a, factor);
                self.add(b, factor);
            }
            Expr::Binary(BinaryOp::Sub, a, b, _) => {
                self.add(a, factor);
                self.add(b, factor.saturating_neg());
            }
            Expr::Binary(BinaryOp::Mul, a, b, _) if number(a).is_some() => {
                self.add(b, factor.saturating_mul(number(a).unwrap_or_default()));
            }
            Expr::Binary(BinaryOp::Mul, a, b, _) if number(b).is_some() => {
                self.add(a, factor.saturating_mul(number(b).unwrap_or_default()));
            }
            _ => {
                let term = self.terms.entry(expr).or_default();
                *term = term.saturating_add(factor);
            }
        }
    }
}
