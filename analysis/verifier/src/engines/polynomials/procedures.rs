//! Functions that call themselves, or each other: each is followed once, from any arguments. What holds where it begins (of its parameters and of integers with
//! static storage) and what it returns with are candidates like those of loop heads; a call is one path that ends where the function begins, and goes on
//! behind it with what the function returns.

use std::collections::BTreeSet;

use proofline_cfa::{Call, EdgeId, Function, IntType, LocalId, Name, Object, Op, Scalar, scalar_of};
use proofline_cpa::Unknown;

use super::{
    exponentials::bounds_of_power,
    paths::{Cell, Cut, Explorer, Path, Point, State, Target, Use},
    polynomial::Polynomial,
    values::{Number, Value},
};

/// The type that cells of powers are said to have. Their values are always known as integers.
const OF_POWER: IntType = IntType { bits: 127, signed: true };
/// Numbers that are multiplied with are bases of powers up to this, and so many of them.
const LARGEST_BASE: i128 = 10;
const MOST_BASES: usize = 3;

/// Where a function begins, or returns.
pub(super) struct Procedure {
    /// Its cut points.
    pub(super) entry: usize,
    pub(super) exit: usize,
    /// Integers with static storage that it may change; `None`: any.
    writes: Option<BTreeSet<Name>>,
}

impl Explorer<'_> {
    pub(super) fn is_procedure(&self, name: Name) -> bool {
        self.question.subject.env().call_graph().is_recursive(name)
    }

    /// A function's cut points.
    pub(super) fn procedure(&mut self, name: Name) -> Result<&Procedure, Unknown> {
        if !self.found.procedures.contains_key(&name) {
            let procedure = self.new_procedure(name)?;
            self.found.procedures.insert(name, procedure);
        }
        self.found.procedures.get(&name).ok_or_else(|| Unknown::InternalError("no such procedure".into()))
    }

    fn new_procedure(&mut self, name: Name) -> Result<Procedure, Unknown> {
        let function = self.function(name)?.clone();
        let subject = self.question.subject;
        let (env, program) = (subject.env(), subject.program());
        let parameters: Vec<(LocalId, IntType)> =
            function.parameters.iter().filter_map(|id| Some((*id, self.register(&function, *id)?))).collect();
        let names = |objects: &BTreeSet<Object>| -> BTreeSet<Name> {
            let global = |object: &Object| match object {
                Object::Global(name) => Some(*name),
                Object::Local(..) | Object::Heap(..) | Object::External => None,
            };
            objects.iter().filter_map(global).collect()
        };
        let (reads, writes) = (names(env.reads(name)), names(env.writes(name)));
        let integer = |name: &Name| match scalar_of(program.globals.get(name)?.ty, program.data_model)? {
            Scalar::Int(ty) if ty.is_exact() => Some((*name, ty)),
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Pointer => None,
        };
        let globals: Vec<(Name, IntType)> = reads.union(&writes).filter_map(integer).collect();
        let calls_outside = subject.reachable_from(name).iter().any(|name| {
            let is_outside =
                |edge: &proofline_cfa::Edge| matches!(edge.op, Op::Clobber(..) | Op::HavocBytes(..));
            env.function(*name).is_none_or(|function| function.edges.iter().any(is_outside))
        });
        let functions = subject.reachable_from(self.question.entry.name);
        let bases = bases(functions.iter().filter_map(|name| env.function(*name)));
        let powers = parameters
            .iter()
            .flat_map(|(id, _)| bases.iter().map(|base| (Cell::Power(*base, *id), OF_POWER)));
        let powers: Vec<(Cell, IntType)> = powers.collect();
        let before = globals.iter().map(|(name, ty)| (Cell::Global(*name), *ty));
        let entry =
            parameters.iter().map(|(id, ty)| (Cell::Local(0, *id), *ty)).chain(before).chain(powers.clone());
        let entry: Vec<(Cell, IntType)> = entry.collect();
        let result = function.result.and_then(|slot| self.register(&function, slot));
        let exit = parameters
            .iter()
            .map(|(id, ty)| (Cell::Before(*id), *ty))
            .chain(
                globals
                    .iter()
                    .filter(|(name, _)| writes.contains(name))
                    .map(|(name, ty)| (Cell::BeforeGlobal(*name), *ty)),
            )
            .chain(globals.iter().map(|(name, ty)| (Cell::Global(*name), *ty)))
            .chain(powers)
            .chain(result.map(|ty| (Cell::Result, ty)));
        let exit: Vec<(Cell, IntType)> = exit.collect();
        let cuts = &mut self.found.cuts;
        cuts.push(Cut::plain(Point::Entry(name), entry));
        cuts.push(Cut::plain(Point::Exit, exit));
        let writes = (!calls_outside).then_some(writes);
        Ok(Procedure { entry: cuts.len() - 2, exit: cuts.len() - 1, writes })
    }

    /// Cells have these values where the function begins.
    fn values_at_entry(
        &mut self,
        state: &mut State,
        name: Name,
        arguments: &[(LocalId, Value)],
    ) -> Result<Vec<(Number, IntType)>, Unknown> {
        let entry = self.procedure(name)?.entry;
        let cells = self.found.cuts[entry].cells.clone();
        let given = |id: LocalId| {
            arguments.iter().find(|(parameter, _)| *parameter == id).map(|(_, value)| value.clone())
        };
        let mut values: Vec<(Number, IntType)> = Vec::with_capacity(cells.len());
        for (cell, ty) in &cells {
            let number = match cell {
                Cell::Local(_, id) => match given(*id) {
                    Some(value) => state.algebra.number(value),
                    None => state.algebra.any(*ty),
                },
                Cell::Power(base, id) => {
                    let at = cells.iter().position(|(cell, _)| *cell == Cell::Local(0, *id));
                    match at.and_then(|at| values.get(at)).cloned() {
                        Some((number, ty)) => {
                            let exponent = state.algebra.exactly(&number, ty);
                            Number::exact(state.algebra.facts.exponential(*base, &exponent))
                        }
                        None => return Err(Unknown::InternalError("a power without its exponent".into())),
                    }
                }
                Cell::Global(_) => state.number_of(*cell, *ty),
                Cell::Before(_) | Cell::BeforeGlobal(_) | Cell::Result | Cell::Wrapped(_) => {
                    state.algebra.any(*ty)
                }
            };
            values.push((number, *ty));
        }
        Ok(values)
    }

    /// A path ends where the function begins, with these arguments.
    pub(super) fn begin(
        &mut self,
        from: Option<usize>,
        state: &mut State,
        name: Name,
        arguments: &[(LocalId, Value)],
    ) -> Result<Vec<(Number, IntType)>, Unknown> {
        let values = self.values_at_entry(state, name, arguments)?;
        let entry = self.procedure(name)?.entry;
        self.end(from, state.clone(), Target::Cut(entry, values.clone()))?;
        Ok(values)
    }

    /// A call: what was true where the function begins is behind it, and what it returns with.
    pub(super) fn call(
        &mut self,
        from: Option<usize>,
        state: &mut State,
        caller: &Function,
        id: EdgeId,
        call: &Call,
        name: Name,
    ) -> Result<(), Unknown> {
        let callee = self.function(name)?.clone();
        let arguments: Vec<(LocalId, Value)> = self.arguments(state, caller, &callee, call);
        let at_entry = self.begin(from, state, name, &arguments)?;
        let Procedure { entry, exit, ref writes } = *self.procedure(name)?;
        let writes = writes.clone();
        let (entry, cells) = (self.found.cuts[entry].cells.clone(), self.found.cuts[exit].cells.clone());
        let before = |cell: Cell| {
            entry.iter().position(|(known, _)| *known == cell).and_then(|at| at_entry.get(at)).cloned()
        };
        let may_change = |name: &Name| writes.as_ref().is_none_or(|writes| writes.contains(name));
        let mut values: Vec<(Number, IntType)> = Vec::with_capacity(cells.len());
        let mut result = None;
        for (cell, ty) in &cells {
            let known = match cell {
                Cell::Before(id) => before(Cell::Local(0, *id)),
                Cell::BeforeGlobal(name) => before(Cell::Global(*name)),
                Cell::Global(name) if may_change(name) => None,
                Cell::Global(_) | Cell::Power(..) => before(*cell),
                Cell::Local(..) | Cell::Result | Cell::Wrapped(_) => None,
            };
            let value = known.unwrap_or_else(|| (state.algebra.any(*ty), *ty));
            if *cell == Cell::Result {
                result = Some(Value::Number(value.0.clone()));
            }
            values.push(value);
        }
        state.cells.retain(|cell, _| !matches!(cell, Cell::Global(name) if may_change(name)));
        for ((cell, ty), (number, _)) in cells.iter().zip(&values) {
            if matches!(cell, Cell::Global(_)) {
                state.cells.insert(*cell, (Value::Number(number.clone()), *ty));
            }
        }
        state.uses.push(Use { exit, values });
        if let Some(dst) = &call.dst {
            self.write(state, caller, dst, result);
        }
        state.place.loc = caller.edge(id).to;
        Ok(())
    }

    /// The function returns.
    pub(super) fn return_from(
        &mut self,
        from: Option<usize>,
        mut state: State,
        name: Name,
    ) -> Result<(), Unknown> {
        let slot = self.function(name)?.result;
        let exit = self.procedure(name)?.exit;
        let cells = self.found.cuts[exit].cells.clone();
        let mut values = Vec::with_capacity(cells.len());
        for (cell, ty) in cells {
            let at = match (cell, slot) {
                (Cell::Result, Some(slot)) => Cell::Local(0, slot),
                _ => cell,
            };
            values.push((state.number_of(at, ty), ty));
        }
        self.end(from, state, Target::Cut(exit, values))
    }
}

impl State {
    /// What a cell holds; any number, where that is not known.
    pub(super) fn number_of(&mut self, cell: Cell, ty: IntType) -> Number {
        match (self.cells.get(&cell).cloned(), cell) {
            (Some((value, of)), _) if of == ty => self.algebra.number(value),
            (_, Cell::Power(base, _)) => {
                let symbol = self.algebra.facts.fresh(bounds_of_power(base));
                Number::exact(Polynomial::symbol(symbol))
            }
            (Some(_) | None, _) => self.algebra.any(ty),
        }
    }

    /// What a function keeps of where it began.
    pub(super) fn remember_entry(&mut self) {
        let remembered = self.cells.iter().filter_map(|(cell, value)| match cell {
            Cell::Local(_, id) => Some((Cell::Before(*id), value.clone())),
            Cell::Global(name) => Some((Cell::BeforeGlobal(*name), value.clone())),
            Cell::Before(_) | Cell::BeforeGlobal(_) | Cell::Power(..) | Cell::Result | Cell::Wrapped(_) => {
                None
            }
        });
        let remembered: Vec<(Cell, (Value, IntType))> = remembered.collect();
        self.cells.extend(remembered);
    }

    /// The power whose exponent is what a parameter was given.
    pub(super) fn power(&mut self, base: u8, parameter: LocalId) -> Number {
        let known =
            self.cells.get(&Cell::Before(parameter)).or_else(|| self.cells.get(&Cell::Local(0, parameter)));
        let power = match known.cloned() {
            Some((Value::Number(Number { polynomial, exact: true }), _)) => {
                self.algebra.facts.exponential(base, &polynomial)
            }
            Some(_) | None => Polynomial::symbol(self.algebra.facts.fresh(bounds_of_power(base))),
        };
        Number::exact(power)
    }
}

/// Numbers that functions multiply with, the least ones, and 2.
fn bases<'f>(functions: impl Iterator<Item = &'f Function>) -> BTreeSet<u8> {
    use proofline_cfa::{BinaryOp, Expr, visit};
    let mut bases = BTreeSet::from([2]);
    for edge in functions.flat_map(|function| &function.edges) {
        visit::exprs(&edge.op, &mut |expr| {
            if let Expr::Binary(BinaryOp::Mul, lhs, rhs, _) = expr {
                for side in [lhs, rhs] {
                    if let Expr::Int(value @ 2..=LARGEST_BASE, _) = **side {
                        bases.extend(u8::try_from(value));
                    }
                }
            }
        });
    }
    while bases.len() > MOST_BASES {
        bases.pop_last();
    }
    bases
}

/// A path with what is supposed of the calls on it.
impl Path {
    /// The cut points on whose candidates it rests.
    pub(super) fn rests_on(&self) -> impl Iterator<Item = usize> {
        self.from.into_iter().chain(self.uses.iter().map(|used| used.exit))
    }
}
