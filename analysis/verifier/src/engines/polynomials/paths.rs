//! The program's paths between cut points (the entry, the heads of loops, per stack of calls, and beginnings and ends of functions that call
//! themselves), each executed symbolically once. Other calls are followed; what cannot be modelled is an end that must not be reached.

use std::{collections::BTreeMap, sync::Arc};

use num_bigint::BigInt;
use proofline_cfa::{
    Argument, Base, Call, Callee, CompareOp, Constant, EdgeId, Expr, Function, IntType, Loc, LocalId, Lvalue,
    Name, ObligationId, Op, Scalar, scalar_of,
};
use proofline_cpa::Unknown;

use super::{
    facts::Facts,
    polynomial::{Polynomial, Symbol},
    procedures::Procedure,
    values::{Algebra, Comparison, Named, Number, Value, bounds_of},
};
use crate::engines::{Question, abstraction::Invariants};

/// Paths, at most; calls that are open at once; edges of one path.
const MOST_PATHS: usize = 3_000;
const MOST_CALLS: usize = 12;
const MOST_EDGES: u32 = 4_000;

/// What keeps an integer: a local of the call at a depth, or an object with static storage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Cell {
    Local(u32, LocalId),
    Global(Name),
    /// What it was where the function began that calls itself: a parameter, a global, and a power of a base whose exponent is a parameter.
    Before(LocalId),
    BeforeGlobal(Name),
    Power(u8, LocalId),
    /// What such a function returns.
    Result,
    /// No cell of the program's: the value that a type has of a polynomial of the other cells, the cut's with this number.
    Wrapped(usize),
}

/// A call that is open.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Frame {
    function: Name,
    /// Where the caller goes on.
    call: EdgeId,
}

/// The head of a loop, in a stack of calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    /// The function that calls itself where the path begins; `None`: the entry.
    pub(super) procedure: Option<Name>,
    stack: Vec<Frame>,
    function: Name,
    pub(super) loc: Loc,
}

/// Where a cut point is.
pub(super) enum Point {
    Head(Place),
    /// A function that calls itself begins.
    Entry(Name),
    /// It returns. No path begins there.
    Exit,
}

/// A cut point. Symbol `i` of its paths is the value of cell `i`.
pub(super) struct Cut {
    pub(super) point: Point,
    pub(super) cells: Vec<(Cell, IntType)>,
    /// Of cells [`Cell::Wrapped`].
    wrapped: Vec<Wrapped>,
}

/// The integer of a type that equals a polynomial modulo 2^width.
pub(super) type Wrapped = (Polynomial, IntType);

impl Cut {
    /// Where nothing but cells of the program is of interest.
    pub(super) fn plain(point: Point, cells: Vec<(Cell, IntType)>) -> Cut {
        Cut { point, cells, wrapped: Vec::new() }
    }

    /// How many cells are the program's.
    pub(super) fn plain_cells(&self) -> usize {
        self.cells.len() - self.wrapped.len()
    }
}

/// How a path ends.
pub(super) enum Target {
    /// At a cut point, with these values of its cells.
    Cut(usize, Vec<(Number, IntType)>),
    /// At an error location that is asked about.
    Error(Name, ObligationId),
    /// At what cannot be modelled.
    Unmodelled,
}

/// That a function has returned: cells of the cut point at its end have these values.
#[derive(Clone)]
pub(super) struct Use {
    pub(super) exit: usize,
    pub(super) values: Vec<(Number, IntType)>,
}

/// A path.
pub(super) struct Path {
    /// The cut point where it begins; `None`: the entry.
    pub(super) from: Option<usize>,
    pub(super) facts: Facts,
    /// Calls on it.
    pub(super) uses: Vec<Use>,
    /// Values that were named on it.
    pub(super) names: Vec<Named>,
    pub(super) to: Target,
}

/// All paths.
#[derive(Default)]
pub(super) struct Paths {
    pub(super) cuts: Vec<Cut>,
    pub(super) paths: Vec<Path>,
    pub(super) procedures: BTreeMap<Name, Procedure>,
}

/// Where an execution is.
#[derive(Clone)]
pub(super) struct State {
    pub(super) place: Place,
    pub(super) cells: BTreeMap<Cell, (Value, IntType)>,
    pub(super) algebra: Algebra,
    pub(super) uses: Vec<Use>,
    edges: u32,
}

pub(super) struct Explorer<'q> {
    pub(super) question: &'q Question<'q>,
    known: &'q Invariants,
    /// What is of interest besides cells, by where.
    wrapped: &'q BTreeMap<Place, Vec<Wrapped>>,
    pub(super) found: Paths,
}

/// Explores the program from the question's entry. `known`: ranges that are certified. `wrapped`: what is of interest at cut points besides cells.
///
/// # Errors
/// If the program has too many paths, calls what cannot be followed, or the budget is over.
pub(super) fn explore(
    question: &Question<'_>,
    known: &Invariants,
    wrapped: &BTreeMap<Place, Vec<Wrapped>>,
) -> Result<Paths, Unknown> {
    let mut explorer = Explorer { question, known, wrapped, found: Paths::default() };
    let mut entry = explorer.entry()?;
    if explorer.is_procedure(question.entry.name) {
        let arguments: Vec<(LocalId, Value)> = entry
            .cells
            .iter()
            .filter_map(|(cell, (value, _))| match cell {
                Cell::Local(_, id) => Some((*id, value.clone())),
                _ => None,
            })
            .collect();
        explorer.begin(None, &mut entry, question.entry.name, &arguments)?;
    } else {
        explorer.run(None, entry)?;
    }
    let mut next = 0;
    while next < explorer.found.cuts.len() {
        if let Some(state) = explorer.at_cut(next)? {
            explorer.run(Some(next), state)?;
        }
        next += 1;
    }
    Ok(explorer.found)
}

fn not_applicable(why: &str) -> Unknown {
    Unknown::NotApplicable(why.to_owned())
}

impl Explorer<'_> {
    pub(super) fn function(&self, name: Name) -> Result<&Arc<Function>, Unknown> {
        let function = self.question.subject.program().functions.get(&name);
        function.ok_or_else(|| Unknown::Unsupported(format!("{name} has no body")))
    }

    fn entry(&self) -> Result<State, Unknown> {
        let entry = self.question.entry;
        let program = self.question.subject.program();
        let function = self.function(entry.name)?;
        let mut algebra = Algebra::new(self.question.subject.wrapv());
        let mut cells = BTreeMap::new();
        for id in &function.parameters {
            if let Some(ty) = self.register(function, *id) {
                cells.insert(Cell::Local(0, *id), (Value::Number(algebra.any(ty)), ty));
            }
        }
        for (name, global) in &program.globals {
            let Some(Scalar::Int(ty)) = scalar_of(global.ty, program.data_model) else { continue };
            let is_known = global.defined && (!entry.is_library() || global.constant);
            let value = match &global.init[..] {
                [] => Some(0),
                [one] if one.offset == 0 && one.scalar == Scalar::Int(ty) && one.bits.is_none() => {
                    match one.value {
                        Constant::Int(value) => Some(value),
                        _ => None,
                    }
                }
                _ => None,
            };
            if let (true, true, Some(value)) = (is_known, ty.is_exact(), value) {
                let number = Number::exact(Polynomial::constant(value));
                cells.insert(Cell::Global(*name), (Value::Number(number), ty));
            }
        }
        let place = Place { procedure: None, stack: Vec::new(), function: entry.name, loc: function.entry };
        Ok(State { place, cells, algebra, uses: Vec::new(), edges: 0 })
    }

    /// The integer format of a local that only edges that name it change.
    pub(super) fn register(&self, function: &Function, id: LocalId) -> Option<IntType> {
        let local = function.local(id);
        match scalar_of(local.ty, self.question.subject.program().data_model) {
            Some(Scalar::Int(ty)) if !local.address_taken && ty.is_exact() => Some(ty),
            _ => None,
        }
    }

    /// Any state at a cut point; `None` where no path begins.
    fn at_cut(&self, at: usize) -> Result<Option<State>, Unknown> {
        let cut = &self.found.cuts[at];
        let place = match &cut.point {
            Point::Head(place) => place.clone(),
            Point::Entry(name) => {
                let loc = self.function(*name)?.entry;
                Place { procedure: Some(*name), stack: Vec::new(), function: *name, loc }
            }
            Point::Exit => return Ok(None),
        };
        let algebra = Algebra::new(self.question.subject.wrapv());
        let mut state = State { place, cells: BTreeMap::new(), algebra, uses: Vec::new(), edges: 0 };
        let known = self.known.get(&(state.place.function, state.place.loc));
        let depth = state.place.stack.len() as u32;
        for (cell, ty) in &cut.cells {
            if let Cell::Wrapped(at) = cell {
                let number = Number { polynomial: cut.wrapped[*at].0.clone(), exact: false };
                state.algebra.exactly(&number, *ty);
                continue;
            }
            let range = match cell {
                Cell::Local(at, id) if *at == depth => known.and_then(|known| known.get(id)),
                _ => None,
            };
            let bounds = range.map_or(bounds_of(*ty), |(low, high)| {
                let of_type = bounds_of(*ty);
                (of_type.0.max(BigInt::from(*low)), of_type.1.min(BigInt::from(*high)))
            });
            let number = match cell {
                Cell::Power(base, id) => state.power(*base, *id),
                _ => Number::exact(Polynomial::symbol(state.algebra.facts.fresh(bounds))),
            };
            state.cells.insert(*cell, (Value::Number(number), *ty));
        }
        if let Point::Entry(_) = cut.point {
            state.remember_entry();
        }
        Ok(Some(state))
    }

    /// Follows every path to its end.
    fn run(&mut self, from: Option<usize>, start: State) -> Result<(), Unknown> {
        let mut open = vec![(start, true)];
        while let Some((state, is_start)) = open.pop() {
            let function = self.function(state.place.function)?.clone();
            let structure = self.question.subject.env().structure(function.name);
            let loc = state.place.loc;
            if function.unsupported.iter().any(|(at, _)| *at == loc) {
                self.end(from, state, Target::Unmodelled)?;
                continue;
            }
            if let Some(id) = structure.obligation_at(loc) {
                if self.question.targets.contains(function.name, id) {
                    self.end(from, state, Target::Error(function.name, id))?;
                }
                continue;
            }
            if !is_start && structure.loop_at(loc).is_some() {
                self.arrive(from, state)?;
                continue;
            }
            if loc == function.exit {
                match state.place.procedure {
                    Some(name) if state.place.stack.is_empty() => self.return_from(from, state, name)?,
                    _ => open.extend(self.leave(state, &function)?.map(|state| (state, false))),
                }
                continue;
            }
            for id in structure.successors(loc) {
                self.question.budget.spend(10)?;
                let mut next = state.clone();
                next.edges += 1;
                if next.edges > MOST_EDGES || structure.loops().iter().any(|one| one.irreducible) {
                    return Err(not_applicable("a loop has no head"));
                }
                next.place.loc = function.edge(*id).to;
                if self.step(from, &mut next, &function, *id)? {
                    open.push((next, false));
                }
            }
        }
        Ok(())
    }

    pub(super) fn end(&mut self, from: Option<usize>, state: State, to: Target) -> Result<(), Unknown> {
        if self.found.paths.len() >= MOST_PATHS {
            return Err(Unknown::OutOfBudget);
        }
        let (facts, names) = state.algebra.into_facts();
        self.found.paths.push(Path { from, facts, uses: state.uses, names, to });
        Ok(())
    }

    fn arrive(&mut self, from: Option<usize>, mut state: State) -> Result<(), Unknown> {
        let is_here = |cut: &Cut| matches!(&cut.point, Point::Head(place) if *place == state.place);
        let at = match self.found.cuts.iter().position(is_here) {
            Some(at) => at,
            None => {
                let mut cells: Vec<(Cell, IntType)> =
                    state.cells.iter().map(|(cell, (_, ty))| (*cell, *ty)).collect();
                let mut wrapped = self.wrapped.get(&state.place).cloned().unwrap_or_default();
                // Of cells alone: any other symbol would mean another thing on each path.
                let is_cell = |symbol: Symbol| (symbol.0 as usize) < cells.len();
                wrapped.retain(|(polynomial, _)| polynomial.symbols().all(is_cell));
                cells.extend((0..).map(Cell::Wrapped).zip(wrapped.iter().map(|(_, ty)| *ty)));
                self.found.cuts.push(Cut { point: Point::Head(state.place.clone()), cells, wrapped });
                self.found.cuts.len() - 1
            }
        };
        let (cells, wrapped) = (self.found.cuts[at].cells.clone(), self.found.cuts[at].wrapped.clone());
        let mut values = Vec::with_capacity(cells.len());
        for (cell, ty) in cells {
            let number = match cell {
                Cell::Wrapped(at) => state.algebra.wrapped(&wrapped[at], &values),
                _ => state.number_of(cell, ty),
            };
            values.push((number, ty));
        }
        self.end(from, state, Target::Cut(at, values))
    }

    /// Back in the caller; `None`: the program ends.
    fn leave(&self, mut state: State, function: &Function) -> Result<Option<State>, Unknown> {
        let depth = state.place.stack.len() as u32;
        let Some(frame) = state.place.stack.pop() else { return Ok(None) };
        let result = function.result.and_then(|slot| state.cells.get(&Cell::Local(depth, slot)).cloned());
        state.cells.retain(|cell, _| !matches!(cell, Cell::Local(at, _) if *at == depth));
        let caller = self.function(frame.function)?.clone();
        let edge = caller.edge(frame.call);
        state.place.function = frame.function;
        state.place.loc = edge.to;
        if let Op::Call(Call { dst: Some(dst), .. }) = &edge.op {
            self.write(&mut state, &caller, dst, result.map(|(value, _)| value));
        }
        Ok(Some(state))
    }

    /// Executes an edge. Whether execution goes on.
    fn step(
        &mut self,
        from: Option<usize>,
        state: &mut State,
        function: &Function,
        id: EdgeId,
    ) -> Result<bool, Unknown> {
        match &function.edge(id).op {
            Op::Skip | Op::Free(_) => {}
            Op::Assume(condition) => return Ok(self.assume(state, function, condition, true)),
            Op::Assign(dst, expr) => {
                let value = self.value(state, function, expr);
                self.write(state, function, dst, value);
            }
            Op::Copy(dst, _) | Op::Havoc(dst, _) => self.write(state, function, dst, None),
            Op::Allocate(allocation) => self.write(state, function, &allocation.dst, None),
            Op::Clobber(..) | Op::CopyBytes(..) | Op::FillBytes(..) | Op::HavocBytes(..) => forget(state),
            Op::Begin(id) | Op::End(id) => {
                state.cells.remove(&Cell::Local(state.place.stack.len() as u32, *id));
            }
            Op::Call(call) => self.enter(from, state, function, id, call)?,
        }
        Ok(true)
    }

    fn enter(
        &mut self,
        from: Option<usize>,
        state: &mut State,
        caller: &Function,
        id: EdgeId,
        call: &Call,
    ) -> Result<(), Unknown> {
        let Callee::Direct(name) = call.callee else {
            return Err(not_applicable("a function is called through a pointer"));
        };
        if self.is_procedure(name) {
            return self.call(from, state, caller, id, call, name);
        }
        let callee = self.function(name)?.clone();
        if state.place.stack.len() >= MOST_CALLS {
            return Err(not_applicable("too many calls are open"));
        }
        let depth = state.place.stack.len() as u32 + 1;
        for (parameter, value) in self.arguments(state, caller, &callee, call) {
            if let Some(ty) = self.register(&callee, parameter) {
                state.cells.insert(Cell::Local(depth, parameter), (value, ty));
            }
        }
        state.place.stack.push(Frame { function: caller.name, call: id });
        state.place.function = name;
        state.place.loc = callee.entry;
        Ok(())
    }

    /// What parameters that are integers are given, as far as it is known.
    pub(super) fn arguments(
        &self,
        state: &mut State,
        caller: &Function,
        callee: &Function,
        call: &Call,
    ) -> Vec<(LocalId, Value)> {
        let mut arguments = Vec::new();
        for (parameter, argument) in callee.parameters.iter().zip(&call.arguments) {
            if let (Some(_), Argument::Value(expr)) = (self.register(callee, *parameter), argument)
                && let Some(value) = self.value(state, caller, expr)
            {
                arguments.push((*parameter, value));
            }
        }
        arguments
    }

    /// The cell that an lvalue is all of.
    fn cell(&self, state: &State, function: &Function, lvalue: &Lvalue) -> Option<(Cell, IntType)> {
        let Some(Scalar::Int(ty)) = lvalue.scalar else { return None };
        if !lvalue.path.is_empty() || lvalue.bits.is_some() || !ty.is_exact() {
            return None;
        }
        let program = self.question.subject.program();
        match &lvalue.base {
            Base::Local(id) => {
                let depth = state.place.stack.len() as u32;
                (self.register(function, *id) == Some(ty)).then_some((Cell::Local(depth, *id), ty))
            }
            Base::Global(name) => {
                let global = program.globals.get(name)?;
                (scalar_of(global.ty, program.data_model) == Some(Scalar::Int(ty)))
                    .then_some((Cell::Global(*name), ty))
            }
            Base::Deref(..) => None,
        }
    }

    /// The lvalue gets a value; `None`: any.
    pub(super) fn write(&self, state: &mut State, function: &Function, dst: &Lvalue, value: Option<Value>) {
        match self.cell(state, function, dst) {
            Some((cell, ty)) => {
                let value = value.unwrap_or_else(|| Value::Number(state.algebra.any(ty)));
                state.cells.insert(cell, (value, ty));
            }
            None => match &dst.base {
                Base::Local(id) => {
                    state.cells.remove(&Cell::Local(state.place.stack.len() as u32, *id));
                }
                Base::Global(name) => {
                    state.cells.remove(&Cell::Global(*name));
                }
                Base::Deref(..) => forget(state),
            },
        }
    }

    /// What an integer expression is; `None`: it is no integer.
    fn value(&self, state: &mut State, function: &Function, expr: &Expr) -> Option<Value> {
        let ty = expr.int_type().filter(|ty| ty.is_exact())?;
        let number = match expr {
            Expr::Int(value, _) => Number::exact(Polynomial::constant(*value)),
            Expr::Load(lvalue) => match self.cell(state, function, lvalue) {
                Some((cell, ty)) => match state.cells.get(&cell) {
                    Some((value, of)) if *of == ty => return Some(value.clone()),
                    Some(_) | None => state.algebra.any(ty),
                },
                None => state.algebra.any(ty),
            },
            Expr::Unary(op, arg, _) => {
                let arg = self.number(state, function, arg)?;
                state.algebra.unary(*op, ty, &arg)
            }
            Expr::Binary(op, lhs, rhs, _) => {
                let (lhs, rhs) = (self.number(state, function, lhs)?, self.number(state, function, rhs)?);
                state.algebra.binary(*op, ty, &lhs, &rhs)
            }
            Expr::Compare(op, lhs, rhs) => match self.comparison(state, function, *op, lhs, rhs) {
                Some(truth) => return Some(truth),
                None => state.algebra.number_of_truth(),
            },
            Expr::Cast(_, arg, _) => match self.value(state, function, arg) {
                Some(truth @ Value::Truth(_)) => return Some(truth),
                Some(Value::Number(number)) => {
                    let from = arg.int_type()?;
                    state.algebra.cast(from, ty, &number)
                }
                None => state.algebra.any(ty),
            },
            Expr::Overflows(..) | Expr::Memory(..) => state.algebra.number_of_truth(),
            Expr::PointerDifference(..) => state.algebra.any(ty),
            Expr::Float(_) | Expr::Null | Expr::Address(_) | Expr::Function(_) => return None,
        };
        Some(Value::Number(number))
    }

    fn number(&self, state: &mut State, function: &Function, expr: &Expr) -> Option<Number> {
        let value = self.value(state, function, expr)?;
        Some(state.algebra.number(value))
    }

    /// A comparison of integers. What compares a truth value with 0 is that value, or its negation.
    fn comparison(
        &self,
        state: &mut State,
        function: &Function,
        op: CompareOp,
        lhs: &Expr,
        rhs: &Expr,
    ) -> Option<Value> {
        let ty = lhs.int_type().filter(|ty| ty.is_exact() && rhs.int_type() == Some(*ty))?;
        let (left, right) = (self.value(state, function, lhs)?, self.value(state, function, rhs)?);
        if let (Value::Truth(inner), Expr::Int(0, _)) = (&left, rhs) {
            match op {
                CompareOp::Ne => return Some(left),
                CompareOp::Eq => {
                    let op = inner.op.negated();
                    return Some(Value::Truth(Arc::new(Comparison { op, ..(**inner).clone() })));
                }
                CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {}
            }
        }
        let (lhs, rhs) = (state.algebra.number(left), state.algebra.number(right));
        Some(Value::Truth(Arc::new(Comparison { op, lhs, rhs, ty })))
    }

    /// Goes on only where the scalar is (or is not) zero. Whether it may.
    fn assume(&self, state: &mut State, function: &Function, condition: &Expr, holds: bool) -> bool {
        let Some(value) = self.value(state, function, condition) else { return true };
        let comparison = match value {
            Value::Truth(comparison) => comparison,
            Value::Number(number) => {
                let ty = condition.int_type().unwrap_or(IntType::INT);
                let zero = Number::exact(Polynomial::default());
                Arc::new(Comparison { op: CompareOp::Ne, lhs: number, rhs: zero, ty })
            }
        };
        state.algebra.assume(&comparison, holds);
        may_hold(&state.algebra.facts)
    }
}

/// Whether no fact is false at sight.
fn may_hold(facts: &Facts) -> bool {
    let is_false = |p: &Polynomial| p.as_constant().is_some_and(|value| value > BigInt::ZERO);
    let last_differs = facts.different.last().is_none_or(|e| !e.ring.polynomial(&e.polynomial).is_zero());
    let last_equal = facts.equations.last().is_none_or(|e| {
        e.ring.polynomial(&e.polynomial).as_constant().is_none_or(|value| value == BigInt::ZERO)
    });
    last_differs && last_equal && !facts.at_most.last().is_some_and(is_false)
}

/// Memory may have changed.
fn forget(state: &mut State) {
    state.cells.retain(|cell, _| !matches!(cell, Cell::Global(_)));
}
