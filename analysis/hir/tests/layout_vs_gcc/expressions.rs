//! Random integer constant expressions whose value C (or gcc, for shifts of negative numbers) defines.

use crate::random::Random;

const UNSIGNED: [(&str, u64); 4] =
    [("unsigned", 32), ("unsigned long", 32), ("unsigned long long", 64), ("unsigned int", 32)];
const ALL: [&str; 13] = [
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "_Bool",
    "enum wide",
];

/// Declared before the expressions.
pub(crate) const PRELUDE: &str =
    "enum wide { narrow = 3, big = 0x7fffffff, bigger = 0x80000000, low = -1, biggest = 0x100000000 };\n";

pub(crate) fn expression(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return leaf(random);
    }
    let mut inner = || expression(random, depth - 1);
    let (a, b, c) = (inner(), inner(), inner());
    let (unsigned, bits) = *random.pick(&UNSIGNED);
    let any = *random.pick(&ALL);
    match random.below(16) {
        0..3 => {
            let op = *random.pick(&["+", "-", "*"]);
            format!("(({unsigned})({a}) {op} ({unsigned})({b}))")
        }
        3 => format!("((signed char)({a}) {} (short)({b}))", random.pick(&["+", "-", "*"])),
        4 => {
            let op = *random.pick(&["/", "%"]);
            format!("(({unsigned})({a}) {op} (({unsigned})({b}) | 1))")
        }
        5 => {
            let op = *random.pick(&["/", "%"]);
            format!("(({any})({a}) {op} {})", 1 + random.below(1000))
        }
        6 => format!("(({unsigned})({a}) << {})", random.below(bits)),
        7 => format!("(({any})({a}) >> {})", random.below(32)),
        8 => format!("(({a}) {} ({b}))", random.pick(&["&", "|", "^"])),
        9 => format!("(({a}) {} ({b}))", random.pick(&["<", "<=", ">", ">=", "==", "!=", "&&", "||"])),
        10 => format!("(({a}) ? ({b}) : ({c}))"),
        11 => format!("(({any})({a}))"),
        12 => format!("(~({a}))"),
        13 => format!("(!({a}))"),
        14 => format!("sizeof(({a}) + ({b}))"),
        _ => format!("(-({unsigned})({a}))"),
    }
}

fn leaf(random: &mut Random) -> String {
    let suffix = *random.pick(&["", "", "u", "l", "ul", "ll", "ull"]);
    match random.below(10) {
        0 => "narrow".to_owned(),
        1 => random.pick(&["big", "bigger", "low", "biggest"]).to_string(),
        2 => format!("'\\x{:x}'", random.below(256)),
        3 => format!("0x{:x}{suffix}", random.bits() >> random.below(64)),
        4 => format!("0{:o}{suffix}", random.bits() >> (32 + random.below(32))),
        5 => format!("(-{})", random.below(1 << 31)),
        6 => format!("sizeof({})", random.pick(&ALL)),
        _ => format!("{}{suffix}", random.below(1 << 31)),
    }
}
