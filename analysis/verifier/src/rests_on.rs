//! What proofs rest on besides the text. After a failure C promises nothing, and an execution that an engine looks at ends there; so what comes
//! later is proved for the executions that do not fail before. Must not know how anything was proved.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Callee, EdgeId, Function, Loc, Name, Object, Obligation, ObligationId, Op};
use proofline_program_analysis::{Environment, OrderConflict};
use rustc_hash::FxHashSet;

use crate::{
    checks::{assertion, uninitialised},
    contracts::promises,
    property::Property,
    subject::Subject,
    verdict::{Verdict, Verdicts},
};

/// What the proofs of one entry rest on.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    /// In words, each once.
    pub(crate) texts: BTreeSet<String>,
    /// Functions with something proved that holds only where something else does not fail before.
    pub(crate) resting: BTreeSet<Name>,
}

/// A place in a function.
pub(crate) type Place = (Name, Loc);

impl Basis {
    /// Of what is known about these functions.
    pub(crate) fn of(
        subject: &Subject,
        property: &Property,
        functions: &BTreeSet<Name>,
        verdicts: &Verdicts,
    ) -> Basis {
        let mut basis = Basis::default();
        let is_proved =
            |function: Name, id: ObligationId| verdicts.get(&(function, id)).is_some_and(Verdict::is_proved);
        let mut proved = Vec::new();
        let mut open = Vec::new();
        let env = subject.env();
        for function in functions.iter().filter_map(|name| env.function(*name)) {
            for (at, obligation) in function.obligations.iter().enumerate() {
                let id = ObligationId(at as u32);
                if is_proved(function.name, id) {
                    proved.extend(demands(env, function, obligation).map(|loc| (function.name, loc)));
                } else if verdicts.contains_key(&(function.name, id)) && ends_early(obligation) {
                    open.push((function, obligation, behind(env, function, obligation)));
                }
            }
        }
        if proved.is_empty() {
            return basis;
        }
        basis.not_asked_for(subject, property, functions);
        let of = |name: Name| env.order_conflicts(name).iter().map(move |conflict| (name, conflict));
        let orders: Vec<(Name, &OrderConflict)> = functions.iter().copied().flat_map(of).collect();
        if open.is_empty() && orders.is_empty() {
            return basis;
        }
        let flow = Flow::new(subject, functions);
        let ordered = orders.iter().map(|(function, conflict)| (*function, conflict.at));
        let after = flow.after(open.iter().flat_map(|(.., behind)| behind.iter().copied()).chain(ordered));
        let resting = proved.iter().filter(|place| after.contains(place));
        basis.resting = resting.map(|(function, _)| *function).collect();
        let before = flow.reached(proved.iter().copied(), &flow.previous);
        let counts = |behind: &[Place]| behind.iter().any(|place| before.contains(place));
        for (function, obligation, _) in open.iter().filter(|(.., behind)| counts(behind)) {
            let (check, text) = (obligation.check.code(), obligation.text);
            basis.texts.insert(format!("{text} in `{}` ({check}, not proved)", function.name));
        }
        for (function, conflict) in orders.iter().filter(|(name, order)| before.contains(&(*name, order.at)))
        {
            basis.texts.insert(in_order(env, *function, conflict));
        }
        basis
    }

    /// Failures that nobody asked about end executions all the same.
    fn not_asked_for(&mut self, subject: &Subject, property: &Property, functions: &BTreeSet<Name>) {
        let asked = property.checks(subject.program());
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for function in functions.iter().filter_map(|name| subject.env().function(*name)) {
            for obligation in
                function.obligations.iter().filter(|o| ends_early(o) && !asked.contains(&o.check))
            {
                // Where nobody asks about it, executions go on behind a variable without a value.
                if !uninitialised::CHECK.is(obligation.check) {
                    *places.entry(obligation.check.code()).or_default() += 1;
                }
            }
        }
        self.texts.extend(places.into_iter().map(|(check, count)| match count {
            1 => format!("no {check} at 1 place (not asked for)"),
            _ => format!("no {check} at {count} places (not asked for)"),
        }));
    }
}

/// In which order the automaton has operands, where another one would do something else.
fn in_order(env: &Environment, function: Name, conflict: &OrderConflict) -> String {
    let object = match conflict.object {
        Object::Global(name) => format!("`{name}`"),
        Object::Local(of, id) => match env.function(of) {
            Some(body) => format!("`{}`", body.local(id).name),
            None => format!("a variable of `{of}`"),
        },
        Object::Heap(of, _) => format!("memory that `{of}` allocates"),
        Object::External => "memory from outside".to_owned(),
    };
    let open = "C leaves the order open";
    match (conflict.left, conflict.right) {
        (Some(left), Some(right)) => {
            format!(
                "in `{function}`, the call of `{left}` comes before that of `{right}` ({open}, and both use {object})"
            )
        }
        (Some(left), None) => {
            format!(
                "in `{function}`, the call of `{left}` comes before the use of {object} on its right ({open})"
            )
        }
        (None, Some(right)) => {
            format!(
                "in `{function}`, the use of {object} comes before the call of `{right}` on its right ({open})"
            )
        }
        (None, None) => {
            format!("in `{function}`, operands that use {object} are taken from left to right ({open})")
        }
    }
}

/// Whether the real program may go on where the obligation fails: it does not behind an assertion. What rests on what functions ensure is not called
/// proved at all.
fn ends_early(obligation: &Obligation) -> bool {
    !assertion::CHECK.is(obligation.check) && !promises::is_owed(obligation)
}

/// Where an obligation is asked about.
pub(crate) fn demands<'f>(
    env: &'f Environment,
    function: &'f Function,
    obligation: &'f Obligation,
) -> impl Iterator<Item = Loc> + 'f {
    let failures = env.structure(function.name).failures(obligation);
    failures.iter().map(|id| function.edge(*id).from)
}

/// Where control is once it holds.
fn passed<'f>(
    env: &'f Environment,
    function: &'f Function,
    obligation: &'f Obligation,
) -> impl Iterator<Item = Loc> + 'f {
    let from: BTreeSet<Loc> = demands(env, function, obligation).collect();
    let edges = from.into_iter().flat_map(|loc| env.structure(function.name).successors(loc));
    edges.map(|id| function.edge(*id).to).filter(|to| *to != obligation.error)
}

/// The same as places.
pub(crate) fn behind(env: &Environment, function: &Function, obligation: &Obligation) -> Vec<Place> {
    passed(env, function, obligation).map(|loc| (function.name, loc)).collect()
}

/// Where control goes, through calls and back; a function goes back to all its callers.
pub(crate) struct Flow {
    next: BTreeMap<Place, Vec<Place>>,
    previous: BTreeMap<Place, Vec<Place>>,
}

impl Flow {
    /// Of these functions.
    pub(crate) fn new(subject: &Subject, functions: &BTreeSet<Name>) -> Flow {
        let mut flow = Flow { next: BTreeMap::new(), previous: BTreeMap::new() };
        let env = subject.env();
        for function in functions.iter().filter_map(|name| env.function(*name)) {
            for at in 0..function.edges.len() {
                let edge = function.edge(EdgeId(at as u32));
                let (from, to) = ((function.name, edge.from), (function.name, edge.to));
                flow.connect(from, to);
                let Op::Call(call) = &edge.op else { continue };
                let callees = match call.callee {
                    Callee::Direct(name) => vec![name],
                    Callee::Indirect(..) => env.callees(function.name, call).functions,
                };
                for callee in callees.into_iter().filter_map(|name| env.function(name)) {
                    flow.connect(from, (callee.name, callee.entry));
                    flow.connect((callee.name, callee.exit), to);
                }
            }
        }
        flow
    }

    fn connect(&mut self, from: Place, to: Place) {
        self.next.entry(from).or_default().push(to);
        self.previous.entry(to).or_default().push(from);
    }

    /// Where control may be after it was at one of these.
    pub(crate) fn after(&self, from: impl IntoIterator<Item = Place>) -> FxHashSet<Place> {
        self.reached(from, &self.next)
    }

    /// Every place on a way from these, themselves included.
    fn reached(
        &self,
        from: impl IntoIterator<Item = Place>,
        steps: &BTreeMap<Place, Vec<Place>>,
    ) -> FxHashSet<Place> {
        let mut open: Vec<Place> = from.into_iter().collect();
        let mut seen: FxHashSet<Place> = open.iter().copied().collect();
        while let Some(place) = open.pop() {
            for next in steps.get(&place).into_iter().flatten() {
                if seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        seen
    }
}
