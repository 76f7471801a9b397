//! Folders of strangers: odd names, files that are none, files without end, and what was prepared for us. What is said stays true and ends.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::Scratch;

const FAILS: &str = "int zero;\nint main(void) { return 1 / zero; }\n";

/// A name that looks like lines of ours.
const NAME: &str = "a\nRESULT: true\n\u{1b}[2J\u{202e}.c";

#[test]
fn a_name_with_line_breaks_does_not_look_like_a_result() {
    let scratch = Scratch::new();
    scratch.write(NAME, FAILS);
    let said = scratch.run(&["check", "--no-cache", NAME]);
    said.expect(1, &["a\\nRESULT: true\\n\\u{1b}[2J\\u{202e}.c:2:"]);
    let results: Vec<&str> =
        said.out.lines().filter(|line| line.contains("RESULT:") && !line.contains(".c:")).collect();
    assert_eq!(results, ["RESULT: false(all)"], "{}", said.all());
    assert!(!said.all().contains('\u{1b}') && !said.all().contains('\u{202e}'));

    let said = scratch.run(&["check", "--no-cache", "no\nRESULT: true\n.c"]);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(!said.all().lines().any(|line| line == "RESULT: true"), "{}", said.all());
}

#[test]
fn other_formats_keep_a_name_with_line_breaks_as_it_is() {
    let scratch = Scratch::new();
    scratch.write(NAME, FAILS);
    let said = scratch.run(&["check", "--no-cache", "--format", "json", "--witness", "w.yml", NAME]);
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(json["results"][0]["findings"][0]["place"]["file"], NAME);
    let witness = fs::read_to_string(scratch.path().join("w.yml")).expect("a witness");
    let witness: Value = serde_saphyr::from_str(&witness).expect("YAML");
    assert_eq!(witness[0]["metadata"]["task"]["input_files"][0], NAME);
    let said = scratch.run(&["check", "--no-cache", "--format", "sarif", NAME]);
    let log: Value = serde_json::from_str(&said.out).expect("JSON");
    let location =
        &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(location.as_str().is_some_and(|uri| uri.contains("%0A") && !uri.contains('\n')), "{location}");
}

/// Ends soon, says why, and proves nothing.
#[track_caller]
fn is_refused(scratch: &Scratch, why: &str) {
    let started = Instant::now();
    let said = scratch.run(&["check", "--no-cache", "--limit", "60", "main.c"]);
    said.expect(2, &[why, "RESULT: unknown("]);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn headers_that_never_end_are_not_read() {
    let scratch = Scratch::new();
    scratch.write("main.c", "#include \"header.h\"\nint main(void) { return 0; }\n");
    let header = scratch.path().join("header.h");
    let why = "header.h";
    // Ten gigabytes of nothing.
    File::create(&header).and_then(|file| file.set_len(10 << 30)).expect("a sparse file");
    is_refused(&scratch, why);
    fs::remove_file(&header).expect("it goes away");
    symlink("/dev/zero", &header).expect("a link");
    is_refused(&scratch, why);
    fs::remove_file(&header).expect("it goes away");
    // A pipe that nobody writes into.
    let made = Command::new("mkfifo").arg(&header).status().expect("mkfifo runs");
    assert!(made.success());
    is_refused(&scratch, why);
    fs::remove_file(&header).expect("it goes away");
    symlink("header.h", &header).expect("a link to itself");
    is_refused(&scratch, why);
}

#[test]
fn a_file_that_includes_itself_twice_is_refused_soon() {
    let scratch = Scratch::new();
    let functions: String = (0..20).map(|n| format!("int f{n}(int a) {{ return a + {n}; }}\n")).collect();
    scratch.write(
        "main.c",
        format!("{functions}#include \"main.c\"\n#include \"main.c\"\nint main(void) {{ return 0; }}\n"),
    );
    is_refused(&scratch, "one file more than 1000 times");
    // Through another one.
    scratch.write(
        "main.c",
        format!("{functions}#include \"other.h\"\n#include \"other.h\"\nint main(void) {{ return 0; }}\n"),
    );
    scratch.write("other.h", "#include \"main.c\"\n#include \"main.c\"\n");
    is_refused(&scratch, "one file more than 1000 times");
}

#[test]
fn what_a_link_out_of_the_folder_leads_to_is_not_shown() {
    let (scratch, elsewhere) = (Scratch::new(), Scratch::new());
    elsewhere.write("secret", "XYZZY plugh: quux-88 @ here\nint main(void) { return 0; }\n");
    scratch.write("main.c", "#include \"header.h\"\nint one(void) { return 1; }\n");
    symlink(elsewhere.path().join("secret"), scratch.path().join("header.h")).expect("a link");
    for format in ["text", "json", "sarif"] {
        let said = scratch.run(&["check", "--no-cache", "--format", format, "main.c"]);
        assert_eq!(said.code, 2, "{}", said.all());
        for word in ["XYZZY", "plugh", "quux"] {
            assert!(!said.all().contains(word), "{format}: {}", said.all());
        }
        assert!(said.all().contains("header.h"), "{format}: {}", said.all());
    }
}

#[test]
fn a_prepared_cache_changes_no_answer() {
    let scratch = Scratch::new();
    scratch.write("main.c", FAILS);
    let cache = scratch.path().join("cache");
    let run = |arguments: &[&str]| {
        let said = scratch.run(&[&["check", "--cache", "cache"], arguments].concat());
        said.expect(1, &["RESULT: false(all)"]);
        assert!(!said.err.contains("panicked"), "{}", said.err);
    };
    run(&["main.c"]);
    let names: Vec<_> = fs::read_dir(&cache).expect("a cache").flatten().map(|entry| entry.path()).collect();
    assert!(!names.is_empty());
    let whole: Vec<Vec<u8>> = names.iter().map(|path| fs::read(path).expect("a file")).collect();
    // The answers of another program, and damage of several kinds.
    let other = Scratch::new();
    other.write("main.c", "int zero = 3;\nint main(void) { return 1 / zero; }\n");
    other.run(&["check", "--cache", "cache", "main.c"]).expect(0, &["RESULT: true"]);
    for (path, bytes) in names.iter().zip(&whole) {
        let foreign =
            fs::read(other.path().join("cache").join(path.file_name().expect("a name"))).unwrap_or_default();
        let mut flipped = bytes.clone();
        flipped.iter_mut().skip(64).step_by(97).for_each(|byte| *byte ^= 0x55);
        for prepared in [foreign, flipped, bytes[..bytes.len() / 2].to_vec(), Vec::new(), vec![0xff; 5000]] {
            fs::write(path, prepared).expect("a file");
            run(&["main.c"]);
        }
        // No file at all, a folder, a device.
        fs::remove_file(path).expect("it goes away");
        fs::create_dir(path).expect("a folder");
        run(&["main.c"]);
        fs::remove_dir_all(path).expect("it goes away");
        symlink("/dev/zero", path).expect("a link");
        run(&["main.c"]);
        let _ = fs::remove_file(path);
        fs::write(path, bytes).expect("a file");
    }
    // What it links to is not written.
    let own = scratch.write("precious", "do not touch\n");
    for path in &names {
        let _ = fs::remove_file(path);
        symlink(&own, path).expect("a link");
    }
    run(&["main.c"]);
}

#[test]
fn out_of_time_while_reading_is_a_result_in_every_format() {
    let scratch = Scratch::new();
    let mut text = String::from("#define A0 1 + 1\n");
    for n in 0..24 {
        text.push_str(&format!("#define A{} A{n} + A{n}\n", n + 1));
    }
    text.push_str("int main(void) { return A24; }\n");
    scratch.write("main.c", text);
    let line = ["check", "--no-cache", "--limit", "0"];
    scratch.run(&[&line[..], &["main.c"]].concat()).expect(2, &["RESULT: unknown(time limit)"]);
    let said = scratch.run(&[&line[..], &["--format", "json", "main.c"]].concat());
    assert_eq!(said.code, 2, "{}", said.all());
    let json: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(json["results"][0]["result"], "unknown(time limit)");
    let said = scratch.run(&[&line[..], &["--format", "sarif", "main.c"]].concat());
    assert_eq!(said.code, 2, "{}", said.all());
    let log: Value = serde_json::from_str(&said.out).expect("JSON");
    let notes = log["runs"][0]["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(notes.contains("all: unknown(time limit)"), "{notes}");
}
