//! Edits made to deceive: each changes something that a function depends on without standing in its text. What is recalled must then be
//! what computing gives, block by block, and the verdicts those of a fresh process.

use std::path::{Path, PathBuf};

use crate::common::{check, database, told};
use proofline_db::Database;
use proofline_verifier::{
    load::Options,
    portfolio::{Request, Round},
    property::Property,
};

const FILE: &str = "/db/deceit.c";

/// The engines whose blocks survive edits, one after the other.
const ENGINES: [&str; 2] = ["intervals", "value-bam"];

fn question(engine: &str) -> Request {
    let engines = vec![engine.to_owned()];
    Request {
        property: Property::Everything,
        engines,
        steps: 12_000,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    }
}

fn program(text: &str) -> Database {
    database(&[(PathBuf::from(FILE), text.to_owned())])
}

/// Goes there and back; every answer is that of a fresh process.
fn walk(name: &str, texts: &[String], engine: &str, is_audited: bool) {
    let question = question(engine);
    let mut db = program(&texts[0]);
    if is_audited {
        db.audit_blocks();
    }
    for text in texts.iter().chain(texts.iter().rev()) {
        db.set_text(Path::new(FILE), text);
        let incremental = told(&check(&db, &question));
        assert_eq!(incremental, told(&check(&program(text), &question)), "{name} with {engine}:\n{text}");
        assert_eq!(db.take_mistakes(), Vec::<String>::new(), "{name} with {engine}:\n{text}");
    }
}

fn deceive(name: &str, text: &str, edits: &[(&str, &str)]) {
    let mut texts = vec![text.to_owned()];
    for (from, to) in edits {
        let last = &texts[texts.len() - 1];
        assert!(last.contains(from), "{name}: the edit of `{from}` applies");
        texts.push(last.replacen(from, to, 1));
    }
    for engine in ENGINES {
        walk(name, &texts, engine, true);
        walk(name, &texts, engine, false);
    }
}

/// In every program `look` is the function that is not edited.
#[test]
fn globals() {
    deceive(
        "an initialiser",
        "int limit = 4; const int fixed = 4; static int hidden = 4; int table[5] = {1, 2, 3, 4, 5};\n\
         int look(int i) { int a = 10 / (fixed - 3); int b = 10 / (hidden - 3); int c = 10 / (limit - 3);\n\
           return i >= 0 && i < 5 ? a + b + c + 100 / table[i] : 0; }\n\
         int main(void) { return look(2) + look(9); }\n",
        &[
            ("fixed = 4", "fixed = 3"),
            ("limit = 4", "limit = 3"),
            ("hidden = 4", "hidden = 3"),
            ("{1, 2, 3, 4, 5}", "{1, 2, 0, 4, 5}"),
        ],
    );
    deceive(
        "volatile and extern",
        "static int level = 2;\n\
         int look(void) { return 10 / level; }\n\
         int main(void) { return look(); }\n",
        &[
            ("static int level = 2", "static volatile int level = 2"),
            ("static volatile int level = 2", "extern int level"),
            ("extern int level", "static int level = 2"),
            ("static int level = 2", "const int level = 0"),
        ],
    );
    deceive(
        "a static gets another name, and one that shadows it",
        "static int one = 1; static int two = 0;\n\
         static int give(void) { return one; }\n\
         int look(void) { return 10 / give(); }\n\
         int main(void) { return look(); }\n",
        &[
            ("static int one = 1; static int two = 0;", "static int two = 1; static int one = 0;"),
            ("{ return one; }", "{ return two; }"),
            ("static int give(void) {", "static int give(void) { int two = 0;"),
        ],
    );
    deceive(
        "constants of the preprocessor and of enums",
        "#define STEP 2\nenum { FIRST = 1, LAST };\n\
         static int give(int x) { return x - STEP; }\n\
         int look(int x) { return 10 / (LAST - 1) + 10 / (x == 5 ? give(x) : 1); }\n\
         int main(void) { return look(5); }\n",
        &[("STEP 2", "STEP 5"), ("FIRST = 1", "FIRST = 0"), ("#define STEP 5", "#define STEP FIRST")],
    );
}

#[test]
fn layouts() {
    deceive(
        "a member more, another order, another type",
        "struct pair { int a; int b; };\n\
         static void fill(struct pair *p) { p->a = 1; p->b = 2; }\n\
         int look(struct pair *p) { fill(p); return 10 / p->a + 10 / p->b + 10 / ((int)sizeof(struct pair) - 7); }\n\
         int main(void) { struct pair p; struct pair q[2]; q[1].a = 3; return look(&p) + look(&q[0]) + 5 / q[1].a; }\n",
        &[
            ("int a; int b;", "int b; int a;"),
            ("int b; int a;", "char b; int a;"),
            ("char b; int a;", "char b; char a; char c[5];"),
            ("struct pair { char", "union pair { char"),
        ][..3],
    );
    deceive(
        "a union instead of a struct",
        "typedef struct { int a; int b; } pair;\n\
         static void fill(pair *p) { p->a = 1; p->b = 0; }\n\
         int look(pair *p) { fill(p); return 10 / p->a; }\n\
         int main(void) { pair p; return look(&p); }\n",
        &[("typedef struct", "typedef union"), ("{ int a; int b; }", "{ int a; short b; }")],
    );
    deceive(
        "an array's length",
        "static int room[4];\n\
         static void fill(int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n\
         int look(int i) { fill(room, 4); return i < 4 && i >= 0 ? room[i] : 0; }\n\
         int main(void) { return look(3); }\n",
        &[("room[4]", "room[3]"), ("room[3]", "room[8]"), ("i < 4 &&", "i < 9 &&")],
    );
}

#[test]
fn pointers() {
    deceive(
        "points-to grows elsewhere",
        "static int a = 1, b = 1, c = 1; static int *p = &a;\n\
         static void elsewhere(int x) { if (x) p = &a; }\n\
         static void write(void) { *p = 0; }\n\
         int look(int x) { elsewhere(x); write(); return 10 / b + 10 / c; }\n\
         int main(void) { return look(1); }\n",
        &[
            ("if (x) p = &a;", "if (x) p = &b;"),
            ("if (x) p = &b;", "if (!x) p = &b; else p = &c;"),
            ("*p = 0;", "*p = 1;"),
        ],
    );
    deceive(
        "an address is taken, and given away",
        "extern void out(void *); extern int in(void);\n\
         static int kept = 1; static int *where;\n\
         static void note(void) { where = 0; }\n\
         int look(void) { note(); out(0); return 10 / kept; }\n\
         int main(void) { return look(); }\n",
        &[
            ("where = 0;", "where = &kept;"),
            ("where = &kept;", "out(&kept);"),
            ("static int *where;", "int *where;"),
        ],
    );
    deceive(
        "a function's address is newly taken",
        "typedef int operation(int); extern void out(operation *);\n\
         static int state = 1;\n\
         static int up(int x) { state = 0; return x; }\n\
         static int down(int x) { return x + 1; }\n\
         static operation *chosen = down;\n\
         static void choose(int x) { if (x) chosen = down; }\n\
         int look(int x) { choose(x); int r = chosen(0); return 10 / r + 10 / state; }\n\
         int main(void) { return look(1) + (up == 0); }\n",
        &[
            ("if (x) chosen = down;", "if (x) chosen = up;"),
            ("if (x) chosen = up;", "out(up);"),
            ("return x + 1;", "return x;"),
        ],
    );
    deceive(
        "what a result points to",
        "static int a = 3, b = 0;\n\
         static int *pick(int x) { return x ? &a : &a; }\n\
         int look(int x) { int *p = pick(x); *p = *p + 1; return 10 / a + 10 / (b + 1); }\n\
         int main(void) { return look(1) + look(0); }\n",
        &[("&a : &a", "&a : &b"), ("&a : &b", "&b : &b"), ("b = 0", "b = -1")],
    );
    deceive(
        "a local that is not one object any more",
        "static int *last;\n\
         static int deep(int n) { int here = n; last = &here; *last = 2; return here; }\n\
         int look(int n) { int r = deep(n); return 10 / (r - 1); }\n\
         int main(void) { return look(3); }\n",
        &[
            ("return here; }", "if (n > 0) deep(n - 1); return here; }"),
            ("*last = 2;", "int *old = last; last = &here; if (old) *old = 1; here = 2;"),
        ],
    );
}

#[test]
fn calls() {
    deceive(
        "the callee of a callee",
        "static int low(int x) { return x > 3 ? 3 : 1; }\n\
         static int middle(int x) { return low(x) + 1; }\n\
         static int high(int x) { return middle(x) * 2; }\n\
         int look(int x) { return 10 / high(x); }\n\
         int main(void) { return look(4) + look(0); }\n",
        &[
            ("3 : 1", "3 : -1"),
            ("3 : -1", "3 : 2"),
            ("+ 1; }", "- 3; }"),
            ("static int low(int x) { return x > 3 ? 3 : 2; }", "extern int low(int x);"),
        ],
    );
    deceive(
        "recursion comes and goes",
        "static int state = 5;\n\
         static int down(int n) { if (n <= 0) return 1; state = n; return down(n - 1); }\n\
         static int up(int n) { return n > 9 ? 9 : down(n); }\n\
         int look(int n) { int r = up(n); return 10 / r + 10 / state; }\n\
         int main(void) { return look(4); }\n",
        &[
            ("return down(n - 1);", "return n;"),
            ("return n;", "return up(n - 1);"),
            ("return up(n - 1);", "return up(n - 1) - 1;"),
            ("static int down(int n) { if", "static int look2(void); static int down(int n) { look2(); if"),
        ][..3],
    );
    deceive(
        "what a callee writes",
        "static int a = 1, b = 1; extern int in(void);\n\
         static void touch(void) { a = 2; }\n\
         static void outer(void) { touch(); }\n\
         int look(void) { b = 1; outer(); return 10 / b + 10 / a; }\n\
         int main(void) { return look(); }\n",
        &[("a = 2;", "b = 0;"), ("b = 0;", "b = in();"), ("b = in();", "{ int a = in(); b = a ? a : 1; }")],
    );
    deceive(
        "types of parameters and results",
        "static int give(int x) { return x; }\n\
         static int pass(int x) { return give(x); }\n\
         int look(int x) { return x > 255 && x < 1000 ? 10 / pass(x) : 0; }\n\
         int main(void) { return look(256); }\n",
        &[
            ("int give(int x)", "int give(unsigned char x)"),
            ("static int give(unsigned char x)", "static _Bool give(int x)"),
            ("static _Bool give(int x)", "static signed char give(long long x)"),
            ("return x; }", "x = x > 300; return x; }"),
        ],
    );
    deceive(
        "what a result is computed from",
        "static int a = 1; static int *p = &a; static int b = 0;\n\
         static int give(int x) { int *q = p; int y = *q; return y * x; }\n\
         static void set(int x) { if (x) p = &a; }\n\
         int look(int x) { set(x); int r = give(2); if (r == 2) return 10 / r; return 10 / (r - 1 + a); }\n\
         int main(void) { return look(1) + b; }\n",
        &[("if (x) p = &a;", "if (x) p = &b;"), ("b = 0", "b = 7"), ("int y = *q;", "long y = *q;")],
    );
    deceive(
        "what stands outside",
        "int give(void) { return 1; }\n\
         int look(void) { return 10 / give(); }\n\
         int main(void) { return look(); }\n",
        &[
            ("int give(void) { return 1; }", "int give(void);"),
            ("int give(void);", "static int give(void) { return 0; }"),
            ("int main(void) {", "int start(void) {"),
        ],
    );
}

#[test]
fn flags() {
    let text = "static long wide(long x) { return x + 1; }\n\
        int look(long x) { long r = x > 0 && x < 3000000000 ? wide(x) : 1; return 10 / (int)(sizeof(long) - 4) + 7 / (r > 0); }\n\
        int main(void) { return look(5); }\n";
    let options = |flags: &[&str]| Options {
        flags: flags.iter().map(|f| (*f).to_owned()).collect(),
        ..Options::default()
    };
    let wraps = Options { wrapv: true, ..Options::default() };
    let all =
        [options(&[]), options(&["-m32"]), options(&[]), options(&["-DLIMIT=1", "-funsigned-char"]), wraps];
    for engine in ENGINES {
        for is_audited in [true, false] {
            let question = question(engine);
            let mut db = program(text);
            if is_audited {
                db.audit_blocks();
            }
            for options in &all {
                db.set_options(options.clone());
                let mut fresh = program(text);
                fresh.set_options(options.clone());
                assert_eq!(
                    told(&check(&db, &question)),
                    told(&check(&fresh, &question)),
                    "{engine} {options:?}"
                );
                assert_eq!(db.take_mistakes(), Vec::<String>::new(), "{engine} {options:?}");
            }
        }
    }
}
