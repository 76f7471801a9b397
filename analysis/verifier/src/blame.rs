//! Whose fault a violation in library code is. A function without callers is run with all arguments; a failure that some arguments
//! avoid is the callers' matter (*latent*: an inferred precondition), one that no argument avoids, or that stands in a branch which the
//! function itself chose by testing the very thing, is the function's own (*manifest*), as is an access outside of the program's own variable
//! for which no condition on arguments can be said. What hangs on the result of a function that nothing
//! is known of is latent, too, and names that function.
//!
//! The distinction is Pulse's: Le, Raad, Villard, Berdine, Dreyer and O'Hearn, "Finding Real Bugs in Big Programs with Incorrectness Logic",
//! OOPSLA 2022. There a manifest error is one that every calling context triggers, read off a summary; here it is read off one run.
//!
//! The judgement walks the trace of one violating run and keeps, for every variable, what it is in terms of the entry function's
//! arguments and of the globals at its start. It decides how a confirmed violation is shown, never whether it is one.

mod answered;
mod conditions;
mod symbols;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use proofline_cfa::{
    Base, Cause, Expr, Linkage, Loc, LocalId, Lvalue, MemoryPredicate, Name, Object, Obligation, Op, Program,
    Role, Scalar, Site, Step, expr_text,
    visit::{self, Mention},
};

use crate::{checks, interpret::Run, subject::Subject, wording::Wordings};

use answered::Questions;
use conditions::Conditions;
use symbols::{Influence, Symbols};

/// Whose fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blame {
    /// The program's or function's own.
    Manifest,
    /// The callers', who must not give such arguments.
    Latent(Precondition),
}

/// What callers must see to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Precondition {
    /// A condition over the entry's arguments and globals under which this violation cannot happen, as C text: `b != 0`. `None` if it
    /// cannot be said so.
    pub requires: Option<String>,
    /// When it happens: `n > 10`, or `input(…) == 0`.
    pub fails_when: Option<String>,
    /// A function that nothing is known of and that has a say in it, by its result or by what it writes: no caller alone can prevent it.
    pub unknown: Option<Name>,
    /// The condition speaks of nothing but variables that only their file can name: no caller can see to it, but its functions.
    pub is_of_file: bool,
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blame::Manifest => write!(f, "manifest"),
            Blame::Latent(asked) => match (&asked.requires, &asked.fails_when, asked.unknown) {
                (Some(requires), ..) => write!(f, "requires {requires}"),
                (None, Some(when), _) => write!(f, "can fail when {when}"),
                (None, None, Some(unknown)) => write!(f, "depends on {unknown}"),
                (None, None, None) => write!(f, "fails for some arguments"),
            },
        }
    }
}

impl Precondition {
    fn new(unknown: Option<Name>) -> Precondition {
        Precondition { requires: None, fails_when: None, unknown, is_of_file: false }
    }

    fn fails_when(self, fails_when: Option<String>) -> Precondition {
        Precondition { fails_when, ..self }
    }
}

/// Judges a violating run that started in a function of a library: whose fault it is, and whether every run comes to it (to this failure, or
/// to another one before), whatever callers do: they decide nothing that is asked on the way.
pub(crate) fn judge(
    subject: &Subject,
    words: &Wordings,
    run: &Run,
    obligation: &Obligation,
) -> (Blame, bool) {
    let mut asked = Influence::default();
    let mut on_the_way = Conditions::default();
    let mut blame = blame(subject, run, obligation, &mut asked, &mut on_the_way);
    if is_beyond_words(&blame) && leaves_own_object(subject, run, obligation) {
        blame = Blame::Manifest;
    }
    if blame == Blame::Manifest
        && let Some(requires) = no_constant(subject, words, run, &on_the_way)
    {
        blame = Blame::Latent(Precondition { requires: Some(requires), ..Precondition::new(None) });
    }
    let is_unconditional = blame == Blame::Manifest && !asked.callers;
    (blame, is_unconditional)
}

/// What callers pass as a value of an enumeration, and what all of its constants are ruled out for on the way: a `switch` that knows each of them and has no
/// `default` says that nothing else comes.
fn no_constant(subject: &Subject, words: &Wordings, run: &Run, on_the_way: &Conditions) -> Option<String> {
    let first = run.trace.as_ref()?.events.first()?.function;
    let entry = subject.program().function(first)?;
    let constants = |ty| words.constants(first, ty);
    let value = on_the_way.no_constant(&constants)?;
    Some(format!("`{}` is one of its enumeration's constants", expr_text(entry, value)))
}

/// Whether it is asked of a pointer in memory: of one that holds a structure together.
fn is_link(condition: &Expr) -> bool {
    let Expr::Compare(_, lhs, _) = condition else { return false };
    matches!(&**lhs, Expr::Load(Lvalue { base: Base::Deref(..), scalar: Some(Scalar::Pointer), .. }))
}

/// No condition over what callers pass can be said.
fn is_beyond_words(blame: &Blame) -> bool {
    match blame {
        Blame::Manifest => false,
        Blame::Latent(asked) => {
            asked.requires.is_none() && asked.fails_when.is_none() && asked.unknown.is_none()
        }
    }
}

/// Whether what failed is an access outside of a variable whose size the program's text says: `char buffer[8]`, with whatever a parameter's text
/// was copied there. Callers cannot see to it if nobody can tell them what to see to; a larger variable, or a question before, can.
fn leaves_own_object(subject: &Subject, run: &Run, obligation: &Obligation) -> bool {
    let Some(trace) = run.trace.as_ref().filter(|trace| trace.is_whole()) else { return false };
    let Some(touched) = &trace.touched else { return false };
    let is_own = match touched.object.object {
        Object::Local(..) => true,
        Object::Global(name) => subject.program().globals.get(&name).is_some_and(|global| global.defined),
        Object::Heap(..) | Object::External => false,
    };
    let is_about_bounds = [&checks::out_of_bounds::CHECK, &checks::library_call::CHECK]
        .iter()
        .any(|check| check.is(obligation.check));
    is_own && is_about_bounds && touched.predicate == MemoryPredicate::InBounds
}

/// Whose fault it is; `asks`: what has a say in the way there and in the failure itself; `on_the_way`: what is asked about arguments before.
fn blame(
    subject: &Subject,
    run: &Run,
    obligation: &Obligation,
    asks: &mut Influence,
    on_the_way: &mut Conditions,
) -> Blame {
    // Until all of the run was looked at, anybody may have.
    asks.callers = true;
    let Some(trace) = run.trace.as_ref().filter(|trace| trace.is_whole()) else {
        return Blame::Latent(Precondition::new(None));
    };
    let Some(first) = trace.events.first() else { return Blame::Manifest };
    let Some(entry) = subject.program().function(first.function) else { return Blame::Manifest };
    let mut symbols = Symbols::new(subject.program(), entry, first.depth);
    // What the function asks about its arguments on the way, and what its loops ask.
    let (mut asked, mut loops) = (Conditions::default(), Conditions::default());
    let mut questions = Questions::default();
    // What it has asked before it went where it fails, and nowhere else.
    let mut guards = Conditions::default();
    let at = trace.events.last().map_or(first.function, |last| last.function);
    let to_failure = subject.program().function(at).map(|function| leading_to(function, obligation.error));
    let (mut asked_by, mut looped_by) = (Influence::default(), Influence::default());
    // What influences the values that loops compute, by how often and which way they go round.
    let mut inside = Influence::default();
    let mut failure = None;
    // Its condition, whether people can read it or not.
    let mut failing: Option<Expr> = None;
    // What the branches right before the failure ask, with nothing done in between: the condition of an assertion.
    let mut last_asked = Influence::default();
    // Conditions that were asked, and whether a function that nothing is known of was called behind them: `if (!p) die();`.
    let mut tests: Vec<(u32, &Expr, Option<Name>)> = Vec::new();
    let mut called_back: Option<Name> = None;
    // A function that nothing is known of and that was called since the last branch; whether that branch could also have gone round it and come here.
    let mut called_aside: Option<Name> = None;
    let mut written_since: BTreeSet<LocalId> = BTreeSet::new();
    let mut is_aside = false;
    // What has a say in such branches: in what an assertion asks about, too (`ok = x ? 1 : 0; assert(ok);`).
    let mut decided = Influence::default();
    let mut is_freed_here = false;
    // Whether what is in the callers' memory, or in variables of the file, decides the way, such as a count of references; whether pointers do.
    let (mut asks_memory, mut asks_links) = (false, false);
    for event in &trace.events {
        let Some(function) = subject.program().function(event.function) else { continue };
        symbols.enter(function, event.depth);
        let edge = function.edge(event.edge);
        let fails = event.function == at && edge.to == obligation.error;
        match &edge.op {
            Op::Assume(_) | Op::Skip | Op::Begin(_) | Op::End(_) => {}
            Op::Clobber(_, Cause::External(name)) if !symbols::is_input(*name) => {
                last_asked = Influence::default();
                tests.iter_mut().for_each(|(.., called)| *called = called.or(Some(*name)));
                called_aside = Some(*name);
                written_since.clear();
            }
            // A part of a condition.
            Op::Assign(Lvalue { base: Base::Local(id), .. }, _)
                if function.local(*id).role == Role::Temporary => {}
            Op::Assign(..)
            | Op::Copy(..)
            | Op::Havoc(..)
            | Op::Clobber(..)
            | Op::Call(_)
            | Op::Allocate(_)
            | Op::Free(_)
            | Op::CopyBytes(..)
            | Op::FillBytes(..)
            | Op::HavocBytes(..) => last_asked = Influence::default(),
        }
        questions.passes(event.depth, &edge.op);
        // What was asked of a variable says nothing of its next value.
        visit::mentions(&edge.op, &mut |mention| {
            if let Mention::Write(Lvalue { base: Base::Local(id), .. }) = mention {
                written_since.insert(*id);
                tests.retain(|(depth, tested, _)| *depth != event.depth || !reads_local(tested, *id));
            }
        });
        if let Op::Assume(condition) = &edge.op {
            let mut value = symbols.value(condition, event.depth);
            // What has been given a value since then is another matter.
            if fails && written_since.iter().any(|id| reads_local(condition, *id)) {
                called_aside = None;
            }
            // An error call is reached without a condition of its own.
            if fails && matches!(condition, Expr::Int(..)) {
                continue;
            }
            if fails {
                let same = |(depth, tested, _): &&(u32, &Expr, Option<Name>)| {
                    *depth == event.depth && *tested == condition
                };
                called_back = tests.iter().rev().find(same).and_then(|(.., called)| *called);
                is_freed_here = value.expr.as_ref().is_some_and(|expr| symbols.is_freed_here(expr));
                failing.clone_from(&value.expr);
                value.expr = value.expr.filter(symbols::is_readable);
                failure = Some(value);
                continue;
            }
            let reads = value.on.callers && value.expr.as_ref().is_none_or(symbols::reads_memory);
            let reads = reads || value.on.callers && value.expr.as_ref().is_some_and(symbols::reads_global);
            let asks = value.expr.clone();
            value.expr = value.expr.filter(symbols::is_readable);
            let structure = subject.env().structure(function.name);
            let siblings = || structure.successors(edge.from).iter().map(|id| function.edge(*id));
            let is_obligation = siblings().any(|other| structure.obligation_at(other.to).is_some());
            asks_memory |= reads && !is_obligation;
            asks_links |= reads && !is_obligation && is_link(condition);
            // A part of a condition that a contract asks for.
            let is_part = siblings().any(|other| other.site == Site::NOWHERE);
            if siblings().count() < 2 || is_obligation || is_part {
                continue;
            }
            tests.push((event.depth, condition, None));
            called_aside = None;
            let comes_here =
                |to: &BTreeSet<Loc>| siblings().any(|other| other.to != edge.to && to.contains(&other.to));
            is_aside = event.function == at && to_failure.as_ref().is_some_and(comes_here);
            decided = if is_aside { decided.and(value.on) } else { decided };
            last_asked = last_asked.and(value.on).and(questions.branches(event.depth, condition));
            if !value.on.is_some() {
                continue;
            }
            let innermost = structure.innermost_loop(edge.from);
            let leaves = innermost.is_some_and(|index| {
                let body = &structure.loops()[index].body;
                siblings().any(|other| !body.contains(&other.to))
            });
            if innermost.is_some() {
                inside = inside.and(value.on);
            }
            if leaves {
                looped_by = looped_by.and(value.on);
                loops.add(value.expr);
                questions.ask(event.depth, None, value.on);
            } else {
                asked_by = asked_by.and(value.on);
                let others = || siblings().filter(|other| other.to != edge.to);
                let is_guard = |to: &BTreeSet<Loc>| others().all(|other| !to.contains(&other.to));
                if event.function == at && to_failure.as_ref().is_some_and(is_guard) {
                    guards.add(asks);
                }
                questions.ask(event.depth, value.expr.clone(), value.on);
                asked.add(value.expr);
            }
        }
        let is_inside = || subject.env().structure(function.name).innermost_loop(edge.from).is_some();
        let by_loops = if inside.is_some() && is_inside() {
            Influence { counted: true, ..inside }
        } else {
            Influence::default()
        };
        symbols.event(subject.env(), function, event, by_loops);
    }
    *on_the_way = asked.joined(&loops);
    let depends_on_loops = looped_by.is_some();
    let is_assertion = checks::assertion::CHECK.is(obligation.check);
    *asks = failure.as_ref().map_or(Influence::default(), |failure| failure.on).and(asked_by).and(looped_by);
    // What the run itself has freed, it has freed whatever callers pass; freed twice, unless that is null.
    if is_freed_here && !asks_memory {
        let by_null = checks::invalid_free::CHECK.is(obligation.check);
        let decided = failure.as_ref().filter(|_| by_null).map_or(Influence::default(), |failure| failure.on);
        *asks = asked_by.and(looped_by).and(decided);
        return Blame::Manifest;
    }
    let Some(failure) = failure else {
        let by = asked_by.and(looped_by);
        // `if (!ok) { die(); __builtin_unreachable(); }`: it may not come back.
        if called_aside.is_some() && !tests.is_empty() {
            return Blame::Latent(Precondition::new(called_aside));
        }
        let is_asked = last_asked.is_some() || is_assertion && decided.callers;
        if !by.is_some() || !is_asked {
            return Blame::Manifest;
        }
        let all = asked.joined(&loops);
        let text = all.all_known().then(|| all.text(entry)).flatten();
        return Blame::Latent(Precondition::new(by.unknown).fails_when(text));
    };
    // It was tested, and a function that is not here was called where it fails: perhaps one that does not come back.
    if let Some(unknown) = called_back {
        return Blame::Latent(Precondition::new(Some(unknown)));
    }
    // What fails was decided here, whatever the way there asks: an allocation that fails, a mistake in a constant. What is lost may be lost only where
    // a structure of the callers does not hang together as they know it does.
    if !failure.on.is_some() {
        let is_loss = checks::memory_leak::CHECK.is(obligation.check);
        // `default: die(); } return v;`: whoever gets here without a value has come through a call that may not come back.
        if called_aside.is_some() && is_aside && !is_loss {
            return Blame::Latent(Precondition::new(called_aside));
        }
        let by = Precondition::new(None);
        let all = asked.joined(&loops);
        if is_assertion && decided.callers {
            let text = all.all_known().then(|| all.text(entry)).flatten();
            return Blame::Latent(by.fails_when(text));
        }
        return if is_loss && asks_links { Blame::Latent(by) } else { Blame::Manifest };
    }
    // The function has tested it, and let it through.
    if !failure.on.counted && failing.as_ref().is_some_and(|condition| guards.let_through(condition)) {
        return Blame::Manifest;
    }
    let own = questions.own();
    if failure.on.is_some()
        && !failure.on.counted
        && !depends_on_loops
        && let Some(condition) = &failure.expr
        && own.imply(condition)
    {
        return Blame::Manifest;
    }
    let by = Precondition::new(failure.on.and(looped_by).unknown);
    let Some(condition) = failure.expr.filter(|_| failure.on.is_some() && !failure.on.counted) else {
        let text = loops.all_known().then(|| loops.text(entry)).flatten();
        return Blame::Latent(by.fails_when(text));
    };
    let related = own.joined(&loops).about(&condition);
    if related.is_empty() && conditions::is_ambiguous([&condition].into_iter()) {
        return Blame::Latent(by);
    }
    if related.is_empty() {
        let fails_when = Some(readable(entry, &condition, false));
        // What an unknown function returns is nothing that callers can be asked for.
        let unknown = failure.on.unknown;
        let requires = unknown.is_none().then(|| readable(entry, &condition.negated(), true));
        let is_of_file = unknown.is_none() && is_of_file(subject.program(), &condition);
        return Blame::Latent(Precondition { requires, fails_when, unknown, is_of_file });
    }
    let mut all = related;
    all.add(Some(condition));
    Blame::Latent(by.fails_when(all.text(entry)))
}

/// Whether an expression reads variables with internal linkage, and nothing else.
fn is_of_file(program: &Program, expr: &Expr) -> bool {
    let (mut names_file, mut names_others) = (false, false);
    visit::walk(expr, &mut |part| {
        let Expr::Load(from) = part else { return };
        let global = match from.base {
            Base::Global(name) => program.globals.get(&name),
            Base::Local(_) | Base::Deref(..) => None,
        };
        let is_internal = global.is_some_and(|global| global.linkage == Linkage::Internal);
        names_file |= is_internal;
        names_others |= !is_internal;
    });
    names_file && !names_others
}

fn reads_local(expr: &Expr, local: LocalId) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |part| {
        found |= matches!(part, Expr::Load(Lvalue { base: Base::Local(id), .. }) if *id == local);
    });
    found
}

/// The locations of a function from which control may come to one.
fn leading_to(function: &proofline_cfa::Function, to: Loc) -> BTreeSet<Loc> {
    let mut before: BTreeMap<Loc, Vec<Loc>> = BTreeMap::new();
    for edge in &function.edges {
        before.entry(edge.to).or_default().push(edge.from);
    }
    let mut found = BTreeSet::from([to]);
    let mut open = vec![to];
    while let Some(at) = open.pop() {
        open.extend(before.get(&at).into_iter().flatten().filter(|from| found.insert(**from)));
    }
    found
}

/// A condition as people write it.
fn readable(entry: &proofline_cfa::Function, condition: &Expr, is_requirement: bool) -> String {
    use proofline_cfa::{CompareOp, Expr as E};
    let zero = |e: &E| matches!(e, E::Int(0, _));
    if let E::Compare(op, left, right) = condition
        && **right == E::Null
        && let Some(whole) = whole_of(left)
    {
        let condition = E::Compare(*op, whole.clone(), right.clone());
        return readable(entry, &condition, is_requirement);
    }
    if let E::Compare(op @ (CompareOp::Eq | CompareOp::Ne), left, right) = condition
        && zero(right)
        && let E::Overflows(operator, a, b) = &**left
    {
        let whole = E::Binary(*operator, a.clone(), b.clone(), proofline_cfa::Site(0));
        let text = expr_text(entry, &whole);
        return if *op == CompareOp::Ne {
            format!("`{text}` overflows")
        } else {
            format!("`{text}` does not overflow")
        };
    }
    if let E::Compare(op @ (CompareOp::Eq | CompareOp::Ne), memory, right) = condition
        && zero(right)
        && matches!(**memory, E::Memory(..))
    {
        let text = expr_text(entry, memory);
        return if *op == CompareOp::Ne { format!("`{text}`") } else { format!("`{text}` does not hold") };
    }
    if let E::Overflows(operator, a, b) = condition {
        let whole = E::Binary(*operator, a.clone(), b.clone(), proofline_cfa::Site(0));
        let text = expr_text(entry, &whole);
        return if is_requirement {
            format!("`{text}` does not overflow")
        } else {
            format!("`{text}` overflows")
        };
    }
    format!("`{}`", expr_text(entry, condition))
}

/// The pointer to a record whose first member's address this is: one is null where the other is.
fn whole_of(pointer: &Expr) -> Option<&std::sync::Arc<Expr>> {
    let Expr::Address(Lvalue { base: Base::Deref(whole, _), path, .. }) = pointer else { return None };
    let is_first = path.iter().all(|step| matches!(step, Step::Field { offset: 0, .. }));
    is_first.then_some(whole)
}
