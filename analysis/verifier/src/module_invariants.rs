//! Module invariants: what holds of a file's own variables whenever code outside calls one of its functions. Such a variable is named by this file
//! alone and its address goes nowhere, so it has the values that the file's functions leave in it. Executions that begin in one of them may begin
//! with these values only. Here is one step of the search; who asks for steps until they agree is the query graph. What the variables are where the file's other functions
//! are called comes of the same steps.
//!
//! **Law.** Let every function that code outside may call, and every one that runs before or after `main`, be a *door*. If the initial values are within the
//! ranges, and executions from each door that begin within them are within them again [wherever code outside may go on](left), then all
//! executions of the module begin within them, as long as none fails before in a way that C gives no meaning to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Approximation, Base, CompareOp, Constant, Edge, EdgeId, Entry, Expr, Function, Global, IntType, Linkage,
    Loc, Lvalue, Name, Op, Program, Scalar, Site, scalar_of, visit,
};
use proofline_cpa::{Budget, Unknown, bam::Blocks};
use proofline_domains::interval::{IntervalValue, Ranges};
use proofline_program_analysis::{Callees, Environment, Mentions};
use proofline_syntax::DataModel;

use crate::{
    facts::Known,
    pass::{each_location, relation_pass},
    subject::Subject,
};

/// The least and the greatest value, by variable.
pub type Bounds = BTreeMap<Name, (i128, i128)>;

/// Where executions begin within bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Begins {
    /// In a door.
    AtDoor,
    /// In a function that the file alone calls.
    Inside,
}

/// What executions from a door leave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Left {
    /// Wherever code outside may go on.
    pub outside: Bounds,
    /// Wherever a function that is no door is called, of the variables that it or what it calls mentions.
    pub calls: BTreeMap<Name, Bounds>,
}

/// Steps of one pass over the executions from a door.
pub const STEPS: u64 = 60_000;

/// The type of a variable of which an invariant may speak, as far as its definition says: an integer that only one file names, and that nothing else
/// changes.
pub fn integer(global: &Global, model: DataModel) -> Option<IntType> {
    let qualifiers = global.ty.qualifiers();
    let is_own = global.linkage == Linkage::Internal && global.defined && !global.constant;
    match scalar_of(global.ty, model) {
        Some(Scalar::Int(ty)) if is_own && !qualifiers.is_volatile && ty.is_exact() => Some(ty),
        _ => None,
    }
}

/// Its value before anything runs; `None` if that is not known.
pub fn initial(global: &Global) -> Option<i128> {
    match global.init.as_slice() {
        [] => Some(0),
        [one] if one.offset == 0 && one.bits.is_none() => match one.value {
            Constant::Int(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// What a function does with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// It may write it.
    pub writes: bool,
    /// It takes its address: from there on nobody knows who writes it.
    pub takes_address: bool,
}

/// What this function does with a variable itself.
pub fn use_of(function: &Function, variable: Name) -> Use {
    let mut found = Use::default();
    let is_it = |lvalue: &Lvalue| lvalue.base == Base::Global(variable);
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| {
            found.takes_address |= matches!(part, Expr::Address(lvalue) if is_it(lvalue));
        });
        visit::mentions(&edge.op, &mut |mention| {
            found.writes |= matches!(mention, visit::Mention::Write(lvalue) if is_it(lvalue));
        });
    }
    found
}

/// Numbers that a function compares with, or computes with: where ranges may come to rest.
pub fn thresholds(function: &Function) -> BTreeSet<i128> {
    let mut all = BTreeSet::new();
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Int(value, _) = part {
                all.extend([value.saturating_sub(1), *value, value.saturating_add(1)]);
            }
        });
    }
    all
}

/// Lets executions that begin in the function begin within the bounds; so does each call of it.
pub fn assume(program: &mut Program, entry: Name, bounds: &Bounds, begins: Begins) {
    let model = program.data_model;
    let conditions: Vec<(Expr, Name)> = bounds
        .iter()
        .filter_map(|(name, bounds)| {
            let global = program.globals.get(name)?;
            let Some(Scalar::Int(ty)) = scalar_of(global.ty, model) else { return None };
            Some(within(global, ty, *bounds, (begins, entry)))
        })
        .flatten()
        .collect();
    let Some(function) = program.functions.get_mut(&entry) else { return };
    let function = Arc::make_mut(function);
    for (condition, text) in conditions {
        let from = Loc(function.locations);
        function.locations += 1;
        function.edges.push(Edge {
            from,
            to: function.entry,
            op: Op::Assume(condition),
            site: Site::NOWHERE,
        });
        function.entry = from;
        let is_said = |known: &Approximation| known.what == text;
        if !function.approximations.iter().any(is_said) {
            function.approximations.push(Approximation { what: text, site: Site::NOWHERE });
        }
    }
}

/// The two bounds as conditions, and what proofs rest on then.
fn within(
    global: &Global,
    ty: IntType,
    (low, high): (i128, i128),
    (begins, entry): (Begins, Name),
) -> Vec<(Expr, Name)> {
    let place = place(global, ty);
    let name = global.name.written().split('#').next().unwrap_or_default();
    let known = Known::Within(Ranges::new(low, high), ty).text(name);
    let text = Name::new(&match begins {
        Begins::AtDoor => {
            format!("{known} whenever code outside calls a function of its file, if none has failed before")
        }
        Begins::Inside => {
            format!("{known} wherever `{}` is called, if nothing has failed before", entry.written())
        }
    });
    let bound =
        |op, bound| (Expr::Compare(op, Expr::Load(place.clone()).into(), Expr::Int(bound, ty).into()), text);
    let mut all = Vec::new();
    all.extend((low > ty.min()).then(|| bound(CompareOp::Ge, low)));
    all.extend((high < ty.max()).then(|| bound(CompareOp::Le, high)));
    all
}

fn place(global: &Global, ty: IntType) -> Lvalue {
    let scalar = Some(Scalar::Int(ty));
    Lvalue {
        base: Base::Global(global.name),
        path: Vec::new(),
        ty: global.ty,
        scalar,
        bits: None,
        size: global.size,
    }
}

/// What executions from a door leave in these variables wherever code outside may go on (where the door returns, where it calls code that is not here or another
/// door, and where it ends the program), and wherever other functions are called. Of a variable that none of its functions mentions nothing is said.
///
/// # Errors
/// If the budget ends first, or something in the program makes every proof impossible.
pub fn left(
    subject: &Subject,
    door: Entry,
    doors: &BTreeSet<Name>,
    variables: &BTreeMap<Name, IntType>,
    budget: &Budget,
) -> Result<Left, Unknown> {
    if let Some(why) = subject.unsupported(&subject.env().concerned(door)) {
        return Err(why);
    }
    let (analysis, certificate) = relation_pass(subject, door, Blocks::FUNCTIONS, budget)?;
    let env = subject.env();
    let reached: BTreeMap<Name, Reached> = subject
        .reachable_from(door.name)
        .into_iter()
        .map(|name| (name, Reached::from(env, name, variables)))
        .collect();
    let mut all = Left::default();
    each_location(&certificate, env, |function, loc, states| {
        let Some(own) = reached.get(&function.name) else { return Ok(()) };
        let ends = function.name == door.name && loc == function.exit;
        let called = called(env, function, loc, doors);
        for name in &own.variables {
            let mentions =
                |callee: &&Name| reached.get(*callee).is_some_and(|of| of.variables.contains(name));
            let called: Vec<Name> = called.iter().filter(mentions).copied().collect();
            let opens = ends || opens(env, function, loc, doors, &reached, *name);
            if !opens && called.is_empty() {
                continue;
            }
            let Some((global, ty)) = env.program().globals.get(name).zip(variables.get(name).copied()) else {
                continue;
            };
            let load = Expr::Load(place(global, ty));
            for (state, _) in states {
                budget.spend(1)?;
                let known = match analysis.0.value_of(&state.0, function, &load).known() {
                    Some(IntervalValue::Int(ranges)) => {
                        ranges.within(ty).map(|ranges| (ranges.lo(), ranges.hi()))
                    }
                    Some(IntervalValue::Pointer(_) | IntervalValue::Float(_)) | None => None,
                };
                let known = known.unwrap_or((ty.min(), ty.max()));
                if opens {
                    join(&mut all.outside, *name, known);
                }
                for callee in &called {
                    join(all.calls.entry(*callee).or_default(), *name, known);
                }
            }
        }
        Ok(())
    })?;
    Ok(all)
}

/// Takes more values into the bounds of a variable.
pub fn join(all: &mut Bounds, variable: Name, (low, high): (i128, i128)) {
    let bounds = all.entry(variable).or_insert((low, high));
    *bounds = (bounds.0.min(low), bounds.1.max(high));
}

/// The functions with bodies, doors excepted, that may be called behind the location.
fn called(env: &Environment, function: &Function, loc: Loc, doors: &BTreeSet<Name>) -> BTreeSet<Name> {
    let edges = env.structure(function.name).successors(loc).iter();
    let callees = edges.filter_map(|id| callees(env, function, *id)).flat_map(|callees| &callees.functions);
    callees.filter(|callee| !doors.contains(callee)).copied().collect()
}

/// What may happen in a function and in all that it calls.
struct Reached {
    /// Which of the variables are mentioned.
    variables: BTreeSet<Name>,
    /// Whether code that is not here runs, or the program ends.
    opens: bool,
}

impl Reached {
    fn from(env: &Environment, name: Name, variables: &BTreeMap<Name, IntType>) -> Reached {
        let mut all = Reached { variables: BTreeSet::new(), opens: false };
        for function in env.call_graph().reachable([name]).into_iter().filter_map(|name| env.function(name)) {
            let mentioned = Mentions::of_function(function).names;
            all.variables.extend(mentioned.into_iter().filter(|name| variables.contains_key(name)));
            all.opens |= (0..function.locations).any(|loc| opens_here(env, function, Loc(loc)));
        }
        all
    }
}

/// Whether code that is not here runs behind the location, or nothing does any more.
fn opens_here(env: &Environment, function: &Function, loc: Loc) -> bool {
    let structure = env.structure(function.name);
    let successors = structure.successors(loc);
    if successors.is_empty() {
        return loc != function.exit && structure.obligation_at(loc).is_none();
    }
    successors.iter().any(|id| match &function.edge(*id).op {
        Op::Clobber(..) => true,
        Op::Call(_) => callees(env, function, *id).is_none_or(|callees| callees.may_be_external),
        Op::Skip
        | Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Havoc(..)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..)
        | Op::Begin(_)
        | Op::End(_) => false,
    })
}

fn callees<'e>(env: &'e Environment, function: &Function, edge: EdgeId) -> Option<&'e Callees> {
    env.call_graph().call(function.name, edge)
}

/// Whether code outside may go on from here with what is in the variable now.
fn opens(
    env: &Environment,
    function: &Function,
    loc: Loc,
    doors: &BTreeSet<Name>,
    reached: &BTreeMap<Name, Reached>,
    variable: Name,
) -> bool {
    let is_open = |callee: &Name| {
        // Who mentions it is asked itself.
        let goes_on = |of: &Reached| of.opens && !of.variables.contains(&variable);
        doors.contains(callee) || reached.get(callee).is_none_or(goes_on)
    };
    opens_here(env, function, loc)
        || env.structure(function.name).successors(loc).iter().any(|id| {
            matches!(function.edge(*id).op, Op::Call(_))
                && callees(env, function, *id).is_none_or(|callees| callees.functions.iter().any(is_open))
        })
}
