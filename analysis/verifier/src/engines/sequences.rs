//! Concrete execution of programs that read as many inputs as an array has elements: a few runs to the end, whose inputs are
//! sequences. Programs about whole arrays go wrong for all zeros, for values that rise or fall, or where one at the end is another. Never
//! proves anything.

use proofline_cpa::Unknown;

use super::{Answer, Decision, Engine, Question};
use crate::{
    counterexample::Counterexample,
    interpret::{Choice, Code, Limits, Machine, Oracle},
};
use proofline_cfa::Scalar;

/// Fewer inputs than this `concrete` tries one by one.
const MANY: usize = 1000;

/// Runs the program.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// Edges taken in a run, at most.
    pub run_steps: u64,
}

/// The inputs of a run, by their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sequence {
    Zeros,
    Falling,
    Rising,
    /// Zeros, but for the input with this number.
    Except(usize, i128),
}

impl Sequence {
    fn at(self, k: usize) -> i128 {
        let number = i128::try_from(k).unwrap_or(0);
        match self {
            Sequence::Zeros => 0,
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
        let Question { subject, entry, targets, budget } = *question;
        let code = Code::new(subject.program());
        let limits = Limits { steps: self.run_steps, ..Limits::default() };
        let mut open = vec![Sequence::Rising, Sequence::Falling, Sequence::Zeros];
        let mut is_first = true;
        while let Some(sequence) = open.pop() {
            let oracle = Chooser { sequence, next: 0 };
            let run = Machine::new(&code, oracle, limits).with_budget(budget).run(entry);
            budget.spend(run.steps / 16 + 1)?;
            if let Some(counterexample) = Counterexample::of(&run, entry, targets) {
                return Ok(Answer::Violated(counterexample));
            }
            if std::mem::take(&mut is_first) {
                let count = run.inputs.len();
                if count < MANY {
                    return Err(Unknown::NotApplicable("few inputs are read".into()));
                }
                for value in [1, -1] {
                    open.insert(0, Sequence::Except(count - 1, value));
                }
            }
        }
        Err(Unknown::Unconfirmed("sequences of inputs were tried".into()))
    }
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
