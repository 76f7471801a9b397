//! Calls while a program is cut into blocks: inlined ones, and those whose summary begins a block.

use std::collections::{BTreeMap, BTreeSet};

use proofline_cfa::{Argument, Base, Call, EdgeId, Expr, Function, LocalId, Lvalue, Name, Op, Type};
use proofline_smt::{Sort, Term, build as t};

use crate::{
    arithmetic,
    block::{AppliedSummary, BlockEnd, Cut},
    large_blocks::{LargeBlockEncoding, MOST_INSTANCES},
    layout, memory,
    passed::Passed,
    state::{Key, State},
};

impl LargeBlockEncoding<'_> {
    /// An inlined call: the state at its return, if it returns.
    pub(crate) fn call(&mut self, instance: u32, id: EdgeId, call: &Call, state: State) -> Option<State> {
        let function = self.function(instance);
        let callees = self.environment.callees(function.name, call);
        // Those with a summary have a block of their own.
        let has_instance = |name: &&Name| self.unrolls || !self.summarised.contains(*name);
        let functions: Vec<Name> = callees.functions.iter().filter(has_instance).copied().collect();
        let mut result: Option<State> = None;
        let mut rest = t::bool(true);
        let count = functions.len() + usize::from(callees.may_be_external);
        for (i, &callee) in functions.iter().enumerate() {
            let mut state = state.clone();
            if count > 1 {
                // Which of several is a fact of the pointer; over-approximated by a free choice.
                let choice = if i + 1 == count { t::bool(true) } else { self.fresh.variable(Sort::Bool) };
                state.assume(t::and([rest, choice]));
                rest = t::and([rest, t::not(choice)]);
            }
            if self.instances.len() > MOST_INSTANCES {
                self.emit(state, BlockEnd::Unsupported(Name::new("too many calls to inline")));
                continue;
            }
            let child = self.instances.child(instance, id, callee);
            let entered = self.enter(instance, call, child, state);
            let entry = self.function(child).entry;
            if self.unrolls && self.summarised.contains(&callee) {
                self.emit(entered, BlockEnd::Cut(Cut { instance: child, loc: entry }));
                continue;
            }
            if let Some(exit) = self.region(child, vec![(entry, entered)]) {
                let left = self.leave(instance, id, child, exit);
                result = Some(match result.take() {
                    Some(other) => self.merge(other, left),
                    None => left,
                });
            }
        }
        if callees.may_be_external {
            let mut state = state;
            state.assume(rest);
            let mut executor = self.executor(function, instance, state);
            executor
                .operation(&Op::Clobber(Vec::new(), proofline_cfa::Cause::External(Name::new("a pointer"))));
            if let Some(dst) = &call.dst {
                executor.forget(dst);
            }
            let left = executor.state;
            result = Some(match result.take() {
                Some(other) => self.merge(other, left),
                None => left,
            });
        }
        result
    }

    /// Argument values in the caller.
    fn arguments(&mut self, instance: u32, call: &Call, state: State) -> (State, Vec<Option<Passed>>) {
        let function = self.function(instance);
        let mut executor = self.executor(function, instance, state);
        let values =
            call.arguments.iter().map(|argument| Passed::argument(argument, &mut executor)).collect();
        (executor.state, values)
    }

    fn enter(&mut self, instance: u32, call: &Call, child: u32, state: State) -> State {
        let (state, values) = self.arguments(instance, call, state);
        // Records are copied while the caller's state still says what is in them.
        let caller = self.function(instance);
        let mut executor = self.executor(caller, instance, state);
        let records: Vec<Option<(Type, Vec<Term>)>> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(_) => None,
                Argument::Aggregate(src) => Some((src.ty, executor.aggregate(src)?)),
            })
            .collect();
        let state = executor.state;
        let callee = self.function(child);
        let parameters: Vec<Lvalue> =
            callee.parameters.iter().map(|id| self.whole_local(callee, *id)).collect();
        let mut executor = self.executor(callee, child, state);
        for (i, lvalue) in parameters.into_iter().enumerate() {
            let value = values.get(i).copied().flatten().and_then(|value| value.as_one_of(lvalue.scalar));
            let is_like = |ty: Type| ty.unqualified() == lvalue.ty.unqualified();
            match (value, records.get(i).and_then(Option::as_ref)) {
                (Some(value), _) => executor.store(&lvalue, value),
                (None, Some((ty, scalars))) if is_like(*ty) => executor.store_aggregate(&lvalue, scalars),
                (None, _) => executor.forget(&lvalue),
            }
        }
        executor.state
    }

    pub(crate) fn leave(&mut self, instance: u32, id: EdgeId, child: u32, exit: State) -> State {
        let callee = self.function(child);
        let function = self.function(instance);
        let Op::Call(call) = &function.edge(id).op else { return exit };
        let mut state = exit;
        if let Some(dst) = &call.dst {
            let value = callee.result.and_then(|slot| {
                let lvalue = self.whole_local(callee, slot);
                let scalar = lvalue.scalar?;
                let mut executor = self.executor(callee, child, state.clone());
                let value = arithmetic::value(&Expr::Load(lvalue), &mut executor);
                state = executor.state;
                Passed { value, scalar }.as_one_of(dst.scalar)
            });
            let is_like = |slot: &LocalId| callee.local(*slot).ty.unqualified() == dst.ty.unqualified();
            let record = callee.result.filter(is_like).filter(|_| dst.scalar.is_none()).and_then(|slot| {
                let lvalue = self.whole_local(callee, slot);
                let mut executor = self.executor(callee, child, state.clone());
                let record = executor.aggregate(&lvalue);
                state = executor.state;
                record
            });
            let mut executor = self.executor(function, instance, state);
            match (value, record) {
                (Some(value), _) => executor.store(dst, value),
                (None, Some(scalars)) => executor.store_aggregate(dst, &scalars),
                (None, None) => executor.forget(dst),
            }
            state = executor.state;
        }
        // The callee's registers are gone.
        state.values.retain(|key, _| !matches!(key, Key::Local(of, _) if *of == child));
        state
    }

    /// The sort of a key; registers are those of `function`.
    fn sort_of(&self, function: &Function, key: Key) -> Sort {
        let model = self.environment.program().data_model;
        let format = |id| proofline_cfa::scalar_of(function.local(id).ty, model);
        self.layout.encoding().sort_of(key, format)
    }

    /// The whole of a local.
    fn whole_local(&self, function: &Function, id: LocalId) -> Lvalue {
        let local = function.local(id);
        let scalar = proofline_cfa::scalar_of(local.ty, self.environment.program().data_model);
        Lvalue { base: Base::Local(id), path: Vec::new(), ty: local.ty, scalar, bits: None, size: local.size }
    }

    /// The memory cells that a summary of the function speaks of.
    pub fn memory_keys(&self, function: Name) -> Vec<Key> {
        let touched: BTreeSet<_> =
            self.environment.reads(function).union(self.environment.writes(function)).copied().collect();
        let mut keys: Vec<Key> = self
            .layout
            .objects()
            .filter(|(object, _)| touched.contains(object))
            .flat_map(|(object, _)| memory::keys_of(self.layout, object))
            .collect();
        keys.sort();
        keys
    }

    /// Begins a block with a summarised call.
    pub(crate) fn apply_summary(
        &mut self,
        instance: u32,
        id: EdgeId,
        call: &Call,
        callee: Name,
        state: State,
    ) {
        let Some(function) = self.environment.function(callee) else { return };
        let (mut state, values) = self.arguments(instance, call, state);
        let mut before = BTreeMap::new();
        for (i, &parameter) in function.parameters.iter().enumerate() {
            if layout::is_register(function, parameter) {
                let scalar = self.whole_local(function, parameter).scalar;
                let value = values.get(i).copied().flatten().and_then(|value| value.as_one_of(scalar));
                let key = Key::Local(0, parameter);
                let value = value.unwrap_or_else(|| self.fresh.variable(self.sort_of(function, key)));
                before.insert(key, value);
            }
        }
        let memory = self.memory_keys(callee);
        for &key in &memory {
            let value = match state.values.get(&key) {
                Some(&value) => value,
                None => self.fresh.variable(self.sort_of(function, key)),
            };
            before.insert(key, value);
        }
        // A parameter that lives in memory gets its argument there.
        for (i, &parameter) in function.parameters.iter().enumerate() {
            if !layout::is_register(function, parameter) {
                let lvalue = self.whole_local(function, parameter);
                let mut executor = self.executor(function, 0, state.clone());
                match values.get(i).copied().flatten().and_then(|value| value.as_one_of(lvalue.scalar)) {
                    Some(value) => executor.store(&lvalue, value),
                    None => executor.forget(&lvalue),
                }
                state = executor.state;
                for &key in &memory {
                    if let Some(&value) = state.values.get(&key) {
                        before.insert(key, value);
                    }
                }
            }
        }
        // Entering: the callee may fail inside.
        let mut entering = State { guard: state.guard, values: before.clone() };
        entering.values.retain(|key, _| before.contains_key(key));
        self.emit(entering, BlockEnd::Enter(callee));
        // Returning, if it does.
        let mut after = BTreeMap::new();
        let written = self.environment.writes(callee);
        for &key in &memory {
            let object = match key {
                Key::Cell(object, ..) | Key::Elements(object, ..) => object,
                Key::Local(..) => continue,
            };
            let value = if written.contains(&object) {
                let variable = self.fresh.variable(self.sort_of(function, key));
                if let Key::Cell(_, _, scalar) = key {
                    let range = self.layout.encoding().in_range(variable, scalar);
                    state.assume(range);
                }
                variable
            } else {
                before[&key]
            };
            state.values.insert(key, value);
            after.insert(key, value);
        }
        let mut result = None;
        if let Some(slot) = function.result
            && layout::is_register(function, slot)
        {
            let variable = self.fresh.variable(self.sort_of(function, Key::Local(0, slot)));
            let lvalue = self.whole_local(function, slot);
            if let Some(scalar) = lvalue.scalar {
                let range = self.layout.encoding().in_range(variable, scalar);
                state.assume(range);
            }
            after.insert(Key::Local(0, slot), variable);
            result = lvalue.scalar.map(|scalar| Passed { value: variable, scalar });
        }
        let caller = self.function(instance);
        if let Some(dst) = &call.dst {
            let mut executor = self.executor(caller, instance, state);
            match result.and_then(|value| value.as_one_of(dst.scalar)) {
                Some(value) => executor.store(dst, value),
                None => executor.forget(dst),
            }
            state = executor.state;
        }
        self.applied = Some(AppliedSummary { callee, before, after });
        let target = caller.edge(id).to;
        self.go_on(instance, vec![(target, state)]);
        self.applied = None;
    }
}
