//! Random programs that are all loops, and whether skipping iterations changes anything: the run that skips wherever it can against the
//! run that never does. Wide and narrow counters, steps in both directions, wrap-around, pointers to what is counted, phases, calls,
//! loops with several exits, loops in loops, loops without an end, obligations that fail somewhere inside.

use std::fmt::Write;

use proofline_cfa::{Callee, Op, eval::Value};
use proofline_verifier::{
    Entry, Subject,
    interpret::{Code, End, Limits, Machine, Script},
};

use super::{
    examine::{Outcome, load},
    program::Manner,
};
use crate::Random;

const TYPES: [&str; 8] =
    ["unsigned char", "signed char", "unsigned short", "int", "unsigned", "long", "unsigned long", "short"];

/// Steps of the run that skips nothing.
const STEPS: u64 = 150_000;

/// What a comparison showed.
#[derive(Clone, Debug)]
pub struct Skipping {
    /// Edges that were skipped.
    pub skipped: u128,
    /// The run that skips nothing came to its end, so everything was compared.
    pub is_compared: bool,
}

struct Writer {
    random: Random,
    text: String,
    /// Their names; those of type `int` or wider come with obligations.
    names: Vec<String>,
    depth: usize,
    loops: usize,
}

/// A program of loops.
pub fn generate_loops(seed: u64) -> String {
    let mut writer =
        Writer { random: Random::new(seed), text: String::new(), names: Vec::new(), depth: 0, loops: 0 };
    writer.program();
    writer.text
}

impl Writer {
    fn program(&mut self) {
        self.text.push_str("void reach_error(void);\nstatic void observe(int id, long value) {}\n");
        self.text.push_str("static int next(int x) { return x + 1; }\n");
        self.text.push_str("static unsigned half(unsigned x) { if (x % 2u) x = x - 1u; return x / 2u; }\n");
        let mut body = String::new();
        for at in 0..2 + self.random.below(4) {
            let (ty, value) = (self.random.one(TYPES), self.start());
            let name = format!("v{at}");
            let out = if self.random.percent(35) { &mut self.text } else { &mut body };
            let _ = writeln!(out, "{ty} {name} = {value};");
            self.names.push(name);
        }
        let (ty, value) = (self.random.one(TYPES), self.start());
        let _ = writeln!(self.text, "{ty} target = {value};\n{ty} *pointer = &target;");
        let _ = writeln!(self.text, "struct bits {{ unsigned low : 5; int high : 7; }} bits;\nint array[4];");
        self.names.extend(["target".to_owned(), "*pointer".to_owned()]);
        self.text.push_str("int main(void) {\n");
        self.text.push_str(&body);
        for _ in 0..1 + self.random.below(3) {
            self.repeat();
        }
        for (at, name) in self.names.clone().iter().enumerate() {
            let _ = writeln!(self.text, "observe({at}, (long){name});");
        }
        self.text.push_str("return 0;\n}\n");
    }

    fn start(&mut self) -> i64 {
        let near = self.random.one([0, 0, 0, 1, 100, 127, 255, 32767, 65535, 2_147_483_647]);
        near - self.random.below(5) as i64
    }

    fn name(&mut self) -> String {
        let at = self.random.below(self.names.len());
        self.names[at].clone()
    }

    fn small(&mut self) -> i64 {
        self.random.one([0, 1, 1, 1, 2, 3, 7, 8, 10, 100, -1, -2, 64])
    }

    fn bound(&mut self) -> i64 {
        self.random.one([3, 10, 50, 99, 127, 128, 255, 300, 1000, 5000, 32767, 70000])
    }

    /// A loop.
    fn repeat(&mut self) {
        self.loops += 1;
        self.depth += 1;
        let own = format!("i{}", self.loops);
        let (ty, step) = (self.random.one(TYPES), self.random.one([1, 1, 1, 1, 2, 3, 5, 0, -1]));
        let bound = if self.depth > 1 { self.random.one([2, 5, 40, 300]) } else { self.bound() };
        let (from, compare, to) = match step {
            -1 => (bound, self.random.one([">", ">=", "!="]), 0),
            _ => (self.random.one([0, 0, 1, -3]), self.random.one(["<", "<", "<=", "!="]), bound),
        };
        let head = match self.random.below(4) {
            0 => format!("while ({})", self.condition()),
            1 => "do".to_owned(),
            _ => format!("for ({ty} {own} = {from}; {own} {compare} {to}; {own} += {step})"),
        };
        let _ = writeln!(self.text, "{head} {{");
        let is_own = head.starts_with("for");
        if is_own {
            self.names.push(own);
        }
        for _ in 0..1 + self.random.below(4) {
            self.statement();
        }
        if is_own {
            self.names.pop();
        }
        match head.as_str() {
            "do" => {
                let condition = self.condition();
                let _ = writeln!(self.text, "}} while ({condition});");
            }
            _ => self.text.push_str("}\n"),
        }
        self.depth -= 1;
    }

    fn condition(&mut self) -> String {
        let (a, b, small, bound) = (self.name(), self.name(), self.small(), self.bound());
        match self.random.below(9) {
            0 => format!("{a} < {bound}"),
            1 => format!("{a} != {small}"),
            2 => format!("{a} % 2 == 0"),
            3 => format!("{a} < {b}"),
            4 => format!("{a} > {small} && {b} < {bound}"),
            5 => format!("({a} & 7) == 3"),
            6 => format!("(unsigned){a} >= {bound}u"),
            7 => format!("{a} == {bound}"),
            _ => format!("{a} <= {bound}"),
        }
    }

    fn statement(&mut self) {
        let (a, b, small, bound) = (self.name(), self.name(), self.small(), self.bound());
        let text = match self.random.below(26) {
            0..=4 => format!("{a} += {small};"),
            5 | 6 => format!("{a}++;"),
            7 => format!("{a}--;"),
            8 => format!("{a} = {small};"),
            9 => format!("{a} = {b};"),
            10 => format!("{a} = {b} + {small};"),
            11 => format!("{a} += {b};"),
            12 => format!("{a} -= {b};"),
            13 => format!("{a} = {b} % 10;"),
            14 => format!("{a} = {b} / 3;"),
            15 => format!("{a} = {b} & 15;"),
            16 => format!("{a} = next({b} & 1023);"),
            17 => format!("{a} = half((unsigned){b});"),
            18 => format!("{a} = {b} * 3;"),
            19 => format!("if ({}) break;", self.condition()),
            20 => format!("if ({a} == {bound}) reach_error();"),
            21 => format!("bits.low++; bits.high = {b} & 3;"),
            22 => format!("array[{a} & 3] += 1;"),
            23 if self.depth < 3 => {
                self.repeat();
                return;
            }
            _ => {
                let condition = self.condition();
                let _ = writeln!(self.text, "if ({condition}) {{");
                self.statement();
                self.text.push_str("} else {\n");
                self.statement();
                "}".to_owned()
            }
        };
        let _ = writeln!(self.text, "{text}");
    }
}

/// The two runs.
///
/// # Errors
/// What differs, or why there is nothing to compare.
pub fn compare_skipping(text: &str) -> Result<Skipping, String> {
    let mut outcome = Outcome::default();
    let Some(loaded) = load(text, Manner::default(), &mut outcome) else {
        return Err(outcome.faults.first().map_or_else(String::new, ToString::to_string));
    };
    let code = Code::new(loaded.subject.program());
    let run = |skips_after, steps| {
        let limits = Limits { steps, skips_after, ..Limits::default() };
        Machine::new(&code, Script::default(), limits).with_trace().run(Entry::main())
    };
    let (skipping, stepping) = (run(0, 4 * STEPS), run(u64::MAX, STEPS));
    let skipped = skipping.skipped;
    if stepping.end == End::OutOfSteps {
        let is_too_early = match skipping.end {
            End::OutOfSteps | End::Diverges => false,
            _ => u128::from(skipping.steps) + skipped < u128::from(STEPS),
        };
        return match is_too_early {
            true => Err(format!("ends early with {:?}", skipping.end)),
            false => Ok(Skipping { skipped, is_compared: false }),
        };
    }
    let told = |run: &proofline_verifier::interpret::Run| {
        let values = observed(&loaded.subject, run);
        (run.end.clone(), run.inputs.clone(), run.is_determined, run.is_guess, values)
    };
    if told(&skipping) != told(&stepping) {
        return Err(format!("{:?}\nwithout skipping {:?}", told(&skipping), told(&stepping)));
    }
    Ok(Skipping { skipped, is_compared: true })
}

/// A run as machine code, which looks at itself after every stretch, and one without; how many steps were machine code.
///
/// # Errors
/// What differs, or why there is nothing to compare.
pub fn compare_compiled(text: &str) -> Result<u64, String> {
    let mut outcome = Outcome::default();
    let Some(loaded) = load(text, Manner::default(), &mut outcome) else {
        return Err(outcome.faults.first().map_or_else(String::new, ToString::to_string));
    };
    let code = Code::new(loaded.subject.program());
    let run = |compiled_steps, is_doubted| {
        let limits = Limits {
            steps: STEPS,
            skips_after: u64::MAX,
            compiles_after: 0,
            compiled_steps,
            ..Limits::default()
        };
        let machine = Machine::new(&code, Script::default(), limits);
        let machine = if is_doubted { machine.with_doubt() } else { machine };
        machine.run(Entry::main())
    };
    let told = |run: &proofline_verifier::interpret::Run| {
        (run.end.clone(), run.inputs.clone(), run.is_determined, run.is_guess)
    };
    let (stepping, doubted, plain) = (run(0, false), run(STEPS, true), run(STEPS, false));
    if stepping.end == End::OutOfSteps {
        return match doubted.end {
            End::Stuck(why) => Err(why),
            _ => Ok(doubted.compiled),
        };
    }
    for compiled in [&doubted, &plain] {
        if told(compiled) != told(&stepping) {
            return Err(format!("{:?}\nwithout machine code {:?}", told(compiled), told(&stepping)));
        }
    }
    Ok(doubted.compiled)
}

/// What the end of the program says of its variables.
fn observed(subject: &Subject, run: &proofline_verifier::interpret::Run) -> Vec<(i128, i128)> {
    let events = run.trace.iter().flat_map(|trace| &trace.events);
    let calls = events.filter_map(|event| {
        let Op::Call(call) = &subject.program().function(event.function)?.edge(event.edge).op else {
            return None;
        };
        match (&call.callee, event.arguments.as_slice()) {
            (Callee::Direct(name), [Some((Value::Int(id), _)), Some((Value::Int(value), _))])
                if name.as_str().ends_with("observe") =>
            {
                Some((*id, *value))
            }
            _ => None,
        }
    });
    calls.collect()
}
