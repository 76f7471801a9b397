//! Contracts that are written in the text, as obligations of the program: what a call must keep, and what holds where a function returns. They are in
//! automata like those of checks, so every engine decides them, and a run that breaks one is a finding. Knows no engine.
//!
//! **Law.** Executions are those of the program without them, as long as none fails. What a call must keep of a callee's contract is an obligation here
//! exactly where [`asked`] and [`condition`] say how; the rest is one where contracts are assumed (`assume.rs`).

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Argument, Base, BinaryOp, Call, Callee, CheckId, Edge, Expr, Function, Loc, Local, LocalId, Lvalue,
    MemoryPredicate, Name, Obligation, Op, Program, Role, Site, expr_text,
    visit::{self, Mention},
};

use super::{
    Asked, Contract, Memory,
    acsl::{self, Written},
    at_call,
    bytes::{is_not_null, is_null, or, truth},
    ensures::{of, room},
    replaced,
    separated::are_separated,
    text,
};
use crate::checks::{postcondition, precondition};

/// Writes the obligations down. `annotation` says what stands in front of a function.
pub(crate) fn insert(program: &mut Program, annotation: &dyn Fn(Name) -> Option<String>) {
    let read = |(name, function): (&Name, &Arc<Function>)| {
        Some((*name, acsl::read(program, function, &annotation(*name)?)))
    };
    let written: BTreeMap<Name, Written> = program.functions.iter().filter_map(read).collect();
    if written.is_empty() {
        return;
    }
    let mut changed = Vec::new();
    for function in program.functions.values() {
        let of_callee = |at: &usize| {
            let (name, _) = callee(&function.edges[*at].op)?;
            Some((*at, written.get(&name)?))
        };
        let calls: Vec<(usize, &Written)> =
            (0..function.edges.len()).filter_map(|at| of_callee(&at)).collect();
        let promises = written.get(&function.name).map_or(&[][..], |own| &own.ensures);
        if calls.is_empty() && promises.is_empty() {
            continue;
        }
        let mut maker = Maker { program, out: Function::clone(function) };
        for (at, of) in calls {
            maker.promised(at, &of.ensures);
            if !of.contract.is_empty() {
                maker.call(at, of);
            }
        }
        maker.returns(promises);
        changed.push(maker.out);
    }
    for function in changed {
        program.functions.insert(function.name, Arc::new(function));
    }
}

/// The function that is called by its name.
pub(super) fn callee(op: &Op) -> Option<(Name, &Call)> {
    let Op::Call(call) = op else { return None };
    match &call.callee {
        Callee::Direct(name) => Some((*name, call)),
        Callee::Indirect(..) => None,
    }
}

/// The arguments of a call that are values.
pub(super) fn values(call: &Call) -> Vec<Option<&Expr>> {
    let values = call.arguments.iter().map(|argument| match argument {
        Argument::Value(value) => Some(value),
        Argument::Aggregate(_) => None,
    });
    values.collect()
}

/// What a pointer must be that is passed as a parameter of the callee, in the caller's expressions, one after the other: not null, alive, and large enough.
/// `None`: no expression says it.
pub(super) fn asked(
    program: &Program,
    callee: &Function,
    arguments: &[Option<&Expr>],
    parameter: usize,
    asked: &Asked,
) -> Option<Vec<Expr>> {
    let value = (*arguments.get(parameter)?)?;
    let room = match &asked.memory {
        Memory::Nothing => None,
        Memory::Bytes(size) => Some(room(program, value, None, *size)),
        Memory::Elements(count, stride) => {
            Some(room(program, value, Some(&at_call(callee, count, arguments)?), *stride))
        }
        Memory::String => Some(of(value, MemoryPredicate::Terminated, Expr::int(0))),
        Memory::Until(_) | Memory::Structure | Memory::Allocated | Memory::Tree(_) => return None,
    };
    let mut all = Vec::new();
    if let Some(room) = room {
        let lives = |predicate| of(value, predicate, Expr::int(0));
        all.extend([lives(MemoryPredicate::NotFreed), lives(MemoryPredicate::NotEnded), room]);
    }
    if asked.or_null {
        return Some(all.into_iter().map(|one| or(is_null(value), one)).collect());
    }
    all.insert(0, is_not_null(value));
    Some(all)
}

/// What a condition on the parameters says of the arguments; `None`: no expression says it.
pub(super) fn condition(callee: &Function, arguments: &[Option<&Expr>], condition: &Expr) -> Option<Expr> {
    at_call(callee, condition, arguments)
}

/// What is asked of two arguments that lead into different objects.
pub(super) fn apart(arguments: &[Option<&Expr>], one: usize, other: usize) -> Option<Expr> {
    let argument = |at: usize| arguments.get(at).copied().flatten();
    Some(are_separated(argument(one)?, argument(other)?))
}

pub(super) struct Maker<'p> {
    pub(super) program: &'p Program,
    pub(super) out: Function,
}

impl Maker<'_> {
    pub(super) fn location(&mut self) -> Loc {
        self.out.locations += 1;
        Loc(self.out.locations - 1)
    }

    pub(super) fn push(&mut self, from: Loc, to: Loc, op: Op, site: Site) {
        self.out.edges.push(Edge { from, to, op, site });
    }

    /// What a call must keep.
    fn call(&mut self, at: usize, written: &Written) {
        let Edge { from, op, site, .. } = self.out.edges[at].clone();
        let Some((name, call)) = callee(&op) else { return };
        let Some(body) = self.program.functions.get(&name) else { return };
        let Contract {
            pointers,
            conditions,
            separated,
            records: _,
            is_written: _,
            hooks: _,
            is_contained: _,
        } = &written.contract;
        let arguments = values(call);
        let mut demands: Vec<(String, Expr)> = Vec::new();
        for (parameter, of) in pointers {
            let what = format!("`{name}` is called with {}", text::asked(self.program, body, *parameter, of));
            let all = asked(self.program, body, &arguments, *parameter, of).unwrap_or_default();
            demands.extend(all.into_iter().map(|one| (what.clone(), one)));
        }
        for one in conditions {
            let what = format!("`{name}` is called with `{}`", expr_text(body, one));
            demands.extend(condition(body, &arguments, one).map(|one| (what, one)));
        }
        for (one, other) in separated {
            let what = format!("`{name}` is called with {}", text::separated(body, *one, *other));
            demands.extend(apart(&arguments, *one, *other).map(|one| (what, one)));
        }
        let mut now = self.location();
        self.push(from, now, Op::Skip, site);
        for (what, demand) in demands {
            now = self.obliged(now, &demand, precondition::CHECK.id(), &what, site);
        }
        self.out.edges[at].from = now;
    }

    /// What holds where the function returns.
    fn returns(&mut self, promises: &[(String, Expr)]) {
        if promises.is_empty() {
            return;
        }
        let mut passed: BTreeMap<LocalId, LocalId> = BTreeMap::new();
        let promises: Vec<(String, Expr)> = promises
            .iter()
            .filter_map(|(text, formula)| Some((text.clone(), self.as_passed(formula, &mut passed)?)))
            .collect();
        for at in 0..self.out.edges.len() {
            let Edge { to, site, .. } = self.out.edges[at];
            if to != self.out.exit {
                continue;
            }
            let mut now = self.location();
            self.out.edges[at].to = now;
            for (text, formula) in &promises {
                now = self.obliged(now, formula, postcondition::CHECK.id(), text, site);
            }
            self.push(now, self.out.exit, Op::Skip, site);
        }
        for (parameter, copy) in passed {
            let (from, to) = (self.lvalue(parameter), self.lvalue(copy));
            if let (Some(from), Some(to)) = (from, to) {
                let start = self.location();
                self.push(start, self.out.entry, Op::Assign(to, Expr::Load(from)), Site::NOWHERE);
                self.out.entry = start;
            }
        }
    }

    pub(super) fn lvalue(&self, id: LocalId) -> Option<Lvalue> {
        let local = self.out.local(id);
        let scalar = proofline_cfa::scalar_of(local.ty, self.program.data_model)?;
        Some(Lvalue::local(id, local.ty, scalar, local.size))
    }

    /// The formula over the parameters as they were passed: of those that change there is a copy.
    fn as_passed(&mut self, formula: &Expr, copies: &mut BTreeMap<LocalId, LocalId>) -> Option<Expr> {
        let mut read = Vec::new();
        visit::reads_of_expr(formula, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base {
                read.push(id);
            }
        });
        for id in read {
            let local = self.out.local(id).clone();
            let is_parameter = self.out.parameters.contains(&id);
            if is_parameter && !copies.contains_key(&id) && (local.address_taken || is_written(&self.out, id))
            {
                let copy = LocalId(self.out.locals.len() as u32);
                let name = Name::new(&format!("{}#passed", local.name));
                self.out.locals.push(Local { name, role: Role::Temporary, address_taken: false, ..local });
                copies.insert(id, copy);
            }
        }
        let copies = &*copies;
        replaced(formula, &|load| {
            let Expr::Load(lvalue) = load else { return None };
            let Base::Local(id) = lvalue.base else { return None };
            let base = Base::Local(copies.get(&id).copied().unwrap_or(id));
            Some(Expr::Load(Lvalue { base, ..lvalue.clone() }))
        })
    }

    /// One more obligation; what it consists of is tested one after the other.
    pub(super) fn obliged(
        &mut self,
        at: Loc,
        condition: &Expr,
        check: CheckId,
        what: &str,
        site: Site,
    ) -> Loc {
        if *condition == truth(true) {
            return at;
        }
        let (error, next) = (self.location(), self.location());
        self.branch(at, condition, next, Some(error), site);
        self.out.obligations.push(Obligation { check, error, site, text: Name::new(what) });
        next
    }

    /// Goes to one location where the condition holds, to the other, if there is one, where it does not.
    pub(super) fn branch(&mut self, from: Loc, condition: &Expr, holds: Loc, fails: Option<Loc>, site: Site) {
        match condition {
            Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, middle, fails, site);
                self.branch(middle, rhs, holds, fails, site);
            }
            Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => {
                let middle = self.location();
                self.branch(from, lhs, holds, Some(middle), site);
                self.branch(middle, rhs, holds, fails, site);
            }
            _ => {
                self.push(from, holds, Op::Assume(condition.clone()), Site::NOWHERE);
                if let Some(fails) = fails {
                    self.push(from, fails, Op::Assume(condition.negated()), site);
                }
            }
        }
    }
}

/// Whether the function itself changes a parameter.
pub(super) fn is_written(function: &Function, id: LocalId) -> bool {
    let mut is_written = false;
    for edge in &function.edges {
        visit::mentions(&edge.op, &mut |mention| {
            is_written |=
                matches!(mention, Mention::Write(Lvalue { base: Base::Local(other), .. }) if *other == id);
        });
    }
    is_written
}
