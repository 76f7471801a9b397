//! Witnesses are checked here as another verifier would check them: invariants become obligations at their loops, and inputs of a violation
//! become the results of the functions that gave them.

use serde_json::Value;

use crate::common::Scratch;

const CHECK: [&str; 5] = ["check", "--no-cache", "--property", "unreach-call", "--witness"];

/// Each is proved, and has loops.
const PROVED: [&str; 5] = [
    "extern void reach_error(void);
int main(void) {
    int i = 0;
    while (i < 10) {
        for (unsigned j = 0; j < 5; j++)
            if (i + (int)j > 13) reach_error();
        i++;
    }
    return 0;
}
",
    "extern void reach_error(void);
extern long __VERIFIER_nondet_long(void);
int main(void) {
    long n = __VERIFIER_nondet_long();
    if (n > -5) return 0;
    for (;;) {
        if (n >= 0) reach_error();
        if (n < -100000000000l) break;
        n -= 1000;
    }
    do n++; while (n < 7);
    return 0;
}
",
    "extern void reach_error(void);
static int a[4];
static int *next(int *p) { return p == &a[3] ? a : p + 1; }
int main(void) {
    int *p = a;
    char c = 'a';
    for (p = &a[1]; p != a && c < 'z'; p = next(p)) {
        c += 1;
        if (!p) reach_error();
    }
    return 0;
}
",
    "extern void reach_error(void);
extern unsigned long __VERIFIER_nondet_ulong(void);
int main(void) {
    unsigned long n = __VERIFIER_nondet_ulong();
    if (n < 18446744073709551000ul) return 0;
    while (n != 0) {
        if (n < 5) reach_error();
        n = n / 2 + 9223372036854775808ul;
    }
    return 0;
}
",
    "extern void reach_error(void);
static int sum(int n) { int s = 0; for (int i = 0; i < n && i < 100; i++) s += 1; return s; }
int main(void) {
    int total = 0;
    for (int k = 3; k < 7; k += 2) total = sum(k);
    if (total < 0) reach_error();
    return 0;
}
",
];

/// Function, line, column, invariant.
fn invariants(text: &str) -> Vec<(String, usize, usize, String)> {
    let witness: Value = serde_saphyr::from_str(text).expect("YAML");
    let entry = &witness[0];
    assert_eq!(entry["entry_type"], "invariant_set");
    assert_eq!(entry["metadata"]["format_version"], "2.0");
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let word = |value: &Value| value.as_str().expect("a text").to_owned();
    let of = |content: &Value| {
        let invariant = &content["invariant"];
        assert_eq!(
            (&invariant["type"], &invariant["format"]),
            (&"loop_invariant".into(), &"c_expression".into())
        );
        let location = &invariant["location"];
        let (line, column) = (number(&location["line"]), number(&location["column"]));
        (word(&location["function"]), line, column, word(&invariant["value"]))
    };
    entry["content"].as_array().expect("invariants").iter().map(of).collect()
}

/// The program with each invariant as an obligation, where the condition of its loop is evaluated.
fn with_obligations(program: &str, invariants: &[(String, usize, usize, String)]) -> String {
    let mut out = program.to_owned();
    let mut last_first = invariants.to_vec();
    last_first.sort_by_key(|(_, line, column, _)| std::cmp::Reverse((*line, *column)));
    for (_, line, column, invariant) in last_first {
        let start: usize = program.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let keyword = start + column - 1;
        let is_for = program[keyword..].starts_with("for");
        assert!(is_for || program[keyword..].starts_with("while"), "{}", &program[keyword..]);
        let mut at =
            keyword + program[keyword..].find(if is_for { ';' } else { '(' }).expect("its condition") + 1;
        if is_for && program[at..].trim_start().starts_with(';') {
            out.insert(at, '1');
        }
        let obligation = format!("((({invariant}) ? 0 : (reach_error(), 0)), 1) && ");
        at = at.min(out.len());
        out.insert_str(at, &obligation);
    }
    out
}

#[test]
fn invariants_of_a_proof_hold_where_the_witness_says() {
    let scratch = Scratch::new();
    let mut found = 0;
    for program in PROVED {
        scratch.write("test.c", program);
        scratch.run(&[&CHECK[..], &["w.yml", "test.c"]].concat()).expect(0, &["RESULT: true"]);
        let witness = std::fs::read_to_string(scratch.path().join("w.yml")).expect("a witness");
        assert!(witness.contains("CHECK( init(main()), LTL(G ! call(reach_error())) )"), "{witness}");
        let invariants = invariants(&witness);
        assert!(!invariants.is_empty(), "{program}");
        found += invariants.len();
        let asked = with_obligations(program, &invariants);
        scratch.write("asked.c", &asked);
        let said = scratch.run(&["check", "--no-cache", "--property", "unreach-call", "asked.c"]);
        assert_eq!(said.code, 0, "{witness}\n{asked}\n{}", said.all());
        // What does not hold is noticed.
        let (function, line, column, first) = invariants[0].clone();
        let wrong = with_obligations(program, &[(function, line, column, format!("!({first})"))]);
        scratch.write("wrong.c", &wrong);
        let said = scratch.run(&["check", "--no-cache", "--property", "unreach-call", "wrong.c"]);
        assert_eq!(said.code, 1, "{wrong}\n{}", said.all());
    }
    assert!(found >= 6, "{found} invariants");
}

const VIOLATED: &str = "extern void reach_error(void);
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int first = __VERIFIER_nondet_int(), sum = first;
    for (int i = 0; i < 3; i++) {
        int next = __VERIFIER_nondet_int();
        if (next < 0 || next > 9) return 0;
        sum = sum * 10 + next;
    }
    if (first == 4 && sum == 4711)
        reach_error();
    return 0;
}
";

#[test]
fn the_inputs_of_a_violation_reach_it() {
    let scratch = Scratch::new();
    scratch.write("test.c", VIOLATED);
    scratch.run(&[&CHECK[..], &["w.yml", "test.c"]].concat()).expect(1, &["RESULT: false(unreach-call)"]);
    let witness = std::fs::read_to_string(scratch.path().join("w.yml")).expect("a witness");
    let read: Value = serde_saphyr::from_str(&witness).expect("YAML");
    let mut values = Vec::new();
    let mut target = None;
    for content in read[0]["content"].as_array().expect("waypoints") {
        let waypoint = &content["segment"][0]["waypoint"];
        if waypoint["type"] == "target" {
            target = waypoint["location"]["line"].as_u64();
            continue;
        }
        let constraint = waypoint["constraint"]["value"].as_str().expect("a constraint");
        values.push(constraint.strip_prefix("\\result == ").expect("a value").to_owned());
    }
    assert_eq!(target, Some(11), "{witness}");
    let inputs = format!(
        "int __VERIFIER_nondet_int(void) {{ static const int values[] = {{{}}}; static int n; return values[n++]; }}",
        values.join(", ")
    );
    scratch.write("replayed.c", VIOLATED.replace("extern int __VERIFIER_nondet_int(void);", &inputs));
    let said = scratch.run(&[
        "check",
        "--no-cache",
        "--property",
        "unreach-call",
        "--engine",
        "concrete",
        "replayed.c",
    ]);
    said.expect(1, &["replayed.c:11:", "RESULT: false(unreach-call)"]);
}
