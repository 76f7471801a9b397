//! Proof by cases: the values of the program's first inputs are split into ranges, down to single values where it must be, and intervals
//! decide each range. With one value per input, recursion is followed to its end, so that programs over few inputs that lie in small
//! ranges are decided completely. The ranges of one round cover all values, and the reached set of each range is looked at again: that is the whole argument.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use proofline_cfa::{Cause, EdgeId, Expr, Float, FloatType, Function, Op, Rounding, Scalar, visit};
use proofline_cpa::{
    Checker, Config, Outcome, Unknown,
    bam::{Blocks, MemoryStore},
};
use proofline_domains::{IntervalAnalysis, IntervalOptions, interval::Floats};
use proofline_program_analysis::Environment;

use super::{Answer, Decision, Engine, Question, assumptions::assuming};
use crate::pass::{certify, reachability, uncertified};

/// Ranges that are looked at, at most.
const MOST_CASES: usize = 3_000;
/// After so many ranges there must be an end in sight:
const EARLY_CASES: usize = 200;
/// so few values left.
const FEW_VALUES: u128 = 20_000;
/// Steps for a range, and for a single value of each input.
const RANGE_STEPS: u64 = 20_000;
const POINT_STEPS: u64 = 300_000;
/// How often a recursive call is followed with different ranges before they are widened.
const RANGE_UNROLLINGS: u32 = 8;
/// More inputs than this are not split.
const MOST_INPUTS: usize = 3;

/// The engine.
#[derive(Clone, Copy, Debug)]
pub struct Cases;

/// A range per input: smallest and largest value; of floats, their places in the order of the format.
type Case = Vec<(i128, i128)>;

impl Engine for Cases {
    fn name(&self) -> &'static str {
        "cases"
    }

    fn knows_memory(&self) -> bool {
        true
    }

    fn decide(&self, question: &Question<'_>) -> Decision {
        let holds = |count| format!("{count} ranges of the inputs' values were excluded one by one");
        let decided = match assuming(question.subject) {
            Some(subject) => decide(&Question { subject: &subject, ..*question }),
            None => decide(question),
        };
        decided.map(|count| Answer::Holds(holds(count))).into()
    }
}

fn decide(question: &Question<'_>) -> Result<usize, Unknown> {
    let env = question.subject.env();
    let function = env
        .function(question.entry.name)
        .ok_or_else(|| Unknown::InternalError("an entry without a body".into()))?;
    let inputs = inputs(env, function);
    if question.entry.is_library() || inputs.is_empty() {
        return Err(Unknown::NotApplicable("there is no input to split".into()));
    }
    let cuts: Vec<BTreeSet<i128>> = inputs.iter().map(|input| cuts(function, input.format)).collect();
    let whole: Case = inputs.iter().map(|input| input.range).collect();
    let has_floats = inputs.iter().any(|input| matches!(input.format, Scalar::Float(_)));
    let mut open = VecDeque::from([whole]);
    let mut count = 0;
    while let Some(case) = open.pop_front() {
        count += 1;
        if holds(question, &inputs, &case)? {
            continue;
        }
        let Some((a, b)) = split(&case, &cuts) else {
            return Err(Unknown::Unconfirmed(
                "the ranges of the values decide it for no single input".into(),
            ));
        };
        open.push_back(a);
        open.push_back(b);
        if count + open.len() > MOST_CASES || !has_floats && count > EARLY_CASES && left(&open) > FEW_VALUES {
            return Err(Unknown::OutOfBudget);
        }
    }
    Ok(count)
}

/// Whether intervals exclude every violation with these inputs.
fn holds(question: &Question<'_>, inputs: &[Input], case: &Case) -> Result<bool, Unknown> {
    let Question { subject, entry, targets, budget, .. } = *question;
    let is_point = case.iter().all(|(low, high)| low == high);
    let ranges: BTreeMap<EdgeId, (i128, i128)> =
        inputs.iter().map(|input| input.edge).zip(case.iter().copied()).collect();
    let unrollings = if is_point { u32::MAX } else { RANGE_UNROLLINGS };
    let options = IntervalOptions { input_ranges: ranges, unrollings, ..subject.interval_options(entry) };
    let analysis = IntervalAnalysis::new(subject.env().clone(), options);
    let config = Config { blocks: Blocks::FUNCTIONS, cegar: false, certificate: true, ..Config::default() };
    let run = reachability(subject.env(), entry, config, targets.set().clone());
    let mut checker = Checker::new(&analysis, &run, None, MemoryStore::default())?;
    let steps = if is_point { POINT_STEPS } else { RANGE_STEPS }.min(budget.left());
    let own = question.own_budget(steps);
    let outcome = checker.run(&own);
    budget.spend(steps - own.left())?;
    match outcome {
        Outcome::Holds => {
            certify(&uncertified(checker)?, &analysis, subject.env(), entry, budget)?;
            Ok(true)
        }
        Outcome::Unknown(Unknown::Cancelled) => Err(Unknown::Cancelled),
        Outcome::Reaches(_) | Outcome::Unknown(_) => Ok(false),
    }
}

/// What the program reads.
struct Input {
    /// The `havoc`.
    edge: EdgeId,
    format: Scalar,
    range: (i128, i128),
}

/// The inputs that are read at most once in each execution, with all their values. Others stay as they are.
fn inputs(env: &Arc<Environment>, function: &Function) -> Vec<Input> {
    if env.call_graph().is_recursive(function.name) {
        return Vec::new();
    }
    let structure = env.structure(function.name);
    function
        .edge_ids()
        .filter_map(|(edge, at)| match &at.op {
            Op::Havoc(input, Cause::Input(_))
                if structure.loops().iter().all(|l| !l.body.contains(&at.from)) =>
            {
                let format = input.scalar?;
                Some(Input { edge, format, range: values_of(format)? })
            }
            _ => None,
        })
        .take(MOST_INPUTS)
        .collect()
}

/// All values of a format; of floats, all places: the last one is that of NaN.
fn values_of(format: Scalar) -> Option<(i128, i128)> {
    match format {
        Scalar::Int(ty) => ty.is_exact().then(|| (ty.min(), ty.max())),
        Scalar::Float(ty) => {
            Some((Floats::place(Float::infinity(ty).negated())?, Floats::place(Float::nan(ty))?))
        }
        Scalar::Pointer => None,
    }
}

/// First values of ranges between which the function's conditions tell.
fn cuts(function: &Function, format: Scalar) -> BTreeSet<i128> {
    let mut cuts = BTreeSet::from([0]);
    let mut see = |part: &Expr| match (part, format) {
        (Expr::Int(value, _), Scalar::Int(_)) => cuts.extend([*value, value.saturating_add(1)]),
        (Expr::Float(value), Scalar::Float(ty)) => cuts.extend(places(*value, ty)),
        _ => {}
    };
    for edge in &function.edges {
        if let Op::Assume(condition) = &edge.op {
            visit::walk(condition, &mut see);
        }
    }
    // NaN is a case of its own.
    if let Scalar::Float(ty) = format {
        cuts.extend(Floats::place(Float::nan(ty)));
    }
    cuts
}

/// A number's place in a format, and the next one.
fn places(value: Float, format: FloatType) -> impl Iterator<Item = i128> {
    let place = Floats::place(value.convert(format, Rounding::NearestEven).value);
    place.into_iter().flat_map(|place| [place, place + 1])
}

/// Two cases for one: the widest range is cut at a value that the program names, or in the middle.
fn split(case: &Case, cuts: &[BTreeSet<i128>]) -> Option<(Case, Case)> {
    let (at, (low, high)) = case
        .iter()
        .copied()
        .enumerate()
        .max_by_key(|(at, (low, high))| (high - low, std::cmp::Reverse(*at)))?;
    if low == high {
        return None;
    }
    let named: Vec<i128> = cuts[at].range(low + 1..=high).copied().collect();
    let cut = named.get(named.len() / 2).copied().unwrap_or(low + (high - low) / 2 + 1);
    let (mut below, mut above) = (case.clone(), case.clone());
    below[at].1 = cut - 1;
    above[at].0 = cut;
    Some((below, above))
}

/// How many values are not decided.
fn left(open: &VecDeque<Case>) -> u128 {
    open.iter().fold(0u128, |sum, case| {
        let volume =
            case.iter().fold(1u128, |product, (low, high)| product.saturating_mul((high - low) as u128 + 1));
        sum.saturating_add(volume)
    })
}
