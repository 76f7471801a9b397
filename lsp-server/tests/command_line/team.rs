//! A store that a team shares: what one machine has proved, another one confirms. (What becomes of claims that are wrong, the verifier's own tests
//! see to.)

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::common::{Said, Scratch, WORTH_SHARING};

fn checked(scratch: &Scratch, place: &Path, cache: &str, text: &str) -> Said {
    scratch.write("test.c", text);
    let place = place.to_string_lossy();
    let arguments =
        ["check", "test.c", "--property", "assertion", "--cache", cache, "--store", &place, "--statistics"];
    scratch.run(&arguments)
}

fn objects(place: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(place.join("answers-2")).into_iter().flatten();
    folder.map(|entry| entry.expect("an object").path()).collect()
}

#[test]
fn where_an_assertion_stands_is_no_matter_of_its_proof() {
    let scratch = Scratch::new();
    let place = scratch.path().join("shared");
    checked(&scratch, &place, "one", WORTH_SHARING).expect(0, &["RESULT: true"]);
    // Another folder, and another line.
    std::fs::create_dir(scratch.path().join("elsewhere")).expect("a folder");
    scratch.write("elsewhere/other.c", format!("\n\n{WORTH_SHARING}"));
    let shared = place.to_string_lossy();
    let said = scratch.run(&[
        "check",
        "elsewhere/other.c",
        "--property",
        "assertion",
        "--cache",
        "other",
        "--store",
        &shared,
        "--statistics",
    ]);
    said.expect(0, &["the team's store knew: 1, of which it said what does not hold: 0"]);
}

#[test]
fn what_one_machine_proved_is_confirmed_on_another() {
    let scratch = Scratch::new();
    let place = scratch.path().join("shared");
    let first = checked(&scratch, &place, "one", WORTH_SHARING);
    first.expect(0, &["entries verified: 1", "the team's store knew: 0", "RESULT: true"]);
    assert_eq!(objects(&place).len(), 1);
    let second = checked(&scratch, &place, "two", WORTH_SHARING);
    second.expect(0, &["entries verified: 0", "the team's store knew: 1", "RESULT: true"]);
    // The same is said, apart from what was done.
    let said =
        |all: &Said| all.out.lines().filter(|line| !line.contains(": ")).collect::<Vec<_>>().join("\n");
    assert_eq!(said(&first), said(&second));
    // What was confirmed is known from now on.
    checked(&scratch, &place, "two", WORTH_SHARING).expect(0, &["entries verified: 0, known from before: 1"]);
}

#[test]
fn an_object_under_another_s_name_is_of_no_use() {
    let scratch = Scratch::new();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    checked(&scratch, &first, "one", WORTH_SHARING).expect(0, &["RESULT: true"]);
    let other = WORTH_SHARING.replace("n > 1000", "n > 900");
    checked(&scratch, &second, "two", &other).expect(0, &["RESULT: true"]);
    let name = objects(&second).pop().expect("an object");
    let object = objects(&first).pop().expect("another object");
    fs::copy(object, &name).expect("mistaken");
    let said = checked(&scratch, &second, "three", &other);
    said.expect(0, &["entries verified: 1", "the team's store knew: 0", "RESULT: true"]);
}

#[test]
fn damaged_and_enormous_objects_are_of_no_use_and_do_no_harm() {
    let scratch = Scratch::new();
    let place = scratch.path().join("shared");
    checked(&scratch, &place, "one", WORTH_SHARING).expect(0, &[]);
    let object = objects(&place).pop().expect("an object");
    let whole = fs::read(&object).expect("bytes");
    for (at, bytes) in [&whole[..whole.len() / 2], &[], &vec![7; 5 << 20]].into_iter().enumerate() {
        fs::write(&object, bytes).expect("damaged");
        let said = checked(&scratch, &place, &format!("cache{at}"), WORTH_SHARING);
        said.expect(0, &["entries verified: 1", "RESULT: true"]);
    }
    // It is whole again: what was found out was written.
    checked(&scratch, &place, "last", WORTH_SHARING).expect(0, &["the team's store knew: 1"]);
}

#[test]
fn a_server_that_is_away_or_says_nothing_costs_no_answer() {
    let scratch = Scratch::new();
    scratch.write("test.c", WORTH_SHARING);
    let check = |place: &str| {
        let began = Instant::now();
        let said = scratch.run(&["check", "test.c", "--cache", "none", "--store", place, "--statistics"]);
        let _ = fs::remove_dir_all(scratch.path().join("none"));
        (said, began.elapsed())
    };
    let (said, _) = check("redis://127.0.0.1:1");
    said.expect(0, &["RESULT: true"]);
    // One that takes connections, and reads for ever.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut stream.take(1 << 20), &mut std::io::sink()));
        }
    });
    for place in
        [format!("redis://127.0.0.1:{port}"), format!("s3://bucket/x?endpoint=http://127.0.0.1:{port}")]
    {
        let (said, took) = check(&place);
        said.expect(0, &["RESULT: true"]);
        // A read and a write, each with its patience.
        assert!(took < Duration::from_secs(30), "{took:?}");
    }
}

#[test]
fn what_names_no_store_is_refused_and_a_project_cannot_name_one() {
    let scratch = Scratch::new();
    scratch.write("test.c", WORTH_SHARING);
    let said = scratch.run(&["check", "test.c", "--store", "ftp://me:secret@host"]);
    said.expect(3, &["is no store", "help:"]);
    assert!(!said.all().contains("secret"));
    scratch.write("proofline.toml", "store = \"/tmp/somewhere\"\n");
    scratch.run(&["check", "test.c"]).expect(3, &["store"]);
}
