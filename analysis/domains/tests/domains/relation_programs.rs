//! Random programs about what relations know: globals, arrays, structures, access paths and matrices. Knows no analysis.

/// Programs about numbers in objects with static storage, which functions change and give back; of two of them somebody has the address.
pub(crate) fn globals(choices: &[u8]) -> String {
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
pub(crate) fn arrays(choices: &[u8]) -> String {
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
pub(crate) fn structures(choices: &[u8]) -> String {
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
pub(crate) fn paths(choices: &[u8]) -> String {
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
pub(crate) fn matrices(choices: &[u8]) -> String {
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
struct table { unsigned rows, cols; int *items; };
static struct table *table(unsigned n, unsigned w) { struct table *t = malloc(sizeof *t); if (!t) return 0; t->rows = n; t->cols = w; t->items = calloc(n * w, sizeof *t->items); return t; }
static int get(const struct table *t, unsigned i, unsigned j) { if (t->items && i < t->rows && j < t->cols) return t->items[i * t->cols + j]; return 0; }
static void resize(struct table *t, unsigned n) { if (n < t->rows) t->rows = n; else t->cols = n & 3; }
static void turn(struct table *t) { unsigned n = t->rows; t->rows = t->cols; t->cols = n; }
static unsigned area(int a, int b, unsigned n) { if (a > 0 && b > 0 && (unsigned)(a * b) < n) return (unsigned)a; return 0; }
int main(void) {
unsigned n = __VERIFIER_nondet_uchar() & 7, w = __VERIFIER_nondet_uchar() & 7, i = 0, j = 0, k = 0; int a = 3, b = -2, c = 4, x = 0; int *m = 0, *r = 0; unsigned *at = &w;
struct table s = {0}, *t = &s;
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
            "table",
            "own",
            "get",
            "put",
            "resize",
            "cells",
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
            "table" => format!("{{ struct table *o = table({x}, {y}); if (o) t = o; }}\n"),
            "own" => format!(
                "s.rows = {x}; s.cols = {y}; s.items = malloc((unsigned long){x} * {y} * sizeof(int)); if (s.items) for (k = 0; k < {x} * {y}; k++) s.items[k] = 2;\n"
            ),
            "get" => format!("if (i {compared} {x}) x ^= get(t, i, j); x ^= get(&s, {x}, {y});\n"),
            "put" => format!(
                "if (t->items && {x} < t->rows && {y} < t->cols) t->items[t->cols * {x} + {y}] = 4;\n"
            ),
            "resize" => format!(
                "{};\n",
                one(&[
                    "resize(t, i)",
                    "turn(t)",
                    "t->rows = n",
                    "at = &t->cols",
                    "t = &s",
                    "resize(&s, j)",
                    "*t = s",
                    "s = *t"
                ])
            ),
            "cells" => format!(
                "{z} = t->rows * t->cols; if (i {compared} s.rows && j < s.cols) {{ k = i * s.cols + j; k &= 15; }} {z} &= 7;\n"
            ),
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
