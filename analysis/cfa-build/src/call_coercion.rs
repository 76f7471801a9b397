//! Call coercion: a call whose arguments or result disagree with the definition it reaches (C without prototypes, or two units that
//! disagree) is rewritten. Values are converted where the machine would reinterpret them and havocked where it would read something
//! else; each such call is an approximation. Knows formats, nothing of what functions do.

use std::{borrow::Cow, sync::Arc};

use proofline_hir::{Name, Type};
use proofline_syntax::DataModel;

use crate::lower::fold;
use proofline_cfa::{
    Approximation, Argument, Base, Call, Callee, Cause, Edge, Expr, Function, Loc, Local, LocalId, Lvalue,
    Op, Role, Scalar, Types, scalar_of,
};

/// What a definition takes and gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    pub(crate) parameters: Vec<Type>,
    result: Option<Type>,
    variadic: bool,
    /// Whether some path leads to its end.
    pub(crate) may_return: bool,
}

impl Interface {
    /// Of a definition.
    pub(crate) fn of(function: &Function) -> Interface {
        let parameters = function.parameters.iter().map(|id| function.local(*id).ty).collect();
        let result = function.result.map(|id| function.local(id).ty);
        let may_return = returns(function);
        Interface { parameters, result, variadic: function.variadic, may_return }
    }
}

/// Whether the edges lead from the function's entry to its exit.
fn returns(function: &Function) -> bool {
    let successors = function.successors();
    let (mut seen, mut todo) = (vec![false; function.locations as usize], vec![function.entry]);
    while let Some(at) = todo.pop() {
        if !std::mem::replace(&mut seen[at.index()], true) {
            todo.extend(successors[at.index()].iter().map(|edge| function.edge(*edge).to));
        }
    }
    seen[function.exit.index()]
}

/// The function with direct calls that agree with their callees; `interface` knows every function with a body.
pub(crate) fn coerce_calls<'s>(
    function: &Arc<Function>,
    types: Types<'_>,
    interface: &dyn Fn(Name) -> Option<Cow<'s, Interface>>,
) -> Arc<Function> {
    let odd_call = |op: &Op| {
        let Op::Call(call) = op else { return None };
        let Callee::Direct(name) = call.callee else { return None };
        let interface = interface(name)?;
        (!agrees(call, &interface, types.model)).then(|| (call.clone(), interface))
    };
    if !function.edges.iter().any(|edge| odd_call(&edge.op).is_some()) {
        return function.clone();
    }
    let mut changed = Function::clone(function);
    for at in 0..changed.edges.len() {
        if let Some((call, interface)) = odd_call(&changed.edges[at].op) {
            Coercion { function: &mut changed, types, at }.call(call, &interface);
        }
    }
    Arc::new(changed)
}

fn agrees(call: &Call, interface: &Interface, model: DataModel) -> bool {
    let count = call.arguments.len();
    let right_count = if interface.variadic {
        count >= interface.parameters.len()
    } else {
        count == interface.parameters.len()
    };
    let right_arguments =
        call.arguments.iter().zip(&interface.parameters).all(|(argument, ty)| match argument {
            Argument::Value(value) => scalar_of(*ty, model) == Some(value.scalar()),
            Argument::Aggregate(lvalue) => lvalue.ty.unqualified() == ty.unqualified(),
        });
    let right_result = match (&call.dst, interface.result) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(dst), Some(ty)) => match scalar_of(ty, model) {
            Some(scalar) => dst.scalar == Some(scalar),
            None => dst.ty.unqualified() == ty.unqualified(),
        },
    };
    right_count && right_arguments && right_result
}

struct Coercion<'f> {
    function: &'f mut Function,
    types: Types<'f>,
    /// The edge of the call.
    at: usize,
}

impl Coercion<'_> {
    fn call(&mut self, mut call: Call, interface: &Interface) {
        let site = self.function.edges[self.at].site;
        let what = Name::new("call that does not fit the definition");
        self.function.approximations.push(Approximation { what, site });
        let mut given = std::mem::take(&mut call.arguments).into_iter();
        for ty in &interface.parameters {
            let argument = match (given.next(), self.types.scalar(*ty)) {
                (Some(Argument::Value(value)), Some(scalar)) if converts(value.scalar(), scalar) => {
                    Argument::Value(fold::cast(scalar, value, site))
                }
                (Some(Argument::Aggregate(lvalue)), None) if lvalue.ty.unqualified() == ty.unqualified() => {
                    Argument::Aggregate(lvalue)
                }
                (given, scalar) => {
                    self.evaluate(given);
                    let any = self.any(*ty);
                    if scalar.is_some() { Argument::Value(Expr::Load(any)) } else { Argument::Aggregate(any) }
                }
            };
            call.arguments.push(argument);
        }
        if interface.variadic {
            call.arguments.extend(given);
        } else {
            given.for_each(|extra| self.evaluate(Some(extra)));
        }
        self.result(call, interface);
    }

    fn result(&mut self, mut call: Call, interface: &Interface) {
        let wanted = call.dst.take();
        let agreeing = match (&wanted, interface.result) {
            (Some(dst), Some(ty)) => match self.types.scalar(ty) {
                Some(scalar) => dst.scalar == Some(scalar),
                None => dst.ty.unqualified() == ty.unqualified(),
            },
            _ => false,
        };
        if agreeing {
            call.dst = wanted;
            self.function.edges[self.at].op = Op::Call(call);
            return;
        }
        let Some(wanted) = wanted else {
            self.function.edges[self.at].op = Op::Call(call);
            return;
        };
        let scalar = interface.result.and_then(|ty| self.types.scalar(ty));
        let after = match (interface.result, scalar, wanted.scalar) {
            (Some(ty), Some(from), Some(to)) if converts(from, to) => {
                let result = self.temporary(ty);
                call.dst = Some(result.clone());
                let site = self.function.edges[self.at].site;
                Op::Assign(wanted, fold::cast(to, Expr::Load(result), site))
            }
            _ => Op::Havoc(wanted, Cause::Indeterminate),
        };
        self.function.edges[self.at].op = Op::Call(call);
        self.after(after);
    }

    /// Any value of the type, in a temporary that is filled before the call.
    fn any(&mut self, ty: Type) -> Lvalue {
        let temporary = self.temporary(ty);
        self.before(Op::Havoc(temporary.clone(), Cause::Indeterminate));
        temporary
    }

    /// The evaluation of an argument that the callee has no parameter for may still fail.
    fn evaluate(&mut self, argument: Option<Argument>) {
        if let Some(Argument::Value(value)) = argument
            && fold::is_partial(&value)
        {
            let kept = self.temporary(self.types.of_scalar(value.scalar()));
            self.before(Op::Assign(kept, value));
        }
    }

    fn temporary(&mut self, ty: Type) -> Lvalue {
        let ty = ty.unqualified();
        let id = LocalId(self.function.locals.len() as u32);
        // No other temporary has a name with a letter.
        let name = Name::new(&format!("$f{}", id.0));
        let size = self.types.size(ty).unwrap_or(0);
        self.function.locals.push(Local { name, ty, role: Role::Temporary, address_taken: false, size });
        let scalar = self.types.scalar(ty);
        Lvalue { base: Base::Local(id), path: Vec::new(), ty, scalar, bits: None, size }
    }

    fn location(&mut self) -> Loc {
        let loc = Loc(self.function.locations);
        self.function.locations += 1;
        loc
    }

    fn before(&mut self, op: Op) {
        let between = self.location();
        let edge = &mut self.function.edges[self.at];
        let (from, site) = (edge.from, edge.site);
        edge.from = between;
        self.function.edges.push(Edge { from, to: between, op, site });
    }

    fn after(&mut self, op: Op) {
        let between = self.location();
        let edge = &mut self.function.edges[self.at];
        let (to, site) = (edge.to, edge.site);
        edge.to = between;
        self.function.edges.push(Edge { from: between, to, op, site });
    }
}

/// Whether the bits of one are found where the other is looked for.
fn converts(from: Scalar, to: Scalar) -> bool {
    match (from, to) {
        (Scalar::Int(_) | Scalar::Pointer, Scalar::Int(_) | Scalar::Pointer) => true,
        (Scalar::Float(_), Scalar::Float(_)) => true,
        (Scalar::Float(_), Scalar::Int(_) | Scalar::Pointer)
        | (Scalar::Int(_) | Scalar::Pointer, Scalar::Float(_)) => false,
    }
}
