//! Concrete execution of programs that read as many inputs as an array has elements: a few runs to the end, whose inputs are
//! sequences. Programs about whole arrays go wrong for all zeros, for values that rise or fall, where one at the end is another, or where all
//! are a number of the program's text. Never proves anything.

use proofline_cpa::Unknown;

use super::{Answer, Decision, Engine, Question, concrete, pool};
use crate::{
    counterexample::Counterexample,
    interpret::{Choice, Limits, Machine, Oracle},
};
use proofline_cfa::{Program, Scalar};

/// Fewer inputs than this `concrete` tries one by one.
const MANY: usize = 1000;

/// So many numbers of the program's text are tried.
const SAME: usize = 24;

/// So many of them before the last input is another one.
const SOONER: usize = 2;

/// All runs together are as long as so many that are as long as they may be.
const RUNS: u64 = 4;

/// Runs the program.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// Edges that are interpreted in a run, at most.
    pub run_steps: u64,
    /// Edges that machine code takes in a run, when it is long.
    pub compiled_steps: u64,
}

/// The inputs of a run, by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sequence {
    Zeros,
    Falling,
    Rising,
    /// The same number each time.
    Same(i128),
    /// Zeros, but for the input with this number.
    Except(usize, i128),
}

impl Sequence {
    fn at(self, k: usize) -> i128 {
        let number = i128::try_from(k).unwrap_or(0);
        match self {
            Sequence::Zeros => 0,
            Sequence::Same(value) => value,
            Sequence::Falling => -number,
            Sequence::Rising => number,
            Sequence::Except(at, value) => i128::from(k == at) * value,
        }
    }
}

impl Engine for Sequences {
    fn name(&self) -> &'static str {
        "sequences"
    }

    fn knows_memory(&self) -> bool {
        true
    }

    fn decides_each(&self) -> bool {
        true
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        self.explore(question).into()
    }
}

impl Sequences {
    fn explore(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let Question { subject, entry, targets, budget, .. } = *question;
        let code = subject.code();
        let limits = Limits {
            steps: self.run_steps,
            compiles_after: concrete::COMPILED_AFTER,
            compiled_steps: self.compiled_steps,
            ..Limits::default()
        };
        let mut left = self.run_steps * RUNS;
        let mut open = vec![Sequence::Rising, Sequence::Falling, Sequence::Zeros];
        let mut is_first = true;
        while let Some(sequence) = open.pop() {
            let oracle = Chooser { sequence, next: 0 };
            let run = Machine::new(code, oracle, limits).with_budget(budget).run(entry);
            budget.spend(run.steps / 16 + run.compiled / concrete::COMPILED + 1)?;
            if let Some(counterexample) = Counterexample::of(&run, entry, targets) {
                return Ok(Answer::Violated(counterexample));
            }
            if std::mem::take(&mut is_first) {
                let count = run.inputs.len();
                if count < MANY {
                    return Err(Unknown::NotApplicable("few inputs are read".into()));
                }
                let at_end = [-1, 1].map(|value| Sequence::Except(count - 1, value));
                let same: Vec<Sequence> =
                    numbers(subject.program()).into_iter().rev().map(Sequence::Same).collect();
                let (later, sooner) = same.split_at(same.len().saturating_sub(SOONER));
                open = [later, &at_end, sooner, &open].concat();
            }
            left = left.saturating_sub(run.steps + run.compiled / concrete::COMPILED);
            if left == 0 {
                break;
            }
        }
        Err(Unknown::Unconfirmed("sequences of inputs were tried".into()))
    }
}

/// The numbers of the program's text and those beside them, small ones first.
fn numbers(program: &Program) -> Vec<i128> {
    let functions: Vec<_> = program.functions.values().map(|function| &**function).collect();
    let constants = pool::constants(&functions);
    let mut all: Vec<i128> = Vec::new();
    for number in [0, -1, 1].iter().flat_map(|by| constants.iter().map(move |constant| constant + by)) {
        if number > 0 && !all.contains(&number) {
            all.push(number);
        }
    }
    all.truncate(SAME);
    all
}

/// Answers by the number of the question.
struct Chooser {
    sequence: Sequence,
    next: usize,
}

impl Oracle for Chooser {
    fn choose(&mut self, choice: &Choice) -> i128 {
        let value = self.sequence.at(self.next);
        self.next += 1;
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(value),
            // An address that means something cannot be invented.
            Scalar::Pointer => 0,
            Scalar::Float(_) => i128::from((value as f64).to_bits()),
        }
    }
}
