//! What pointers lead to wherever an execution is, said of whole structures: lists and trees, from passes of shapes whose reached sets were checked
//! again. Only where the program makes such structures; each pass may take so many steps, and where one ends early it says nothing.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use proofline_cfa::{Entry, Expr, Function, Loc, Name, Program};
use proofline_cpa::{Budget, Unknown};
use proofline_domains::{
    Folds,
    shape::{Asked, Form, has_linked_heap, has_trees},
};
use proofline_hir::TypeKind;

use super::{Facts, Variable, variables_of};
use crate::{
    inspect::FOLDS,
    pass::{each_location, shape_pass},
    subject::Subject,
};

/// Steps of a pass that folds to lists, and of one that folds to trees: usual programs take some hundreds, and 2,000 to 4,000. Whoever hovers waits for
/// it, and what a step costs grows with their number where nothing folds.
const STEPS: [(bool, u64); 2] = [(false, 2_000), (true, 4_000)];

/// What pointers lead to at a location; nothing of pointers that may lead anywhere.
pub type Forms = BTreeMap<Variable, Form>;

/// By function and location.
type Found = BTreeMap<Name, BTreeMap<Loc, Forms>>;

/// A variable that points to a record, and which.
type PointerTo = (Variable, Name);

/// Adds what passes of shapes find out; what unknown code calls is not looked at.
///
/// # Errors
/// If the caller's time is over.
pub(super) fn add(
    facts: &mut Facts,
    subject: &Subject,
    entry: Entry,
    called: &BTreeSet<Name>,
    budget: &Budget,
) -> Result<(), Unknown> {
    let reached = subject.reachable_from(entry.name);
    let mut found: Option<(Found, BTreeSet<Name>)> = None;
    if has_linked_heap(reached.iter().filter_map(|name| subject.env().function(*name))) {
        for (trees, steps) in STEPS {
            // Lists that are linked in both directions might be trees, too, and nothing folds them then.
            let has_said = found.as_ref().is_some_and(|(_, unfolded)| unfolded.is_empty());
            if trees && (has_said || !has_trees(subject.env())) {
                continue;
            }
            let own = Budget::steps(steps.min(budget.left()))
                .with_cancel(budget.cancel().clone())
                .with_deadline(budget.deadline());
            let before = own.left();
            let new = forms(subject, entry, trees, called, &own);
            budget.spend(before - own.left())?;
            found = match (found, new.ok()) {
                (Some((known, _)), Some((new, unfolded))) => Some((both(known, new), unfolded)),
                (known, new) => known.or(new),
            };
        }
    }
    for (name, facts) in &mut facts.functions {
        facts.forms = found.as_mut().map(|(found, _)| found.remove(name).unwrap_or_default());
    }
    Ok(())
}

/// And the records with several links of which no structure of any size was seen.
fn forms(
    subject: &Subject,
    entry: Entry,
    trees: bool,
    called: &BTreeSet<Name>,
    budget: &Budget,
) -> Result<(Found, BTreeSet<Name>), Unknown> {
    let (analysis, certificate) = shape_pass(subject, entry, Folds { trees, ..FOLDS }, budget)?;
    let mut found = Found::new();
    let mut pointers: BTreeMap<Name, (Vec<PointerTo>, Vec<Asked>)> = BTreeMap::new();
    let mut unbounded: BTreeSet<Name> = BTreeSet::new();
    each_location(&certificate, subject.env(), |function, loc, states| {
        if called.contains(&function.name) {
            return Ok(());
        }
        let links = |record| analysis.links(record);
        let (variables, asked) = pointers
            .entry(function.name)
            .or_insert_with(|| pointers_of(subject.program(), function, &links).into_iter().unzip());
        let at = found.entry(function.name).or_default();
        for (state, _) in states {
            let forms = analysis.forms(state, function, asked);
            let here = variables.iter().zip(forms).filter_map(|(variable, form)| Some((variable, form?)));
            let here: Vec<(&PointerTo, Form)> = here.collect();
            let of_any_size = here.iter().filter(|(_, form)| form.is_unbounded());
            unbounded.extend(of_any_size.map(|((_, record), _)| *record));
            let here: Forms = here.into_iter().map(|((variable, _), form)| (*variable, form)).collect();
            match at.entry(loc) {
                btree_map::Entry::Vacant(place) => drop(place.insert(here)),
                btree_map::Entry::Occupied(mut place) => join(place.get_mut(), &here),
            }
        }
        Ok(())
    })?;
    let asked = pointers.values().flat_map(|(variables, asked)| variables.iter().zip(asked));
    let several = asked.filter(|(_, asked)| asked.links.len() > 1).map(|((_, record), _)| *record);
    let unfolded = several.filter(|record| !unbounded.contains(record)).collect();
    Ok((found, unfolded))
}

/// Variables that point to records which point to such records, with the records.
fn pointers_of(
    program: &Program,
    function: &Function,
    links: &dyn Fn(Name) -> Vec<u64>,
) -> Vec<(PointerTo, Asked)> {
    let asked = |(variable, pointer): (Variable, Expr)| {
        let Expr::Load(lvalue) = &pointer else { return None };
        let pointee = lvalue.ty.pointee()?;
        let TypeKind::Record(tag) = pointee.kind() else { return None };
        let links = links(*tag);
        (!links.is_empty()).then_some(((variable, *tag), Asked { pointer, links }))
    };
    variables_of(program, function).into_iter().filter_map(asked).collect()
}

/// What is known if either is the case.
pub(super) fn join(known: &mut Forms, other: &Forms) {
    known.retain(|variable, form| match other.get(variable).and_then(|other| form.join(other)) {
        Some(joined) => {
            *form = joined;
            true
        }
        None => false,
    });
}

/// What two passes say together: what only one says something of is known, too.
fn both(mut one: Found, other: Found) -> Found {
    for (name, places) in other {
        let known = one.entry(name).or_default();
        for (loc, forms) in places {
            let here = known.entry(loc).or_default();
            for (variable, form) in forms {
                match here.entry(variable) {
                    btree_map::Entry::Vacant(place) => drop(place.insert(form)),
                    btree_map::Entry::Occupied(mut place) => {
                        let joined = place.get().and(&form);
                        place.insert(joined);
                    }
                }
            }
        }
    }
    one
}
