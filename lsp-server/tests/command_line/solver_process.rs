//! The solver dies, or memory runs out: what is said, and that everything else goes on.

use crate::common::Scratch;

/// Z3's Horn engine dies of `f` where cells stand for the array; `g` asks it, too, and is proved.
const DEADLY: &str = "extern int __VERIFIER_nondet_int(void);\n#include <assert.h>\nint A[3];\nstatic void f(int n, int i) {\n    if (n == 0) \
                      return;\n    A[i] = n;\n    f(n - 1, (i + 1) % 3);\n    assert(!(A[0] == 1 && A[1] == 2 && n == 3));\n}\nint main(void) \
                      {\n    int i = __VERIFIER_nondet_int();\n    if (i < 0 || i > 2) return 0;\n    f(3, i);\n    return 0;\n}\n";

const COUNTS: &str = "extern unsigned nondet(void);\n#include <assert.h>\nint main(void) {\n    unsigned n = nondet(), x = n, y = 0;\n    while (x \
                      > 0) { x--; y++; }\n    assert(y == n);\n    return 0;\n}\n";

#[test]
fn a_solver_that_dies_leaves_its_question_open() {
    let scratch = Scratch::new();
    scratch.write("deadly.c", DEADLY);
    let said = scratch.run(&[
        "check",
        "--no-cache",
        "--property",
        "assertion",
        "--engine",
        "array-cells",
        "deadly.c",
    ]);
    said.expect(2, &["RESULT: unknown("]);
    assert!(!said.all().contains("internal error"), "{}", said.all());
    // What the solver died of is not remembered.
    let again = ["check", "--statistics", "--property", "assertion", "--engine", "array-cells", "deadly.c"];
    scratch.run(&again);
    if said.out.contains("the solver stopped") {
        scratch.run(&again).expect(2, &["entries verified: 1"]);
    }
}

#[test]
fn the_solver_may_stay_in_the_process() {
    let scratch = Scratch::new();
    scratch.write("counts.c", COUNTS);
    let check = ["check", "--no-cache", "--property", "assertion", "--engine", "equations-brief", "counts.c"];
    scratch.run(&check).expect(0, &["RESULT: true"]);
    scratch.run(&[&check[..], &["--in-process"]].concat()).expect(0, &["RESULT: true"]);
}

#[test]
fn a_ceiling_of_memory_is_said() {
    let scratch = Scratch::new();
    scratch.write(
        "counts.c",
        COUNTS.replace("unsigned n = nondet()", "unsigned n = nondet() * nondet() % 65537 * nondet()"),
    );
    let said =
        scratch.run(&["check", "--no-cache", "--engine", "concrete-long", "--memory", "1", "counts.c"]);
    said.expect(2, &["RESULT: unknown(out of memory)", "--memory"]);
}

#[test]
fn an_engine_that_takes_too_much_memory_makes_room_for_the_next() {
    let scratch = Scratch::new();
    let text = "#include <assert.h>\nint main(void) {\n    unsigned i = 0;\n    while (i < 3000000)\n        i++;\n    assert(i == 3000000);\n    return 0;\n}\n";
    scratch.write("counts.c", text);
    let check = |engines| {
        let asked = ["--property", "assertion", "--engine", engines, "--engine-memory", "5", "counts.c"];
        scratch.run(&[&["check", "--no-cache"][..], &asked].concat())
    };
    check("explicit").expect(2, &["RESULT: unknown(out of memory)"]);
    check("explicit,intervals").expect(0, &["RESULT: true"]);
}
