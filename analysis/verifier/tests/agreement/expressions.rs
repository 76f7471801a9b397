//! Random C expressions over every integer type, and over `float` and `double`, as functions of four inputs. Knows C's syntax and nothing of its meaning: what an
//! expression is worth, and whether it is defined at all, gcc says. `W(e)` is `e`: written so that gcc can be kept from simplifying undefined
//! behaviour away.

use std::fmt::Write;

/// A generator of numbers that is the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
    fn bits(&mut self) -> u64 {
        (self.below(1 << 32) as u64) << 32 | self.below(1 << 32) as u64
    }
}

/// Types that values have.
const TYPES: &[&str] = &[
    "signed char",
    "unsigned char",
    "char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "_Bool",
    "enum e",
];

/// What everything else needs.
pub(crate) const PRELUDE: &str = "\
enum e { A, B = 7 };
struct bits { int p : 3; unsigned q : 7; signed char r : 5; unsigned long s : 33; unsigned t : 1; int u : 17; };
";

/// One expression: `static RESULT fN(T a, T b, T c, T d)` and the values of its inputs.
pub(crate) struct Case {
    pub(crate) result: &'static str,
    pub(crate) types: [&'static str; 4],
    /// As C text.
    pub(crate) values: [String; 4],
    /// The function's body.
    pub(crate) body: String,
}

impl Case {
    pub(crate) fn new(random: &mut Random) -> Case {
        let types = std::array::from_fn(|_| random.pick(TYPES));
        let values = types.map(|ty| format!("({ty}){}", value(random, ty)));
        let result = random.pick(TYPES);
        let mut body = String::new();
        let fields = random.below(3) == 0;
        if fields {
            body.push_str("struct bits x; ");
            for field in ["p", "q", "r", "s", "t", "u"] {
                let _ =
                    write!(body, "x.{field} = {}; ", random.pick(&["a", "b", "c", "d", "W(a + 1)", "~b"]));
            }
        }
        let depth = 2 + random.below(3);
        let expression = expression(random, depth, fields);
        let _ = write!(body, "return W(+{expression});");
        Case { result, types, values, body }
    }

    /// An expression over floats: what is returned are the bits of its value, or what converting or comparing it gives.
    pub(crate) fn of_floats(random: &mut Random) -> Case {
        let types: [&'static str; 4] = std::array::from_fn(|_| {
            random.pick(&["float", "double", "float", "double", "int", "unsigned", "long"])
        });
        let values = types.map(|ty| match ty {
            "float" | "double" => format!("({ty}){}", random.pick(FLOATS)),
            _ => format!("({ty}){}", value(random, ty)),
        });
        let depth = 1 + random.below(3);
        let expression = floating(random, depth);
        let (result, body) = match random.below(5) {
            0 => ("int", format!("return {expression} {} {};", random.pick(COMPARE), floating(random, 1))),
            1 => ("long", format!("double x = {expression}; return -1e15 < x && x < 1e15 ? (long)x : 1;")),
            2 => (
                "unsigned char",
                format!("float x = {expression}; return 0 <= x && x < 256 ? (unsigned char)x : 3;"),
            ),
            3 => (
                "unsigned",
                format!(
                    "union {{ float f; unsigned u; }} x; x.f = {expression}; return x.f == x.f ? x.u : 1;"
                ),
            ),
            _ => (
                "unsigned long",
                format!(
                    "union {{ double d; unsigned long u; }} x; x.d = {expression}; return x.d == x.d ? x.u : 1;"
                ),
            ),
        };
        Case { result, types, values, body }
    }

    pub(crate) fn parameters(&self) -> String {
        let [a, b, c, d] = self.types;
        format!("{a} a, {b} b, {c} c, {d} d")
    }
    pub(crate) fn arguments(&self) -> String {
        self.values.join(", ")
    }
    pub(crate) fn definition(&self, number: usize) -> String {
        format!("static {} f{number}({}) {{ {} }}\n", self.result, self.parameters(), self.body)
    }
}

const COMPARE: &[&str] = &["<", "<=", ">", ">=", "==", "!="];

/// Not zero, whose sign `==` does not see, and no NaN.
const FLOATS: &[&str] = &[
    "0.1",
    "-1.5",
    "3",
    "1e10",
    "-7.25e-3",
    "1e-40",
    "3.4e38",
    "16777217",
    "-2147483649.0",
    "9007199254740993.0",
    "0.333333333333333333",
    "1e-5",
    "-1",
];

fn floating(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return match random.below(4) {
            0 => random
                .pick(&["0.1", "0.1f", "3.0f", "0.0", "-0.0f", "1e-3", "2", "1e30f", "16777216.0f"])
                .to_owned(),
            _ => random.pick(&["a", "b", "c", "d"]).to_owned(),
        };
    }
    let (x, y) = (floating(random, depth - 1), floating(random, depth - 1));
    let whole = match random.below(12) {
        0..=1 => format!("((float){x} {} {y})", random.pick(&["+", "-", "*", "/"])),
        2..=5 => format!("({x} {} (double){y})", random.pick(&["+", "-", "*", "/"])),
        6 => format!("((float){x})"),
        7 => format!("((double)(float){x})"),
        8 => format!("(-(float){x})"),
        9 => format!("((double){x} {} {y} ? {x} : (float){y})", random.pick(COMPARE)),
        10 => format!("({x} ? (double){x} : {y})"),
        _ => format!("((double)(!{x}) - {y})"),
    };
    format!("W{whole}")
}

fn value(random: &mut Random, ty: &str) -> String {
    if ty == "_Bool" {
        return format!("{}", random.below(2));
    }
    match random.below(6) {
        0 => format!("{}", random.below(4)),
        1 => format!("-{}", random.below(9)),
        2 => random
            .pick(&[
                "127",
                "-128",
                "255",
                "32767",
                "-32768",
                "65535",
                "2147483647",
                "(-2147483647 - 1)",
                "4294967295u",
                "9223372036854775807",
                "(-9223372036854775807 - 1)",
                "18446744073709551615u",
                "2147483648u",
            ])
            .to_owned(),
        3 => format!("{}", random.below(40_000)),
        _ => format!("{}u", random.bits() >> random.below(60)),
    }
}

fn leaf(random: &mut Random, fields: bool) -> String {
    if fields && random.below(3) == 0 {
        // What type a bit-field wider than `int` has, compilers disagree about: a cast decides.
        return random.pick(&["x.p", "x.q", "x.r", "((unsigned long)x.s)", "x.t", "x.u"]).to_owned();
    }
    match random.below(5) {
        0 => random
            .pick(&[
                "0",
                "1",
                "2",
                "3",
                "5",
                "8",
                "31",
                "255",
                "0x7f",
                "0xff00",
                "-1",
                "-7",
                "10u",
                "65535",
                "4294967295u",
                "1l",
                "100ul",
                "0xf0f0f0f0u",
            ])
            .to_owned(),
        _ => random.pick(&["a", "b", "c", "d"]).to_owned(),
    }
}

fn expression(random: &mut Random, depth: usize, fields: bool) -> String {
    if depth == 0 {
        return leaf(random, fields);
    }
    let mut sub = |less: usize| {
        let depth = (depth - 1).saturating_sub(less.min(random.below(2)));
        expression(random, depth, fields)
    };
    let (x, y) = (sub(0), sub(1));
    let whole = match random.below(20) {
        0..=2 => format!("({x} {} {y})", random.pick(&["+", "-"])),
        3 => format!("({x} * {y})"),
        4 => format!("({x} * {})", random.pick(&["3", "-5", "7u", "2l"])),
        5 => format!("({x} {} {y})", random.pick(&["/", "%"])),
        6 => {
            format!("({x} {} {})", random.pick(&["/", "%"]), random.pick(&["3", "-4", "8u", "16", "7l", "1"]))
        }
        7 => format!("({x} {} {})", random.pick(&["<<", ">>"]), random.below(9)),
        8 => format!("({x} {} ({y} & 7))", random.pick(&["<<", ">>", ">>"])),
        9 | 10 => format!("({x} {} {y})", random.pick(&["&", "|", "^"])),
        11 => format!(
            "({x} {} {})",
            random.pick(&["&", "|", "^"]),
            random.pick(&["1", "0xff", "0x0ff0", "-2", "~7", "0x5a5au"])
        ),
        12 | 13 => format!("({x} {} {y})", random.pick(&["<", "<=", ">", ">=", "==", "!="])),
        14 => format!("({x} {} {y})", random.pick(&["&&", "||"])),
        15 => {
            let condition = leaf(random, fields);
            format!("({condition} ? {x} : {y})")
        }
        16 => format!("({} {x})", random.pick(&["-", "~", "!", "+"])),
        17 | 18 => format!("(({}){x})", random.pick(TYPES)),
        _ => format!("({x}, +{y})"),
    };
    format!("W{whole}")
}
