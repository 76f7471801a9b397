//! The automata that run beside a program for one monitor, and where each keeps its state: variables that nobody else can name. A monitor with a key is
//! one automaton for each value of it; few of them say the same as all:
//!
//! - for each object with static storage whose address is a key in the text, one of its own ([`Held::Object`]);
//! - for keys that are numbers, one that watches a number, which may be any and never changes ([`Held::Number`]);
//! - for each place that creates a key which is an address, one that watches one of those which it creates; which, is chosen where that happens
//!   ([`Held::Chosen`]). Where the library makes the object, it is one that the monitor provides ([`Held::Fresh`]), so that it is none of the others;
//! - for all other addresses, one that watches one of them from the first event on that says in which state it is.
//!
//! What is chosen is any, so an error for some key is one for a choice.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Callee, Cause, Constant, Expr, Function, Global, InitialValue, IntType, Linkage, Lvalue, Name, Op,
    Program, Scalar, Type, Types,
};
use proofline_cfa_build::models;
use proofline_hir::{TypeKind, types::ArrayLength};

use super::{
    From, Monitor, PREFIX, Target,
    occurrences::{Happening, Matched, is_static, matched, plain_name},
};
use proofline_cfa::CheckId;

/// Not watched.
pub(super) const ABSENT: i128 = 0;
/// Watched, and in a state that nothing has said: executions start in the middle of a program.
pub(super) const FOREIGN: i128 = 1;

/// More objects than this share an automaton, and more places that create keys.
const MOST: usize = 16;

/// Numbers in variables of monitors.
pub(super) const COUNT: IntType = IntType { bits: 64, signed: false };

/// What an automaton is about.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Held {
    /// The program.
    Nothing,
    /// An object with static storage.
    Object(Expr),
    /// This object, where a call has made it.
    Fresh(Made),
    /// The address in this variable, where the automaton is watching.
    Chosen(Lvalue),
    /// The number in this variable.
    Number(Lvalue),
}

/// What calls make that the monitor provides.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Made {
    /// What is watched.
    pub(super) object: Lvalue,
    /// Another one, which is not, so that runs can have both.
    pub(super) other: Lvalue,
    /// Whether the other one was made.
    pub(super) is_other: Lvalue,
}

/// A place where keys begin: the call, or the end of a function with a body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Creator {
    pub(super) function: Name,
    /// `None`: where it returns.
    pub(super) edge: Option<usize>,
}

/// One automaton.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Instance {
    pub(super) held: Held,
    pub(super) state: Lvalue,
    pub(super) variables: Vec<Lvalue>,
    /// The places whose keys it watches.
    pub(super) creators: BTreeSet<Creator>,
}

/// A monitor in a program.
pub(super) struct Watched<'m> {
    pub(super) monitor: &'m Monitor,
    pub(super) check: CheckId,
    pub(super) instances: Vec<Instance>,
    pub(super) globals: Vec<Global>,
}

/// What a program has of keys.
#[derive(Default)]
struct Survey {
    objects: BTreeSet<Expr>,
    numbers: BTreeSet<IntType>,
    /// With what they make, if the monitor is to provide it.
    creators: BTreeMap<Creator, Option<Type>>,
    has_others: bool,
}

impl<'m> Watched<'m> {
    pub(super) fn new(program: &Program, monitor: &'m Monitor, is_library: bool) -> Watched<'m> {
        let mut out =
            Watched { monitor, check: monitor.check().id(), instances: Vec::new(), globals: Vec::new() };
        let first = match monitor.start {
            Some(_) if is_library => FOREIGN,
            Some(state) => code(state),
            None => ABSENT,
        };
        if monitor.key.is_none() {
            if monitor.start.is_some() {
                out.add(program, Held::Nothing, first, BTreeSet::new());
            }
            return out;
        }
        let survey = survey(program, monitor);
        for object in survey.objects.iter().take(MOST) {
            out.add(program, Held::Object(object.clone()), first, BTreeSet::new());
        }
        if let Some(ty) = widest(&survey.numbers) {
            let number = out.variable(program, "number", Scalar::Int(ty), None);
            out.add(program, Held::Number(number), first, BTreeSet::new());
        }
        let mut places: Vec<(BTreeSet<Creator>, Option<Type>)> = Vec::new();
        for (creator, made) in survey.creators {
            match places.len() < MOST {
                true => places.push((BTreeSet::from([creator]), made)),
                // The last ones share an automaton; objects that the monitor provides need one type.
                false => match places.iter_mut().rev().find(|(_, other)| *other == made) {
                    Some((creators, _)) => drop(creators.insert(creator)),
                    None => places.push((BTreeSet::from([creator]), made)),
                },
            }
        }
        for (creators, made) in places {
            let held = match made {
                Some(ty) => Held::Fresh(Made {
                    object: out.object(program, ty),
                    other: out.object(program, ty),
                    is_other: out.variable(program, "other", Scalar::Int(IntType::INT), Some(0)),
                }),
                None => Held::Chosen(out.variable(program, "address", Scalar::Pointer, Some(0))),
            };
            out.add(program, held, ABSENT, creators);
        }
        if survey.has_others || survey.objects.len() > MOST {
            let held = Held::Chosen(out.variable(program, "address", Scalar::Pointer, Some(0)));
            out.add(program, held, ABSENT, BTreeSet::new());
        }
        out
    }

    /// Whether an automaton of its own watches the object.
    pub(super) fn has_object(&self, key: &Expr) -> bool {
        self.instances.iter().any(|instance| matches!(&instance.held, Held::Object(object) if object == key))
    }

    fn add(&mut self, program: &Program, held: Held, first: i128, creators: BTreeSet<Creator>) {
        let state = self.variable(program, "state", Scalar::Int(IntType::INT), Some(first));
        let variables = &self.monitor.variables;
        let variables = variables
            .iter()
            .map(|variable| {
                let initial = Some(i128::from(variable.initial));
                self.variable(program, &variable.name, Scalar::Int(COUNT), initial)
            })
            .collect();
        self.instances.push(Instance { held, state, variables, creators });
    }

    fn name(&self, what: &str) -> Name {
        let number = self.globals.len();
        Name::new(&format!("{PREFIX}:{} {what} {number}", self.monitor.label))
    }

    /// A variable; without an initial value it may have any.
    fn variable(&mut self, program: &Program, what: &str, scalar: Scalar, initial: Option<i128>) -> Lvalue {
        let types = Types { records: &program.records, model: program.data_model };
        let ty = types.of_scalar(scalar);
        let init = match initial {
            Some(0) | None => Vec::new(),
            Some(value) => vec![InitialValue { offset: 0, scalar, bits: None, value: Constant::Int(value) }],
        };
        self.global(what, ty, types.size(ty).unwrap_or(0), Some(scalar), initial.is_some(), init)
    }

    /// An object of this type, such as a call makes.
    fn object(&mut self, program: &Program, ty: Type) -> Lvalue {
        let types = Types { records: &program.records, model: program.data_model };
        let (ty, size) = match types.size(ty) {
            Some(size) if size > 0 => (ty, size),
            _ => {
                let byte = types.of_scalar(Scalar::Int(IntType { bits: 8, signed: true }));
                (Type::new(TypeKind::Array(byte, ArrayLength::Unknown)), 0)
            }
        };
        self.global("object", ty, size, types.scalar(ty), true, Vec::new())
    }

    fn global(
        &mut self,
        what: &str,
        ty: Type,
        size: u64,
        scalar: Option<Scalar>,
        defined: bool,
        init: Vec<InitialValue>,
    ) -> Lvalue {
        let name = self.name(what);
        let linkage = Linkage::Internal;
        self.globals.push(Global {
            name,
            ty,
            linkage,
            size,
            defined,
            constant: false,
            init,
            hidden: Vec::new(),
        });
        Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar, bits: None, size }
    }
}

/// The number of a state in the automaton's variable.
pub(super) fn code(state: usize) -> i128 {
    FOREIGN + 1 + state as i128
}

/// The type in which all these are compared.
fn widest(types: &BTreeSet<IntType>) -> Option<IntType> {
    match types.len() {
        0 => None,
        1 => types.first().copied(),
        _ => Some(IntType { bits: 64, signed: true }),
    }
}

/// Any havocked choice of the monitor is its own.
pub(super) fn chosen(monitor: &Monitor) -> Cause {
    Cause::Within(Name::new(&monitor.label))
}

fn survey(program: &Program, monitor: &Monitor) -> Survey {
    let mut out = Survey::default();
    let begins_by_argument = monitor.transitions.iter().any(|transition| {
        transition.from == From::New
            && transition.events.iter().any(|event| match event {
                super::Event::Call(call) => !call.gives_key,
                super::Event::Set(..) => true,
                super::Event::Label(_) | super::Event::End => false,
            })
    });
    let others_begin = monitor.start.is_some() || begins_by_argument;
    let mut see = |found: &[Matched], creator: Creator, made: &dyn Fn() -> Option<Type>| {
        for one in found {
            let transition = &monitor.transitions[one.transition];
            let Some(key) = one.key.as_ref().filter(|_| transition.from != From::Always) else { continue };
            match key.scalar() {
                Scalar::Int(ty) => drop(out.numbers.insert(ty)),
                Scalar::Float(_) => {}
                Scalar::Pointer if one.gives_key => {
                    if transition.from == From::New {
                        out.creators.entry(creator).or_insert_with(made);
                    }
                    debug_assert!(transition.to != Target::Error || transition.from != From::New);
                }
                Scalar::Pointer if is_static(key) && others_begin => drop(out.objects.insert(key.clone())),
                Scalar::Pointer => out.has_others |= others_begin,
            }
        }
    };
    for function in program.functions.values() {
        for (at, edge) in function.edges.iter().enumerate() {
            let here = Creator { function: function.name, edge: Some(at) };
            match &edge.op {
                Op::Call(call) => {
                    let arguments = arguments(call);
                    for name in callees(program, call).into_iter().filter(|name| is_outside(program, *name)) {
                        let ty = result_type(program, call, name);
                        let scalar = ty.and_then(|ty| proofline_cfa::scalar_of(ty, program.data_model));
                        let result = scalar.map(|scalar| any(program, scalar));
                        for is_after in [false, true] {
                            let result = result.as_ref().filter(|_| is_after);
                            let name = plain_name(name.as_str());
                            let happening = Happening::Call { name, arguments: &arguments, result, is_after };
                            let is_allocation =
                                || models::standard().model(name).is_some_and(|model| model.allocates());
                            let made = || ty.and_then(Type::pointee).filter(|_| !is_allocation());
                            see(&matched(monitor, &happening), here, &made);
                        }
                    }
                }
                Op::Assign(Lvalue { base: Base::Global(name), path, .. }, value) if path.is_empty() => {
                    see(&matched(monitor, &Happening::Set { name: name.as_str(), value }), here, &|| None);
                }
                Op::Assign(..)
                | Op::Skip
                | Op::Assume(_)
                | Op::Copy(..)
                | Op::Havoc(..)
                | Op::Clobber(..)
                | Op::Allocate(_)
                | Op::Free(_)
                | Op::CopyBytes(..)
                | Op::FillBytes(..)
                | Op::HavocBytes(..)
                | Op::Begin(_)
                | Op::End(_) => {}
            }
        }
        let name = function.name.as_str();
        let arguments = parameters(program, function);
        let result = own_result(program, function);
        for is_after in [false, true] {
            let result = result.as_ref().filter(|_| is_after);
            let happening = Happening::Call { name, arguments: &arguments, result, is_after };
            let here = Creator { function: function.name, edge: None };
            see(&matched(monitor, &happening), here, &|| None);
        }
    }
    out
}

/// A value of the format of which nothing is known.
fn any(program: &Program, scalar: Scalar) -> Expr {
    let ty = Types { records: &program.records, model: program.data_model }.of_scalar(scalar);
    let base = Base::Global(Name::new(PREFIX));
    Expr::Load(Lvalue { base, path: Vec::new(), ty, scalar: Some(scalar), bits: None, size: 0 })
}

pub(super) fn arguments(call: &proofline_cfa::Call) -> Vec<Option<Expr>> {
    let of = |argument: &proofline_cfa::Argument| match argument {
        proofline_cfa::Argument::Value(value) => Some(value.clone()),
        proofline_cfa::Argument::Aggregate(_) => None,
    };
    call.arguments.iter().map(of).collect()
}

pub(super) fn parameters(program: &Program, function: &Function) -> Vec<Option<Expr>> {
    let of = |id: &proofline_cfa::LocalId| {
        let local = function.local(*id);
        let scalar = proofline_cfa::scalar_of(local.ty, program.data_model)?;
        Some(Expr::Load(Lvalue::local(*id, local.ty, scalar, local.size)))
    };
    function.parameters.iter().map(of).collect()
}

pub(super) fn own_result(program: &Program, function: &Function) -> Option<Expr> {
    let id = function.result?;
    let local = function.local(id);
    let scalar = proofline_cfa::scalar_of(local.ty, program.data_model)?;
    Some(Expr::Load(Lvalue::local(id, local.ty, scalar, local.size)))
}

/// The functions without bodies that a call may call and whose names are known.
pub(super) fn callees(program: &Program, call: &proofline_cfa::Call) -> Vec<Name> {
    match &call.callee {
        Callee::Direct(name) => vec![*name],
        Callee::Indirect(..) => program.externals.keys().copied().collect(),
    }
}

pub(super) fn is_outside(program: &Program, name: Name) -> bool {
    !program.functions.contains_key(&name)
}

pub(super) fn result_type(program: &Program, call: &proofline_cfa::Call, name: Name) -> Option<Type> {
    if let Some(dst) = &call.dst {
        return Some(dst.ty);
    }
    match program.externals.get(&name)?.kind() {
        TypeKind::Function(signature) => Some(signature.result),
        _ => None,
    }
}
