//! `--monitor` and the key `monitors` of `proofline.toml`: names, files, and what is said of those that are wrong.

use crate::common::Scratch;

const TWICE: &str = "#include <pthread.h>\nstatic pthread_mutex_t m;\nint main(void) {\n    pthread_mutex_lock(&m);\n    pthread_mutex_lock(&m);\n    return 0;\n}\n";

const OWN: &str = "monitor order\nstart idle\nidle:\n    begin() -> busy \"begun here\"\n    finish() -> error \"finished before it has begun\"\nbusy:\n    finish() -> idle\n";

const CALLS: &str = "extern void begin(void);\nextern void finish(void);\nint main(void) {\n    begin();\n    finish();\n    finish();\n    return 0;\n}\n";

#[test]
fn a_monitor_by_name_watches_and_without_it_nobody_does() {
    let scratch = Scratch::new();
    scratch.write("test.c", TWICE);
    scratch.run(&["check", "test.c"]).expect(0, &["RESULT: nothing to prove"]);
    scratch.run(&["check", "--monitor", "locks", "test.c"]).expect(
        1,
        &[
            "error[monitor:locks]: `&m` is locked again where it is locked already",
            "test.c:5",
            "`&m` is locked here",
            "help: lock and unlock in pairs",
        ],
    );
}

#[test]
fn formats_for_machines_know_the_check_and_its_weaknesses() {
    let scratch = Scratch::new();
    scratch.write("test.c", TWICE);
    let sarif = scratch.run(&["check", "--monitor", "locks", "--format", "sarif", "test.c"]);
    sarif.expect(1, &["\"ruleId\": \"monitor:locks\"", "cwe-667", "\"id\": \"monitor:locks\""]);
    let json = scratch.run(&["check", "--monitor", "locks", "--format", "json", "test.c"]);
    json.expect(1, &["monitor:locks", "`&m` is locked here"]);
}

#[test]
fn a_file_of_one_s_own_by_an_option_and_by_the_project_s_file() {
    let scratch = Scratch::new();
    scratch.write("test.c", CALLS);
    scratch.write("rules/order.monitor", OWN);
    let words = ["error[monitor:order]: finished before it has begun", "test.c:6", "begun here"];
    scratch.run(&["check", "--monitor", "rules/order.monitor", "test.c"]).expect(1, &words);
    scratch.write("proofline.toml", "monitors = [\"rules/order.monitor\"]\n");
    scratch.run(&["check", "test.c"]).expect(1, &words);
    scratch.write("proofline.toml", "monitors = [\"../order.monitor\"]\n");
    scratch.run(&["check", "test.c"]).expect(3, &["monitors: a monitor's name, or a file of this folder"]);
}

#[test]
fn what_is_wrong_with_a_monitor_is_said_with_its_line_and_what_to_do() {
    for (text, words) in [
        ("", &[":1: the file says nothing", "begin with `monitor NAME`"][..]),
        ("locks\n", &[":1: the file does not begin with `monitor`"]),
        (
            "monitor a\nstart idle\nidle:\n  f() -> redy\n",
            &[":4: there is no state `redy`", "the states are `idle`"],
        ),
        ("monitor a\nstart idle\nidle:\n  f() -> error\n", &[":4: an error has no message", "say in quotes"]),
        ("monitor a\nstart idle\nidle:\n  f() error \"x\"\n", &[":4: `->` is missing: there is `error`"]),
        ("monitor a\nstart idle\nidle:\n  f( -> idle\n", &[":4:", "a number is missing"]),
        (
            "monitor a\nidle:\n  f() -> error \"x\"\n",
            &["nothing says in which state it begins", "write `start STATE`"],
        ),
        ("monitor a\nstart idle\nidle:\n  f() -> idle\n", &[":1: the monitor has no error"]),
        (
            "monitor a\nstart idle\nidle:\n  f(x) when y == 0 -> error \"x\"\n",
            &[":4: nothing here is called `y`"],
        ),
        (
            "monitor a\nstart idle\nidle:\n  f(x) do n += 1 -> error \"x\"\n",
            &["there is no variable `n`", "write `variable n = 0`"],
        ),
        ("monitor a\nstart idle\nidle:\n  f() -> error \"x\n", &[":4: this text has no closing quote"]),
        (
            "monitor a for k\nnew:\n  f() -> s\ns:\n  f() -> error \"x\"\n",
            &[":3: nothing on this line says which key begins"],
        ),
        ("monitor a\nstart idle\nidle:\n  f() ; -> error \"x\"\n", &[":4: `;` means nothing here"]),
        (
            "monitor a(f)\nstart idle\nidle:\n  f() -> error \"x\"\n",
            &["takes 1 names of functions, and gets 0", "name it `a(F)`"],
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write("test.c", CALLS);
        scratch.write("own.monitor", text);
        let said = scratch.run(&["check", "--monitor", "own.monitor", "test.c"]);
        said.expect(3, words);
        said.expect(3, &["error: own.monitor:", "help: "]);
    }
}

#[test]
fn a_monitor_that_there_is_not_and_one_that_nobody_asks_about_are_errors() {
    let scratch = Scratch::new();
    scratch.write("test.c", CALLS);
    scratch
        .run(&["check", "--monitor", "lokcs", "test.c"])
        .expect(3, &["there is no monitor `lokcs`", "locks, files"]);
    scratch
        .run(&["check", "--monitor", "locks", "--property", "unreach-call", "test.c"])
        .expect(3, &["nobody asks about the monitor `locks`"]);
    scratch
        .run(&["check", "--property", "monitor:locks", "test.c"])
        .expect(3, &["there is no monitor for `monitor:locks`", "add --monitor locks"]);
    scratch
        .run(&["check", "--monitor", "locks", "--monitor", "locks", "test.c"])
        .expect(3, &["two monitors are `locks`"]);
    scratch
        .run(&["check", "--monitor", "reentrancy", "test.c"])
        .expect(3, &["takes 1 names of functions", "name it `reentrancy(FUNCTION)`"]);
}
