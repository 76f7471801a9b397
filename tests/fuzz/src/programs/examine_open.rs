//! Compares engines with compiled runs of open programs. Each run is one that C allows; so nothing that happens in one is impossible,
//! and what no run does may happen all the same.

use std::collections::BTreeMap;

use anyhow::Result;
use proofline_verifier::checks::reach_error;

use super::{
    claims::claims,
    compiled::{Compiler, Ended},
    examine::{Engines, Fault, Outcome, Truth, engines_against, load},
    generate::vector,
    program::{Manner, Program, Vector},
};
use crate::Random;

/// Makes assertions of what all compilers' runs show, and asks the engines about them.
pub(super) fn examine_open(
    program: &Program,
    seed: u64,
    compiler: &Compiler,
    engines: &Engines,
) -> Result<Outcome> {
    let mut random = Random::new(seed ^ 0xabcd);
    let text = program.observing();
    let mut outcome = Outcome { texts: vec![text.clone()], ..Outcome::default() };
    let executables = match compiler.compile_with_all(&text, "observing", program.manner) {
        Ok(executables) => executables,
        // The compiler has defects of its own.
        Err(error) if error.to_string().contains("internal compiler error") => {
            outcome.is_skipped = true;
            return Ok(outcome);
        }
        Err(error) => {
            outcome.faults.push(Fault::Generator(error.to_string()));
            return Ok(outcome);
        }
    };
    let mut seen: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
    for (vector, executable) in program.vectors.iter().flat_map(|v| executables.iter().map(move |e| (v, e))) {
        let behaviour = executable.run(vector)?;
        match &behaviour.ended {
            Ended::Finished | Ended::Failed(_) => {}
            Ended::TooLong => {
                outcome.is_skipped = true;
                return Ok(outcome);
            }
            Ended::Undefined { line, message, .. } => {
                let name = &executable.name;
                let why = format!("{name}: line {line}: {message} on {vector:?}");
                outcome.faults.push(Fault::Generator(why));
                return Ok(outcome);
            }
        }
        for (id, value) in behaviour.observed {
            seen.entry(id).or_default().push(value);
        }
    }
    let claimed = claims(program, &seen, &mut random);
    outcome.texts.push(claimed.clone());
    let mut vectors = program.vectors.clone();
    vectors.extend((0..6).map(|_| vector(&mut random)));
    judge_open(&claimed, &vectors, program.manner, compiler, engines, &mut outcome)?;
    Ok(outcome)
}

/// The engines against the runs of all compilers.
pub(super) fn judge_open(
    text: &str,
    vectors: &[Vector],
    manner: Manner,
    compiler: &Compiler,
    engines: &Engines,
    outcome: &mut Outcome,
) -> Result<()> {
    let executables = match compiler.compile_with_all(text, "claiming", manner) {
        Ok(executables) => executables,
        Err(error) => {
            outcome.faults.push(Fault::Generator(error.to_string()));
            return Ok(());
        }
    };
    let mut fails = BTreeMap::new();
    for (vector, executable) in vectors.iter().flat_map(|v| executables.iter().map(move |e| (v, e))) {
        if let Ended::Failed(line) = executable.run(vector)?.ended {
            fails.entry((line, reach_error::CHECK.id())).or_insert_with(|| vector.clone());
        }
    }
    let (Some(executable), Some(loaded)) = (executables.first(), load(text, manner, outcome)) else {
        return Ok(());
    };
    engines_against(&loaded, &Truth { fails, executable, manner }, engines, outcome)
}
