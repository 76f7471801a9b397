//! `$/progress`: shown when work takes more than a moment, as a share of the functions, with a way to stop it.

use std::time::{Duration, Instant};

use tower_lsp_server::ls_types::{
    ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport, notification, request,
};

use super::{jobs::Jobs, outbox::Outbox};

/// Work that is shorter is not worth a word.
const SHOW_AFTER: Duration = Duration::from_millis(400);
/// Between two reports.
const EVERY: Duration = Duration::from_millis(400);

/// What the client is told of the work.
#[derive(Default)]
pub(super) struct Progress {
    /// Since when there is work.
    busy: Option<Instant>,
    /// What is shown: its number, and when to report next.
    shown: Option<(u32, Instant)>,
    last: u32,
}

impl Progress {
    /// When to look again.
    pub(super) fn next(&self) -> Option<Instant> {
        match (self.shown, self.busy) {
            (Some((_, next)), _) => Some(next),
            (None, Some(since)) => Some(since + SHOW_AFTER),
            (None, None) => None,
        }
    }

    /// Whether the token is that of what is shown.
    pub(super) fn is(&self, token: &ProgressToken) -> bool {
        self.shown.is_some_and(|(number, _)| *token == name(number))
    }

    /// Looks at the work.
    pub(super) fn look(&mut self, jobs: &Jobs, outbox: &Outbox, share: Option<impl Fn() -> Share>) {
        let now = Instant::now();
        let Some(share) = share.filter(|_| !jobs.is_quiet()) else {
            self.busy = None;
            if let Some((number, _)) = self.shown.take() {
                send(outbox, number, WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
            }
            return;
        };
        let since = *self.busy.get_or_insert(now);
        match &mut self.shown {
            None if now >= since + SHOW_AFTER => {
                self.last += 1;
                let token = name(self.last);
                outbox.request::<request::WorkDoneProgressCreate>(
                    WorkDoneProgressCreateParams { token },
                    |_| None,
                );
                let share = share();
                let begin = WorkDoneProgressBegin {
                    title: "Proofline".into(),
                    cancellable: Some(true),
                    message: Some(message(jobs, share)),
                    percentage: share.percentage(),
                };
                send(outbox, self.last, WorkDoneProgress::Begin(begin));
                self.shown = Some((self.last, now + EVERY));
            }
            Some((number, next)) if now >= *next => {
                let share = share();
                let report = WorkDoneProgressReport {
                    cancellable: Some(true),
                    message: Some(message(jobs, share)),
                    percentage: share.percentage(),
                };
                *next = now + EVERY;
                let number = *number;
                send(outbox, number, WorkDoneProgress::Report(report));
            }
            None | Some(_) => {}
        }
    }
}

fn name(number: u32) -> ProgressToken {
    ProgressToken::String(format!("proofline/{number}"))
}

fn send(outbox: &Outbox, number: u32, value: WorkDoneProgress) {
    let params = ProgressParams { token: name(number), value: ProgressParamsValue::WorkDone(value) };
    outbox.notify::<notification::Progress>(params);
}

/// How many functions have all that will be known of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Share {
    pub(super) done: usize,
    pub(super) all: usize,
}

impl Share {
    fn percentage(self) -> Option<u32> {
        let percentage = (self.done * 100).checked_div(self.all)?;
        u32::try_from(percentage).ok()
    }
}

/// How far the work is, and what the job that runs longest is at.
fn message(jobs: &Jobs, share: Share) -> String {
    let longest = jobs.running().min_by_key(|running| running.since);
    let at = longest.map(|running| running.words()).unwrap_or_default();
    match share.all {
        0 => at,
        all => format!("{} of {all} functions, {at}", share.done),
    }
}
