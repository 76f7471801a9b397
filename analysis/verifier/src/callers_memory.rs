//! What hangs on the memory that callers pass: in a run of a function that somebody calls from outside, such memory is alive and has values. Of
//! callers in sight that is not known before their executions are looked at.

use proofline_cfa::{Edge, Expr, Function, MemoryPredicate, Name, Object, ObligationId, Program, visit};
use proofline_program_analysis::Environment;

use crate::checks::monitor;

/// Whether an obligation asks something like this of memory that callers may have passed.
pub(crate) fn is_asked(
    env: &Environment,
    function: Name,
    id: ObligationId,
    like: &dyn Fn(MemoryPredicate) -> bool,
) -> bool {
    let Some(body) = env.function(function) else { return false };
    let Some(obligation) = body.obligations.get(id.index()) else { return false };
    let failures = env.structure(function).failures(obligation).iter().map(|edge| body.edge(*edge));
    let mut is_asked = false;
    conditions(failures, &mut |predicate, pointer| {
        is_asked |= like(predicate) && env.targets(function, pointer).objects.contains(&Object::External);
    });
    is_asked
}

/// Whether a monitor asks: in which state it is when a function is called, callers decide.
pub(crate) fn is_of_monitor(program: &Program, function: Name, id: ObligationId) -> bool {
    let obligation = program.function(function).and_then(|body| body.obligations.get(id.index()));
    obligation.is_some_and(|obligation| monitor::is_one(obligation.check))
}

/// Whether the condition of an obligation says something like this of memory.
pub(crate) fn speaks_of(
    function: &Function,
    id: ObligationId,
    like: &dyn Fn(MemoryPredicate) -> bool,
) -> bool {
    let Some(obligation) = function.obligations.get(id.index()) else { return false };
    let failures = function.edges.iter().filter(|edge| edge.to == obligation.error);
    let mut speaks = false;
    conditions(failures, &mut |predicate, _| speaks |= like(predicate));
    speaks
}

fn conditions<'e>(failures: impl Iterator<Item = &'e Edge>, see: &mut dyn FnMut(MemoryPredicate, &Expr)) {
    for edge in failures {
        visit::exprs(&edge.op, &mut |part| {
            if let Expr::Memory(predicate, pointer, other) = part {
                see(*predicate, pointer);
                if *predicate == MemoryPredicate::SameObject {
                    see(*predicate, other);
                }
            }
        });
    }
}

/// Whether it is a matter of the object that a pointer leads to. (What is left at the end is not.)
pub(crate) fn is_of_an_object(predicate: MemoryPredicate) -> bool {
    match predicate {
        MemoryPredicate::InBounds
        | MemoryPredicate::Within
        | MemoryPredicate::SameObject
        | MemoryPredicate::Terminated
        | MemoryPredicate::WideTerminated
        | MemoryPredicate::NotFreed
        | MemoryPredicate::NotEnded
        | MemoryPredicate::Freeable
        | MemoryPredicate::Writable
        | MemoryPredicate::Callable
        | MemoryPredicate::Initialised => true,
        MemoryPredicate::NothingLost | MemoryPredicate::NothingLeft => false,
    }
}
