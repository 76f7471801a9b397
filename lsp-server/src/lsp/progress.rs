//! `$/progress`: shown when work takes more than a second, with a way to stop it.

use std::time::{Duration, Instant};

use tower_lsp_server::ls_types::{
    ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport, notification, request,
};

use super::{jobs::Jobs, outbox::Outbox};

/// Work that is shorter is not worth a word.
const SHOW_AFTER: Duration = Duration::from_secs(1);
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
    pub(super) fn look(&mut self, jobs: &Jobs, outbox: &Outbox, is_wanted: bool) {
        let now = Instant::now();
        if jobs.is_quiet() || !is_wanted {
            self.busy = None;
            if let Some((number, _)) = self.shown.take() {
                send(outbox, number, WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
            }
            return;
        }
        let since = *self.busy.get_or_insert(now);
        match &mut self.shown {
            None if now >= since + SHOW_AFTER => {
                self.last += 1;
                let token = name(self.last);
                outbox.request::<request::WorkDoneProgressCreate>(
                    WorkDoneProgressCreateParams { token },
                    |_| None,
                );
                let begin = WorkDoneProgressBegin {
                    title: "Proofline".into(),
                    cancellable: Some(true),
                    message: Some(message(jobs)),
                    percentage: None,
                };
                send(outbox, self.last, WorkDoneProgress::Begin(begin));
                self.shown = Some((self.last, now + EVERY));
            }
            Some((number, next)) if now >= *next => {
                let report = WorkDoneProgressReport {
                    cancellable: Some(true),
                    message: Some(message(jobs)),
                    percentage: None,
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

/// What the job that runs longest is at, and how many wait.
fn message(jobs: &Jobs) -> String {
    let longest = jobs.running().min_by_key(|running| running.since);
    let text = longest.map(|running| running.text.clone()).unwrap_or_default();
    match jobs.waiting() {
        0 => text,
        waiting => format!("{text} ({waiting} to come)"),
    }
}
