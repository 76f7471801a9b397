//! Verdicts of the executions from one entry, with the effort the caller allows.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use proofline_db::Database;
use proofline_verifier::{
    Cancel, Entry, EntryKind, Name, Unknown,
    blame::Blame,
    portfolio::{
        Control, Listener, Programs as _, Request, Round, Rounds, check_entry, entry_in_rounds,
        function_alone, function_of_wide, panic_text, program_in_rounds,
    },
    report::{Kept, Report},
    verdict,
};

use crate::{
    cancel::{Cancellable, Cancelled},
    finding::Finding,
    place::{Place, Range},
    program::Program,
    settings::Settings,
    words,
};

/// How hard to try. Verdicts are a function of the text, the settings and this, unless a time limit of the settings ends the work first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Steps per engine and question; rounds may allow fewer.
    pub steps: u64,
    /// How far to go. Engines that the settings name are asked after the first round.
    pub rounds: Rounds,
}

impl Effort {
    /// For the moment after an edit.
    pub fn quick(steps: u64) -> Effort {
        Effort { steps, rounds: Rounds::Cheap }
    }

    /// What everything is asked after that.
    pub fn brief(steps: u64) -> Effort {
        Effort { steps, rounds: Rounds::Brief }
    }

    /// All that is asked if nobody asks for more.
    pub fn full(steps: u64) -> Effort {
        Effort { steps, rounds: Rounds::All }
    }

    /// All there is.
    pub fn most(steps: u64) -> Effort {
        Effort { steps, rounds: Rounds::Portfolio }
    }

    /// What comes after this, unless somebody asks for more.
    pub fn next(self) -> Option<Effort> {
        match self.rounds {
            Rounds::Cheap => Some(Effort::brief(self.steps)),
            Rounds::Brief => Some(Effort::full(self.steps)),
            Rounds::All | Rounds::Portfolio => None,
        }
    }
}

/// What is known about an obligation; a violation names its finding's id.
pub type Verdict = verdict::Verdict<String>;

/// An obligation with its verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obligation {
    /// The check's code.
    pub check: &'static str,
    /// What must hold.
    pub text: Name,
    /// Where.
    pub place: Option<Place>,
    /// What is known.
    pub verdict: Verdict,
}

/// What is known about the executions from one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryReport {
    /// The function they start in.
    pub entry: String,
    /// What a failure means.
    pub kind: EntryKind,
    /// Obligations of the functions it decides, in the order of the automata. A function without obligations has none.
    pub functions: BTreeMap<String, Vec<Obligation>>,
    /// Why nothing can be proved of executions from here, whatever is asked.
    pub reason: Option<String>,
    /// Violations.
    pub findings: Vec<Finding>,
    /// What proofs rest on besides the text.
    pub rests_on: Vec<String>,
    /// Functions with something proved for the executions only that do not fail before, where it is not proved that none does.
    pub resting: BTreeSet<String>,
    /// Functions that are proved, if their callers keep a contract that is not empty.
    pub contracts: BTreeMap<String, Kept>,
    /// What is wrong with contracts in the text, by function.
    pub contract_problems: BTreeMap<String, Vec<String>>,
    /// Nothing is left undecided, so that more effort is useless.
    pub is_settled: bool,
    /// What had failed from here in older texts was run again: a failure of then that is not among the findings is none any more.
    pub is_replayed: bool,
    /// Milliseconds the computation took when it was made.
    pub millis: u64,
}

impl EntryReport {
    /// Defects of ours that kept something from being decided, each once.
    pub fn internal_errors(&self) -> BTreeSet<&str> {
        let verdicts = self.functions.values().flatten().map(|obligation| &obligation.verdict);
        verdicts
            .filter_map(|verdict| match verdict {
                Verdict::Unknown(Unknown::InternalError(why)) => Some(why.as_str()),
                Verdict::Proved(_) | Verdict::Unknown(_) | Verdict::Violated(_) => None,
            })
            .collect()
    }

    /// Where the obligations of a function are.
    pub fn ranges(&self, function: &str) -> impl Iterator<Item = Range> {
        self.functions.get(function).into_iter().flatten().filter_map(|o| o.place.as_ref().map(|p| p.range))
    }
}

pub(crate) fn verify(
    program: &Program,
    db: &Database,
    entry: &str,
    settings: &Settings,
    effort: &Effort,
    cancel: &Cancel,
    progress: Arc<Listener>,
) -> Cancellable<Arc<EntryReport>> {
    let Some(plan) = program.entries().iter().find(|e| e.name == entry) else { return Err(Cancelled) };
    let rounds = effort.rounds;
    let is_in_rounds = settings.engines.is_empty() || rounds == Rounds::Cheap;
    let (Some(code), Some(sources)) = (program.prepared(), program.sources()) else {
        return Err(Cancelled);
    };
    let name = Name::new(entry);
    let request = Request {
        property: settings.property.clone(),
        engines: if is_in_rounds { Vec::new() } else { settings.engines.clone() },
        steps: effort.steps,
        first_only: false,
        round: Round::default(),
        under: Arc::default(),
    };
    let control = Control {
        cancel: cancel.clone(),
        deadline: settings.deadline(),
        progress: Some(progress),
        threads: 1,
        // The server looks after the memory of all its work together.
        ceiling: None,
        found: None,
        asked: None,
    };
    // Nobody else says anything of some functions of large libraries.
    let is_wide = plan.is_alone && program.deciding(entry).all(|entry| entry.is_alone);
    // Engines are guarded inside; this guards what is around them.
    let ask = || match () {
        () if is_wide => function_of_wide(db, &request, name, rounds, &control),
        () if plan.is_alone => function_alone(db, &request, name, rounds, &control),
        () if !is_in_rounds => check_entry(db, &request, Entry::new(name), &control),
        () if plan.kind == EntryKind::Library => {
            entry_in_rounds(db, &request, Entry::new(name), rounds, &control)
        }
        () => program_in_rounds(db, &request, Entry::new(name), rounds, &control),
    };
    // What failed in an older text is run again in the first round.
    let is_brief =
        plan.is_alone && rounds == Rounds::Cheap && db.stands_apart(name).map_err(|_| Cancelled)?;
    let is_replayed = settings.engines.is_empty() && !is_brief && db.has_failures(name);
    let outcome = catch_unwind(AssertUnwindSafe(ask));
    let mut report = match outcome {
        Ok(Ok(report)) => report,
        Ok(Err(_)) => return Err(Cancelled),
        Err(panic) => Report::nothing(Unknown::InternalError(panic_text(&*panic))),
    };
    if cancel.is_cancelled() {
        return Err(Cancelled);
    }
    db.save_now_and_then();
    let millis = db.millis(name);
    let mut functions: BTreeMap<String, Vec<Obligation>> =
        plan.decides.iter().map(|name| (name.to_string(), Vec::new())).collect();
    let findings: Vec<Finding> = report.findings.iter().map(Finding::new).collect();
    if plan.is_alone
        && let Some(automaton) = code.functions.get(&name)
    {
        // What is not known for all callers is known where they are.
        let asked = program.asked_of(automaton);
        let open = || verdict::Verdict::Unknown(Unknown::Unconfirmed("it depends on the callers".into()));
        for target in asked.iter() {
            report.verdicts.entry(target).or_insert_with(open);
        }
    }
    let mut is_settled = report.reason.is_none() && !(plan.is_alone && report.resting.contains(&name));
    // What callers must see to may stand in a contract, which the last round reads.
    if !plan.is_alone && rounds < Rounds::All && report.findings.iter().any(|f| f.blame != Blame::Manifest) {
        is_settled &= db.annotation(name).map_err(|_| Cancelled)?.is_none();
    }
    for ((function, id), verdict) in &report.verdicts {
        let Some(list) = functions.get_mut(function.as_str()) else { continue };
        let Some(automaton) = code.functions.get(function) else { continue };
        let Some(obligation) = automaton.obligations.get(id.index()) else { continue };
        let verdict = match verdict {
            verdict::Verdict::Proved(engine) => Verdict::Proved(engine),
            verdict::Verdict::Violated(index) => match findings.get(*index) {
                Some(finding) => Verdict::Violated(finding.id.clone()),
                None => Verdict::Unknown(Unknown::InternalError("a finding is missing".into())),
            },
            verdict::Verdict::Unknown(why) => Verdict::Unknown(why.clone()),
        };
        is_settled &= matches!(
            verdict,
            Verdict::Proved(_) | Verdict::Violated(_) | Verdict::Unknown(Unknown::IfCallersKeep)
        );
        list.push(Obligation {
            check: obligation.check.code(),
            text: obligation.text,
            place: sources.position(*function, obligation.site).as_ref().map(Place::of),
            verdict,
        });
    }
    if let Some(Unknown::InternalError(why)) = &report.reason {
        for list in functions.values_mut() {
            list.push(Obligation {
                check: "internal-error",
                text: Name::new(why),
                place: None,
                verdict: Verdict::Unknown(Unknown::InternalError(why.clone())),
            });
        }
    }
    Ok(Arc::new(EntryReport {
        entry: entry.to_owned(),
        kind: plan.kind,
        reason: report.reason.as_ref().map(|why| words::why(why).reason),
        functions,
        // A library entry also runs into what `main` decides; that is told from `main`.
        findings: findings
            .into_iter()
            .filter(|finding| plan.decides.contains(&Name::new(&finding.function)))
            .collect(),
        rests_on: report.rests_on.iter().cloned().collect(),
        contracts: report
            .kept
            .iter()
            .filter(|(_, kept)| !kept.contract.is_empty())
            .map(|(name, kept)| (name.to_string(), kept.clone()))
            .collect(),
        contract_problems: report
            .contract_problems
            .iter()
            .map(|(name, all)| (name.to_string(), all.clone()))
            .collect(),
        resting: report.resting.iter().map(ToString::to_string).collect(),
        is_settled,
        is_replayed,
        millis,
    }))
}
