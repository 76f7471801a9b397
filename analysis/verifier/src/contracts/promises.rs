//! What a function ensures, as its callers know it: behind each direct call of a function with `ensures` stands what was promised of the numbers that were
//! passed and came back. Where a return breaks the promise, the execution has ended there (an obligation of the check `postcondition`), so
//! executions are the same with these assumptions as without. That holds no longer where executions go on behind a broken promise: then it
//! is [`withdrawn`]. Knows no engine.
//!
//! **Law.** In a program in which each obligation `postcondition` of the functions whose promises are not withdrawn holds, the assumptions exclude no execution.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proofline_cfa::{
    Argument, Base, BinaryOp, Call, Callee, Edge, Expr, Function, Local, LocalId, Lvalue, Name, Obligation,
    Op, Program, Role, Scalar, Site, scalar_of, visit,
};

use super::{
    bytes::{and, or, truth},
    obligations::Maker,
    replaced,
};
use crate::checks::postcondition;

/// With the function's name behind it, the label of the place from which one edge leads to what was promised, and one past it.
const MARK: &str = "promise#";

/// The function that a label says the promise of.
fn promised_by(label: Name) -> Option<Name> {
    label.as_str().strip_prefix(MARK).map(Name::new)
}

/// Whether anything in the program has promised anything that is looked at.
pub(crate) fn is_any(program: &Program) -> bool {
    program.functions.values().any(|function| function.obligations.iter().any(is_owed))
}

/// Whether it is what a function has promised.
pub(crate) fn is_owed(obligation: &Obligation) -> bool {
    postcondition::CHECK.is(obligation.check)
}

/// The program in which nobody takes for granted what these functions promise.
pub(crate) fn withdraw(program: &mut Program, by: &dyn Fn(Name) -> bool) {
    let is_one = |label: &Name| promised_by(*label).is_some_and(by);
    for function in program.functions.values_mut() {
        if !function.labels.iter().any(|(label, _)| is_one(label)) {
            continue;
        }
        let function = Arc::make_mut(function);
        let (withdrawn, others) =
            std::mem::take(&mut function.labels).into_iter().partition(|(l, _)| is_one(l));
        function.labels = others;
        let withdrawn: Vec<(Name, proofline_cfa::Loc)> = withdrawn;
        for edge in
            function.edges.iter_mut().filter(|edge| withdrawn.iter().any(|(_, loc)| *loc == edge.from))
        {
            if let Op::Assume(Expr::Int(is_taken, _)) = edge.op {
                edge.op = Op::Assume(truth(is_taken == 0));
            }
        }
    }
}

/// The same, and executions go on where these functions do not keep what they promise.
pub(crate) fn withdrawn(program: &Program, by: &BTreeSet<Name>) -> Program {
    let mut program = program.clone();
    withdraw(&mut program, &|name| by.contains(&name));
    for name in by {
        if let Some(function) = program.functions.get_mut(name) {
            crate::checks::go_on(Arc::make_mut(function), &is_owed);
        }
    }
    program
}

impl Maker<'_> {
    /// Behind a call: what the function ensures, of numbers. (Whether memory is alive that was at its return, nobody says here: what is allocated on its stack
    /// ends with it.)
    pub(super) fn promised(&mut self, at: usize, promises: &[(String, Expr)]) {
        let Edge { to, op: Op::Call(call), site, .. } = self.out.edges[at].clone() else { return };
        let Callee::Direct(name) = call.callee else { return };
        let Some(callee) = self.program.functions.get(&name).cloned() else { return };
        let mut passed = Passed { call: &call, callee: &callee, copies: BTreeMap::new() };
        let known: Vec<Expr> = promises
            .iter()
            .filter_map(|(_, formula)| self.known_behind(&of_numbers(formula), &mut passed))
            .filter(|formula| *formula != truth(true))
            .collect();
        if known.is_empty() {
            return;
        }
        for (parameter, copy) in passed.copies {
            let position = callee.parameters.iter().position(|id| *id == parameter);
            let argument = position.and_then(|position| value(&call, position));
            let (Some(argument), Some(copy)) = (argument.cloned(), self.lvalue(copy)) else { continue };
            let (before, now) = (self.out.edges[at].from, self.location());
            self.push(before, now, Op::Assign(copy, argument), Site::NOWHERE);
            self.out.edges[at].from = now;
        }
        let (start, mut now, end) = (self.location(), self.location(), self.location());
        self.out.edges[at].to = start;
        self.out.labels.push((Name::new(&format!("{MARK}{name}")), start));
        self.push(start, now, Op::Assume(truth(true)), Site::NOWHERE);
        self.push(start, end, Op::Assume(truth(false)), Site::NOWHERE);
        for formula in &known {
            let next = self.location();
            self.branch(now, formula, next, None, site);
            now = next;
        }
        self.push(now, end, Op::Skip, site);
        self.push(end, to, Op::Skip, site);
    }

    /// The formula in the caller's words, with copies of what was passed where that may be something else behind the call.
    fn known_behind(&mut self, formula: &Expr, passed: &mut Passed<'_>) -> Option<Expr> {
        let mut read = BTreeSet::new();
        visit::reads_of_expr(formula, &mut |lvalue| {
            if let Base::Local(id) = lvalue.base {
                read.insert(id);
            }
        });
        let mut values: BTreeMap<LocalId, Expr> = BTreeMap::new();
        for id in read {
            let local = passed.callee.local(id);
            let scalar = scalar_of(local.ty, self.program.data_model)?;
            let value = if passed.callee.result == Some(id) {
                self.came_back(passed.call, scalar)?
            } else {
                let position = passed.callee.parameters.iter().position(|parameter| *parameter == id)?;
                let argument = value(passed.call, position).filter(|value| value.scalar() == scalar)?;
                if self.stays(argument, passed.call) {
                    argument.clone()
                } else {
                    self.copy(local, id, passed)
                }
            };
            values.insert(id, value);
        }
        replaced(formula, &|load| {
            let Expr::Load(Lvalue { base: Base::Local(id), path, .. }) = load else { return None };
            values.get(id).filter(|value| path.is_empty() && value.scalar() == load.scalar()).cloned()
        })
    }

    /// The result, where it goes into a local that nothing else changes.
    fn came_back(&self, call: &Call, scalar: Scalar) -> Option<Expr> {
        let dst = call.dst.as_ref().filter(|dst| dst.path.is_empty() && dst.scalar == Some(scalar))?;
        let Base::Local(id) = dst.base else { return None };
        (!self.out.local(id).address_taken).then(|| Expr::Load(dst.clone()))
    }

    /// Whether an argument is the same behind the call.
    fn stays(&self, argument: &Expr, call: &Call) -> bool {
        match argument {
            Expr::Int(..) | Expr::Null => true,
            Expr::Load(Lvalue { base: Base::Local(id), path, .. }) => {
                let is_dst =
                    call.dst.as_ref().is_some_and(|dst| matches!(dst.base, Base::Local(dst) if dst == *id));
                path.is_empty() && !is_dst && !self.out.local(*id).address_taken
            }
            Expr::Float(_)
            | Expr::Load(_)
            | Expr::Address(_)
            | Expr::Function(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::Cast(..)
            | Expr::Memory(..)
            | Expr::Overflows(..)
            | Expr::PointerDifference(..) => false,
        }
    }

    fn copy(&mut self, parameter: &Local, id: LocalId, passed: &mut Passed<'_>) -> Expr {
        let copy = *passed.copies.entry(id).or_insert_with(|| {
            let copy = LocalId(self.out.locals.len() as u32);
            let name = Name::new(&format!("{}#given{}", parameter.name, copy.0));
            let local = Local { name, role: Role::Temporary, address_taken: false, ..parameter.clone() };
            self.out.locals.push(local);
            copy
        });
        // The type of a parameter that is a scalar has one.
        self.lvalue(copy).map_or_else(|| truth(true), Expr::Load)
    }
}

/// A call, and copies of what is passed, by parameter.
struct Passed<'c> {
    call: &'c Call,
    callee: &'c Function,
    copies: BTreeMap<LocalId, LocalId>,
}

fn value(call: &Call, position: usize) -> Option<&Expr> {
    match call.arguments.get(position)? {
        Argument::Value(value) => Some(value),
        Argument::Aggregate(_) => None,
    }
}

/// What a formula says, whatever it says of memory. (It says nothing of memory that is not valid.)
fn of_numbers(formula: &Expr) -> Expr {
    match formula {
        Expr::Memory(..) => truth(true),
        Expr::Binary(BinaryOp::BitAnd, lhs, rhs, _) => and(of_numbers(lhs), of_numbers(rhs)),
        Expr::Binary(BinaryOp::BitOr, lhs, rhs, _) => or(of_numbers(lhs), of_numbers(rhs)),
        _ => formula.clone(),
    }
}
