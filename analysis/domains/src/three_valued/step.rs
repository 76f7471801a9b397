//! Values, places and conditions of expressions in a structure. What needs a predicate to be definite stops and says which; then the structure is focused
//! and the operation begins again.

use proofline_cfa::{
    Base, CompareOp, Expr, Function, IntType, LocalId, Lvalue, Name, Scalar, Step as PathStep,
    eval::{self, Overflow, Semantics},
};

use super::{
    class::{Field, Unary, Var},
    focus::Focus,
    logic::Kleene,
    operation::{self, Stop, Target, alive},
    program::{Context, unconverted},
    structure::{Content, Structure},
    update,
};

pub(super) type Result<T> = std::result::Result<T, Stop>;

/// A scalar value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Any,
    /// A number; the null pointer is 0.
    Int(i128),
    /// So many bytes behind the start of an individual.
    Node(usize, i128),
    /// The address of a scalar variable.
    Address(Var),
    /// Somewhere in a variable of which nothing is kept.
    Outside,
    Function(Name),
}

/// Where an lvalue is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// All of a scalar variable.
    Var(Var),
    /// Bytes of an individual.
    Node(usize, i128),
    /// Bytes of a variable of which nothing is kept.
    Opaque,
    /// Bytes of a scalar variable, but not as its type has them.
    Part(Var),
    /// Behind a pointer that is this, and no individual.
    Behind(Value),
}

/// A structure on its way along an edge.
#[derive(Clone)]
pub(super) struct Step<'a> {
    pub(super) context: &'a Context,
    pub(super) function: &'a Function,
    /// The functions whose calls are open.
    pub(super) frames: &'a [Name],
    pub(super) structure: Structure,
}

/// Whether variables of the type are one scalar.
pub(super) fn is_scalar(function: &Function, id: LocalId) -> bool {
    function.local(id).ty.is_scalar()
}

impl Step<'_> {
    /// The number of the innermost frame.
    pub(super) fn depth(&self) -> u32 {
        self.frames.len().saturating_sub(1) as u32
    }

    fn semantics(&self) -> Semantics {
        let overflow = if self.context.wrapv { Overflow::Wraps } else { Overflow::Undefined };
        Semantics { overflow, pointer_bits: self.context.env.program().pointer_bits() }
    }

    pub(super) fn bytes(&self, scalar: Scalar) -> u64 {
        self.context.env.program().scalar_bytes(scalar)
    }

    /// How a variable is read; `None`: it is a record, or something else that is no scalar.
    pub(super) fn scalar_of(&self, var: Var) -> Option<Scalar> {
        let program = self.context.env.program();
        let ty = match var {
            Var::Global(name) => program.globals.get(&name)?.ty,
            Var::Local(depth, id) => {
                let function =
                    self.frames.get(depth as usize).and_then(|name| self.context.env.function(*name))?;
                function.locals.get(id.index())?.ty
            }
        };
        proofline_cfa::scalar_of(ty, program.data_model)
    }

    /// Where it is.
    pub(super) fn place(&self, lvalue: &Lvalue) -> Result<Place> {
        let start = match &lvalue.base {
            Base::Local(id) => self.variable(Var::Local(self.depth(), *id), is_scalar(self.function, *id)),
            Base::Global(name) => {
                let var = Var::Global(*name);
                self.variable(var, self.scalar_of(var).is_some())
            }
            Base::Deref(pointer, _) => match self.eval(pointer)? {
                Value::Node(node, offset) => Place::Node(node, offset),
                Value::Address(var) => Place::Var(var),
                Value::Outside => Place::Opaque,
                value @ (Value::Any | Value::Int(_) | Value::Function(_)) => return Ok(Place::Behind(value)),
            },
        };
        let mut by = Some(0i128);
        for step in &lvalue.path {
            let more = match step {
                PathStep::Field { offset, .. } => Some(i128::from(*offset)),
                PathStep::Index { index, stride, .. } => match (self.eval(index)?, index.int_type()) {
                    (Value::Int(index), index_type) => {
                        let bits = self.context.env.program().pointer_bits();
                        let is_wide = index_type.is_some_and(|ty| ty.bits == bits);
                        let signed = IntType { bits, signed: true };
                        let index = if is_wide { signed.wrap(index) } else { index };
                        index.checked_mul(i128::from(*stride))
                    }
                    _ => None,
                },
            };
            by = by.zip(more).and_then(|(by, more)| by.checked_add(more));
        }
        Ok(match (start, by) {
            (Place::Node(node, offset), Some(by)) => match offset.checked_add(by) {
                Some(offset) => Place::Node(node, offset),
                None => Place::Behind(Value::Any),
            },
            // Nobody knows where in it.
            (Place::Node(..), None) => Place::Behind(Value::Any),
            (Place::Var(var), Some(0)) => {
                let is_whole = lvalue.bits.is_none() && lvalue.scalar == self.scalar_of(var);
                if is_whole { Place::Var(var) } else { Place::Part(var) }
            }
            (Place::Var(_), _) if matches!(lvalue.base, Base::Deref(..)) => Place::Behind(Value::Any),
            (Place::Var(var), _) => Place::Part(var),
            (other @ (Place::Opaque | Place::Part(_) | Place::Behind(_)), _) => other,
        })
    }

    fn variable(&self, var: Var, is_scalar: bool) -> Place {
        if is_scalar {
            return Place::Var(var);
        }
        self.structure.pointee(var).map_or(Place::Opaque, |node| Place::Node(node, 0))
    }

    fn address(&self, lvalue: &Lvalue) -> Result<Value> {
        Ok(match self.place(lvalue)? {
            Place::Var(var) => Value::Address(var),
            Place::Part(var) => {
                // The address of a variable is asked of its type only where it is used.
                let is_start = lvalue.path.is_empty();
                if is_start { Value::Address(var) } else { Value::Any }
            }
            Place::Node(node, offset) => Value::Node(node, offset),
            Place::Behind(Value::Int(0)) if lvalue.path.is_empty() => Value::Int(0),
            Place::Opaque => Value::Outside,
            Place::Behind(_) => Value::Any,
        })
    }

    /// A variable's value.
    pub(super) fn variable_value(&self, var: Var) -> Result<Value> {
        Ok(match self.structure.content(var) {
            None => Value::Any,
            Some(Content::Int(value)) => Value::Int(value),
            Some(Content::Address(of)) => Value::Address(of),
            Some(Content::Outside) => Value::Outside,
            Some(Content::Pointer) => value_of(operation::target(&self.structure, var)?),
        })
    }

    pub(super) fn load(&self, place: Place, scalar: Option<Scalar>, is_bits: bool) -> Result<Value> {
        match place {
            Place::Var(var) => self.variable_value(var),
            Place::Opaque | Place::Part(_) => Ok(Value::Any),
            Place::Behind(value) => match value {
                Value::Function(_) | Value::Int(0) => Err(Stop::Impossible),
                Value::Any | Value::Int(_) | Value::Node(..) | Value::Address(_) | Value::Outside => {
                    Ok(Value::Any)
                }
            },
            Place::Node(node, offset) => {
                alive(&self.structure, node)?;
                if self.structure.is_summary(node) {
                    return Err(Stop::Unknown);
                }
                let field = scalar.filter(|_| !is_bits).and_then(|scalar| self.field(node, offset, scalar));
                let Some(field) = field else { return Ok(Value::Any) };
                if self.context.class.pointers.contains(&field) {
                    return Ok(value_of(operation::load(&self.structure, node, field)?));
                }
                let values = self.context.class.tracking.assertions.get(&field);
                let mut values = values.into_iter().flatten();
                let is = |value: &&i128| self.structure.unary(Unary::Equals(field, **value), node).is_true();
                Ok(values.find(is).map_or(Value::Any, |value| Value::Int(*value)))
            }
        }
    }

    /// The part of the individual that is there, if it is inside.
    pub(super) fn field(&self, node: usize, offset: i128, scalar: Scalar) -> Option<Field> {
        let field = Field { offset: u64::try_from(offset).ok()?, bytes: self.bytes(scalar), scalar };
        let is_inside = field.offset.checked_add(field.bytes)? <= self.structure.individual(node).size;
        is_inside.then_some(field)
    }

    /// A variable gets a value.
    pub(super) fn assign(&mut self, var: Var, value: Value) {
        let scalar = self.scalar_of(var);
        let class = &self.context.class;
        let structure = &mut self.structure;
        if class.tracking.ignored.contains(&var) {
            return update::forget(structure, var);
        }
        match (value, scalar) {
            (Value::Int(0), Some(Scalar::Pointer)) => {
                update::set_content(structure, var, Some(Content::Pointer));
            }
            (Value::Node(node, 0), Some(Scalar::Pointer)) if !structure.is_summary(node) => {
                update::point(structure, class, var, node);
            }
            (Value::Address(of), Some(Scalar::Pointer)) => {
                update::set_content(structure, var, Some(Content::Address(of)));
            }
            (Value::Outside, Some(Scalar::Pointer)) => {
                update::set_content(structure, var, Some(Content::Outside));
            }
            (Value::Int(number), Some(Scalar::Int(ty)))
                if ty.is_exact() && ty.contains(number) && self.context.numbers.contains(&number) =>
            {
                update::set_content(structure, var, Some(Content::Int(number)));
            }
            (
                Value::Any
                | Value::Int(_)
                | Value::Node(..)
                | Value::Address(_)
                | Value::Outside
                | Value::Function(_),
                _,
            ) => {
                update::forget(structure, var);
            }
        }
    }

    /// The value of an expression.
    pub(super) fn eval(&self, expr: &Expr) -> Result<Value> {
        Ok(match expr {
            Expr::Int(value, ty) if ty.is_exact() => Value::Int(*value),
            Expr::Int(..) | Expr::Float(_) => Value::Any,
            Expr::Null => Value::Int(0),
            Expr::Load(lvalue) => {
                let place = self.place(lvalue)?;
                let value = self.load(place, lvalue.scalar, lvalue.bits.is_some())?;
                match (value, lvalue.scalar) {
                    (Value::Int(0), _) => value,
                    (Value::Int(value), Some(Scalar::Int(ty))) if ty.contains(value) => Value::Int(value),
                    (Value::Int(_), _) => Value::Any,
                    (
                        Value::Any
                        | Value::Node(..)
                        | Value::Address(_)
                        | Value::Outside
                        | Value::Function(_),
                        _,
                    ) => value,
                }
            }
            Expr::Address(lvalue) => self.address(lvalue)?,
            Expr::Function(name) => Value::Function(*name),
            Expr::Unary(op, arg, _) => match (self.eval(arg)?, arg.scalar()) {
                (Value::Int(value), Scalar::Int(ty)) if ty.is_exact() => {
                    number(eval::unary(*op, arg.scalar(), eval::Value::Int(value), self.semantics()))
                }
                _ => Value::Any,
            },
            Expr::Binary(op, lhs, rhs, _) => match (self.eval(lhs)?, self.eval(rhs)?, lhs.scalar()) {
                (Value::Int(a), Value::Int(b), Scalar::Int(ty)) if ty.is_exact() => {
                    let [a, b] = [a, b].map(eval::Value::Int);
                    number(eval::binary(*op, lhs.scalar(), a, b, self.semantics()))
                }
                _ => Value::Any,
            },
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) => match self.truth(expr)? {
                Some(truth) => Value::Int(i128::from(truth)),
                None => Value::Any,
            },
            Expr::Cast(to, arg, _) => match (self.eval(arg)?, arg.scalar(), to) {
                (Value::Int(value), from @ (Scalar::Int(_) | Scalar::Pointer), Scalar::Int(ty))
                    if ty.is_exact() =>
                {
                    number(eval::cast(from, *to, eval::Value::Int(value), self.semantics()))
                }
                (Value::Int(0), Scalar::Int(_) | Scalar::Pointer, Scalar::Pointer) => Value::Int(0),
                (
                    value @ (Value::Node(..) | Value::Address(_) | Value::Outside | Value::Function(_)),
                    Scalar::Pointer,
                    Scalar::Pointer,
                ) => value,
                _ => Value::Any,
            },
            Expr::PointerDifference(..) => Value::Any,
        })
    }

    /// Whether a condition holds, where that is known.
    pub(super) fn truth(&self, condition: &Expr) -> Result<Option<bool>> {
        match condition {
            Expr::Compare(op, lhs, rhs) => {
                if let Some(equal) = self.field_equals(lhs, rhs)? {
                    return Ok(match op {
                        CompareOp::Eq => Some(equal),
                        CompareOp::Ne => Some(!equal),
                        CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
                            self.compared(*op, lhs, rhs)?
                        }
                    });
                }
                self.compared(*op, lhs, rhs)
            }
            Expr::Memory(predicate, pointer, size) => self.predicate(*predicate, pointer, size),
            Expr::Overflows(op, lhs, rhs) => match (self.eval(lhs)?, self.eval(rhs)?, lhs.scalar()) {
                (Value::Int(a), Value::Int(b), Scalar::Int(ty)) if ty.is_exact() => {
                    Ok(eval::overflows(*op, lhs.scalar(), eval::Value::Int(a), eval::Value::Int(b)))
                }
                _ => Ok(None),
            },
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Cast(..)
            | Expr::PointerDifference(..) => {
                let zero = condition.zero();
                if let Some(equal) = self.field_equals(condition, &zero)? {
                    return Ok(Some(!equal));
                }
                self.compared(CompareOp::Ne, condition, &zero)
            }
        }
    }

    /// A field assertion: whether an integer field has the number that it is compared with.
    fn field_equals(&self, lhs: &Expr, rhs: &Expr) -> Result<Option<bool>> {
        for (one, other) in [(lhs, rhs), (rhs, lhs)] {
            let Expr::Load(lvalue) = unconverted(one) else { continue };
            let (Some(scalar @ Scalar::Int(_)), None) = (lvalue.scalar, lvalue.bits) else { continue };
            let Value::Int(number) = self.eval(other)? else { continue };
            let Place::Node(node, offset) = self.place(lvalue)? else { continue };
            alive(&self.structure, node)?;
            let Some(field) = self.field(node, offset, scalar) else { continue };
            let asserted = self.context.class.tracking.assertions.get(&field);
            if self.structure.is_summary(node) || !asserted.is_some_and(|values| values.contains(&number)) {
                continue;
            }
            let predicate = Unary::Equals(field, number);
            return match self.structure.unary(predicate, node) {
                Kleene::True => Ok(Some(true)),
                Kleene::False => Ok(Some(false)),
                Kleene::Unknown => Err(Stop::Needs(Focus::Unary(node, predicate))),
            };
        }
        Ok(None)
    }

    fn compared(&self, op: CompareOp, lhs: &Expr, rhs: &Expr) -> Result<Option<bool>> {
        let (a, b) = (self.eval(lhs)?, self.eval(rhs)?);
        if let (Value::Int(x), Value::Int(y)) = (a, b) {
            let is_known = match lhs.scalar() {
                Scalar::Int(ty) => ty.contains(x) && ty.contains(y),
                Scalar::Pointer => x == 0 && y == 0,
                Scalar::Float(_) => false,
            };
            return Ok(if is_known {
                eval::compare(op, eval::Value::Int(x), eval::Value::Int(y))
            } else {
                None
            });
        }
        if lhs.scalar() != Scalar::Pointer {
            return Ok(None);
        }
        let equal = self.is_equal(a, b)?;
        Ok(match op {
            CompareOp::Eq => equal,
            CompareOp::Ne => equal.map(|equal| !equal),
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => None,
        })
    }

    /// Whether two pointers are one. Of freed objects nothing is known.
    fn is_equal(&self, a: Value, b: Value) -> Result<Option<bool>> {
        let living = |node: usize| match self.structure.unary(Unary::Freed, node) {
            Kleene::False => Ok(!self.structure.is_summary(node)),
            Kleene::True => Ok(false),
            Kleene::Unknown => Err(Stop::Needs(Focus::Unary(node, Unary::Freed))),
        };
        let is_inside = |node: usize, offset: i128, more: i128| {
            offset >= 0 && offset + more <= i128::from(self.structure.individual(node).size)
        };
        Ok(match (a, b) {
            (Value::Node(x, p), Value::Node(y, q)) if x == y => living(x)?.then_some(p == q),
            (Value::Node(x, p), Value::Node(y, q)) => {
                let are_apart = living(x)? && living(y)? && is_inside(x, p, 1) && is_inside(y, q, 1);
                are_apart.then_some(false)
            }
            (Value::Node(x, p), Value::Int(0)) | (Value::Int(0), Value::Node(x, p)) => {
                (living(x)? && is_inside(x, p, 0)).then_some(false)
            }
            (Value::Node(x, p), Value::Address(_)) | (Value::Address(_), Value::Node(x, p)) => {
                (living(x)? && is_inside(x, p, 1)).then_some(false)
            }
            (Value::Address(x), Value::Address(y)) => Some(x == y),
            (Value::Function(f), Value::Function(g)) => Some(f == g),
            (Value::Address(_) | Value::Outside | Value::Function(_), Value::Int(0))
            | (Value::Int(0), Value::Address(_) | Value::Outside | Value::Function(_)) => Some(false),
            _ => None,
        })
    }

    /// Goes on where the condition is `wanted`.
    pub(super) fn assume(&mut self, condition: &Expr, wanted: bool) -> Result<()> {
        if let Expr::Compare(op @ (CompareOp::Eq | CompareOp::Ne), lhs, rhs) = condition
            && matches!(**rhs, Expr::Int(0, _))
            && matches!(**lhs, Expr::Compare(..) | Expr::Memory(..) | Expr::Overflows(..))
        {
            return self.assume(lhs, wanted == (*op == CompareOp::Ne));
        }
        if let Some(truth) = self.truth(condition)? {
            return if truth == wanted { Ok(()) } else { Err(Stop::Impossible) };
        }
        let (lhs, rhs) = match condition {
            Expr::Compare(CompareOp::Eq, lhs, rhs) if wanted => ((**lhs).clone(), (**rhs).clone()),
            Expr::Compare(CompareOp::Ne, lhs, rhs) if !wanted => ((**lhs).clone(), (**rhs).clone()),
            Expr::Load(_) | Expr::Cast(..) if !wanted => (condition.clone(), condition.zero()),
            _ => return Ok(()),
        };
        for (one, other) in [(&lhs, &rhs), (&rhs, &lhs)] {
            let Expr::Load(lvalue) = unconverted(one) else { continue };
            let Place::Var(var) = self.place(lvalue)? else { continue };
            let (None, Value::Int(number)) = (self.structure.content(var), self.eval(other)?) else {
                continue;
            };
            if let Some(Scalar::Int(ty)) = lvalue.scalar
                && !ty.contains(number)
            {
                return Err(Stop::Impossible);
            }
            self.assign(var, Value::Int(number));
        }
        Ok(())
    }
}

fn number(value: Option<eval::Value>) -> Value {
    value.and_then(eval::Value::int).map_or(Value::Any, Value::Int)
}

fn value_of(target: Target) -> Value {
    match target {
        Target::Null => Value::Int(0),
        Target::Node(node) => Value::Node(node, 0),
        Target::Any => Value::Any,
    }
}
