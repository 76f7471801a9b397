//! The pass that inserts obligations. It splits the edges of a location into a chain of demands, each with its own error location, in
//! the order in which C evaluates the operands. It runs after the library models and before any analysis.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    ASSERTING, Callee, CheckId, Edge, Entry, Expr, Function, Loc, Name, Obligation, Op, Program, Site,
    visit::exprs,
};
use proofline_program_analysis::Mentions;

use crate::{
    contracts::promises,
    load::{Allocation, INSERTED, Inserted, Options},
};

use super::{
    Check, Demand, Part, Rule, assertion, memory_cleanup, postcondition, reach_error, read_only,
    signed_overflow, uninitialised, visit,
};

/// What decides, besides the automata, which obligations there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Conventions {
    /// The label `ERROR` is one, because no call says the same.
    pub ends_at_labels: bool,
    /// Signed arithmetic wraps around. So executions go on behind a sum that does not fit, which is no obligation then.
    pub wrapv: bool,
    /// It is a whole program, and allocates memory, so that some of it can be left.
    pub main_allocates: bool,
    /// It is a library: functions of it are called from elsewhere.
    pub is_library: bool,
    /// The function, or one that it calls, allocates memory, so that it can lose some.
    pub allocates: bool,
    /// Whether memory can run out.
    pub allocation: Allocation,
    /// Pointers that are formed or compared are obligations.
    pub pointers: bool,
    /// Writes are none.
    pub skips_writes: bool,
    /// Which of the functions that `assert` calls the program defines itself: to call one is no failed assertion, and executions go on in it.
    pub own_assertions: [bool; ASSERTING.len()],
}

impl Conventions {
    /// As the options say.
    pub fn of(options: &Options, ends_at_labels: bool) -> Conventions {
        let &Options { wrapv, allocation, pointers, skips_writes, .. } = options;
        Conventions { ends_at_labels, wrapv, allocation, pointers, skips_writes, ..Conventions::default() }
    }
}

/// Inserts the obligations of every function.
pub fn insert(program: &mut Program) {
    let conventions = Conventions { ends_at_labels: ends_at_labels(program), ..Conventions::default() };
    insert_with(program, conventions, INSERTED);
}

/// Whether the label `ERROR` is an obligation: where no call says the same.
pub fn ends_at_labels(program: &Program) -> bool {
    !program.functions.values().any(|function| has_error_call(function))
}

/// Whether a function calls what must not be called.
pub fn has_error_call(function: &Function) -> bool {
    function.edges.iter().any(|edge| reach_error::is_error_call(&edge.op))
}

/// Inserts the obligations of every function.
pub fn insert_with(program: &mut Program, conventions: Conventions, inserted: Inserted<'_>) {
    let is_library = !program.functions.contains_key(&Entry::main().name);
    let main_allocates = !is_library && program.functions.values().any(|function| has_allocation(function));
    let own_assertions = ASSERTING.map(|(name, _)| program.functions.contains_key(&Name::new(name)));
    let conventions = Conventions { main_allocates, is_library, own_assertions, ..conventions };
    let allocating = allocating(program);
    for (name, function) in &mut program.functions {
        let conventions = Conventions { allocates: allocating.contains(name), ..conventions };
        *function = inserted(function, conventions);
    }
}

/// The functions that allocate memory on the heap, or call one that does. A call through a pointer is one of every function whose address is taken.
fn allocating(program: &Program) -> BTreeSet<Name> {
    let mut callers: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    let mut through_pointers: Vec<Name> = Vec::new();
    for (caller, function) in &program.functions {
        for edge in &function.edges {
            match edge.op.call().map(|call| &call.callee) {
                Some(Callee::Direct(callee)) => callers.entry(*callee).or_default().push(*caller),
                Some(Callee::Indirect(..)) => through_pointers.push(*caller),
                None => {}
            }
        }
    }
    through_pointers.dedup();
    for name in addresses(program) {
        callers.entry(name).or_default().extend(&through_pointers);
    }
    let own = program.functions.iter().filter(|(_, function)| has_allocation(function));
    let mut open: Vec<Name> = own.map(|(name, _)| *name).collect();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(callers.get(&name).into_iter().flatten());
        }
    }
    found
}

/// The functions whose addresses the program takes.
pub(crate) fn addresses(program: &Program) -> BTreeSet<Name> {
    let mut found: BTreeSet<Name> =
        program.globals.values().flat_map(|global| Mentions::of_global(global).names).collect();
    for edge in program.functions.values().flat_map(|function| &function.edges) {
        exprs(&edge.op, &mut |expr| {
            if let Expr::Function(name) = expr {
                found.insert(*name);
            }
        });
    }
    found
}

/// The same automaton with obligations.
pub fn insert_into(function: &Function, conventions: Conventions) -> Function {
    let mut out = function.clone();
    let mut fresh = Fresh { next: function.locations };
    let successors = function.successors();
    for (loc, edges) in successors.iter().enumerate() {
        let mut demands: Vec<(CheckId, Demand)> = Vec::new();
        let mut seen = BTreeSet::new();
        for &id in edges {
            visit::operation(function, &function.edge(id).op, function.edge(id).site, &mut |part, site| {
                for (check, rule) in part_rules(conventions) {
                    let mut found = Vec::new();
                    rule(function, part, site, &mut found);
                    if conventions.wrapv && *check == signed_overflow::CHECK {
                        found.retain(|demand| !signed_overflow::is_wrapped(demand));
                    }
                    let found = found.into_iter().map(|demand| (check.id(), demand));
                    demands.extend(found.filter(|demand| seen.insert(demand.clone())));
                }
            });
        }
        // Two branches on one condition share its demands; a lone edge has its own.
        let mut at = Loc(loc as u32);
        for (check, demand) in demands {
            at = demand_at(&mut out, &mut fresh, at, check, demand);
        }
        for &id in edges {
            out.edges[id.index()].from = at;
            if let Some((check, text)) = forbidden_operation(&function.edge(id).op, conventions) {
                let site = function.edge(id).site;
                let is_end = conventions.main_allocates && check.is_claim();
                let from = if is_end { cleaned_up(&mut out, &mut fresh, at, site) } else { at };
                let error = fresh.location();
                out.edges[id.index()] = Edge { from, to: error, op: Op::Assume(Expr::int(1)), site };
                out.obligations.push(Obligation { check: check.id(), error, site, text });
            }
        }
    }
    if conventions.ends_at_labels {
        end_at_labels(function, &mut out, &mut fresh, conventions);
    }
    if conventions.skips_writes {
        let is_write = |obligation: &Obligation| read_only::CHECK.is(obligation.check);
        let writes = take(&mut out, &is_write);
        cannot_fail(&mut out, &writes.iter().map(|write| write.error).collect());
    }
    let ends = take_ends(&mut out);
    // Last, so that the others have the same numbers in a part of the program that does not allocate.
    let is_end = conventions.main_allocates && Entry::main().name == function.name;
    if is_end || conventions.is_library && conventions.allocates {
        at_the_end(&mut out, &mut fresh, is_end);
    }
    if conventions.main_allocates {
        out.obligations.extend(ends);
    } else {
        cannot_fail(&mut out, &ends.iter().map(|end| end.error).collect());
    }
    out.locations = fresh.next;
    out
}

/// The program with executions that go on where an obligation of these checks fails; `None` if there is no such obligation. For reads of
/// variables without a value, which then have any: a question that does not ask about them must not take their failure for the end of
/// the execution, or everything behind it would count as proved. The obligations keep their numbers and cannot fail.
pub fn pass_over(program: &Program, checks: &BTreeSet<CheckId>) -> Option<Program> {
    let is_one = |obligation: &Obligation| checks.contains(&obligation.check);
    let has_any = |function: &Function| function.obligations.iter().any(is_one);
    if !program.functions.values().any(|function| has_any(function)) {
        return None;
    }
    let mut program = program.clone();
    for function in program.functions.values_mut().filter(|function| has_any(function)) {
        go_on(Arc::make_mut(function), &is_one);
    }
    if checks.contains(&postcondition::CHECK.id()) {
        promises::withdraw(&mut program, &|_| true);
    }
    Some(program)
}

/// Executions of the function go on where these of its obligations fail.
pub(crate) fn go_on(function: &mut Function, which: &dyn Fn(&Obligation) -> bool) {
    let own = function.obligations.iter().filter(|obligation| which(obligation));
    let errors = own.map(|obligation| obligation.error).collect();
    cannot_fail(function, &errors);
}

/// The conditions of the obligations with these error locations are taken to hold.
fn cannot_fail(function: &mut Function, errors: &BTreeSet<Loc>) {
    let fails = |edge: &&Edge| errors.contains(&edge.to);
    let tests: BTreeSet<Loc> = function.edges.iter().filter(fails).map(|edge| edge.from).collect();
    for edge in function.edges.iter_mut().filter(|edge| tests.contains(&edge.from)) {
        edge.op = Op::Assume(Expr::int(i128::from(!errors.contains(&edge.to))));
    }
}

/// What models ask where the program ends (`exit`): it is an obligation of programs that allocate.
fn take_ends(out: &mut Function) -> Vec<Obligation> {
    let is_end = |obligation: &Obligation| {
        Check::of(obligation.check)
            .is_some_and(|check| matches!(check.rule, Rule::AtEnd(_) | Rule::AtReturn(_)))
    };
    take(out, &is_end)
}

/// Takes such obligations out of the list of all.
fn take(out: &mut Function, which: &dyn Fn(&Obligation) -> bool) -> Vec<Obligation> {
    let (taken, others) = std::mem::take(&mut out.obligations).into_iter().partition(which);
    out.obligations = others;
    taken
}

type PartRule = fn(&Function, Part<'_>, Site, &mut Vec<Demand>);

fn part_rules(conventions: Conventions) -> impl Iterator<Item = (&'static Check, PartRule)> {
    let is_asked = move |check: &&&Check| {
        let is_skipped = conventions.skips_writes && **check == &read_only::CHECK;
        !is_skipped && (conventions.pointers || !check.is_about_pointers())
    };
    let checks = Check::ALL.iter().filter(is_asked);
    checks.filter_map(|check| match check.rule {
        Rule::Parts(rule) => Some((*check, rule)),
        Rule::Operation(_) | Rule::Label(_) | Rule::AtEnd(_) | Rule::AtReturn(_) | Rule::Calls => None,
    })
}

/// Puts a demand between a location and what comes there; the location that is there now.
fn demand_at(out: &mut Function, fresh: &mut Fresh, at: Loc, check: CheckId, demand: Demand) -> Loc {
    let (error, next) = (fresh.location(), fresh.location());
    let Demand { condition, site } = demand;
    let text = proofline_cfa::expr_text(out, &condition);
    let text = Name::new(&uninitialised::in_words(&text).unwrap_or(text));
    out.edges.push(Edge { from: at, to: error, op: Op::Assume(condition.negated()), site });
    out.edges.push(Edge { from: at, to: next, op: Op::Assume(condition), site });
    out.obligations.push(Obligation { check, error, site, text });
    next
}

/// What must hold where a function returns, and with it the program if `is_end`, before each edge that leads there.
fn at_the_end(out: &mut Function, fresh: &mut Fresh, is_end: bool) {
    for id in 0..out.edges.len() {
        let Edge { to, site, .. } = out.edges[id];
        if to != out.exit {
            continue;
        }
        let mut at = fresh.location();
        out.edges[id].to = at;
        for check in Check::ALL {
            let condition = match check.rule {
                Rule::AtReturn(condition) => condition,
                Rule::AtEnd(condition) if is_end => condition,
                Rule::AtEnd(_) | Rule::Parts(_) | Rule::Operation(_) | Rule::Label(_) | Rule::Calls => {
                    continue;
                }
            };
            at = demand_at(out, fresh, at, check.id(), Demand { condition: condition(), site });
        }
        out.edges.push(Edge { from: at, to: out.exit, op: Op::Skip, site });
    }
}

fn has_allocation(function: &Function) -> bool {
    function.edges.iter().any(|edge| matches!(&edge.op, Op::Allocate(allocation) if allocation.on_heap))
}

/// The program ends here, without a return of `main`: nothing may be left. The location behind the demand.
fn cleaned_up(out: &mut Function, fresh: &mut Fresh, at: Loc, site: Site) -> Loc {
    demand_at(
        out,
        fresh,
        at,
        memory_cleanup::CHECK.id(),
        Demand { condition: memory_cleanup::condition(), site },
    )
}

/// The obligation that an operation must not be reached, if it is one, and what must hold, for people.
fn forbidden_operation(op: &Op, conventions: Conventions) -> Option<(&'static Check, Name)> {
    let calls = |name: &str| matches!(op.call().map(|call| &call.callee), Some(Callee::Direct(callee)) if callee.as_str() == name);
    let is_own =
        ASSERTING.iter().zip(conventions.own_assertions).any(|((name, _), is_own)| is_own && calls(name));
    let checks = Check::ALL.iter().filter(|check| !is_own || **check != &assertion::CHECK);
    checks.into_iter().find_map(|check| match check.rule {
        Rule::Operation(rule) => rule(op).map(|text| (*check, text)),
        Rule::Parts(_) | Rule::Label(_) | Rule::AtEnd(_) | Rule::AtReturn(_) | Rule::Calls => None,
    })
}

/// Control ends at labels that must not be reached.
fn end_at_labels(function: &Function, out: &mut Function, fresh: &mut Fresh, conventions: Conventions) {
    for &(label, loc) in &function.labels {
        let Some(check) = Check::ALL.iter().find(|check| match check.rule {
            Rule::Label(is_error) => is_error(&label),
            Rule::Parts(_) | Rule::Operation(_) | Rule::AtEnd(_) | Rule::AtReturn(_) | Rule::Calls => false,
        }) else {
            continue;
        };
        let site = function.edges.iter().find(|edge| edge.from == loc).map_or(Site(0), |edge| edge.site);
        let error = fresh.location();
        for edge in out.edges.iter_mut().filter(|edge| edge.from == loc) {
            *edge = Edge { from: loc, to: error, op: Op::Assume(Expr::int(1)), site };
        }
        if conventions.main_allocates {
            let behind = cleaned_up(out, fresh, loc, site);
            for edge in out.edges.iter_mut().filter(|edge| edge.to == error) {
                edge.from = behind;
            }
        }
        let text = Name::new("ERROR is not reached");
        out.obligations.push(Obligation { check: check.id(), error, site, text });
    }
}

/// New locations.
struct Fresh {
    next: u32,
}
impl Fresh {
    fn location(&mut self) -> Loc {
        self.next += 1;
        Loc(self.next - 1)
    }
}
