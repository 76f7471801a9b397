//! Invariants of an older text: where Horn clauses were solved before an edit, the formulas of the solution are tried on the clauses of the text
//! as it is now, before anybody looks for new ones. They are matched by what they speak of: loops, calls and variables, by name. Those that do
//! not follow any more are dropped, [Houdini01] and what the others show is proved.
//!
//! What is kept is a hint. Every rule of the program as it is now is checked under it, so whatever comes of it is a proof.

use std::{collections::BTreeMap, fmt};

use proofline_cfa::Name;
use proofline_cpa::Unknown;
use proofline_encoding::MemoryLayout;
use proofline_smt::{
    Sort, Term, Var, build as t,
    horn::{HornSystem, PredId, Solution, argument, inductive},
    logic::conjuncts,
    rewrite::substitute,
    term::{dag_size, free_vars},
    worker::{terms_from_bytes, terms_to_bytes},
};

use super::{
    Answer, Decision, Engine, Question,
    horn::{Built, Clauses, Shape, Taken, UNITS_PER_STEP},
    session::Session,
};

/// A solution whose formulas are larger together is not kept.
const MOST_TERMS: usize = 20_000;

/// Of which question the invariants are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Of {
    /// Where executions start.
    pub(crate) entry: Name,
    /// Nothing is asked of other functions.
    is_own: bool,
    /// The program as it stands is meant, not one that was made from it.
    is_plain: bool,
}

/// Formulas of a solution, by what their predicate is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invariants(BTreeMap<String, Formula>);

/// What the arguments are about, and what holds of them.
#[derive(Clone, Debug)]
struct Formula {
    arguments: Vec<String>,
    formula: Term,
}

/// Checks again what was proved of an older text.
#[derive(Clone, Copy, Debug)]
pub struct OldInvariants {
    /// The solver's own units, for each question.
    pub resource: u32,
}

/// Leaves the invariants to later texts.
pub(super) fn keep(question: &Question<'_>, shape: &Shape, taken: &Taken, solution: &Solution) {
    let Some(summaries) = question.subject.summaries() else { return };
    let mut all = Invariants::default();
    let mut size = 0;
    for (id, (about, arguments)) in (0..).map(PredId).zip(shape) {
        let formula = t::and(taken.get(&id).copied().into_iter().chain([solution.formula(id)]));
        size += dag_size(formula);
        all.0.insert(about.clone(), Formula { arguments: arguments.clone(), formula });
    }
    if size <= MOST_TERMS {
        summaries.set_invariants(of(question), all);
    }
}

fn of(question: &Question<'_>) -> Of {
    let entry = question.entry.name;
    let is_own = question.targets.iter().all(|(function, _)| function == entry);
    Of { entry, is_own, is_plain: question.subject.blocks().is_some() }
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_own { "itself" } else { "all" };
        let program = if self.is_plain { "the program" } else { "a program made from it" };
        write!(f, "invariants about {what} in {program}")
    }
}

impl Invariants {
    /// For other processes.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let about: Vec<(&str, &[String])> =
            self.0.iter().map(|(about, known)| (about.as_str(), &*known.arguments)).collect();
        let formulas: Vec<Term> = self.0.values().map(|known| known.formula).collect();
        postcard::to_stdvec(&(about, terms_to_bytes(&formulas))).ok()
    }

    /// What another process has written; anybody may have.
    pub(crate) fn read(bytes: &[u8]) -> Option<Invariants> {
        let (about, formulas): (Vec<(String, Vec<String>)>, Vec<u8>) = postcard::from_bytes(bytes).ok()?;
        let formulas = terms_from_bytes(&formulas)?;
        let is_right = formulas.len() == about.len() && formulas.iter().all(|term| term.sort() == Sort::Bool);
        let all = about.into_iter().zip(formulas);
        let all = all.map(|((about, arguments), formula)| (about, Formula { arguments, formula }));
        is_right.then(|| Invariants(all.collect()))
    }

    /// What they say of the predicates of another system.
    fn candidates(&self, system: &HornSystem, shape: &Shape) -> Vec<Vec<Term>> {
        let of_predicate = |(predicate, (about, arguments)): (_, &(String, Vec<String>))| {
            let predicate: &proofline_smt::horn::Predicate = predicate;
            let Some(known) = self.0.get(about) else { return Vec::new() };
            let now: BTreeMap<&str, Term> = arguments
                .iter()
                .zip(&predicate.sorts)
                .enumerate()
                .map(|(i, (about, sort))| (about.as_str(), t::var(argument(i, *sort))))
                .collect();
            let translated = |conjunct: Term| {
                let mut map: BTreeMap<Var, Term> = BTreeMap::new();
                for variable in free_vars(conjunct) {
                    let sort = variable.sort;
                    let at = (0..known.arguments.len()).find(|i| argument(*i, sort) == variable)?;
                    let term = *now.get(known.arguments[at].as_str())?;
                    if term.sort() != sort {
                        return None;
                    }
                    map.insert(variable, term);
                }
                Some(substitute(conjunct, &map))
            };
            conjuncts(known.formula).into_iter().filter_map(translated).collect()
        };
        system.predicates.iter().zip(shape).map(of_predicate).collect()
    }
}

impl Engine for OldInvariants {
    fn name(&self) -> &'static str {
        "old-invariants"
    }

    fn decides_each(&self) -> bool {
        true
    }

    fn only_proves(&self) -> bool {
        true
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        self.check(question).unwrap_or_else(|why| Decision::new(Answer::Unknown(why)))
    }
}

impl OldInvariants {
    fn check(&self, question: &Question<'_>) -> Result<Decision, Unknown> {
        let nothing = || Unknown::NotApplicable("nothing was proved of an older text".into());
        let summaries = question.subject.summaries().ok_or_else(nothing)?;
        let of = of(question);
        let other = Of { is_own: !of.is_own, ..of };
        let known = [of, other].into_iter().find_map(|of| summaries.invariants(of)).ok_or_else(nothing)?;
        let budget = question.own_budget(u64::from(self.resource / UNITS_PER_STEP));
        let layout = MemoryLayout::new(question.subject.env()).placing_once(question.subject.env());
        let built = Clauses::build(&Question { budget: &budget, ..*question }, &layout, false, None)?;
        let Built { system, goals, shape, taken } = built;
        let session = Session::new(question.budget)?;
        let limits = Session::limits(self.resource, question.budget);
        let candidates = known.candidates(&system, &shape);
        let found = inductive(&session.z3, &system, candidates, limits)
            .map_err(|reason| Unknown::NotApplicable(format!("nothing of it holds any more: {reason}")))?;
        let is_open = |rule: &usize| !found.goals.contains(rule);
        // Behind a construct that is not understood anything may happen.
        if goals.iter().any(|(rule, goal)| goal.is_none() && is_open(rule)) {
            return Err(nothing());
        }
        let mut proved = question.targets.set().clone();
        for (_, goal) in goals.iter().filter(|(rule, _)| is_open(rule)) {
            if let Some(goal) = goal {
                proved.remove(goal);
            }
        }
        if proved.len() == question.targets.len() {
            keep(question, &shape, &taken, &found.invariants);
            let why = "what was proved of an older text holds still, and was checked again";
            return Ok(Decision::new(Answer::Holds(why.into())));
        }
        let why = "what was proved of an older text does not show it any more";
        Ok(Decision { proved, ..Decision::new(Answer::Unknown(Unknown::NotApplicable(why.into()))) })
    }
}
