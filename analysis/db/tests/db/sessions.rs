//! Random edit sessions: after every edit as much is known as in a fresh database, and nothing else, in memory and from the disk.

use crate::common::{Random, Sketch, check, database, question, told, units};
use proofline_db::Store;
use proofline_verifier::{portfolio::Request, verdict::against_the_law_of_hints};

/// Sessions of the everyday test; `PROOFLINE_SESSIONS` asks for more.
const SESSIONS: u64 = 40;

fn sessions() -> u64 {
    std::env::var("PROOFLINE_SESSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(SESSIONS)
}

/// Engines whose blocks survive edits, the others among them.
fn question_of(seed: u64) -> Request {
    let engines: &[&str] = match seed % 3 {
        0 => return question(),
        1 => &["intervals"],
        _ => &["intervals", "value-bam"],
    };
    Request { engines: engines.iter().map(|name| (*name).to_owned()).collect(), ..question() }
}

#[test]
fn answers_are_those_of_a_fresh_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut reused, mut asked) = (0, 0);
    for seed in 0..sessions() {
        let mut random = Random(seed);
        let mut sketch = Sketch::new(&mut random);
        let mut db = database(&sketch.texts());
        let question = question_of(seed);
        // Half of the sessions compute all that would be recalled, too, and compare.
        if seed / 3 % 2 == 0 {
            db.audit_blocks();
        }
        let mut log = Vec::new();
        for step in 0..5 {
            if step > 0 {
                sketch.edit(&mut random);
            }
            let texts = sketch.texts();
            for (path, text) in &texts {
                db.set_text(path, text);
            }
            db.set_files(units(&texts));
            let incremental = check(&db, &question);
            let worked = crate::common::verified(&db).len();
            assert_eq!(db.take_mistakes(), Vec::<String>::new(), "seed {seed} {log:?}\n{texts:?}");
            let fresh = database(&texts);
            let fresh_report = check(&fresh, &question);
            let expected = told(&fresh_report);
            let needed = crate::common::verified(&fresh).len();
            log.push(format!("step {step}: {worked} of {needed}"));
            let fault = against_the_law_of_hints(&incremental.verdicts, &fresh_report.verdicts);
            assert_eq!(fault, None, "seed {seed} {log:?}\n{texts:?}");
            if incremental.failures().next().is_none() {
                assert_eq!(told(&incremental), expected, "seed {seed} {log:?}\n{texts:?}");
            }
            assert!(worked <= needed, "seed {seed} {log:?}: no more work than from the beginning");
            reused += needed - worked;
            asked += needed;
            if seed % 4 < 2 {
                let mut stored = database(&texts);
                stored.set_store(Store::new(folder.path(), 1 << 20));
                if seed / 3 % 4 == 0 {
                    stored.audit_blocks();
                }
                assert_eq!(told(&check(&stored, &question)), expected, "seed {seed} from the disk, {log:?}");
                assert_eq!(
                    stored.take_mistakes(),
                    Vec::<String>::new(),
                    "seed {seed} from the disk, {log:?}"
                );
                stored.save();
            }
        }
    }
    assert!(reused * 4 > asked, "only {reused} of {asked} answers were remembered");
}
