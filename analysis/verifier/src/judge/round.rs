//! One entry's turn: engines one after the other and, where cores are free, in lanes side by side. Knows what engines answer, not how.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use proofline_cfa::{Name, ObligationId};
use proofline_cpa::{Budget, Cancel, Unknown};

use super::{Report, Request, Verdict, panic_text};
use crate::{
    engines::{self, Answer, Decision, Engine, Targets},
    finding::Finding,
    load::Loaded,
};

/// Lanes work on deeply nested programs, too.
const STACK: usize = 1 << 29;

/// Who asks what about which obligations, and what is known so far.
#[derive(Clone)]
pub(super) struct Round<'r> {
    loaded: &'r Loaded,
    request: Request,
    entry: Name,
    /// Why nothing may be called proved.
    blocked: Option<&'r Unknown>,
    open: Targets,
    report: Report,
    /// The most telling reason for what is open.
    reason: Option<Unknown>,
    /// A yes/no question has its answer.
    is_over: bool,
}

impl<'r> Round<'r> {
    pub(super) fn new(
        loaded: &'r Loaded,
        request: &Request,
        entry: Name,
        open: Targets,
        blocked: Option<&'r Unknown>,
    ) -> Round<'r> {
        let report = Report { entries: vec![entry], ..Report::default() };
        Round { loaded, request: request.clone(), entry, blocked, open, report, reason: None, is_over: false }
    }

    /// Asks the engines that the request names, or the portfolio.
    pub(super) fn run(&mut self, progress: &mut dyn FnMut(&str)) {
        if self.open.is_empty() {
            self.report.reason = self.blocked.cloned();
            return;
        }
        if !self.request.engines.is_empty() {
            let named = self.request.engines.clone();
            return self.sequence(&named.iter().map(String::as_str).collect::<Vec<_>>(), progress);
        }
        let lanes = engines::side_by_side();
        if self.request.threads < 2 || lanes.len() < 2 {
            return self.sequence(engines::portfolio(), progress);
        }
        let first: Vec<&str> = engines::portfolio()
            .iter()
            .copied()
            .filter(|name| !lanes.iter().any(|lane| lane.contains(name)))
            .collect();
        self.sequence(&first, progress);
        if !self.is_done() {
            self.side_by_side(lanes, progress);
        }
    }

    /// What is known at the end.
    pub(super) fn finish(mut self) -> Report {
        let reason = self.blocked.cloned().or(self.reason).unwrap_or(Unknown::OutOfBudget);
        if !self.is_over {
            for target in self.open.iter() {
                self.report.verdicts.insert(target, Verdict::Unknown(reason.clone()));
            }
        }
        self.report
    }

    fn is_done(&self) -> bool {
        self.is_over || self.open.is_empty()
    }

    fn sequence(&mut self, names: &[&str], progress: &mut dyn FnMut(&str)) {
        for engine in names.iter().filter_map(|name| engines::by_name(name)) {
            while !self.is_done() {
                progress(&format!(
                    "{}: {} ({} obligations open)",
                    self.entry,
                    engine.name(),
                    self.open.len()
                ));
                if !self.ask(&*engine) {
                    break;
                }
            }
        }
    }

    /// Every lane for itself; the first that decides everything ends the others. Where several decided the same, the earlier lane counts.
    fn side_by_side(&mut self, lanes: &[Vec<&'static str>], progress: &mut dyn FnMut(&str)) {
        let all: Vec<String> = lanes.iter().map(|lane| lane.join(", ")).collect();
        progress(&format!("{}: {} ({} obligations open)", self.entry, all.join(" beside "), self.open.len()));
        let cancels: Vec<Cancel> = lanes.iter().map(|_| Cancel::default()).collect();
        let ends: Vec<_> = cancels
            .iter()
            .map(|cancel| {
                let cancel = cancel.clone();
                self.request.cancel.on_cancel(move || cancel.cancel())
            })
            .collect();
        let run = |at: usize| {
            let mut lane = self.clone();
            lane.request.cancel = cancels[at].clone();
            lane.sequence(&lanes[at], &mut |_| ());
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
    fn take(&mut self, lane: Round<'r>) {
        for target in self.open.iter().collect::<Vec<_>>() {
            match lane.report.verdicts.get(&target) {
                Some(Verdict::Violated(index)) => {
                    let finding = lane.report.findings[*index].clone();
                    let by = lane.report.last_engine.unwrap_or_default();
                    self.violated(target, finding, by);
                }
                Some(Verdict::Proved(by)) => {
                    *self.report.decided_by.entry(by).or_default() += 1;
                    self.report.last_engine = Some(by);
                    self.settle(target, Verdict::Proved(by));
                }
                Some(Verdict::Unknown(_)) | None => {}
            }
        }
        self.is_over |= lane.is_over;
        // A lane that was stopped has nothing to say about the program.
        if lane.reason != Some(Unknown::Cancelled) || self.request.cancel.is_cancelled() {
            self.reason = lane.reason.or(self.reason.take());
        }
    }

    /// Asks one engine once. Whether it is worth asking again.
    fn ask(&mut self, engine: &dyn Engine) -> bool {
        let decision = self.decision(engine);
        for (function, obligation) in decision.proved {
            if self.blocked.is_none() && self.open.contains(function, obligation) {
                self.settle((function, obligation), Verdict::Proved(engine.name()));
                *self.report.decided_by.entry(engine.name()).or_default() += 1;
            }
        }
        match decision.answer {
            Answer::Holds(_) if self.blocked.is_none() => {
                for target in self.open.iter().collect::<Vec<_>>() {
                    self.settle(target, Verdict::Proved(engine.name()));
                }
                *self.report.decided_by.entry(engine.name()).or_default() += 1;
                self.report.last_engine = Some(engine.name());
                false
            }
            Answer::Holds(_) => false,
            Answer::Violated(counterexample) => {
                let target = (counterexample.function, counterexample.obligation);
                match Finding::explain(self.loaded, counterexample) {
                    Some(finding) => self.violated(target, finding, engine.name()),
                    None => {
                        let why = Unknown::InternalError("a counterexample could not be replayed".into());
                        self.settle(target, Verdict::Unknown(why));
                    }
                }
                true
            }
            Answer::Unknown(why) => {
                // The last engine's reason is the most telling one, except that it ran out of time.
                if self.reason.is_none() || why != Unknown::OutOfBudget {
                    self.reason = Some(why);
                }
                false
            }
        }
    }

    /// A defect of ours while one engine works must not take the rest down.
    fn decision(&self, engine: &dyn Engine) -> Decision {
        let budget = Budget::steps(self.request.steps)
            .with_cancel(self.request.cancel.clone())
            .with_deadline(self.request.deadline);
        let decide = || engine.decide(self.loaded, self.entry, &self.open, &budget);
        catch_unwind(AssertUnwindSafe(decide)).unwrap_or_else(|panic| {
            if panic.downcast_ref::<&str>().is_none() && panic.downcast_ref::<String>().is_none() {
                // Not a message: somebody above unwinds us on purpose.
                resume_unwind(panic);
            }
            Decision::new(Answer::Unknown(Unknown::InternalError(panic_text(&*panic))))
        })
    }

    fn violated(&mut self, target: (Name, ObligationId), finding: Finding, by: &'static str) {
        self.report.findings.push(finding);
        let index = self.report.findings.len() - 1;
        self.settle(target, Verdict::Violated(index));
        *self.report.decided_by.entry(by).or_default() += 1;
        self.report.last_engine = Some(by);
        self.is_over |= self.request.first_only;
    }

    fn settle(&mut self, target: (Name, ObligationId), verdict: Verdict) {
        self.open.remove(target.0, target.1);
        self.report.verdicts.insert(target, verdict);
    }
}
