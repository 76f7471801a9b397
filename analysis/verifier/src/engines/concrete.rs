//! Concrete execution: runs the program with small, boundary and program-specific values for its inputs. Finds violations
//! fast; decides programs without inputs. Never proves anything about inputs it has not tried.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use proofline_cfa::{Entry, Expr, Name, Program, Scalar, Site, visit};
use proofline_cpa::{Budget, Path, Unknown};

use super::{Answer, Decision, Engine, Question, Targets};
use crate::{
    counterexample::Counterexample,
    interpret::{Choice, Code, End, Limits, Machine, Oracle, Run},
};

/// Runs the program.
#[derive(Clone, Copy, Debug)]
pub struct Concrete {
    /// Edges taken in all runs together, at most.
    pub total_steps: u64,
    /// Edges taken in the first run, which decides a program without inputs.
    pub first_steps: u64,
    /// Edges taken in a later run.
    pub run_steps: u64,
    /// Edges that machine code takes in the first run, when that is long.
    pub compiled_steps: u64,
}

impl Default for Concrete {
    fn default() -> Concrete {
        Concrete {
            total_steps: 2_000_000,
            first_steps: 20_000_000,
            run_steps: 50_000,
            compiled_steps: 1 << 31,
        }
    }
}

impl Concrete {
    /// A longer search, for when nothing else has decided.
    pub fn long() -> Concrete {
        Concrete {
            total_steps: 60_000_000,
            first_steps: 200_000_000,
            run_steps: 2_000_000,
            compiled_steps: 1 << 36,
        }
    }
}

impl Engine for Concrete {
    fn name(&self) -> &'static str {
        "concrete"
    }

    fn knows_memory(&self) -> bool {
        true
    }

    fn decides_each(&self) -> bool {
        true
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let Question { subject, entry, targets, budget } = *question;
        let code = Code::new(subject.program());
        let pool = Pool::of(subject.program());
        let mut search = Search { code: &code, pool: &pool, entry, spent: 0 };
        search.explore(self, targets, budget).into()
    }
}

/// So many steps are the interpreter's: most runs end before, and some calls need not be executed again.
const COMPILED_AFTER: u64 = 1 << 20;
/// Steps of machine code that count as one.
const COMPILED: u64 = 1 << 12;

/// Places at which a choice is remembered.
const MOST_PLACES: usize = 64;

struct Search<'s> {
    code: &'s Code,
    pool: &'s Pool,
    entry: Entry,
    spent: u64,
}

/// A vector of choices: at the k-th question, which candidate. What it does not name is 0. Its last element is not 0, so that each
/// vector is generated once.
type Choices = Vec<u32>;

impl Search<'_> {
    fn explore(&mut self, limits: &Concrete, targets: &Targets, budget: &Budget) -> Result<Answer, Unknown> {
        let mut queue: BinaryHeap<Reverse<(u32, Choices)>> = BinaryHeap::new();
        queue.push(Reverse((0, Choices::new())));
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut stuck = None;
        for round in 0u64.. {
            let first = round == 0;
            // Systematic and random choices take turns: the first find shallow bugs, the second those behind many inputs.
            let (choices, random_source) = if first || round % 2 == 1 {
                match queue.pop() {
                    Some(Reverse((_, choices))) => (choices, None),
                    None => return Err(Unknown::Unconfirmed("every small input was tried".into())),
                }
            } else {
                (Choices::new(), Some(Random(random.next())))
            };
            let steps = if first { limits.first_steps } else { limits.run_steps };
            // The first run may be long because it decides a program without inputs. One that asks and asks goes round in a loop.
            let questions = (limits.run_steps / 4) as usize;
            let systematic = random_source.is_none();
            let mut oracle = Chooser::new(self.pool, &choices);
            oracle.random = random_source;
            // Long sums of what is read need the same again and again.
            oracle.is_steady = round % 4 == 2;
            let run = Machine::new(
                self.code,
                oracle,
                Limits {
                    steps,
                    questions,
                    reads_full: round % 4 == 2,
                    compiles_after: COMPILED_AFTER,
                    compiled_steps: if first { limits.compiled_steps } else { 0 },
                    ..Limits::default()
                },
            )
            .with_budget(budget)
            .run(self.entry);
            self.spent += run.steps;
            let is_spent = budget.spend(run.steps / 16 + run.compiled / COMPILED + 1);
            // What was found is found, whatever it has cost.
            if let Some(answer) = self.judge(&run, targets) {
                return Ok(answer);
            }
            is_spent?;
            if let End::Stuck(why) = &run.end {
                stuck.get_or_insert_with(|| why.clone());
            }
            if first && run.inputs.is_empty() && run.is_determined {
                // Every run is this run, and it decided nothing.
                let why = stuck.unwrap_or_else(|| "the only run does not end within the limit".into());
                return Err(Unknown::Unconfirmed(why));
            }
            if systematic {
                self.extend(&mut queue, &choices, &run.inputs);
            }
            if self.spent > limits.total_steps {
                return Err(match stuck {
                    Some(why) => Unknown::Unconfirmed(why),
                    None => Unknown::OutOfBudget,
                });
            }
        }
        Err(Unknown::OutOfBudget)
    }

    fn judge(&self, run: &Run, targets: &Targets) -> Option<Answer> {
        if let Some(counterexample) = Counterexample::of(run, self.entry, targets) {
            return Some(Answer::Violated(counterexample));
        }
        match &run.end {
            // One run without inputs is all runs; what it does not violate holds.
            End::Finished | End::Violates(..)
                if run.inputs.is_empty() && run.is_determined && !run.is_guess =>
            {
                let mut why = "the program has no input: its only execution was run to the end".to_owned();
                if run.compiled > 0 {
                    why.push_str(&format!(", {} of its steps as machine code", run.compiled));
                }
                Some(Answer::Holds(why))
            }
            End::Diverges if run.inputs.is_empty() && run.is_determined && !run.is_guess => {
                Some(Answer::Holds("the program has no input: its only execution goes round for ever".into()))
            }
            End::Finished
            | End::Violates(..)
            | End::Diverges
            | End::Stuck(_)
            | End::OutOfSteps
            | End::Deviated(_) => None,
        }
    }

    /// The neighbours of a vector: its last choice one further, or one more choice after it.
    fn extend(
        &self,
        queue: &mut BinaryHeap<Reverse<(u32, Choices)>>,
        choices: &Choices,
        inputs: &[(Choice, i128)],
    ) {
        const QUEUE: usize = 20_000;
        const AHEAD: usize = 24;
        if queue.len() > QUEUE {
            return;
        }
        let cost: u32 = choices.iter().sum();
        let candidates = |at: usize| inputs.get(at).map_or(0, |(choice, _)| self.pool.candidates(choice));
        if let Some((&last, before)) = choices.split_last()
            && (last as usize) + 1 < candidates(before.len())
        {
            let mut next = before.to_vec();
            next.push(last + 1);
            queue.push(Reverse((cost + 1, next)));
        }
        let near = choices.len()..inputs.len().min(choices.len() + AHEAD);
        for at in near.filter(|at| candidates(*at) > 1) {
            let mut next = choices.clone();
            next.resize(at, 0);
            next.push(1);
            queue.push(Reverse((cost + 1, next)));
        }
    }
}

/// Answers by position in the pool.
struct Chooser<'s> {
    pool: &'s Pool,
    choices: &'s Choices,
    next: usize,
    random: Option<Random>,
    /// What was chosen at random at a place is chosen there again.
    is_steady: bool,
    chosen: Vec<((Name, Site), u64)>,
}

impl<'s> Chooser<'s> {
    fn new(pool: &'s Pool, choices: &'s Choices) -> Chooser<'s> {
        Chooser { pool, choices, next: 0, random: None, is_steady: false, chosen: Vec::new() }
    }
}

impl Oracle for Chooser<'_> {
    fn choose(&mut self, choice: &Choice) -> i128 {
        let place = (choice.function, choice.site);
        let chosen = self.chosen.iter().find(|(at, _)| self.is_steady && *at == place);
        let before = chosen.map(|(_, index)| *index);
        let index = match (&mut self.random, before) {
            (Some(_), Some(before)) => before,
            (Some(random), None) => {
                let r = random.next();
                // Small indices are likelier: they hold the values that matter.
                let len = self.pool.candidates(choice) as u64;
                let index = if r & 3 == 0 { (r >> 8 & 7) % len } else { (r >> 8) % len };
                if self.is_steady && self.chosen.len() < MOST_PLACES {
                    self.chosen.push((place, index));
                }
                index
            }
            (None, _) => u64::from(self.choices.get(self.next).copied().unwrap_or(0)),
        };
        self.next += 1;
        self.pool.value(index as usize, choice)
    }
}

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

/// Floating numbers that no integer is: comparisons with the first one are all false.
const FLOATS: &[f64] = &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5];

/// Candidate values, most telling first: small ones, then the program's own constants and their neighbours, then limits.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    values: Vec<i128>,
    /// Of floating numbers.
    numbers: Vec<f64>,
}

impl Pool {
    pub(crate) fn of(program: &Program) -> Pool {
        let mut constants = BTreeSet::new();
        let mut numbers = Vec::new();
        for function in program.functions.values() {
            for edge in &function.edges {
                visit::exprs(&edge.op, &mut |expr| {
                    if let Expr::Int(value, _) = expr {
                        constants.insert(*value);
                    }
                    if let Expr::Float(value) = expr {
                        numbers.extend(value.to_f64());
                    }
                });
            }
        }
        Pool::new(constants).with_numbers(&numbers)
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
        Pool { values, numbers }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// How many different candidates there are for a question.
    fn candidates(&self, choice: &Choice) -> usize {
        match choice.scalar {
            Scalar::Int(_) => self.len(),
            Scalar::Float(_) => self.numbers.len(),
            Scalar::Pointer if choice.may_be_made_up => 2,
            Scalar::Pointer => 1,
        }
    }

    /// The candidate for a question; out of range ones are brought into range.
    fn value(&self, index: usize, choice: &Choice) -> i128 {
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(self.values[index % self.values.len()]),
            // An address that means something cannot be invented.
            Scalar::Pointer => i128::from(choice.may_be_made_up && index > 0),
            Scalar::Float(_) => i128::from(self.numbers[index % self.numbers.len()].to_bits()),
        }
    }
}

/// Tries to find inputs that drive the program along a path.
pub(crate) fn follow(question: &Question<'_>, path: &Path) -> Result<Option<Counterexample>, Unknown> {
    let Question { subject, entry, budget, .. } = *question;
    let code = Code::new(subject.program());
    let pool = Pool::of(subject.program());
    let Some(target) = path.target else { return Ok(None) };
    let targets = Targets::new([target]);
    // Depth-first over the answers; an answer that makes the run leave the path before the next question is wrong.
    let mut answers: Vec<u32> = Vec::new();
    loop {
        let oracle = Chooser::new(&pool, &answers);
        let limits = Limits { steps: path.steps.len() as u64 * 2 + 1000, ..Limits::default() };
        let run = Machine::new(&code, oracle, limits).with_budget(budget).with_guide(path).run(entry);
        budget.spend(run.steps / 16 + 1)?;
        if let Some(counterexample) = Counterexample::of(&run, entry, &targets) {
            return Ok(Some(counterexample));
        }
        // Change the last question that was asked and has candidates left.
        answers.resize(run.inputs.len(), 0);
        loop {
            match answers.pop() {
                None => return Ok(None),
                Some(last)
                    if run
                        .inputs
                        .get(answers.len())
                        .is_some_and(|(choice, _)| (last as usize) + 1 < pool.candidates(choice)) =>
                {
                    answers.push(last + 1);
                    break;
                }
                Some(_) => {}
            }
        }
    }
}
