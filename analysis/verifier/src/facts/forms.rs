//! What pointers lead to wherever an execution is, said of whole structures: lists and trees, from passes of shapes whose reached sets were checked
//! again. Only where the program makes such structures; each pass may take so many steps, and where one ends early it says nothing.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use proofline_cfa::{Entry, Expr, Function, Loc, Name, Program};
use proofline_cpa::{Budget, Unknown};
use proofline_domains::shape::{Asked, Form, has_linked_heap, has_trees};
use proofline_hir::TypeKind;

use super::{Facts, Variable, variables_of};
use crate::{
    inspect::FOLD,
    pass::{each_location, shape_pass},
    subject::Subject,
};

/// Steps of a pass. Usual programs take some hundreds; whoever hovers waits for it, and what a step costs grows with their number.
const STEPS: u64 = 2_000;

/// What pointers lead to at a location; nothing of pointers that may lead anywhere.
pub type Forms = BTreeMap<Variable, Form>;

/// By function and location.
type Found = BTreeMap<Name, BTreeMap<Loc, Forms>>;

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
    let mut found: Option<Found> = None;
    if has_linked_heap(reached.iter().filter_map(|name| subject.env().function(*name))) {
        for trees in [false, true] {
            // Lists that are linked in both directions might be trees, too: where a pass that folds to lists ends, it has said what there is.
            if trees && (found.is_some() || !has_trees(subject.env())) {
                continue;
            }
            let own = Budget::steps(STEPS.min(budget.left()))
                .with_cancel(budget.cancel().clone())
                .with_deadline(budget.deadline());
            let before = own.left();
            let new = forms(subject, entry, trees, called, &own);
            budget.spend(before - own.left())?;
            found = found.or(new.ok());
        }
    }
    for (name, facts) in &mut facts.functions {
        facts.forms = found.as_mut().map(|found| found.remove(name).unwrap_or_default());
    }
    Ok(())
}

fn forms(
    subject: &Subject,
    entry: Entry,
    trees: bool,
    called: &BTreeSet<Name>,
    budget: &Budget,
) -> Result<Found, Unknown> {
    let (analysis, certificate) = shape_pass(subject, entry, FOLD, trees, budget)?;
    let mut found = Found::new();
    let mut pointers: BTreeMap<Name, (Vec<Variable>, Vec<Asked>)> = BTreeMap::new();
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
            let here: Forms =
                variables.iter().copied().zip(forms).filter_map(|(v, form)| Some((v, form?))).collect();
            match at.entry(loc) {
                btree_map::Entry::Vacant(place) => drop(place.insert(here)),
                btree_map::Entry::Occupied(mut place) => join(place.get_mut(), &here),
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Variables that point to records which point to such records.
fn pointers_of(
    program: &Program,
    function: &Function,
    links: &dyn Fn(Name) -> Vec<u64>,
) -> Vec<(Variable, Asked)> {
    let asked = |(variable, pointer): (Variable, Expr)| {
        let Expr::Load(lvalue) = &pointer else { return None };
        let pointee = lvalue.ty.pointee()?;
        let TypeKind::Record(tag) = pointee.kind() else { return None };
        let links = links(*tag);
        (!links.is_empty()).then_some((variable, Asked { pointer, links }))
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
