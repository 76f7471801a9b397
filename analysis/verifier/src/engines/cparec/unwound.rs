//! Programs with their recursion unwound: calls within recursive components call copies of their callee, one for each depth, and deeper calls do not
//! return. What goes wrong in an unwound program goes wrong in the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Callee, Expr, IntType, Name, ObligationId, Op, Program};
use proofline_cpa::{Path, PathStep, Unknown};
use proofline_domains::predicate::{CandidateInputs, PredicatePrecision};
use proofline_program_analysis::Environment;

use super::super::Question;
use crate::subject::Subject;

/// The same inputs of the functions that copies are made of.
pub(super) fn original(candidate: &CandidateInputs, origins: &BTreeMap<Name, Name>) -> CandidateInputs {
    let mut candidate = candidate.clone();
    for ((function, _), _) in &mut candidate.inputs {
        *function = origins.get(function).copied().unwrap_or(*function);
    }
    candidate
}

/// The same path through the functions that copies are made of.
pub(super) fn original_path(path: &Path, origins: &BTreeMap<Name, Name>) -> Path {
    let of = |name: Name| origins.get(&name).copied().unwrap_or(name);
    let steps = path.steps.iter().map(|step| match *step {
        PathStep::Edge(function, edge) => PathStep::Edge(of(function), edge),
        PathStep::Enter { caller, edge, callee } => {
            PathStep::Enter { caller: of(caller), edge, callee: of(callee) }
        }
        PathStep::Leave { callee, caller, edge } => {
            PathStep::Leave { callee: of(callee), caller: of(caller), edge }
        }
    });
    let steps = steps.collect();
    Path { entry: of(path.entry), steps, target: path.target.map(|(name, id)| (of(name), id)) }
}

/// The functions that call themselves, perhaps through others.
///
/// # Errors
/// If one of them is called through a pointer: a pointer to a function does not say which copy it means.
pub(super) fn recursive_functions(subject: &Subject, entry: Name) -> Result<BTreeSet<Name>, Unknown> {
    let graph = subject.env().call_graph();
    let recursive: BTreeSet<Name> =
        graph.reachable([entry]).into_iter().filter(|name| graph.is_recursive(*name)).collect();
    // A pointer to a function does not say which copy it means.
    let through_pointers = subject.program().functions.values().any(|caller| {
        caller.edge_ids().any(|(id, edge)| {
            let Op::Call(call) = &edge.op else { return false };
            let callees = graph.call(caller.name, id).map(|callees| &callees.functions);
            matches!(call.callee, Callee::Indirect(..))
                && callees.is_some_and(|callees| callees.iter().any(|callee| recursive.contains(callee)))
        })
    });
    if through_pointers {
        return Err(Unknown::Unsupported("recursion through a pointer is not unwound".into()));
    }
    Ok(recursive)
}

/// A program with its recursion unwound.
pub(super) struct Unwound {
    pub(super) environment: Arc<Environment>,
    pub(super) targets: BTreeSet<(Name, ObligationId)>,
    /// What each copy is a copy of.
    pub(super) origins: BTreeMap<Name, Name>,
    copies: BTreeMap<Name, Vec<Name>>,
}

/// Begins the depth in the name of a copy.
const DEPTH: char = '%';

impl Unwound {
    pub(super) fn new(question: &Question<'_>, recursive: &BTreeSet<Name>, most: u32) -> Unwound {
        let Question { subject, entry, targets, .. } = *question;
        let graph = subject.env().call_graph();
        let mut program: Program = subject.program().clone();
        let copy = |name: Name, depth: u32| Name::new(&format!("{name}{DEPTH}{depth}"));
        let mut functions = BTreeMap::new();
        let (mut origins, mut copies) = (BTreeMap::new(), BTreeMap::<Name, Vec<Name>>::new());
        for (name, function) in &program.functions {
            let is_copied = recursive.contains(name) && *name != entry.name;
            let depths = if is_copied { 1..=most } else { 0..=0 };
            for depth in depths {
                let mut of_depth = (**function).clone();
                of_depth.name = if is_copied { copy(*name, depth) } else { *name };
                for edge in &mut of_depth.edges {
                    let Op::Call(call) = &mut edge.op else { continue };
                    let Callee::Direct(callee) = &mut call.callee else { continue };
                    if !recursive.contains(callee) {
                        continue;
                    }
                    let stays = graph.component_of(*name) == graph.component_of(*callee);
                    let next = if stays { depth + 1 } else { 1 };
                    if next <= most {
                        *callee = copy(*callee, next);
                    } else {
                        // Deeper calls do not return.
                        edge.op = Op::Assume(Expr::Int(0, IntType::INT));
                    }
                }
                origins.insert(of_depth.name, *name);
                copies.entry(*name).or_default().push(of_depth.name);
                functions.insert(of_depth.name, Arc::new(of_depth));
            }
        }
        program.functions = functions;
        let of_copies = |(name, id): (Name, ObligationId)| {
            copies.get(&name).into_iter().flatten().map(move |copy| (*copy, id))
        };
        let targets = targets.iter().flat_map(of_copies).collect();
        let environment = Environment::entered(program, entry, question.subject.env().is_open());
        Unwound { environment: Arc::new(environment), targets, origins, copies }
    }

    /// Predicates of the program, for every copy.
    pub(super) fn forth(&self, precision: &PredicatePrecision) -> PredicatePrecision {
        let copies = |name: Name| self.copies.get(&name).cloned().unwrap_or_default();
        precision.carried(&copies, &|from, to, variable| match variable.strip_prefix(&format!("{from}::")) {
            Some(local) => format!("{to}::{local}"),
            None => match variable.strip_prefix(&format!("::{from}.")) {
                Some(object) => format!("::{to}.{object}"),
                None => variable.to_owned(),
            },
        })
    }

    /// Predicates of the copies, for what they are copies of.
    pub(super) fn back(&self, precision: &PredicatePrecision) -> PredicatePrecision {
        let origin = |name: Name| self.origins.get(&name).copied().into_iter().collect();
        precision.carried(&origin, &|_, _, variable| {
            let mut parts = variable.split(DEPTH);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
        })
    }
}
