//! What holds wherever an execution is: the values of variables at every location, and how they differ, from one pass of intervals and
//! relations whose reached set was checked again by the certificate's checker. For hovers, hints and contracts; decides nothing. Without positions.

mod difference;
mod forms;
mod structures;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map},
    fmt::Write,
};

use proofline_cfa::{
    Base, CheckId, Entry, Expr, Function, IntType, Loc, LocalId, Lvalue, Name, Program, Role, Scalar, Type,
    scalar_of,
};
use proofline_cpa::{Budget, Unknown, bam::Blocks};
use proofline_domains::{
    IntervalAnalysis,
    interval::{IntervalState, IntervalValue, Ranges},
    relation::Zone,
};
use proofline_program_analysis::Mentions;

use crate::{
    checks::postcondition,
    contracts::promises,
    pass::{each_location, relation_pass},
    subject::Subject,
};

pub use self::{
    difference::{Between, Difference, between},
    forms::Forms,
    structures::structure,
};
pub use proofline_domains::shape::{Form, List, Tree};

/// More entries than this are not kept: they take memory and are too many to read.
const MOST: usize = 2_000_000;

/// A variable of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    /// A parameter, a variable or the result.
    Local(LocalId),
    /// An object with static storage.
    Global(Name),
}

/// The checks behind whose failure executions go on as far as facts are concerned: what is shown as known does not rest on what functions ensure, which
/// may not be proved.
pub fn passed_over(program: &Program) -> BTreeSet<CheckId> {
    if promises::is_any(program) { BTreeSet::from([postcondition::CHECK.id()]) } else { BTreeSet::new() }
}

/// What is known of a value beyond its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Known {
    /// It is one of these integers; the type's own bounds beside them.
    Within(Ranges, IntType),
    /// A null pointer.
    Null,
    /// Not a null pointer.
    NotNull,
}

impl Known {
    /// What is known where either holds.
    pub fn join(&self, other: &Known) -> Option<Known> {
        match (self, other) {
            (Known::Within(a, ty), Known::Within(b, _)) => {
                let joined = a.join(b);
                (joined != Ranges::of(*ty)).then(|| Known::Within(joined, *ty))
            }
            (Known::Null, Known::Null) => Some(Known::Null),
            (Known::NotNull, Known::NotNull) => Some(Known::NotNull),
            (Known::Within(..) | Known::Null | Known::NotNull, _) => None,
        }
    }

    /// As people and ACSL write it: `0 <= i <= 10`, `b != 0`, `p != NULL`.
    pub fn text(&self, name: &str) -> String {
        let (ranges, ty) = match self {
            Known::Null => return format!("{name} == NULL"),
            Known::NotNull => return format!("{name} != NULL"),
            Known::Within(ranges, ty) => (ranges, *ty),
        };
        let parts = ranges.parts();
        // Everything but a few single values.
        let is_whole = ranges.lo() == ty.min() && ranges.hi() == ty.max();
        let holes = parts.windows(2).map(|two| (two[0].1 + 1, two[1].0 - 1));
        if is_whole && holes.clone().all(|(lo, hi)| lo == hi) {
            let texts: Vec<String> = holes.map(|(hole, _)| format!("{name} != {hole}")).collect();
            return texts.join(" && ");
        }
        let mut out = String::new();
        for (at, (lo, hi)) in parts.iter().enumerate() {
            if at > 0 {
                out.push_str(" || ");
            }
            let _ = match (*lo, *hi) {
                (lo, hi) if lo == hi => write!(out, "{name} == {lo}"),
                (lo, hi) if lo == ty.min() => write!(out, "{name} <= {hi}"),
                (lo, hi) if hi == ty.max() => write!(out, "{name} >= {lo}"),
                (lo, hi) => write!(out, "{lo} <= {name} <= {hi}"),
            };
        }
        out
    }
}

impl Known {
    /// As a C expression, which means the same whatever headers are included.
    pub fn expression(&self, name: &str) -> String {
        let (ranges, ty) = match self {
            Known::Null => return format!("{name} == 0"),
            Known::NotNull => return format!("{name} != 0"),
            Known::Within(ranges, ty) => (ranges, *ty),
        };
        let bound = |low: i128, high: i128| {
            let (low, high) =
                ((low > ty.min()).then(|| literal(low)), (high < ty.max()).then(|| literal(high)));
            match (low, high) {
                (Some(low), Some(high)) if low == high => format!("{name} == {low}"),
                (Some(low), Some(high)) => format!("({low} <= {name} && {name} <= {high})"),
                (Some(low), None) => format!("{low} <= {name}"),
                (None, Some(high)) => format!("{name} <= {high}"),
                (None, None) => "1".to_owned(),
            }
        };
        let parts: Vec<String> = ranges.parts().iter().map(|(low, high)| bound(*low, *high)).collect();
        if parts.len() == 1 { parts.concat() } else { format!("({})", parts.join(" || ")) }
    }
}

/// A constant expression with this value, of a type that holds it.
fn literal(value: i128) -> String {
    let int = i128::from(i32::MIN) + 1..=i128::from(i32::MAX);
    let long = i128::from(i64::MIN) + 1..=i128::from(i64::MAX);
    if int.contains(&value) {
        value.to_string()
    } else if long.contains(&value) {
        format!("{value}LL")
    } else if value == i128::from(i64::MIN) {
        format!("({}LL - 1)", value + 1)
    } else {
        format!("{value}ULL")
    }
}

/// What is known at a location, by variable; nothing of variables that may have any value.
pub type Here = BTreeMap<Variable, Known>;

/// What is known of a function, for all callers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionFacts {
    /// By location. No execution reaches the others.
    pub at: BTreeMap<Loc, Here>,
    /// How variables differ, by location, where that says more than their values.
    pub related: BTreeMap<Loc, Vec<Difference>>,
    /// What pointers lead to, by location; `None`: of no location is anything known. No execution reaches locations that are missing.
    pub forms: Option<BTreeMap<Loc, Forms>>,
}

impl Default for FunctionFacts {
    /// No execution reaches the function.
    fn default() -> FunctionFacts {
        FunctionFacts { at: BTreeMap::new(), related: BTreeMap::new(), forms: Some(BTreeMap::new()) }
    }
}

impl FunctionFacts {
    /// What holds at all those of these places that an execution reaches; `None` if it reaches none.
    pub fn at_each(&self, places: &[Loc]) -> Option<(Here, Vec<Difference>)> {
        let mut all: Option<(Here, Vec<Difference>)> = None;
        for loc in places {
            let Some(here) = self.at.get(loc) else { continue };
            let related = self.related.get(loc).map_or(&[][..], Vec::as_slice);
            match &mut all {
                None => all = Some((here.clone(), related.to_vec())),
                Some((values, differences)) => {
                    join(values, here);
                    difference::join(differences, related);
                }
            }
        }
        all
    }

    /// What a pointer leads to at all those of these places that an execution reaches.
    pub fn form_at_each(&self, places: &[Loc], variable: Variable) -> Option<Form> {
        let forms = self.forms.as_ref()?;
        let mut all: Option<Form> = None;
        for here in places.iter().filter_map(|loc| forms.get(loc)) {
            let form = here.get(&variable)?;
            all = Some(match all {
                None => form.clone(),
                Some(known) => known.join(form)?,
            });
        }
        all
    }

    /// What is known if either is the case.
    pub fn join(&mut self, other: &FunctionFacts) {
        self.forms = match (self.forms.take(), &other.forms) {
            (Some(mut known), Some(others)) => {
                for (loc, here) in others {
                    match known.entry(*loc) {
                        btree_map::Entry::Vacant(place) => drop(place.insert(here.clone())),
                        btree_map::Entry::Occupied(mut place) => forms::join(place.get_mut(), here),
                    }
                }
                Some(known)
            }
            (None, _) | (_, None) => None,
        };
        self.related.retain(|loc, known| {
            match (other.at.contains_key(loc), other.related.get(loc)) {
                (true, Some(others)) => difference::join(known, others),
                (true, None) => return false,
                (false, _) => {}
            }
            !known.is_empty()
        });
        for (loc, differences) in &other.related {
            if !self.at.contains_key(loc) {
                self.related.insert(*loc, differences.clone());
            }
        }
        for (loc, here) in &other.at {
            match self.at.get_mut(loc) {
                None => {
                    self.at.insert(*loc, here.clone());
                }
                Some(known) => join(known, here),
            }
        }
    }
}

fn join(known: &mut Here, here: &Here) {
    known.retain(|variable, known| match here.get(variable).and_then(|other| known.join(other)) {
        Some(joined) => {
            *known = joined;
            true
        }
        None => false,
    });
}

/// What is known of every function that executions from one entry may be in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// By function. Those that are not here are never called.
    pub functions: BTreeMap<Name, FunctionFacts>,
}

/// Explores the executions from `entry` and has the result checked again.
///
/// # Errors
/// If the budget ends first, or something in the program makes every proof impossible.
pub fn facts(subject: &Subject, entry: Entry, budget: &Budget) -> Result<Facts, Unknown> {
    if let Some(why) = subject.unsupported(&subject.env().concerned(entry)) {
        return Err(why);
    }
    // Executions from here say nothing of the calls that unknown code makes.
    let called = subject.env().called_from_outside(entry);
    let called = subject.env().call_graph().reachable(called);
    let (analysis, certificate) = relation_pass(subject, entry, Blocks::FUNCTIONS, budget)?;
    let mut facts = Facts::default();
    let mut variables: BTreeMap<Name, Vec<(Variable, Expr)>> = BTreeMap::new();
    let mut zones: BTreeMap<(Name, Loc), Zone> = BTreeMap::new();
    let mut entries = 0;
    each_location(&certificate, subject.env(), |function, loc, states| {
        if called.contains(&function.name) {
            return Ok(());
        }
        let variables =
            variables.entry(function.name).or_insert_with(|| variables_of(subject.program(), function));
        let at = &mut facts.functions.entry(function.name).or_default().at;
        for (state, _) in states {
            budget.spend(1)?;
            let here = known(&analysis.0, &state.0, function, variables);
            let zone = difference::named(&state.1.zone, function);
            match zones.entry((function.name, loc)) {
                btree_map::Entry::Vacant(place) => drop(place.insert(zone)),
                btree_map::Entry::Occupied(mut place) => {
                    let joined = place.get().join(&zone);
                    place.insert(joined);
                }
            }
            match at.get_mut(&loc) {
                None => {
                    entries += here.len() + 1;
                    at.insert(loc, here);
                }
                Some(all) => join(all, &here),
            }
        }
        if entries > MOST { Err(Unknown::OutOfBudget) } else { Ok(()) }
    })?;
    for ((name, loc), zone) in zones {
        let Some(facts) = facts.functions.get_mut(&name) else { continue };
        let differences = facts.at.get(&loc).map(|here| difference::listed(&zone, here));
        if let Some(differences) = differences.filter(|all| !all.is_empty()) {
            facts.related.insert(loc, differences);
        }
    }
    forms::add(&mut facts, subject, entry, &called, budget)?;
    Ok(facts)
}

fn known(
    analysis: &IntervalAnalysis,
    state: &IntervalState,
    function: &Function,
    variables: &[(Variable, Expr)],
) -> Here {
    let of = |(variable, load): &(Variable, Expr)| {
        let known = match (analysis.value_of(state, function, load).known()?, load.scalar()) {
            (IntervalValue::Int(ranges), Scalar::Int(ty)) => {
                let ranges = ranges.within(ty)?;
                (ranges != Ranges::of(ty)).then_some(Known::Within(ranges, ty))
            }
            (IntervalValue::Pointer(pointer), _) if pointer.is_null() => Some(Known::Null),
            (IntervalValue::Pointer(pointer), _) if !pointer.null => Some(Known::NotNull),
            (IntervalValue::Int(_) | IntervalValue::Pointer(_) | IntervalValue::Float(_), _) => None,
        };
        Some((*variable, known?))
    };
    variables.iter().filter_map(of).collect()
}

/// Integers and pointers that the programmer has names for.
fn variables_of(program: &Program, function: &Function) -> Vec<(Variable, Expr)> {
    let pointer = u64::from(program.pointer_bits()) / 8;
    let load = |base: Base, ty: Type| {
        if ty.qualifiers().is_volatile {
            return None;
        }
        let scalar = scalar_of(ty, program.data_model)?;
        let size = match scalar {
            Scalar::Int(int) if int.is_exact() => int.bytes(),
            Scalar::Pointer => pointer,
            Scalar::Int(_) | Scalar::Float(_) => return None,
        };
        let value = Lvalue { base, path: Vec::new(), ty, scalar: Some(scalar), bits: None, size };
        Some(Expr::Load(value))
    };
    let mut out = Vec::new();
    for (number, local) in (0..).zip(&function.locals) {
        let id = LocalId(number);
        match local.role {
            Role::Parameter | Role::Variable | Role::VariableArray | Role::Result => {}
            Role::Temporary | Role::Shadow => continue,
        }
        out.extend(load(Base::Local(id), local.ty).map(|load| (Variable::Local(id), load)));
    }
    for name in Mentions::of_function(function).names {
        let Some(global) = program.globals.get(&name) else { continue };
        out.extend(load(Base::Global(name), global.ty).map(|load| (Variable::Global(name), load)));
    }
    out
}
