//! What functions of a library ask of their callers: contracts are tried, callees first, from the weakest guess on, until everything that a
//! function does is proved under one. Nothing is kept of a function where something stays open. Where the tries come from,
//! [`crate::contracts`] says.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{CompareOp, Entry, Expr, MemoryPredicate, Name, ObligationId, Op};
use proofline_cpa::Unknown;
use proofline_program_analysis::strong_components;

mod callers;
mod records;
mod tries;

use self::tries::Try;
use super::{Control, Programs, Request, Round, Settled, promises::promises_of};
use crate::{
    blame::Blame,
    callers_memory::{is_asked, is_of_an_object, speaks_of},
    checks::library_call,
    contracts::{
        Contract, Contracts, Fact, HookPlace, Hooks, acsl,
        assume::{self, Assumed},
        draft::{self, Draft},
        hooks,
        promises::is_any,
    },
    property::Property,
    report::{BY_CONTRACTS, Kept, Report},
    subject::Subject,
    verdict::Verdict,
};

/// So many contracts are tried for a function.
const TRIES: usize = 10;

/// So many steps for each try.
const STEPS: u64 = 40_000;

/// What is asked first, without a solver.
const RANGES: &[&str] = &["intervals", "relations"];

/// What is asked then.
const SOLVER: &[&str] = &["horn-glance"];

/// A function, and what is found out about it.
struct Function {
    subject: Subject,
    callees: BTreeSet<Name>,
}

/// Finds the contracts of functions and of what they call, and says in the report what is proved under them.
pub(super) fn add<P: Programs>(
    programs: &P,
    request: &Request,
    functions: &BTreeSet<Name>,
    control: &Control,
    report: &mut Report,
) -> Result<(), P::Error> {
    if !is_wanted(&request.property) || report.reason.is_some() || control.is_late() {
        return Ok(());
    }
    let mut known = Known {
        programs,
        request,
        control,
        functions: BTreeMap::new(),
        report,
        done: Contracts::new(),
        invariants: BTreeMap::new(),
    };
    let components = known.components(functions)?;
    for component in components {
        if control.is_late() {
            break;
        }
        known.component(&component)?;
    }
    known.finish()
}

/// Whether contracts are looked for: where memory is asked about.
pub(super) fn is_wanted(property: &Property) -> bool {
    match property {
        Property::Everything | Property::Checks(_) => true,
        Property::UnreachCall | Property::NoOverflow | Property::Memory(_) => false,
    }
}

struct Known<'k, P> {
    programs: &'k P,
    request: &'k Request,
    control: &'k Control,
    functions: BTreeMap<Name, Function>,
    report: &'k mut Report,
    /// The contracts that were found, also of functions that are not proved under them.
    done: Contracts,
    /// What holds of records whenever nobody is at work on them: of a record, as far as the functions of a file say, by the first of these.
    invariants: BTreeMap<(Name, Name), BTreeSet<Fact>>,
}

impl<P: Programs> Known<'_, P> {
    /// Functions that call each other together, callees first.
    fn components(&mut self, functions: &BTreeSet<Name>) -> Result<Vec<Vec<Name>>, P::Error> {
        for name in functions {
            let misunderstood = self.programs.misunderstood(Entry::new(*name))?.is_some();
            if !self.programs.has_body(*name)? || misunderstood {
                continue;
            }
            let subject = self.programs.subject_of(*name)?;
            let graph = subject.env().call_graph();
            let callees = graph.calls(*name).flat_map(|(_, callees)| callees.functions.clone()).collect();
            self.functions.insert(*name, Function { subject, callees });
        }
        Ok(components(&self.functions))
    }

    /// The contracts of functions that call each other.
    fn component(&mut self, component: &[Name]) -> Result<(), P::Error> {
        let mut tries: BTreeMap<Name, Try> = BTreeMap::new();
        for name in component {
            if self.rests_on_open_promises(*name) {
                continue;
            }
            let draft = if self.is_beginning(*name) { Draft::default() } else { self.draft(*name)? };
            let needs = draft.is_empty() && !self.calls_contract(*name);
            if !draft.is_written()
                && (needs && self.open(*name).is_empty()
                    || !draft.runs_code() && !self.is_beginning(*name) && self.is_hopeless(*name))
            {
                continue;
            }
            // What calls through pointers itself does nothing without knowing what is called.
            let first = draft.first();
            let contract = draft.with_hooks(&first).filter(|_| draft.is_hooked()).unwrap_or(first);
            tries.insert(
                *name,
                Try {
                    draft,
                    contract,
                    is_over: false,
                    is_whole: false,
                    is_contradictory: false,
                    not_kept: BTreeSet::new(),
                    best: None,
                    enough: None,
                    has_left: false,
                },
            );
        }
        let mut is_settled = false;
        for _ in 0..TRIES {
            let names: Vec<Name> = tries.keys().copied().collect();
            let mut changed = false;
            for name in names {
                if tries[&name].is_over && component.len() == 1 {
                    continue;
                }
                let hooks = self.hooks_of_callees(name, &tries);
                let env = self.functions[&name].subject.env();
                let is_open = hooks.keys().all(|place| hooks::is_open(env, name, place));
                let Some(one) = tries.get_mut(&name) else { continue };
                // Of functions in sight nothing can be asked: they are what they are.
                if !is_open {
                    (one.is_over, one.is_whole, one.best) = (true, false, None);
                    continue;
                }
                let before = one.contract.clone();
                hooks::join(&mut one.contract.hooks, &hooks);
                let contracts = self.contracts_for(name, &tries);
                let Some(one) = tries.get_mut(&name) else { continue };
                self.tried(name, one, &contracts)?;
                changed |= one.contract != before;
            }
            is_settled = !changed;
            if is_settled {
                break;
            }
        }
        // Others may rest on how one of them leaves records.
        let is_promised = |one: &Try| one.contract.records.values().any(|of| !of.left.is_empty());
        let is_shown = component.len() == 1 || tries.values().all(|one| one.is_whole || !is_promised(one));
        for (name, mut one) in tries {
            // What was asked last of others of the component may not be what they were proved to give.
            one.is_whole &= (is_settled || component.len() == 1) && is_shown;
            if one.is_contradictory {
                let text =
                    "no caller can keep this contract: its conditions contradict each other".to_owned();
                self.report.contract_problems.entry(name).or_default().push(text);
            }
            // What a person has written is asked of callers, whatever the function does with it.
            if one.draft.is_written() {
                let mut contract = one.contract.clone();
                // How it leaves records, only its proof says.
                if !one.is_whole {
                    contract.records.values_mut().for_each(|of| of.left.clear());
                }
                self.done.insert(name, contract);
            }
            if one.is_whole {
                self.keep(name, one.contract, BTreeSet::new(), one.draft.is_written());
                continue;
            }
            if !one.not_kept.is_empty() {
                let texts = one.not_kept.iter().map(Name::to_string).collect();
                self.report.calls_not_kept.insert(name, texts);
            }
            // Of functions that call each other nothing is known as long as one of them is open.
            if let Some((contract, open)) = one.best
                && component.len() == 1
                && !self.functions[&name].callees.contains(&name)
                && !one.is_contradictory
                && self.open(name).iter().any(|id| !open.contains(id))
            {
                self.keep(name, contract, open, one.draft.is_written());
            }
        }
        Ok(())
    }

    /// What is tried for a function: what is written in front of it, otherwise guesses.
    fn draft(&mut self, name: Name) -> Result<draft::Draft, P::Error> {
        let subject = &self.functions[&name].subject;
        let text = self.programs.annotation(name)?;
        if let (Some(text), Some(function)) = (text, subject.env().function(name)) {
            let written = acsl::read(subject.program(), function, &text);
            if !written.problems.is_empty() {
                self.report.contract_problems.insert(name, written.problems);
            }
            if !written.contract.is_empty() {
                return Ok(draft::Draft::of_written(written.contract, subject.env(), name));
            }
        }
        let env = subject.env().clone();
        let invariants = self.invariants_for(name)?;
        Ok(draft::draft(&env, name, &self.done, &invariants))
    }

    /// Whether something fails whatever callers do, or is open that no contract helps with: whether memory of the function itself is alive. What
    /// callers pass is, under a contract.
    fn is_hopeless(&self, name: Name) -> bool {
        let of_it = self.report.verdicts.range((name, ObligationId(0))..=(name, ObligationId(u32::MAX)));
        let env = self.functions[&name].subject.env();
        let Some(function) = env.function(name) else { return true };
        of_it.into_iter().any(|((_, id), verdict)| match verdict {
            Verdict::Proved(_) => false,
            Verdict::Violated(index) => {
                self.report.findings.get(*index).is_none_or(|f| f.blame == Blame::Manifest)
            }
            // A promise is one condition of several parts.
            Verdict::Unknown(_) => {
                let is_room =
                    |predicate| matches!(predicate, MemoryPredicate::InBounds | MemoryPredicate::Terminated);
                // Where a pointer comes from is no matter of what its object is like, nor is what earlier calls have left.
                let is_state = |predicate| {
                    !matches!(
                        predicate,
                        MemoryPredicate::Writable
                            | MemoryPredicate::Callable
                            | MemoryPredicate::NothingLost
                            | MemoryPredicate::NothingLeft
                    )
                };
                speaks_of(function, *id, &is_state)
                    && !speaks_of(function, *id, &is_room)
                    && !is_asked(env, name, *id, &is_of_an_object)
            }
        })
    }

    fn calls_contract(&self, name: Name) -> bool {
        self.functions[&name].callees.iter().any(|callee| self.done.contains_key(callee))
    }

    /// What functions behave as that are called through pointers, as what is called asks for it.
    fn hooks_of_callees(&self, name: Name, tries: &BTreeMap<Name, Try>) -> Hooks {
        let mut all = Hooks::new();
        for callee in &self.functions[&name].callees {
            let contract = tries.get(callee).map(|one| &one.contract).or_else(|| self.done.get(callee));
            if let Some(contract) = contract {
                hooks::join(&mut all, &contract.hooks);
            }
        }
        all
    }

    /// The contracts that matter to a function.
    fn contracts_for(&self, name: Name, tries: &BTreeMap<Name, Try>) -> Contracts {
        let mut all = Contracts::new();
        for other in self.functions[&name].callees.iter().chain([&name]) {
            let contract = tries.get(other).map(|one| &one.contract).or_else(|| self.done.get(other));
            all.extend(contract.map(|contract| (*other, contract.clone())));
        }
        all
    }

    /// Asks about a function under its contract, and thinks of another one if something stays open.
    fn tried(&self, name: Name, one: &mut Try, contracts: &Contracts) -> Result<(), P::Error> {
        (one.is_whole, one.is_over) = (false, true);
        let Some(assumed) = assume::under(self.functions[&name].subject.env(), name, contracts) else {
            return Ok(());
        };
        let asked = one.contract.pointers.clone();
        let or_null = |at: usize| asked.get(&at).is_some_and(|asked| asked.or_null);
        let about = |ids: &BTreeSet<ObligationId>| -> BTreeSet<(usize, bool)> {
            ids.iter().filter_map(|id| self.about(name, &assumed, *id, &or_null)).collect()
        };
        let ranges = Arc::new(self.request_under(contracts, RANGES, self.promised(name), None));
        let report = self.programs.judge(&ranges, Entry::new(name), self.control)?;
        one.is_contradictory = assumed
            .callers
            .is_some_and(|id| report.verdicts.get(&(name, id)).is_some_and(Verdict::is_proved));
        let open = self.still_open(name, &one.contract, &assumed, &report);
        one.not_kept = asked_of_calls(name, &assumed, &open);
        one.is_whole = !one.is_contradictory && open.is_empty() && report.reason.is_none();
        one.contract.is_contained = assumed.is_contained && one.is_whole;
        if one.is_whole || one.enough.is_some() {
            one.leaves_records();
            return if one.is_whole { self.lighten(name, one, contracts) } else { Ok(()) };
        }
        if one.is_contradictory || report.reason.is_some() {
            return Ok(());
        }
        one.leaves(&open, &assumed);
        let through: BTreeSet<HookPlace> =
            open.iter().filter_map(|id| assumed.through.get(id).cloned()).collect();
        let hooked = one.draft.with_hooks(&one.contract);
        if let Some(next) = hooked.or_else(|| Draft::without_null(&one.contract, &through)) {
            one.go_on(Some(next));
            return Ok(());
        }
        let null = about(&open).into_iter().filter(|(_, is_null)| *is_null).collect();
        let next = one.draft.next(&one.contract, &null).or_else(|| one.draft.with_records(&one.contract));
        if next.is_some() {
            one.go_on(next);
            return Ok(());
        }
        // Whether memory is alive is no matter of what parameters lead to, as long as they are alive and what is called does not free it.
        if open.iter().any(|id| self.is_of_lives(&assumed, name, *id)) {
            let next = one.draft.with_trees(&one.contract);
            one.go_on(next.or_else(|| one.draft.with_keeping(&one.contract)));
            return Ok(());
        }
        // That a pointer is not null no relation between numbers shows, and what is not a matter of numbers no solver is asked. Of the
        // other obligations nothing is known so far.
        let function = assumed.program.function(name);
        let is_of_memory =
            |id: &ObligationId| function.is_none_or(|function| speaks_of(function, *id, &|_| true));
        let of_memory: BTreeSet<ObligationId> = open.iter().copied().filter(is_of_memory).collect();
        let next = one.draft.next(&one.contract, &about(&of_memory));
        if next.is_some() || !of_memory.is_empty() {
            let next = next.or_else(|| one.draft.with_stored(&one.contract));
            let next = next.or_else(|| one.draft.with_trees(&one.contract));
            let next = next.or_else(|| one.draft.with_keeping(&one.contract));
            one.go_on(next);
            return Ok(());
        }
        let open = self.not_solved(name, &assumed, &ranges, open)?;
        one.not_kept = asked_of_calls(name, &assumed, &open);
        one.is_whole = open.is_empty();
        one.contract.is_contained = assumed.is_contained && one.is_whole;
        if !one.is_whole {
            one.leaves(&open, &assumed);
            let next = one.draft.with_numbers(&one.contract);
            let next = next.or_else(|| one.draft.next(&one.contract, &about(&open)));
            one.go_on(next.or_else(|| one.draft.with_trees(&one.contract)));
        } else {
            one.leaves_records();
        }
        Ok(())
    }

    /// Whether it asks that something is alive that no contract speaks of.
    fn is_of_lives(&self, assumed: &Assumed, name: Name, id: ObligationId) -> bool {
        let is_life = |predicate| matches!(predicate, MemoryPredicate::NotFreed | MemoryPredicate::NotEnded);
        let function = assumed.program.function(name);
        function.is_some_and(|function| speaks_of(function, id, &is_life))
    }

    /// What the solver does not prove: it is asked about everything at once, then about each parameter by itself, whose obligations hold or do not
    /// hold whatever is asked of the others.
    fn not_solved(
        &self,
        name: Name,
        assumed: &Assumed,
        ranges: &Arc<Request>,
        open: BTreeSet<ObligationId>,
    ) -> Result<BTreeSet<ObligationId>, P::Error> {
        let mut groups: BTreeMap<Option<usize>, BTreeSet<ObligationId>> = BTreeMap::new();
        for id in &open {
            groups.entry(assumed.about.get(id).copied()).or_default().insert(*id);
        }
        let alone = groups.into_values().filter(|group| group.len() < open.len());
        let mut left = open.clone();
        for group in std::iter::once(open.clone()).chain(alone) {
            let others = open.iter().filter(|id| !group.contains(id)).chain(&assumed.callers);
            let others = others.map(|id| ((name, *id), Err(Unknown::OutOfBudget)));
            let others = others.chain(self.promised(name)).collect();
            let request = self.request_under(&ranges.under, SOLVER, others, Some(ranges.clone()));
            let report = self.programs.judge(&request, Entry::new(name), self.control)?;
            let still_open = self.still_open(name, &ranges.under[&name], assumed, &report);
            left.retain(|id| still_open.contains(id));
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }

    /// What called functions ensure where everything that is called keeps what it promises, if it is called as it asks for: that is asked of the calls.
    fn promised(&self, name: Name) -> Settled {
        let subject = &self.functions[&name].subject;
        let called = || subject.reachable_from(name).into_iter().filter(|callee| *callee != name);
        let is_kept = |callee: Name| {
            let asks_nothing = |body| self.property().targets(subject.program(), [body]).is_empty();
            self.report.kept.get(&callee).is_some_and(Kept::is_whole)
                || subject.env().function(callee).is_none_or(asks_nothing)
        };
        if !is_any(subject.program()) || !called().all(is_kept) {
            return Settled::new();
        }
        let promises = called().flat_map(|callee| promises_of(subject, callee));
        promises.map(|target| (target, Ok(BY_CONTRACTS))).collect()
    }

    /// Whether something that it calls ensures what is not proved: then nothing more is proved of it, with or without contracts.
    fn rests_on_open_promises(&self, name: Name) -> bool {
        let subject = &self.functions[&name].subject;
        if !is_any(subject.program()) || !self.promised(name).is_empty() {
            return false;
        }
        let called = subject.reachable_from(name).into_iter().filter(|callee| *callee != name);
        called
            .flat_map(|callee| promises_of(subject, callee))
            .any(|target| !self.report.verdicts.get(&target).is_some_and(Verdict::is_proved))
    }

    /// Which parameter an open obligation is about, and whether that it is not null.
    fn about(
        &self,
        name: Name,
        assumed: &Assumed,
        id: ObligationId,
        or_null: &dyn Fn(usize) -> bool,
    ) -> Option<(usize, bool)> {
        let at = assumed.about.get(&id)?;
        let function = assumed.program.function(name)?;
        let obligation = function.obligations.get(id.index())?;
        let mut fails = function.edges.iter().filter(|edge| edge.to == obligation.error);
        let is_null = fails
            .all(|edge| matches!(&edge.op, Op::Assume(Expr::Compare(CompareOp::Eq, _, null)) if **null == Expr::Null));
        // Library functions are given null without being asked before.
        let is_given = library_call::CHECK.is(obligation.check) && or_null(*at);
        Some((*at, is_null || is_given))
    }

    /// What is asked of functions, and that they keep the contracts of what they call.
    fn property(&self) -> Property {
        let mut property = self.request.property.clone();
        if let Property::Checks(checks) = &mut property {
            checks.insert(crate::checks::precondition::CHECK.id());
        }
        property
    }

    fn request_under(
        &self,
        contracts: &Contracts,
        engines: &[&str],
        settled: Settled,
        after: Option<Arc<Request>>,
    ) -> Request {
        Request {
            property: self.property(),
            engines: engines.iter().map(|name| (*name).to_owned()).collect(),
            steps: self.request.steps.min(STEPS),
            first_only: false,
            round: Round { is_own: true, settled: Arc::new(settled), after, ..Round::default() },
            under: Arc::new(contracts.clone()),
        }
    }

    /// The function's obligations that were asked about and are not proved so far.
    fn open(&self, name: Name) -> BTreeSet<ObligationId> {
        let subject = &self.functions[&name].subject;
        let Some(function) = subject.env().function(name) else { return BTreeSet::new() };
        // What is proved where others call it need not hold where somebody else does; in a program nobody else does.
        let is_entry = self.is_program() || self.report.entries.iter().any(|entry| entry.name == name);
        let targets = self.property().targets(subject.program(), [function]);
        let is_open = |id: &ObligationId| {
            !is_entry || !self.report.verdicts.get(&(name, *id)).is_some_and(Verdict::is_proved)
        };
        targets.iter().map(|(_, id)| id).filter(is_open).collect()
    }

    /// Obligations that something has a value: what unknown code gives has one, what functions like `malloc` give has none.
    fn values(&self, name: Name) -> BTreeSet<ObligationId> {
        let subject = &self.functions[&name].subject;
        let Some(function) = subject.env().function(name) else { return BTreeSet::new() };
        let targets = self.property().targets(subject.program(), [function]);
        let is_value = |predicate| {
            matches!(
                predicate,
                MemoryPredicate::Initialised | MemoryPredicate::Writable | MemoryPredicate::Callable
            )
        };
        targets.iter().map(|(_, id)| id).filter(|id| speaks_of(function, *id, &is_value)).collect()
    }

    /// What is left of them and of the obligations of its calls.
    fn still_open(
        &self,
        name: Name,
        contract: &Contract,
        assumed: &Assumed,
        report: &Report,
    ) -> BTreeSet<ObligationId> {
        let mut all = self.open(name);
        if !contract.hooks.is_empty() {
            all.extend(self.values(name));
        }
        let is_open = |id: &ObligationId| !report.verdicts.get(&(name, *id)).is_some_and(Verdict::is_proved);
        let mut open: BTreeSet<ObligationId> = all.union(&assumed.calls).copied().filter(is_open).collect();
        open.extend(assumed.parts.iter().filter(|(part, _)| is_open(part)).map(|(_, whole)| *whole));
        open
    }

    fn keep(&mut self, name: Name, contract: Contract, open: BTreeSet<ObligationId>, is_written: bool) {
        let subject = &self.functions[&name].subject;
        let Some(function) = subject.env().function(name) else { return };
        if !contract.is_empty() {
            let mut asked = contract.clone();
            if open.is_empty() {
                self.done.insert(name, asked);
            } else {
                // How it leaves records, only its proof says.
                asked.records.values_mut().for_each(|of| of.left.clear());
                self.done.entry(name).or_insert(asked);
            }
        }
        let kept = Kept {
            words: contract.words(subject.program(), function),
            acsl: contract.acsl(subject.program(), function),
            contract,
            is_shown: true,
            is_met: false,
            is_written,
            open,
        };
        self.report.kept.insert(name, kept);
    }

    /// Says in the report what is proved, and on which conditions. An execution of a function whose callers are all in sight is one of theirs:
    /// if they keep its contract wherever their own is kept, it is kept there. By induction over the open calls, functions that are called by such
    /// functions alone, from those on that ask nothing, are always called as they ask for.
    fn finish(mut self) -> Result<(), P::Error> {
        let mut callers: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let whole = |report: &Report| -> BTreeSet<Name> {
            report.kept.iter().filter(|(_, kept)| kept.is_whole()).map(|(name, _)| *name).collect()
        };
        for name in &whole(self.report) {
            // Where executions start with it, unknown code is what calls it.
            if self.report.entries.iter().all(|entry| entry.name != *name)
                && let Some(all) = self.callers(*name)?
            {
                callers.insert(*name, all);
            }
        }
        let all_are = |name: &Name, known: &BTreeSet<Name>| {
            callers.get(name).is_some_and(|callers| callers.is_subset(known))
        };
        let all = whole(self.report);
        let mut met = &all | &self.keeping_calls();
        loop {
            let is_met = |name: &&Name| self.report.kept[name].contract.is_empty() || all_are(name, &met);
            let next: BTreeSet<Name> = met.iter().filter(is_met).copied().collect();
            if next == met {
                break;
            }
            met = next;
        }
        for (name, kept) in
            self.report.kept.iter_mut().filter(|(name, kept)| kept.is_whole() || met.contains(name))
        {
            // What a function behaves as that is called through a pointer is no matter of the call.
            kept.is_shown = !kept.contract.hooks.is_empty() || !all_are(name, &all);
            kept.is_met = met.contains(name);
        }
        let left = self.left_to_callers();
        self.report.settle_kept(&left);
        self.needs_none();
        rest(&self.functions, self.report);
        Ok(())
    }

    /// Where all is proved of a function and of what it calls, no call need be what contracts ask for.
    fn needs_none(&mut self) {
        let proved = |name: &Name| {
            let subject = &self.functions[name].subject;
            let reached = subject.reachable_from(*name);
            let bodies =
                reached.iter().filter_map(|name| subject.program().function(*name)).map(|body| &**body);
            let all = self.property().targets(subject.program(), bodies);
            all.iter().all(|target| self.report.verdicts.get(&target).is_some_and(Verdict::is_proved))
        };
        let names = self.report.calls_not_kept.keys();
        let needless: Vec<Name> = names.filter(|name| proved(name)).copied().collect();
        needless.iter().for_each(|name| drop(self.report.calls_not_kept.remove(name)));
    }
}

/// What called functions ask for that is open.
fn asked_of_calls(name: Name, assumed: &Assumed, open: &BTreeSet<ObligationId>) -> BTreeSet<Name> {
    let Some(function) = assumed.program.function(name) else { return BTreeSet::new() };
    let ids = open.intersection(&assumed.calls);
    ids.filter_map(|id| Some(function.obligations.get(id.index())?.text)).collect()
}

/// Functions that call each other together, callees first.
fn components(functions: &BTreeMap<Name, Function>) -> Vec<Vec<Name>> {
    let names: Vec<Name> = functions.keys().copied().collect();
    let numbers: BTreeMap<Name, u32> = names.iter().copied().zip(0..).collect();
    let targets: Vec<Vec<u32>> = functions
        .values()
        .map(|function| function.callees.iter().filter_map(|callee| numbers.get(callee).copied()).collect())
        .collect();
    let of_names = |component: Vec<u32>| component.into_iter().map(|at| names[at as usize]).collect();
    strong_components(&targets).into_iter().map(of_names).collect()
}

/// What is proved under contracts rests on what is called: it may fail before.
fn rest(functions: &BTreeMap<Name, Function>, report: &mut Report) {
    let is_open =
        |verdict: &Verdict| !matches!(verdict, Verdict::Proved(_) | Verdict::Unknown(Unknown::IfCallersKeep));
    let is_part = |(_, kept): &(&Name, &Kept)| !kept.is_whole();
    let in_part = report.kept.iter().filter(is_part).map(|(name, _)| *name);
    let unknown = report.verdicts.iter().filter(|(_, verdict)| is_open(verdict)).map(|((name, _), _)| *name);
    let is_whole = |name: &Name| report.kept.get(name).is_some_and(Kept::is_whole);
    // What they call may fail there.
    let calls: Vec<Name> = report.calls_not_kept.keys().filter(|name| !is_whole(name)).copied().collect();
    let open: BTreeSet<Name> = unknown.chain(in_part).chain(calls.iter().copied()).collect();
    report.resting.extend(calls);
    for name in report.kept.keys() {
        let Some(function) = functions.get(name) else { continue };
        if function.subject.reachable_from(*name).is_disjoint(&open) {
            report.resting.remove(name);
        } else {
            report.resting.insert(*name);
        }
    }
}
