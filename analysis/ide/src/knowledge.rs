//! What holds at the places of a file: values of variables, invariants of loops, results of functions, code that nothing reaches.
//! Everything here was proved: it comes from a reached set that was checked again. Knows no verdicts.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use proofline_cfa::{Base, Edge, Function, Loc, Op};
use proofline_db::Database;
use proofline_program_analysis::Environment;
use proofline_verifier::{
    Cancel, EntryKind, Name,
    facts::{Difference, Form, FunctionFacts, Here, Known, Variable, between, structure},
    portfolio::Control,
    sources::Sources,
};

use crate::{
    cancel::{Cancellable, Cancelled},
    index::{Declaration, Statement, Symbol},
    place::Place,
    program::Program,
};

/// Steps that finding all of it out may take; the entry with which they end is the last.
const STEPS: u64 = 1_000_000;

/// A loop with what holds whenever its condition is about to be looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopKnowledge {
    /// The statement.
    pub place: Place,
    /// `0 <= i <= 10`
    pub invariants: Vec<String>,
    /// The function that it is in.
    pub function: String,
    /// All of them that C can say, as one expression; empty if there is none.
    pub formula: String,
}

/// What is known of the program of a file.
pub struct Knowledge {
    program: Arc<Program>,
    functions: BTreeMap<Name, (Arc<Environment>, FunctionFacts)>,
    loops: Vec<LoopKnowledge>,
    /// By loop, the lists and trees that pointers lead to.
    structures: Vec<(Place, Vec<String>)>,
    ensures: BTreeMap<String, Known>,
    unreachable: Vec<Place>,
}

/// Finds out what is known of a file's program.
pub(crate) fn knowledge(program: &Arc<Program>, db: &Database, cancel: &Cancel) -> Cancellable<Knowledge> {
    let mut out = Knowledge {
        program: program.clone(),
        functions: BTreeMap::new(),
        loops: Vec::new(),
        structures: Vec::new(),
        ensures: BTreeMap::new(),
        unreachable: Vec::new(),
    };
    let Some(sources) = program.sources().filter(|_| !program.has_errors()) else { return Ok(out) };
    let mut left = STEPS;
    let mut lost: BTreeSet<Name> = BTreeSet::new();
    for entry in program.entries().iter().filter(|entry| !entry.is_alone) {
        let decided = || entry.decides.iter().copied();
        if left == 0 {
            lost.extend(decided());
            continue;
        }
        let control = Control { cancel: cancel.clone(), ..Control::default() };
        // A defect of ours costs what is known from this entry, and no more.
        let known = catch_unwind(AssertUnwindSafe(|| db.known(Name::new(&entry.name), &control)));
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        let known = match known {
            Ok(Ok((known, steps))) => {
                left = left.saturating_sub(steps);
                known
            }
            // A defect, or the text changed.
            Ok(Err(_)) | Err(_) => None,
        };
        let decided: Vec<Name> = decided().collect();
        let Some((environment, facts)) = known else {
            lost.extend(decided);
            continue;
        };
        for name in decided {
            let facts = facts.functions.get(&name).cloned().unwrap_or_default();
            match out.functions.get_mut(&name) {
                None => {
                    out.functions.insert(name, (environment.clone(), facts));
                }
                // Locations mean the same only in the same automaton.
                Some((known, all)) if known.function(name) == environment.function(name) => all.join(&facts),
                Some(_) => {
                    lost.insert(name);
                }
            }
        }
    }
    out.functions.retain(|name, _| !lost.contains(name));
    out.derive(sources);
    Ok(out)
}

impl Knowledge {
    /// Of which program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Loops about which something is known.
    pub fn loops(&self) -> &[LoopKnowledge] {
        &self.loops
    }

    /// What the result of a function satisfies, said with a name for it. `None`: nothing is known, or it returns nothing.
    pub fn ensures(&self, function: &str, result: &str) -> Option<String> {
        self.ensures.get(function).map(|known| known.text(result))
    }

    /// The same of all functions of which something is known.
    pub(crate) fn all_ensures(&self, result: &str) -> BTreeMap<String, String> {
        self.ensures.iter().map(|(function, known)| (function.clone(), known.text(result))).collect()
    }

    /// What holds at the locations of functions, as far as their automata are those of this program.
    pub(crate) fn locations(
        &self,
        program: &proofline_verifier::Program,
    ) -> BTreeMap<Name, BTreeMap<u32, Vec<String>>> {
        let mut out = BTreeMap::new();
        for (name, (environment, facts)) in &self.functions {
            let Some(automaton) = environment.function(*name) else { continue };
            if program.function(*name).map(|known| &**known) != Some(automaton) {
                continue;
            }
            let named = |variable: Variable| name_of(automaton, variable);
            let texts = |(loc, here): (&Loc, &Here)| {
                // What the text does not name says nothing to anybody.
                let shown = here.iter().filter(|(variable, _)| !named(**variable).contains(['#', '?', '\\']));
                let mut texts: Vec<String> =
                    shown.map(|(variable, known)| known.text(&named(*variable))).collect();
                let related = facts.related.get(loc).map_or(&[][..], Vec::as_slice);
                texts.extend(between(related).iter().map(|b| b.text(&named)));
                (loc.0, texts)
            };
            out.insert(*name, facts.at.iter().map(texts).collect());
        }
        out
    }

    /// Whether that is so for all arguments, and not just for the calls in this program.
    pub fn is_for_all_callers(&self, function: &str) -> bool {
        let mut entries = self.program.entries().iter().filter(|entry| !entry.is_alone);
        entries.any(|e| e.name == function && e.kind == EntryKind::Library)
    }

    /// Expressions that no execution evaluates, joined where nothing else is between them.
    pub fn unreachable(&self) -> &[Place] {
        &self.unreachable
    }

    /// The loop that a place is the first word of, or whose first line it is on.
    pub fn loop_at(&self, place: &Place) -> Option<&LoopKnowledge> {
        self.loops.iter().find(|l| l.place.path == place.path && l.place.range.start == place.range.start)
    }

    /// What is known of the value of the variable that is named at a place.
    pub fn value_at(&self, function: &str, place: &Place) -> Option<Value> {
        let Named { facts, automaton, variable, locations, is_written, own } =
            self.named_at(function, place)?;
        let Some((values, differences)) = facts.at_each(&locations) else { return Some(Value::NeverReached) };
        let value = values.get(&variable).map(|known| known.text(own));
        let related = between(&differences).into_iter().filter(|b| b.variables().contains(&variable));
        let related = related.map(|b| b.text(&|variable| name_of(automaton, variable)));
        let text = value.into_iter().chain(related).collect::<Vec<_>>().join(" && ");
        if text.is_empty() {
            return None;
        }
        Some(if is_written { Value::After(text) } else { Value::Before(text) })
    }

    /// The list or tree that the pointer named at a place leads to, as a clause.
    pub fn structure_at(&self, function: &str, place: &Place) -> Option<Value> {
        let Named { facts, automaton, variable, locations, is_written, own } =
            self.named_at(function, place)?;
        let form = facts.form_at_each(&locations, variable)?;
        let text = self.structure(function, automaton, variable, own, &form)?;
        Some(if is_written { Value::After(text) } else { Value::Before(text) })
    }

    /// What a form says of a variable with a name.
    fn structure(
        &self,
        function: &str,
        automaton: &Function,
        variable: Variable,
        name: &str,
        form: &Form,
    ) -> Option<String> {
        let (_, (environment, _)) = self.functions.iter().find(|(known, _)| known.written() == function)?;
        let program = environment.program();
        let ty = match variable {
            Variable::Local(id) => automaton.local(id).ty,
            Variable::Global(global) => program.globals.get(&global)?.ty,
        };
        structure(program, name, ty, form)
    }

    /// The variable that is named at a place, and the locations that the place stands for.
    fn named_at(&self, function: &str, place: &Place) -> Option<Named<'_>> {
        let sources = self.program.sources()?;
        let index = self.program.index();
        let occurrence = index.at(&place.path, place.range.start)?;
        let name = *self.functions.keys().find(|name| name.written() == function)?;
        let (environment, facts) = self.functions.get(&name)?;
        let automaton = environment.function(name)?;
        let variable = self.variable(sources, name, automaton, &occurrence.symbol)?;
        let written = index.written(occurrence);
        if written.is_none() && occurrence.is_declaration {
            return None;
        }
        // Where a name is written, every edge of that expression that assigns it counts; where it is read, those of the smallest expression
        // around it. What several edges do is joined.
        let mut smallest: Option<(u32, u32)> = None;
        let mut edges: Vec<&Edge> = Vec::new();
        for edge in automaton.edges.iter().filter(|edge| is_code(&edge.op)) {
            let Some(at) = sources.position(name, edge.site).as_ref().map(Place::of) else { continue };
            let size = at.range.size();
            match written {
                Some(whole) if whole.holds(&at) && assigns(&edge.op, variable) => edges.push(edge),
                None if at.holds(place) && smallest.is_none_or(|known| size <= known) => {
                    if smallest != Some(size) {
                        edges.clear();
                    }
                    smallest = Some(size);
                    edges.push(edge);
                }
                Some(_) | None => {}
            }
        }
        if edges.is_empty() {
            return None;
        }
        edges.retain(|edge| facts.at.contains_key(&edge.from));
        let there = |edge: &&Edge| if written.is_some() { edge.to } else { edge.from };
        // An assignment that does not end tells nothing of what is after it.
        let locations: Vec<Loc> = edges.iter().map(there).collect();
        let own = &index.declaration(&occurrence.symbol)?.name;
        Some(Named { facts, automaton, variable, locations, is_written: written.is_some(), own })
    }

    /// The lists and trees that pointers lead to whenever the condition of a loop is about to be looked at.
    pub fn structures_of_loop(&self, place: &Place) -> &[String] {
        let found = self
            .structures
            .iter()
            .find(|(known, _)| known.path == place.path && known.range.start == place.range.start);
        found.map_or(&[], |(_, texts)| texts)
    }

    /// The same of one loop, of the variables that it names.
    fn structures_in(
        &self,
        sources: &Sources,
        name: Name,
        head: Loc,
        statement: &Statement,
    ) -> Option<Vec<String>> {
        let index = self.program.index();
        let (environment, facts) = self.functions.get(&name)?;
        let automaton = environment.function(name)?;
        let mut seen = BTreeSet::new();
        let mut out = Vec::new();
        for occurrence in index.inside(&statement.place) {
            let Some(variable) = self.variable(sources, name, automaton, &occurrence.symbol) else {
                continue;
            };
            let Some(declared) = index.declaration(&occurrence.symbol) else { continue };
            if !seen.insert(variable) || is_of_body(declared, statement) {
                continue;
            }
            let Some(form) = facts.form_at_each(&[head], variable) else { continue };
            out.extend(self.structure(name.written(), automaton, variable, &declared.name, &form));
        }
        Some(out)
    }

    fn variable(
        &self,
        sources: &Sources,
        name: Name,
        automaton: &Function,
        symbol: &Symbol,
    ) -> Option<Variable> {
        match symbol {
            Symbol::Function(_) => None,
            Symbol::Global(global) => Some(Variable::Global(Name::new(global))),
            Symbol::Local(..) => {
                let declared = &self.program.index().declaration(symbol)?.place;
                let locals = (0..).zip(&automaton.locals).map(|(n, _)| proofline_cfa::LocalId(n));
                locals
                    .filter(|id| sources.local(name, *id).as_ref().map(Place::of).as_ref() == Some(declared))
                    .map(Variable::Local)
                    .next()
            }
        }
    }

    /// What people ask for most, found out once.
    fn derive(&mut self, sources: &Sources) {
        let program = self.program.clone();
        let loops: Vec<&Statement> = program.index().loops().collect();
        for (name, (environment, facts)) in &self.functions {
            let Some(automaton) = environment.function(*name) else { continue };
            if let Some(result) = automaton.result
                && let Some(known) =
                    facts.at.get(&automaton.exit).and_then(|h| h.get(&Variable::Local(result)))
            {
                self.ensures.insert(name.to_string(), known.clone());
            }
            self.unreachable.extend(unreachable(sources, *name, automaton, facts));
            let structure = environment.structure(*name);
            for found in structure.loops() {
                let Some(here) = facts.at.get(&found.head) else { continue };
                let Some(statement) =
                    statement_of(sources, *name, automaton, found.head, &found.body, &loops)
                else {
                    continue;
                };
                let structures =
                    self.structures_in(sources, *name, found.head, statement).unwrap_or_default();
                if !structures.is_empty()
                    && !self.structures.iter().any(|(place, _)| *place == statement.place)
                {
                    self.structures.push((statement.place.clone(), structures));
                }
                let related = facts.related.get(&found.head).map_or(&[][..], Vec::as_slice);
                let invariants = self.invariants(sources, *name, automaton, (here, related), statement);
                if !invariants.is_empty() && !self.loops.iter().any(|l| l.place == statement.place) {
                    let (invariants, formulas): (Vec<_>, Vec<_>) = invariants.into_iter().unzip();
                    let formulas: Vec<String> = formulas.into_iter().flatten().collect();
                    self.loops.push(LoopKnowledge {
                        place: statement.place.clone(),
                        invariants,
                        function: statement.inside.clone(),
                        formula: formulas.join(" && "),
                    });
                }
            }
        }
        self.loops.sort_by(|a, b| a.place.cmp(&b.place));
        self.unreachable.sort();
        self.unreachable.dedup();
    }

    /// What is known of the variables that a loop names, in the order in which it names them, and how they differ: for people, and in C
    /// where that can say it.
    fn invariants(
        &self,
        sources: &Sources,
        name: Name,
        automaton: &Function,
        (here, related): (&Here, &[Difference]),
        statement: &Statement,
    ) -> Vec<(String, Option<String>)> {
        let index = self.program.index();
        let (mut seen, mut named) = (BTreeSet::new(), BTreeSet::new());
        let mut out = Vec::new();
        for occurrence in index.inside(&statement.place) {
            let Some(variable) = self.variable(sources, name, automaton, &occurrence.symbol) else {
                continue;
            };
            if !seen.insert(variable) {
                continue;
            }
            let Some(declared) = index.declaration(&occurrence.symbol) else { continue };
            if is_of_body(declared, statement) {
                continue;
            }
            let name = &declared.name;
            named.insert(variable);
            out.extend(here.get(&variable).map(|known| (known.text(name), Some(known.expression(name)))));
        }
        let name = |variable| name_of(automaton, variable);
        let related =
            between(related).into_iter().filter(|b| b.variables().iter().all(|v| named.contains(v)));
        out.extend(related.map(|b| (b.text(&name), b.expression(&name))));
        out
    }
}

/// Whether the body of a loop declares it: that is not there yet when the loop is entered; what its first clause declares is.
fn is_of_body(declared: &Declaration, statement: &Statement) -> bool {
    declared.place.path == statement.place.path
        && statement.place.range.start < declared.place.range.start
        && declared.place.range.start.line > statement.place.range.start.line
}

/// A variable that is named at a place.
struct Named<'k> {
    facts: &'k FunctionFacts,
    automaton: &'k Function,
    variable: Variable,
    /// Where executions are then.
    locations: Vec<Loc>,
    /// The name stands where the variable is written.
    is_written: bool,
    own: &'k str,
}

/// What is known of a variable at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Whenever an execution is about to go through here.
    Before(String),
    /// Whenever the assignment here is done.
    After(String),
    /// No execution comes here.
    NeverReached,
}

/// As the programmer wrote it.
fn name_of(automaton: &Function, variable: Variable) -> String {
    match variable {
        Variable::Local(id) => automaton.local(id).name.to_string(),
        Variable::Global(name) => name.written().to_owned(),
    }
}

/// Whether the operation gives the variable as a whole another value.
fn assigns(op: &Op, variable: Variable) -> bool {
    let (Op::Assign(target, _) | Op::Havoc(target, _)) = op else { return false };
    let is_same = match (&target.base, variable) {
        (Base::Local(id), Variable::Local(other)) => *id == other,
        (Base::Global(global), Variable::Global(other)) => *global == other,
        (Base::Local(_) | Base::Global(_) | Base::Deref(..), _) => false,
    };
    is_same && target.path.is_empty()
}

/// What evaluates something that the text says.
fn is_code(op: &Op) -> bool {
    match op {
        Op::Assume(_)
        | Op::Assign(..)
        | Op::Copy(..)
        | Op::Call(_)
        | Op::Havoc(..)
        | Op::Clobber(..)
        | Op::Allocate(_)
        | Op::Free(_)
        | Op::CopyBytes(..)
        | Op::FillBytes(..)
        | Op::HavocBytes(..) => true,
        Op::Skip | Op::Begin(_) | Op::End(_) => false,
    }
}

/// The loop statement whose head a location is: the innermost one around what the loop evaluates first.
fn statement_of<'s>(
    sources: &Sources,
    name: Name,
    automaton: &Function,
    head: Loc,
    body: &BTreeSet<Loc>,
    loops: &[&'s Statement],
) -> Option<&'s Statement> {
    // All that the loop evaluates is inside of its statement; the smallest one that holds it all is the loop.
    let places: Vec<Place> = automaton
        .edges
        .iter()
        .filter(|edge| body.contains(&edge.from) && is_code(&edge.op))
        .filter(|edge| body.contains(&edge.to) || edge.from == head)
        .filter_map(|edge| sources.position(name, edge.site).as_ref().map(Place::of))
        .collect();
    let holds =
        |statement: &Statement| !places.is_empty() && places.iter().all(|place| statement.place.holds(place));
    loops.iter().copied().filter(|statement| holds(statement)).max_by_key(|s| s.place.range.start)
}

/// The parts of a function's text that no execution evaluates. What is also evaluated on another way is reached.
fn unreachable(sources: &Sources, name: Name, automaton: &Function, facts: &FunctionFacts) -> Vec<Place> {
    if !facts.at.contains_key(&automaton.entry) {
        // It is never called: that is about its callers.
        return Vec::new();
    }
    let errors: BTreeSet<Loc> = automaton.obligations.iter().map(|o| o.error).collect();
    let mut places: BTreeMap<Place, bool> = BTreeMap::new();
    for edge in automaton.edges.iter().filter(|edge| is_code(&edge.op) && !errors.contains(&edge.to)) {
        let Some(place) = sources.position(name, edge.site).as_ref().map(Place::of) else { continue };
        *places.entry(place).or_default() |= facts.at.contains_key(&edge.from);
    }
    let overlaps =
        |a: &Place, b: &Place| a.path == b.path && a.range.start < b.range.end && b.range.start < a.range.end;
    let reached: Vec<&Place> = places.iter().filter(|(_, is)| **is).map(|(place, _)| place).collect();
    let mut out: Vec<Place> = Vec::new();
    for (place, is_reached) in &places {
        let is_dead = !is_reached
            && place.range.start < place.range.end
            && !reached.iter().any(|other| overlaps(place, other));
        if !is_dead {
            continue;
        }
        // Joined with the one before if nothing that is reached is between them.
        if let Some(last) = out.last_mut()
            && last.path == place.path
            && !reached.iter().any(|r| {
                r.path == place.path && last.range.end <= r.range.start && r.range.start < place.range.start
            })
        {
            last.range.end = last.range.end.max(place.range.end);
            continue;
        }
        out.push(place.clone());
    }
    out
}
