//! Passes over everything: an analysis without targets runs to its end, and what it has seen is read location by location. For engines
//! that collect, for facts, and for looking inside. Decides nothing.

use std::{collections::BTreeSet, sync::Arc};

use proofline_cfa::{ContentHash, Entry, Function, Loc, Name, ObligationId};
use proofline_cpa::{
    BlockCpa, Budget, Certificate, CertificateError, Checker, Config, Outcome, Refine, Unknown,
    bam::{Blocks, SummaryStore},
};
use proofline_domains::{Folds, IntervalAnalysis, RelationAnalysis, ShapeAnalysis};
use proofline_program_analysis::Environment;
use proofline_smt::second_eye;

use crate::{
    blocks::{Session, SharedAnalysis},
    checks::Check,
    subject::Subject,
    summaries::{of_intervals, of_relations, of_shapes},
};

/// What a checker is asked: whether an error location of one of these obligations is reachable from an entry. With none it sees everything.
pub(crate) fn reachability(
    env: &Environment,
    entry: Entry,
    config: Config,
    obligations: BTreeSet<(Name, ObligationId)>,
) -> proofline_cpa::Question<'_> {
    proofline_cpa::Question::new(env, entry.name, Check::ids(), config).only(obligations)
}

/// Runs a checker without targets to its end.
///
/// # Errors
/// If the budget ends first.
pub(crate) fn run_to_end<A: BlockCpa + Refine, S: SummaryStore<A>>(
    checker: &mut Checker<'_, A, S>,
    budget: &Budget,
) -> Result<(), Unknown> {
    finished(checker.run(budget))
}

/// That a pass without targets came to its end.
pub(crate) fn finished<W>(outcome: Outcome<W>) -> Result<(), Unknown> {
    match outcome {
        Outcome::Holds => Ok(()),
        Outcome::Unknown(why) => Err(why),
        Outcome::Reaches(_) => Err(Unknown::InternalError("a pass without targets reached one".into())),
    }
}

/// The reached set of a checker that found no target, once more looked at by the certificate's checker. What this costs is not taken from the
/// budget's steps: it is less than what the search has cost.
///
/// # Errors
/// If the time is over, or with a defect of ours if the reached set is no proof.
pub(crate) fn certified<A: BlockCpa + Refine, S: SummaryStore<A>>(
    checker: Checker<'_, A, S>,
    analysis: &A,
    env: &Environment,
    entry: Entry,
    budget: &Budget,
) -> Result<Certificate<A>, Unknown> {
    let certificate = uncertified(checker)?;
    certify(&certificate, analysis, env, entry, budget)?;
    Ok(certificate)
}

/// The same, not looked at yet: it proves nothing.
///
/// # Errors
/// With a defect of ours.
pub(crate) fn uncertified<A: BlockCpa + Refine, S: SummaryStore<A>>(
    checker: Checker<'_, A, S>,
) -> Result<Certificate<A>, Unknown> {
    let verification = checker.into_verification(Outcome::Holds);
    finished(verification.outcome)?;
    verification.certificate.ok_or_else(|| Unknown::InternalError("a proof without a certificate".into()))
}

/// Whether it is a proof.
///
/// # Errors
/// If the time is over, or with a defect of ours if it is none.
pub(crate) fn certify<A: BlockCpa>(
    certificate: &Certificate<A>,
    analysis: &A,
    env: &Environment,
    entry: Entry,
    budget: &Budget,
) -> Result<(), Unknown> {
    let own = Budget::unlimited().with_cancel(budget.cancel().clone()).with_deadline(budget.deadline());
    match second_eye::certifying(|| certificate.verify(analysis, env, entry.name, &own)) {
        Ok(_) => Ok(()),
        Err(CertificateError::Unfinished(why)) => Err(why),
        Err(wrong) => Err(Unknown::InternalError(format!("no certificate: {wrong}"))),
    }
}

/// One pass of intervals over everything that executions from an entry reach: the analysis, and its reached set.
///
/// # Errors
/// If the budget ends first.
pub(crate) fn interval_pass(
    subject: &Subject,
    entry: Entry,
    blocks: Blocks,
    budget: &Budget,
) -> Result<Passed<IntervalAnalysis>, Unknown> {
    let options = subject.interval_options(entry);
    let kept = of_intervals(&options);
    let analysis = IntervalAnalysis::new(subject.env().clone(), options);
    pass(analysis, kept, subject, entry, blocks, budget)
}

/// The same with relations beside intervals.
///
/// # Errors
/// If the budget ends first.
pub(crate) fn relation_pass(
    subject: &Subject,
    entry: Entry,
    blocks: Blocks,
    budget: &Budget,
) -> Result<Passed<(IntervalAnalysis, RelationAnalysis)>, Unknown> {
    let options = subject.interval_options(entry);
    let kept = of_relations(&options);
    let relations = RelationAnalysis::new(subject.env().clone(), entry);
    let both = (IntervalAnalysis::new(subject.env().clone(), options), relations);
    pass(both, kept, subject, entry, blocks, budget)
}

/// One pass of shapes, which inlines calls.
///
/// # Errors
/// If the budget ends first.
pub(crate) fn shape_pass(
    subject: &Subject,
    entry: Entry,
    folds: Folds,
    budget: &Budget,
) -> Result<Passed<ShapeAnalysis>, Unknown> {
    let options = subject.shape_options(entry, Some(folds));
    let kept = of_shapes(&options);
    let analysis = ShapeAnalysis::new(subject.env().clone(), options);
    pass(analysis, kept, subject, entry, Blocks::NONE, budget)
}

/// An analysis with what it has reached.
pub(crate) type Passed<A> = (Arc<A>, Certificate<A>);

fn pass<A: SharedAnalysis + Refine>(
    analysis: A,
    kept: ContentHash,
    subject: &Subject,
    entry: Entry,
    blocks: Blocks,
    budget: &Budget,
) -> Result<Passed<A>, Unknown> {
    let analysis = Arc::new(analysis);
    let config = Config { blocks, cegar: false, certificate: true, ..Config::default() };
    let run = reachability(subject.env(), entry, config, BTreeSet::new());
    let store = Session::new(subject, &analysis, kept, &run, budget);
    let mut checker = Checker::new(&*analysis, &run, None, store)?;
    run_to_end(&mut checker, budget)?;
    let certificate = certified(checker, &*analysis, subject.env(), entry, budget)?;
    Ok((analysis, certificate))
}

/// Reads a reached set: states by location, for all callers.
///
/// # Errors
/// Those of `read`; a place without a frame, which is a defect.
pub(crate) fn each_location<A: BlockCpa>(
    certificate: &Certificate<A>,
    env: &Environment,
    mut read: impl FnMut(&Function, Loc, &[(A::State, A::Precision)]) -> Result<(), Unknown>,
) -> Result<(), Unknown> {
    for abstraction in &certificate.abstractions {
        for (spot, states) in &abstraction.states {
            let Some(context) = abstraction.contexts.get(spot.context.0 as usize) else {
                return Err(Unknown::InternalError("a state without a frame".into()));
            };
            if let Some(function) = env.function(context.function) {
                read(function, spot.loc, states)?;
            }
        }
    }
    Ok(())
}
