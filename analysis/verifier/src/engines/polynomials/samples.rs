//! Candidates for functions that call themselves, from runs of the program with small inputs: polynomials that are zero whenever such a function begins or
//! returns, numbers that divide others, and numbers that are not negative.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use proofline_cfa::{Name, Scalar};
use proofline_cpa::Unknown;

use super::{
    Search,
    divisibility::Divides,
    exponentials,
    ideal::{Equation, Ring},
    paths::{Cell, Cut},
    polynomial::{Polynomial, Symbol},
    vanishing::vanishing,
};
use crate::{
    engines::{Question, pool::Random},
    interpret::{CallNumbers, Choice, Interface, Limits, Machine, Oracle},
};

/// Runs, at most; edges of each; calls of each that are looked at.
const MOST_RUNS: u64 = 48;
const MOST_EDGES: u64 = 20_000;
const MOST_CALLS: usize = 200;
/// Edges of all runs, at most.
const MOST_EDGES_OF_ALL: u64 = 300_000;
/// Points of a cut point.
const MOST_POINTS: usize = 300;
/// The degree of equations.
const MOST_DEGREE: u32 = 3;
/// Larger numbers may come from results that wrapped around.
const LARGEST: i128 = 1 << 30;
/// Few cells are looked at in pairs.
const MOST_CELLS_IN_PAIRS: usize = 10;

impl Search<'_> {
    /// Adds what runs show of functions that call themselves.
    pub(super) fn guess_from_runs(&mut self, question: &Question<'_>) -> Result<(), Unknown> {
        if self.paths.procedures.is_empty() {
            return Ok(());
        }
        let paths = self.paths;
        let interfaces: Vec<Interface> = paths
            .procedures
            .iter()
            .map(|(name, of)| interface(*name, &paths.cuts[of.entry], &paths.cuts[of.exit]))
            .collect();
        let calls = calls(question, &interfaces)?;
        for interface in &interfaces {
            let Some(procedure) = paths.procedures.get(&interface.function) else { continue };
            for cut in [procedure.entry, procedure.exit] {
                let cells = &paths.cuts[cut].cells;
                let mut points: BTreeSet<Vec<BigInt>> = BTreeSet::new();
                for call in calls.iter().filter(|call| call.function == interface.function) {
                    let point =
                        cells.iter().map(|(cell, _)| value(*cell, interface, call, cut == procedure.exit));
                    points.extend(point.collect::<Option<Vec<BigInt>>>());
                    if points.len() >= MOST_POINTS {
                        break;
                    }
                }
                self.guess_from_points(cut, &points.into_iter().collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    fn guess_from_points(&mut self, cut: usize, points: &[Vec<BigInt>]) -> Result<(), Unknown> {
        if points.is_empty() {
            return Ok(());
        }
        let count = self.paths.cuts[cut].cells.len() as u32;
        self.budget.spend(points.len() as u64 * u64::from(count))?;
        // Of what wraps around: modulo the smallest of these types.
        let unsigned = self.paths.cuts[cut].cells.iter().filter(|(_, ty)| !ty.signed);
        let wraps = unsigned.map(|(_, ty)| ty.bits).min().map(Ring::Modulo);
        for polynomial in vanishing(points, count, MOST_DEGREE) {
            let candidates = &mut self.candidates[cut];
            for ring in [Some(Ring::Integers), wraps].into_iter().flatten() {
                if candidates.equations.len() < super::MOST_CANDIDATES {
                    candidates.equations.push(Equation { polynomial: polynomial.clone(), ring });
                    candidates.version += 1;
                }
            }
        }
        let values = |symbol: u32| points.iter().map(move |point| &point[symbol as usize]);
        let one = BigInt::from(1);
        let is_power = |symbol: u32| matches!(self.paths.cuts[cut].cells[symbol as usize].0, Cell::Power(..));
        let cells: Vec<u32> = (0..count).filter(|symbol| !is_power(*symbol)).collect();
        for &symbol in cells.iter().filter(|_| cells.len() <= MOST_CELLS_IN_PAIRS) {
            let cell = Polynomial::symbol(Symbol(symbol));
            for least in [&one, &BigInt::ZERO] {
                if values(symbol).all(|value| value >= least) {
                    self.propose(cut, Polynomial::constant(least.clone()).minus(&cell));
                }
            }
            for &other in cells.iter().filter(|other| **other != symbol) {
                let divides = |(divisor, dividend): (&BigInt, &BigInt)| {
                    *divisor > BigInt::ZERO && dividend % divisor == BigInt::ZERO
                };
                let is_one = values(symbol).all(|value| *value == one);
                if !is_one && values(symbol).zip(values(other)).all(divides) {
                    let dividend = Polynomial::symbol(Symbol(other));
                    self.candidates[cut].divides.push(Divides { divisor: cell.clone(), dividend });
                    self.candidates[cut].version += 1;
                }
            }
        }
        Ok(())
    }
}

/// What cells of a function's cut points are made of.
fn interface(function: Name, entry: &Cut, exit: &Cut) -> Interface {
    let mut interface = Interface { function, parameters: Vec::new(), globals: Vec::new() };
    for (cell, _) in &entry.cells {
        if let Cell::Local(_, id) = cell {
            interface.parameters.push(*id);
        }
    }
    for (cell, _) in &exit.cells {
        if let Cell::Global(name) = cell {
            interface.globals.push(*name);
        }
    }
    interface
}

/// What a cell was in a call.
fn value(cell: Cell, interface: &Interface, call: &CallNumbers, at_exit: bool) -> Option<BigInt> {
    let argument = |id| {
        let at = interface.parameters.iter().position(|known| *known == id)?;
        call.arguments.get(at).copied().flatten()
    };
    let global = |name, values: &[Option<i128>]| {
        let at = interface.globals.iter().position(|known| *known == name)?;
        values.get(at).copied().flatten()
    };
    let value = match cell {
        Cell::Local(_, id) | Cell::Before(id) => argument(id)?,
        Cell::BeforeGlobal(name) => global(name, &call.before)?,
        Cell::Global(name) if at_exit => global(name, &call.after.as_ref()?.0)?,
        Cell::Global(name) => global(name, &call.before)?,
        Cell::Power(base, id) => return Some(exponentials::value(base, &BigInt::from(argument(id)?))),
        Cell::Result => call.after.as_ref()?.1?,
        Cell::Wrapped(_) => return None,
    };
    (value.abs() <= LARGEST).then(|| BigInt::from(value))
}

/// Calls of these functions in runs of the program.
fn calls(question: &Question<'_>, interfaces: &[Interface]) -> Result<Vec<CallNumbers>, Unknown> {
    let code = question.subject.code();
    let limits = Limits {
        steps: MOST_EDGES,
        depth: 2_000,
        skips_after: u64::MAX,
        compiles_after: u64::MAX,
        ..Limits::default()
    };
    let mut calls = Vec::new();
    let mut left = MOST_EDGES_OF_ALL;
    for run in 0..MOST_RUNS {
        let oracle = Small { run: run as i128, random: Random(0x9e37_79b9 + run) };
        let machine = Machine::new(code, oracle, limits).with_budget(question.budget);
        let run = machine.logging_calls(interfaces, MOST_CALLS).run(question.entry);
        question.budget.spend(run.steps / 16 + 1)?;
        let is_new = !run.inputs.is_empty();
        calls.extend(run.calls);
        left = left.saturating_sub(run.steps);
        if left == 0 || !is_new {
            break;
        }
    }
    Ok(calls)
}

/// Small numbers: the same one first, then any.
struct Small {
    run: i128,
    random: Random,
}

impl Oracle for Small {
    fn choose(&mut self, choice: &Choice) -> i128 {
        let value = match self.run {
            0..=8 => self.run,
            _ => (self.random.next() % 24) as i128 - i128::from(self.run % 3 == 0) * 6,
        };
        match choice.scalar {
            Scalar::Int(ty) => ty.wrap(value),
            Scalar::Pointer => 0,
            Scalar::Float(_) => i128::from((value as f64).to_bits()),
        }
    }
}
