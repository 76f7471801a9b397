//! Compares everyone with the compiled program.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Result;
use proofline_cfa::Cause;
use proofline_db::{Database, Stopped};
use proofline_verifier::{
    CheckId, Subject, Unknown,
    checks::{memory_leak, reach_error},
    engines::names,
    finding::Finding,
    interpret::Code,
    load::Options,
    portfolio::{Control, Request, Round, check},
    property::Property,
    report::Report,
    sources::Sources,
    verdict::Verdict,
};

use super::{
    claims::claims,
    compiled::{Behaviour, Compiler, Ended, Executable},
    examine_open::{examine_open, judge_open},
    files::files,
    generate::vector,
    heap::examine_heap,
    interpreted::interpret,
    program::{Manner, Program, Vector},
    relations::Twins,
};
use crate::Random;

/// Stands for what is asked when no engine is named.
pub const PORTFOLIO: &str = "portfolio";

/// Which engines are asked, and how long.
#[derive(Clone, Debug)]
pub struct Engines {
    /// Names.
    pub names: Vec<String>,
    /// Steps per question.
    pub steps: u64,
    /// Wall-clock time per engine and program; none where the outcome is to be the same everywhere.
    pub limit: Option<Duration>,
}

impl Engines {
    /// Every engine that there is.
    pub fn all(steps: u64) -> Engines {
        Engines { names: names().iter().map(|name| (*name).to_owned()).collect(), steps, limit: None }
    }
}

/// A disagreement: a defect.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "named by meaning")]
pub enum Fault {
    /// The program has undefined behaviour although it must not, or is no C.
    Generator(String),
    /// The front end does not take the program.
    Refused(String),
    /// The interpreter does something else than the compiled program.
    Interpreter(String),
    /// A proof of something that a run violates.
    Unsound { engine: String, line: u32, check: &'static str, inputs: Vector },
    /// A violation that does not happen with its inputs.
    FalseAlarm { engine: String, line: u32, check: &'static str, why: String },
    /// An engine panicked, or contradicted itself.
    Internal { engine: String, why: String },
}

impl Fault {
    /// Faults of the same kind have the same word.
    pub fn kind(&self) -> String {
        match self {
            Fault::Generator(_) => "generator".into(),
            Fault::Refused(_) => "refused".into(),
            // The first word tells one from another: `ends`, `observation`, `stuck`.
            Fault::Interpreter(why) => format!("interpreter {}", why.split(' ').next().unwrap_or_default()),
            Fault::Unsound { engine, .. } => format!("unsound {engine}"),
            Fault::FalseAlarm { engine, .. } => format!("false alarm {engine}"),
            Fault::Internal { engine, .. } => format!("internal {engine}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Generator(why) | Fault::Refused(why) => write!(f, "{}: {why}", self.kind()),
            Fault::Interpreter(why) => write!(f, "interpreter: {why}"),
            Fault::Unsound { line, check, inputs, .. } => {
                write!(f, "{}: line {line} [{check}] is proved, but fails on {inputs:?}", self.kind())
            }
            Fault::FalseAlarm { line, check, why, .. } => {
                write!(f, "{}: line {line} [{check}]: {why}", self.kind())
            }
            Fault::Internal { why, .. } => write!(f, "{}: {why}", self.kind()),
        }
    }
}

/// What came out of one program.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Disagreements.
    pub faults: Vec<Fault>,
    /// The texts that were looked at: with observations, with assertions.
    pub texts: Vec<String>,
    /// Per engine: obligations proved, violated, unknown.
    pub counts: BTreeMap<String, [usize; 3]>,
    /// Too long to be of use.
    pub is_skipped: bool,
}

/// Examines a program: first its observations, then assertions made from them.
///
/// # Errors
/// If the compiler cannot be run. (What it finds is part of the outcome.)
pub fn examine(program: &Program, seed: u64, compiler: &Compiler, engines: &Engines) -> Result<Outcome> {
    if program.manner.is_open {
        return examine_open(program, seed, compiler, engines);
    }
    if program.manner.is_heap {
        return examine_heap(&program.observing(), &program.vectors, program.manner, compiler, engines);
    }
    let mut random = Random::new(seed ^ 0xabcd);
    let text = program.observing();
    let mut outcome = Outcome { texts: vec![text.clone()], ..Outcome::default() };
    let executable = match compiler.compile(&text, "observing", program.manner) {
        Ok(executable) => executable,
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
    for vector in &program.vectors {
        let behaviour = executable.run(vector)?;
        if behaviour.ended == Ended::TooLong {
            outcome.is_skipped = true;
            return Ok(outcome);
        }
        if let Ended::Undefined { line, check, message } = &behaviour.ended
            && (!program.manner.is_risky || check.is_none())
        {
            outcome.faults.push(Fault::Generator(format!("line {line}: {message} on {vector:?}")));
            return Ok(outcome);
        }
        for (id, value) in behaviour.observed {
            seen.entry(id).or_default().push(value);
        }
    }
    if !program.manner.is_risky {
        others(&text, &executable, program, compiler, &mut outcome)?;
    }
    interpreter(&text, &executable, &program.vectors, program.manner, &mut outcome)?;
    if !outcome.faults.is_empty() {
        return Ok(outcome);
    }
    let claimed = claims(program, &seen, &mut random);
    outcome.texts.push(claimed.clone());
    let mut vectors = program.vectors.clone();
    vectors.extend((0..10).map(|_| vector(&mut random)));
    judged(&claimed, &vectors, program.manner, compiler, engines, &mut outcome)?;
    Ok(outcome)
}

/// All compilers that were asked for do the same.
fn others(
    text: &str,
    first: &Executable,
    program: &Program,
    compiler: &Compiler,
    outcome: &mut Outcome,
) -> Result<()> {
    let others = match compiler.compile_with_others(text, "other", program.manner) {
        Ok(executables) => executables,
        Err(error) => {
            outcome.faults.push(Fault::Generator(error.to_string()));
            return Ok(());
        }
    };
    for (vector, other) in program.vectors.iter().flat_map(|vector| others.iter().map(move |o| (vector, o))) {
        let (truth, behaviour) = (first.run(vector)?, other.run(vector)?);
        if truth != behaviour {
            let name = &other.name;
            outcome.faults.push(Fault::Generator(format!("{name} does something else on {vector:?}")));
            return Ok(());
        }
    }
    Ok(())
}

/// Examines a finished text: the interpreter and the engines against the compiled program.
///
/// # Errors
/// If the compiler cannot be run. (What it finds is part of the outcome.)
pub fn examine_text(
    text: &str,
    vectors: &[Vector],
    manner: Manner,
    compiler: &Compiler,
    engines: &Engines,
) -> Result<Outcome> {
    if manner.is_heap {
        return examine_heap(text, vectors, manner, compiler, engines);
    }
    let mut outcome = Outcome { texts: vec![text.to_owned()], ..Outcome::default() };
    if manner.is_open {
        judge_open(text, vectors, manner, compiler, engines, &mut outcome)?;
        return Ok(outcome);
    }
    let executable = compiler.compile(text, "text", manner)?;
    for vector in vectors {
        if let Ended::Undefined { message, check, .. } = executable.run(vector)?.ended
            && (!manner.is_risky || check.is_none())
        {
            outcome.faults.push(Fault::Generator(message));
            return Ok(outcome);
        }
    }
    interpreter(text, &executable, vectors, manner, &mut outcome)?;
    judged(text, vectors, manner, compiler, engines, &mut outcome)?;
    Ok(outcome)
}

/// Examines twins: nothing violates the honest one, and the last inputs violate the other.
///
/// # Errors
/// If the compiler cannot be run. (What it finds is part of the outcome.)
pub fn examine_twins(twins: &Twins, compiler: &Compiler, engines: &Engines) -> Result<Outcome> {
    let mut outcome = Outcome { texts: vec![twins.honest.clone()], ..Outcome::default() };
    for (text, is_honest) in [(&twins.honest, true), (&twins.lying, false)] {
        let executable = match compiler.compile(text, "twin", Manner::default()) {
            Ok(executable) => executable,
            Err(error) => {
                outcome.faults.push(Fault::Generator(error.to_string()));
                return Ok(outcome);
            }
        };
        for (i, vector) in twins.vectors.iter().enumerate() {
            let ended = executable.run(vector)?.ended;
            let is_as_meant = match &ended {
                Ended::Finished => is_honest || i + 1 < twins.vectors.len(),
                Ended::Failed(_) => !is_honest,
                Ended::Undefined { .. } | Ended::TooLong => false,
            };
            if !is_as_meant {
                let honest = if is_honest { "honest" } else { "lying" };
                outcome.faults.push(Fault::Generator(format!("the {honest} twin: {ended:?} on {vector:?}")));
                outcome.texts.push(text.clone());
                return Ok(outcome);
            }
        }
        let one = examine_text(text, &twins.vectors, Manner::default(), compiler, engines)?;
        for (engine, these) in one.counts {
            let sum = outcome.counts.entry(engine).or_default();
            for (sum, this) in sum.iter_mut().zip(these) {
                *sum += this;
            }
        }
        outcome.faults.extend(one.faults);
        outcome.texts.push(text.clone());
        if !outcome.faults.is_empty() {
            break;
        }
    }
    Ok(outcome)
}

/// A program as users have it: in a query graph, and whole, to look at.
pub(super) struct Loaded {
    pub(super) db: Database,
    pub(super) subject: Subject,
    pub(super) sources: Sources,
}

pub(super) fn load(text: &str, manner: Manner, outcome: &mut Outcome) -> Option<Loaded> {
    let files: Vec<(PathBuf, String)> = files(text, manner.is_split)
        .into_iter()
        .zip(["/fuzz/program.c", "/fuzz/main.c"])
        .map(|(text, path)| (PathBuf::from(path), text))
        .collect();
    let loaded = catch_unwind(AssertUnwindSafe(|| -> Result<Loaded, Stopped> {
        let mut db = Database::new(files.iter().map(|(path, _)| path.clone()).collect(), Options::default());
        for (path, text) in &files {
            db.set_text(path, text);
        }
        let (subject, sources) = (db.subject()?, db.sources()?);
        Ok(Loaded { db, subject, sources })
    }));
    let fault = match loaded {
        Ok(Ok(loaded)) => match loaded.sources.problems().iter().find(|problem| problem.is_error) {
            None => return Some(loaded),
            Some(problem) => {
                let line = problem.position.as_ref().map_or(0, |p| p.line + 1);
                format!("line {line}: {}", problem.message)
            }
        },
        Ok(Err(stopped)) => format!("{stopped:?}"),
        Err(_) => "panic while reading".to_owned(),
    };
    outcome.faults.push(Fault::Refused(fault));
    None
}

/// The same runs in the interpreter.
fn interpreter(
    text: &str,
    executable: &Executable,
    vectors: &[Vector],
    manner: Manner,
    outcome: &mut Outcome,
) -> Result<()> {
    let Some(loaded) = load(text, manner, outcome) else { return Ok(()) };
    for vector in vectors {
        let truth = executable.run(vector)?;
        let Ok(run) = catch_unwind(AssertUnwindSafe(|| interpret(&loaded.subject, &loaded.sources, vector)))
        else {
            outcome.faults.push(Fault::Interpreter(format!("panic on {vector:?}")));
            return Ok(());
        };
        let difference = match &run.ended {
            Err(why) => Some(format!("stuck: {why}")),
            Ok(Ended::TooLong) => None,
            // gcc folds some operations away (`f(x / y) * 0`), and with them what was undefined.
            Ok(Ended::Undefined { .. })
                if manner.is_risky && !matches!(truth.ended, Ended::Undefined { .. }) =>
            {
                None
            }
            Ok(Ended::Undefined { .. }) if manner.is_risky && truth.observed.starts_with(&run.observed) => {
                None
            }
            Ok(ended) if !agree(ended, &truth.ended) => {
                Some(format!("ends with {ended:?}, compiled {:?}", truth.ended))
            }
            Ok(_) if run.observed != truth.observed => Some(first_difference(&run.observed, &truth)),
            // Comparing addresses is not determined, nothing here does; nor is more than the sign of `strcmp`.
            Ok(_) if run.is_vague && !text.contains("cmp(") => {
                Some("the run is said to be undetermined".to_owned())
            }
            Ok(_) => None,
        };
        if let Some(difference) = difference {
            outcome.faults.push(Fault::Interpreter(format!("{difference} on {vector:?}")));
            return Ok(());
        }
    }
    Ok(())
}

/// Operands are evaluated in any order, so of two faults on a line either may come first.
fn agree(a: &Ended, b: &Ended) -> bool {
    match (a, b) {
        (Ended::Undefined { line: a, .. }, Ended::Undefined { line: b, .. }) => a == b,
        (a, b) => a == b,
    }
}

fn first_difference(ours: &[(usize, i64)], truth: &Behaviour) -> String {
    let at = ours.iter().zip(&truth.observed).take_while(|(a, b)| a == b).count();
    format!("observation {at}: {:?}, compiled {:?}", ours.get(at), truth.observed.get(at))
}

/// The engines against the compiled program.
fn judged(
    text: &str,
    vectors: &[Vector],
    manner: Manner,
    compiler: &Compiler,
    engines: &Engines,
    outcome: &mut Outcome,
) -> Result<()> {
    let executable = match compiler.compile(text, "claiming", manner) {
        Ok(executable) => executable,
        Err(error) => {
            outcome.faults.push(Fault::Generator(error.to_string()));
            return Ok(());
        }
    };
    let Some(loaded) = load(text, manner, outcome) else { return Ok(()) };
    // What really fails: the first failure of each run.
    let mut fails: BTreeMap<(u32, CheckId), Vector> = BTreeMap::new();
    for vector in vectors {
        let ended = executable.run(vector)?.ended;
        let ours = if manner.is_risky {
            interpret(&loaded.subject, &loaded.sources, vector).ended.ok()
        } else {
            None
        };
        // Where gcc folded away what is undefined, the rest of the run says nothing.
        if ours.as_ref().is_some_and(|ours| !agree(ours, &ended)) {
            continue;
        }
        match ended {
            Ended::Failed(line) => {
                fails.entry((line, reach_error::CHECK.id())).or_insert_with(|| vector.clone())
            }
            Ended::Undefined { line, check: Some(check), .. } => {
                // Of two faults on a line gcc may come to one first and we to the other, which hides it.
                let first = match ours {
                    Some(Ended::Undefined { check: Some(first), .. }) => first,
                    _ => check,
                };
                fails.entry((line, first)).or_insert_with(|| vector.clone())
            }
            Ended::Finished | Ended::TooLong | Ended::Undefined { .. } => continue,
        };
    }
    let truth = Truth { fails, executable: &executable, manner };
    engines_against(&loaded, &truth, engines, outcome)
}

/// What compiled runs showed.
pub(super) struct Truth<'a> {
    /// Lines and checks that fail, and on what.
    pub(super) fails: BTreeMap<(u32, CheckId), Vector>,
    /// Runs a counterexample.
    pub(super) executable: &'a Executable,
    pub(super) manner: Manner,
}

/// Asks every engine, and compares.
pub(super) fn engines_against(
    loaded: &Loaded,
    truth: &Truth<'_>,
    engines: &Engines,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut confirmed = BTreeSet::new();
    for engine in &engines.names {
        let request = Request {
            // What an open program does after a read without a value is of interest, too.
            property: property(truth),
            engines: if engine == PORTFOLIO { Vec::new() } else { vec![engine.clone()] },
            steps: engines.steps,
            first_only: false,
            round: Round::default(),
            under: std::sync::Arc::default(),
        };
        let deadline = engines.limit.map(|limit| Instant::now() + limit);
        let control = Control { deadline, ..Control::default() };
        let report = check(&loaded.db, &request, &[], &control);
        let report = report.map_err(|stopped| anyhow::anyhow!("nobody stops it: {stopped:?}"))?;
        let counts = outcome.counts.entry(engine.clone()).or_default();
        for verdict in report.verdicts.values() {
            match verdict {
                Verdict::Proved(_) => counts[0] += 1,
                Verdict::Violated(_) => counts[1] += 1,
                Verdict::Unknown(why) => {
                    counts[2] += 1;
                    if let Unknown::InternalError(why) = why {
                        let fault = Fault::Internal { engine: engine.clone(), why: why.clone() };
                        if !outcome.faults.contains(&fault) {
                            outcome.faults.push(fault);
                        }
                    }
                }
            }
        }
        unsound(loaded, &report, engine, &truth.fails, outcome);
        // Of an open program the compiled one has one behaviour of many.
        let comparable = if truth.manner.is_open { &[][..] } else { &report.findings };
        // The compiled program does not look for leaks.
        for finding in comparable.iter().filter(|finding| finding.check != &memory_leak::CHECK) {
            let key =
                (finding.function, finding.counterexample.obligation, finding.counterexample.inputs.clone());
            if confirmed.insert(key) {
                confirm(loaded, finding, engine, truth, outcome)?;
            }
        }
    }
    Ok(())
}

/// A line and a check that fail on a run: not all of its obligations may be proved.
fn unsound(
    loaded: &Loaded,
    report: &Report,
    engine: &str,
    fails: &BTreeMap<(u32, CheckId), Vector>,
    outcome: &mut Outcome,
) {
    for ((line, check), inputs) in fails {
        let mut any = false;
        let mut all_proved = true;
        for ((function, id), verdict) in &report.verdicts {
            let Some(obligation) =
                loaded.subject.program().function(*function).and_then(|f| f.obligations.get(id.index()))
            else {
                continue;
            };
            let here =
                loaded.sources.position(*function, obligation.site).is_some_and(|p| p.line + 1 == *line);
            if here && obligation.check == *check {
                any = true;
                all_proved &= matches!(verdict, Verdict::Proved(_));
            }
        }
        if any && all_proved {
            outcome.faults.push(Fault::Unsound {
                engine: engine.to_owned(),
                line: *line,
                check: check.code(),
                inputs: inputs.clone(),
            });
        } else if !any {
            let why = format!("line {line}: {} fails, and there is no obligation", check.code());
            outcome.faults.push(Fault::Interpreter(why));
        }
    }
}

/// What is asked.
fn property(truth: &Truth<'_>) -> Property {
    if truth.manner.is_open { Property::UnreachCall } else { Property::Everything }
}

/// Feeds the inputs of a finding to the compiled program.
fn confirm(
    loaded: &Loaded,
    finding: &Finding,
    engine: &str,
    truth: &Truth<'_>,
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
    let asked = loaded.subject.for_question(&property(truth));
    let Some(run) = finding.counterexample.replay(&Code::new(asked.program())) else {
        alarm("it cannot be replayed".into());
        return Ok(());
    };
    // Whether an allocation fails is no input; where one fails, nothing can be compared.
    let (allocations, inputs): (Vec<_>, Vec<_>) =
        run.inputs.iter().partition(|(question, _)| question.is_of_allocation());
    if allocations.iter().any(|(_, answer)| *answer != 0) {
        return Ok(());
    }
    if let Some((question, _)) =
        inputs.iter().find(|(question, _)| !matches!(question.cause, Cause::Input(_)))
    {
        alarm(format!("it chooses what is no input: {:?}", question.cause));
        return Ok(());
    }
    let vector: Vector = inputs.iter().map(|(_, answer)| *answer as i64).collect();
    let ended = truth.executable.run(&vector)?.ended;
    let happens = match &ended {
        Ended::Failed(at) => *finding.check == reach_error::CHECK && *at == line,
        Ended::Undefined { line: at, .. } => *at == line,
        Ended::Finished | Ended::TooLong => false,
    };
    // In a risky program gcc may have folded the operation away.
    let is_folded = truth.manner.is_risky && *finding.check != reach_error::CHECK;
    if !happens && !is_folded {
        alarm(format!("with the inputs {vector:?} the compiled program ends with {ended:?}"));
    }
    Ok(())
}
