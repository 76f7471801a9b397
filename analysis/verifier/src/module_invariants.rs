//! Module invariants: what holds of a file's own variables, and of the members of its own structures, whenever code outside calls one of its functions. Such a
//! variable is named by this file alone and its address goes nowhere, so it has the values that the file's functions leave in it. Executions that begin in one of them may begin
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
    Approximation, Base, CompareOp, Constant, Edge, EdgeId, Entry, Expr, Function, Global, InitialValue,
    Linkage, Loc, Lvalue, Name, Op, Program, Scalar, Site, Step, scalar_of, visit,
};
use proofline_cpa::{Budget, Unknown, bam::Blocks};
use proofline_domains::interval::{IntervalValue, Ranges};
use proofline_hir::{Record, TypeKind, types::Field};
use proofline_program_analysis::{Callees, Environment, Mentions};
use proofline_syntax::DataModel;

use crate::{
    facts::Known,
    pass::{each_location, relation_pass},
    subject::Subject,
};

/// An integer variable, or an integer member of a structure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Part {
    /// The variable.
    pub variable: Name,
    /// Where the member lies in it, in bytes.
    pub offset: u64,
}

/// The least and the greatest value, by part.
pub type Bounds = BTreeMap<Part, (i128, i128)>;

/// The parts of which bounds are looked for, with how they are written.
pub type Parts = BTreeMap<Part, Lvalue>;

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

/// More members of a structure are too many.
const MOST_MEMBERS: usize = 32;

/// No pointer or floating number has more bytes.
const LARGEST_SCALAR: u64 = 16;

/// The parts of a variable of which invariants may speak, as far as its definition says: integers that only one file names, and that nothing else
/// changes. `record` knows the structures.
pub fn parts(global: &Global, model: DataModel, record: &dyn Fn(Name) -> Option<Arc<Record>>) -> Parts {
    let is_own = global.linkage == Linkage::Internal && global.defined && !global.constant;
    if is_own && !global.ty.qualifiers().is_volatile { integers(global, model, record) } else { Parts::new() }
}

/// The integers in a variable that are no part of an array or a union.
fn integers(global: &Global, model: DataModel, record: &dyn Fn(Name) -> Option<Arc<Record>>) -> Parts {
    let mut found = Parts::new();
    let mut open = vec![(global.ty, 0, Vec::new())];
    while let Some((ty, offset, path)) = open.pop() {
        let scalar = scalar_of(ty, model);
        if let Some(Scalar::Int(int)) = scalar
            && int.is_exact()
        {
            let base = Base::Global(global.name);
            let place = Lvalue { base, path, ty, scalar, bits: None, size: int.bytes() };
            found.insert(Part { variable: global.name, offset }, place);
        } else if let TypeKind::Record(tag) = ty.kind()
            && let Some(record) = record(*tag)
            && !record.is_union
        {
            let is_plain = |field: &&Field| field.bits.is_none() && !field.ty.qualifiers().is_volatile;
            for field in record.fields.iter().filter(is_plain) {
                let mut path: Vec<Step> = path.clone();
                path.push(Step::Field { record: record.tag, name: field.name, offset: field.offset });
                open.push((field.ty, offset + field.offset, path));
            }
        }
        if found.len() > MOST_MEMBERS {
            return Parts::new();
        }
    }
    found
}

/// The value of a part before anything runs; `None` if that is not known.
pub fn initial(global: &Global, part: Part, place: &Lvalue) -> Option<i128> {
    let (from, to) = (part.offset, part.offset + place.size);
    let size = |scalar| match scalar {
        Scalar::Int(int) => int.bytes(),
        Scalar::Pointer | Scalar::Float(_) => LARGEST_SCALAR,
    };
    let is_met = |value: &&InitialValue| value.offset < to && from < value.offset + size(value.scalar);
    let mut met = global.init.iter().filter(is_met);
    match (met.next(), met.next()) {
        (None, _) => Some(0),
        (Some(one), None) if one.offset == from && one.bits.is_none() && Some(one.scalar) == place.scalar => {
            match one.value {
                Constant::Int(value) => Some(value),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What a function does with a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// It may write it.
    pub writes: bool,
    /// It takes its address: from there on nobody knows who writes it.
    pub takes_address: bool,
}

/// What this function does with a part itself. A pointer into another member may be moved on to this one.
pub fn use_of(function: &Function, part: Part, place: &Lvalue) -> Use {
    let mut found = Use::default();
    let meets = |lvalue: &Lvalue| {
        if lvalue.base != Base::Global(part.variable) {
            return false;
        }
        let (from, size) = range(lvalue);
        from < part.offset + place.size && part.offset < from.saturating_add(size)
    };
    for edge in &function.edges {
        visit::exprs(&edge.op, &mut |expr| {
            let is_it = |lvalue: &Lvalue| lvalue.base == Base::Global(part.variable);
            found.takes_address |= matches!(expr, Expr::Address(lvalue) if is_it(lvalue));
        });
        visit::mentions(&edge.op, &mut |mention| {
            found.writes |= matches!(mention, visit::Mention::Write(lvalue) if meets(lvalue));
        });
    }
    found
}

/// Where an lvalue lies in its variable, and how many bytes it has; behind the first index everything up to the end of the array may be meant.
fn range(lvalue: &Lvalue) -> (u64, u64) {
    let mut from = 0;
    for step in &lvalue.path {
        match step {
            Step::Field { offset, .. } => from += offset,
            Step::Index { stride, length, .. } => {
                return (from, length.map_or(u64::MAX, |length| length.saturating_mul(*stride)));
            }
        }
    }
    (from, lvalue.size)
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
        .filter_map(|(part, bounds)| {
            let global = program.globals.get(&part.variable)?;
            let places = integers(global, model, &|tag| program.records.get(&tag).cloned());
            Some(within(places.get(part)?, *bounds, (begins, entry)))
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
fn within(place: &Lvalue, (low, high): (i128, i128), (begins, entry): (Begins, Name)) -> Vec<(Expr, Name)> {
    let (Base::Global(variable), Some(Scalar::Int(ty))) = (&place.base, place.scalar) else {
        return Vec::new();
    };
    let mut name = variable.written().split('#').next().unwrap_or_default().to_owned();
    for step in &place.path {
        // A member of a structure without a name is written as if it were one of the structure around.
        if let Step::Field { name: member, .. } = step
            && !member.starts_with('#')
        {
            name.push('.');
            name.push_str(member);
        }
    }
    let known = Known::Within(Ranges::new(low, high), ty).text(&name);
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

/// What executions from a door leave in these parts wherever code outside may go on (where the door returns, where it calls code that is not here or another
/// door, and where it ends the program), and wherever other functions are called. Of a variable that none of its functions mentions nothing is said.
///
/// # Errors
/// If the budget ends first, or something in the program makes every proof impossible.
pub fn left(
    subject: &Subject,
    door: Entry,
    doors: &BTreeSet<Name>,
    parts: &Parts,
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
        .map(|name| (name, Reached::from(env, name, parts)))
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
            let of = Part { variable: *name, offset: 0 }..=Part { variable: *name, offset: u64::MAX };
            for (part, place) in parts.range(of) {
                let Some(Scalar::Int(ty)) = place.scalar else { continue };
                let load = Expr::Load(place.clone());
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
                        join(&mut all.outside, *part, known);
                    }
                    for callee in &called {
                        join(all.calls.entry(*callee).or_default(), *part, known);
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(all)
}

/// Takes more values into the bounds of a part.
pub fn join(all: &mut Bounds, part: Part, (low, high): (i128, i128)) {
    let bounds = all.entry(part).or_insert((low, high));
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
    fn from(env: &Environment, name: Name, parts: &Parts) -> Reached {
        let variables: BTreeSet<Name> = parts.keys().map(|part| part.variable).collect();
        let mut all = Reached { variables: BTreeSet::new(), opens: false };
        for function in env.call_graph().reachable([name]).into_iter().filter_map(|name| env.function(name)) {
            let mentioned = Mentions::of_function(function).names;
            all.variables.extend(mentioned.into_iter().filter(|name| variables.contains(name)));
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
