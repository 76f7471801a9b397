//! How long an edit waits while two threads verify the given files: `edit_latency EDITS FILE…`. Prints the distribution over all files.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proofline_db::Database;
use proofline_verifier::{
    Cancel,
    load::Options,
    portfolio::{self, Control, Doing, Request, Round},
    property::Property,
};

/// Waits that are worth a line.
const LONG: Duration = Duration::from_millis(50);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let edits: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut waits: Vec<Duration> = Vec::new();
    for file in arguments.map(PathBuf::from) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let mut db = Database::new(vec![file.clone()], Options::default());
        db.set_text(&file, &text);
        for edit in 0..edits {
            let cancel = Cancel::default();
            let doing = Arc::new(Mutex::new(String::new()));
            let wait = std::thread::scope(|scope| {
                for steps in [3_000_000, 3_000_001] {
                    let db = db.clone();
                    let question = Request {
                        property: Property::Everything,
                        engines: Vec::new(),
                        steps,
                        first_only: false,
                        round: Round::default(),
                        under: Arc::default(),
                    };
                    let doing = doing.clone();
                    let progress =
                        move |now: &Doing| *doing.lock() = format!("{}: {}", now.entry, now.engines);
                    let control = Control {
                        cancel: cancel.clone(),
                        progress: Some(Arc::new(progress)),
                        ..Control::default()
                    };
                    let work = move || {
                        let _ = portfolio::check(&db, &question, &[], &control);
                    };
                    let _ = std::thread::Builder::new().stack_size(1 << 29).spawn_scoped(scope, work);
                }
                std::thread::sleep(Duration::from_millis(40 * (edit as u64 % 25)));
                let start = Instant::now();
                // Each edit changes what the program means.
                db.set_text(&file, &format!("{text}\nint edit_{edit}(int x) {{ return x; }}\n"));
                let wait = start.elapsed();
                // Threads that had not begun when the edit came.
                cancel.cancel();
                wait
            });
            if wait > LONG {
                let doing = doing.lock();
                println!("{wait:?} during `{doing}` of {}", file.display());
            }
            waits.push(wait);
        }
    }
    waits.sort();
    let at =
        |share: f64| waits.get(((waits.len() as f64 * share) as usize).min(waits.len().saturating_sub(1)));
    println!("{} edits: median {:?}, 99% {:?}, worst {:?}", waits.len(), at(0.5), at(0.99), waits.last());
}
