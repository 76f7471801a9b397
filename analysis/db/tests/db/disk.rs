//! Answers on the disk: found again by another process, by content only; a damaged file is no answer.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common::{Random, Sketch, check, database, question, told, verified};
use proofline_db::{Store, Work};
use proofline_verifier::{
    Name,
    portfolio::{Request, Round},
    property::Property,
    report::Overall,
};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};

const TEXT: &str = "
static int leaf(int x) { return x / 2; }
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
    let intervals = Request { engines: vec!["intervals".to_owned()], ..question() };
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

/// A question whose engines leave everything on the disk that there is: answers, blocks and precisions.
fn thorough() -> Request {
    Request { engines: ["intervals", "value-bam"].map(str::to_owned).to_vec(), ..question() }
}

/// Bytes of what a file keeps.
fn kept_bytes(file: &Path) -> u64 {
    const KEPT: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("answers");
    let file = redb::Database::open(file).expect("a whole file");
    let table = file.begin_read().expect("readable").open_table(KEPT).expect("our table");
    table.iter().expect("readable").map(|entry| entry.expect("readable").1.value().len() as u64).sum()
}

#[test]
fn the_file_stays_small() {
    let (small, large) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let most = 4_000;
    for (folder, most) in [(&small, most), (&large, 1 << 26)] {
        let mut random = Random(3);
        for _ in 0..30 {
            let mut db = database(&Sketch::new(&mut random).texts());
            db.set_store(Store::new(folder.path(), most));
            check(&db, &thorough());
            db.save();
        }
    }
    for file in ["answers-1.redb", "blocks-1.redb"] {
        let kept = kept_bytes(&small.path().join(file));
        assert!((1..=most).contains(&kept), "{file}: {kept} bytes");
        assert!(kept_bytes(&large.path().join(file)) > most, "{file}: more than there is room for");
    }
}

/// Each variable of `main` is found out about by a refinement of its own.
const REFINED: &str = "
extern int input(void);
void reach_error(void);
static int leaf(int x) { return x / 2; }
int main(void) {
    int a = 1, b = 2, c = 3, d = 4, n = input();
    for (int i = 0; i < 3; i++) n = leaf(n);
    if (n == 1 && a != 1) reach_error();
    if (n == 2 && b != 2) reach_error();
    if (n == 3 && c != 3) reach_error();
    if (n == 4 && d != 4) reach_error();
    return 0;
}
";

/// Steps that a proof takes, with what is in the folder.
fn steps_to_prove(text: &str, folder: Option<&Path>) -> Option<u64> {
    (1..500).map(|n| n * 4).find(|steps| {
        let mut db = database(&texts(text));
        if let Some(folder) = folder {
            db.set_store(Store::new(folder, 1 << 20));
        }
        check(&db, &refined(*steps)).overall() == Overall::True
    })
}

fn refined(steps: u64) -> Request {
    let engines = vec!["value-bam".to_owned()];
    Request {
        property: Property::UnreachCall,
        engines,
        steps,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

/// Proves [`REFINED`], and leaves in the folder with which precision.
fn leave_precision(folder: &Path) {
    let mut db = database(&texts(REFINED));
    db.set_store(Store::new(folder, 1 << 20));
    assert_eq!(check(&db, &refined(100_000)).overall(), Overall::True);
    db.save();
}

#[test]
fn a_precision_is_found_by_the_next_process_after_an_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    let edited = REFINED.replace("x / 2", "x / 3");
    let first = steps_to_prove(&edited, None).expect("a proof");
    leave_precision(folder.path());
    let next = steps_to_prove(&edited, Some(folder.path())).expect("a proof");
    assert!(next < first, "{next} of {first} steps");
    // Other functions make another program, whose precision is its own.
    let other = edited.replace("leaf", "other");
    assert_eq!(steps_to_prove(&other, Some(folder.path())), Some(first));
    // A precision is only a hint: what it proved is no longer so.
    let wrong = REFINED.replace("a = 1,", "a = 5,");
    let mut db = database(&texts(&wrong));
    db.set_store(Store::new(folder.path(), 1 << 20));
    let told_by = |db| told(&check(db, &refined(100_000)));
    assert_eq!(told_by(&db), told_by(&database(&texts(&wrong))));
    assert_eq!(check(&db, &refined(100_000)).overall(), Overall::False);
}

#[test]
fn a_precision_in_a_damaged_or_foreign_file_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("blocks-1.redb");
    let edited = REFINED.replace("x / 2", "x / 3");
    let first = steps_to_prove(&edited, None);
    for round in 0..3 {
        leave_precision(folder.path());
        match round {
            0 => fs::write(&file, b"something else").expect("writable"),
            1 => {
                let bytes = fs::read(&file).expect("readable");
                fs::write(&file, &bytes[..bytes.len() / 2]).expect("writable");
            }
            _ => {
                // Of a version with other tables.
                const OTHER: TableDefinition<'_, u64, u64> = TableDefinition::new("answers");
                fs::remove_file(&file).expect("ours");
                let other = redb::Database::create(&file).expect("writable");
                let write = other.begin_write().expect("writable");
                write.open_table(OTHER).expect("writable").insert(1, 2).expect("writable");
                write.commit().expect("writable");
            }
        }
        assert_eq!(steps_to_prove(&edited, Some(folder.path())), first, "round {round}");
        fs::remove_file(folder.path().join("answers-1.redb")).expect("ours");
        leave_precision(folder.path());
        assert!(steps_to_prove(&edited, Some(folder.path())) < first, "round {round}: mended");
    }
}

#[test]
fn blocks_of_values_are_found_by_the_next_process() {
    let folder = tempfile::tempdir().expect("a folder");
    leave_precision(folder.path());
    let edited = REFINED.replace("i < 3", "i < 2");
    let mut db = database(&texts(&edited));
    db.set_store(Store::new(folder.path(), 1 << 20));
    let report = told(&check(&db, &refined(100_000)));
    assert_eq!(report, told(&check(&database(&texts(&edited)), &refined(100_000))));
    assert!(db.blocks_from_disk() > 0);
    assert!(db.take_work().contains(&Work::Reused(Name::new("leaf"))));
}

#[test]
fn several_at_a_time_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let expected = told(&check(&database(&texts(TEXT)), &thorough()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut db = database(&texts(TEXT));
                    db.set_store(Store::new(folder.path(), 1 << 20));
                    assert_eq!(told(&check(&db, &thorough())), expected);
                    db.save();
                }
            });
        }
    });
    assert_eq!(Store::new(folder.path(), 1 << 20).len(), 2);
}
