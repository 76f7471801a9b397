//! One operation at a time on the symbolic state of one function: for analyses that go along the automata themselves. Must not know
//! which analysis that is.

use std::collections::BTreeSet;

use proofline_cfa::{Call, Expr, Function, LocalId, Lvalue, Name, Object, Op};
use proofline_program_analysis::Environment;
use proofline_smt::Term;

use crate::{
    arithmetic,
    layout::{self, MemoryLayout},
    memory::{self, Executor},
    passed::Passed,
    state::{Fresh, Key, State},
};

/// A function whose registers are those of instance 0, in a program whose objects are represented by a layout.
#[derive(Clone, Copy)]
pub struct FunctionEncoder<'x> {
    /// The program.
    pub environment: &'x Environment,
    /// How objects are represented.
    pub layout: &'x MemoryLayout,
    /// The function.
    pub function: &'x Function,
    /// Signed arithmetic wraps.
    pub wrapv: bool,
}

impl<'x> FunctionEncoder<'x> {
    fn with<T>(
        &self,
        state: &mut State,
        fresh: &mut Fresh,
        work: impl FnOnce(&mut Executor<'_>) -> T,
    ) -> (T, Vec<Term>) {
        let mut executor = Executor {
            environment: self.environment,
            layout: self.layout,
            fresh,
            function: self.function,
            instance: 0,
            state: std::mem::replace(state, State::top()),
            wrapv: self.wrapv,
            inputs: Vec::new(),
        };
        let result = work(&mut executor);
        *state = executor.state;
        (result, executor.inputs)
    }

    /// Every operation but calls. Returns the values of the inputs it asked for.
    pub fn operation(&self, state: &mut State, fresh: &mut Fresh, op: &Op) -> Vec<Term> {
        self.with(state, fresh, |executor| executor.operation(op)).1
    }

    /// Values of arguments; `None` for records passed by value.
    pub fn arguments(&self, state: &mut State, fresh: &mut Fresh, call: &Call) -> Vec<Option<Passed>> {
        let values = |executor: &mut Executor<'_>| {
            call.arguments.iter().map(|argument| Passed::argument(argument, executor)).collect()
        };
        self.with(state, fresh, values).0
    }

    /// Gives the parameters these values.
    pub fn bind(&self, state: &mut State, fresh: &mut Fresh, values: &[Option<Passed>]) {
        for (i, id) in self.function.parameters.iter().enumerate() {
            let lvalue = self.whole_local(*id);
            self.put(state, fresh, &lvalue, values.get(i).copied().flatten());
        }
    }

    /// Writes a value; `None`: any.
    pub fn put(&self, state: &mut State, fresh: &mut Fresh, lvalue: &Lvalue, value: Option<Passed>) {
        self.with(state, fresh, |executor| match value.and_then(|value| value.as_one_of(lvalue.scalar)) {
            Some(value) => executor.store(lvalue, value),
            None => executor.forget(lvalue),
        });
    }

    /// What the function returns; `None` if that is no scalar.
    pub fn result(&self, state: &mut State, fresh: &mut Fresh) -> Option<Passed> {
        let lvalue = self.whole_local(self.function.result?);
        let scalar = lvalue.scalar?;
        let load = Expr::Load(lvalue);
        let value = self.with(state, fresh, |executor| arithmetic::value(&load, executor)).0;
        Some(Passed { value, scalar })
    }

    /// The whole of a local.
    pub fn whole_local(&self, id: LocalId) -> Lvalue {
        let local = self.function.local(id);
        let scalar = proofline_cfa::scalar_of(local.ty, self.environment.program().data_model);
        let base = proofline_cfa::Base::Local(id);
        Lvalue { base, path: Vec::new(), ty: local.ty, scalar, bits: None, size: local.size }
    }

    /// Registers that may still be read, by location.
    pub fn live_registers(&self) -> Vec<BTreeSet<LocalId>> {
        layout::live_registers(self.function)
    }

    /// Whether a local is a register: a scalar that only its function names.
    pub fn is_register(&self, id: LocalId) -> bool {
        layout::is_register(self.function, id)
    }
}

/// The memory cells that a function may read or write, with everything it calls.
pub fn memory_keys(environment: &Environment, layout: &MemoryLayout, function: Name) -> Vec<Key> {
    let touched: BTreeSet<&Object> =
        environment.reads(function).union(environment.writes(function)).collect();
    let represented = layout.objects().filter(|(object, _)| touched.contains(object));
    let mut keys: Vec<Key> = represented.flat_map(|(object, _)| memory::keys_of(layout, object)).collect();
    keys.sort();
    keys
}
