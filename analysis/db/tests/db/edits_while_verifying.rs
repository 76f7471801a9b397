//! Edits while both workers verify something hard: the edit goes through, no query returns an interrupted answer, and nothing
//! interrupted is remembered.

use std::{path::Path, sync::mpsc, time::Duration};

use crate::common::{Random, Sketch, check, database, told, units};
use proofline_db::{Stopped, Store};
use proofline_verifier::{
    Cancel, Name,
    portfolio::{self, Control, Request, Round},
    property::Property,
    verdict::against_the_law_of_hints,
};

/// Factoring: the solver is busy with it for as long as it is allowed to.
const HARD: &str = "
extern unsigned input(void);
int main(void) {
    unsigned x = input(), y = input();
    unsigned long n = (unsigned long) x * y;
    if (x > 1 && y > 1 && n == 4294967291UL * KUL) return 1 / (x % 3 == 0 && y % 7 == 5 ? 0 : 1);
    return 0;
}
";

fn text(k: u64) -> String {
    HARD.replace("KUL", &format!("{}UL", 1000003 + 2 * k))
}

fn question() -> Request {
    let engines = ["concrete", "horn", "bounded"].map(str::to_owned).to_vec();
    Request {
        property: Property::Everything,
        engines,
        steps: 1_000_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

#[test]
fn an_edit_stops_the_work_and_the_next_answer_is_fresh() {
    let file = Path::new("/db/hard.c");
    let easy = "int main(void) { int x = 3; return 6 / x; }\n";
    let mut db = database(&[(file.to_path_buf(), text(0))]);
    let mut random = Random(1);
    for round in 1..12 {
        let (results, outcomes) = mpsc::channel();
        for _ in 0..2 {
            let (db, results) = (db.clone(), results.clone());
            std::thread::spawn(move || {
                let outcome = portfolio::check(&db, &question(), &[], &Control::default());
                // The handle goes first: the edit waits for it.
                drop(db);
                let _ = results.send(outcome);
            });
        }
        std::thread::sleep(Duration::from_millis(random.below(120)));
        let is_easy = round % 4 == 0;
        db.set_text(file, &if is_easy { easy.to_owned() } else { text(round) });
        for outcome in outcomes.iter().take(2) {
            match outcome {
                Err(Stopped::Edited) => {}
                Err(other) => panic!("round {round}: {other:?}"),
                Ok(report) => assert!(!told(&report).join(" ").contains("cancelled"), "round {round}"),
            }
        }
        if is_easy {
            let report =
                portfolio::check(&db, &question(), &[], &Control::default()).expect("nobody stops it");
            let fresh = database(&[(file.to_path_buf(), easy.to_owned())]);
            assert_eq!(
                told(&report),
                told(&portfolio::check(&fresh, &question(), &[], &Control::default()).expect("nor it"))
            );
        }
    }
}

/// Blocks are recalled by several threads while others compute them, edits stop both wherever they are, and everything goes through one
/// small file that other databases use, too.
#[test]
fn blocks_and_the_disk_survive_edits_at_any_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = || Store::new(folder.path(), 1 << 14);
    let questions = [["intervals"].as_slice(), &["value-bam"], &["concrete", "intervals", "value-bam"]]
        .map(|engines| engines.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>())
        .map(|engines| Request { engines, steps: 3_000, ..question() });
    let mut random = Random(11);
    let mut sketch = Sketch::new(&mut random);
    let mut db = database(&sketch.texts());
    db.set_store(store());
    for round in 0..40 {
        let (results, outcomes) = mpsc::channel();
        for asked in &questions {
            let (db, results, asked) = (db.clone(), results.clone(), asked.clone());
            std::thread::spawn(move || {
                let outcome =
                    portfolio::check(&db, &asked, &[], &Control { threads: 2, ..Control::default() });
                db.save();
                drop(db);
                let _ = results.send(outcome);
            });
        }
        std::thread::sleep(Duration::from_millis(random.below(12)));
        sketch.edit(&mut random);
        let texts = sketch.texts();
        for (path, text) in &texts {
            db.set_text(path, text);
        }
        db.set_files(units(&texts));
        for outcome in outcomes.iter().take(questions.len()) {
            assert!(matches!(outcome, Ok(_) | Err(Stopped::Edited)), "round {round}: {outcome:?}");
        }
        if round % 3 == 0 {
            let asked = &questions[round / 3 % questions.len()];
            let expected = check(&database(&texts), asked).verdicts;
            let fault = against_the_law_of_hints(&check(&db, asked).verdicts, &expected);
            assert_eq!(fault, None, "round {round}");
            let mut other = database(&texts);
            other.set_store(store());
            let fault = against_the_law_of_hints(&check(&other, asked).verdicts, &expected);
            assert_eq!(fault, None, "round {round}, from the disk");
        }
    }
}

/// Bounds of static variables are asked for on the handle of the whole file. An edit that stops this stops nothing that comes later.
#[test]
fn an_edit_stops_no_later_work_on_the_same_handle() {
    let file = Path::new("/db/bounds.c");
    let text = |k: u64| {
        let steps: String = (0..60)
            .map(|n| format!("int step_{n}(int x) {{ for (int i = 0; i < x; i++) {{ if (level < {k} + {n}) level++; else level = 0; }} return level; }}\n"))
            .collect();
        format!("static int level;\n{steps}")
    };
    let entry = Name::new("step_7");
    let mut db = database(&[(file.to_path_buf(), text(1))]);
    let mut random = Random(3);
    let mut stopped = 0;
    for round in 2..14 {
        let (results, outcomes) = mpsc::channel();
        // A clone is the same handle as far as stopping goes.
        let asking = db.clone();
        std::thread::spawn(move || {
            let outcome = asking.begins_within(entry);
            drop(asking);
            let _ = results.send(outcome);
        });
        std::thread::sleep(Duration::from_millis(random.below(40)));
        db.set_text(file, &text(round));
        match outcomes.recv().expect("it ends") {
            Ok(_) => {}
            Err(Stopped::Edited) => stopped += 1,
            Err(other) => panic!("round {round}: {other:?}"),
        }
    }
    assert!(stopped > 0, "no edit came in time");
    let bounds = db.begins_within(entry).expect("nobody stops it");
    assert_eq!(bounds, database(&[(file.to_path_buf(), text(13))]).begins_within(entry).expect("nor it"));
}

#[test]
fn a_cancelled_answer_is_partial_and_not_remembered() {
    let file = Path::new("/db/test.c");
    let db = database(&[(file.to_path_buf(), "int f(int x) { return 1 / (x * x + 1); }\n".to_owned())]);
    let control = Control { cancel: Cancel::default(), ..Control::default() };
    control.cancel.cancel();
    assert!(matches!(
        portfolio::check(&db, &crate::common::question(), &[], &control),
        Err(Stopped::Cancelled)
    ));
    let report =
        portfolio::check(&db, &crate::common::question(), &[], &Control::default()).expect("nobody stops it");
    assert!(!told(&report).join(" ").contains("cancelled"));
}
