//! Inputs that led somewhere new, and others made from them: coverage-guided fuzzing with what a run is asked as its input. A run leads
//! somewhere new if it takes an edge, or takes it about twice as often, or is asked about twice as much, as no run did before; its answers are kept and changed. So a text is
//! found character by character that no choice of all of its characters at once would find, and a loop is driven round for round. What was asked least of all
//! runs that took an edge so often takes the place of longer ones. Texts are also made of the words in the program: `strcmp(verb, "quit")`.
//!
//! The method is that of AFL ([AFL]) with a dictionary, without its forks and files. Must not judge runs.

use proofline_cfa::{EdgeId, Name, Scalar};
use rustc_hash::FxHashMap;

use super::pool::{Pool, Random};
use crate::interpret::Choice;

/// More answers than this are not kept.
const LONGEST: usize = 4096;
/// More vectors than this are not kept.
const MOST: usize = 512;
/// So many are kept for a while to which there are shorter ones that lead as far.
const FEW: usize = 8;
/// Those that were found last are taken as often as all others.
const LATEST: u64 = 12;
/// Characters that texts are made of, beside those that the program compares with.
const CHARACTERS: [i128; 8] = [0, 0x20, 0x30, 0x31, 0x61, 0x41, 0x0a, 0x2e];
/// What stands behind words.
const BEHIND: [i128; 6] = [0x0a, 0x20, 0, 0x3d, 0x2c, 0x3a];

/// How often a run has taken each edge.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage(FxHashMap<(Name, EdgeId), u32>);

impl Coverage {
    /// One edge more.
    pub(super) fn note(&mut self, function: Name, edge: EdgeId) {
        *self.0.entry((function, edge)).or_default() += 1;
    }
}

/// An edge, and about how often it was taken: which power of two that is.
type Taken = (Name, EdgeId, u8);

/// Answers that led somewhere new.
#[derive(Debug)]
struct Kept {
    answers: Vec<i128>,
    /// Of how much nothing shorter leads to the same.
    shortest_to: usize,
}

/// Vectors of answers that led somewhere new.
#[derive(Debug)]
pub(super) struct Corpus {
    /// In the order in which they were found.
    kept: Vec<Kept>,
    /// By which of them an edge was taken so often, with the fewest answers.
    seen: FxHashMap<Taken, usize>,
    /// How many questions runs were asked, a bit for each power of two: a library function that reads on takes no edge for that.
    lengths: u64,
    random: Random,
    /// Characters that the program compares with, and some others.
    characters: Vec<i128>,
    values: Vec<i128>,
    words: Vec<Vec<u8>>,
    /// Some run was asked for characters.
    pub(super) reads_text: bool,
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
            words: pool.words().to_vec(),
            reads_text: false,
        }
    }

    /// Answers that were not tried yet, as far as one can tell.
    pub(super) fn next(&mut self) -> Vec<i128> {
        let mut answers = match self.kept.len() as u64 {
            0 => Vec::new(),
            _ if self.below(16) == 0 => Vec::new(),
            kept => {
                let at = match self.below(2) {
                    0 => kept - 1 - self.below(LATEST.min(kept)),
                    _ => self.below(kept),
                };
                self.kept[at as usize].answers.clone()
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

    /// Keeps what a run was asked and answered, if it led somewhere new, or as far as others with fewer answers.
    pub(super) fn learn(&mut self, coverage: &Coverage, inputs: &[(Choice, i128)]) {
        let length = 1u64 << inputs.len().checked_ilog2().map_or(0, |log| log + 1);
        let is_longer = self.lengths & length == 0;
        self.lengths |= length;
        if inputs.len() > LONGEST {
            return;
        }
        let this = self.kept.len();
        let mut shortest_to = usize::from(is_longer);
        for (edge, count) in &coverage.0 {
            let taken = (edge.0, edge.1, count.ilog2() as u8);
            let before = self.seen.get(&taken).copied();
            let is_shortest = before.is_none_or(|at| self.kept[at].answers.len() > inputs.len());
            // Where there is no room for it, what is shorter only is not kept.
            if !is_shortest || self.kept.len() >= MOST {
                continue;
            }
            if let Some(before) = before {
                self.kept[before].shortest_to -= 1;
            }
            self.seen.insert(taken, this);
            shortest_to += 1;
        }
        if shortest_to > 0 && self.kept.len() < MOST {
            let answers = inputs.iter().map(|(_, answer)| *answer).collect();
            self.kept.push(Kept { answers, shortest_to });
            // Few of those that are left are no longer the shortest way to anything.
            let useless = self.kept.iter().filter(|kept| kept.shortest_to == 0).count();
            if self.kept.len() >= MOST || useless > FEW {
                self.forget();
            }
        }
    }

    /// Drops what is the shortest way to nothing any more.
    fn forget(&mut self) {
        let mut places = Vec::with_capacity(self.kept.len());
        let mut next = 0;
        for kept in &self.kept {
            places.push(next);
            next += usize::from(kept.shortest_to > 0);
        }
        self.kept.retain(|kept| kept.shortest_to > 0);
        self.seen.values_mut().for_each(|at| *at = places[*at]);
    }

    /// One change: another answer, more of them, fewer of them, some of them again, the end of another vector, or a word.
    fn change(&mut self, answers: &mut Vec<i128>) {
        let len = answers.len() as u64;
        let at = self.below(len + 1) as usize;
        let kinds = if self.reads_text { 10 } else { 8 };
        match self.below(kinds) {
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
                let from = self.below(self.kept[other].answers.len() as u64 + 1) as usize;
                answers.truncate(at);
                answers.extend_from_slice(&self.kept[other].answers[from..]);
            }
            8 | 9 => {
                let word = self.word();
                // In the place of what was there, or before it.
                let to = if self.below(2) == 0 { (at + word.len()).min(answers.len()) } else { at };
                answers.splice(at..to, word);
            }
            _ => {
                let value = self.value();
                answers.insert(at, value);
            }
        }
    }

    /// A word of the program's, or a number in digits, and perhaps what stands behind it.
    fn word(&mut self) -> Vec<i128> {
        let is_number = self.words.is_empty() || self.below(3) == 0;
        let mut word: Vec<i128> = if is_number {
            let at = self.random.next() % self.values.len().max(1) as u64;
            let number = self.values.get(at as usize).copied().unwrap_or(0);
            number.to_string().bytes().map(i128::from).collect()
        } else {
            let at = self.below(self.words.len() as u64) as usize;
            self.words[at].iter().copied().map(i128::from).collect()
        };
        if self.below(3) > 0 {
            word.push(BEHIND[self.below(BEHIND.len() as u64) as usize]);
        }
        word
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
        assert_eq!(corpus.kept.iter().map(|kept| kept.answers.clone()).collect::<Vec<_>>(), [vec![1]]);
        coverage.note(Name::new("f"), EdgeId(0));
        corpus.learn(&coverage, &inputs(&[3]));
        assert_eq!(corpus.kept.len(), 2, "twice as often is new");
    }

    #[test]
    fn what_leads_as_far_with_fewer_answers_is_kept_instead() {
        let mut corpus = Corpus::new(&Pool::new([]));
        let mut coverage = Coverage::default();
        coverage.note(Name::new("f"), EdgeId(0));
        corpus.learn(&coverage, &inputs(&[1, 2, 3]));
        corpus.learn(&coverage, &inputs(&[4, 5]));
        corpus.learn(&coverage, &inputs(&[6, 7]));
        corpus.forget();
        // The first one was also the first with so many answers.
        let kept: Vec<_> = corpus.kept.iter().map(|kept| kept.answers.clone()).collect();
        assert_eq!(kept, [vec![1, 2, 3], vec![4, 5]]);
    }

    #[test]
    fn words_of_the_program_are_tried() {
        let pool = Pool::new([]).with_words(vec![b"north".to_vec()]);
        let mut corpus = Corpus { reads_text: true, ..Corpus::new(&pool) };
        let north: Vec<i128> = b"north".iter().copied().map(i128::from).collect();
        let has_word = |answers: Vec<i128>| answers.windows(5).any(|window| window == north);
        assert!((0..200).any(|_| has_word(corpus.next())));
    }
}
