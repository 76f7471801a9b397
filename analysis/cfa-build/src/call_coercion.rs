//! Call coercion: a call whose arguments or result are not those of the definition it reaches (C without prototypes, or two units that
//! disagree) is rewritten. Numbers of the other sign, and promoted arguments of a definition without a prototype, are converted. Anything else
//! is undefined (C11 6.5.2.2p6 and p9): an obligation that fails stands before the call. Who does not ask about it goes on with any values,
//! which is an approximation. Knows formats, nothing of what functions do.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use proofline_hir::{Name, Type, TypeKind, print::type_text};
use proofline_syntax::DataModel;

use crate::lower::{fold, variable_arguments};
use proofline_cfa::{
    Approximation, Argument, Base, Call, Callee, Cause, CheckId, Edge, Expr, FloatType, Function, IntType,
    Loc, Local, LocalId, Lvalue, Obligation, Op, Role, Scalar, Types, scalar_of,
};

/// The check that a call fits the function which it reaches.
pub const INCOMPATIBLE_CALL: &str = "incompatible-call";

/// What nothing is known of, as an approximation.
const UNFIT: &str = "call that does not fit the definition";

/// What a definition takes and gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    pub(crate) parameters: Vec<Type>,
    result: Option<Type>,
    variadic: bool,
    /// Its definition lists names only, and their types behind the list: arguments arrive promoted.
    is_old_style: bool,
    /// Another file calls it than the one that defines it, and knows nothing of the types behind the list.
    is_elsewhere: bool,
    /// It looks at how many variable arguments it has, and at their kinds.
    counts: bool,
    /// The kinds of those whose values it looks at.
    reads: BTreeSet<u64>,
    /// Whether some path leads to its end.
    pub(crate) may_return: bool,
}

impl Interface {
    /// Of a definition.
    pub(crate) fn of(function: &Function) -> Interface {
        let parameters = function.parameters.iter().map(|id| function.local(*id).ty).collect();
        let result = function.result.map(|id| function.local(id).ty);
        let may_return = returns(function);
        let is_old_style =
            matches!(function.ty.kind(), TypeKind::Function(signature) if signature.unprototyped);
        let (counts, reads) =
            (variable_arguments::counts(function), variable_arguments::kinds_kept(function));
        let (variadic, is_elsewhere) = (function.variadic, false);
        Interface { parameters, result, variadic, is_old_style, is_elsewhere, counts, reads, may_return }
    }

    /// To another file than the one that defines it.
    pub(crate) fn seen_elsewhere(&self) -> Cow<'_, Interface> {
        match self.is_old_style {
            true => Cow::Owned(Interface { is_elsewhere: true, ..self.clone() }),
            false => Cow::Borrowed(self),
        }
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

/// The function with direct calls that agree with their callees; `interface` knows every function with a body. Where some function of the program
/// counts its variable arguments (`counted`: with the kinds of those whose values one looks at), callers leave how many there are.
pub(crate) fn coerce_calls<'s>(
    function: &Arc<Function>,
    types: Types<'_>,
    counted: Option<&BTreeSet<u64>>,
    interface: &dyn Fn(Name) -> Option<Cow<'s, Interface>>,
) -> Arc<Function> {
    let odd_call = |op: &Op| {
        let Op::Call(call) = op else { return None };
        let Callee::Direct(name) = call.callee else { return None };
        let interface = interface(name)?;
        (!agrees(call, &interface, types.model)).then(|| (name, call.clone(), interface))
    };
    let left = |op: &Op| left_by(op.call()?, counted?, interface);
    let is_touched = |op: &Op| odd_call(op).is_some() || left(op).is_some();
    if !function.edges.iter().any(|edge| is_touched(&edge.op)) {
        return function.clone();
    }
    let mut changed = Function::clone(function);
    for at in 0..changed.edges.len() {
        let (odd, left) = (odd_call(&changed.edges[at].op), left(&changed.edges[at].op));
        let mut coercion = Coercion { function: &mut changed, types, at };
        if let Some((name, call, interface)) = odd {
            coercion.call(name, call, &interface);
        }
        if let Some(left) = left {
            coercion.leave(&left);
        }
    }
    Arc::new(changed)
}

/// What is left before a call for a function that counts its variable arguments: from which argument on, and of which kinds the values; or that nothing is known of it.
struct Left {
    from: Option<usize>,
    kinds: BTreeSet<u64>,
}

fn left_by<'s>(
    call: &Call,
    kinds: &BTreeSet<u64>,
    interface: &dyn Fn(Name) -> Option<Cow<'s, Interface>>,
) -> Option<Left> {
    match &call.callee {
        Callee::Direct(name) => {
            let callee = interface(*name).filter(|callee| callee.counts)?;
            Some(Left { from: Some(callee.parameters.len()), kinds: callee.reads.clone() })
        }
        Callee::Indirect(_, ty) => match ty.kind() {
            TypeKind::Function(signature) if signature.unprototyped => {
                Some(Left { from: None, kinds: kinds.clone() })
            }
            TypeKind::Function(signature) if signature.variadic => {
                Some(Left { from: Some(signature.parameters.len()), kinds: kinds.clone() })
            }
            _ => None,
        },
    }
}

fn agrees(call: &Call, interface: &Interface, model: DataModel) -> bool {
    let count = call.arguments.len();
    let right_arguments =
        call.arguments.iter().zip(&interface.parameters).all(|(argument, ty)| match argument {
            Argument::Value(value) => {
                let wanted = scalar_of(*ty, model).map(|ty| interface.arriving(ty));
                wanted == Some(value.scalar()) && wanted == scalar_of(*ty, model)
            }
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
    interface.takes(count) && right_arguments && right_result
}

/// What becomes of a value on its way into a call or out of it.
#[derive(Clone, Copy, PartialEq)]
enum Passage {
    /// The other side gets it as it is, or as a number of the other sign or format that holds the same value.
    Arrives,
    /// It is not known what the other side gets, though C allows the call.
    Unknown,
    /// The other side looks for something else.
    Undefined,
}

impl Interface {
    /// Whether so many arguments may be given.
    fn takes(&self, count: usize) -> bool {
        if self.variadic { count >= self.parameters.len() } else { count == self.parameters.len() }
    }

    /// As what an argument arrives of which a parameter of this type is made.
    fn arriving(&self, wanted: Scalar) -> Scalar {
        if self.is_old_style && self.is_elsewhere { promoted(wanted) } else { wanted }
    }

    /// How an argument arrives at a parameter.
    fn passage(&self, given: &Argument, wanted: Type, types: Types<'_>) -> Passage {
        match given {
            Argument::Value(value) => {
                let (given, wanted) = (value.scalar(), types.scalar(wanted).ok_or(wanted));
                match wanted {
                    Ok(wanted) if self.is_old_style && !self.is_elsewhere => {
                        passage(promoted(given), promoted(wanted))
                    }
                    Ok(wanted) => passage(given, self.arriving(wanted)),
                    Err(wanted) => other_passage(wanted),
                }
            }
            Argument::Aggregate(lvalue) => aggregate_passage(lvalue.ty, wanted, types),
        }
    }

    /// How the result arrives where the caller puts it.
    fn result_passage(&self, wanted: Option<&Lvalue>, types: Types<'_>) -> Passage {
        match (wanted, self.result) {
            (None, _) => Passage::Arrives,
            (Some(_), None) => Passage::Undefined,
            (Some(dst), Some(given)) => match (types.scalar(given), dst.scalar) {
                (Some(given), Some(wanted)) => passage(given, wanted),
                (None, None) => aggregate_passage(given, dst.ty, types),
                (None, Some(_)) => other_passage(given),
                (Some(_), None) => other_passage(dst.ty),
            },
        }
    }

    /// What a call must do to be one of `name`, and does not.
    fn broken(&self, name: Name, call: &Call, types: Types<'_>) -> Option<String> {
        let count = self.parameters.len();
        if !self.takes(call.arguments.len()) {
            let at_least = if self.variadic { "at least " } else { "" };
            let arguments = if count == 1 { "argument" } else { "arguments" };
            return Some(format!("{name} is called with {at_least}{count} {arguments}"));
        }
        let mut pairs = call.arguments.iter().zip(&self.parameters).enumerate();
        let wrong = pairs.find(|(_, (given, ty))| self.passage(given, **ty, types) == Passage::Undefined);
        if let Some((number, (_, ty))) = wrong {
            let promoted = |ty| types.of_scalar(self.arriving(ty));
            let ty = if self.is_elsewhere { types.scalar(*ty).map_or(*ty, promoted) } else { *ty };
            return Some(format!("argument {} of {name} is passed as {}", number + 1, type_text(ty)));
        }
        let is_wrong = self.result_passage(call.dst.as_ref(), types) == Passage::Undefined;
        is_wrong.then(|| match self.result {
            Some(result) => format!("the result of {name} is taken as {}", type_text(result)),
            None => format!("no result of {name} is used"),
        })
    }
}

/// Of a scalar to where another one is looked for.
fn passage(given: Scalar, wanted: Scalar) -> Passage {
    match (given, wanted) {
        (Scalar::Int(given), Scalar::Int(wanted)) if given.bits == wanted.bits => Passage::Arrives,
        _ if given == wanted => Passage::Arrives,
        _ => Passage::Undefined,
    }
}

/// Where one side has a scalar and the other this type, which is none.
fn other_passage(ty: Type) -> Passage {
    match ty.kind() {
        TypeKind::Error | TypeKind::VaList => Passage::Unknown,
        _ => Passage::Undefined,
    }
}

/// Records of two files are alike if they have one size: which members they have is another matter.
fn aggregate_passage(given: Type, wanted: Type, types: Types<'_>) -> Passage {
    let is_record = |ty: Type| matches!(ty.kind(), TypeKind::Record(_));
    let is_unknown = |ty: Type| matches!(ty.kind(), TypeKind::Error | TypeKind::VaList);
    let is_alike = is_record(given) && is_record(wanted) && types.size(given) == types.size(wanted);
    if given.unqualified() == wanted.unqualified() {
        Passage::Arrives
    } else if is_unknown(given) || is_unknown(wanted) || is_alike {
        Passage::Unknown
    } else {
        Passage::Undefined
    }
}

/// The default argument promotions (C11 6.5.2.2p6).
fn promoted(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Int(ty) if ty.bits < 32 => Scalar::Int(IntType { bits: 32, signed: true }),
        Scalar::Float(FloatType::F32) => Scalar::Float(FloatType::F64),
        Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => scalar,
    }
}

/// Whether nothing can fail in it, and nothing is read.
fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Int(..) | Expr::Float(..) | Expr::Null | Expr::Function(_) => true,
        Expr::Address(_) => !fold::is_partial(value),
        _ => false,
    }
}

struct Coercion<'f> {
    function: &'f mut Function,
    types: Types<'f>,
    /// The edge of the call.
    at: usize,
}

impl Coercion<'_> {
    /// Leaves in front of the call what it is given behind the named parameters.
    fn leave(&mut self, left: &Left) {
        let (types, site) = (self.types, self.function.edges[self.at].site);
        let Some(from) = left.from else {
            let unknown = variable_arguments::left_unknown(&left.kinds, types);
            return unknown.into_iter().for_each(|op| self.before(op));
        };
        let Op::Call(call) = &self.function.edges[self.at].op else { return };
        let mut call = call.clone();
        let mut formats = Vec::new();
        let mut taken_back = Vec::new();
        let is_open = matches!(call.callee, Callee::Indirect(..));
        for (at, argument) in call.arguments.iter_mut().skip(from).enumerate() {
            let Argument::Value(value) = argument else {
                formats.push(None);
                continue;
            };
            formats.push(Some(value.scalar()));
            let left_value =
                |value: &Expr| variable_arguments::left_value(at, value, &left.kinds, types, site, is_open);
            let Some(op) = left_value(value) else { continue };
            match is_constant(value) {
                true => self.before(op),
                // It is taken once.
                false => {
                    let kept = self.temporary(types.of_scalar(value.scalar()));
                    self.before(Op::Assign(kept.clone(), value.clone()));
                    // What nobody else leads to afterwards is lost.
                    if value.scalar() == Scalar::Pointer {
                        taken_back.push(Op::Assign(kept.clone(), Expr::Null));
                    }
                    *value = Expr::Load(kept);
                    left_value(value).into_iter().for_each(|op| self.before(op));
                }
            }
        }
        variable_arguments::left(&formats).into_iter().for_each(|op| self.before(op));
        self.function.edges[self.at].op = Op::Call(call);
        taken_back.into_iter().for_each(|op| self.after(op));
    }

    fn call(&mut self, name: Name, mut call: Call, interface: &Interface) {
        let site = self.function.edges[self.at].site;
        let what = Name::new(UNFIT);
        self.function.approximations.push(Approximation { what, site });
        let broken = interface.broken(name, &call, self.types);
        if let Some(text) = &broken {
            self.demand_that_fails(text);
        }
        // Nothing is known of what a function finds that looks at the wrong places.
        let is_broken = broken.is_some();
        let mut given = std::mem::take(&mut call.arguments).into_iter();
        for ty in &interface.parameters {
            let next = given.next();
            let arrives = next
                .as_ref()
                .is_some_and(|next| interface.passage(next, *ty, self.types) == Passage::Arrives);
            let argument = match (next, self.types.scalar(*ty)) {
                (Some(Argument::Value(value)), Some(scalar)) if arrives => {
                    Argument::Value(fold::cast(scalar, value, site))
                }
                (Some(Argument::Aggregate(lvalue)), None) if arrives => Argument::Aggregate(lvalue),
                (given, scalar) => {
                    self.evaluate(given);
                    let any = self.any(*ty);
                    if scalar.is_some() { Argument::Value(Expr::Load(any)) } else { Argument::Aggregate(any) }
                }
            };
            call.arguments.push(argument);
        }
        if interface.variadic && !is_broken {
            call.arguments.extend(given);
        } else {
            given.for_each(|extra| self.evaluate(Some(extra)));
        }
        self.result(call, interface);
    }

    fn result(&mut self, mut call: Call, interface: &Interface) {
        let wanted = call.dst.take();
        let arrives = interface.result_passage(wanted.as_ref(), self.types) == Passage::Arrives;
        let (Some(wanted), Some(ty)) = (wanted.clone(), interface.result) else {
            self.function.edges[self.at].op = Op::Call(call);
            if let Some(wanted) = wanted {
                self.after(Op::Havoc(wanted, Cause::Unmodelled(Name::new(UNFIT))));
            }
            return;
        };
        let scalar = self.types.scalar(ty);
        let after = match (scalar, wanted.scalar) {
            _ if arrives && scalar == wanted.scalar => {
                call.dst = Some(wanted);
                None
            }
            (Some(_), Some(to)) if arrives => {
                let result = self.temporary(ty);
                call.dst = Some(result.clone());
                let site = self.function.edges[self.at].site;
                Some(Op::Assign(wanted, fold::cast(to, Expr::Load(result), site)))
            }
            _ => Some(Op::Havoc(wanted, Cause::Unmodelled(Name::new(UNFIT)))),
        };
        self.function.edges[self.at].op = Op::Call(call);
        if let Some(after) = after {
            self.after(after);
        }
    }

    /// What C asks of the call does not hold in any execution that comes here.
    fn demand_that_fails(&mut self, text: &str) {
        let (error, next) = (self.location(), self.location());
        let edge = &mut self.function.edges[self.at];
        let (from, site) = (edge.from, edge.site);
        edge.from = next;
        self.function.edges.push(Edge { from, to: error, op: Op::Assume(Expr::int(1)), site });
        self.function.edges.push(Edge { from, to: next, op: Op::Assume(Expr::int(0)), site });
        let (check, text) = (CheckId::new(INCOMPATIBLE_CALL), Name::new(text));
        self.function.obligations.push(Obligation { check, error, site, text });
    }

    /// Any value of the type, in a temporary that is filled before the call.
    fn any(&mut self, ty: Type) -> Lvalue {
        let temporary = self.temporary(ty);
        self.before(Op::Havoc(temporary.clone(), Cause::Unmodelled(Name::new(UNFIT))));
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
