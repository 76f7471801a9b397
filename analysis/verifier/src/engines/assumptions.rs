//! Calls that only assume something, as conditions: where a function does nothing but come back if its argument is not zero
//! (`assume_abort_if_not`), the caller's edge assumes the argument. And where ways that set a condition to constants meet just to
//! test it (`a && b`), each goes on to the branch that it takes. Then an analysis that joins states keeps what the condition says of them.
//!
//! Law: the executions that reach an obligation are the same, edge by edge. Locations, edges and obligations keep their numbers.

use std::{collections::BTreeMap, sync::Arc};

use proofline_cfa::{
    Argument, Base, Callee, CompareOp, EdgeId, Expr, Function, Loc, LocalId, Lvalue, Name, Op, Program, Role,
    Structure,
};
use proofline_cpa::Unknown;

use super::{Abstraction, Answer, Decision, Engine, Question};
use crate::subject::Subject;

/// Programs with more edges are not rewritten: what is found out about them would be found out again.
const MOST_EDGES: usize = 20_000;

/// An analysis of the program with assumptions in the place of such calls. Asked only where there are some.
#[derive(Clone, Debug)]
pub struct Assuming {
    /// The analysis.
    pub analysis: Abstraction,
}

impl Engine for Assuming {
    fn name(&self) -> &'static str {
        "assuming"
    }

    fn knows_memory(&self) -> bool {
        self.analysis.knows_memory()
    }

    fn decides_each(&self) -> bool {
        self.analysis.decides_each()
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        match assuming(question.subject) {
            Some(subject) => self.analysis.decide(&Question { subject: &subject, ..*question }),
            None => {
                let why = Unknown::NotApplicable("no call assumes anything".into());
                Decision::new(Answer::Unknown(why))
            }
        }
    }
}

/// The program so rewritten; `None`: there is nothing to rewrite.
pub(super) fn assuming(subject: &Subject) -> Option<Subject> {
    let program = subject.program();
    if program.functions.values().map(|function| function.edges.len()).sum::<usize>() > MOST_EDGES {
        return None;
    }
    rewritten_program(program).map(|program| subject.of_program(program))
}

fn rewritten_program(program: &Program) -> Option<Program> {
    let assumed: BTreeMap<Name, usize> =
        program.functions.iter().filter_map(|(name, function)| Some((*name, assumes(function)?))).collect();
    let mut out = program.clone();
    let mut changed = false;
    for function in out.functions.values_mut() {
        if let Some(new) = rewritten(function, &assumed) {
            *function = Arc::new(new);
            changed = true;
        }
    }
    changed.then_some(out)
}

/// The parameter, if the function comes back where it is not zero and has no other effect.
fn assumes(function: &Function) -> Option<usize> {
    if function.obligations.is_empty() { tests(function) } else { None }
}

/// The same of a function that may also fail where it does not come back.
pub(super) fn tests(function: &Function) -> Option<usize> {
    let is_pure = function.edges.iter().all(|edge| matches!(edge.op, Op::Skip | Op::Assume(_)));
    if !is_pure || !function.unsupported.is_empty() {
        return None;
    }
    // One way comes back: a test of the parameter, and then nothing.
    let mut at = function.exit;
    loop {
        let mut incoming = function.edges.iter().filter(|edge| edge.to == at);
        let (Some(edge), None) = (incoming.next(), incoming.next()) else { return None };
        if edge.op == Op::Skip {
            at = edge.from;
            continue;
        }
        let Op::Assume(condition) = &edge.op else { return None };
        let local = nonzero(condition)?;
        let is_entered = function.edges.iter().any(|edge| edge.to == function.entry);
        let is_first = edge.from == function.entry && !is_entered;
        return function.parameters.iter().position(|parameter| is_first && *parameter == local);
    }
}

/// The local that the condition says is not zero.
fn nonzero(condition: &Expr) -> Option<LocalId> {
    match condition {
        Expr::Load(lvalue) => whole_local(lvalue),
        Expr::Compare(CompareOp::Ne, value, zero) if matches!(**zero, Expr::Int(0, _)) => nonzero(value),
        _ => None,
    }
}

fn whole_local(lvalue: &Lvalue) -> Option<LocalId> {
    match lvalue.base {
        Base::Local(id) if lvalue.path.is_empty() && lvalue.bits.is_none() => Some(id),
        _ => None,
    }
}

fn rewritten(function: &Function, assumed: &BTreeMap<Name, usize>) -> Option<Function> {
    let mut new = function.clone();
    let mut changed = false;
    for edge in &mut new.edges {
        if let Op::Call(call) = &edge.op
            && let (Callee::Direct(name), None) = (&call.callee, &call.dst)
            && let Some(position) = assumed.get(name)
            && let Some(Argument::Value(condition)) = call.arguments.get(*position)
        {
            edge.op = Op::Assume(condition.clone());
            changed = true;
        }
    }
    // Each edge goes on a few times at most: tests of one condition follow one another.
    for _ in 0..new.edges.len() {
        let Some((edge, to)) = threaded(&new) else { break };
        new.edges[edge.0 as usize].to = to;
        changed = true;
    }
    changed.then_some(new)
}

/// An edge that sets a temporary to a constant and leads to where only this temporary is tested, with where that test leads.
fn threaded(function: &Function) -> Option<(EdgeId, Loc)> {
    let structure = Structure::of(function);
    function.edge_ids().find_map(|(id, edge)| {
        let Op::Assign(dst, Expr::Int(value, _)) = &edge.op else { return None };
        let local = whole_local(dst)?;
        let test = structure.successors(edge.to);
        let is_special = edge.to == function.exit || structure.loop_at(edge.to).is_some();
        if function.local(local).role != Role::Temporary || test.is_empty() || is_special {
            return None;
        }
        let mut taken = None;
        for next in test {
            let next = function.edge(*next);
            let Op::Assume(condition) = &next.op else { return None };
            let holds = match condition {
                Expr::Compare(CompareOp::Eq, tested, zero)
                    if matches!(**zero, Expr::Int(0, _)) && nonzero(tested) == Some(local) =>
                {
                    *value == 0
                }
                _ if nonzero(condition) == Some(local) => *value != 0,
                _ => return None,
            };
            if holds {
                taken = Some(next.to);
            }
        }
        taken.filter(|to| *to != edge.to).map(|to| (id, to))
    })
}
