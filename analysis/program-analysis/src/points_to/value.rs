//! The addresses that values carry, and where lvalues are. Must not know operations.

use super::{
    generate::Generator,
    object::{Address, Move, NodeId},
    solver::{Place, Use},
};
use proofline_cfa::{
    Base, BinaryOp, Expr, Function, Lvalue, Scalar, Step,
    eval::{self, Semantics},
};

impl Generator<'_> {
    pub(super) fn store(&mut self, function: &Function, to: &Lvalue, value: NodeId) {
        if let Some(place) = self.place(function, to) {
            self.solver.store(&place, (to.size as i64).max(1), value);
        }
    }

    /// The addresses that a value may carry; `None` if none.
    pub(super) fn value(&mut self, function: &Function, expr: &Expr) -> Option<NodeId> {
        match expr {
            Expr::Int(..) | Expr::Float(..) | Expr::Null => None,
            Expr::Load(lvalue) => {
                let place = self.place(function, lvalue)?;
                Some(self.solver.load(&place, (lvalue.size as i64).max(1)))
            }
            Expr::Address(lvalue) => match self.place(function, lvalue)? {
                Place::At(address) => Some(self.solver.address_node(address)),
                Place::Via(pointer, path) if path.is_empty() => Some(pointer),
                Place::Via(pointer, path) => Some(self.moved(pointer, path)),
            },
            Expr::Function(name) => {
                let object = self.function(*name);
                Some(self.solver.address_node(Address::of(object)))
            }
            Expr::Unary(_, arg, _) => {
                let arg = self.value(function, arg)?;
                Some(self.blurred(arg))
            }
            Expr::Binary(op, lhs, rhs, _) => {
                if let Some(bytes) = offset(*op, rhs) {
                    let lhs = self.value(function, lhs)?;
                    return Some(self.moved(lhs, [bytes].into()));
                }
                let (lhs, rhs) = (self.value(function, lhs), self.value(function, rhs));
                let both = self.union([lhs, rhs])?;
                Some(self.blurred(both))
            }
            Expr::Compare(..) | Expr::Overflows(..) | Expr::Memory(..) | Expr::PointerDifference(..) => None,
            Expr::Cast(to, arg, _) => {
                let made = *to == Scalar::Pointer && arg.scalar() != Scalar::Pointer;
                if !made {
                    return self.value(function, arg);
                }
                if let Some(value) = eval::constant(arg, self.semantics) {
                    return (value.int() != Some(0)).then_some(self.solver.outside);
                }
                let node = self.solver.node();
                if let Some(value) = self.value(function, arg) {
                    self.solver.flow(value, node);
                }
                self.casts.push(node);
                Some(node)
            }
        }
    }

    fn union<const N: usize>(&mut self, nodes: [Option<NodeId>; N]) -> Option<NodeId> {
        let mut some = nodes.into_iter().flatten();
        let first = some.next()?;
        let mut rest = some.peekable();
        if rest.peek().is_none() {
            return Some(first);
        }
        let node = self.solver.node();
        self.solver.flow(first, node);
        for other in rest {
            self.solver.flow(other, node);
        }
        Some(node)
    }

    fn blurred(&mut self, node: NodeId) -> NodeId {
        let to = self.solver.node();
        self.solver.attach(node, Use::Blur(to));
        to
    }

    fn moved(&mut self, node: NodeId, path: Box<[Move]>) -> NodeId {
        let to = self.solver.node();
        self.solver.attach(node, Use::Move { path, to });
        to
    }

    /// Where an lvalue is; `None`: nowhere (through null).
    pub(super) fn place(&mut self, function: &Function, lvalue: &Lvalue) -> Option<Place> {
        let path = path(lvalue, self.semantics);
        let object = match &lvalue.base {
            Base::Local(id) => self.local(function, *id),
            Base::Global(name) => self.global(*name),
            Base::Deref(pointer, _) => {
                if let Some(node) = self.value(function, pointer) {
                    return Some(Place::Via(node, path));
                }
                // An address as an index from null.
                let mut nodes = None;
                for step in &lvalue.path {
                    if let Step::Index { index, .. } = step {
                        let index = self.value(function, index);
                        nodes = self.union([nodes, index]);
                    }
                }
                let node = self.blurred(nodes?);
                return Some(Place::Via(node, [].into()));
            }
        };
        Some(Place::At(self.solver.follow(Address::of(object), &path)))
    }
}

/// Arithmetic that moves an address by a constant.
pub(super) fn offset(op: BinaryOp, rhs: &Expr) -> Option<Move> {
    let Expr::Int(value, _) = rhs else { return None };
    let value = i64::try_from(*value).ok()?;
    let constant = match op {
        BinaryOp::Add => value,
        BinaryOp::Sub => value.checked_neg()?,
        _ => return None,
    };
    Some(Move::Index { stride: 1, length: None, constant: Some(constant) })
}

/// The way from an lvalue's base to what it designates.
pub(super) fn path(lvalue: &Lvalue, semantics: Semantics) -> Box<[Move]> {
    let bytes = |n: u64| i64::try_from(n).unwrap_or(i64::MAX >> 4);
    let step = |step: &Step| match step {
        Step::Field { offset, .. } => Move::Bytes(bytes(*offset)),
        Step::Index { index, stride, length, .. } => {
            let constant = eval::constant(index, semantics).and_then(|value| value.int());
            Move::Index {
                stride: bytes(*stride),
                length: length.map(bytes),
                constant: constant.and_then(|value| i64::try_from(value).ok()),
            }
        }
    };
    lvalue.path.iter().map(step).collect()
}
