//! Values that are tried for inputs: those that matter most often, then numbers in order, near and far.

use std::collections::{BTreeSet, VecDeque};

use proofline_cfa::{Entry, Expr, Function, IntType, Scalar, visit};

use crate::{
    interpret::{Choice, words},
    subject::Subject,
};

/// A small deterministic generator (splitmix64).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// So many functions may have a say in what is tried.
const NEAR: usize = 128;

/// Floating numbers that no integer is: comparisons with the first one are all false.
const FLOATS: &[f64] = &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5];

/// Candidate values, most telling first: small ones, then the program's own constants and their neighbours, then limits.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    values: Vec<i128>,
    /// Of floating numbers.
    numbers: Vec<f64>,
    /// Words that stand in the program's text.
    words: Vec<Vec<u8>>,
}

impl Pool {
    /// Of executions from an entry. In a large program, the constants of the nearest functions count.
    pub(crate) fn of(subject: &Subject, entry: Entry) -> Pool {
        let program = subject.program();
        let functions = near(subject, entry);
        let mut numbers = Vec::new();
        for function in &functions {
            for edge in &function.edges {
                visit::exprs(&edge.op, &mut |expr| {
                    if let Expr::Float(value) = expr {
                        numbers.extend(value.to_f64());
                    }
                });
            }
        }
        Pool::new(constants(&functions)).with_numbers(&numbers).with_words(words(program))
    }

    /// With these words.
    pub(crate) fn with_words(self, words: Vec<Vec<u8>>) -> Pool {
        Pool { words, ..self }
    }

    /// With these floating numbers, and what lies on the other side of 0.
    fn with_numbers(mut self, numbers: &[f64]) -> Pool {
        let known = &mut self.numbers;
        let constants = numbers.iter().filter(|number| number.is_finite()).take(100);
        let more = constants.flat_map(|number| [*number, -number]);
        for number in more.chain([0.5, 1e10, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]) {
            if !known.iter().any(|other| other.to_bits() == number.to_bits()) {
                known.push(number);
            }
        }
        self
    }

    pub(crate) fn new(constants: impl IntoIterator<Item = i128>) -> Pool {
        let mut values: Vec<i128> = vec![0, 1, 2, 3, -1, 4, 5, 7, 8, 10, -2];
        let mut constants: Vec<i128> = constants.into_iter().filter(|c| c.unsigned_abs() < 1 << 64).collect();
        constants.sort_by_key(|c| (c.unsigned_abs(), *c));
        constants.truncate(200);
        for c in &constants {
            values.extend([*c, c + 1, c - 1]);
        }
        values.extend([
            -3,
            6,
            9,
            11,
            13,
            16,
            20,
            32,
            100,
            127,
            128,
            255,
            256,
            1000,
            32767,
            65535,
            i128::from(i32::MAX),
            i128::from(i32::MIN),
            i128::from(u32::MAX),
            i128::from(i64::MAX),
            i128::from(i64::MIN),
            i128::from(u64::MAX),
            i128::from(i32::MAX) - 1,
            i128::from(i32::MIN) + 1,
        ]);
        let mut seen = BTreeSet::new();
        values.retain(|value| seen.insert(*value));
        // Small ones; those of the program are added.
        let few = values.iter().take(11).map(|value| *value as f64);
        let numbers = few.chain(FLOATS.iter().copied()).collect();
        Pool { values, numbers, words: Vec::new() }
    }

    /// Words that inputs may be compared with.
    pub(crate) fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Integers, most telling first.
    pub(crate) fn values(&self) -> &[i128] {
        &self.values
    }

    /// How many different candidates there are for a question.
    pub(crate) fn candidates(&self, choice: &Choice) -> usize {
        match choice.scalar {
            Scalar::Int(_) => self.len(),
            Scalar::Float(_) => self.numbers.len(),
            Scalar::Pointer if choice.may_be_made_up => 2,
            Scalar::Pointer => 1,
        }
    }

    /// The candidate for a question; out of range ones are brought into range.
    pub(crate) fn value(&self, index: usize, choice: &Choice) -> i128 {
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(self.values[index % self.values.len()]),
            // An address that means something cannot be invented.
            Scalar::Pointer => i128::from(choice.may_be_made_up && index > 0),
            Scalar::Float(_) => i128::from(self.numbers[index % self.numbers.len()].to_bits()),
        }
    }
}

/// All functions of a program, or those that are called by the fewest steps from the entry.
fn near(subject: &Subject, entry: Entry) -> Vec<&Function> {
    let program = subject.program();
    if program.functions.len() <= NEAR {
        return program.functions.values().map(|function| &**function).collect();
    }
    let calls = subject.env().call_graph();
    let (mut seen, mut open) = (BTreeSet::from([entry.name]), VecDeque::from([entry.name]));
    let mut found = Vec::new();
    while let Some(name) = open.pop_front().filter(|_| found.len() < NEAR) {
        found.extend(program.function(name).map(|function| &**function));
        open.extend(calls.callees(name).iter().filter(|callee| seen.insert(**callee)));
    }
    found
}

/// The numbers in the text of functions.
pub(crate) fn constants(functions: &[&Function]) -> BTreeSet<i128> {
    let mut found = BTreeSet::new();
    let mut see = |expr: &Expr| {
        if let Expr::Int(value, _) = expr {
            found.insert(*value);
        }
    };
    for edge in functions.iter().flat_map(|function| &function.edges) {
        visit::exprs(&edge.op, &mut see);
    }
    // What library functions look for.
    for result in functions.iter().flat_map(|function| &function.library_results) {
        result.arguments.iter().for_each(|argument| visit::walk(argument, &mut see));
    }
    found
}

/// More inputs than this have too many combinations of small numbers.
pub(crate) const MOST_COUNTED: usize = 4;

/// The values of a program's few inputs, run by run: 15 runs of 16 go through the combinations of small numbers, and one takes any numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    run: u64,
    inputs: usize,
    random: Random,
}

impl Counted {
    /// Of the run with this number, of a program that reads so many inputs.
    pub(crate) fn new(run: u64, inputs: usize) -> Counted {
        Counted { run, inputs, random: Random(run) }
    }

    /// The value of the input with this number. The first `16/15·2^bk` runs try all combinations of `k` numbers above `-2^(b-1)` and up to `2^(b-1)`.
    pub(crate) fn value(&mut self, at: usize, ty: IntType) -> i128 {
        let value = if self.run % 16 < 15 {
            let nth = self.nth(self.run - self.run / 16, at);
            if nth % 2 == 0 { -nth / 2 } else { nth / 2 + 1 }
        } else {
            let bits = self.random.next() % u64::from(ty.bits) + 1;
            i128::from(self.random.next() & (u64::MAX >> 64u64.saturating_sub(bits)))
        };
        ty.wrap(value)
    }

    /// Every `inputs`-th bit of `n`, from bit `at` on.
    fn nth(&self, n: u64, at: usize) -> i128 {
        let step = self.inputs.max(1);
        let bits = (0..64 / step).map(|bit| (bit, at + bit * step)).filter(|(_, from)| *from < 64);
        bits.map(|(bit, from)| i128::from(n >> from & 1) << bit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: IntType = IntType { bits: 32, signed: true };

    #[test]
    fn counted_runs_try_every_combination_of_small_numbers() {
        for inputs in 1..=MOST_COUNTED {
            let side = 1u64 << (8 / inputs);
            let count = side.pow(inputs as u32);
            let combinations: BTreeSet<Vec<i128>> = (0..count * 16 / 15 + 16)
                .map(|run| {
                    let mut counted = Counted::new(run, inputs);
                    (0..inputs).map(|at| counted.value(at, INT)).collect()
                })
                .collect();
            let half = i128::from(side / 2);
            let is_small = |numbers: &&Vec<i128>| numbers.iter().all(|n| (1 - half..=half).contains(n));
            assert_eq!(combinations.iter().filter(is_small).count() as u64, count);
        }
    }

    #[test]
    fn counted_values_are_in_range() {
        let narrow = IntType { bits: 1, signed: false };
        for run in 0..200 {
            assert!((0..=1).contains(&Counted::new(run, 1).value(0, narrow)));
        }
    }
}
