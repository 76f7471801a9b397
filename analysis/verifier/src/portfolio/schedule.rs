//! One entry's turn: engines one after the other and, where cores are free, in lanes side by side. Knows what engines answer, not how.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    thread,
    time::Instant,
};

use proofline_cfa::{Entry, Function, Name, ObligationId};
use proofline_cpa::{Budget, Cancel, Unknown};
use proofline_smt::{Reason, worker::take_incident};

use super::{
    Control, Doing, Request, STACK, behind::right_behind, ceiling::Watched, claims, panic_text, promises,
};
use crate::{
    blame::{self, Blame},
    callers_memory, checks,
    counterexample::Counterexample,
    engines::{self, Answer, Decision, Engine, Features, Question, Shared, Targets},
    interpret::{Machine, Script},
    property::targets_of,
    report::{BY_CONTRACTS, Judgement, not_replayed},
    rests_on::{Basis, Known},
    subject::Subject,
    verdict::Verdict,
    wording::Wordings,
};

/// The engine that runs programs.
const REPLAYED_BY: &str = "concrete";
/// Why an obligation is open, told from what it asks: about the memory of callers, about what is left of the heap.
const OF_ITS_KIND: [&str; 2] = [
    "it depends on the memory that callers pass",
    "what earlier calls allocated here and still hold is not known",
];

/// Why an obligation right behind one that fails is open.
const BEHIND: &str = "what stands right before it fails";

/// An engine of the portfolio gets three quarters of the time at most.
const SLICE: (u32, u32) = (3, 4);

/// One entry's question and what is known so far.
#[derive(Clone)]
pub(super) struct Schedule<'r> {
    subject: &'r Subject,
    request: &'r Request,
    entry: Entry,
    control: Control,
    /// Why nothing may be called proved.
    blocked: Option<Unknown>,
    open: Targets,
    /// What else executions may violate, and nobody asks about.
    others: Targets,
    judgement: Judgement,
    /// What engines leave for those that are asked behind them.
    shared: Arc<Shared>,
    /// The most telling reason for what is open.
    reason: Option<Unknown>,
    /// A yes/no question has its answer.
    is_over: bool,
}

/// Whether nobody has looked at the whole program for this question.
fn is_first_of_whole(request: &Request) -> bool {
    !request.round.is_apart && request.round.after.as_ref().is_none_or(|before| before.round.is_apart)
}

impl<'r> Schedule<'r> {
    pub(super) fn new(
        subject: &'r Subject,
        request: &'r Request,
        entry: Entry,
        before: Option<&Judgement>,
        control: &Control,
    ) -> Schedule<'r> {
        let functions = subject.reachable_from(entry.name);
        let concerned = subject.env().concerned(entry);
        let checks = request.property.checks(subject.program());
        let automata = |names: &BTreeSet<Name>| {
            names.iter().filter_map(|name| subject.env().function(*name)).collect::<Vec<_>>()
        };
        let mut called = subject.env().called_from_outside(entry);
        if !called.is_empty() {
            let has_own = |function: &&Function| targets_of(&checks, function).next().is_some();
            let with_targets: BTreeSet<Name> =
                automata(&concerned).into_iter().filter(has_own).map(|function| function.name).collect();
            called.retain(|name| !subject.reachable_from(*name).is_disjoint(&with_targets));
        }
        let open = automata(&functions).into_iter().flat_map(|function| targets_of(&checks, function));
        let open = Targets::new(open);
        let rests_on = subject.assumptions(&concerned);
        let mut schedule = Schedule {
            subject,
            request,
            entry,
            control: control.clone(),
            blocked: subject.unsupported(&concerned),
            open,
            others: Targets::default(),
            judgement: Judgement { rests_on, called_from_outside: called, ..Judgement::default() },
            shared: Arc::new(Shared::new(subject, entry)),
            reason: None,
            is_over: false,
        };
        schedule.take_known(before);
        schedule
    }

    /// About nothing else.
    pub(super) fn about(mut self, targets: Targets) -> Schedule<'r> {
        self.judgement.verdicts.clear();
        (self.open, self.others) = (targets, Targets::default());
        self
    }

    /// What need not be asked.
    fn take_known(&mut self, before: Option<&Judgement>) {
        let round = &self.request.round;
        if round.is_own {
            // What callees ensure is known behind their calls.
            let is_asked = |(function, id): &(Name, ObligationId)| {
                *function == self.entry.name || promises::is_promise(self.subject, (*function, *id))
            };
            let (own, others): (Vec<_>, Vec<_>) = self.open.iter().partition(is_asked);
            (self.open, self.others) = (Targets::new(own), Targets::new(others));
        }
        if let Some(before) = before {
            let known = &mut self.judgement;
            known.counterexamples.clone_from(&before.counterexamples);
            known.decided_by.clone_from(&before.decided_by);
            known.last_engine = before.last_engine;
            known.finished.clone_from(&before.finished);
            for (target, verdict) in &before.verdicts {
                match verdict {
                    Verdict::Proved(_) | Verdict::Violated(_) => {
                        known.verdicts.insert(*target, verdict.clone());
                        self.open.remove(target.0, target.1);
                    }
                    // It is looked at again in the end.
                    Verdict::Unknown(Unknown::IfEnsured(_)) => {
                        known.verdicts.insert(*target, Verdict::Proved(BY_CONTRACTS));
                        self.open.remove(target.0, target.1);
                    }
                    // Why one of them is open need not be why others are.
                    Verdict::Unknown(Unknown::Unconfirmed(why)) if OF_ITS_KIND.contains(&&**why) => {}
                    Verdict::Unknown(why) => self.reason = Some(why.clone()),
                }
            }
            self.is_over = self.request.first_only && !known.counterexamples.is_empty();
        }
        for (target, known) in round.settled.iter() {
            if !self.open.contains(target.0, target.1) {
                continue;
            }
            let verdict = match (known, &self.blocked) {
                (Ok(_), Some(blocked)) => Verdict::Unknown(blocked.clone()),
                (Ok(engine), None) => Verdict::Proved(engine),
                (Err(why), _) => Verdict::Unknown(why.clone()),
            };
            self.settle(*target, verdict);
        }
    }

    /// Runs what is said to fail, and asks these engines.
    pub(super) fn run_claimed(mut self, failures: &[Counterexample], engines: &[&str]) -> Judgement {
        if self.open.is_empty() && self.judgement.verdicts.is_empty() {
            self.judgement.reason = self.blocked;
            return self.judgement;
        }
        for claimed in failures {
            let target = (claimed.function, claimed.obligation);
            let is_asked = claimed.entry == self.entry && self.open.contains(target.0, target.1);
            if self.is_done() || !is_asked || claimed.steps > claims::MOST_STEPS {
                continue;
            }
            if claimed.replay(self.subject.code()).is_some() {
                self.violated(target, claimed.clone(), REPLAYED_BY);
            }
        }
        if !self.is_done() {
            self.sequence(engines);
        }
        self.finish()
    }

    /// Asks the engines that the request names, or the portfolio.
    pub(super) fn run(mut self) -> Judgement {
        if self.open.is_empty() && self.judgement.verdicts.is_empty() {
            self.judgement.reason = self.blocked;
            return self.judgement;
        }
        self.replay();
        if self.is_done() {
            return self.finish();
        }
        let lanes = engines::side_by_side();
        if !self.request.engines.is_empty() {
            let named: Vec<&str> = self.request.engines.iter().map(String::as_str).collect();
            self.sequence(&named);
        } else {
            let features = Features::of(self.subject, self.entry);
            let portfolio = engines::portfolio_of(&features);
            let brief = engines::before_contracts(&features);
            let is_last = |name: &&str| lanes.iter().any(|lane| lane.contains(name));
            let (last, first): (Vec<&str>, Vec<&str>) = portfolio.iter().partition(|name| is_last(name));
            let cut = self.in_slices(&first, &brief);
            if self.is_open_behind_failures_only() {
                return self.finish();
            }
            if self.control.threads < 2 || lanes.len() < 2 {
                self.sequence(&last);
            } else if !self.is_done() {
                self.side_by_side(lanes);
            }
            self.sequence(&cut);
        }
        self.finish()
    }

    /// Where time is limited, none of these engines keeps the others waiting for all of it: each gets a slice. Those that had not come to their end by
    /// then. For what stands right behind what fails, only `brief` ones are asked.
    fn in_slices<'e>(&mut self, names: &[&'e str], brief: &[&str]) -> Vec<&'e str> {
        let whole = self.control.deadline;
        let share = whole.map(|end| end.saturating_duration_since(Instant::now()) * SLICE.0 / SLICE.1);
        let mut cut = Vec::new();
        for name in names {
            if !brief.contains(name) && self.is_open_behind_failures_only() {
                break;
            }
            self.control.deadline = whole.zip(share).map(|(end, share)| (Instant::now() + share).min(end));
            self.sequence(&[name]);
            if !self.is_done() && self.control.is_late() {
                cut.push(*name);
            }
            self.control.deadline = whole;
        }
        cut
    }

    /// The obligations right behind those that fail.
    fn behind_failures(&self) -> BTreeSet<(Name, ObligationId)> {
        let failed =
            self.judgement.verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Violated(_)));
        let behind = failed.filter_map(|((name, id), _)| {
            let function = self.subject.program().function(*name)?;
            Some(right_behind(function, *id).into_iter().map(move |id| (*name, id)))
        });
        behind.flatten().collect()
    }

    /// Whether nothing else is open than what stands right behind what fails.
    fn is_open_behind_failures_only(&self) -> bool {
        let behind = self.behind_failures();
        !self.is_done() && self.open.iter().all(|target| behind.contains(&target))
    }

    /// What is known at the end.
    fn finish(mut self) -> Judgement {
        let is_late = self.control.is_late();
        let reason = match &self.blocked {
            Some(blocked) => blocked.clone(),
            None if is_late => Unknown::OutOfTime,
            None => self.reason.clone().unwrap_or(Unknown::OutOfBudget),
        };
        if !self.is_over {
            let [by_callers, earlier] = OF_ITS_KIND.map(|why| Unknown::Unconfirmed(why.into()));
            let plain = self.open.without_memory(self.subject);
            let behind = self.behind_failures();
            for target in self.open.iter() {
                let is_callers = self.entry.is_library() && !plain.contains(target.0, target.1);
                let of_theirs = || {
                    let env = self.subject.env();
                    callers_memory::is_asked(env, target.0, target.1, &callers_memory::is_of_an_object)
                };
                let why = match is_callers {
                    true if self.is_leak(target) => earlier.clone(),
                    true if of_theirs() => by_callers.clone(),
                    false if behind.contains(&target) && !is_late && self.blocked.is_none() => {
                        Unknown::Unconfirmed(BEHIND.into())
                    }
                    true | false => reason.clone(),
                };
                self.judgement.verdicts.insert(target, Verdict::Unknown(why));
            }
        }
        let functions = self.subject.reachable_from(self.entry.name);
        let known = Known { verdicts: &self.judgement.verdicts, others: &self.others };
        let basis = Basis::of(self.subject, &self.request.property, &functions, known);
        self.judgement.rests_on.extend(basis.texts);
        self.judgement.resting = basis.resting;
        self.judgement
    }

    /// Runs that failed in an older text are run again before any engine is asked. Where such a run still fails, the violation is as good as
    /// the one that engines would find: the function's own, whoever calls it. Otherwise, it is left to them.
    fn replay(&mut self) {
        let request = self.request;
        let is_first = is_first_of_whole(request) && request.under.is_empty() && !request.first_only;
        let Some(summaries) = self.subject.summaries().filter(|_| is_first) else { return };
        let failures = summaries.failures(self.entry.name);
        if failures.is_empty() {
            return;
        }
        let code = self.subject.code();
        for failure in failures {
            if self.is_done() || self.control.cancel.is_cancelled() {
                break;
            }
            let budget = Budget::steps(u64::MAX)
                .with_cancel(self.control.cancel.clone())
                .with_deadline(self.control.deadline);
            let limits = failure.limits();
            let script = Script::new(failure.inputs);
            let run = Machine::new(code, script, limits).with_budget(&budget).run(self.entry);
            let Some(found) = Counterexample::of(&run, self.entry, &self.open) else { continue };
            if self.is_no_callers_matter(&found) {
                self.violated((found.function, found.obligation), found, REPLAYED_BY);
            }
        }
    }

    /// Whether a failure is shown as an error, and not as a condition on callers.
    fn is_no_callers_matter(&self, found: &Counterexample) -> bool {
        let program = self.subject.program();
        let Some(run) = found.replay(self.subject.code()) else { return false };
        let function = program.function(found.function);
        let Some(obligation) = function.and_then(|f| f.obligations.get(found.obligation.index())) else {
            return false;
        };
        if !self.entry.is_library() {
            return true;
        }
        let (blame, is_unconditional) =
            blame::judge(self.subject, &Wordings::new(&|_| None), &run, obligation);
        blame == Blame::Manifest && (is_unconditional || !self.request.round.is_own)
    }

    fn is_leak(&self, (function, obligation): (Name, ObligationId)) -> bool {
        let function = self.subject.program().function(function);
        let obligation = function.and_then(|function| function.obligations.get(obligation.index()));
        obligation.is_some_and(|obligation| checks::memory_leak::CHECK.id() == obligation.check)
    }

    fn is_done(&self) -> bool {
        self.is_over || self.open.is_empty()
    }

    fn say(&self, engines: String) {
        self.control.say(|| Doing { entry: self.entry.name, open: self.open.len(), engines });
    }

    fn sequence(&mut self, names: &[&str]) {
        for engine in names.iter().filter_map(|name| engines::by_name(name)) {
            let is_useless = self.blocked.is_some() && engine.only_proves();
            if is_useless || self.judgement.finished.contains(engine.name()) {
                continue;
            }
            // It would see so itself, but only once it has looked at the program.
            if self.control.is_late() {
                break;
            }
            while !self.is_done() {
                self.say(engine.name().to_owned());
                if !self.ask(&*engine) {
                    break;
                }
            }
        }
    }

    /// Every lane for itself; the first that decides everything ends the others. Where several decided the same, the earlier lane counts.
    fn side_by_side(&mut self, lanes: &[Vec<&'static str>]) {
        let all: Vec<String> = lanes.iter().map(|lane| lane.join(", ")).collect();
        self.say(all.join(" beside "));
        let cancels: Vec<Cancel> = lanes.iter().map(|_| Cancel::default()).collect();
        let ends: Vec<_> = cancels
            .iter()
            .map(|cancel| {
                let cancel = cancel.clone();
                self.control.cancel.on_cancel(move || cancel.cancel())
            })
            .collect();
        let run = |at: usize| {
            let mut lane = self.clone();
            lane.control.cancel = cancels[at].clone();
            lane.control.progress = None;
            lane.sequence(&lanes[at]);
            if lane.is_done() {
                cancels.iter().enumerate().filter(|(other, _)| *other != at).for_each(|(_, c)| c.cancel());
            }
            lane
        };
        let results = thread::scope(|scope| {
            let others: Vec<_> = (1..lanes.len())
                .map(|at| {
                    let run = &run;
                    thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run(at))
                })
                .collect();
            let mut results = vec![run(0)];
            for (at, other) in (1..).zip(others) {
                results.push(match other {
                    Ok(handle) => handle.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    // Without a thread it is done here.
                    Err(_) => run(at),
                });
            }
            results
        });
        drop(ends);
        for lane in results {
            self.take(lane);
        }
    }

    /// Adds what a lane found out about what is still open.
    fn take(&mut self, lane: Schedule<'r>) {
        for target in self.open.iter().collect::<Vec<_>>() {
            match lane.judgement.verdicts.get(&target) {
                Some(Verdict::Violated(index)) => {
                    let counterexample = lane.judgement.counterexamples[*index].clone();
                    let by = lane.judgement.last_engine.unwrap_or_default();
                    self.violated(target, counterexample, by);
                }
                Some(Verdict::Proved(by)) => {
                    *self.judgement.decided_by.entry(by).or_default() += 1;
                    self.judgement.last_engine = Some(by);
                    self.settle(target, Verdict::Proved(by));
                }
                Some(Verdict::Unknown(_)) | None => {}
            }
        }
        self.is_over |= lane.is_over;
        // A lane that was stopped has nothing to say about the program.
        if lane.reason != Some(Unknown::Cancelled) || self.control.cancel.is_cancelled() {
            self.reason = lane.reason.or(self.reason.take());
        }
    }

    /// Asks one engine once. Whether it is worth asking again.
    fn ask(&mut self, engine: &dyn Engine) -> bool {
        let asked = self.asked_of(engine);
        if asked.is_empty() {
            return false;
        }
        let decision = self.decision(engine, &asked);
        if engine.decides_each() && is_all(&decision.answer) {
            self.judgement.finished.insert(engine.name());
        }
        for (function, obligation) in decision.proved {
            if self.blocked.is_none() && self.open.contains(function, obligation) {
                self.settle((function, obligation), Verdict::Proved(engine.name()));
                *self.judgement.decided_by.entry(engine.name()).or_default() += 1;
            }
        }
        for found in decision.violated {
            self.check_violated(found, engine.name());
        }
        match decision.answer {
            Answer::Holds(_) if self.blocked.is_none() => {
                for target in
                    asked.iter().filter(|(name, id)| self.open.contains(*name, *id)).collect::<Vec<_>>()
                {
                    self.settle(target, Verdict::Proved(engine.name()));
                }
                *self.judgement.decided_by.entry(engine.name()).or_default() += 1;
                self.judgement.last_engine = Some(engine.name());
                false
            }
            Answer::Holds(_) => false,
            Answer::Violated(counterexample) => {
                self.check_violated(counterexample, engine.name());
                true
            }
            // The time of all is over, or only its own: that is said in the end.
            Answer::Unknown(Unknown::OutOfTime) => false,
            Answer::Unknown(why) => {
                // The last engine's reason is the most telling one, except that it ran out of steps or had nothing to look at. That the solver
                // ended stays: without that, an engine might have decided it.
                let ended = |why: &Unknown| matches!(why, Unknown::OutOfMemory | Unknown::SolverStopped);
                let tells_little = matches!(why, Unknown::OutOfBudget | Unknown::NotApplicable(_));
                if self.reason.is_none() || !tells_little && !self.reason.as_ref().is_some_and(ended) {
                    self.reason = Some(why);
                }
                false
            }
        }
    }

    /// What an engine is asked: what it knows of, and nothing that keeps it from deciding the rest.
    fn asked_of(&self, engine: &dyn Engine) -> Targets {
        if engine.knows_memory() && engine.decides_each() {
            return self.open.clone();
        }
        let rest = self.open.without_memory(self.subject);
        if rest.is_empty() && engine.knows_memory() { self.open.clone() } else { rest }
    }

    /// A defect of ours while one engine works must not take the rest down.
    fn decision(&self, engine: &dyn Engine, targets: &Targets) -> Decision {
        let watched = self.control.ceiling.and_then(|ceiling| Watched::begin(ceiling, &self.control.cancel));
        let cancel = watched.as_ref().map_or(&self.control.cancel, |watched| &watched.cancel);
        let budget = Budget::steps(self.request.steps)
            .with_cancel(cancel.clone())
            .with_deadline(self.control.deadline);
        let Schedule { subject, entry, .. } = *self;
        let first_only = self.request.first_only;
        let question =
            Question { subject, entry, targets, first_only, budget: &budget, shared: &self.shared };
        let is_full = || watched.as_ref().is_some_and(Watched::is_reached);
        let decide = || ended_by_memory(ended_by_the_solver(engine.decide(&question)), &is_full);
        drop(take_incident());
        let began = Instant::now();
        let decision = catch_unwind(AssertUnwindSafe(decide));
        if let Some(asked) = &self.control.asked {
            let depth = decision.as_ref().ok().and_then(|decision| decision.depth);
            asked(engine.name(), began.elapsed(), depth);
        }
        decision.unwrap_or_else(|panic| {
            if panic.downcast_ref::<&str>().is_none() && panic.downcast_ref::<String>().is_none() {
                // Not a message: a caller unwinds us on purpose.
                resume_unwind(panic);
            }
            Decision::new(Answer::Unknown(Unknown::InternalError(panic_text(&*panic))))
        })
    }

    /// What an engine found, if it is found again.
    fn check_violated(&mut self, found: Counterexample, by: &'static str) {
        let target = (found.function, found.obligation);
        match found.replay(self.subject.code()) {
            Some(_) => self.violated(target, found, by),
            None => self.settle(target, Verdict::Unknown(not_replayed())),
        }
    }

    fn violated(&mut self, target: (Name, ObligationId), found: Counterexample, by: &'static str) {
        self.judgement.counterexamples.push(found);
        let index = self.judgement.counterexamples.len() - 1;
        self.settle(target, Verdict::Violated(index));
        *self.judgement.decided_by.entry(by).or_default() += 1;
        self.judgement.last_engine = Some(by);
        self.is_over |= self.request.first_only;
    }

    fn settle(&mut self, target: (Name, ObligationId), verdict: Verdict) {
        self.open.remove(target.0, target.1);
        self.judgement.verdicts.insert(target, verdict);
    }
}

/// Whether more steps would not change what an engine says.
fn is_all(answer: &Answer) -> bool {
    match answer {
        Answer::Holds(_) => true,
        // It is asked about the rest.
        Answer::Violated(_) => false,
        Answer::Unknown(why) => match why {
            Unknown::NotApplicable(_)
            | Unknown::Unsupported(_)
            | Unknown::NoProgress(_)
            | Unknown::Unconfirmed(_) => true,
            Unknown::Cancelled
            | Unknown::OutOfBudget
            | Unknown::OutOfMemory
            | Unknown::SolverStopped
            | Unknown::OutOfTime
            | Unknown::IfCallersKeep
            | Unknown::IfEnsured(_)
            | Unknown::InternalError(_) => false,
        },
    }
}

/// Where an engine decides nothing because it took too much memory, that is the reason.
fn ended_by_memory(mut decision: Decision, is_full: &dyn Fn() -> bool) -> Decision {
    if let Answer::Unknown(why @ (Unknown::Cancelled | Unknown::OutOfBudget)) = &mut decision.answer
        && is_full()
    {
        *why = Unknown::OutOfMemory;
    }
    decision
}

/// Where an engine decides nothing and the solver ended in the middle of its work, that is the reason.
fn ended_by_the_solver(mut decision: Decision) -> Decision {
    if let Answer::Unknown(why) = &mut decision.answer
        && *why != Unknown::Cancelled
    {
        match take_incident() {
            Some(Reason::Memory) => *why = Unknown::OutOfMemory,
            Some(_) => *why = Unknown::SolverStopped,
            None => {}
        }
    }
    decision
}
