//! What holds of records whenever nobody is at work on them: guesses that every function keeps which is given such a record and writes it. Guesses fall until
//! all that are left are kept [Houdini01]. Nothing rests on them: a contract that speaks of them is proved like any other.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;

use super::{Known, Programs, RANGES, Try};
use crate::{
    contracts::{
        Asked, Contract, Contracts, Fact, Member, Memory, OfRecord, assume, hooks,
        record_invariants::{guessed, plain, record_of, written},
    },
    subject::Subject,
    verdict::Verdict,
};

/// So often all functions are asked at most.
const ROUNDS: usize = 6;

/// What more functions of a file are given is no matter of a few: nothing is guessed of it.
const MOST_USERS: usize = 40;

/// What holds of records, by their tags.
pub(super) type Invariants = BTreeMap<Name, BTreeSet<Fact>>;

impl<P: Programs> Known<'_, P> {
    /// What holds of the records that a function is given, as far as the functions of its file say.
    pub(super) fn invariants_for(&mut self, name: Name) -> Result<Invariants, P::Error> {
        let mut all = Invariants::new();
        let env = self.functions[&name].subject.env().clone();
        let Some(body) = env.function(name) else { return Ok(all) };
        let records: BTreeSet<Name> =
            (0..body.parameters.len()).filter_map(|at| record_of(body, at)).collect();
        for record in records {
            let users = self.programs.given(name, record)?;
            let Some(first) = users.first().copied().filter(|_| users.len() <= MOST_USERS) else { continue };
            if !self.invariants.contains_key(&(record, first)) {
                let found = self.kept_by_all(record, &users)?;
                self.invariants.insert((record, first), found);
            }
            let facts = self.invariants.get(&(record, first)).filter(|facts| !facts.is_empty());
            all.extend(facts.map(|facts| (record, facts.clone())));
        }
        Ok(all)
    }

    /// The guesses about a record that all of these functions keep which write it.
    fn kept_by_all(&self, record: Name, users: &BTreeSet<Name>) -> Result<BTreeSet<Fact>, P::Error> {
        let mut functions: BTreeMap<Name, Subject> = BTreeMap::new();
        for name in users {
            let is_understood = self.programs.misunderstood(Entry::new(*name))?.is_none();
            if self.programs.has_body(*name)? && is_understood {
                functions.insert(*name, self.programs.subject_of(*name)?);
            }
        }
        let bodies = functions
            .iter()
            .filter_map(|(name, subject)| Some((subject.program(), subject.env().function(*name)?)));
        let mut facts = guessed(bodies).remove(&record).unwrap_or_default();
        let mut writers: BTreeSet<Name> = BTreeSet::new();
        let mut evidence = BTreeSet::new();
        for (name, subject) in &functions {
            let Some(body) = subject.env().function(*name) else { continue };
            let members = written(body);
            if members.iter().any(|member| member.record == record) {
                writers.insert(*name);
            }
            evidence.extend(members);
        }
        // What nobody writes nobody shows to be kept; that a pointer leads to so many elements is thought of all the same.
        let is_shown = |fact: &Fact| fact.members().any(|member| evidence.contains(member));
        let tables = facts.iter().filter(|fact| fact.is_of_table());
        let sides: BTreeSet<Member> = tables.flat_map(Fact::members).cloned().collect();
        let is_side = |fact: &Fact| fact.not_negative().is_some_and(|member| sides.contains(member));
        let is_of_room = |fact: &Fact| fact.room().is_some() || fact.is_of_table() || is_side(fact);
        facts.retain(|fact| is_shown(fact) || is_of_room(fact));
        for _ in 0..ROUNDS {
            let before = facts.len();
            for name in &writers {
                if self.control.is_late() {
                    return Ok(BTreeSet::new());
                }
                if !facts.is_empty() {
                    for fact in self.not_kept(*name, &functions[name], record, &facts)? {
                        facts.remove(&fact);
                    }
                }
            }
            if facts.len() == before {
                // Rooms are shown by what counts their elements, too.
                let counts: BTreeSet<&Member> =
                    facts.iter().filter(|fact| is_shown(fact)).flat_map(Fact::members).collect();
                let is_counted = |fact: &&Fact| {
                    fact.members().any(|member| counts.contains(member))
                        || is_of_room(fact) && !is_shown(fact)
                };
                return Ok(plain(&facts.iter().filter(is_counted).cloned().collect()));
            }
        }
        Ok(BTreeSet::new())
    }

    /// Takes what need not be asked of records out of a contract under which everything is proved.
    pub(super) fn lighten(&self, name: Name, one: &mut Try, contracts: &Contracts) -> Result<(), P::Error> {
        let asked = |(at, of): (&usize, &OfRecord)| {
            let at = *at;
            of.asked.iter().map(move |fact| (at, fact.clone())).collect::<Vec<_>>()
        };
        let all: Vec<(usize, Fact)> = one.contract.records.iter().flat_map(asked).collect();
        for (at, fact) in all {
            let mut lighter = one.contract.clone();
            lighter.records.entry(at).or_default().asked.remove(&fact);
            let mut contracts = contracts.clone();
            contracts.insert(name, lighter.clone());
            let env = self.functions[&name].subject.env();
            let Some(assumed) = assume::under(env, name, &contracts) else { continue };
            let request = Arc::new(self.request_under(&contracts, RANGES, self.promised(name), None));
            let report = self.programs.judge(&request, Entry::new(name), self.control)?;
            let is_open = !self.still_open(name, &lighter, &assumed, &report).is_empty();
            if !is_open && report.reason.is_none() {
                one.contract = lighter;
            }
        }
        Ok(())
    }

    /// What a function does not leave as it found it.
    fn not_kept(
        &self,
        name: Name,
        subject: &Subject,
        record: Name,
        facts: &BTreeSet<Fact>,
    ) -> Result<Vec<Fact>, P::Error> {
        let (env, mut contracts) = (subject.env(), Contracts::new());
        let size = subject.program().records.get(&record).map_or(0, |record| record.size);
        let callees = env.call_graph().calls(name).flat_map(|(_, callees)| callees.functions.iter().copied());
        for callee in callees.chain([name]) {
            let Some(body) = env.function(callee) else { continue };
            let mut contract = Contract::default();
            for at in (0..body.parameters.len()).filter(|at| record_of(body, *at) == Some(record)) {
                contract.pointers.insert(at, Asked { memory: Memory::Bytes(size), or_null: false });
                contract.records.insert(at, OfRecord { asked: facts.clone(), left: facts.clone() });
            }
            if contract.records.is_empty() {
                continue;
            }
            for called in env.call_graph().reachable([callee]) {
                hooks::join(&mut contract.hooks, &hooks::of(env, called));
            }
            contracts.insert(callee, contract);
        }
        let Some(assumed) = assume::under(env, name, &contracts) else { return Ok(Vec::new()) };
        if assumed.returns.is_empty() {
            return Ok(Vec::new());
        }
        let count = assumed.program.function(name).map_or(0, |body| body.obligations.len() as u32);
        let others = (0..count).map(ObligationId).filter(|id| !assumed.returns.contains_key(id));
        let others = others.map(|id| ((name, id), Err(Unknown::OutOfBudget))).collect();
        let request = Arc::new(self.request_under(&contracts, RANGES, others, None));
        let report = self.programs.judge(&request, Entry::new(name), self.control)?;
        let is_kept = |id: &ObligationId| report.verdicts.get(&(name, *id)).is_some_and(Verdict::is_proved);
        let failed = assumed.returns.iter().filter(|(id, _)| !is_kept(id));
        Ok(failed.map(|(_, (_, fact))| fact.clone()).collect())
    }
}
