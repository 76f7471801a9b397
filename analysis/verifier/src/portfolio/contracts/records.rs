//! What holds of records whenever nobody is at work on them: guesses that every function keeps which is given such a record and writes it. Guesses fall until
//! all that are left are kept (Flanagan and Leino, *Houdini*, FME 2001). Nothing rests on them: a contract that speaks of them is proved like any other.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{Entry, Name, ObligationId};
use proofline_cpa::Unknown;

use super::{Known, Programs, RANGES, Try};
use crate::{
    contracts::{
        Asked, Contract, Contracts, Fact, Memory, OfRecord, assume, hooks,
        record_invariants::{guessed, plain, record_of, written},
    },
    verdict::Verdict,
};

/// So often all functions are asked at most.
const ROUNDS: usize = 6;

/// What is guessed of records, by their tags.
pub(super) type Invariants = BTreeMap<Name, BTreeSet<Fact>>;

impl<P: Programs> Known<'_, P> {
    /// The guesses that all functions keep.
    pub(super) fn record_invariants(&self) -> Result<Invariants, P::Error> {
        let bodies = self.functions.iter().filter_map(|(name, function)| {
            let env = function.subject.env();
            Some((env.program(), env.function(*name)?))
        });
        let mut facts = guessed(bodies);
        let mut writers: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
        let mut evidence = BTreeSet::new();
        for (name, function) in &self.functions {
            let Some(body) = function.subject.env().function(*name) else { continue };
            for record in (0..body.parameters.len()).filter_map(|at| record_of(body, at)) {
                if written(body).iter().any(|member| member.record == record) {
                    writers.entry(record).or_default().insert(*name);
                }
            }
            evidence.extend(written(body));
        }
        // What nobody writes nobody shows to be kept.
        for facts in facts.values_mut() {
            facts.retain(|fact| fact.members().any(|member| evidence.contains(member)));
        }
        facts.retain(|record, facts| writers.contains_key(record) && !facts.is_empty());
        let mut open: BTreeSet<Name> = facts.keys().copied().collect();
        for _ in 0..ROUNDS {
            let mut changed = BTreeSet::new();
            let asked: BTreeSet<Name> = open.iter().flat_map(|record| &writers[record]).copied().collect();
            for name in asked {
                if self.control.is_late() {
                    return Ok(Invariants::new());
                }
                for (record, fact) in self.not_kept(name, &facts)? {
                    facts.entry(record).or_default().remove(&fact);
                    changed.insert(record);
                }
            }
            if changed.is_empty() {
                facts.values_mut().for_each(|facts| *facts = plain(facts));
                facts.retain(|_, facts| !facts.is_empty());
                return Ok(facts);
            }
            open = changed;
        }
        Ok(Invariants::new())
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
    fn not_kept(&self, name: Name, facts: &Invariants) -> Result<Vec<(Name, Fact)>, P::Error> {
        let subject = &self.functions[&name].subject;
        let (env, mut contracts) = (subject.env(), Contracts::new());
        for callee in self.functions[&name].callees.iter().chain([&name]) {
            let Some(body) = env.function(*callee) else { continue };
            let mut contract = Contract::default();
            for at in 0..body.parameters.len() {
                let Some(record) = record_of(body, at) else { continue };
                let Some(facts) = facts.get(&record).filter(|facts| !facts.is_empty()) else { continue };
                let size = subject.program().records.get(&record).map_or(0, |record| record.size);
                contract.pointers.insert(at, Asked { memory: Memory::Bytes(size), or_null: false });
                contract.records.insert(at, OfRecord { asked: facts.clone(), left: facts.clone() });
            }
            for called in env.call_graph().reachable([*callee]) {
                hooks::join(&mut contract.hooks, &hooks::of(env, called));
            }
            if !contract.records.is_empty() {
                contracts.insert(*callee, contract);
            }
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
        let body = env.function(name);
        let failed = assumed.returns.iter().filter(|(id, _)| !is_kept(id));
        let failed = failed.filter_map(|(_, (at, fact))| Some((record_of(body?, *at)?, fact.clone())));
        Ok(failed.collect())
    }
}
