//! Monitors: automata that watch calls and assignments of a program and say which sequences of them must not be [BLAST04, CPA10 §2.2]. A monitor is
//! text (`parse`); it is woven into the automata of the program (`weave`) as variables that nobody else sees and as obligations, so every engine, the
//! interpreter and all that shows paths know it without knowing that there are monitors.
//!
//! **Law.** Executions of a woven program are those of the program with, beside each, what the monitor does; none is lost unless its obligation fails, and
//! but for those in which a call that creates a key gives one whose object is still there. An obligation fails in some execution exactly if the monitor,
//! run beside some execution for some key, takes a transition to `error`.
//! What starts in the middle of a program (a function of a library) is taken to start in a state that nothing contradicts: see `foreign`.

mod automaton;
mod builder;
mod instances;
mod lex;
mod occurrences;
mod parse;
mod weave;

use std::{borrow::Cow, sync::Arc};

use proofline_cfa::CompareOp;

pub use lex::MonitorError;
pub use weave::weave;

use crate::checks::{Check, monitor};

/// Names of variables and objects of monitors begin so.
pub use proofline_cfa::MONITOR as PREFIX;

/// A monitor that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// As the file says: `locks`. The check is `monitor:locks`.
    name: String,
    /// With what its parameters stand for: `reentrancy(handler)`.
    label: String,
    /// Numbers of the weaknesses that it finds.
    cwe: Vec<u16>,
    /// What usually mends it.
    help: String,
    /// The name of what each automaton is about: there is one for each value of it. `None`: there is one.
    key: Option<String>,
    states: Vec<String>,
    /// Where every key begins; without it only those are watched that a transition from `new` creates.
    start: Option<usize>,
    variables: Vec<Variable>,
    transitions: Vec<Transition>,
}

/// A counter of an automaton: a number of 64 bits that wraps around.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Variable {
    name: String,
    initial: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Transition {
    from: From,
    events: Vec<Event>,
    conditions: Vec<Condition>,
    actions: Vec<Action>,
    to: Target,
    /// What people read where it is taken.
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    /// Keys that are not watched yet.
    New,
    /// Whatever the key and its state.
    Always,
    /// Any state of a key that is watched.
    Any,
    State(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Stay,
    State(usize),
    Error,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Event {
    Call(CallEvent),
    /// A variable with this name is assigned; the pattern is the value.
    Set(String, Pattern),
    /// Control comes to this label.
    Label(String),
    /// The program ends.
    End,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct CallEvent {
    names: Vec<String>,
    arguments: Vec<Pattern>,
    /// Any arguments may come behind these.
    is_open: bool,
    /// Where the call has returned.
    is_after: bool,
    gives_key: bool,
    /// What the result is.
    result: Option<(CompareOp, i128)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Pattern {
    Any,
    Key,
    Bound(String),
    Number(i128),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Condition {
    left: Operand,
    op: CompareOp,
    right: i128,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Operand {
    Key,
    Bound(String),
    Result,
    Variable(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Action {
    variable: usize,
    change: Change,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    To(u64),
    Add(u64),
    Subtract(u64),
}

/// The monitors that come with the program: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("locks", include_str!("../../monitors/locks.monitor")),
    ("files", include_str!("../../monitors/files.monitor")),
    ("files-closed", include_str!("../../monitors/files-closed.monitor")),
    ("descriptors", include_str!("../../monitors/descriptors.monitor")),
    ("allocation", include_str!("../../monitors/allocation.monitor")),
    ("reentrancy", include_str!("../../monitors/reentrancy.monitor")),
    ("errors", include_str!("../../monitors/errors.monitor")),
];

impl Monitor {
    /// Reads a monitor's text; what its parameters stand for are names of functions.
    ///
    /// # Errors
    /// With the line of the first thing that is no monitor, and what to do.
    pub fn parse(text: &str, arguments: &[String]) -> Result<Monitor, MonitorError> {
        let monitor = parse::monitor(text, arguments)?;
        monitor.check();
        Ok(monitor)
    }

    /// The check whose obligations it makes.
    pub fn check(&self) -> &'static Check {
        let kept = || format!("keep to the order that the monitor `{}` asks for", self.name).into();
        let help: Cow<'_, str> = if self.help.is_empty() { kept() } else { (&*self.help).into() };
        monitor::of(&self.name, &self.cwe, &help)
    }

    /// Its name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The monitors that watch a program, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Monitors(Arc<[Monitor]>);

/// Why there is no monitor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoMonitor {
    /// Neither a monitor's name nor a file that can be read.
    #[error(
        "there is no monitor `{0}`: {1}\n  help: name a file, or one of these: locks, files, files-closed, descriptors, errors, allocation(ALLOCATE, RELEASE), \
         reentrancy(FUNCTION)"
    )]
    Unknown(String, String),
    /// The text is not one.
    #[error("{0}:{1}")]
    Text(String, MonitorError),
    /// Two have one name.
    #[error(
        "two monitors are `{0}`\n  help: one is enough, or give one of the files another name behind `monitor`"
    )]
    Twice(String),
}

impl Monitors {
    /// Those with these names: of monitors that come with the program, or of files, each perhaps with arguments in parentheses. `read` reads a file.
    ///
    /// # Errors
    /// What is wrong with the first that is none.
    pub fn named(
        names: &[String],
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Monitors, NoMonitor> {
        let mut all: Vec<Monitor> = Vec::new();
        for text in names {
            let (name, arguments) = split(text);
            let shipped = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
            let source = match shipped {
                Some((_, source)) => (*source).to_owned(),
                None => read(name).map_err(|why| NoMonitor::Unknown(name.to_owned(), why))?,
            };
            let monitor = Monitor::parse(&source, &arguments)
                .map_err(|error| NoMonitor::Text(name.to_owned(), error))?;
            if all.iter().any(|other| other.label == monitor.label) {
                return Err(NoMonitor::Twice(monitor.label));
            }
            all.push(monitor);
        }
        Ok(Monitors(all.into()))
    }

    /// Each.
    pub fn iter(&self) -> impl Iterator<Item = &Monitor> {
        self.0.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `reentrancy(handler)`: the name, and what stands in the parentheses.
fn split(text: &str) -> (&str, Vec<String>) {
    let Some((name, rest)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return (text.trim(), Vec::new());
    };
    (name.trim(), rest.split(',').map(|argument| argument.trim().to_owned()).collect())
}
