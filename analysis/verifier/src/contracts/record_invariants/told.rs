//! A function with what its contract, and the contracts of what it calls, say of records: assumed where it is entered and behind calls, an obligation at
//! calls and where it returns.
//!
//! **Law.** Each run of the function whose caller keeps the contract, and all of whose calls leave records as they say, is a run of the new automaton, as
//! long as nothing fails. If its obligations hold, each call finds records as it asks for, and the function leaves them as it says.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{
    Base, Call, Edge, EdgeId, Expr, Function, Loc, LocalId, Lvalue, Name, Obligation, ObligationId, Op,
    Program, Scalar, Site,
};

use proofline_program_analysis::{Environment, fresh::Fresh};

use super::{
    super::{
        Contract, Contracts, Member,
        apart::{self, Access},
        bytes::{is_null, or, truth},
        obligations::{self, callee},
        writes::Memory,
    },
    Fact, OfRecord, place, record_of,
};
use crate::checks::precondition;

/// The new function.
pub(in super::super) struct Told {
    pub(in super::super) function: Function,
    /// Its new obligations.
    pub(in super::super) obligations: BTreeSet<ObligationId>,
    /// Those of them that are about a fact that holds where it returns, but for whether memory is alive, and of which parameter's record.
    pub(in super::super) returns: BTreeMap<ObligationId, (usize, Fact)>,
    /// Edges that assume what facts say.
    pub(in super::super) assumed: BTreeSet<EdgeId>,
    /// Something is assumed behind calls, as far as these are what they should be.
    pub(in super::super) rests_on_calls: bool,
}

/// `None`: nothing is said of records.
pub(in super::super) fn told(
    env: &Environment,
    name: Name,
    own: &Contract,
    contracts: &Contracts,
) -> Option<Told> {
    let (program, function) = (env.program(), env.function(name)?);
    let says = |name: &Name| contracts.get(name).is_some_and(|contract| !contract.records.is_empty());
    let is_call = |edge: &Edge| callee(&edge.op).is_some_and(|(name, _)| says(&name));
    let calls: Vec<usize> = (0..function.edges.len()).filter(|at| is_call(&function.edges[*at])).collect();
    if own.records.is_empty() && calls.is_empty() {
        return None;
    }
    let old = function.obligations.len();
    let inner = obligations::Maker { program, out: Function::clone(function) };
    let unwritten = unwritten(env, function, own);
    let mut maker = Maker {
        inner,
        unwritten,
        own,
        contracts,
        returns: BTreeMap::new(),
        assumed: BTreeSet::new(),
        rests_on_calls: false,
    };
    for at in calls {
        maker.call(at);
    }
    maker.returned();
    maker.entered();
    let obligations = (old..maker.inner.out.obligations.len()).map(|at| ObligationId(at as u32)).collect();
    let Maker { inner, returns, assumed, rests_on_calls, .. } = maker;
    Some(Told { function: inner.out, obligations, returns, assumed, rests_on_calls })
}

/// The facts that the function finds, by parameter, and that neither it nor what it calls writes anything of: they hold where it returns.
fn unwritten(env: &Environment, function: &Function, own: &Contract) -> BTreeSet<(usize, Fact)> {
    let mut all = BTreeSet::new();
    if own.records.values().all(|of| of.left.is_empty()) {
        return all;
    }
    let fresh = Fresh::of(env, [function.name]);
    let memory = Memory::of(env, &fresh, function.name);
    let Some(written) = apart::written(&memory, function.name) else { return all };
    for (at, of) in &own.records {
        let Some(pointer) = record_of(function, *at).and_then(|_| parameter_of(function, *at)) else {
            continue;
        };
        let is_unwritten = |member: &Member| {
            let access = place(env.program(), &pointer, member)
                .and_then(|place| Access::of(&memory, function, &place));
            access.is_some_and(|access| written.iter().all(|write| write.is_apart(&access, env.program())))
        };
        let found = of.left.intersection(&of.asked).filter(|fact| fact.members().all(is_unwritten));
        all.extend(found.map(|fact| (*at, fact.clone())));
    }
    all
}

struct Maker<'p> {
    inner: obligations::Maker<'p>,
    unwritten: BTreeSet<(usize, Fact)>,
    own: &'p Contract,
    contracts: &'p Contracts,
    returns: BTreeMap<ObligationId, (usize, Fact)>,
    assumed: BTreeSet<EdgeId>,
    rests_on_calls: bool,
}

impl Maker<'_> {
    /// What is said of the record that one of the function's own parameters leads to, and always has.
    fn own(&self) -> Vec<(usize, Given, OfRecord)> {
        let function = &self.inner.out;
        let pointer = |at: usize| {
            record_of(function, at)?;
            let or_null = may_be_null(self.own, at);
            Some(Given { pointer: parameter_of(function, at)?, or_null })
        };
        let all = self.own.records.iter();
        all.filter_map(|(at, of)| Some((*at, pointer(*at)?, of.clone()))).collect()
    }

    fn entered(&mut self) {
        let start = self.inner.location();
        let mut at = start;
        for (_, given, of) in self.own() {
            at = self.assumed(at, &given, &of.asked);
        }
        let old = std::mem::replace(&mut self.inner.out.entry, start);
        self.inner.push(at, old, Op::Skip, Site::NOWHERE);
    }

    fn returned(&mut self) {
        let exit = self.inner.out.exit;
        let own = self.own();
        if self.own.records.values().all(|of| of.left.is_empty()) {
            return;
        }
        let end = self.inner.location();
        for edge in self.inner.out.edges.iter_mut().filter(|edge| edge.to == exit) {
            edge.to = end;
        }
        let mut at = end;
        let records = records(&self.inner.out, self.own, &|at| parameter_of(&self.inner.out, at));
        // What cannot be said of a parameter is not shown.
        if own.len() < self.own.records.len() {
            at = self.obliged(at, truth(false), "records are as the contract says on return", Site::NOWHERE);
        }
        for (parameter, given, of) in own {
            for fact in of.left {
                let name = self.inner.out.local(self.inner.out.parameters[parameter]).name;
                let what = format!("{} holds on return", fact.text(name.as_str()));
                for condition in given.lives(self.inner.program, &fact) {
                    at = self.obliged(at, condition, &what, Site::NOWHERE);
                }
                if self.unwritten.contains(&(parameter, fact.clone())) {
                    continue;
                }
                for condition in given.demands(self.inner.program, &fact, &records) {
                    let id = ObligationId(self.inner.out.obligations.len() as u32);
                    at = self.obliged(at, condition, &what, Site::NOWHERE);
                    self.returns.insert(id, (parameter, fact.clone()));
                }
            }
        }
        self.inner.push(at, exit, Op::Skip, Site::NOWHERE);
    }

    fn call(&mut self, at: usize) {
        let Edge { from, to, op, site } = self.inner.out.edges[at].clone();
        let Some((name, call)) = callee(&op) else { return };
        let Some(body) = self.inner.program.functions.get(&name) else { return };
        let arguments = obligations::values(call);
        let contract = &self.contracts[&name];
        let said: Vec<(Name, Given, &OfRecord)> = contract
            .records
            .iter()
            .filter(|(parameter, _)| record_of(body, **parameter).is_some())
            .filter_map(|(parameter, of)| {
                let pointer = (*arguments.get(*parameter)?)?.clone();
                let or_null = may_be_null(contract, *parameter);
                Some((body.local(body.parameters[*parameter]).name, Given { pointer, or_null }, of))
            })
            .collect();
        let passed = |at: usize| arguments.get(at).copied().flatten().cloned();
        let records = records(body, contract, &passed);
        let mut now = self.inner.location();
        self.inner.push(from, now, Op::Skip, site);
        // Of what is not passed as a pointer nothing can be shown.
        if said.len() < contract.records.len() {
            now = self.obliged(now, truth(false), &format!("`{name}` is called as it asks for"), site);
        }
        for (parameter, given, of) in &said {
            for fact in &of.asked {
                let what = format!("`{name}` is called with {}", fact.text(parameter.as_str()));
                let lives = given.lives(self.inner.program, fact);
                for condition in lives.into_iter().chain(given.demands(self.inner.program, fact, &records)) {
                    now = self.obliged(now, condition, &what, site);
                }
            }
        }
        let mut behind = self.inner.location();
        (self.inner.out.edges[at].from, self.inner.out.edges[at].to) = (now, behind);
        for (_, given, of) in &said {
            if !self.is_steady(&given.pointer, call) {
                continue;
            }
            self.rests_on_calls |= !of.left.is_empty();
            behind = self.assumed(behind, given, &of.left);
        }
        self.inner.push(behind, to, Op::Skip, Site::NOWHERE);
    }

    /// Whether a pointer is behind a call what it was before.
    fn is_steady(&self, pointer: &Expr, call: &Call) -> bool {
        let is_result = |id: LocalId| call.dst.as_ref().is_some_and(|dst| dst.base == Base::Local(id));
        match pointer {
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) => {
                path.is_empty() && !self.inner.out.local(*id).address_taken && !is_result(*id)
            }
            Expr::Address(Lvalue { base: Base::Local(_) | Base::Global(_), path, .. }) => {
                path.iter().all(|step| matches!(step, proofline_cfa::Step::Field { .. }))
            }
            _ => false,
        }
    }

    /// One more obligation, in one piece: `assume` reads it so.
    fn obliged(&mut self, at: Loc, condition: Expr, what: &str, site: Site) -> Loc {
        let (error, next) = (self.inner.location(), self.inner.location());
        self.inner.push(at, error, Op::Assume(condition.negated()), site);
        self.inner.push(at, next, Op::Assume(condition), Site::NOWHERE);
        let (check, text) = (precondition::CHECK.id(), Name::new(what));
        self.inner.out.obligations.push(Obligation { check, error, site, text });
        next
    }

    fn assumed(&mut self, mut at: Loc, given: &Given, facts: &BTreeSet<Fact>) -> Loc {
        let first = self.inner.out.edges.len();
        for condition in facts.iter().flat_map(|fact| given.conditions(self.inner.program, fact)) {
            let next = self.inner.location();
            self.inner.branch(at, &condition, next, None, Site::NOWHERE);
            at = next;
        }
        self.assumed.extend((first..self.inner.out.edges.len()).map(|edge| EdgeId(edge as u32)));
        at
    }
}

/// The value of a parameter.
fn parameter_of(function: &Function, at: usize) -> Option<Expr> {
    let id = *function.parameters.get(at)?;
    let local = function.local(id);
    Some(Expr::Load(Lvalue::local(id, local.ty, Scalar::Pointer, local.size)))
}

/// The records that a function with this contract is passed.
fn records(function: &Function, contract: &Contract, pointer: &dyn Fn(usize) -> Option<Expr>) -> Vec<Expr> {
    let all = contract.pointers.keys().filter(|at| record_of(function, **at).is_some());
    all.filter_map(|at| pointer(*at)).collect()
}

/// A record that is passed.
struct Given {
    pointer: Expr,
    /// Unless it is null.
    or_null: bool,
}

impl Given {
    /// That a fact holds of it.
    fn conditions(&self, program: &Program, fact: &Fact) -> Vec<Expr> {
        let all = fact.conditions(program, &self.pointer).unwrap_or_default();
        all.into_iter().map(|condition| self.unless_null(condition)).collect()
    }

    /// That a fact holds of it, where it is passed with these records.
    fn demands(&self, program: &Program, fact: &Fact, records: &[Expr]) -> Vec<Expr> {
        let mut all = self.conditions(program, fact);
        if all.is_empty() {
            return vec![truth(false)];
        }
        let apart = fact.apart(program, &self.pointer, records);
        all.extend(apart.into_iter().map(|condition| self.unless_null(condition)));
        all
    }

    /// That what a fact of it speaks of is alive.
    fn lives(&self, program: &Program, fact: &Fact) -> Vec<Expr> {
        let all = fact.lives(program, &self.pointer);
        all.into_iter().map(|condition| self.unless_null(condition)).collect()
    }

    fn unless_null(&self, condition: Expr) -> Expr {
        if self.or_null { or(is_null(&self.pointer), condition) } else { condition }
    }
}

/// Whether a contract allows that nothing is passed.
fn may_be_null(contract: &Contract, parameter: usize) -> bool {
    contract.pointers.get(&parameter).is_none_or(|asked| asked.or_null)
}
