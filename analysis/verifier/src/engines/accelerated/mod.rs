//! Acceleration: where a loop goes round along one path and only adds, its closed form is an edge of its own beside the loop. `for (i = 0; i < n; i++) s += 3;`
//! gets an edge on which `i` and `s` are what they are after any number of rounds, if every condition on the way holds in each of them, and nothing
//! leaves its type. So engines see in one step what takes millions.
//!
//! Where nothing but the state decides that control takes the path, the edge stands for as many rounds as there can be, and control goes round the loop
//! itself only where the edge cannot be taken. Then nothing is left of a loop that adds up to a bound, and no invariant of it is looked for.
//!
//! Law: every execution of the program that violates something is there in the program with such edges, so what holds of it holds of the program. A
//! violation is one of the program if it is run there, with the inputs that the program itself reads.

mod linear;
mod round;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Base, Cause, CompareOp, Edge, EdgeId, Expr, Function, IntType, Loc, Local, LocalId, Lvalue, Name, Op,
    Program, Role, Scalar, Site, Structure, Types,
};

use self::{
    linear::{Linear, WIDE, add, product, wide},
    round::{Round, Tests},
};
use super::{Answer, Decision, Engine, Question, assumptions, concrete};
use crate::{
    counterexample::Counterexample,
    interpret::{Limits, Machine, Script},
    subject::Subject,
};

/// Loops with more paths or longer ones are left alone.
const MOST_PATHS: usize = 6;
const LONGEST_PATH: usize = 80;
/// Forms of one round that must not be 0: each doubles the edges, for it may be above or below.
const MOST_NOT_ZERO: usize = 2;
/// Larger functions are left alone.
const MOST_EDGES: usize = 4_000;
/// Rounds that one edge stands for, at most.
const MOST_ROUNDS: i128 = 1 << 34;
/// Why the automaton chooses: these are no inputs of the program.
const ROUNDS: &str = "#rounds";

const COUNT: IntType = IntType { bits: 64, signed: false };

/// Steps of the run that shows a violation in the program itself.
const RUN_STEPS: u64 = 12_000_000;
const COMPILED_STEPS: u64 = 2_000_000_000;

/// What an engine says of the program with accelerated loops; asked only where there are some.
#[derive(Debug)]
pub struct Accelerated<E> {
    /// The engine.
    pub engine: E,
}

impl<E: Engine> Engine for Accelerated<E> {
    fn name(&self) -> &'static str {
        "accelerated"
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let Some(subject) = accelerated(question.subject) else {
            let why = proofline_cpa::Unknown::NotApplicable("no loop has a closed form".into());
            return Decision::new(Answer::Unknown(why));
        };
        let mut decision = self.engine.decide(&Question { subject: &subject, ..*question });
        if let Answer::Violated(found) = &decision.answer {
            decision.answer = match own(question, &subject, found) {
                Some(found) => Answer::Violated(found),
                None => {
                    let why = "the mistake seems possible, and no inputs were found that lead to it";
                    Answer::Unknown(proofline_cpa::Unknown::Unconfirmed(why.into()))
                }
            };
        }
        decision.violated.clear();
        decision
    }
}

/// The same violation in the program itself.
fn own(question: &Question<'_>, accelerated: &Subject, found: &Counterexample) -> Option<Counterexample> {
    let there = found.replay(accelerated.code())?;
    let rounds = Cause::Input(Name::new(ROUNDS));
    let is_own = |(choice, _): &&(crate::interpret::Choice, i128)| choice.cause != rounds;
    let inputs = there.inputs.iter().filter(is_own).map(|(_, answer)| *answer).collect();
    let code = question.subject.code();
    let limits = Limits {
        steps: RUN_STEPS,
        compiles_after: concrete::COMPILED_AFTER,
        compiled_steps: COMPILED_STEPS,
        ..Limits::default()
    };
    let machine = Machine::new(code, Script::new(inputs), limits).with_budget(question.budget);
    Counterexample::of(&machine.run(question.entry), question.entry, question.targets)
}

/// The program with accelerated loops; `None` if there are none.
fn accelerated(subject: &Subject) -> Option<Subject> {
    let program = subject.program();
    let tests: Tests = program
        .functions
        .iter()
        .filter_map(|(name, function)| Some((*name, assumptions::tests(function)?)))
        .collect();
    let mut out = program.clone();
    let mut changed = false;
    for function in out.functions.values_mut() {
        if let Some(new) = with_closed_forms(function, &tests, program) {
            *function = Arc::new(new);
            changed = true;
        }
    }
    changed.then(|| subject.of_program(out))
}

fn with_closed_forms(function: &Function, tests: &Tests, program: &Program) -> Option<Function> {
    if function.edges.len() > MOST_EDGES {
        return None;
    }
    let structure = Structure::of(function);
    let mut writer = Writer { function: function.clone(), program, changed: false };
    for (at, one) in structure.loops().iter().enumerate() {
        let is_innermost = structure.loops().iter().all(|other| other.parent != Some(at));
        if !is_innermost || one.irreducible {
            continue;
        }
        let paths = paths(function, &structure, one.head, &one.body);
        let closed: Vec<Closed> = paths
            .into_iter()
            .filter_map(|path| {
                let closed = Closed::of(Round::along(function, &path, tests)?)?;
                let is_decided = path.iter().all(|edge| is_decided(function, &structure, *edge));
                Some(Closed { is_forced: is_decided && closed.is_exact(), ..closed })
            })
            .collect();
        if !closed.is_empty() {
            writer.write(one.head, &closed);
        }
    }
    writer.changed.then_some(writer.function)
}

/// Ways from a loop's head back to it; none where there are too many.
fn paths(function: &Function, structure: &Structure, head: Loc, body: &BTreeSet<Loc>) -> Vec<Vec<EdgeId>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<EdgeId>> = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let at = path.last().map_or(head, |last| function.edge(*last).to);
        if at == head && !path.is_empty() {
            found.push(path);
        } else if body.contains(&at) && path.len() < LONGEST_PATH {
            for next in structure.successors(at) {
                let mut longer = path.clone();
                longer.push(*next);
                open.push(longer);
            }
        }
        if found.len() > MOST_PATHS || open.len() > 100 {
            return Vec::new();
        }
    }
    found
}

/// Whether the state decides that control takes this edge: the others from its location have conditions that exclude its own.
fn is_decided(function: &Function, structure: &Structure, edge: EdgeId) -> bool {
    let from = function.edge(edge).from;
    structure.successors(from).iter().all(|other| {
        *other == edge
            || match (&function.edge(edge).op, &function.edge(*other).op) {
                (Op::Assume(a), Op::Assume(b)) => excludes(a, b),
                _ => false,
            }
    })
}

/// Whether two conditions cannot both be so.
fn excludes(a: &Expr, b: &Expr) -> bool {
    if a.negated() == *b || b.negated() == *a {
        return true;
    }
    // Cases of a `switch`.
    match (a, b) {
        (Expr::Compare(CompareOp::Eq, x, one), Expr::Compare(CompareOp::Eq, y, other)) if x == y => {
            matches!((&**one, &**other), (Expr::Int(one, _), Expr::Int(other, _)) if one != other)
        }
        _ => false,
    }
}

/// What variables are after `k` rounds, over what they were before.
#[derive(Clone, Debug)]
enum Form {
    /// `x + k · step`; the step is made of what no round writes.
    Step(Linear),
    /// A form over what they were before the last round: of steps, and of what no round writes.
    Last(Linear),
    /// Nobody needs it: any value.
    Any,
}

/// A round that can be repeated.
#[derive(Debug)]
struct Closed {
    round: Round,
    forms: BTreeMap<Lvalue, Form>,
    /// Where control can go round so, it does, as often as it can: the edge stands for all these rounds.
    is_forced: bool,
}

/// Which rounds an edge stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounds {
    /// A single one.
    One,
    /// Two or more.
    Several,
    /// One or more.
    Any,
}

/// An edge to be: a closed form, which of the forms that are not 0 are below it (bit by bit), and for which rounds.
#[derive(Clone, Copy, Debug)]
struct Way<'c> {
    closed: &'c Closed,
    signs: usize,
    rounds: Rounds,
}

/// After how many of the rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    None,
    One,
    AllButTwo,
    AllButOne,
    All,
}

impl Closed {
    fn of(round: Round) -> Option<Closed> {
        let is_written = |variable: &Lvalue| round.written.contains_key(variable);
        let is_invariant = |form: &Linear| !form.factors.keys().any(is_written);
        let mut forms: BTreeMap<Lvalue, Form> = BTreeMap::new();
        for (variable, value) in &round.written {
            let step = value.without(variable);
            if value.factors.get(variable) == Some(&1) && is_invariant(&step) {
                forms.insert(variable.clone(), Form::Step(step));
            }
        }
        let of_steps = |form: &Linear| {
            form.factors.keys().all(|one| !is_written(one) || matches!(forms.get(one), Some(Form::Step(_))))
        };
        let mut others = BTreeMap::new();
        for (variable, value) in round.written.iter().filter(|(variable, _)| !forms.contains_key(*variable)) {
            let form = if of_steps(value) { Form::Last(value.clone()) } else { Form::Any };
            others.insert(variable.clone(), form);
        }
        // Something must go on, and what conditions and other forms are about must be known.
        let is_known =
            |form: &Linear| form.factors.keys().all(|one| !matches!(others.get(one), Some(Form::Any)));
        let conditions = round.at_least_zero.iter().chain(&round.zero).chain(&round.not_zero);
        if forms.is_empty() || !conditions.into_iter().all(is_known) || round.not_zero.len() > MOST_NOT_ZERO {
            return None;
        }
        forms.extend(others);
        Some(Closed { round, forms, is_forced: false })
    }

    /// Whether the forms say all that rounds do.
    fn is_exact(&self) -> bool {
        !self.forms.values().any(|form| matches!(form, Form::Any))
    }

    /// The edges that it gets.
    fn ways(&self) -> impl Iterator<Item = Way<'_>> {
        let has_last = self.forms.values().any(|form| matches!(form, Form::Last(_)));
        let rounds: &[Rounds] = match (self.is_forced, has_last) {
            (false, _) => &[Rounds::Several],
            (true, false) => &[Rounds::Any],
            (true, true) => &[Rounds::One, Rounds::Several],
        };
        let signs = 0..1usize << self.round.not_zero.len();
        signs.flat_map(move |signs| {
            rounds.iter().map(move |rounds| Way { closed: self, signs, rounds: *rounds })
        })
    }

    /// Whether a form that was not negative before a round is not behind it either.
    fn is_growing(&self, form: &Linear) -> bool {
        let slope = form.factors.iter().try_fold(0, |slope: i128, (variable, factor)| {
            match self.forms.get(variable) {
                None => Some(slope),
                Some(Form::Step(step)) if step.factors.is_empty() => {
                    slope.checked_add(factor.checked_mul(step.constant)?)
                }
                Some(Form::Step(_) | Form::Last(_) | Form::Any) => None,
            }
        });
        slope.is_some_and(|slope| slope >= 0)
    }
}

struct Writer<'w> {
    function: Function,
    program: &'w Program,
    changed: bool,
}

/// Where the variables' values before the rounds are kept, and how many rounds there are.
struct Kept {
    before: BTreeMap<Lvalue, Lvalue>,
    rounds: Expr,
}

impl Writer<'_> {
    fn local(&mut self, name: &str, scalar: Scalar) -> Lvalue {
        let types = Types { records: &self.program.records, model: self.program.data_model };
        let ty = types.of_scalar(scalar);
        let size = types.size(ty).unwrap_or(0);
        let id = LocalId(self.function.locals.len() as u32);
        let name = Name::new(&format!("{name}{}", id.0));
        self.function.locals.push(Local { name, ty, role: Role::Temporary, address_taken: false, size });
        Lvalue { base: Base::Local(id), path: Vec::new(), ty, scalar: Some(scalar), bits: None, size }
    }

    fn location(&mut self) -> Loc {
        self.function.locations += 1;
        Loc(self.function.locations - 1)
    }

    fn connect(&mut self, from: Loc, op: Op, to: Loc) {
        self.function.edges.push(Edge { from, to, op, site: Site::NOWHERE });
    }

    fn step(&mut self, from: Loc, op: Op) -> Loc {
        let to = self.location();
        self.connect(from, op, to);
        to
    }

    /// Before each arrival at the head a choice: to go on there, or to take some rounds of one path at once and to come here again.
    fn write(&mut self, head: Loc, all: &[Closed]) {
        let here = self.location();
        for edge in self.function.edges.iter_mut().filter(|edge| edge.to == head) {
            edge.to = here;
        }
        if self.function.entry == head {
            self.function.entry = here;
        }
        let choice = self.local(ROUNDS, Scalar::Int(COUNT));
        let at = self.step(here, Op::Havoc(choice.clone(), Cause::Input(Name::new(ROUNDS))));
        let ways: Vec<Way<'_>> = all.iter().flat_map(Closed::ways).collect();
        let number = |way: usize| Expr::Int(way as i128, WIDE);
        for (nth, way) in ways.iter().enumerate() {
            let at = self.assume(at, CompareOp::Eq, wide(&choice), number(nth + 1));
            self.write_one((at, here), *way);
        }
        let mut on = self.location();
        for (op, way) in [(CompareOp::Eq, 0), (CompareOp::Gt, ways.len())] {
            self.connect(at, compare(op, wide(&choice), number(way)), on);
        }
        // What can be taken at once is.
        for closed in all.iter().filter(|closed| closed.is_forced) {
            let next = self.location();
            for condition in closed.round.impossible() {
                self.connect(on, Op::Assume(condition), next);
            }
            on = next;
        }
        self.connect(on, Op::Skip, head);
        self.changed = true;
    }

    fn write_one(&mut self, (from, to): (Loc, Loc), Way { closed, signs, rounds: which }: Way<'_>) {
        let mut at = from;
        let rounds = match which {
            Rounds::One => Expr::Int(1, WIDE),
            Rounds::Several | Rounds::Any => {
                let count = self.local(ROUNDS, Scalar::Int(COUNT));
                at = self.step(at, Op::Havoc(count.clone(), Cause::Input(Name::new(ROUNDS))));
                let least = if which == Rounds::Any { 1 } else { 2 };
                at = self.assume(at, CompareOp::Le, Expr::Int(least, WIDE), wide(&count));
                at = self.assume(at, CompareOp::Le, wide(&count), Expr::Int(MOST_ROUNDS, WIDE));
                wide(&count)
            }
        };
        let mut kept = Kept { before: BTreeMap::new(), rounds };
        for variable in closed.forms.keys() {
            let Some(scalar) = variable.scalar else { continue };
            let before = self.local("#before", scalar);
            at = self.step(at, Op::Assign(before.clone(), Expr::Load(variable.clone())));
            kept.before.insert(variable.clone(), before);
        }
        for condition in &closed.round.kept {
            at = self.step(at, Op::Assume(condition.clone()));
        }
        // A linear form that is right in the second round and in the last one is right in between. In the first one, variables may not yet be what a round
        // leaves in them.
        let moments: &[After] = match which {
            Rounds::One => &[After::None],
            Rounds::Several => &[After::None, After::One, After::AllButOne],
            Rounds::Any => &[After::None, After::AllButOne],
        };
        let zero = || Expr::Int(0, WIDE);
        for &when in moments {
            let is_said = |form: &&Linear| when != After::One || closed.begins_otherwise(form);
            for form in closed.round.at_least_zero.iter().filter(is_said) {
                at = self.assume(at, CompareOp::Ge, closed.value(form, when, &kept), zero());
            }
            for form in &closed.round.zero {
                at = self.assume(at, CompareOp::Eq, closed.value(form, when, &kept), zero());
            }
            for (bit, form) in closed.round.not_zero.iter().enumerate().filter(|(_, form)| is_said(form)) {
                at = self.assume(at, sign(signs, bit), closed.value(form, when, &kept), zero());
            }
        }
        if closed.is_forced {
            at = self.assume_last((at, which), closed, signs, &kept);
        }
        for (variable, form) in &closed.forms {
            at = self.step(at, Op::Havoc(variable.clone(), Cause::Input(Name::new(ROUNDS))));
            if !matches!(form, Form::Any) {
                let value = closed.variable(variable, After::All, &kept);
                at = self.assume(at, CompareOp::Eq, wide(variable), value);
            }
        }
        self.connect(at, Op::Skip, to);
    }

    /// That no other round of the same kind follows, or that these are as many as one edge may stand for.
    fn assume_last(&mut self, (at, which): (Loc, Rounds), closed: &Closed, signs: usize, kept: &Kept) -> Loc {
        let to = self.location();
        let behind = |form: &Linear| closed.value(form, After::All, kept);
        let zero = || Expr::Int(0, WIDE);
        let mut ends = Vec::new();
        for form in closed.round.at_least_zero.iter().filter(|form| !closed.is_growing(form)) {
            ends.push(compare(CompareOp::Lt, behind(form), zero()));
        }
        for form in &closed.round.zero {
            ends.push(compare(CompareOp::Ne, behind(form), zero()));
        }
        for (bit, form) in closed.round.not_zero.iter().enumerate() {
            let op = sign(signs, bit).negated();
            ends.push(compare(op, behind(form), zero()));
        }
        // A single round is followed by others of its kind, which are several.
        match which {
            Rounds::One => {}
            Rounds::Several | Rounds::Any => {
                ends.push(compare(CompareOp::Eq, kept.rounds.clone(), Expr::Int(MOST_ROUNDS, WIDE)));
            }
        }
        for end in ends {
            self.connect(at, end, to);
        }
        to
    }

    fn assume(&mut self, from: Loc, op: CompareOp, lhs: Expr, rhs: Expr) -> Loc {
        self.step(from, compare(op, lhs, rhs))
    }
}

/// An assumption.
fn compare(op: CompareOp, lhs: Expr, rhs: Expr) -> Op {
    Op::Assume(Expr::Compare(op, Arc::new(lhs), Arc::new(rhs)))
}

/// On which side of 0 a form is that is not 0.
fn sign(signs: usize, bit: usize) -> CompareOp {
    if signs >> bit & 1 == 0 { CompareOp::Gt } else { CompareOp::Lt }
}

impl Closed {
    /// Whether the first round begins with other values than the closed form would give.
    fn begins_otherwise(&self, form: &Linear) -> bool {
        form.factors.keys().any(|variable| matches!(self.forms.get(variable), Some(Form::Last(_))))
    }

    /// A form over the variables, after so many rounds.
    fn value(&self, form: &Linear, when: After, kept: &Kept) -> Expr {
        form.expr(&|variable| self.variable(variable, when, kept))
    }

    /// A variable after so many rounds.
    fn variable(&self, variable: &Lvalue, when: After, kept: &Kept) -> Expr {
        let before = wide(kept.before.get(variable).unwrap_or(variable));
        let Some(form) = self.forms.get(variable).filter(|_| when != After::None) else { return before };
        match form {
            Form::Any => before,
            Form::Step(step) => {
                let count = match when {
                    After::None => Expr::Int(0, WIDE),
                    After::One => Expr::Int(1, WIDE),
                    After::AllButTwo => add(kept.rounds.clone(), Expr::Int(-2, WIDE)),
                    After::AllButOne => add(kept.rounds.clone(), Expr::Int(-1, WIDE)),
                    After::All => kept.rounds.clone(),
                };
                add(before, self.times(count, step, kept))
            }
            Form::Last(form) => {
                let earlier = match when {
                    After::None | After::One => After::None,
                    After::AllButTwo | After::AllButOne => After::AllButTwo,
                    After::All => After::AllButOne,
                };
                self.value(form, earlier, kept)
            }
        }
    }

    /// So many times a step. (What no round writes has its own value.)
    fn times(&self, count: Expr, step: &Linear, kept: &Kept) -> Expr {
        match (&count, step.factors.is_empty()) {
            (Expr::Int(count, _), _) => linear::times(*count, self.value(step, After::None, kept)),
            (_, true) => linear::times(step.constant, count),
            (_, false) => product(count, self.value(step, After::None, kept)),
        }
    }
}
