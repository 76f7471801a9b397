//! Compares the interpreter and the engines with the sanitizers.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use anyhow::Result;
use proofline_cfa::Cause;
use proofline_verifier::{
    Unknown,
    finding::Finding,
    interpret::Code,
    portfolio::{Control, Request, Round, check},
    property::Property,
    report::Report,
    verdict::Verdict,
};

use super::truth::{Fact, Trouble, Truth};
use crate::programs::{
    compiled::{Compiler, Ended},
    examine::{Engines, Fault, Loaded, Outcome, PORTFOLIO, load},
    interpreted::interpret,
    program::{Manner, Vector},
};

/// The check that fails at the end only.
const LEAK: &str = "memory-leak";

/// Examines a text.
///
/// # Errors
/// If a compiler cannot be run. (What it finds is part of the outcome.)
pub(crate) fn examine_heap(
    text: &str,
    vectors: &[Vector],
    manner: Manner,
    compiler: &Compiler,
    engines: &Engines,
) -> Result<Outcome> {
    let mut outcome = Outcome { texts: vec![text.to_owned()], ..Outcome::default() };
    let truth = match Truth::new(compiler, text) {
        Ok(truth) => truth,
        Err(error) => {
            outcome.faults.push(Fault::Generator(error.to_string()));
            return Ok(outcome);
        }
    };
    let Some(loaded) = load(text, Manner::default(), &mut outcome) else { return Ok(outcome) };
    let mut fails: BTreeMap<Trouble, Vector> = BTreeMap::new();
    for vector in vectors {
        let fact = truth.of(vector)?;
        match &fact {
            Fact::TooLong => {
                outcome.is_skipped = true;
                return Ok(outcome);
            }
            Fact::Wrong(trouble) if trouble.checks.is_empty() || !manner.is_risky => {
                let (line, message) = (trouble.line, &trouble.message);
                outcome.faults.push(Fault::Generator(format!("line {line}: {message} on {vector:?}")));
                return Ok(outcome);
            }
            Fact::Wrong(trouble) => {
                // Addresses are in the message.
                let trouble = Trouble { message: String::new(), ..trouble.clone() };
                fails.entry(trouble).or_insert_with(|| vector.clone());
            }
            Fact::Right(_) => {}
        }
        if let Some(difference) = difference(&loaded, vector, &fact) {
            let fault = Fault::Interpreter(format!("{difference} on {vector:?}"));
            if !outcome.faults.iter().any(|other| other.kind() == fault.kind()) {
                outcome.faults.push(fault);
            }
        }
    }
    for engine in &engines.names {
        ask(&loaded, &truth, &fails, engine, engines, &mut outcome)?;
    }
    Ok(outcome)
}

/// How the interpreter's run differs from the compiled one.
fn difference(loaded: &Loaded, vector: &Vector, fact: &Fact) -> Option<String> {
    let run = catch_unwind(AssertUnwindSafe(|| interpret(&loaded.subject, &loaded.sources, vector)));
    let Ok(run) = run else { return Some("panic".into()) };
    // These programs leave nothing open: a value that the interpreter does not know is a lack, and what follows from it no mistake.
    let guess = if run.is_vague { "guess: " } else { "" };
    let ended = match (run.ended, fact) {
        (Err(why), _) => return Some(format!("stuck: {why}")),
        // Elsewhere a leak is no end of its own.
        (Ok(Ended::Finished), _) if run.check.is_some_and(|check| check.code() == LEAK) => {
            Ended::Undefined { line: 0, check: run.check, message: String::new() }
        }
        (Ok(ended), _) => ended,
    };
    match (&ended, fact) {
        (Ended::Finished, Fact::Right(observed)) => {
            let at = run.observed.iter().zip(observed).take_while(|(ours, theirs)| ours == theirs).count();
            let (ours, theirs) = (run.observed.get(at), observed.get(at));
            (run.observed != *observed)
                .then(|| format!("{guess}observation {at}: {ours:?}, compiled {theirs:?}"))
        }
        (Ended::Undefined { line, check: Some(check), .. }, Fact::Wrong(trouble)) => {
            let is_here = *line == trouble.line || trouble.is_leak();
            let is_this = trouble.checks.contains(&check.code());
            (!is_here || !is_this).then(|| {
                format!(
                    "{guess}ends with {} in line {line}, compiled: line {} {}",
                    check.code(),
                    trouble.line,
                    trouble.message
                )
            })
        }
        (ended, Fact::Wrong(trouble)) => {
            Some(format!("{guess}misses line {}, {}: {ended:?}", trouble.line, trouble.message))
        }
        (ended, _) => Some(format!("{guess}ends with {ended:?}, and the compiled program ends well")),
    }
}

/// Asks an engine about everything, and compares.
fn ask(
    loaded: &Loaded,
    truth: &Truth,
    fails: &BTreeMap<Trouble, Vector>,
    engine: &str,
    engines: &Engines,
    outcome: &mut Outcome,
) -> Result<()> {
    let request = Request {
        property: Property::Everything,
        engines: if engine == PORTFOLIO { Vec::new() } else { vec![engine.to_owned()] },
        steps: engines.steps,
        first_only: false,
        round: Round::default(),
        under: std::sync::Arc::default(),
    };
    let deadline = engines.limit.map(|limit| Instant::now() + limit);
    let report = check(&loaded.db, &request, &[], &Control { deadline, ..Control::default() });
    let report = report.map_err(|stopped| anyhow::anyhow!("nobody stops it: {stopped:?}"))?;
    let mut all = [0; 3];
    for verdict in report.verdicts.values() {
        match verdict {
            Verdict::Proved(_) => all[0] += 1,
            Verdict::Violated(_) => all[1] += 1,
            Verdict::Unknown(why) => {
                all[2] += 1;
                if let Unknown::InternalError(why) = why {
                    outcome.faults.push(Fault::Internal { engine: engine.to_owned(), why: why.clone() });
                }
            }
        }
    }
    let sum = |name: String, these: [usize; 3], outcome: &mut Outcome| {
        let counts = outcome.counts.entry(name).or_default();
        for (sum, this) in counts.iter_mut().zip(these) {
            *sum += this;
        }
    };
    let whole = match all {
        [_, 0, 0] => [1, 0, 0],
        [_, 0, _] => [0, 0, 1],
        _ => [0, 1, 0],
    };
    let side = if fails.is_empty() { "right" } else { "wrong" };
    sum(engine.to_owned(), all, outcome);
    sum(format!("{engine}: {side} programs"), whole, outcome);
    unsound(loaded, &report, engine, fails, outcome);
    for finding in &report.findings {
        confirm(loaded, finding, engine, truth, outcome)?;
    }
    Ok(())
}

/// What a sanitizer has stopped: not all of the obligations about it may be proved.
fn unsound(
    loaded: &Loaded,
    report: &Report,
    engine: &str,
    fails: &BTreeMap<Trouble, Vector>,
    outcome: &mut Outcome,
) {
    for (trouble, inputs) in fails {
        let mut here = Vec::new();
        let mut everywhere = Vec::new();
        for ((function, id), verdict) in &report.verdicts {
            let Some(obligation) =
                loaded.subject.program().function(*function).and_then(|f| f.obligations.get(id.index()))
            else {
                continue;
            };
            let is_proved = matches!(verdict, Verdict::Proved(_));
            everywhere.push(is_proved);
            let line = loaded.sources.position(*function, obligation.site).map(|p| p.line + 1);
            if trouble.checks.contains(&obligation.check.code())
                && (trouble.is_leak() || line == Some(trouble.line))
            {
                here.push(is_proved);
            }
        }
        // Where nothing is asked, at least the program is not to be called right.
        let asked = if here.is_empty() { everywhere } else { here };
        if asked.iter().all(|is_proved| *is_proved) {
            outcome.faults.push(Fault::Unsound {
                engine: engine.to_owned(),
                line: trouble.line,
                check: trouble.checks.first().copied().unwrap_or_default(),
                inputs: inputs.clone(),
            });
        }
    }
}

/// Feeds the inputs of a finding to the compiled program.
fn confirm(
    loaded: &Loaded,
    finding: &Finding,
    engine: &str,
    truth: &Truth,
    outcome: &mut Outcome,
) -> Result<()> {
    let line = finding.position.as_ref().map_or(0, |p| p.line + 1);
    let mut alarm = |why: String| {
        outcome.faults.push(Fault::FalseAlarm {
            engine: engine.to_owned(),
            line,
            check: finding.check.code(),
            why,
        });
    };
    let asked = loaded.subject.for_question(&Property::Everything);
    let Some(run) = finding.counterexample.replay(&Code::new(asked.program())) else {
        alarm("it cannot be replayed".into());
        return Ok(());
    };
    let (inputs, choices): (Vec<_>, Vec<_>) =
        run.inputs.iter().partition(|(question, _)| matches!(question.cause, Cause::Input(_)));
    // Where an allocation fails, nothing can be compared.
    if choices.iter().any(|(_, answer)| *answer != 0) {
        return Ok(());
    }
    let vector: Vector = inputs.iter().map(|(_, answer)| *answer as i64).collect();
    let fact = truth.of(&vector)?;
    let is_leak = finding.check.code() == LEAK;
    let happens = match &fact {
        Fact::Wrong(trouble) if is_leak => trouble.is_leak(),
        Fact::Wrong(trouble) => trouble.line == line,
        Fact::Right(_) | Fact::TooLong => false,
    };
    if !happens {
        let what = match fact {
            Fact::Wrong(trouble) => format!("{} in line {}", trouble.message, trouble.line),
            other => format!("{other:?}"),
        };
        alarm(format!("with the inputs {vector:?} the compiled program: {what}"));
    }
    Ok(())
}
