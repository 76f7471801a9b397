//! Summaries of recursive functions, as formulas over what goes in and what comes out: `UpdateSummary` of [REC14]. Knows which functions have summaries,
//! and what these may speak of; not what they are used for.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Callee, Expr, Function, LocalId, Lvalue, Name, Object, Op, Program, Scalar, scalar_of,
    visit::{self, Mention},
};
use proofline_cpa::Unknown;
use proofline_smt::{
    Limits, Sort, Term, Var, Z3, build as t,
    project::{ProjectOptions, project_universally},
    term::free_vars,
};

use crate::subject::Subject;

/// More pairs of invariants than this say nothing more about a function.
const MOST_PAIRS: usize = 64;

/// The solver's units for one elimination of quantifiers.
const ELIMINATION: u32 = 2_000_000;

/// What a summary of a function speaks of.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// Its parameters.
    pub(super) parameters: Vec<LocalId>,
    /// Its result.
    pub(super) result: Option<LocalId>,
    /// Integers with static storage that it or its callees mention.
    pub(super) integers: BTreeSet<Name>,
    /// Everything with static storage that they mention.
    pub(super) mentioned: BTreeSet<Name>,
    /// What a call may look at.
    pub(super) read: BTreeSet<Name>,
    /// What a call may change.
    pub(super) written: BTreeSet<Name>,
}

/// What a parameter is when the function is entered.
pub(super) fn input(index: usize) -> Var {
    Var::new(&format!("in {index}"), Sort::Int)
}

/// The result.
pub(super) fn output() -> Var {
    Var::new("out", Sort::Int)
}

/// What an object is when the function is entered.
pub(super) fn before(name: Name) -> Var {
    Var::new(&format!("before {name}"), Sort::Int)
}

/// What an object is when the function is left.
pub(super) fn after(name: Name) -> Var {
    Var::new(&format!("after {name}"), Sort::Int)
}

/// An object with static storage, as a whole.
pub(super) fn global_place(program: &Program, name: Name) -> Option<Lvalue> {
    let global = program.globals.get(&name)?;
    let scalar = scalar_of(global.ty, program.data_model);
    let (ty, size) = (global.ty, global.size);
    Some(Lvalue { base: Base::Global(name), path: Vec::new(), ty, scalar, bits: None, size })
}

/// A local as a whole.
pub(super) fn local_place(program: &Program, function: &Function, id: LocalId) -> Option<Lvalue> {
    let local = function.local(id);
    Some(Lvalue::local(id, local.ty, scalar_of(local.ty, program.data_model)?, local.size))
}

fn is_integer(place: &Lvalue) -> bool {
    matches!(place.scalar, Some(Scalar::Int(_)))
}

impl Interface {
    /// # Errors
    /// If the function, or one that it calls, does more than compute with numbers that have names.
    pub(super) fn new(subject: &Subject, name: Name) -> Result<Interface, Unknown> {
        let (env, program) = (subject.env(), subject.program());
        let unsupported = |why: &str| Unknown::Unsupported(format!("no summary of {name}: {why}"));
        let Some(function) = env.function(name) else { return Err(unsupported("it has no body")) };
        let scalars = function.parameters.iter().chain(&function.result);
        if function.variadic
            || !scalars.clone().all(|id| local_place(program, function, *id).is_some_and(|p| is_integer(&p)))
        {
            return Err(unsupported("what goes in and comes out are not only integers"));
        }
        let mut mentioned = BTreeSet::new();
        for called in env.call_graph().reachable([name]) {
            let Some(function) = env.function(called) else { continue };
            if let Some(why) = beyond_numbers(function, &mut mentioned) {
                return Err(unsupported(&format!("{why} in {called}")));
            }
        }
        let mut written = BTreeSet::new();
        for object in env.writes(name) {
            match object {
                Object::Global(global) => written.insert(*global),
                Object::Local(..) | Object::Heap(..) | Object::External => {
                    return Err(unsupported("memory is written that has no name"));
                }
            };
        }
        let is_integer = |name: &Name| global_place(program, *name).is_some_and(|place| is_integer(&place));
        let integers = mentioned.iter().copied().filter(is_integer).collect();
        let global = |object: &Object| match object {
            Object::Global(name) => Some(*name),
            Object::Local(..) | Object::Heap(..) | Object::External => None,
        };
        let read = env.reads(name).iter().filter_map(global).collect();
        let (parameters, result) = (function.parameters.clone(), function.result);
        Ok(Interface { parameters, result, integers, mentioned, read, written })
    }

    fn vocabulary(&self) -> BTreeSet<Var> {
        let parameters = (0..self.parameters.len()).map(input);
        let globals = self.integers.iter().flat_map(|name| [before(*name), after(*name)]);
        parameters.chain(self.result.map(|_| output())).chain(globals).collect()
    }
}

/// What a function does that has nothing to do with named numbers; what it mentions is added.
fn beyond_numbers(function: &Function, mentioned: &mut BTreeSet<Name>) -> Option<&'static str> {
    if function.locals.iter().any(|local| local.address_taken) {
        return Some("the address of a local is taken");
    }
    let mut why = None;
    for edge in &function.edges {
        match &edge.op {
            Op::Skip | Op::Assume(_) | Op::Assign(..) | Op::Havoc(..) | Op::Begin(_) | Op::End(_) => {}
            Op::Call(call) if matches!(call.callee, Callee::Direct(_)) => {}
            Op::Call(_) => return Some("a call through a pointer"),
            Op::Copy(..)
            | Op::Clobber(..)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..) => return Some("memory is used"),
        }
        let mut place = |lvalue: &Lvalue| match lvalue.base {
            Base::Local(_) => {}
            Base::Global(name) => {
                mentioned.insert(name);
            }
            Base::Deref(..) => why = Some("memory is used through a pointer"),
        };
        visit::reads(&edge.op, &mut place);
        visit::mentions(&edge.op, &mut |mention| match mention {
            Mention::Read(lvalue) | Mention::Write(lvalue) => place(lvalue),
            Mention::Value(_) => {}
        });
        visit::exprs(&edge.op, &mut |expr| match expr {
            Expr::Address(_) | Expr::Function(_) | Expr::Memory(..) | Expr::PointerDifference(..) => {
                why = Some("addresses are used");
            }
            Expr::Int(..)
            | Expr::Float(_)
            | Expr::Null
            | Expr::Load(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Cast(..)
            | Expr::Overflows(..) => {}
        });
        if why.is_some() {
            return why;
        }
    }
    None
}

/// What an analysis knows where a call of a function is entered, and where it is left.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    /// The function of the program, not a copy of it.
    pub(super) function: Name,
    /// Over [`input`]s and [`before`].
    pub(super) entry: Term,
    /// Over these, [`output`] and [`after`]; and over whatever else it is about.
    pub(super) exit: Term,
}

/// What of a pair a summary says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `∀X. (I_s ⇒ I_e)`
    Implied,
    /// `∀X. I_e`: where the entry is a special one, this may be true of all.
    Always,
}

/// `S[f]`, by the elimination of quantifiers, one formula for each pair; what has no elimination is left out, which only weakens what has to be shown to
/// be inductive.
pub(super) fn summaries(
    z3: &Z3,
    interfaces: &BTreeMap<Name, Interface>,
    pairs: &BTreeSet<Pair>,
    form: Form,
    millis: Option<u32>,
) -> BTreeMap<Name, Vec<Term>> {
    let limits = Limits { resource: Some(ELIMINATION), millis };
    let options = ProjectOptions { limits, ..ProjectOptions::default() };
    let mut found: BTreeMap<Name, Vec<Term>> = interfaces.keys().map(|name| (*name, Vec::new())).collect();
    for pair in pairs {
        let (Some(interface), Some(known)) = (interfaces.get(&pair.function), found.get_mut(&pair.function))
        else {
            continue;
        };
        let says = match form {
            Form::Implied => t::or([t::not(pair.entry), pair.exit]),
            Form::Always => pair.exit,
        };
        let keep = interface.vocabulary();
        let summary = match free_vars(says).is_subset(&keep) {
            true => Ok(says),
            false => project_universally(z3, says, &keep, options),
        };
        if let Ok(summary) = summary
            && summary.as_bool() != Some(true)
            && !known.contains(&summary)
            && known.len() < MOST_PAIRS
        {
            known.push(summary);
        }
    }
    found
}
