//! Types and values of random expressions against gcc, for x86-64 and i386: what we say becomes static assertions that
//! gcc checks. Needs gcc; `-m32` is only used to check the syntax, so no 32-bit libraries.

use std::{fmt::Write, io::Write as _, path::Path, process::Command};

use proofline_float::{Float, Format};
use proofline_hir::{
    Lowered,
    body::Stmt,
    consteval::{self, ConstValue, NotConstant},
    lower, print,
    types::{IntKind, TypeKind},
};
use proofline_syntax::{DataModel, Flags, NoFs, OverlayFs, Preprocessor, RuccPreprocessor, parse};

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const TYPES: &[&str] = &[
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
    "float",
    "double",
    "enum e",
    "enum big",
];
const WIDE: &[&str] = &["__int128", "unsigned __int128", "long double"];
const CONSTANTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "63",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65535",
    "2147483647",
    "2147483648",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "4294967296",
    "9223372036854775807",
    "0xffffffffffffffff",
    "1u",
    "5u",
    "4294967295u",
    "6l",
    "7ul",
    "8ll",
    "9ull",
    "0b101",
    "017",
    "'a'",
    "'\\377'",
    "L'x'",
    "u'y'",
    "U'z'",
    "'\\0'",
    "'ab'",
    "1.5",
    "0.1",
    "3.0f",
    "0.1f",
    "2.5l",
    "1e10",
    "0x1.8p3",
    "0x1p-1f",
    "1e-3",
    "16777217.0f",
    "A",
    "B",
    "C",
    "BIG",
    "sizeof(int)",
    "sizeof(long)",
    "sizeof(char[3])",
    "_Alignof(double)",
    "__builtin_clz(5u)",
    "__builtin_popcountl(77)",
    "__builtin_bswap32(1)",
    "__builtin_ffsll(8)",
];
const VARIABLES: &[&str] = &[
    "c",
    "sc",
    "uc",
    "s",
    "us",
    "i",
    "u",
    "l",
    "ul",
    "ll",
    "ull",
    "b",
    "f",
    "d",
    "ld",
    "en",
    "bg",
    "cu",
    "vi",
    "r.a",
    "r.b",
    "r.c",
    "r.d",
    "r.e",
    "r.f",
    "(r.b = 1)",
    "(r.c += 1)",
    "(r.a, r.b)",
    "r.g++",
    "(i = 3)",
    "uc++",
    "--s",
    "f++",
    "(us += 2)",
];
const POINTERS: &[&str] = &[
    "p",
    "cp",
    "v",
    "cv",
    "arr",
    "str",
    "\"text\"",
    "&i",
    "&arr[1]",
    "m[1]",
    "m",
    "fn",
    "&fn",
    "pp",
    "0",
    "(void *)0",
    "q",
    "&r",
];

const PRELUDE: &str = "
enum e { A = 0, B = 5, C = -3 }; enum big { BIG = 0x100000000ull };
char c; signed char sc; unsigned char uc; short s; unsigned short us; int i; unsigned u; long l; unsigned long ul;
long long ll; unsigned long long ull; _Bool b; float f; double d; long double ld; enum e en; enum big bg;
const unsigned char cu; volatile int vi; int *p; const int *cp; void *v; const void *cv; int arr[4]; char *str; int m[2][3];
int fn(int, char *); int **pp; const volatile int *q;
struct r { unsigned a : 3; unsigned b : 31; unsigned c : 32; int d : 32; _Bool e : 1; signed char f : 4; unsigned short g : 16; } r;
";

fn expression(random: &mut Random, depth: usize, leaves: &[&str], wide: bool) -> String {
    if depth == 0 || random.below(8) == 0 {
        return random.pick(leaves).to_owned();
    }
    let inner = |random: &mut Random| expression(random, depth - 1, leaves, wide);
    match random.below(14) {
        0 | 1 => {
            let ty = if wide && random.below(4) == 0 { random.pick(WIDE) } else { random.pick(TYPES) };
            format!("(({ty}){})", inner(random))
        }
        2 => format!("({}{})", random.pick(&["-", "+", "~", "!"]), inner(random)),
        3 => format!("({} ? {} : {})", inner(random), inner(random), inner(random)),
        4 => {
            let op = random.pick(&["<<", ">>"]);
            let count =
                if random.below(2) == 0 { format!("({} & 15)", inner(random)) } else { inner(random) };
            format!("({} {op} {count})", inner(random))
        }
        _ => {
            let op = random.pick(&[
                "+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "+",
                "-", "*",
            ]);
            format!("({} {op} {})", inner(random), inner(random))
        }
    }
}

fn lowered(text: &str, model: DataModel) -> Lowered {
    let flags = Flags { data_model: model, ..Flags::default() };
    let mut fs = OverlayFs::new(NoFs);
    fs.insert("/t.c", text.as_bytes());
    let unit = parse(RuccPreprocessor.preprocess(Path::new("/t.c"), &fs, &flags));
    lower(&unit, &flags)
}

/// What gcc says about the text; empty if it finds nothing wrong.
fn gcc(text: &str, model: DataModel) -> String {
    let machine = if model == DataModel::Lp64 { "-m64" } else { "-m32" };
    let mut child = Command::new("gcc")
        .args(["-std=gnu17", "-w", "-fsyntax-only", "-fmax-errors=0", machine, "-x", "c", "-"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("gcc starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("gcc reads");
    let output = child.wait_with_output().expect("gcc ends");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails with the lines that gcc complains about.
fn assert_no_complaints(text: &str, model: DataModel, what: &str) {
    let complaints = gcc(text, model);
    let line = |complaint: &str| {
        complaint.split(':').nth(1)?.parse().ok().and_then(|n: usize| text.lines().nth(n - 1))
    };
    let shown: Vec<String> =
        complaints.lines().map(|c| format!("{c}\n  {}", line(c).unwrap_or(""))).collect();
    assert!(shown.is_empty(), "{what}\n{}", shown.join("\n"));
}

/// Fails with what we do not understand.
fn assert_no_errors(text: &str, lowered: &Lowered) {
    let shown: Vec<String> = lowered
        .errors
        .iter()
        .map(|e| {
            let line = text[..e.span.start as usize].lines().count();
            format!("{}: {}", e.message, text.lines().nth(line - 1).unwrap_or(""))
        })
        .collect();
    assert!(shown.is_empty(), "we do not accept what gcc accepts\n{}", shown.join("\n"));
}

/// The expressions that gcc accepts in a line made from them, found by the lines it complains about.
fn accepted(expressions: Vec<String>, model: DataModel, line: impl Fn(usize, &str) -> String) -> Vec<String> {
    let mut text = PRELUDE.to_owned();
    let before = text.lines().count();
    for (index, expression) in expressions.iter().enumerate() {
        text.push_str(&line(index, expression));
        text.push('\n');
    }
    let complaints = gcc(&text, model);
    let bad: Vec<usize> = complaints
        .lines()
        .filter(|line| line.contains(": error:"))
        .filter_map(|line| line.split(':').nth(1)?.parse().ok())
        .collect();
    let keep = |index: usize| !bad.contains(&(before + 1 + index));
    expressions.into_iter().enumerate().filter(|(index, _)| keep(*index)).map(|(_, e)| e).collect()
}

/// Our types of expressions that are not constant, as gcc sees them.
fn types_agree(model: DataModel, seed: u64) {
    let mut random = Random(seed);
    let mut expressions = Vec::new();
    for round in 0..600 {
        let text = if round % 3 == 0 {
            pointer_expression(&mut random)
        } else {
            expression(&mut random, 2, VARIABLES, false)
        };
        expressions.push(text);
    }
    // The type of a bit-field itself cannot be asked for.
    expressions.retain(|e| !e.starts_with("r.") && !e.starts_with("(r.") && e != "fn");
    let expressions = accepted(expressions, model, |i, e| format!("void f{i}(void) {{ (void)({e}); }}"));
    assert!(expressions.len() > 300, "gcc accepts most of them, not {}", expressions.len());
    let mut text = PRELUDE.to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        let _ = writeln!(text, "void f{index}(void) {{ 0, {expression}; }}");
    }
    let ours = lowered(&text, model);
    assert_no_errors(&text, &ours);
    let mut claims = PRELUDE.to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        let function =
            ours.module.functions.iter().find(|f| *f.name == format!("f{index}")).expect("the function");
        let body = function.body.as_ref().expect("a body");
        let value = body
            .stmts
            .iter()
            .find_map(|s| if let Stmt::Expr(e) = s { Some(*e) } else { None })
            .expect("a statement");
        let ty = print::type_text(body.expr(value).ty);
        let _ = writeln!(
            claims,
            "_Static_assert(__builtin_types_compatible_p(__typeof__((0, {expression})), {ty}), \"\");"
        );
    }
    assert_no_complaints(&claims, model, "gcc sees other types");
}

fn pointer_expression(random: &mut Random) -> String {
    let (a, b) = (random.pick(POINTERS), random.pick(POINTERS));
    let n = expression(random, 1, VARIABLES, false);
    match random.below(9) {
        0 => format!("({a} + {n})"),
        1 => format!("({n} + {a})"),
        2 => format!("({a} - {n})"),
        3 => format!("({a} - {b})"),
        4 => format!("(i ? {a} : {b})"),
        5 => format!("({a} {} {b})", random.pick(&["==", "!=", "<", ">="])),
        6 => format!("(*({a}))"),
        7 => format!("({a}[{}])", random.pick(&["1", "i", "uc"])),
        _ => format!("(!{a} || {b})"),
    }
}

/// Our values of constant expressions, as gcc computes them.
fn values_agree(model: DataModel, seed: u64) {
    let mut random = Random(seed);
    let wide = model == DataModel::Lp64;
    let expressions: Vec<String> = (0..700).map(|_| expression(&mut random, 3, CONSTANTS, wide)).collect();
    let expressions = accepted(expressions, model, |i, e| format!("enum {{ test{i} = !({e}) }};"));
    let mut text = PRELUDE.to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        let _ = writeln!(text, "__typeof__({expression}) v{index} = {expression};");
    }
    let ours = lowered(&text, model);
    assert_no_errors(&text, &ours);
    let mut claims = PRELUDE.to_owned();
    let (mut known, mut overflows) = (0, 0);
    for (index, expression) in expressions.iter().enumerate() {
        let global = ours.module.globals.iter().find(|g| *g.name == format!("v{index}")).expect("the object");
        let (body, init) =
            (global.init_body.as_ref().expect("a body"), global.init.as_ref().expect("a value"));
        let value = consteval::evaluate(body, init.entries[0].value, &ours.module.records, model);
        let ty = print::type_text(global.ty);
        let _ = writeln!(
            claims,
            "_Static_assert(__builtin_types_compatible_p(__typeof__({expression}), {ty}), \"\");"
        );
        let claim = match value {
            Ok(ConstValue::Int(value)) => {
                let high = (value >> 64) as u64;
                let kind = global.ty.int_kind();
                if matches!(kind, Some(IntKind::Int128 | IntKind::UInt128)) {
                    format!(
                        "(unsigned long long)({expression}) == {}ull && (unsigned long long)((unsigned __int128)({expression}) >> 64) == {high}ull",
                        value as u64
                    )
                } else {
                    format!(
                        "(unsigned long long)({expression}) == {}ull && (({expression}) < 0) == {}",
                        value as u64,
                        i32::from(value < 0)
                    )
                }
            }
            Ok(ConstValue::Float(value)) if value.is_finite() => {
                let kind = global.ty.kind();
                assert!(matches!(kind, TypeKind::Float(_)), "`{expression}` is no {kind:?}");
                format!("({expression}) == {}", hexadecimal(value))
            }
            Ok(ConstValue::Float(_)) => continue,
            Ok(other) => panic!("`{expression}` is {other:?}"),
            Err(NotConstant::Overflow) => {
                overflows += 1;
                continue;
            }
            Err(NotConstant::Varies(_)) => panic!("`{expression}` is constant"),
            Err(
                NotConstant::DivisionByZero
                | NotConstant::Shift
                | NotConstant::Inexact
                | NotConstant::TooDeep,
            ) => continue,
        };
        known += 1;
        let _ = writeln!(claims, "_Static_assert({claim}, \"\");");
    }
    assert_no_complaints(&claims, model, "gcc computes other values");
    assert!(known > 250, "most have a value, not {known}");
    assert!(overflows > 3, "some overflow, not {overflows}");
}

/// A finite value as C's hexadecimal constant.
fn hexadecimal(value: Float) -> String {
    let sign = if value.is_negative() { "-" } else { "" };
    let (fraction, suffix) = match value.format() {
        Format::F16 => (10, ""),
        Format::F32 => (23, ""),
        Format::F64 => (52, ""),
        Format::F80 => (63, "L"),
        Format::F128 => (112, "q"),
    };
    let explicit = u32::from(value.format() == Format::F80);
    let width = value.format().width() - 1 - fraction - explicit;
    let bits = value.to_bits();
    let exponent = (bits >> (fraction + explicit) & ((1 << width) - 1)) as i64;
    let mut significand = bits & ((1 << (fraction + explicit)) - 1);
    if explicit == 0 && exponent != 0 {
        significand |= 1 << fraction;
    }
    let least = exponent.max(1) - ((1 << (width - 1)) - 1) - i64::from(fraction);
    format!("{sign}0x{significand:x}p{least}{suffix}")
}

#[test]
fn types_of_expressions_on_lp64() {
    types_agree(DataModel::Lp64, 0x9e37_79b9_7f4a_7c15);
}

#[test]
fn types_of_expressions_on_ilp32() {
    types_agree(DataModel::Ilp32, 0xd1b5_4a32_d192_ed03);
}

#[test]
fn values_of_constant_expressions_on_lp64() {
    values_agree(DataModel::Lp64, 0x2545_f491_4f6c_dd1d);
}

#[test]
fn values_of_constant_expressions_on_ilp32() {
    values_agree(DataModel::Ilp32, 0x1234_5678_9abc_def1);
}
