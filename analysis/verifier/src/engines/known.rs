//! What is known of all executions before formulas are made: ranges of numbers and bounds of their differences, from one pass of intervals and relations
//! whose reached set was checked again. Engines over formulas take it for granted at loop heads, and share it.
//!
//! Law: an execution from the entry that violates nothing on its way satisfies it wherever it is. So what a solver finds of the states that satisfy it, too,
//! holds of all that are reached.

use std::collections::{BTreeMap, btree_map};

use proofline_cfa::{IntType, Loc, LocalId, Name, Scalar, scalar_of};
use proofline_cpa::{Unknown, bam::Blocks};
use proofline_domains::{
    interval::IntervalValue,
    relation::{Dim, Var, Zone},
    store::Abstract,
};
use proofline_encoding::Encoding;
use proofline_program_analysis::Environment;
use proofline_smt::Term;

use super::{
    Question,
    abstraction::{integer_registers, widen},
};
use crate::pass;

/// What the pass may cost. Where that is not enough, nothing is known.
const STEPS: u64 = 20_000;
/// Differences of one place that are told at most.
const MOST_DIFFERENCES: usize = 40;

/// At one place, for all callers.
#[derive(Clone, Default, Debug)]
struct Here {
    /// Of registers.
    ranges: BTreeMap<LocalId, (i128, i128)>,
    /// `x - y <= most`, as whole numbers.
    zone: Zone,
}

/// Ranges and differences of the registers of a function at its locations.
#[derive(Clone, Default, Debug)]
pub(super) struct Known {
    at: BTreeMap<(Name, Loc), Here>,
}

impl Known {
    pub(super) fn of(question: &Question<'_>) -> Result<Known, Unknown> {
        let Question { subject, entry, .. } = *question;
        // Calls of functions that call themselves would be entered again and again.
        let is_recursive = |name: &Name| subject.env().call_graph().is_recursive(*name);
        let recurses = subject.reachable_from(entry.name).iter().any(is_recursive);
        let blocks = if recurses { Blocks::FUNCTIONS } else { Blocks::NONE };
        let (analysis, certificate) =
            pass::relation_pass(subject, entry, blocks, &question.own_budget(STEPS))?;
        let mut known = Known::default();
        pass::each_location(&certificate, subject.env(), |function, loc, states| {
            let registers = integer_registers(function, subject.program());
            for (state, _) in states {
                let range = |(id, load): &(LocalId, _)| match analysis.0.value_of(&state.0, function, load) {
                    Abstract::Of(IntervalValue::Int(ranges)) => Some((*id, (ranges.lo(), ranges.hi()))),
                    _ => None,
                };
                let mut zone = Zone::clone(&state.1.zone);
                let is_register = |id: LocalId| registers.iter().any(|(other, _)| *other == id);
                zone.retain(|dim| matches!(dim, Dim::Value(Var::Local(id), _) if is_register(id)));
                let here = Here { ranges: registers.iter().filter_map(range).collect(), zone };
                match known.at.entry((function.name, loc)) {
                    btree_map::Entry::Vacant(place) => drop(place.insert(here)),
                    btree_map::Entry::Occupied(mut place) => place.get_mut().join(&here),
                }
            }
            Ok(())
        })?;
        Ok(known)
    }

    /// What is known at a place, of the terms that registers have there.
    pub(super) fn conditions(
        &self,
        encoding: Encoding,
        (function, loc): (Name, Loc),
        term: &dyn Fn(LocalId) -> Option<Term>,
        type_of: &dyn Fn(LocalId) -> Option<IntType>,
    ) -> Vec<Term> {
        let Some(here) = self.at.get(&(function, loc)) else { return Vec::new() };
        let of_range = |(id, (low, high)): (&LocalId, &(i128, i128))| {
            Some(encoding.between(term(*id)?, *low, *high, type_of(*id)?))
        };
        let range = |id: LocalId, ty: IntType| here.ranges.get(&id).copied().unwrap_or((ty.min(), ty.max()));
        let of_difference = |(x, y, most): (Dim, Dim, i128)| {
            let (Dim::Value(Var::Local(x), a), Dim::Value(Var::Local(y), b)) = (x, y) else { return None };
            let follows = range(x, a).1 - range(y, b).0 <= most;
            if follows || x == y || type_of(x)? != a || type_of(y)? != b {
                return None;
            }
            encoding.differ_by(term(x)?, term(y)?, most, (a, b))
        };
        let ranges = here.ranges.iter().filter_map(of_range);
        ranges.chain(here.zone.differences().filter_map(of_difference).take(MOST_DIFFERENCES)).collect()
    }
}

impl Here {
    /// What holds wherever either does.
    fn join(&mut self, other: &Here) {
        widen(&mut self.ranges, &other.ranges);
        self.zone = self.zone.join(&other.zone);
    }
}

/// The type of an integer register.
pub(super) fn int_type(environment: &Environment, function: Name, id: LocalId) -> Option<IntType> {
    let local = environment.function(function)?.local(id);
    match scalar_of(local.ty, environment.program().data_model)? {
        Scalar::Int(ty) => Some(ty),
        Scalar::Pointer | Scalar::Float(_) => None,
    }
}
