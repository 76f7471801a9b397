//! What an analysis knows of its program before it begins: the shape class that is made of the program's accesses, annotations and guesses, and the
//! numbers that the text compares with.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Base, CompareOp, Expr, Function, IntType, Lvalue, Op, Scalar, Step, visit};
use proofline_program_analysis::Environment;

use super::{
    class::{Field, ShapeClass},
    generators::{Annotation, Library, annotate, guess},
};

/// A field has no more assertions than these.
const MOST_ASSERTIONS: usize = 4;

/// What never changes.
pub(super) struct Context {
    pub(super) env: Arc<Environment>,
    pub(super) class: ShapeClass,
    pub(super) wrapv: bool,
    /// There may be objects that earlier calls have allocated.
    pub(super) has_older: bool,
    /// Numbers that variables are told apart by.
    pub(super) numbers: BTreeSet<i128>,
}

/// Whether values of the first type are the same in the second.
pub(super) fn keeps_values(from: IntType, to: IntType) -> bool {
    to.min() <= from.min() && from.max() <= to.max() && from.is_exact() && to.is_exact()
}

/// The expression below conversions that keep every value.
pub(super) fn unconverted(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Scalar::Int(to), inner, _)
            if inner.int_type().is_some_and(|from| keeps_values(from, *to)) =>
        {
            unconverted(inner)
        }
        _ => expr,
    }
}

/// The part of an individual that an lvalue behind a pointer is, apart from where the pointer leads.
fn part(lvalue: &Lvalue, bytes: impl Fn(Scalar) -> u64) -> Option<Field> {
    let scalar = lvalue.scalar.filter(|_| lvalue.bits.is_none())?;
    let is_place = match &lvalue.base {
        Base::Deref(..) => true,
        Base::Local(_) | Base::Global(_) => !lvalue.path.is_empty(),
    };
    let mut offset = 0u64;
    for step in &lvalue.path {
        match step {
            Step::Field { offset: by, .. } => offset = offset.checked_add(*by)?,
            Step::Index { index, stride, .. } => {
                let Expr::Int(index, _) = &**index else { return None };
                offset = offset.checked_add(u64::try_from(*index).ok()?.checked_mul(*stride)?)?;
            }
        }
    }
    is_place.then(|| Field { offset, bytes: bytes(scalar), scalar })
}

impl Context {
    pub(super) fn new(
        env: Arc<Environment>,
        wrapv: bool,
        has_older: bool,
        annotations: &[Annotation],
    ) -> Context {
        let mut class = ShapeClass::default();
        let program = env.program();
        let library = Library::standard();
        let annotated: BTreeSet<&String> = annotations.iter().map(|annotation| &annotation.record).collect();
        annotate(&mut class, program, &library, annotations);
        let guessed: Vec<Annotation> =
            guess(program).into_iter().filter(|guess| !annotated.contains(&guess.record)).collect();
        annotate(&mut class, program, &library, &guessed);
        let mut seen = Seen::default();
        for function in program.functions.values() {
            seen.function(function, &|scalar| program.scalar_bytes(scalar));
        }
        // Members that no access names need no predicates.
        class.links.iter_mut().for_each(|fields| fields.retain(|field| seen.pointers.contains(field)));
        class.links.retain(|fields| !fields.is_empty());
        let mut links = Vec::new();
        for fields in std::mem::take(&mut class.links) {
            if !links.contains(&fields) {
                links.push(fields);
            }
        }
        class.links = links;
        let is_seen =
            |(there, back): &(Field, Field)| seen.pointers.contains(there) && seen.pointers.contains(back);
        class.cancels.retain(is_seen);
        class.pointers = seen.pointers;
        class.tracking.assertions = seen
            .integers
            .into_iter()
            .map(|(field, values)| (field, values.into_iter().take(MOST_ASSERTIONS).collect()))
            .collect();
        Context { class, wrapv, has_older, numbers: seen.numbers, env }
    }
}

/// What functions access.
#[derive(Default)]
struct Seen {
    pointers: BTreeSet<Field>,
    integers: BTreeMap<Field, BTreeSet<i128>>,
    numbers: BTreeSet<i128>,
}

impl Seen {
    fn place(&mut self, lvalue: &Lvalue, bytes: &dyn Fn(Scalar) -> u64) -> Option<Field> {
        let field = part(lvalue, bytes)?;
        match field.scalar {
            Scalar::Pointer => {
                self.pointers.insert(field);
            }
            Scalar::Int(_) => {
                self.integers.entry(field).or_default();
            }
            Scalar::Float(_) => {}
        }
        Some(field)
    }

    fn asserted(&mut self, field: Option<Field>, value: &Expr) {
        if let (Some(field), Expr::Int(value, _)) = (field, unconverted(value))
            && let Some(values) = self.integers.get_mut(&field)
        {
            values.insert(*value);
        }
    }

    fn function(&mut self, function: &Function, bytes: &dyn Fn(Scalar) -> u64) {
        for edge in &function.edges {
            let mut places = Vec::new();
            visit::reads(&edge.op, &mut |lvalue| places.push(lvalue.clone()));
            for lvalue in &places {
                self.place(lvalue, bytes);
            }
            let written = match &edge.op {
                Op::Assign(dst, _) | Op::Havoc(dst, _) | Op::Copy(dst, _) => Some(dst),
                Op::Allocate(allocation) => Some(&allocation.dst),
                Op::Call(call) => call.dst.as_ref(),
                Op::Skip
                | Op::Assume(_)
                | Op::Clobber(..)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..)
                | Op::Begin(_)
                | Op::End(_) => None,
            };
            let field = written.and_then(|lvalue| self.place(lvalue, bytes));
            if let Op::Assign(_, value) = &edge.op {
                self.asserted(field, value);
            }
            visit::exprs(&edge.op, &mut |part| match part {
                Expr::Int(value, _) => {
                    self.numbers.insert(*value);
                }
                Expr::Compare(CompareOp::Eq | CompareOp::Ne, lhs, rhs) => {
                    for (one, other) in [(lhs, rhs), (rhs, lhs)] {
                        if let Expr::Load(lvalue) = unconverted(one) {
                            let field = self.place(lvalue, bytes);
                            self.asserted(field, other);
                        }
                    }
                }
                Expr::Float(_)
                | Expr::Null
                | Expr::Load(_)
                | Expr::Address(_)
                | Expr::Function(_)
                | Expr::Unary(..)
                | Expr::Binary(..)
                | Expr::Compare(..)
                | Expr::Cast(..)
                | Expr::Overflows(..)
                | Expr::Memory(..)
                | Expr::PointerDifference(..) => {}
            });
        }
        self.numbers.extend([0, 1]);
    }
}
