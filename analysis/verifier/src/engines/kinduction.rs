//! k-induction: no error within the first k + 1 blocks from the entry, and none after k blocks without errors from *any* state at
//! a loop head that intervals and relations allow. Knows how to ask; what a block is, [`LargeBlockEncoding`] knows.
//!
//! `Holds` rests on the questions of base and step, which a second session answers once more before it is given.

use proofline_cpa::Unknown;
use proofline_encoding::{
    BlockEnd, Cut, Encoding, Key, LAYER_STATE_COST, LargeBlockEncoding, MemoryLayout, State, Unrolling,
};
use proofline_program_analysis::Environment;
use proofline_smt::{Outcome, Solver, build as t, second_eye};

use super::{
    Answer, Decision, Engine, Question,
    bounded::{initial, needs_bit_vectors},
    known::{Known, int_type},
    session::Session,
    start,
};

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct KInduction {
    /// Largest k.
    pub most: u32,
    /// The solver's units per question.
    pub resource: u32,
    /// How values become terms.
    pub encoding: Encoding,
    /// Asked only where integers know less than bit vectors.
    pub only_beyond_integers: bool,
}

impl Engine for KInduction {
    fn name(&self) -> &'static str {
        "k-induction"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        self.prove(question).into()
    }
}

/// How far a search from some states got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Searched {
    /// No error in the blocks that were asked about.
    Clean,
    /// An error in one of them may be reached.
    MayFail,
    /// The solver does not know.
    Undecided,
}

impl KInduction {
    fn prove(&self, question: &Question<'_>) -> Result<Answer, Unknown> {
        let Question { subject, entry, .. } = *question;
        let environment = &**subject.env();
        if self.only_beyond_integers && !needs_bit_vectors(subject, entry.name) {
            return Err(Unknown::OutOfBudget);
        }
        let reachable = subject.reachable_from(entry.name);
        if reachable.iter().any(|f| environment.call_graph().is_recursive(*f)) {
            return Err(Unknown::Unsupported("k-induction over recursive calls".into()));
        }
        let known = question.known()?;
        let layout = MemoryLayout::with_encoding(environment, self.encoding);
        let mut k = 1;
        while k <= self.most {
            let induction = Induction { question, layout: &layout, known: &known, resource: self.resource };
            if induction.holds(k)? == Searched::Clean {
                // Once more in a session of its own: nothing is left over from the first.
                return match second_eye::certifying(|| induction.holds(k))? {
                    Searched::Clean => {
                        Ok(Answer::Holds(format!("no error within {k} segments, and {k}-inductive")))
                    }
                    Searched::Undecided => Err(Unknown::OutOfBudget),
                    Searched::MayFail => {
                        Err(Unknown::InternalError("a step of induction that holds only once".into()))
                    }
                };
            }
            k = if k < 3 { k + 1 } else { k * 2 };
        }
        Err(Unknown::NoProgress(format!(
            "no loop invariant was found within {} rounds of each loop",
            self.most
        )))
    }
}

/// Induction over blocks, by one way of making terms.
struct Induction<'q> {
    question: &'q Question<'q>,
    layout: &'q MemoryLayout,
    known: &'q Known,
    resource: u32,
}

impl Induction<'_> {
    /// Base and step for one k.
    fn holds(&self, k: u32) -> Result<Searched, Unknown> {
        let Question { subject, entry, budget, .. } = *self.question;
        let none = std::collections::BTreeSet::new();
        let encoder =
            LargeBlockEncoding::new(subject.env(), self.layout, entry.name, &none, subject.wrapv(), budget);
        let session = Session::new(budget)?;
        let mut solver = session.solver(self.layout.encoding());
        let solver = &mut *solver;
        solver.set_limits(Session::limits(self.resource, budget));
        let mut unrolling = Unrolling::new(encoder, budget);
        let (state, _) = initial(subject, self.layout, entry, &mut unrolling, solver);
        let mut cuts = Vec::new();
        unrolling.begin(None, state);
        let base = self.search(&mut unrolling, solver, k + 1, false, &mut cuts)?;
        if base != Searched::Clean {
            return Ok(base);
        }
        // Cuts beyond the base are found while the step explores; each is a place to start from.
        let mut next = 0;
        while next < cuts.len() {
            let cut = cuts[next];
            next += 1;
            solver.push();
            let state = self.any_state(&mut unrolling, solver, cut);
            unrolling.begin(Some(cut), state);
            let searched = self.search(&mut unrolling, solver, k + 1, true, &mut cuts);
            solver.pop();
            let searched = searched?;
            if searched != Searched::Clean {
                return Ok(searched);
            }
        }
        Ok(Searched::Clean)
    }

    /// Every state at a cut that what is known allows.
    fn any_state(&self, unrolling: &mut Unrolling<'_>, solver: &mut dyn Solver, cut: Cut) -> State {
        let environment: &Environment = self.question.subject.env();
        let mut state = State::top();
        for key in unrolling.keys(cut, true) {
            let instance = if let Key::Local(instance, _) = key { instance } else { 0 };
            let function = unrolling.encoder().instances.function(instance);
            let variable = unrolling.fresh(start::sort_of_key(environment, self.layout, key, function));
            let encoding = self.layout.encoding();
            if let Some(scalar) = start::scalar_of_key(environment, key, function) {
                solver.assert(encoding.in_range(variable, scalar));
            }
            state.values.insert(key, variable);
        }
        let function = unrolling.encoder().instances.function(cut.instance);
        let term = |id| state.values.get(&Key::Local(cut.instance, id)).copied();
        let type_of = |id| int_type(environment, function, id);
        let encoding = self.layout.encoding();
        for condition in self.known.conditions(encoding, (function, cut.loc), &term, &type_of) {
            solver.assert(condition);
        }
        state
    }

    /// Goes through `blocks` blocks from where the unrolling begins, and adds the cut points on the way to `cuts`. In a step only the last
    /// block may fail, and the others are taken not to.
    fn search(
        &self,
        unrolling: &mut Unrolling<'_>,
        solver: &mut dyn Solver,
        blocks: u32,
        is_step: bool,
        cuts: &mut Vec<Cut>,
    ) -> Result<Searched, Unknown> {
        for depth in 1..=blocks {
            let layer = unrolling.layer()?;
            for cut in layer.cuts {
                if !cuts.contains(&cut) {
                    cuts.push(cut);
                }
            }
            for (end, guard) in layer.ends {
                if !self.is_failure(&end) {
                    continue;
                }
                self.question.budget.spend(LAYER_STATE_COST)?;
                if is_step && depth < blocks {
                    solver.assert(t::not(guard));
                    continue;
                }
                match solver.check_assuming(&[guard]) {
                    Outcome::Unsat => {}
                    Outcome::Sat => return Ok(Searched::MayFail),
                    Outcome::Unknown(_) => return Ok(Searched::Undecided),
                }
            }
            if depth == blocks || !unrolling.advance(solver)? {
                break;
            }
        }
        Ok(Searched::Clean)
    }

    /// Whether a block must not end so: at an error that is asked about, or where nothing is known of what comes.
    fn is_failure(&self, end: &BlockEnd) -> bool {
        match end {
            BlockEnd::Error(function, obligation) => self.question.targets.contains(*function, *obligation),
            BlockEnd::Unsupported(_) | BlockEnd::Enter(_) => true,
            BlockEnd::Cut(_) | BlockEnd::Exit => false,
        }
    }
}
