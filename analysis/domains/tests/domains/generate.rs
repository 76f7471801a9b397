//! Random C programs from a list of choices; an empty list is the smallest program. They may run into undefined behaviour, which ends a run.

/// Chooses.
pub(crate) struct Choices<'c> {
    left: std::slice::Iter<'c, u8>,
}

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.left.next().map_or(0, |byte| *byte as usize % n)
    }
    fn one<'s>(&mut self, of: &[&'s str]) -> &'s str {
        of[self.below(of.len())]
    }
}

const HEAD: &str = "
extern int __VERIFIER_nondet_int(void); extern unsigned char __VERIFIER_nondet_uchar(void);
void *malloc(unsigned long); void *calloc(unsigned long, unsigned long); void free(void *);
void *memcpy(void *, const void *, unsigned long); void *memset(void *, int, unsigned long);
struct s { int a; short b : 5; unsigned c : 6; char d[4]; struct { long e; int f; } in; };
union u { int i; unsigned char c[4]; short h[2]; unsigned w; };
static int ga = 3; static unsigned gu; static int gt[4] = {1, 2}; static struct s gs = {5}; static int *gp = &ga;
static const int table[4] = {4, 5, 6, 7}; static int count;
";

const LOCALS: &str = "int a = 1, b = 2, i = 0; unsigned u = 3; char c = 4; long l = 5; _Bool o = 0; int t[4] = {0}; struct s s = {1}, *q = &s;
union u v; v.i = 9; int *p = &a, **pp = &p; unsigned char *k = (unsigned char *)&b;\n";

/// Text of a program.
pub(crate) fn program(choices: &[u8]) -> String {
    let mut choices = Choices { left: choices.iter() };
    let mut text = HEAD.to_owned();
    text += "static int inc(int x) { return x + 1; }\nstatic int dec(int x) { count++; return x - 1; }\n";
    text += "static void swap(int *x, int *y) { int z = *x; *x = *y; *y = z; }\n";
    text += "static int deep(int n, int *r) { int m = n; if (n <= 0) { *r = m; return 0; } int k = deep(n - 1, n & 1 ? &m : r); return k + m; }\n";
    text += "static struct s make(int x) { struct s r = gs; r.a = x; r.in.f = x + 1; return r; }\n";
    text += "static int other(int *p, int x) {\nint a = x, b = 0, i = 0; unsigned u = 1; char c = 2; long l = 3; _Bool o = 1; int t[4] = {1, 2}; struct s s = gs, *q = &gs; union u v; v.i = x; int **pp = &gp; unsigned char *k = (unsigned char *)p;\n";
    statements(&mut choices, 2, 4, &mut text);
    text += "return a;\n}\nint main(void) {\n";
    text += LOCALS;
    text += "int (*fp)(int) = inc;\n";
    statements(&mut choices, 3, 12, &mut text);
    if choices.below(2) == 1 {
        text += "fp = dec; a = fp(b); b = other(p, a & 7);\n";
        statements(&mut choices, 3, 6, &mut text);
    }
    text += "here: ; return a + b + t[1] + s.a;\n}\n";
    text
}

fn statements(choices: &mut Choices<'_>, depth: usize, most: usize, text: &mut String) {
    for _ in 0..choices.below(most + 1) {
        statement(choices, depth, text);
    }
}

fn statement(choices: &mut Choices<'_>, depth: usize, text: &mut String) {
    match choices.below(if depth == 0 { 7 } else { 12 }) {
        0 => {
            let place = place(choices);
            let value = value(choices, 3);
            *text += &format!("{place} = {value};\n");
        }
        1 => {
            let pointer = choices.one(&["p", "gp", "*pp", "p"]);
            let target = address(choices);
            *text += &format!("{pointer} = {target};\n");
        }
        2 => {
            let place = choices.one(&["a", "b", "i", "u", "ga", "gu", "t[1]", "l", "c"]);
            let input = choices.one(&[
                "__VERIFIER_nondet_int()",
                "__VERIFIER_nondet_uchar()",
                "__VERIFIER_nondet_int()",
            ]);
            *text += &format!("{place} = {input};\n");
        }
        3 => {
            let line = choices.one(&[
                "s = gs;",
                "gs = s;",
                "*q = gs;",
                "q = &gs;",
                "q = &s;",
                "swap(&a, &b);",
                "swap(p, gp);",
                "pp = &gp;",
                "pp = &p;",
                "s = make(a);",
                "memcpy(&s, &gs, sizeof s);",
                "memset(t, 0, sizeof t);",
                "memset(&v, c, sizeof v);",
                "memcpy(t, gt, 8);",
                "memcpy(&t[i & 1], &gt[1], 8);",
                "memset(&t[i & 3], 1, 4);",
                "k = (unsigned char *)&s;",
                "k = (unsigned char *)t + (i & 7);",
                "k = &v.c[2];",
                "a = deep(i & 3, p);",
                "k = (unsigned char *)&p;",
                "{ int z; int *w = &z; a = a > 3 ? *w : a; *w = b; }",
                "memcpy(&p, &gp, sizeof p);",
            ]);
            *text += line;
            *text += "\n";
        }
        4 => {
            let operator = choices.one(&["++", "--"]);
            let place = choices.one(&["a", "i", "u", "ga", "*p", "t[i & 3]", "q->a", "c", "s.b", "s.c", "o"]);
            let target = choices.one(&["a", "b", "u"]);
            let operator = if place == "o" { "++" } else { operator };
            *text += &format!("{target} = {place}{operator};\n");
        }
        5 => {
            let place = place(choices);
            let operator = choices.one(&["+=", "-=", "&=", "|=", "^=", "*="]);
            let value = value(choices, 1);
            *text += &format!("{place} {operator} {value};\n");
        }
        6 => {
            let line = choices.one(&[
                "{ int *h = malloc(8); if (h) { h[0] = a; h[1] = 2; gp = h; b = *gp; } }",
                "{ int *h = calloc(2, 4); if (h) { h[i & 1] = a; b = h[0]; p = h; } }",
                "{ int *h = malloc(4); if (h) { *h = a; b = *h; free(h); } }",
                "for (int z = 0; z < 3; z++) { int *h = malloc(4); if (h) { if (z == 0) gp = h; *h = z; } }",
            ]);
            *text += line;
            *text += "\n";
        }
        7 | 8 => {
            let condition = condition(choices, 2);
            *text += &format!("if ({condition}) {{\n");
            statements(choices, depth - 1, 3, text);
            if choices.below(2) == 1 {
                *text += "} else {\n";
                statements(choices, depth - 1, 3, text);
            }
            *text += "}\n";
        }
        9 => {
            let bound = choices.one(&["2", "3", "5", "(b & 3)"]);
            let counter = format!("z{depth}");
            *text +=
                &format!("for (int {counter} = 0; {counter} < {bound}; {counter}++) {{ i = {counter};\n");
            statements(choices, depth - 1, 3, text);
            *text += "}\n";
        }
        10 => {
            let value = value(choices, 2);
            *text += &format!("switch ({value} & 3) {{ case 0: a = 1; case 1: b = 2; break; case 2: \n");
            statements(choices, depth - 1, 2, text);
            *text += "default: c = 7; }\n";
        }
        _ => {
            *text += "{ int z = 0; while (z < 4 && (";
            *text += &condition(choices, 1);
            *text += ")) { z++;\n";
            statements(choices, depth - 1, 2, text);
            *text += "} }\n";
        }
    }
}

fn place(choices: &mut Choices<'_>) -> String {
    choices
        .one(&[
            "a",
            "b",
            "*p",
            "t[i & 3]",
            "s.a",
            "q->a",
            "ga",
            "u",
            "c",
            "l",
            "o",
            "gt[b & 3]",
            "s.b",
            "s.c",
            "s.d[i & 3]",
            "q->in.f",
            "*gp",
            "**pp",
            "v.i",
            "v.c[i & 3]",
            "v.h[1]",
            "*k",
            "k[1]",
            "gs.in.e",
            "gu",
            "t[2]",
            "q->d[1]",
            "v.w",
            "gs.c",
        ])
        .to_owned()
}

fn address(choices: &mut Choices<'_>) -> String {
    choices
        .one(&[
            "&a",
            "&b",
            "&t[1]",
            "t + (i & 3)",
            "&s.a",
            "&ga",
            "gt + 2",
            "&q->in.f",
            "&v.i",
            "gp",
            "*pp",
            "a > 2 ? &a : &gs.a",
            "p",
        ])
        .to_owned()
}

fn value(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 || choices.below(3) == 0 {
        return match choices.below(4) {
            0 => ["0", "1", "(-1)", "2", "7", "100", "255", "65536", "3u", "(-5L)"][choices.below(10)]
                .to_owned(),
            1 => choices
                .one(&[
                    "a",
                    "b",
                    "i",
                    "u",
                    "c",
                    "l",
                    "o",
                    "(p == gp)",
                    "(*p == a)",
                    "table[i & 3]",
                    "count",
                    "(p - t)",
                ])
                .to_owned(),
            _ => place(choices),
        };
    }
    let (left, right) = (value(choices, depth - 1), value(choices, depth - 1));
    match choices.below(14) {
        0 => format!("({left} + {right})"),
        1 => format!("({left} - {right})"),
        2 => format!("({left} * {right})"),
        3 => format!("({left} / {right})"),
        4 => format!("({left} % {right})"),
        5 => format!("({left} & {right})"),
        6 => format!("({left} | {right})"),
        7 => format!("({left} ^ {right})"),
        8 => format!("((unsigned){left} >> ({right} & 31))"),
        9 => format!("({left} << ({right} & 3))"),
        10 => format!(
            "({}){left}",
            choices.one(&[
                "char",
                "unsigned",
                "short",
                "long",
                "unsigned char",
                "_Bool",
                "int",
                "unsigned long"
            ])
        ),
        11 => format!("(~{left})"),
        12 => format!("({left} < {right})"),
        _ => format!("(-{left})"),
    }
}

fn condition(choices: &mut Choices<'_>, depth: usize) -> String {
    if depth > 0 && choices.below(3) == 0 {
        let (left, right) = (condition(choices, depth - 1), condition(choices, depth - 1));
        return match choices.below(3) {
            0 => format!("({left} && {right})"),
            1 => format!("({left} || {right})"),
            _ => format!("!({left})"),
        };
    }
    match choices.below(6) {
        0 => choices.one(&["p == gp", "p != &a", "p", "p == t + 1", "gp > gt", "q == &gs", "!o"]).to_owned(),
        1 => value(choices, 1),
        _ => {
            let (left, right) = (value(choices, 1), value(choices, 1));
            format!("{left} {} {right}", choices.one(&["<", "<=", ">", ">=", "==", "!="]))
        }
    }
}
