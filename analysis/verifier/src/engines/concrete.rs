//! Concrete execution: runs the program with small, boundary and program-specific values for its inputs. Finds violations
//! fast; decides programs without inputs, and those whose runs only differ by the allocations that fail. Never proves anything about inputs it has not tried.

mod every_run;

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use proofline_cfa::{EdgeId, Entry, IntType, Name, ObligationId, Program, Scalar, Site, command_line::ARGV};
use proofline_cpa::{Budget, Path, Unknown};

use super::{
    Answer, Decision, Engine, Features, Question, Targets,
    corpus::{Corpus, Coverage, fitted},
    pool::{Counted, MOST_COUNTED, Pool, Random},
    states::{Onward, States},
};
use crate::{
    counterexample::Counterexample,
    interpret::{Choice, Code, End, Limits, Machine, Oracle, Passing, Run},
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
        let Question { subject, entry, first_only, budget, .. } = *question;
        let code = subject.code();
        let pool = Pool::of(subject, entry);
        let (open, violated) = (question.targets.clone(), Vec::new());
        let has_texts = !entry.is_library() && Features::of(subject, entry).texts > 0;
        let mut search = Search {
            code,
            pool: &pool,
            entry,
            first_only,
            has_texts,
            open,
            violated,
            proved: BTreeSet::new(),
            spent: 0,
            lengthened: 0,
        };
        let answer = search.explore(self, budget);
        let (mut violated, proved) = (search.violated, search.proved);
        // Where nothing is left to ask about, a violation is the answer.
        let last = if search.open.is_empty() || first_only { violated.pop() } else { None };
        let answer = last.map_or(answer, |last| Ok(Answer::Violated(last)));
        Decision { violated, proved, ..answer.into() }
    }
}

/// So many steps are the interpreter's: most runs end before, and some calls need not be executed again.
pub(super) const COMPILED_AFTER: u64 = 1 << 20;
/// Steps of machine code that count as one.
pub(super) const COMPILED: u64 = 1 << 12;

/// This part of all steps may be spent before the values of few inputs are no longer counted through.
const COUNTED: u64 = 8;
/// That a run begins costs as much as so many steps.
const BEGINNING: u64 = 500;
/// Edges taken in such a run.
const COUNTED_STEPS: u64 = 20_000;

/// The first runs are asked no more than this, and the limit doubles after so many runs: as a rule a run that asks on and on goes round in a loop, and
/// others would find what it does not.
const QUESTIONS: usize = 200;
const DOUBLES: u64 = 16;

/// Most runs have no more arguments on their command line.
const FEW_ARGUMENTS: i128 = 5;

/// A run that was asked for so many characters reads a text.
const TEXT: usize = 3;

/// Where a whole program reads texts, the search may spend so many times as much: what a mistake needs is many characters.
const FOR_TEXTS: u64 = 4;

/// Questions behind the answers that a run was given, beside as many again, where texts are read.
const BEHIND: usize = 64;

/// A run that was asked so little and has used all of its steps computes something: it may go on, as long as this part of the first run's steps lasts.
const FEW_QUESTIONS: usize = 400;
const LONGER: u64 = 4;

/// Places at which a choice is remembered.
const MOST_PLACES: usize = 64;

struct Search<'s> {
    code: &'s Code,
    pool: &'s Pool,
    entry: Entry,
    first_only: bool,
    /// The program reads lines of files, or its command line, so that long texts may be what it needs.
    has_texts: bool,
    /// What is asked about and was not found violated.
    open: Targets,
    violated: Vec<Counterexample>,
    /// What no run violates, where all of them were seen.
    proved: BTreeSet<(Name, ObligationId)>,
    spent: u64,
    /// Steps of runs that were given more of them.
    lengthened: u64,
}

/// Of what is counted through where no integer is asked for.
const NUMBERS: IntType = IntType { bits: 32, signed: true };

/// A vector of choices: at the k-th question, which candidate. What it does not name is 0. Its last element is not 0, so that each
/// vector is generated once.
type Choices = Vec<u32>;

impl Search<'_> {
    fn explore(&mut self, limits: &Concrete, budget: &Budget) -> Result<Answer, Unknown> {
        let mut queue: BinaryHeap<Reverse<(u32, Choices)>> = BinaryHeap::new();
        queue.push(Reverse((0, Choices::new())));
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut corpus = Corpus::new(self.pool);
        let mut states = States::new();
        let mut stuck = None;
        let has_arguments = has_arguments(&self.code.program, self.entry);
        // The most inputs that a run has read, the runs that count through their values, and what these have cost.
        let (mut arity, mut counted, mut counting) = (0, 0, 0);
        let mut spent = [0; Turn::ALL.len()];
        for round in 0u64.. {
            let first = round == 0;
            let mut coverage = Coverage::default();
            // Ways to choose take turns: systematic ones find shallow bugs, the others those behind many inputs. Of many inputs each way may
            // spend as much as the others.
            let has_many = arity > MOST_COUNTED;
            let turn = if has_many { Turn::of_least(&spent) } else { Turn::ALL[(round % 2) as usize] };
            let is_systematic = first || turn == Turn::Systematic;
            let next = if is_systematic { queue.pop() } else { None };
            let is_over = next.is_none() && queue.is_empty() && (is_systematic || !has_many);
            let (choices, source) = match next {
                Some(Reverse((_, choices))) => (choices, Source::Choices),
                None if is_over => {
                    // Where few inputs are read, numbers that nothing in the program speaks of are tried, too.
                    if arity == 0 || has_many || counting > limits.total_steps / COUNTED {
                        return Err(Unknown::Unconfirmed("every small input was tried".into()));
                    }
                    counted += 1;
                    (Choices::new(), Source::Counted(Counted::new(counted - 1, arity)))
                }
                None if turn == Turn::Changed => {
                    (Choices::new(), Source::Changed(corpus.next(), corpus.rest(), &mut coverage))
                }
                None if turn == Turn::Onward => {
                    (Choices::new(), Source::Onward(states.next(), Random(random.next()), &mut states))
                }
                None => (Choices::new(), Source::Random(Random(random.next()))),
            };
            let steps = match source {
                _ if first => limits.first_steps,
                Source::Counted(_) => limits.run_steps.min(COUNTED_STEPS),
                Source::Choices | Source::Random(_) | Source::Changed(..) | Source::Onward(..) => {
                    limits.run_steps
                }
            };
            // The first run may be long because it decides a program without inputs. One that asks and asks goes round in a loop.
            let questions = match &source {
                Source::Onward(onward, ..) => onward.most,
                Source::Choices | Source::Random(_) | Source::Counted(_) | Source::Changed(..) => {
                    let most = (limits.run_steps / 4) as usize;
                    let is_long = first || round % 8 == 4;
                    let growing = QUESTIONS << (round / DOUBLES).min(16);
                    // What was changed is what the run is about: behind a text, it should soon end.
                    let about = match &source {
                        Source::Changed(answers, ..) if corpus.reads_text => 2 * answers.len() + BEHIND,
                        _ => most,
                    };
                    if is_long { most } else { most.min(growing).min(about) }
                }
            };
            let systematic = matches!(source, Source::Choices);
            let is_counted = matches!(source, Source::Counted(_));
            let is_changed = matches!(source, Source::Changed(..));
            let mut oracle = Chooser::new(self.pool, &choices);
            oracle.source = source;
            oracle.most_arguments = match turn {
                _ if !has_arguments || is_systematic => None,
                // It goes back to where it was with the same number of them.
                Turn::Onward => Some(FEW_ARGUMENTS),
                Turn::Random | Turn::Systematic | Turn::Changed => (round % 8 != 4).then_some(FEW_ARGUMENTS),
            };
            // Long sums of what is read need the same again and again.
            oracle.is_steady = round % 8 == 4;
            let run = Machine::new(
                self.code,
                oracle,
                Limits {
                    steps,
                    questions,
                    reads_full: round % 8 == 4,
                    compiles_after: COMPILED_AFTER,
                    compiled_steps: if first { limits.compiled_steps } else { 0 },
                    ..Limits::default()
                },
            )
            .with_budget(budget)
            .run(self.entry);
            self.spent += run.steps;
            // The first run may be long: it counts as any other.
            spent[turn as usize] += run.steps.min(limits.run_steps) + BEGINNING;
            counting += if is_counted { run.steps + BEGINNING } else { 0 };
            let is_spent = budget.spend(run.steps / 16 + run.compiled / COMPILED + 1);
            // What was found is found, whatever it has cost.
            self.record(&run)?;
            if let Some(answer) = Search::judge(&run) {
                return Ok(answer);
            }
            is_spent?;
            if first && let Some(answer) = self.every_run(&run, limits, budget)? {
                return Ok(answer);
            }
            if !first && self.goes_on(&run, limits, budget)? {
                return Err(Unknown::OutOfBudget);
            }
            if let End::Stuck(why) = &run.end {
                stuck.get_or_insert_with(|| why.clone());
            }
            if first && run.inputs.is_empty() && run.is_determined {
                // Every run is this run, and it decided nothing.
                let why = stuck.unwrap_or_else(|| "the only run does not end within the limit".into());
                return Err(Unknown::Unconfirmed(why));
            }
            arity = arity.max(run.inputs.len());
            let characters = run.inputs.iter().filter(|(choice, _)| is_character(choice));
            corpus.reads_text |= characters.take(TEXT).count() == TEXT;
            if is_changed {
                corpus.learn(&coverage, &run.inputs);
            }
            if systematic {
                self.extend(&mut queue, &choices, &run.inputs);
            }
            let is_about_text = corpus.reads_text && self.has_texts;
            if self.spent > limits.total_steps * if is_about_text { FOR_TEXTS } else { 1 } {
                return Err(match stuck {
                    Some(why) => Unknown::Unconfirmed(why),
                    None => Unknown::OutOfBudget,
                });
            }
        }
        Err(Unknown::OutOfBudget)
    }

    /// Gives a run that computes for long more steps. Whether nothing is left to ask about then.
    fn goes_on(&mut self, run: &Run, limits: &Concrete, budget: &Budget) -> Result<bool, Unknown> {
        let most = (limits.first_steps / LONGER).saturating_sub(self.lengthened) / 2;
        let computes = matches!(run.end, End::OutOfSteps) && run.inputs.len() <= FEW_QUESTIONS;
        if !computes || most <= limits.run_steps {
            return Ok(false);
        }
        let answers = run.inputs.iter().map(|(_, answer)| *answer).collect();
        let mut coverage = Coverage::default();
        let none = Choices::new();
        let mut oracle = Chooser::new(self.pool, &none);
        oracle.source = Source::Changed(answers, 0, &mut coverage);
        let limits = Limits { steps: most, questions: 2 * FEW_QUESTIONS, ..Limits::default() };
        let longer = Machine::new(self.code, oracle, limits).with_budget(budget).run(self.entry);
        self.lengthened += longer.steps;
        let is_spent = budget.spend(longer.steps / 16 + 1);
        if let Some(found) = Counterexample::of(&longer, self.entry, &self.open) {
            self.open.remove(found.function, found.obligation);
            self.violated.push(found);
        }
        is_spent.map(|()| self.open.is_empty() || self.first_only && !self.violated.is_empty())
    }

    /// Notes what a run violates.
    ///
    /// # Errors
    /// If nothing else is asked.
    fn record(&mut self, run: &Run) -> Result<(), Unknown> {
        let Some(found) = Counterexample::of(run, self.entry, &self.open) else { return Ok(()) };
        self.open.remove(found.function, found.obligation);
        self.violated.push(found);
        if self.first_only || self.open.is_empty() { Err(Unknown::OutOfBudget) } else { Ok(()) }
    }

    /// Of what is still open after a run, whether that run is all there is.
    fn judge(run: &Run) -> Option<Answer> {
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

/// Whether the first question of a run is how many arguments the command line has.
pub(super) fn has_arguments(program: &Program, entry: Entry) -> bool {
    let takes_them = program.function(entry.name).is_some_and(|function| function.parameters.len() > 1);
    takes_them && !entry.is_library() && program.globals.contains_key(&Name::new(ARGV))
}

/// Whether a character is asked for.
fn is_character(choice: &Choice) -> bool {
    matches!(choice.scalar, Scalar::Int(IntType { bits: 8, .. }))
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Random,
    Systematic,
    Changed,
    Onward,
}

impl Turn {
    const ALL: [Turn; 4] = [Turn::Random, Turn::Systematic, Turn::Changed, Turn::Onward];

    /// Of the one that has spent least.
    fn of_least(spent: &[u64; Turn::ALL.len()]) -> Turn {
        let least = Turn::ALL.into_iter().min_by_key(|turn| spent[*turn as usize]);
        least.unwrap_or(Turn::Random)
    }
}

/// Where a run's answers come from.
enum Source<'s> {
    /// Candidates by their positions in the pool.
    Choices,
    /// Any candidates.
    Random(Random),
    /// Numbers in order, and candidates for what is no number.
    Counted(Counted),
    /// Those of an earlier run, changed, and what comes behind them; the edges of this one are noted.
    Changed(Vec<i128>, i128, &'s mut Coverage),
    /// Those that lead to a state, and any candidates behind them; states that are new are noted.
    Onward(Onward, Random, &'s mut States),
}

/// Answers by position in the pool.
struct Chooser<'s> {
    pool: &'s Pool,
    choices: &'s Choices,
    next: usize,
    source: Source<'s>,
    /// What was chosen at random at a place is chosen there again.
    is_steady: bool,
    chosen: Vec<((Name, Site), u64)>,
    /// The first question is how many arguments the command line has: no more than this.
    most_arguments: Option<i128>,
}

impl<'s> Chooser<'s> {
    fn new(pool: &'s Pool, choices: &'s Choices) -> Chooser<'s> {
        Chooser {
            pool,
            choices,
            next: 0,
            source: Source::Choices,
            is_steady: false,
            chosen: Vec::new(),
            most_arguments: None,
        }
    }
}

impl Oracle for Chooser<'_> {
    fn hears_edges(&self) -> bool {
        matches!(self.source, Source::Changed(..))
    }

    fn passes(&mut self, function: Name, edge: EdgeId, passing: Passing) {
        if let Source::Changed(.., coverage) = &mut self.source
            && passing != Passing::Leave
        {
            coverage.note(function, edge);
        }
    }

    fn hears_states(&self) -> bool {
        matches!(self.source, Source::Onward(..))
    }

    fn reaches(&mut self, state: u64) {
        if let Source::Onward(onward, _, states) = &mut self.source
            && self.next >= onward.answers.len()
        {
            states.reach(onward, state);
        }
    }

    fn choose(&mut self, choice: &Choice) -> i128 {
        match self.most_arguments.take() {
            Some(most) => self.chosen_for(choice).rem_euclid(most + 1),
            None => self.chosen_for(choice),
        }
    }
}

impl Chooser<'_> {
    fn chosen_for(&mut self, choice: &Choice) -> i128 {
        let place = (choice.function, choice.site);
        let chosen = self.chosen.iter().find(|(at, _)| self.is_steady && *at == place);
        let before = chosen.map(|(_, index)| *index);
        let at = self.next;
        let index = match (&mut self.source, before) {
            (Source::Changed(answers, rest, _), _) => {
                self.next += 1;
                return fitted(answers.get(at).copied(), *rest, choice);
            }
            (Source::Counted(counted), _) => {
                self.next += 1;
                return match choice.scalar {
                    Scalar::Int(ty) => counted.value(at, ty),
                    Scalar::Float(_) => ((counted.value(at, NUMBERS) as f64) / 8.0).to_bits().into(),
                    Scalar::Pointer => self.pool.value((counted.value(at, NUMBERS) & 1) as usize, choice),
                };
            }
            (Source::Onward(onward, random, _), _) => {
                self.next += 1;
                return onward.known(at).unwrap_or_else(|| {
                    let index = likely(random, self.pool.candidates(choice) as u64);
                    let answer = self.pool.value(index as usize, choice);
                    onward.chose(answer);
                    answer
                });
            }
            (Source::Random(_), Some(before)) => before,
            (Source::Random(random), None) => {
                let index = likely(random, self.pool.candidates(choice) as u64);
                if self.is_steady && self.chosen.len() < MOST_PLACES {
                    self.chosen.push((place, index));
                }
                index
            }
            (Source::Choices, _) => u64::from(self.choices.get(self.next).copied().unwrap_or(0)),
        };
        self.next += 1;
        self.pool.value(index as usize, choice)
    }
}

/// Of so many candidates one at random. Small indices are likelier: they hold the values that matter.
fn likely(random: &mut Random, candidates: u64) -> u64 {
    let r = random.next();
    if r & 3 == 0 { (r >> 8 & 7) % candidates } else { (r >> 8) % candidates }
}

/// Tries to find inputs that drive the program along a path.
pub(crate) fn follow(question: &Question<'_>, path: &Path) -> Result<Option<Counterexample>, Unknown> {
    let Question { subject, entry, budget, .. } = *question;
    let code = subject.code();
    let pool = Pool::of(subject, entry);
    let Some(target) = path.target else { return Ok(None) };
    let targets = Targets::new([target]);
    // Depth-first over the answers; an answer that makes the run leave the path before the next question is wrong.
    let mut answers: Vec<u32> = Vec::new();
    loop {
        let oracle = Chooser::new(&pool, &answers);
        let limits = Limits { steps: path.steps.len() as u64 * 2 + 1000, ..Limits::default() };
        let run = Machine::new(code, oracle, limits).with_budget(budget).with_guide(path).run(entry);
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
