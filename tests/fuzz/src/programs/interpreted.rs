//! Runs a program in the interpreter of automata and tells the same things as a compiled run.

use proofline_cfa::{Callee, Cause, Op, Scalar, eval::Value};
use proofline_verifier::{
    CheckId, Entry, Subject,
    checks::{memory_leak, reach_error},
    interpret::{Choice, Code, End, Limits, Machine, Oracle, Run},
    sources::Sources,
};

use super::{compiled::Ended, program::Vector};

/// What the interpreter did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Interpreted {
    pub(crate) ended: Result<Ended, String>,
    pub(crate) observed: Vec<(usize, i64)>,
    /// The check whose obligation failed.
    pub(crate) check: Option<CheckId>,
    /// Somewhere a value was guessed, or not determined.
    pub(crate) is_vague: bool,
}

/// Gives inputs as the runtime of a compiled program does.
struct Inputs<'v> {
    vector: &'v Vector,
    next: usize,
}

impl Oracle for Inputs<'_> {
    fn choose(&mut self, choice: &Choice) -> i128 {
        // That memory is used up, a compiled program does not see.
        if let Cause::External(_) | Cause::Within(_) = choice.cause {
            return 0;
        }
        let answer = i128::from(self.vector.get(self.next).copied().unwrap_or(0));
        self.next += 1;
        match (choice.cause, choice.scalar) {
            (Cause::Input(name), _) if name.ends_with("_bool") => answer & 1,
            (_, Scalar::Int(ty)) => ty.wrap(answer),
            (_, Scalar::Pointer | Scalar::Float(_)) => 0,
        }
    }
}

/// Runs `main` on these inputs.
pub(crate) fn interpret(subject: &Subject, sources: &Sources, vector: &Vector) -> Interpreted {
    let code = Code::new(subject.program());
    let machine = |skips_after, compiled_steps| {
        let limits =
            Limits { steps: 3_000_000, skips_after, compiles_after: 0, compiled_steps, ..Limits::default() };
        Machine::new(&code, Inputs { vector, next: 0 }, limits)
    };
    let run = machine(u64::MAX, 0).with_trace().run(Entry::main());
    let skipping = machine(0, 0).run(Entry::main());
    let compiled = machine(u64::MAX, 3_000_000).with_doubt().run(Entry::main());
    let mut check = None;
    let ended = match &run.end {
        End::Finished => Ok(Ended::Finished),
        End::Violates(function, obligation) => {
            let obligation =
                subject.program().function(*function).map(|f| &f.obligations[obligation.index()]);
            let line = obligation
                .and_then(|o| sources.position(*function, o.site))
                .map_or(0, |position| position.line + 1);
            check = obligation.map(|o| o.check);
            Ok(match check {
                Some(check) if reach_error::CHECK.is(check) => Ended::Failed(line),
                // The compiled program does not look for leaks.
                Some(check) if memory_leak::CHECK.is(check) => Ended::Finished,
                check => Ended::Undefined { line, check, message: String::new() },
            })
        }
        End::Stuck(why) => Err(why.clone()),
        End::OutOfSteps | End::Diverges => Ok(Ended::TooLong),
        End::Deviated(_) => Err("it was not to follow a path".into()),
    };
    let trace = run.trace.clone().unwrap_or_default();
    let mut observed = Vec::new();
    for event in &trace.events {
        let Some(function) = subject.program().function(event.function) else { continue };
        if let Op::Call(call) = &function.edge(event.edge).op
            && matches!(call.callee, Callee::Direct(name) if name.as_str() == "observe")
            && let [Some((Value::Int(id), _)), Some((Value::Int(value), _))] = event.arguments.as_slice()
        {
            observed.push((*id as usize, *value as i64));
        }
    }
    let is_same = |other: &Run| other.end == run.end && other.inputs == run.inputs;
    let ended =
        match (trace.dropped > 0 || run.end == End::OutOfSteps, is_same(&skipping), is_same(&compiled)) {
            (true, _, _) => Ok(Ended::TooLong),
            (false, true, true) => ended,
            (false, false, _) => {
                Err(format!("where iterations are skipped, it ends with {:?}", skipping.end))
            }
            (false, true, false) => Err(format!("as machine code, it ends with {:?}", compiled.end)),
        };
    Interpreted { ended, observed, check, is_vague: run.is_guess || !run.is_determined }
}
