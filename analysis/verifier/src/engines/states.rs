//! States that runs have reached, and the answers that lead to them: each run goes back to one of them and on from there at random, and where it comes to
//! a state that looks like none before, that one is remembered, too. So a system of many small steps is explored
//! state by state, whose error no run finds that begins anew each time.
//!
//! The method is that of Go-Explore ([EHLSC21]), by replay. Must not judge runs.

use rustc_hash::FxHashSet;

use super::pool::Random;

/// States that are remembered, at most.
const MOST: usize = 50_000;
/// Answers that lead to one of them, at most.
const LONGEST: u32 = 4096;
/// States that were found last are gone back to as often as all others.
const LATEST: u64 = 64;
/// Of so many states the one that was gone back to least often is taken.
const CANDIDATES: usize = 4;
/// Answers from a state on, at most.
const ONWARD: u64 = 64;

/// An answer, behind another one.
#[derive(Clone, Copy, Debug)]
struct Node {
    before: u32,
    answer: i128,
}

/// A state.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The last answer before it.
    node: u32,
    /// How many there are.
    depth: u32,
    /// How often runs went back to it.
    tries: u32,
}

/// The states, and a tree of the answers that lead to them.
#[derive(Debug)]
pub(super) struct States {
    known: FxHashSet<u64>,
    nodes: Vec<Node>,
    states: Vec<State>,
    random: Random,
}

/// A run that goes back to a state and on.
#[derive(Debug)]
pub(super) struct Onward {
    /// The answers that lead to the state, then to the last one that was new.
    pub(super) answers: Vec<i128>,
    /// Questions that are answered, all in all.
    pub(super) most: usize,
    /// The last answer that is in the tree.
    node: u32,
    /// Answers behind it.
    new: Vec<i128>,
}

impl States {
    /// Only the beginning is known.
    pub(super) fn new() -> States {
        let root = Node { before: 0, answer: 0 };
        let begin = State { node: 0, depth: 0, tries: 0 };
        States {
            known: FxHashSet::default(),
            nodes: vec![root],
            states: vec![begin],
            random: Random(0x2545_f491_4f6c_dd1d),
        }
    }

    /// A state to go on from.
    pub(super) fn next(&mut self) -> Onward {
        let all = self.states.len() as u64;
        let mut best: Option<usize> = None;
        for _ in 0..CANDIDATES {
            let from = if self.random.next().is_multiple_of(2) { all - all.min(LATEST) } else { 0 };
            let at = (from + self.random.next() % (all - from)) as usize;
            if best.is_none_or(|best| self.states[at].tries < self.states[best].tries) {
                best = Some(at);
            }
        }
        let state = &mut self.states[best.unwrap_or(0)];
        state.tries += 1;
        let State { mut node, depth, .. } = *state;
        let onward = 1 + self.random.next() % ONWARD;
        let mut answers = Vec::with_capacity(depth as usize);
        while answers.len() < depth as usize {
            answers.push(self.nodes[node as usize].answer);
            node = self.nodes[node as usize].before;
        }
        answers.reverse();
        let node = self.states[best.unwrap_or(0)].node;
        Onward { most: answers.len() + onward as usize, answers, node, new: Vec::new() }
    }

    /// The run is in a state that looks so.
    pub(super) fn reach(&mut self, onward: &mut Onward, likeness: u64) {
        let depth = (onward.answers.len() + onward.new.len()) as u32;
        if depth > LONGEST || self.states.len() >= MOST || !self.known.insert(likeness) {
            return;
        }
        for answer in onward.new.drain(..) {
            self.nodes.push(Node { before: onward.node, answer });
            onward.node = (self.nodes.len() - 1) as u32;
            onward.answers.push(answer);
        }
        self.states.push(State { node: onward.node, depth, tries: 0 });
    }
}

impl Onward {
    /// The answer to a question, if it is one that leads to the state; the others are chosen, and told.
    pub(super) fn known(&self, at: usize) -> Option<i128> {
        self.answers.get(at).copied()
    }

    /// What was chosen behind them.
    pub(super) fn chose(&mut self, answer: i128) {
        self.new.push(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock with as many digits as the state says; a wrong one leads back to the beginning.
    #[test]
    fn a_long_way_is_found_state_by_state() {
        const DIGITS: u64 = 24;
        let mut states = States::new();
        let mut random = Random(7);
        let found = (0..20_000).position(|_| {
            let mut onward = states.next();
            let mut state = 0;
            for at in 0..onward.most {
                if at >= onward.answers.len() {
                    states.reach(&mut onward, state);
                }
                let answer = onward.known(at).unwrap_or_else(|| {
                    let answer = i128::from(random.next() % 8);
                    onward.chose(answer);
                    answer
                });
                state = if answer == i128::from(state % 8) { state + 1 } else { 0 };
                if state == DIGITS {
                    return true;
                }
            }
            false
        });
        assert!(found.is_some_and(|runs| runs < 10_000), "{found:?}");
    }
}
