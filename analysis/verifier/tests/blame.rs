//! Library code: what is the function's own fault, and what callers must see to.

use std::path::PathBuf;

use proofline_verifier::{
    load::{Options, load_texts},
    portfolio::{Control, InMemory, Request, Round, check},
    property::Property,
    report::{Overall, Report},
};

fn report(code: &str) -> Report {
    let texts = [(PathBuf::from("t.c"), code.to_owned())];
    let (subject, sources) = load_texts(&texts, &Options::default()).expect("loads");
    let request = Request {
        property: Property::Everything,
        engines: vec!["concrete".into(), "intervals".into()],
        steps: 100_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    };
    let memory = InMemory { subject: &subject, sources: &sources };
    check(&memory, &request, &[], &Control::default()).unwrap_or_else(|never| match never {})
}

/// `entry: manifest`, `entry: requires …`, `entry: can fail when …`, `entry: depends on …`
fn blames(code: &str) -> Vec<String> {
    let mut all: Vec<String> = report(code)
        .findings
        .iter()
        .map(|finding| format!("{}: {}", finding.counterexample.entry, finding.blame))
        .collect();
    all.sort();
    all
}

#[test]
fn arguments_are_the_callers_matter() {
    let code = "struct n { int v; };
        int first(struct n *p) { return p->v; }
        int divide(int a, unsigned char b) { return a / b; }
        static int inverse(int x) { return 100 / x; }
        int outer(int y) { return inverse(y); }
        int fill(int n) { int a[10]; for (int i = 0; i < n; i++) a[i] = i; return 0; }
        int scale; int by_global(void) { return 5 % scale; }";
    assert_eq!(
        blames(code),
        [
            "by_global: requires `scale != 0`",
            "divide: requires `b != 0`",
            "fill: can fail when `n > 10`",
            "first: requires `p != NULL`",
            "outer: requires `y != 0`",
        ]
    );
}

#[test]
fn a_global_s_part_is_named_also_when_its_address_was_passed_on() {
    let code = "struct limits { int least, most; };
        static struct limits own = { 1, 2 };
        static int share(const struct limits *p) { return 100 / p->most; }
        void set(int n) { own.most = n; }
        int by_address(void) { const struct limits *p = &own; return share(p); }";
    assert_eq!(blames(code), ["by_address: requires `own.most != 0`"]);
}

#[test]
fn what_no_argument_avoids_is_the_functions_own() {
    let code = "int always(void) { int a[3]; a[3] = 1; return 0; }
        static int inverse(int x) { return 100 / x; }
        int wrong(void) { return inverse(0); }
        int input(void); int outside(void) { return 7 / input(); }
        int half(int n) { if (n < 0) { int d = 0; return n / d; } return n / 2; }";
    assert_eq!(
        blames(code),
        ["always: manifest", "half: manifest", "outside: can fail when `input(…) == 0`", "wrong: manifest"]
    );
}

#[test]
fn what_contradicts_the_functions_own_tests_is_its_own() {
    let code = "struct n { int v; };
        int null(struct n *p) { if (p == 0) return p->v; return 0; }
        int least(int x) { if (x == -2147483647 - 1) return -x; return 0; }
        int shift(int k) { if (k > 40) return 1 << k; return 0; }
        int not_this_one(int k, int j) { if (j > 40) return 1 << k; return 0; }";
    assert_eq!(
        blames(code),
        [
            "least: manifest",
            "not_this_one: requires `k < 32`",
            "not_this_one: requires `k >= 0`",
            "null: manifest",
            "shift: manifest"
        ]
    );
}

#[test]
fn latent_failures_are_no_failures_of_a_library_and_no_proof_either() {
    let code = "int divide(int a, unsigned char b) { return a / b; }";
    let report = report(code);
    assert_eq!(report.failures().count(), 0);
    assert_eq!(report.latent().count(), 1);
    assert!(matches!(report.overall(), Overall::Unknown(_)));
}

#[test]
fn what_unknown_functions_write_is_not_the_function_s_fault() {
    let code = "extern void ask(int *);
        int twice(void) { int n; ask(&n); return 2 * n; }
        int own(void) { int n, zero = 0; ask(&n); return n / zero; }";
    assert_eq!(blames(code), ["own: manifest", "twice: depends on ask"]);
}

#[test]
fn what_an_unknown_function_returns_is_named_and_nobody_s_requirement() {
    let code = "struct n { int v; };
        struct n *find(int); int count(void);
        int value(int k) { struct n *p = find(k); return p->v; }
        static int share(int n) { return 100 / n; }
        int inner(void) { int n = count(); return share(n); }
        int two(void) { int a = count(), b = count(); if (a == 0) return 0; return 7 / b; }
        int own(int k) { struct n *p = find(k); if (p == 0) return p->v; return 0; }
        int fill(void) { int a[4], n = count(); for (int i = 0; i < n; i++) a[i] = i; return 0; }";
    assert_eq!(
        blames(code),
        [
            "fill: can fail when `count(…) > 4`",
            "inner: can fail when `count(…) == 0`",
            "own: manifest",
            "two: can fail when `count(…) == 0`",
            "value: can fail when `find(…) == NULL`",
        ]
    );
}

#[test]
fn what_is_handed_on_by_the_address_of_a_local_is_followed() {
    let code = "struct job { int (*write)(int); int size; };
        static int put(struct job *j, int c) { if (j->size == 0) return 0; return j->write(c); }
        int start(int (*write)(int), int n) { struct job j; j.write = write; j.size = n; return put(&j, 1); }
        static void set(int *to, int value) { *to = value; }
        int ratio(int n) { int d; set(&d, n); return 6 / d; }
        static int part(struct job j) { return 9 / j.size; }
        int by_copy(int n) { struct job a, b; a.size = n; b = a; return part(b); }
        int by_value(struct job j) { return 8 / j.size; }
        int cleared(int n) { struct job j; j.size = n; __builtin_memset(&j, 0, sizeof j); return 7 / j.size; }";
    assert_eq!(
        blames(code),
        [
            "by_copy: requires `n != 0`",
            "by_value: requires `j.size != 0`",
            "cleared: manifest",
            "ratio: requires `n != 0`",
            "start: requires `write != NULL`",
        ]
    );
}

#[test]
fn the_last_unknown_function_that_could_write_it_is_named() {
    let code = "void begin(void); void read_size(int *);
        int twice(void) { int n; begin(); read_size(&n); return 2 * n; }
        void each(void (*)(int *));
        static void one(int *p) { *p = 1; }
        void all(void) { each(one); }
        struct s { int a, b; }; struct s *make(void);
        static int *first(struct s *p) { return &p->a; }
        int made(void) { return *first(make()); }";
    assert_eq!(
        blames(code),
        [
            "all: depends on each",
            "made: can fail when `make(…) == NULL`",
            // Whoever was given its address calls it, too.
            "one: requires `p != NULL`",
            "twice: depends on read_size",
        ]
    );
}

#[test]
fn what_nobody_could_read_is_not_said() {
    let code = "int count(void); int more(int);
        int between(void) { int a = count(), b = count(); return a - b; }
        int last(int from) { int n = 1; while (more(n)) n = 2 * n; return n - from; }";
    assert_eq!(blames(code), ["between: depends on count", "last: depends on more", "last: depends on more"]);
}
