//! Answers on the disk: found again by another process, by content only; a damaged file is no answer.

use std::{fs, path::PathBuf};

use crate::common::{Random, Sketch, check, database, question, told, verified};
use proofline_db::{Question, Store, Work};
use proofline_verifier::Name;

const TEXT: &str = "
int leaf(int x) { return x / 2; }
int user(int x) { if (x < 0) return 0; return leaf(x) + 1; }
int other(int x) { return 10 / x; }
";

fn texts(text: &str) -> Vec<(PathBuf, String)> {
    vec![("/db/test.c".into(), text.to_owned())]
}

#[test]
fn the_second_process_verifies_nothing_and_after_an_edit_what_it_reaches() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = |text: &str| {
        let mut db = database(&texts(text));
        db.set_store(Store::new(folder.path(), 1 << 20));
        let report = told(&check(&db, &question()));
        db.save();
        (report, verified(&db))
    };
    let (first, worked) = session(TEXT);
    assert_eq!(worked, [Name::new("other"), Name::new("user")]);
    assert_eq!(session(TEXT), (first, vec![]));
    assert_eq!(session(&TEXT.replace("x / 2", "x / 4")).1, [Name::new("user")]);
    assert_eq!(session(&TEXT.replace("int other", "/* moved */\nint other")).1, []);
}

/// With `main` every function is reached from one entry: what an edit leaves alone are blocks.
#[test]
fn the_second_process_explores_what_an_edit_reaches() {
    const CHAIN: &str = "
extern int input(void);
typedef struct { int a; const char *text; } pair;
static pair shared;
static int leaf(int x) { int y = x / 2; return y > 10 ? 10 : y < 0 ? 0 : y; }
static int side(pair *p, int x) { p->a = x > 100 ? 100 : x < 1 ? 1 : x; return p->a; }
static int again(int x) { return x <= 0 ? 1 : again(x - 1); }
static int middle(int x) { return leaf(x) + again(3); }
static int top(int x) { int y = x; return 100 / middle(x) + 7 / side(&shared, x) + (&y != 0); }
int main(void) { int a = input(); return top(a > 1000 ? 1000 : a); }
";
    let folder = tempfile::tempdir().expect("a folder");
    let intervals = Question { engines: vec!["intervals".to_owned()], ..question() };
    let session = |text: &str| {
        let mut db = database(&texts(text));
        db.set_store(Store::new(folder.path(), 1 << 20));
        let report = told(&check(&db, &intervals));
        assert_eq!(report, told(&check(&database(&texts(text)), &intervals)), "as without a disk");
        db.save();
        let (mut rechecked, mut reused) = (Vec::new(), Vec::new());
        for work in db.take_work() {
            match work {
                Work::Rechecked(name) => rechecked.push(name.to_string()),
                Work::Reused(name) => reused.push(name.to_string()),
                _ => {}
            }
        }
        (rechecked.join(" "), reused.join(" "))
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(session(CHAIN), pair("again leaf main middle side top", ""));
    assert_eq!(session(CHAIN), pair("", ""), "an answer");
    assert_eq!(session(&CHAIN.replace("x / 2", "x / 3")), pair("leaf", "again main middle side top"));
    let wider = CHAIN.replace("> 10 ? 10", "> 12 ? 12");
    assert_eq!(session(&wider), pair("leaf main middle top", "again side"));
    assert_eq!(session(&wider.replace("x / 2", "x / 4")), pair("leaf", "again main middle side top"));
    let padded = session(&wider.replace("int a; const", "int a, b; const"));
    assert_eq!(padded, pair("", "again leaf main middle side top"), "a member where there was padding");
    assert_eq!(session(&wider.replace("int a; const", "long b; int a; const")).1, "", "another size");
}

#[test]
fn another_question_is_another_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut db = database(&texts(TEXT));
    db.set_store(Store::new(folder.path(), 1 << 20));
    check(&db, &question());
    db.save();
    verified(&db);
    let mut more = question();
    more.steps *= 2;
    check(&db, &more);
    assert_eq!(verified(&db), [Name::new("other"), Name::new("user")]);
}

#[test]
fn a_damaged_file_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random(7);
    let run = || {
        let mut db = database(&texts(TEXT));
        db.set_store(Store::new(folder.path(), 1 << 20));
        let report = told(&check(&db, &question()));
        db.save();
        (report, verified(&db).len())
    };
    let (expected, _) = run();
    let mut files: Vec<PathBuf> = fs::read_dir(folder.path())
        .expect("it was made")
        .map(|file| file.expect("readable").path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2, "answers and blocks");
    // Damage shows itself as a message of the reader's; it is caught.
    for round in 0..24 {
        for file in &files {
            let mut bytes = fs::read(file).expect("readable");
            match round % 3 {
                0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
                1 => {
                    for _ in 0..200 {
                        let at = random.below(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 << random.below(8);
                    }
                }
                _ => bytes = b"something else".to_vec(),
            }
            fs::write(file, bytes).expect("writable");
        }
        assert_eq!(run().0, expected, "round {round}");
        run();
        assert_eq!(run(), (expected.clone(), 0), "round {round}: mended");
    }
}

#[test]
fn the_file_stays_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let most = 4_000;
    let mut random = Random(3);
    for _ in 0..20 {
        let mut db = database(&Sketch::new(&mut random).texts());
        db.set_store(Store::new(folder.path(), most));
        check(&db, &question());
        db.save();
    }
    let kept = Store::new(folder.path(), most).len();
    assert!((1..60).contains(&kept), "{kept} answers");
}

#[test]
fn several_at_a_time_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = told(&check(&database(&texts(TEXT)), &question()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut db = database(&texts(TEXT));
                    db.set_store(Store::new(folder.path(), 1 << 20));
                    assert_eq!(told(&check(&db, &question())), expected);
                    db.save();
                }
            });
        }
    });
    assert_eq!(Store::new(folder.path(), 1 << 20).len(), 2);
}
