//! Relations: zones keep every valuation that satisfies what was asked of them, the operators obey the laws, and every state of a concrete run is in
//! the abstract ones along its path, arguments and results included.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Base, Entry, Expr, Function, IntType, LocalId, Lvalue, Name, Object, Op, Scalar, eval, scalar_of,
};
use proofline_cpa::{Adjusted, CallContext, Cpa, EdgeContext, LocationContext, NoFacts};
use proofline_domains::{
    IntervalAnalysis, RelationAnalysis,
    relation::{Cell, Dim, Null, Relations, Tag, Var, Zone},
};
use proofline_program_analysis::Environment;
use proptest::{collection::vec, prelude::*};

use crate::{
    common::{environment, explore, explore_some, intervals, local},
    concrete::{Did, Instance, Machine},
    driver::laws,
    generate,
};

const NUMBERS: u32 = 5;

fn dim(at: u32) -> Dim {
    Dim::Value(Var::Local(LocalId(at)), IntType { bits: 16, signed: true })
}

/// What is asked of a zone: differences and bounds that this valuation satisfies, more or less tightly.
fn zone_of(valuation: &[i128], asked: &[(u32, u32, i128)]) -> Zone {
    let mut zone = Zone::default();
    for (x, y, loose) in asked {
        let (x, y) = (x % NUMBERS, y % NUMBERS);
        let (a, b) = (valuation[x as usize], valuation[y as usize]);
        let holds = if x == y {
            zone.bound(dim(x), a - loose, a + loose)
        } else {
            zone.constrain(dim(x), dim(y), a - b + loose)
        };
        assert!(holds, "{valuation:?} satisfies it");
    }
    zone
}

fn holds(zone: &Zone, valuation: &[i128]) -> bool {
    let of = |dim: Dim| valuation[dim.local().expect("a local").index()];
    zone.differences().all(|(x, y, most)| of(x) - of(y) <= most)
        && zone.all_bounds().all(|(x, (low, high))| low <= of(x) && of(x) <= high)
}

fn valuation() -> impl Strategy<Value = Vec<i128>> {
    vec(-30i128..30, NUMBERS as usize)
}

fn asked() -> impl Strategy<Value = Vec<(u32, u32, i128)>> {
    vec((0..NUMBERS, 0..NUMBERS, 0i128..6), 0..9)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn zones_are_upper_bounds(a in valuation(), b in valuation(), of_a in asked(), of_b in asked()) {
        let (one, two) = (zone_of(&a, &of_a), zone_of(&b, &of_b));
        prop_assert!(holds(&one, &a) && holds(&two, &b));
        prop_assert!(one.leq(&one));
        for upper in [one.join(&two), one.widen(&two)] {
            prop_assert!(one.leq(&upper) && two.leq(&upper), "{one:?}\n{two:?}\n{upper:?}");
            prop_assert!(holds(&upper, &a) && holds(&upper, &b));
        }
        if one.leq(&two) {
            prop_assert!(holds(&two, &a));
        }
        for x in 0..NUMBERS {
            for y in 0..NUMBERS {
                prop_assert!(a[x as usize] - a[y as usize] <= one.distance(dim(x), dim(y)));
            }
        }
    }

    #[test]
    fn what_follows_from_two_differences_is_known(x in -9i128..9, y in -9i128..9) {
        let mut zone = Zone::default();
        prop_assert!(zone.constrain(dim(0), dim(1), x) && zone.constrain(dim(1), dim(2), y));
        prop_assert_eq!(zone.distance(dim(0), dim(2)), x + y);
        prop_assert_eq!(zone.constrain(dim(2), dim(0), -x - y - 1), false);
    }

    #[test]
    fn widening_ends(start in asked(), a in valuation(), more in vec((valuation(), asked()), 40)) {
        let mut zone = zone_of(&a, &start);
        let mut changes = 0;
        for (valuation, asked) in &more {
            let next = zone.widen(&zone.join(&zone_of(valuation, asked)));
            changes += usize::from(next != zone);
            zone = next;
        }
        prop_assert!(changes <= 30, "{changes} steps: {zone:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn relations_obey_the_laws(choices in vec(any::<u8>(), 0..80)) {
        let code = generate::program(&choices);
        let env = environment(&code);
        // Beside intervals, which bound recursion.
        let analysis = (intervals(&env), relations(&env));
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), ((), ()), 100_000, |_, _| false);
        laws(&analysis, &env, &explored, &[], &code);
    }

    #[test]
    fn relations_of_members_obey_the_laws(choices in vec(any::<u8>(), 0..60)) {
        let code = structures(&choices);
        let env = environment(&code);
        let analysis = (intervals(&env), relations(&env));
        let (explored, _) = explore_some(&analysis, &env, Name::new("main"), ((), ()), 20_000, |_, _| false);
        laws(&analysis, &env, &explored, &[], &code);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_are_followed(choices in vec(any::<u8>(), 0..120), seed in any::<u64>()) {
        let code = generate::program(&choices);
        follow(&code, seed);
    }

    #[test]
    fn runs_of_loops_over_arrays_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&arrays(&choices), seed);
    }

    #[test]
    fn runs_that_change_structures_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&structures(&choices), seed);
    }

    #[test]
    fn runs_that_change_globals_are_followed(choices in vec(any::<u8>(), 0..60), seed in any::<u64>()) {
        follow(&globals(&choices), seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_over_matrices_are_followed(choices in vec(any::<u8>(), 0..100), seed in any::<u64>()) {
        follow(&matrices(&choices), seed);
    }

    #[test]
    fn runs_along_paths_are_followed(choices in vec(any::<u8>(), 0..160), seed in any::<u64>()) {
        follow(&paths(&choices), seed);
    }
}

fn relations(env: &Arc<Environment>) -> RelationAnalysis {
    RelationAnalysis::new(env.clone(), Entry::main()).with_globals()
}

/// Programs about numbers in objects with static storage, which functions change and give back; of two of them somebody has the address.
fn globals(choices: &[u8]) -> String {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut one = |of: &[&str]| {
        let at = choices.next().unwrap_or(0);
        of[usize::from(at) % of.len()].to_owned()
    };
    let mut text = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
int ga, gb = 3, gc; unsigned gu = 7; unsigned char gk = 250; static long gl; int seen, *which = &seen;
static int next(void) { ga = ga + 1; return ga; }
static int last(int x) { int old = gb; gb = x; return old; }
static void move(int by) { if (by > gb) gb = by; else gc = gb; gu = gu + 1; }
static unsigned unchanged(unsigned n) { return n + (gu < 9); }
static void checked(int condition) { if (!condition) gc = gc + 1; }
static void twice(int x) { move(x); ga = x; move(ga); }
static void deep(int n) { if (n > 0) { gc = gc + 1; deep(n - 1); gb = gc; } }
static void through(int *p, int x) { *p = x; ga = *p; }
int main(void) {
int a = 1, b = __VERIFIER_nondet_int(); unsigned n = __VERIFIER_nondet_uchar(), i = 0; unsigned char u = 250; long d = 0; int *p = &gc;
"
    .to_owned();
    if one(&["p", "q"]) == "q" {
        // Then nobody has its address.
        text = text.replace("*p = &gc;", "*p = &seen;");
    }
    let numbers = ["ga", "gb", "gc", "gu", "gk", "gl", "seen", "a", "b", "n", "i", "u", "d"];
    for _ in 0..11 {
        let (x, y, z) = (one(&numbers), one(&numbers), one(&numbers));
        let k = one(&["1", "2", "3", "-1", "255", "4294967295u", "-2"]);
        let compared = one(&["<", "<=", ">", "!=", "=="]);
        let calls = ["next()", "last(a)", "move(gb)", "unchanged(gu)", "twice(b)", "deep(3)"];
        text += &match one(&["=", "+", "-", "for", "while", "if", "do", "get", "with", "put", "far", "cmp"])
            .as_str()
        {
            "=" => format!("{x} = {y};\n"),
            "+" => format!("{x} = {y} + {k};\n"),
            "-" => format!("{x} = {y} - {z};\n"),
            "for" => {
                format!("for ({x} = 0; {x} < {y} && __VERIFIER_nondet_uchar() > 9; {x}++) {z} = {x} + 1;\n")
            }
            "while" => {
                format!("while ({x} {compared} {y} && __VERIFIER_nondet_uchar() > 99) {{ {x}++; {z}--; }}\n")
            }
            "if" => {
                format!("if ({x} {compared} {y}) {z} = {x}; else {{ {z} = {y} + {k}; {}; }}\n", one(&calls))
            }
            "do" => format!("{};\n", one(&calls)),
            "get" => format!(
                "{x} = {};\n",
                one(&["next()", "last(gb)", "last(gc)", "unchanged(gu)", "unchanged(n)"])
            ),
            "with" => format!("{}({x});\n", one(&["last", "move", "twice", "unchanged"])),
            "put" => format!("*p = {x}; {y} = *which;\n"),
            "cmp" => format!("{x} = {y} {compared} {z} + ({k}); checked({y} {compared} {z});\n"),
            _ => format!("through(p, {x}); if ({y} {compared} {z}) which = p;\n"),
        };
    }
    text + "return 0; }\n"
}

/// Programs about indices, lengths and pointers into objects whose size is a number of the program.
fn arrays(choices: &[u8]) -> String {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut one = |of: &[&str]| {
        let at = choices.next().unwrap_or(0);
        of[usize::from(at) % of.len()].to_owned()
    };
    let mut text = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
void *malloc(unsigned long); void *realloc(void *, unsigned long); void free(void *);
static int least(int x, int y) { if (x < y) return x; return y; }
static unsigned part(unsigned n) { n = n / 2; return n; }
static char *skip(char *s, char *e) { while (s < e && __VERIFIER_nondet_uchar() > 99) s++; return s; }
static int *make(unsigned n) { return malloc(n * sizeof(int)); }
static char *string(unsigned n) { char *s = malloc(n + 1); if (!s) return 0; for (unsigned i = 0; i < n; i++) s[i] = __VERIFIER_nondet_uchar(); s[n] = 0; return s; }
unsigned long strlen(const char *); unsigned long strcspn(const char *, const char *); char *strchr(const char *, int);
void *memcpy(void *, const void *, unsigned long); void *memset(void *, int, unsigned long);
static int total(const int *r, int n) { int t = 0; for (int i = 0; i < n; i++) t ^= r[i]; return t; }
static int length(const char *s) { const char *p = s; while (*p) p++; return (int)(p - s); }
int main(void) {
unsigned n = __VERIFIER_nondet_uchar(), m = 3, i = 0, j = 0; int a = 1, b = __VERIFIER_nondet_int(), c = 0; unsigned char u = 250; signed char h = 3;
char t[12] = {0}, *p = t, *e = t + sizeof t, *f = 0; int *w = make(n), v[5] = {0}, *x = v, r[7]; char *g = malloc(n + 1);
long d = 0; unsigned long z = 7; int *s = 0; unsigned k = 0, o = 0;
"
    .to_owned();
    let (numbers, pointers) = (["n", "m", "i", "j", "a", "b", "c", "u", "h", "d", "z"], ["p", "e", "f", "g"]);
    for _ in 0..9 {
        let (x, y, z) = (one(&numbers), one(&numbers), one(&numbers));
        let (p, q) = (one(&pointers), one(&pointers));
        let k = one(&["1", "2", "3", "-1", "255", "4294967295u", "-2"]);
        let compared = one(&["<", "<=", ">", "!=", "=="]);
        text += &match one(&[
            "=", "+", "-", "for", "while", "if", "min", "part", "move", "until", "skip", "diff", "cast",
            "mod", "mid", "new", "int", "end", "walk", "put", "copy", "string", "set", "length", "strlen",
            "span", "memcpy", "memset", "fill", "read", "find", "grow", "push", "class", "twice", "free",
        ])
        .as_str()
        {
            "=" => format!("{x} = {y};\n"),
            "+" => format!("{x} = {y} + {k};\n"),
            "-" => format!("{x} = {y} - {z};\n"),
            "for" => format!("for ({x} = 0; {x} < {y}; {x}++) {z} = {x} + 1;\n"),
            "while" => format!("while ({x} {compared} {y} && __VERIFIER_nondet_uchar() > 99) {x}++;\n"),
            "if" => format!("if ({x} {compared} {y}) {z} = {x}; else {z} = {y} + {k};\n"),
            "min" => format!("{x} = least({y}, {z});\n"),
            "part" => format!("{x} = part({y});\n"),
            "move" => format!("if ({q}) {p} = {q} + {k};\n"),
            "until" => format!("if ({p} && {q}) while ({p} {compared} {q}) {p}++;\n"),
            "skip" => format!("if ({p} && {q}) {p} = skip({p}, {q});\n"),
            "diff" => format!("if ({p} && {q}) {x} = {p} - {q};\n"),
            "cast" => format!("{x} = (unsigned char){y};\n"),
            "mod" => format!("if ({y}) {x} = {z} % {y};\n"),
            "mid" => format!("{x} = {y} + ({z} - {y}) / 2;\n"),
            "new" => format!("g = malloc({x}); if (g && {x} > 0) *g = 1;\n"),
            "end" => format!("if ({p} && {q}) {p}[{k} & 3] = 0;\n"),
            "walk" => format!("if ({p}) while (*{p} {compared} 0) {p}++;\n"),
            "put" => format!("if ({p}) *{p} = {x};\n"),
            "copy" => format!("if ({p} && {q}) while ((*{p}++ = *{q}++) != 0) {x}++;\n"),
            "string" => format!("g = string({x} & 15);\n"),
            "set" => {
                format!("if ({p} && {q}) {{ c = *{p}; {p}++; if (c == *{q}) {q}++; else if (c) {z}++; }}\n")
            }
            "length" => format!("if ({p}) {x} = length({p});\n"),
            "strlen" => format!("if ({p}) z = strlen({p});\n"),
            "span" => format!("if ({p}) {{ z = strcspn({p}, \"a\"); {q} = {p} + z; *{q} = 0; }}\n"),
            "memcpy" => format!("if ({p} && {q} && {x} < 9) memcpy({p}, {q}, {x});\n"),
            "memset" => format!("if ({p} && {x} < 9) memset({p}, {y}, {x});\n"),
            "fill" => format!("for ({x} = 0; {x} < 7 && {x} >= 0; {x}++) r[{x}] = {y};\n"),
            "read" => format!("if ({x} < 7) c = total(r, {x});\n"),
            "grow" => format!("{{ char *o = realloc(g, {x}); if (o) g = o; if ({p} && o) {z} = *{p}; }}\n"),
            "push" => "if (k == o) { unsigned n = o ? o * 2 : 2; int *l = realloc(s, n * sizeof *l); if (l) { s = l; o = n; } } if (s && k < o) s[k++] = (int)b;\n".to_owned(),
            "class" => format!("if ({p}) while (((*{p} & 127) >> 2) & 3) {p}++;\n"),
            "twice" => format!("{x} = {y} * 2; {z} = {y} << 1;\n"),
            "free" => format!("free(g); g = 0; {p} = t;\n"),
            "find" => format!("if ({p}) {{ {q} = strchr({p}, 'a'); if ({q}) *{q}++ = 0; }}\n"),
            _ => format!("x = v + ({x} & 3); if (w && {x} < n) w[{x}] = 1;\n"),
        };
    }
    text + "return 0; }\n"
}

/// Programs about numbers and pointers that are members: arrays that grow, strings, copies, structures that lead to each other.
fn structures(choices: &[u8]) -> String {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut one = |of: &[&str]| {
        let at = choices.next().unwrap_or(0);
        of[usize::from(at) % of.len()].to_owned()
    };
    let mut text = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
void *malloc(unsigned long); void *calloc(unsigned long, unsigned long); void *realloc(void *, unsigned long); void free(void *);
void *memset(void *, int, unsigned long); void *memcpy(void *, const void *, unsigned long); unsigned long strlen(const char *);
struct vec { int *items; unsigned len, cap; };
struct text { char *s; unsigned long n; short k; };
struct two { struct vec in; struct text *t; struct two *other; int a[3]; };
union both { int i; unsigned u; unsigned char c[8]; int *p; };
static struct vec left; static struct two pair = { .in = { 0, 3, 4 }, .a = { 1, 2 } }; static int count; static char *kept;
static int push(struct vec *v, int x) {
  if (v->len == v->cap) { unsigned n = v->cap ? v->cap * 2 : 2; int *l = realloc(v->items, n * sizeof *l); if (!l) return -1; v->items = l; v->cap = n; }
  v->items[v->len++] = x; return 0; }
static int pop(struct vec *v) { if (v->len == 0) return 0; return v->items[--v->len]; }
static void clear(struct vec *v) { free(v->items); v->items = 0; v->len = v->cap = 0; }
static unsigned room(struct vec v) { v.len = v.len + 0; return v.cap - v.len; }
static struct vec make(unsigned n) { struct vec v = {0}; v.items = malloc(n * sizeof(int)); if (v.items) v.cap = n; return v; }
static void set(struct text *t, char *s, unsigned long n) { t->s = s; t->n = n; t->k++; kept = s; }
static struct text *text(unsigned n) { struct text *t = malloc(sizeof *t); if (!t) return 0; t->n = n; t->k = 1; t->s = malloc(n + 1); if (t->s) { for (unsigned i = 0; i < n; i++) t->s[i] = 'a'; t->s[n] = 0; } return t; }
static void swap(struct vec *a, struct vec *b) { struct vec c = *a; *a = *b; *b = c; }
static void both(unsigned *a, unsigned *b) { *a = *b + 1; *b = *a; }
static void link(struct two *a, struct two *b) { a->other = b; if (b) b->a[0] = a->a[1] + 1; }
static unsigned last(unsigned *p) { unsigned old = *p; *p = old + 1; return old; }
int main(void) {
struct vec v = {0}, w = {0}, *p = &v, *q = &w; struct two s = {0}, *r = &s, *z = 0; struct text t = {0}, *h = 0; union both u = {0};
unsigned n = __VERIFIER_nondet_uchar() & 15, i = 0; int x = 1; char *c = 0; unsigned *k = &w.len;
"
    .to_owned();
    let vectors = ["&v", "&w", "p", "q", "&left", "&s.in", "&r->in", "&pair.in"];
    let numbers = [
        "p->len",
        "q->cap",
        "v.len",
        "w.len",
        "left.len",
        "s.in.len",
        "r->in.cap",
        "pair.in.len",
        "n",
        "i",
        "*k",
        "u.u",
    ];
    for _ in 0..11 {
        let (a, b) = (one(&vectors), one(&vectors));
        let (m, l) = (one(&numbers), one(&numbers));
        let compared = one(&["<", "<=", ">", "!=", "=="]);
        text += &match one(&[
            "push", "pop", "clear", "make", "room", "swap", "aim", "set", "if", "copy", "zero", "union",
            "text", "len", "both", "link", "last", "walk", "array", "loop", "calloc", "drop", "follow",
            "global", "byte", "null",
        ])
        .as_str()
        {
            "push" => format!("x = push({a}, x);\n"),
            "pop" => format!("x = pop({a});\n"),
            "clear" => format!("clear({a});\n"),
            "make" => format!("{} = make({m} & 7);\n", one(&["v", "w", "left", "s.in", "*p"])),
            "room" => format!("n = room(*({a})) & 15;\n"),
            "swap" => format!("swap({a}, {b});\n"),
            "aim" => format!("p = {a}; q = {b};\n"),
            "set" => format!("{m} = {l};\n"),
            "if" => format!("if ({m} {compared} {l}) {m} = {l} + 1; else i = {m};\n"),
            "copy" => format!("{} = *({b});\n", one(&["v", "w", "left", "s.in", "*p"])),
            "zero" => format!("memset({a}, 0, sizeof(struct vec));\n"),
            "union" => format!(
                "{};\n",
                one(&["u.i = x", "u.p = p->items", "n = u.u & 15", "u.c[1] = 7", "x = u.i", "u.u = n"])
            ),
            "text" => format!("h = text({m} & 7); if (h && h->s) {{ t = *h; c = h->s; }}\n"),
            "len" => "if (c) { t.n = strlen(c); set(&t, c, t.n); }\n".to_owned(),
            "both" => format!("both(&{m}, &{l});\n"),
            "link" => format!(
                "link({}, {});\n",
                one(&["&s", "&pair", "r"]),
                one(&["&s", "&pair", "r", "0", "r->other"])
            ),
            "last" => format!("{m} = last(&{l});\n"),
            "walk" => "if (r->other) r = r->other;\n".to_owned(),
            "array" => format!("s.a[{m} % 3] = x; x = pair.a[1]; pair.a[{l} % 3] = (int)n;\n"),
            "loop" => format!(
                "for (i = 0; i < ({a})->len && __VERIFIER_nondet_uchar() > 99; i++) x ^= ({a})->items[i];\n"
            ),
            "calloc" => format!("z = calloc(1, sizeof *z); if (z) {{ z->in.len = {m}; r = z; }}\n"),
            "drop" => "free(z); z = 0; r = &s;\n".to_owned(),
            "follow" => "if (h) { h->n = h->n + 1; c = h->s; } if (kept) *kept = 0;\n".to_owned(),
            "global" => format!("count = (int)left.len; left.cap = {m}; count++;\n"),
            "byte" => format!("*((unsigned char *){a} + (n & 15)) = (unsigned char)x;\n"),
            _ => format!(
                "({a})->items = 0; ({a})->len = 0; ({a})->cap = 0; if ({m} {compared} {l}) k = &({b})->len;\n"
            ),
        };
    }
    text + "return 0; }\n"
}

/// Programs about what lies in arrays and behind pointers to pointers, wherever an index or a pointer says, and about what changes it.
fn paths(choices: &[u8]) -> String {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut one = |of: &[&str]| {
        let at = choices.next().unwrap_or(0);
        of[usize::from(at) % of.len()].to_owned()
    };
    let mut text = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
void *malloc(unsigned long); void free(void *); void *memcpy(void *, const void *, unsigned long);
void *memset(void *, int, unsigned long); void *memmove(void *, const void *, unsigned long);
struct node { struct node *next; int v; int a[3]; };
static int ga[5] = {1, 2, 3, 4, 5}, gi; static struct node *gn; static int *gp = ga;
static void set(int *p, int x) { *p = x; }
static int at(const int *p, int i) { return p[i]; }
static void step(int **p) { *p = *p + 1; }
static struct node *push(struct node *l, int v) { struct node *n = malloc(sizeof *n); if (!n) return l; n->next = l; n->v = v; n->a[0] = n->a[1] = n->a[2] = v; return n; }
static void change(struct node *l) { if (l) { l->v = l->v + 1; l->next = gn; gi++; } }
static int look(const struct node *l) { return l && l->next ? l->next->v : 0; }
int main(void) {
int v[5] = {3, 1, 4, 1, 5}, w[5] = {0}, i = 0, j = 1, k = 2, x = 0, y = 7; int *p = v, *q = w, *t[4] = {v, w, ga, v + 1}, **r = t; int m[3][2] = {{1}};
struct node s = {0}, u = {&s, 2, {1, 2, 3}}, *l = &u, *z = &s, *n[3] = {&s, &u, 0}; unsigned char c = 0; s.v = 4;
"
    .to_owned();
    let places = [
        "v[i & 3]",
        "v[j % 5]",
        "w[k & 3]",
        "p[i & 1]",
        "q[j & 1]",
        "*t[i & 3]",
        "t[j & 3][k & 1]",
        "**r",
        "ga[i & 3]",
        "m[i % 3][j & 1]",
        "l->next->v",
        "l->a[i % 3]",
        "l->next->a[0]",
        "n[i & 1]->v",
        "n[j & 1]->next->v",
        "gp[i & 1]",
        "z->v",
        "*p",
        "*q",
        "gn->v",
    ];
    let pointers = ["t[i & 3]", "t[j & 3]", "*r", "p", "q", "gp", "r[1]"];
    let nodes = ["l", "z", "l->next", "n[i & 1]", "n[j % 3]", "gn", "z->next", "l->next->next"];
    // Few of them, so that they meet.
    let places: Vec<String> = (0..3).map(|_| one(&places)).collect();
    let pointers: Vec<String> = (0..2).map(|_| one(&pointers)).collect();
    let nodes: Vec<String> = (0..3).map(|_| one(&nodes)).collect();
    let few = |of: &[String], nth: &str| of[nth.len() % of.len()].clone();
    for _ in 0..12 {
        let mut some = |of: &[String]| few(of, &one(&["", "x", "xx"]));
        let (a, b, d) = (some(&places), some(&places), some(&places));
        let (p, q) = (some(&pointers), some(&pointers));
        let (n, o) = (some(&nodes), some(&nodes));
        let x = one(&["x", "y", "i", "j", "k", "gi"]);
        let compared = one(&["<", "<=", ">", "!=", "==", ">="]);
        let number = one(&["0", "1", "2", "5", "-1", "x", "y", "i"]);
        text += &match one(&[
            "if", "both", "assign", "copy", "index", "read", "move", "point", "null", "link", "node", "set",
            "step", "push", "change", "look", "bytes", "clear", "free", "while", "swap", "string",
        ])
        .as_str()
        {
            "if" => format!("if ({a} {compared} {number}) {x} = {b}; else {a} = {number};\n"),
            "both" => format!("if ({a} {compared} {b}) {{ {d} = {x}; y = {a}; x = {b}; }}\n"),
            "assign" => format!("{a} = {number};\n"),
            "copy" => format!("{a} = {b};\n"),
            "index" => format!("{x} = {x} + 1; {x} &= 7;\n"),
            "read" => format!("{x} = {a};\n"),
            "move" => format!("if ({p} < v + 4 && {p} >= v) {{ {p} = {p} + 1; {a} = 2; }}\n"),
            "point" => format!("{p} = {q};\n"),
            "null" => format!("if ({n}) {{ {x} = {n}->v; {n}->v = {number}; }} else {a} = 1;\n"),
            "link" => format!("if ({n}) {n}->next = {o};\n"),
            "node" => format!("if ({o}) {n} = {o};\n"),
            "set" => format!("set(&{a}, {number});\n"),
            "step" => "if (*r >= v && *r < v + 4) step(r); x = at(*r, 0);\n".to_owned(),
            "push" => format!("z = push({n}, {number});\n"),
            "change" => format!("change({n}); if ({n} && {n}->next) x = {n}->next->v;\n"),
            "look" => format!("{x} = look({n});\n"),
            "bytes" => format!("memcpy({p}, {q}, 4); if ({a} {compared} {b}) {x} = {a};\n"),
            "clear" => format!("if ({a} {compared} {number}) {{ memset({p}, 0, 4); {x} = {a}; }}\n"),
            "free" => "if (z != &s && z != &u && z == gn) { free(z); z = gn = 0; }\n".to_owned(),
            "while" => format!(
                "while ({a} {compared} {number} && __VERIFIER_nondet_uchar() > 99) {{ {x} = ({x} + 1) & 7; {b} = {x}; }}\n"
            ),
            "swap" => format!("{{ int h = {a}; {a} = {b}; {b} = h; }}\n"),
            _ => format!("c = (unsigned char){a}; r = &t[c & 3]; if (*r == {p}) **r = {number};\n"),
        };
    }
    text + "return 0; }\n"
}

/// Programs about products of two numbers, of which each may change: sizes of matrices, and places in them.
fn matrices(choices: &[u8]) -> String {
    let mut choices = choices.iter().copied().chain(std::iter::repeat(0));
    let mut one = |of: &[&str]| {
        let at = choices.next().unwrap_or(0);
        of[usize::from(at) % of.len()].to_owned()
    };
    let mut text = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
void *malloc(unsigned long); void *calloc(unsigned long, unsigned long); void free(void *);
static int sum(const int *m, unsigned n, unsigned w) { int s = 0; for (unsigned i = 0; i < n; i++) for (unsigned j = 0; j < w; j++) s ^= m[i * w + j]; return s; }
static unsigned size(unsigned n, unsigned w) { n = n + 0; return n * w; }
static unsigned area(int a, int b, unsigned n) { if (a > 0 && b > 0 && (unsigned)(a * b) < n) return (unsigned)a; return 0; }
int main(void) {
unsigned n = __VERIFIER_nondet_uchar() & 7, w = __VERIFIER_nondet_uchar() & 7, i = 0, j = 0, k = 0; int a = 3, b = -2, c = 4, x = 0; int *m = 0, *r = 0; unsigned *at = &w;
"
    .to_owned();
    let unsigned = ["n", "w", "i", "j", "k"];
    let signed = ["a", "b", "c"];
    for _ in 0..11 {
        let (x, y, z) = (one(&unsigned), one(&unsigned), one(&unsigned));
        let (p, q, o) = (one(&signed), one(&signed), one(&signed));
        let compared = one(&["<", "<=", ">", "!=", "==", ">="]);
        let number = one(&["0", "1", "3", "7"]);
        text += &match one(&[
            "through",
            "malloc",
            "calloc",
            "row",
            "loops",
            "all",
            "product",
            "compare",
            "signed",
            "change",
            "sum",
            "size",
            "area",
            "elsewhere",
            "shrink",
            "index",
            "index",
        ])
        .as_str()
        {
            "through" => format!(
                "if ({x} {compared} {y}) *at = {number}; else *(unsigned char *)at = 3; if ({z}) at = &{x};\n"
            ),
            "malloc" => format!(
                "m = malloc({x} * {y} * sizeof(int)); if (m) for (k = 0; k < {x} * {y}; k++) m[k] = 1;\n"
            ),
            "calloc" => format!("m = calloc((unsigned long){x} * {y}, sizeof *m);\n"),
            "index" => format!(
                "{z} = {x} * {y}; if (i {compared} {x} && j {} {y}) {{ k = i * {y} + j; k = k + 0; }} {z} &= 7;\n",
                one(&["<", "<=", "!="])
            ),
            "row" => format!("if (m && i < {x} && j < {y}) m[i * {y} + j] = 2; else {z} = {number};\n"),
            "loops" => {
                format!("for (i = 0; i < {x}; i++) for (j = 0; j < {y}; j++) if (m) m[{y} * i + j] = 3;\n")
            }
            "all" => format!("k = {x} * {y}; if (k < 40) {z} = k; if (k {compared} {z}) {z} = {number};\n"),
            "product" => format!("{x} = {y} * {z}; {x} &= 15;\n"),
            "compare" => format!("if ({x} * {y} {compared} {z}) {z} = {number}; else {x} = {number};\n"),
            "signed" => format!("if ({p} * {q} {compared} {o}) {o} = {number}; else {p} = -{p};\n"),
            "change" => format!("{x} = {y} + {number}; {x} &= 7;\n"),
            "sum" => "if (m) x = sum(m, n, w);\n".to_owned(),
            "size" => format!("{x} = size({y}, {z}); {x} &= 15;\n"),
            "area" => format!("{x} = area({p}, {q}, {y});\n"),
            "elsewhere" => format!("r = m; if (r && {x} * {y} > {z}) r[{z}] = 1;\n"),
            _ => format!("if ({x}) {x} = {x} - 1; {p} = {q} - {o};\n"),
        };
    }
    text + "return 0; }\n"
}

/// What an open call was given.
type First = BTreeMap<LocalId, eval::Value>;

/// A state and the run that it describes.
#[derive(Clone, Copy)]
struct Seen<'a> {
    machine: &'a Machine<'a>,
    function: &'a Function,
    state: &'a Relations,
    first: &'a First,
    analysis: &'a RelationAnalysis,
}

impl Seen<'_> {
    /// Where a pointer leads, or where an array is.
    fn address_of(&self, var: Var) -> Option<i128> {
        match var {
            Var::Local(id) if self.function.local(id).ty.pointee().is_none() => {
                let frame = self.machine.frames.last()?;
                Some(self.machine.instances[frame.locals[id.index()]].base)
            }
            Var::Local(id) => value_of(self.machine, self.function, id)?.int(),
            Var::Cell(cell) => self.value(cell, Scalar::Pointer)?.int(),
            Var::Path(nth) => self.at_path(nth)?.int(),
        }
    }

    /// What lies where a path leads.
    fn at_path(&self, nth: u16) -> Option<eval::Value> {
        let place = self.analysis.access_path(self.function, nth)?;
        self.machine.eval(self.machine.frames.len() - 1, &Expr::Load(place.clone())).ok()
    }

    /// What a cell holds.
    fn value(&self, cell: Cell, scalar: Scalar) -> Option<eval::Value> {
        let instance = self.instance(cell.of, 4)?;
        let bytes = (cell.at + cell.size) as usize;
        let is_inside = bytes <= self.machine.instances[instance].bytes.len();
        let (first, bits) = (cell.at as usize * 8, cell.size as usize * 8);
        is_inside.then(|| self.machine.read_bits(instance, first, bits, scalar))
    }

    /// The object that a name stands for, if something tells.
    fn instance(&self, tag: Tag, depth: u32) -> Option<usize> {
        let at = |address: i128| {
            let is_there = |one: &Instance| {
                one.live && one.base <= address && address <= one.base + one.bytes.len() as i128
            };
            self.machine.instances.iter().position(is_there)
        };
        match tag {
            Tag::Named(Object::Local(_, id)) => Some(self.machine.frames.last()?.locals[id.index()]),
            Tag::Named(object) => self.machine.instances.iter().position(|one| one.object == object),
            Tag::Passed(id) => at(self.first.get(&id)?.int()?),
            Tag::Allocated { .. } | Tag::Behind(..) | Tag::Left(..) | Tag::Older(..) => {
                let mut holders = self.state.pointers.iter().filter(|(_, pointer)| pointer.tag == Some(tag));
                holders.find_map(|(var, _)| {
                    let is_known = depth > 0 && var.cell().is_none_or(|cell| cell.of != tag);
                    let address = match (is_known, var) {
                        (false, _) => None,
                        (true, Var::Local(_) | Var::Path(_)) => self.address_of(*var),
                        (true, Var::Cell(cell)) => {
                            let instance = self.instance(cell.of, depth - 1)?;
                            let one = &self.machine.instances[instance];
                            ((cell.at + 8) as usize <= one.bytes.len())
                                .then(|| {
                                    self.machine.read_bits(
                                        instance,
                                        cell.at as usize * 8,
                                        64,
                                        Scalar::Pointer,
                                    )
                                })
                                .and_then(|value| value.int())
                        }
                    };
                    at(address.filter(|address| *address != 0)?)
                })
            }
        }
    }
}

fn value_of(machine: &Machine<'_>, function: &Function, id: LocalId) -> Option<eval::Value> {
    machine.eval(machine.frames.len() - 1, &local(function, &function.local(id).name)).ok()
}

fn global(machine: &Machine<'_>, name: Name) -> Expr {
    let declared = &machine.env.program().globals[&name];
    let scalar = scalar_of(declared.ty, proofline_syntax::DataModel::Lp64);
    let (path, bits) = (Vec::new(), None);
    Expr::Load(Lvalue { base: Base::Global(name), path, ty: declared.ty, scalar, bits, size: declared.size })
}

/// The numbers of a state in a run: `None` where they may be anything.
fn number(seen: Seen<'_>, dim: Dim) -> Option<i128> {
    let Seen { machine, function, state, first, .. } = seen;
    let place = |var: Var| {
        let pointer = state.pointers.get(&var)?;
        let address = seen.address_of(var)?;
        if address == 0 {
            // An object without units, or numbers that mean nothing.
            return matches!(pointer.null, Null::Always | Null::Empty).then_some((0, 0));
        }
        let inside = |base: i128, size: i128| base <= address && address <= base + size;
        let at = machine.instances.iter().find(|i| i.live && inside(i.base, i.bytes.len() as i128))?;
        let unit = i128::from(pointer.unit);
        Some(((address - at.base).div_euclid(unit), at.bytes.len() as i128 / unit))
    };
    let value = |var: Var, ty: IntType| match var {
        Var::Local(id) => value_of(machine, function, id)?.int(),
        Var::Cell(cell) => seen.value(cell, Scalar::Int(ty))?.int(),
        Var::Path(nth) => seen.at_path(nth)?.int(),
    };
    match dim {
        Dim::Value(var, ty) => value(var, ty),
        Dim::Twice(var, ty) => Some(2 * value(var, ty)?),
        Dim::Product(a, a_ty, b, b_ty) => Some(value(Var::Local(a), a_ty)? * value(Var::Local(b), b_ty)?),
        Dim::Global(name, _) => machine.eval(machine.frames.len() - 1, &global(machine, name)).ok()?.int(),
        Dim::First(id, _) => first.get(&id)?.int(),
        Dim::Offset(var) => place(var).map(|(offset, _)| offset),
        Dim::Size(var) => place(var).map(|(_, size)| size),
        // Of several zeros any one may be meant, and fewer units may be said to have values than have: `is_one_of` looks.
        Dim::Zero(_)
        | Dim::Filled(_)
        | Dim::From(_)
        | Dim::Stop(_)
        | Dim::FirstOffset(_)
        | Dim::Scratch(_) => None,
    }
}

/// The object of a pointer, if it is not null.
fn object_of<'m>(seen: Seen<'m>, var: Var) -> Option<&'m Instance> {
    let address = seen.address_of(var).filter(|address| *address != 0)?;
    let inside = |base: i128, size: i128| base <= address && address <= base + size;
    seen.machine.instances.iter().find(|i| i.live && inside(i.base, i.bytes.len() as i128))
}

/// Where the object of a pointer has units of zeros; `None`: there is no object.
fn zeros(seen: Seen<'_>, var: Var) -> Option<Vec<i128>> {
    let unit = seen.state.pointers[&var].unit as usize;
    let units = object_of(seen, var)?.bytes.chunks_exact(unit).enumerate();
    let zeros = units.filter(|(_, bytes)| bytes.iter().all(|byte| *byte == 0));
    Some(zeros.map(|(at, _)| at as i128).collect())
}

/// How many of the first units of an object may be said to have values.
fn filled(seen: Seen<'_>, var: Var) -> Option<Vec<i128>> {
    let unit = seen.state.pointers[&var].unit as usize;
    let given: Vec<bool> = object_of(seen, var)?.given.iter().map(std::cell::Cell::get).collect();
    let filled = given.chunks_exact(unit).take_while(|unit| unit.iter().all(|given| *given)).count();
    Some((0..=filled as i128).collect())
}

/// Whether one of these values of a number is allowed.
fn is_one_of(seen: Seen<'_>, dim: Dim, values: Option<Vec<i128>>) -> bool {
    let of = |dim: Dim| number(seen, dim);
    values.is_none_or(|values| {
        values.into_iter().any(|value| {
            let (low, high) = seen.state.zone.bounds(dim);
            let mut near = seen.state.zone.differences();
            low <= value
                && value <= high
                && near.all(|(x, y, most)| match (x == dim, y == dim) {
                    (true, false) => of(y).is_none_or(|y| value - y <= most),
                    (false, true) => of(x).is_none_or(|x| x - value <= most),
                    (true, true) | (false, false) => true,
                })
        })
    })
}

/// Whether the machine's state is one of the abstract state's.
fn is_in(
    analysis: &RelationAnalysis,
    state: &Relations,
    machine: &Machine<'_>,
    first: &First,
) -> Result<(), String> {
    let function = machine.function();
    if state.function != function.name {
        return Err("another function".to_owned());
    }
    let seen = Seen { machine, function, state, first, analysis };
    let of = |dim: Dim| number(seen, dim);
    for (x, y, most) in state.zone.differences() {
        if let (Some(a), Some(b)) = (of(x), of(y))
            && a - b > most
        {
            return Err(format!("{x:?} = {a}, {y:?} = {b}: not {most}"));
        }
    }
    for (x, (low, high)) in state.zone.all_bounds() {
        if let Some(a) = of(x)
            && (a < low || high < a)
        {
            return Err(format!("{x:?} = {a}: not in [{low}, {high}]"));
        }
    }
    for (var, pointer) in state.pointers.iter() {
        let address = seen.address_of(*var);
        if address == Some(0) && pointer.is_there() {
            return Err(format!("{var:?} is null"));
        }
        if address.is_some_and(|address| address != 0) && pointer.null == Null::Always {
            return Err(format!("{var:?} is not null"));
        }
        if pointer.has_zero && !is_one_of(seen, Dim::Zero(*var), zeros(seen, *var)) {
            return Err(format!("no zero where {var:?} leads"));
        }
        if pointer.is_filled && !is_one_of(seen, Dim::Filled(*var), filled(seen, *var)) {
            return Err(format!("units without values where {var:?} leads"));
        }
        if let Some(address) = address.filter(|address| *address != 0) {
            let Some(object) = object_of(seen, *var) else {
                return Err(format!("{var:?} leads to {address:#x}, where nothing is alive"));
            };
            if pointer.on_heap && !matches!(object.object, Object::Heap(..)) {
                return Err(format!("{var:?} does not lead to the heap"));
            }
        }
    }
    are_named(seen)
}

/// Whether what has one name is one object, and what has names that are apart are two.
fn are_named(seen: Seen<'_>) -> Result<(), String> {
    let named: Vec<(Var, Tag, i128)> = seen
        .state
        .pointers
        .iter()
        .filter_map(|(var, pointer)| Some((*var, pointer.tag?, object_of(seen, *var)?.base)))
        .collect();
    for (one, first, base) in &named {
        for (other, second, other_base) in &named {
            if first == second && base != other_base || first.is_apart(*second) && base == other_base {
                return Err(format!("{one:?} is {first:?}, {other:?} is {second:?}"));
            }
        }
    }
    Ok(())
}

fn arguments(machine: &Machine<'_>) -> First {
    let function = machine.function();
    let scalars = function.parameters.iter().filter(|id| {
        let scalar = scalar_of(function.local(**id).ty, proofline_syntax::DataModel::Lp64);
        matches!(scalar, Some(Scalar::Int(_) | Scalar::Pointer))
    });
    scalars.filter_map(|id| Some((*id, value_of(machine, function, *id)?))).collect()
}

/// Follows a concrete run with the operators of intervals and relations together; the state holds at every step.
fn follow(code: &str, seed: u64) {
    let env = environment(code);
    let analysis: (IntervalAnalysis, RelationAnalysis) = (intervals(&env), relations(&env));
    let mut machine = Machine::new(&env, Name::new("main"), seed);
    let mut states = vec![analysis.entry().0];
    let mut calls = Vec::new();
    let mut firsts = vec![First::new()];
    for step in 0..600 {
        let function = machine.function();
        let Ok(did) = machine.step() else { return };
        let edge = |id| {
            let name = match did {
                Did::Edge(_) | Did::Enter(..) => function.name,
                Did::Leave(..) => machine.function().name,
            };
            let function = env.function(name).expect("a body");
            EdgeContext { function, id, edge: function.edge(id) }
        };
        let call = |id, callee| {
            let at = edge(id);
            let Op::Call(call) = &at.edge.op else { panic!("not a call") };
            CallContext { at, call, callee: env.function(callee).expect("a body") }
        };
        let precision = ((), ());
        let before = states.clone();
        let next: Vec<_> = match did {
            Did::Edge(id) => {
                let next = states.iter();
                next.flat_map(|state| analysis.transfer(state, &precision, edge(id), &NoFacts)).collect()
            }
            Did::Enter(id, callee) => {
                calls.push(states[0].clone());
                firsts.push(arguments(&machine));
                states.iter().flat_map(|state| analysis.enter(state, &precision, call(id, callee))).collect()
            }
            Did::Leave(id, callee) => {
                let at_call = calls.pop().expect("a call");
                firsts.pop();
                let next = states.iter();
                next.flat_map(|state| analysis.leave(&at_call, state, &precision, call(id, callee))).collect()
            }
        };
        let (function, loc) = (machine.function(), machine.frames.last().expect("a frame").loc);
        let place = LocationContext { function, loc, is_loop_head: false };
        let first = firsts.last().expect("a frame");
        let mut whys = Vec::new();
        states = next
            .into_iter()
            .filter_map(|state| match analysis.adjust(state, precision, &[], place) {
                Adjusted::Continue(state, _) => Some(state),
                Adjusted::Interrupt => None,
            })
            .filter(|state| {
                is_in(&analysis.1, &state.1, &machine, first).map_err(|why| whys.push(why)).is_ok()
            })
            .collect();
        states.dedup();
        let shown = |state: &Relations| proofline_cpa::Domain::show(&analysis.1, state);
        assert!(
            !states.is_empty(),
            "lost the run after {did:?} at step {step} (seed {seed}): {whys:?}\nbefore: {:?}\n{code}",
            before.iter().map(|state| shown(&state.1)).collect::<Vec<_>>()
        );
    }
}

/// What is known of a variable at the label `here`.
fn relation_here(code: &str, variable: &str) -> String {
    let env = environment(code);
    let analysis = (intervals(&env), relations(&env));
    let (explored, _) = explore(&analysis, &env, Name::new("main"), ((), ()), 200_000, |_, _| false);
    let shown = explored.at_label(&env, "here").into_iter().map(|(name, state)| {
        let function = env.function(name).expect("a body");
        analysis.1.reveal(&state.1, function, &local(function, variable))
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_loop_keeps_the_order_of_index_and_length() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), i = 0; while (i < n) { i++; here: ; } return n + i; }";
    assert_eq!(relation_here(code, "i"), "<= n");
}

#[test]
fn globals_are_related_across_calls() {
    let code = "extern int __VERIFIER_nondet_int(void);
        int token, local, other, *p = &other;
        static void pass(void) { token = token + 1; }
        static int get(void) { return token; }
        int main(void) { token = __VERIFIER_nondet_int() & 255; local = token; pass(); other = token; pass(); int x = get(); here: return x; }";
    let known = "<= other@0 + 1, >= other@0 + 1, <= local + 2, >= local + 2, <= token, >= token";
    assert_eq!(relation_here(code, "x"), known);
}

#[test]
fn members_are_related_across_calls() {
    let code = "extern int __VERIFIER_nondet_int(void);
        struct vec { int *items; unsigned len, cap; };
        static int push(struct vec *v) { if (v->len == v->cap) return 0; v->len++; return 1; }
        int main(void) { struct vec v = {0}; v.cap = (unsigned)__VERIFIER_nondet_int();
          while (__VERIFIER_nondet_int() && push(&v)) ; unsigned n = v.len; here: return (int)n; }";
    assert_eq!(relation_here(code, "n"), "<= v@8, >= v@8, <= v@12");
}

#[test]
fn what_another_pointer_may_change_is_forgotten() {
    let code = "extern int __VERIFIER_nondet_int(void);
        struct vec { unsigned len, cap; };
        static void set(struct vec *v, unsigned *p) { unsigned n = v->len; *p = 7; here: v->cap = n; }
        int main(void) { struct vec v = {0}, w = {0}; set(&v, __VERIFIER_nondet_int() ? &v.len : &w.len); return 0; }";
    assert_eq!(relation_here(code, "n"), "unrelated");
}

#[test]
fn what_may_wrap_around_relates_nothing() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), i = n + 1; here: return n + i; }";
    assert_eq!(relation_here(code, "i"), "unrelated");
}

#[test]
fn a_result_is_related_to_arguments() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void);
        static unsigned least(unsigned a, unsigned b) { if (a < b) return a; return b; }
        int main(void) { unsigned n = __VERIFIER_nondet_uint(), m = __VERIFIER_nondet_uint(), i = least(n, m); here: return n + i + m; }";
    assert_eq!(relation_here(code, "i"), "<= n, <= m");
}

#[test]
fn an_element_of_a_matrix_is_before_its_end() {
    let code = "extern unsigned __VERIFIER_nondet_uint(void); void *malloc(unsigned long);
        int main(void) { unsigned n = __VERIFIER_nondet_uint() & 255, w = __VERIFIER_nondet_uint() & 255, i = 0, j = 0;
          char *m = malloc((unsigned long)n * w); if (!m) return 0;
          for (i = 0; i < n; i++) for (j = 0; j < w; j++) { unsigned at = i * w + j; here: m[at] = 1; } return 0; }";
    let known = relation_here(code, "at");
    assert!(known.contains("<= n * w - 1") && known.contains("<= size(m) - 1"), "{known}");
}
