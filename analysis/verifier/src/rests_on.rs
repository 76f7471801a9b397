//! What proofs rest on besides the text. After a failure C promises nothing, and an execution that an engine looks at ends there; so what comes
//! later is proved for the executions that do not fail before. Must not know how anything was proved.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Function, Loc, Name, Object, Obligation, ObligationId, register};
use proofline_program_analysis::{Environment, OrderConflict, Place};

use crate::{
    checks::{assertion, uninitialised},
    contracts::promises,
    engines::Targets,
    property::Property,
    subject::Subject,
    verdict::Verdicts,
};

/// What the proofs of one entry rest on.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    /// In words, each once.
    pub(crate) texts: BTreeSet<String>,
    /// Functions with something proved that holds only where something else does not fail before.
    pub(crate) resting: BTreeSet<Name>,
}

/// What is known of obligations.
#[derive(Clone, Copy)]
pub(crate) struct Known<'k> {
    pub(crate) verdicts: &'k Verdicts,
    /// What nobody asked about, and what is open therefore.
    pub(crate) others: &'k Targets,
}

/// Of so many open obligations each is named; of more, their number.
const MOST_NAMED: usize = 100;

impl Basis {
    /// Of what is known about these functions.
    pub(crate) fn of(
        subject: &Subject,
        property: &Property,
        functions: &BTreeSet<Name>,
        known: Known<'_>,
    ) -> Basis {
        let mut basis = Basis::default();
        let env = subject.env();
        let found = |(name, id): (Name, ObligationId)| {
            let function = env.function(name).filter(|_| functions.contains(&name))?;
            Some((function, function.obligations.get(id.index())?))
        };
        let (proved, open): (Vec<_>, Vec<_>) =
            known.verdicts.iter().partition(|(_, verdict)| verdict.is_proved());
        let proved: Vec<Place> = proved
            .into_iter()
            .filter_map(|(target, _)| found(*target))
            .flat_map(|(function, one)| demands(env, function, one).map(|loc| (function.name, loc)))
            .collect();
        if proved.is_empty() {
            return basis;
        }
        basis.not_asked_for(subject, property, functions);
        basis.registers(subject);
        let of = |name: Name| env.order_conflicts(name).iter().map(move |conflict| (name, conflict));
        let orders = functions.iter().copied().flat_map(of);
        let before = env.supergraph().before(proved.iter().copied(), functions);
        let orders: Vec<(Name, &OrderConflict)> =
            orders.filter(|(name, order)| before.contains(&(*name, order.at))).collect();
        let open: Vec<(&Function, &Obligation)> = open
            .into_iter()
            .map(|(target, _)| *target)
            .chain(known.others.iter())
            .filter_map(found)
            .filter(|(_, obligation)| ends_early(obligation))
            .filter(|(function, one)| behind(env, function, one).any(|place| before.contains(&place)))
            .collect();
        if open.is_empty() && orders.is_empty() {
            return basis;
        }
        let fails = open.iter().flat_map(|(function, one)| behind(env, function, one));
        let ordered = orders.iter().map(|(function, conflict)| (*function, conflict.at));
        let after = env.supergraph().after(fails.chain(ordered), functions);
        let resting = proved.iter().filter(|place| after.contains(place));
        basis.resting = resting.map(|(function, _)| *function).collect();
        for (function, obligation) in open.iter().take(MOST_NAMED) {
            let (check, text) = (obligation.check.code(), obligation.text);
            basis.texts.insert(format!("{text} in `{}` ({check}, not proved)", function.name));
        }
        if let Some(more @ 1..) = open.len().checked_sub(MOST_NAMED) {
            basis.texts.insert(format!("{more} more places (of functions that are called, not proved)"));
        }
        basis.texts.extend(orders.iter().map(|(function, conflict)| in_order(env, *function, conflict)));
        basis
    }

    /// Memory at addresses that are numbers.
    fn registers(&mut self, subject: &Subject) {
        let registers: Vec<&str> =
            subject.program().globals.keys().filter_map(|name| register::pointer(*name)).collect();
        let Some((first, others)) = registers.split_first() else { return };
        self.texts.insert(match others.len() {
            0 => format!("a register is at `{first}`, and no object of the program"),
            more => {
                format!("registers are at `{first}` and {more} more numbers, and no objects of the program")
            }
        });
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
        // (The library's `errno` has a name that no program's variable has.)
        Object::Global(name) => format!("`{}`", name.trim_start_matches('#')),
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
    let from = demands(env, function, obligation);
    let edges = from.flat_map(|loc| env.structure(function.name).successors(loc));
    edges.map(|id| function.edge(*id).to).filter(|to| *to != obligation.error)
}

/// The same as places.
pub(crate) fn behind<'f>(
    env: &'f Environment,
    function: &'f Function,
    obligation: &'f Obligation,
) -> impl Iterator<Item = Place> + 'f {
    passed(env, function, obligation).map(|loc| (function.name, loc))
}
