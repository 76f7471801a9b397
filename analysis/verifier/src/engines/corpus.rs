//! Inputs that led somewhere new, and others made from them: coverage-guided fuzzing with what a run is asked as its input. A run leads
//! somewhere new if it takes an edge, or takes it about twice as often, or is asked about twice as much, as no run did before; its answers are kept and changed. So a text is
//! found character by character that no choice of all of its characters at once would find, and a loop is driven round for round.
//!
//! The method is that of AFL ([AFL]), without its forks and files. Must not judge runs.

use proofline_cfa::{EdgeId, Name, Scalar};
use rustc_hash::FxHashMap;

use super::pool::{Pool, Random};
use crate::interpret::Choice;

/// More answers than this are not kept.
const LONGEST: usize = 4096;
/// More vectors than this are not kept.
const MOST: usize = 512;
/// Those that were found last are taken as often as all others.
const LATEST: u64 = 12;
/// Characters that texts are made of, beside those that the program compares with.
const CHARACTERS: [i128; 8] = [0, 0x20, 0x30, 0x31, 0x61, 0x41, 0x0a, 0x2e];

/// How often a run has taken each edge.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage(FxHashMap<(Name, EdgeId), u32>);

impl Coverage {
    /// One edge more.
    pub(super) fn note(&mut self, function: Name, edge: EdgeId) {
        *self.0.entry((function, edge)).or_default() += 1;
    }
}

/// Vectors of answers that led somewhere new.
#[derive(Debug)]
pub(super) struct Corpus {
    kept: Vec<Vec<i128>>,
    /// How often some run has taken each edge: a bit for each power of two.
    seen: FxHashMap<(Name, EdgeId), u32>,
    /// The same of how many questions a run was asked: a library function that reads on takes no edge for that.
    lengths: u64,
    random: Random,
    /// Characters that the program compares with, and some others.
    characters: Vec<i128>,
    values: Vec<i128>,
}

impl Corpus {
    /// Nothing was tried yet. Answers come from the pool.
    pub(super) fn new(pool: &Pool) -> Corpus {
        let mut characters: Vec<i128> =
            pool.values().iter().copied().filter(|value| (0x20..0x7f).contains(value)).collect();
        characters.extend(CHARACTERS);
        Corpus {
            kept: Vec::new(),
            seen: FxHashMap::default(),
            lengths: 0,
            random: Random(0x5851_f42d_4c95_7f2d),
            characters,
            values: pool.values().to_vec(),
        }
    }

    /// Answers that were not tried yet, as far as one can tell.
    pub(super) fn next(&mut self) -> Vec<i128> {
        let mut answers = match self.kept.len() as u64 {
            0 => Vec::new(),
            _ if self.below(16) == 0 => Vec::new(),
            kept => {
                let at = if self.below(2) == 0 {
                    kept - 1 - self.below(LATEST.min(kept))
                } else {
                    self.below(kept)
                };
                self.kept[at as usize].clone()
            }
        };
        if answers.is_empty() {
            answers = (0..self.below(24)).map(|_| self.value()).collect();
        }
        for _ in 0..=self.below(4) {
            self.change(&mut answers);
        }
        answers.truncate(LONGEST);
        answers
    }

    /// What is answered behind the end of the answers: mostly 0, which ends a text; some things end only where it is not.
    pub(super) fn rest(&mut self) -> i128 {
        i128::from(self.below(3) == 0)
    }

    /// Keeps what a run was asked and answered, if it led somewhere new.
    pub(super) fn learn(&mut self, coverage: &Coverage, inputs: &[(Choice, i128)]) {
        let length = 1u64 << inputs.len().checked_ilog2().map_or(0, |log| log + 1);
        let mut is_new = self.lengths & length == 0;
        self.lengths |= length;
        for (edge, count) in &coverage.0 {
            let bit = 1u32 << count.ilog2();
            let seen = self.seen.entry(*edge).or_default();
            is_new |= *seen & bit == 0;
            *seen |= bit;
        }
        if is_new && inputs.len() <= LONGEST && self.kept.len() < MOST {
            self.kept.push(inputs.iter().map(|(_, answer)| *answer).collect());
        }
    }

    /// One change: another answer, more of them, fewer of them, some of them again, or the end of another vector.
    fn change(&mut self, answers: &mut Vec<i128>) {
        let len = answers.len() as u64;
        let at = self.below(len + 1) as usize;
        match self.below(8) {
            0 | 1 if at < answers.len() => answers[at] = self.value(),
            2 if at < answers.len() => answers[at] += i128::from(self.below(2)) * 2 - 1,
            3 if at < answers.len() => {
                let to = (at + 1 + self.below(4) as usize).min(answers.len());
                answers.drain(at..to);
            }
            // A stretch several times: texts become long so.
            4 | 5 if at < answers.len() => {
                let to = (at + 1 + self.below(8) as usize).min(answers.len());
                let stretch = answers[at..to].to_vec();
                let times = 1usize << self.below(7);
                let more = stretch.iter().copied().cycle().take(stretch.len() * times).take(LONGEST);
                answers.splice(to..to, more);
            }
            6 if !self.kept.is_empty() => {
                let other = self.below(self.kept.len() as u64) as usize;
                let from = self.below(self.kept[other].len() as u64 + 1) as usize;
                answers.truncate(at);
                answers.extend_from_slice(&self.kept[other][from..]);
            }
            _ => {
                let value = self.value();
                answers.insert(at, value);
            }
        }
    }

    /// A character, mostly; otherwise any number of the pool.
    fn value(&mut self) -> i128 {
        let from = if self.below(4) == 0 { &self.values } else { &self.characters };
        let at = self.random.next() % from.len().max(1) as u64;
        from.get(at as usize).copied().unwrap_or(0)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.random.next() % most.max(1)
    }
}

/// An answer as the question wants it; behind the end of the answers `rest`, or a pointer to something.
pub(super) fn fitted(answer: Option<i128>, rest: i128, choice: &Choice) -> i128 {
    match choice.scalar {
        // What hardly ever fails is not to fail for every character.
        _ if choice.is_of_allocation() => i128::from(answer == Some(1)),
        Scalar::Int(ty) => ty.wrap(answer.unwrap_or(rest)),
        // Small ones are the number, large ones its bits, as earlier answers are.
        Scalar::Float(_) => match answer.unwrap_or(0) {
            answer if answer.unsigned_abs() < 1 << 32 => i128::from((answer as f64).to_bits()),
            bits => i128::from(bits as u64),
        },
        Scalar::Pointer => i128::from(choice.may_be_made_up && answer != Some(0)),
    }
}

#[cfg(test)]
mod tests {
    use proofline_cfa::{Cause, IntType, Site};

    use super::*;

    /// A reader that wants `[`, at least 40 letters, and `]`: how many of its edges an input takes.
    fn read(answers: &[i128]) -> Coverage {
        let mut coverage = Coverage::default();
        let mut edge = |number| coverage.note(Name::new("read"), EdgeId(number));
        let byte = |at: usize| answers.get(at).copied().unwrap_or(0) & 0xff;
        edge(0);
        if byte(0) != 0x5b {
            return coverage;
        }
        edge(1);
        let letters = (1..).take_while(|at| (0x61..=0x7a).contains(&byte(*at))).count();
        (0..letters).for_each(|_| edge(2));
        if byte(letters + 1) == 0x5d {
            edge(3);
            if letters >= 40 {
                edge(4);
            }
        }
        coverage
    }

    fn inputs(answers: &[i128]) -> Vec<(Choice, i128)> {
        let choice = Choice {
            function: Name::new("read"),
            site: Site(0),
            cause: Cause::Indeterminate,
            scalar: Scalar::Int(IntType { bits: 8, signed: false }),
            may_be_made_up: false,
        };
        answers.iter().map(|answer| (choice.clone(), *answer)).collect()
    }

    #[test]
    fn a_text_is_found_step_by_step() {
        let mut corpus = Corpus::new(&Pool::new([0x5b, 0x5d]));
        let found = (0..20_000).position(|_| {
            let answers = corpus.next();
            let coverage = read(&answers);
            corpus.learn(&coverage, &inputs(&answers));
            coverage.0.contains_key(&(Name::new("read"), EdgeId(4)))
        });
        assert!(found.is_some_and(|runs| runs < 5_000), "{found:?}");
    }

    #[test]
    fn what_leads_nowhere_new_is_not_kept() {
        let mut corpus = Corpus::new(&Pool::new([]));
        let mut coverage = Coverage::default();
        coverage.note(Name::new("f"), EdgeId(0));
        corpus.learn(&coverage, &inputs(&[1]));
        corpus.learn(&coverage, &inputs(&[2]));
        assert_eq!(corpus.kept, [vec![1]]);
        coverage.note(Name::new("f"), EdgeId(0));
        corpus.learn(&coverage, &inputs(&[3]));
        assert_eq!(corpus.kept.len(), 2, "twice as often is new");
    }
}
