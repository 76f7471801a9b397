//! Allocation by call path [MEMORY §3]: a function that allocates is copied for each call of it, with what it calls, so that the objects of
//! `a = get(10)` and of `b = get(20)` have sites of their own in every analysis of the copied program.
//!
//! Law: the executions are the same but for the names of functions; an obligation holds if it holds in each copy of its function.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use proofline_cfa::{Callee, Function, Linkage, Name, ObligationId, Op, Program};
use proofline_cpa::Unknown;

use super::{Abstraction, Answer, Decision, Engine, Question, Targets};
use crate::subject::Subject;

/// Functions with more edges are not copied.
const MOST_EDGES: usize = 400;

/// So many edges are added to a program at most, and half as many again as it has.
const MOST_ADDED: usize = 4_000;

/// An analysis of the program in which functions that allocate are copied. Asked only where some are called more than once.
#[derive(Clone, Debug)]
pub struct CallPaths {
    /// The analysis: one that decides each obligation for itself.
    pub analysis: Abstraction,
}

impl Engine for CallPaths {
    fn name(&self) -> &'static str {
        "call paths"
    }

    fn knows_memory(&self) -> bool {
        self.analysis.knows_memory()
    }

    fn decides_each(&self) -> bool {
        self.analysis.decides_each()
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let Some(copied) = Copied::of(question.subject, question.entry.name) else {
            let why = "no function that allocates is called more than once";
            return Decision::new(Answer::Unknown(Unknown::NotApplicable(why.into())));
        };
        let subject = question.subject.of_program(copied.program);
        let all = question.targets.iter();
        let targets = Targets::new(all.flat_map(|(name, id)| {
            let copies = copied.copies.get(&name).into_iter().flatten().copied();
            copies.chain([name]).map(move |name| (name, id))
        }));
        let decision = self.analysis.decide(&Question { subject: &subject, targets: &targets, ..*question });
        let proved = proved(question.targets, &copied.copies, &decision.proved);
        // What a run of it is like, only an engine can say that runs the program itself.
        let answer = match decision.answer {
            Answer::Violated(_) => {
                Answer::Unknown(Unknown::Unconfirmed("a copy of a function may fail".into()))
            }
            answer @ (Answer::Holds(_) | Answer::Unknown(_)) => answer,
        };
        Decision { answer, proved, violated: Vec::new(), ..decision }
    }
}

/// The obligations that hold in each copy of their function.
fn proved(
    targets: &Targets,
    copies: &BTreeMap<Name, Vec<Name>>,
    found: &BTreeSet<(Name, ObligationId)>,
) -> BTreeSet<(Name, ObligationId)> {
    let holds = |(name, id): &(Name, ObligationId)| {
        let of_copies = copies.get(name).into_iter().flatten();
        found.contains(&(*name, *id)) && of_copies.into_iter().all(|copy| found.contains(&(*copy, *id)))
    };
    targets.iter().filter(holds).collect()
}

/// A program with copies of functions.
struct Copied {
    program: Program,
    /// The other names of each function that has some.
    copies: BTreeMap<Name, Vec<Name>>,
}

impl Copied {
    /// `None`: there is nothing to copy.
    fn of(subject: &Subject, entry: Name) -> Option<Copied> {
        let reached = subject.reachable_from(entry);
        let copiable = allocating(subject, entry, &reached);
        if copiable.is_empty() {
            return None;
        }
        let originals = &subject.program().functions;
        let mut program = subject.program().clone();
        let size: usize =
            reached.iter().filter_map(|name| program.function(*name)).map(|f| f.edges.len()).sum();
        let mut left = MOST_ADDED.min(size + size / 2 + MOST_EDGES);
        let mut copies: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        // Each name of a function is looked at once; callers first, as far as calls are met on the way.
        let mut called: BTreeSet<Name> = BTreeSet::new();
        let mut open: VecDeque<Name> =
            reached.iter().filter(|name| !copiable.contains(*name)).copied().collect();
        while let Some(name) = open.pop_front() {
            let Some(mut function) = program.functions.get(&name).cloned() else { continue };
            for at in 0..function.edges.len() {
                let Some(callee) = direct_callee(&function, at).filter(|callee| copiable.contains(callee))
                else {
                    continue;
                };
                // The first call keeps the name.
                if called.insert(callee) {
                    open.push_back(callee);
                    continue;
                }
                let Some(body) = originals.get(&callee) else { continue };
                let Some(rest) = left.checked_sub(body.edges.len()) else { continue };
                left = rest;
                let others = copies.entry(callee).or_default();
                let copy = Name::new(&format!("{callee}@{}", others.len() + 1));
                others.push(copy);
                program.functions.insert(
                    copy,
                    Arc::new(Function { name: copy, linkage: Linkage::Internal, ..Function::clone(body) }),
                );
                if let Op::Call(call) = &mut Arc::make_mut(&mut function).edges[at].op {
                    call.callee = Callee::Direct(copy);
                }
                open.push_back(copy);
            }
            program.functions.insert(name, function);
        }
        (!copies.is_empty()).then_some(Copied { program, copies })
    }
}

fn direct_callee(function: &Function, at: usize) -> Option<Name> {
    match function.edges[at].op.call()?.callee {
        Callee::Direct(name) => Some(name),
        Callee::Indirect(..) => None,
    }
}

/// Functions that allocate on the heap, themselves or by what they call, and may be copied.
fn allocating(subject: &Subject, entry: Name, reached: &BTreeSet<Name>) -> BTreeSet<Name> {
    let env = subject.env();
    let graph = env.call_graph();
    let allocates = |function: &Function| {
        let is_on_heap = |op: &Op| matches!(op, Op::Allocate(new) if new.on_heap && !new.site.is_beside());
        function.edges.iter().any(|edge| is_on_heap(&edge.op))
    };
    let mut all: BTreeSet<Name> = BTreeSet::new();
    // Callees first.
    for component in graph.components() {
        let [name] = component[..] else { continue };
        let Some(function) = env.function(name).filter(|_| reached.contains(&name) && name != entry) else {
            continue;
        };
        let is_plain = !graph.is_recursive(name)
            && function.edges.len() <= MOST_EDGES
            && function.unsupported.is_empty()
            && subject.program().unsupported.iter().all(|(of, _)| *of != name);
        if is_plain && (allocates(function) || graph.callees(name).iter().any(|callee| all.contains(callee)))
        {
            all.insert(name);
        }
    }
    all
}
