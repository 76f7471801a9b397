//! Programs with assertions that are true by construction, and twins of which one assertion fails on known inputs. Random
//! statements seldom can be proved as a whole; these can, so that engines which answer all or nothing have something to say.

use std::fmt::Write as _;

use super::program::{HEAD, Vector};
use crate::Random;

/// A program that no input violates, and almost the same one that one does.
#[derive(Clone, Debug)]
pub struct Twins {
    /// Every assertion holds.
    pub honest: String,
    /// One assertion fails on the last of the inputs.
    pub lying: String,
    /// What they are run on.
    pub vectors: Vec<Vector>,
}

/// One relation: text in front of `main`, statements about the variable `n`, and what holds after them.
struct Relation {
    top: String,
    body: String,
    claim: String,
    /// Fails for `n` = `at`, and holds or fails for others.
    lie: String,
    at: i64,
    /// Inputs are below; none: any.
    bound: Option<i64>,
}

struct Writer {
    random: Random,
    names: usize,
}

/// Twins. The same seed gives the same ones.
pub fn twins(seed: u64) -> Twins {
    let mut writer = Writer { random: Random::new(seed ^ 0x7177), names: 0 };
    let count = 1 + writer.random.below(3);
    let relations: Vec<Relation> = (0..count).map(|_| writer.relation()).collect();
    let liar = writer.random.below(count);
    let is_called: Vec<bool> = (0..count).map(|_| writer.random.percent(40)).collect();
    let text = |lies: bool| {
        let mut out = HEAD.to_owned();
        let mut main = String::from("int main(void)\n{\n");
        for (i, relation) in relations.iter().enumerate() {
            out.push_str(&relation.top);
            let claim = if lies && i == liar { &relation.lie } else { &relation.claim };
            let indented: String = relation.body.lines().map(|line| format!("    {line}\n")).collect();
            let check = format!("    if (!({claim}))\n        reach_error();\n");
            let bound = relation.bound.map_or(String::new(), |bound| {
                format!(
                    "    if (n < 0 || n >= {bound})\n        return {};\n",
                    if is_called[i] { "" } else { "0" }
                )
            });
            if is_called[i] {
                let _ = write!(out, "static void part{i}(int n)\n{{\n{bound}{indented}{check}}}\n");
                let _ = writeln!(main, "    part{i}(__VERIFIER_nondet_int());");
            } else {
                let _ = write!(
                    main,
                    "    {{\n    int n = __VERIFIER_nondet_int();\n{bound}{indented}{check}    }}\n"
                );
            }
        }
        main.push_str("    return 0;\n}\n");
        out + &main
    };
    let (honest, lying) = (text(false), text(true));
    let mut vectors: Vec<Vector> = (0..6)
        .map(|_| {
            relations
                .iter()
                .map(|relation| match relation.bound {
                    Some(bound) => writer.random.below(bound as usize) as i64,
                    None => writer.random.one([
                        0,
                        1,
                        -1,
                        7,
                        255,
                        256,
                        32768,
                        -32768,
                        40000,
                        2147483647,
                        -2147483648,
                    ]),
                })
                .collect()
        })
        .collect();
    vectors.push(relations.iter().map(|relation| relation.at).collect());
    Twins { honest, lying, vectors }
}

impl Writer {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn type_name(&mut self) -> &'static str {
        self.random.one(["int", "unsigned", "long", "unsigned long"])
    }

    /// Executes statements `n` times, in one of C's ways.
    fn repeated(&mut self, counter: &str, body: &str) -> String {
        let i = counter;
        match self.random.below(6) {
            0 => format!("for ({i} = 0; {i} < n; {i}++) {{\n{body}}}\n"),
            1 => format!("{i} = 0;\nwhile ({i} != n) {{\n{body}{i} += 1;\n}}\n"),
            2 => format!("{i} = 0;\nif (n > 0) {{\ndo {{\n{body}}} while (++{i} < n);\n}}\n"),
            3 => format!("{i} = 0;\nfor (;;) {{\nif ({i} == n)\nbreak;\n{body}{i}++;\n}}\n"),
            4 => {
                let (again, end) = (self.name("again"), self.name("end"));
                format!(
                    "{i} = 0;\n{again}:\nif ({i} >= n)\ngoto {end};\n{body}{i} = {i} + 1;\ngoto {again};\n{end}:;\n"
                )
            }
            _ => {
                let left = self.name("left");
                format!("{i} = 0;\nint {left} = n;\nwhile ({left}-- > 0) {{\n{body}{i}++;\n}}\n")
            }
        }
    }

    fn relation(&mut self) -> Relation {
        let bound = self.random.one([4, 8, 20, 100]);
        let at = 1 + self.random.below(bound as usize - 1) as i64;
        let c = 1 + self.random.below(9) as i64;
        match self.random.below(20) {
            0 => self.sum(bound, at, c),
            1 => self.triangle(bound, at),
            2 => self.lockstep(bound, at, c),
            3 => self.recursive_sum(bound, at, c),
            4 => self.mutual(bound, at),
            5 => self.filled(bound, at, c),
            6 => self.exchanged(bound, at, c),
            7 => self.nested(bound, at, c),
            8 => self.machine(bound, at),
            9 => self.narrow(bound, at, c),
            10 => self.through_pointers(bound, at, c),
            11 => self.larger(c),
            12 => self.bytes(),
            13 => self.truncated(),
            14 => self.list(bound.min(8), at.min(bound.min(8) - 1)),
            15 => self.bits(),
            16 => self.remembered(bound, at),
            17 => self.ninety_one(),
            18 => self.divisor(bound, at, c),
            _ => self.halves(bound, at),
        }
    }

    fn simple(body: String, claim: String, lie: String, at: i64, bound: Option<i64>) -> Relation {
        Relation { top: String::new(), body, claim, lie, at, bound }
    }

    fn sum(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (ty, s, i) = (self.type_name(), self.name("s"), self.name("i"));
        let start = self.random.below(50) as i64;
        let body = format!("{ty} {s} = {start};\nint {i};\n") + &self.repeated(&i, &format!("{s} += {c};\n"));
        Self::simple(
            body,
            format!("{s} == {start} + {c} * n && {i} == n"),
            format!("{s} != {}", start + c * at),
            at,
            Some(bound),
        )
    }

    fn triangle(&mut self, bound: i64, at: i64) -> Relation {
        let (ty, s, i) = (self.type_name(), self.name("s"), self.name("i"));
        let body = format!("{ty} {s} = 0;\nint {i};\n") + &self.repeated(&i, &format!("{s} += {i};\n"));
        Self::simple(
            body,
            format!("2 * {s} == n * (n - 1)"),
            format!("{s} != {}", at * (at - 1) / 2),
            at,
            Some(bound),
        )
    }

    fn lockstep(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (x, y, i) = (self.name("x"), self.name("y"), self.name("i"));
        let start = self.random.below(200) as i64;
        let odd = self.random.percent(50);
        let step = if odd {
            format!("if ({i} % 2) {{\n{x} += {c};\n{y} -= {c};\n}} else {{\n{x}++;\n{y}--;\n}}\n")
        } else {
            format!("{x} += {c};\n{y} -= {c};\n")
        };
        let reached = if odd { (at + 1) / 2 + at / 2 * c } else { c * at };
        let body = format!("int {x} = 0, {y} = {start}, {i};\n") + &self.repeated(&i, &step);
        Self::simple(body, format!("{x} + {y} == {start}"), format!("{x} != {reached}"), at, Some(bound))
    }

    fn recursive_sum(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let f = self.name("f");
        let top = format!(
            "static int {f}(int n)\n{{\n    if (n <= 0)\n        return 0;\n    return {c} + {f}(n - 1);\n}}\n"
        );
        let r = self.name("r");
        Relation {
            top,
            body: format!("int {r} = {f}(n);\n"),
            claim: format!("{r} == {c} * n"),
            lie: format!("{r} < {}", c * at),
            at,
            bound: Some(bound),
        }
    }

    fn mutual(&mut self, bound: i64, at: i64) -> Relation {
        let (even, odd, r) = (self.name("even"), self.name("odd"), self.name("r"));
        let top = format!(
            "static int {odd}(int n);\nstatic int {even}(int n)\n{{\n    return n == 0 ? 1 : {odd}(n - 1);\n}}\nstatic int {odd}(int n)\n{{\n    return n == 0 ? 0 : {even}(n - 1);\n}}\n"
        );
        Relation {
            top,
            body: format!("int {r} = {even}(n);\n"),
            claim: format!("{r} == (n % 2 == 0)"),
            lie: format!("n != {at} || {r} != {}", i64::from(at % 2 == 0)),
            at,
            bound: Some(bound),
        }
    }

    fn filled(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (ty, a, i) = (self.type_name(), self.name("a"), self.name("i"));
        let body = format!("{ty} {a}[{bound}];\nint {i};\n")
            + &self.repeated(&i, &format!("{a}[{i}] = {i} * {c};\n"));
        Self::simple(
            body,
            format!("n == 0 || {a}[n - 1] == (n - 1) * {c}"),
            format!("n == 0 || {a}[n / 2] != {}", at / 2 * c),
            at,
            Some(bound),
        )
    }

    fn exchanged(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (x, y, p, q, t, i) =
            (self.name("x"), self.name("y"), self.name("p"), self.name("q"), self.name("t"), self.name("i"));
        let step = format!("int *{t} = {p};\n{p} = {q};\n{q} = {t};\n*{p} += 1;\n*{q} -= 1;\n");
        let body =
            format!("int {x} = {c}, {y} = 77, *{p} = &{x}, *{q} = &{y}, {i};\n") + &self.repeated(&i, &step);
        // After an odd number of exchanges `p` is at `y`; `x` loses one, then gains one.
        let x_at = if at % 2 == 0 { c } else { c - 1 };
        Self::simple(
            body,
            format!("*{p} + *{q} == {} && ({p} == &{x}) == (n % 2 == 0)", c + 77),
            format!("n != {at} || {x} != {x_at}"),
            at,
            Some(bound),
        )
    }

    fn nested(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (ty, s, i, j) = (self.type_name(), self.name("s"), self.name("i"), self.name("j"));
        let step = format!("for (int {j} = 0; {j} < {c}; {j}++) {{\n{s}++;\n}}\n");
        let body = format!("{ty} {s} = 0;\nint {i};\n") + &self.repeated(&i, &step);
        Self::simple(body, format!("{s} == n * {c}"), format!("{s} != {}", at * c), at, Some(bound))
    }

    fn machine(&mut self, bound: i64, at: i64) -> Relation {
        let (s, i) = (self.name("state"), self.name("i"));
        let step = format!(
            "switch ({s}) {{\ncase 0:\n{s} = 1;\nbreak;\ncase 1:\n{s} = 2;\nbreak;\ndefault:\n{s} = 0;\n}}\n"
        );
        let body = format!("int {s} = 0, {i};\n") + &self.repeated(&i, &step);
        let claim =
            if self.random.percent(50) { format!("{s} == n % 3") } else { format!("{s} >= 0 && {s} <= 2") };
        Self::simple(body, claim, format!("n != {at} || {s} != {}", at % 3), at, Some(bound))
    }

    fn narrow(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (s, i) = (self.name("s"), self.name("i"));
        let c = 20 + 7 * c;
        let body =
            format!("unsigned char {s} = 0;\nint {i};\n") + &self.repeated(&i, &format!("{s} += {c};\n"));
        Self::simple(
            body,
            format!("{s} == (unsigned char)(n * {c})"),
            format!("n < {at} || {s} != {}", at * c % 256),
            at,
            Some(bound),
        )
    }

    fn through_pointers(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (up, down, s, f, i) =
            (self.name("up"), self.name("down"), self.name("sum"), self.name("f"), self.name("i"));
        let top = format!(
            "static int {s};\nstatic void {up}(int *p)\n{{\n    *p += {c};\n}}\nstatic void {down}(int *p)\n{{\n    *p -= 1;\n}}\n"
        );
        let body = format!("void (*{f})(int *) = {up};\nint {i};\n{s} = 0;\n")
            + &self.repeated(&i, &format!("{f}(&{s});\n{f} = {f} == {up} ? {down} : {up};\n"));
        Relation {
            top,
            body,
            claim: format!("{s} == (n + 1) / 2 * {c} - n / 2"),
            lie: format!("{s} != {}", (at + 1) / 2 * c - at / 2),
            at,
            bound: Some(bound),
        }
    }

    fn larger(&mut self, c: i64) -> Relation {
        let m = self.name("m");
        let at = 1000 + c;
        Self::simple(
            format!("int {m} = n > {c} ? n : {c};\n"),
            format!("{m} >= n && {m} >= {c}"),
            format!("{m} != {at}"),
            at,
            None,
        )
    }

    fn bytes(&mut self) -> Relation {
        let u = self.name("u");
        let index = self.random.below(4);
        let at = 0x1234_5678 + self.random.below(1000) as i64;
        Self::simple(
            format!(
                "union {{ unsigned u; unsigned char b[4]; unsigned short s[2]; }} {u};\n{u}.u = (unsigned)n;\n"
            ),
            format!("{u}.b[{index}] == (((unsigned)n >> {}) & 255)", 8 * index),
            format!("{u}.s[0] != {}", at & 0xffff),
            at,
            None,
        )
    }

    fn truncated(&mut self) -> Relation {
        let s = self.name("s");
        let at = 32768 + self.random.below(9000) as i64;
        Self::simple(
            format!("short {s} = (short)n;\n"),
            format!("{s} == (n & 0x7fff) - (n & 0x8000)"),
            format!("n != {at} || {s} != {}", at - 65536),
            at,
            None,
        )
    }

    fn list(&mut self, bound: i64, at: i64) -> Relation {
        let (node, head, fresh, count, i) =
            (self.name("node"), self.name("head"), self.name("fresh"), self.name("count"), self.name("i"));
        let step = format!(
            "struct {node} *{fresh} = malloc(sizeof *{fresh});\nif (!{fresh})\nfor (;;)\n;\n{fresh}->next = {head};\n{fresh}->value = {i};\n{head} = {fresh};\n"
        );
        let body = format!(
            "struct {node} {{ int value; struct {node} *next; }} *{head} = 0;\nint {i}, {count} = 0;\n"
        ) + &self.repeated(&i, &step)
            + &format!("while ({head}) {{\n{count} += {head}->value + 1;\n{head} = {head}->next;\n}}\n");
        Self::simple(
            body,
            format!("2 * {count} == n * (n + 1)"),
            format!("{count} != {}", at * (at + 1) / 2),
            at,
            Some(bound),
        )
    }

    fn bits(&mut self) -> Relation {
        let (x, c) = (self.name("x"), self.random.below(65536) as i64);
        let claim = match self.random.below(4) {
            0 => format!("({x} | {c}u) == {x} + {c}u - ({x} & {c}u)"),
            1 => format!("({x} ^ {c}u ^ {x}) == {c}u"),
            2 => format!("({x} & -{x}) <= {x}"),
            _ => format!("(({x} << 4) >> 4) == ({x} & 0xfffffffu)"),
        };
        let at = self.random.below(1 << 20) as i64;
        Self::simple(format!("unsigned {x} = n;\n"), claim, format!("({x} ^ {c}u) != {}u", at ^ c), at, None)
    }

    fn remembered(&mut self, bound: i64, at: i64) -> Relation {
        let (f, i, r) = (self.name("calls"), self.name("i"), self.name("r"));
        Relation {
            top: format!("static int {f}(void)\n{{\n    static int calls;\n    return ++calls;\n}}\n"),
            body: format!("int {i}, {r};\n")
                + &self.repeated(&i, &format!("{f}();\n"))
                + &format!("{r} = {f}();\n"),
            claim: format!("{r} == n + 1"),
            lie: format!("{r} <= {at}"),
            at,
            bound: Some(bound),
        }
    }

    fn ninety_one(&mut self) -> Relation {
        let (f, r) = (self.name("f"), self.name("r"));
        Relation {
            top: format!(
                "static int {f}(int n)\n{{\n    if (n > 100)\n        return n - 10;\n    return {f}({f}(n + 11));\n}}\n"
            ),
            body: format!("int {r} = {f}(n);\n"),
            claim: format!("{r} == (n > 100 ? n - 10 : 91)"),
            lie: format!("{r} == 91 || n <= 102"),
            at: 103,
            bound: Some(120),
        }
    }

    fn divisor(&mut self, bound: i64, at: i64, c: i64) -> Relation {
        let (x, y, t) = (self.name("x"), self.name("y"), self.name("t"));
        let gcd = |mut a: i64, mut b: i64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        Self::simple(
            format!(
                "int {x} = n, {y} = {c};\nwhile ({y} != 0) {{\nint {t} = {x} % {y};\n{x} = {y};\n{y} = {t};\n}}\n"
            ),
            format!("{x} > 0 && {x} <= n + {c}"),
            format!("n != {at} || {x} != {}", gcd(at, c)),
            at,
            Some(bound),
        )
    }

    fn halves(&mut self, bound: i64, at: i64) -> Relation {
        let d = self.name("d");
        let ty = self.random.one(["double", "float"]);
        Self::simple(
            format!("{ty} {d} = ({ty})n / 2;\n"),
            format!("{d} * 2 == n && (int){d} == n / 2"),
            format!("{d} != {at} / ({ty})2"),
            at,
            Some(bound),
        )
    }
}
