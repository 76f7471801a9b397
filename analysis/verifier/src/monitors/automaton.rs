//! What one monitor does at one place: its obligations, and the steps of each automaton. See `instances` for which automata there are.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{BinaryOp, CompareOp, Expr, Function, IntType, Loc, Lvalue, Name, Op, Scalar, Site};

use super::{
    Change, Event, From, Monitor, Pattern, Target,
    builder::Builder,
    instances::{ABSENT, COUNT, Creator, FOREIGN, Held, Instance, Made, Watched, chosen, code},
    occurrences::{Demanded, Matched, compare, number_is},
    weave::converted,
};

/// The place.
pub(super) struct Here<'h> {
    /// As a place that creates keys.
    pub(super) creator: Option<Creator>,
    /// Where the result is, if it may become another one.
    pub(super) result: Option<&'h Lvalue>,
    /// The call goes through a pointer: the obligations were made before, by monitor and transition, because how many there are must not hang on which
    /// functions the rest of the program has pointers to.
    pub(super) reserved: Option<&'h Reserved>,
    /// A key as people read it.
    pub(super) text: &'h dyn Fn(&Function, &Expr) -> String,
}

/// Where transitions to `error` lead, by the monitor's label.
pub(super) type Reserved = BTreeMap<(String, usize), Loc>;

/// What must not be at a call through a pointer, whatever function it leads to that takes so many arguments.
pub(super) fn reserve(
    builder: &mut Builder<'_>,
    watched: &Watched<'_>,
    arguments: &[Option<Expr>],
    text: &dyn Fn(&Function, &Expr) -> String,
    out: &mut Reserved,
) {
    for (number, transition) in watched.monitor.transitions.iter().enumerate() {
        if transition.to != Target::Error {
            continue;
        }
        let calls = transition.events.iter().filter_map(|event| match event {
            Event::Call(call) if call.takes(arguments.len()) => Some(call),
            Event::Call(_) | Event::Set(..) | Event::Label(_) | Event::End => None,
        });
        let Some(call) = calls.into_iter().next() else { continue };
        let at = call.arguments.iter().position(|pattern| *pattern == Pattern::Key);
        let key = at.and_then(|at| arguments.get(at)?.as_ref());
        let message = said(watched.monitor, &transition.message, key, &|key| text(&builder.function, key));
        let error = builder.obligation(watched.check, &message);
        out.insert((watched.monitor.label.clone(), number), error);
    }
}

/// The message with the key's text in it.
fn said(monitor: &Monitor, message: &str, key: Option<&Expr>, text: &dyn Fn(&Expr) -> String) -> String {
    let Some(name) = &monitor.key else { return message.to_owned() };
    let shown = key.map(text).filter(|text| !text.contains("(value)"));
    message.replace(&format!("{{{name}}}"), shown.as_ref().unwrap_or(name))
}

/// The monitor's obligations at a place, and the steps of its automata.
pub(super) fn happens(builder: &mut Builder<'_>, watched: &Watched<'_>, found: &[Matched], here: &Here<'_>) {
    if found.is_empty() {
        return;
    }
    let mut step = Step { watched, here, errors: BTreeMap::new() };
    for one in found {
        step.obligation(builder, one);
    }
    for one in found.iter().filter(|one| step.transition(one).from == From::Always) {
        step.always(builder, one);
    }
    let mut keys: Vec<Option<&Expr>> = Vec::new();
    let others: Vec<&Matched> =
        found.iter().filter(|one| step.transition(one).from != From::Always).collect();
    for one in &others {
        if !keys.contains(&one.key.as_ref()) {
            keys.push(one.key.as_ref());
        }
    }
    for instance in &watched.instances {
        for key in &keys {
            let group: Vec<&Matched> =
                others.iter().copied().filter(|one| one.key.as_ref() == *key).collect();
            step.group(builder, instance, *key, &group);
        }
    }
}

struct Step<'s> {
    watched: &'s Watched<'s>,
    here: &'s Here<'s>,
    /// Where transitions to `error` lead.
    errors: BTreeMap<usize, Loc>,
}

impl<'s> Step<'s> {
    fn monitor(&self) -> &'s Monitor {
        self.watched.monitor
    }

    fn transition(&self, one: &Matched) -> &'s super::Transition {
        &self.monitor().transitions[one.transition]
    }

    fn message(&self, builder: &Builder<'_>, one: &Matched) -> String {
        let text = |key: &Expr| (self.here.text)(&builder.function, key);
        said(self.monitor(), &self.transition(one).message, one.key.as_ref(), &text)
    }

    fn obligation(&mut self, builder: &mut Builder<'_>, one: &Matched) {
        if self.transition(one).to != Target::Error || self.errors.contains_key(&one.transition) {
            return;
        }
        let text = self.message(builder, one);
        let error = match self.here.reserved {
            Some(reserved) => reserved.get(&(self.monitor().label.clone(), one.transition)).copied(),
            None => Some(builder.obligation(self.watched.check, &text)),
        };
        self.errors.extend(error.map(|error| (one.transition, error)));
    }

    /// Whatever the state.
    fn always(&self, builder: &mut Builder<'_>, one: &Matched) {
        let Some(&error) = self.errors.get(&one.transition) else { return };
        let Some(conditions) = conditions(one, one.key.as_ref(), None) else { return };
        let next = builder.location();
        let last = conditions.split_last().map_or_else(|| Expr::int(1), |(last, _)| last.clone());
        for condition in conditions.iter().rev().skip(1).rev() {
            builder.test(condition, next);
        }
        builder.fail(&last, error);
        builder.connect(Op::Skip, next);
        builder.at = next;
    }

    /// One automaton, and the transitions that name one key.
    fn group(&self, builder: &mut Builder<'_>, instance: &Instance, key: Option<&Expr>, group: &[&Matched]) {
        let Some(is_it) = self.is_it(instance, key) else { return };
        if is_it == Expr::int(0) {
            return;
        }
        let join = builder.location();
        let is_own = self.here.creator.is_some_and(|creator| instance.creators.contains(&creator));
        let creates = |one: &&Matched| one.gives_key && self.transition(one).from == From::New;
        if let (Held::Fresh(made), true) = (&instance.held, group.iter().any(creates)) {
            if is_own {
                for one in group.iter().copied().filter(|one| creates(one)) {
                    self.make(builder, instance, made, one, join);
                    self.make_other(builder, made, one, join);
                }
            }
            // What else the call gives is another object.
            builder.emit(Op::Assume(is_it.negated()));
            builder.connect(Op::Skip, join);
            builder.at = join;
            return;
        }
        let out = if is_it == Expr::int(1) { join } else { builder.location() };
        builder.test(&is_it, out);
        for one in group {
            self.take(builder, instance, one, join);
        }
        self.foreign(builder, instance, group, join);
        builder.connect(Op::Skip, join);
        if out != join {
            builder.at = out;
            if let (Held::Chosen(address), Some(key)) = (&instance.held, key) {
                self.choose(builder, instance, address, key, group, join, is_own);
            }
            builder.connect(Op::Skip, join);
        }
        builder.at = join;
    }

    /// Whether the automaton is the key's; `None`: they have nothing to do with each other.
    fn is_it(&self, instance: &Instance, key: Option<&Expr>) -> Option<Expr> {
        let Some(key) = key else { return Some(Expr::int(1)) };
        match &instance.held {
            Held::Nothing => Some(Expr::int(1)),
            Held::Object(object) => compare(CompareOp::Eq, object.clone(), key.clone()),
            Held::Fresh(made) => compare(CompareOp::Eq, Expr::Address(made.object.clone()), key.clone()),
            Held::Chosen(_) if self.watched.has_object(key) => None,
            Held::Chosen(address) => compare(CompareOp::Eq, Expr::Load(address.clone()), key.clone()),
            Held::Number(number) => {
                let number = Expr::Load(number.clone());
                let key = converted(key, number.scalar())?;
                compare(CompareOp::Eq, number, key)
            }
        }
    }

    /// A transition of an automaton that watches the key.
    fn take(&self, builder: &mut Builder<'_>, instance: &Instance, one: &Matched, join: Loc) {
        let transition = self.transition(one);
        let Some(conditions) = conditions(one, one.key.as_ref(), Some(instance)) else { return };
        let state = Expr::Load(instance.state.clone());
        let is_watching = state_is(&state, CompareOp::Ge, FOREIGN);
        let in_state = match transition.from {
            From::State(from) => state_is(&state, CompareOp::Eq, code(from)),
            From::Any => is_watching,
            From::New => match instance.held {
                // These are there from the beginning.
                Held::Object(_) | Held::Number(_) => Expr::int(1),
                Held::Chosen(_) | Held::Fresh(_) => is_watching,
                Held::Nothing => return,
            },
            From::Always => return,
        };
        let next = builder.location();
        for condition in &conditions {
            builder.test(condition, next);
        }
        if let (Target::Error, Some(&error)) = (transition.to, self.errors.get(&one.transition)) {
            builder.fail(&in_state, error);
            builder.connect(Op::Skip, next);
            builder.at = next;
            return;
        }
        builder.test(&in_state, next);
        if let (From::New, Held::Number(_), Target::State(to), true) =
            (transition.from, &instance.held, transition.to, one.gives_key)
        {
            // A number that is still in use is given to nobody else.
            builder.emit(Op::Assume(state_is(&state, CompareOp::Ne, code(to))));
        }
        self.effects(builder, instance, one);
        builder.connect(Op::Skip, join);
        builder.at = next;
    }

    fn effects(&self, builder: &mut Builder<'_>, instance: &Instance, one: &Matched) {
        let transition = self.transition(one);
        if transition.from == From::New {
            for (variable, lvalue) in self.monitor().variables.iter().zip(&instance.variables) {
                builder.emit(Op::Assign(lvalue.clone(), Expr::Int(i128::from(variable.initial), COUNT)));
            }
        }
        for action in &transition.actions {
            let lvalue = &instance.variables[action.variable];
            let by = |op, number: u64| {
                let number = Arc::new(Expr::Int(i128::from(number), COUNT));
                Expr::Binary(op, Arc::new(Expr::Load(lvalue.clone())), number, Site::NOWHERE)
            };
            let value = match action.change {
                Change::To(number) => Expr::Int(i128::from(number), COUNT),
                Change::Add(number) => by(BinaryOp::Add, number),
                Change::Subtract(number) => by(BinaryOp::Sub, number),
            };
            builder.emit(Op::Assign(lvalue.clone(), value));
        }
        if let Target::State(to) = transition.to {
            set_state(builder, instance, code(to));
        }
        builder.note(&self.message(builder, one));
    }

    /// Where executions start in the middle of a program, what happens first may say in which state the automaton is behind it: there is
    /// one state only in which it can be if it was in any, and no error was before.
    fn foreign(&self, builder: &mut Builder<'_>, instance: &Instance, group: &[&Matched], join: Loc) {
        let may_be = match instance.held {
            Held::Nothing | Held::Object(_) | Held::Number(_) => true,
            Held::Fresh(_) | Held::Chosen(_) => false,
        };
        let Some((one, to)) = self.said(group).filter(|_| may_be) else { return };
        let Some(conditions) = conditions(one, one.key.as_ref(), Some(instance)) else { return };
        let next = builder.location();
        builder.test(&state_is(&Expr::Load(instance.state.clone()), CompareOp::Eq, FOREIGN), next);
        for condition in &conditions {
            builder.test(condition, next);
        }
        set_state(builder, instance, code(to));
        self.note_of(builder, group, to);
        builder.connect(Op::Skip, join);
        builder.at = next;
    }

    /// The state behind these transitions, whatever was the state before, and one of them with the conditions of all.
    fn said<'m>(&self, group: &[&'m Matched]) -> Option<(&'m Matched, usize)> {
        if self.monitor().start.is_none() || !self.monitor().variables.is_empty() {
            return None;
        }
        let group: Vec<&Matched> =
            group.iter().copied().filter(|one| self.transition(one).from != From::New).collect();
        let (first, rest) = group.split_first()?;
        if rest.iter().any(|one| one.conditions != first.conditions) {
            return None;
        }
        let mut behind = None;
        let transitions = &self.monitor().transitions;
        for state in 0..self.monitor().states.len() {
            // What is in a state without transitions nobody watches.
            if !transitions.iter().any(|transition| transition.from == From::State(state)) {
                continue;
            }
            let is_from = |one: &&&Matched| match self.transition(one).from {
                From::State(from) => from == state,
                From::Any => true,
                From::New | From::Always => false,
            };
            let to = match group.iter().find(is_from).map(|one| self.transition(one).to) {
                Some(Target::Error) => continue,
                Some(Target::State(to)) => to,
                Some(Target::Stay) | None => state,
            };
            if *behind.get_or_insert(to) != to {
                return None;
            }
        }
        behind.map(|to| (*first, to))
    }

    fn note_of(&self, builder: &mut Builder<'_>, group: &[&Matched], to: usize) {
        let says = |one: &&&Matched| self.transition(one).to == Target::State(to);
        if let Some(one) = group.iter().find(says) {
            let message = self.message(builder, one);
            builder.note(&message);
        }
    }

    /// The call makes the object that the automaton watches, or another one.
    fn make(&self, builder: &mut Builder<'_>, instance: &Instance, made: &Made, one: &Matched, join: Loc) {
        let next = builder.location();
        if self.gives(builder, &made.object, &instance.state, one, next) {
            self.effects(builder, instance, one);
            builder.connect(Op::Skip, join);
            builder.at = next;
        }
    }

    /// The call makes an object that nobody watches, and that is not the one which is watched.
    fn make_other(&self, builder: &mut Builder<'_>, made: &Made, one: &Matched, join: Loc) {
        let next = builder.location();
        if self.gives(builder, &made.other, &made.is_other, one, next) {
            builder.emit(Op::Assign(made.is_other.clone(), Expr::int(1)));
            builder.connect(Op::Skip, join);
            builder.at = next;
        }
    }

    /// The call gives this object if it was not made before, and so it is chosen; else control goes on elsewhere. False: it never does.
    fn gives(
        &self,
        builder: &mut Builder<'_>,
        object: &Lvalue,
        made: &Lvalue,
        one: &Matched,
        otherwise: Loc,
    ) -> bool {
        let Some(result) = self.here.result else { return false };
        let address = Expr::Address(object.clone());
        let Some(conditions) = conditions(one, Some(&address), None) else { return false };
        builder.test(&state_is(&Expr::Load(made.clone()), CompareOp::Eq, ABSENT), otherwise);
        let choice = builder.choice(Name::new(&self.monitor_label()));
        builder.test(&choice, otherwise);
        for condition in &conditions {
            builder.test(condition, otherwise);
        }
        if object.size > 0 {
            builder.emit(Op::Havoc(object.clone(), chosen(self.monitor())));
        }
        builder.emit(Op::Assign(result.clone(), address));
        true
    }

    /// The automaton begins to watch this key, or does not.
    #[expect(clippy::too_many_arguments, reason = "one step of one automaton")]
    fn choose(
        &self,
        builder: &mut Builder<'_>,
        instance: &Instance,
        address: &Lvalue,
        key: &Expr,
        group: &[&Matched],
        join: Loc,
        is_own: bool,
    ) {
        let is_absent = state_is(&Expr::Load(instance.state.clone()), CompareOp::Eq, ABSENT);
        let is_new = |one: &&&Matched| self.transition(one).from == From::New;
        // An automaton of one place watches what begins there, the one for all others what begins anywhere else.
        let begins = |one: &&&Matched| {
            is_new(one) && if one.gives_key { is_own } else { instance.creators.is_empty() }
        };
        for one in group.iter().filter(begins) {
            let Some(conditions) = conditions(one, Some(key), None) else { continue };
            let other = builder.location();
            builder.test(&is_absent, other);
            for condition in &conditions {
                builder.test(condition, other);
            }
            self.watch(builder, address, key, other);
            self.effects(builder, instance, one);
            builder.connect(Op::Skip, join);
            builder.at = other;
        }
        let Some((one, to)) = self.said(group).filter(|_| instance.creators.is_empty()) else { return };
        let Some(conditions) = conditions(one, Some(key), None) else { return };
        let other = builder.location();
        builder.test(&is_absent, other);
        for condition in &conditions {
            builder.test(condition, other);
        }
        self.watch(builder, address, key, other);
        set_state(builder, instance, code(to));
        self.note_of(builder, group, to);
        builder.connect(Op::Skip, join);
        builder.at = other;
    }

    /// Chooses this key, if it is none that has an automaton of its own.
    fn watch(&self, builder: &mut Builder<'_>, address: &Lvalue, key: &Expr, other: Loc) {
        for instance in &self.watched.instances {
            if let Held::Object(object) = &instance.held
                && let Some(is_other) = compare(CompareOp::Ne, object.clone(), key.clone())
            {
                builder.test(&is_other, other);
            }
        }
        let choice = builder.choice(Name::new(&self.monitor_label()));
        builder.test(&choice, other);
        builder.emit(Op::Assign(address.clone(), key.clone()));
    }

    fn monitor_label(&self) -> String {
        self.monitor().label.clone()
    }
}

fn set_state(builder: &mut Builder<'_>, instance: &Instance, to: i128) {
    builder.emit(Op::Assign(instance.state.clone(), Expr::int(to)));
}

fn state_is(state: &Expr, op: CompareOp, code: i128) -> Expr {
    Expr::Compare(op, Arc::new(state.clone()), Arc::new(Expr::Int(code, IntType::INT)))
}

/// What must hold for a transition; `None`: it cannot hold. What holds always is left out.
fn conditions(one: &Matched, key: Option<&Expr>, instance: Option<&Instance>) -> Option<Vec<Expr>> {
    let mut out = Vec::new();
    for demanded in &one.conditions {
        let condition = match demanded {
            Demanded::Program(condition) => condition.clone(),
            Demanded::Key(op, number) => number_is(key?, *op, *number)?,
            Demanded::Variable(variable, op, number) => {
                let lvalue = instance?.variables.get(*variable)?;
                number_is(&Expr::Load(lvalue.clone()), *op, *number)?
            }
        };
        match condition {
            Expr::Int(0, _) => return None,
            Expr::Int(..) => {}
            condition => out.push(condition),
        }
    }
    debug_assert!(out.iter().all(|condition| matches!(condition.scalar(), Scalar::Int(_))));
    Some(out)
}
